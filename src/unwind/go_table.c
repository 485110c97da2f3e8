/* Reads .gopclntab (debug/gosym and runtime/symtab.go describe it).  All offsets are checked against
 * the bytes, because the file may be damaged. */
#include "unwind/go_table.h"

enum {
    GO_1_18 = -16, /* magic: 0xfffffff0 */
    GO_1_20 = -15, /* a function has one more word before its flags */
    N_FUNCTIONS = 0,
    CODE_START = 2, /* words after the first 8 bytes */
    DELTAS = 6,
    FUNCTIONS = 7,
    HEAD = 8 + 8 * 8,
    ENTRY = 8,
    FUNCTION_SP = 16, /* offsets in the description of a function */
    FUNCTION_FLAGS = 37,
    FUNCTION_MIN = 44,
    FLAG_TOP = 1,
    FLAG_WRITES_SP = 2,
    STEPS_MAX = 1 << 16, /* changes of sp in one function */
};

static uint32_t u32_at(const uint8_t *p)
{
    uint32_t v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

static uint64_t word_of(const unwind_bytes *t, unsigned i)
{
    uint64_t v;
    __builtin_memcpy(&v, t->p + 8 + 8 * (size_t)i, sizeof v);
    return v;
}

bool go_table_readable(const unwind_bytes *t)
{
    if (t->n < HEAD) return false;
    int32_t magic = (int32_t)u32_at(t->p);
    uint64_t functions = word_of(t, FUNCTIONS), n = word_of(t, N_FUNCTIONS);
    return (magic == GO_1_18 || magic == GO_1_20) && !t->p[4] && !t->p[5] && t->p[6] &&
           t->p[7] == 8 && word_of(t, CODE_START) && word_of(t, DELTAS) < t->n &&
           functions <= t->n && n < (t->n - functions) / ENTRY;
}

/* Returns the distance from sp to the return address at `offset` bytes of a function's code; -1: not
 * known. */
static int64_t sp_delta(const unwind_bytes *t, uint64_t at, uint64_t offset)
{
    uint64_t first = word_of(t, DELTAS);
    if (!at || at >= t->n - first) return -1;
    rd r = {.p = t->p + first + at, .end = t->p + t->n};
    uint64_t value = UINT64_MAX, here = 0; /* the first value is relative to -1 */
    for (unsigned i = 0; i < STEPS_MAX; i++) {
        uint64_t change = rd_uleb(&r);
        if (!change && i) return -1; /* the end of the list */
        value += change & 1 ? ~(change >> 1) : change >> 1;
        here += rd_uleb(&r) * t->p[6];
        if (r.failed) return -1;
        if (offset < here) return (int64_t)value;
    }
    return -1;
}

uint32_t go_rule(const unwind_bytes *t, uint64_t pc, object_hit *hit)
{
    uint64_t text = t->at + word_of(t, CODE_START), n = word_of(t, N_FUNCTIONS);
    uint64_t base = word_of(t, FUNCTIONS), offset = pc - text;
    const uint8_t *list = t->p + base;
    if (pc < text) return RULE_NONE;
    /* Entry n is the end of the code. */
    size_t i = SEARCH(0, n + 1, k, u32_at(list + ENTRY * k) <= offset);
    if (!i || i > n) return RULE_NONE;
    uint64_t from = u32_at(list + ENTRY * (i - 1)), at = u32_at(list + ENTRY * (i - 1) + 4);
    if (at > t->n - base || t->n - base - at < FUNCTION_MIN) return RULE_NONE;
    const uint8_t *f = list + at;
    uint8_t flags = f[FUNCTION_FLAGS + ((int32_t)u32_at(t->p) == GO_1_20 ? 4 : 0)];
    hit->start = text + from;
    hit->end = text + u32_at(list + ENTRY * i);
    if (flags & FLAG_TOP) return RULE_END;
    hit->wide = (wide_rule){.reg = GO_SAVED_SP};
    if (flags & FLAG_WRITES_SP) return RULE_WIDE;
    int64_t delta = sp_delta(t, u32_at(f + FUNCTION_SP), offset - from);
    if (delta < 0 || delta % 8 || delta > RULE_OFFSET_MAX - 8) return RULE_NONE;
    /* A function with a frame saves the frame pointer at its end. */
    return rule_make(RULE_SP, (uint32_t)delta + 8, delta ? 2 : 0, 0);
}
