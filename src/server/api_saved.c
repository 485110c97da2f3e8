/* Runs requests for saved selections in the pool, because changes wait for the disk. */
#include "server/api_saved.h"

#include "server/api_reply.h"
#include "server/client_err.h"
#include "server/pool.h"
#include "store/params.h"
#include "store/saved.h"
#include "wire/json.h"
#include "base/ban.h"
#include <stdlib.h>

#define PATH "/api/v1/saved"
#define MEMORY ((size_t)32 << 20) /* a full list and its JSON */

struct api_saved {
    loop *loop;
    pool *pool;
    saved *list;
    const char *dir;
};

typedef enum action { LIST, PUT, RENAME, REMOVE } action;

typedef struct saved_job {
    job job; /* first member: the pool returns it */
    api_saved *of;
    http_exchange *x; /* NULL: the client has disconnected; a change is made anyway */
    action action;
    bool replace;
    const char *changes; /* what a change requires */
    str name, from, link;
    uint64_t now;
    arena arena; /* of the texts */
    buf body;
    err e;
} saved_job;

/* Returns the part of the target after PATH: "" or "/NAME" or "?..."; p is NULL for other paths. */
static str rest_of(const http_message *m)
{
    if (!str_starts(m->path, STR(PATH))) return (str){0};
    str rest = {m->path.p + sizeof PATH - 1, m->path.n - (sizeof PATH - 1)};
    return !rest.n || rest.p[0] == '/' || rest.p[0] == '?' ? rest : (str){0};
}

bool api_saved_has(const http_message *m) { return rest_of(m).p != NULL; }

static bool reads(const http_message *m)
{
    return str_eq(m->method, STR("GET")) || str_eq(m->method, STR("HEAD"));
}

bool api_saved_changes(const http_message *m) { return api_saved_has(m) && !reads(m); }

/* ---- in the pool ---- */

static bool put_list(saved_job *j)
{
    arena a = {.budget = MEMORY};
    saved_entries v;
    json_out o = {.b = &j->body};
    bool ok = saved_list(j->of->list, &a, &v, &j->e);
    if (ok) {
        json_put_object(&o);
        json_put_key(&o, STR("schema"));
        json_put_u64(&o, 1);
        json_put_key(&o, STR("changes"));
        json_put_str(&o, str_of(j->changes));
        json_put_key(&o, STR("saved"));
        json_put_array(&o);
        for (size_t i = 0; i < v.n; i++) {
            json_put_object(&o);
            json_put_key(&o, STR("name"));
            json_put_str(&o, v.v[i].name);
            json_put_key(&o, STR("link"));
            json_put_str(&o, v.v[i].link);
            json_put_key(&o, STR("changed"));
            json_put_u64(&o, v.v[i].changed);
            json_put_object_end(&o);
        }
        json_put_array_end(&o);
        json_put_object_end(&o);
        ok = !j->body.failed || err_memory(&j->e);
    }
    arena_free(&a);
    return ok;
}

static void work(job *base)
{
    saved_job *j = (saved_job *)base;
    saved *list = j->of->list;
    bool ok = false;
    j->e = (err){0};
    switch (j->action) {
    case LIST: ok = put_list(j); break;
    case PUT: ok = saved_put(list, j->name, j->link, j->replace, j->now, &j->e); break;
    case RENAME: ok = saved_rename(list, j->from, j->name, j->now, &j->e); break;
    case REMOVE: ok = saved_remove(list, j->name, &j->e); break;
    }
    if (!ok && !j->e.code) err_memory(&j->e);
}

/* ---- in the loop ---- */

static unsigned status_of(const err *e)
{
    switch (e->code) {
    case ERR_MISMATCH: return 409;
    case ERR_SYS: return 503; /* the disk is full or broken */
    default: return api_status_of(e);
    }
}

static void reply(saved_job *j)
{
    http_header head[] = {{STR("content-type"), STR("application/json")},
                          {STR("cache-control"), STR("no-store")},
                          {STR("x-content-type-options"), STR("nosniff")}};
    err shown;
    if (j->e.code) {
        client_err(&j->e, j->of->dir, &shown);
        api_reply_error_as(j->x, status_of(&j->e), &shown, 0);
    } else if (j->action == LIST) {
        http_respond(j->x,
                     &(http_response){
                         .status = 200, .head = head, .n_head = ARRAY_LEN(head), .body = &j->body});
        j->body = (buf){0};
    } else {
        http_respond(j->x, &(http_response){.status = 204, .head = head + 1, .n_head = 1});
    }
}

