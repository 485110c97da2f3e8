/* net/grpc.h - gRPC's part of HTTP/2: frames around messages, status in trailers.  Pure.
 *
 *   frame: [packed? 1 byte | length, 4 bytes big-endian | message] */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

typedef enum grpc_code {
    GRPC_OK = 0,
    GRPC_CANCELLED,
    GRPC_UNKNOWN,
    GRPC_INVALID_ARGUMENT,
    GRPC_DEADLINE_EXCEEDED,
    GRPC_NOT_FOUND,
    GRPC_ALREADY_EXISTS,
    GRPC_PERMISSION_DENIED,
    GRPC_RESOURCE_EXHAUSTED,
    GRPC_FAILED_PRECONDITION,
    GRPC_ABORTED,
    GRPC_OUT_OF_RANGE,
    GRPC_UNIMPLEMENTED,
    GRPC_INTERNAL,
    GRPC_UNAVAILABLE,
    GRPC_DATA_LOSS,
    GRPC_UNAUTHENTICATED,
} grpc_code;

enum { GRPC_PREFIX = 5 };

const char *grpc_code_name(grpc_code c); /* "UNAVAILABLE"; "UNKNOWN" for what is none */
/* The text of grpc-status; what is no number is GRPC_UNKNOWN. */
grpc_code grpc_code_parse(str text);
/* What an HTTP status means when there is no grpc-status (gRPC over HTTP2, http-grpc-status-mapping). */
grpc_code grpc_code_of_http(unsigned status);

typedef struct grpc_frame {
    bool packed; /* compressed as grpc-encoding says */
    str message;
} grpc_frame;

void grpc_put_prefix(uint8_t prefix[GRPC_PREFIX], bool packed, uint32_t n);

/* The next frame of a body, which *body moves past.  false at its end, or when it is cut off or broken
 * (e->code ERR_MALFORMED); more than max bytes: ERR_LIMIT, before they have arrived. */
NODISCARD bool grpc_next(str *body, size_t max, grpc_frame *out, err *e);

/* grpc-message without its percent-encoding; control characters become blanks.  out has room for n bytes
 * and is terminated; returns its length. */
size_t grpc_message_text(str encoded, char *out, size_t n);
/* The same the other way, for servers. */
void grpc_put_message_text(buf *b, str text);

/* "10000m": grpc-timeout of so many ns, at most eight digits, rounded up; at least 12 bytes. */
void grpc_timeout_text(uint64_t ns, char out[12]);
/* ns of grpc-timeout; false: it is none. */
NODISCARD bool grpc_timeout_parse(str text, uint64_t *ns);
