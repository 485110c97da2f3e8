/* `kiln store`: maintains the directory of a store that `kiln serve` fills. */
#include "cli/cli.h"

#include "cli/input.h"
#include "cli/output.h"
#include "cli/store_import.h"
#include "cli/store_names.h"
#include "cli/supply.h"
#include "draw/human.h"
#include "model/executable.h"
#include "store/selection.h"
#include "store/embedded_options.h"
#include "store/maintenance.h"
#include "wire/json.h"
#include "wire/otlp.h"
#include <unistd.h>
#include "base/ban.h"

enum { BUDGET = 1 << 30 };

typedef struct action {
    const char *name;
    size_t min_files, max_files;
    /* Exactly one is set: the action reads or writes the store. */
    exit_code (*read)(cli *c, store_reader *r);
    exit_code (*write)(cli *c, store *s);
} action;

static void on_log(void *ctx, store_event event, const char *text)
{
    (void)event;
    cli_note(ctx, "%s", text);
}

static void put_fact(json_out *o, str key, uint64_t v)
{
    json_put_key(o, key);
    json_put_u64(o, v);
}

/* ---- stats ---- */

static void stats_json(cli *c, const store_stats *x)
{
    json_out o = {.b = &c->out, .pretty = true};
    json_put_object(&o);
    put_fact(&o, STR("schema"), 1);
    put_fact(&o, STR("bytes"), x->bytes);
    put_fact(&o, STR("samples"), x->n_samples);
    put_fact(&o, STR("profiles"), x->n_profiles);
    put_fact(&o, STR("raw_items"), x->raw_items);
    put_fact(&o, STR("raw_bytes"), x->raw_bytes);
    put_fact(&o, STR("kept_items"), x->kept_items);
    json_put_key(&o, STR("files"));
    json_put_array(&o);
    for (size_t i = 0; i < x->files.n; i++) {
        const store_file *f = &x->files.v[i];
        json_put_object(&o);
        json_put_key(&o, STR("name"));
        json_put_str(&o, f->name);
        put_fact(&o, STR("bytes"), f->bytes);
        put_fact(&o, STR("samples"), f->n_samples);
        put_fact(&o, STR("profiles"), f->n_profiles);
        put_fact(&o, STR("series"), f->n_series);
        put_fact(&o, STR("blocks"), f->n_blocks);
        put_fact(&o, STR("first"), f->first);
        put_fact(&o, STR("last"), f->last);
        json_put_key(&o, STR("corrupt"));
        json_put_bool(&o, f->corrupt);
        json_put_object_end(&o);
    }
    json_put_array_end(&o);
    json_put_object_end(&o);
    buf_putc(&c->out, '\n');
}

static void stats_text(cli *c, const store_stats *x)
{
    char a[HUMAN_MAX], b[HUMAN_MAX], d[HUMAN_MAX];
    buf *o = &c->out;
    buf_printf(o, "%s in total, %s in %s", human_bytes(x->bytes, a),
               human_things(x->n_samples, "sample", b), human_things(x->n_profiles, "profile", d));
    if (x->n_samples)
        buf_printf(o, ", %.2f bytes per sample", (double)x->bytes / (double)x->n_samples);
    buf_printf(o, "\n%s (%s) %s for compaction\n", human_things(x->raw_items, "item", a),
               human_bytes(x->raw_bytes, b), x->raw_items == 1 ? "waits" : "wait");
    if (x->kept_items)
        buf_printf(o, "%s stored as received: compaction could not convert them to columns\n",
                   human_things(x->kept_items, "item", a));
    for (size_t i = 0; i < x->files.n; i++) {
        const store_file *f = &x->files.v[i];
        buf_printf(o, "\n%.*s\n", STR_ARG(f->name));
        if (f->corrupt) {
            buf_printf(o, "  %s, damaged and quarantined\n", human_bytes(f->bytes, a));
            continue;
        }
        buf_printf(o, "  %s, %s, %llu series, %s\n", human_bytes(f->bytes, a),
                   human_things(f->n_samples, "sample", b), (unsigned long long)f->n_series,
                   human_things(f->n_blocks, "block", d));
        if (f->n_samples)
            buf_printf(o, "  %s to\n  %s\n", human_time(f->first, a), human_time(f->last, b));
    }
}

