/* otlp/counters.h - counts the outcome of every submitted item.  Items are profiles or log records.
 * */
#pragma once
#include "base/compiler.h"
#include <stdatomic.h>

#define OTLP_COUNTERS(X)                                                                           \
    X(batches_submitted, "batches submitted")                                                      \
    X(items_submitted, "items in submitted batches")                                               \
    X(items_accepted, "items that the receiver accepted")                                          \
    X(items_rejected, "items that the receiver rejected in a partial success")                     \
    X(items_refused, "items of batches that the receiver refused permanently")                     \
    X(items_too_large, "items of batches too large for the receiver or for the limit")             \
    X(items_expired, "items of batches that expired before delivery")                              \
    X(items_unsent, "items of batches still unsent when the exporter was closed")                  \
    X(items_queue_full, "items dropped because the queue was full")                                \
    X(items_spooled, "items written to the spool to be sent later")                                \
    X(items_spool_lost, "items that the spool dropped because it was full or its disk failed")     \
    X(attempts, "requests sent")                                                                   \
    X(retries, "attempts that failed and are repeated")                                            \
    X(splits, "batches split because they were too large")                                         \
    X(bytes_sent, "bytes of requests sent, after compression")

typedef struct otlp_counts {
#define X(name, what) uint64_t name;
    OTLP_COUNTERS(X)
#undef X
} otlp_counts;

/* Any thread may read and write.  Each counter is exact, but several are not read at one moment. */
typedef struct otlp_counters {
#define X(name, what) _Atomic uint64_t name;
    OTLP_COUNTERS(X)
#undef X
} otlp_counters;

static inline void otlp_count(_Atomic uint64_t *c, uint64_t n)
{
    atomic_fetch_add_explicit(c, n, memory_order_relaxed);
}

static inline otlp_counts otlp_counts_of(const otlp_counters *c)
{
    return (otlp_counts){
#define X(name, what) .name = atomic_load_explicit(&c->name, memory_order_relaxed),
        OTLP_COUNTERS(X)
#undef X
    };
}

/* Returns the number of items without an outcome yet, for exporters without a spool. */
static inline uint64_t otlp_items_open(const otlp_counts *c)
{
    uint64_t settled = c->items_accepted + c->items_rejected + c->items_refused +
                       c->items_too_large + c->items_expired + c->items_unsent;
    return c->items_submitted > settled ? c->items_submitted - settled : 0;
}

/* Returns the number of items that will never arrive. */
static inline uint64_t otlp_items_lost(const otlp_counts *c)
{
    return c->items_rejected + c->items_refused + c->items_too_large + c->items_expired +
           c->items_unsent + c->items_queue_full + c->items_spool_lost;
}
