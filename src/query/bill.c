/* Adds up the parts of spans.  A CPU observation stands for the CPU time before it, a wait for the
 * time after its start. */
#include "query/bill.h"

#include "query/extent.h"
#include "query/internal.h"
#include "wire/carried.h"

#include "base/ban.h"
#include <string.h>

enum { NONE = UINT32_MAX };

const char *bill_kind_name(bill_kind k)
{
    static const char *const names[BILL_KINDS] = {"on_cpu", "blocked", "runnable", "other_span",
                                                  "unaccounted"};
    return names[k];
}

bool bill_init(bill *b, stopper *stop, arena *a, err *e)
{
    *b = (bill){.a = a, .stop = stop};
    return thread_table_init(&b->threads, a, e);
}

/* ---- tables ---- */

static bool same_thread(const thread_key *x, const thread_key *y)
{
    return x->thread_id >= 0 && x->thread_id == y->thread_id && x->process_id == y->process_id &&
           x->resource == y->resource;
}

static bool span_of(bill *b, const link_ids *l, uint32_t thread, bool add, uint32_t *out, err *e)
{
    if (!hash_index_room(&b->by_span, b->a)) return err_memory(e);
    uint64_t h = hash_mix(hash_bytes(l, sizeof *l, b->by_span.seed), thread);
    uint32_t k = hash_first(&b->by_span, h);
    for (; hash_next(&b->by_span, &k, h, out); k++)
        if (b->v.v[*out].thread == thread && !memcmp(&b->v.v[*out].link, l, sizeof *l)) return true;
    *out = NONE;
    if (!add) return true;
    bill_span *s = vec_push(b->a, &b->v);
    if (!s) return err_memory(e);
    *s = (bill_span){.link = *l, .thread = thread};
    *out = (uint32_t)(b->v.n - 1);
    hash_put(&b->by_span, k, h, *out);
    return true;
}

/* Finds the thread of a sample by its ids alone if they are known: its name can change, or be missing
 * in some profiles. */
static bool thread_of(bill *b, const model *m, const profile *p, const sample *s, uint32_t *out,
                      err *e)
{
    uint32_t state;
    if (!thread_table_find(&b->threads, m, p, s, out, &state, e)) return false;
    while (b->same.n < b->threads.v.n) {
        uint32_t *same = vec_push(b->a, &b->same);
        if (!same) return err_memory(e);
        thread_key *t = &b->threads.v.v[b->same.n - 1];
        *same = 0;
        while (*same < b->same.n - 1 && !same_thread(&b->threads.v.v[*same], t)) ++*same;
        if (!b->threads.v.v[*same].name.n) b->threads.v.v[*same].name = t->name;
    }
    *out = b->same.v[*out];
    return true;
}

static bool same_reason(const bill_reason *x, const bill_reason *y)
{
    return x->kind == y->kind && str_eq(x->state, y->state) && str_eq(x->detail, y->detail) &&
           str_eq(x->syscall, y->syscall);
}

static bool reason_of(bill *b, const bill_reason *r, uint32_t *out, err *e)
{
    *out = NONE;
    if (!hash_index_room(&b->by_reason, b->a)) return err_memory(e);
    uint64_t h = hash_mix(b->by_reason.seed, (uint64_t)r->kind);
    h = hash_bytes(r->state.p, r->state.n, h);
    h = hash_bytes(r->detail.p, r->detail.n, h);
    h = hash_bytes(r->syscall.p, r->syscall.n, h);
    uint32_t k = hash_first(&b->by_reason, h);
    for (; hash_next(&b->by_reason, &k, h, out); k++)
        if (same_reason(&b->reasons.v[*out], r)) return true;
    bill_reason *slot = vec_push(b->a, &b->reasons);
    if (!slot) return err_memory(e);
    *slot = *r;
    *out = (uint32_t)(b->reasons.n - 1);
    hash_put(&b->by_reason, k, h, *out);
    return true;
}

static bool add_part(bill *b, uint32_t of, const bill_reason *r, int64_t sum, uint64_t n, err *e)
{
    uint32_t reason, at;
    if (!reason_of(b, r, &reason, e)) return false;
    if (!hash_index_room(&b->by_part, b->a)) return err_memory(e);
    uint64_t h = hash_mix(b->by_part.seed, (uint64_t)of << 32 | reason);
    uint32_t k = hash_first(&b->by_part, h);
    bill_part *p = NULL;
    for (; !p && hash_next(&b->by_part, &k, h, &at); k++)
        if (b->parts.v[at].span == of && b->parts.v[at].reason == reason) p = &b->parts.v[at];
    if (!p) {
        if (!(p = vec_push(b->a, &b->parts))) return err_memory(e);
        *p = (bill_part){.span = of, .reason = reason};
        hash_put(&b->by_part, k, h, (uint32_t)(b->parts.n - 1));
    }
    p->sum = add_saturating(p->sum, sum, NULL);
    p->observations += n;
    return true;
}

