#include "cli/diff_out.h"

#include "draw/text.h"
#include "wire/json.h"

#include "base/ban.h"
#include <math.h>

enum { LEFT = 60 }; /* columns before the name */

/* ---- for people ---- */

static double whole(const comparison *x, bool after)
{
    return (double)(after ? x->d.sum_after : x->d.sum_before);
}

/* A side of a row: its share, or in absolute mode its value. */
static const char *side_text(const comparison *x, bool after, int64_t v, char out[HUMAN_MAX])
{
    if (x->q.c->o.absolute) return question_value(&x->q, v, out);
    double all = whole(x, after);
    snprintf(out, HUMAN_MAX, "%.2f%%", all != 0 ? 100 * (double)v / all : 0);
    return out;
}

/* "+2.61%": points of the new profile, or the value; "~" before what may be noise. */
static const char *change_text(const comparison *x, double change, diff_verdict v,
                               char out[HUMAN_MAX])
{
    char value[HUMAN_MAX];
    const char *mark = v == DIFF_NOISE && change != 0 ? "~" : "";
    if (x->q.c->o.absolute) {
        question_value(&x->q, (int64_t)llround(fabs(change)), value);
        snprintf(out, HUMAN_MAX, "%s%s%.40s", mark,
                 change < 0   ? "-"
                 : change > 0 ? "+"
                              : "",
                 value);
    } else {
        double all = whole(x, true);
        snprintf(out, HUMAN_MAX, "%s%+.2f", mark, all != 0 ? 100 * change / all : 0);
    }
    return out;
}

static paint paint_of(diff_verdict v)
{
    switch (v) {
    case DIFF_GREW: return PAINT_RED;
    case DIFF_SHRANK: return PAINT_GREEN;
    case DIFF_NOISE: return PAINT_DIM;
    case DIFF_UNTESTED: break;
    }
    return PAINT_OFF;
}

static void put_change(comparison *x, double change, diff_verdict v)
{
    char text[HUMAN_MAX];
    bool color = x->q.c->term.color;
    buf_printf(&x->q.c->out, " %s%9s%s", paint_on(color, paint_of(v)),
               change_text(x, change, v, text), paint_on(color, PAINT_OFF));
}

static const char *sign_of(const diff_row *r)
{
    diff_verdict v = r->flat != DIFF_NOISE ? r->flat : r->cum;
    switch (v) {
    case DIFF_GREW: return "▲";
    case DIFF_SHRANK: return "▼";
    case DIFF_UNTESTED: return "≠";
    case DIFF_NOISE: break;
    }
    return " ";
}

static void put_row(comparison *x, const diff_row *r, size_t width)
{
    buf *b = &x->q.c->out;
    char t1[HUMAN_MAX], t2[HUMAN_MAX];
    buf_printf(b, "%9s %9s", side_text(x, false, r->before.flat, t1),
               side_text(x, true, r->after.flat, t2));
    put_change(x, r->flat_change, r->flat);
    buf_printf(b, "%9s %9s", side_text(x, false, r->before.cum, t1),
               side_text(x, true, r->after.cum, t2));
    put_change(x, r->cum_change, r->cum);
    buf_printf(b, " %s ", sign_of(r));
    text_clipped(b, frame_label(x->d.frames, r->frame),
                 width == SIZE_MAX ? SIZE_MAX : width - LEFT);
    buf_putc(b, '\n');
}

static void put_head(comparison *x)
{
    buf *b = &x->q.c->out;
    char before[HUMAN_MAX], after[HUMAN_MAX];
    const diff *d = &x->d;
    buf_printf(b, "%s -> %s: %.*s, %s and %s", input_name(x->base.path),
               input_name(x->q.in[0].path), STR_ARG(x->q.v.type),
               question_value(&x->q, d->sum_before, before),
               question_value(&x->q, d->sum_after, after));
    if (!d->untested)
        buf_printf(b, " (%.0f and %.0f samples)", d->samples_before, d->samples_after);
    buf_z(b, x->q.c->o.absolute ? ", absolute\n" : ", compared as shares\n");
}

