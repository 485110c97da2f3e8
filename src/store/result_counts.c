/* Counts and sums in time buckets (store_counts). A block whose observations are all in one bucket
 * is counted from its row, without decoding it. */
#include "store/levels.h"

#include "query/timeline.h"
#include "base/ban.h"

typedef struct counting {
    scan k;
    arena *a;
    store_buckets *out;
    str by;
    hash_index by_label;
    buf scratch;
    cutter cut;
    arena work;
    const model *m;   /* with the current dictionary */
    uint32_t *row_of; /* by attribute: row + 1 for its value as label */
    levels levels;
} counting;

/* Returns the row of a label; UINT32_MAX when out of memory. */
static uint32_t row_named(counting *x, str label)
{
    if (!hash_index_room(&x->by_label, x->a)) return UINT32_MAX;
    uint64_t h = hash_bytes(label.p, label.n, x->by_label.seed);
    uint32_t i = hash_first(&x->by_label, h);
    for (uint32_t at; hash_next(&x->by_label, &i, h, &at); i++)
        if (str_eq(x->out->rows.v[at].label, label)) return at;
    char *copy = arena_alloc(x->a, label.n);
    int64_t *sum = arena_new(x->a, int64_t, x->out->n);
    uint64_t *count = arena_new(x->a, uint64_t, x->out->n);
    store_row *r = copy && sum && count ? vec_push(x->a, &x->out->rows) : NULL;
    if (!r) return UINT32_MAX;
    if (label.n) memcpy(copy, label.p, label.n);
    *r = (store_row){.label = {copy, label.n}, .sum = sum, .count = count};
    hash_put(&x->by_label, i, h, (uint32_t)(x->out->rows.n - 1));
    return (uint32_t)(x->out->rows.n - 1);
}

static size_t bucket_of(const counting *x, uint64_t time)
{
    return (size_t)((time - x->out->start) / x->out->step);
}

static void add(counting *x, uint32_t row, uint64_t time, int64_t v, uint64_t n)
{
    size_t at = bucket_of(x, time);
    store_row *r = &x->out->rows.v[row];
    r->sum[at] = add_saturating(r->sum[at], v, NULL);
    r->count[at] += n;
}

static bool on_dict(void *ctx, const model *m, err *e)
{
    counting *x = ctx;
    if (!m) return true;
    arena_reset(&x->work);
    x->cut = (cutter){.a = &x->work};
    x->m = m;
    x->row_of = arena_new(&x->work, uint32_t, m->dict.attributes.n);
    return x->row_of || err_memory(e);
}

/* Returns row + 1 of the first attribute in the list that has the key; 0 when there is none. */
static uint32_t row_of_list(counting *x, const uint32_t *v, size_t n)
{
    const dict *d = &x->m->dict;
    for (size_t i = 0; i < n; i++) {
        if (x->row_of[v[i]]) return x->row_of[v[i]];
        if (!str_eq(d->strings.v[d->attributes.v[v[i]].key], x->by)) continue;
        return x->row_of[v[i]] =
                   row_named(x, label_text(&d->attributes.v[v[i]].value, &x->scratch)) + 1;
    }
    return 0;
}

/* Returns row + 1 of the profile; 0 when its samples decide. */
static uint32_t row_of_profile(counting *x, const chunk *c, const profile *p)
{
    if (!x->by.n) return row_named(x, (str){0}) + 1;
    const scope *s = &c->m->scopes.v[p->scope];
    any made;
    const any *v = envelope_label(&c->m->resources.v[s->resource], s, x->by, &made);
    if (v) return row_named(x, label_text(v, &x->scratch)) + 1;
    return row_of_list(x, refs_at(&c->m->dict.attr_refs, p->attrs), p->attrs.n);
}

/* Counts a block whose observations are all in one bucket from its row. */
static bool quick(void *ctx, const day_block *b, const tables *t, filter_open_rules open,
                  bool covered, bool *done, err *e)
{
    counting *x = ctx;
    const store_selector *q = &x->k.f.q;
    if (!covered || open || q->trace_id || q->span_id || q->profile_id) return true;
    if (bucket_of(x, b->first) != bucket_of(x, b->last)) return true;
    if (series_makes_no_sum(&b->series->s, t)) return true; /* only its newest profile counts */
    any made;
    const any *v =
        x->by.n ? envelope_label(&b->series->s.resource, &b->series->s.scope, x->by, &made) : NULL;
    if (x->by.n && !v) return true;
    uint32_t row = row_named(x, v ? label_text(v, &x->scratch) : (str){0});
    if (row == UINT32_MAX) return err_memory(e);
    add(x, row, b->first, b->total, b->n_observations);
    x->k.n_found += b->n_samples;
    x->k.result->n_profiles += b->n_profiles;
    *done = true;
    return true;
}

