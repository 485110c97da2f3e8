/* Feeds HTTP/2 floods to a server's session. A limit ends the session, and the work of a turn is
 * bounded. */
#include "net/h2.h"

#include "../../support/test.h"
#include <string.h>

enum { DATA, HEADERS, PRIORITY, RST, SETTINGS, PING = 6, WINDOW = 8, CONTINUATION };
enum { MORE = 0, END_STREAM = 1, END_HEADERS = 4 };
enum { ENTRY = 3900 }; /* bytes of a header in the dynamic table, referenced by one byte */

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
static const char get[] = "\x82\x86\x04\x08/metrics\x01\x01x"; /* GET http /metrics, authority x */

/* ---- bytes ---- */

static void put_frame(buf *b, unsigned kind, unsigned flags, unsigned stream, str body)
{
    const unsigned char head[] = {
        (unsigned char)(body.n >> 16), (unsigned char)(body.n >> 8), (unsigned char)body.n,
        (unsigned char)kind,           (unsigned char)flags,         (unsigned char)(stream >> 24),
        (unsigned char)(stream >> 16), (unsigned char)(stream >> 8), (unsigned char)stream};
    buf_put(b, head, sizeof head);
    buf_str(b, body);
}

static void put_hello(buf *b)
{
    buf_z(b, preface);
    put_frame(b, SETTINGS, 0, 0, (str){0});
}

/* Appends the headers of a GET, and a header that becomes the first entry of the dynamic table
 * (index 62, byte 0xbe). */
static void put_entry(buf *head)
{
    char value[ENTRY];
    memset(value, 'b', sizeof value);
    buf_put(head, get, sizeof get - 1);
    buf_z(head, "\x40\x03x-a\x7f");
    buf_putc(head, (char)(((ENTRY - 127) & 0x7f) | 0x80)), buf_putc(head, (ENTRY - 127) >> 7);
    buf_put(head, value, sizeof value);
}

static void put_repeats(buf *head, size_t n)
{
    for (size_t i = 0; i < n; i++) buf_putc(head, (char)0xbe);
}

/* ---- the session ---- */

typedef struct rig {
    h2 *s;
    unsigned requests, failures;
    size_t heads, frames; /* work of all calls together */
    size_t largest;       /* work of the largest call */
} rig;

static void on_done(void *ctx, int32_t stream, http_message *m)
{
    rig *r = ctx;
    err e = {0};
    (void)m;
    r->requests++;
    http_header head[] = {{STR(":status"), STR("200")}};
    assert_ok(h2_respond(r->s, stream, &(h2_send){.head = head, .n_head = 1}, &e), &e);
}

static void on_failed(void *ctx, int32_t stream, bool unprocessed, const err *e)
{
    (void)stream, (void)unprocessed, (void)e;
    ((rig *)ctx)->failures++;
}

static void open_rig(rig *r)
{
    err e = {0};
    *r = (rig){0};
    r->s = h2_open(&(h2_opts){.server = true},
                   &(h2_events){.done = on_done, .failed = on_failed, .ctx = r}, &e);
    assert_ok(r->s != NULL, &e);
}

/* Feeds in turns, as the server does, until everything is consumed or the session ends. */
static bool feed(rig *r, str bytes, const h2_work *most, err *e)
{
    bool ok = true;
    while (ok && bytes.n) {
        h2_work done;
        buf out = {0};
        ok = h2_feed_some(r->s, &bytes, most, &done, e);
        r->heads += done.heads, r->frames += done.frames;
        if (done.heads > r->largest) r->largest = done.heads;
        h2_deliver(r->s);
        err ignored = {0};
        ok = h2_take(r->s, &out, 0, ok ? e : &ignored) && ok;
        buf_free(&out);
    }
    return ok;
}

/* ---- errors that end a session ---- */

static void put_bomb(buf *b)
{
    buf head = {0};
    put_entry(&head), put_repeats(&head, 12000);
    put_frame(b, HEADERS, END_HEADERS | END_STREAM, 1, buf_view(&head));
    buf_free(&head);
}

