/* symbol/module.h - one binary: its index, and the conversion of a process's addresses to
 * addresses of the file. */
#pragma once
#include "objfile/index.h"
#include "symbol/cache.h"
#include "symbol/find.h"

typedef enum module_state {
    MODULE_LINES,     /* functions, lines and inlined calls */
    MODULE_SYMBOLS,   /* a symbol table only */
    MODULE_EXPORTS,   /* exported symbols only */
    MODULE_EMPTY,     /* found, but stripped of all symbols */
    MODULE_MISSING,   /* file not found */
    MODULE_DIFFERS,   /* a file of that name exists, but is another build */
    MODULE_FORBIDDEN, /* no permission to read it */
    MODULE_BROKEN,    /* no index could be built from it */
    MODULE_NO_MAP,    /* code generated at run time, and no perf map of it */
    MODULE_UNNAMED,   /* the profile does not name the mapping */
    MODULE_NO_ID, /* a file of that name exists, but no build id verifies it (find_dirs.proven) */
    MODULE_LATE,  /* not searched: the time limit was reached (module_opts.stop) */
} module_state;

typedef struct module_opts {
    find_dirs dirs;
    const char *kallsyms; /* NULL: /proc/kallsyms if the profile is from the running kernel */
    size_t max_memory;    /* for building an index; 0: 4 GiB */
    /* Limit for use inside another program's process. Debug information that is larger, or needs
     * more than max_memory, is not read (names without lines), and a cached index is not read as a
     * whole. 0: none. */
    size_t max_debug;
    /* Time limit: ends the reading of debug information, which then yields names without lines.
     * NULL: none. */
    stopper *stop;
    uint64_t seed; /* of hash tables; results do not depend on it */
} module_opts;

typedef struct module {
    module_state state;
    char *path, *debug_path; /* NULL: none */
    char gnu[2 * BUILD_ID_BYTES_MAX + 1], go[128],
        htlhash[2 * HTLHASH_BYTES + 1]; /* build ids of the file */
    bool cached;                        /* the index came from the cache */
    bool trusted;                       /* matched by name alone ... */
    bool verified;                      /* ... or verified by build id */
    bool alt_missing; /* a file that dwz created is missing, so some names are missing */
    bool split;       /* names are in .dwo files, which are not read */
    bool absolute;    /* addresses minus `bias` are looked up directly: kernel, perf maps */
    uint64_t bias;
    bool by_debug; /* the segments come from a debug file, whose offsets are meaningless */
    elf_file image;
    index_view index;

    arena a;
    file_bytes stored; /* the index, if mapped or read ... */
    void *made;        /* ... or if built */
} module;

/* Finds the binary and loads or builds its index.  Never fails: `state` is the result. */
void module_open(module *m, const binary_id *id, const module_opts *o, symbol_cache *c);

/* Opens the kernel of the recording. `start` is the address of its code (0: not known) and `ref`
 * the symbol at that address, as perf records it ("_text"). */
void module_open_kernel(module *m, const binary_id *id, uint64_t start, str ref,
                        const module_opts *o, symbol_cache *c);
/* Opens the vDSO, a page of code that the kernel maps into every process. */
void module_open_vdso(module *m, const binary_id *id, const module_opts *o);
/* Opens code that was generated at run time, by the perf map of its runtime.  given: the user
 * named the file.  Otherwise it is a regular file below o->dirs.root, within o->max_memory: the
 * recorded process controls the file at that path. */
void module_open_perf_map(module *m, const char *path, bool given, const module_opts *o);
void module_close(module *m);

typedef struct module_place {
    uint64_t memory_start, memory_limit, file_offset;
} module_place;

/* Converts an address of a process to an address of the file. */
uint64_t module_address(const module *m, const module_place *p, uint64_t address);

/* Returns "lines", "symbols", ... as in the JSON report. */
const char *module_state_name(module_state s);

/* Only for the files of src/symbol: build the index of a symbol list, copy an index, copy the
 * segments. */
NODISCARD bool module_take_symbols(module *m, const symbol_list *l, arena *a);
NODISCARD bool module_store_index(module *m, str block);
void module_take_image(module *m, const elf_file *f);
