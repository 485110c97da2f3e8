/* Manages the queue and the requests in flight, and decides after each response whether to settle,
 * split, retry or spool the batch. */
#include "otlp/sender.h"

#include "net/client.h"
#include "net/grpc.h"
#include "otlp/response.h"
#include "otlp/backoff.h"
#include "otlp/split.h"
#include "otlp/failure_log.h"
#include "base/ban.h"

#define MAX_AGE_NS (300 * NS_PER_S)
enum { MAX_REQUEST = 64 << 20, MAX_HEADERS = 40 };

/* A request in flight and its connection. */
typedef struct slot {
    sender *of;
    http_client *client;
    otlp_batch *batch; /* NULL: idle */
    buf packed;
    uint8_t prefix[GRPC_PREFIX];
    http_header head[MAX_HEADERS]; /* must stay valid until the response */
    char timeout[12];
} slot;

struct sender {
    sender_opts o;
    loop *loop;
    tls_context *tls;
    slot *slots;
    otlp_batch *first, **last; /* the queue */
    size_t busy;               /* slots with a request */
    char agent[96];

    loop_timer begin; /* starts sending batches that an earlier process spooled */
    loop_timer wait;  /* armed: send nothing before it fires */
    backoff backoff;
    bool draining;
    uint64_t deadline;

    failure_log failure_log;
};

static void pump(sender *s);
static void on_done(void *ctx, const http_message *m, const err *e);

void otlp_batch_free(otlp_batch *b)
{
    if (!b) return;
    buf_free(&b->bytes);
    if (b->file.bytes.p) file_release(&b->file);
    free(b);
}

static str bytes_of(const otlp_batch *b)
{
    return b->file.bytes.p ? b->file.bytes : buf_view(&b->bytes);
}

const char *outcome_name(outcome o)
{
    static const char *const names[] = {
        [OUTCOME_ACCEPTED] = "accepted",   [OUTCOME_PARTIAL] = "partial",
        [OUTCOME_REFUSED] = "refused",     [OUTCOME_MISFIT] = "misfit",
        [OUTCOME_TOO_LARGE] = "too_large", [OUTCOME_EXPIRED] = "expired",
        [OUTCOME_SPOOLED] = "spooled",     [OUTCOME_UNSENT] = "unsent",
        [OUTCOME_LOST] = "lost",
    };
    return names[o];
}

/* ---- reports ---- */

/* Advice for a mismatch with the receiver. */
static void advise(const slot *k, char *out, size_t n)
{
    const otlp_config *c = k->of->o.config;
    http_mismatch m = http_client_mismatch(k->client);
    const char *at = http_client_authority(k->client), *scheme = NULL, *protocol = NULL;
    if (m == HTTP_PEER_PLAINTEXT || m == HTTP_PEER_SILENT) scheme = "http";
    if (m == HTTP_PEER_TLS) scheme = "https";
    if (m == HTTP_PEER_HTTP1) protocol = otlp_protocol_name(OTLP_HTTP);
    if (m == HTTP_PEER_HTTP2) protocol = otlp_protocol_name(OTLP_GRPC);
    out[0] = '\0';
    if (scheme)
        snprintf(out, n, "%s%s%s://%s",
                 m == HTTP_PEER_SILENT ? "; if it speaks plaintext: " : "; set ", c->set_endpoint,
                 scheme, at);
    else if (protocol)
        snprintf(out, n, "; set %s%s", c->set_protocol, protocol);
    else if (m == HTTP_PEER_UNTRUSTED)
        snprintf(out, n, "; set %sFILE to the CA to trust", c->set_ca);
    else if (otlp_ignored_proxy(c))
        snprintf(out, n, "; kiln connects directly: it ignores %s", otlp_ignored_proxy(c));
}

static void log_failure(sender *s, const char *text)
{
    failure_log_failed(&s->failure_log, loop_now(s->loop), text);
}

static _Atomic uint64_t *counter_of(sender *s, outcome o)
{
    otlp_counters *c = s->o.counters;
    switch (o) {
    case OUTCOME_ACCEPTED:
    case OUTCOME_PARTIAL: return &c->items_accepted;
    case OUTCOME_MISFIT:
    case OUTCOME_REFUSED: return &c->items_refused;
    case OUTCOME_TOO_LARGE: return &c->items_too_large;
    case OUTCOME_EXPIRED: return &c->items_expired;
    case OUTCOME_SPOOLED: return &c->items_spooled;
    case OUTCOME_UNSENT: return &c->items_unsent;
    case OUTCOME_LOST: break;
    }
    return &c->items_spool_lost;
}

