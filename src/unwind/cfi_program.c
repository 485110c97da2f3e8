/* The interpreter of call frame programs.  The compiler runs it over whole functions, and a signal
 * handler up to one address, so it does not allocate or call libc.  A value that a rule cannot
 * express is marked and is not an error, because the following instructions stay valid. */
#include "unwind/machine.h"

enum {
    CFA_NOP = 0x00,
    CFA_SET_LOC,
    CFA_ADVANCE_1,
    CFA_ADVANCE_2,
    CFA_ADVANCE_4,
    CFA_OFFSET_EXTENDED,
    CFA_RESTORE_EXTENDED,
    CFA_UNDEFINED,
    CFA_SAME_VALUE,
    CFA_REGISTER,
    CFA_REMEMBER_STATE,
    CFA_RESTORE_STATE,
    CFA_DEF_CFA,
    CFA_DEF_CFA_REGISTER,
    CFA_DEF_CFA_OFFSET,
    CFA_DEF_CFA_EXPRESSION,
    CFA_EXPRESSION,
    CFA_OFFSET_EXTENDED_SF,
    CFA_DEF_CFA_SF,
    CFA_DEF_CFA_OFFSET_SF,
    CFA_VAL_OFFSET,
    CFA_VAL_OFFSET_SF,
    CFA_VAL_EXPRESSION,
    CFA_NEGATE_RA_STATE = 0x2d, /* aarch64: toggles whether the return address is signed */
    CFA_ARGS_SIZE = 0x2e,
    CFA_NEGATIVE_OFFSET_EXTENDED = 0x2f,
    CFA_ADVANCE = 0x40,
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0,

    OP_DEREF = 0x06,
    OP_PLUS_UCONST = 0x23,
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8f,
};

/* ---- from a state to a rule ---- */

static bool fits32(int64_t v) { return v > CFI_FAR && v <= INT32_MAX; }

static int32_t near(int64_t v) { return fits32(v) ? (int32_t)v : CFI_FAR; }

static bool small_k(uint8_t how, int32_t at, uint32_t *k)
{
    *k = 0;
    if (how == PLACE_SAME) return true;
    if (how != PLACE_AT || at >= 0 || at % 8 || at < -8 * RULE_K_MAX) return false;
    *k = (uint32_t)(-at / 8);
    return true;
}

/* Treats a register that is saved in a way that no rule expresses as unchanged, because the frames
 * of callees are still right. */
static void drop_other(uint8_t *how, int32_t *at)
{
    if (*how == PLACE_AT || *how == PLACE_BY_FP) return;
    *how = PLACE_SAME;
    *at = 0;
}

uint32_t cfi_rule_of(const cfi_machine *m, wide_rule *w)
{
    const cfi_regs *g = &m->regs;
    cfi_state s = m->now;
    bool x86 = g->ra != g->third;
    if (m->cie->signal) return RULE_SIGNAL;
    if (s.ra == PLACE_GONE) return RULE_END;
    if (s.how == CFA_UNKNOWN || s.offset == CFI_FAR || s.add == CFI_FAR) return RULE_NONE;
    if (x86 && (s.ra != PLACE_AT || s.ra_at != -8)) return RULE_NONE;
    if (s.how == CFA_PLT) return rule_make(RULE_PLT, (uint32_t)s.offset, s.stub_at, 0);
    uint32_t kind = s.reg == g->sp             ? RULE_SP
                    : s.reg == g->fp           ? RULE_FP
                    : x86 && s.reg == g->third ? RULE_THIRD
                                               : RULE_NONE;
    uint32_t fp, third;
    drop_other(&s.fp, &s.fp_at);
    drop_other(&s.third, &s.third_at);
    if (s.how == CFA_REG && kind != RULE_NONE && s.offset >= 0 && s.offset <= RULE_OFFSET_MAX &&
        s.offset % 8 == 0 && small_k(s.fp, s.fp_at, &fp) && small_k(s.third, s.third_at, &third))
        return rule_make(kind, (uint32_t)s.offset, fp, third);
    *w = (wide_rule){.reg = s.reg,
                     .deref = s.how == CFA_DEREF,
                     .fp = s.fp,
                     .third = s.third,
                     .offset = s.offset,
                     .add = s.add,
                     .fp_at = s.fp_at,
                     .third_at = s.third_at};
    return RULE_WIDE;
}

/* ---- advancing ---- */

