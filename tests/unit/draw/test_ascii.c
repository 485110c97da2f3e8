/* Special characters are replaced by ASCII. */
#include "../../support/test.h"

#include "draw/ascii.h"

static void test_marks(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", ""},
        {"plain ~ text", "plain ~ text"},
        {"│all 11.6 s│", "|all 11.6 s|"},
        {"std::vec…", "std::vec~"},
        {"▲ grew ▼ → ≠", "^ grew v > !"},
        {"░▒▓█▏▉▀▄", ".+%#|#\"_"},
        {"プロファイラ é", "プロファイラ é"}, /* names are unchanged */
        {"cut \xe2\x96", "cut \xe2\x96"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[64];
        snprintf(text, sizeof text, "%s", cases[i].text);
        text[ascii_marks(text, strlen(text))] = '\0';
        assert_string_equal(text, cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_marks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
