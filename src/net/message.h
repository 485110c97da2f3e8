/* net/message.h - an HTTP message as it arrived, whatever version carried it.  HTTP/1.1 and HTTP/2, client and
 * server fill the same struct. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "net/spares.h"

enum {
    HTTP_MAX_HEAD = 64 << 10, /* bytes of the names and values of one message, trailers included */
    HTTP_MAX_HEADERS = 256,   /* their count */
    HTTP_MAX_ANSWER =
        4 << 20, /* bytes of a response's body (T-14), unless the caller says otherwise */
    HTTP_SMALL_BODY = 1 << 20,
};

typedef struct http_header {
    str name, value; /* HTTP/2: names in lower case */
} http_header;

typedef VEC(http_header) http_headers;

/* What is wrong with a request that is handed out all the same, to be answered. */
typedef enum http_trouble {
    HTTP_WHOLE,
    HTTP_TOO_LARGE, /* the body is over body.limit; it was let go */
    HTTP_PRESSED,   /* the pool is full: not now */
    HTTP_UNWANTED,  /* `admit` wants no body: whoever answers knows why */
} http_trouble;

/* What clients make a server hold at a time, over all its connections: heads and bodies.  The last quarter is for messages of
 * at most HTTP_SMALL_BODY: a few large ones that take their time do not keep everybody out.  When there is no room, those that
 * have been coming for a while at less than a rate (message.c) are let go for one that comes now: they become HTTP_PRESSED. */
typedef struct http_pool {
    size_t used, max;
    uint64_t now;                         /* ns, kept by the owner */
    struct http_message *oldest, *newest; /* on their way, by when they began */
    bool relieved; /* some were let go, and the owner has not looked after them yet */
    spares spares; /* for bodies to come */
} http_pool;

/* The way on which a request came. */
typedef struct http_way {
    bool loopback; /* to an address that this machine alone reaches */
    bool tls, h2;
} http_way;

typedef struct http_message {
    arena arena;                 /* texts of head and trailers */
    unsigned status;             /* of a response */
    str method, path, authority; /* of a request */
    http_way way;                /* of a request, as its server sets it before `admit` */
    http_headers head, trailers;
    size_t n_head;   /* bytes counted against HTTP_MAX_HEAD */
    size_t expected; /* bytes of the body, when the peer said so; a promise of no worth */
    buf body;        /* body.limit is the cap: beyond it the message fails with ERR_LIMIT */
    http_trouble trouble;
    http_pool *pool; /* it counts there; NULL: nowhere */
    size_t pooled;
    uint64_t began;                     /* by the pool's clock */
    struct http_message *older, *newer; /* in the pool */
    bool coming;                        /* among these */
} http_message;

/* Copies name and value.  ERR_LIMIT at the limits above; ERR_SYS: a large head, and no room in the pool. */
NODISCARD bool http_message_add(http_message *m, http_headers *to, str name, str value, err *e);
/* A copy of a part of the head that is no header: path, authority.  Counts and fails as above. */
NODISCARD bool http_message_keep_head(http_message *m, str text, str *out, err *e);
/* A copy that lives as long as the message; NULL text: out of memory. */
str http_message_keep(http_message *m, str text);
NODISCARD bool http_message_body(http_message *m, str bytes, err *e);
/* For servers: as above, but what does not fit makes `trouble`, lets the body go and takes no more of it. */
void http_message_body_or_trouble(http_message *m, str bytes);
/* Servers: a message begins, and costs `n` bytes whatever it says.  false: there is no room, not even for small ones; `must`:
 * it is taken all the same. */
NODISCARD bool http_message_enter(http_message *m, size_t n, bool must);
/* All of it is there: it is not let go any more. */
void http_message_whole(http_message *m);
/* It was answered: its body goes, and its place in the pool. */
void http_message_answered(http_message *m);
/* Moves all of it to *to, which is empty; `from` is empty then, but keeps its limit and its pool. */
void http_message_move(http_message *from, http_message *to);
void http_message_reset(http_message *m); /* empty again, limit and memory kept */
void http_message_free(http_message *m);

/* The first value under this name, any case; {NULL, 0}: none. */
str http_headers_get(const http_headers *h, const char *name);
/* What a list of wishes (accept, accept-encoding) gives `what`, in thousandths: 0 refuses it; -1: the list does not name it. */
int http_headers_wish(const http_headers *h, const char *name, str what);
/* accept-encoding has gzip, or anything. */
static inline bool http_takes_gzip(const http_headers *h)
{
    int q = http_headers_wish(h, "accept-encoding", STR("gzip"));
    return (q < 0 ? http_headers_wish(h, "accept-encoding", STR("*")) : q) > 0;
}
