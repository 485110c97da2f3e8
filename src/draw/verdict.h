/* draw/verdict.h - a comparison in one sentence: what was compared, per what, what changed and how sure that is.
 * Pure. */
#pragma once
#include "base/buf.h"
#include "query/diff.h"
#include "query/per.h"

/* "cpu per run: total grew by 94 % (95 % interval: 77 to 112 %), uniformly", without a newline.  type and unit are
 * those of the values. */
void verdict_sentence(buf *b, const diff *d, const per *p, str type, str unit);

/* "noise floor: ...": how much runs of one side differ, and whether that was measured or assumed. */
void verdict_noise(buf *b, const diff *d);

/* "+94 %", "-3.1 %"; "new" for infinity. */
enum { VERDICT_PERCENT = 32 };
const char *verdict_percent(double part, bool sign, char out[VERDICT_PERCENT]);
