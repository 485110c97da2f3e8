/* Collects findings: rule selection, counts, examples with their paths and texts, and the report. */
#include "check/internal.h"

#include "base/utf8.h"

#include "base/ban.h"
#include <inttypes.h>
#include <stdio.h>

/* ---- names ---- */

static const char *const severity_names[] = {"info", "warning", "error"};

const char *check_severity_name(check_severity s)
{
    return (unsigned)s < ARRAY_LEN(severity_names) ? severity_names[s] : "?";
}

const char *check_kind_name(unsigned kind)
{
    static const char *const names[CHECK_KIND_COUNT] = {
        [LAYOUT_1_3] = "layout 1.3",         [LAYOUT_1_4] = "layout 1.4",
        [LAYOUT_1_5] = "layout 1.5",         [LAYOUT_1_6] = "layout 1.6",
        [LAYOUT_1_7] = "layout 1.7",         [LAYOUT_1_8] = "layout 1.8",
        [LAYOUT_1_9] = "layout 1.9",         [LAYOUT_1_10] = "the current layout",
        [CHECK_ARRAYS] = "the arrays draft", [CHECK_EVENTS] = "the event proposal",
        [CHECK_SPLUNK] = "OTLP logs"};
    return kind < CHECK_KIND_COUNT && names[kind] ? names[kind] : "an unknown layout";
}

static void add_kind(char *out, size_t n, const char *text)
{
    size_t k = strlen(out);
    snprintf(out + k, n - k, "%s%s", k ? ", " : "", text);
}

const char *check_kinds_text(uint32_t kinds, char *out, size_t n)
{
    enum { ALL = (1u << CHECK_KIND_COUNT) - (1u << LAYOUT_1_3) };
    out[0] = '\0';
    if ((kinds & ALL) == ALL) add_kind(out, n, "all");
    for (unsigned l = LAYOUT_1_3; (kinds & ALL) != ALL && l < LAYOUT_COUNT; l++) {
        unsigned last = l;
        char text[24];
        if (!(kinds >> l & 1)) continue;
        while (last + 1 < LAYOUT_COUNT && (kinds >> (last + 1) & 1)) last++;
        const char *end = last == LAYOUT_CURRENT ? "1.11" : layout_name((layout)last);
        bool one = l == last && l != LAYOUT_CURRENT;
        snprintf(text, sizeof text, "%s%s%s", layout_name((layout)l), one ? "" : "-",
                 one ? "" : end);
        add_kind(out, n, text);
        l = last;
    }
    static const char *const names[] = {"arrays", "events", "splunk"};
    for (unsigned k = 0; (kinds & ALL) != ALL && k < ARRAY_LEN(names); k++)
        if (kinds >> (CHECK_ARRAYS + k) & 1) add_kind(out, n, names[k]);
    return out;
}

const check_rule *check_rules(size_t *n)
{
    *n = RULE_COUNT;
    return check_rule_table;
}

static bool same_id(const char *id, str s)
{
    for (size_t i = 0; i < s.n; i++, id++) {
        char c = s.p[i] >= 'a' && s.p[i] <= 'z' ? (char)(s.p[i] - 'a' + 'A') : s.p[i];
        if (!*id || c != *id) return false;
    }
    return !*id;
}

const check_rule *check_rule_find(str id)
{
    for (size_t i = 0; i < RULE_COUNT; i++)
        if (same_id(check_rule_table[i].id, id)) return &check_rule_table[i];
    return NULL;
}

/* ---- options ---- */

static bool set_rules(checker *c, const str *ids, size_t n, bool value, err *e)
{
    for (size_t i = 0; i < n; i++) {
        const check_rule *r = check_rule_find(ids[i]);
        if (!r) return err_set(e, ERR_USAGE, "unknown rule: %.*s", STR_ARG(ids[i]));
        c->on[r - check_rule_table] = value;
    }
    return true;
}

static void only_of(checker *c, unsigned kind)
{
    c->kind = kind;
    for (size_t i = 0; i < RULE_COUNT; i++)
        if (!(check_rule_table[i].kinds >> kind & 1)) c->on[i] = false;
}

