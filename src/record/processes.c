/* The processes of a recording: finds, follows and forgets them by the records of the kernel. */
#include "record/feed.h"

#include "base/time.h"
#include "model/model.h"
#include "sys/process.h"
#include "base/ban.h"
#include <stdlib.h>
#include <unistd.h>

enum {
    KEEP_NS = 2000 * 1000000,     /* samples of an ended process may still be in a ring */
    KEEP_MANY_NS = 300 * 1000000, /* with more than MANY processes */
    MANY = 256,
    SPACES_MAX = 65536,
    FLUSH_NS = 1000 * 1000000, /* least time between deliveries for want of memory */
    SWEEP_NS = 1000 * 1000000, /* between two searches for processes whose end was not reported */
};

space *recorder_find(const recorder *r, uint32_t pid)
{
    if (!r->by_pid.slot) return NULL;
    uint64_t h = hash_mix(r->by_pid.seed, pid);
    uint32_t i = hash_first(&r->by_pid, h);
    for (uint32_t at; hash_next(&r->by_pid, &i, h, &at); i++)
        if (r->spaces.v[at] && r->spaces.v[at]->pid == pid) return r->spaces.v[at];
    return NULL;
}

/* Rebuilds the list without free entries.  The index has no removal. */
static void compact(recorder *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->spaces.n; i++)
        if (r->spaces.v[i]) r->spaces.v[n++] = r->spaces.v[i];
    r->spaces.n = n;
    for (uint32_t i = 0; r->by_pid.slot && i <= r->by_pid.mask; i++)
        r->by_pid.slot[i] = (hash_slot){0};
    r->by_pid.n = 0;
    for (uint32_t at = 0; at < n; at++) {
        uint64_t h = hash_mix(r->by_pid.seed, r->spaces.v[at]->pid);
        uint32_t i = hash_first(&r->by_pid, h);
        for (uint32_t k; hash_next(&r->by_pid, &i, h, &k); i++) continue;
        hash_put(&r->by_pid, i, h, at);
    }
}

space *recorder_space(recorder *r, uint32_t pid, uint64_t time)
{
    space *s = recorder_find(r, pid);
    if (s) return s;
    if (r->spaces.n >= SPACES_MAX || !hash_index_room(&r->by_pid, &r->mem)) return NULL;
    space **v = vec_push(&r->mem, &r->spaces);
    if (!v) return NULL;
    *v = s = space_open(pid, time);
    if (!s) return r->spaces.n--, NULL;
    uint64_t h = hash_mix(r->by_pid.seed, pid);
    uint32_t i = hash_first(&r->by_pid, h);
    for (uint32_t at; hash_next(&r->by_pid, &i, h, &at); i++) continue;
    hash_put(&r->by_pid, i, h, (uint32_t)(r->spaces.n - 1));
    r->n.processes++;
    return s;
}

/* ---- the set of RECORD_PIDS ---- */

static size_t followed_at(const recorder *r, uint32_t pid)
{
    size_t i = 0;
    while (i < r->followed.n && r->followed.v[i] != pid) i++;
    return i;
}

bool recorder_follow(recorder *r, uint32_t pid)
{
    if (followed_at(r, pid) < r->followed.n) return true;
    uint32_t *v = vec_push(&r->mem, &r->followed);
    if (v) *v = pid;
    return v != NULL;
}

bool recorder_follows(const recorder *r, uint32_t pid)
{
    if (!pid || pid == (uint32_t)getpid()) return false;
    /* In BPF mode, records about processes come from the whole machine. */
    if (r->o.target == RECORD_CGROUP && r->feed) return recorder_find(r, pid) != NULL;
    return r->o.target != RECORD_PIDS || followed_at(r, pid) < r->followed.n;
}

/* ---- a program that kiln starts ---- */

bool recorder_gate(recorder *r, uint32_t pid)
{
    space *s = recorder_space(r, pid, r->world.now);
    if (!s) return false;
    s->begins = SPACE_NOT_YET;
    r->gated = s;
    return true;
}

/* Called at each exec; only the first one of the child matters. */
static void open_gate(recorder *r, space *s, uint64_t time)
{
    if (s->begins != SPACE_NOT_YET) return;
    s->begins = time;
    r->gated = NULL;
}

/* ---- callbacks ---- */

/* The list has a limit, and mappings that ended are kept for the samples of a batch. */
static void map_when_full(recorder *r, space *s, const image *x)
{
    uint64_t now = r->world.now;
    if (s->batch && now - s->start > FLUSH_NS) recorder_flush(r, s);
    (void)space_forget_maps(s, now - KEEP_NS);
    if (space_map(s, x)) return;
    r->world.mappings_lost += space_forget_maps(s, now);
    r->world.mappings_lost += !space_map(s, x);
}

