/* Writes fields, attribute values and the envelope of the drafts, from front to back. */
#include "format/dialect_write.h"

#include "base/ban.h"

/* ---- messages and fields ---- */

size_t dw_begin(buf *b, uint32_t number)
{
    pb_put_varint(b, (uint64_t)number << 3 | 2);
    buf_putc(b, 0);
    return b->n;
}

/* dw_begin reserves one byte for the length. A longer length moves the message. */
void dw_end(buf *b, size_t at)
{
    if (b->failed) return;
    size_t n = b->n - at, more = pb_varint_len(n) - 1u;
    if (more) {
        if (!buf_reserve(b, more)) return;
        memmove(b->p + at + more, b->p + at, n);
    }
    char *p = b->p + at - 1;
    size_t v = n;
    for (; v >= 0x80; v >>= 7) *p++ = (char)(v | 0x80);
    *p = (char)v;
    b->n += more;
}

void dw_end_or_drop(buf *b, size_t at, uint32_t number)
{
    if (b->failed || b->n != at)
        dw_end(b, at);
    else
        b->n = at - 1 - pb_varint_len((uint64_t)number << 3 | 2);
}

void dw_uint(buf *b, uint32_t number, uint64_t v)
{
    if (v) pb_put_uint(b, number, v);
}

void dw_fixed64(buf *b, uint32_t number, uint64_t v)
{
    if (v) pb_put_fixed64(b, number, v);
}

void dw_text(buf *b, uint32_t number, str s)
{
    if (s.n) pb_put_bytes(b, number, s);
}

/* ---- attributes ---- */

static void put_keyvalue(buf *b, dw *table, uint32_t number, str key, const any *v);

static void put_any(buf *b, dw *table, uint32_t number, const any *v)
{
    size_t at = dw_begin(b, number), list;
    uint64_t bits;
    switch ((any_kind)v->kind) {
    case ANY_STRING:
        if (table)
            pb_put_uint(b, 1, dw_string(table, any_str(v)));
        else
            pb_put_bytes(b, 1, any_str(v));
        break;
    case ANY_BYTES: pb_put_bytes(b, 7, any_str(v)); break;
    case ANY_BOOL: pb_put_uint(b, 2, v->i != 0); break;
    case ANY_INT: pb_put_uint(b, 3, (uint64_t)v->i); break;
    case ANY_DOUBLE:
        memcpy(&bits, &v->d, sizeof bits);
        pb_put_fixed64(b, 4, bits);
        break;
    case ANY_ARRAY:
        list = dw_begin(b, 5);
        for (uint32_t i = 0; i < v->n; i++) put_any(b, table, 1, &v->array[i]);
        dw_end(b, list);
        break;
    case ANY_KVLIST:
        list = dw_begin(b, 6);
        for (uint32_t i = 0; i < v->n; i++)
            put_keyvalue(b, table, 1, v->kvlist[i].key, &v->kvlist[i].value);
        dw_end(b, list);
        break;
    default: break;
    }
    dw_end(b, at);
}

/* Writes a KeyValue. `table`: the writer whose string table gets the texts; NULL: texts are
 * inline. */
static void put_keyvalue(buf *b, dw *table, uint32_t number, str key, const any *v)
{
    size_t at = dw_begin(b, number);
    if (table)
        dw_uint(b, 1, dw_string(table, key));
    else
        dw_text(b, 1, key);
    if (v->kind != ANY_EMPTY) put_any(b, table, 2, v);
    dw_end(b, at);
}

void dw_keyvalue(buf *b, uint32_t number, str key, const any *v)
{
    put_keyvalue(b, NULL, number, key, v);
}

void dw_keyvalue_ref(dw *w, uint32_t number, str key, const any *v)
{
    put_keyvalue(w->out, w, number, key, v);
}

void dw_attribute(dw *w, uint32_t number, uint32_t attr, bool units)
{
    const dict *d = &w->m->dict;
    const attribute *t = &d->attributes.v[attr];
    if (t->unit && dict_str(d, t->unit).n && !units)
        dw_note(w, LOSS_ATTRIBUTE_UNIT, NULL, dict_str(d, t->unit), "attributes");
    dw_keyvalue(w->out, number, dict_str(d, t->key), &t->value);
}

