/* agent/profiles_internal.h - state while a model is built, shared by profiles.c and
 * profiles_attrs.c. */
#pragma once
#include "agent/profiles.h"
#include "model/builder.h"

enum {
    ATTRS_MAX = 64
}; /* maximum per sample: those of the thread, and those that fit into a context of 612 bytes */

typedef struct making {
    const profiles_in *in;
    arena *a;
    builder b;
    bool stated;                     /* a profile has the losses */
    uint32_t *stack_of, *mapping_of; /* index + 1; 0: not added yet */
    u32s frames;                     /* scratch space */
    uint32_t kernel, kernel_type; /* mapping of the kernel, attribute of its frames; 0: none yet */
    uint32_t attrs[ATTRS_MAX];
    uint32_t n_attrs;
    uint32_t observed; /* logs: attribute with the time of the flush */
} making;

/* Sets m->attrs to the attributes of a sample. */
void profiles_set_attrs(making *m, const agent_sample *s);
