/* span/peek.h - reads the context of the calling thread, from any publisher.
 *
 * span_locate runs outside of handlers and may allocate.  span_peek is for a signal handler: plain
 * loads, no lock, no call.  span_peek_at reads another thread, which must not run.  The publisher
 * may be any that follows OTEP 4947: Kiln's own (span.h), or an SDK in the program or in a library,
 * including one that is loaded later (call span_locate again). */
#pragma once
#include "base/compiler.h"
#include "kiln/span.h"

/* Location of otel_thread_ctx_v1 in every thread. */
typedef struct span_place {
    enum {
        SPAN_NOWHERE, /* no such variable exists */
        SPAN_STATIC,  /* at a fixed offset from the thread pointer */
        SPAN_DYNAMIC, /* in the TLS block of a module, which a thread may not have yet */
    } kind;
    int64_t offset; /* from the thread pointer, or in the module's block */
    size_t module;
    bool stays; /* its object cannot be unloaded: the pointer is valid while the thread lives */
} span_place;

/* Searches all loaded objects for the variable.  If it finds one, starts a short-lived thread to
 * see whether every thread has the variable.  Calls neither dlopen nor dlsym. */
span_place span_locate(void);

typedef struct span_record {
    uint8_t trace_id[16], span_id[8];
    uint8_t trace_flags;
    bool has_ids;     /* the ids are not zero */
    uint16_t n_attrs; /* bytes of attrs: entries {u8 key, u8 length, text} */
    uint8_t attrs[KILN_SPAN_ATTR_BYTES];
} span_record;

/* Reads the calling thread's record.  Returns false when the thread has none or is changing it.
 * Does not write attrs beyond n_attrs.  Truncates a record that claims more than the maximum.
 * Async-signal-safe.
 *
 * Trusts the pointer of a publisher that stays loaded, like other code in the process.  Another
 * publisher may be unloaded and its memory reused before span_locate runs again.  In that case a
 * system call checks whether the memory can be read: the result may be wrong, but the read does not
 * fault. */
NODISCARD bool span_peek(const span_place *at, span_record *out);

/* Reads n bytes at an address of the thread's process.  Returns false when they cannot be read. */
typedef bool (*span_reader)(void *ctx, uintptr_t at, void *to, size_t n);

/* Reads the record of another thread, given by its thread pointer.  Must not be called from a
 * signal handler.  The caller must know that the thread does not run: a record that is being
 * changed is recognized, but not one that changes during the read. */
NODISCARD bool span_peek_at(const span_place *at, uintptr_t tp, span_reader read, void *ctx,
                            span_record *out);