/* Advances to `to`: the current state is valid from m->loc up to there. */
static void advance(cfi_machine *m, uint64_t to)
{
    if (m->in_cie) {
        m->failed = true;
        return;
    }
    if (to <= m->loc) return;
    if (m->on_row)
        m->on_row(m);
    else if (to > m->until)
        m->done = true;
    m->loc = to;
}

static void advance_by(cfi_machine *m, uint64_t n)
{
    uint64_t by, to;
    if (ckd_mul(&by, n, m->cie->code_align) || ckd_add(&to, m->loc, by))
        m->failed = true;
    else
        advance(m, to);
}

/* ---- instructions ---- */

static void set_place(cfi_machine *m, uint64_t reg, uint8_t how, int64_t at)
{
    cfi_state *s = &m->now;
    if (!fits32(at)) how = PLACE_OTHER;
    if (reg == m->regs.fp) s->fp = how, s->fp_at = near(at);
    if (reg == m->regs.third) s->third = how, s->third_at = near(at);
    if (reg == m->regs.ra) s->ra = how, s->ra_at = near(at);
}

static void restore_place(cfi_machine *m, uint64_t reg)
{
    const cfi_state *first = &m->cie->first;
    if (m->in_cie) {
        m->failed = true;
        return;
    }
    if (reg == m->regs.fp) set_place(m, reg, first->fp, first->fp_at);
    if (reg == m->regs.third) set_place(m, reg, first->third, first->third_at);
    if (reg == m->regs.ra) set_place(m, reg, first->ra, first->ra_at);
}

static void save_at(cfi_machine *m, uint64_t reg, int64_t factored)
{
    int64_t at;
    bool odd = ckd_mul(&at, factored, m->cie->data_align);
    set_place(m, reg, odd ? PLACE_OTHER : PLACE_AT, odd ? 0 : at);
}

static void set_cfa(cfi_machine *m, uint64_t reg, int64_t offset)
{
    m->now.how = reg <= UINT8_MAX ? CFA_REG : CFA_UNKNOWN;
    m->now.reg = (uint8_t)reg;
    m->now.offset = near(offset);
    m->now.add = 0;
}

static int64_t scaled(cfi_machine *m, int64_t factored)
{
    int64_t v;
    if (ckd_mul(&v, factored, m->cie->data_align)) m->failed = true;
    return v;
}

static rd block(rd *r)
{
    uint64_t n = rd_uleb(r);
    rd b = *r;
    rd_skip(r, n);
    if (r->failed)
        rd_fail(&b);
    else
        b.end = r->p;
    return b;
}

/* Compares bytes like memcmp, which handlers must not call. */
static bool same(const uint8_t *a, const uint8_t *b, size_t n)
{
    while (n && *a == *b) a++, b++, n--;
    return !n;
}

/* Recognizes the expression that linkers write for .plt: breg7 8, breg16 0, lit15, and, litK, ge,
 * lit3, shl, plus.  A stub is 16 bytes long and pushes one word; K is the offset of the first
 * instruction after the push. */
static bool plt_expression(rd b, cfi_state *s)
{
    static const uint8_t head[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a},
                         tail[] = {0x2a, 0x33, 0x24, 0x22};
    if (rd_left(&b) != sizeof head + 1 + sizeof tail || !same(b.p, head, sizeof head) ||
        !same(b.p + sizeof head + 1, tail, sizeof tail))
        return false;
    uint8_t lit = b.p[sizeof head];
    if (lit < 0x30 || lit > 0x3f) return false;
    s->how = CFA_PLT;
    s->reg = 0;
    s->offset = 8;
    s->add = 0;
    s->stub_at = lit - 0x30;
    return true;
}

static void cfa_expression(cfi_machine *m, rd b)
{
    cfi_state *s = &m->now;
    if (m->regs.ra == 16 && plt_expression(b, s)) return;
    s->how = CFA_UNKNOWN;
    uint8_t op = rd_u8(&b);
    if (op < OP_BREG0 || op > OP_BREG31) return;
    int64_t offset = rd_sleb(&b), add = 0;
    cfa_how how = CFA_REG;
    if (rd_left(&b) && *b.p == OP_DEREF) {
        rd_u8(&b);
        how = CFA_DEREF;
    }
    if (rd_left(&b) && *b.p == OP_PLUS_UCONST) {
        rd_u8(&b);
        add = (int64_t)rd_uleb(&b);
    }
    if (how == CFA_REG && ckd_add(&offset, offset, add)) return;
    s->reg = op - OP_BREG0;
    s->offset = near(offset);
    s->add = how == CFA_REG ? 0 : near(add);
    if (!b.failed && !rd_left(&b)) s->how = (uint8_t)how;
}

