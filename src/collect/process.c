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
    PROCESS_BYTES = 32 << 20, /* threads of a process */
    BATCH_BYTES = 8 << 20,
    HEAP_BYTES = 64 << 20,
    FLUSH_BYTES = 256 << 20,
    LOOK_NS = 100 * 1000000, /* between looks at /proc/PID/maps */
    PERIOD_MAX = 1000000000, /* ns between CPU samples */
};

/* No thread has used more CPU time, and sums of a few of these fit their type. */
#define CPU_MAX (UINT64_C(1) << 60)

/* ---- opening ---- */

static str keep(arena *a, str s)
{
    char *p = arena_alloc(a, s.n + 1);
    if (!p) return STR("");
    if (s.n) memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    return (str){p, s.n};
}

/* What the probe wrote down, of a process that was gone before anybody looked in /proc. */
static void take_maps(process *p)
{
    map_record m;
    str path, id;
    p->mapped = true;
    for (uint32_t at = 0; desk_next_map(p->d, &at, &m, &path, &id);) {
        image x = {
            .start = m.start, .end = m.end, .offset = m.offset, .born = p->start, .path = path};
        if (id.n <= BUILD_ID_BYTES_MAX) hex_encode((const uint8_t *)id.p, id.n, x.gnu);
        if (m.end > m.start && !images_put(&p->images, &x)) return;
    }
}

static uint32_t process_outer(uint32_t inner, uint64_t numbers);

process *process_open(const process_world *w, const desk *d, uint32_t at, uint64_t word)
{
    process *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    *p = (process){.pid = desk_pid(word),
                   .d = d,
                   .desk = at,
                   .generation = desk_generation(word),
                   .forked = d->parent != 0,
                   .apart = d->numbers != w->numbers,
                   .numbers = d->numbers,
                   .met_at = w->now,
                   .sampled_at = w->now,
                   .start = d->time,
                   .cpu_begin = d->cpu_begin,
                   .thread_begin = d->thread_begin,
                   .period = atomic_load(&d->period),
                   .flushed_at = w->now,
                   .mem = {.budget = PROCESS_BYTES},
                   .facts = w->facts};
    if (p->period > PERIOD_MAX) p->period = PERIOD_MAX;
    p->proc = p->apart ? process_outer(p->pid, p->numbers) : p->pid;
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
    batch_close(p->heap_book);
    free(p->heap_of);
    images_close(&p->images);
    published_free(&p->published);
    arena_free(&p->mem);
    free(p);
}

/* ---- /proc ---- */

/* "NSpid:\t4711\t3": its numbers, from our namespace inwards. */
static bool has_inner(str status, uint32_t inner)
{
    static const char key[] = "\nNSpid:";
    const char *from = status.n ? memmem(status.p, status.n, key, sizeof key - 1) : NULL;
    const char *end = from ? strchr(from + 1, '\n') : NULL;
    const char *last = end ? memrchr(from, '\t', (size_t)(end - from)) : NULL;
    return last && strtoul(last + 1, NULL, 10) == inner;
}

