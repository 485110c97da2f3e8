/* Divisors of amounts, recorded time, and suggestions for unknown names. */
#include "../../support/test.h"

#include "model/builder.h"
#include "query/diff.h"
#include "query/named.h"
#include "query/per.h"
#include "query/samples.h"
#include <math.h>

static const struct {
    const char *text;
    per_kind kind;
    const char *what; /* NULL: rejected */
    size_t n;
} texts[] = {
    {"run", PER_RUN, "", 0},
    {"second", PER_SECOND, "", 0},
    {"attribute:http.requests", PER_ATTRIBUTE, "http.requests", 0},
    {"calibration:^spin$", PER_FRAME, "^spin$", 0},
    {"1000,1200", PER_NUMBERS, "", 2},
    {"1,2.5,3,4", PER_NUMBERS, "", 4},
    {"", 0, NULL, 0},
    {"seconds", 0, NULL, 0},
    {"attribute:", 0, NULL, 0},
    {"calibration:", 0, NULL, 0},
    {"1000", 0, NULL, 0},
    {"1000,", 0, NULL, 0},
    {"1000,0", 0, NULL, 0},
    {"1000,-2", 0, NULL, 0},
    {"1000;2", 0, NULL, 0},
};

static void test_parse(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        per p;
        err e = {0};
        bool ok = per_parse(str_of(texts[i].text), &p, &e);
        if (!texts[i].what) {
            if (ok) fail_msg("%s was accepted", texts[i].text);
            assert_int_equal(e.code, ERR_USAGE);
            assert_non_null(strstr(e.msg, "run, second, attribute:KEY"));
            continue;
        }
        assert_ok(ok, &e);
        assert_int_equal(p.kind, texts[i].kind);
        assert_true(str_eq(p.what, str_of(texts[i].what)));
        assert_u64(p.n, texts[i].n);
    }
}

/* ---- a recording of two processes, 10 s each, which overlap for 4 s ---- */

typedef struct made {
    arena a;
    builder b;
    model m;
    frame_table frames;
    view v;
} made;

static void add_sample(made *x, const char *name, int64_t value)
{
    function fn = {.name = builder_string(&x->b, str_of(name))};
    line l = {.function = builder_function(&x->b, &fn)};
    uint32_t at = builder_location(&x->b, 0, value > 0 ? (uint64_t)value : 1, &l, 1, NULL, 0);
    builder_sample(
        &x->b, &(sample){.stack = builder_stack(&x->b, &at, 1), .values = &value, .n_values = 1});
}

static void add_process(made *x, uint64_t start_s, any requests)
{
    keyvalue kv = {.key = STR("requests"), .value = requests};
    resource r = {.attrs = {&kv, 1}};
    builder_resource(&x->b, &r);
    builder_scope(&x->b, NULL);
    profile *p = builder_profile(&x->b);
    p->sample_type =
        (value_type){builder_string(&x->b, STR("cpu")), builder_string(&x->b, STR("count"))};
    p->has_sample_type = true;
    p->time_unix_nano = start_s * 1000000000;
    p->duration_nano = 10000000000;
    add_sample(x, "json::Reader::parse", 30);
    add_sample(x, "spin", 10);
}

static void make(made *x)
{
    err e = {0};
    *x = (made){0};
    assert_true(builder_init(&x->b, &x->a));
    add_process(x, 100, (any){.kind = ANY_INT, .i = 40});
    add_process(x, 106, (any){.kind = ANY_STRING, .s = "2.5", .n = 3});
    assert_ok(builder_finish(&x->b, &x->m, &e), &e);
    assert_ok(
        view_of(&x->m, &(select_opts){.all = true}, BY_FUNCTION, &x->a, &x->frames, &x->v, &e), &e);
}

static bool amount(made *x, const char *text, per_amount *out, err *e)
{
    per p;
    per_recording r = {.v = &x->v, .after = true, .at = 1, .n = 2};
    *e = (err){0};
    return per_parse(str_of(text), &p, e) && per_of(&p, &r, out, e);
}

static void test_amounts(void **state)
{
    (void)state;
    made x;
    per_amount got;
    err e;
    make(&x);
    assert_true(amount(&x, "run", &got, &e) && got.v == 1 && got.samples == 0);
    assert_true(amount(&x, "second", &got, &e) &&
                fabs(got.v - 16) < 1e-9); /* overlapping time counts once */
    assert_true(amount(&x, "attribute:requests", &got, &e) && got.v == 42.5);
    assert_true(amount(&x, "7,9", &got, &e) && got.v == 9);
    assert_true(amount(&x, "calibration:spin", &got, &e) && got.v == 20 && got.samples == 20);

    assert_false(amount(&x, "1,2,3", &got, &e));
    assert_non_null(strstr(e.msg, "3 numbers for 2 recordings"));
    assert_false(amount(&x, "attribute:reqests", &got, &e));
    assert_non_null(strstr(e.msg, "nearest: requests"));
    assert_false(amount(&x, "calibration:spun", &got, &e));
    assert_string_equal(e.msg,
                        "the calibration matches no frame; nearest: spin, json::Reader::parse");
    arena_free(&x.a);
}

/* Only the time between --start and --end counts. */
static void test_seconds_of_a_window(void **state)
{
    (void)state;
    made x;
    err e = {0};
    double s;
    make(&x);
    view_init(&x.v, &x.frames, &x.a);
    select_opts o = {.all = true, .start = 104000000000, .end = 108000000000};
    assert_ok(view_add(&x.v, &x.m, &o, 1, &e), &e);
    assert_true(view_seconds(&x.v, &s, &e) && fabs(s - 4) < 1e-9);
    arena_free(&x.a);
}

static void test_nearest(void **state)
{
    (void)state;
    static const char *const wanted[] = {"parze", "json::reader::prase", "^Parse\\("};
    made x;
    make(&x);
    for (size_t i = 0; i < 3; i++) {
        err e = {0};
        const view *v = &x.v;
        assert_false(named_nothing(&v, 1, str_of(wanted[i]), "it", &e));
        assert_string_equal(e.msg, "it matches no frame; nearest: json::Reader::parse, spin");
    }
    named n;
    err e = {0};
    assert_true(named_in(&x.v, STR("parse"), false, "it", &n, &e) && n.any && n.sum == 60);
    assert_true(named_in(&x.v, STR("missing"), false, "it", &n, &e) && !n.any && n.sum == 0);
    arena_free(&x.a);
}

/* Running out of memory is an error at every step. */
static void test_budget(void **state)
{
    (void)state;
    made x;
    make(&x);
    for (size_t budget = 64; budget < 16384; budget += 64) {
        arena small = {.budget = budget};
        recording r = {&x.v, 1, 0};
        diff d;
        err e = {0};
        bool ok = diff_of(&r, 1, &r, 1, &(diff_opts){.spread = -1}, &small, &d, &e);
        assert_true(ok || err_exhausted(&e));
        if (ok) assert_u64(d.n_changed, 0);
        arena_free(&small);
    }
    arena_free(&x.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_amounts),
        cmocka_unit_test(test_seconds_of_a_window),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