static void put_chained_bomb(buf *b)
{
    buf head = {0}, more = {0};
    put_entry(&head), put_repeats(&more, 12000);
    put_frame(b, HEADERS, END_STREAM, 1, buf_view(&head));
    for (int i = 0; i < 7; i++) put_frame(b, CONTINUATION, MORE, 1, buf_view(&more));
    buf_free(&head), buf_free(&more);
}

/* Header blocks on a closed stream. nghttp2 decodes them without callbacks, so a limit on wire
 * bytes bounds the work. */
static void put_ignored(buf *b)
{
    buf head = {0}, more = {0};
    put_entry(&head), put_repeats(&more, 16000);
    put_frame(b, HEADERS, END_HEADERS | END_STREAM, 9, buf_view(&head));
    for (int i = 0; i < 200; i++)
        put_frame(b, HEADERS, END_HEADERS | END_STREAM, 1, buf_view(&more));
    buf_free(&head), buf_free(&more);
}

static void put_trailing_bomb(buf *b)
{
    buf head = {0}, more = {0};
    put_entry(&head), put_repeats(&more, 16000);
    put_frame(b, HEADERS, END_HEADERS, 1, buf_view(&head));
    put_frame(b, HEADERS, END_HEADERS | END_STREAM, 1, buf_view(&more));
    buf_free(&head), buf_free(&more);
}

static void put_windows(buf *b)
{
    for (int i = 0; i < 5000; i++) put_frame(b, WINDOW, 0, 0, (str){"\0\0\0\1", 4});
}

static void put_stream_windows(buf *b)
{
    put_frame(b, HEADERS, END_HEADERS, 1, (str){get, sizeof get - 1});
    for (int i = 0; i < 5000; i++) put_frame(b, WINDOW, 0, 1, (str){"\0\0\0\1", 4});
}

static void put_pings(buf *b)
{
    for (int i = 0; i < 5000; i++) put_frame(b, PING, 0, 0, STR("abcdefgh"));
}

static void put_settings(buf *b)
{
    for (int i = 0; i < 5000; i++) put_frame(b, SETTINGS, 0, 0, (str){"\0\4\0\0\0\1", 6});
}

static void put_priorities(buf *b)
{
    for (int i = 0; i < 5000; i++) put_frame(b, PRIORITY, 0, 3, (str){"\0\0\0\1\7", 5});
}

static void put_empty_data(buf *b)
{
    put_frame(b, HEADERS, END_HEADERS, 1, (str){get, sizeof get - 1});
    for (int i = 0; i < 5000; i++) put_frame(b, DATA, 0, 1, (str){0});
}

static void put_resets(buf *b)
{
    for (unsigned i = 0; i < 5000; i++) {
        put_frame(b, HEADERS, END_HEADERS, 1 + 2 * i, (str){get, sizeof get - 1});
        put_frame(b, RST, 0, 1 + 2 * i, (str){"\0\0\0\10", 4});
    }
}

static void put_continuations(buf *b)
{
    put_frame(b, HEADERS, MORE, 1, (str){get, sizeof get - 1});
    for (int i = 0; i < 5000; i++) put_frame(b, CONTINUATION, MORE, 1, (str){0});
}

enum { BLOCK = HTTP_MAX_HEAD + 32 * HTTP_MAX_HEADERS + ENTRY + 64, FRAMES = 2500 };

static const struct {
    const char *name;
    void (*put)(buf *b);
    size_t heads; /* limit of decoded bytes; the limit of frames is FRAMES */
} floods[] = {
    {"HPACK bomb", put_bomb, BLOCK},
    {"HPACK bomb in CONTINUATION", put_chained_bomb, BLOCK},
    {"HPACK bomb in trailers", put_trailing_bomb, BLOCK + ENTRY + 200},
    {"header blocks of closed streams", put_ignored, ENTRY + 400},
    {"WINDOW_UPDATE of the connection", put_windows, 0},
    {"WINDOW_UPDATE of a stream", put_stream_windows, 400},
    {"PING", put_pings, 0},
    {"SETTINGS", put_settings, 0},
    {"PRIORITY", put_priorities, 0},
    {"empty DATA", put_empty_data, 400},
    {"RST_STREAM", put_resets, 200000},
    {"empty CONTINUATION", put_continuations, 400},
};

