/* Reads one message of an old layout by its table of fields, and resolves references.
 *
 * Nothing here depends on a particular layout.  AnyValue is the only message that is read by code
 * instead of a table, because it is recursive and its members share one struct. */
#include "wire/otlp_old_internal.h"
#include "base/search.h"

#include "base/ban.h"
#include <inttypes.h>

void old_note(old *o, loss_concept c, const char *carried_as, str value, const char *fmt, ...)
{
    bool *noted = &o->noted[c][carried_as != NULL];
    char path[128] = "";
    if (!*noted && o->ledger) {
        char tail[64];
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(tail, sizeof tail, fmt, ap);
        va_end(ap);
        snprintf(path, sizeof path, "%s%s%s", o->where, o->where[0] && tail[0] ? "." : "", tail);
    }
    *noted = true;
    ledger_add(o->ledger, STAGE_READ, c, carried_as, path, value);
}

void old_end_before_start(old *o, uint64_t start, uint64_t end)
{
    char value[64];
    char *box = strrchr(o->where, '.'); /* in v1.3 the container of the Profile has these fields */
    if (box && !strcmp(box, ".profile")) *box = '\0';
    snprintf(value, sizeof value, "%" PRIu64 ", %" PRIu64 " ns before the start", end, start - end);
    old_note(o, LOSS_TIME, NULL, str_of(value), "end_time_unix_nano");
    if (box && !*box) *box = '.';
}

/* ---- numbers ---- */

bool old_u64(pb_cur *c, const pb_field *f, const char *name, uint64_t *out)
{
    *out = f->value;
    return pb_expect(c, f, 0, name);
}

old_iter old_iter_open(const old *o, const pb_field *f)
{
    piece x = f->wire == 2 ? (piece){f->data, (size_t)f->value} : (piece){f->at, 0};
    return (old_iter){.c = old_cur(o, x), .single = f->wire == 0, .v = f->value, .at = f->at};
}

bool old_iter_next(old_iter *i)
{
    if (i->single) return i->single = false, true;
    if (i->c.p == i->c.end) return false;
    i->at = i->c.p;
    return pb_varint(&i->c, &i->v);
}

/* ---- attribute values ---- */

/* Context of the functions that read a value. */
typedef struct value_reader {
    old *o;
    arena *a;
    old_tables *refs; /* texts and keys are indices of its string table; NULL: they are inline */
} value_reader;

static bool any_value(const value_reader *r, pb_cur c, any *out, unsigned depth);

static bool value_text(const value_reader *r, pb_cur *c, const pb_field *f, const char *name,
                       const char *ref_name, str *out)
{
    uint64_t v;
    uint32_t i;
    if (!r->refs) return pb_text(c, f, name, out);
    if (!old_u64(c, f, ref_name, &v) || !old_string(r->o, r->refs, v, ref_name, f->at, &i))
        return false;
    *out = old_text(r->o, i);
    return true;
}

/* Returns the number of elements of an ArrayValue or KeyValueList (field 1). */
static size_t count_elements(pb_cur c)
{
    size_t n = 0;
    c.e = NULL;
    for (pb_field f; pb_next(&c, &f);) n += f.number == 1;
    return n;
}

/* Makes room for `more` elements after the present ones; a repeated member extends the list. */
static bool any_room(old *o, arena *a, any *out, any_kind kind, size_t more, size_t size)
{
    uint32_t n = out->kind == kind ? out->n : 0;
    const void *from = n ? (const void *)out->array : NULL;
    size_t bytes;
    if (more > UINT32_MAX - n || ckd_mul(&bytes, n + more, size)) return err_memory(o->e);
    char *to = arena_zero(a, bytes);
    if (!to) return err_memory(o->e);
    if (n) memcpy(to, from, n * size);
    *out = (any){.kind = kind, .n = n};
    if (kind == ANY_ARRAY)
        out->array = (any *)(void *)to;
    else
        out->kvlist = (keyvalue *)(void *)to;
    return true;
}

