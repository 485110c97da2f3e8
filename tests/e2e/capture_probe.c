/* Preloaded into capture_host by capture_core: captures with settings from the environment and
 * prints every batch as text to descriptor PROBE_FD (3), so that the capture is tested without
 * exporter and symbols.
 *
 *   PROBE_HZ, PROBE_SOURCE (auto perf timer), PROBE_WALL (ns), PROBE_TAKE (ms between batches),
 *   PROBE_FRAMES, PROBE_EXCLUDE, PROBE_BATCH (bytes)
 *
 *   batch PID / thread INDEX TID NAME / sample KIND TIME VALUE THREAD STATE LINK ROUND REUSED CPU FRAMES end=END
 *   / count NAME N */
#include "agent/capture.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static FILE *out;
static unsigned take_ms = 100;
static _Atomic bool ending;
static pthread_t taker;
static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;

static unsigned long long number(const char *name, unsigned long long otherwise)
{
    const char *v = getenv(name);
    return v ? strtoull(v, NULL, 10) : otherwise;
}

static void print_frames(const batch *b, const agent_stack *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        Dl_info d;
        void *pc = (void *)b->pcs.v[s->first + i];
        fprintf(out, "%s%s", i ? ";" : "", dladdr(pc, &d) && d.dli_sname ? d.dli_sname : "?");
    }
}

static void print_link(const agent_link *l)
{
    for (size_t i = 0; i < sizeof l->span_id; i++) fprintf(out, "%02x", l->span_id[i]);
}

static void print_sample(const batch *b, const agent_sample *s)
{
    const agent_stack *k = &b->stacks.v[s->stack];
    fprintf(out, "sample %s %llu %lld %u %c%s%s ", s->kind == SAMPLE_CPU ? "cpu" : "wall",
            (unsigned long long)s->time, (long long)s->value, b->threads.v[s->thread].index,
            s->state, s->wchan[0] ? ":" : "", s->wchan);
    print_link(&b->links.v[s->link]);
    fprintf(out, " %u %u %llu ", s->round, s->reused, (unsigned long long)s->cpu_ns);
    print_frames(b, k);
    fprintf(out, " end=%u taken=%u\n", k->end, k->taken);
}

/* Takes a lock, because the sampler prints messages between two batches. */
static void print_batch(const batch *b)
{
    if (!b) return;
    flockfile(out);
    fprintf(out, "batch %u %llu %llu source=%s own=%llu\n", b->pid, (unsigned long long)b->start,
            (unsigned long long)b->end, capture_source(), (unsigned long long)b->own_cpu_ns);
    for (size_t i = 0; i < b->threads.n; i++)
        fprintf(out, "thread %u %u %s\n", b->threads.v[i].index, b->threads.v[i].tid,
                b->threads.v[i].name);
    for (size_t i = 0; i < b->samples.n; i++) print_sample(b, &b->samples.v[i]);
#define X(name, what)                                                                              \
    if (b->lost.name) fprintf(out, "count %s %llu\n", #name, (unsigned long long)b->lost.name);
    CAPTURE_COUNTERS(X)
#undef X
    fflush(out);
    funlockfile(out);
}

static void take(bool final)
{
    pthread_mutex_lock(&once);
    batch *b = capture_take(final);
    print_batch(b);
    batch_close(b);
    pthread_mutex_unlock(&once);
}

static void *take_all(void *p)
{
    (void)p;
    capture_own_thread("probe");
    while (!ending) {
        usleep(take_ms * 1000);
        if (!ending) take(false);
    }
    return NULL;
}

/* Called in the sampler thread, which has its own descriptors: the next batch prints the
 * message. */
static void warn(void *ctx, const char *text)
{
    (void)ctx;
    fprintf(out, "say %s\n", text);
}

/* exec may fail, so this batch need not be the last.  Prints and allocates: not for programs that
 * exec in a signal handler (PROBE_LEAVING=0). */
static void leaving(void *ctx, bool exec)
{
    (void)ctx;
    fprintf(out, "leaving %s\n", exec ? "exec" : "exit");
    fflush(out);
    ending = !exec;
    take(!exec);
}

/* At a fork no batch is partially printed, and buffered output belongs to the parent. */
static void before_fork(void)
{
    pthread_mutex_lock(&once);
    fflush(out);
}

static void in_parent(void) { pthread_mutex_unlock(&once); }

static void in_child(void)
{
    err e = {0};
    once = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    __fpurge(out);
    if (!capture_forked(NULL, &e)) fprintf(out, "say not started: %s\n", e.msg);
    pthread_create(&taker, NULL, take_all, NULL);
}

static cpu_source source(const char *name)
{
    return name && !strcmp(name, "perf")    ? CPU_PERF
           : name && !strcmp(name, "timer") ? CPU_TIMER
                                            : CPU_AUTO;
}

__attribute__((constructor)) static void begin(void)
{
    if (!getenv("PROBE_FD")) return;
    err e = {0};
    capture_opts o = {.size = sizeof o,
                      .cpu_hz = (uint32_t)number("PROBE_HZ", 0),
                      .source = source(getenv("PROBE_SOURCE")),
                      .wall_ns = number("PROBE_WALL", 0),
                      .max_frames = (uint32_t)number("PROBE_FRAMES", 0),
                      .max_batch = number("PROBE_BATCH", 0),
                      .exclude = getenv("PROBE_EXCLUDE"),
                      .warn = warn,
                      .leaving = number("PROBE_LEAVING", 1) ? leaving : NULL};
    static char whole[4 << 20]; /* one write per batch: a forked child writes to the same file */
    out = fdopen((int)number("PROBE_FD", 3), "w");
    if (out) setvbuf(out, whole, _IOFBF, sizeof whole);
    take_ms = (unsigned)number("PROBE_TAKE", 100);
    if (!out || !capture_open(&o, &e)) {
        fprintf(out ? out : stderr, "say not started: %s\n", e.msg);
        return;
    }
    pthread_atfork(before_fork, in_parent, in_child);
    pthread_create(&taker, NULL, take_all, NULL);
}

__attribute__((destructor)) static void end(void)
{
    if (!out) return;
    ending = true;
    take(true);
    fprintf(out, "end\n");
    fflush(out);
}
