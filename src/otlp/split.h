/* otlp/split.h - splits a request that a receiver rejects as too large into two halves.  No I/O. */
#pragma once
#include "base/buf.h"
#include "base/str.h"

/* Returns the number of profiles or log records of a request.  Both messages have the same shape:
 *   1 resource ─ 2 scope ─ 2 profile or log record */
size_t otlp_count_items(str request);

/* Writes the first half of the items to `a` and the rest to `b`; resource, scope and dictionary go
 * to both.  Unused dictionary entries stay, because that is valid and cheaper than encoding again.
 * Returns false for fewer than two items, for another message, or when memory runs out. */
NODISCARD bool otlp_split(str request, buf *a, buf *b);