static void put_foot(comparison *x)
{
    buf *b = &x->q.c->out;
    const diff *d = &x->d;
    if (d->untested) {
        buf_printf(b, "%zu of %zu frames differ; not tested: %s\n", d->n_changed, d->n,
                   d->untested);
        return;
    }
    buf_printf(b, "%zu of %zu frames changed, %zu grew; at most %g %% of such finds are chance\n",
               d->n_changed, d->n, d->n_grew, d->fdr * 100);
    buf_printf(
        b, "seen four times in five: a growth of %.2g points for a frame at 10 %%, %.2g at 1 %%\n",
        100 * diff_detectable(d, 0.1), 100 * diff_detectable(d, 0.01));
}

static void put_gate(comparison *x, const gated *g)
{
    buf *b = &x->q.c->out;
    bool color = x->q.c->term.color;
    char value[HUMAN_MAX];
    buf_printf(b, "gate %.*s: ", STR_ARG(g->g.text));
    if (g->g.kind == GATE_VALUE)
        buf_z(b, question_value(&x->q, (int64_t)llround(g->r.got), value));
    else if (isinf(g->r.got))
        buf_z(b, "new");
    else
        buf_printf(b, "%s%.2f %%", g->g.kind == GATE_GROWTH && g->r.got >= 0 ? "+" : "",
                   100 * g->r.got);
    if (g->g.kind == GATE_SHARE && g->r.margin > 0) buf_printf(b, " ± %.2f", 100 * g->r.margin);
    buf_printf(b, ", %s%s%s", paint_on(color, g->r.passed ? PAINT_GREEN : PAINT_RED),
               g->r.passed ? "passed" : "FAILED", paint_on(color, PAINT_OFF));
    if (g->r.smallest > 0)
        buf_printf(b, "; smallest growth that would show: %.2g points", 100 * g->r.smallest);
    buf_putc(b, '\n');
}

/* ---- what is shown ---- */

static bool is_small(const diff *d, const diff_row *r, double fraction)
{
    return fabs((double)r->before.cum) < fraction * fabs((double)d->sum_before) &&
           fabs((double)r->after.cum) < fraction * fabs((double)d->sum_after);
}

/* Takes the rows out that are below --nodefraction on both sides, and those beyond --nodecount. */
typedef struct shown {
    const diff_row **v;
    size_t n, n_small, n_more;
} shown;

static shown choose_rows(comparison *x)
{
    const diff *d = &x->d;
    flat_opts o = question_flat(x->q.c, 0);
    size_t n = x->q.c->o.unchanged ? d->n : d->n_changed;
    shown s = {.v = arena_new(&x->q.arena, const diff_row *, n)};
    if (!s.v) return s;
    for (size_t i = 0; i < n; i++) {
        if (is_small(d, &d->v[i], o.node_fraction))
            s.n_small++;
        else if (o.node_count && s.n == o.node_count)
            s.n_more++;
        else
            s.v[s.n++] = &d->v[i];
    }
    return s;
}

void diff_text(comparison *x)
{
    buf *b = &x->q.c->out;
    shown s = choose_rows(x);
    put_head(x);
    if (s.n) {
        buf_printf(b, "%9s%29s\n", "self", "cum");
        buf_printf(b, "%9s %9s %9s%9s %9s %9s\n", "before", "after", "change", "before", "after",
                   "change");
    }
    for (size_t i = 0; i < s.n; i++) put_row(x, s.v[i], question_width(x->q.c));
    if (s.n_more) buf_printf(b, "%zu more (--nodecount)\n", s.n_more);
    if (s.n_small) buf_printf(b, "%zu small ones left out (--nodefraction)\n", s.n_small);
    put_foot(x);
    for (size_t i = 0; i < x->n_gates; i++) put_gate(x, &x->gates[i]);
}

