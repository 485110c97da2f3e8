/* Which nodes of a tree fit: the largest, with all above them. */
#include "server/fit.h"

#include "../../support/test.h"

#include <stdlib.h>

enum { NODES = 400 };

typedef struct fixture {
    arena a;
    frame_table frames;
    tree t;
    uint64_t self[NODES];
} fixture;

/* A random tree over 20 frames; some values are below zero. */
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
            assert_true(fit_tree(&x.t, x.self, &c, &x.a, &f, &e));
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