static void test_floods(void **state)
{
    (void)state;
    static const h2_work turn = {.frames = 100, .requests = 1000, .heads = 8 << 10};
    for (size_t k = 0; k < 2 * ARRAY_LEN(floods); k++) {
        size_t i = k / 2, round = k % 2;
        rig r;
        err e = {0};
        buf b = {0};
        open_rig(&r);
        put_hello(&b), floods[i].put(&b);
        /* first without a limit, then in turns */
        bool ok = feed(&r, buf_view(&b), round ? &turn : NULL, &e) && !h2_over(r.s);
        if (ok || r.heads > floods[i].heads || r.frames > FRAMES)
            fail_msg("%s: ok %d, %zu bytes of headers, %zu frames: %s", floods[i].name, ok, r.heads,
                     r.frames, e.msg);
        h2_free(r.s);
        buf_free(&b);
    }
}

/* The server resets streams with more data than their content-length. Too many of them end the
 * session. */
static void test_resets_by_us(void **state)
{
    (void)state;
    static const h2_work turn = {.frames = 100, .requests = 1000, .heads = 8 << 10};
    rig r;
    err e = {0};
    buf b = {0}, head = {0};
    open_rig(&r);
    put_hello(&b);
    buf_put(&head, get, sizeof get - 1);
    buf_put(&head, "\x0f\x0d\x01\x30", 4); /* content-length: 0 */
    for (unsigned i = 0; i < 1000; i++) {
        put_frame(&b, HEADERS, END_HEADERS, 1 + 2 * i, buf_view(&head));
        put_frame(&b, DATA, END_STREAM, 1 + 2 * i, STR("x"));
    }
    bool ok = feed(&r, buf_view(&b), &turn, &e) && !h2_over(r.s);
    if (ok || r.frames > 1000) fail_msg("ok %d, %zu frames", ok, r.frames);
    h2_free(r.s);
    buf_free(&b), buf_free(&head);
}

/* A session that exceeds a limit ends with GOAWAY and ENHANCE_YOUR_CALM. */
static void test_goaway(void **state)
{
    (void)state;
    rig r;
    err e = {0};
    buf b = {0}, out = {0};
    open_rig(&r);
    put_hello(&b), put_bomb(&b);
    assert_false(h2_feed(r.s, buf_view(&b), &e));
    assert_string_equal(e.msg, "the headers are larger than 65536 bytes");
    err ignored = {0};
    assert_true(h2_take(r.s, &out, 0, &ignored));
    const char *last = out.p + out.n - 17; /* a frame of 8 bytes: last stream, code */
    assert_true(out.n > 17 && last[3] == 7 && last[16] == 11);
    h2_free(r.s);
    buf_free(&b), buf_free(&out);
}

/* Header blocks below the limit are ordinary requests, processed over several turns. */
static void test_turns(void **state)
{
    (void)state;
    enum { N = 90, REPEATS = 15 };
    static const h2_work most = {.frames = 1000, .requests = 1000, .heads = 100 << 10};
    rig r;
    err e = {0};
    buf b = {0}, first = {0}, more = {0};
    open_rig(&r);
    put_entry(&first);
    buf_put(&more, get, sizeof get - 1), put_repeats(&more, REPEATS);
    put_hello(&b);
    put_frame(&b, HEADERS, END_HEADERS | END_STREAM, 1, buf_view(&first));
    for (unsigned i = 1; i < N; i++)
        put_frame(&b, HEADERS, END_HEADERS | END_STREAM, 1 + 2 * i, buf_view(&more));
    assert_ok(feed(&r, buf_view(&b), &most, &e), &e);
    assert_int_equal(r.requests, N);
    assert_true(r.heads > (N - 1) * REPEATS * ENTRY);
    assert_in_range(r.largest, most.heads / 2, most.heads + ENTRY + 64);
    h2_free(r.s);
    buf_free(&b), buf_free(&first), buf_free(&more);
}

