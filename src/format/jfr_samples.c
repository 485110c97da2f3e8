/* Turns events into samples: collects columns while reading and builds profiles at the end.
 *
 * Events with equal stack, link and attributes become one sample with one timestamp each. While
 * reading, an event is a row {group, time, values}; at the end the rows are sorted by group. */
#include "format/jfr_internal.h"

#include "wire/carried.h"
#include "base/text.h"
#include "base/time.h"
#include "base/ban.h"
#include <inttypes.h>

enum { MAX_ATTRS = 12 };

/* ---- time ---- */

/* Returns n * num / den, rounded towards zero and saturated; den > 0. */
static int64_t scaled(int64_t n, uint64_t num, uint64_t den)
{
    if (num == den) return n;
    __int128 v = (__int128)n * num / den;
    return v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : (int64_t)v;
}

int64_t jfr_span_ns(const jclock *k, junit u, int64_t v)
{
    switch (u) {
    case JU_NONE:
    case JU_TICKS: return scaled(v, NS_PER_S, k->ticks_per_s);
    case JU_US: return scaled(v, 1000, 1);
    case JU_MS:
    case JU_EPOCH_MS: return scaled(v, 1000000, 1);
    case JU_S: return scaled(v, NS_PER_S, 1);
    case JU_NS:
    case JU_EPOCH_NS: break;
    }
    return v;
}

uint64_t jfr_unix_ns(const jclock *k, junit u, uint64_t v)
{
    int64_t ns;
    if (u == JU_EPOCH_MS || u == JU_EPOCH_NS) {
        ns = jfr_span_ns(k, u, (int64_t)v);
    } else {
        /* Signed, because an event with a duration may have begun before its chunk. */
        int64_t since = (int64_t)(v - (uint64_t)k->start_ticks);
        ns = add_saturating((int64_t)k->start_ns, jfr_span_ns(k, u, since), NULL);
    }
    return ns > 0 ? (uint64_t)ns : 0;
}

/* ---- attributes and links ---- */

typedef struct attrs {
    uint32_t v[MAX_ATTRS];
    uint32_t n;
} attrs;

static void add(attrs *a, uint32_t attr)
{
    if (attr && a->n < MAX_ATTRS) a->v[a->n++] = attr;
}

static bool is_key(const jplan *p, unsigned slot)
{
    return p->field[slot] && p->field[slot]->constant && !p->field[slot]->array;
}

static bool is_number(const jplan *p, unsigned slot)
{
    const jfield *f = p->field[slot];
    return f && !f->constant && !f->array && f->type && f->type->prim != J_STRUCT &&
           f->type->prim != J_STRING;
}

static uint32_t hex_attr(jfr *r, str key, uint64_t v)
{
    enum { DIGITS = 16 };
    char text[DIGITS + 1];
    snprintf(text, sizeof text, "%016" PRIx64, v);
    char *p = arena_alloc(r->a, DIGITS);
    if (!p) return r->b.failed = true, 0;
    memcpy(p, text, DIGITS);
    size_t n = r->b.m.dict.attributes.n;
    uint32_t at = builder_attribute_str(&r->b, key, (str){p, DIGITS});
    if (r->b.m.dict.attributes.n == n) arena_trim(r->a, p, DIGITS, 0); /* it already existed */
    return at;
}

static void add_number_or_text(jfr *r, attrs *a, const jplan *p, unsigned slot, const uint64_t *s,
                               str key, bool hex)
{
    if (!p->field[slot]) return;
    if (!is_number(p, slot)) {
        str text = jfr_slot_text(r, p, slot, s);
        if (text.n) add(a, builder_attribute_str(&r->b, key, text));
    } else if (s[slot]) {
        add(a,
            hex ? hex_attr(r, key, s[slot]) : builder_attribute_int(&r->b, key, (int64_t)s[slot]));
    }
}

/* Returns the link, which requires both ids. Recordings have them as text. */
static uint32_t link_of(jfr *r, const jplan *p, const uint64_t *s)
{
    uint8_t trace[16], span_id[8];
    if (!p->field[S_TRACE] || is_number(p, S_TRACE)) return 0;
    if (!hex_bytes(jfr_slot_text(r, p, S_TRACE, s), trace, sizeof trace)) return 0;
    str text = is_number(p, S_SPAN) ? (str){0} : jfr_slot_text(r, p, S_SPAN, s);
    if (is_number(p, S_SPAN))
        for (size_t i = 0; i < 8; i++) span_id[i] = (uint8_t)(s[S_SPAN] >> (56 - 8 * i));
    else if (!hex_bytes(text, span_id, sizeof span_id))
        return 0;
    if (id_is_zero(trace, sizeof trace) || id_is_zero(span_id, sizeof span_id)) return 0;
    return builder_link(&r->b, trace, span_id);
}

