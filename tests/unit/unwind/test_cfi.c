#include "support/test.h"

#include "unwind/cfi.h"

/* Builds records of .eh_frame as assemblers do, at address 0x1000; the code is [0x10000, 0x20000).
 */
enum { FRAMES_AT = 0x1000, TEXT_LO = 0x10000, TEXT_HI = 0x20000 };

static void put_u32(buf *b, uint32_t v) { buf_put(b, &v, 4); }

static void patch_u32(buf *b, size_t at, uint32_t v) { memcpy((char *)b->p + at, &v, 4); }

static size_t open_record(buf *b, uint32_t id)
{
    size_t at = b->n;
    put_u32(b, 0);
    put_u32(b, id);
    return at;
}

static void close_record(buf *b, size_t at)
{
    while (b->n % 4) buf_put(b, "", 1);
    patch_u32(b, at, (uint32_t)(b->n - at - 4));
}

/* "zR" or "zRS", code alignment 1, data alignment -8, encoding pcrel sdata4. */
static size_t put_cie(buf *b, const char *letters, char ra, const char *program, size_t n)
{
    size_t at = open_record(b, 0);
    buf_put(b, "\1", 1);
    buf_put(b, letters, strlen(letters) + 1);
    buf_put(b, "\1\x78", 2);
    buf_put(b, &ra, 1);
    buf_put(b, "\1\x1b", 2);
    buf_put(b, program, n);
    close_record(b, at);
    return at;
}

static void put_function(buf *b, size_t cie, uint32_t start, uint32_t size, const char *program,
                         size_t n)
{
    size_t at = open_record(b, (uint32_t)(b->n + 4 - cie));
    put_u32(b, start - (uint32_t)(FRAMES_AT + b->n));
    put_u32(b, size);
    buf_put(b, "", 1); /* no augmentation data */
    buf_put(b, program, n);
    close_record(b, at);
}

static void print_place(buf *b, uint8_t how, int32_t at)
{
    if (how == PLACE_SAME)
        buf_printf(b, " -");
    else
        buf_printf(b, how == PLACE_AT ? " c%+d" : " f%+d", at);
}

static void print_rule(buf *b, const unwind_table *t, uint32_t r)
{
    static const char *const names[] = {"none",   "sp",  "fp",  "third",
                                        "signal", "end", "plt", "wide"};
    uint32_t kind = rule_kind(r);
    if (kind == RULE_WIDE) {
        const wide_rule *w = &t->wide[rule_wide(r)];
        buf_printf(b, w->deref ? "*r%d%+d%+d" : "r%d%+d", w->reg, w->offset, w->add);
        print_place(b, w->fp, w->fp_at);
        print_place(b, w->third, w->third_at);
    } else if (kind == RULE_PLT) {
        buf_printf(b, "plt %u %u", rule_offset(r), rule_fp(r));
    } else if (kind >= RULE_SP && kind <= RULE_THIRD) {
        buf_printf(b, "%s+%u", names[kind], rule_offset(r));
        print_place(b, rule_fp(r) ? PLACE_AT : PLACE_SAME, -8 * (int32_t)rule_fp(r));
        print_place(b, rule_third(r) ? PLACE_AT : PLACE_SAME, -8 * (int32_t)rule_third(r));
    } else {
        buf_printf(b, "%s", names[kind]);
    }
}

static void table_text(const unwind_table *t, buf *b)
{
    for (uint32_t i = 0; i < t->n_rows; i++) {
        buf_printf(b, "%s%x ", i ? "; " : "", t->rows[i].pc);
        print_rule(b, t, t->rows[i].rule);
    }
}

static void compile_text(const buf *in, uint16_t machine, arena *a, buf *out)
{
    err e = {0};
    unwind_table t;
    cfi_source s = {{(const char *)in->p, in->n}, FRAMES_AT, TEXT_LO, TEXT_HI, machine};
    assert_ok(cfi_compile(&s, a, &t, NULL, &e), &e);
    table_text(&t, out);
}

#define CODE(s) s, sizeof(s) - 1
#define USUAL "\x0c\7\x08\x90\1" /* CFA = rsp + 8, return address at CFA - 8 */

