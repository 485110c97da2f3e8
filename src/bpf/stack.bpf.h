/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * bpf/stack.bpf.h - takes the stacks of the current thread and sends them: a stack once, as long as
 * user space remembers it, and a walk that was handed over always, with a copy of the stack. */
#pragma once
#include "bpf/thread.bpf.h"
#include "bpf/walk.bpf.h"

enum { TRACING_MAX = 16 };

struct copier {
    struct scratch *s;
    uint64_t from, n; /* bytes of the stack */
    uint64_t to;      /* byte of s->body */
    uint64_t got;
};

/* Copies one page.  All positions follow from the number of the page, because the verifier would
 * follow a running position through every iteration. */
static long copy_page(uint32_t i, void *ctx)
{
    struct copier *c = ctx;
    uint64_t skip = i ? (uint64_t)i * BPF_PAGE - c->from % BPF_PAGE : 0;
    uint64_t at = c->from + skip, n = BPF_PAGE - at % BPF_PAGE, to = c->to + skip;
    if (skip >= c->n) return 1;
    if (n > c->n - skip) n = c->n - skip;
    if (to > sizeof c->s->body - BPF_PAGE || n > BPF_PAGE) return 1;
    if (bpf_probe_read_user((char *)c->s->body + to, (uint32_t)n, (const void *)at)) return 1;
    c->got = skip + n;
    return 0;
}

/* Appends up to `bytes` of the stack from below sp on, as far as it is readable.  The red zone may be missing.  A
 * global function: the verifier checks it once. */
__attribute__((noinline)) int copy_stack(struct scratch *s, uint64_t sp, uint32_t words_before,
                                         uint32_t bytes)
{
    uint64_t from = (sp - RED_ZONE) & ~7ull;
    if (!s || words_before > 2 * BPF_FRAMES_MAX) return 0;
    struct copier c = {.s = s, .from = from, .n = bytes, .to = 8ull * words_before};
    bpf_loop(BPF_COPY_MAX / BPF_PAGE + 1, copy_page, &c, 0);
    if (!c.got && from / BPF_PAGE != sp / BPF_PAGE) {
        c.from = sp & ~(uint64_t)(BPF_PAGE - 1);
        bpf_loop(BPF_COPY_MAX / BPF_PAGE + 1, copy_page, &c, 0);
    }
    s->head.base = c.from;
    s->head.bytes = (uint32_t)c.got;
    return 0;
}

/* Stores the registers of the frame at which the walk stopped. */
static __attribute__((noinline)) void put_registers(struct scratch *s)
{
    struct walk *w = &s->w;
    struct bpf_regs *to = &s->head.regs;
    s->head.flags = w->exact ? BPF_REG_EXACT | BPF_REG_CONTEXT : 0;
    if (w->exact && w->context) {
        uint64_t g[17];
        if (bpf_probe_read_user(g, sizeof g, (const void *)w->context))
            s->head.flags = BPF_REG_EXACT;
        to->gpr[0] = g[13], to->gpr[1] = g[12], to->gpr[2] = g[14], to->gpr[3] = g[11];
        to->gpr[4] = g[9], to->gpr[5] = g[8], to->gpr[6] = g[10], to->gpr[7] = g[15];
        for (int i = 0; i < 8; i++) to->gpr[8 + i] = g[i];
    }
    to->pc = w->pc;
    to->sp = w->sp;
    to->fp = w->fp;
    to->bx = w->bx;
}

INLINE void count_end(struct scratch *s)
{
    struct bpf_kernel_counts *n = &s->n;
    const struct walk *w = &s->w;
    n->frames += w->n;
    n->guesses += w->guesses;
    n->windows += w->n_windows;
    n->looked_up += w->n_looked_up;
    switch (w->hand) {
    case BPF_HAND_NONE: break;
    case BPF_HAND_SPACE: n->no_space++; return;
    case BPF_HAND_TABLE: n->no_table++; return;
    case BPF_HAND_CODE: n->code++; return;
    default: n->no_register++; return;
    }
    switch (w->end) {
    case BPF_END_WHOLE: n->whole++; break;
    case BPF_END_CAPPED: n->capped++; break;
    case BPF_END_NO_RULE: n->no_rule++; break;
    case BPF_END_UNREADABLE: n->unreadable++; break;
    default: n->no_progress++; break;
    }
}

/* Sends the record whose size is `bytes` and begins at the stack or the copy.  Copies leave a quarter
 * of the ring for the observations, which are small. */
INLINE bool send_stack(struct scratch *s, bool copy, uint64_t bytes)
{
    long failed;
    if (bytes > sizeof s->body) return false;
    if (copy && bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > 3 * ring_quarter)
        failed = 1;
    else if (copy)
        failed = bpf_ringbuf_output(&ring, &s->head, sizeof s->head + bytes, wakeup());
    else
        failed = bpf_ringbuf_output(&ring, &s->head.stack, sizeof s->head.stack + bytes, wakeup());
    if (failed) s->n.lost_stacks++;
    return !failed;
}

/* Hashes the kernel addresses in s->body, which follow n_user others.  A global function: as part of
 * take_stack, the loop exceeds the limit of the verifier. */
