/* Reads the samples of a Firefox profile into Profiles, one set per process, and defines the
 * format. gecko_walk.c finds the tables, gecko_frames.c reads stacks. */
#include "format/format.h"

#include "format/gecko.h"
#include "wire/carried.h"
#include "base/ban.h"
#include <inttypes.h>

/* ---- samples ---- */

enum { S_STACK, S_TIME, S_DELTA, S_WEIGHT, S_CPU, N_SAMPLE };

typedef enum weight_kind { WEIGHT_SAMPLES, WEIGHT_MS, WEIGHT_BYTES, N_WEIGHTS } weight_kind;

typedef struct thread_samples {
    gecko_column col[N_SAMPLE];
    size_t n;
    weight_kind kind;
    gecko_stacks stacks;
    uint32_t attrs[2];
    size_t n_attrs;
    u64s times;
    u32s key;
} thread_samples;

static bool weight_type(json_slice text, arena *work, weight_kind *out, err *e)
{
    json j = json_open_slice(text, work, e);
    if (json_next(&j) != JSON_OBJECT) return json_expected(&j, "a table");
    while (json_key(&j)) {
        bool is_weight_type = json_is(&j, "weightType");
        if (json_next(&j) == JSON_STRING && is_weight_type)
            *out = str_eq(j.text, STR("bytes"))        ? WEIGHT_BYTES
                   : str_eq(j.text, STR("tracing-ms")) ? WEIGHT_MS
                                                       : WEIGHT_SAMPLES;
        if (!json_skip_open(&j)) return false;
    }
    return !j.bad;
}

/* Computes the Unix ns of every sample. Times in the file count from the process's start. */
static bool sample_times(gecko_walk *w, const gecko_process *p, thread_samples *s)
{
    int64_t sum = 0;
    s->times.v = arena_new(w->r.work, uint64_t, s->n);
    if (!s->times.v) return err_memory(w->e);
    for (size_t i = 0; i < s->n; i++) {
        int64_t delta = gecko_at(&s->col[S_DELTA], (int64_t)i),
                t = gecko_at(&s->col[S_TIME], (int64_t)i);
        if (delta != GECKO_NONE && ckd_add(&sum, sum, delta)) sum = INT64_MAX;
        if (t == GECKO_NONE) t = sum;
        if (ckd_add(&t, t, p->start) || t < 0) {
            ledger_add(w->r.l, STAGE_READ, LOSS_TIME, NULL, "threads[].samples.time", (str){0});
            t = 0;
        }
        s->times.v[i] = (uint64_t)t;
    }
    return true;
}

static bool all_shared(const gecko_thread *t) { return !t->own.stacks.bytes.n; }

static gecko_slices slices_of(const gecko_thread *t, const gecko_process *p)
{
    gecko_slices s = t->own;
#define OR_SHARED(x)                                                                               \
    if (!s.x.bytes.n) s.x = p->shared.x
    OR_SHARED(stacks);
    OR_SHARED(frames);
    OR_SHARED(funcs);
    OR_SHARED(resources);
    OR_SHARED(symbols);
    OR_SHARED(sources);
    OR_SHARED(strings);
#undef OR_SHARED
    return s;
}

static bool load_thread(gecko_walk *w, gecko_thread *t, gecko_stacks *shared, thread_samples *s)
{
    gecko_process *p = &w->processes.v[t->process];
    static const char *const names[] = {"stack", "time", "timeDeltas", "weight", "threadCPUDelta"};
    *s = (thread_samples){0};
    if (!t->samples.bytes.n) return true;
    if (!weight_type(t->samples, w->r.work, &s->kind, w->e)) return err_in(w->e, "samples");
    for (size_t i = 0; i < N_SAMPLE; i++) s->col[i].name = names[i];
    s->col[S_TIME].scale = s->col[S_DELTA].scale = 6;
    s->col[S_WEIGHT].scale = s->kind == WEIGHT_MS ? 6 : 0;
    s->col[S_CPU].scale = p->cpu_unit == 'u' ? 3 : 0;
    if (!gecko_table(t->samples, s->col, N_SAMPLE, &s->n, w->r.work, &w->r.rounded, w->e))
        return err_in(w->e, "samples");
    if (!s->n) return true;
    if (!all_shared(t) || !shared->node.v) {
        gecko_slices from = slices_of(t, p);
        if (!gecko_read_stacks(&w->r, p, &from, &s->stacks, w->e)) return false;
        if (all_shared(t)) *shared = s->stacks;
    } else {
        s->stacks = *shared;
    }
    if (t->has_tid) s->attrs[s->n_attrs++] = observe_thread_id(&w->r.b, t->tid);
    if (t->name.n) s->attrs[s->n_attrs++] = observe_thread_name(&w->r.b, t->name);
    return sample_times(w, p, s);
}