static void add_sample(counting *x, uint32_t row, const sample *s, uint64_t moment)
{
    static const view_part whole = {.weight = 1};
    bool paired = s->n_values == s->n_times;
    if (!s->n_times)
        add(x, row, moment, sample_total(s, NULL), s->n_values);
    else if (!paired && s->n_values)
        add(x, row, s->times[0], sample_total(s, NULL), s->n_values);
    else
        for (uint32_t i = 0; i < s->n_times; i++)
            add(x, row, s->times[i], view_observation(&whole, s, i), 1);
}

/* Finds the cell of a level's profile. Sets *yes to whether it is the newest so far. */
static bool meet_level(counting *x, const model *m, const profile *p, const chosen *y,
                       uint32_t *cell, bool *yes, err *e)
{
    uint64_t end, last = x->out->start + (x->out->n - 1) * x->out->step, at = y->moment;
    *yes = y->covered || filter_has_time(&x->k.f, at);
    if (!*yes) return true;
    if (ckd_add(&end, at, p->duration_nano)) end = UINT64_MAX;
    at = at < x->out->start ? x->out->start : at > last ? last : at; /* clamps `at` to the range */
    return levels_meet(&x->levels, m, p, bucket_of(x, at), end, cell, yes) || err_memory(e);
}

static bool count_profile(counting *x, const chunk *c, size_t i, err *e)
{
    const profile *p = &c->m->profiles.v[i];
    chosen y;
    bool yes;
    if (!choose_profile(&x->k, c, i, &y, &yes, e)) return false;
    if (!yes) return true;
    bool level = makes_no_sum(c->m, p);
    uint32_t cell = 0;
    if (level && !meet_level(x, c->m, p, &y, &cell, &yes, e)) return false;
    if (!yes) return true;
    uint32_t outer = row_of_profile(x, c, p);
    for (size_t j = 0; j < p->n_samples; j++) {
        sample s = sample_at(c->m, p, j);
        if (!choose_sample(&x->k, &y, &x->cut, c->m, &s, &yes, e)) return false;
        if (!yes) continue;
        uint32_t row = outer ? outer : row_of_list(x, s.attrs, s.n_attrs);
        row = row ? row - 1 : row_named(x, (str){0});
        if (row == UINT32_MAX) return err_memory(e);
        x->k.n_found++;
        if (!level)
            add_sample(x, row, &s, y.moment);
        else if (!levels_add(&x->levels, cell, row, sample_total(&s, NULL),
                             s.n_values ? s.n_values : s.n_times))
            return err_memory(e);
    }
    x->k.result->n_profiles++;
    return true;
}

static bool on_chunk(void *ctx, const chunk *c, err *e)
{
    for (size_t i = 0; i < c->m->profiles.n; i++)
        if (!count_profile(ctx, c, i, e)) return false;
    return true;
}

static int by_label(const void *a, const void *b)
{
    return str_cmp(((const store_row *)a)->label, ((const store_row *)b)->label);
}

bool result_counts(reader *r, const store_selector *q, const store_budget *b, uint64_t step, str by,
                   arena *a, store_buckets *out, store_read_result *result, err *e)
{
    if (!q->end || q->end <= q->start || !step)
        return err_set(e, ERR_USAGE, "counts require a start, an end and a step");
    uint64_t n = (q->end - q->start - 1) / step + 1;
    if (n > STORE_MAX_BUCKETS)
        return err_set(e, ERR_LIMIT, "the step results in more than %d buckets", STORE_MAX_BUCKETS);
    *out = (store_buckets){.start = q->start, .step = step, .n = (size_t)n};
    counting x = {.a = a, .out = out, .by = by, .levels = {.a = a}};
    if (!scan_open(&x.k, q, b, result, r->world, e)) return false;
    x.k.a = a;
    x.k.ctx = &x;
    x.k.dict = on_dict;
    x.k.quick = quick;
    x.k.chunk = on_chunk;
    x.k.columns = BLOCK_VALUES | BLOCK_TIMES | (by.n ? BLOCK_ATTRS : 0);
    bool ok = by.n || row_named(&x, (str){0}) != UINT32_MAX || err_memory(e);
    ok = ok && reader_begin(r, e) && reader_scan(r, &x.k, e);
    reader_end(r);
    if (ok) levels_put(&x.levels, out);
    if (ok && out->rows.n) qsort(out->rows.v, out->rows.n, sizeof *out->rows.v, by_label);
    scan_close(&x.k, r->world);
    buf_free(&x.scratch);
    levels_free(&x.levels);
    arena_free(&x.work);
    return ok;
}
