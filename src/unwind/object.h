/* unwind/object.h - one loaded object (program, library) as the unwinder sees it.
 *
 * Rules are found in the bytes of .eh_frame through the sorted table in .eh_frame_hdr, which all
 * linkers write.  The bytes need not be at their run-time address: `at` is the run-time address of
 * the first byte, so a mapped file can represent an object of another process.  A compiled table
 * (table.h), if there is one, is faster.
 *
 * Safe in signal handlers: nothing here allocates, locks or calls libc. */
#pragma once
#include "unwind/machine.h"
#include <elf.h>
#include <stdatomic.h>

typedef struct unwind_bytes {
    const uint8_t *p; /* address in this process */
    size_t n;
    uint64_t at; /* run-time address of the first byte */
} unwind_bytes;

typedef struct unwind_object {
    uintptr_t lo, hi;                    /* range of its code */
    _Atomic(const unwind_table *) table; /* NULL: not compiled */
    _Atomic uint32_t hits;               /* rules found without a table */
    uint16_t machine;                    /* CFI_* */
    /* May be unloaded at any moment, so the kernel checks each page before it is read. */
    bool unloadable;
    unwind_bytes hdr;    /* .eh_frame_hdr; n = 0: none.  Read on the first lookup */
    unwind_bytes frames; /* the segment with .eh_frame_hdr and .eh_frame */
    unwind_bytes code;   /* its largest executable segment; n = 0: not readable */
    /* .gopclntab (go_table.h), only of objects that are not unloadable; n = 0: none.  `at` is the
     * bias of the object. */
    unwind_bytes go;
} unwind_object;

/* The bytes of an object: its program headers, and its file if it is not mapped at its run-time
 * address. */
typedef struct object_source {
    const Elf64_Phdr *phdr;
    size_t n_phdr;
    uint64_t bias;       /* run-time address - p_vaddr */
    const uint8_t *file; /* NULL: segments are read at their run-time addresses */
    size_t n_file;
    uint16_t machine;
    bool unloadable;
} object_source;

/* Fills *o from the program headers alone.  Returns false if the object has no code. */
NODISCARD bool object_open(const object_source *s, unwind_object *o);

/* The content of .eh_frame_hdr. */
typedef struct object_index {
    unwind_bytes eh_frame; /* up to the end of its segment */
    const uint8_t *search; /* {function, FDE}: 2 x int32, relative to .eh_frame_hdr */
    uint32_t n_search;     /* 0: no sorted table in the common form, so no rules unless compiled */
} object_index;

/* Reads .eh_frame_hdr.  Returns false if it is missing or not understood, or if .eh_frame is not in
 * its segment. */
NODISCARD bool object_read_index(const unwind_object *o, object_index *x);

/* Details of a lookup in addition to the rule. */
typedef struct object_hit {
    wide_rule wide;      /* set if the rule is RULE_WIDE */
    uint64_t start, end; /* range of the function; 0, 0: none */
} object_hit;

/* Returns the rule at run-time address pc in [lo, hi), found by running the function's program.
 * RULE_PLT is already resolved to RULE_SP. */
uint32_t object_rule(const unwind_object *o, uint64_t pc, object_hit *hit);

/* Returns whether n bytes at p, inside the bytes of `o`, are readable.  If o->unloadable, the
 * kernel checks each page. */
NODISCARD bool object_reach(const unwind_object *o, const void *p, size_t n);
