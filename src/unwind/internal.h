/* unwind/internal.h - between the parts of the compiler: cfi.c reads records, cfi_program.c runs their
 * programs, cfi_table.c makes the table. */
#pragma once
#include "unwind/cfi.h"
#include "base/vec.h"
#include "objfile/rd.h"

/* DWARF numbers of the registers that matter. */
typedef struct cfi_regs {
    uint8_t sp, fp, third, ra;
} cfi_regs;

typedef struct place {
    uint8_t how; /* PLACE_* */
    int64_t at;
} place;

typedef enum cfa_how { CFA_REG, CFA_DEREF, CFA_PLT, CFA_UNKNOWN } cfa_how;

/* What holds at one address. */
typedef struct cfi_state {
    cfa_how how;
    uint8_t reg;
    uint8_t stub_at; /* CFA_PLT: the byte of a stub behind its push */
    int64_t offset, add;
    place fp, third, ra;
} cfi_state;

enum { CFI_REMEMBER_MAX = 16, CFI_CIE_MAX = 256 };

/* What functions have in common. */
typedef struct cfi_cie {
    bool usable, signal, augmented;
    uint8_t encoding;
    uint64_t code_align;
    int64_t data_align;
    cfi_state first; /* after its own program */
} cfi_cie;

typedef struct cfi_function {
    uint32_t start, end; /* offsets of code */
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
    cfi_counts n;
} cfi_compiler;

/* The program of a CIE: no rows.  false: not usable. */
NODISCARD bool cfi_run_cie(const cfi_compiler *c, rd program, cfi_cie *cie);

/* The program of a function: adds its rows.  false only at the budget. */
NODISCARD bool cfi_run_function(cfi_compiler *c, rd program, const cfi_cie *cie, cfi_function *f);

/* Rows of functions in order of address, without overlap, with buckets. */
NODISCARD bool cfi_make_table(cfi_compiler *c, unwind_table *out);

/* A value encoded as DW_EH_PE says; `address` is that of the cursor.  Fails the cursor when unknown. */
uint64_t cfi_pointer(rd *r, uint8_t encoding, uint64_t address);
