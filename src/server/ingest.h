/* server/ingest.h - from a request to its acknowledgement: decode, store, respond when it is
 * durable.
 *
 *   request ─┬ small: decoded in the loop ──┬─► store_put ─ (writer's thread) ─► done ─ loop_wake ─► response
 *            └ large: decoded in the pool ──┘                                                   └─► forward
 *
 * Everything runs in the loop's thread, except decoding in the pool and the store's callback. */
#pragma once
#include "net/http_server.h"
#include "otlp/receive.h"
#include "server/pool.h"
#include "store/store.h"

typedef struct ingest ingest;

#define INGEST_COUNTERS(X)                                                                         \
    X(requests, "requests of senders")                                                             \
    X(taken, "requests acknowledged")                                                              \
    X(profiles, "profiles in acknowledged requests")                                               \
    X(samples, "samples in acknowledged requests")                                                 \
    X(duplicates, "profiles that were already stored")                                             \
    X(rejected, "profiles and log records rejected in a partial success")                          \
    X(malformed, "requests rejected: malformed")                                                   \
    X(media, "requests rejected: unsupported method, content type or encoding")                    \
    X(too_large, "requests rejected: larger than a limit")                                         \
    X(pressed, "requests rejected temporarily: the server is overloaded")                          \
    X(unavailable, "requests rejected temporarily: the store cannot write")                        \
    X(unauthorized, "requests rejected: missing or wrong token")                                   \
    X(foreign, "requests rejected: sent by a web page of another site")                            \
    X(late, "requests whose deadline had passed")                                                  \
    X(unknown, "requests rejected: metrics, traces or an unknown gRPC method")                     \
    X(losses, "kinds of data that conversion to OTLP could not carry")

typedef struct ingest_counts {
#define X(name, what) uint64_t name;
    INGEST_COUNTERS(X)
#undef X
} ingest_counts;

/* Totals for one format of payload, or for one sender. */
typedef struct ingest_source {
    char name[80];
    uint64_t requests, profiles, samples, bytes;
    uint64_t refused;       /* requests */
    uint64_t rejected;      /* profiles and log records, in partial successes */
    char why[RECEIVE_TEXT]; /* the newest reason of either; empty: none */
    uint64_t first, last;   /* requests, Unix ns */
} ingest_source;

enum { INGEST_RECOGNISED = 48, INGEST_SENDERS = 256, INGEST_NAME = 112, INGEST_AGENT = 64 };

typedef struct ingest_opts {
    size_t max_message; /* bytes of one message after decompression; 0: 128 MiB */
    /* Largest body that is decoded in the loop (plain protobuf: four times as large); 0: 256 KiB */
    size_t in_loop;
    /* Memory to decode one request; 0: 160 MiB.  Requests that need more than a quarter are decoded
     * one at a time. */
    size_t memory;
} ingest_opts;

struct forward;

/* Notifications.  All may be NULL. */
typedef struct ingest_callbacks {
    struct forward *forward; /* woken when something new is acknowledged */
    void (*refused)(void *ctx, const char *sender, verdict v, const char *why);
    void (*rejected)(void *ctx, const char *sender, size_t n,
                     const char *why); /* a partial success */
    void *ctx;
} ingest_callbacks;

/* Names the sender: "10.0.0.7 OTel-OTLP-Exporter-Python/1.2", in printable ASCII. Omits the port,
 * which changes with every connection. */
void ingest_name_sender(http_exchange *x, char out[INGEST_NAME]);

/* The store, the pool, the loop and the forwarder must outlive the result. */
NODISCARD ingest *ingest_open(loop *l, store *s, pool *p, const ingest_opts *o,
                              const ingest_callbacks *callbacks, err *e);
void ingest_limits(ingest *i, const ingest_opts *o); /* for requests from now on */
void ingest_close(ingest *i);

/* Responds to a request of a known route, now or later. */
void ingest_request(ingest *i, http_exchange *x, const receive_route *r);
/* Called when the sender of x has disconnected. */
void ingest_gone(ingest *i, http_exchange *x);
/* Responds to the requests that became durable; called when the loop wakes. */
void ingest_settle(ingest *i);
/* Rejects a request with the caller's verdict: no token, shutting down. */
void ingest_refuse(ingest *i, http_exchange *x, const receive_route *r, verdict v, const char *why);

ingest_counts ingest_count(const ingest *i);
/* Returns the number of profiles and log records rejected for a reason (receive_reason_name). */
uint64_t ingest_rejected_by(const ingest *i, size_t reason);
const ingest_source *ingest_recognised(const ingest *i, size_t *n); /* in order of first use */
const ingest_source *ingest_senders(const ingest *i, size_t *n);
const ledger *ingest_losses(const ingest *i); /* conversion losses of all requests */
