/* What unwind_judge is interrupted in. */
#pragma once
#include <stddef.h>

typedef struct unwind_work {
    const char *name;
    void (*run)(void);
} unwind_work;

extern const unwind_work works[];
extern const size_t n_works;
extern const char *plugin_path;

/* Called by works: the judge unwinds here again (from inside a handler of theirs, for example). */
void judge_here(void);

/* Outside of handlers: objects came or went. */
void judge_refresh(void);