static const struct {
    const char *name, *letters, *cie;
    size_t n_cie;
    const char *program;
    size_t n_program;
    const char *want;
} cases[] = {
    {"leaf", "zR", CODE(USUAL), CODE(""), "100 sp+8 - -; 120 none"},
    {"push rbp; mov; pop", "zR", CODE(USUAL), CODE("\x41\x0e\x10\x86\2\x43\x0d\6\x42\x0c\7\x08"),
     "100 sp+8 - -; 101 sp+16 c-16 -; 104 fp+16 c-16 -; 106 sp+8 c-16 -; 120 none"},
    {"restored", "zR", CODE(USUAL), CODE("\x41\x0e\x10\x83\2\x41\x0e\x08\xc3"),
     "100 sp+8 - -; 101 sp+16 - c-16; 102 sp+8 - -; 120 none"},
    {"remember and restore", "zR", CODE(USUAL), CODE("\x41\x0e\x20\x0a\x42\x0e\x08\x41\x0b"),
     "100 sp+8 - -; 101 sp+32 - -; 103 sp+8 - -; 104 sp+32 - -; 120 none"},
    {"an unchanged rule adds no row", "zR", CODE(USUAL), CODE("\x41\x8c\3\x41\x0e\x08\x42\x8d\4"),
     "100 sp+8 - -; 120 none"},
    {"large distances: advance 1, 2, 4", "zR", CODE(USUAL),
     CODE("\2\4\x0e\x10\3\4\0\x0e\x18\4\4\0\0\0\x0e\x20"),
     "100 sp+8 - -; 104 sp+16 - -; 108 sp+24 - -; 10c sp+32 - -; 120 none"},
    {"undefined return address", "zR", CODE(USUAL), CODE("\7\x10"), "100 end; 120 none"},
    {"signal", "zRS", CODE(USUAL), CODE("\x0f\4\x77\xa0\1\6"), "100 signal; 120 none"},
    {"stub of .plt", "zR", CODE(USUAL), CODE("\x0f\x0b\x77\x08\x80\0\x3f\x1a\x3b\x2a\x33\x24\x22"),
     "100 plt 8 11; 120 none"},
    {"realigned stack", "zR", CODE(USUAL), CODE("\x41\x0c\x0a\0\x41\x10\6\2\x76\0\x0f\3\x76\x78\6"),
     "100 sp+8 - -; 101 r10+0 - -; 102 *r6-8+0 f+0 -; 120 none"},
    {"CFA stored on the stack", "zR", CODE(USUAL), CODE("\x0f\5\x77\x10\6\x23\x08"),
     "100 *r7+16+8 - -; 120 none"},
    {"huge frame", "zR", CODE(USUAL), CODE("\x0e\x80\x80\x40\x86\x80\x80\x01"),
     "100 r7+1048576 c-131072 -; 120 none"},
    {"other expression", "zR", CODE(USUAL), CODE("\x41\x0f\2\x30\x30\x41\x0c\7\x08"),
     "100 sp+8 - -; 101 none; 102 sp+8 - -; 120 none"},
    {"return address in a register", "zR", CODE(USUAL), CODE("\x09\x10\1"), ""},
    {"unknown instruction", "zR", CODE(USUAL), CODE("\x41\x0e\x10\x41\x3d\x42\x0e\x20"),
     "100 sp+8 - -; 101 sp+16 - -; 102 none"},
    {"nothing to restore", "zR", CODE(USUAL), CODE("\x41\x0b"), "100 sp+8 - -; 101 none"},
    {"block past the end", "zR", CODE(USUAL), CODE("\x41\x0f\x7f\x77"), "100 sp+8 - -; 101 none"},
    {"code past the function", "zR", CODE(USUAL), CODE("\x60\x0e\x20"), "100 sp+8 - -; 120 none"},
    {"rbx holds the frame", "zR", CODE(USUAL), CODE("\x0e\x10\x83\2\x41\x0d\3"),
     "100 sp+16 - c-16; 101 third+16 - c-16; 120 none"},
    {"CIE that advances", "zR", CODE(USUAL "\x41"), CODE(""), ""},
    /* Signed, factored operands: the data alignment is -8, so that a factor of -2 is 16 bytes. */
    {"def_cfa_sf", "zR", CODE(USUAL), CODE("\x12\7\x7e\x41\x12\6\x7d"),
     "100 sp+16 - -; 101 fp+24 - -; 120 none"},
    {"def_cfa_sf, CFA below sp", "zR", CODE(USUAL), CODE("\x12\7\2"), "100 r7-16 - -; 120 none"},
    {"def_cfa_sf, factor of two bytes", "zR", CODE(USUAL), CODE("\x12\7\x80\x7f"),
     "100 sp+1024 - -; 120 none"},
    {"def_cfa_sf out of range", "zR", CODE(USUAL),
     CODE("\x41\x12\7\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f"), "100 sp+8 - -; 101 none"},
    {"def_cfa_offset_sf", "zR", CODE(USUAL), CODE("\x0d\6\x13\x7d\x41\x13\x7c"),
     "100 fp+24 - -; 101 fp+32 - -; 120 none"},
    {"def_cfa_offset_sf, CFA below sp", "zR", CODE(USUAL), CODE("\x13\1"),
     "100 r7-8 - -; 120 none"},
    {"def_cfa_offset of 4 GiB", "zR", CODE(USUAL), CODE("\x41\x0e\x80\x80\x80\x80\x10"),
     "100 sp+8 - -; 101 none"},
    {"def_cfa of register 300", "zR", CODE(USUAL), CODE("\x41\x0c\xac\2\x08"),
     "100 sp+8 - -; 101 none"},
    {"offset_extended", "zR", CODE(USUAL), CODE("\5\6\2\5\3\3"), "100 sp+8 c-16 c-24; 120 none"},
    {"offset_extended_sf", "zR", CODE(USUAL), CODE("\x11\6\2\x11\3\x80\1"),
     "100 r7+8 c-16 c-1024; 120 none"},
    {"offset_extended_sf above the CFA", "zR", CODE(USUAL), CODE("\x11\6\x7e"),
     "100 r7+8 c+16 -; 120 none"},
    {"negative_offset_extended", "zR", CODE(USUAL), CODE("\x2f\6\2"), "100 r7+8 c+16 -; 120 none"},
    {"offset_extended_sf out of range", "zR", CODE(USUAL),
     CODE("\x86\2\x41\x11\6\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f"),
     "100 sp+8 c-16 -; 101 sp+8 - -; 120 none"},
    {"restore_extended", "zR", CODE(USUAL), CODE("\x86\2\x41\6\6"),
     "100 sp+8 c-16 -; 101 sp+8 - -; 120 none"},
    {"same_value", "zR", CODE(USUAL), CODE("\x83\2\x41\x08\3"),
     "100 sp+8 - c-16; 101 sp+8 - -; 120 none"},
    /* A register whose value no rule can express counts as unchanged; operands are skipped. */
    {"val_offset", "zR", CODE(USUAL), CODE("\x86\2\x41\x14\6\x80\1\x41\x0e\x10"),
     "100 sp+8 c-16 -; 101 sp+8 - -; 102 sp+16 - -; 120 none"},
    {"val_offset_sf", "zR", CODE(USUAL), CODE("\x86\2\x41\x15\6\x80\x7f\x41\x0e\x10"),
     "100 sp+8 c-16 -; 101 sp+8 - -; 102 sp+16 - -; 120 none"},
    {"val_expression", "zR", CODE(USUAL), CODE("\x86\2\x41\x16\6\2\x76\0\x41\x0e\x10"),
     "100 sp+8 c-16 -; 101 sp+8 - -; 102 sp+16 - -; 120 none"},
    {"expression by the frame pointer", "zR", CODE(USUAL), CODE("\x10\3\2\x76\x70"),
     "100 r7+8 - f-16; 120 none"},
    {"expression by another register", "zR", CODE(USUAL), CODE("\x83\2\x41\x10\3\2\x77\x70"),
     "100 sp+8 - c-16; 101 sp+8 - -; 120 none"},
    {"expression with more behind it", "zR", CODE(USUAL), CODE("\x83\2\x41\x10\3\4\x76\x70\x23\1"),
     "100 sp+8 - c-16; 101 sp+8 - -; 120 none"},
    {"def_cfa_expression, two constants", "zR", CODE(USUAL), CODE("\x0f\4\x76\x10\x23\x08"),
     "100 fp+24 - -; 120 none"},
    {"def_cfa_expression, negative offset", "zR", CODE(USUAL), CODE("\x0f\2\x76\x78"),
     "100 r6-8 - -; 120 none"},
    {"def_cfa_expression with more behind it", "zR", CODE(USUAL), CODE("\x41\x0f\3\x76\x10\x96"),
     "100 sp+8 - -; 101 none"},
    {"def_cfa_offset after an expression", "zR", CODE(USUAL),
     CODE("\x0f\5\x77\x10\6\x23\x08\x41\x0e\x20"), "100 *r7+16+8 - -; 101 sp+32 - -; 120 none"},
    {"def_cfa after an expression out of range", "zR", CODE(USUAL),
     CODE("\x41\x0f\x09\x77\x10\6\x23\x80\x80\x80\x80\x10\x41\x0c\7\x08"),
     "100 sp+8 - -; 101 none; 102 sp+8 - -; 120 none"},
    {"args_size of two bytes", "zR", CODE(USUAL), CODE("\x41\x2e\x90\2\x0e\x10"),
     "100 sp+8 - -; 101 sp+16 - -; 120 none"},
};

