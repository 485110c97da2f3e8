/* Numbers, texts, attribute values, references and the tables that v1.3 to v1.7 have in common. */
#include "wire/otlp_old_internal.h"

#include "base/ban.h"
#include <inttypes.h>

bool old_limit(old *o)
{
    return err_set(o->e, ERR_LIMIT, "the profile does not fit the memory budget");
}

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
    char *box = strrchr(o->where, '.'); /* the container of a v1.3 Profile has these fields */
    if (box && !strcmp(box, ".profile")) *box = '\0';
    snprintf(value, sizeof value, "%" PRIu64 ", %" PRIu64 " ns before the start", end, start - end);
    old_note(o, LOSS_TIME, NULL, str_of(value), "end_time_unix_nano");
    if (box && !*box) *box = '.';
}

/* ---- small readers ---- */

bool old_piece(old *o, arena *a, pb_cur *c, const pb_field *f, const char *name, pieces *to)
{
    if (!pb_expect(c, f, 2, name)) return false;
    piece *x = vec_push(a, to);
    if (!x) return old_limit(o);
    *x = (piece){f->data, (size_t)f->value};
    return true;
}

bool old_u64(pb_cur *c, const pb_field *f, const char *name, uint64_t *out)
{
    *out = f->value;
    return pb_expect(c, f, 0, name);
}

bool old_u32(pb_cur *c, const pb_field *f, const char *name, uint32_t *out)
{
    *out = (uint32_t)f->value; /* protobuf itself cuts to 32 bits */
    return pb_expect(c, f, 0, name);
}

bool old_bool(pb_cur *c, const pb_field *f, const char *name, bool *out)
{
    *out = f->value != 0;
    return pb_expect(c, f, 0, name);
}

bool old_fixed64(pb_cur *c, const pb_field *f, const char *name, uint64_t *out)
{
    *out = f->value;
    return pb_expect(c, f, 1, name);
}

bool old_bytes(pb_cur *c, const pb_field *f, const char *name, str *out)
{
    if (!pb_expect(c, f, 2, name)) return false;
    *out = pb_bytes(f);
    return true;
}

bool old_id_bytes(pb_cur *c, const pb_field *f, const char *name, size_t want, str *out)
{
    if (!old_bytes(c, f, name, out)) return false;
    if (out->n == 0 || out->n == want) return true;
    return pb_fail(c, f->at, "%s has %zu bytes, expected %zu", name, out->n, want);
}

bool old_list_field(old *o, arena *a, pb_cur *c, const pb_field *f, const char *name,
                    list_fields *to)
{
    if (f->wire != 0 && !pb_expect(c, f, 2, name)) return false;
    pb_field *x = vec_push(a, to);
    if (!x) return old_limit(o);
    *x = *f;
    return true;
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

static bool any_value(old *o, arena *a, pb_cur c, any *out, unsigned depth);

/* Elements of one kind in a message that is a list of them (field 1). */
static size_t count_elements(pb_cur c)
{
    size_t n = 0;
    c.e = NULL;
    for (pb_field f; pb_next(&c, &f);) n += f.number == 1;
    return n;
}

/* Room for `more` elements behind the n there are; the same member twice is one list. */
static bool any_room(old *o, arena *a, any *out, any_kind kind, size_t more, size_t size)
{
    uint32_t n = out->kind == kind ? out->n : 0;
    const void *from = n ? (const void *)out->array : NULL;
    size_t bytes;
    if (more > UINT32_MAX - n || ckd_mul(&bytes, n + more, size)) return old_limit(o);
    char *to = arena_zero(a, bytes);
    if (!to) return old_limit(o);
    if (n) memcpy(to, from, n * size);
    *out = (any){.kind = kind, .n = n};
    if (kind == ANY_ARRAY)
        out->array = (any *)(void *)to;
    else
        out->kvlist = (keyvalue *)(void *)to;
    return true;
}

static bool keyvalue_fields(old *o, arena *a, pb_cur c, keyvalue *out, unsigned depth)
{
    for (pb_field f; pb_next(&c, &f);) {
        switch (f.number) {
        case 1:
            if (!pb_text(&c, &f, "key", &out->key)) return false;
            break;
        case 2:
            if (!pb_expect(&c, &f, 2, "value")) return false;
            if (!any_value(o, a, pb_message(&c, &f), &out->value, depth + 1))
                return err_in(o->e, "value");
            break;
        default: o->n_unknown++;
        }
    }
    return pb_ok(&c);
}

static bool any_list(old *o, arena *a, pb_cur c, any *out, any_kind kind, unsigned depth)
{
    size_t size = kind == ANY_ARRAY ? sizeof(any) : sizeof(keyvalue);
    if (!any_room(o, a, out, kind, count_elements(c), size)) return false;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number != 1) {
            o->n_unknown++;
            continue;
        }
        if (!pb_expect(&c, &f, 2, "values")) return false;
        pb_cur sub = pb_message(&c, &f);
        uint32_t i = out->n++;
        bool ok = kind == ANY_ARRAY ? any_value(o, a, sub, &out->array[i], depth + 1)
                                    : keyvalue_fields(o, a, sub, &out->kvlist[i], depth + 1);
        if (!ok) return err_in(o->e, "values[%u]", i);
    }
    return pb_ok(&c);
}

