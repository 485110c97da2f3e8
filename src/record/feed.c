/* Connects the BPF programs with the processes of the recorder. */
#include "record/feed.h"

#include "base/time.h"
#include "collect/object_file.h"
#include "record/bpf.h"
#include "record/waiting.h"
#include "sys/process.h"
#include "base/ban.h"
#include <stdlib.h>
#include <unistd.h>

enum {
    MAPPINGS_MAX = 8192, /* per process; code in others counts as generated at run time */
    STACK_BYTES = 5 << 20,
    FRAMES_MAX = 127, /* of the BPF walk */
};

#define RELOAD_NS (10 * NS_PER_S)
#define THREAD_CONTEXT "otel_thread_ctx_v1"

struct feed {
    recorder *r;
    bpf_source *s;
    bpf_mapping *mappings; /* scratch */
    waiting *waiting;
    bool last; /* the recording ends: the rest of each thread's CPU time is due */
    uint64_t kept_ns;
    uint64_t unpublished;  /* failures of bpf_space_put */
    uint64_t reads_failed; /* of bpf_drain and bpf_dump */
};

/* ---- mappings ---- */

static bool map_image(feed *f, uint32_t pid, const char *root, const image *x, bpf_mapping *out)
{
    recorder *r = f->r;
    struct stat st;
    err e = {0};
    str elf = tables_file(r->world.files, (int)pid, root, x, &st);
    table_key key = {.dev = st.st_dev,
                     .ino = st.st_ino,
                     .size = (uint64_t)st.st_size,
                     .mtime_s = st.st_mtim.tv_sec,
                     .mtime_ns = st.st_mtim.tv_nsec};
    uint32_t now = (uint32_t)((r->world.now - r->clock_offset) / NS_PER_S);
    *out = (bpf_mapping){.start = x->start, .end = x->end, .table = TABLE_NONE};
    if (!elf.n || !object_bias(elf, x->start, x->offset, &out->bias)) return false;
    uint64_t before = table_count(bpf_tables(f->s)).compiled;
    bool ok = table_of(bpf_tables(f->s), &key, elf, now, &out->table, &e);
    if (table_count(bpf_tables(f->s)).compiled != before) tables_file_pass(r->world.files, elf);
    return ok;
}

static int by_start(const void *x, const void *y)
{
    const bpf_mapping *a = x, *b = y;
    return a->start < b->start ? -1 : a->start > b->start;
}

static bool read_memory(const memory *m, uint64_t at, void *out, size_t n)
{
    return process_read(m->pid, at, out, n);
}

/* Finds the thread contexts of a process that publishes a process context (OTEP 4719). */
static bool find_place(const space *s, bpf_span_place *out)
{
    arena a = {.budget = PROCESS_MAPS_BYTES};
    str maps;
    tls_variables v;
    memory m = {.read = read_memory, .pid = (int)s->pid};
    bool ok = s->published.has && process_maps((int)s->pid, &a, &maps, NULL) &&
              tls_find(&m, maps, THREAD_CONTEXT, &a, &v, NULL) && v.n;
    if (ok)
        *out = (bpf_span_place){.at = {.kind = v.v[0].is_static ? SPAN_STATIC : SPAN_DYNAMIC,
                                       .offset = v.v[0].offset,
                                       .module = v.v[0].module},
                                .musl = v.v[0].musl};
    arena_free(&a);
    return ok;
}

static void publish(feed *f, space *s)
{
    recorder *r = f->r;
    char root[64];
    size_t n = 0;
    bpf_span_place place;
    err e = {0};
    if (s->published_in_bpf || s->ended_at) return;
    if (!s->maps_at) (void)space_read_maps(s, &r->world);
    space_describe(s, &r->world);
    s->published_in_bpf = true;
    s->put_at = r->world.now;
    if (s->kernel_thread) return;
    (void)space_root(s, root);
    for (size_t i = 0; i < s->images.v.n && n < MAPPINGS_MAX; i++) {
        const image *x = &s->images.v.v[i];
        if (!x->gone && x->path.n) n += map_image(f, s->pid, root, x, &f->mappings[n]);
    }
    qsort(f->mappings, n, sizeof *f->mappings, by_start);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) /* a list from two sources may overlap */
        if (!kept || f->mappings[kept - 1].end <= f->mappings[i].start)
            f->mappings[kept++] = f->mappings[i];
    bool has = find_place(s, &place);
    /* Without mappings, the walks are handed over. */
    f->unpublished += !bpf_space_put(f->s, s->pid, f->mappings, kept, has ? &place : NULL, &e);
}

