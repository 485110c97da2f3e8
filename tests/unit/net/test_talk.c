/* Tests the HTTP client against a server in the same loop, built from conn.h and h2.h: plaintext
 * and TLS, HTTP/2 with trailers. */
#include "net/client.h"
#include "net/conn.h"
#include "net/h2.h"

#include "../../support/test.h"
#include <arpa/inet.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

enum { BIG = 3 << 20 };

/* ---- an echo server for one connection ---- */

typedef struct echo {
    loop *loop;
    conn *conn;
    h2 *h2;
    loop_watch listener;
    tls_context *tls;
    buf body;
    unsigned requests;
    bool reset; /* closes the connection without a response */
} echo;

static void flush(echo *x)
{
    err e = {0};
    assert_ok(h2_take(x->h2, conn_out(x->conn), 0, &e), &e);
    conn_flush(x->conn);
}

static void on_request(void *ctx, int32_t stream, http_message *m)
{
    echo *x = ctx;
    err e = {0};
    x->requests++;
    assert_true(str_eq(m->method, STR("POST")));
    buf_reset(&x->body);
    buf_str(&x->body, buf_view(&m->body));
    http_header head[] = {{STR(":status"), STR("200")}, {STR("x-path"), m->path}};
    http_header trailers[] = {{STR("grpc-status"), STR("0")}};
    h2_send s = {.head = head,
                 .n_head = 2,
                 .body = {buf_view(&x->body)},
                 .trailers = trailers,
                 .n_trailers = 1};
    assert_ok(h2_respond(x->h2, stream, &s, &e), &e);
}

static void on_failed(void *ctx, int32_t stream, bool unprocessed, const err *e)
{
    (void)ctx, (void)stream, (void)unprocessed, (void)e;
}

static void server_open(void *ctx, conn *c) { (void)ctx, (void)c; }

static void server_data(void *ctx, conn *c, str bytes)
{
    echo *x = ctx;
    err e = {0};
    if (x->reset) {
        conn_close(c);
        x->conn = NULL;
        return;
    }
    assert_ok(h2_feed(x->h2, bytes, &e), &e);
    h2_deliver(x->h2);
    flush(x);
}

static void server_closed(void *ctx, conn *c, const err *e)
{
    (void)c, (void)e;
    echo *x = ctx;
    x->conn = NULL;
}

