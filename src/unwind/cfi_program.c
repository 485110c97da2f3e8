/* Runs the programs of .eh_frame (DWARF 5, section 6.4.2, and the GNU additions). */
#include "unwind/internal.h"

#include "base/ban.h"

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
    CFA_NEGATE_RA_STATE =
        0x2d, /* aarch64: the return address is signed from here on, or no longer */
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

typedef struct machine {
    cfi_compiler *c; /* NULL: a CIE, no rows */
    const cfi_regs *regs;
    const cfi_cie *cie;
    cfi_state now, stack[CFI_REMEMBER_MAX];
    size_t depth;
    uint64_t loc, end; /* offsets of code */
    cfi_function *f;
    bool failed; /* not understood from here on */
    bool spent;  /* the budget */
} machine;

/* ---- a state as a rule ---- */

static bool small_k(place p, uint32_t *k)
{
    *k = 0;
    if (p.how == PLACE_SAME) return true;
    if (p.how != PLACE_AT || p.at >= 0 || p.at % 8 || p.at < -8 * RULE_K_MAX) return false;
    *k = (uint32_t)(-p.at / 8);
    return true;
}

static bool fits32(int64_t v) { return v >= INT32_MIN && v <= INT32_MAX; }

/* Saved where no wide rule can say it: as good as lost, but the frames below it are still known. */
static place known(place p)
{
    bool told = p.how == PLACE_SAME || p.how == PLACE_AT || p.how == PLACE_BY_FP;
    return told && fits32(p.at) ? p : (place){PLACE_SAME, 0};
}

static uint32_t wide_of(machine *m, const cfi_state *s)
{
    cfi_compiler *c = m->c;
    place fp = known(s->fp), third = known(s->third);
    wide_rule w = {.reg = s->reg,
                   .deref = s->how == CFA_DEREF,
                   .fp = fp.how,
                   .third = third.how,
                   .offset = (int32_t)s->offset,
                   .add = (int32_t)s->add,
                   .fp_at = (int32_t)fp.at,
                   .third_at = (int32_t)third.at};
    if (!fits32(s->offset) || !fits32(s->add)) return RULE_NONE;
    for (size_t i = c->wide.n; i-- > 0 && i + 16 > c->wide.n;) /* neighbours are often the same */
        if (memcmp(&c->wide.v[i], &w, sizeof w) == 0) return RULE_WIDE | (uint32_t)i << 3;
    if (c->wide.n >= (1u << (RULE_BITS - 3)) - 1) return RULE_NONE;
    wide_rule *slot = vec_push(c->a, &c->wide);
    if (!slot) {
        m->spent = true;
        return RULE_NONE;
    }
    *slot = w;
    return RULE_WIDE | (uint32_t)(c->wide.n - 1) << 3;
}

static uint32_t rule_of(machine *m, const cfi_state *s)
{
    const cfi_regs *g = m->regs;
    bool x86 = g->ra != g->third;
    if (m->cie->signal) return RULE_SIGNAL;
    if (s->ra.how == PLACE_GONE) return RULE_END;
    if (s->how == CFA_UNKNOWN) return RULE_NONE;
    if (x86 && (s->ra.how != PLACE_AT || s->ra.at != -8)) return RULE_NONE;
    if (s->how == CFA_PLT) return rule_make(RULE_PLT, (uint32_t)s->offset, s->stub_at, 0);
    uint32_t kind = s->reg == g->sp             ? RULE_SP
                    : s->reg == g->fp           ? RULE_FP
                    : x86 && s->reg == g->third ? RULE_THIRD
                                                : RULE_NONE;
    uint32_t fp, third;
    if (s->how == CFA_REG && kind != RULE_NONE && s->offset >= 0 && s->offset <= RULE_OFFSET_MAX &&
        s->offset % 8 == 0 && small_k(known(s->fp), &fp) && small_k(known(s->third), &third))
        return rule_make(kind, (uint32_t)s->offset, fp, third);
    return wide_of(m, s);
}

