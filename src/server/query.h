/* server/query.h - one query of the API while it runs, and the functions that the endpoints
 * (api_*.c) share.
 *
 *   params ─ checked against the route ─► selector ─► route->run ─► response ─► encoding ─► body */
#pragma once
#include "base/stopper.h"
#include "net/spill.h"
#include "query/select.h"
#include "query/threads.h"
#include "server/response.h"
#include "store/params.h"
#include "server/routes.h"
#include "store/store.h"
#include <stdatomic.h>

/* Responses from this size on are compressed for clients that accept it. */
#define QUERY_PACK ((size_t)16 << 10)
#define QUERY_MAX_BYTES ((size_t)64 << 20) /* maximum size of a response; files may be larger */

/* State of the files with large bodies, shared by all queries. */
typedef struct query_files {
    const char *dir;
    _Atomic uint64_t filling; /* bytes of the files that are being written */
} query_files;

typedef struct query {
    params p;
    const api_route *route;
    struct pyro_call *call; /* a call of Pyroscope's services (pyroscope.h) instead of a route */
    str rest;               /* the part of the path that matched {...} in the route */
    const response_encoding *accepted; /* preferred by the client; NULL: any */
    bool takes_gzip;
    store_reader *store; /* a reader used by this query alone */
    arena *a;            /* with the memory budget of the query */
    uint64_t now;        /* Unix ns */
    store_budget budget;
    stopper *stop;    /* checked by all long computations; NULL: never cancelled */
    size_t max_bytes; /* size limit of the response */
    store_selector q; /* query, start, end, trace_id, span_id, profile_id */
    store_read_result scanned;
    response w;
    const response_encoding *as;
    buf body;
    struct saved *settings; /* of Pyroscope's clients; may be NULL */
    struct adhoc *adhoc;    /* files that are kept in memory */
    query_files *files;     /* NULL: bodies stay in memory */
    uint64_t max_file;      /* limit of query_files.filling, in bytes */
    spill file;             /* replaces `body` when it is large (server/body_out.h) */
    const char *type; /* media type of a body that the endpoint wrote itself; NULL: encode `w` */
    str name;         /* file name for Content-Disposition; empty: none */
    char main_type
        [256];   /* store_main_type of an export, a copy that outlives the arena; empty: unknown */
    bool packed; /* the body is compressed with gzip */
} query;

/* Checks that the route has all parameters, and each is given once.  ERR_USAGE. */
NODISCARD bool query_check_params(const api_route *r, const params *p, err *e);
/* Checks the parameters and reads encoding and limits from them.  The caller has set p, route,
 * accepted and budget.  Cheap.  ERR_USAGE. */
NODISCARD bool query_prepare(query *k, err *e);
/* Runs and encodes a prepared query.  The caller has also set rest, store, a, now and stop.
 * ERR_USAGE: invalid query (400); ERR_UNSUPPORTED: not found (404); ERR_LIMIT: over a limit (503);
 * other codes: 500. */
NODISCARD bool query_run(query *k, err *e);

/* ---- for endpoints ---- */

/* Completes a selector without a type, or without its unit, with the main type
 * (store_main_type). */
NODISCARD bool query_type(query *k, store_selector *q, err *e);
/* Fills in start and end.  The default end is now; the default start is an hour before the end, or
 * the first observation when the start is 0 or an id is given.  ERR_USAGE. */
NODISCARD bool query_range(query *k, err *e);
/* Reads ?limit=, in [1, most]; leaves *out unchanged when it is absent.  ERR_USAGE. */
NODISCARD bool query_limit(const query *k, uint64_t most, uint64_t *out, err *e);
/* Returns a round step that divides the range into about 240 parts: 1, 2, 5 ... ms, 1, 2, 5, 10,
 * 15, 30 s, minutes, hours. */
uint64_t query_round_step(uint64_t range);
/* Reads the view options focus, ignore, hide, show, show_from, tagfocus ...; they mean the same as
 * on the command line. */
NODISCARD bool query_select(const query *k, select_opts *o, granularity *by, err *e);
/* Returns whether any view option is given. */
bool query_has_view(const query *k);
/* Reads the selected samples, summed by stack, as one model and a view with the options of
 * query_select. */
NODISCARD bool query_sums(query *k, model *m, frame_table *f, view *v, err *e);
/* Like query_sums, without adding samples up. */
NODISCARD bool query_samples(query *k, model *m, frame_table *f, view *v, err *e);
/* Adds the samples of m to *v; an empty model is not an error. */
NODISCARD bool query_view(const model *m, const select_opts *o, view *v, err *e);
/* Returns the budget of the next read: 1/share of the remaining memory, and the remaining time. */
store_budget query_budget(const query *k, unsigned share);
/* Adds the statistics of another read. */
void query_scanned(query *k, const store_read_result *more);
/* Adds only time and bytes of a read that prepared another one. */
void query_spent(query *k, const store_read_result *more);
/* Marks the response as partial, with a reason.  The first reason stays. */
void query_cut(query *k, const char *fmt, ...) PRINTF(2, 3);

/* Adds type, unit and sum. */
void query_put_view(query *k, const view *v);
/* Adds "frames": the frames ids[0 .. n), or all n frames when ids is NULL. */
NODISCARD bool query_put_frames(query *k, const frame_table *f, const uint32_t *ids, size_t n,
                                err *e);
/* Adds the properties of a series: type, unit, period, resource, scope. */
void query_put_series(response_node *in, const store_series *s);
/* Adds the properties of a profile: id, time, duration, received, sender, recognised. */
void query_put_profile(response_node *in, const store_profile *p);
/* Adds "series" and "profiles": the newest `max` of the selection (api_lists.c). */
NODISCARD bool query_put_profiles(query *k, uint64_t max, err *e);
/* Adds "resources" and "threads" (api_spans.c). */
NODISCARD bool query_put_threads(query *k, const thread_table *t, err *e);
/* Returns n bytes as hex digits; sets k->w.failed when out of memory. */
str query_hex(query *k, const uint8_t *p, size_t n);
/* Adds "resources": a list of attributes. */
void query_put_resources(query *k, const resource *const *v, size_t n);
/* Returns the bytes of one number of a column in the response's encoding, when all numbers are in
 * [low, high]. */
size_t query_width(const query *k, int64_t low, int64_t high);
