#include "model/merge.h"

#include "model/internal.h"

#include "base/ban.h"

static bool remap_init(remap *r, const model *m, arena *a)
{
    const dict *d = &m->dict;
    *r = (remap){.m = m,
                 .string = arena_new(a, uint32_t, d->strings.n),
                 .mapping = arena_new(a, uint32_t, d->mappings.n),
                 .function = arena_new(a, uint32_t, d->functions.n),
                 .location = arena_new(a, uint32_t, d->locations.n),
                 .link = arena_new(a, uint32_t, d->links.n),
                 .attribute = arena_new(a, uint32_t, d->attributes.n),
                 .stack = arena_new(a, uint32_t, dict_n_stacks(d))};
    return r->string && r->mapping && r->function && r->location && r->link && r->attribute &&
           r->stack;
}

#define MAPPED(slot, make) (LIKELY(slot) ? (slot)-1 : ((slot) = (make) + 1) - 1)

uint32_t merge_string(merger *x, remap *r, uint32_t i)
{
    return MAPPED(r->string[i], builder_string(&x->b, r->m->dict.strings.v[i]));
}

uint32_t merge_attribute(merger *x, remap *r, uint32_t i)
{
    const attribute *t = &r->m->dict.attributes.v[i];
    const dict *d = &r->m->dict;
    return MAPPED(r->attribute[i],
                  builder_attribute(&x->b, d->strings.v[t->key], &t->value, d->strings.v[t->unit]));
}

/* Translates a list of attribute indices into scratch; an index that became 0 says nothing. */
bool merge_attrs(merger *x, remap *r, const uint32_t *v, size_t n)
{
    x->scratch.n = 0;
    if (!vec_reserve(x->a, &x->scratch, n)) return !(x->b.failed = true);
    for (size_t i = 0; i < n; i++) x->scratch.v[i] = merge_attribute(x, r, v[i]);
    x->scratch.n = n;
    return true;
}

static uint32_t make_mapping(merger *x, remap *r, uint32_t i)
{
    const mapping *from = &r->m->dict.mappings.v[i];
    mapping to = *from;
    to.filename = merge_string(x, r, from->filename);
    if (!merge_attrs(x, r, refs_at(&r->m->dict.attr_refs, from->attrs), from->attrs.n)) return 0;
    return builder_mapping(&x->b, &to, x->scratch.v, x->scratch.n);
}

static uint32_t make_function(merger *x, remap *r, uint32_t i)
{
    function f = r->m->dict.functions.v[i];
    f.name = merge_string(x, r, f.name);
    f.system_name = merge_string(x, r, f.system_name);
    f.filename = merge_string(x, r, f.filename);
    return builder_function(&x->b, &f);
}

static uint32_t make_location(merger *x, remap *r, uint32_t i)
{
    const dict *d = &r->m->dict;
    const location *from = &d->locations.v[i];
    uint32_t mapping_i = MAPPED(r->mapping[from->mapping], make_mapping(x, r, from->mapping));
    x->lines.n = 0;
    if (!vec_reserve(x->a, &x->lines, from->lines.n)) return x->b.failed = true, 0;
    for (uint32_t k = 0; k < from->lines.n; k++) {
        line l = d->lines.v[from->lines.at + k];
        l.function = MAPPED(r->function[l.function], make_function(x, r, l.function));
        x->lines.v[k] = l;
    }
    if (!merge_attrs(x, r, refs_at(&d->attr_refs, from->attrs), from->attrs.n)) return 0;
    return builder_location(&x->b, mapping_i, from->address, x->lines.v, from->lines.n,
                            x->scratch.v, x->scratch.n);
}

static uint32_t make_stack(merger *x, remap *r, uint32_t i)
{
    const dict *d = &r->m->dict;
    span s = dict_stack(d, i);
    u32s to = {0};
    if (!vec_reserve(x->a, &to, s.n)) return x->b.failed = true, 0;
    for (uint32_t k = s.n; k-- > 0;) { /* from the root: what stacks share is numbered first */
        uint32_t l = d->frames.v[s.at + k];
        to.v[k] = MAPPED(r->location[l], make_location(x, r, l));
    }
    uint32_t index = builder_stack(&x->b, to.v, s.n);
    arena_trim(x->a, to.v, to.cap * sizeof *to.v, 0);
    return index;
}

uint32_t merge_stack(merger *x, remap *r, uint32_t i)
{
    return MAPPED(r->stack[i], make_stack(x, r, i));
}

uint32_t merge_link(merger *x, remap *r, uint32_t i)
{
    const link_ids *l = &r->m->dict.links.v[i];
    return MAPPED(r->link[i], builder_link(&x->b, l->trace_id, l->span_id));
}

/* ---- profiles ---- */

int merge_by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

