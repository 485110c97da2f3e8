/* The sender with a simulated clock and a receiver inside the test: HTTP/1.1 over socket pairs. */
#include "otlp/sender.h"

#include "../../support/test.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { MAX_EVENTS = 32 };

typedef struct fake {
    world world;
    uint64_t now;
    int peer; /* the test's end of the newest connection, or -1 */
    unsigned dials;
    int all[4]; /* with in_flight: the test's ends of all connections, in order */
    unsigned in_flight;
    bool down; /* connections are refused */
    loop *loop;
    sender *sender;
    otlp_counters counters;
    settled outcomes[MAX_EVENTS];
    char why[MAX_EVENTS][256];
    size_t n_outcomes;
    char logged[MAX_EVENTS][512];
    size_t n_logged;
    otlp_config config;
} fake;

static uint64_t now(void *ctx) { return ((fake *)ctx)->now; }
static uint64_t wall(void *ctx) { return 1700000000 * NS_PER_S + ((fake *)ctx)->now; }
static uint64_t middle(void *ctx)
{
    (void)ctx;
    return UINT64_C(1) << 63; /* no jitter */
}

static int dial(void *ctx, const struct sockaddr *to, socklen_t n)
{
    (void)to, (void)n;
    fake *f = ctx;
    int pair[2];
    f->dials++;
    if (f->down) return errno = ECONNREFUSED, -1;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    if (f->in_flight) {
        assert_true(f->dials <= ARRAY_LEN(f->all));
        f->all[f->dials - 1] = pair[1];
    } else if (f->peer >= 0) {
        close(f->peer);
    }
    f->peer = pair[1];
    return pair[0];
}

static void on_settled(void *ctx, const settled *s)
{
    fake *f = ctx;
    assert_true(f->n_outcomes < MAX_EVENTS);
    f->outcomes[f->n_outcomes] = *s;
    snprintf(f->why[f->n_outcomes++], 256, "%s", s->text);
}

static void on_log(void *ctx, const char *message)
{
    fake *f = ctx;
    assert_true(f->n_logged < MAX_EVENTS);
    snprintf(f->logged[f->n_logged++], 512, "%s", message);
}

static void start(fake *f, spool *s)
{
    err e = {0};
    f->world = *world_system();
    f->world.ctx = f, f->world.now = now, f->world.wall = wall, f->world.random = middle,
    f->world.dial = dial;
    f->now = 1000 * NS_PER_S;
    f->peer = -1;
    f->config = (otlp_config){
        .signal = OTLP_PROFILES,
        .timeout = OTLP_TIMEOUT_NS,
        .to = {.host = STR("127.0.0.1"), .port = 9, .has_port = true, .path = STR("/p")},
        .set_endpoint = "--to ",
        .set_protocol = "--protocol ",
        .set_ca = "--ca "};
    f->loop = loop_open(&f->world, NULL, NULL, &e);
    sender_opts o = {.config = &f->config,
                     .spool = s,
                     .max_age = f->in_flight ? SENDER_FOREVER : 60 * NS_PER_S,
                     .in_flight = f->in_flight,
                     .max_request = 1000,
                     .counters = &f->counters,
                     .settled = on_settled,
                     .say = on_log,
                     .ctx = f};
    f->sender = sender_open(f->loop, &o, &e);
    assert_ok(f->sender, &e);
}

static void stop(fake *f)
{
    sender_close(f->sender);
    for (unsigned i = 0; f->in_flight && i < f->dials; i++) close(f->all[i]);
    if (!f->in_flight && f->peer >= 0) close(f->peer);
    loop_close(f->loop);
}

static void add(fake *f, const char *text, uint64_t cookie)
{
    otlp_batch *b = calloc(1, sizeof *b);
    assert_non_null(b);
    buf_z(&b->bytes, text);
    b->items = 2;
    b->cookie = cookie;
    sender_add(f->sender, b);
}

static void turn(fake *f)
{
    for (int i = 0; i < 8; i++) loop_once(f->loop, 0);
}

static void pass(fake *f, uint64_t ns)
{
    f->now += ns;
    turn(f);
}

/* Returns the body of the request that arrived, or "" when there is none. */
static const char *received(fake *f)
{
    static char text[4096];
    turn(f);
    ssize_t n = f->peer >= 0 ? recv(f->peer, text, sizeof text - 1, 0) : -1;
    text[n > 0 ? n : 0] = '\0';
    const char *body = strstr(text, "\r\n\r\n");
    return body ? body + 4 : "";
}

