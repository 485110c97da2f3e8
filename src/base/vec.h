/* base/vec.h - typed arrays over one untyped grower; the memory is an arena's. */
#pragma once
#include "base/arena.h"

#define VEC(type)                                                                                  \
    struct {                                                                                       \
        type *v;                                                                                   \
        size_t n, cap;                                                                             \
    }

typedef VEC(uint32_t) u32s;
typedef VEC(int64_t) i64s;
typedef VEC(uint64_t) u64s;

/* Makes room for `more` elements of `size` beyond *n: doubles, so that pushing is linear.  Returns
 * the array (moved or not) or NULL at the budget, with *cap untouched. */
NODISCARD void *vec_grow(arena *a, void *v, size_t n, size_t *cap, size_t more, size_t size);

/* true when `more` elements fit; false at the budget. */
#define vec_reserve(a, vec, more)                                                                  \
    ((vec)->cap - (vec)->n >= (size_t)(more) ||                                                    \
     vec_reserve_((a), (void **)&(vec)->v, (vec)->n, &(vec)->cap, (more), sizeof *(vec)->v))

/* A zeroed slot, or NULL at the budget. */
#define vec_push(a, vec)                                                                           \
    (vec_reserve((a), (vec), 1)                                                                    \
         ? ((__typeof__((vec)->v))memset(&(vec)->v[(vec)->n++], 0, sizeof *(vec)->v))              \
         : NULL)

static inline NODISCARD bool vec_reserve_(arena *a, void **v, size_t n, size_t *cap, size_t more,
                                          size_t size)
{
    void *p = vec_grow(a, *v, n, cap, more, size);
    if (p) *v = p;
    return p != NULL;
}