static bool no_such_stack(gecko_walk *w, const thread_samples *s, size_t i, int64_t row)
{
    (void)!err_set(w->e, ERR_MALFORMED, "samples: row %zu has stack %" PRId64 " of %zu", i, row,
                   s->stacks.node.n);
    (void)!err_in(w->e, "threads");
    return gecko_skip_damaged(&w->r, w->e);
}

static bool sample_keys(gecko_walk *w, thread_samples *s, observe *o)
{
    s->key.v = arena_new(w->r.work, uint32_t, s->n);
    if (!s->key.v) return err_memory(w->e);
    for (size_t i = 0; i < s->n && !w->r.b.failed; i++) {
        int64_t row = gecko_at(&s->col[S_STACK], (int64_t)i);
        bool undefined = row >= 0 && (uint64_t)row >= s->stacks.node.n;
        if (undefined && !no_such_stack(w, s, i, row)) return false;
        w->n_stacked += row >= 0 && !undefined;
        uint32_t node = row >= 0 && !undefined ? s->stacks.node.v[row] : 0;
        s->key.v[i] = observe_key(o, nest_stack(&w->r.tree, node), s->attrs, s->n_attrs);
        if (!w->r.b.failed) o->keys.v[s->key.v[i]].n++;
    }
    return !w->r.b.failed || err_memory(w->e);
}

/* ---- profiles ---- */

typedef struct group {
    gecko_thread *t;
    thread_samples *s;
    size_t n;
} group;

static bool has_values(const group *g, weight_kind kind, int col)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->s[i].n && g->s[i].kind == kind && g->s[i].col[col].present) return true;
    return false;
}

/* Puts all threads of a group into one profile. `col`: column of the values; -1: each counts 1. */
static void put_profile(gecko_walk *w, const group *g, weight_kind kind, int col, observe *o,
                        str type, str unit)
{
    builder *b = &w->r.b;
    const gecko_process *p = &w->processes.v[g->t[0].process];
    observe_profile(b, type, unit);
    if (!p->has_start) {
        uint32_t attr = observe_epoch(b, w->r.l);
        builder_profile_attrs(b, &attr, 1);
    }
    observe_window_reset(o);
    observe_place(o, col < 0 ? OBSERVE_TIMES : OBSERVE_BOTH);
    for (size_t i = 0; i < g->n; i++) {
        thread_samples *s = &g->s[i];
        for (size_t k = 0; s->kind == kind && k < s->n && !b->failed; k++) {
            int64_t v = col < 0 ? 1 : gecko_at(&s->col[col], (int64_t)k);
            if (v == GECKO_NONE) v = col == S_CPU ? 0 : 1;
            observe_put(o, s->key.v[k], s->times.v[k], v);
        }
    }
    uint32_t wall = builder_string(b, STR("wall")), ns = builder_string(b, STR("nanoseconds"));
    if (b->failed) return;
    profile *out = &b->m.profiles.v[b->m.profiles.n - 1];
    if (p->interval > 0) out->period = p->interval, out->period_type = (value_type){wall, ns};
    observe_window(out, o->first, o->last);
}

