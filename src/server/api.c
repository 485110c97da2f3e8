/* Schedules queries: parses a request, joins an equal running query or starts a job in the pool,
 * and sends the response to all waiting clients.  Runs in the loop's thread, except for the
 * functions under "in the pool". */
#include "server/api.h"

#include "server/api_reply.h"
#include "server/body_out.h"
#include "server/client_err.h"
#include "server/flight.h"
#include "server/ingest.h"
#include "server/pyroscope.h"
#include "server/pyroscope_adhoc.h"
#include "base/ban.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_READERS = 8, MAX_RETRY_S = 60 };
#define ROOT "/api/v1/"
#define MAX_NS (20 * NS_PER_S)
#define MEMORY ((size_t)512 << 20)
#define MIN_WAIT_NS NS_PER_S /* a query may wait this long, however small its max_time is */

typedef struct query_job {
    flight f; /* first member: the pool returns it */
    api *of;
    query k;
    arena arena;
    err e;
    unsigned retry; /* seconds for Retry-After of an error; 0: none */
    stopper stop;
    loop_timer expiry; /* while it waits in the pool */
    uint64_t worked;   /* ns of computation */
    bool unspilled;    /* the body is large but not in a file */
} query_job;

struct api {
    loop *loop;
    pool *pool;
    api_opts o;
    api_counted n;
    flights under_way;
    uint64_t usual_ns;  /* moving average of the computation time */
    atomic_bool ending; /* read by worker threads */
    uint64_t seed;      /* random, for hash tables */
    query_files files;
    adhoc *adhoc;
    pthread_mutex_t lock; /* protects `idle` */
    store_reader *readers[MAX_READERS];
    store_reader *idle[MAX_READERS];
    unsigned n_readers, n_idle;
};

/* ---- readers ---- */

static store_reader *take_reader(api *a)
{
    pthread_mutex_lock(&a->lock);
    store_reader *r = a->n_idle ? a->idle[--a->n_idle] : NULL;
    pthread_mutex_unlock(&a->lock);
    return r;
}

static void return_reader(api *a, store_reader *r)
{
    pthread_mutex_lock(&a->lock);
    a->idle[a->n_idle++] = r;
    pthread_mutex_unlock(&a->lock);
}

bool api_has(const http_message *m) { return pyroscope_has(m) || str_starts(m->path, STR(ROOT)); }

/* ---- in the pool ---- */

/* Returns whether a query must end. Waiting and reading may take max_time; the computation after
 * that may take half of it, at least a second. */
static bool is_over(void *ctx, err *e)
{
    query_job *q = ctx;
    const api *a = q->of;
    const uint64_t read = q->f.max_ns, rest = read / 2 > NS_PER_S ? read / 2 : NS_PER_S;
    if (atomic_load_explicit(&q->f.gone, memory_order_relaxed))
        return !err_set(e, ERR_SYS, "no client waits for the response any more");
    if (atomic_load_explicit(&q->f.ended, memory_order_relaxed) && pool_waiting(a->pool)) {
        q->retry = 1;
        return !err_set(e, ERR_BUSY,
                        "the query was cancelled: the client may have disconnected, and other "
                        "queries are waiting");
    }
    if (atomic_load_explicit(&a->ending, memory_order_relaxed)) {
        q->retry = 1;
        return !err_set(e, ERR_LIMIT, "the server is shutting down");
    }
    if (world_now(loop_world(a->loop)) - q->f.arrived <= read + rest) return false;
    return !err_set(e, ERR_BUSY, "max_time: the query took too long; narrow it");
}

/* Frees the unused memory of a buffer that grew by doubling. */
static void shrink(buf *b)
{
    if (!b->n || b->head + b->cap - b->n <= b->n / 8) return;
    char *base = b->p - b->head; /* a backward writer leaves space before the data */
    memmove(base, b->p, b->n);
    *b = (buf){.p = base, .n = b->n, .cap = b->head + b->cap};
    char *p = realloc(base, b->n);
    if (p) b->p = p, b->cap = b->n;
}

static void run_query(query_job *q)
{
    api *a = q->of;
    if (!stopper_now(&q->stop, &q->e)) return;
    if (!(q->k.store = take_reader(a))) {
        err_set(&q->e, ERR_BUSY, "too many queries at once");
        q->retry = 1;
        return;
    }
    if (!query_run(&q->k, &q->e) && !q->e.code) err_memory(&q->e);
    return_reader(a, q->k.store);
}