void feed_publish(feed *f, space *s) { publish(f, s); }

void feed_forget(feed *f, uint32_t pid) { bpf_space_drop(f->s, pid); }

/* ---- walks ---- */

static unwind_result finish(void *ctx, const bpf_handover *h, uintptr_t *pcs, size_t max)
{
    feed *f = ctx;
    recorder *r = f->r;
    space *s = recorder_space(r, h->pid, r->world.now);
    if (!s) return (unwind_result){.end = UNWIND_NO_RULE};
    /* Loads the table again, but not at once: with more code than the budget, tables would be
     * compiled all the time. */
    if (h->why == BPF_WHY_NO_TABLE && r->world.now - s->put_at > RELOAD_NS)
        s->published_in_bpf = false;
    publish(f, s);
    return space_walk(s, &r->world, r->world.now, &h->regs, h->known, &h->copy, pcs, max);
}

/* ---- events ---- */

static observation observe(const recorder *r, const bpf_event *v, sample_kind kind)
{
    return (observation){.kind = kind,
                         .time = recorder_unix(r, v->time),
                         .value = (int64_t)v->value,
                         .state = kind == SAMPLE_CPU ? 'R' : v->state,
                         .kernel = v->stack.kernel,
                         .n_kernel = v->stack.n_kernel,
                         .user = v->stack.user,
                         .n_user = v->stack.n_user,
                         .end = v->stack.end,
                         .has_stack = v->stack.id != 0 && !v->stack.lost,
                         .span = v->span};
}

static void count_stack(recorder *r, const bpf_event *v)
{
    r->n.stacks_lost += v->stack.lost ? v->count : 0;
    if (!v->stack.n_user) return;
    r->n.whole += v->stack.end == UNWIND_WHOLE ? v->count : 0;
    r->n.truncated += v->stack.end == UNWIND_CAPPED ? v->count : 0;
    r->n.broken += v->stack.end > UNWIND_CAPPED ? v->count : 0;
    r->n.guessed += v->stack.guesses * v->count;
}

/* ---- CPU time ---- */

/* The thread's last CPU sample; NULL: it was delivered. */
static agent_sample *last_sample(const space *s, const space_thread *t)
{
    return t->last && s->batch ? &s->batch->samples.v[t->last - 1] : NULL;
}

/* Notes whether the thread still has the span of its last sample. */
static void follow_span(const space *s, space_thread *t, const bpf_event *v)
{
    const agent_sample *last = last_sample(s, t);
    agent_link old = {{0}, {0}}, now = {{0}, {0}};
    if (last && last->link) old = s->batch->links.v[last->link];
    if (v->span && v->span->has_ids) {
        memcpy(now.trace_id, v->span->trace_id, sizeof now.trace_id);
        memcpy(now.span_id, v->span->span_id, sizeof now.span_id);
    }
    t->holds = last && !memcmp(&old, &now, sizeof old);
    if (t->holds) t->held = v->on_ns;
}

/* Gives the thread's last sample the part of `ns` that its span used, of the CPU time that ends at
 * this event.  Without a sample of its own, another span leaves its time to the next sample: only
 * samples say which stacks use CPU time.  Returns the rest. */
static uint64_t give_back(feed *f, const space *s, const space_thread *t, const bpf_event *v,
                          uint64_t ns)
{
    agent_sample *last = last_sample(s, t);
    uint64_t from = v->on_ns > ns ? v->on_ns - ns : 0;
    if (!last || t->held <= from || t->held > v->on_ns) return ns;
    last->value += (int64_t)(t->held - from);
    f->r->n.cpu_ns += t->held - from;
    return v->on_ns - t->held;
}

/* A sample represents the CPU time since the thread's last one, so that CPU time and waits add up to
 * the wall time.  Without the clock of the switches, it represents a period. */
static void take_cpu(feed *f, space *s, space_thread *t, const bpf_event *v)
{
    recorder *r = f->r;
    observation x = observe(r, v, SAMPLE_CPU);
    uint64_t before = r->n.cpu_samples;
    follow_span(s, t, v);
    if (!t->holds) x.value = (int64_t)give_back(f, s, t, v, v->value);
    x.value += (int64_t)t->owed;
    t->owed = 0;
    recorder_put(r, s, t, &x);
    follow_span(s, t, v);
    if (r->n.cpu_samples > before) r->n.cpu_samples += v->count - 1;
}

