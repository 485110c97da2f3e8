/* server/api.h - the query API over HTTP; docs/query-api.md lists the endpoints.
 *
 *   GET /api/v1/NAME?query=SELECTOR&start=TIME&end=TIME ─► job in the pool ─► store ─► JSON or binary
 *
 * Each query has a time and a memory limit.  A query that reaches one while it reads the store
 * returns a partial response ("partial", "why"); one that reaches it later fails.  Waiting for a
 * thread counts toward the time, and the pool bounds the queue.  Equal concurrent queries are
 * computed once (flight.h).  A query is cancelled when all of its clients have disconnected. */
#pragma once
#include "net/http_server.h"
#include "server/ingest.h"
#include "server/pool.h"

typedef struct api api;

#define API_COUNTERS(X)                                                                            \
    X(questions, "queries received")                                                               \
    X(answered, "queries answered")                                                                \
    X(partial, "queries answered partially, because a limit was reached")                          \
    X(wrong, "queries rejected: invalid, or nothing is stored under the id")                       \
    X(foreign, "queries rejected: sent by a web page of another site")                             \
    X(unauthorized, "queries rejected: missing or wrong token")                                    \
    X(pressed, "queries rejected temporarily: overloaded, or the query exceeds its limits")        \
    X(failed, "queries that failed")                                                               \
    X(gone, "queries whose client disconnected before the response")                               \
    X(coalesced, "queries answered by an identical query already running")                         \
    X(computed, "queries computed, counting shared ones once")                                     \
    X(queue_full, "queries rejected because the queue was full")                                   \
    X(expired, "queries rejected because they waited in the queue for longer than max_time")       \
    X(spilled, "large responses written to a temporary file")                                      \
    X(unspilled, "large responses held in memory because no temporary file could be written")      \
    X(waited_ms, "total time that queries waited in the queue, in milliseconds")

typedef struct api_counted {
#define X(name, what) uint64_t name;
    API_COUNTERS(X)
#undef X
} api_counted;

typedef struct api_opts {
    store *store;           /* the API opens readers of it */
    const char *dir;        /* for the files of large responses */
    struct saved *settings; /* of Pyroscope's clients; NULL: none can be kept */
    unsigned readers;       /* concurrent queries; 0: 2 */
    /* Time to wait and to read the store; 0: 20 s. The rest may take half of it, at least 1 s. */
    uint64_t max_ns;
    size_t memory; /* for one query; 0: 512 MiB */
    /* Called when a query was rejected; may be NULL. */
    void (*refused)(void *ctx, const char *sender, verdict v, const char *why);
    /* Returns the number of requests acknowledged so far. A query joins a running query only if no
     * request was acknowledged after that began. NULL: the server receives nothing. */
    uint64_t (*acknowledged)(void *ctx);
    /* Receives messages of the store's readers, in any thread; may be NULL. */
    store_log *say;
    void *ctx;
} api_opts;

NODISCARD api *api_open(loop *l, pool *p, const api_opts *o, err *e);
/* Called when the server shuts down: running queries soon end with an error. */
void api_end(api *a);
/* Returns how often queries skipped damaged parts of the store. */
uint64_t api_damaged(const api *a);
void api_close(api *a);

/* Returns whether the path belongs to the API. */
bool api_has(const http_message *m);
/* Responds to x, now or later. */
void api_request(api *a, http_exchange *x);
void api_gone(api *a, http_exchange *x);
/* Called when the client of x closed its sending side and may have disconnected: other queries take
 * precedence. */
void api_ended(api *a, http_exchange *x);
/* Rejects x before the query is parsed: VERDICT_UNAUTHENTICATED, VERDICT_CROSS_SITE. */
void api_refuse(api *a, http_exchange *x, verdict v, const char *why);

api_counted api_count(const api *a);
