/* Reads resources, scopes and attributes (otlp_cold.h), which are a small part of a message, with the
 * checked cursor. */
#include "wire/otlp_cold.h"

#include "base/utf8.h"
#include "wire/otlp.h"

#include "base/ban.h"

static bool limit(hot *h)
{
    h->limit = true;
    return false;
}

const uint8_t *hot_unknown(hot *h, const uint8_t *p, const uint8_t *q)
{
    h->n_unknown++;
    pb_cur c = {.p = p, .end = q, .base = p};
    pb_field f;
    return pb_next(&c, &f) ? c.p : NULL;
}

static bool text(hot *h, pb_cur *c, const pb_field *f, str *out)
{
    *out = pb_bytes(f);
    return LIKELY(utf8_ok(out->p, out->n)) || h->lenient || pb_fail(c, f->at, "not UTF-8");
}

static size_t count_field(pb_cur c, uint32_t number)
{
    size_t n = 0;
    for (pb_field f; pb_next(&c, &f);) n += f.number == number && f.wire == 2;
    return n;
}

/* A singular message may be split into several records, which extend the same lists.  The capacity
 * of a list is stored before its first element, so that a thousand records cost as much as one. */
typedef struct list_room {
    _Alignas(ARENA_ALIGN) size_t cap;
} list_room;

/* Makes room for `more` zeroed elements after the n of *v.  Returns false at the budget. */
static bool list_grow(hot *h, void **v, size_t n, size_t more, size_t size)
{
    list_room *old = *v ? (list_room *)*v - 1 : NULL, *room;
    size_t had = old ? old->cap : 0, cap = n + more, bytes;
    if (cap <= had) return true;
    if (old && cap < had + had / 2) cap = had + had / 2;
    if (cap > UINT32_MAX || ckd_mul(&bytes, cap, size)) return limit(h);
    room = arena_grow(h->a, old, old ? sizeof *old + had * size : 0, sizeof *room + bytes);
    if (!room) return limit(h);
    room->cap = cap;
    *v = room + 1;
    memset((char *)*v + n * size, 0, (cap - n) * size);
    return true;
}

/* ---- AnyValue and KeyValue ---- */

static bool decode_any(hot *h, pb_cur c, any *out, unsigned depth);

static bool decode_keyvalue(hot *h, pb_cur c, keyvalue *kv, unsigned depth)
{
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number == 1 && f.wire == 2) {
            if (!text(h, &c, &f, &kv->key)) return false;
        } else if (f.number == 2 && f.wire == 2) {
            if (!decode_any(h, pb_message(&c, &f), &kv->value, depth)) return false;
        } else if (f.number == 3 && f.wire == 0 && h->layout == LAYOUT_1_10) {
            kv->key_ref = (uint32_t)f.value;
            hot_max(&h->max_string, kv->key_ref);
            h->refs = true;
        } else {
            h->n_unknown++;
        }
    }
    return pb_ok(&c);
}

/* Appends the elements of an ArrayValue or KeyValueList to *out, which may have earlier ones. */
static bool decode_elements(hot *h, pb_cur c, any *out, unsigned depth)
{
    bool list = out->kind == ANY_KVLIST;
    void *v = list ? (void *)out->kvlist : (void *)out->array;
    if (!list_grow(h, &v, out->n, count_field(c, 1), list ? sizeof(keyvalue) : sizeof(any)))
        return false;
    if (list)
        out->kvlist = v;
    else
        out->array = v;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number != 1 || f.wire != 2) {
            h->n_unknown++;
            continue;
        }
        pb_cur sub = pb_message(&c, &f);
        if (!(list ? decode_keyvalue(h, sub, &out->kvlist[out->n], depth + 1)
                   : decode_any(h, sub, &out->array[out->n], depth + 1)))
            return false;
        out->n++;
    }
    return pb_ok(&c);
}

