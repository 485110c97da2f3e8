/* Tests the report as a format: it is read back without loss and detected by its bytes, and
 * malformed input causes no crash. */
#include "../../support/test.h"

#include "draw/report.h"
#include "draw/viewer.h"
#include "format/html.h"
#include "format/html_order.h"
#include "model/builder.h"
#include "wire/base64.h"
#include "wire/otlp.h"

#include <string.h>

static void make(const char *leaf, arena *a, model *m)
{
    builder b;
    err e = {0};
    assert_true(builder_init(&b, a));
    builder_resource(&b, &(resource){.present = true});
    builder_scope(&b, NULL)->present = true;
    function f = {.name = builder_string(&b, str_of(leaf))};
    line l = {.function = builder_function(&b, &f), .line = 12};
    uint32_t at = builder_location(&b, 0, 0x10, &l, 1, NULL, 0);
    uint32_t stack = builder_stack(&b, &at, 1);
    value_type t = {builder_string(&b, STR("cpu")), builder_string(&b, STR("nanoseconds"))};
    profile *p = builder_profile(&b);
    p->sample_type = t;
    p->has_sample_type = true;
    int64_t v = 42;
    builder_sample(&b, &(sample){.stack = stack, .values = &v, .n_values = 1});
    assert_ok(builder_finish(&b, m, &e), &e);
}

/* Writes a report without the viewer, which a build may lack. The reader does not need it. */
static void wrap(const model *m, const model *base, buf *out)
{
    buf text[2] = {{0}}, otlp = {0}, packed = {0};
    const model *of[] = {m, base};
    err e = {0};
    for (size_t i = 0; i < 2; i++) {
        if (!of[i]) continue;
        buf_reset(&otlp);
        buf_reset(&packed);
        assert_ok(otlp_encode(of[i], NULL, &otlp, &e), &e);
        assert_ok(pack(CODEC_GZIP, buf_view(&otlp), &packed, &e), &e);
        base64_encode(&text[i], buf_view(&packed));
    }
    report_write(&(report){.profile = {STR("p"), buf_view(&text[0])},
                           .base = {STR("b"), buf_view(&text[1])}},
                 out);
    buf_free(&text[0]);
    buf_free(&text[1]);
    buf_free(&otlp);
    buf_free(&packed);
}

static bool read_as(const format *f, str in, arena *a, model *m, ledger *l, err *e)
{
    layout_verdict v = {0};
    return f->read(f, in, &(read_opts){.ledger = l}, a, m, &v, e);
}

static void test_round_trip(void **state)
{
    (void)state;
    arena a = {0};
    model m, other, back;
    err e = {0};
    buf b = {0};
    ledger l = {0};
    make("</script><b>hot", &a, &m);
    make("cold", &a, &other);
    wrap(&m, &other, &b);
    assert_ptr_equal(format_detect(buf_view(&b)), &format_html);
    assert_ok(read_as(&format_html, buf_view(&b), &a, &back, &l, &e), &e);
    assert_ok(model_equal(&m, &back, &e), &e);
    assert_int_equal(l.n, 1);
    assert_int_equal(l.v[0].concept, LOSS_BASE_PROFILE);
    assert_ok(read_as(&format_html_base, buf_view(&b), &a, &back, &l, &e), &e);
    assert_ok(model_equal(&other, &back, &e), &e);
    assert_null(memmem(b.p, b.n, "<b>hot", 6));
    buf_free(&b);
    arena_free(&a);
}

static void test_writer(void **state)
{
    (void)state;
    arena a = {0};
    model m, back;
    err e = {0};
    buf b = {0};
    make("hot", &a, &m);
    if (!viewer_js.n) {
        assert_false(html_write(&m, &(html_opts){0}, &b, &e));
        assert_int_equal(e.code, ERR_SYS);
        print_message("# skip: this build has no viewer\n");
        arena_free(&a);
        skip();
    }
    assert_ok(html_write(&m, &(html_opts){.title = STR("x")}, &b, &e), &e);
    assert_ok(read_as(&format_html, buf_view(&b), &a, &back, NULL, &e), &e);
    assert_ok(model_equal(&m, &back, &e), &e);
    assert_null(memmem(viewer_js.p, viewer_js.n, "</script", 8));
    assert_null(memmem(viewer_css.p, viewer_css.n, "</style", 7));
    buf_free(&b);
    arena_free(&a);
}

static uint32_t add_stack(builder *b, const char *const *names, uint32_t n)
{
    uint32_t at[4];
    for (uint32_t i = 0; i < n; i++) {
        function f = {.name = builder_string(b, str_of(names[i]))};
        line l = {.function = builder_function(b, &f)};
        at[i] = builder_location(b, 0, 0, &l, 1, NULL, 0);
    }
    return builder_stack(b, at, n);
}

static str name_at(const model *m, uint32_t stack, uint32_t i)
{
    const dict *d = &m->dict;
    uint32_t l = d->frames.v[dict_stack(d, stack).at + i];
    return dict_str(d, d->functions.v[d->lines.v[d->locations.v[l].lines.at].function].name);
}

