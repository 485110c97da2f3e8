/* Prints the output of `kiln diff` as text and JSON (docs/diff.md).  draw/verdict.h writes the
 * sentence that the server shares. */
#include "cli/diff_out.h"

#include "draw/text.h"
#include "draw/verdict.h"
#include "query/unit.h"
#include "wire/json.h"

#include "base/ban.h"
#include <math.h>

/* Columns before the name: of self and cum, of cum only, of its change only.  WIDE and NARROW are
 * the terminal widths that decide. */
enum { LEFT = 60, LEFT_CUM = 32, LEFT_CHANGE = 13, WIDE = 80, NARROW = 56 };

/* ---- text ---- */

static double share_of(int64_t v, int64_t sum) { return sum ? 100 * (double)v / (double)sum : 0; }

static const char *amount_text(const comparison *x, double v, char out[HUMAN_MAX])
{
    if (v == 0) return snprintf(out, HUMAN_MAX, "0"), out;
    if (x->q.c->o.unit) return query_value(&x->q, (int64_t)llround(v), out);
    return human_amount(v, x->q.v.unit, out);
}

/* Formats the amount of one side of a row, or its share (--shares). */
static const char *side_text(const comparison *x, bool after, int64_t v, char out[HUMAN_MAX])
{
    const diff *d = &x->d;
    if (!x->q.c->o.shares) return amount_text(x, after ? diff_after(d, v) : diff_before(d, v), out);
    snprintf(out, HUMAN_MAX, "%.2f%%", share_of(v, after ? d->sum_after : d->sum_before));
    return out;
}

