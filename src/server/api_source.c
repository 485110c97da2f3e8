/* Runs requests for source files.  Everything but `work` is in the loop's thread. */
#include "server/api_source.h"

#include "debuginfod/debuginfod.h"
#include "debuginfod/path.h"
#include "server/api_reply.h"
#include "server/flight.h"
#include "server/query.h"
#include "server/source_cache.h"
#include "base/ban.h"
#include <stdlib.h>

#define PATH "/api/v1/source"
#define MAX_FILE ((size_t)4 << 20)
#define MAX_NS (20 * NS_PER_S)
#define UNKNOWN_NS (60 * NS_PER_S) /* how long the cache remembers that a file is unknown ... */
#define FAILED_NS (5 * NS_PER_S)   /* ... and that the server failed */
enum { THREADS = 2, QUEUE = 64 };

/* A client with its users, so that a reload may replace it during a fetch. */
typedef struct upstream {
    debuginfod *client;
    size_t users;
} upstream;

struct api_source {
    loop *loop;
    pool *pool;
    upstream *upstream; /* NULL: source.debuginfod is not set */
    flights under_way;
    source_cache cache;
    api_source_counts n;
    atomic_bool ending; /* read by worker threads */
};

typedef struct source_job {
    flight f; /* first member: the pool returns it */
    api_source *of;
    upstream *from;
    buf path; /* of the request to debuginfod, and the key of the cache */
    stopper stop;
    loop_timer expiry; /* while it waits in the pool */
    debuginfod_result result;
    buf body;
    err e;
} source_job;

bool api_source_has(const http_message *m)
{
    const size_t n = sizeof PATH - 1;
    return str_starts(m->path, STR(PATH)) && (m->path.n == n || m->path.p[n] == '?');
}

/* ---- clients ---- */

static void release(upstream *u)
{
    if (!u || --u->users) return;
    debuginfod_close(u->client);
    free(u);
}

void api_source_use(api_source *a, debuginfod *d)
{
    upstream *next = d ? malloc(sizeof *next) : NULL;
    if (next) *next = (upstream){.client = d, .users = 1};
    if (!next) debuginfod_close(d); /* out of memory: as without a client */
    release(a->upstream);
    a->upstream = next;
    source_cache_clear(&a->cache);
}

bool api_source_active(const api_source *a) { return a->upstream != NULL; }

/* ---- in the pool ---- */

static bool is_over(void *ctx, err *e)
{
    source_job *q = ctx;
    if (atomic_load_explicit(&q->f.gone, memory_order_relaxed))
        return !err_set(e, ERR_SYS, "no client waits for the file any more");
    if (atomic_load_explicit(&q->f.ended, memory_order_relaxed) && pool_waiting(q->of->pool))
        return !err_set(e, ERR_BUSY,
                        "cancelled: the client may have disconnected, and other requests wait");
    if (atomic_load_explicit(&q->of->ending, memory_order_relaxed))
        return !err_set(e, ERR_BUSY, "the server is shutting down");
    return false;
}

static void work(job *j)
{
    source_job *q = (source_job *)j;
    uint64_t began = world_now(loop_world(q->of->loop)), waited = began - q->f.arrived;
    atomic_store_explicit(&q->f.began, began, memory_order_release);
    debuginfod_request r = {.path = buf_view(&q->path),
                            .max = MAX_FILE,
                            .timeout = q->f.max_ns > waited ? q->f.max_ns - waited : 1,
                            .stop = &q->stop};
    q->e = (err){0};
    q->result = debuginfod_fetch(q->from->client, &r, &q->body, &q->e);
}

/* ---- responses ---- */

static unsigned status_of(debuginfod_result r)
{
    switch (r) {
    case DEBUGINFOD_FOUND: return 200;
    case DEBUGINFOD_UNKNOWN: return 404;
    case DEBUGINFOD_FAILED: return 502;
    case DEBUGINFOD_LATE: return 504;
    case DEBUGINFOD_STOPPED: break;
    }
    return 503;
}

static void fail(api_source *a, http_exchange *x, unsigned status, const err *e)
{
    a->n.pressed += status == 503;
    a->n.wrong += status == 400;
    api_reply_error_as(x, status, e, status == 503);
}