static exit_code do_stats(cli *c, store_reader *r)
{
    arena a = {.budget = BUDGET};
    store_stats x;
    err e = {0};
    bool ok = store_get_stats(r, &a, &x, &e);
    if (!ok)
        cli_fail_err(c, NULL, &e);
    else if (c->o.json)
        stats_json(c, &x);
    else
        stats_text(c, &x);
    arena_free(&a);
    return ok ? EXIT_FINE : c->worst;
}

/* ---- verify, compact ---- */

static void on_problem(void *ctx, const char *text)
{
    cli *c = ctx;
    buf_printf(&c->out, "%s\n", text);
}

static void on_problem_json(void *ctx, const char *text) { json_put_str(ctx, str_of(text)); }

static bool verify_json(cli *c, store_reader *r, store_check *x, err *e)
{
    json_out o = {.b = &c->out, .pretty = true};
    size_t before = c->out.n;
    json_put_object(&o);
    put_fact(&o, STR("schema"), 1);
    json_put_key(&o, STR("problems"));
    json_put_array(&o);
    if (!store_verify(r, on_problem_json, &o, x, e)) {
        c->out.n = before;
        return false;
    }
    json_put_array_end(&o);
    put_fact(&o, STR("files"), x->n_files);
    put_fact(&o, STR("blocks"), x->n_blocks);
    put_fact(&o, STR("raw_items"), x->n_items);
    put_fact(&o, STR("kept_items"), x->n_raw);
    put_fact(&o, STR("samples"), x->n_samples);
    json_put_object_end(&o);
    buf_putc(&c->out, '\n');
    return true;
}

static bool verify_text(cli *c, store_reader *r, store_check *x, err *e)
{
    char a[HUMAN_MAX], b[HUMAN_MAX], d[HUMAN_MAX];
    if (!store_verify(r, on_problem, c, x, e)) return false;
    buf_printf(&c->out, "%s, %s, %s not yet compacted, ", human_things(x->n_files, "file", a),
               human_things(x->n_blocks, "block", b), human_things(x->n_items, "item", d));
    if (x->n_raw) buf_printf(&c->out, "%s stored as received, ", human_things(x->n_raw, "item", a));
    buf_printf(&c->out, "%s: %s\n", human_things(x->n_samples, "sample", a),
               x->n_problems ? human_things(x->n_problems, "problem", b) : "no problems");
    return true;
}

static exit_code do_verify(cli *c, store_reader *r)
{
    store_check x;
    err e = {0};
    if (!(c->o.json ? verify_json : verify_text)(c, r, &x, &e)) {
        cli_fail_err(c, NULL, &e);
        return c->worst;
    }
    return x.n_problems ? EXIT_BAD_INPUT : EXIT_FINE;
}

static exit_code do_compact(cli *c, store *s)
{
    err e = {0};
    if (store_compact(s, &e)) return EXIT_FINE;
    cli_fail_err(c, NULL, &e);
    return c->worst;
}

/* ---- backup ---- */

static void on_progress(void *ctx, const char *name, const store_backup_result *x)
{
    char text[HUMAN_MAX];
    cli_status(ctx, "%s, %llu copied, %llu linked, %s", name, (unsigned long long)x->n_copied,
               (unsigned long long)x->n_linked, human_bytes(x->bytes, text));
}

static void backup_json(cli *c, const store_backup_result *x)
{
    json_out o = {.b = &c->out, .pretty = true};
    json_put_object(&o);
    put_fact(&o, STR("schema"), 1);
    put_fact(&o, STR("files"), x->n_files);
    put_fact(&o, STR("copied"), x->n_copied);
    put_fact(&o, STR("linked"), x->n_linked);
    put_fact(&o, STR("bytes"), x->bytes);
    put_fact(&o, STR("samples"), x->n_samples);
    put_fact(&o, STR("raw_items"), x->n_items);
    put_fact(&o, STR("damaged"), x->n_damaged);
    json_put_object_end(&o);
    buf_putc(&c->out, '\n');
}

