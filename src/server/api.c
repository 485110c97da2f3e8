#include "server/api.h"

#include "server/ask.h"
#include "server/selection.h"
#include "base/ban.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_READERS = 8 };
#define ROOT "/api/v1/"
#define MAX_NS (20 * NS_PER_S)
#define MEMORY ((size_t)512 << 20)

static const ask_route routes[] = {
    {"labels", api_labels, "names of labels, or the values of one: labels/service.name"},
    {"labels/", api_labels, NULL},
    {"series", api_series, "what is stored: resource, scope and type, with counts"},
    {"profiles", api_profiles, "profiles one by one, the newest first"},
    {"counts", api_counts, "sums and numbers of observations in steps of time, by a label"},
    {"tree", api_tree, "a flame graph: columns by node, nothing left out"},
    {"top", api_top, "frames by value"},
    {"export", api_export, "the selection as a file: format=otlp, pprof, folded, ..."},
};

typedef struct question {
    job job; /* first */
    api *of;
    http_exchange *x; /* NULL: the asker is gone */
    ask k;
    arena arena;
    const ask_route *route;
    err e;
} question;

struct api {
    loop *loop;
    pool *pool;
    api_opts o;
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

static const ask_route *route_of(str path)
{
    str rest = {path.p + strlen(ROOT), path.n - strlen(ROOT)};
    for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
        str name = str_of(routes[i].path);
        bool open = name.p[name.n - 1] == '/';
        if (open ? rest.n > name.n && str_starts(rest, name) : str_eq(rest, name))
            return &routes[i];
    }
    return NULL;
}

str ask_rest(const ask *k, const char *path)
{
    size_t n = strlen(ROOT) + strlen(path);
    return k->p.path.n > n ? (str){k->p.path.p + n, k->p.path.n - n} : (str){0};
}

/* ---- in the pool ---- */

static void work(job *j)
{
    question *q = (question *)j;
    api *a = q->of;
    q->e = (err){0};
    if (!(q->k.store = take_reader(a))) {
        err_set(&q->e, ERR_LIMIT, "too many questions at once");
        return;
    }
    if (selection_of(&q->k.p, q->k.now, q->k.a, &q->k.q, &q->e) &&
        !q->route->answer(&q->k, &q->e) && !q->e.code)
        err_set(&q->e, ERR_LIMIT, "out of memory");
    give_reader(a, q->k.store);
}

/* ---- answers ---- */

json_out ask_begin(ask *k)
{
    json_out o = {.b = &k->body};
    json_put_object(&o);
    json_put_key(&o, STR("schema"));
    json_put_u64(&o, 1);
    return o;
}

void ask_end(ask *k, json_out *o)
{
    const store_answer *w = &k->answer;
    json_put_key(o, STR("partial"));
    json_put_bool(o, w->partial);
    if (w->partial) {
        json_put_key(o, STR("why"));
        json_put_str(o, str_of(w->why));
    }
    json_put_key(o, STR("looked_at"));
    json_put_object(o);
    const struct {
        str key;
        uint64_t v;
    } facts[] = {{STR("samples"), w->n_samples}, {STR("profiles"), w->n_profiles},
                 {STR("series"), w->n_series},   {STR("blocks"), w->n_blocks},
                 {STR("items"), w->n_items},     {STR("bytes"), w->n_bytes},
                 {STR("damaged"), w->n_damaged}, {STR("ns"), w->ns}};
    for (size_t i = 0; i < ARRAY_LEN(facts); i++) {
        json_put_key(o, facts[i].key);
        json_put_u64(o, facts[i].v);
    }
    json_put_object_end(o);
    json_put_object_end(o);
}

static unsigned status_of(const err *e)
{
    switch (e->code) {
    case ERR_OK: return 200;
    case ERR_USAGE:
    case ERR_MALFORMED: return 400;
    case ERR_UNSUPPORTED: return 404;
    case ERR_LIMIT: return 503;
    default: return 500;
    }
}

