#include "../../support/format_text.h"

/* ---- raw ---- */

#define STACKS                                                                                     \
    "\"stackTable\":{\"schema\":{\"prefix\":0,\"frame\":1},\"data\":[[null,0],[0,1],[1,2]]}"
#define RAW_FRAMES                                                                                 \
    "\"frameTable\":{\"data\":[[0],[1,null,7,3],[2]],\"schema\":{\"location\":0,\"x\":1,\"line\":" \
    "2,"                                                                                           \
    "\"column\":3}}"
#define RAW_SAMPLES(more)                                                                          \
    "\"samples\":{\"schema\":{\"stack\":0,\"time\":1,\"threadCPUDelta\":2}," more "}"
#define STRINGS "\"stringTable\":[\"(root)\",\"f (http://u:5:6)[3]\",\"0x1010\"]"
#define THREAD(samples)                                                                            \
    "{\"name\":\"T\",\"tid\":4,\"pid\":3," samples "," STACKS "," RAW_FRAMES "," STRINGS "}"
#define RAW(meta, libs, threads) "{\"meta\":{" meta "},\"libs\":" libs ",\"threads\":[" threads "]}"
#define LIBS                                                                                       \
    "[{\"start\":4096,\"end\":8192,\"offset\":0,\"path\":\"/lib\",\"breakpadId\":"                 \
    "\"ABEFD98494C1DB7B0146A054B0B08C320\",\"codeId\":"                                            \
    "\"84d9efabc1947bdb0146a054b0b08c32c49a687e\"}]"

/* ---- processed ---- */

#define COLUMNS                                                                                    \
    "\"stackTable\":{\"length\":4,\"prefix\":[null,0,1,0],\"frame\":[0,1,2,3]},"                   \
    "\"frameTable\":{\"length\":4,\"func\":[0,1,2,3],\"address\":[-1,16,16,32],"                   \
    "\"inlineDepth\":[0,0,1,0],\"line\":[null,9,5,null],\"column\":[null,null,2,null]},"           \
    "\"funcTable\":{\"length\":4,\"name\":[0,1,2,3],\"fileName\":[null,4,4,null],"                 \
    "\"resource\":[-1,0,0,0],\"lineNumber\":[null,8,null,null]},"                                  \
    "\"resourceTable\":{\"length\":1,\"lib\":[0]},"                                                \
    "\"stringArray\":[\"(root)\",\"outer\",\"inner\",\"0x20\",\"a.c\"]"

