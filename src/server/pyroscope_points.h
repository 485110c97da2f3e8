/* server/pyroscope_points.h - amounts over time for SelectSeries and /pyroscope/render. */
#pragma once
#include "server/pyroscope_select.h"

enum { PYRO_POINTS_MAX = 100000 };

/* The right edges of the steps: first, first + step ...; a profile at t belongs to the first edge at
 * or after t. */
typedef struct pyro_steps {
    uint64_t first, step; /* Unix ns, ns */
    size_t n;
} pyro_steps;

typedef struct pyro_line {
    pyro_labels labels; /* sorted by name */
    double *sum;        /* by step */
    uint64_t *count;    /* observations */
    double total;
    /* the profile or span with the largest amount, by step; NULL: none was asked for */
    const struct pyro_item **top;
} pyro_line;

typedef VEC(pyro_line) pyro_lines;

/* Returns ERR_USAGE for a step below a millisecond and for too many points. */
NODISCARD bool pyro_steps_of(int64_t start, int64_t end, double step_s, pyro_steps *out, err *e);
/* Returns one line for each combination of values of the labels in `by`, sorted by labels.  The
 * selection must cover the range of the steps. */
NODISCARD bool pyro_lines_of(pyro_selection *s, const pyro_steps *t, const pyro_texts *by,
                             pyro_lines *out, err *e);

/* Like pyro_lines_of, of the stacks that begin with a call site (pyroscope_site.c). */
NODISCARD bool pyro_lines_at(pyro_selection *s, const pyro_steps *t, const pyro_texts *by,
                             const pyro_texts *site, pyro_lines *out, err *e);
/* Sets `top` of the lines (pyroscope_site.c). */
NODISCARD bool pyro_exemplars_of(pyro_selection *s, const pyro_steps *t, const pyro_texts *by,
                                 const pyro_texts *site, bool spans, pyro_lines *l, err *e);
/* Sorts the lines by labels. */
void pyro_lines_sort(pyro_lines *l);
/* Returns the line with these labels, or NULL. */
pyro_line *pyro_line_of(const pyro_lines *l, const pyro_labels *labels);
/* Divides the sums by the numbers of profiles (pyroscope_average.c). */
NODISCARD bool pyro_average(pyro_selection *s, const pyro_steps *t, const pyro_texts *by,
                            pyro_lines *l, err *e);
/* Sorts label names and removes duplicates.  ERR_USAGE when there are too many. */
NODISCARD bool pyro_sort_keys(query *k, const pyro_texts *by, pyro_texts *out, err *e);
