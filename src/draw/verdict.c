/* The sentences about a comparison, for `kiln diff` and the page of the server. */
#include "draw/verdict.h"

#include "draw/human.h"
#include "draw/text.h"

#include "base/ban.h"
#include <math.h>

enum { NAME_COLUMNS = 60 };

const char *verdict_percent(double part, bool sign, char out[VERDICT_PERCENT])
{
    double x = 100 * part, size = fabs(x);
    if (size < 0.005) x = size = 0; /* the rest of a subtraction, such as -1.1e-14 */
    if (!isfinite(part))
        snprintf(out, VERDICT_PERCENT, "new");
    else
        snprintf(out, VERDICT_PERCENT,
                 size < 9.95 ? sign ? "%+.2g %%" : "%.2g %%"
                 : sign      ? "%+.0f %%"
                             : "%.0f %%",
                 x);
    return out;
}

static void put_numbers(buf *b, const per *p)
{
    if (p->n == 2)
        buf_printf(b, " per unit (%g before, %g after)", p->numbers[0], p->numbers[1]);
    else
        buf_printf(b, " per unit (%zu numbers)", p->n);
}

static void put_per(buf *b, const per *p)
{
    switch (p->kind) {
    case PER_RUN: buf_z(b, " per run"); return;
    case PER_SECOND: buf_z(b, " per second"); return;
    case PER_NUMBERS: put_numbers(b, p); return;
    case PER_ATTRIBUTE: buf_z(b, " per "); break;
    case PER_FRAME: buf_z(b, " calibrated by "); break;
    }
    text_clipped(b, p->what, NAME_COLUMNS);
}

static void put_interval(buf *b, const diff_growth *g)
{
    char low[VERDICT_PERCENT], high[VERDICT_PERCENT];
    if (g->known)
        buf_printf(b, "95 %% interval: %s to %s", verdict_percent(g->low, true, low),
                   verdict_percent(g->high, true, high));
}

/* Appends "parse (+200 ms)". */
static void put_frame(buf *b, const diff *d, str unit)
{
    char value[HUMAN_MAX];
    double change = 0;
    for (size_t i = 0; i < d->n_changed; i++)
        if (d->v[i].frame == d->most) change = d->v[i].flat_change;
    text_clipped(b, frame_label(d->frames, d->most), NAME_COLUMNS);
    buf_printf(b, " (%s%s)", change < 0 ? "-" : "+", human_amount(fabs(change), unit, value));
}

static void put_changed(buf *b, const diff *d, const diff_growth *g, str unit)
{
    char part[VERDICT_PERCENT];
    if (isfinite(g->v))
        buf_printf(b, "total %s by %s (", g->v < 0 ? "shrank" : "grew",
                   verdict_percent(fabs(g->v), false, part));
    else
        buf_z(b, "total grew from nothing (");
    put_interval(b, g);
    buf_putc(b, ')');
    if (d->uniform)
        buf_z(b, ", uniformly");
    else if (d->most != NO_FRAME)
        buf_z(b, ", most of it in "), put_frame(b, d, unit);
}

static void put_unchanged(buf *b, const diff *d, const diff_growth *g, str unit)
{
    char part[VERDICT_PERCENT];
    buf_printf(b, "total did not change beyond noise (%s, ", verdict_percent(g->v, true, part));
    put_interval(b, g);
    buf_putc(b, ')');
    if (!d->n_grew) return;
    buf_printf(b, "; %zu frame%s grew", d->n_grew, d->n_grew == 1 ? "" : "s");
    if (d->most != NO_FRAME) buf_z(b, ", most of it in "), put_frame(b, d, unit);
}

void verdict_sentence(buf *b, const diff *d, const per *p, str type, str unit)
{
    char part[VERDICT_PERCENT];
    diff_growth g = diff_growth_of(d, (double)d->sum_before, (double)d->sum_after);
    text_clipped(b, type.n ? type : STR("values"), NAME_COLUMNS);
    put_per(b, p);
    buf_z(b, ": ");
    if (d->untested)
        buf_printf(b, "total %s, not tested: %s", verdict_percent(g.v, true, part), d->untested);
    else if (d->total.cum == DIFF_NOISE)
        put_unchanged(b, d, &g, unit);
    else
        put_changed(b, d, &g, unit);
}

void verdict_noise(buf *b, const diff *d)
{
    char spread[VERDICT_PERCENT];
    size_t runs = d->runs_before + d->runs_after;
    buf_z(b, "noise floor: ");
    if (d->measured) {
        buf_printf(b,
                   "the total differs by %s between runs of one side (standard deviation; %zu and "
                   "%zu recordings)",
                   verdict_percent(d->run_spread, false, spread), d->runs_before, d->runs_after);
        return;
    }
    if (runs == 2)
        buf_z(b, "one recording per side does not");
    else
        buf_printf(b, "%zu recordings do not", runs);
    buf_printf(b, " show how much runs differ; a standard deviation of %s is assumed",
               verdict_percent(d->spread, false, spread));
}
