/* The sampler's thread: wakes for rounds, to drain the ring, and to look what the loader did. */
#include "agent/internal.h"

#include "agent/descriptors.h"
#include "agent/events.h"
#include "agent/filters.h"
#include "agent/signo.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/ban.h"

enum {
    DRAIN_NS = 200 * 1000000, /* between drains, unless the ring is half full before */
    SCAN_NS =
        1000 * 1000000, /* between looks for threads that nobody told of, and at our signals */
    REFRESH_NS = 50 * 1000000, /* not more often, however much unknown code handlers meet */
    EVERY_NS = 1000 * 1000000, /* objects are looked for at least so often */
};

typedef struct times {
    uint64_t now;
    uint64_t wall, drain, scan; /* when they are due */
    uint64_t refreshed;
    uint32_t missed; /* of the snapshot, when it was refreshed */
} times;

static uint64_t monotonic(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void capture_say(const capture *c, bool *said, const char *sentence)
{
    if (*said || !c->o.say) return;
    *said = true;
    c->o.say(c->o.who, sentence);
}

/* ---- draining ---- */

/* Behind a drain or a round, without the lock. */
static void press(capture *c)
{
    pthread_mutex_lock(&c->lock);
    const batch *b = c->current;
    bool full =
        b && !c->pressed &&
        (b->mem.used > b->mem.budget / 2 || (c->o.press_at && b->samples.n >= c->o.press_at));
    c->pressed |= full;
    pthread_mutex_unlock(&c->lock);
    if (full && c->o.pressed) c->o.pressed(c->o.who);
}

static void drain(capture *c, times *t)
{
    pthread_mutex_lock(&c->lock);
    drain_ring(c);
    pthread_mutex_unlock(&c->lock);
    t->drain = t->now + DRAIN_NS;
    press(c);
}

/* ---- objects and spans ---- */

static uint32_t missed(const capture *c)
{
    const unwind_snapshot *s = atomic_load(&registry_door(c->registry)->current);
    return s ? atomic_load(&s->missed) : 0;
}

/* Tables of objects whose rules are looked up often.  The gate is held. */
static void compile(capture *c)
{
    err e = {0};
    if (!c->o.max_tables) return;
    if (!registry_compile(c->registry, &e)) capture_say(c, &c->said_tables, e.msg);
    uint32_t over = registry_count(c->registry).over_budget;
    if (over <= c->over_budget) return;
    pthread_mutex_lock(&c->lock);
    c->n.tables_over += over - c->over_budget;
    pthread_mutex_unlock(&c->lock);
    c->over_budget = over;
    capture_say(
        c, &c->said_over,
        "unwind tables of large libraries do not fit KILN_UNWIND_MEMORY: their stacks are whole, "
        "but each costs more; "
        "raise it (512M, for example)");
}

static void refresh(capture *c, times *t)
{
    err e = {0};
    pthread_mutex_lock(&c->gate);
    uint32_t before = t->refreshed ? registry_count(c->registry).snapshots : 0; /* see at_once */
    bool ok = registry_refresh(c->registry, &e);
    compile(c);
    bool changed = registry_count(c->registry).snapshots != before;
    if (c->snapshots != registry_count(c->registry).snapshots) capture_locate_spans(c);
    t->missed = missed(c);
    pthread_mutex_unlock(&c->gate);
    t->refreshed = t->now;
    if (!ok && c->o.say) capture_say(c, &c->said_tables, e.msg);
    if (changed && c->o.mapped) c->o.mapped(c->o.who);
}

static void refresh_if_due(capture *c, times *t)
{
    uint64_t age = t->now - t->refreshed;
    if (age >= EVERY_NS || (age >= REFRESH_NS && missed(c) != t->missed)) refresh(c, t);
}

/* ---- threads and signals ---- */

static void arm(void *who, thread_record *t)
{
    (void)who;
    cpu_arm(t, false);
}

static void disarm(void *who, thread_record *t)
{
    (void)who;
    cpu_disarm(t);
}

static void look_for_threads(capture *c)
{
    int dir = task_open();
    size_t n = 0;
    if (dir < 0 || !threads_call(dir, c->tids, &n))
        capture_say(
            c, &c->said_no_proc,
            "/proc/self/task cannot be read: threads are seen only from their start on, and there "
            "is no "
            "wall clock profile");
    if (dir >= 0) filters_look(dir, c->tids, n);
    if (filters_seen()) {
        close(dir);
        return;
    }
    threads_each(arm, NULL);
    if (dir >= 0) drain_deaf(c, dir);
    if (dir >= 0) close(dir);
    if (threads_lost())
        capture_say(c, &c->said_lost,
                    "some threads are not watched: there are too many, or the kernel gives no "
                    "more timers (ulimit -i)");
    if (cpu_closed())
        capture_say(
            c, &c->said_closed,
            "the program closes descriptors that are not its own, perf events among them, which "
            "are "
            "made anew: KILN_CPU_SOURCE=timer needs none");
}

static void yield_if_asked(capture *c)
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
    if (cpu_planned()->period) look_for_threads(c);
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
        capture_say(c, &c->said_no_proc,
                    "/proc/self/task cannot be read: there is no wall clock profile");
    pthread_mutex_lock(&c->lock);
    if (ok && c->current) wall_write(c->wall, c->current, &n);
    counts_add(&c->n, &n);
    pthread_mutex_unlock(&c->lock);
    press(c);
}

