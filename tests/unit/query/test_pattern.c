/* Tests which strings a pattern of a whole string matches, and with what they may begin. */
#include "query/pattern.h"

#include "../../support/test.h"

typedef struct whole_case {
    const char *pattern, *text;
    bool matches;
    bool may_begin; /* a match may begin with `text`; false is certain */
} whole_case;

static const whole_case cases[] = {
    {"shop", "shop", true, true},
    {"shop", "sh", false, true},
    {"shop", "shops", false, false},
    {"shop", "bank", false, false},
    {"", "shop", false, false},
    {".*", "shop", true, true},
    {".+", "s", true, true},
    {"(?=.{6}).*", "shop", false, true},
    {"shop|bank", "ba", false, true},
    {"shop|bank", "bank", true, true},
    {"shop|bank", "shopper", false, true}, /* not certain */
    {"(shop|bank)-.*", "shop", false, true},
    {"(shop|bank)-.*", "shop-1", true, true},
    {".*java", "shop", false, true},
    {"[a-m].*", "shop", false, false},
    {".{5,}", "shop", false, true}, /* longer than the text */
    {"(?i)SHOP", "sho", false, true},
    {"(?!shop).*", "shop", false, false},
    {"sho?p$", "shp", true, true},
    {"(a+)+b", "aaaaaaaaaaaaaaaa", false, true},
};

static void test_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const whole_case *c = &cases[i];
        arena a = {0};
        err e = {0};
        pattern *p;
        bool yes, may;
        assert_ok(pattern_new_whole(str_of(c->pattern), "test", &a, &p, &e), &e);
        assert_ok(pattern_match(p, str_of(c->text), &yes, &e), &e);
        assert_ok(pattern_may_begin(str_of(c->pattern), str_of(c->text), "test", &a, &may, &e), &e);
        if (yes != c->matches || may != c->may_begin)
            fail_msg("%s, %s: matches %d, may begin %d", c->pattern, c->text, yes, may);
        pattern_free(p);
        arena_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
