/* query/timeline.h - answers about time: series, heat map, flame chart, lanes, spans.  Pure.
 *
 * They look at observations: a timestamp with its value (a timestamp without a value counts 1).
 * The view must have been made with by_sample.  A profile without timestamps has none: n_timed is 0, and
 * whoever draws leaves the picture out. */
#pragma once
#include "query/select.h"
#include "query/threads.h"

typedef struct time_range {
    uint64_t start,
        end;          /* Unix ns, [start, end) around all observations; 0, 0 when there are none */
    uint64_t n_timed; /* observations with a timestamp */
    uint64_t n_untimed; /* samples of the view without */
} time_range;

time_range view_time_range(const view *v);

/* Is the time in the part's window? */
static inline bool view_has_time(const view_part *p, uint64_t time)
{
    return time >= p->start && (!p->end || time < p->end);
}

/* Value of observation i of a sample; a sample with fewer values than timestamps gives its sum to the
 * first. */
static inline int64_t view_observation(const view_part *p, const sample *s, uint32_t i)
{
    int64_t v = s->n_values == s->n_times ? s->values[i]
                : !s->n_values            ? 1
                : i                       ? 0
                                          : sample_total(s, NULL);
    return p->weight == 1 ? v : (int64_t)((double)v * p->weight);
}

/* ---- series: the sum in each step of time ---- */
typedef struct series {
    uint64_t step; /* ns; 0: a bucket for each profile, since the samples have no timestamps */
    size_t n;
    uint64_t *time; /* begin of each bucket, Unix ns, rising */
    int64_t *sum;
    uint64_t *count; /* observations, or samples */
    /* Samples without a timestamp beside others that have one: no bucket is theirs. */
    int64_t untimed_sum;
    uint64_t n_untimed;
    /* Cumulative profiles that the next one holds: the buckets are differences, so these are not part of the sum of the buckets. */
    int64_t replaced_sum, replaced_total; /* of what is selected, and of all absolute values */
} series;

enum { SERIES_MAX = 1 << 20 };
/* step 0: a round one that makes at most `want` buckets (0: 60).  ERR_USAGE when the step would make more
 * than SERIES_MAX.  Cumulative profiles without timestamps give the difference to the one before. */
NODISCARD bool series_of(const view *v, uint64_t step, size_t want, arena *a, series *out, err *e);

/* ---- heat map: columns of time, rows of parts of a column (FlameScope) ---- */
typedef struct heat {
    uint64_t start; /* of column 0, a whole column */
    uint32_t columns, rows;
    uint64_t column_ns, row_ns; /* row_ns = column_ns / rows */
    int64_t *sum;               /* [column * rows + row] */
    uint64_t *count;            /* observations */
    int64_t max;                /* of sum */
} heat;

typedef struct heat_range {
    uint64_t column_ns;  /* 0: a second */
    uint32_t rows;       /* 0: 50 */
    uint64_t start, end; /* whole columns; 0, 0: around the observations */
} heat_range;

enum { HEAT_MAX_COLUMNS = 24 * 3600, HEAT_MAX_ROWS = 1000 };
/* ERR_USAGE, ERR_LIMIT at the two limits. */
NODISCARD bool heat_of(const view *v, const heat_range *r, arena *a, heat *out, err *e);
/* An empty one over r, whose start and end are set; heat_of fills it. */
NODISCARD bool heat_init(const heat_range *r, arena *a, heat *out, err *e);

/* ---- lanes: one per thread, observations in order of time ---- */
typedef struct thread_lane {
    thread_who who;
    size_t first, n; /* in thread_lanes.events */
    int64_t sum;
} thread_lane;

typedef struct lane_event {
    uint64_t time, duration; /* duration 0: a moment */
    int64_t value;
    uint32_t part, row; /* view.parts, view.rows */
    uint32_t state;     /* threads.states; 0: not known */
} lane_event;

typedef struct thread_lanes {
    VEC(thread_lane) v; /* by thread name, then ids */
    VEC(lane_event) events;
    thread_table threads; /* resources and states */
    bool intervals; /* the events are intervals (kiln.event.interval, off-CPU), else moments */
} thread_lanes;

NODISCARD bool thread_lanes_of(const view *v, arena *a, thread_lanes *out, err *e);

/* ---- flame chart: time on x, a box for each frame while it stays on the stack ---- */
typedef struct chart_box {
    uint64_t start, end; /* ns */
    uint32_t frame, depth, lane;
    int64_t value; /* sum of the observations inside */
} chart_box;

typedef struct chart {
    VEC(chart_box) v; /* by lane, then start, then depth */
    uint32_t max_depth;
} chart;

/* Neighbouring observations that share frames from the root share their boxes.  A moment lasts until the
 * next one of its lane, at most `gap` ns (0: twice the median distance). */
NODISCARD bool chart_of(const view *v, const thread_lanes *l, uint64_t gap, arena *a, chart *out,
                        err *e);

/* ---- spans: where the samples of traces are ---- */
typedef struct span_row {
    link_ids link;
    uint32_t type, thread; /* span_rows.types, span_rows.threads */
    int64_t sum;           /* saturates */
    uint64_t n_samples;
    uint64_t first, last; /* time of its observations; 0 when there are none */
} span_row;

typedef struct span_type {
    str type, unit;
} span_type;

typedef struct span_rows {
    VEC(span_row) v; /* a row for each span, type and thread; most samples first, equals by id */
    VEC(span_type) types;
    thread_table threads;
} span_rows;

/* Of all profiles of a checked model; samples without a link are none. */
NODISCARD bool spans_of(const model *m, stopper *stop, arena *a, span_rows *out, err *e);
