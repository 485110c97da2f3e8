/* Writes attribute values as JSON and as one line of text (attributes.h). */
#include "wire/attributes.h"

#include "base/utf8.h"
#include "wire/json.h"
#include "base/ban.h"
#include <inttypes.h>

void text_json(json_out *o, str s)
{
    buf b = {0};
    while (s.n) {
        size_t good = utf8_valid(s.p, s.n);
        buf_put(&b, s.p, good);
        if (good < s.n) buf_z(&b, "\xef\xbf\xbd"), good++;
        s = (str){s.p + good, s.n - good};
    }
    if (b.failed) o->b->failed = true;
    json_put_str(o, b.n ? buf_view(&b) : STR(""));
    buf_free(&b);
}

void value_json(json_out *o, const any *v)
{
    switch ((any_kind)v->kind) {
    case ANY_STRING: json_put_str(o, v->n ? any_str(v) : STR("")); break;
    case ANY_BOOL: json_put_bool(o, v->i != 0); break;
    case ANY_INT: json_put_i64(o, v->i); break;
    case ANY_DOUBLE: json_put_double(o, v->d); break;
    case ANY_BYTES: json_put_base64(o, v->n ? any_str(v) : STR("")); break;
    case ANY_KVLIST: attributes_json(o, v->kvlist, v->n); break;
    case ANY_ARRAY:
        json_put_array(o);
        for (uint32_t i = 0; i < v->n; i++) value_json(o, &v->array[i]);
        json_put_array_end(o);
        break;
    case ANY_EMPTY:
    case ANY_STRREF: json_put_null(o); break;
    }
}

void attributes_json(json_out *o, const keyvalue *v, size_t n)
{
    json_put_object(o);
    for (size_t i = 0; i < n; i++) {
        json_put_key(o, v[i].key.n ? v[i].key : STR(""));
        value_json(o, &v[i].value);
    }
    json_put_object_end(o);
}

void value_text(buf *b, const any *v, size_t max)
{
    switch ((any_kind)v->kind) {
    case ANY_STRING: buf_str(b, any_str(v)); break;
    case ANY_BOOL: buf_z(b, v->i ? "true" : "false"); break;
    case ANY_INT: buf_i64(b, v->i); break;
    case ANY_DOUBLE: buf_printf(b, "%g", v->d); break;
    case ANY_BYTES: buf_printf(b, "(%" PRIu32 " bytes)", v->n); break;
    case ANY_ARRAY:
        buf_putc(b, '[');
        for (uint32_t i = 0; i < v->n && b->n < max; i++) {
            if (i) buf_z(b, ", ");
            value_text(b, &v->array[i], max);
        }
        buf_putc(b, ']');
        break;
    case ANY_KVLIST: buf_printf(b, "{%" PRIu32 " entries}", v->n); break;
    case ANY_EMPTY:
    case ANY_STRREF: buf_z(b, "(empty)"); break;
    }
}
