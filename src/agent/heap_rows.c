/* Computes the difference between the heap totals of two flushes, by stack. */
#include "agent/heap_rows.h"

#include "base/ban.h"

typedef struct taking {
    heap_past *past;
    arena *a;
    heap_rows *out;
    bool failed;
} taking;

/* A stack is identified by the 64-bit hash of its addresses; with only a few thousand stacks,
 * collisions are negligible. */
static heap_seen *seen_of(heap_past *p, const heap_entry *e)
{
    if (!hash_index_room(&p->index, &p->a)) return NULL;
    uint64_t key = hash_mix(hash_bytes(e->pcs, e->n * sizeof *e->pcs, 0), e->end);
    uint64_t h = hash_mix(key, p->index.seed);
    uint32_t i = hash_first(&p->index, h);
    for (uint32_t at; hash_next(&p->index, &i, h, &at); i++)
        if (p->v.v[at].key == key) return &p->v.v[at];
    heap_seen *s = vec_push(&p->a, &p->v);
    if (!s) return NULL;
    s->key = key;
    hash_put(&p->index, i, h, (uint32_t)(p->v.n - 1));
    return s;
}

static void take(void *ctx, const heap_entry *e)
{
    taking *t = ctx;
    heap_seen *s = seen_of(t->past, e);
    heap_row r = {.pcs = e->pcs,
                  .n = e->n,
                  .end = e->end,
                  .alloc_objects = e->alloc_objects - (s ? s->objects : 0),
                  .alloc_space = e->alloc_space - (s ? s->space : 0),
                  .inuse_objects = e->inuse_objects,
                  .inuse_space = e->inuse_space};
    if (s) s->objects = e->alloc_objects, s->space = e->alloc_space;
    t->failed |= !s;
    if (!s || (!r.alloc_objects && !r.alloc_space && !r.inuse_objects && !r.inuse_space)) return;
    heap_row *to = vec_push(t->a, &t->out->v);
    t->failed |= !to;
    if (to) *to = r;
}

bool heap_take(heap_past *past, const heap_for_agent *h, arena *a, heap_rows *out)
{
    taking t = {past, a, out, false};
    *out = (heap_rows){.interval = h->counts().interval};
    h->each(take, &t);
    return !t.failed;
}

void heap_forget(heap_past *past)
{
    arena_free(&past->a);
    *past = (heap_past){0};
}
