/* Numbers the series that a read meets. Chunks and blocks have dictionaries of their own, so a
 * series is identified by its encoded members. */
#include "store/series_ids.h"

#include "base/ban.h"

uint32_t series_id(series_ids *x, const dict *d, const resource *r, const scope *s,
                   const profile *p)
{
    const uint32_t words[] = {p->sample_type.type, p->sample_type.unit, p->period_type.type,
                              p->period_type.unit};
    buf_reset(&x->scratch);
    put_resource(&x->scratch, r);
    put_scope(&x->scratch, s);
    for (size_t i = 0; i < ARRAY_LEN(words); i++) put_str(&x->scratch, dict_str(d, words[i]));
    put_signed(&x->scratch, p->period);
    str data = buf_view(&x->scratch);
    if (x->scratch.failed || !hash_index_room(&x->by_identity, x->a)) return NO_SERIES;
    uint64_t h = hash_bytes(data.p, data.n, x->by_identity.seed);
    uint32_t i = hash_first(&x->by_identity, h);
    for (uint32_t at; hash_next(&x->by_identity, &i, h, &at); i++)
        if (str_eq(x->v.v[at], data)) return at;
    char *copy = arena_alloc(x->a, data.n);
    str *slot = copy ? vec_push(x->a, &x->v) : NULL;
    if (!slot) return NO_SERIES;
    memcpy(copy, data.p, data.n);
    *slot = (str){copy, data.n};
    hash_put(&x->by_identity, i, h, (uint32_t)(x->v.n - 1));
    return (uint32_t)(x->v.n - 1);
}

void series_ids_free(series_ids *x) { buf_free(&x->scratch); }
