/* unwind/registry.h - the unwind tables of all code that the loader mapped.
 *
 * Outside of handlers: it asks the loader (dl_iterate_phdr) which objects there are, compiles the tables
 * of new ones and publishes a snapshot (snapshot.h).  The loader's lock is held only while .eh_frame is
 * copied, never while it is compiled, and nothing is pinned: an object that is dlclose'd in between is
 * gone, its table stays until no handler looks at it.
 *
 * One thread at a time may call these; handlers need none of them. */
#pragma once
#include "base/err.h"
#include "unwind/unwind.h"

typedef struct unwind_registry unwind_registry;

typedef struct registry_opts {
    size_t size; /* sizeof(registry_opts) */
    size_t
        max_bytes; /* of all tables; 0 means 8 MiB.  Objects beyond it go without (frame pointers) */
} registry_opts;

typedef struct registry_counts {
    uint32_t objects;     /* in the snapshot */
    uint32_t without;     /* of these: no .eh_frame, or not readable as such */
    uint32_t over_budget; /* of these: no table, because max_bytes was reached */
    uint32_t snapshots;   /* published so far */
    uint32_t waiting;     /* replaced, and perhaps still looked at */
    uint64_t rows;        /* of all tables */
    uint64_t bytes;       /* of all tables */
} registry_counts;

/* Empty until the first refresh.  NULL: `e` says why.  opts may be NULL. */
NODISCARD unwind_registry *registry_open(const registry_opts *opts, err *e);

/* Handlers must have ended (the caller's timers are off). */
void registry_close(unwind_registry *r);

/* Looks whether objects came or went; if so publishes a new snapshot.  Cheap when nothing changed.
 * false: the old snapshot still holds. */
NODISCARD bool registry_refresh(unwind_registry *r, err *e);

/* In the child of a fork: handlers that were running in other threads of the parent are not here. */
void registry_forked(unwind_registry *r);

/* For handlers: snapshot_enter(registry_door(r)). */
unwind_door *registry_door(unwind_registry *r);

registry_counts registry_count(const unwind_registry *r);

/* The stack of the calling thread; zero when it cannot be told.  Not for handlers: it may allocate. */
unwind_stack unwind_stack_here(void);
