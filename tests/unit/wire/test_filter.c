/* Filters messages in which some profiles violate a rule: the others decode strictly, the counts
 * add up, and every reason has a path. */
#include "wire/otlp_filter.h"
#include "wire/otlp.h"

#include "../../support/batch.h"
#include "../../support/test.h"

typedef struct filter_case {
    const char *name;
    batch_opts o;
    size_t n_rejected;
    otlp_fault fault;
    const char *reason, *path; /* expected reason[0] */
} filter_case;

static const filter_case cases[] = {
    {"nothing broken", {.name = 0}, 0, OTLP_FAULT_WIRE, NULL, NULL},
    {"stack outside",
     {.stack = {0, 99, 0}},
     1,
     OTLP_FAULT_INDEX,
     "index 99 is outside stack_table, which has 3 entries",
     "resource_profiles[0].scope_profiles[0].profiles[1].samples[0].stack_index"},
    {"negative stack",
     {.stack = {0, 0, UINT64_MAX}},
     1,
     OTLP_FAULT_INDEX,
     "index -1 is negative",
     "resource_profiles[1].scope_profiles[0].profiles[0].samples[0].stack_index"},
    {"attribute outside",
     {.attribute = 5},
     1,
     OTLP_FAULT_INDEX,
     "index 5 is outside attribute_table, which has 0 entries",
     "resource_profiles[0].scope_profiles[0].profiles[1].samples[0].attribute_indices[0]"},
    {"id of five bytes",
     {.id = {"12345", 5}},
     1,
     OTLP_FAULT_ID,
     "profile_id is 5 long, expected 16 or none",
     "resource_profiles[0].scope_profiles[0].profiles[1].profile_id"},
    {"text of a function",
     {.other = {"\xff\xfe", 2}},
     1,
     OTLP_FAULT_INDEX,
     "string_table is not UTF-8: byte 0xff",
     "dictionary.string_table[4]"},
    {"name of a function",
     {.name = 50},
     1,
     OTLP_FAULT_INDEX,
     "index 50 is outside string_table, which has 5 entries",
     "dictionary.function_table[2].name_strindex"},
    {"unused entry",
     {.unused = true},
     0,
     OTLP_FAULT_WIRE,
     "index 777 is outside string_table, which has 5 entries",
     "dictionary.function_table[3].name_strindex"},
    {"resource",
     {.resource = {"\xff", 1}},
     1,
     OTLP_FAULT_UTF8,
     "string_value is not UTF-8: byte 0xff",
     "resource_profiles[1].resource.attributes[0].value.string_value"},
    {"scope",
     {.scope = {"\xff", 1}},
     1,
     OTLP_FAULT_UTF8,
     "name is not UTF-8: byte 0xff",
     "resource_profiles[1].scope_profiles[0].scope.name"},
    {"depth", {.depth = 70}, 1, OTLP_FAULT_DEPTH, "values nest deeper than 64", NULL},
    {"two profiles",
     {.stack = {77, 99, 0}},
     2,
     OTLP_FAULT_INDEX,
     "index 77 is outside stack_table, which has 3 entries",
     "resource_profiles[0].scope_profiles[0].profiles[0].samples[0].stack_index"},
    {"all profiles",
     {.stack = {77, 99, 98}},
     3,
     OTLP_FAULT_INDEX,
     "index 77 is outside stack_table, which has 3 entries",
     NULL},
};

static void check_case(const filter_case *c)
{
    arena a = {0};
    buf b = {0};
    err e = {0};
    otlp_filtered s;
    str kept;
    model m;
    batch_message(&b, &c->o);
    assert_int_equal(otlp_decode(b.p, b.n, NULL, &a, &m, NULL), !c->reason);
    assert_ok(otlp_filter(b.p, b.n, LAYOUT_CURRENT, &a, &kept, &s, &e), &e);
    if (s.n_profiles != 3 || s.n_rejected != c->n_rejected ||
        s.rejected_by[c->fault] != c->n_rejected)
        fail_msg("%s: %zu of %zu rejected", c->name, s.n_rejected, s.n_profiles);
    assert_int_equal(s.n_reasons > 0, c->reason != NULL);
    if (c->reason) assert_string_equal(s.reason[0].msg, c->reason);
    if (c->path) assert_string_equal(s.reason[0].path, c->path);
    assert_ok(
        otlp_decode(kept.p, kept.n, &(otlp_decode_opts){.layout = LAYOUT_CURRENT}, &a, &m, &e), &e);
    assert_int_equal(m.profiles.n, 3 - c->n_rejected);
    for (size_t i = 0; i < m.profiles.n; i++) { /* the remaining profiles are unchanged */
        sample x = sample_at(&m, &m.profiles.v[i], 0);
        uint64_t was = (uint64_t)x.values[0] - 10;
        assert_int_equal(x.stack, c->o.stack[was] ? c->o.stack[was] : was == 1 ? 2 : 1);
        assert_int_equal(m.profiles.v[i].time_unix_nano, UINT64_C(1700000000000000000) + was);
    }
    buf_free(&b);
    arena_free(&a);
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) check_case(&cases[i]);
}

