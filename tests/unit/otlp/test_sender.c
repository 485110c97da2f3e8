/* The sender with a clock turned by hand and a receiver that is the test itself: HTTP/1.1 over socket pairs. */
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
    int peer; /* our end of the newest connection, or -1 */
    unsigned dials;
    int all[4]; /* with in_flight: our ends of all connections, in order */
    unsigned in_flight;
    bool down; /* connections are refused */
    loop *loop;
    sender *sender;
    otlp_counters counters;
    settled told[MAX_EVENTS];
    char why[MAX_EVENTS][256];
    size_t n_told;
    char said[MAX_EVENTS][512];
    size_t n_said;
    otlp_config config;
} fake;

static uint64_t now(void *who) { return ((fake *)who)->now; }
static uint64_t wall(void *who) { return 1700000000 * NS_PER_S + ((fake *)who)->now; }
static uint64_t middle(void *who)
{
    (void)who;
    return UINT64_C(1) << 63; /* no jitter */
}

static int dial(void *who, const struct sockaddr *to, socklen_t n)
{
    (void)to, (void)n;
    fake *f = who;
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

static void on_settled(void *who, const settled *s)
{
    fake *f = who;
    assert_true(f->n_told < MAX_EVENTS);
    f->told[f->n_told] = *s;
    snprintf(f->why[f->n_told++], 256, "%s", s->text);
}

static void on_say(void *who, const char *sentence)
{
    fake *f = who;
    assert_true(f->n_said < MAX_EVENTS);
    snprintf(f->said[f->n_said++], 512, "%s", sentence);
}

static void start(fake *f, spool *s)
{
    err e = {0};
    f->world = *world_system();
    f->world.who = f, f->world.now = now, f->world.wall = wall, f->world.random = middle,
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
                     .say = on_say,
                     .who = f};
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

/* The request that arrived, as text; "" when there is none. */
static const char *hear(fake *f)
{
    static char text[4096];
    turn(f);
    ssize_t n = f->peer >= 0 ? recv(f->peer, text, sizeof text - 1, 0) : -1;
    text[n > 0 ? n : 0] = '\0';
    const char *body = strstr(text, "\r\n\r\n");
    return body ? body + 4 : "";
}

static void answer(fake *f, const char *text)
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
    assert_string_equal(hear(&f), "one");
    assert_string_equal(hear(&f), ""); /* one at a time */
    answer(&f, OK);
    assert_string_equal(hear(&f), "two");
    answer(&f, OK);
    assert_true(sender_idle(f.sender));
    assert_int_equal(f.n_told, 2);
    assert_int_equal(f.told[1].cookie, 2);
    assert_int_equal(f.told[1].outcome, OUTCOME_ACCEPTED);
    assert_int_equal(f.dials, 1);
    assert_u64(f.counters.items_accepted, 4);
    assert_int_equal(f.n_said, 0);
    stop(&f);
}

static void test_backs_off(void **state)
{
    (void)state;
    fake f = {0};
    start(&f, NULL);
    add(&f, "one", 1);
    assert_string_equal(hear(&f), "one");
    answer(&f, BUSY);
    pass(&f, NS_PER_S - 1);
    assert_string_equal(hear(&f), "");
    pass(&f, 1);
    assert_string_equal(hear(&f), "one");
    answer(&f, "HTTP/1.1 429 Busy\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n");
    pass(&f, 7 * NS_PER_S - 1);
    assert_string_equal(hear(&f), "");
    pass(&f, 1);
    assert_string_equal(hear(&f), "one");
    answer(&f, OK);
    assert_int_equal(f.told[0].attempts, 3);
    assert_u64(f.counters.retries, 2);
    assert_int_equal(f.n_said, 2); /* once for the outage, once for its end */
    assert_string_equal(f.said[0], "profiles: HTTP status 503");
    assert_string_equal(f.said[1], "profiles: delivered again after 2 failures");
    stop(&f);
}

