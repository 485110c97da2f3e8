/* draw/report.h - the report: one offline HTML file that contains the viewer and its data.  Pure.
 *
 *   <!doctype html>
 *   <!-- kiln report 1 ... -->                          identifies the file for kiln
 *   <title>, a policy that forbids every request, <style> of the viewer
 *   <script type="application/vnd.kiln.profile+gzip" data-role="profile" ...>base64</script>
 *   <script type="application/vnd.kiln.profile+gzip" data-role="base" ...>base64</script>   (diff)
 *   <script type="application/vnd.kiln.source+gzip">base64</script>                       (source)
 *   <script> of the viewer
 *
 * The data of a profile never becomes markup: its bytes are gzipped OTLP in base64, and names are
 * escaped.  docs/report.md describes the layout; format/html.h reads it. */
#pragma once
#include "base/buf.h"
#include "base/str.h"

#define REPORT_MARK "<!-- kiln report "
#define REPORT_TYPE "application/vnd.kiln.profile+gzip"
#define REPORT_DATA "<script type=\"" REPORT_TYPE "\" data-role=\""
#define REPORT_SOURCE "<script type=\"application/vnd.kiln.source+gzip\">"
#define REPORT_END "</script>"

typedef struct report_data {
    str name;   /* name of the source file; any bytes */
    str base64; /* gzipped OTLP in the standard alphabet */
} report_data;

typedef struct report {
    str css, js; /* the viewer; must not contain "</style" and "</script" */
    report_data profile;
    report_data base; /* the profile to compare with; empty base64: none */
    str source;       /* base64 of the gzipped source files (cli/report_source.h); empty: none */
} report;

/* Appends the file to `out`; sets out->failed when out of memory. */
void report_write(const report *r, buf *out);