static bool keyvalue_fields(const value_reader *r, pb_cur c, keyvalue *out, unsigned depth)
{
    out->key = (str){"", 0};
    for (pb_field f; pb_next(&c, &f);) {
        switch (f.number) {
        case 1:
            if (!value_text(r, &c, &f, "key", "key_string_index", &out->key)) return false;
            break;
        case 2:
            if (!pb_expect(&c, &f, 2, "value")) return false;
            if (!any_value(r, pb_message(&c, &f), &out->value, depth + 1))
                return err_in(r->o->e, "value");
            break;
        default: r->o->n_unknown++;
        }
    }
    return pb_ok(&c);
}

static bool any_list(const value_reader *r, pb_cur c, any *out, any_kind kind, unsigned depth)
{
    size_t size = kind == ANY_ARRAY ? sizeof(any) : sizeof(keyvalue);
    if (!any_room(r->o, r->a, out, kind, count_elements(c), size)) return false;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number != 1) {
            r->o->n_unknown++;
            continue;
        }
        if (!pb_expect(&c, &f, 2, "values")) return false;
        pb_cur sub = pb_message(&c, &f);
        uint32_t i = out->n++;
        bool ok = kind == ANY_ARRAY ? any_value(r, sub, &out->array[i], depth + 1)
                                    : keyvalue_fields(r, sub, &out->kvlist[i], depth + 1);
        if (!ok) return err_in(r->o->e, "values[%u]", i);
    }
    return pb_ok(&c);
}

static bool any_field(const value_reader *r, pb_cur *c, const pb_field *f, any *out, unsigned depth)
{
    str s;
    switch (f->number) {
    case 1:
        if (!value_text(r, c, f, "string_value", "string_index", &s)) return false;
        *out = (any){.kind = ANY_STRING, .n = (uint32_t)s.n, .s = s.p};
        return true;
    case 2:
        *out = (any){.kind = ANY_BOOL, .i = f->value != 0};
        return pb_expect(c, f, 0, "bool_value");
    case 3:
        *out = (any){.kind = ANY_INT, .i = (int64_t)f->value};
        return pb_expect(c, f, 0, "int_value");
    case 4:
        *out = (any){.kind = ANY_DOUBLE};
        memcpy(&out->d, &f->value, sizeof out->d);
        return pb_expect(c, f, 1, "double_value");
    case 5:
        if (!pb_expect(c, f, 2, "array_value")) return false;
        if (any_list(r, pb_message(c, f), out, ANY_ARRAY, depth)) return true;
        return err_in(r->o->e, "array_value");
    case 6:
        if (!pb_expect(c, f, 2, "kvlist_value")) return false;
        if (any_list(r, pb_message(c, f), out, ANY_KVLIST, depth)) return true;
        return err_in(r->o->e, "kvlist_value");
    case 7:
        if (!pb_expect(c, f, 2, "bytes_value")) return false;
        s = pb_bytes(f);
        *out = (any){.kind = ANY_BYTES, .n = (uint32_t)s.n, .s = s.p};
        return true;
    default: r->o->n_unknown++; return true;
    }
}

static bool any_value(const value_reader *r, pb_cur c, any *out, unsigned depth)
{
    if (depth > OTLP_MAX_DEPTH)
        return err_at(r->o->e, ERR_LIMIT, pb_offset(&c, c.p), "values are nested more than %d deep",
                      OTLP_MAX_DEPTH);
    for (pb_field f; pb_next(&c, &f);)
        if (!any_field(r, &c, &f, out, depth)) return false;
    return pb_ok(&c);
}

bool old_keyvalue(old *o, arena *a, old_tables *refs, pb_cur c, keyvalue *out)
{
    value_reader r = {o, a, refs};
    return keyvalue_fields(&r, c, out, 0);
}

/* ---- references ---- */

bool old_index(old *o, uint64_t v, size_t n, const char *table, const char *field,
               const uint8_t *at, uint32_t *out)
{
    *out = NONE;
    if (v < n && v < NONE) {
        *out = (uint32_t)v;
        return true;
    }
    if (o->lenient) {
        char text[24];
        int k = snprintf(text, sizeof text, "%" PRId64, (int64_t)v);
        old_note(o, LOSS_INDEX_REPAIRED, NULL, (str){text, (size_t)k}, "%s", field);
        return true;
    }
    err_at(o->e, ERR_MALFORMED, (uint64_t)(at - o->base),
           "index %" PRId64 " is outside %s, which has %zu entries", (int64_t)v, table, n);
    return err_in(o->e, "%s", field);
}

