/* Rules on call stacks in log records, S-21 to S-61. The text of 2021 applies, unless a record has
 * the attribute profiling.data.format: later releases set it; they omit the record's name, allow
 * two empty first lines and write qualified function names. */
#include "check/layout.h"

#include "format/splunk_internal.h"
#include "wire/base64.h"

#include "base/ban.h"
#include <inttypes.h>

/* ---- resource and scope ---- */

void check_resource_logs(layout_walk *w, const node *x)
{
    const slot *s = node_field(x, "resource");
    resource r = {0};
    pb_cur c = pb_open(s->data, s->data ? s->v : 0, NULL);
    bool read = splunk_resource_read(c, &w->c->tmp, &r);
    if ((!read || !r.attrs.n) && w->profiling && violated(w->c, RULE_S28))
        layout_report(w, RULE_S28, x, "resource", "no attributes",
                      "the attributes of the resource");
    w->profiling = false;
}

void check_scope_logs(layout_walk *w, const node *x)
{
    scope s = {0};
    pb_cur c = pb_open(x->bytes.p, x->bytes.n, NULL);
    for (pb_field f; pb_next(&c, &f);)
        if (f.number == 1 && f.wire == 2 && !splunk_scope_read(pb_message(&c, &f), &w->c->tmp, &s))
            s = (scope){0};
    w->scope_name = s.name;
    w->scope_version = s.version;
    w->scope_said = false;
}

/* Runs once per scope that contains a profile. */
static void scope_rules(layout_walk *w, const node *record)
{
    const node *x = record->up;
    char q[80];
    if (w->scope_said || !x) return;
    w->scope_said = true;
    if (!str_eq(w->scope_name, STR(SPLUNK_SCOPE)) && violated(w->c, RULE_S30))
        layout_report(w, RULE_S30, x, "scope", quote(w->scope_name, q, sizeof q), SPLUNK_SCOPE);
    if (!str_eq(w->scope_version, STR(SPLUNK_SCOPE_VERSION)) && violated(w->c, RULE_S31))
        layout_report(w, RULE_S31, x, "scope", quote(w->scope_version, q, sizeof q),
                      SPLUNK_SCOPE_VERSION);
}

/* ---- ids ---- */

/* Checks a trace or span id, which is hex text in JSON. Returns whether it is set. */
static bool id_rule(layout_walk *w, const node *x, const char *field, str id, size_t n, rule_no r)
{
    uint8_t raw[16] = {0};
    size_t want_n = w->hex ? 2 * n : n;
    if (!id.n) return false;
    bool right = id.n == want_n;
    if (right && w->hex) right = hex_decode(id, raw);
    if (right && !w->hex) memcpy(raw, id.p, n);
    bool zero = right && id_is_zero(raw, n);
    if (right && !zero) return true;
    if (violated(w->c, r))
        layout_report(
            w, r, x, field,
            zero ? "all zero" : found_text(w->c, "%zu %s", id.n, w->hex ? "digits" : "bytes"),
            expected_text(w->c, "%zu %s, or none", want_n, w->hex ? "hex digits" : "bytes"));
    return false;
}

static void span_rules(layout_walk *w, const node *x, const splunk_record *rec)
{
    bool trace = id_rule(w, x, "trace_id", rec->trace_id, 16, RULE_S37);
    bool span_id = id_rule(w, x, "span_id", rec->span_id, 8, RULE_S38);
    bool alone = rec->trace_id.n ? !rec->span_id.n : rec->span_id.n != 0;
    if (alone && (trace || span_id) && violated(w->c, RULE_S21))
        layout_report(w, RULE_S21, x, trace ? "span_id" : "trace_id",
                      trace ? "no span id" : "no trace id", "both ids or neither");
}

/* ---- attributes ---- */

