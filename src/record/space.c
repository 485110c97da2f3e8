/* One recorded process: reads what /proc knows about it while it runs, and keeps what the kernel
 * reported for the time after its end. */
#include "record/space.h"

#include "agent/task.h"
#include "base/time.h"
#include "base/utf8.h"
#include "span/environment.h"
#include "sys/entropy.h"
#include "sys/process.h"
#include "unwind/foreign.h"
#include "wire/host.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/ban.h"

enum {
    SPACE_BYTES = 16 << 20,
    BATCH_BYTES = 2 << 20,
    READ_MAPS_NS = 100 * 1000000, /* least time between readings of /proc/PID/maps */
    TEXT_BYTES = 64 << 10,        /* of the environment that is read */
    STATUS_BYTES = 1 << 20,       /* a process may have 65536 groups */
    THREADS_KEPT = 1024,          /* with fewer, threads that ended stay */
};

#define KEEP_THREAD_NS (5 * NS_PER_S) /* events may arrive after the end */

/* Least and largest time between two looks for a process context. */
#define LOOK_MIN_NS (45 * NS_PER_MS)
#define LOOK_MAX_NS (5 * NS_PER_S)

space *space_open(uint32_t pid, uint64_t time)
{
    space *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    *s = (space){.pid = pid,
                 .inner_pid = pid,
                 .seen_at = time,
                 .mapped_at = time,
                 .start = time,
                 .root = -1,
                 .mem = {.budget = SPACE_BYTES},
                 .images = {.pid = (int)pid}};
    return s;
}

void space_close(space *s)
{
    if (!s) return;
    batch_close(s->batch);
    space_drop_rules(s);
    images_close(&s->images);
    published_free(&s->published);
    if (s->root >= 0) close(s->root);
    arena_free(&s->mem);
    free(s);
}

/* ---- /proc ---- */

static str read_proc(space *s, arena *a, const char *name, size_t most)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/%s", s->pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *p = fd >= 0 ? arena_alloc(a, most + 1) : NULL;
    size_t n = 0;
    for (ssize_t k = 1; p && n < most && k > 0; n += k > 0 ? (size_t)k : 0)
        k = read(fd, p + n, most - n);
    if (fd >= 0) close(fd);
    if (!p) return STR("");
    p[n] = '\0';
    arena_trim(a, p, most + 1, n + 1);
    return (str){p, n};
}

/* Returns the value of a variable in the text of /proc/PID/environ; NULL: not set. */
static const char *variable(str environment, const char *name)
{
    size_t len = strlen(name);
    for (size_t at = 0; at < environment.n;) {
        const char *p = environment.p + at;
        size_t n = strnlen(p, environment.n - at);
        if (n > len && p[len] == '=' && !memcmp(p, name, len)) return p + len + 1;
        at += n + 1;
    }
    return NULL;
}

static void read_program(space *s)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/%u/exe", s->pid);
    ssize_t n = readlink(link, path, sizeof path);
    static const char gone[] = " (deleted)";
    if (n > (ssize_t)sizeof gone && !memcmp(path + n - (sizeof gone - 1), gone, sizeof gone - 1))
        n -= (ssize_t)sizeof gone - 1;
    char *p = n > 0 ? arena_alloc(&s->mem, (size_t)n) : NULL;
    if (!p) return;
    memcpy(p, path, (size_t)n);
    s->facts.program = (str){p, (size_t)n};
}

/* Opens the root directory of a process that has another one: a container.  The descriptor stays
 * valid after the process has ended. */
