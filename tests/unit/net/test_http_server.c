/* The HTTP server on a loop with real sockets and a simulated clock. */
#include "net/http_server.h"
#include "net/client.h"
#include "net/listen.h"

#include "../../support/test.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BIG = 16 << 20 };

typedef struct rig {
    world world;
    uint64_t skipped; /* ns that the test adds to the system clock */
    loop *loop;
    http_server *s;
    uint16_t port;
    http_exchange *kept; /* an open request to /later */
    unsigned requests, gone, ended, cut;
    spill file;           /* the body of the last request to /file */
    http_failure failure; /* failure of the last request */
} rig;

static uint64_t skewed_now(void *ctx)
{
    rig *r = ctx;
    return world_now(world_system()) + r->skipped;
}

static void on_admit(void *ctx, http_message *m)
{
    (void)ctx;
    if (str_eq(m->path, STR("/small"))) m->body.limit = 4;
    if (str_eq(m->path, STR("/no"))) m->failure = HTTP_OVERLOADED;
}

/* Responds with method, path and body.  A request to /later stays open; the response of /big
 * exceeds the socket buffers. */
static void answer(http_exchange *x)
{
    http_message *m = http_exchange_message(x);
    buf b = {0};
    unsigned status = m->failure == HTTP_TOO_LARGE ? 413 : m->failure ? 429 : 200;
    buf_str(&b, m->method), buf_putc(&b, ' '), buf_str(&b, m->path), buf_putc(&b, ' ');
    buf_str(&b, buf_view(&m->body));
    for (int i = 0; i < BIG && str_eq(m->path, STR("/big")); i++) buf_putc(&b, 'b');
    http_header head[] = {{STR("x-one"), STR("1")}};
    http_respond(x, &(http_response){.status = status, .head = head, .n_head = 1, .body = &b});
}

static char file_byte(size_t i) { return (char)('a' + i / 1000 % 26); }

/* Responds with BIG bytes from a file that the test can still access. */
static void answer_file(rig *r, http_exchange *x)
{
    err e = {0};
    spill own;
    buf b = {0};
    for (size_t i = 0; i < BIG; i++) buf_putc(&b, file_byte(i));
    spill_close(&r->file);
    assert_ok(spill_write("/tmp", buf_view(&b), &r->file, &e), &e);
    assert_true(spill_share(&r->file, &own));
    buf_free(&b);
    assert_true(http_exchange_fits_file(x, BIG));
    http_respond(x, &(http_response){.status = 200, .file = &own});
}

static void on_request(void *ctx, http_exchange *x)
{
    rig *r = ctx;
    r->requests++;
    r->failure = http_exchange_message(x)->failure;
    assert_int_equal(strncmp(http_exchange_peer(x), "127.0.0.1:", 10), 0);
    if (str_eq(http_exchange_message(x)->path, STR("/later")))
        r->kept = x;
    else if (str_eq(http_exchange_message(x)->path, STR("/file")))
        answer_file(r, x);
    else
        answer(x);
}

static void on_gone(void *ctx, http_exchange *x)
{
    rig *r = ctx;
    r->gone++;
    if (r->kept == x) r->kept = NULL;
}

static void on_ended(void *ctx, http_exchange *x)
{
    rig *r = ctx;
    r->ended++;
    assert_ptr_equal(r->kept, x);
}

static void on_cut(void *ctx, const char *peer)
{
    assert_int_equal(strncmp(peer, "127.0.0.1:", 10), 0);
    ((rig *)ctx)->cut++;
}

static void open_rig(rig *r, const http_limits *o)
{
    err e = {0};
    *r = (rig){.world = *world_system(), .file = SPILL_NONE};
    r->world.now = skewed_now, r->world.ctx = r;
    r->loop = loop_open(&r->world, NULL, NULL, &e);
    http_server_events ev = {.admit = on_admit,
                             .request = on_request,
                             .gone = on_gone,
                             .ended = on_ended,
                             .ctx = r,
                             .cut = on_cut};
    r->s = http_server_open(r->loop, o, &ev, &e);
    int fd = net_listen(STR("127.0.0.1:0"), &e);
    assert_ok(fd >= 0, &e);
    assert_true(net_is_loopback(fd));
    struct sockaddr_in a;
    socklen_t n = sizeof a;
    getsockname(fd, (struct sockaddr *)&a, &n);
    r->port = ntohs(a.sin_port);
    assert_ok(http_server_listen(r->s, fd, NULL, true, &e), &e);
}

static void close_rig(rig *r)
{
    http_server_close(r->s);
    loop_close(r->loop);
    spill_close(&r->file);
}

