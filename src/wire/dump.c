/* Prints protobuf bytes as YAML, JSON and protobuf text (dump.h), with three emitters for
 * walk.h. */
#include "wire/dump.h"

#include "wire/base64.h"
#include "wire/otlp_json.h"
#include "wire/walk.h"

#include "base/ban.h"
#include <math.h>

enum { LINE_WIDTH = 100 }; /* lists of numbers continue on the next line */

static void indent(buf *b, unsigned levels)
{
    static const char blanks[] = "                                                                ";
    for (size_t n = (size_t)levels * 2, some; n; n -= some) {
        some = n < sizeof blanks - 1 ? n : sizeof blanks - 1;
        buf_put(b, blanks, some);
    }
}

static void put_hex(buf *b, str bytes)
{
    for (size_t i = 0; i < bytes.n; i++) {
        static const char hex[] = "0123456789abcdef";
        unsigned u = (unsigned char)bytes.p[i];
        buf_put(b, (char[]){hex[u >> 4], hex[u & 15]}, 2);
    }
}

static void put_integer(buf *b, const field_desc *f, const walk_value *v)
{
    if (f->type == FT_INT32 || f->type == FT_INT64 || f->type == FT_ENUM)
        buf_i64(b, v->i);
    else
        buf_u64(b, v->u);
}

/* ---- YAML ---- */

typedef struct yaml {
    emitter base;
    unsigned depth;  /* nesting depth of keys */
    bool in_line;    /* after "- ": the next key is on the same line */
    bool empty;      /* the open message has no field yet */
    bool flow, more; /* flow: inside [ ]; more: after an element */
    size_t line_at;  /* out->n where the flow line began */
} yaml;

/* Returns whether every YAML reader reads the unquoted text as this string: it has a letter first,
 * then letters, digits and some safe characters, and is not a word with another meaning, such as
 * `no`. */
static bool is_plain_text(str s)
{
    static const char marks[] = "_./-+@$()";
    static const char *const words[] = {"null", "true", "false", "yes", "no",
                                        "on",   "off",  "y",     "n"};
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
        if (!letter && (i == 0 || !((c >= '0' && c <= '9') || (c && strchr(marks, c)))))
            return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (s.n == strlen(words[i]) && strncasecmp(s.p, words[i], s.n) == 0) return false;
    return s.n > 0;
}

/* Returns the length of the code point at p if JSON allows it unescaped but YAML does not:
 * non-printable ones, YAML's line breaks and the byte order mark.  Otherwise returns 0. */
static size_t unprintable(const unsigned char *p, size_t n, unsigned *code)
{
    if (n >= 2 && p[0] == 0xc2 && p[1] < 0xa0) return *code = p[1], 2;
    if (n >= 3 && p[0] == 0xe2 && p[1] == 0x80 && (p[2] | 1) == 0xa9)
        return *code = 0x2000u | (p[2] & 0x3fu), 3;
    if (n >= 3 && p[0] == 0xef && p[1] == 0xbb && p[2] == 0xbf) return *code = 0xfeff, 3;
    if (n >= 3 && p[0] == 0xef && p[1] == 0xbf && p[2] >= 0xbe)
        return *code = 0xff00u | (p[2] + 0x40u), 3;
    return 0;
}

/* Writes a JSON string, which is also a YAML string once these code points are escaped. */
static void yaml_quote(buf *b, str s)
{
    size_t from = 0;
    buf_putc(b, '"');
    for (size_t i = 0; i < s.n;) {
        unsigned code;
        size_t n = unprintable((const unsigned char *)s.p + i, s.n - i, &code);
        if (n) {
            json_escape(b, (str){s.p + from, i - from});
            buf_printf(b, "\\u%04x", code);
            from = i + n;
        }
        i += n ? n : 1;
    }
    json_escape(b, (str){s.p + from, s.n - from});
    buf_putc(b, '"');
}