/* ---- rows ---- */

/* A row where the rule changes. */
static void put_row(machine *m, uint64_t at, uint32_t rule)
{
    cfi_compiler *c = m->c;
    cfi_function *f = m->f;
    if (f->n_rows) {
        unwind_row *last = &c->rows.v[c->rows.n - 1];
        if (last->pc == at) last->rule = rule;
        if (last->rule == rule) return;
    }
    unwind_row *row = vec_push(c->a, &c->rows);
    if (!row) {
        m->spent = true;
        return;
    }
    *row = (unwind_row){(uint32_t)at, rule};
    f->n_rows++;
}

/* Code moves on: what was said so far holds from m->loc. */
static void advance(machine *m, uint64_t to)
{
    if (!m->c) { /* a CIE speaks of no code */
        m->failed = true;
        return;
    }
    if (to <= m->loc) return;
    if (m->loc < m->end) put_row(m, m->loc, rule_of(m, &m->now));
    m->loc = to;
}

static void advance_by(machine *m, uint64_t n)
{
    uint64_t by, to;
    if (ckd_mul(&by, n, m->cie->code_align) || ckd_add(&to, m->loc, by))
        m->failed = true;
    else
        advance(m, to);
}

/* ---- instructions ---- */

static void set_place(machine *m, uint64_t reg, place p)
{
    if (reg == m->regs->fp) m->now.fp = p;
    if (reg == m->regs->third) m->now.third = p;
    if (reg == m->regs->ra) m->now.ra = p;
}

static void restore_place(machine *m, uint64_t reg)
{
    const cfi_state *first = &m->cie->first;
    if (!m->c) m->failed = true;
    if (reg == m->regs->fp) m->now.fp = first->fp;
    if (reg == m->regs->third) m->now.third = first->third;
    if (reg == m->regs->ra) m->now.ra = first->ra;
}

static void save_at(machine *m, uint64_t reg, int64_t factored)
{
    int64_t at;
    place p = {PLACE_AT, 0};
    if (ckd_mul(&at, factored, m->cie->data_align)) p.how = PLACE_ODD;
    p.at = at;
    set_place(m, reg, p);
}

static void set_cfa(machine *m, uint64_t reg, int64_t offset)
{
    m->now.how = reg <= UINT8_MAX ? CFA_REG : CFA_UNKNOWN;
    m->now.reg = (uint8_t)reg;
    m->now.offset = offset;
    m->now.add = 0;
}

static int64_t scaled(machine *m, int64_t factored)
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

/* breg7 8, breg16 0, lit15, and, litK, ge, lit3, shl, plus: what linkers write for .plt.  The stub
 * pushes one word and is 16 bytes long; K is where the push is behind it. */
static bool plt_expression(rd b, cfi_state *s)
{
    static const uint8_t head[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a},
                         tail[] = {0x2a, 0x33, 0x24, 0x22};
    if (rd_left(&b) != sizeof head + 1 + sizeof tail || memcmp(b.p, head, sizeof head) != 0 ||
        memcmp(b.p + sizeof head + 1, tail, sizeof tail) != 0)
        return false;
    uint8_t lit = b.p[sizeof head];
    if (lit < 0x30 || lit > 0x3f) return false;
    *s = (cfi_state){.how = CFA_PLT,
                     .offset = 8,
                     .stub_at = lit - 0x30,
                     .fp = s->fp,
                     .third = s->third,
                     .ra = s->ra};
    return true;
}

