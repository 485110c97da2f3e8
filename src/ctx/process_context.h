/* ctx/process_context.h - the context that a process publishes for external readers (OTEP 4719). */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "ctx/memory.h"
#include "model/model.h"

enum {
    CONTEXT_PAYLOAD_MAX = 64 * 1024, /* the limit of the eBPF profiler */
    CONTEXT_TRIES = 100,             /* attempts, with a pause of 1 ms after the first three */
    CONTEXT_KEYS = 256,
};

typedef struct process_context {
    str mapping;              /* name of the mapping */
    uint64_t address;         /* address of the header */
    uint64_t published_at_ns; /* CLOCK_BOOTTIME */
    uint32_t payload_size;
    keyvalues resource, attrs;
    str schema_version; /* threadlocal.schema_version; "": missing */
    str keys[CONTEXT_KEYS];
    size_t n_keys;         /* threadlocal.attribute_key_map */
    uint32_t n_mappings;   /* number of mappings with that name; the OTEP requires one */
    uint32_t n_unreadable; /* number of those that cannot be read */
} process_context;

/* Finds and reads the context with the protocol of the OTEP; `maps` is the text of /proc/PID/maps.
 * Sets *found to false when no mapping has the name, or none has a valid header (see n_mappings).
 * Fails with ERR_MALFORMED when the payload cannot be decoded, ERR_LIMIT when it is too large, and
 * ERR_MISMATCH when it changed during each attempt. */
NODISCARD bool process_context_read(const memory *m, str maps, arena *a, process_context *out,
                                    bool *found, err *e);

/* Reads the context at a known address; `mapping` stays empty.  Also fails with ERR_MISMATCH when
 * there is no context. */
NODISCARD bool process_context_read_at(const memory *m, uint64_t address, arena *a,
                                       process_context *out, err *e);

/* Returns whether the process has published again since *c was read.  Reads only the header;
 * returns false when it cannot be read. */
bool process_context_changed(const memory *m, const process_context *c);

/* Decodes a payload.  Pure. */
NODISCARD bool process_context_decode(str payload, arena *a, process_context *out, err *e);
