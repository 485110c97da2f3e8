/* draw/ascii.h - output for terminals and pagers without UTF-8, such as those in the C locale.
 * Pure. */
#pragma once
#include "base/compiler.h"

/* Replaces the special characters of Kiln's output (bars, rules, arrows, ellipses) in place by
 * one ASCII character each, so that columns stay aligned.  Other text, such as names in other
 * scripts, is unchanged.  Returns the new length. */
size_t ascii_marks(char *text, size_t n);
