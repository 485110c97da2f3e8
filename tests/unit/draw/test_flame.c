/* Flame graphs: sizes, groups, texts, SVG and terminal output, limits. */
#include "draw/flame_svg.h"
#include "draw/flame_term.h"

#include "draw/palette.h"
#include "../../support/test.h"

typedef struct example {
    arena a;
    frame_table frames;
} example;

typedef struct branch {
    const char *name;
    uint32_t parent;
    int64_t self;
} branch;

/* Builds a tree of these nodes; children are in the given order. */
static tree grow(example *x, const branch *n, size_t count)
{
    err e = {0};
    tree made = {.frames = &x->frames, .n = count}, *t = &made;
    t->parent = arena_new(&x->a, uint32_t, count);
    t->frame = arena_new(&x->a, uint32_t, count);
    t->first_child = arena_new(&x->a, uint32_t, count);
    t->next_sibling = arena_new(&x->a, uint32_t, count);
    t->self = arena_new(&x->a, int64_t, count);
    t->total = arena_new(&x->a, int64_t, count);
    uint32_t *depth = arena_new(&x->a, uint32_t, count), *last = arena_new(&x->a, uint32_t, count);
    t->frame[0] = NO_FRAME;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t p = t->parent[i] = n[i].parent;
        t->self[i] = n[i].self;
        if (!i) continue;
        frame_parts parts = {0};
        assert_ok(frame_table_text(&x->frames, str_of(n[i].name), &parts.name, &e), &e);
        assert_ok(frame_table_add(&x->frames, &parts, &t->frame[i], &e), &e);
        *(last[p] ? &t->next_sibling[last[p]] : &t->first_child[p]) = i;
        last[p] = i;
        depth[i] = depth[p] + 1;
        if (depth[i] > t->max_depth) t->max_depth = depth[i];
    }
    for (size_t i = count; i--;) {
        t->total[i] += t->self[i];
        if (i) t->total[n[i].parent] += t->total[i];
    }
    return made;
}

static void begin(example *x)
{
    err e = {0};
    *x = (example){0};
    assert_ok(frame_table_init(&x->frames, BY_FUNCTION, &x->a, &e), &e);
}

/* main calls work; Copy also calls work. */
static const branch plain[] = {
    {NULL, 0, 0},          {"main.main", 0, 10},
    {"main.work", 1, 600}, {"github.com/x/io.Copy", 1, 300},
    {"main.work", 3, 90},
};

static void test_sizes_and_walk(void **state)
{
    (void)state;
    example x;
    err e = {0};
    flame f;
    flame_walk w;
    begin(&x);
    tree t = grow(&x, plain, ARRAY_LEN(plain));
    assert_ok(flame_of(&t, &(flame_opts){.unit = STR("ns")}, &x.a, &f, &e), &e);
    assert_true(f.size[0] == 1.0 && f.size[2] == 0.6 && f.size[3] == 0.39);
    assert_ok(flame_walk_new(&f, 0, &x.a, &w, &e), &e);
    static const struct {
        uint32_t node, depth;
        double at;
    } want[] = {{0, 0, 0}, {1, 1, 0}, {2, 2, 0}, {3, 2, 0.6}, {4, 3, 0.6}};
    for (int again = 0; again < 2; again++, flame_walk_rewind(&w)) {
        for (size_t i = 0; i < ARRAY_LEN(want); i++) {
            assert_true(flame_walk_next(&w));
            assert_int_equal(w.node, want[i].node);
            assert_int_equal(w.depth, want[i].depth);
            assert_true(w.x == want[i].at);
        }
        assert_false(flame_walk_next(&w));
    }
    assert_ok(flame_walk_new(&f, 0.2, &x.a, &w, &e),
              &e); /* the limit is above the last box: one box fewer */
    size_t n = 0;
    while (flame_walk_next(&w)) n++;
    assert_int_equal(n, 4);
    arena_free(&x.a);
}

static void test_groups(void **state)
{
    (void)state;
    example x;
    err e = {0};
    flame f;
    begin(&x);
    tree t = grow(&x, plain, ARRAY_LEN(plain));
    assert_ok(flame_of(&t, &(flame_opts){0}, &x.a, &f, &e), &e);
    assert_int_equal(f.n_groups, 2);
    assert_true(str_eq(f.groups[0].name, STR("main")));
    assert_true(f.groups[0].share > 0.699 && f.groups[0].share < 0.701);
    assert_true(str_eq(f.groups[1].name, STR("github.com/x/io")));
    assert_int_not_equal(f.groups[0].hue, f.groups[1].hue);
    unsigned hue, shade;
    flame_shade(&f, 0, &hue, &shade);
    assert_int_equal(hue, PALETTE_GREY);
    arena_free(&x.a);
}

static void check_numbers(const flame *f, uint32_t node, const char *want)
{
    buf b = {0};
    flame_numbers(f, node, &b);
    buf_putc(&b, '\0');
    assert_string_equal(b.p, want);
    buf_free(&b);
}

