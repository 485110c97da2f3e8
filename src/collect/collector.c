#include "collect/collector.h"

#include "collect/process.h"
#include "collect/rounds.h"
#include "collect/stragglers.h"
#include "base/utf8.h"
#include "sys/entropy.h"

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
    DRAIN_NS = 50 * 1000000,   /* between drains, unless a ring is half full before */
    ALIVE_NS = 100 * 1000000,  /* between looks whether processes live */
    STUCK_NS = 2000 * 1000000, /* a cell that its writer claimed so long ago is given up */
    DEPARTED = 4096,
    LAST_NS = 500 * 1000000,  /* that writers who hold others up have at the end */
    SEATS_NS = 100 * 1000000, /* that processes have to sit down at the end */
    ROOM_MIN =
        40 << 20, /* free in /dev/shm, to use it; that its pages are there is made sure later */
    NEAR = 32,    /* desks of a process that execs lie so close to each other */
    UNREADY_NS =
        1000 * 1000000, /* a process that is not ready after this long may have been killed */
};

/* A process that has left, for the one that it became by an exec. */
typedef struct departed {
    uint32_t pid;
    uint64_t cpu;
} departed;

#define APART_NS (60 * UINT64_C(1000000000))

typedef struct stuck {
    uint64_t head, since;
} stuck;

struct collector {
    collector_opts o;
    agent_config config; /* when the caller has none */
    char exclude[256];
    segment segment;
    int fd; /* of a memfd; -1: the file at `path` */
    char path[128];
    char dir[64]; /* of `path`, made for it; "": none */
    bool is_file;
    process *at[SEGMENT_DESKS];
    process_world world;
    collected sums;
    rounds *rounds;  /* NULL: no wall clock */
    raw_sample *raw; /* a copy of the cell that is being taken */
    stuck stuck[SEGMENT_RINGS];
    uint64_t unready
        [SEGMENT_DESKS]; /* when a desk was first seen to be taken and not ready; 0: it is not */
    uint32_t arrivals;   /* of the segment's head, when all desks were last looked at */
    departed departed[DEPARTED];
    uint64_t alive_at;
    arena mem; /* sentences */
    pthread_t thread;
    bool started, handed_over;
    _Atomic uint64_t last_sample; /* CLOCK_MONOTONIC */
    task_status own_status;
    bool filtered; /* a program has filtered its system calls */
    _Atomic bool stop;
    _Atomic uint32_t alive;
};

