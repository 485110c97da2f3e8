#include "server/api.h"

#include "server/api_reply.h"
#include "server/body_out.h"
#include "server/client_err.h"
#include "server/flight.h"
#include "server/ingest.h"
#include "base/ban.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_READERS = 8, MAX_RETRY_S = 60 };
#define ROOT "/api/v1/"
#define MAX_NS (20 * NS_PER_S)
#define MEMORY ((size_t)512 << 20)
#define MIN_WAIT_NS NS_PER_S /* a query may wait this long, however small its max_time is */

typedef struct question {
    flight f; /* first */
    api *of;
    ask k;
    arena arena;
    err e;
    unsigned retry; /* of an error: another try is worth it after so many seconds; 0: never */
    stopper stop;
    loop_timer expiry; /* while it waits in the pool */
    uint64_t worked;   /* ns of computing */
    bool unspilled;    /* the body is large, and in no file */
} question;

struct api {
    loop *loop;
    pool *pool;
    api_opts o;
    api_counted n;
    flights under_way;
    uint64_t usual_ns;  /* of computing: a moving average */
    atomic_bool ending; /* asked by those that work */
    uint64_t seed;      /* of hash tables: random */
    ask_files files;
    pthread_mutex_t lock; /* of `idle` */
    store *readers[MAX_READERS];
    store *idle[MAX_READERS];
    unsigned n_readers, n_idle;
};

/* ---- readers ---- */

static store *take_reader(api *a)
{
    pthread_mutex_lock(&a->lock);
    store *s = a->n_idle ? a->idle[--a->n_idle] : NULL;
    pthread_mutex_unlock(&a->lock);
    return s;
}

static void give_reader(api *a, store *s)
{
    pthread_mutex_lock(&a->lock);
    a->idle[a->n_idle++] = s;
    pthread_mutex_unlock(&a->lock);
}

/* ---- what was asked ---- */

bool api_has(const http_message *m) { return str_starts(m->path, STR(ROOT)); }

/* ---- in the pool ---- */

/* Waiting and reading end at max_time with what was found.  What is made of it has half as long again, and a second at least. */
static bool is_over(void *who, err *e)
{
    question *q = who;
    const api *a = q->of;
    const uint64_t read = q->f.max_ns, rest = read / 2 > NS_PER_S ? read / 2 : NS_PER_S;
    if (atomic_load_explicit(&q->f.gone, memory_order_relaxed))
        return !err_set(e, ERR_SYS, "nobody waits for the answer any more");
    if (atomic_load_explicit(&q->f.ended, memory_order_relaxed) && pool_waiting(a->pool)) {
        q->retry = 1;
        return !err_set(e, ERR_LIMIT, "others wait, and who asked this may be gone");
    }
    if (atomic_load_explicit(&a->ending, memory_order_relaxed)) {
        q->retry = 1;
        return !err_set(e, ERR_LIMIT, "the server is going away");
    }
    if (world_now(loop_world(a->loop)) - q->f.arrived <= read + rest) return false;
    return !err_set(e, ERR_LIMIT, "max_time: the answer took too long; ask for less");
}

/* A buffer that grows doubles: what it did not need is given back. */
static void shrink(buf *b)
{
    if (!b->n || b->head + b->cap - b->n <= b->n / 8) return;
    char *base = b->p - b->head; /* which a backward writer left */
    memmove(base, b->p, b->n);
    *b = (buf){.p = base, .n = b->n, .cap = b->head + b->cap};
    char *p = realloc(base, b->n);
    if (p) b->p = p, b->cap = b->n;
}

static void answer_question(question *q)
{
    api *a = q->of;
    if (!stopper_now(&q->stop, &q->e)) return;
    if (!(q->k.store = take_reader(a))) {
        err_set(&q->e, ERR_LIMIT, "too many questions at once");
        q->retry = 1;
        return;
    }
    if (!ask_answer(&q->k, &q->e) && !q->e.code) err_set(&q->e, ERR_LIMIT, "out of memory");
    give_reader(a, q->k.store);
}

/* Clients may take minutes for a large body: it waits for them on disk. */
static void spill_body(question *q)
{
    err ignored = {0}; /* counted; memory has to do */
    if (q->e.code || q->k.body.n < BODY_SPILL) return;
    if (spill_write(q->of->o.store, buf_view(&q->k.body), &q->k.file, &ignored))
        buf_free(&q->k.body);
    else
        q->unspilled = true;
}

