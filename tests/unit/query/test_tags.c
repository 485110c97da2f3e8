/* Attributes as labels of pprof: patterns, ranges with units, tags as frames. */
#include "../../support/test.h"
#include "model/builder.h"
#include "query/flat.h"
#include "query/unit.h"

#include <string.h>

typedef struct fixture {
    arena a;
    builder b;
    model m;
    frame_table table;
    view v;
    err e;
} fixture;

static void add(fixture *x, const char *name, uint32_t attr, uint32_t other, uint32_t link,
                int64_t value)
{
    function f = {.name = builder_string(&x->b, str_of(name))};
    line l = {.function = builder_function(&x->b, &f)};
    uint32_t at = builder_location(&x->b, 0, 0, &l, 1, NULL, 0), attrs[2] = {attr, other};
    builder_sample(&x->b, &(sample){.stack = builder_stack(&x->b, &at, 1),
                                    .link = link,
                                    .attrs = attrs,
                                    .n_attrs = other  ? 2
                                               : attr ? 1
                                                      : 0,
                                    .values = &value,
                                    .n_values = 1});
}

/* Four samples with the values 1, 2, 4 and 8, so that the sum shows which were selected. */
static void make(fixture *x)
{
    *x = (fixture){0};
    assert_true(builder_init(&x->b, &x->a));
    builder_resource(&x->b, NULL);
    builder_scope(&x->b, NULL);
    builder_profile(&x->b);
    builder *b = &x->b;
    any two[2] = {{.kind = ANY_STRING, .n = 3, .s = "eu1"},
                  {.kind = ANY_STRING, .n = 3, .s = "us2"}};
    any list = {.kind = ANY_ARRAY, .n = 2, .array = two};
    any kb = {.kind = ANY_INT, .i = 4};
    uint8_t trace[16] = {0xab}, id[8] = {0xcd};
    add(x, "a", builder_attribute_str(b, STR("region"), STR("eu1")),
        builder_attribute(b, STR("size"), &kb, STR("kilobytes")), 0, 1);
    add(x, "b", builder_attribute(b, STR("region"), &list, STR("")),
        builder_attribute_int(b, STR("bytes"), 100), 0, 2);
    add(x, "c", builder_attribute_int(b, STR("thread.id"), 77), 0, builder_link(b, trace, id), 4);
    add(x, "d", 0, 0, 0, 8);
    assert_true(builder_finish(&x->b, &x->m, &x->e));
}

static int64_t selected(fixture *x, const select_opts *o)
{
    assert_ok(view_of(&x->m, o, BY_FUNCTION, &x->a, &x->table, &x->v, &x->e), &x->e);
    return x->v.sum;
}

static void test_filters(void **state)
{
    (void)state;
    static const struct {
        select_opts o;
        int64_t want;
    } cases[] = {
        {{.tagfocus = {"eu", 2}}, 1 + 2},
        {{.tagfocus = {"region:eu", 9}}, 1 + 2},
        {{.tagfocus = {"eu,us", 5}}, 2},           /* without a key all must match */
        {{.tagfocus = {"region=^us,^eu", 14}}, 3}, /* with a key, one must match */
        {{.tagfocus = {"region=^us", 10}}, 2},
        {{.tagfocus = {"zone=eu", 7}}, 0},
        {{.tagignore = {"region=.", 8}}, 4 + 8},
        {{.tagfocus = {"size=4kb", 8}}, 1},
        {{.tagfocus = {"size=4096b", 10}}, 1},
        {{.tagfocus = {"size=:4000b", 11}}, 0},
        {{.tagfocus = {"4kb:", 4}},
         1 + 4}, /* as in pprof, a number without a unit has the unit of the range */
        {{.tagfocus = {"50b:1mb", 7}}, 1 + 2 + 4}, /* bytes without a unit are bytes */
        {{.tagfocus = {"size=1ms:", 9}}, 0},       /* bytes are not a time */
        {{.tagfocus = {"thread.id=77", 12}}, 4},
        {{.thread = {"77", 2}}, 4},
        {{.trace_id = {"ab000000000000000000000000000000", 32}}, 4},
        {{.span_id = {"CD00000000000000", 16}}, 4},
        {{.tagfocus = {"trace_id=^ab", 12}}, 4},
        {{.tagfocus = {"a.*b", 4}, .literal = true}, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        fixture x;
        make(&x);
        print_message("# %.*s\n", STR_ARG(cases[i].o.tagfocus));
        assert_u64(selected(&x, &cases[i].o), cases[i].want);
        arena_free(&x.a);
    }
}

static void test_tag_frames(void **state)
{
    (void)state;
    fixture x;
    flat f;
    make(&x);
    select_opts o = {.tagroot = STR("region,size"), .tagleaf = STR("trace_id")};
    assert_u64(selected(&x, &o), 15);
    uint32_t *stack = view_scratch(&x.v, &x.e);
    uint32_t n = view_frames(&x.v, &x.v.parts.v[0], &x.v.rows.v[0], stack);
    assert_int_equal(n, 4); /* trace, function, size, region, leaf first */
    static const char *const want[] = {"<unknown>", "a", "4kB", "eu1"};
    for (uint32_t i = 0; i < n; i++)
        assert_true(str_eq(frame_label(&x.table, stack[i]), str_of(want[i])));
    assert_true(flat_of(&x.v, &(flat_opts){0}, &x.a, &f, &x.e));
    assert_u64(f.flat_sum, 15);
    /* tags can be selected like frames */
    o.focus = STR("^eu1,us2$");
    assert_u64(selected(&x, &o), 2);
    o = (select_opts){.tagroot = STR("region"), .show_from = STR("eu1$")};
    assert_u64(selected(&x, &o), 1);
    arena_free(&x.a);
}

static void test_units(void **state)
{
    (void)state;
    static const struct {
        int64_t v;
        const char *from, *to, *want;
    } cases[] = {
        {0, "bytes", "auto", "0"},
        {1536, "bytes", "auto", "1.50kB"},
        {32, "By", "auto", "32B"},
        {2, "MiBy", "kB", "2048kB"},
        {1500, "ns", "us", "1.50us"},
        {90, "minutes", "auto", "90"},
        {7200, "seconds", "auto", "2hrs"},
        {-1536, "bytes", "auto", "-1.50kB"},
        {5, "count", "", "5"},
        {1000000, "nanoseconds", "ms", "1ms"},
        {3, "\xc2\xb5s", "ns", "3000ns"},
        {1, "s", "kB", "1s"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char out[UNIT_TEXT_MAX];
        size_t n = unit_label(cases[i].v, str_of(cases[i].from), str_of(cases[i].to), out);
        print_message("# %s\n", cases[i].want);
        assert_true(str_eq((str){out, n}, str_of(cases[i].want)));
    }
}

/* Every allocation may fail. */
static void test_memory(void **state)
{
    (void)state;
    fixture x;
    make(&x);
    select_opts o = {.tagroot = STR("region"), .focus = STR("a|b"), .tagfocus = STR("eu.*")};
    bool done = false;
    for (size_t budget = 0; budget < 256 * 1024 && !done; budget += 64) {
        arena a = {.budget = budget ? budget : 1};
        err e = {0};
        flat f;
        done = view_of(&x.m, &o, BY_LINE, &a, &x.table, &x.v, &e) &&
               flat_of(&x.v, &(flat_opts){0}, &a, &f, &e);
        assert_true(done ? x.v.sum == 3 : err_exhausted(&e));
        arena_free(&a);
    }
    assert_true(done);
    arena_free(&x.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filters),
        cmocka_unit_test(test_tag_frames),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
