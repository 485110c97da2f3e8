/* Reads profiles from the directory of a store, even while `kiln serve` writes it.  The query code
 * uses the model directly; it is encoded only for commands that need the bytes of a message. */
#include "cli/stored.h"

#include "draw/human.h"
#include "store/selection.h"
#include "store/embedded_options.h"
#include "wire/otlp.h"
#include "base/ban.h"

static void on_log(void *ctx, store_event event, const char *text)
{
    (void)event;
    cli_note(ctx, "%s", text);
}

static bool read_model(store_reader *r, const stored_source *k, const store_selector *q, arena *a,
                       model *m, store_read_result *result, err *e)
{
    store_read_opts o = {
        .names = true, .by_series = true, .by_attributes = k->need == STORED_ATTRIBUTES};
    bool ok = k->need == STORED_ALL ? store_read(r, q, &o, a, m, result, e)
                                    : store_read_sums(r, q, &o, a, m, result, e);
    if (!ok) return false;
    if (result->partial)
        return err_set(
            e, ERR_LIMIT,
            "the selection is too large (%s); use --start, --end or --select to narrow it",
            result->why);
    return true;
}

static bool main_type(store_reader *r, store_selector q, arena *a, char type[STORED_TYPE], err *e)
{
    if (!store_main_type(r, &q, NULL, a, NULL, e)) return false;
    if (q.type.n < STORED_TYPE) snprintf(type, STORED_TYPE, "%.*s", STR_ARG(q.type));
    return true;
}

static bool read_store(cli *c, const stored_source *k, arena *a, model *m, char type[STORED_TYPE],
                       store_read_result *result, err *e)
{
    const world *w = world_system();
    store_selector q;
    if (!embedded_is_store(k->where, e) || !selection_of(&k->words, w->wall(w->ctx), a, &q, e))
        return false;
    store_reader *r = store_open_reader(k->where, &(store_reader_opts){.log = on_log, .ctx = c}, e);
    bool ok = r && main_type(r, q, a, type, e) && read_model(r, k, &q, a, m, result, e);
    store_close_reader(r);
    return ok;
}

bool stored_read_model(cli *c, const stored_source *k, arena *a, model *m, char type[STORED_TYPE])
{
    err e = {0};
    store_read_result result = {0};
    type[0] = '\0';
    cli_status(c, "reading %s ...", k->where);
    bool ok = read_store(c, k, a, m, type, &result, &e);
    cli_status(c, "%s", "");
    if (!ok && strstr(e.path, "query")) e.code = ERR_USAGE;
    if (!ok) cli_fail_err(c, k->arg, &e);
    char n[HUMAN_MAX];
    if (ok && result.n_damaged)
        cli_note(c, "%s: skipped %s", k->arg, human_things(result.n_damaged, "damaged block", n));
    return ok;
}

bool stored_read_store(cli *c, const stored_source *k, arena *a, size_t max_bytes, buf *out,
                       char type[STORED_TYPE])
{
    err e = {0};
    model m;
    out->limit = max_bytes;
    if (!stored_read_model(c, k, a, &m, type)) return false;
    if (!m.profiles.n || otlp_encode(&m, NULL, out, &e)) return true;
    cli_fail_err(c, k->arg, &e);
    return false;
}
