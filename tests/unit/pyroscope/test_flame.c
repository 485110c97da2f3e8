/* Flame graphs for Pyroscope's clients: levels, pruning, comparisons, encodings, limits.
 * e2e/pyroscope_flame decodes random graphs. */
#include "pyroscope/flame.h"

#include "wire/pb.h"
#include "../../support/test.h"

typedef struct branch {
    const char *name;
    uint32_t parent;
    int64_t self;
} branch;

typedef struct example {
    arena a;
    frame_table frames;
} example;

static void begin(example *x)
{
    err e = {0};
    *x = (example){0};
    assert_ok(frame_table_init(&x->frames, BY_FUNCTION, &x->a, &e), &e);
}

/* Builds a tree of these nodes; siblings are in the given order. */
static tree grow(example *x, const branch *n, size_t count)
{
    err e = {0};
    tree t = {.frames = &x->frames, .n = count};
    t.parent = arena_new(&x->a, uint32_t, count);
    t.frame = arena_new(&x->a, uint32_t, count);
    t.first_child = arena_new(&x->a, uint32_t, count);
    t.next_sibling = arena_new(&x->a, uint32_t, count);
    t.self = arena_new(&x->a, int64_t, count);
    t.total = arena_new(&x->a, int64_t, count);
    uint32_t *depth = arena_new(&x->a, uint32_t, count), *last = arena_new(&x->a, uint32_t, count);
    t.frame[0] = NO_FRAME;
    t.self[0] = n[0].self;
    for (uint32_t i = 1; i < count; i++) {
        uint32_t p = t.parent[i] = n[i].parent;
        frame_parts parts = {0};
        assert_ok(frame_table_text(&x->frames, str_of(n[i].name), &parts.name, &e), &e);
        assert_ok(frame_table_add(&x->frames, &parts, &t.frame[i], &e), &e);
        t.self[i] = n[i].self;
        *(last[p] ? &t.next_sibling[last[p]] : &t.first_child[p]) = i;
        last[p] = i;
        depth[i] = depth[p] + 1;
        if (depth[i] > t.max_depth) t.max_depth = depth[i];
    }
    for (size_t i = count; i--;) {
        if (ckd_add(&t.total[i], t.total[i], t.self[i])) t.total[i] = INT64_MAX;
        int64_t *up = &t.total[t.parent[i]];
        if (i && ckd_add(up, *up, t.total[i])) *up = INT64_MAX;
    }
    return t;
}

/* Writes "total a | 0 3 1 a | ..." with a line for each level. */
static void print(const pyro_flame *f, buf *b)
{
    size_t columns = f->diff ? PYRO_FLAME_DIFF_COLUMNS : PYRO_FLAME_COLUMNS;
    for (size_t d = 0; d < f->n_levels; d++) {
        for (size_t i = f->level[d]; i < f->level[d + 1]; i += columns) {
            if (i > f->level[d]) buf_z(b, ", ");
            for (size_t k = 0; k + 1 < columns; k++) buf_i64(b, f->values[i + k]), buf_putc(b, ' ');
            assert_true((uint64_t)f->values[i + columns - 1] < f->n_names);
            buf_str(b, f->names[f->values[i + columns - 1]]);
        }
        buf_putc(b, '\n');
    }
    buf_printf(b, "total %lld, max self %lld", (long long)f->total, (long long)f->max_self);
    if (f->diff)
        buf_printf(b, ", %lld and %lld", (long long)f->left_ticks, (long long)f->right_ticks);
    buf_putc(b, '\0');
}

static void expect(const pyro_flame *f, const char *want)
{
    buf b = {0};
    print(f, &b);
    assert_string_equal(b.p, want);
    assert_true(str_eq(f->names[0], STR("total")));
    buf_free(&b);
}

static const branch plain[] = {{NULL, 0, 0}, {"a", 0, 1}, {"b", 1, 3}, {"c", 1, 2}, {"d", 0, 4}};