static void period_rule(layout_walk *w, const node *x, const splunk_record *rec)
{
    const any *v = splunk_attr(&rec->attrs, STR(SPLUNK_PERIOD));
    bool allocation =
        splunk_attr(&rec->attrs, STR(SPLUNK_ALLOCATED)) ||
        str_eq(splunk_attr_text(&rec->attrs, STR(SPLUNK_DATA_TYPE)), STR("allocation"));
    if (!v && allocation) return; /* allocations are not periodic */
    bool right = v && v->kind == ANY_INT && v->i > 0;
    if (!right && violated(w->c, RULE_S33))
        layout_report(w, RULE_S33, x, "attributes",
                      v ? "not a positive integer" : "no " SPLUNK_PERIOD,
                      "the period in milliseconds");
}

static void attribute_rules(layout_walk *w, const node *x, const splunk_record *rec, bool pprof,
                            bool later)
{
    char q[80];
    str type = splunk_attr_text(&rec->attrs, STR(SPLUNK_SOURCETYPE));
    if (!str_eq(type, STR(SPLUNK_SCOPE)) && violated(w->c, RULE_S32))
        layout_report(w, RULE_S32, x, "attributes",
                      type.n ? quote(type, q, sizeof q) : "no " SPLUNK_SOURCETYPE, SPLUNK_SCOPE);
    if (!pprof) period_rule(w, x, rec);
    if (!later && !str_eq(rec->name, STR(SPLUNK_SCOPE)) && violated(w->c, RULE_S35))
        layout_report(w, RULE_S35, x, "name",
                      rec->name.n ? quote(rec->name, q, sizeof q) : "no name", SPLUNK_SCOPE);
    if (!pprof && !rec->time && violated(w->c, RULE_S36))
        layout_report(w, RULE_S36, x, "time_unix_nano", "0", "the time of capture");
}

/* ---- the text ---- */

static str next_line(str *rest)
{
    const char *end = rest->n ? memchr(rest->p, '\n', rest->n) : NULL;
    str text = {rest->p, end ? (size_t)(end - rest->p) : rest->n};
    size_t used = text.n + (end != NULL);
    *rest = (str){rest->p + used, rest->n - used};
    if (text.n && text.p[text.n - 1] == '\r') text.n--; /* S-40 */
    return text;
}

static void metadata_fields(layout_walk *w, const node *x, str rest)
{
    static const struct {
        rule_no rule;
        const char *prefix;
    } order[] = {{RULE_S44, "#"},     {RULE_S45, "prio="},    {RULE_S46, "os_prio="},
                 {RULE_S47, "cpu="},  {RULE_S48, "elapsed="}, {RULE_S49, "tid=0x"},
                 {RULE_S49, "nid=0x"}};
    char q[80];
    str all = rest;
    bool ordered = true;
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        char spaced[16];
        int n = snprintf(spaced, sizeof spaced, " %s", order[i].prefix);
        const char *here = memmem(rest.p, rest.n, spaced, (size_t)n);
        if (here) {
            rest = (str){here + n, (size_t)(rest.p + rest.n - here) - (size_t)n};
        } else if (memmem(all.p, all.n, spaced, (size_t)n)) {
            ordered = false;
        } else if (violated(w->c, order[i].rule)) {
            layout_report(w, order[i].rule, x, "body", quote(all, q, sizeof q),
                          expected_text(w->c, "%s...", order[i].prefix));
        }
    }
    if (!ordered && violated(w->c, RULE_S42))
        layout_report(w, RULE_S42, x, "body", quote(all, q, sizeof q),
                      "#, prio, os_prio, cpu, elapsed, tid, nid");
}

/* Checks line 1. The name has no escapes, so it ends at the last quote before the fields. */
static void metadata_rules(layout_walk *w, const node *x, str text, bool later)
{
    char q[80];
    if (later && !text.n) return;
    if (!text.n || text.p[0] != '"') {
        rule_no r = text.n ? RULE_S43 : RULE_S41;
        if (violated(w->c, r))
            layout_report(w, r, x, "body",
                          text.n ? quote(text, q, sizeof q) : "an empty first line",
                          "\"thread name\" #1 prio=0 ...");
        return;
    }
    const char *end = memrchr(text.p + 1, '"', text.n - 1);
    if (!end) {
        if (violated(w->c, RULE_S43))
            layout_report(w, RULE_S43, x, "body", quote(text, q, sizeof q), "a closing quote");
        return;
    }
    metadata_fields(w, x, (str){end + 1, (size_t)(text.p + text.n - end - 1)});
}

