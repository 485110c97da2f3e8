/* wire/anchor.h - dates for recordings whose clock does not count from 1970.  Pure.
 *
 * perf counts from boot, V8 and Chrome from the start of a process.  Readers keep such times as they are and mark the profile
 * (kiln.time.epoch = unknown); here the marked profiles of a model are moved to Unix time, all by the same offset.  What was
 * added stays on the profile (kiln.time.offset), so that the same recording is recognised whatever date it was given. */
#pragma once
#include "base/err.h"
#include "model/ledger.h"
#include "model/model.h"

/* What is known of the date of a recording, as Unix ns; 0: not known.  The first that is known decides:
 *   given     a person says when it began
 *   (date)    the file says so itself: kiln.time.date on a profile; used when one of the next two is known
 *   modified  the file was last written then: its last observation.  Before 2000: an archive or a copy left no date on it
 *   arrival   it arrived then: its last observation */
typedef struct time_anchor {
    uint64_t given, modified, arrival;
    bool plain; /* leave neither kiln.time.epoch nor kiln.time.offset on the profiles */
} time_anchor;

/* Moves the undated profiles of a checked model.  *moved: there were some.  The ledger (may be NULL) says which date was taken.
 * Without a date, or with one that does not fit 64 bits, the times stay.  ERR_LIMIT. */
NODISCARD bool anchor_times(model *m, const time_anchor *t, ledger *l, arena *a, bool *moved,
                            err *e);

/* Are its times on a clock whose beginning nobody knows? */
bool profile_is_undated(const model *m, const profile *p);
/* When its recording began, as the file says (Unix ns); 0: it does not. */
uint64_t profile_date(const model *m, const profile *p);
/* Nanoseconds that anchor_times added to its times, modulo 2^64; 0: none. */
uint64_t profile_offset(const model *m, const profile *p);
