/* The endpoints lanes (the observations of each thread over time) and chart (a flame chart).  A
 * response that does not fit max_bytes keeps the earliest part of the range. */
#include "server/query.h"

#include "query/timeline.h"
#include "server/endpoints.h"
#include "wire/attributes.h"
#include "wire/json.h"
#include "base/ban.h"
#include <stdlib.h>

enum { HEAD = 2048, LANE = 120, FRAME = 60 };

typedef struct timeline {
    query *k;
    model m;
    frame_table frames;
    view v;
    thread_lanes l;
    time_range range;
} timeline;

static bool read_timeline(timeline *x, err *e)
{
    query *k = x->k;
    if (!query_samples(k, &x->m, &x->frames, &x->v, e) || !thread_lanes_of(&x->v, k->a, &x->l, e))
        return false;
    x->range = view_time_range(&x->v);
    return true;
}

static void put_head(timeline *x)
{
    query *k = x->k;
    response_text(&k->w.root, "type", x->v.type);
    response_text(&k->w.root, "unit", x->v.unit);
    response_u64(&k->w.root, "start", x->range.start);
    response_u64(&k->w.root, "end", x->range.end);
    response_u64(&k->w.root, "untimed", x->range.n_untimed);
    response_bool(&k->w.root, "intervals", x->l.intervals);
    query_put_resources(k, x->l.threads.resources.v, x->l.threads.resources.n);
}

#define COLUMN(in, put, type, key, n, value)                                                       \
    do {                                                                                           \
        type *column = arena_new(k->a, type, (n) + 1);                                             \
        if (!column) return err_memory(e);                                                         \
        for (size_t i = 0; i < (n); i++) column[i] = (value);                                      \
        put(in, key, column, n);                                                                   \
    } while (0)

/* Adds the lanes to the response, with their events if `events` is set. */
static bool put_lanes(timeline *x, bool events, err *e)
{
    query *k = x->k;
    const thread_lane *v = x->l.v.v;
    size_t n = x->l.v.n;
    response_node *o = response_object(&k->w.root, "lanes");
    COLUMN(o, response_texts, str, "name", n, v[i].thread.name);
    COLUMN(o, response_i64s, int64_t, "thread_id", n, v[i].thread.thread_id);
    COLUMN(o, response_i64s, int64_t, "process_id", n, v[i].thread.process_id);
    COLUMN(o, response_u32s, uint32_t, "resource", n, v[i].thread.resource);
    COLUMN(o, response_i64s, int64_t, "sum", n, v[i].sum);
    if (!events) return true;
    COLUMN(o, response_u64s, uint64_t, "first", n, v[i].first);
    COLUMN(o, response_u64s, uint64_t, "n", n, v[i].n);
    return true;
}

/* ---- fitting max_bytes ---- */

