/* Reads the agent's variables.  One function per type of value; each warns about an invalid value
 * and returns the default. */
#include "agent/config.h"

#include "base/ban.h"
#include <stdio.h>
#include <strings.h>

#define NS_PER_MS UINT64_C(1000000)

typedef struct reading {
    const otlp_environment *env;
    arena *a;
    bool failed;
} reading;

static const char *variable(const otlp_environment *env, const char *name)
{
    const char *v = env->get(env->ctx, name);
    return v && *v ? v : NULL; /* an empty variable is unset */
}

static void warn(const otlp_environment *env, const char *name, const char *what)
{
    char text[256];
    if (!env->warn) return;
    snprintf(text, sizeof text, "%s is ignored: %s", name, what);
    env->warn(env->ctx, text);
}

/* ---- on or off ---- */

static bool is_one_of(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (!strcasecmp(text, *words)) return true;
    return false;
}

static const char *const yes[] = {"true", "1", "yes", "on", NULL}, *const no[] = {"false", "0",
                                                                                  "no", "off",
                                                                                  NULL};

/* The conventions define `true`; other agents also accept 1 and yes.  Every other value is off,
 * with a warning. */
static bool splunk_wanted(const otlp_environment *env)
{
    static const char *const on[] = {"true", "1", "yes", NULL};
    const char *v = variable(env, "SPLUNK_PROFILER_ENABLED");
    if (!v || is_one_of(v, no)) return false;
    if (is_one_of(v, on)) return true;
    warn(env, "SPLUNK_PROFILER_ENABLED", "the value must be true or false; the profiler stays off");
    return false;
}

typedef struct kinds {
    bool cpu, wall, heap;
} kinds;

/* Moves the next word of a comma-separated list from *text to *word, without spaces around it. */
static bool next_word(str *text, str *word)
{
    if (!text->n) return false;
    const char *comma = memchr(text->p, ',', text->n);
    size_t n = comma ? (size_t)(comma - text->p) : text->n;
    *word = (str){text->p, n};
    while (word->n && *word->p == ' ') word->p++, word->n--;
    while (word->n && word->p[word->n - 1] == ' ') word->n--;
    n += comma != NULL;
    *text = (str){text->p + n, text->n - n};
    return true;
}

static bool word_is(str w, const char *text)
{
    return w.n == strlen(text) && !strncasecmp(w.p, text, w.n);
}

static kinds kinds_of(const otlp_environment *env, bool tell)
{
    kinds k = {0};
    str list = str_of(variable(env, "KILN_PROFILE")), w;
    while (next_word(&list, &w)) {
        if (word_is(w, "cpu"))
            k.cpu = true;
        else if (word_is(w, "wall"))
            k.wall = true;
        else if (word_is(w, "heap"))
            k.heap = true;
        else if (w.n && !word_is(w, "off") && tell)
            warn(env, "a word in KILN_PROFILE", "valid words are cpu, wall, heap and off");
    }
    return k;
}

bool agent_wanted(const otlp_environment *env)
{
    kinds k = kinds_of(env, true);
    return splunk_wanted(env) || k.cpu || k.wall || k.heap;
}

/* ---- values ---- */

static const char *text(reading *r, const char *name)
{
    const char *v = variable(r->env, name);
    if (!v) return NULL;
    size_t n = strlen(v) + 1;
    char *p = arena_alloc(r->a, n);
    r->failed |= !p;
    return p ? memcpy(p, v, n) : NULL;
}

static uint64_t number(reading *r, const char *name, uint64_t least, uint64_t most,
                       uint64_t otherwise)
{
    const char *v = variable(r->env, name);
    uint64_t n = 0;
    size_t i = 0;
    if (!v) return otherwise;
    for (; v[i] >= '0' && v[i] <= '9' && n <= most; i++) n = n * 10 + (uint64_t)(v[i] - '0');
    if (i && !v[i] && n >= least && n <= most) return n;
    char what[96];
    snprintf(what, sizeof what, "it requires an integer from %llu to %llu",
             (unsigned long long)least, (unsigned long long)most);
    warn(r->env, name, what);
    return otherwise;
}

/* Reads a number of bytes with an optional suffix K, M or G (powers of 1024). */
static uint64_t size(reading *r, const char *name, uint64_t least, uint64_t most,
                     uint64_t otherwise)
{
    static const char units[] = "KMG";
    const char *v = variable(r->env, name);
    uint64_t n = 0;
    size_t i = 0;
    if (!v) return otherwise;
    for (; v[i] >= '0' && v[i] <= '9' && n <= most; i++) n = n * 10 + (uint64_t)(v[i] - '0');
    const char *unit = i && v[i] ? strchr(units, v[i] & ~0x20) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    if (i && !v[i + (unit != NULL)] && n <= most >> shift && n << shift >= least) return n << shift;
    char what[128];
    snprintf(what, sizeof what, "it requires a number of bytes from %llu to %llu, such as 64M",
             (unsigned long long)least, (unsigned long long)most);
    warn(r->env, name, what);
    return otherwise;
}

