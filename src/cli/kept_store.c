/* The directory that `kiln serve` fills, read by ourselves. */
#include "cli/kept.h"

#include "draw/human.h"
#include "server/selection.h"
#include "store/store.h"
#include "wire/otlp.h"
#include "base/ban.h"
#include <dirent.h>
#include <errno.h>

static void on_say(void *who, store_said what, const char *text)
{
    (void)what;
    cli_note(who, "%s", text);
}

/* Does anything of a store lie in it? */
static bool is_store(const char *dir, err *e)
{
    DIR *d = opendir(dir);
    bool found = false;
    if (!d) return err_sys(e, errno, "cannot open");
    for (const struct dirent *x; !found && (x = readdir(d));) {
        str name = str_of(x->d_name);
        found = str_starts(name, STR("raw-")) || str_ends(name, STR(".db"));
    }
    closedir(d);
    return found || err_set(e, ERR_MALFORMED, "a directory, but no store of `kiln serve`");
}

static bool read_model(store *s, const kept_place *k, const store_selector *q, arena *a, model *m,
                       store_answer *answer, err *e)
{
    store_read_opts o = {
        .names = true, .by_series = true, .by_attributes = k->need == KEPT_ATTRIBUTES};
    bool ok = k->need == KEPT_ALL ? store_read(s, q, &o, a, m, answer, e)
                                  : store_read_sums(s, q, &o, a, m, answer, e);
    if (!ok) return false;
    if (answer->partial)
        return err_set(e, ERR_LIMIT, "it is too much (%s); --start, --end and --select choose less",
                       answer->why);
    return true;
}

/* Which type is meant when nobody says. */
static bool main_type(store *s, store_selector q, arena *a, char type[KEPT_TYPE], err *e)
{
    if (!store_main_type(s, &q, NULL, a, NULL, e)) return false;
    if (q.type.n < KEPT_TYPE) snprintf(type, KEPT_TYPE, "%.*s", STR_ARG(q.type));
    return true;
}

static bool read_store(cli *c, const kept_place *k, arena *a, buf *out, char type[KEPT_TYPE],
                       store_answer *answer, err *e)
{
    const world *w = world_system();
    store_selector q;
    model m;
    if (!is_store(k->where, e) || !selection_of(&k->words, w->wall(w->who), a, &q, e)) return false;
    store *s = store_open(
        k->where, &(store_opts){.read_only = true, .no_threads = true, .say = on_say, .who = c}, e);
    bool ok = s && main_type(s, q, a, type, e) && read_model(s, k, &q, a, &m, answer, e) &&
              (!m.profiles.n || otlp_encode(&m, NULL, out, e));
    store_close(s);
    return ok;
}

bool kept_read_store(cli *c, const kept_place *k, arena *a, size_t max_bytes, buf *out,
                     char type[KEPT_TYPE])
{
    err e = {0};
    store_answer answer = {0};
    out->limit = max_bytes;
    cli_status(c, "reading %s ...", k->where);
    bool ok = read_store(c, k, a, out, type, &answer, &e);
    cli_status(c, "%s", "");
    if (!ok && strstr(e.path, "query")) e.code = ERR_USAGE;
    if (!ok) cli_fail_err(c, k->arg, &e);
    char n[HUMAN_MAX];
    if (ok && answer.n_damaged)
        cli_note(c, "%s: left out: %s", k->arg, human_things(answer.n_damaged, "damaged block", n));
    return ok;
}
