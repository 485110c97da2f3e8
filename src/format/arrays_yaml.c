/* Prints a profile as the draft does (OTEP 237, "Example Payloads"): dialect A's fields as YAML,
 * sorted by name, the tables of the Profile first. Missing attributes are printed as `null`, and an
 * empty link shows both its ids. Integers are printed without a decimal point. */
#include "format/dialects.h"

#include "wire/json.h"
#include "wire/pb.h"
#include "base/ban.h"

enum { YAML_DEPTH = 200 };

typedef struct yaml {
    buf *out;
    err *e;
    unsigned depth, indent; /* nesting of messages; spaces before a key */
    bool dashed;            /* this line already has "- "; the next key follows on the same line */
} yaml;

/* ---- texts ---- */

/* Whether every YAML reader reads this word as a string. */
static bool is_plain(str s)
{
    static const char *const words[] = {"null", "true", "false", "yes", "no",
                                        "on",   "off",  "y",     "n"};
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z', digit = c >= '0' && c <= '9';
        if (!letter && (i == 0 || !(digit || (c && strchr("_./-", c))))) return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (s.n == strlen(words[i]) && strncasecmp(s.p, words[i], s.n) == 0) return false;
    return s.n > 0;
}

static void put_text(buf *b, str s)
{
    if (is_plain(s))
        buf_str(b, s);
    else
        json_quote(b, s);
}

/* Writes an id, in quotes if YAML would read it as a number: only digits, or digits with an e. */
static void put_id(buf *b, str id)
{
    bool word = false;
    size_t at;
    buf_putc(b, '"');
    at = b->n;
    for (size_t i = 0; i < id.n; i++) buf_printf(b, "%02x", (unsigned char)id.p[i]);
    if (b->failed) return;
    for (size_t i = at; i < b->n; i++) word |= b->p[i] >= 'a' && b->p[i] != 'e';
    if (!word) {
        buf_putc(b, '"');
        return;
    }
    memmove(b->p + at - 1, b->p + at, b->n - at);
    b->n--;
}

static void put_scalar(yaml *y, const field_desc *f, const pb_field *r)
{
    buf *b = y->out;
    char s[32];
    double d;
    switch ((field_type)f->type) {
    case FT_STRING: put_text(b, pb_bytes(r)); return;
    case FT_BYTES:
        if (f->flags & FF_ID) {
            put_id(b, pb_bytes(r));
            return;
        }
        buf_z(b, "!!binary ");
        json_put_base64(&(json_out){.b = b}, pb_bytes(r));
        return;
    case FT_INT64:
    case FT_INT32: buf_i64(b, (int64_t)r->value); return;
    case FT_BOOL: buf_z(b, r->value ? "true" : "false"); return;
    case FT_DOUBLE:
        memcpy(&d, &r->value, sizeof d);
        if (d - d != 0) /* nan or an infinity */
            buf_z(b, d != d ? ".nan" : d < 0 ? "-.inf" : ".inf");
        else
            buf_put(b, s, double_text(d, s, sizeof s));
        return;
    default: buf_u64(b, r->value);
    }
}

/* ---- fields ---- */

static void key(yaml *y, const char *name)
{
    if (!y->dashed)
        for (unsigned i = 0; i < y->indent; i++) buf_putc(y->out, ' ');
    y->dashed = false;
    buf_printf(y->out, "%s:", name);
}

static void dash(yaml *y)
{
    for (unsigned i = 0; i < y->indent; i++) buf_putc(y->out, ' ');
    buf_z(y->out, "- ");
}

static bool message(yaml *y, const message_desc *m, pb_cur c, bool *empty);

static bool element(yaml *y, const field_desc *f, pb_cur c)
{
    bool empty;
    dash(y);
    y->indent += 2;
    y->dashed = true;
    bool ok = message(y, f->message, c, &empty);
    y->indent -= 2;
    y->dashed = false;
    if (empty) buf_z(y->out, "{}\n");
    return ok;
}

static void number(yaml *y, const field_desc *f, uint64_t v)
{
    dash(y);
    put_scalar(y, f, &(pb_field){.value = v});
    buf_putc(y->out, '\n');
}

static bool packed(yaml *y, const field_desc *f, pb_cur c)
{
    while (c.p < c.end) {
        uint64_t v;
        if (!pb_varint(&c, &v)) return false;
        number(y, f, v);
    }
    return true;
}