static void respond(fake *f, const char *text)
{
    assert_int_equal(send(f->peer, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
    turn(f);
}

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
#define BUSY "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"

static void test_in_order(void **state)
{
    (void)state;
    fake f = {0};
    start(&f, NULL);
    add(&f, "one", 1);
    add(&f, "two", 2);
    assert_string_equal(received(&f), "one");
    assert_string_equal(received(&f), ""); /* one at a time */
    respond(&f, OK);
    assert_string_equal(received(&f), "two");
    respond(&f, OK);
    assert_true(sender_idle(f.sender));
    assert_int_equal(f.n_outcomes, 2);
    assert_int_equal(f.outcomes[1].cookie, 2);
    assert_int_equal(f.outcomes[1].outcome, OUTCOME_ACCEPTED);
    assert_int_equal(f.dials, 1);
    assert_u64(f.counters.items_accepted, 4);
    assert_int_equal(f.n_logged, 0);
    stop(&f);
}

static void test_backs_off(void **state)
{
    (void)state;
    fake f = {0};
    start(&f, NULL);
    add(&f, "one", 1);
    assert_string_equal(received(&f), "one");
    respond(&f, BUSY);
    pass(&f, NS_PER_S - 1);
    assert_string_equal(received(&f), "");
    pass(&f, 1);
    assert_string_equal(received(&f), "one");
    respond(&f, "HTTP/1.1 429 Busy\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n");
    pass(&f, 7 * NS_PER_S - 1);
    assert_string_equal(received(&f), "");
    pass(&f, 1);
    assert_string_equal(received(&f), "one");
    respond(&f, OK);
    assert_int_equal(f.outcomes[0].attempts, 3);
    assert_u64(f.counters.retries, 2);
    assert_int_equal(f.n_logged, 2); /* one line for the outage, one for its end */
    assert_string_equal(f.logged[0], "profiles: HTTP status 503");
    assert_string_equal(f.logged[1], "profiles: delivered again after 2 failures");
    stop(&f);
}

static void test_gives_up(void **state)
{
    (void)state;
    fake f = {.down = true};
    start(&f, NULL);
    f.down = true;
    for (uint64_t i = 1; i <= 5; i++) add(&f, "one", i); /* all expire together */
    for (int i = 0; i < 200 && !f.n_outcomes; i++) pass(&f, NS_PER_S);
    assert_int_equal(f.n_outcomes, 5);
    for (int i = 0; i < 5; i++) assert_int_equal(f.outcomes[i].outcome, OUTCOME_EXPIRED);
    assert_u64(f.counters.items_expired, 10);
    assert_string_equal(f.why[0], "cannot connect: Connection refused (at 127.0.0.1:9)");
    assert_int_equal(f.n_logged, 1);
    assert_true(f.now < 1061 * NS_PER_S);
    stop(&f);
}

static void test_refused_for_good(void **state)
{
    (void)state;
    fake f = {0};
    start(&f, NULL);
    add(&f, "one", 1);
    add(&f, "two", 2);
    received(&f);
    respond(&f, "HTTP/1.1 400 Bad\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nno!");
    assert_int_equal(f.outcomes[0].outcome, OUTCOME_REFUSED);
    assert_string_equal(f.why[0], "HTTP status 400: no!");
    assert_string_equal(received(&f), "two"); /* the next one is sent at once */
    respond(&f, "HTTP/1.1 413 Large\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(f.outcomes[1].outcome, OUTCOME_TOO_LARGE);
    assert_u64(f.counters.items_too_large, 2);
    stop(&f);
}

/* T-13: a batch larger than max_request is not sent at all. */
static void test_own_limit(void **state)
{
    (void)state;
    fake f = {0};
    start(&f, NULL);
    char big[1100];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    add(&f, big, 1);
    assert_int_equal(f.outcomes[0].outcome, OUTCOME_TOO_LARGE);
    assert_string_equal(f.why[0], "1099 bytes exceed the limit of 1000 for a request");
    assert_int_equal(f.dials, 0);
    stop(&f);
}

static void test_silence(void **state)
{
    (void)state;
    fake f = {0};
    start(&f, NULL);
    add(&f, "one", 1);
    assert_string_equal(received(&f), "one");
    pass(&f, OTLP_TIMEOUT_NS - 1);
    assert_int_equal(f.n_logged, 0);
    pass(&f, 1); /* the connection is established, but the peer is silent */
    assert_string_equal(f.logged[0], "profiles: 127.0.0.1:9: no response within 10 s");
    pass(&f, NS_PER_S);
    assert_string_equal(received(&f), "one");
    assert_int_equal(f.dials, 2);
    respond(&f, OK);
    assert_int_equal(f.outcomes[0].outcome, OUTCOME_ACCEPTED);
    stop(&f);
}

/* If the peer closed an idle connection, the request is sent again at once. */
static void test_stale_connection(void **state)
{
    (void)state;
    fake f = {0};
    start(&f, NULL);
    add(&f, "one", 1);
    received(&f);
    respond(&f, OK);
    close(f.peer);
    f.peer = -1;
    add(&f, "two", 2);
    assert_string_equal(received(&f), "two");
    respond(&f, OK);
    assert_int_equal(f.outcomes[1].outcome, OUTCOME_ACCEPTED);
    assert_u64(f.counters.retries, 0);
    stop(&f);
}

static void test_unsent_at_the_end(void **state)
{
    (void)state;
    fake f = {0};
    start(&f, NULL);
    add(&f, "one", 1);
    add(&f, "two", 2);
    received(&f);
    respond(&f, BUSY);
    sender_drain(f.sender, f.now + NS_PER_S / 2); /* the next attempt is a second away */
    assert_true(sender_idle(f.sender));
    assert_int_equal(f.outcomes[1].outcome, OUTCOME_UNSENT);
    assert_u64(f.counters.items_unsent, 4);
    stop(&f);
}

/* Appends a request of n items "x", each in its own resource and scope. */
static void put_items(buf *out, unsigned n)
{
    for (unsigned i = 0; i < n; i++) buf_z(out, "\x0a\x12\x12\x10\x12\x0exxxxxxxxxxxxxx");
}

static void test_too_large_is_cut(void **state)
{
    (void)state;
    fake f = {0};
    start(&f, NULL);
    otlp_batch *b = calloc(1, sizeof *b);
    put_items(&b->bytes, 3);
    b->items = 3, b->cookie = 7, b->held = 99;
    sender_add(f.sender, b);
    assert_int_equal(strlen(received(&f)), 60);
    respond(&f, "HTTP/1.1 413 Large\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(strlen(received(&f)), 20);
    respond(&f, OK);
    assert_int_equal(strlen(received(&f)), 40);
    respond(&f, "HTTP/1.1 413 Large\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(strlen(received(&f)), 20);
    respond(&f,
            "HTTP/1.1 413 Large\r\nContent-Length: 0\r\n\r\n"); /* a single item cannot be split */
    assert_int_equal(strlen(received(&f)), 20);
    respond(&f, OK);
    assert_true(sender_idle(f.sender));
    static const outcome want[] = {OUTCOME_ACCEPTED, OUTCOME_TOO_LARGE, OUTCOME_ACCEPTED};
    size_t held = 0;
    assert_int_equal(f.n_outcomes, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(f.outcomes[i].outcome, want[i]);
        assert_int_equal(f.outcomes[i].cookie, 7);
        held += f.outcomes[i].held;
    }
    assert_int_equal(held, 99); /* released once */
    assert_u64(f.counters.splits, 2);
    assert_u64(f.counters.items_accepted, 2);
    assert_u64(f.counters.items_too_large, 1);
    stop(&f);
}

/* ---- several in flight ---- */

static const char *received_at(fake *f, unsigned i)
{
    f->peer = f->all[i];
    return received(f);
}

static void respond_at(fake *f, unsigned i, const char *text)
{
    f->peer = f->all[i];
    respond(f, text);
}

static void test_in_flight(void **state)
{
    (void)state;
    static const char *const texts[] = {"one", "two", "three", "four", "five"};
    fake f = {.in_flight = 3};
    start(&f, NULL);
    for (uint64_t i = 0; i < 5; i++) add(&f, texts[i], i + 1);
    turn(&f);
    assert_int_equal(f.dials, 3); /* one connection each */
    for (unsigned i = 0; i < 3; i++) assert_string_equal(received_at(&f, i), texts[i]);
    respond_at(&f, 1, OK); /* responses may arrive in any order */
    assert_int_equal(f.outcomes[0].cookie, 2);
    assert_string_equal(received_at(&f, 1), "four");
    respond_at(&f, 0, BUSY); /* the requests in flight continue, new ones wait */
    respond_at(&f, 1, BUSY);
    respond_at(&f, 2, OK);
    assert_int_equal(f.outcomes[1].cookie, 3);
    assert_int_equal(f.n_outcomes, 2);
    for (unsigned i = 0; i < 3; i++) assert_string_equal(received_at(&f, i), "");
    assert_u64(f.counters.retries, 2);
    pass(&f, NS_PER_S); /* two failures of one outage count once */
    assert_int_equal(strlen(received_at(&f, 0)) + strlen(received_at(&f, 1)) +
                         strlen(received_at(&f, 2)),
                     strlen("onefourfive"));
    for (unsigned i = 0; i < 3; i++) respond_at(&f, i, OK);
    assert_true(sender_idle(f.sender));
    assert_int_equal(f.n_outcomes, 5);
    assert_u64(f.counters.items_accepted, 10);
    stop(&f);
}

/* While the receiver is down, one request tests it, and no batch expires. */
static void test_in_flight_to_nobody(void **state)
{
    (void)state;
    fake f = {.in_flight = 3};
    start(&f, NULL);
    f.down = true;
    for (uint64_t i = 1; i <= 5; i++) add(&f, "one", i);
    turn(&f);
    unsigned first = f.dials;
    for (int i = 0; i < 20; i++) {
        unsigned before = f.dials;
        pass(&f, 31 * NS_PER_S);
        assert_int_equal(f.dials, before + 1);
    }
    assert_true(first <= 3);
    assert_int_equal(f.n_outcomes, 0);
    f.dials = 0;
    f.down = false;
    pass(&f, 31 * NS_PER_S);
    assert_int_equal(f.dials, 1);
    assert_string_equal(received_at(&f, 0), "one");
    respond_at(&f, 0, OK);
    assert_int_equal(f.dials, 3); /* the receiver is back */
    for (int i = 0; i < 4; i++) {
        for (unsigned k = 0; k < 3; k++)
            if (received_at(&f, k)[0]) respond_at(&f, k, OK);
    }
    assert_u64(f.counters.items_accepted, 10);
    stop(&f);
}

/* ---- with a spool ---- */

static void remove_spool(const char *at)
{
    char cmd[64];
    snprintf(cmd, sizeof cmd, "rm -rf %s", at);
    assert_int_equal(system(cmd), 0);
}

/* Batches dropped by the spool are counted and logged; a split batch stays on disk until both
 * halves are delivered. */
static void test_spool_full(void **state)
{
    (void)state;
    char at[] = "/tmp/kiln-sender-XXXXXX";
    err e = {0};
    assert_non_null(mkdtemp(at));
    fake f = {0};
    start(&f, spool_open(at, OTLP_PROFILES, 9, &e));
    f.down = true;
    for (uint64_t i = 1; i <= 5; i++) add(&f, "one", i); /* three fit */
    turn(&f);
    sender_spill(f.sender);
    assert_int_equal(f.n_outcomes, 5);
    for (int i = 0; i < 5; i++) assert_int_equal(f.outcomes[i].outcome, OUTCOME_SPOOLED);
    assert_u64(f.counters.items_spool_lost, 4);
    sender_close(f.sender);
    loop_close(f.loop);
    assert_string_equal(
        f.logged[1],
        "profiles: the spool dropped 1 batches with 2 items: it is full, or its disk fails");
    assert_string_equal(
        f.logged[2],
        "profiles: the spool dropped 1 batches with 2 items: it is full, or its disk fails");
    remove_spool(at);
}

static void test_spool_cut(void **state)
{
    (void)state;
    char at[] = "/tmp/kiln-sender-XXXXXX";
    err e = {0};
    buf b = {0};
    spool_lost lost;
    assert_non_null(mkdtemp(at));
    spool *s = spool_open(at, OTLP_PROFILES, 0, &e);
    put_items(&b, 2);
    assert_ok(spool_put(s, buf_view(&b), 2, 0, &lost, &e), &e);
    buf_free(&b);
    fake f = {0};
    start(&f, s);
    assert_int_equal(strlen(received(&f)), 40);
    respond(&f, "HTTP/1.1 413 Large\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(strlen(received(&f)), 20);
    respond(&f, OK);
    assert_false(f.outcomes[0].last);
    assert_int_equal(spool_count(s), 1);
    assert_int_equal(strlen(received(&f)), 20);
    respond(&f, OK);
    assert_true(f.outcomes[1].last);
    assert_int_equal(spool_count(s), 0);
    stop(&f);
    remove_spool(at);
}

static char dir[] = "/tmp/kiln-sender-XXXXXX";

static void test_spool(void **state)
{
    (void)state;
    err e = {0};
    assert_non_null(mkdtemp(dir));
    fake f = {0};
    start(&f, spool_open(dir, OTLP_PROFILES, 0, &e));
    add(&f, "one", 1);
    received(&f);
    add(&f, "two", 2);
    respond(&f, BUSY); /* both are spooled */
    assert_int_equal(f.n_outcomes, 2);
    assert_int_equal(f.outcomes[0].outcome, OUTCOME_SPOOLED);
    assert_int_equal(f.outcomes[1].cookie, 2);
    add(&f, "three", 3); /* new batches are spooled meanwhile */
    assert_int_equal(f.outcomes[2].outcome, OUTCOME_SPOOLED);
    assert_true(sender_idle(f.sender));
    stop(&f);

    f = (fake){0}; /* another process, later */
    start(&f, spool_open(dir, OTLP_PROFILES, 0, &e));
    assert_string_equal(received(&f), "one");
    add(&f, "four", 4);
    respond(&f, OK);
    assert_string_equal(received(&f), "two");
    respond(&f, BUSY); /* "two" stays on disk, and "four" is spooled after it */
    assert_int_equal(f.outcomes[1].outcome, OUTCOME_SPOOLED);
    pass(&f, NS_PER_S);
    static const char *const rest[] = {"two", "three", "four"};
    for (size_t i = 0; i < ARRAY_LEN(rest); i++) {
        assert_string_equal(received(&f), rest[i]);
        respond(&f, OK);
    }
    assert_true(sender_idle(f.sender));
    assert_u64(f.counters.items_accepted, 8);
    assert_int_equal(f.outcomes[4].cookie, 0);
    add(&f, "five", 5); /* the receiver is back: "five" is not spooled */
    assert_string_equal(received(&f), "five");
    sender_drain(f.sender, f.now);
    stop(&f); /* "five" is in flight at the end and is spooled */
    assert_int_equal(f.outcomes[5].outcome, OUTCOME_SPOOLED);
    assert_u64(f.counters.items_unsent, 0);
    remove_spool(dir);
}

static void test_misfit(void **state)
{
    (void)state;
    fake f = {0};
    start(&f, NULL);
    add(&f, "one", 1);
    add(&f, "two", 2);
    received(&f);
    assert_int_equal(send(f.peer, "\x15\x03\x03\0\2\2F", 7, 0), 7);
    turn(&f);
    assert_int_equal(f.n_outcomes, 2); /* waiting batches would fail too */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(f.outcomes[i].outcome, OUTCOME_MISFIT);
        assert_int_equal(f.outcomes[i].attempts, i == 0);
        assert_string_equal(f.why[i],
                            "127.0.0.1:9 speaks TLS, not plaintext; set --to https://127.0.0.1:9");
    }
    assert_u64(f.counters.items_refused, 4);
    /* The next batch is tried later, because the configuration may have been corrected. */
    add(&f, "three", 3);
    turn(&f);
    assert_int_equal(f.dials, 1);
    pass(&f, NS_PER_S);
    assert_string_equal(received(&f), "three");
    respond(&f, OK);
    assert_int_equal(f.outcomes[2].outcome, OUTCOME_ACCEPTED);
    assert_int_equal(f.outcomes[2].attempts, 1);
    add(&f, "four", 4);
    assert_string_equal(received(&f), "four");
    respond(&f, OK);
    stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_order),
        cmocka_unit_test(test_backs_off),
        cmocka_unit_test(test_gives_up),
        cmocka_unit_test(test_refused_for_good),
        cmocka_unit_test(test_own_limit),
        cmocka_unit_test(test_silence),
        cmocka_unit_test(test_stale_connection),
        cmocka_unit_test(test_unsent_at_the_end),
        cmocka_unit_test(test_in_flight),
        cmocka_unit_test(test_in_flight_to_nobody),
        cmocka_unit_test(test_spool),
        cmocka_unit_test(test_spool_full),
        cmocka_unit_test(test_spool_cut),
        cmocka_unit_test(test_misfit),
        cmocka_unit_test(test_too_large_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
