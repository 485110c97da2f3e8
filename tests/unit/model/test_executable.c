/* The main binary is recognized and becomes the first mapping. */
#include "../../support/test.h"

#include "model/builder.h"
#include "model/executable.h"
#include "model/merge.h"

enum { N_FILES = 5 };
static const char *const files[N_FILES] = {"/lib/libc.so.6", "[vdso]", "/opt/app/bin/app (deleted)",
                                           "/usr/bin/sh", "app"};

static keyvalue text(const char *key, const char *value)
{
    return (keyvalue){.key = str_of(key),
                      .value = {.kind = ANY_STRING, .n = (uint32_t)strlen(value), .s = value}};
}

/* A model with one location per file, and one resource per path and name. */
static model made(arena *a, const char *const (*ctx)[2], size_t n)
{
    builder b;
    model m;
    err e = {0};
    uint32_t at[N_FILES];
    assert_true(builder_init(&b, a));
    for (size_t i = 0; i < N_FILES; i++) {
        mapping map = {.memory_start = i + 1, .filename = builder_string(&b, str_of(files[i]))};
        at[i] = builder_location(&b, builder_mapping(&b, &map, NULL, 0), 16 + i, NULL, 0, NULL, 0);
    }
    for (size_t i = 0; i < n; i++) {
        keyvalue kv[2];
        size_t k = 0;
        if (ctx[i][0]) kv[k++] = text("process.executable.path", ctx[i][0]);
        if (ctx[i][1]) kv[k++] = text("process.executable.name", ctx[i][1]);
        builder_resource(&b, &(resource){.attrs = {kv, k}});
        builder_scope(&b, &(scope){0});
        profile *p = builder_profile(&b);
        p->sample_type =
            (value_type){builder_string(&b, STR("cpu")), builder_string(&b, STR("ns"))};
        int64_t v = 1;
        builder_sample(
            &b, &(sample){.stack = builder_stack(&b, at, N_FILES), .values = &v, .n_values = 1});
    }
    assert_ok(builder_finish(&b, &m, &e), &e);
    return m;
}

/* Checks that every location is still in its file, which its address identifies. */
static void assert_places(const model *m)
{
    for (size_t i = 1; i < m->dict.locations.n; i++) {
        const location *l = &m->dict.locations.v[i];
        str got = dict_str(&m->dict, m->dict.mappings.v[l->mapping].filename);
        if (!str_eq(got, str_of(files[l->address - 16])))
            fail_msg("%.*s has the location of %s", STR_ARG(got), files[l->address - 16]);
    }
}

static void assert_order(const model *m, const char *want)
{
    buf b = {0};
    for (size_t i = 1; i < m->dict.mappings.n; i++)
        for (size_t k = 0; k < N_FILES; k++)
            if (str_eq(dict_str(&m->dict, m->dict.mappings.v[i].filename), str_of(files[k])))
                buf_putc(&b, (char)('0' + k));
    if (!str_eq(buf_view(&b), str_of(want))) fail_msg("%.*s, not %s", (int)b.n, b.p, want);
    buf_free(&b);
    assert_places(m);
}

static const struct {
    const char *ctx[3][2]; /* path and name of each resource */
    size_t n;
    const char *want; /* the expected order of the files, by number */
} cases[] = {
    {{{NULL, NULL}}, 1, "01234"},
    {{{"/usr/bin/sh", "sh"}}, 1, "30124"},
    {{{"/opt/app/bin/app", "app"}},
     1,
     "20134"},                     /* the path decides, not the first file with that name */
    {{{NULL, "app"}}, 1, "20134"}, /* the file was replaced */
    {{{"/elsewhere/sh", NULL}}, 1, "30124"}, /* a sender that writes base names */
    {{{"/no/such", NULL}}, 1, "01234"},
    {{{"/no/such", NULL}, {"/usr/bin/sh", NULL}}, 2, "30124"},
    {{{"/usr/bin/sh", NULL}, {"app", NULL}, {"/usr/bin/sh", NULL}}, 3, "34012"},
    {{{"app", NULL}, {"/lib/libc.so.6", NULL}, {"[vdso]", NULL}}, 3, "40123"},
};

static void test_resources(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        model m = made(&a, cases[i].ctx, cases[i].n);
        model_executables_first(&m);
        assert_order(&m, cases[i].want);
        model_executables_first(&m);
        assert_order(&m, cases[i].want);
        arena_free(&a);
    }
}

static void test_list(void **state)
{
    (void)state;
    arena a = {0};
    static const char *const no_names[1][2];
    model m = made(&a, no_names, 1);
    model_mappings_first(&m, (uint32_t[]){0, 99, 5, 5, 3}, 5);
    assert_order(&m, "42013");
    model_mappings_first(&m, NULL, 0);
    assert_order(&m, "42013");
    arena_free(&a);
}

/* The order of mappings identifies the main binary; merging keeps it, canonical or not. */
static void test_merged(void **state)
{
    (void)state;
    static const char *const no_names[1][2];
    for (int how = 0; how < 4; how++) {
        arena a = {0};
        err e = {0};
        model m = made(&a, no_names, 1), n = made(&a, no_names, 1), out;
        model_mappings_first(&m, (uint32_t[]){4}, 1);
        model_mappings_first(&n, (uint32_t[]){3}, 1);
        const model *in[] = {&m, &n};
        const merge_opts o = {.join = how & 1, .canonical = how & 2};
        assert_ok(model_merge(in, 2, &o, &a, &out, &e), &e);
        assert_true(str_eq(dict_str(&out.dict, out.dict.mappings.v[1].filename), str_of(files[3])));
        assert_places(&out);
        assert_ok(model_merge(in, 1, &o, &a, &out, &e), &e);
        assert_true(str_eq(dict_str(&out.dict, out.dict.mappings.v[1].filename), str_of(files[3])));
        arena_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_resources),
                                       cmocka_unit_test(test_list), cmocka_unit_test(test_merged)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
