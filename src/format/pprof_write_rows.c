/* Decides which Profiles become which sample types of the pprof file, and writes the samples. */
#include "format/pprof_write.h"

#include "format/pprof_internal.h"
#include "wire/pb.h"
#include "base/ban.h"
#include <inttypes.h>

/* ---- whether two Profiles have the same rows ---- */

static bool same_spans(const spans *a, const spans *b)
{
    return a->off == b->off && a->base == b->base && a->stride == b->stride;
}

static bool same_u64s(const uint64_t *a, const uint64_t *b, uint32_t n)
{
    return !n || !memcmp(a, b, n * sizeof *a);
}

static bool same_rows(const pw *w, const profile *a, const profile *b)
{
    if (a->n_samples != b->n_samples) return false;
    bool times = pw_timed(w);
    if (a->stack == b->stack && a->link == b->link && same_spans(&a->attr_span, &b->attr_span) &&
        (!times || same_spans(&a->time_span, &b->time_span)))
        return true; /* both have the same columns */
    for (size_t i = 0; i < a->n_samples; i++) {
        sample x = sample_at(w->m, a, i), y = sample_at(w->m, b, i);
        if (x.stack != y.stack || x.link != y.link || x.n_attrs != y.n_attrs) return false;
        if (x.n_attrs && memcmp(x.attrs, y.attrs, x.n_attrs * sizeof *x.attrs)) return false;
        if (times && (x.n_times != y.n_times || !same_u64s(x.times, y.times, x.n_times)))
            return false;
    }
    return true;
}

/* ---- the plan ---- */

static bool add_group(pw *w, pw_plan *p, uint32_t first, uint32_t n)
{
    pw_group *g = vec_push(&w->a, &p->groups);
    if (!g) return err_memory(w->e);
    *g = (pw_group){first, n};
    return true;
}

static bool find_groups(pw *w, pw_plan *p)
{
    for (size_t i = 0; i < w->m->scopes.n; i++) {
        const scope *s = &w->m->scopes.v[i];
        if (!s->n_profiles) continue;
        const profile *v = w->m->profiles.v + s->first_profile;
        bool same = true;
        for (uint32_t k = 1; k < s->n_profiles && same; k++) same = same_rows(w, &v[0], &v[k]);
        if (same) {
            if (!add_group(w, p, s->first_profile, s->n_profiles)) return false;
            continue;
        }
        for (uint32_t k = 0; k < s->n_profiles; k++)
            if (!add_group(w, p, s->first_profile + k, 1)) return false;
    }
    return true;
}

static const any *scope_attr(const scope *s, str key)
{
    for (size_t i = 0; i < s->attrs.n; i++)
        if (str_eq(s->attrs.v[i].key, key)) return &s->attrs.v[i].value;
    return NULL;
}

/* Sets column[k] to the original position of Profile k of the scope. Returns false if the attribute
 * is not a permutation of n. */
static bool order_of(const any *v, uint32_t n, uint32_t *column, bool *taken)
{
    if (!v || v->kind != ANY_ARRAY || v->n != n) return false;
    for (uint32_t k = 0; k < n; k++) {
        const any *x = &v->array[k];
        if (x->kind != ANY_INT || x->i < 0 || x->i >= n || taken[x->i]) return false;
        taken[x->i] = true;
        column[k] = (uint32_t)x->i;
    }
    return true;
}

/* Records a loss if a reader, which puts the default type or else the last one first, does not
 * restore the order of the Profiles. */
static void note_order(pw *w, const pw_plan *p)
{
    uint32_t n = (uint32_t)p->types.n, first = n - 1;
    for (uint32_t i = n; p->default_type.n && i-- > 0;)
        if (str_eq(dict_str(w->d, p->types.v[i].type), p->default_type)) first = i;
    for (uint32_t k = 0; k < n; k++)
        if (p->profiles.v[pp_type_at(first, k)] != p->groups.v[0].first + k) {
            pw_lose(w, LOSS_SAMPLE_TYPE_ORDER, NULL, 1, "profiles",
                    dict_str(w->d, p->types.v[first].type));
            return;
        }
}

/* Plans one group: a type for each Profile, in the order that the scope records. If it records
 * none, the first Profile is swapped with the last, because pprof's default is its last type. */
