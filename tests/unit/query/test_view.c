/* Selection, flat tables, edges and trees over stacks written as text: "main;run;work 3". */
#include "../../support/test.h"
#include "format/format.h"
#include "query/flat.h"
#include "query/tree.h"
#include <string.h>

typedef struct fixture {
    arena a;
    document doc;
    frame_table frames;
    view v;
    err e;
} fixture;

static bool look(fixture *x, const char *folded, const select_opts *o, granularity by)
{
    *x = (fixture){0};
    read_opts r = {.from = format_named(STR("folded"))};
    assert_true(format_read(str_of(folded), &r, &x->a, &x->doc, &x->e));
    return view_of(&x->doc.model, o, by, &x->a, &x->frames, &x->v, &x->e);
}

/* Returns "name flat cum" of every row, in order. */
static char *table(fixture *x, const flat_opts *o)
{
    static char out[1024];
    flat f;
    assert_true(flat_of(&x->v, o, &x->a, &f, &x->e));
    size_t n = 0;
    out[0] = '\0';
    for (size_t i = 0; i < f.n; i++) {
        str label = frame_label(f.frames, f.v[i].frame);
        n += (size_t)snprintf(out + n, sizeof out - n, "%s%.*s %lld %lld", n ? ", " : "",
                              STR_ARG(label), (long long)f.v[i].flat, (long long)f.v[i].cum);
    }
    return out;
}

static const char stacks[] = "main;run;work 3\nmain;run 2\nmain;run;run;work;run 4\nmain;idle 1\n";

static void test_flat(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        select_opts o;
        const char *want;
    } cases[] = {
        {"all", {.all = false}, "run 6 9, work 3 7, idle 1 1, main 0 10"},
        {"focus", {.focus = {"work", 4}}, "run 4 7, work 3 7, main 0 7"},
        {"ignore", {.ignore = {"wor.$", 5}}, "run 2 2, idle 1 1, main 0 3"},
        {"ignore overrides focus",
         {.focus = {"run", 3}, .ignore = {"work", 4}},
         "run 2 2, main 0 2"},
        {"hide", {.hide = {"^run$", 5}}, "work 7 7, main 2 10, idle 1 1"},
        {"show", {.show = {"run|work", 8}}, "run 6 9, work 3 7"},
        {"hidden stacks are dropped", {.hide = {"main|run|work", 13}}, "idle 1 1"},
        {"show from", {.show_from = {"run", 3}}, "run 6 9, work 3 7"},
        {"collapse", {.collapse = {"^run$", 5}}, "run 9 9, idle 1 1, main 0 10"},
        {"collapse after show from",
         {.show_from = {"run", 3}, .collapse = {"work", 4}},
         "work 7 7, run 2 9"},
        {"nothing to collapse",
         {.collapse = {"idle", 4}},
         "run 6 9, work 3 7, idle 1 1, main 0 10"},
        {"collapse direct recursion",
         {.collapse_direct_recursion = {"run", 3}},
         "run 6 9, work 3 7, idle 1 1, main 0 10"},
        {"plain text", {.focus = {"wor.$", 5}, .literal = true}, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        fixture x;
        assert_true(look(&x, stacks, &cases[i].o, BY_FUNCTION));
        print_message("# %s\n", cases[i].name);
        assert_string_equal(table(&x, &(flat_opts){0}), cases[i].want);
        arena_free(&x.a);
    }
}

static void test_flat_options(void **state)
{
    (void)state;
    fixture x;
    assert_true(look(&x, stacks, &(select_opts){.all = false}, BY_FUNCTION));
    assert_string_equal(table(&x, &(flat_opts){.by_cum = true}),
                        "main 0 10, run 6 9, work 3 7, idle 1 1");
    assert_string_equal(table(&x, &(flat_opts){.node_count = 2}), "run 6 9, work 3 7");
    assert_string_equal(table(&x, &(flat_opts){.node_fraction = 0.2}),
                        "run 6 9, work 3 7, main 0 10");
    /* a row of exactly the cutoff stays */
    assert_string_equal(table(&x, &(flat_opts){.node_fraction = 0.1}),
                        "run 6 9, work 3 7, idle 1 1, main 0 10");
    arena_free(&x.a);
    /* equal amounts are sorted by name */
    assert_true(
        look(&x, "main;b 2\nmain;a 2\nmain;c 2\n", &(select_opts){.all = false}, BY_FUNCTION));
    assert_string_equal(table(&x, &(flat_opts){0}), "a 2 2, b 2 2, c 2 2, main 0 6");
    arena_free(&x.a);
}

