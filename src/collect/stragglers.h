/* collect/stragglers.h - processes that belong to a run and have not sat down at a desk yet: forked a moment ago, or still in the loader. */
#pragma once
#include "base/compiler.h"

/* Is there a process whose environment has `setting` (NAME=value), and that is not known by its number?  Looks through /proc. */
bool stragglers_any(const char *setting, bool (*known)(const void *who, uint32_t pid),
                    const void *who);