static void place_expression(cfi_machine *m, uint64_t reg, rd b)
{
    bool by_fp = rd_u8(&b) == OP_BREG0 + m->regs.fp;
    int64_t at = by_fp ? rd_sleb(&b) : 0;
    set_place(m, reg, by_fp && !b.failed && !rd_left(&b) ? PLACE_BY_FP : PLACE_OTHER, at);
}

static void remember(cfi_machine *m)
{
    if (m->depth == CFI_REMEMBER_MAX)
        m->failed = true;
    else
        m->remembered[m->depth++] = m->now;
}

static void recall(cfi_machine *m)
{
    if (!m->depth)
        m->failed = true;
    else
        m->now = m->remembered[--m->depth];
}

static void step(cfi_machine *m, rd *r, uint64_t address)
{
    uint8_t op = rd_u8(r);
    uint64_t reg;
    switch (op & 0xc0) {
    case CFA_ADVANCE: advance_by(m, op & 0x3f); return;
    case CFA_OFFSET: save_at(m, op & 0x3f, (int64_t)rd_uleb(r)); return;
    case CFA_RESTORE: restore_place(m, op & 0x3f); return;
    default: break;
    }
    switch (op) {
    case CFA_NOP: break;
    case CFA_SET_LOC: advance(m, cfi_pointer(r, m->cie->encoding, address)); break;
    case CFA_ADVANCE_1: advance_by(m, rd_u8(r)); break;
    case CFA_ADVANCE_2: advance_by(m, rd_u16(r)); break;
    case CFA_ADVANCE_4: advance_by(m, rd_u32(r)); break;
    case CFA_OFFSET_EXTENDED:
        reg = rd_uleb(r);
        save_at(m, reg, (int64_t)rd_uleb(r));
        break;
    case CFA_OFFSET_EXTENDED_SF:
        reg = rd_uleb(r);
        save_at(m, reg, rd_sleb(r));
        break;
    case CFA_NEGATIVE_OFFSET_EXTENDED:
        reg = rd_uleb(r);
        save_at(m, reg, (int64_t)(0 - rd_uleb(r)));
        break;
    case CFA_RESTORE_EXTENDED: restore_place(m, rd_uleb(r)); break;
    case CFA_UNDEFINED: set_place(m, rd_uleb(r), PLACE_GONE, 0); break;
    case CFA_SAME_VALUE: set_place(m, rd_uleb(r), PLACE_SAME, 0); break;
    case CFA_REGISTER:
    case CFA_VAL_OFFSET:
    case CFA_VAL_OFFSET_SF: /* the operands have the same length */
        reg = rd_uleb(r);
        rd_uleb(r);
        set_place(m, reg, PLACE_OTHER, 0);
        break;
    case CFA_REMEMBER_STATE: remember(m); break;
    case CFA_RESTORE_STATE: recall(m); break;
    case CFA_DEF_CFA:
        reg = rd_uleb(r);
        set_cfa(m, reg, (int64_t)rd_uleb(r));
        break;
    case CFA_DEF_CFA_SF:
        reg = rd_uleb(r);
        set_cfa(m, reg, scaled(m, rd_sleb(r)));
        break;
    case CFA_DEF_CFA_REGISTER: set_cfa(m, rd_uleb(r), m->now.offset); break;
    case CFA_DEF_CFA_OFFSET: set_cfa(m, m->now.reg, (int64_t)rd_uleb(r)); break;
    case CFA_DEF_CFA_OFFSET_SF: set_cfa(m, m->now.reg, scaled(m, rd_sleb(r))); break;
    case CFA_DEF_CFA_EXPRESSION: cfa_expression(m, block(r)); break;
    case CFA_EXPRESSION:
        reg = rd_uleb(r);
        place_expression(m, reg, block(r));
        break;
    case CFA_VAL_EXPRESSION:
        reg = rd_uleb(r);
        block(r);
        set_place(m, reg, PLACE_OTHER, 0);
        break;
    case CFA_ARGS_SIZE: rd_uleb(r); break;
    case CFA_NEGATE_RA_STATE: break; /* the unwinder strips signatures from every address */
    default: m->failed = true; break;
    }
}

void cfi_run(cfi_machine *m, rd r, uint64_t address)
{
    const uint8_t *start = r.p;
    while (rd_left(&r) && !m->failed && !m->done) {
        step(m, &r, address + (uint64_t)(r.p - start) + 1);
        if (r.failed) m->failed = true;
    }
    if (!m->in_cie && !m->failed && !m->done) advance(m, UINT64_MAX);
}
