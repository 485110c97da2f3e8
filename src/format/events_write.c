/* Writes dialect C: a bare Profile if that represents all data, otherwise one in containers
 * (1.3). */
#include "format/events_write.h"

#include "base/ban.h"

/* ---- types of a profile ---- */

/* Whether q has the counts that belong to the sums of p (format/events.h). */
static bool is_pair(const dw *w, const profile *p, const profile *q)
{
    const dict *d = &w->m->dict;
    str unit = dict_str(d, q->sample_type.unit);
    if (p->sample_type.type != q->sample_type.type || !str_eq(unit, STR("1")) ||
        str_eq(dict_str(d, p->sample_type.unit), STR("1")) || p->attrs.n != q->attrs.n ||
        !p->n_samples)
        return false;
    for (uint32_t i = 0; i < p->attrs.n; i++)
        if (d->attr_refs.v[p->attrs.at + i] != d->attr_refs.v[q->attrs.at + i]) return false;
    if (!dw_aligned(w, p, q)) return false;
    for (size_t i = 0; i < q->n_samples; i++) {
        sample sums = sample_at(w->m, p, i), counts = sample_at(w->m, q, i);
        if (sums.n_values != 1 || counts.n_values != 1 || sums.n_times > 1 ||
            counts.values[0] < 1 || sums.values[0] < 1)
            return false;
    }
    return true;
}

/* Returns the smallest time; 0 when there is none. */
static uint64_t first_time(const dw *w, const profile *p)
{
    uint64_t min = UINT64_MAX;
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(w->m, p, i);
        for (uint32_t k = 0; k < s.n_times; k++)
            if (s.times[k] < min) min = s.times[k];
    }
    return min == UINT64_MAX ? 0 : min;
}

static bool positive_int(const any *v) { return v->kind == ANY_INT && v->i > 0; }

/* Reads a clock from an attribute. Returns false when the attribute is not a clock. */
static bool carried_clock(const any *v, cw_clock *out)
{
    *out = (cw_clock){.index = -1};
    for (uint32_t i = 0; v && i < v->n; i++) {
        const keyvalue *kv = &v->kvlist[i];
        if (str_eq(kv->key, STR("frequency")) && positive_int(&kv->value))
            out->frequency = (uint64_t)kv->value.i;
        else if (str_eq(kv->key, STR("time_unix_nano")) && kv->value.kind == ANY_INT)
            out->time_unix_nano = (uint64_t)kv->value.i;
        else if (str_eq(kv->key, STR("index")) && kv->value.kind == ANY_INT)
            out->index = kv->value.i;
        else if (str_eq(kv->key, STR("attributes")) && kv->value.kind == ANY_KVLIST)
            out->attrs = &kv->value;
        else
            return false;
    }
    return v && out->frequency;
}

static bool same_clock(const cw_clock *a, const cw_clock *b)
{
    return a->index == b->index && a->frequency == b->frequency &&
           a->time_unix_nano == b->time_unix_nano && !a->attrs == !b->attrs &&
           (!a->attrs || any_equal(a->attrs, b->attrs));
}

/* Returns the clock of a profile with times: that of the input, or a new one in ns. */
static uint32_t clock_of(cw *c, const profile *p)
{
    cw_clock k;
    if (!carried_clock(dw_profile_attr(&c->w, p, ROLE_EVENT_CLOCK), &k))
        k = (cw_clock){.index = -1,
                       .frequency = 1000000000,
                       .time_unix_nano =
                           p->time_unix_nano ? p->time_unix_nano : first_time(&c->w, p)};
    for (uint32_t i = 0; i < c->clocks.n; i++)
        if (same_clock(&c->clocks.v[i], &k)) return i;
    cw_clock *slot = vec_push(&c->w.tmp, &c->clocks);
    if (!slot) return c->w.failed = true, 0;
    *slot = k;
    return (uint32_t)(c->clocks.n - 1);
}

/* Whether events without times can represent the sizes of a type: all are above 0. */
static bool countable(const dw *w, const profile *p)
{
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(w->m, p, i);
        if (s.n_times) continue;
        if (!s.n_values) return false;
        for (uint32_t k = 0; k < s.n_values; k++)
            if (s.values[k] < 1) return false;
    }
    return true;
}

static bool times_only(const dw *w, const profile *p)
{
    for (size_t i = 0; i < p->n_samples; i++)
        if (sample_at(w->m, p, i).n_values) return false;
    return p->n_samples > 0;
}

