/* Counts and sums in time buckets (store_counts). A block whose observations are all in one bucket
 * is counted from its row, without decoding it. Intervals, such as waits, count in each bucket that
 * they cover; a read of waits begins before the range, for those that last into it. */
#include "store/arrivals.h"
#include "store/levels.h"

#include "query/timeline.h"
#include "base/ban.h"

typedef struct counting {
    scan k;
    arena *a;
    const store_counts_opts *o;
    uint64_t start, last; /* beginnings of the first and last bucket */
    spread_steps steps;   /* the buckets */
    str keys[COUNT_LABELS];
    count_rows rows;
    buf scratch;
    cutter cut;
    arena work;
    const model *m;                  /* with the current dictionary */
    uint32_t *text_of[COUNT_LABELS]; /* by attribute: text + 1 for its value as label */
    series_ids series;
    arrivals arrivals;
    levels levels;
    uint32_t from; /* the series that is being counted */
    bool failed;   /* out of memory */
} counting;

/* Returns text + 1 of a label's value. When out of memory, sets x->failed. */
static uint32_t text_of_label(counting *x, const any *v)
{
    uint32_t text = count_text(&x->rows, v ? label_text(v, &x->scratch) : (str){0});
    if (text == NO_ROW) x->failed = true;
    return text + 1;
}

static size_t bucket_of(const counting *x, uint64_t time)
{
    return (size_t)((time - x->start) / x->o->step);
}

static void add(counting *x, uint32_t row, uint64_t time, int64_t v, uint64_t n)
{
    size_t at = bucket_of(x, time);
    store_row *r = &x->rows.v.v[row];
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
    for (size_t k = 0; k < COUNT_LABELS; k++)
        if (!(x->text_of[k] = arena_new(&x->work, uint32_t, m->dict.attributes.n)))
            return err_memory(e);
    return true;
}

/* Returns text + 1 of the first attribute in the list that has key k; 0 when there is none. */
static uint32_t text_of_list(counting *x, size_t k, const uint32_t *v, size_t n)
{
    const dict *d = &x->m->dict;
    for (size_t i = 0; i < n; i++) {
        if (x->text_of[k][v[i]]) return x->text_of[k][v[i]];
        if (!str_eq(d->strings.v[d->attributes.v[v[i]].key], x->keys[k])) continue;
        return x->text_of[k][v[i]] = text_of_label(x, &d->attributes.v[v[i]].value);
    }
    return 0;
}

/* The values that a profile has for all of its samples. */
typedef struct outer {
    uint32_t text[COUNT_LABELS]; /* + 1; 0: the samples decide */
} outer;

static outer outer_of(counting *x, const chunk *c, const profile *p)
{
    const scope *s = &c->m->scopes.v[p->scope];
    outer out = {0};
    for (size_t k = 0; k < COUNT_LABELS; k++) {
        any made;
        const any *v = x->keys[k].n
                           ? envelope_label(&c->m->resources.v[s->resource], s, x->keys[k], &made)
                           : NULL;
        if (v || !x->keys[k].n)
            out.text[k] = text_of_label(x, v);
        else
            out.text[k] = text_of_list(x, k, refs_at(&c->m->dict.attr_refs, p->attrs), p->attrs.n);
    }
    return out;
}

/* Returns the row of a sample and notes that it has data of the current series; NO_ROW when out of
 * memory. */
static uint32_t row_of(counting *x, const outer *o, const sample *s)
{
    uint32_t text[COUNT_LABELS];
    for (size_t k = 0; k < COUNT_LABELS; k++) {
        uint32_t found = o->text[k] ? o->text[k] : text_of_list(x, k, s->attrs, s->n_attrs);
        text[k] = (found ? found : text_of_label(x, NULL)) - 1;
    }
    if (x->failed) return NO_ROW;
    uint32_t row = count_row(&x->rows, text);
    return row != NO_ROW && arrivals_link(&x->arrivals, row, x->from) ? row : NO_ROW;
}

