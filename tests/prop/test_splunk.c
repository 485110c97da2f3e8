/* Splunk's log records -> model -> log records -> model: equal, or the writer's ledger says what was lost.  Random text
 * records of every form that the grammar allows. */
#include "../support/random_model.h"
#include "../support/test.h"

#include "format/splunk_internal.h"

enum { MESSAGES = 400 };

static const char *const heads[] = {
    "\n\n",
    "\"w\" #1 prio=0 nid=0x2a runnable\n\n",
    "\"a \"b\" c\" #12 daemon prio=5 tid=0x7 in wait()\n   State: X (y)\n",
    "\"\" #3\n\n",
    "\n   State: only\n",
    "\"t\nwo\" #4 cpu=1.5ms [0x00]\r\n\r\n",
    ""};
static const char *const names[] = {
    "main", "global.f", "unknown.unknown", "a::b<void (int)>.operator()", "weird \"name\"", "x"};
static const char *const places[] = {"a.c:1",
                                     "a.c:10:12",
                                     "a.c:12:10",
                                     "a.c:10 5",
                                     "unknown:0:0",
                                     "C:\\x (2)\\y.c:3",
                                     "java.base@17/Native Method",
                                     "Unknown Source",
                                     "m@1/T.java:840",
                                     "a:",
                                     "my file 2",
                                     "unknown"};
#define PICK(r, a) (a)[below((r), ARRAY_LEN(a))]

static void put_text(rng *r, buf *out)
{
    buf body = {0};
    keyvalue kv[6];
    splunk_record rec = {.attrs = {kv, 0}};
    buf_z(&body, PICK(r, heads));
    for (size_t n = below(r, 6); n > 0; n--)
        buf_printf(&body, "%s%s(%s)\n", one_in(r, 2) ? "\tat " : "", PICK(r, names),
                   PICK(r, places));
    rec.body = any_of_str(buf_view(&body));
    rec.time = one_in(r, 5) ? 0 : 1700000000000000000 + below(r, 1000000);
    rec.observed = one_in(r, 5) ? 1700000000000000007 : 0;
    if (one_in(r, 3)) rec.trace_id = STR("0123456789abcdef"), rec.span_id = STR("01234567");
    if (one_in(r, 4)) rec.name = STR(SPLUNK_SCOPE);
    if (one_in(r, 8)) rec.flags = 1, rec.severity_number = 9, rec.severity_text = STR("info");
    kv[rec.attrs.n++] =
        (keyvalue){.key = STR(SPLUNK_SOURCETYPE), .value = any_of_str(STR(SPLUNK_SCOPE))};
    if (one_in(r, 2))
        kv[rec.attrs.n++] =
            (keyvalue){.key = STR(SPLUNK_DATA_FORMAT), .value = any_of_str(STR("text"))};
    if (one_in(r, 2))
        kv[rec.attrs.n++] =
            (keyvalue){.key = STR(SPLUNK_PERIOD), .value = any_of_int(1 + (int64_t)below(r, 2))};
    if (one_in(r, 4))
        kv[rec.attrs.n++] =
            (keyvalue){.key = STR(SPLUNK_ALLOCATED), .value = any_of_int((int64_t)below(r, 99))};
    if (one_in(r, 4))
        kv[rec.attrs.n++] =
            (keyvalue){.key = STR(SPLUNK_TRUNCATED), .value = {.kind = ANY_BOOL, .i = 1}};
    if (one_in(r, 4))
        kv[rec.attrs.n++] = (keyvalue){.key = STR("k"), .value = any_of_str(STR("v"))};
    splunk_record_put(out, 2, &rec);
    buf_free(&body);
}

static buf random_logs(rng *r)
{
    static const char *const languages[] = {"java", "node", "dotnet", "cpp"};
    buf scope_logs = {0}, rl = {0}, out = {0};
    splunk_scope_put(&scope_logs, 1, &(scope){.name = STR(SPLUNK_SCOPE), .version = STR("0.1.0")});
    for (size_t n = 1 + below(r, 8); n > 0; n--) put_text(r, &scope_logs);
    keyvalue kv = {.key = STR("telemetry.sdk.language"),
                   .value = any_of_str(str_of(PICK(r, languages)))};
    splunk_resource_put(&rl, 1, &(resource){.present = true, .attrs = {&kv, 1}});
    pb_put_bytes(&rl, 2, buf_view(&scope_logs));
    pb_put_bytes(&out, 1, buf_view(&rl));
    buf_free(&scope_logs), buf_free(&rl);
    return out;
}

static uint64_t first_seed(void)
{
    const char *s = getenv("KILN_SEED");
    return s ? strtoull(s, NULL, 0) : 1;
}

static bool read_it(str in, arena *a, model *m, err *e)
{
    return format_splunk_logs.read(&format_splunk_logs, in, &(read_opts){0}, a, m, NULL, e);
}

static void test_text(void **state)
{
    (void)state;
    size_t equal = 0;
    for (uint64_t seed = first_seed(); seed < first_seed() + MESSAGES; seed++) {
        rng r = {seed};
        arena a = {0};
        model m, back;
        err e = {0};
        ledger l = {0};
        buf in = random_logs(&r), out = {0};
        assert_ok(read_it(buf_view(&in), &a, &m, &e), &e);
        write_opts o = {.ledger = &l};
        assert_ok(format_splunk_logs.write(&format_splunk_logs, &m, &o, &out, &e), &e);
        assert_ok(read_it(buf_view(&out), &a, &back, &e), &e);
        bool same = model_equal(&m, &back, &e);
        equal += same;
        if (!same && !ledger_lost(&l)) {
            char text[400];
            fail_msg("KILN_SEED=%llu: differs and nobody says so: %s", (unsigned long long)seed,
                     err_text(&e, text, sizeof text));
        }
        buf_free(&in), buf_free(&out);
        arena_free(&a);
    }
    assert_true(equal > MESSAGES / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
