/* Looks up an item's dictionary in the file by content hashes (known.h). Lookups miss the
 * processor's caches, so slots are prefetched in batches. */
#include "store/known.h"

#include "store/content.h"
#include "store/huge.h"
#include "base/ban.h"

enum { KNOWN_MIN = 1 << 10, KNOWN_MAX = 1 << 18 };
enum { AHEAD = 16 }; /* locations whose slots are prefetched */

typedef XXH128_hash_t hash128;

/* Assigns h in two halves. For *to = h gcc would assemble the 16 bytes in memory and stall. */
static inline void set(hash128 *to, hash128 h)
{
    __asm__("" : "+r"(h.low64), "+r"(h.high64));
    to->low64 = h.low64;
    to->high64 = h.high64;
}

void known_free(known *k)
{
    free(k->locations.v);
    free(k->stacks.v);
}

/* ---- tables ---- */

/* Returns the slot of the hash, or a free slot for it. */
static known_slot *slot_of(const known_table *t, hash128 h)
{
    size_t i = (size_t)h.low64 & t->mask;
    while (t->v[i].at && (t->v[i].low != h.low64 || t->v[i].high != (uint32_t)h.high64))
        i = (i + 1) & t->mask;
    return &t->v[i];
}

/* Makes room for one more entry. A table at its maximum size is cleared; entries in use are soon
 * added again. */
static bool room(known_table *t)
{
    if (t->v && t->n < (t->mask + 1) / 4 * 3) return true;
    if (t->v && t->mask + 1 == KNOWN_MAX) {
        memset(t->v, 0, KNOWN_MAX * sizeof *t->v);
        t->n = 0;
        return true;
    }
    size_t n = t->v ? (t->mask + 1) * 2 : KNOWN_MIN;
    known_table to = {.v = huge_zero(n * sizeof *to.v), .n = t->n, .mask = n - 1};
    if (!to.v) return false;
    for (size_t i = 0; t->v && i <= t->mask; i++)
        if (t->v[i].at) *slot_of(&to, (hash128){t->v[i].low, t->v[i].high}) = t->v[i];
    free(t->v);
    *t = to;
    return true;
}

static uint32_t find(const known_table *t, hash128 h) { return t->v ? slot_of(t, h)->at : 0; }

static bool remember(known_table *t, hash128 h, uint32_t at)
{
    if (!room(t)) return false;
    known_slot *s = slot_of(t, h);
    t->n += !s->at;
    *s = (known_slot){h.low64, (uint32_t)h.high64, at};
    return true;
}

/* ---- hashes of an item's tables ---- */

typedef struct hasher {
    const dict *d;
    uint64_t seed;
    hash128 *string, *attribute, *mapping, *function;
    buf value; /* of the current attribute */
} hasher;

static hash128 hash_of(const hasher *x, const void *p, size_t n)
{
    return XXH3_128bits_withSeed(n ? p : "", n, x->seed);
}

static bool hasher_open(hasher *x, const model *m, uint64_t seed, arena *a)
{
    const dict *d = &m->dict;
    *x = (hasher){.d = d,
                  .seed = seed,
                  .string = arena_array(a, d->strings.n, sizeof(hash128)),
                  .attribute = arena_array(a, d->attributes.n, sizeof(hash128)),
                  .mapping = arena_array(a, d->mappings.n, sizeof(hash128)),
                  .function = arena_array(a, d->functions.n, sizeof(hash128))};
    return x->string && x->attribute && x->mapping && x->function;
}

static hash128 with_attributes(const hasher *x, hash128 h, span attrs)
{
    for (uint32_t i = 0; i < attrs.n; i++) {
        hash128 both[] = {h, x->attribute[x->d->attr_refs.v[attrs.at + i]]};
        h = hash_of(x, both, sizeof both);
    }
    return h;
}

static hash128 of_attribute(hasher *x, const attribute *t)
{
    buf_reset(&x->value);
    put_any(&x->value, &t->value);
    hash128 v[] = {x->string[t->key], x->string[t->unit], hash_of(x, x->value.p, x->value.n)};
    return hash_of(x, v, sizeof v);
}

static hash128 of_mapping(const hasher *x, const mapping *m)
{
    hash128 file = x->string[m->filename];
    uint64_t v[] = {m->memory_start, m->memory_limit, m->file_offset,
                    file.low64,      file.high64,     m->attrs.n};
    return with_attributes(x, hash_of(x, v, sizeof v), m->attrs);
}

static hash128 of_function(const hasher *x, const function *f)
{
    hash128 name = x->string[f->name], system = x->string[f->system_name],
            file = x->string[f->filename];
    uint64_t v[] = {name.low64, name.high64, system.low64,           system.high64,
                    file.low64, file.high64, (uint64_t)f->start_line};
    return hash_of(x, v, sizeof v);
}

/* Hashes line by line, the first one together with the location itself: most locations have one
 * line. */
static hash128 of_location(const hasher *x, const location *l)
{
    hash128 in = x->mapping[l->mapping];
    uint64_t v[8] = {l->address, in.low64, in.high64, (uint64_t)l->lines.n << 32 | l->attrs.n};
    hash128 h = {0, 0};
    uint32_t i = 0;
    do {
        if (i < l->lines.n) {
            const line *y = &x->d->lines.v[l->lines.at + i];
            v[4] = (uint64_t)y->line;
            v[5] = (uint64_t)y->column;
            v[6] = x->function[y->function].low64;
            v[7] = x->function[y->function].high64;
        }
        h = hash_of(x, v, sizeof v);
        v[0] = h.low64;
        v[1] = h.high64;
    } while (++i < l->lines.n);
    return with_attributes(x, h, l->attrs);
}

