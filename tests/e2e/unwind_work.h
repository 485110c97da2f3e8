/* The functions that unwind_judge interrupts. */
#pragma once
#include <stddef.h>

typedef struct unwind_work {
    const char *name;
    void (*run)(void);
} unwind_work;

extern const unwind_work works[];
extern const size_t n_works;
extern const char *plugin_path;

/* Called by these functions: the judge walks the stack here, too (for example inside one of their
 * handlers). */
void judge_here(void);

/* To be called outside of handlers after objects were loaded or unloaded. */
void judge_refresh(void);
