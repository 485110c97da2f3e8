/* Options that fill in missing times, ids and types. */
#include "../../support/test.h"
#include "base/time.h"

#include "cli/supply.h"
#include "model/builder.h"

#include <string.h>

static void test_times(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t ns; /* 0: rejected */
    } cases[] = {
        {"1687841520", 1687841520000000000},
        {"1687841520.25", 1687841520250000000},
        {"1687841520123", 1687841520123000000},
        {"1687841520123456", 1687841520123456000},
        {"1687841520123456.5", 1687841520123456500},
        {"1687841520123456789", 1687841520123456789},
        {"2023-06-27T04:52:00Z", 1687841520000000000},
        {"2023-06-27 04:52:00.5z", 1687841520500000000},
        {"2023-06-27T06:52:00+02:00", 1687841520000000000},
        {"2023-06-26T23:22:00-05:30", 1687841520000000000},
        {"2024-02-29T00:00:00Z", 1709164800000000000},
        {"1970-01-01T00:00:01Z", 1000000000},
        {"2000-03-01T00:00:00Z", 951868800000000000},
        {"", 0},
        {"0", 0},
        {"now", 0},
        {"-5", 0},
        {"12.", 0},
        {"12.5s", 0},
        {"99999999999", 0}, /* seconds that overflow 64 bits as ns */
        {"99999999999999999999", 0},
        {"2023-06-27", 0},
        {"2023-06-27T04:52:00", 0},
        {"2023-13-27T04:52:00Z", 0},
        {"2023-00-27T04:52:00Z", 0},
        {"2023-06-27T04:52:00ZZ", 0},
        {"1969-12-31T23:59:59Z", 0},
        {"9999-12-31T23:59:59Z", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint64_t ns = 0;
        bool ok = time_parse(str_of(cases[i].text), &ns);
        if (ok != (cases[i].ns != 0) || (ok && ns != cases[i].ns))
            fail_msg("`%s`: %d, %llu", cases[i].text, ok, (unsigned long long)ns);
    }
}

static void test_refuses(void **state)
{
    (void)state;
    static const struct {
        cli_options o;
        const char *says;
    } cases[] = {
        {{.profile_id = "12"}, "--profile-id must be 32 hex digits, and not all 0: `12`"},
        {{.profile_id = "00000000000000000000000000000000"},
         "--profile-id must be 32 hex digits, and not all 0: `00000000000000000000000000000000`"},
        {{.start = "x"},
         "--start must be a time such as 2023-06-27T04:52:00Z or 1687841520, not `x`"},
        {{.start = "2000000000", .end = "1000000000"}, "--end is before --start"},
        {{.sample_type = "/x"}, "--sample-type must be TYPE/UNIT, such as cpu/nanoseconds"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        supply s;
        err e = {0};
        assert_false(supply_parse(&cases[i].o, &s, &e));
        assert_int_equal(e.code, ERR_USAGE);
        assert_string_equal(e.msg, cases[i].says);
    }
}

static void two_profiles(arena *a, model *m)
{
    builder b;
    err e = {0};
    assert_true(builder_init(&b, a));
    builder_profile(&b);
    profile *p = builder_profile(&b);
    p->sample_type = (value_type){builder_string(&b, STR("cpu")), 0};
    p->time_unix_nano = 7;
    p->duration_nano = 8;
    p->profile_id[3] = 1;
    assert_ok(builder_finish(&b, m, &e), &e);
}

static void test_fills_what_is_missing(void **state)
{
    (void)state;
    arena a = {0};
    model m;
    err e = {0};
    supply s;
    two_profiles(&a, &m);
    cli_options o = {.profile_id = "01020304-0506-0708-090a-0b0c0d0e0fff",
                     .start = "1000000000",
                     .end = "1000000010",
                     .schema_url = "todo",
                     .sample_type = "wall/nanoseconds"};
    assert_ok(supply_parse(&o, &s, &e), &e);
    assert_ok(supply_model(&s, &m, &a, &e), &e);
    supply_ids(&s, &m);
    const profile *p = m.profiles.v;
    assert_true(s.used_window && s.used_type && s.used_schema);
    assert_u64(p[0].time_unix_nano, 1000000000000000000);
    assert_u64(p[0].duration_nano, 10000000000);
    assert_true(str_eq(dict_str(&m.dict, p[0].sample_type.type), STR("wall")));
    assert_true(str_eq(dict_str(&m.dict, p[0].sample_type.unit), STR("nanoseconds")));
    assert_true(str_eq(m.resources.v[0].schema_url, STR("todo")));
    assert_int_equal(p[0].profile_id[15], 0xff);
    assert_u64(p[1].time_unix_nano, 7);
    assert_u64(p[1].duration_nano, 8);
    assert_int_equal(p[1].profile_id[15], 0);
    assert_true(str_eq(dict_str(&m.dict, p[1].sample_type.type), STR("cpu")));
    arena_free(&a);
}

/* Ids are consecutive, and unused values are not reported as used. */
static void test_ids_and_use(void **state)
{
    (void)state;
    arena a = {0};
    model m;
    err e = {0};
    supply s;
    two_profiles(&a, &m);
    memset(m.profiles.v[1].profile_id, 0, 16);
    m.profiles.v[0] = m.profiles.v[1];
    cli_options o = {.profile_id = "000000000000000000000000000001ff", .start = "1000000000"};
    assert_ok(supply_parse(&o, &s, &e), &e);
    assert_ok(supply_model(&s, &m, &a, &e), &e);
    supply_ids(&s, &m);
    assert_false(s.used_window || s.used_type || s.used_schema);
    assert_int_equal(m.profiles.v[0].profile_id[15], 0xff);
    assert_int_equal(m.profiles.v[1].profile_id[15], 0);
    assert_int_equal(m.profiles.v[1].profile_id[14], 2);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_fills_what_is_missing),
        cmocka_unit_test(test_ids_and_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
