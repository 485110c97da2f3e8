/* The tables behind routes.h.  Shapes of counters come from the X-macros of the counters. */
#include "server/routes.h"

#include "server/api.h"
#include "server/api_source.h"
#include "server/ingest.h"
#include "server/endpoints.h"
#include "net/http_server.h"
#include "otlp/counters.h"
#include "store/store.h"
#include "base/ban.h"
#include <string.h>

const api_param api_params[API_N_PARAMS] = {
#define X(id, name, kind, example, what) {#id, name, kind, example, what},
    API_PARAMS(X)
#undef X
};

#define X(name, what) #name ":int " /* a member for each counter */
const api_shape api_shapes[] = {
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
    {"source", "name:text requests:int profiles:int samples:int bytes:int refused:int rejected:int "
               "why:text first:int last:int"},
    {"forwarded", OTLP_COUNTERS(X)},
    {"ingest_counts", INGEST_COUNTERS(X)},
    {"http_counts",
     HTTP_SERVER_COUNTERS(X) HTTP_SERVER_PEAKS(
         X) "connections:int exchanges:int held_bytes:int owed_bytes:int file_bytes:int "
            "jobs_waiting:int questions_waiting:int"},
    {"api_counts", API_COUNTERS(X)},
    {"store_counts", STORE_COUNTERS(X) STORE_GAUGES(X)},
    {"source_counts", SOURCE_COUNTERS(X)},
    {"saved", "schema:int changes:text saved:[name:text link:text changed:int]"},
    {"status",
     "schema:int version:text ready:bool started:int now:int store_dir:text source_link:text "
     "source_trim:text source_server:bool max_age:int? "
     "max_bytes:int? ingest:@ingest_counts http:@http_counts "
     "api:@api_counts source:@source_counts store:@store_counts "
     "forward?:{profiles:@forwarded logs:@forwarded waiting_requests:int journal_bytes:int "
     "lost_requests:int} recognised:[@source] "
     "senders:[@source] losses:[concept:text count:int example:text carried_as:text?]"},
};
#undef X
const size_t api_n_shapes = ARRAY_LEN(api_shapes);

#define COMMON (API_SELECTION | API_ENCODED)
#define VALUES "type:text unit:text sum:int "
#define THREADS                                                                                    \
    "type:text unit:text start:int end:int untimed:int intervals:bool resources:[attributes] "

