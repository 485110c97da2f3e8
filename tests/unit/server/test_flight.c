/* Tests which queries are equal, and which running query a request may join. */
#include "server/flight.h"

#include "../../support/test.h"

static char exchanges[4]; /* stand-ins for requests */
#define X(i) ((struct http_exchange *)&exchanges[i])

static buf key_of(const char *target, size_t encoding, bool gzip)
{
    arena a = {0};
    err e = {0};
    buf b = {0};
    query k = {.as = &response_encodings[encoding], .takes_gzip = gzip};
    assert_ok(params_parse(str_of(target), &a, &k.p, &e), &e);
    flight_key(&k, &b);
    assert_false(b.failed);
    arena_free(&a);
    return b;
}

static bool same_key(const char *a, const char *b)
{
    buf x = key_of(a, 0, false), y = key_of(b, 0, false);
    bool same = str_eq(buf_view(&x), buf_view(&y));
    buf_free(&x);
    buf_free(&y);
    return same;
}

static void test_key(void **state)
{
    (void)state;
    assert_true(same_key("/api/v1/top?a=1&b=2", "/api/v1/top?b=2&a=1"));
    assert_true(same_key("/api/v1/top?a=%31", "/api/v1/t%6fp?a=1"));
    assert_true(same_key("/api/v1/top?encoding=json&a=1", "/api/v1/top?a=1"));
    assert_false(same_key("/api/v1/top?a=1&b=2", "/api/v1/top?a=1"));
    assert_false(same_key("/api/v1/top?a=1", "/api/v1/tree?a=1"));
    assert_false(same_key("/api/v1/top?a=1", "/api/v1/top?a=11"));
    assert_false(same_key("/api/v1/top?a=1:1", "/api/v1/top?a=1&1="));
    buf plain = key_of("/api/v1/top", 0, false), binary = key_of("/api/v1/top", 1, false),
        packed = key_of("/api/v1/top", 0, true);
    assert_false(str_eq(buf_view(&plain), buf_view(&binary)));
    assert_false(str_eq(buf_view(&plain), buf_view(&packed)));
    buf_free(&plain);
    buf_free(&binary);
    buf_free(&packed);
}

static void test_uses_now(void **state)
{
    (void)state;
    static const struct {
        const char *target;
        bool want;
    } cases[] = {{"/t", true},
                 {"/t?start=1", true},
                 {"/t?start=1&end=2", false},
                 {"/t?start=now-1h&end=2", true},
                 {"/t?start=1&end=now", true},
                 {"/t?start=1&end=2&base_start=now-2h", true}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        err e = {0};
        params p;
        assert_ok(params_parse(str_of(cases[i].target), &a, &p, &e), &e);
        assert_int_equal(flight_uses_now(&p), cases[i].want);
        arena_free(&a);
    }
}

typedef struct fixture {
    flights all;
    flight f;
    waiter *first;
} fixture;

static void open_fixture(fixture *x)
{
    *x = (fixture){0};
    x->f.max_ns = 20 * NS_PER_S;
    x->f.arrived = 100 * NS_PER_S;
    buf_z(&x->f.key, "key");
    flights_add(&x->all, &x->f);
    x->first = flight_add(&x->f, X(0), &(flight_moment){100 * NS_PER_S, 7});
    assert_non_null(x->first);
}

static void close_fixture(fixture *x)
{
    while (flight_take(&x->f)) continue;
    flights_remove(&x->all, &x->f);
    assert_null(x->all.first);
    buf_free(&x->f.key);
}

static bool joins(const fixture *x, uint64_t seconds, uint64_t stored)
{
    return flights_find(&x->all, STR("key"), &(flight_moment){seconds * NS_PER_S, stored}) == &x->f;
}

/* A waiting query can be joined until half of its time is over, even if data was stored since. */
static void test_joins_what_waits(void **state)
{
    (void)state;
    fixture x;
    open_fixture(&x);
    assert_true(joins(&x, 101, 7) && joins(&x, 110, 9));
    assert_false(joins(&x, 111, 7));
    assert_null(flights_find(&x.all, STR("other"), &(flight_moment){101 * NS_PER_S, 7}));
    close_fixture(&x);
}

/* A running query can be joined while no request was acknowledged since its start. A query relative
 * to now can be joined only for a second. */
static void test_joins_what_began(void **state)
{
    (void)state;
    fixture x;
    open_fixture(&x);
    assert_non_null(
        flight_add(&x.f, X(1), &(flight_moment){101 * NS_PER_S, 8})); /* it reads this request */
    atomic_store(&x.f.began, 102 * NS_PER_S);
    assert_true(joins(&x, 102, 8) && joins(&x, 119, 8));
    assert_false(joins(&x, 102, 7) || joins(&x, 102, 9));
    x.f.uses_now = true;
    assert_true(joins(&x, 103, 8));
    assert_false(joins(&x, 104, 8));
    close_fixture(&x);
}

/* A query is cancelled when its last client leaves, and a cancelled query cannot be joined. */
static void test_leave(void **state)
{
    (void)state;
    fixture x;
    open_fixture(&x);
    waiter *second = flight_add(&x.f, X(1), &(flight_moment){101 * NS_PER_S, 7});
    flight_ended(x.first);
    assert_false(atomic_load(&x.f.ended) || atomic_load(&x.f.gone));
    flight_leave(second);
    assert_true(atomic_load(&x.f.ended) && !atomic_load(&x.f.gone));
    assert_false(joins(&x, 101, 7));
    flight_leave(x.first);
    assert_true(atomic_load(&x.f.gone));
    assert_false(joins(&x, 101, 7));
    close_fixture(&x);
}

/* Responses are sent in the order of the requests. */
static void test_take(void **state)
{
    (void)state;
    fixture x;
    open_fixture(&x);
    for (int i = 1; i < 4; i++)
        assert_non_null(flight_add(&x.f, X(i), &(flight_moment){101 * NS_PER_S, 7}));
    for (int i = 0; i < 4; i++) assert_ptr_equal(flight_take(&x.f), X(i));
    assert_null(flight_take(&x.f));
    close_fixture(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_key),
        cmocka_unit_test(test_uses_now),
        cmocka_unit_test(test_joins_what_waits),
        cmocka_unit_test(test_joins_what_began),
        cmocka_unit_test(test_leave),
        cmocka_unit_test(test_take),
    };
    return cmocka_run_group_tests_name("flight", tests, NULL, NULL);
}
