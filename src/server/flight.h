/* server/flight.h - queries under way.  Equal queries are computed once, and every client that waits gets the response.
 *
 *   request ─► flight_key ─► flights_find ─┬ one that may be joined ─► flight_add
 *                                          └ none: a flight of its own, one job of the pool
 *
 * Everything belongs to the loop's thread but `began`, `gone` and `ended`, which the thread that computes shares. */
#pragma once
#include "base/buf.h"
#include "server/ask.h"
#include "server/pool.h"
#include <stdatomic.h>

struct http_exchange;
typedef struct flight flight;

/* A request that waits for the response. */
typedef struct waiter {
    flight *of;
    struct http_exchange *x;
    bool ended; /* its client sends nothing more, and may be gone */
    struct waiter *next;
} waiter;

struct flight {
    job job; /* first */
    buf key;
    bool uses_now;    /* the response depends on the moment */
    uint64_t max_ns;  /* of the query: its max_time */
    uint64_t arrived; /* the first request; waiting counts in max_ns */
    uint64_t stored;  /* requests acknowledged when a request last joined before it began */
    waiter *waiters;
    size_t n_waiters, n_ended;
    _Atomic uint64_t began;  /* the computation, 0: not yet */
    atomic_bool gone, ended; /* of all waiters: set by the loop's thread */
    flight *next;
};

typedef struct flights {
    flight *first; /* a few more than the pool's queue holds */
} flights;

/* Times are of world_now. */
typedef struct flight_moment {
    uint64_t now;
    uint64_t stored; /* requests of senders that were acknowledged */
} flight_moment;

/* Puts equal bytes for equal queries that want equal bytes back: route, parameters in any order, encoding and packing. */
void flight_key(const ask *k, buf *out);
/* Does the response depend on when the query is computed?  Without an end it does, and with times such as now-1h. */
bool flight_uses_now(const params *p);

/* A flight with the key that a request may join now; NULL: none.  A request sees everything that was acknowledged before it came,
 * and a window of time that ends at most FLIGHT_JOIN_NS before; one that joins has at least half of its time left. */
#define FLIGHT_JOIN_NS NS_PER_S
flight *flights_find(const flights *all, str key, const flight_moment *at);
void flights_add(flights *all, flight *f);
void flights_remove(flights *all, flight *f);

/* NULL: out of memory. */
NODISCARD waiter *flight_add(flight *f, struct http_exchange *x, const flight_moment *at);
/* Frees the waiter. */
void flight_leave(waiter *w);
void flight_ended(waiter *w);
/* The next request to answer, which no longer waits; NULL: none is left. */
struct http_exchange *flight_take(flight *f);
