/* pyroscope/stack_type.h - the type of stacks with counts, from the name of the application. Pure. */
#pragma once
#include "base/str.h"

typedef struct stack_type {
    str name;       /* profile name: "memory" */
    str type, unit; /* "alloc_space", "bytes" */
    str period_type, period_unit;
    bool sampled; /* the counts are samples, which a sample rate turns into time */
} stack_type;

/* Returns the type of "shop.alloc_space" and sets *app to "shop". An application without a known
 * suffix is sampled CPU time. */
stack_type stack_type_of(str name, str *app);
