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

/* What to do about names of one binary; NULL: nothing, or nothing worth it. */
static const char *names_advice(const run *r, const symbolized *s)
{
    /* A stack that went astray has an address or two where no code is. */
    bool astray = s->state == MODULE_NO_MAP || s->state == MODULE_UNNAMED;
    if (astray && s->n_locations * FEW < r->symbols.n_locations) return NULL;
    if (s->state == MODULE_NO_MAP && s->n_found < s->n_locations)
        return "code made at run time: node --perf-basic-prof, java -XX:+DumpPerfMapAtExit and "
               "their like write down what it is";
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
