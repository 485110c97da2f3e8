/* unwind/internal.h - shared by the parts of the compiler: cfi.c reads the records, cfi_table.c
 * builds the table. */
#pragma once
#include "unwind/cfi.h"
#include "base/vec.h"
#include "unwind/machine.h"

typedef struct cfi_function {
    uint32_t start, end; /* offsets in the code */
    uint32_t first_row, n_rows;
} cfi_function;

typedef struct cfi_compiler {
    const cfi_source *s;
    cfi_regs regs;
    arena *a;
    err *e;
    VEC(unwind_row) rows;
    VEC(wide_rule) wide;
    VEC(cfi_function) functions;
    cfi_function *f; /* the function being compiled */
    bool spent;      /* the memory budget is exhausted */
    cfi_counts n;
} cfi_compiler;

/* Builds the table: rows in order of address, without overlap, and buckets. */
NODISCARD bool cfi_make_table(cfi_compiler *c, unwind_table *out);
