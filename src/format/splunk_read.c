/* Reads log records into Profiles.
 *
 * A pprof body becomes one Profile per value type. A text body is one sample; consecutive records
 * with equal metadata become one Profile. cpu data becomes `samples` and, where every sample has a
 * period, `wall` time (C-9). */
#include "format/splunk_read.h"

#include "base/ban.h"

static bool is_profile(const splunk_reader *r, const splunk_record *rec)
{
    return str_eq(r->scope.name, STR(SPLUNK_SCOPE)) || /* C-1 */
           str_eq(splunk_attr_text(&rec->attrs, STR(SPLUNK_SOURCETYPE)), STR(SPLUNK_SCOPE));
}

static bool read_record(splunk_reader *r, pb_cur c, arena *scratch, err *re)
{
    splunk_record rec;
    if (!splunk_record_read(c, scratch, &rec)) return false;
    r->n_unknown += rec.n_unknown;
    if (!is_profile(r, &rec)) return r->n_other++, true;
    r->n_records++;
    if (!splunk_attr(&rec.attrs, STR(SPLUNK_SOURCETYPE)))
        splunk_read_lose(r, LOSS_METADATA, NULL, 1, STR("a record without " SPLUNK_SOURCETYPE));
    if (rec.body.kind != ANY_STRING)
        return err_set(re, ERR_MALFORMED, "the body is not a string"), err_in(re, "body");
    str kind = splunk_attr_text(&rec.attrs, STR(SPLUNK_DATA_FORMAT));
    if (!kind.n || str_eq(kind, STR("text"))) {
        r->text.columns = kind.n || r->node; /* G-8 */
        return splunk_read_text(r, &rec, scratch);
    }
    if (str_eq(kind, STR(SPLUNK_PPROF)))
        return splunk_read_pprof(r, &rec, scratch, re) || err_in(re, "body");
    return err_set(re, ERR_UNSUPPORTED,
                   SPLUNK_DATA_FORMAT " is \"%.*s\", expected text or " SPLUNK_PPROF,
                   (int)(kind.n < 40 ? kind.n : 40), kind.p);
}

/* Reads a record. Counts an invalid one and continues with the others (C-12); fails only when out
 * of memory. */
static bool take_record(splunk_reader *r, pb_cur c)
{
    arena scratch = arena_beside(r->a);
    if (scratch.budget && (scratch.budget -= r->a->used) == 0) return arena_spent(r->a, r->e);
    err re = {0};
    c.e = &re;
    bool ok = read_record(r, c, &scratch, &re);
    arena_free(&scratch);
    if (ok) return true;
    if (r->e && r->e->code) return false;
    if (err_exhausted(&re) || !re.code) return arena_spent(r->a, r->e);
    if (!r->n_refused++) r->first = re, err_in(&r->first, "%s", r->where);
    splunk_read_lose(r, LOSS_PROFILE_REFUSED, NULL, 1, str_of(re.msg));
    return true;
}

static bool read_scope(splunk_reader *r, pb_cur c, const char *where)
{
    r->scope = (scope){0};
    r->scope_put = false;
    pb_cur all = c;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number == 1 && (!pb_expect(&c, &f, 2, "scope") ||
                              !splunk_scope_read(pb_message(&c, &f), r->a, &r->scope)))
            return err_in(r->e, "scope");
        if (f.number == 3 && !pb_text(&c, &f, "schema_url", &r->scope.schema_url)) return false;
        r->n_unknown += f.number > 3;
    }
    if (!pb_ok(&c)) return false;
    size_t n = 0;
    for (pb_field f; pb_next(&all, &f);) {
        if (f.number != 2) continue;
        snprintf(r->where, sizeof r->where, "%s.log_records[%zu]", where, n++);
        if (!pb_expect(&all, &f, 2, "log_records") || !take_record(r, pb_message(&all, &f)))
            return false;
    }
    return splunk_rows_flush(r);
}

static void set_language(splunk_reader *r)
{
    str language = splunk_attr_text(&r->resource.attrs, STR("telemetry.sdk.language"));
    r->from_kiln =
        str_eq(splunk_attr_text(&r->resource.attrs, STR("telemetry.sdk.name")), STR("kiln"));
    r->managed = language.n && !str_eq(language, STR("cpp"));
    r->text.dotnet = str_eq(language, STR("dotnet"));
    r->node = str_eq(language, STR("node")) || str_eq(language, STR("nodejs"));
}

static bool read_resource(splunk_reader *r, pb_cur c, size_t i)
{
    r->resource = (resource){0};
    r->resource_put = false;
    pb_cur all = c;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number == 1 && (!pb_expect(&c, &f, 2, "resource") ||
                              !splunk_resource_read(pb_message(&c, &f), r->a, &r->resource)))
            return err_in(r->e, "resource");
        if (f.number == 3 && !pb_text(&c, &f, "schema_url", &r->resource.schema_url)) return false;
        r->n_unknown += f.number > 3 && f.number != 1000;
    }
    if (!pb_ok(&c)) return false;
    set_language(r);
    size_t n = 0;
    for (pb_field f; pb_next(&all, &f);) {
        if (f.number != 2 && f.number != 1000) continue; /* C-2 */
        char where[64];
        snprintf(where, sizeof where, "resource_logs[%zu].scope_logs[%zu]", i, n);
        if (!pb_expect(&all, &f, 2, "scope_logs") || !read_scope(r, pb_message(&all, &f), where))
            return err_in(r->e, "scope_logs[%zu]", n);
        n++;
    }
    return pb_ok(&all);
}

static bool finish(splunk_reader *r, model *out)
{
    if (r->n_other)
        ledger_add_n(r->ledger, STAGE_READ, LOSS_EVENT, NULL, r->n_other, "log_records",
                     STR("not a profile"));
    if (!r->n_put && r->n_refused) {
        if (r->e && !r->e->code) *r->e = r->first;
        return false;
    }
    if (!r->n_put)
        return err_set(r->e, ERR_UNSUPPORTED,
                       "no log record is a profile: none has the scope " SPLUNK_SCOPE
                       " or the attribute " SPLUNK_SOURCETYPE);
    if (r->n_unknown)
        ledger_add_n(r->ledger, STAGE_READ, LOSS_UNKNOWN_FIELD, NULL, r->n_unknown, "", (str){0});
    if (!builder_finish(&r->b, out, r->e)) return false;
    out->n_unknown = r->n_unknown;
    return true;
}

bool splunk_read_logs(str bytes, bool hex_ids, const read_opts *o, arena *a, model *out, err *e)
{
    splunk_reader r = {.a = a, .e = e, .ledger = o->ledger, .hex_ids = hex_ids};
    if (!builder_init(&r.b, a)) return arena_spent(r.a, r.e);
    pb_cur c = pb_open(bytes.p, bytes.n, e);
    size_t n = 0;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number != 1) {
            r.n_unknown++;
            continue;
        }
        if (!pb_expect(&c, &f, 2, "resource_logs") || !read_resource(&r, pb_message(&c, &f), n))
            return err_in(e, "resource_logs[%zu]", n);
        n++;
    }
    return pb_ok(&c) && finish(&r, out);
}
