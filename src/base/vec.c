/* Grows typed arrays, whatever their element type. */
#include "base/vec.h"

#include "base/ban.h"

void *vec_grow(arena *a, void *v, size_t n, size_t *cap, size_t more, size_t size)
{
    size_t want, twice, bytes;
    if (ckd_add(&want, n, more)) return NULL;
    if (!ckd_add(&twice, *cap, *cap) && want < twice) want = twice;
    if (want < 8) want = 8;
    if (ckd_mul(&bytes, want, size)) return NULL;
    void *p = arena_grow(a, v, *cap * size, bytes);
    if (!p && want > n + more) { /* doubling exceeds the budget; the exact size may still fit */
        want = n + more;
        p = arena_grow(a, v, *cap * size, want * size);
    }
    if (p) *cap = want;
    return p;
}
