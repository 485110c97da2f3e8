/* Splunk's log records: the grammar of text, optional parts of a record, and round trips. */
#include "../../support/test.h"

#include "format/splunk_internal.h"
#include "wire/base64.h"

#pragma GCC diagnostic ignored "-Wmissing-field-initializers" /* tables: omitted fields are 0 */

/* ---- frames ---- */

static const struct {
    const char *text;
    bool columns, dotnet;
    const char *name, *scope, *module, *file; /* name NULL: not a frame */
    int line, column, line_end, column_end;
    bool native;
} frame_cases[] = {
    {"\tat app::Worker.run(worker.cc:17)", 0, 0, "app::Worker.run", "", "", "worker.cc", 17},
    {"\tat global.main(main.c:12)", 0, 0, "main", "global", "", "main.c", 12},
    {"   at global.f(a.c:10 5)", 0, 0, "f", "global", "", "a.c", 10, 5},
    {"at global.g(a.c:10:12)", 0, 0, "g", "global", "", "a.c", 10, 0, 12},
    {"at global.h(a.c:10:12 5:9)", 0, 0, "h", "global", "", "a.c", 10, 5, 12, 9},
    {"at global.i(a.c:10 5:9)", 0, 0, "i", "global", "", "a.c", 10, 5, 0, 9},
    {"at f(a.c:12:10)", 0, 0, "f", "", "", "a.c", 12, 10}, /* G-8: a range never runs backwards */
    {"hashLoop(/srv/app.js:7:18)", 1, 0, "hashLoop", "", "", "/srv/app.js", 7, 18},
    {"anonymous(unknown:0:0)", 1, 0, "anonymous", "", "", ""},
    {"idle(unknown:-1)", 1, 0, "idle", "", "", ""},
    {"spin(/srv/odd dir (v2)/mod:1.js:1:27)", 1, 0, "spin", "", "", "/srv/odd dir (v2)/mod:1.js", 1,
     27},
    {"t(node:internal/timers:487:25)", 1, 0, "t", "", "", "node:internal/timers", 487, 25},
    {"\tat java.lang.Object.wait(java.base@17.0.15/Native Method)", 0, 0, "java.lang.Object.wait",
     "", "java.base@17.0.15", "", 0, 0, 0, 0, true},
    {"\tat T$$Lambda$1/0x0.run(Unknown Source)", 0, 0, "T$$Lambda$1/0x0.run", "", "", ""},
    {"\tat java.lang.Thread.run(java.base@17.0.15/Thread.java:840)", 0, 0, "java.lang.Thread.run",
     "", "java.base@17.0.15", "Thread.java", 840},
    {"at f(/a/@scope/b.js:3)", 0, 0, "f", "", "", "/a/@scope/b.js", 3},
    {"\tat unknown.unknown(unknown)", 0, 0, "unknown", "unknown", "", ""},
    {"at global.read([libc.so.6])", 0, 0, "read", "global", "", "[libc.so.6]"},
    {"at std::function<void (int)>.operator()(std_function.h:591)", 0, 0,
     "std::function<void (int)>.operator()", "", "", "std_function.h", 591},
    {"at global.f(C:\\src\\a.c:3)", 0, 0, "f", "global", "", "C:\\src\\a.c", 3},
    {"com.acme.Foo.bar:42", 0, 0, "com.acme.Foo.bar", "", "", "", 42},
    {"\tat My.Cls.Run(System.Int32, System.String[])", 0, 1,
     "My.Cls.Run(System.Int32, System.String[])", "", "", ""},
    {"\tat global.no_state_line(a.c:)", 0, 0, "no_state_line", "global", "", "a.c"},
    {"\tat global.g(my file 2)", 0, 0, "g", "global", "", "my file 2"},
    {"\tat global.h(a:5:6:7)", 0, 0, "h", "global", "", "a:5", 6, 0, 7},
    {"at f(a.c:99999999999999999999)", 0, 0, "f", "", "", "a.c"},
    {"at x)(a.c:1)", 0, 0, "x)", "", "", "a.c", 1},
    {"\t- waiting on <0x1> (a java.lang.Object)", 0, 0, NULL},
    {"   No compile task", 0, 0, NULL},
    {"   Locked ownable synchronizers:", 0, 0, NULL},
    {"nothing at all", 0, 0, NULL},
    {"", 0, 0, NULL},
    {"at ", 0, 0, NULL},
    {")", 0, 0, NULL},
};

