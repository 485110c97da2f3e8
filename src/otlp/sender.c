#include "otlp/sender.h"

#include "net/client.h"
#include "net/grpc.h"
#include "otlp/answer.h"
#include "otlp/backoff.h"
#include "otlp/split.h"
#include "base/ban.h"

#define MAX_AGE_NS (300 * NS_PER_S)
#define SAY_AGAIN_NS (60 * NS_PER_S)
enum { MAX_REQUEST = 64 << 20, MAX_HEADERS = 40 };

struct sender {
    sender_opts o;
    loop *loop;
    tls_context *tls;
    http_client *client;
    otlp_batch *first, **last; /* the queue */

    /* under way */
    bool busy, from_spool;
    str bytes;       /* the message */
    file_bytes file; /* when it came from the spool */
    size_t items;    /* of it */
    unsigned attempts;
    buf packed;
    uint8_t prefix[GRPC_PREFIX];
    http_header head[MAX_HEADERS]; /* a request looks at it until it is answered */
    char timeout[12], agent[96];

    loop_timer begin; /* what an earlier process left */
    loop_timer wait;  /* armed: not before */
    backoff backoff;
    bool draining;
    uint64_t deadline;

    bool failing; /* an outage that was said */
    uint64_t said_at, failed;
    char said[256]; /* the last trouble that was said */
    char why[256];  /* the last trouble */
};

static void pump(sender *s);
static void on_done(void *who, const http_message *m, const err *e);

