/* Writes frames of native programs in Splunk's form: namespace, dot, function, file, line.
 *
 *   do_work, work.c 42                         global.do_work(work.c:42)
 *   app::net::Conn::read(int), conn.cc 17      app::net::Conn.read(conn.cc:17)
 *   read, no file, libc.so.6                   global.read([libc.so.6]:0)
 *   only an address                            unknown.0x2a1ca(unknown:0) */
#include "format/splunk.h"

#include "base/clone.h"
#include "base/text.h"
#include "base/ban.h"
#include <inttypes.h>

static str upto(str s, size_t n) { return (str){s.p, n}; }
static str from(str s, size_t at) { return (str){s.p + at, s.n - at}; }

static bool at_word(str s, size_t i, str word)
{
    return s.n - i >= word.n && !memcmp(s.p + i, word.p, word.n);
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$';
}

/* ---- C++ and Rust names ---- */

/* Skips the symbol after `operator`, which may look like brackets. */
static size_t skip_operator(str s, size_t i)
{
    if (at_word(s, i, STR("()")) || at_word(s, i, STR("[]"))) return i + 2;
    while (i < s.n && !is_name_char(s.p[i]) && s.p[i] != '(' && s.p[i] != ' ' && s.p[i] != '[') i++;
    if (i < s.n && s.p[i] == ' ') /* operator new[], operator bool */
        while (i < s.n && s.p[i] != '(') i++;
    return i;
}

static bool is_operator(str s, size_t i)
{
    str word = STR("operator");
    return at_word(s, i, word) && (i == 0 || !is_name_char(s.p[i - 1])) &&
           (s.n == i + word.n || !is_name_char(s.p[i + word.n]));
}

/* Returns the position after the bracket that closes the one at i; s.n when none does. */
static size_t skip_brackets(str s, size_t i)
{
    size_t depth = 0;
    while (i < s.n) {
        char c = s.p[i];
        if (is_operator(s, i)) {
            i = skip_operator(s, i + 8);
            continue;
        }
        if (c == '(' || c == '<' || c == '[' || c == '{') depth++;
        bool arrow = c == '>' && i && s.p[i - 1] == '-';
        if ((c == ')' || c == '>' || c == ']' || c == '}') && !arrow && --depth == 0) return i + 1;
        i++;
    }
    return s.n;
}

typedef struct parts {
    size_t begin; /* first byte after a return type */
    size_t split; /* position of the last top-level `::`; 0: none */
    size_t end;   /* start of the parameters */
} parts;

/* Returns whether more of the name follows after parentheses, which are then part of it:
 * f(int)::local. */
static bool name_continues(str s, size_t i)
{
    if (at_word(s, i, STR(" const::"))) return true;
    return at_word(s, i, STR("::"));
}

/* Returns whether the parentheses at i are part of the name instead of parameters. */
static bool is_part(str s, size_t i)
{
    str word = STR("decltype");
    return at_word(s, i, STR("(anonymous namespace)")) ||
           (i >= word.n && at_word(s, i - word.n, word));
}

static parts parse(str s)
{
    parts p = {.end = s.n};
    for (size_t i = 0; i < s.n;) {
        char c = s.p[i];
        if (is_operator(s, i)) {
            i = skip_operator(s, i + 8);
            continue;
        }
        if (c == '(') {
            size_t next = skip_brackets(s, i);
            if (!is_part(s, i) && !name_continues(s, next)) {
                p.end = i;
                break;
            }
            i = next;
        } else if (c == '<' || c == '{' || c == '[') {
            i = skip_brackets(s, i);
        } else if (at_word(s, i, STR("::"))) {
            p.split = i;
            i += 2;
        } else {
            if (c == ' ' && i + 1 < s.n && !at_word(s, i, STR(" const::")))
                p.begin = i + 1, p.split = 0;
            i++;
        }
    }
    return p;
}

static bool is_balanced(str s)
{
    int depth = 0;
    for (size_t i = 0; i < s.n && depth >= 0; i++) depth += (s.p[i] == '(') - (s.p[i] == ')');
    return depth == 0;
}

/* Writes text. Replaces line ends, and unpaired parentheses, which a reader would take for those of
 * the file. */
static void put_text(str s, buf *out)
{
    bool balanced = is_balanced(s);
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (!balanced && (c == '(' || c == ')')) continue;
        buf_putc(out, c < 0x20 || c == 0x7f ? '?' : (char)c);
    }
}