const api_route api_routes[] = {
    {"labels", api_labels, COMMON | API_P(LIMIT), "the names of labels",
     "keys:[text:text series:int] all:int", NULL},
    {"labels/{key}", api_labels, COMMON | API_P(LIMIT), "the values of a label",
     "values:[text:text series:int] all:int", NULL},
    {"series", api_series, COMMON, "the stored series: resource, scope and type, with counts",
     "series:[@series]", NULL},
    {"services", api_services, COMMON | API_P(STEP),
     "each service and type: its amount, its top function, its amounts over time",
     "start:int end:int step:int rows:[service:text type:text unit:text first:int last:int "
     "level:bool sum:int function:text file:text mapping:text flat:int sums:ints counts:ints]",
     NULL},
    {"profiles", api_profiles, COMMON | API_P(LIMIT), "stored profiles, newest first",
     "series:[@series] profiles:[@profile]", NULL},
    {"profiles/{id}/original", api_original, 0, "the original file of a profile", NULL,
     "application/octet-stream"},
    {"profiles/{id}", api_profile, API_ENCODED,
     "one profile: its properties, layout and conversion losses",
     "profiles:[id:hex type:text unit:text period_type:text period_unit:text period:int time:int "
     "duration:int received:int sender:text recognised:text resource:attributes scope:text "
     "scope_version:text attributes:attributes original:{format:text bytes:int} samples:int "
     "observations:int timestamps:int links:int stacks:int max_depth:int sum:int "
     "losses:[concept:text what:text stage:text count:int path:text value:text carried_as:text]]",
     NULL},
    {"spans", api_spans, COMMON | API_P(LIMIT),
     "the traces and spans of the selected samples, with amounts",
     "series:[@series] profiles:[@profile] types:[type:text unit:text] resources:[attributes] "
     "threads:{name:texts thread_id:ints process_id:ints resource:ints} spans:{trace_id:texts "
     "span_id:texts type:ints thread:ints sum:ints samples:ints first:ints last:ints start:ints "
     "end:ints} all:int",
     NULL},
    {"traces", api_traces, COMMON | API_P(LIMIT) | API_P(MIN_DURATION) | API_P(SORT),
     "the traces of the selected samples, with their durations",
     "traces:[trace_id:hex first:int duration:int spans:int samples:int services:texts] all:int",
     NULL},
    {"bill", api_bill, COMMON | API_P(LIMIT),
     "the bill of a trace or span: on-CPU, waiting by reason, ready, in other spans, unaccounted",
     "period:int off_cpu:bool resources:[attributes] threads:{name:texts thread_id:ints "
     "process_id:ints resource:ints} spans:{trace_id:texts span_id:texts thread:ints first:ints "
     "last:ints wall:ints} reasons:[kind:text state:text detail:text syscall:text] "
     "parts:{span:ints reason:ints sum:ints observations:ints} all:int",
     NULL},
    {"counts", api_counts, COMMON | API_P(STEP) | API_P(LABEL) | API_P(SPLIT),
     "sums and observation counts over time, by a label",
     "start:int end:int step:int levels:bool "
     "rows:[label:text split?:text complete:int sum:ints count:ints series?:ints]",
     NULL},
    {"heat", api_heat, COMMON | API_VIEW | API_P(COLUMN) | API_P(ROWS),
     "a heat map: sums in columns of time, each divided into rows",
     "type:text unit:text start:int column:int columns:int row:int rows:int sum:ints count:ints "
     "max:int",
     NULL},
    {"tree", api_tree, COMMON | API_VIEW | API_P(INVERTED) | API_P(BELOW),
     "a flame graph as columns, one entry for each node",
     VALUES "frames:@frames nodes:{parent:ints frame:ints self:ints total:ints}", NULL},
    {"top", api_top, COMMON | API_VIEW | API_P(LIMIT) | API_P(CUM), "frames sorted by value",
     VALUES "frames:@frames rows:{frame:ints flat:ints cum:ints} all:int", NULL},
    {"diff", api_diff,
     COMMON | API_VIEW | API_P(INVERTED) | API_P(BASE_QUERY) | API_P(BASE_START) | API_P(BASE_END) |
         API_P(ABSOLUTE) | API_P(PER) | API_P(SPREAD) | API_P(FDR) | API_P(NOISE) | API_SCHEMA_2,
     "comparison of two selections: which costs changed by more than noise",
     "type:text unit:text before:@side after:@side scale:real fdr:real tests:int untested:text "
     "per:text per_before:real per_after:real spread:real sentence:text total:{change:real q:real "
     "verdict:text growth?:real low?:real high?:real uniform:bool} "
     "frames:@frames nodes:{parent:ints frame:ints self_before:ints self_after:ints "
     "total_before:ints total_after:ints} rows:{frame:ints flat_before:ints flat_after:ints "
     "cum_before:ints cum_after:ints flat_change:reals cum_change:reals flat_q:reals cum_q:reals "
     "flat:ints cum:ints moved:ints} changed:int grew:int verdicts:texts",
     NULL},
    {"lanes", api_lanes, COMMON | API_VIEW, "the observations of each thread over time",
     THREADS "lanes:{name:texts thread_id:ints process_id:ints resource:ints sum:ints first:ints "
             "n:ints} frames:@frames states:texts events:{time:ints duration:ints value:ints "
             "state:ints frame:ints}",
     NULL},
    {"chart", api_chart, COMMON | API_VIEW | API_P(GAP),
     "a flame chart: a box for each interval that a frame is on the stack",
     THREADS "lanes:{name:texts thread_id:ints process_id:ints resource:ints sum:ints} "
             "frames:@frames max_depth:int boxes:{lane:ints time:ints duration:ints depth:ints "
             "frame:ints value:ints}",
     NULL},
    {"export", api_export,
     API_SELECTION | API_P(FORMAT) | API_P(SUMS) | API_P(ATTRIBUTES) | API_P(GZIP),
     "the selected samples as a file", NULL, "application/octet-stream"},
    {"saved", NULL, 0, "the saved selections, by name", "@saved", "application/json"},
    {"saved/{name}", NULL, API_PUT | API_P(FROM), "saves a link under a name, or renames", NULL,
     NULL},
    {"saved/{name}", NULL, API_DELETE, "deletes a saved selection", NULL, NULL},
    {"source", NULL, API_P(BUILD_ID) | API_P(PATH) | API_P(MAX_TIME) | API_FETCHED,
     "a source file, fetched from a debuginfod server", NULL, "text/plain"},
    {"openapi.json", api_openapi, 0, "this document", NULL, "application/json"},
    {"store", api_store, API_ENCODED,
     "the files of the store, their sizes, and what waits for compaction",
     "bytes:int raw_items:int raw_bytes:int kept_items:int series:int profiles:int samples:int "
     "files:[name:text corrupt:bool bytes:int first:int last:int series:int profiles:int "
     "samples:int]",
     NULL},
    {"status", NULL, 0, "state of the server: senders, layouts, losses, queues, store", "@status",
     "application/json"},
};
const size_t api_n_routes = ARRAY_LEN(api_routes);

/* Matches a route such as "labels/{key}" with a path such as "labels/service.name". */
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

const api_route *api_route_of(str path, str *rest)
{
    for (size_t i = 0; i < api_n_routes; i++)
        if (api_routes[i].run && fits(api_routes[i].path, path, rest)) return &api_routes[i];
    return NULL;
}

const api_route *api_route_named(const char *path)
{
    const api_route *r = api_routes;
    while (strcmp(r->path, path)) r++;
    return r;
}

const api_param *api_route_param(const api_route *r, str name)
{
    for (size_t i = 0; i < API_N_PARAMS; i++)
        if (r->params >> i & 1 && str_eq(str_of(api_params[i].name), name)) return &api_params[i];
    return NULL;
}