static void open_root(space *s)
{
    char path[64];
    struct stat own, other;
    snprintf(path, sizeof path, "/proc/%u/root", s->pid);
    if (stat("/", &own) != 0 || stat(path, &other) != 0) return;
    char mine[64] = "", theirs[64] = "", link[64];
    snprintf(link, sizeof link, "/proc/%u/ns/mnt", s->pid);
    ssize_t a = readlink("/proc/self/ns/mnt", mine, sizeof mine - 1),
            b = readlink(link, theirs, sizeof theirs - 1);
    bool same = own.st_dev == other.st_dev && own.st_ino == other.st_ino &&
                (a <= 0 || b <= 0 || !strcmp(mine, theirs));
    if (!same) s->root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Sets the id in the innermost pid namespace, from a line "NSpid:\t4711\t3". */
static void read_status(space *s)
{
    arena a = {.budget = 2 * STATUS_BYTES};
    str text = read_proc(s, &a, "status", STATUS_BYTES);
    const char *ids = text.n ? strstr(text.p, "\nNSpid:") : NULL;
    const char *end = ids ? strchr(ids + 1, '\n') : NULL;
    const char *last = end ? memrchr(ids, '\t', (size_t)(end - ids)) : NULL;
    if (last) s->inner_pid = (uint32_t)strtoul(last + 1, NULL, 10);
    arena_free(&a);
}

void space_describe(space *s, space_world *w)
{
    if (s->opened) return;
    s->opened = true;
    s->facts = w->facts;
    s->facts.program = STR("");
    s->facts.pid = s->pid;
    s->config = *w->config;
    read_status(s);
    s->kernel_thread = process_is_kernel_thread(s->pid);
    read_program(s);
    open_root(s);
    str environment = read_proc(s, &s->mem, "environ", TEXT_BYTES);
    const char *name = variable(environment, "OTEL_SERVICE_NAME"),
               *attributes = variable(environment, "OTEL_RESOURCE_ATTRIBUTES");
    if (name && *name) s->config.service_name = name;
    if (attributes && environment_valid(attributes)) s->config.resource = attributes;
    s->facts.cgroup = container_id_of(read_proc(s, &s->mem, "cgroup", 4096));
    uint64_t id[2] = {entropy_u64(), entropy_u64()};
    memcpy(s->facts.instance, id, sizeof id);
}

/* ---- mappings ---- */

static void read_published(space *s)
{
    bool had = s->published.has;
    if (!s->images.published) return;
    if (had)
        published_refresh(&s->published, s->pid);
    else
        published_read(&s->published, s->pid, s->images.published);
    if (s->published.has != had) s->published_in_bpf = false; /* the place of its spans */
}

/* The rules, and the mappings that BPF programs have, are out of date. */
static void changed(space *s)
{
    s->changes++;
    s->published_in_bpf = false;
}

static bool read_maps(space *s, space_world *w)
{
    if (s->ended_at) return false;
    s->active = false;
    size_t before = s->images.v.n;
    uint64_t gone = 0, after = 0;
    for (size_t i = 0; i < before; i++) gone += s->images.v.v[i].gone != 0;
    bool first = !s->maps_at;
    s->maps_at = w->now;
    /* Samples that are older than the reading belong to the same mappings. */
    uint64_t born = first ? s->mapped_at : w->now;
    err e = {0};
    bool ok = images_refresh(&s->images, born, &e);
    if (!ok && e.code == ERR_MEMORY) {
        w->mappings_lost += space_forget_maps(s, w->now);
        ok = images_refresh(&s->images, born, &e);
        w->mappings_lost += !ok;
    }
    if (!ok) return false;
    for (size_t i = 0; i < s->images.v.n; i++) after += s->images.v.v[i].gone != 0;
    read_published(s);
    if (s->images.v.n == before && gone == after) return false;
    changed(s);
    return true;
}

bool space_read_maps(space *s, space_world *w)
{
    if (s->maps_at && w->now - s->maps_at < READ_MAPS_NS) return false;
    return read_maps(s, w);
}

/* Most programs publish when they start, but after their first samples.  The kernel does not report
 * the mapping of a process context, so that reading the list is the only way to find it. */
space_look space_follow(space *s, space_world *w)
{
    uint64_t pause = (w->now - s->mapped_at) / 4;
    if (pause < LOOK_MIN_NS) pause = LOOK_MIN_NS;
    if (pause > LOOK_MAX_NS) pause = LOOK_MAX_NS;
    bool due = s->active && !s->published.has && !s->ended_at && s->maps_at;
    if (!due || w->now - s->maps_at < pause) return SPACE_NOT_DUE;
    (void)read_maps(s, w);
    return s->published.has ? SPACE_FOUND : SPACE_NOTHING;
}

void space_need_names(space *s, space_world *w, const uint8_t *attrs, size_t n)
{
    if (s->ended_at || s->refreshed_at == w->now || published_names(&s->published, attrs, n))
        return;
    s->refreshed_at = w->now;
    published_refresh(&s->published, s->pid);
}

void space_inherit(space *s, const space *parent)
{
    for (size_t i = 0; i < parent->images.v.n; i++) {
        image x = parent->images.v.v[i];
        if (x.gone && x.gone < s->seen_at) continue;
        x.born = s->seen_at;
        if (!images_put(&s->images, &x)) return;
    }
    if (!s->facts.program.n) s->facts.program = parent->facts.program;
}

/* A new mapping replaces whatever was at its addresses. */
bool space_map(space *s, const image *m)
{
    for (size_t i = 0; i < s->images.v.n; i++) {
        image *x = &s->images.v.v[i];
        bool same = x->start == m->start && x->end == m->end && str_eq(x->path, m->path);
        if (!x->gone && same) return true;
        if (!x->gone && x->start < m->end && m->start < x->end) x->gone = m->born;
    }
    if (!images_put(&s->images, m)) return false;
    changed(s);
    return true;
}

size_t space_forget_maps(space *s, uint64_t time)
{
    size_t before = s->images.v.n;
    images_forget(&s->images, time, true);
    return before - s->images.v.n;
}

void space_exec(space *s, uint64_t time)
{
    for (size_t i = 0; i < s->images.v.n; i++)
        if (!s->images.v.v[i].gone) s->images.v.v[i].gone = time;
    s->mapped_at = time;
    s->maps_at = 0;
    changed(s);
    published_free(&s->published);
    s->variables = (tls_variables){0};
    if (s->root >= 0) close(s->root);
    s->root = -1;
    s->opened = false; /* another program, with another environment */
}

/* ---- threads ---- */

static uint32_t find_thread(const space *s, uint32_t tid, uint64_t h)
{
    if (!s->by_tid.slot) return UINT32_MAX;
    uint32_t i = hash_first(&s->by_tid, h);
    for (uint32_t at; hash_next(&s->by_tid, &i, h, &at); i++)
        if (s->threads.v[at].about.tid == tid) return at;
    return UINT32_MAX;
}

static void set_name(space_thread *t, str name)
{
    char z[SPACE_NAME];
    snprintf(z, sizeof z, "%.*s", (int)(name.n < 63 ? name.n : 63), name.p ? name.p : "");
    task_name_clean(str_of(z), t->about.name);
    t->named = z[0] != '\0';
}

static void index_thread(space *s, uint32_t at)
{
    uint64_t h = hash_mix(s->by_tid.seed, s->threads.v[at].about.tid);
    uint32_t i = hash_first(&s->by_tid, h);
    for (uint32_t k; hash_next(&s->by_tid, &i, h, &k); i++) continue;
    hash_put(&s->by_tid, i, h, at);
}

/* Removes the threads that ended some time ago.  The index has no removal, so it is built again. */
static void forget_threads(space *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->threads.n; i++) {
        const space_thread *t = &s->threads.v[i];
        if (!t->ended_at || s->thread_ended_at - t->ended_at < KEEP_THREAD_NS)
            s->threads.v[n++] = *t;
    }
    if (n == s->threads.n) return;
    s->threads.n = n;
    memset(s->by_tid.slot, 0, ((size_t)s->by_tid.mask + 1) * sizeof *s->by_tid.slot);
    s->by_tid.n = 0;
    for (uint32_t at = 0; at < n; at++) index_thread(s, at);
}

