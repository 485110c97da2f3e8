/* Opens perf events and reads their records.
 *
 * The first event of each ring is a dummy event of this thread, which lives as long as the source.
 * The events of the recorded threads write to it, so a ring survives the threads. */
#include "record/perf.h"

#include "arch/perf.h"
#include "base/time.h"
#include "base/hash.h"
#include "base/vec.h"
#include "record/phase.h"
#include "record/ring.h"
#include "sys/entropy.h"
#include "sys/process.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/ban.h"

enum {
    CPUS_MAX = 1024,
    RING_MOST = 4 << 20,   /* per CPU, for privileged users */
    RING_USER = 512 << 10, /* the default limit of the kernel for others (perf_event_mlock_kb) */
    RING_LEAST = 64 << 10,
    SCANS_MAX = 8,  /* readings of a process's list of threads while it keeps growing */
    SPARE_FDS = 64, /* descriptors left for files */
    DRAINS_PER_S = 10,
    PHASE_HZ = 250,         /* above, short first periods of many threads would fill the rings */
    PERF_COPY_MOST = 65528, /* the maximum of the kernel */
    PERF_COPY_LEAST = 32 << 10,
};

typedef struct event {
    int fd;
    uint32_t tid; /* 0: of no thread */
    uint64_t id;
    phase phase;
} event;

/* A thread with events of its own.  After its end, or an exec, another thread may have its id, with
 * the events of its creator. */
typedef struct owner {
    uint32_t tid;
    uint32_t heir;    /* thread whose events count since `changed`; 0: not known yet */
    uint64_t changed; /* time of the last end or exec; 0: never */
    size_t first;     /* of its events, one for each CPU */
    bool has_heirs;   /* it started a thread or a process, which inherited its events */
} owner;

typedef struct cpu {
    uint32_t number;
    ring ring;
    ring_record next; /* the next record about processes */
    uint64_t next_time;
    bool has_next;
} cpu;

struct perf_source {
    perf_opts o;
    arena mem;
    cpu *cpus;
    size_t n_cpus;
    int epoll;
    VEC(event) events;
    hash_index by_id, by_tid;
    VEC(owner) owners;
    size_t events_max;
    bool no_lost;    /* events do not count what they lose */
    bool lost_final; /* n.lost has everything; records about losses repeat it */
    perf_counts n;
};

/* ---- events ---- */

static int open_event(struct perf_event_attr *a, int pid, uint32_t number, unsigned long flags)
{
    return (int)syscall(SYS_perf_event_open, a, pid, (int)number, -1, flags | PERF_FLAG_FD_CLOEXEC);
}

/* Fields that all events of a ring must share: the kernel appends the sample id to every record. */
static struct perf_event_attr base_attr(void)
{
    return (struct perf_event_attr){.type = PERF_TYPE_SOFTWARE,
                                    .size = sizeof(struct perf_event_attr),
                                    .config = PERF_COUNT_SW_DUMMY,
                                    .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID |
                                                   PERF_SAMPLE_TIME | PERF_SAMPLE_STREAM_ID,
                                    .disabled = 1,
                                    .sample_id_all = 1,
                                    .exclude_kernel = 1,
                                    .exclude_hv = 1,
                                    .use_clockid = 1,
                                    .clockid = CLOCK_MONOTONIC};
}

/* Returns a multiple of 8 that leaves space for several samples in a ring.  The larger copy is taken
 * where the ring holds the samples of the time between two drains. */
static uint32_t copy_bytes(const perf_opts *o, size_t ring_bytes)
{
    uint64_t most = ring_bytes / 8, copy = o->copy_bytes;
    bool fits = (uint64_t)PERF_COPY_MOST * o->hz / DRAINS_PER_S <= ring_bytes;
    if (!copy) copy = fits ? PERF_COPY_MOST : PERF_COPY_LEAST;
    if (copy > PERF_COPY_MOST) copy = PERF_COPY_MOST;
    return (uint32_t)((copy < most ? copy : most) & ~UINT64_C(7));
}

