/* Grows typed arrays, whatever their element type. */
#include "base/vec.h"

#include "base/ban.h"

void *vec_grow(arena *a, void *v, size_t n, size_t *cap, size_t more, size_t size)
{
    size_t least, want, bytes, extra = *cap;
    if (ckd_add(&least, n, more)) return NULL;
    if (least < 8) least = 8;
    /* Doubles.  Where that exceeds the budget, a smaller step may fit; steps of one element would
     * take quadratic time. */
    for (;; extra /= 2) {
        if (ckd_add(&want, *cap, extra) || want < least) want = least;
        void *p = ckd_mul(&bytes, want, size) ? NULL : arena_grow(a, v, *cap * size, bytes);
        if (p) *cap = want;
        if (p || want == least) return p;
    }
}
