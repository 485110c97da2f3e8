/* Reads dialect C as text: protobuf's text format with the variations of the proposal's examples.
 *
 *   message   = *( name [ ":" ] value [ "," / ";" ] )
 *   value     = number / string / true / false / "{" message "}" / "<" message ">" / "[" values "]"
 *   number    = [ "-" ] digits with "_" between them, 0x digits, or a decimal fraction
 *   comment   = "#" to the end of the line
 *
 * Names are those of the schema. clock_id, time_unix_nanos, key_index and attributes of an Event,
 * which only the prose of the proposal uses, are accepted too. The text is converted to protobuf,
 * which is then read. */
#include "format/events.h"

#include "format/dialect_write.h"
#include "base/ban.h"
#include <errno.h>
#include <inttypes.h>

enum { TEXT_DEPTH = 200, TEXT_LOOK = 64 * 1024 };

typedef struct text {
    const char *p, *end, *base;
    buf *out;
    err *e;
    unsigned depth;
} text;

/* ---- tokens ---- */

static size_t line_of(const text *t, const char *at)
{
    size_t n = 1;
    for (const char *p = t->base; p < at; p++) n += *p == '\n';
    return n;
}

PRINTF(3, 4)
static bool fail(text *t, const char *at, const char *fmt, ...)
{
    char msg[120];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    t->p = t->end;
    return err_at(t->e, ERR_MALFORMED, (uint64_t)(at - t->base), "line %zu: %s", line_of(t, at),
                  msg);
}

static void blanks(text *t)
{
    for (; t->p < t->end; t->p++) {
        if (*t->p == '#')
            while (t->p < t->end && *t->p != '\n') t->p++;
        if (t->p == t->end) return;
        if (!strchr(" \t\r\n", *t->p) || !*t->p) return;
    }
}

static bool next_is(text *t, char c)
{
    blanks(t);
    return t->p < t->end && *t->p == c;
}

static bool take(text *t, char c)
{
    if (!next_is(t, c)) return false;
    t->p++;
    return true;
}

static bool in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static str word(text *t)
{
    blanks(t);
    const char *from = t->p;
    while (t->p < t->end && in_word(*t->p)) t->p++;
    return (str){from, (size_t)(t->p - from)};
}

/* ---- names ---- */

static const field_desc *named(const message_desc *m, str name)
{
    static const struct {
        const char *message, *alias, *meant;
    } aliases[] = {
        {"Event", "attributes", "attribute_indices"},
        {"EventType", "clock_id", "clock_index"},
        {"EventType", "attribute_indices", "attribute_incidices"},
        {"Clock", "time_unix_nanos", "time_unix_nano"},
        {"KeyValue", "key_index", "key_string_index"},
        {"AnyValue", "key_index", "string_index"},
        {"Function", "name_string_index", "name_string_uindex"},
        {"Stack", "location_indices", "location_index"},
        {"Location", "attribute_indices", "attribute_index"},
    };
    const field_desc *f = message_field_named(m, name);
    for (size_t i = 0; !f && i < ARRAY_LEN(aliases); i++)
        if (str_eq(str_of(m->name), str_of(aliases[i].message)) &&
            str_eq(name, str_of(aliases[i].alias)))
            f = message_field_named(m, str_of(aliases[i].meant));
    return f;
}

/* ---- values ---- */

/* Copies a number without its underscores, zero-terminated; "" when the text is not a number. */
static void digits(text *t, char *out, size_t n)
{
    size_t k = 0;
    blanks(t);
    while (t->p < t->end && (in_word(*t->p) || strchr("+-.", *t->p)) && *t->p) {
        if (*t->p != '_' && k + 1 < n) out[k++] = *t->p;
        t->p++;
    }
    out[k] = '\0';
}

static bool number(text *t, const field_desc *f, uint64_t *v)
{
    char s[64], *end;
    blanks(t);
    const char *at = t->p;
    digits(t, s, sizeof s);
    if (f->type == FT_BOOL && (!strcmp(s, "true") || !strcmp(s, "false")))
        return *v = s[0] == 't', true;
    if (f->type == FT_DOUBLE) {
        double d = strtod(s, &end);
        memcpy(v, &d, sizeof *v);
        return (s[0] && !*end) || fail(t, at, "%s requires a number, not `%s`", f->name, s);
    }
    bool negative = s[0] == '-', may_be = f->type == FT_INT64 || f->type == FT_INT32;
    const char *d = s + negative;
    errno = 0;
    *v = strtoull(d, &end, d[0] == '0' && (d[1] | 0x20) == 'x' ? 16 : 10);
    if (d[0] < '0' || d[0] > '9' || *end)
        return fail(t, at, "%s requires a number, not `%s`", f->name, s);
    bool narrow = f->type == FT_UINT32 || f->type == FT_INT32 || f->type == FT_ENUM;
    if (errno || (negative && (!may_be || *v > UINT64_C(1) << 63)) || (narrow && *v > UINT32_MAX))
        return fail(t, at, "%s is out of range for %s", s, f->name);
    if (negative) *v = 0 - *v;
    return true;
}