/* Moves a large body to disk, because clients may need minutes to read it. */
static void spill_body(query_job *q)
{
    err ignored = {0}; /* failures are counted; the body stays in memory */
    if (q->e.code || q->k.body.n < BODY_SPILL) return;
    if (spill_write(q->of->o.dir, buf_view(&q->k.body), &q->k.file, &ignored))
        buf_free(&q->k.body);
    else
        q->unspilled = true;
}

/* The rooms below know no limit of a query, only that memory ran out. */
static void add_limit(query_job *q)
{
    err why = q->e;
    q->e = (err){0};
    (void)err_set(&q->e, why.code,
                  "%s (the limit of a query is %zu MiB: select less time or fewer services)",
                  why.msg, q->of->o.memory >> 20);
}

static void work(job *j)
{
    query_job *q = (query_job *)j;
    const world *w = loop_world(q->of->loop);
    uint64_t began = world_now(w), waited = began - q->f.arrived;
    atomic_store_explicit(&q->f.began, began, memory_order_release);
    q->e = (err){0};
    q->retry = 0;
    q->k.now = w->wall(w->ctx);
    q->k.budget.max_ns = q->f.max_ns > waited ? q->f.max_ns - waited : 1;
    run_query(q);
    if (q->e.code == ERR_MEMORY) add_limit(q);
    arena_free(&q->arena); /* only the body is needed from now on, and it may wait for the loop */
    shrink(&q->k.body);
    spill_body(q);
    q->worked = world_now(w) - began;
}

/* ---- responses ---- */

static uint64_t *counter_of(api *a, const err *e)
{
    switch (api_status_of(e)) {
    case 200: return &a->n.answered;
    case 400:
    case 404: return &a->n.wrong;
    case 503: return &a->n.pressed;
    default: return &a->n.failed;
    }
}

static void fail(api *a, http_exchange *x, const err *e, unsigned retry)
{
    err shown;
    char peer[INGEST_NAME], text[400];
    ++*counter_of(a, e);
    if (e->code == ERR_SYS && a->o.refused) { /* only the log gets the file's name */
        ingest_name_sender(x, peer);
        a->o.refused(a->o.ctx, peer, VERDICT_UNAVAILABLE, err_text(e, text, sizeof text));
    }
    client_err(e, a->o.dir, &shown);
    api_reply_error(x, &shown, retry);
}

static bool no_room(err *e)
{
    return err_set(e, ERR_BUSY, "too many responses wait for their clients");
}

static void succeed_file(query_job *q, http_exchange *x)
{
    api *a = q->of;
    err e = {0};
    spill own;
    if (!http_exchange_fits_file(x, q->k.file.size) || !spill_share(&q->k.file, &own)) {
        no_room(&e);
        return fail(a, x, &e, 1);
    }
    a->n.answered++;
    a->n.partial += q->k.scanned.partial;
    api_reply(x, &q->k, NULL, &own);
}

/* All waiting clients but the last one get a copy of the body. */
static void succeed(query_job *q, http_exchange *x)
{
    api *a = q->of;
    err e = {0};
    buf copy = {0}, *body = &q->k.body;
    if (!http_exchange_fits(x, body->head + body->cap)) {
        no_room(&e);
        return fail(a, x, &e, 1);
    }
    if (q->f.waiters) {
        buf_put(&copy, body->p, body->n);
        if (copy.failed) {
            err_memory(&e);
            return fail(a, x, &e, 1);
        }
        body = &copy;
    }
    a->n.answered++;
    a->n.partial += q->k.scanned.partial;
    api_reply(x, &q->k, body, NULL);
}

static void free_job(query_job *q)
{
    flights_remove(&q->of->under_way, &q->f);
    loop_disarm(q->of->loop, &q->expiry);
    buf_free(&q->f.key);
    buf_free(&q->k.body);
    spill_close(&q->k.file);
    arena_free(&q->arena);
    free(q);
}

static void finish(query_job *q)
{
    for (http_exchange *x; (x = flight_take(&q->f));) {
        *http_exchange_user(x) = NULL;
        if (q->e.code)
            fail(q->of, x, &q->e, q->retry);
        else if (q->k.file.fd >= 0)
            succeed_file(q, x);
        else
            succeed(q, x);
    }
    free_job(q);
}

