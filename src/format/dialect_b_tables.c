/* Writes the tables of dialect B. Stacks are slices of location_indices that may share root ends,
 * and an attribute key has one unit. */
#include "format/dialect_b.h"

#include "wire/otlp.h"
#include "base/ban.h"

/* ---- stacks ---- */

enum { SHARED_FRAMES_PER_BYTE = 16 }; /* readers reject a message that expands too far */

typedef struct suffix {
    span at;
    uint64_t hash; /* 64 bits, so that hardly any suffixes must be compared */
} suffix;

typedef struct slicer {
    dw *w;
    b_slices *to;
    hash_index suffixes; /* root ends of stacks */
    VEC(suffix) known;
    uint64_t shared; /* number of frames that slices may still share */
} slicer;

/* Returns the position in w->locations of the k-th location of a stack, leaf first. */
static uint32_t frame(const slicer *x, span s, uint32_t k)
{
    const dict *d = &x->w->m->dict;
    return x->w->locations.to[d->frames.v[s.at + k]] - 1;
}

static bool same_frames(const slicer *x, span slice, span stack)
{
    for (uint32_t k = 0; k < stack.n; k++)
        if (x->to->indices.v[slice.at + k] != frame(x, stack, k)) return false;
    return true;
}

static uint64_t hash_stack(const slicer *x, span s)
{
    uint64_t h = x->suffixes.seed;
    for (uint32_t k = s.n; k-- > 0;) h = hash_mix(h, frame(x, s, k));
    return h;
}

/* Appends a stack and makes its root ends available for sharing. */
static bool append(slicer *x, span s, span *slice)
{
    dw *w = x->w;
    *slice = (span){(uint32_t)x->to->indices.n, s.n};
    for (uint32_t k = 0; k < s.n; k++) {
        uint32_t *slot = vec_push(&w->tmp, &x->to->indices);
        if (!slot) return false;
        *slot = frame(x, s, k);
    }
    uint64_t h = w->tmp.seed;
    for (uint32_t k = s.n; k-- > 0;) {
        if (!hash_index_room(&x->suffixes, &w->tmp)) return false;
        h = hash_mix(h, frame(x, s, k));
        uint32_t i = hash_first(&x->suffixes, h), at;
        bool there = false;
        for (; !there && hash_next(&x->suffixes, &i, h, &at); i++)
            there = x->known.v[at].at.n == s.n - k && x->known.v[at].hash == h;
        if (there) continue;
        suffix *slot = vec_push(&w->tmp, &x->known);
        if (!slot) return false;
        *slot = (suffix){{slice->at + k, s.n - k}, h};
        hash_put(&x->suffixes, i, h, (uint32_t)(x->known.n - 1));
    }
    return true;
}

static bool share(slicer *x, span s, span *slice)
{
    if (s.n > x->shared || !x->suffixes.n) return false;
    uint64_t h = hash_stack(x, s);
    uint32_t i = hash_first(&x->suffixes, h);
    for (uint32_t at; hash_next(&x->suffixes, &i, h, &at); i++) {
        span there = x->known.v[at].at;
        if (there.n != s.n || !same_frames(x, there, s)) continue;
        x->shared -= s.n;
        *slice = there;
        return true;
    }
    return false;
}

typedef struct by_length {
    uint32_t n, position;
} by_length;

static int longest_first(const void *a, const void *b)
{
    const by_length *x = a, *y = b;
    if (x->n != y->n) return x->n > y->n ? -1 : 1;
    return x->position < y->position ? -1 : x->position > y->position;
}

bool b_slices_of(dw *w, size_t n_samples, b_slices *out)
{
    const dict *d = &w->m->dict;
    size_t n = w->stacks.used.n;
    slicer x = {.w = w, .to = out, .shared = 4 * (uint64_t)n_samples * SHARED_FRAMES_PER_BYTE};
    by_length *order = arena_new(&w->tmp, by_length, n);
    out->v = arena_new(&w->tmp, span, n);
    if (!order || !out->v) return false;
    for (uint32_t i = 0; i < n; i++)
        order[i] = (by_length){dict_stack(d, w->stacks.used.v[i]).n, i};
    qsort(order, n, sizeof *order, longest_first);
    for (size_t i = 0; i < n; i++) {
        span s = dict_stack(d, w->stacks.used.v[order[i].position]);
        span *slice = &out->v[order[i].position];
        if (s.n && !share(&x, s, slice) && !append(&x, s, slice)) return false;
    }
    return true;
}

void b_put_slices(dw *w, const b_slices *s, uint32_t number)
{
    size_t at = dw_begin(w->out, number);
    for (size_t i = 0; i < s->indices.n; i++) pb_put_varint(w->out, s->indices.v[i]);
    dw_end_or_drop(w->out, at, number);
}

