#include "server/api.h"

#include "server/ask.h"
#include "wire/json.h"
#include "base/ban.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_READERS = 8 };
#define ROOT "/api/v1/"
#define MAX_NS (20 * NS_PER_S)
#define MEMORY ((size_t)512 << 20)
#define RETRY_SECONDS "1"

typedef struct question {
    job job; /* first */
    api *of;
    http_exchange *x; /* NULL: the asker is gone */
    ask k;
    arena arena;
    err e;
    bool later; /* of an error: worth another try */
    stopper stop;
    uint64_t began;          /* to work on it */
    atomic_bool gone, ended; /* set by the loop's thread, asked by the one that works */
} question;

struct api {
    loop *loop;
    pool *pool;
    api_opts o;
    api_counted n;
    atomic_bool ending;   /* asked by those that work */
    uint64_t seed;        /* of hash tables: random */
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

/* Reading ends at max_time with what was found.  What is made of it has half as long again, and a second at least. */
static bool is_over(void *who, err *e)
{
    question *q = who;
    const api *a = q->of;
    const uint64_t read = q->k.budget.max_ns, rest = read / 2 > NS_PER_S ? read / 2 : NS_PER_S;
    if (atomic_load_explicit(&q->gone, memory_order_relaxed))
        return !err_set(e, ERR_SYS, "nobody waits for the answer any more");
    if (atomic_load_explicit(&q->ended, memory_order_relaxed) && pool_waiting(a->pool)) {
        q->later = true;
        return !err_set(e, ERR_LIMIT, "others wait, and who asked this may be gone");
    }
    if (atomic_load_explicit(&a->ending, memory_order_relaxed)) {
        q->later = true;
        return !err_set(e, ERR_LIMIT, "the server is going away");
    }
    if (world_now(loop_world(a->loop)) - q->began <= read + rest) return false;
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

static void work(job *j)
{
    question *q = (question *)j;
    api *a = q->of;
    q->e = (err){0};
    q->later = false;
    q->began = world_now(loop_world(a->loop));
    if (!stopper_now(&q->stop, &q->e)) return;
    if (!(q->k.store = take_reader(a))) {
        err_set(&q->e, ERR_LIMIT, "too many questions at once");
        q->later = true;
        return;
    }
    if (!ask_answer(&q->k, &q->e) && !q->e.code) err_set(&q->e, ERR_LIMIT, "out of memory");
    give_reader(a, q->k.store);
    arena_free(
        &q->arena); /* nothing but the body is wanted any more, and it may wait for the loop */
    shrink(&q->k.body);
}

/* ---- answers ---- */

static unsigned status_of(const err *e)
{
    switch (e->code) {
    case ERR_OK: return 200;
    case ERR_USAGE:
    case ERR_MISMATCH:
    case ERR_MALFORMED: return 400;
    case ERR_UNSUPPORTED: return 404;
    case ERR_LIMIT: return 503;
    default: return 500;
    }
}

static uint64_t *counter_of(api *a, const err *e)
{
    switch (e->code) {
    case ERR_OK: return &a->n.answered;
    case ERR_USAGE:
    case ERR_MISMATCH:
    case ERR_MALFORMED:
    case ERR_UNSUPPORTED: return &a->n.wrong;
    case ERR_LIMIT: return &a->n.pressed;
    default: return &a->n.failed;
    }
}

static void put_error(buf *b, const err *e)
{
    char text[400];
    json_out o = {.b = b};
    buf_reset(b);
    b->failed = false;
    b->limit = 0;
    json_put_object(&o);
    json_put_key(&o, STR("error"));
    json_put_str(&o, str_of(err_text(e, text, sizeof text)));
    json_put_object_end(&o);
}

static void reply_method(api *a, http_exchange *x)
{
    err e = {0};
    buf b = {0};
    http_header head[] = {{STR("content-type"), STR("application/json")},
                          {STR("cache-control"), STR("no-store")},
                          {STR("x-content-type-options"), STR("nosniff")},
                          {STR("allow"), STR("GET, HEAD")}};
    a->n.questions++;
    a->n.wrong++;
    err_set(&e, ERR_USAGE, "questions are asked with GET");
    put_error(&b, &e);
    http_answer(
        x, &(http_response){.status = 405, .head = head, .n_head = ARRAY_LEN(head), .body = &b});
}

/* Of an error; `later`: it may be asked again. */
static void reply_error(api *a, http_exchange *x, const err *e, bool later)
{
    buf b = {0};
    http_header head[] = {{STR("content-type"), STR("application/json")},
                          {STR("cache-control"), STR("no-store")},
                          {STR("x-content-type-options"), STR("nosniff")},
                          {STR("retry-after"), STR(RETRY_SECONDS)}};
    ++*counter_of(a, e);
    put_error(&b, e);
    http_answer(x, &(http_response){.status = status_of(e),
                                    .head = head,
                                    .n_head = ARRAY_LEN(head) - !later,
                                    .body = &b});
}

/* Senders choose the words: visible characters. */
static bool fits_header(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] > '~') return false;
    return s.n > 0;
}

static void reply(api *a, http_exchange *x, ask *k)
{
    char disposition[300];
    http_header head[7] = {{STR("content-type"), str_of(k->type)},
                           {STR("cache-control"), STR("no-store")},
                           {STR("x-content-type-options"), STR("nosniff")},
                           {STR("vary"), STR("accept, accept-encoding")}};
    size_t n = 4;
    a->n.answered++;
    a->n.partial += k->looked.partial;
    if (k->packed) head[n++] = (http_header){STR("content-encoding"), STR("gzip")};
    if (k->name.n) {
        snprintf(disposition, sizeof disposition, "attachment; filename=\"%.*s\"",
                 STR_ARG(k->name));
        head[n++] = (http_header){STR("content-disposition"), str_of(disposition)};
    }
    str main_type = str_of(k->main_type);
    if (fits_header(main_type)) head[n++] = (http_header){STR("kiln-main-type"), main_type};
    http_answer(x, &(http_response){.status = 200, .head = head, .n_head = n, .body = &k->body});
}

