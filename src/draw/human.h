/* draw/human.h - formats numbers for people.  Pure. */
#pragma once
#include "base/compiler.h"
#include "base/str.h"

/* Each function writes terminated text into `out` and returns `out`. */
enum { HUMAN_MAX = 48 };

const char *human_bytes(uint64_t n, char out[HUMAN_MAX]); /* "58 B", "24.5 KiB", "1.2 GiB" */
const char *human_count(uint64_t n,
                        char out[HUMAN_MAX]); /* "11 917": groups of three, with thin spaces */
const char *human_things(uint64_t n, const char *thing,
                         char out[HUMAN_MAX]); /* "1 item", "2 items" */
/* "37 samples", "210 observations (80 samples)": a sample may have several observations
 * (docs/glossary.md). */
const char *human_observed(uint64_t observations, uint64_t samples, char out[2 * HUMAN_MAX]);
const char *human_duration(uint64_t ns, char out[HUMAN_MAX]);  /* "3.05 s", "2 ms", "1 h 02 min" */
const char *human_time(uint64_t unix_ns, char out[HUMAN_MAX]); /* "2025-11-03 09:14:05.250 UTC" */
/* The clock of timestamps. It counts from 1970, or its start is not known; times are then shown
 * relative to `base`. */
typedef struct human_clock {
    bool undated;
    uint64_t base;
} human_clock;
const char *human_moment(const human_clock *k, uint64_t ns,
                         char out[HUMAN_MAX]);                                 /* "+1.250000 s" */
const char *human_percent(uint64_t part, uint64_t whole, char out[HUMAN_MAX]); /* "61 %", "0.4 %" */

/* Formats a value with its unit: ns and bytes are scaled ("1.17 s", "2.91 GiB"), counts are grouped
 * and followed by the unit ("1 169 samples"), and unknown units are unchanged. */
const char *human_value(int64_t v, str unit, char out[HUMAN_MAX]);

/* Formats a value of a time of `ns` as a rate: "2.5 cores" for CPU time, "12 threads" for other
 * time, "3.2 MiB/s", "40/s". Rates do not depend on the length of a step. Levels (inuse_*) are
 * formatted as measured. ui/src/model/rate.ts has the same rule. */
const char *human_rate(double v, uint64_t ns, str type, str unit, char out[HUMAN_MAX]);
/* Returns whether values of the type are levels, which are not divided by time. */
bool human_is_level(str type);

/* Formats a fraction, such as samples per request, in the same way: "0.42". */
const char *human_amount(double v, str unit, char out[HUMAN_MAX]);
