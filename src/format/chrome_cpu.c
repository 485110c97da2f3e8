/* Reads V8's CPU profiles inside a trace: a Profile event starts one, ProfileChunk events carry its
 * contents. The chunks may come from other threads than the one that is profiled. */
#include "format/chrome.h"

#include "base/ban.h"

/* Profiles without an id are distinguished by thread: a page and its worker each have one. */
static bool is_same(const chrome_cpu *x, uint32_t process, uint32_t track, str id)
{
    return x->process == process && str_eq(x->id, id) && (id.n || x->track == track);
}

/* Chunks without an id may come from a thread of the profiler. They then belong to the only profile
 * of the process that has no id. */
static uint32_t only_unnamed(const chrome *c, uint32_t process)
{
    uint32_t found = 0;
    for (uint32_t at = c->processes.v[process].first_cpu; at; at = c->cpus.v[at - 1].next) {
        if (c->cpus.v[at - 1].id.n) continue;
        if (found) return 0;
        found = at;
    }
    return found;
}

static chrome_cpu *cpu_of(chrome *c, uint32_t process, uint32_t track, str id, bool opens)
{
    if (!hash_index_room(&c->cpu_index, c->work)) return NULL;
    uint64_t h = hash_bytes(id.p, id.n, hash_mix(c->cpu_index.seed, process));
    uint32_t i = hash_first(&c->cpu_index, h);
    for (uint32_t at; hash_next(&c->cpu_index, &i, h, &at); i++)
        if (is_same(&c->cpus.v[at], process, track, id)) return &c->cpus.v[at];
    uint32_t only = id.n || opens ? 0 : only_unnamed(c, process);
    if (only) return &c->cpus.v[only - 1];
    char *copy = arena_alloc(c->work, id.n);
    chrome_cpu *x = copy ? vec_push(c->work, &c->cpus) : NULL;
    if (!x) return NULL;
    if (id.n) memcpy(copy, id.p, id.n);
    uint32_t index = (uint32_t)(c->cpus.n - 1);
    *x = (chrome_cpu){
        .process = process,
        .track = track,
        .id = {copy, id.n},
        .v = {.b = &c->b, .tree = &c->tree, .work = c->work, .l = c->l},
    };
    chrome_process *p = &c->processes.v[process];
    *(p->last_cpu ? &c->cpus.v[p->last_cpu - 1].next : &p->first_cpu) = index + 1;
    p->last_cpu = index + 1;
    hash_put(&c->cpu_index, i, h, index);
    return x;
}

static bool cpu_profile(v8_profile *v, json *j)
{
    if (json_next(j) != JSON_OBJECT) return json_skip_open(j);
    while (json_key(j)) {
        bool ok = json_is(j, "nodes")        ? v8_nodes(v, j)
                  : json_is(j, "samples")    ? v8_samples(v, j)
                  : json_is(j, "timeDeltas") ? v8_micros(v, j, &v->deltas)
                  : json_is(j, "startTime")  ? (v->has_start = v8_micro(v, j, &v->start))
                  : json_is(j, "endTime")    ? (v->has_end = v8_micro(v, j, &v->end))
                                             : json_skip_value(j);
        if (!ok) return false;
    }
    return !j->bad;
}

static bool count_elements(json *j, uint64_t *n)
{
    if (json_next(j) != JSON_ARRAY) return json_skip_open(j);
    while (json_element(j)) {
        *n += j->tok != JSON_NULL && !str_eq(j->text, STR("0"));
        if (!json_skip_open(j)) return false;
    }
    return !j->bad;
}

static bool data(v8_profile *v, json *j)
{
    if (json_next(j) != JSON_OBJECT) return json_skip_open(j);
    while (json_key(j)) {
        bool ok = json_is(j, "cpuProfile")   ? cpu_profile(v, j)
                  : json_is(j, "timeDeltas") ? v8_micros(v, j, &v->deltas)
                  : json_is(j, "lines")      ? count_elements(j, &v->n_line_ticks)
                  : json_is(j, "startTime")  ? (v->has_start = v8_micro(v, j, &v->start))
                  : json_is(j, "endTime")    ? (v->has_end = v8_micro(v, j, &v->end))
                                             : json_skip_value(j);
        if (!ok) return false;
    }
    return !j->bad;
}

bool chrome_read_cpu(chrome *c, chrome_id pid, chrome_id tid, str id, bool opens, json_slice args)
{
    uint32_t track = chrome_track_of(c, pid, tid);
    if (track == UINT32_MAX) return err_memory(c->e);
    chrome_cpu *x = cpu_of(c, c->tracks.v[track].process, track, id, opens);
    if (!x) return err_memory(c->e);
    if (opens) x->track = track; /* not from chunks, which may come from the profiler */
    if (!args.bytes.n) return true;
    json j = json_open_slice(args, c->work, c->e);
    if (json_next(&j) != JSON_OBJECT) return true;
    while (json_key(&j)) {
        bool ok = json_is(&j, "data") ? data(&x->v, &j) : json_skip_value(&j);
        if (!ok) return err_in(c->e, "args");
    }
    return !j.bad;
}

static bool put_cpu(chrome *c, chrome_cpu *x)
{
    uint32_t attrs[3];
    if (!x->v.nodes.n) return true;
    if (!v8_resolve(&x->v, c->e)) return err_in(c->e, "Profile %.*s", STR_ARG(x->id));
    size_t n = chrome_track_attrs(c, &c->tracks.v[x->track], attrs);
    bool timed = x->v.samples.n && x->v.deltas.n;
    uint32_t epoch[CHROME_EPOCH_ATTRS];
    size_t n_epoch = timed ? chrome_epoch(c, epoch) : 0;
    v8_losses(&x->v);
    return v8_put_cpu(&x->v, attrs, n, epoch, n_epoch, c->e);
}

bool chrome_put_cpus(chrome *c, uint32_t process)
{
    for (uint32_t at = c->processes.v[process].first_cpu; at; at = c->cpus.v[at - 1].next)
        if (!put_cpu(c, &c->cpus.v[at - 1])) return false;
    return true;
}
