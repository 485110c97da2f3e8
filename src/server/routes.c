#include "server/routes.h"

#include "server/api.h"
#include "server/ingest.h"
#include "server/questions.h"
#include "net/http_server.h"
#include "otlp/counters.h"
#include "store/store.h"
#include "base/ban.h"
#include <string.h>

const ask_param ask_params[ASK_N_PARAMS] = {
#define X(id, name, kind, example, what) {#id, name, kind, example, what},
    ASK_PARAMS(X)
#undef X
};

#define X(name, what) #name ":int " /* of a list of counters */
const ask_shape ask_shapes[] = {
    {"frames", "label:texts file:texts line:ints mapping:texts"},
    {"series", "type:text unit:text period_type:text period_unit:text period:int first:int "
               "last:int profiles:int samples:int resource:attributes scope:text "
               "scope_version:text"},
    {"profile", "id:hex series:int time:int duration:int received:int samples:int sender:text "
                "recognised:text losses:int"},
    {"error", "error:text"},
    {"looked_at", "samples:int profiles:int series:int blocks:int items:int bytes:int damaged:int "
                  "ns:int"},
    {"side", "sum:int samples:real seconds:real"},
    {"source", "name:text requests:int profiles:int samples:int bytes:int refused:int last:int"},
    {"forwarded", OTLP_COUNTERS(X)},
    {"ingest_counts", INGEST_COUNTERS(X)},
    {"http_counts",
     HTTP_SERVER_COUNTERS(X) HTTP_SERVER_PEAKS(
         X) "connections:int exchanges:int held_bytes:int owed_bytes:int file_bytes:int "
            "jobs_waiting:int questions_waiting:int"},
    {"api_counts", API_COUNTERS(X)},
    {"store_counts", STORE_COUNTERS(X) STORE_GAUGES(X)},
    {"status",
     "schema:int version:text ready:bool started:int now:int store_dir:text max_age:int? "
     "max_bytes:int? ingest:@ingest_counts http:@http_counts "
     "api:@api_counts store:@store_counts "
     "forward?:{profiles:@forwarded logs:@forwarded waiting_requests:int journal_bytes:int "
     "lost_requests:int} recognised:[@source] "
     "senders:[@source] losses:[concept:text count:int example:text carried_as:text?]"},
};
#undef X
const size_t ask_n_shapes = ARRAY_LEN(ask_shapes);

#define ANSWERS (ASK_SELECTION | ASK_ENCODED)
#define VALUES "type:text unit:text sum:int "
#define THREADS                                                                                    \
    "type:text unit:text start:int end:int untimed:int intervals:bool resources:[attributes] "

