/* Takes a wall-clock round: scans the threads (wall_scan.c), signals the running ones, waits for
 * them once, and writes the round to the batch. */
#include "agent/wall.h"

#include "agent/seccomp.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include "agent/wall_scan.h"
#include "base/ban.h"

enum {
    /* size of all slots; if there are more threads than slots, they are signalled in groups */
    SLOTS_BYTES = 2 << 20,
    CACHE_BYTES =
        /* stacks of unchanged threads; when it is full, a new one is opened and all stacks are
         * taken again */
    1 << 20,
    SAMPLE_WAIT_NS = 100 * 1000000, /* long, because a thread that waits for a CPU responds late */
};

/* added to the target while signals are sent, so that no handler wakes the sampler */
enum { NOT_YET = 1 << 30 };

static uint64_t clock_now(clockid_t c)
{
    struct timespec t;
    clock_gettime(c, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void *map(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static bool open_slots(uint32_t max_frames)
{
    handler.slot_bytes = slot_bytes(max_frames);
    handler.n_slots = (uint32_t)(SLOTS_BYTES / handler.slot_bytes);
    if (!handler.slots) handler.slots = map(SLOTS_BYTES);
    return handler.slots != NULL;
}

/* Reads through the kernel, because another thread may unmap the memory. */
static bool read_self(const memory *m, uint64_t at, void *p, size_t n)
{
    struct iovec to = {p, n}, from = {(void *)(uintptr_t)at, n};
    (void)m;
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)n;
}

void wall_close(wall *w)
{
    if (!w) return;
    batch_close(w->cache);
    if (w->tids) munmap(w->tids, THREADS_MAX * sizeof *w->tids);
    if (w->entries) munmap(w->entries, THREADS_MAX * sizeof *w->entries);
    if (w->copy) munmap(w->copy, BLOCKED_COPY);
    free(w->raw);
    free(w);
}

wall *wall_open(const wall_opts *o, err *e)
{
    wall *w = calloc(1, sizeof *w);
    if (!w || !open_slots(o->max_frames) || !(w->cache = batch_open(CACHE_BYTES, 0)) ||
        !(w->tids = map(THREADS_MAX * sizeof *w->tids)) ||
        !(w->entries = map(THREADS_MAX * sizeof *w->entries)) || !(w->copy = map(BLOCKED_COPY)) ||
        !(w->raw = calloc(1, raw_bytes(o->max_frames)))) {
        err_set(e, ERR_MEMORY, "not enough memory for wall-clock samples");
        wall_close(w);
        return NULL;
    }
    w->o = *o;
    w->cache_number = 1;
    w->self = (memory){.read = read_self};
    return w;
}

void wall_move(wall *w, int sig) { w->o.sig = sig; }

void wall_skip(wall *w, uint64_t rounds) { w->tick += rounds; }

/* Forgets pending slots, which belong to the parent, and abandons the cache, which the sampler may
 * have been changing. */
void wall_forked(wall *w)
{
    w->left[w->n_left++ % WALL_LEFT] = w->cache;
    w->cache = NULL;
    madvise(handler.slots, SLOTS_BYTES, MADV_DONTNEED);
    atomic_store(&handler.slots_done, 0);
    atomic_store(&handler.target, 0);
    w->n = w->target = w->slots_used = 0;
}

/* Replaces a full cache.  Indexes into the old one are invalid; all stacks are taken again. */
static void new_cache(wall *w)
{
    batch *b = batch_open(CACHE_BYTES, 0);
    if (!b) return;
    batch_close(w->cache);
    w->cache = b;
    w->cache_number++;
}

/* ---- send ---- */

/* Returns a free slot; NO_THREAD when all are pending from earlier rounds. */
static uint32_t take_slot(wall *w)
{
    for (uint32_t i = w->next_slot; i < handler.n_slots; i++) {
        if (slot_state_of(handler_slot(&handler, i)) != SLOT_FREE) continue;
        if (i >= w->slots_used) w->slots_used = i + 1;
        w->next_slot = i + 1;
        return i;
    }
    return NO_THREAD;
}

/* Sends with the lock of the thread, so that a thread that is about to exec gets no signal. */
static bool send(const wall *w, thread_record *t, uint64_t ticket)
{
    siginfo_t si = {.si_code = SI_QUEUE};
    uint32_t pid = atomic_load(&handler.pid);
    si.si_pid = (pid_t)pid;
    si.si_uid = getuid();
    si.si_value.sival_ptr = (void *)(uintptr_t)ticket;
    pthread_mutex_lock(&t->lock);
    bool sent = !t->no_signals && t->state == THREAD_LIVE &&
                syscall(SYS_rt_tgsigqueueinfo, pid, t->pub.tid, w->o.sig, &si) == 0;
    pthread_mutex_unlock(&t->lock);
    return sent;
}

static bool signal_thread(wall *w, round_entry *s)
{
    uint32_t i = take_slot(w);
    if (i == NO_THREAD) return false;
    slot *x = handler_slot(&handler, i);
    x->thread = thread_position(s->t);
    x->stack = s->t->pub.stack;
    uint64_t ticket = slot_arm(x, i);
    s->slot = i;
    s->status = ENTRY_SIGNALLED;
    w->target++;
    if (send(w, s->t, ticket)) return true;
    slot_free(x);
    w->target--;
    s->status = ENTRY_SKIPPED; /* it has ended, or is about to exec */
    return true;
}

/* ---- wait ---- */

/* The sampler stores target before it reads slots_done, and a handler increments slots_done before
 * it reads target: at least one of them sees the other's change. */
static void wait_for_samples(const wall *w)
{
    atomic_store(&handler.target, w->target);
    uint64_t end = clock_now(CLOCK_MONOTONIC) + SAMPLE_WAIT_NS;
    struct timespec until = {(time_t)(end / 1000000000), (long)(end % 1000000000)};
    for (;;) {
        uint32_t slots_done = atomic_load(&handler.slots_done);
        if (slots_done == w->target) return;
        long r = syscall(SYS_futex, &handler.slots_done, FUTEX_WAIT_BITSET_PRIVATE, slots_done,
                         &until, NULL, FUTEX_BITSET_MATCH_ANY);
        if (r != 0 && errno == ETIMEDOUT) return;
    }
}

/* ---- collect ---- */

static bool into_cache(wall *w, const raw_sample *raw, round_entry *s)
{
    agent_link l = {0};
    s->link = s->attrs = 0;
    if (!batch_stack(w->cache, raw->pcs, raw->n, raw->end, true, &s->stack)) return false;
    if (!raw->in_context) return true;
    if (raw->span.has_ids) {
        memcpy(l.trace_id, raw->span.trace_id, sizeof l.trace_id);
        memcpy(l.span_id, raw->span.span_id, sizeof l.span_id);
        if (!batch_link(w->cache, &l, &s->link)) return false;
    }
    return batch_attrs(w->cache, raw->span.attrs, raw->span.n_attrs, &s->attrs);
}

static void count_stack(const raw_sample *raw, capture_counts *n)
{
    n->guessed += raw->guesses;
    n->truncated += raw->end == UNWIND_CAPPED;
    n->no_register += raw->end == UNWIND_NO_REGISTER;
    n->broken += raw->end > UNWIND_CAPPED && raw->end != UNWIND_NO_REGISTER;
}

void wall_store(wall *w, const raw_sample *raw, round_entry *s, capture_counts *n)
{
    thread_history *r = &s->t->history;
    count_stack(raw, n);
    if (!into_cache(w, raw, s)) {
        s->stack = NO_THREAD;
        n->batch_full++;
    }
    r->cache = w->cache_number;
    r->stack = s->stack;
    r->link = s->link;
    r->attrs = s->attrs;
}

static void collect_sample(wall *w, round_entry *s, capture_counts *n)
{
    slot *x = handler_slot(&handler, s->slot);
    s->status = ENTRY_SAMPLED;
    s->time = x->raw.time;
    if (!s->t->about.pthread) s->t->about.pthread = x->raw.pthread;
    wall_store(w, &x->raw, s, n);
    slot_free(x);
}

/* On timeout the slot stays reserved for the thread until its signal arrives. */
static void collect(wall *w, round_entry *s, capture_counts *n)
{
    slot *x = handler_slot(&handler, s->slot);
    if (slot_give_up(x)) {
        w->target--;
    } else if (slot_state_of(x) == SLOT_DONE) {
        collect_sample(w, s, n);
        return;
    }
    s->t->history.slot = s->slot + 1;
    s->status = ENTRY_STUCK;
}

/* Signals the threads in groups of as many as there are slots. */
static void signal_all(wall *w, capture_counts *n)
{
    for (size_t first = 0, i = 0; first < w->n; first = i) {
        uint32_t signalled = 0;
        atomic_store(&handler.target, w->target + NOT_YET);
        w->next_slot = 0; /* the lowest first, so that few pages are used */
        for (; i < w->n; i++) {
            if (w->entries[i].status != ENTRY_TO_SIGNAL) continue;
            if (!signal_thread(w, &w->entries[i])) break;
            signalled++;
        }
        wait_for_samples(w);
        for (size_t k = first; k < i; k++)
            if (w->entries[k].status == ENTRY_SIGNALLED) collect(w, &w->entries[k], n);
        if (!signalled && i < w->n)
            w->entries[i++].status = ENTRY_STUCK; /* all slots are pending */
    }
}

bool wall_take(wall *w, capture_counts *n)
{
    if (!w->cache || w->cache->mem.used > CACHE_BYTES / 2) new_cache(w);
    if (!w->cache) return false;
    w->tick++;
    if (!wall_scan(w, n)) return false;
    if (seccomp_seen()) return true; /* no thread may be signalled any more */
    w->time =
        /* the time of unsignalled threads, close to that of the others */
        clock_now(CLOCK_REALTIME);
    w->round++;
    signal_all(w, n);
    n->wall_rounds++;
    return true;
}

/* ---- write ---- */

static bool copy_stack(const wall *w, const round_entry *s, batch *b, agent_sample *out)
{
    const batch *from = w->cache;
    if (s->stack == NO_THREAD) return batch_stack(b, NULL, 0, UNWIND_WHOLE, false, &out->stack);
    const agent_stack *k = &from->stacks.v[s->stack];
    const agent_attrs *a = &from->attrs.v[s->attrs];
    return batch_stack(b, &from->pcs.v[k->first], k->n, k->end, true, &out->stack) &&
           (!s->link || batch_link(b, &from->links.v[s->link], &out->link)) &&
           (!s->attrs || batch_attrs(b, &from->attr_bytes.v[a->first], a->n, &out->attrs));
}

/* Returns the number of rounds that a sample represents: those since the thread's last one. */
static uint64_t rounds_of(const wall *w, const thread_history *r)
{
    return r->tick ? w->tick - r->tick : 1;
}

static bool write_entry(const wall *w, const round_entry *s, batch *b)
{
    agent_sample out = {.time = s->status == ENTRY_SAMPLED ? s->time : w->time,
                        .value = (int64_t)(rounds_of(w, &s->t->history) * w->o.interval),
                        .cpu_ns = s->cpu,
                        .round = w->round,
                        .kind = SAMPLE_WALL,
                        .state = s->state,
                        .reused = s->status == ENTRY_UNCHANGED};
    memcpy(out.wchan, s->wchan, sizeof out.wchan);
    if (!copy_stack(w, s, b, &out) || !batch_thread(b, &s->t->about, &out.thread)) return false;
    agent_sample *added = vec_push(&b->mem, &b->samples);
    if (!added) return false;
    *added = out;
    s->t->history.tick = w->tick;
    return true;
}

void wall_write(const wall *w, batch *b, capture_counts *n)
{
    for (size_t i = 0; i < w->n; i++) {
        const round_entry *s = &w->entries[i];
        if (s->status == ENTRY_SKIPPED || s->t->suspended)
            continue; /* suspended after the scan, in the agent's code */
        n->wall_reused += s->status == ENTRY_UNCHANGED;
        n->wall_walked += s->status == ENTRY_WALKED;
        n->blocked += s->status == ENTRY_BLOCKED;
        n->wall_unanswered += s->status == ENTRY_STUCK;
        if (write_entry(w, s, b))
            n->wall_samples++;
        else
            n->batch_full++;
    }
}
