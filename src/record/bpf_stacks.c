/* Two generations of stacks.  An entry that is used moves to the current one, so that the stack of
 * a thread that blocks for hours survives: bpf_dump looks it up at each flush. */
#include "record/bpf_stacks.h"

#include "base/ban.h"

static size_t n_words(const stack_entry *x)
{
    return (size_t)x->n_user + x->n_kernel +
           (x->n_bytes + sizeof(uintptr_t) - 1) / sizeof(uintptr_t);
}

static stack_entry *find_in(stack_generation *g, uint64_t id)
{
    if (!g->index.slot) return NULL;
    uint64_t h = hash_mix(g->index.seed, id);
    uint32_t i = hash_first(&g->index, h);
    for (uint32_t at; hash_next(&g->index, &i, h, &at); i++)
        if (g->entries.v[at].id == id) return &g->entries.v[at];
    return NULL;
}

bool bpf_stacks_put(bpf_stacks *s, stack_entry *x, const uintptr_t *words)
{
    stack_generation *g = &s->g[s->now];
    size_t n = n_words(x);
    if (find_in(g, x->id)) return true;
    if (!hash_index_room(&g->index, &g->a) || !vec_reserve(&g->a, &g->words, n) ||
        !vec_reserve(&g->a, &g->entries, 1))
        return false;
    x->first = (uint32_t)g->words.n;
    if (n) memcpy(g->words.v + g->words.n, words, n * sizeof *words);
    g->words.n += n;
    g->entries.v[g->entries.n++] = *x;
    uint64_t h = hash_mix(g->index.seed, x->id);
    uint32_t i = hash_first(&g->index, h);
    for (uint32_t at; hash_next(&g->index, &i, h, &at); i++) continue;
    hash_put(&g->index, i, h, (uint32_t)g->entries.n - 1);
    return true;
}

const stack_entry *bpf_stacks_find(bpf_stacks *s, uint64_t id, const uintptr_t **words)
{
    stack_generation *g = &s->g[s->now], *old = &s->g[!s->now];
    const stack_entry *x = find_in(g, id);
    if (!x && (x = find_in(old, id))) {
        stack_entry moved = *x;
        if (bpf_stacks_put(s, &moved, old->words.v + x->first))
            x = find_in(g, id);
        else
            g = old;
    }
    if (!x) return NULL;
    if (x->alias) return bpf_stacks_find(s, x->alias, words);
    *words = g->words.v + x->first;
    return x;
}

static void clear(stack_generation *g)
{
    arena_reset(&g->a);
    *g = (stack_generation){.a = g->a};
}

void bpf_stacks_rotate(bpf_stacks *s)
{
    s->now = !s->now;
    clear(&s->g[s->now]);
}

void bpf_stacks_close(bpf_stacks *s)
{
    for (size_t i = 0; i < 2; i++) arena_free(&s->g[i].a);
}
