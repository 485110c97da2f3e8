/* Writes call graphs for Graphviz: a box for each function, an arrow for each call. */
#include "draw/dot.h"

#include "draw/human.h"
#include "base/ban.h"
#include <inttypes.h>

static void put_text(buf *b, str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '"' || s.p[i] == '\\') buf_putc(b, '\\');
        buf_putc(b, s.p[i] == '\n' ? ' ' : s.p[i]);
    }
}

static double percent(int64_t part, int64_t of)
{
    return of ? 100.0 * (double)part / (double)of : 0;
}

bool dot_put(const view *v, size_t nodes, arena *a, buf *b, err *e)
{
    flat f;
    edges calls;
    const flat_opts o = {.by_cum = true, .node_count = nodes ? nodes : DOT_NODES};
    if (!v->rows.n) return true;
    if (!flat_of(v, &o, a, &f, e) || !edges_of(v, &f, &o, a, &calls, e)) return false;
    buf_z(b, "digraph \"");
    put_text(b, v->type);
    buf_z(b, "\" {\nnode [shape=box fontname=\"sans-serif\"]\n");
    for (size_t i = 0; i < f.n; i++) {
        const flat_row *r = &f.v[i];
        buf_printf(b, "N%" PRIu32 " [label=\"", r->frame);
        put_text(b, frame_label(v->frames, r->frame));
        buf_printf(b, "\\n%" PRId64 " (%.2f%%) of %" PRId64 " (%.2f%%)\"]\n", r->flat,
                   percent(r->flat, v->sum), r->cum, percent(r->cum, v->sum));
    }
    for (size_t i = 0; i < calls.n; i++)
        buf_printf(b, "N%" PRIu32 " -> N%" PRIu32 " [label=\" %" PRId64 "\"]\n", calls.v[i].from,
                   calls.v[i].to, calls.v[i].value);
    buf_z(b, "}\n");
    return !b->failed || err_memory(e);
}
