/* `kiln store`: looks after a directory that `kiln serve` fills. */
#include "cli/cli.h"

#include "cli/input.h"
#include "cli/output.h"
#include "cli/store_import.h"
#include "cli/store_names.h"
#include "cli/supply.h"
#include "draw/human.h"
#include "model/executable.h"
#include "server/selection.h"
#include "store/store.h"
#include "wire/json.h"
#include "wire/otlp.h"
#include <unistd.h>
#include "base/ban.h"

enum { BUDGET = 1 << 30 };

typedef struct action {
    const char *name;
    bool writes; /* takes the lock */
    size_t min_files, max_files;
    exit_code (*run)(cli *c, store *s);
} action;

static void on_say(void *who, store_said what, const char *text)
{
    (void)what;
    cli_note(who, "%s", text);
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
    buf_printf(o, "%s in all, %s in %s", human_bytes(x->bytes, a),
               human_things(x->n_samples, "sample", b), human_things(x->n_profiles, "profile", d));
    if (x->n_samples)
        buf_printf(o, ", %.2f bytes a sample", (double)x->bytes / (double)x->n_samples);
    buf_printf(o, "\n%s (%s) %s for compaction\n", human_things(x->raw_items, "item", a),
               human_bytes(x->raw_bytes, b), x->raw_items == 1 ? "waits" : "wait");
    if (x->kept_items)
        buf_printf(o, "%s kept as received: compaction could not make columns of them\n",
                   human_things(x->kept_items, "item", a));
    for (size_t i = 0; i < x->files.n; i++) {
        const store_file *f = &x->files.v[i];
        buf_printf(o, "\n%.*s\n", STR_ARG(f->name));
        if (f->corrupt) {
            buf_printf(o, "  %s, damaged and set aside\n", human_bytes(f->bytes, a));
            continue;
        }
        buf_printf(o, "  %s, %s, %llu series, %s\n", human_bytes(f->bytes, a),
                   human_things(f->n_samples, "sample", b), (unsigned long long)f->n_series,
                   human_things(f->n_blocks, "block", d));
        if (f->n_samples)
            buf_printf(o, "  %s to\n  %s\n", human_time(f->first, a), human_time(f->last, b));
    }
}

