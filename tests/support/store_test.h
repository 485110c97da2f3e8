/* tests/support/store_test.h - a store under test: a directory and a clock set by the test; can be
 * reopened. */
#pragma once
#include "store_models.h"

#define NOON (UINT64_C(1789000000) * NS_PER_S)
#define NOON_FILE "2026-09-10.0.db" /* the file for items that arrive at noon */

typedef store *store_opener(const char *dir, const embedded_opts *o, err *e);

typedef struct under_test {
    place p;
    store *s;
    embedded_opts o;
    store_opener *open;
    hand_world world;
} under_test;

static inline void on_log(void *ctx, store_event what, const char *text)
{
    (void)ctx;
    if (what) print_message("# %s\n", text);
}

static inline void reopen(under_test *t)
{
    err e = {0};
    store_close(t->s);
    t->s = t->open(t->p.dir, &t->o, &e);
    assert_ok(t->s != NULL, &e);
}

/* `o` NULL means the defaults without threads; `open` NULL means embedded_open. */
static inline under_test *begin(const embedded_opts *o, store_opener *open)
{
    under_test *t = calloc(1, sizeof *t);
    t->p = place_new();
    t->o = o ? *o : (embedded_opts){.no_threads = true};
    t->open = open ? open : embedded_open;
    if (!t->o.store.log) t->o.store.log = on_log;
    hand_world_init(&t->world, NOON);
    t->o.store.world = &t->world.w;
    reopen(t);
    return t;
}

static inline void end(under_test *t)
{
    store_close(t->s);
    place_free(&t->p);
    free(t);
}

static inline void compact(under_test *t)
{
    err e = {0};
    assert_ok(store_compact(t->s, &e), &e);
}
