/* tests/support/variables.h - a simulated environment, for code that reads variables and logs
 * warnings. */
#pragma once
#include "test.h"

#include <string.h>

typedef struct variables {
    const char *const *pairs; /* NAME, value, ..., NULL */
    unsigned warnings;
    char warning[256]; /* the last warning */
} variables;

static inline const char *get(void *ctx, const char *name)
{
    const variables *v = ctx;
    for (const char *const *p = v->pairs; *p; p += 2)
        if (!strcmp(p[0], name)) return p[1];
    return NULL;
}

static inline void warn(void *ctx, const char *sentence)
{
    variables *v = ctx;
    v->warnings++;
    snprintf(v->warning, sizeof v->warning, "%s", sentence);
}
