/* One process of a run: turns its records into samples of a batch, accounts for its CPU time, and
 * builds its profiles. */
#include "collect/process.h"

#include "agent/exclude.h"
#include "collect/rounds.h"
#include "base/utf8.h"
#include "sys/entropy.h"
#include "sys/process.h"
#include "wire/otlp.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include "base/ban.h"

enum {
    PROCESS_BYTES = 32 << 20, /* memory for the threads of a process */
    BATCH_BYTES = 8 << 20,
    HEAP_BYTES = 64 << 20,
    FLUSH_BYTES = 256 << 20,
    READ_MAPS_NS = 100 * 1000000, /* minimum time between reads of /proc/PID/maps */
    PERIOD_MAX = 1000000000,      /* maximum ns between CPU samples */
};

/* Limit of CPU times, so that sums of a few of them do not overflow. */
#define CPU_MAX (UINT64_C(1) << 60)

/* ---- open ---- */

static str keep(arena *a, str s)
{
    char *p = arena_alloc(a, s.n + 1);
    if (!p) return STR("");
    if (s.n) memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    return (str){p, s.n};
}

/* Reads the mappings in the process slot, for a process that ended before /proc could be read. */
static void take_maps(process *p)
{
    map_record m;
    str path, id;
    p->mapped = true;
    for (uint32_t at = 0; proc_slot_next_map(p->d, &at, &m, &path, &id);) {
        image x = {
            .start = m.start, .end = m.end, .offset = m.offset, .born = p->start, .path = path};
        if (id.n <= BUILD_ID_BYTES_MAX) hex_encode((const uint8_t *)id.p, id.n, x.gnu);
        if (m.end > m.start && !images_put(&p->images, &x)) return;
    }
}

static uint32_t pid_outside(uint32_t inner, uint64_t pid_namespace);

process *process_open(const process_world *w, const proc_slot *d, uint32_t at, uint64_t word)
{
    process *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    *p = (process){.pid = proc_slot_pid(word),
                   .d = d,
                   .proc_slot = at,
                   .generation = proc_slot_generation(word),
                   .forked = d->parent != 0,
                   .other_namespace = d->pid_namespace != w->pid_namespace,
                   .pid_namespace = d->pid_namespace,
                   .opened_at = w->now,
                   .sampled_at = w->now,
                   .start = d->time,
                   .cpu_begin = d->cpu_begin,
                   .thread_begin = d->thread_begin,
                   .period = atomic_load(&d->period),
                   .flushed_at = w->now,
                   .mem = {.budget = PROCESS_BYTES},
                   .facts = w->facts};
    if (p->period > PERIOD_MAX) p->period = PERIOD_MAX;
    p->proc = p->other_namespace ? pid_outside(p->pid, p->pid_namespace) : p->pid;
    p->images.pid = (int)p->proc;
    p->program = keep(&p->mem, (str){d->program, strnlen(d->program, sizeof d->program)});
    p->facts.pid = p->pid;
    p->facts.program = p->program;
    uint64_t id[2] = {entropy_u64(), entropy_u64()};
    memcpy(p->facts.instance, id, sizeof id);
    return p;
}

void process_close(process *p)
{
    if (!p) return;
    batch_close(p->batch);
    batch_close(p->heap_stacks);
    free(p->heap_of);
    images_close(&p->images);
    published_free(&p->published);
    arena_free(&p->mem);
    free(p);
}

/* ---- /proc ---- */

/* Returns whether `inner` is the innermost id in a line "NSpid:\t4711\t3": the ids of a process,
 * from kiln's namespace inwards. */
static bool has_inner(str status, uint32_t inner)
{
    static const char key[] = "\nNSpid:";
    const char *from = status.n ? memmem(status.p, status.n, key, sizeof key - 1) : NULL;
    const char *end = from ? strchr(from + 1, '\n') : NULL;
    const char *last = end ? memrchr(from, '\t', (size_t)(end - from)) : NULL;
    return last && strtoul(last + 1, NULL, 10) == inner;
}

