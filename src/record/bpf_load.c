/* Loads and attaches the BPF programs, and sizes their maps. */
#include "record/bpf_internal.h"

#include "base/time.h"
#include "record/bpf_skeleton.h"
#include "record/comm.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>
#include "base/ban.h"

enum {
    HZ = 99,
    RATE = 20000,
    TABLE_SLOTS = 16384,
    MAPPINGS = 65536,
    PAGE = 4096,
};

#define FIRST_PID_NS 4026531836 /* inode number of the first pid namespace, PROC_PID_INIT_INO */

_Static_assert((int)BPF_END_WHOLE == UNWIND_WHOLE && (int)BPF_END_CAPPED == UNWIND_CAPPED &&
                   (int)BPF_END_NO_RULE == UNWIND_NO_RULE &&
                   (int)BPF_END_UNREADABLE == UNWIND_UNREADABLE &&
                   (int)BPF_END_NO_PROGRESS == UNWIND_NO_PROGRESS &&
                   (int)BPF_END_NO_REGISTER == UNWIND_NO_REGISTER,
               "the programs use the values of unwind_end");
_Static_assert((int)BPF_WHY_NO_SPACE == BPF_HAND_SPACE && (int)BPF_WHY_NO_TABLE == BPF_HAND_TABLE &&
                   (int)BPF_WHY_CODE == BPF_HAND_CODE && (int)BPF_WHY_REGISTER == BPF_HAND_REGISTER,
               "the programs use the values of bpf_why");

uint64_t bpf_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* ---- options ---- */

static void set_defaults(bpf_opts *o)
{
    if (!o->hz) o->hz = HZ;
    if (!o->off_cpu_rate) o->off_cpu_rate = RATE;
    if (!o->max_frames || o->max_frames > BPF_FRAMES_MAX) o->max_frames = BPF_FRAMES_MAX;
    if (!o->copy_bytes) o->copy_bytes = 16 << 10;
    if (o->copy_bytes > BPF_COPY_MAX) o->copy_bytes = BPF_COPY_MAX;
    if (!o->ring_bytes) o->ring_bytes = 4 << 20;
    if (!o->table_bytes) o->table_bytes = BPF_TABLE_BYTES;
    if (!o->max_mappings) o->max_mappings = MAPPINGS;
}

/* Finds the id of a cgroup.  It is the handle of its directory. */
static bool find_cgroup(const char *path, uint64_t *id, err *e)
{
    struct {
        struct file_handle h;
        uint64_t id;
    } at = {.h = {.handle_bytes = sizeof at.id}};
    int mount;
    struct statfs fs;
    struct stat st;
    if (!path) return err_set(e, ERR_USAGE, "a filter by cgroup requires its directory");
    if (statfs(path, &fs) != 0 || stat(path, &st) != 0) return err_sys(e, errno, "%s", path);
    if (fs.f_type != CGROUP2_SUPER_MAGIC || !S_ISDIR(st.st_mode))
        return err_sys(e, 0, "%s is not a directory of cgroup2", path);
    if (name_to_handle_at(AT_FDCWD, path, &at.h, &mount, AT_SYMLINK_FOLLOW) != 0)
        return err_sys(e, errno, "%s", path);
    memcpy(id, at.h.f_handle, sizeof *id);
    return true;
}

/* Finds the code of the scheduler.  The addresses are 0 for users that may not see them. */
static void find_scheduler(uint64_t *start, uint64_t *end)
{
    char line[512], name[32];
    uint64_t at;
    FILE *f = fopen("/proc/kallsyms", "re");
    while (f && !*end && fgets(line, sizeof line, f)) {
        if (!strstr(line, " __sched_text_")) continue;
        if (sscanf(line, "%" SCNx64 " %*c __sched_text_%31s", &at, name) != 2) continue;
        if (!strcmp(name, "start")) *start = at;
        if (!strcmp(name, "end")) *end = at;
    }
    if (f) fclose(f);
}

static bool set_options(bpf_source *s, err *e)
{
    const bpf_opts *o = &s->o;
    struct kiln_bpf__rodata *r = s->programs->rodata;
    r->filter = o->filter;
    if (o->filter == BPF_CGROUP && !find_cgroup(o->cgroup, &r->cgroup_id, e)) return false;
    if (o->comm) {
        record_comm c = record_comm_parse(o->comm);
        memcpy(r->comm, c.bytes, sizeof r->comm);
        r->comm_length = c.n;
    }
    r->with_kernel = o->kernel;
    r->with_off_cpu = o->off_cpu;
    r->aggregate = o->aggregate;
    r->ship = o->ship;
    r->max_frames = o->max_frames;
    r->copy_bytes = o->copy_bytes;
    r->off_cpu_min_ns = o->off_cpu_min_ns;
    r->period_ns = s->period_ns;
    r->ring_quarter = o->ring_bytes / 4;
    uint64_t start = 0, end = 0;
    if (o->kernel && o->off_cpu) find_scheduler(&start, &end);
    r->scheduler_start = start;
    r->scheduler_end = end;
    return true;
}

