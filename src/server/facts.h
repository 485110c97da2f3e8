/* server/facts.h - what the server knows of itself, for people and for Prometheus. */
#pragma once
#include "net/http_server.h"
#include "server/ingest.h"
#include "server/pool.h"
#include "store/store.h"

typedef struct facts {
    const ingest *ingest;
    const http_server *http;
    const struct api *api;
    const pool *pool, *asked; /* of senders, of questions */
    const store *store;
    const struct forward *forward; /* NULL: nothing is passed on */
    const char *store_dir;
    uint64_t max_age, max_bytes; /* of the store; UINT64_MAX: no limit */
    uint64_t started, now;       /* Unix ns */
    bool ready;
} facts;

/* The text format of Prometheus. */
void facts_metrics(const facts *f, buf *out);

/* Senders, layouts, losses, queues, the store's counters as JSON. */
void facts_json(const facts *f, buf *out);
