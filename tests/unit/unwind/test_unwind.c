#include "support/test.h"

#include "unwind/walk.h"

#include <sys/mman.h>

/* Invented stacks and code: CODE is an object with a table, JIT is code of no object. */
enum { CODE = 0x400000, CODE_END = 0x401000, JIT = 0x900000, WORDS = 512 };

/* 0x000: sp + 16; 0x100: fp + 16, fp saved; 0x200: the end; 0x300: none; 0x400: wide; 0x700: sp +
 * 32, fp saved; 0x800: sp + 8, fp popped */
static unwind_row rows[] = {
    {0x000, RULE_SP | 2 << 3},
    {0x100, RULE_FP | 2 << 3 | 2 << 15},
    {0x200, RULE_END},
    {0x300, RULE_NONE},
    {0x400, RULE_WIDE | 0 << 3},
    {0x500, RULE_WIDE | 1 << 3},
    {0x600, RULE_NONE},
    {0x700, RULE_SP | 4 << 3 | 2 << 15},
    {0x800, RULE_SP | 1 << 3 | 2 << 15},
    {0x900, RULE_NONE},
};
static wide_rule wide[] = {
    {.reg = 6, .deref = 1, .offset = -8, .fp = PLACE_BY_FP, .fp_at = 0}, /* a realigned stack */
    {.reg = 10, .offset = 0}, /* known only in an interrupted frame */
};
static uint32_t buckets[] = {1, 9, 10};
static const unwind_table table = {CODE, rows, buckets, wide, ARRAY_LEN(rows), ARRAY_LEN(buckets),
                                   2,    11};
static unwind_object code = {.lo = CODE, .hi = CODE_END, .table = &table};

static unwind_snapshot *snapshot(void)
{
    unwind_snapshot *s = calloc(1, sizeof *s + sizeof(void *));
    assert_non_null(s);
    s->n_objects = 1;
    s->objects[0] = &code;
    return s;
}

