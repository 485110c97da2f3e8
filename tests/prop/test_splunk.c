/* Splunk's log records -> model -> log records -> model, with text and with pprof bodies, binary
 * and JSON: equal, or different exactly by what the ledger lists (support/ledger_judge.h). Uses random text
 * records of every form that the grammar allows, and random models as pprof bodies. */
#include "../support/random_model.h"
#include "../support/test.h"
#include "../support/ledger_judge.h"

#include "format/splunk_internal.h"
#include "wire/dump.h"

enum { MESSAGES = 400 };
#define TRACE_ID "0123456789abcdef"
#define SPAN_ID "01234567"

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

static void put_text(rng *r, bool flags, buf *out)
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
    if (one_in(r, 3)) rec.trace_id = STR(TRACE_ID), rec.span_id = STR(SPAN_ID);
    if (one_in(r, 4)) rec.name = STR(SPLUNK_SCOPE);
    if (one_in(r, 8)) rec.flags = flags, rec.severity_number = 9, rec.severity_text = STR("info");
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

/* `flags` adds a 32-bit field, which the text form of a message cannot represent. */
static buf random_logs(rng *r, bool flags)
{
    static const char *const languages[] = {"java", "node", "dotnet", "cpp"};
    buf scope_logs = {0}, rl = {0}, out = {0};
    splunk_scope_put(&scope_logs, 1, &(scope){.name = STR(SPLUNK_SCOPE), .version = STR("0.1.0")});
    for (size_t n = 1 + below(r, 8); n > 0; n--) put_text(r, flags, &scope_logs);
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

static void read_it(str in, arena *a, model *m, ledger *l)
{
    err e = {0};
    read_opts o = {.ledger = l};
    assert_ok(format_splunk_logs.read(&format_splunk_logs, in, &o, a, m, NULL, &e), &e);
}

static buf write_it(const model *m, ledger *l)
{
    buf out = {0};
    err e = {0};
    write_opts o = {.ledger = l};
    assert_ok(format_splunk_logs.write(&format_splunk_logs, m, &o, &out, &e), &e);
    return out;
}

static void assert_equal_by_ledger(const model *m, const model *back, const ledger *l,
                                   uint64_t seed, const char *what)
{
    if (!equal_by_ledger(m, back, l))
        fail_msg("KILN_SEED=%llu: %s: differs by more than the ledger lists",
                 (unsigned long long)seed, what);
}

/* OTLP/JSON has ids in hex; the schema has them raw. */
static void put_hex_ids(buf *out, str json)
{
    for (size_t i = 0; i < json.n;) {
        str left = {json.p + i, json.n - i}, id = {0};
        if (str_starts(left, STR("\"" TRACE_ID "\""))) id = STR(TRACE_ID);
        if (str_starts(left, STR("\"" SPAN_ID "\""))) id = STR(SPAN_ID);
        if (!id.n) {
            buf_putc(out, json.p[i++]);
            continue;
        }
        char hex[2 * sizeof TRACE_ID];
        hex_encode((const uint8_t *)id.p, id.n, hex);
        buf_printf(out, "\"%s\"", hex);
        i += id.n + 2;
    }
}

/* Checks that the same records as JSON give the same model. */
static void check_json(str in, const model *m, uint64_t seed)
{
    arena a = {0};
    model of_json;
    err e = {0};
    buf json = {0}, hex = {0};
    dump_opts o = {.format = DUMP_JSON};
    assert_ok(dump_message(in.p, in.n, splunk_logs_schema(), &o, &json, &e), &e);
    put_hex_ids(&hex, buf_view(&json));
    read_it(buf_view(&hex), &a, &of_json, NULL);
    if (!model_equal(m, &of_json, &e))
        fail_msg("KILN_SEED=%llu: JSON differs at %s", (unsigned long long)seed, e.path);
    buf_free(&json), buf_free(&hex);
    arena_free(&a);
}

/* Reads, writes and reads again: the first round differs by what the ledger lists, the second not at all. */
static void check_records(str in, bool json, uint64_t seed)
{
    arena a = {0};
    model m, back, again;
    ledger l = {0}, second = {0};
    read_it(in, &a, &m, NULL);
    if (json) check_json(in, &m, seed);
    buf out = write_it(&m, &l);
    read_it(buf_view(&out), &a, &back, &l);
    assert_equal_by_ledger(&m, &back, &l, seed, "written");
    buf twice = write_it(&back, &second);
    read_it(buf_view(&twice), &a, &again, &second);
    assert_equal_by_ledger(&back, &again, &second, seed, "written twice");
    if (json) check_json(buf_view(&out), &back, seed);
    buf_free(&out), buf_free(&twice);
    arena_free(&a);
}

static void test_text(void **state)
{
    (void)state;
    for (uint64_t seed = first_seed(); seed < first_seed() + MESSAGES; seed++) {
        rng r = {seed};
        buf in = random_logs(&r, seed % 2);
        check_records(buf_view(&in), seed % 2 == 0, seed);
        buf_free(&in);
    }
}

/* Models that were not log records are written with one pprof each. */
static void test_pprof(void **state)
{
    (void)state;
    for (uint64_t seed = first_seed(); seed < first_seed() + MESSAGES; seed++) {
        rng r = {seed};
        arena a = {0};
        ledger l = {0};
        model m = random_model(&r, &a, &(random_opts){.zero_first = true, .max_samples = 20});
        buf out = write_it(&m, &l);
        if (m.profiles.n)
            check_records(buf_view(&out), true, seed); /* without a record the input does not count
                                                        * as Splunk's logs */
        buf_free(&out);
        arena_free(&a);
    }
}

/* For any name and file, the output is one line of the producer's grammar with a namespace, and the
 * reader finds the file and the line. */
static void test_native(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "::", "::", "f",           "app",   "Box",  "<",      ">",         "(",   ")",        "[",
        "]",  "{",  "}",           " ",     "->",   "*",      "operator",  "int", "const",    ", ",
        ".",  "@",  ".part.0",     "\n",    "\t",   "()",     "operator<", "'",   "\xc3\xa9", "$",
        "at", "-",  "std::vector", ".cold", " at ", "global", "unknown",   "\"",  "#1",       "~"};
    static const char *const files[] = {"",         "a.c",     "/x/y/b.cc", "odd (v2).c",
                                        "sp ace.h", "lone(.c", "new\nline", "(",
                                        "c.rs",     "dir/"};
    static const char *const modules[] = {"", "/lib/libc.so.6", "[vdso]", "/usr/bin/app",
                                          "ld-linux-x86-64.so.2"};
    uint64_t first = first_seed();
    for (uint64_t seed = first; seed < first + 200 * MESSAGES; seed++) {
        rng r = {seed};
        buf name = {0}, out = {0};
        for (size_t n = below(&r, 9); n > 0; n--) buf_z(&name, PICK(&r, pieces));
        splunk_symbol s = {.name = buf_view(&name),
                           .file = str_of(PICK(&r, files)),
                           .line = (int64_t)below(&r, 3),
                           .module = str_of(PICK(&r, modules)),
                           .offset = below(&r, 1000)};
        splunk_symbol_put(&s, &out);
        str text = buf_view(&out);
        splunk_frame f;
        bool ok = splunk_frame_parse(text, &(splunk_text_opts){.columns = true}, &f);
        for (size_t i = 0; i < text.n; i++) ok &= (unsigned char)text.p[i] >= ' ';
        const char *dot = text.n ? memchr(text.p, '.', text.n) : NULL;
        ok = ok && dot && dot > text.p && f.name.n && !f.column && !f.line_end;
        bool has_file = s.file.n > 1 && s.file.p[s.file.n - 1] != '/';
        ok = ok && f.line == (has_file ? s.line : 0);
        if (!ok)
            fail_msg("KILN_SEED=%llu: `%.*s`, `%.*s` became `%.*s`", (unsigned long long)seed,
                     STR_ARG(s.name), STR_ARG(s.file), STR_ARG(text));
        buf_free(&name), buf_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_text), cmocka_unit_test(test_pprof),
                                       cmocka_unit_test(test_native)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
