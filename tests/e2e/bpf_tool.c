/* Drives the BPF source without the rest of `kiln record`, for bpf_walk and the benchmarks.
 *
 *     bpf_tool [-okasnvc] [-p PID]... [-g CGROUP] [-C COMM] [-t SECONDS] [-F HZ] [-T TABLE_BYTES]
 *              [-m MIN_NS] [-r RATE] [-w SECONDS] [-R RING_BYTES] [-i MS]
 *
 * -o off-CPU, -k kernel stacks, -a aggregate, -s ship (compare each walk with unwind_copy), -n do
 * not publish mappings, -v print events, -c no CPU samples, -w wait after each process is
 * published, -i time between two readings of the ring.  Without -p and -g, all processes.  Prints lines `name value...`; "started" when it
 * records.  Exit status 77: BPF is not permitted or not built in. */
#include "agent/images.h"
#include "base/time.h"
#include "collect/tables.h"
#include "ctx/tls.h"
#include "collect/object_file.h"
#include "record/bpf.h"
#include "sys/file.h"
#include "sys/process.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/ban.h"

enum { PROCESSES = 64, THREADS = 256, FILES = 512 };

typedef struct process {
    uint32_t pid;
    images maps;
    unwind_snapshot *snapshot;
} process;

typedef struct thread {
    uint32_t pid, tid;
    uint64_t first, last;           /* times */
    uint64_t on, blocked, runnable; /* ns */
    uint64_t n_blocked, n_preempted, short_ns;
    uint64_t cpu_samples, estimated;
} thread;

typedef struct tool {
    bpf_source *s;
    table_files *files;
    process p[PROCESSES];
    size_t n_processes;
    thread t[THREADS];
    size_t n_threads;
    file_bytes held[FILES]; /* bytes that snapshots refer to */
    bool verbose;
    uint64_t events, frames, ends[8];
    uint64_t compared, equal, different, guessed, further, outside_copy;
    uint64_t spans, bad_spans, spans_with_attrs;
    uint64_t end_time;
} tool;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static void fail(const err *e, const char *what)
{
    char text[512];
    printf("failed %s: %s (errno %d)\n", what, err_text(e, text, sizeof text), e->sys);
    exit(e->sys == EPERM || e->code == ERR_UNSUPPORTED ? 77 : 1);
}

/* ---- processes ---- */

static bool read_memory(const memory *m, uint64_t at, void *out, size_t n)
{
    return process_read(m->pid, at, out, n);
}

static bool find_place(uint32_t pid, bpf_span_place *out)
{
    arena a = {0};
    char path[64];
    file_bytes maps;
    tls_variables v;
    memory m = {.read = read_memory, .pid = (int)pid};
    snprintf(path, sizeof path, "/proc/%u/maps", pid);
    bool ok = file_read(path, 0, &maps, NULL);
    if (ok) {
        ok = tls_find(&m, maps.bytes, "otel_thread_ctx_v1", &a, &v, NULL) && v.n > 0;
        if (ok)
            *out = (bpf_span_place){.at = {.kind = v.v[0].is_static ? SPAN_STATIC : SPAN_DYNAMIC,
                                           .offset = v.v[0].offset,
                                           .module = v.v[0].module},
                                    .musl = v.v[0].musl};
        file_release(&maps);
    }
    arena_free(&a);
    return ok;
}

/* Fills a mapping with its table. */
static bool map_image(tool *k, uint32_t pid, const image *x, bpf_mapping *out)
{
    char name[4352];
    struct stat st = {0};
    file_bytes f = {0};
    err e = {0};
    table_key key = {0};
    bool vdso = str_eq(x->path, STR("[vdso]"));
    snprintf(name, sizeof name, "/proc/%u/root%.*s", pid, STR_ARG(x->path));
    if (!vdso && (stat(name, &st) != 0 || !file_read_regular(name, 0, &f, &e))) return false;
    str elf = vdso ? object_vdso() : f.bytes;
    key = (table_key){.dev = st.st_dev,
                      .ino = st.st_ino,
                      .size = (uint64_t)st.st_size,
                      .mtime_s = st.st_mtim.tv_sec,
                      .mtime_ns = st.st_mtim.tv_nsec};
    *out = (bpf_mapping){.start = x->start, .end = x->end, .table = TABLE_NONE};
    bool ok =
        object_bias(elf, x->start, x->offset, &out->bias) &&
        table_of(bpf_tables(k->s), &key, elf, (uint32_t)(now_ns() / NS_PER_S), &out->table, &e);
    if (!vdso) file_release(&f);
    return ok;
}