/* Returns the position of the first entry with this id, or NONE. */
static uint32_t find_id(const old_ids *ids, uint64_t id)
{
    if (ids->dense) return id - 1 < ids->v.n ? (uint32_t)(id - 1) : NONE;
    size_t lo = SEARCH(0, ids->v.n, i, ids->v.v[i].id < id);
    return lo < ids->v.n && ids->v.v[lo].id == id ? ids->v.v[lo].position : NONE;
}

bool old_reference(old *o, const old_ids *ids, old_ref r, size_t n, const char *table,
                   const char *field, uint32_t *out)
{
    *out = NONE;
    if (old_means_nothing(ids, r.v, n)) return true;
    if (!ids->by_id) return old_index(o, r.v, n, table, field, r.at, out);
    *out = find_id(ids, r.v);
    if (*out != NONE) return true;
    if (o->lenient) {
        old_note(o, LOSS_INDEX_REPAIRED, NULL, (str){0}, "%s", field);
        return true;
    }
    err_at(o->e, ERR_MALFORMED, (uint64_t)(r.at - o->base), "no %s has the id %" PRIu64, table,
           r.v);
    return err_in(o->e, "%s", field);
}

bool old_string(old *o, old_tables *t, uint64_t v, const char *field, const uint8_t *at,
                uint32_t *out)
{
    *out = 0;
    if (v == 0 && t->strings.n == 0) return true;
    uint32_t i;
    if (!old_index(o, v, t->strings.n, "string_table", field, at, &i)) return false;
    if (i == NONE) return true;
    if (t->string_index.v[i] == NONE) t->string_index.v[i] = builder_string(&o->b, t->strings.v[i]);
    *out = t->string_index.v[i];
    return true;
}

bool old_push(old *o, arena *a, u32s *to, uint32_t v)
{
    uint32_t *slot = vec_push(a, to);
    if (!slot) return err_memory(o->e);
    *slot = v;
    return true;
}

bool old_attr_refs(old *o, arena *a, const old_tables *t, const pb_field *f, const char *name,
                   u32s *to)
{
    old_iter i = old_iter_open(o, f);
    while (old_iter_next(&i)) {
        uint32_t at;
        if (!old_index(o, i.v, t->attribute.n, t->schema->attribute, name, i.at, &at)) return false;
        if (at != NONE && !old_push(o, a, to, t->attribute.v[at])) return false;
    }
    return pb_ok(&i.c);
}

bool old_attr_add(old *o, arena *a, u32s *to, uint32_t attr)
{
    const attribute *table = o->b.m.dict.attributes.v;
    for (size_t i = 0; i < to->n; i++)
        if (table[to->v[i]].key == table[attr].key) return true;
    return old_push(o, a, to, attr);
}

bool old_attr_text(old *o, arena *a, u32s *to, const char *key, str v)
{
    return old_attr_add(o, a, to, builder_attribute_str(&o->b, str_of(key), v));
}

bool old_attr_int(old *o, arena *a, u32s *to, const char *key, uint64_t v)
{
    return old_attr_add(o, a, to, builder_attribute_int(&o->b, str_of(key), (int64_t)v));
}

/* ---- fields ---- */

/* Reads bytes; an id must have `size` of them or none. */
static bool bytes_field(pb_cur *c, const pb_field *f, const char *name, size_t size, str *out)
{
    if (!pb_expect(c, f, 2, name)) return false;
    *out = pb_bytes(f);
    if (out->n == 0 || out->n == size || size == 0) return true;
    return pb_fail(c, f->at, "%s has %zu bytes, expected %zu", name, out->n, size);
}

static bool attribute_field(old *o, arena *a, pb_cur *c, const pb_field *f, keyvalue_list *to)
{
    if (!pb_expect(c, f, 2, "attributes")) return false;
    keyvalue *kv = vec_push(a, to);
    if (!kv) return err_memory(o->e);
    if (old_keyvalue(o, a, NULL, pb_message(c, f), kv)) return true;
    return err_in(o->e, "attributes[%zu]", to->n - 1);
}

