/* otlp/split.h - one request into two of about half the items each, when a receiver finds it too large.  Pure. */
#pragma once
#include "base/buf.h"
#include "base/str.h"

/* Profiles or log records of a request: both messages have the same shape,
 *   1 resource ─ 2 scope ─ 2 profile or log record */
size_t otlp_count_items(str request);

/* The first half of the items goes to `a`, the others to `b`; resource, scope and dictionary to both (entries that
 * only one half uses stay in the other: valid, and cheaper than re-encoding).  false: there is one item or none, the
 * bytes are no such message, or memory ran out. */
NODISCARD bool otlp_split(str request, buf *a, buf *b);
