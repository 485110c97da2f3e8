/* span/internal.h - the record of a thread, and functions that the parts of the publisher share.
 *
 * This code runs inside other people's programs.  It depends on libc only and does not allocate.
 * Of Kiln's code it uses only base/compiler.h, base/utf8 and arch/. */
#pragma once
#include "base/compiler.h"
#include "kiln/span.h"
#include "span/environment.h"
#include "span/peek.h"
#include <string.h>

/* OTEP 4947: 0 trace-id, 16 span-id, 24 valid, 25 trace-flags, 26 attrs-data-size, 28 entries
 * {u8 key, u8 length, bytes}.  Host byte order, no padding. */
enum {
    RECORD_SPAN_ID = 16,
    RECORD_VALID = 24,
    RECORD_FLAGS = 25,
    RECORD_SIZE = 26,
    RECORD_ATTRS = 28,
};
/* Returns the length of the entries of a record, at most KILN_SPAN_ATTR_BYTES. */
static inline uint16_t record_attrs(const uint8_t *r)
{
    uint16_t n;
    memcpy(&n, r + RECORD_SIZE, sizeof n);
    return n < KILN_SPAN_ATTR_BYTES ? n : KILN_SPAN_ATTR_BYTES;
}
/* Copies the header of a record: ids, flags, the length of the entries. */
static inline void record_take(const uint8_t *r, span_record *out)
{
    uint8_t any = 0;
    memcpy(out->trace_id, r, sizeof out->trace_id);
    memcpy(out->span_id, r + RECORD_SPAN_ID, sizeof out->span_id);
    out->trace_flags = r[RECORD_FLAGS];
    for (unsigned i = 0; i < sizeof out->trace_id; i++) any |= out->trace_id[i];
    out->has_ids = any != 0;
    out->n_attrs = record_attrs(r);
}
_Static_assert(RECORD_ATTRS + KILN_SPAN_ATTR_BYTES == KILN_SPAN_RECORD_BYTES, "header and entries");

/* ---- counters (counters.c) ---- */
typedef enum span_loss {
    LOSS_ATTRS_DROPPED,
    LOSS_ATTRS_CUT,
    LOSS_KEYS_REFUSED,
    LOSS_COUNT
} span_loss;
void span_lost(span_loss what); /* async-signal-safe */

/* ---- names of attributes (keys.c); with the lock held ---- */
size_t span_keys(void);
const char *span_key_name(size_t i);
bool span_has_key(int key); /* without the lock */

/* ---- process (process.c) ---- */
void span_lock(void); /* protects everything that is not thread-local; works after a fork */
void span_unlock(void);
/* Called with the lock held: publishes again if already published.  Returns false, without a
 * change, when the keys do not fit. */
NODISCARD bool span_keys_changed(void);

/* ---- payload (payload.c) ---- */
enum { PAYLOAD_MAX = 64 * 1024 };

typedef struct payload {
    uint8_t *p; /* PAYLOAD_MAX bytes */
    size_t n;
    size_t n_fixed; /* bytes of the caller's attributes; the threadlocal.* attributes follow */
    bool full;
} payload;

/* Builds a ProcessContext with resource and attributes.  Uses `instance_id` unless the caller
 * provides one. */
kiln_span_code payload_make(payload *to, const kiln_span_process *process, const char *instance_id);
/* Appends, after n_fixed, the attributes that describe the thread contexts. */
void payload_put_threads(payload *to);
