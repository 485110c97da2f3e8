/* tests/support/jfr_example.h - a small recording with every kind of constant, and the expected
 * model. */
#pragma once
#include "format/format.h"
#include "jfr_make.h"
#include "test.h"
#include <string.h>

enum { /* type ids of the tests */
       T_BYTE = 10,
       T_INT,
       T_LONG,
       T_FLOAT,
       T_STRING,
       T_SYMBOL,
       T_CLASS,
       T_METHOD,
       T_FRAME_TYPE,
       T_FRAME,
       T_STACK,
       T_THREAD,
       T_STATE,
       T_EXECUTION,
       T_MONITOR,
       T_ALLOC,
       T_SETTING,
       T_OWN,
       T_WALL,
       T_OTHER,
       T_JVM,
       T_SPAN,
};

#define PLAIN(n, t)                                                                                \
    {                                                                                              \
        .name = n, .class_id = t                                                                   \
    }
#define REF(n, t)                                                                                  \
    {                                                                                              \
        .name = n, .class_id = t, .constant = true                                                 \
    }
#define TIME                                                                                       \
    {                                                                                              \
        "startTime", T_LONG, .unit = "TICKS"                                                       \
    }
#define STACK REF("stackTrace", T_STACK)
#define THREAD REF("eventThread", T_THREAD)

static const jm_class classes[] = {
    {T_BYTE, "boolean", {{.name = NULL}}},
    {T_INT, "int", {{.name = NULL}}},
    {T_LONG, "long", {{.name = NULL}}},
    {T_FLOAT, "float", {{.name = NULL}}},
    {T_STRING, "java.lang.String", {{.name = NULL}}},
    {T_SYMBOL, "jdk.types.Symbol", {PLAIN("string", T_STRING)}},
    {T_CLASS, "java.lang.Class", {PLAIN("classLoader", T_LONG), REF("name", T_SYMBOL)}},
    {T_METHOD,
     "jdk.types.Method",
     {REF("type", T_CLASS), REF("name", T_SYMBOL), REF("descriptor", T_SYMBOL)}},
    {T_FRAME_TYPE, "jdk.types.FrameType", {PLAIN("description", T_STRING)}},
    {T_FRAME,
     "jdk.types.StackFrame",
     {REF("method", T_METHOD), PLAIN("lineNumber", T_INT), PLAIN("bytecodeIndex", T_INT),
      REF("type", T_FRAME_TYPE)}},
    {T_STACK,
     "jdk.types.StackTrace",
     {PLAIN("truncated", T_BYTE), {"frames", T_FRAME, .array = true}}},
    {T_THREAD,
     "java.lang.Thread",
     {PLAIN("osName", T_STRING), PLAIN("osThreadId", T_LONG), PLAIN("javaName", T_STRING),
      PLAIN("javaThreadId", T_LONG)}},
    {T_STATE, "jdk.types.ThreadState", {PLAIN("name", T_STRING)}},
    {T_EXECUTION,
     "jdk.ExecutionSample",
     {TIME, REF("sampledThread", T_THREAD), STACK, REF("state", T_STATE)}},
    {T_MONITOR,
     "jdk.JavaMonitorEnter",
     {TIME,
      {"duration", T_LONG, .unit = "TICKS"},
      THREAD,
      STACK,
      REF("monitorClass", T_CLASS),
      PLAIN("address", T_LONG)}},
    {T_ALLOC,
     "jdk.ObjectAllocationInNewTLAB",
     {TIME, THREAD, STACK, REF("objectClass", T_CLASS), PLAIN("tlabSize", T_LONG)}},
    {T_SETTING,
     "jdk.ActiveSetting",
     {TIME, PLAIN("id", T_LONG), PLAIN("name", T_STRING), PLAIN("value", T_STRING)}},
    {T_OWN,
     "demo.Order",
     {TIME, {"duration", T_LONG, .unit = "MILLISECONDS"}, PLAIN("price", T_FLOAT), THREAD, STACK}},
    {T_WALL,
     "profiler.WallClockSample",
     {TIME, REF("sampledThread", T_THREAD), STACK, PLAIN("samples", T_INT)}},
    {T_OTHER, "jdk.CPULoad", {TIME, PLAIN("load", T_FLOAT)}},
    {T_JVM, "jdk.JVMInformation", {TIME, PLAIN("jvmName", T_STRING), PLAIN("pid", T_LONG)}},
    {T_SPAN,
     "demo.Span",
     {TIME, STACK, PLAIN("traceId", T_STRING), PLAIN("spanId", T_STRING),
      PLAIN("contextId", T_LONG)}},
};

static const jm_header header = {2, 1, 1700000000000000000, 5000, 1000000000};

