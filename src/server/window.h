/* server/window.h - numbered items that were handed on and are settled in any order: through which number is everything done?  Pure. */
#pragma once
#include "base/compiler.h"

typedef struct window_item {
    uint64_t number;
    size_t bytes;
    bool done, failed; /* failed: it is never done; whoever begins again gets it again */
} window_item;

/* The zero value is empty. */
typedef struct window {
    window_item *v; /* by number; v[first .. n) are there, the first of them is not done */
    size_t first, n, cap;
} window;

/* Numbers rise.  false: no memory. */
NODISCARD bool window_add(window *w, uint64_t number, size_t bytes);
/* The last one was not handed on after all. */
void window_take_back(window *w);
/* Its bytes; 0: it is not there.  `failed` once is failed for good. */
size_t window_settle(window *w, uint64_t number, bool failed);
/* Everything through this number is done, when everything through `seen` was added or needs nothing. */
uint64_t window_through(const window *w, uint64_t seen);
void window_free(window *w);
