/* The builder: equal values share an entry, entry 0 is the zero value, entries are in order of
 * first use. */
#include "../../support/test.h"

#include "model/builder.h"
#include "model/importer.h"

#include <string.h>

static const uint8_t trace_0[16], trace_1[16] = {1}, span_0[8], span_1[8] = {9};

/* Adds one entry to every table and returns the stack. */
static uint32_t build_tables(builder *b)
{
    uint32_t attr = builder_attribute_str(b, STR("profile.frame.type"), STR("native"));
    uint32_t map = builder_mapping(
        b, &(mapping){.memory_start = 4096, .filename = builder_string(b, STR("libc.so.6"))}, &attr,
        1);
    uint32_t fn =
        builder_function(b, &(function){.name = builder_string(b, STR("main")), .start_line = 3});
    line lines[] = {{.line = 12, .function = fn}, {.line = 7, .column = 2, .function = fn}};
    uint32_t leaf = builder_location(b, map, 0x1234, lines, 2, &attr, 1);
    uint32_t root = builder_location(b, map, 0x1000, NULL, 0, NULL, 0);
    return builder_stack(b, (uint32_t[]){leaf, root}, 2);
}

static void same_value_same_index(void **state)
{
    (void)state;
    arena a = {0};
    builder b;
    assert_true(builder_init(&b, &a));
    uint32_t stack = build_tables(&b);
    dict before = b.m.dict;
    assert_u64(build_tables(&b), stack);
    assert_u64(b.m.dict.strings.n, before.strings.n);
    assert_u64(b.m.dict.mappings.n, 2);
    assert_u64(b.m.dict.functions.n, 2);
    assert_u64(b.m.dict.locations.n, 3);
    assert_u64(b.m.dict.attributes.n, 2);
    assert_u64(dict_n_stacks(&b.m.dict), 2);
    assert_u64(b.m.dict.lines.n, 2);
    assert_u64(b.m.dict.frames.n, 2);
    assert_u64(builder_link(&b, trace_1, span_1), 1);
    assert_u64(builder_link(&b, trace_1, span_1), 1);
    assert_u64(builder_link(&b, trace_1, span_0), 2);
    arena_free(&a);
}

static void zero_values_are_entry_zero(void **state)
{
    (void)state;
    arena a = {0};
    builder b;
    assert_true(builder_init(&b, &a));
    assert_u64(builder_string(&b, (str){NULL, 0}), 0);
    assert_u64(builder_string(&b, STR("")), 0);
    assert_u64(builder_mapping(&b, &(mapping){0}, NULL, 0), 0);
    assert_u64(builder_function(&b, &(function){0}), 0);
    assert_u64(builder_location(&b, 0, 0, NULL, 0, NULL, 0), 0);
    assert_u64(builder_link(&b, trace_0, span_0), 0);
    assert_u64(builder_attribute(&b, (str){0}, &(any){0}, (str){0}), 0);
    assert_u64(builder_stack(&b, NULL, 0), 0);
    /* A key without a value is an entry of its own (P-30). */
    assert_u64(builder_attribute(&b, STR("k"), &(any){0}, (str){0}), 1);
    /* So is the default value of a type. */
    assert_u64(builder_attribute_int(&b, STR("k"), 0), 2);
    assert_u64(builder_attribute_bool(&b, STR("k"), false), 3);
    assert_u64(builder_attribute_str(&b, STR("k"), STR("")), 4);
    assert_u64(builder_stack(&b, (uint32_t[]){0}, 1),
               1); /* one unknown frame is not an empty stack */
    model m;
    err e = {0};
    assert_ok(builder_finish(&b, &m, &e), &e);
    assert_u64(m.dict.strings.n, 2);
    assert_true(m.checked);
    arena_free(&a);
}

