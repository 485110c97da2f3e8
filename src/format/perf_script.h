/* format/perf_script.h - one line of `perf script` text, taken apart.  Pure.
 *
 *   comm  pid/tid [cpu] seconds.fraction: period event: rest      a sample begins
 *   	     address symbol+0xoff (binary)                          a frame, leaf first
 *                                                                  an empty line ends the sample
 *
 * What is printed depends on -F; everything but comm and tid may be missing. */
#pragma once
#include "format/format.h"

typedef struct perf_script_head {
    str comm, event; /* event: "" when not printed */
    str rest;        /* behind the event: a frame on the same line, or fields of a tracepoint */
    int64_t pid, tid, cpu; /* -1: not printed */
    uint64_t time_ns;
    int64_t period;
    bool has_time, has_period;
} perf_script_head;

typedef struct perf_script_frame {
    uint64_t address;
    str symbol, dso; /* "" when "[unknown]" or not printed */
    bool inlined;    /* part of the next frame */
    bool has_offset; /* "+0x1b" was cut from the symbol */
} perf_script_frame;

/* false: it is something else. */
bool perf_script_parse_head(str line, perf_script_head *out);
/* "comm tid" and nothing else, as -F comm,tid,ip,sym prints it.  Much other text looks so: only a frame on the next line tells. */
bool perf_script_parse_bare_head(str line, perf_script_head *out);
bool perf_script_parse_frame(str line, perf_script_frame *out);

/* The next line without its end (LF or CRLF); false at the end of the text. */
bool perf_script_line(str *left, str *out);

bool perf_script_write(const format *f, const model *m, const write_opts *o, buf *out, err *e);
