/* Shortens demangled names: keeps the path of a function, drops template arguments and parameters.
 * It is a small scanner rather than a second demangler, so that it also works on names from
 * debug information.
 *
 *     std::vector<int>::push_back(int&&)          std::vector::push_back
 *     app::(anonymous namespace)::f(int)::{lambda(int)#1}::operator()(int) const
 *                                                 app::(anonymous namespace)::f::{lambda#1}::operator()
 *     <alloc::vec::Vec<T> as core::fmt::Debug>::fmt       <alloc::vec::Vec as core::fmt::Debug>::fmt
 *     core::ptr::drop_in_place::<T>                       core::ptr::drop_in_place */
#include "symbol/demangle.h"

#include "base/ban.h"

typedef struct shortener {
    str in;
    size_t at;
    bool rust;
    char *out;
    size_t n, cap;
} shortener;

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || (unsigned char)c >= 0x80;
}

static bool next_is(const shortener *s, str what)
{
    return str_starts((str){s->in.p + s->at, s->in.n - s->at}, what);
}

static void copy(shortener *s, size_t n)
{
    for (size_t i = 0; i < n && s->at < s->in.n; i++, s->at++)
        if (s->n < s->cap) s->out[s->n++] = s->in.p[s->at];
}

/* Moves past the bracket that closes the one at the cursor. */
static void skip_group(shortener *s)
{
    size_t depth = 0;
    do {
        if (next_is(s, STR("->"))) { /* not a closing bracket */
            s->at += 2;
            continue;
        }
        char c = s->in.p[s->at++];
        if (c == '<' || c == '(') depth++;
        if (c == '>' || c == ')') depth--;
    } while (depth && s->at < s->in.n);
}

/* Skips parameters and the qualifiers of a member function after them. */
static void skip_parameters(shortener *s)
{
    static const char *const behind[] = {" const", " volatile", " &&", " &"};
    skip_group(s);
    for (size_t i = 0; i < ARRAY_LEN(behind); i++)
        if (next_is(s, str_of(behind[i]))) s->at += strlen(behind[i]);
}

/* Copies "operator" and the operator after it, whose signs are not brackets. */
static bool take_operator(shortener *s)
{
    static const char *const signs[] = {"()", "<=>", "<<=", ">>=", "->*", "<<",
                                        ">>", "<=",  ">=",  "->",  "<",   ">"};
    bool begins = !s->at || !is_word(s->in.p[s->at - 1]);
    if (!begins || !next_is(s, STR("operator"))) return false;
    copy(s, 8);
    for (size_t i = 0; i < ARRAY_LEN(signs); i++)
        if (next_is(s, str_of(signs[i]))) {
            copy(s, strlen(signs[i]));
            break;
        }
    return true;
}

/* In Rust a `<` may begin a path: <T as Trait>::f. */
static bool begins_path(const shortener *s)
{
    return s->rust && (!s->n || strchr(" <(&*[,", s->out[s->n - 1]));
}

static void take_angle(shortener *s)
{
    if (begins_path(s)) {
        copy(s, 1);
        return;
    }
    skip_group(s);
    if (s->rust && s->n >= 2 && !memcmp(s->out + s->n - 2, "::", 2)) s->n -= 2; /* f::<T> */
}

size_t demangle_shorten(str full, bool rust, char *out, size_t cap)
{
    shortener s = {.in = full, .rust = rust, .out = out, .cap = cap};
    while (s.at < full.n) {
        char c = full.p[s.at];
        if (take_operator(&s)) continue;
        if (c == '<')
            take_angle(&s);
        else if (c == '(' && !rust && !next_is(&s, STR("(anonymous namespace)")))
            skip_parameters(&s);
        else if (next_is(&s, STR("(anonymous namespace)")))
            copy(&s, strlen("(anonymous namespace)"));
        else if (next_is(&s, STR(" [clone ")))
            break;
        else if (next_is(&s, STR("[abi:")))
            while (s.at < full.n && full.p[s.at++] != ']') {}
        else
            copy(&s, 1);
    }
    while (s.n && out[s.n - 1] == ' ') s.n--; /* operator< <int> */
    return s.n;
}
