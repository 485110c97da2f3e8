/* Parses lines of `perf script`, and reads and writes its text. */
#include "format/perf_script.h"

#include "model/builder.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines ---- */

static void test_heads(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *want; /* "comm|pid|tid|cpu|time|period|event|rest"; NULL: not a header */
    } cases[] = {
        {"dd 29776 666709.771979:   10101010 cpu-clock: ",
         "dd|-1|29776|-1|666709771979000|10101010|cpu-clock|"},
        {"busy-fp  1734/1735  [003]  1492.670274359:    1001001 cpu-clock: ",
         "busy-fp|1734|1735|3|1492670274359|1001001|cpu-clock|"},
        {"swapper     0 [000] 6035557.056977: cycles: ",
         "swapper|-1|0|0|6035557056977000|-|cycles|"},
        {"            perf  5805/5805  12631.245939019:          1 cycles:ppp:  ffffffffb42071f2 x "
         "([k])",
         "perf|5805|5805|-1|12631245939019|1|cycles:ppp|ffffffffb42071f2 x ([k])"},
        {"V8 Worker 12 99/100 [001] 1.5: 7 sched:sched_switch: prev_comm=a b",
         "V8 Worker 12|99|100|1|1500000000|7|sched:sched_switch|prev_comm=a b"},
        {"perf-exec  7213/7213    101.132490336:          1 cpu_core/cycles:ppp/: ",
         "perf-exec|7213|7213|-1|101132490336|1|cpu_core/cycles:ppp/|"},
        {"java 12/13 42 cycles:", "java|12|13|-1|-|42|cycles|"},
        {"java 12/13 [002] cycles:u:", "java|12|13|2|-|-|cycles:u|"},
        {"x -1/-1 5.000000001: 1 e:", "x|-1|-1|-1|5000000001|1|e|"},
        {"x 1/1 5.0:", "x|1|1|-1|5000000000|-||"},
        {"main;foo;bar 12", NULL},
        {"\t          414b3b fsnotify (/lib/vmlinux)", NULL},
        {"5.000:", NULL},
        {"x 5.000: e:", NULL},
        {"", NULL},
        {"x 1/1 99999999999999999999.0: e:",
         "x|1|1|-1|-|-|99999999999999999999.0|e:"}, /* no time */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        perf_script_head h;
        bool ok = perf_script_parse_head(str_of(cases[i].text), &h);
        if (ok != (cases[i].want != NULL))
            fail_msg("%s: %s", cases[i].text, ok ? "is a header" : "is not a header");
        if (!ok) continue;
        char got[256], time[32] = "-", period[32] = "-";
        if (h.has_time) snprintf(time, sizeof time, "%" PRIu64, h.time_ns);
        if (h.has_period) snprintf(period, sizeof period, "%" PRId64, h.period);
        snprintf(got, sizeof got, "%.*s|%" PRId64 "|%" PRId64 "|%" PRId64 "|%s|%s|%.*s|%.*s",
                 STR_ARG(h.comm), h.pid, h.tid, h.cpu, time, period, STR_ARG(h.event),
                 STR_ARG(h.rest));
        assert_string_equal(got, cases[i].want);
    }
}

static void test_frames(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *want; /* "address|symbol|binary|i(nlined)o(ffset)"; NULL: not a frame */
    } cases[] = {
        {"\t          414b3b fsnotify (/lib/modules/4.1/build/vmlinux)",
         "414b3b|fsnotify|/lib/modules/4.1/build/vmlinux|"},
        {"\t               0 [unknown] ([unknown])", "0|||"},
        {"\t    7f22f37c479c JS:*mul app.js:2:89 (/tmp/perf-2570.map)",
         "7f22f37c479c|JS:*mul app.js:2:89|/tmp/perf-2570.map|"},
        {"\t 401000 std::map<int, a (*)(int)>::at(int const&) const+0x1b (/bin/a b)",
         "401000|std::map<int, a (*)(int)>::at(int const&) const|/bin/a b|o"},
        {"\t 401000 f (/bin/a (deleted))", "401000|f|/bin/a (deleted)|"},
        {"\t 401000 g (inlined)", "401000|g||i"},
        {"\t            1395 (/tmp/demo/busy-fp)", "1395||/tmp/demo/busy-fp|"},
        {"\tffffffff81000000", "ffffffff81000000|||"},
        {"\t 401000 operator()", "401000|operator()||"},
        {"\t 0x12 f", "12|f||"},
        {"\t f+0x1 12", NULL},
        {"\t11112222333344445 f", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        perf_script_frame f;
        bool ok = perf_script_parse_frame(str_of(cases[i].text), &f);
        if (ok != (cases[i].want != NULL))
            fail_msg("%s: %s", cases[i].text, ok ? "is a frame" : "is not a frame");
        if (!ok) continue;
        char got[256];
        snprintf(got, sizeof got, "%" PRIx64 "|%.*s|%.*s|%s%s", f.address, STR_ARG(f.symbol),
                 STR_ARG(f.dso), f.inlined ? "i" : "", f.has_offset ? "o" : "");
        assert_string_equal(got, cases[i].want);
    }
}