static unsigned hex(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a' + 10);
}
static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* Reads an escape after the backslash. Returns false when it is unknown. */
static bool escape(text *t, buf *to)
{
    static const char from[] = "abfnrtv\\'\"?", is[] = "\a\b\f\n\r\t\v\\'\"?";
    if (t->p == t->end) return false;
    char c = *t->p++;
    if (c >= '0' && c <= '7') {
        unsigned v = (unsigned)(c - '0');
        for (unsigned n = 0; n < 2 && t->p < t->end && *t->p >= '0' && *t->p <= '7'; n++)
            v = v * 8 + (unsigned)(*t->p++ - '0');
        buf_putc(to, (char)v);
        return v < 256;
    }
    if (c == 'x' || c == 'X') {
        unsigned v = 0, n = 0;
        for (; n < 2 && t->p < t->end && is_hex(*t->p); n++) v = v * 16 + hex(*t->p++);
        buf_putc(to, (char)v);
        return n > 0;
    }
    const char *k = c ? strchr(from, c) : NULL;
    if (!k) return false;
    buf_putc(to, is[k - from]);
    return true;
}

/* Reads a string; adjacent strings are joined. */
static bool string(text *t, const field_desc *f)
{
    blanks(t);
    const char *at = t->p;
    size_t head = dw_begin(t->out, f->number), n = 0;
    for (; next_is(t, '"') || next_is(t, '\''); n++) {
        char quote = *t->p++;
        while (t->p < t->end && *t->p != quote && *t->p != '\n') {
            if (*t->p != '\\') {
                buf_putc(t->out, *t->p++);
                continue;
            }
            const char *slash = t->p++;
            if (!escape(t, t->out)) return fail(t, slash, "unknown escape");
        }
        if (t->p == t->end || *t->p != quote) return fail(t, at, "the string has no closing quote");
        t->p++;
    }
    if (!n) return fail(t, at, "%s requires a quoted string", f->name);
    dw_end(t->out, head);
    return true;
}

static bool message(text *t, const message_desc *m, char close);

static bool submessage(text *t, const field_desc *f)
{
    blanks(t);
    const char *at = t->p;
    char close = take(t, '{') ? '}' : take(t, '<') ? '>' : 0;
    if (!close) return fail(t, at, "%s requires { }", f->name);
    if (t->depth == TEXT_DEPTH)
        return err_at(t->e, ERR_LIMIT, (uint64_t)(at - t->base), "messages nest deeper than %d",
                      TEXT_DEPTH);
    size_t head = dw_begin(t->out, f->number);
    t->depth++;
    bool ok = message(t, f->message, close);
    t->depth--;
    dw_end(t->out, head);
    return ok;
}

static bool scalar(text *t, const field_desc *f)
{
    uint64_t v;
    if (!number(t, f, &v)) return false;
    if (field_wire_type(f) == 1)
        pb_put_fixed64(t->out, f->number, v);
    else
        pb_put_uint(t->out, f->number, v);
    return true;
}

static bool one_value(text *t, const field_desc *f)
{
    if (f->type == FT_MESSAGE) return submessage(t, f);
    return f->type == FT_STRING || f->type == FT_BYTES ? string(t, f) : scalar(t, f);
}

/* Reads a list after "[".  Commas are optional, and a trailing one is allowed. */
static bool list(text *t, const field_desc *f)
{
    size_t n = 0, head = field_packable(f) ? dw_begin(t->out, f->number) : 0;
    while (!take(t, ']')) {
        blanks(t);
        if (t->p == t->end) return fail(t, t->end, "%s has no ]", f->name);
        uint64_t v;
        bool ok = head ? number(t, f, &v) : one_value(t, f);
        if (!ok) return err_in(t->e, "%s[%zu]", f->name, n);
        if (head) pb_put_varint(t->out, v);
        take(t, ',');
        n++;
    }
    if (head) dw_end_or_drop(t->out, head, f->number);
    return true;
}

