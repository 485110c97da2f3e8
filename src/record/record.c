/* The recorder thread: opens the sources, drains them, and delivers the profiles. */
#include "record/feed.h"

#include "agent/signal/raw.h"
#include "base/time.h"
#include "bpf/shared.h"
#include "objfile/build_id.h"
#include "sys/file.h"
#include "sys/map_guard.h"
#include "base/ban.h"
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
    PASS_MS = 50,
    DRAIN_MS = 100, /* between two drains while profiles are delivered */
    LOOKS_MAX =
        8, /* of space_follow in a pass: on a machine with thousands of processes, 2 % of a CPU */
    BATCHES_BYTES = 6 << 20,    /* of all batches; beyond it all are delivered */
    RESIDENT_BYTES = 56 << 20,  /* beyond it, memory is returned to the system */
    RELEASE_NS = 300 * 1000000, /* least time between two releases */
    FRAMES_MAX = 1024,
    KERNEL_FRAMES = BPF_FRAMES_MAX,
    CLOCK_TRIES = 16,
    CLOCK_CLOSE_NS = 1000,
};

/* ---- clocks ---- */

static uint64_t clock_of(clockid_t c)
{
    struct timespec t;
    clock_gettime(c, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Another program may run between two readings, so the clocks are compared several times and the
 * closest comparison counts. */
static void set_now(recorder *r)
{
    uint64_t best = UINT64_MAX;
    for (unsigned i = 0; i < CLOCK_TRIES && best > CLOCK_CLOSE_NS; i++) {
        uint64_t before = clock_of(CLOCK_MONOTONIC), real = clock_of(CLOCK_REALTIME),
                 after = clock_of(CLOCK_MONOTONIC);
        r->world.now = real;
        if (after - before >= best) continue;
        best = after - before;
        r->clock_offset = real - before - best / 2;
    }
}

/* ---- open ---- */

static void read_kernel_id(recorder *r)
{
    file_bytes f;
    if (!file_read("/sys/kernel/notes", 1 << 20, &f, NULL)) return;
    str id = notes_build_ids(f.bytes, false).gnu;
    if (id.n && id.n <= BUILD_ID_BYTES_MAX) hex_encode((const uint8_t *)id.p, id.n, r->kernel_id);
    file_release(&f);
}

static bool open_perf(recorder *r, bool side_band, err *e)
{
    static const perf_target targets[] = {PERF_PIDS, PERF_ALL, PERF_CGROUP};
    perf_opts o = {.target = side_band ? PERF_ALL : targets[r->o.target],
                   .cgroup = r->o.cgroup,
                   .hz = r->o.hz,
                   .kernel = r->o.kernel,
                   .side_band = side_band};
    r->perf = perf_open(&o, e);
    return r->perf != NULL;
}

static bool attach_all(recorder *r, err *e)
{
    for (size_t i = 0; i < r->o.n_pids; i++) {
        uint32_t pid = r->o.pids[i];
        if (!recorder_follow(r, pid)) return err_memory(e);
        bool ok = r->feed ? feed_attach(r->feed, pid, e) : perf_attach(r->perf, pid, false, e);
        if (!ok) return err_in(e, "process %u", pid);
    }
    return true;
}

/* Uses BPF unless that is excluded.  Where it is not available, perf events record the CPU time;
 * waits and system-wide side-band records need the privileges anyway. */
static bool open_sources(recorder *r, err *e)
{
    err why = {0};
    if (r->o.mode != RECORD_PERF && open_perf(r, true, &why)) r->feed = feed_open(r, &why);
    r->n.bpf = r->feed != NULL;
    if (r->feed) return attach_all(r, e);
    perf_close(r->perf);
    r->perf = NULL;
    bool refused = why.code == ERR_SYS && (why.sys == EPERM || why.sys == EACCES);
    if (refused)
        why = (err){.code = ERR_SYS,
                    .sys = why.sys,
                    .offset = NO_OFFSET,
                    .msg = "BPF needs root, or CAP_BPF and CAP_PERFMON"};
    if (r->o.mode == RECORD_BPF || r->o.off_cpu) {
        *e = why;
        bool no_bpf = refused || why.code == ERR_UNSUPPORTED;
        return no_bpf && r->o.off_cpu ? err_in(e, "--off-cpu") : false;
    }
    if (why.code) snprintf(r->n.why_perf, sizeof r->n.why_perf, "%s", why.msg);
    return open_perf(r, false, e) && attach_all(r, e);
}

recorder *recorder_open(const record_opts *o, err *e)
{
    recorder *r = calloc(1, sizeof *r);
    if (!r) return err_memory(e), NULL;
    r->o = *o;
    r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!r->o.max_frames || r->o.max_frames > FRAMES_MAX) r->o.max_frames = FRAMES_MAX;
    pthread_mutex_init(&r->lock, NULL);
    set_now(r);
    read_kernel_id(r);
    r->world.config = o->config ? o->config : &r->config;
    r->world.files = table_files_open();
    /* BPF programs take KERNEL_FRAMES frames of the kernel, whatever the limit of user frames. */
    size_t kernel = r->o.max_frames > KERNEL_FRAMES ? r->o.max_frames : KERNEL_FRAMES;
    r->n_pcs = kernel + raw_room(r->o.max_frames);
    r->pcs = calloc(r->n_pcs, sizeof *r->pcs);
    bool ok = (r->world.files && r->pcs && r->wake >= 0) || err_memory(e);
    ok = ok && (resource_facts_read(&r->mem, &r->world.facts) || err_memory(e));
    if (ok && open_sources(r, e)) return r;
    recorder_close(r);
    return NULL;
}

/* A program that the kernel cannot execute is started a second time, by a shell, while the thread
 * runs. */
bool recorder_attach(recorder *r, uint32_t pid, err *e)
{
    pthread_mutex_lock(&r->lock);
    bool ok = (recorder_follow(r, pid) && recorder_gate(r, pid)) || err_memory(e);
    ok = ok && (r->feed ? feed_attach(r->feed, pid, e) : perf_attach(r->perf, pid, true, e));
    pthread_mutex_unlock(&r->lock);
    return ok;
}

/* ---- the thread ---- */

static void drain(recorder *r)
{
    set_now(r);
    perf_events on = recorder_events(r);
    perf_drain(r->perf, &on);
    /* The exec of a program divides its events: they stay in the ring until its record is read. */
    if (r->feed && (!r->gated || atomic_load(&r->stopping))) feed_drain(r->feed);
}

static void count(recorder *r)
{
    perf_counts p = perf_count(r->perf);
    if (r->feed) feed_count(r->feed);
    if (r->feed)
        r->n.records_lost = p.lost;
    else
        r->n.ring_full = p.lost;
    r->n.threads_lost = p.threads_lost;
    r->n.throttled = p.throttled;
    r->n.repeated = p.repeated;
    r->n.user_only = !r->feed && p.user_only;
    r->n.mappings_lost = r->world.mappings_lost;
    r->n.own_cpu = clock_of(CLOCK_THREAD_CPUTIME_ID);
}

static size_t bytes_of_batches(const recorder *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->spaces.n; i++)
        if (r->spaces.v[i]->batch) n += r->spaces.v[i]->batch->mem.used;
    return n;
}

