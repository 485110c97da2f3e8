/* Accepts requests of senders. Small ones are decoded in the loop; large ones, and small ones that
 * decompress to much, in the pool. A request is acknowledged only after the store has synced it.
 * Memory for decoding is released before that, because many requests may wait for a slow disk. */
#include "server/ingest.h"

#include "server/forward.h"
#include "store/embedded_options.h"
#include "base/ban.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define IN_LOOP ((size_t)256 << 10)
#define QUICK_IN_LOOP 4 /* factor of IN_LOOP for plain protobuf, which decodes fastest */
/* Largest body with invalid profiles that is filtered in the loop. */
#define FILTER_IN_LOOP ((size_t)16 << 10)
#define LOOP_MEMORY 16 /* factor of IN_LOOP: memory for decoding in the loop; more needs the pool */
#define MAX_MESSAGE ((size_t)128 << 20)
#define MEMORY ((size_t)160 << 20)
#define SHARE 4 /* of message and memory: requests that need more are decoded one at a time */
#define KEEP_ARENA ((size_t)8 << 20)
#define RETRY_OVERLOADED NS_PER_S
enum { SPARE_ARENAS = 4, SPARE_REQUESTS = 256 };
#define RETRY_DISK (5 * NS_PER_S)

/* A request in progress.  Its exchange is NULL once the sender has disconnected; the data is stored
 * anyway. */
typedef struct request {
    job job; /* first member: the pool returns it */
    struct request *next;
    ingest *of;
    http_exchange *x;
    receive_route route;
    http_message message; /* for a job: moved from the exchange, which may end first */
    arena arena;          /* for a job */
    ledger *ledger;       /* for a job */
    received got;
    err why;
    verdict verdict;
    uint64_t n_samples, n_duplicates;
    uint64_t deadline; /* loop_now; 0: none */
    size_t n_bytes;
    uint64_t arrival;           /* Unix ns */
    size_t max_message, memory; /* copies: a reload may change the limits */
    char peer[INGEST_NAME];
} request;

struct ingest {
    loop *loop;
    store *store;
    pool *pool;
    ingest_opts o;
    ingest_callbacks callbacks;
    /* For the request that is decoded in the loop; its random seed is used for all requests. */
    arena scratch;
    ledger ledger; /* for the request that is decoded in the loop */
    ledger losses;
    ingest_counts n;
    uint64_t rejected_by[RECEIVE_REASONS];
    ingest_source recognised[INGEST_RECOGNISED], senders[INGEST_SENDERS];
    size_t n_recognised, n_senders;
    loop_timer push; /* armed after store_put */
    pthread_mutex_t lock;
    request *durable;           /* under lock: durable, but without a response yet */
    arena arenas[SPARE_ARENAS]; /* under lock: arenas for reuse */
    size_t n_arenas;
    request *spare; /* requests for reuse */
    size_t n_spare;
};

/* ---- statistics of senders ---- */

/* Returns the entry of this name. When the table is full, it replaces the entry that was inactive
 * longest. */
static ingest_source *source_of(ingest_source *v, size_t *n, size_t max, const char *name)
{
    ingest_source *oldest = v;
    for (size_t i = 0; i < *n; i++) {
        if (!strcmp(v[i].name, name)) return &v[i];
        if (v[i].last < oldest->last) oldest = &v[i];
    }
    ingest_source *s = *n < max ? &v[(*n)++] : oldest;
    *s = (ingest_source){0};
    snprintf(s->name, sizeof s->name, "%s", name);
    return s;
}

static void count_source(ingest_source *s, const request *r, uint64_t now)
{
    s->requests++;
    s->bytes += r->n_bytes;
    if (!s->first) s->first = now;
    s->last = now;
    if (r->verdict != VERDICT_ACCEPTED) {
        s->refused++;
        snprintf(s->why, sizeof s->why, "%s", r->why.msg);
        return;
    }
    s->rejected += r->got.n_rejected;
    if (r->got.n_rejected) snprintf(s->why, sizeof s->why, "%s", r->got.why);
    s->profiles += r->got.n_items - r->got.n_rejected;
    s->samples += r->n_samples;
}

/* Returns the part of a user agent that fits: whole products ("kiln-agent/0.1.0
 * OTel-OTLP-Exporter-C/0.1.0"), or the beginning of the first. */
static str agent_name(str agent)
{
    if (agent.n <= INGEST_AGENT) return agent;
    for (size_t n = INGEST_AGENT + 1; n-- > 1;)
        if (agent.p[n] == ' ') return (str){agent.p, n};
    return (str){agent.p, INGEST_AGENT};
}

