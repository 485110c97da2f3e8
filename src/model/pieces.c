/* Splits a model into pieces of bounded size. The size of a piece is estimated from its columns
 * and stacks; model_gc then drops the dictionary entries that the piece does not use. */
#include "model/pieces.h"

#include "model/merge.h"
#include "base/ban.h"

typedef struct cutter {
    const model *m;
    size_t max_bytes;
    uint32_t *seen; /* by stack: the last piece that uses it */
    uint32_t piece; /* number of the current piece, from 1 */
    arena work;     /* memory of the current piece */
} cutter;

static size_t entries(const spans *s, size_t n)
{
    return s->off ? s->off[n] - s->off[0] : (size_t)s->stride * n;
}

/* Returns the bytes that the profile adds to the piece: its columns, and the stacks that no earlier
 * profile of the piece uses. */
static size_t weigh(cutter *x, const profile *p)
{
    const dict *d = &x->m->dict;
    size_t n = p->n_samples * (p->link ? 2 : 1) * sizeof *p->stack + p->original_payload.n +
               entries(&p->attr_span, p->n_samples) * sizeof(uint32_t) +
               entries(&p->value_span, p->n_samples) * sizeof(int64_t) +
               entries(&p->time_span, p->n_samples) * sizeof(uint64_t);
    for (size_t i = 0; i < p->n_samples; i++) {
        uint32_t *seen = &x->seen[p->stack[i]];
        if (*seen != x->piece) n += dict_stack(d, p->stack[i]).n * sizeof *d->frames.v;
        *seen = x->piece;
    }
    return n;
}

/* Returns the end of the piece that begins with profile `from`. */
static size_t end_of_piece(cutter *x, size_t from)
{
    size_t to = from, bytes = 0;
    x->piece++;
    while (to < x->m->profiles.n) {
        bytes += weigh(x, &x->m->profiles.v[to]);
        if (to > from && bytes > x->max_bytes) break;
        to++;
    }
    return to;
}

/* Adds the scopes of a resource that have a profile in [from, to). */
static void cut_scopes(const model *m, const resource *r, size_t from, size_t to, model *out)
{
    for (uint32_t i = r->first_scope; i < r->first_scope + r->n_scopes; i++) {
        const scope *s = &m->scopes.v[i];
        size_t first = s->first_profile > from ? s->first_profile : from,
               end = s->first_profile + s->n_profiles;
        if (end > to) end = to;
        if (first >= end) continue;
        scope *cut = &out->scopes.v[out->scopes.n];
        *cut = *s;
        cut->resource = (uint32_t)out->resources.n;
        cut->first_profile = (uint32_t)(first - from);
        cut->n_profiles = (uint32_t)(end - first);
        for (size_t k = first; k < end; k++)
            out->profiles.v[k - from].scope = (uint32_t)out->scopes.n;
        out->scopes.n++;
    }
}

/* Sets *out to a model of the profiles [from, to), which shares dictionary and columns with m. */
static bool cut(const model *m, size_t from, size_t to, arena *a, model *out)
{
    size_t n = to - from;
    *out = *m;
    out->resources.n = out->scopes.n = 0;
    out->resources.v = arena_new(a, resource, m->resources.n);
    out->scopes.v = arena_new(a, scope, m->scopes.n);
    out->profiles.v = arena_new(a, profile, n);
    if (!out->resources.v || !out->scopes.v || !out->profiles.v) return false;
    out->profiles.n = n;
    memcpy(out->profiles.v, m->profiles.v + from, n * sizeof *out->profiles.v);
    for (size_t i = 0; i < m->resources.n; i++) {
        uint32_t first = (uint32_t)out->scopes.n;
        cut_scopes(m, &m->resources.v[i], from, to, out);
        if (out->scopes.n == first) continue;
        resource *r = &out->resources.v[out->resources.n++];
        *r = m->resources.v[i];
        r->first_scope = first;
        r->n_scopes = (uint32_t)out->scopes.n - first;
    }
    return true;
}

static bool pass_piece(cutter *x, size_t from, size_t to, model_each *each, void *ctx, err *e)
{
    model run, piece;
    if (from == 0 && to == x->m->profiles.n) return each(ctx, x->m, e);
    bool ok = cut(x->m, from, to, &x->work, &run) || err_memory(e);
    ok = ok && model_gc(&run, &x->work, &piece, e) && each(ctx, &piece, e);
    arena_free(&x->work); /* freed, not reset: pieces differ in size */
    return ok;
}

bool model_pieces(const model *m, size_t max_bytes, arena *a, model_each *each, void *ctx, err *e)
{
    arena stacks = arena_beside(a);
    cutter x = {.m = m, .max_bytes = max_bytes, .work = arena_beside(a)};
    x.seen = arena_new(&stacks, uint32_t, dict_n_stacks(&m->dict) + 1);
    bool ok = x.seen || err_memory(e);
    for (size_t from = 0, to; ok && from < m->profiles.n; from = to) {
        to = end_of_piece(&x, from);
        ok = pass_piece(&x, from, to, each, ctx, e);
    }
    arena_free(&stacks);
    return ok;
}
