/* Rewrites the attribute and link columns of samples. Nothing is allocated for bodies without spans
 * and contexts, which are most. */
#include "pyroscope/envelope_links.h"

#include "pyroscope/envelope.h"
#include "base/hash.h"
#include "base/text.h"
#include "wire/carried.h"
#include "base/ban.h"

/* The use of an attribute of the dictionary. */
typedef enum use { USE_PLAIN, USE_SPAN, USE_TRACE, USE_CONTEXT } use;

typedef struct context_attrs { /* a context of the snapshot, once it was used */
    bool made;
    u32s attrs;
    link_ids ids;
} context_attrs;

typedef struct rewriting {
    const labels_snapshot *jfr;
    model *m;
    arena *a;
    uint8_t *use; /* by attribute */
    size_t n_use;
    hash_index links;
    context_attrs *contexts; /* by index in the snapshot */
    u32s row;
} rewriting;

/* ---- the dictionary ---- */

static use use_of_text(str key, const any *v)
{
    link_ids ids;
    if (v->kind != ANY_STRING) return USE_PLAIN;
    bool is_span = str_eq(key, STR("span_id")) || str_eq(key, STR("profile_id")) ||
                   str_eq(key, STR(KILN_ATTR_JFR_SPAN_ID));
    bool is_trace = str_eq(key, STR("trace_id")) || str_eq(key, STR(KILN_ATTR_JFR_TRACE_ID));
    if (is_span && hex_bytes(any_str(v), ids.span_id, 8) && !id_is_zero(ids.span_id, 8))
        return USE_SPAN;
    if (is_trace && hex_bytes(any_str(v), ids.trace_id, 16) && !id_is_zero(ids.trace_id, 16))
        return USE_TRACE;
    return USE_PLAIN;
}

static use use_of(const rewriting *x, const attribute *t)
{
    str key = dict_str(&x->m->dict, t->key);
    if (x->jfr && t->value.kind == ANY_INT && str_eq(key, STR(KILN_ATTR_JFR_CONTEXT_ID)))
        return USE_CONTEXT;
    return use_of_text(key, &t->value);
}

/* Finds the use of each attribute. Returns false when out of memory. */
static bool find_uses(rewriting *x, bool *found)
{
    const dict *d = &x->m->dict;
    x->n_use = d->attributes.n;
    x->use = arena_new(x->a, uint8_t, x->n_use);
    if (!x->use) return false;
    for (size_t i = 0; i < x->n_use; i++) {
        x->use[i] = (uint8_t)use_of(x, &d->attributes.v[i]);
        *found |= x->use[i] == USE_SPAN || x->use[i] == USE_CONTEXT;
    }
    return true;
}

/* Returns the index of an attribute, which may be new; 0: out of memory. Contexts are few, so a
 * search is enough. */
static uint32_t attribute_of(rewriting *x, const pyro_label *l)
{
    dict *d = &x->m->dict;
    any value = {.kind = ANY_STRING, .n = (uint32_t)l->value.n, .s = l->value.p};
    bool failed = false;
    uint32_t key = pyro_intern(x->m, l->name, x->a, &failed);
    for (size_t i = 1; !failed && i < d->attributes.n; i++)
        if (d->attributes.v[i].key == key && !d->attributes.v[i].unit &&
            any_equal(&d->attributes.v[i].value, &value))
            return (uint32_t)i;
    attribute *t = failed ? NULL : vec_push(x->a, &d->attributes);
    if (!t) return 0;
    *t = (attribute){.key = key, .value = value};
    return (uint32_t)(d->attributes.n - 1);
}

/* Returns the index of a link; 0: out of memory. */
static uint32_t link_of(rewriting *x, const link_ids *ids)
{
    dict *d = &x->m->dict;
    if (!hash_index_room(&x->links, x->a)) return 0;
    uint64_t h = hash_bytes(ids, sizeof *ids, x->links.seed);
    uint32_t i = hash_first(&x->links, h);
    for (uint32_t at; hash_next(&x->links, &i, h, &at); i++)
        if (!memcmp(&d->links.v[at], ids, sizeof *ids)) return at;
    link_ids *l = vec_push(x->a, &d->links);
    if (!l) return 0;
    *l = *ids;
    hash_put(&x->links, i, h, (uint32_t)(d->links.n - 1));
    return (uint32_t)(d->links.n - 1);
}

/* ---- contexts ---- */

static void take_id(str key, str text, link_ids *ids)
{
    link_ids own;
    any v = {.kind = ANY_STRING, .n = (uint32_t)text.n, .s = text.p};
    use u = use_of_text(key, &v);
    if (u == USE_SPAN && hex_bytes(text, own.span_id, 8)) memcpy(ids->span_id, own.span_id, 8);
    if (u == USE_TRACE && hex_bytes(text, own.trace_id, 16))
        memcpy(ids->trace_id, own.trace_id, 16);
}

static bool make_context(rewriting *x, size_t i)
{
    const pyro_labels *l = &x->jfr->contexts.v[i].labels;
    context_attrs *c = &x->contexts[i];
    c->made = true;
    for (size_t k = 0; k < l->n; k++) {
        any v = {.kind = ANY_STRING, .n = (uint32_t)l->v[k].value.n, .s = l->v[k].value.p};
        if (use_of_text(l->v[k].name, &v) != USE_PLAIN) {
            take_id(l->v[k].name, l->v[k].value, &c->ids);
            continue;
        }
        uint32_t attr = attribute_of(x, &l->v[k]), *slot = attr ? vec_push(x->a, &c->attrs) : NULL;
        if (!slot) return false;
        *slot = attr;
    }
    return true;
}

