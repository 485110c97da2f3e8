/* otlp/receive_filter.h - drops the invalid profiles of a request and reads the others.  For
 * receive.c only. */
#pragma once
#include "otlp/receive.h"

/* Called after reading out->payload failed with *e; `failed` is the document of that read.  Drops
 * the invalid profiles and reads the rest.  On success fills *out with counts and reasons and
 * clears *e.  Returns false when no profile is valid or the message as a whole is invalid (*e is
 * unchanged), or when memory runs out (ERR_MEMORY). */
NODISCARD bool receive_filter(const document *failed, const read_opts *o, arena *a, received *out,
                              err *e);

/* Reports rejected log records in *out: `foreign` are not call stacks, `broken` could not be read.
 * */
void receive_reject_records(received *out, uint64_t foreign, const loss *broken);