static void report(sender *s, const settled *t)
{
    uint64_t rejected = t->rejected > 0 ? (uint64_t)t->rejected : 0;
    if (rejected > t->items) rejected = t->items;
    otlp_count(counter_of(s, t->outcome), t->items - rejected);
    if (rejected) otlp_count(&s->o.counters->items_rejected, rejected);
    if (s->o.settled) s->o.settled(s->o.ctx, t);
}

/* ---- the queue ---- */

static void push(sender *s, otlp_batch *b)
{
    b->next = NULL;
    *s->last = b;
    s->last = &b->next;
}

static otlp_batch *pop(sender *s)
{
    otlp_batch *b = s->first;
    if (b && !(s->first = b->next)) s->last = &s->first;
    return b;
}

static void push_front(sender *s, otlp_batch *b)
{
    b->next = s->first;
    if (!s->first) s->last = &b->next;
    s->first = b;
}

/* Reports the outcome and frees the batch.  Deletes its spool file with the last part. */
static void settle(sender *s, otlp_batch *b, outcome o, int64_t rejected, const char *text)
{
    bool last = !b->parts || --*b->parts == 0;
    settled t = {.outcome = o,
                 .cookie = b->cookie,
                 .items = b->items,
                 .bytes = bytes_of(b).n,
                 .held = last ? b->held : 0,
                 .rejected = rejected,
                 .duplicates = b->duplicates,
                 .attempts = b->attempts,
                 .text = text,
                 .last = last};
    if (last) free(b->parts);
    if (last && b->spooled) spool_drop(s->o.spool, b->spooled);
    report(s, &t);
    otlp_batch_free(b);
}

/* Ends a request in flight and returns its batch, which the caller then owns. */
static otlp_batch *take_back(slot *k)
{
    otlp_batch *b = k->batch;
    k->batch = NULL;
    k->of->busy--;
    return b;
}

/* ---- the spool ---- */

static void spool_one(sender *s, otlp_batch *b)
{
    spool_lost lost;
    err e = {0};
    const world *w = loop_world(s->loop);
    bool ok = spool_put(s->o.spool, bytes_of(b), b->items, w->wall(w->ctx), &lost, &e);
    otlp_count(&s->o.counters->items_spool_lost, lost.items);
    if (!ok) lost.batches++, lost.items += b->items; /* it is settled and counted as lost */
    char text[400];
    if (!ok) log_failure(s, err_text(&e, text, sizeof text));
    failure_log_dropped(&s->failure_log, loop_now(s->loop), &lost);
    settle(s, b, ok ? OUTCOME_SPOOLED : OUTCOME_LOST, 0, ok ? s->failure_log.why : text);
}

/* Spools all waiting batches, or settles them with the outcome. */
static void flush_queue(sender *s, outcome o, const char *text)
{
    while (s->first && s->o.spool) spool_one(s, pop(s));
    while (s->first) settle(s, pop(s), o, 0, text);
}

/* Returns an undelivered batch to the spool or the queue. */
static void requeue(sender *s, otlp_batch *b)
{
    if (b->spooled && !b->parts) {
        spool_return(s->o.spool, b->spooled);
        otlp_batch_free(b);
    } else {
        push_front(s, b);
    }
}

/* ---- splitting ---- */

/* Replaces a batch that is too large by two halves.  Both contain the dictionary, so memory grows
 * with each split; when the dictionary dominates, splitting does not help. */