static void test_programs(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf in = {0}, out = {0};
        arena a = {0};
        size_t cie = put_cie(&in, cases[i].letters, 16, cases[i].cie, cases[i].n_cie);
        put_function(&in, cie, TEXT_LO + 0x100, 0x20, cases[i].program, cases[i].n_program);
        compile_text(&in, CFI_X86_64, &a, &out);
        buf_put(&out, "", 1);
        if (strcmp((const char *)out.p, cases[i].want) != 0)
            fail_msg("%s:\n got  %s\n want %s", cases[i].name, (const char *)out.p, cases[i].want);
        buf_free(&in);
        buf_free(&out);
        arena_free(&a);
    }
}

static void test_functions(void **state)
{
    (void)state;
    buf in = {0}, out = {0};
    arena a = {0};
    size_t cie = put_cie(&in, "zR", 16, CODE(USUAL));
    put_function(&in, cie, TEXT_LO + 0x200, 0x10, CODE("\x0e\x20")); /* not in order */
    put_function(&in, cie, TEXT_LO + 0x100, 0x20, CODE("\x0e\x10")); /* overlaps the next */
    put_function(&in, cie, TEXT_LO + 0x110, 0x10, CODE("\x0e\x18")); /* and touches this */
    put_function(&in, cie, TEXT_LO + 0x120, 0x08, CODE("\x0e\x18")); /* same rule: one row */
    put_function(&in, cie, TEXT_HI - 8, 0x10, CODE("\x0e\x40"));     /* not in this object */
    put_function(&in, cie, 0, 0x10, CODE("\x0e\x40"));               /* dropped by the linker */
    put_function(&in, cie, TEXT_LO + 0x400, 0, CODE("\x0e\x40"));    /* no code */
    size_t whole = in.n;
    put_u32(&in, 0); /* the terminator; records after it are ignored */
    put_function(&in, cie, TEXT_LO + 0x500, 0x10, CODE("\x0e\x40"));
    assert_u64(cfi_length((str){(const char *)in.p, in.n}), whole);
    compile_text(&in, CFI_X86_64, &a, &out);
    buf_put(&out, "", 1);
    assert_string_equal((const char *)out.p,
                        "100 sp+16 - -; 110 sp+24 - -; 128 none; 200 sp+32 - -; 210 none");
    buf_free(&in);
    buf_free(&out);
    arena_free(&a);
}