/* The type is always text/plain, whatever the other server declares: a browser must not run the
 * file. */
static void reply(api_source *a, http_exchange *x, unsigned status, str text)
{
    const http_header head[] = {
        {STR("content-type"), STR("text/plain; charset=utf-8")},
        {STR("cache-control"), STR("no-store")},
        {STR("content-security-policy"), STR("default-src 'none'; sandbox")},
        {STR("x-content-type-options"), STR("nosniff")}};
    err e = {0};
    buf body = {0};
    if (status != 200) {
        err_set(&e, ERR_SYS, "%.*s", STR_ARG(text));
        fail(a, x, status, &e);
        return;
    }
    buf_str(&body, text);
    if (http_exchange_fits(x, text.n) && !body.failed) {
        http_respond(x, &(http_response){
                            .status = 200, .head = head, .n_head = ARRAY_LEN(head), .body = &body});
        return;
    }
    buf_free(&body);
    err_set(&e, ERR_BUSY, "too many responses wait for their clients");
    fail(a, x, 503, &e);
}

/* ---- jobs ---- */

static void free_job(source_job *q)
{
    flights_remove(&q->of->under_way, &q->f);
    loop_disarm(q->of->loop, &q->expiry);
    release(q->from);
    buf_free(&q->f.key);
    buf_free(&q->path);
    buf_free(&q->body);
    free(q);
}

/* How long a result is remembered.  A timeout is not: it depends on the request. */
static uint64_t remembered_until(const source_job *q, uint64_t now)
{
    switch (q->result) {
    case DEBUGINFOD_FOUND: return UINT64_MAX; /* a build id names one build */
    case DEBUGINFOD_UNKNOWN: return now + UNKNOWN_NS;
    case DEBUGINFOD_FAILED: return now + FAILED_NS;
    case DEBUGINFOD_LATE:
    case DEBUGINFOD_STOPPED: break;
    }
    return 0;
}

static void finish(source_job *q)
{
    api_source *a = q->of;
    char text[400];
    unsigned status = status_of(q->result);
    uint64_t now = loop_now(a->loop), until = remembered_until(q, now);
    if (status != 200) buf_reset(&q->body), buf_z(&q->body, err_text(&q->e, text, sizeof text));
    a->n.fetched += q->result == DEBUGINFOD_FOUND;
    a->n.unknown += q->result == DEBUGINFOD_UNKNOWN;
    a->n.failed += q->result == DEBUGINFOD_FAILED || q->result == DEBUGINFOD_LATE;
    for (http_exchange *x; (x = flight_take(&q->f));) {
        *http_exchange_user(x) = NULL;
        reply(a, x, status, buf_view(&q->body));
    }
    if (until && q->from == a->upstream && !q->body.failed)
        source_cache_put(&a->cache, buf_view(&q->path), status, &q->body, until);
    free_job(q);
}

static void done(job *j) { finish((source_job *)j); }

static void on_expiry(void *ctx)
{
    source_job *q = ctx;
    if (!pool_cancel(q->of->pool, &q->f.job)) return; /* it runs: its timeout ends it */
    q->e = (err){0};
    q->result = DEBUGINFOD_STOPPED;
    err_set(&q->e, ERR_BUSY, "max_time: too many source files are requested at once");
    finish(q);
}

static source_job *new_job(api_source *a)
{
    source_job *q = calloc(1, sizeof *q);
    if (!q) return NULL;
    q->of = a;
    q->f.job = (job){.work = work, .done = done};
    q->f.arrived = loop_now(a->loop);
    q->f.max_ns = MAX_NS;
    q->stop = (stopper){.over = is_over, .ctx = q};
    q->expiry = (loop_timer){.due = on_expiry, .ctx = q};
    q->result = DEBUGINFOD_STOPPED; /* if the pool closes before the job runs */
    err_set(&q->e, ERR_BUSY, "the server is shutting down");
    return q;
}

/* ---- requests ---- */