#define assert_str(got, want)                                                                      \
    do {                                                                                           \
        if (!str_eq((got), str_of(want)))                                                          \
            fail_msg("%s: \"%.*s\", expected \"%s\"", #got, STR_ARG(got), want);                   \
    } while (0)

static void test_frames(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(frame_cases); i++) {
        splunk_frame f;
        splunk_text_opts o = {.columns = frame_cases[i].columns, .dotnet = frame_cases[i].dotnet};
        bool is = splunk_frame_parse(str_of(frame_cases[i].text), &o, &f);
        if (is != (frame_cases[i].name != NULL)) fail_msg("%s: %d", frame_cases[i].text, is);
        if (!is) continue;
        assert_str(f.name, frame_cases[i].name);
        assert_str(f.scope, frame_cases[i].scope);
        assert_str(f.module, frame_cases[i].module);
        assert_str(f.file, frame_cases[i].file);
        assert_u64(f.line, frame_cases[i].line);
        assert_u64(f.column, frame_cases[i].column);
        assert_u64(f.line_end, frame_cases[i].line_end);
        assert_u64(f.column_end, frame_cases[i].column_end);
        assert_int_equal(f.native, frame_cases[i].native);
    }
}

/* ---- headers ---- */

static const struct {
    const char *body, *name, *status, *state;
    bool present;
    size_t frames, skipped;
    uint64_t index, cpu, elapsed, tid, nid;
} heads[] = {
    {"\"worker-1\" #7 prio=0 os_prio=0 cpu=0.12ms elapsed=8.50s tid=0x7f10c2ffd700 nid=0x1a2b "
     "runnable\n"
     "   linux.Thread.State: RUNNING\n\tat a.b(c.c:1)\n",
     "worker-1", "runnable", "linux.Thread.State: RUNNING", true, 1, 0, 7, 120000, 8500000000,
     0x7f10c2ffd700, 0x1a2b},
    {"\"he said \"hi\" #7 prio=9\" #12 daemon prio=5 nid=0x215e in Object.wait()  "
     "[0x00007fe5c97fd000]\n"
     "   java.lang.Thread.State: TIMED_WAITING (on object monitor)\n\tat T.nap(T.java:2)\n\t- "
     "locked <0x1>\n",
     "he said \"hi\" #7 prio=9", "in Object.wait()",
     "java.lang.Thread.State: TIMED_WAITING (on object monitor)", true, 1, 1, 12, 0, 0, 0, 0x215e},
    {"\"tab\tnew\nline\" #13 tid=0x5 nid=0x0\n\n\tat unknown.unknown(unknown)\n", "tab\tnew\nline",
     "", "", true, 1, 0, 13, 0, 0, 5, 0},
    {"\"w\" #1 cpu=1us elapsed=2m tid=0x0 nid=0x1 \"odd\" status\r\n\r\n\tat global.f(a.c:1)\r\n",
     "w", "\"odd\" status", "", true, 1, 0, 1, 1000, 120000000000, 0, 1},
    {"\"w\" #1 [77] nid=42 runnable\n\tat global.f(a.c:)\n\tat g(b)\n", "w", "runnable", "", true,
     2, 0, 1, 0, 0, 0, 42},
    {"\"VM Thread\" os_prio=0 nid=0x2152 runnable  \n", "VM Thread", "runnable", "", true, 0, 0, 0,
     0, 0, 0, 0x2152},
    {"\n\nf(a.js:1)\n", "", "", "", false, 1, 0, 0, 0, 0, 0, 0},
    {"a.b:1\nc.d:2", "", "", "", false, 2, 0, 0, 0, 0, 0, 0},
    {"\"never ends\nx\ny\nz\nf(a:1)", "", "", "", false, 1, 4, 0, 0, 0, 0, 0},
    {"", "", "", "", false, 0, 0, 0, 0, 0, 0, 0},
};

