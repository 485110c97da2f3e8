/* draw/ascii.h - text for readers without UTF-8: a terminal or pager in the C locale.  Pure. */
#pragma once
#include "base/compiler.h"

/* Replaces the marks that Kiln draws with (bars, rules, arrows, the dots of a cut name) by one ASCII character each, in place; columns
 * stay where they are.  Everything else, such as names in other scripts, stays as it is.  Returns the new length. */
size_t ascii_marks(char *text, size_t n);
