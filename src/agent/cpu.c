/* Arms and disarms a CPU timer or a perf event for each thread.  A signal of a perf event carries
 * only the event's descriptor, so a table maps descriptors to threads for the handler. */
#include "agent/cpu.h"

#include "agent/events.h"
#include "base/hash.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/ban.h"

enum {
    FDS_MAX = 65536, /* maximum descriptor number of an event */
    FDS_FROM =
        /* lowest descriptor of an event, or half of the limit, away from the program's */
    4096,
    /* periods of threads differ by up to 1/SPREAD, so that they are not synchronized */
    SPREAD = 64,
};

static cpu_plan plan;
static uint32_t fds_from;   /* lowest descriptor of an event */
static uint32_t max_events; /* a quarter of the process's descriptor limit */
static _Atomic uint32_t n_events;
static _Atomic uint32_t fds_end; /* one above the highest descriptor that an event ever had */
static _Atomic uint64_t n_closed;

const cpu_plan *cpu_planned(void) { return &plan; }

uint64_t cpu_closed(void) { return atomic_load(&n_closed); }

/* ---- perf events ---- */

static event_opts event_of(const thread_record *t)
{
    return (event_opts){t->pub.tid, t->period, plan.user_only, plan.event, fds_from, FDS_MAX};
}

static bool arm_event(thread_record *t)
{
    if (atomic_load(&n_events) >= max_events) return false;
    event_opts o = event_of(t);
    int fd = event_open(&o);
    if (fd < 0) return false;
    for (uint32_t end = atomic_load(&fds_end); end <= (uint32_t)fd;)
        if (atomic_compare_exchange_weak(&fds_end, &end, (uint32_t)fd + 1)) break;
    atomic_store(&handler.by_fd[fd], thread_position(t) + 1);
    if (!event_start(fd, &o)) {
        atomic_store(&handler.by_fd[fd], 0);
        return false;
    }
    t->event = fd + 1;
    atomic_fetch_add(&n_events, 1);
    return true;
}

static void disarm_event(thread_record *t)
{
    int fd = t->event - 1;
    uint32_t me = thread_position(t) + 1;
    t->event = 0;
    /* before another event can get the descriptor; no effect if it already has */
    atomic_compare_exchange_strong(&handler.by_fd[fd], &me, 0);
    event_close(fd, plan.event, t->pub.tid);
    atomic_fetch_sub(&n_events, 1);
}

/* ---- timers ---- */

static struct timespec span_of(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
}

/* Returns a random part of the period, so that threads are not synchronized.  With an external
 * collector, the first sample contains its CPU time (handler.c), so it may come at the first tick,
 * and even a process of a few milliseconds has a sample. */
static uint64_t first_expiration(const thread_record *t, uint64_t ticket)
{
    if (handler.outside && !atomic_load(&t->pub.sampled)) return 1;
    return 1 + hash_mix(ticket, task_cpu(t->pub.tid)) % t->period;
}

/* Calls the kernel directly, because libc's timer_create would start a thread. */
static bool arm_timer(thread_record *t)
{
    uint64_t ticket = thread_ticket(thread_position(t), atomic_load(&t->pub.generation));
    struct sigevent to = {.sigev_notify = SIGEV_THREAD_ID,
                          .sigev_signo = plan.round,
                          .sigev_value.sival_ptr = (void *)(uintptr_t)ticket};
    to._sigev_un._tid = (pid_t)t->pub.tid;
    int id;
    if (syscall(SYS_timer_create, task_clock(t->pub.tid), &to, &id) != 0) return false;
    uint64_t first = first_expiration(t, ticket);
    struct itimerspec when = {.it_interval = span_of(t->period), .it_value = span_of(first)};
    if (syscall(SYS_timer_settime, id, 0, &when, NULL) != 0) {
        syscall(SYS_timer_delete, id);
        return false;
    }
    t->timer = id + 1;
    return true;
}

static void disarm_timer(thread_record *t)
{
    syscall(SYS_timer_delete, t->timer - 1);
    t->timer = 0;
}

/* ---- events and timers ---- */

/* Returns a period that differs slightly from thread to thread. */
static uint64_t own_period(const thread_record *t)
{
    uint64_t step = plan.period / SPREAD;
    return plan.period +
           (step ? hash_mix(thread_position(t), t->about.index) % (2 * step) - step : 0);
}

static bool wants_event(const thread_record *t, bool newborn)
{
    return plan.events && !t->event && (!newborn || plan.period < plan.tick_ns);
}

/* Reopens an event that the program has closed.  Daemons close all descriptors, and would not be
 * sampled any more. */
static void check_event(thread_record *t)
{
    if (!t->event || event_is_ours(t->event - 1, plan.event, t->pub.tid)) return;
    disarm_event(t);
    atomic_fetch_add(&n_closed, 1);
}