/* Sets the user stack of a wait that began before the recording; the event has the kernel stack. */
static void take_initial(feed *f, space *s, space_thread *t, const bpf_event *v, observation *x)
{
    x->user = t->initial;
    x->n_user = t->n_initial;
    x->end = t->initial_end;
    if (!x->user && v->still_open && !s->kernel_thread)
        x->user = waiting_walk(f->waiting, s, &f->r->world, v->tid, &x->n_user, &x->end);
    if (!x->user) x->n_user = 0;
    x->has_stack = x->user || x->n_kernel;
}

/* A wait has two parts: blocked, until something woke the thread, and ready, until it ran. */
static void take_wait(feed *f, space *s, space_thread *t, const bpf_event *v)
{
    observation x = observe(f->r, v, SAMPLE_OFF_CPU);
    follow_span(s, t, v);
    if (v->started_blocked && !x.n_user) take_initial(f, s, t, v, &x);
    uint64_t all = v->duration_ns, ready = v->state == 'R' ? 0 : v->runnable_ns;
    if (!all) return;
    if (ready > all) ready = all;
    /* An estimate stands for both parts in proportion. */
    double scale = (double)v->value / (double)all;
    x.value = (int64_t)((double)(all - ready) * scale);
    x.syscall = v->state != 'R' && v->syscall >= 0 ? (uint16_t)(v->syscall + 1) : 0;
    x.waker = v->waker.interrupt ? 0 : v->waker.tid;
    if (v->estimate && v->value > f->kept_ns) f->kept_ns = v->value;
    if (x.value) recorder_put(f->r, s, t, &x);
    if (!ready) return;
    observation y = x;
    y.syscall = 0;
    y.time = recorder_unix(f->r, v->runnable_since);
    y.value = (int64_t)((double)ready * scale);
    y.state = 'R';
    recorder_put(f->r, s, t, &y);
}

/* Adds the CPU time after the thread's last sample to that sample, or to the stack at which it last
 * waited. */
static void take_rest(feed *f, space *s, space_thread *t, const bpf_event *v)
{
    agent_sample *last = last_sample(s, t);
    bool same = last && t->holds;
    uint64_t rest = t->owed + (same ? v->rest_ns : give_back(f, s, t, v, v->rest_ns));
    t->owed = 0;
    if (!rest) return;
    if (same) {
        last->value += (int64_t)rest;
        f->r->n.cpu_ns += rest;
        return;
    }
    if (!f->last && v->kind != BPF_EVENT_EXIT) {
        t->owed = rest;
        return;
    }
    observation x = {.kind = SAMPLE_CPU,
                     .time = f->r->world.now,
                     .value = (int64_t)rest,
                     .state = 'R',
                     .has_stack = false};
    if (t->last_stack && s->batch) {
        const agent_stack *k = &s->batch->stacks.v[t->last_stack - 1];
        x.user = s->batch->pcs.v + k->first;
        x.n_user = k->n < f->r->o.max_frames ? k->n : f->r->o.max_frames;
        x.end = (unwind_end)k->end;
        x.has_stack = true;
    }
    recorder_put(f->r, s, t, &x);
}

static void on_event(void *ctx, const bpf_event *v)
{
    feed *f = ctx;
    recorder *r = f->r;
    if (!v->pid || v->pid == (uint32_t)getpid()) return;
    bool observed = v->kind == BPF_EVENT_CPU || v->kind == BPF_EVENT_OFF_CPU;
    space *s = observed || v->on_ns ? recorder_space(r, v->pid, recorder_unix(r, v->time))
                                    : recorder_find(r, v->pid);
    space_thread *t = s ? space_thread_of(s, v->tid) : NULL;
    if (!t) {
        r->n.batch_full += observed;
        return;
    }
    /* Samples of an ending thread follow its end shortly; later ones are of another with its id. */
    if (t->ended_at && recorder_unix(r, v->time) > t->ended_at + NS_PER_S)
        t->ended_at = 0, t->named = false;
    if (observed && recorder_unix(r, v->time) < s->begins) return;
    publish(f, s);
    if (!t->named && v->comm[0]) space_name_thread(s, v->tid, str_of(v->comm));
    if (observed) count_stack(r, v);
    switch (v->kind) {
    case BPF_EVENT_CPU: take_cpu(f, s, t, v); break;
    case BPF_EVENT_OFF_CPU:
        take_wait(f, s, t, v);
        if (v->still_open) take_rest(f, s, t, v);
        break;
    case BPF_EVENT_RUNNING: take_rest(f, s, t, v); break;
    case BPF_EVENT_EXIT:
        take_rest(f, s, t, v);
        space_end_thread(s, v->tid, recorder_unix(r, v->time));
        break;
    }
}