static struct perf_event_attr attr_of(const perf_source *s, size_t ring_bytes)
{
    struct perf_event_attr a = base_attr();
    const perf_opts *o = &s->o;
    a.mmap = a.mmap2 = a.comm = a.comm_exec = a.task = a.build_id = 1;
    a.read_format = s->no_lost ? 0 : PERF_FORMAT_LOST;
    a.watermark = 1;
    a.wakeup_watermark = (uint32_t)(ring_bytes / 2);
    if (o->side_band) return a;
    a.config = PERF_COUNT_SW_CPU_CLOCK;
    a.sample_period = NS_PER_S / o->hz;
    a.exclude_kernel = s->n.user_only;
    a.sample_type |=
        PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    if (o->kernel) {
        a.sample_type |= PERF_SAMPLE_CALLCHAIN;
        a.exclude_callchain_user = 1;
    }
    a.sample_regs_user = ARCH_PERF_REGS;
    a.sample_stack_user = copy_bytes(o, ring_bytes);
    a.inherit = o->target == PERF_PIDS;
    return a;
}

static bool refused(const perf_source *s, int why, err *e)
{
    if (why == EACCES || why == EPERM) {
        const char *what = s->o.target != PERF_PIDS ? "recording other users' processes"
                           : s->o.kernel ? "recording kernel stacks or another user's process"
                                         : "recording another user's process";
        return err_sys(e, why,
                       "the kernel refused perf events: %s requires root, CAP_PERFMON, or a lower "
                       "kernel.perf_event_paranoid",
                       what);
    }
    if ((why == EBADF || why == ENOENT) && s->o.target == PERF_CGROUP)
        return err_sys(e, 0, "%s is not a cgroup with the perf_event controller", s->o.cgroup);
    if (why == EMFILE || why == ENFILE)
        return err_sys(e, why, "too many open files for perf events; raise ulimit -n");
    if (why == ENOENT || why == EOPNOTSUPP || why == ENOSYS)
        return err_sys(e, why, "this kernel has no perf events");
    return err_sys(e, why, "cannot open a perf event");
}

/* Opens an event that writes to the ring of its CPU.  Returns false with errno in *why. */
static bool add_event(perf_source *s, struct perf_event_attr *a, int pid, uint32_t tid, cpu *c,
                      unsigned long flags, int *why)
{
    uint64_t id = 0;
    int fd = open_event(a, pid, c->number, flags);
    if (fd < 0 && errno == EACCES && !a->exclude_kernel && !s->o.kernel) {
        s->n.user_only = true;
        a->exclude_kernel = 1;
        fd = open_event(a, pid, c->number, flags);
    }
    if (fd < 0 && errno == EINVAL && a->read_format) { /* before Linux 6.0 */
        s->no_lost = true;
        a->read_format = 0;
        fd = open_event(a, pid, c->number, flags);
    }
    if (fd < 0 && errno == EINVAL && a->build_id) { /* before Linux 5.12 */
        a->build_id = 0;
        fd = open_event(a, pid, c->number, flags);
    }
    *why = errno;
    if (fd < 0) return false;
    event *v = NULL;
    if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, c->ring.fd) != 0 ||
        ioctl(fd, PERF_EVENT_IOC_ID, &id) != 0 || !hash_index_room(&s->by_id, &s->mem) ||
        !(v = vec_push(&s->mem, &s->events))) {
        *why = errno ? errno : ENOMEM;
        close(fd);
        return false;
    }
    *v = (event){fd, tid, id, {.period = a->sample_period, .first = a->sample_period}};
    uint64_t h = hash_mix(s->by_id.seed, id);
    uint32_t i = hash_first(&s->by_id, h);
    for (uint32_t at; hash_next(&s->by_id, &i, h, &at); i++) continue;
    hash_put(&s->by_id, i, h, (uint32_t)(s->events.n - 1));
    s->n.events = (uint32_t)s->events.n;
    return true;
}

static event *find_event(const perf_source *s, uint64_t id)
{
    if (!s->by_id.slot) return NULL;
    uint64_t h = hash_mix(s->by_id.seed, id);
    uint32_t i = hash_first(&s->by_id, h);
    for (uint32_t at; hash_next(&s->by_id, &i, h, &at); i++)
        if (s->events.v[at].id == id) return &s->events.v[at];
    return NULL;
}

/* ---- periods ---- */

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Sets the full period of an event that has begun with a shorter one. */
static void set_period(event *v)
{
    uint64_t read_of[2] = {0}; /* value, lost */
    if (v->phase.changed != UINT64_MAX || read(v->fd, read_of, sizeof read_of) < 8) return;
    if (ioctl(v->fd, PERF_EVENT_IOC_PERIOD, &v->phase.period) == 0)
        phase_change(&v->phase, now_ns(), read_of[0]);
}

