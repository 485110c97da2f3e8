/* ctx/image.h - an ELF object in the memory of a process: its dynamic symbols and relocations. */
#pragma once
#include "base/str.h"
#include "ctx/memory.h"
#include <elf.h>

enum {
    IMAGE_SEGMENTS = 64,
    IMAGE_DYNAMIC = 1024,                /* maximum entries of the dynamic section */
    IMAGE_RELOCATIONS = 2 * 1024 * 1024, /* maximum to search per table */
    IMAGE_CHAIN = 65536,                 /* maximum symbols compared in one hash chain */
};

typedef struct image {
    str name;
    uint64_t bias; /* address = bias + address in the file */
    bool has_soname;
    bool is_program; /* not a library: its block comes first in every thread's static TLS */
    Elf64_Phdr tls;  /* p_type 0: none */
    uint64_t symbols, strings, strings_size, gnu_hash, hash;
    struct {
        uint64_t at, size;
    } relocations[2]; /* .rela.dyn, .rela.plt */
} image;

/* Reads the object whose first bytes are mapped at `start`.  Returns false when it is not a loaded
 * 64-bit ELF object with dynamic symbols. */
NODISCARD bool image_read(const memory *m, str name, uint64_t start, image *out);

/* Looks up a defined symbol, as the loader does.  Returns false when there is none. */
NODISCARD bool image_symbol(const memory *m, const image *o, const char *name, uint32_t *index,
                            Elf64_Sym *out);

/* Returns whether symbol `index` has this name. */
NODISCARD bool image_is_named(const memory *m, const image *o, uint32_t index, const char *name);

/* Calls `each` for the relocations until it returns true; returns whether it did. */
bool image_relocations(const memory *m, const image *o,
                       bool (*each)(void *ctx, const Elf64_Rela *r), void *ctx);
