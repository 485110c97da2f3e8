/* Writes dialect B, OTEP 0239 "pprofextended". It is read as layout 1.3 (wire/otlp_v3.c).
 *
 *   types        profiles of one scope with the same samples are one Profile with several types
 *   stacks       leaf first; a stack that is the root end of another one shares its slice
 *   references   positions, never ids; an empty mapping comes first if 0 would be misread
 *   times        milliseconds as in the OTEP if they are exact, otherwise nanoseconds (v1.3.0)
 *   temporality  delta if it is not known: the OTEP forbids "unspecified" */
#include "format/dialect_write.h"

#include "format/dialect_b.h"
#include "model/executable.h"
#include "wire/otlp_old.h"
#include "base/ban.h"

/* ---- kinds of samples ---- */

typedef enum b_kind {
    B_ONE,   /* one value per type, any number of times */
    B_SPLIT, /* one sample per observation, with one value per type */
} b_kind;

/* Whether a reader would compute these values when it spreads `v` over n times
 * (wire/otlp_old.h). */
static bool is_spread(const int64_t *values, uint32_t n, int64_t v)
{
    int64_t share = v / (int64_t)n, rest;
    if (v % (int64_t)n < 0) share--;
    for (uint32_t i = 1; i < n; i++)
        if (values[i] != share) return false;
    return !ckd_sub(&rest, v, (int64_t)(n - 1) * share) && values[0] == rest;
}

/* Finds the value that a reader spread over the timestamps of a sample, if kiln.timestamp_values
 * records that. A reader spreads the values of several types, and those of one type unless all are
 * 1; then each timestamp counts 1. */
static bool gathered(const dw *w, const profile *p, const sample *s, bool multi, int64_t *v)
{
    const any *how = dw_profile_attr(w, p, ROLE_TIME_VALUES);
    if (!how || s->n_values != s->n_times || s->n_values < 2) return false;
    if (!multi && str_eq(any_str(how), STR("each"))) {
        *v = 1;
        for (uint32_t i = 0; i < s->n_values; i++)
            if (s->values[i] != 1) return false;
        return true;
    }
    bool saturated = false;
    *v = sample_total(s, &saturated);
    return !saturated && (multi || *v != 1) && str_eq(any_str(how), STR("spread")) &&
           is_spread(s->values, s->n_values, *v);
}

static b_kind kind_of(const dw *w, const profile *p, const sample *s, bool multi, int64_t *v)
{
    *v = s->n_values ? s->values[0] : s->n_times; /* a timestamp without a value counts 1 */
    if (s->n_values <= 1 && s->n_times <= 1) return B_ONE;
    return gathered(w, p, s, multi, v) ? B_ONE : B_SPLIT;
}

static bool all_ones(const dw *w, const profile *p)
{
    int64_t v;
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(w->m, p, i);
        if (kind_of(w, p, &s, true, &v) != B_ONE) return false;
    }
    return true;
}

static bool fits(const dw *w, const profile *first, const profile *next)
{
    return first->period == next->period && first->period_type.type == next->period_type.type &&
           first->period_type.unit == next->period_type.unit && dw_aligned(w, first, next) &&
           all_ones(w, first) && all_ones(w, next);
}

/* ---- gather ---- */

static void gather_samples(dw *w, const profile *p)
{
    const dict *d = &w->m->dict;
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(w->m, p, i);
        if (!dw_known(&w->stacks, s.stack)) {
            span f = dict_stack(d, s.stack);
            dw_ref(w, &w->stacks, s.stack);
            for (uint32_t k = f.n; k-- > 0;) dw_gather_location(w, false, d->frames.v[f.at + k]);
        }
        if (s.link) dw_ref(w, &w->links, s.link);
        dw_gather_attrs(w, s.attrs, s.n_attrs, TAKES(STACK_ID));
    }
}

/* ---- put: samples ---- */

typedef struct b_profile {
    const profile *p;
    size_t n;
    const uint32_t *at; /* type t is profile at[t] of the group */
    b_slices slices;
    uint64_t unit; /* unit of timestamps, in ns */
} b_profile;

static void put_packed_times(buf *b, const uint64_t *times, uint32_t n, uint64_t unit)
{
    size_t at = dw_begin(b, 13);
    for (uint32_t i = 0; i < n; i++) pb_put_varint(b, times[i] / unit);
    dw_end_or_drop(b, at, 13);
}

