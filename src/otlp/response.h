/* otlp/response.h - interprets the response of a receiver: accepted, refused, or to be retried, and
 * when.  No I/O. The rules T-01 to T-18 are in docs/spec/transport.md. */
#pragma once
#include "base/err.h"
#include "net/message.h"

typedef enum export_result_kind {
    RESULT_ACCEPTED,
    RESULT_PARTIAL,   /* accepted except for `rejected` items, or completely but with a warning */
    RESULT_RETRY,     /* may be accepted later */
    RESULT_REFUSED,   /* never accepted */
    RESULT_TOO_LARGE, /* refused because of its size */
    RESULT_MISMATCH,  /* sender and receiver are incompatible: TLS, certificates, protocol */
} export_result_kind;

typedef struct export_result {
    export_result_kind kind;
    int64_t rejected; /* items of a partial success */
    /* Items that the receiver had already stored, from the header kiln-duplicates of kiln serve. */
    uint64_t duplicates;
    uint64_t wait;  /* ns that the receiver asks to wait; 0: unspecified */
    char text[256]; /* message of the receiver, or the failure; "" on success */
} export_result;

/* `wall` is the current Unix time in ns, for dates in Retry-After. */
void export_result_of_http(const http_message *m, uint64_t wall, export_result *out);
void export_result_of_grpc(const http_message *m, export_result *out);
/* For a request that got no response. */
void export_result_of_failure(const err *e, export_result *out);

/* Parses Retry-After: seconds, or a date in one of HTTP's three formats.  Sets *wait to ns from
 * now.  Returns false when the text is invalid. */
NODISCARD bool retry_after_parse(str text, uint64_t wall, uint64_t *wait);
