/* server/routes.h - the table of endpoints and parameters, from which queries are checked and the
 * OpenAPI document is generated.  Pure. */
#pragma once
#include "base/str.h"
#include <stdint.h>

struct query;
struct err;

typedef enum api_kind {
    API_TEXT,
    API_TIME,     /* now-15m, RFC 3339, Unix */
    API_DURATION, /* 15s */
    API_NUMBER,
    API_REAL,
    API_FLAG, /* 1, true, 0, false */
    API_ID16, /* 32 hex digits */
    API_ID8,  /* 16 hex digits */
    API_WORD, /* one of the words in `example`, separated by bars */
} api_kind;

/* name in C, name in a URL, kind, example or words, description */
#define API_PARAMS(X)                                                                              \
    X(QUERY, "query", API_TEXT, "cpu/nanoseconds{service.name=\"checkout\"}",                      \
      "type and labels to select; both are optional")                                              \
    X(START, "start", API_TIME, "now-1h", "start of the range, inclusive")                         \
    X(END, "end", API_TIME, "now", "end of the range, exclusive")                                  \
    X(TRACE_ID, "trace_id", API_ID16, "0af7651916cd43dd8448eb211c80319c",                          \
      "only samples of this trace")                                                                \
    X(SPAN_ID, "span_id", API_ID8, "b7ad6b7169203331", "only samples of this span")                \
    X(PROFILE_ID, "profile_id", API_ID16, "0af7651916cd43dd8448eb211c80319c",                      \
      "only samples of this profile")                                                              \
    X(ENCODING, "encoding", API_WORD, "json|binary",                                               \
      "encoding of the response; takes precedence over Accept")                                    \
    X(MAX_BYTES, "max_bytes", API_NUMBER, "1000000", "most bytes of the response; default 64 MiB") \
    X(MAX_TIME, "max_time", API_DURATION, "500ms", "most time for the query; default 20 s")        \
    X(FOCUS, "focus", API_TEXT, "json", "only stacks with a frame that matches")                   \
    X(IGNORE, "ignore", API_TEXT, "^runtime", "no stacks with a frame that matches")               \
    X(HIDE, "hide", API_TEXT, "^runtime", "remove frames that match")                              \
    X(SHOW, "show", API_TEXT, "checkout", "remove frames that do not match")                       \
    X(SHOW_FROM, "show_from", API_TEXT, "ServeHTTP",                                               \
      "remove the callers of the outermost matching frame")                                        \
    X(COLLAPSE, "collapse", API_TEXT, "json.Marshal",                                              \
      "remove the callees of the outermost matching frame")                                        \
    X(COLLAPSE_LIBRARY, "collapse_library", API_TEXT, "libc.so",                                   \
      "adjacent frames of a matching binary become one frame")                                     \
    X(COLLAPSE_RECURSION, "collapse_recursion", API_TEXT, "walk",                                  \
      "all calls of a matching function become one, without the calls in between")                 \
    X(COLLAPSE_DIRECT_RECURSION, "collapse_direct_recursion", API_TEXT, "walk",                    \
      "adjacent calls of a matching function by itself become one frame")                          \
    X(FOCUS_CATEGORY, "focus_category", API_TEXT, "kernel",                                        \
      "remove frames of other categories (profile.frame.type)")                                    \
    X(BEGINS_WITH, "begins_with", API_TEXT, "main;run",                                            \
      "only stacks whose outermost frames have these labels")                                      \
    X(ENDS_WITH, "ends_with", API_TEXT, "read;copy",                                               \
      "only stacks whose innermost frames have these labels")                                      \
    X(TAGFOCUS, "tagfocus", API_TEXT, "thread.name=worker",                                        \
      "only samples with a matching attribute")                                                    \
    X(TAGIGNORE, "tagignore", API_TEXT, "thread.name=gc",                                          \
      "only samples without a matching attribute")                                                 \
    X(TAGROOT, "tagroot", API_TEXT, "thread.name",                                                 \
      "add the values of these attributes as outermost frames")                                    \
    X(TAGLEAF, "tagleaf", API_TEXT, "thread.name",                                                 \
      "add the values of these attributes as innermost frames")                                    \
    X(GRANULARITY, "by", API_WORD, "functions|filefunctions|files|lines|addresses|mappings",       \
      "what a frame stands for")                                                                   \
    X(INVERTED, "inverted", API_FLAG, "1", "put leaves at the root")                               \
    X(BELOW, "below", API_TEXT, "main;run",                                                        \
      "only the nodes below this path of labels, and the path")                                    \
    X(LIMIT, "limit", API_NUMBER, "100", "most rows")                                              \
    X(CUM, "cum", API_FLAG, "1", "sort by the cumulative value")                                   \
    X(STEP, "step", API_DURATION, "15s", "length of a bucket")                                     \
    X(LABEL, "by", API_TEXT, "service.name", "one row for each value of this label")               \
    X(SPLIT, "split", API_TEXT, "thread.state", "and for each value of this label")                \
    X(COLUMN, "column", API_DURATION, "1s", "duration of a column")                                \
    X(ROWS, "rows", API_NUMBER, "50", "rows of a column; must divide it evenly")                   \
    X(BASE_QUERY, "base_query", API_TEXT, "cpu{service.version=\"1.2\"}", "query of the base")     \
    X(BASE_START, "base_start", API_TIME, "now-2h", "start of the base")                           \
    X(BASE_END, "base_end", API_TIME, "now-1h", "end of the base")                                 \
    X(ABSOLUTE, "absolute", API_FLAG, "1", "same as per=second")                                   \
    X(PER, "per", API_TEXT, "second",                                                              \
      "what amounts are divided by: run, second, N,M or calibration:FRAME")                        \
    X(SPREAD, "spread", API_REAL, "0.05",                                                          \
      "relative standard deviation between two recordings of the same load")                       \
    X(FDR, "fdr", API_REAL, "0.05", "false discovery rate")                                        \
    X(NOISE, "noise", API_REAL, "1", "number of neighbouring samples that are not independent")    \
    X(GAP, "gap", API_DURATION, "20ms", "longest time that one observation stands for")            \
    X(FORMAT, "format", API_TEXT, "otlp", "format of the file, as listed by `kiln formats`")       \
    X(SUMS, "sums", API_FLAG, "1", "one sample for each stack and set of attributes")              \
    X(ATTRIBUTES, "attributes", API_FLAG, "0", "0 with sums=1: one sample for each stack")         \
    X(GZIP, "gzip", API_FLAG, "1", "compress the file")                                            \
    X(FROM, "from", API_TEXT, "old name",                                                          \
      "the saved selection to rename; the body is then ignored")                                   \
    X(MIN_DURATION, "min_duration", API_DURATION, "100ms", "only traces that last so long")        \
    X(SORT, "sort", API_WORD, "duration|time|samples", "order of traces, largest or latest first") \
    X(BUILD_ID, "build_id", API_TEXT, "c0ffee5a1e00000000000000000000000000beef",                  \
      "GNU build id of the binary, in hex digits")                                                 \
    X(PATH, "path", API_TEXT, "/build/shop/src/main.c", "absolute path of a source file")