static void test_heads(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
        arena a = {0};
        splunk_stack s;
        assert_true(splunk_text_parse(str_of(heads[i].body), &(splunk_text_opts){0}, &a, &s));
        assert_int_equal(s.thread.present, heads[i].present);
        assert_str(s.thread.name, heads[i].name);
        assert_str(s.thread.status, heads[i].status);
        assert_str(s.state, heads[i].state);
        assert_u64(s.frames.n, heads[i].frames);
        assert_u64(s.skipped, heads[i].skipped);
        assert_u64(s.thread.index, heads[i].index);
        assert_u64(s.thread.cpu_ns, heads[i].cpu);
        assert_u64(s.thread.elapsed_ns, heads[i].elapsed);
        assert_u64(s.thread.tid, heads[i].tid);
        assert_u64(s.thread.nid, heads[i].nid);
        arena_free(&a);
    }
}

/* ---- messages ---- */

static void put_record(buf *logs, splunk_record *r, const char *const *attrs, const char *body)
{
    keyvalue kv[8];
    size_t n = 0;
    for (; attrs[2 * n]; n++)
        kv[n] =
            (keyvalue){.key = str_of(attrs[2 * n]), .value = any_of_str(str_of(attrs[2 * n + 1]))};
    r->attrs = (keyvalues){kv, n};
    r->body = any_of_str(str_of(body));
    splunk_record_put(logs, 2, r);
}

static buf message_of(buf *records)
{
    buf rl = {0}, out = {0};
    buf scope_logs = {0};
    splunk_scope_put(&scope_logs, 1, &(scope){.name = STR(SPLUNK_SCOPE), .version = STR("0.1.0")});
    buf_put(&scope_logs, records->p, records->n);
    keyvalue kv = {.key = STR("service.name"), .value = any_of_str(STR("demo"))};
    splunk_resource_put(&rl, 1, &(resource){.present = true, .attrs = {&kv, 1}});
    pb_put_bytes(&rl, 2, buf_view(&scope_logs));
    pb_put_bytes(&out, 1, buf_view(&rl));
    buf_free(&rl), buf_free(&scope_logs), buf_free(records);
    return out;
}

static const char *const text_attrs[] = {SPLUNK_SOURCETYPE, SPLUNK_SCOPE, SPLUNK_DATA_FORMAT,
                                         "text", NULL};

/* Python's pprof: string 0 is a label's key, a trace id has lost its zeros; no types, no values. */
static buf python_pprof(void)
{
    static const char *const strings[] = {SPLUNK_TIME, "trace_id",    "span_id",
                                          "abc",       "1",           "work",
                                          "w.py",      SPLUNK_PERIOD, "thread.stack.truncated",
                                          "True"};
    buf out = {0}, s = {0}, l = {0};
    pb_put_uint(&s, 1, 1);
    pb_put_uint(&l, 3, 1700000000123);
    pb_put_bytes(&s, 3, buf_view(&l)), buf_reset(&l);
    static const uint64_t labels[][3] = {{1, 3, 0}, {2, 4, 0}, {7, 0, 1000}, {8, 9, 0}};
    for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
        pb_put_uint(&l, 1, labels[i][0]);
        pb_put_uint(&l, labels[i][1] ? 2 : 3, labels[i][1] ? labels[i][1] : labels[i][2]);
        pb_put_bytes(&s, 3, buf_view(&l)), buf_reset(&l);
    }
    pb_put_bytes(&out, 2, buf_view(&s)), buf_reset(&s);
    pb_put_uint(&l, 1, 1), pb_put_uint(&l, 2, UINT64_MAX); /* line -1 */
    pb_put_uint(&s, 1, 1), pb_put_bytes(&s, 4, buf_view(&l));
    pb_put_bytes(&out, 4, buf_view(&s)), buf_reset(&s);
    pb_put_uint(&s, 1, 1), pb_put_uint(&s, 2, 5), pb_put_uint(&s, 4, 6);
    pb_put_bytes(&out, 5, buf_view(&s));
    for (size_t i = 0; i < ARRAY_LEN(strings); i++) pb_put_bytes(&out, 6, str_of(strings[i]));
    buf_free(&s), buf_free(&l);
    return out;
}