/* Formats the change; "~" marks possible noise. */
static const char *change_text(const comparison *x, double change, double points, diff_verdict v,
                               char out[HUMAN_MAX])
{
    char value[HUMAN_MAX];
    const char *mark = v == DIFF_NOISE && change != 0 ? "~" : "";
    if (x->q.c->o.shares)
        snprintf(out, HUMAN_MAX, "%s%+.2f", mark, points);
    else
        snprintf(out, HUMAN_MAX, "%s%s%.40s", mark,
                 change < 0   ? "-"
                 : change > 0 ? "+"
                              : "",
                 amount_text(x, fabs(change), value));
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

/* Returns the amount as it is shown.  Large counts are shown as whole numbers, and the change must
 * match them. */
static double shown_amount(const comparison *x, double v)
{
    return unit_counts(x->q.v.unit) && fabs(v) >= 100 ? round(v) : v;
}

static void put_part(comparison *x, int64_t before, int64_t after, diff_verdict v, bool sides)
{
    buf *b = &x->q.c->out;
    char t1[HUMAN_MAX], t2[HUMAN_MAX];
    bool color = x->q.c->term.color;
    double points = share_of(after, x->d.sum_after) - share_of(before, x->d.sum_before);
    double change =
        shown_amount(x, diff_after(&x->d, after)) - shown_amount(x, diff_before(&x->d, before));
    if (sides)
        buf_printf(b, "%9s %9s", side_text(x, false, before, t1), side_text(x, true, after, t2));
    buf_printf(b, " %s%9s%s", paint_on(color, paint_of(v)), change_text(x, change, points, v, t1),
               paint_on(color, PAINT_OFF));
}

static const char *sign_of(const diff_row *r)
{
    diff_verdict v = r->flat != DIFF_NOISE ? r->flat : r->cum;
    if (r->moved) return "→";
    switch (v) {
    case DIFF_GREW: return "▲";
    case DIFF_SHRANK: return "▼";
    case DIFF_UNTESTED: return "≠";
    case DIFF_NOISE: break;
    }
    return " ";
}

static str name_of(const diff *d, const diff_row *r)
{
    return r->frame == NO_FRAME ? STR("total") : frame_label(d->frames, r->frame);
}

static void put_row(comparison *x, const diff_row *r, size_t width)
{
    buf *b = &x->q.c->out;
    size_t left = width < NARROW ? LEFT_CHANGE : width < WIDE ? LEFT_CUM : LEFT;
    if (width >= WIDE) put_part(x, r->before.flat, r->after.flat, r->flat, true);
    put_part(x, r->before.cum, r->after.cum, r->cum, width >= NARROW);
    buf_printf(b, " %s ", sign_of(r));
    text_clipped(b, name_of(&x->d, r), width == SIZE_MAX ? SIZE_MAX : width - left);
    buf_putc(b, '\n');
}

static void put_side(buf *b, const compared *s)
{
    buf_z(b, input_name(s->path[0]));
    if (s->n > 1) buf_printf(b, " and %zu more", s->n - 1);
}

/* Prints both sides, the divisor, and the verdict about the total. */
static void put_head(comparison *x)
{
    buf *b = &x->q.c->out;
    bool color = x->q.c->term.color;
    put_side(b, &x->before);
    buf_z(b, " -> ");
    put_side(b, &x->after);
    buf_z(b, ", ");
    buf_z(b, paint_on(color, PAINT_BOLD));
    verdict_sentence(b, &x->d, &x->per, x->q.v.type, x->q.v.unit);
    buf_z(b, paint_on(color, PAINT_OFF));
    buf_putc(b, '\n');
}

static void put_counts(comparison *x)
{
    buf *b = &x->q.c->out;
    const diff *d = &x->d;
    buf_printf(b, "%zu of %zu frames changed, %zu grew", d->n_changed, d->n, d->n_grew);
    if (d->n_moved) buf_printf(b, ", %zu moved (→ inlined or renamed)", d->n_moved);
    buf_printf(b, "; at most %g %% of them by chance\n", d->fdr * 100);
}

/* Formats the smallest detectable growth of a frame with this share. */
static const char *detectable_text(const diff *d, double share, char out[VERDICT_PERCENT])
{
    double growth = diff_detectable(d, share);
    if (growth < 100) return verdict_percent(growth, false, out);
    snprintf(out, VERDICT_PERCENT, "more than 100 times");
    return out;
}

static void put_foot(comparison *x)
{
    buf *b = &x->q.c->out;
    const diff *d = &x->d;
    char all[VERDICT_PERCENT], some[VERDICT_PERCENT], few[VERDICT_PERCENT];
    if (d->untested) {
        buf_printf(b, "%zu of %zu frames differ\n", d->n_changed, d->n);
        return;
    }
    put_counts(x);
    verdict_noise(b, d);
    buf_z(b, d->measured ? "\n"
                         : " (--spread);\n  several recordings per side measure it: --before A... "
                           "--after B...\n");
    buf_printf(
        b,
        "detectable with 80 %% power: growth of the total by %s, of a frame at 10 %% by %s, at 1 "
        "%% by %s\n",
        detectable_text(d, 1, all), detectable_text(d, 0.1, some), detectable_text(d, 0.01, few));
}

static void put_got(comparison *x, const gated *g, double v)
{
    buf *b = &x->q.c->out;
    char text[HUMAN_MAX], percent[VERDICT_PERCENT];
    if (g->g.kind == GATE_VALUE)
        buf_z(b, amount_text(x, v, text));
    else
        buf_z(b, verdict_percent(v, g->g.kind == GATE_GROWTH, percent));
}

static void put_gate(comparison *x, const gated *g)
{
    buf *b = &x->q.c->out;
    bool color = x->q.c->term.color;
    char smallest[VERDICT_PERCENT];
    buf_printf(b, "gate %.*s: ", STR_ARG(g->g.text));
    if (g->r.missing)
        buf_z(b, "matches no frame on either side");
    else
        put_got(x, g, g->r.got);
    if (g->r.known && !g->r.missing) {
        buf_z(b, " (95 % interval: ");
        put_got(x, g, g->r.low);
        buf_z(b, " to ");
        put_got(x, g, g->r.high);
        buf_putc(b, ')');
    }
    buf_printf(b, ", %s%s%s", paint_on(color, g->r.passed ? PAINT_GREEN : PAINT_RED),
               g->r.passed ? "passed" : "FAILED", paint_on(color, PAINT_OFF));
    if (isfinite(g->r.smallest) && g->g.kind == GATE_GROWTH)
        buf_printf(b, "; smallest detectable growth: %s",
                   verdict_percent(g->r.smallest, false, smallest));
    buf_putc(b, '\n');
}

/* ---- selecting rows ---- */

static bool is_small(const diff *d, const diff_row *r, double fraction)
{
    return fabs((double)r->before.cum) < fraction * fabs((double)d->sum_before) &&
           fabs((double)r->after.cum) < fraction * fabs((double)d->sum_after);
}

/* The rows to print: without those below --nodefraction on both sides and those beyond
 * --nodecount. */
typedef struct shown {
    const diff_row **v;
    size_t n, n_small, n_more;
} shown;

static shown choose_rows(comparison *x)
{
    const diff *d = &x->d;
    flat_opts o = cli_flat_opts(x->q.c, 0);
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

static void put_columns(buf *b, size_t width)
{
    const char *sides = "   before     after    change";
    if (width >= WIDE)
        buf_printf(b, "%9s%29s\n%s%s\n", "self", "cum", sides, sides);
    else if (width >= NARROW)
        buf_printf(b, "%9s\n%s\n", "cum", sides);
    else
        buf_printf(b, "%10s\n", "cum change");
}

void diff_text(comparison *x)
{
    buf *b = &x->q.c->out;
    shown s = choose_rows(x);
    put_head(x);
    put_columns(b, cli_width(x->q.c));
    put_row(x, &x->d.total, cli_width(x->q.c));
    for (size_t i = 0; i < s.n; i++) put_row(x, s.v[i], cli_width(x->q.c));
    if (s.n_more) buf_printf(b, "%zu more (--nodecount)\n", s.n_more);
    if (s.n_small) buf_printf(b, "%zu small frames omitted (--nodefraction)\n", s.n_small);
    put_foot(x);
    for (size_t i = 0; i < x->n_gates; i++) put_gate(x, &x->gates[i]);
}

/* ---- JSON ---- */

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

static void put_verdict(const diff *d, json_out *o, const char *key, int64_t before, int64_t after,
                        double change, double q, diff_verdict v)
{
    json_put_key(o, str_of(key));
    json_put_object(o);
    put_number(o, "before", diff_before(d, before));
    put_number(o, "after", diff_after(d, after));
    put_number(o, "change", change);
    put_number(o, "q", q);
    put_text(o, "verdict", str_of(verdict_name(v)));
    json_put_object_end(o);
}

static void put_flag(json_out *o, const char *key, bool v)
{
    json_put_key(o, str_of(key));
    json_put_bool(o, v);
}

static void put_row_json(comparison *x, json_out *o, const diff_row *r)
{
    o->flat_at = o->depth + 1; /* one line per row */
    json_put_object(o);
    put_verdict(&x->d, o, "flat", r->before.flat, r->after.flat, r->flat_change, r->flat_q,
                r->flat);
    put_verdict(&x->d, o, "cum", r->before.cum, r->after.cum, r->cum_change, r->cum_q, r->cum);
    if (r->moved) put_flag(o, "moved", true);
    if (r->frame == NO_FRAME) {
        put_flag(o, "total", true);
        put_text(o, "name", STR("total"));
    } else {
        frame_json(o, x->d.frames, r->frame);
    }
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
    put_number(o, "low", g->r.known ? g->r.low : NAN);
    put_number(o, "high", g->r.known ? g->r.high : NAN);
    put_number(o, "limit", g->r.limit);
    put_number(o, "share", g->r.share);
    put_number(o, "smallest_visible_growth", g->r.smallest);
    put_flag(o, "missing", g->r.missing);
    put_flag(o, "passed", g->r.passed);
    json_put_object_end(o);
}

static void put_paths(json_out *o, const char *key, const compared *s)
{
    json_put_key(o, str_of(key));
    json_put_array_flat(o);
    for (size_t i = 0; i < s->n; i++) input_path_json(o, s->path[i]);
    json_put_array_end(o);
}

static void put_sentence(comparison *x, json_out *o)
{
    buf b = {0};
    verdict_sentence(&b, &x->d, &x->per, x->q.v.type, x->q.v.unit);
    put_text(o, "sentence", buf_view(&b));
    buf_free(&b);
}

static void put_summary(comparison *x, json_out *o)
{
    const diff *d = &x->d;
    diff_growth g = diff_growth_of(d, (double)d->sum_before, (double)d->sum_after);
    put_text(o, "mode", STR("cost"));
    put_text(o, "per", x->per.text);
    put_number(o, "per_before", d->per_before);
    put_number(o, "per_after", d->per_after);
    put_integer(o, "sum_before", d->sum_before);
    put_integer(o, "sum_after", d->sum_after);
    put_number(o, "growth", g.v);
    put_number(o, "growth_low", g.known ? g.low : NAN);
    put_number(o, "growth_high", g.known ? g.high : NAN);
    put_flag(o, "uniform", d->uniform);
    put_number(o, "samples_before", d->samples_before);
    put_number(o, "samples_after", d->samples_after);
    put_number(o, "false_discovery_rate", d->fdr);
    put_flag(o, "spread_measured", d->measured);
    put_number(o, "spread", d->measured ? d->run_spread : d->spread);
    put_number(o, "smallest_visible_growth", diff_detectable(d, 1));
    put_integer(o, "tests", (int64_t)d->n_tests);
    put_integer(o, "changed", (int64_t)d->n_changed);
    put_integer(o, "grew", (int64_t)d->n_grew);
    put_integer(o, "moved", (int64_t)d->n_moved);
    put_flag(o, "regressed", diff_regressed(d));
    if (d->untested) put_text(o, "untested", str_of(d->untested));
}

void diff_json(comparison *x)
{
    json_out o = {.b = &x->q.c->out, .pretty = true};
    json_put_object(&o);
    query_header_json(&x->q, &o);
    json_put_key(&o, STR("base"));
    input_path_json(&o, x->before.path[0]);
    put_paths(&o, "before", &x->before);
    put_paths(&o, "after", &x->after);
    put_sentence(x, &o);
    put_summary(x, &o);
    json_put_key(&o, STR("rows"));
    json_put_array(&o);
    shown s = choose_rows(x);
    put_row_json(x, &o, &x->d.total);
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