/* Invalidates pointers to other threads. */
static space_thread *add_thread(space *s, uint32_t tid)
{
    if (s->threads.n >= THREADS_KEPT && s->threads.n == s->threads.cap) forget_threads(s);
    if (!hash_index_room(&s->by_tid, &s->mem)) return NULL;
    space_thread *t = vec_push(&s->mem, &s->threads);
    if (!t) return NULL;
    t->about.tid = tid;
    t->about.index = ++s->next_index;
    index_thread(s, (uint32_t)(s->threads.n - 1));
    return t;
}

space_thread *space_thread_of(space *s, uint32_t tid)
{
    uint32_t at = find_thread(s, tid, hash_mix(s->by_tid.seed, tid));
    if (at == UINT32_MAX) {
        if (!add_thread(s, tid)) return NULL;
        at = (uint32_t)(s->threads.n - 1);
    }
    space_thread *t = &s->threads.v[at];
    if (!t->named) {
        char name[PROCESS_NAME_BYTES];
        process_thread_name((int)s->pid, tid, name);
        set_name(t, str_of(name));
    }
    return t;
}

void space_name_thread(space *s, uint32_t tid, str name)
{
    space_thread *t = space_thread_of(s, tid);
    if (!t) return;
    set_name(t, name);
    for (size_t i = 0; s->batch && i < s->batch->threads.n; i++)
        if (s->batch->threads.v[i].index == t->about.index)
            memcpy(s->batch->threads.v[i].name, t->about.name, sizeof t->about.name);
}