/* A fault that affects all profiles fails the message. */
static void test_whole(void **state)
{
    (void)state;
    static const batch_opts zero = {.zero = {"\xff", 1}}, good = {.name = 0};
    for (int cut = 0; cut < 2; cut++) {
        arena a = {0};
        buf b = {0};
        err e = {0};
        otlp_filtered s;
        str kept;
        batch_message(&b, cut ? &good : &zero);
        assert_false(otlp_filter(b.p, b.n - (size_t)cut, LAYOUT_CURRENT, &a, &kept, &s, &e));
        assert_int_equal(e.code, ERR_MALFORMED);
        buf_free(&b);
        arena_free(&a);
    }
}

/* If the budget of the arena is too small, the filter fails and never returns part of a message. */
static void test_budget(void **state)
{
    (void)state;
    buf b = {0};
    batch_message(&b, &(batch_opts){.stack = {0, 99, 0}});
    unsigned n_limits = 0;
    for (size_t budget = 1; budget < 1 << 20; budget *= 2) {
        arena a = {.budget = budget};
        err e = {0};
        otlp_filtered s;
        str kept;
        if (otlp_filter(b.p, b.n, LAYOUT_CURRENT, &a, &kept, &s, &e))
            assert_int_equal(s.n_rejected, 1);
        else
            assert_int_equal(e.code, ERR_MEMORY), n_limits++;
        arena_free(&a);
    }
    assert_true(n_limits > 0 && n_limits < 20);
    buf_free(&b);
}

/* v1.4 has tables inside the profile. A sample refers to a location that does not exist. */
static void test_old(void **state)
{
    (void)state;
    arena a = {0};
    buf b = {0}, r = {0}, sc = {0};
    for (unsigned i = 0; i < 3; i++) {
        buf p = {0}, type = {0}, one = {0};
        pb_put_uint(&type, 1, 1), pb_put_uint(&type, 2, 2);
        batch_put(&p, 1, &type);
        pb_put_uint(&one, 1, i == 1 ? 9 : 0); /* locations_start_index */
        pb_put_uint(&one, 2, 1);              /* locations_length */
        pb_put_uint(&one, 3, 7);
        batch_put(&p, 2, &one);
        batch_entry(&p, 4, 2, 4096 + i); /* location_table[0].address */
        pb_put_uint(&p, 5, 0);           /* location_indices */
        pb_put_bytes(&p, 10, STR("")), pb_put_bytes(&p, 10, STR("cpu"));
        pb_put_bytes(&p, 10, STR("ns"));
        batch_put(&sc, 2, &p);
    }
    batch_put(&r, 2, &sc), batch_put(&b, 1, &r);
    err e = {0};
    otlp_filtered s;
    str kept;
    model m;
    otlp_decode_opts o = {.layout = LAYOUT_1_4};
    assert_false(otlp_decode(b.p, b.n, &o, &a, &m, NULL));
    assert_ok(otlp_filter(b.p, b.n, LAYOUT_1_4, &a, &kept, &s, &e), &e);
    assert_int_equal(s.n_rejected, 1);
    assert_int_equal(s.rejected_by[OTLP_FAULT_SHAPE], 1);
    assert_non_null(
        strstr(s.reason[0].path, "resource_profiles[0].scope_profiles[0].profiles[1].sample[0]"));
    assert_ok(otlp_decode(kept.p, kept.n, &o, &a, &m, &e), &e);
    assert_int_equal(m.profiles.n, 2);
    buf_free(&b);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_old),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