static void worked(job *j)
{
    enum { SHARE = 8 };
    query_job *q = (query_job *)j;
    api *a = q->of;
    uint64_t began = atomic_load_explicit(&q->f.began, memory_order_relaxed);
    if (began) {
        a->n.waited_ms += (began - q->f.arrived) / NS_PER_MS;
        a->n.computed++;
        a->n.spilled += q->k.file.fd >= 0;
        a->n.unspilled += q->unspilled;
        a->usual_ns += q->worked / SHARE - a->usual_ns / SHARE;
    }
    finish(q);
}

/* ---- the queue ---- */

/* Estimates the seconds until the current queue is done. */
static unsigned retry_after(const api *a)
{
    uint64_t ns = (pool_waiting(a->pool) + 1) * a->usual_ns / a->o.readers;
    return ns / NS_PER_S < MAX_RETRY_S ? 1 + (unsigned)(ns / NS_PER_S) : MAX_RETRY_S;
}

static void on_expiry(void *ctx)
{
    query_job *q = ctx;
    if (!pool_cancel(q->of->pool, &q->f.job)) return; /* the query has started: is_over ends it */
    q->e = (err){0};
    q->retry = retry_after(q->of);
    q->of->n.expired += q->f.n_waiters;
    q->of->n.waited_ms += (loop_now(q->of->loop) - q->f.arrived) / NS_PER_MS;
    err_set(&q->e, ERR_BUSY, "max_time: too many queries at once; this one did not start in time");
    finish(q);
}

static void enqueue(query_job *q)
{
    api *a = q->of;
    uint64_t most = q->f.max_ns > MIN_WAIT_NS ? q->f.max_ns : MIN_WAIT_NS;
    q->retry = 1;
    err_set(&q->e, ERR_LIMIT,
            "the server is shutting down"); /* if the pool closes before the job runs */
    flights_add(&a->under_way, &q->f);
    if (pool_submit(a->pool, &q->f.job)) {
        loop_arm(a->loop, &q->expiry, q->f.arrived + most);
        return;
    }
    q->e = (err){0};
    q->retry = retry_after(a);
    a->n.queue_full++;
    err_set(&q->e, ERR_BUSY, "too many queries at once: the queue is full");
    finish(q);
}

/* ---- the loop's side ---- */

/* Returns the encoding that Accept prefers; the last of equally preferred ones, because a client
 * has to name that explicitly. */
static const response_encoding *accepted(const http_headers *h)
{
    const response_encoding *best = NULL;
    int most = 1;
    for (size_t i = 0; i < RESPONSE_ENCODINGS; i++) {
        int q = http_headers_quality(h, "accept", str_of(response_encodings[i].type));
        if (q >= most) most = q, best = &response_encodings[i];
    }
    return best;
}

static bool take_route(query *k, err *e)
{
    const size_t n = strlen(ROOT);
    if (!str_starts(k->p.path, STR(ROOT)) ||
        !(k->route = api_route_of((str){k->p.path.p + n, k->p.path.n - n}, &k->rest)))
        return err_set(e, ERR_UNSUPPORTED,
                       "unknown endpoint; docs/query-api.md lists the endpoints");
    return query_prepare(k, e);
}

static bool take_request(query_job *q, http_exchange *x, err *e)
{
    http_message *m = http_exchange_message(x);
    if (!params_parse(m->path, &q->arena, &q->k.p, e)) return false;
    q->k.a = &q->arena;
    q->k.stop = &q->stop;
    q->k.accepted = accepted(&m->head);
    q->k.takes_gzip = http_takes_gzip(&m->head);
    q->k.budget = (store_budget){.max_ns = q->of->o.max_ns};
    q->k.files = &q->of->files;
    q->k.settings = q->of->o.settings;
    q->k.adhoc = q->of->adhoc;
    q->k.max_file = http_exchange_max_file(x);
    if (!(pyroscope_has(m) ? pyroscope_read(&q->k, m, e) : take_route(&q->k, e))) return false;
    flight_key(&q->k, &q->f.key);
    q->f.max_ns = q->k.budget.max_ns;
    q->f.uses_now = q->k.call ? q->k.call->method->plain : flight_uses_now(&q->k.p);
    if (q->f.key.failed) return err_memory(e);
    return http_exchange_fits(x, 0) || no_room(e);
}

