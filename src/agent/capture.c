/* Opens and closes the capture: memory of the handler, registry, signals, sampler thread, and the
 * exchange of batches.  The order of opening matters: the signal handlers come last, because
 * nothing may fail after them. */
#include "agent/capture.h"

#include "agent/seccomp.h"
#include "agent/forks.h"
#include "agent/internal.h"
#include "agent/lifecycle.h"
#include "agent/own.h"
#include "agent/signo.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/ban.h"

enum {
    RING_BYTES = 1 << 20,
    BATCH_BYTES = 4 << 20,
    SAMPLER_STACK = 512 << 10,
    STOP_WAIT_S = 1,
};

capture the_capture = {.registry_lock = PTHREAD_MUTEX_INITIALIZER,
                       .lock = PTHREAD_MUTEX_INITIALIZER};

/* Makes no system call when nothing is captured, because a seccomp filter of the program may have
 * stopped the capture. */
bool capture_here(void)
{
    uint32_t pid = atomic_load(&handler.pid);
    if (!pid || atomic_load_explicit(&handler.counts->filtered, memory_order_relaxed)) return false;
    return pid == (uint32_t)syscall(SYS_getpid);
}

/* ---- counters ---- */

void counts_add(capture_counts *to, const capture_counts *n)
{
#define X(name, what) to->name += n->name;
    CAPTURE_COUNTERS(X)
#undef X
}

static capture_counts minus(capture_counts a, const capture_counts *b)
{
#define X(name, what) a.name -= b->name;
    CAPTURE_COUNTERS(X)
#undef X
    return a;
}

capture_counts capture_totals(capture *c)
{
    capture_counts n = c->n;
    n.strangers += atomic_load(&handler.counts->foreign_signals);
    n.ring_full += atomic_load(&handler.counts->ring_full);
    n.threads_lost += threads_lost();
    n.events_closed += cpu_closed();
    return n;
}

capture_counts capture_count(void)
{
    capture *c = &the_capture;
    pthread_mutex_lock(&c->lock);
    capture_counts n = capture_totals(c);
    pthread_mutex_unlock(&c->lock);
    return n;
}

const char *capture_source(void)
{
    const cpu_plan *p = cpu_planned();
    return !p->period ? "" : p->events ? "perf" : "timer";
}

/* ---- memory of the handler ---- */

static struct {
    ring_ends ends;
    handler_counts counts;
    _Atomic uint32_t wake;
} inside; /* ring and counters of a process that drains its own ring */

void capture_use_sink(const capture_sink *o)
{
    handler.ring = o->ring;
    handler.counts = o->counts;
    handler.wake = o->wake;
    handler.wake_op = FUTEX_WAKE;
    handler.proc_slot = o->proc_slot;
    handler.outside = true;
}

static bool open_ring(uint32_t max_frames)
{
    ring *r = &handler.ring;
    r->ends = &inside.ends;
    handler.counts = &inside.counts;
    handler.wake = &inside.wake;
    handler.wake_op = FUTEX_WAKE_PRIVATE;
    r->cell_bytes = handler_cell_bytes(max_frames);
    for (r->n = 1; r->n * 2 * r->cell_bytes <= RING_BYTES;) r->n *= 2;
    if (!r->cells) {
        void *p = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) return false;
        r->cells = p;
    }
    return true;
}

/* Replaces the ring with zero pages, which are an empty ring. */
void capture_forget_ring(void)
{
    if (handler.outside) return; /* shared with other processes */
    madvise(handler.ring.cells, RING_BYTES, MADV_DONTNEED);
    atomic_store(&handler.ring.ends->tail, 0);
    atomic_store(&handler.ring.ends->head, 0);
}

bool capture_open_registry(capture *c, err *e)
{
    registry_opts o = {.size = sizeof o, .max_bytes = c->o.max_tables};
    c->registry = registry_open(&o, e);
    if (!c->registry) return false;
    c->snapshots = c->over_budget = 0;
    err later = {0}; /* ignored: the sampler tries again and warns */
    (void)!registry_refresh(c->registry, &later);
    atomic_store(&handler.gate, registry_gate(c->registry));
    return true;
}

/* Handlers use a span_place only between snapshot_enter and snapshot_leave.  When the gate has no
 * readers, no handler uses the spare one, and this function may overwrite it. */
void capture_locate_spans(capture *c)
{
    unwind_gate *gate = registry_gate(c->registry);
    const span_place *shown = atomic_load(&handler.span);
    span_place *spare = shown == &c->places[0] ? &c->places[1] : &c->places[0];
    if (atomic_load(&gate->readers) != 0 && shown) return; /* the next refresh tries again */
    *spare = span_locate();
    atomic_store(&handler.span, spare);
    c->snapshots = registry_count(c->registry).snapshots;
}

