/* `kiln convert`, and the reading and writing of `kiln merge`. If nothing has to change, the bytes
 * of the input are copied instead of decoded and encoded again. The loss ledger of all inputs and
 * of the output is printed before the output is written, so that --strict can still prevent it. */
#include "cli/cli.h"

#include "cli/convert.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/supply.h"
#include "model/executable.h"
#include "model/extras.h"
#include "model/merge.h"
#include "wire/json.h"
#include "base/ban.h"
#include <sys/stat.h>

enum { LONG_WORK = 32 << 20 }; /* bytes of input from which a progress line is shown */

typedef struct conversion {
    cli *c;
    output out;
    const char **in_path; /* paths of the inputs */
    input *in;
    size_t n_in;
    supply supply;
    bool merge;    /* `kiln merge`: always join, even a single input */
    ledger ledger; /* losses of all inputs and the output */
    buf bytes;     /* the encoded output, not yet compressed */
    str result;    /* view of `bytes`, or of the input when it is copied */
} conversion;

/* ---- copying ---- */

/* Returns whether an option changes the output regardless of the input. */
static bool changes_output(const conversion *v)
{
    const cli_options *o = &v->c->o;
    return v->merge || o->canonical || o->string_refs || o->no_extras || o->keep_original ||
           o->percent || o->thread_frames || o->timestamps || v->supply.any;
}

static bool is_copy(const conversion *v)
{
    return v->n_in == 1 && !changes_output(v) && document_is(&v->in[0].doc, v->out.to);
}

/* Returns whether input and output are JSON lines, which are copied. */
static bool is_copy_of_lines(const conversion *v)
{
    const document *d = &v->in[0].doc;
    bool lines = str_ends(str_of(v->out.path), STR(".jsonl")) && v->out.to == &format_otlp_json;
    for (size_t i = 0; i < d->parts.n; i++) lines &= d->parts.v[i].format == &format_otlp_json;
    return lines && v->n_in == 1 && d->framing == FRAMING_JSON && !changes_output(v);
}

/* ---- encoding ---- */

static bool merged(conversion *v, arena *a, model *out, err *e)
{
    const model **in = arena_new(a, const model *, v->n_in);
    if (!in) return err_memory(e);
    for (size_t i = 0; i < v->n_in; i++) in[i] = &v->in[i].doc.model;
    merge_opts o = {.join = v->merge || (v->n_in > 1 && !v->c->o.split),
                    .canonical = v->c->o.canonical,
                    .ledger = &v->ledger};
    return model_merge(in, v->n_in, &o, a, out, e);
}

/* Turns carried entries into losses, because --no-extras removed the kiln.* attributes that carried
 * them. */
static void mark_lost(ledger *l, uint64_t n_gone)
{
    ledger out = {0};
    bool found = false;
    for (size_t i = 0; i < l->n; i++) {
        const loss *x = &l->v[i];
        bool ours = x->carried_as && str_starts(str_of(x->carried_as), STR("kiln."));
        found |= ours;
        ledger_add_n(&out, x->stage, x->concept, ours ? NULL : x->carried_as, x->count, x->path,
                     str_of(x->value));
    }
    if (!found) ledger_add_n(&out, STAGE_WRITE, LOSS_ATTRIBUTE, NULL, n_gone, "kiln.*", (str){0});
    *l = out;
}

/* Returns the model to write: that of the first input, or *made. */
static const model *final_model(conversion *v, model *made, err *e)
{
    arena *a = &v->in[0].arena;
    model *m = &v->in[0].doc.model;
    for (size_t i = 0; i < v->n_in; i++)
        if (!supply_model(&v->supply, &v->in[i].doc.model, &v->in[i].arena, e)) return NULL;
    if (v->merge && !merge_prepare(v->c, v->in, v->n_in, a, e)) return NULL;
    if (v->merge || v->n_in > 1 || v->c->o.canonical) {
        if (!merged(v, a, made, e)) return NULL;
        m = made;
    }
    if (v->c->o.no_extras) {
        uint64_t n_gone;
        model full = *m;
        if (!model_without(&full, STR("kiln."), a, made, &n_gone, e)) return NULL;
        m = made;
        mark_lost(&v->ledger, n_gone);
    }
    supply_ids(&v->supply, m);
    model_executables_first(m);
    return m;
}

