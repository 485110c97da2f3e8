/* tests/support/variables.h - an environment of our own, for what reads variables and warns. */
#pragma once
#include "test.h"

#include <string.h>

typedef struct variables {
    const char *const *pairs; /* NAME, value, ..., NULL */
    unsigned warnings;
    char warning[256]; /* the last */
} variables;

static inline const char *get(void *who, const char *name)
{
    const variables *v = who;
    for (const char *const *p = v->pairs; *p; p += 2)
        if (!strcmp(p[0], name)) return p[1];
    return NULL;
}

static inline void warn(void *who, const char *sentence)
{
    variables *v = who;
    v->warnings++;
    snprintf(v->warning, sizeof v->warning, "%s", sentence);
}
