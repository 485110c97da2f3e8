/* Decodes items ahead of compaction (embedded_ahead.h): a ring of slots, each with an item, an
 * arena and a job. Slots are consumed in order, even if their job has not finished. */
#include "store/embedded_ahead.h"

#include <stdlib.h>
#include "wire/otlp.h"
#include "base/ban.h"

enum { PLACES = 8 };
enum { DECODED = 5 }; /* bytes of memory per byte of an item, for its decoded form and its hashes */

typedef struct place {
    worker_job job;
    uint64_t seq, seed;
    buf bytes;
    arena a;
    model m;
    const known_hashes *hashes; /* NULL: it could not be decoded here */
} place;

struct ahead {
    workers *workers;
    size_t max_bytes; /* size of the largest item that fits a slot */
    ahead_take *take;
    void *ctx;
    size_t n_put, n_taken; /* since it was opened */
    place v[PLACES];
};

ahead *ahead_open(workers *c, size_t memory, uint64_t seed, ahead_take *take, void *ctx)
{
    ahead *x = calloc(1, sizeof *x);
    if (!x) return NULL;
    x->workers = c;
    x->max_bytes = memory / PLACES / (1 + DECODED);
    x->take = take;
    x->ctx = ctx;
    for (size_t i = 0; i < PLACES; i++) {
        x->v[i].seed = x->v[i].a.seed = seed;
        x->v[i].a.budget = x->max_bytes * DECODED;
    }
    return x;
}

void ahead_close(ahead *x)
{
    if (!x) return;
    for (; x->n_taken < x->n_put; x->n_taken++)
        workers_finish(x->workers, &x->v[x->n_taken % PLACES].job);
    for (size_t i = 0; i < PLACES; i++) {
        buf_free(&x->v[i].bytes);
        arena_free(&x->v[i].a);
    }
    free(x);
}

/* Decodes an item in a worker. An item that fails here is decoded again when it is added; that
 * reports the reason. */
static void decode(void *ctx)
{
    place *p = ctx;
    item i;
    err e = {0};
    p->hashes = NULL;
    arena_reset(&p->a);
    if (take_item(buf_view(&p->bytes), &i) &&
        otlp_decode(i.bytes.p, i.bytes.n, &(otlp_decode_opts){.layout = i.layout}, &p->a, &p->m,
                    &e))
        p->hashes = known_hash(p->seed, &p->m, &p->a);
}

static bool take_oldest(ahead *x, err *e)
{
    place *p = &x->v[x->n_taken++ % PLACES];
    workers_finish(x->workers, &p->job);
    return x->take(x->ctx,
                   &(ahead_item){.seq = p->seq,
                                 .bytes = buf_view(&p->bytes),
                                 .m = p->hashes ? &p->m : NULL,
                                 .hashes = p->hashes},
                   e);
}

bool ahead_drain(ahead *x, err *e)
{
    while (x->n_taken < x->n_put)
        if (!take_oldest(x, e)) return false;
    return true;
}

bool ahead_put(ahead *x, uint64_t seq, str bytes, err *e)
{
    if (bytes.n > x->max_bytes)
        return ahead_drain(x, e) && x->take(x->ctx, &(ahead_item){.seq = seq, .bytes = bytes}, e);
    if (x->n_put - x->n_taken == PLACES && !take_oldest(x, e)) return false;
    place *p = &x->v[x->n_put % PLACES];
    p->seq = seq;
    p->job = (worker_job){.run = decode, .ctx = p};
    buf_reset(&p->bytes);
    buf_put(&p->bytes, bytes.p, bytes.n);
    if (p->bytes.failed) return err_set(e, ERR_MEMORY, "no memory to read ahead");
    x->n_put++;
    workers_begin(x->workers, &p->job);
    return true;
}