enum {
#define X(id, name, kind, example, what) API_I_##id,
    API_PARAMS(X)
#undef X
        API_N_PARAMS
};

_Static_assert(API_N_PARAMS <= 60, "the bits above are those of methods and responses");

/* Bits of api_route.params. */
#define API_P(id) (UINT64_C(1) << API_I_##id)
#define API_SCHEMA_2                                                                               \
    (UINT64_C(1) << 63) /* version 2 of the response: the meaning of members changed */
/* The route changes something with this method instead of GET, and has no response body. Routes of
 * one path are neighbours. */
#define API_PUT (UINT64_C(1) << 62)
#define API_DELETE (UINT64_C(1) << 61)
/* The response comes from another server, which may fail. */
#define API_FETCHED (UINT64_C(1) << 60)
#define API_SELECTION                                                                              \
    (API_P(QUERY) | API_P(START) | API_P(END) | API_P(TRACE_ID) | API_P(SPAN_ID) |                 \
     API_P(PROFILE_ID) | API_P(MAX_TIME))
#define API_ENCODED (API_P(ENCODING) | API_P(MAX_BYTES))
#define API_VIEW                                                                                   \
    (API_P(FOCUS) | API_P(IGNORE) | API_P(HIDE) | API_P(SHOW) | API_P(SHOW_FROM) |                 \
     API_P(COLLAPSE) | API_P(COLLAPSE_LIBRARY) | API_P(COLLAPSE_RECURSION) |                       \
     API_P(COLLAPSE_DIRECT_RECURSION) | API_P(FOCUS_CATEGORY) | API_P(BEGINS_WITH) |               \
     API_P(ENDS_WITH) | API_P(TAGFOCUS) | API_P(TAGIGNORE) | API_P(TAGROOT) | API_P(TAGLEAF) |     \
     API_P(GRANULARITY))

typedef struct api_param {
    const char *id; /* in the OpenAPI document */
    const char *name;
    api_kind kind;
    const char *example, *what;
} api_param;

extern const api_param api_params[API_N_PARAMS];

typedef bool api_handler(struct query *k, struct err *e);

typedef struct api_route {
    const char *path; /* after /api/v1/; {...} matches any non-empty text, {id} 32 hex digits */
    api_handler *run;
    uint64_t params;
    const char *what; /* summary, one line */
    /* Members of the response, "name:kind" each. Kinds: bool int real text hex attributes; columns
     * ints reals texts; {members}: an object; [members]: a list of objects; @name: a shape of
     * api_shapes. `name?` is optional, `int?` and `text?` may be null. openapi.c adds members that
     * every response has. NULL: the response is a file of type `file`. */
    const char *shape;
    const char *file; /* media type; with a shape: the response is JSON with only these members */
} api_route;

extern const api_route api_routes[];
extern const size_t api_n_routes;

typedef struct api_shape {
    const char *name, *shape;
} api_shape;
extern const api_shape api_shapes[];
extern const size_t api_n_shapes;

/* Returns the route of a path after /api/v1/, or NULL. Sets *rest to the part that matched
 * {...}. */
const api_route *api_route_of(str path, str *rest);
/* Returns the route with this path, such as "saved/{name}". */
const api_route *api_route_named(const char *path);
/* Returns the route's parameter of this name, or NULL. */
const api_param *api_route_param(const api_route *r, str name);