/* Values that differ in one property only. */
static void near_values_stay_apart(void **state)
{
    (void)state;
    arena a = {0};
    builder b;
    assert_true(builder_init(&b, &a));
    double zero = 0.0, minus = -0.0;
    any inner[] = {{.kind = ANY_INT, .i = 1}, {.kind = ANY_STRING, .n = 1, .s = "x"}};
    keyvalue kv = {.key = STR("x"), .value = {.kind = ANY_INT, .i = 1}};
    any values[] = {
        {.kind = ANY_EMPTY},
        {.kind = ANY_STRING, .n = 1, .s = "1"},
        {.kind = ANY_BYTES, .n = 1, .s = "1"},
        {.kind = ANY_INT, .i = 1},
        {.kind = ANY_BOOL, .i = 1},
        {.kind = ANY_DOUBLE, .d = zero},
        {.kind = ANY_DOUBLE, .d = minus},
        {.kind = ANY_ARRAY, .n = 0},
        {.kind = ANY_ARRAY, .n = 1, .array = inner},
        {.kind = ANY_ARRAY, .n = 2, .array = inner},
        {.kind = ANY_KVLIST, .n = 0},
        {.kind = ANY_KVLIST, .n = 1, .kvlist = &kv},
    };
    uint32_t first[ARRAY_LEN(values)];
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        first[i] = builder_attribute(&b, STR("k"), &values[i], (str){0});
        assert_u64(first[i], i + 1);
    }
    for (size_t i = 0; i < ARRAY_LEN(values); i++)
        assert_u64(builder_attribute(&b, STR("k"), &values[i], (str){0}), first[i]);
    assert_true(builder_attribute(&b, STR("k"), &values[3], STR("By")) > ARRAY_LEN(values));
    assert_true(builder_attribute(&b, STR("q"), &values[3], (str){0}) > ARRAY_LEN(values));
    arena_free(&a);
}

/* Strings are copied unless borrowed, so the caller may free its memory. */
static void strings_are_copied(void **state)
{
    (void)state;
    arena a = {0};
    builder b;
    assert_true(builder_init(&b, &a));
    char text[] = "volatile", nested[] = "nested";
    any list = {
        .kind = ANY_ARRAY, .n = 1, .array = &(any){.kind = ANY_STRING, .n = 6, .s = nested}};
    keyvalue kv = {.key = {text, 8}, .value = list};
    builder_string(&b, (str){text, 8});
    builder_attribute(&b, STR("k"), &list, (str){0});
    builder_resource(&b, &(resource){.attrs = {&kv, 1}, .schema_url = {text, 8}, .present = true});
    builder_scope(&b, &(scope){.name = {text, 8}, .attrs = {&kv, 1}, .present = true});
    memset(text, '#', sizeof text - 1);
    memset(nested, '#', sizeof nested - 1);
    model m;
    err e = {0};
    assert_ok(builder_finish(&b, &m, &e), &e);
    assert_true(str_eq(m.dict.strings.v[1], STR("volatile")));
    assert_true(str_eq(any_str(&m.dict.attributes.v[1].value.array[0]), STR("nested")));
    assert_true(str_eq(m.resources.v[0].attrs.v[0].key, STR("volatile")));
    assert_true(str_eq(any_str(&m.resources.v[0].attrs.v[0].value.array[0]), STR("nested")));
    assert_true(str_eq(m.resources.v[0].schema_url, STR("volatile")));
    assert_true(str_eq(m.scopes.v[0].name, STR("volatile")));
    arena_free(&a);

    assert_true(builder_init(&b, &a));
    b.borrow = true;
    builder_string(&b, (str){text, 8});
    assert_ptr_equal(b.m.dict.strings.v[1].p, text);
    arena_free(&a);
}

