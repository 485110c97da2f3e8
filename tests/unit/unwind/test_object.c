#include "support/test.h"

#include "arch/code.h"
#include "unwind/object.h"

#include <sys/mman.h>

/* One segment at 0x1000: .eh_frame_hdr, then .eh_frame with one CIE and one function at [0x2000,
 * 0x2020). */
enum { AT = 0x1000, CODE = 0x2000, HDR = 20, PAGE = 4096 };

static const uint8_t segment[] = {
    1,    0x1b, 3,    0x3b, 16,   0,    0,    0, 1,    0,   0,   0, 0, 0x10,
    0,    0,    44,   0,    0,    0, /* .eh_frame_hdr */
    20,   0,    0,    0,    0,    0,    0,    0, 1,    'z', 'R', 0, 1, 0x78,
    16,   1,    0x1b, 0x0c, 7,    8,    0x90, 1, 0,    0,   20,  0, 0, 0,
    28,   0,    0,    0,    0xcc, 0x0f, 0,    0, 0x20, 0,   0,   0, 0, /* FDE at 44: code at 0x1034 + 0xfcc */
    0x41, 0x0e, 0x10, 0x86, 2,    0,    0,    0, 0,    0,   0,
};

static unwind_object object(const uint8_t *bytes, size_t n)
{
    return (unwind_object){.lo = CODE,
                           .hi = CODE + 0x1000,
                           .machine = CFI_X86_64,
                           .hdr = {bytes, n < HDR ? n : HDR, AT},
                           .frames = {bytes, n, AT}};
}

static void test_rules(void **state)
{
    (void)state;
    object_hit hit;
    unwind_object o = object(segment, sizeof segment);
    assert_u64(object_rule(&o, CODE, &hit), rule_make(RULE_SP, 8, 0, 0));
    assert_u64(hit.start, CODE);
    assert_u64(hit.end, CODE + 0x20);
    assert_u64(object_rule(&o, CODE + 1, &hit), rule_make(RULE_SP, 16, 2, 0));
    assert_u64(object_rule(&o, CODE + 0x1f, &hit), rule_make(RULE_SP, 16, 2, 0));
    assert_u64(object_rule(&o, CODE + 0x20, &hit), RULE_NONE);
    assert_u64(object_rule(&o, CODE - 1, &hit), RULE_NONE);
    o.hi = CODE + 0x10; /* the function does not end in this object */
    assert_u64(object_rule(&o, CODE, &hit), RULE_NONE);
}

/* Truncates the segment at every length and flips every byte.  The lookup finds a rule or none, and
 * does not read past the end (ASan). */
static void test_cut(void **state)
{
    (void)state;
    object_hit hit;
    for (size_t n = 0; n <= sizeof segment; n++) {
        uint8_t *copy = malloc(n ? n : 1);
        assert_non_null(copy);
        memcpy(copy, segment, n);
        unwind_object o = object(copy, n);
        uint32_t rule = object_rule(&o, CODE, &hit);
        assert_true(rule == RULE_NONE || n > 60);
        for (size_t i = 0; i < n; i++) {
            copy[i] ^= 0xff;
            (void)object_rule(&o, CODE, &hit);
            copy[i] ^= 0xff;
        }
        free(copy);
    }
}