static void on_accept(void *ctx, uint32_t events)
{
    (void)events;
    echo *x = ctx;
    err e = {0};
    int fd = accept4(x->listener.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    assert_true(fd >= 0);
    h2_free(x->h2);
    x->h2 = h2_open(&(h2_opts){.server = true, .max_body = BIG * 2},
                    &(h2_events){.done = on_request, .failed = on_failed, .ctx = x}, &e);
    assert_non_null(x->h2);
    conn_close(x->conn);
    x->conn = conn_take(x->loop, fd, x->tls,
                        &(conn_events){server_open, server_data, NULL, NULL, server_closed, x}, &e);
    assert_non_null(x->conn);
}

static uint16_t serve(echo *x, loop *l)
{
    err e = {0};
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    x->loop = l;
    x->listener =
        (loop_watch){socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on_accept, x};
    assert_int_equal(bind(x->listener.fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(x->listener.fd, 4), 0);
    assert_int_equal(getsockname(x->listener.fd, (struct sockaddr *)&a, &n), 0);
    assert_ok(loop_add(l, &x->listener, EPOLLIN, &e), &e);
    return ntohs(a.sin_port);
}

static void stop(echo *x)
{
    loop_forget(x->loop, &x->listener);
    close(x->listener.fd);
    conn_close(x->conn);
    h2_free(x->h2);
    tls_context_close(x->tls);
    buf_free(&x->body);
}

/* ---- the client ---- */

typedef struct heard {
    unsigned responses, failures, status;
    buf body;
    char path[32], grpc_status[8], why[400];
    err_code code;
} heard;

static void copy(char *out, size_t n, str s) { snprintf(out, n, "%.*s", STR_ARG(s)); }

static void on_done(void *ctx, const http_message *m, const err *e)
{
    heard *h = ctx;
    if (!m) {
        h->failures++;
        h->code = e->code;
        err_text(e, h->why, sizeof h->why);
        return;
    }
    h->responses++;
    h->status = m->status;
    buf_reset(&h->body);
    buf_str(&h->body, buf_view(&m->body));
    copy(h->path, sizeof h->path, http_headers_get(&m->head, "x-path"));
    copy(h->grpc_status, sizeof h->grpc_status, http_headers_get(&m->trailers, "grpc-status"));
}

static void run(loop *l, heard *h, unsigned n)
{
    uint64_t end = loop_now(l) + 60 * NS_PER_S;
    while (h->responses + h->failures < n && loop_now(l) < end) loop_once(l, NS_PER_S);
    assert_int_equal(h->responses + h->failures, n);
}

static http_client *client_tls(loop *l, uint16_t port, tls_context *t, heard *h)
{
    err e = {0};
    http_client_opts o = {
        .to = {.host = STR("127.0.0.1"), .port = port, .has_port = true, .tls = t != NULL},
        .tls = t,
        .h2 = !t, /* negotiated with TLS */
        .max_body = BIG * 2,
        .done = on_done,
        .ctx = h};
    http_client *c = http_client_open(l, &o, &e);
    assert_non_null(c);
    return c;
}

static http_client *client(loop *l, uint16_t port, heard *h)
{
    return client_tls(l, port, NULL, h);
}

static void post(http_client *c, str body)
{
    static const http_header head[] = {{STR("te"), STR("trailers")}};
    http_client_send(c, &(http_request){.method = STR("POST"),
                                        .path = STR("/x"),
                                        .head = head,
                                        .n_head = 1,
                                        .body = {STR("<"), body},
                                        .timeout = 60 * NS_PER_S});
}

static void test_echo(void **state)
{
    (void)state;
    err e = {0};
    loop *l = loop_open(world_system(), NULL, NULL, &e);
    echo x = {0};
    heard h = {0};
    http_client *c = client(l, serve(&x, l), &h);
    char *big = malloc(BIG);
    memset(big, 'b', BIG);
    str bodies[] = {STR(""), STR("hello"), {big, BIG}, STR("again")};
    for (unsigned i = 0; i < ARRAY_LEN(bodies); i++) {
        post(c, bodies[i]);
        run(l, &h, i + 1);
        assert_string_equal(h.why, "");
        assert_int_equal(h.status, 200);
        assert_string_equal(h.path, "/x");
        assert_string_equal(h.grpc_status, "0");
        assert_int_equal(h.body.n, bodies[i].n + 1);
        assert_memory_equal(h.body.p + 1, bodies[i].p, bodies[i].n);
    }
    assert_int_equal(x.requests, 4);
    http_client_close(c);
    stop(&x);
    loop_close(l);
    buf_free(&h.body);
    free(big);
}

/* ---- TLS: a self-signed certificate for 127.0.0.1 ---- */

static char pem[] = "/tmp/kiln-talk-XXXXXX";

static void make_certificate(void)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = X509_new();
    X509_set_version(x, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -60);
    X509_gmtime_adj(X509_getm_notAfter(x), 3600);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
                               (const unsigned char *)"kiln", -1, -1, 0);
    X509_set_issuer_name(x, X509_get_subject_name(x));
    X509_set_pubkey(x, key);
    X509_EXTENSION *san = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "IP:127.0.0.1");
    X509_add_ext(x, san, -1);
    assert_true(X509_sign(x, key, EVP_sha256()) > 0);
    int fd = mkstemp(pem);
    FILE *f = fdopen(fd, "w");
    assert_non_null(f);
    assert_true(PEM_write_X509(f, x) && PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL));
    fclose(f);
    X509_EXTENSION_free(san);
    X509_free(x);
    EVP_PKEY_free(key);
}

static void test_tls(void **state)
{
    (void)state;
    err e = {0};
    make_certificate();
    loop *l = loop_open(world_system(), NULL, NULL, &e);
    echo x = {.tls = tls_context_open(true, &(tls_files){.cert = pem}, "h2 http/1.1", &e)};
    assert_ok(x.tls, &e);
    uint16_t port = serve(&x, l);
    heard h = {0};
    tls_context *trusts = tls_context_open(false, &(tls_files){.ca = pem}, "h2 http/1.1", &e);
    http_client *c = client_tls(l, port, trusts, &h);
    char *big = malloc(BIG);
    memset(big, 'b', BIG);
    str bodies[] = {STR("hello"), {big, BIG}};
    for (unsigned i = 0; i < ARRAY_LEN(bodies); i++) {
        post(c, bodies[i]);
        run(l, &h, i + 1);
        assert_string_equal(h.why, "");
        assert_string_equal(h.grpc_status, "0"); /* HTTP/2 was negotiated */
        assert_int_equal(h.body.n, bodies[i].n + 1);
    }
    http_client_close(c);
    tls_context_close(trusts);

    tls_context *wary = tls_context_open(false, &(tls_files){0}, "h2", &e);
    c = client_tls(l, port, wary, &h);
    post(c, STR("secret"));
    run(l, &h, 3);
    assert_int_equal(h.code, ERR_UNSUPPORTED);
    assert_int_equal(http_client_mismatch(c), HTTP_PEER_UNTRUSTED);
    assert_int_equal(x.requests, 2);
    http_client_close(c);
    tls_context_close(wary);
    for (int i = 0; i < 3; i++) loop_once(l, NS_PER_MS);
    stop(&x);
    loop_close(l);
    buf_free(&h.body);
    free(big);
    unlink(pem);
}

/* If the peer closes a reused connection instead of responding, the client tries once more, then
 * reports the failure. */
