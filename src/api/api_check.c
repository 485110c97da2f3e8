/* kiln_check: runs the rules over every payload and keeps the findings for inspection. */
#include "api/internal.h"

#include "check/check.h"
#include "base/ban.h"
#include <inttypes.h>

_Static_assert((int)KILN_SEVERITY_INFO == CHECK_INFO &&
                   (int)KILN_SEVERITY_WARNING == CHECK_WARNING &&
                   (int)KILN_SEVERITY_ERROR == CHECK_ERROR,
               "kiln_severity is check_severity");

/* A finding and its payload; offsets are relative to the payload. */
typedef struct placed {
    const check_finding *f;
    payload p; /* its bytes may be freed */
} placed;

/* Immutable after kiln_check. */
struct kiln_report {
    arena a;
    VEC(placed) findings;
    VEC(const char *) notes;
    uint64_t count[3]; /* by severity */
};

/* ---- rules ---- */

const char *kiln_severity_name(kiln_severity s) { return check_severity_name((check_severity)s); }

bool kiln_rule_at(size_t i, kiln_rule *out)
{
    size_t n;
    const check_rule *r = check_rules(&n);
    if (i >= n) return false;
    kiln_rule v = {
        .id = r[i].id,
        .level = r[i].level,
        .title = r[i].title,
        .expected = r[i].expected,
        .fix = r[i].fix,
        .source = r[i].source,
        .severity = (kiln_severity)r[i].severity,
        .fixable = r[i].fixable,
    };
    return API_GIVE(out, &v);
}

/* ---- checking ---- */

typedef struct judge {
    kiln_report *r;
    read_opts from;
    check_opts rules;
    err *e;
} judge;

static bool take_ids(judge *j, const char *const *ids, size_t n, const str **out)
{
    if (n && !ids) return api_null("a list of rules", j->e);
    str *v = arena_new(&j->r->a, str, n);
    if (!v) return arena_spent(&j->r->a, j->e);
    for (size_t i = 0; i < n; i++) {
        if (!ids[i]) return api_null("the id of a rule", j->e);
        v[i] = str_of(ids[i]);
    }
    *out = v;
    return true;
}

static bool add_note(judge *j, const char *note)
{
    kiln_report *r = j->r;
    for (size_t i = 0; i < r->notes.n; i++)
        if (strcmp(r->notes.v[i], note) == 0) return true;
    const char **slot = vec_push(&r->a, &r->notes);
    if (!slot) return arena_spent(&j->r->a, j->e);
    *slot = note;
    return true;
}

static bool add_report(judge *j, const payload *p, const check_report *one)
{
    kiln_report *r = j->r;
    for (size_t i = 0; i < one->n_findings; i++) {
        placed *slot = vec_push(&r->a, &r->findings);
        if (!slot) return arena_spent(&j->r->a, j->e);
        *slot = (placed){&one->findings[i], *p};
    }
    for (size_t i = 0; i < one->n_notes; i++)
        if (!add_note(j, one->notes[i])) return false;
    r->count[CHECK_INFO] += one->infos;
    r->count[CHECK_WARNING] += one->warnings;
    r->count[CHECK_ERROR] += one->errors;
    return true;
}

static bool check_payloads(judge *j, str bytes)
{
    frames f = frames_of(bytes, 0, &j->r->a);
    bool ok = true;
    for (payload p; ok && frames_next(&f, &p, j->e);) {
        check_report one = {0};
        bool several = f.framing == FRAMING_LENGTHS || p.index || frames_more(&f);
        layout l = format_force(&j->from, &p);
        ok = check_payload(&p, l, &j->rules, NULL, &j->r->a, &one, j->e);
        if (!ok && j->e->offset != NO_OFFSET && !p.packed) j->e->offset += p.offset;
        if (!ok && several) err_in(j->e, "payload[%" PRIu64 "]", p.index);
        ok = ok && add_report(j, &p, &one);
    }
    ok = ok && frames_ok(&f);
    frames_close(&f);
    return ok;
}

