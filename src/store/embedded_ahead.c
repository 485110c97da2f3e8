#include "store/embedded_ahead.h"

#include <stdlib.h>
#include "wire/otlp.h"
#include "base/ban.h"

enum { PLACES = 8 };
enum { DECODED = 5 }; /* times the bytes of an item that its decoded form and its hashes may take */

typedef struct place {
    crew_job job;
    uint64_t seq, seed;
    buf bytes;
    arena a;
    model m;
    const known_hashes *hashes; /* NULL: it could not be decoded here */
} place;

struct ahead {
    crew *crew;
    size_t max_bytes; /* of an item */
    ahead_take *take;
    void *who;
    size_t n_put, n_taken; /* ever */
    place v[PLACES];
};

ahead *ahead_open(crew *c, size_t memory, uint64_t seed, ahead_take *take, void *who)
{
    ahead *x = calloc(1, sizeof *x);
    if (!x) return NULL;
    x->crew = c;
    x->max_bytes = memory / PLACES / (1 + DECODED);
    x->take = take;
    x->who = who;
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
        crew_finish(x->crew, &x->v[x->n_taken % PLACES].job);
    for (size_t i = 0; i < PLACES; i++) {
        buf_free(&x->v[i].bytes);
        arena_free(&x->v[i].a);
    }
    free(x);
}

/* Whoever adds the item finds out why it cannot be decoded. */
static void decode(void *who)
{
    place *p = who;
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
    crew_finish(x->crew, &p->job);
    return x->take(x->who,
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
        return ahead_drain(x, e) && x->take(x->who, &(ahead_item){.seq = seq, .bytes = bytes}, e);
    if (x->n_put - x->n_taken == PLACES && !take_oldest(x, e)) return false;
    place *p = &x->v[x->n_put % PLACES];
    p->seq = seq;
    p->job = (crew_job){.run = decode, .who = p};
    buf_reset(&p->bytes);
    buf_put(&p->bytes, bytes.p, bytes.n);
    if (p->bytes.failed) return err_set(e, ERR_LIMIT, "no memory to read ahead");
    x->n_put++;
    crew_begin(x->crew, &p->job);
    return true;
}
