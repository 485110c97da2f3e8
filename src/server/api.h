/* server/api.h - questions over HTTP: docs/query-api.md has the list.
 *
 *   GET /api/v1/NAME?query=SELECTOR&start=TIME&end=TIME ─► a job of the pool ─► store ─► query ─► JSON, or bytes
 *
 * Each question has a budget of time and memory; an answer that reached it while it was reading says so ("partial", "why"), one that
 * could not be made of what was read in time is refused.  Waiting for a thread counts in its time, and the queue is bounded (the
 * pool's).  Equal queries under way are computed once (flight.h).  A question whose askers are all gone is given up. */
#pragma once
#include "net/http_server.h"
#include "server/ingest.h"
#include "server/pool.h"

typedef struct api api;

#define API_COUNTERS(X)                                                                            \
    X(questions, "questions asked")                                                                \
    X(answered, "questions answered")                                                              \
    X(partial, "of these, answers that a budget cut")                                              \
    X(wrong, "questions refused: not understood, or about what is not there")                      \
    X(foreign, "questions refused: web pages of others had a browser ask them")                    \
    X(unauthorized, "questions refused: no token, or the wrong one")                               \
    X(pressed, "questions refused for now: too much at once, or a budget too small")               \
    X(failed, "questions that we could not answer")                                                \
    X(gone, "questions whose asker left before the answer")                                        \
    X(coalesced, "queries that joined an equal one under way")                                     \
    X(computed, "queries that were computed, once for all that joined")                            \
    X(queue_full, "queries rejected because the queue was full")                                   \
    X(expired, "queries rejected because they waited in the queue for longer than max_time")       \
    X(spilled, "large responses that were written to a file, to wait there for their clients")     \
    X(unspilled, "large responses that stay in memory: no file could be written")                  \
    X(waited_ms, "milliseconds that queries waited in the queue, summed")

typedef struct api_counted {
#define X(name, what) uint64_t name;
    API_COUNTERS(X)
#undef X
} api_counted;

typedef struct api_opts {
    const char *store; /* its directory: readers open it once each */
    unsigned readers;  /* questions at a time; 0: 2 */
    uint64_t
        max_ns; /* for waiting and reading what a question is about; 0: 20 s.  Half of it, or 1 s, for the rest */
    size_t memory; /* for a question; 0: 512 MiB */
    /* Who was turned away; may be NULL. */
    void (*refused)(void *who, const char *sender, verdict v, const char *why);
    /* Requests of senders that were acknowledged so far: responses computed before the last one are not shared.  NULL: none
     * are sent. */
    uint64_t (*acknowledged)(void *who);
    /* What readers of the store report, in any thread; may be NULL. */
    void (*say)(void *who, store_said what, const char *line);
    void *who;
} api_opts;

NODISCARD api *api_open(loop *l, pool *p, const api_opts *o, err *e);
/* From now on questions are given up soon: the server is going away. */
void api_end(api *a);
/* Damaged parts of the store that queries left out, each time. */
uint64_t api_damaged(const api *a);
void api_close(api *a);

/* Is the path one of ours? */
bool api_has(const http_message *m);
/* Will be answered. */
void api_request(api *a, http_exchange *x);
void api_gone(api *a, http_exchange *x);
/* Its asker says no more, and may be gone: others go first. */
void api_ended(api *a, http_exchange *x);
/* Turned away before anybody looked at the question: VERDICT_UNAUTHENTICATED, VERDICT_FOREIGN. */
void api_refuse(api *a, http_exchange *x, verdict v, const char *why);

api_counted api_count(const api *a);
