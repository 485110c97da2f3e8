/* agent/profiles_internal.h - a model in the making, and the attributes of the sample at hand. */
#pragma once
#include "agent/profiles.h"
#include "model/builder.h"

enum {
    ATTRS_MAX = 64
}; /* of a sample: the thread's, and what a context of 612 bytes can hold usefully */

typedef struct making {
    const profiles_in *in;
    arena *a;
    builder b;
    uint32_t *stack_of, *mapping_of; /* position + 1; 0: not yet */
    u32s frames;                     /* scratch */
    uint32_t attrs[ATTRS_MAX];
    uint32_t n_attrs;
    uint32_t observed; /* logs: attribute with the time of the flush */
} making;

/* Fills m->attrs with all that is known of a sample but its stack and span. */
void profiles_set_attrs(making *m, const agent_sample *s);