/* Returns whether put_text would write anything. */
static bool has_text(str s)
{
    bool balanced = is_balanced(s);
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] != ' ' && (balanced || (s.p[i] != '(' && s.p[i] != ')'))) return true;
    return false;
}

/* Returns whether the name has a dot outside of brackets: it already has this form, or it is a Go
 * name. */
static bool has_dot(str s)
{
    for (size_t i = 0; i < s.n && !strchr("<({[", s.p[i]); i++)
        if (s.p[i] == '.' && i) return true;
    return false;
}

/* Writes a function name. Returns false if nothing remains of it. */
static bool put_function(str name, buf *out)
{
    str s = name_without_clones(name);
    parts p = parse(s);
    if (p.end <= p.begin) p = (parts){.end = s.n};
    while (p.begin < p.end && strchr(".) ", s.p[p.begin])) p.begin++; /* ".plt" has no namespace */
    str whole = upto(from(s, p.begin), p.end - p.begin);
    if (!has_text(whole)) return false;
    if (has_dot(whole)) {
        put_text(whole, out);
    } else if (p.split > p.begin && p.split + 2 < p.end) {
        str space = upto(whole, p.split - p.begin), last = from(whole, p.split + 2 - p.begin);
        put_text(space, out);
        buf_putc(out, '.');
        put_text(last, out);
    } else {
        buf_z(out, "global.");
        put_text(whole, out);
    }
    return true;
}

/* ---- the reverse ---- */

static bool has_char(str s, char c) { return s.n && memchr(s.p, c, s.n); }

/* Returns whether dots belong to the name, as in Go and C: net/http.(*Server).Serve, main.main,
 * f.suffix in a C file. */
static bool keeps_dots(const splunk_frame *f)
{
    for (size_t i = 0; i + 1 < f->name.n; i++)
        if (f->name.p[i] == '(' && f->name.p[i + 1] == '*') return true;
    return has_char(f->name, '/') || str_ends(f->file, STR(".go")) || str_ends(f->file, STR(".c"));
}

/* Returns the position of the last dot outside of brackets, or s.n. */
static size_t last_dot(str s)
{
    size_t dot = s.n;
    for (size_t i = 0; i < s.n;) {
        if (is_operator(s, i)) {
            i = skip_operator(s, i + 8);
        } else if (strchr("<({[", s.p[i])) {
            i = skip_brackets(s, i);
        } else {
            if (s.p[i] == '.' && i && i + 1 < s.n) dot = i;
            i++;
        }
    }
    return dot;
}

void splunk_symbol_name(const splunk_frame *f, buf *out)
{
    size_t dot = f->scope.n || keeps_dots(f) ? f->name.n : last_dot(f->name);
    buf_str(out, upto(f->name, dot));
    if (dot == f->name.n) return;
    buf_z(out, "::");
    buf_str(out, from(f->name, dot + 1));
}

bool splunk_symbol_is_none(const splunk_frame *f)
{
    return str_eq(f->scope, STR("unknown")) && str_eq(f->name, STR("unknown"));
}

/* ---- files ---- */

/* Returns whether the module is a system library (S-62). */
static bool is_system(str module)
{
    static const char *const begins[] = {"libc.so",  "libc-2.",  "libm.so",   "libpthread.so",
                                         "libdl.so", "librt.so", "ld-linux",  "ld-2.",
                                         "ld-musl",  "ld64.so",  "linux-vdso"};
    if (str_eq(module, STR("[vdso]"))) return true;
    for (size_t i = 0; i < ARRAY_LEN(begins); i++)
        if (str_starts(module, str_of(begins[i]))) return true;
    return false;
}

static void put_place(const splunk_symbol *s, buf *out)
{
    str module = str_base_name(s->module), file = str_base_name(s->file);
    bool bracketed = module.n && module.p[0] == '[', known = has_text(file);
    if (known) {
        put_text(file, out);
    } else if (s->name.n && is_system(module)) {
        if (!bracketed) buf_putc(out, '[');
        put_text(module, out);
        if (!bracketed) buf_putc(out, ']');
    } else {
        buf_z(out, "unknown");
    }
    buf_printf(out, ":%" PRId64, known && s->line > 0 ? s->line : 0);
}

void splunk_symbol_put(const splunk_symbol *s, buf *out)
{
    bool named = s->name.n && put_function(s->name, out);
    if (!named && s->module.n)
        buf_printf(out, "unknown.0x%" PRIx64, s->offset);
    else if (!named)
        buf_z(out, "unknown.unknown");
    buf_putc(out, '(');
    put_place(s, out);
    buf_putc(out, ')');
}