static bool is_pid_outside(const char *name, uint32_t inner, uint64_t pid_namespace)
{
    char path[300], text[4096];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%s/ns/pid", name);
    if (stat(path, &st) != 0 || st.st_ino != pid_namespace) return false;
    snprintf(path, sizeof path, "/proc/%s/status", name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0 && has_inner((str){text, (size_t)n}, inner);
}

/* Returns the id in kiln's /proc of a process with id `inner` in another pid namespace; 0: not
 * found. */
static uint32_t pid_outside(uint32_t inner, uint64_t pid_namespace)
{
    DIR *d = pid_namespace ? opendir("/proc") : NULL;
    uint32_t found = 0;
    for (struct dirent *x; d && !found && (x = readdir(d));)
        if (x->d_name[0] >= '1' && x->d_name[0] <= '9' &&
            is_pid_outside(x->d_name, inner, pid_namespace))
            found = (uint32_t)strtoul(x->d_name, NULL, 10);
    if (d) closedir(d);
    return found;
}

void process_read_maps(process_world *w, process *p)
{
    if (!p->proc || (p->maps_read_at && w->now - p->maps_read_at < READ_MAPS_NS)) return;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    uint64_t now = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
    p->maps_read_at = w->now;
    p->maps_read = images_refresh(&p->images, p->maps_read ? now : p->start, NULL) || p->maps_read;
    if (p->maps_read && p->images.published && !p->published.has)
        published_read(&p->published, p->proc, p->images.published);
}

void process_follow(process_world *w, process *p, bool urgent)
{
    if (!p->maps_read) return;
    if (p->published.has) {
        if (!urgent && w->now - p->followed_at < READ_MAPS_NS) return;
        p->followed_at = w->now;
        return published_refresh(&p->published, p->proc);
    }
    bool first = urgent && !p->spans;
    p->spans |= urgent;
    uint64_t pause = READ_MAPS_NS + (p->maps_read_at - p->opened_at);
    if (!first && w->now - p->maps_read_at < pause) return;
    p->maps_read_at = 0;
    process_read_maps(w, p);
}

static void describe(process *p, process_thread *t)
{
    char path[64], text[1024];
    task_stat s;
    if (p->other_namespace) return;
    snprintf(path, sizeof path, "/proc/%u/task", p->pid);
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0) return;
    if (task_stat_parse(task_read(dir, t->about.tid, "stat", text, sizeof text), &s)) {
        t->about.start_ticks = s.start_ticks;
        t->about.os_prio = s.os_prio;
        memcpy(t->about.name, s.name, sizeof s.name);
        t->seen = true;
    }
    close(dir);
}

/* ---- threads ---- */

/* Reuses the entry of an ended thread, so that a process with many short threads does not grow. */
static process_thread *new_thread(process *p)
{
    for (size_t i = 0; p->n_ended && i < p->threads.n; i++)
        if (!p->threads.v[i].about.tid) return p->n_ended--, &p->threads.v[i];
    return vec_push(&p->mem, &p->threads);
}

static process_thread *find_thread(process *p, uint32_t tid)
{
    for (size_t i = 0, n = p->threads.n; i < n; i++) {
        /* rounds look up threads in the order in which they were added */
        size_t at = (p->hint + i) % n;
        if (p->threads.v[at].about.tid != tid) continue;
        p->hint = at + 1;
        return &p->threads.v[at];
    }
    return NULL;
}

process_thread *process_thread_of(process *p, uint32_t tid)
{
    process_thread *t = find_thread(p, tid);
    if (t) return t;
    if (!(t = new_thread(p))) return NULL;
    wall_history *rest = t->rest; /* history of an ended thread, whose memory is reused */
    *t = (process_thread){.about = {.tid = tid, .index = ++p->next_index}, .rest = rest};
    if (rest) *rest = (wall_history){.raw = rest->raw};
    if (tid == p->pid) t->begin = p->thread_begin;
    str base = p->program;
    const char *slash = base.n ? memrchr(base.p, '/', base.n) : NULL;
    if (slash) base = (str){slash + 1, (size_t)(base.p + base.n - slash - 1)};
    task_name_clean((str){base.p, base.n > 15 ? 15 : base.n}, t->about.name);
    describe(p, t);
    return t;
}

void process_thread_end(process *p, process_thread *t)
{
    t->about.tid = 0;
    p->n_ended++;
}

/* ---- samples ---- */

batch *process_batch(process *p)
{
    if (!p->batch && (p->batch = batch_open(BATCH_BYTES, p->pid))) p->batch->start = p->start;
    return p->batch;
}

/* The first sample of a thread represents all of its CPU time so far, later ones represent
 * periods. */
static uint64_t value_of(const process *p, const process_thread *t, const raw_sample *raw)
{
    if (raw->cpu > t->begin && !t->accounted) return raw->cpu - t->begin;
    uint32_t weight = raw->weight ? raw->weight : 1;
    return weight * p->period;
}

