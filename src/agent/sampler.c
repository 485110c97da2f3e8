/* The sampler thread: wakes up for wall-clock rounds, to drain the ring, and to refresh the lists
 * of loaded objects and threads. */
#include "agent/internal.h"

#include "agent/descriptors.h"
#include "agent/events.h"
#include "agent/seccomp.h"
#include "agent/signo.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/ban.h"

enum {
    DRAIN_NS = 200 * 1000000, /* interval of drains, unless the ring is half full earlier */
    SCAN_NS = 1000 * 1000000, /* interval of scans for new threads and checks of the signals */
    /* minimum time between refreshes, however much unknown code handlers find */
    REFRESH_NS = 50 * 1000000,
    EVERY_NS = 1000 * 1000000, /* maximum time between refreshes */
};

typedef struct times {
    uint64_t now;
    uint64_t wall, drain, scan; /* next deadlines */
    uint64_t refreshed;
    uint32_t missed; /* the snapshot's count of unknown addresses at the last refresh */
} times;

static uint64_t monotonic(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void capture_warn(const capture *c, bool *done, const char *text)
{
    if (*done || !c->o.warn) return;
    *done = true;
    c->o.warn(c->o.ctx, text);
}

/* ---- draining ---- */

/* Called after a drain or a round, without the lock. */
static void check_flush_due(capture *c)
{
    pthread_mutex_lock(&c->lock);
    const batch *b = c->current;
    bool full =
        b && !c->flush_due &&
        (b->mem.used > b->mem.budget / 2 || (c->o.flush_at && b->samples.n >= c->o.flush_at));
    c->flush_due |= full;
    pthread_mutex_unlock(&c->lock);
    if (full && c->o.flush_due) c->o.flush_due(c->o.ctx);
}

static void drain(capture *c, times *t)
{
    pthread_mutex_lock(&c->lock);
    drain_ring(c);
    pthread_mutex_unlock(&c->lock);
    t->drain = t->now + DRAIN_NS;
    check_flush_due(c);
}

/* ---- objects and spans ---- */

static uint32_t missed(const capture *c)
{
    const unwind_snapshot *s = atomic_load(&registry_gate(c->registry)->current);
    return s ? atomic_load(&s->missed) : 0;
}

/* Compiles tables of objects whose rules are looked up often.  The registry lock is held. */
static void compile(capture *c)
{
    err e = {0};
    if (!c->o.max_tables) return;
    if (!registry_compile(c->registry, &e)) capture_warn(c, &c->warned_tables, e.msg);
    uint32_t over = registry_count(c->registry).over_budget;
    if (over <= c->over_budget) return;
    pthread_mutex_lock(&c->lock);
    c->n.tables_over += over - c->over_budget;
    pthread_mutex_unlock(&c->lock);
    c->over_budget = over;
    capture_warn(c, &c->warned_over,
                 "unwind tables of large libraries exceed KILN_UNWIND_MEMORY: stacks are complete "
                 "but cost more CPU time; raise the limit, for example to 512M");
}

static void refresh(capture *c, times *t)
{
    err e = {0};
    pthread_mutex_lock(&c->registry_lock);
    /* The first refresh counts as a change: capture_open has taken the first snapshot. */
    uint32_t before = t->refreshed ? registry_count(c->registry).snapshots : 0;
    bool ok = registry_refresh(c->registry, &e);
    compile(c);
    bool changed = registry_count(c->registry).snapshots != before;
    if (c->snapshots != registry_count(c->registry).snapshots) capture_locate_spans(c);
    t->missed = missed(c);
    pthread_mutex_unlock(&c->registry_lock);
    t->refreshed = t->now;
    if (!ok && c->o.warn) capture_warn(c, &c->warned_tables, e.msg);
    if (changed && c->o.mapped) c->o.mapped(c->o.ctx);
}

static void refresh_if_due(capture *c, times *t)
{
    uint64_t age = t->now - t->refreshed;
    if (age >= EVERY_NS || (age >= REFRESH_NS && missed(c) != t->missed)) refresh(c, t);
}

/* ---- threads and signals ---- */

static void arm(void *ctx, thread_record *t)
{
    (void)ctx;
    cpu_arm(t, false);
}

static void disarm(void *ctx, thread_record *t)
{
    (void)ctx;
    cpu_disarm(t);
}

static void find_threads(capture *c)
{
    int dir = task_open();
    size_t n = 0;
    if (dir < 0 || !threads_scan(dir, c->tids, &n))
        capture_warn(c, &c->warned_no_proc,
                     "cannot read /proc/self/task: only threads that start from now on are "
                     "profiled, and there is no wall-clock profile");
    if (dir >= 0) seccomp_check(dir, c->tids, n);
    if (seccomp_seen()) {
        close(dir);
        return;
    }
    threads_each(arm, NULL);
    if (dir >= 0) drain_unsampled(c, dir);
    if (dir >= 0) close(dir);
    if (threads_lost())
        capture_warn(c, &c->warned_lost,
                     "some threads are not profiled: there are too many, or the kernel creates no "
                     "more timers (ulimit -i)");
    if (cpu_closed())
        capture_warn(
            c, &c->warned_closed,
            "the program closes file descriptors that it did not open, among them the agent's perf "
            "events; the agent reopens them. KILN_CPU_SOURCE=timer needs no descriptors");
}

static void yield_if_requested(capture *c)
{
    if (!atomic_load(&c->yield)) return;
    signals_check(c);
    atomic_store(&c->yield, 0);
    syscall(SYS_futex, &c->yield, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

static void scan(capture *c, times *t)
{
    t->scan = t->now + SCAN_NS;
    signals_check(c);
    if (cpu_planned()->period) find_threads(c);
}

/* ---- rounds ---- */

static void take_round(capture *c)
{
    pthread_mutex_lock(&c->lock);
    bool full = !c->current || batch_full(c->current);
    c->n.rounds_full += full;
    pthread_mutex_unlock(&c->lock);
    if (full) return wall_skip(c->wall, 1);
    capture_counts n = {0};
    signals_check(c);
    if (!c->round) return wall_skip(c->wall, 1);
    bool ok = wall_take(c->wall, &n);
    if (!ok)
        capture_warn(c, &c->warned_no_proc,
                     "cannot read /proc/self/task: there is no wall-clock profile");
    pthread_mutex_lock(&c->lock);
    if (ok && c->current) wall_write(c->wall, c->current, &n);
    counts_add(&c->n, &n);
    pthread_mutex_unlock(&c->lock);
    check_flush_due(c);
}

/* Skips missed rounds; the next one represents them. */
static void round_if_due(capture *c, times *t)
{
    uint64_t interval = c->o.wall_ns;
    if (!c->wall || t->now < t->wall) return;
    take_round(c);
    t->wall += interval;
    t->now = monotonic();
    if (t->now < t->wall) return;
    uint64_t late = (t->now - t->wall) / interval + 1;
    t->wall += late * interval;
    wall_skip(c->wall, late);
    pthread_mutex_lock(&c->lock);
    c->n.wall_late += late;
    pthread_mutex_unlock(&c->lock);
}

/* ---- sampler thread ---- */

static void sleep_until(uint64_t when, uint32_t wake)
{
    struct timespec t = {(time_t)(when / 1000000000), (long)(when % 1000000000)};
    syscall(SYS_futex, handler.wake, FUTEX_WAIT_BITSET_PRIVATE, wake, &t, NULL,
            FUTEX_BITSET_MATCH_ANY);
}

static uint64_t earliest(const capture *c, const times *t)
{
    uint64_t first = t->drain < t->scan ? t->drain : t->scan;
    if (!cpu_planned()->period) first = t->scan; /* no CPU samples, so nothing to drain */
    return c->wall && t->wall < first ? t->wall : first;
}

static void warn_limits(capture *c)
{
    const cpu_plan *p = cpu_planned();
    if (p->period && !p->events && p->period < p->tick_ns)
        capture_warn(
            c, &c->warned_tick,
            c->o.source == CPU_TIMER
                ? "CPU timers cannot fire more often than the kernel's tick: the agent takes fewer "
                  "samples than requested, each with more weight"
                : "CPU timers cannot fire more often than the kernel's tick: the agent takes fewer "
                  "samples than requested; sudo sysctl kernel.perf_event_paranoid=2 permits perf "
                  "events, which have no such limit");
    if (p->events && p->user_only)
        capture_warn(c, &c->warned_tick,
                     "perf events do not include time in the kernel: lower "
                     "kernel.perf_event_paranoid to 1, or use KILN_CPU_SOURCE=timer");
}

static bool begin(capture *c, times *t)
{
    capture_own_thread("kiln-sampler");
    if (cpu_planned()->events) events_begin();
    descriptors_own();
    if (c->delay_ns) sleep_until(monotonic() + c->delay_ns, atomic_load(handler.wake));
    if (atomic_load(&c->stop)) return false;
    t->now = monotonic();
    refresh(c, t);
    warn_limits(c);
    atomic_store(&c->ready, 1);
    t->now = monotonic();
    t->wall = t->now + c->o.wall_ns;
    scan(c, t);
    return true;
}

/* Stops the capture after a seccomp filter was found.  No thread of the program makes a system call
 * of the agent from here on. */
static void retire(capture *c)
{
    atomic_store(&handler.pid, 0);
    if (c->o.warn)
        c->o.warn(c->o.ctx, "the program has installed a seccomp filter with a direct system call: "
                            "profiling stops");
    if (c->o.retired) c->o.retired(c->o.ctx);
}

void *sampler_run(void *arg)
{
    capture *c = arg;
    times t = {0};
    bool begun = begin(c, &t);
    while (begun && !atomic_load(&c->stop) && !seccomp_seen()) {
        uint32_t wake = atomic_load(handler.wake);
        yield_if_requested(c);
        drain(c, &t);
        round_if_due(c, &t);
        refresh_if_due(c, &t);
        if (t.now >= t.scan) scan(c, &t);
        if (!atomic_load(&c->stop) && !seccomp_seen()) sleep_until(earliest(c, &t), wake);
        t.now = monotonic();
    }
    /* in this thread, because the one that stops the sampler may have its own descriptor table */
    threads_each(disarm, NULL);
    events_end();
    if (seccomp_seen()) retire(c);
    return NULL;
}
