/* Sends responses from files, piece by piece, and limits the total size of the files. */
#include "net/http_server_parts.h"

#include "base/ban.h"

enum {
    PIECE = 256 << 10, /* bytes of a file in memory at a time */
    PIECES_A_TURN = 4,
    OWN_SHARE = 4, /* one connection may use 1/OWN_SHARE of the limit, or have a single file */
};
/* When another file does not fit, clients that read more slowly than this are closed. */
#define TAKEN_RATE ((uint64_t)64 << 10)
#define TAKEN_NS (10 * NS_PER_S)

/* ---- limits ---- */

void client_count_files(client *c)
{
    http_server *s = c->s;
    uint64_t now = c->dead ? 0 : c->file.fd >= 0 ? c->file.size : c->h2 ? h2_files(c->h2) : 0;
    if (now && !c->files) {
        c->files_since = loop_now(s->loop);
        c->files_acked = conn_acked(c->conn);
    }
    s->n.file_bytes = s->n.file_bytes - c->files + now;
    c->files = now;
}

static bool is_slow(const client *c, uint64_t now)
{
    uint64_t ns = now - c->files_since;
    return c->files && ns >= TAKEN_NS &&
           conn_acked(c->conn) - c->files_acked < TAKEN_RATE * (ns / NS_PER_S);
}

/* Closes slow clients, those with the largest files first, until n bytes fit. */
static bool make_room(http_server *s, const client *waiting, uint64_t n)
{
    uint64_t now = loop_now(s->loop);
    while (s->n.file_bytes > s->o.files || n > s->o.files - s->n.file_bytes) {
        client *most = NULL;
        for (client *c = s->oldest; c; c = c->next)
            if (c != waiting && is_slow(c, now) && (!most || c->files > most->files)) most = c;
        if (!most) return false;
        client_end_counted(most, &s->n.closed_owed);
    }
    return true;
}

bool http_exchange_fits_file(const http_exchange *x, uint64_t n)
{
    client *c = x->of;
    http_server *s = c->s;
    if (c->files && n > s->o.files / OWN_SHARE -
                            (c->files < s->o.files / OWN_SHARE ? c->files : s->o.files / OWN_SHARE))
        return false;
    return make_room(s, c, n);
}

uint64_t http_exchange_max_file(const http_exchange *x) { return x->of->s->o.files; }

/* ---- sending ---- */

/* Closes the connection, which is the only way to report a truncated body over HTTP/1.1. */
static void cut(client *c)
{
    http_server *s = c->s;
    s->n.cut++;
    if (s->ev.cut) s->ev.cut(s->ev.ctx, c->peer);
    client_end(c);
}

static bool send_piece(client *c)
{
    buf *b = conn_out(c->conn);
    if (!buf_reserve(b, PIECE)) return false;
    ssize_t n = spill_read(&c->file, c->file_at, b->p + b->n, PIECE);
    if (n < 0) return false;
    b->n += (size_t)n;
    c->file_at += (uint64_t)n;
    conn_flush(c->conn);
    return true;
}

void client_send_file(client *c)
{
    for (int i = 0; i < PIECES_A_TURN && c->file_at < c->file.size; i++) {
        if (conn_unsent(c->conn)) break; /* until on_drained */
        if (!send_piece(c)) {
            cut(c);
            return;
        }
    }
    if (c->file_at < c->file.size) {
        if (!conn_unsent(c->conn)) loop_arm(c->s->loop, &c->turn, 0);
    } else {
        spill_close(&c->file);
        client_next_request(c);
    }
    client_count_owed(c);
}
