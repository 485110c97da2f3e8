/* Tests that the largest nodes of a tree are chosen, with all of their ancestors. */
#include "server/fit.h"

#include "../../support/test.h"

#include <stdlib.h>
#include <string.h>

enum { NODES = 400 };

typedef struct fixture {
    arena a;
    frame_table frames;
    tree t;
    uint64_t self[NODES];
} fixture;

/* Builds a random tree over 20 frames. */
static void grow(fixture *x, unsigned seed)
{
    err e = {0};
    *x = (fixture){0};
    assert_true(frame_table_init(&x->frames, BY_FUNCTION, &x->a, &e));
    for (int i = 0; i < 20; i++) {
        char name[8];
        uint32_t at;
        frame_parts p = {0};
        snprintf(name, sizeof name, "f%d", i);
        assert_true(frame_table_text(&x->frames, str_of(name), &p.name, &e));
        assert_true(frame_table_add(&x->frames, &p, &at, &e));
    }
    tree *t = &x->t;
    *t = (tree){.frames = &x->frames, .n = NODES};
    t->parent = arena_new(&x->a, uint32_t, NODES);
    t->frame = arena_new(&x->a, uint32_t, NODES);
    t->frame[0] = NO_FRAME;
    for (uint32_t i = 0; i < NODES; i++) {
        seed = seed * 1103515245 + 12345;
        x->self[i] = seed >> 16 & 0xff;
        if (i) t->parent[i] = (seed >> 8 & 0xffff) % i;
        if (i) t->frame[i] = (seed >> 4) % 20;
    }
}

static void test_fit(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed < 20; seed++) {
        for (size_t room = 0; room < 14000; room += 700) {
            fixture x;
            fitted f;
            err e = {0};
            grow(&x, seed);
            uint64_t size[NODES];
            for (size_t i = 0; i < NODES; i++) size[i] = x.self[i];
            for (size_t i = NODES; i-- > 1;) size[x.t.parent[i]] += size[i];
            fit_costs c = {.room = room, .node = 30, .frame = 10};
            assert_true(fit_tree(&x.t, x.self, NULL, &c, &x.a, &f, &e));
            assert_true(f.n >= 1 && f.node[0] == 0 && f.parent[0] == UINT32_MAX);
            assert_true(f.whole == (f.n == NODES));
            bool kept[NODES] = {false};
            size_t cost = f.n * 30;
            for (size_t i = 0; i < f.n_frames; i++)
                cost += 10 + frame_label(&x.frames, f.frames[i]).n;
            assert_true(f.n == 1 || cost <= room);
            uint64_t least = UINT64_MAX;
            for (size_t i = 0; i < f.n; i++) {
                kept[f.node[i]] = true;
                least = size[f.node[i]] < least ? size[f.node[i]] : least;
                if (!i) continue;
                assert_true(f.node[i] > f.node[i - 1]);
                assert_int_equal(f.node[f.parent[i]], x.t.parent[f.node[i]]);
                assert_int_equal(f.frames[f.frame[i]], x.t.frame[f.node[i]]);
            }
            for (size_t i = 0; i < NODES; i++) assert_true(kept[i] || size[i] <= least);
            arena_free(&x.a);
        }
    }
}

/* A chain of nodes without values of their own: all have the size of the leaf, and parents must
 * stay before their children, also when that size is 0. */
static void test_ties(void **state)
{
    enum { CHAIN = 12, FITS = 5 };
    (void)state;
    for (uint64_t leaf = 0; leaf <= 100; leaf += 100) {
        fixture x;
        fitted f;
        err e = {0};
        grow(&x, 1);
        x.t.n = CHAIN;
        memset(x.self, 0, sizeof x.self);
        x.self[CHAIN - 1] = leaf;
        for (uint32_t i = 1; i < CHAIN; i++) x.t.parent[i] = i - 1, x.t.frame[i] = 1;
        size_t label = 10 + frame_label(&x.frames, 1).n;
        fit_costs c = {.room = FITS * 30 + label, .node = 30, .frame = 10};
        assert_true(fit_tree(&x.t, x.self, NULL, &c, &x.a, &f, &e));
        assert_int_equal(f.n, FITS);
        assert_false(f.whole);
        for (uint32_t i = 0; i < FITS; i++) {
            assert_int_equal(f.node[i], i);
            assert_int_equal(f.parent[i], i ? i - 1 : UINT32_MAX);
        }
        arena_free(&x.a);
    }
}

/* Siblings of equal size: the first ones stay. */
static void test_equal_siblings(void **state)
{
    enum { NODES_HERE = 9, FITS = 4 };
    (void)state;
    fixture x;
    fitted f;
    err e = {0};
    grow(&x, 1);
    x.t.n = NODES_HERE;
    for (uint32_t i = 0; i < NODES_HERE; i++) x.self[i] = i ? 7 : 0;
    for (uint32_t i = 1; i < NODES_HERE; i++) x.t.parent[i] = 0, x.t.frame[i] = 1;
    fit_costs c = {.room = FITS * 30 + 10 + frame_label(&x.frames, 1).n, .node = 30, .frame = 10};
    assert_true(fit_tree(&x.t, x.self, NULL, &c, &x.a, &f, &e));
    assert_int_equal(f.n, FITS);
    for (uint32_t i = 0; i < FITS; i++) assert_int_equal(f.node[i], i);
    arena_free(&x.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fit), cmocka_unit_test(test_ties),
                                       cmocka_unit_test(test_equal_siblings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
