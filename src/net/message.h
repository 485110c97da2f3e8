/* net/message.h - a received HTTP message.  HTTP/1.1 and HTTP/2, clients and servers use the same
 * struct. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "net/body_cache.h"

enum {
    HTTP_MAX_HEAD = 64 << 10, /* bytes of the names and values of one message, trailers included */
    HTTP_MAX_HEADERS = 256,   /* headers of one message, trailers included */
    HTTP_MAX_RESPONSE = 4 << 20, /* default limit of a response's body (T-14) */
    HTTP_SMALL_BODY = 1 << 20,
};

typedef struct http_header {
    str name, value; /* HTTP/2: names in lower case */
} http_header;

typedef VEC(http_header) http_headers;

/* Why a request is incomplete.  The server delivers it anyway, so that it gets a response. */
typedef enum http_failure {
    HTTP_COMPLETE,
    HTTP_TOO_LARGE,  /* the body exceeds body.limit and was discarded */
    HTTP_OVERLOADED, /* the pool is full: try again later */
    HTTP_NO_BODY,    /* `admit` rejected the body */
} http_failure;

/* Accounts for the memory of request headers and bodies of all connections of a server.  The last
 * quarter is reserved for messages of at most HTTP_SMALL_BODY, so that a few large ones cannot
 * block all clients.  When the pool is full, messages that arrive too slowly (see message.c) are
 * evicted in favour of a new one, and their failure becomes HTTP_OVERLOADED. */
typedef struct http_pool {
    size_t used, max;
    uint64_t now;                         /* ns, updated by the owner */
    struct http_message *oldest, *newest; /* incomplete messages, by start time */
    bool evicted;                         /* some were evicted; the owner must respond to them */
    body_cache body_cache;                /* buffers for reuse */
} http_pool;

/* How a request arrived. */
typedef struct http_transport {
    bool loopback; /* on a loopback address */
    bool tls, h2;
} http_transport;

typedef struct http_message {
    arena arena;                 /* texts of headers and trailers */
    unsigned status;             /* of a response */
    str method, path, authority; /* of a request */
    http_transport transport;    /* of a request; set before `admit` */
    http_headers head, trailers;
    size_t n_head;   /* bytes counted toward HTTP_MAX_HEAD */
    size_t expected; /* announced bytes of the body; not trusted */
    buf body;        /* body.limit: a larger message fails with ERR_LIMIT */
    http_failure failure;
    http_pool *pool; /* accounts for its memory; NULL: none */
    size_t pooled;
    uint64_t began;                     /* pool->now when it began */
    struct http_message *older, *newer; /* list of the pool */
    bool coming;                        /* whether it is in that list */
} http_message;

/* Adds a copy of name and value.  Fails with ERR_LIMIT at HTTP_MAX_HEAD or HTTP_MAX_HEADERS, and
 * with ERR_SYS when large headers do not fit the pool. */
NODISCARD bool http_message_add(http_message *m, http_headers *to, str name, str value, err *e);
/* Copies the path or authority.  Counts toward HTTP_MAX_HEAD and fails like http_message_add. */
NODISCARD bool http_message_copy_head(http_message *m, str text, str *out, err *e);
/* Returns a copy that lives as long as the message; its p is NULL when memory runs out. */
str http_message_copy(http_message *m, str text);
NODISCARD bool http_message_body(http_message *m, str bytes, err *e);
/* Servers: like http_message_body, but a body that does not fit sets `failure` and is discarded. */
void http_message_body_or_fail(http_message *m, str bytes);
/* Servers: called when a message begins; counts `n` bytes.  Returns false when the pool would
 * exceed its limit by more than a quarter; with `must` the message is accepted anyway. */
NODISCARD bool http_message_enter(http_message *m, size_t n, bool must);
/* Marks the message as complete: it can no longer be evicted. */
void http_message_complete(http_message *m);
/* Called after the response.  Frees the body and its share of the pool. */
void http_message_drop_body(http_message *m);
/* Moves the contents to *to, which is empty; `from` keeps its limit and pool. */
void http_message_move(http_message *from, http_message *to);
void http_message_reset(http_message *m); /* empties it but keeps its memory */
void http_message_free(http_message *m);

/* Returns the first value of the header `name`, ignoring case, or {NULL, 0} when there is none. */
str http_headers_get(const http_headers *h, const char *name);
/* Returns the quality of `what` in a list (accept, accept-encoding) in thousandths: 0 when it is
 * not acceptable, -1 when it is not listed. */
int http_headers_quality(const http_headers *h, const char *name, str what);
/* Returns whether accept-encoding allows gzip. */
static inline bool http_takes_gzip(const http_headers *h)
{
    int q = http_headers_quality(h, "accept-encoding", STR("gzip"));
    return (q < 0 ? http_headers_quality(h, "accept-encoding", STR("*")) : q) > 0;
}
