/* Where the agent is, and what the program's environment says to it (docs/agent.md). */
#include "cli/run.h"

#include "agent/filters.h"
#include "otlp/config.h"
#include "sys/program.h"
#include "base/ban.h"
#include <errno.h>
#include <unistd.h>

#define AGENT "libkiln-agent.so"
#define HEAP "libkiln-heap.so"

extern char **environ;

typedef VEC(const char *) texts;

static char *text(run *r, const char *fmt, ...) PRINTF(2, 3);

/* NULL: out of memory. */
static char *text(run *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *p = n < 0 ? NULL : arena_alloc(&r->arena, (size_t)n + 1);
    va_start(ap, fmt);
    if (p) vsnprintf(p, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return p;
}

/* ---- where ---- */

static bool push(run *r, texts *to, const char *t)
{
    const char **slot = t ? vec_push(&r->arena, to) : NULL;
    if (slot) *slot = t;
    return slot != NULL;
}

/* What the user names; else beside kiln (a build directory), where it is installed with it, and where it
 * was to be installed. */
static bool places(run *r, texts *out)
{
    const char *named = getenv("KILN_AGENT_PATH");
    if (named && *named) return push(r, out, named);
    char self[4096];
    program_self(self, sizeof self);
    char *slash = strrchr(self, '/');
    bool ok = true;
    if (slash) {
        *slash = '\0';
        ok = push(r, out, text(r, "%s", self)) && push(r, out, text(r, "%s/../lib", self)) &&
             push(r, out, text(r, "%s/../" KILN_LIBDIR, self));
    }
    return ok && push(r, out, KILN_PREFIX "/" KILN_LIBDIR);
}

static const char *find(run *r, const char *name, err *e)
{
    texts dirs = {0};
    buf looked = {0};
    char real[4096];
    const char *found = NULL;
    if (!places(r, &dirs)) err_set(e, ERR_LIMIT, "out of memory");
    for (size_t i = 0; i < dirs.n && !found; i++) {
        const char *p = text(r, "%s/%s", dirs.v[i], name);
        if (p && access(p, R_OK) == 0 && realpath(p, real)) found = text(r, "%s", real);
        buf_printf(&looked, "%s%s", i ? ", " : "", dirs.v[i]);
    }
    if (!found && !e->code) {
        err_sys(e, 0, "%s was not found; KILN_AGENT_PATH=DIR says where it is", name);
        cli_note(r->c, "looked for %s in %.*s", name, STR_ARG(buf_view(&looked)));
    }
    buf_free(&looked);
    /* The loader cuts LD_PRELOAD at blanks and colons and knows no quoting. */
    if (found && strpbrk(found, " :")) {
        err_sys(e, 0, "%.120s: LD_PRELOAD cannot name a path with a blank or a colon", found);
        return NULL;
    }
    return found;
}

static const char *preload(run *r, err *e)
{
    const char *agent = find(r, AGENT, e), *heap = NULL, *others = getenv("LD_PRELOAD");
    if (agent && r->c->o.heap) heap = find(r, HEAP, e);
    if (!agent || (r->c->o.heap && !heap)) return NULL;
    return text(r, "LD_PRELOAD=%s%s%s%s%s%s%s", r->first ? r->first : "", r->first ? ":" : "",
                agent, heap ? ":" : "", heap ? heap : "", others && *others ? ":" : "",
                others ? others : "");
}

/* ---- the environment ---- */

/* A name for the agent, where % is a letter with a meaning: ours is doubled. */
static const char *in_tmp(run *r, const char *variable, const char *name)
{
    buf b = {0};
    buf_printf(&b, "%s=", variable);
    for (const char *p = r->tmp; *p; p++) {
        if (*p == '%') buf_putc(&b, *p);
        buf_putc(&b, *p);
    }
    buf_printf(&b, "/%s", name);
    const char *t = b.failed ? NULL : text(r, "%.*s", STR_ARG(buf_view(&b)));
    buf_free(&b);
    return t;
}

static bool same_variable(const char *a, const char *b)
{
    size_t n = strcspn(a, "=");
    return strncmp(a, b, n) == 0 && b[n] == '=';
}

static bool add_inherited(run *r, texts *env)
{
    size_t n = env->n;
    for (char **v = environ; *v; v++) {
        bool ours = false;
        for (size_t i = 0; i < n; i++) ours = ours || same_variable(env->v[i], *v);
        if (!ours && !push(r, env, *v)) return false;
    }
    return true;
}

static const char *get_variable(void *who, const char *name)
{
    (void)who;
    return getenv(name);
}

/* Only the profiles' own variables: the program may export other signals elsewhere. */
static bool add_receiver(run *r, texts *env, err *e)
{
    otlp_config k;
    otlp_environment from = {.get = get_variable};
    const char *wish = r->c->o.protocol;
    bool told = wish || getenv("OTEL_EXPORTER_OTLP_PROTOCOL") ||
                getenv("OTEL_EXPORTER_OTLP_PROFILES_PROTOCOL");
    if (!otlp_config_read(OTLP_PROFILES, &from, &r->arena, &k, e)) return false;
    k.set_endpoint = "--to ";
    if (wish && !otlp_protocol_parse(str_of(wish), &k.protocol))
        return err_set(e, ERR_USAGE, "--protocol does not know `%s`", wish);
    if (!otlp_config_address(&k, str_of(r->c->o.address), !told, &r->arena, e)) return false;
    bool path = k.protocol == OTLP_HTTP;
    return (push(r, env,
                 text(r,
                      k.to.bracketed ? "OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT=%s://[%.*s]:%u%.*s"
                                     : "OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT=%s://%.*s:%u%.*s",
                      k.to.tls ? "https" : "http", STR_ARG(k.to.host), k.to.port,
                      path ? (int)k.to.path.n : 0, path && k.to.path.n ? k.to.path.p : "")) &&
            push(r, env,
                 text(r, "OTEL_EXPORTER_OTLP_PROFILES_PROTOCOL=%s",
                      otlp_protocol_name(k.protocol))) &&
            push(r, env, "KILN_EXPORT=otlp")) ||
           err_set(e, ERR_LIMIT, "out of memory");
}

static bool add_files(run *r, texts *env, err *e)
{
    return (push(r, env, "KILN_EXPORT=file") && push(r, env, "KILN_SYMBOLIZE=off") &&
            push(r, env, "KILN_FLUSH_INTERVAL=1000") && push(r, env, "KILN_FILE_KEEP=0") &&
            push(r, env, in_tmp(r, "KILN_FILE", "%p-%n.otlp"))) ||
           err_set(e, ERR_LIMIT, "out of memory");
}

/* Filters of system calls that are there before the program runs, a container's for example; an agent that finds more of them
 * does not start. */
static bool add_filters(run *r, texts *env)
{
    char one[256];
    unsigned mode = 0, n = 0;
    FILE *f = fopen("/proc/self/status", "re");
    if (!f) return true;
    while (fgets(one, sizeof one, f)) {
        (void)!sscanf(one, "Seccomp: %u", &mode);
        (void)!sscanf(one, "Seccomp_filters: %u", &n);
    }
    fclose(f);
    return push(r, env, text(r, FILTERS_VARIABLE "=%u %u", mode, n));
}

static bool add_wishes(run *r, texts *env, err *e)
{
    const cli_options *o = &r->c->o;
    bool ok =
        push(r, env,
             text(r, "KILN_PROFILE=cpu%s%s", r->wall_ns ? ",wall" : "", o->heap ? ",heap" : "")) &&
        push(r, env, text(r, "KILN_CPU_HZ=%u", r->hz)) &&
        push(r, env, in_tmp(r, "KILN_REPORT", "%p-%n.json")) && add_filters(r, env);
    /* What the agents say is in their reports, and told at the end. */
    if (!getenv("KILN_QUIET")) ok = ok && push(r, env, "KILN_QUIET=1");
    if (r->wall_ns)
        ok = ok && push(r, env, text(r, "KILN_WALL_INTERVAL=%u", (unsigned)(r->wall_ns / 1000000)));
    return ok || err_set(e, ERR_LIMIT, "out of memory");
}

bool run_environment(run *r, const char *const **out, err *e)
{
    texts env = {0};
    const char *loader = preload(r, e);
    if (!loader) return err_set(e, ERR_LIMIT, "out of memory");
    bool ok = (push(r, &env, loader) || err_set(e, ERR_LIMIT, "out of memory")) &&
              add_wishes(r, &env, e) &&
              (r->live ? add_receiver(r, &env, e) : add_files(r, &env, e));
    if (!ok) return false;
    const char **end = add_inherited(r, &env) ? vec_push(&r->arena, &env) : NULL; /* the NULL */
    *out = env.v;
    return end || err_set(e, ERR_LIMIT, "out of memory");
}