/* A pause at the last header of the last frame does not lose the request. */
static void test_pause_at_the_end(void **state)
{
    (void)state;
    rig r;
    err e = {0};
    buf b = {0};
    open_rig(&r);
    put_hello(&b);
    put_frame(&b, HEADERS, END_HEADERS | END_STREAM, 1, (str){get, sizeof get - 1});
    assert_ok(feed(&r, buf_view(&b), &(h2_work){.frames = 1000, .requests = 1000, .heads = 1}, &e),
              &e);
    assert_int_equal(r.requests, 1);
    h2_free(r.s);
    buf_free(&b);
}

/* Frames are counted between slices, so a turn ends soon after its limit. */
static void test_frames_of_a_turn(void **state)
{
    (void)state;
    rig r;
    err e = {0};
    h2_work done, most = {.frames = 100, .requests = 1000, .heads = 1 << 20};
    buf b = {0};
    open_rig(&r);
    put_hello(&b);
    put_frame(&b, HEADERS, END_HEADERS, 1, (str){get, sizeof get - 1});
    for (int i = 0; i < 5000; i++) put_frame(&b, DATA, 0, 1, STR("a"));
    str rest = buf_view(&b);
    assert_ok(h2_feed_some(r.s, &rest, &most, &done, &e), &e);
    assert_in_range(done.frames, 100, 1000);
    assert_true(rest.n > b.n / 2);
    assert_ok(feed(&r, rest, &most, &e), &e);
    h2_free(r.s);
    buf_free(&b);
}

/* A turn begins a limited number of requests, because their cost does not depend on their bytes.
 * All are processed eventually. */
static void test_requests_of_a_turn(void **state)
{
    (void)state;
    enum { N = 90, A_TURN = 8 };
    static const h2_work most = {.frames = 1000, .requests = A_TURN, .heads = 1 << 20};
    rig r;
    err e = {0};
    buf b = {0};
    open_rig(&r);
    put_hello(&b);
    for (unsigned i = 0; i < N; i++)
        put_frame(&b, HEADERS, END_HEADERS | END_STREAM, 1 + 2 * i, (str){get, sizeof get - 1});
    str rest = buf_view(&b);
    for (unsigned turns = 0, before = 0; rest.n; turns++, before = r.requests) {
        h2_work done;
        assert_ok(h2_feed_some(r.s, &rest, &most, &done, &e), &e);
        h2_deliver(r.s);
        assert_true(r.requests - before <= A_TURN && turns <= N / A_TURN + 2);
    }
    assert_int_equal(r.requests, N);
    h2_free(r.s);
    buf_free(&b);
}

/* nghttp2 refuses streams beyond the limit without a callback, so they count as frames, not as
 * requests. */
static void test_refused_streams(void **state)
{
    (void)state;
    enum { OPEN = 100, REFUSED = 400, A_TURN = 8 };
    static const h2_work most = {.frames = 1000, .requests = A_TURN, .heads = 1 << 20};
    rig r;
    err e = {0};
    buf b = {0};
    size_t frames = 0, requests = 0;
    open_rig(&r);
    put_hello(&b);
    for (unsigned i = 0; i < OPEN + REFUSED; i++)
        put_frame(&b, HEADERS, END_HEADERS, 1 + 2 * i, (str){get, sizeof get - 1});
    str rest = buf_view(&b);
    while (rest.n) {
        h2_work done;
        assert_ok(h2_feed_some(r.s, &rest, &most, &done, &e), &e);
        assert_true(done.requests <= A_TURN);
        frames += done.frames, requests += done.requests;
    }
    assert_int_equal(requests, OPEN);
    assert_true(frames >= OPEN + REFUSED);
    h2_free(r.s);
    buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floods),
        cmocka_unit_test(test_resets_by_us),
        cmocka_unit_test(test_goaway),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_pause_at_the_end),
        cmocka_unit_test(test_frames_of_a_turn),
        cmocka_unit_test(test_requests_of_a_turn),
        cmocka_unit_test(test_refused_streams),
    };
    return cmocka_run_group_tests_name("h2_floods", tests, NULL, NULL);
}
