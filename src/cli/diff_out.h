/* cli/diff_out.h - the comparison of `kiln diff`, and how it is printed. */
#pragma once
#include "cli/query.h"
#include "query/diff.h"
#include "query/gate.h"
#include "query/per.h"

enum { GATES_MAX = 32 };

typedef struct gated {
    gate g;
    gate_result r;
} gated;

/* Recordings of one side. */
typedef struct compared {
    const char **path;
    input *in; /* before: owned; after: the query's inputs */
    view *view;
    recording *v;
    size_t n;
} compared;

/* The new side is the query. The old side has its own views over the same frame table. */
typedef struct comparison {
    query q;
    per per;
    compared before, after;
    const char *at; /* the current recording, for error messages; NULL: none */
    diff d;
    gated gates[GATES_MAX];
    size_t n_gates;
} comparison;

void diff_text(comparison *x);
void diff_json(comparison *x);
