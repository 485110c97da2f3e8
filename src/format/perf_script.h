/* format/perf_script.h - parses one line of `perf script` text. Pure.
 *
 *   comm  pid/tid [cpu] seconds.fraction: period event: rest      a sample begins
 *   	     address symbol+0xoff (binary)                          a frame, leaf first
 *                                                                  an empty line ends the sample
 *
 * The fields depend on -F; everything but comm and tid may be missing. */
#pragma once
#include "format/format.h"

typedef struct perf_script_head {
    str comm, event;       /* event: "" when not printed */
    str rest;              /* text after the event: a frame, or fields of a tracepoint */
    int64_t pid, tid, cpu; /* -1: not printed */
    uint64_t time_ns;
    int64_t period;
    bool has_time, has_period;
} perf_script_head;

typedef struct perf_script_frame {
    uint64_t address;
    str symbol, dso; /* "" when "[unknown]" or not printed */
    bool inlined;    /* inlined into the next frame */
    bool has_offset; /* "+0x1b" was removed from the symbol */
} perf_script_frame;

/* Parse a line. Return false if it has another form. */
bool perf_script_parse_head(str line, perf_script_head *out);
/* Parses "comm tid" and nothing else, as -F comm,tid,ip,sym prints it. Much other text has that
 * form, so the caller must check that a frame follows. */
bool perf_script_parse_bare_head(str line, perf_script_head *out);
bool perf_script_parse_frame(str line, perf_script_frame *out);

bool perf_script_write(const format *f, const model *m, const write_opts *o, buf *out, err *e);