/* Returns whether the series can have intervals (query/extent.h). */
static bool series_has_intervals(const block_series *s, const tables *t)
{
    profile head = series_head_profile(&s->head);
    if (extent_of(&t->m, &head).kind == EXTENT_AFTER) return true;
    for (size_t i = 0; i < s->profile_lists.n; i++) {
        head.attrs = t->lists.v[s->profile_lists.v[i]];
        if (extent_of(&t->m, &head).kind == EXTENT_AFTER) return true;
    }
    return false;
}

/* Counts a block whose observations are all in one bucket from its row. */
static bool quick(void *ctx, const day_block *b, const tables *t, filter_open_rules open,
                  bool covered, bool *done, err *e)
{
    counting *x = ctx;
    const store_selector *q = &x->k.f.q;
    outer o = {0};
    if (!covered || open || q->trace_id || q->span_id || q->profile_id) return true;
    if (series_makes_no_sum(&b->series->s, t)) return true;  /* only its newest profile counts */
    if (series_has_intervals(&b->series->s, t)) return true; /* they may cover other buckets */
    if (bucket_of(x, b->first) != bucket_of(x, b->last)) return true;
    if (x->o->now && (b->last > x->o->now || x->o->now - b->last <= ARRIVALS_RECENT))
        return true; /* the ends of its profiles show what has arrived */
    const block_series *s = &b->series->s;
    for (size_t k = 0; k < COUNT_LABELS; k++) {
        any made;
        const any *v =
            x->keys[k].n ? envelope_label(&s->resource, &s->scope, x->keys[k], &made) : NULL;
        if (x->keys[k].n && !v) return true;
        o.text[k] = text_of_label(x, v);
    }
    profile head = series_head_profile(&s->head);
    x->from = series_id(&x->series, &t->m.dict, &s->resource, &s->scope, &head);
    if (x->from == NO_SERIES || !arrivals_see(&x->arrivals, x->from, b->last, 0))
        return err_memory(e);
    uint32_t row = row_of(x, &o, &(sample){0});
    if (row == NO_ROW) return err_memory(e);
    add(x, row, b->first, b->total, b->n_observations);
    x->k.n_found += b->n_samples;
    x->k.result->n_profiles += b->n_profiles;
    *done = true;
    return true;
}

/* Returns whether the sample counts in a bucket. The read may begin before the first one. */
static bool sample_is_inside(const counting *x, const extent *length, const sample *s,
                             uint64_t moment)
{
    if (x->k.f.q.start >= x->start) return true;
    if (!s->n_times) return moment >= x->start;
    for (uint32_t i = 0; i < s->n_times; i++) {
        uint64_t from, to;
        extent_at(length, s, i, &from, &to);
        if (from >= x->start || to > x->start) return true;
    }
    return false;
}

/* Adds observation i, which has a timestamp. */
static bool add_timed(counting *x, uint32_t row, const extent *length, const sample *s, uint32_t i,
                      int64_t v, uint64_t n)
{
    uint64_t from, to, at = s->times[i];
    extent_at(length, s, i, &from, &to);
    if (length->kind == EXTENT_AFTER && from < to) {
        if (at >= x->start) x->rows.v.v[row].count[bucket_of(x, at)] += n;
        return count_interval(&x->rows, row, &x->steps, from, to, v);
    }
    if (at >= x->start) add(x, row, at, v, n);
    return true;
}

static bool add_sample(counting *x, uint32_t row, const extent *length, const sample *s,
                       uint64_t moment)
{
    static const view_part whole = {.weight = 1};
    bool paired = s->n_values == s->n_times;
    if (!s->n_times) return add(x, row, moment, sample_total(s, NULL), s->n_values), true;
    if (!paired && s->n_values)
        return add_timed(x, row, length, s, 0, sample_total(s, NULL), s->n_values);
    for (uint32_t i = 0; i < s->n_times; i++)
        if (!add_timed(x, row, length, s, i, view_observation(&whole, s, i), 1)) return false;
    return true;
}

