/* otlp/receive_sift.h - a request of which some profiles break a rule: the others are read.  Used by receive.c alone. */
#pragma once
#include "otlp/receive.h"

/* After reading out->payload failed with *e: drops the broken profiles and reads the rest.  true: *out is filled, with counts and
 * reasons, and *e is cleared.  false: *e stays, or has ERR_LIMIT when memory ran out; no profile is valid, or the message as a
 * whole is not.  `failed` is what the failed read left. */
NODISCARD bool receive_sift(const document *failed, const read_opts *o, arena *a, received *out,
                            err *e);

/* Puts the counts of log records that were not read into *out: `foreign` are no call stacks, `broken` could not be read. */
void receive_reject_records(received *out, uint64_t foreign, const loss *broken);