static void free_question(question *q)
{
    buf_free(&q->k.body);
    arena_free(&q->arena);
    free(q);
}

/* There is no room for an answer (n 0: nobody knows yet how large it is), or not for this one: those who asked before have to take theirs. */
static bool has_room(question *q, size_t n)
{
    if (http_exchange_fits(q->x, n)) return true;
    q->later = true;
    return err_set(&q->e, ERR_LIMIT, "too many answers wait for those who asked");
}

static void finish(question *q)
{
    if (q->x) {
        *http_exchange_user(q->x) = NULL;
        if (!q->e.code && has_room(q, q->k.body.head + q->k.body.cap))
            reply(q->of, q->x, &q->k);
        else
            reply_error(q->of, q->x, &q->e, q->later);
    }
    free_question(q);
}

static void worked(job *j) { finish((question *)j); }

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

static bool take_request(question *q, http_message *m)
{
    const world *w = loop_world(q->of->loop);
    if (!params_parse(m->path, &q->arena, &q->k.p, &q->e)) return false;
    str path = q->k.p.path;
    bool ours = str_starts(path, STR(ROOT));
    if (ours) path = (str){path.p + strlen(ROOT), path.n - strlen(ROOT)};
    if (!ours || !(q->k.route = ask_route_of(path, &q->k.rest)))
        return err_set(&q->e, ERR_UNSUPPORTED,
                       "there is no such question; docs/query-api.md has the list");
    q->k.a = &q->arena;
    q->k.accepted = accepted(&m->head);
    q->k.takes_gzip = http_takes_gzip(&m->head);
    q->k.now = w->wall(w->who);
    q->k.budget = (store_budget){.max_ns = q->of->o.max_ns};
    return true;
}

void api_request(api *a, http_exchange *x)
{
    str method = http_exchange_message(x)->method;
    if (!str_eq(method, STR("GET")) && !str_eq(method, STR("HEAD"))) {
        reply_method(a, x);
        return;
    }
    question *q = calloc(1, sizeof *q);
    a->n.questions++;
    if (!q) {
        err e = {0};
        err_set(&e, ERR_LIMIT, "out of memory");
        reply_error(a, x, &e, true);
        return;
    }
    *q = (question){.job = {.work = work, .done = worked},
                    .of = a,
                    .x = x,
                    .arena = {.budget = a->o.memory, .seed = a->seed}};
    q->stop = (stopper){.over = is_over, .who = q};
    q->k.stop = &q->stop;
    *http_exchange_user(x) = q;
    if (!take_request(q, http_exchange_message(x)) || !has_room(q, 0)) {
        finish(q);
        return;
    }
    q->later = true;
    err_set(&q->e, ERR_LIMIT, "the server is going away"); /* unless it gets that far */
    if (!pool_submit(a->pool, &q->job)) {
        q->e = (err){0};
        err_set(&q->e, ERR_LIMIT, "too many questions at once");
        finish(q);
    }
}

void api_gone(api *a, http_exchange *x)
{
    question *q = *http_exchange_user(x);
    if (!q) return;
    q->x = NULL;
    atomic_store_explicit(&q->gone, true, memory_order_relaxed);
    a->n.gone++;
}

void api_ended(api *a, http_exchange *x)
{
    (void)a;
    question *q = *http_exchange_user(x);
    if (q) atomic_store_explicit(&q->ended, true, memory_order_relaxed);
}

void api_refuse(api *a, http_exchange *x, verdict v, const char *why)
{
    bool foreign = v == VERDICT_FOREIGN;
    buf b = {0};
    char peer[INGEST_NAME];
    http_header head[] = {{STR("content-type"), STR("text/plain; charset=utf-8")},
                          {STR("x-content-type-options"), STR("nosniff")},
                          {STR("www-authenticate"), STR("Bearer")}};
    a->n.questions++;
    ++*(foreign ? &a->n.foreign : &a->n.unauthorized);
    ingest_name_sender(x, peer);
    if (a->o.refused) a->o.refused(a->o.who, peer, v, why);
    buf_printf(&b, "%s\n", why);
    http_answer(x, &(http_response){.status = foreign ? 403 : 401,
                                    .head = head,
                                    .n_head = ARRAY_LEN(head) - foreign,
                                    .body = &b});
}

api_counted api_count(const api *a) { return a->n; }

/* ---- the whole ---- */

api *api_open(loop *l, pool *p, const api_opts *o, err *e)
{
    api *a = calloc(1, sizeof *a);
    if (!a) return err_set(e, ERR_LIMIT, "out of memory"), NULL;
    a->loop = l, a->pool = p, a->o = *o;
    pthread_mutex_init(&a->lock, NULL);
    if (!a->o.readers) a->o.readers = 2;
    if (a->o.readers > MAX_READERS) a->o.readers = MAX_READERS;
    if (!a->o.max_ns) a->o.max_ns = MAX_NS;
    if (!a->o.memory) a->o.memory = MEMORY;
    a->seed = loop_world(l)->random(loop_world(l)->who);
    for (unsigned i = 0; i < a->o.readers; i++) {
        store *s = store_open(o->store, &(store_opts){.read_only = true}, e);
        if (!s) return api_close(a), NULL;
        a->readers[a->n_readers++] = s;
        a->idle[a->n_idle++] = s;
    }
    return a;
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
