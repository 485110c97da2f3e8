/* The flame chart: neighbouring observations of a lane share the boxes of common frames. Open boxes
 * are a stack by depth; an observation closes those that differ and opens new ones.
 *
 * The distance of neighbours does not tell how long a sample of CPU time lasts: a thread that uses
 * little of it has few of them. Its length is the period. ui/src/model/chart.ts has the same rule.
 */
#include "query/timeline.h"

#include "query/extent.h"
#include "query/internal.h"

#include "base/ban.h"

typedef struct charting {
    const view *v;
    arena *a;
    chart *out;
    uint32_t *stack; /* frames of the event, root first */
    size_t *open;    /* open boxes, by depth */
    uint32_t n_open;
} charting;

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Sets *gap to twice the median distance of neighbouring events: the interval of the sampler, with
 * tolerance for a late sample. */
static bool usual_gap(const thread_lanes *l, arena *a, uint64_t *gap, err *e)
{
    uint64_t *all = arena_new(a, uint64_t, l->events.n + 1);
    size_t n = 0;
    if (!all) return err_memory(e);
    for (size_t k = 0; k < l->v.n; k++)
        for (size_t i = 1; i < l->v.v[k].n; i++) {
            const lane_event *x = &l->events.v[l->v.v[k].first + i];
            if (x->time > x[-1].time) all[n++] = x->time - x[-1].time;
        }
    if (n) qsort(all, n, sizeof *all, by_size);
    *gap = n ? (all[n / 2] > UINT64_MAX / 2 ? UINT64_MAX : all[n / 2] * 2) : 1000000;
    return true;
}

static void close_from(charting *x, uint32_t depth, uint64_t end)
{
    for (uint32_t i = depth; i < x->n_open; i++) {
        chart_box *b = &x->out->v.v[x->open[i]];
        if (b->end > end) b->end = end;
    }
    if (depth < x->n_open) x->n_open = depth;
}

static bool add_event(charting *x, uint32_t lane, const lane_event *event, uint64_t end, err *e)
{
    const view_part *p = &x->v->parts.v[event->part];
    uint32_t n = view_frames(x->v, p, &x->v->rows.v[event->row], x->stack), same = 0;
    bool saturated = false;
    if (!stopper_step(x->v->stop, 1 + n, e)) return false;
    for (uint32_t i = 0, k = n; i + 1 < k; i++) {
        uint32_t t = x->stack[i];
        x->stack[i] = x->stack[--k];
        x->stack[k] = t;
    }
    while (same < n && same < x->n_open) {
        const chart_box *b = &x->out->v.v[x->open[same]];
        if (b->frame != x->stack[same] || b->end < event->time) break;
        same++;
    }
    close_from(x, same, event->time);
    for (uint32_t i = 0; i < n; i++) {
        if (i >= same) {
            chart_box *b = vec_push(x->a, &x->out->v);
            if (!b) return err_memory(e);
            *b = (chart_box){.start = event->time, .frame = x->stack[i], .depth = i, .lane = lane};
            x->open[i] = x->out->v.n - 1;
        }
        chart_box *b = &x->out->v.v[x->open[i]];
        b->end = end > b->end ? end : b->end;
        b->value = add_clamped(b->value, event->value, &saturated);
    }
    x->n_open = n;
    if (n > x->out->max_depth) x->out->max_depth = n;
    return true;
}

/* How long an observation without a duration lasts. */
typedef struct lasting {
    uint64_t gap;   /* until the next one, if that is at most this far away */
    uint64_t alone; /* otherwise */
} lasting;

/* CPU_PERIODS: a busy thread has a sample every period, and a late one now and then. */
enum { CPU_PERIODS = 2 };

/* Sets out[i] for each part of the view. A gap of 0 is chosen for each part. */
static bool lasting_of(const view *v, const thread_lanes *l, uint64_t gap, arena *a, lasting **out,
                       err *e)
{
    uint64_t usual = gap;
    *out = arena_new(a, lasting, v->parts.n + 1);
    if (!*out) return err_memory(e);
    if (!gap && !usual_gap(l, a, &usual, e)) return false;
    for (size_t i = 0; i < v->parts.n; i++) {
        const view_part *p = &v->parts.v[i];
        extent x = extent_of(p->m, p->p);
        bool cpu = x.kind == EXTENT_BEFORE && x.most < UINT64_MAX / CPU_PERIODS &&
                   str_eq(dict_str(&p->m->dict, p->p->sample_type.type), STR("cpu"));
        (*out)[i] = cpu && !gap ? (lasting){x.most * CPU_PERIODS, x.most} : (lasting){usual, usual};
    }
    return true;
}

static uint64_t end_of(const lane_event *event, const lane_event *next, const lasting *x)
{
    uint64_t end;
    bool joined = next && !event->duration && next->time - event->time <= x->gap;
    if (joined) return next->time;
    if (ckd_add(&end, event->time, event->duration ? event->duration : x->alone)) end = UINT64_MAX;
    return end;
}

bool chart_of(const view *v, const thread_lanes *l, uint64_t gap, arena *a, chart *out, err *e)
{
    *out = (chart){0};
    charting x = {.v = v, .a = a, .out = out, .stack = view_scratch(v, e)};
    x.open = arena_new(a, size_t, (size_t)v->max_depth + 1);
    if (!x.stack || !x.open) return err_memory(e);
    lasting *lasts;
    if (!lasting_of(v, l, gap, a, &lasts, e)) return false;
    for (uint32_t k = 0; k < l->v.n; k++) {
        const thread_lane *lane = &l->v.v[k];
        x.n_open = 0;
        for (size_t i = 0; i < lane->n; i++) {
            const lane_event *event = &l->events.v[lane->first + i];
            uint64_t end = end_of(event, i + 1 < lane->n ? event + 1 : NULL, &lasts[event->part]);
            if (!add_event(&x, k, event, end, e)) return false;
        }
    }
    return true;
}