static void test_numbers(void **state)
{
    (void)state;
    example x;
    err e = {0};
    flame f;
    begin(&x);
    tree t = grow(&x, plain, ARRAY_LEN(plain));
    assert_ok(flame_of(&t, &(flame_opts){.unit = STR("ns")}, &x.a, &f, &e), &e);
    check_numbers(&f, 0, "1 us");
    check_numbers(&f, 1, "1 us · 100 % · self 10 ns (1.0 %)");
    check_numbers(&f, 2, "600 ns · 60.0 % · self 600 ns");
    arena_free(&x.a);
}

/* Totals of 100 and 200: `gone` vanished, `fresh` is new, `same` keeps its share. */
static void test_compared(void **state)
{
    (void)state;
    static const branch before[] = {
        {NULL, 0, 0}, {"work", 0, 60}, {"gone", 1, 20}, {"same", 0, 20}};
    static const branch after[] = {
        {NULL, 0, 0}, {"work", 0, 40}, {"fresh", 1, 120}, {"same", 0, 40}};
    static const branch both[] = {
        {NULL, 0, 0}, {"work", 0, 100}, {"gone", 1, 20}, {"fresh", 1, 120}, {"same", 0, 60}};
    example x;
    err e = {0};
    flame f;
    begin(&x);
    tree all = grow(&x, both, ARRAY_LEN(both)), a = grow(&x, before, ARRAY_LEN(before)),
         b = grow(&x, after, ARRAY_LEN(after));
    flame_opts o = {.color = FLAME_DIFF, .before = &a, .after = &b};
    assert_ok(flame_of(&all, &o, &x.a, &f, &e), &e);
    assert_true(f.size[0] == 1.0 && f.size[4] == 0.2);
    assert_int_equal(flame_step(&f, 2), -PALETTE_DIFF);
    assert_int_equal(flame_step(&f, 3), PALETTE_DIFF);
    assert_int_equal(flame_step(&f, 4), 0);
    assert_int_equal(flame_step(&f, 0), 0);
    check_numbers(&f, 2, "before 20 (20.0 %), after 0 (0 %), -20.00 points");
    check_numbers(&f, 4, "before 20 (20.0 %), after 40 (20.0 %), +0.00 points");
    arena_free(&x.a);
}

static void draw(example *x, const tree *t, const flame_opts *o, const flame_svg_opts *so, buf *out)
{
    err e = {0};
    flame f;
    assert_ok(flame_of(t, o, &x->a, &f, &e), &e);
    assert_ok(flame_svg(&f, so, &x->a, out, &e), &e);
    buf_putc(out, '\0');
}

static void test_hostile_names(void **state)
{
    (void)state;
    static const branch hostile[] = {{NULL, 0, 0},
                                     {"</title><script>alert(1)</script>", 0, 1},
                                     {"]]>&\"'\x01\x1b[2J\xff\xc2\x85", 0, 1},
                                     {"two\nlines", 0, 1},
                                     {"\xef\xbf\xbf", 0, 1}};
    example x;
    buf b = {0};
    begin(&x);
    tree t = grow(&x, hostile, ARRAY_LEN(hostile));
    draw(&x, &t, &(flame_opts){.title = STR("<&>")}, &(flame_svg_opts){0}, &b);
    assert_null(strstr(b.p, "<script>alert"));
    assert_non_null(strstr(b.p, "&lt;/title&gt;&lt;script&gt;alert(1)"));
    assert_non_null(
        strstr(b.p, "]]&gt;&amp;&quot;'\xef\xbf\xbd\xef\xbf\xbd[2J\xef\xbf\xbd\xef\xbf\xbd"));
    assert_non_null(strstr(b.p, "two lines"));
    assert_non_null(strstr(b.p, "<title>&lt;&amp;&gt;</title>"));
    buf_free(&b);
    arena_free(&x.a);
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, what)); p++) n++;
    return n;
}

static void test_omitted_frames_are_counted(void **state)
{
    (void)state;
    static const branch narrow[] = {
        {NULL, 0, 0}, {"wide", 0, 100000}, {"thin", 0, 1}, {"thinner", 2, 1}};
    example x;
    buf b = {0};
    begin(&x);
    tree t = grow(&x, narrow, ARRAY_LEN(narrow));
    draw(&x, &t, &(flame_opts){0}, &(flame_svg_opts){0}, &b);
    assert_int_equal(count(b.p, "<g class=\"c"), 2);
    assert_non_null(strstr(b.p, ">2 frames; 2 narrower than 0.1 px not drawn<"));
    buf_free(&b);
    draw(&x, &t, &(flame_opts){0}, &(flame_svg_opts){.least = 0.001}, &b);
    assert_int_equal(count(b.p, "<g class=\"c"), 4);
    assert_non_null(strstr(b.p, ">4 frames<"));
    buf_free(&b);
    arena_free(&x.a);
}