void otlp_batch_free(otlp_batch *b)
{
    if (!b) return;
    buf_free(&b->bytes);
    free(b);
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

/* ---- what is told ---- */

static void say(sender *s, const char *sentence)
{
    if (s->o.say) s->o.say(s->o.who, sentence);
}

/* The one thing to do about a peer that is not what we took it for. */
static void advise(const sender *s, http_misfit m, char *out, size_t n)
{
    const otlp_config *c = s->o.config;
    const char *at = http_client_authority(s->client), *scheme = NULL, *protocol = NULL;
    if (m == HTTP_PEER_PLAINTEXT || m == HTTP_PEER_MUTE) scheme = "http";
    if (m == HTTP_PEER_TLS) scheme = "https";
    if (m == HTTP_PEER_HTTP1) protocol = otlp_protocol_name(OTLP_HTTP);
    if (m == HTTP_PEER_HTTP2) protocol = otlp_protocol_name(OTLP_GRPC);
    out[0] = '\0';
    if (scheme)
        snprintf(out, n, "%s%s%s://%s",
                 m == HTTP_PEER_MUTE ? "; if it speaks plaintext: " : "; set ", c->set_endpoint,
                 scheme, at);
    else if (protocol)
        snprintf(out, n, "; set %s%s", c->set_protocol, protocol);
    else if (m == HTTP_PEER_UNTRUSTED)
        snprintf(out, n, "; %sFILE names a CA to trust", c->set_ca);
}

static void say_trouble(sender *s, const char *text)
{
    char line[512];
    uint64_t now = loop_now(s->loop);
    s->failed++;
    snprintf(s->why, sizeof s->why, "%s", text);
    if (s->failing && (now - s->said_at < SAY_AGAIN_NS || !strcmp(s->said, s->why))) return;
    s->failing = true;
    s->said_at = now;
    memcpy(s->said, s->why, sizeof s->said);
    snprintf(line, sizeof line, "%s: %s", otlp_signal_name(s->o.config->signal), text);
    say(s, line);
}

static void say_recovered(sender *s)
{
    char line[128];
    if (!s->failing) return;
    snprintf(line, sizeof line, "%s: delivered again after %llu failures",
             otlp_signal_name(s->o.config->signal), (unsigned long long)s->failed);
    s->failing = false;
    s->failed = 0;
    say(s, line);
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

static void tell(sender *s, const settled *t)
{
    uint64_t rejected = t->rejected > 0 ? (uint64_t)t->rejected : 0;
    if (rejected > t->items) rejected = t->items;
    otlp_count(counter_of(s, t->outcome), t->items - rejected);
    if (rejected) otlp_count(&s->o.counters->items_rejected, rejected);
    if (s->o.settled) s->o.settled(s->o.who, t);
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

static void settle_first(sender *s, outcome o, int64_t rejected, const char *text)
{
    otlp_batch *b = pop(s);
    settled t = {o, b->cookie, b->items, b->bytes.n, b->held, rejected, s->attempts, text};
    tell(s, &t);
    otlp_batch_free(b);
}

static void settle_spooled(sender *s, outcome o, int64_t rejected, const char *text)
{
    settled t = {o, 0, s->items, s->bytes.n, 0, rejected, s->attempts, text};
    file_release(&s->file);
    spool_drop_oldest(s->o.spool);
    tell(s, &t);
}

/* The batch under way is done with. */
static void settle(sender *s, outcome o, int64_t rejected, const char *text)
{
    s->busy = false;
    if (s->from_spool)
        settle_spooled(s, o, rejected, text);
    else
        settle_first(s, o, rejected, text);
}

/* ---- the spool ---- */

static void spool_first(sender *s)
{
    otlp_batch *b = s->first;
    spool_lost lost;
    err e = {0};
    const world *w = loop_world(s->loop);
    bool ok = spool_put(s->o.spool, buf_view(&b->bytes), b->items, w->wall(w->who), &lost, &e);
    otlp_count(&s->o.counters->items_spool_lost, lost.items);
    char text[400];
    if (!ok) say_trouble(s, err_text(&e, text, sizeof text));
    settle_first(s, ok ? OUTCOME_SPOOLED : OUTCOME_LOST, 0, ok ? s->why : text);
}

/* Everything that waits in memory goes somewhere else. */
static void put_away(sender *s, outcome o, const char *text)
{
    while (s->first && s->o.spool) spool_first(s);
    while (s->first) settle_first(s, o, 0, text);
}

/* ---- halves ---- */

/* Too large: two halves take its place.  The dictionary is in both, so memory grows by at most that with each
 * of the log2(items) cuts on the way to a single item; when it is all there is, cutting is no use. */
static bool halve(sender *s)
{
    otlp_batch *h[2] = {calloc(1, sizeof *h[0]), calloc(1, sizeof *h[1])};
    bool ok = h[0] && h[1] && otlp_split(s->bytes, &h[0]->bytes, &h[1]->bytes);
    for (int i = 0; ok && i < 2; i++) ok = h[i]->bytes.n < s->bytes.n - s->bytes.n / 16;
    if (!ok) {
        otlp_batch_free(h[0]), otlp_batch_free(h[1]);
        return false;
    }
    const otlp_batch *was = s->from_spool ? NULL : s->first;
    for (int i = 0; i < 2; i++) {
        h[i]->items = otlp_count_items(buf_view(&h[i]->bytes));
        h[i]->cookie = was ? was->cookie : 0;
        h[i]->born = was ? was->born : loop_now(s->loop);
    }
    h[1]->held = was ? was->held : 0; /* given back with the last of them */
    s->busy = false;
    if (s->from_spool) {
        file_release(&s->file);
        spool_drop_oldest(s->o.spool);
    } else {
        otlp_batch_free(pop(s));
    }
    h[0]->next = h[1], h[1]->next = s->first;
    if (!s->first) s->last = &h[1]->next;
    s->first = h[0];
    otlp_count(&s->o.counters->splits, 1);
    return true;
}

/* ---- requests ---- */

static bool pack_body(sender *s, err *e)
{
    codec c = s->o.config->codec;
    buf_reset(&s->packed);
    return c == CODEC_NONE || pack_quick(c, s->bytes, &s->packed, e);
}

static size_t put_head(sender *s)
{
    http_header *h = s->head;
    const otlp_config *c = s->o.config;
    bool grpc = c->protocol == OTLP_GRPC;
    size_t n = 0;
    h[n++] = (http_header){STR("content-type"),
                           grpc ? STR("application/grpc") : STR("application/x-protobuf")};
    h[n++] = (http_header){STR("user-agent"), str_of(s->agent)};
    if (grpc) h[n++] = (http_header){STR("te"), STR("trailers")};
    if (grpc && c->timeout) h[n++] = (http_header){STR("grpc-timeout"), str_of(s->timeout)};
    if (c->codec != CODEC_NONE)
        h[n++] = (http_header){grpc ? STR("grpc-encoding") : STR("content-encoding"),
                               str_of(codec_name(c->codec))};
    for (size_t i = 0; i < c->headers.n && n < MAX_HEADERS; i++) h[n++] = c->headers.v[i];
    return n;
}

static void send_now(sender *s)
{
    const otlp_config *c = s->o.config;
    err e = {0};
    if (s->bytes.n > s->o.max_request) { /* T-13 */
        char text[128];
        if (halve(s)) return;
        snprintf(text, sizeof text, "%zu bytes are more than the limit of %zu for a request",
                 s->bytes.n, s->o.max_request);
        settle(s, OUTCOME_TOO_LARGE, 0, text);
        return;
    }
    if (!pack_body(s, &e)) {
        settle(s, OUTCOME_REFUSED, 0, e.msg);
        return;
    }
    str body = c->codec == CODEC_NONE ? s->bytes : buf_view(&s->packed);
    http_request r = {
        .method = STR("POST"), .path = c->to.path, .head = s->head, .timeout = c->timeout};
    if (c->protocol == OTLP_GRPC) {
        grpc_timeout_text(c->timeout, s->timeout);
        grpc_put_prefix(s->prefix, c->codec != CODEC_NONE, (uint32_t)body.n);
        r.body[0] = (str){(const char *)s->prefix, GRPC_PREFIX};
    }
    r.n_head = put_head(s);
    r.body[1] = body;
    s->attempts++;
    otlp_count(&s->o.counters->attempts, 1);
    otlp_count(&s->o.counters->bytes_sent, body.n);
    http_client_send(s->client, &r);
}

/* The next batch, from disk before memory: it is older.  At the end memory comes first, disk can wait. */
static bool take_next(sender *s)
{
    err e = {0};
    while (s->o.spool && spool_count(s->o.spool) && !s->draining) {
        s->from_spool = true;
        if (spool_oldest(s->o.spool, &s->items, &s->file, &e)) {
            s->bytes = s->file.bytes;
            return true;
        }
        char text[400];
        say_trouble(s, err_text(&e, text, sizeof text));
        s->bytes = (str){0};
        settle_spooled(s, OUTCOME_LOST, 0, text);
        e = (err){0};
    }
    s->from_spool = false;
    if (!s->first) return false;
    s->bytes = buf_view(&s->first->bytes);
    s->items = s->first->items;
    return true;
}

static void pump(sender *s)
{
    while (!s->busy && !s->wait.armed) {
        unsigned again = s->attempts;
        s->attempts = 0;
        if (!take_next(s)) return;
        if (s->backoff.tries && !s->from_spool) s->attempts = again; /* the same one once more */
        s->busy = true;
        send_now(s);
    }
}

static void on_wait(void *who) { pump(who); }

/* ---- answers ---- */

static void try_later(sender *s, uint64_t asked, const char *text)
{
    const world *w = loop_world(s->loop);
    uint64_t now = loop_now(s->loop), wait = backoff_next(&s->backoff, asked, w->random(w->who));
    s->busy = false;
    otlp_count(&s->o.counters->retries, 1);
    if (s->from_spool) file_release(&s->file);
    bool too_late = s->draining && (s->deadline < now || wait > s->deadline - now);
    if (s->o.spool || too_late) put_away(s, OUTCOME_UNSENT, text);
    /* all that will be too old by then, not the first alone: they keep newer ones out of a full queue */
    while (s->first && now - s->first->born + wait > s->o.max_age)
        settle_first(s, OUTCOME_EXPIRED, 0, text);
    loop_arm(s->loop, &s->wait, now + wait);
}

/* Nobody could tell a receiver of another kind from one that was set up wrong, so it is asked again, but not with
 * every batch: a handshake costs both sides. */
static void give_up_all(sender *s, const char *text)
{
    const world *w = loop_world(s->loop);
    settle(s, OUTCOME_MISFIT, 0, text);
    s->attempts = 0;
    while (s->first) settle_first(s, OUTCOME_MISFIT, 0, text);
    loop_arm(s->loop, &s->wait,
             loop_now(s->loop) + backoff_next(&s->backoff, 0, w->random(w->who)));
}

static void take_answer(sender *s, answer *a)
{
    switch (a->kind) {
    case ANSWER_ACCEPTED:
    case ANSWER_PARTIAL:
        backoff_reset(&s->backoff);
        if (a->text[0])
            say_trouble(s, a->text);
        else
            say_recovered(s);
        settle(s, a->kind == ANSWER_PARTIAL ? OUTCOME_PARTIAL : OUTCOME_ACCEPTED, a->rejected,
               a->text);
        return;
    case ANSWER_REFUSED:
    case ANSWER_TOO_LARGE:
        backoff_reset(&s->backoff);
        if (a->kind == ANSWER_TOO_LARGE && halve(s)) return;
        say_trouble(s, a->text);
        settle(s, a->kind == ANSWER_REFUSED ? OUTCOME_REFUSED : OUTCOME_TOO_LARGE, 0, a->text);
        return;
    case ANSWER_MISFIT: /* what is on disk can wait for somebody to put it right */
        say_trouble(s, a->text);
        if (s->o.spool)
            try_later(s, 0, a->text);
        else
            give_up_all(s, a->text);
        return;
    case ANSWER_RETRY:
        say_trouble(s, a->text);
        try_later(s, a->wait, a->text);
        return;
    }
}

static void on_done(void *who, const http_message *m, const err *e)
{
    sender *s = who;
    const world *w = loop_world(s->loop);
    answer a;
    if (!m) {
        answer_of_failure(e, &a);
        size_t n = strlen(a.text);
        advise(s, http_client_misfit(s->client), a.text + n, sizeof a.text - n);
    } else if (s->o.config->protocol == OTLP_GRPC) {
        answer_of_grpc(m, &a);
    } else {
        answer_of_http(m, w->wall(w->who), &a);
    }
    take_answer(s, &a);
    pump(s);
}

/* ---- life ---- */

static bool start(sender *s, err *e)
{
    const otlp_config *c = s->o.config;
    bool grpc = c->protocol == OTLP_GRPC;
    if (c->to.tls && !(s->tls = tls_context_open(false, &c->tls, grpc ? "h2" : "h2 http/1.1", e)))
        return false;
    http_client_opts o = {.to = c->to, .tls = s->tls, .h2 = grpc, .done = on_done, .who = s};
    s->client = http_client_open(s->loop, &o, e);
    return s->client != NULL;
}

sender *sender_open(loop *l, const sender_opts *o, err *e)
{
    sender *s = calloc(1, sizeof *s);
    if (!s) return err_set(e, ERR_LIMIT, "out of memory"), spool_close(o->spool), NULL;
    *s = (sender){.o = *o, .loop = l, .last = &s->first};
    s->wait = (loop_timer){.due = on_wait, .who = s};
    s->backoff = (backoff){.first = o->backoff_first, .most = o->backoff_most};
    if (!s->o.max_age) s->o.max_age = MAX_AGE_NS;
    if (!s->o.max_request) s->o.max_request = MAX_REQUEST;
    snprintf(s->agent, sizeof s->agent, "%s%sOTel-OTLP-Exporter-C/" KILN_VERSION,
             o->agent ? o->agent : "", o->agent ? " " : "");
    s->begin = (loop_timer){.due = on_wait, .who = s};
    if (start(s, e)) {
        loop_arm(l, &s->begin, 0); /* in the loop's thread: looking up the host may take time */
        return s;
    }
    sender_close(s);
    return NULL;
}

void sender_close(sender *s)
{
    if (!s) return;
    http_client_close(s->client);
    loop_disarm(s->loop, &s->begin);
    loop_disarm(s->loop, &s->wait);
    if (s->busy && s->from_spool) file_release(&s->file);
    s->busy = false;
    put_away(s, OUTCOME_UNSENT, s->failing ? s->why : "there was no time to send it");
    tls_context_close(s->tls);
    spool_close(s->o.spool);
    buf_free(&s->packed);
    free(s);
}

void sender_add(sender *s, otlp_batch *b)
{
    b->born = loop_now(s->loop);
    push(s, b);
    if (s->wait.armed && s->o.spool) {
        if (!s->busy) put_away(s, OUTCOME_UNSENT, s->why);
        return;
    }
    pump(s);
}

bool sender_idle(const sender *s)
{
    bool disk = s->o.spool && spool_count(s->o.spool) && !s->draining && !s->wait.armed;
    return !s->busy && !s->first && !disk;
}

void sender_drain(sender *s, uint64_t deadline)
{
    s->draining = true;
    s->deadline = deadline;
    if (s->wait.armed && s->wait.at > deadline) put_away(s, OUTCOME_UNSENT, s->why);
    pump(s);
}