static bool plan_one(pw *w, pw_plan *p)
{
    uint32_t first = p->groups.v[0].first, n = p->groups.v[0].n;
    const scope *s = &w->m->scopes.v[w->m->profiles.v[first].scope];
    uint32_t *column = arena_new(&w->a, uint32_t, n);
    bool *taken = arena_new(&w->a, bool, n);
    if (!column || !taken || !vec_reserve(&w->a, &p->types, n) ||
        !vec_reserve(&w->a, &p->profiles, n))
        return err_memory(w->e);
    if (!order_of(scope_attr(s, STR(PPROF_ATTR_SAMPLE_TYPE_ORDER)), n, column, taken)) {
        for (uint32_t k = 0; k < n; k++) column[k] = k;
        column[0] = n - 1;
        column[n - 1] = 0;
    }
    p->types.n = p->profiles.n = n;
    for (uint32_t k = 0; k < n; k++) {
        p->types.v[column[k]] = w->m->profiles.v[first + k].sample_type;
        p->profiles.v[column[k]] = first + k;
    }
    const any *name = scope_attr(s, STR(PPROF_ATTR_DEFAULT_SAMPLE_TYPE));
    if (name && name->kind == ANY_STRING) p->default_type = any_str(name);
    note_order(w, p);
    return true;
}

static bool same_type(const pw *w, value_type a, value_type b)
{
    return str_eq(dict_str(w->d, a.type), dict_str(w->d, b.type)) &&
           str_eq(dict_str(w->d, a.unit), dict_str(w->d, b.unit));
}

static uint64_t type_hash(const pw *w, value_type t)
{
    str a = dict_str(w->d, t.type), b = dict_str(w->d, t.unit);
    return hash_bytes(b.p, b.n, hash_bytes(a.p, a.n, hash_mix(w->a.seed, a.n)));
}

static bool column_of(pw *w, pw_plan *p, hash_index *x, value_type t, uint32_t *out)
{
    if (!hash_index_room(x, &w->a)) return err_memory(w->e);
    uint64_t h = type_hash(w, t);
    uint32_t i = hash_first(x, h);
    for (uint32_t at; hash_next(x, &i, h, &at); i++)
        if (same_type(w, p->types.v[at], t)) return *out = at, true;
    value_type *slot = vec_push(&w->a, &p->types);
    if (!slot) return err_memory(w->e);
    *slot = t;
    *out = (uint32_t)(p->types.n - 1);
    hash_put(x, i, h, *out);
    return true;
}

/* Plans several groups: a column for each distinct type. */
static bool plan_join(pw *w, pw_plan *p)
{
    hash_index x = {0};
    for (uint32_t i = 0; i < w->m->profiles.n; i++) {
        uint32_t *slot = vec_push(&w->a, &p->column);
        if (!slot) return err_memory(w->e);
        if (!column_of(w, p, &x, w->m->profiles.v[i].sample_type, slot)) return false;
    }
    if (p->types.n > 1) p->default_type = dict_str(w->d, p->types.v[0].type);
    pw_lose(w, LOSS_MIXED_SHAPE, NULL, p->groups.n, "profiles", STR("joined by sample"));
    return true;
}

bool pw_plan_make(pw *w, pw_plan *p)
{
    if (!find_groups(w, p)) return false;
    if (!p->groups.n) return true;
    return p->groups.n == 1 ? plan_one(w, p) : plan_join(w, p);
}

/* ---- observations ---- */

/* Returns whether a sample becomes one row per timestamp: this is requested, and every value has
 * its time. */
static bool expands(const pw *w, const sample *s)
{
    return pw_timed(w) && s->n_times && (!s->n_values || s->n_values == s->n_times);
}

/* Returns the value that a sample adds to row k: one observation, or the sum of all to the first
 * row. */
static int64_t value_of(pw *w, const sample *s, uint32_t k, bool several_rows)
{
    if (several_rows && expands(w, s)) return s->n_values ? s->values[k] : 1;
    if (k) return 0;
    bool saturated = false;
    int64_t v = sample_total(s, &saturated);
    if (saturated) pw_lose(w, LOSS_VALUE_SATURATED, NULL, 1, "samples", (str){0});
    return v;
}

/* Records the loss of a sample's shape. `expanded`: each observation becomes a row. */
static void note_shape(pw *w, const sample *s, bool expanded)
{
    const char *as = expanded ? "timestamp" : NULL;
    if (s->n_times) {
        char text[24];
        int n = snprintf(text, sizeof text, "%" PRIu64, s->times[0]);
        pw_lose(w, LOSS_TIMESTAMP, as, s->n_times, "samples.timestamps_unix_nano",
                (str){text, (size_t)n});
    }
    if (s->n_values != 1) pw_lose(w, LOSS_SAMPLE_SHAPE, as, 1, "samples.values", (str){0});
}

/* Returns the number of rows for a sample. */
static uint32_t rows_of(const pw *w, const sample *s) { return expands(w, s) ? s->n_times : 1; }

