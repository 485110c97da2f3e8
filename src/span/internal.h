/* span/internal.h - the record of a thread, and what the parts of the publisher share.
 *
 * This room runs inside other people's programs: it needs libc alone, allocates nothing and takes of
 * the tree only base/compiler.h, base/utf8 and, for the reader, unwind/arch.h. */
#pragma once
#include "base/compiler.h"
#include "kiln/span.h"
#include "span/environment.h"

/* OTEP 4947: 0 trace-id, 16 span-id, 24 valid, 25 trace-flags, 26 attrs-data-size, 28 entries
 * {u8 key, u8 length, bytes}.  Host byte order, no padding. */
enum {
    RECORD_SPAN_ID = 16,
    RECORD_VALID = 24,
    RECORD_FLAGS = 25,
    RECORD_SIZE = 26,
    RECORD_ATTRS = 28,
};
_Static_assert(RECORD_ATTRS + KILN_SPAN_ATTR_BYTES == KILN_SPAN_RECORD_BYTES, "header and entries");

/* ---- counters (counters.c) ---- */
typedef enum span_loss {
    LOSS_ATTRS_DROPPED,
    LOSS_ATTRS_CUT,
    LOSS_KEYS_REFUSED,
    LOSS_COUNT
} span_loss;
void span_lost(span_loss what); /* async-signal-safe */

/* ---- names of attributes (keys.c); under the lock ---- */
size_t span_keys(void);
const char *span_key_name(size_t i);
bool span_has_key(int key); /* without the lock */

/* ---- the process (process.c) ---- */
void span_lock(void); /* of everything that is not a thread's own; survives a fork */
void span_unlock(void);
/* Under the lock: publishes again if published.  false: the keys do not fit, all is as it was. */
NODISCARD bool span_keys_changed(void);

/* ---- the payload (payload.c) ---- */
enum { PAYLOAD_MAX = 64 * 1024 };

typedef struct payload {
    uint8_t *p; /* PAYLOAD_MAX bytes */
    size_t n;
    size_t n_fixed; /* of them what the caller said; behind it stand the threadlocal.* attributes */
    bool full;
} payload;

/* Resource and attributes as a ProcessContext.  `instance_id` is used unless the caller has one. */
kiln_span_code payload_make(payload *to, const kiln_span_process *process, const char *instance_id);
/* Behind n_fixed: how to read the threads. */
void payload_put_threads(payload *to);