static size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

static bool set_sizes(bpf_source *s, err *e)
{
    struct kiln_bpf *p = s->programs;
    int cpus = libbpf_num_possible_cpus();
    if (cpus <= 0) return err_sys(e, -cpus, "the number of CPUs is not known");
    s->n_cpus = (size_t)cpus;
    s->n_words = round_up(s->o.table_bytes, PAGE) / sizeof(uint64_t);
    s->n_slots = TABLE_SLOTS;
    s->n_ranges = round_up(s->o.max_mappings, SPACE_BLOCK);
    s->n_blocks = s->n_ranges / SPACE_BLOCK;
    size_t ring = PAGE;
    while (ring < s->o.ring_bytes) ring *= 2; /* the kernel requires a power of two */
    s->o.ring_bytes = ring;
    bpf_map__set_max_entries(p->maps.words, (uint32_t)(s->n_words / BPF_CHUNK_WORDS));
    bpf_map__set_max_entries(p->maps.tables, (uint32_t)s->n_slots);
    bpf_map__set_max_entries(p->maps.ranges, (uint32_t)s->n_ranges);
    bpf_map__set_max_entries(p->maps.ring, (uint32_t)ring);
    bpf_map__set_max_entries(p->maps.scratch_on, (uint32_t)cpus);
    bpf_map__set_max_entries(p->maps.scratch_off, (uint32_t)cpus);
    if (!s->o.aggregate) bpf_map__set_max_entries(p->maps.sums, 1);
    bpf_program__set_autoload(p->progs.on_cpu, s->o.on_cpu);
    bpf_program__set_autoload(p->progs.off_cpu, s->o.off_cpu);
    bpf_program__set_autoload(p->progs.waking, s->o.off_cpu);
    bpf_program__set_autoload(p->progs.waking_new, s->o.off_cpu);
    bpf_program__set_autoload(p->progs.receiving, s->o.off_cpu);
    bpf_program__set_autoload(p->progs.received, s->o.off_cpu);
    bpf_program__set_autoload(p->progs.list_threads, s->o.off_cpu);
    bpf_program__set_autoload(p->progs.dump_threads, s->o.off_cpu);
    bpf_program__set_autoload(p->progs.exited, !s->o.off_cpu);
    bpf_program__set_autoload(p->progs.forked, s->o.filter == BPF_PIDS);
    bpf_program__set_autoload(p->progs.freed, s->o.filter == BPF_PIDS);
    return true;
}

/* ---- loading ---- */

static bool check_kernel(err *e)
{
    struct utsname u;
    unsigned major = 0, minor = 0;
    if (uname(&u) != 0 || sscanf(u.release, "%u.%u", &major, &minor) != 2) return true;
    if (major < 5 || (major == 5 && minor < 19))
        return err_set(e, ERR_UNSUPPORTED, "BPF recording requires Linux 5.19; this is %s",
                       u.release);
    if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
        return err_set(e, ERR_UNSUPPORTED,
                       "BPF recording requires a kernel with CONFIG_DEBUG_INFO_BTF");
    return true;
}

/* The programs see the process ids of the first pid namespace, kiln those of its own. */
static bool check_namespace(err *e)
{
    struct stat st;
    if (stat("/proc/self/ns/pid", &st) != 0 || st.st_ino == FIRST_PID_NS) return true;
    return err_sys(e, 0, "BPF recording is not possible inside a pid namespace");
}

static bool load_failed(int sys, err *e)
{
    if (sys == EPERM || sys == EACCES)
        return err_sys(e, sys, "BPF recording requires root, or CAP_BPF and CAP_PERFMON");
    return err_sys(e, sys, "the kernel rejects the BPF programs");
}

static int print_nothing(enum libbpf_print_level level, const char *format, va_list args)
{
    (void)level, (void)format, (void)args;
    return 0;
}

static void *share(struct bpf_map *m, size_t bytes, err *e)
{
    void *p =
        mmap(NULL, round_up(bytes, PAGE), PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(m), 0);
    if (p != MAP_FAILED) return p;
    err_sys(e, errno, "the BPF map %s cannot be mapped", bpf_map__name(m));
    return NULL;
}

