/* server/ask.h - one question of the API while it is being answered, for the files that answer (api_*.c). */
#pragma once
#include "query/select.h"
#include "server/params.h"
#include "store/store.h"
#include "wire/json.h"

typedef struct ask {
    params p;
    store *store; /* a reader of our own */
    arena *a;     /* with the budget of the question */
    uint64_t now; /* Unix ns */
    store_budget budget;
    store_selector q; /* query, start, end, trace_id, span_id, profile_id */
    store_answer answer;
    buf body;
    const char *type; /* of the body; NULL: JSON */
    str name;         /* of a file that the body is; empty: none */
} ask;

/* Answers into k->body.  ERR_USAGE: what was asked (400); ERR_UNSUPPORTED: there is no such thing (404); others: 500. */
typedef bool ask_fn(ask *k, err *e);

typedef struct ask_route {
    const char *path; /* behind /api/v1/; "labels/" also takes what follows the slash */
    ask_fn *answer;
    const char *what; /* one line, for docs and /api/v1/ */
} ask_route;

/* ---- for answers ---- */

/* {"schema":1,"partial":...; the caller adds its members and ends the object. */
json_out ask_begin(ask *k);
void ask_end(ask *k, json_out *o);
/* What stands behind the route's path: the key of labels/KEY. */
str ask_rest(const ask *k, const char *path);
/* The options of a view that the parameters give: focus, ignore, hide, show, show_from, tagfocus ... as the command line has them. */
NODISCARD bool ask_select(const ask *k, select_opts *o, granularity *by, err *e);
/* Sums of the selection as one model, seen through ask_select. */
NODISCARD bool ask_sums(ask *k, model *m, frame_table *f, view *v, err *e);

/* api_lists.c */
bool api_labels(ask *k, err *e), api_series(ask *k, err *e), api_profiles(ask *k, err *e);
/* api_graph.c */
bool api_tree(ask *k, err *e), api_top(ask *k, err *e);
/* api_time.c */
bool api_counts(ask *k, err *e);
/* api_export.c */
bool api_export(ask *k, err *e);
