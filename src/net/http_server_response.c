/* Sends responses over HTTP/1.1 and HTTP/2. */
#include "net/http_server_parts.h"

#include "base/ban.h"
#include <inttypes.h>

enum { MAX_HEAD = 48, COPIED = 256 << 10 };

/* ---- one request ---- */

http_message *http_exchange_message(http_exchange *x) { return x->m; }

const char *http_exchange_peer(const http_exchange *x) { return x->of->peer; }

bool http_exchange_h2(const http_exchange *x) { return x->of->h2 != NULL; }

void **http_exchange_user(http_exchange *x) { return &x->user; }

bool http_exchange_fits(const http_exchange *x, size_t n) { return client_fits(x->of, n); }

/* ---- responses ---- */

static uint64_t size_of(const http_response *r)
{
    return r->file ? r->file->size : r->body ? r->body->n : 0;
}

static bool respond_h2(client *c, int32_t stream, const http_response *r, bool bare, err *e)
{
    char status[12], length[24];
    http_header head[MAX_HEAD];
    if (r->n_head > MAX_HEAD - 2) return err_set(e, ERR_LIMIT, "too many headers");
    snprintf(status, sizeof status, "%u", r->status);
    snprintf(length, sizeof length, "%" PRIu64, size_of(r));
    head[0] = (http_header){STR(":status"), str_of(status)};
    size_t n = 1;
    for (size_t i = 0; i < r->n_head; i++) head[n++] = r->head[i];
    if (!r->n_trailers && r->status != 304)
        head[n++] = (http_header){STR("content-length"), str_of(length)};
    h2_send out = {.head = head,
                   .n_head = n,
                   .owned = bare ? NULL : r->body,
                   .file = bare ? NULL : r->file,
                   .trailers = r->trailers,
                   .n_trailers = r->n_trailers};
    return h2_respond(c->h2, stream, &out, e);
}

/* Moves a large body into the connection instead of copying it. */
static void put_body(conn *k, buf *body)
{
    buf *b = conn_out(k);
    if (body->n >= COPIED) conn_flush(k); /* sends the headers first */
    if (body->n < COPIED || conn_unsent(k)) {
        buf_str(b, buf_view(body));
        return;
    }
    buf_free(b);
    *b = *body;
    b->limit = 0;
    *body = (buf){0};
}

static bool respond_http1(client *c, const http_response *r, bool bare, err *e)
{
    buf *b = conn_out(c->conn);
    http_header head[MAX_HEAD];
    if (r->n_head > MAX_HEAD - 1) return err_set(e, ERR_LIMIT, "too many headers");
    if (r->n_head) memcpy(head, r->head, r->n_head * sizeof *head);
    size_t n = r->n_head;
    bool keep = c->http1->keeps && !c->s->draining;
    if (!keep) head[n++] = (http_header){STR("connection"), STR("close")};
    if (!http1_put_response(b, r->status, head, n, size_of(r), e)) return false;
    if (r->body && !r->file && !bare) put_body(c->conn, r->body);
    if (r->file && !bare) {
        c->file = *r->file, c->file_at = 0;
        *r->file = SPILL_NONE;
    }
    conn_flush(c->conn);
    c->closing |= !keep;
    c->unread |=
        c->message.failure != HTTP_COMPLETE || c->s->draining; /* more of the request may arrive */
    return !b->failed || err_memory(e);
}

void http_respond(http_exchange *x, const http_response *r)
{
    client *c = x->of;
    err e = {0};
    bool outer = client_enter(c);
    bool bare = str_eq(x->m->method, STR("HEAD"));
    int32_t stream = x->stream;
    size_t held = r->body && r->body->n && !bare ? r->body->head + r->body->cap : 0;
    c->s->n.bytes_out += bare ? 0 : size_of(r);
    client_free_exchange(x);
    bool ok = c->h2 ? respond_h2(c, stream, r, bare, &e) : respond_http1(c, r, bare, &e);
    if (r->body) buf_free(r->body);
    if (r->file) spill_close(r->file);
    if (ok && c->file.fd >= 0)
        client_send_file(c);
    else if (ok && !c->h2)
        client_next_request(c);
    else if (ok && !c->feeding) /* all responses of this turn are sent together */
        loop_arm(c->s->loop, &c->turn, 0);
    if (e.code == ERR_MISMATCH) /* the stream is closed */
        c->s->n.gone++;
    else if (!ok)
        client_end(c);
    if (!c->dead) client_count_owed(c), client_claim_large(c, held), client_refresh(c);
    http_server_collect_owed(c->s);
    client_close_when_out(c);
    client_leave(c, outer);
}
