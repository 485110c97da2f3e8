/* Parses PromQL's vector selectors.  The store's own selectors (store/selector.c) have a smaller
 * grammar with ids; both end as matchers.  Strings follow Go's rules, except that single quotes
 * enclose strings too. */
#include "pyroscope/selector.h"

#include "base/text.h"
#include "base/utf8.h"

#include "base/ban.h"

enum { SNIPPET = 40 }; /* bytes of the input that a message quotes */

typedef struct parser {
    str s;
    size_t at;
    arena *a;
    pyro_selector *out;
    err *e;
} parser;

static bool over(const parser *p) { return p->at >= p->s.n; }
static char here(const parser *p) { return over(p) ? '\0' : p->s.p[p->at]; }

/* ---- messages ---- */

/* Returns the start of s, cut between characters. */
static str snippet(str s)
{
    size_t n = s.n < SNIPPET ? s.n : SNIPPET;
    return (str){s.p, utf8_valid(s.p, n)};
}

/* Returns the character at the cursor; the text is UTF-8. */
static str character(const parser *p)
{
    size_t n = 1;
    while (p->at + n < p->s.n && ((unsigned char)p->s.p[p->at + n] & 0xc0) == 0x80) n++;
    return (str){p->s.p + p->at, n};
}

static bool unexpected_character(parser *p)
{
    if (over(p)) return err_at(p->e, ERR_MALFORMED, p->at, "unexpected end of input inside braces");
    str c = character(p);
    return err_at(p->e, ERR_MALFORMED, p->at, "unexpected character inside braces: '%.*s'",
                  STR_ARG(c));
}

/* ---- tokens ---- */

/* Skips spaces, line breaks and comments. */
static void blanks(parser *p)
{
    for (; !over(p); p->at++) {
        char c = here(p);
        if (c == '#') {
            const char *lf = memchr(p->s.p + p->at, '\n', p->s.n - p->at);
            if (!lf) p->at = p->s.n;
            if (!lf) return;
            p->at = (size_t)(lf - p->s.p);
        } else if (c != ' ' && c != '\t' && c != '\n' && c != '\r') {
            return;
        }
    }
}

static bool begins_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool continues_name(char c) { return begins_name(c) || is_digit(c) || c == '.' || c == '-'; }

/* Reads a name without quotes; that of a metric may have colons. */
static str name_at(parser *p, bool metric)
{
    size_t from = p->at;
    if (!begins_name(here(p)) && !(metric && here(p) == ':')) return (str){0};
    while (continues_name(here(p)) || (metric && here(p) == ':')) p->at++;
    return (str){p->s.p + from, p->at - from};
}

static bool quoted(const parser *p)
{
    char c = here(p);
    return c == '"' || c == '\'' || c == '`';
}

