/* unwind/machine.h - the interpreter of call frame information: DWARF 5, section 6.4.2, and the GNU additions.
 *
 * One implementation for two users: the compiler (cfi.c) takes a row at every place where the rule may change, the
 * lookup in a handler (lookup.c) stops at one address.
 *
 * Signal room: pure, over bytes that the caller has made sure can be read. */
#pragma once
#include "objfile/rd.h"
#include "unwind/table.h"

enum { CFI_X86_64 = 62, CFI_AARCH64 = 183 }; /* e_machine */

/* DWARF numbers of the registers that matter. */
typedef struct cfi_regs {
    uint8_t sp, fp, third, ra;
} cfi_regs;

/* false: no such processor. */
static inline bool cfi_regs_of(uint16_t machine, cfi_regs *r)
{
    *r = machine == CFI_X86_64 ? (cfi_regs){.sp = 7, .fp = 6, .third = 3, .ra = 16}
                               : (cfi_regs){.sp = 31, .fp = 29, .third = 30, .ra = 30};
    return machine == CFI_X86_64 || machine == CFI_AARCH64;
}

typedef enum cfa_how { CFA_REG, CFA_DEREF, CFA_PLT, CFA_UNKNOWN } cfa_how;

/* Offsets that do not fit 32 bits: no rule can express them. */
#define CFI_FAR INT32_MIN

/* The state at one address.  Small: a handler has several of them on its stack. */
typedef struct cfi_state {
    int32_t offset, add; /* of the CFA */
    int32_t fp_at, third_at, ra_at;
    uint8_t how, reg;      /* of the CFA; cfa_how */
    uint8_t stub_at;       /* CFA_PLT: the byte of a stub behind its push */
    uint8_t fp, third, ra; /* PLACE_* */
} cfi_state;

/* gcc and clang nest two deep at most; 4 is also what a handler can afford. */
enum { CFI_REMEMBER_MAX = 4, CFI_CIE_MAX = 256 };

/* What functions have in common. */
typedef struct cfi_cie {
    bool usable, signal, augmented;
    uint8_t encoding;
    uint64_t code_align;
    int64_t data_align;
    cfi_state first; /* after its own program */
} cfi_cie;

typedef struct cfi_machine cfi_machine;

/* The state of `m` holds from m->loc on. */
typedef void cfi_on_row(cfi_machine *m);

struct cfi_machine {
    const cfi_cie *cie;
    cfi_regs regs;
    bool in_cie; /* its program speaks of no code */
    bool failed; /* not understood from m->loc on */
    bool done;   /* the state is that of `until` */
    uint8_t depth;
    uint64_t loc, end; /* addresses of code */
    uint64_t until;    /* without on_row: where to stop */
    cfi_on_row *on_row;
    void *who; /* for on_row */
    cfi_state now, remembered[CFI_REMEMBER_MAX];
};

/* Runs a program from m->loc on; `address` is that of its first byte.  With on_row: calls it where the code moves on,
 * the last time included unless the program failed.  Without: the state is that of m->until, unless it failed. */
void cfi_run(cfi_machine *m, rd program, uint64_t address);

/* The state as a rule; if it is RULE_WIDE, with position 0, *w says more. */
uint32_t cfi_rule_of(const cfi_machine *m, wide_rule *w);

/* One record of .eh_frame: its body behind the length.  false at the end or when it is cut short. */
NODISCARD bool cfi_next_record(rd *r, rd *body);

/* A CIE: the body behind its id, which lies at `address`.  Not usable when it is not understood. */
void cfi_read_cie(rd body, uint64_t address, cfi_regs regs, cfi_cie *out);

/* Where a function lies, and its program. */
typedef struct cfi_fde {
    uint64_t start, end;
    rd program;
} cfi_fde;

/* A function: the body behind its distance to the CIE, which lies at `address`.  false: it has no code. */
NODISCARD bool cfi_read_fde(rd body, uint64_t address, const cfi_cie *cie, cfi_fde *out);

/* A value encoded as DW_EH_PE says; `address` is that of the cursor.  Fails the cursor when unknown. */
uint64_t cfi_pointer(rd *r, uint8_t encoding, uint64_t address);
