/* Formatting of numbers, times and untrusted text. */
#include "draw/human.h"
#include "draw/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char out[HUMAN_MAX];

/* The viewer formats the same numbers in the same way: ui/test/rate.test.ts. */
static void test_shared_cases(void **state)
{
    (void)state;
    char path[4096], line[160];
    const char *src = getenv("KILN_SRC");
    snprintf(path, sizeof path, "%s/tests/support/human_cases.txt", src ? src : ".");
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    size_t n = 0;
    while (fgets(line, sizeof line, f)) {
        if (*line == '#') continue;
        char *field[6] = {0}, *rest = line;
        for (size_t i = 0; i < ARRAY_LEN(field) && rest; i++) field[i] = strsep(&rest, "\t\n");
        uint64_t v = strtoull(field[1], NULL, 10);
        if (!strcmp(field[0], "rate"))
            assert_string_equal(human_rate(strtod(field[3], NULL),
                                           strtoull(field[4], NULL, 10) * UINT64_C(1000000000),
                                           str_of(field[1]), str_of(field[2]), out),
                                field[5]);
        else
            assert_string_equal(
                strcmp(field[0], "bytes") ? human_duration(v, out) : human_bytes(v, out), field[2]);
        n++;
    }
    fclose(f);
    assert_true(n > 20);
}

static void test_bytes(void **state)
{
    (void)state;
    assert_string_equal(human_bytes(0, out), "0 B");
    assert_string_equal(human_bytes(999, out), "999 B");
    assert_string_equal(human_bytes(1000, out), "0.98 KiB");
    assert_string_equal(human_bytes(25119, out), "24.5 KiB");
    assert_string_equal(human_bytes(3123970048, out), "2.91 GiB");
    assert_string_equal(human_bytes(UINT64_MAX, out), "16 EiB");
}

static void test_count(void **state)
{
    (void)state;
    assert_string_equal(human_count(0, out), "0");
    assert_string_equal(human_count(999, out), "999");
    assert_string_equal(human_things(1, "item", out), "1 item");
    assert_string_equal(human_things(0, "item", out), "0 items");
    assert_string_equal(human_things(11917, "item", out), "11 917 items");
    assert_string_equal(human_count(11917, out), "11 917");
    assert_string_equal(human_count(UINT64_MAX, out), "18 446 744 073 709 551 615");
}

static void test_duration(void **state)
{
    (void)state;
    assert_string_equal(human_duration(0, out), "0 s");
    assert_string_equal(human_duration(7, out), "7 ns");
    assert_string_equal(human_duration(1500, out), "1.5 us");
    assert_string_equal(human_duration(50000000, out), "50 ms");
    assert_string_equal(human_duration(999999999, out), "1 s");
    assert_string_equal(human_duration(5849910424, out), "5.85 s");
    assert_string_equal(human_duration(119999999999, out), "120 s");
    assert_string_equal(human_duration(3600000000000, out), "60 min 00 s");
    assert_string_equal(human_duration(7325000000000, out), "2 h 02 min");
    assert_string_equal(human_duration(UINT64_MAX, out), "213503 d 23 h");
}

static void test_time(void **state)
{
    (void)state;
    assert_string_equal(human_time(1762161245250000000, out), "2025-11-03 09:14:05.250 UTC");
    assert_string_equal(human_time(UINT64_MAX, out), "2554-07-21 23:34:33.709 UTC");
}

static void test_value(void **state)
{
    (void)state;
    assert_string_equal(human_value(1169000000, STR("nanoseconds"), out), "1.17 s");
    assert_string_equal(human_value(12, STR("ms"), out), "12 ms");
    assert_string_equal(human_value(2048, STR("By"), out), "2 KiB");
    assert_string_equal(human_value(4600, STR("count"), out), "4 600");
    assert_string_equal(human_value(-4600, STR("objects"), out), "-4 600 objects");
    assert_string_equal(human_value(INT64_MIN, STR("seconds"), out),
                        "-9 223 372 036 854 775 808 seconds");
    assert_string_equal(human_value(1, STR("aunitthatislongerthanallothers"), out),
                        "1 aunitthatislonge");
    assert_string_equal(human_percent(1, 3, out), "33 %");
    assert_string_equal(human_percent(1, 250, out), "0.4 %");
    assert_string_equal(human_percent(0, 0, out), "0 %");
}

static void clip(str s, size_t width, const char *want)
{
    buf b = {0};
    text_clipped(&b, s, width);
    buf_putc(&b, '\0');
    assert_string_equal(b.p, want);
    buf_free(&b);
}

static void test_text(void **state)
{
    (void)state;
    clip(STR("short"), 10, "short");
    clip(STR("exactly"), 7, "exactly");
    clip(STR("too long"), 5, "too …");
    clip(STR("größer"), 6, "größer");
    clip(STR("größer"), 4, "grö…");
    clip(STR("\033[31mred\007"), 20, "?[31mred?");
    clip(STR("\xc2\x9b"
             "31m"),
         20, "?31m"); /* a C1 control */
    clip(STR("bad \xff\xfe utf8\xc3"), 20, "bad ?? utf8?");
    buf b = {0};
    text_padded(&b, STR("ü"), 3);
    text_repeat(&b, "█", 2);
    buf_putc(&b, '\0');
    assert_string_equal(b.p, "ü  ██");
    buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),        cmocka_unit_test(test_count),
        cmocka_unit_test(test_duration),     cmocka_unit_test(test_time),
        cmocka_unit_test(test_value),        cmocka_unit_test(test_text),
        cmocka_unit_test(test_shared_cases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
