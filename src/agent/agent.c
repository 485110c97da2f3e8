/* The agent in a program, from start to exit: constructor, shipper thread, fork, exec, destructor.
 *
 *   constructor ─ off: returns without any effect
 *               └ on: capture_open, shipper thread ─ flush … flush ─ destructor: last flush, report
 *
 * The state is global: the functions that the loader, fork and exit call take no argument. */
#include "agent/capture.h"
#include "agent/config.h"
#include "agent/descriptors.h"
#include "agent/seccomp.h"
#include "agent/heap/link.h"
#include "agent/report.h"
#include "agent/shipper.h"
#include "agent/messages.h"
#include "base/time.h"
#include "base/ban.h"
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    STACK_BYTES = 512 << 10, /* stack of the shipper thread: large, because demangling recurses */
    /* Time that exit waits beyond KILN_EXIT_TIMEOUT for cleanup.  It is longer than the exporter
     * needs to abandon a thread that hangs in a name lookup. */
    GRACE_MS = 1000,
    LEAST_MS = 100, /* minimum time for the exporter at exit, however long the last flush took */
    REQUEST_FLUSH = 1,
    REQUEST_MAPPINGS = 2,
    REQUEST_DELIVER = 4,
    REQUEST_STOP = 8,
};

#define EXPORT __attribute__((visibility("default")))
#define NS_PER_MS UINT64_C(1000000)

static struct {
    agent_config config;
    arena settings;
    shipper shipper;
    uint64_t start;    /* Unix ns */
    _Atomic pid_t pid; /* process that this agent belongs to; 0: off */
    /* The shipper sleeps on `requests`.  Threads that wait for the shipper sleep on `served`, which
     * counts its deliveries. */
    _Atomic uint32_t requests, served;
    _Atomic uint64_t leave_by; /* CLOCK_MONOTONIC deadline of request_and_wait */
} agent;

/* Used by this file through its static name: with two agents in a process, the exported name
 * resolves to the first one. */
static const agent_for_heap table = {
    .version = HEAP_LINK_VERSION, .stack_here = capture_stack_here, .own_thread = capture_is_own};
EXPORT extern const agent_for_heap kiln_agent_for_heap __attribute__((alias("table")));

static uint64_t now_of(clockid_t clock)
{
    struct timespec t = {0};
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* ---- waiting ---- */

/* Sleeps while *word is `value`, until `deadline` of CLOCK_MONOTONIC. */
static void sleep_on(_Atomic uint32_t *word, uint32_t value, uint64_t deadline)
{
    struct timespec t = {(time_t)(deadline / NS_PER_S), (long)(deadline % NS_PER_S)};
    (void)syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value, &t, NULL,
                  FUTEX_BITSET_MATCH_ANY);
}