/* The link register is the third register and is saved like any other. */
static void test_aarch64(void **state)
{
    (void)state;
    buf in = {0}, out = {0};
    arena a = {0};
    size_t cie = put_cie(&in, "zR", 30, CODE("\x0c\x1f\0"));
    put_function(&in, cie, TEXT_LO, 0x20,
                 CODE("\x2d\x44\x0e\x20\x9d\4\x9e\3\x44\x0d\x1d\x48\x0c\x1f\0\xdd\xde"));
    compile_text(&in, CFI_AARCH64, &a, &out);
    buf_put(&out, "", 1);
    assert_string_equal((const char *)out.p, "0 sp+0 - -; 4 sp+32 c-32 c-24; 8 fp+32 c-32 c-24; "
                                             "10 sp+0 - -; 20 none");
    buf_free(&in);
    buf_free(&out);
    arena_free(&a);
}

/* The buckets only shorten the search: the result equals that of a linear search. */
static void test_find(void **state)
{
    (void)state;
    buf in = {0};
    arena a = {0};
    err e = {0};
    size_t cie = put_cie(&in, "zR", 16, CODE(USUAL));
    for (uint32_t i = 0; i < 500; i++) {
        char program[] = {0x41, 0x0e, (char)(16 + 8 * (i % 7)), 0x42, 0x0e, 8};
        put_function(&in, cie, TEXT_LO + i * i % 0xfff0, 1 + i % 13, program, sizeof program);
    }
    unwind_table t;
    cfi_source s = {{(const char *)in.p, in.n}, FRAMES_AT, TEXT_LO, TEXT_HI, CFI_X86_64};
    assert_ok(cfi_compile(&s, &a, &t, NULL, &e), &e);
    for (uint32_t pc = 0, row = 0; pc < 0x11000; pc++) {
        while (row < t.n_rows && t.rows[row].pc <= pc) row++;
        assert_u64(table_find(&t, pc), row ? t.rows[row - 1].rule : RULE_NONE);
    }
    buf_free(&in);
    arena_free(&a);
}