static void envelope_nests(void **state)
{
    (void)state;
    arena a = {0};
    builder b;
    assert_true(builder_init(&b, &a));
    int64_t v[] = {5, -6};
    uint64_t t[] = {100, 200};
    for (int r = 0; r < 2; r++) {
        builder_resource(&b, NULL);
        for (int s = 0; s < 2; s++) {
            builder_scope(&b, NULL);
            for (int p = 0; p < 3; p++) {
                builder_profile(&b)->period = r * 100 + s * 10 + p;
                for (int k = 0; k < p; k++)
                    builder_sample(&b,
                                   &(sample){.values = v, .n_values = 2, .times = t, .n_times = 2});
            }
        }
    }
    model m;
    err e = {0};
    assert_ok(builder_finish(&b, &m, &e), &e);
    assert_u64(m.resources.n, 2);
    assert_u64(m.scopes.n, 4);
    assert_u64(m.profiles.n, 12);
    assert_u64(m.resources.v[1].first_scope, 2);
    assert_u64(m.resources.v[1].n_scopes, 2);
    assert_u64(m.scopes.v[3].first_profile, 9);
    assert_u64(m.scopes.v[3].n_profiles, 3);
    assert_u64(m.scopes.v[3].resource, 1);
    assert_u64(m.profiles.v[11].period, 112);
    assert_u64(m.profiles.v[11].n_samples, 2);
    assert_u64(m.profiles.v[11].scope, 3);
    sample s = sample_at(&m, &m.profiles.v[11], 1);
    assert_int_equal(s.values[1], -6);
    assert_u64(s.times[1], 200);
    assert_null(m.profiles.v[11].value_span.off); /* all samples have the same length: no offsets */
    assert_null(m.profiles.v[11].link);
    arena_free(&a);
}

/* A resource, scope and profile are added for a sample without them. */
static void a_sample_alone_is_enough(void **state)
{
    (void)state;
    arena a = {0};
    builder b;
    model m;
    err e = {0};
    assert_true(builder_init(&b, &a));
    builder_sample(&b, &(sample){.link = 0});
    assert_ok(builder_finish(&b, &m, &e), &e);
    assert_u64(m.resources.n, 1);
    assert_u64(m.scopes.n, 1);
    assert_u64(m.profiles.n, 1);
    assert_u64(m.profiles.v[0].n_samples, 1);
    arena_free(&a);
}

static void mixed_shapes_have_offsets(void **state)
{
    (void)state;
    arena a = {0};
    builder b;
    model m;
    err e = {0};
    assert_true(builder_init(&b, &a));
    uint32_t link = builder_link(&b, trace_1, span_1);
    int64_t v[] = {1, 2, 3};
    for (uint32_t i = 0; i < 4; i++)
        builder_sample(&b, &(sample){.values = v, .n_values = i, .link = i == 2 ? link : 0});
    assert_ok(builder_finish(&b, &m, &e), &e);
    const profile *p = &m.profiles.v[0];
    assert_non_null(p->value_span.off);
    assert_non_null(p->link);
    for (uint32_t i = 0; i < 4; i++) {
        sample s = sample_at(&m, p, i);
        assert_u64(s.n_values, i);
        assert_u64(s.link, i == 2 ? link : 0);
        if (i) assert_int_equal(s.values[i - 1], i);
    }
    arena_free(&a);
}

/* The seed of hash tables does not affect the result. */
static void seed_does_not_matter(void **state)
{
    (void)state;
    arena a[2] = {{0}, {.seed = 0x12345678}};
    model m[2];
    err e = {0};
    for (size_t k = 0; k < 2; k++) {
        builder b;
        assert_true(builder_init(&b, &a[k]));
        for (int i = 0; i < 2000; i++) {
            char name[24];
            int n = snprintf(name, sizeof name, "f%d", i * 7919 % 1000);
            uint32_t fn = builder_function(
                &b, &(function){.name = builder_string(&b, (str){name, (size_t)n})});
            uint32_t at =
                builder_location(&b, 0, (uint64_t)i % 500, &(line){.function = fn}, 1, NULL, 0);
            builder_sample(&b, &(sample){.stack = builder_stack(&b, &at, 1)});
        }
        assert_ok(builder_finish(&b, &m[k], &e), &e);
    }
    assert_ok(model_equal(&m[0], &m[1], &e), &e);
    arena_free(&a[0]);
    arena_free(&a[1]);
}

