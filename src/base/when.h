/* base/when.h - moments and lengths of time, as people write them.  Pure. */
#pragma once
#include "base/compiler.h"
#include "base/str.h"

/* 2023-06-27T04:52:00.5Z, with an offset, or a Unix time whose size tells its unit: below 10^11 s,
 * 10^14 ms, 10^17 us, otherwise ns. */
NODISCARD bool time_parse(str text, uint64_t *ns);

/* The same, and "now" and "now-15m", of which `now` says when that is. */
NODISCARD bool time_parse_at(str text, uint64_t now, uint64_t *ns);

/* "1.5s", "100ms", "20us", "7ns", "2min", "2m", "1h", "7d"; false when it is none. */
NODISCARD bool duration_parse(str text, uint64_t *ns);
