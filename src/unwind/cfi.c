/* Compiles a whole .eh_frame to an unwind table: walks the records, runs the DWARF program of each
 * function and collects a row wherever the rule changes. cfi_table.c sorts the rows.  Handlers do
 * not call this file; it allocates. */
#include "unwind/internal.h"

#include "base/ban.h"

enum { PE_OMIT = 0xff, PE_INDIRECT = 0x80 };

size_t cfi_length(str s)
{
    rd r = rd_of(s, false), body;
    const uint8_t *start = r.p, *end = start;
    while (cfi_next_record(&r, &body)) end = r.p;
    return (size_t)(end - start);
}

bool cfi_find(str hdr, uint64_t address, uint64_t *eh_frame)
{
    rd r = rd_of(hdr, false);
    uint8_t version = rd_u8(&r), encoding = rd_u8(&r);
    rd_u16(&r); /* encodings of the search table, not needed here */
    if (version != 1 || encoding == PE_OMIT || encoding & PE_INDIRECT) return false;
    *eh_frame = cfi_pointer(&r, encoding, address + 4);
    return !r.failed;
}

static bool spent(cfi_compiler *c)
{
    c->spent = true;
    return err_memory(c->e);
}

/* ---- rows ---- */

static uint32_t add_wide(cfi_compiler *c, const wide_rule *w)
{
    for (size_t i = c->wide.n; i-- > 0 && i + 16 > c->wide.n;) /* neighbours often share a rule */
        if (memcmp(&c->wide.v[i], w, sizeof *w) == 0) return RULE_WIDE | (uint32_t)i << 3;
    if (c->wide.n >= (1u << (RULE_BITS - 3)) - 1) return RULE_NONE;
    wide_rule *slot = vec_push(c->a, &c->wide);
    if (!slot) {
        (void)spent(c);
        return RULE_NONE;
    }
    *slot = *w;
    return RULE_WIDE | (uint32_t)(c->wide.n - 1) << 3;
}

/* Adds a row if the rule changes here. */
static void put_row(cfi_compiler *c, uint64_t at, uint32_t rule)
{
    cfi_function *f = c->f;
    if (f->n_rows) {
        unwind_row *last = &c->rows.v[c->rows.n - 1];
        if (last->pc == at) last->rule = rule;
        if (last->rule == rule) return;
    }
    unwind_row *row = vec_push(c->a, &c->rows);
    if (!row) {
        (void)spent(c);
        return;
    }
    *row = (unwind_row){(uint32_t)at, rule};
    f->n_rows++;
}

static void on_row(cfi_machine *m)
{
    cfi_compiler *c = m->ctx;
    wide_rule w;
    if (m->loc >= m->end) return;
    uint32_t rule = cfi_rule_of(m, &w);
    if (rule == RULE_WIDE) rule = add_wide(c, &w);
    put_row(c, m->loc - c->s->text_lo, rule);
    if (c->spent) m->failed = true;
}

/* ---- records ---- */

static uint64_t address_of(const cfi_compiler *c, const rd *r)
{
    return c->s->address + (uint64_t)(r->p - (const uint8_t *)c->s->eh_frame.p);
}

static bool add_function(cfi_compiler *c, rd r, const cfi_cie *cie)
{
    cfi_fde fde;
    const cfi_source *s = c->s;
    if (!cfi_read_fde(r, address_of(c, &r), cie, &fde) || fde.start < s->text_lo ||
        fde.end > s->text_hi) {
        c->n.outside++;
        return true;
    }
    cfi_function *f = c->f = vec_push(c->a, &c->functions);
    if (!f) return spent(c);
    f->start = (uint32_t)(fde.start - s->text_lo);
    f->end = (uint32_t)(fde.end - s->text_lo);
    f->first_row = (uint32_t)c->rows.n;
    c->n.functions++;
    cfi_machine m = {.cie = cie,
                     .regs = c->regs,
                     .loc = fde.start,
                     .end = fde.end,
                     .on_row = on_row,
                     .ctx = c,
                     .now = cie->first};
    cfi_run(&m, fde.program, address_of(c, &fde.program));
    if (c->spent) return false;
    if (m.failed && m.loc < m.end) put_row(c, m.loc - s->text_lo, RULE_NONE);
    c->n.unknown += m.failed;
    return !c->spent;
}

/* Functions of one CIE mostly follow each other, so the last CIE is cached.  Running a CIE is
 * limited to CFI_CIE_MAX bytes, so records that alternate between CIEs stay linear in their
 * number. */
static bool read_records(cfi_compiler *c)
{
    rd r = rd_of(c->s->eh_frame, false), body;
    cfi_cie cie = {0};
    uint64_t cie_at = UINT64_MAX;
    while (cfi_next_record(&r, &body)) {
        uint64_t here = (uint64_t)(body.p - (const uint8_t *)c->s->eh_frame.p);
        uint32_t back = rd_u32(&body);
        if (body.failed || !back) continue;
        if (back > here)
            return err_at(c->e, ERR_MALFORMED, here, "a function has no CIE before it");
        if (here - back != cie_at) {
            cie_at = here - back;
            rd all = rd_from(c->s->eh_frame, cie_at, false), record;
            cie = (cfi_cie){0};
            if (cfi_next_record(&all, &record) && rd_u32(&record) == 0)
                cfi_read_cie(record, address_of(c, &record), c->regs, &cie);
        }
        if (!cie.usable)
            c->n.unknown++;
        else if (!add_function(c, body, &cie))
            return false;
    }
    return true;
}

bool cfi_compile(const cfi_source *s, arena *a, unwind_table *out, cfi_counts *counts, err *e)
{
    *out = (unwind_table){.base = s->text_lo};
    arena scratch = arena_beside(a);
    cfi_compiler c = {.s = s, .a = &scratch, .e = e};
    if (!cfi_regs_of(s->machine, &c.regs))
        return err_set(e, ERR_UNSUPPORTED, "no unwind tables for ELF machine %u", s->machine);
    if (s->text_hi < s->text_lo || s->text_hi - s->text_lo >= UINT32_MAX)
        return err_set(e, ERR_LIMIT, "more than 4 GiB of code in one object");
    bool ok = read_records(&c);
    c.a = a;
    ok = ok && cfi_make_table(&c, out);
    if (counts) *counts = c.n;
    arena_free(&scratch);
    return ok;
}