/* Finds the cell of a level's profile. Sets *yes to whether it is the newest so far. */
static bool meet_level(counting *x, const model *m, const profile *p, const chosen *y,
                       uint32_t *cell, bool *yes, err *e)
{
    uint64_t end, at = y->moment;
    *yes = y->covered || filter_has_time(&x->k.f, at);
    if (!*yes) return true;
    if (ckd_add(&end, at, p->duration_nano)) end = UINT64_MAX;
    int64_t bucket = at < x->start ? (x->levels.hold ? LEVEL_EARLIER : 0)
                                   : (int64_t)bucket_of(x, at > x->last ? x->last : at);
    return levels_meet(&x->levels, m, p, x->from, bucket, end, cell, yes) || err_memory(e);
}

/* Lets an empty profile count: its level is 0, which is not a gap. */
static bool meet_empty_level(counting *x, const outer *o, uint32_t cell)
{
    if (!x->rows.levels || !o->text[0] || !o->text[1]) return true;
    uint32_t row = row_of(x, o, &(sample){0});
    return row != NO_ROW && levels_add(&x->levels, cell, row, 0, 0);
}

/* Notes the series of a profile, and that it has delivered data until the profile's end. */
static bool meet_series(counting *x, const chunk *c, const profile *p, uint64_t moment)
{
    const scope *s = &c->m->scopes.v[p->scope];
    uint64_t end;
    x->from = series_id(&x->series, &c->m->dict, &c->m->resources.v[s->resource], s, p);
    if (ckd_add(&end, moment, p->duration_nano)) end = moment;
    return x->from != NO_SERIES && arrivals_see(&x->arrivals, x->from, end, p->duration_nano);
}

static bool count_profile(counting *x, const chunk *c, size_t i, err *e)
{
    const profile *p = &c->m->profiles.v[i];
    chosen y;
    bool yes;
    if (!choose_profile(&x->k, c, i, &y, &yes, e)) return false;
    if (!yes) return true;
    if (!meet_series(x, c, p, y.moment)) return err_memory(e);
    bool level = makes_no_sum(c->m, p), earlier = level && y.moment < x->start;
    uint32_t cell = 0;
    if (level && !meet_level(x, c->m, p, &y, &cell, &yes, e)) return false;
    if (!yes) return true;
    outer o = outer_of(x, c, p);
    extent length = extent_of(c->m, p);
    bool inside = level;
    if (level && !meet_empty_level(x, &o, cell)) return err_memory(e);
    for (size_t j = 0; j < p->n_samples; j++) {
        sample s = sample_at(c->m, p, j);
        if (!choose_sample(&x->k, &y, &x->cut, c->m, &s, &yes, e)) return false;
        if (!yes || !(level || sample_is_inside(x, &length, &s, y.moment))) continue;
        inside = true;
        uint32_t row = row_of(x, &o, &s);
        if (row == NO_ROW) return err_memory(e);
        x->k.n_found += !earlier;
        if (level ? !levels_add(&x->levels, cell, row, sample_total(&s, NULL),
                                s.n_values ? s.n_values : s.n_times)
                  : !add_sample(x, row, &length, &s, y.moment))
            return err_memory(e);
    }
    x->k.result->n_profiles += !earlier && (inside || y.moment >= x->start);
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
    const store_row *x = a, *y = b;
    int d = str_cmp(x->label, y->label);
    return d ? d : str_cmp(x->split, y->split);
}

/* Sets until when each row is complete. */
static bool put_complete(counting *x, uint64_t end)
{
    uint64_t now = x->o->now && x->o->now < end ? x->o->now : end,
             *complete = arena_new(x->a, uint64_t, x->rows.v.n + 1);
    if (!complete) return false;
    for (size_t i = 0; i < x->rows.v.n; i++) complete[i] = now;
    if (x->o->now) arrivals_complete(&x->arrivals, x->o->now, complete, x->rows.v.n);
    for (size_t i = 0; i < x->rows.v.n; i++) x->rows.v.v[i].complete = complete[i];
    return true;
}

