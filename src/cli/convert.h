/* cli/convert.h - code that `kiln convert` and `kiln merge` share: many inputs, one output. */
#pragma once
#include "cli/input.h"

/* Converts IN... to OUT of the command line.  With `merge`, joins profiles and samples as `kiln
 * merge` does. */
exit_code convert_files(cli *c, bool merge);

/* Prepares inputs for joining: applies --weight, and empties cumulative profiles that a newer one
 * includes. Defined in cmd_merge.c. */
NODISCARD bool merge_prepare(cli *c, input *in, size_t n, arena *a, err *e);
