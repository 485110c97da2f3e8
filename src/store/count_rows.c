/* Finds and creates the rows of store_counts. Values are numbered first, so that a sample compares
 * two numbers. Only rows with intervals have memory for their differences. */
#include "store/count_rows.h"

#include "base/ban.h"

uint32_t count_text(count_rows *x, str text)
{
    if (!hash_index_room(&x->by_text, x->a)) return NO_ROW;
    uint64_t h = hash_bytes(text.p, text.n, x->by_text.seed);
    uint32_t i = hash_first(&x->by_text, h);
    for (uint32_t at; hash_next(&x->by_text, &i, h, &at); i++)
        if (str_eq(x->texts.v[at], text)) return at;
    char *copy = arena_alloc(x->a, text.n);
    str *slot = copy ? vec_push(x->a, &x->texts) : NULL;
    if (!slot) return NO_ROW;
    if (text.n) memcpy(copy, text.p, text.n);
    *slot = (str){copy, text.n};
    hash_put(&x->by_text, i, h, (uint32_t)(x->texts.n - 1));
    return (uint32_t)(x->texts.n - 1);
}

static bool new_row(count_rows *x, const uint32_t text[COUNT_LABELS])
{
    store_row *r = vec_push(x->a, &x->v);
    if (!r || !vec_push(x->a, &x->whole)) return false;
    *r = (store_row){.label = x->texts.v[text[0]],
                     .split = x->texts.v[text[1]],
                     .sum = arena_new(x->a, int64_t, x->n_buckets),
                     .count = arena_new(x->a, uint64_t, x->n_buckets)};
    if (x->levels) r->series = arena_new(x->a, uint32_t, x->n_buckets);
    return r->sum && r->count && (!x->levels || r->series);
}

uint32_t count_row(count_rows *x, const uint32_t text[COUNT_LABELS])
{
    if (!hash_index_room(&x->by_pair, x->a)) return NO_ROW;
    uint64_t h = hash_mix(hash_mix(x->by_pair.seed, text[0]), text[1]);
    uint32_t i = hash_first(&x->by_pair, h);
    for (uint32_t at; hash_next(&x->by_pair, &i, h, &at); i++)
        if (x->pairs.v[at].text[0] == text[0] && x->pairs.v[at].text[1] == text[1]) return at;
    count_pair *p = vec_push(x->a, &x->pairs);
    if (!p || !new_row(x, text)) return NO_ROW;
    memcpy(p->text, text, sizeof p->text);
    hash_put(&x->by_pair, i, h, (uint32_t)(x->v.n - 1));
    return (uint32_t)(x->v.n - 1);
}

bool count_interval(count_rows *x, uint32_t row, const spread_steps *steps, uint64_t from,
                    uint64_t to, int64_t value)
{
    int64_t **whole = &x->whole.v[row];
    if (!*whole && !(*whole = arena_new(x->a, int64_t, x->n_buckets + 1))) return false;
    spread_add(steps, x->v.v[row].sum, *whole, from, to, value);
    return true;
}

void count_finish(count_rows *x)
{
    for (size_t i = 0; i < x->v.n; i++)
        if (x->whole.v[i]) spread_finish(x->v.v[i].sum, x->whole.v[i], x->n_buckets);
}
