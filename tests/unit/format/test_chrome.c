#include "../../support/format_text.h"

#include "format/chrome.h"

#define EV(ph, name, rest) "{\"ph\":\"" ph "\",\"name\":\"" name "\",\"pid\":1,\"tid\":2," rest "}"
#define B(name, ts) EV("B", name, "\"ts\":" #ts)
#define E(name, ts) EV("E", name, "\"ts\":" #ts)
#define X(name, ts, dur) EV("X", name, "\"ts\":" #ts ",\"dur\":" #dur)
#define HEAD "{ pid=1 }\n"
#define WALL(window) HEAD "wall/nanoseconds " window " interval=true time.epoch=unknown\n"
/* Padding that is long enough for the fast path to read the events before it. */
#define PAD                                                                                        \
    "                                                                                        "

static const read_case cases[] = {
    {"begin and end", "[" B("a", 0) "," B("b", 1) "," E("b", 3) "," E("a", 10) "]" PAD,
     WALL("0+10000") " a [id=2] 1000@0 7000@3000\n a;b [id=2] 2000@1000\n", NULL},
    {"complete, children first", "[" X("b", 1, 2) "," X("a", 0, 10) "]" PAD,
     WALL("0+10000") " a [id=2] 1000@0 7000@3000\n a;b [id=2] 2000@1000\n", NULL},
    {"complete, starting together", "[" X("b", 0, 2) "," X("a", 0, 10) "]",
     WALL("0+10000") " a;b [id=2] 2000@0\n a [id=2] 8000@2000\n", NULL},
    {"B and X start together: the longest is the outer one",
     "[" X("x", 0, 1) "," B("b", 0) "," E("b", 2) "," B("c", 4) "," X("y", 4, 9) "," E("c", 6) "]",
     WALL("0+13000") " b;x [id=2] 1000@0\n b [id=2] 1000@1000\n y;c [id=2] 2000@4000\n"
                     " y [id=2] 7000@6000\n",
     NULL},
    {"object form, whitespace, quoted numbers",
     "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [ { \"ph\" : \"X\", \"name\": \"a\", \"pid\": "
     "\"1\", \"tid\": \"2\", \"ts\": \"1.5\", \"dur\": 2.25 } , " X("a", 5, 1) " ] }" PAD,
     WALL("1500+4500") " a [id=2] 2250@1500 1000@5000\n", NULL},
    {"two adjacent intervals", "[" X("a", 0, 5) "," X("a", 5, 5) "]",
     WALL("0+10000") " a [id=2] 5000@0 5000@5000\n  [id=2] 0@5000\n", NULL},
    {"without length", "[" B("a", 0) "," X("b", 3, 0) "," E("a", 4) "]",
     WALL("0+4000") " a [id=2] 3000@0 1000@3000\n a;b [id=2] 0@3000\n", NULL},
    {"the array never ends", "[" X("a", 0, 5) ",\n", WALL("0+5000") " a [id=2] 5000@0\n", NULL},
    {"an incomplete event", "[" X("a", 0, 5) ",{\"ph\":\"X\",\"na",
     WALL("0+5000") " a [id=2] 5000@0\n", "truncated 1"},
    {"object form, truncated", "{\"traceEvents\":[" X("a", 0, 5),
     WALL("0+5000") " a [id=2] 5000@0\n", "truncated 1"},
    {"overlap", "[" X("a", 0, 10) "," X("b", 5, 10) "]",
     WALL("0+15000") " a [id=2] 5000@0\n a;b [id=2] 5000@5000\n b [id=2] 5000@10000\n",
     "nesting 1"},
    {"one end too many, one too few", "[" E("a", 0) "," B("a", 1) "," X("b", 2, 3) "]",
     WALL("1000+4000") " a [id=2] 1000@1000\n a;b [id=2] 3000@2000\n", "nesting 2"},
    {"category, arguments, thread and process",
     "[" EV("M", "process_name", "\"args\":{\"name\":\"P\"}") "," EV(
         "M", "thread_name",
         "\"args\":{\"name\":\"T\\u00e9\"}") "," EV("X", "a",
                                                    "\"ts\":0,\"dur\":1,\"cat\":\"c1\",\"args\":{"
                                                    "\"k\": [1]}") "," EV("X", "a",
                                                                          "\"ts\":2,\"dur\":1,"
                                                                          "\"cat\":\"c2\",\"args\":"
                                                                          "{}") "]" PAD,
     "{ pid=1 title=P }\nwall/nanoseconds 0+3000 interval=true time.epoch=unknown\n"
     " a{category=c1} [id=2 name=T\xc3\xa9 args={\"k\": [1]}] 1000@0\n"
     " a{category=c2} [id=2 name=T\xc3\xa9] 1000@2000\n",
     NULL},
    {"arguments of an event that a child covers at once",
     "[" EV("X", "a", "\"ts\":0,\"dur\":5,\"args\":{\"k\":1}") "," X("b", 0, 2) "]",
     WALL("0+5000") " a [id=2 args={\"k\":1}] 0@0\n a;b [id=2] 2000@0\n a [id=2] 3000@2000\n",
     NULL},
    {"escapes", "[" EV("X", "a\\n\\\"b", "\"cat\":\"\\u0041\",\"ts\":0,\"dur\":1") "]" PAD,
     WALL("0+1000") " a\n\"b{category=A} [id=2] 1000@0\n", NULL},
    {"asynchronous, by category and id",
     "[{\"ph\":\"b\",\"cat\":\"c\",\"id\":\"0x1\",\"name\":\"r\",\"ts\":0,\"pid\":1},"
     "{\"ph\":\"b\",\"cat\":\"c\",\"id2\":{\"local\":\"0x2\"},\"name\":\"r\",\"ts\":1,\"pid\":1},"
     "{\"ph\":\"n\",\"cat\":\"c\",\"id\":\"0x1\",\"name\":\"i\",\"ts\":2,\"pid\":1},"
     "{\"ph\":\"e\",\"cat\":\"c\",\"id\":\"0x1\",\"name\":\"r\",\"ts\":3,\"pid\":1},"
     "{\"ph\":\"e\",\"cat\":\"c\",\"id2\":{\"local\":\"0x2\"},\"name\":\"r\",\"ts\":7,\"pid\":1}]",
     HEAD "async/nanoseconds 0+7000 interval=true time.epoch=unknown\n"
          " r{category=c} [id=0x1] 2000@0 1000@2000\n"
          " r{category=c};i{category=c} [id=0x1] 0@2000\n"
          " r{category=c} [id=0x2] 6000@1000\n",
     NULL},
    {"other events and details",
     "[" EV("i", "x", "\"ts\":0,\"s\":\"t\"") "," EV("C", "y", "\"ts\":0") "," EV(
         "X", "a", "\"ts\":0,\"dur\":1,\"tts\":5,\"bind_id\":\"0x1\"") "]" PAD,
     WALL("0+1000") " a [id=2] 1000@0\n", "event 2 event_detail 3"},
    {"samples with frames",
     "{\"traceEvents\":[],\"samples\":[{\"cpu\":\"3\",\"pid\":1,\"tid\":\"2\",\"ts\":\"1\","
     "\"name\":"
     "\"\",\"sf\":2,\"weight\":\"1\"},{\"pid\":1,\"tid\":2,\"ts\":2,\"sf\":\"1\",\"weight\":1},"
     "{\"pid\":1,\"tid\":2,\"ts\":3,\"name\":\"cycles\",\"sf\":9,\"weight\":7}],"
     "\"stackFrames\":{\"2\":{\"name\":\"f\",\"parent\":1},\"1\":{\"name\":\"m\",\"category\":"
     "\"k\"}}}",
     HEAD "samples/count 1000+1001 time.epoch=unknown\n"
          " m{category=k};f [id=2 cpu.logical_number=3] @1000\n"
          " m{category=k} [id=2] @2000\n"
          "cycles/count 3000+1 time.epoch=unknown\n  [id=2] 7@3000\n",
     "index_repaired 1"},
    {"a CPU profile in chunks",
     "[{\"ph\":\"P\",\"name\":\"Profile\",\"pid\":1,\"tid\":2,\"id\":\"0x1\",\"ts\":0,"
     "\"args\":{\"data\":{\"startTime\":100}}},"
     "{\"ph\":\"P\",\"name\":\"ProfileChunk\",\"pid\":1,\"tid\":9,\"id\":\"0x1\",\"ts\":0,\"args\":"
     "{"
     "\"data\":{\"cpuProfile\":{\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":\"(root)\"}},"
     "{\"id\":2,\"parent\":1,\"callFrame\":{\"functionName\":\"f\",\"url\":\"u\",\"lineNumber\":4}}"
     "],"
     "\"samples\":[2,2]},\"timeDeltas\":[10,20]}}},"
     "{\"ph\":\"P\",\"name\":\"ProfileChunk\",\"pid\":1,\"tid\":9,\"id\":\"0x1\",\"ts\":0,\"args\":"
     "{"
     "\"data\":{\"cpuProfile\":{\"samples\":[1]},\"timeDeltas\":[30],\"endTime\":200}}},"
     "{\"ph\":\"P\",\"name\":\"ProfileChunk\",\"pid\":1,\"tid\":9,\"id\":\"0x1\",\"ts\":0}]" PAD,
     HEAD "wall/nanoseconds 110000+90000 time.epoch=unknown\n"
          " f<u>:5{frame.type=v8js} [id=2] 20000@110000 30000@130000\n  [id=2] 40000@160000\n"
          "samples/count 110000+90000 time.epoch=unknown\n"
          " f<u>:5{frame.type=v8js} [id=2] @110000 @130000\n  [id=2] @160000\n",
     NULL},
    {"names instead of ids",
     "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":\"p\",\"tid\":\"main\",\"ts\":1,\"dur\":1}]",
     "{ title=p }\nwall/nanoseconds 1000+1000 interval=true time.epoch=unknown\n"
     " a [name=main] 1000@1000\n",
     NULL},
    {"nothing at all", "[]", "", NULL},
    {"nothing yet", "[", "", NULL},

    {"no ts", "[" EV("X", "a", "\"dur\":1") "]", NULL,
     "an event of phase X has no ts (byte 45, at traceEvents[0])"},
    {"no ph", "[{\"name\":\"a\"}]", NULL, "an event has no ph (byte 12, at traceEvents[0])"},
    {"not an event",
     "[" EV("X", "a", "\"ts\":1,\"dur\":1") ",7,{\"name\":1}," EV("X", "b", "\"dur\":1") "]",
     WALL("1000+1000") " a [id=2] 1000@1000\n", "damaged 3"},
    {"ts is not a number", "[" EV("X", "a", "\"ts\":\"now\"") "]", NULL,
     "expected a number, found \"now\" (byte 43, at traceEvents[0])"},
    {"ts too large", "[" EV("X", "a", "\"ts\":99999999999999999999") "]", NULL,
     "the number does not fit in 64 bits (byte 43, at traceEvents[0])"},
    {"cyclic frames",
     "{\"traceEvents\":[],\"samples\":[],\"stackFrames\":{\"1\":{\"name\":\"a\",\"parent\":2},"
     "\"2\":{"
     "\"name\":\"b\",\"parent\":1}}}",
     "", "index_repaired 1"},
    {"invalid inside", "[" B("a", 1) "}]", NULL, "expected a comma or ], found '}' (byte 45)"},
};

