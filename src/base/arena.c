/* Manages the blocks of an arena: chunks that double in size, and one block per large piece.
 * arena_reset keeps the blocks in the order of use, so that decoding a similar message reuses the
 * same blocks. */
#include "base/arena.h"

#include "base/large.h"
#include "base/ban.h"

struct arena_block {
    arena_block *next;
    size_t cap, n;
    _Alignas(ARENA_ALIGN) unsigned char data[];
};

static size_t round_up(size_t n) { return (n + (ARENA_ALIGN - 1)) & ~(size_t)(ARENA_ALIGN - 1); }

static bool has_room(const arena *a, size_t n)
{
    size_t all;
    return !ckd_add(&all, a->used, n) && !ckd_add(&all, all, a->lent) &&
           (!a->budget || all <= a->budget);
}

static bool charge(arena *a, size_t n)
{
    if (!has_room(a, n)) return false;
    for (const arena *p = a->of; p; p = p->of)
        if (!has_room(p, n)) return false;
    for (arena *p = a->of; p; p = p->of) p->lent += n;
    a->used += n;
    if (a->used > a->peak) a->peak = a->used;
    return true;
}

static void refund(arena *a, size_t n)
{
    for (arena *p = a->of; p; p = p->of) p->lent -= n;
    a->used -= n;
}

/* ---- blocks: base/large.h allocates the large ones ---- */

static arena_block *block_take(size_t cap)
{
    if (cap > SIZE_MAX - sizeof(arena_block)) return NULL;
    size_t n = sizeof(arena_block) + cap;
    arena_block *b = cap < ARENA_LARGE ? malloc(n) : large_new(n);
    if (b) b->cap = cap;
    return b;
}

static void block_give(arena_block *b)
{
    if (b->cap < ARENA_LARGE)
        free(b);
    else
        large_free(b, sizeof *b + b->cap);
}

/* Resizes b to `cap`, at least ARENA_LARGE. Returns NULL without memory; b is then unchanged. */
static arena_block *block_resize(arena_block *b, size_t cap)
{
    if (b->cap >= ARENA_LARGE) {
        arena_block *r = large_resize(b, sizeof *b + b->cap, sizeof *b + cap);
        if (r) r->cap = cap;
        return r;
    }
    arena_block *r = block_take(cap);
    if (!r) return NULL;
    r->next = b->next;
    r->n = b->n;
    memcpy(r->data, b->data, b->n);
    free(b);
    return r;
}

/* Rounds the size of a large block up to an eighth of a power of two, so that the next message can
 * reuse the block even if it is a little larger. Untouched pages need no memory. */
static size_t block_class(size_t cap)
{
    if (cap < ARENA_LARGE) return cap;
    size_t step = (size_t)1 << (60 - __builtin_clzll((unsigned long long)cap));
    return (cap + step - 1) & ~(step - 1);
}

static arena_block *block_new(arena *a, size_t cap)
{
    /* Takes the oldest spare block that fits: decoding a similar message allocates in the same
     * order and reuses the same blocks. */
    arena_block **fit = &a->spare;
    while (*fit && (*fit)->cap < cap) fit = &(*fit)->next;
    arena_block *b;
    if (*fit) {
        b = *fit;
        *fit = b->next;
    } else {
        b = block_take(block_class(cap));
        if (!b) return NULL;
        a->n_mallocs++;
    }
    b->n = 0;
    b->next = a->live;
    a->live = b;
    return b;
}

void *arena_alloc(arena *a, size_t n)
{
    if (n > SIZE_MAX / 2) return NULL;
    size_t r = round_up(n);
    if (!charge(a, r)) return NULL;
    arena_block *b = a->cur;
    if (!b || b->cap - b->n < r) {
        if (r >= ARENA_LARGE) {
            b = block_new(a, r);
        } else {
            /* Blocks double up to ARENA_LARGE, so that small messages stay small. */
            size_t cap = b ? b->cap * 2 : ARENA_BLOCK_MIN;
            if (cap > ARENA_LARGE) cap = ARENA_LARGE;
            if (cap < r) cap = r;
            b = block_new(a, cap);
            if (b) a->cur = b;
        }
        if (!b) {
            refund(a, r);
            return NULL;
        }
    }
    void *p = b->data + b->n;
    b->n += r;
    return p;
}

/* Returns the block whose newest piece is p, or NULL. Callers usually grow their newest piece, so
 * the search ends after a few blocks. */
static arena_block **block_of_tail(arena *a, void *p, size_t old)
{
    for (arena_block **b = &a->live; *b; b = &(*b)->next)
        if ((unsigned char *)p + round_up(old) == (*b)->data + (*b)->n) return b;
    return NULL;
}

void *arena_grow(arena *a, void *p, size_t old, size_t n)
{
    if (!p) return arena_alloc(a, n);
    size_t from = round_up(old);
    if (n > SIZE_MAX / 2) return NULL;
    size_t to = round_up(n);
    if (to <= from) return p;
    arena_block **at = block_of_tail(a, p, old), *b = at ? *at : NULL;
    if (b && b->cap - b->n >= to - from) {
        if (!charge(a, to - from)) return NULL;
        b->n += to - from;
        return p;
    }
    if (b && b->data == (unsigned char *)p && to >= ARENA_LARGE) {
        if (!charge(a, to - from)) return NULL;
        arena_block *r = block_resize(b, to);
        if (!r) {
            refund(a, to - from);
            return NULL;
        }
        a->n_mallocs++;
        if (a->cur == b) a->cur = r;
        r->n = to;
        *at = r;
        return r->data;
    }
    void *q = arena_alloc(a, n);
    if (q && old) memcpy(q, p, old);
    return q;
}

bool arena_reserve(arena *a, size_t n)
{
    if (n > SIZE_MAX / 2) return false;
    if (a->cur && a->cur->cap - a->cur->n >= n) return true;
    arena_block *b = block_new(a, round_up(n));
    if (!b) return false;
    a->cur = b;
    return true;
}

void arena_trim(arena *a, void *p, size_t old, size_t n)
{
    size_t from = round_up(old), to = round_up(n);
    arena_block **at = to < from ? block_of_tail(a, p, old) : NULL;
    if (!at) return;
    (*at)->n -= from - to;
    refund(a, from - to);
}

void arena_reset(arena *a)
{
    while (a->live) {
        arena_block *b = a->live;
        a->live = b->next;
        b->next = a->spare;
        a->spare = b;
    }
    a->cur = NULL;
    refund(a, a->used);
}

void arena_free(arena *a)
{
    arena_reset(a);
    while (a->spare) {
        arena_block *b = a->spare;
        a->spare = b->next;
        block_give(b);
    }
    *a = (arena){.budget = a->budget, .seed = a->seed, .of = a->of, .lent = a->lent};
}

void *arena_zero(arena *a, size_t n)
{
    void *p = arena_alloc(a, n);
    return p ? memset(p, 0, n) : NULL;
}

void *arena_array(arena *a, size_t n, size_t size)
{
    size_t bytes;
    return ckd_mul(&bytes, n, size) ? NULL : arena_alloc(a, bytes);
}

void *arena_array_zero(arena *a, size_t n, size_t size)
{
    size_t bytes;
    return ckd_mul(&bytes, n, size) ? NULL : arena_zero(a, bytes);
}

bool arena_spent(const arena *a, err *e)
{
    if (!a->budget) return err_memory(e);
    return err_set(e, ERR_MEMORY, "the memory budget of %zu bytes is spent", a->budget);
}
