/* draw/report.h - the report: one offline HTML file that is the viewer and its data.  Pure.
 *
 *   <!doctype html>
 *   <!-- kiln report 1 ... -->                          by which kiln knows its own files
 *   <title>, a policy that forbids every request, <style> of the viewer
 *   <script type="application/vnd.kiln.profile+gzip" data-role="profile" ...>base64</script>
 *   <script type="application/vnd.kiln.profile+gzip" data-role="base" ...>base64</script>   (diff)
 *   <script> of the viewer
 *
 * Nothing of a profile becomes markup: its bytes are there as base64 of gzip of OTLP, and names are
 * escaped.  docs/report.md has the layout; format/html.h reads it back. */
#pragma once
#include "base/buf.h"
#include "base/str.h"

#define REPORT_MARK "<!-- kiln report "
#define REPORT_TYPE "application/vnd.kiln.profile+gzip"
#define REPORT_DATA "<script type=\"" REPORT_TYPE "\" data-role=\""
#define REPORT_END "</script>"

typedef struct report_data {
    str name;   /* for people: the file it came from; any bytes */
    str base64; /* standard alphabet, of gzip of OTLP */
} report_data;

typedef struct report {
    str css, js; /* the viewer; may not hold "</style" and "</script" */
    report_data profile;
    report_data base; /* what to compare with; no base64: nothing */
} report;

/* Appends the file to `out` (out->failed: it did not fit). */
void report_write(const report *r, buf *out);