/* Reads `digits` digits of `base` as one character or, with `byte`, as one byte. */
static bool number_escape(parser *p, unsigned digits, unsigned base, bool byte, char *to, size_t *n)
{
    uint32_t v = 0;
    for (unsigned i = 0; i < digits; i++, p->at++) {
        int d = over(p) ? -1 : hex_digit(here(p));
        if (d < 0 || (unsigned)d >= base)
            return err_at(p->e, ERR_MALFORMED, p->at, "unknown escape sequence in quoted string");
        v = v * base + (unsigned)d;
    }
    if (byte ? v > 0xff : v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
        return err_at(p->e, ERR_MALFORMED, p->at,
                      "escape sequence is an invalid Unicode code point");
    if (byte)
        to[(*n)++] = (char)v;
    else
        *n += utf8_put(v, to + *n);
    return true;
}

/* Reads the rest of an escape, after the backslash.  It never writes more bytes than it reads. */
static bool escape(parser *p, char quote, char *to, size_t *n)
{
    static const char from[] = "abfnrtv\\", into[] = "\a\b\f\n\r\t\v\\";
    char c = here(p);
    const char *plain = c ? strchr(from, c) : NULL;
    if (plain || (c && c == quote)) {
        to[(*n)++] = plain ? into[plain - from] : c;
        p->at++;
        return true;
    }
    if (c >= '0' && c <= '7') return number_escape(p, 3, 8, true, to, n);
    if (c != 'x' && c != 'u' && c != 'U')
        return err_at(p->e, ERR_MALFORMED, p->at, "unknown escape sequence in quoted string");
    p->at++;
    return number_escape(p, c == 'x' ? 2 : c == 'u' ? 4 : 8, 16, c == 'x', to, n);
}

/* Finds the closing quote from the cursor on.  Reports whether there are escapes. */
static bool find_quote(const parser *p, char quote, size_t *end, bool *escapes)
{
    *escapes = false;
    for (size_t i = p->at; i < p->s.n; i++) {
        char c = p->s.p[i];
        if (c == quote) return *end = i, true;
        if (quote == '`') continue;
        if (c == '\n') return false;
        if (c == '\\') *escapes = true, i++;
    }
    return false;
}

static bool unescape(parser *p, char quote, size_t end, str *out)
{
    char *to = arena_alloc(p->a, end - p->at);
    size_t n = 0, from = p->at;
    if (!to) return arena_spent(p->a, p->e);
    while (p->at < end) {
        char c = p->s.p[p->at++];
        if (c != '\\')
            to[n++] = c;
        else if (!escape(p, quote, to, &n))
            return false;
    }
    size_t valid = utf8_valid(to, n);
    if (valid < n)
        return err_at(p->e, ERR_MALFORMED, from, "the string is not UTF-8 after its escapes");
    *out = (str){to, n};
    return true;
}

static bool string_at(parser *p, str *out)
{
    size_t from = p->at, end;
    bool escapes;
    char quote = here(p);
    p->at++;
    if (!find_quote(p, quote, &end, &escapes))
        return err_at(p->e, ERR_MALFORMED, from, "unterminated %s string",
                      quote == '`' ? "raw" : "quoted");
    if (!escapes)
        *out = (str){p->s.p + p->at, end - p->at};
    else if (!unescape(p, quote, end, out))
        return false;
    p->at = end + 1;
    return true;
}

/* ---- matchers ---- */

static bool add(parser *p, str key, pyro_op op, str value, size_t at)
{
    if (p->out->matchers.n >= PYRO_MATCHERS_MAX)
        return err_at(p->e, ERR_LIMIT, at, "the selectors have more than %d matchers",
                      PYRO_MATCHERS_MAX);
    pyro_matcher *m = vec_push(p->a, &p->out->matchers);
    if (!m) return arena_spent(p->a, p->e);
    *m = (pyro_matcher){.key = key, .op = op, .value = value};
    if (op != PYRO_LIKE && op != PYRO_NOT_LIKE) return true;
    err why = {0};
    if (pattern_new_whole(value, "regexp", p->a, &m->pattern, &why)) return true;
    if (why.code == ERR_MEMORY) return arena_spent(p->a, p->e);
    return err_at(p->e, why.code, at, "%s", why.msg);
}

/* Adds the name of the metric.  *named: a matcher on the name exists already. */
static bool add_metric(parser *p, str name, size_t at, bool *named)
{
    if (*named)
        return err_at(p->e, ERR_MALFORMED, at, "metric name must not be set twice: \"%.*s\"",
                      STR_ARG(snippet(name)));
    *named = true;
    return add(p, PYRO_METRIC_NAME, PYRO_IS, name, at);
}

static bool op_at(parser *p, pyro_op *op)
{
    static const struct {
        const char *text;
        pyro_op op;
    } ops[] = {{"=~", PYRO_LIKE}, {"!~", PYRO_NOT_LIKE}, {"!=", PYRO_IS_NOT}, {"=", PYRO_IS}};
    str left = {p->s.p + p->at, p->s.n - p->at};
    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        str text = str_of(ops[i].text);
        if (!str_starts(left, text)) continue;
        p->at += text.n;
        return *op = ops[i].op, true;
    }
    return false;
}

