/* Moves profiles whose clock does not count from 1970 to Unix time. */
#include "wire/anchor.h"

#include "model/builder.h"
#include "support/test.h"
#include "wire/carried.h"

typedef struct made {
    arena a;
    model m;
    ledger l;
    bool moved;
} made;

static void put_profile(builder *b, uint64_t start, uint64_t length, const uint64_t *times,
                        uint32_t n, bool undated, int64_t date)
{
    uint32_t attrs[3], k = 0;
    profile *p = builder_profile(b);
    p->time_unix_nano = start;
    p->duration_nano = length;
    attrs[k++] = builder_attribute_bool(b, STR(KILN_ATTR_EVENT_INTERVAL), true);
    if (undated) attrs[k++] = builder_attribute_str(b, STR(KILN_ATTR_TIME_EPOCH), STR("unknown"));
    if (date) attrs[k++] = builder_attribute_int(b, STR(KILN_ATTR_TIME_DATE), date);
    builder_profile_attrs(b, attrs, k);
    if (n) builder_sample(b, &(sample){.times = times, .n_times = n});
}

/* Builds a profile [100, 150) with observations at 100 and 140, and one with only a window [90,
 * 130); with dated_too, also one that has a date. */
static void make(made *x, int64_t date, bool dated_too)
{
    builder b;
    err e = {0};
    *x = (made){0};
    assert_true(builder_init(&b, &x->a));
    builder_resource(&b, NULL);
    builder_scope(&b, NULL);
    put_profile(&b, 100, 50, (uint64_t[]){100, 140}, 2, true, date);
    put_profile(&b, 90, 40, NULL, 0, true, date);
    if (dated_too) put_profile(&b, 1000, 10, (uint64_t[]){1000, 1007}, 2, false, 0);
    assert_ok(builder_finish(&b, &x->m, &e), &e);
    ledger_add(&x->l, STAGE_READ, LOSS_TIME, KILN_ATTR_TIME_EPOCH, "times", STR("unknown epoch"));
}

static void anchor(made *x, time_anchor t)
{
    err e = {0};
    assert_ok(anchor_times(&x->m, &t, &x->l, &x->a, &x->moved, &e), &e);
}

static uint64_t time_at(const made *x, size_t at, size_t i)
{
    return sample_at(&x->m, &x->m.profiles.v[at], 0).times[i];
}

#define WRITTEN UINT64_C(1700000000000000000)

static void test_which_date(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        time_anchor t;
        int64_t date;
        uint64_t first; /* start of the second profile, which was 90; 0: nothing was moved */
        const char *value;
    } t[] = {
        {"nothing is known", {0}, 0, 0, NULL},
        {"a date in the file alone moves nothing", {0}, 5000, 0, NULL},
        {"given: the start", {.given = 7000, .modified = 9000}, 5000, 7000, "dated as requested"},
        {"date in the file", {.modified = 9000}, 5000, 5000, "dated by the file itself"},
        {"modification time: of the last observation, 140",
         {.modified = WRITTEN, .arrival = 9999},
         0,
         WRITTEN - 50,
         "dated by the modification time of the file"},
        {"arrived", {.arrival = 9999}, 0, 9999 - 50, "dated by the time of arrival"},
        {"a modification time before 2000 is ignored",
         {.modified = 900000, .arrival = 9999},
         0,
         9999 - 50,
         "dated by the time of arrival"},
        {"earlier than the length of the recording", {.arrival = 50}, 0, 0, NULL},
        {"the end does not fit in 64 bits", {.given = UINT64_MAX - 3}, 0, 0, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        made x;
        make(&x, t[i].date, false);
        anchor(&x, t[i].t);
        uint64_t add = t[i].first ? t[i].first - 90 : 0;
        if (x.moved != (t[i].first != 0) || x.m.profiles.v[1].time_unix_nano != 90 + add ||
            x.m.profiles.v[0].time_unix_nano != 100 + add || time_at(&x, 0, 1) != 140 + add)
            fail_msg("%s: %llu", t[i].name, (unsigned long long)x.m.profiles.v[1].time_unix_nano);
        assert_int_equal(profile_offset(&x.m, &x.m.profiles.v[0]), add);
        assert_int_equal(profile_is_undated(&x.m, &x.m.profiles.v[1]), !add);
        assert_int_equal(x.l.n, add ? 2 : 1);
        if (add) assert_string_equal(x.l.v[1].value, t[i].value);
        if (add) assert_int_equal(x.l.v[1].stage, STAGE_INGEST);
        arena_free(&x.a);
    }
}

/* A profile that has a date is not moved. */
static void test_dated_stay(void **state)
{
    (void)state;
    made x;
    make(&x, 0, true);
    anchor(&x, (time_anchor){.arrival = 9000});
    assert_int_equal(time_at(&x, 0, 1), 9000);
    assert_int_equal(time_at(&x, 2, 1), 1007);
    assert_int_equal(x.m.profiles.v[2].time_unix_nano, 1000);
    assert_int_equal(x.m.profiles.v[2].attrs.n, 1);
    assert_int_equal(x.m.profiles.v[0].attrs.n, 3);
    made y = x; /* a second call moves nothing */
    anchor(&y, (time_anchor){.given = 1});
    assert_false(y.moved);
    assert_int_equal(time_at(&y, 0, 1), 9000);
    arena_free(&y.a);
}

static void test_plain(void **state)
{
    (void)state;
    made x;
    make(&x, 5000, true);
    anchor(&x, (time_anchor){.given = 7000, .plain = true});
    assert_true(x.moved);
    assert_int_equal(x.m.profiles.v[0].time_unix_nano, 7010);
    assert_int_equal(x.m.profiles.v[0].attrs.n, 1);
    assert_int_equal(x.l.n, 0); /* no unknown epoch is left */
    for (size_t i = 0; i < x.m.dict.strings.n; i++)
        assert_false(str_starts(x.m.dict.strings.v[i], STR("kiln.time.")));
    arena_free(&x.a);
}

static void test_memory(void **state)
{
    (void)state;
    bool done = false;
    for (size_t budget = 1; !done && budget < 1 << 20; budget += 97) {
        made x;
        err e = {0};
        make(&x, 0, true);
        x.a.budget = x.a.used + budget;
        done = anchor_times(&x.m, &(time_anchor){.arrival = 9000}, NULL, &x.a, &x.moved, &e);
        if (!done) assert_int_equal(e.code, ERR_MEMORY);
        arena_free(&x.a);
    }
    assert_true(done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_which_date),
        cmocka_unit_test(test_dated_stay),
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
