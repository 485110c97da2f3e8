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
    bool ask;              /* may be unloaded at any moment: ask the kernel before a page is read */
    uint32_t n_search;     /* functions in the sorted table */
    const uint8_t *search; /* {function, FDE}: 2 x int32, relative to hdr_at */
    uint64_t hdr_at;       /* run-time address of .eh_frame_hdr */
    unwind_bytes frames;   /* .eh_frame, and whatever follows it in its segment */
    unwind_bytes code;     /* [lo, hi) as far as it can be read; n = 0: it cannot */
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

/* Fills *o.  An object whose .eh_frame_hdr is missing or has no sorted table gets n_search = 0: no rules, until it is
 * compiled (if frames.n) .  false: it has no code. */
NODISCARD bool object_open(const object_source *s, unwind_object *o);

/* What the lookup found beside the rule. */
typedef struct object_hit {
    wide_rule wide;      /* if the rule is RULE_WIDE */
    uint64_t start, end; /* of the function; 0, 0: none */
} object_hit;

/* The rule at run-time address pc, in [lo, hi), by running the function's program; RULE_PLT is already decided. */
uint32_t object_rule(const unwind_object *o, uint64_t pc, object_hit *hit);

/* May n bytes at p, which lie in bytes of `o`, be read?  Asks the kernel, if o->ask, about each page. */
NODISCARD bool object_reach(const unwind_object *o, const void *p, size_t n);