static void put_error(buf *b, const err *e)
{
    char text[400];
    json_out o = {.b = b};
    buf_reset(b);
    json_put_object(&o);
    json_put_key(&o, STR("error"));
    json_put_str(&o, str_of(err_text(e, text, sizeof text)));
    json_put_object_end(&o);
}

static void reply(http_exchange *x, ask *k, const err *e)
{
    char disposition[300];
    http_header head[4] = {
        {STR("content-type"), k->type && !e->code ? str_of(k->type) : STR("application/json")},
        {STR("cache-control"), STR("no-store")},
        {STR("x-content-type-options"), STR("nosniff")}};
    size_t n = 3;
    if (e->code) put_error(&k->body, e);
    if (k->name.n && !e->code) {
        snprintf(disposition, sizeof disposition, "attachment; filename=\"%.*s\"",
                 STR_ARG(k->name));
        head[n++] = (http_header){STR("content-disposition"), str_of(disposition)};
    }
    http_answer(
        x, &(http_response){.status = status_of(e), .head = head, .n_head = n, .body = &k->body});
}

static void free_question(question *q)
{
    buf_free(&q->k.body);
    arena_free(&q->arena);
    free(q);
}

static void worked(job *j)
{
    question *q = (question *)j;
    if (q->x) {
        *http_exchange_user(q->x) = NULL;
        reply(q->x, &q->k, &q->e);
    }
    free_question(q);
}

static void fail(question *q)
{
    *http_exchange_user(q->x) = NULL;
    reply(q->x, &q->k, &q->e);
    free_question(q);
}

/* ---- the loop's side ---- */

static bool take_request(question *q, http_message *m)
{
    const world *w = loop_world(q->of->loop);
    if (!str_eq(m->method, STR("GET")) && !str_eq(m->method, STR("HEAD")))
        return err_set(&q->e, ERR_USAGE, "questions are asked with GET");
    if (!params_parse(m->path, &q->arena, &q->k.p, &q->e)) return false;
    if (!str_starts(q->k.p.path, STR(ROOT)) || !(q->route = route_of(q->k.p.path)))
        return err_set(&q->e, ERR_UNSUPPORTED,
                       "there is no such question; docs/query-api.md has the list");
    q->k.a = &q->arena;
    q->k.now = w->wall(w->who);
    q->k.budget = (store_budget){.max_ns = q->of->o.max_ns};
    return true;
}

void api_request(api *a, http_exchange *x)
{
    question *q = calloc(1, sizeof *q);
    if (!q) {
        err e = {0};
        ask k = {0};
        err_set(&e, ERR_LIMIT, "out of memory");
        reply(x, &k, &e);
        return;
    }
    *q = (question){
        .job = {.work = work, .done = worked}, .of = a, .x = x, .arena.budget = a->o.memory};
    *http_exchange_user(x) = q;
    if (!take_request(q, http_exchange_message(x))) {
        fail(q);
        return;
    }
    err_set(&q->e, ERR_LIMIT, "the server is going away"); /* unless it gets that far */
    if (!pool_submit(a->pool, &q->job)) {
        q->e = (err){0};
        err_set(&q->e, ERR_LIMIT, "too many questions at once");
        fail(q);
    }
}

void api_gone(api *a, http_exchange *x)
{
    (void)a;
    question *q = *http_exchange_user(x);
    if (q) q->x = NULL;
}

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
    for (unsigned i = 0; i < a->o.readers; i++) {
        store *s = store_open(o->store, &(store_opts){.read_only = true}, e);
        if (!s) return api_close(a), NULL;
        a->readers[a->n_readers++] = s;
        a->idle[a->n_idle++] = s;
    }
    return a;
}

void api_close(api *a)
{
    if (!a) return;
    for (unsigned i = 0; i < a->n_readers; i++) store_close(a->readers[i]);
    pthread_mutex_destroy(&a->lock);
    free(a);
}
