/* unwind/cfi.h - compiles the call frame information of .eh_frame to an unwind table.  Pure.
 *
 * The DWARF programs of all functions are run once, ahead; what a handler needs of them is the table.
 * Of DWARF expressions three shapes are known: a register and an offset, the word found there and an
 * offset (stacks that were aligned anew, hand-written code of OpenSSL), and the linker's stubs of .plt.
 * Frames of signals are told by their augmentation 'S'.  What is not known becomes RULE_NONE, and the
 * rest of the object is not worse for it. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "unwind/machine.h"
#include "base/arena.h"

typedef struct cfi_source {
    str eh_frame;              /* little-endian; ends with its terminator or its last byte */
    uint64_t address;          /* of its first byte */
    uint64_t text_lo, text_hi; /* addresses of the code; functions outside of it are left out */
    uint16_t machine;
} cfi_source;

typedef struct cfi_counts {
    uint32_t functions; /* in the table */
    uint32_t outside;   /* their code is not in this object's */
    uint32_t unknown;   /* have places that became RULE_NONE */
} cfi_counts;

/* The table lies in the arena.  counts may be NULL.
 * ERR_MALFORMED: the records are not .eh_frame.  ERR_LIMIT: the budget, or more than 4 GiB of code. */
NODISCARD bool cfi_compile(const cfi_source *s, arena *a, unwind_table *out, cfi_counts *counts,
                           err *e);

/* Bytes of .eh_frame up to its terminator, when only the end of its segment is known.  Walks lengths. */
size_t cfi_length(str eh_frame);

/* The address of .eh_frame by .eh_frame_hdr, which lies at `address`; false when it does not say. */
NODISCARD bool cfi_find(str eh_frame_hdr, uint64_t address, uint64_t *eh_frame);