/* ---- samples ---- */

/* Returns the kind of the samples of this profile; BILL_KINDS: they are not part of a bill. */
static bill_kind kind_of(const model *m, const profile *p)
{
    str type = dict_str(&m->dict, p->sample_type.type);
    if (!str_eq(dict_str(&m->dict, p->sample_type.unit), STR("nanoseconds"))) return BILL_KINDS;
    return str_eq(type, STR("cpu"))       ? BILL_ON_CPU
           : str_eq(type, STR("off_cpu")) ? BILL_BLOCKED
                                          : BILL_KINDS;
}

static bill_reason plain_reason(bill_kind k)
{
    return (bill_reason){.kind = k, .state = STR(""), .detail = STR(""), .syscall = STR("")};
}

static bill_reason wait_of(const model *m, const sample *s)
{
    bill_reason r = plain_reason(BILL_BLOCKED);
    for (uint32_t i = 0; i < s->n_attrs; i++) {
        const attribute *x = &m->dict.attributes.v[s->attrs[i]];
        str key = dict_str(&m->dict, x->key);
        if (x->value.kind != ANY_STRING) continue;
        if (str_eq(key, STR(ATTR_THREAD_STATE))) r.state = any_str(&x->value);
        if (str_eq(key, STR(KILN_ATTR_THREAD_STATE))) r.detail = any_str(&x->value);
        if (str_eq(key, STR(KILN_ATTR_WAIT_SYSCALL))) r.syscall = any_str(&x->value);
    }
    return str_eq(r.state, STR("unscheduled")) ? plain_reason(BILL_RUNNABLE) : r;
}

static bool add_sample(bill *b, const model *m, const profile *p, bill_kind k, const sample *s,
                       err *e)
{
    extent length = extent_of(m, p);
    static const link_ids none;
    const link_ids *l = &m->dict.links.v[s->link];
    uint32_t thread, at;
    uint64_t start, end;
    if (!memcmp(l, &none, sizeof none)) return true;
    if (!thread_of(b, m, p, s, &thread, e) || !span_of(b, l, thread, true, &at, e)) return false;
    for (uint32_t i = 0; i < s->n_times; i++) {
        bill_span *x = &b->v.v[at];
        extent_at(&length, s, i, &start, &end);
        if (!x->last || start < x->first) x->first = start;
        if (end > x->last) x->last = end;
    }
    bill_reason r = k == BILL_ON_CPU ? plain_reason(k) : wait_of(m, s);
    return add_part(b, at, &r, sample_total(s, NULL), sample_observations(s), e);
}

bool bill_add(bill *b, const model *m, err *e)
{
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        bill_kind k = kind_of(m, p);
        if (k == BILL_KINDS) continue;
        if (k == BILL_ON_CPU && p->period > 0 && (uint64_t)p->period > b->period)
            b->period = (uint64_t)p->period;
        b->off_cpu |= k == BILL_BLOCKED && p->n_samples;
        for (size_t j = 0; p->link && j < p->n_samples; j++) {
            sample s = sample_at(m, p, j);
            if (!stopper_step(b->stop, 1 + s.n_times, e) || !add_sample(b, m, p, k, &s, e))
                return false;
        }
    }
    return true;
}

bool bill_range(const bill *b, uint64_t *start, uint64_t *end)
{
    *start = UINT64_MAX, *end = 0;
    for (size_t i = 0; i < b->v.n; i++) {
        if (!b->v.v[i].last) continue;
        if (b->v.v[i].first < *start) *start = b->v.v[i].first;
        if (b->v.v[i].last > *end) *end = b->v.v[i].last;
    }
    return *end > 0;
}

/* ---- the time in other spans ---- */

/* Returns the part of observation i that lies between the first and the last one of the span.  CPU
 * time has no exact place: it counts where its timestamp is. */
static int64_t within(const bill_span *x, bill_kind k, const sample *s, uint32_t i)
{
    if (s->n_values != s->n_times || s->values[i] <= 0) return 0;
    uint64_t t = s->times[i], end = t + (uint64_t)s->values[i];
    if (k == BILL_ON_CPU) return t > x->first && t <= x->last ? s->values[i] : 0;
    if (t < x->first) t = x->first;
    if (end > x->last) end = x->last;
    return end > t ? (int64_t)(end - t) : 0;
}

