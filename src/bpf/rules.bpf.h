/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * bpf/rules.bpf.h - finds the rule of a code address: mapping, bucket, row.  The searches are global
 * functions: the verifier checks them once, not in every state of the walk. */
#pragma once
#include "bpf/maps.bpf.h"

/* A rule (29 bits) with these bits. */
enum {
    FOUND_OUTSIDE = 1u << 29, /* the address is outside of all mappings; the rule is RULE_NONE */
    FOUND_ABSENT = 1u << 30,  /* its table is not loaded */
    FOUND_BARE = 1u << 31,    /* no code of the object has a rule: Go */
};

INLINE bool word_at(uint32_t i, uint64_t *v)
{
    uint32_t at = i / BPF_CHUNK_WORDS;
    struct chunk *c = bpf_map_lookup_elem(&words, &at);
    if (!c) return false;
    *v = c->v[i % BPF_CHUNK_WORDS];
    return true;
}

/* Returns the position in `ranges` of the range that contains pc, plus 1; 0: none. */
__attribute__((noinline)) uint32_t find_range(uint32_t first, uint32_t n, uint64_t pc)
{
    uint32_t lo = first, hi = first + n;
    for (int i = 0; i < 20 && lo < hi; i++) {
        uint32_t mid = lo + (hi - lo) / 2;
        struct bpf_range *r = bpf_map_lookup_elem(&ranges, &mid);
        if (!r) return 0;
        if (r->end <= pc)
            lo = mid + 1;
        else
            hi = mid;
    }
    struct bpf_range *r = bpf_map_lookup_elem(&ranges, &lo);
    return r && lo < first + n && pc >= r->start && pc < r->end ? lo + 1 : 0;
}

/* Returns the rule of a table at `pc`, an address as in the file, with RULE_PLT resolved. */
__attribute__((noinline)) uint32_t find_rule(uint32_t table, uint64_t pc)
{
    struct bpf_table *t = bpf_map_lookup_elem(&tables, &table);
    uint64_t pair, row = 0;
    if (!t || *(volatile uint32_t *)&t->state != BPF_TABLE_READY) return FOUND_ABSENT;
    uint64_t at = pc - t->base, bucket = at >> (t->shift & 63);
    uint32_t rows = t->rows;
    t->used = (uint32_t)(bpf_ktime_get_ns() / 1000000000);
    if (!t->n_buckets) return FOUND_BARE;
    if (pc < t->base || bucket >= t->n_buckets || !word_at(t->buckets + (uint32_t)bucket, &pair))
        return RULE_NONE;
    uint32_t lo = (uint32_t)pair, hi = (uint32_t)(pair >> 32);
    for (int i = 0; i < 24 && lo < hi; i++) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (!word_at(rows + mid, &row)) return RULE_NONE;
        if ((uint32_t)row <= at)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (!lo || !word_at(rows + lo - 1, &row)) return RULE_NONE;
    uint32_t rule = (uint32_t)(row >> 32);
    return rule_kind(rule) == RULE_PLT ? rule_in_stub(rule, pc) : rule;
}

/* Reads a wide rule. */
INLINE bool find_wide(uint32_t table, uint32_t i, struct bpf_wide *out)
{
    struct bpf_table *t = bpf_map_lookup_elem(&tables, &table);
    uint64_t *v = (uint64_t *)out;
    if (!t) return false;
    uint32_t at = t->wide + i * BPF_WIDE_WORDS;
    return word_at(at, &v[0]) && word_at(at + 1, &v[1]) && word_at(at + 2, &v[2]);
}