const ask_route ask_routes[] = {
    {"labels", api_labels, ANSWERS | ASK_P(LIMIT), "names of labels",
     "keys:[text:text series:int] all:int", NULL},
    {"labels/{key}", api_labels, ANSWERS | ASK_P(LIMIT), "values of a label",
     "values:[text:text series:int] all:int", NULL},
    {"series", api_series, ANSWERS, "what is stored: resource, scope and type, with counts",
     "series:[@series]", NULL},
    {"profiles", api_profiles, ANSWERS | ASK_P(LIMIT), "profiles one by one, the newest first",
     "series:[@series] profiles:[@profile]", NULL},
    {"profiles/{id}/original", api_original, 0, "the file that a profile came in", NULL,
     "application/octet-stream"},
    {"profiles/{id}", api_profile, ASK_ENCODED, "one profile: facts, layout, losses",
     "profiles:[id:hex type:text unit:text period_type:text period_unit:text period:int time:int "
     "duration:int received:int sender:text recognised:text resource:attributes scope:text "
     "scope_version:text attributes:attributes original:{format:text bytes:int} samples:int "
     "observations:int timestamps:int links:int stacks:int max_depth:int sum:int "
     "losses:[concept:text what:text stage:text count:int path:text value:text carried_as:text]]",
     NULL},
    {"spans", api_spans, ANSWERS | ASK_P(LIMIT), "traces and spans: where and how much",
     "series:[@series] profiles:[@profile] types:[type:text unit:text] resources:[attributes] "
     "threads:{name:texts thread_id:ints process_id:ints resource:ints} spans:{trace_id:texts "
     "span_id:texts type:ints thread:ints sum:ints samples:ints first:ints last:ints} all:int",
     NULL},
    {"counts", api_counts, ANSWERS | ASK_P(STEP) | ASK_P(LABEL),
     "sums and numbers of observations in steps of time, by a label",
     "start:int step:int rows:[label:text sum:ints count:ints]", NULL},
    {"heat", api_heat, ANSWERS | ASK_VIEW | ASK_P(COLUMN) | ASK_P(ROWS),
     "sums in columns of time and rows of parts of a column",
     "type:text unit:text start:int column:int columns:int row:int rows:int sum:ints count:ints "
     "max:int",
     NULL},
    {"tree", api_tree, ANSWERS | ASK_VIEW | ASK_P(INVERTED),
     "a flame graph: columns by node, nothing left out",
     VALUES "frames:@frames nodes:{parent:ints frame:ints self:ints total:ints}", NULL},
    {"top", api_top, ANSWERS | ASK_VIEW | ASK_P(LIMIT) | ASK_P(CUM), "frames by value",
     VALUES "frames:@frames rows:{frame:ints flat:ints cum:ints} all:int", NULL},
    {"diff", api_diff,
     ANSWERS | ASK_VIEW | ASK_P(INVERTED) | ASK_P(BASE_QUERY) | ASK_P(BASE_START) |
         ASK_P(BASE_END) | ASK_P(ABSOLUTE) | ASK_P(PER) | ASK_P(SPREAD) | ASK_P(FDR) |
         ASK_P(NOISE) | ASK_SCHEMA_2,
     "two selections: what changed in cost, and which of it is more than noise",
     "type:text unit:text before:@side after:@side scale:real fdr:real tests:int untested:text "
     "per:text per_before:real per_after:real spread:real sentence:text total:{change:real q:real "
     "verdict:text growth?:real low?:real high?:real uniform:bool} "
     "frames:@frames nodes:{parent:ints frame:ints self_before:ints self_after:ints "
     "total_before:ints total_after:ints} rows:{frame:ints flat_before:ints flat_after:ints "
     "cum_before:ints cum_after:ints flat_change:reals cum_change:reals flat_q:reals cum_q:reals "
     "flat:ints cum:ints moved:ints} changed:int grew:int verdicts:texts",
     NULL},
    {"lanes", api_lanes, ANSWERS | ASK_VIEW, "threads over time",
     THREADS "lanes:{name:texts thread_id:ints process_id:ints resource:ints sum:ints first:ints "
             "n:ints} frames:@frames states:texts events:{time:ints duration:ints value:ints "
             "state:ints frame:ints}",
     NULL},
    {"chart", api_chart, ANSWERS | ASK_VIEW | ASK_P(GAP),
     "a flame chart: a box for each frame while it stays on the stack",
     THREADS "lanes:{name:texts thread_id:ints process_id:ints resource:ints sum:ints} "
             "frames:@frames max_depth:int boxes:{lane:ints time:ints duration:ints depth:ints "
             "frame:ints value:ints}",
     NULL},
    {"export", api_export,
     ASK_SELECTION | ASK_P(FORMAT) | ASK_P(SUMS) | ASK_P(ATTRIBUTES) | ASK_P(GZIP),
     "the selection as a file", NULL, "application/octet-stream"},
    {"openapi.json", api_openapi, 0, "this document", NULL, "application/json"},
    {"store", api_store, ASK_ENCODED, "what the store is made of: files, sizes, what waits",
     "bytes:int raw_items:int raw_bytes:int kept_items:int series:int profiles:int samples:int "
     "files:[name:text corrupt:bool bytes:int first:int last:int series:int profiles:int "
     "samples:int]",
     NULL},
    {"status", NULL, 0, "the server itself: senders, layouts, losses, queues, the store", "@status",
     "application/json"},
};
const size_t ask_n_routes = ARRAY_LEN(ask_routes);

/* "labels/{key}" over "labels/service.name". */
static bool fits(const char *route, str path, str *rest)
{
    const char *open = strchr(route, '{'), *close = open ? strchr(open, '}') : NULL;
    *rest = (str){0};
    if (!open) return str_eq(path, str_of(route));
    str head = {route, (size_t)(open - route)}, tail = str_of(close + 1);
    if (path.n <= head.n + tail.n || !str_starts(path, head)) return false;
    if (!str_eq((str){path.p + path.n - tail.n, tail.n}, tail)) return false;
    *rest = (str){path.p + head.n, path.n - head.n - tail.n};
    return true;
}

const ask_route *ask_route_of(str path, str *rest)
{
    for (size_t i = 0; i < ask_n_routes; i++)
        if (ask_routes[i].answer && fits(ask_routes[i].path, path, rest)) return &ask_routes[i];
    return NULL;
}

const ask_param *ask_route_param(const ask_route *r, str name)
{
    for (size_t i = 0; i < ASK_N_PARAMS; i++)
        if (r->params >> i & 1 && str_eq(str_of(ask_params[i].name), name)) return &ask_params[i];
    return NULL;
}
