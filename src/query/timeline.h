/* query/timeline.h - queries over time: series, heat map, flame chart, lanes, spans. Pure.
 *
 * The queries read observations: timestamps with values (a timestamp without a value counts 1). The
 * view must be created with by_sample. Without timestamps n_timed is 0, and the caller draws no
 * picture. */
#pragma once
#include "query/select.h"
#include "query/threads.h"

typedef struct time_range {
    uint64_t start,
        end;          /* Unix ns, [start, end) around all observations; 0, 0 when there are none */
    uint64_t covered; /* end of the latest interval that an observation is; at least `end` */
    uint64_t n_timed; /* observations with a timestamp */
    uint64_t n_untimed; /* samples of the view without a timestamp */
} time_range;

time_range view_time_range(const view *v);

/* Returns whether the time is in the selected range of the part. */
static inline bool view_has_time(const view_part *p, uint64_t time)
{
    return time >= p->start && (!p->end || time < p->end);
}

/* Returns the value of observation i of a sample.  If there are fewer values than timestamps,
 * the first observation gets the sum. */
static inline int64_t view_observation(const view_part *p, const sample *s, uint32_t i)
{
    int64_t v = s->n_values == s->n_times ? s->values[i]
                : !s->n_values            ? 1
                : i                       ? 0
                                          : sample_total(s, NULL);
    return p->weight == 1 ? v : (int64_t)((double)v * p->weight);
}

/* ---- series: the sum in each step of time ---- */

/* The value of an observation that is an interval (query/extent.h) is spread over the steps that
 * the interval covers, up to the end of the selected range. It counts in the step where it begins.
 * The same holds for the cells of a heat map. */
typedef struct series {
    uint64_t step; /* ns; 0: one bucket per profile, because the samples have no timestamps */
    size_t n;
    uint64_t *time; /* start of each bucket, Unix ns, ascending */
    int64_t *sum;
    uint64_t *count; /* observations, or samples */
    /* Samples without a timestamp, if others have one. They are in no bucket. */
    int64_t untimed_sum;
    uint64_t n_untimed;
    /* Cumulative profiles that the next one includes.  Buckets are differences, so these are not
     * part of their sum. */
    int64_t replaced_sum, replaced_total; /* sum of the selection, and of all absolute values */
} series;

enum { SERIES_MAX = 1 << 20 };
/* Step 0 selects a round step that yields at most `want` buckets (0: 60). ERR_USAGE when the step
 * yields more than SERIES_MAX. For cumulative profiles without timestamps, buckets are differences
 * to the previous one. */
NODISCARD bool series_of(const view *v, uint64_t step, size_t want, arena *a, series *out, err *e);

/* ---- heat map: columns of time, rows of parts of a column (FlameScope) ---- */
typedef struct heat {
    uint64_t start; /* start of column 0, a multiple of the column */
    uint32_t columns, rows;
    uint64_t column_ns, row_ns; /* row_ns = column_ns / rows */
    int64_t *sum;               /* [column * rows + row] */
    uint64_t *count;            /* observations */
    int64_t max;                /* largest entry of sum */
} heat;

typedef struct heat_range {
    uint64_t column_ns;  /* 0: a second */
    uint32_t rows;       /* 0: 50 */
    uint64_t start, end; /* multiples of the column; 0, 0: all observations */
} heat_range;

enum { HEAT_MAX_COLUMNS = 24 * 3600, HEAT_MAX_ROWS = 1000 };
/* Computes the heat map. ERR_USAGE or ERR_LIMIT when a limit above is exceeded. */
NODISCARD bool heat_of(const view *v, const heat_range *r, arena *a, heat *out, err *e);
/* Creates an empty heat map over r, whose start and end are set; heat_of fills it. */
NODISCARD bool heat_init(const heat_range *r, arena *a, heat *out, err *e);

/* ---- lanes: one per thread, observations in order of time ---- */
typedef struct thread_lane {
    thread_key thread;
    size_t first, n; /* in thread_lanes.events */
    int64_t sum;
} thread_lane;

typedef struct lane_event {
    uint64_t time, duration; /* duration 0: a moment */
    int64_t value;
    uint32_t part, row; /* indices into view.parts, view.rows */
    uint32_t state;     /* index into threads.states; 0: not known */
} lane_event;

typedef struct thread_lanes {
    VEC(thread_lane) v; /* by thread name, then ids */
    VEC(lane_event) events;
    thread_table threads; /* resources and states */
    bool intervals; /* the events are intervals (kiln.event.interval, off-CPU), otherwise moments */
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

/* Builds the flame chart. Neighbouring observations share the boxes of common frames from the root.
 * A moment lasts until the next one of its lane, at most `gap` ns. Gap 0: a sample of CPU time with
 * a known period lasts until the next one if that is at most two periods away, otherwise for a
 * period; other moments last for at most twice the median gap. */
NODISCARD bool chart_of(const view *v, const thread_lanes *l, uint64_t gap, arena *a, chart *out,
                        err *e);

/* ---- spans: the samples of each span, by type and thread ---- */
typedef struct span_row {
    link_ids link;
    uint32_t type, thread; /* indices into span_rows.types, span_rows.threads */
    int64_t sum;           /* saturates */
    uint64_t n_samples;
    uint64_t first, last; /* times of its first and last observation; 0 when there are none */
    uint64_t start, end;  /* of the time that the observations stand for (query/extent.h) */
} span_row;

typedef struct span_type {
    str type, unit;
} span_type;

typedef struct span_rows {
    VEC(span_row) v; /* one row per span, type and thread; most samples first, then by id */
    VEC(span_type) types;
    thread_table threads;
} span_rows;

/* Finds the spans of all profiles of a checked model.  Samples without a link are ignored. */
NODISCARD bool spans_of(const model *m, stopper *stop, arena *a, span_rows *out, err *e);