void ingest_name_sender(http_exchange *x, char out[INGEST_NAME])
{
    const char *peer = http_exchange_peer(x);
    const char *colon = strrchr(peer, ':');
    str agent = agent_name(http_headers_get(&http_exchange_message(x)->head, "user-agent"));
    int n = colon ? (int)(colon - peer) : (int)strlen(peer);
    snprintf(out, INGEST_NAME, "%.*s %.*s", n, peer, (int)agent.n, agent.n ? agent.p : "");
    for (char *c = out; *c; c++) /* logs, JSON and the store need printable text */
        if (*c < ' ' || *c > '~') *c = '?';
}

static uint64_t *counter_of(ingest *i, verdict v)
{
    switch (v) {
    case VERDICT_ACCEPTED: return &i->n.taken;
    case VERDICT_MALFORMED: return &i->n.malformed;
    case VERDICT_METHOD:
    case VERDICT_MEDIA: return &i->n.media;
    case VERDICT_TOO_LARGE: return &i->n.too_large;
    case VERDICT_OVERLOADED: return &i->n.pressed;
    case VERDICT_UNAVAILABLE: return &i->n.unavailable;
    case VERDICT_LATE: return &i->n.late;
    case VERDICT_UNKNOWN: return &i->n.unknown;
    case VERDICT_UNAUTHENTICATED: return &i->n.unauthorized;
    case VERDICT_CROSS_SITE: return &i->n.foreign;
    }
    return &i->n.malformed;
}

static uint64_t wall_now(const ingest *i)
{
    const world *w = loop_world(i->loop);
    return w->wall(w->ctx);
}

static void count(ingest *i, const request *r)
{
    uint64_t now = wall_now(i);
    i->n.requests++;
    ++*counter_of(i, r->verdict);
    if (r->verdict == VERDICT_ACCEPTED) {
        i->n.profiles += r->got.n_items - r->got.n_rejected;
        i->n.samples += r->n_samples;
        i->n.rejected += r->got.n_rejected;
        for (size_t k = 0; k < RECEIVE_REASONS; k++) i->rejected_by[k] += r->got.rejected_by[k];
        i->n.duplicates += r->n_duplicates;
    }
    count_source(source_of(i->senders, &i->n_senders, INGEST_SENDERS, r->peer), r, now);
    if (r->got.recognised[0])
        count_source(
            source_of(i->recognised, &i->n_recognised, INGEST_RECOGNISED, r->got.recognised), r,
            now);
}

/* ---- responding ---- */

static void reply(http_exchange *x, const receive_route *route, verdict v, const received *got,
                  const err *why)
{
    receive_reply out;
    uint64_t retry = v == VERDICT_UNAVAILABLE ? RETRY_DISK : RETRY_OVERLOADED;
    receive_respond(route, v, got, why, retry, &out);
    http_respond(x, &(http_response){.status = out.status,
                                     .head = out.head,
                                     .n_head = out.n_head,
                                     .body = &out.body,
                                     .trailers = out.trailers,
                                     .n_trailers = out.n_trailers});
    receive_reply_free(&out);
}

/* ---- forwarding ---- */

/* Returns whether the body is one protobuf message of this format, which is stored as received. */
static bool is_as_it_came(const request *r, const format *f)
{
    const document *d = &r->got.doc;
    return d->parts.n == 1 && d->format == f && !d->n_layers && !d->anchored &&
           d->bytes.n == r->got.payload.n && d->parts.v[0].payload.kind == PAYLOAD_PROTOBUF;
}

/* Wakes the forwarder, except for duplicates: they were forwarded the first time. */
static void notify_forward(const request *r)
{
    size_t n = r->got.n_items - r->got.n_rejected;
    if (r->of->callbacks.forward && r->verdict == VERDICT_ACCEPTED && r->n_duplicates < n)
        forward_wake(r->of->callbacks.forward);
}

/* Returns an arena, if possible a used one, whose pages are already mapped. */
static arena take_arena(ingest *i, size_t budget)
{
    pthread_mutex_lock(&i->lock);
    arena a = i->n_arenas ? i->arenas[--i->n_arenas] : (arena){0};
    pthread_mutex_unlock(&i->lock);
    a.budget = budget;
    a.seed = i->scratch.seed;
    return a;
}