static bool encode(conversion *v, err *e)
{
    model made;
    const cli_options *o = &v->c->o;
    const model *m = final_model(v, &made, e);
    if (!m) return false;
    write_opts w = {.string_refs = o->string_refs,
                    .percent = o->percent,
                    .threads = o->thread_frames,
                    .timestamps = o->timestamps,
                    .title = input_title(v->in_path[0]),
                    .ledger = &v->ledger};
    if (!v->out.to->write(v->out.to, m, &w, &v->bytes, e)) return false;
    v->result = buf_view(&v->bytes);
    return true;
}

static bool produce(conversion *v, err *e)
{
    if (is_copy(v)) {
        v->result = v->in[0].doc.parts.v[0].payload.bytes;
        return true;
    }
    if (is_copy_of_lines(v)) {
        v->result = v->in[0].doc.bytes;
        return true;
    }
    for (size_t i = 0; i < v->n_in; i++) ledger_merge(&v->ledger, &v->in[i].ledger);
    return encode(v, e);
}

/* ---- messages ---- */

static void print_losses(conversion *v)
{
    cli *c = v->c;
    if (c->o.json) {
        json_out o = {.b = &c->out, .pretty = true};
        json_put_object(&o);
        json_put_key(&o, STR("schema"));
        json_put_i64(&o, 1);
        json_put_key(&o, STR("losses"));
        ledger_json(&o, &v->ledger);
        json_put_object_end(&o);
        buf_putc(&c->out, '\n');
        return;
    }
    output_losses(c, &v->out, &v->ledger);
}

static bool carries_original(const model *m)
{
    for (size_t i = 0; i < m->profiles.n; i++)
        if (m->profiles.v[i].original_payload.n) return true;
    return false;
}

/* Prints why --keep-original had no effect on some inputs. */
static void note_not_embedded(const conversion *v)
{
    for (size_t i = 0; i < v->n_in; i++) {
        const document *d = &v->in[i].doc;
        const char *path = input_name(v->in_path[i]);
        if (carries_original(&d->model)) continue;
        if (d->format->original == ORIGINAL_ADVISED_AGAINST)
            cli_note(
                v->c,
                "%s was not embedded: the specification advises against embedding %s, because the "
                "profile already has all of its contents; give --keep-original twice to embed it",
                path, d->format->name);
        else if (d->format->original == ORIGINAL_IS_PROFILE)
            cli_note(v->c, "%s was not embedded: the file already is an OTLP profile", path);
        else
            cli_note(v->c, "%s was not embedded: it has no profile to embed it in", path);
    }
}

/* Reports options that had no effect, because they may be a mistake. */
static void note_unused(const conversion *v)
{
    cli *c = v->c;
    const supply *s = &v->supply;
    if (c->o.quiet) return;
    if (c->o.keep_original) note_not_embedded(v);
    if ((s->start || s->end) && !s->used_window)
        cli_note(c, "--start and --end had no effect: every profile records its own time");
    if (s->type.n && !s->used_type)
        cli_note(c, "--sample-type had no effect: every profile records its own type");
    if (s->schema_url.n && !s->used_schema)
        cli_note(c, "--schema-url had no effect: every resource has its own");
}

static size_t input_bytes(const conversion *v)
{
    size_t n = 0;
    for (size_t i = 0; i < v->n_in; i++) n += v->in[i].doc.bytes.n;
    return n;
}

static void convert(conversion *v)
{
    cli *c = v->c;
    err e = {0};
    if (input_bytes(v) > LONG_WORK) cli_status(c, "writing %s ...", v->out.path);
    bool ok = produce(v, &e);
    if (!ok) cli_fail_err(c, v->out.path, &e);
    if (!ok) return;
    print_losses(v);
    note_unused(v);
    if (c->o.strict && ledger_lost(&v->ledger)) {
        cli_fail(c, EXIT_BAD_INPUT, "%s: not written, because information would be lost (--strict)",
                 v->out.path);
        return;
    }
    ok = output_write(&v->out, v->result, &e);
    cli_status(c, "%s", "");
    if (!ok) output_fail(c, &v->out, &e);
}

static void run(conversion *v)
{
    v->in = calloc(v->n_in, sizeof *v->in);
    if (!v->in) {
        cli_fail(v->c, EXIT_ENVIRONMENT, "out of memory");
        return;
    }
    size_t n = 0;
    while (n < v->n_in && input_open(v->c, v->in_path[n], &v->in[n])) n++;
    if (n == v->n_in) convert(v);
    while (n--) input_close(&v->in[n]);
    free(v->in);
    buf_free(&v->bytes);
    v->bytes = (buf){0};
}