static bool put_kind(gecko_walk *w, group *g, weight_kind kind)
{
    static const struct {
        str type, unit;
    } types[] = {
        [WEIGHT_SAMPLES] = {{"samples", 7}, {"count", 5}},
        [WEIGHT_MS] = {{"wall", 4}, {"nanoseconds", 11}},
        [WEIGHT_BYTES] = {{"space", 5}, {"bytes", 5}},
    };
    observe o = observe_new(&w->r.b, w->r.work);
    bool any_sample = false;
    for (size_t i = 0; i < g->n; i++) {
        if (g->s[i].kind != kind || !g->s[i].n) continue;
        any_sample = true;
        if (!sample_keys(w, &g->s[i], &o)) return err_in(w->e, "threads");
    }
    if (!any_sample) return true;
    int col = has_values(g, kind, S_WEIGHT) ? S_WEIGHT : -1;
    put_profile(w, g, kind, col, &o, types[kind].type, types[kind].unit);
    if (has_values(g, kind, S_CPU)) {
        bool cycles = w->processes.v[g->t[0].process].cpu_unit == 'c';
        put_profile(w, g, kind, S_CPU, &o, STR("cpu"), cycles ? STR("cycles") : STR("nanoseconds"));
    }
    return !w->r.b.failed || err_memory(w->e);
}

static bool is_number(str s, int64_t *v)
{
    if (!s.n || s.n > 18) return false;
    *v = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9') return false;
        *v = *v * 10 + (s.p[i] - '0');
    }
    return true;
}

static void put_resource(gecko_walk *w, const group *g)
{
    keyvalue v[2];
    resource r = {.attrs = {v, 0}};
    str pid = {0}, name = {0};
    for (size_t i = 0; i < g->n; i++) {
        if (!pid.n) pid = g->t[i].pid;
        if (!name.n && g->s[i].n)
            name = g->t[i].process_name; /* threads without samples may have an old name */
    }
    int64_t number;
    bool numeric = is_number(pid, &number);
    if (numeric) v[r.attrs.n++] = (keyvalue){STR("process.pid"), 0, {.kind = ANY_INT, .i = number}};
    if (!numeric && !name.n) name = pid;
    if (name.n)
        v[r.attrs.n++] = (keyvalue){
            STR("process.title"), 0, {.kind = ANY_STRING, .n = (uint32_t)name.n, .s = name.p}};
    r.present = r.attrs.n > 0;
    builder_resource(&w->r.b, &r);
    builder_scope(&w->r.b, NULL);
}

static bool put_group(gecko_walk *w, gecko_thread *t, size_t n, gecko_stacks *shared)
{
    group g = {t, arena_new(w->r.work, thread_samples, n), n};
    if (!g.s) return err_memory(w->e);
    size_t samples = 0;
    for (size_t i = 0; i < n; i++) {
        if (!load_thread(w, &t[i], &shared[t[i].process], &g.s[i])) {
            (void)!err_in(w->e, "thread %.*s", STR_ARG(t[i].name));
            if (!gecko_skip_damaged(&w->r, w->e)) return false;
            g.s[i] = (thread_samples){0};
        }
        samples += g.s[i].n;
    }
    if (!samples) return true;
    put_resource(w, &g);
    for (int kind = 0; kind < N_WEIGHTS; kind++)
        if (!put_kind(w, &g, (weight_kind)kind)) return false;
    return true;
}

static int by_group(const void *left, const void *right)
{
    const gecko_thread *a = left, *b = right;
    if (a->group != b->group) return a->group < b->group ? -1 : 1;
    return a->samples.at < b->samples.at ? -1 : a->samples.at > b->samples.at;
}

