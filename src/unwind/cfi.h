/* unwind/cfi.h - compiles the call frame information of .eh_frame to an unwind table.  Pure.
 *
 * The DWARF programs of all functions run once, ahead of time; handlers need only the table.
 * Three forms of DWARF expressions are supported: a register plus an offset, the word stored there
 * plus an offset (realigned stacks, assembler in OpenSSL), and the linker's expression for stubs
 * of .plt.  The augmentation 'S' marks signal frames.  Any other expression becomes RULE_NONE for
 * its range of code; other ranges are not affected. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "unwind/machine.h"
#include "base/arena.h"

typedef struct cfi_source {
    str eh_frame;              /* little-endian; ends with its terminator or its last byte */
    uint64_t address;          /* address of its first byte */
    uint64_t text_lo, text_hi; /* addresses of the code; functions outside are skipped */
    uint16_t machine;
} cfi_source;

typedef struct cfi_counts {
    uint32_t functions; /* functions in the table */
    uint32_t outside;   /* functions whose code is outside of text_lo .. text_hi */
    uint32_t unknown;   /* functions with ranges that became RULE_NONE */
} cfi_counts;

/* Compiles the table into the arena. counts may be NULL.  Fails with ERR_MALFORMED when the records
 * are not .eh_frame, and with ERR_LIMIT when the budget is exhausted or the object has more than 4
 * GiB of code. */
NODISCARD bool cfi_compile(const cfi_source *s, arena *a, unwind_table *out, cfi_counts *counts,
                           err *e);

/* Returns the length of .eh_frame up to its terminator, for a caller that knows only the end of its
 * segment. */
size_t cfi_length(str eh_frame);

/* Reads the address of .eh_frame from .eh_frame_hdr, which is at `address`.  Returns false when the
 * header does not contain it. */
NODISCARD bool cfi_find(str eh_frame_hdr, uint64_t address, uint64_t *eh_frame);
