/* otlp/receive.h - decodes requests of senders and builds responses in their protocol.  No sockets,
 * store or clock.
 *
 *   http_message ─ receive_route_of ─► service and protocol
 *                ─ receive_read ─────► one model, and the rejections
 *   verdict ────── receive_respond ──► a gRPC or HTTP response
 *
 * The bytes determine the format, not the path: /v1/profiles may carry pprof, and a v1experimental
 * package the current layout. */
#pragma once
#include "base/arena.h"
#include "format/format.h"
#include "net/grpc.h"
#include "net/message.h"
#include "wire/otlp_filter.h"

typedef enum receive_kind {
    RECEIVE_PROFILES,
    RECEIVE_LOGS,
    RECEIVE_UPLOAD,  /* POST /upload: a file of any format */
    RECEIVE_DIALECT, /* another protocol: see receive_dialect */
} receive_kind;

typedef struct receive_dialect receive_dialect;

typedef struct receive_route {
    receive_kind kind;
    bool grpc;
    bool json;                      /* HTTP: respond in JSON */
    const char *package;            /* "v1development", from the path; "" for /upload */
    const receive_dialect *dialect; /* RECEIVE_DIALECT */
} receive_route;

/* Returns false when the path is not an endpoint for senders. */
bool receive_route_of(const http_message *m, receive_route *out);
/* Returns whether this gRPC service exists:
 * "opentelemetry.proto.collector.profiles.v1development.ProfilesService". */
bool receive_has_service(str name);

/* Returns whether the request is for an unknown gRPC method or another OTLP signal (/v1/metrics,
 * /v1/traces).  Sets *out to the protocol of the response and *why to the message for the
 * sender. */
bool receive_is_unknown(const http_message *m, receive_route *out, const char **why);

typedef enum verdict {
    VERDICT_ACCEPTED,
    VERDICT_MALFORMED,       /* 400, INVALID_ARGUMENT */
    VERDICT_METHOD,          /* 405, UNIMPLEMENTED */
    VERDICT_MEDIA,           /* 415, UNIMPLEMENTED: content type or encoding */
    VERDICT_TOO_LARGE,       /* 413, RESOURCE_EXHAUSTED without RetryInfo: permanent */
    VERDICT_OVERLOADED,      /* 429, RESOURCE_EXHAUSTED with RetryInfo: temporary */
    VERDICT_UNAVAILABLE,     /* 503, UNAVAILABLE with RetryInfo: disk full, shutdown */
    VERDICT_UNAUTHENTICATED, /* 401, UNAUTHENTICATED: missing or wrong token */
    VERDICT_CROSS_SITE,      /* 403, PERMISSION_DENIED: sent by a web page of another site */
    VERDICT_LATE,            /* 504, DEADLINE_EXCEEDED: the sender's own deadline has passed */
    VERDICT_UNKNOWN,         /* 404, UNIMPLEMENTED: unknown method or signal */
} verdict;

enum { RECEIVE_TEXT = 1024 };

/* Why a profile or log record was rejected: an otlp_fault, or one of these. */
enum { RECEIVE_NOT_A_CALL_STACK = OTLP_FAULT_COUNT, RECEIVE_UNREADABLE_RECORD, RECEIVE_REASONS };
const char *receive_reason_name(size_t reason); /* "index", as in the label of a metric */

typedef struct received {
    document doc;      /* the model is doc.model; without profiles there is nothing to store */
    str payload;       /* the message without framing, compression and rejected profiles */
    size_t n_items;    /* profiles or log records */
    size_t n_rejected; /* of these, rejected in the partial success */
    size_t rejected_by[RECEIVE_REASONS]; /* sums to n_rejected */
    /* Set with VERDICT_MALFORMED and no_filter: some profiles may be valid, so call again without
     * no_filter. */
    bool needs_filter;
    char why[RECEIVE_TEXT];
    char recognised
        [48]; /* "otlp 1.9", "otlp-json", "pprof", "splunk-logs": never text of a sender */
    /* Uploads: describes parts that could not be read; empty: none. */
    char damage[RECEIVE_TEXT];
    /* Uploads: facts that help the sender to find the profiles. */
    uint64_t n_duplicates; /* profiles that were already stored; set by the caller after storing */
    char service[96];      /* service.name of the first resource; empty: none, or too long */
    uint64_t first, last;  /* Unix ns of the measured range; 0: unknown */
} received;

typedef struct receive_opts {
    size_t max_message; /* bytes after decompression; 0: 256 MiB */
    ledger *ledger;     /* conversion losses; may be NULL */
    uint64_t arrival;   /* current Unix ns, for recordings without a date; 0: unknown */
    /* Do not filter an invalid request, because that takes ten times as long as decoding.  Set
     * `needs_filter` instead. */
    bool no_filter;
} receive_opts;

/* Decodes the request.  Invalid profiles are rejected and the others read; `why` has counts and
 * reasons (n_rejected is 0 when only unused dictionary entries are invalid).  Of a damaged file
 * (/upload) the intact parts are read, and `damage` describes the rest.  Allocates from the arena
 * within its budget; strings are views of m->body.  Verdicts other than VERDICT_ACCEPTED set
 * `e`.
 *
 * A recording whose clock does not count from 1970 gets a date (wire/anchor.h) from the first of
 * these: /upload?time_anchor=TIME (start of the recording), ?modified=TIME (modification time of
 * the file), o->arrival. */
NODISCARD verdict receive_read(const receive_route *r, const http_message *m, const receive_opts *o,
                               arena *a, received *out, err *e);

/* Extracts the message of a unary gRPC call, at most max bytes, without framing and compression. */
NODISCARD verdict receive_open_grpc(const http_message *m, size_t max, arena *a, str *out, err *e);

/* Removes the content encoding of a request without gRPC framing; *out has at most max bytes. */
NODISCARD verdict receive_open_body(const http_message *m, size_t max, arena *a, str *out, err *e);

/* Returns false, with the message for the client, when the encoding of the body or of framed
 * messages is unknown. */
NODISCARD bool receive_knows_coding(const http_message *m, bool framed, err *e);

/* ---- responses ---- */

typedef struct receive_reply {
    unsigned status;
    buf body;
    http_header head[4], trailers[4];
    size_t n_head, n_trailers;
    char grpc_status[4], retry_after[16], duplicates[24];
    buf text, details; /* storage of trailers */
} receive_reply;

/* Builds a response: from `got` for VERDICT_ACCEPTED, from `why` for others.  VERDICT_OVERLOADED
 * and VERDICT_UNAVAILABLE also use retry_ns.  Headers report the format (`kiln-recognised: otlp
 * 1.10`, a view of `got`) and duplicates (`kiln-duplicates: 2`).  Free it with
 * receive_reply_free. */
void receive_respond(const receive_route *r, verdict v, const received *got, const err *why,
                     uint64_t retry_ns, receive_reply *out);
void receive_reply_free(receive_reply *r);

/* ---- other protocols ---- */

/* A protocol of senders that this room does not know.  receive_read and receive_respond call these
 * functions for its routes.  Status, retry-after and other headers are the same for all. */
struct receive_dialect {
    /* As receive_read. */
    verdict (*read)(const receive_route *r, const http_message *m, const receive_opts *o, arena *a,
                    received *out, err *e);
    /* Appends the body of an HTTP response and returns its content type; empty: no body.  `text` is
     * the message of a failure.  May change the status. */
    str (*write)(const receive_route *r, grpc_code code, str text, unsigned *status, buf *body);
};
