/* `kiln store symbolize`: names for the addresses of samples that came without, from the binaries of this machine. */
#include "cli/store_names.h"

#include "cli/symbols.h"
#include "draw/human.h"
#include "model/merge.h"
#include "base/ban.h"

typedef struct naming {
    cli *c;
    store *s;
    symbolize_opts o;
    arena a; /* the model at hand */
    uint64_t n_locations, n_found;
} naming;

/* What had names when it came keeps its own. */
static bool forget_known(model *m, const uint32_t *known)
{
    bool fresh = false;
    for (size_t i = 0; i < m->dict.locations.n; i++) {
        span *lines = &m->dict.locations.v[i].lines;
        if (known[i]) lines->n = 0;
        fresh |= lines->n > 0;
    }
    return fresh;
}

static bool name_model(void *who, const model *stored, err *e)
{
    naming *n = who;
    model m;
    symbolize_report report;
    uint64_t kept;
    arena_reset(&n->a);
    if (!model_gc(stored, &n->a, &m, e)) return false;
    uint32_t *known = arena_new(&n->a, uint32_t, m.dict.locations.n);
    if (!known) return err_set(e, ERR_LIMIT, "the memory budget is spent");
    for (size_t i = 0; i < m.dict.locations.n; i++) known[i] = m.dict.locations.v[i].lines.n;
    if (!symbolize(&m, &n->o, &n->a, &report, e)) return false;
    n->n_locations += report.n_locations;
    n->n_found += report.n_found;
    return !forget_known(&m, known) || store_put_names(n->s, &m, &kept, e);
}

bool store_symbolize(cli *c, store *s, const store_selector *q, arena *a, err *e)
{
    module_shelf shelf = {0};
    store_answer answer = {0};
    char found[HUMAN_MAX], all[HUMAN_MAX];
    naming n = {.c = c, .s = s, .a = arena_beside(a)};
    bool ok = symbols_wanted(c, a, &n.o, e);
    n.o.shelf = &shelf;
    ok = ok && store_read_each(s, q, name_model, &n, &answer, e);
    cli_status(c, "%s", "");
    if (ok && !c->o.quiet)
        cli_note(c, "names for %s of %s without any", human_count(n.n_found, found),
                 human_things(n.n_locations, "place", all));
    shelf_close(&shelf);
    arena_free(&n.a);
    return ok;
}