static uint64_t clock_ns(clockid_t c)
{
    struct timespec t = {0};
    clock_gettime(c, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- the segment ---- */

#define SHARED "/dev/shm/"
#define SHARED_NAME "kiln-run."

/* Its maker, or a fork of it that follows daemons, holds a lock on it. */
static bool is_in_use(int dir, const char *name)
{
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct flock lock = {.l_type = F_WRLCK};
    bool locked = fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    if (fd >= 0) close(fd);
    return locked;
}

/* What is left of a directory of root's. */
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

/* A kiln that was killed left its file behind. */
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

/* A program that root starts may become another user, who must be able to open the file; nobody else may find it.  So it has a name
 * that cannot be guessed, in a directory that cannot be listed. */
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

/* Memory, not a file on a disk: a full disk would kill the program at its next sample.  In /dev/shm, with its pages taken
 * beforehand, where there is room: a name that outlives this process and that another user can open, because a program
 * that root starts may become somebody else. */
static int open_shared(collector *c)
{
    struct statvfs v;
    remove_stale();
    if (statvfs(SHARED, &v) != 0 || (uint64_t)v.f_bavail * v.f_frsize < ROOM_MIN) return -1;
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

/* Of a thread.  false: it is gone. */
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

/* A filter that the program installed by an instruction of its own, which the probe could not see; of its first thread, and of
 * those that are sampled. */
static void look_for_filters(collector *c, process *p)
{
    handler_counts *k = &segment_desk(&c->segment, p->desk)->counts;
    if (p->left || p->apart || atomic_load(&k->filtered)) return;
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

static uint64_t own_numbers(void)
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
    if (c->fd < 0) return err_sys(e, errno, "no memory to share with the program");
    if (!segment_create(&c->segment, c->fd, &h, e)) return false;
    if (!c->is_file) return true;
    int why = posix_fallocate(c->fd, 0, (off_t)c->segment.bytes);
    return !why || err_sys(e, why, "no room in /dev/shm for the memory shared with the program");
}

/* ---- processes ---- */

static void keep_said(collector *c, const desk *d)
{
    collected *s = &c->sums;
    for (size_t i = 0; i < DESK_SENTENCES && s->n_said < ARRAY_LEN(s->said); i++) {
        char text[DESK_SENTENCE];
        bool known = false;
        if (!atomic_load(&d->is_said[i])) continue;
        memcpy(text, d->said[i], sizeof text);
        text[sizeof text - 1] = '\0';
        text[utf8_valid(text, strlen(text))] = '\0';
        if (!text[0]) continue;
        for (size_t k = 0; k < s->n_said; k++) known = known || !strcmp(s->said[k], text);
        char *copy = known ? NULL : arena_alloc(&c->mem, sizeof text);
        if (copy) s->said[s->n_said++] = memcpy(copy, text, sizeof text);
    }
}

/* CPU time of a process at its last farewell: an exec keeps its number and its clock. */
static uint64_t cpu_before(const collector *c, const process *p)
{
    const departed *d = &c->departed[p->pid % DEPARTED];
    uint64_t most = d->pid == p->pid && d->cpu <= p->cpu_begin ? d->cpu : 0;
    for (uint32_t i = 0; i < SEGMENT_DESKS; i++) {
        const process *q = c->at[i];
        uint64_t cpu = q && q != p && q->pid == p->pid ? atomic_load(&q->d->cpu_end) : 0;
        if (cpu > most && cpu <= p->cpu_begin) most = cpu;
    }
    return most;
}

static process *process_at(collector *c, uint32_t at);

/* What this process was before an exec, if nobody has met that yet. */
static void meet_former(collector *c, const process *p)
{
    for (uint32_t k = 0; k < NEAR; k++) {
        uint32_t i = (p->pid + k) % SEGMENT_DESKS;
        if (!c->at[i] && desk_pid(atomic_load(&segment_desk(&c->segment, i)->word)) == p->pid)
            (void)process_at(c, i);
    }
}

static process *meet(collector *c, uint32_t at, uint64_t word)
{
    const desk *d = segment_desk(&c->segment, at);
    process *p = process_open(&c->world, d, at, word);
    if (!p) return NULL;
    c->at[at] = p;
    c->sums.processes++;
    if (!p->forked) {
        meet_former(c, p);
        c->sums.startup += p->cpu_begin - cpu_before(c, p);
    }
    return p;
}

/* The process of a desk; NULL: nobody is there, or it is not ready. */
static process *process_at(collector *c, uint32_t at)
{
    const desk *d = segment_desk(&c->segment, at);
    uint64_t word = atomic_load(&d->word);
    if (desk_state_of(word) == DESK_FREE) return NULL;
    if (c->at[at]) return c->at[at];
    return atomic_load(&d->ready) == desk_generation(word) ? meet(c, at, word) : NULL;
}

/* What its desk has counted. */
static void add_counts(collector *c, const desk *d)
{
    collected *s = &c->sums;
    keep_said(c, d);
    *(atomic_load(&d->events) ? &s->perf : &s->timer) = true;
    s->unsampled += atomic_load(&d->unsampled);
    s->n_unsampled += atomic_load(&d->n_unsampled);
    s->nameless += atomic_load(&d->maps_lost);
    s->heap_samples += atomic_load(&d->heap_samples);
    s->heap_stacks_lost += atomic_load(&d->heap_stacks_lost);
    s->heap_live_lost += atomic_load(&d->heap_live_lost);
    s->heap_lost += atomic_load(&d->heap_lost);
    s->capture.threads_lost += atomic_load(&d->threads_lost);
    s->capture.strangers += atomic_load(&d->counts.strangers);
    s->capture.ring_full += atomic_load(&d->counts.ring_full);
}

static void bury(collector *c, process *p)
{
    const desk *d = segment_desk(&c->segment, p->desk);
    add_counts(c, d);
    c->sums.killed += !atomic_load(&d->cpu_end);
    c->departed[p->pid % DEPARTED] = (departed){p->pid, atomic_load(&d->cpu_end)};
    process_flush(&c->world, p, true);
    c->o.process(c->o.who, p->pid, atomic_load(&d->cpu_end) != 0);
    c->at[p->desk] = NULL;
    if (c->rounds) rounds_forget(c->rounds, p);
    desk_free(&c->segment, p->desk);
    process_close(p);
}

enum { STAT_THREADS = 20 - 3 }; /* fields between the state and num_threads */

/* The first thread of a process may end before the others: a zombie with threads lives. */
static bool is_alive(uint32_t pid)
{
    char path[32], text[512];
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno != ENOENT && errno != ESRCH;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *at = strrchr(text, ')');
    if (!at || at[1] != ' ') return false;
    at += 2;
    if (*at != 'Z' && *at != 'X') return true;
    for (int i = 0; at && i < STAT_THREADS; i++) at = (at = strchr(at, ' ')) ? at + 1 : NULL;
    return at && strtol(at, NULL, 10) > 1;
}

/* A desk of the same process, not by a fork and with a higher start: it has exec'd. */
static bool has_exec(const collector *c, const process *p)
{
    for (uint32_t k = 0; k < NEAR; k++) {
        const process *q = c->at[(p->pid + k) % SEGMENT_DESKS];
        if (q && q != p && q->pid == p->pid && q->numbers == p->numbers && !q->forked &&
            q->cpu_begin >= p->cpu_begin && q->start >= p->start)
            return true;
    }
    return false;
}

/* ---- draining ---- */

/* Any byte may be there. */
static void make_bool(bool *b)
{
    uint8_t byte;
    memcpy(&byte, b, sizeof byte);
    *b = byte != 0;
}

/* Its writer may change the cell while we read it: lengths hold only for a copy.  false: nonsense. */
static bool copy_cell(collector *c, const ring_cell *cell)
{
    const raw_sample *raw = (const raw_sample *)(const void *)cell->bytes;
    memcpy(c->raw, raw, sizeof *raw);
    if (c->raw->n > c->o.max_frames || c->raw->desk >= SEGMENT_DESKS) return false;
    memcpy(c->raw->pcs, raw->pcs, c->raw->n * sizeof *raw->pcs);
    make_bool(&c->raw->in_context);
    if (c->raw->kind == RAW_SAMPLE) make_bool(&c->raw->span.has_ids);
    return true;
}

/* One lap: a process that writes without end holds nobody up. */
static void drain_ring(collector *c, uint32_t i)
{
    ring r = segment_ring(&c->segment, i);
    ring_cell *cell;
    for (uint32_t n = 0; n < RING_CELLS && (cell = ring_peek(&r)); n++, ring_release(&r, cell)) {
        process *p = copy_cell(c, cell) ? process_at(c, c->raw->desk) : NULL;
        bool ok = p && atomic_load(&cell->writer) == p->pid && process_take(&c->world, p, c->raw);
        c->sums.rejected += !ok;
        atomic_store_explicit(&c->last_sample, c->world.now, memory_order_relaxed);
    }
}

/* A process that was killed, or stopped, between claim and commit. */
static void pass_over(collector *c, uint32_t i)
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
    if (c->world.now - s->since < STUCK_NS && (!writer || is_alive(writer))) return;
    if (ring_skip(&r, cell)) c->sums.capture.ring_full++;
    s->since = 0;
    drain_ring(c, i);
}

static void drain(collector *c)
{
    c->world.now = clock_ns(CLOCK_MONOTONIC);
    for (uint32_t i = 0; i < SEGMENT_RINGS; i++) {
        drain_ring(c, i);
        pass_over(c, i);
    }
}

/* The desk of a process that was killed before it was ready. */
static void reclaim(collector *c, uint32_t i)
{
    const desk *d = segment_desk(&c->segment, i);
    uint64_t word = atomic_load(&d->word);
    bool unready =
        desk_state_of(word) != DESK_FREE && atomic_load(&d->ready) != desk_generation(word);
    uint64_t *since = &c->unready[i];
    if (!unready || !*since) {
        *since = unready ? c->world.now : 0;
    } else if (c->world.now - *since > UNREADY_NS && !is_alive(desk_pid(word))) {
        *since = 0;
        desk_free(&c->segment, i);
    }
}

/* A writer that was preempted between claim and commit stands before the samples of others. */
static bool is_held_up(const collector *c, uint32_t at)
{
    ring r = segment_ring(&c->segment, at % SEGMENT_RINGS);
    uint32_t writer;
    return ring_pending(&r, &writer) != NULL;
}

/* Of a process without a number in our /proc only its farewell tells. */
static bool is_gone(const collector *c, const process *p)
{
    if (has_exec(c, p)) return true;
    return p->proc ? !is_alive(p->proc) : p->left;
}

/* Somebody to wait for: such a process counts only while its samples come. */
static bool is_awaited(const collector *c, const process *p)
{
    return p->proc || c->world.now - p->sampled_at < APART_NS;
}

/* Who is gone goes after its last samples were drained: first it is seen, then drained, then buried.  false: samples of
 * somebody who is gone may still come; with `force` that one is buried nevertheless. */
static bool follow(collector *c, bool force)
{
    bool gone[SEGMENT_DESKS] = {0}, all = true;
    uint32_t alive = 0;
    for (uint32_t i = 0; i < SEGMENT_DESKS; i++) {
        process *p = process_at(c, i);
        if (!p) reclaim(c, i);
        if (!p) continue;
        p->left = desk_state_of(atomic_load(&p->d->word)) == DESK_LEFT;
        gone[i] = is_gone(c, p);
        alive += !gone[i] && is_awaited(c, p);
        if (!gone[i]) look_for_filters(c, p);
    }
    atomic_store(&c->alive, alive);
    drain(c);
    for (uint32_t i = 0; i < SEGMENT_DESKS; i++) {
        process *p = c->at[i];
        bool early = p && gone[i] && !force && is_held_up(c, i);
        all = all && !early;
        if (p && gone[i] && !early)
            bury(c, p);
        else if (p && c->o.flush_ns && c->world.now - p->flushed_at >= c->o.flush_ns)
            process_flush(&c->world, p, false);
    }
    return all;
}

static void sleep_a_while(collector *c, uint32_t wake, uint64_t until)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC), ns = until > now ? until - now : 0;
    struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    syscall(SYS_futex, &c->segment.head->wake, FUTEX_WAIT, wake, &t, NULL, 0);
}