static void hash_tables(hasher *x, hash128 *out)
{
    const dict *d = x->d;
    for (size_t i = 0; i < d->strings.n; i++)
        set(&x->string[i], hash_of(x, d->strings.v[i].p, d->strings.v[i].n));
    for (size_t i = 0; i < d->attributes.n; i++)
        set(&x->attribute[i], of_attribute(x, &d->attributes.v[i]));
    for (size_t i = 0; i < d->mappings.n; i++)
        set(&x->mapping[i], of_mapping(x, &d->mappings.v[i]));
    for (size_t i = 0; i < d->functions.n; i++)
        set(&x->function[i], of_function(x, &d->functions.v[i]));
    for (size_t i = 0; i < d->locations.n; i++) set(&out[i], of_location(x, &d->locations.v[i]));
}

/* ---- an item ---- */

/* Sets to[] to the numbers of the stack's locations in the file, + 1. Returns false when one is
 * new. */
static bool translate(const known *k, span s, uint32_t *to)
{
    const uint32_t *from = refs_at(&k->g.m->dict.frames, s), *map = k->g.location;
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < s.n; i++) {
        to[i] = map[from[i]];
        least = to[i] < least ? to[i] : least;
    }
    return least != 0;
}

static hash128 hash_frames(const known *k, uint32_t n)
{
    return XXH3_128bits_withSeed(k->frames.v, n * sizeof *k->frames.v, k->seed);
}

/* Allocates memory for the largest stack plus one entry, because an empty stack is hashed, too. */
static bool frames_room(known *k, arena *a)
{
    const dict *d = &k->g.m->dict;
    uint32_t most = 0;
    for (uint32_t i = 0; i < dict_n_stacks(d); i++) {
        uint32_t n = dict_stack(d, i).n;
        most = n > most ? n : most;
    }
    k->frames = (u32s){0};
    return vec_reserve(a, &k->frames, (size_t)most + 1);
}

/* Looks up the item's locations in the file. */
static void find_locations(known *k, size_t n)
{
    const known_table *t = &k->locations;
    if (!t->v) return;
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n) __builtin_prefetch(&t->v[k->location[i + AHEAD].low64 & t->mask]);
        k->g.location[i] = find(t, k->location[i]);
    }
}

/* Looks up the item's stacks in the file. All slots are prefetched before the first is read. */
static bool find_stacks(known *k, arena *a)
{
    size_t n = dict_n_stacks(&k->g.m->dict);
    hash128 *h = arena_array(a, n, sizeof *h);
    if (!h || !frames_room(k, a)) return false;
    if (!k->stacks.v) return true;
    for (uint32_t i = 0; i < n; i++) {
        span s = dict_stack(&k->g.m->dict, i);
        k->g.stack[i] = translate(k, s, k->frames.v);
        if (!k->g.stack[i]) continue;
        set(&h[i], hash_frames(k, s.n));
        __builtin_prefetch(&k->stacks.v[h[i].low64 & k->stacks.mask]);
    }
    for (uint32_t i = 0; i < n; i++)
        if (k->g.stack[i]) k->g.stack[i] = find(&k->stacks, h[i]);
    return true;
}

const known_hashes *known_hash(uint64_t seed, const model *m, arena *a)
{
    hasher x;
    hash128 *out = arena_array(a, m->dict.locations.n, sizeof *out);
    if (!out || !hasher_open(&x, m, seed, a)) return NULL;
    hash_tables(&x, out);
    bool ok = !x.value.failed;
    buf_free(&x.value);
    return ok ? out : NULL;
}

bool known_begin(known *k, builder *to, const model *m, const known_hashes *h, arena *a)
{
    k->location = h;
    if (!h || !importer_init(&k->g, to, m, a)) return false;
    find_locations(k, m->dict.locations.n);
    return find_stacks(k, a);
}

/* Adds the new locations of a stack, from the root, so that shared frames get low numbers. */
static bool add_locations(known *k, span s)
{
    for (uint32_t i = s.n; i-- > 0;) {
        uint32_t l = k->g.m->dict.frames.v[s.at + i];
        if (k->g.location[l]) continue;
        uint32_t id = importer_location(&k->g, l);
        if (k->g.to->failed || !remember(&k->locations, k->location[l], id + 1)) return false;
    }
    return true;
}

/* Adds a stack that is new to the file, or was when the item began. */
static uint32_t make_stack(known *k, uint32_t i)
{
    span s = dict_stack(&k->g.m->dict, i);
    if (!translate(k, s, k->frames.v) && !(add_locations(k, s) && translate(k, s, k->frames.v)))
        return k->g.to->failed = true, 0;
    hash128 h = hash_frames(k, s.n);
    uint32_t at = find(&k->stacks, h);
    if (at) return at - 1;
    for (uint32_t j = 0; j < s.n; j++) k->frames.v[j]--;
    at = builder_stack(k->g.to, k->frames.v, s.n);
    if (!remember(&k->stacks, h, at + 1)) k->g.to->failed = true;
    return at;
}

uint32_t known_stack(known *k, uint32_t i)
{
    uint32_t *slot = &k->g.stack[i];
    if (!*slot) *slot = make_stack(k, i) + 1;
    return *slot - 1;
}