static int by_start(const void *x, const void *y)
{
    const bpf_mapping *a = x, *b = y;
    return a->start < b->start ? -1 : a->start > b->start;
}

static process *add_process(tool *k, uint32_t pid, bool publish)
{
    static bpf_mapping v[4096];
    err e = {0};
    size_t n = 0;
    bpf_span_place place;
    if (k->n_processes == PROCESSES) return NULL;
    process *p = &k->p[k->n_processes];
    *p = (process){.pid = pid, .maps = {.pid = (int)pid}};
    if (!images_refresh(&p->maps, 1, &e)) return NULL;
    k->n_processes++;
    char root[64];
    snprintf(root, sizeof root, "/proc/%u/root", pid);
    p->snapshot = tables_make(k->files, root, &p->maps);
    for (size_t i = 0; i < p->maps.v.n && n < ARRAY_LEN(v); i++)
        n += map_image(k, pid, &p->maps.v.v[i], &v[n]);
    qsort(v, n, sizeof *v, by_start);
    bool has = find_place(pid, &place);
    if (publish && !bpf_space_put(k->s, pid, v, n, has ? &place : NULL, &e)) fail(&e, "space");
    printf("process %u mappings %zu span_place %d offset %" PRId64 "\n", pid, n,
           has ? (int)place.at.kind : 0, has ? place.at.offset : 0);
    return p;
}

static process *find_process(tool *k, uint32_t pid)
{
    for (size_t i = 0; i < k->n_processes; i++)
        if (k->p[i].pid == pid) return &k->p[i];
    return NULL;
}

/* ---- walks ---- */

static void print_difference(const bpf_handover *h, const uintptr_t *pcs, const unwind_result *r)
{
    size_t i = 0;
    while (i < h->n && i < r->n && h->pcs[i] == pcs[i]) i++;
    printf("difference at frame %zu of %zu (kernel: end %d, guesses %u) and %zu (copy: end %d, "
           "guesses "
           "%u)\n",
           i, h->n, h->end, h->guesses, r->n, r->end, r->guesses);
    printf("    sp %lx fp %lx\n", h->regs.sp, h->regs.fp);
    for (size_t j = 0; j < i + 3; j++)
        printf("    %zu kernel %lx copy %lx\n", j, j < h->n ? h->pcs[j] : 0, j < r->n ? pcs[j] : 0);
}

/* Returns whether the frame before the first difference has no rule although it is in an object.
 * There guess.c looks for an epilogue first and the kernel follows the frame pointer.  In V8's
 * builtins the two differ in one stack of 100; guess.c then reports a frame too much
 * (v8::internal::Runtime::SetObjectProperty called by a builtin and calling one). */
static bool guessed(tool *k, const bpf_handover *h, const uintptr_t *pcs, const unwind_result *r)
{
    size_t i = 0;
    object_hit hit;
    const process *p = find_process(k, h->pid);
    while (i < h->n && i < r->n && h->pcs[i] == pcs[i]) i++;
    for (uint32_t j = 0; i && p && j < p->snapshot->n_objects; j++) {
        const unwind_object *o = p->snapshot->objects[j];
        if (pcs[i - 1] >= o->lo && pcs[i - 1] < o->hi)
            return rule_kind(object_rule(o, pcs[i - 1], &hit)) == RULE_NONE;
    }
    return false;
}

/* Compares the kernel's walk with ours over the copy.  The copy may be shorter than the stack. */
static void compare(tool *k, const bpf_handover *h, const uintptr_t *pcs, const unwind_result *r)
{
    bool same = h->n >= r->n && memcmp(h->pcs, pcs, r->n * sizeof *pcs) == 0;
    k->compared++;
    if (same && h->n == r->n && h->end == r->end)
        k->equal++;
    else if (same && r->end == UNWIND_UNREADABLE)
        k->outside_copy++;
    else if (same && r->end == UNWIND_NO_RULE)
        k->further++; /* by another stack, which the copy does not contain */
    else if (guessed(k, h, pcs, r)) {
        k->guessed++;
        if (k->verbose) print_difference(h, pcs, r);
    } else if (k->different++ < 8)
        print_difference(h, pcs, r);
}

static unwind_result finish(void *ctx, const bpf_handover *h, uintptr_t *pcs, size_t max)
{
    tool *k = ctx;
    process *p = find_process(k, h->pid);
    if (!p) p = add_process(k, h->pid, true);
    unwind_snapshot *s = p ? p->snapshot : NULL;
    if (!s) return (unwind_result){.end = UNWIND_NO_RULE};
    unwind_result r = unwind_copy(s, &h->regs, h->known, &h->copy, pcs, max);
    if (h->why == BPF_WHY_SHIPPED) compare(k, h, pcs, &r);
    return r;
}

