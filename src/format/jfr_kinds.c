/* Defines which events become profiles, and what their values mean. Settings of the recording
 * determine the period of a sample and sometimes the type. */
#include "format/jfr_internal.h"

#include "base/ban.h"

#define JDK(name) "jdk." name " com.oracle.jdk." name

/* Type names are those of pprof if it has one, otherwise those that Pyroscope uses for the same
 * events. Kinds that must not be added up have different names. */
static const jkind_spec specs[] = {
    {JDK("ExecutionSample"),
     {{"samples", "count", M_ONE}, {"cpu", "nanoseconds", M_PERIOD}},
     .period = P_EXECUTION},
    {JDK("NativeMethodSample"),
     {{"native_samples", "count", M_ONE}, {"native", "nanoseconds", M_PERIOD}},
     .period = P_NATIVE},
    {"jdk.CPUTimeSample",
     {{"cpu_time_samples", "count", M_ONE}, {"cpu_time", "nanoseconds", M_TIMESPAN}},
     .timespan = "samplingPeriod"},
    {"profiler.WallClockSample",
     {{"wall_samples", "count", M_COUNT}, {"wall", "nanoseconds", M_COUNT_PERIOD}},
     .count = "samples",
     .period = P_WALL},
    {"datadog.ExecutionSample", {{"datadog_cpu_samples", "count", M_COUNT}}, .count = "weight"},
    {"datadog.MethodSample", {{"datadog_wall_samples", "count", M_COUNT}}, .count = "weight"},

    {JDK("ObjectAllocationInNewTLAB"),
     {{"alloc_in_new_tlab_objects", "count", M_ONE}, {"alloc_in_new_tlab_bytes", "bytes", M_BYTES}},
     .bytes = "tlabSize"},
    {JDK("ObjectAllocationOutsideTLAB"),
     {{"alloc_outside_tlab_objects", "count", M_ONE},
      {"alloc_outside_tlab_bytes", "bytes", M_BYTES}},
     .bytes = "allocationSize"},
    {"jdk.ObjectAllocationSample",
     {{"alloc_sample_objects", "count", M_ONE}, {"alloc_sample_bytes", "bytes", M_BYTES}},
     .bytes = "weight"},
    {JDK("OldObjectSample"),
     {{"old_objects", "count", M_ONE}, {"old_bytes", "bytes", M_BYTES}},
     .bytes = "objectSize"},
    {"profiler.LiveObject",
     {{"live_objects", "count", M_ONE}, {"live_bytes", "bytes", M_BYTES}},
     .bytes = "allocationSize"},
    {"profiler.Malloc",
     {{"malloc_objects", "count", M_ONE}, {"malloc_bytes", "bytes", M_BYTES}},
     .bytes = "size"},
    {.events = "profiler.Free", .measures = {{"free_objects", "count", M_ONE}}},

    {JDK("JavaMonitorEnter"),
     {{"contentions", "count", M_ONE}, {"delay", "nanoseconds", M_TIMESPAN}},
     .timespan = "duration"},
    {JDK("JavaMonitorWait"),
     {{"waits", "count", M_ONE}, {"wait", "nanoseconds", M_TIMESPAN}},
     .timespan = "duration"},
    {JDK("JavaMonitorInflate"),
     {{"monitor_inflations", "count", M_ONE}, {"monitor_inflation", "nanoseconds", M_TIMESPAN}},
     .timespan = "duration"},
    {JDK("ThreadPark"),
     {{"parks", "count", M_ONE}, {"park", "nanoseconds", M_TIMESPAN}},
     .timespan = "duration"},
    {JDK("ThreadSleep"),
     {{"sleeps", "count", M_ONE}, {"sleep", "nanoseconds", M_TIMESPAN}},
     .timespan = "duration"},
    {"jdk.VirtualThreadPinned",
     {{"pins", "count", M_ONE}, {"pinned", "nanoseconds", M_TIMESPAN}},
     .timespan = "duration"},
    {"profiler.NativeLock",
     {{"native_contentions", "count", M_ONE}, {"native_delay", "nanoseconds", M_TIMESPAN}},
     .timespan = "duration"},
    {"jdk.MethodTrace profiler.MethodTrace",
     {{"method_calls", "count", M_ONE}, {"method_time", "nanoseconds", M_TIMESPAN}},
     .timespan = "duration"},

    {JDK("SocketRead"),
     {{"socket_reads", "count", M_ONE},
      {"socket_read", "nanoseconds", M_TIMESPAN},
      {"socket_read_bytes", "bytes", M_BYTES}},
     .bytes = "bytesRead",
     .timespan = "duration"},
    {JDK("SocketWrite"),
     {{"socket_writes", "count", M_ONE},
      {"socket_write", "nanoseconds", M_TIMESPAN},
      {"socket_write_bytes", "bytes", M_BYTES}},
     .bytes = "bytesWritten",
     .timespan = "duration"},
    {JDK("FileRead"),
     {{"file_reads", "count", M_ONE},
      {"file_read", "nanoseconds", M_TIMESPAN},
      {"file_read_bytes", "bytes", M_BYTES}},
     .bytes = "bytesRead",
     .timespan = "duration"},
    {JDK("FileWrite"),
     {{"file_writes", "count", M_ONE},
      {"file_write", "nanoseconds", M_TIMESPAN},
      {"file_write_bytes", "bytes", M_BYTES}},
     .bytes = "bytesWritten",
     .timespan = "duration"},
    {.events = JDK("JavaExceptionThrow"), .measures = {{"exceptions", "count", M_ONE}}},
    {.events = JDK("JavaErrorThrow"), .measures = {{"errors", "count", M_ONE}}},
};

