/* Prints dialect C as text in the form of the proposal: lists in brackets, entries with their
 * numbers, the strings that indices refer to as comments. protoc --encode reads it. */
#include "format/events.h"

#include "wire/json.h"
#include "base/ban.h"
#include <math.h>

enum { PRINT_DEPTH = 200 };

typedef struct printer {
    buf *out;
    err *e;
    str *strings; /* string table of the current Profile */
    size_t n_strings;
    arena a;
    unsigned depth;
} printer;

static void indent(printer *p)
{
    for (unsigned i = 0; i < p->depth; i++) buf_z(p->out, "    ");
}

/* Writes a string of protobuf's text format; bytes that are not printable ASCII are in octal. */
static void quoted(buf *b, str s, bool utf8)
{
    buf_putc(b, '"');
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c == '"' || c == '\\')
            buf_put(b, (char[]){'\\', (char)c}, 2);
        else if (c == '\n')
            buf_z(b, "\\n");
        else if (c < 0x20 || c == 0x7f || (c >= 0x80 && !utf8))
            buf_printf(b, "\\%03o", c);
        else
            buf_putc(b, (char)c);
    }
    buf_putc(b, '"');
}

static void put_double(buf *b, double v)
{
    char s[32];
    if (isnan(v))
        buf_z(b, "nan");
    else if (isinf(v))
        buf_z(b, v < 0 ? "-inf" : "inf");
    else
        buf_put(b, s, double_text(v, s, sizeof s));
}

static void scalar(buf *b, const field_desc *f, uint64_t v)
{
    double d;
    switch ((field_type)f->type) {
    case FT_INT32: buf_i64(b, (int32_t)v); return;
    case FT_INT64: buf_i64(b, (int64_t)v); return;
    case FT_UINT32:
    case FT_ENUM: buf_u64(b, (uint32_t)v); return;
    case FT_BOOL: buf_z(b, v ? "true" : "false"); return;
    case FT_DOUBLE:
        memcpy(&d, &v, sizeof d);
        put_double(b, d);
        return;
    default: buf_u64(b, v);
    }
}

/* Prints the string of an index as a comment, if it fits on a line. */
static void remark(printer *p, const field_desc *f, uint64_t v)
{
    if (f->target != TABLE_STRING || v >= p->n_strings || !v) return;
    str s = p->strings[v];
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20) return;
    if (s.n && s.n <= 80) buf_printf(p->out, " # %.*s", STR_ARG(s));
}

static bool message(printer *p, const message_desc *m, pb_cur c);

static bool body(printer *p, const field_desc *f, pb_cur c)
{
    if (p->depth >= PRINT_DEPTH)
        return err_set(p->e, ERR_LIMIT, "messages nest deeper than %d", PRINT_DEPTH);
    p->depth++;
    bool ok = message(p, f->message, c);
    p->depth--;
    indent(p);
    buf_putc(p->out, '}');
    return ok;
}

static bool element(printer *p, const field_desc *f, pb_cur *c, const pb_field *r, size_t i)
{
    indent(p);
    if (f->type != FT_MESSAGE) {
        quoted(p->out, pb_bytes(r), f->type == FT_STRING);
        return true;
    }
    buf_printf(p->out, "{ # index %zu\n", i);
    return body(p, f, pb_message(c, r));
}

/* Prints all records of a repeated field in brackets. */
static bool list(printer *p, const field_desc *f, pb_cur c)
{
    size_t n = 0;
    bool packed = field_packable(f);
    for (pb_field r; pb_next(&c, &r);) {
        if (r.number != f->number) continue;
        if (packed) {
            old_iter it = {.c = pb_message(&c, &r), .single = r.wire == 0, .v = r.value};
            if (it.single) it.c.p = it.c.end = c.p;
            while (old_iter_next(&it)) {
                if (n++) buf_z(p->out, ", ");
                scalar(p->out, f, it.v);
            }
            continue;
        }
        if (n) buf_z(p->out, ",\n");
        if (!n) buf_putc(p->out, '\n');
        p->depth++;
        bool ok = element(p, f, &c, &r, n++);
        p->depth--;
        if (!ok) return false;
    }
    if (!packed && n) {
        buf_putc(p->out, '\n');
        indent(p);
    }
    buf_z(p->out, "]\n");
    return pb_ok(&c);
}

static bool singular(printer *p, const field_desc *f, pb_cur c)
{
    pb_field last = {0};
    for (pb_field r; pb_next(&c, &r);)
        if (r.number == f->number) last = r;
    if (f->type == FT_MESSAGE) {
        buf_z(p->out, "{\n");
        if (!body(p, f, pb_message(&c, &last))) return false;
    } else if (last.wire == 2) {
        quoted(p->out, pb_bytes(&last), f->type == FT_STRING);
    } else {
        scalar(p->out, f, last.value);
        remark(p, f, last.value);
    }
    buf_putc(p->out, '\n');
    return pb_ok(&c);
}

/* Reads the string table before anything is printed, because comments use it. */
static bool read_strings(printer *p, const message_desc *m, pb_cur c)
{
    const field_desc *f = message_field_named(m, STR("strings"));
    if (!f) return true;
    VEC(str) all = {0};
    for (pb_field r; pb_next(&c, &r);) {
        if (r.number != f->number) continue;
        str *s = vec_push(&p->a, &all);
        if (!s) return err_set(p->e, ERR_MEMORY, "out of memory while printing events");
        *s = pb_bytes(&r);
    }
    p->strings = all.v;
    p->n_strings = all.n;
    return pb_ok(&c);
}

static bool message(printer *p, const message_desc *m, pb_cur c)
{
    uint64_t seen = 0;
    pb_cur scan = c;
    if (!read_strings(p, m, c)) return false;
    for (pb_field r; pb_next(&scan, &r);)
        if (r.number < 64) seen |= UINT64_C(1) << r.number;
    if (!pb_ok(&scan)) return false;
    for (size_t i = 0; i < m->n_fields; i++) {
        const field_desc *f = &m->fields[i];
        if (f->number >= 64 || !(seen >> f->number & 1)) continue;
        indent(p);
        bool many = f->flags & FF_REPEATED;
        buf_printf(p->out, "%s: %s", f->name, many ? "[" : "");
        if (!(many ? list(p, f, c) : singular(p, f, c))) return false;
    }
    return !p->out->failed || err_set(p->e, ERR_MEMORY, "out of memory while printing events");
}

bool events_print(str bytes, dialect root, buf *out, err *e)
{
    printer p = {.out = out, .e = e};
    bool ok = message(&p, dialect_schema(root), pb_open(bytes.p, bytes.n, e));
    arena_free(&p.a);
    return ok;
}