static void test_reading(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) check_read(&format_chrome, &cases[i]);
}

/* The fast path and the tokenizer must agree. An escape in an additional field forces the
 * tokenizer. */
static void test_fast_path_agrees(void **state)
{
    (void)state;
    static const char *const odd[] = {
        "\"ts\":-5,\"dur\":1",         "\"ts\":1e3,\"dur\":1",
        "\"ts\":01,\"dur\":1",         "\"ts\":1.2345,\"dur\":1",
        "\"ts\":5,\"dur\":null",       "\"ts\":\"5\",\"dur\":\"1.5\"",
        "\"ts\":5,\"dur\":-1",         "\"ts\":5,\"x\":[{\"}\":1}]",
        "\"ts\":5,\"x\":\"\\\\\\\"\"", "\"ts\":5,\"args\":{\"a\":\"}\"}",
        "\"ts\":5,\"x\":tru",          "\"ts\":5,,\"dur\":1",
        "\"ts\":5,\"pid\":1.5",        "\"ts\":5,\"tid\":-3",
        "\"ts\":5,\"dur\":1.",         "\"ts\":9223372036854775,\"dur\":9223372036854775",
        "\"ts\":5,\"args\":[1]",       "\"ts\":5,\"cat\":5",
        "\"ts\":5,\"id\":7",           "\"ts\":5,\"a_long_key_here\":5",
        "\"ts\":5,\"x\":-0.5e-7",      "\"ts\" : 5 , \"dur\" : 1 ",
    };
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        buf quick = {0}, slow = {0};
        buf_printf(&quick, "[{\"ph\":\"X\",\"name\":\"n\",%s}]" PAD, odd[i]);
        buf_printf(&slow, "[{\"ph\":\"X\",\"name\":\"\\u006e\",%s}]" PAD, odd[i]);
        buf_putc(&quick, '\0'), buf_putc(&slow, '\0');
        arena a = {0};
        model m;
        err e = {0};
        bool ok = chrome_read(&format_chrome, str_of(slow.p), &(read_opts){0}, &a, &m, NULL, &e);
        buf text = {0};
        if (ok) text_model(&text, &m);
        model m2;
        err e2 = {0};
        bool ok2 =
            chrome_read(&format_chrome, str_of(quick.p), &(read_opts){0}, &a, &m2, NULL, &e2);
        if (ok != ok2) fail_msg("%s: %s", odd[i], ok ? e2.msg : e.msg);
        buf text2 = {0};
        if (ok2)
            text_model(&text2, &m2), assert_string_equal(text2.p, text.p);
        else
            assert_string_equal(e.msg, e2.msg);
        buf_free(&text), buf_free(&text2), buf_free(&quick), buf_free(&slow);
        arena_free(&a);
    }
}

