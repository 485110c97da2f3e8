/* format/splunk.h - profiles in OTLP log records, as Splunk's agents send them. Pure.
 *
 *   LogsData ─ ResourceLogs ─ ScopeLogs "otel.profiling" ─ LogRecord ─ body: text, one call stack
 *                                                                     └ body: base64(gzip(pprof))
 *
 * docs/splunk.md has the mapping, docs/spec/splunk.md the rules C-1 ... C-13 (what a consumer
 * accepts) and G-1 ... G-12 (the grammar of text). */
#pragma once
#include "format/format.h"
#include "wire/schema.h"

enum {
    SPLUNK_MAX_BODY = 16 << 20,     /* base64 characters of one body (C-11) */
    SPLUNK_MAX_INFLATED = 64 << 20, /* bytes of its pprof, decompressed */
    SPLUNK_MAX_RATIO = 200,         /* pprof bytes per byte of gzip */
    SPLUNK_MAX_FRAMES = 1024,       /* frames of one stack */
};

/* Values of the attribute kiln.splunk.body: the form that was read, or the form to write. */
#define SPLUNK_BODY_TEXT "text"
#define SPLUNK_BODY_NATIVE "native"

/* Starts the state line of a native program; a value of thread.state follows. */
#define SPLUNK_NATIVE_STATE "linux.Thread.State: "

/* Returns the schema of LogsData (= ExportLogsServiceRequest), for JSON. Ids are strings, because
 * JSON has hex, and `flags` is a varint, because the tables have no fixed32. */
const message_desc *splunk_logs_schema(void);

/* Appends OTLP/JSON logs, one document or lines, as protobuf of that schema to `out`. */
NODISCARD bool splunk_json_to_pb(str bytes, ledger *l, arena *a, buf *out, err *e);

/* Writes the format; for callers that do not need the reader. */
NODISCARD bool splunk_write_logs(const model *m, const write_opts *o, buf *out, err *e);

/* ---- a call stack as text ---- */

typedef struct splunk_frame {
    str raw;              /* without surrounding spaces and "at " */
    str name;             /* without its namespace when that is `global` or `unknown` (G-9) */
    str scope;            /* "global", "unknown" or "" */
    str module;           /* java.base@17.0.15 */
    str file;             /* "": unknown */
    int64_t line, column; /* 0: unknown */
    int64_t line_end, column_end; /* 0: no range */
    bool native;                  /* the file is "Native Method" */
} splunk_frame;

typedef struct splunk_thread {
    bool present; /* the body has a metadata line */
    str name;
    str rest;   /* the text after the name, trimmed */
    str status; /* "in Object.wait()" */
    bool daemon;
    uint64_t index, cpu_ns, elapsed_ns, tid, nid;
    int64_t prio, os_prio;
} splunk_thread;

typedef struct splunk_stack {
    splunk_thread thread;
    str state; /* the second line, "" when empty or absent */
    VEC(splunk_frame) frames;
    size_t skipped; /* lines that are not frames (G-11) */
    str skipped_first;
    size_t cut; /* number of frames beyond SPLUNK_MAX_FRAMES */
} splunk_stack;

typedef struct splunk_text_opts {
    bool columns; /* a:10:5 is line and column, otherwise lines 10 to 5 (G-8) */
    bool dotnet;  /* parentheses contain parameters, not a file (G-10) */
} splunk_text_opts;

/* Parses the text of a stack in linear time. Strings are views of `body`. Skips lines that are not
 * frames; fails only when out of memory. */
NODISCARD bool splunk_text_parse(str body, const splunk_text_opts *o, arena *a, splunk_stack *out);

/* Parses one line, without its end. Returns false if it is not a frame. */
bool splunk_frame_parse(str line, const splunk_text_opts *o, splunk_frame *out);

/* Parses the text after the name of a metadata line. */
void splunk_thread_parse(str rest, splunk_thread *out);

/* Writes name(file:line:column), in the form that these options read, without a line end. */
void splunk_frame_put(const splunk_frame *f, const splunk_text_opts *o, buf *out);

/* A frame of a native program, after symbolization. */
typedef struct splunk_symbol {
    str name;        /* demangled, with or without parameters; "": no symbol */
    str file;        /* "": unknown */
    int64_t line;    /* 0: unknown */
    str module;      /* path of the mapping; "": unknown */
    uint64_t offset; /* offset of the address in the module's file */
} splunk_symbol;

/* Writes namespace.function(file:line), without a line end. */
void splunk_symbol_put(const splunk_symbol *s, buf *out);

/* Reverses splunk_symbol_put: `app::Worker.run` becomes app::Worker::run again. */
void splunk_symbol_name(const splunk_frame *f, buf *out);
/* Returns whether the frame is unknown.unknown(unknown:0), the placeholder of a stack that was not
 * captured. */
bool splunk_symbol_is_none(const splunk_frame *f);
