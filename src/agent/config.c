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

static const char *look(const otlp_environment *env, const char *name)
{
    const char *v = env->get(env->who, name);
    return v && *v ? v : NULL; /* empty is unset */
}

static void warn(const otlp_environment *env, const char *name, const char *what)
{
    char text[256];
    if (!env->warn) return;
    snprintf(text, sizeof text, "%s is ignored: %s", name, what);
    env->warn(env->who, text);
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

/* The conventions know `true`, agents also 1 and yes; everything else is off, and said. */
static bool splunk_wanted(const otlp_environment *env)
{
    static const char *const on[] = {"true", "1", "yes", NULL};
    const char *v = look(env, "SPLUNK_PROFILER_ENABLED");
    if (!v || is_one_of(v, no)) return false;
    if (is_one_of(v, on)) return true;
    warn(env, "SPLUNK_PROFILER_ENABLED", "only true and false mean something; the profiler is off");
    return false;
}

typedef struct kinds {
    bool cpu, wall, heap;
} kinds;

/* Takes the next word of a comma list off *text; blanks around it do not count. */
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
    str list = str_of(look(env, "KILN_PROFILE")), w;
    while (next_word(&list, &w)) {
        if (word_is(w, "cpu"))
            k.cpu = true;
        else if (word_is(w, "wall"))
            k.wall = true;
        else if (word_is(w, "heap"))
            k.heap = true;
        else if (w.n && !word_is(w, "off") && tell)
            warn(env, "a word of KILN_PROFILE", "it knows cpu, wall, heap and off");
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
    const char *v = look(r->env, name);
    if (!v) return NULL;
    size_t n = strlen(v) + 1;
    char *p = arena_alloc(r->a, n);
    r->failed |= !p;
    return p ? memcpy(p, v, n) : NULL;
}

static uint64_t number(reading *r, const char *name, uint64_t least, uint64_t most,
                       uint64_t otherwise)
{
    const char *v = look(r->env, name);
    uint64_t n = 0;
    size_t i = 0;
    if (!v) return otherwise;
    for (; v[i] >= '0' && v[i] <= '9' && n <= most; i++) n = n * 10 + (uint64_t)(v[i] - '0');
    if (i && !v[i] && n >= least && n <= most) return n;
    char what[96];
    snprintf(what, sizeof what, "it wants a whole number from %llu to %llu",
             (unsigned long long)least, (unsigned long long)most);
    warn(r->env, name, what);
    return otherwise;
}

/* Bytes, with K, M or G behind them for the powers of 1024. */
static uint64_t size(reading *r, const char *name, uint64_t least, uint64_t most,
                     uint64_t otherwise)
{
    static const char units[] = "KMG";
    const char *v = look(r->env, name);
    uint64_t n = 0;
    size_t i = 0;
    if (!v) return otherwise;
    for (; v[i] >= '0' && v[i] <= '9' && n <= most; i++) n = n * 10 + (uint64_t)(v[i] - '0');
    const char *unit = i && v[i] ? strchr(units, v[i] & ~0x20) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    if (i && !v[i + (unit != NULL)] && n <= most >> shift && n << shift >= least) return n << shift;
    char what[128];
    snprintf(what, sizeof what, "it requires a number of bytes from %llu to %llu, like 64M",
             (unsigned long long)least, (unsigned long long)most);
    warn(r->env, name, what);
    return otherwise;
}

static bool truth(reading *r, const char *name, bool otherwise)
{
    const char *v = look(r->env, name);
    if (!v || is_one_of(v, yes) || is_one_of(v, no)) return v ? is_one_of(v, yes) : otherwise;
    warn(r->env, name, "it wants on or off");
    return otherwise;
}

/* Which of the words (NULL at the end) it is; the first when it is unset or none of them. */
static int choice(reading *r, const char *name, const char *const *words, int otherwise)
{
    const char *v = look(r->env, name);
    if (!v) return otherwise;
    for (int i = 0; words[i]; i++)
        if (!strcasecmp(v, words[i])) return i;
    char what[128] = "it wants one of";
    for (int i = 0; words[i]; i++) {
        size_t n = strlen(what);
        snprintf(what + n, sizeof what - n, "%s %s", i ? "," : "", words[i]);
    }
    warn(r->env, name, what);
    return otherwise;
}

/* ---- all of it ---- */

static uint64_t splunk_interval(reading *r)
{
    static const char name[] = "SPLUNK_PROFILER_CALL_STACK_INTERVAL";
    uint64_t ms = number(r, name, 1, 86400000, AGENT_WALL_MS);
    if (ms >= AGENT_WALL_FLOOR_MS) return ms;
    if (r->env->warn)
        r->env->warn(r->env->who,
                     "SPLUNK_PROFILER_CALL_STACK_INTERVAL is below 10 ms: 10 ms it is");
    return AGENT_WALL_FLOOR_MS;
}

static void read_kinds(reading *r, agent_config *c)
{
    static const char *const exports[] = {"otlp", "splunk", "file", NULL};
    bool splunk = splunk_wanted(&(otlp_environment){r->env->get, NULL, r->env->who});
    kinds k = kinds_of(r->env, false);
    c->cpu = k.cpu, c->wall = k.wall || splunk, c->heap = k.heap;
    c->to = (agent_export)choice(r, "KILN_EXPORT", exports, splunk ? EXPORT_SPLUNK : EXPORT_OTLP);
    uint64_t wall_ms = number(r, "KILN_WALL_INTERVAL", 1, 86400000, AGENT_WALL_MS);
    if (splunk && (look(r->env, "SPLUNK_PROFILER_CALL_STACK_INTERVAL") ||
                   !look(r->env, "KILN_WALL_INTERVAL")))
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
    c->follow_fork = truth(r, "KILN_FORK", true);
}

static void read_ship(reading *r, agent_config *c)
{
    static const char *const formats[] = {"text", "pprof", NULL};
    c->flush_ns = number(r, "KILN_FLUSH_INTERVAL", 10, 86400000, AGENT_FLUSH_MS) * NS_PER_MS;
    c->exit_ns = number(r, "KILN_EXIT_TIMEOUT", 0, 600000, AGENT_EXIT_MS) * NS_PER_MS;
    c->file = text(r, "KILN_FILE");
    c->file_keep = (uint32_t)number(r, "KILN_FILE_KEEP", 0, 1000000, 0);
    c->symbolize = truth(r, "KILN_SYMBOLIZE", true);
    c->spool = text(r, "KILN_SPOOL");
    c->splunk_pprof = choice(r, "KILN_SPLUNK_FORMAT", formats, 0) == 1;
    c->report = text(r, "KILN_REPORT");
    c->quiet = truth(r, "KILN_QUIET", false);
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
    if (r.failed) return err_set(e, ERR_LIMIT, "no memory for the settings");
    if (out->to == EXPORT_FILE && !out->file)
        return err_set(e, ERR_USAGE, "KILN_EXPORT=file wants a name: KILN_FILE=app-%%p-%%n.otlp");
    return true;
}
