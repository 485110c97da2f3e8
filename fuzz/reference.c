#include "reference.h"

#include "base/utf8.h"
#include "base/vec.h"
#include "wire/otlp.h"
#include "wire/pb.h"
#include "wire/schema.h"

#include <stdlib.h>
#include <string.h>

/* ---- the tree ---- */

typedef struct message message;

typedef struct value {
    uint64_t number; /* varint, fixed64 */
    str bytes;
    message *sub;
} value;

typedef VEC(value) values;

struct message {
    const message_desc *desc;
    values field[]; /* desc->n_fields entries; a singular field has at most one value */
};

static void *need(void *p)
{
    if (!p) abort(); /* the harness sets no budget */
    return p;
}

static message *message_new(const message_desc *d, arena *a)
{
    message *m = need(arena_zero(a, sizeof *m + d->n_fields * sizeof m->field[0]));
    m->desc = d;
    return m;
}

static values *field_named(message *m, const char *name)
{
    const field_desc *f = message_field_named(m->desc, str_of(name));
    return f ? &m->field[f - m->desc->fields] : NULL;
}

static bool is(const message *m, const char *name) { return strcmp(m->desc->name, name) == 0; }

/* ---- reading ---- */

static bool id_ok(const field_desc *f, size_t n)
{
    return !(f->flags & FF_ID) || n == 0 || n == (strcmp(f->name, "span_id") == 0 ? 8 : 16);
}

static uint64_t narrowed(const field_desc *f, uint64_t v)
{
    switch ((field_type)f->type) {
    case FT_INT32:
    case FT_UINT32:
    case FT_ENUM: return (uint32_t)v;
    case FT_BOOL: return v != 0;
    default: return v;
    }
}

static value *slot(message *m, size_t i, arena *a)
{
    const field_desc *f = &m->desc->fields[i];
    if (f->flags & FF_ONEOF)
        for (size_t k = 0; k < m->desc->n_fields; k++)
            if (k != i && (m->desc->fields[k].flags & FF_ONEOF)) m->field[k].n = 0;
    if (!(f->flags & FF_REPEATED) && m->field[i].n) return &m->field[i].v[0];
    return need(vec_push(a, &m->field[i]));
}

static bool read_message(message *m, pb_cur c, unsigned depth, arena *a);

static bool read_packed(message *m, size_t i, pb_cur c, arena *a)
{
    const field_desc *f = &m->desc->fields[i];
    if (field_wire_type(f) == 1) {
        if ((c.end - c.p) % 8) return false;
        for (; c.p < c.end; c.p += 8) memcpy(&slot(m, i, a)->number, c.p, 8);
        return true;
    }
    for (uint64_t v; c.p < c.end;) {
        if (!pb_varint(&c, &v)) return false;
        slot(m, i, a)->number = narrowed(f, v);
    }
    return true;
}

static bool read_field(message *m, size_t i, const pb_cur *c, const pb_field *w, unsigned depth,
                       arena *a)
{
    const field_desc *f = &m->desc->fields[i];
    if (w->wire == 2 && field_packable(f)) return read_packed(m, i, pb_message(c, w), a);
    if (w->wire != field_wire_type(f)) return true; /* unknown */
    if (f->type == FT_MESSAGE) {
        bool any = strcmp(f->message->name, "AnyValue") == 0;
        if (any && depth >= OTLP_MAX_DEPTH) return false;
        value *v = slot(m, i, a);
        if (!v->sub || (f->flags & FF_REPEATED)) v->sub = message_new(f->message, a);
        return read_message(v->sub, pb_message(c, w), any ? depth + 1 : depth, a);
    }
    if (f->type == FT_STRING && !utf8_ok((const char *)w->data, (size_t)w->value)) return false;
    if (f->type == FT_BYTES && !id_ok(f, (size_t)w->value)) return false;
    value *v = slot(m, i, a);
    if (w->wire == 2)
        v->bytes = pb_bytes(w);
    else
        v->number = narrowed(f, w->value);
    return true;
}

static bool read_message(message *m, pb_cur c, unsigned depth, arena *a)
{
    for (pb_field w; pb_next(&c, &w);) {
        const field_desc *f = message_field(m->desc, w.number);
        if (f && !read_field(m, (size_t)(f - m->desc->fields), &c, &w, depth, a)) return false;
    }
    return pb_ok(&c);
}

/* ---- indices ---- */