static query_job *new_job(api *a)
{
    query_job *q = calloc(1, sizeof *q);
    if (!q) return NULL;
    q->f.job = (job){.work = work, .done = worked};
    q->f.arrived = loop_now(a->loop);
    q->of = a;
    q->k.file = SPILL_NONE;
    q->arena = (arena){.budget = a->o.memory, .seed = a->seed};
    q->stop = (stopper){.over = is_over, .ctx = q};
    q->expiry = (loop_timer){.due = on_expiry, .ctx = q};
    return q;
}

void api_request(api *a, http_exchange *x)
{
    err e = {0};
    str method = http_exchange_message(x)->method;
    a->n.questions++;
    if (pyroscope_has(http_exchange_message(x))) {
        if (pyroscope_reject(x)) {
            a->n.wrong++;
            return;
        }
    } else if (!str_eq(method, STR("GET")) && !str_eq(method, STR("HEAD"))) {
        a->n.wrong++;
        api_reply_method(x, "GET, HEAD");
        return;
    }
    query_job *q = new_job(a);
    if (!q) {
        err_memory(&e);
        fail(a, x, &e, 1);
        return;
    }
    if (!take_request(q, x, &e)) {
        fail(a, x, &e, e.code == ERR_BUSY);
        free_job(q);
        return;
    }
    flight_moment at = {q->f.arrived, a->o.acknowledged ? a->o.acknowledged(a->o.ctx) : 0};
    flight *equal = flights_find(&a->under_way, buf_view(&q->f.key), &at);
    waiter *w = flight_add(equal ? equal : &q->f, x, &at);
    *http_exchange_user(x) = w;
    if (!w) {
        err_memory(&e);
        fail(a, x, &e, 1);
        free_job(q);
    } else if (equal) {
        a->n.coalesced++;
        free_job(q);
    } else {
        enqueue(q);
    }
}

void api_gone(api *a, http_exchange *x)
{
    waiter *w = *http_exchange_user(x);
    if (!w) return;
    query_job *q = (query_job *)w->of;
    flight_leave(w);
    a->n.gone++;
    if (!q->f.n_waiters && pool_cancel(a->pool, &q->f.job)) free_job(q);
}

void api_ended(api *a, http_exchange *x)
{
    (void)a;
    waiter *w = *http_exchange_user(x);
    if (w) flight_ended(w);
}

void api_refuse(api *a, http_exchange *x, verdict v, const char *why)
{
    bool foreign = v == VERDICT_CROSS_SITE;
    char peer[INGEST_NAME];
    a->n.questions++;
    ++*(foreign ? &a->n.foreign : &a->n.unauthorized);
    ingest_name_sender(x, peer);
    if (a->o.refused) a->o.refused(a->o.ctx, peer, v, why);
    api_reply_refused(x, foreign ? 403 : 401, why);
}

api_counted api_count(const api *a) { return a->n; }

/* ---- open and close ---- */

api *api_open(loop *l, pool *p, const api_opts *o, err *e)
{
    api *a = calloc(1, sizeof *a);
    if (!a) return err_memory(e), NULL;
    a->loop = l, a->pool = p, a->o = *o;
    a->files.dir = a->o.dir;
    pthread_mutex_init(&a->lock, NULL);
    if (!a->o.readers) a->o.readers = 2;
    if (a->o.readers > MAX_READERS) a->o.readers = MAX_READERS;
    if (!a->o.max_ns) a->o.max_ns = MAX_NS;
    if (!a->o.memory) a->o.memory = MEMORY;
    if (!(a->adhoc = adhoc_open(e))) return api_close(a), NULL;
    a->seed = loop_world(l)->random(loop_world(l)->ctx);
    for (unsigned i = 0; i < a->o.readers; i++) {
        store_reader *r =
            store_add_reader(o->store, &(store_reader_opts){.log = o->say, .ctx = o->ctx}, e);
        if (!r) return api_close(a), NULL;
        a->readers[a->n_readers++] = r;
        a->idle[a->n_idle++] = r;
    }
    return a;
}

uint64_t api_damaged(const api *a)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < a->n_readers; i++) n += store_reader_damaged(a->readers[i]);
    return n;
}

void api_end(api *a)
{
    if (a) atomic_store_explicit(&a->ending, true, memory_order_relaxed);
}

void api_close(api *a)
{
    if (!a) return;
    for (unsigned i = 0; i < a->n_readers; i++) store_close_reader(a->readers[i]);
    pthread_mutex_destroy(&a->lock);
    adhoc_close(a->adhoc);
    free(a);
}
