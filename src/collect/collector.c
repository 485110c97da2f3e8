/* The collector thread of `kiln run`: drains the rings, follows processes to their end, and
 * delivers their profiles.  The segment may contain arbitrary bytes, so records are copied and
 * checked before they are used. */
#include "collect/collector.h"

#include "collect/process.h"
#include "collect/rounds.h"
#include "collect/stragglers.h"
#include "base/utf8.h"
#include "sys/entropy.h"
#include "sys/map_guard.h"
#include "sys/process.h"
#include "base/time.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/ban.h"

enum {
    DRAIN_NS = 50 * 1000000,   /* interval of drains, unless a ring is half full earlier */
    ALIVE_NS = 100 * 1000000,  /* interval of checks whether processes are alive */
    STUCK_NS = 2000 * 1000000, /* a cell that was claimed this long ago is skipped */
    ENDED_MAX = 4096,
    LAST_NS = 500 * 1000000,       /* wait at the end for writers that block the rings */
    SLOTS_WAIT_NS = 100 * 1000000, /* wait at the end until processes have taken a slot */
    SHM_FREE_MIN = 40 << 20, /* required free space in /dev/shm, whose pages are allocated later */
    EXEC_DISTANCE = 32,      /* a process that execs finds its new slot within this distance */
    UNREADY_NS =
        1000 * 1000000, /* a process that is not ready after this time may have been killed */
};

/* A process that has ended, or has become another one by exec. */
typedef struct ended_process {
    uint32_t pid;
    uint64_t cpu;
} ended_process;

#define NAMESPACE_IDLE_NS (60 * NS_PER_S)

typedef struct stuck {
    uint64_t head, since;
} stuck;

struct collector {
    collector_opts o;
    agent_config config; /* used if the caller has none */
    char exclude[256];
    segment segment;
    int fd; /* descriptor of a memfd; -1: the segment is the file at `path` */
    char path[128];
    char dir[64]; /* directory created for `path`; "": none */
    bool is_file;
    process *at[SEGMENT_PROC_SLOTS];
    process_world world;
    collected sums;
    rounds *rounds;  /* NULL: no wall-clock samples */
    raw_sample *raw; /* copy of the current cell */
    stuck stuck[SEGMENT_RINGS];
    /* when a slot was first seen as taken and not ready; 0: it is free or ready */
    uint64_t unready[SEGMENT_PROC_SLOTS];
    uint32_t arrivals; /* value in the segment's header when all slots were last checked */
    ended_process ended[ENDED_MAX];
    uint64_t alive_at;
    arena mem; /* messages */
    pthread_t thread;
    bool started, handed_over;
    _Atomic uint64_t last_sample; /* time of the last sample, CLOCK_MONOTONIC */
    task_status own_status;
    bool filtered; /* a program has installed a seccomp filter */
    _Atomic bool stop;
    _Atomic uint32_t alive;
};