static exit_code do_backup(cli *c, store_reader *r)
{
    store_backup_result x = {0};
    store_backup_opts o = {.ctx = c};
    err e = {0};
    char n[HUMAN_MAX], m[HUMAN_MAX], k[HUMAN_MAX];
    if (!c->o.quiet) o.progress = on_progress;
    bool ok = store_backup(r, c->args[2], &o, &x, &e);
    cli_status(c, "%s", "");
    if (!ok) {
        cli_fail_err(c, NULL, &e);
        return c->worst;
    }
    if (c->o.json)
        backup_json(c, &x);
    else if (!c->o.quiet)
        cli_note(c, "%s: %s, and %s not yet compacted; %s copied, the rest was already there",
                 c->args[2], human_things(x.n_files, "file", n), human_things(x.n_items, "item", m),
                 human_bytes(x.bytes, k));
    if (x.n_damaged)
        cli_fail(c, EXIT_BAD_INPUT,
                 "the store and the backup lack %s; `kiln store verify` lists them",
                 human_things(x.n_damaged, "file or item", n));
    return x.n_damaged ? c->worst : EXIT_FINE;
}

/* ---- export ---- */

/* Builds the selector from --select, --start and --end.  Returns false after reporting a
 * failure. */
static bool take_selector(cli *c, arena *a, store_selector *q)
{
    const world *w = world_system();
    stored_source k;
    err e = {0};
    if (stored_parse(&c->o, c->args[1], a, &k, &e) &&
        selection_of(&k.words, w->wall(w->ctx), a, q, &e))
        return true;
    if (e.code == ERR_MALFORMED) e.code = ERR_USAGE;
    cli_fail_err(c, NULL, &e);
    return false;
}

typedef struct exporting {
    file_out file;
    uint64_t n_profiles;
} exporting;

/* Writes one message in the framing of the Collector's file exporter: four bytes of length, then
 * OTLP. */
static bool put_message(void *ctx, const model *m, err *e)
{
    exporting *x = ctx;
    buf b = {0};
    bool ok = otlp_encode(m, NULL, &b, e);
    char head[4] = {(char)(b.n >> 24), (char)(b.n >> 16), (char)(b.n >> 8), (char)b.n};
    ok = ok && file_put(&x->file, (str){head, 4}, e) && file_put(&x->file, buf_view(&b), e);
    x->n_profiles += m->profiles.n;
    buf_free(&b);
    return ok;
}

/* The two export functions write no file if nothing matches (result->n_profiles is 0). */
static bool export_stream(store_reader *r, const store_selector *q, const char *path,
                          store_read_result *result, err *e)
{
    exporting x = {0};
    if (!file_create(path, &x.file, e)) return false;
    bool ok = store_read_each(r, q, put_message, &x, result, e);
    if (ok && result->n_profiles) return file_commit(&x.file, e);
    file_abandon(&x.file);
    return ok;
}

static bool export_model(cli *c, store_reader *r, const store_selector *q, const output *out,
                         arena *a, store_read_result *result, err *e)
{
    model m;
    buf b = {0};
    ledger l = {0};
    bool ok = store_read(r, q, NULL, a, &m, result, e);
    if (ok && !result->n_profiles) return true;
    if (ok) model_executables_first(&m);
    ok = ok && out->to->write(out->to, &m, &(write_opts){.ledger = &l}, &b, e) &&
         output_write(out, buf_view(&b), e);
    if (ok) output_losses(c, out, &l);
    buf_free(&b);
    return ok;
}

static exit_code do_export(cli *c, store_reader *r)
{
    arena a = {.budget = BUDGET, .seed = c->seed};
    store_selector q = {0};
    store_read_result result = {0};
    output out;
    err e = {0};
    char n[HUMAN_MAX], m[HUMAN_MAX];
    const char *path = c->args[2];
    bool ok = take_selector(c, &a, &q) && output_choose(c, path, &out) && !output_is_shown(c, &out);
    if (!ok) {
        arena_free(&a);
        return c->worst;
    }
    bool stream = out.to == &format_otlp && out.pack == CODEC_NONE;
    ok = stream ? export_stream(r, &q, path, &result, &e)
                : export_model(c, r, &q, &out, &a, &result, &e);
    if (!ok) output_fail(c, &out, &e);
    if (ok && !result.n_profiles)
        stored_report_nothing(c, c->args[1]);
    else if (ok && !c->o.quiet)
        cli_note(c, "%s: %s, %s", path, human_things(result.n_profiles, "profile", n),
                 human_things(result.n_samples, "sample", m));
    if (ok && result.n_damaged)
        cli_fail(c, EXIT_BAD_INPUT, "skipped %s",
                 human_things(result.n_damaged, "damaged block", n));
    arena_free(&a);
    return ok ? EXIT_FINE : c->worst;
}