static void free_arena(ingest *i, arena *a)
{
    bool reuse = a->used <= KEEP_ARENA;
    arena_reset(a);
    pthread_mutex_lock(&i->lock);
    reuse = reuse && i->n_arenas < SPARE_ARENAS;
    if (reuse) i->arenas[i->n_arenas++] = *a;
    pthread_mutex_unlock(&i->lock);
    if (!reuse) arena_free(a);
    *a = (arena){0};
}

/* Releases memory that only decoding needs, because many requests may wait for a slow disk. */
static void release(request *r, bool body)
{
    if (r->x && body) http_message_drop_body(http_exchange_message(r->x));
    if (body) http_message_free(&r->message);
    if (r->arena.live || r->arena.spare) free_arena(r->of, &r->arena);
    free(r->ledger);
    r->ledger = NULL;
}

static request *new_request(ingest *i)
{
    request *r = i->spare;
    if (!r) return malloc(sizeof *r);
    i->spare = r->next;
    i->n_spare--;
    return r;
}

static void free_request(request *r)
{
    ingest *i = r->of;
    r->x = NULL;
    release(r, true);
    if (i->n_spare == SPARE_REQUESTS) {
        free(r);
        return;
    }
    r->next = i->spare;
    i->spare = r;
    i->n_spare++;
}

static void finish(request *r)
{
    ingest *i = r->of;
    count(i, r);
    notify_forward(r);
    if (r->verdict != VERDICT_ACCEPTED && i->callbacks.refused)
        i->callbacks.refused(i->callbacks.ctx, r->peer, r->verdict, r->why.msg);
    if (r->verdict == VERDICT_ACCEPTED && r->got.n_rejected && i->callbacks.rejected)
        i->callbacks.rejected(i->callbacks.ctx, r->peer, r->got.n_rejected, r->got.why);
    if (r->x) {
        *http_exchange_user(r->x) = NULL;
        if (r->why.code == ERR_SYS &&
            r->why.sys) { /* an error of the store: only the log gets file and errno */
            r->why = (err){0};
            err_set(&r->why, ERR_SYS, "new data cannot be stored at the moment: try again later");
        }
        reply(r->x, &r->route, r->verdict, &r->got, &r->why);
    }
    free_request(r);
}

static void fail(request *r, verdict v)
{
    r->verdict = v;
    finish(r);
}

/* ---- the store ---- */

/* Called in the store's writer thread. */
static void on_durable(void *cookie, const store_put_result *result)
{
    request *r = cookie;
    ingest *i = r->of;
    r->n_duplicates = r->got.n_duplicates = result->n_duplicates;
    if (result->refused) {
        r->why = *result->refused;
        r->verdict = err_exhausted(result->refused) ? VERDICT_OVERLOADED : VERDICT_UNAVAILABLE;
    }
    pthread_mutex_lock(&i->lock);
    bool first = !i->durable;
    r->next = i->durable;
    i->durable = r;
    pthread_mutex_unlock(&i->lock);
    if (first) loop_wake(i->loop);
}

void ingest_settle(ingest *i)
{
    pthread_mutex_lock(&i->lock);
    request *r = i->durable;
    i->durable = NULL;
    pthread_mutex_unlock(&i->lock);
    for (request *next; r; r = next) {
        next = r->next;
        finish(r);
    }
}

enum { LEND = 64 << 10 };

/* Lends a large body to the store instead of copying it. The request takes ownership of the body,
 * so that it lives on if the sender disconnects. */
static bool lend_body(request *r, store_item *item, embedded_room *room)
{
    http_message *m = r->message.body.p || !r->x ? &r->message : http_exchange_message(r->x);
    const buf *b = &m->body;
    if (item->bytes.n < LEND || item->bytes.p < b->p || item->bytes.p > b->p + b->n) return false;
    room->before = (size_t)(item->bytes.p - b->p) + b->head;
    room->after = b->cap - (size_t)(item->bytes.p - b->p) - item->bytes.n;
    item->room = room;
    if (m != &r->message) http_message_move(m, &r->message);
    return true;
}

static void on_push(void *ctx) { store_push(((ingest *)ctx)->store); }