static bool take_request(source_job *q, const http_message *m, err *e)
{
    arena a = {.budget = (size_t)1 << 20};
    params p;
    bool ok =
        params_parse(m->path, &a, &p, e) && query_check_params(api_route_named("source"), &p, e) &&
        params_duration(&p, "max_time", &q->f.max_ns, e) &&
        debuginfod_source_path(params_get(&p, "build_id"), params_get(&p, "path"), &q->path, e);
    arena_free(&a);
    if (!q->f.max_ns || q->f.max_ns > MAX_NS) q->f.max_ns = MAX_NS;
    buf_str(&q->f.key, buf_view(&q->path));
    buf_printf(&q->f.key, " %llu", (unsigned long long)q->f.max_ns);
    return ok && (!q->f.key.failed || err_memory(e));
}

/* Lets x wait for an equal job, or for q, which then starts.  A reload may have replaced the client
 * of the equal job. */
static void join(source_job *q, http_exchange *x)
{
    api_source *a = q->of;
    err e = {0};
    flight_moment at = {q->f.arrived, 0};
    flight *equal = flights_find(&a->under_way, buf_view(&q->f.key), &at);
    if (equal && ((source_job *)equal)->from != a->upstream) equal = NULL;
    waiter *w = flight_add(equal ? equal : &q->f, x, &at);
    *http_exchange_user(x) = w;
    if (!w) {
        err_memory(&e);
        fail(a, x, 503, &e);
        free_job(q);
    } else if (equal) {
        a->n.coalesced++;
        free_job(q);
    } else {
        q->from = a->upstream;
        q->from->users++;
        flights_add(&a->under_way, &q->f);
        loop_arm(a->loop, &q->expiry, q->f.arrived + q->f.max_ns);
        if (pool_submit(a->pool, &q->f.job)) return;
        q->e = (err){0};
        err_set(&q->e, ERR_BUSY, "too many source files are requested at once");
        finish(q);
    }
}

static void start(source_job *q, http_exchange *x)
{
    api_source *a = q->of;
    err e = {0};
    const source_entry *had;
    if (!take_request(q, http_exchange_message(x), &e)) {
        fail(a, x, e.code == ERR_MEMORY ? 503 : 400, &e);
    } else if (!a->upstream) {
        err_set(&e, ERR_UNSUPPORTED,
                "this server has no source files: source.debuginfod is not set");
        fail(a, x, 404, &e);
    } else if ((had = source_cache_find(&a->cache, buf_view(&q->path), q->f.arrived))) {
        a->n.cached++;
        reply(a, x, had->status, buf_view(&had->text));
    } else {
        join(q, x);
        return;
    }
    free_job(q);
}

void api_source_request(api_source *a, http_exchange *x)
{
    err e = {0};
    str method = http_exchange_message(x)->method;
    a->n.requests++;
    if (!str_eq(method, STR("GET")) && !str_eq(method, STR("HEAD"))) {
        a->n.wrong++;
        api_reply_method(x, "GET, HEAD");
        return;
    }
    source_job *q = new_job(a);
    if (q) {
        start(q, x);
        return;
    }
    err_memory(&e);
    fail(a, x, 503, &e);
}

void api_source_gone(api_source *a, http_exchange *x)
{
    waiter *w = *http_exchange_user(x);
    if (!w) return;
    source_job *q = (source_job *)w->of;
    flight_leave(w);
    if (!q->f.n_waiters && pool_cancel(a->pool, &q->f.job)) free_job(q);
}

void api_source_ended(http_exchange *x)
{
    waiter *w = *http_exchange_user(x);
    if (w) flight_ended(w);
}

void api_source_reap(api_source *a)
{
    if (a) pool_reap(a->pool);
}

api_source_counts api_source_count(const api_source *a) { return a->n; }

/* ---- open and close ---- */

api_source *api_source_open(loop *l, err *e)
{
    api_source *a = calloc(1, sizeof *a);
    if (!a) return err_memory(e), NULL;
    a->loop = l;
    if ((a->pool = pool_open(l, THREADS, QUEUE, e))) return a;
    free(a);
    return NULL;
}

void api_source_end(api_source *a)
{
    if (!a) return;
    atomic_store_explicit(&a->ending, true, memory_order_relaxed);
    pool_close(a->pool);
    a->pool = NULL;
}

void api_source_close(api_source *a)
{
    if (!a) return;
    release(a->upstream);
    source_cache_clear(&a->cache);
    free(a);
}
