/* server/pyroscope.h - the query services of Pyroscope, for Grafana and its tools (docs/grafana.md).
 *
 *   POST /querier.v1.QuerierService/METHOD ─► protobuf ─► pyro_request ─► handler ─► protobuf ─┐
 *        Connect (binary, JSON), gRPC, gRPC-Web                        the same dialect ◄──────┘
 *   GET /pyroscope/render ... ──────────────► parameters ──────────────► handler ─► JSON
 *
 * api.c schedules these calls like the queries of its own endpoints, with the same limits. */
#pragma once
#include "pyroscope/request.h"
#include "server/query.h"
#include "server/rpc.h"

typedef struct pyro_method {
    const char *path;
    api_handler *run;            /* writes the response message, or JSON, to query.body */
    const message_desc *request; /* NULL: a message without fields, or `plain` */
    const message_desc *response;
    bool plain;   /* a GET with parameters; the response is JSON */
    bool alone;   /* never shares its response with an equal call */
    bool changes; /* requires the right to write */
    bool large;   /* the request may have PYRO_LARGE bytes */
} pyro_method;

enum { PYRO_LARGE = 24 << 20, PYRO_SMALL = 64 << 10 };

typedef struct pyro_call {
    const pyro_method *method;
    rpc_dialect dialect; /* RPC_NONE: GET with parameters; responses are JSON */
    bool packs;          /* gRPC: the client accepts compressed messages */
    bool utf8;           /* labels keep names with dots (allow-utf8-labelnames) */
    str message;         /* the request as protobuf */
    pyro_request r;
} pyro_call;

/* Returns whether the path belongs to one of the services; Push itself is an endpoint for senders
 * (pyroscope_ingest.h). */
bool pyroscope_has(const http_message *m);
/* Returns whether a call changes something, so that it requires the right to write. */
bool pyroscope_changes(const http_message *m);
/* Returns the size limit of the body of a call. */
size_t pyroscope_max_body(const http_message *m);
/* Responds to a call that has no method, a wrong HTTP method or a wrong content type, and returns
 * true.  Returns false when the call can be read. */
bool pyroscope_reject(http_exchange *x);
/* Reads a call into k->call, and the client's timeout into k->budget.  ERR_MALFORMED, ERR_USAGE,
 * ERR_LIMIT; ERR_BUSY when the body was discarded because too much data arrived at once. */
NODISCARD bool pyroscope_read(query *k, const http_message *m, err *e);
/* Runs k->call and encodes the response in its dialect. */
NODISCARD bool pyroscope_run(query *k, err *e);

/* Send a response, an error, and a rejection before the call is read. */
void pyroscope_reply(http_exchange *x, const query *k, buf *body, spill *file);
void pyroscope_reply_error(http_exchange *x, const err *e, unsigned retry);
void pyroscope_reply_refused(http_exchange *x, bool foreign, const char *why);