static bool is_blank(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] != ' ' && s.p[i] != '\t') return false;
    return true;
}

static void frame_rules(layout_walk *w, const node *x, str text, bool later)
{
    splunk_frame f = {0};
    splunk_text_opts o = {.columns = later, .dotnet = w->dotnet};
    char q[80];
    if (is_blank(text)) return;
    if (!splunk_frame_parse(text, &o, &f)) {
        if (violated(w->c, RULE_S53))
            layout_report(w, RULE_S53, x, "body", quote(text, q, sizeof q),
                          "namespace.function(file:line)");
        return;
    }
    bool qualified = f.scope.n || (f.name.n && memchr(f.name.p, '.', f.name.n));
    if (!qualified && !later && violated(w->c, RULE_S56))
        layout_report(w, RULE_S56, x, "body", quote(text, q, sizeof q),
                      "a namespace before the function");
    bool empty = text.n >= 2 && text.p[text.n - 1] == ')' && text.p[text.n - 2] == '(';
    if (empty && !w->dotnet && violated(w->c, RULE_S61))
        layout_report(w, RULE_S61, x, "body", quote(text, q, sizeof q), "a file, or unknown");
}

static void text_rules(layout_walk *w, const node *x, str body, bool later)
{
    char q[80];
    if (!body.n || body.p[body.n - 1] != '\n') {
        str tail = {body.p + (body.n > 20 ? body.n - 20 : 0), body.n > 20 ? 20 : body.n};
        if (violated(w->c, RULE_S39))
            layout_report(w, RULE_S39, x, "body", quote(tail, q, sizeof q), "a newline at the end");
    }
    if (body.n && memmem(body.p, body.n, "\r\n", 2) && violated(w->c, RULE_S40))
        layout_report(w, RULE_S40, x, "body", "CR LF", "LF");
    str rest = body;
    metadata_rules(w, x, next_line(&rest), later);
    str state = next_line(&rest);
    splunk_frame f;
    /* The state line may look like a frame; with "at " it is a frame. */
    str bare = state;
    while (bare.n && (bare.p[0] == ' ' || bare.p[0] == '\t')) bare.p++, bare.n--;
    if (str_starts(bare, STR("at ")) && splunk_frame_parse(state, &(splunk_text_opts){0}, &f))
        frame_rules(w, x, state, later);
    while (rest.n && !w->c->failed) frame_rules(w, x, next_line(&rest), later);
}

/* ---- one record ---- */

static bool is_pprof(const splunk_record *rec, bool *later)
{
    str given = splunk_attr_text(&rec->attrs, STR(SPLUNK_DATA_FORMAT));
    *later = given.n != 0;
    return str_eq(given, STR(SPLUNK_PPROF));
}

void check_log_record(layout_walk *w, const node *x)
{
    splunk_record rec = {0};
    arena scratch = arena_beside(&w->c->tmp);
    pb_cur c = pb_open(x->bytes.p, x->bytes.n, NULL);
    bool read = splunk_record_read(c, &scratch, &rec);
    str type = read ? splunk_attr_text(&rec.attrs, STR(SPLUNK_SOURCETYPE)) : (str){0};
    bool ours = str_eq(w->scope_name, STR(SPLUNK_SCOPE)) || str_eq(type, STR(SPLUNK_SCOPE));
    if (read && ours) {
        bool later, pprof = is_pprof(&rec, &later);
        w->profiling = true;
        scope_rules(w, x);
        attribute_rules(w, x, &rec, pprof, later);
        span_rules(w, x, &rec);
        if (rec.body.kind != ANY_STRING) {
            if (violated(w->c, RULE_S39))
                layout_report(w, RULE_S39, x, "body", "not a string", "a string");
        } else if (!pprof) {
            text_rules(w, x, any_str(&rec.body), later);
        }
    }
    arena_free(&scratch);
}
