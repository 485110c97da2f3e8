/* Reads and writes speedscope files: models as text, losses, errors. */
#include "../../support/format_text.h"

#include "format/speedscope.h"

#define FRAMES                                                                                     \
    "\"shared\":{\"frames\":[{\"name\":\"a\"},{\"name\":\"b\",\"file\":\"x.js\",\"line\":3,"       \
    "\"col\":4},{\"name\":\"c\",\"file\":null,\"line\":null}]}"
#define SAMPLED(unit, more, samples, weights)                                                      \
    "{\"type\":\"sampled\",\"unit\":\"" unit "\"," more "\"samples\":" samples                     \
    ",\"weights\":" weights "}"
#define EVENTED(unit, more, events)                                                                \
    "{\"events\":" events "," more "\"unit\":\"" unit "\",\"type\":\"evented\"}"
#define FILE_OF(profiles) "{\"profiles\":[" profiles "]," FRAMES "}"
#define O(f, t) "{\"type\":\"O\",\"frame\":" #f ",\"at\":" #t "}"
#define C(f, t) "{\"type\":\"C\",\"frame\":" #f ",\"at\":" #t "}"

static const read_case cases[] = {
    {"sampled seconds: equal stacks are one sample",
     FILE_OF(SAMPLED("seconds", "\"name\":\"Thread 1\",\"startValue\":1,\"endValue\":1.5,",
                     "[[0,1],[0],[0,1]]", "[0.01,0.02,0.000000001]")),
     "wall/nanoseconds 1000000000+500000000 name=Thread 1 unit=seconds time.epoch=unknown\n"
     " a;b<x.js>:3:4 [name=Thread 1] 10000000@1000000000 1@1030000000\n"
     " a [name=Thread 1] 20000000@1010000000\n",
     NULL},
    {"weights are rounded on their sum",
     FILE_OF(SAMPLED("nanoseconds", "", "[[0],[1],[0]]", "[0.4,0.4,0.4]")),
     "wall/nanoseconds 0+2 time.epoch=unknown\n a 0@0 0@1\n b<x.js>:3:4 1@0\n", "rounded 3"},
    {"no unit: order is kept, fractions are scaled",
     FILE_OF(SAMPLED("none", "\"startValue\":0,", "[[0],[2],[0],[]]", "[1.5,2,1,0.25]")),
     "samples/count value_scale=100\n a 150\n c 200\n a 100\n  25\n", NULL},
    {"bytes", FILE_OF(SAMPLED("bytes", "\"startValue\":0,\"endValue\":9,", "[[0,2]]", "[9]")),
     "space/bytes\n a;c 9\n", NULL},
    {"evented, with equal neighbours and an event of length 0",
     FILE_OF(EVENTED("milliseconds", "\"startValue\":0,\"endValue\":9,\"name\":null,",
                     "[" O(0, 0) "," O(1, 2) "," C(1, 5) "," O(1, 5) "," C(1, 6) "," O(2, 7) "," C(
                         2, 7) "," C(0, 9) "]")),
     "wall/nanoseconds 0+9000000 unit=milliseconds interval=true time.epoch=unknown\n"
     " a 2000000@0 0@5000000 1000000@6000000 2000000@7000000\n"
     " a;b<x.js>:3:4 3000000@2000000 1000000@5000000\n"
     " a;c 0@7000000\n",
     NULL},
    {"evented without a unit",
     FILE_OF(EVENTED("none", "", "[" O(0, 0) "," O(1, 2) "," C(1, 3) "," C(0, 4) "]")),
     "samples/count interval=true\n a 2\n a;b<x.js>:3:4 1\n a 1\n", NULL},
    {"frames that are never closed", FILE_OF(EVENTED("none", "\"endValue\":100,", "[" O(0, 0) "]")),
     "samples/count interval=true\n a 100\n", "nesting 1"},
    {"scope, name, active profile",
     "{\"exporter\":\"py-spy@0.4\",\"name\":\"n\",\"activeProfileIndex\":1," FRAMES
     ",\"profiles\":[" SAMPLED("none", "\"name\":\"1\",", "[]",
                               "[]") "," SAMPLED("none", "\"name\":\"2\",", "[]", "[]") "]}",
     "(py-spy 0.4)\nsamples/count name=1\nsamples/count name=2\n", NULL},
    {"an invalid profile next to a valid one",
     FILE_OF(SAMPLED("none", "", "[[[0]]]", "[1]") "," SAMPLED("none", "", "[[0]]", "[1]")),
     "samples/count\n a 1\n", "profile_refused 1"},
    {"times before 0",
     FILE_OF(SAMPLED("nanoseconds", "\"startValue\":-5,\"endValue\":5,", "[[0]]", "[10]")),
     "wall/nanoseconds 0+10 time.epoch=unknown\n a 10@0\n", "time 1"},

    {"only an invalid profile", FILE_OF(SAMPLED("none", "", "[[7]]", "[1]")), NULL,
     "frame 7 of 3 (byte 57, at profiles[0].samples[0])"},
    {"fewer weights", FILE_OF(SAMPLED("none", "", "[[0],[0]]", "[1]")), NULL,
     "there are fewer weights than samples (byte 77, at profiles[0].weights[1])"},
    {"more weights", FILE_OF(SAMPLED("none", "", "[[0]]", "[1,2]")), NULL,
     "there are more weights than samples (byte 74, at profiles[0])"},
    {"wrong frame on top", FILE_OF(EVENTED("none", "", "[" O(0, 0) "," C(1, 1) "]")), NULL,
     "closes a frame that is not the innermost (byte 82, at profiles[0].events[1])"},
    {"time decreases", FILE_OF(EVENTED("none", "", "[" O(0, 5) "," C(0, 1) "]")), NULL,
     "the time decreases (byte 82, at profiles[0].events[1])"},
    {"unknown unit", FILE_OF(SAMPLED("parsecs", "", "[]", "[]")), NULL,
     "unknown unit \"parsecs\" (byte 38, at profiles[0])"},
    {"no profiles", "{" FRAMES "}", NULL, "the file has no profiles"},
    {"not an object", "[]", NULL, "expected an object, found an array (byte 0)"},
    {"truncated", "{\"profiles\":[", NULL, "the input ends where a value should be (byte 13)"},
};