static void look_at(const dw *w, const profile *p, bool *timed, bool *untimed)
{
    *timed = *untimed = false;
    for (size_t i = 0; i < p->n_samples; i++) {
        bool t = sample_at(w->m, p, i).n_times != 0;
        *timed |= t;
        *untimed |= !t;
    }
}

static cw_type *new_type(cw *c, const profile *p, const profile *counts)
{
    dw *w = &c->w;
    const dict *d = &w->m->dict;
    cw_type *t = vec_push(&w->tmp, &c->types);
    if (!t) return w->failed = true, NULL;
    const any *by_default = dw_profile_attr(w, p, ROLE_EVENT_DEFAULT),
              *unit = dw_profile_attr(w, p, ROLE_EVENT_UNIT);
    *t = (cw_type){.p = p,
                   .counts = counts,
                   .name = dict_str(d, p->sample_type.type),
                   .unit = dict_str(d, p->sample_type.unit),
                   .default_value = by_default ? (uint64_t)by_default->i : 0,
                   .takes = TAKES(EVENT_DEFAULT) | TAKES(COMMENT)};
    bool was_event = by_default || dw_profile_attr(w, p, ROLE_EVENT_CLOCK);
    if (!t->name.n && !t->unit.n && !was_event) {
        t->name = STR("samples"); /* the default type */
        dw_note(w, LOSS_VALUE_TYPE, NULL, t->name, "sample_type");
    }
    bool ns = str_eq(t->unit, STR("ns"));
    if (dw_profile_attr(w, p, ROLE_EVENT_INTERVAL) && !counts &&
        (ns || str_eq(t->unit, STR("nanoseconds")))) {
        t->interval = true;
        t->takes |= TAKES(EVENT_INTERVAL);
        if (!ns) dw_note(w, LOSS_VALUE_TYPE, KILN_ATTR_EVENT_UNIT, t->unit, "sample_type");
        if (unit) t->takes |= TAKES(EVENT_UNIT);
        if (ns) t->unit = unit ? any_str(unit) : (str){"", 0};
    }
    return t;
}

/* Adds one type, or two when only some samples have times. */
void cw_types_of(cw *c, const profile *p, const profile *counts)
{
    dw *w = &c->w;
    bool timed, untimed;
    cw_clock k;
    look_at(w, p, &timed, &untimed);
    bool carried = carried_clock(dw_profile_attr(w, p, ROLE_EVENT_CLOCK), &k);
    if (!timed && !untimed) timed = carried;
    if (timed && untimed) {
        dw_note(w, LOSS_SAMPLE_SHAPE, NULL, (str){0}, "samples");
        /* A reader derives ids from positions of types, so later types get other ids. */
        if (!id_is_zero(p->profile_id, 16))
            dw_note(w, LOSS_PROFILE_ID, NULL, (str){0}, "profile_id");
    }
    if (timed) {
        cw_type *t = new_type(c, p, counts);
        if (!t) return;
        t->clocked = true;
        t->clock = clock_of(c, p);
        if (carried) t->takes |= TAKES(EVENT_CLOCK);
        if (!t->default_value && times_only(w, p)) t->default_value = 1; /* each time counts 1 */
        if (!untimed) return;
    }
    cw_type *t = new_type(c, p, counts);
    if (!t) return;
    bool given = dw_profile_attr(w, p, ROLE_EVENT_DEFAULT) != NULL;
    if (!given && !counts && is_count_unit(t->unit) && countable(w, p)) t->default_value = 1;
    t->interval = false;
}

/* ---- groups ---- */

/* Whether two profiles can share a message, which has one time and its own comments. Other
 * attributes belong to types. */
static bool same_message(const dw *w, const profile *a, size_t k)
{
    const profile *b = a + k;
    return dw_same_id(a, k) && a->time_unix_nano == b->time_unix_nano &&
           a->duration_nano == b->duration_nano &&
           a->dropped_attributes_count == b->dropped_attributes_count && !b->original_payload.n &&
           !b->original_payload_format.n &&
           dw_profile_attr(w, a, ROLE_COMMENT) == dw_profile_attr(w, b, ROLE_COMMENT);
}

static size_t group_at(const dw *w, const scope *s, size_t i)
{
    const profile *p = &w->m->profiles.v[s->first_profile + i];
    size_t n = 1;
    while (i + n < s->n_profiles && same_message(w, p, n)) n++;
    return n;
}

/* Whether the profile has only times and comments, so that the message has no types. */
static bool has_no_type(const dw *w, const profile *p)
{
    return !p->n_samples && !p->sample_type.type && !p->sample_type.unit &&
           p->attrs.n == (dw_profile_attr(w, p, ROLE_COMMENT) ? 1 : 0);
}