/* ---- texts ---- */

typedef struct result {
    arena a;
    model m;
    ledger l;
    err e;
    bool ok;
} result;

static void read_into(str in, read_opts o, size_t budget, result *r)
{
    *r = (result){.a = {.budget = budget}};
    o.ledger = &r->l;
    r->ok = format_perf_script.read(&format_perf_script, in, &o, &r->a, &r->m, NULL, &r->e);
}

static uint64_t lost(const ledger *l, loss_concept c)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].concept == c && !l->v[i].carried_as) return l->v[i].count;
    return 0;
}

/* Two events, a kernel frame, inlined calls, a thread without a name; times count from 1970. */
#define KIRK                                                                                       \
    "kirk  1734/1735  [003] 1700000000.670274359:    1001001 cpu-clock: \n"                        \
    "\tffffffff81000123 do_idle ([kernel.kallsyms])\n"                                             \
    "\t          401010 inner (inlined)\n"                                                         \
    "\t          401010 outer (inlined)\n"                                                         \
    "\t          401010 main (/bin/a)\n"                                                           \
    "\n"                                                                                           \
    ":1736  1734/1736  1700000001.000000000:    1001001 cpu-clock: \n"                             \
    "\t          401010 main (/bin/a)\n"                                                           \
    "\n"                                                                                           \
    "kirk  1734/1735  [003] 1700000002.000000000:         -5 page-faults: \n"                      \
    "\t               0 [unknown] ([unknown])\n"                                                   \
    "\n"

static void check_kirk(const result *r)
{
    const model *m = &r->m;
    const dict *d = &m->dict;
    assert_int_equal(m->profiles.n, 2);
    const profile *p = &m->profiles.v[0];
    assert_true(str_eq(dict_str(d, p->sample_type.type), STR("cpu-clock")));
    assert_true(str_eq(dict_str(d, p->sample_type.unit), STR("nanoseconds")));
    assert_true(str_eq(dict_str(d, m->profiles.v[1].sample_type.unit), STR("count")));
    assert_int_equal(p->n_samples, 2);
    assert_int_equal(p->time_unix_nano, 1700000000670274359);
    sample s = sample_at(m, p, 0), t = sample_at(m, p, 1), u = sample_at(m, &m->profiles.v[1], 0);
    assert_int_equal(s.values[0], 1001001);
    assert_int_equal(u.values[0], -5);
    assert_int_equal(s.times[0], 1700000000670274359);
    assert_int_equal(s.n_attrs, 4);
    assert_int_equal(t.n_attrs, 2); /* pid and tid */
    span x = dict_stack(d, s.stack), y = dict_stack(d, t.stack);
    assert_int_equal(x.n, 2);
    assert_int_equal(y.n, 1);
    const location *l = &d->locations.v[d->frames.v[x.at + 1]];
    assert_int_equal(l->lines.n, 3);
    assert_true(
        str_eq(dict_str(d, d->functions.v[d->lines.v[l->lines.at].function].name), STR("inner")));
    assert_true(str_eq(dict_str(d, d->functions.v[d->lines.v[l->lines.at + 2].function].name),
                       STR("main")));
    assert_true(str_eq(dict_str(d, d->mappings.v[l->mapping].filename), STR("/bin/a")));
    const location *plain = &d->locations.v[d->frames.v[y.at]];
    assert_int_equal(plain->lines.n, 1);
    assert_int_equal(d->locations.v[d->frames.v[x.at]].attrs.n, 1); /* kernel */
}

static void test_read(void **state)
{
    (void)state;
    result r;
    assert_int_equal(format_perf_script.detect(STR(KIRK)), 90);
    read_into(STR(KIRK), (read_opts){0}, 0, &r);
    assert_true(r.ok);
    check_kirk(&r);
    assert_int_equal(r.l.n, 0);
    arena_free(&r.a);
}