static void cfa_expression(machine *m, rd b)
{
    cfi_state *s = &m->now;
    if (m->regs->ra == 16 && plt_expression(b, s)) return;
    s->how = CFA_UNKNOWN;
    uint8_t op = rd_u8(&b);
    if (op < OP_BREG0 || op > OP_BREG31) return;
    s->reg = op - OP_BREG0;
    s->offset = rd_sleb(&b);
    s->add = 0;
    cfa_how how = CFA_REG;
    if (rd_left(&b) && *b.p == OP_DEREF) {
        rd_u8(&b);
        how = CFA_DEREF;
    }
    if (rd_left(&b) && *b.p == OP_PLUS_UCONST) {
        rd_u8(&b);
        s->add = (int64_t)rd_uleb(&b);
    }
    if (how == CFA_REG && ckd_add(&s->offset, s->offset, s->add)) return;
    if (how == CFA_REG) s->add = 0;
    if (!b.failed && !rd_left(&b)) s->how = how;
}

static void place_expression(machine *m, uint64_t reg, rd b)
{
    place p = {PLACE_ODD, 0};
    uint8_t op = rd_u8(&b);
    if (op == OP_BREG0 + m->regs->fp) {
        p = (place){PLACE_BY_FP, rd_sleb(&b)};
        if (b.failed || rd_left(&b)) p.how = PLACE_ODD;
    }
    set_place(m, reg, p);
}

static void remember(machine *m)
{
    if (m->depth == CFI_REMEMBER_MAX)
        m->failed = true;
    else
        m->stack[m->depth++] = m->now;
}

static void recall(machine *m)
{
    if (!m->depth)
        m->failed = true;
    else
        m->now = m->stack[--m->depth];
}

static void step(machine *m, rd *r, uint64_t address)
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
    case CFA_SET_LOC: {
        uint64_t to = m->c ? cfi_pointer(r, m->cie->encoding, address) - m->c->s->text_lo : 0;
        advance(m, to);
        break;
    }
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
    case CFA_UNDEFINED: set_place(m, rd_uleb(r), (place){PLACE_GONE, 0}); break;
    case CFA_SAME_VALUE: set_place(m, rd_uleb(r), (place){PLACE_SAME, 0}); break;
    case CFA_REGISTER:
    case CFA_VAL_OFFSET:
    case CFA_VAL_OFFSET_SF: /* same length of operands */
        reg = rd_uleb(r);
        rd_uleb(r);
        set_place(m, reg, (place){PLACE_ODD, 0});
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
        set_place(m, reg, (place){PLACE_ODD, 0});
        break;
    case CFA_ARGS_SIZE: rd_uleb(r); break;
    case CFA_NEGATE_RA_STATE: break; /* the unwinder strips signatures from every address */
    default: m->failed = true; break;
    }
}

static void run(machine *m, rd r, uint64_t address)
{
    const uint8_t *start = r.p;
    while (rd_left(&r) && !m->failed && !m->spent) {
        step(m, &r, address + (uint64_t)(r.p - start) + 1);
        if (r.failed) m->failed = true;
    }
}

bool cfi_run_cie(const cfi_compiler *c, rd program, cfi_cie *cie)
{
    if (rd_left(&program) > CFI_CIE_MAX) return false;
    machine m = {.regs = &c->regs, .cie = cie, .now = {.how = CFA_UNKNOWN}};
    run(&m, program, 0);
    cie->first = m.now;
    return !m.failed;
}

bool cfi_run_function(cfi_compiler *c, rd program, const cfi_cie *cie, cfi_function *f)
{
    machine m = {.c = c,
                 .regs = &c->regs,
                 .cie = cie,
                 .now = cie->first,
                 .loc = f->start,
                 .end = f->end,
                 .f = f};
    uint64_t address = c->s->address + (uint64_t)(program.p - (const uint8_t *)c->s->eh_frame.p);
    f->first_row = (uint32_t)c->rows.n;
    run(&m, program, address);
    if (!m.failed)
        advance(&m, UINT64_MAX);
    else if (m.loc < m.end)
        put_row(&m, m.loc, RULE_NONE);
    if (m.failed) c->n.unknown++;
    return !m.spent || err_set(c->e, ERR_LIMIT, "the memory budget is spent");
}