/* symbol 1 "app/Main", 2 "run", 3 "()V", 4 "libc.so.6", 5 "read", 6 "()L;", 7 "[B" */
static inline void put_constants(jm *m)
{
    static const char *const symbols[] = {"app/Main", "run",  "()V", "libc.so.6",
                                          "read",     "()L;", "[B"};
    static const char *const kinds[] = {"Interpreted", "Native", "Kernel"};
    jm_checkpoint(m, 7);
    jm_pool(m, T_SYMBOL, 7);
    for (unsigned i = 0; i < 7; i++) jm_long(m, i + 1), jm_str(m, symbols[i]);
    jm_pool(m, T_CLASS, 3);
    jm_long(m, 1), jm_long(m, 0), jm_long(m, 1);
    jm_long(m, 2), jm_long(m, 0), jm_long(m, 4);
    jm_long(m, 3), jm_long(m, 0), jm_long(m, 7);
    jm_pool(m, T_METHOD, 2);
    jm_long(m, 0x123456789a), jm_long(m, 1), jm_long(m, 2), jm_long(m, 3); /* app.Main.run */
    jm_long(m, 2), jm_long(m, 2), jm_long(m, 5), jm_long(m, 6);            /* libc.so.6.read */
    jm_pool(m, T_FRAME_TYPE, 3);
    for (unsigned i = 0; i < 3; i++) jm_long(m, i + 1), jm_str(m, kinds[i]);
    jm_pool(m, T_STACK, 2);
    jm_long(m, 1), jm_byte(m, 0), jm_int(m, 2); /* libc read, Main.run:42 */
    jm_long(m, 2), jm_int(m, 0), jm_int(m, 7), jm_long(m, 2);
    jm_long(m, 0x123456789a), jm_int(m, 42), jm_int(m, 7), jm_long(m, 1);
    jm_long(m, 2), jm_byte(m, 1), jm_int(m, 1); /* truncated: Main.run, native method */
    jm_long(m, 0x123456789a), jm_int(m, (uint32_t)-1), jm_int(m, 0), jm_long(m, 2);
    jm_pool(m, T_THREAD, 2);
    jm_long(m, 1), jm_str(m, "os"), jm_long(m, 77), jm_str(m, "main"), jm_long(m, 1);
    jm_long(m, 2), jm_str(m, "VM Thread"), jm_long(m, 78), jm_str(m, NULL), jm_long(m, 0);
    jm_pool(m, T_STATE, 1);
    jm_long(m, 1), jm_str(m, "STATE_RUNNABLE");
    jm_end(m);
}

static inline void put_execution(jm *m, uint64_t ticks, uint64_t thread, uint64_t stack)
{
    jm_begin(m, T_EXECUTION);
    jm_long(m, ticks), jm_long(m, thread), jm_long(m, stack), jm_long(m, 1);
    jm_end(m);
}

static inline void put_setting(jm *m, uint64_t id, const char *name, const char *value)
{
    jm_begin(m, T_SETTING);
    jm_long(m, 5000), jm_long(m, id), jm_str(m, name), jm_str(m, value);
    jm_end(m);
}

/* Begins a chunk with types and constants; the caller adds events and ends it. */
static inline jm opened(bool fixed)
{
    jm m = {.fixed = fixed};
    jm_chunk(&m, header);
    jm_metadata(&m, classes, ARRAY_LEN(classes));
    return m;
}

static inline jm example(bool fixed)
{
    jm m = opened(fixed);
    put_execution(&m, 5100, 1, 1); /* an event may precede its constants */
    put_constants(&m);
    put_setting(&m, T_EXECUTION, "period", "20 ms");
    put_execution(&m, 5200, 1, 1);
    put_execution(&m, 5300, 2, 2);
    jm_begin(&m, T_MONITOR);
    jm_long(&m, 4000), jm_long(&m, 2500), jm_long(&m, 1), jm_long(&m, 1), jm_long(&m, 1);
    jm_long(&m, 0xdead);
    jm_end(&m);
    jm_begin(&m, T_ALLOC);
    jm_long(&m, 5400), jm_long(&m, 1), jm_long(&m, 1), jm_long(&m, 3), jm_long(&m, 65536);
    jm_end(&m);
    jm_begin(&m, T_OTHER);
    jm_long(&m, 5400), jm_be(&m, 0x3f800000, 4);
    jm_end(&m);
    jm_begin(&m, T_JVM);
    jm_long(&m, 5400), jm_str(&m, "HotSpot"), jm_long(&m, 4711);
    jm_end(&m);
    jm_chunk_end(&m);
    return m;
}

static inline bool read_it(const jm *m, const read_opts *o, arena *a, model *out, err *e)
{
    static const read_opts none;
    layout_verdict v;
    return format_jfr.read(&format_jfr, buf_view(&m->out), o ? o : &none, a, out, &v, e);
}

/* ---- checking the result ---- */