static void test_stub(void **state)
{
    (void)state;
    uint32_t buckets[] = {1, 1};
    unwind_row rows[] = {{0, rule_make(RULE_PLT, 8, 11, 0)}};
    unwind_table t = {.rows = rows, .buckets = buckets, .n_rows = 1, .n_buckets = 2, .shift = 6};
    assert_u64(table_find(&t, 16), rule_make(RULE_SP, 8, 0, 0));
    assert_u64(table_find(&t, 26), rule_make(RULE_SP, 8, 0, 0));
    assert_u64(table_find(&t, 27), rule_make(RULE_SP, 16, 0, 0));
}

static void test_header(void **state)
{
    (void)state;
    uint64_t at;
    assert_true(cfi_find(STR("\1\x1b\3\x3b\x10\0\0\0"), 0x2000, &at));
    assert_u64(at, 0x2014);
    assert_false(cfi_find(STR("\1\xff\3\x3b\x10\0\0\0"), 0x2000, &at));
    assert_false(cfi_find(STR("\2\x1b\3\x3b\x10\0\0\0"), 0x2000, &at));
    assert_false(cfi_find(STR("\1\x1b\3\x3b\x10\0"), 0x2000, &at));
}

static void test_refused(void **state)
{
    (void)state;
    arena a = {0};
    err e = {0};
    unwind_table t;
    cfi_source s = {STR("\4\0\0\0\1\0\0\0\4\0\0\0\x77\0\0\0"), FRAMES_AT, TEXT_LO, TEXT_HI,
                    CFI_X86_64};
    assert_false(cfi_compile(&s, &a, &t, NULL, &e));
    assert_int_equal(e.code, ERR_MALFORMED);
    assert_u64(e.offset, 12);
    e = (err){0};
    s.machine = 8;
    assert_false(cfi_compile(&s, &a, &t, NULL, &e));
    assert_string_equal(e.msg, "no unwind tables for ELF machine 8");
    arena_free(&a);
}

static void test_budget(void **state)
{
    (void)state;
    buf in = {0};
    size_t cie = put_cie(&in, "zR", 16, CODE(USUAL)), refused = 0;
    for (uint32_t i = 0; i < 100; i++)
        put_function(&in, cie, TEXT_LO + i * 16, 16, CODE("\x41\x0e\x90\x80\x40\x42\x0e\x08"));
    cfi_source s = {{(const char *)in.p, in.n}, FRAMES_AT, TEXT_LO, TEXT_HI, CFI_X86_64};
    for (size_t budget = 64; budget < 32 * 1024; budget += 64) {
        arena a = {.budget = budget};
        err e = {0};
        unwind_table t;
        if (!cfi_compile(&s, &a, &t, NULL, &e)) {
            assert_int_equal(e.code, ERR_MEMORY);
            refused++;
        }
        arena_free(&a);
    }
    assert_true(refused > 10 && refused < 500);
    buf_free(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs), cmocka_unit_test(test_functions),
        cmocka_unit_test(test_aarch64),  cmocka_unit_test(test_find),
        cmocka_unit_test(test_stub),     cmocka_unit_test(test_header),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