static bool decode_any(hot *h, pb_cur c, any *out, unsigned depth)
{
    if (depth >= OTLP_MAX_DEPTH) return false; /* otlp_locate reports the error and its position */
    str s;
    for (pb_field f; pb_next(&c, &f);) {
        unsigned tag = f.number << 3 | f.wire;
        switch (tag) {
        case 1 << 3 | 2:
            if (!text(h, &c, &f, &s)) return false;
            *out = (any){.kind = ANY_STRING, .n = (uint32_t)s.n, .s = s.p};
            break;
        case 2 << 3: *out = (any){.kind = ANY_BOOL, .i = f.value != 0}; break;
        case 3 << 3: *out = (any){.kind = ANY_INT, .i = (int64_t)f.value}; break;
        case 4 << 3 | 1:
            *out = (any){.kind = ANY_DOUBLE};
            memcpy(&out->d, &f.value, sizeof out->d);
            break;
        case 5 << 3 | 2:
        case 6 << 3 | 2: {
            any_kind kind = f.number == 5 ? ANY_ARRAY : ANY_KVLIST;
            if (out->kind != kind) *out = (any){.kind = kind};
            if (!decode_elements(h, pb_message(&c, &f), out, depth)) return false;
            break;
        }
        case 7 << 3 | 2:
            *out = (any){.kind = ANY_BYTES, .n = (uint32_t)f.value, .s = (const char *)f.data};
            break;
        case 8 << 3:
            if (h->layout == LAYOUT_1_10) {
                *out = (any){.kind = ANY_STRREF, .i = (uint32_t)f.value};
                hot_max(&h->max_string, (uint32_t)f.value);
                h->refs = true;
                break;
            }
            /* fall through */
        default: h->n_unknown++;
        }
    }
    return pb_ok(&c);
}

static bool decode_keyvalues(hot *h, const pb_cur *all, uint32_t number, keyvalues *kvs)
{
    void *v = kvs->v;
    if (!list_grow(h, &v, kvs->n, count_field(*all, number), sizeof *kvs->v)) return false;
    kvs->v = v;
    pb_cur c = *all;
    for (pb_field f; pb_next(&c, &f);)
        if (f.number == number && f.wire == 2 &&
            !decode_keyvalue(h, pb_message(&c, &f), &kvs->v[kvs->n++], 0))
            return false;
    return pb_ok(&c);
}

bool otlp_decode_attribute(hot *h, const uint8_t *p, const uint8_t *q, attribute *out)
{
    *out = (attribute){0};
    pb_cur c = {.p = p, .end = q, .base = p};
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number == 1 && f.wire == 0)
            out->key = (uint32_t)f.value;
        else if (f.number == 3 && f.wire == 0)
            out->unit = (uint32_t)f.value;
        else if (f.number != 2 || f.wire != 2)
            h->n_unknown++;
        else if (!decode_any(h, pb_message(&c, &f), &out->value, 0))
            return false;
    }
    hot_max(&h->max_string, out->key);
    hot_max(&h->max_string, out->unit);
    return pb_ok(&c);
}

/* ---- resource and scope ---- */

static bool decode_strings(hot *h, const pb_cur *all, uint32_t number, str **out, size_t *n_out)
{
    size_t n = count_field(*all, number);
    *out = arena_new(h->a, str, n);
    if (!*out) return limit(h);
    pb_cur c = *all;
    for (pb_field f; pb_next(&c, &f);)
        if (f.number == number && f.wire == 2 && !text(h, &c, &f, &(*out)[(*n_out)++]))
            return false;
    return pb_ok(&c);
}

static bool decode_entity_ref(hot *h, pb_cur c, entity_ref *r)
{
    pb_cur all = c;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.wire != 2 || f.number > 4)
            h->n_unknown++;
        else if (f.number <= 2 && !text(h, &c, &f, f.number == 1 ? &r->schema_url : &r->type))
            return false;
    }
    return pb_ok(&c) && decode_strings(h, &all, 3, &r->id_keys, &r->n_id_keys) &&
           decode_strings(h, &all, 4, &r->description_keys, &r->n_description_keys);
}