/* Ids of stacks that are handed over are unique: each scratch memory counts from its own start. */
static void set_first_ids(bpf_source *s)
{
    for (size_t i = 0; i < s->n_cpus; i++)
        for (size_t k = 0; k < 2; k++) {
            struct kiln_scratch_head {
                struct bpf_kernel_counts n;
                uint64_t unique;
            } *h = (void *)(s->scratch[k] + i * s->scratch_bytes);
            h->unique = (uint64_t)(2 * i + k) << 44;
        }
}

enum { PAGE_WORDS = PAGE / sizeof(uint64_t) };

static uint64_t *map_words(void *ctx, size_t first, size_t n)
{
    const bpf_source *s = ctx;
    size_t skip = first % PAGE_WORDS, bytes = round_up((skip + n) * sizeof(uint64_t), PAGE);
    uint64_t *w =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(s->programs->maps.words),
             (off_t)((first - skip) * sizeof(uint64_t)));
    return w == MAP_FAILED ? NULL : w + skip;
}

static void unmap_words(void *ctx, uint64_t *words, size_t first, size_t n)
{
    (void)ctx;
    size_t skip = first % PAGE_WORDS;
    munmap(words - skip, round_up((skip + n) * sizeof(uint64_t), PAGE));
}

static bool share_memory(bpf_source *s, err *e)
{
    struct kiln_bpf *p = s->programs;
    s->scratch_bytes = bpf_map__value_size(p->maps.scratch_on);
    size_t scratch = s->scratch_bytes * s->n_cpus;
    if (!(s->slots = share(p->maps.tables, s->n_slots * sizeof *s->slots, e)) ||
        !(s->ranges = share(p->maps.ranges, s->n_ranges * sizeof *s->ranges, e)) ||
        !(s->scratch[0] = share(p->maps.scratch_on, scratch, e)) ||
        !(s->scratch[1] = share(p->maps.scratch_off, scratch, e)))
        return false;
    set_first_ids(s);
    s->blocks = arena_zero(&s->a, s->n_blocks);
    s->cpu_links = arena_array_zero(&s->a, s->n_cpus, sizeof(struct bpf_link *));
    if (!s->blocks || !s->cpu_links) return err_memory(e);
    table_memory m = {.n_words = s->n_words,
                      .map = map_words,
                      .unmap = unmap_words,
                      .slots = s->slots,
                      .n_slots = s->n_slots,
                      .grace = bpf_grace,
                      .ctx = s};
    return (s->tables = table_store_open(&m, e)) != NULL;
}

static bool open_source(bpf_source *s, err *e)
{
    libbpf_set_print(print_nothing);
    if (!check_kernel(e) || !check_namespace(e)) return false;
    if (!(s->programs = kiln_bpf__open())) return load_failed(errno, e);
    if (!set_options(s, e) || !set_sizes(s, e)) return false;
    int failed = kiln_bpf__load(s->programs);
    if (failed) return load_failed(-failed, e);
    if (!share_memory(s, e)) return false;
    if (s->o.stats) s->stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
    return true;
}

bpf_source *bpf_open(const bpf_opts *o, err *e)
{
    bpf_source *s = calloc(1, sizeof *s);
    if (!s) {
        err_memory(e);
        return NULL;
    }
    s->o = *o;
    s->stats = -1;
    set_defaults(&s->o);
    s->period_ns = NS_PER_S / s->o.hz;
    if (open_source(s, e) && bpf_events_open(s, e)) return s;
    bpf_close(s);
    return NULL;
}

static void unshare_memory(void *p, size_t bytes)
{
    if (p) munmap(p, round_up(bytes, PAGE));
}

void bpf_close(bpf_source *s)
{
    if (!s) return;
    bpf_stop(s);
    bpf_events_close(s);
    table_store_close(s->tables);
    unshare_memory(s->slots, s->n_slots * sizeof *s->slots);
    unshare_memory(s->ranges, s->n_ranges * sizeof *s->ranges);
    for (size_t i = 0; i < 2; i++) unshare_memory(s->scratch[i], s->scratch_bytes * s->n_cpus);
    kiln_bpf__destroy(s->programs);
    if (s->stats >= 0) close(s->stats);
    arena_free(&s->a);
    free(s);
}

/* ---- filter ---- */

static bool set_in(struct bpf_map *m, uint32_t pid, bool on, err *e)
{
    uint8_t yes = 1;
    int fd = bpf_map__fd(m);
    if (!on) bpf_map_delete_elem(fd, &pid);
    if (on && bpf_map_update_elem(fd, &pid, &yes, BPF_ANY) != 0)
        return err_sys(e, errno, "process %u cannot be added to the filter", pid);
    return true;
}