static void test_write(void **state)
{
    (void)state;
    result r;
    read_into(STR(KIRK), (read_opts){0}, 0, &r);
    buf b = {0};
    ledger l = {0};
    assert_true(
        format_perf_script.write(&format_perf_script, &r.m, &(write_opts){.ledger = &l}, &b, &r.e));
    assert_int_equal(b.n, strlen(KIRK));
    assert_memory_equal(b.p, KIRK, b.n);
    buf_free(&b), arena_free(&r.a);
}

/* The ledger lists what the text cannot represent; names cannot break a line. */
static void test_write_losses(void **state)
{
    (void)state;
    arena a = {0};
    builder b;
    model m;
    err e = {0};
    assert_true(builder_init(&b, &a));
    profile *p = builder_profile(&b);
    p->sample_type =
        (value_type){builder_string(&b, STR("my type")), builder_string(&b, STR("bytes"))};
    p->period = 3;
    uint32_t f = builder_function(
        &b, &(function){.name = builder_string(&b, STR("two\nlines")), .start_line = 4});
    uint32_t loc = builder_location(&b, 0, 0, &(line){.function = f, .line = 9}, 1, NULL, 0);
    uint32_t attr = builder_attribute_str(&b, STR("k"), STR("v"));
    builder_sample(&b, &(sample){.stack = builder_stack(&b, &loc, 1),
                                 .attrs = &attr,
                                 .n_attrs = 1,
                                 .times = (uint64_t[]){5, 1000000007},
                                 .n_times = 2});
    assert_true(builder_finish(&b, &m, &e));
    ledger l = {0};
    buf out = {0};
    assert_true(
        format_perf_script.write(&format_perf_script, &m, &(write_opts){.ledger = &l}, &out, &e));
    buf_putc(&out, 0);
    assert_string_equal(out.p, ":0     0/0         0.000000005:          1 my_type: \n"
                               "\t               0 two_lines ([unknown])\n\n"
                               ":0     0/0         1.000000007:          1 my_type: \n"
                               "\t               0 two_lines ([unknown])\n\n");
    static const loss_concept wanted[] = {LOSS_NAME, LOSS_VALUE_TYPE, LOSS_PERIOD, LOSS_SOURCE_LINE,
                                          LOSS_ATTRIBUTE};
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
        if (!lost(&l, wanted[i])) fail_msg("%s is not in the ledger", loss_name(wanted[i]));
    buf_free(&out), arena_free(&a);
}

static void put_sample(builder *b, uint64_t time, int64_t value, uint32_t n_times)
{
    builder_sample(b,
                   &(sample){.times = &time, .n_times = n_times, .values = &value, .n_values = 1});
}

/* Readers count blocks and stop when the time decreases: blocks are ordered across all profiles,
 * each has a time, and types of the same samples are written once. */
static void test_write_order(void **state)
{
    (void)state;
    arena a = {0};
    builder b;
    model m;
    err e = {0};
    assert_true(builder_init(&b, &a));
    static const char *const types[][2] = {
        {"cycles", "count"}, {"samples", "count"}, {"cpu", "nanoseconds"}};
    for (size_t i = 0; i < 3; i++) {
        profile *p = builder_profile(&b);
        p->sample_type = (value_type){builder_string(&b, str_of(types[i][0])),
                                      builder_string(&b, str_of(types[i][1]))};
        p->time_unix_nano = 100, p->duration_nano = 8;
        if (i) { /* no times: spread over the time range */
            put_sample(&b, 0, 7, 0);
            put_sample(&b, 0, 8, 0);
        } else {
            put_sample(&b, 103, 1, 1);
            put_sample(&b, 101, 2, 1);
        }
    }
    assert_true(builder_finish(&b, &m, &e));
    ledger l = {0};
    buf out = {0};
    assert_true(
        format_perf_script.write(&format_perf_script, &m, &(write_opts){.ledger = &l}, &out, &e));
    buf_putc(&out, 0);
    assert_string_equal(out.p, ":0     0/0         0.000000100:          7 cpu: \n\n"
                               ":0     0/0         0.000000101:          2 cycles: \n\n"
                               ":0     0/0         0.000000103:          1 cycles: \n\n"
                               ":0     0/0         0.000000104:          8 cpu: \n\n");
    assert_int_equal(lost(&l, LOSS_TIMESTAMP), 2);
    assert_true(lost(&l, LOSS_VALUE_TYPE));
    buf_free(&out), arena_free(&a);
}