static void test_hang_up(void **state)
{
    (void)state;
    err e = {0};
    loop *l = loop_open(world_system(), NULL, NULL, &e);
    echo x = {0};
    heard h = {0};
    http_client *c = client(l, serve(&x, l), &h);
    post(c, STR("1"));
    run(l, &h, 1);
    x.reset = true;
    post(c, STR("2"));
    run(l, &h, 2);
    assert_int_equal(h.failures, 1);
    assert_int_equal(h.code, ERR_SYS);
    x.reset = false;
    post(c, STR("3"));
    run(l, &h, 3);
    assert_int_equal(h.responses, 2);
    http_client_close(c);
    stop(&x);
    loop_close(l);
    buf_free(&h.body);
}

/* Closing the client with an open request leaks nothing and calls no callback. */
static void test_close_early(void **state)
{
    (void)state;
    err e = {0};
    loop *l = loop_open(world_system(), NULL, NULL, &e);
    echo x = {0};
    heard h = {0};
    http_client *c = client(l, serve(&x, l), &h);
    post(c, STR("1"));
    for (int i = 0; i < 3; i++) loop_once(l, NS_PER_MS);
    http_client_close(c);
    for (int i = 0; i < 3; i++) loop_once(l, NS_PER_MS);
    assert_int_equal(h.responses + h.failures, h.responses);
    stop(&x);
    loop_close(l);
    buf_free(&h.body);
}

/* ---- timers ---- */

static uint64_t fake_now;
static uint64_t now(void *ctx)
{
    (void)ctx;
    return fake_now;
}

static char seen[16];
static void note(void *ctx) { strncat(seen, ctx, sizeof seen - strlen(seen) - 1); }

static void test_timers(void **state)
{
    (void)state;
    err e = {0};
    world w = *world_system();
    w.now = now;
    loop *l = loop_open(&w, NULL, NULL, &e);
    char names[4][2] = {"a", "b", "c", "d"};
    loop_timer t[4];
    static const uint64_t at[] = {30, 10, 20, 10};
    for (int i = 0; i < 4; i++) {
        t[i] = (loop_timer){.due = note, .ctx = names[i]};
        loop_arm(l, &t[i], at[i]);
    }
    loop_once(l, 0);
    assert_string_equal(seen, "");
    fake_now = 20;
    loop_disarm(l, &t[3]);
    loop_disarm(l, &t[3]);
    loop_once(l, 0);
    assert_string_equal(seen, "bc");
    loop_arm(l, &t[1], 40);
    loop_arm(l, &t[1], 25); /* moves the timer */
    fake_now = 50;
    loop_once(l, 0);
    assert_string_equal(seen, "bcba");
    loop_close(l);
}

typedef struct armed {
    loop_timer t;
    loop *l;
    uint64_t turn;
    bool again;
} armed;

static uint64_t last_at, last_turn, called;

static void in_order(void *ctx)
{
    armed *a = ctx;
    assert_true(a->t.at > last_at || (a->t.at == last_at && a->turn > last_turn));
    assert_true(a->t.at <= fake_now);
    last_at = a->t.at, last_turn = a->turn, called++;
    if (a->again) a->again = false, loop_arm(a->l, &a->t, 0); /* in the next turn */
}

/* Thousands of timers, armed, moved and disarmed in random order, fire by time, then in order of
 * arming. */
static void test_many_timers(void **state)
{
    (void)state;
    enum { N = 500, STEPS = 20000 };
    static armed v[N];
    err e = {0};
    world w = *world_system();
    w.now = now;
    loop *l = loop_open(&w, NULL, NULL, &e);
    uint64_t x = 88172645463325252u, turn = 0;
    size_t n_armed = 0;
    for (int i = 0; i < N; i++) v[i] = (armed){.t = {.due = in_order, .ctx = &v[i]}, .l = l};
    for (int i = 0; i < STEPS; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        armed *a = &v[x % N];
        n_armed -= a->t.armed;
        loop_disarm(l, &a->t);
        if (x >> 40 & 3) {
            a->turn = ++turn, a->again = x >> 42 & 1;
            loop_arm(l, &a->t, fake_now + 1 + (x >> 20) % 64);
            n_armed++;
        }
        if (x >> 50 & 15) continue;
        fake_now += (x >> 30) % 32;
        last_at = last_turn = called = 0;
        loop_once(l, 0);
        n_armed -= called;
        for (int k = 0; k < N; k++)
            if (v[k].t.armed && !v[k].t.at) loop_disarm(l, &v[k].t);
        for (int k = 0; k < N; k++) assert_true(!v[k].t.armed || v[k].t.at > fake_now);
    }
    size_t left = 0;
    for (int k = 0; k < N; k++) left += v[k].t.armed;
    assert_int_equal(left, n_armed);
    loop_close(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_echo),    cmocka_unit_test(test_tls),
        cmocka_unit_test(test_hang_up), cmocka_unit_test(test_close_early),
        cmocka_unit_test(test_timers),  cmocka_unit_test(test_many_timers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
