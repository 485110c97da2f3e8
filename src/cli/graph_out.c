/* Prints the blocks of `kiln tree` and `kiln peek`, a frame between its callers and its callees, as
 * text and JSON. */
#include "cli/graph_out.h"

#include "draw/text.h"
#include "wire/json.h"

#include "base/ban.h"

/* Columns before a name, normally and on narrow terminals; NARROW is the width below which only cum
 * is shown. */
enum { LEFT = 63, LEFT_NARROW = 21, NARROW = 80 };

static bool is_narrow(const query *q) { return cli_width(q->c) < NARROW; }

static void put_name(query *q, str label, size_t indent, const char *mark)
{
    size_t width = cli_width(q->c), used = indent + strlen(mark);
    used += is_narrow(q) ? LEFT_NARROW : LEFT;
    text_clipped(&q->c->out, label, width == SIZE_MAX ? SIZE_MAX : width - used);
}

static void put_edge(query *q, const flat *f, const edge *e, uint32_t other, int64_t cum)
{
    buf *b = &q->c->out;
    char value[HUMAN_MAX], percent[HUMAN_MAX];
    const char *mark = e->inlined && !is_narrow(q) ? " (inlined)" : "";
    buf_printf(b, "%*s %s |   ", is_narrow(q) ? 11 : 52, query_value(q, e->value, value),
               percent_text(e->value, cum, percent));
    put_name(q, frame_label(f->frames, other), 2, mark);
    buf_printf(b, "%s\n", mark);
}

static void put_rule(const query *q, buf *b)
{
    text_repeat(b, "-", is_narrow(q) ? 19 : 60);
    buf_z(b, "+-------------\n");
}

static void put_numbers(query *q, const flat_row *r, int64_t sum)
{
    buf *b = &q->c->out;
    char v1[HUMAN_MAX], v2[HUMAN_MAX], p1[HUMAN_MAX], p2[HUMAN_MAX], p3[HUMAN_MAX];
    query_value(q, r->cum, v2), percent_text(r->cum, q->v.total, p3);
    if (is_narrow(q))
        buf_printf(b, "%11s %s | ", v2, p3);
    else
        buf_printf(b, "%11s %s %s %11s %s                | ", query_value(q, r->flat, v1),
                   percent_text(r->flat, q->v.total, p1), percent_text(sum, q->v.total, p2), v2,
                   p3);
}

static void put_block(query *q, const flat *f, const edges *g, size_t row, int64_t sum)
{
    buf *b = &q->c->out;
    const flat_row *r = &f->v[row];
    put_rule(q, b);
    for (uint32_t i = g->first_in[row]; i < g->first_in[row + 1]; i++)
        put_edge(q, f, &g->v[g->in[i]], g->v[g->in[i]].from, r->cum);
    put_numbers(q, r, sum);
    buf_z(b, paint_on(q->c->term.color, PAINT_BOLD));
    put_name(q, frame_label(f->frames, r->frame), 0, "");
    buf_printf(b, "%s\n", paint_on(q->c->term.color, PAINT_OFF));
    for (uint32_t i = g->first_out[row]; i < g->first_out[row + 1]; i++)
        put_edge(q, f, &g->v[i], g->v[i].to, r->cum);
}

void graph_text(query *q, const flat *f, const edges *g, const bool *shown)
{
    buf *b = &q->c->out;
    char cut[HUMAN_MAX];
    query_header(q, b);
    if (f->n_dropped || f->n < f->n_all)
        buf_printf(b,
                   "showing %zu of %zu frames; frames below %s are omitted (--nodefraction, "
                   "--nodecount)\n",
                   f->n, f->n_all + f->n_dropped, query_value(q, f->cutoff, cut));
    put_rule(q, b);
    if (is_narrow(q))
        buf_printf(b, "%11s %5s%% | %s\n", "cum", "cum", "context");
    else
        buf_printf(b, "%11s %5s%% %5s%% %11s %5s%% %8s %6s + %s\n", "flat", "flat", "sum", "cum",
                   "cum", "calls", "calls%", "context");
    int64_t sum = 0;
    for (size_t i = 0; i < f->n; i++) {
        if (shown && !shown[i]) continue;
        sum = add_saturating(sum, f->v[i].flat, NULL);
        put_block(q, f, g, i, sum);
    }
    if (f->n) put_rule(q, b);
}

/* ---- JSON ---- */

static void edge_json(json_out *o, const flat *f, const edge *e, uint32_t other)
{
    json_put_object(o);
    json_put_key(o, STR("name"));
    json_put_str(o, frame_label(f->frames, other));
    json_put_key(o, STR("value"));
    json_put_i64(o, e->value);
    if (e->inlined) {
        json_put_key(o, STR("inlined"));
        json_put_bool(o, true);
    }
    if (e->residual) {
        json_put_key(o, STR("residual"));
        json_put_bool(o, true);
    }
    json_put_object_end(o);
}

static void block_json(json_out *o, const flat *f, const edges *g, size_t row)
{
    o->flat_at = o->depth + 1;
    json_put_object(o);
    json_put_key(o, STR("flat"));
    json_put_i64(o, f->v[row].flat);
    json_put_key(o, STR("cum"));
    json_put_i64(o, f->v[row].cum);
    frame_json(o, f->frames, f->v[row].frame);
    json_put_key(o, STR("callers"));
    json_put_array(o);
    for (uint32_t i = g->first_in[row]; i < g->first_in[row + 1]; i++)
        edge_json(o, f, &g->v[g->in[i]], g->v[g->in[i]].from);
    json_put_array_end(o);
    json_put_key(o, STR("callees"));
    json_put_array(o);
    for (uint32_t i = g->first_out[row]; i < g->first_out[row + 1]; i++)
        edge_json(o, f, &g->v[i], g->v[i].to);
    json_put_array_end(o);
    json_put_object_end(o);
}

void graph_json(query *q, const flat *f, const edges *g, const bool *shown)
{
    json_out o = {.b = &q->c->out, .pretty = true};
    json_put_object(&o);
    query_header_json(q, &o);
    json_put_key(&o, STR("dropped"));
    json_put_u64(&o, f->n_dropped);
    json_put_key(&o, STR("rows"));
    json_put_array(&o);
    for (size_t i = 0; i < f->n; i++)
        if (!shown || shown[i]) block_json(&o, f, g, i);
    json_put_array_end(&o);
    json_put_object_end(&o);
    buf_putc(&q->c->out, '\n');
}