static buf example(void)
{
    buf records = {0}, pp = python_pprof(), gz = {0}, text = {0};
    err e = {0};
    put_record(&records, &(splunk_record){.time = 1700000000000000001, .name = STR(SPLUNK_SCOPE)},
               text_attrs,
               "\"w\" #1 prio=0 nid=0x2a runnable\n\n\tat global.f(a.c:1:2)\n\tat main(m.c:3)\n");
    put_record(&records,
               &(splunk_record){.time = 1700000000000000002,
                                .trace_id = STR("0123456789abcdef"),
                                .span_id = STR("01234567"),
                                .name = STR(SPLUNK_SCOPE)},
               text_attrs, "\n\nmain(m.c:3)\n");
    assert_ok(pack(CODEC_GZIP, buf_view(&pp), &gz, &e), &e);
    base64_encode(&text, buf_view(&gz));
    buf_putc(&text, '\0');
    const char *const attrs[] = {SPLUNK_SOURCETYPE,
                                 SPLUNK_SCOPE,
                                 SPLUNK_DATA_FORMAT,
                                 SPLUNK_PPROF,
                                 SPLUNK_DATA_TYPE,
                                 "cpu",
                                 NULL};
    put_record(&records, &(splunk_record){0}, attrs, text.p);
    buf_free(&pp), buf_free(&gz), buf_free(&text);
    return message_of(&records);
}

static bool read_it(str in, arena *a, model *m, ledger *l, err *e)
{
    read_opts o = {.ledger = l};
    return format_splunk_logs.read(&format_splunk_logs, in, &o, a, m, NULL, e);
}

static void test_example(void **state)
{
    (void)state;
    arena a = {0};
    model m;
    err e = {0};
    ledger l = {0};
    buf in = example();
    assert_int_equal(format_splunk_logs.detect(buf_view(&in)), 95);
    assert_ptr_equal(format_detect(buf_view(&in)), &format_splunk_logs);
    assert_ok(read_it(buf_view(&in), &a, &m, &l, &e), &e);
    assert_u64(m.profiles.n, 3); /* text has no period; pprof has wall time too */
    assert_u64(m.profiles.v[0].n_samples, 2);
    sample s = sample_at(&m, &m.profiles.v[0], 1);
    assert_memory_equal(m.dict.links.v[s.link].trace_id, "0123456789abcdef", 16);
    s = sample_at(&m, &m.profiles.v[2], 0);
    assert_u64(s.values[0], 1000000000);
    assert_u64(s.times[0], 1700000000123000000);
    assert_u64(m.dict.links.v[s.link].trace_id[15], 0xbc);
    assert_u64(m.dict.links.v[s.link].trace_id[14], 0x0a);
    assert_u64(m.dict.links.v[s.link].span_id[7], 1);
    assert_u64(s.n_attrs, 1); /* kiln.stack.truncated, in any case of letters */
    buf_free(&in);
    arena_free(&a);
}

static void test_round_trip(void **state)
{
    (void)state;
    arena a = {0};
    model m, again;
    err e = {0};
    ledger l = {0};
    buf in = example(), out = {0};
    assert_ok(read_it(buf_view(&in), &a, &m, NULL, &e), &e);
    write_opts o = {.ledger = &l};
    assert_ok(format_splunk_logs.write(&format_splunk_logs, &m, &o, &out, &e), &e);
    assert_false(ledger_lost(&l));
    assert_ok(read_it(buf_view(&out), &a, &again, NULL, &e), &e);
    assert_ok(model_equal(&m, &again, &e), &e);
    buf_free(&in), buf_free(&out);
    arena_free(&a);
}