static bool is_outer(const char *name, uint32_t inner, uint64_t numbers)
{
    char path[300], text[4096];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%s/ns/pid", name);
    if (stat(path, &st) != 0 || st.st_ino != numbers) return false;
    snprintf(path, sizeof path, "/proc/%s/status", name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0 && has_inner((str){text, (size_t)n}, inner);
}

/* The number in our /proc of a process that has number `inner` in another pid namespace; 0: it is not there. */
static uint32_t process_outer(uint32_t inner, uint64_t numbers)
{
    DIR *d = numbers ? opendir("/proc") : NULL;
    uint32_t found = 0;
    for (struct dirent *x; d && !found && (x = readdir(d));)
        if (x->d_name[0] >= '1' && x->d_name[0] <= '9' && is_outer(x->d_name, inner, numbers))
            found = (uint32_t)strtoul(x->d_name, NULL, 10);
    if (d) closedir(d);
    return found;
}

void process_look(process_world *w, process *p)
{
    if (!p->proc || (p->looked_at && w->now - p->looked_at < LOOK_NS)) return;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    uint64_t now = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
    p->looked_at = w->now;
    p->looked = images_refresh(&p->images, p->looked ? now : p->start, NULL) || p->looked;
    if (p->looked && p->images.published && !p->published.has)
        published_read(&p->published, p->proc, p->images.published);
}

void process_follow(process_world *w, process *p, bool urgent)
{
    if (!p->looked) return;
    if (p->published.has) {
        if (!urgent && w->now - p->followed_at < LOOK_NS) return;
        p->followed_at = w->now;
        return published_refresh(&p->published, p->proc);
    }
    bool first = urgent && !p->spans;
    p->spans |= urgent;
    uint64_t pause = LOOK_NS + (p->looked_at - p->met_at);
    if (!first && w->now - p->looked_at < pause) return;
    p->looked_at = 0;
    process_look(w, p);
}

static void describe(process *p, process_thread *t)
{
    char path[64], text[1024];
    task_stat s;
    if (p->apart) return;
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

/* The place of one that ended, so that a process of many short threads does not grow. */
static process_thread *new_thread(process *p)
{
    for (size_t i = 0; p->n_ended && i < p->threads.n; i++)
        if (!p->threads.v[i].about.tid) return p->n_ended--, &p->threads.v[i];
    return vec_push(&p->mem, &p->threads);
}

static process_thread *find_thread(process *p, uint32_t tid)
{
    for (size_t i = 0, n = p->threads.n; i < n; i++) {
        size_t at = (p->hint + i) % n; /* rounds ask in the order in which threads were added */
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
    wall_rest *rest = t->rest; /* of one that ended: its memory */
    *t = (process_thread){.about = {.tid = tid, .index = ++p->next_index}, .rest = rest};
    if (rest) *rest = (wall_rest){.raw = rest->raw};
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

bool process_put_context(const raw_sample *raw, batch *b, agent_sample *out)
{
    agent_link l;
    if (!raw->in_context) return true;
    if (raw->span.has_ids) {
        memcpy(l.trace_id, raw->span.trace_id, sizeof l.trace_id);
        memcpy(l.span_id, raw->span.span_id, sizeof l.span_id);
        if (!batch_link(b, &l, &out->link)) return false;
    }
    if (raw->span.n_attrs > sizeof raw->span.attrs) return true;
    return batch_attrs(b, raw->span.attrs, raw->span.n_attrs, &out->attrs);
}

/* The first sample of a thread stands for all of its time so far, later ones for periods. */
static uint64_t value_of(const process *p, const process_thread *t, const raw_sample *raw)
{
    if (raw->cpu > t->begin && !t->told) return raw->cpu - t->begin;
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
        !batch_thread(b, &t->about, &out.thread) || !process_put_context(raw, b, &out))
        return false;
    agent_sample *added = vec_push(&b->mem, &b->samples);
    if (!added) return false;
    *added = out;
    t->last = b->samples.n;
    t->told += value;
    rounds_settle(w, p, t, &out);
    w->sums->sampled += value;
    return true;
}

/* Ids alone need no names; the context is there all the same, and has the resource. */
static bool needs_context(const process *p, const raw_sample *raw)
{
    size_t n = raw->span.n_attrs <= sizeof raw->span.attrs ? raw->span.n_attrs : 0;
    return raw->in_context &&
           (!p->published.has || !published_names(&p->published, raw->span.attrs, n));
}

static void look_if_unknown(process_world *w, process *p, const raw_sample *raw)
{
    if (!p->looked) process_look(w, p);
    if (!p->looked && !p->mapped) take_maps(p);
    process_follow(w, p, needs_context(p, raw));
    for (size_t i = 0; i < raw->n; i++)
        if (!images_find(&p->images, raw->pcs[i], 0)) return process_look(w, p);
}

static bool take_sample(process_world *w, process *p, const raw_sample *raw)
{
    capture_counts *n = &w->sums->capture;
    process_thread *t = process_thread_of(p, raw->tid);
    if (!t) return false;
    t->fresh = true;
    t->about.pthread = raw->pthread;
    if (name_excluded(t->about.name, w->o->exclude)) return true;
    look_if_unknown(w, p, raw);
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

/* Time behind its last sample, less than a period, is counted to that sample's stack: where it was is the best guess of
 * where it went on. */
static void take_end(process_world *w, process *p, const raw_sample *raw)
{
    process_thread *t = find_thread(p, raw->tid);
    if (!t) return;
    char name[sizeof raw->name + 1] = "";
    memcpy(name, raw->name, sizeof raw->name);
    if (name[0]) task_name_clean(str_of(name), t->about.name);
    uint64_t used = raw->cpu > t->begin ? raw->cpu - t->begin : 0;
    if (used > t->told && t->last) {
        uint64_t rest = used - t->told;
        p->batch->samples.v[t->last - 1].value += (int64_t)rest;
        t->told = used;
        t->ahead += rest;
        w->sums->sampled += rest;
        w->sums->remainder += rest;
    }
    for (size_t i = 0; name[0] && p->batch && i < p->batch->threads.n; i++)
        if (p->batch->threads.v[i].index == t->about.index)
            memcpy(p->batch->threads.v[i].name, t->about.name, sizeof t->about.name);
    if (t->last) rounds_settle(w, p, t, &p->batch->samples.v[t->last - 1]);
    if (raw->kind == RAW_END) process_thread_end(p, t);
}

/* ---- the heap ---- */

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
        heap_total *h = vec_push(&p->heap_book->mem, &p->heap);
        if (!h) return NULL;
        *h = (heap_total){.stack = stack};
        p->heap_of[stack] = (uint32_t)p->heap.n;
    }
    return &p->heap.v[p->heap_of[stack] - 1];
}

static bool take_heap(process_world *w, process *p, const raw_sample *raw)
{
    uint32_t stack;
    if (!p->heap_book) p->heap_book = batch_open(HEAP_BYTES, p->pid);
    look_if_unknown(w, p, raw);
    heap_total *h =
        p->heap_book && batch_stack(p->heap_book, raw->pcs, raw->n, raw->end, true, &stack)
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
        const agent_stack *s = &p->heap_book->stacks.v[h->stack];
        heap_row *r = vec_push(a, &out->v);
        if (!r) return false;
        *r = (heap_row){.pcs = &p->heap_book->pcs.v[s->first],
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
    case RAW_END:
    case RAW_FAREWELL: return take_end(w, p, raw), true;
    case RAW_HEAP: return take_heap(w, p, raw);
    default: return false;
    }
}

/* ---- handing on ---- */

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
           (!w->o->name || !m.profiles.n || w->o->name(w->o->who, &m, a, e)) &&
           (!m.profiles.n || otlp_encode(&m, &(otlp_encode_opts){0}, out, e));
}

/* Names that threads gave themselves since their first sample. */
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
        w->o->profile(w->o->who, p->pid, &bytes);
    }
    uint64_t end = p->batch->end;
    batch_close(p->batch);
    p->batch = NULL;
    p->start = end;
    for (size_t i = 0; i < p->threads.n; i++) p->threads.v[i].last = 0;
    if (!p->heap.n) { /* whose stacks may be as old as the program */
        images_forget(&p->images, end, true);
        p->tables_of = SIZE_MAX;
    }
    arena_free(&a);
}
