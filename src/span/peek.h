/* span/peek.h - reads the context of the calling thread, whoever published it.
 *
 * span_locate runs outside of handlers and may allocate; span_peek is for a signal handler: plain
 * loads, no lock, no call; span_peek_at reads another thread, which does not run.  Any publisher by OTEP 4947
 * will do: Kiln's own (span.h), an SDK in the program or in a library, also one that was loaded later (locate
 * again then). */
#pragma once
#include "base/compiler.h"
#include "kiln/span.h"

/* Where otel_thread_ctx_v1 lies in every thread. */
typedef struct span_place {
    enum {
        SPAN_NOWHERE, /* nobody has such a variable */
        SPAN_STATIC,  /* at a fixed distance from the thread pointer */
        SPAN_DYNAMIC, /* in the block of a module, which a thread may not have yet */
    } kind;
    int64_t offset; /* from the thread pointer, or in the module's block */
    size_t module;
    bool
        stays; /* nobody can unload whoever has it: what it points to is there as long as the thread */
} span_place;

/* Looks for the variable in everything that is loaded.  Starts a thread for a moment, if there is one, to see
 * whether it is part of every thread.  Calls neither dlopen nor dlsym. */
span_place span_locate(void);

typedef struct span_record {
    uint8_t trace_id[16], span_id[8];
    uint8_t trace_flags;
    bool has_ids;     /* they are not zero */
    uint16_t n_attrs; /* bytes of attrs: {u8 key, u8 length, text} each */
    uint8_t attrs[KILN_SPAN_ATTR_BYTES];
} span_record;

/* The calling thread's record; false: it has none, or is changing it.  Bytes of attrs behind n_attrs
 * are not touched.  A record that claims more than it may hold is cut to what it may.
 * Async-signal-safe.  The pointer of a publisher that stays is trusted, as code in the same process is.  One that can be
 * unloaded may be gone, and something else lie there, before anybody locates again: then the kernel is asked
 * whether the memory can be read, and nonsense may be read but nothing faults. */
NODISCARD bool span_peek(const span_place *at, span_record *out);

/* Reads n bytes at an address of the thread's process; false: they are not there. */
typedef bool (*span_reader)(void *who, uintptr_t at, void *to, size_t n);

/* The same of another thread, by its thread pointer; not for handlers.  The caller knows that the thread does not
 * run: a record that is being changed says so, but not one that changes in between. */
NODISCARD bool span_peek_at(const span_place *at, uintptr_t tp, span_reader read, void *who,
                            span_record *out);