bool jfr_word_is(const char *words, str name)
{
    while (words && *words) {
        size_t n = strcspn(words, " ");
        if (str_eq((str){words, n}, name)) return true;
        words += n + (words[n] == ' ');
    }
    return false;
}

static const jkind_spec *spec_of(str event)
{
    for (size_t i = 0; i < ARRAY_LEN(specs); i++)
        if (jfr_word_is(specs[i].events, event)) return &specs[i];
    return NULL;
}

size_t jfr_n_ranks(void) { return ARRAY_LEN(specs); }
size_t jfr_rank(const jkind *k) { return k->spec ? (size_t)(k->spec - specs) : ARRAY_LEN(specs); }

static const jfield *field_named(const jtype *t, const char *name)
{
    for (size_t i = 0; i < t->fields.n; i++)
        if (str_eq(t->fields.v[i].name, str_of(name))) return &t->fields.v[i];
    return NULL;
}

/* Whether the type is an application's event with a stack. The JDK's other events are skipped. */
static bool is_own(const jtype *t)
{
    const jfield *f = field_named(t, "stackTrace");
    return f && f->constant && t->name.n && !str_starts(t->name, STR("jdk.")) &&
           !str_starts(t->name, STR("com.oracle."));
}

/* ---- settings ---- */

/* Parses "20 ms", "10ms", "5000000" (ns); returns 0 for "everyChunk" and the like. */
static int64_t duration_ns(str s)
{
    static const struct {
        const char *unit;
        int64_t ns;
    } units[] = {{"ns", 1},          {"us", 1000},         {"ms", 1000000},       {"s", 1000000000},
                 {"m", 60000000000}, {"h", 3600000000000}, {"d", 86400000000000}, {"", 1}};
    int64_t v = 0;
    size_t i = 0;
    for (; i < s.n && s.p[i] >= '0' && s.p[i] <= '9'; i++)
        if (ckd_mul(&v, v, 10) || ckd_add(&v, v, s.p[i] - '0')) return 0;
    if (!i) return 0;
    while (i < s.n && s.p[i] == ' ') i++;
    for (size_t k = 0; k < ARRAY_LEN(units); k++)
        if (str_eq((str){s.p + i, s.n - i}, str_of(units[k].unit)))
            return ckd_mul(&v, v, units[k].ns) ? 0 : v;
    return 0;
}

void jfr_setting(jfr *r, str event, str name, str value)
{
    const jkind_spec *k = spec_of(event);
    bool execution = k && k->period == P_EXECUTION;
    int64_t ns;
    if (str_eq(name, STR("event")) && value.n) {
        r->async_event = value;
    } else if (str_eq(name, STR("period")) && k && k->period && (ns = duration_ns(value)) > 0) {
        r->period[k->period] = ns;
    } else if (execution && str_eq(name, STR("interval")) && (ns = duration_ns(value)) > 0) {
        r->async_interval = ns;
    } else if (execution && str_eq(name, STR("wall")) && (ns = duration_ns(value)) > 0) {
        r->period[P_WALL] = r->async_wall = ns;
    }
}

