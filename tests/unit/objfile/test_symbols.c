#include "support/test.h"

#include "objfile/build_id.h"
#include "objfile/index.h"
#include "objfile/symbols.h"
#include "model/model.h"

/* ---- text ---- */

static const struct {
    const char *name, *text;
    bool kernel;
    size_t n;
    uint64_t address;
    const char *want; /* name of the first symbol */
} texts[] = {
    {"kallsyms", "ffffffff81000000 T _text\nffffffff81000040 t do_one\t[ext4]\n", true, 2,
     0xffffffff81000000, "_text"},
    {"kallsyms hidden", "0000000000000000 T _text\n0000000000000000 T do_one\n", true, 0, 0, NULL},
    {"kallsyms data", "ffffffff81000000 D jiffies\nffffffff81000100 W weak_one\n", true, 1,
     0xffffffff81000100, "weak_one"},
    {"kallsyms rubbish", "T\n\nxyz\nffffffff81000000 T\nffffffff8100000012 T too_long\n", true, 0,
     0, NULL},
    {"perf map", "7f0010 20 LFoo;::bar(int)\n0x7f0000 0x10 first", false, 2, 0x7f0000, "first"},
    {"perf map reused", "1000 10 old\n1000 8 new\n", false, 1, 0x1000, "new"},
    {"perf map rubbish", "hello\n1000\n1000 0 empty\n1000 10\n", false, 0, 0, NULL},
    {"empty", "", false, 0, 0, NULL},
};

static void test_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        arena a = {0};
        err e = {0};
        symbol_list l = {0};
        str text = str_of(texts[i].text);
        bool ok = texts[i].kernel ? symbols_of_kallsyms(text, &a, &l, &e)
                                  : symbols_of_perf_map(text, &a, &l, &e);
        assert_ok(ok, &e);
        if (l.v.n != texts[i].n) fail_msg("%s: %zu symbols", texts[i].name, l.v.n);
        if (l.v.n) {
            assert_u64(l.v.v[0].address, texts[i].address);
            assert_true(str_eq(l.v.v[0].name, str_of(texts[i].want)));
        }
        arena_free(&a);
    }
}

static void test_order(void **state)
{
    (void)state;
    arena a = {0};
    err e = {0};
    symbol in[] = {{0x20, 0, STR("c"), {0}},
                   {0x10, 4, STR("small"), {0}},
                   {0x10, 8, STR("large"), {0}},
                   {0x10, 8, STR("last"), {0}}};
    symbol_list l = {{in, ARRAY_LEN(in), ARRAY_LEN(in)}};
    assert_ok(symbols_sort(&l, &a, &e), &e);
    assert_u64(l.v.n, 2);
    assert_true(str_eq(l.v.v[0].name, STR("last")));
    assert_true(str_eq(l.v.v[1].name, STR("c")));
    arena_free(&a);
}

/* ---- build ids ---- */

