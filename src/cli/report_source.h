/* cli/report_source.h - the source files of a profile, for a report (`kiln flame --source`). */
#pragma once
#include "base/buf.h"
#include "model/model.h"

enum {
    REPORT_SOURCE_MAX = 4 << 20,      /* bytes of all files */
    REPORT_SOURCE_FILE_MAX = 1 << 20, /* bytes of one file */
    REPORT_SOURCE_NAMED = 1000,       /* missing files that are named */
};

/* Appends a JSON object: {"files": [{"name", "text"}], "missing": [{"name", "why"}]}. The files are
 * those of functions with lines, those with the largest amounts first, until the limit is reached.
 * Only files below `dirs` are read, because a profile can name any path (cli/source.h has the
 * meaning of dirs and trim). Memory from `a`; ERR_MEMORY. */
NODISCARD bool report_source(const model *m, const char *dirs, const char *trim, arena *a, buf *out,
                             err *e);
