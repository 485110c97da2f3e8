/* cli/number.h - numbers that people type: weights. */
#pragma once
#include "base/err.h"
#include "base/str.h"

/* "2", "-1", "0.5".  ERR_USAGE. */
NODISCARD bool weight_parse(str text, double *out, err *e);
