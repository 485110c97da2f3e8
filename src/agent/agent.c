/* The agent's life inside a program: constructor, shipper thread, fork, exec, exit.
 *
 *   constructor ─ off: returns, nothing was done
 *               └ on: capture_open, shipper thread ─ flush … flush ─ destructor: last flush, report
 *
 * Globals: a library that is loaded into somebody's process has one beginning and one end, and the
 * functions the loader, fork and exit call take no argument. */
#include "agent/capture.h"
#include "agent/config.h"
#include "agent/descriptors.h"
#include "agent/filters.h"
#include "agent/heap/link.h"
#include "agent/report.h"
#include "agent/shipper.h"
#include "agent/voice.h"
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
    STACK_BYTES = 512 << 10, /* of the shipper's thread: demangling recurses */
    /* Exit waits so long beyond KILN_EXIT_TIMEOUT for things to be put away: longer than the exporter needs
     * to give up a thread that hangs in a name lookup. */
    GRACE_MS = 1000,
    LEAST_MS = 100, /* that the exporter has at the end, however long the last flush took */
    ASK_FLUSH = 1,
    ASK_LOOK = 2,
    ASK_DELIVER = 4,
    ASK_STOP = 8,
};

#define EXPORT __attribute__((visibility("default")))
#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)

static struct {
    agent_config config;
    arena settings;
    shipper shipper;
    uint64_t start;    /* Unix ns */
    _Atomic pid_t pid; /* whose agent this is; 0: off */
    /* The shipper sleeps on `asked`; who waits for it sleeps on `served`, which counts the rounds in
     * which it delivered. */
    _Atomic uint32_t asked, served;
    _Atomic uint64_t leave_by; /* CLOCK_MONOTONIC: all that somebody waits for shall be done */
} agent;

/* By a name of our own: the exported one is the first agent's when there are two. */
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

/* Async-signal-safe, as _exit is. */
static void ask(uint32_t what)
{
    atomic_fetch_or(&agent.asked, what);
    wake(&agent.asked);
}

/* Asks, and waits until it was done or the time is over. */
static void ask_and_wait(uint32_t what)
{
    capture_hush();
    uint64_t leave_by = now_of(CLOCK_MONOTONIC) + agent.config.exit_ns;
    uint64_t deadline = leave_by + GRACE_MS * NS_PER_MS;
    atomic_store(&agent.leave_by, leave_by);
    uint32_t before = atomic_load(&agent.served);
    ask(what);
    while (atomic_load(&agent.served) == before && now_of(CLOCK_MONOTONIC) < deadline)
        sleep_on(&agent.served, before, deadline);
}

/* ---- the shipper's thread ---- */

static void say(void *who, const char *sentence) { (void)who, voice_say(sentence); }
static void on_pressed(void *who) { (void)who, ask(ASK_FLUSH); }
static void on_mapped(void *who) { (void)who, ask(ASK_LOOK); }
static void on_exporter(void *who) { (void)who, capture_own_thread("kiln-export"); }

static void write_report(void)
{
    const char *said[VOICE_SENTENCES];
    err e = {0};
    char text[384];
    if (!agent.config.report) return;
    agent_report r = {.start = agent.start,
                      .end = now_of(CLOCK_REALTIME),
                      .advice = said,
                      .n_advice = voice_said(said)};
    if (!agent_report_write(&agent.shipper, &r, &e)) voice_say(err_text(&e, text, sizeof text));
}

/* Wrappers (env, nice, a shell's last command) live for a moment: nothing to tell of them when they exec. */
static bool has_samples(void)
{
    capture_counts c = capture_count();
    return c.cpu_samples || c.wall_samples || agent.shipper.heap;
}

/* Of the time that exit may take; the flush has had its share. */
static uint64_t time_left(void)
{
    uint64_t now = now_of(CLOCK_MONOTONIC), by = atomic_load(&agent.leave_by);
    uint64_t least = LEAST_MS * NS_PER_MS, exit_ns = agent.config.exit_ns;
    if (by > now + least) return by - now;
    return exit_ns < least ? exit_ns : least;
}

/* false: that was the last round. */
static bool serve(uint32_t asked, uint64_t deadline)
{
    shipper *s = &agent.shipper;
    bool stop = asked & ASK_STOP, due = now_of(CLOCK_MONOTONIC) >= deadline;
    if (asked & ASK_LOOK) shipper_look(s);
    if (due || (asked & ~(uint32_t)ASK_LOOK)) shipper_flush(s, stop);
    if (asked & ASK_DELIVER) shipper_wait(s, time_left());
    if (stop) shipper_close(s, time_left());
    if (stop || (asked & ASK_DELIVER)) {
        if (stop || has_samples()) write_report();
        atomic_fetch_add(&agent.served, 1);
        wake(&agent.served);
    }
    return !stop;
}

