/* The endpoint export: the selected samples as a file of any format. OTLP is written in pieces, so
 * that only the dictionary and one piece are in memory; other formats need the whole model. */
#include "server/query.h"

#include "format/format.h"
#include "model/executable.h"
#include "server/body_out.h"
#include "server/endpoints.h"
#include "base/ban.h"
#include <string.h>

typedef struct export_opts {
    const format *f;
    bool sums, gzip;
    store_read_opts read;
} export_opts;

static bool take_opts(query *k, export_opts *o, err *e)
{
    str name = params_get(&k->p, "format");
    *o = (export_opts){
        .f = name.n ? format_named(name) : &format_otlp,
        .read = {
            .budget = query_budget(k, 2), .names = true, .by_series = true, .by_attributes = true}};
    if (!o->f || !o->f->write)
        return err_set(e, ERR_USAGE,
                       "format must be a format that kiln can write, such as otlp or pprof");
    return params_flag(&k->p, "sums", &o->sums, e) && params_flag(&k->p, "gzip", &o->gzip, e) &&
           params_flag(&k->p, "attributes", &o->read.by_attributes, e);
}

/* Returns advice for an export that is too large. */
static const char *advice(const query *k, const export_opts *o)
{
    return o->sums || o->f->parts || k->scanned.n_damaged
               ? "request a shorter time range"
               : "request a shorter time range, or format=otlp, which is written in pieces";
}

/* Fails when the result is partial, because a partial file is useless. */
static bool check_whole(const query *k, const export_opts *o, err *e)
{
    if (!stopper_now(k->stop, e)) return false;
    return !k->scanned.partial || err_set(e, ERR_LIMIT, "the response would be too large: %s; %s",
                                          k->scanned.why, advice(k, o));
}

/* ---- all at once ---- */

static bool export_whole(query *k, const export_opts *o, err *e)
{
    model m;
    buf plain = {0};
    bool ok = o->sums ? store_read_sums(k->store, &k->q, &o->read, k->a, &m, &k->scanned, e)
                      : store_read(k->store, &k->q, &o->read, k->a, &m, &k->scanned, e);
    if (!ok && err_exhausted(e) && stopper_now(k->stop, e)) {
        err why = *e;
        *e = (err){0};
        err_set(e, why.code, "%s; %s", why.msg, advice(k, o));
    }
    if (!ok || !check_whole(k, o, e)) return false;
    model_executables_first(&m);
    codec c = o->f->pack ? o->f->pack : o->gzip ? CODEC_GZIP : CODEC_NONE;
    ok = o->f->write(o->f, &m, &(write_opts){0}, c ? &plain : &k->body, e) &&
         (!c || pack_quick(c, buf_view(&plain), &k->body, e));
    buf_free(&plain);
    return ok;
}

/* ---- in pieces ---- */

typedef struct exporting {
    query *k;
    const export_opts *o;
    body_out out;
    buf bytes; /* bytes of the current piece */
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
                       "the message would be larger than 2 GiB, which protobuf does not allow; "
                       "request a shorter time range");
    return body_out_put(&x->out, buf_view(&x->bytes), e);
}

static bool on_piece(void *ctx, const model *m, err *e)
{
    exporting *x = ctx;
    return stopper_now(x->k->stop, e) && put_part(x, m, OTLP_PART_PROFILES, e);
}

/* Sets *no_file when it failed only because of the temporary file. */
static bool export_pieces(query *k, const export_opts *o, bool *no_file, err *e)
{
    exporting x = {.k = k, .o = o};
    model shared;
    if (!body_out_begin(&x.out, k, o->gzip, e)) return false;
    bool ok =
        store_read_pieces(k->store, &k->q, &o->read, k->a, on_piece, &x, &shared, &k->scanned, e) &&
        check_whole(k, o, e) && put_part(&x, &shared, OTLP_PART_DICTIONARY, e);
    ok = body_out_end(&x.out, ok, e);
    *no_file = x.out.no_file;
    buf_free(&x.bytes);
    return ok;
}

/* sums=1 returns one sample for each stack (and set of attributes, unless attributes=0): enough for
 * a flame graph, and much smaller. */
bool api_export(query *k, err *e)
{
    export_opts o;
    bool no_file = false;
    if (!take_opts(k, &o, e)) return false;
    store_selector main = k->q; /* the export has all types; a header names the main type */
    if (!query_type(k, &main, e)) return false;
    if (main.type.n && main.type.n < sizeof k->main_type)
        memcpy(k->main_type, main.type.p, main.type.n);
    bool parts = o.f->parts && !o.sums, ok = parts && export_pieces(k, &o, &no_file, e);
    if (!parts || no_file) { /* without disk space, try in memory */
        *e = (err){0};
        o.read.budget = query_budget(k, 2);
        ok = export_whole(k, &o, e);
    }
    k->type = o.f->text && !o.f->pack && !o.gzip ? "text/plain; charset=utf-8"
                                                 : "application/octet-stream";
    k->name = o.f == &format_otlp ? STR("profile.otlp") : STR("profile");
    return ok;
}