static bool expected_op(parser *p, str name)
{
    char c = here(p);
    if (c != ',' && c != '}') {
        if (c != '!' || p->at + 1 >= p->s.n) return unexpected_character(p);
        p->at++;
        str after = character(p);
        return err_at(p->e, ERR_MALFORMED, p->at,
                      "unexpected character after '!' inside braces: '%.*s'", STR_ARG(after));
    }
    return err_at(p->e, ERR_MALFORMED, p->at,
                  "unexpected \"%c\" in label matching after \"%.*s\", expected label matching "
                  "operator",
                  c, STR_ARG(snippet(name)));
}

/* Reads name op "value", or "a metric". */
static bool matcher_at(parser *p, bool *named)
{
    str key, value;
    pyro_op op;
    size_t from = p->at;
    bool in_quotes = quoted(p);
    if (in_quotes) {
        if (!string_at(p, &key)) return false;
    } else {
        key = name_at(p, false);
        if (!key.n && here(p) == ',')
            return err_at(p->e, ERR_MALFORMED, p->at,
                          "unexpected \",\" in label matching, expected identifier or \"}\"");
        if (!key.n) return unexpected_character(p);
    }
    blanks(p);
    if (!op_at(p, &op)) {
        if (in_quotes && (here(p) == ',' || here(p) == '}')) return add_metric(p, key, from, named);
        return expected_op(p, key);
    }
    if (!key.n) return err_at(p->e, ERR_MALFORMED, from, "a label name must not be empty");
    blanks(p);
    if (!quoted(p)) {
        str word = name_at(p, false);
        if (!word.n) return unexpected_character(p);
        return err_at(p->e, ERR_MALFORMED, p->at - word.n,
                      "unexpected identifier \"%.*s\" in label matching, expected string",
                      STR_ARG(snippet(word)));
    }
    size_t at = p->at;
    return string_at(p, &value) && add(p, key, op, value, at);
}

static bool braces_at(parser *p, bool *named)
{
    p->at++;
    for (blanks(p); here(p) != '}'; blanks(p)) {
        if (!matcher_at(p, named)) return false;
        blanks(p);
        if (here(p) == '}') break;
        if (here(p) != ',') return unexpected_character(p);
        p->at++;
    }
    p->at++;
    return true;
}

bool pyro_selector_add(pyro_selector *s, str text, arena *a, err *e)
{
    parser p = {.s = text.n ? text : STR(""), .a = a, .out = s, .e = e};
    bool named = false;
    if (text.n > PYRO_SELECTOR_BYTES)
        return err_set(e, ERR_LIMIT, "the selector has more than %d bytes", PYRO_SELECTOR_BYTES);
    size_t valid = utf8_valid(p.s.p, p.s.n);
    if (valid < p.s.n) return err_at(e, ERR_MALFORMED, valid, "the selector is not UTF-8");
    blanks(&p);
    size_t from = p.at;
    str name = name_at(&p, true);
    if (name.n && !add_metric(&p, name, from, &named)) return false;
    blanks(&p);
    if (here(&p) == '{' && !braces_at(&p, &named)) return false;
    blanks(&p);
    if (over(&p)) return true;
    str rest = {text.p + p.at, text.n - p.at};
    return err_at(e, ERR_MALFORMED, p.at,
                  "unexpected \"%.*s\", expected a selector such as {a=\"b\"}",
                  STR_ARG(snippet(rest)));
}

void pyro_selector_free(pyro_selector *s)
{
    for (size_t i = 0; i < s->matchers.n; i++) pattern_free(s->matchers.v[i].pattern);
    s->matchers.n = 0;
}

bool pyro_matcher_accepts(const pyro_matcher *m, str value, bool *yes, err *e)
{
    bool not = m->op == PYRO_IS_NOT || m->op == PYRO_NOT_LIKE;
    if (m->pattern) {
        if (!pattern_match(m->pattern, value, yes, e)) return false;
    } else {
        *yes = str_eq(m->value, value);
    }
    *yes = *yes != not ;
    return true;
}
