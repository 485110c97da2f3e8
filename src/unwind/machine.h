/* unwind/machine.h - the interpreter of call frame information: DWARF 5, section 6.4.2, and the
 * GNU extensions.
 *
 * It has two users.  The compiler (cfi.c) collects a row at every address where the rule may
 * change; the lookup in a handler (object.c) stops at one address.
 *
 * Pure and safe in signal handlers: the caller guarantees that the bytes are readable. */
#pragma once
#include "objfile/rd.h"
#include "unwind/table.h"

enum { CFI_X86_64 = 62, CFI_AARCH64 = 183 }; /* e_machine */

/* DWARF numbers of the registers that the unwinder follows. */
typedef struct cfi_regs {
    uint8_t sp, fp, third, ra;
} cfi_regs;

/* Returns false for an unsupported processor. */
static inline bool cfi_regs_of(uint16_t machine, cfi_regs *r)
{
    *r = machine == CFI_X86_64 ? (cfi_regs){.sp = 7, .fp = 6, .third = 3, .ra = 16}
                               : (cfi_regs){.sp = 31, .fp = 29, .third = 30, .ra = 30};
    return machine == CFI_X86_64 || machine == CFI_AARCH64;
}

typedef enum cfa_how { CFA_REG, CFA_DEREF, CFA_PLT, CFA_UNKNOWN } cfa_how;

/* Represents an offset that does not fit in 32 bits, which no rule can express. */
#define CFI_FAR INT32_MIN

/* The state at one address.  It is small because a handler has several on its stack. */
typedef struct cfi_state {
    int32_t offset, add; /* offsets of the CFA rule (wide_rule) */
    int32_t fp_at, third_at, ra_at;
    uint8_t how, reg;      /* of the CFA; cfa_how */
    uint8_t stub_at;       /* CFA_PLT: offset in a stub of the first instruction after the push */
    uint8_t fp, third, ra; /* PLACE_* */
} cfi_state;

/* CFI_REMEMBER_MAX: nested remember_state.  gcc and clang use at most two levels; four fit on the
 * stack of a handler. */
enum { CFI_REMEMBER_MAX = 4, CFI_CIE_MAX = 256 };

/* A CIE: the properties that functions have in common. */
typedef struct cfi_cie {
    bool usable, signal, augmented;
    uint8_t encoding;
    uint64_t code_align;
    int64_t data_align;
    cfi_state first; /* the state after the CIE's own program */
} cfi_cie;

typedef struct cfi_machine cfi_machine;

/* Called when the state of `m` is valid from m->loc on. */
typedef void cfi_on_row(cfi_machine *m);

struct cfi_machine {
    const cfi_cie *cie;
    cfi_regs regs;
    bool in_cie; /* runs the program of a CIE, which must not advance */
    bool failed; /* the program is not understood from m->loc on */
    bool done;   /* the state is the one at `until` */
    uint8_t depth;
    uint64_t loc, end; /* addresses of code */
    uint64_t until;    /* without on_row: the address to stop at */
    cfi_on_row *on_row;
    void *ctx; /* for on_row */
    cfi_state now, remembered[CFI_REMEMBER_MAX];
};

/* Runs a program from m->loc on; `address` is the address of its first byte.  With on_row, calls
 * it whenever the program advances and, unless the program failed, at its end.  Without on_row,
 * leaves the state at m->until, unless the program failed. */
void cfi_run(cfi_machine *m, rd program, uint64_t address);

/* Returns the state as a rule.  For RULE_WIDE (with position 0), sets *w to the rule. */
uint32_t cfi_rule_of(const cfi_machine *m, wide_rule *w);

/* Reads one record of .eh_frame.  Sets *body to the bytes after the length.  Returns false at the
 * end or if the record is truncated. */
NODISCARD bool cfi_next_record(rd *r, rd *body);

/* Reads a CIE; `body` begins after its id and is at `address`.  Sets out->usable to false if the
 * CIE is not understood. */
void cfi_read_cie(rd body, uint64_t address, cfi_regs regs, cfi_cie *out);

/* The address range of a function, and its program. */
typedef struct cfi_fde {
    uint64_t start, end;
    rd program;
} cfi_fde;

/* Reads an FDE; `body` begins after the distance to the CIE and is at `address`.  Returns false if
 * the function has no code. */
NODISCARD bool cfi_read_fde(rd body, uint64_t address, const cfi_cie *cie, cfi_fde *out);

/* Reads a value in a DW_EH_PE encoding; `address` is the address of the cursor.  The cursor fails
 * for an unknown encoding. */
uint64_t cfi_pointer(rd *r, uint8_t encoding, uint64_t address);