/* Code generated at run time: repeated `call *%rax`, so that every even address follows a call. */
static int map_jit(void **state)
{
    (void)state;
    unsigned char *p = mmap((void *)(uintptr_t)JIT, 4096, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (p != (void *)(uintptr_t)JIT) return -1;
    for (size_t i = 0; i < 4096; i += 2) p[i] = 0xff, p[i + 1] = 0xd0;
    return 0;
}

static uintptr_t words[WORDS];

static uintptr_t at(size_t i) { return (uintptr_t)&words[i]; }

typedef struct want {
    unwind_end end;
    uint32_t guesses;
    size_t n;
    uintptr_t pc[4];
} want;

/* Walks a copy at an odd address while the words themselves are overwritten: only the copy may be
 * read. */
static unwind_result over_copy(unwind_snapshot *s, const unwind_regs *from, unsigned known,
                               uintptr_t *pc, size_t max)
{
    static char bytes[sizeof words + 1];
    stack_copy c = {at(0), memcpy(bytes + 1, words, sizeof words), sizeof words};
    memset(words, 0x55, sizeof words);
    unwind_result r = unwind_copy(s, from, known, &c, pc, max);
    memcpy(words, bytes + 1, sizeof words);
    return r;
}

static void check(const char *name, unwind_regs from, want w, size_t max)
{
    unwind_snapshot *s = snapshot();
    unwind_stack stack = {at(0), at(WORDS)};
    for (unsigned round = 0; round < 4; round++) { /* table, cache, unknown bounds, copy */
        uintptr_t pc[16];
        unwind_result r = round < 3
                              ? unwind(s, &from, round < 2 ? &stack : NULL, pc, max)
                              : over_copy(s, &from, UNWIND_KNOWN_FP | UNWIND_KNOWN_THIRD, pc, max);
        if (round == 3 && w.end == UNWIND_NO_RULE && r.end == UNWIND_NO_REGISTER) r.end = w.end;
        bool ok = r.end == w.end && r.guesses == w.guesses && r.n == w.n;
        for (size_t i = 0; ok && i < r.n && i < 4; i++) ok = pc[i] == w.pc[i];
        if (!ok) {
            for (size_t i = 0; i < r.n; i++) print_message("  %lx\n", (unsigned long)pc[i]);
            fail_msg("%s, round %u: end %d, %u guesses, %zu frames", name, round, (int)r.end,
                     r.guesses, r.n);
        }
    }
    free(s);
}

static void test_steps(void **state)
{
    (void)state;
    memset(words, 0, sizeof words);
    words[11] = CODE + 0x101; /* the caller, which keeps a frame pointer */
    words[20] = at(30);
    words[21] = CODE + 0x201;
    check("by sp, then by fp", (unwind_regs){.pc = CODE, .sp = at(10), .fp = at(20)},
          (want){UNWIND_WHOLE, 0, 3, {CODE, CODE + 0x100, CODE + 0x200}}, 16);
    check("capped", (unwind_regs){.pc = CODE, .sp = at(10), .fp = at(20)},
          (want){UNWIND_CAPPED, 0, 2, {CODE, CODE + 0x100}}, 2);
    check("just enough", (unwind_regs){.pc = CODE, .sp = at(10), .fp = at(20)},
          (want){UNWIND_WHOLE, 0, 3, {CODE, CODE + 0x100, CODE + 0x200}}, 3);
    words[11] = 0;
    check("return address 0", (unwind_regs){.pc = CODE, .sp = at(10), .fp = at(20)},
          (want){UNWIND_WHOLE, 0, 1, {CODE}}, 16);
    check("no room", (unwind_regs){.pc = CODE, .sp = at(10)}, (want){UNWIND_CAPPED, 0, 0, {0}}, 0);
}

static void test_bad_registers(void **state)
{
    (void)state;
    memset(words, 0, sizeof words);
    static const uintptr_t bad[] = {0,          1, 8, 0xfff, 0x7fffffffffff, (uintptr_t)1 << 63,
                                    UINTPTR_MAX};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        uintptr_t pc[4];
        unwind_snapshot *s = snapshot();
        for (uintptr_t k = 0; k < 7; k++) {
            unwind_regs r = {.pc = CODE + k * 0x100, .sp = bad[i], .fp = bad[i], .third = bad[i]};
            unwind_result u = unwind(s, &r, NULL, pc, 4);
            assert_true(u.n == 1 && (k == 2 || u.end != UNWIND_WHOLE));
            r.sp = at(8);
            u = unwind(s, &r, NULL, pc, 4);
            assert_true(u.n >= 1);
        }
        unwind_regs r = {.pc = bad[i], .sp = at(8)};
        assert_u64(unwind(s, &r, NULL, pc, 4).n, 1);
        free(s);
    }
    check("fp below sp", (unwind_regs){.pc = CODE + 0x100, .sp = at(40), .fp = at(20)},
          (want){UNWIND_NO_PROGRESS, 0, 1, {CODE + 0x100}}, 16);
    check("fp not aligned", (unwind_regs){.pc = CODE + 0x100, .sp = at(40), .fp = at(50) + 4},
          (want){UNWIND_NO_PROGRESS, 0, 1, {CODE + 0x100}}, 16);
}

static void test_guesses(void **state)
{
    (void)state;
    memset(words, 0, sizeof words);
    words[20] = at(30);
    words[21] = JIT + 0x10;
    words[30] = at(40);
    words[31] = CODE + 0x201;
    unwind_regs r = {.pc = JIT, .sp = at(10), .fp = at(20)};
    check("code of no object", r, (want){UNWIND_WHOLE, 2, 3, {JIT, JIT + 0xf, CODE + 0x200}}, 16);
    words[31] = CODE + 0x301;
    check("back into code without a rule", r, (want){UNWIND_NO_RULE, 1, 2, {JIT, JIT + 0xf}}, 16);
    words[30] = at(20);
    words[31] = JIT + 0x20;
    check("frame pointers in a cycle", r, (want){UNWIND_NO_RULE, 1, 2, {JIT, JIT + 0xf}}, 16);
    words[30] = words[31] = 0;
    check("zeros at the end", r, (want){UNWIND_WHOLE, 1, 2, {JIT, JIT + 0xf}}, 16);
    r.fp = 3;
    check("no frame pointer", r, (want){UNWIND_NO_RULE, 0, 1, {JIT}}, 16);
    words[11] = CODE + 0x400; /* a call would have pushed an address whose predecessor is 0x3ff */
    check("a return address that no call pushed", (unwind_regs){.pc = CODE, .sp = at(10)},
          (want){UNWIND_WHOLE, 0, 2, {CODE, CODE + 0x3ff}}, 16);
}

