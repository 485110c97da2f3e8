#include "cli/naming.h"

#include "base/when.h"
#include "cli/symbols.h"
#include "draw/human.h"
#include "net/world.h"
#include "symbol/package.h"
#include "base/ban.h"

enum { WORTH = 20 }; /* less than one in so many, of samples and of addresses: no line about it */
#define TIMEOUT (10 * NS_PER_S)
/* For the index of a binary; one that needs more has names and no lines. */
#define MEMORY ((size_t)1 << 30)

typedef struct naming {
    arena arena;
    module_shelf shelf; /* binaries that several inputs have in common are opened once */
    stopper stop;
    uint64_t timeout,
        deadline; /* world_now; the deadline is set when the first name is looked for */
    VEC(symbolized) lacking;
    uint64_t n_samples, n_nameless, n_locations, n_missing;
} naming;

static bool is_over(void *who, err *e)
{
    const naming *n = who;
    return world_now(world_system()) >= n->deadline && !err_set(e, ERR_LIMIT, "the time is up");
}

static bool take_timeout(cli *c, uint64_t *ns)
{
    *ns = TIMEOUT;
    if (!c->o.symbolize_timeout || duration_parse(str_of(c->o.symbolize_timeout), ns)) return true;
    cli_fail(c, EXIT_USAGE, "--symbolize-timeout takes a time such as 10s or 500ms, not `%s`",
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
    n->stop = (stopper){.over = is_over, .who = n};
    return c->naming = n;
}

/* ---- looking up ---- */

/* Sums over time have no names, unless frames choose what is summed. */
static bool shows_names(const cli *c)
{
    const cli_options *o = &c->o;
    return command_index(c->command) != COMMAND_SERIES || o->focus || o->ignore_frames || o->hide ||
           o->show || o->show_from;
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
    o.shelf = &n->shelf;
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
        cli_note(c, "%s: names were not found: %s", input_name(in->path), e.msg);
    return true;
}

/* ---- what is missing ---- */

static str base_of(str path)
{
    const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
    return slash ? (str){slash + 1, path.n - (size_t)(slash + 1 - path.p)} : path;
}

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

/* Binaries besides the worst that something can be done about; one may be of several inputs. */
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
    buf_printf(b, ", most of them in %.*s (%s): ", STR_ARG(base_of(s->name)),
               symbols_state(s->state));
    put_advice(b, s);
    size_t more = others(n, s);
    if (more)
        buf_printf(b, "; %s lack%s names, too (`kiln symbolize` lists them)",
                   human_things(more, "other file", few), more == 1 ? "s" : "");
    buf_putc(b, '\0');
}

void naming_tell(cli *c)
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
    shelf_close(&n->shelf);
    arena_free(&n->arena);
    free(n);
    c->naming = NULL;
}
