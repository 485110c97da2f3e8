/* Reads LogRecord, resource and scope with the checked cursor, and writes them into a buf. */
#include "format/splunk_internal.h"

#include "wire/otlp.h"
#include "wire/otlp_cold.h"
#include "base/ban.h"

/* ---- reading values ---- */

static bool no_memory(pb_cur *c, const arena *a)
{
    c->bad = true;
    return arena_spent(a, c->e);
}

static bool read_any(pb_cur c, arena *a, any *out, unsigned depth);

static bool read_keyvalue(pb_cur c, arena *a, keyvalue *out, unsigned depth)
{
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number == 1 && !pb_text(&c, &f, "key", &out->key)) return false;
        if (f.number != 2) continue;
        if (!pb_expect(&c, &f, 2, "value")) return false;
        if (!read_any(pb_message(&c, &f), a, &out->value, depth)) return false;
    }
    return pb_ok(&c);
}

static bool read_list(pb_cur c, arena *a, any *out, bool kv, unsigned depth)
{
    size_t n = 0, i = 0;
    pb_cur count = c;
    for (pb_field f; pb_next(&count, &f);) n += f.number == 1 && f.wire == 2;
    if (!pb_ok(&count)) return false;
    out->array = NULL;
    if (n > UINT32_MAX) return no_memory(&c, a);
    if (kv)
        out->kvlist = arena_new(a, keyvalue, n);
    else
        out->array = arena_new(a, any, n);
    if (kv ? !out->kvlist : !out->array) return no_memory(&c, a);
    out->n = (uint32_t)n;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number != 1 || f.wire != 2) continue;
        pb_cur in = pb_message(&c, &f);
        if (kv ? !read_keyvalue(in, a, &out->kvlist[i], depth + 1)
               : !read_any(in, a, &out->array[i], depth + 1))
            return false;
        i++;
    }
    return pb_ok(&c);
}

static bool read_any(pb_cur c, arena *a, any *out, unsigned depth)
{
    if (depth > OTLP_MAX_DEPTH)
        return pb_fail(&c, c.p, "values are nested deeper than %d", OTLP_MAX_DEPTH);
    for (pb_field f; pb_next(&c, &f);) {
        static const uint32_t wires[] = {9, 2, 0, 0, 1, 2, 2, 2};
        if (f.number >= ARRAY_LEN(wires)) continue;
        if (!pb_expect(&c, &f, wires[f.number], "a member of AnyValue")) return false;
        *out = (any){.kind = f.number};
        str s = {0};
        switch (f.number) {
        case ANY_STRING:
            if (!pb_text(&c, &f, "string_value", &s)) return false;
            *out = any_of_str(s);
            break;
        case ANY_BYTES:
            *out = any_of_str(pb_bytes(&f));
            out->kind = ANY_BYTES;
            break;
        case ANY_BOOL: out->i = f.value != 0; break;
        case ANY_INT: out->i = (int64_t)f.value; break;
        case ANY_DOUBLE: memcpy(&out->d, &f.value, sizeof out->d); break;
        default:
            if (!read_list(pb_message(&c, &f), a, out, f.number == ANY_KVLIST, depth)) return false;
        }
    }
    return pb_ok(&c);
}

/* ---- the record ---- */

static bool read_attrs(pb_cur c, arena *a, keyvalues *out)
{
    size_t n = 0;
    pb_cur count = c;
    count.e = NULL;
    for (pb_field f; pb_next(&count, &f);) n += f.number == 6 && f.wire == 2;
    out->v = arena_new(a, keyvalue, n);
    if (!out->v) return no_memory(&c, a);
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number != 6 || f.wire != 2) continue;
        if (!read_keyvalue(pb_message(&c, &f), a, &out->v[out->n], 0))
            return err_in(c.e, "attributes[%zu]", out->n);
        out->n++;
    }
    return pb_ok(&c);
}

/* Wire types of the fields; 8, `flags`, is fixed32 or, from JSON, a varint. */
static const uint8_t record_wires[] = {9, 1, 0, 2, 2, 2, 2, 0, 5, 2, 2, 1, 2};

static bool read_field(pb_cur *c, const pb_field *f, arena *a, splunk_record *r)
{
    switch (f->number) {
    case 1: r->time = f->value; return true;
    case 2: r->severity_number = f->value; return true;
    case 3: return pb_text(c, f, "severity_text", &r->severity_text);
    case 4: return pb_text(c, f, "name", &r->name);
    case 5: return read_any(pb_message(c, f), a, &r->body, 0) || err_in(c->e, "body");
    case 7: r->dropped = (uint32_t)f->value; return true;
    case 8: r->flags = f->value; return true;
    case 9: r->trace_id = pb_bytes(f); return true;
    case 10: r->span_id = pb_bytes(f); return true;
    case 11: r->observed = f->value; return true;
    case 12: return pb_text(c, f, "event_name", &r->event_name);
    default: return true;
    }
}

bool splunk_record_read(pb_cur c, arena *a, splunk_record *out)
{
    *out = (splunk_record){0};
    pb_cur all = c;
    for (pb_field f; pb_next(&c, &f);) {
        if (!f.number || f.number >= ARRAY_LEN(record_wires)) {
            out->n_unknown++;
            continue;
        }
        bool varint_flags = f.number == 8 && f.wire == 0;
        if (!varint_flags && !pb_expect(&c, &f, record_wires[f.number], "a field of LogRecord"))
            return false;
        if (!read_field(&c, &f, a, out)) return false;
    }
    return pb_ok(&c) && read_attrs(all, a, &out->attrs);
}

