/* Parses gates, sums the stacks that they match, and compares the sums with the limit. Error
 * messages show examples and units, because gates are written in CI configurations. */
#include "query/gate.h"

#include "base/words.h"
#include "query/internal.h"
#include "query/named.h"
#include "query/stat.h"
#include "query/unit.h"
#include "base/text.h"
#include "base/ban.h"
#include <math.h>
#include <stdio.h>

static bool bad(const gate *g, const char *why, err *e)
{
    return err_set(e, ERR_USAGE,
                   "the gate \"%.*s\" %s; for example: parse<=+10%%, parse<=200ms, parse<=4%%",
                   STR_ARG(g->text), why);
}

bool gate_parse(str text, gate *out, err *e)
{
    *out = (gate){.text = text};
    size_t at = text.n;
    while (at > 0 && text.p[at - 1] != '<') at--;
    if (at == 0) return bad(out, "has no <", e);
    out->pattern = str_trim((str){text.p, at - 1});
    if (!out->pattern.n) return bad(out, "has no pattern before the <", e);
    out->total = str_eq(out->pattern, STR("total"));

    str limit = {text.p + at, text.n - at};
    out->strict = !limit.n || limit.p[0] != '=';
    if (!out->strict) limit.p++, limit.n--;
    limit = str_trim(limit);
    bool growth = limit.n && limit.p[0] == '+';
    if (growth) limit.p++, limit.n--;
    if (!decimal_at(limit, &out->limit, &limit) || out->limit < 0)
        return bad(out, "has no number after the <", e);
    limit = str_trim(limit);
    if (str_eq(limit, STR("%"))) {
        out->kind = growth ? GATE_GROWTH : GATE_SHARE;
        out->limit /= 100;
        return true;
    }
    if (growth) return bad(out, "limits growth, which is given in %", e);
    out->kind = GATE_VALUE;
    out->unit = limit;
    return true;
}

/* ---- matching ---- */

bool gate_sum(const gate *g, const recording *v, size_t n, bool literal, double *out, bool *found,
              err *e)
{
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        named x = {(double)v[i].v->sum, true};
        if (!g->total && !named_in(v[i].v, g->pattern, literal, "the gate", &x, e)) return false;
        *out += x.sum;
        *found |= x.any;
    }
    return true;
}

bool gate_names_nothing(const gate *g, const recording *const sides[2], const size_t n[2], err *e)
{
    char what[96];
    size_t all = n[0] + n[1];
    const view **v = arena_new(sides[0][0].v->a, const view *, all);
    if (!v) return err_memory(e);
    for (size_t i = 0; i < all; i++) v[i] = i < n[0] ? sides[0][i].v : sides[1][i - n[0]].v;
    snprintf(what, sizeof what, "the gate \"%.*s\"", g->text.n < 60 ? (int)g->text.n : 60,
             g->text.p);
    return named_nothing(v, all, g->pattern, what, e) || err_hint(e, "--gate-missing-ok passes it");
}

/* ---- units ---- */

/* Returns the units in which a limit of values in `unit` can be given: "ns, us, ms or s". */
static const char *units_for(str unit, char out[40])
{
    switch (unit_of(unit).kind) {
    case UNIT_TIME: return "ns, us, ms, s";
    case UNIT_BYTES: return "B, kB, MB, GB";
    case UNIT_OTHER: break;
    }
    bool counts = !unit.n || unit_counts(unit);
    snprintf(out, 40, "%.*s",
             counts        ? 5
             : unit.n < 39 ? (int)unit.n
                           : 39,
             counts ? "count" : unit.p);
    return out;
}

static bool bad_unit(const gate *g, str unit, err *e)
{
    char text[40];
    const char *units = units_for(unit, text);
    if (!g->unit.n)
        return err_set(e, ERR_USAGE,
                       "the gate \"%.*s\" has no unit: %s, %% (its share) or, with + before the "
                       "number, %% (its growth)",
                       STR_ARG(g->text), units);
    return err_set(e, ERR_USAGE, "the gate \"%.*s\" is in %.*s, but the values %s%.*s; use %s",
                   STR_ARG(g->text), STR_ARG(g->unit), unit.n ? "are in " : "have no unit",
                   STR_ARG(unit), units);
}

static bool counts_too(str given, str unit)
{
    return (unit_counts(given) || str_eq(given, STR("sample"))) && (!unit.n || unit_counts(unit));
}

/* Converts the limit of a GATE_VALUE to `unit`. */
static bool limit_in(const gate *g, str unit, double *out, err *e)
{
    unit_info want = unit_of(g->unit), have = unit_of(unit);
    *out = g->limit;
    if (!g->unit.n) return bad_unit(g, unit, e);
    if (str_eq(g->unit, unit) || counts_too(g->unit, unit)) return true;
    if (want.kind != have.kind || want.kind == UNIT_OTHER) return bad_unit(g, unit, e);
    *out = g->limit * want.factor / have.factor;
    return true;
}

/* ---- judging ---- */

static void set_interval(gate_result *r, double low, double high)
{
    r->low = low, r->high = high, r->known = true;
}

static void judge_share(const diff *d, gate_result *out)
{
    out->got = out->share;
    if (!(d->samples_after >= 1)) return;
    double away =
        stat_normal_quantile(0.025) * sqrt(out->share * (1 - out->share) / d->samples_after);
    set_interval(out, fmax(0, out->got - away), fmin(1, out->got + away));
}

static void judge_growth(const diff *d, gate_sums s, gate_result *out)
{
    diff_growth g = diff_growth_of(d, s.before, s.after);
    out->got = g.v;
    if (g.known) set_interval(out, g.low, g.high);
}

/* The interval assumes that the variance of one side is half of the variance of the ratio. */
static void judge_value(const diff *d, gate_sums s, gate_result *out)
{
    diff_growth g = diff_growth_of(d, s.after / d->per_after * d->per_before, s.after);
    out->got = s.after / d->per_after;
    if (!g.known) return;
    double away = log1p(g.high) / M_SQRT2;
    set_interval(out, out->got * exp(-away), out->got * exp(away));
}

bool gate_judge(const gate *g, gate_sums s, const diff *d, str unit, gate_result *out, err *e)
{
    double all = (double)d->sum_after, was = (double)d->sum_before;
    *out = (gate_result){.share = all > 0 ? s.after / all : 0,
                         .limit = g->limit,
                         .missing = s.missing,
                         .smallest = diff_detectable(d, was > 0 ? s.before / was : 0)};
    switch (g->kind) {
    case GATE_SHARE: judge_share(d, out); break;
    case GATE_GROWTH: judge_growth(d, s, out); break;
    case GATE_VALUE:
        if (!limit_in(g, unit, &out->limit, e)) return false;
        judge_value(d, s, out);
        break;
    }
    out->passed = g->strict ? out->got < out->limit : out->got <= out->limit;
    return true;
}