static uint64_t clock_ns(clockid_t c)
{
    struct timespec t = {0};
    clock_gettime(c, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- segment ---- */

#define SHARED "/dev/shm/"
#define SHARED_NAME "kiln-run."

/* Returns whether a segment is in use: the process that created it, or its fork that follows
 * daemons, holds a lock on it. */
static bool is_in_use(int dir, const char *name)
{
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct flock lock = {.l_type = F_WRLCK};
    bool locked = fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    if (fd >= 0) close(fd);
    return locked;
}

/* Removes a directory that an earlier run as root has left behind. */
static void remove_stale_dir(int at, const char *name)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    for (struct dirent *x; d && (x = readdir(d));)
        if (x->d_name[0] != '.' && !is_in_use(fd, x->d_name)) (void)unlinkat(fd, x->d_name, 0);
    if (d)
        closedir(d);
    else if (fd >= 0)
        close(fd);
    (void)unlinkat(at, name, AT_REMOVEDIR);
}

/* Removes files that a killed kiln has left behind. */
static void remove_stale(void)
{
    DIR *d = opendir(SHARED);
    for (struct dirent *x; d && (x = readdir(d));) {
        if (strncmp(x->d_name, SHARED_NAME, strlen(SHARED_NAME)) != 0) continue;
        long pid = strtol(x->d_name + strlen(SHARED_NAME), NULL, 10);
        bool dead = pid > 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
        if (!dead) continue;
        if (x->d_type == DT_DIR)
            remove_stale_dir(dirfd(d), x->d_name);
        else if (!is_in_use(dirfd(d), x->d_name))
            (void)unlinkat(dirfd(d), x->d_name, 0);
    }
    if (d) closedir(d);
}

/* Creates a file for a program that root starts.  The program may change its user, who must be able
 * to open the file.  Other users must not find it, so it has a random name in a directory that
 * cannot be listed. */
static int open_for_all(collector *c)
{
    snprintf(c->dir, sizeof c->dir, SHARED SHARED_NAME "%d.XXXXXX", getpid());
    if (!mkdtemp(c->dir)) return c->dir[0] = '\0', -1;
    snprintf(c->path, sizeof c->path, "%s/%016" PRIx64 "%016" PRIx64, c->dir, entropy_u64(),
             entropy_u64());
    int fd = open(c->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0 && fchmod(fd, 0666) == 0 && chmod(c->dir, 0711) == 0) return fd;
    if (fd >= 0) close(fd), (void)unlink(c->path);
    (void)rmdir(c->dir);
    return c->dir[0] = '\0', -1;
}

static int open_for_user(collector *c)
{
    snprintf(c->path, sizeof c->path, SHARED SHARED_NAME "%d.XXXXXX", getpid());
    return mkostemp(c->path, O_CLOEXEC);
}

/* Opens memory for the segment, not a file on a disk: with a full disk, the next sample would kill
 * the program.  Uses /dev/shm, with pages allocated in advance, if it has space; otherwise a
 * memfd.  A file in /dev/shm has a name that outlives this process and that another user can
 * open. */
static int open_shared(collector *c)
{
    struct statvfs v;
    remove_stale();
    if (statvfs(SHARED, &v) != 0 || (uint64_t)v.f_bavail * v.f_frsize < SHM_FREE_MIN) return -1;
    int fd = geteuid() == 0 ? open_for_all(c) : open_for_user(c);
    c->is_file = fd >= 0;
    if (fd >= 0) (void)fcntl(fd, F_OFD_SETLK, &(struct flock){.l_type = F_WRLCK});
    return fd;
}

static int open_memory(collector *c)
{
    int fd = open_shared(c);
    if (fd >= 0) return fd;
    fd = (int)syscall(SYS_memfd_create, "kiln-run", 1u /* MFD_CLOEXEC */);
    if (fd >= 0) snprintf(c->path, sizeof c->path, "/proc/%d/fd/%d", getpid(), fd);
    return fd;
}

/* Reads the status of a thread.  Returns false when it has ended. */
static bool status_of(uint32_t pid, uint32_t tid, task_status *out)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%u/task/%u/status", pid, tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t n = read(fd, text, sizeof text);
    close(fd);
    return n > 0 && task_status_parse((str){text, (size_t)n}, out);
}

static bool is_filtered(const collector *c, uint32_t pid, uint32_t tid)
{
    task_status now;
    return tid && status_of(pid, tid, &now) && task_status_filtered(&now, &c->own_status);
}

/* Finds a filter that the program installed with a direct system call, which the probe cannot
 * notice.  Checks the first thread and the sampled threads. */
static void check_seccomp(collector *c, process *p)
{
    handler_counts *k = &segment_proc_slot(&c->segment, p->proc_slot)->counts;
    if (p->left || p->other_namespace || atomic_load(&k->filtered)) return;
    bool found = is_filtered(c, p->pid, p->pid);
    for (size_t i = 0; !found && i < p->threads.n; i++) {
        process_thread *t = &p->threads.v[i];
        found = t->fresh && is_filtered(c, p->pid, t->about.tid);
        t->fresh = false;
    }
    if (!found) return;
    atomic_store(&k->filtered, 1);
    c->filtered = true;
}