static void arm_locked(thread_record *t, bool newborn)
{
    check_event(t);
    if (!plan.period || t->event || t->own || t->left_out || t->no_signals) return;
    uint64_t before = t->period;
    if (wants_event(t, newborn)) {
        t->period = own_period(t);
        if (arm_event(t)) {
            if (t->timer) disarm_timer(t);
            return;
        }
    }
    t->period = t->timer ? before : plan.period;
    if (t->timer || !plan.round) return;
    bool first = !t->arm_tried;
    t->arm_tried = true;
    if (!arm_timer(t) && errno != ESRCH && errno != EINVAL && first) threads_count_lost();
}

void cpu_arm(thread_record *t, bool newborn)
{
    pthread_mutex_lock(&t->lock);
    arm_locked(t, newborn);
    pthread_mutex_unlock(&t->lock);
}

static void disarm_locked(thread_record *t)
{
    if (t->event) disarm_event(t);
    if (t->timer) disarm_timer(t);
}

void cpu_disarm(thread_record *t)
{
    pthread_mutex_lock(&t->lock);
    disarm_locked(t);
    pthread_mutex_unlock(&t->lock);
}

static void rearm(void *ctx, thread_record *t)
{
    (void)ctx;
    pthread_mutex_lock(&t->lock);
    bool was = t->event || t->timer;
    disarm_locked(t);
    if (was) arm_locked(t, false);
    pthread_mutex_unlock(&t->lock);
}

static void only_disarm(void *ctx, thread_record *t)
{
    (void)ctx;
    cpu_disarm(t);
}

static void only_arm(void *ctx, thread_record *t)
{
    (void)ctx;
    cpu_arm(t, false);
}

/* Closes events before the signal changes, because an event is recognized by its signal. */
void cpu_move(int round, int event)
{
    bool to_timers = plan.events && !event;
    if (to_timers) threads_each(only_disarm, NULL);
    plan.events = plan.events && event;
    plan.round = round;
    plan.event = event;
    threads_each(to_timers ? only_arm : rearm, NULL);
}

/* Does not use the table of threads: its lock may have been held during the fork. */
void cpu_forked(void)
{
    events_forked();
    uint32_t end = atomic_load(&fds_end);
    for (uint32_t fd = fds_from; fd < end; fd++) {
        if (!atomic_load(&handler.by_fd[fd])) continue;
        atomic_store(&handler.by_fd[fd], 0);
        event_close((int)fd, plan.event, 0);
    }
    atomic_store(&n_events, 0);
    atomic_store(&fds_end, 0);
    atomic_store(&n_closed, 0);
}

/* ---- choice of the source ---- */

static uint64_t kernel_tick(void)
{
    struct timespec t;
    if (clock_getres(CLOCK_MONOTONIC_COARSE, &t) != 0) return 10000000;
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static bool try_event(bool user_only)
{
    int fd = event_open(&(event_opts){
        .period = plan.period, .user_only = user_only, .from = fds_from, .end = FDS_MAX});
    if (fd >= 0) close(fd);
    return fd >= 0;
}

static bool descriptors(void)
{
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) != 0) return false;
    rlim_t soft = l.rlim_cur > FDS_MAX ? FDS_MAX : l.rlim_cur;
    fds_from = (uint32_t)(soft / 2 < FDS_FROM ? soft / 2 : FDS_FROM);
    max_events = (uint32_t)(soft / 4);
    if (!handler.by_fd) {
        void *p = mmap(NULL, FDS_MAX * sizeof(uint32_t), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) return false;
        handler.by_fd = p;
    }
    handler.fds_from = fds_from;
    handler.n_fds = FDS_MAX;
    return true;
}

static void choose(cpu_source source)
{
    plan.events = plan.user_only = false;
    if (source == CPU_TIMER || !plan.event) return;
    if (source == CPU_AUTO && plan.period >= 2 * plan.tick_ns) return;
    if (!descriptors()) return;
    if (try_event(false)) {
        plan.events = true;
    } else if ((source == CPU_PERF || plan.period < plan.tick_ns) && try_event(true)) {
        plan.events = plan.user_only = true;
    }
}

bool cpu_open(uint32_t hz, cpu_source source, int round, int event, err *e)
{
    plan = (cpu_plan){.tick_ns = kernel_tick(), .round = round, .event = event};
    if (!hz) return true;
    plan.period = 1000000000 / hz;
    choose(source);
    if (source == CPU_PERF && !plan.events)
        return err_set(
            e, ERR_SYS,
            "perf events are not permitted here: lower kernel.perf_event_paranoid to 2, or use "
            "KILN_CPU_SOURCE=timer");
    return true;
}
