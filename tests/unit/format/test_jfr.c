/* Tests the models of synthetic recordings (support/jfr_make.h). tests/e2e/jfr_oracle tests real
 * ones. */
#include "format/format.h"

#include "../../support/jfr_example.h"

static void test_reads(void **state)
{
    (void)state;
    model both[2];
    arena a = {0};
    err e = {0};
    jm m[2];
    for (int fixed = 0; fixed < 2; fixed++) {
        ledger l = {0};
        m[fixed] = example(fixed);
        assert_true(format_jfr.detect(buf_view(&m[fixed].out)) == 100);
        assert_ptr_equal(format_detect(buf_view(&m[fixed].out)), &format_jfr);
        assert_ok(read_it(&m[fixed], &(read_opts){.ledger = &l}, &a, &both[fixed], &e), &e);
        check_example(&both[fixed]);
        assert_int_equal(l.n, 5); /* in order of the types */
        assert_int_equal(l.v[0].concept, LOSS_EVENT_DETAIL);
        assert_string_equal(l.v[0].carried_as, "thread.state");
        assert_string_equal(l.v[0].path, "jdk.ExecutionSample.state");
        assert_u64(l.v[0].count, 5); /* includes two classes */
        assert_int_equal(l.v[1].concept, LOSS_EVENT_DETAIL);
        assert_null(l.v[1].carried_as);
        assert_string_equal(l.v[1].path, "jdk.JavaMonitorEnter.address");
        assert_u64(l.v[1].count, 1 + 3); /* includes the bytecode index of three frames */
        assert_int_equal(l.v[2].concept, LOSS_METADATA);
        assert_int_equal(l.v[3].concept, LOSS_EVENT);
        assert_string_equal(l.v[3].path, "jdk.CPULoad");
        assert_int_equal(l.v[4].concept, LOSS_SYSTEM_NAME);
    }
    assert_ok(model_equal(&both[0], &both[1], &e), &e);
    arena_free(&a);
    buf_free(&m[0].out), buf_free(&m[1].out);
}

static void test_keeps_the_original(void **state)
{
    (void)state;
    jm m = example(false);
    arena a = {0};
    err e = {0};
    document d;
    ledger l = {0};
    read_opts o = {.keep_original = 1, .ledger = &l};
    assert_ok(format_read(buf_view(&m.out), &o, &a, &d, &e), &e);
    model out = d.model;
    assert_true(str_eq(out.profiles.v[0].original_payload_format, STR("jfr")));
    assert_true(str_eq(out.profiles.v[0].original_payload, buf_view(&m.out)));
    assert_u64(out.profiles.v[1].original_payload.n, 0);
    assert_false(ledger_lost(&l));
    arena_free(&a);
    buf_free(&m.out);
}

/* ---- kinds ---- */