static void span_attrs(jfr *r, attrs *a, const jplan *p, const uint64_t *s, bool linked)
{
    if (!linked) {
        add_number_or_text(r, a, p, S_SPAN, s, STR(KILN_ATTR_JFR_SPAN_ID), true);
        add_number_or_text(r, a, p, S_TRACE, s, STR(KILN_ATTR_JFR_TRACE_ID), true);
    }
    add_number_or_text(r, a, p, S_ROOT_SPAN, s, STR(KILN_ATTR_JFR_ROOT_SPAN_ID), true);
    add_number_or_text(r, a, p, S_SPAN_NAME, s, STR(KILN_ATTR_JFR_SPAN_NAME), false);
    add_number_or_text(r, a, p, S_CONTEXT, s, STR(KILN_ATTR_JFR_CONTEXT_ID), false);
}

/* ---- rows ---- */

static bool group_of(jfr *r, jkind *k, uint32_t stack, uint32_t link, const attrs *a, uint32_t *out)
{
    if (!hash_index_room(&k->by_group, &r->work)) return false;
    uint64_t h = hash_bytes(a->v, a->n * sizeof *a->v,
                            hash_mix(k->by_group.seed, (uint64_t)link << 32 | stack));
    uint32_t i = hash_first(&k->by_group, h);
    for (uint32_t at; hash_next(&k->by_group, &i, h, &at); i++) {
        const jgroup *g = &k->groups.v[at];
        if (g->stack == stack && g->link == link && g->n_attrs == a->n &&
            (!a->n || !memcmp(k->attrs.v + g->attrs_at, a->v, a->n * sizeof *a->v)))
            return *out = at, true;
    }
    jgroup *g = vec_push(&r->work, &k->groups);
    if (!g || k->attrs.n > UINT32_MAX - a->n || !vec_reserve(&r->work, &k->attrs, a->n))
        return false;
    *g = (jgroup){.stack = stack, .link = link, .attrs_at = (uint32_t)k->attrs.n, .n_attrs = a->n};
    if (a->n) memcpy(k->attrs.v + k->attrs.n, a->v, a->n * sizeof *a->v);
    k->attrs.n += a->n;
    *out = (uint32_t)(k->groups.n - 1);
    hash_put(&k->by_group, i, h, *out);
    return true;
}

/* Computes the duration from start and end in ns, as the JDK's reader does, so that rounding errors
 * of ticks do not add up over many events. */
static int64_t timespan_of(const jfr *r, const jplan *p, const uint64_t *s)
{
    if (!is_number(p, S_TIMESPAN)) return 0;
    junit u = p->field[S_TIMESPAN]->unit;
    int64_t length = (int64_t)s[S_TIMESPAN], end;
    bool ticks = u == JU_TICKS && is_number(p, S_TIME) && p->field[S_TIME]->unit == JU_TICKS;
    int64_t since = (int64_t)(s[S_TIME] - (uint64_t)r->clock.start_ticks);
    if (!ticks || ckd_add(&end, since, length)) return jfr_span_ns(&r->clock, u, length);
    return jfr_span_ns(&r->clock, u, end) - jfr_span_ns(&r->clock, u, since);
}

static int64_t value_of(const jfr *r, const jkind *k, jsource from, const jplan *p,
                        const uint64_t *s)
{
    int64_t count = is_number(p, S_COUNT) ? (int64_t)s[S_COUNT] : 1, v;
    int64_t period = k->spec ? r->period[k->spec->period] : 0;
    switch (from) {
    case M_ONE: return 1;
    case M_COUNT: return count;
    case M_BYTES: return is_number(p, S_BYTES) ? (int64_t)s[S_BYTES] : 0;
    case M_TIMESPAN: return timespan_of(r, p, s);
    case M_PERIOD: return period;
    case M_COUNT_PERIOD:
        return ckd_mul(&v, count, period) ? (count < 0 ? INT64_MIN : INT64_MAX) : v;
    }
    return 0;
}

