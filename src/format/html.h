/* format/html.h - the report (draw/report.h) as a format. It contains the profile as compressed
 * OTLP, which is read back without loss. Pure. */
#pragma once
#include "format/format.h"

typedef struct html_opts {
    str title;         /* name of the profile's file */
    const model *base; /* a second profile to compare with, or NULL */
    str base_title;
    str source; /* source files as JSON (cli/report_source.h); empty: none */
} html_opts;

/* Appends the report of a checked model.  ERR_SYS when this build has no viewer. */
NODISCARD bool html_write(const model *m, const html_opts *o, buf *out, err *e);