static void test_negative_and_empty(void **state)
{
    (void)state;
    static const branch freed[] = {{NULL, 0, 0}, {"freed", 0, -75}, {"kept", 0, 25}};
    example x;
    buf b = {0};
    begin(&x);
    tree t = grow(&x, freed, ARRAY_LEN(freed));
    draw(&x, &t, &(flame_opts){0}, &(flame_svg_opts){0}, &b);
    assert_non_null(strstr(b.p, "widths are absolute values"));
    assert_non_null(strstr(b.p, "<rect x=\"12\" y=\"84\" width=\"881.2\""));
    buf_free(&b);
    arena_free(&x.a);
    begin(&x);
    t = grow(&x, plain, 1);
    draw(&x, &t, &(flame_opts){0}, &(flame_svg_opts){0}, &b);
    assert_int_equal(count(b.p, "<g class=\"c"), 0);
    buf_free(&b);
    arena_free(&x.a);
}

static void test_same_bytes(void **state)
{
    (void)state;
    example x;
    buf one = {0}, two = {0};
    begin(&x);
    tree t = grow(&x, plain, ARRAY_LEN(plain));
    draw(&x, &t, &(flame_opts){.title = STR("t")}, &(flame_svg_opts){0}, &one);
    draw(&x, &t, &(flame_opts){.title = STR("t")}, &(flame_svg_opts){0}, &two);
    assert_true(str_eq(buf_view(&one), buf_view(&two)));
    buf_free(&one);
    buf_free(&two);
    arena_free(&x.a);
}

static void term(example *x, const tree *t, const flame_opts *o, size_t width, term_color i,
                 buf *out)
{
    err e = {0};
    flame f;
    assert_ok(flame_of(t, o, &x->a, &f, &e), &e);
    assert_ok(flame_term(&f, &(flame_term_opts){.width = width, .term_color = i}, &x->a, out, &e),
              &e);
    buf_putc(out, '\0');
}

static void test_terminal(void **state)
{
    (void)state;
    static const branch tall[] = {{NULL, 0, 0},
                                  {"main.main", 0, 10},
                                  {"main.work", 1, 500},
                                  {"java.util.HashMap.put", 1, 390},
                                  {"日本語日本語日本語", 3, 90},
                                  {"thin", 0, 1}};
    example x;
    buf b = {0};
    begin(&x);
    tree t = grow(&x, tall, ARRAY_LEN(tall));
    term(&x, &t, &(flame_opts){.unit = STR("ns")}, 40, TERM_COLOR_NONE, &b);
    assert_string_equal(b.p, "│all 991 ns\n"
                             "│main.main 99.9 %\n"
                             "│main.work 50.5 %   │HashMap.put 48.4 %\n"
                             "                    │日…│\n"
                             "1 frame narrower than a column not drawn\n");
    buf_free(&b);
    term(&x, &t, &(flame_opts){.unit = STR("ns")}, 40, TERM_COLOR_RGB, &b);
    assert_non_null(
        strstr(b.p, "\033[48;2;217;213;208m\033[38;2;80;83;87m▏\033[38;2;28;30;33mall"));
    assert_non_null(strstr(b.p, " java.util 39.4 %  "));
    buf_free(&b);
    term(&x, &t, &(flame_opts){.unit = STR("ns")}, 40, TERM_COLOR_256, &b);
    assert_non_null(strstr(b.p, "\033[48;5;"));
    assert_null(strstr(b.p, ";2;"));
    buf_free(&b);
    arena_free(&x.a);
}

/* A million nodes, as one long chain and as a fan: no recursion, no quadratic cost. */
static void test_large(void **state)
{
    (void)state;
    enum { N = 1000000 };
    branch *n = calloc(N, sizeof *n);
    assert_non_null(n);
    for (uint32_t i = 1; i < N; i++)
        n[i] = (branch){i % 2 ? "even" : "odd", i < N / 2 ? i - 1 : N / 4, 1};
    example x;
    buf b = {0};
    begin(&x);
    tree t = grow(&x, n, N);
    draw(&x, &t, &(flame_opts){0}, &(flame_svg_opts){0}, &b);
    assert_true(b.n > 1000000);
    buf_free(&b);
    arena_free(&x.a);
    free(n);
}

static void test_budget(void **state)
{
    (void)state;
    example x;
    begin(&x);
    tree t = grow(&x, plain, ARRAY_LEN(plain));
    bool done = false;
    for (size_t budget = 16; !done && budget < 64 * 1024; budget += 16) {
        arena a = {.budget = budget};
        err e = {0};
        flame f;
        buf b = {0};
        done = flame_of(&t, &(flame_opts){0}, &a, &f, &e) &&
               flame_svg(&f, &(flame_svg_opts){0}, &a, &b, &e);
        assert_true(done || err_exhausted(&e));
        buf_free(&b);
        arena_free(&a);
    }
    assert_true(done);
    arena_free(&x.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_and_walk),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_compared),
        cmocka_unit_test(test_hostile_names),
        cmocka_unit_test(test_omitted_frames_are_counted),
        cmocka_unit_test(test_negative_and_empty),
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_terminal),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
