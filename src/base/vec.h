/* base/vec.h - typed arrays that grow; an arena owns their memory. */
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

/* Makes room for `more` elements of `size` bytes after the first n. Doubles the capacity, so that n
 * pushes take linear time. Returns the array, which may have moved, or NULL without memory; *cap is
 * then unchanged. */
NODISCARD void *vec_grow(arena *a, void *v, size_t n, size_t *cap, size_t more, size_t size);

/* Makes room for `more` elements. Returns false when memory runs out. */
#define vec_reserve(a, vec, more)                                                                  \
    ((vec)->cap - (vec)->n >= (size_t)(more) ||                                                    \
     vec_reserve_((a), (void **)&(vec)->v, (vec)->n, &(vec)->cap, (more), sizeof *(vec)->v))

/* Appends a zeroed element and returns it, or NULL without memory. */
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
