/* cli/convert.h - reading inputs and writing one output: convert and merge. */
#pragma once
#include "cli/input.h"

/* IN... OUT of the command line.  `merge`: profiles and samples that belong together become one. */
exit_code convert_files(cli *c, bool merge);

/* cmd_merge.c: weights, and cumulative profiles that a newer one holds, before the inputs are joined. */
NODISCARD bool merge_prepare(cli *c, input *in, size_t n, arena *a, err *e);
