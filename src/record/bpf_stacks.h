/* record/bpf_stacks.h - stacks and attributes that the kernel has sent, by id.
 *
 * The kernel sends each once and then refers to it.  Two generations are kept: an entry that is
 * looked up moves to the current one, and bpf_stacks_rotate() drops the previous one. */
#pragma once
#include "base/hash.h"
#include "base/vec.h"
#include "record/bpf.h"

typedef struct stack_entry {
    uint64_t id;
    uint64_t alias; /* != 0: same as this id */
    uint32_t first; /* words[first ..): user addresses, kernel addresses; or bytes */
    uint16_t n_user, n_kernel;
    uint16_t n_bytes; /* of attributes */
    uint8_t end;
    uint32_t guesses;
} stack_entry;

typedef struct stack_generation {
    arena a;
    VEC(stack_entry) entries;
    VEC(uintptr_t) words;
    hash_index index;
} stack_generation;

typedef struct bpf_stacks {
    stack_generation g[2];
    unsigned now; /* index of the current one */
} bpf_stacks;

void bpf_stacks_close(bpf_stacks *s);
void bpf_stacks_rotate(bpf_stacks *s);

/* Adds an entry with its words, which are copied; x->first is set.  An entry of the same id is
 * kept.  Returns false when out of memory. */
NODISCARD bool bpf_stacks_put(bpf_stacks *s, stack_entry *x, const uintptr_t *words);

/* Returns the entry, or NULL.  *words is valid until the next call. */
const stack_entry *bpf_stacks_find(bpf_stacks *s, uint64_t id, const uintptr_t **words);