static bool any_field(old *o, arena *a, pb_cur *c, const pb_field *f, any *out, unsigned depth)
{
    str s;
    switch (f->number) {
    case 1:
        if (!pb_text(c, f, "string_value", &s)) return false;
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
        if (any_list(o, a, pb_message(c, f), out, ANY_ARRAY, depth)) return true;
        return err_in(o->e, "array_value");
    case 6:
        if (!pb_expect(c, f, 2, "kvlist_value")) return false;
        if (any_list(o, a, pb_message(c, f), out, ANY_KVLIST, depth)) return true;
        return err_in(o->e, "kvlist_value");
    case 7:
        if (!old_bytes(c, f, "bytes_value", &s)) return false;
        *out = (any){.kind = ANY_BYTES, .n = (uint32_t)s.n, .s = s.p};
        return true;
    default: o->n_unknown++; return true;
    }
}

static bool any_value(old *o, arena *a, pb_cur c, any *out, unsigned depth)
{
    if (depth > OTLP_MAX_DEPTH)
        return err_at(o->e, ERR_LIMIT, pb_offset(&c, c.p), "values are nested more than %d deep",
                      OTLP_MAX_DEPTH);
    for (pb_field f; pb_next(&c, &f);)
        if (!any_field(o, a, &c, &f, out, depth)) return false;
    return pb_ok(&c);
}