bool bpf_follow(bpf_source *s, uint32_t pid, bool on, err *e)
{
    return set_in(s->programs->maps.followed, pid, on, e);
}

bool bpf_exclude(bpf_source *s, uint32_t pid, err *e)
{
    return set_in(s->programs->maps.excluded, pid, true, e);
}

/* ---- attaching ---- */

static bool attach(bpf_source *s, struct bpf_program *p, err *e)
{
    if (!bpf_program__autoload(p)) return true;
    struct bpf_link *l = bpf_program__attach(p);
    if (!l) return err_sys(e, errno, "the BPF program %s cannot be attached", bpf_program__name(p));
    s->links[s->n_links++] = l;
    return true;
}

/* A fixed period, because the kernel varies the period of a frequency. */
static bool attach_cpu(bpf_source *s, int cpu, err *e)
{
    struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE,
                                .size = sizeof a,
                                .config = PERF_COUNT_SW_CPU_CLOCK,
                                .sample_period = s->period_ns};
    int fd = (int)syscall(SYS_perf_event_open, &a, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0 && errno == ENODEV) return true; /* offline */
    if (fd < 0)
        return errno == EACCES || errno == EPERM
                   ? load_failed(errno, e)
                   : err_sys(e, errno, "CPU %d: the sampling timer cannot be opened", cpu);
    if ((s->cpu_links[cpu] = bpf_program__attach_perf_event(s->programs->progs.on_cpu, fd)))
        return true;
    int sys = errno;
    close(fd);
    return err_sys(e, sys, "CPU %d: the sampling program cannot be attached", cpu);
}

bool bpf_start(bpf_source *s, err *e)
{
    struct kiln_bpf *p = s->programs;
    if (!attach(s, p->progs.forked, e) || !attach(s, p->progs.freed, e) ||
        !attach(s, p->progs.exited, e))
        return false;
    if (s->o.off_cpu) {
        /* The switches first: the list then adds only threads that did not move meanwhile. */
        if (!attach(s, p->progs.off_cpu, e) || !attach(s, p->progs.waking, e) ||
            !attach(s, p->progs.waking_new, e) || !attach(s, p->progs.receiving, e) ||
            !attach(s, p->progs.received, e) || !bpf_read_iterator(s, p->progs.list_threads, e))
            return false;
    }
    for (size_t i = 0; s->o.on_cpu && i < s->n_cpus; i++)
        if (!attach_cpu(s, (int)i, e)) return false;
    return true;
}

void bpf_end(bpf_source *s, uint64_t time)
{
    __atomic_store_n(&s->programs->bss->ended, time, __ATOMIC_RELAXED);
}

void bpf_stop(bpf_source *s)
{
    for (size_t i = 0; s->cpu_links && i < s->n_cpus; i++) {
        bpf_link__destroy(s->cpu_links[i]);
        s->cpu_links[i] = NULL;
    }
    while (s->n_links) bpf_link__destroy(s->links[--s->n_links]);
}

/* ---- counters ---- */

struct bpf_kernel_counts bpf_kernel_count(const bpf_source *s)
{
    struct bpf_kernel_counts sum = {0};
    for (size_t i = 0; i < s->n_cpus; i++)
        for (size_t k = 0; k < 2; k++) {
            const struct bpf_kernel_counts *n =
                (const void *)(s->scratch[k] + i * s->scratch_bytes);
#define X(name, what) sum.name += __atomic_load_n(&n->name, __ATOMIC_RELAXED);
            BPF_KERNEL_COUNTERS(X)
#undef X
        }
    return sum;
}

bpf_counts bpf_count(bpf_source *s)
{
    struct bpf_kernel_counts k = bpf_kernel_count(s);
    bpf_counts n = {
        .stacks_unknown = s->stacks_unknown, .finished = s->finished, .ring_bytes = s->ring_bytes};
#define X(name, what) n.name = k.name;
    BPF_KERNEL_COUNTERS(X)
#undef X
    return n;
}

size_t bpf_run_time(bpf_source *s, bpf_cost v[BPF_PROGRAMS])
{
    size_t n = 0;
    struct bpf_program *p;
    bpf_object__for_each_program(p, s->programs->obj)
    {
        struct bpf_prog_info info = {0};
        uint32_t bytes = sizeof info;
        if (bpf_program__fd(p) < 0 || n == BPF_PROGRAMS ||
            bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &bytes) != 0)
            continue;
        v[n++] = (bpf_cost){.program = bpf_program__name(p),
                            .runs = info.run_cnt,
                            .ns = info.run_time_ns,
                            .insns = info.verified_insns};
    }
    return n;
}