static void test_settings(void **state)
{
    (void)state;
    static const struct {
        const char *what, *name[2], *value[2], *type, *unit;
        int64_t period;
    } cases[] = {
        {"JDK", {"period"}, {"10 ms"}, "cpu", "nanoseconds", 10000000},
        {"async cpu", {"event", "interval"}, {"itimer", "5000000"}, "cpu", "nanoseconds", 5000000},
        {"async wall", {"event", "interval"}, {"wall", "50ms"}, "wall", "nanoseconds", 50000000},
        {"counter", {"event", "interval"}, {"cache-misses", "1000"}, "cache-misses", "count", 1000},
        {"no period", {"period"}, {"everyChunk"}, NULL, NULL, 0},
        {"too large", {"period"}, {"99999999999 d"}, NULL, NULL, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        jm m = opened(false);
        put_execution(&m, 5100, 1, 1);
        for (int k = 0; k < 2 && cases[i].name[k]; k++)
            put_setting(&m, T_EXECUTION, cases[i].name[k], cases[i].value[k]);
        put_constants(&m);
        jm_chunk_end(&m);
        arena a = {0};
        err e = {0};
        model out;
        assert_ok(read_it(&m, NULL, &a, &out, &e), &e);
        assert_int_equal(out.profiles.n, cases[i].type ? 2 : 1);
        assert_u64(out.profiles.v[0].period, cases[i].period);
        if (cases[i].type) {
            const profile *p = profile_named(&out, cases[i].type, cases[i].unit);
            sample s = sample_at(&out, p, 0);
            assert_u64(s.values[0], cases[i].period);
        }
        arena_free(&a);
        buf_free(&m.out);
    }
}

static void test_application_events_and_batches(void **state)
{
    (void)state;
    jm m = opened(false);
    put_constants(&m);
    for (uint64_t stack = 0; stack < 2; stack++) { /* an event without a stack is not a sample */
        jm_begin(&m, T_OWN);
        jm_long(&m, 5001), jm_long(&m, 3), jm_be(&m, 0, 4), jm_long(&m, 2), jm_long(&m, stack);
        jm_end(&m);
    }
    put_setting(&m, T_EXECUTION, "wall", "50000000");
    jm_begin(&m, T_WALL);
    jm_long(&m, 5002), jm_long(&m, 2), jm_long(&m, 1), jm_int(&m, 7);
    jm_end(&m);
    jm_chunk_end(&m);
    arena a = {0};
    err e = {0};
    model out;
    ledger l = {0};
    assert_ok(read_it(&m, &(read_opts){.ledger = &l}, &a, &out, &e), &e);
    assert_int_equal(out.profiles.n, 4);
    assert_sample(&out, profile_named(&out, "demo.Order", "nanoseconds"), 0,
                  "libc.so.6.read[native] app.Main.run:42[jvm] | thread.id=78 "
                  "thread.name=VM Thread | 1 | 3000000");
    assert_int_equal(profile_named(&out, "demo.Order", "count")->n_samples, 1);
    sample s = sample_at(&out, profile_named(&out, "wall_samples", "count"), 0);
    assert_u64(s.values[0], 7);
    s = sample_at(&out, profile_named(&out, "wall", "nanoseconds"), 0);
    assert_u64(s.values[0], 350000000);
    arena_free(&a);
    buf_free(&m.out);
}

static void test_spans(void **state)
{
    (void)state;
    static const struct {
        const char *trace, *span, *want;
        bool linked;
    } cases[] = {
        {"0102030405060708090a0b0c0d0e0f10", "a1a2a3a4a5a6a7a8", " kiln.jfr.context_id=9", true},
        {"0102030405060708090A0B0C0D0E0F10", "A1A2A3A4A5A6A7A8", " kiln.jfr.context_id=9", true},
        {NULL, "a1", " kiln.jfr.span_id=a1 kiln.jfr.context_id=9", false},
        {"00000000000000000000000000000000", "a1a2a3a4a5a6a7a8",
         " kiln.jfr.span_id=a1a2a3a4a5a6a7a8 kiln.jfr.trace_id=00000000000000000000000000000000 "
         "kiln.jfr.context_id=9",
         false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        jm m = opened(false);
        put_constants(&m);
        jm_begin(&m, T_SPAN);
        jm_long(&m, 5000), jm_long(&m, 2), jm_str(&m, cases[i].trace), jm_str(&m, cases[i].span);
        jm_long(&m, 9);
        jm_end(&m);
        jm_chunk_end(&m);
        arena a = {0};
        err e = {0};
        model out;
        char want[256];
        assert_ok(read_it(&m, NULL, &a, &out, &e), &e);
        const profile *p = profile_named(&out, "demo.Span", "count");
        snprintf(want, sizeof want, "app.Main.run[jvm] | kiln.stack.truncated=1%s | 0 |",
                 cases[i].want);
        assert_sample(&out, p, 0, want);
        sample s = sample_at(&out, p, 0);
        assert_int_equal(s.link != 0, cases[i].linked);
        if (s.link) assert_int_equal(out.dict.links.v[s.link].span_id[7], 0xa8);
        arena_free(&a);
        buf_free(&m.out);
    }
}

/* ---- texts ---- */

static void put_thread(jm *m, const char *bytes, size_t n)
{
    put_constants(m);
    jm_checkpoint(m, 2);
    jm_pool(m, T_STRING, 1);
    jm_long(m, 5), jm_str(m, "pooled");
    jm_pool(m, T_THREAD, 1);
    jm_long(m, 9), jm_byte(m, 0), jm_long(m, 0);
    buf_put(&m->out, bytes, n);
    jm_long(m, 0);
    jm_end(m);
    put_execution(m, 5000, 9, 0);
    jm_chunk_end(m);
}

static void test_texts(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        const char *want; /* NULL: no name */
        unsigned bad;
    } cases[] = {
        {"\x00", 1, NULL, 0},
        {"\x01", 1, NULL, 0},
        {"\x02\x05", 2, "pooled", 0},
        {"\x02\x06", 2, NULL, 0},
        {"\x03\x05w\xc3\xb6rk", 7, "wörk", 0},
        {"\x03\x03w\xff!", 5, "w\xef\xbf\xbd!", 1},
        {"\x05\x03w\xf6k", 5, "wök", 0},
        {"\x04\x02w\xf6\x01", 5, "wö", 0},
        {"\x04\x02\xbd\xb0\x03\x80\xbc\x03", 8, "\xf0\x9f\x98\x80", 0}, /* a pair of surrogates */
        {"\x04\x02\xbd\xb0\x03!", 6, "\xef\xbf\xbd!", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        jm m = opened(false);
        put_thread(&m, cases[i].bytes, cases[i].n);
        arena a = {0};
        err e = {0};
        model out;
        ledger l = {0};
        assert_ok(read_it(&m, &(read_opts){.ledger = &l}, &a, &out, &e), &e);
        char want[128] = "| thread.state=STATE_RUNNABLE | 0 |";
        if (cases[i].want)
            snprintf(want, sizeof want, "| thread.name=%s thread.state=STATE_RUNNABLE | 0 |",
                     cases[i].want);
        assert_sample(&out, profile_named(&out, "samples", "count"), 0, want);
        unsigned bad = 0;
        for (size_t k = 0; k < l.n; k++) bad += l.v[k].concept == LOSS_TEXT;
        assert_int_equal(bad, cases[i].bad);
        arena_free(&a);
        buf_free(&m.out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads),    cmocka_unit_test(test_keeps_the_original),
        cmocka_unit_test(test_settings), cmocka_unit_test(test_application_events_and_batches),
        cmocka_unit_test(test_spans),    cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