static bool put_sample(process_world *w, process *p, process_thread *t, const raw_sample *raw)
{
    batch *b = process_batch(p);
    uint64_t value = value_of(p, t, raw), ahead = t->ahead < value ? t->ahead : value;
    t->ahead -= ahead; /* an exec has failed: take_end has counted the time until then */
    value -= ahead;
    agent_sample out = {
        .time = raw->time, .value = (int64_t)value, .kind = SAMPLE_CPU, .state = 'R'};
    if (!b || !batch_stack(b, raw->pcs, raw->n, raw->end, true, &out.stack) ||
        !batch_thread(b, &t->about, &out.thread) || !batch_context(raw, b, &out))
        return false;
    agent_sample *added = vec_push(&b->mem, &b->samples);
    if (!added) return false;
    *added = out;
    t->last = b->samples.n;
    t->accounted += value;
    rounds_settle(w, p, t, &out);
    w->sums->sampled += value;
    return true;
}

/* Returns whether the process context has to be read.  Ids need no attribute names, but the process
 * context also has the resource. */
static bool needs_context(const process *p, const raw_sample *raw)
{
    size_t n = raw->span.n_attrs <= sizeof raw->span.attrs ? raw->span.n_attrs : 0;
    return raw->in_context &&
           (!p->published.has || !published_names(&p->published, raw->span.attrs, n));
}

static void read_maps_if_unknown(process_world *w, process *p, const raw_sample *raw)
{
    if (!p->maps_read) process_read_maps(w, p);
    if (!p->maps_read && !p->mapped) take_maps(p);
    process_follow(w, p, needs_context(p, raw));
    for (size_t i = 0; i < raw->n; i++)
        if (!images_find(&p->images, raw->pcs[i], 0)) return process_read_maps(w, p);
}

static bool take_sample(process_world *w, process *p, const raw_sample *raw)
{
    capture_counts *n = &w->sums->capture;
    process_thread *t = process_thread_of(p, raw->tid);
    if (!t) return false;
    t->fresh = true;
    t->about.pthread = raw->pthread;
    if (name_excluded(t->about.name, w->o->exclude)) return true;
    read_maps_if_unknown(w, p, raw);
    n->guessed += raw->guesses;
    n->truncated += raw->end == UNWIND_CAPPED;
    n->broken += raw->end > UNWIND_CAPPED;
    if (p->batch && batch_full(p->batch)) process_flush(w, p, false);
    if (put_sample(w, p, t, raw))
        n->cpu_samples++;
    else
        n->batch_full++;
    return true;
}

/* Adds the CPU time after a thread's last sample, which is less than a period, to that sample,
 * because its stack is the best estimate. */
static void take_end(process_world *w, process *p, const raw_sample *raw)
{
    process_thread *t = find_thread(p, raw->tid);
    if (!t) return;
    char name[sizeof raw->name + 1] = "";
    memcpy(name, raw->name, sizeof raw->name);
    if (name[0]) task_name_clean(str_of(name), t->about.name);
    uint64_t used = raw->cpu > t->begin ? raw->cpu - t->begin : 0;
    if (used > t->accounted && t->last) {
        uint64_t rest = used - t->accounted;
        p->batch->samples.v[t->last - 1].value += (int64_t)rest;
        t->accounted = used;
        t->ahead += rest;
        w->sums->sampled += rest;
        w->sums->remainder += rest;
    }
    for (size_t i = 0; name[0] && p->batch && i < p->batch->threads.n; i++)
        if (p->batch->threads.v[i].index == t->about.index)
            memcpy(p->batch->threads.v[i].name, t->about.name, sizeof t->about.name);
    if (t->last) rounds_settle(w, p, t, &p->batch->samples.v[t->last - 1]);
    if (raw->kind == RAW_THREAD_END) process_thread_end(p, t);
}

/* ---- heap ---- */

static heap_total *heap_at(process *p, uint32_t stack)
{
    if (stack >= p->n_heap_of) {
        size_t n = stack < 512 ? 1024 : 2 * (size_t)stack;
        uint32_t *v = realloc(p->heap_of, n * sizeof *v);
        if (!v) return NULL;
        memset(v + p->n_heap_of, 0, (n - p->n_heap_of) * sizeof *v);
        p->heap_of = v;
        p->n_heap_of = n;
    }
    if (!p->heap_of[stack]) {
        heap_total *h = vec_push(&p->heap_stacks->mem, &p->heap);
        if (!h) return NULL;
        *h = (heap_total){.stack = stack};
        p->heap_of[stack] = (uint32_t)p->heap.n;
    }
    return &p->heap.v[p->heap_of[stack] - 1];
}

static bool take_heap(process_world *w, process *p, const raw_sample *raw)
{
    uint32_t stack;
    if (!p->heap_stacks) p->heap_stacks = batch_open(HEAP_BYTES, p->pid);
    read_maps_if_unknown(w, p, raw);
    heap_total *h =
        p->heap_stacks && batch_stack(p->heap_stacks, raw->pcs, raw->n, raw->end, true, &stack)
            ? heap_at(p, stack)
            : NULL;
    if (!h) return false;
    memcpy(h->v, raw->heap, sizeof h->v);
    return true;
}