/* Groups the threads by pid, wherever they are listed. */
static bool find_groups(gecko_walk *w)
{
    hash_index x = {0};
    for (uint32_t i = 0; i < w->threads.n; i++) {
        gecko_thread *t = &w->threads.v[i];
        if (!hash_index_room(&x, w->r.work)) return err_memory(w->e);
        uint64_t h = hash_mix(x.seed, t->pid.n ? 0 : t->process + 1);
        h = hash_bytes(t->pid.p, t->pid.n, h);
        uint32_t k = hash_first(&x, h), at;
        bool found = false;
        for (; !found && hash_next(&x, &k, h, &at); k++) {
            const gecko_thread *o = &w->threads.v[at];
            found = str_eq(o->pid, t->pid) && (t->pid.n || o->process == t->process);
            if (found) t->group = o->group;
        }
        if (!found) t->group = i, hash_put(&x, k, h, i);
    }
    qsort(w->threads.v, w->threads.n, sizeof *w->threads.v, by_group);
    return true;
}

static bool put_all(gecko_walk *w)
{
    if (w->threads.n && !find_groups(w)) return false;
    gecko_stacks *shared = arena_new(w->r.work, gecko_stacks, w->processes.n);
    if (!shared) return err_memory(w->e);
    for (size_t i = 0, end; i < w->threads.n; i = end) {
        for (end = i; end < w->threads.n && w->threads.v[end].group == w->threads.v[i].group;)
            end++;
        if (!put_group(w, &w->threads.v[i], end - i, shared)) return false;
    }
    return true;
}

static void losses(const gecko_walk *w)
{
    ledger *l = w->r.l;
    ledger_add_n(l, STAGE_READ, LOSS_EVENT, NULL, w->n_markers, "threads[].markers", STR("marker"));
    ledger_add_n(l, STAGE_READ, LOSS_EVENT_DETAIL, NULL, w->n_details, "threads[]",
                 STR("allocations"));
    ledger_add_n(l, STAGE_READ, LOSS_DAMAGED, NULL, w->r.n_damaged, "threads",
                 str_of(w->r.first_damage.msg));
    ledger_add_n(l, STAGE_READ, LOSS_METADATA, NULL, w->n_metadata, "meta", (str){0});
    ledger_add_n(l, STAGE_READ, LOSS_ROUNDED, NULL, w->r.rounded, "threads[].samples.time",
                 STR("rounded to ns"));
    ledger_add_n(l, STAGE_READ, LOSS_STACK_DEPTH, NULL, w->r.tree.n_cut, "threads[].stackTable",
                 (str){0});
}

static bool read_all(gecko_walk *w, str bytes)
{
    if (!gecko_read_document(w, bytes)) return false;
    if (!w->threads.n) return err_set(w->e, ERR_MALFORMED, "the profile has no threads");
    if (!put_all(w)) return false;
    if (w->r.n_damaged && !w->n_stacked) {
        *w->e = w->r.first_damage; /* no thread is readable */
        return false;
    }
    losses(w);
    return true;
}

static bool read(const format *f, str bytes, const read_opts *o, arena *a, model *out,
                 layout_verdict *verdict, err *e)
{
    (void)f, (void)verdict;
    arena work = arena_beside(a);
    gecko_walk w = {.r = {.work = &work, .l = o->ledger}, .e = e};
    bool ok = builder_init(&w.r.b, a) && nest_tree_init(&w.r.tree, &w.r.b, &work);
    ok = ok ? read_all(&w, bytes) : err_memory(e);
    ok = ok && builder_finish(&w.r.b, out, e);
    arena_free(&work);
    return ok;
}

static unsigned detect(str bytes)
{
    return json_kind_of(bytes) == JSON_KIND_GECKO ? JSON_KIND_SURE : 0;
}

const format format_gecko = {
    .name = "gecko",
    .what = "Firefox Profiler JSON, raw and processed",
    .carries = CARRIES(TYPES) | CARRIES(TIMESTAMPS) | CARRIES(SAMPLE_ATTRIBUTES) |
               CARRIES(ATTRIBUTE_TYPES) | CARRIES(TIME) | CARRIES(PERIOD) | CARRIES(ADDRESSES) |
               CARRIES(MAPPINGS) | CARRIES(BUILD_IDS) | CARRIES(LINES) | CARRIES(COLUMNS) |
               CARRIES(INLINES) | CARRIES(FRAME_TYPES),
    .detect = detect,
    .read = read,
};