static bool add_other(bill *b, const model *m, const profile *p, bill_kind k, const sample *s,
                      size_t n_threads, err *e)
{
    const link_ids *l = &m->dict.links.v[s->link];
    uint32_t thread;
    if (!thread_of(b, m, p, s, &thread, e)) return false;
    if (thread >= n_threads) return true;
    b->off_cpu |= k == BILL_BLOCKED;
    for (size_t j = 0; j < b->v.n; j++) {
        bill_span *x = &b->v.v[j];
        if (x->thread != thread || !memcmp(&x->link, l, sizeof *l)) continue;
        if (!stopper_step(b->stop, s->n_times, e)) return false;
        for (uint32_t i = 0; i < s->n_times; i++) {
            x->other = add_saturating(x->other, within(x, k, s, i), NULL);
        }
    }
    return true;
}

bool bill_add_others(bill *b, const model *m, err *e)
{
    size_t n_threads = b->threads.v.n; /* those that the model adds have no span of the bill */
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        bill_kind k = kind_of(m, p);
        for (size_t j = 0; k != BILL_KINDS && j < p->n_samples; j++) {
            sample s = sample_at(m, p, j);
            if (!stopper_step(b->stop, 1 + b->v.n, e) || !add_other(b, m, p, k, &s, n_threads, e))
                return false;
        }
    }
    return true;
}

/* ---- the end ---- */

static int by_span(const void *x, const void *y, void *of)
{
    const bill_part *a = x, *c = y;
    const bill *b = of;
    bill_kind k = b->reasons.v[a->reason].kind, l = b->reasons.v[c->reason].kind;
    if (a->span != c->span) return a->span < c->span ? -1 : 1;
    if (k != l) return k < l ? -1 : 1;
    if (a->sum != c->sum) return a->sum > c->sum ? -1 : 1;
    return (a->reason > c->reason) - (a->reason < c->reason);
}

static int longest_first(const void *x, const void *y, void *of)
{
    const bill *b = of;
    uint32_t i = *(const uint32_t *)x, j = *(const uint32_t *)y;
    const bill_span *a = &b->v.v[i], *c = &b->v.v[j];
    if (a->wall != c->wall) return a->wall > c->wall ? -1 : 1;
    int d = memcmp(&a->link, &c->link, sizeof a->link);
    return d ? d : (i > j) - (i < j);
}

static bool sort_spans(bill *b, err *e)
{
    size_t n = b->v.n;
    uint32_t *order = arena_new(b->a, uint32_t, n + 1), *place = arena_new(b->a, uint32_t, n + 1);
    bill_span *sorted = arena_new(b->a, bill_span, n + 1);
    if (!order || !place || !sorted) return err_memory(e);
    for (uint32_t i = 0; i < n; i++) order[i] = i;
    if (n) qsort_r(order, n, sizeof *order, longest_first, b);
    for (uint32_t i = 0; i < n; i++) {
        sorted[i] = b->v.v[order[i]];
        place[order[i]] = i;
    }
    b->v.v = sorted;
    for (size_t i = 0; i < b->parts.n; i++) b->parts.v[i].span = place[b->parts.v[i].span];
    if (b->parts.n) qsort_r(b->parts.v, b->parts.n, sizeof *b->parts.v, by_span, b);
    return true;
}

bool bill_close(bill *b, err *e)
{
    int64_t *sum = arena_new(b->a, int64_t, b->v.n + 1);
    if (!sum) return err_memory(e);
    for (size_t i = 0; i < b->parts.n; i++) {
        int64_t *s = &sum[b->parts.v[i].span];
        *s = add_saturating(*s, b->parts.v[i].sum, NULL);
    }
    for (uint32_t i = 0; i < b->v.n; i++) {
        bill_span *x = &b->v.v[i];
        int64_t length = (int64_t)((x->last - x->first) & INT64_MAX);
        /* The CPU time before the first wait is part of a later observation, so the parts can be
         * longer than the time between the observations. */
        x->wall = length > sum[i] ? length : sum[i];
        int64_t rest = x->wall - sum[i], other = x->other < rest ? x->other : rest;
        bill_reason r = plain_reason(BILL_OTHER_SPAN);
        if (other > 0 && !add_part(b, i, &r, other, 0, e)) return false;
        r.kind = BILL_UNACCOUNTED;
        if (rest > other && !add_part(b, i, &r, rest - other, 0, e)) return false;
    }
    return sort_spans(b, e);
}
