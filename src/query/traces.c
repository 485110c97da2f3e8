/* Groups samples by the trace of their link. */
#include "query/traces.h"

#include "query/extent.h"

#include "base/ban.h"
#include <stdlib.h>
#include <string.h>

typedef struct grouping {
    const model *m;
    arena *a;
    trace_rows *out;
    hash_index by_trace, by_span;
    VEC(link_ids) spans;
    uint32_t *trace_of; /* by link: index of its trace, plus 1; 0: not known yet */
} grouping;

static bool find_trace(grouping *x, const link_ids *l, uint32_t *out, err *e)
{
    if (!hash_index_room(&x->by_trace, x->a)) return err_memory(e);
    uint64_t h = hash_bytes(l->trace_id, sizeof l->trace_id, x->by_trace.seed);
    uint32_t k = hash_first(&x->by_trace, h);
    for (; hash_next(&x->by_trace, &k, h, out); k++)
        if (!memcmp(x->out->v.v[*out].trace_id, l->trace_id, sizeof l->trace_id)) return true;
    trace_row *r = vec_push(x->a, &x->out->v);
    if (!r) return err_memory(e);
    *r = (trace_row){0};
    memcpy(r->trace_id, l->trace_id, sizeof r->trace_id);
    *out = (uint32_t)(x->out->v.n - 1);
    hash_put(&x->by_trace, k, h, *out);
    return true;
}

static bool count_span(grouping *x, const link_ids *l, trace_row *r, err *e)
{
    uint32_t at;
    if (!hash_index_room(&x->by_span, x->a)) return err_memory(e);
    uint64_t h = hash_bytes(l, sizeof *l, x->by_span.seed);
    uint32_t k = hash_first(&x->by_span, h);
    for (; hash_next(&x->by_span, &k, h, &at); k++)
        if (!memcmp(&x->spans.v[at], l, sizeof *l)) return true;
    link_ids *slot = vec_push(x->a, &x->spans);
    if (!slot) return err_memory(e);
    *slot = *l;
    hash_put(&x->by_span, k, h, (uint32_t)(x->spans.n - 1));
    r->n_spans++;
    return true;
}

/* Sets *out to the trace of a link; NULL: the link is empty.  The pointer is valid until the next
 * call. */
static bool trace_of(grouping *x, uint32_t link, trace_row **out, err *e)
{
    static const link_ids none;
    const link_ids *l = &x->m->dict.links.v[link];
    *out = NULL;
    if (!memcmp(l->trace_id, none.trace_id, sizeof none.trace_id)) return true;
    uint32_t at = x->trace_of[link] - 1;
    if (!x->trace_of[link]) {
        if (!find_trace(x, l, &at, e) || !count_span(x, l, &x->out->v.v[at], e)) return false;
        x->trace_of[link] = at + 1;
    }
    *out = &x->out->v.v[at];
    return true;
}

static bool add_service(grouping *x, trace_row *r, str name, err *e)
{
    for (size_t i = 0; i < r->services.n; i++)
        if (str_eq(r->services.v[i], name)) return true;
    str *slot = vec_push(x->a, &r->services);
    if (!slot) return err_memory(e);
    *slot = name;
    return true;
}

static str service_of(const resource *r)
{
    for (size_t i = 0; i < r->attrs.n; i++)
        if (r->attrs.v[i].value.kind == ANY_STRING &&
            str_eq(r->attrs.v[i].key, STR("service.name")))
            return any_str(&r->attrs.v[i].value);
    return STR("");
}

static bool add_profile(grouping *x, const profile *p, stopper *stop, err *e)
{
    extent length = extent_of(x->m, p);
    str service = service_of(&x->m->resources.v[x->m->scopes.v[p->scope].resource]);
    for (size_t i = 0; p->link && i < p->n_samples; i++) {
        sample s = sample_at(x->m, p, i);
        trace_row *r;
        if (!stopper_step(stop, 1 + s.n_times, e) || !trace_of(x, s.link, &r, e)) return false;
        if (!r) continue;
        if (!add_service(x, r, service, e)) return false;
        r->n_samples++;
        for (uint32_t j = 0; j < s.n_times; j++) {
            uint64_t start, end;
            extent_at(&length, &s, j, &start, &end);
            if (!r->last || start < r->first) r->first = start;
            if (end > r->last) r->last = end;
        }
    }
    return true;
}

/* ---- order ---- */

static int falling(uint64_t a, uint64_t b) { return (a < b) - (a > b); }

static int compare(const void *x, const void *y, void *of)
{
    const trace_row *a = x, *b = y;
    trace_order by = *(const trace_order *)of;
    int d = by == TRACES_BY_TIME      ? falling(a->first, b->first)
            : by == TRACES_BY_SAMPLES ? falling(a->n_samples, b->n_samples)
                                      : falling(a->last - a->first, b->last - b->first);
    return d ? d : memcmp(a->trace_id, b->trace_id, sizeof a->trace_id);
}

bool traces_of(const model *m, uint64_t min_ns, trace_order by, stopper *stop, arena *a,
               trace_rows *out, err *e)
{
    grouping x = {.m = m, .a = a, .out = out};
    size_t n = 0;
    *out = (trace_rows){0};
    if (!(x.trace_of = arena_new(a, uint32_t, m->dict.links.n + 1))) return err_memory(e);
    for (size_t i = 0; i < m->profiles.n; i++)
        if (!add_profile(&x, &m->profiles.v[i], stop, e)) return false;
    for (size_t i = 0; i < out->v.n; i++)
        if (out->v.v[i].last - out->v.v[i].first >= min_ns) out->v.v[n++] = out->v.v[i];
    out->v.n = n;
    if (n) qsort_r(out->v.v, n, sizeof *out->v.v, compare, &by);
    return true;
}
