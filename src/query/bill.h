/* query/bill.h - the bill of a span: the parts of its wall-clock time.  Pure.
 *
 *        first                                                              last
 *          |- on_cpu -|--- blocked: futex ---| runnable |- other_span -|  ?  |
 *                                                              unaccounted --^
 *
 * The CPU time and the waits of a thread tile its time (docs/record.md), so the parts of a span on
 * one thread add up to the time between its first and its last observation there.  Nothing reports
 * when a span begins and ends: both are known to the distance between two observations. */
#pragma once
#include "base/stopper.h"
#include "query/threads.h"

typedef enum bill_kind {
    BILL_ON_CPU,
    BILL_BLOCKED,     /* waited for an event */
    BILL_RUNNABLE,    /* ready, waited for a processor */
    BILL_OTHER_SPAN,  /* the thread had another span, or none, and came back */
    BILL_UNACCOUNTED, /* no observation: waits left out, lost observations */
    BILL_KINDS
} bill_kind;

typedef struct bill_reason {
    bill_kind kind;
    str state, detail, syscall; /* of BILL_BLOCKED: the attributes of the samples, or "" */
} bill_reason;

typedef struct bill_part {
    uint32_t span, reason; /* indices into bill.v, bill.reasons */
    int64_t sum;           /* ns */
    uint64_t observations;
} bill_part;

/* A span on one thread. */
typedef struct bill_span {
    link_ids link;
    uint32_t thread;
    uint64_t first, last; /* Unix ns; 0: no observation has a timestamp */
    int64_t wall;         /* the sum of its parts */
    int64_t other;        /* collected by bill_add_others */
} bill_span;

typedef struct bill {
    arena *a;
    stopper *stop;
    VEC(bill_span) v;
    VEC(bill_reason) reasons;
    VEC(bill_part) parts; /* after bill_close: by span, then in order of kinds and sums */
    thread_table threads;
    u32s same;       /* by thread: the first one with its ids */
    uint64_t period; /* longest distance of CPU observations, ns; 0: not known */
    bool off_cpu;    /* there are waits on these threads: without them, the bill is incomplete */
    hash_index by_span, by_reason, by_part;
} bill;

NODISCARD bool bill_init(bill *b, stopper *stop, arena *a, err *e);
/* Adds the samples with a link of a checked model, of the types cpu and off_cpu in nanoseconds. */
NODISCARD bool bill_add(bill *b, const model *m, err *e);
/* Adds the time in which the threads of the bill had other spans, or none.  `m` has all samples of
 * these threads between bill_range.  Called once, after all bill_add. */
NODISCARD bool bill_add_others(bill *b, const model *m, err *e);
/* Sets [*start, *end) to the time from the first to the last observation; false: there is none. */
bool bill_range(const bill *b, uint64_t *start, uint64_t *end);
/* Completes the bill: the wall-clock time of each span is the sum of its parts.  Sorts the spans,
 * the longest first. */
NODISCARD bool bill_close(bill *b, err *e);

const char *bill_kind_name(bill_kind k);