static void test_tolerance(void **state)
{
    (void)state;
    static const char text[] = "# ========\n# captured on    : today\n#\n"
                               "dd 29776 666709.771979:   10101010 cpu-clock: \r\n"
                               "\t414b3b fsnotify+0x12 (/vmlinux)\r\n"
                               "\t414b3b fsnotify+0x12 (/vmlinux)\r\n\r\n"
                               "x 1/1 666710.0: PERF_RECORD_MMAP2 1/1: [0x400000(0x1000)]\n"
                               "some noise\n"
                               "sh 5/5 666711.0: sched:sched_wakeup: comm=a pid=5";
    result r;
    read_into(str_of(text), (read_opts){0}, 0, &r);
    assert_true(r.ok);
    assert_int_equal(r.m.profiles.n, 2);
    assert_int_equal(dict_stack(&r.m.dict, sample_at(&r.m, &r.m.profiles.v[0], 0).stack).n, 2);
    assert_int_equal(sample_at(&r.m, &r.m.profiles.v[1], 0).values[0], 1);
    assert_int_equal(r.m.profiles.v[0].time_unix_nano, 666709771979000);
    assert_int_equal(r.m.profiles.v[1].attrs.n, 1); /* kiln.time.epoch */
    assert_int_equal(lost(&r.l, LOSS_TEXT_LINE), 2);
    assert_int_equal(lost(&r.l, LOSS_TIMESTAMP), 0);
    assert_int_equal(lost(&r.l, LOSS_TIME), 0);
    for (size_t i = 0; i < r.l.n; i++)
        if (r.l.v[i].concept == LOSS_TEXT_LINE) assert_string_equal(r.l.v[i].path, "line 8");
    arena_free(&r.a);
    read_into(STR("just\ntext\n"), (read_opts){0}, 0, &r);
    assert_false(r.ok);
    assert_string_equal(
        r.e.msg, "no line begins a sample of perf script: \"comm pid/tid [cpu] time: event:\"");
    assert_int_equal(r.e.offset, 0);
    arena_free(&r.a);
}

static void test_detect(void **state)
{
    (void)state;
    static const char *const others[] = {"",
                                         "main;foo;bar 12\nmain 1\n",
                                         "{\"a\": 1}",
                                         "PERFILE2\x10\x01",
                                         "heap profile: 1: 2 [ 3: 4] @ heap/1\n",
                                         "just text\nand more"};
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        assert_int_equal(format_perf_script.detect(str_of(others[i])), 0);
    /* -F selects the printed fields. */
    static const char *const fewer[] = {
        "dd 12 cycles: \n\t    414b3b read (/lib/libc.so)\n\n", /* comm,tid,event,ip,sym,dso */
        "dd 12/12 \n\t    414b3b read (/lib/libc.so)\n\n",      /* comm,pid,tid,ip,sym,dso */
        "\ndd    12 \n\t    414b3b read\n\t    1 main\n\n", /* comm,tid,ip,sym; an empty line first */
        "V8 Worker 12 [001] \n\t    414b3b read (/lib/libc.so)\n\n", /* comm,tid,cpu,ip,sym,dso */
    };
    for (size_t i = 0; i < ARRAY_LEN(fewer); i++) {
        result r;
        assert_ptr_equal(format_detect(str_of(fewer[i])), &format_perf_script);
        read_into(str_of(fewer[i]), (read_opts){0}, 0, &r);
        assert_true(r.ok);
        assert_int_equal(r.m.profiles.v[0].n_samples, 1);
        arena_free(&r.a);
    }
}

static void test_cut_and_out_of_memory(void **state)
{
    (void)state;
    for (size_t n = 0; n <= strlen(KIRK); n++) {
        char *copy = malloc(n + 1);
        memcpy(copy, KIRK, n);
        result r;
        read_into((str){copy, n}, (read_opts){0}, 0, &r);
        if (!r.ok) assert_int_equal(r.e.code, ERR_MALFORMED);
        if (n == strlen(KIRK)) check_kirk(&r);
        arena_free(&r.a);
        free(copy);
    }
    bool once = false;
    for (size_t budget = 64; budget < 64 * 1024; budget += 64) {
        result r;
        read_into(STR(KIRK), (read_opts){0}, budget, &r);
        if (r.ok)
            check_kirk(&r), once = true;
        else
            assert_int_equal(r.e.code, ERR_MEMORY);
        arena_free(&r.a);
    }
    assert_true(once);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heads),
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_write_losses),
        cmocka_unit_test(test_tolerance),
        cmocka_unit_test(test_write_order),
        cmocka_unit_test(test_detect),
        cmocka_unit_test(test_cut_and_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