static const read_case cases[] = {
    {"raw",
     RAW("\"version\":24,\"startTime\":1000.5,\"interval\":2,\"sampleUnits\":{\"threadCPUDelta\":"
         "\"ns\"}",
         LIBS, THREAD(RAW_SAMPLES("\"data\":[[2,1.25,50],[1,2],[null,3,7],[2,4,9]]"))),
     "{ pid=3 }\nsamples/count period=2000000 1001750000+2750001\n"
     " (root);f<http://u>:7:3;0x1010@/lib [id=4 name=T] @1001750000 @1004500000\n"
     " (root);f<http://u>:7:3 [id=4 name=T] @1002500000\n  [id=4 name=T] @1003500000\n"
     "cpu/nanoseconds period=2000000 1001750000+2750001\n"
     " (root);f<http://u>:7:3;0x1010@/lib [id=4 name=T] 50@1001750000 9@1004500000\n"
     " (root);f<http://u>:7:3 [id=4 name=T] 0@1002500000\n  [id=4 name=T] 7@1003500000\n",
     NULL},
    {"no start: the epoch is unknown",
     RAW("\"interval\":1", "[]", THREAD(RAW_SAMPLES("\"data\":[[0,1]]"))),
     "{ pid=3 }\nsamples/count period=1000000 1000000+1 time.epoch=unknown\n (root) [id=4 name=T] "
     "@1000000\n"
     "cpu/nanoseconds period=1000000 1000000+1 time.epoch=unknown\n (root) [id=4 name=T] "
     "0@1000000\n",
     NULL},
    {"a process in a process, the same pid in another order, markers",
     "{\"threads\":[{\"name\":\"A\",\"pid\":1,\"samples\":{\"schema\":{\"stack\":0,\"time\":1},"
     "\"data\":[[0,"
     "1]]},\"markers\":{\"schema\":{},\"data\":[[0],[1]]}," STACKS "," RAW_FRAMES "," STRINGS "}],"
     "\"meta\":{\"startTime\":0},\"processes\":[{\"meta\":{\"startTime\":5},\"threads\":[{\"name\":"
     "\"B\","
     "\"pid\":2,\"processName\":\"W\",\"samples\":{\"schema\":{\"time\":1,\"stack\":0},\"data\":[["
     "0,1]]}," STACKS "," RAW_FRAMES "," STRINGS "}]}]}",
     "{ pid=1 }\nsamples/count 1000000+1\n (root) [name=A] @1000000\n"
     "{ pid=2 title=W }\nsamples/count 6000000+1\n (root) [name=B] @6000000\n",
     "event 2"},
    {"perf's names",
     "{\"meta\":{\"startTime\":0},\"threads\":[{\"name\":\"p\",\"samples\":{\"schema\":{"
     "\"stack\":0,\"time\":1},\"data\":[[2,1]]}," STACKS "," RAW_FRAMES ",\"stringTable\":["
     "\"main (in /bin/app)\",\"operator()(int) const\",\"sys (in [kernel.kallsyms])\"]}]}",
     "samples/count 1000000+1\n main@/bin/app;operator()(int) const:7:3;"
     "sys@[kernel.kallsyms]{frame.type=kernel} [name=p] @1000000\n",
     NULL},
    {"version 3: a process as text",
     "{\"meta\":{\"version\":3,\"startTime\":1},\"libs\":\"[{\\\"start\\\":1,\\\"end\\\":2}]\","
     "\"threads\":["
     "\"{\\\"meta\\\":{\\\"startTime\\\":2},\\\"threads\\\":[{\\\"name\\\":\\\"C\\\","
     "\\\"samples\\\":{"
     "\\\"schema\\\":{\\\"stack\\\":0,\\\"time\\\":1},\\\"data\\\":[[null,1]]}}]}\"]}",
     "samples/count 3000000+1\n  [name=C] @3000000\n", NULL},
    {"processed: inlined frames, addresses without names",
     "{\"meta\":{\"preprocessedProfileVersion\":41,\"startTime\":0,\"interval\":1},\"libs\":[{"
     "\"path\":"
     "\"/bin/"
     "x\",\"codeId\":null}],\"threads\":[{\"pid\":\"5\",\"tid\":\"6\",\"samples\":{\"length\":3,"
     "\"stack\":[2,3,null],\"timeDeltas\":[1,1,1],\"weight\":[1,4,1],\"weightType\":\"samples\"}"
     "," COLUMNS "}]}",
     "{ pid=5 }\nsamples/count period=1000000 1000000+2000001\n"
     " (root);outer<a.c>:9|inner<a.c>:5:20x10@/bin/x [id=6] 1@1000000\n"
     " (root);0x20@/bin/x [id=6] 4@2000000\n  [id=6] 1@3000000\n",
     NULL},
    {"processed: tables shared, prefix as offset, other weights",
     "{\"shared\":{\"stackTable\":{\"prefixOffset\":[0,1],\"frame\":[0,1]},\"frameTable\":{"
     "\"func\":[0,1]},"
     "\"funcTable\":{\"name\":[0,1],\"source\":[null,0]},\"sources\":{\"filename\":[2]},"
     "\"stringArray\":["
     "\"m\",\"g\",\"g.js\"]},\"meta\":{\"preprocessedProfileVersion\":66,\"startTime\":0},"
     "\"threads\":[{"
     "\"name\":\"a\",\"samples\":{\"stack\":[1],\"time\":[2],\"weight\":[8],\"weightType\":"
     "\"bytes\"}},{"
     "\"name\":\"b\",\"samples\":{\"stack\":[0],\"time\":[3],\"weight\":[1.5],\"weightType\":"
     "\"tracing-ms\"}"
     "}]}",
     "wall/nanoseconds 3000000+1\n m [name=b] 1500000@3000000\n"
     "space/bytes 2000000+1\n m;g<g.js> [name=a] 8@2000000\n",
     NULL},

    {"an undefined stack", RAW("\"startTime\":0", "[]", THREAD(RAW_SAMPLES("\"data\":[[3,1]]"))),
     NULL, "samples: row 0 has stack 3 of 3 (at threads)"},
    {"an undefined frame",
     "{\"meta\":{},\"threads\":[{\"name\":\"x\",\"samples\":{\"stack\":[0],\"time\":[1]},"
     "\"stackTable\":{"
     "\"frame\":[4],\"prefix\":[null]}}]}",
     NULL, "stackTable: row 0 has no frame (at thread x)"},
    {"a prefix that comes later",
     "{\"meta\":{},\"threads\":[{\"name\":\"x\",\"samples\":{\"stack\":[0],\"time\":[1]},"
     "\"stackTable\":{"
     "\"frame\":[0],\"prefix\":[0]},\"frameTable\":{\"func\":[0]}}]}",
     NULL, "stackTable: row 0 comes before its prefix (at thread x)"},
    {"invalid rows among valid ones: an undefined stack, frame and prefix",
     "{\"meta\":{\"startTime\":0},\"threads\":[{\"name\":\"x\",\"samples\":{\"stack\":[1,2,3,9],"
     "\"time\":[1,2,3,4]},\"stackTable\":{\"frame\":[0,1,7,1],\"prefix\":[null,0,1,8]},"
     "\"frameTable\":{\"func\":[0,1]},\"funcTable\":{\"name\":[0,1]},\"stringArray\":[\"m\",\"g\"]}"
     ","
     "{\"name\":\"bad\",\"samples\":{\"schema\":{\"stack\":0,\"time\":1},\"data\":[7]}}]}",
     "samples/count 1000000+3000001\n m;g [name=x] @1000000 @2000000\n g [name=x] @3000000\n"
     "  [name=x] @4000000\n",
     "damaged 4"},
    {"an invalid row", RAW("", "[]", THREAD(RAW_SAMPLES("\"data\":[7]"))), NULL,
     "expected a row, found a number (byte 128, at thread T.samples.data[0])"},
    {"no threads", "{\"meta\":{}}", NULL, "the profile has no threads"},
    {"an invalid thread", "{\"threads\":[1]}", NULL,
     "expected a thread, found a number (byte 12, at threads[0])"},
};