static void test_gives_up(void **state)
{
    (void)state;
    fake f = {.down = true};
    start(&f, NULL);
    f.down = true;
    for (uint64_t i = 1; i <= 5; i++) add(&f, "one", i); /* and all that are as old */
    for (int i = 0; i < 200 && !f.n_told; i++) pass(&f, NS_PER_S);
    assert_int_equal(f.n_told, 5);
    for (int i = 0; i < 5; i++) assert_int_equal(f.told[i].outcome, OUTCOME_EXPIRED);
    assert_u64(f.counters.items_expired, 10);
    assert_string_equal(f.why[0], "cannot connect: Connection refused (at 127.0.0.1:9)");
    assert_int_equal(f.n_said, 1);
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
    hear(&f);
    answer(&f, "HTTP/1.1 400 Bad\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nno!");
    assert_int_equal(f.told[0].outcome, OUTCOME_REFUSED);
    assert_string_equal(f.why[0], "HTTP status 400: no!");
    assert_string_equal(hear(&f), "two"); /* the next one goes at once */
    answer(&f, "HTTP/1.1 413 Large\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(f.told[1].outcome, OUTCOME_TOO_LARGE);
    assert_u64(f.counters.items_too_large, 2);
    stop(&f);
}

/* T-13: not even tried. */
static void test_own_limit(void **state)
{
    (void)state;
    fake f = {0};
    start(&f, NULL);
    char big[1100];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    add(&f, big, 1);
    assert_int_equal(f.told[0].outcome, OUTCOME_TOO_LARGE);
    assert_string_equal(f.why[0], "1099 bytes are more than the limit of 1000 for a request");
    assert_int_equal(f.dials, 0);
    stop(&f);
}

static void test_silence(void **state)
{
    (void)state;
    fake f = {0};
    start(&f, NULL);
    add(&f, "one", 1);
    assert_string_equal(hear(&f), "one");
    pass(&f, OTLP_TIMEOUT_NS - 1);
    assert_int_equal(f.n_said, 0);
    pass(&f, 1); /* half open: nobody there */
    assert_string_equal(f.said[0], "profiles: 127.0.0.1:9: no answer within 10 s");
    pass(&f, NS_PER_S);
    assert_string_equal(hear(&f), "one");
    assert_int_equal(f.dials, 2);
    answer(&f, OK);
    assert_int_equal(f.told[0].outcome, OUTCOME_ACCEPTED);
    stop(&f);
}

/* A kept connection that the peer closed meanwhile costs nothing: the request goes out again at once. */
static void test_stale_connection(void **state)
{
    (void)state;
    fake f = {0};
    start(&f, NULL);
    add(&f, "one", 1);
    hear(&f);
    answer(&f, OK);
    close(f.peer);
    f.peer = -1;
    add(&f, "two", 2);
    assert_string_equal(hear(&f), "two");
    answer(&f, OK);
    assert_int_equal(f.told[1].outcome, OUTCOME_ACCEPTED);
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
    hear(&f);
    answer(&f, BUSY);
    sender_drain(f.sender, f.now + NS_PER_S / 2); /* the next try is a second away */
    assert_true(sender_idle(f.sender));
    assert_int_equal(f.told[1].outcome, OUTCOME_UNSENT);
    assert_u64(f.counters.items_unsent, 4);
    stop(&f);
}

/* A request of n items "x", one resource and one scope each. */
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
    assert_int_equal(strlen(hear(&f)), 60);
    answer(&f, "HTTP/1.1 413 Large\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(strlen(hear(&f)), 20);
    answer(&f, OK);
    assert_int_equal(strlen(hear(&f)), 40);
    answer(&f, "HTTP/1.1 413 Large\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(strlen(hear(&f)), 20);
    answer(&f, "HTTP/1.1 413 Large\r\nContent-Length: 0\r\n\r\n"); /* a single item: that is that */
    assert_int_equal(strlen(hear(&f)), 20);
    answer(&f, OK);
    assert_true(sender_idle(f.sender));
    static const outcome want[] = {OUTCOME_ACCEPTED, OUTCOME_TOO_LARGE, OUTCOME_ACCEPTED};
    size_t held = 0;
    assert_int_equal(f.n_told, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(f.told[i].outcome, want[i]);
        assert_int_equal(f.told[i].cookie, 7);
        held += f.told[i].held;
    }
    assert_int_equal(held, 99); /* given back once */
    assert_u64(f.counters.splits, 2);
    assert_u64(f.counters.items_accepted, 2);
    assert_u64(f.counters.items_too_large, 1);
    stop(&f);
}

/* ---- several in flight ---- */

static const char *hear_at(fake *f, unsigned i)
{
    f->peer = f->all[i];
    return hear(f);
}

static void answer_at(fake *f, unsigned i, const char *text)
{
    f->peer = f->all[i];
    answer(f, text);
}

static void test_in_flight(void **state)
{
    (void)state;
    static const char *const texts[] = {"one", "two", "three", "four", "five"};
    fake f = {.in_flight = 3};
    start(&f, NULL);
    for (uint64_t i = 0; i < 5; i++) add(&f, texts[i], i + 1);
    turn(&f);
    assert_int_equal(f.dials, 3); /* one connection each, and no more */
    for (unsigned i = 0; i < 3; i++) assert_string_equal(hear_at(&f, i), texts[i]);
    answer_at(&f, 1, OK); /* in any order */
    assert_int_equal(f.told[0].cookie, 2);
    assert_string_equal(hear_at(&f, 1), "four");
    answer_at(&f, 0, BUSY); /* others go on, new ones wait */
    answer_at(&f, 1, BUSY);
    answer_at(&f, 2, OK);
    assert_int_equal(f.told[1].cookie, 3);
    assert_int_equal(f.n_told, 2);
    for (unsigned i = 0; i < 3; i++) assert_string_equal(hear_at(&f, i), "");
    assert_u64(f.counters.retries, 2);
    pass(&f, NS_PER_S); /* two failures of one outage are one step of waiting */
    assert_int_equal(strlen(hear_at(&f, 0)) + strlen(hear_at(&f, 1)) + strlen(hear_at(&f, 2)),
                     strlen("onefourfive"));
    for (unsigned i = 0; i < 3; i++) answer_at(&f, i, OK);
    assert_true(sender_idle(f.sender));
    assert_int_equal(f.n_told, 5);
    assert_u64(f.counters.items_accepted, 10);
    stop(&f);
}

/* A receiver that is down is asked with one request, and nothing that may wait for ever is given up. */
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
    assert_int_equal(f.n_told, 0);
    f.dials = 0;
    f.down = false;
    pass(&f, 31 * NS_PER_S);
    assert_int_equal(f.dials, 1);
    assert_string_equal(hear_at(&f, 0), "one");
    answer_at(&f, 0, OK);
    assert_int_equal(f.dials, 3); /* it is back */
    for (int i = 0; i < 4; i++) {
        for (unsigned k = 0; k < 3; k++)
            if (hear_at(&f, k)[0]) answer_at(&f, k, OK);
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

/* What is dropped there is counted and said with its number; a batch that was cut stays on disk until both halves are delivered. */
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
    assert_int_equal(f.n_told, 5);
    for (int i = 0; i < 5; i++) assert_int_equal(f.told[i].outcome, OUTCOME_SPOOLED);
    assert_u64(f.counters.items_spool_lost, 4);
    sender_close(f.sender);
    loop_close(f.loop);
    assert_string_equal(
        f.said[1],
        "profiles: the spool dropped 1 batches with 2 items: it is full, or its disk fails");
    assert_string_equal(
        f.said[2],
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
    assert_int_equal(strlen(hear(&f)), 40);
    answer(&f, "HTTP/1.1 413 Large\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(strlen(hear(&f)), 20);
    answer(&f, OK);
    assert_false(f.told[0].last);
    assert_int_equal(spool_count(s), 1);
    assert_int_equal(strlen(hear(&f)), 20);
    answer(&f, OK);
    assert_true(f.told[1].last);
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
    hear(&f);
    add(&f, "two", 2);
    answer(&f, BUSY); /* both go onto disk */
    assert_int_equal(f.n_told, 2);
    assert_int_equal(f.told[0].outcome, OUTCOME_SPOOLED);
    assert_int_equal(f.told[1].cookie, 2);
    add(&f, "three", 3); /* and what comes while we wait */
    assert_int_equal(f.told[2].outcome, OUTCOME_SPOOLED);
    assert_true(sender_idle(f.sender));
    stop(&f);

    f = (fake){0}; /* another process, another day */
    start(&f, spool_open(dir, OTLP_PROFILES, 0, &e));
    assert_string_equal(hear(&f), "one");
    add(&f, "four", 4);
    answer(&f, OK);
    assert_string_equal(hear(&f), "two");
    answer(&f, BUSY); /* stays there, and four goes there too */
    assert_int_equal(f.told[1].outcome, OUTCOME_SPOOLED);
    pass(&f, NS_PER_S);
    static const char *const rest[] = {"two", "three", "four"};
    for (size_t i = 0; i < ARRAY_LEN(rest); i++) {
        assert_string_equal(hear(&f), rest[i]);
        answer(&f, OK);
    }
    assert_true(sender_idle(f.sender));
    assert_u64(f.counters.items_accepted, 8);
    assert_int_equal(f.told[4].cookie, 0);
    add(&f, "five", 5); /* all is well again: no disk */
    assert_string_equal(hear(&f), "five");
    sender_drain(f.sender, f.now);
    stop(&f); /* under way at the end: onto disk */
    assert_int_equal(f.told[5].outcome, OUTCOME_SPOOLED);
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
    hear(&f);
    assert_int_equal(send(f.peer, "\x15\x03\x03\0\2\2F", 7, 0), 7);
    turn(&f);
    assert_int_equal(f.n_told, 2); /* what waits would fare no better */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(f.told[i].outcome, OUTCOME_MISFIT);
        assert_int_equal(f.told[i].attempts, i == 0);
        assert_string_equal(f.why[i],
                            "127.0.0.1:9 speaks TLS, not plaintext; set --to https://127.0.0.1:9");
    }
    assert_u64(f.counters.items_refused, 4);
    /* The next one is not tried at once, but it is: somebody may have put it right. */
    add(&f, "three", 3);
    turn(&f);
    assert_int_equal(f.dials, 1);
    pass(&f, NS_PER_S);
    assert_string_equal(hear(&f), "three");
    answer(&f, OK);
    assert_int_equal(f.told[2].outcome, OUTCOME_ACCEPTED);
    assert_int_equal(f.told[2].attempts, 1);
    add(&f, "four", 4);
    assert_string_equal(hear(&f), "four");
    answer(&f, OK);
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