static void test_every_prefix(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_truncation(&format_chrome, str_of(cases[i].in));
}

static void test_every_budget(void **state)
{
    (void)state;
    static const size_t some[] = {1, 3, 12, 15, 17, 18};
    for (size_t i = 0; i < ARRAY_LEN(some); i++)
        check_budgets(&format_chrome, str_of(cases[some[i]].in));
}

static void test_writing(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bool cpu = !strcmp(cases[i].name, "a CPU profile in chunks"); /* files and lines are lost */
        bool unknown_cpu = !strcmp(cases[i].name, "samples with frames");
        if (!cases[i].want || cpu || unknown_cpu) continue;
        arena a = {0};
        model m;
        err e = {0};
        ledger l = {0};
        buf out = {0};
        bool ok =
            chrome_read(&format_chrome, str_of(cases[i].in), &(read_opts){0}, &a, &m, NULL, &e) &&
            chrome_write(&format_chrome, &m, &(write_opts){.ledger = &l}, &out, &e);
        assert_ok(ok, &e);
        buf_putc(&out, '\0');
        read_case back = {cases[i].name, out.p, cases[i].want, NULL};
        check_read(&format_chrome, &back);
        if (ledger_lost(&l))
            fail_msg("%s: writing lost %s at %s %s", cases[i].name, loss_name(l.v[0].concept),
                     l.v[0].path, l.v[0].value);
        buf_free(&out);
        arena_free(&a);
    }
}