static uint64_t own_pid_namespace(void)
{
    struct stat st;
    return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

static bool make_segment(collector *c, err *e)
{
    segment_head h = {.cpu_hz = c->o.cpu_hz,
                      .max_frames = c->o.max_frames,
                      .source = c->o.source,
                      .heap = c->o.heap,
                      .follow_fork = c->o.follow_fork,
                      .heap_bytes = c->o.heap_bytes,
                      .collector = (uint32_t)getpid()};
    snprintf(h.exclude, sizeof h.exclude, "%s", c->exclude);
    (void)!status_of((uint32_t)getpid(), (uint32_t)getpid(), &c->own_status);
    snprintf(h.filters, sizeof h.filters, "%" PRIu64 " %" PRIu64, c->own_status.seccomp,
             c->own_status.filters);
    c->fd = open_memory(c);
    if (c->fd < 0) return err_sys(e, errno, "not enough memory to share with the program");
    if (!segment_create(&c->segment, c->fd, &h, e)) return false;
    if (!c->is_file) return true;
    int why = posix_fallocate(c->fd, 0, (off_t)c->segment.bytes);
    return !why ||
           err_sys(e, why, "not enough space in /dev/shm for the memory shared with the program");
}

/* ---- processes ---- */

static void keep_messages(collector *c, const proc_slot *d)
{
    collected *s = &c->sums;
    for (size_t i = 0; i < PROC_SLOT_MESSAGES && s->n_messages < ARRAY_LEN(s->messages); i++) {
        char text[PROC_SLOT_MESSAGE_BYTES];
        bool known = false;
        if (!atomic_load(&d->message_ready[i])) continue;
        memcpy(text, d->messages[i], sizeof text);
        text[sizeof text - 1] = '\0';
        text[utf8_valid(text, strlen(text))] = '\0';
        if (!text[0]) continue;
        for (size_t k = 0; k < s->n_messages; k++) known = known || !strcmp(s->messages[k], text);
        char *copy = known ? NULL : arena_alloc(&c->mem, sizeof text);
        if (copy) s->messages[s->n_messages++] = memcpy(copy, text, sizeof text);
    }
}

/* Returns the CPU time of a process at its last exit notice, because an exec keeps the process id
 * and the clock. */
static uint64_t cpu_before(const collector *c, const process *p)
{
    const ended_process *d = &c->ended[p->pid % ENDED_MAX];
    uint64_t most = d->pid == p->pid && d->cpu <= p->cpu_begin ? d->cpu : 0;
    for (uint32_t i = 0; i < SEGMENT_PROC_SLOTS; i++) {
        const process *q = c->at[i];
        uint64_t cpu = q && q != p && q->pid == p->pid ? atomic_load(&q->d->cpu_end) : 0;
        if (cpu > most && cpu <= p->cpu_begin) most = cpu;
    }
    return most;
}

static process *process_at(collector *c, uint32_t at);

/* Opens the process that this one was before its exec, if it is not known yet. */
static void open_former(collector *c, const process *p)
{
    for (uint32_t k = 0; k < EXEC_DISTANCE; k++) {
        uint32_t i = (p->pid + k) % SEGMENT_PROC_SLOTS;
        if (!c->at[i] &&
            proc_slot_pid(atomic_load(&segment_proc_slot(&c->segment, i)->word)) == p->pid)
            (void)process_at(c, i);
    }
}

static process *open_at(collector *c, uint32_t at, uint64_t word)
{
    const proc_slot *d = segment_proc_slot(&c->segment, at);
    process *p = process_open(&c->world, d, at, word);
    if (!p) return NULL;
    c->at[at] = p;
    c->sums.processes++;
    if (!p->forked) {
        open_former(c, p);
        c->sums.startup += p->cpu_begin - cpu_before(c, p);
    }
    return p;
}

/* Returns the process of a slot; NULL when there is none or the slot is not ready. */
static process *process_at(collector *c, uint32_t at)
{
    const proc_slot *d = segment_proc_slot(&c->segment, at);
    uint64_t word = atomic_load(&d->word);
    if (proc_slot_state_of(word) == PROC_SLOT_FREE) return NULL;
    if (c->at[at]) return c->at[at];
    return atomic_load(&d->ready) == proc_slot_generation(word) ? open_at(c, at, word) : NULL;
}

/* Adds the counters of the process slot to the sums. */
static void add_counts(collector *c, const proc_slot *d)
{
    collected *s = &c->sums;
    keep_messages(c, d);
    *(atomic_load(&d->events) ? &s->perf : &s->timer) = true;
    s->unsampled += atomic_load(&d->unsampled);
    s->n_unsampled += atomic_load(&d->n_unsampled);
    s->nameless += atomic_load(&d->maps_lost);
    s->heap_samples += atomic_load(&d->heap_samples);
    s->heap_stacks_lost += atomic_load(&d->heap_stacks_lost);
    s->heap_live_lost += atomic_load(&d->heap_live_lost);
    s->heap_lost += atomic_load(&d->heap_lost);
    s->capture.threads_lost += atomic_load(&d->threads_lost);
    s->capture.strangers += atomic_load(&d->counts.foreign_signals);
    s->capture.ring_full += atomic_load(&d->counts.ring_full);
}

static void close_at(collector *c, process *p)
{
    const proc_slot *d = segment_proc_slot(&c->segment, p->proc_slot);
    add_counts(c, d);
    c->sums.killed += !atomic_load(&d->cpu_end);
    c->ended[p->pid % ENDED_MAX] = (ended_process){p->pid, atomic_load(&d->cpu_end)};
    process_flush(&c->world, p, true);
    c->o.process(c->o.ctx, p->pid, atomic_load(&d->cpu_end) != 0);
    c->at[p->proc_slot] = NULL;
    if (c->rounds) rounds_forget(c->rounds, p);
    proc_slot_free(&c->segment, p->proc_slot);
    process_close(p);
}

/* Returns whether the process has exec'd: another slot of the same process has a later start and
 * was not forked. */
static bool has_exec(const collector *c, const process *p)
{
    for (uint32_t k = 0; k < EXEC_DISTANCE; k++) {
        const process *q = c->at[(p->pid + k) % SEGMENT_PROC_SLOTS];
        if (q && q != p && q->pid == p->pid && q->pid_namespace == p->pid_namespace && !q->forked &&
            q->cpu_begin >= p->cpu_begin && q->start >= p->start)
            return true;
    }
    return false;
}

/* ---- draining ---- */

/* Normalizes a bool from shared memory, whose byte may have any value. */
static void make_bool(bool *b)
{
    uint8_t byte;
    memcpy(&byte, b, sizeof byte);
    *b = byte != 0;
}

/* Copies and checks the cell, which its writer may still change.  Returns false if it is
 * invalid. */
static bool copy_cell(collector *c, const ring_cell *cell)
{
    const raw_sample *raw = (const raw_sample *)(const void *)cell->bytes;
    memcpy(c->raw, raw, sizeof *raw);
    if (c->raw->n > c->o.max_frames || c->raw->proc_slot >= SEGMENT_PROC_SLOTS) return false;
    memcpy(c->raw->pcs, raw->pcs, c->raw->n * sizeof *raw->pcs);
    make_bool(&c->raw->in_context);
    if (c->raw->kind == RAW_SAMPLE) make_bool(&c->raw->span.has_ids);
    return true;
}

/* Drains at most one lap, so that a process that writes constantly does not block the others. */
static void drain_ring(collector *c, uint32_t i)
{
    ring r = segment_ring(&c->segment, i);
    ring_cell *cell;
    for (uint32_t n = 0; n < RING_CELLS && (cell = ring_peek(&r)); n++, ring_release(&r, cell)) {
        process *p = copy_cell(c, cell) ? process_at(c, c->raw->proc_slot) : NULL;
        bool ok = p && atomic_load(&cell->writer) == p->pid && process_take(&c->world, p, c->raw);
        c->sums.rejected += !ok;
        atomic_store_explicit(&c->last_sample, c->world.now, memory_order_relaxed);
    }
}

/* Skips the cell of a process that was killed or stopped between claim and commit. */
static void skip_stuck(collector *c, uint32_t i)
{
    ring r = segment_ring(&c->segment, i);
    stuck *s = &c->stuck[i];
    uint32_t writer;
    ring_cell *cell = ring_pending(&r, &writer);
    uint64_t head = atomic_load(&r.ends->head);
    if (!cell || s->head != head || !s->since) {
        *s = (stuck){head, cell ? c->world.now : 0};
        return;
    }
    if (c->world.now - s->since < STUCK_NS && (!writer || process_is_alive(writer))) return;
    if (ring_skip(&r, cell)) c->sums.capture.ring_full++;
    s->since = 0;
    drain_ring(c, i);
}

static void drain(collector *c)
{
    c->world.now = clock_ns(CLOCK_MONOTONIC);
    for (uint32_t i = 0; i < SEGMENT_RINGS; i++) {
        drain_ring(c, i);
        skip_stuck(c, i);
    }
}

/* Frees the slot of a process that was killed before it was ready. */
static void reclaim(collector *c, uint32_t i)
{
    const proc_slot *d = segment_proc_slot(&c->segment, i);
    uint64_t word = atomic_load(&d->word);
    bool unready = proc_slot_state_of(word) != PROC_SLOT_FREE &&
                   atomic_load(&d->ready) != proc_slot_generation(word);
    uint64_t *since = &c->unready[i];
    if (!unready || !*since) {
        *since = unready ? c->world.now : 0;
    } else if (c->world.now - *since > UNREADY_NS && !process_is_alive(proc_slot_pid(word))) {
        *since = 0;
        proc_slot_free(&c->segment, i);
    }
}

/* Returns whether a writer preempted between claim and commit blocks the samples of others. */
static bool is_blocked(const collector *c, uint32_t at)
{
    ring r = segment_ring(&c->segment, at % SEGMENT_RINGS);
    uint32_t writer;
    return ring_pending(&r, &writer) != NULL;
}

/* Returns whether the process has ended.  For a process without an id in kiln's /proc, only the
 * exit notice shows this. */
static bool is_gone(const collector *c, const process *p)
{
    if (has_exec(c, p)) return true;
    return p->proc ? !process_is_alive(p->proc) : p->left;
}

/* Returns whether to wait for the process.  One of another pid namespace counts only while its
 * samples arrive. */
static bool is_expected(const collector *c, const process *p)
{
    return p->proc || c->world.now - p->sampled_at < NAMESPACE_IDLE_NS;
}

/* Closes processes that have ended, after their last samples: marks, drains, then closes.  Returns
 * false when samples of an ended process may still arrive; `force` closes it nevertheless. */
static bool follow(collector *c, bool force)
{
    bool gone[SEGMENT_PROC_SLOTS] = {0}, all = true;
    uint32_t alive = 0;
    for (uint32_t i = 0; i < SEGMENT_PROC_SLOTS; i++) {
        process *p = process_at(c, i);
        if (!p) reclaim(c, i);
        if (!p) continue;
        p->left = proc_slot_state_of(atomic_load(&p->d->word)) == PROC_SLOT_LEFT;
        gone[i] = is_gone(c, p);
        alive += !gone[i] && is_expected(c, p);
        if (!gone[i]) check_seccomp(c, p);
    }
    atomic_store(&c->alive, alive);
    drain(c);
    for (uint32_t i = 0; i < SEGMENT_PROC_SLOTS; i++) {
        process *p = c->at[i];
        bool early = p && gone[i] && !force && is_blocked(c, i);
        all = all && !early;
        if (p && gone[i] && !early)
            close_at(c, p);
        else if (p && c->o.flush_ns && c->world.now - p->flushed_at >= c->o.flush_ns)
            process_flush(&c->world, p, false);
    }
    return all;
}

static void sleep_briefly(collector *c, uint32_t wake, uint64_t until)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC), ns = until > now ? until - now : 0;
    struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    syscall(SYS_futex, &c->segment.head->wake, FUTEX_WAIT, wake, &t, NULL, 0);
}