bool old_line_fields(old *o, pb_cur c, line *out, uint64_t *function_ref, const uint8_t **at)
{
    uint64_t v;
    *function_ref = 0;
    *at = c.p;
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        switch (f.number) {
        case 1:
            *at = f.at;
            ok = old_u64(&c, &f, "function_index", function_ref);
            break;
        case 2:
            ok = old_u64(&c, &f, "line", &v);
            out->line = (int64_t)v;
            break;
        case 3:
            ok = old_u64(&c, &f, "column", &v);
            out->column = (int64_t)v;
            break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    return pb_ok(&c);
}

bool old_keyvalue(old *o, arena *a, pb_cur c, keyvalue *out)
{
    return keyvalue_fields(o, a, c, out, 0);
}

bool old_attributes(old *o, arena *a, pb_cur *c, const pb_field *f, keyvalue_list *to)
{
    if (!pb_expect(c, f, 2, "attributes")) return false;
    keyvalue *kv = vec_push(a, to);
    if (!kv) return old_limit(o);
    kv->key = (str){"", 0};
    if (old_keyvalue(o, a, pb_message(c, f), kv)) return true;
    return err_in(o->e, "attributes[%zu]", to->n - 1);
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
    if (!slot) return old_limit(o);
    *slot = v;
    return true;
}

bool old_attr_refs(old *o, arena *a, const old_tables *t, const pb_field *f, const char *name,
                   u32s *to)
{
    old_iter i = old_iter_open(o, f);
    while (old_iter_next(&i)) {
        uint32_t at;
        if (!old_index(o, i.v, t->attribute.n, "attribute_table", name, i.at, &at)) return false;
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

/* ---- tables that every layout has ---- */

bool old_add_string(old *o, old_tables *t, pb_cur *c, const pb_field *f)
{
    str s;
    if (!pb_text(c, f, "string_table", &s)) return err_in(o->e, "string_table[%zu]", t->strings.n);
    str *slot = vec_push(t->a, &t->strings);
    if (!slot) return old_limit(o);
    *slot = s;
    return old_push(o, t->a, &t->string_index, NONE);
}

static int unit_order(const void *x, const void *y)
{
    const old_unit *a = x, *b = y;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return a->position < b->position ? -1 : a->position > b->position;
}

bool old_build_units(old *o, old_tables *t)
{
    for (size_t i = 0; i < t->units.n; i++) {
        old_unit u = {.position = (uint32_t)i};
        pb_cur c = old_cur(o, t->units.v[i]);
        for (pb_field f; pb_next(&c, &f);) {
            uint64_t v;
            bool key = f.number == 1;
            if (f.number > 2) {
                o->n_unknown++;
                continue;
            }
            const char *name = o->layout == LAYOUT_1_3 ? key ? "attribute_key" : "unit"
                               : key                   ? "attribute_key_strindex"
                                                       : "unit_strindex";
            if (!old_u64(&c, &f, name, &v) ||
                !old_string(o, t, v, name, f.at, key ? &u.key : &u.unit))
                return err_in(o->e, "attribute_units[%zu]", i);
        }
        if (!pb_ok(&c)) return err_in(o->e, "attribute_units[%zu]", i);
        old_unit *slot = vec_push(t->a, &t->unit);
        if (!slot) return old_limit(o);
        *slot = u;
    }
    if (t->unit.n) qsort(t->unit.v, t->unit.n, sizeof *t->unit.v, unit_order);
    return true;
}

/* Unit of a key: the last one, as in a map. */
static uint32_t unit_of(old_tables *t, uint32_t key)
{
    size_t lo = 0, hi = t->unit.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (t->unit.v[mid].key <= key)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == 0 || t->unit.v[lo - 1].key != key) return 0;
    t->unit.v[lo - 1].used = true;
    return t->unit.v[lo - 1].unit;
}

bool old_build_attributes(old *o, old_tables *t)
{
    for (size_t i = 0; i < t->attributes.n; i++) {
        keyvalue kv = {.key = {"", 0}};
        if (!old_keyvalue(o, t->a, old_cur(o, t->attributes.v[i]), &kv))
            return err_in(o->e, "attribute_table[%zu]", i);
        uint32_t unit = unit_of(t, builder_string(&o->b, kv.key));
        uint32_t at = builder_attribute(&o->b, kv.key, &kv.value, old_text(o, unit));
        if (!old_push(o, t->a, &t->attribute, at)) return false;
        if (o->b.failed) return old_limit(o);
    }
    for (size_t i = 0; i < t->unit.n; i++) {
        const old_unit *u = &t->unit.v[i];
        if (u->used || !u->unit) continue;
        old_note(o, LOSS_ATTRIBUTE_UNIT, NULL, old_text(o, u->unit), "attribute_units[%u]",
                 u->position);
    }
    return true;
}

bool old_build_links(old *o, old_tables *t)
{
    for (size_t i = 0; i < t->links.n; i++) {
        static const uint8_t zero[16];
        str trace = {0}, span_id = {0};
        pb_cur c = old_cur(o, t->links.v[i]);
        for (pb_field f; pb_next(&c, &f);) {
            bool ok = true;
            switch (f.number) {
            case 1: ok = old_id_bytes(&c, &f, "trace_id", 16, &trace); break;
            case 2: ok = old_id_bytes(&c, &f, "span_id", 8, &span_id); break;
            default: o->n_unknown++;
            }
            if (!ok) break;
        }
        if (!pb_ok(&c)) return err_in(o->e, "link_table[%zu]", i);
        uint32_t at = builder_link(&o->b, trace.n ? (const uint8_t *)trace.p : zero,
                                   span_id.n ? (const uint8_t *)span_id.p : zero);
        if (!old_push(o, t->a, &t->link, at)) return false;
    }
    return true;
}

bool old_build_types(old *o, old_profile *p, bool (*read)(old *, old_profile *, pb_cur, old_type *))
{
    if (p->type_pieces.n > OLD_MAX_SAMPLE_TYPES)
        return err_set(o->e, ERR_LIMIT, "a profile has %zu sample types, at most %d are read",
                       p->type_pieces.n, OLD_MAX_SAMPLE_TYPES);
    for (size_t i = 0; i < p->type_pieces.n; i++) {
        old_type *t = vec_push(&o->tmp, &p->types);
        if (!t) return old_limit(o);
        if (!read(o, p, old_cur(o, p->type_pieces.v[i]), t))
            return err_in(o->e, "sample_type[%zu]", i);
    }
    for (size_t i = 0; i < p->period_pieces.n; i++)
        if (!read(o, p, old_cur(o, p->period_pieces.v[i]), &p->period_type))
            return err_in(o->e, "period_type");
    if (p->period_type.temporality)
        old_note(o, LOSS_AGGREGATION_TEMPORALITY, NULL, (str){0}, "period_type");
    return true;
}

/* The default type by its name; `unset` is the one that comes first when there is none. */
void old_set_default(old_profile *p, uint32_t name, uint32_t unset)
{
    p->default_name = name;
    p->first = unset;
    for (uint32_t i = 0; name && i < p->types.n; i++)
        if (p->types.v[i].type == name) {
            p->first = i;
            return;
        }
}

/* Attributes of the profile, then its comments as one of them. */
bool old_build_lists(old *o, old_profile *p, const char *comment)
{
    arena *a = &o->tmp;
    for (size_t i = 0; i < p->attrs.n; i++) {
        const keyvalue *kv = &p->attrs.v[i];
        uint32_t at = builder_attribute(&o->b, kv->key, &kv->value, (str){0});
        if (!old_push(o, a, &p->profile_attrs, at)) return false;
    }
    for (size_t i = 0; i < p->attr_indices.n; i++)
        if (!old_attr_refs(o, a, p->t, &p->attr_indices.v[i], "attribute_indices",
                           &p->profile_attrs))
            return false;
    VEC(any) texts = {0};
    for (size_t k = 0; k < p->comments.n; k++) {
        old_iter i = old_iter_open(o, &p->comments.v[k]);
        while (old_iter_next(&i)) {
            uint32_t s;
            if (!old_string(o, p->t, i.v, comment, i.at, &s)) return false;
            any *slot = vec_push(a, &texts);
            if (!slot) return old_limit(o);
            str text = old_text(o, s);
            *slot = (any){.kind = ANY_STRING, .n = (uint32_t)text.n, .s = text.p};
        }
        if (!pb_ok(&i.c)) return err_in(o->e, "%s", comment);
    }
    if (!texts.n) return true;
    any list = {.kind = ANY_ARRAY, .n = (uint32_t)texts.n, .array = texts.v};
    old_note(o, LOSS_COMMENTS, PPROF_ATTR_COMMENT, any_str(&texts.v[0]), "%s", comment);
    return old_attr_add(o, a, &p->profile_attrs,
                        builder_attribute(&o->b, STR(PPROF_ATTR_COMMENT), &list, (str){0}));
}