static void test_levels(void **state)
{
    (void)state;
    example x;
    err e = {0};
    pyro_flame f;
    begin(&x);
    tree t = grow(&x, plain, ARRAY_LEN(plain));
    assert_ok(pyro_flame_of(&t, 0, &x.a, &f, &e), &e);
    expect(&f, "0 10 0 total\n0 6 1 a, 0 4 4 d\n1 3 3 b, 0 2 2 c\ntotal 10, max self 4");
    arena_free(&x.a);
}

static void test_shapes(void **state)
{
    (void)state;
    static const struct {
        branch v[8];
        size_t n;
        uint64_t max_nodes;
        const char *want;
    } cases[] = {
        {{{0}}, 1, 0, "0 0 0 total\ntotal 0, max self 0"},
        {{{NULL, 0, 5}}, 1, 0, "0 5 5 total\ntotal 5, max self 5"},
        {{{NULL, 0, 5}, {"a", 0, 2}}, 2, 0, "0 7 5 total\n5 2 2 a\ntotal 7, max self 5"},
        /* no box of width 0, also with children */
        {{{0}, {"a", 0, 0}, {"b", 0, 3}, {"c", 1, 0}},
         4,
         0,
         "0 3 0 total\n0 3 3 b\ntotal 3, max self 3"},
        /* a function may be called total or other */
        {{{0}, {"total", 0, 1}, {"total", 1, 2}},
         3,
         0,
         "0 3 0 total\n0 3 1 total\n1 2 2 total\ntotal 3, max self 2"},
        {{{0}, {"other", 0, 1}, {"x", 1, 2}, {"z", 0, 1}},
         4,
         0,
         "0 4 0 total\n0 1 1 z, 0 3 3 other\ntotal 4, max self 3"},
        /* the first level has room to the left of the second */
        {{{0}, {"a", 0, 9}, {"b", 0, 0}, {"c", 2, 1}},
         4,
         0,
         "0 10 0 total\n0 9 9 a, 0 1 0 b\n9 1 1 c\ntotal 10, max self 9"},
        /* pruned: ties stay */
        {{{0}, {"a", 0, 4}, {"b", 0, 3}, {"c", 0, 2}, {"d", 0, 2}, {"e", 0, 1}},
         6,
         3,
         "0 12 0 total\n0 4 4 a, 0 3 3 b, 0 2 2 c, 0 2 2 d, 0 1 1 other\ntotal 12, max self 4"},
        {{{0}, {"a", 0, 4}, {"b", 0, 3}, {"c", 0, 2}, {"d", 0, 2}, {"e", 0, 1}},
         6,
         5,
         "0 12 0 total\n0 4 4 a, 0 3 3 b, 0 2 2 c, 0 2 2 d, 0 1 1 e\ntotal 12, max self 4"},
        {{{0}, {"a", 0, 4}, {"b", 0, 3}, {"c", 0, 2}},
         4,
         1,
         "0 9 0 total\n0 4 4 a, 0 5 5 other\ntotal 9, max self 5"},
        /* each parent has its own; the values of whole subtrees are in it */
        {{{0}, {"a", 0, 5}, {"b", 1, 1}, {"c", 1, 2}, {"d", 0, 6}, {"e", 4, 1}, {"f", 5, 1}},
         7,
         2,
         "0 16 0 total\n0 8 5 a, 0 8 6 d\n5 3 3 other, 6 2 2 other\ntotal 16, max self 6"},
        /* with a child of that name */
        {{{0}, {"a", 0, 5}, {"b", 0, 1}, {"other", 0, 7}, {"x", 3, 9}, {"z", 0, 8}},
         6,
         3,
         "0 30 0 total\n0 8 8 z, 0 22 22 other\ntotal 30, max self 22"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        example x;
        err e = {0};
        pyro_flame f;
        begin(&x);
        tree t = grow(&x, cases[i].v, cases[i].n);
        assert_ok(pyro_flame_of(&t, cases[i].max_nodes, &x.a, &f, &e), &e);
        expect(&f, cases[i].want);
        arena_free(&x.a);
    }
}

static void test_diff(void **state)
{
    (void)state;
    static const branch all[] = {{NULL, 0, 0}, {"a", 0, 3}, {"b", 1, 5},
                                 {"c", 1, 1},  {"d", 0, 4}, {"e", 4, 6}};
    static const branch left[] = {{NULL, 0, 0}, {"a", 0, 3}, {"b", 1, 5}, {"c", 1, 1}};
    static const branch right[] = {{NULL, 0, 0}, {"d", 0, 4}, {"e", 1, 6}, {"a", 0, 0}};
    example x;
    err e = {0};
    pyro_flame f;
    begin(&x);
    tree t = grow(&x, all, ARRAY_LEN(all)), l = grow(&x, left, ARRAY_LEN(left)),
         r = grow(&x, right, ARRAY_LEN(right));
    assert_ok(pyro_flame_diff_of(&t, &l, &r, 0, &x.a, &f, &e), &e);
    expect(&f, "0 9 0 0 10 0 total\n"
               "0 9 3 0 0 0 a, 0 0 0 0 10 4 d\n"
               "3 5 5 0 0 0 b, 0 1 1 0 0 0 c, 0 0 0 4 6 6 e\n"
               "total 19, max self 6, 9 and 10");
    assert_ok(pyro_flame_diff_of(&t, &l, &r, 3, &x.a, &f, &e), &e);
    expect(&f, "0 9 0 0 10 0 total\n"
               "0 9 3 0 0 0 a, 0 0 0 0 10 4 d\n"
               "3 6 6 0 0 0 other, 0 0 0 4 6 6 e\n"
               "total 19, max self 6, 9 and 10");
    /* one side is empty */
    tree none = grow(&x, left, 1);
    assert_ok(pyro_flame_diff_of(&l, &l, &none, 0, &x.a, &f, &e), &e);
    expect(&f, "0 9 0 0 0 0 total\n0 9 3 0 0 0 a\n3 5 5 0 0 0 b, 0 1 1 0 0 0 c\n"
               "total 9, max self 5, 9 and 0");
    arena_free(&x.a);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        branch v[4];
        size_t n;
        err_code code;
    } cases[] = {
        {{{0}, {"a", 0, -1}}, 2, ERR_MISMATCH},
        {{{0}, {"a", 0, 3}, {"b", 0, -1}}, 3, ERR_MISMATCH},
        {{{0}, {"a", 0, INT64_MAX}, {"b", 0, 1}}, 3, ERR_LIMIT},
        {{{0}, {"a", 0, INT64_MAX}}, 2, ERR_OK},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        example x;
        err e = {0};
        pyro_flame f;
        begin(&x);
        tree t = grow(&x, cases[i].v, cases[i].n);
        assert_int_equal(pyro_flame_of(&t, 0, &x.a, &f, &e), cases[i].code == ERR_OK);
        assert_int_equal(e.code, cases[i].code);
        arena_free(&x.a);
    }
    /* the sum of both sides */
    example x;
    err e = {0};
    pyro_flame f;
    begin(&x);
    tree t = grow(&x, cases[3].v, 2);
    assert_false(pyro_flame_diff_of(&t, &t, &t, 0, &x.a, &f, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    arena_free(&x.a);
}

/* The k-th largest size is exact for values of all lengths. */
static void test_threshold(void **state)
{
    (void)state;
    static branch v[64] = {{0}};
    static char names[64][4];
    for (uint32_t i = 1; i < ARRAY_LEN(v); i++) {
        snprintf(names[i], sizeof names[i], "f%02u", i);
        v[i] = (branch){names[i], 0, (int64_t)1 << (i * 5 % 57)};
    }
    for (uint64_t k = 1; k < ARRAY_LEN(v); k++) {
        example x;
        err e = {0};
        pyro_flame f;
        begin(&x);
        tree t = grow(&x, v, ARRAY_LEN(v));
        assert_ok(pyro_flame_of(&t, k, &x.a, &f, &e), &e);
        const int64_t *box = f.values + f.level[1];
        size_t boxes = (f.level[2] - f.level[1]) / PYRO_FLAME_COLUMNS, larger = 0;
        int64_t least = INT64_MAX;
        if (str_eq(f.names[f.values[f.level[2] - 1]], STR("other"))) boxes--;
        for (size_t i = 0; i < boxes; i++)
            if (box[i * PYRO_FLAME_COLUMNS + 1] < least) least = box[i * PYRO_FLAME_COLUMNS + 1];
        for (size_t i = 1; i < ARRAY_LEN(v); i++) larger += v[i].self > least;
        assert_true(larger < k); /* the smallest kept node is the k-th, or equal to it */
        assert_true(boxes >= k);
        arena_free(&x.a);
    }
}

static void test_bytes(void **state)
{
    (void)state;
    static const char want[] = "\x0a\x05"
                               "total\x0a\x01"
                               "a\x0a\x01"
                               "b\x0a\x01"
                               "c\x0a\x01"
                               "d"
                               "\x12\x06\x0a\x04\x00\x0a\x00\x00"
                               "\x12\x0a\x0a\x08\x00\x06\x01\x01\x00\x04\x04\x04"
                               "\x12\x0a\x0a\x08\x01\x03\x03\x02\x00\x02\x02\x03"
                               "\x18\x0a\x20\x04";
    example x;
    err e = {0};
    pyro_flame f;
    buf b = {0};
    begin(&x);
    tree t = grow(&x, plain, ARRAY_LEN(plain));
    assert_ok(pyro_flame_of(&t, 0, &x.a, &f, &e), &e);
    pyro_flame_put(&f, &b);
    assert_int_equal(b.n, sizeof want - 1);
    assert_memory_equal(b.p, want, b.n);
    /* the last child first */
    static const char tree_want[] = "\0\0\2"
                                    "\1d\4\0"
                                    "\1a\1\2"
                                    "\1c\2\0"
                                    "\1b\3\0";
    buf_reset(&b);
    assert_ok(pyro_tree_put(&t, 0, &x.a, &b, &e), &e);
    assert_int_equal(b.n, sizeof tree_want - 1);
    assert_memory_equal(b.p, tree_want, b.n);
    tree none = grow(&x, plain, 1);
    buf_reset(&b);
    assert_ok(pyro_tree_put(&none, 0, &x.a, &b, &e), &e);
    assert_int_equal(b.n, 0);
    buf_free(&b);
    arena_free(&x.a);
}

/* "other" has its place in the order of the names. */
static void test_tree_other(void **state)
{
    (void)state;
    static const branch v[] = {{0}, {"a", 0, 1}, {"b", 0, 5}, {"other", 0, 1}, {"p", 0, 6}};
    static const char want[] = "\0\0\3"
                               "\1p\6\0"
                               "\5other\2\0"
                               "\1b\5\0";
    example x;
    err e = {0};
    buf b = {0};
    begin(&x);
    tree t = grow(&x, v, ARRAY_LEN(v));
    assert_ok(pyro_tree_put(&t, 2, &x.a, &b, &e), &e);
    assert_int_equal(b.n, sizeof want - 1);
    assert_memory_equal(b.p, want, b.n);
    buf_free(&b);
    arena_free(&x.a);
}

static void test_json(void **state)
{
    (void)state;
    static const int64_t samples[] = {0, 7};
    static const pyro_timeline times = {STR("x\"y"), 1700000000, 15, samples, 2};
    example x;
    err e = {0};
    pyro_flame f;
    buf b = {0};
    begin(&x);
    tree t = grow(&x, plain, ARRAY_LEN(plain));
    assert_ok(pyro_flame_of(&t, 0, &x.a, &f, &e), &e);
    pyro_flamebearer o = {.flame = &f, .type = {.type = STR("cpu"), .unit = STR("nanoseconds")}};
    pyro_flamebearer_put(&o, &b);
    buf_putc(&b, '\0');
    assert_string_equal(
        b.p, "{\"version\":1,\"flamebearer\":{\"names\":[\"total\",\"a\",\"b\",\"c\",\"d\"],"
             "\"levels\":[[0,10,0,0],[0,6,1,1,0,4,4,4],[1,3,3,2,0,2,2,3]],"
             "\"numTicks\":10,\"maxSelf\":4},"
             "\"metadata\":{\"format\":\"single\",\"spyName\":\"\",\"sampleRate\":1000000000,"
             "\"units\":\"samples\",\"name\":\"cpu\"},"
             "\"timeline\":null,\"groups\":null,\"heatmap\":null}");
    buf_reset(&b);
    assert_ok(pyro_flame_diff_of(&t, &t, &t, 1, &x.a, &f, &e), &e);
    o = (pyro_flamebearer){.flame = &f,
                           .type = {.type = STR("alloc_objects"), .unit = STR("count")},
                           .timeline = &times,
                           .groups = &times,
                           .n_groups = 1,
                           .partial = STR("the \"limit\"")};
    pyro_flamebearer_put(&o, &b);
    buf_putc(&b, '\0');
    assert_string_equal(
        b.p, "{\"version\":1,\"flamebearer\":{\"names\":[\"total\",\"a\",\"other\"],"
             "\"levels\":[[0,10,0,0,10,0,0],[0,6,1,0,6,1,1,0,4,4,0,4,4,2],[1,5,5,1,5,5,2]],"
             "\"numTicks\":20,\"maxSelf\":5},"
             "\"metadata\":{\"format\":\"double\",\"spyName\":\"\",\"sampleRate\":100,"
             "\"units\":\"objects\",\"name\":\"alloc_objects\"},"
             "\"timeline\":{\"startTime\":1700000000,\"samples\":[0,7],\"durationDelta\":15,"
             "\"watermarks\":null},"
             "\"groups\":{\"x\\\"y\":{\"startTime\":1700000000,\"samples\":[0,7],"
             "\"durationDelta\":15,\"watermarks\":null}},\"heatmap\":null,"
             "\"leftTicks\":10,\"rightTicks\":10,\"kiln_partial\":\"the \\\"limit\\\"\"}");
    buf_free(&b);
    arena_free(&x.a);
}

static void test_memory(void **state)
{
    (void)state;
    example x;
    begin(&x);
    tree t = grow(&x, plain, ARRAY_LEN(plain));
    bool done = false;
    for (size_t budget = 16; budget < 64 * 1024 && !done; budget += 16) {
        arena a = {.budget = budget};
        err e = {0};
        pyro_flame f;
        buf b = {0};
        done = pyro_flame_of(&t, 2, &a, &f, &e) && pyro_flame_diff_of(&t, &t, &t, 2, &a, &f, &e) &&
               pyro_tree_put(&t, 2, &a, &b, &e);
        assert_true(done || e.code == ERR_MEMORY);
        buf_free(&b);
        arena_free(&a);
    }
    assert_true(done);
    /* a buffer with a limit fails, and stays within it */
    arena a = {0};
    err e = {0};
    pyro_flame f;
    buf b = {.limit = 20};
    assert_ok(pyro_flame_of(&t, 0, &a, &f, &e), &e);
    pyro_flame_put(&f, &b);
    assert_true(b.failed && b.n <= 20);
    buf_free(&b);
    arena_free(&a);
    arena_free(&x.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels),     cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_diff),       cmocka_unit_test(test_refused),
        cmocka_unit_test(test_threshold),  cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_tree_other), cmocka_unit_test(test_json),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
