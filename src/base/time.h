/* base/time.h - units of time, and parsers of times and durations as users write them.  Pure. */
#pragma once
#include "base/compiler.h"
#include "base/str.h"

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_HOUR (3600 * NS_PER_S)
#define NS_PER_DAY (24 * NS_PER_HOUR)

/* Parses 2023-06-27T04:52:00.5Z, also with an offset, or a Unix time. The unit of a Unix time
 * follows from its magnitude: below 10^11 s, below 10^14 ms, below 10^17 us, otherwise ns. */
NODISCARD bool time_parse(str text, uint64_t *ns);

/* Parses the same, and "now" and "now-15m", relative to `now`. */
NODISCARD bool time_parse_at(str text, uint64_t now, uint64_t *ns);

/* Parses "1.5s", "100ms", "20us", "7ns", "2min", "2m", "1h", "7d"; false for other text. */
NODISCARD bool duration_parse(str text, uint64_t *ns);
