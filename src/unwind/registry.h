/* unwind/registry.h - the objects that the loader mapped, for the unwinder.
 *
 * Outside of handlers.  registry_refresh() asks the loader (dl_iterate_phdr) which objects there are and publishes a
 * snapshot of the list (snapshot.h).  It reads no .eh_frame and takes microseconds: a constructor can call it.  Handlers
 * find rules in the mapped .eh_frame on demand (object.h).
 *
 * registry_compile() makes tables of the objects that handlers really use, within a budget.  It takes up to a second for
 * a large object, so it belongs into a thread of its own, if there is one.  Nothing depends on it but speed.
 *
 * Nothing is pinned: an object may be dlclose'd at any moment.
 *
 * One thread at a time may call these; handlers need none of them. */
#pragma once
#include "base/err.h"
#include "unwind/unwind.h"

typedef struct unwind_registry unwind_registry;

typedef struct registry_opts {
    size_t size; /* sizeof(registry_opts) */
    size_t
        max_bytes; /* of all tables; 0 means 64 MiB.  Objects beyond it go without: their rules are found on demand */
    bool
        late; /* the program was running before the first refresh: what is loaded then may be unloaded later */
    bool passive; /* handlers do not look for objects that were loaded after the last refresh */
} registry_opts;

typedef struct registry_counts {
    uint32_t objects; /* in the snapshot */
    uint32_t
        without; /* of these: no .eh_frame, or no sorted table in .eh_frame_hdr, and not compiled */
    uint32_t
        over_budget; /* of these: handlers use them a lot, but their table did not fit max_bytes */
    uint32_t snapshots; /* published so far */
    uint32_t waiting;   /* replaced, and perhaps still looked at */
    uint64_t rows;      /* of all tables */
    uint64_t bytes;     /* of all tables */
    uint32_t compiled;  /* objects that have a table */
} registry_counts;

/* Empty until the first refresh.  NULL: `e` says why.  opts may be NULL. */
NODISCARD unwind_registry *registry_open(const registry_opts *opts, err *e);

/* Handlers must have ended (the caller's timers are off). */
void registry_close(unwind_registry *r);

/* Looks whether objects came or went; if so publishes a new snapshot.  Cheap when nothing changed: a dlclose wrapper can
 * call it each time.  false: the old snapshot still holds. */
NODISCARD bool registry_refresh(unwind_registry *r, err *e);

enum { REGISTRY_HOT = 1000 }; /* rules looked up on demand that make an object worth a table */

/* Compiles tables of objects that handlers met REGISTRY_HOT times without one.  Cheap when there are none.
 * false: no memory. */
NODISCARD bool registry_compile(unwind_registry *r, err *e);

/* The same for all objects, whether or not they were met: for tests and measurements. */
NODISCARD bool registry_compile_all(unwind_registry *r, err *e);

/* In the child of a fork: handlers that were running in other threads of the parent are not here. */
void registry_forked(unwind_registry *r);

/* For handlers: snapshot_enter(registry_door(r)). */
unwind_door *registry_door(unwind_registry *r);

registry_counts registry_count(const unwind_registry *r);

/* The stack of the calling thread; zero when it cannot be told.  Not for handlers: it may allocate. */
unwind_stack unwind_stack_here(void);