/* Sets the error after a reader of otlp_cold.h failed: out of memory, or malformed bytes. */
static bool cold_failed(const hot *h, pb_cur *c, const char *what)
{
    if (h->limit) return no_memory(c, h->a);
    return pb_fail(c, c->p, "not a valid %s", what);
}

bool splunk_resource_read(pb_cur c, arena *a, resource *out)
{
    hot h = {.a = a, .layout = LAYOUT_1_9};
    out->present = true;
    return otlp_decode_resource(&h, c, out) || cold_failed(&h, &c, "Resource");
}

bool splunk_scope_read(pb_cur c, arena *a, scope *out)
{
    hot h = {.a = a, .layout = LAYOUT_1_9};
    out->present = true;
    return otlp_decode_scope(&h, c, out) || cold_failed(&h, &c, "InstrumentationScope");
}

const any *splunk_attr(const keyvalues *kv, str key)
{
    for (size_t i = 0; i < kv->n; i++)
        if (str_eq(kv->v[i].key, key)) return &kv->v[i].value;
    return NULL;
}

str splunk_attr_text(const keyvalues *kv, str key)
{
    const any *v = splunk_attr(kv, key);
    return v && v->kind == ANY_STRING ? any_str(v) : (str){0};
}

/* ---- writing ---- */

static void put_wrapped(buf *out, uint32_t number, buf *body)
{
    if (body->failed) out->failed = true;
    pb_put_bytes(out, number, buf_view(body));
    buf_free(body);
}

static void put_keyvalue(buf *out, uint32_t number, const keyvalue *kv)
{
    buf b = {0};
    pb_put_bytes(&b, 1, kv->key);
    splunk_put_any(&b, 2, &kv->value);
    put_wrapped(out, number, &b);
}

void splunk_put_any(buf *out, uint32_t number, const any *v)
{
    buf b = {0}, in = {0};
    uint64_t bits;
    switch (v->kind) {
    case ANY_STRING:
    case ANY_BYTES: pb_put_bytes(&b, v->kind, any_str(v)); break;
    case ANY_BOOL:
    case ANY_INT: pb_put_uint(&b, v->kind, (uint64_t)v->i); break;
    case ANY_DOUBLE:
        memcpy(&bits, &v->d, sizeof bits);
        pb_put_fixed64(&b, ANY_DOUBLE, bits);
        break;
    case ANY_ARRAY:
        for (uint32_t i = 0; i < v->n; i++) splunk_put_any(&in, 1, &v->array[i]);
        put_wrapped(&b, ANY_ARRAY, &in);
        break;
    case ANY_KVLIST:
        for (uint32_t i = 0; i < v->n; i++) put_keyvalue(&in, 1, &v->kvlist[i]);
        put_wrapped(&b, ANY_KVLIST, &in);
        break;
    default: break;
    }
    put_wrapped(out, number, &b);
}

void splunk_put_keyvalues(buf *out, uint32_t number, const keyvalues *kv)
{
    for (size_t i = 0; i < kv->n; i++) put_keyvalue(out, number, &kv->v[i]);
}

static void put_text(buf *out, uint32_t number, str s)
{
    if (s.n) pb_put_bytes(out, number, s);
}

static void put_uint(buf *out, uint32_t number, uint64_t v)
{
    if (v) pb_put_uint(out, number, v);
}

static void put_fixed64(buf *out, uint32_t number, uint64_t v)
{
    if (v) pb_put_fixed64(out, number, v);
}

static void put_flags(buf *out, uint64_t v)
{
    if (!v) return;
    pb_put_varint(out, 8 << 3 | 5);
    for (unsigned i = 0; i < 4; i++) buf_putc(out, (char)(v >> (8 * i)));
}

void splunk_record_put(buf *out, uint32_t number, const splunk_record *r)
{
    buf b = {0};
    put_fixed64(&b, 1, r->time);
    put_uint(&b, 2, r->severity_number);
    put_text(&b, 3, r->severity_text);
    put_text(&b, 4, r->name);
    splunk_put_any(&b, 5, &r->body);
    splunk_put_keyvalues(&b, 6, &r->attrs);
    put_uint(&b, 7, r->dropped);
    put_flags(&b, r->flags);
    put_text(&b, 9, r->trace_id);
    put_text(&b, 10, r->span_id);
    put_fixed64(&b, 11, r->observed);
    put_text(&b, 12, r->event_name);
    put_wrapped(out, number, &b);
}

static void put_entity_ref(buf *out, uint32_t number, const entity_ref *x)
{
    buf b = {0};
    put_text(&b, 1, x->schema_url);
    put_text(&b, 2, x->type);
    for (size_t i = 0; i < x->n_id_keys; i++) pb_put_bytes(&b, 3, x->id_keys[i]);
    for (size_t i = 0; i < x->n_description_keys; i++) pb_put_bytes(&b, 4, x->description_keys[i]);
    put_wrapped(out, number, &b);
}

void splunk_resource_put(buf *out, uint32_t number, const resource *r)
{
    buf b = {0};
    if (!r->present) return;
    splunk_put_keyvalues(&b, 1, &r->attrs);
    put_uint(&b, 2, r->dropped_attributes_count);
    for (size_t i = 0; i < r->n_entity_refs; i++) put_entity_ref(&b, 3, &r->entity_refs[i]);
    put_wrapped(out, number, &b);
}

void splunk_scope_put(buf *out, uint32_t number, const scope *s)
{
    buf b = {0};
    put_text(&b, 1, s->name);
    put_text(&b, 2, s->version);
    splunk_put_keyvalues(&b, 3, &s->attrs);
    put_uint(&b, 4, s->dropped_attributes_count);
    put_wrapped(out, number, &b);
}