static void test_edges(void **state)
{
    (void)state;
    fixture x;
    flat f;
    edges g;
    flat_opts o = {0};
    assert_true(look(&x, stacks, &(select_opts){.all = false}, BY_FUNCTION));
    assert_true(flat_of(&x.v, &o, &x.a, &f, &x.e));
    assert_true(edges_of(&x.v, &f, &o, &x.a, &g, &x.e));
    assert_int_equal(
        g.n, 4); /* run->work 7, work->run 4, main->run 9, main->idle 1; run->run is not an edge */
    assert_int_equal(g.first_out[1] - g.first_out[0], 1);
    assert_int_equal(g.v[g.first_out[0]].value, 7);
    assert_int_equal(g.first_in[1] - g.first_in[0], 2);
    assert_int_equal(g.v[g.in[g.first_in[0]]].value, 9);
    /* edges skip an omitted frame between two shown ones */
    assert_true(flat_of(&x.v, &(flat_opts){.node_count = 1}, &x.a, &f, &x.e));
    assert_true(edges_of(&x.v, &f, &o, &x.a, &g, &x.e));
    assert_int_equal(g.n, 0);
    arena_free(&x.a);
}

static void test_tree(void **state)
{
    (void)state;
    fixture x;
    tree t;
    assert_true(look(&x, stacks, &(select_opts){.all = false}, BY_FUNCTION));
    assert_true(tree_of(&x.v, &(tree_opts){.order = TREE_BY_TOTAL}, &x.a, &t, &x.e));
    assert_int_equal(t.total[0], 10);
    assert_int_equal(t.max_depth, 5);
    assert_int_equal(t.n, 8);
    uint32_t main_ = t.first_child[0], run = t.first_child[main_];
    assert_int_equal(t.next_sibling[main_], 0);
    assert_int_equal(t.total[run], 9);
    assert_int_equal(t.self[run], 2);
    assert_int_equal(t.total[t.next_sibling[run]], 1);
    assert_true(tree_of(&x.v, &(tree_opts){.inverted = true}, &x.a, &t, &x.e));
    assert_int_equal(t.total[0], 10);
    assert_true(tree_of(&x.v, &(tree_opts){.max_depth = 1}, &x.a, &t, &x.e));
    assert_int_equal(t.n, 2);
    assert_int_equal(t.self[1], 10);
    arena_free(&x.a);
}

static size_t nodes_of(fixture *x, const char *folded, const select_opts *o)
{
    tree t;
    assert_true(look(x, folded, o, BY_FUNCTION));
    assert_true(tree_of(&x->v, NULL, &x->a, &t, &x->e));
    return t.n;
}

static void test_recursion(void **state)
{
    (void)state;
    fixture x;
    /* main, run, run, work, run: the two adjacent frames become one, the last one stays */
    const char *one = "main;run;run;run;work;run 4\n";
    assert_int_equal(nodes_of(&x, one, &(select_opts){.all = false}), 7);
    arena_free(&x.a);
    assert_int_equal(nodes_of(&x, one, &(select_opts){.collapse_direct_recursion = {"^run$", 5}}),
                     5);
    arena_free(&x.a);
    assert_int_equal(nodes_of(&x, one, &(select_opts){.collapse_direct_recursion = {"work", 4}}),
                     7);
    arena_free(&x.a);
    /* frames become adjacent when those between them are hidden */
    assert_int_equal(
        nodes_of(&x, one,
                 &(select_opts){.hide = {"work", 4}, .collapse_direct_recursion = {".", 1}}),
        3);
    arena_free(&x.a);
    assert_int_equal(nodes_of(&x, one, &(select_opts){.collapse_direct_recursion = {"sleep", 5}}),
                     7);
    assert_string_equal(x.v.unmatched, "collapse-direct-recursion");
    arena_free(&x.a);
}