/* Intervals that nest deeper than the limit are counted, and all intervals still end. */
static void test_deep(void **state)
{
    (void)state;
    buf in = {0};
    enum { DEPTH = NEST_MAX_DEPTH + 10 };
    buf_putc(&in, '[');
    for (int i = 0; i < 2 * DEPTH; i++)
        buf_printf(&in, "%s{\"ph\":\"%c\",\"name\":\"f\",\"ts\":%d}", i ? "," : "",
                   i < DEPTH ? 'B' : 'E', i);
    buf_putc(&in, ']');
    arena a = {0};
    model m;
    err e = {0};
    ledger l = {0};
    assert_ok(
        chrome_read(&format_chrome, buf_view(&in), &(read_opts){.ledger = &l}, &a, &m, NULL, &e),
        &e);
    int64_t total = 0;
    for (size_t i = 0; i < m.values.n; i++) total += m.values.v[i];
    assert_int_equal(total, (2 * DEPTH - 1) * 1000);
    buf lost = {0};
    text_losses(&lost, &l);
    assert_string_equal(lost.p, "stack_depth 10");
    buf_free(&lost), buf_free(&in);
    arena_free(&a);
}

/* The trace has more distinct arguments than the reader stores. */
static void test_many_args(void **state)
{
    (void)state;
    buf in = {0};
    buf_putc(&in, '[');
    for (int i = 0; i < CHROME_MAX_ARGS + 5; i++)
        buf_printf(&in, "%s{\"ph\":\"X\",\"name\":\"f\",\"ts\":%d,\"dur\":1,\"args\":{\"i\":%d}}",
                   i ? "," : "", i * 2, i);
    buf_putc(&in, ']');
    arena a = {0};
    model m;
    err e = {0};
    ledger l = {0};
    assert_ok(
        chrome_read(&format_chrome, buf_view(&in), &(read_opts){.ledger = &l}, &a, &m, NULL, &e),
        &e);
    buf lost = {0};
    text_losses(&lost, &l);
    assert_string_equal(lost.p, "event_detail 5");
    buf_free(&lost), buf_free(&in);
    arena_free(&a);
}