static bool decode_entity_refs(hot *h, const pb_cur *all, resource *out)
{
    void *v = out->entity_refs;
    if (!list_grow(h, &v, out->n_entity_refs, count_field(*all, 3), sizeof *out->entity_refs))
        return false;
    out->entity_refs = v;
    pb_cur c = *all;
    for (pb_field f; pb_next(&c, &f);)
        if (f.number == 3 && f.wire == 2 &&
            !decode_entity_ref(h, pb_message(&c, &f), &out->entity_refs[out->n_entity_refs++]))
            return false;
    return pb_ok(&c);
}

bool otlp_decode_resource(hot *h, pb_cur c, resource *out)
{
    out->present = true;
    if (!decode_keyvalues(h, &c, 1, &out->attrs) || !decode_entity_refs(h, &c, out)) return false;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number == 2 && f.wire == 0)
            out->dropped_attributes_count = (uint32_t)f.value;
        else if ((f.number != 1 && f.number != 3) || f.wire != 2)
            h->n_unknown++;
    }
    return pb_ok(&c);
}

bool otlp_decode_scope(hot *h, pb_cur c, scope *out)
{
    out->present = true;
    if (!decode_keyvalues(h, &c, 3, &out->attrs)) return false;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number <= 2 && f.wire == 2) {
            if (!text(h, &c, &f, f.number == 1 ? &out->name : &out->version)) return false;
        } else if (f.number == 4 && f.wire == 0) {
            out->dropped_attributes_count = (uint32_t)f.value;
        } else if (f.number != 3 || f.wire != 2) {
            h->n_unknown++;
        }
    }
    return pb_ok(&c);
}

bool otlp_decode_value_type(hot *h, pb_cur c, value_type *out, uint64_t *temporality)
{
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number == 1 && f.wire == 0)
            out->type = (uint32_t)f.value;
        else if (f.number == 2 && f.wire == 0)
            out->unit = (uint32_t)f.value;
        else if (f.number == 3 && f.wire == 0 && h->layout == LAYOUT_1_8)
            *temporality = f.value;
        else
            h->n_unknown++;
    }
    hot_max(&h->max_string, out->type);
    hot_max(&h->max_string, out->unit);
    return pb_ok(&c);
}

/* ---- string references ---- */

static void resolve_keyvalues(const dict *d, keyvalue *v, size_t n);

static void resolve_any(const dict *d, any *v)
{
    if (v->kind == ANY_STRREF) {
        str s = d->strings.v[v->i];
        *v = (any){.kind = ANY_STRING, .n = (uint32_t)s.n, .s = s.p};
    } else if (v->kind == ANY_ARRAY) {
        for (uint32_t i = 0; i < v->n; i++) resolve_any(d, &v->array[i]);
    } else if (v->kind == ANY_KVLIST) {
        resolve_keyvalues(d, v->kvlist, v->n);
    }
}

static void resolve_keyvalues(const dict *d, keyvalue *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (v[i].key_ref && !v[i].key.n) v[i].key = d->strings.v[v[i].key_ref];
        v[i].key_ref = 0;
        resolve_any(d, &v[i].value);
    }
}

void otlp_resolve_refs(model *m)
{
    for (size_t i = 0; i < m->resources.n; i++)
        resolve_keyvalues(&m->dict, m->resources.v[i].attrs.v, m->resources.v[i].attrs.n);
    for (size_t i = 0; i < m->scopes.n; i++)
        resolve_keyvalues(&m->dict, m->scopes.v[i].attrs.v, m->scopes.v[i].attrs.n);
    for (size_t i = 0; i < m->dict.attributes.n; i++)
        resolve_any(&m->dict, &m->dict.attributes.v[i].value);
}
