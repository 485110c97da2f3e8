/* Automatic symbol lookup for the commands that show functions, limited in time.  Only files with
 * the right build id are used.  At the end one line reports the binary with the most missing
 * names. */
#include "cli/naming.h"

#include "base/time.h"
#include "cli/symbols.h"
#include "draw/human.h"
#include "net/world.h"
#include "symbol/package.h"
#include "base/text.h"
#include "base/ban.h"

enum { WORTH = 20 }; /* nothing is reported if less than 1 in 20 samples and addresses lack names */
#define TIMEOUT (10 * NS_PER_S)
/* Memory limit for the index of a binary; a larger binary gets names without lines. */
#define MEMORY ((size_t)1 << 30)

typedef struct naming {
    arena arena;
    module_cache modules; /* binaries are opened once for all inputs */
    stopper stop;
    uint64_t timeout, deadline; /* world_now; set at the first lookup */
    VEC(symbolized) lacking;
    uint64_t n_samples, n_nameless, n_locations, n_missing;
} naming;

static bool is_over(void *ctx, err *e)
{
    const naming *n = ctx;
    return world_now(world_system()) >= n->deadline &&
           !err_set(e, ERR_BUSY, "the time limit is reached");
}

static bool take_timeout(cli *c, uint64_t *ns)
{
    *ns = TIMEOUT;
    if (!c->o.symbolize_timeout || duration_parse(str_of(c->o.symbolize_timeout), ns)) return true;
    cli_fail(c, EXIT_USAGE, "--symbolize-timeout must be a time such as 10s or 500ms, not `%s`",
             c->o.symbolize_timeout);
    return false;
}

static naming *naming_of(cli *c)
{
    uint64_t timeout;
    if (c->naming) return c->naming;
    if (!take_timeout(c, &timeout)) return NULL;
    naming *n = calloc(1, sizeof *n);
    if (!n) return cli_fail(c, EXIT_ENVIRONMENT, "out of memory"), NULL;
    n->timeout = timeout;
    n->stop = (stopper){.over = is_over, .ctx = n};
    return c->naming = n;
}

/* ---- lookup ---- */

/* Returns whether the command needs names.  `series` shows none and needs them only to select
 * frames. */
static bool shows_names(const cli *c)
{
    const cli_options *o = &c->o;
    return command_index(c->command) != COMMAND_SERIES || o->focus || o->ignore_frames || o->hide ||
           o->show || o->show_from || o->collapse || o->collapse_recursion ||
           o->collapse_direct_recursion || o->begins_with || o->ends_with;
}

static bool is_named(const model *m)
{
    for (size_t i = 1; i < m->dict.locations.n; i++)
        if (!m->dict.locations.v[i].lines.n && m->dict.locations.v[i].address) return false;
    return true;
}

static bool remember(naming *n, const symbolize_report *r)
{
    n->n_samples += r->n_samples;
    n->n_locations += r->n_locations + r->n_already;
    for (size_t i = 0; i < r->v.n; i++) {
        const symbolized *s = &r->v.v[i];
        if (s->n_found == s->n_locations) continue;
        n->n_nameless += s->n_nameless;
        n->n_missing += s->n_locations - s->n_found;
        symbolized *to = vec_push(&n->arena, &n->lacking);
        if (!to) return false;
        *to = *s;
    }
    return true;
}

static bool look_up(cli *c, naming *n, input *in, err *e)
{
    symbolize_opts o;
    symbolize_report report;
    if (!n->deadline && ckd_add(&n->deadline, world_now(world_system()), n->timeout))
        n->deadline = UINT64_MAX;
    if (!symbols_wanted(c, &in->arena, &o, e)) return false;
    o.module.dirs.proven = true;
    o.module.stop = &n->stop;
    o.module.max_memory = MEMORY;
    o.modules = &n->modules;
    bool ok = symbolize(&in->doc.model, &o, &in->arena, &report, e) && remember(n, &report);
    cli_status(c, "%s", "");
    return ok;
}

bool naming_add(cli *c, input *in)
{
    err e = {0};
    if (c->o.no_symbolize || !shows_names(c) || is_named(&in->doc.model)) return true;
    naming *n = naming_of(c);
    if (!n) return false;
    if (!look_up(c, n, in, &e))
        cli_note(c, "%s: symbol lookup failed: %s", input_name(in->path), e.msg);
    return true;
}

/* ---- report ---- */

static uint64_t missing(const symbolized *s) { return s->n_locations - s->n_found; }

static const symbolized *worst_of(const naming *n)
{
    const symbolized *worst = NULL;
    for (size_t i = 0; i < n->lacking.n; i++) {
        const symbolized *s = &n->lacking.v[i];
        if (!worst || s->n_nameless > worst->n_nameless ||
            (s->n_nameless == worst->n_nameless && missing(s) > missing(worst)))
            worst = s;
    }
    return worst;
}

/* Returns the number of other binaries with advice, each counted once even if several inputs have
 * it. */
static size_t others(const naming *n, const symbolized *worst)
{
    size_t k = 0;
    for (size_t i = 0; i < n->lacking.n; i++) {
        const symbolized *s = &n->lacking.v[i];
        bool again = str_eq(s->name, worst->name);
        for (size_t j = 0; j < i && !again; j++) again = str_eq(n->lacking.v[j].name, s->name);
        k += !again && symbolize_advice(s);
    }
    return k;
}

static void put_advice(buf *b, const symbolized *s)
{
    bool stripped =
        s->state == MODULE_SYMBOLS || s->state == MODULE_EXPORTS || s->state == MODULE_EMPTY;
    if (!stripped || s->kernel || !package_advice(s->path, s->build_id, b))
        buf_z(b, symbolize_advice(s) ? symbolize_advice(s) : "no symbol covers the addresses");
}

static void put_line(buf *b, const naming *n, const symbolized *s)
{
    char few[HUMAN_MAX], all[HUMAN_MAX];
    if (n->n_nameless)
        buf_printf(b, "%s of the samples have no function name",
                   human_percent(n->n_nameless, n->n_samples, few));
    else
        buf_printf(b, "%s of %s addresses have no function name", human_count(n->n_missing, few),
                   human_count(n->n_locations, all));
    buf_printf(b, ", most of them in %.*s (%s): ", STR_ARG(str_base_name(s->name)),
               symbols_state(s->state));
    put_advice(b, s);
    size_t more = others(n, s);
    if (more)
        buf_printf(b, "; %s also lack%s names (`kiln symbolize` lists them)",
                   human_things(more, "other file", few), more == 1 ? "s" : "");
    buf_putc(b, '\0');
}

void naming_report(cli *c)
{
    naming *n = c->naming;
    const symbolized *s = n ? worst_of(n) : NULL;
    buf b = {0};
    if (s && (n->n_nameless * WORTH >= n->n_samples || n->n_missing * WORTH >= n->n_locations)) {
        put_line(&b, n, s);
        if (!b.failed) cli_note(c, "%s", b.p);
    }
    buf_free(&b);
    if (n) n->lacking.n = 0;
}

void naming_close(cli *c)
{
    naming *n = c->naming;
    if (!n) return;
    module_cache_close(&n->modules);
    arena_free(&n->arena);
    free(n);
    c->naming = NULL;
}
