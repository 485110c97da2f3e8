/* What `kiln run` says about frames without names: which program to start how, or what to install. */
#include "cli/run.h"

#include "draw/human.h"
#include "base/ban.h"

enum { FEW = 20 };

static str base_of(str path)
{
    const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
    return slash ? (str){slash + 1, path.n - (size_t)(slash + 1 - path.p)} : path;
}

/* Less than one in `parts` of the addresses, and of the samples: a loop that was compiled at run time has few addresses and most of
 * the samples. */
static bool is_less(const run *r, const symbolized *s, uint64_t parts)
{
    return s->n_locations * parts < r->symbols.n_locations &&
           s->n_samples * parts < r->symbols.n_samples;
}

/* ---- runtimes ---- */

static bool has_module(const run *r, const char *prefix)
{
    for (size_t i = 0; i < r->symbols.v.n; i++)
        if (str_starts(base_of(r->symbols.v.v[i].name), str_of(prefix))) return true;
    return false;
}

/* A map of code made at run time was there, and named something. */
static bool has_perf_map(const run *r)
{
    for (size_t i = 0; i < r->symbols.v.n; i++) {
        const symbolized *s = &r->symbols.v.v[i];
        if (s->n_found && str_starts(base_of(s->name), STR("perf-"))) return true;
    }
    return false;
}

#define JAVA "java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit -XX:+PreserveFramePointer"
#define NODE "node --perf-basic-prof"

/* Code without a file: the runtime has to be asked for a map of it before it starts. */
static const char *made_advice(const run *r)
{
    if (has_module(r, "libjvm.so")) return "code made at run time; " JAVA " names it";
    if (has_module(r, "node") || has_module(r, "libnode."))
        return "code made at run time; " NODE " names it";
    return "code made at run time; runtimes name it when asked to: " JAVA ", " NODE
           ", python3 -X perf (3.12)";
}

/* "11" of "python3.11" and of "libpython3.11.so.1.0"; "1" of "libruby-3.1.so.3.1".  -1: not such a name. */
static int minor_of(str name, const char *prefix)
{
    str p = str_of(prefix);
    int v = -1;
    if (!str_starts(name, p)) return -1;
    for (size_t i = p.n; i < name.n && i < p.n + 3 && name.p[i] >= '0' && name.p[i] <= '9'; i++)
        v = (v < 0 ? 0 : v) * 10 + (name.p[i] - '0');
    return v;
}

enum {
    PYTHON_PERF = 12, /* 3.12 has -X perf */
    RUBY_PERF = 3,    /* 3.3 has --yjit-perf */
    MUCH = 4,         /* one address or sample of so many is the interpreter's: it is what ran */
};

/* An interpreter has names for all of its functions, and none for those that it interprets. */
static const char *interpreter_advice(const run *r, const symbolized *s)
{
    str name = base_of(s->name);
    if (is_less(r, s, MUCH) || has_perf_map(r)) return NULL;
    int python = minor_of(name, "python3."), ruby = minor_of(name, "libruby-3.");
    if (python < 0) python = minor_of(name, "libpython3.");
    if (python >= PYTHON_PERF)
        return "the interpreter's functions are shown, not Python's; python3 -X perf adds those";
    if (python >= 0)
        return "the interpreter's functions are shown, not Python's; Python 3.12 and later add "
               "those with python3 -X perf";
    if (ruby >= RUBY_PERF)
        return "the interpreter's functions are shown, not Ruby's; ruby --yjit --yjit-perf adds "
               "those that it compiles";
    if (ruby >= 0)
        return "the interpreter's functions are shown, not Ruby's; Ruby 3.3 and later add those "
               "that they compile with ruby --yjit --yjit-perf";
    return NULL;
}

/* ---- all ---- */

/* What to do about names of one binary; NULL: nothing, or nothing worth it. */
static const char *names_advice(const run *r, const symbolized *s)
{
    /* A stack that went astray has an address or two where no code is. */
    bool astray = s->state == MODULE_NO_MAP || s->state == MODULE_UNNAMED;
    if (astray && is_less(r, s, FEW)) return NULL;
    if (s->state == MODULE_NO_MAP && s->n_found < s->n_locations) return made_advice(r);
    const char *interpreter = interpreter_advice(r, s);
    if (interpreter) return interpreter;
    bool own = s->name.n && r->path && str_eq(base_of(s->name), base_of(str_of(r->path)));
    if (s->state == MODULE_SYMBOLS && own && !str_starts(s->name, STR("/usr/")))
        return "built without -g: no lines, and no inlined calls";
    return s->n_found < s->n_locations ? symbolize_advice(s) : NULL;
}

bool run_advice(const run *r, const symbolized *s, buf *t)
{
    const char *advice = names_advice(r, s);
    char n[HUMAN_MAX], all[HUMAN_MAX];
    if (!advice) return false;
    buf_printf(t, "%.*s: ", STR_ARG(base_of(s->name)));
    if (s->n_found < s->n_locations)
        buf_printf(t, "%s of %s addresses have none; ", human_count(s->n_locations - s->n_found, n),
                   human_count(s->n_locations, all));
    buf_z(t, advice);
    return true;
}