/* ---- import ---- */

static exit_code do_import(cli *c, store *s)
{
    importing x = {.c = c, .store = s};
    char n[HUMAN_MAX], m[HUMAN_MAX];
    supply checked;
    err e = {0};
    bool ok = supply_parse(&c->o, &checked, &e);
    if (!ok) return cli_fail_err(c, NULL, &e), c->worst;
    for (size_t i = 2; i < c->n_args; i++) ok &= import_file(&x, c->args[i]);
    if (!c->o.quiet)
        cli_note(c, "%s stored, %s skipped", human_things(x.stored, "profile", n),
                 human_things(x.duplicates, "duplicate", m));
    return ok ? EXIT_FINE : c->worst;
}

/* ---- symbolize ---- */

static exit_code do_symbolize(cli *c, store_reader *r)
{
    arena a = {.budget = BUDGET, .seed = c->seed};
    store_selector q = {0};
    err e = {0};
    bool ok = take_selector(c, &a, &q);
    if (ok && !store_symbolize(c, r, &q, &a, &e)) {
        cli_fail_err(c, c->args[1], &e);
        ok = false;
    }
    arena_free(&a);
    return ok ? EXIT_FINE : c->worst;
}

/* ---- the command ---- */

static const action actions[] = {
    {"stats", 0, 0, .read = do_stats},           {"verify", 0, 0, .read = do_verify},
    {"compact", 0, 0, .write = do_compact},      {"export", 1, 1, .read = do_export},
    {"import", 1, SIZE_MAX, .write = do_import}, {"symbolize", 0, 0, .read = do_symbolize},
    {"backup", 1, 1, .read = do_backup},
};

static const action *choose(cli *c)
{
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        if (strcmp(actions[i].name, c->args[0]) != 0) continue;
        size_t n = c->n_args - 2;
        if (n >= actions[i].min_files && n <= actions[i].max_files) return &actions[i];
        cli_fail(c, EXIT_USAGE, "store %s takes %s", c->args[0],
                 !actions[i].max_files       ? "a directory"
                 : actions[i].max_files == 1 ? "a directory and a file"
                                             : "a directory and files");
        return NULL;
    }
    cli_fail(
        c, EXIT_USAGE,
        "unknown action `%s`; store supports stats, verify, compact, backup, export, import and "
        "symbolize",
        c->args[0]);
    return NULL;
}

static exit_code run_reader(cli *c, const action *x)
{
    err e = {0};
    store_reader *r =
        store_open_reader(c->args[1], &(store_reader_opts){.log = on_log, .ctx = c}, &e);
    if (!r) return cli_fail_err(c, NULL, &e), c->worst;
    exit_code code = x->read(c, r);
    store_close_reader(r);
    return code;
}

/* Opens the store without limits of retention, which belong to the server's configuration: commands
 * delete nothing. */
static exit_code run_writer(cli *c, const action *x)
{
    err e = {0};
    embedded_opts o = {.store = {.max_age = UINT64_MAX,
                                 .max_bytes = UINT64_MAX,
                                 .must_exist = x->write != do_import,
                                 .log = on_log,
                                 .ctx = c},
                       .no_threads = true,
                       .threads = EMBEDDED_ALL_CORES};
    store *s = embedded_open(c->args[1], &o, &e);
    if (!s) return cli_fail_err(c, NULL, &e), c->worst;
    exit_code code = x->write(c, s);
    store_close(s);
    return code;
}

exit_code cmd_store(cli *c)
{
    const action *x = choose(c);
    if (!x) return EXIT_USAGE;
    return x->read ? run_reader(c, x) : run_writer(c, x);
}
