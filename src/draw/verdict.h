/* draw/verdict.h - describes a comparison in one sentence: type, divisor, change and
 * confidence.  Pure. */
#pragma once
#include "base/buf.h"
#include "query/diff.h"
#include "query/per.h"

/* Appends "cpu per run: total grew by 94 % (95 % interval: 77 to 112 %), uniformly", without a
 * newline.  type and unit are those of the values. */
void verdict_sentence(buf *b, const diff *d, const per *p, str type, str unit);

/* Appends "noise floor: ...": how much runs of one side differ, and whether that is measured or
 * assumed. */
void verdict_noise(buf *b, const diff *d);

/* Formats growth: "+94 %", "-3.1 %"; "new" for infinity. */
enum { VERDICT_PERCENT = 32 };
const char *verdict_percent(double part, bool sign, char out[VERDICT_PERCENT]);
