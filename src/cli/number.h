/* cli/number.h - numbers that people type: lengths of time, weights. */
#pragma once
#include "base/err.h"
#include "base/str.h"

/* "1.5s", "100ms", "20us", "7ns", "2min", "1h"; false when it is none. */
NODISCARD bool duration_parse(str text, uint64_t *ns);

/* "2", "-1", "0.5".  ERR_USAGE. */
NODISCARD bool weight_parse(str text, double *out, err *e);
