/* Unicode 15, table 3-7: every row at its boundaries, and one step outside each. */
#include "../../support/test.h"

#include "base/utf8.h"

#include <string.h>

static const struct {
    const char *name, *bytes;
    size_t n, valid; /* valid: bytes before the first invalid one */
} cases[] = {
    {"empty", "", 0, 0},
    {"ASCII", "abc", 3, 3},
    {"NUL is a character", "a\0b", 3, 3},
    {"DEL", "\x7f", 1, 1},
    {"row 2 first", "\xc2\x80", 2, 2},
    {"row 2 last", "\xdf\xbf", 2, 2},
    {"row 3 first", "\xe0\xa0\x80", 3, 3},
    {"row 3 last", "\xe0\xbf\xbf", 3, 3},
    {"row 4 first", "\xe1\x80\x80", 3, 3},
    {"row 4 last", "\xec\xbf\xbf", 3, 3},
    {"row 5 first", "\xed\x80\x80", 3, 3},
    {"row 5 last, before the surrogates", "\xed\x9f\xbf", 3, 3},
    {"row 6 first, after the surrogates", "\xee\x80\x80", 3, 3},
    {"row 6 last", "\xef\xbf\xbf", 3, 3},
    {"row 7 first", "\xf0\x90\x80\x80", 4, 4},
    {"row 7 last", "\xf0\xbf\xbf\xbf", 4, 4},
    {"row 8 first", "\xf1\x80\x80\x80", 4, 4},
    {"row 8 last", "\xf3\xbf\xbf\xbf", 4, 4},
    {"row 9 first", "\xf4\x80\x80\x80", 4, 4},
    {"row 9 last, U+10FFFF", "\xf4\x8f\xbf\xbf", 4, 4},

    {"lone continuation", "\x80", 1, 0},
    {"last continuation", "\xbf", 1, 0},
    {"C0 is overlong", "\xc0\x80", 2, 0},
    {"C1 is overlong", "\xc1\xbf", 2, 0},
    {"E0 below A0 is overlong", "\xe0\x9f\xbf", 3, 0},
    {"E0 above BF", "\xe0\xc0\x80", 3, 0},
    {"first surrogate", "\xed\xa0\x80", 3, 0},
    {"last surrogate", "\xed\xbf\xbf", 3, 0},
    {"F0 below 90 is overlong", "\xf0\x8f\xbf\xbf", 4, 0},
    {"F4 above 8F is past U+10FFFF", "\xf4\x90\x80\x80", 4, 0},
    {"F5", "\xf5\x80\x80\x80", 4, 0},
    {"F8, five bytes", "\xf8\x88\x80\x80\x80", 5, 0},
    {"FC, six bytes", "\xfc\x84\x80\x80\x80\x80", 6, 0},
    {"FE", "\xfe", 1, 0},
    {"FF", "\xff", 1, 0},
    {"two of two missing", "\xc2", 1, 0},
    {"two of three missing", "\xe1\x80", 2, 0},
    {"three of four missing", "\xf1\x80\x80", 3, 0},
    {"second is no continuation", "\xc3(", 2, 0},
    {"third is no continuation", "\xe1\x80(", 3, 0},
    {"fourth is no continuation", "\xf1\x80\x80(", 4, 0},
    {"third is a lead", "\xe1\x80\xc2\x80", 4, 0},
    {"good before bad", "ab\xc3\xa4\xff", 5, 4},
    {"cut at the end", "abc\xe2\x82", 5, 3},
};

static void table_3_7(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t got = utf8_valid(cases[i].bytes, cases[i].n);
        if (got != cases[i].valid) fail_msg("%s: %zu bytes are valid", cases[i].name, got);
        assert_int_equal(utf8_ok(cases[i].bytes, cases[i].n), cases[i].valid == cases[i].n);
    }
}

/* Checking eight bytes per step must not hide errors: every case at every offset, in memory of
 * exactly its size. */
static void at_every_distance(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (size_t before = 0; before < 20; before++) {
            for (size_t after = 0; after < 20; after++) {
                size_t n = before + cases[i].n + after;
                char *p = malloc(n ? n : 1);
                memset(p, 'x', n ? n : 1);
                memcpy(p + before, cases[i].bytes, cases[i].n);
                size_t want = cases[i].valid == cases[i].n ? n : before + cases[i].valid;
                assert_u64(utf8_valid(p, n), want);
                free(p);
            }
        }
    }
}

static void all_code_points_round_trip(void **state)
{
    (void)state;
    char out[4];
    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        size_t n = utf8_put(c, out);
        assert_u64(n, c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4);
        bool surrogate = c >= 0xd800 && c < 0xe000;
        assert_int_equal(utf8_ok(out, n), !surrogate);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_3_7),
        cmocka_unit_test(at_every_distance),
        cmocka_unit_test(all_code_points_round_trip),
    };
    return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
