/* symbol/symbolize.h - names, files and lines for the addresses of a model. */
#pragma once
#include "model/model.h"
#include "symbol/demangle.h"
#include "symbol/module.h"

/* Modules that stay open from one call to the next, for those who symbolize the same process again and
 * again.  The zero value is an empty one. */
typedef struct module_shelf {
    struct shelved *v; /* least recently used first */
    size_t n;
} module_shelf;

enum { SHELF_MODULES = 64 }; /* at most; what was used least recently is closed */

void shelf_close(module_shelf *s);

typedef struct symbolize_opts {
    module_opts module;
    module_shelf *shelf; /* NULL: modules are closed again */
    bool inside;         /* callers' addresses lie inside their calls already: they are looked up as
                            they are */
    const char *cache_dir; /* NULL: the user's; "": none */
    uint64_t cache_bytes;  /* 0: CACHE_DEFAULT_BYTES */
    const char *perf_map;  /* for all code made at run time; NULL: /tmp/perf-PID.map */
    demangle_mode demangle;
    bool force; /* also locations that have lines */
    /* Called before a binary is looked for; NULL: nobody looks. */
    void (*progress)(void *who, str name);
    void *who;
} symbolize_opts;

/* What became of one binary. */
typedef struct symbolized {
    str name, build_id; /* as the profile has them; build_id may be empty */
    module_state state;
    str path, debug_path; /* what was read; may be empty */
    uint64_t n_locations; /* that wanted names */
    uint64_t n_found;     /* that got them */
    uint64_t n_inlined;   /* of these: with inlined calls */
    uint64_t n_samples;   /* observations with such a location as their innermost frame */
    uint64_t n_nameless;  /* of these: without a name */
    bool kernel;
    bool cached, trusted, verified, alt_missing, split; /* as in module.h */
} symbolized;

typedef struct symbolize_report {
    VEC(symbolized) v; /* in order of first use */
    uint64_t n_locations, n_already, n_found;
    uint64_t n_samples; /* observations with an innermost frame */
    uint32_t cache_hits, cache_written, cache_evicted;
} symbolize_report;

/* Fills the lines of locations that have none, innermost inlined call first, and the build ids of
 * mappings whose files were found.  An address that only ever is a caller is one behind its call: the
 * byte before it is looked up (P-72).  The model stays checked; the report lives in `a`.  ERR_LIMIT at
 * the arena's budget; what is not found is in the report and no error. */
NODISCARD bool symbolize(model *m, const symbolize_opts *o, arena *a, symbolize_report *report,
                         err *e);

/* The one thing to do about a binary that was not or not fully found; NULL: nothing. */
const char *symbolize_advice(const symbolized *s);
