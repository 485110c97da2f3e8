/* Builds the model from V8's nodes and samples. */
#include "format/v8.h"

#include "base/ban.h"

typedef struct timed {
    int64_t time;
    uint32_t node; /* index in v8_profile */
    uint32_t order;
} timed;

static int by_time(const void *left, const void *right)
{
    const timed *a = left, *b = right;
    if (a->time != b->time) return a->time < b->time ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Returns the stack of sample i; the empty stack if it has no node. */
static uint32_t stack_of(v8_profile *v, size_t i)
{
    return nest_stack(v->tree, i < v->nodes.n ? v->nodes.v[i].node - 1 : 0);
}

/* Computes the times of the samples in order; deltas may be negative. Samples without a time are
 * skipped. */
static bool place_samples(v8_profile *v, timed **out, size_t *n, err *e)
{
    bool absolute = v->times.n > 0;
    size_t n_times = absolute ? v->times.n : v->deltas.n;
    *n = v->samples.n < n_times ? v->samples.n : n_times;
    if (*n < v->samples.n)
        ledger_add_n(v->l, STAGE_READ, LOSS_TRUNCATED, NULL, v->samples.n - *n, "samples",
                     STR("without a time"));
    timed *t = *out = arena_new(v->work, timed, *n);
    if (!t || *n > UINT32_MAX) return err_memory(e);
    int64_t now = v->start;
    bool ordered = true;
    for (size_t i = 0; i < *n; i++) {
        if (absolute)
            now = v->times.v[i];
        else if (ckd_add(&now, now, v->deltas.v[i]))
            return err_set(e, ERR_MALFORMED, "timeDeltas[%zu]: the time does not fit in 64 bits",
                           i);
        t[i] = (timed){now, (uint32_t)v->samples.v[i], (uint32_t)i};
        ordered &= i == 0 || t[i - 1].time <= now;
    }
    if (!ordered) qsort(t, *n, sizeof *t, by_time);
    return true;
}

/* Returns the duration of sample i: until the next one, or until the end of the profile. */
static int64_t length(const v8_profile *v, const timed *t, size_t i, size_t n)
{
    int64_t until = t[i].time, d;
    if (i + 1 < n)
        until = t[i + 1].time;
    else if (v->times.n > n && v->times.v[n] > until)
        until = v->times.v[n];
    else if (!v->times.n && v->has_end && v->end > until)
        until = v->end;
    return ckd_sub(&d, until, t[i].time) ? INT64_MAX : d;
}

/* Replaces negative times by 0, because the model's times are unsigned. */
static uint64_t unsigned_time(v8_profile *v, int64_t t)
{
    if (t >= 0) return (uint64_t)t;
    ledger_add(v->l, STAGE_READ, LOSS_TIME, NULL, "timeDeltas", STR("before 0"));
    return 0;
}

static bool put_timed(v8_profile *v, const uint32_t *attrs, size_t n_attrs,
                      const uint32_t *on_profile, size_t n_on_profile, err *e)
{
    timed *t;
    size_t n;
    if (!place_samples(v, &t, &n, e)) return false;
    observe o = observe_new(v->b, v->work);
    uint32_t *key = arena_new(v->work, uint32_t, n);
    if (!key) return err_memory(e);
    for (size_t i = 0; i < n && !v->b->failed; i++) {
        key[i] = observe_key(&o, stack_of(v, t[i].node), attrs, n_attrs);
        if (!v->b->failed) o.keys.v[key[i]].n++;
    }
    for (int wall = 1; wall >= 0 && !v->b->failed; wall--) {
        observe_profile(v->b, wall ? STR("wall") : STR("samples"),
                        wall ? STR("nanoseconds") : STR("count"));
        builder_profile_attrs(v->b, on_profile, n_on_profile);
        o.lengths = wall;
        observe_place(&o, wall ? OBSERVE_BOTH : OBSERVE_TIMES);
        for (size_t i = 0; i < n && !v->b->failed; i++)
            observe_put(&o, key[i], unsigned_time(v, t[i].time), length(v, t, i, n));
        if (!v->b->failed)
            observe_window(&v->b->m.profiles.v[v->b->m.profiles.n - 1], o.first, o.last);
    }
    return !v->b->failed || err_memory(e);
}

static void one_value(v8_profile *v, size_t i, int64_t value, const uint32_t *attrs, size_t n)
{
    builder_sample(v->b, &(sample){
                             .stack = stack_of(v, i),
                             .values = &value,
                             .n_values = 1,
                             .attrs = attrs,
                             .n_attrs = (uint32_t)n,
                         });
}

/* Builds a Profile of the number of hits of each node, the only data in very old files. */
static bool put_hits(v8_profile *v, const uint32_t *attrs, size_t n_attrs, err *e)
{
    wide all = 0, seen = 0, span_ns = v->has_start && v->has_end ? (wide)v->end - v->start : 0;
    for (size_t i = 0; i < v->nodes.n; i++) all += v->nodes.v[i].hits;
    observe_profile(v->b, STR("samples"), STR("count"));
    for (size_t i = 0; i < v->nodes.n; i++)
        if (v->nodes.v[i].hits) one_value(v, i, v->nodes.v[i].hits, attrs, n_attrs);
    if (all > 0 && span_ns > 0 && all < INT32_MAX) {
        observe_profile(v->b, STR("wall"), STR("nanoseconds"));
        for (size_t i = 0; i < v->nodes.n; i++) {
            wide before = seen * span_ns / all;
            seen += v->nodes.v[i].hits;
            if (v->nodes.v[i].hits)
                one_value(v, i, (int64_t)(seen * span_ns / all - before), attrs, n_attrs);
        }
    }
    return !v->b->failed || err_memory(e);
}

/* Builds a Profile of samples without times, which count one each. */
static bool put_counts(v8_profile *v, const uint32_t *attrs, size_t n_attrs, err *e)
{
    size_t n = v->nodes.n;
    int64_t *count = arena_new(v->work, int64_t, n + 1); /* the last: without a node */
    if (!count) return err_memory(e);
    for (size_t i = 0; i < v->samples.n; i++) count[v->samples.v[i] < n ? v->samples.v[i] : n]++;
    observe_profile(v->b, STR("samples"), STR("count"));
    for (size_t i = 0; i <= n; i++)
        if (count[i]) one_value(v, i, count[i], attrs, n_attrs);
    return !v->b->failed || err_memory(e);
}

bool v8_put_cpu(v8_profile *v, const uint32_t *attrs, size_t n, const uint32_t *on_profile,
                size_t n_on_profile, err *e)
{
    if (!v->samples.n) return put_hits(v, attrs, n, e);
    if (!v->deltas.n && !v->times.n) return put_counts(v, attrs, n, e);
    return put_timed(v, attrs, n, on_profile, n_on_profile, e);
}

bool v8_put_heap(v8_profile *v, err *e)
{
    observe_profile(v->b, STR("inuse_space"), STR("bytes"));
    for (size_t i = 0; i < v->nodes.n; i++)
        if (v->nodes.v[i].self_size) one_value(v, i, v->nodes.v[i].self_size, NULL, 0);
    return !v->b->failed || err_memory(e);
}

void v8_losses(const v8_profile *v)
{
    ledger_add_n(v->l, STAGE_READ, LOSS_LINE_TICKS, NULL, v->n_line_ticks, "nodes[].positionTicks",
                 (str){0});
    ledger_add_n(v->l, STAGE_READ, LOSS_ARBITRARY_ID, NULL, v->n_scripts,
                 "nodes[].callFrame.scriptId", (str){0});
    ledger_add_n(v->l, STAGE_READ, LOSS_METADATA, NULL, v->n_reasons, "nodes[].deoptReason",
                 (str){0});
    ledger_add_n(v->l, STAGE_READ, LOSS_ROUNDED, NULL, v->rounded, "timeDeltas", (str){0});
}