static void work(job *j)
{
    question *q = (question *)j;
    const world *w = loop_world(q->of->loop);
    uint64_t began = world_now(w), waited = began - q->f.arrived;
    atomic_store_explicit(&q->f.began, began, memory_order_release);
    q->e = (err){0};
    q->retry = 0;
    q->k.now = w->wall(w->who);
    q->k.budget.max_ns = q->f.max_ns > waited ? q->f.max_ns - waited : 1;
    answer_question(q);
    arena_free(
        &q->arena); /* nothing but the body is wanted any more, and it may wait for the loop */
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
    err told;
    char peer[INGEST_NAME], text[400];
    ++*counter_of(a, e);
    if (e->code == ERR_SYS && a->o.refused) { /* the client is not told which file it was */
        ingest_name_sender(x, peer);
        a->o.refused(a->o.who, peer, VERDICT_UNAVAILABLE, err_text(e, text, sizeof text));
    }
    client_err(e, a->o.store, &told);
    api_reply_error(x, &told, retry);
}

static bool no_room(err *e)
{
    return err_set(e, ERR_LIMIT, "too many answers wait for those who asked");
}

static void succeed_file(question *q, http_exchange *x)
{
    api *a = q->of;
    err e = {0};
    spill own;
    if (!http_exchange_fits_file(x, q->k.file.size) || !spill_share(&q->k.file, &own)) {
        no_room(&e);
        return fail(a, x, &e, 1);
    }
    a->n.answered++;
    a->n.partial += q->k.looked.partial;
    api_reply(x, &q->k, NULL, &own);
}

/* Others wait for the same body: all but the last get a copy. */
static void succeed(question *q, http_exchange *x)
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
            err_set(&e, ERR_LIMIT, "out of memory");
            return fail(a, x, &e, 1);
        }
        body = &copy;
    }
    a->n.answered++;
    a->n.partial += q->k.looked.partial;
    api_reply(x, &q->k, body, NULL);
}

static void free_question(question *q)
{
    flights_remove(&q->of->under_way, &q->f);
    loop_disarm(q->of->loop, &q->expiry);
    buf_free(&q->f.key);
    buf_free(&q->k.body);
    spill_close(&q->k.file);
    arena_free(&q->arena);
    free(q);
}

static void finish(question *q)
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
    free_question(q);
}