void space_mark_thread(space *s, uint32_t tid, uint64_t time)
{
    uint32_t at = find_thread(s, tid, hash_mix(s->by_tid.seed, tid));
    if (at == UINT32_MAX) return;
    s->threads.v[at].ended_at = time;
    if (time > s->thread_ended_at) s->thread_ended_at = time;
}

/* Another thread may get the id, so the entry gets another index.  It keeps its name: the last waits
 * of a thread arrive after the record of its end. */
void space_end_thread(space *s, uint32_t tid, uint64_t time)
{
    uint32_t at = find_thread(s, tid, hash_mix(s->by_tid.seed, tid));
    if (at == UINT32_MAX) return;
    space_thread *t = &s->threads.v[at];
    *t = (space_thread){.about = t->about, .named = t->named, .ended_at = time};
    t->about.index = ++s->next_index;
    if (time > s->thread_ended_at) s->thread_ended_at = time;
}

/* ---- stacks ---- */

const char *space_root(const space *s, char out[64])
{
    if (s->root >= 0)
        snprintf(out, 64, "/proc/self/fd/%d", s->root);
    else
        snprintf(out, 64, "/proc/%u/root", s->pid);
    return out;
}

unwind_snapshot *space_rules(space *s, space_world *w)
{
    if (!s->maps_at && !s->ended_at) (void)space_read_maps(s, w);
    if (s->rules && s->rules_of == s->changes) return s->rules;
    char root[64];
    space_drop_rules(s);
    s->rules = tables_make(w->files, space_root(s, root), &s->images);
    s->rules_of = s->changes;
    space **entry = &w->ruled[w->next_ruled++ % RULED_MAX];
    if (*entry) space_drop_rules(*entry);
    *entry = s;
    s->ruled = entry;
    return s->rules;
}

/* Returns whether each address belongs to a known mapping. */
static bool all_known(const space *s, const uintptr_t *pcs, size_t n, uint64_t time)
{
    for (size_t i = 0; i < n; i++)
        if (!images_find(&s->images, pcs[i], time)) return false;
    return true;
}

unwind_result space_walk(space *s, space_world *w, uint64_t time, const unwind_regs *from,
                         unsigned known, const stack_copy *copy, uintptr_t *pcs, size_t max)
{
    unwind_snapshot *rules = space_rules(s, w);
    unwind_result r = unwind_copy(rules, from, known, copy, pcs, max);
    /* A library that was loaded meanwhile. */
    if (r.end != UNWIND_WHOLE && !all_known(s, pcs, r.n, time) && space_read_maps(s, w)) {
        rules = space_rules(s, w);
        r = unwind_copy(rules, from, known, copy, pcs, max);
    }
    return r;
}

/* ---- batches ---- */

batch *space_batch(space *s, uint64_t time)
{
    if (!s->batch && (s->batch = batch_open(BATCH_BYTES, s->pid)))
        s->batch->start = s->start < time ? s->start : time;
    return s->batch;
}

bool space_profiles(space *s, space_world *w, profiles_in *in, arena *a, model *out, bool *found,
                    err *e)
{
    *found = s->batch && s->batch->samples.n;
    if (!*found) return true;
    if (s->published.has)
        (void)space_read_maps(s, w);
    else
        (void)read_maps(s, w); /* a resource that is not found now is missing in the profile */
    space_describe(s, w);
    s->batch->end = w->now;
    in->batch = s->batch;
    in->images = &s->images;
    in->keys = s->published.context.keys;
    in->n_keys = s->published.context.n_keys;
    in->now = w->now;
    if (s->kernel_thread) s->facts.program = STR("kernel");
    return resource_make(&s->config, &s->facts,
                         s->published.has ? &s->published.context.resource : NULL, a,
                         &in->resource) &&
           profiles_make(in, a, out, e);
}

void space_flushed(space *s, uint64_t time)
{
    batch_close(s->batch);
    s->batch = NULL;
    s->start = time;
    for (size_t i = 0; i < s->threads.n; i++) s->threads.v[i].last = s->threads.v[i].last_stack = 0;
    images_forget(&s->images, time > 5 * NS_PER_S ? time - 5 * NS_PER_S : 0, true);
    space_drop_rules(s);
}

void space_drop_rules(space *s)
{
    foreign_close(s->rules);
    s->rules = NULL;
    if (s->ruled) *s->ruled = NULL;
    s->ruled = NULL;
}
