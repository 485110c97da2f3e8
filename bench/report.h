/* report.h - results of a run: the printed table, the goals, results.json. */
#pragma once
#include "measure.h"

typedef enum payload_class {
    CLASS_REAL,
    CLASS_WIDE,
    CLASS_DEEP,
    CLASS_JSON,
    CLASS_COUNT
} payload_class;
typedef enum op { OP_DECODE, OP_ENCODE, OP_COUNT } op;

enum { MAX_ENTRIES = 16, MAX_RESULTS = 32 };

typedef struct timing {
    bool ran;
    double best_mbs;       /* fastest batch */
    double x_walk, x_peer; /* median over rounds of the ratio in that round; 0 = no such base */
    uint64_t allocs;       /* allocations of one run in reused memory */
    bool same_bytes;       /* encode: equal to the peer's output */
} timing;

typedef struct entry {
    const contestant *c;
    timing t[OP_COUNT];
    fresh cold;
} entry;

typedef struct result {
    char name[64];
    size_t n;
    payload_class class;
    entry entries[MAX_ENTRIES];
    size_t n_entries;
    size_t gzip, gzip_canonical; /* 0 = not measured */
} result;

typedef struct report {
    result results[MAX_RESULTS];
    size_t n_results;
    unsigned rounds;
    double batch_ms;
    const char *buildtype;
} report;

void report_result(const result *r);    /* prints the table of one payload */
unsigned report_goals(const report *r); /* returns the number of goals missed */
bool report_json(const report *r, const char *path);
