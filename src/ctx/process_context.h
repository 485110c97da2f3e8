/* ctx/process_context.h - what a process says about itself to readers outside (OTEP 4719). */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "ctx/memory.h"
#include "model/model.h"

enum {
    CONTEXT_PAYLOAD_MAX = 64 * 1024, /* as the eBPF profiler has it */
    CONTEXT_TRIES = 100,             /* with a pause of 1 ms after the first three */
    CONTEXT_KEYS = 256,
};

typedef struct process_context {
    str mapping;              /* its name in the map */
    uint64_t address;         /* of the header */
    uint64_t published_at_ns; /* CLOCK_BOOTTIME */
    uint32_t payload_size;
    keyvalues resource, attrs;
    str schema_version; /* threadlocal.schema_version; "" = not said */
    str keys[CONTEXT_KEYS];
    size_t n_keys;         /* threadlocal.attribute_key_map */
    uint32_t n_mappings;   /* that have the name; the OTEP wants one */
    uint32_t n_unreadable; /* of them */
} process_context;

/* Finds and reads it, by the OTEP's protocol; `maps` is the text of /proc/PID/maps.  *found = false:
 * nothing of the name, or no mapping whose header is right (n_mappings says).  ERR_MALFORMED when the
 * payload does not decode, ERR_LIMIT when it is too large, ERR_MISMATCH when it never held still. */
NODISCARD bool process_context_read(const memory *m, str maps, arena *a, process_context *out,
                                    bool *found, err *e);

/* The same where the address is known; `mapping` is left empty.  ERR_MISMATCH also when there is no context. */
NODISCARD bool process_context_read_at(const memory *m, uint64_t address, arena *a,
                                       process_context *out, err *e);

/* Has the process published again since *c was read?  Reads the header alone; false when it cannot. */
bool process_context_changed(const memory *m, const process_context *c);

/* The payload alone.  Pure. */
NODISCARD bool process_context_decode(str payload, arena *a, process_context *out, err *e);
