/* Evaluates the matchers of a selector (filter.h). Each matcher is evaluated as early as possible:
 * for a series, then a profile, then single samples. Results for an attribute are cached while the
 * dictionary is the same. */
#include "store/filter.h"

#include "wire/attributes.h"
#include "wire/json.h"
#include "base/ban.h"

/* ---- labels ---- */

str label_text(const any *v, buf *scratch)
{
    if (v->kind == ANY_STRING) return any_str(v);
    if (v->kind == ANY_EMPTY) return (str){"", 0};
    buf_reset(scratch);
    json_out o = {.b = scratch};
    value_json(&o, v);
    return buf_view(scratch);
}

/* ---- matchers ---- */

static bool add_rule(filter *f, const store_matcher *m, err *e)
{
    if (f->n_rules == FILTER_MATCHERS)
        return err_set(e, ERR_USAGE, "a selector has at most %d matchers", FILTER_MATCHERS);
    filter_rule *r = &f->rules[f->n_rules++];
    *r = (filter_rule){.key = m->key, .op = m->op, .value = m->value};
    if (str_eq(m->key, STR("trace_id"))) r->id = FILTER_TRACE;
    if (str_eq(m->key, STR("span_id"))) r->id = FILTER_SPAN;
    f->needs_links |= r->id != FILTER_NO_ID;
    if (m->op != STORE_LIKE && m->op != STORE_NOT_LIKE) return true;
    return pattern_new_whole(m->value, "selector", &f->a, &r->pattern, e);
}

bool filter_open(filter *f, const store_selector *q, err *e)
{
    *f = (filter){.q = *q, .needs_links = q->trace_id || q->span_id};
    const char *slash = q->type.n ? memchr(q->type.p, '/', q->type.n) : NULL;
    f->type = slash ? (str){q->type.p, (size_t)(slash - q->type.p)} : q->type;
    if (slash) f->unit = (str){slash + 1, q->type.n - f->type.n - 1};
    for (size_t i = 0; i < q->n_matchers; i++)
        if (!add_rule(f, &q->matchers[i], e)) {
            filter_close(f);
            return false;
        }
    return true;
}

void filter_close(filter *f)
{
    for (size_t i = 0; i < f->n_rules; i++) pattern_free(f->rules[i].pattern);
    arena_free(&f->a);
    arena_free(&f->memory);
    buf_free(&f->scratch);
    series_index_free(&f->series);
    *f = (filter){0};
}

bool filter_index_series(filter *f, uint64_t seed, err *e)
{
    const store_series_list *l = f->q.series;
    f->a.seed = seed;
    for (uint32_t i = 0; l && i < l->n; i++)
        if (!series_index_add(&f->series, &f->a, l, i)) return err_memory(e);
    return true;
}

bool filter_dict(filter *f, const model *m, err *e)
{
    f->m = m;
    arena_reset(&f->memory);
    for (size_t i = 0; i < f->n_rules; i++) {
        f->rules[i].by_attribute = arena_zero(&f->memory, m->dict.attributes.n + 1);
        if (!f->rules[i].by_attribute) return err_memory(e);
    }
    return true;
}

static bool fits(const filter_rule *r, str text, bool *yes, err *e)
{
    if (r->pattern) {
        if (!pattern_match(r->pattern, text, yes, e)) return false;
    } else {
        *yes = str_eq(r->value, text);
    }
    if (r->op == STORE_IS_NOT || r->op == STORE_NOT_LIKE) *yes = !*yes;
    return true;
}

static const any *find_key(const keyvalues *kv, str key)
{
    for (size_t i = 0; i < kv->n; i++)
        if (str_eq(kv->v[i].key, key)) return &kv->v[i].value;
    return NULL;
}

const any *envelope_label(const resource *r, const scope *s, str key, any *made)
{
    const any *v = find_key(&r->attrs, key);
    if (v) return v;
    bool name = str_eq(key, STR("otel.scope.name")),
         version = str_eq(key, STR("otel.scope.version"));
    str text = name ? s->name : version ? s->version : (str){0};
    if (text.n) {
        *made = (any){.kind = ANY_STRING, .n = (uint32_t)text.n, .s = text.p};
        return made;
    }
    return find_key(&s->attrs, key);
}

bool filter_envelope(filter *f, const resource *r, const scope *s, filter_open_rules *open, err *e)
{
    *open = 0;
    for (size_t i = 0; i < f->n_rules; i++) {
        any made;
        bool yes = true;
        const any *v = f->rules[i].id ? NULL : envelope_label(r, s, f->rules[i].key, &made);
        if (v && !fits(&f->rules[i], label_text(v, &f->scratch), &yes, e)) return false;
        if (!yes) return *open = FILTER_NO, true;
        if (!v) *open |= UINT64_C(1) << i;
    }
    return true;
}

bool filter_type(const filter *f, str type, str unit)
{
    bool open = !f->type.n && !f->unit.p; /* "/" selects profiles without a type */
    return (open || str_eq(f->type, type)) && (!f->unit.p || str_eq(f->unit, unit));
}

bool filter_has_series(filter *f, const dict *d, const resource *r, const scope *s,
                       const profile *p, bool *yes, err *e)
{
    uint32_t at = 0;
    const store_series of = series_of_profile(d, r, s, p);
    if (f->q.series && !series_index_find(&f->series, f->q.series, &of, &at)) return err_memory(e);
    *yes = at != SERIES_ABSENT;
    return true;
}