static bool halve(sender *s, otlp_batch *was)
{
    otlp_batch *h[2] = {calloc(1, sizeof *h[0]), calloc(1, sizeof *h[1])};
    unsigned *parts = was->parts ? was->parts : calloc(1, sizeof *parts);
    str bytes = bytes_of(was);
    bool ok = h[0] && h[1] && parts && otlp_split(bytes, &h[0]->bytes, &h[1]->bytes);
    for (int i = 0; ok && i < 2; i++) ok = h[i]->bytes.n < bytes.n - bytes.n / 16;
    if (!ok) {
        if (!was->parts) free(parts);
        otlp_batch_free(h[0]), otlp_batch_free(h[1]);
        return false;
    }
    *parts += was->parts ? 1 : 2;
    for (int i = 0; i < 2; i++) {
        h[i]->items = otlp_count_items(buf_view(&h[i]->bytes));
        h[i]->cookie = was->cookie;
        h[i]->born = was->born;
        h[i]->held = was->held; /* released with the last part */
        h[i]->spooled = was->spooled;
        h[i]->parts = parts;
    }
    otlp_batch_free(was);
    push_front(s, h[1]);
    push_front(s, h[0]);
    otlp_count(&s->o.counters->splits, 1);
    return true;
}

/* ---- requests ---- */

static bool pack_body(slot *k, err *e)
{
    codec c = k->of->o.config->codec;
    buf_reset(&k->packed);
    return c == CODEC_NONE || pack_quick(c, bytes_of(k->batch), &k->packed, e);
}

static size_t put_head(slot *k)
{
    http_header *h = k->head;
    const otlp_config *c = k->of->o.config;
    bool grpc = c->protocol == OTLP_GRPC;
    size_t n = 0;
    h[n++] = (http_header){STR("content-type"),
                           grpc ? STR("application/grpc") : STR("application/x-protobuf")};
    h[n++] = (http_header){STR("user-agent"), str_of(k->of->agent)};
    if (grpc) h[n++] = (http_header){STR("te"), STR("trailers")};
    if (grpc && c->timeout) h[n++] = (http_header){STR("grpc-timeout"), str_of(k->timeout)};
    if (c->codec != CODEC_NONE)
        h[n++] = (http_header){grpc ? STR("grpc-encoding") : STR("content-encoding"),
                               str_of(codec_name(c->codec))};
    for (size_t i = 0; i < c->headers.n && n < MAX_HEADERS; i++) h[n++] = c->headers.v[i];
    return n;
}

/* Settles a batch that is larger than max_request without sending it (T-13). */
static void give_up_large(slot *k)
{
    sender *s = k->of;
    otlp_batch *b = take_back(k);
    size_t n = bytes_of(b).n;
    char text[128];
    if (halve(s, b)) return;
    snprintf(text, sizeof text, "%zu bytes exceed the limit of %zu for a request", n,
             s->o.max_request);
    settle(s, b, OUTCOME_TOO_LARGE, 0, text);
}

static void send_now(slot *k)
{
    sender *s = k->of;
    const otlp_config *c = s->o.config;
    err e = {0};
    if (bytes_of(k->batch).n > s->o.max_request) {
        give_up_large(k);
        return;
    }
    if (!pack_body(k, &e)) {
        settle(s, take_back(k), OUTCOME_REFUSED, 0, e.msg);
        return;
    }
    str body = c->codec == CODEC_NONE ? bytes_of(k->batch) : buf_view(&k->packed);
    http_request r = {
        .method = STR("POST"), .path = c->to.path, .head = k->head, .timeout = c->timeout};
    if (c->protocol == OTLP_GRPC) {
        grpc_timeout_text(c->timeout, k->timeout);
        grpc_put_prefix(k->prefix, c->codec != CODEC_NONE, (uint32_t)body.n);
        r.body[0] = (str){(const char *)k->prefix, GRPC_PREFIX};
    }
    r.n_head = put_head(k);
    r.body[1] = body;
    k->batch->attempts++;
    otlp_count(&s->o.counters->attempts, 1);
    otlp_count(&s->o.counters->bytes_sent, body.n);
    http_client_send(k->client, &r);
}

/* Loads the oldest batch of the spool.  Returns false when it cannot be read; the batch is then
 * settled. */
static bool read_spooled(sender *s, otlp_batch *b)
{
    spool_batch got;
    err e = {0};
    bool ok = spool_take(s->o.spool, &got, &e);
    *b = (otlp_batch){.items = got.items, .spooled = got.number, .born = loop_now(s->loop)};
    if (ok) return b->file = got.file, true;
    char text[400];
    log_failure(s, err_text(&e, text, sizeof text));
    settle(s, b, OUTCOME_LOST, 0, text);
    return false;
}