static bool heap_rows_of(process_world *w, process *p, arena *a, heap_rows *out)
{
    *out = (heap_rows){.interval = w->o->heap_bytes};
    for (size_t i = 0; i < p->heap.n; i++) {
        const heap_total *h = &p->heap.v[i];
        const agent_stack *s = &p->heap_stacks->stacks.v[h->stack];
        heap_row *r = vec_push(a, &out->v);
        if (!r) return false;
        *r = (heap_row){.pcs = &p->heap_stacks->pcs.v[s->first],
                        .n = s->n,
                        .end = s->end,
                        .alloc_objects = h->v[0],
                        .alloc_space = h->v[1],
                        .inuse_objects = h->v[2],
                        .inuse_space = h->v[3]};
    }
    return out->v.n > 0;
}

static bool is_sane(const process_world *w, const process *p, const raw_sample *raw)
{
    if (raw->n > w->o->max_frames || raw->cpu > CPU_MAX || raw->weight * p->period > CPU_MAX)
        return false;
    return raw->tid || raw->kind == RAW_HEAP;
}

bool process_take(process_world *w, process *p, const raw_sample *raw)
{
    if (!is_sane(w, p, raw)) return false;
    p->sampled_at = w->now;
    switch (raw->kind) {
    case RAW_SAMPLE: return take_sample(w, p, raw);
    case RAW_THREAD_END:
    case RAW_PROCESS_END: return take_end(w, p, raw), true;
    case RAW_HEAP: return take_heap(w, p, raw);
    default: return false;
    }
}

/* ---- delivery ---- */

static bool make(process_world *w, process *p, const heap_rows *heap, arena *a, buf *out, err *e)
{
    model m;
    struct timespec t, up;
    clock_gettime(CLOCK_REALTIME, &t), clock_gettime(CLOCK_BOOTTIME, &up);
    uint64_t now = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
    profiles_in in = {.batch = p->batch,
                      .images = &p->images,
                      .keys = p->published.context.keys,
                      .n_keys = p->published.context.n_keys,
                      .heap = heap,
                      .cpu_hz = w->o->cpu_hz,
                      .wall_ns = w->o->wall_ns,
                      .ticks = (uint64_t)sysconf(_SC_CLK_TCK),
                      .now = now};
    in.boot = now - ((uint64_t)up.tv_sec * 1000000000 + (uint64_t)up.tv_nsec);
    p->batch->end = now;
    return resource_make(w->o->config, &p->facts,
                         p->published.has ? &p->published.context.resource : NULL, a,
                         &in.resource) &&
           profiles_make(&in, a, &m, e) &&
           (!w->o->name || !m.profiles.n || w->o->name(w->o->ctx, &m, a, e)) &&
           (!m.profiles.n || otlp_encode(&m, &(otlp_encode_opts){0}, out, e));
}

/* Updates names that threads have changed since their first sample. */
static void rename_threads(process *p)
{
    for (size_t i = 0; i < p->threads.n; i++) {
        process_thread *t = &p->threads.v[i];
        if (!t->about.tid || !t->last) continue;
        describe(p, t);
        for (size_t k = 0; k < p->batch->threads.n; k++)
            if (p->batch->threads.v[k].index == t->about.index)
                memcpy(p->batch->threads.v[k].name, t->about.name, sizeof t->about.name);
    }
}

void process_flush(process_world *w, process *p, bool last)
{
    arena a = {.budget = FLUSH_BYTES};
    buf bytes = {0};
    err e = {0};
    heap_rows heap;
    p->flushed_at = w->now;
    if (last) rounds_settle_all(w, p);
    bool has_heap = last && p->heap.n && heap_rows_of(w, p, &a, &heap);
    if ((!p->batch || !p->batch->samples.n) && !has_heap) return;
    if (!process_batch(p)) return;
    rename_threads(p);
    if (!make(w, p, has_heap ? &heap : NULL, &a, &bytes, &e)) {
        w->sums->failed++;
        w->sums->capture.batch_full += p->batch->samples.n;
        buf_free(&bytes);
    } else if (bytes.n) {
        w->o->profile(w->o->ctx, p->pid, &bytes);
    }
    uint64_t end = p->batch->end;
    batch_close(p->batch);
    p->batch = NULL;
    p->start = end;
    for (size_t i = 0; i < p->threads.n; i++) p->threads.v[i].last = 0;
    if (!p->heap.n) { /* kept for the heap, whose stacks may be as old as the program */
        images_forget(&p->images, end, true);
        p->tables_of = SIZE_MAX;
    }
    arena_free(&a);
}
