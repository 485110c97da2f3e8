/* Unused entries are removed from all tables, and references are updated. */
#include "../../support/digest.h"
#include "../../support/test.h"

#include "model/builder.h"
#include "model/sweep.h"

static uint32_t place(builder *b, const char *name, uint32_t map)
{
    uint32_t f = builder_function(b, &(function){.name = builder_string(b, str_of(name))});
    return builder_location(b, map, 0x10, &(line){.function = f}, 1, NULL, 0);
}

static uint32_t mapped(builder *b, const char *file)
{
    uint32_t id = builder_attribute_str(b, STR("build_id"), str_of(file));
    return builder_mapping(
        b, &(mapping){.memory_start = 1, .filename = builder_string(b, str_of(file))}, &id, 1);
}

/* Two mappings, a location and a string that are unused, each before a used one. */
static void test_drops_what_nobody_uses(void **state)
{
    (void)state;
    arena a = {0};
    builder b;
    model m;
    err e = {0};
    assert_true(builder_init(&b, &a));
    mapped(&b, "[vdso]");
    uint32_t map = mapped(&b, "/bin/a");
    mapped(&b, "/lib/unused.so");
    builder_string(&b, STR("a label"));
    place(&b, "unused", 0);
    uint32_t loc = place(&b, "main", map);
    profile *p = builder_profile(&b);
    p->sample_type = (value_type){builder_string(&b, STR("cpu")), builder_string(&b, STR("ns"))};
    int64_t v = 3;
    uint32_t attr = builder_attribute_str(&b, STR("k"), STR("v"));
    builder_sample(&b, &(sample){.stack = builder_stack(&b, &loc, 1),
                                 .attrs = &attr,
                                 .n_attrs = 1,
                                 .values = &v,
                                 .n_values = 1});
    assert_true(builder_finish(&b, &m, &e));
    digest_rows before = digest_model(&m, true);
    assert_true(model_sweep(&m, 0, &a, &e));
    digest_rows after = digest_model(&m, true);
    assert_int_equal(before.n, after.n);
    assert_memory_equal(before.v, after.v, before.n * sizeof *before.v);
    assert_int_equal(m.dict.mappings.n, 2);
    assert_int_equal(m.dict.locations.n, 2);
    assert_int_equal(m.dict.functions.n, 2);
    assert_int_equal(m.dict.attributes.n, 3); /* none, the build id, k */
    assert_int_equal(m.dict.strings.n, 7);    /* "", /bin/a, build_id, main, cpu, ns, k */
    assert_true(str_eq(dict_str(&m.dict, m.dict.mappings.v[1].filename), STR("/bin/a")));
    free(before.v), free(after.v);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drops_what_nobody_uses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
