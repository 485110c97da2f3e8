/* .eh_frame to a table.  The first byte chooses the processor, the second where the code is. */
#include "unwind/cfi.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x)) abort();                                                                         \
    } while (0)

static void look(const unwind_table *t, const cfi_source *s)
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
    if (cfi_compile(&s, &a, &t, NULL, &e))
        look(&t, &s);
    else
        CHECK(e.code == ERR_MALFORMED || e.code == ERR_LIMIT);
    arena_free(&a);
    return 0;
}
