/* Layouts v1.3 to v1.7: cases that no vector has, in messages built here. */
#include "../../support/old_layouts.h"

/* ---- v1.7 ---- */

static void order_on_the_scope(void **state)
{
    (void)state;
    v7 x = v7_new(2);
    buf s = {0};
    LIST(&s, 3, 11, 22);
    sub(&x.prof, 2, &s);
    pb_put_uint(&x.prof, 9, 1); /* the second type is the default */
    buf in = envelope(&x.prof, &x.dictionary);
    run r = decode_ok(in.p, in.n, LAYOUT_1_7);
    assert_str(type_name(&r, 0), "heap");
    assert_str(type_name(&r, 1), "cpu");
    VALUES(&r, 0, 0, 22);
    VALUES(&r, 1, 0, 11);
    const any *order = scope_attr(&r, 0, PPROF_ATTR_SAMPLE_TYPE_ORDER);
    assert_int_equal(order->n, 2);
    assert_int_equal(order->array[0].i, 1);
    assert_int_equal(order->array[1].i, 0);
    assert_str(any_str(scope_attr(&r, 0, PPROF_ATTR_DEFAULT_SAMPLE_TYPE)), "heap");
    assert_true(r.m.scopes.v[0].present);
    assert_null(profile_attr(&r, 0, KILN_ATTR_SAMPLE_TYPE_ORDER));
    done(&r, &in);
}

/* How values and timestamps are paired. */
static void timestamps(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned types;
        int64_t v[3];
        size_t n_v, n_t;
        int64_t want[3];
        size_t n_want;
        const char *value; /* kiln.timestamp_values */
    } cases[] = {
        {"no timestamp", 1, {5}, 1, 0, {5}, 1, NULL},
        {"one", 1, {5}, 1, 1, {5}, 1, NULL},
        {"neither values nor timestamps", 1, {0}, 0, 0, {0}, 0, NULL},
        {"timestamps only", 1, {0}, 0, 2, {0}, 0, NULL},
        {"already paired", 1, {7, 8, 9}, 3, 3, {7, 8, 9}, 3, NULL},
        {"one each", 1, {1}, 1, 3, {1, 1, 1}, 3, "each"},
        {"spread", 1, {11}, 1, 3, {5, 3, 3}, 3, "spread"},
        {"spread evenly", 1, {3}, 1, 3, {1, 1, 1}, 3, "spread"},
        {"spread below zero", 1, {-5}, 1, 3, {-1, -2, -2}, 3, "spread"},
        {"no type at all", 0, {4}, 1, 0, {4}, 1, NULL},
        {"two types", 2, {10, 1}, 2, 2, {5, 5}, 2, "spread"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        v7 x = v7_new(cases[i].types);
        buf s = {0};
        uint64_t v[3], t[3] = {100, 200, 300};
        for (size_t k = 0; k < 3; k++) v[k] = (uint64_t)cases[i].v[k];
        if (cases[i].n_v) put_list(&s, 3, cases[i].n_v, v);
        if (cases[i].n_t) put_list(&s, 6, cases[i].n_t, t);
        sub(&x.prof, 2, &s);
        buf in = envelope(&x.prof, &x.dictionary);
        run r = decode_ok(in.p, in.n, LAYOUT_1_7);
        assert_values(&r, 0, 0, cases[i].n_want, cases[i].want);
        sample got = sample_at(&r.m, &r.m.profiles.v[0], 0);
        assert_int_equal(got.n_times, cases[i].n_t);
        const any *value = profile_attr(&r, 0, KILN_ATTR_TIMESTAMP_VALUES);
        assert_int_equal(value != NULL, cases[i].value != NULL);
        if (value) {
            assert_str(any_str(value), cases[i].value);
            assert_string_equal(find_loss(&r, LOSS_TIMESTAMP)->carried_as,
                                KILN_ATTR_TIMESTAMP_VALUES);
        }
        done(&r, &in);
    }
}

