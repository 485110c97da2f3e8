/* The selection as a file of any format. */
#include "server/ask.h"

#include "format/format.h"
#include "server/questions.h"
#include "base/ban.h"
#include <string.h>

/* sums=1: one sample a stack (and set of attributes, unless attributes=0), which is what a flame graph needs and far less to send. */
bool api_export(ask *k, err *e)
{
    str name = params_get(&k->p, "format");
    const format *f = name.n ? format_named(name) : &format_otlp;
    bool sums = false, gzip = false;
    model m;
    buf plain = {0};
    store_read_opts o = {
        .budget = ask_budget(k, 2), .names = true, .by_series = true, .by_attributes = true};
    if (!f || !f->write)
        return err_set(
            e, ERR_USAGE,
            "format is not the name of a format that can be written, such as otlp or pprof");
    if (!params_flag(&k->p, "sums", &sums, e) || !params_flag(&k->p, "gzip", &gzip, e) ||
        !params_flag(&k->p, "attributes", &o.by_attributes, e))
        return false;
    store_selector main = k->q; /* all of it is sent, and which type a question would be about */
    if (!ask_type(k, &main, e)) return false;
    if (main.type.n && main.type.n < sizeof k->main_type)
        memcpy(k->main_type, main.type.p, main.type.n);
    bool ok = sums ? store_read_sums(k->store, &k->q, &o, k->a, &m, &k->looked, e)
                   : store_read(k->store, &k->q, &o, k->a, &m, &k->looked, e);
    if (!ok || !stopper_now(k->stop, e)) return false;
    if (k->looked.partial)
        return err_set(e, ERR_LIMIT, "the answer would be too large: %s; ask for less time",
                       k->looked.why);
    codec c = f->pack ? f->pack : gzip ? CODEC_GZIP : CODEC_NONE;
    ok = f->write(f, &m, &(write_opts){0}, c ? &plain : &k->body, e) &&
         (!c || pack_quick(c, buf_view(&plain), &k->body, e));
    buf_free(&plain);
    k->type = f->text && !c ? "text/plain; charset=utf-8" : "application/octet-stream";
    k->name = f == &format_otlp ? STR("profile.otlp") : STR("profile");
    return ok;
}
