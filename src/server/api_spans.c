/* The endpoints spans and traces: the traces and spans that samples belong to, with threads and
 * amounts. */
#include "server/query.h"

#include "query/timeline.h"
#include "query/traces.h"
#include "server/endpoints.h"
#include "base/ban.h"

enum { SPANS = 1000, SPANS_MAX = 100000 };
enum { TRACES = 200, TRACES_MAX = 10000 };

str query_hex(query *k, const uint8_t *p, size_t n)
{
    char *to = arena_alloc(k->a, 2 * n + 1);
    if (!to) return k->w.failed = true, STR("");
    hex_encode(p, n, to);
    return (str){to, 2 * n};
}

bool query_put_threads(query *k, const thread_table *t, err *e)
{
    size_t n = t->v.n;
    str *name = arena_new(k->a, str, n + 1);
    int64_t *thread = arena_new(k->a, int64_t, n + 1), *process = arena_new(k->a, int64_t, n + 1);
    uint32_t *of = arena_new(k->a, uint32_t, n + 1);
    if (!name || !thread || !process || !of) return err_memory(e);
    for (size_t i = 0; i < n; i++) {
        const thread_key *w = &t->v.v[i];
        name[i] = w->name;
        thread[i] = w->thread_id;
        process[i] = w->process_id;
        of[i] = w->resource;
    }
    query_put_resources(k, t->resources.v, t->resources.n);
    response_node *o = response_object(&k->w.root, "threads");
    response_texts(o, "name", name, n);
    response_i64s(o, "thread_id", thread, n);
    response_i64s(o, "process_id", process, n);
    response_u32s(o, "resource", of, n);
    return true;
}

static bool put_spans(query *k, const span_rows *s, size_t n, err *e)
{
    str *trace = arena_new(k->a, str, n + 1), *id = arena_new(k->a, str, n + 1);
    uint32_t *type = arena_new(k->a, uint32_t, n + 1), *thread = arena_new(k->a, uint32_t, n + 1);
    int64_t *sum = arena_new(k->a, int64_t, n + 1);
    uint64_t *samples = arena_new(k->a, uint64_t, n + 1), *first = arena_new(k->a, uint64_t, n + 1),
             *last = arena_new(k->a, uint64_t, n + 1), *start = arena_new(k->a, uint64_t, n + 1),
             *end = arena_new(k->a, uint64_t, n + 1);
    if (!trace || !id || !type || !thread || !sum || !samples || !first || !last || !start || !end)
        return err_memory(e);
    for (size_t i = 0; i < n; i++) {
        const span_row *r = &s->v.v[i];
        trace[i] = query_hex(k, r->link.trace_id, sizeof r->link.trace_id);
        id[i] = query_hex(k, r->link.span_id, sizeof r->link.span_id);
        type[i] = r->type;
        thread[i] = r->thread;
        sum[i] = r->sum;
        samples[i] = r->n_samples;
        first[i] = r->first;
        last[i] = r->last;
        start[i] = r->start;
        end[i] = r->end;
    }
    response_node *o = response_object(&k->w.root, "spans");
    response_may_cut(o);
    response_texts(o, "trace_id", trace, n);
    response_texts(o, "span_id", id, n);
    response_u32s(o, "type", type, n);
    response_u32s(o, "thread", thread, n);
    response_i64s(o, "sum", sum, n);
    response_u64s(o, "samples", samples, n);
    response_u64s(o, "first", first, n);
    response_u64s(o, "last", last, n);
    response_u64s(o, "start", start, n);
    response_u64s(o, "end", end, n);
    return true;
}

bool api_spans(query *k, err *e)
{
    uint64_t limit = SPANS;
    model m;
    span_rows s;
    store_read_result scanned;
    if (!query_limit(k, SPANS_MAX, &limit, e) || !query_put_profiles(k, limit, e)) return false;
    store_read_opts o = {.budget = query_budget(k, 2)};
    if (!store_read(k->store, &k->q, &o, k->a, &m, &scanned, e)) return false;
    query_scanned(k, &scanned);
    if (!spans_of(&m, k->stop, k->a, &s, e)) return false;
    response_node *types = response_list(&k->w.root, "types");
    for (size_t i = 0; i < s.types.n; i++) {
        response_node *x = response_object(types, NULL);
        response_text(x, "type", s.types.v[i].type);
        response_text(x, "unit", s.types.v[i].unit);
    }
    if (!query_put_threads(k, &s.threads, e) ||
        !put_spans(k, &s, s.v.n < limit ? s.v.n : (size_t)limit, e))
        return false;
    response_u64(&k->w.root, "all", s.v.n);
    return true;
}

/* ---- traces ---- */

static bool order_of(const query *k, trace_order *out, err *e)
{
    static const char *const words[] = {[TRACES_BY_DURATION] = "duration",
                                        [TRACES_BY_TIME] = "time",
                                        [TRACES_BY_SAMPLES] = "samples"};
    str word = params_get(&k->p, "sort");
    *out = TRACES_BY_DURATION;
    if (!word.n) return true;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_eq(word, str_of(words[i]))) return *out = (trace_order)i, true;
    return err_set(e, ERR_USAGE, "sort must be duration, time or samples");
}

bool api_traces(query *k, err *e)
{
    uint64_t limit = TRACES, min_ns = 0;
    trace_order by;
    trace_rows t;
    model m;
    store_read_result scanned;
    if (!query_limit(k, TRACES_MAX, &limit, e) || !order_of(k, &by, e) ||
        !params_duration(&k->p, "min_duration", &min_ns, e))
        return false;
    store_selector q = k->q;
    store_matcher *v = arena_new(k->a, store_matcher, q.n_matchers + 1);
    if (!v) return err_memory(e);
    for (size_t i = 0; i < q.n_matchers; i++) v[i] = q.matchers[i];
    v[q.n_matchers++] = (store_matcher){STR("trace_id"), STORE_IS_NOT, STR("")};
    q.matchers = v;
    store_read_opts o = {.budget = query_budget(k, 2)};
    if (!store_read(k->store, &q, &o, k->a, &m, &scanned, e)) return false;
    query_scanned(k, &scanned);
    if (!traces_of(&m, min_ns, by, k->stop, k->a, &t, e)) return false;
    response_node *list = response_list(&k->w.root, "traces");
    response_may_cut(list);
    for (size_t i = 0; i < t.v.n && i < limit; i++) {
        const trace_row *r = &t.v.v[i];
        response_node *x = response_object(list, NULL);
        response_hex(x, "trace_id", r->trace_id, sizeof r->trace_id);
        response_u64(x, "first", r->first);
        response_u64(x, "duration", r->last - r->first);
        response_u64(x, "spans", r->n_spans);
        response_u64(x, "samples", r->n_samples);
        response_texts(x, "services", r->services.v, r->services.n);
    }
    response_u64(&k->w.root, "all", t.v.n);
    return true;
}
