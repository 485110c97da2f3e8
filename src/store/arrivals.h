/* store/arrivals.h - until when the rows of a chart are complete. Senders deliver batches, so the
 * newest seconds of a chart lack what has not arrived yet. A row is complete until the end of the
 * oldest batch among the newest ones of its series. Series that have ended do not count: those
 * whose next batch is overdue by more than two usual intervals. */
#pragma once
#include "store/block.h"
#include "base/time.h"

/* A series whose newest profile ended longer ago has ended. */
#define ARRIVALS_RECENT (300 * NS_PER_S)

typedef struct arrival {
    uint64_t end;      /* of the newest profile */
    uint64_t interval; /* between its profiles; 0: not known */
} arrival;

typedef struct arrival_link {
    uint32_t row, series;
} arrival_link;

/* Initialized with an arena and zeros. */
typedef struct arrivals {
    arena *a;
    VEC(arrival) v;          /* by series */
    VEC(arrival_link) links; /* which rows have data of which series */
    VEC(uint32_t) latest;    /* by row: the series of the latest link + 1; most calls end here */
    hash_index by_link;
} arrivals;

/* A profile of the series, or a block of them (duration 0), ends at `end`. */
NODISCARD bool arrivals_see(arrivals *x, uint32_t series, uint64_t end, uint64_t duration);
/* The row has data of the series, which arrivals_see knows. */
NODISCARD bool arrivals_link(arrivals *x, uint32_t row, uint32_t series);
/* Lowers complete[row] for each of the n rows that lack data of a series that still sends. */
void arrivals_complete(const arrivals *x, uint64_t now, uint64_t *complete, size_t n);