/* Takes the next batch: from disk first, because it is older.  While draining, from memory
 * first. */
static otlp_batch *take_next(sender *s)
{
    while (s->o.spool && spool_waits(s->o.spool) && !s->draining) {
        otlp_batch *b = calloc(1, sizeof *b);
        if (!b || read_spooled(s, b)) return b;
    }
    return pop(s);
}

/* Returns an idle slot.  After a failure, allows only one request at a time, to test the
 * receiver. */
static slot *idle_slot(const sender *s)
{
    slot *k = s->slots;
    if (s->busy >= (s->backoff.tries ? 1 : s->o.in_flight)) return NULL;
    while (k->batch) k++;
    return k;
}

static void pump(sender *s)
{
    for (slot *k; !s->wait.armed && (k = idle_slot(s));) {
        if (!(k->batch = take_next(s))) return;
        s->busy++;
        send_now(k);
    }
}

static void on_wait(void *ctx) { pump(ctx); }

/* ---- responses ---- */

static uint64_t back_off(sender *s, uint64_t asked)
{
    const world *w = loop_world(s->loop);
    uint64_t now = loop_now(s->loop);
    if (!s->wait.armed) /* otherwise another request failed in the same outage */
        loop_arm(s->loop, &s->wait, now + backoff_next(&s->backoff, asked, w->random(w->ctx)));
    else if (s->wait.at < now + asked)
        loop_arm(s->loop, &s->wait, now + asked);
    return s->wait.at - now;
}

static void try_later(slot *k, uint64_t asked, const char *text)
{
    sender *s = k->of;
    uint64_t now = loop_now(s->loop), wait = back_off(s, asked);
    otlp_count(&s->o.counters->retries, 1);
    requeue(s, take_back(k));
    bool too_late = s->draining && (s->deadline < now || wait > s->deadline - now);
    if (s->o.spool || too_late) flush_queue(s, OUTCOME_UNSENT, text);
    /* settle all batches that will be too old by then, because they occupy the queue */
    while (s->first && now - s->first->born + wait > s->o.max_age)
        settle(s, pop(s), OUTCOME_EXPIRED, 0, text);
}

/* Settles all waiting batches after a mismatch.  It may be a temporary misconfiguration, so the
 * sender tries later batches, but not each one: a handshake is expensive for both sides. */
static void give_up_all(slot *k, const char *text)
{
    sender *s = k->of;
    settle(s, take_back(k), OUTCOME_MISFIT, 0, text);
    while (s->first) settle(s, pop(s), OUTCOME_MISFIT, 0, text);
    (void)back_off(s, 0);
}

static void take_result(slot *k, export_result *a)
{
    sender *s = k->of;
    otlp_batch *b;
    switch (a->kind) {
    case RESULT_ACCEPTED:
    case RESULT_PARTIAL:
        backoff_reset(&s->backoff);
        if (a->text[0])
            log_failure(s, a->text);
        else
            failure_log_recovered(&s->failure_log, loop_now(s->loop));
        k->batch->duplicates = a->duplicates;
        settle(s, take_back(k), a->kind == RESULT_PARTIAL ? OUTCOME_PARTIAL : OUTCOME_ACCEPTED,
               a->rejected, a->text);
        return;
    case RESULT_REFUSED:
    case RESULT_TOO_LARGE:
        backoff_reset(&s->backoff);
        b = take_back(k);
        if (a->kind == RESULT_TOO_LARGE && halve(s, b)) return;
        log_failure(s, a->text);
        settle(s, b, a->kind == RESULT_REFUSED ? OUTCOME_REFUSED : OUTCOME_TOO_LARGE, 0, a->text);
        return;
    case RESULT_MISMATCH: /* spooled batches can wait until it is fixed */
        log_failure(s, a->text);
        if (s->o.spool || s->o.max_age == SENDER_FOREVER)
            try_later(k, 0, a->text);
        else
            give_up_all(k, a->text);
        return;
    case RESULT_RETRY:
        log_failure(s, a->text);
        try_later(k, a->wait, a->text);
        return;
    }
}