/* Stores a decoded request. */
static void store_request(request *r, const ledger *losses)
{
    ingest *i = r->of;
    const model *m = &r->got.doc.model;
    if (r->verdict != VERDICT_ACCEPTED || !m->profiles.n) {
        finish(r);
        return;
    }
    for (size_t k = 0; k < m->profiles.n; k++) r->n_samples += m->profiles.v[k].n_samples;
    if (losses->n) ledger_merge(&i->losses, losses), i->n.losses = i->losses.n;
    str bytes = is_as_it_came(r, &format_otlp) ? r->got.payload : (str){0};
    store_item item = {.model = m,
                       .bytes = bytes,
                       .layout = bytes.n ? r->got.doc.parts.v[0].verdict.layout : LAYOUT_UNKNOWN,
                       .sender = str_of(r->peer),
                       .recognised = str_of(r->got.recognised),
                       .n_bytes = r->n_bytes,
                       .ledger = losses->n ? losses : NULL,
                       .more = true,
                       .done = on_durable,
                       .cookie = r};
    embedded_room room;
    bool lent = lend_body(r, &item, &room);
    if (store_put(i->store, &item, &r->why)) { /* on_durable continues */
        if (!i->push.armed)
            loop_arm(i->loop, &i->push, 0); /* at the end of this turn of the loop */
        release(r, !lent);
        return;
    }
    fail(r, err_exhausted(&r->why)   ? VERDICT_OVERLOADED
            : r->why.code == ERR_SYS ? VERDICT_UNAVAILABLE
                                     : VERDICT_MALFORMED);
}

/* ---- decoding ---- */

/* Submits a job to the pool, or rejects the request. */
static void submit(request *r)
{
    r->verdict = VERDICT_UNAVAILABLE; /* if the pool closes before the job runs */
    r->why = (err){0};
    err_set(&r->why, ERR_SYS, "the server is shutting down");
    if (r->ledger && pool_submit(r->of->pool, &r->job)) return;
    r->why = (err){0};
    err_set(&r->why, ERR_BUSY, "too many large requests at once");
    fail(r, VERDICT_OVERLOADED);
}

/* Returns whether the sender's deadline has passed. */
static bool is_late(const request *r) { return r->deadline && loop_now(r->of->loop) > r->deadline; }

static void work(job *j)
{
    request *r = (request *)j;
    size_t share = j->large ? 1 : SHARE;
    r->ledger->n = 0;
    r->why = (err){0};
    r->arena = take_arena(r->of, r->memory / share);
    r->verdict = receive_read(&r->route, &r->message,
                              &(receive_opts){.max_message = r->max_message / share,
                                              .ledger = r->ledger,
                                              .arrival = r->arrival},
                              &r->arena, &r->got, &r->why);
    if (r->verdict != VERDICT_ACCEPTED)
        free_arena(r->of, &r->arena); /* the response may wait for the loop */
}

static void worked(job *j)
{
    request *r = (request *)j;
    if (is_late(r)) {
        err_set(&r->why, ERR_BUSY, "the deadline of the call has passed");
        fail(r, VERDICT_LATE);
    } else if (r->verdict == VERDICT_TOO_LARGE && !j->large) {
        j->large = true;
        submit(r);
    } else {
        store_request(r, r->ledger);
    }
}

static void read_in_pool(request *r)
{
    http_message *m = http_exchange_message(r->x);
    r->ledger = malloc(sizeof *r->ledger);
    r->job = (job){.work = work, .done = worked, .large = m->body.n > r->max_message / SHARE};
    http_message_move(m, &r->message);
    submit(r);
}

/* Decodes in the loop with a small budget, because all connections wait while it decodes: 256 KiB
 * of gzip may contain 256 MiB of zeros. If the budget is not enough, the pool decodes the
 * request. */
static void read_here(request *r)
{
    ingest *i = r->of;
    size_t most = QUICK_IN_LOOP * i->o.in_loop, memory = LOOP_MEMORY * most;
    bool all = most >= r->max_message && memory >= r->memory;
    if (i->scratch.used > KEEP_ARENA) arena_free(&i->scratch);
    arena_reset(&i->scratch);
    i->scratch.budget = memory < r->memory ? memory : r->memory;
    i->ledger.n = 0;
    receive_opts o = {.max_message = most < r->max_message ? most : r->max_message,
                      .ledger = &i->ledger,
                      .arrival = r->arrival,
                      .no_filter = http_exchange_message(r->x)->body.n > FILTER_IN_LOOP};
    r->verdict =
        receive_read(&r->route, http_exchange_message(r->x), &o, &i->scratch, &r->got, &r->why);
    if ((r->verdict == VERDICT_TOO_LARGE && !all) || r->got.needs_filter) {
        r->why = (err){0};
        read_in_pool(r);
    } else {
        store_request(r, &i->ledger);
    }
}

/* Returns whether the body is uncompressed protobuf, which decodes faster than a job gets to
 * another thread and back. */