/* ---- tables ---- */

static void put_refs(dw *w, uint32_t number, span attrs, uint32_t takes)
{
    const uint32_t *v = refs_at(&w->m->dict.attr_refs, attrs);
    size_t at = dw_begin(w->out, number);
    for (uint32_t i = 0; i < attrs.n; i++)
        if (!dw_takes(w, v[i], takes)) pb_put_varint(w->out, dw_ref(w, &w->attributes, v[i]));
    dw_end_or_drop(w->out, at, number);
}

static void put_mapping(dw *w, const mapping *m)
{
    buf *b = w->out;
    mapping_fields f = dw_mapping_fields(w, m, true, true);
    size_t at = dw_begin(b, 3);
    dw_uint(b, 2, m->memory_start);
    dw_uint(b, 3, m->memory_limit);
    dw_uint(b, 4, m->file_offset);
    dw_uint(b, 5, dw_model_string(w, m->filename));
    dw_uint(b, 6, dw_string(w, f.build_id));
    for (uint32_t k = 0; k < 4; k++) dw_uint(b, 7 + k, f.flags[k]);
    dw_uint(b, 11, f.kind);
    put_refs(w, 12, m->attrs, f.takes);
    dw_end(b, at);
}

static void put_location(dw *w, const location *l, bool null_first)
{
    buf *b = w->out;
    const dict *d = &w->m->dict;
    location_fields f = dw_location_fields(w, l);
    size_t at = dw_begin(b, 4);
    if (l->mapping) dw_uint(b, 2, dw_ref(w, &w->mappings, l->mapping) + (null_first ? 1u : 0u));
    dw_uint(b, 3, l->address);
    for (uint32_t k = 0; k < l->lines.n; k++) {
        const line *n = &d->lines.v[l->lines.at + k];
        size_t line_at = dw_begin(b, 4);
        dw_uint(b, 1, dw_ref(w, &w->functions, n->function));
        dw_uint(b, 2, (uint64_t)n->line);
        dw_uint(b, 3, (uint64_t)n->column);
        dw_end(b, line_at);
    }
    dw_uint(b, 5, f.folded);
    dw_uint(b, 6, dw_string(w, f.type));
    put_refs(w, 7, l->attrs, f.takes);
    dw_end(b, at);
}

void b_put_tables(dw *w)
{
    buf *b = w->out;
    const dict *d = &w->m->dict;
    bool null_first = dw_needs_null_mapping(w);
    if (null_first) dw_end(b, dw_begin(b, 3));
    for (size_t i = 0; i < w->mappings.used.n; i++)
        put_mapping(w, &d->mappings.v[w->mappings.used.v[i]]);
    for (size_t i = 0; i < w->locations.used.n; i++)
        put_location(w, &d->locations.v[w->locations.used.v[i]], null_first);
    for (size_t i = 0; i < w->functions.used.n; i++) {
        const function *f = &d->functions.v[w->functions.used.v[i]];
        size_t at = dw_begin(b, 5);
        dw_uint(b, 2, dw_model_string(w, f->name));
        dw_uint(b, 3, dw_model_string(w, f->system_name));
        dw_uint(b, 4, dw_model_string(w, f->filename));
        dw_uint(b, 5, (uint64_t)f->start_line);
        dw_end(b, at);
    }
    dw_string(w, (str){0});
    for (size_t i = 0; i < w->strings.n; i++) pb_put_bytes(b, 6, w->strings.v[i]);
}

/* ---- attributes: one unit per key ---- */

static str unit_of(const dw *w, uint32_t attr)
{
    const dict *d = &w->m->dict;
    return dict_str(d, d->attributes.v[attr].unit);
}

static str key_of(const dw *w, uint32_t attr)
{
    const dict *d = &w->m->dict;
    return dict_str(d, d->attributes.v[attr].key);
}

/* Calls put(key, unit) for every key that has a unit; records attributes with another unit as
 * lost. */
static void each_unit(dw *w, void (*put)(dw *w, uint32_t key, uint32_t unit))
{
    u32s unit = {0}; /* string of the key -> string of its unit; 0 = none */
    bool some = false;
    for (size_t i = 0; i < w->attributes.used.n && !some; i++)
        some = unit_of(w, w->attributes.used.v[i]).n != 0;
    if (!some) return;
    for (size_t i = 0; i < w->attributes.used.n; i++) {
        uint32_t attr = w->attributes.used.v[i], key = dw_string(w, key_of(w, attr)),
                 mine = dw_string(w, unit_of(w, attr));
        while (unit.n <= key)
            if (!vec_push(&w->tmp, &unit)) {
                w->failed = true;
                return;
            }
        if (!mine || unit.v[key]) continue;
        unit.v[key] = mine;
        put(w, key, mine);
    }
    for (size_t i = 0; i < w->attributes.used.n; i++) {
        uint32_t attr = w->attributes.used.v[i];
        if (unit.v[dw_string(w, key_of(w, attr))] != dw_string(w, unit_of(w, attr)))
            dw_note(w, LOSS_ATTRIBUTE_UNIT, NULL, key_of(w, attr), "attribute_units");
    }
}

