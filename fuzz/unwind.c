/* Compiles .eh_frame to a table and compares it with rules that are looked up on demand. The first
 * byte chooses the processor; the second the address of the code, and whether the bytes are also
 * used as a whole segment that starts with .eh_frame_hdr. */
#include "unwind/cfi.h"
#include "unwind/go_table.h"
#include "unwind/object.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x)) abort();                                                                         \
    } while (0)

static void check_table(const unwind_table *t, const cfi_source *s)
{
    uint64_t span = s->text_hi - s->text_lo;
    CHECK(t->n_buckets <= t->n_rows + 2);
    for (uint32_t i = 0; i < t->n_rows; i++) {
        const unwind_row *r = &t->rows[i];
        CHECK(r->pc <= span && (!i || t->rows[i - 1].pc < r->pc));
        CHECK(!i || t->rows[i - 1].rule != r->rule);
        CHECK(rule_kind(r->rule) != RULE_WIDE || rule_wide(r->rule) < t->n_wide);
        if (i >= 512) continue;
        uint32_t found = table_find(t, r->pc);
        CHECK(found == r->rule || rule_kind(r->rule) == RULE_PLT);
        uint32_t before = r->pc ? table_find(t, r->pc - 1) : RULE_NONE;
        CHECK(before == (i ? t->rows[i - 1].rule : RULE_NONE) ||
              rule_kind(t->rows[i - 1].rule) == RULE_PLT);
    }
    if (t->n_rows) CHECK(t->rows[t->n_rows - 1].rule == RULE_NONE);
    CHECK(table_find(t, span + 1) == RULE_NONE && table_find(t, UINT64_MAX) == RULE_NONE);
    for (uint32_t i = 0; i < t->n_wide; i++)
        CHECK(t->wide[i].fp <= PLACE_BY_FP && t->wide[i].third <= PLACE_BY_FP);
}

/* ---- on demand ---- */

enum { FUNCTIONS = 64 };

typedef struct range {
    uint64_t start, end, at; /* at: address of its record */
} range;

/* Lists the functions of .eh_frame as lookups find them. Invalid ones are skipped; returns 0 when
 * there are too many. */
static size_t functions_of(const cfi_source *s, range *out)
{
    rd r = rd_of(s->eh_frame, false), body;
    const uint8_t *base = r.p;
    size_t n = 0;
    cfi_regs regs;
    CHECK(cfi_regs_of(s->machine, &regs));
    for (uint64_t at = 0; cfi_next_record(&r, &body); at = (uint64_t)(r.p - base)) {
        uint64_t here = (uint64_t)(body.p - base);
        uint32_t back = rd_u32(&body);
        cfi_cie cie = {0};
        cfi_fde f;
        if (body.failed || !back || back > here) continue;
        rd all = rd_from(s->eh_frame, here - back, false), record;
        if (!cfi_next_record(&all, &record) || rd_u32(&record) != 0) continue;
        cfi_read_cie(record, s->address + (uint64_t)(record.p - base), regs, &cie);
        if (!cie.usable || !cfi_read_fde(body, s->address + here + 4, &cie, &f)) continue;
        if (f.start < s->text_lo || f.end > s->text_hi) continue;
        if (n == FUNCTIONS) return 0; /* too many to compare */
        out[n++] = (range){f.start, f.end, s->address + at};
    }
    return n;
}

/* Whether no other function begins between the start of f[i] and pc. In the table, such a function
 * would end f[i]. */
static bool alone(const range *f, size_t n, size_t i, uint64_t pc)
{
    for (size_t k = 0; k < n; k++)
        if (k != i && f[k].start >= f[i].start && f[k].start <= pc) return false;
    return true;
}

static bool same(const unwind_table *t, uint32_t table, uint32_t rule, const wide_rule *w)
{
    if (rule_kind(table) != RULE_WIDE) return table == rule;
    return rule_kind(rule) == RULE_WIDE && memcmp(&t->wide[rule_wide(table)], w, sizeof *w) == 0;
}

