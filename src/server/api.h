/* server/api.h - questions over HTTP: docs/query-api.md has the list.
 *
 *   GET /api/v1/NAME?query=SELECTOR&start=TIME&end=TIME ─► a job of the pool ─► store ─► query ─► JSON, or bytes
 *
 * Each question has a budget of time and memory; an answer that reached it says so ("partial", "why"). */
#pragma once
#include "net/http_server.h"
#include "server/ingest.h"
#include "server/pool.h"

typedef struct api api;

typedef struct api_opts {
    const char *store; /* its directory: readers open it once each */
    unsigned readers;  /* questions at a time; 0: 2 */
    uint64_t max_ns;   /* for a question; 0: 20 s */
    size_t memory;     /* for a question; 0: 512 MiB */
} api_opts;

NODISCARD api *api_open(loop *l, pool *p, const api_opts *o, err *e);
void api_close(api *a);

/* Is the path one of ours? */
bool api_has(const http_message *m);
/* Will be answered. */
void api_request(api *a, http_exchange *x);
void api_gone(api *a, http_exchange *x);
