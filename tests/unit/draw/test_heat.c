/* Heat maps: grid, ticks, terminal and SVG output, limits. */
#include "draw/heat.h"
#include "draw/palette.h"

#include "../../support/test.h"

/* Three seconds of four rows: a large cell, a small one, an empty second. */
static int64_t sums[] = {10, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 5};
static const heat example = {.start = 1700000000000000000,
                             .columns = 3,
                             .rows = 4,
                             .row_ns = 250000000,
                             .sum = sums,
                             .max = 10};

static void test_grid(void **state)
{
    (void)state;
    arena a = {0};
    err e = {0};
    heat_grid g;
    assert_ok(heat_grid_of(&example, 100, &a, &g, &e), &e);
    assert_int_equal(g.per, 1);
    assert_int_equal(g.columns, 3);
    assert_int_equal(g.max, 10);
    assert_int_equal(heat_level(&g, 0), 0);
    assert_int_equal(heat_level(&g, -5), 0);
    assert_int_equal(heat_level(&g, 1), 2);
    assert_int_equal(heat_level(&g, 10), PALETTE_HEAT - 1);
    assert_ok(heat_grid_of(&example, 2, &a, &g, &e), &e); /* two seconds per column */
    assert_int_equal(g.per, 2);
    assert_int_equal(g.columns, 2);
    assert_int_equal(g.sum[0], 10);
    assert_int_equal(g.sum[4 + 3], 5);
    arena_free(&a);
}

static void test_ticks(void **state)
{
    (void)state;
    assert_int_equal(heat_tick(&(heat_grid){.per = 1}, 8), 10);
    assert_int_equal(heat_tick(&(heat_grid){.per = 2}, 8), 30);
    assert_int_equal(heat_tick(&(heat_grid){.per = 7}, 8), 63);
}

static void test_terminal(void **state)
{
    (void)state;
    arena a = {0};
    err e = {0};
    buf b = {0};
    assert_ok(heat_term(&example, &(heat_opts){.unit = STR("count")}, &a, &b, &e), &e);
    buf_putc(&b, '\0');
    assert_string_equal(b.p, "             ▒▒▒\n"
                             "  0 ms ███   ░░░\n"
                             "       0 s\n"
                             "       ░▒▓█ up to 10 per cell; from 2023-11-14 22:13:20.000 UTC\n");
    buf_free(&b);
    assert_ok(heat_term(&example, &(heat_opts){.term_color = TERM_COLOR_RGB}, &a, &b, &e), &e);
    buf_putc(&b, '\0');
    assert_non_null(
        strstr(b.p, "\033[38;2;255;210;76m▄▄▄\033[0m")); /* the lower half of its cell */
    buf_free(&b);
    arena_free(&a);
}

static void test_svg(void **state)
{
    (void)state;
    arena a = {0};
    err e = {0};
    buf b = {0};
    heat_opts o = {
        .title = STR("<a&b>"), .type = STR("cpu"), .unit = STR("count"), .subject = STR("'a b'")};
    assert_ok(heat_svg(&example, &o, &a, &b, &e), &e);
    buf_putc(&b, '\0');
    assert_non_null(strstr(b.p, "<title>&lt;a&amp;b&gt;</title>"));
    assert_non_null(
        strstr(b.p, "<path class=\"h15\" d=\"M56 111h19v8h-19z\"><title>9 – 10</title>"));
    assert_non_null(strstr(b.p, "<metadata id=\"cells\">[10,0,0,0,0,0,0,0,0,1,0,5]</metadata>"));
    assert_null(strstr(b.p, "<path class=\"h4\""));
    buf_free(&b);
    arena_free(&a);
}

static void test_budget(void **state)
{
    (void)state;
    bool done = false;
    for (size_t budget = 16; !done && budget < 4096; budget += 16) {
        arena a = {.budget = budget};
        err e = {0};
        buf b = {0};
        done = heat_term(&example, &(heat_opts){0}, &a, &b, &e);
        assert_true(done || err_exhausted(&e));
        buf_free(&b);
        arena_free(&a);
    }
    assert_true(done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grid), cmocka_unit_test(test_ticks),  cmocka_unit_test(test_terminal),
        cmocka_unit_test(test_svg),  cmocka_unit_test(test_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
