/* Requests in JSON and protobuf, in the spellings that clients mix. */
#include "pyroscope/request.h"

#include "../../support/test.h"
#include "wire/otlp_json.h"

typedef struct read_result {
    arena a;
    buf pb;
    pyro_request r;
    err e;
} read_result;

static bool from_json(read_result *x, const message_desc *d, const char *text)
{
    *x = (read_result){0};
    json j = json_open(text, strlen(text), &x->a, &x->e);
    return otlp_json_read_message(&j, d, &x->pb, NULL) && json_finish(&j) &&
           pyro_request_read(d, buf_view(&x->pb), &x->a, &x->r, &x->e);
}

static void done(read_result *x)
{
    buf_free(&x->pb);
    arena_free(&x->a);
}

/* A real request of the Profiles Drilldown app. */
static void test_spellings(void **state)
{
    (void)state;
    read_result x;
    assert_ok(from_json(&x, &pyro_select_series,
                        "{\"profile_typeID\":\"a:b:c:d:e\",\"label_selector\":\"{x=\\\"y\\\",}\","
                        "\"start\":\"1000\",\"end\":4000,\"groupBy\":[\"a\",\"b\"],\"step\":15,"
                        "\"stackTraceSelector\":{\"call_site\":[{\"name\":\"main\"},{}]},"
                        "\"aggregation\":\"TIME_SERIES_AGGREGATION_TYPE_AVERAGE\",\"limit\":0,"
                        "\"unknown\":[{\"a\":1}],\"exemplarType\":3}"),
              &x.e);
    assert_true(str_eq(x.r.profile_type, STR("a:b:c:d:e")));
    assert_true(str_eq(x.r.selector, STR("{x=\"y\",}")));
    assert_int_equal(x.r.start, 1000);
    assert_int_equal(x.r.end, 4000);
    assert_int_equal(x.r.group_by.n, 2);
    assert_true(x.r.step == 15);
    assert_int_equal(x.r.call_site.n, 2);
    assert_true(str_eq(x.r.call_site.v[0], STR("main")) && !x.r.call_site.v[1].n);
    assert_int_equal(x.r.aggregation, PYRO_AVERAGE);
    assert_true(x.r.has_limit && !x.r.limit && !x.r.has_max_nodes);
    assert_int_equal(x.r.exemplars, PYRO_EXEMPLARS_SPAN);
    done(&x);
}

static void test_children(void **state)
{
    (void)state;
    read_result x;
    assert_ok(from_json(&x, &pyro_diff,
                        "{\"left\":{\"profileTypeID\":\"l\",\"maxNodes\":7},"
                        "\"right\":{\"profile_typeID\":\"r\",\"format\":\"PROFILE_FORMAT_TREE\"}}"),
              &x.e);
    assert_non_null(x.r.left);
    assert_non_null(x.r.right);
    assert_true(str_eq(x.r.left->profile_type, STR("l")) && x.r.left->max_nodes == 7);
    assert_true(str_eq(x.r.right->profile_type, STR("r")));
    assert_int_equal(x.r.right->format, PYRO_FORMAT_TREE);
    done(&x);
    assert_ok(from_json(&x, &pyro_set_setting, "{\"setting\":{\"name\":\"n\",\"value\":\"v\"}}"),
              &x.e);
    assert_true(str_eq(x.r.name, STR("n")) && str_eq(x.r.value, STR("v")));
    done(&x);
}

static void test_bad(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"{\"format\":\"PROFILE_FORMAT_PNG\"}", "no value of this name"},
        {"{\"start\":\"x\"}", "x"},
        {"{\"spanSelector\":\"a\"}", "array"},
        {"{\"profileIdSelector\":[1]}", "string"},
        {"[]", "object"},
        {"{", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        read_result x;
        assert_false(from_json(&x, &pyro_stacktraces, cases[i].text));
        assert_int_equal(x.e.code, ERR_MALFORMED);
        if (!strstr(x.e.msg, cases[i].reason)) fail_msg("%s: %s", cases[i].text, x.e.msg);
        done(&x);
    }
}

/* Wrong wire types and endless lists. */
static void test_bytes(void **state)
{
    (void)state;
    arena a = {0};
    pyro_request r;
    err e = {0};
    assert_false(pyro_request_read(&pyro_label_names, STR("\x10"), &a, &r, &e));
    assert_int_equal(e.code, ERR_MALFORMED);
    e = (err){0};
    assert_false(pyro_request_read(&pyro_label_names, STR("\x12\x01x"), &a, &r, &e));
    assert_int_equal(e.code, ERR_MALFORMED);
    e = (err){0};
    assert_false(pyro_request_read(&pyro_label_names, STR("\x0a\x01\xff"), &a, &r, &e));
    assert_non_null(strstr(e.msg, "UTF-8"));
    static char many[2 * (PYRO_LIST_MAX + 1)];
    for (size_t i = 0; i < sizeof many; i += 2) many[i] = '\x0a';
    e = (err){0};
    assert_ok(pyro_request_read(&pyro_label_names, (str){many, sizeof many - 2}, &a, &r, &e), &e);
    assert_int_equal(r.matchers.n, PYRO_LIST_MAX);
    assert_false(pyro_request_read(&pyro_label_names, (str){many, sizeof many}, &a, &r, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spellings),
        cmocka_unit_test(test_children),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
