/* XML text, columns of text, colours of terminals. */
#include "draw/palette.h"
#include "draw/text.h"
#include "draw/xml.h"

#include "../../support/test.h"

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        double v;
        const char *want;
    } cases[] = {
        {0, "0"},      {12, "12"},       {0.1, "0.1"},   {0.125, "0.125"},
        {1.0004, "1"}, {99.9996, "100"}, {-2.5, "-2.5"}, {1234.56, "1234.56"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf b = {0};
        xml_number(&b, cases[i].v);
        buf_putc(&b, '\0');
        assert_string_equal(b.p, cases[i].want);
        buf_free(&b);
    }
}

static void test_columns(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t columns, width;
        const char *clipped;
    } cases[] = {
        {"plain", 5, 5, "plain"},
        {"plain", 5, 4, "pla…"},
        {"日本語", 6, 6, "日本語"},
        {"日本語", 6, 5, "日本…"},
        {"日本語", 6, 4, "日…"}, /* half an ideograph does not fit */
        {"e\xcc\x81t\xc3\xa9", 3, 3, "e\xcc\x81t\xc3\xa9"},
        {"a\x1b[2J", 5, 9, "a?[2J"},
        {"a\xe2\x80\xae"
         "b",
         3, 9, "a?b"}, /* would reverse the direction of the line */
        {"\xff\xfe", 2, 2, "??"},
        {"x", 1, 0, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf b = {0};
        assert_int_equal(text_columns(str_of(cases[i].text)), cases[i].columns);
        size_t n = text_clipped(&b, str_of(cases[i].text), cases[i].width);
        assert_true(n <= cases[i].width);
        buf_putc(&b, '\0');
        assert_string_equal(b.p, cases[i].clipped);
        buf_free(&b);
    }
}

static void test_256(void **state)
{
    (void)state;
    assert_int_equal(palette_256(0x000000), 16);
    assert_int_equal(palette_256(0xffffff), 231);
    assert_int_equal(palette_256(0xff0000), 196);
    assert_int_equal(palette_256(0x5f87af), 67);
    assert_int_equal(palette_256(0x808080), 244);
    for (uint32_t c = 0; c <= 0xffffff; c += 0x1357) {
        unsigned k = palette_256(c);
        assert_true(k >= 16 && k <= 255);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_256),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
