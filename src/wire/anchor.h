/* wire/anchor.h - dates for recordings whose clock does not count from 1970.  Pure.
 *
 * perf counts from boot, V8 and Chrome from the start of a process.  Readers keep such times
 * unchanged and mark the profile (kiln.time.epoch = unknown).  anchor_times() moves the marked
 * profiles of a model to Unix time, all by the same offset.  The profile stores the offset
 * (kiln.time.offset), so that the same recording is recognized under another date. */
#pragma once
#include "base/err.h"
#include "model/ledger.h"
#include "model/model.h"

/* Dates of a recording in Unix ns; 0: not known.  The first that is known is used:
 *   given     the start, from the user
 *   (date)    the start, from the file: kiln.time.date on a profile; used when one of the next two is known
 *   modified  the last observation: when the file was last written.  Ignored if before 2000, because
 *             archives and copies may lack a date
 *   arrival   the last observation: when the recording arrived */
typedef struct time_anchor {
    uint64_t given, modified, arrival;
    bool plain; /* remove kiln.time.epoch and kiln.time.offset from the profiles */
} time_anchor;

/* Moves the undated profiles of a checked model.  Sets *moved to whether there are any.  The ledger
 * (may be NULL) records the date that was used.  Times do not change if there is no date or if they
 * would not fit in 64 bits.  Fails with ERR_LIMIT. */
NODISCARD bool anchor_times(model *m, const time_anchor *t, ledger *l, arena *a, bool *moved,
                            err *e);

/* Returns whether the epoch of the profile's clock is unknown. */
bool profile_is_undated(const model *m, const profile *p);
/* Returns the start of the recording according to the file, in Unix ns; 0 if unknown. */
uint64_t profile_date(const model *m, const profile *p);
/* Returns the nanoseconds that anchor_times added to the profile's times, modulo 2^64. */
uint64_t profile_offset(const model *m, const profile *p);
