/* Opens what the command line names: a file, standard input, a store or a server.  Every failure is
 * reported here, with advice where there is any, so that commands only check the result. */
#include "cli/input.h"

#include "wire/attributes.h"
#include "cli/supply.h"
#include "collect/copied.h"
#include "format/foreign.h"
#include "sys/heap.h"
#include "wire/json.h"
#include "net/world.h"
#include "base/ban.h"
#include <inttypes.h>
#include <sys/stat.h>

enum { LONG_READ = 32 << 20, PASS = 4 << 20 };
#define DEFAULT_MAX_BYTES ((uint64_t)1 << 30)
#define MOST_MEMORY ((uint64_t)4 << 30)

const char *input_name(const char *path) { return !strcmp(path, "-") ? "standard input" : path; }

str input_title(const char *path)
{
    const char *scheme = strstr(path, "://"), *slash = strrchr(path, '/');
    if (scheme) return str_of(scheme + 3);
    return str_of(input_name(slash && slash[1] ? slash + 1 : path));
}

static uint64_t max_bytes(const cli *c)
{
    return c->o.max_bytes ? c->o.max_bytes : DEFAULT_MAX_BYTES;
}

/* Returns whether the command gives undated profiles a date; others show them as they are. */
static bool needs_dates(const cli *c)
{
    command_id id = command_index(c->command);
    return id == COMMAND_SEND || id == COMMAND_STORE;
}