static void yaml_double(buf *b, double v)
{
    if (isnan(v)) return buf_z(b, ".nan");
    if (isinf(v)) return buf_z(b, v > 0 ? ".inf" : "-.inf");
    char text[32];
    size_t n = double_text(v, text, sizeof text);
    /* The decimal point makes YAML 1.1 readers recognize a float. */
    size_t e = 0;
    while (e < n && text[e] != 'e') e++;
    buf_put(b, text, e);
    if (!memchr(text, '.', e)) buf_z(b, ".0");
    buf_put(b, text + e, n - e);
}

static void yaml_scalar_text(buf *b, const field_desc *f, const walk_value *v)
{
    switch ((field_type)f->type) {
    case FT_BOOL: return buf_z(b, v->u ? "true" : "false");
    case FT_DOUBLE: return yaml_double(b, v->d);
    case FT_STRING:
        if (is_plain_text(v->s))
            buf_str(b, v->s);
        else
            yaml_quote(b, v->s);
        return;
    case FT_BYTES:
        buf_z(b, f->flags & FF_ID ? "\"" : "!!binary \"");
        if (f->flags & FF_ID)
            put_hex(b, v->s);
        else
            base64_encode(b, v->s);
        return buf_putc(b, '"');
    default: return put_integer(b, f, v);
    }
}

/* Starts a line inside the open message, or continues after "- ". */
static void yaml_line(yaml *y)
{
    y->empty = false;
    if (!y->in_line) indent(y->base.out, y->depth);
    y->in_line = false;
}

static void yaml_key(yaml *y, const field_desc *f)
{
    yaml_line(y);
    buf_z(y->base.out, f->name);
    buf_putc(y->base.out, ':');
}

/* Elements of a list are one level deeper than its key; y->depth is the depth of their dashes. */
static void yaml_dash(yaml *y)
{
    indent(y->base.out, y->depth);
    buf_z(y->base.out, "- ");
}

static void yaml_message(emitter *to, const field_desc *f)
{
    yaml *y = (yaml *)to;
    if (f && (f->flags & FF_REPEATED)) {
        yaml_dash(y);
        y->in_line = true;
    } else if (f) {
        yaml_key(y, f);
    }
    if (f) y->depth++;
    y->empty = true;
    /* The first field writes the line break, because an empty message is written as {}. */
    if (f && !(f->flags & FF_REPEATED)) buf_putc(to->out, '\n');
}

static void yaml_message_end(emitter *to, const field_desc *f)
{
    yaml *y = (yaml *)to;
    if (y->empty) {
        if (f && !(f->flags & FF_REPEATED)) {
            to->out->n -= to->out->n > 0; /* removes the line break after "key:" */
            buf_putc(to->out, ' ');
        }
        buf_z(to->out, "{}\n");
    }
    y->empty = y->in_line = false;
    if (f) y->depth--;
}

static void yaml_list(emitter *to, const field_desc *f)
{
    yaml *y = (yaml *)to;
    size_t line_at = to->out->n;
    yaml_key(y, f);
    y->flow = field_packable(f);
    y->more = false;
    y->line_at = line_at;
    buf_z(to->out, y->flow ? " [" : "\n");
    y->depth++;
}

static void yaml_list_end(emitter *to, const field_desc *f)
{
    (void)f;
    yaml *y = (yaml *)to;
    if (y->flow) buf_z(to->out, "]\n");
    y->flow = false;
    y->depth--;
}

static void yaml_flow_element(yaml *y)
{
    buf *b = y->base.out;
    if (y->more) buf_putc(b, ',');
    if (y->more && b->n - y->line_at > LINE_WIDTH) {
        buf_putc(b, '\n');
        y->line_at = b->n;
        indent(b, y->depth + 1);
    } else if (y->more) {
        buf_putc(b, ' ');
    }
    y->more = true;
}

