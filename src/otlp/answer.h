/* otlp/answer.h - what a receiver's answer means: kept, refused, or to be tried again, and when.  Pure.
 * The rules are T-01 to T-14 of the specification's notes (docs/exporter.md has the table). */
#pragma once
#include "base/err.h"
#include "net/message.h"

typedef enum answer_kind {
    ANSWER_ACCEPTED,
    ANSWER_PARTIAL,   /* taken, but for `rejected` items; or all of it, with a word of warning */
    ANSWER_RETRY,     /* may be taken later */
    ANSWER_REFUSED,   /* never will be */
    ANSWER_TOO_LARGE, /* refused for its size */
    ANSWER_MISFIT,    /* the two cannot talk as they are set up */
} answer_kind;

typedef struct answer {
    answer_kind kind;
    int64_t rejected; /* items of a partial success */
    uint64_t
        duplicates; /* items that the receiver had already, as kiln serve says (kiln-duplicates) */
    uint64_t wait;  /* ns that the receiver asks us to wait; 0: it does not say */
    char text[256]; /* one sentence: the receiver's words, or what happened; "" when all is well */
} answer;

/* `wall`: ns since 1970 now, for Retry-After dates. */
void answer_of_http(const http_message *m, uint64_t wall, answer *out);
void answer_of_grpc(const http_message *m, answer *out);
/* No answer came. */
void answer_of_failure(const err *e, answer *out);

/* Retry-After: seconds, or a date of any of HTTP's three forms; ns from now on.  false: neither. */
NODISCARD bool retry_after_parse(str text, uint64_t wall, uint64_t *wait);
