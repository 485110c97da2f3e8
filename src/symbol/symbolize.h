/* symbol/symbolize.h - names, files and lines for the addresses of a model. */
#pragma once
#include "model/model.h"
#include "symbol/demangle.h"
#include "symbol/module.h"

/* Modules that stay open from one call to the next, for callers that symbolize the same process
 * repeatedly.  The zero value is an empty cache. */
typedef struct module_cache {
    struct cached_module *v; /* least recently used first */
    size_t n;
} module_cache;

enum { MODULE_CACHE_MAX = 64 }; /* beyond this the least recently used module is closed */

void module_cache_close(module_cache *s);

typedef struct symbolize_opts {
    module_opts module;
    module_cache *modules; /* NULL: modules are closed at the end of the call */
    bool inside; /* addresses of callers are already inside their calls: look up unchanged */
    const char *cache_dir; /* NULL: the default of the user; "": none */
    uint64_t cache_bytes;  /* 0: CACHE_DEFAULT_BYTES */
    const char *perf_map;  /* for all code generated at run time; NULL: /tmp/perf-PID.map */
    bool perf_map_found;   /* the user did not name it: see module_open_perf_map */
    demangle_mode demangle;
    bool force; /* also replace existing lines */
    /* Called before each binary is searched; may be NULL. */
    void (*progress)(void *ctx, str name);
    void *ctx;
} symbolize_opts;

/* The result for one binary. */
typedef struct symbolized {
    str name, build_id; /* as in the profile; build_id may be empty */
    module_state state;
    str path, debug_path; /* files that were read; may be empty */
    uint64_t n_locations; /* locations without names */
    uint64_t n_found;     /* of these, locations that have a name now */
    uint64_t n_inlined;   /* of these, locations with inlined calls */
    uint64_t n_samples;   /* observations with such a location as their innermost frame */
    uint64_t n_nameless;  /* of these, observations without a name */
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
 * mappings whose files were found. An address that occurs only as a caller is a return address: the
 * byte before it is looked up (P-72). The model stays checked; the report is allocated in `a`.
 * ERR_LIMIT when the budget of the arena is used up. Binaries that are not found are not errors;
 * the report lists them. */
NODISCARD bool symbolize(model *m, const symbolize_opts *o, arena *a, symbolize_report *report,
                         err *e);

/* Returns advice for the user about a binary that was not fully resolved; NULL if there is none. */
const char *symbolize_advice(const symbolized *s);