bool checker_open(checker *c, const check_opts *o, unsigned kind, arena *a, err *e)
{
    memset(c, 0, sizeof *c);
    c->a = a;
    c->tmp.seed = a->seed;
    if (a->budget) c->tmp.budget = a->budget > a->used ? a->budget - a->used : 1;
    c->max_examples = CHECK_EXAMPLES;
    for (size_t i = 0; i < RULE_COUNT; i++) c->on[i] = !o || !o->n_only;
    only_of(c, kind);
    if (!o) return true;
    if (o->max_examples) c->max_examples = o->max_examples;
    if (c->max_examples > CHECK_EXAMPLES_MAX) c->max_examples = CHECK_EXAMPLES_MAX;
    if (!set_rules(c, o->only, o->n_only, true, e)) return false;
    if (!set_rules(c, o->ignore, o->n_ignore, false, e)) return false;
    for (size_t i = 0; i < RULE_COUNT; i++)
        if (check_rule_table[i].severity < o->min_severity) c->on[i] = false;
    only_of(c, kind); /* adds a note if --only names a rule that this layout does not have */
    return true;
}

/* ---- words ---- */

PRINTF(3, 0)
static const char *words(char *out, size_t n, const char *fmt, va_list ap)
{
    vsnprintf(out, n, fmt, ap);
    return out;
}

#define WORDS(name, field)                                                                         \
    const char *name(checker *c, const char *fmt, ...)                                             \
    {                                                                                              \
        va_list ap;                                                                                \
        va_start(ap, fmt);                                                                         \
        words(c->field, sizeof c->field, fmt, ap);                                                 \
        va_end(ap);                                                                                \
        return c->field;                                                                           \
    }
WORDS(at, path)
WORDS(found_text, text)
WORDS(expected_text, expected_text)

static const char *copy_text(checker *c, const char *z)
{
    size_t n = strlen(z) + 1;
    char *p = arena_alloc(c->a, n);
    if (!p) {
        c->failed = true;
        return "";
    }
    return memcpy(p, z, n);
}

/* Copies a path with the names of the layout: the model has the current names, but 1.8 has `sample`
 * and `line`. */
static const char *copy_path(checker *c, const char *path)
{
    static const char *const now[] = {".samples[", ".lines["}, *const then[] = {".sample[",
                                                                                ".line["};
    char out[CHECK_PATH_MAX];
    size_t n = 0;
    if (c->kind != LAYOUT_1_8) return copy_text(c, path);
    while (*path && n + 16 < sizeof out) {
        size_t k = 0;
        while (k < ARRAY_LEN(now) && strncmp(path, now[k], strlen(now[k]))) k++;
        if (k < ARRAY_LEN(now)) {
            n += (size_t)snprintf(out + n, sizeof out - n, "%s", then[k]);
            path += strlen(now[k]);
        } else {
            out[n++] = *path++;
        }
    }
    out[n] = '\0';
    return copy_text(c, out);
}

void checker_note(checker *c, const char *fmt, ...)
{
    if (c->n_notes == CHECK_NOTES) return;
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    words(text, sizeof text, fmt, ap);
    va_end(ap);
    c->notes[c->n_notes++] = copy_text(c, text);
}

void report_at(checker *c, rule_no r, uint64_t offset, const char *path, const char *found,
               const char *expected)
{
    tally *t = &c->by[r];
    if (t->n >= c->max_examples) return;
    if (!t->ex) t->ex = arena_new(c->a, check_example, c->max_examples);
    if (!t->ex) {
        c->failed = true;
        return;
    }
    t->ex[t->n++] = (check_example){copy_path(c, path), copy_text(c, found), copy_text(c, expected),
                                    c->plain ? NO_OFFSET : offset};
}

void report(checker *c, rule_no r, const char *path, const char *found, const char *expected)
{
    report_at(c, r, NO_OFFSET, path, found, expected);
}