/* Stacks are sorted from the root by name; samples keep their order and their stacks. */
static void test_sorted(void **state)
{
    (void)state;
    static const char *const stacks[][2] = {{"b", "main"}, {"main"}, {"z", "init"}, {"a", "main"}};
    static const char *const want[][2] = {{"z", "init"}, {"main"}, {"a", "main"}, {"b", "main"}};
    static const uint32_t number[] = {4, 2, 1, 3};
    arena a = {0};
    builder b;
    err e = {0};
    model m;
    assert_true(builder_init(&b, &a));
    builder_resource(&b, NULL), builder_scope(&b, NULL), builder_profile(&b);
    for (int64_t i = 0; i < 4; i++) {
        uint32_t stack = add_stack(&b, stacks[i], i == 1 ? 1 : 2);
        builder_sample(&b, &(sample){.stack = stack, .values = &i, .n_values = 1});
    }
    assert_ok(builder_finish(&b, &m, &e), &e);
    model sorted = html_sorted(&m, &a);
    assert_int_equal(dict_n_stacks(&sorted.dict), 5);
    assert_int_equal(dict_stack(&sorted.dict, 0).n, 0);
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t n = dict_stack(&sorted.dict, i + 1).n;
        assert_int_equal(n, i == 1 ? 1 : 2);
        for (uint32_t k = 0; k < n; k++)
            assert_true(str_eq(name_at(&sorted, i + 1, k), str_of(want[i][k])));
        sample s = sample_at(&sorted, &sorted.profiles.v[0], i);
        assert_int_equal(s.stack, number[i]);
        assert_int_equal(s.values[0], i);
    }
    model again = html_sorted(&sorted, &a);
    assert_ptr_equal(again.dict.stacks.v, sorted.dict.stacks.v);
    for (size_t budget = 1; budget < 4096; budget += 8) {
        arena small = {.budget = budget};
        model same = html_sorted(&m, &small);
        assert_int_equal(dict_n_stacks(&same.dict), 5);
        arena_free(&small);
    }
    arena_free(&a);
}

#define HEAD "<!doctype html>\n" REPORT_MARK "1 -->\n"

static void test_malformed_reports(void **state)
{
    (void)state;
    static const struct {
        const char *what, *in, *text;
        uint64_t offset;
    } cases[] = {
        {"no data", HEAD, "the report contains no profile, or is truncated", NO_OFFSET},
        {"another role", HEAD REPORT_DATA "base\">QUJD" REPORT_END,
         "the report contains no profile, or is truncated", NO_OFFSET},
        {"truncated in the tag", HEAD REPORT_DATA "profile\"",
         "the report contains no profile, or is truncated", NO_OFFSET},
        {"truncated in the data", HEAD REPORT_DATA "profile\">QUJD",
         "the report contains no profile, or is truncated", NO_OFFSET},
        {"not base64", HEAD REPORT_DATA "profile\">QU*D" REPORT_END,
         "the embedded profile is not base64", sizeof HEAD - 1 + sizeof REPORT_DATA - 1 + 9 + 2},
        {"no OTLP", HEAD REPORT_DATA "profile\">////" REPORT_END, NULL,
         sizeof HEAD - 1 + sizeof REPORT_DATA - 1 + 9},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        model m;
        err e = {0};
        assert_false(read_as(&format_html, str_of(cases[i].in), &a, &m, NULL, &e));
        assert_int_equal(e.code, ERR_MALFORMED);
        if (cases[i].text) assert_string_equal(e.msg, cases[i].text);
        if (e.offset != cases[i].offset)
            fail_msg("%s: byte %llu", cases[i].what, (unsigned long long)e.offset);
        arena_free(&a);
    }
}

/* Every prefix of a report is rejected or, once the data is complete, read. */
static void test_every_prefix(void **state)
{
    (void)state;
    arena a = {0};
    model m;
    buf b = {0};
    make("hot", &a, &m);
    wrap(&m, NULL, &b);
    for (size_t n = 0; n < b.n; n++) {
        arena t = {0};
        model back;
        err e = {0};
        format_html.detect((str){b.p, n});
        if (!read_as(&format_html, (str){b.p, n}, &t, &back, NULL, &e))
            assert_int_equal(e.code, ERR_MALFORMED);
        arena_free(&t);
    }
    buf_free(&b);
    arena_free(&a);
}

static void test_memory(void **state)
{
    (void)state;
    arena a = {0};
    model m;
    buf b = {0};
    make("hot", &a, &m);
    wrap(&m, NULL, &b);
    for (size_t budget = 64; budget < 64 * 1024; budget += 640) {
        arena t = {.budget = budget};
        model back;
        err e = {0};
        if (!read_as(&format_html, buf_view(&b), &t, &back, NULL, &e))
            assert_int_equal(e.code, ERR_MEMORY);
        arena_free(&t);
    }
    buf_free(&b);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),   cmocka_unit_test(test_writer),
        cmocka_unit_test(test_sorted),       cmocka_unit_test(test_malformed_reports),
        cmocka_unit_test(test_every_prefix), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
