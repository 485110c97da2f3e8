/* server/facts.h - prints the counters and the state of the server, as JSON and for Prometheus. */
#pragma once
#include "net/http_server.h"
#include "server/ingest.h"
#include "server/pool.h"
#include "store/store.h"

typedef struct facts {
    const ingest *ingest;
    const http_server *http;
    const struct api *api;
    const struct api_source *source;
    const pool *pool, *query_pool; /* for ingest, for queries */
    const store *store;
    const struct forward *forward;         /* NULL: nothing is forwarded */
    const char *source_link, *source_trim; /* as in server_config */
    const char *store_dir;
    uint64_t max_age, max_bytes; /* limits of the store; UINT64_MAX: no limit */
    uint64_t started, now;       /* Unix ns */
    bool ready;
} facts;

/* Appends all metrics in Prometheus' text format. */
void facts_metrics(const facts *f, buf *out);

/* Appends /api/v1/status: senders, layouts, losses, queues, counters. */
void facts_json(const facts *f, buf *out);
