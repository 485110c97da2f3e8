/* unwind/table.h - the unwind table of one object: the rule at each code address.  Pure and safe in
 * signal handlers.
 *
 *     rows     {offset of code, rule} in ascending order; a row is valid until the next one begins
 *     buckets  for every 2^shift bytes of code, the first row that begins after the bucket's first byte,
 *              so that a search compares only a few rows
 *     wide     rules that do not fit in a word
 *
 * A rule locates the caller's frame.  CFA (DWARF's term) is the value of the stack pointer in the
 * caller before its call pushed the return address.  In bits:
 *
 *     |28        22|21        15|14              3|2    0|
 *     | third at k | fp at k    | CFA offset / 8  | kind |      k: saved at CFA - 8k, 0: unchanged
 *
 * fp is rbp (x29 on aarch64).  The third register is rbx on x86-64, because the loader's lazy
 * binding keeps its CFA there, and the link register on aarch64.  The return address is at CFA - 8
 * on x86-64 and in the third register on aarch64. */
#pragma once
#include "base/compiler.h"
#include "base/search.h"

enum {
    RULE_NONE,   /* no rule is known */
    RULE_SP,     /* CFA = sp + offset */
    RULE_FP,     /* CFA = fp + offset */
    RULE_THIRD,  /* CFA = third register + offset */
    RULE_SIGNAL, /* sp points to a whole context that the kernel stored */
    RULE_END,    /* the first function of a thread: it has no caller */
    RULE_PLT,    /* CFA = sp + offset, plus 8 from byte k of each 16 on (k is in the bits of fp) */
    RULE_WIDE,   /* bits 3 and up are a position in wide[] */

    RULE_BITS = 29,
    RULE_OFFSET_MAX = 0xfff * 8,
    RULE_K_MAX = 0x7f,
};

static inline uint32_t rule_kind(uint32_t r) { return r & 7; }
static inline uint32_t rule_offset(uint32_t r) { return (r >> 3 & 0xfff) * 8; }
static inline uint32_t rule_fp(uint32_t r) { return r >> 15 & RULE_K_MAX; }
static inline uint32_t rule_third(uint32_t r) { return r >> 22 & RULE_K_MAX; }
static inline uint32_t rule_wide(uint32_t r) { return r >> 3; }

/* Builds a rule.  offset must be a multiple of 8 and at most RULE_OFFSET_MAX; fp and third at most
 * RULE_K_MAX. */
static inline uint32_t rule_make(uint32_t kind, uint32_t offset, uint32_t fp, uint32_t third)
{
    return kind | (offset / 8) << 3 | fp << 15 | third << 22;
}

/* Returns the rule of a RULE_PLT at an address, as RULE_SP. */
static inline uint32_t rule_in_stub(uint32_t r, uint64_t pc)
{
    return rule_make(RULE_SP, rule_offset(r) + ((pc & 15) >= rule_fp(r) ? 8 : 0), 0, 0);
}

/* CFA = reg + offset or, if `deref`, the word stored there + add.  Registers are DWARF numbers;
 * other registers than sp, fp and third are known only in a frame that a signal interrupted. */
typedef struct wide_rule {
    uint8_t reg, deref;
    uint8_t fp, third; /* PLACE_* */
    int32_t offset, add;
    int32_t fp_at, third_at;
} wide_rule;

enum {
    PLACE_SAME,  /* the register is unchanged */
    PLACE_AT,    /* saved at CFA + n */
    PLACE_BY_FP, /* saved at fp + n: realigned stacks */
    PLACE_GONE,  /* undefined; for the return address: no caller.  Only in cfi_state */
    PLACE_OTHER, /* saved in a way that no rule expresses.  Only in cfi_state */
};

typedef struct unwind_row {
    uint32_t pc; /* offset from unwind_table.base */
    uint32_t rule;
} unwind_row;

typedef struct unwind_table {
    uint64_t base;    /* address of offset 0 */
    unwind_row *rows; /* the last one is RULE_NONE, unless the table is empty */
    uint32_t *buckets;
    wide_rule *wide;
    uint32_t n_rows, n_buckets, n_wide;
    uint32_t shift;
} unwind_table;

/* Returns the rule at offset pc of the code.  RULE_PLT is already resolved to RULE_SP. */
static inline uint32_t table_find(const unwind_table *t, uint64_t pc)
{
    uint64_t b = pc >> t->shift;
    if (b + 1 >= t->n_buckets) return RULE_NONE;
    size_t lo = SEARCH(t->buckets[b], t->buckets[b + 1], i, t->rows[i].pc <= pc);
    if (!lo) return RULE_NONE;
    uint32_t r = t->rows[lo - 1].rule;
    return rule_kind(r) == RULE_PLT ? rule_in_stub(r, pc + t->base) : r;
}