static void lose_period(dw *w, const profile *p)
{
    snprintf(w->where, sizeof w->where, "profiles[%zu]", (size_t)(p - w->m->profiles.v));
    if (p->period || p->period_type.type || p->period_type.unit)
        dw_note(w, LOSS_PERIOD, NULL, dict_str(&w->m->dict, p->period_type.type), "period");
}

static void put_group(cw *c, const profile *p, size_t n)
{
    for (size_t i = 0; i < n; i++) lose_period(&c->w, &p[i]);
    if (n == 1 && has_no_type(&c->w, p)) n = 0;
    for (size_t i = 0; i < n; i++) {
        bool pair = i + 1 < n && is_pair(&c->w, &p[i], &p[i + 1]);
        snprintf(c->w.where, sizeof c->w.where, "profiles[%zu]",
                 (size_t)(&p[i] - c->w.m->profiles.v));
        cw_types_of(c, &p[i], pair ? &p[i + 1] : NULL);
        i += pair;
    }
    cw_put_profile(c, p);
    c->clocks.v = NULL;
    c->clocks.n = c->clocks.cap = 0;
    c->types.v = NULL;
    c->types.n = c->types.cap = 0;
    c->extra.v = NULL;
    c->extra.n = c->extra.cap = 0;
    dw_reset(&c->w);
}

static void put_box(cw *c, const profile *p, size_t n)
{
    dw *w = &c->w;
    buf *b = w->out;
    size_t at = dw_begin(b, 2), id = dw_id(w, p);
    dw_fixed64(b, 2, p->time_unix_nano);
    dw_fixed64(b, 3, dw_end_time(w, p));
    dw_uint(b, 5, p->dropped_attributes_count);
    dw_text(b, 6, p->original_payload_format);
    dw_text(b, 7, p->original_payload);
    size_t in = dw_begin(b, 8);
    put_group(c, p, n);
    dw_end(b, in);
    dw_id_end(w, p, id);
    dw_end(b, at);
}

static void put_scope(dw *w, const scope *s)
{
    cw *c = (cw *)(void *)w; /* w is the first member */
    for (size_t i = 0; i < s->n_profiles && !w->failed;) {
        size_t n = group_at(w, s, i);
        put_box(c, &w->m->profiles.v[s->first_profile + i], n);
        i += n;
    }
}

/* ---- the message ---- */

/* Whether a bare Profile can represent all data, except the id and schema URLs. */
static bool can_be_bare(const dw *w)
{
    const model *m = w->m;
    if (m->resources.n > 1 || m->scopes.n > 1 || (m->resources.n && !m->profiles.n)) return false;
    if (m->resources.n) {
        const resource *r = &m->resources.v[0];
        if (r->attrs.n || r->n_entity_refs || r->dropped_attributes_count) return false;
    }
    if (!m->scopes.n) return true;
    const scope *s = &m->scopes.v[0];
    if (s->attrs.n || s->name.n || s->version.n || s->dropped_attributes_count) return false;
    if (!s->n_profiles) return true;
    const profile *p = &m->profiles.v[s->first_profile];
    return group_at(w, s, 0) == s->n_profiles && !p->dropped_attributes_count &&
           !p->original_payload.n && !p->original_payload_format.n;
}

static void put_bare(cw *c)
{
    static const profile nothing;
    dw *w = &c->w;
    const model *m = w->m;
    str url = m->resources.n ? m->resources.v[0].schema_url : (str){0};
    if (!url.n && m->scopes.n) url = m->scopes.v[0].schema_url;
    if (url.n) dw_note(w, LOSS_RESOURCE, NULL, url, "schema_url");
    if (!m->profiles.n) {
        cw_put_profile(c, &nothing);
        return;
    }
    if (!id_is_zero(m->profiles.v[0].profile_id, 16))
        dw_note(w, LOSS_PROFILE_ID, NULL, (str){0}, "profile_id");
    put_group(c, m->profiles.v, m->profiles.n);
}

bool events_encode(const model *m, const write_opts *o, buf *out, dialect *root, err *e)
{
    cw c = {0};
    *root = DIALECT_C;
    if (dw_open(&c.w, m, o, out)) {
        if (can_be_bare(&c.w)) {
            put_bare(&c);
        } else {
            *root = DIALECT_C_BOX;
            dw_envelope(&c.w, put_scope);
        }
    }
    return dw_close(&c.w, true, e);
}