static void watch(void *ctx, uint64_t done, uint64_t all)
{
    uint64_t *seen = ctx; /* number of reports, last position */
    assert_true(done <= all);
    assert_true(done > seen[1]);
    seen[0]++;
    seen[1] = done;
}

/* The reader reports progress while it reads a long text, and only forward. */
static void test_progress(void **state)
{
    (void)state;
    buf in = {0};
    buf_z(&in, "[{\"ph\":\"I\",\"ts\":0}");
    for (unsigned i = 0; in.n < 20 << 20; i++)
        buf_printf(&in, ",\n{\"name\":\"f\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":%u,\"dur\":1}",
                   2 * i);
    buf_putc(&in, ']');
    arena a = {0};
    model m;
    err e = {0};
    uint64_t seen[2] = {0};
    read_opts o = {.progress = watch, .ctx = seen};
    assert_ok(chrome_read(&format_chrome, buf_view(&in), &o, &a, &m, NULL, &e), &e);
    assert_in_range(seen[0], 3, 20);
    arena_free(&a);
    buf_free(&in);
}

static void test_detect(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        bool yes;
    } t[] = {
        {"[{\"name\":\"a\",\"ph\":\"B\"", true},
        {"{\"traceEvents\":[", true},
        {"{\"metadata\":{\"dictionary\":1},\"traceEvents\":[", true},
        {"{\"resourceProfiles\":[],\"traceEvents\":[]}", false},
        {"{\"dictionary\":{\"stringTable\":[\"traceEvents\"]}}", false},
        {"[1,2]", false},
        {"[", false},
        {"", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(t); i++)
        assert_int_equal(format_chrome.detect(str_of(t[i].in)) > 90, t[i].yes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reading),      cmocka_unit_test(test_fast_path_agrees),
        cmocka_unit_test(test_every_prefix), cmocka_unit_test(test_every_budget),
        cmocka_unit_test(test_writing),      cmocka_unit_test(test_deep),
        cmocka_unit_test(test_many_args),    cmocka_unit_test(test_detect),
        cmocka_unit_test(test_progress),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