static void test_wide(void **state)
{
    (void)state;
    memset(words, 0, sizeof words);
    words[20] = at(60); /* rbp of the caller */
    words[19] = at(40); /* the stack before realignment */
    words[39] = CODE + 0x101;
    words[60] = 0;
    words[61] = CODE + 0x201;
    check("realigned stack", (unwind_regs){.pc = CODE + 0x400, .sp = at(10), .fp = at(20)},
          (want){UNWIND_WHOLE, 0, 3, {CODE + 0x400, CODE + 0x100, CODE + 0x200}}, 16);
    check("an unknown register", (unwind_regs){.pc = CODE + 0x500, .sp = at(10), .fp = at(20)},
          (want){UNWIND_NO_RULE, 0, 1, {CODE + 0x500}}, 16);
}

/* For a blocked thread only pc and sp are known. */
static void test_copy(void **state)
{
    (void)state;
    memset(words, 0, sizeof words);
    unwind_snapshot *s = snapshot();
    uintptr_t pc[8];
    words[11] = CODE + 0x701; /* sp + 32, fp saved: the caller's is known again */
    words[14] = at(20);
    words[15] = CODE + 0x101;
    words[20] = at(30);
    words[21] = CODE + 0x201;
    unwind_regs from = {.pc = CODE, .sp = at(10), .fp = 7, .third = 7};
    unwind_result u = over_copy(s, &from, 0, pc, 8);
    assert_int_equal(u.end, UNWIND_WHOLE);
    assert_u64(u.n, 4);
    assert_u64(pc[3], CODE + 0x200);
    words[11] = CODE + 0x101; /* needs fp, which no frame saved */
    u = over_copy(s, &from, 0, pc, 8);
    assert_int_equal(u.end, UNWIND_NO_REGISTER);
    assert_u64(u.n, 2);
    from.fp = at(20);
    u = over_copy(s, &from, UNWIND_KNOWN_FP, pc, 8);
    assert_int_equal(u.end, UNWIND_WHOLE);
    assert_u64(u.n, 3);
    words[11] = JIT; /* no rule, and a meaningless frame pointer */
    u = over_copy(s, &from, 0, pc, 8);
    assert_int_equal(u.end, UNWIND_NO_REGISTER);
    assert_u64(u.guesses, 0);
    words[11] = CODE + 0x401; /* a wide rule by fp */
    assert_int_equal(over_copy(s, &from, 0, pc, 8).end, UNWIND_NO_REGISTER);
    free(s);
}

static void test_copy_bounds(void **state)
{
    (void)state;
    memset(words, 0, sizeof words);
    unwind_snapshot *s = snapshot();
    uintptr_t pc[8];
    words[11] = CODE + 0x201;
    unwind_regs from = {.pc = CODE, .sp = at(10)};
    for (size_t n = 0; n <= 24; n++) {
        char *bytes = malloc(n ? n : 1); /* so that ASan detects reads past the end */
        assert_non_null(bytes);
        memcpy(bytes, &words[10], n);
        unwind_result u = unwind_copy(s, &from, 0, &(stack_copy){at(10), bytes, n}, pc, 8);
        assert_int_equal(u.end, n < 16 ? UNWIND_UNREADABLE : UNWIND_WHOLE);
        free(bytes);
    }
    memmove((char *)&words[64] + 3, &words[11], 8);
    unwind_result u = unwind_copy(s, &from, 0, &(stack_copy){at(11) - 3, &words[64], 64}, pc, 8);
    assert_u64(u.n, 2); /* an unaligned base: words are read at their addresses */
    assert_int_equal(unwind_copy(s, &from, 0, &(stack_copy){at(12), words, 64}, pc, 8).end,
                     UNWIND_UNREADABLE);
    free(s);
}