static int dial(const rig *r)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons(r->port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

static void spin(rig *r)
{
    for (int i = 0; i < 12; i++) loop_once(r->loop, NS_PER_MS);
}

static void say(rig *r, int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
    spin(r);
}

/* Reads everything that has arrived.  Sets *over when the server closed the connection. */
static const char *hear(int fd, bool *over)
{
    static char text[64 << 10];
    size_t n = 0;
    *over = false;
    for (;;) {
        ssize_t k = recv(fd, text + n, sizeof text - 1 - n, MSG_DONTWAIT);
        *over = k == 0 || (k < 0 && errno == ECONNRESET);
        if (k <= 0) break;
        n += (size_t)k;
    }
    text[n] = '\0';
    return text;
}

/* Returns whether the bytes that arrived contain `what`. */
static bool hears(rig *r, int fd, const char *what)
{
    bool over, found = strstr(hear(fd, &over), what);
    spin(r);
    while (hear(fd, &over)[0]) spin(r);
    return found;
}

/* ---- HTTP/1.1 by hand ---- */

static const struct {
    const char *name, *request, *has;
    bool closes;
} cases[] = {
    {"get", "GET /a HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200 OK\r\nx-one: 1\r\n", false},
    {"post", "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", "\r\n\r\nPOST /a abc",
     false},
    {"chunks",
     "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
     "chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
     "POST /a abc", false},
    {"head", "HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n", "Content-Length: 8\r\n\r\n", false},
    {"close", "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "connection: close\r\n",
     true},
    {"http 1.0", "GET /a HTTP/1.0\r\n\r\n", "GET /a ", true},
    {"continue", "POST /a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n",
     "HTTP/1.1 100 Continue\r\n\r\n", false},
    {"pipelined", "GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n", "GET /b ",
     false},
    {"too large", "POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabcde",
     "413 Content Too Large", true},
    {"too many chunks",
     "POST /small HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n", "413 ",
     true},
    {"not admitted", "POST /no HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n", "429 Too Many",
     true},

    {"two lengths",
     "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
     "400 Bad Request", true},
    {"length and chunks",
     "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: "
     "chunked\r\n\r\n0\r\n\r\n",
     "both Content-Length and chunked encoding", true},
    {"other coding",
     "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "400 ",
     true},
    {"bare LF", "GET /a HTTP/1.1\nHost: x\n\n", "without a carriage return", true},
    {"bare CR", "GET /a HTTP/1.1\r\nHost: x\rX-Y: z\r\n\r\n", "400 ", true},
    {"folded", "GET /a HTTP/1.1\r\nHost: x\r\n more\r\n\r\n", "400 ", true},
    {"blank before the colon", "GET /a HTTP/1.1\r\nHost : x\r\n\r\n", "400 ", true},
    {"no host", "GET /a HTTP/1.1\r\n\r\n", "no Host header", true},
    {"two hosts", "GET /a HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", "two Host headers", true},
    {"negative length", "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", "400 ", true},
    {"signed chunk",
     "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n+1\r\na\r\n0\r\n\r\n",
     "400 ", true},
    {"chunked encoding in HTTP/1.0",
     "POST /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     "chunked encoding in HTTP/1.0", true},
    {"no HTTP", "hello\r\n\r\n", "400 ", true},
};

static void test_http1(void **state)
{
    (void)state;
    rig r;
    open_rig(&r, &(http_limits){0});
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bool over;
        int fd = dial(&r);
        say(&r, fd, cases[i].request);
        const char *text = hear(fd, &over);
        if (!strstr(text, cases[i].has) || over != cases[i].closes)
            fail_msg("%s: over %d: %s", cases[i].name, over, text);
        close(fd);
        spin(&r);
    }
    assert_true(http_server_idle(r.s));
    assert_int_equal(http_server_count(r.s).held, 0);
    close_rig(&r);
}

static void test_long_head(void **state)
{
    (void)state;
    rig r;
    bool over;
    open_rig(&r, &(http_limits){0});
    int fd = dial(&r);
    char line[9000];
    memset(line, 'a', sizeof line - 1), line[sizeof line - 1] = '\0';
    say(&r, fd, "GET /a HTTP/1.1\r\nHost: x\r\nX: ");
    say(&r, fd, line);
    assert_non_null(strstr(hear(fd, &over), "431 "));
    assert_true(over);
    close(fd);
    close_rig(&r);
}

/* A pending response delays the pipelined request.  A disconnect is reported. */
static void test_later(void **state)
{
    (void)state;
    rig r;
    bool over;
    open_rig(&r, &(http_limits){0});
    int fd = dial(&r);
    say(&r, fd, "GET /later HTTP/1.1\r\nHost: x\r\n\r\nGET /next HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(r.requests, 1);
    assert_string_equal(hear(fd, &over), "");
    answer(r.kept);
    spin(&r);
    const char *text = hear(fd, &over);
    assert_true(strstr(text, "GET /later ") && strstr(text, "GET /next ") && !over);
    say(&r, fd, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger)), 0);
    close(fd); /* a reset */
    spin(&r);
    assert_int_equal(r.gone, 1);
    assert_null(r.kept);
    close_rig(&r);
}

/* A client that half-closes its connection gets its response, now or later; half a request is
 * ignored. */
