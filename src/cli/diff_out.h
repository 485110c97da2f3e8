/* cli/diff_out.h - a comparison and how it is shown. */
#pragma once
#include "cli/question.h"
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
    input *in; /* before: own; after: the question's */
    view *view;
    recording *v;
    size_t n;
} compared;

/* The new side is the question itself; the old one is more views over its frames. */
typedef struct comparison {
    question q;
    per per;
    compared before, after;
    const char *at; /* the recording that is looked at, for errors; NULL: none */
    diff d;
    gated gates[GATES_MAX];
    size_t n_gates;
} comparison;

void diff_text(comparison *x);
void diff_json(comparison *x);
