/* A sorted array with binary search. Settled items are removed from its front. */
#include "server/window.h"
#include "base/search.h"

#include "base/ban.h"
#include <stdlib.h>
#include <string.h>

bool window_add(window *w, uint64_t number, size_t bytes)
{
    if (w->n == w->cap && w->first > w->n / 2) {
        memmove(w->v, w->v + w->first, (w->n - w->first) * sizeof *w->v);
        w->n -= w->first, w->first = 0;
    }
    if (w->n == w->cap) {
        size_t cap = w->cap ? w->cap * 2 : 64;
        window_item *v = realloc(w->v, cap * sizeof *v);
        if (!v) return false;
        w->v = v, w->cap = cap;
    }
    w->v[w->n++] = (window_item){.number = number, .bytes = bytes};
    return true;
}

void window_take_back(window *w) { w->n--; }

static window_item *find(const window *w, uint64_t number)
{
    size_t low = SEARCH(w->first, w->n, i, w->v[i].number < number);
    return low < w->n && w->v[low].number == number ? &w->v[low] : NULL;
}

size_t window_settle(window *w, uint64_t number, bool failed)
{
    window_item *x = find(w, number);
    if (!x || x->done) return 0;
    size_t bytes = x->bytes;
    x->bytes = 0;
    x->failed |= failed;
    x->done = !x->failed;
    while (w->first < w->n && w->v[w->first].done) w->first++;
    if (w->first == w->n) w->first = w->n = 0;
    return bytes;
}

uint64_t window_through(const window *w, uint64_t seen)
{
    return w->first < w->n ? w->v[w->first].number - 1 : seen;
}

void window_free(window *w)
{
    free(w->v);
    *w = (window){0};
}
