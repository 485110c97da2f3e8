/* Wall-clock rounds of `kiln run`: reads the waiting threads of all processes, and adds the time of
 * running threads to their next CPU sample. */
#include "collect/rounds.h"

#include "agent/blocked.h"
#include "agent/exclude.h"
#include "collect/tables.h"
#include "sys/process.h"
#include "unwind/foreign.h"

#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include "base/ban.h"

enum { TIDS = 16384 };

struct rounds {
    uint64_t interval, due;
    uint32_t max_frames, number;
    table_files *files;
    void *copy; /* copy of a stack */
    raw_sample *raw;
    uint32_t *tids;
};

static uint64_t clock_ns(clockid_t c)
{
    struct timespec t = {0};
    clock_gettime(c, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void rounds_close(rounds *r)
{
    if (!r) return;
    table_files_close(r->files);
    free(r->copy), free(r->raw), free(r->tids);
    free(r);
}

rounds *rounds_open(uint64_t interval, uint32_t max_frames, err *e)
{
    rounds *r = calloc(1, sizeof *r);
    bool ok = r && (r->files = table_files_open()) && (r->copy = malloc(BLOCKED_COPY)) &&
              (r->raw = malloc(raw_bytes(max_frames))) && (r->tids = calloc(TIDS, sizeof *r->tids));
    if (!ok) {
        err_set(e, ERR_MEMORY, "not enough memory for wall-clock samples");
        rounds_close(r);
        return NULL;
    }
    r->interval = interval;
    r->max_frames = max_frames;
    r->due = clock_ns(CLOCK_MONOTONIC) + interval;
    return r;
}

uint64_t rounds_due(const rounds *r) { return r->due; }

/* ---- one thread ---- */

/* One round of one thread. */
typedef struct round_turn {
    process_world *w;
    process *p;
    const rounds *r;
    uint64_t time, value; /* Unix ns of the round; ns that it represents */
} round_turn;

static bool push(const round_turn *k, process_thread *t, agent_sample *out)
{
    batch *b = k->p->batch;
    out->kind = SAMPLE_WALL;
    out->round = k->r ? k->r->number : 0;
    if (!batch_thread(b, &t->about, &out->thread)) return false;
    agent_sample *added = vec_push(&b->mem, &b->samples);
    if (added) *added = *out;
    return added != NULL;
}

static void count(const round_turn *k, bool ok)
{
    if (ok)
        k->w->sums->capture.wall_samples++;
    else
        k->w->sums->capture.batch_full++;
}

static void put_waiting(const round_turn *k, process_thread *t, const wall_history *s, bool reused)
{
    batch *b = process_batch(k->p);
    agent_sample out = {.time = k->time,
                        .value = (int64_t)k->value,
                        .cpu_ns = s->cpu,
                        .state = s->state,
                        .reused = reused};
    memcpy(out.wchan, s->wchan, sizeof out.wchan);
    bool ok = b && batch_stack(b, s->raw->pcs, s->raw->n, s->raw->end, s->taken, &out.stack) &&
              batch_context(s->raw, b, &out) && push(k, t, &out);
    k->w->sums->capture.wall_reused += reused;
    count(k, ok);
}

/* Reads state and kernel function.  Returns false when the thread has ended. */
static bool describe(int tasks, uint32_t tid, wall_history *s)
{
    char text[1024];
    task_stat st;
    if (!task_stat_parse(task_read(tasks, tid, "stat", text, sizeof text), &st)) return false;
    s->state = st.state;
    str name = task_read(tasks, tid, "wchan", s->wchan, sizeof s->wchan - 1);
    s->wchan[name.n == 1 && *name.p == '0' ? 0 : name.n] = 0;
    return st.state != 'Z' && st.state != 'X';
}

static void count_stack(const round_turn *k, const raw_sample *raw)
{
    capture_counts *n = &k->w->sums->capture;
    n->guessed += raw->guesses;
    n->truncated += raw->end == UNWIND_CAPPED;
    n->no_register += raw->end == UNWIND_NO_REGISTER;
    n->broken += raw->end > UNWIND_CAPPED && raw->end != UNWIND_NO_REGISTER;
}

static wall_history *history_of(process *p, process_thread *t, uint32_t max_frames)
{
    if (!t->rest) t->rest = arena_zero(&p->mem, sizeof *t->rest);
    if (t->rest && !t->rest->raw) t->rest->raw = arena_zero(&p->mem, raw_bytes(max_frames));
    return t->rest && t->rest->raw ? t->rest : NULL;
}

/* Takes the sample of a thread.  Returns false when it was running or its state is not known, so
 * the next round has to read it again. */
static bool take_thread(const round_turn *k, int tasks, const memory *m, uint32_t tid,
                        uint64_t (*cpu_of)(int, uint32_t))
{
    process *p = k->p;
    process_thread *t = process_thread_of(p, tid);
    wall_history *s = t ? history_of(p, t, k->r->max_frames) : NULL;
    if (!s) return count(k, false), false;
    t->round = k->r->number;
    if (name_excluded(t->about.name, k->w->o->exclude)) return true;
    if (s->cpu && cpu_of(tasks, tid) == s->cpu) return put_waiting(k, t, s, true), true;
    blocked_process from = {.tasks = tasks,
                            .memory = m,
                            .cpu = cpu_of,
                            .span = p->span.kind ? &p->span : NULL,
                            .own = p->d->own,
                            .copy = k->r->copy};
    blocked_thread waiter = {.tid = tid, .pointer = (uintptr_t)t->about.pthread};
    uint64_t cpu = 0;
    switch (blocked_walk(&from, &waiter, p->tables, k->r->max_frames, k->r->raw, &cpu)) {
    case BLOCKED_TAKEN:
        memcpy(s->raw, k->r->raw, raw_bytes(k->r->raw->n));
        s->taken = true;
        s->cpu = cpu;
        (void)!describe(tasks, tid, s);
        count_stack(k, s->raw);
        return put_waiting(k, t, s, false), true;
    case BLOCKED_MOVED:
        s->cpu = 0;
        s->pending += k->value;
        return false;
    case BLOCKED_UNKNOWN:
        s->cpu = 0;
        s->taken = false;
        s->raw->n = 0;
        if (!describe(tasks, tid, s)) return false;
        k->w->sums->capture.blocked++;
        put_waiting(k, t, s, false);
    }
    return false;
}

/* ---- one process ---- */

static bool read_memory(const memory *m, uint64_t at, void *out, size_t n)
{
    return process_read(m->pid, at, out, n);
}

/* Builds new tables when mappings were added. */
static bool prepare(const rounds *r, process_world *w, process *p)
{
    if (!p->maps_read) process_read_maps(w, p);
    process_follow(w, p, false);
    p->span = p->d->span;
    if (p->tables && p->tables_of == p->images.v.n) return true;
    foreign_close(p->tables);
    char root[64];
    snprintf(root, sizeof root, "/proc/%u/root", p->proc);
    p->tables = tables_make(r->files, root, &p->images);
    p->tables_of = p->images.v.n;
    return p->tables != NULL;
}

static void rounds_settle_ended(process_world *w, process *p, process_thread *t);

/* Ends missing threads that had no CPU sample, because no exit notice reports them. */
static void end_missing(const round_turn *k)
{
    process *p = k->p;
    for (size_t i = 0; i < p->threads.n; i++) {
        process_thread *t = &p->threads.v[i];
        if (!t->about.tid || t->accounted || t->round == k->r->number) continue;
        rounds_settle_ended(k->w, p, t);
        process_thread_end(p, t);
    }
}

static void scan_threads(const round_turn *k, int tasks)
{
    process *p = k->p;
    size_t n;
    bool more, single, at_rest = true;
    memory m = {.read = read_memory, .pid = (int)p->pid};
    uint64_t cpu = blocked_cpu_single(tasks, p->pid);
    p->unchanged_cpu = 0;
    if (!task_list(tasks, k->r->tids, TIDS, &n, &more)) return;
    single = n == 1 && k->r->tids[0] == p->pid;
    for (size_t i = 0; i < n; i++)
        at_rest &= take_thread(k, tasks, &m, k->r->tids[i],
                               single ? blocked_cpu_single : blocked_cpu_other);
    if (more) return;
    end_missing(k);
    if (at_rest) p->unchanged_cpu = cpu, p->unchanged_round = k->r->number;
}

/* A process that used no CPU time since all of its threads were unchanged has the same threads with
 * the same stacks.  One read of the clock replaces a dozen reads in /proc. */
static bool take_unchanged(const round_turn *k)
{
    process *p = k->p;
    bool known = p->unchanged_cpu && p->unchanged_round + 1 == k->r->number;
    if (!known || blocked_cpu_single(-1, p->pid) != p->unchanged_cpu) return false;
    p->unchanged_round = k->r->number;
    for (size_t i = 0; i < p->threads.n; i++) {
        process_thread *t = &p->threads.v[i];
        if (!t->about.tid || t->round + 1 != k->r->number) continue;
        t->round = k->r->number;
        if (!name_excluded(t->about.name, k->w->o->exclude)) put_waiting(k, t, t->rest, true);
    }
    return true;
}

static void take_process(const rounds *r, process_world *w, process *p, uint64_t value)
{
    char path[64];
    round_turn k = {w, p, r, clock_ns(CLOCK_REALTIME), value};
    if (p->batch && batch_full(p->batch)) process_flush(w, p, false);
    if (!prepare(r, w, p) || take_unchanged(&k)) return;
    snprintf(path, sizeof path, "/proc/%u/task", p->pid);
    int tasks = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (tasks < 0) return;
    scan_threads(&k, tasks);
    close(tasks);
}

/* Returns whether the process still owns its slot: after an exec the process id belongs to another
 * program. */
static bool has_slot(const process *p)
{
    return proc_slot_state_of(atomic_load(&p->d->word)) == PROC_SLOT_TAKEN;
}

void rounds_take(rounds *r, process_world *w, process *const *at, size_t n)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    if (now < r->due) return;
    uint64_t late = (now - r->due) / r->interval;
    r->due += (late + 1) * r->interval;
    r->number++;
    w->sums->capture.wall_rounds++;
    w->sums->capture.wall_late += late;
    for (size_t i = 0; i < n; i++) {
        if (!at[i] || at[i]->other_namespace || !has_slot(at[i])) continue;
        uint64_t value = (late + 1) * r->interval, age = now - at[i]->opened_at;
        if (age < r->interval) age = r->interval;
        take_process(r, w, at[i],
                     value < age ? value
                                 : age); /* the process did not exist in all of the missed rounds */
    }
}

/* ---- running threads ---- */

void rounds_settle(process_world *w, process *p, process_thread *t, const agent_sample *cpu)
{
    wall_history *s = t->rest;
    if (!s || !s->pending) return;
    round_turn k = {.w = w, .p = p};
    agent_sample out = *cpu;
    out.value = (int64_t)s->pending;
    s->pending = 0;
    count(&k, push(&k, t, &out));
}

/* Adds the remaining wall-clock time of a thread for which no CPU sample will come. */
static void rounds_settle_ended(process_world *w, process *p, process_thread *t)
{
    const wall_history *s = t->rest;
    if (!s || !s->pending || !process_batch(p)) return;
    agent_sample none = {.time = clock_ns(CLOCK_REALTIME), .state = 'R'};
    bool known = t->last && p->batch->samples.v[t->last - 1].kind == SAMPLE_CPU;
    if (known) none = p->batch->samples.v[t->last - 1];
    if (known || batch_stack(p->batch, NULL, 0, UNWIND_WHOLE, false, &none.stack))
        rounds_settle(w, p, t, &none);
}

void rounds_settle_all(process_world *w, process *p)
{
    for (size_t i = 0; i < p->threads.n; i++) rounds_settle_ended(w, p, &p->threads.v[i]);
}

void rounds_forget(rounds *r, process *p)
{
    (void)r;
    foreign_close(p->tables);
    p->tables = NULL;
}