static void out_of_memory_is_a_loop(void **state)
{
    (void)state;
    bool done = false;
    for (size_t budget = 16; !done; budget += 64) {
        assert_true(budget < 1 << 20);
        arena a = {.budget = budget};
        builder b;
        model m;
        err e = {0};
        bool ok = builder_init(&b, &a);
        keyvalue kv = {.key = STR("host"), .value = {.kind = ANY_STRING, .n = 1, .s = "h"}};
        if (ok) { /* callers may continue and check once, at the end */
            builder_resource(&b, &(resource){.attrs = {&kv, 1}, .present = true})->n_scopes = 0;
            builder_scope(&b, &(scope){.attrs = {&kv, 1}, .present = true});
            builder_profile(&b)->period = 1;
            uint32_t stack = build_tables(&b), attr = builder_attribute_int(&b, STR("k"), 4);
            builder_profile_attrs(&b, &attr, 1);
            int64_t v = 1;
            for (int i = 0; i < 20; i++)
                builder_sample(
                    &b,
                    &(sample){
                        .stack = stack, .values = &v, .n_values = 1, .attrs = &attr, .n_attrs = 1});
            ok = builder_finish(&b, &m, &e);
            if (!ok) assert_int_equal(e.code, ERR_MEMORY);
        }
        if (ok) assert_u64(m.profiles.v[0].n_samples, 20);
        assert_true(a.peak <= budget);
        done = ok;
        arena_free(&a);
    }
}

/* Adds a dictionary with `unique` and then another one: common entries are found with any seed.
 * Two attributes of the first share a key. */
static void what_was_unique_is_found(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 64; seed++) {
        arena from = {0}, work = {0}, a = {.seed = seed};
        builder b;
        model m;
        importer g;
        err e = {0};
        assert_true(builder_init(&b, &from));
        uint32_t one = builder_attribute_str(&b, STR("build_id"), STR("1")),
                 two = builder_attribute_str(&b, STR("build_id"), STR("2"));
        uint32_t maps[] = {builder_mapping(&b, &(mapping){.memory_start = 4096}, &one, 1),
                           builder_mapping(&b, &(mapping){.memory_start = 8192}, &two, 1)};
        uint32_t at[] = {builder_location(&b, maps[0], 5000, NULL, 0, NULL, 0),
                         builder_location(&b, maps[1], 9000, NULL, 0, NULL, 0)};
        uint32_t stack = builder_stack(&b, at, 2);
        assert_ok(builder_finish(&b, &m, &e), &e);
        builder to;
        assert_true(builder_init(&to, &a));
        to.unique = true;
        assert_true(importer_init(&g, &to, &m, &work));
        uint32_t first = importer_stack(&g, stack);
        assert_true(builder_index(&to));
        assert_true(importer_init(&g, &to, &m, &work));
        assert_u64(importer_stack(&g, stack), first);
        assert_u64(to.m.dict.strings.n, m.dict.strings.n);
        assert_u64(to.m.dict.mappings.n, 3);
        arena_free(&from), arena_free(&work), arena_free(&a);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_value_same_index),
        cmocka_unit_test(zero_values_are_entry_zero),
        cmocka_unit_test(near_values_stay_apart),
        cmocka_unit_test(strings_are_copied),
        cmocka_unit_test(envelope_nests),
        cmocka_unit_test(a_sample_alone_is_enough),
        cmocka_unit_test(mixed_shapes_have_offsets),
        cmocka_unit_test(seed_does_not_matter),
        cmocka_unit_test(what_was_unique_is_found),
        cmocka_unit_test(out_of_memory_is_a_loop),
    };
    return cmocka_run_group_tests_name("builder", tests, NULL, NULL);
}