const char *quote(str s, char *out, size_t n)
{
    static const char cut[] = "\"...";
    size_t k = 0, i = 0;
    out[k++] = '"';
    while (i < s.n && k + 4 + sizeof cut <= n) {
        /* Copies whole characters: the next one is the first 1 to 4 valid bytes. */
        size_t left = s.n - i, len = 1;
        while (len <= 4 && len <= left && utf8_valid(s.p + i, len) != len) len++;
        unsigned char b = (unsigned char)s.p[i];
        if (len > 4 || len > left || b < 0x20 || b == 0x7f) {
            k += (size_t)snprintf(out + k, n - k, "\\x%02x", b);
            i++;
            continue;
        }
        memcpy(out + k, s.p + i, len);
        k += len, i += len;
    }
    const char *end = i < s.n ? cut : "\"";
    memcpy(out + k, end, strlen(end) + 1);
    return out;
}

/* ---- paths ---- */

static size_t put_step(char *out, size_t n, const step *s)
{
    size_t k = s->up ? put_step(out, n, s->up) : 0;
    if (k + 1 >= n) return k;
    const char *dot = s->up ? "." : "";
    int w = s->index == NO_INDEX
                ? snprintf(out + k, n - k, "%s%s", dot, s->name)
                : snprintf(out + k, n - k, "%s%s[%" PRIu64 "]", dot, s->name, s->index);
    return k + (w < 0 ? 0 : (size_t)w < n - k ? (size_t)w : n - k - 1);
}

const char *at_step(checker *c, const step *s)
{
    c->path[0] = '\0';
    if (s) put_step(c->path, sizeof c->path, s);
    return c->path;
}

PRINTF(3, 0)
static const char *suffix(checker *c, int n, const char *fmt, va_list ap)
{
    size_t k = n < 0 ? 0 : (size_t)n;
    return words(c->path + k, sizeof c->path - k, fmt, ap), c->path;
}

static int put_scope(checker *c, size_t scope_i)
{
    const scope *s = &c->m->scopes.v[scope_i];
    const resource *r = &c->m->resources.v[s->resource];
    return snprintf(c->path, sizeof c->path, "resource_profiles[%u].scope_profiles[%zu]",
                    s->resource, scope_i - r->first_scope);
}

const char *at_scope(checker *c, size_t scope_i, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    suffix(c, put_scope(c, scope_i), fmt, ap);
    va_end(ap);
    return c->path;
}

const char *at_profile(checker *c, size_t profile_i, const char *fmt, ...)
{
    const profile *p = &c->m->profiles.v[profile_i];
    int n = put_scope(c, p->scope);
    n += snprintf(c->path + n, sizeof c->path - (size_t)n, ".profiles[%zu]",
                  profile_i - c->m->scopes.v[p->scope].first_profile);
    va_list ap;
    va_start(ap, fmt);
    suffix(c, n, fmt, ap);
    va_end(ap);
    return c->path;
}

/* ---- the report ---- */

bool checker_finish(checker *c, check_report *out, err *e)
{
    memset(out, 0, sizeof *out);
    uint64_t *sums[] = {&out->infos, &out->warnings, &out->errors};
    size_t n = 0;
    for (size_t i = 0; i < RULE_COUNT; i++) n += c->by[i].count > 0;
    out->findings = arena_new(c->a, check_finding, n ? n : 1);
    arena_free(&c->tmp);
    if (c->failed || !out->findings) return err_memory(e);
    for (size_t i = 0; i < RULE_COUNT; i++) {
        const tally *t = &c->by[i];
        if (!t->count) continue;
        out->findings[out->n_findings++] =
            (check_finding){&check_rule_table[i], t->count, t->ex, t->n};
        *sums[check_rule_table[i].severity] += t->count;
    }
    memcpy(out->notes, c->notes, sizeof out->notes);
    out->n_notes = c->n_notes;
    return true;
}

const check_finding *check_report_find(const check_report *r, const char *id)
{
    for (size_t i = 0; i < r->n_findings; i++)
        if (strcmp(r->findings[i].rule->id, id) == 0) return &r->findings[i];
    return NULL;
}