/* Returns the modification time in Unix ns, or 0 if the input is not a regular file. */
static uint64_t modified(const input *in)
{
    struct stat st;
    if (in->stored || !strcmp(in->path, "-") || stat(in->path, &st) || !S_ISREG(st.st_mode) ||
        st.st_mtim.tv_sec < 0)
        return 0;
    return (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec;
}

static time_anchor anchor_of(const cli *c, const input *in, uint64_t given)
{
    const world *w = world_system();
    if (!needs_dates(c)) return (time_anchor){.given = given, .plain = true};
    return (time_anchor){.given = given, .modified = modified(in), .arrival = w->wall(w->ctx)};
}

read_opts input_read_opts(const cli *c, input *in)
{
    supply s = {0};
    if (!supply_parse(&c->o, &s, NULL))
        s = (supply){0}; /* reported by the command that has the option */
    return (read_opts){
        .sample_type = s.type,
        .sample_unit = s.unit,
        .anchor = anchor_of(c, in, s.time_anchor),
        .keep_original = c->o.keep_original,
        .percent = c->o.percent,
        .name = in->path ? str_of(in->path) : (str){0},
        .from = c->o.from ? format_named(str_of(c->o.from)) : NULL,
        .layout = c->o.layout ? layout_from_name(str_of(c->o.layout)) : LAYOUT_UNKNOWN,
        .max_bytes = c->o.max_bytes,
        .max_payload = c->o.max_payload,
        .ledger = &in->ledger,
    };
}

static bool nothing_stored(cli *c, input *in)
{
    stored_report_nothing(c, in->path);
    input_close(in);
    return false;
}

static bool load_stored(cli *c, stored_need need, input *in)
{
    err e = {0};
    stored_source k;
    in->stored = true;
    bool ok = stored_parse(&c->o, in->path, &in->arena, &k, &e);
    if (!ok) cli_fail_err(c, in->path, &e);
    k.need = need;
    ok = ok && stored_read(c, &k, &in->arena, max_bytes(c), &in->made, in->main_type);
    arena_reset(&in->arena); /* the bytes are decoded like those of a file */
    in->file.bytes = buf_view(&in->made);
    if (ok && in->made.n) return true;
    if (ok) return nothing_stored(c, in);
    input_close(in);
    return false;
}

size_t input_budget(const cli *c)
{
    uint64_t half = heap_machine_bytes() / 2;
    if (c->o.max_memory) return c->o.max_memory;
    return half < MOST_MEMORY ? half : MOST_MEMORY;
}

static void begin(const cli *c, const char *path, input *in)
{
    *in = (input){.path = path};
    in->arena.budget = input_budget(c);
    in->arena.seed = c->seed;
}

static bool load(cli *c, const char *path, stored_need need, input *in)
{
    err e = {0};
    begin(c, path, in);
    if (stored_is(path)) return load_stored(c, need, in);
    if (file_read(path, max_bytes(c), &in->file, &e)) return true;
    cli_fail_err(c, path, &e);
    return false;
}

bool input_load(cli *c, const char *path, input *in) { return load(c, path, STORED_ALL, in); }

/* Prints what the user can do about an error, if anything. */
static void advise(cli *c, const input *in, const err *e)
{
    size_t n = in->doc.parts.n;
    const layout_verdict *v = n ? &in->doc.parts.v[n - 1].verdict : NULL;
    if (v && v->confidence == LAYOUT_NONE && e->code == ERR_MALFORMED)
        cli_note(c, "  the bytes match no layout of OTLP profiles; the closest is %s",
                 layout_name(v->layout));
    if (e->code == ERR_MEMORY) cli_note(c, "  --max-memory=SIZE raises the memory budget");
}

bool input_unpack(cli *c, const char *path, input *in)
{
    if (!input_load(c, path, in)) return false;
    err e = {0};
    unpacked u;
    if (format_unpack(in->file.bytes, c->o.max_bytes, &in->arena, &u, &e)) {
        in->doc.bytes = u.bytes;
        in->doc.n_layers = u.n_layers;
        memcpy(in->doc.layers, u.layers, sizeof u.layers);
        return true;
    }
    cli_fail_err(c, path, &e);
    advise(c, in, &e);
    input_close(in);
    return false;
}

const format *input_other_format(const cli *c, const input *in)
{
    enum { CLEARLY = 90 }; /* broken OTLP may resemble other formats a little */
    layout_verdict v;
    bool forced = c->o.from || c->o.layout;
    const format *f = forced ? NULL : format_detect_named(in->doc.bytes, str_of(in->path));
    if (!f || f->payloads || !f->detect) return NULL;
    if (f->detect(in->doc.bytes) >= CLEARLY) return f;
    layout_detect(in->doc.bytes.p, in->doc.bytes.n, &v);
    return f->text && v.confidence == LAYOUT_NONE
               ? f
               : NULL; /* text that matches no layout is not OTLP */
}

bool input_is_known(cli *c, input *in)
{
    if (c->o.from || c->o.layout || format_detect_named(in->doc.bytes, str_of(in->path)))
        return true;
    err e = {0};
    foreign_reject(in->doc.bytes, &e);
    cli_fail_err(c, in->path, &e);
    input_close(in);
    return false;
}

bool input_holds_otlp(cli *c, input *in)
{
    if (!input_is_known(c, in)) return false;
    const format *f = c->o.from ? format_named(str_of(c->o.from)) : input_other_format(c, in);
    if (!f || f->payloads || f == &format_otep239) return true; /* layouts of OTLP */
    cli_fail(c, EXIT_BAD_INPUT, "%s: the input is %s, %s; `kiln convert` converts it to OTLP",
             input_name(in->path), f->name,
             c->o.fix ? "but --fix repairs only OTLP" : "which has no rules");
    input_close(in);
    return false;
}

typedef struct reading {
    cli *c;
    const input *in;
} reading;

static void show_progress(void *ctx, uint64_t done, uint64_t all)
{
    const reading *r = ctx;
    if (all < LONG_READ || done > all) return;
    if (all == r->in->file.bytes.n) file_pass(&r->in->file, (size_t)done); /* not compressed */
    cli_status(r->c, "reading %s ... %u %%", input_name(r->in->path),
               (unsigned)(done / (all / 100)));
}

/* Reports damage in every command, because its numbers then cover only a part of the input. */
static void report_damage(cli *c, const char *path, const ledger *l)
{
    char what[512];
    if (!c->o.quiet && ledger_damage(l, what, sizeof what))
        cli_note(c, "%s: damaged or incomplete; intact parts were read: %s", input_name(path),
                 what);
}

static bool read_loaded(cli *c, const char *path, input *in)
{
    err e = {0};
    read_opts o = input_read_opts(c, in);
    reading r = {c, in};
    o.progress = show_progress;
    o.ctx = &r;
    bool slow = in->file.bytes.n > LONG_READ;
    if (slow) cli_status(c, "reading %s ...", input_name(path));
    copied_walk *walk = copied_open();
    o.walk = copied_callbacks(walk);
    bool ok = format_read(in->file.bytes, &o, &in->arena, &in->doc, &e);
    copied_close(walk);
    cli_status(c, "%s", "");
    if (ok) report_damage(c, path, &in->ledger);
    if (ok) return !in->stored || in->doc.model.profiles.n || nothing_stored(c, in);
    cli_fail_err(c, path, &e);
    advise(c, in, &e);
    input_close(in);
    return false;
}

bool input_open_for(cli *c, const char *path, stored_need need, input *in)
{
    return load(c, path, need, in) && read_loaded(c, path, in);
}

bool input_open_model(cli *c, const char *path, stored_need need, input *in)
{
    err e = {0};
    stored_source k;
    begin(c, path, in);
    if (!stored_is(path) || !stored_parse(&c->o, path, &in->arena, &k, &e) || k.server) {
        arena_free(&in->arena);
        return input_open_for(c, path, need, in);
    }
    in->stored = true;
    k.need = need;
    bool ok = stored_read_model(c, &k, &in->arena, &in->doc.model, in->main_type);
    if (ok) return in->doc.model.profiles.n || nothing_stored(c, in);
    input_close(in);
    return false;
}

bool input_open(cli *c, const char *path, input *in)
{
    return input_open_for(c, path, STORED_ALL, in);
}

bool input_open_bytes(cli *c, const char *name, buf *bytes, input *in)
{
    begin(c, name, in);
    in->stored = true; /* the bytes are in `made` */
    in->made = *bytes;
    *bytes = (buf){0};
    in->file.bytes = buf_view(&in->made);
    return read_loaded(c, name, in);
}

typedef struct visit {
    reading r;
    input *in;
    format_each *each;
    void *ctx;
    size_t passed; /* bytes of the file whose memory was released */
    uint64_t n_profiles;
} visit;

/* Releases the mapped memory of earlier payloads.  The current model still uses strings of its own
 * payload. */
static void pass_payload(visit *v, const part *p)
{
    const input *in = v->in;
    size_t to = (size_t)(p->payload.bytes.p + p->payload.bytes.n - in->doc.bytes.p);
    if (in->doc.n_layers || p->payload.packed || to - v->passed < PASS) return;
    file_pass(&in->file, to);
    v->passed = to;
    show_progress(&v->r, to, in->file.bytes.n);
}

static bool visit_payload(void *ctx, const part *p, err *e)
{
    visit *v = ctx;
    pass_payload(v, p);
    v->n_profiles += p->model.profiles.n;
    bool ok = v->each(v->ctx, p, e);
    report_damage(v->r.c, v->in->path, &v->in->ledger);
    v->in->ledger = (ledger){0};
    return ok;
}

bool input_each(cli *c, const char *path, input *in, format_each *each, void *ctx)
{
    if (!load(c, path, STORED_ALL, in)) return false;
    err e = {0};
    visit v = {.r = {c, in}, .in = in, .each = each, .ctx = ctx};
    read_opts o = input_read_opts(c, in);
    o.progress = show_progress;
    o.ctx = &v.r;
    if (in->file.bytes.n > LONG_READ) cli_status(c, "reading %s ...", input_name(path));
    copied_walk *walk = copied_open();
    o.walk = copied_callbacks(walk);
    bool ok = format_read_each(in->file.bytes, &o, &in->arena, &in->doc, visit_payload, &v, &e);
    copied_close(walk);
    cli_status(c, "%s", "");
    if (ok) report_damage(c, path, &in->ledger); /* after the last payload */
    if (ok && in->stored && !v.n_profiles) return nothing_stored(c, in);
    if (!ok) {
        cli_fail_err(c, path, &e);
        advise(c, in, &e);
    }
    input_close(in);
    return ok;
}

void input_close(input *in)
{
    arena_free(&in->arena);
    if (!in->stored) file_release(&in->file);
    buf_free(&in->made);
}

void input_path_json(json_out *o, const char *path) { text_json(o, str_of(path)); }