/* ---- starting ---- */

bool capture_start(capture *c, uint64_t delay_ns, err *e)
{
    pthread_attr_t a;
    uint64_t all = ~(UINT64_C(3) << 31),
             before; /* all but 32 and 33, which libc needs: setuid waits for them */
    c->delay_ns = delay_ns;
    atomic_store(&c->stop, 0);
    pthread_attr_init(&a);
    pthread_attr_setstacksize(&a, SAMPLER_STACK);
    /* The sampler inherits this mask.  The interposed pthread_sigmask would not block the agent's
     * signals, so this is a system call. */
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, sizeof all);
    capture_own_new_threads(true);
    int sys = pthread_create(&c->sampler, &a, sampler_run, c);
    capture_own_new_threads(false);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
    pthread_attr_destroy(&a);
    c->has_sampler = sys == 0;
    return sys == 0 || err_sys(e, sys, "cannot start the sampler thread");
}

static void gone(thread_record *t) { cpu_disarm(t); }

static bool open_wall(capture *c, int sig, err *e)
{
    if (!c->o.wall_ns || c->o.sink) return true;
    wall_opts w = {c->o.wall_ns, c->o.max_frames, sig, c->o.exclude};
    c->wall = wall_open(&w, e);
    return c->wall != NULL;
}

/* Installs the handlers, as the last step, because nothing may fail afterwards.  Does not use
 * SIGSTKFLT when there are no perf events. */
static bool take_signals(capture *c, int round, int event, err *e)
{
    if (!cpu_planned()->events) event = 0;
    if (!signo_take(round) || (event && !signo_take(event)))
        return err_sys(e, errno, "cannot install a handler for signal %d", round);
    c->round = round;
    c->event = event;
    return true;
}

static bool open_sources(capture *c, err *e)
{
    int round = signo_free(), event = signo_free_event();
    if (!round)
        return err_set(e, ERR_LIMIT,
                       "the program uses all real-time signals: none is left for sampling");
    return cpu_open(c->o.cpu_hz, c->o.source, round, event, e) && open_wall(c, round, e) &&
           take_signals(c, round, event, e);
}

static bool open_sink(capture *c, err *e)
{
    handler.now = clock_gettime;
    handler.max_frames = c->o.max_frames;
    capture_use_sink(c->o.sink);
    if (!threads_open(gone, e) || !lifecycle_open(e) || !capture_open_registry(c, e)) return false;
    capture_locate_spans(c);
    return open_sources(c, e);
}