static inline const profile *profile_named(const model *m, const char *type, const char *unit)
{
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        if (str_eq(dict_str(&m->dict, p->sample_type.type), str_of(type)) &&
            str_eq(dict_str(&m->dict, p->sample_type.unit), str_of(unit)))
            return p;
    }
    fail_msg("no profile %s/%s", type, unit);
    return NULL;
}

/* "libc.so.6.read[native] app.Main.run:42[jvm] | thread.id=77 ... | 100 200 | 1 1", times from the start */
static inline void describe(const model *m, const profile *p, size_t i, char *out, size_t n)
{
    buf b = {0};
    sample s = sample_at(m, p, i);
    span st = dict_stack(&m->dict, s.stack);
    for (uint32_t k = 0; k < st.n; k++) {
        const location *l = &m->dict.locations.v[m->dict.frames.v[st.at + k]];
        const line *ln = &m->dict.lines.v[l->lines.at];
        buf_str(&b, dict_str(&m->dict, m->dict.functions.v[ln->function].name));
        if (ln->line) buf_printf(&b, ":%lld", (long long)ln->line);
        const attribute *t = &m->dict.attributes.v[m->dict.attr_refs.v[l->attrs.at]];
        buf_printf(&b, "[%.*s] ", STR_ARG(any_str(&t->value)));
    }
    buf_z(&b, "|");
    for (uint32_t k = 0; k < s.n_attrs; k++) {
        const attribute *t = &m->dict.attributes.v[s.attrs[k]];
        buf_printf(&b, " %.*s=", STR_ARG(dict_str(&m->dict, t->key)));
        if (t->value.kind == ANY_STRING)
            buf_str(&b, any_str(&t->value));
        else
            buf_i64(&b, t->value.i);
    }
    buf_z(&b, " |");
    for (uint32_t k = 0; k < s.n_times; k++)
        buf_printf(&b, " %lld", (long long)(s.times[k] - header.start_ns));
    buf_z(&b, " |");
    for (uint32_t k = 0; k < s.n_values; k++) buf_printf(&b, " %lld", (long long)s.values[k]);
    snprintf(out, n, "%.*s", STR_ARG(buf_view(&b)));
    buf_free(&b);
}

static inline void assert_sample(const model *m, const profile *p, size_t i, const char *want)
{
    char got[512];
    assert_true(i < p->n_samples);
    describe(m, p, i, got, sizeof got);
    assert_string_equal(got, want);
}

static inline void check_example(const model *m)
{
    assert_true(m->checked);
    assert_int_equal(m->profiles.n, 6);
    const profile *p = profile_named(m, "samples", "count");
    assert_ptr_equal(p, &m->profiles.v[0]);
    assert_int_equal(p->n_samples, 2);
    assert_sample(m, p, 0,
                  "libc.so.6.read[native] app.Main.run:42[jvm] | thread.id=77 thread.name=main "
                  "kiln.jfr.thread_id=1 thread.state=STATE_RUNNABLE | 100 200 |");
    assert_sample(m, p, 1,
                  "app.Main.run[jvm] | thread.id=78 thread.name=VM Thread "
                  "thread.state=STATE_RUNNABLE kiln.stack.truncated=1 | 300 |");
    assert_u64(p->time_unix_nano, header.start_ns - 1000); /* an event began before the chunk */
    assert_u64(p->duration_nano, 1000000000 + 1000);
    assert_u64(p->period, 20000000);
    p = profile_named(m, "cpu", "nanoseconds");
    assert_sample(m, p, 1,
                  "app.Main.run[jvm] | thread.id=78 thread.name=VM Thread "
                  "thread.state=STATE_RUNNABLE kiln.stack.truncated=1 | 300 | 20000000");
    p = profile_named(m, "delay", "nanoseconds"); /* began before the chunk */
    assert_sample(m, p, 0,
                  "libc.so.6.read[native] app.Main.run:42[jvm] | thread.id=77 thread.name=main "
                  "kiln.jfr.thread_id=1 kiln.jfr.class=app.Main | -1000 | 2500");
    p = profile_named(m, "alloc_in_new_tlab_bytes", "bytes");
    assert_sample(m, p, 0,
                  "libc.so.6.read[native] app.Main.run:42[jvm] | thread.id=77 thread.name=main "
                  "kiln.jfr.thread_id=1 kiln.jfr.class=byte[] | 400 | 65536");
    assert_int_equal(m->resources.v[0].attrs.n, 2);
    assert_u64(m->resources.v[0].attrs.v[0].value.i, 4711);
}

static inline uint64_t n_observations(const model *m)
{
    uint64_t n = 0;
    for (size_t i = 0; i < m->profiles.n; i++)
        for (size_t k = 0; k < m->profiles.v[i].n_samples; k++) {
            sample s = sample_at(m, &m->profiles.v[i], k);
            n += sample_observations(&s);
        }
    return n;
}