static int rising(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Returns the end of a range that contains the first n of all times, and at least one. */
static uint64_t end_of_first(uint64_t *times, size_t all, size_t n)
{
    qsort(times, all, sizeof *times, rising);
    uint64_t end = times[n < all ? n : all - 1];
    return end > times[0] ? end : times[0] + 1;
}

/* Returns the size of the resources, which both encodings write as JSON. */
static size_t resources_size(const timeline *x)
{
    buf b = {0};
    json_out o = {.b = &b};
    for (size_t i = 0; i < x->l.threads.resources.n; i++) {
        const keyvalues *kv = &x->l.threads.resources.v[i]->attrs;
        attributes_json(&o, kv->v, kv->n);
    }
    size_t n = b.n;
    buf_free(&b);
    return n;
}

/* Returns the bytes of the response that resources, lanes and frames leave free. */
static size_t room_of(const timeline *x)
{
    size_t used = HEAD + x->l.v.n * LANE + resources_size(x);
    for (size_t i = 0; i < x->l.v.n; i++) used += x->l.v.v[i].thread.name.n;
    for (size_t i = 0; i < x->frames.v.n; i++) {
        const frame *f = &x->frames.v.v[i];
        used += FRAME + f->label.n + frame_text(&x->frames, f->in_file).n +
                frame_text(&x->frames, f->in_mapping).n;
    }
    return used < x->k->max_bytes ? x->k->max_bytes - used : 0;
}

/* Returns the largest possible time offset or duration. */
static int64_t length_of(const timeline *x)
{
    return (int64_t)((x->range.end - x->range.start) & INT64_MAX);
}

/* ---- lanes ---- */

/* Removes events from `end` on. */
static void cut_lanes(timeline *x, uint64_t end)
{
    size_t to = 0, all = x->l.events.n;
    lane_event *v = x->l.events.v;
    bool saturated = false;
    for (size_t i = 0; i < x->l.v.n; i++) {
        thread_lane *l = &x->l.v.v[i];
        size_t first = to;
        l->sum = 0;
        for (size_t j = l->first; j < l->first + l->n && v[j].time < end; j++) {
            l->sum = add_saturating(l->sum, v[j].value, &saturated);
            v[to++] = v[j];
        }
        l->first = first;
        l->n = to - first;
    }
    x->l.events.n = to;
    x->range.end = end;
    query_cut(x->k, "max_bytes: only the first %zu of %zu events are included", to, all);
}

static bool fit_lanes(timeline *x, err *e)
{
    query *k = x->k;
    const lane_event *v = x->l.events.v;
    size_t n = x->l.events.n;
    int64_t low = 0, high = 0;
    uint64_t duration = 0;
    for (size_t i = 0; i < n; i++) {
        low = v[i].value < low ? v[i].value : low;
        high = v[i].value > high ? v[i].value : high;
        duration = v[i].duration > duration ? v[i].duration : duration;
    }
    size_t event = query_width(k, 0, length_of(x)) +
                   query_width(k, 0, (int64_t)(duration & INT64_MAX)) + query_width(k, low, high) +
                   query_width(k, 0, (int64_t)x->l.threads.states.n) +
                   query_width(k, -1, (int64_t)x->frames.v.n);
    size_t most = room_of(x) / event;
    if (most >= n) return true;
    uint64_t *times = arena_new(k->a, uint64_t, n);
    if (!times) return err_memory(e);
    for (size_t i = 0; i < n; i++) times[i] = v[i].time;
    cut_lanes(x, end_of_first(times, n, most));
    return true;
}

/* Returns the leaf of an event's stack; UINT32_MAX when the stack is empty. */
static uint32_t leaf_of(const timeline *x, const lane_event *event, uint32_t *scratch)
{
    const view_row *r = &x->v.rows.v[event->row];
    return view_frames(&x->v, &x->v.parts.v[event->part], r, scratch) ? scratch[0] : UINT32_MAX;
}

static bool put_events(timeline *x, err *e)
{
    query *k = x->k;
    const lane_event *v = x->l.events.v;
    size_t n = x->l.events.n;
    uint32_t *scratch = view_scratch(&x->v, e);
    if (!scratch) return false;
    response_node *o = response_object(&k->w.root, "events");
    COLUMN(o, response_u64s, uint64_t, "time", n, v[i].time - x->range.start);
    COLUMN(o, response_u64s, uint64_t, "duration", n, v[i].duration);
    COLUMN(o, response_i64s, int64_t, "value", n, v[i].value);
    COLUMN(o, response_u32s, uint32_t, "state", n, v[i].state);
    COLUMN(o, response_u32s, uint32_t, "frame", n, leaf_of(x, &v[i], scratch));
    return true;
}

bool api_lanes(query *k, err *e)
{
    timeline x = {.k = k};
    if (!read_timeline(&x, e) || !fit_lanes(&x, e)) return false;
    put_head(&x);
    if (!put_lanes(&x, true, e) || !query_put_frames(k, &x.frames, NULL, x.frames.v.n, e))
        return false;
    response_texts(&k->w.root, "states", x.l.threads.states.v, x.l.threads.states.n);
    return put_events(&x, e);
}

/* ---- the flame chart ---- */

/* Keeps the boxes that begin before the new end, and shortens the last ones. */
static bool fit_chart(timeline *x, chart *c, err *e)
{
    query *k = x->k;
    int64_t low = 0, high = 0;
    size_t all = c->v.n, to = 0;
    for (size_t i = 0; i < all; i++) {
        low = c->v.v[i].value < low ? c->v.v[i].value : low;
        high = c->v.v[i].value > high ? c->v.v[i].value : high;
    }
    size_t box = 2 * query_width(k, 0, length_of(x)) + query_width(k, 0, (int64_t)x->l.v.n) +
                 query_width(k, 0, c->max_depth) + query_width(k, 0, (int64_t)x->frames.v.n) +
                 query_width(k, low, high);
    size_t most = room_of(x) / box;
    if (most >= all) return true;
    uint64_t *times = arena_new(k->a, uint64_t, all);
    if (!times) return err_memory(e);
    for (size_t i = 0; i < all; i++) times[i] = c->v.v[i].start;
    x->range.end = end_of_first(times, all, most);
    for (size_t i = 0; i < all; i++) {
        if (c->v.v[i].start >= x->range.end) continue;
        c->v.v[to] = c->v.v[i];
        if (c->v.v[to].end > x->range.end) c->v.v[to].end = x->range.end;
        to++;
    }
    c->v.n = to;
    query_cut(k, "max_bytes: only the first %zu of %zu boxes are included", to, all);
    return true;
}

static bool put_boxes(timeline *x, const chart *c, err *e)
{
    query *k = x->k;
    const chart_box *v = c->v.v;
    size_t n = c->v.n;
    response_node *o = response_object(&k->w.root, "boxes");
    COLUMN(o, response_u32s, uint32_t, "lane", n, v[i].lane);
    COLUMN(o, response_u64s, uint64_t, "time", n, v[i].start - x->range.start);
    COLUMN(o, response_u64s, uint64_t, "duration", n, v[i].end - v[i].start);
    COLUMN(o, response_u32s, uint32_t, "depth", n, v[i].depth);
    COLUMN(o, response_u32s, uint32_t, "frame", n, v[i].frame);
    COLUMN(o, response_i64s, int64_t, "value", n, v[i].value);
    return true;
}

bool api_chart(query *k, err *e)
{
    timeline x = {.k = k};
    chart c;
    uint64_t gap = 0;
    if (!params_duration(&k->p, "gap", &gap, e) || !read_timeline(&x, e) ||
        !chart_of(&x.v, &x.l, gap, k->a, &c, e))
        return false;
    for (size_t i = 0; i < c.v.n; i++) /* boxes may end after the last observation */
        if (c.v.v[i].end > x.range.end) x.range.end = c.v.v[i].end;
    if (!fit_chart(&x, &c, e)) return false;
    put_head(&x);
    if (!put_lanes(&x, false, e) || !query_put_frames(k, &x.frames, NULL, x.frames.v.n, e))
        return false;
    response_u64(&k->w.root, "max_depth", c.max_depth);
    return put_boxes(&x, &c, e);
}