static bool open_parts(capture *c, err *e)
{
    if (c->o.sink) return open_sink(c, e);
    if (!c->tids)
        c->tids = mmap(NULL, THREADS_MAX * sizeof *c->tids, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    handler.now = clock_gettime;
    handler.max_frames = c->o.max_frames;
    if (c->tids == MAP_FAILED) c->tids = NULL;
    if (!c->tids || !open_ring(c->o.max_frames))
        return err_set(e, ERR_MEMORY, "not enough memory for samples");
    c->current = batch_open(c->o.max_batch, (uint32_t)getpid());
    if (!c->current) return err_set(e, ERR_MEMORY, "not enough memory for samples");
    return threads_open(gone, e) && lifecycle_open(e) && capture_open_registry(c, e) &&
           open_sources(c, e);
}

/* Closes what was opened before a failure.  The handler's mappings stay for the next attempt. */
static void close_parts(capture *c)
{
    atomic_store(&handler.pid, 0);
    wall_close(c->wall);
    c->wall = NULL;
    atomic_store(&handler.gate, NULL);
    registry_close(c->registry);
    c->registry = NULL;
    batch_close(c->current);
    c->current = NULL;
}

static void take_opts(capture *c, const capture_opts *o)
{
    c->o = (capture_opts){0};
    memcpy(&c->o, o, o->size < sizeof c->o ? o->size : sizeof c->o);
    if (!c->o.max_frames) c->o.max_frames = CAPTURE_FRAMES;
    if (c->o.max_frames > CAPTURE_FRAMES_MAX) c->o.max_frames = CAPTURE_FRAMES_MAX;
    if (!c->o.max_batch) c->o.max_batch = BATCH_BYTES;
    if (c->o.wall_ns && c->o.wall_ns < 1000000) c->o.wall_ns = 1000000;
    if (c->o.exclude) {
        snprintf(c->exclude, sizeof c->exclude, "%s", c->o.exclude);
        c->o.exclude = c->exclude;
    }
}

uint64_t capture_real_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Called while the process has one thread. */
void capture_begin_outside(capture *c)
{
    thread_record *t = thread_self();
    atomic_store(&c->ready, 1);
    if (t && cpu_planned()->period) cpu_arm(t, true);
}

static bool begin(capture *c, err *e)
{
    if (c->current) c->current->start = capture_real_time();
    c->batch_number = 1;
    thread_record *t = thread_add((uint32_t)gettid(), true);
    if (t) lifecycle_adopt(t);
    atomic_store(&handler.pid, (uint32_t)getpid());
    if (t && !c->o.sink && cpu_planned()->events) {
        capture_locate_spans(c);
        /* at once, while the program has not opened descriptors that the event could disturb */
        cpu_arm(t, false);
    }
    if (!c->o.sink) return capture_start(c, 0, e);
    capture_begin_outside(c);
    return true;
}

bool capture_open(const capture_opts *o, err *e)
{
    capture *c = &the_capture;
    if (c->current || atomic_load(&handler.pid))
        return err_set(e, ERR_USAGE, "capture runs already");
    take_opts(c, o);
    (void)seccomp_open(NULL);
    if (forks_open(e) && open_parts(c, e) && begin(c, e)) return true;
    close_parts(c);
    return false;
}

/* ---- ending ---- */

static void disarm(void *ctx, thread_record *t)
{
    (void)ctx;
    cpu_disarm(t);
}

static void stop_sampler(capture *c)
{
    struct timespec t;
    if (!c->has_sampler) return;
    atomic_store(&c->stop, 1);
    atomic_store(&c->ready, 0);
    atomic_fetch_add(handler.wake, 1);
    syscall(SYS_futex, handler.wake, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += STOP_WAIT_S;
    /* The sampler may be waiting for a lock of the loader that the exiting program holds. */
    if (pthread_timedjoin_np(c->sampler, NULL, &t) != 0) pthread_detach(c->sampler);
    c->has_sampler = false;
}

void capture_close(void)
{
    capture *c = &the_capture;
    if (!capture_here()) return;
    stop_sampler(c);
    threads_each(disarm, NULL);
}

uint64_t capture_threads_lost(void) { return threads_lost(); }

void capture_each_thread(void (*f)(void *ctx, const thread_public *t), void *ctx)
{
    threads_peek(f, ctx);
}

void capture_refresh(void)
{
    capture *c = &the_capture;
    err e = {0};
    if (!capture_here() || !c->o.sink) return;
    pthread_mutex_lock(&c->registry_lock);
    (void)!registry_refresh(c->registry, &e);
    if (c->snapshots != registry_count(c->registry).snapshots) capture_locate_spans(c);
    pthread_mutex_unlock(&c->registry_lock);
}

static batch *swap(capture *c, bool final)
{
    batch *b = c->current, *next = final ? NULL : batch_open(c->o.max_batch, (uint32_t)getpid());
    if (!b || (!next && !final)) return NULL;
    capture_counts totals = capture_totals(c);
    uint64_t own = capture_own_cpu();
    b->end = capture_real_time();
    b->lost = minus(totals, &c->taken);
    b->own_cpu_ns = own - c->own_taken;
    c->taken = totals;
    c->own_taken = own;
    if (next) next->start = b->end;
    c->current = next;
    c->batch_number++;
    c->flush_due = false;
    return b;
}

batch *capture_take(bool final)
{
    capture *c = &the_capture;
    if (final) capture_close();
    pthread_mutex_lock(&c->lock);
    drain_ring(c);
    batch *b = swap(c, final);
    pthread_mutex_unlock(&c->lock);
    return b;
}

/* ---- heap library ---- */

size_t capture_stack_here(uintptr_t *pcs, size_t max, size_t skip, uint8_t *end)
{
    unwind_gate *gate = atomic_load(&handler.gate);
    const thread_record *t = thread_self();
    unwind_regs regs = unwind_regs_here();
    *end = UNWIND_NO_RULE;
    if (!gate || !max) return 0;
    unwind_result u = unwind(snapshot_enter(gate), &regs, t ? &t->pub.stack : NULL, pcs, max);
    snapshot_leave(gate);
    size_t off = skip + 1 < u.n ? skip + 1 : u.n; /* + 1: this function */
    memmove(pcs, pcs + off, (u.n - off) * sizeof *pcs);
    *end = (uint8_t)u.end;
    return u.n - off;
}
