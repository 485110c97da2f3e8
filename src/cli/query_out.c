/* Prints header, values, percentages and frames in the form that all commands with a selection
 * share. */
#include "cli/query.h"

#include "draw/text.h"
#include "query/unit.h"
#include "wire/anchor.h"
#include "wire/json.h"

#include "base/ban.h"
#include <math.h>

const char *query_value(const query *q, int64_t v, char out[HUMAN_MAX])
{
    if (!v) return snprintf(out, HUMAN_MAX, "0"), out;
    if (!q->c->o.unit) {
        bool counts = q->v.unit.n && q->v.unit.p[0] == '{'; /* UCUM: {samples} */
        return human_value(v, counts ? STR("count") : q->v.unit, out);
    }
    str name;
    double x = unit_scale(v, q->v.unit, str_of(q->c->o.unit), &name);
    int n = snprintf(out, HUMAN_MAX, "%.2f", x);
    if (n > 3 && !strcmp(out + n - 3, ".00")) n -= 3;
    snprintf(out + n, HUMAN_MAX - (size_t)n, "%.*s", STR_ARG(name));
    return out;
}

const char *percent_text(int64_t v, int64_t whole, char out[HUMAN_MAX])
{
    double x = whole ? fabs((double)v / (double)whole) * 100 : 0;
    if (x >= 99.95 && x <= 100.05)
        snprintf(out, HUMAN_MAX, "  100%%");
    else
        snprintf(out, HUMAN_MAX, x >= 1 ? "%5.2f%%" : "%5.2g%%", x);
    return out;
}

human_clock profile_clock(const model *m, const profile *p)
{
    return (human_clock){.undated = profile_is_undated(m, p), .base = p->time_unix_nano};
}

human_clock query_clock(const query *q, uint64_t base)
{
    human_clock all = {.undated = q->v.parts.n > 0, .base = base};
    for (size_t i = 0; i < q->v.parts.n; i++)
        all.undated &= profile_is_undated(q->v.parts.v[i].m, q->v.parts.v[i].p);
    return all;
}

size_t cli_width(const cli *c)
{
    if (c->o.width.given && c->o.width.n) return c->o.width.n < 40 ? 40 : c->o.width.n;
    return c->term.tty ? c->term.width : SIZE_MAX;
}

/* ---- header ---- */

static void put_type(buf *b, str type, str unit)
{
    text_clipped(b, type.n ? type : STR("values"), 40);
    if (unit.n) {
        buf_z(b, " in ");
        text_clipped(b, unit, 30);
    }
}

/* Prints other types of the input, and other profiles of the shown type. */
static void put_others(const query *q, buf *b)
{
    const model *m = &q->in[0].doc.model;
    if (q->n_in > 1) return;
    if (q->v.parts.n > 1 && !q->in[0].stored && !q->c->o.all)
        buf_printf(b,
                   "sum of %zu profiles of this type (--sample-type NUMBER or --profile-id selects "
                   "one)\n",
                   q->v.parts.n);
    if (m->profiles.n <= q->v.parts.n) return;
    size_t same = 0, listed = 0, more = 0;
    buf list = {0};
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        str type = dict_str(&m->dict, p->sample_type.type),
            unit = dict_str(&m->dict, p->sample_type.unit);
        bool shown = str_eq(type, q->v.type) && str_eq(unit, q->v.unit), again = false;
        same += shown;
        for (size_t k = 0; k < i && k < 256 && !again; k++)
            again = m->profiles.v[k].sample_type.type == p->sample_type.type &&
                    m->profiles.v[k].sample_type.unit == p->sample_type.unit;
        if (shown || again) continue;
        if (listed++ >= 6) {
            more++;
            continue;
        }
        if (list.n) buf_z(&list, ", ");
        put_type(&list, type, unit);
    }
    if (more) buf_printf(&list, ", %zu more", more);
    if (list.n) {
        buf_z(b, "other types: ");
        buf_str(b, buf_view(&list));
        buf_z(b, " (--sample-type)\n");
    }
    if (same > q->v.parts.n)
        buf_printf(b, "%zu more profile%s of this type (--all adds them up)\n", same - q->v.parts.n,
                   same - q->v.parts.n == 1 ? "" : "s");
    buf_free(&list);
}

/* Returns whether the total is the number of observations, which is then printed only once. */
static bool counts_observations(const query *q)
{
    return unit_counts(q->v.unit) && q->v.total >= 0 && (uint64_t)q->v.total == q->v.n_observations;
}

void query_header(query *q, buf *b)
{
    char total[HUMAN_MAX], sum[HUMAN_MAX], n[HUMAN_MAX];
    bool color = q->c->term.color;
    buf_z(b, paint_on(color, PAINT_DIM));
    if (q->n_in == 1)
        text_clipped(b, str_of(input_name(q->in[0].path)), 120);
    else
        buf_printf(b, "%zu files", q->n_in);
    buf_z(b, ": ");
    put_type(b, q->v.type, q->v.unit);
    char observed[2 * HUMAN_MAX];
    human_observed(q->v.n_observations, q->v.n_samples, observed);
    if (counts_observations(q))
        buf_printf(b, ", %s", observed);
    else
        buf_printf(b, ", %s in %s", query_value(q, q->v.total, total), observed);
    if (q->v.sum != q->v.total)
        buf_printf(b, "; selected: %s, %s", query_value(q, q->v.sum, sum),
                   percent_text(q->v.sum, q->v.total, n) + strspn(n, " "));
    buf_putc(b, '\n');
    if (!q->brief) put_others(q, b);
    if (q->v.saturated) buf_z(b, "sums exceed 64 bits and are capped\n");
    buf_z(b, paint_on(color, PAINT_OFF));
}

static void put_pair(json_out *o, const char *key, str value)
{
    json_put_key(o, str_of(key));
    json_put_str(o, value);
}

void query_header_json(query *q, json_out *o)
{
    json_put_key(o, STR("schema"));
    json_put_i64(o, q->schema ? q->schema : 1);
    json_put_key(o, STR("inputs"));
    json_put_array_flat(o);
    for (size_t i = 0; i < q->n_in; i++) input_path_json(o, q->in[i].path);
    json_put_array_end(o);
    put_pair(o, "sample_type", q->v.type);
    put_pair(o, "unit", q->v.unit);
    json_put_key(o, STR("profiles"));
    json_put_u64(o, q->v.parts.n);
    json_put_key(o, STR("samples"));
    json_put_u64(o, q->v.n_samples);
    json_put_key(o, STR("observations"));
    json_put_u64(o, q->v.n_observations);
    json_put_key(o, STR("total"));
    json_put_i64(o, q->v.total);
    json_put_key(o, STR("selected"));
    json_put_i64(o, q->v.sum);
    put_pair(o, "granularity", str_of(granularity_name(q->by)));
}

void frame_json(json_out *o, const frame_table *f, uint32_t i)
{
    const frame *x = &f->v.v[i];
    char hex[24];
    put_pair(o, "name", x->label);
    if (x->file && !(x->flags & FRAME_TAG)) put_pair(o, "file", frame_text(f, x->file));
    if (x->line) {
        json_put_key(o, STR("line"));
        json_put_i64(o, x->line);
    }
    if (x->mapping) put_pair(o, "mapping", frame_text(f, x->mapping));
    if (x->address) {
        snprintf(hex, sizeof hex, "0x%llx", (unsigned long long)x->address);
        put_pair(o, "address", str_of(hex));
    }
    if (x->flags & FRAME_INLINED)
        put_pair(o, "inlined", x->flags & FRAME_CALLED ? STR("partly") : STR("always"));
}
