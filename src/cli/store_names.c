/* `kiln store symbolize`: finds names for addresses without names in the binaries of this
 * machine. */
#include "cli/store_names.h"

#include "cli/symbols.h"
#include "draw/human.h"
#include "model/merge.h"
#include "base/ban.h"

typedef struct naming {
    cli *c;
    store_reader *r;
    symbolize_opts o;
    arena a; /* memory of the current model */
    uint64_t n_locations, n_found;
} naming;

/* Removes locations that had names before. Returns false if no location remains. */
static bool drop_known(model *m, const uint32_t *known)
{
    bool fresh = false;
    for (size_t i = 0; i < m->dict.locations.n; i++) {
        span *lines = &m->dict.locations.v[i].lines;
        if (known[i]) lines->n = 0;
        fresh |= lines->n > 0;
    }
    return fresh;
}

static bool name_model(void *ctx, const model *stored, err *e)
{
    naming *n = ctx;
    model m;
    symbolize_report report;
    uint64_t kept;
    arena_reset(&n->a);
    if (!model_gc(stored, &n->a, &m, e)) return false;
    uint32_t *known = arena_new(&n->a, uint32_t, m.dict.locations.n);
    if (!known) return err_memory(e);
    for (size_t i = 0; i < m.dict.locations.n; i++) known[i] = m.dict.locations.v[i].lines.n;
    if (!symbolize(&m, &n->o, &n->a, &report, e)) return false;
    n->n_locations += report.n_locations;
    n->n_found += report.n_found;
    return !drop_known(&m, known) || store_put_names(n->r, &m, &kept, e);
}

bool store_symbolize(cli *c, store_reader *r, const store_selector *q, arena *a, err *e)
{
    module_cache modules = {0};
    store_read_result answer = {0};
    char found[HUMAN_MAX], all[HUMAN_MAX];
    naming n = {.c = c, .r = r, .a = arena_beside(a)};
    bool ok = symbols_wanted(c, a, &n.o, e);
    n.o.modules = &modules;
    ok = ok && store_read_each(r, q, name_model, &n, &answer, e);
    cli_status(c, "%s", "");
    if (ok && !c->o.quiet)
        cli_note(c, "found names for %s of %s", human_count(n.n_found, found),
                 human_things(n.n_locations, "unnamed address", all));
    module_cache_close(&modules);
    arena_free(&n.a);
    return ok;
}
