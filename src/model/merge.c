/* Merges models: copies or joins their profiles through importers into one builder. The canonical
 * order needs a model without duplicates, so several inputs are merged first and reordered in a
 * second pass. */
#include "model/merge.h"

#include "model/executable.h"
#include "model/internal.h"

#include "base/ban.h"

/* ---- profiles ---- */

int merge_by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static bool copy_samples(merger *x, importer *r, const profile *p)
{
    u32s attrs = {0};
    uint64_t *order = NULL;
    if (x->rank && !merge_sample_order(p, x->rank, x->n_ranks, x->a, &order)) return false;
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(r->m, p, order ? (uint32_t)order[i] : i);
        s.stack = importer_stack(r, s.stack);
        s.link = importer_link(r, s.link);
        attrs.n = 0;
        if (!vec_reserve(x->a, &attrs, s.n_attrs)) return false;
        for (uint32_t k = 0; k < s.n_attrs; k++) attrs.v[k] = importer_attribute(r, s.attrs[k]);
        /* Attribute sets of joined samples are sorted by their new indices, so that merging
         * again changes nothing. */
        if (x->rank && x->o.join && s.n_attrs > 1)
            qsort(attrs.v, s.n_attrs, sizeof *attrs.v, merge_by_number);
        s.attrs = attrs.v;
        builder_sample(&x->b, &s);
    }
    return true;
}

static bool merge_apart(merger *x)
{
    for (size_t i = 0; i < x->n; i++) {
        const model *m = x->in[i].m;
        for (size_t r = 0; r < m->resources.n; r++) {
            const resource *res = &m->resources.v[r];
            builder_resource(&x->b, res);
            for (uint32_t s = res->first_scope; s < res->first_scope + res->n_scopes; s++) {
                const scope *sc = &m->scopes.v[s];
                builder_scope(&x->b, sc);
                for (uint32_t k = sc->first_profile; k < sc->first_profile + sc->n_profiles; k++) {
                    importer_profile_head(&x->in[i], &m->profiles.v[k]);
                    if (!copy_samples(x, &x->in[i], &m->profiles.v[k])) return false;
                }
            }
        }
    }
    return true;
}

/* Returns the main binary of an input by the order of its mappings (as in pprof): the first used
 * mapping; 0 if none is used. When profiles are joined, the first mapping stays even if no location
 * uses it, as in Go's merge. */
static uint32_t main_of(merger *x, importer *g)
{
    size_t n = g->m->dict.mappings.n;
    if (x->o.join && n > 1) return importer_mapping(g, 1);
    for (size_t i = 1; i < n; i++)
        if (g->mapping[i]) return g->mapping[i] - 1;
    return 0;
}

/* Moves main binaries before other mappings, and executables that resources name to the front. */
static bool finish(merger *x, bool ok, model *out, err *e)
{
    uint32_t first[MODEL_EXECUTABLES];
    size_t n = 0;
    for (; ok && n < x->n && n < MODEL_EXECUTABLES; n++) first[n] = main_of(x, &x->in[n]);
    if (!ok) x->b.failed = true;
    if (!builder_finish(&x->b, out, e)) return false;
    model_mappings_first(out, first, n);
    model_executables_first(out);
    return true;
}

static bool merge_into(const model *const *in, size_t n, const merge_opts *o, arena *a, arena *work,
                       model *out, err *e)
{
    merger x = {.a = work, .n = n, .o = *o};
    bool ok = builder_init(&x.b, a) && (x.in = arena_new(work, importer, n));
    x.b.borrow = !o->copy_strings;
    for (size_t i = 0; ok && i < n; i++) ok = importer_init(&x.in[i], &x.b, in[i], work);
    ok = ok && (o->join ? merge_joined(&x) : merge_apart(&x));
    return finish(&x, ok, out, e);
}

/* Copies one model in canonical order. Its stacks are imported first, in that order, which numbers
 * locations, functions and strings. */
static bool reorder(const model *m, const merge_opts *o, arena *a, arena *work, model *out, err *e)
{
    merger x = {.a = work, .n = 1, .o = *o};
    uint32_t *order = NULL;
    bool ok = builder_init(&x.b, a) && (x.in = arena_new(work, importer, 1)) &&
              importer_init(&x.in[0], &x.b, m, work) &&
              merge_stack_order(m, work, &x.rank, &order, &x.n_ranks);
    x.b.borrow = !o->copy_strings;
    for (size_t i = 0; ok && i < x.n_ranks; i++) importer_stack(&x.in[0], order[i]);
    ok = ok && merge_apart(&x);
    return finish(&x, ok, out, e);
}

bool model_merge(const model *const *in, size_t n, const merge_opts *o, arena *a, model *out,
                 err *e)
{
    static const merge_opts defaults;
    if (!o) o = &defaults;
    arena work = arena_beside(a), first = arena_beside(a);
    bool ok;
    if (o->canonical && n == 1 && !o->join) {
        ok = reorder(in[0], o, a, &work, out, e);
    } else if (o->canonical) {
        model joined;
        ok = merge_into(in, n, o, &first, &work, &joined, e);
        arena_reset(&work);
        ok = ok && reorder(&joined, o, a, &work, out, e);
    } else {
        ok = merge_into(in, n, o, a, &work, out, e);
    }
    arena_free(&first);
    arena_free(&work);
    return ok;
}

bool model_gc(const model *in, arena *a, model *out, err *e)
{
    return model_merge(&in, 1, NULL, a, out, e);
}
