/* server/routes.h - what may be asked: one table, from which questions are checked and the OpenAPI document is made.  Pure. */
#pragma once
#include "base/str.h"
#include <stdint.h>

struct ask;
struct err;

typedef enum ask_kind {
    ASK_TEXT,
    ASK_TIME,     /* now-15m, RFC 3339, Unix */
    ASK_DURATION, /* 15s */
    ASK_NUMBER,
    ASK_REAL,
    ASK_FLAG, /* 1, true, 0, false */
    ASK_ID16, /* 32 hex digits */
    ASK_ID8,  /* 16 hex digits */
    ASK_WORD, /* one of those in `example`, behind a bar each */
} ask_kind;

/* name in C, in a target, kind, example or words, what it is */
#define ASK_PARAMS(X)                                                                              \
    X(QUERY, "query", ASK_TEXT, "cpu/nanoseconds{service.name=\"checkout\"}",                      \
      "type and labels; both may be left out")                                                     \
    X(START, "start", ASK_TIME, "now-1h", "first moment")                                          \
    X(END, "end", ASK_TIME, "now", "first moment that is not meant any more")                      \
    X(TRACE_ID, "trace_id", ASK_ID16, "0af7651916cd43dd8448eb211c80319c",                          \
      "samples of this trace alone")                                                               \
    X(SPAN_ID, "span_id", ASK_ID8, "b7ad6b7169203331", "samples of this span alone")               \
    X(PROFILE_ID, "profile_id", ASK_ID16, "0af7651916cd43dd8448eb211c80319c",                      \
      "samples of this profile alone")                                                             \
    X(ENCODING, "encoding", ASK_WORD, "json|binary", "of the answer; so does the header Accept")   \
    X(MAX_BYTES, "max_bytes", ASK_NUMBER, "1000000", "of the answer; 64 MiB unless said")          \
    X(MAX_TIME, "max_time", ASK_DURATION, "500ms", "for the answer; 20 s unless said")             \
    X(FOCUS, "focus", ASK_TEXT, "json", "stacks with a frame that matches")                        \
    X(IGNORE, "ignore", ASK_TEXT, "^runtime", "no stacks with a frame that matches")               \
    X(HIDE, "hide", ASK_TEXT, "^runtime", "frames that match are taken out")                       \
    X(SHOW, "show", ASK_TEXT, "checkout", "frames that do not match are taken out")                \
    X(SHOW_FROM, "show_from", ASK_TEXT, "ServeHTTP", "callers of the outermost match go")          \
    X(TAGFOCUS, "tagfocus", ASK_TEXT, "thread.name=worker", "samples with a matching attribute")   \
    X(TAGIGNORE, "tagignore", ASK_TEXT, "thread.name=gc", "samples without it")                    \
    X(TAGROOT, "tagroot", ASK_TEXT, "thread.name", "values of attributes as outermost frames")     \
    X(TAGLEAF, "tagleaf", ASK_TEXT, "thread.name", "values of attributes as innermost frames")     \
    X(GRANULARITY, "by", ASK_WORD, "functions|filefunctions|files|lines|addresses|mappings",       \
      "what a frame is")                                                                           \
    X(INVERTED, "inverted", ASK_FLAG, "1", "leaves at the root")                                   \
    X(LIMIT, "limit", ASK_NUMBER, "100", "most rows")                                              \
    X(CUM, "cum", ASK_FLAG, "1", "order by the cumulative value")                                  \
    X(STEP, "step", ASK_DURATION, "15s", "length of a bucket")                                     \
    X(LABEL, "by", ASK_TEXT, "service.name", "a row for each value of this label")                 \
    X(COLUMN, "column", ASK_DURATION, "1s", "time of a column")                                    \
    X(ROWS, "rows", ASK_NUMBER, "50", "rows of a column; they divide it")                          \
    X(BASE_QUERY, "base_query", ASK_TEXT, "cpu{service.version=\"1.2\"}", "query of before")       \
    X(BASE_START, "base_start", ASK_TIME, "now-2h", "start of before")                             \
    X(BASE_END, "base_end", ASK_TIME, "now-1h", "end of before")                                   \
    X(ABSOLUTE, "absolute", ASK_FLAG, "1", "the same as per=second")                               \
    X(PER, "per", ASK_TEXT, "second",                                                              \
      "what amounts are divided by: run, second, N,M or calibration:FRAME")                        \
    X(SPREAD, "spread", ASK_REAL, "0.05",                                                          \
      "how much two recordings of the same load differ, a standard deviation")                     \
    X(FDR, "fdr", ASK_REAL, "0.05", "rate of false discoveries")                                   \
    X(NOISE, "noise", ASK_REAL, "1", "how many neighbouring samples say the same")                 \
    X(GAP, "gap", ASK_DURATION, "20ms", "most that a moment lasts")                                \
    X(FORMAT, "format", ASK_TEXT, "otlp", "of the file, as `kiln formats` lists them")             \
    X(SUMS, "sums", ASK_FLAG, "1", "one sample a stack and set of attributes")                     \
    X(ATTRIBUTES, "attributes", ASK_FLAG, "0", "with sums: one sample a stack")                    \
    X(GZIP, "gzip", ASK_FLAG, "1", "compress the file")