static bool indices_ok(const message *m, const size_t *size)
{
    for (size_t i = 0; i < m->desc->n_fields; i++) {
        const field_desc *f = &m->desc->fields[i];
        for (size_t k = 0; k < m->field[i].n; k++) {
            const value *v = &m->field[i].v[k];
            if (v->sub && !indices_ok(v->sub, size)) return false;
            if (f->target && v->number && v->number >= size[f->target]) return false;
        }
    }
    return true;
}

/* ---- canonical form ---- */

static bool zero_id(const field_desc *f, str s)
{
    if (!(f->flags & FF_ID)) return false;
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i]) return false;
    return true;
}

static void resolve(message *m, const values *strings, arena *a)
{
    values *ref = is(m, "AnyValue")   ? field_named(m, "string_value_strindex")
                  : is(m, "KeyValue") ? field_named(m, "key_strindex")
                                      : NULL;
    if (ref && ref->n) {
        uint64_t at = ref->v[0].number;
        ref->n = 0;
        values *text = field_named(m, is(m, "AnyValue") ? "string_value" : "key");
        bool inline_key = is(m, "KeyValue") && text->n && text->v[0].bytes.n;
        if (!inline_key && (at || is(m, "AnyValue"))) {
            text->n = 0;
            ((value *)need(vec_push(a, text)))->bytes =
                at < strings->n ? strings->v[at].bytes : (str){"", 0};
        }
    }
    for (size_t i = 0; i < m->desc->n_fields; i++)
        for (size_t k = 0; k < m->field[i].n; k++)
            if (m->field[i].v[k].sub) resolve(m->field[i].v[k].sub, strings, a);
}

/* Whether the model treats an empty message like a missing one. */
static bool elided_when_empty(const field_desc *f)
{
    return strcmp(f->name, "sample_type") == 0 || strcmp(f->name, "period_type") == 0 ||
           strcmp(f->name, "value") == 0;
}

static void write_message(const message *m, buf *out)
{
    for (size_t i = 0; i < m->desc->n_fields; i++) {
        const field_desc *f = &m->desc->fields[i];
        const values *vs = &m->field[i];
        buf packed = {0};
        for (size_t k = 0; k < vs->n; k++) {
            const value *v = &vs->v[k];
            bool always = f->flags & (FF_REPEATED | FF_ONEOF);
            if (f->type == FT_MESSAGE) {
                buf sub = {0};
                write_message(v->sub, &sub);
                if (sub.n || always || !elided_when_empty(f))
                    pb_put_bytes(out, f->number, buf_view(&sub));
                buf_free(&sub);
            } else if (f->type == FT_STRING || f->type == FT_BYTES) {
                if (always || (v->bytes.n && !zero_id(f, v->bytes)))
                    pb_put_bytes(out, f->number, v->bytes);
            } else if (f->flags & FF_REPEATED) {
                if (field_wire_type(f) == 1)
                    buf_put(&packed, &v->number, 8);
                else
                    pb_put_varint(&packed, v->number);
            } else if (always || v->number) {
                if (field_wire_type(f) == 1)
                    pb_put_fixed64(out, f->number, v->number);
                else
                    pb_put_uint(out, f->number, v->number);
            }
        }
        if (packed.n) pb_put_bytes(out, f->number, buf_view(&packed));
        buf_free(&packed);
    }
}

bool reference_canonical(const void *p, size_t n, layout l, arena *a, buf *out)
{
    message *root = message_new(schema_profiles_data(l), a);
    if (!read_message(root, pb_open(p, n, NULL), 0, a)) return false;
    values *dicts = field_named(root, "dictionary");
    if (!dicts->n)
        ((value *)need(vec_push(a, dicts)))->sub =
            message_new(message_field_named(root->desc, STR("dictionary"))->message, a);
    message *dict = dicts->v[0].sub;
    size_t size[TABLE_COUNT] = {0};
    for (size_t i = 0; i < dict->desc->n_fields; i++)
        size[dict->desc->fields[i].fills] = dict->field[i].n;
    if (!indices_ok(root, size)) return false;
    for (size_t i = 0; i < dict->desc->n_fields; i++) {
        if (dict->field[i].n) continue;
        const field_desc *f = &dict->desc->fields[i];
        value *zero = need(vec_push(a, &dict->field[i]));
        zero->bytes = (str){"", 0};
        if (f->message) zero->sub = message_new(f->message, a);
    }
    resolve(root, field_named(dict, "string_table"), a);
    write_message(root, out);
    return true;
}
