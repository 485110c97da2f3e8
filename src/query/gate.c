#include "query/gate.h"

#include "query/pattern.h"
#include "query/stat.h"
#include "query/unit.h"
#include "base/ban.h"
#include <math.h>

static bool bad(const gate *g, const char *why, err *e)
{
    return err_set(e, ERR_USAGE,
                   "the gate \"%.*s\" %s; for example: parse<=4%%, parse<=+4%%, parse<=200ms",
                   STR_ARG(g->text), why);
}

static str trim(str s)
{
    while (s.n && s.p[0] == ' ') s.p++, s.n--;
    while (s.n && s.p[s.n - 1] == ' ') s.n--;
    return s;
}

/* Reads a decimal number at the beginning of *s and takes it away. */
static bool take_number(str *s, double *out)
{
    char text[64];
    size_t n = 0;
    while (n < s->n && n < sizeof text - 1 &&
           ((s->p[n] >= '0' && s->p[n] <= '9') || s->p[n] == '.'))
        n++;
    if (!n) return false;
    memcpy(text, s->p, n);
    text[n] = 0;
    char *end;
    *out = strtod(text, &end);
    *s = (str){s->p + n, s->n - n};
    return end == text + n && isfinite(*out);
}

bool gate_parse(str text, gate *out, err *e)
{
    *out = (gate){.text = text};
    size_t at = text.n;
    while (at > 0 && text.p[at - 1] != '<') at--;
    if (at == 0) return bad(out, "has no <", e);
    out->pattern = trim((str){text.p, at - 1});
    if (!out->pattern.n) return bad(out, "has no pattern before the <", e);

    str limit = {text.p + at, text.n - at};
    out->strict = !limit.n || limit.p[0] != '=';
    if (!out->strict) limit.p++, limit.n--;
    limit = trim(limit);
    bool growth = limit.n && limit.p[0] == '+';
    if (growth) limit.p++, limit.n--;
    if (!take_number(&limit, &out->limit)) return bad(out, "has no number behind the <", e);
    limit = trim(limit);
    if (str_eq(limit, STR("%"))) {
        out->kind = growth ? GATE_GROWTH : GATE_SHARE;
        out->limit /= 100;
        return true;
    }
    if (growth) return bad(out, "limits growth, which is given in %", e);
    out->kind = GATE_VALUE;
    out->unit = limit;
    if (limit.n && !unit_of(limit).name) return bad(out, "has a unit that is not known", e);
    return true;
}

/* ---- what matches ---- */

static bool frame_matches(pattern *p, const frame_table *f, const frame *x, bool *yes, err *e)
{
    if (!pattern_match(p, x->label, yes, e)) return false;
    return *yes || pattern_match(p, frame_text(f, x->file), yes, e);
}

/* Every frame is asked once. */
static bool mark_frames(pattern *p, const view *v, bool **out, err *e)
{
    const frame_table *f = v->frames;
    *out = arena_new(v->a, bool, f->v.n);
    if (!*out) return err_set(e, ERR_LIMIT, "the memory budget is spent");
    for (size_t i = 0; i < f->v.n; i++)
        if (!frame_matches(p, f, &f->v.v[i], &(*out)[i], e)) return false;
    return true;
}

static double marked_sum(const view *v, const bool *marked, uint32_t *scratch)
{
    double sum = 0;
    for (size_t k = 0; k < v->parts.n; k++) {
        const view_part *part = &v->parts.v[k];
        for (size_t i = 0; i < part->n_rows; i++) {
            const view_row *r = &v->rows.v[part->first_row + i];
            uint32_t n = view_frames(v, part, r, scratch);
            bool hit = false;
            for (uint32_t j = 0; j < n; j++) hit |= marked[scratch[j]];
            if (hit) sum += (double)r->value;
        }
    }
    return sum;
}

bool gate_sum(const gate *g, const view *v, bool literal, double *out, err *e)
{
    pattern *p = NULL;
    bool *marked;
    uint32_t *scratch = view_scratch(v, e);
    if (!scratch || !pattern_new(g->pattern, literal, "the gate", v->a, &p, e)) return false;
    bool ok = mark_frames(p, v, &marked, e);
    pattern_free(p);
    if (ok) *out = marked_sum(v, marked, scratch);
    return ok;
}

/* ---- judging ---- */

/* The limit of a GATE_VALUE, in `unit`. */
static bool limit_in(const gate *g, str unit, double *out, err *e)
{
    *out = g->limit;
    if (!g->unit.n) return true;
    unit_info want = unit_of(g->unit), have = unit_of(unit);
    if (want.kind != have.kind || want.kind == UNIT_OTHER)
        return err_set(e, ERR_USAGE, "the gate \"%.*s\" is in %.*s, the values are in %s%.*s",
                       STR_ARG(g->text), STR_ARG(g->unit), unit.n ? "" : "no unit", STR_ARG(unit));
    *out = g->limit * want.factor / have.factor;
    return true;
}

bool gate_judge(const gate *g, gate_sums s, str unit, double samples_before, double samples_after,
                gate_result *out, err *e)
{
    double share = s.after_all > 0 ? s.after / s.after_all : 0;
    double share_before = s.before_all > 0 ? s.before / s.before_all : 0;
    double limit = g->limit;
    *out = (gate_result){.share = share};
    switch (g->kind) {
    case GATE_SHARE: out->got = share; break;
    case GATE_GROWTH:
        out->got = share_before > 0 ? share / share_before - 1 : share > 0 ? INFINITY : 0;
        break;
    case GATE_VALUE:
        out->got = s.after;
        if (!limit_in(g, unit, &limit, e)) return false;
        break;
    }
    if (samples_after >= 1)
        out->margin = stat_normal_quantile(0.025) * sqrt(share * (1 - share) / samples_after);
    if (samples_before >= 1 && samples_after >= 1)
        out->smallest =
            stat_detectable(share_before, (uint64_t)samples_before, (uint64_t)samples_after, 0.05);
    out->passed = g->strict ? out->got < limit : out->got <= limit;
    return true;
}
