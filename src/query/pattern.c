/* Patterns over pcre2, with limits on steps, depth and memory. Plain words, the common case, are
 * searched without pcre2, which is faster. */
#include "query/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/utf8.h"

#include "base/ban.h"

struct pattern {
    const char *name;
    str text;         /* plain text when code is NULL */
    bool whole;       /* must match the whole string */
    pcre2_code *code; /* or NULL */
    pcre2_match_data *match;
    pcre2_match_context *limits;
};

/* The allocator of pcre2. Memory comes from the arena, so freeing a single block does nothing. */
static void *take(PCRE2_SIZE n, void *a) { return arena_alloc(a, n); }
static void give_back(void *p, void *a) { (void)p, (void)a; }

/* Returns whether s has no special characters of regular expressions. */
static bool is_plain(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!s.p[i] || strchr("\\^$.|?*+()[]{}", s.p[i])) return false;
    return true;
}

static bool compile(pattern *p, uint32_t options, arena *a, err *e)
{
    pcre2_general_context *memory = pcre2_general_context_create(take, give_back, a);
    pcre2_compile_context *how = memory ? pcre2_compile_context_create(memory) : NULL;
    if (!how) return err_memory(e);
    int code;
    PCRE2_SIZE at;
    p->code = pcre2_compile((PCRE2_SPTR)p->text.p, p->text.n,
                            PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C | options,
                            &code, &at, how);
    if (!p->code) {
        char why[120];
        if (code == PCRE2_ERROR_HEAP_FAILED) return err_memory(e);
        pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof why);
        int shown = (int)utf8_valid(p->text.p,
                                    p->text.n < 40 ? p->text.n : 40); /* cut between characters */
        return err_set(e, ERR_USAGE,
                       "%s: `%.*s` is not a regular expression: %s (at character %zu)", p->name,
                       shown, p->text.p, why, (size_t)at);
    }
    (void)pcre2_jit_compile(
        p->code, PCRE2_JIT_COMPLETE); /* without machine code the result is the same, but slower */
    p->match = pcre2_match_data_create(1, memory);
    p->limits = pcre2_match_context_create(memory);
    if (!p->match || !p->limits) return err_memory(e);
    pcre2_set_match_limit(p->limits, PATTERN_MATCH_LIMIT);
    pcre2_set_depth_limit(p->limits, PATTERN_DEPTH_LIMIT);
    pcre2_set_heap_limit(p->limits, PATTERN_HEAP_LIMIT);
    return true;
}

static bool make(str text, bool literal, bool whole, const char *name, arena *a, pattern **out,
                 err *e)
{
    *out = NULL;
    if (text.n > PATTERN_MAX_BYTES)
        return err_set(e, ERR_USAGE, "%s: the pattern has more than %d bytes", name,
                       PATTERN_MAX_BYTES);
    pattern *p = arena_new(a, pattern, 1);
    if (!p) return err_memory(e);
    p->name = name;
    p->text = text;
    p->whole = whole;
    if (!literal && !is_plain(text) &&
        !compile(p, whole ? PCRE2_ANCHORED | PCRE2_ENDANCHORED : 0, a, e)) {
        pattern_free(p);
        return false;
    }
    *out = p;
    return true;
}

bool pattern_new(str text, bool literal, const char *name, arena *a, pattern **out, err *e)
{
    return make(text, literal, false, name, a, out, e);
}

bool pattern_new_whole(str text, const char *name, arena *a, pattern **out, err *e)
{
    return make(text, false, true, name, a, out, e);
}

void pattern_free(pattern *p)
{
    if (p && p->code) pcre2_code_free(p->code);
}

bool pattern_match(pattern *p, str s, bool *yes, err *e)
{
    if (!p->code) {
        *yes = p->whole ? str_eq(s, p->text)
                        : !p->text.n || (s.n && memmem(s.p, s.n, p->text.p, p->text.n));
        return true;
    }
    int n = pcre2_match(p->code, (PCRE2_SPTR)(s.n ? s.p : ""), s.n, 0, 0, p->match, p->limits);
    *yes = n >= 0;
    if (n >= 0 || n == PCRE2_ERROR_NOMATCH) return true;
    return err_set(e, ERR_LIMIT,
                   "%s: the regular expression is too costly to match; simplify it, or use "
                   "plain text",
                   p->name);
}

bool pattern_may_begin(str text, str s, const char *name, arena *a, bool *yes, err *e)
{
    pattern p = {.name = name, .text = text};
    if (is_plain(text)) return *yes = str_starts(text, s), true;
    /* partial matching excludes PCRE2_ENDANCHORED, so that text behind the match does not count */
    bool ok = compile(&p, PCRE2_ANCHORED, a, e);
    *yes = ok && pcre2_match(p.code, (PCRE2_SPTR)(s.n ? s.p : ""), s.n, 0, PCRE2_PARTIAL_HARD,
                             p.match, p.limits) != PCRE2_ERROR_NOMATCH;
    pattern_free(&p);
    return ok;
}

/* ---- the strings of one dictionary ---- */

bool matcher_new(pattern *p, const dict *d, arena *a, matcher *out, err *e)
{
    *out = (matcher){.p = p, .d = d};
    if (!p) return true;
    out->seen = arena_new(a, uint8_t, d->strings.n + 1);
    return out->seen || err_memory(e);
}

bool matcher_string(matcher *m, uint32_t string, bool *yes, err *e)
{
    *yes = false;
    if (!m->p || string >= m->d->strings.n) return true;
    uint8_t *seen = &m->seen[string];
    if (!*seen) {
        if (!pattern_match(m->p, m->d->strings.v[string], yes, e)) return false;
        *seen = *yes ? 2 : 1;
    }
    *yes = *seen == 2;
    return true;
}

bool matcher_function(matcher *m, uint32_t i, bool *yes, err *e)
{
    *yes = false;
    if (!m->p || !i || i >= m->d->functions.n) return true;
    const function *f = &m->d->functions.v[i];
    if (!matcher_string(m, f->name ? f->name : f->system_name, yes, e)) return false;
    return *yes || matcher_string(m, f->filename, yes, e);
}

bool matcher_mapping(matcher *m, uint32_t i, bool *yes, err *e)
{
    *yes = false;
    if (!m->p || !i || i >= m->d->mappings.n) return true;
    return matcher_string(m, m->d->mappings.v[i].filename, yes, e);
}