/* The two types of a pprof body become one record, even if a store has separated them. */
static void test_apart(void **state)
{
    (void)state;
    static const size_t orders[][3] = {{1, 2, 0}, {1, 0, 2}};
    buf in = example(), out[2] = {0};
    for (size_t i = 0; i < 2; i++) {
        arena a = {0};
        model m;
        err e = {0};
        assert_ok(read_it(buf_view(&in), &a, &m, NULL, &e), &e);
        const profile was[3] = {m.profiles.v[0], m.profiles.v[1], m.profiles.v[2]};
        for (size_t k = 0; k < 3; k++) m.profiles.v[k] = was[orders[i][k]];
        assert_ok(format_splunk_logs.write(&format_splunk_logs, &m, &(write_opts){0}, &out[i], &e),
                  &e);
        arena_free(&a);
    }
    assert_u64(out[0].n, out[1].n);
    assert_memory_equal(out[0].p, out[1].p, out[0].n);
    buf_free(&in), buf_free(&out[0]), buf_free(&out[1]);
}

/* JSON gives the same model as protobuf. */
static void test_json(void **state)
{
    (void)state;
    static const char text[] = "{\"resourceLogs\":[{\"resource\":{\"attributes\":[{\"key\":"
                               "\"service.name\",\"value\":{\"stringValue\":"
                               "\"demo\"}}]},\"scopeLogs\":[{\"scope\":{\"name\":\"otel."
                               "profiling\",\"version\":\"0.1.0\"},"
                               "\"logRecords\":[{\"timeUnixNano\":\"1700000000000000002\","
                               "\"flags\":1,\"name\":\"n\",\"body\":{"
                               "\"stringValue\":\"\\n\\nmain(m.c:3)\\n\"},\"attributes\":[{\"key\":"
                               "\"com.splunk.sourcetype\",\"value\":{"
                               "\"stringValue\":\"otel.profiling\"}}],\"traceId\":"
                               "\"30313233343536373839616263646566\",\"spanId\":"
                               "\"3031323334353637\"}]}]}]}";
    buf records = {0};
    static const char *const attrs[] = {SPLUNK_SOURCETYPE, SPLUNK_SCOPE, NULL};
    put_record(&records,
               &(splunk_record){.time = 1700000000000000002,
                                .flags = 1,
                                .name = STR("n"),
                                .trace_id = STR("0123456789abcdef"),
                                .span_id = STR("01234567")},
               attrs, "\n\nmain(m.c:3)\n");
    buf in = message_of(&records);
    arena a = {0};
    model x, y;
    err e = {0};
    assert_ptr_equal(format_detect(((str){text, sizeof text - 1})), &format_splunk_logs);
    assert_ok(read_it(((str){text, sizeof text - 1}), &a, &x, NULL, &e), &e);
    assert_ok(read_it(buf_view(&in), &a, &y, NULL, &e), &e);
    assert_ok(model_equal(&x, &y, &e), &e);
    buf_free(&in);
    arena_free(&a);
}

/* A bad record is counted and the others are read; alone it is an error. */
static const struct {
    const char *kind, *body, *fails;
} bad[] = {
    {"pprof-gzip-base64", "%%%", "not base64: character 0 of the body is invalid"},
    {"jfr", "x", "profiling.data.format is \"jfr\", expected text or pprof-gzip-base64"},
    {"pprof-gzip-base64", "H4sIAAAA", NULL},
    {"pprof-gzip-base64", "//////8=", NULL},
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        const char *const attrs[] = {SPLUNK_SOURCETYPE, SPLUNK_SCOPE, SPLUNK_DATA_FORMAT,
                                     bad[i].kind, NULL};
        for (int with = 0; with < 2; with++) {
            buf records = {0};
            put_record(&records, &(splunk_record){0}, attrs, bad[i].body);
            if (with) put_record(&records, &(splunk_record){.time = 1}, text_attrs, "\n\nf(a:1)\n");
            buf in = message_of(&records);
            arena a = {0};
            model m;
            err e = {0};
            ledger l = {0};
            bool ok = read_it(buf_view(&in), &a, &m, &l, &e);
            assert_int_equal(ok, with);
            if (ok) assert_true(ledger_lost(&l));
            if (!ok && bad[i].fails) assert_string_equal(e.msg, bad[i].fails);
            if (!ok)
                assert_non_null(strstr(e.path, "resource_logs[0].scope_logs[0].log_records[0]"));
            buf_free(&in);
            arena_free(&a);
        }
    }
}