/* Checks an input of another format that has its own rules. */
static bool check_other(judge *j, const format *f, str bytes)
{
    check_report one = {0};
    return check_format(f, bytes, &j->rules, &j->r->a, &one, j->e) &&
           add_report(j, &(payload){.bytes = bytes}, &one);
}

static bool check_input(judge *j, str in, const kiln_check_options *o)
{
    j->rules = (check_opts){
        .n_only = o->n_only,
        .n_ignore = o->n_ignore,
        .min_severity = (check_severity)o->min_severity,
        .max_examples = o->max_examples,
    };
    unpacked u;
    if (!take_ids(j, o->only, o->n_only, &j->rules.only) ||
        !take_ids(j, o->ignore, o->n_ignore, &j->rules.ignore) ||
        !api_format(o->format, &j->from.from, j->e) ||
        !api_layout(o->layout, &j->from.layout, j->e))
        return false;
    if (!format_unpack(in, o->max_input, &j->r->a, &u, j->e)) return false;
    const format *f = j->from.from ? j->from.from : format_detect(u.bytes);
    bool other = !j->from.layout && f && check_has_rules(f, u.bytes);
    return other ? check_other(j, f, u.bytes) : check_payloads(j, u.bytes);
}

kiln_report *kiln_check(const void *bytes, size_t n, const kiln_check_options *from, kiln_error *ke)
{
    err e = {0};
    kiln_check_options o;
    bool ok =
        (bytes || !n || api_null("bytes", &e)) && API_TAKE(&o, from, "kiln_check_options", &e);
    if (!ok) return api_result(false, &e, ke), NULL;
    kiln_report *r = calloc(1, sizeof *r);
    if (r) {
        r->a = (arena){.budget = api_budget(o.max_memory), .seed = o.seed};
        judge j = {.r = r, .e = &e};
        ok = check_input(&j, (str){bytes, n}, &o);
    }
    if (api_result(ok && r, &e, ke)) return r;
    kiln_report_free(r);
    return NULL;
}

void kiln_report_free(kiln_report *r)
{
    if (!r) return;
    arena_free(&r->a);
    free(r);
}

/* ---- inspecting a report ---- */

uint64_t kiln_report_count(const kiln_report *r, kiln_severity s)
{
    return r && (unsigned)s < ARRAY_LEN(r->count) ? r->count[s] : 0;
}

/* Converts an offset in the payload to an offset in the input; none if the payload is
 * compressed. */
static uint64_t place(const placed *x, uint64_t offset)
{
    return offset == NO_OFFSET || x->p.packed ? KILN_NO_OFFSET : offset + x->p.offset;
}

bool kiln_finding_at(const kiln_report *r, size_t i, kiln_finding *out)
{
    if (!r || i >= r->findings.n) return false;
    const placed *x = &r->findings.v[i];
    const check_rule *rule = x->f->rule;
    const check_example *first = &x->f->examples[0];
    kiln_finding v = {
        .rule = rule->id,
        .level = rule->level,
        .title = rule->title,
        .fix = rule->fix,
        .severity = (kiln_severity)rule->severity,
        .n_examples = (uint32_t)x->f->n_examples,
        .count = x->f->count,
        .payload = (size_t)x->p.index,
        .path = first->path,
        .found = first->found,
        .expected = first->expected,
        .offset = place(x, first->offset),
    };
    return API_GIVE(out, &v);
}

bool kiln_example_at(const kiln_report *r, size_t i, size_t k, kiln_example *out)
{
    if (!r || i >= r->findings.n || k >= r->findings.v[i].f->n_examples) return false;
    const placed *x = &r->findings.v[i];
    const check_example *c = &x->f->examples[k];
    kiln_example v = {
        .path = c->path, .found = c->found, .expected = c->expected, .offset = place(x, c->offset)};
    return API_GIVE(out, &v);
}

const char *kiln_report_note(const kiln_report *r, size_t i)
{
    return r && i < r->notes.n ? r->notes.v[i] : NULL;
}
