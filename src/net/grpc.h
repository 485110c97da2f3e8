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

const char *grpc_code_name(grpc_code c); /* "UNAVAILABLE"; "UNKNOWN" for invalid codes */
/* Parses grpc-status; invalid text is GRPC_UNKNOWN. */
grpc_code grpc_code_parse(str text);
/* Returns the code for an HTTP status when grpc-status is missing (gRPC's
 * http-grpc-status-mapping). */
grpc_code grpc_code_of_http(unsigned status);

typedef struct grpc_frame {
    bool packed; /* compressed with grpc-encoding */
    str message;
} grpc_frame;

void grpc_put_prefix(uint8_t prefix[GRPC_PREFIX], bool packed, uint32_t n);

/* Reads the next frame and moves *body past it.  Returns false at the end, for a truncated or
 * invalid frame (ERR_MALFORMED), and for a frame whose prefix states more than max bytes
 * (ERR_LIMIT). */
NODISCARD bool grpc_next(str *body, size_t max, grpc_frame *out, err *e);

/* Decodes grpc-message; control characters become spaces.  Writes at most n bytes including the
 * NUL; returns the length. */
size_t grpc_message_text(str encoded, char *out, size_t n);
/* Encodes grpc-message, for servers. */
void grpc_put_message_text(buf *b, str text);

/* Formats grpc-timeout, "10000m": at most eight digits, rounded up. */
void grpc_timeout_text(uint64_t ns, char out[12]);
/* Parses grpc-timeout.  Returns false when it is invalid. */
NODISCARD bool grpc_timeout_parse(str text, uint64_t *ns);
