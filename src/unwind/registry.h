/* unwind/registry.h - the loaded objects of this process, for the unwinder.  Signal handlers must
 * not call these functions.
 *
 * registry_refresh() gets the list of objects from the loader (dl_iterate_phdr) and publishes a
 * snapshot of it (snapshot.h).  It reads no .eh_frame and takes microseconds, so a constructor can
 * call it.  Handlers find rules in the mapped .eh_frame on demand (object.h).
 *
 * registry_compile() compiles tables for the objects that handlers use most, within a budget.  It
 * takes up to a second for a large object, so it belongs in a thread of its own.  Tables only make
 * lookups faster.
 *
 * The registry does not keep objects loaded: an object may be dlclose'd at any moment.
 *
 * Only one thread at a time may call these functions. */
#pragma once
#include "base/err.h"
#include "unwind/unwind.h"

typedef struct unwind_registry unwind_registry;

typedef struct registry_opts {
    size_t size; /* sizeof(registry_opts) */
    /* Limit of all tables; 0 means 64 MiB.  Objects that do not fit are looked up on demand. */
    size_t max_bytes;
    /* The program ran before the first refresh, so objects loaded by then may also be unloaded. */
    bool late;
    bool passive; /* handlers do not search for objects loaded after the last refresh */
} registry_opts;

typedef struct registry_counts {
    uint32_t objects; /* objects in the snapshot */
    /* Objects without a compiled table and without .eh_frame or a sorted table in .eh_frame_hdr. */
    uint32_t without;
    uint32_t over_budget; /* hot objects whose table did not fit in max_bytes */
    uint32_t snapshots;   /* snapshots published so far */
    uint32_t waiting;     /* replaced snapshots that a handler may still read */
    uint64_t rows;        /* rows of all tables */
    uint64_t bytes;       /* size of all tables */
    uint32_t compiled;    /* objects that have a table */
} registry_counts;

/* Opens a registry, which is empty until the first refresh.  opts may be NULL.  Returns NULL and
 * sets *e on failure. */
NODISCARD unwind_registry *registry_open(const registry_opts *opts, err *e);

/* The caller must have stopped its timers, and no handler may still run. */
void registry_close(unwind_registry *r);

/* Publishes a new snapshot if objects were loaded or unloaded.  Cheap when nothing changed, so a
 * wrapper of dlclose can call it each time.  When it returns false, the old snapshot stays in
 * use. */
NODISCARD bool registry_refresh(unwind_registry *r, err *e);

enum { REGISTRY_HOT = 1000 }; /* lookups on demand after which an object gets a table */

/* Compiles tables of objects with at least REGISTRY_HOT lookups and no table.  Cheap when there are
 * none.  Returns false when out of memory. */
NODISCARD bool registry_compile(unwind_registry *r, err *e);

/* Compiles tables of all objects, for tests and measurements. */
NODISCARD bool registry_compile_all(unwind_registry *r, err *e);

/* Called in the child of a fork, where handlers of the parent's other threads do not run. */
void registry_forked(unwind_registry *r);

/* Returns the gate for handlers: snapshot_enter(registry_gate(r)). */
unwind_gate *registry_gate(unwind_registry *r);

registry_counts registry_count(const unwind_registry *r);

/* Returns the stack of the calling thread; zero when it is not known.  May allocate, so handlers
 * must not call it.
 * */
unwind_stack unwind_stack_here(void);
