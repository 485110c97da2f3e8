/* Finds queries with the same key and decides whether a new request may join them. It only
 * allocates memory, so that a test can use it without a pool. */
#include "server/flight.h"

#include "server/pyroscope.h"
#include "base/ban.h"
#include <stdlib.h>

/* ---- keys ---- */

static void put_text(buf *b, str s)
{
    buf_u64(b, s.n);
    buf_putc(b, ':');
    buf_str(b, s);
}

static int by_key(const void *a, const void *b)
{
    return str_cmp((*(const param *const *)a)->key, (*(const param *const *)b)->key);
}

void flight_key(const query *k, buf *out)
{
    const param *sorted[PARAMS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < k->p.v.n; i++)
        if (!str_eq(k->p.v.v[i].key, STR("encoding"))) sorted[n++] = &k->p.v.v[i];
    if (n) qsort(sorted, n, sizeof *sorted, by_key);
    put_text(out, k->p.path);
    if (k->call) {
        const pyro_call *c = k->call;
        buf_printf(out, "%d%d%d", c->dialect, c->packs, c->utf8);
        put_text(out, c->message);
        if (c->method->alone) buf_printf(out, "%p", (const void *)c);
    } else {
        put_text(out, str_of(k->as->name));
    }
    buf_putc(out, k->takes_gzip ? 'z' : '-');
    for (size_t i = 0; i < n; i++) put_text(out, sorted[i]->key), put_text(out, sorted[i]->value);
}

bool flight_uses_now(const params *p)
{
    static const char *const times[] = {"start", "end", "base_start", "base_end"};
    for (size_t i = 0; i < ARRAY_LEN(times); i++)
        if (str_starts(params_get(p, times[i]), STR("now"))) return true;
    return !params_get(p, "end").p;
}

/* ---- all flights ---- */

static bool may_join(const flight *f, const flight_moment *at)
{
    uint64_t began = atomic_load_explicit(&f->began, memory_order_acquire);
    if (!f->n_waiters || f->n_ended == f->n_waiters) return false; /* about to be cancelled */
    if (!began) return at->now - f->arrived <= f->max_ns / 2;
    return f->stored == at->stored && (!f->uses_now || at->now - began <= FLIGHT_JOIN_NS);
}

flight *flights_find(const flights *all, str key, const flight_moment *at)
{
    for (flight *f = all->first; f; f = f->next)
        if (str_eq(buf_view(&f->key), key) && may_join(f, at)) return f;
    return NULL;
}

void flights_add(flights *all, flight *f)
{
    f->next = all->first;
    all->first = f;
}

void flights_remove(flights *all, flight *f)
{
    for (flight **at = &all->first; *at; at = &(*at)->next)
        if (*at == f) {
            *at = f->next;
            return;
        }
}

/* ---- one flight ---- */

static void publish(flight *f)
{
    atomic_store_explicit(&f->gone, !f->n_waiters, memory_order_relaxed);
    atomic_store_explicit(&f->ended, f->n_ended == f->n_waiters, memory_order_relaxed);
}

waiter *flight_add(flight *f, struct http_exchange *x, const flight_moment *at)
{
    waiter *w = malloc(sizeof *w), **end = &f->waiters;
    if (!w) return NULL;
    *w = (waiter){.of = f, .x = x};
    while (*end) end = &(*end)->next;
    *end = w;
    f->n_waiters++;
    if (!atomic_load_explicit(&f->began, memory_order_acquire)) f->stored = at->stored;
    publish(f);
    return w;
}

void flight_leave(waiter *w)
{
    flight *f = w->of;
    waiter **at = &f->waiters;
    while (*at != w) at = &(*at)->next;
    *at = w->next;
    f->n_waiters--;
    f->n_ended -= w->ended;
    free(w);
    publish(f);
}

void flight_ended(waiter *w)
{
    if (w->ended) return;
    w->ended = true;
    w->of->n_ended++;
    publish(w->of);
}

struct http_exchange *flight_take(flight *f)
{
    waiter *w = f->waiters;
    if (!w) return NULL;
    struct http_exchange *x = w->x;
    flight_leave(w);
    return x;
}