/* Compares table and lookup for each function, with an .eh_frame_hdr for that function only, so
 * that the sorted table of all functions does not matter. */
static void compare(const unwind_table *t, const cfi_source *s, const range *f, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t hdr_at = f[i].start & ~UINT64_C(15);
        int32_t words[5] = {0x3b031b01, 0, 1, (int32_t)(f[i].start - hdr_at),
                            (int32_t)(f[i].at - hdr_at)};
        words[1] = (int32_t)(s->address - hdr_at - 4);
        if ((int64_t)(f[i].at - hdr_at) != words[4] ||
            (int64_t)(s->address - hdr_at - 4) != words[1])
            continue;
        unwind_object o = {.lo = s->text_lo,
                           .hi = s->text_hi,
                           .machine = s->machine,
                           .hdr = {(const uint8_t *)words, sizeof words, hdr_at},
                           .frames = {(const uint8_t *)s->eh_frame.p, s->eh_frame.n, s->address}};
        uint64_t at[] = {f[i].start, f[i].end - 1, f[i].start + (f[i].end - f[i].start) / 2};
        for (size_t k = 0; k < 3; k++) {
            object_hit hit = {0};
            if (!alone(f, n, i, at[k])) continue;
            uint32_t rule = object_rule(&o, at[k], &hit);
            CHECK(hit.start == f[i].start && hit.end == f[i].end);
            CHECK(same(t, table_find(t, at[k] - t->base), rule, &hit.wide));
        }
    }
}

/* Uses arbitrary bytes as .eh_frame_hdr and .eh_frame. */
static void read_arbitrary(const uint8_t *data, size_t n, uint16_t machine)
{
    unwind_object o = {.lo = 0x1000,
                       .hi = 0x21000,
                       .machine = machine,
                       .hdr = {data, n, 0x1000},
                       .frames = {data, n, 0x1000}};
    object_index x;
    (void)!object_read_index(&o, &x);
    for (uint64_t pc = 0x1000; pc < 0x21000; pc += 0x7ff) {
        object_hit hit = {0};
        uint32_t rule = object_rule(&o, pc, &hit);
        CHECK(rule_kind(rule) != RULE_PLT && (!hit.end || (pc >= hit.start && pc < hit.end)));
    }
}

static void read_go(const uint8_t *p, size_t n)
{
    unwind_bytes t = {p, n, 0};
    if (!go_table_readable(&t)) return;
    uint64_t text;
    object_hit hit;
    memcpy(&text, p + 24, sizeof text);
    for (uint64_t at = 0; at < 256; at++) {
        uint32_t rule = go_rule(&t, text + at * at, &hit);
        CHECK(rule == RULE_NONE || rule == RULE_END || rule == RULE_WIDE ||
              rule_kind(rule) == RULE_SP);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n < 2) return 0;
    arena a = {.budget = 64 << 20};
    err e = {0};
    unwind_table t;
    uint64_t lo = data[1] & 1 ? 0 : 0x401000;
    cfi_source s = {{(const char *)data + 2, n - 2},
                    data[1] & 2 ? 0x402000 : 0,
                    lo,
                    lo + (data[1] & 4 ? 0xfffffff0 : 0x10000),
                    data[0] & 1 ? CFI_AARCH64 : CFI_X86_64};
    uint64_t at;
    (void)!cfi_find(s.eh_frame, s.address, &at);
    CHECK(cfi_length(s.eh_frame) <= s.eh_frame.n);
    if (data[1] & 8) read_arbitrary(data + 2, n - 2, s.machine);
    if (data[1] & 16) read_go(data + 2, n - 2);
    if (cfi_compile(&s, &a, &t, NULL, &e)) {
        range f[FUNCTIONS];
        check_table(&t, &s);
        compare(&t, &s, f, functions_of(&s, f));
    } else
        CHECK(e.code == ERR_MALFORMED || err_exhausted(&e));
    arena_free(&a);
    return 0;
}
