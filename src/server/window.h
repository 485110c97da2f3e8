/* server/window.h - tracks numbered items that are settled in any order, and finds the number up to
 * which all are done. Pure. */
#pragma once
#include "base/compiler.h"

typedef struct window_item {
    uint64_t number;
    size_t bytes;
    bool done, failed; /* failed: never done; the item is delivered again after a restart */
} window_item;

/* The zero value is empty. */
typedef struct window {
    window_item *v; /* sorted by number; v[first .. n) are in use, and v[first] is not done */
    size_t first, n, cap;
} window;

/* Adds an item. Numbers must increase. Returns false when out of memory. */
NODISCARD bool window_add(window *w, uint64_t number, size_t bytes);
/* Removes the item that was added last. */
void window_take_back(window *w);
/* Marks an item as settled and returns its bytes; 0 when there is no such item. An item that failed
 * once stays failed. */
size_t window_settle(window *w, uint64_t number, bool failed);
/* Returns the largest number up to which all items are done. Every item up to `seen` must have been
 * added, unless nothing has to be done for it. */
uint64_t window_through(const window *w, uint64_t seen);
void window_free(window *w);