static void test_truncated(void **state)
{
    (void)state;
    buf in = example();
    for (size_t n = 0; n < in.n; n++) {
        arena a = {0};
        model m;
        err e = {0};
        char *cut = malloc(n ? n : 1); /* separate memory: a sanitizer detects a read past the
                                        * end */
        memcpy(cut, in.p, n);
        bool ok = read_it((str){cut, n}, &a, &m, NULL, &e);
        if (ok || e.code == ERR_OK || !e.msg[0]) fail_msg("%zu bytes: %s", n, e.msg);
        format_splunk_logs.detect((str){cut, n});
        free(cut);
        arena_free(&a);
    }
    buf_free(&in);
}

static void test_memory(void **state)
{
    (void)state;
    buf in = example();
    bool done = false;
    for (size_t budget = 64; !done; budget += 512) {
        arena a = {.budget = budget};
        model m;
        err e = {0};
        done = read_it(buf_view(&in), &a, &m, NULL, &e);
        if (!done && !err_exhausted(&e)) fail_msg("budget %zu: %d %s", budget, (int)e.code, e.msg);
        arena_free(&a);
        assert_true(budget < (64 << 20));
    }
    buf_free(&in);
}

/* Rules S-56 to S-64 for frames of native programs. */
static void test_native_frames(void **state)
{
    (void)state;
    static const struct {
        splunk_symbol s;
        const char *want;
    } cases[] = {
#define SYM(n, f, l, m, o)                                                                         \
    {.name = STR(n), .file = STR(f), .line = l, .module = STR(m), .offset = o}
        {SYM("do_work", "/src/app/work.c", 42, "/usr/bin/app", 0), "global.do_work(work.c:42)"},
        {SYM("app::net::Conn::read", "conn.cc", 17, "", 0), "app::net::Conn.read(conn.cc:17)"},
        {SYM("app::net::Conn::read(int, char const*) const", "conn.cc", 17, "", 0),
         "app::net::Conn.read(conn.cc:17)"},
        {SYM("app::(anonymous namespace)::f(int)", "a.cc", 1, "", 0),
         "app::(anonymous namespace).f(a.cc:1)"},
        {SYM("(anonymous namespace)::f()", "a.cc", 1, "", 0), "(anonymous namespace).f(a.cc:1)"},
        {SYM("helper(int)", "util.cc", 9, "", 0), "global.helper(util.cc:9)"},
        {SYM("void app::put<int, std::pair<int, int> >(int)", "a.h", 3, "", 0),
         "app.put<int, std::pair<int, int> >(a.h:3)"},
        {SYM("std::function<void (int)>::operator()(int) const", "std_function.h", 591, "", 0),
         "std::function<void (int)>.operator()(std_function.h:591)"},
        {SYM("A::operator<(A const&) const", "a.h", 3, "", 0), "A.operator<(a.h:3)"},
        {SYM("A::operator->() const", "a.h", 3, "", 0), "A.operator->(a.h:3)"},
        {SYM("A::operator<< <int>(int)", "a.h", 3, "", 0), "A.operator<< <int>(a.h:3)"},
        {SYM("operator new[](unsigned long)", "", 0, "/lib/libstdc++.so.6", 0),
         "global.operator new[](unknown:0)"},
        {SYM("A::operator bool() const", "a.h", 3, "", 0), "A.operator bool(a.h:3)"},
        {SYM("main::{lambda(int)#1}::operator()(int) const", "m.cc", 4, "", 0),
         "main::{lambda(int)#1}.operator()(m.cc:4)"},
        {SYM("f(int)::{lambda()#2}::operator()() const", "m.cc", 4, "", 0),
         "f(int)::{lambda()#2}.operator()(m.cc:4)"},
        {SYM("decltype(auto) ns::g<int>(int)", "m.cc", 4, "", 0), "ns.g<int>(m.cc:4)"},
        {SYM("<T as core::fmt::Debug>::fmt", "lib.rs", 7, "", 0),
         "<T as core::fmt::Debug>.fmt(lib.rs:7)"},
        {SYM("core::ops::function::FnOnce::call_once", "function.rs", 250, "", 0),
         "core::ops::function::FnOnce.call_once(function.rs:250)"},
        {SYM("compute", "", 0, "/usr/bin/app", 0x40), "global.compute(unknown:0)"},
        {SYM("read", "", 0, "/usr/lib/x86_64-linux-gnu/libc.so.6", 1),
         "global.read([libc.so.6]:0)"},
        {SYM("_dl_fixup", "", 0, "/lib64/ld-linux-x86-64.so.2", 1),
         "global._dl_fixup([ld-linux-x86-64.so.2]:0)"},
        {SYM("__vdso_gettimeofday", "", 0, "[vdso]", 1), "global.__vdso_gettimeofday([vdso]:0)"},
        {SYM("", "", 0, "/usr/bin/app", 0x2a1ca), "unknown.0x2a1ca(unknown:0)"},
        {SYM("", "", 0, "/usr/lib/libc.so.6", 0x2a1ca), "unknown.0x2a1ca(unknown:0)"},
        {SYM("", "", 0, "", 0x2a1ca), "unknown.unknown(unknown:0)"},
        {SYM("f.constprop.0", "a.c", 1, "", 0), "global.f(a.c:1)"},
        {SYM("f.isra.1", "a.c", 1, "", 0), "global.f(a.c:1)"},
        {SYM("f.part.2.cold", "a.c", 1, "", 0), "global.f(a.c:1)"},
        {SYM("f.llvm.123456", "a.c", 1, "", 0), "global.f(a.c:1)"},
        {SYM("read@@GLIBC_2.2.5", "", 0, "", 0), "global.read(unknown:0)"},
        {SYM("ns::f(int) [clone .constprop.0]", "a.cc", 1, "", 0), "ns.f(a.cc:1)"},
        {SYM("bad\nname", "a.c", 1, "", 0), "global.bad?name(a.c:1)"},
        {SYM("odd)name", "a.c", 1, "", 0), "global.oddname(a.c:1)"},
        {SYM("app::Worker.run", "worker.cc", 17, "", 0), "app::Worker.run(worker.cc:17)"},
        {SYM("main.main", "main.go", 5, "", 0), "main.main(main.go:5)"},
        {SYM(".plt", "", 0, "/usr/bin/app", 0), "global.plt(unknown:0)"},
        {SYM("f", "a.c", 0, "", 0), "global.f(a.c:0)"},
        {SYM("ns::", "a.c", 1, "", 0), "global.ns::(a.c:1)"},
        {SYM("<<<", "a.c", 1, "", 0), "global.<<<(a.c:1)"},
        {SYM("operator", "a.c", 1, "", 0), "global.operator(a.c:1)"},
#undef SYM
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf out = {0};
        splunk_symbol_put(&cases[i].s, &out);
        if (!str_eq(buf_view(&out), str_of(cases[i].want)))
            fail_msg("%.*s: got %.*s, expected %s", STR_ARG(cases[i].s.name), (int)out.n, out.p,
                     cases[i].want);
        buf_free(&out);
    }
}