static exit_code do_stats(cli *c, store *s)
{
    arena a = {.budget = BUDGET};
    store_stats x;
    err e = {0};
    bool ok = store_get_stats(s, &a, &x, &e);
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

static void on_problem(void *who, const char *text)
{
    cli *c = who;
    buf_printf(&c->out, "%s\n", text);
}

static void on_problem_json(void *who, const char *text) { json_put_str(who, str_of(text)); }

static bool verify_json(cli *c, store *s, store_check *x, err *e)
{
    json_out o = {.b = &c->out, .pretty = true};
    size_t before = c->out.n;
    json_put_object(&o);
    put_fact(&o, STR("schema"), 1);
    json_put_key(&o, STR("problems"));
    json_put_array(&o);
    if (!store_verify(s, on_problem_json, &o, x, e)) {
        c->out.n = before;
        return false;
    }
    json_put_array_end(&o);
    put_fact(&o, STR("files"), x->n_files);
    put_fact(&o, STR("blocks"), x->n_blocks);
    put_fact(&o, STR("raw_items"), x->n_items);
    put_fact(&o, STR("kept_items"), x->n_kept);
    put_fact(&o, STR("samples"), x->n_samples);
    json_put_object_end(&o);
    buf_putc(&c->out, '\n');
    return true;
}

static bool verify_text(cli *c, store *s, store_check *x, err *e)
{
    char a[HUMAN_MAX], b[HUMAN_MAX], d[HUMAN_MAX];
    if (!store_verify(s, on_problem, c, x, e)) return false;
    buf_printf(&c->out, "%s, %s, %s not yet compacted, ", human_things(x->n_files, "file", a),
               human_things(x->n_blocks, "block", b), human_things(x->n_items, "item", d));
    if (x->n_kept) buf_printf(&c->out, "%s kept as received, ", human_things(x->n_kept, "item", a));
    buf_printf(&c->out, "%s: %s\n", human_things(x->n_samples, "sample", a),
               x->n_problems ? human_things(x->n_problems, "problem", b) : "all is well");
    return true;
}

static exit_code do_verify(cli *c, store *s)
{
    store_check x;
    err e = {0};
    if (!(c->o.json ? verify_json : verify_text)(c, s, &x, &e)) {
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

static void on_progress(void *who, const char *name, const store_backup_result *x)
{
    char text[HUMAN_MAX];
    cli_status(who, "%s, %llu copied, %llu linked, %s", name, (unsigned long long)x->n_copied,
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

static exit_code do_backup(cli *c, store *s)
{
    store_backup_result x = {0};
    store_backup_opts o = {.who = c};
    err e = {0};
    char n[HUMAN_MAX], m[HUMAN_MAX], k[HUMAN_MAX];
    if (!c->o.quiet) o.progress = on_progress;
    bool ok = store_backup(s, c->args[2], &o, &x, &e);
    cli_status(c, "%s", "");
    if (!ok) {
        cli_fail_err(c, NULL, &e);
        return c->worst;
    }
    if (c->o.json)
        backup_json(c, &x);
    else if (!c->o.quiet)
        cli_note(c, "%s: %s and %s not yet compacted; %s copied, the others were there", c->args[2],
                 human_things(x.n_files, "file", n), human_things(x.n_items, "item", m),
                 human_bytes(x.bytes, k));
    if (x.n_damaged)
        cli_fail(c, EXIT_BAD_INPUT,
                 "the store lacks %s, and so does the backup: `kiln store verify` says which",
                 human_things(x.n_damaged, "file or item", n));
    return x.n_damaged ? c->worst : EXIT_FINE;
}

/* ---- export ---- */

/* --select, --start and --end.  false: reported. */
static bool take_selector(cli *c, arena *a, store_selector *q)
{
    const world *w = world_system();
    kept_place k;
    err e = {0};
    if (kept_parse(&c->o, c->args[1], a, &k, &e) &&
        selection_of(&k.words, w->wall(w->who), a, q, &e))
        return true;
    if (e.code == ERR_MALFORMED) e.code = ERR_USAGE;
    cli_fail_err(c, NULL, &e);
    return false;
}

typedef struct exporting {
    file_out file;
    uint64_t n_profiles;
} exporting;

/* One message of the Collector's file framing: four bytes of length, then OTLP. */
static bool put_message(void *who, const model *m, err *e)
{
    exporting *x = who;
    buf b = {0};
    bool ok = otlp_encode(m, NULL, &b, e);
    char head[4] = {(char)(b.n >> 24), (char)(b.n >> 16), (char)(b.n >> 8), (char)b.n};
    ok = ok && file_put(&x->file, (str){head, 4}, e) && file_put(&x->file, buf_view(&b), e);
    x->n_profiles += m->profiles.n;
    buf_free(&b);
    return ok;
}

/* Both leave no file where there is nothing: answer->n_profiles tells. */
static bool export_stream(store *s, const store_selector *q, const char *path, store_answer *answer,
                          err *e)
{
    exporting x = {0};
    if (!file_create(path, &x.file, e)) return false;
    bool ok = store_read_each(s, q, put_message, &x, answer, e);
    if (ok && answer->n_profiles) return file_commit(&x.file, e);
    file_abandon(&x.file);
    return ok;
}

static bool export_model(cli *c, store *s, const store_selector *q, const output *out, arena *a,
                         store_answer *answer, err *e)
{
    model m;
    buf b = {0};
    ledger l = {0};
    bool ok = store_read(s, q, NULL, a, &m, answer, e);
    if (ok && !answer->n_profiles) return true;
    if (ok) model_executables_first(&m);
    ok = ok && out->to->write(out->to, &m, &(write_opts){.ledger = &l}, &b, e) &&
         output_write(out, buf_view(&b), e);
    if (ok) output_losses(c, out, &l);
    buf_free(&b);
    return ok;
}

static exit_code do_export(cli *c, store *s)
{
    arena a = {.budget = BUDGET, .seed = c->seed};
    store_selector q = {0};
    store_answer answer = {0};
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
    ok = stream ? export_stream(s, &q, path, &answer, &e)
                : export_model(c, s, &q, &out, &a, &answer, &e);
    if (!ok) output_fail(c, &out, &e);
    if (ok && !answer.n_profiles)
        kept_say_nothing(c, c->args[1]);
    else if (ok && !c->o.quiet)
        cli_note(c, "%s: %s, %s", path, human_things(answer.n_profiles, "profile", n),
                 human_things(answer.n_samples, "sample", m));
    if (ok && answer.n_damaged)
        cli_fail(c, EXIT_BAD_INPUT, "left out: %s",
                 human_things(answer.n_damaged, "damaged block", n));
    arena_free(&a);
    return ok ? EXIT_FINE : c->worst;
}

/* ---- import ---- */

static exit_code do_import(cli *c, store *s)
{
    importing x = {.c = c, .store = s};
    char n[HUMAN_MAX];
    supply given;
    err e = {0};
    bool ok = supply_parse(&c->o, &given, &e);
    if (!ok) return cli_fail_err(c, NULL, &e), c->worst;
    for (size_t i = 2; i < c->n_args; i++) ok &= import_file(&x, c->args[i]);
    if (!c->o.quiet)
        cli_note(c, "%s stored, %llu %s there already", human_things(x.stored, "profile", n),
                 (unsigned long long)x.duplicates, x.duplicates == 1 ? "was" : "were");
    return ok ? EXIT_FINE : c->worst;
}

/* ---- symbolize ---- */

static exit_code do_symbolize(cli *c, store *s)
{
    arena a = {.budget = BUDGET, .seed = c->seed};
    store_selector q = {0};
    err e = {0};
    bool ok = take_selector(c, &a, &q);
    if (ok && !store_symbolize(c, s, &q, &a, &e)) {
        cli_fail_err(c, c->args[1], &e);
        ok = false;
    }
    arena_free(&a);
    return ok ? EXIT_FINE : c->worst;
}

/* ---- the command ---- */

static const action actions[] = {
    {"stats", false, 0, 0, do_stats},         {"verify", false, 0, 0, do_verify},
    {"compact", true, 0, 0, do_compact},      {"export", false, 1, 1, do_export},
    {"import", true, 1, SIZE_MAX, do_import}, {"symbolize", false, 0, 0, do_symbolize},
    {"backup", false, 1, 1, do_backup},
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
        "store does not know `%s`; it knows stats, verify, compact, backup, export, import and "
        "symbolize",
        c->args[0]);
    return NULL;
}

exit_code cmd_store(cli *c)
{
    const action *x = choose(c);
    err e = {0};
    if (!x) return EXIT_USAGE;
    bool import = x->run == do_import;
    /* Retention is the server's, whose limits nobody told us: what is done by hand removes nothing. */
    store_opts o = {.max_age = UINT64_MAX,
                    .max_bytes = UINT64_MAX,
                    .read_only = !x->writes,
                    .must_exist = !import,
                    .no_threads = true,
                    .threads = STORE_ALL_CORES,
                    .say = on_say,
                    .who = c};
    store *s = store_open(c->args[1], &o, &e);
    if (!s) {
        cli_fail_err(c, NULL, &e);
        return c->worst;
    }
    exit_code code = x->run(c, s);
    store_close(s);
    return code;
}
