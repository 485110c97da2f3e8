/* server/internal.h - the server's parts, shared by server.c, requests.c, reload.c and
 * server_log.c. */
#pragma once
#include "server/api.h"
#include "server/api_saved.h"
#include "server/api_source.h"
#include "server/forward.h"
#include "server/guard.h"
#include "server/notify.h"
#include "server/refusals.h"
#include "server/server.h"
#include <stdatomic.h>

#define SERVER_ALPN "h2 http/1.1"
enum { SERVER_ADDRESSES = CONFIG_LISTENS, SERVER_ADDRESS = 72 };

struct server {
    server_config c;
    arena texts; /* texts of settings that a reload changed */
    server_hooks hooks;
    logger *log;
    notify notify;
    loop *loop;
    store *store;
    pool *pool;       /* decodes requests */
    pool *query_pool; /* runs queries, so that long ones do not delay senders */
    forward *forward; /* NULL: nothing is forwarded */
    ingest *ingest;
    api *api;
    api_saved *saved;
    api_source *source;
    struct saved *settings; /* of Pyroscope's clients */
    guard *guard;
    loop_timer check;    /* reloads changed tokens */
    loop_timer watchdog; /* systemd's watchdog */
    uint64_t started;    /* Unix ns */
    http_server *http;
    tls_context *tls;
    char addresses[SERVER_ADDRESSES][SERVER_ADDRESS];
    size_t n_addresses;
    bool exposed;            /* reachable from other hosts */
    bool warned;             /* the warning about tokens was logged */
    uint64_t certificate_at; /* loop_now of the next certificate check */
    refusals refusals;       /* rejected requests, for the log */
    refusals rejections;     /* partially rejected requests */
    atomic_bool stopping, hung_up;
    uint64_t drain_until; /* 0: not draining */
};

/* requests.c */
http_server_events server_requests(server *s);
/* Logs that a request was rejected; ctx is the server. */
void server_on_refused(void *ctx, const char *peer, verdict v, const char *why);
/* Logs that n profiles or log records of a request were rejected. */
void server_on_rejected(void *ctx, const char *peer, size_t n, const char *why);

/* server_log.c */
void server_log(server *s, log_event ev, bool warning, const char *fmt, ...) PRINTF(4, 5);
void server_log_start(server *s); /* addresses, viewer URL, READY */
void server_log_stop(server *s);
void server_log_revoked(server *s); /* warns about token files without tokens */
/* Checks the certificate, now and once a day. */
void server_log_certificate(server *s);

/* Returns whether other hosts may reach a server with this configuration: TLS, both kinds of
 * tokens, or insecure. */
static inline bool server_may_be_exposed(const server_config *c)
{
    return c->insecure || c->tls.cert || (c->write_tokens && c->read_tokens);
}

/* Opens the client of source.debuginfod; *out is NULL without that key. */
NODISCARD bool server_open_debuginfod(const server_config *c, struct debuginfod **out, err *e);

/* Raises the limit of descriptors, and lowers the number of connections so that some remain for the
 * store. */
void server_fit_descriptors(http_limits *o);