/* A returning function has popped the frame pointer, whose place is not in a copy that begins at
 * sp. */
static void test_copy_epilogue(void **state)
{
    (void)state;
    unwind_snapshot *s = snapshot();
    uintptr_t pc[8];
    memset(words, 0, sizeof words);
    words[10] = CODE + 0x101;
    words[20] = at(30);
    words[21] = CODE + 0x201;
    unwind_regs from = {.pc = CODE + 0x800, .sp = at(10), .fp = at(20)};
    stack_copy c = {at(10), &words[10], 100 * sizeof *words};
    unwind_result u = unwind_copy(s, &from, UNWIND_KNOWN_FP, &c, pc, 8);
    assert_int_equal(u.end, UNWIND_WHOLE);
    assert_u64(u.n, 3);
    assert_u64(pc[1], CODE + 0x100);
    assert_u64(pc[2], CODE + 0x200);
    u = unwind_copy(s, &from, UNWIND_KNOWN_FP | UNWIND_KEEP_RETURNS, &c, pc, 8);
    assert_u64(u.n, 3);
    assert_u64(pc[0], CODE + 0x800); /* interrupted, not a return address */
    assert_u64(pc[1], CODE + 0x101);
    assert_u64(pc[2], CODE + 0x201);
    from.pc = CODE + 0x801; /* a caller has not popped anything */
    u = unwind_copy(s, &from, UNWIND_KNOWN_FP | UNWIND_RETURNED, &c, pc, 8);
    assert_int_equal(u.end, UNWIND_UNREADABLE);
    free(s);
}

/* A stub of .plt without a rule, at each of its instructions. */
static void test_stub(void **state)
{
    (void)state;
    static const struct {
        uint8_t code[16];
        uint8_t at[3], offset[3]; /* 8: the return address is at sp */
    } stubs[] = {
        {{0xff, 0x25, 1, 2, 3, 4, 0x68, 1, 0, 0, 0, 0xe9, 1, 2, 3, 4}, {0, 6, 11}, {8, 8, 16}},
        {{0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 1, 2, 3, 4}, {0, 4, 4}, {8, 8, 8}},
        {{0xf3, 0x0f, 0x1e, 0xfa, 0x68, 1, 0, 0, 0, 0xf2, 0xe9, 1, 2, 3, 4}, {0, 4, 9}, {8, 8, 16}},
        {{0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 1, 2, 3, 4}, {0, 4, 4}, {8, 8, 8}},
        {{0xff, 0x35, 1, 2, 3, 4, 0xff, 0x25, 1, 2, 3, 4}, {0, 6, 6}, {16, 24, 24}},
        {{0x90, 0x90, 0xe9, 1, 2, 3, 4}, {0, 1, 2}, {0, 0, 0}},
    };
    memset(words, 0, sizeof words);
    words[10] = words[11] = CODE + 0x201;
    for (size_t i = 0; i < ARRAY_LEN(stubs); i++)
        for (size_t k = 0; k < 3; k++) {
            uint8_t text[48] = {0};
            memcpy(text + 16, stubs[i].code, 16);
            unwind_object o = {.lo = (uintptr_t)text,
                               .hi = (uintptr_t)text + sizeof text,
                               .code = {text, sizeof text, (uintptr_t)text}};
            unwind_snapshot *s = calloc(1, sizeof *s + 2 * sizeof(void *));
            assert_non_null(s);
            s->n_objects = 2;
            s->objects[0] = &code;
            s->objects[1] = &o;
            words[10] = stubs[i].offset[k] == 8 ? CODE + 0x201 : 7;
            words[11] = stubs[i].offset[k] == 16 ? CODE + 0x201 : 7;
            words[12] = stubs[i].offset[k] == 24 ? CODE + 0x201 : 7;
            uintptr_t pc[8];
            unwind_regs r = {.pc = (uintptr_t)text + 16 + stubs[i].at[k], .sp = at(10)};
            unwind_result u = unwind(s, &r, NULL, pc, 8);
            assert_u64(u.n, stubs[i].offset[k] ? 2 : 1);
            assert_int_equal(u.end, stubs[i].offset[k] ? UNWIND_WHOLE : UNWIND_NO_RULE);
            free(s);
        }
}