static void put_values(dw *w, const b_profile *g, size_t i, const sample *s, b_kind kind,
                       uint32_t row)
{
    buf *b = w->out;
    int64_t v;
    size_t at = dw_begin(b, 2);
    if (kind == B_SPLIT) {
        pb_put_varint(b, s->n_values ? (uint64_t)s->values[row] : 1);
    } else {
        for (size_t t = 0; t < g->n; t++) {
            const profile *p = &g->p[g->at[t]];
            sample x = sample_at(w->m, p, i);
            kind_of(w, p, &x, g->n > 1, &v);
            pb_put_varint(b, (uint64_t)v);
        }
    }
    dw_end_or_drop(b, at, 2);
}

static void put_sample(dw *w, const b_profile *g, size_t i, const sample *s, b_kind kind,
                       uint32_t row)
{
    buf *b = w->out;
    size_t at = dw_begin(b, 2);
    put_values(w, g, i, s, kind, row);
    span slice = g->slices.v[dw_ref(w, &w->stacks, s->stack)];
    if (slice.n) {
        dw_uint(b, 7, slice.at);
        dw_uint(b, 8, slice.n);
    }
    const any *id = dw_find(w, s->attrs, s->n_attrs, ROLE_STACK_ID);
    if (id) dw_uint(b, 9, dw_string(w, any_str(id)));
    size_t list = dw_begin(b, 10);
    for (uint32_t k = 0; k < s->n_attrs; k++)
        if (!dw_takes(w, s->attrs[k], TAKES(STACK_ID)))
            pb_put_varint(b, dw_ref(w, &w->attributes, s->attrs[k]));
    dw_end_or_drop(b, list, 10);
    if (s->link) dw_uint(b, 12, dw_ref(w, &w->links, s->link) + UINT64_C(1));
    if (kind != B_SPLIT)
        put_packed_times(b, s->times, s->n_times, g->unit);
    else if (row < s->n_times)
        put_packed_times(b, s->times + row, 1, g->unit);
    dw_end(b, at);
}

static void put_samples(dw *w, const b_profile *g)
{
    for (size_t i = 0; i < g->p->n_samples; i++) {
        sample s = sample_at(w->m, g->p, i);
        int64_t v;
        b_kind kind = kind_of(w, g->p, &s, g->n > 1, &v);
        if (kind == B_SPLIT || !s.n_values)
            dw_note(w, LOSS_SAMPLE_SHAPE, NULL, (str){0}, "samples");
        if (s.n_values && s.n_times > s.n_values)
            dw_note(w, LOSS_TIMESTAMP, NULL, STR("without a value"), "samples");
        uint32_t rows = kind == B_SPLIT ? sample_observations(&s) : 1;
        for (uint32_t k = 0; k < rows; k++) put_sample(w, g, i, &s, kind, k);
    }
}

/* ---- put: the Profile ---- */

enum { B_TAKES = TAKES(TEMPORALITY) | TAKES(COMMENT) | TAKES(DROP_FRAMES) | TAKES(KEEP_FRAMES) };

/* Returns the roles of the profile's attributes that a reader restores from fields. */
static uint32_t takes_of(const dw *w, const b_profile *g, bool alone)
{
    uint32_t takes = B_TAKES;
    int64_t v;
    if (!alone && g->n > 1) takes |= TAKES(TYPE_ORDER);
    if (!alone) takes |= TAKES(DEFAULT_TYPE);
    const any *unit = dw_profile_attr(w, g->p, ROLE_TIME_UNIT);
    if (unit && g->unit == 1000000 && str_eq(any_str(unit), STR("ms"))) takes |= TAKES(TIME_UNIT);
    for (size_t i = 0; i < g->p->n_samples; i++) {
        sample s = sample_at(w->m, g->p, i);
        if (s.n_times > 1 && gathered(w, g->p, &s, g->n > 1, &v)) takes |= TAKES(TIME_VALUES);
    }
    return takes;
}

static void put_type(dw *w, uint32_t number, value_type t, uint64_t temporality)
{
    size_t at = dw_begin(w->out, number);
    dw_uint(w->out, 1, dw_model_string(w, t.type));
    dw_uint(w->out, 2, dw_model_string(w, t.unit));
    dw_uint(w->out, 3, temporality);
    dw_end(w->out, at);
}

static void put_types(dw *w, const b_profile *g)
{
    for (size_t t = 0; t < g->n; t++) {
        const profile *p = &g->p[g->at[t]];
        uint64_t how = dw_temporality(w, p);
        if (!how) {
            how = 1;
            dw_note(w, LOSS_AGGREGATION_TEMPORALITY, KILN_ATTR_AGGREGATION_TEMPORALITY,
                    STR("delta"), "sample_type");
        }
        put_type(w, 1, p->sample_type, how);
    }
}