/* ---- events ---- */

static thread *thread_of(tool *k, const bpf_event *ev)
{
    for (size_t i = 0; i < k->n_threads; i++)
        if (k->t[i].tid == ev->tid) return &k->t[i];
    if (k->n_threads == THREADS) return &k->t[THREADS - 1];
    thread *t = &k->t[k->n_threads++];
    *t = (thread){.pid = ev->pid, .tid = ev->tid};
    return t;
}

static void check_span(tool *k, const span_record *r)
{
    uint64_t a, b, c;
    memcpy(&a, r->trace_id, 8);
    memcpy(&b, r->trace_id + 8, 8);
    memcpy(&c, r->span_id, 8);
    k->spans++;
    k->spans_with_attrs += r->n_attrs != 0;
    /* bpf_host sets related ids and an attribute of one letter. */
    bool good = b == ~a && c == a * 0x9e3779b97f4a7c15u;
    if (r->n_attrs) good &= r->n_attrs == 3 && r->attrs[1] == 1 && r->attrs[2] == 'A' + a % 16;
    k->bad_spans += !good;
}

static void on_event(void *ctx, const bpf_event *ev)
{
    tool *k = ctx;
    thread *t = thread_of(k, ev);
    k->events++;
    if (ev->on_ns > t->on) t->on = ev->on_ns;
    if (ev->short_ns > t->short_ns) t->short_ns = ev->short_ns;
    if (ev->span) check_span(k, ev->span);
    switch (ev->kind) {
    case BPF_EVENT_CPU:
        t->cpu_samples += ev->count;
        k->ends[ev->stack.lost ? 7 : ev->stack.end] += ev->count;
        k->frames += ev->stack.n_user * ev->count;
        break;
    case BPF_EVENT_OFF_CPU:
        t->first = ev->since;
        t->last = ev->time + ev->duration_ns;
        t->blocked += ev->duration_ns - ev->runnable_ns;
        t->runnable += ev->runnable_ns;
        t->estimated += ev->value;
        if (!ev->still_open || ev->state != 'R') t->n_blocked += ev->state != 'R';
        t->n_preempted += ev->state == 'R';
        k->ends[ev->stack.lost ? 7 : ev->stack.id ? ev->stack.end : 6]++;
        k->frames += ev->stack.n_user;
        break;
    case BPF_EVENT_EXIT:
    case BPF_EVENT_RUNNING:
        t->first = ev->since;
        t->last = ev->time;
        break;
    }
    if (!k->verbose) return;
    printf("event %d pid %u tid %u time %" PRIu64 " value %" PRIu64 " duration %" PRIu64
           " runnable %" PRIu64 " state %c syscall %d waker %u %s%s on %" PRIu64 " since %" PRIu64
           " end %d n %zu+%zu:",
           ev->kind, ev->pid, ev->tid, ev->time, ev->value, ev->duration_ns, ev->runnable_ns,
           ev->state ? ev->state : '-', ev->syscall, ev->waker.tid, ev->waker.comm,
           ev->waker.interrupt ? " (interrupt)" : "", ev->on_ns, ev->since, ev->stack.end,
           ev->stack.n_user, ev->stack.n_kernel);
    for (size_t i = 0; i < ev->stack.n_user; i++) printf(" %lx", ev->stack.user[i]);
    printf("\n");
}

/* ---- the report ---- */