static void one_larger_value_means_totals(void **state)
{
    (void)state;
    v7 x = v7_new(1);
    for (uint64_t v = 1; v <= 2; v++) {
        buf s = {0};
        LIST(&s, 3, v);
        LIST(&s, 6, 100, 200);
        sub(&x.prof, 2, &s);
    }
    buf in = envelope(&x.prof, &x.dictionary);
    run r = decode_ok(in.p, in.n, LAYOUT_1_7);
    VALUES(&r, 0, 0, 1, 0);
    VALUES(&r, 0, 1, 1, 1);
    done(&r, &in);
}

/* ---- v1.3 ---- */

static void v3_last_type_first(void **state)
{
    (void)state;
    static const struct {
        uint64_t set;
        const char *first, *value;
    } cases[] = {{0, "heap", NULL}, {1, "cpu", "cpu"}, {4, "heap", "bytes"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf prof = {0};
        put_v3_types(&prof, 2);
        if (cases[i].set) pb_put_uint(&prof, 14, cases[i].set);
        buf in = container(&prof);
        run r = decode_ok(in.p, in.n, LAYOUT_1_3);
        assert_str(type_name(&r, 0), cases[i].first);
        const any *value = scope_attr(&r, 0, PPROF_ATTR_DEFAULT_SAMPLE_TYPE);
        assert_int_equal(value != NULL, cases[i].value != NULL);
        if (value) assert_str(any_str(value), cases[i].value);
        done(&r, &in);
    }
}

static void v3_doc_url(void **state)
{
    (void)state;
    for (int sliced = 0; sliced < 2; sliced++) {
        buf prof = {0}, s = {0}, loc = {0};
        put_v3_types(&prof, 1);
        pb_put_uint(&loc, 3, 0x1234);
        for (int i = 0; i < 4; i++) pb_put_bytes(&prof, 4, buf_view(&loc));
        buf_free(&loc);
        LIST(&s, 2, 1);
        if (sliced) pb_put_uint(&s, 8, 1);
        sub(&prof, 2, &s);
        pb_put_uint(&prof, 15, 3); /* doc_url of pprof, or one location unpacked */
        buf in = container(&prof);
        run r = decode_ok(in.p, in.n, LAYOUT_1_3);
        const any *url = profile_attr(&r, 0, PPROF_ATTR_DOC_URL);
        assert_int_equal(url == NULL, sliced);
        if (url) assert_str(any_str(url), "heap");
        assert_int_equal(sample_at(&r.m, &r.m.profiles.v[0], 0).stack != 0, sliced);
        done(&r, &in);
    }
}

static void v3_milliseconds(void **state)
{
    (void)state;
    static const struct {
        uint64_t in, out;
    } cases[] = {
        {1700000000123, 1700000000123000000}, {1700000000123000000, 1700000000123000000}, {0, 0}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf prof = {0}, s = {0};
        put_v3_types(&prof, 1);
        LIST(&s, 2, 1);
        LIST(&s, 13, cases[i].in);
        sub(&prof, 2, &s);
        buf in = container(&prof);
        run r = decode_ok(in.p, in.n, LAYOUT_1_3);
        sample got = sample_at(&r.m, &r.m.profiles.v[0], 0);
        assert_int_equal(got.times[0], cases[i].out);
        bool ms = profile_attr(&r, 0, KILN_ATTR_TIMESTAMP_UNIT) != NULL;
        assert_int_equal(ms, cases[i].in != cases[i].out);
        assert_int_equal(find_loss(&r, LOSS_TIMESTAMP) != NULL, ms);
        done(&r, &in);
    }
}

static void v3_times(void **state)
{
    (void)state;
    static const struct {
        uint64_t start, end, time, duration, want_time, want_duration;
        bool lost;
    } cases[] = {
        {1000, 1500, 1000, 500, 1000, 500, false},
        {1000, 1500, 0, 0, 1000, 500, false},
        {0, 0, 1000, 500, 1000, 500, false},
        {1000, 1500, 900, 500, 1000, 500, true}, /* the container takes precedence */
        {1000, 1500, 1000, 400, 1000, 500, true},
        {1000, 900, 0, 50, 1000, 50, true},
        {0, 0, (uint64_t)-1, 0, 0, 0, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf prof = {0}, c = {0};
        if (cases[i].time) pb_put_uint(&prof, 9, cases[i].time);
        if (cases[i].duration) pb_put_uint(&prof, 10, cases[i].duration);
        if (cases[i].start) pb_put_fixed64(&c, 2, cases[i].start);
        if (cases[i].end) pb_put_fixed64(&c, 3, cases[i].end);
        sub(&c, 8, &prof);
        buf in = envelope(&c, NULL);
        run r = decode_ok(in.p, in.n, LAYOUT_1_3);
        assert_int_equal(r.m.profiles.v[0].time_unix_nano, cases[i].want_time);
        assert_int_equal(r.m.profiles.v[0].duration_nano, cases[i].want_duration);
        assert_int_equal(find_loss(&r, LOSS_TIME) != NULL, cases[i].lost);
        done(&r, &in);
    }
}

static void v3_frame_types_and_build_ids(void **state)
{
    (void)state;
    static const char *const text[] = {"",     "python", "hotspot", "v8", "abc/def/ghi/jkl",
                                       "00ff", NULL};
    static const char *const want[] = {"", "cpython", "jvm", "v8"};
    buf prof = {0};
    put_strings(&prof, 6, text);
    for (uint64_t i = 1; i <= 3; i++) {
        buf loc = {0};
        pb_put_uint(&loc, 6, i);
        pb_put_uint(&loc, 3, i);
        sub(&prof, 4, &loc);
    }
    for (uint64_t kind = 0; kind < 3; kind++) {
        buf m = {0};
        pb_put_uint(&m, 6, kind ? 5 : 4);
        pb_put_uint(&m, 11, kind);
        sub(&prof, 3, &m);
    }
    buf in = container(&prof);
    run r = decode_ok(in.p, in.n, LAYOUT_1_3);
    const uint32_t *refs = r.m.dict.attr_refs.v;
    for (size_t i = 1; i <= 3; i++) {
        span a = r.m.dict.locations.v[i].attrs;
        assert_str(any_str(find_attr(&r, refs + a.at, a.n, ATTR_FRAME_TYPE)), want[i]);
    }
    span go = r.m.dict.mappings.v[1].attrs, odd = r.m.dict.mappings.v[3].attrs;
    assert_str(any_str(find_attr(&r, refs + go.at, go.n, ATTR_BUILD_ID_GO)), text[4]);
    assert_int_equal(find_attr(&r, refs + odd.at, odd.n, KILN_ATTR_BUILD_ID_KIND)->i, 2);
    done(&r, &in);
}

/* Ids in any order and of any size; 0 means none. */
static void v3_arbitrary_ids(void **state)
{
    (void)state;
    buf prof = {0}, s = {0};
    put_v3_types(&prof, 1);
    static const uint64_t id[] = {900, 7, UINT64_MAX};
    for (uint64_t i = 0; i < 3; i++) {
        buf loc = {0};
        pb_put_uint(&loc, 1, id[i]);
        pb_put_uint(&loc, 3, 100 + i);
        sub(&prof, 4, &loc);
    }
    LIST(&s, 1, UINT64_MAX, 0, 7);
    LIST(&s, 2, 1);
    sub(&prof, 2, &s);
    buf in = container(&prof);
    run r = decode_ok(in.p, in.n, LAYOUT_1_3);
    assert_int_equal(frame(&r, 0, 0, 0)->address, 102);
    assert_int_equal(frame(&r, 0, 0, 1)->address, 101);
    assert_null(find_loss(&r, LOSS_ARBITRARY_ID)->carried_as);
    done(&r, &in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_on_the_scope),
        cmocka_unit_test(timestamps),
        cmocka_unit_test(one_larger_value_means_totals),
        cmocka_unit_test(v3_last_type_first),
        cmocka_unit_test(v3_doc_url),
        cmocka_unit_test(v3_milliseconds),
        cmocka_unit_test(v3_times),
        cmocka_unit_test(v3_frame_types_and_build_ids),
        cmocka_unit_test(v3_arbitrary_ids),
    };
    return cmocka_run_group_tests_name("otlp_old_details", tests, NULL, NULL);
}
