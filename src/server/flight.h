/* server/flight.h - running queries. Equal queries are computed once; every waiting client gets the
 * response.
 *
 *   request ─► flight_key ─► flights_find ─┬ a flight that it may join ─► flight_add
 *                                          └ none: a new flight, one job of the pool
 *
 * The loop's thread owns everything; worker threads access only `began`, `gone` and `ended`. */
#pragma once
#include "base/buf.h"
#include "server/query.h"
#include "server/pool.h"
#include <stdatomic.h>

struct http_exchange;
typedef struct flight flight;

/* A request that waits for the response. */
typedef struct waiter {
    flight *of;
    struct http_exchange *x;
    bool ended; /* its client closed its sending side and may have disconnected */
    struct waiter *next;
} waiter;

struct flight {
    job job; /* first member: the pool returns it */
    buf key;
    bool uses_now;    /* the response depends on the current time */
    uint64_t max_ns;  /* the query's max_time */
    uint64_t arrived; /* time of the first request; waiting counts toward max_ns */
    uint64_t stored;  /* requests acknowledged when a client last joined before `began` */
    waiter *waiters;
    size_t n_waiters, n_ended;
    _Atomic uint64_t began;  /* start of the computation; 0: not yet */
    atomic_bool gone, ended; /* no waiter is left; all have ended. Set by the loop's thread */
    flight *next;
};

typedef struct flights {
    flight *first; /* list, at most a few longer than the pool's queue */
} flights;

/* The moment at which a request arrives. */
typedef struct flight_moment {
    uint64_t now;    /* world_now */
    uint64_t stored; /* requests acknowledged so far */
} flight_moment;

/* Writes a key that is equal for queries with equal responses: route, parameters in any order,
 * encoding and compression. */
void flight_key(const query *k, buf *out);
/* Returns whether the response depends on the current time: the query has no end, or times such as
 * now-1h. */
bool flight_uses_now(const params *p);

/* Returns a flight with the key that a request may join now, or NULL. The client must see all data
 * that was acknowledged before its request, and a time range that ends at most FLIGHT_JOIN_NS
 * earlier. It joins a waiting flight only while at least half of max_time is left. */
#define FLIGHT_JOIN_NS NS_PER_S
flight *flights_find(const flights *all, str key, const flight_moment *at);
void flights_add(flights *all, flight *f);
void flights_remove(flights *all, flight *f);

/* Adds a waiting request. Returns NULL when out of memory. */
NODISCARD waiter *flight_add(flight *f, struct http_exchange *x, const flight_moment *at);
/* Frees the waiter. */
void flight_leave(waiter *w);
void flight_ended(waiter *w);
/* Removes and returns the next waiting request; NULL when none is left. */
struct http_exchange *flight_take(flight *f);
