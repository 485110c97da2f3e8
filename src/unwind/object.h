/* unwind/object.h - one object (program, library) as the unwinder sees it.
 *
 * Its rules are found in the bytes of .eh_frame by way of the sorted table in .eh_frame_hdr, which all linkers write.
 * These bytes need not lie where the object runs: `at` is the address that the first byte has at run time, so a mapped
 * file serves for an object of another process.  A compiled table (table.h), once there is one, is faster.
 *
 * Signal room: nothing here allocates, locks or calls libc. */
#pragma once
#include "unwind/machine.h"
#include <elf.h>
#include <stdatomic.h>

typedef struct unwind_bytes {
    const uint8_t *p; /* readable here */
    size_t n;
    uint64_t at; /* run-time address of the first one */
} unwind_bytes;

typedef struct unwind_object {
    uintptr_t lo, hi;                    /* its code */
    _Atomic(const unwind_table *) table; /* NULL: not compiled */
    _Atomic uint32_t hits;               /* rules that were found without a table */
    uint16_t machine;                    /* CFI_* */
    bool ask;            /* may be unloaded at any moment: ask the kernel before a page is read */
    unwind_bytes hdr;    /* .eh_frame_hdr; n = 0: none.  Not read until a rule is looked up */
    unwind_bytes frames; /* the segment that holds it, and .eh_frame */
    unwind_bytes code;   /* its largest executable segment; n = 0: cannot be read */
} unwind_object;

/* Where an object's bytes are: its program headers, and the file if the object is not mapped as it runs. */
typedef struct object_source {
    const Elf64_Phdr *phdr;
    size_t n_phdr;
    uint64_t bias;       /* run-time address - p_vaddr */
    const uint8_t *file; /* NULL: segments are read where they run */
    size_t n_file;
    uint16_t machine;
    bool ask;
} object_source;

/* Fills *o from the program headers alone.  false: it has no code. */
NODISCARD bool object_open(const object_source *s, unwind_object *o);

/* The parts of .eh_frame_hdr. */
typedef struct object_index {
    unwind_bytes eh_frame; /* to the end of its segment */
    const uint8_t *search; /* {function, FDE}: 2 x int32, relative to .eh_frame_hdr */
    uint32_t
        n_search; /* 0: no sorted table of the usual form, so no rules without a compiled table */
} object_index;

/* false: .eh_frame_hdr is missing or not understood, or .eh_frame is not in its segment. */
NODISCARD bool object_read_index(const unwind_object *o, object_index *x);

/* What the lookup found beside the rule. */
typedef struct object_hit {
    wide_rule wide;      /* if the rule is RULE_WIDE */
    uint64_t start, end; /* of the function; 0, 0: none */
} object_hit;

/* The rule at run-time address pc, in [lo, hi), by running the function's program; RULE_PLT is already decided. */
uint32_t object_rule(const unwind_object *o, uint64_t pc, object_hit *hit);

/* May n bytes at p, which lie in bytes of `o`, be read?  Asks the kernel, if o->ask, about each page. */
NODISCARD bool object_reach(const unwind_object *o, const void *p, size_t n);