static void worked(job *j)
{
    enum { SHARE = 8 };
    question *q = (question *)j;
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

/* Seconds after which the queue of now is probably done. */
static unsigned retry_after(const api *a)
{
    uint64_t ns = (pool_waiting(a->pool) + 1) * a->usual_ns / a->o.readers;
    return ns / NS_PER_S < MAX_RETRY_S ? 1 + (unsigned)(ns / NS_PER_S) : MAX_RETRY_S;
}

static void on_expiry(void *who)
{
    question *q = who;
    if (!pool_cancel(q->of->pool, &q->f.job)) return; /* it began: is_over ends it */
    q->e = (err){0};
    q->retry = retry_after(q->of);
    q->of->n.expired += q->f.n_waiters;
    q->of->n.waited_ms += (loop_now(q->of->loop) - q->f.arrived) / NS_PER_MS;
    err_set(&q->e, ERR_LIMIT, "max_time: too many queries at once; this one was not begun in time");
    finish(q);
}

static void enqueue(question *q)
{
    api *a = q->of;
    uint64_t most = q->f.max_ns > MIN_WAIT_NS ? q->f.max_ns : MIN_WAIT_NS;
    q->retry = 1;
    err_set(&q->e, ERR_LIMIT, "the server is going away"); /* unless it gets that far */
    flights_add(&a->under_way, &q->f);
    if (pool_submit(a->pool, &q->f.job)) {
        loop_arm(a->loop, &q->expiry, q->f.arrived + most);
        return;
    }
    q->e = (err){0};
    q->retry = retry_after(a);
    a->n.queue_full++;
    err_set(&q->e, ERR_LIMIT, "too many queries at once: the queue is full");
    finish(q);
}

/* ---- the loop's side ---- */

/* The encoding that is wished for most; of equals the later one, which somebody had to name. */
static const answer_encoding *accepted(const http_headers *h)
{
    const answer_encoding *best = NULL;
    int most = 1;
    for (size_t i = 0; i < ANSWER_ENCODINGS; i++) {
        int q = http_headers_wish(h, "accept", str_of(answer_encodings[i].type));
        if (q >= most) most = q, best = &answer_encodings[i];
    }
    return best;
}

static bool take_request(question *q, http_exchange *x, err *e)
{
    http_message *m = http_exchange_message(x);
    if (!params_parse(m->path, &q->arena, &q->k.p, e)) return false;
    str path = q->k.p.path;
    bool ours = str_starts(path, STR(ROOT));
    if (ours) path = (str){path.p + strlen(ROOT), path.n - strlen(ROOT)};
    if (!ours || !(q->k.route = ask_route_of(path, &q->k.rest)))
        return err_set(e, ERR_UNSUPPORTED,
                       "there is no such question; docs/query-api.md has the list");
    q->k.a = &q->arena;
    q->k.stop = &q->stop;
    q->k.accepted = accepted(&m->head);
    q->k.takes_gzip = http_takes_gzip(&m->head);
    q->k.budget = (store_budget){.max_ns = q->of->o.max_ns};
    q->k.files = &q->of->files;
    q->k.max_file = http_exchange_max_file(x);
    if (!ask_prepare(&q->k, e)) return false;
    flight_key(&q->k, &q->f.key);
    q->f.max_ns = q->k.budget.max_ns;
    q->f.uses_now = flight_uses_now(&q->k.p);
    if (q->f.key.failed) return err_set(e, ERR_LIMIT, "out of memory");
    if (http_exchange_fits(x, 0)) return true;
    q->retry = 1;
    return no_room(e);
}

static question *new_question(api *a)
{
    question *q = calloc(1, sizeof *q);
    if (!q) return NULL;
    q->f.job = (job){.work = work, .done = worked};
    q->f.arrived = loop_now(a->loop);
    q->of = a;
    q->k.file = SPILL_NONE;
    q->arena = (arena){.budget = a->o.memory, .seed = a->seed};
    q->stop = (stopper){.over = is_over, .who = q};
    q->expiry = (loop_timer){.due = on_expiry, .who = q};
    return q;
}

void api_request(api *a, http_exchange *x)
{
    err e = {0};
    str method = http_exchange_message(x)->method;
    a->n.questions++;
    if (!str_eq(method, STR("GET")) && !str_eq(method, STR("HEAD"))) {
        a->n.wrong++;
        api_reply_method(x);
        return;
    }
    question *q = new_question(a);
    if (!q) {
        err_set(&e, ERR_LIMIT, "out of memory");
        fail(a, x, &e, 1);
        return;
    }
    if (!take_request(q, x, &e)) {
        fail(a, x, &e, q->retry);
        free_question(q);
        return;
    }
    flight_moment at = {q->f.arrived, a->o.acknowledged ? a->o.acknowledged(a->o.who) : 0};
    flight *equal = flights_find(&a->under_way, buf_view(&q->f.key), &at);
    waiter *w = flight_add(equal ? equal : &q->f, x, &at);
    *http_exchange_user(x) = w;
    if (!w) {
        err_set(&e, ERR_LIMIT, "out of memory");
        fail(a, x, &e, 1);
        free_question(q);
    } else if (equal) {
        a->n.coalesced++;
        free_question(q);
    } else {
        enqueue(q);
    }
}

void api_gone(api *a, http_exchange *x)
{
    waiter *w = *http_exchange_user(x);
    if (!w) return;
    question *q = (question *)w->of;
    flight_leave(w);
    a->n.gone++;
    if (!q->f.n_waiters && pool_cancel(a->pool, &q->f.job)) free_question(q);
}

void api_ended(api *a, http_exchange *x)
{
    (void)a;
    waiter *w = *http_exchange_user(x);
    if (w) flight_ended(w);
}

void api_refuse(api *a, http_exchange *x, verdict v, const char *why)
{
    bool foreign = v == VERDICT_FOREIGN;
    char peer[INGEST_NAME];
    a->n.questions++;
    ++*(foreign ? &a->n.foreign : &a->n.unauthorized);
    ingest_name_sender(x, peer);
    if (a->o.refused) a->o.refused(a->o.who, peer, v, why);
    api_reply_refused(x, foreign ? 403 : 401, why);
}

api_counted api_count(const api *a) { return a->n; }

/* ---- the whole ---- */

api *api_open(loop *l, pool *p, const api_opts *o, err *e)
{
    api *a = calloc(1, sizeof *a);
    if (!a) return err_set(e, ERR_LIMIT, "out of memory"), NULL;
    a->loop = l, a->pool = p, a->o = *o;
    a->files.dir = a->o.store;
    pthread_mutex_init(&a->lock, NULL);
    if (!a->o.readers) a->o.readers = 2;
    if (a->o.readers > MAX_READERS) a->o.readers = MAX_READERS;
    if (!a->o.max_ns) a->o.max_ns = MAX_NS;
    if (!a->o.memory) a->o.memory = MEMORY;
    a->seed = loop_world(l)->random(loop_world(l)->who);
    for (unsigned i = 0; i < a->o.readers; i++) {
        store *s =
            store_open(o->store, &(store_opts){.read_only = true, .say = o->say, .who = o->who}, e);
        if (!s) return api_close(a), NULL;
        a->readers[a->n_readers++] = s;
        a->idle[a->n_idle++] = s;
    }
    return a;
}

uint64_t api_damaged(const api *a)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < a->n_readers; i++) n += store_counted(a->readers[i]).damaged;
    return n;
}

void api_end(api *a)
{
    if (a) atomic_store_explicit(&a->ending, true, memory_order_relaxed);
}

void api_close(api *a)
{
    if (!a) return;
    for (unsigned i = 0; i < a->n_readers; i++) store_close(a->readers[i]);
    pthread_mutex_destroy(&a->lock);
    free(a);
}