static bool put_rows(counting *x, const store_selector *q, store_buckets *out)
{
    if (!levels_put(&x->levels, x->start, x->o->step, &x->rows) || !put_complete(x, q->end))
        return false;
    count_finish(&x->rows);
    out->levels = x->rows.levels;
    out->rows.v = x->rows.v.v, out->rows.n = x->rows.v.n, out->rows.cap = x->rows.v.cap;
    if (out->rows.n) qsort(out->rows.v, out->rows.n, sizeof *out->rows.v, by_label);
    return true;
}

static bool count_all(counting *x, reader *r, const store_selector *q, store_buckets *out, err *e)
{
    bool whole = !x->keys[0].n && !x->keys[1].n; /* one row, even when nothing is found */
    uint32_t none = whole ? count_text(&x->rows, (str){0}) : 0;
    bool ok = none != NO_ROW;
    if (ok && whole) ok = count_row(&x->rows, (uint32_t[COUNT_LABELS]){none, none}) != NO_ROW;
    ok = (ok || err_memory(e)) && reader_begin(r, e) && reader_scan(r, &x->k, e);
    reader_end(r);
    return ok && (put_rows(x, q, out) || err_memory(e));
}

/* How long before the range a read of waits begins. `kiln record` sends longer ones in pieces. */
#define WAITS_BEFORE (60 * NS_PER_S)

/* Returns the time at which the read begins: before the range for data that lasts into it. */
static uint64_t read_start(const store_selector *q, bool hold)
{
    bool waits = str_eq(q->type, STR("off_cpu")) || str_starts(q->type, STR("off_cpu/"));
    uint64_t before = hold ? LEVELS_BEFORE : waits ? WAITS_BEFORE : 0;
    return q->start > before ? q->start - before : before ? 1 : q->start;
}

bool result_counts(reader *r, const store_selector *q, const store_budget *b,
                   const store_counts_opts *o, arena *a, store_buckets *out,
                   store_read_result *result, err *e)
{
    if (!q->end || q->end <= q->start || !o->step)
        return err_set(e, ERR_USAGE, "counts require a start, an end and a step");
    uint64_t n = (q->end - q->start - 1) / o->step + 1;
    if (n > STORE_MAX_BUCKETS)
        return err_set(e, ERR_LIMIT, "the step results in more than %d buckets", STORE_MAX_BUCKETS);
    *out = (store_buckets){.start = q->start, .step = o->step, .n = (size_t)n};
    bool hold = o->hold && str_starts(q->type, STR("inuse_")); /* profile_is_level */
    store_selector wide = *q;
    wide.start = read_start(q, hold);
    counting x = {.a = a,
                  .o = o,
                  .start = q->start,
                  .last = q->start + (n - 1) * o->step,
                  .steps = {q->start, q->end, o->step},
                  .keys = {o->by, o->split},
                  .rows = {.a = a, .n_buckets = (size_t)n, .levels = hold},
                  .series = {.a = a},
                  .arrivals = {.a = a},
                  .levels = {.a = a, .hold = hold}};
    if (!scan_open(&x.k, &wide, b, result, r->world, e)) return false;
    x.k.a = a;
    x.k.ctx = &x;
    x.k.dict = on_dict;
    x.k.quick = quick;
    x.k.chunk = on_chunk;
    x.k.columns = BLOCK_VALUES | BLOCK_TIMES | (o->by.n || o->split.n ? BLOCK_ATTRS : 0);
    bool ok = count_all(&x, r, q, out, e);
    scan_close(&x.k, r->world);
    buf_free(&x.scratch);
    series_ids_free(&x.series);
    arena_free(&x.work);
    return ok;
}