static void put_comments(dw *w, const profile *p)
{
    const any *list = dw_profile_attr(w, p, ROLE_COMMENT);
    if (!list) return;
    size_t at = dw_begin(w->out, 13);
    for (uint32_t i = 0; i < list->n; i++)
        pb_put_varint(w->out, dw_string(w, any_str(&list->array[i])));
    dw_end(w->out, at);
}

static uint32_t text_attr(dw *w, const profile *p, attr_role role)
{
    const any *v = dw_profile_attr(w, p, role);
    return v ? dw_string(w, any_str(v)) : 0;
}

/* Collects the strings of all fields that are written after the string table. */
static void gather_texts(dw *w, const b_profile *g, str default_type)
{
    for (size_t t = 0; t < g->n; t++) {
        dw_model_string(w, g->p[g->at[t]].sample_type.type);
        dw_model_string(w, g->p[g->at[t]].sample_type.unit);
    }
    text_attr(w, g->p, ROLE_DROP_FRAMES);
    text_attr(w, g->p, ROLE_KEEP_FRAMES);
    dw_model_string(w, g->p->period_type.type);
    dw_model_string(w, g->p->period_type.unit);
    const any *comments = dw_profile_attr(w, g->p, ROLE_COMMENT);
    for (uint32_t i = 0; comments && i < comments->n; i++)
        dw_string(w, any_str(&comments->array[i]));
    dw_string(w, default_type);
    for (size_t i = 0; i < g->p->n_samples; i++) {
        sample s = sample_at(w->m, g->p, i);
        const any *id = dw_find(w, s.attrs, s.n_attrs, ROLE_STACK_ID);
        if (id) dw_string(w, any_str(id));
    }
    b_gather_units(w);
}

static void put_profile(dw *w, const b_profile *g, str default_type)
{
    buf *b = w->out;
    const profile *p = g->p;
    gather_texts(w, g, default_type);
    size_t at = dw_begin(b, 8);
    put_types(w, g);
    put_samples(w, g);
    b_put_tables(w);
    dw_uint(b, 7, text_attr(w, p, ROLE_DROP_FRAMES));
    dw_uint(b, 8, text_attr(w, p, ROLE_KEEP_FRAMES));
    if (p->period_type.type || p->period_type.unit) put_type(w, 11, p->period_type, 0);
    dw_uint(b, 12, (uint64_t)p->period);
    put_comments(w, p);
    dw_uint(b, 14, dw_string(w, default_type));
    b_put_slices(w, &g->slices, 15);
    b_put_attributes(w);
    dw_end(b, at);
}

/* ---- the container ---- */

/* Returns the unit of timestamps. A reader infers from the magnitude whether they are milliseconds
 * or nanoseconds (wire/otlp_old.c); it recognizes nanoseconds from five hours after the epoch
 * on. */
static uint64_t choose_unit(dw *w, const profile *p, bool multi)
{
    const uint64_t ms = 1000000, ns_from = UINT64_MAX / ms + 1;
    uint64_t max = 0;
    bool exact = true;
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(w->m, p, i);
        int64_t v;
        uint32_t n = s.n_times, rows = sample_observations(&s);
        if (kind_of(w, p, &s, multi, &v) == B_SPLIT && n > rows) n = rows; /* one per row */
        for (uint32_t k = 0; k < n; k++) {
            exact &= s.times[k] % ms == 0;
            if (s.times[k] > max) max = s.times[k];
        }
    }
    if (!max) return 1;
    if (exact) {
        if (!dw_profile_attr(w, p, ROLE_TIME_UNIT))
            dw_note(w, LOSS_TIMESTAMP, KILN_ATTR_TIMESTAMP_UNIT, STR("ms"), "timestamps");
        return ms;
    }
    if (max < ns_from) dw_note(w, LOSS_TIMESTAMP, NULL, STR("read as ms"), "timestamps");
    return 1;
}

static bool has_mapping(const model *m, uint32_t stack, uint32_t mapping_i)
{
    span s = dict_stack(&m->dict, stack);
    for (uint32_t i = 0; i < s.n; i++)
        if (m->dict.locations.v[m->dict.frames.v[s.at + i]].mapping == mapping_i) return true;
    return false;
}

