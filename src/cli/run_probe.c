/* Finds the probe and builds the environment of the program (docs/run.md). */
#include "cli/run.h"

#include "sys/program.h"
#include "base/ban.h"
#include <errno.h>
#include <unistd.h>

#define PROBE "libkiln-probe.so"
#define HEAP "libkiln-heap.so"

extern char **environ;

typedef VEC(const char *) texts;

static char *text(run *r, const char *fmt, ...) PRINTF(2, 3);

/* Returns formatted text, or NULL when memory runs out. */
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

/* ---- search ---- */

static bool push(run *r, texts *to, const char *t)
{
    const char **place = t ? vec_push(&r->arena, to) : NULL;
    if (place) *place = t;
    return place != NULL;
}

/* Lists the directories to search: only KILN_AGENT_PATH if it is set; otherwise the directory of
 * kiln (a build directory), the library directories next to it, and the configured one. */
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
    if (!places(r, &dirs)) err_memory(e);
    for (size_t i = 0; i < dirs.n && !found; i++) {
        const char *p = text(r, "%s/%s", dirs.v[i], name);
        if (p && access(p, R_OK) == 0 && realpath(p, real)) found = text(r, "%s", real);
        buf_printf(&looked, "%s%s", i ? ", " : "", dirs.v[i]);
    }
    if (!found && !e->code) {
        err_sys(e, 0, "cannot find %s; set KILN_AGENT_PATH=DIR to its directory", name);
        cli_note(r->c, "searched for %s in %.*s", name, STR_ARG(buf_view(&looked)));
    }
    buf_free(&looked);
    /* The loader splits LD_PRELOAD at spaces and colons and has no quoting. */
    if (found && strpbrk(found, " :")) {
        err_sys(e, 0, "%.120s: LD_PRELOAD does not support a path with a space or a colon", found);
        return NULL;
    }
    return found;
}

static const char *preload(run *r, err *e)
{
    const char *probe = find(r, PROBE, e), *heap = NULL, *others = getenv("LD_PRELOAD");
    if (probe && r->c->o.heap) heap = find(r, HEAP, e);
    if (!probe || (r->c->o.heap && !heap)) return NULL;
    return text(r, "LD_PRELOAD=%s%s%s%s%s%s%s", r->first ? r->first : "", r->first ? ":" : "",
                probe, heap ? ":" : "", heap ? heap : "", others && *others ? ":" : "",
                others ? others : "");
}

/* ---- environment ---- */

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

bool run_environment(run *r, const char *const **out, err *e)
{
    texts env = {0};
    const char *loader = preload(r, e);
    if (!loader) return err_memory(e);
    if (!push(r, &env, loader) ||
        !push(r, &env, text(r, SEGMENT_VARIABLE "=%s", collector_path(r->collector))))
        return err_memory(e);
    /* the terminating NULL */
    const char **end = add_inherited(r, &env) ? vec_push(&r->arena, &env) : NULL;
    *out = env.v;
    return end || err_memory(e);
}
