/* format/pprof_intern.h - interns entries in batches; model/builder.h interns them one by one.
 *
 * The tables of a large profile do not fit in the cache, so each lookup is a cache miss. For a
 * batch, all hashes are computed and their slots prefetched first; the lookups then find the slots
 * in the cache.
 *
 * Strings go into the builder's own index, with its hash, so that builder_string finds them. The
 * other indices are used only here, with cheaper hashes. */
#pragma once
#include "base/utf8.h"
#include "format/pprof_internal.h"

enum { PP_BATCH = 32 };

/* Multiplies and folds to 64 bits. Both factors are made odd, so neither can be 0. */
ALWAYS_INLINE uint64_t pp_mul(uint64_t a, uint64_t b)
{
    unsigned __int128 r = (unsigned __int128)(a | 1) * (b | 1);
    return (uint64_t)r ^ (uint64_t)(r >> 64);
}

#define PP_K1 UINT64_C(0x9e3779b97f4a7c15)
#define PP_K2 UINT64_C(0xd1b54a32d192ed03)

ALWAYS_INLINE void pp_prefetch(const hash_index *x, uint64_t h)
{
    __builtin_prefetch(&x->slot[hash_first(x, h)], 1);
}

/* Creates an index with room for n entries, so that it never grows. */
static inline bool pp_index_room(pp *r, hash_index *x, size_t n)
{
    size_t slots = 16;
    while (slots * 3 < (n + 1) * 4) slots *= 2;
    x->slot = arena_new(r->a, hash_slot, slots);
    x->mask = (uint32_t)(slots - 1);
    x->seed = r->a->seed;
    return x->slot || arena_spent(r->a, r->e);
}

/* ---- strings ---- */

/* Call before pp_string_take: checks the text and prefetches its slot. */
ALWAYS_INLINE void pp_string_prefetch(pp *r, uint64_t i)
{
    if (r->string.v[i] != PP_ABSENT) return;
    uint64_t h = hash_bytes(r->strings.v[i].p, r->strings.v[i].n, r->b.seed);
    r->string_hash[i] = (uint32_t)(h >> 32);
    pp_prefetch(&r->b.strings, h);
}

ALWAYS_INLINE uint32_t pp_string_take(pp *r, uint64_t i)
{
    uint32_t known = r->string.v[i];
    if (known != PP_ABSENT) return known;
    str s = r->strings.v[i];
    if (UNLIKELY(!s.n || r->b.strings.n >= r->strings.n || !utf8_ok(s.p, s.n)))
        return pp_intern(r, i);
    hash_index *x = &r->b.strings;
    dict *d = &r->b.m.dict;
    uint64_t h = (uint64_t)r->string_hash[i] << 32;
    uint32_t k = hash_first(x, h);
    for (uint32_t at; hash_next(x, &k, h, &at); k++)
        if (str_eq(d->strings.v[at], s)) return r->string.v[i] = at;
    if (UNLIKELY(d->strings.n == d->strings.cap)) return pp_intern(r, i);
    uint32_t at = (uint32_t)d->strings.n++;
    d->strings.v[at] = s;
    hash_put(x, k, h, at);
    return r->string.v[i] = at;
}

/* ---- functions ---- */

ALWAYS_INLINE uint64_t pp_function_hash(const function *f, uint64_t seed)
{
    return pp_mul(((uint64_t)f->name << 32 | f->system_name) ^ PP_K1 ^ seed,
                  ((uint64_t)f->filename << 32 ^ (uint64_t)f->start_line) ^ PP_K2 ^ seed);
}

/* Requires room in d->functions and the index. */
ALWAYS_INLINE uint32_t pp_function_take(pp *r, const function *f, uint64_t h)
{
    dict *d = &r->b.m.dict;
    hash_index *x = &r->function_index;
    if (!f->name && !f->system_name && !f->filename && !f->start_line) return 0;
    uint32_t k = hash_first(x, h);
    for (uint32_t at; hash_next(x, &k, h, &at); k++) {
        const function *o = &d->functions.v[at];
        if (o->name == f->name && o->system_name == f->system_name && o->filename == f->filename &&
            o->start_line == f->start_line)
            return at;
    }
    uint32_t at = (uint32_t)d->functions.n++;
    d->functions.v[at] = *f;
    hash_put(x, k, h, at);
    return at;
}

