/* The probe's life inside a program that `kiln run` started: constructor, fork, exec, exit.
 *
 *   constructor ─ no segment: returns, nothing was done
 *               └ takes a desk, arms a timer ─ handlers write samples to the ring ─ exec, exit: farewell
 *
 * No thread, no file, no socket: a process of a millisecond pays for a mapping and two timers' calls, and one that checks
 * that it is single-threaded finds that it is.  Globals: as in agent.c. */
#include "probe/probe.h"

#include "agent/filters.h"
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
#define NS_PER_S UINT64_C(1000000000)

enum { HEAP_FIRST_S = 1, HEAP_LONGEST_S = 16 }; /* between deliveries of the heap's totals */

probe the_probe;

static uint64_t now_of(clockid_t clock)
{
    struct timespec t = {0};
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Not in a child of vfork, and not behind a filter of system calls: getpid is one. */
static bool is_ours(const probe *p)
{
    return p->pid && !atomic_load(&p->desk->counts.filtered) && p->pid == (uint32_t)getpid();
}

/* ---- the heap object ---- */

/* Sampled allocations are a place to deliver the heap's totals from time to time, so that a process that is killed has
 * told most of them: totals are sums since the start, and any later delivery replaces an earlier one. */
static void deliver_if_due(probe *p)
{
    uint64_t due = atomic_load_explicit(&p->heap_next, memory_order_relaxed);
    uint64_t now = now_of(CLOCK_MONOTONIC);
    if (!due || now < due || !is_ours(p)) return;
    uint32_t round = atomic_fetch_add(&p->heap_rounds, 1);
    uint64_t wait = UINT64_C(1) << (round < 4 ? round + 1 : 4);
    if (wait > HEAP_LONGEST_S) wait = HEAP_LONGEST_S;
    if (!atomic_compare_exchange_strong(&p->heap_next, &due, now + wait * NS_PER_S)) return;
    farewell_heap(p, false);
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
        desk_say(p->desk, "libkiln-heap.so is not loaded, or has no memory for its tables: no heap "
                          "profile");
        return;
    }
    p->heap = h;
    atomic_store(&p->heap_next, now_of(CLOCK_MONOTONIC) + HEAP_FIRST_S * NS_PER_S);
}

/* ---- the desk ---- */

static uint64_t namespace_of_numbers(void)
{
    struct stat st;
    return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

static void show_span(desk *d)
{
    const span_place *at = atomic_load(&handler.span);
    if (at) d->span = *at;
}

static void show_source(desk *d) { atomic_store(&d->events, !strcmp(capture_source(), "perf")); }

static bool sit_down(probe *p, uint32_t parent)
{
    uint32_t pid = (uint32_t)getpid(), at = desk_take(&p->segment, pid);
    if (at == UINT32_MAX) return false;
    desk *d = segment_desk(&p->segment, at);
    d->parent = parent;
    d->numbers = namespace_of_numbers();
    d->time = now_of(CLOCK_REALTIME);
    d->cpu_begin = now_of(CLOCK_PROCESS_CPUTIME_ID);
    d->thread_begin = now_of(CLOCK_THREAD_CPUTIME_ID);
    atomic_store(&d->period, NS_PER_S / p->segment.head->cpu_hz);
    if (!parent) maps_write(d);
    if (parent) maps_copy(d, p->desk, p->word);
    show_span(d);
    d->own = own_calls_here();
    p->desk = d;
    p->word = atomic_load(&d->word);
    p->outlet = (capture_outlet){.ring = segment_ring(&p->segment, at % SEGMENT_RINGS),
                                 .counts = &d->counts,
                                 .wake = &p->segment.head->wake,
                                 .desk = at};
    atomic_store(&p->gone, false);
    atomic_store(&d->ready, desk_generation(p->word));
    atomic_fetch_add(&p->segment.head->arrivals, 1);
    p->pid = pid;
    return true;
}

/* ---- leaving ---- */

static void on_leaving(void *who, bool exec)
{
    probe *p = who;
    if (!is_ours(p) || atomic_exchange(&p->gone, true)) return;
    farewell_say(p);
    if (!exec) p->pid = 0;
}

/* An exec has failed, and the program goes on. */
static void on_staying(void *who)
{
    probe *p = who;
    if (!is_ours(p) || !atomic_exchange(&p->gone, false)) return;
    if (desk_return(p->desk, p->word)) {
        farewell_unsay(p);
    } else if (sit_down(p, 0)) {
        capture_use_outlet(&p->outlet);
    } else {
        p->pid = 0;
        capture_close();
    }
}

static void on_ended(void *who, const thread_face *t) { (void)farewell_thread(who, t); }

static void say(void *who, const char *sentence) { desk_say(((probe *)who)->desk, sentence); }

static void __attribute__((destructor)) probe_end(void)
{
    probe *p = &the_probe;
    if (!is_ours(p)) return;
    on_leaving(p, false);
    if (p->heap) p->heap->stop();
    capture_close();
}

/* ---- beginning ---- */

static void on_fork_child(void)
{
    probe *p = &the_probe;
    err e = {0};
    uint32_t parent = p->pid;
    if (!parent) return;
    p->pid = 0;
    bool ok = p->segment.head->follow_fork && sit_down(p, parent) && capture_forked(&p->outlet, &e);
    if (ok) show_source(p->desk);
    if (p->heap && ok) p->heap->forked();
    if (p->heap && !ok) p->heap->stop();
    if (!ok) p->pid = 0;
}

static bool begin(probe *p, const char *path, err *e)
{
    if (!segment_attach(&p->segment, path, e)) return false;
    const segment_head *h = p->segment.head;
    if (filters_open(h->filters)) return false; /* whoever started this program has filtered it */
    if (atomic_load(&h->stopped) || !sit_down(p, 0)) return err_set(e, ERR_LIMIT, "no desk");
    capture_opts o = {.size = sizeof o,
                      .cpu_hz = h->cpu_hz,
                      .source = (cpu_source)h->source,
                      .max_frames = h->max_frames,
                      .exclude = h->exclude[0] ? h->exclude : NULL,
                      .say = say,
                      .leaving = on_leaving,
                      .staying = on_staying,
                      .ended = on_ended,
                      .outlet = &p->outlet,
                      .who = p};
    if (!capture_open(&o, e)) return false;
    show_span(p->desk);
    show_source(p->desk);
    if (h->heap) open_heap(p);
    /* A collector that is not an ancestor any more (a daemon's) may read the stacks of blocked threads. */
    (void)prctl(PR_SET_PTRACER, (unsigned long)h->collector);
    (void)pthread_atfork(NULL, NULL, on_fork_child);
    return true;
}

/* Another agent or probe is before us in the loader's order. */
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
    if (p->pid && p->desk) desk_say(p->desk, e.msg);
    if (p->pid && p->desk) desk_leave(p->desk, p->word);
    p->pid = 0;
}

/* A program finds errno 0 at its start. */
static void __attribute__((constructor)) probe_begin(void)
{
    int before = errno;
    start(&the_probe);
    errno = before;
}
