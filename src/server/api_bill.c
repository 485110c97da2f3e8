/* The endpoint bill: the parts of the time of spans. */
#include "server/query.h"

#include "query/bill.h"
#include "server/endpoints.h"
#include "base/ban.h"
#include <inttypes.h>
#include <string.h>

enum { SPANS = 1000, SPANS_MAX = 100000 };

/* Reads what the threads of the bill did meanwhile.  The ids of threads narrow the read; the bill
 * compares the threads themselves. */
static bool add_others(query *k, bill *b, err *e)
{
    store_selector q = k->q;
    store_read_result scanned;
    model m;
    buf ids = {0};
    if (!bill_range(b, &q.start, &q.end)) return true;
    q.end += 1 + b->period; /* a CPU observation covers the time before its timestamp */
    q.trace_id = q.span_id = NULL;
    store_matcher *v = arena_new(k->a, store_matcher, q.n_matchers + 1);
    if (!v) return err_memory(e);
    for (size_t i = 0; i < q.n_matchers; i++) v[i] = q.matchers[i];
    for (size_t i = 0; i < b->threads.v.n; i++) { /* a label that is missing equals "" */
        int64_t id = b->threads.v.v[i].thread_id;
        if (i) buf_putc(&ids, '|');
        if (id >= 0) buf_printf(&ids, "%" PRId64, id);
    }
    char *text = arena_alloc(k->a, ids.n + 1);
    bool failed = ids.failed || !text;
    if (!failed) memcpy(text, ids.p, ids.n);
    str known = {text, ids.n};
    buf_free(&ids);
    if (failed) return err_memory(e);
    v[q.n_matchers++] = (store_matcher){STR("thread.id"), STORE_LIKE, known};
    q.matchers = v;
    store_read_opts o = {.budget = query_budget(k, 2)};
    if (!store_read(k->store, &q, &o, k->a, &m, &scanned, e)) return false;
    query_scanned(k, &scanned);
    return bill_add_others(b, &m, e);
}

#define COLUMN(in, put, type, key, n, value)                                                       \
    do {                                                                                           \
        type *column = arena_new(k->a, type, (n) + 1);                                             \
        if (!column) return err_memory(e);                                                         \
        for (size_t i = 0; i < (n); i++) column[i] = (value);                                      \
        put(in, key, column, n);                                                                   \
    } while (0)

static bool put_spans(query *k, const bill *b, size_t n, err *e)
{
    const bill_span *v = b->v.v;
    response_node *o = response_object(&k->w.root, "spans");
    COLUMN(o, response_texts, str, "trace_id", n, query_hex(k, v[i].link.trace_id, 16));
    COLUMN(o, response_texts, str, "span_id", n, query_hex(k, v[i].link.span_id, 8));
    COLUMN(o, response_u32s, uint32_t, "thread", n, v[i].thread);
    COLUMN(o, response_u64s, uint64_t, "first", n, v[i].first);
    COLUMN(o, response_u64s, uint64_t, "last", n, v[i].last);
    COLUMN(o, response_i64s, int64_t, "wall", n, v[i].wall);
    return true;
}

/* Parts are sorted by span, so those of the first spans come first. */
static bool put_parts(query *k, const bill *b, size_t n_spans, err *e)
{
    const bill_part *v = b->parts.v;
    size_t n = 0;
    while (n < b->parts.n && v[n].span < n_spans) n++;
    response_node *list = response_list(&k->w.root, "reasons");
    for (size_t i = 0; i < b->reasons.n; i++) {
        const bill_reason *r = &b->reasons.v[i];
        response_node *x = response_object(list, NULL);
        response_text(x, "kind", str_of(bill_kind_name(r->kind)));
        response_text(x, "state", r->state);
        response_text(x, "detail", r->detail);
        response_text(x, "syscall", r->syscall);
    }
    response_node *o = response_object(&k->w.root, "parts");
    COLUMN(o, response_u32s, uint32_t, "span", n, v[i].span);
    COLUMN(o, response_u32s, uint32_t, "reason", n, v[i].reason);
    COLUMN(o, response_i64s, int64_t, "sum", n, v[i].sum);
    COLUMN(o, response_u64s, uint64_t, "observations", n, v[i].observations);
    return true;
}

bool api_bill(query *k, err *e)
{
    uint64_t limit = SPANS;
    bill b;
    model m;
    store_read_result scanned;
    if (!k->q.trace_id && !k->q.span_id)
        return err_set(e, ERR_USAGE, "bill requires trace_id or span_id");
    store_read_opts o = {.budget = query_budget(k, 2)};
    if (!query_limit(k, SPANS_MAX, &limit, e) ||
        !store_read(k->store, &k->q, &o, k->a, &m, &scanned, e))
        return false;
    query_scanned(k, &scanned);
    if (!bill_init(&b, k->stop, k->a, e) || !bill_add(&b, &m, e)) return false;
    size_t n_threads = b.threads.v.n;
    if (!add_others(k, &b, e) || !bill_close(&b, e)) return false;
    b.threads.v.n = n_threads;
    size_t n = b.v.n < limit ? b.v.n : (size_t)limit;
    response_u64(&k->w.root, "period", b.period);
    response_bool(&k->w.root, "off_cpu", b.off_cpu);
    if (!query_put_threads(k, &b.threads, e) || !put_spans(k, &b, n, e) || !put_parts(k, &b, n, e))
        return false;
    response_u64(&k->w.root, "all", b.v.n);
    return true;
}