/* ---- usage ---- */

/* Returns whether both paths name the same file, also through links. */
static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino &&
           S_ISREG(x.st_mode);
}

static bool replaces_input(cli *c, const conversion *v)
{
    for (size_t i = 0; i < v->n_in; i++) {
        if (!is_same_file(v->in_path[i], v->out.path)) continue;
        cli_fail(c, EXIT_USAGE, "%s is both input and output; choose another output",
                 v->in_path[i]);
        return true;
    }
    return false;
}

static bool usage(cli *c, conversion *v)
{
    err e = {0};
    v->in_path = c->args;
    v->n_in = c->n_args;
    v->out.path = c->o.output;
    if (!v->out.path && c->n_args >= 2) v->out.path = c->args[--v->n_in];
    if (!v->out.path) {
        cli_fail(c, EXIT_USAGE, "%s needs an input and an output; for example: %s",
                 c->command->name, c->command->examples[0].line);
        return false;
    }
    if (output_is_taken(c, v->out.path, "ledger") || replaces_input(c, v)) return false;
    if (!supply_parse(&c->o, &v->supply, &e)) {
        cli_fail_err(c, NULL, &e);
        return false;
    }
    return true;
}

static bool single_usage(cli *c, conversion *v)
{
    return output_choose(c, v->out.path, &v->out) && !output_is_shown(c, &v->out);
}

/* ---- --split into a directory ---- */

/* Builds the output name: "in/app.pb.gz" converted to OTLP becomes "OUT/app.otlp". */
static void own_name(buf *b, const char *dir, const char *in, const format *to)
{
    const char *slash = strrchr(in, '/');
    str name = str_of(slash ? slash + 1 : in);
    static const char *const packed[] = {".gz", ".zst", ".zstd"};
    for (size_t i = 0; i < ARRAY_LEN(packed); i++)
        if (str_ends(name, str_of(packed[i]))) name.n -= strlen(packed[i]);
    const char *dot = name.n > 1 ? memrchr(name.p + 1, '.', name.n - 1) : NULL;
    if (dot) name.n = (size_t)(dot - name.p);
    if (!strcmp(in, "-")) name = STR("stdin");
    buf_z(b, dir);
    buf_str(b, name);
    if (to->suffixes) buf_put(b, to->suffixes, strcspn(to->suffixes, " "));
    buf_putc(b, '\0');
}

static bool split_usage(cli *c, const conversion *v, char *const *names)
{
    for (size_t i = 0; i < v->n_in; i++)
        for (size_t k = 0; k < i; k++) {
            if (strcmp(names[i], names[k])) continue;
            cli_fail(c, EXIT_USAGE, "%s and %s would both be written to %s", v->in_path[k],
                     v->in_path[i], names[i]);
            return false;
        }
    return true;
}

static void split(cli *c, const conversion *all)
{
    char **names = calloc(all->n_in, sizeof *names);
    bool ok = names != NULL;
    for (size_t i = 0; ok && i < all->n_in; i++) {
        buf b = {0};
        own_name(&b, all->out.path, all->in_path[i], all->out.to);
        names[i] = b.p;
        ok = !b.failed;
    }
    if (!ok) cli_fail(c, EXIT_ENVIRONMENT, "out of memory");
    ok = ok && split_usage(c, all, names);
    for (size_t i = 0; ok && i < all->n_in; i++) {
        conversion v = *all;
        v.n_in = 1;
        v.in_path = &all->in_path[i];
        v.out.path = names[i];
        v.out.pack = CODEC_NONE;
        run(&v);
    }
    for (size_t i = 0; names && i < all->n_in; i++) free(names[i]);
    free(names);
}

exit_code convert_files(cli *c, bool merge)
{
    conversion v = {.c = c, .merge = merge};
    if (!usage(c, &v)) return c->worst;
    if (c->o.split && str_ends(str_of(v.out.path), STR("/"))) {
        v.out.to = c->o.to ? format_named(str_of(c->o.to)) : &format_otlp;
        split(c, &v);
    } else if (single_usage(c, &v)) {
        v.out.quick = merge; /* merged files are often merged again: compress fast */
        run(&v);
    }
    return c->worst;
}

exit_code cmd_convert(cli *c) { return convert_files(c, false); }
