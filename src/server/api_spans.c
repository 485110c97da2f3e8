/* Where the samples of traces and spans are. */
#include "server/ask.h"

#include "query/timeline.h"
#include "server/questions.h"
#include "base/ban.h"

enum { SPANS = 1000, SPANS_MAX = 100000 };

static str hex_text(ask *k, const uint8_t *p, size_t n)
{
    char *to = arena_alloc(k->a, 2 * n + 1);
    if (!to) return k->w.failed = true, STR("");
    hex_encode(p, n, to);
    return (str){to, 2 * n};
}

static bool put_threads(ask *k, const thread_table *t, err *e)
{
    size_t n = t->v.n;
    str *name = arena_new(k->a, str, n + 1);
    int64_t *thread = arena_new(k->a, int64_t, n + 1), *process = arena_new(k->a, int64_t, n + 1);
    uint32_t *of = arena_new(k->a, uint32_t, n + 1);
    if (!name || !thread || !process || !of) return ask_no_memory(e);
    for (size_t i = 0; i < n; i++) {
        const thread_who *w = &t->v.v[i];
        name[i] = w->name;
        thread[i] = w->thread_id;
        process[i] = w->process_id;
        of[i] = w->resource;
    }
    ask_put_resources(k, t->resources.v, t->resources.n);
    answer_node *o = answer_object(&k->w.root, "threads");
    answer_texts(o, "name", name, n);
    answer_i64s(o, "thread_id", thread, n);
    answer_i64s(o, "process_id", process, n);
    answer_u32s(o, "resource", of, n);
    return true;
}

static bool put_spans(ask *k, const span_rows *s, size_t n, err *e)
{
    str *trace = arena_new(k->a, str, n + 1), *id = arena_new(k->a, str, n + 1);
    uint32_t *type = arena_new(k->a, uint32_t, n + 1), *thread = arena_new(k->a, uint32_t, n + 1);
    int64_t *sum = arena_new(k->a, int64_t, n + 1);
    uint64_t *samples = arena_new(k->a, uint64_t, n + 1), *first = arena_new(k->a, uint64_t, n + 1),
             *last = arena_new(k->a, uint64_t, n + 1);
    if (!trace || !id || !type || !thread || !sum || !samples || !first || !last)
        return ask_no_memory(e);
    for (size_t i = 0; i < n; i++) {
        const span_row *r = &s->v.v[i];
        trace[i] = hex_text(k, r->link.trace_id, sizeof r->link.trace_id);
        id[i] = hex_text(k, r->link.span_id, sizeof r->link.span_id);
        type[i] = r->type;
        thread[i] = r->thread;
        sum[i] = r->sum;
        samples[i] = r->n_samples;
        first[i] = r->first;
        last[i] = r->last;
    }
    answer_node *o = answer_object(&k->w.root, "spans");
    answer_may_cut(o);
    answer_texts(o, "trace_id", trace, n);
    answer_texts(o, "span_id", id, n);
    answer_u32s(o, "type", type, n);
    answer_u32s(o, "thread", thread, n);
    answer_i64s(o, "sum", sum, n);
    answer_u64s(o, "samples", samples, n);
    answer_u64s(o, "first", first, n);
    answer_u64s(o, "last", last, n);
    return true;
}

bool api_spans(ask *k, err *e)
{
    uint64_t limit = SPANS;
    model m;
    span_rows s;
    store_answer looked;
    if (!ask_limit(k, SPANS_MAX, &limit, e) || !ask_put_profiles(k, limit, e)) return false;
    store_read_opts o = {.budget = ask_budget(k, 2)};
    if (!store_read(k->store, &k->q, &o, k->a, &m, &looked, e)) return false;
    ask_looked(k, &looked);
    if (!spans_of(&m, k->stop, k->a, &s, e)) return false;
    answer_node *types = answer_list(&k->w.root, "types");
    for (size_t i = 0; i < s.types.n; i++) {
        answer_node *x = answer_object(types, NULL);
        answer_text(x, "type", s.types.v[i].type);
        answer_text(x, "unit", s.types.v[i].unit);
    }
    if (!put_threads(k, &s.threads, e) ||
        !put_spans(k, &s, s.v.n < limit ? s.v.n : (size_t)limit, e))
        return false;
    answer_u64(&k->w.root, "all", s.v.n);
    return true;
}