static void *run(void *who)
{
    (void)who;
    capture_own_thread("kiln-ship");
    descriptors_own();
    uint64_t deadline = now_of(CLOCK_MONOTONIC) + agent.config.flush_ns;
    for (;;) {
        uint32_t asked = atomic_exchange(&agent.asked, 0);
        uint64_t now = now_of(CLOCK_MONOTONIC);
        if (!asked && now < deadline) {
            sleep_on(&agent.asked, 0, deadline);
            continue;
        }
        bool flushes = now >= deadline || (asked & ~(uint32_t)ASK_LOOK);
        if (!serve(asked, deadline)) return NULL;
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
    capture_own_births(true);
    int r = pthread_create(&t, &attr, run, NULL);
    capture_own_births(false);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return r == 0 || err_sys(e, r, "cannot start the agent's thread");
}

/* ---- leaving ---- */

/* Nobody reads the heap's totals any more. */
static void stop_heap(void)
{
    if (agent.shipper.heap) agent.shipper.heap->stop();
}

/* exec and _exit run no destructors.  In a child of vfork the pid is another one: it is not ours. */
static void on_leaving(void *who, bool exec)
{
    (void)who;
    if (!agent.pid || getpid() != agent.pid || capture_is_own()) return;
    ask_and_wait(exec ? ASK_FLUSH | ASK_DELIVER : ASK_STOP);
    if (exec) return;
    agent.pid = 0;
    stop_heap();
}

/* The threads of the program may make none of our system calls: nobody waits for the delivery. */
static void on_retired(void *who)
{
    (void)who;
    agent.pid = 0;
    stop_heap();
    ask(ASK_STOP);
}

static void __attribute__((destructor)) agent_end(void)
{
    if (!agent.pid || getpid() != agent.pid) return;
    ask_and_wait(ASK_STOP);
    agent.pid = 0;
    stop_heap();
    capture_close();
}

/* ---- beginning ---- */

static const char *get_variable(void *who, const char *name) { return (void)who, getenv(name); }

static const otlp_environment environment = {get_variable, say, NULL};

/* Before it is known whether there is an agent at all, nothing is looked at that need not be. */
static void warn_early(void *who, const char *sentence)
{
    voice_open();
    say(who, sentence);
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
        .at_once = c->heap,
        .exclude = c->exclude,
        .say = say,
        .pressed = on_pressed,
        .press_at = c->to == EXPORT_SPLUNK ? SHIPPER_RECORDS : 0,
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
        voice_say(
            "KILN_PROFILE has heap, but libkiln-heap.so is not loaded: put it into LD_PRELOAD "
            "behind libkiln-agent.so");
    else if (h->version != HEAP_LINK_VERSION)
        voice_say("libkiln-heap.so is of another version: no heap profile");
    else if (!h->start(agent.config.heap_bytes))
        voice_say("no memory for the tables of allocations: no heap profile");
    else
        agent.shipper.heap = h;
}

/* Everything of the shipper anew; what a parent had is left alone. */
static bool open_shipper(err *e)
{
    const shipper *old = &agent.shipper;
    agent.shipper = (shipper){.heap = old->heap,
                              .net = old->net,
                              .has_net = old->has_net,
                              .say = say,
                              .own_thread = on_exporter};
    agent.start = now_of(CLOCK_REALTIME);
    atomic_store(&agent.asked, 0);
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
    voice_forked();
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
    if (agent.config.quiet) voice_quiet();
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

/* Preloaded and linked: the first in the loader's order is the agent. */
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
    /* Not a word: the filter may forbid even that. */
    if (filters_open(getenv(FILTERS_VARIABLE))) return;
    voice_open();
    if (getauxval(AT_SECURE)) {
        voice_say("this program runs with rights of its own (setuid): it is not profiled");
        return;
    }
    if (is_second() || begin(&e)) return;
    snprintf(text, sizeof text, "no profile of this program: %s", err_text(&e, why, sizeof why));
    voice_say(text);
}

/* A program finds errno 0 at its start. */
static void __attribute__((constructor)) agent_begin(void)
{
    int before = errno;
    start();
    errno = before;
}