enum {
#define X(id, name, kind, example, what) ASK_I_##id,
    ASK_PARAMS(X)
#undef X
        ASK_N_PARAMS
};

/* Bits of ask_route.params. */
#define ASK_P(id) (UINT64_C(1) << ASK_I_##id)
#define ASK_SCHEMA_2 (UINT64_C(1) << 63) /* members of the answer changed their meaning once */
#define ASK_SELECTION                                                                              \
    (ASK_P(QUERY) | ASK_P(START) | ASK_P(END) | ASK_P(TRACE_ID) | ASK_P(SPAN_ID) |                 \
     ASK_P(PROFILE_ID) | ASK_P(MAX_TIME))
#define ASK_ENCODED (ASK_P(ENCODING) | ASK_P(MAX_BYTES))
#define ASK_VIEW                                                                                   \
    (ASK_P(FOCUS) | ASK_P(IGNORE) | ASK_P(HIDE) | ASK_P(SHOW) | ASK_P(SHOW_FROM) |                 \
     ASK_P(TAGFOCUS) | ASK_P(TAGIGNORE) | ASK_P(TAGROOT) | ASK_P(TAGLEAF) | ASK_P(GRANULARITY))

typedef struct ask_param {
    const char *id; /* in the document */
    const char *name;
    ask_kind kind;
    const char *example, *what;
} ask_param;

extern const ask_param ask_params[ASK_N_PARAMS];

typedef bool ask_fn(struct ask *k, struct err *e);

typedef struct ask_route {
    const char
        *path; /* behind /api/v1/; {...} takes anything that is not empty, {id} 32 hex digits */
    ask_fn *answer;
    uint64_t params;
    const char *what; /* one line */
    /* Members of the answer, "name:kind" each: bool int real text hex attributes, columns ints reals texts, {members} an object,
     * [members] a list of them, @name a shape of ask_shapes; `name?` may be missing, `int?` and `text?` may be null.  Every
     * answer has some more (openapi.c).  NULL: a file of type `file`. */
    const char *shape;
    const char *file; /* with a shape: JSON made elsewhere, which is that shape and nothing else */
} ask_route;

extern const ask_route ask_routes[];
extern const size_t ask_n_routes;

typedef struct ask_shape {
    const char *name, *shape;
} ask_shape;
extern const ask_shape ask_shapes[];
extern const size_t ask_n_shapes;

/* The route of a path behind /api/v1/; *rest: what stands for {...}.  NULL: none. */
const ask_route *ask_route_of(str path, str *rest);
/* The parameter of that name which the route has; NULL: none. */
const ask_param *ask_route_param(const ask_route *r, str name);
