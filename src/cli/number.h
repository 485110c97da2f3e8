/* cli/number.h - parses the values of --weight. */
#pragma once
#include "base/err.h"
#include "base/str.h"

/* Parses "2", "-1" or "0.5".  Fails with ERR_USAGE for anything else. */
NODISCARD bool weight_parse(str text, double *out, err *e);
