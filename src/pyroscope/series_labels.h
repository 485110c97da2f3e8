/* pyroscope/series_labels.h - labels of a series, within limits. Pure. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

enum { PYRO_MAX_LABELS = 64, PYRO_MAX_LABEL_NAME = 1024, PYRO_MAX_LABEL_VALUE = 2048 };

typedef struct pyro_label {
    str name, value; /* UTF-8 */
} pyro_label;

typedef VEC(pyro_label) pyro_labels;

/* Sets a label; a later value replaces an earlier one, and an empty value removes it, because a
 * missing label equals "". The texts are not copied. ERR_LIMIT beyond the limits above,
 * ERR_MALFORMED for an empty name or text that is not UTF-8; both name the label. */
NODISCARD bool pyro_labels_set(pyro_labels *l, str name, str value, arena *a, err *e);

/* Returns the value, or {NULL, 0}. */
str pyro_labels_get(const pyro_labels *l, str name);

/* Parses the application name of POST /ingest: `app{label=value,other=v}`. A value ends at `,` or
 * `}`; there are no quotes; names and values are trimmed. Errors have the offset in `text`. */
NODISCARD bool pyro_app_name(str text, arena *a, str *app, pyro_labels *out, err *e);