/* Adds the attributes of a context to the row, except those whose key the sample already has. */
static bool add_context(rewriting *x, int64_t id, link_ids *ids)
{
    const dict *d = &x->m->dict;
    ptrdiff_t at = labels_snapshot_find(x->jfr, (uint64_t)id);
    if (at < 0) return true;
    if (!x->contexts) x->contexts = arena_new(x->a, context_attrs, x->jfr->contexts.n);
    if (!x->contexts || (!x->contexts[at].made && !make_context(x, (size_t)at))) return false;
    const context_attrs *c = &x->contexts[at];
    if (!id_is_zero(c->ids.span_id, 8)) *ids = c->ids;
    for (size_t i = 0; i < c->attrs.n; i++) {
        bool has = false;
        for (size_t k = 0; k < x->row.n; k++)
            has |= d->attributes.v[x->row.v[k]].key == d->attributes.v[c->attrs.v[i]].key;
        uint32_t *slot = has ? NULL : vec_push(x->a, &x->row);
        if (!has && !slot) return false;
        if (slot) *slot = c->attrs.v[i];
    }
    return true;
}

/* ---- samples ---- */

/* Puts the attributes that the sample keeps into the row and its ids into *ids. */
static bool take_row(rewriting *x, const sample *s, link_ids *ids)
{
    const dict *d = &x->m->dict;
    int64_t context = 0;
    size_t trace = SIZE_MAX; /* position in the row */
    link_ids own = {0};
    x->row.n = 0;
    if (!vec_reserve(x->a, &x->row, s->n_attrs)) return false;
    for (uint32_t i = 0; i < s->n_attrs; i++) {
        const attribute *t = &d->attributes.v[s->attrs[i]];
        switch ((use)x->use[s->attrs[i]]) {
        case USE_SPAN: take_id(dict_str(d, t->key), any_str(&t->value), &own); break;
        case USE_TRACE:
            take_id(dict_str(d, t->key), any_str(&t->value), &own);
            trace = x->row.n;
            x->row.v[x->row.n++] = s->attrs[i];
            break;
        case USE_CONTEXT: context = t->value.i; break;
        case USE_PLAIN: x->row.v[x->row.n++] = s->attrs[i]; break;
        }
    }
    if (context && !add_context(x, context, ids)) return false;
    if (id_is_zero(own.span_id, 8)) return true; /* a trace without a span stays an attribute */
    *ids = own;
    if (trace < x->row.n)
        memmove(&x->row.v[trace], &x->row.v[trace + 1], (--x->row.n - trace) * sizeof *x->row.v);
    return true;
}

static bool has_work(const rewriting *x, const model *m, const profile *p)
{
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(m, p, i);
        for (uint32_t k = 0; !s.link && k < s.n_attrs; k++)
            if (x->use[s.attrs[k]] == USE_SPAN || x->use[s.attrs[k]] == USE_CONTEXT) return true;
    }
    return false;
}

static bool rewrite(rewriting *x, profile *p)
{
    model *m = x->m;
    uint32_t *off = arena_new(x->a, uint32_t, p->n_samples + 1);
    uint32_t *link = arena_new(x->a, uint32_t, p->n_samples + 1);
    if (!off || !link) return false;
    off[0] = (uint32_t)m->sample_attrs.n;
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(m, p, i);
        link_ids ids = {0};
        link[i] = s.link;
        x->row.n = 0;
        if (!s.link && !take_row(x, &s, &ids)) return false;
        if (!s.link && !id_is_zero(ids.span_id, 8) && !(link[i] = link_of(x, &ids))) return false;
        size_t n = s.link ? s.n_attrs : x->row.n;
        if (m->sample_attrs.n > UINT32_MAX - n || !vec_reserve(x->a, &m->sample_attrs, n))
            return false;
        const uint32_t *from =
            !s.link ? x->row.v : sample_at(m, p, i).attrs; /* the pool may have moved */
        if (n) memcpy(m->sample_attrs.v + m->sample_attrs.n, from, n * sizeof *from);
        m->sample_attrs.n += n;
        off[i + 1] = (uint32_t)m->sample_attrs.n;
    }
    p->attr_span = (spans){.off = off};
    p->link = link;
    return true;
}

/* Profiles of one pprof share their columns. */
static bool same_columns(const profile *a, const profile *b)
{
    return a->n_samples == b->n_samples && a->link == b->link &&
           a->attr_span.off == b->attr_span.off && a->attr_span.base == b->attr_span.base &&
           a->attr_span.stride == b->attr_span.stride;
}

bool pyro_envelope_links(const labels_snapshot *jfr, model *m, arena *a)
{
    rewriting x = {.jfr = jfr, .m = m, .a = a};
    bool found = false;
    if (!find_uses(&x, &found)) return false;
    if (!found) return true;
    if (!m->dict.links.n && !vec_push(a, &m->dict.links)) return false; /* entry 0: no link */
    profile old = {0}, new = {0};
    for (size_t i = 0; i < m->profiles.n; i++) {
        profile *p = &m->profiles.v[i];
        if (new.n_samples && same_columns(p, &old)) {
            p->attr_span = new.attr_span, p->link = new.link;
            continue;
        }
        if (!has_work(&x, m, p)) continue;
        old = *p;
        if (!rewrite(&x, p)) return false;
        new = *p;
    }
    return true;
}
