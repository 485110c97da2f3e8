/* Sends the exit notice: the last counters of a process, before it exits or execs.  The calling
 * thread may be in a signal handler with any lock of the program held, so nothing here locks or
 * allocates. */
#include "probe/probe.h"

#include "agent/task.h"

#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/ban.h"

enum { PATIENCE_MS = 2000 };

static uint64_t clock_ns(clockid_t c)
{
    struct timespec t = {0};
    clock_gettime(c, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static raw_sample *claim(probe *p, raw_kind kind, ring_cell **cell)
{
    *cell = ring_claim(&p->sink.ring);
    if (!*cell) return NULL;
    atomic_store_explicit(&(*cell)->writer, p->pid, memory_order_relaxed);
    raw_sample *raw = (raw_sample *)(void *)(*cell)->bytes;
    *raw = (raw_sample){
        .time = clock_ns(CLOCK_REALTIME), .kind = (uint8_t)kind, .proc_slot = p->sink.proc_slot};
    return raw;
}

static void wake(probe *p)
{
    atomic_fetch_add(p->sink.wake, 1);
    syscall(SYS_futex, p->sink.wake, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void commit(probe *p, ring_cell *cell)
{
    if (ring_commit(&p->sink.ring, cell)) wake(p);
}

/* ---- threads ---- */

static bool is_self(const thread_public *t) { return t->tid == (uint32_t)gettid(); }

static uint64_t send_thread_end(probe *p, const thread_public *t, raw_kind kind)
{
    ring_cell *cell;
    uint64_t cpu = is_self(t) ? clock_ns(CLOCK_THREAD_CPUTIME_ID) : task_cpu(t->tid);
    raw_sample *raw = NULL;
    if (!cpu) return 0;
    if (atomic_load(&t->sampled)) raw = claim(p, kind, &cell);
    if (!raw) {
        if (t->tid == p->pid) cpu -= p->proc_slot->thread_begin;
        if (atomic_load(&t->sampled)) return 0; /* the ring is full: only the remainder is lost */
        atomic_fetch_add(&p->proc_slot->unsampled, cpu);
        atomic_fetch_add(&p->proc_slot->n_unsampled, 1);
        return cpu;
    }
    raw->tid = t->tid;
    raw->cpu = cpu;
    if (is_self(t)) prctl(PR_GET_NAME, raw->name);
    commit(p, cell);
    return 0;
}

uint64_t exit_notice_thread(probe *p, const thread_public *t)
{
    return send_thread_end(p, t, RAW_THREAD_END);
}

static void each_thread(void *ctx, const thread_public *t)
{
    probe *p = ctx;
    uint64_t cpu = send_thread_end(p, t, RAW_PROCESS_END);
    p->unsampled += cpu;
    p->n_unsampled += cpu != 0;
}

/* ---- heap ---- */

typedef struct delivery {
    probe *p;
    int patience; /* ms to wait for space in the ring */
} delivery;

static void put_entry(void *ctx, const heap_entry *h)
{
    delivery *d = ctx;
    ring_cell *cell;
    raw_sample *raw;
    while (!(raw = claim(d->p, RAW_HEAP, &cell)) && d->patience > 0) {
        wake(d->p);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        d->patience--;
    }
    if (!raw) {
        atomic_fetch_add(&d->p->proc_slot->heap_lost, d->patience == 0);
        return;
    }
    uint32_t most = d->p->segment.head->max_frames;
    raw->n = h->n < most ? h->n : (uint16_t)most;
    raw->end = h->n < most ? h->end : UNWIND_CAPPED;
    memcpy(raw->pcs, h->pcs, raw->n * sizeof *raw->pcs);
    raw->heap[0] = h->alloc_objects, raw->heap[1] = h->alloc_space;
    raw->heap[2] = h->inuse_objects, raw->heap[3] = h->inuse_space;
    commit(d->p, cell);
}

void exit_notice_heap(probe *p, bool patient)
{
    delivery d = {p, patient ? PATIENCE_MS : -1};
    if (!p->heap) return;
    p->heap->each(put_entry, &d);
    heap_counts n = p->heap->counts();
    atomic_store(&p->proc_slot->heap_samples, n.samples);
    atomic_store(&p->proc_slot->heap_stacks_lost, n.stacks_lost);
    atomic_store(&p->proc_slot->heap_live_lost, n.live_lost);
    atomic_store(&p->proc_slot->heap_interval, n.interval);
}

void exit_notice_send(probe *p)
{
    atomic_store(&p->proc_slot->threads_lost, capture_threads_lost());
    p->unsampled = p->n_unsampled = 0;
    capture_each_thread(each_thread, p);
    exit_notice_heap(p, true);
    atomic_store(&p->proc_slot->cpu_end, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
    proc_slot_leave(p->proc_slot, p->word);
}

void exit_notice_withdraw(probe *p)
{
    atomic_store(&p->proc_slot->cpu_end, 0);
    atomic_fetch_sub(&p->proc_slot->unsampled, p->unsampled);
    atomic_fetch_sub(&p->proc_slot->n_unsampled, p->n_unsampled);
}
