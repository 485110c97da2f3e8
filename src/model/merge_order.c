/* The canonical order of stacks and samples. It depends only on the content of a model, so that
 * equal profiles have equal bytes. */
#include "model/internal.h"

#include "base/ban.h"

/* ---- canonical order: stacks sorted from the root, so that neighbours share callers ----
 *
 * Locations compare by a hash of their content, so the order does not depend on their numbers in
 * the input, and sorting twice changes nothing. The hash has no seed because it determines the
 * output. */

static uint64_t hash_string(const dict *d, uint32_t i, uint64_t h)
{
    return hash_bytes(d->strings.v[i].p, d->strings.v[i].n, h);
}

static uint64_t hash_attrs(const dict *d, span s, uint64_t h)
{
    for (uint32_t k = 0; k < s.n; k++) {
        const attribute *t = &d->attributes.v[d->attr_refs.v[s.at + k]];
        h = builder_hash_any(&t->value, hash_string(d, t->key, hash_string(d, t->unit, h)));
    }
    return hash_mix(h, s.n);
}

static uint64_t hash_location(const dict *d, const location *l)
{
    const mapping *m = &d->mappings.v[l->mapping];
    uint64_t h = hash_mix(hash_mix(l->address, m->memory_start), m->memory_limit);
    h = hash_mix(h, m->file_offset);
    h = hash_attrs(d, l->attrs, hash_attrs(d, m->attrs, hash_string(d, m->filename, h)));
    for (uint32_t k = 0; k < l->lines.n; k++) {
        const line *n = &d->lines.v[l->lines.at + k];
        const function *f = &d->functions.v[n->function];
        h = hash_mix(hash_mix(h, (uint64_t)n->line), (uint64_t)n->column);
        h = hash_string(d, f->name, hash_string(d, f->system_name, h));
        h = hash_mix(hash_string(d, f->filename, h), (uint64_t)f->start_line);
    }
    return h;
}

typedef struct stack_ref {
    const uint32_t *frames; /* leaf first */
    const uint64_t *key;    /* per location */
    uint32_t n, index;
} stack_ref;

static int cmp_root(const stack_ref *x, const stack_ref *y)
{
    uint32_t n = x->n < y->n ? x->n : y->n;
    for (uint32_t i = 1; i <= n; i++) {
        uint32_t l = x->frames[x->n - i], r = y->frames[y->n - i];
        if (l != r && x->key[l] != x->key[r]) return x->key[l] < x->key[r] ? -1 : 1;
    }
    return x->n < y->n ? -1 : x->n > y->n;
}

static int by_root(const void *a, const void *b)
{
    const stack_ref *x = a, *y = b;
    int d = cmp_root(x, y);
    return d ? d : x->index < y->index ? -1 : x->index > y->index;
}

/* rank[stack] is its position in canonical order (equal for equal stacks), order[] lists the
 * used stacks in that order. */
bool merge_stack_order(const model *m, arena *a, uint32_t **rank, uint32_t **order, size_t *n_out)
{
    const dict *d = &m->dict;
    size_t n = dict_n_stacks(d), k = 0;
    stack_ref *v = arena_new(a, stack_ref, n);
    uint64_t *key = arena_array(a, d->locations.n, sizeof *key);
    *rank = arena_new(a, uint32_t, n);
    *order = arena_array(a, n, sizeof **order);
    if (!v || !key || !*rank || !*order) return false;
    for (size_t i = 0; i < m->profiles.n; i++)
        for (size_t s = 0; s < m->profiles.v[i].n_samples; s++)
            (*rank)[m->profiles.v[i].stack[s]] = 1;
    for (size_t i = 0; i < d->locations.n; i++) key[i] = hash_location(d, &d->locations.v[i]);
    for (uint32_t i = 0; i < n; i++) {
        span s = dict_stack(d, i);
        if ((*rank)[i]) v[k++] = (stack_ref){refs_at(&d->frames, s), key, s.n, i};
    }
    qsort(v, k, sizeof *v, by_root);
    for (size_t i = 0; i < k; i++) {
        (*order)[i] = v[i].index;
        bool same = i > 0 && cmp_root(&v[i - 1], &v[i]) == 0;
        (*rank)[v[i].index] = same ? (*rank)[v[i - 1].index] : (uint32_t)i;
    }
    *n_out = k;
    return true;
}

static int by_key(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Sorts the samples of p by the rank of their stack, then by position: rank << 32 | sample.
 * Uses a counting sort when there are enough samples to justify a pass over the ranks. */
bool merge_sample_order(const profile *p, const uint32_t *rank, size_t n_ranks, arena *a,
                        uint64_t **out)
{
    *out = arena_array(a, p->n_samples, sizeof **out);
    if (!*out) return false;
    if (p->n_samples < n_ranks / 8) {
        for (size_t i = 0; i < p->n_samples; i++) (*out)[i] = (uint64_t)rank[p->stack[i]] << 32 | i;
        qsort(*out, p->n_samples, sizeof **out, by_key);
        return true;
    }
    uint32_t *at = arena_new(a, uint32_t, n_ranks + 1);
    if (!at) return false;
    for (size_t i = 0; i < p->n_samples; i++) at[rank[p->stack[i]] + 1]++;
    for (size_t i = 0; i < n_ranks; i++) at[i + 1] += at[i];
    for (size_t i = 0; i < p->n_samples; i++)
        (*out)[at[rank[p->stack[i]]]++] = (uint64_t)rank[p->stack[i]] << 32 | i;
    return true;
}