static void wake(_Atomic uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* Wakes the shipper with a request.  Async-signal-safe, because _exit is. */
static void request(uint32_t what)
{
    atomic_fetch_or(&agent.requests, what);
    wake(&agent.requests);
}

/* Sends a request and waits until it is served or the deadline has passed. */
static void request_and_wait(uint32_t what)
{
    capture_suspend_thread();
    uint64_t leave_by = now_of(CLOCK_MONOTONIC) + agent.config.exit_ns;
    uint64_t deadline = leave_by + GRACE_MS * NS_PER_MS;
    atomic_store(&agent.leave_by, leave_by);
    uint32_t before = atomic_load(&agent.served);
    request(what);
    while (atomic_load(&agent.served) == before && now_of(CLOCK_MONOTONIC) < deadline)
        sleep_on(&agent.served, before, deadline);
}

/* ---- shipper thread ---- */

static void warn(void *ctx, const char *text) { (void)ctx, messages_print(text); }
static void on_flush_due(void *ctx) { (void)ctx, request(REQUEST_FLUSH); }
static void on_mapped(void *ctx) { (void)ctx, request(REQUEST_MAPPINGS); }
static void on_exporter(void *ctx) { (void)ctx, capture_own_thread("kiln-export"); }

static void write_report(void)
{
    const char *messages[MESSAGES_MAX];
    err e = {0};
    char text[384];
    if (!agent.config.report) return;
    agent_report r = {.start = agent.start,
                      .end = now_of(CLOCK_REALTIME),
                      .advice = messages,
                      .n_advice = messages_list(messages)};
    if (!agent_report_write(&agent.shipper, &r, &e))
        messages_print(err_text(&e, text, sizeof text));
}

/* Returns false for wrappers (env, nice, the last command of a shell), which exec at once. */
static bool has_samples(void)
{
    capture_counts c = capture_count();
    return c.cpu_samples || c.wall_samples || agent.shipper.heap;
}

/* Returns what remains of the exit timeout after the last flush. */
static uint64_t time_left(void)
{
    uint64_t now = now_of(CLOCK_MONOTONIC), by = atomic_load(&agent.leave_by);
    uint64_t least = LEAST_MS * NS_PER_MS, exit_ns = agent.config.exit_ns;
    if (by > now + least) return by - now;
    return exit_ns < least ? exit_ns : least;
}

/* Handles the pending requests.  Returns false when the thread has to end. */
static bool serve(uint32_t requests, uint64_t deadline)
{
    shipper *s = &agent.shipper;
    bool stop = requests & REQUEST_STOP, due = now_of(CLOCK_MONOTONIC) >= deadline;
    if (requests & REQUEST_MAPPINGS) shipper_read_mappings(s);
    if (due || (requests & ~(uint32_t)REQUEST_MAPPINGS)) shipper_flush(s, stop);
    if (requests & REQUEST_DELIVER) shipper_wait(s, time_left());
    if (stop) shipper_close(s, time_left());
    if (stop || (requests & REQUEST_DELIVER)) {
        if (stop || has_samples()) write_report();
        atomic_fetch_add(&agent.served, 1);
        wake(&agent.served);
    }
    return !stop;
}

static void *run(void *ctx)
{
    (void)ctx;
    capture_own_thread("kiln-ship");
    descriptors_own();
    uint64_t deadline = now_of(CLOCK_MONOTONIC) + agent.config.flush_ns;
    for (;;) {
        uint32_t requests = atomic_exchange(&agent.requests, 0);
        uint64_t now = now_of(CLOCK_MONOTONIC);
        if (!requests && now < deadline) {
            sleep_on(&agent.requests, 0, deadline);
            continue;
        }
        bool flushes = now >= deadline || (requests & ~(uint32_t)REQUEST_MAPPINGS);
        if (!serve(requests, deadline)) return NULL;
        if (flushes) deadline = now + agent.config.flush_ns;
    }
}

static bool start_thread(err *e)
{
    pthread_t t;
    pthread_attr_t attr;
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    capture_own_new_threads(true);
    int r = pthread_create(&t, &attr, run, NULL);
    capture_own_new_threads(false);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return r == 0 || err_sys(e, r, "cannot start the agent's thread");
}

/* ---- exit ---- */

/* Stops sampling, because nothing reads the totals from now on. */
static void stop_heap(void)
{
    if (agent.shipper.heap) agent.shipper.heap->stop();
}

/* Delivers before exec and _exit, which run no destructors.  A child of vfork has a different pid
 * and is ignored. */
static void on_leaving(void *ctx, bool exec)
{
    (void)ctx;
    if (!agent.pid || getpid() != agent.pid || capture_is_own()) return;
    request_and_wait(exec ? REQUEST_FLUSH | REQUEST_DELIVER : REQUEST_STOP);
    if (exec) return;
    agent.pid = 0;
    stop_heap();
}

/* Requests the last delivery without waiting for it: under the seccomp filter, the program's
 * threads must not make the agent's system calls. */
static void on_retired(void *ctx)
{
    (void)ctx;
    agent.pid = 0;
    stop_heap();
    request(REQUEST_STOP);
}

static void __attribute__((destructor)) agent_end(void)
{
    if (!agent.pid || getpid() != agent.pid) return;
    request_and_wait(REQUEST_STOP);
    agent.pid = 0;
    stop_heap();
    capture_close();
}

/* ---- start ---- */

static const char *get_variable(void *ctx, const char *name) { return (void)ctx, getenv(name); }

static const otlp_environment environment = {get_variable, warn, NULL};

/* Prints a warning before start() opens the messages. */
static void warn_early(void *ctx, const char *text)
{
    messages_open();
    warn(ctx, text);
}

static bool open_capture(err *e)
{
    const agent_config *c = &agent.config;
    capture_opts o = {
        .size = sizeof o,
        .cpu_hz = c->cpu ? c->cpu_hz : 0,
        .source = c->source,
        .wall_ns = c->wall ? c->wall_ns : 0,
        .max_frames = c->max_frames,
        .max_tables = c->unwind_bytes,
        .exclude = c->exclude,
        .warn = warn,
        .flush_due = on_flush_due,
        .flush_at = c->to == EXPORT_SPLUNK ? SHIPPER_RECORDS : 0,
        .mapped = on_mapped,
        .leaving = on_leaving,
        .retired = on_retired,
    };
    return capture_open(&o, e);
}

static void open_heap(void)
{
    const heap_for_agent *h = dlsym(RTLD_DEFAULT, "kiln_heap_for_agent");
    if (!h)
        messages_print("KILN_PROFILE includes heap, but libkiln-heap.so is not loaded: add it to "
                       "LD_PRELOAD after libkiln-agent.so");
    else if (h->version != HEAP_LINK_VERSION)
        messages_print(
            "libkiln-heap.so has a different version than the agent: no heap profile is taken");
    else if (!h->start(agent.config.heap_bytes))
        messages_print("not enough memory for the tables of allocations: no heap profile is taken");
    else
        agent.shipper.heap = h;
}

/* Opens a new shipper.  In a forked child the parent's memory is not touched. */
static bool open_shipper(err *e)
{
    const shipper *old = &agent.shipper;
    agent.shipper = (shipper){.heap = old->heap,
                              .net = old->net,
                              .has_net = old->has_net,
                              .warn = warn,
                              .own_thread = on_exporter};
    agent.start = now_of(CLOCK_REALTIME);
    atomic_store(&agent.requests, 0);
    return shipper_open(&agent.shipper, &agent.config, &environment, e);
}

static void on_fork_child(void)
{
    err e = {0};
    if (!agent.pid) return;
    agent.pid = 0;
    shipper_forked(&agent.shipper);
    if (!agent.config.follow_fork) {
        stop_heap();
        return;
    }
    messages_forked();
    agent.config.file = files_of_child(agent.config.file, &agent.settings);
    agent.config.report = files_of_child(agent.config.report, &agent.settings);
    if (agent.shipper.heap) agent.shipper.heap->forked();
    if (!open_shipper(&e) || !capture_forked(NULL, &e) || !start_thread(&e)) {
        stop_heap();
        return;
    }
    agent.pid = getpid();
}

static bool begin(err *e)
{
    if (!agent_config_read(&environment, &agent.settings, &agent.config, e)) return false;
    if (agent.config.quiet) messages_quiet();
    agent.config.file = files_absolute(agent.config.file, true, &agent.settings);
    agent.config.report = files_absolute(agent.config.report, true, &agent.settings);
    agent.config.spool = files_absolute(agent.config.spool, false, &agent.settings);
    if (!open_shipper(e) || !open_capture(e)) return false;
    if (agent.config.heap) open_heap();
    if (!start_thread(e)) {
        stop_heap();
        capture_close();
        return false;
    }
    agent.pid = getpid();
    (void)pthread_atfork(NULL, NULL, on_fork_child);
    return true;
}

/* The agent may be both preloaded and linked.  Only the first in the loader's order profiles. */
static bool is_second(void)
{
    const void *first = dlsym(RTLD_DEFAULT, "kiln_agent_for_heap");
    return first && first != &table;
}

static void start(void)
{
    err e = {0};
    char why[384], text[448];
    if (!agent_wanted(&(otlp_environment){get_variable, warn_early, NULL})) return;
    /* no message, because the filter may forbid write */
    if (seccomp_open(getenv(SECCOMP_VARIABLE))) return;
    messages_open();
    if (getauxval(AT_SECURE)) {
        messages_print(
            "this program is setuid, setgid or has file capabilities: it is not profiled");
        return;
    }
    if (is_second() || begin(&e)) return;
    snprintf(text, sizeof text, "this program is not profiled: %s", err_text(&e, why, sizeof why));
    messages_print(text);
}

/* Preserves errno, because a program expects 0 at its start. */
static void __attribute__((constructor)) agent_begin(void)
{
    int before = errno;
    start();
    errno = before;
}