static bool string_entry(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name)
{
    str s;
    if (!pb_text(c, f, name, &s)) return err_in(o->e, "%s[%zu]", name, t->strings.n);
    str *slot = vec_push(t->a, &t->strings);
    if (!slot) return err_memory(o->e);
    *slot = s;
    return old_push(o, t->a, &t->string_index, NONE);
}

static bool line_field(old *o, old_tables *t, pb_cur *c, const pb_field *f)
{
    if (!pb_expect(c, f, 2, "line")) return false;
    line *slot = vec_push(t->a, &t->lines);
    if (!slot) return err_memory(o->e);
    old_line l = {.function.at = f->data};
    uint32_t i;
    if (!old_fields(o, t->a, t, pb_message(c, f), &t->schema->lines, &l) ||
        !old_reference(o, &t->function_ids, l.function, t->function.n, t->schema->function,
                       "function_index", &i))
        return err_in(o->e, "line[%zu]", t->lines.n - 1);
    *slot = l.l;
    if (i != NONE) slot->function = t->function.v[i];
    return true;
}

static bool later(old *o, arena *a, const pb_field *f, pieces *to)
{
    piece *x = vec_push(a, to);
    if (!x) return err_memory(o->e);
    *x = (piece){f->data, (size_t)f->value};
    return true;
}

static bool list_later(old *o, arena *a, const pb_field *f, list_fields *to)
{
    pb_field *x = vec_push(a, to);
    if (!x) return err_memory(o->e);
    *x = *f;
    return true;
}

static bool read_field(old *o, arena *a, old_tables *t, pb_cur *c, const pb_field *f,
                       const old_field *d, void *message)
{
    void *to = (char *)message + d->offset;
    const char *name = d->name;
    uint64_t v = f->value;
    switch ((old_kind)d->kind) {
    case OLD_UNKNOWN: o->n_unknown++; return true;
    case OLD_IGNORED: return pb_expect(c, f, 0, name);
    case OLD_U64: *(uint64_t *)to = v; return pb_expect(c, f, 0, name);
    case OLD_U32: *(uint32_t *)to = (uint32_t)v; return pb_expect(c, f, 0, name);
    case OLD_U32_WIDE: *(uint64_t *)to = (uint32_t)v; return pb_expect(c, f, 0, name);
    case OLD_BOOL: *(bool *)to = v != 0; return pb_expect(c, f, 0, name);
    case OLD_FIXED64: *(uint64_t *)to = v; return pb_expect(c, f, 1, name);
    case OLD_REF: *(old_ref *)to = (old_ref){v, f->at}; return pb_expect(c, f, 0, name);
    case OLD_NAME: return pb_expect(c, f, 0, name) && old_string(o, t, v, name, f->at, to);
    case OLD_TEXT: return pb_text(c, f, name, to);
    case OLD_BYTES: return bytes_field(c, f, name, 0, to);
    case OLD_ID16: return bytes_field(c, f, name, 16, to);
    case OLD_ID8: return bytes_field(c, f, name, 8, to);
    case OLD_PIECE: return pb_expect(c, f, 2, name) && later(o, a, f, to);
    case OLD_LIST: return old_list_wire(c, f, name) && list_later(o, a, f, to);
    case OLD_ATTRS: return attribute_field(o, a, c, f, to);
    case OLD_STRINGS: return string_entry(o, t, c, f, name);
    case OLD_ATTR_REFS:
        return old_list_wire(c, f, name) && old_attr_refs(o, t->a, t, f, name, &t->attrs);
    case OLD_LINES: return line_field(o, t, c, f);
    case OLD_CALL: return d->read(o, t, c, f, name, to);
    }
    return true;
}

bool old_fields(old *o, arena *a, old_tables *t, pb_cur c, const old_message *m, void *to)
{
    static const old_field unknown;
    for (pb_field f; pb_next(&c, &f);)
        if (!read_field(o, a, t, &c, &f, f.number < m->n ? &m->fields[f.number] : &unknown, to))
            return false;
    return pb_ok(&c);
}

bool old_submessage(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                    const old_message *m, void *to)
{
    return pb_expect(c, f, 2, name) &&
           (old_fields(o, t->a, t, pb_message(c, f), m, to) || err_in(o->e, "%s", name));
}
