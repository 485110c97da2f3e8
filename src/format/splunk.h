/* format/splunk.h - profiles in OTLP log records, as Splunk's agents send them.  Pure.
 *
 *   LogsData ─ ResourceLogs ─ ScopeLogs "otel.profiling" ─ LogRecord ─ body: text, one call stack
 *                                                                     └ body: base64(gzip(pprof))
 *
 * docs/splunk.md has the mapping.  Rules are quoted by their names in the team's notes: C-1 ... C-13
 * (what a consumer accepts) and G-1 ... G-12 (the grammar of text). */
#pragma once
#include "format/format.h"
#include "wire/schema.h"

enum {
    SPLUNK_MAX_BODY = 16 << 20,     /* base64 characters of a body (C-11) */
    SPLUNK_MAX_INFLATED = 64 << 20, /* bytes of its pprof */
    SPLUNK_MAX_RATIO = 200,         /* pprof bytes per byte of gzip */
    SPLUNK_MAX_FRAMES = 1024,       /* of a stack */
};

/* Values of the attribute kiln.splunk.body: as it was read, or as the agent wants it written. */
#define SPLUNK_BODY_TEXT "text"
#define SPLUNK_BODY_NATIVE "native"

/* Begins the state line of a native program: what a thread does, in the words of thread.state. */
#define SPLUNK_NATIVE_STATE "linux.Thread.State: "

/* LogsData (= ExportLogsServiceRequest), for JSON.  Ids are text and `flags` is a varint there:
 * JSON writes hex, and the tables know no fixed32. */
const message_desc *splunk_logs_schema(void);

/* OTLP/JSON logs, one document or lines, as protobuf of that schema, appended to `out`. */
NODISCARD bool splunk_json_to_pb(str bytes, ledger *l, arena *a, buf *out, err *e);

/* format_splunk_logs.write, for those who need no reader. */
NODISCARD bool splunk_write_logs(const model *m, const write_opts *o, buf *out, err *e);

/* ---- a call stack as text ---- */

typedef struct splunk_frame {
    str raw;              /* without blanks and "at " */
    str name;             /* without its namespace when that is `global` or `unknown` (G-9) */
    str scope;            /* "global", "unknown" or "" */
    str module;           /* java.base@17.0.15 */
    str file;             /* "": not known */
    int64_t line, column; /* 0: not known */
    int64_t line_end, column_end; /* 0: no range */
    bool native;                  /* Native Method */
} splunk_frame;

typedef struct splunk_thread {
    bool present; /* the body has a metadata line */
    str name;
    str rest;   /* what follows the name, as it stands, without blanks at its ends */
    str status; /* "in Object.wait()" */
    bool daemon;
    uint64_t index, cpu_ns, elapsed_ns, tid, nid;
    int64_t prio, os_prio;
} splunk_thread;

typedef struct splunk_stack {
    splunk_thread thread;
    str state; /* the second line, "" when blank or absent */
    VEC(splunk_frame) frames;
    size_t skipped; /* lines that are no frames (G-11) */
    str skipped_first;
    size_t cut; /* frames beyond SPLUNK_MAX_FRAMES */
} splunk_stack;

typedef struct splunk_text_opts {
    bool columns; /* a:10:5 is line and column, otherwise lines 10 to 5 (G-8) */
    bool dotnet;  /* parentheses hold parameters, not a file (G-10) */
} splunk_text_opts;

/* Never fails but for memory: what is no frame is skipped.  Views of `body`; cost is linear. */
NODISCARD bool splunk_text_parse(str body, const splunk_text_opts *o, arena *a, splunk_stack *out);

/* One line, without its end; false: no frame. */
bool splunk_frame_parse(str line, const splunk_text_opts *o, splunk_frame *out);

/* Everything behind the name of a metadata line. */
void splunk_thread_parse(str rest, splunk_thread *out);

/* name(file:line:column), in the form that these options read; no line end. */
void splunk_frame_put(const splunk_frame *f, const splunk_text_opts *o, buf *out);

/* A frame of a native program, as it is known after symbolization. */
typedef struct splunk_symbol {
    str name;        /* as demangled, with or without parameters; "": no symbol */
    str file;        /* "": not known */
    int64_t line;    /* 0: not known */
    str module;      /* path of the mapping; "": not known */
    uint64_t offset; /* of the address in the module's file */
} splunk_symbol;

/* namespace.function(file:line), by the table of the team's notes (section 6); no line end. */
void splunk_symbol_put(const splunk_symbol *s, buf *out);

/* The name that splunk_symbol_put had: `app::Worker.run` is app::Worker::run again. */
void splunk_symbol_name(const splunk_frame *f, buf *out);
/* What stands for a stack that could not be taken: unknown.unknown(unknown:0). */
bool splunk_symbol_is_none(const splunk_frame *f);
