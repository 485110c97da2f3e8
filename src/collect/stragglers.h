/* collect/stragglers.h - processes of a run that have no process slot yet: just forked, or still in
 * the loader. */
#pragma once
#include "base/compiler.h"

/* Returns whether /proc has a process that is not `known` and whose environment contains `setting`
 * (NAME=value). */
bool stragglers_any(const char *setting, bool (*known)(const void *ctx, uint32_t pid),
                    const void *ctx);