static pw_row row_of(const pw *w, const profile *p, const sample *s, uint32_t k)
{
    bool timed = expands(w, s);
    return (pw_row){.stack = s->stack,
                    .link = s->link,
                    .attrs = s->attrs,
                    .n_attrs = s->n_attrs,
                    .resource = w->m->scopes.v[p->scope].resource,
                    .timed = timed,
                    .time = timed ? s->times[k] : 0};
}

/* ---- one group: row by row ---- */

static bool rows_one(pw *w, const pw_plan *p)
{
    size_t n = p->profiles.n;
    int64_t *values = arena_new(&w->a, int64_t, n);
    if (!values) return err_memory(w->e);
    const profile *v = w->m->profiles.v, *first = &v[p->profiles.v[0]];
    for (size_t i = 0; i < first->n_samples; i++) {
        sample s = sample_at(w->m, first, i);
        uint32_t rows = rows_of(w, &s);
        for (uint32_t k = 0; k < rows; k++) {
            for (size_t c = 0; c < n; c++) {
                sample x = sample_at(w->m, &v[p->profiles.v[c]], i);
                if (!k) note_shape(w, &x, expands(w, &s) && expands(w, &x));
                values[c] = value_of(w, &x, k, expands(w, &s));
            }
            pw_row row = row_of(w, first, &s, k);
            if (!pw_sample(w, &row, values, n)) return false;
        }
    }
    return true;
}

/* ---- several: joined by {stack, attributes, link, resource, time} ---- */

typedef struct joined {
    VEC(pw_row) rows;
    i64s values; /* row by row */
    hash_index index;
} joined;

static uint64_t row_hash(const pw_row *r, uint64_t seed)
{
    uint64_t h = hash_mix(hash_mix(seed, (uint64_t)r->stack << 32 | r->link), r->resource);
    return hash_bytes(r->attrs, r->n_attrs * sizeof *r->attrs, hash_mix(h, r->time));
}

static bool same_row(const pw_row *a, const pw_row *b)
{
    return a->stack == b->stack && a->link == b->link && a->resource == b->resource &&
           a->timed == b->timed && a->time == b->time && a->n_attrs == b->n_attrs &&
           (!a->n_attrs || !memcmp(a->attrs, b->attrs, a->n_attrs * sizeof *a->attrs));
}

static bool find_row(pw *w, joined *j, const pw_row *r, size_t n_types, size_t *out)
{
    if (!hash_index_room(&j->index, &w->a)) return err_memory(w->e);
    uint64_t h = row_hash(r, j->index.seed);
    uint32_t i = hash_first(&j->index, h);
    for (uint32_t at; hash_next(&j->index, &i, h, &at); i++)
        if (same_row(&j->rows.v[at], r)) return *out = at, true;
    pw_row *slot = vec_push(&w->a, &j->rows);
    if (!slot || !vec_reserve(&w->a, &j->values, n_types)) return err_memory(w->e);
    *slot = *r;
    memset(j->values.v + j->values.n, 0, n_types * sizeof *j->values.v);
    j->values.n += n_types;
    *out = j->rows.n - 1;
    hash_put(&j->index, i, h, (uint32_t)*out);
    return true;
}

static bool join_profile(pw *w, joined *j, const profile *p, uint32_t column, size_t n_types)
{
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(w->m, p, i);
        note_shape(w, &s, expands(w, &s));
        uint32_t rows = rows_of(w, &s);
        for (uint32_t k = 0; k < rows; k++) {
            pw_row row = row_of(w, p, &s, k);
            size_t at = 0;
            bool saturated = false;
            if (!find_row(w, j, &row, n_types, &at)) return false;
            int64_t *v = &j->values.v[at * n_types + column];
            *v = add_saturating(*v, value_of(w, &s, k, row.timed), &saturated);
            if (saturated) pw_lose(w, LOSS_VALUE_SATURATED, NULL, 1, "samples", (str){0});
        }
    }
    return true;
}

static bool rows_joined(pw *w, const pw_plan *p)
{
    joined j = {0};
    size_t n = p->types.n;
    for (uint32_t i = 0; i < w->m->profiles.n; i++)
        if (!join_profile(w, &j, &w->m->profiles.v[i], p->column.v[i], n)) return false;
    for (size_t i = 0; i < j.rows.n; i++)
        if (!pw_sample(w, &j.rows.v[i], j.values.v + i * n, n)) return false;
    return true;
}

bool pw_rows(pw *w, const pw_plan *p)
{
    if (!p->groups.n) return true;
    return p->groups.n == 1 ? rows_one(w, p) : rows_joined(w, p);
}