__attribute__((noinline)) uint64_t hash_kernel(struct scratch *s, uint64_t h, uint32_t n_user,
                                               uint32_t n)
{
    if (!s) return h;
    for (uint32_t i = 0; i < BPF_FRAMES_MAX; i++) {
        if (i >= n) break;
        h = mix(h, s->body[(n_user + i) % 256]);
    }
    return h;
}

INLINE bool in_scheduler(uint64_t pc) { return pc >= scheduler_start && pc < scheduler_end; }

/* Returns how many frames of the stack that bpf_get_stack has put into s->body, after n_user others,
 * are above the scheduler.  A global function, as hash_kernel. */
__attribute__((noinline)) uint32_t find_scheduler(struct scratch *s, uint32_t n_user, uint32_t n)
{
    if (!s) return tracing_frames;
    for (uint32_t i = 0; i < TRACING_MAX; i++)
        if (i < n && in_scheduler(s->body[(n_user + i) % 256])) return i;
    return tracing_frames;
}

/* Puts the kernel stack after the n_user user frames.  At a switch, the frames of the tracepoint and
 * of this program are left out: the scheduler is the innermost function of a wait. */
INLINE uint32_t take_kernel_stack(void *ctx, struct scratch *s, uint32_t n_user, bool at_switch)
{
    uint32_t skip = at_switch ? tracing_frames & 0xff : 0;
    long got = bpf_get_stack(ctx, &s->body[n_user], 8 * BPF_FRAMES_MAX, skip);
    if (at_switch && scheduler_end && !in_scheduler(s->body[n_user])) {
        got = bpf_get_stack(ctx, &s->body[n_user], 8 * TRACING_MAX, 0);
        tracing_frames = find_scheduler(s, n_user, got > 0 ? (uint32_t)got / 8 : 0);
        got = bpf_get_stack(ctx, &s->body[n_user], 8 * BPF_FRAMES_MAX, tracing_frames & 0xff);
    }
    uint32_t n = got > 0 ? (uint32_t)got / 8 : 0;
    return n > BPF_FRAMES_MAX ? BPF_FRAMES_MAX : n;
}

/* Takes the stacks of the current thread `t` and sends them unless user space has them.  Returns
 * the id; 0: there is no stack.  `p`: at a switch, the state of the thread; otherwise NULL. */
INLINE uint64_t take_stack(void *ctx, struct scratch *s, struct task_struct *t,
                           struct bpf_space *space, struct thread *p, uint64_t time)
{
    struct walk *w = &s->w;
    uint32_t n_kernel = 0, now = generation;
    struct pt_regs *r = (struct pt_regs *)bpf_task_pt_regs(t);
    bool user = t->mm && !(t->flags & PF_KTHREAD) && r->cs == USER_CS;
    walk_reset(s);
    if (user) {
        walk_user(s, r, space);
        if (w->hand && p && !may_hand_over(p, time)) {
            w->hand = BPF_HAND_NONE;
            w->end = BPF_END_NO_RULE;
            s->n.stacks_cut++;
        }
        count_end(s);
    } else {
        s->n.no_user++;
    }
    uint32_t n_user = w->n;
    if (n_user > BPF_FRAMES_MAX) return 0;
    if (with_kernel) {
        n_kernel = take_kernel_stack(ctx, s, n_user, p != NULL);
        w->hash = hash_kernel(s, mix(w->hash, n_user), n_user, n_kernel);
    }
    uint8_t hand = w->hand;
    if (!n_user && !n_kernel && !hand) return 0;
    bool copy = hand || (ship && user);
    uint64_t id = mix(w->hash, w->end) & ~BPF_STACK_UNIQUE;
    if (copy) {
        id = BPF_STACK_UNIQUE | ++s->unique;
    } else {
        uint32_t *sent = bpf_map_lookup_elem(&known, &id);
        if (sent && *sent == now) return id;
    }
    s->head.stack = (struct bpf_rec_stack){.kind = BPF_REC_STACK,
                                           .tgid = (uint32_t)t->tgid,
                                           .tid = (uint32_t)t->pid,
                                           .end = w->end,
                                           .n_user = (uint8_t)n_user,
                                           .n_kernel = (uint8_t)n_kernel,
                                           .guesses = w->guesses,
                                           .id = id};
    uint64_t bytes = 8 * (uint64_t)(n_user + n_kernel);
    if (copy) {
        if (!hand) put_first_frame(s, r); /* ship */
        put_registers(s);
        /* Without tables, the walk may lack most of its frames.  The number of CPU samples is limited,
         * that of waits is not. */
        bool most = (hand == BPF_HAND_TABLE || hand == BPF_HAND_SPACE) && !p;
        copy_stack(s, w->sp, n_user + n_kernel, most ? BPF_COPY_MAX : copy_bytes);
        s->head.kind = BPF_REC_COPY;
        s->head.hand = hand;
        bytes += s->head.bytes;
    }
    bool sent_now = send_stack(s, copy, bytes);
    if (sent_now && !copy) {
        bpf_map_update_elem(&known, &id, &now, BPF_ANY);
        s->n.new_stacks++;
    }
    return id;
}
