/* Parses selectors such as cpu/nanoseconds{service.name="checkout"}. Selectors are part of the
 * contract of store.h and independent of the engine. */
#include "store/store.h"
#include "base/text.h"

#include "base/ban.h"

typedef struct parser {
    str s;
    size_t at;
    arena *a;
    store_selector *q;
    VEC(store_matcher) matchers;
    err *e;
} parser;

static bool wrong(parser *p, const char *what)
{
    return err_at(p->e, ERR_MALFORMED, p->at, "selector: expected %s", what);
}

static void blanks(parser *p)
{
    while (p->at < p->s.n &&
           (p->s.p[p->at] == ' ' || p->s.p[p->at] == '\t' || p->s.p[p->at] == '\n'))
        p->at++;
}

static bool next_is(parser *p, const char *z)
{
    str want = str_of(z), left = {p->s.p + p->at, p->s.n - p->at};
    if (!str_starts(left, want)) return false;
    p->at += want.n;
    return true;
}

/* Reads everything up to one of `ends`. */
static str word(parser *p, const char *ends)
{
    size_t from = p->at;
    while (p->at < p->s.n && !strchr(ends, p->s.p[p->at])) p->at++;
    return (str){p->s.p + from, p->at - from};
}

/* Reads "text" with the escapes \" \\ \n, or a bare word. */
static bool value(parser *p, str *out)
{
    blanks(p);
    if (!next_is(p, "\"")) {
        *out = word(p, " \t\n,}");
        return out->n || wrong(p, "a value");
    }
    char *to = arena_alloc(p->a, p->s.n - p->at);
    size_t n = 0;
    if (!to) return err_memory(p->e);
    for (; p->at < p->s.n && p->s.p[p->at] != '"'; p->at++) {
        char c = p->s.p[p->at];
        if (c == '\\' && p->at + 1 < p->s.n && strchr("\"\\n", p->s.p[p->at + 1])) {
            c = p->s.p[++p->at];
            if (c == 'n') c = '\n';
        }
        to[n++] = c;
    }
    *out = (str){to, n};
    return next_is(p, "\"") || wrong(p, "a closing quote");
}

bool store_id_parse(str hex, size_t n, arena *a, const uint8_t **out, err *e)
{
    uint8_t *to = arena_alloc(a, n);
    if (!to) return err_set(e, ERR_MEMORY, "the selector does not fit the memory budget");
    *out = to;
    return hex_bytes(hex, to, n) ||
           err_set(e, ERR_USAGE, "expected an id of %zu hex digits", 2 * n);
}

static bool id(parser *p, str hex, size_t n, const uint8_t **out)
{
    err e = {0};
    if (store_id_parse(hex, n, p->a, out, &e)) return true;
    if (err_exhausted(&e)) return err_memory(p->e);
    return wrong(p, n == 16 ? "an id of 32 hex digits" : "an id of 16 hex digits");
}

/* Handles a matcher on an id. `=` sets an id of the selector. Other operators on a link's ids match
 * labels (lower-case hex digits); then *label is set. */
static bool id_matcher(parser *p, store_matcher *m, bool *label)
{
    const struct {
        const char *key;
        size_t n;
        const uint8_t **out;
    } ids[] = {{"trace_id", 16, &p->q->trace_id},
               {"span_id", 8, &p->q->span_id},
               {"profile_id", 16, &p->q->profile_id}};
    size_t i = 0;
    while (i < ARRAY_LEN(ids) && !str_eq(m->key, str_of(ids[i].key))) i++;
    *label = i == ARRAY_LEN(ids) || m->op == STORE_LIKE || m->op == STORE_NOT_LIKE || !m->value.n;
    if (i == ARRAY_LEN(ids)) return true;
    if (ids[i].out == &p->q->profile_id && (*label || m->op != STORE_IS))
        return wrong(p, "= and an id of 32 hex digits");
    if (*label) return true;
    const uint8_t *bytes;
    if (!id(p, m->value, ids[i].n, &bytes)) return false;
    if (m->op == STORE_IS) {
        if (*ids[i].out) return wrong(p, "one id of a kind");
        *ids[i].out = bytes;
        return true;
    }
    char *hex = arena_alloc(p->a, 2 * ids[i].n + 1);
    if (!hex) return err_memory(p->e);
    hex_encode(bytes, ids[i].n, hex);
    m->value = (str){hex, 2 * ids[i].n};
    return *label = true;
}

static bool matcher_at(parser *p)
{
    static const struct {
        const char *text;
        store_op op;
    } ops[] = {{"=~", STORE_LIKE}, {"!~", STORE_NOT_LIKE}, {"!=", STORE_IS_NOT}, {"=", STORE_IS}};
    store_matcher m = {0};
    blanks(p);
    if (p->at < p->s.n && p->s.p[p->at] == '"') {
        if (!value(p, &m.key)) return false;
    } else {
        m.key = word(p, " \t\n=!~,{}\"");
    }
    if (!m.key.n) return wrong(p, "a label");
    blanks(p);
    size_t i = 0;
    while (i < ARRAY_LEN(ops) && !next_is(p, ops[i].text)) i++;
    if (i == ARRAY_LEN(ops)) return wrong(p, "=, !=, =~ or !~");
    m.op = ops[i].op;
    bool label;
    if (!value(p, &m.value) || !id_matcher(p, &m, &label)) return false;
    if (!label) return true;
    store_matcher *slot = vec_push(p->a, &p->matchers);
    if (!slot) return err_memory(p->e);
    *slot = m;
    return true;
}

static bool matchers_at(parser *p)
{
    blanks(p);
    if (next_is(p, "}")) return true;
    do {
        if (!matcher_at(p)) return false;
        blanks(p);
    } while (next_is(p, ","));
    return next_is(p, "}") || wrong(p, ", or }");
}

bool store_selector_parse(str text, arena *a, store_selector *out, err *e)
{
    *out = (store_selector){0};
    parser p = {.s = text.n ? text : STR(""), .a = a, .q = out, .e = e};
    blanks(&p);
    out->type = word(&p, " \t\n{");
    blanks(&p);
    if (next_is(&p, "{") && !matchers_at(&p)) return false;
    blanks(&p);
    if (p.at < text.n) return wrong(&p, "the end");
    out->matchers = p.matchers.v;
    out->n_matchers = p.matchers.n;
    return true;
}