/* Returns the time for which a sample stands; 0: it is not needed.  The kernel reports the period with
 * which an event was opened; events that threads inherit keep it. */
static uint64_t time_of_sample(event *v, const perf_sample *x, uint64_t stream)
{
    bool own = stream == v->id;
    uint64_t ns = phase_take(&v->phase, x->time, own ? phase_period(&v->phase, x->time) : x->value);
    set_period(v);
    return ns;
}

/* ---- threads ---- */

static owner *find_owner(const perf_source *s, uint32_t tid)
{
    if (!s->by_tid.slot) return NULL;
    uint64_t h = hash_mix(s->by_tid.seed, tid);
    uint32_t i = hash_first(&s->by_tid, h);
    for (uint32_t at; hash_next(&s->by_tid, &i, h, &at); i++)
        if (s->owners.v[at].tid == tid) return &s->owners.v[at];
    return NULL;
}

static bool note_attached(perf_source *s, uint32_t tid)
{
    owner *v = hash_index_room(&s->by_tid, &s->mem) ? vec_push(&s->mem, &s->owners) : NULL;
    if (!v) return false;
    *v = (owner){.tid = tid, .first = s->events.n - s->n_cpus};
    uint64_t h = hash_mix(s->by_tid.seed, tid);
    uint32_t i = hash_first(&s->by_tid, h);
    for (uint32_t at; hash_next(&s->by_tid, &i, h, &at); i++) continue;
    hash_put(&s->by_tid, i, h, (uint32_t)(s->owners.n - 1));
    return true;
}

/* Opens the events of one thread.  A thread that has ended counts as attached.  The first thread of a
 * process begins with a full period: it starts most of the others, which inherit its period. */
static bool attach_thread(perf_source *s, uint32_t pid, uint32_t tid, bool at_exec, err *e)
{
    if (s->events.n + s->n_cpus > s->events_max) {
        s->n.threads_lost++;
        return true;
    }
    for (size_t i = 0; i < s->n_cpus; i++) {
        cpu *c = &s->cpus[i];
        struct perf_event_attr a = attr_of(s, c->ring.size);
        phase start = {0};
        int why;
        a.enable_on_exec = at_exec;
        if (!s->o.side_band && !at_exec && tid != pid && s->o.hz <= PHASE_HZ) {
            start = phase_begin(a.sample_period, entropy_u64());
            a.sample_period = start.first;
        }
        if (add_event(s, &a, (int)tid, tid, c, 0, &why)) {
            if (start.period) s->events.v[s->events.n - 1].phase = start;
            continue;
        }
        if (why == ESRCH) return true;
        if (why == EMFILE && s->events.n) {
            s->n.threads_lost++;
            return true;
        }
        return refused(s, why, e);
    }
    return note_attached(s, tid) || err_memory(e);
}

/* Reads the list of threads until a reading finds no thread that has no events.  A thread that
 * starts meanwhile may have inherited events and be found as well: is_repeated() drops its second
 * samples. */
bool perf_attach(perf_source *s, uint32_t pid, bool at_exec, err *e)
{
    bool more = true;
    for (unsigned scan = 0; more && scan < SCANS_MAX; scan++) {
        arena a = {.budget = 16 << 20};
        u32s tids = {0};
        bool ok = process_threads((int)pid, &a, &tids, e);
        more = false;
        for (size_t i = 0; ok && i < tids.n; i++) {
            if (find_owner(s, tids.v[i])) continue;
            more = true;
            ok = attach_thread(s, pid, tids.v[i], at_exec, e);
        }
        arena_free(&a);
        if (!ok) return scan > 0 && !s->n.events ? false : s->owners.n > 0 && scan > 0;
    }
    return true;
}

/* ---- open and close ---- */