static void yaml_scalar(emitter *to, const field_desc *f, const walk_value *v)
{
    yaml *y = (yaml *)to;
    if (y->flow) {
        yaml_flow_element(y);
        yaml_scalar_text(to->out, f, v);
        return;
    }
    if (f->flags & FF_REPEATED) {
        yaml_dash(y);
    } else {
        yaml_key(y, f);
        buf_putc(to->out, ' ');
    }
    yaml_scalar_text(to->out, f, v);
    buf_putc(to->out, '\n');
}

/* ---- protobuf text format ---- */

typedef struct text {
    emitter base;
    unsigned depth;
} text;

static void text_quote(buf *b, str s)
{
    static const char from[] = "\n\r\t\"'\\", to[] = "nrt\"'\\";
    buf_putc(b, '"');
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        const char *at = c ? strchr(from, c) : NULL;
        if (at)
            buf_put(b, (char[]){'\\', to[at - from]}, 2);
        else if (c >= 0x20 && c < 0x7f)
            buf_putc(b, (char)c);
        else
            buf_printf(b, "\\%03o", c);
    }
    buf_putc(b, '"');
}

static void text_double(buf *b, double v)
{
    char d[32];
    if (isnan(v))
        buf_z(b, "nan");
    else if (isinf(v))
        buf_z(b, v > 0 ? "inf" : "-inf");
    else
        buf_put(b, d, double_text(v, d, sizeof d));
}

static void text_message(emitter *to, const field_desc *f)
{
    text *t = (text *)to;
    if (!f) return;
    indent(to->out, t->depth++);
    buf_z(to->out, f->name);
    buf_z(to->out, " {\n");
}

static void text_message_end(emitter *to, const field_desc *f)
{
    text *t = (text *)to;
    if (!f) return;
    indent(to->out, --t->depth);
    buf_z(to->out, "}\n");
}

static void text_list(emitter *to, const field_desc *f) { (void)to, (void)f; }

static void text_scalar(emitter *to, const field_desc *f, const walk_value *v)
{
    buf *b = to->out;
    indent(b, ((text *)to)->depth);
    buf_z(b, f->name);
    buf_z(b, ": ");
    switch ((field_type)f->type) {
    case FT_BOOL: buf_z(b, v->u ? "true" : "false"); break;
    case FT_DOUBLE: text_double(b, v->d); break;
    case FT_STRING:
    case FT_BYTES: text_quote(b, v->s); break;
    default: put_integer(b, f, v); break;
    }
    buf_putc(b, '\n');
}

/* ---- the public functions ---- */

bool dump_message(const void *p, size_t n, const message_desc *root, const dump_opts *o, buf *out,
                  err *e)
{
    static const emitter_ops yaml_ops = {yaml_message, yaml_message_end, yaml_list, yaml_list_end,
                                         yaml_scalar};
    static const emitter_ops text_ops = {text_message, text_message_end, text_list, text_list,
                                         text_scalar};
    switch (o->format) {
    case DUMP_YAML: {
        yaml y = {.base = {&yaml_ops, out, o->write, o->ctx}};
        return walk_message(p, n, root, &y.base, e);
    }
    case DUMP_TEXT: {
        text t = {.base = {&text_ops, out, o->write, o->ctx}};
        return walk_message(p, n, root, &t.base, e);
    }
    case DUMP_JSON:
        return otlp_message_to_json(p, n, root, &(otlp_json_opts){true, o->write, o->ctx}, out, e);
    }
    return err_set(e, ERR_USAGE, "unknown output format");
}

bool dump_pb(const void *p, size_t n, layout l, const dump_opts *o, buf *out, err *e)
{
    const message_desc *root = schema_profiles_data(l);
    if (!root) return err_set(e, ERR_USAGE, "no such layout");
    return dump_message(p, n, root, o, out, e);
}

dump_format dump_format_from_name(str name, bool *known)
{
    *known = true;
    if (str_eq(name, STR("yaml"))) return DUMP_YAML;
    if (str_eq(name, STR("json"))) return DUMP_JSON;
    if (str_eq(name, STR("text"))) return DUMP_TEXT;
    *known = false;
    return DUMP_YAML;
}