static void report(tool *k)
{
    bpf_counts n = bpf_count(k->s);
    table_counts t = table_count(bpf_tables(k->s));
    bpf_cost cost[BPF_PROGRAMS];
#define X(name, what) printf("count " #name " %" PRIu64 "\n", n.name);
    BPF_COUNTERS(X)
#undef X
    printf("tables files %u loaded %u bytes %" PRIu64 " rows %" PRIu64 " evicted %" PRIu64
           " refused %" PRIu64 " compile_ms %.1f\n",
           t.files, t.loaded, t.bytes, t.rows, t.evicted, t.refused, (double)t.compile_ns / 1e6);
    for (size_t i = 0, m = bpf_run_time(k->s, cost); i < m; i++)
        printf("program %s runs %" PRIu64 " ns_run %.0f verified %u ns_accepted %.0f\n",
               cost[i].program, cost[i].runs,
               cost[i].runs ? (double)cost[i].ns / (double)cost[i].runs : 0, cost[i].insns,
               n.accepted ? (double)cost[i].ns / (double)n.accepted : 0);
    for (size_t i = 0; i < k->n_threads; i++) {
        const thread *x = &k->t[i];
        printf("thread %u %u wall %.3f on %.3f blocked %.3f runnable %.3f short %.3f n_blocked "
               "%" PRIu64 " n_preempted %" PRIu64 " samples %" PRIu64 " estimated %.3f\n",
               x->pid, x->tid, (double)(x->last - x->first) / 1e6, (double)x->on / 1e6,
               (double)x->blocked / 1e6, (double)x->runnable / 1e6, (double)x->short_ns / 1e6,
               x->n_blocked, x->n_preempted, x->cpu_samples, (double)x->estimated / 1e6);
    }
    printf("ends whole %" PRIu64 " capped %" PRIu64 " no_rule %" PRIu64 " unreadable %" PRIu64
           " no_progress %" PRIu64 " no_register %" PRIu64 " none %" PRIu64 " lost %" PRIu64 "\n",
           k->ends[0], k->ends[1], k->ends[2], k->ends[3], k->ends[4], k->ends[5], k->ends[6],
           k->ends[7]);
    printf("walks compared %" PRIu64 " equal %" PRIu64 " outside_copy %" PRIu64 " further %" PRIu64
           " guessed %" PRIu64 " different %" PRIu64 "\n",
           k->compared, k->equal, k->outside_copy, k->further, k->guessed, k->different);
    printf("spans %" PRIu64 " bad %" PRIu64 " attrs %" PRIu64 "\n", k->spans, k->bad_spans,
           k->spans_with_attrs);
}

int main(int argc, char **argv)
{
    static tool k;
    static uint32_t pids[PROCESSES];
    size_t n_pids = 0;
    double seconds = 1;
    bool publish = true;
    unsigned wait_s = 0, drain_ms = 20;
    err e = {0};
    bpf_opts o = {.on_cpu = true, .stats = true, .hz = 997, .finish = finish, .finish_ctx = &k};
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int c; (c = getopt(argc, argv, "okasnvcp:t:F:T:m:r:w:g:C:R:i:")) != -1;) {
        switch (c) {
        case 'o': o.off_cpu = true; break;
        case 'k': o.kernel = true; break;
        case 'a': o.aggregate = true; break;
        case 's': o.ship = true, o.copy_bytes = BPF_COPY_MAX, o.ring_bytes = 64 << 20; break;
        case 'n': publish = false; break;
        case 'v': k.verbose = true; break;
        case 'c': o.on_cpu = false; break;
        case 'p': pids[n_pids++] = (uint32_t)strtoul(optarg, NULL, 10); break;
        case 't': seconds = strtod(optarg, NULL); break;
        case 'F': o.hz = (uint32_t)strtoul(optarg, NULL, 10); break;
        case 'T': o.table_bytes = strtoul(optarg, NULL, 10); break;
        case 'm': o.off_cpu_min_ns = strtoul(optarg, NULL, 10); break;
        case 'r': o.off_cpu_rate = (uint32_t)strtoul(optarg, NULL, 10); break;
        case 'w': wait_s = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'g': o.cgroup = optarg, o.filter = BPF_CGROUP; break;
        case 'C': o.comm = optarg; break;
        case 'R': o.ring_bytes = strtoul(optarg, NULL, 10); break;
        case 'i': drain_ms = (unsigned)strtoul(optarg, NULL, 10); break;
        default: return 2;
        }
    }
    if (n_pids) o.filter = BPF_PIDS;
    k.files = table_files_open();
    uint64_t start = now_ns();
    if (!k.files || !(k.s = bpf_open(&o, &e))) fail(&e, "open");
    printf("load_ms %.0f\n", (double)(now_ns() - start) / 1e6);
    if (!bpf_exclude(k.s, (uint32_t)getpid(), &e)) fail(&e, "exclude");
    for (size_t i = 0; i < n_pids; i++) {
        if (!bpf_follow(k.s, pids[i], true, &e)) fail(&e, "follow");
        if (publish) add_process(&k, pids[i], true);
        sleep(wait_s);
    }
    if (!bpf_start(k.s, &e)) fail(&e, "start");
    printf("started\n");
    k.end_time = now_ns() + (uint64_t)(seconds * 1e9);
    while (now_ns() < k.end_time) {
        usleep(drain_ms * 1000);
        if (!bpf_drain(k.s, on_event, &k, &e)) fail(&e, "drain");
    }
    if (!bpf_dump(k.s, on_event, &k, &e)) fail(&e, "dump");
    bpf_stop(k.s);
    if (!bpf_drain(k.s, on_event, &k, &e)) fail(&e, "drain");
    report(&k);
    bpf_close(k.s);
    table_files_close(k.files);
    return 0;
}
