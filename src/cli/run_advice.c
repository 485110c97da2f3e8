/* Gives advice in `kiln run` about frames without names: options of runtimes, or packages to
 * install. */
#include "cli/run.h"

#include "draw/human.h"
#include "base/text.h"
#include "base/ban.h"

enum { FEW = 20 };

/* Returns whether the binary has less than one in `parts` of the addresses and of the samples.
 * Both count: a loop that was compiled at run time has few addresses but most of the samples. */
static bool is_less(const run *r, const symbolized *s, uint64_t parts)
{
    return s->n_locations * parts < r->symbols.n_locations &&
           s->n_samples * parts < r->symbols.n_samples;
}

/* ---- runtimes ---- */

static bool has_module(const run *r, const char *prefix)
{
    for (size_t i = 0; i < r->symbols.v.n; i++)
        if (str_starts(str_base_name(r->symbols.v.v[i].name), str_of(prefix))) return true;
    return false;
}

/* Returns whether a map of generated code existed and provided names. */
static bool has_perf_map(const run *r)
{
    for (size_t i = 0; i < r->symbols.v.n; i++) {
        const symbolized *s = &r->symbols.v.v[i];
        if (s->n_found && str_starts(str_base_name(s->name), STR("perf-"))) return true;
    }
    return false;
}

#define JAVA "java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit -XX:+PreserveFramePointer"
#define NODE "node --perf-basic-prof"
#define JCMD "jcmd PID Compiler.perfmap"

/* Returns advice about generated code of processes that ran before kiln did.  Only a JVM (17 and
 * later) writes a map on request; its stacks end in generated code without frame pointers. */
static const char *attached_advice(const run *r)
{
    if (has_module(r, "libjvm.so"))
        return "code generated at run time; run " JCMD " before the recording ends to get names; "
               "the JVM has whole stacks only when it is started with -XX:+PreserveFramePointer";
    if (has_module(r, "node") || has_module(r, "libnode."))
        return "code generated at run time; restart the process with " NODE " to get names";
    return "code generated at run time; runtimes write names with an option, so restart the "
           "process: " NODE ", python3 -X perf (3.12); for a running JVM: " JCMD;
}

/* Returns advice about generated code, which has no file: the runtime must be started with an
 * option to write a map. */
static const char *generated_advice(const run *r)
{
    if (r->attached) return attached_advice(r);
    if (has_module(r, "libjvm.so"))
        return "code generated at run time; start " JAVA " to get names";
    if (has_module(r, "node") || has_module(r, "libnode."))
        return "code generated at run time; start " NODE " to get names";
    return "code generated at run time; runtimes write names with an option: " JAVA ", " NODE
           ", python3 -X perf (3.12)";
}

/* Returns the minor version in a name: 11 for "python3.11" and "libpython3.11.so.1.0", 1 for
 * "libruby-3.1.so.3.1"; -1 for other names. */
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
    MUCH = 4,         /* advise if 1 in 4 addresses or samples belongs to the interpreter */
};

/* Returns advice about an interpreter, which has names for its own functions but not for those that
 * it interprets. */
static const char *interpreter_advice(const run *r, const symbolized *s)
{
    str name = str_base_name(s->name);
    if (is_less(r, s, MUCH) || has_perf_map(r)) return NULL;
    int python = minor_of(name, "python3."), ruby = minor_of(name, "libruby-3.");
    if (python < 0) python = minor_of(name, "libpython3.");
    if (python >= PYTHON_PERF && r->attached)
        return "the profile shows functions of the interpreter, not of the Python program; a "
               "restart of the process with python3 -X perf adds those";
    if (python >= PYTHON_PERF)
        return "the profile shows functions of the interpreter, not of the Python program; python3 "
               "-X perf adds those";
    if (python >= 0)
        return "the profile shows functions of the interpreter, not of the Python program; Python "
               "3.12 and later add those with python3 -X perf";
    if (ruby >= RUBY_PERF && r->attached)
        return "the profile shows functions of the interpreter, not of the Ruby program; a restart "
               "of the process with ruby --yjit --yjit-perf adds those that it compiles";
    if (ruby >= RUBY_PERF)
        return "the profile shows functions of the interpreter, not of the Ruby program; ruby "
               "--yjit --yjit-perf adds those that it compiles";
    if (ruby >= 0)
        return "the profile shows functions of the interpreter, not of the Ruby program; Ruby 3.3 "
               "and later add those that they compile with ruby --yjit --yjit-perf";
    return NULL;
}

/* ---- all ---- */

/* Returns advice about the names of one binary, or NULL if there is none or too few names are
 * missing. */
static const char *names_advice(const run *r, const symbolized *s)
{
    /* One or two addresses without code come from a broken stack. */
    bool astray = s->state == MODULE_NO_MAP || s->state == MODULE_UNNAMED;
    if (astray && is_less(r, s, FEW)) return NULL;
    if (s->state == MODULE_NO_MAP && s->n_found < s->n_locations) return generated_advice(r);
    const char *interpreter = interpreter_advice(r, s);
    if (interpreter) return interpreter;
    bool own =
        s->name.n && r->path && str_eq(str_base_name(s->name), str_base_name(str_of(r->path)));
    if (s->state == MODULE_SYMBOLS && own && !str_starts(s->name, STR("/usr/")))
        return "built without -g: no line numbers and no inlined calls";
    return s->n_found < s->n_locations ? symbolize_advice(s) : NULL;
}

bool run_advice(const run *r, const symbolized *s, buf *t)
{
    const char *advice = names_advice(r, s);
    char n[HUMAN_MAX], all[HUMAN_MAX];
    if (!advice) return false;
    buf_printf(t, "%.*s: ", STR_ARG(str_base_name(s->name)));
    if (s->n_found < s->n_locations)
        buf_printf(t, "%s of %s addresses have no name; ",
                   human_count(s->n_locations - s->n_found, n), human_count(s->n_locations, all));
    buf_z(t, advice);
    return true;
}