static void on_mapped(void *ctx, uint32_t pid, uint64_t time, const perf_mapping *m)
{
    recorder *r = ctx;
    if (!recorder_follows(r, pid)) return;
    uint64_t now = recorder_unix(r, time);
    space *s = recorder_space(r, pid, now);
    image x = {.start = m->start,
               .end = m->end,
               .offset = m->offset,
               .inode = m->inode,
               .born = now,
               .path = str_eq(m->path, STR("//anon")) ? STR("") : m->path};
    hex_encode(m->build_id, m->n_build_id, x.gnu);
    if (s && !space_map(s, &x)) map_when_full(r, s, &x);
}

static void on_named(void *ctx, uint32_t pid, uint32_t tid, uint64_t time, str name, bool exec)
{
    recorder *r = ctx;
    if (!recorder_follows(r, pid)) return;
    uint64_t now = recorder_unix(r, time);
    space *s = exec ? recorder_space(r, pid, now) : recorder_find(r, pid);
    if (!s) return;
    if (exec) {
        if (s->batch && s->batch->samples.n) recorder_flush(r, s); /* of the former program */
        space_exec(s, now);
        open_gate(r, s, now);
        if (r->feed) feed_forget(r->feed, pid);
    }
    space_name_thread(s, tid, name);
}

static void on_born(void *ctx, uint32_t pid, uint32_t parent, uint32_t tid, uint64_t time)
{
    recorder *r = ctx;
    (void)tid;
    if (pid == parent || !recorder_follows(r, parent)) return;
    if (r->o.target == RECORD_PIDS && !recorder_follow(r, pid)) return;
    space *s = recorder_space(r, pid, recorder_unix(r, time));
    const space *of = recorder_find(r, parent);
    if (!s || s->images.v.n) return;
    s->parent = parent;
    if (of) space_inherit(s, of);
}

static void end_process(recorder *r, uint32_t pid, uint64_t time)
{
    space *s = recorder_find(r, pid);
    if (s && !s->ended_at) s->ended_at = time;
    size_t at = followed_at(r, pid);
    if (at == r->followed.n) return;
    r->followed.v[at] = r->followed.v[--r->followed.n];
    if (!r->followed.n && r->o.target == RECORD_PIDS) atomic_store(&r->done, true);
}

/* The first thread may end before the others; recorder_sweep() then ends the process. */
static void on_ended(void *ctx, uint32_t pid, uint32_t tid, uint64_t time)
{
    recorder *r = ctx;
    space *s = recorder_find(r, pid);
    /* In BPF mode, the programs report the end of a thread, with its CPU time. */
    if (s && !r->feed) space_mark_thread(s, tid, recorder_unix(r, time));
    if (pid != tid) return;
    if (!process_is_alive(pid))
        end_process(r, pid, recorder_unix(r, time));
    else if (s)
        s->leaving = true;
}

static void on_sampled(void *ctx, const perf_sample *x) { recorder_take_perf(ctx, x); }

perf_events recorder_events(recorder *r)
{
    return (perf_events){.mapped = on_mapped,
                         .named = on_named,
                         .born = on_born,
                         .ended = on_ended,
                         .sampled = on_sampled,
                         .ctx = r};
}

void recorder_sweep(recorder *r)
{
    for (size_t i = 0; i < r->spaces.n; i++) {
        const space *s = r->spaces.v[i];
        if (s->leaving && !s->ended_at && !process_is_alive(s->pid))
            end_process(r, s->pid, r->world.now);
    }
    if (r->world.now - r->swept_at < SWEEP_NS) return;
    r->swept_at = r->world.now;
    /* The last events of a process arrive after the record of its end and add it again. */
    for (size_t i = 0; i < r->spaces.n; i++)
        if (!r->spaces.v[i]->ended_at && !process_is_alive(r->spaces.v[i]->pid))
            end_process(r, r->spaces.v[i]->pid, r->world.now);
    for (size_t i = r->followed.n; i--;)
        if (!process_is_alive(r->followed.v[i])) end_process(r, r->followed.v[i], r->world.now);
}

void recorder_reap(recorder *r, bool all)
{
    bool freed = false;
    for (size_t i = 0; i < r->spaces.n; i++) {
        space *s = r->spaces.v[i];
        uint64_t keep = r->spaces.n > MANY ? KEEP_MANY_NS : KEEP_NS;
        bool old = s->ended_at && r->world.now > s->ended_at + keep;
        if (!old && !all) continue;
        recorder_flush(r, s);
        if (r->feed && old) feed_forget(r->feed, s->pid);
        r->n.ended += s->ended_at != 0;
        if (s == r->gated) r->gated = NULL;
        space_close(s);
        r->spaces.v[i] = NULL;
        freed = true;
    }
    if (freed) compact(r);
}