static bool is_quick(const receive_route *route, const http_message *m)
{
    str type = http_headers_get(&m->head, "content-type");
    if (route->kind != RECEIVE_PROFILES) return false;
    if (route->grpc) return !http_headers_get(&m->head, "grpc-encoding").n;
    return str_eq(type, STR("application/x-protobuf")) &&
           !http_headers_get(&m->head, "content-encoding").n;
}

void ingest_request(ingest *i, http_exchange *x, const receive_route *route)
{
    http_message *m = http_exchange_message(x);
    request *r = new_request(i);
    uint64_t timeout;
    if (!r) {
        err e = {0};
        err_memory(&e);
        reply(x, route, VERDICT_OVERLOADED, NULL, &e);
        return;
    }
    *r = (request){.of = i,
                   .x = x,
                   .route = *route,
                   .n_bytes = m->body.n,
                   .arrival = wall_now(i),
                   .max_message = i->o.max_message,
                   .memory = i->o.memory};
    *http_exchange_user(x) = r;
    ingest_name_sender(x, r->peer);
    if (grpc_timeout_parse(http_headers_get(&m->head, "grpc-timeout"), &timeout) &&
        ckd_add(&r->deadline, loop_now(i->loop), timeout))
        r->deadline = 0;
    if (m->failure == HTTP_TOO_LARGE) {
        err_set(&r->why, ERR_LIMIT, "the request is larger than the limit of %zu bytes",
                m->body.limit);
        fail(r, VERDICT_TOO_LARGE);
    } else if (m->failure == HTTP_OVERLOADED) {
        err_set(&r->why, ERR_BUSY, "too much data is being sent at once");
        fail(r, VERDICT_OVERLOADED);
    } else if (m->body.n > (is_quick(route, m) ? QUICK_IN_LOOP : 1) * i->o.in_loop) {
        read_in_pool(r);
    } else {
        read_here(r);
    }
}

void ingest_gone(ingest *i, http_exchange *x)
{
    (void)i;
    request *r = *http_exchange_user(x);
    if (r) r->x = NULL;
}

void ingest_refuse(ingest *i, http_exchange *x, const receive_route *route, verdict v,
                   const char *why)
{
    err e = {0};
    err_set(&e, ERR_USAGE, "%s", why);
    char peer[INGEST_NAME];
    ingest_name_sender(x, peer);
    i->n.requests++;
    ++*counter_of(i, v);
    if (i->callbacks.refused) i->callbacks.refused(i->callbacks.ctx, peer, v, why);
    reply(x, route, v, NULL, &e);
}

/* ---- open and close ---- */

void ingest_limits(ingest *i, const ingest_opts *o)
{
    i->o = *o;
    if (!i->o.max_message) i->o.max_message = MAX_MESSAGE;
    if (!i->o.in_loop) i->o.in_loop = IN_LOOP;
    if (!i->o.memory) i->o.memory = MEMORY;
}

ingest *ingest_open(loop *l, store *s, pool *p, const ingest_opts *o,
                    const ingest_callbacks *callbacks, err *e)
{
    ingest *i = calloc(1, sizeof *i);
    if (!i) return err_memory(e), NULL;
    i->loop = l, i->store = s, i->pool = p, i->callbacks = *callbacks;
    i->push = (loop_timer){.due = on_push, .ctx = i};
    ingest_limits(i, o);
    i->scratch.seed = loop_world(l)->random(loop_world(l)->ctx);
    pthread_mutex_init(&i->lock, NULL);
    return i;
}

void ingest_close(ingest *i)
{
    if (!i) return;
    loop_disarm(i->loop, &i->push);
    ingest_settle(i);
    arena_free(&i->scratch);
    while (i->n_arenas) arena_free(&i->arenas[--i->n_arenas]);
    for (request *r = i->spare, *next; r; r = next) {
        next = r->next;
        free(r);
    }
    pthread_mutex_destroy(&i->lock);
    free(i);
}

ingest_counts ingest_count(const ingest *i) { return i->n; }
uint64_t ingest_rejected_by(const ingest *i, size_t reason) { return i->rejected_by[reason]; }
const ledger *ingest_losses(const ingest *i) { return &i->losses; }

const ingest_source *ingest_recognised(const ingest *i, size_t *n)
{
    *n = i->n_recognised;
    return i->recognised;
}

const ingest_source *ingest_senders(const ingest *i, size_t *n)
{
    *n = i->n_senders;
    return i->senders;
}