/* Missed rounds are skipped; the next one stands for them. */
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

/* ---- the thread ---- */

static void sleep_until(uint64_t when, uint32_t wake)
{
    struct timespec t = {(time_t)(when / 1000000000), (long)(when % 1000000000)};
    syscall(SYS_futex, handler.wake, FUTEX_WAIT_BITSET_PRIVATE, wake, &t, NULL,
            FUTEX_BITSET_MATCH_ANY);
}

static uint64_t earliest(const capture *c, const times *t)
{
    uint64_t first = t->drain < t->scan ? t->drain : t->scan;
    if (!cpu_planned()->period) first = t->scan; /* nothing to drain */
    return c->wall && t->wall < first ? t->wall : first;
}

static void say_limits(capture *c)
{
    const cpu_plan *p = cpu_planned();
    if (p->period && !p->events && p->period < p->tick_ns)
        capture_say(
            c, &c->said_tick,
            c->o.source == CPU_TIMER
                ? "CPU timers ring at the kernel's tick at most: there will be fewer samples than "
                  "asked for, each of more weight"
                : "CPU timers ring at the kernel's tick at most: fewer samples than asked for; "
                  "sudo sysctl kernel.perf_event_paranoid=2 lets perf events take them");
    if (p->events && p->user_only)
        capture_say(c, &c->said_tick,
                    "perf events see no time in the kernel: lower kernel.perf_event_paranoid to "
                    "1, or use KILN_CPU_SOURCE=timer");
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
    say_limits(c);
    atomic_store(&c->ready, 1);
    t->now = monotonic();
    t->wall = t->now + c->o.wall_ns;
    scan(c, t);
    return true;
}

/* No thread of the program makes a system call for us from here on. */
static void retire(capture *c)
{
    atomic_store(&handler.pid, 0);
    if (c->o.say)
        c->o.say(c->o.who, "the program has installed a filter of system calls by an instruction "
                           "of its own: the profile ends here");
    if (c->o.retired) c->o.retired(c->o.who);
}

void *sampler_run(void *arg)
{
    capture *c = arg;
    times t = {0};
    bool begun = begin(c, &t);
    while (begun && !atomic_load(&c->stop) && !filters_seen()) {
        uint32_t wake = atomic_load(handler.wake);
        yield_if_asked(c);
        drain(c, &t);
        round_if_due(c, &t);
        refresh_if_due(c, &t);
        if (t.now >= t.scan) scan(c, &t);
        if (!atomic_load(&c->stop) && !filters_seen()) sleep_until(earliest(c, &t), wake);
        t.now = monotonic();
    }
    threads_each(disarm, NULL); /* here: whoever stops us may have descriptors of its own */
    events_end();
    if (filters_seen()) retire(c);
    return NULL;
}