/* ---- the source ---- */

feed *feed_open(recorder *r, err *e)
{
    static const bpf_filter filters[] = {BPF_PIDS, BPF_ALL, BPF_CGROUP};
    feed *f = calloc(1, sizeof *f);
    bpf_mapping *v = calloc(MAPPINGS_MAX, sizeof *v);
    if (!f || !v) {
        free(f);
        free(v);
        return err_memory(e), NULL;
    }
    *f = (feed){.r = r, .mappings = v};
    bpf_opts o = {.hz = r->o.hz,
                  .on_cpu = true,
                  .off_cpu = r->o.off_cpu,
                  .kernel = r->o.kernel,
                  .aggregate = r->o.aggregate,
                  .stats = true,
                  .filter = filters[r->o.target],
                  .cgroup = r->o.cgroup,
                  .comm = r->o.comm,
                  .off_cpu_min_ns = r->o.off_cpu_min_ns,
                  .max_frames = r->o.max_frames < FRAMES_MAX ? r->o.max_frames : FRAMES_MAX,
                  .finish = finish,
                  .finish_ctx = f};
    f->s = bpf_open(&o, e);
    f->waiting = waiting_open(r->o.max_frames);
    if (f->s && !f->waiting) err_memory(e);
    if (f->s && f->waiting && bpf_exclude(f->s, (uint32_t)getpid(), e)) return f;
    feed_close(f);
    return NULL;
}

void feed_close(feed *f)
{
    if (!f) return;
    bpf_close(f->s);
    waiting_close(f->waiting);
    free(f->mappings);
    free(f);
}

bool feed_attach(feed *f, uint32_t pid, err *e)
{
    space *s = recorder_space(f->r, pid, f->r->world.now);
    if (!s) return err_memory(e);
    publish(f, s);
    return bpf_follow(f->s, pid, true, e);
}

bool feed_start(feed *f, err *e)
{
    recorder *r = f->r;
    if (!bpf_start(f->s, e)) return false;
    recorder_began(r);
    for (size_t i = 0; r->o.off_cpu && r->o.target == RECORD_PIDS && i < r->spaces.n; i++)
        waiting_keep(f->waiting, r->spaces.v[i], &r->world);
    return true;
}

void feed_end(feed *f, uint64_t time) { bpf_end(f->s, time); }

void feed_stop(feed *f) { bpf_stop(f->s); }

int feed_fd(const feed *f) { return bpf_fd(f->s); }

void feed_drain(feed *f)
{
    err e = {0};
    f->reads_failed += !bpf_drain(f->s, on_event, f, &e);
}

void feed_settle(feed *f, bool last)
{
    err e = {0};
    f->last = last;
    f->reads_failed += !bpf_dump(f->s, on_event, f, &e);
}

bool feed_is_large(const feed *f) { return bpf_stack_bytes(f->s) > STACK_BYTES; }

void feed_count(feed *f)
{
    recorded *n = &f->r->n;
    bpf_counts c = bpf_count(f->s);
    table_counts t = table_count(bpf_tables(f->s));
    bpf_cost cost[BPF_PROGRAMS];
    size_t k = bpf_run_time(f->s, cost);
    n->bpf_ns = 0;
    for (size_t i = 0; i < k; i++) n->bpf_ns += cost[i].ns;
    n->ring_full = c.lost_samples + c.lost_intervals + c.lost_exits;
    n->lost_cpu_ns = c.lost_cpu_ns;
    n->lost_wait_ns = c.lost_interval_ns;
    n->stacks_cut = c.stacks_cut;
    n->waits_sampled_out = c.sampled_away;
    n->short_waits = c.short_intervals;
    n->short_ns = c.short_ns;
    n->spans_torn = c.spans_torn;
    n->attributes_lost = c.lost_attrs;
    n->switches_lost = c.storage_failed;
    n->processes_lost = c.not_followed;
    n->reads_failed = f->reads_failed;
    n->tables_over = t.evicted + t.refused + f->unpublished;
    n->kernel_finished = c.finished;
}

uint64_t feed_kept_ns(const feed *f) { return f->kept_ns; }