static void on_done(void *ctx, const http_message *m, const err *e)
{
    slot *k = ctx;
    sender *s = k->of;
    const world *w = loop_world(s->loop);
    export_result a;
    if (!m) {
        export_result_of_failure(e, &a);
        size_t n = strlen(a.text);
        advise(k, a.text + n, sizeof a.text - n);
    } else if (s->o.config->protocol == OTLP_GRPC) {
        export_result_of_grpc(m, &a);
    } else {
        export_result_of_http(m, w->wall(w->ctx), &a);
    }
    take_result(k, &a);
    pump(s);
}

/* ---- open and close ---- */

static bool start(sender *s, err *e)
{
    const otlp_config *c = s->o.config;
    bool grpc = c->protocol == OTLP_GRPC;
    s->slots = calloc(s->o.in_flight, sizeof *s->slots);
    if (!s->slots) return err_memory(e);
    if (c->to.tls && !(s->tls = tls_context_open(false, &c->tls, grpc ? "h2" : "h2 http/1.1", e)))
        return false;
    for (unsigned i = 0; i < s->o.in_flight; i++) {
        slot *k = &s->slots[i];
        k->of = s;
        http_client_opts o = {.to = c->to, .tls = s->tls, .h2 = grpc, .done = on_done, .ctx = k};
        if (!(k->client = http_client_open(s->loop, &o, e))) return false;
    }
    return true;
}

sender *sender_open(loop *l, const sender_opts *o, err *e)
{
    sender *s = calloc(1, sizeof *s);
    if (!s) return err_memory(e), spool_close(o->spool), NULL;
    *s = (sender){.o = *o, .loop = l, .last = &s->first};
    s->wait = (loop_timer){.due = on_wait, .ctx = s};
    s->backoff = (backoff){.first = o->backoff_first, .most = o->backoff_most};
    if (!s->o.max_age) s->o.max_age = MAX_AGE_NS;
    if (!s->o.max_request) s->o.max_request = MAX_REQUEST;
    if (!s->o.in_flight) s->o.in_flight = 1;
    if (s->o.in_flight > SENDER_IN_FLIGHT) s->o.in_flight = SENDER_IN_FLIGHT;
    snprintf(s->agent, sizeof s->agent, "%s%sOTel-OTLP-Exporter-C/" KILN_VERSION,
             o->agent ? o->agent : "", o->agent ? " " : "");
    s->failure_log = (failure_log){.signal = o->config->signal, .say = o->say, .ctx = o->ctx};
    s->begin = (loop_timer){.due = on_wait, .ctx = s};
    if (start(s, e)) {
        loop_arm(l, &s->begin, 0); /* in the loop's thread, because name lookup may block */
        return s;
    }
    sender_close(s);
    return NULL;
}

/* Cancels the requests in flight and requeues their batches in order. */
static void stop_slots(sender *s)
{
    for (unsigned i = s->slots ? s->o.in_flight : 0; i-- > 0;) {
        slot *k = &s->slots[i];
        http_client_close(k->client);
        if (k->batch) requeue(s, take_back(k));
        buf_free(&k->packed);
    }
    free(s->slots);
    s->slots = NULL;
}

void sender_close(sender *s)
{
    if (!s) return;
    loop_disarm(s->loop, &s->begin);
    loop_disarm(s->loop, &s->wait);
    stop_slots(s);
    flush_queue(s, OUTCOME_UNSENT,
                s->failure_log.failing ? s->failure_log.why : "there was no time to send it");
    failure_log_end(&s->failure_log, loop_now(s->loop));
    tls_context_close(s->tls);
    spool_close(s->o.spool);
    free(s);
}

void sender_spill(sender *s)
{
    if (s->o.spool && s->first) flush_queue(s, OUTCOME_UNSENT, s->failure_log.why);
}

void sender_add(sender *s, otlp_batch *b)
{
    b->born = loop_now(s->loop);
    push(s, b);
    if (s->wait.armed && s->o.spool)
        sender_spill(s);
    else
        pump(s);
}

bool sender_idle(const sender *s)
{
    bool disk = s->o.spool && spool_waits(s->o.spool) && !s->draining && !s->wait.armed;
    return !s->busy && !s->first && !disk;
}

void sender_drain(sender *s, uint64_t deadline)
{
    s->draining = true;
    s->deadline = deadline;
    if (s->wait.armed && s->wait.at > deadline) flush_queue(s, OUTCOME_UNSENT, s->failure_log.why);
    pump(s);
}
