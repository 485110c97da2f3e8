/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * bpf/span.bpf.h - reads the thread context (OTEP 4947) of the current thread, as span/peek_at.c
 * and ctx/tls.c do. */
#pragma once
#include "bpf/maps.bpf.h"

enum { TLS_TABLE = 8 }; /* offset from the thread pointer of the pointer to the table of blocks */

struct context_header {
    uint8_t trace_id[16], span_id[8];
    uint8_t valid, trace_flags;
    uint16_t size;
    uint32_t unused; /* not read */
} __attribute__((aligned(8)));

enum { CONTEXT_BYTES = 28 };

INLINE bool user_word(uint64_t at, uint64_t *v)
{
    return !bpf_probe_read_user(v, sizeof *v, (const void *)at);
}

/* Sets *at to the address of the variable in this thread.  The entries of glibc's table have 16
 * bytes, their number is in the entry before entry 0; musl's have 8, their number is in entry 0. */
INLINE bool find_variable(struct task_struct *t, const struct bpf_space *p, uint64_t *at)
{
    uint64_t tp = t->thread.fsbase, table, count, block;
    bool musl = p->span == BPF_SPAN_MUSL;
    *at = tp + (uint64_t)p->span_offset;
    if (p->span == BPF_SPAN_STATIC) return true;
    if (!user_word(tp + TLS_TABLE, &table) || !table) return false;
    if (!user_word(musl ? table : table - 16, &count) || p->span_module > count) return false;
    if (!user_word(table + p->span_module * (musl ? 8 : 16), &block)) return false;
    *at = block + (uint64_t)p->span_offset;
    return block && block != ~0ull;
}

/* Sends the attributes once.  Returns their id; 0: none, or they were lost. */
static __attribute__((noinline)) uint64_t take_attrs(struct scratch *s, uint64_t record, uint32_t n)
{
    uint64_t h = n;
    uint32_t now = generation;
    if (!s || !n) return 0;
    if (n > BPF_ATTRS_MAX) n = BPF_ATTRS_MAX;
    uint32_t n_words = (n + 7) / 8;
    s->attrs.body[(n_words - 1) % 128] = 0;
    if (bpf_probe_read_user(s->attrs.body, n, (const void *)(record + CONTEXT_BYTES))) return 0;
    for (uint32_t i = 0; i < 128; i++) {
        if (i >= n_words) break;
        h = mix(h, s->attrs.body[i]);
    }
    h = h & ~BPF_STACK_UNIQUE ? h & ~BPF_STACK_UNIQUE : 1;
    uint32_t *sent = bpf_map_lookup_elem(&known, &h);
    if (sent && *sent == now) return h;
    s->attrs.head = (struct bpf_rec_attrs){.kind = BPF_REC_ATTRS, .bytes = n, .id = h};
    if (bpf_ringbuf_output(&ring, &s->attrs, sizeof s->attrs.head + 8 * n_words, wakeup())) {
        s->n.lost_attrs++;
        return 0;
    }
    bpf_map_update_elem(&known, &h, &now, BPF_ANY);
    return h;
}

INLINE bool has_ids(const struct context_header *h)
{
    const uint64_t *w = (const uint64_t *)h; /* trace_id, span_id */
    return w[0] | w[1] | w[2];
}

INLINE bool same(const struct context_header *a, const struct context_header *b)
{
    const uint64_t *v = (const uint64_t *)a, *w = (const uint64_t *)b;
    return v[0] == w[0] && v[1] == w[1] && v[2] == w[2] && v[3] == w[3];
}

/* Reads the ids.  The thread itself does not run meanwhile: it may have been interrupted in a change,
 * which the flag shows.  Its publisher may also write from another thread, so the pointer and the
 * whole header are read again after the attributes.  A flag alone could be valid for another span by
 * then.  Without ids, a record that is not valid is that of a thread outside of all spans. */
static __attribute__((noinline)) void read_span(struct scratch *s, struct task_struct *t,
                                                const struct bpf_space *p, struct bpf_ids *out)
{
    uint64_t at, record, again;
    struct context_header h = {0}, second = {0};
    if (!s || p->span == BPF_SPAN_NONE || !find_variable(t, p, &at)) return;
    if (!user_word(at, &record) || !record || record % 2) return;
    if (bpf_probe_read_user(&h, CONTEXT_BYTES, (const void *)record)) return;
    if (h.valid != 1) {
        s->n.spans_torn += has_ids(&h);
        return;
    }
    uint64_t attrs = take_attrs(s, record, h.size);
    if (!user_word(at, &again) || again != record ||
        bpf_probe_read_user(&second, CONTEXT_BYTES, (const void *)record) || !same(&h, &second)) {
        s->n.spans_torn++;
        return;
    }
    s->n.spans++;
    __builtin_memcpy(out->trace_id, h.trace_id, 16);
    __builtin_memcpy(out->span_id, h.span_id, 8);
    out->trace_flags = h.trace_flags;
    out->has = 1;
    out->attrs = attrs;
}
