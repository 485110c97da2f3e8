/* The probe in a program that `kiln run` started, from constructor to exit.
 *
 *   constructor ─ no segment: returns without any effect
 *               └ takes a process slot, arms a timer ─ handlers write samples to the ring ─ exec, exit: exit notice
 *
 * The probe has no thread, file or socket.  A process of a millisecond pays for one mapping and two
 * timer calls, and a process that checks that it is single-threaded finds one thread.  The state is
 * global, as in agent.c. */
#include "probe/probe.h"

#include "agent/seccomp.h"
#include "base/time.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/ban.h"

#define EXPORT __attribute__((visibility("default")))

enum { HEAP_FIRST_S = 1, HEAP_LONGEST_S = 16 }; /* seconds between deliveries of the heap totals */

probe the_probe;

static uint64_t now_of(clockid_t clock)
{
    struct timespec t = {0};
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Returns whether the probe runs in this process.  Returns false in a child of vfork and, without
 * calling getpid, after a seccomp filter. */
static bool is_ours(const probe *p)
{
    return p->pid && !atomic_load(&p->proc_slot->counts.filtered) && p->pid == (uint32_t)getpid();
}

/* ---- heap library ---- */

/* Delivers the totals of the heap from time to time, called for sampled allocations, so that most
 * of them are known when the process is killed.  The totals count from the start; a later delivery
 * replaces an earlier one. */
static void deliver_if_due(probe *p)
{
    uint64_t due = atomic_load_explicit(&p->heap_next, memory_order_relaxed);
    uint64_t now = now_of(CLOCK_MONOTONIC);
    if (!due || now < due || !is_ours(p)) return;
    uint32_t round = atomic_fetch_add(&p->heap_rounds, 1);
    uint64_t wait = UINT64_C(1) << (round < 4 ? round + 1 : 4);
    if (wait > HEAP_LONGEST_S) wait = HEAP_LONGEST_S;
    if (!atomic_compare_exchange_strong(&p->heap_next, &due, now + wait * NS_PER_S)) return;
    exit_notice_heap(p, false);
}

static size_t stack_here(uintptr_t *pcs, size_t max, size_t skip, uint8_t *end)
{
    deliver_if_due(&the_probe);
    return capture_stack_here(pcs, max, skip + 1, end);
}

static const agent_for_heap table = {
    .version = HEAP_LINK_VERSION, .stack_here = stack_here, .own_thread = capture_is_own};
EXPORT extern const agent_for_heap kiln_agent_for_heap __attribute__((alias("table")));

static void open_heap(probe *p)
{
    const heap_for_agent *h = dlsym(RTLD_DEFAULT, "kiln_heap_for_agent");
    if (!h || h->version != HEAP_LINK_VERSION || !h->start(p->segment.head->heap_bytes)) {
        proc_slot_warn(p->proc_slot, "libkiln-heap.so is not loaded, or cannot allocate its "
                                     "tables: no heap profile is taken");
        return;
    }
    p->heap = h;
    atomic_store(&p->heap_next, now_of(CLOCK_MONOTONIC) + HEAP_FIRST_S * NS_PER_S);
}

/* ---- the process slot ---- */

static uint64_t own_pid_namespace(void)
{
    struct stat st;
    return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

static void publish_span(proc_slot *d)
{
    const span_place *at = atomic_load(&handler.span);
    if (at) d->span = *at;
}

static void publish_source(proc_slot *d)
{
    atomic_store(&d->events, !strcmp(capture_source(), "perf"));
}

static bool take_slot(probe *p, uint32_t parent)
{
    uint32_t pid = (uint32_t)getpid(), at = proc_slot_take(&p->segment, pid);
    if (at == UINT32_MAX) return false;
    proc_slot *d = segment_proc_slot(&p->segment, at);
    d->parent = parent;
    d->pid_namespace = own_pid_namespace();
    d->time = now_of(CLOCK_REALTIME);
    d->cpu_begin = now_of(CLOCK_PROCESS_CPUTIME_ID);
    d->thread_begin = now_of(CLOCK_THREAD_CPUTIME_ID);
    atomic_store(&d->period, NS_PER_S / p->segment.head->cpu_hz);
    if (!parent) maps_write(d);
    if (parent) maps_copy(d, p->proc_slot, p->word);
    publish_span(d);
    d->own = own_calls_here();
    p->proc_slot = d;
    p->word = atomic_load(&d->word);
    p->sink = (capture_sink){.ring = segment_ring(&p->segment, at % SEGMENT_RINGS),
                             .counts = &d->counts,
                             .wake = &p->segment.head->wake,
                             .proc_slot = at};
    atomic_store(&p->gone, false);
    atomic_store(&d->ready, proc_slot_generation(p->word));
    atomic_fetch_add(&p->segment.head->arrivals, 1);
    p->pid = pid;
    return true;
}

/* ---- exit and exec ---- */

static void on_leaving(void *ctx, bool exec)
{
    probe *p = ctx;
    if (!is_ours(p) || atomic_exchange(&p->gone, true)) return;
    exit_notice_send(p);
    if (!exec) p->pid = 0;
}

/* Called after a failed exec, when the program continues. */
static void on_exec_failed(void *ctx)
{
    probe *p = ctx;
    if (!is_ours(p) || !atomic_exchange(&p->gone, false)) return;
    if (proc_slot_return(p->proc_slot, p->word)) {
        exit_notice_withdraw(p);
    } else if (take_slot(p, 0)) {
        capture_use_sink(&p->sink);
    } else {
        p->pid = 0;
        capture_close();
    }
}

static void on_ended(void *ctx, const thread_public *t) { (void)exit_notice_thread(ctx, t); }

static void warn(void *ctx, const char *text) { proc_slot_warn(((probe *)ctx)->proc_slot, text); }

static void __attribute__((destructor)) probe_end(void)
{
    probe *p = &the_probe;
    if (!is_ours(p)) return;
    on_leaving(p, false);
    if (p->heap) p->heap->stop();
    capture_close();
}

/* ---- start ---- */

static void on_fork_child(void)
{
    probe *p = &the_probe;
    err e = {0};
    uint32_t parent = p->pid;
    if (!parent) return;
    p->pid = 0;
    bool ok = p->segment.head->follow_fork && take_slot(p, parent) && capture_forked(&p->sink, &e);
    if (ok) publish_source(p->proc_slot);
    if (p->heap && ok) p->heap->forked();
    if (p->heap && !ok) p->heap->stop();
    if (!ok) p->pid = 0;
}

static bool begin(probe *p, const char *path, err *e)
{
    if (!segment_attach(&p->segment, path, e)) return false;
    const segment_head *h = p->segment.head;
    /* the program that started this one had installed a filter */
    if (seccomp_open(h->filters)) return false;
    if (atomic_load(&h->stopped) || !take_slot(p, 0))
        return err_set(e, ERR_LIMIT, "no free process slot");
    capture_opts o = {.size = sizeof o,
                      .cpu_hz = h->cpu_hz,
                      .source = (cpu_source)h->source,
                      .max_frames = h->max_frames,
                      .exclude = h->exclude[0] ? h->exclude : NULL,
                      .warn = warn,
                      .leaving = on_leaving,
                      .exec_failed = on_exec_failed,
                      .ended = on_ended,
                      .sink = &p->sink,
                      .ctx = p};
    if (!capture_open(&o, e)) return false;
    publish_span(p->proc_slot);
    publish_source(p->proc_slot);
    if (h->heap) open_heap(p);
    /* Permits the collector to read the stacks of waiting threads, even if it is not an ancestor of
     * the process (a daemon). */
    (void)prctl(PR_SET_PTRACER, (unsigned long)h->collector);
    (void)pthread_atfork(NULL, NULL, on_fork_child);
    return true;
}

/* Returns whether another agent or probe comes first in the loader's order. */
static bool is_second(void)
{
    const void *first = dlsym(RTLD_DEFAULT, "kiln_agent_for_heap");
    return first && first != &table;
}

static void start(probe *p)
{
    err e = {0};
    const char *path = getenv(SEGMENT_VARIABLE);
    if (!path || !*path || getauxval(AT_SECURE) || is_second()) return;
    if (begin(p, path, &e)) return;
    if (p->pid && p->proc_slot) proc_slot_warn(p->proc_slot, e.msg);
    if (p->pid && p->proc_slot) proc_slot_leave(p->proc_slot, p->word);
    p->pid = 0;
}

/* Preserves errno, because a program expects 0 at its start. */
static void __attribute__((constructor)) probe_begin(void)
{
    int before = errno;
    start(&the_probe);
    errno = before;
}