void dw_link(buf *b, uint32_t number, const link_ids *l)
{
    size_t at = dw_begin(b, number);
    if (!id_is_zero(l->trace_id, 16)) pb_put_bytes(b, 1, (str){(const char *)l->trace_id, 16});
    if (!id_is_zero(l->span_id, 8)) pb_put_bytes(b, 2, (str){(const char *)l->span_id, 8});
    dw_end(b, at);
}

void dw_profile_attrs(dw *w, const profile *p, uint32_t number, uint32_t takes)
{
    const uint32_t *attrs = refs_at(&w->m->dict.attr_refs, p->attrs);
    for (uint32_t i = 0; i < p->attrs.n; i++)
        if (!dw_takes(w, attrs[i], takes)) dw_attribute(w, number, attrs[i], false);
}

/* ---- identity ---- */

size_t dw_id(dw *w, const profile *p)
{
    pb_put_bytes(w->out, 1, (str){(const char *)p->profile_id, 16});
    return w->out->n;
}

void dw_id_end(dw *w, const profile *p, size_t at)
{
    buf *b = w->out;
    if (b->failed || !id_is_zero(p->profile_id, 16)) return;
    XXH128_canonical_t id;
    XXH128_canonicalFromHash(&id, XXH3_128bits(b->p + at, b->n - at));
    if (id_is_zero(id.digest, 16)) id.digest[15] = 1;
    memcpy(b->p + at - 16, id.digest, 16);
}

/* ---- the envelope ---- */

static bool is_stripped(unsigned strip, str key)
{
    return ((strip & STRIP_ORDER) && str_eq(key, STR(PPROF_ATTR_SAMPLE_TYPE_ORDER))) ||
           ((strip & STRIP_DEFAULT) && str_eq(key, STR(PPROF_ATTR_DEFAULT_SAMPLE_TYPE)));
}

static void put_scope(dw *w, const scope *s, void (*scope_fn)(dw *w, const scope *s))
{
    buf *b = w->out;
    unsigned strip = w->strips ? w->strips(w, s) : 0;
    size_t at = dw_begin(b, 2), own = dw_begin(b, 1);
    dw_text(b, 1, s->name);
    dw_text(b, 2, s->version);
    bool stripped = false; /* a scope with only stripped attributes is omitted */
    for (size_t i = 0; i < s->attrs.n; i++) {
        bool gone = is_stripped(strip, s->attrs.v[i].key);
        if (!gone) dw_keyvalue(b, 3, s->attrs.v[i].key, &s->attrs.v[i].value);
        stripped |= gone;
    }
    dw_uint(b, 4, s->dropped_attributes_count);
    if (s->present && !stripped)
        dw_end(b, own);
    else
        dw_end_or_drop(b, own, 1);
    scope_fn(w, s);
    dw_text(b, 3, s->schema_url);
    dw_end(b, at);
}

static void put_resource(dw *w, const resource *r, void (*scope_fn)(dw *w, const scope *s))
{
    buf *b = w->out;
    size_t at = dw_begin(b, 1), own = dw_begin(b, 1);
    for (size_t i = 0; i < r->attrs.n; i++)
        dw_keyvalue(b, 1, r->attrs.v[i].key, &r->attrs.v[i].value);
    dw_uint(b, 2, r->dropped_attributes_count);
    if (r->present)
        dw_end(b, own);
    else
        dw_end_or_drop(b, own, 1);
    w->where[0] = '\0';
    for (size_t i = 0; i < r->n_entity_refs; i++)
        dw_note(w, LOSS_ENTITY_REF, NULL, r->entity_refs[i].type, "resource.entity_refs");
    for (uint32_t i = 0; i < r->n_scopes; i++)
        put_scope(w, &w->m->scopes.v[r->first_scope + i], scope_fn);
    dw_text(b, 3, r->schema_url);
    dw_end(b, at);
}

void dw_envelope(dw *w, void (*scope_fn)(dw *w, const scope *s))
{
    for (size_t i = 0; i < w->m->resources.n; i++) put_resource(w, &w->m->resources.v[i], scope_fn);
}
