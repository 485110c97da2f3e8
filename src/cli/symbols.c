/* Builds the options about symbols, for `symbolize`, `run`, `store symbolize` and the commands that
 * look names up automatically. */
#include "cli/symbols.h"

#include "base/ban.h"

const char *symbols_state(module_state s)
{
    static const char *const text[] = {
        [MODULE_LINES] = "lines",          [MODULE_SYMBOLS] = "symbols only",
        [MODULE_EXPORTS] = "exports only", [MODULE_EMPTY] = "stripped",
        [MODULE_MISSING] = "not found",    [MODULE_DIFFERS] = "another build",
        [MODULE_FORBIDDEN] = "no access",  [MODULE_BROKEN] = "unreadable",
        [MODULE_NO_MAP] = "no perf map",   [MODULE_UNNAMED] = "unknown",
        [MODULE_NO_ID] = "no build id",    [MODULE_LATE] = "time limit",
    };
    return text[s];
}

static void show_progress(void *ctx, str name)
{
    cli_status(ctx, "reading symbols of %.*s ...", STR_ARG(name));
}

static demangle_mode mode_of(const char *name)
{
    if (!name || !strcmp(name, "short")) return DEMANGLE_SHORT;
    return !strcmp(name, "full") ? DEMANGLE_FULL : DEMANGLE_NONE;
}

/* Returns the directories of --debug-dir as NUL-terminated strings, or NULL when memory runs
 * out. */
static const char **dirs_of(const option_list *l, arena *a)
{
    const char **v = arena_new(a, const char *, l->n + 1);
    for (size_t i = 0; v && i < l->n; i++) {
        char *z = arena_zero(a, l->v[i].n + 1);
        if (!z) return NULL;
        memcpy(z, l->v[i].p, l->v[i].n);
        v[i] = z;
    }
    return v;
}

bool symbols_wanted(cli *c, arena *a, symbolize_opts *out, err *e)
{
    const char **dirs = dirs_of(&c->o.debug_dir, a);
    *out = (symbolize_opts){
        .module = {.dirs = {.v = dirs, .n = c->o.debug_dir.n},
                   .kallsyms = c->o.kallsyms,
                   .seed = c->seed},
        .cache_dir = c->o.no_cache ? "" : NULL,
        .cache_bytes = c->o.cache_size,
        .perf_map = c->o.perf_map,
        .demangle = mode_of(c->o.demangle),
        .force = c->o.force,
        .progress = show_progress,
        .ctx = c,
    };
    return dirs || err_memory(e);
}
