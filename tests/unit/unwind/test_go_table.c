/* Rules from an invented .gopclntab: three functions at 0x401000, of 16 bytes each. */
#include "support/test.h"

#include "unwind/go_table.h"

enum { TEXT = 0x401000, BIAS = 0x10000, HEAD = 72, N = 3, LIST = (N + 1) * 8, FUNCTION = 48 };

typedef struct table {
    unsigned char b[HEAD + LIST + N * FUNCTION + 32];
    unwind_bytes t;
} table;

static void put(table *t, size_t at, uint64_t v, size_t n) { memcpy(t->b + at, &v, n); }

/* Function 0: sp at the return address for 4 bytes, then 24 below it for 10, then back.  Function 1
 * is the first of its stack.  Function 2 switches stacks. */
static void make(table *t, uint32_t magic)
{
    static const unsigned char deltas[] = {0, /* offset 0: no list */
                                           2, 4, 48, 10, 47, 2, 0};
    bool newer = magic == 0xfffffff1;
    size_t functions = HEAD, described = LIST, pairs = HEAD + LIST + N * FUNCTION;
    memset(t, 0, sizeof *t);
    put(t, 0, magic, 4);
    t->b[6] = 1, t->b[7] = 8;
    put(t, 8, N, 8), put(t, 24, TEXT, 8), put(t, 56, pairs, 8), put(t, 64, functions, 8);
    for (size_t i = 0; i <= N; i++) {
        put(t, functions + i * 8, i * 16, 4);
        if (i == N) break;
        size_t f = described + i * FUNCTION;
        put(t, functions + i * 8 + 4, f, 4);
        put(t, functions + f + 16, 1, 4);
        t->b[functions + f + (newer ? 41 : 37)] = (unsigned char)i; /* flags 0, 1, 2 */
    }
    memcpy(t->b + pairs, deltas, sizeof deltas);
    t->t = (unwind_bytes){t->b, sizeof t->b, BIAS};
}

static uint32_t rule(const table *t, uint64_t offset)
{
    object_hit hit;
    return go_rule(&t->t, BIAS + TEXT + offset, &hit);
}

static void test_rules(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        table t;
        make(&t, i ? 0xfffffff1 : 0xfffffff0);
        assert_true(go_table_readable(&t.t));
        for (unsigned at = 0; at < 16; at++) {
            uint32_t want =
                at < 4 || at >= 14 ? rule_make(RULE_SP, 8, 0, 0) : rule_make(RULE_SP, 32, 2, 0);
            assert_int_equal(rule(&t, at), want);
            assert_int_equal(rule(&t, 16 + at), RULE_END);
            assert_int_equal(rule(&t, 32 + at), RULE_WIDE);
        }
        assert_int_equal(rule(&t, 48), RULE_NONE);
        assert_int_equal(rule(&t, (uint64_t)-1), RULE_NONE);
        object_hit hit;
        (void)go_rule(&t.t, BIAS + TEXT + 20, &hit);
        assert_u64(hit.start, BIAS + TEXT + 16);
        assert_u64(hit.end, BIAS + TEXT + 32);
        (void)go_rule(&t.t, BIAS + TEXT + 40, &hit);
        assert_int_equal(hit.wide.reg, GO_SAVED_SP);
    }
}

static void test_other_tables(void **state)
{
    (void)state;
    table t;
    make(&t, 0xfffffffb); /* Go 1.2 */
    assert_false(go_table_readable(&t.t));
    make(&t, 0xfffffff0);
    t.b[7] = 4; /* 32 bits */
    assert_false(go_table_readable(&t.t));
    make(&t, 0xfffffff0);
    put(&t, 24, 0, 8); /* the loader sets the start of the code */
    assert_false(go_table_readable(&t.t));
}

/* Every truncation, and every byte set to 0xff, in memory of its own so that ASan detects reads
 * past the end. */
static void test_damage(void **state)
{
    (void)state;
    table t;
    make(&t, 0xfffffff0);
    for (size_t i = 0; i < 2 * sizeof t.b; i++) {
        size_t n = i < sizeof t.b ? i : sizeof t.b;
        unsigned char *p = malloc(n ? n : 1);
        assert_non_null(p);
        memcpy(p, t.b, n);
        if (i >= sizeof t.b) p[i - sizeof t.b] = 0xff;
        unwind_bytes b = {p, n, BIAS};
        for (uint64_t at = 0; at < 64 && go_table_readable(&b); at++) {
            object_hit hit;
            (void)go_rule(&b, BIAS + TEXT + at, &hit);
        }
        free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_other_tables),
        cmocka_unit_test(test_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
