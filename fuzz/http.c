/* Parses arbitrary bytes as the response of a hostile receiver. HTTP/1.1 must give the same result
 * in one piece and in small pieces, gRPC frames must be inside their body, an HTTP/2 session must
 * survive any bytes, and every response must be classified. */
#include "net/grpc.h"
#include "net/h2.h"
#include "net/http1.h"
#include "otlp/response.h"
#include "otlp/split.h"

#include <stdlib.h>

#define MUST(x)                                                                                    \
    do                                                                                             \
        if (!(x)) abort();                                                                         \
    while (0)

enum { MAX_BODY = 1 << 16 };

typedef struct parsed {
    http_message m;
    http1 h;
    err e;
    bool ok;
} parsed;

static void parse(parsed *p, http1_kind kind, str in, size_t step)
{
    *p = (parsed){.m.body.limit = MAX_BODY, .ok = true};
    http1_begin(&p->h, kind, &p->m);
    while (in.n && p->ok && p->h.state != HTTP1_DONE) {
        size_t n = in.n < step ? in.n : step;
        str piece = {in.p, n};
        p->ok = http1_feed(&p->h, &piece, &p->e);
        in = (str){in.p + (n - piece.n), in.n - (n - piece.n)};
    }
    if (p->ok) p->ok = http1_end(&p->h, &p->e);
    MUST(p->ok == (p->e.code == ERR_OK));
}

static void classify(const http_message *m)
{
    export_result a;
    export_result_of_http(m, UINT64_C(1700000000000000000), &a);
    MUST(memchr(a.text, 0, sizeof a.text));
    export_result_of_grpc(m, &a);
    MUST(memchr(a.text, 0, sizeof a.text));
}

static void pieces_agree(http1_kind kind, str in)
{
    parsed whole, small;
    parse(&whole, kind, in, SIZE_MAX);
    parse(&small, kind, in, 3);
    MUST(whole.ok == small.ok && !strcmp(whole.e.msg, small.e.msg));
    MUST(whole.m.status == small.m.status && whole.m.head.n == small.m.head.n &&
         whole.m.trailers.n == small.m.trailers.n);
    MUST(!whole.ok || (str_eq(buf_view(&whole.m.body), buf_view(&small.m.body)) &&
                       whole.h.keeps == small.h.keeps));
    MUST(whole.m.body.n <= MAX_BODY && (whole.e.offset <= in.n || whole.e.offset == NO_OFFSET));
    if (whole.ok && kind == HTTP1_RESPONSE) classify(&whole.m);
    http_message_free(&whole.m);
    http_message_free(&small.m);
}

static void frames(str in)
{
    err e = {0};
    grpc_frame f;
    for (str left = in; grpc_next(&left, MAX_BODY, &f, &e);)
        MUST(f.message.p >= in.p && f.message.p + f.message.n <= in.p + in.n);
    char text[64];
    MUST(grpc_message_text(in, text, sizeof text) < sizeof text);
    uint64_t ns;
    (void)!grpc_timeout_parse(in, &ns);
    (void)!retry_after_parse(in, 0, &ns);
}

/* Checks that nothing is lost when the input arrives in two parts. */
static void split(str in)
{
    buf a = {0}, b = {0};
    size_t n = otlp_count_items(in);
    if (otlp_split(in, &a, &b)) {
        size_t x = otlp_count_items(buf_view(&a)), y = otlp_count_items(buf_view(&b));
        MUST(x && y && x + y == n);
    }
    buf_free(&a);
    buf_free(&b);
}

static void on_done(void *ctx, int32_t stream, http_message *m)
{
    (void)ctx, (void)stream;
    classify(m);
}

static void on_failed(void *ctx, int32_t stream, bool unprocessed, const err *e)
{
    (void)ctx, (void)stream, (void)unprocessed;
    MUST(e->code != ERR_OK);
}

static void session(str in, bool server)
{
    err e = {0};
    buf out = {0};
    h2 *s = h2_open(&(h2_opts){.server = server, .max_body = MAX_BODY},
                    &(h2_events){.done = on_done, .failed = on_failed}, &e);
    MUST(s);
    static const http_header head[] = {{STR(":method"), STR("POST")},
                                       {STR(":scheme"), STR("http")},
                                       {STR(":authority"), STR("h")},
                                       {STR(":path"), STR("/")}};
    h2_send r = {.head = head, .n_head = 4, .body = {STR("abc")}};
    if (!server) MUST(h2_request(s, &r, &e) > 0);
    MUST(h2_take(s, &out, 0, &e));
    if (server && !h2_feed(s, STR("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"), &e))
        abort();
    if (h2_feed(s, in, &e)) (void)!h2_take(s, &out, 0, &e);
    h2_deliver(s);
    h2_free(s);
    buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    str in = {(const char *)data, n};
    pieces_agree(HTTP1_RESPONSE, in);
    pieces_agree(HTTP1_REQUEST, in);
    frames(in);
    split(in);
    session(in, false);
    session(in, true);
    return 0;
}