static bool uses(const model *m, const profile *p, uint32_t mapping_i)
{
    for (size_t i = 0; i < p->n_samples; i++)
        if (has_mapping(m, sample_at(m, p, i).stack, mapping_i)) return true;
    return false;
}

/* Puts the main binary first: the known one if the Profile uses it, otherwise the first mapping, as
 * in pprof. A single Profile keeps the other mappings in their order. */
static void gather_mains(dw *w, const profile *p)
{
    uint32_t first[MODEL_EXECUTABLES] = {1};
    size_t n = model_executables(w->m, first);
    if (!n) n = w->m->dict.mappings.n > 1;
    for (size_t i = 0; i < n; i++)
        if (uses(w->m, p, first[i])) dw_gather_mapping(w, first[i]);
}

static void put_container(dw *w, b_profile *g, str default_type, bool alone)
{
    buf *b = w->out;
    const profile *p = g->p;
    g->unit = choose_unit(w, p, g->n > 1);
    gather_mains(w, p);
    for (uint32_t i = 1; g->n == w->m->profiles.n && i < w->m->dict.mappings.n; i++)
        dw_gather_mapping(w, i);
    gather_samples(w, p);
    if (!b_slices_of(w, p->n_samples, &g->slices)) {
        w->failed = true;
        return;
    }
    size_t at = dw_begin(b, 2), id = dw_id(w, p);
    dw_fixed64(b, 2, p->time_unix_nano);
    dw_fixed64(b, 3, dw_end_time(w, p));
    dw_profile_attrs(w, p, 4, takes_of(w, g, alone));
    dw_uint(b, 5, p->dropped_attributes_count);
    dw_text(b, 6, p->original_payload_format);
    dw_text(b, 7, p->original_payload);
    put_profile(w, g, default_type);
    dw_id_end(w, p, id);
    dw_end(b, at);
}

static size_t group_at(const dw *w, const scope *s, size_t i)
{
    size_t most = s->n_profiles - i;
    if (most > OLD_MAX_SAMPLE_TYPES) most = OLD_MAX_SAMPLE_TYPES;
    return dw_group(w, &w->m->profiles.v[s->first_profile + i], most, TAKES(TEMPORALITY), fits);
}

static void put_scope(dw *w, const scope *s)
{
    bool alone = s->n_profiles && group_at(w, s, 0) == s->n_profiles;
    for (size_t i = 0; i < s->n_profiles && !w->failed;) {
        b_profile g = {.p = &w->m->profiles.v[s->first_profile + i], .n = group_at(w, s, i)};
        snprintf(w->where, sizeof w->where, "profiles[%zu]", (size_t)s->first_profile + i);
        str default_type;
        g.at = b_type_order(w, alone ? s : NULL, g.p, g.n, &default_type);
        if (g.at) put_container(w, &g, default_type, alone);
        i += g.n;
        dw_reset(w);
    }
}

/* Returns which pprof.* attributes of the scope become fields. All its profiles must become one
 * Profile. */
static unsigned strips(dw *w, const scope *s)
{
    str name;
    if (!s->n_profiles || group_at(w, s, 0) != s->n_profiles) return 0;
    ledger *l = w->ledger;
    w->ledger = NULL;
    b_type_order(w, s, &w->m->profiles.v[s->first_profile], s->n_profiles, &name);
    w->ledger = l;
    return (s->n_profiles > 1 ? STRIP_ORDER : 0) | (name.n ? STRIP_DEFAULT : 0);
}

static bool write(const format *f, const model *m, const write_opts *o, buf *out, err *e)
{
    (void)f;
    dw w;
    if (dw_open(&w, m, o, out)) {
        w.strips = strips;
        dw_envelope(&w, put_scope);
    }
    return dw_close(&w, true, e);
}

static bool may_be(const format *f, str bytes)
{
    (void)f;
    return dialect_fits(bytes, schema_profiles_data(LAYOUT_1_3), false) ||
           dialect_fits_any(bytes, 1u << DIALECT_B_BARE);
}

const format format_otep239 = {
    .name = "otep239",
    .pack = CODEC_GZIP, /* the OTEP requires it for files */
    .what = "OTEP 0239 pprofextended, OTLP layout 1.3; reads pprof too",
    .suffixes = ".otep239",
    .carries = CARRIES_ALL,
    .detect = b_detect,
    .may_be = may_be,
    .most = B_DETECT_MOST,
    .read = b_read,
    .write = write,
    .is_current = b_is_current,
};