static void test_reading(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) check_read(&format_speedscope, &cases[i]);
}

static void test_every_beginning(void **state)
{
    (void)state;
    check_truncation(&format_speedscope, str_of(cases[0].in));
    check_truncation(&format_speedscope, str_of(cases[4].in));
}

static void test_every_budget(void **state)
{
    (void)state;
    check_budgets(&format_speedscope, str_of(cases[0].in));
    check_budgets(&format_speedscope, str_of(cases[4].in));
}

/* The output reads back as the same model and has the expected text. */
static void test_writing(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (!cases[i].want) continue;
        arena a = {0};
        model m;
        err e = {0};
        ledger l = {0};
        buf out = {0};
        bool ok = speedscope_read(&format_speedscope, str_of(cases[i].in), &(read_opts){0}, &a, &m,
                                  NULL, &e) &&
                  speedscope_write(&format_speedscope, &m, &(write_opts){.ledger = &l}, &out, &e);
        assert_ok(ok, &e);
        buf_putc(&out, '\0');
        read_case back = {cases[i].name, out.p, cases[i].want, NULL};
        check_read(&format_speedscope, &back);
        if (ledger_lost(&l))
            fail_msg("%s: writing lost %s at %s %s", cases[i].name, loss_name(l.v[0].concept),
                     l.v[0].path, l.v[0].value);
        buf_free(&out);
        arena_free(&a);
    }
}

static void test_detect(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        bool yes;
    } t[] = {
        {"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\"", true},
        {" \n{\"profiles\":[],\"shared\":{}}", true},
        {"\xef\xbb\xbf{\"shared\":{},\"profiles\":[]}", true},
        {"{\"resourceProfiles\":[],\"shared\":{},\"profiles\":[]}", false},
        {"{\"$schema\":\"http://json-schema.org\"}", false},
        {"", false},
        {"{", false},
        {"[{\"ph\":\"B\"}]", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(t); i++)
        assert_int_equal(format_speedscope.detect(str_of(t[i].in)) > 0, t[i].yes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reading),      cmocka_unit_test(test_every_beginning),
        cmocka_unit_test(test_every_budget), cmocka_unit_test(test_writing),
        cmocka_unit_test(test_detect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