static void test_htlhash(void **state)
{
    (void)state;
    /* python3: hashlib.sha256(f[:4096] + f[-4096:] + struct.pack('>Q', len(f))).hexdigest()[:32] */
    static const struct {
        size_t n;
        const char *want;
    } cases[] = {{0, "af5570f5a1810b7af78caf4bc70a660f"},
                 {100, "ff9061fbd8a92dc691e14343e5fc1bd2"},
                 {10000, "6e7a367790a0963a1dcd7ad1eaa9e8c3"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *p = malloc(cases[i].n + 1);
        uint8_t out[HTLHASH_BYTES];
        char hex[2 * HTLHASH_BYTES + 1];
        for (size_t k = 0; k < cases[i].n; k++) p[k] = (char)(k * 7);
        htlhash((str){p, cases[i].n}, out);
        hex_encode(out, sizeof out, hex);
        assert_string_equal(hex, cases[i].want);
        free(p);
    }
}

static void test_notes(void **state)
{
    (void)state;
    static const char notes[] = "\4\0\0\0\x10\0\0\0\1\0\0\0GNU\0................"
                                "\4\0\0\0\3\0\0\0\3\0\0\0GNU\0\xab\xcd\xef\0"
                                "\4\0\0\0\7\0\0\0\4\0\0\0Go\0\0a/b/c/d\0";
    build_ids ids = notes_build_ids((str){notes, sizeof notes - 1}, false);
    assert_true(str_eq(ids.gnu, STR("\xab\xcd\xef")));
    assert_true(str_eq(ids.go, STR("a/b/c/d")));
    for (size_t n = 0; n < sizeof notes; n++) (void)notes_build_ids((str){notes, n}, n & 1);
}

/* ---- this program itself ---- */

enum { MARKED_LINE = __LINE__ + 1 };
__attribute__((noinline)) static int marked(int x)
{
    __asm__ volatile("" : "+r"(x));
    return x + 1;
}

static void test_self(void **state)
{
    (void)state;
    buf self = {0};
    arena a = {0};
    err e = {0};
    elf_file f;
    str block;
    index_view x;
    assert_true(test_read("/proc/self/exe", &self));
    assert_ok(elf_read(buf_view(&self), &a, &f, &e), &e);
    assert_true(str_starts(elf_interpreter(&f), STR("/lib")));
    assert_true(str_eq(elf_needed(&f, STR("libc.so")), STR("libc.so.6")));
    assert_int_equal(elf_needed(&f, STR("libmissing")).n, 0);
    assert_true(elf_build_ids(&f).gnu.n <= BUILD_ID_BYTES_MAX);
    assert_ok(index_build(&(index_source){.file = &f, .debug = &f}, &a, &block, &e), &e);
    assert_ok(index_open(block, &x, &e), &e);
    assert_true(x.h.flags & INDEX_HAS_SYMBOLS);
    assert_u64(x.h.n_broken, 0);
    size_t found = 0;
    volatile int one = 1; /* a constant would make gcc create a clone with another name */
    assert_int_equal(marked(one), 2);
    for (uint64_t i = 0; i < x.h.n_rows; i++) {
        index_frame fr[4];
        size_t n = index_find(&x, x.rows[i].address, fr, 4);
        if (n && str_eq(index_text_at(&x, fr[n - 1].linkage_name), STR("marked"))) {
            found++;
            if (x.h.flags & INDEX_HAS_LINES && fr[0].line)
                assert_in_range(fr[0].line, MARKED_LINE, MARKED_LINE + 4);
        }
    }
    assert_true(found);
    buf_free(&self);
    arena_free(&a);
}

/* Runs with every small budget. */
static void test_budget(void **state)
{
    (void)state;
    buf self = {0};
    assert_true(test_read("/proc/self/exe", &self));
    for (size_t budget = 1; budget < 64 << 20; budget += budget / 2 + 1) {
        arena a = {.budget = budget};
        err e = {0};
        elf_file f;
        str block;
        bool ok = elf_read(buf_view(&self), &a, &f, &e) &&
                  index_build(&(index_source){.file = &f, .debug = &f}, &a, &block, &e);
        assert_true(ok || err_exhausted(&e));
        arena_free(&a);
    }
    buf_free(&self);
}

/* A file truncated at any byte is read or rejected. */
static void test_cut(void **state)
{
    (void)state;
    buf self = {0};
    assert_true(test_read("/proc/self/exe", &self));
    for (size_t i = 0; i < 64; i++) {
        size_t n = self.n / 64 * i;
        char *cut = malloc(n + 1);
        memcpy(cut, self.p, n);
        arena a = {.budget = 64 << 20};
        err e = {0};
        elf_file f;
        str block;
        if (elf_read((str){cut, n}, &a, &f, &e))
            (void)!index_build(&(index_source){.file = &f, .debug = &f}, &a, &block, &e);
        arena_free(&a);
        free(cut);
    }
    buf_free(&self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),  cmocka_unit_test(test_order), cmocka_unit_test(test_htlhash),
        cmocka_unit_test(test_notes), cmocka_unit_test(test_self),  cmocka_unit_test(test_budget),
        cmocka_unit_test(test_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