/* Without known bounds the kernel checks each page: neither holes nor unreadable pages are
 * touched. */
static void test_probes(void **state)
{
    (void)state;
    enum { PAGE_SIZE = 4096, PAGES = 80 };
    char *p =
        mmap(NULL, PAGES * PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    unwind_snapshot *s = snapshot();
    uintptr_t pc[8], base = (uintptr_t)p;
    unwind_regs r = {.pc = CODE + 0x100, .sp = base + 256, .fp = base + 3 * PAGE_SIZE};
    uintptr_t *slots = (uintptr_t *)r.fp;
    slots[1] = CODE + 0x201;
    assert_int_equal(unwind(s, &r, NULL, pc, 8).end, UNWIND_WHOLE);
    assert_int_equal(mprotect(p + 2 * PAGE_SIZE, PAGE_SIZE, PROT_NONE), 0);
    assert_int_equal(unwind(s, &r, NULL, pc, 8).end, UNWIND_UNREADABLE);
    assert_int_equal(munmap(p + 2 * PAGE_SIZE, PAGE_SIZE), 0);
    assert_int_equal(unwind(s, &r, NULL, pc, 8).end, UNWIND_UNREADABLE);
    r.sp = base + 3 * PAGE_SIZE + 8; /* just above the hole: its red zone is missing */
    r.fp = base + 4 * PAGE_SIZE;
    slots = (uintptr_t *)r.fp;
    slots[1] = CODE + 0x201;
    assert_int_equal(unwind(s, &r, NULL, pc, 8).end, UNWIND_WHOLE);
    r.fp = base + (4 + UNWIND_PROBES_MAX) * PAGE_SIZE; /* beyond the probed pages */
    slots = (uintptr_t *)r.fp;
    slots[1] = CODE + 0x201;
    assert_int_equal(unwind(s, &r, NULL, pc, 8).end, UNWIND_UNREADABLE);
    unwind_stack stack = {base + 3 * PAGE_SIZE, base + PAGES * PAGE_SIZE};
    assert_int_equal(unwind(s, &r, &stack, pc, 8).end, UNWIND_WHOLE);
    free(s);
    munmap(p, PAGES * PAGE_SIZE);
}

static void test_missed(void **state)
{
    (void)state;
    unwind_snapshot *s = snapshot();
    uintptr_t pc[4];
    unwind_regs r = {.pc = JIT, .sp = at(0)};
    (void)unwind(s, &r, NULL, pc, 4);
    assert_u64(s->missed, 1);
    assert_u64(unwind(NULL, &r, NULL, pc, 4).n, 1); /* before the first refresh */
    free(s);
}

/* The end address of an object is not part of it; the next object may begin there. */
static void test_object_ends(void **state)
{
    (void)state;
    unwind_snapshot *s = calloc(1, sizeof *s + 2 * sizeof(void *));
    unwind_object next = {.lo = CODE_END, .hi = CODE_END + 0x1000};
    assert_non_null(s);
    s->n_objects = 2;
    s->objects[0] = &code, s->objects[1] = &next;
    assert_ptr_equal(walk_object(s, CODE), &code);
    assert_ptr_equal(walk_object(s, CODE_END - 1), &code);
    assert_ptr_equal(walk_object(s, CODE_END), &next);
    assert_null(walk_object(s, CODE - 1));
    assert_null(walk_object(s, next.hi));
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_object_ends),   cmocka_unit_test(test_steps),
        cmocka_unit_test(test_bad_registers), cmocka_unit_test(test_guesses),
        cmocka_unit_test(test_wide),          cmocka_unit_test(test_probes),
        cmocka_unit_test(test_copy_epilogue), cmocka_unit_test(test_stub),
        cmocka_unit_test(test_missed),        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_copy_bounds),
    };
    return cmocka_run_group_tests(tests, map_jit, NULL);
}