/* Processes that have not been sampled yet. */
static void meet_all(collector *c)
{
    uint32_t arrivals = atomic_load(&c->segment.head->arrivals);
    if (arrivals == c->arrivals) return;
    c->arrivals = arrivals;
    for (uint32_t i = 0; i < SEGMENT_DESKS; i++) (void)process_at(c, i);
}

static void *run(void *who)
{
    collector *c = who;
    prctl(PR_SET_NAME, "kiln-collect");
    uint64_t next = clock_ns(CLOCK_MONOTONIC);
    while (!atomic_load(&c->stop)) {
        uint32_t wake = atomic_load(&c->segment.head->wake);
        drain(c);
        if (c->rounds) {
            meet_all(c);
            rounds_take(c->rounds, &c->world, c->at, SEGMENT_DESKS);
        }
        if (c->world.now >= c->alive_at + ALIVE_NS) {
            c->alive_at = c->world.now;
            (void)follow(c, false);
        }
        next = clock_ns(CLOCK_MONOTONIC) + DRAIN_NS;
        if (c->rounds && rounds_due(c->rounds) < next) next = rounds_due(c->rounds);
        if (!atomic_load(&c->stop)) sleep_a_while(c, wake, next);
    }
    c->sums.own_cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

/* ---- life ---- */

collector *collector_open(const collector_opts *o, err *e)
{
    collector *c = calloc(1, sizeof *c);
    if (!c) {
        err_set(e, ERR_LIMIT, "out of memory");
        return NULL;
    }
    c->o = *o;
    c->fd = -1;
    if (o->exclude) snprintf(c->exclude, sizeof c->exclude, "%s", o->exclude);
    c->o.exclude = c->exclude[0] ? c->exclude : NULL;
    if (!c->o.config) c->o.config = &c->config;
    c->world = (process_world){.o = &c->o, .sums = &c->sums, .numbers = own_numbers()};
    c->raw = malloc(raw_bytes(o->max_frames));
    if (!c->raw) (void)err_set(e, ERR_LIMIT, "out of memory");
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
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int why = pthread_create(&c->thread, NULL, run, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    c->started = why == 0;
    return c->started || err_sys(e, why, "the collector's thread could not be started");
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

static bool is_known(const void *who, uint32_t pid)
{
    const collector *c = who;
    for (uint32_t i = 0; i < SEGMENT_DESKS; i++)
        if (c->at[i] && c->at[i]->proc == pid) return true;
    return false;
}

/* The program has ended; a process that it forked last may not have run yet. */
static void wait_for_stragglers(collector *c, const struct timespec *a_moment)
{
    char setting[sizeof c->path + 16];
    snprintf(setting, sizeof setting, SEGMENT_VARIABLE "=%s", c->path);
    meet_all(c);
    for (uint64_t end = c->world.now + SEATS_NS;
         c->world.now < end && stragglers_any(setting, is_known, c);) {
        nanosleep(a_moment, NULL);
        c->world.now = clock_ns(CLOCK_MONOTONIC);
        meet_all(c);
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
    for (uint32_t i = 0; i < SEGMENT_DESKS; i++) {
        if (!c->at[i]) continue;
        c->sums.still++;
        add_counts(c, segment_desk(&c->segment, i));
        process_flush(&c->world, c->at[i], true);
        c->o.process(c->o.who, c->at[i]->pid, false);
    }
    c->sums.no_desk = atomic_load(&c->segment.head->no_desk);
    if (c->filtered && c->sums.n_said < ARRAY_LEN(c->sums.said))
        c->sums.said[c->sums.n_said++] = "a program forbids system calls (seccomp) by an "
                                         "instruction of its own: its CPU profile ends "
                                         "there";
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
    for (uint32_t i = 0; i < SEGMENT_DESKS; i++) process_close(c->at[i]);
    rounds_close(c->rounds);
    if (c->is_file && !c->handed_over) (void)unlink(c->path);
    if (c->dir[0] && !c->handed_over) (void)rmdir(c->dir);
    if (c->fd >= 0) close(c->fd);
    segment_close(&c->segment);
    arena_free(&c->mem);
    free(c->raw);
    free(c);
}
