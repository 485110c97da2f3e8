/* server/api_source.h - the endpoint `source`: source files that a debuginfod server has
 * (source.debuginfod).
 *
 *   GET /api/v1/source?build_id=HEX&path=/ABS ─┬ in the cache
 *                                              ├ an equal request is under way: joins it
 *                                              └ a job of its own pool ─► debuginfod ─► cache
 *
 * Nothing but build id and path of the request is sent, and only to the configured servers.  The
 * pool is not that of queries, because a fetch waits for another server. */
#pragma once
#include "net/http_server.h"

struct debuginfod;

typedef struct api_source api_source;

#define SOURCE_COUNTERS(X)                                                                         \
    X(requests, "requests for source files")                                                       \
    X(wrong, "requests for source files rejected: invalid")                                        \
    X(cached, "requests for source files answered from memory")                                    \
    X(coalesced, "requests for source files answered by an identical request already running")     \
    X(fetched, "source files fetched from the debuginfod server")                                  \
    X(unknown, "source files that the debuginfod server does not have")                            \
    X(failed, "source files not fetched: the debuginfod server failed or was too slow")            \
    X(pressed, "requests for source files rejected temporarily: overloaded")

typedef struct api_source_counts {
#define X(name, what) uint64_t name;
    SOURCE_COUNTERS(X)
#undef X
} api_source_counts;

NODISCARD api_source *api_source_open(loop *l, err *e);
/* Uses another client from now on and forgets all files; takes ownership.  NULL: the endpoint has no
 * source of files. */
void api_source_use(api_source *a, struct debuginfod *d);
bool api_source_active(const api_source *a); /* it has a client */
/* Called when the server shuts down: running fetches soon end with an error, and their clients get
 * it. */
void api_source_end(api_source *a);
void api_source_close(api_source *a); /* after the HTTP server */

/* Called in the loop's thread after loop_wake. */
void api_source_reap(api_source *a);

bool api_source_has(const http_message *m);
/* Responds to x, now or later. */
void api_source_request(api_source *a, http_exchange *x);
void api_source_gone(api_source *a, http_exchange *x);
/* Called when the client of x closed its sending side and may have disconnected: other requests take
 * precedence. */
void api_source_ended(http_exchange *x);

api_source_counts api_source_count(const api_source *a);
