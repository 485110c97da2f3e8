/* Chooses the newest profile of each series in each time bucket, for values that cannot be summed
 * over time (levels.h). Contributions are collected first and added at the end, when it is known
 * which profiles are the newest. */
#include "store/levels.h"

#include "query/cumulative.h"
#include "base/ban.h"

bool makes_no_sum(const model *m, const profile *p)
{
    return profile_is_level(m, p) || profile_is_cumulative(m, p);
}

bool series_makes_no_sum(const block_series *s, const tables *t)
{
    profile head = series_head_profile(&s->head);
    if (profile_is_level(&t->m, &head)) return true;
    for (size_t i = 0; i < s->profile_lists.n; i++)
        if (profile_is_cumulative(&t->m, &(profile){.attrs = t->lists.v[s->profile_lists.v[i]]}))
            return true;
    return false;
}

static uint32_t series_of(levels *l, const model *m, const profile *p)
{
    const scope *s = &m->scopes.v[p->scope];
    const uint32_t words[] = {p->sample_type.type, p->sample_type.unit, p->period_type.type,
                              p->period_type.unit};
    buf_reset(&l->scratch);
    put_resource(&l->scratch, &m->resources.v[s->resource]);
    put_scope(&l->scratch, s);
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        put_str(&l->scratch, dict_str(&m->dict, words[i]));
    put_signed(&l->scratch, p->period);
    str data = buf_view(&l->scratch);
    if (l->scratch.failed || !hash_index_room(&l->by_series, l->a)) return UINT32_MAX;
    uint64_t h = hash_bytes(data.p, data.n, l->by_series.seed);
    uint32_t i = hash_first(&l->by_series, h);
    for (uint32_t at; hash_next(&l->by_series, &i, h, &at); i++)
        if (str_eq(l->series.v[at], data)) return at;
    char *copy = arena_alloc(l->a, data.n);
    str *slot = copy ? vec_push(l->a, &l->series) : NULL;
    if (!slot) return UINT32_MAX;
    memcpy(copy, data.p, data.n);
    *slot = (str){copy, data.n};
    hash_put(&l->by_series, i, h, (uint32_t)(l->series.n - 1));
    return (uint32_t)(l->series.n - 1);
}

static uint32_t cell_of(levels *l, uint32_t series, uint64_t bucket)
{
    if (!hash_index_room(&l->by_cell, l->a)) return UINT32_MAX;
    uint64_t h = hash_mix(hash_mix(l->by_cell.seed, series), bucket);
    uint32_t i = hash_first(&l->by_cell, h);
    for (uint32_t at; hash_next(&l->by_cell, &i, h, &at); i++)
        if (l->cells.v[at].series == series && l->cells.v[at].bucket == bucket) return at;
    level_cell *c = vec_push(l->a, &l->cells);
    if (!c) return UINT32_MAX;
    *c = (level_cell){.series = series, .bucket = bucket};
    hash_put(&l->by_cell, i, h, (uint32_t)(l->cells.n - 1));
    return (uint32_t)(l->cells.n - 1);
}

bool levels_meet(levels *l, const model *m, const profile *p, uint64_t bucket, uint64_t end,
                 uint32_t *cell, bool *counts)
{
    uint32_t series = series_of(l, m, p);
    *cell = series == UINT32_MAX ? UINT32_MAX : cell_of(l, series, bucket);
    if (*cell == UINT32_MAX) return false;
    level_cell *c = &l->cells.v[*cell];
    *counts = end >= c->newest;
    if (end > c->newest) {
        c->newest = end;
        c->replaced++;
    }
    return true;
}

bool levels_add(levels *l, uint32_t cell, uint32_t row, int64_t v, uint64_t n)
{
    uint32_t replaced = l->cells.v[cell].replaced;
    if (!hash_index_room(&l->by_part, l->a)) return false;
    uint64_t h = hash_mix(hash_mix(l->by_part.seed, cell), row);
    uint32_t i = hash_first(&l->by_part, h), at;
    level_part *p = NULL;
    for (; !p && hash_next(&l->by_part, &i, h, &at); i++)
        if (l->parts.v[at].cell == cell && l->parts.v[at].row == row) p = &l->parts.v[at];
    if (!p) {
        if (!(p = vec_push(l->a, &l->parts))) return false;
        *p = (level_part){.cell = cell, .row = row, .replaced = replaced};
        hash_put(&l->by_part, i, h, (uint32_t)(l->parts.n - 1));
    }
    if (p->replaced != replaced) p->sum = 0, p->count = 0, p->replaced = replaced;
    p->sum = add_saturating(p->sum, v, NULL);
    p->count += n;
    return true;
}

void levels_put(const levels *l, store_buckets *out)
{
    for (size_t i = 0; i < l->parts.n; i++) {
        const level_part *p = &l->parts.v[i];
        const level_cell *c = &l->cells.v[p->cell];
        if (p->replaced != c->replaced) continue;
        store_row *r = &out->rows.v[p->row];
        r->sum[c->bucket] = add_saturating(r->sum[c->bucket], p->sum, NULL);
        r->count[c->bucket] += p->count;
    }
}

void levels_free(levels *l) { buf_free(&l->scratch); }
