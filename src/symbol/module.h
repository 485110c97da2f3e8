/* symbol/module.h - one binary, its index, and how addresses of a process become its own. */
#pragma once
#include "objfile/index.h"
#include "symbol/cache.h"
#include "symbol/find.h"

typedef enum module_state {
    MODULE_LINES,     /* functions, lines and inlined calls */
    MODULE_SYMBOLS,   /* a symbol table only */
    MODULE_EXPORTS,   /* only the symbols that other files may use */
    MODULE_EMPTY,     /* found, and stripped of everything */
    MODULE_MISSING,   /* no such file here */
    MODULE_DIFFERS,   /* a file of that name, but another build */
    MODULE_FORBIDDEN, /* we may not read it */
    MODULE_BROKEN,    /* no index could be made of it */
    MODULE_NO_MAP,    /* code made at run time, and no perf map of it */
    MODULE_UNNAMED,   /* nothing says what was mapped there */
    MODULE_NO_ID, /* a file of that name, and no build id that would prove it (find_dirs.proven) */
    MODULE_LATE,  /* not looked for: the time was up (module_opts.stop) */
} module_state;

typedef struct module_opts {
    find_dirs dirs;
    const char *kallsyms; /* NULL: /proc/kallsyms where the profile is of the running kernel */
    size_t max_memory;    /* for making an index; 0: 4 GiB */
    size_t max_debug; /* inside somebody else's process: debug information of more bytes, or that
                             max_memory is not enough for, is left aside (names, no lines), and a stored
                             index is not read as a whole; 0: no such limit */
    /* Somebody waits: ends long work on debug information, which then gives names and no lines.  NULL: it takes all the time. */
    stopper *stop;
    uint64_t seed; /* of hash tables; nothing that is made depends on it */
} module_opts;

typedef struct module {
    module_state state;
    char *path, *debug_path;                                                       /* NULL: none */
    char gnu[2 * BUILD_ID_BYTES_MAX + 1], go[128], htlhash[2 * HTLHASH_BYTES + 1]; /* of the file */
    bool cached;      /* the index came from the cache */
    bool trusted;     /* taken by its name alone ... */
    bool verified;    /* ... or because a build id says it is what ran */
    bool alt_missing; /* a file that dwz made is missing: some names are */
    bool split;       /* names are in .dwo files, which are not read */
    bool absolute;    /* addresses are taken as they are, less `bias`: kernel, perf maps */
    uint64_t bias;
    bool by_debug; /* the segments are those of a debug file, whose offsets say nothing */
    elf_file image;
    index_view index;

    arena a;
    file_bytes stored; /* the index: mapped or read ... */
    void *made;        /* ... or built */
} module;

/* Finds, reads or builds.  Never fails: `state` says what came of it. */
void module_open(module *m, const binary_id *id, const module_opts *o, symbol_cache *c);

/* The kernel that was running: `start` is where its code began (0: not known) and `ref` the symbol
 * that is there, as perf names it ("_text"). */
void module_open_kernel(module *m, const binary_id *id, uint64_t start, str ref,
                        const module_opts *o, symbol_cache *c);
/* The page of code that the kernel gives every process. */
void module_open_vdso(module *m, const binary_id *id, const module_opts *o);
/* Code made at run time, as its maker listed it. */
void module_open_perf_map(module *m, const char *path);
void module_close(module *m);

typedef struct module_place {
    uint64_t memory_start, memory_limit, file_offset;
} module_place;

/* An address of a process as an address of the file. */
uint64_t module_address(const module *m, const module_place *p, uint64_t address);

/* "lines", "symbols", ... as the JSON report has it. */
const char *module_state_name(module_state s);

/* For the files of this room: the index of a list, a copy of an index, a copy of the segments. */
NODISCARD bool module_take_symbols(module *m, const symbol_list *l, arena *a);
NODISCARD bool module_keep_index(module *m, str block);
void module_take_image(module *m, const elf_file *f);