static void done(job *base)
{
    saved_job *j = (saved_job *)base;
    if (j->x) {
        *http_exchange_user(j->x) = NULL;
        reply(j);
    }
    buf_free(&j->body);
    arena_free(&j->arena);
    free(j);
}

static bool take_text(arena *a, str text, str *out)
{
    char *p = arena_alloc(a, text.n + 1);
    if (!p) return false;
    if (text.n) memcpy(p, text.p, text.n);
    *out = (str){p, text.n};
    return true;
}

static bool check_params(const params *p, const char *known, err *e)
{
    for (size_t i = 0; i < p->v.n; i++)
        if (!known || !str_eq(p->v.v[i].key, str_of(known)) || i)
            return err_set(e, ERR_USAGE, "unknown or repeated parameter %.*s",
                           STR_ARG(p->v.v[i].key));
    return true;
}

static bool take_change(saved_job *j, const http_message *m, const params *p, err *e)
{
    j->action = str_eq(m->method, STR("DELETE")) ? REMOVE : p->v.n ? RENAME : PUT;
    if (!check_params(p, j->action == RENAME ? "from" : NULL, e)) return false;
    if (m->failure == HTTP_OVERLOADED) return err_set(e, ERR_BUSY, "too many requests at once");
    if (m->failure) return err_set(e, ERR_USAGE, "the body is too large");
    if (j->action == RENAME) j->from = p->v.v[0].value;
    j->replace = !str_eq(http_headers_get(&m->head, "if-none-match"), STR("*"));
    return take_text(&j->arena, buf_view(&m->body), &j->link) || err_memory(e);
}

/* Returns false with an error, or with code 0 when the method is not allowed. */
static bool take_request(saved_job *j, const http_message *m, err *e)
{
    params p;
    if (!params_parse(m->path, &j->arena, &p, e)) return false;
    bool named = p.path.n > sizeof PATH;
    if (named) j->name = (str){p.path.p + sizeof PATH, p.path.n - sizeof PATH};
    if (!named && reads(m)) return check_params(&p, NULL, e);
    if (named && (str_eq(m->method, STR("PUT")) || str_eq(m->method, STR("DELETE"))))
        return take_change(j, m, &p, e);
    return false;
}

void api_saved_request(api_saved *a, http_exchange *x, const char *changes)
{
    saved_job *j = calloc(1, sizeof *j);
    err e = {0};
    if (!j) {
        err_memory(&e);
        api_reply_error(x, &e, 1);
        return;
    }
    const world *w = loop_world(a->loop);
    *j = (saved_job){.job = {.work = work, .done = done},
                     .of = a,
                     .x = x,
                     .changes = changes,
                     .now = w->wall(w->ctx),
                     .arena = {.budget = (size_t)1 << 20}};
    bool ok = take_request(j, http_exchange_message(x), &e);
    if (ok) {
        err_set(&j->e, ERR_LIMIT, "the server is shutting down"); /* if the pool closes before */
        *http_exchange_user(x) = j;
        if (pool_submit(a->pool, &j->job)) return;
        *http_exchange_user(x) = NULL;
        err_set(&e, ERR_BUSY, "too many requests at once");
    }
    if (e.code)
        api_reply_error(x, &e, e.code == ERR_BUSY);
    else
        api_reply_method(x, rest_of(http_exchange_message(x)).n > 1 ? "PUT, DELETE" : "GET, HEAD");
    arena_free(&j->arena);
    free(j);
}

void api_saved_gone(http_exchange *x)
{
    saved_job *j = *http_exchange_user(x);
    if (j) j->x = NULL;
}

/* ---- open and close ---- */

api_saved *api_saved_open(loop *l, pool *p, const char *dir, bool *damaged, err *e)
{
    api_saved *a = calloc(1, sizeof *a);
    if (!a) return err_memory(e), NULL;
    *a = (api_saved){.loop = l, .pool = p, .dir = dir};
    if ((a->list = saved_open(dir, "saved", damaged, e))) return a;
    free(a);
    return NULL;
}

void api_saved_close(api_saved *a)
{
    if (!a) return;
    saved_close(a->list);
    free(a);
}
