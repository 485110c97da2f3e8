/* otlp/receive.h - what a sender asks for, read and answered in its own protocol.  No socket, store or clock.
 *
 *   http_message ─ receive_route_of ─► which service, how packed
 *                ─ receive_read ─────► one model (any layout, OTLP/JSON, pprof, Splunk's logs, any file format), what was rejected
 *   verdict ────── receive_answer ───► gRPC: message, status and RetryInfo in trailers; HTTP: Export…Response or google.rpc.Status
 *
 * The bytes decide what they are, never the path: /v1/profiles may carry pprof, a v1experimental package today's layout. */
#pragma once
#include "base/arena.h"
#include "format/format.h"
#include "net/grpc.h"
#include "net/message.h"
#include "wire/otlp_sift.h"

typedef enum receive_kind {
    RECEIVE_PROFILES,
    RECEIVE_LOGS,
    RECEIVE_UPLOAD, /* POST /upload: a file of any format */
} receive_kind;

typedef struct receive_route {
    receive_kind kind;
    bool grpc;
    bool json;           /* HTTP: the answer is JSON too */
    const char *package; /* "v1development" as the path has it; "" for /upload */
} receive_route;

/* false: the path is none of ours. */
bool receive_route_of(const http_message *m, receive_route *out);
/* A gRPC service of ours: "opentelemetry.proto.collector.profiles.v1development.ProfilesService". */
bool receive_has_service(str name);

/* A request for something that Kiln does not have: any gRPC method that is none of ours, or another signal of OTLP (/v1/metrics,
 * /v1/traces).  *out is how to answer it, *why what to tell its sender. */
bool receive_is_unknown(const http_message *m, receive_route *out, const char **why);

typedef enum verdict {
    VERDICT_TAKEN,
    VERDICT_MALFORMED,   /* 400, INVALID_ARGUMENT: the bytes */
    VERDICT_METHOD,      /* 405, UNIMPLEMENTED */
    VERDICT_MEDIA,       /* 415, UNIMPLEMENTED: content type or coding */
    VERDICT_TOO_LARGE,   /* 413, RESOURCE_EXHAUSTED without RetryInfo: never will fit */
    VERDICT_PRESSED,     /* 429, RESOURCE_EXHAUSTED with RetryInfo: later */
    VERDICT_UNAVAILABLE, /* 503, UNAVAILABLE with RetryInfo: the disk is full, we are going away */
    VERDICT_UNAUTHENTICATED, /* 401, UNAUTHENTICATED: no token, or none that may send */
    VERDICT_FOREIGN,         /* 403, PERMISSION_DENIED: a web page of somebody else sends */
    VERDICT_LATE,            /* 504, DEADLINE_EXCEEDED: the sender's own deadline has passed */
    VERDICT_UNKNOWN,         /* 404, UNIMPLEMENTED: no such method or signal here */
} verdict;

enum { RECEIVE_TEXT = 1024 };

/* Why a profile or a log record was rejected: an otlp_fault, or one of these. */
enum { RECEIVE_NOT_A_CALL_STACK = OTLP_FAULT_COUNT, RECEIVE_UNREADABLE_RECORD, RECEIVE_REASONS };
const char *receive_reason_name(size_t reason); /* "index": a label of metrics */

typedef struct received {
    document doc; /* the model is doc.model; no profile: nothing to keep */
    str payload; /* the message without gRPC's frame and compression, and without what was rejected */
    size_t n_items;                      /* profiles, or log records */
    size_t n_rejected;                   /* of these, reported in the partial success */
    size_t rejected_by[RECEIVE_REASONS]; /* they add up to n_rejected */
    bool
        sift; /* VERDICT_MALFORMED under no_sift: some profiles may be valid, read it again without */
    char why[RECEIVE_TEXT];
    char recognised
        [48]; /* "otlp 1.9", "otlp-json", "pprof", "splunk-logs": our words, no sender's */
    char
        damage[RECEIVE_TEXT]; /* of an upload: what was left out of the file; empty: it was whole */
    /* Of an upload, so that whoever sent it can find it: */
    uint64_t n_duplicates; /* profiles that were stored before: the store says so later */
    char service[96];      /* service.name of its first resource; empty: none, or a longer one */
    uint64_t first, last;  /* Unix ns around what was measured; 0: it does not say when */
} received;

typedef struct receive_opts {
    size_t max_message; /* bytes after decompression; 0: 256 MiB */
    ledger *ledger;     /* what could not be carried; may be NULL */
    uint64_t arrival; /* Unix ns now, for recordings that have no date of their own; 0: not known */
    bool
        no_sift; /* do not look for the valid profiles of a request that breaks a rule, which takes ten times as long as reading it:
                     `sift` of the result is set instead */
} receive_opts;

/* Reads the request.  A profile that breaks a rule does not fail it: the others are read and `why` has counts and reasons, with
 * n_rejected 0 when only unused entries of the dictionary are broken.  Of a damaged file (/upload) the whole parts are read, and
 * `damage` says what was left out.  Memory is the arena's, its budget a limit too, strings view m->body.  Anything but
 * VERDICT_TAKEN: `e` says why.
 *
 * Recordings whose clock does not count from 1970 are dated (wire/anchor.h): /upload?time_anchor=TIME says when it began,
 * ?modified=TIME when the file was last written, and otherwise o->arrival counts. */
NODISCARD verdict receive_read(const receive_route *r, const http_message *m, const receive_opts *o,
                               arena *a, received *out, err *e);

/* The message of a unary gRPC call, at most max bytes, without its frame and compression. */
NODISCARD verdict receive_open_grpc(const http_message *m, size_t max, arena *a, str *out, err *e);

/* ---- answers ---- */

typedef struct receive_reply {
    unsigned status;
    buf body;
    http_header head[4], trailers[4];
    size_t n_head, n_trailers;
    char grpc_status[4], retry_after[16], duplicates[24];
    buf text, details; /* behind trailers */
} receive_reply;

/* `got` of VERDICT_TAKEN, otherwise `why`; retry_ns of PRESSED and UNAVAILABLE.  The head says what was recognised,
 * `kiln-recognised: otlp 1.10`, which views `got`, and how many profiles were stored before, `kiln-duplicates: 2`.  Free with receive_reply_free. */
void receive_answer(const receive_route *r, verdict v, const received *got, const err *why,
                    uint64_t retry_ns, receive_reply *out);
void receive_reply_free(receive_reply *r);
