/* Shortens names of functions. Names have the styles of many languages, so the rules are
 * heuristics. */
#include "draw/label.h"

#include "draw/text.h"
#include "base/ban.h"

enum { HASH_DIGITS = 16, HASH_SHOWN = 4, LEAST_OWN = 8, LEAST_TAIL = 12 };

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '$' || (unsigned char)c >= 0x80;
}

static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

static str from(str s, size_t n) { return (str){s.p + n, s.n - n}; }

static bool is_one_of(const char *set, char c) { return c && strchr(set, c); }

/* Returns the length of the path before the function: up to the last slash before arguments,
 * receivers and templates. The slash in Foo$$Lambda/0x00007f is not part of a path. */
static size_t path_of(str name)
{
    size_t n = 0;
    for (size_t i = 0; i + 1 < name.n && !is_one_of("(<[{ \t\"'", name.p[i + 1]); i++)
        if (name.p[i] == '/' && !str_starts(from(name, i + 1), STR("0x"))) n = i + 1;
    return n;
}

/* Returns the position of the class in java.util.HashMap.put, after a package in lower case. */
static size_t class_at(str name)
{
    size_t begin = 0;
    for (size_t i = 0; i < name.n && (is_word(name.p[i]) || is_one_of("./", name.p[i])); i++) {
        if (name.p[i] != '.') continue;
        if (is_upper(name.p[begin])) return begin;
        begin = i + 1;
    }
    return 0;
}

str name_short(str name)
{
    size_t n = path_of(name);
    return from(name, n ? n : class_at(name));
}

/* Returns the position of the arguments at the end of `ns::f(int) const`; name.n if there are none.
 * operator() and (anonymous namespace) are not arguments. */
static size_t arguments_at(str name)
{
    str s = name;
    if (str_ends(s, STR(" const"))) s.n -= strlen(" const");
    if (!s.n || s.p[s.n - 1] != ')') return name.n;
    size_t i = s.n;
    for (int depth = 0; i; i--) {
        if (s.p[i - 1] == ')') depth++;
        if (s.p[i - 1] == '(' && !--depth) break;
    }
    bool empty = i + 1 >= s.n;
    if (i < 2 || empty || is_one_of(" .:/(", s.p[i - 2])) return name.n;
    return i - 1;
}

/* Returns the position after the first digits of the hash in `a::f::h0123456789abcdef`; 0 if there
 * is none. */
static size_t hash_at(str name)
{
    size_t begin = name.n - HASH_DIGITS;
    if (name.n <= HASH_DIGITS + 3 || memcmp(name.p + begin - 3, "::h", 3) != 0) return 0;
    for (size_t i = begin; i < name.n; i++)
        if (!is_one_of("0123456789abcdef", name.p[i])) return 0;
    return begin + HASH_SHOWN;
}

/* Returns the position of the last separator outside brackets: "::drop", ".Run"; 0 if there is
 * none. */
static size_t own_at(str name)
{
    int depth = 0;
    for (size_t i = name.n; i > 1; i--) {
        char c = name.p[i - 1];
        if (is_one_of(")>]}", c)) depth++;
        if (is_one_of("(<[{", c)) depth--;
        if (depth) continue;
        if (c == '.' || c == '/') return i - 1;
        if (c == ':' && name.p[i - 2] == ':') return i - 2;
    }
    return 0;
}

/* Appends the beginning and the end of s, in narrow places only the beginning. `own_begin` is where
 * the name of the function itself begins. */
static size_t put_middle(buf *b, str s, size_t own_begin, size_t width)
{
    str own = from(s, own_begin), tail = text_tail(s, width < LEAST_TAIL ? 0 : width / 3);
    if (width >= LEAST_OWN && own.n < s.n && text_columns(own) <= width * 2 / 3) tail = own;
    size_t end = text_columns(tail);
    size_t begin = text_clipped(b, (str){s.p, s.n - tail.n}, width - end);
    return begin + text_clipped(b, tail, end);
}

size_t name_cut(buf *b, str name, size_t width)
{
    if (text_columns(name) <= width) return text_clipped(b, name, width);
    str s = name_short(name), kept = s;
    if (text_columns(s) <= width) return text_clipped(b, s, width);
    size_t hash = hash_at(s);
    kept.n = hash ? hash : arguments_at(s);
    if (kept.n == s.n) return put_middle(b, s, own_at(s), width);
    size_t n = text_columns(kept);
    const char *mark = !hash && n + 3 <= width ? "(…)" : "…";
    size_t marked = n + (mark[0] == '(' ? 3 : 1);
    str named = {s.p, hash ? hash - HASH_SHOWN - 3 : kept.n};
    if (marked > width) return put_middle(b, kept, own_at(named), width);
    text_clipped(b, kept, n);
    buf_z(b, mark);
    return marked;
}