static bool read_switch(reading *r, const char *name, bool otherwise)
{
    const char *v = variable(r->env, name);
    if (!v || is_one_of(v, yes) || is_one_of(v, no)) return v ? is_one_of(v, yes) : otherwise;
    warn(r->env, name, "it requires on or off");
    return otherwise;
}

/* Returns the index of the value in `words`, or `otherwise` if it is unset or invalid. */
static int choice(reading *r, const char *name, const char *const *words, int otherwise)
{
    const char *v = variable(r->env, name);
    if (!v) return otherwise;
    for (int i = 0; words[i]; i++)
        if (!strcasecmp(v, words[i])) return i;
    char what[128] = "it requires one of";
    for (int i = 0; words[i]; i++) {
        size_t n = strlen(what);
        snprintf(what + n, sizeof what - n, "%s %s", i ? "," : "", words[i]);
    }
    warn(r->env, name, what);
    return otherwise;
}

/* ---- all settings ---- */

static uint64_t splunk_interval(reading *r)
{
    static const char name[] = "SPLUNK_PROFILER_CALL_STACK_INTERVAL";
    uint64_t ms = number(r, name, 1, 86400000, AGENT_WALL_MS);
    if (ms >= AGENT_WALL_FLOOR_MS) return ms;
    if (r->env->warn)
        r->env->warn(r->env->ctx,
                     "SPLUNK_PROFILER_CALL_STACK_INTERVAL is below 10 ms: 10 ms is used");
    return AGENT_WALL_FLOOR_MS;
}

static void read_kinds(reading *r, agent_config *c)
{
    static const char *const exports[] = {"otlp", "splunk", "file", NULL};
    bool splunk = splunk_wanted(&(otlp_environment){r->env->get, NULL, r->env->ctx});
    kinds k = kinds_of(r->env, false);
    c->cpu = k.cpu, c->wall = k.wall || splunk, c->heap = k.heap;
    c->to = (agent_export)choice(r, "KILN_EXPORT", exports, splunk ? EXPORT_SPLUNK : EXPORT_OTLP);
    uint64_t wall_ms = number(r, "KILN_WALL_INTERVAL", 1, 86400000, AGENT_WALL_MS);
    if (splunk && (variable(r->env, "SPLUNK_PROFILER_CALL_STACK_INTERVAL") ||
                   !variable(r->env, "KILN_WALL_INTERVAL")))
        wall_ms = splunk_interval(r);
    c->wall_ns = wall_ms * NS_PER_MS;
}

static void read_capture(reading *r, agent_config *c)
{
    static const char *const sources[] = {"auto", "perf", "timer", NULL};
    c->cpu_hz = (uint32_t)number(r, "KILN_CPU_HZ", 1, 10000, AGENT_CPU_HZ);
    c->source = (cpu_source)choice(r, "KILN_CPU_SOURCE", sources, CPU_AUTO);
    c->heap_bytes = number(r, "KILN_HEAP_INTERVAL", 1, UINT64_C(1) << 40, AGENT_HEAP_BYTES);
    c->max_frames = (uint32_t)number(r, "KILN_FRAMES", 1, CAPTURE_FRAMES_MAX, CAPTURE_FRAMES);
    c->unwind_bytes = size(r, "KILN_UNWIND_MEMORY", 0, UINT64_C(1) << 40, AGENT_UNWIND_BYTES);
    c->exclude = text(r, "KILN_EXCLUDE");
    c->follow_fork = read_switch(r, "KILN_FORK", true);
}

static void read_ship(reading *r, agent_config *c)
{
    static const char *const formats[] = {"text", "pprof", NULL};
    c->flush_ns = number(r, "KILN_FLUSH_INTERVAL", 10, 86400000, AGENT_FLUSH_MS) * NS_PER_MS;
    c->exit_ns = number(r, "KILN_EXIT_TIMEOUT", 0, 600000, AGENT_EXIT_MS) * NS_PER_MS;
    c->file = text(r, "KILN_FILE");
    c->file_keep = (uint32_t)number(r, "KILN_FILE_KEEP", 0, 1000000, 0);
    c->symbolize = read_switch(r, "KILN_SYMBOLIZE", true);
    c->spool = text(r, "KILN_SPOOL");
    c->splunk_pprof = choice(r, "KILN_SPLUNK_FORMAT", formats, 0) == 1;
    c->report = text(r, "KILN_REPORT");
    c->quiet = read_switch(r, "KILN_QUIET", false);
    c->logs_endpoint = text(r, "SPLUNK_PROFILER_LOGS_ENDPOINT");
    c->service_name = text(r, "OTEL_SERVICE_NAME");
    c->resource = text(r, "OTEL_RESOURCE_ATTRIBUTES");
}

bool agent_config_read(const otlp_environment *env, arena *a, agent_config *out, err *e)
{
    reading r = {.env = env, .a = a};
    *out = (agent_config){0};
    read_kinds(&r, out);
    read_capture(&r, out);
    read_ship(&r, out);
    if (r.failed) return err_set(e, ERR_MEMORY, "not enough memory for the settings");
    if (out->to == EXPORT_FILE && !out->file)
        return err_set(e, ERR_USAGE,
                       "KILN_EXPORT=file requires a file name: KILN_FILE=app-%%p-%%n.otlp");
    return true;
}
