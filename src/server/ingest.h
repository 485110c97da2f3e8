/* server/ingest.h - from a request to an acknowledgement: read, put into the store, answered when it is durable.
 *
 *   request ─┬ small: read in the loop ──┬─► store_put ─ (writer's thread) ─► done ─ loop_wake ─► answer
 *            └ large: read in the pool ──┘                                                             └─► forward
 *
 * Everything but the store's callback runs in the loop's thread. */
#pragma once
#include "net/http_server.h"
#include "otlp/receive.h"
#include "server/pool.h"
#include "store/store.h"

typedef struct ingest ingest;

#define INGEST_COUNTERS(X)                                                                         \
    X(requests, "requests of senders")                                                             \
    X(taken, "requests acknowledged")                                                              \
    X(profiles, "profiles in them")                                                                \
    X(samples, "samples in them")                                                                  \
    X(duplicates, "profiles that had been sent before")                                            \
    X(rejected, "items rejected in a partial success")                                             \
    X(malformed, "requests refused: not to be read")                                               \
    X(media, "requests refused: method, content type or coding")                                   \
    X(too_large, "requests refused: over a limit of bytes")                                        \
    X(pressed, "requests refused for now: too much at once")                                       \
    X(unavailable, "requests refused for now: the store cannot write")                             \
    X(unauthorized, "requests refused: no token, or the wrong one")                                \
    X(foreign, "requests refused: web pages of others had a browser send them")                    \
    X(late, "requests whose own deadline had passed")                                              \
    X(unknown, "requests refused: metrics, traces or a gRPC method that is not here")              \
    X(losses, "concepts that reading could not carry")

typedef struct ingest_counts {
#define X(name, what) uint64_t name;
    INGEST_COUNTERS(X)
#undef X
} ingest_counts;

/* What a kind of payload, or a sender, has sent so far. */
typedef struct ingest_source {
    char name[80];
    uint64_t requests, profiles, samples, bytes;
    uint64_t refused;
    uint64_t last; /* Unix ns */
} ingest_source;

enum { INGEST_RECOGNISED = 48, INGEST_SENDERS = 256, INGEST_NAME = 112, INGEST_AGENT = 64 };

typedef struct ingest_opts {
    size_t max_message; /* bytes of one message without compression; 0: 128 MiB */
    size_t
        in_loop; /* bytes of a body that is read in the loop (plain protobuf: four times as many); 0: 256 KiB */
    size_t
        memory; /* budget of one read; 0: 160 MiB.  Those that need more than a quarter are read one at a time */
} ingest_opts;

struct forward;

/* Who else wants to know.  All may be NULL. */
typedef struct ingest_ears {
    struct forward *forward; /* told when something new is acknowledged */
    void (*refused)(void *who, const char *sender, verdict v, const char *why);
    void (*rejected)(void *who, const char *sender, size_t n,
                     const char *why); /* a partial success */
    void *who;
} ingest_ears;

/* "10.0.0.7 OTel-OTLP-Exporter-Python/1.2", printable: the port changes with every connection. */
void ingest_name_sender(http_exchange *x, char out[INGEST_NAME]);

/* The store, the pool, the loop and the forward outlive it. */
NODISCARD ingest *ingest_open(loop *l, store *s, pool *p, const ingest_opts *o,
                              const ingest_ears *ears, err *e);
void ingest_limits(ingest *i, const ingest_opts *o); /* for requests from now on */
void ingest_close(ingest *i);

/* A request of one of our routes: will be answered. */
void ingest_request(ingest *i, http_exchange *x, const receive_route *r);
/* Its sender is gone. */
void ingest_gone(ingest *i, http_exchange *x);
/* From the loop's knock: answers what became durable. */
void ingest_settle(ingest *i);
/* Answers with a verdict of the caller's: no token, shutting down. */
void ingest_refuse(ingest *i, http_exchange *x, const receive_route *r, verdict v, const char *why);

ingest_counts ingest_count(const ingest *i);
/* Profiles and log records rejected for a reason of receive_reason_name. */
uint64_t ingest_rejected_by(const ingest *i, size_t reason);
const ingest_source *ingest_recognised(const ingest *i, size_t *n); /* by first sight */
const ingest_source *ingest_senders(const ingest *i, size_t *n);
const ledger *ingest_losses(const ingest *i); /* of all requests */