/* Opens processes that have no sample yet. */
static void open_new(collector *c)
{
    uint32_t arrivals = atomic_load(&c->segment.head->arrivals);
    if (arrivals == c->arrivals) return;
    c->arrivals = arrivals;
    for (uint32_t i = 0; i < SEGMENT_PROC_SLOTS; i++) (void)process_at(c, i);
}

static void *run(void *ctx)
{
    collector *c = ctx;
    prctl(PR_SET_NAME, "kiln-collect");
    uint64_t next = clock_ns(CLOCK_MONOTONIC);
    while (!atomic_load(&c->stop)) {
        uint32_t wake = atomic_load(&c->segment.head->wake);
        drain(c);
        if (c->rounds) {
            open_new(c);
            rounds_take(c->rounds, &c->world, c->at, SEGMENT_PROC_SLOTS);
        }
        if (c->world.now >= c->alive_at + ALIVE_NS) {
            c->alive_at = c->world.now;
            (void)follow(c, false);
        }
        next = clock_ns(CLOCK_MONOTONIC) + DRAIN_NS;
        if (c->rounds && rounds_due(c->rounds) < next) next = rounds_due(c->rounds);
        if (!atomic_load(&c->stop)) sleep_briefly(c, wake, next);
    }
    c->sums.own_cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

/* ---- open and close ---- */

collector *collector_open(const collector_opts *o, err *e)
{
    collector *c = calloc(1, sizeof *c);
    if (!c) {
        err_memory(e);
        return NULL;
    }
    c->o = *o;
    c->fd = -1;
    if (o->exclude) snprintf(c->exclude, sizeof c->exclude, "%s", o->exclude);
    c->o.exclude = c->exclude[0] ? c->exclude : NULL;
    if (!c->o.config) c->o.config = &c->config;
    c->world = (process_world){.o = &c->o, .sums = &c->sums, .pid_namespace = own_pid_namespace()};
    c->raw = malloc(raw_bytes(o->max_frames));
    if (!c->raw) (void)err_memory(e);
    c->world.now = clock_ns(CLOCK_MONOTONIC);
    atomic_store(&c->last_sample, c->world.now);
    bool ok = c->raw && resource_facts_read(&c->mem, &c->world.facts) && make_segment(c, e);
    if (ok && o->wall_ns) ok = (c->rounds = rounds_open(o->wall_ns, o->max_frames, e)) != NULL;
    if (ok) return c;
    collector_close(c);
    return NULL;
}

const char *collector_path(const collector *c) { return c->path; }

int collector_fd(const collector *c) { return c->fd; }

const char *collector_dir(const collector *c) { return c->dir[0] ? c->dir : NULL; }

bool collector_start(collector *c, err *e)
{
    sigset_t before;
    map_guard_block_signals(&before);
    int why = pthread_create(&c->thread, NULL, run, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    c->started = why == 0;
    return c->started || err_sys(e, why, "cannot start the collector thread");
}

uint32_t collector_alive(const collector *c) { return atomic_load(&c->alive); }

uint64_t collector_idle(const collector *c)
{
    return clock_ns(CLOCK_MONOTONIC) - atomic_load(&c->last_sample);
}

static void end_thread(collector *c)
{
    if (!c->started) return;
    atomic_store(&c->stop, true);
    atomic_fetch_add(&c->segment.head->wake, 1);
    syscall(SYS_futex, &c->segment.head->wake, FUTEX_WAKE, 1, NULL, NULL, 0);
    pthread_join(c->thread, NULL);
    c->started = false;
}

static bool is_known(const void *ctx, uint32_t pid)
{
    const collector *c = ctx;
    for (uint32_t i = 0; i < SEGMENT_PROC_SLOTS; i++)
        if (c->at[i] && c->at[i]->proc == pid) return true;
    return false;
}

/* Waits for processes without a slot: the program has ended, but a process that it forked last may
 * not have run yet. */
static void wait_for_stragglers(collector *c, const struct timespec *a_moment)
{
    char setting[sizeof c->path + 16];
    snprintf(setting, sizeof setting, SEGMENT_VARIABLE "=%s", c->path);
    open_new(c);
    for (uint64_t end = c->world.now + SLOTS_WAIT_NS;
         c->world.now < end && stragglers_any(setting, is_known, c);) {
        nanosleep(a_moment, NULL);
        c->world.now = clock_ns(CLOCK_MONOTONIC);
        open_new(c);
    }
}

uint32_t collector_pause(collector *c)
{
    bool first = c->started;
    end_thread(c);
    drain(c);
    const struct timespec a_moment = {.tv_nsec = 1000000};
    if (first) wait_for_stragglers(c, &a_moment);
    for (uint64_t end = c->world.now + LAST_NS; !follow(c, c->world.now >= end);)
        nanosleep(&a_moment, NULL);
    return collector_alive(c);
}

static void sum_up(collector *c, collected *out)
{
    for (uint32_t i = 0; i < SEGMENT_PROC_SLOTS; i++) {
        if (!c->at[i]) continue;
        c->sums.still++;
        add_counts(c, segment_proc_slot(&c->segment, i));
        process_flush(&c->world, c->at[i], true);
        c->o.process(c->o.ctx, c->at[i]->pid, false);
    }
    c->sums.no_slot = atomic_load(&c->segment.head->no_slot);
    if (c->filtered && c->sums.n_messages < ARRAY_LEN(c->sums.messages))
        c->sums.messages[c->sums.n_messages++] = "a program has installed a seccomp filter with a "
                                                 "direct system call: its CPU profile stops there";
    *out = c->sums;
}

void collector_hand_over(collector *c, collected *out)
{
    sum_up(c, out);
    c->handed_over = true;
}

void collector_take_over(collector *c)
{
    c->segment.head->collector = (uint32_t)getpid();
    atomic_store(&c->last_sample, clock_ns(CLOCK_MONOTONIC));
    atomic_store(&c->stop, false);
}

void collector_stop(collector *c, collected *out)
{
    collector_pause(c);
    atomic_store(&c->segment.head->stopped, 1);
    sum_up(c, out);
}

void collector_close(collector *c)
{
    if (!c) return;
    end_thread(c);
    for (uint32_t i = 0; i < SEGMENT_PROC_SLOTS; i++) process_close(c->at[i]);
    rounds_close(c->rounds);
    if (c->is_file && !c->handed_over) (void)unlink(c->path);
    if (c->dir[0] && !c->handed_over) (void)rmdir(c->dir);
    if (c->fd >= 0) close(c->fd);
    segment_close(&c->segment);
    arena_free(&c->mem);
    free(c->raw);
    free(c);
}