static bool async_event_is(const jfr *r, const char *words)
{
    return jfr_word_is(words, r->async_event);
}

/* Assigns async-profiler's interval to the event that it samples. `wall` may have its own. */
void jfr_settings_done(jfr *r)
{
    if (!r->async_interval) return;
    r->period[P_EXECUTION] = r->async_interval;
    if (!r->async_wall && async_event_is(r, "wall")) r->period[P_WALL] = r->async_interval;
}

/* ---- kinds ---- */

static void add_measure(jkind *k, jmeasure m) { k->measures[k->n_measures++] = m; }

/* Names the event that async-profiler sampled: time on CPU, wall-clock time, or a hardware
 * counter. */
static void name_execution(const jfr *r, jkind *k)
{
    str event = r->async_event;
    if (!event.n || async_event_is(r, "cpu itimer ctimer")) return;
    if (async_event_is(r, "wall")) {
        k->measures[1].type = "wall";
    } else {
        k->measures[1].type = NULL;
        k->measures[1].unit = "count";
        k->type_name = event;
    }
}

static jkind *kind_of(jfr *r, const jtype *t, const jkind_spec *spec)
{
    for (size_t i = 0; i < r->kinds.n; i++)
        if (str_eq(r->kinds.v[i]->event, t->name)) return r->kinds.v[i];
    jkind *k = arena_new(&r->work, jkind, 1);
    jkind **slot = k ? vec_push(&r->work, &r->kinds) : NULL;
    if (!slot) return NULL;
    *slot = k;
    k->event = t->name;
    k->spec = spec;
    if (!spec) {
        k->type_name = t->name;
        add_measure(k, (jmeasure){NULL, "count", M_ONE});
        if (field_named(t, "duration")) add_measure(k, (jmeasure){NULL, "nanoseconds", M_TIMESPAN});
        return k;
    }
    for (size_t i = 0; i < JFR_MAX_MEASURES && spec->measures[i].type; i++)
        add_measure(k, spec->measures[i]);
    if (spec->period == P_EXECUTION) name_execution(r, k);
    return k;
}

bool jfr_bind_info(jfr *r, jtype *t)
{
    static const struct {
        const char *events;
        jrole role;
        const char *fields[3];
    } infos[] = {
        {JDK("ActiveSetting"), R_SETTING, {"id", "name", "value"}},
        {JDK("JVMInformation"), R_JVM, {"pid", "jvmName", "jvmVersion"}},
        {JDK("OSInformation"), R_OS, {"osVersion"}},
        {"jdk.CPUTimeSamplesLost", R_LOST, {"lostSamples"}},
    };
    t->bound_info = true;
    for (size_t i = 0; i < ARRAY_LEN(infos); i++) {
        if (!jfr_word_is(infos[i].events, t->name)) continue;
        t->role = (uint8_t)infos[i].role;
        t->plan = jfr_plan(r, t, infos[i].fields, ARRAY_LEN(infos[i].fields), false);
        return t->plan || err_memory(r->e);
    }
    return true;
}

bool jfr_bind_sample(jfr *r, jtype *t)
{
    const jkind_spec *spec = spec_of(t->name);
    if (!spec && (t->role || !is_own(t) || r->kinds.n >= JFR_MAX_KINDS)) return true;
    const char *names[JFR_SLOTS] = {
        [S_TIME] = "startTime",
        [S_THREAD] = "sampledThread eventThread",
        [S_STACK] = "stackTrace",
        [S_TIMESPAN] = spec ? spec->timespan : "duration",
        [S_COUNT] = spec ? spec->count : NULL,
        [S_BYTES] = spec ? spec->bytes : NULL,
        [S_STATE] = spec ? "state" : NULL,
        [S_CLASS] = spec ? "objectClass monitorClass parkedClass thrownClass" : NULL,
        [S_SPAN] = "spanId",
        [S_ROOT_SPAN] = "localRootSpanId",
        [S_SPAN_NAME] = "spanName",
        [S_CONTEXT] = "contextId",
        [S_TRACE] = "traceId",
    };
    t->kind = kind_of(r, t, spec);
    t->plan = t->kind ? jfr_plan(r, t, names, JFR_SLOTS, false) : NULL;
    if (!t->plan) return err_memory(r->e);
    t->role = R_SAMPLE;
    return true;
}