static bool find_cpus(perf_source *s, err *e)
{
    long n = sysconf(_SC_NPROCESSORS_CONF);
    if (n < 1 || n > CPUS_MAX) n = n < 1 ? 1 : CPUS_MAX;
    s->cpus = arena_new(&s->mem, cpu, (size_t)n);
    if (!s->cpus) return err_memory(e);
    for (uint32_t i = 0; i < (uint32_t)n; i++) {
        struct perf_event_attr a = base_attr();
        int fd = open_event(&a, 0, i, 0);
        if (fd < 0 && errno == ENODEV) continue; /* the CPU is offline */
        if (fd < 0) return refused(s, errno, e);
        cpu *c = &s->cpus[s->n_cpus];
        size_t most = s->o.ring_bytes                     ? s->o.ring_bytes
                      : geteuid() == 0 && !s->o.side_band ? RING_MOST
                                                          : RING_USER;
        if (!ring_open(&c->ring, fd, most, RING_LEAST, e)) return false;
        c->number = i;
        s->n_cpus++;
        struct epoll_event v = {.events = EPOLLIN};
        if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &v) != 0)
            return err_sys(e, errno, "cannot wait for perf events");
    }
    return s->n_cpus || err_sys(e, ENODEV, "no CPU accepts perf events");
}

static bool open_wide(perf_source *s, err *e)
{
    int pid = -1;
    unsigned long flags = 0;
    if (s->o.target == PERF_CGROUP) {
        pid = open(s->o.cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (pid < 0) return err_sys(e, errno, "cannot open the cgroup %s", s->o.cgroup);
        flags = PERF_FLAG_PID_CGROUP;
    }
    bool ok = true;
    for (size_t i = 0; ok && i < s->n_cpus; i++) {
        struct perf_event_attr a = attr_of(s, s->cpus[i].ring.size);
        int why;
        if (!add_event(s, &a, pid, 0, &s->cpus[i], flags, &why)) ok = refused(s, why, e);
    }
    if (pid >= 0) close(pid);
    return ok;
}

/* A process with many threads needs more descriptors than the usual limit of 1024. */
static size_t raise_files(void)
{
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) != 0) return 256;
    if (l.rlim_cur < l.rlim_max) {
        struct rlimit most = {
            l.rlim_max < PERF_EVENTS_MAX + 1024 ? l.rlim_max : PERF_EVENTS_MAX + 1024, l.rlim_max};
        if (most.rlim_cur > l.rlim_cur && setrlimit(RLIMIT_NOFILE, &most) == 0) l = most;
    }
    size_t n = l.rlim_cur > SPARE_FDS ? (size_t)l.rlim_cur - SPARE_FDS : 1;
    return n < PERF_EVENTS_MAX ? n : PERF_EVENTS_MAX;
}

perf_source *perf_open(const perf_opts *o, err *e)
{
    perf_source *s = calloc(1, sizeof *s);
    if (!s) return err_memory(e), NULL;
    *s = (perf_source){.o = *o, .epoll = epoll_create1(EPOLL_CLOEXEC), .events_max = raise_files()};
    bool ok = s->epoll >= 0 || err_sys(e, errno, "cannot wait for perf events");
    ok = ok && find_cpus(s, e) && (o->target == PERF_PIDS || open_wide(s, e));
    if (ok) return s;
    perf_close(s);
    return NULL;
}

void perf_close(perf_source *s)
{
    if (!s) return;
    for (size_t i = 0; i < s->events.n; i++) close(s->events.v[i].fd);
    for (size_t i = 0; s->cpus && i < s->n_cpus; i++) ring_close(&s->cpus[i].ring);
    if (s->epoll >= 0) close(s->epoll);
    arena_free(&s->mem);
    free(s);
}

bool perf_start(perf_source *s, err *e)
{
    for (size_t i = 0; i < s->events.n; i++)
        if (ioctl(s->events.v[i].fd, PERF_EVENT_IOC_ENABLE, 0) != 0)
            return err_sys(e, errno, "cannot start a perf event");
    return true;
}

/* The kernel reports a loss with the next record, which may never come; the events count all. */
static void count_lost(perf_source *s)
{
    uint64_t v[2], sum = 0; /* value, lost */
    for (size_t i = 0; i < s->events.n; i++)
        if (read(s->events.v[i].fd, v, sizeof v) == (ssize_t)sizeof v) sum += v[1];
    s->n.lost = sum;
    s->lost_final = true;
}