static bool list(yaml *y, const field_desc *f, pb_cur c)
{
    bool ok = true;
    key(y, f->name);
    buf_putc(y->out, '\n');
    y->indent += 2;
    for (pb_field r; ok && pb_next(&c, &r);) {
        if (r.number != f->number) continue;
        if (f->type == FT_MESSAGE) {
            ok = element(y, f, pb_message(&c, &r));
        } else if (field_packable(f) && r.wire == 2) {
            ok = packed(y, f, pb_message(&c, &r));
        } else {
            dash(y);
            put_scalar(y, f, &r);
            buf_putc(y->out, '\n');
        }
    }
    y->indent -= 2;
    return ok && pb_ok(&c);
}

static bool single(yaml *y, const field_desc *f, pb_cur c)
{
    pb_field last = {0};
    for (pb_field r; pb_next(&c, &r);)
        if (r.number == f->number) last = r;
    key(y, f->name);
    if (f->type != FT_MESSAGE) {
        buf_putc(y->out, ' ');
        put_scalar(y, f, &last);
        buf_putc(y->out, '\n');
        return true;
    }
    bool empty, value = str_eq(str_of(f->message->name), STR("AnyValue"));
    buf_putc(y->out, '\n');
    y->indent += 2;
    if (value) { /* printed like a oneof in Go */
        key(y, "Value");
        buf_putc(y->out, '\n');
        y->indent += 2;
    }
    bool ok = message(y, f->message, pb_message(&c, &last), &empty);
    y->indent -= value ? 4 : 2;
    if (empty && !y->out->failed) {
        y->out->n--; /* removes the line end after the key */
        buf_z(y->out, " {}\n");
    }
    return ok;
}

/* Prints a field that the message lacks. */
static bool absent(yaml *y, const message_desc *m, const field_desc *f)
{
    bool attributes = str_eq(str_of(f->name), STR("attributes"));
    bool id = str_eq(str_of(m->name), STR("Link"));
    if (!attributes && !id) return false;
    key(y, f->name);
    buf_z(y->out, id ? " \"\"\n" : " null\n");
    return true;
}

/* ---- messages ---- */

/* Orders fields by name, but tables first: in the draft's code they are a separate message. */
static bool before(const message_desc *m, const field_desc *a, const field_desc *b)
{
    if (str_eq(str_of(m->name), STR("Profile"))) {
        bool x = a->number >= 7, y = b->number >= 7;
        if (x != y) return x;
    }
    return strcmp(a->name, b->name) < 0;
}

static const field_desc *next_field(const message_desc *m, const field_desc *last)
{
    const field_desc *next = NULL;
    for (size_t i = 0; i < m->n_fields; i++) {
        const field_desc *f = &m->fields[i];
        if (last && !before(m, last, f)) continue;
        if (!next || before(m, f, next)) next = f;
    }
    return next;
}

static bool message(yaml *y, const message_desc *m, pb_cur c, bool *empty)
{
    uint64_t seen = 0;
    pb_cur scan = c;
    *empty = true;
    if (y->depth == YAML_DEPTH)
        return err_set(y->e, ERR_LIMIT, "messages nest deeper than %d", YAML_DEPTH);
    y->depth++;
    for (pb_field r; pb_next(&scan, &r);)
        if (r.number < 64) seen |= UINT64_C(1) << r.number;
    bool ok = pb_ok(&scan);
    for (const field_desc *f = NULL; ok && (f = next_field(m, f)) != NULL;) {
        if (!(seen >> f->number & 1)) {
            if (absent(y, m, f)) *empty = false;
            continue;
        }
        *empty = false;
        ok = f->flags & FF_REPEATED ? list(y, f, c) : single(y, f, c);
    }
    y->depth--;
    return ok;
}

bool arrays_yaml(const model *m, buf *out, err *e)
{
    buf pb = {0};
    bool empty, ok = format_arrays.write(&format_arrays, m, &(write_opts){0}, &pb, e);
    yaml y = {.out = out, .e = e};
    ok = ok && message(&y, dialect_schema(DIALECT_A), pb_open(pb.p, pb.n, e), &empty);
    if (ok && empty) buf_z(out, "resource_profiles: null\n");
    buf_free(&pb);
    return ok && (!out->failed || err_set(e, ERR_MEMORY, "out of memory while writing YAML"));
}