static void test_all_recursion(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *stack, *want;
    } cases[] = {
        {"^b$", "a;b;c;b;d 1", "a;b;d"},     /* indirect */
        {"^b$", "a;b;b;b;d 1", "a;b;d"},     /* direct */
        {"^b$", "a;b;c;d;b 1", "a;b"},       /* at the leaf */
        {"^b$", "b;c;b;c;b;c 1", "b;c"},     /* several times; the calls of the last one stay */
        {"^b$", "a;c;a;c;b 1", "a;c;a;c;b"}, /* other functions are not collapsed */
        {"^[bc]$", "a;b;c;b;c;d 1", "a;b;c;d"}, {".", "a;b;c;a;d;b;d;e 1", "a;d;e"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        fixture x;
        select_opts o = {.collapse_recursion = str_of(cases[i].pattern)};
        char got[64] = "", folded[64];
        snprintf(folded, sizeof folded, "%s\n", cases[i].stack);
        assert_true(look(&x, folded, &o, BY_FUNCTION));
        uint32_t *out = view_scratch(&x.v, &x.e),
                 n = view_frames(&x.v, &x.v.parts.v[0], &x.v.rows.v[0], out);
        for (uint32_t k = n; k-- > 0;) {
            str name = frame_label(x.v.frames, out[k]);
            snprintf(got + strlen(got), sizeof got - strlen(got), "%.*s%s", STR_ARG(name),
                     k ? ";" : "");
        }
        assert_string_equal(got, cases[i].want);
        arena_free(&x.a);
    }
}

static void test_category(void **state)
{
    (void)state;
    static const char folded[] =
        "main;run;sys_read_[k];copy_[k] 3\nmain;run 2\nmain;io;copy_[k] 1\n";
    static const struct {
        select_opts o;
        const char *want, *unmatched;
    } cases[] = {
        {{.focus_category = {"^kernel$", 8}}, "copy 4 4, sys_read 0 3", ""},
        {{.focus_category = {"kern", 4}, .hide = {"copy", 4}}, "sys_read 3 3", ""},
        {{.focus_category = {"kern", 4}, .show_from = {"copy", 4}}, "copy 4 4", ""},
        {{.focus_category = {"kern", 4}, .show_from = {"run", 3}}, "", "show-from"},
        {{.focus_category = {"jvm", 3}}, "", "focus-category"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        fixture x;
        assert_true(look(&x, folded, &cases[i].o, BY_FUNCTION));
        assert_string_equal(table(&x, &(flat_opts){0}), cases[i].want);
        assert_string_equal(x.v.unmatched, cases[i].unmatched);
        arena_free(&x.a);
    }
}

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        select_opts o;
        err_code code;
        const char *want;
    } cases[] = {
        {{.sample_type = {"heap", 4}},
         ERR_USAGE,
         "no sample type `heap`; available: samples/count"},
        {{.focus = {"a(", 2}},
         ERR_USAGE,
         "focus: `a(` is not a regular expression: missing closing parenthesis (at character 2)"},
        {{.focus = {"(a+)+$", 6}},
         ERR_LIMIT,
         "focus: the regular expression is too costly to match; simplify it, or use plain "
         "text"},
        {{.trace_id = {"12", 2}}, ERR_USAGE, "trace-id: `12` is not 32 hex digits"},
        {{.resource = {{"x", 1}}, .n_resources = 1},
         ERR_USAGE,
         "resource: `x` should be KEY=PATTERN"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        fixture x;
        assert_false(look(&x, "main;aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab 3\n", &cases[i].o,
                          BY_FUNCTION));
        assert_string_equal(x.e.msg, cases[i].want);
        assert_int_equal(x.e.code, cases[i].code);
        arena_free(&x.a);
    }
}

static void test_paths(void **state)
{
    (void)state;
    static const struct {
        const char *in, *clean, *base;
    } cases[] = {
        {"", "", "."},
        {"a", "a", "a"},
        {"/a/b", "/a/b", "b"},
        {"a//b/", "a/b", "b"},
        {"/", "/", "/"},
        {"/../a", "/a", "a"},
        {"a/../../b", "../b", "b"},
        {"./a/./b", "a/b", "b"},
        {"a/..", ".", ".."},
        {".", ".", "."},
        {"..", "..", ".."},
        {"/a/b/../../c", "/c", "c"},
    };
    arena a = {0};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        str clean = path_clean(str_of(cases[i].in), &a), base = path_base(str_of(cases[i].in));
        print_message("# %s\n", cases[i].in);
        assert_true(str_eq(clean, str_of(cases[i].clean)));
        assert_true(str_eq(base, str_of(cases[i].base)));
    }
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flat),      cmocka_unit_test(test_flat_options),
        cmocka_unit_test(test_edges),     cmocka_unit_test(test_tree),
        cmocka_unit_test(test_recursion), cmocka_unit_test(test_all_recursion),
        cmocka_unit_test(test_category),  cmocka_unit_test(test_errors),
        cmocka_unit_test(test_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