static bool source_known(const jfr *r, const jkind *k, jsource from, const jplan *p)
{
    switch (from) {
    case M_ONE:
    case M_COUNT: return true;
    case M_BYTES: return is_number(p, S_BYTES);
    case M_TIMESPAN: return is_number(p, S_TIMESPAN);
    case M_PERIOD:
    case M_COUNT_PERIOD: return k->spec && r->period[k->spec->period] > 0;
    }
    return false;
}

/* Extends the time range, which comes from the headers of the chunks. Events from thread buffers
 * may be older; events of an unfinished chunk may be newer. */
static void widen(jfr *r, uint64_t time)
{
    if (time < r->start_ns) r->start_ns = time;
    if (time >= r->end_ns && time < INT64_MAX) r->end_ns = time + 1;
}

static bool add_row(jfr *r, jkind *k, uint32_t group, const jplan *p, const uint64_t *s)
{
    uint32_t *g = vec_push(&r->work, &k->group);
    uint64_t *time = vec_push(&r->work, &k->times);
    if (!g || !time || k->group.n > UINT32_MAX) return false;
    *g = group;
    k->groups.v[group].n++;
    *time = is_number(p, S_TIME) ? jfr_unix_ns(&r->clock, p->field[S_TIME]->unit, s[S_TIME])
                                 : r->clock.start_ns;
    widen(r, *time);
    for (size_t i = 0; i < k->n_measures; i++) {
        jsource from = k->measures[i].source;
        k->known[i] |= source_known(r, k, from, p);
        if (from == M_ONE) continue;
        int64_t *v = vec_push(&r->work, &k->values[i]);
        if (!v) return false;
        *v = value_of(r, k, from, p, s);
    }
    return true;
}

bool jfr_sample(jfr *r, jtype *t, jcur c)
{
    const jplan *p = t->plan;
    jkind *k = t->kind;
    uint64_t s[JFR_SLOTS];
    const uint8_t *begin = c.p;
    jfr_run(r, p, &c, s);
    if (c.failed)
        return err_at(r->e, ERR_MALFORMED, jfr_offset(r, begin), "an event %.*s is truncated",
                      STR_ARG(t->name));
    uint32_t stack = 0;
    bool truncated = false;
    if (is_key(p, S_STACK) &&
        !jfr_stack(r, p->field[S_STACK]->type, s[S_STACK], &stack, &truncated))
        r->n_no_stack++;
    if (!k->spec && !stack) { /* skips an application's event without a stack */
        t->n_left++;
        return true;
    }
    attrs a = {0};
    if (is_key(p, S_THREAD)) {
        jthread th = jfr_thread(r, p->field[S_THREAD]->type, s[S_THREAD]);
        for (uint32_t i = 0; i < th.n; i++) add(&a, th.attrs[i]);
    }
    if (is_key(p, S_STATE)) add(&a, jfr_state_attr(r, p->field[S_STATE]->type, s[S_STATE]));
    if (is_key(p, S_CLASS)) add(&a, jfr_class_attr(r, p->field[S_CLASS]->type, s[S_CLASS]));
    if (truncated) add(&a, builder_attribute_bool(&r->b, STR(KILN_ATTR_STACK_TRUNCATED), true));
    uint32_t link = link_of(r, p, s), group;
    span_attrs(r, &a, p, s, link != 0);
    return (group_of(r, k, stack, link, &a, &group) && add_row(r, k, group, p, s)) ||
           err_memory(r->e);
}

/* ---- profiles ---- */

typedef struct sorted { /* rows of a kind, ordered by group */
    uint32_t *to;       /* row -> position */
    uint64_t *times;
    int64_t *values; /* values of the current measure */
} sorted;

static bool sort_rows(jfr *r, const jkind *k, sorted *s)
{
    size_t n = k->group.n;
    uint32_t *next = arena_new(&r->work, uint32_t, k->groups.n);
    s->to = arena_array(&r->work, n, sizeof *s->to);
    s->times = arena_array(&r->work, n, sizeof *s->times);
    s->values = arena_array(&r->work, n, sizeof *s->values);
    if (!next || !s->to || !s->times || !s->values) return err_memory(r->e);
    for (size_t g = 0, at = 0; g < k->groups.n; at += k->groups.v[g++].n) next[g] = (uint32_t)at;
    for (size_t i = 0; i < n; i++) {
        s->to[i] = next[k->group.v[i]]++;
        s->times[s->to[i]] = k->times.v[i];
    }
    return true;
}

static value_type type_of(jfr *r, const jkind *k, const jmeasure *m)
{
    return (value_type){.type = builder_string(&r->b, m->type ? str_of(m->type) : k->type_name),
                        .unit = builder_string(&r->b, str_of(m->unit))};
}