static void test_half_closed(void **state)
{
    (void)state;
    rig r;
    bool over;
    open_rig(&r, &(http_limits){0});
    int fd = dial(&r), half = dial(&r);
    say(&r, fd, "GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    say(&r, half, "GET /a HTTP/1.1\r\nHost");
    shutdown(fd, SHUT_WR), shutdown(half, SHUT_WR);
    spin(&r);
    assert_true(strstr(hear(fd, &over), "GET /a ") && !over);
    assert_string_equal(hear(half, &over), "");
    assert_true(over);
    assert_int_equal(r.ended, 1);
    answer(r.kept);
    spin(&r);
    assert_true(strstr(hear(fd, &over), "GET /later ") && over);
    assert_true(http_server_idle(r.s) && !r.gone);
    close(fd), close(half);
    close_rig(&r);
}

/* Pipelined requests that exceed the limit of a turn all get responses, in order. */
static void test_turns(void **state)
{
    (void)state;
    enum { N = 100 };
    rig r;
    bool over;
    char all[N * 48] = "", want[16];
    open_rig(&r, &(http_limits){0});
    int fd = dial(&r);
    for (int i = 0; i < N; i++)
        snprintf(all + strlen(all), 48, "GET /%d HTTP/1.1\r\nHost: x\r\n\r\n", i);
    say(&r, fd, all);
    const char *text = hear(fd, &over);
    for (int i = 0; i < N; i++) {
        snprintf(want, sizeof want, "GET /%d ", i);
        assert_true(text = strstr(text, want));
    }
    assert_false(over);
    close(fd);
    close_rig(&r);
}

/* ---- limits ---- */

static void test_slow_and_idle(void **state)
{
    (void)state;
    rig r;
    bool over;
    open_rig(&r, &(http_limits){0});
    int mute = dial(&r), head = dial(&r), body = dial(&r), idle = dial(&r);
    spin(&r);
    say(&r, head, "GET /a HTTP/1.1\r\nX");
    say(&r, body, "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n");
    say(&r, idle, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    for (int i = 0; i < 7; i++) { /* slowloris: single bytes do not prevent the timeout */
        r.skipped += 6 * NS_PER_S;
        (void)send(head, "X", 1, MSG_NOSIGNAL);
        (void)send(body, "X", 1, MSG_NOSIGNAL);
        spin(&r);
    }
    hear(mute, &over);
    assert_true(over);
    hear(head, &over);
    assert_true(over);
    hear(body, &over);
    assert_true(over);
    hear(idle, &over);
    assert_false(over);
    assert_int_equal(http_server_count(r.s).closed_slow, 3);
    r.skipped += 121 * NS_PER_S;
    spin(&r);
    hear(idle, &over);
    assert_true(over);
    assert_int_equal(http_server_count(r.s).closed_idle, 1);
    assert_true(http_server_idle(r.s));
    close(mute), close(head), close(body), close(idle);
    close_rig(&r);
}

static void test_full_house(void **state)
{
    (void)state;
    rig r;
    bool over;
    open_rig(&r, &(http_limits){.connections = 2});
    int a = dial(&r);
    say(&r, a, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    int b = dial(&r);
    spin(&r);
    int c = dial(&r);
    spin(&r);
    hear(b, &over);
    assert_true(over); /* the idle connection was closed */
    hear(a, &over);
    assert_false(over);
    say(&r, c, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_non_null(strstr(hear(c, &over), "200 OK"));
    assert_int_equal(http_server_count(r.s).closed_full, 1);
    close(a), close(b), close(c);
    close_rig(&r);
}

/* A client that is still reading its response is not idle: neither a new connection nor shutdown
 * disconnects it. */
static void test_taking(void **state)
{
    (void)state;
    rig r;
    bool over = false;
    open_rig(&r, &(http_limits){.connections = 2});
    int a = dial(&r);
    say(&r, a, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    int b = dial(&r);
    spin(&r);
    int c = dial(&r);
    spin(&r);
    hear(b, &over);
    assert_true(over); /* b is closed, although it connected after a */
    http_server_drain(r.s);
    r.skipped += NS_PER_S;
    spin(&r);
    hear(c, &over);
    assert_true(over);
    static char heard[64 << 10];
    size_t got = 0;
    ssize_t k = -1;
    for (int i = 0; i < 100000 && k; i++) {
        k = recv(a, heard, sizeof heard, MSG_DONTWAIT);
        if (k > 0) got += (size_t)k;
        loop_once(r.loop, k < 0 ? NS_PER_MS : 0);
    }
    assert_true(k == 0 && got > BIG);
    assert_true(http_server_idle(r.s));
    close(a), close(b), close(c);
    close_rig(&r);
}

/* Clients that never complete their headers do not block other clients. */
static void test_full_of_heads(void **state)
{
    (void)state;
    rig r;
    bool over;
    open_rig(&r, &(http_limits){.connections = 2});
    int a = dial(&r), b = dial(&r);
    say(&r, a, "GET /a HTTP/1.1\r\nX");
    say(&r, b, "GET /a HTTP/1.1\r\nX");
    int c = dial(&r);
    say(&r, c, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_non_null(strstr(hear(c, &over), "200 OK"));
    hear(a, &over);
    assert_true(over);
    hear(b, &over);
    assert_false(over);
    close(a), close(b), close(c);
    close_rig(&r);
}

/* The server stops reading from a client that does not read its responses.  Once the client reads,
 * it gets all of them. */
static void test_deaf(void **state)
{
    (void)state;
    rig r;
    open_rig(&r, &(http_limits){0});
    static char path[6000], asked[1 << 20], heard[64 << 10];
    memset(path, 'a', sizeof path - 1);
    int n = 0, fd = dial(&r);
    size_t sent = 0, got = 0,
           one = (size_t)snprintf(asked, sizeof asked, "GET /%s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    for (unsigned idle = 0; idle < 6;) { /* until the socket accepts no more */
        ssize_t k = send(fd, asked + sent % one, one - sent % one, MSG_NOSIGNAL | MSG_DONTWAIT);
        idle = k > 0 ? 0 : idle + 1;
        if (k > 0) sent += (size_t)k;
        loop_once(r.loop, idle * 5 * NS_PER_MS); /* the kernel may deliver late */
    }
    unsigned before = r.requests;
    spin(&r);
    assert_int_equal(r.requests, before);
    assert_true(before < sent / one + 1);
    while (r.requests < sent / one && n++ < 100000) {
        ssize_t k = recv(fd, heard, sizeof heard, MSG_DONTWAIT);
        if (k > 0) got += (size_t)k;
        loop_once(r.loop, k > 0 ? 0 : NS_PER_MS);
    }
    assert_int_equal(r.requests, sent / one);
    assert_true(got > (size_t)1 << 20);
    while (recv(fd, heard, sizeof heard, MSG_DONTWAIT) > 0) loop_once(r.loop, 0);
    assert_int_equal(errno, EAGAIN); /* the connection is still open */
    close(fd);
    close_rig(&r);
}

/* Reads what has arrived, at most n bytes. */
static size_t swallow(rig *r, int fd, size_t n)
{
    static char heard[64 << 10];
    size_t got = 0;
    for (int idle = 0; got < n && idle < 200;) {
        size_t want = n - got < sizeof heard ? n - got : sizeof heard;
        ssize_t k = recv(fd, heard, want, MSG_DONTWAIT);
        idle = k > 0 ? 0 : idle + 1;
        if (k > 0) got += (size_t)k;
        loop_once(r->loop, k > 0 ? 0 : NS_PER_MS);
    }
    return got;
}

/* The limit of responses applies to memory: a partly read response counts, and one large response
 * may exceed the limit. */
static void test_room(void **state)
{
    (void)state;
    enum { MOST = 1 << 20 };
    rig r;
    open_rig(&r, &(http_limits){.responses = MOST});
    int a = dial(&r), x = dial(&r);
    say(&r, x, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_non_null(r.kept);
    assert_true(http_exchange_fits(r.kept, MOST) && http_exchange_fits(r.kept, BIG));
    say(&r, a, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(http_exchange_fits(r.kept, MOST));
    assert_false(http_exchange_fits(r.kept, MOST + 1));
    assert_true(swallow(&r, a, 8 << 20) >= 8 << 20); /* the rest does not fit the socket buffers */
    assert_in_range(http_server_count(r.s).owed, BIG, 3 * BIG);
    assert_false(http_exchange_fits(r.kept, MOST + 1));
    assert_true(swallow(&r, a, BIG) >= 7 << 20);
    assert_int_equal(http_server_count(r.s).owed, 0);
    assert_true(http_exchange_fits(r.kept, BIG));
    close(a), close(x);
    close_rig(&r);
}

/* Responses that are sent without http_exchange_fits still count, however fast the client reads. */
static void test_over(void **state)
{
    (void)state;
    enum { N = 6 };
    rig r;
    int fd[N];
    open_rig(&r, &(http_limits){.responses = BIG});
    for (int i = 0; i < N; i++) {
        fd[i] = dial(&r);
        say(&r, fd[i], "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    for (int i = 0; i < 4; i++) { /* 5 MiB/s */
        r.skipped += NS_PER_S / 5;
        for (int k = 0; k < N; k++) swallow(&r, fd[k], 1 << 20);
    }
    int late = dial(&r);
    say(&r, late, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(hears(&r, late, "200 OK"));
    assert_true(http_server_count(r.s).closed_owed >= N - 3);
    assert_true(http_server_count(r.s).owed <= 2 * (2 * BIG) + BIG / 4);
    for (int i = 0; i < N; i++) close(fd[i]);
    close(late);
    close_rig(&r);
}

/* An early response arrives although the request is still being sent: the server does not reset. */
static void test_answered_early(void **state)
{
    (void)state;
    rig r;
    open_rig(&r, &(http_limits){.body = 1000});
    static char rest[1 << 20];
    char text[400];
    int fd = dial(&r);
    say(&r, fd, "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 8000000\r\n\r\n");
    for (int i = 0; i < 4; i++) {
        assert_true(send(fd, rest, sizeof rest, MSG_NOSIGNAL | MSG_DONTWAIT) > 0);
        spin(&r);
    }
    assert_false(http_server_idle(r.s));
    ssize_t n = recv(fd, text, sizeof text - 1, MSG_DONTWAIT);
    assert_true(n > 0);
    text[n] = '\0';
    assert_non_null(strstr(text, "413 "));
    assert_int_equal(recv(fd, text, sizeof text, MSG_DONTWAIT),
                     0); /* the end of the connection, not a reset */
    r.skipped += 6 * NS_PER_S;
    spin(&r);
    assert_true(http_server_idle(r.s));
    close(fd);
    close_rig(&r);
}

/* Paths count like headers, toward their limit and in the pool. */
static void test_long_path(void **state)
{
    (void)state;
    static char text[HTTP_MAX_HEAD];
    memset(text, 'a', sizeof text);
    http_pool pool = {.max = (size_t)1 << 20};
    http_message m = {.pool = &pool};
    err e = {0};
    str half = {text, sizeof text / 2}, kept;
    assert_ok(http_message_copy_head(&m, half, &kept, &e), &e);
    assert_true(str_eq(kept, half));
    assert_true(pool.used >= 2 * half.n);
    assert_false(http_message_copy_head(&m, (str){text, half.n + 1}, &kept, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    http_message_free(&m);
    assert_int_equal(pool.used, 0);
}

/* The first line of HTTP/1.1 counts too, and is rejected when the pool is full. */
static void test_long_line(void **state)
{
    (void)state;
    rig r;
    bool over;
    char path[6001];
    memset(path, 'a', 6000), path[6000] = '\0';
    open_rig(&r, &(http_limits){.bodies = 20000});
    int a = dial(&r), b = dial(&r);
    say(&r, a, "GET /"), say(&r, a, path), say(&r, a, " HTTP/1.1\r\nHost: x\r\n");
    assert_in_range(http_server_count(r.s).held, 12000, 14000);
    say(&r, b, "GET /"), say(&r, b, path), say(&r, b, " HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_non_null(strstr(hear(b, &over), "503 "));
    assert_true(over);
    say(&r, a, "\r\n");
    assert_true(hears(&r, a, "200 OK"));
    assert_int_equal(http_server_count(r.s).held, 0);
    close(a), close(b);
    close_rig(&r);
}

static void test_pool(void **state)
{
    (void)state;
    rig r;
    bool over;
    char body[2001];
    memset(body, 'b', 2000), body[2000] = '\0';
    open_rig(&r, &(http_limits){.bodies = 3000});
    int a = dial(&r), b = dial(&r);
    say(&r, a, "POST /later HTTP/1.1\r\nHost: x\r\nContent-Length: 2000\r\n\r\n");
    say(&r, a, body);
    assert_in_range(http_server_count(r.s).held, 2000, 2600);
    say(&r, b, "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 2000\r\n\r\n");
    say(&r, b, body);
    assert_non_null(strstr(hear(b, &over), "429 "));
    assert_int_equal(http_server_count(r.s).pressed, 1);
    answer(r.kept);
    spin(&r);
    assert_int_equal(http_server_count(r.s).held, 0);
    close(a), close(b);
    close_rig(&r);
}

/* When the pool is full, slow bodies are evicted for new ones; fast ones stay. */
static void test_relief(void **state)
{
    (void)state;
    enum { BODY = 200000 };
    static const char head[] = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n";
    static char body[BODY + 1];
    rig r;
    memset(body, 'b', BODY);
    open_rig(&r, &(http_limits){.bodies = 3 * BODY + 2000});
    int slow = dial(&r), fast = dial(&r), next = dial(&r);
    say(&r, slow, head), say(&r, slow, body + 1); /* all but one byte */
    r.skipped += 7 * NS_PER_S;
    say(&r, fast, head), say(&r, fast, body + 1);
    say(&r, next, head), say(&r, next, body);
    assert_true(hears(&r, next, "200 OK"));
    assert_int_equal(http_server_count(r.s).pressed, 0); /* it fitted into the pool */
    int more = dial(&r);
    say(&r, more, head), say(&r, more, body + 1);
    say(&r, next, head), say(&r, next, body);
    assert_true(hears(&r, next, "200 OK"));
    assert_true(hears(&r, slow, "429 "));
    assert_int_equal(http_server_count(r.s).pressed, 1);
    say(&r, fast, "b");
    assert_true(hears(&r, fast, "200 OK"));
    close(slow), close(fast), close(next), close(more);
    close_rig(&r);
}

/* ---- HTTP/2 ---- */

typedef struct heard {
    unsigned responses, failures, status;
    char body[64], why[300];
} heard;

static void on_done(void *ctx, const http_message *m, const err *e)
{
    heard *h = ctx;
    h->responses += m != NULL, h->failures += m == NULL;
    if (m)
        h->status = m->status, snprintf(h->body, sizeof h->body, "%.*s", (int)m->body.n, m->body.p);
    if (!m) err_text(e, h->why, sizeof h->why);
}

static void test_h2(void **state)
{
    (void)state;
    static const struct {
        const char *path, *body;
        unsigned status;
        const char *has;
    } asked[] = {{"/a", "abc", 200, "POST /a abc"},
                 {"/small", "abcd", 200, "POST /small abcd"},
                 {"/small", "abcde", 413, "POST /small "},
                 {"/no", "abc", 429, "POST /no "},
                 {"/a", "", 200, "POST /a "}};
    rig r;
    heard h = {0};
    err e = {0};
    open_rig(&r, &(http_limits){0});
    http_client_opts o = {.to = {.host = STR("127.0.0.1"), .port = r.port, .has_port = true},
                          .h2 = true,
                          .done = on_done,
                          .ctx = &h};
    http_client *c = http_client_open(r.loop, &o, &e);
    for (unsigned i = 0; i < ARRAY_LEN(asked); i++) {
        http_client_send(c, &(http_request){.method = STR("POST"),
                                            .path = str_of(asked[i].path),
                                            .body = {str_of(asked[i].body)},
                                            .timeout = 60 * NS_PER_S});
        for (int k = 0; k < 20000 && h.responses + h.failures == i; k++)
            loop_once(r.loop, NS_PER_MS);
        assert_string_equal(h.why, "");
        assert_int_equal(h.status, asked[i].status);
        assert_string_equal(h.body, asked[i].has);
    }
    /* Draining finishes open requests and releases the client. */
    http_client_send(c, &(http_request){.method = STR("GET"), .path = STR("/later")});
    spin(&r);
    assert_non_null(r.kept);
    http_server_drain(r.s);
    r.skipped += NS_PER_S;
    spin(&r);
    assert_false(http_server_idle(r.s));
    answer(r.kept);
    spin(&r);
    assert_int_equal(h.responses, ARRAY_LEN(asked) + 1);
    assert_true(http_server_idle(r.s));
    http_client_close(c);
    close_rig(&r);
}

/* ---- HTTP/2 by hand ---- */

static const char h2_hello[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
enum {
    HELLO = sizeof h2_hello - 1,
    FRAME_DATA = 0,
    FRAME_HEADERS = 1,
    FRAME_RST = 3,
    FRAME_GOAWAY = 7
};

static void put_h2(rig *r, int fd, unsigned kind, unsigned flags, unsigned stream, str body)
{
    static unsigned char frame[9 + (16 << 10)];
    const unsigned char head[9] = {0,
                                   (unsigned char)(body.n >> 8),
                                   (unsigned char)body.n,
                                   (unsigned char)kind,
                                   (unsigned char)flags,
                                   0,
                                   0,
                                   0,
                                   (unsigned char)stream};
    memcpy(frame, head, sizeof head);
    memcpy(frame + sizeof head, body.p, body.n); /* in one write, to avoid a delay */
    ssize_t n = (ssize_t)(sizeof head + body.n);
    assert_int_equal(send(fd, frame, (size_t)n, MSG_NOSIGNAL), n);
    spin(r);
}

/* Returns the number of received frames of a type.  Sets *last to the last byte of the last one,
 * and *ended if one had END_STREAM. */
static unsigned frames_of(int fd, unsigned char kind, unsigned char *last, bool *ended)
{
    static unsigned char in[64 << 10];
    unsigned n = 0;
    ssize_t k = recv(fd, in, sizeof in, MSG_DONTWAIT);
    for (const unsigned char *p = in; k >= 9;) {
        size_t size = 9 + ((size_t)p[0] << 16 | (size_t)p[1] << 8 | p[2]);
        if (p[3] == kind) n++, *last = p[size - 1];
        *ended |= p[3] <= FRAME_HEADERS && p[4] & 1;
        p += size, k -= (ssize_t)size;
    }
    return n;
}

static int dial_h2(rig *r)
{
    int fd = dial(r);
    assert_int_equal(send(fd, h2_hello, HELLO, MSG_NOSIGNAL), HELLO);
    spin(r);
    return fd;
}

#define H2_POST(path) STR("\x83\x86\x04" path "\x01\x01x")

/* curl 7.88 discards an early response that is followed by a reset.  So the server discards the
 * rest of the request and resets the stream seconds later. */
static void test_answered_early_h2(void **state)
{
    (void)state;
    static char body[16 << 10];
    rig r;
    unsigned char last = 0;
    bool ended = false;
    open_rig(&r, &(http_limits){0});
    int fd = dial_h2(&r);
    put_h2(&r, fd, FRAME_HEADERS, 4, 1, H2_POST("\x03/no"));
    assert_int_equal(frames_of(fd, FRAME_RST, &last, &ended), 0);
    assert_true(ended);
    for (int i = 0; i < 20; i++) put_h2(&r, fd, FRAME_DATA, 0, 1, (str){body, sizeof body});
    assert_int_equal(frames_of(fd, FRAME_RST, &last, &ended), 0);
    assert_int_equal(http_server_count(r.s).held, 0);
    for (int i = 0; i < 2; i++) r.skipped += 3 * NS_PER_S, spin(&r);
    assert_int_equal(frames_of(fd, FRAME_RST, &last, &ended), 1);
    assert_int_equal(last, 0); /* NO_ERROR */
    ended = false;             /* other streams are unaffected */
    put_h2(&r, fd, FRAME_HEADERS, 5, 3, H2_POST("\x02/a"));
    frames_of(fd, FRAME_RST, &last, &ended);
    assert_true(ended);
    close(fd);
    close_rig(&r);
}

/* The part of the request that the server discards has the same limit as a body. */
static void test_early_h2_limit(void **state)
{
    (void)state;
    static char body[16 << 10];
    rig r;
    unsigned char last = 1;
    unsigned resets = 0;
    bool ended = false;
    open_rig(&r, &(http_limits){.body = 200000});
    int fd = dial_h2(&r);
    put_h2(&r, fd, FRAME_HEADERS, 4, 1, H2_POST("\x03/no"));
    for (int i = 0; i < 20 && !resets; i++) {
        put_h2(&r, fd, FRAME_DATA, 0, 1, (str){body, sizeof body});
        resets = frames_of(fd, FRAME_RST, &last, &ended);
        assert_true(!resets || i >= 200000 / (16 << 10));
    }
    assert_int_equal(resets, 1);
    assert_int_equal(last, 0);
    close(fd);
    close_rig(&r);
}

/* ---- shutdown ---- */

/* Requests in transit during shutdown get responses, which announce the end of the connection. */
static void test_drain_busy(void **state)
{
    (void)state;
    static const char get[] = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
    rig r;
    bool over, ended = false;
    unsigned char last = 0;
    open_rig(&r, &(http_limits){0});
    int crossing = dial(&r), next = dial(&r), h2 = dial_h2(&r), idle = dial(&r);
    int endless = dial(&r);
    say(&r, idle, get), hear(idle, &over);
    r.skipped += 2 * NS_PER_S;
    say(&r, crossing, get), hear(crossing, &over);
    say(&r, next, get), hear(next, &over);
    put_h2(&r, h2, FRAME_HEADERS, 5, 1, H2_POST("\x02/a"));
    frames_of(h2, FRAME_GOAWAY, &last, &ended);
    say(&r, endless, get), hear(endless, &over);
    int late = dial(&r); /* not accepted yet */
    assert_int_equal(send(late, get, sizeof get - 1, MSG_NOSIGNAL), sizeof get - 1);
    assert_int_equal(send(crossing, get, sizeof get - 1, MSG_NOSIGNAL), sizeof get - 1);
    http_server_drain(r.s);
    spin(&r);
    const char *text = hear(crossing, &over);
    assert_true(strstr(text, "200 OK") && strstr(text, "connection: close") && over);
    text = hear(late, &over);
    assert_true(strstr(text, "200 OK") && strstr(text, "connection: close") && over);
    hear(idle, &over);
    assert_true(over);
    say(&r, next, get); /* shortly after the drain, on a recently busy connection */
    text = hear(next, &over);
    assert_true(strstr(text, "200 OK") && strstr(text, "connection: close") && over);
    ended = false;
    put_h2(&r, h2, FRAME_HEADERS, 5, 3, H2_POST("\x02/b"));
    assert_int_equal(frames_of(h2, FRAME_GOAWAY, &last, &ended), 1);
    assert_true(ended);
    for (int i = 0; i < 50;
         i++) /* a connection that never pauses ends too, after one more response */
        (void)!send(endless, get, sizeof get - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    spin(&r);
    text = hear(endless, &over);
    assert_true(strstr(text, "connection: close") && over);
    r.skipped += NS_PER_S / 2;
    spin(&r);
    ended = false;
    unsigned requests = r.requests;
    assert_int_equal(frames_of(h2, FRAME_GOAWAY, &last, &ended), 1);
    (void)!send(h2, "\0\0\1\1\5\0\0\0\5\x82", 10, MSG_NOSIGNAL | MSG_DONTWAIT);
    r.skipped += 2 * NS_PER_S;
    spin(&r);
    assert_int_equal(r.requests, requests);
    assert_true(http_server_idle(r.s));
    close(crossing), close(next), close(h2), close(idle), close(endless), close(late);
    close_rig(&r);
}

/* A normal download: the kernel accepts megabytes at once and then nothing for a while, but the
 * client reads steadily. */
static void test_slow_download(void **state)
{
    (void)state;
    rig r;
    open_rig(&r, &(http_limits){0});
    int fd = dial(&r);
    say(&r, fd, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    for (int i = 0; i < 12; i++) { /* a minute at 40 KB/s */
        r.skipped += 5 * NS_PER_S;
        assert_int_equal(swallow(&r, fd, 200 << 10), 200 << 10);
    }
    assert_int_equal(http_server_count(r.s).closed_slow, 0);
    assert_true(http_server_count(r.s).owed > 0);
    for (int i = 0; i < 200 && !http_server_count(r.s).closed_slow; i++)
        r.skipped += 5 * NS_PER_S,
            spin(
                &r); /* a client that does not read is closed; the kernel may still deliver some bytes */
    assert_int_equal(http_server_count(r.s).closed_slow, 1);
    close(fd);
    close_rig(&r);
}

/* ---- files ---- */

/* Reads the body of an HTTP/1.1 response, compares it with the file and returns its size.  Sets
 * *over when the server closed the connection. */
static size_t take_file(rig *r, int fd, size_t most, bool *over)
{
    static char in[64 << 10];
    size_t got = 0, skip = 0;
    bool head = true;
    *over = false;
    for (int idle = 0; got < most && idle < 200 && !*over;) {
        size_t want = head ? 200 : most - got < sizeof in ? most - got : sizeof in;
        ssize_t k = recv(fd, in, want, MSG_DONTWAIT);
        loop_once(r->loop, k > 0 ? 0 : NS_PER_MS);
        idle = k > 0 ? 0 : idle + 1;
        *over = k == 0 || (k < 0 && errno == ECONNRESET);
        if (k <= 0) continue;
        char *end = head ? memmem(in, (size_t)k, "\r\n\r\n", 4) : NULL;
        skip = end ? (size_t)(end + 4 - in) : 0;
        head = false;
        for (size_t i = skip; i < (size_t)k; i++)
            if (in[i] != file_byte(got + i - skip)) fail_msg("byte %zu", got + i - skip);
        got += (size_t)k - skip;
    }
    return got;
}

/* A large body is sent from its file piece by piece, and the next request waits. */
static void test_file(void **state)
{
    (void)state;
    rig r;
    bool over;
    open_rig(&r, &(http_limits){.responses = 1 << 20});
    int fd = dial(&r), other = dial(&r);
    say(&r, fd, "GET /file HTTP/1.1\r\nHost: x\r\n\r\nGET /next HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(r.requests, 1);
    assert_int_equal(http_server_count(r.s).file_bytes, BIG);
    assert_true(http_server_count(r.s).owed < 600 << 10);
    say(&r, other, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(http_exchange_fits(r.kept, 0)); /* other responses are unaffected */
    answer(r.kept);
    assert_int_equal(take_file(&r, fd, BIG, &over), BIG);
    assert_int_equal(http_server_count(r.s).file_bytes, 0);
    spin(&r);
    assert_non_null(strstr(hear(fd, &over), "GET /next "));
    assert_false(over);
    say(&r, fd, "HEAD /file HTTP/1.1\r\nHost: x\r\n\r\n");
    const char *text = hear(fd, &over);
    assert_true(strstr(text, "Content-Length: 16777216\r\n\r\n") && strlen(text) < 300);
    assert_int_equal(http_server_count(r.s).owed, 0);
    close(fd), close(other);
    close_rig(&r);
}

/* A client can detect a truncated body: over HTTP/1.1 the connection ends before Content-Length. */
static void test_file_cut(void **state)
{
    (void)state;
    rig r;
    bool over;
    open_rig(&r, &(http_limits){0});
    int fd = dial(&r);
    say(&r, fd, "GET /file HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(ftruncate(r.file.fd, 14 << 20), 0);
    size_t got = take_file(&r, fd, BIG, &over);
    assert_true(over && got <= 14 << 20);
    assert_int_equal(http_server_count(r.s).cut, 1);
    assert_int_equal(r.cut, 1);
    close(fd);
    close_rig(&r);
}

/* Over HTTP/2 the stream of a truncated body is reset, and other streams continue. */
static void test_file_cut_h2(void **state)
{
    (void)state;
    rig r;
    bool ended = false;
    unsigned char last = 0;
    open_rig(&r, &(http_limits){0});
    int fd = dial_h2(&r);
    put_h2(&r, fd, FRAME_HEADERS, 5, 1, H2_POST("\x05/file"));
    assert_int_equal(http_server_count(r.s).file_bytes, BIG);
    assert_int_equal(ftruncate(r.file.fd, 0), 0);
    swallow(&r, fd, BIG); /* the first window of 64 KB */
    put_h2(&r, fd, 8, 0, 1, (str){"\0\1\0\0", 4});
    put_h2(&r, fd, 8, 0, 0, (str){"\0\1\0\0", 4});
    assert_int_equal(frames_of(fd, FRAME_RST, &last, &ended), 1);
    assert_int_equal(last, 2); /* INTERNAL_ERROR */
    assert_false(ended);
    assert_int_equal(r.cut, 1);
    assert_int_equal(http_server_count(r.s).file_bytes, 0);
    put_h2(&r, fd, FRAME_HEADERS, 5, 3, H2_POST("\x02/a"));
    frames_of(fd, FRAME_RST, &last, &ended);
    assert_true(ended);
    close(fd);
    close_rig(&r);
}

/* Files count toward the share of their connection.  When a file does not fit, the slowest reader
 * is closed. */
static void test_file_room(void **state)
{
    (void)state;
    rig r;
    bool over;
    /* no stall limit: under a sanitizer on a busy machine, reading 8 MiB takes many seconds */
    open_rig(&r, &(http_limits){.files = 2 * (uint64_t)BIG, .stall_ns = 3600 * NS_PER_S});
    int a = dial_h2(&r), b = dial(&r), c = dial(&r);
    put_h2(&r, a, FRAME_HEADERS, 5, 1, H2_POST("\x05/file"));
    put_h2(&r, a, FRAME_HEADERS, 5, 3, H2_POST("\x06/later"));
    assert_false(http_exchange_fits_file(r.kept, BIG)); /* a second file of the same connection */
    answer(r.kept);
    say(&r, b, "GET /file HTTP/1.1\r\nHost: x\r\n\r\n");
    say(&r, c, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_false(http_exchange_fits_file(r.kept, BIG));
    r.skipped += 11 * NS_PER_S;
    assert_int_equal(take_file(&r, b, 8 << 20, &over), 8 << 20);
    assert_true(http_exchange_fits_file(r.kept, BIG));
    assert_int_equal(http_server_count(r.s).closed_owed, 1); /* connection a */
    assert_int_equal(http_server_count(r.s).file_bytes, BIG);
    assert_false(http_exchange_fits_file(r.kept, BIG + 1));
    close(a), close(b), close(c);
    close_rig(&r);
}

/* Each connection has its own share: one that has used it is rejected while others are not. */
static void test_own_share(void **state)
{
    (void)state;
    rig r;
    open_rig(&r, &(http_limits){.responses = 4 * BIG});
    int a = dial_h2(&r), b = dial(&r);
    put_h2(&r, a, FRAME_HEADERS, 5, 1, H2_POST("\x04/big"));
    put_h2(&r, a, FRAME_HEADERS, 5, 3, H2_POST("\x06/later"));
    assert_false(http_exchange_fits(r.kept, BIG / 2));
    answer(r.kept);
    say(&r, b, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(http_exchange_fits(r.kept, BIG / 2));
    close(a), close(b);
    close_rig(&r);
}

/* Responses passed to the server after the last turn of the loop are sent before the connection is
 * closed. */
static void test_answered_last(void **state)
{
    (void)state;
    rig r;
    heard h = {0};
    err e = {0};
    open_rig(&r, &(http_limits){0});
    http_client_opts o = {.to = {.host = STR("127.0.0.1"), .port = r.port, .has_port = true},
                          .h2 = true,
                          .done = on_done,
                          .ctx = &h};
    http_client *c = http_client_open(r.loop, &o, &e);
    http_client_send(c, &(http_request){.method = STR("GET"), .path = STR("/later")});
    for (int i = 0; i < 2000 && !r.kept; i++) loop_once(r.loop, NS_PER_MS);
    assert_non_null(r.kept);
    http_server_drain(r.s);
    answer(r.kept);
    http_server_close(r.s);
    r.s = NULL;
    for (int i = 0; i < 2000 && !h.responses && !h.failures; i++) loop_once(r.loop, NS_PER_MS);
    assert_string_equal(h.why, "");
    assert_string_equal(h.body, "GET /later ");
    http_client_close(c);
    close_rig(&r);
}

/* A client that sends only frames without requests is closed. */
static void test_flood(void **state)
{
    (void)state;
    static const char hello[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
    static const char ping[17] = "\0\0\10\6\0\0\0\0\0abcdefgh";
    rig r;
    bool over;
    open_rig(&r, &(http_limits){0});
    int fd = dial(&r);
    assert_int_equal(send(fd, hello, sizeof hello - 1, MSG_NOSIGNAL), sizeof hello - 1);
    for (int i = 0; i < 2000; i++) {
        if (send(fd, ping, sizeof ping, MSG_NOSIGNAL) < 0) break;
        if (i % 20 == 0) loop_once(r.loop, 0), hear(fd, &over);
    }
    spin(&r);
    assert_true(http_server_idle(r.s));
    assert_int_equal(http_server_count(r.s).closed_broken, 1);
    close(fd);
    close_rig(&r);
}

static void test_addresses(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "x",
                                      "localhost",
                                      "localhost:",
                                      ":x",
                                      "80x",
                                      ":80x",
                                      "-1",
                                      "127.0.0.1:-1",
                                      "+80",
                                      " 80",
                                      "70000",
                                      "127.0.0.1:65536",
                                      "1.2.3.4:99999999",
                                      ":18446744073709551617",
                                      "::1",
                                      "::1:4317",
                                      "[::1]",
                                      "[::1]4317",
                                      "[::1:4317",
                                      "::1]:80",
                                      "[]:80",
                                      "[localhost]:4317",
                                      "fe80::1:80",
                                      "1.2.3.4:80:"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        err e = {0};
        if (net_listen_check(str_of(bad[i]), &e)) fail_msg("`%s` was taken", bad[i]);
        assert_int_equal(e.code, ERR_USAGE);
        e = (err){0};
        assert_int_equal(net_listen(str_of(bad[i]), &e), -1);
        assert_int_equal(e.code, ERR_USAGE);
    }
    static const char *const good[] = {"0", "65535", ":4317", "[::1]:0", "[::]:65535", "a.b:1"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        err why = {0};
        assert_ok(net_listen_check(str_of(good[i]), &why), &why);
    }
    err e = {0};
    int fd = net_listen(STR(":0"), &e);
    assert_ok(fd >= 0, &e);
    assert_false(net_is_loopback(fd));
    close(fd);
    fd = net_listen(STR("0"), &e);
    assert_ok(fd >= 0, &e);
    assert_true(net_is_loopback(fd));
    char text[64];
    assert_non_null(strstr(net_local_text(fd, text, sizeof text), "1")); /* 127.0.0.1 or ::1 */
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http1),          cmocka_unit_test(test_long_head),
        cmocka_unit_test(test_later),          cmocka_unit_test(test_slow_and_idle),
        cmocka_unit_test(test_full_house),     cmocka_unit_test(test_full_of_heads),
        cmocka_unit_test(test_answered_early), cmocka_unit_test(test_deaf),
        cmocka_unit_test(test_pool),           cmocka_unit_test(test_h2),
        cmocka_unit_test(test_relief),         cmocka_unit_test(test_half_closed),
        cmocka_unit_test(test_turns),          cmocka_unit_test(test_flood),
        cmocka_unit_test(test_addresses),      cmocka_unit_test(test_taking),
        cmocka_unit_test(test_long_path),      cmocka_unit_test(test_long_line),
        cmocka_unit_test(test_answered_last),  cmocka_unit_test(test_room),
        cmocka_unit_test(test_over),           cmocka_unit_test(test_answered_early_h2),
        cmocka_unit_test(test_early_h2_limit), cmocka_unit_test(test_drain_busy),
        cmocka_unit_test(test_slow_download),  cmocka_unit_test(test_file),
        cmocka_unit_test(test_file_cut),       cmocka_unit_test(test_file_cut_h2),
        cmocka_unit_test(test_file_room),      cmocka_unit_test(test_own_share),
    };
    return cmocka_run_group_tests_name("http_server", tests, NULL, NULL);
}