static void test_encodings(void **state)
{
    (void)state;
    static const struct {
        uint8_t at, byte;
        bool index;
        uint32_t n;
    } cases[] = {
        {0, 2, false, 0},    /* version */
        {1, 0xff, false, 0}, /* no address of .eh_frame */
        {1, 0x9b, false, 0}, /* indirect */
        {2, 0xff, true, 0},  /* no count */
        {3, 0xff, true, 0},  /* no table */
        {3, 0x1b, true, 0},  /* in another format */
        {0, 1, true, 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint8_t copy[sizeof segment];
        object_index x;
        memcpy(copy, segment, sizeof copy);
        copy[cases[i].at] = cases[i].byte;
        unwind_object o = object(copy, sizeof copy);
        assert_int_equal(object_read_index(&o, &x), cases[i].index);
        assert_u64(x.n_search, cases[i].n);
    }
}

/* An unloadable object is unmapped.  Its pages are checked before they are read. */
static void test_gone(void **state)
{
    (void)state;
    uint8_t *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    uint8_t *bytes = p + PAGE - 50; /* the FDE crosses the page boundary */
    memcpy(bytes, segment, sizeof segment);
    unwind_object o = object(bytes, sizeof segment);
    object_hit hit;
    o.unloadable = true;
    assert_u64(object_rule(&o, CODE, &hit), rule_make(RULE_SP, 8, 0, 0));
    assert_int_equal(mprotect(p + PAGE, PAGE, PROT_NONE), 0);
    assert_u64(object_rule(&o, CODE, &hit), RULE_NONE);
    assert_int_equal(munmap(p, 2 * PAGE), 0);
    assert_u64(object_rule(&o, CODE, &hit), RULE_NONE);
    assert_false(object_reach(&o, bytes, 1));
}

/* ---- machine code ---- */

#if defined(__x86_64__)

static void test_calls(void **state)
{
    (void)state;
    static const struct {
        uint8_t code[CODE_CALL_MAX]; /* ends at the return address */
        bool call;
        int32_t rel;
    } cases[] = {
        {{0, 0, 0, 0xe8, 4, 3, 2, 1}, true, 0x01020304},
        {{0, 0, 0, 0, 0, 0, 0xff, 0xd0}, true, 0},    /* call *%rax */
        {{0, 0, 0, 0, 0, 0x41, 0xff, 0xd4}, true, 0}, /* call *%r12 */
        {{0, 0, 0, 0, 0, 0, 0xff, 0x17}, true, 0},    /* call *(%rdi) */
        {{0, 0, 0, 0, 0, 0xff, 0x14, 0xc3}, true, 0}, /* call *(%rbx,%rax,8) */
        {{0, 0, 0, 0, 0, 0xff, 0x50, 0x18}, true, 0}, /* call *0x18(%rax) */
        {{0, 0, 0xff, 0x15, 1, 2, 3, 4}, true, 0},    /* call *n(%rip) */
        {{0, 0, 0xff, 0x90, 1, 2, 0, 0}, true, 0},    /* call *n(%rax) */
        {{0, 0xff, 0x94, 0xc7, 1, 2, 0, 0}, true, 0}, /* call *n(%rdi,%rax,8) */
        {{0, 0, 0, 0, 0, 0, 0xff, 0xe0}, false, 0},   /* jmp *%rax */
        {{0, 0, 0, 0, 0, 0, 0xff, 0x14}, false, 0},   /* truncated call */
        {{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90}, false, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int32_t rel;
        bool call = code_is_call(cases[i].code + CODE_CALL_MAX, &rel);
        if (call != cases[i].call || (call && rel != cases[i].rel)) fail_msg("case %zu", i);
    }
}

static void test_epilogues(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint8_t code[24];
        code_exit want;
    } cases[] = {
        {"leaf", {0x90, 0xc3}, {0}},
        {"rep ret", {0xf3, 0xc3}, {0}},
        {"leave", {0xc9, 0xc3}, {.by_fp = true}},
        {"mov, pop", {0x48, 0x89, 0xec, 0x5d, 0xc3}, {.by_fp = true}},
        {"pops", {0x90, 0x5b, 0x5d, 0x41, 0x5c, 0xc3}, {.size = 24, .fp = 9, .third = 1}},
        {"add, pops",
         {0x48, 0x83, 0xc4, 0x18, 0x5d, 0x5b, 0xc3},
         {.size = 40, .fp = 25, .third = 33}},
        {"large",
         {0x48, 0x81, 0xc4, 0, 1, 0, 0, 0x41, 0x5f, 0xc5, 0xf8, 0x77, 0xc3},
         {.size = 264}},
        {"reload",
         {0x48, 0x8b, 0xa4, 0x24, 0x80, 1, 0, 0, 0x5d, 0xc3},
         {.reload = true, .reload_at = 0x180, .size = 8, .fp = 1}},
        {"Go",
         {0x48, 0x8b, 0x6c, 0x24, 0x10, 0x48, 0x83, 0xc4, 0x18, 0xc3},
         {.size = 24, .fp = 17}},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        code_exit x;
        size_t at = code_next_ret(cases[i].code, 0, sizeof cases[i].code);
        while (at + 1 < sizeof cases[i].code &&
               code_next_ret(cases[i].code, at + 1, sizeof cases[i].code) < sizeof cases[i].code)
            at = code_next_ret(cases[i].code, at + 1, sizeof cases[i].code);
        code_epilogue(cases[i].code, at, &x);
        const code_exit *w = &cases[i].want;
        if (x.by_fp != w->by_fp || x.reload != w->reload || x.reload_at != w->reload_at ||
            (!w->by_fp && (x.size != w->size || x.fp != w->fp || x.third != w->third)))
            fail_msg("%s: size %u, fp %u, third %u", cases[i].name, x.size, x.fp, x.third);
    }
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_encodings),
        cmocka_unit_test(test_gone),
#if defined(__x86_64__)
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_epilogues),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