/* Restores names: joins those that were split at the last `::`, and keeps dots of other
 * languages. */
static void test_native_names(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"global.main(main.c:12)", "main"},
        {"app::Worker.run(worker.cc:17)", "app::Worker::run"},
        {"app.stat(ns.cc:7)", "app::stat"},
        {"app::(anonymous namespace)::Hidden.work(ns.cc:6)",
         "app::(anonymous namespace)::Hidden::work"},
        {"(anonymous namespace).f(a.cc:1)", "(anonymous namespace)::f"},
        {"main::{lambda#1}.operator()(m.cc:4)", "main::{lambda#1}::operator()"},
        {"A.operator->(a.h:3)", "A::operator->"},
        {"A.operator bool(a.h:3)", "A::operator bool"},
        {"<T as core::fmt::Debug>.fmt(lib.rs:7)", "<T as core::fmt::Debug>::fmt"},
        {"std.terminate(unknown:0)", "std::terminate"},
        {"global.read([libc.so.6]:0)", "read"},
        {"global.memcpy@plt(unknown:0)", "memcpy@plt"},
        {"unknown.0x2a1ca(unknown:0)", "0x2a1ca"},
        {"main.main(main.go:5)", "main.main"},
        {"net/http.(*Server).Serve(unknown:0)", "net/http.(*Server).Serve"},
        {"main.(*T).run(unknown:0)", "main.(*T).run"},
        {"handler.v2(a.c:9)", "handler.v2"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        splunk_frame f;
        buf out = {0};
        splunk_text_opts o = {.columns = true};
        assert_true(splunk_frame_parse(str_of(cases[i].text), &o, &f));
        splunk_symbol_name(&f, &out);
        assert_str(buf_view(&out), cases[i].want);
        buf_free(&out);
    }
}