/* Closes the files of programs, of which a busy machine has thousands over time. */
static void drop_files(recorder *r)
{
    for (size_t i = 0; i < r->spaces.n; i++) space_drop_rules(r->spaces.v[i]);
    table_files_reset(r->world.files);
}

static size_t resident_bytes(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%*u %lu", &pages) != 1) pages = 0;
    if (f) fclose(f);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Returns memory to the system: the pages of files, and what was freed.  Walks and names of large
 * programs touch many pages of their files. */
static void release(recorder *r)
{
    if (resident_bytes() < RESIDENT_BYTES || r->world.now - r->released_at < RELEASE_NS) return;
    r->released_at = r->world.now;
    drop_files(r);
    malloc_trim(0);
}

/* Naming the functions of many processes takes seconds, in which the rings would overflow.  What
 * memory has no room for is lost, and counted. */
static void drain_meanwhile(recorder *r)
{
    bool large = r->feed && feed_is_large(r->feed);
    if (!large && bytes_of_batches(r) < BATCHES_BYTES) drain(r);
    release(r);
}

static void flush_all(recorder *r)
{
    uint64_t due = r->world.now, drained = clock_of(CLOCK_MONOTONIC);
    count(r); /* the profiles state the losses */
    for (size_t i = 0, n = r->spaces.n; i < n; i++) {
        if (!r->spaces.v[i]->batch) continue;
        recorder_flush(r, r->spaces.v[i]);
        if (clock_of(CLOCK_MONOTONIC) - drained < DRAIN_MS * NS_PER_MS) continue;
        drain_meanwhile(r);
        drained = clock_of(CLOCK_MONOTONIC);
    }
    r->flushed_at = due;
    malloc_trim(0); /* a recorder runs for months; its peaks should not stay */
}

/* Begins where the previous pass ended, so that each process has its turn. */
static void follow_all(recorder *r)
{
    unsigned looks = 0;
    for (size_t n = r->spaces.n, i = 0; i < n && looks < LOOKS_MAX; i++) {
        space *s = r->spaces.v[r->next_look++ % n];
        space_look found = space_follow(s, &r->world);
        looks += found != SPACE_NOT_DUE;
        if (found == SPACE_FOUND && r->feed) feed_publish(r->feed, s);
    }
}

static void pass(recorder *r)
{
    pthread_mutex_lock(&r->lock);
    drain(r);
    recorder_sweep(r);
    recorder_reap(r, false);
    bool due = (r->o.flush_ns && r->world.now - r->flushed_at >= r->o.flush_ns) ||
               (r->feed && feed_is_large(r->feed));
    if (due && r->feed) feed_settle(r->feed, false);
    if (due || bytes_of_batches(r) > BATCHES_BYTES) flush_all(r);
    if (due || table_files_full(r->world.files)) drop_files(r);
    release(r);
    follow_all(r);
    count(r);
    pthread_mutex_unlock(&r->lock);
}

static void *run(void *ctx)
{
    recorder *r = ctx;
    prctl(PR_SET_NAME, "kiln-record", 0, 0, 0);
    struct pollfd p[] = {{.fd = r->wake, .events = POLLIN},
                         {.fd = perf_fd(r->perf), .events = POLLIN},
                         {.fd = r->feed ? feed_fd(r->feed) : -1, .events = POLLIN}};
    while (!atomic_load(&r->stopping)) {
        poll(p, ARRAY_LEN(p), PASS_MS);
        if (!atomic_load(&r->stopping)) pass(r);
    }
    perf_stop(r->perf);
    drain(r);
    if (r->feed) {
        feed_settle(r->feed, true);
        feed_stop(r->feed);
        feed_drain(r->feed); /* threads that ended meanwhile */
    }
    count(r); /* the profiles state the losses */
    recorder_reap(r, true);
    count(r);
    return NULL;
}

void recorder_began(recorder *r) { r->began = clock_of(CLOCK_MONOTONIC); }

bool recorder_start(recorder *r, err *e)
{
    sigset_t before;
    r->flushed_at = r->world.now;
    recorder_began(r);
    if (!perf_start(r->perf, e) || (r->feed && !feed_start(r->feed, e))) return false;
    map_guard_block_signals(&before);
    int why = pthread_create(&r->thread, NULL, run, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (why) return err_sys(e, why, "cannot start a thread");
    r->running = true;
    return true;
}

void recorder_progress(recorder *r, recorded *out)
{
    pthread_mutex_lock(&r->lock);
    *out = r->n;
    pthread_mutex_unlock(&r->lock);
}

bool recorder_is_done(recorder *r) { return atomic_load(&r->done); }

void recorder_stop(recorder *r, recorded *out)
{
    if (r->running) {
        uint64_t one = 1, now = clock_of(CLOCK_MONOTONIC);
        if (r->feed) feed_end(r->feed, now);
        perf_end(r->perf); /* not later: a pass may be in progress */
        atomic_store(&r->stopping, true);
        (void)!write(r->wake, &one, sizeof one);
        pthread_join(r->thread, NULL);
        r->running = false;
        r->n.ran_ns = now - r->began;
    }
    *out = r->n;
}

void recorder_close(recorder *r)
{
    if (!r) return;
    feed_close(r->feed);
    perf_close(r->perf);
    if (r->wake >= 0) close(r->wake);
    for (size_t i = 0; i < r->spaces.n; i++) space_close(r->spaces.v[i]);
    table_files_close(r->world.files);
    pthread_mutex_destroy(&r->lock);
    free(r->pcs);
    arena_free(&r->mem);
    free(r);
}
