/* draw/human.h - numbers as people say them.  Pure. */
#pragma once
#include "base/compiler.h"
#include "base/str.h"

/* Each writes terminated text into out and returns out. */
enum { HUMAN_MAX = 48 };

const char *human_bytes(uint64_t n, char out[HUMAN_MAX]); /* "58 B", "24.5 KiB", "1.2 GiB" */
const char *human_count(uint64_t n, char out[HUMAN_MAX]); /* "11 917": groups of three, thin */
const char *human_things(uint64_t n, const char *thing,
                         char out[HUMAN_MAX]); /* "1 item", "2 items" */
/* "37 samples", "210 observations (80 samples)": a sample may stand for several observations (docs/glossary.md). */
const char *human_observed(uint64_t observations, uint64_t samples, char out[2 * HUMAN_MAX]);
const char *human_duration(uint64_t ns, char out[HUMAN_MAX]);  /* "3.05 s", "2 ms", "1 h 02 min" */
const char *human_time(uint64_t unix_ns, char out[HUMAN_MAX]); /* "2025-11-03 09:14:05.250 UTC" */
/* Times of a clock that counts from 1970, or of one of which nobody knows when it began: what is shown then is how far from its
 * `base` they are. */
typedef struct human_clock {
    bool undated;
    uint64_t base;
} human_clock;
const char *human_moment(const human_clock *k, uint64_t ns,
                         char out[HUMAN_MAX]);                                 /* "+1.250000 s" */
const char *human_percent(uint64_t part, uint64_t whole, char out[HUMAN_MAX]); /* "61 %", "0.4 %" */

/* A value with its unit: ns and bytes scaled ("1.17 s", "2.91 GiB"), counts grouped with the unit
 * behind ("1 169 samples"); unknown units as they are. */
const char *human_value(int64_t v, str unit, char out[HUMAN_MAX]);

/* The same for a part of a value, such as samples a request: "0.42". */
const char *human_amount(double v, str unit, char out[HUMAN_MAX]);