/* ---- for machines ---- */

static const char *verdict_name(diff_verdict v)
{
    static const char *const names[] = {"noise", "grew", "shrank", "untested"};
    return names[v];
}

static void put_number(json_out *o, const char *key, double v)
{
    json_put_key(o, str_of(key));
    if (isfinite(v))
        json_put_double(o, v);
    else
        json_put_null(o);
}

static void put_integer(json_out *o, const char *key, int64_t v)
{
    json_put_key(o, str_of(key));
    json_put_i64(o, v);
}

static void put_text(json_out *o, const char *key, str v)
{
    json_put_key(o, str_of(key));
    json_put_str(o, v);
}

static void put_part(json_out *o, const char *key, int64_t before, int64_t after, double change,
                     double q, diff_verdict v)
{
    json_put_key(o, str_of(key));
    json_put_object(o);
    put_integer(o, "before", before);
    put_integer(o, "after", after);
    put_number(o, "change", change);
    put_number(o, "q", q);
    put_text(o, "verdict", str_of(verdict_name(v)));
    json_put_object_end(o);
}

static void put_row_json(comparison *x, json_out *o, const diff_row *r)
{
    o->flat_at = o->depth + 1; /* a row is a line */
    json_put_object(o);
    put_part(o, "flat", r->before.flat, r->after.flat, r->flat_change, r->flat_q, r->flat);
    put_part(o, "cum", r->before.cum, r->after.cum, r->cum_change, r->cum_q, r->cum);
    frame_json(o, x->d.frames, r->frame);
    json_put_object_end(o);
}

static void put_gate_json(json_out *o, const gated *g)
{
    static const char *const kinds[] = {"share", "growth", "value"};
    o->flat_at = o->depth + 1;
    json_put_object(o);
    put_text(o, "gate", g->g.text);
    put_text(o, "kind", str_of(kinds[g->g.kind]));
    put_number(o, "got", g->r.got);
    put_number(o, "limit", g->g.limit);
    put_number(o, "share", g->r.share);
    put_number(o, "margin", g->r.margin);
    put_number(o, "smallest_visible_growth", g->r.smallest);
    json_put_key(o, STR("passed"));
    json_put_bool(o, g->r.passed);
    json_put_object_end(o);
}

void diff_json(comparison *x)
{
    json_out o = {.b = &x->q.c->out, .pretty = true};
    const diff *d = &x->d;
    json_put_object(&o);
    question_head_json(&x->q, &o);
    json_put_key(&o, STR("base"));
    input_path_json(&o, x->base.path);
    put_text(&o, "mode", x->q.c->o.absolute ? STR("absolute") : STR("normalised"));
    put_integer(&o, "sum_before", d->sum_before);
    put_integer(&o, "sum_after", d->sum_after);
    put_number(&o, "scale", d->scale);
    put_number(&o, "samples_before", d->samples_before);
    put_number(&o, "samples_after", d->samples_after);
    put_number(&o, "false_discovery_rate", d->fdr);
    put_integer(&o, "tests", (int64_t)d->n_tests);
    put_integer(&o, "changed", (int64_t)d->n_changed);
    put_integer(&o, "grew", (int64_t)d->n_grew);
    if (d->untested) put_text(&o, "untested", str_of(d->untested));
    json_put_key(&o, STR("rows"));
    json_put_array(&o);
    shown s = choose_rows(x);
    for (size_t i = 0; i < s.n; i++) put_row_json(x, &o, s.v[i]);
    json_put_array_end(&o);
    put_integer(&o, "left_out", (int64_t)(s.n_small + s.n_more));
    json_put_key(&o, STR("gates"));
    json_put_array(&o);
    for (size_t i = 0; i < x->n_gates; i++) put_gate_json(&o, &x->gates[i]);
    json_put_array_end(&o);
    json_put_object_end(&o);
    buf_putc(&x->q.c->out, '\n');
}