/* Bodies in the form of Kiln's agent: properties of the sender, expected name of the first frame
 * and expected thread state. */
static const struct {
    const char *key, *value, *state, *name, *thread;
} senders[] = {
    {"telemetry.sdk.name", "kiln", "linux.Thread.State: RUNNING", "app::Worker::run", "running"},
    {"telemetry.sdk.name", "kiln", "linux.Thread.State: DISK_SLEEP", "app::Worker::run",
     "sleeping"},
    {"telemetry.sdk.name", "kiln", "", "app::Worker::run", "runnable"},
    {"service.name", "demo", "linux.Thread.State: RUNNING", "app::Worker::run", "running"},
    {"telemetry.sdk.language", "cpp", "linux.Thread.State: IDLE", "app::Worker::run", "IDLE"},
    /* Without these properties the dot is part of the name. */
    {"telemetry.sdk.language", "cpp", "RUNNING", "app::Worker.run", "RUNNING"},
    {"service.name", "demo", "java.lang.Thread.State: RUNNABLE", "app::Worker.run",
     "java.lang.Thread.State: RUNNABLE"},
    {"telemetry.sdk.language", "java", "linux.Thread.State: RUNNING", "app::Worker.run",
     "linux.Thread.State: RUNNING"},
};

static void test_senders(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(senders); i++) {
        char text[256];
        snprintf(
            text, sizeof text,
            "{\"resourceLogs\":[{\"resource\":{\"attributes\":[{\"key\":\"%s\",\"value\":{"
            "\"stringValue\":\"%s\"}}]},\"scopeLogs\":[{\"scope\":{\"name\":\"otel.profiling\"},"
            "\"logRecords\":[{",
            senders[i].key, senders[i].value);
        buf in = {0};
        buf_z(&in, text);
        buf_printf(&in,
                   "\"timeUnixNano\":\"5\",\"body\":{\"stringValue\":\"\\\"w\\\" #1 nid=0x7 "
                   "runnable\\n   %s\\n\\tat app::Worker.run(w.cc:1)\\n\"}}]}]}]}",
                   senders[i].state);
        arena a = {0};
        model m;
        err e = {0};
        assert_ok(read_it(buf_view(&in), &a, &m, NULL, &e), &e);
        assert_str(dict_str(&m.dict, m.dict.functions.v[1].name), senders[i].name);
        bool found = false;
        for (size_t k = 1; k < m.dict.attributes.n; k++)
            if (str_eq(dict_str(&m.dict, m.dict.attributes.v[k].key), STR("thread.state"))) {
                assert_str(any_str(&m.dict.attributes.v[k].value), senders[i].thread);
                found = true;
            }
        assert_true(found);
        buf_free(&in);
        arena_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_native_frames), cmocka_unit_test(test_frames),
        cmocka_unit_test(test_heads),         cmocka_unit_test(test_example),
        cmocka_unit_test(test_round_trip),    cmocka_unit_test(test_apart),
        cmocka_unit_test(test_json),          cmocka_unit_test(test_refused),
        cmocka_unit_test(test_truncated),     cmocka_unit_test(test_memory),
        cmocka_unit_test(test_native_names),  cmocka_unit_test(test_senders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