static bool message(text *t, const message_desc *m, char close)
{
    for (;;) {
        if (close && take(t, close)) return true;
        blanks(t);
        if (t->p == t->end) return !close || fail(t, t->end, "%s has no %c", m->name, close);
        const char *at = t->p;
        str name = word(t);
        const field_desc *f = named(m, name);
        if (!name.n) return fail(t, at, "the name of a field is missing");
        if (!f) return fail(t, at, "%s has no field `%.*s`", m->name, STR_ARG(name));
        take(t, ':');
        bool many = (f->flags & FF_REPEATED) && take(t, '[');
        if (!(many ? list(t, f) : one_value(t, f)))
            return many ? false : err_in(t->e, "%s", f->name);
        if (!take(t, ',')) take(t, ';');
        if (t->out->failed) return err_set(t->e, ERR_MEMORY, "the text requires too much memory");
    }
}

/* Returns the outermost message, which the first name determines. */
static dialect root_of(str in)
{
    text t = {.p = in.p, .end = in.p + in.n, .base = in.p};
    return str_eq(word(&t), STR("resource_profiles")) ? DIALECT_C_BOX : DIALECT_C;
}

bool events_parse(str in, buf *out, dialect *root, err *e)
{
    *root = root_of(in);
    text t = {.p = in.p, .end = in.p + in.n, .base = in.p, .out = out, .e = e};
    return message(&t, dialect_schema(*root), 0);
}

/* ---- the format ---- */

static bool read(const format *f, str bytes, const read_opts *o, arena *a, model *out,
                 layout_verdict *verdict, err *e)
{
    (void)f, (void)verdict;
    dialect root;
    buf pb = {.limit = a->budget};
    bool ok = events_parse(bytes, &pb, &root, e);
    char *copy = ok ? arena_alloc(a, pb.n) : NULL;
    if (ok && !copy) arena_spent(a, e);
    if (copy && pb.n) memcpy(copy, pb.p, pb.n);
    str in = {copy, pb.n};
    buf_free(&pb);
    if (!copy) return false;
    err inner = {0};
    if (events_decode(in, o, a, out, &inner)) return true;
    inner.offset = NO_OFFSET; /* it is an offset in transcoded bytes; the path locates the error */
    if (e && e->code == ERR_OK) *e = inner;
    return false;
}

static bool write(const format *f, const model *m, const write_opts *o, buf *out, err *e)
{
    (void)f;
    dialect root;
    buf pb = {.limit = out->limit};
    bool ok = events_encode(m, o, &pb, &root, e) && events_print(buf_view(&pb), root, out, e);
    buf_free(&pb);
    return ok;
}

/* Whether the text starts with a field of the Profile and ":", "[" or "{". Other text may start
 * like this too, so this is enough only with the right suffix. */
static bool may_be(const format *f, str bytes)
{
    (void)f;
    text t = {.p = bytes.p, .end = bytes.p + bytes.n, .base = bytes.p};
    if (!bytes.n || memchr(bytes.p, 0, bytes.n < TEXT_LOOK ? bytes.n : TEXT_LOOK)) return false;
    str name = word(&t);
    bool box = str_eq(name, STR("resource_profiles"));
    if (!box && !message_field_named(dialect_schema(DIALECT_C), name)) return false;
    return next_is(&t, ':') || next_is(&t, '[') || next_is(&t, '{');
}

/* In addition to may_be(), requires a name that other text does not have. */
static unsigned detect(str bytes)
{
    size_t look = bytes.n < TEXT_LOOK ? bytes.n : TEXT_LOOK;
    if (!may_be(NULL, bytes)) return 0;
    static const char *const words[] = {"event_types", "event_type_index", "stack_index"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (memmem(bytes.p, look, words[i], strlen(words[i]))) return 88;
    return 0;
}

const format format_events_text = {
    .name = "events-text",
    .what = "the same proposal as protobuf text",
    .suffixes = ".txtpb",
    .carries = CARRIES_ALL & ~(CARRIES(ATTRIBUTE_UNITS) | CARRIES(PERIOD) | CARRIES(VALUES) |
                               CARRIES(PROFILE_ID)),
    .text = true,
    .detect = detect,
    .may_be = may_be,
    .read = read,
    .write = write,
};