/* Returns 1: the attribute has another key, 2: it matches, 3: it does not match; 0: failure. */
static unsigned match_attribute(filter *f, filter_rule *r, uint32_t i, err *e)
{
    if (r->by_attribute[i]) return r->by_attribute[i];
    const attribute *t = &f->m->dict.attributes.v[i];
    bool yes = false, same = str_eq(f->m->dict.strings.v[t->key], r->key);
    if (same && !fits(r, label_text(&t->value, &f->scratch), &yes, e)) return 0;
    return r->by_attribute[i] = !same ? 1 : yes ? 2 : 3;
}

/* Returns the result of match_attribute for the first attribute with the matcher's key; 1 when
 * there is none. */
static unsigned match_list(filter *f, filter_rule *r, const uint32_t *v, size_t n, err *e)
{
    for (size_t i = 0; i < n; i++) {
        unsigned result = match_attribute(f, r, v[i], e);
        if (result != 1) return result;
    }
    return 1;
}

bool filter_profile(filter *f, const profile *p, filter_open_rules *open, err *e)
{
    const dict *d = &f->m->dict;
    if (!filter_type(f, d->strings.v[p->sample_type.type], d->strings.v[p->sample_type.unit]))
        return *open = FILTER_NO, true;
    for (size_t i = 0; i < f->n_rules; i++) {
        if (!(*open >> i & 1) || f->rules[i].id) continue;
        unsigned result =
            match_list(f, &f->rules[i], refs_at(&d->attr_refs, p->attrs), p->attrs.n, e);
        if (!result) return false;
        if (result == 3) return *open = FILTER_NO, true;
        if (result == 2) *open &= ~(UINT64_C(1) << i);
    }
    return true;
}

static bool fits_link(const filter_rule *r, const link_ids *l, bool *yes, err *e)
{
    char hex[2 * sizeof l->trace_id + 1] = "";
    bool trace = r->id == FILTER_TRACE;
    size_t n = l ? trace ? sizeof l->trace_id : sizeof l->span_id : 0;
    if (n) hex_encode(trace ? l->trace_id : l->span_id, n, hex);
    return fits(r, (str){hex, 2 * n}, yes, e);
}

bool filter_sample(filter *f, const sample *s, const link_ids *l, filter_open_rules open, bool *yes,
                   err *e)
{
    *yes = true;
    for (size_t i = 0; *yes && i < f->n_rules; i++) {
        filter_rule *r = &f->rules[i];
        if (!(open >> i & 1)) continue;
        if (r->id) {
            if (!fits_link(r, l, yes, e)) return false;
            continue;
        }
        unsigned result = s ? match_list(f, r, s->attrs, s->n_attrs, e) : 1;
        if (!result) return false;
        if (result == 1 && !fits(r, (str){"", 0}, yes, e)) return false;
        if (result == 3) *yes = false;
    }
    return true;
}

/* Returns the results of all lists as bits: 1 << 1: one lacks the key, 1 << 2: one matches, 1 << 3:
 * one does not match; 0: failure. */
static unsigned match_lists(filter *f, filter_rule *r, const span *table, const u32s *lists, err *e)
{
    unsigned all = 0;
    for (size_t i = 0; i < lists->n && !(all >> 2 & 1); i++) {
        span s = table[lists->v[i]];
        unsigned result = match_list(f, r, refs_at(&f->m->dict.attr_refs, s), s.n, e);
        if (!result) return 0;
        all |= 1u << result;
    }
    return lists->n ? all : 1u << 1;
}

bool filter_series(filter *f, const span *table, const u32s *profiles, const u32s *samples,
                   filter_open_rules open, bool *may, err *e)
{
    *may = true;
    for (size_t i = 0; *may && i < f->n_rules; i++) {
        filter_rule *r = &f->rules[i];
        if (!(open >> i & 1) || r->id) continue;
        unsigned outer = match_lists(f, r, table, profiles, e),
                 inner = outer ? match_lists(f, r, table, samples, e) : 0;
        bool without; /* some samples may have no attributes */
        if (!inner || !fits(r, (str){"", 0}, &without, e)) return false;
        *may = outer >> 2 & 1 || (outer >> 1 & 1 && (without || inner >> 2 & 1));
    }
    return true;
}

bool filter_link(const filter *f, const link_ids *l)
{
    return l && (!f->q.trace_id || memcmp(f->q.trace_id, l->trace_id, 16) == 0) &&
           (!f->q.span_id || memcmp(f->q.span_id, l->span_id, 8) == 0);
}

/* ---- time ---- */

bool filter_cut(const filter *f, cutter *c, uint64_t moment, sample *s, bool *failed)
{
    if (!f->q.start && !f->q.end) return true;
    if (!s->n_times) return filter_has_time(f, moment);
    bool paired = s->n_values == s->n_times;
    if (!paired && s->n_values) return filter_has_time(f, s->times[0]);
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_times; i++) n += filter_has_time(f, s->times[i]);
    if (n == s->n_times || n == 0) return n != 0;
    c->times.n = c->values.n = 0;
    if (!vec_reserve(c->a, &c->times, n) || !vec_reserve(c->a, &c->values, n))
        return !(*failed = true);
    for (uint32_t i = 0; i < s->n_times; i++) {
        if (!filter_has_time(f, s->times[i])) continue;
        c->times.v[c->times.n++] = s->times[i];
        if (paired) c->values.v[c->values.n++] = s->values[i];
    }
    s->times = c->times.v;
    s->n_times = n;
    if (paired) {
        s->values = c->values.v;
        s->n_values = n;
    }
    return true;
}
