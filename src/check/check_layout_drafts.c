/* The rules of the drafts: columns of the arrays draft, and types, clocks and events of the event
 * proposal (docs/spec/layouts.md, "Drafts"). */
#include "check/layout.h"

#include "base/ban.h"
#include <inttypes.h>

/* ---- arrays ---- */

static void column_rule(layout_walk *w, const node *x, const char *name, uint64_t n, bool optional)
{
    uint64_t got = node_field(x, name)->n;
    if (got == n || (optional && !got) || !violated(w->c, RULE_A01)) return;
    layout_report(w, RULE_A01, x, name,
                  found_text(w->c, "%" PRIu64 " elements, stacktrace_indices has %" PRIu64, got, n),
                  "one element per sample");
}

void check_columns(layout_walk *w, const node *x)
{
    uint64_t n = node_field(x, "stacktrace_indices")->n;
    if (!n && violated(w->c, RULE_A02))
        layout_report(w, RULE_A02, x, "stacktrace_indices", "no elements", "at least one sample");
    column_rule(w, x, "values", n, false);
    column_rule(w, x, "link_indices", n, true);
    column_rule(w, x, "attribute_set_indices", n, true);
    column_rule(w, x, "timestamps", n, true);
}

/* ---- events ---- */

void check_event_type(layout_walk *w, const node *x)
{
    char q[80];
    uint64_t i = node_field(x, "unit_string_index")->v;
    if (!i || i >= w->strings.n || ucum_ok(w->strings.v[i]) || !violated(w->c, RULE_E05)) return;
    const char *better = ucum_for(w->strings.v[i]);
    layout_report(w, RULE_E05, x, "unit_string_index", quote(w->strings.v[i], q, sizeof q),
                  better ? expected_text(w->c, "a UCUM unit: %s", better) : "a UCUM unit");
}

void check_event(layout_walk *w, const node *x)
{
    uint64_t type = node_field(x, "event_type_index")->v;
    const slot *time = node_field(x, "time"), *duration = node_field(x, "duration"),
               *value = node_field(x, "value"), *sum = node_field(x, "sum");
    bool clocked = type >= w->clocked.n || w->clocked.v[type]; /* P-06 reports an index outside */
    if (!clocked && (time->v || duration->v) && violated(w->c, RULE_E03))
        layout_report(w, RULE_E03, x, time->v ? "time" : "duration",
                      found_text(w->c, "%" PRId64, (int64_t)(time->v ? time->v : duration->v)),
                      "no time: the type has no clock");
    if (node_field(x, "count")->v > 1 && value->v && sum->v && value->v != sum->v &&
        violated(w->c, RULE_E04))
        layout_report(w, RULE_E04, x, "sum",
                      found_text(w->c, "sum %" PRIu64 ", value %" PRIu64, sum->v, value->v),
                      "one total");
}

void check_clock(layout_walk *w, const node *x)
{
    if (!node_field(x, "frequency")->v && violated(w->c, RULE_E02))
        layout_report(w, RULE_E02, x, "frequency", "0", "ticks per second");
}

void check_stack(layout_walk *w, const node *x)
{
    uint64_t n = node_field(x, "location_index")->n;
    if (is_first(x) && n && violated(w->c, RULE_E01))
        layout_report(w, RULE_E01, x, "", found_text(w->c, "%" PRIu64 " locations", n),
                      "an empty stack");
}