static void put_nothing(dw *w, uint32_t key, uint32_t unit) { (void)w, (void)key, (void)unit; }

static void put_unit(dw *w, uint32_t key, uint32_t unit)
{
    size_t at = dw_begin(w->out, 17);
    dw_uint(w->out, 1, key);
    dw_uint(w->out, 2, unit);
    dw_end(w->out, at);
}

void b_gather_units(dw *w)
{
    ledger *l = w->ledger;
    w->ledger = NULL; /* losses are recorded when the units are written */
    each_unit(w, put_nothing);
    w->ledger = l;
}

void b_put_attributes(dw *w)
{
    static const link_ids none;
    for (size_t i = 0; i < w->attributes.used.n; i++)
        dw_attribute(w, 16, w->attributes.used.v[i], true);
    each_unit(w, put_unit);
    /* Link 0 means no link, so entry 0 is empty. */
    if (w->links.used.n) dw_link(w->out, 18, &none);
    for (size_t i = 0; i < w->links.used.n; i++)
        dw_link(w->out, 18, &w->m->dict.links.v[w->links.used.v[i]]);
}

/* ---- order of the types ---- */

/* Type t is profile at[t]. A reader puts the default type first (the last type if none is named),
 * then the others in their order. Returns whether this restores the order of the profiles. */
static bool restores_order(const dw *w, const profile *p, size_t n, const uint32_t *at,
                           str default_type)
{
    size_t first = n - 1;
    for (size_t t = n; default_type.n && t-- > 0;)
        if (str_eq(dict_str(&w->m->dict, p[at[t]].sample_type.type), default_type)) first = t;
    if (at[first] != 0) return false;
    for (size_t t = 0, k = 1; t < n; t++)
        if (t != first && at[t] != k++) return false;
    return true;
}

/* Reads an order from an attribute: element k is the position of profile k. Returns false when it
 * is not a permutation of 0..n-1. */
static bool is_order(const any *v, size_t n, uint32_t *at)
{
    if (!v || v->kind != ANY_ARRAY || v->n != n || n > 64) return false;
    uint64_t seen = 0;
    for (uint32_t k = 0; k < n; k++) {
        const any *x = &v->array[k];
        if (x->kind != ANY_INT || x->i < 0 || (uint64_t)x->i >= n) return false;
        if (seen >> x->i & 1) return false;
        seen |= UINT64_C(1) << x->i;
        at[x->i] = k;
    }
    return true;
}

static const any *scope_attr(const scope *s, const char *key)
{
    for (size_t i = 0; i < s->attrs.n; i++)
        if (str_eq(s->attrs.v[i].key, str_of(key))) return &s->attrs.v[i].value;
    return NULL;
}

const uint32_t *b_type_order(dw *w, const scope *s, const profile *p, size_t n, str *default_type)
{
    uint32_t *at = arena_new(&w->a, uint32_t, n);
    *default_type = (str){"", 0};
    if (!at) return w->failed = true, NULL;
    const any *order =
        s ? scope_attr(s, PPROF_ATTR_SAMPLE_TYPE_ORDER) : dw_profile_attr(w, p, ROLE_TYPE_ORDER);
    const any *name = s ? scope_attr(s, PPROF_ATTR_DEFAULT_SAMPLE_TYPE)
                        : dw_profile_attr(w, p, ROLE_DEFAULT_TYPE);
    if (name && name->kind == ANY_STRING) *default_type = any_str(name);
    if (n == 1) return at;
    if (is_order(order, n, at) && restores_order(w, p, n, at, *default_type)) return at;
    /* The reader has recorded the order and the default of the message here. */
    const char *key = s ? PPROF_ATTR_SAMPLE_TYPE_ORDER : KILN_ATTR_SAMPLE_TYPE_ORDER;
    dw_note(w, LOSS_SAMPLE_TYPE_ORDER, order || name ? NULL : key, (str){0}, "sample_type");
    *default_type = dict_str(&w->m->dict, p->sample_type.type);
    for (uint32_t t = 0; t < n; t++) /* without a name the last type is the default */
        at[t] = default_type->n ? t : t + 1 < n ? t + 1 : 0;
    return at;
}
