/* Decodes resources, scopes and values that content.c encoded. The bytes come from disk, so nesting
 * and sizes are limited. */
#include "store/content.h"

#include "base/ban.h"

static bool copy_text(taker *t, arena *a, str *out)
{
    str s = take_str(t);
    char *p = arena_alloc(a, s.n);
    if (!p || t->bad) return false;
    if (s.n) memcpy(p, s.p, s.n);
    *out = (str){p, s.n};
    return true;
}

enum { ANY_DEPTH = 64 };
static bool any_at(taker *t, arena *a, unsigned depth, any *out);

static bool keyvalues_at(taker *t, arena *a, unsigned depth, any *out)
{
    uint64_t n = take_varint(t);
    if (t->bad || n > taker_left(t) || !(out->kvlist = arena_new(a, keyvalue, (size_t)n)))
        return false;
    out->n = (uint32_t)n;
    for (uint32_t i = 0; i < out->n; i++) {
        if (!copy_text(t, a, &out->kvlist[i].key)) return false;
        if (!any_at(t, a, depth + 1, &out->kvlist[i].value)) return false;
    }
    return true;
}

static bool any_at(taker *t, arena *a, unsigned depth, any *out)
{
    str kind = take_bytes(t, 1), s;
    if (t->bad || depth > ANY_DEPTH) return false;
    *out = (any){.kind = (uint8_t)kind.p[0]};
    uint64_t n;
    switch ((any_kind)out->kind) {
    case ANY_EMPTY: break;
    case ANY_STRING:
    case ANY_BYTES:
        if (!copy_text(t, a, &s) || s.n > UINT32_MAX) return false;
        out->s = s.p;
        out->n = (uint32_t)s.n;
        break;
    case ANY_BOOL:
    case ANY_INT: out->i = take_signed(t); break;
    case ANY_DOUBLE: out->i = (int64_t)take_fixed64(t); break;
    case ANY_ARRAY:
        n = take_varint(t);
        if (t->bad || n > taker_left(t) || !(out->array = arena_new(a, any, (size_t)n)))
            return false;
        out->n = (uint32_t)n;
        for (uint32_t i = 0; i < out->n; i++)
            if (!any_at(t, a, depth + 1, &out->array[i])) return false;
        break;
    case ANY_KVLIST: return keyvalues_at(t, a, depth, out);
    default: return false;
    }
    return !t->bad;
}

bool take_any(taker *t, arena *a, any *out) { return any_at(t, a, 0, out); }

static bool take_attrs(taker *t, arena *a, keyvalues *out)
{
    any list;
    if (!keyvalues_at(t, a, 0, &list)) return false;
    *out = (keyvalues){list.kvlist, list.n};
    return true;
}

static bool take_strs(taker *t, arena *a, str **v, size_t *n)
{
    uint64_t all = take_varint(t);
    if (t->bad || all > taker_left(t) || !(*v = arena_new(a, str, (size_t)all))) return false;
    for (*n = 0; *n < all; ++*n)
        if (!copy_text(t, a, &(*v)[*n])) return false;
    return true;
}

static bool take_entity(taker *t, arena *a, entity_ref *out)
{
    return copy_text(t, a, &out->schema_url) && copy_text(t, a, &out->type) &&
           take_strs(t, a, &out->id_keys, &out->n_id_keys) &&
           take_strs(t, a, &out->description_keys, &out->n_description_keys);
}

static bool take_flag(taker *t)
{
    str s = take_bytes(t, 1);
    return s.n && s.p[0];
}

bool take_resource(taker *t, arena *a, resource *out)
{
    *out = (resource){.present = take_flag(t)};
    if (!copy_text(t, a, &out->schema_url)) return false;
    out->dropped_attributes_count = (uint32_t)take_varint(t);
    if (!take_attrs(t, a, &out->attrs)) return false;
    uint64_t n = take_varint(t);
    if (t->bad || n > taker_left(t) || !(out->entity_refs = arena_new(a, entity_ref, (size_t)n)))
        return false;
    for (; out->n_entity_refs < n; out->n_entity_refs++)
        if (!take_entity(t, a, &out->entity_refs[out->n_entity_refs])) return false;
    return true;
}

bool take_scope(taker *t, arena *a, scope *out)
{
    *out = (scope){.present = take_flag(t)};
    if (!copy_text(t, a, &out->name) || !copy_text(t, a, &out->version) ||
        !copy_text(t, a, &out->schema_url))
        return false;
    out->dropped_attributes_count = (uint32_t)take_varint(t);
    return take_attrs(t, a, &out->attrs) && !t->bad;
}
