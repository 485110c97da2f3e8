/* server/ask.h - one question of the API while it is being answered, for the files that answer (api_*.c).
 *
 *   params ─ checked against the route's ─► selector ─► route->answer ─► answer ─► encoding ─► body */
#pragma once
#include "base/stopper.h"
#include "net/spill.h"
#include "query/select.h"
#include "server/answer.h"
#include "server/params.h"
#include "server/routes.h"
#include "store/store.h"
#include <stdatomic.h>

#define ASK_PACK ((size_t)16 << 10)      /* answers from here on are packed for those who take it */
#define ASK_MAX_BYTES ((size_t)64 << 20) /* of an answer; files may be larger */

/* Of all queries: the files that large bodies are written to. */
typedef struct ask_files {
    const char *dir;
    _Atomic uint64_t filling; /* bytes of those that are being written */
} ask_files;

typedef struct ask {
    params p;
    const ask_route *route;
    str rest;                        /* what stands for {...} in the route's path */
    const answer_encoding *accepted; /* that the asker would rather have; NULL: any */
    bool takes_gzip;
    store *store; /* a reader of our own */
    arena *a;     /* with the budget of the question */
    uint64_t now; /* Unix ns */
    store_budget budget;
    stopper *stop;    /* looked at by all that takes a while; NULL: it is never given up */
    size_t max_bytes; /* of the answer */
    store_selector q; /* query, start, end, trace_id, span_id, profile_id */
    store_answer looked;
    answer w;
    const answer_encoding *as;
    buf body;
    ask_files *files;  /* NULL: bodies stay in memory */
    uint64_t max_file; /* bytes of a file */
    spill file;        /* stands for `body` when it is large (server/body_out.h) */
    const char *type;  /* of a body that the question wrote itself; NULL: `w` is the answer */
    str name;          /* of a file that the body is; empty: none */
    char main_type
        [256]; /* of what is in it (store_main_type), a copy: the arena goes before the answer; empty: not said */
    bool packed; /* the body is gzip */
} ask;

/* Checks the parameters and takes encoding and budget from them: k->p, route, accepted and budget are set.  Cheap.  ERR_USAGE. */
NODISCARD bool ask_prepare(ask *k, err *e);
/* Answers and encodes a prepared query: rest, store, a, now and stop are set, too.  ERR_USAGE: what was asked (400);
 * ERR_UNSUPPORTED: there is no such thing (404); ERR_LIMIT: too much (503); others: 500. */
NODISCARD bool ask_answer(ask *k, err *e);

/* ---- for answers ---- */

/* A selector without a type, or without its unit, gets the main type (store_main_type). */
NODISCARD bool ask_type(ask *k, store_selector *q, err *e);
/* Questions about time have a start and an end: without an end until now, without a start the hour before, or, where the start is 0 or
 * an id is given, from the first observation on.  ERR_USAGE. */
NODISCARD bool ask_range(ask *k, err *e);
/* ?limit=, in [1, most]; *out stays as it is when it is not given.  ERR_USAGE. */
NODISCARD bool ask_limit(const ask *k, uint64_t most, uint64_t *out, err *e);
/* A round length of which about 240 make a range: 1, 2, 5 ... ms, 1, 2, 5, 10, 15, 30 s, minutes, hours. */
uint64_t ask_round_step(uint64_t range);
/* The options of a view that the parameters give: focus, ignore, hide, show, show_from, tagfocus ... as the command line has them. */
NODISCARD bool ask_select(const ask *k, select_opts *o, granularity *by, err *e);
/* Is one of them given? */
bool ask_has_view(const ask *k);
/* Sums of the selection as one model, seen through ask_select. */
NODISCARD bool ask_sums(ask *k, model *m, frame_table *f, view *v, err *e);
/* The samples of the selection one by one, the same way. */
NODISCARD bool ask_samples(ask *k, model *m, frame_table *f, view *v, err *e);
/* Adds a view of what was read to *v; nothing selected is no error. */
NODISCARD bool ask_view(const model *m, const select_opts *o, view *v, err *e);
/* What reading may still cost: a part (1 / share) of the memory, and the time that is left. */
store_budget ask_budget(const ask *k, unsigned share);
/* Adds what another read looked at. */
void ask_looked(ask *k, const store_answer *more);
/* Time and bytes only: it was looked at to know what to ask for. */
void ask_spent(ask *k, const store_answer *more);
/* The answer is cut: partial, with the reason.  The first reason stays. */
void ask_cut(ask *k, const char *fmt, ...) PRINTF(2, 3);

/* type, unit and sum. */
void ask_put_view(ask *k, const view *v);
/* "frames": those of ids[0 .. n), or with NULL all n. */
NODISCARD bool ask_put_frames(ask *k, const frame_table *f, const uint32_t *ids, size_t n, err *e);
/* What a series is: type, unit, period, resource, scope. */
void ask_put_series(answer_node *in, const store_series *s);
/* Which profile it is and how it came here: id, time, duration, received, sender, recognised. */
void ask_put_profile(answer_node *in, const store_profile *p);
/* "series" and "profiles": the newest `max` of the selection (api_lists.c). */
NODISCARD bool ask_put_profiles(ask *k, uint64_t max, err *e);
/* "resources": a list of attributes. */
void ask_put_resources(ask *k, const resource *const *v, size_t n);
/* Bytes that a number of a column takes in the answer's encoding, when all of them are in [low, high]. */
size_t ask_width(const ask *k, int64_t low, int64_t high);

static inline bool ask_no_memory(err *e)
{
    return err_set(e, ERR_LIMIT, "the answer does not fit the memory budget");
}