static void describe_recording(jfr *r, profile *p)
{
    p->time_unix_nano = r->start_ns;
    p->duration_nano = r->end_ns > r->start_ns ? r->end_ns - r->start_ns : 0;
}

static void describe(jfr *r, const jkind *k, const jmeasure *m, profile *p)
{
    p->sample_type = type_of(r, k, m);
    describe_recording(r, p);
    int64_t period = k->spec ? r->period[k->spec->period] : 0;
    if (period > 0 && k->n_measures > 1) {
        p->period_type = type_of(r, k, &k->measures[1]);
        p->period = period;
    }
    uint32_t list[3], n = 0;
    list[n++] = builder_attribute_str(&r->b, STR(KILN_ATTR_JFR_EVENT), k->event);
    if (m->source == M_TIMESPAN && (!k->spec || jfr_word_is("duration", str_of(k->spec->timespan))))
        list[n++] = builder_attribute_bool(&r->b, STR(KILN_ATTR_EVENT_INTERVAL), true);
    if (r->lost_samples && jfr_word_is("jdk.CPUTimeSample", k->event))
        list[n++] = builder_attribute_int(&r->b, STR(KILN_ATTR_SAMPLES_LOST),
                                          (int64_t)(r->lost_samples & INT64_MAX));
    builder_profile_attrs(&r->b, list, n);
}

static void emit_measure(jfr *r, const jkind *k, size_t m, const sorted *s)
{
    jsource from = k->measures[m].source;
    int64_t period = k->spec ? r->period[k->spec->period] : 0;
    bool values = from != M_ONE;
    for (size_t i = 0; i < k->group.n && values; i++) {
        int64_t v = k->values[m].v[i];
        /* Chunks before the first one with a period are assumed to have the same period. */
        if (!v && from == M_PERIOD) v = period;
        s->values[s->to[i]] = v;
    }
    describe(r, k, &k->measures[m], builder_profile(&r->b));
    size_t at = 0;
    for (size_t g = 0; g < k->groups.n; g++) {
        const jgroup *x = &k->groups.v[g];
        builder_sample(&r->b, &(sample){.stack = x->stack,
                                        .link = x->link,
                                        .attrs = x->n_attrs ? k->attrs.v + x->attrs_at : NULL,
                                        .n_attrs = x->n_attrs,
                                        .values = values ? s->values + at : NULL,
                                        .n_values = values ? x->n : 0,
                                        .times = s->times + at,
                                        .n_times = x->n});
        at += x->n;
    }
}

static void emit_resource(jfr *r)
{
    keyvalue v[4];
    size_t n = 0;
    if (r->pid > 0)
        v[n++] = (keyvalue){.key = STR("process.pid"), .value = {.kind = ANY_INT, .i = r->pid}};
    const struct {
        str key, value;
    } texts[] = {{STR("process.runtime.name"), r->jvm_name},
                 {STR("process.runtime.description"), r->jvm_version},
                 {STR("os.description"), r->os}};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        str t = texts[i].value;
        if (t.n && t.n < UINT32_MAX)
            v[n++] = (keyvalue){.key = texts[i].key,
                                .value = {.kind = ANY_STRING, .n = (uint32_t)t.n, .s = t.p}};
    }
    builder_resource(&r->b, &(resource){.attrs = {v, n}, .present = n > 0});
    builder_scope(&r->b, NULL);
}

static bool emit_kind(jfr *r, const jkind *k)
{
    sorted s;
    if (!k->group.n) return true;
    if (!sort_rows(r, k, &s)) return false;
    for (size_t m = 0; m < k->n_measures; m++)
        if (k->known[m]) emit_measure(r, k, m, &s);
    return true;
}

/* Emits kinds in the order of the table, so that time on CPU comes first; then applications'
 * events. */
bool jfr_emit(jfr *r)
{
    emit_resource(r);
    for (size_t rank = 0; rank <= jfr_n_ranks(); rank++)
        for (size_t i = 0; i < r->kinds.n; i++)
            if (jfr_rank(r->kinds.v[i]) == rank && !emit_kind(r, r->kinds.v[i])) return false;
    if (!r->b.m.profiles.n) { /* a recording without samples still has a time range */
        profile *p = builder_profile(&r->b);
        p->sample_type.type = builder_string(&r->b, STR("samples"));
        p->sample_type.unit = builder_string(&r->b, STR("count"));
        describe_recording(r, p);
    }
    return true;
}
