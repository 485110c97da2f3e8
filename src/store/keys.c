/* A hash table of keys in two generations (keys.h). Open addressing without tombstones: removal
 * moves later entries up. */
#include "store/keys.h"

#include "base/ban.h"

enum { KEYS_MIN = 1024 };

static bool is_free(content_key k) { return !k.low && !k.high; }

/* The zero key marks a free slot, so a profile with this key gets another one. */
static content_key name_of(content_key k) { return is_free(k) ? (content_key){1, 1} : k; }

static size_t home_of(const keys_generation *g, content_key k, uint64_t seed)
{
    return (size_t)hash_mix(seed, k.low) & g->mask;
}

static content_key *slot_of(const keys_generation *g, content_key k, uint64_t seed)
{
    size_t i = home_of(g, k, seed);
    while (!is_free(g->v[i]) && !content_key_equal(g->v[i], k)) i = (i + 1) & g->mask;
    return &g->v[i];
}

static bool has(const keys_generation *g, content_key k, uint64_t seed)
{
    return g->v && !is_free(*slot_of(g, k, seed));
}

static bool grow(keys_generation *g, uint64_t seed)
{
    if (g->v && g->n * 4 < (g->mask + 1) * 3) return true;
    size_t n = g->v ? (g->mask + 1) * 2 : KEYS_MIN;
    keys_generation to = {.v = calloc(n, sizeof *to.v), .n = g->n, .mask = n - 1};
    if (!to.v) return false;
    for (size_t i = 0; g->v && i <= g->mask; i++)
        if (!is_free(g->v[i])) *slot_of(&to, g->v[i], seed) = g->v[i];
    free(g->v);
    *g = to;
    return true;
}

bool keys_has(const keys *k, content_key key)
{
    key = name_of(key);
    return has(&k->young, key, k->seed) || has(&k->old, key, k->seed);
}

bool keys_add(keys *k, content_key key)
{
    key = name_of(key);
    if (keys_has(k, key)) return true;
    if (k->max && k->young.n >= k->max / 2) {
        free(k->old.v);
        k->old = k->young;
        k->young = (keys_generation){0};
    }
    if (!grow(&k->young, k->seed)) return false;
    *slot_of(&k->young, key, k->seed) = key;
    k->young.n++;
    return true;
}

void keys_turn(keys *k)
{
    if (!k->old.v) return;
    keys_generation g = k->old;
    k->old = k->young;
    k->young = g;
}

/* Removes a key. Moves later entries of its run into the gap. */
static void take_out(keys_generation *g, content_key key, uint64_t seed)
{
    if (!has(g, key, seed)) return;
    size_t hole = (size_t)(slot_of(g, key, seed) - g->v);
    for (size_t i = (hole + 1) & g->mask; !is_free(g->v[i]); i = (i + 1) & g->mask) {
        size_t home = home_of(g, g->v[i], seed);
        if (((i - home) & g->mask) < ((i - hole) & g->mask)) continue;
        g->v[hole] = g->v[i];
        hole = i;
    }
    g->v[hole] = (content_key){0};
    g->n--;
}

void keys_remove(keys *k, content_key key)
{
    take_out(&k->young, name_of(key), k->seed);
    take_out(&k->old, name_of(key), k->seed);
}

void keys_free(keys *k)
{
    free(k->young.v);
    free(k->old.v);
    *k = (keys){.max = k->max, .seed = k->seed};
}