static void test_reading(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) check_read(&format_gecko, &cases[i]);
}

static void test_every_prefix(void **state)
{
    (void)state;
    for (size_t i = 0; i < 7; i++) check_truncation(&format_gecko, str_of(cases[i].in));
}

static void test_every_budget(void **state)
{
    (void)state;
    for (size_t i = 0; i < 7; i++) check_budgets(&format_gecko, str_of(cases[i].in));
}

/* The build id that the Breakpad id was derived from. */
static void test_build_id(void **state)
{
    (void)state;
    arena a = {0};
    model m;
    err e = {0};
    layout_verdict v;
    const char *in = RAW("\"oscpu\":\"Linux x86_64\",\"startTime\":0",
                         "[{\"start\":4096,\"end\":8192,\"path\":\"/"
                         "l\",\"breakpadId\":\"ABEFD98494C1DB7B0146A054B0B08C320\"}]",
                         THREAD(RAW_SAMPLES("\"data\":[[2,1]]")));
    assert_ok(format_gecko.read(&format_gecko, str_of(in), &(read_opts){0}, &a, &m, &v, &e), &e);
    buf b = {0};
    text_attrs(&b, &m.dict, refs_at(&m.dict.attr_refs, m.dict.mappings.v[1].attrs),
               m.dict.mappings.v[1].attrs.n);
    buf_putc(&b, '\0');
    assert_string_equal(b.p, " executable.build_id.gnu=84d9efabc1947bdb0146a054b0b08c32"
                             " build_id.breakpad=ABEFD98494C1DB7B0146A054B0B08C320");
    buf_free(&b);
    arena_free(&a);
}

static void test_detect(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        bool yes;
    } t[] = {
        {"{\"meta\":{\"preprocessedProfileVersion\":58", true},
        {"{\"libs\":[{\"breakpadId\":", true},
        {"{\"label\":\"\",\"profile\":{\"libs\":[{\"breakpadId\":", true},
        {"{\"threads\":[{\"frameTable\":{\"stringTable\":", true},
        {"{\"meta\":{\"version\":3,\"interval\":1},\"libs\":\"[]\",", true},
        {"{\"dictionary\":{\"stackTable\":[],\"stringTable\":[]}}", false},
        {"{\"meta\":{}}", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(t); i++)
        assert_int_equal(format_gecko.detect(str_of(t[i].in)) > 90, t[i].yes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reading),      cmocka_unit_test(test_every_prefix),
        cmocka_unit_test(test_every_budget), cmocka_unit_test(test_build_id),
        cmocka_unit_test(test_detect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
