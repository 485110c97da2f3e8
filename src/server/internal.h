/* server/internal.h - the server's parts, for server.c, requests.c, reload.c and tell.c. */
#pragma once
#include "server/api.h"
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
    arena texts; /* of what a reload changed in it */
    server_hooks hooks;
    logger *log;
    notify notify;
    loop *loop;
    store *store;
    pool *pool;       /* reads what was sent */
    pool *asked;      /* answers: a long question keeps no sender waiting */
    forward *forward; /* NULL: nothing is passed on */
    ingest *ingest;
    api *api;
    guard *guard;
    loop_timer look;     /* for tokens that changed */
    loop_timer watchdog; /* of systemd */
    uint64_t started;    /* Unix ns */
    http_server *http;
    tls_context *tls;
    char addresses[SERVER_ADDRESSES][SERVER_ADDRESS];
    size_t n_addresses;
    bool exposed;            /* other machines reach us */
    bool complained;         /* about tokens: once */
    uint64_t certificate_at; /* loop_now: when the certificate is looked at again */
    refusals refusals;       /* of requests, in the log */
    refusals rejections;     /* of some profiles of a request */
    atomic_bool stopping, hung_up;
    uint64_t drain_until; /* 0: not draining */
};

/* requests.c */
http_server_events server_requests(server *s);
/* A request or a question was refused, for a line in the log; `who` is the server. */
void server_on_refused(void *who, const char *peer, verdict v, const char *why);
/* n profiles or log records of a request were rejected, for a line in the log. */
void server_on_rejected(void *who, const char *peer, size_t n, const char *why);

/* tell.c */
void server_say(server *s, log_event ev, bool trouble, const char *fmt, ...) PRINTF(4, 5);
void server_tell_start(server *s); /* addresses, where people look, READY */
void server_tell_stop(server *s);
void server_tell_revoked(server *s); /* token files without a token */
/* What clients will refuse about our certificate, now and once a day. */
void server_tell_certificate(server *s);

/* May other machines reach us with this?  With TLS, with tokens for sending and for asking both, or because it was said. */
static inline bool server_may_be_exposed(const server_config *c)
{
    return c->insecure || c->tls.cert || (c->write_tokens && c->read_tokens);
}

/* As many descriptors as we may have, and some of them for the store: connections that take the last one would stop it. */
void server_fit(http_limits *o);