/* ---- locations ---- */

ALWAYS_INLINE uint64_t pp_location_hash(const location *l, const line *lines, uint64_t seed)
{
    uint64_t h =
        pp_mul(l->address ^ PP_K1 ^ seed, ((uint64_t)l->mapping << 32 | l->lines.n) ^ PP_K2 ^ seed);
    h ^= l->attrs.n;
    for (uint32_t i = 0; i < l->lines.n; i++)
        h = pp_mul(h ^ (uint64_t)lines[i].line ^ PP_K1,
                   ((uint64_t)lines[i].function << 32 ^ (uint64_t)lines[i].column) ^ PP_K2 ^ seed);
    return h;
}

ALWAYS_INLINE bool pp_same_lines(const line *a, const line *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (a[i].function != b[i].function || a[i].line != b[i].line || a[i].column != b[i].column)
            return false;
    return true;
}

/* The lines of *l are after d->lines.n; its only attribute may be is_folded. Requires room in
 * d->locations, d->lines and the index. */
ALWAYS_INLINE uint32_t pp_location_take(pp *r, const location *l, const line *lines, uint64_t h)
{
    dict *d = &r->b.m.dict;
    hash_index *x = &r->location_index;
    if (!l->mapping && !l->address && !l->lines.n && !l->attrs.n) return 0;
    uint32_t k = hash_first(x, h);
    for (uint32_t at; hash_next(x, &k, h, &at); k++) {
        const location *o = &d->locations.v[at];
        if (o->address == l->address && o->mapping == l->mapping && o->lines.n == l->lines.n &&
            o->attrs.n == l->attrs.n && pp_same_lines(d->lines.v + o->lines.at, lines, l->lines.n))
            return at;
    }
    uint32_t at = (uint32_t)d->locations.n++;
    location *to = &d->locations.v[at];
    *to = *l;
    to->lines.at = (uint32_t)d->lines.n;
    if (l->lines.n && d->lines.v + d->lines.n != lines)
        memmove(d->lines.v + d->lines.n, lines, l->lines.n * sizeof *lines);
    d->lines.n += l->lines.n;
    hash_put(x, k, h, at);
    return at;
}

/* ---- stacks ---- */

ALWAYS_INLINE uint64_t pp_stack_hash(const u32s *frames_of, uint64_t seed)
{
    return hash_bytes(frames_of->v, frames_of->n * sizeof *frames_of->v, seed);
}

/* Requires an index with room for every row. */
ALWAYS_INLINE uint32_t pp_stack_take(pp *r, const u32s *s, uint64_t h)
{
    dict *d = &r->b.m.dict;
    hash_index *x = &r->stack_index;
    if (!s->n) return 0;
    uint32_t k = hash_first(x, h);
    for (uint32_t at; hash_next(x, &k, h, &at); k++) {
        span o = dict_stack(d, at);
        if (o.n == s->n && !memcmp(d->frames.v + o.at, s->v, s->n * sizeof *s->v)) return at;
    }
    if (UNLIKELY(d->frames.n + s->n > UINT32_MAX || !vec_reserve(r->a, &d->frames, s->n) ||
                 !vec_reserve(r->a, &d->stacks, 1)))
        return r->b.failed = true, 0;
    memcpy(d->frames.v + d->frames.n, s->v, s->n * sizeof *s->v);
    d->frames.n += s->n;
    uint32_t at = (uint32_t)(d->stacks.n - 1);
    d->stacks.v[d->stacks.n++] = (uint32_t)d->frames.n;
    hash_put(x, k, h, at);
    return at;
}
