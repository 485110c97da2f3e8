/* The selection as a file of any format. */
#include "server/ask.h"

#include "format/format.h"
#include "model/executable.h"
#include "server/body_out.h"
#include "server/questions.h"
#include "base/ban.h"
#include <string.h>

typedef struct export_opts {
    const format *f;
    bool sums, gzip;
    store_read_opts read;
} export_opts;

static bool take_opts(ask *k, export_opts *o, err *e)
{
    str name = params_get(&k->p, "format");
    *o = (export_opts){
        .f = name.n ? format_named(name) : &format_otlp,
        .read = {
            .budget = ask_budget(k, 2), .names = true, .by_series = true, .by_attributes = true}};
    if (!o->f || !o->f->write)
        return err_set(
            e, ERR_USAGE,
            "format is not the name of a format that can be written, such as otlp or pprof");
    return params_flag(&k->p, "sums", &o->sums, e) && params_flag(&k->p, "gzip", &o->gzip, e) &&
           params_flag(&k->p, "attributes", &o->read.by_attributes, e);
}

/* What helps when an export is too large. */
static const char *advice(const ask *k, const export_opts *o)
{
    return o->sums || o->f->parts || k->looked.n_damaged
               ? "ask for less time"
               : "ask for less time, or for format=otlp, which is written in pieces";
}

/* Half a file is of no use to anybody. */
static bool check_whole(const ask *k, const export_opts *o, err *e)
{
    if (!stopper_now(k->stop, e)) return false;
    return !k->looked.partial || err_set(e, ERR_LIMIT, "the answer would be too large: %s; %s",
                                         k->looked.why, advice(k, o));
}

/* ---- all at once ---- */

static bool export_whole(ask *k, const export_opts *o, err *e)
{
    model m;
    buf plain = {0};
    bool ok = o->sums ? store_read_sums(k->store, &k->q, &o->read, k->a, &m, &k->looked, e)
                      : store_read(k->store, &k->q, &o->read, k->a, &m, &k->looked, e);
    if (!ok && e->code == ERR_LIMIT && stopper_now(k->stop, e)) {
        err why = *e;
        *e = (err){0};
        err_set(e, ERR_LIMIT, "%s; %s", why.msg, advice(k, o));
    }
    if (!ok || !check_whole(k, o, e)) return false;
    model_executables_first(&m);
    codec c = o->f->pack ? o->f->pack : o->gzip ? CODEC_GZIP : CODEC_NONE;
    ok = o->f->write(o->f, &m, &(write_opts){0}, c ? &plain : &k->body, e) &&
         (!c || pack_quick(c, buf_view(&plain), &k->body, e));
    buf_free(&plain);
    return ok;
}

/* ---- in pieces: memory holds the dictionary and one piece ---- */

typedef struct exporting {
    ask *k;
    const export_opts *o;
    body_out out;
    buf bytes; /* of the piece at hand */
    uint64_t n;
} exporting;

static bool put_part(exporting *x, const model *m, otlp_part which, err *e)
{
    const format *f = x->o->f;
    buf_reset(&x->bytes);
    if (!f->write(f, m, &(write_opts){.part = which}, &x->bytes, e)) return false;
    x->n += x->bytes.n;
    if (x->n > OTLP_MAX_BYTES)
        return err_set(e, ERR_LIMIT,
                       "the message would be larger than 2 GiB, which no reader of protobuf takes; "
                       "ask for less time");
    return body_out_put(&x->out, buf_view(&x->bytes), e);
}

static bool on_piece(void *who, const model *m, err *e)
{
    exporting *x = who;
    return stopper_now(x->k->stop, e) && put_part(x, m, OTLP_PART_PROFILES, e);
}

/* *no_file: nothing else went wrong. */
static bool export_pieces(ask *k, const export_opts *o, bool *no_file, err *e)
{
    exporting x = {.k = k, .o = o};
    model shared;
    if (!body_out_begin(&x.out, k, o->gzip, e)) return false;
    bool ok =
        store_read_pieces(k->store, &k->q, &o->read, k->a, on_piece, &x, &shared, &k->looked, e) &&
        check_whole(k, o, e) && put_part(&x, &shared, OTLP_PART_DICTIONARY, e);
    ok = body_out_end(&x.out, ok, e);
    *no_file = x.out.no_file;
    buf_free(&x.bytes);
    return ok;
}

/* sums=1: one sample a stack (and set of attributes, unless attributes=0), which is what a flame graph needs and far less to send. */
bool api_export(ask *k, err *e)
{
    export_opts o;
    bool no_file = false;
    if (!take_opts(k, &o, e)) return false;
    store_selector main = k->q; /* all of it is sent, and which type a question would be about */
    if (!ask_type(k, &main, e)) return false;
    if (main.type.n && main.type.n < sizeof k->main_type)
        memcpy(k->main_type, main.type.p, main.type.n);
    bool parts = o.f->parts && !o.sums, ok = parts && export_pieces(k, &o, &no_file, e);
    if (!parts || no_file) { /* on a full disk memory has to do */
        *e = (err){0};
        o.read.budget = ask_budget(k, 2);
        ok = export_whole(k, &o, e);
    }
    k->type = o.f->text && !o.f->pack && !o.gzip ? "text/plain; charset=utf-8"
                                                 : "application/octet-stream";
    k->name = o.f == &format_otlp ? STR("profile.otlp") : STR("profile");
    return ok;
}
