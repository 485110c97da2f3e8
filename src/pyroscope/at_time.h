/* pyroscope/at_time.h - times as Pyroscope's clients write them (from, until). Pure. */
#pragma once
#include "base/compiler.h"
#include "base/str.h"

/* Parses `now`, `now-1h`, `now+5m`, a date YYYYMMDD, and a Unix time, whose unit follows from the
 * number of digits: 13 ms, 16 us, 19 ns, otherwise s. Spaces, `_` and `,` are ignored. Units of
 * offsets: s, m or min, h, d, w, M or mon (30 days), y (365 days). */
NODISCARD bool pyro_at_time(str text, uint64_t now, uint64_t *ns);
