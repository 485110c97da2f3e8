/* Finds series by resource, scope, type and period (series_index.h). */
#include "store/series_index.h"

#include "store/content.h"
#include "base/ban.h"

static bool same_series(const store_series *a, const store_series *b)
{
    return a->period == b->period && str_eq(a->type, b->type) && str_eq(a->unit, b->unit) &&
           str_eq(a->period_type, b->period_type) && str_eq(a->period_unit, b->period_unit) &&
           resource_equal(a->resource, b->resource) && scope_equal(a->scope, b->scope);
}

static uint64_t hash_series(series_index *x, const store_series *s)
{
    buf_reset(&x->scratch);
    put_resource(&x->scratch, s->resource);
    put_scope(&x->scratch, s->scope);
    put_str(&x->scratch, s->type);
    put_str(&x->scratch, s->unit);
    put_str(&x->scratch, s->period_type);
    put_str(&x->scratch, s->period_unit);
    put_signed(&x->scratch, s->period);
    return hash_bytes(x->scratch.p, x->scratch.n, x->by_identity.seed);
}

bool series_index_find(series_index *x, const store_series_list *l, const store_series *s,
                       uint32_t *at)
{
    *at = SERIES_ABSENT;
    if (!x->by_identity.n) return true;
    uint64_t h = hash_series(x, s);
    uint32_t i = hash_first(&x->by_identity, h);
    for (uint32_t k; hash_next(&x->by_identity, &i, h, &k); i++) {
        x->n_compared++;
        if (same_series(&l->v[k], s)) return *at = k, !x->scratch.failed;
    }
    return !x->scratch.failed;
}

bool series_index_add(series_index *x, arena *a, const store_series_list *l, uint32_t at)
{
    if (!hash_index_room(&x->by_identity, a)) return false;
    uint64_t h = hash_series(x, &l->v[at]);
    uint32_t i = hash_first(&x->by_identity, h);
    for (uint32_t k; hash_next(&x->by_identity, &i, h, &k); i++) continue;
    hash_put(&x->by_identity, i, h, at);
    return !x->scratch.failed;
}

void series_index_free(series_index *x) { buf_free(&x->scratch); }

store_series series_of_profile(const dict *d, const resource *r, const scope *s, const profile *p)
{
    return (store_series){.resource = r,
                          .scope = s,
                          .type = dict_str(d, p->sample_type.type),
                          .unit = dict_str(d, p->sample_type.unit),
                          .period_type = dict_str(d, p->period_type.type),
                          .period_unit = dict_str(d, p->period_type.unit),
                          .period = p->period};
}