void perf_end(perf_source *s)
{
    for (size_t i = 0; i < s->events.n; i++) ioctl(s->events.v[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

void perf_stop(perf_source *s)
{
    perf_end(s);
    if (!s->no_lost) count_lost(s);
}

int perf_fd(const perf_source *s) { return s->epoll; }

perf_counts perf_count(const perf_source *s) { return s->n; }

/* ---- records ---- */

/* Reads the fields of a record.  A record that is too short fails. */
typedef struct fields {
    const uint8_t *p, *end;
    bool failed;
} fields;

static const void *take(fields *f, uint64_t n)
{
    static const uint64_t nothing[8];
    if (f->failed || n > (uint64_t)(f->end - f->p)) {
        f->failed = true;
        return nothing;
    }
    const uint8_t *p = f->p;
    f->p += n;
    return p;
}

static uint64_t take_u64(fields *f)
{
    uint64_t v;
    memcpy(&v, take(f, 8), 8);
    return v;
}

static uint32_t take_u32(fields *f)
{
    uint32_t v;
    memcpy(&v, take(f, 4), 4);
    return v;
}

static str take_text(fields *f, size_t trailer)
{
    size_t left = (size_t)(f->end - f->p), n = left > trailer ? left - trailer : 0;
    const char *p = (const char *)f->p;
    return (str){p, strnlen(p, n)};
}

/* Each record that is not a sample ends with {pid, tid, time, stream id, id}. */
enum { TRAILER = 32 };

static uint64_t trailer_time(const ring_record *r)
{
    uint64_t time = 0;
    if (r->n >= TRAILER) memcpy(&time, r->body + r->n - 24, sizeof time);
    return time;
}

static void take_mapping(const ring_record *r, const perf_events *on)
{
    fields f = {.p = r->body, .end = r->body + r->n};
    uint32_t pid = take_u32(&f);
    (void)take_u32(&f); /* tid */
    perf_mapping m = {.start = take_u64(&f)};
    m.end = m.start + take_u64(&f);
    m.offset = take_u64(&f);
    if (r->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
        const uint8_t *id = take(&f, 24); /* {u8 size, 3 bytes, id} */
        m.n_build_id = id[0] <= sizeof m.build_id ? id[0] : 0;
        memcpy(m.build_id, id + 4, m.n_build_id);
    } else {
        (void)take_u64(&f); /* device */
        m.inode = take_u64(&f);
        (void)take_u64(&f); /* generation */
    }
    uint32_t prot = take_u32(&f);
    (void)take_u32(&f); /* flags */
    m.path = take_text(&f, TRAILER);
    if (!f.failed && prot & 4 && m.end > m.start && !(m.start >> 63))
        on->mapped(on->ctx, pid, trailer_time(r), &m);
}

/* The id of a thread passes to another one: to the thread that called exec, or to a new one. */
static void pass_on(perf_source *s, uint32_t tid, uint64_t time)
{
    owner *o = find_owner(s, tid);
    if (!o) return;
    o->changed = time;
    o->heir = 0;
}

static void take_name(perf_source *s, const ring_record *r, const perf_events *on)
{
    fields f = {.p = r->body, .end = r->body + r->n};
    uint32_t pid = take_u32(&f), tid = take_u32(&f);
    bool exec = r->misc & PERF_RECORD_MISC_COMM_EXEC;
    if (f.failed) return;
    if (exec) pass_on(s, tid, trailer_time(r));
    on->named(on->ctx, pid, tid, trailer_time(r), take_text(&f, TRAILER), exec);
}

/* Threads inherit the period that an event has at their birth, so it must not stay short. */
static void settle_periods(perf_source *s, uint32_t tid)
{
    owner *o = find_owner(s, tid);
    if (!o || o->has_heirs) return;
    o->has_heirs = true;
    for (size_t i = 0; i < s->n_cpus; i++) set_period(&s->events.v[o->first + i]);
}

static void take_birth(perf_source *s, const ring_record *r, const perf_events *on)
{
    fields f = {.p = r->body, .end = r->body + r->n};
    uint32_t pid = take_u32(&f), parent = take_u32(&f), tid = take_u32(&f), creator = take_u32(&f);
    if (f.failed) return;
    if (r->type == PERF_RECORD_FORK)
        settle_periods(s, creator), on->born(on->ctx, pid, parent, tid, trailer_time(r));
    else
        pass_on(s, tid, trailer_time(r)), on->ended(on->ctx, pid, tid, trailer_time(r));
}

static void take_about(perf_source *s, const ring_record *r, const perf_events *on)
{
    fields f = {.p = r->body, .end = r->body + r->n};
    switch (r->type) {
    case PERF_RECORD_MMAP2: take_mapping(r, on); break;
    case PERF_RECORD_COMM: take_name(s, r, on); break;
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT: take_birth(s, r, on); break;
    case PERF_RECORD_LOST:
        (void)take_u64(&f); /* id */
        if (!s->lost_final) s->n.lost += take_u64(&f);
        break;
    case PERF_RECORD_LOST_SAMPLES:
        if (!s->lost_final) s->n.lost += take_u64(&f);
        break;
    case PERF_RECORD_THROTTLE: s->n.throttled++; break;
    default: break;
    }
}

/* Returns whether a thread with events of its own also inherited those of its creator. */
static bool is_repeated(const perf_source *s, uint64_t id, uint32_t tid, uint64_t time)
{
    const event *v = find_event(s, id);
    uint32_t of = v ? v->tid : 0;
    owner *o = of ? find_owner(s, tid) : NULL;
    if (!o) return false;
    if (!o->changed || time < o->changed) return of != tid;
    if (!o->heir) o->heir = of;
    return of != o->heir;
}

/* Removes the markers that separate the parts of a chain, from both ends: the chain has kernel
 * frames only. */
static void trim_chain(perf_sample *x)
{
    const uint64_t markers = (uint64_t)PERF_CONTEXT_MAX;
    while (x->n_kernel && x->kernel[0] >= markers) x->kernel++, x->n_kernel--;
    while (x->n_kernel && x->kernel[x->n_kernel - 1] >= markers) x->n_kernel--;
}

static void take_sample(perf_source *s, const ring_record *r, const perf_events *on)
{
    fields f = {.p = r->body, .end = r->body + r->n};
    uint64_t id = take_u64(&f);
    (void)take_u64(&f); /* ip: the registers have it */
    perf_sample x = {.pid = take_u32(&f), .tid = take_u32(&f)};
    x.time = take_u64(&f);
    uint64_t stream = take_u64(&f);
    x.value = take_u64(&f);
    if (s->o.kernel) {
        uint64_t n = take_u64(&f);
        x.kernel = take(&f, n > r->n ? r->n + 1 : n * 8);
        x.n_kernel = f.failed ? 0 : (size_t)n;
        trim_chain(&x);
    }
    uint64_t abi = take_u64(&f); /* none: a kernel thread has no user registers */
    const void *regs = abi != PERF_SAMPLE_REGS_ABI_NONE ? take(&f, 8 * ARCH_PERF_N_REGS) : NULL;
    if (abi == PERF_SAMPLE_REGS_ABI_64) x.regs = regs;
    uint64_t size = take_u64(&f);
    const uint8_t *copy = take(&f, size);
    uint64_t filled = size ? take_u64(&f) : 0;
    if (f.failed) return;
    if (x.regs && filled <= size) x.stack = copy, x.n_stack = (size_t)filled;
    if (is_repeated(s, id, x.tid, x.time)) {
        s->n.repeated++;
        return;
    }
    event *v = find_event(s, id);
    if (v) x.value = time_of_sample(v, &x, stream);
    if (!x.value) return;
    s->n.samples++;
    on->sampled(on->ctx, &x);
}

static void advance(cpu *c)
{
    do c->has_next = ring_next(&c->ring, &c->next);
    while (c->has_next && c->next.type == PERF_RECORD_SAMPLE);
    c->next_time = c->has_next ? trailer_time(&c->next) : UINT64_MAX;
}

/* Reads the records about processes in the order of their times: a process may start on one CPU and
 * end on another. */
static void drain_about(perf_source *s, const perf_events *on)
{
    for (size_t i = 0; i < s->n_cpus; i++) advance(&s->cpus[i]);
    for (;;) {
        cpu *first = NULL;
        for (cpu *c = s->cpus; c < s->cpus + s->n_cpus; c++)
            if (c->has_next && (!first || c->next_time < first->next_time)) first = c;
        if (!first) return;
        take_about(s, &first->next, on);
        advance(first);
    }
}

void perf_drain(perf_source *s, const perf_events *on)
{
    ring_record r;
    for (size_t i = 0; i < s->n_cpus; i++) ring_begin(&s->cpus[i].ring);
    drain_about(s, on);
    for (size_t i = 0; i < s->n_cpus; i++) {
        ring *x = &s->cpus[i].ring;
        ring_rewind(x);
        while (ring_next(x, &r))
            if (r.type == PERF_RECORD_SAMPLE) take_sample(s, &r, on);
        ring_end(x);
    }
}