void merge_profile_head(merger *x, remap *r, const profile *p)
{
    value_type sample_type = {merge_string(x, r, p->sample_type.type),
                              merge_string(x, r, p->sample_type.unit)};
    value_type period_type = {merge_string(x, r, p->period_type.type),
                              merge_string(x, r, p->period_type.unit)};
    profile *q = builder_profile(&x->b);
    q->sample_type = sample_type;
    q->has_sample_type = p->has_sample_type;
    q->period_type = period_type;
    q->period = p->period;
    q->time_unix_nano = p->time_unix_nano;
    q->duration_nano = p->duration_nano;
    memcpy(q->profile_id, p->profile_id, sizeof q->profile_id);
    q->dropped_attributes_count = p->dropped_attributes_count;
    q->original_payload_format = builder_copy_str(&x->b, p->original_payload_format);
    q->original_payload = builder_copy_str(&x->b, p->original_payload);
    if (merge_attrs(x, r, refs_at(&r->m->dict.attr_refs, p->attrs), p->attrs.n))
        builder_profile_attrs(&x->b, x->scratch.v, x->scratch.n);
}

static bool copy_samples(merger *x, remap *r, const profile *p)
{
    u32s attrs = {0};
    uint64_t *order = NULL;
    if (x->rank && !merge_sample_order(p, x->rank, x->n_ranks, x->a, &order)) return false;
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(r->m, p, order ? (uint32_t)order[i] : i);
        s.stack = merge_stack(x, r, s.stack);
        s.link = merge_link(x, r, s.link);
        attrs.n = 0;
        if (!vec_reserve(x->a, &attrs, s.n_attrs)) return false;
        for (uint32_t k = 0; k < s.n_attrs; k++) attrs.v[k] = merge_attribute(x, r, s.attrs[k]);
        /* Sets, after joining: by their new numbers, so that doing it again changes nothing. */
        if (x->rank && x->o.join && s.n_attrs > 1)
            qsort(attrs.v, s.n_attrs, sizeof *attrs.v, merge_by_number);
        s.attrs = attrs.v;
        builder_sample(&x->b, &s);
    }
    return true;
}

static bool merge_apart(merger *x)
{
    for (size_t i = 0; i < x->n; i++) {
        const model *m = x->in[i].m;
        for (size_t r = 0; r < m->resources.n; r++) {
            const resource *res = &m->resources.v[r];
            builder_resource(&x->b, res);
            for (uint32_t s = res->first_scope; s < res->first_scope + res->n_scopes; s++) {
                const scope *sc = &m->scopes.v[s];
                builder_scope(&x->b, sc);
                for (uint32_t k = sc->first_profile; k < sc->first_profile + sc->n_profiles; k++) {
                    merge_profile_head(x, &x->in[i], &m->profiles.v[k]);
                    if (!copy_samples(x, &x->in[i], &m->profiles.v[k])) return false;
                }
            }
        }
    }
    return true;
}

static bool merge_into(const model *const *in, size_t n, const merge_opts *o, arena *a, arena *work,
                       model *out, err *e)
{
    merger x = {.a = work, .n = n, .o = *o};
    bool ok = builder_init(&x.b, a) && (x.in = arena_new(work, remap, n));
    x.b.borrow = !o->copy_strings;
    for (size_t i = 0; ok && i < n; i++) ok = remap_init(&x.in[i], in[i], work);
    ok = ok && (o->join ? merge_joined(&x) : merge_apart(&x));
    if (!ok) x.b.failed = true;
    return builder_finish(&x.b, out, e);
}

/* One model in canonical order: its stacks are taken in that order first, so that locations,
 * functions and strings are numbered along it. */
static bool reorder(const model *m, const merge_opts *o, arena *a, arena *work, model *out, err *e)
{
    merger x = {.a = work, .n = 1, .o = *o};
    uint32_t *order = NULL;
    bool ok = builder_init(&x.b, a) && (x.in = arena_new(work, remap, 1)) &&
              remap_init(&x.in[0], m, work) &&
              merge_stack_order(m, work, &x.rank, &order, &x.n_ranks);
    x.b.borrow = !o->copy_strings;
    for (size_t i = 0; ok && i < x.n_ranks; i++) merge_stack(&x, &x.in[0], order[i]);
    ok = ok && merge_apart(&x);
    if (!ok) x.b.failed = true;
    return builder_finish(&x.b, out, e);
}

bool model_merge(const model *const *in, size_t n, const merge_opts *o, arena *a, model *out,
                 err *e)
{
    static const merge_opts defaults;
    if (!o) o = &defaults;
    arena work = arena_beside(a), first = arena_beside(a);
    bool ok;
    if (o->canonical && n == 1 && !o->join) {
        ok = reorder(in[0], o, a, &work, out, e);
    } else if (o->canonical) {
        model joined;
        ok = merge_into(in, n, o, &first, &work, &joined, e);
        arena_reset(&work);
        ok = ok && reorder(&joined, o, a, &work, out, e);
    } else {
        ok = merge_into(in, n, o, a, &work, out, e);
    }
    arena_free(&first);
    arena_free(&work);
    return ok;
}

bool model_gc(const model *in, arena *a, model *out, err *e)
{
    return model_merge(&in, 1, NULL, a, out, e);
}
