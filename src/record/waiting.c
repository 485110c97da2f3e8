/* Walks waiting threads of recorded processes. */
#include "record/waiting.h"

#include "agent/blocked.h"
#include "sys/process.h"
#include "base/ban.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct waiting {
    uint32_t max_frames;
    raw_sample *raw;
    void *copy;
};

waiting *waiting_open(uint32_t max_frames)
{
    waiting *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    *w = (waiting){max_frames, calloc(1, raw_bytes(max_frames)), malloc(BLOCKED_COPY)};
    if (w->raw && w->copy) return w;
    waiting_close(w);
    return NULL;
}

void waiting_close(waiting *w)
{
    if (!w) return;
    free(w->raw);
    free(w->copy);
    free(w);
}

static bool read_memory(const memory *m, uint64_t at, void *out, size_t n)
{
    return process_read(m->pid, at, out, n);
}

const uintptr_t *waiting_walk(waiting *w, space *s, const space_world *world, uint32_t tid,
                              size_t *n, unwind_end *end)
{
    char path[64];
    uint64_t cpu;
    unwind_snapshot *rules = space_rules(s, world);
    memory m = {.read = read_memory, .pid = (int)s->pid};
    snprintf(path, sizeof path, "/proc/%u/task", s->pid);
    int tasks = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (tasks < 0) return NULL;
    blocked_process p = {.tasks = tasks, .memory = &m, .cpu = blocked_cpu_other, .copy = w->copy};
    blocked_how how =
        blocked_walk(&p, &(blocked_thread){.tid = tid}, rules, w->max_frames, w->raw, &cpu);
    close(tasks);
    if (how != BLOCKED_TAKEN) return NULL;
    *n = w->raw->n;
    *end = (unwind_end)w->raw->end;
    return w->raw->pcs;
}

void waiting_keep(waiting *w, space *s, const space_world *world)
{
    arena a = {.budget = 16 << 20};
    u32s tids = {0};
    bool ok = process_threads((int)s->pid, &a, &tids, NULL);
    for (size_t i = 0; ok && i < tids.n; i++) {
        size_t n;
        unwind_end end;
        const uintptr_t *pcs = waiting_walk(w, s, world, tids.v[i], &n, &end);
        space_thread *t = pcs ? space_thread_of(s, tids.v[i]) : NULL;
        uintptr_t *keep = t ? arena_array(&s->mem, n, sizeof *keep) : NULL;
        if (!keep) continue;
        memcpy(keep, pcs, n * sizeof *keep);
        t->initial = keep;
        t->n_initial = (uint32_t)n;
        t->initial_end = end;
    }
    arena_free(&a);
}
