/* cli/diff_out.h - a comparison and how it is shown. */
#pragma once
#include "cli/question.h"
#include "query/diff.h"
#include "query/gate.h"

enum { GATES_MAX = 32 };

typedef struct gated {
    gate g;
    gate_result r;
} gated;

/* The new profile is the question itself; the old one is a second view over its frames. */
typedef struct comparison {
    question q;
    input base;
    view before;
    diff d;
    gated gates[GATES_MAX];
    size_t n_gates;
} comparison;

void diff_text(comparison *x);
void diff_json(comparison *x);
