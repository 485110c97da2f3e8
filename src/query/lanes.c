/* Lanes: the observations of each thread in order of time.  Events are collected in the order of
 * the samples, then sorted by lane and time. */
#include "query/timeline.h"

#include "query/extent.h"
#include "query/internal.h"

#include "base/ban.h"

typedef struct laying {
    const view *v;
    arena *a;
    thread_lanes *out;
    u32s thread_of; /* by event: its thread */
} laying;

static bool add_row(laying *x, uint32_t part, uint32_t row, const extent *length, err *e)
{
    const view_part *p = &x->v->parts.v[part];
    sample s = sample_at(p->m, p->p, x->v->rows.v[row].sample);
    uint32_t thread = 0, state = 0;
    bool known = false;
    if (!stopper_step(x->v->stop, 1 + s.n_times, e)) return false;
    for (uint32_t i = 0; i < s.n_times; i++) {
        if (!view_has_time(p, s.times[i])) continue;
        if (!known && !thread_table_find(&x->out->threads, p->m, p->p, &s, &thread, &state, e))
            return false;
        known = true;
        int64_t value = view_observation(p, &s, i);
        uint64_t start = 0, end = 0;
        if (length->kind == EXTENT_AFTER) extent_at(length, &s, i, &start, &end);
        lane_event *event = vec_push(x->a, &x->out->events);
        uint32_t *of = event ? vec_push(x->a, &x->thread_of) : NULL;
        if (!of) return err_memory(e);
        *event = (lane_event){.time = s.times[i],
                              .value = value,
                              .part = part,
                              .row = row,
                              .state = state,
                              .duration = end - start};
        *of = thread;
    }
    return true;
}

/* ---- order ---- */

static int lane_order(const void *a, const void *b)
{
    const thread_lane *x = a, *y = b;
    return thread_key_cmp(&x->thread, &y->thread);
}

static int time_order(const void *a, const void *b)
{
    const lane_event *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Creates one lane per thread, in order. Sets (*place)[i] to the lane of thread i. */
static bool make_lanes(laying *x, uint32_t **place, err *e)
{
    thread_lanes *o = x->out;
    size_t n = o->threads.v.n;
    if (!vec_reserve(x->a, &o->v, n) || !(*place = arena_new(x->a, uint32_t, n + 1)))
        return err_memory(e);
    for (size_t i = 0; i < n; i++)
        o->v.v[i] = (thread_lane){.thread = o->threads.v.v[i], .first = i};
    o->v.n = n;
    qsort(o->v.v, n, sizeof *o->v.v, lane_order);
    for (uint32_t i = 0; i < n; i++) (*place)[o->v.v[i].first] = i;
    return true;
}

/* Sorts lanes by name and events by lane and time. */
static bool arrange(laying *x, err *e)
{
    thread_lanes *o = x->out;
    uint32_t *place;
    lane_event *events = arena_new(x->a, lane_event, o->events.n + 1);
    if (!events) return err_memory(e);
    if (!make_lanes(x, &place, e)) return false;
    for (size_t i = 0; i < o->events.n; i++) o->v.v[place[x->thread_of.v[i]]].n++;
    size_t first = 0;
    for (size_t i = 0; i < o->v.n; i++) {
        o->v.v[i].first = first;
        first += o->v.v[i].n;
        o->v.v[i].n = 0;
    }
    bool saturated = false;
    for (size_t i = 0; i < o->events.n; i++) {
        thread_lane *l = &o->v.v[place[x->thread_of.v[i]]];
        events[l->first + l->n++] = o->events.v[i];
        l->sum = add_clamped(l->sum, o->events.v[i].value, &saturated);
    }
    for (size_t i = 0; i < o->v.n; i++)
        qsort(events + o->v.v[i].first, o->v.v[i].n, sizeof *events, time_order);
    o->events.v = events;
    return true;
}

bool thread_lanes_of(const view *v, arena *a, thread_lanes *out, err *e)
{
    laying x = {.v = v, .a = a, .out = out};
    *out = (thread_lanes){0};
    if (!thread_table_init(&out->threads, a, e)) return false;
    for (uint32_t k = 0; k < v->parts.n; k++) {
        const view_part *p = &v->parts.v[k];
        extent length = extent_of(p->m, p->p);
        out->intervals |= length.kind == EXTENT_AFTER;
        for (size_t i = p->first_row; i < p->first_row + p->n_rows; i++)
            if (!add_row(&x, k, (uint32_t)i, &length, e)) return false;
    }
    return !out->threads.v.n || arrange(&x, e);
}
