/* Reads bytes and files.  A lenient read tries a strict read first, because most inputs are
 * valid. */
#include "api/internal.h"

#include "check/check.h"
#include "model/merge.h"
#include "sys/file.h"
#include "base/ban.h"

enum { CHUNK = 256 * 1024 };

kiln_profiles *api_profiles_new(size_t max_memory, uint64_t seed, err *e)
{
    kiln_profiles *h = calloc(1, sizeof *h);
    if (!h) {
        err_memory(e);
        return NULL;
    }
    h->in.budget = h->a.budget = api_budget(max_memory);
    h->in.seed = h->a.seed = seed;
    return h;
}

void kiln_profiles_free(kiln_profiles *p)
{
    if (!p) return;
    arena_free(&p->a);
    arena_free(&p->in);
    free(p);
}

static bool budget_spent(const kiln_profiles *h, err *e)
{
    return err_set(e, ERR_MEMORY, "the memory budget of %zu bytes is spent", h->in.budget);
}

/* Sets the budget of everything else to what the copy of the input leaves. */
static bool rest_of_budget(kiln_profiles *h, err *e)
{
    if (h->in.used >= h->in.budget) return budget_spent(h, e);
    h->a.budget = h->in.budget - h->in.used;
    return true;
}

/* ---- lenient: repairs broken references and records that in the ledger ---- */

static void tell_repairs(const fix_report *r, ledger *l)
{
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->v[i].rule, "P-06") == 0)
            ledger_add_n(l, STAGE_READ, LOSS_INDEX_REPAIRED, NULL, r->v[i].count, r->v[i].path,
                         (str){0});
}

static bool repair(kiln_profiles *h, ledger *l, err *e)
{
    document *d = &h->doc;
    const model **in = arena_new(&h->a, const model *, d->parts.n);
    if (!in) return budget_spent(h, e);
    for (size_t i = 0; i < d->parts.n; i++) {
        model *m = &d->parts.v[i].model, fixed;
        in[i] = m;
        if (m->checked) continue;
        fix_report r = {0};
        if (!check_fix(m, &h->a, &fixed, &r, e)) return false;
        tell_repairs(&r, l);
        if (m->n_unknown)
            ledger_add_n(l, STAGE_READ, LOSS_UNKNOWN_FIELD, NULL, m->n_unknown, "", (str){0});
        fixed.n_unknown = m->n_unknown;
        *m = fixed;
    }
    if (d->parts.n == 1) d->model = *in[0];
    return d->parts.n == 1 ||
           model_merge(in, d->parts.n, &(merge_opts){.ledger = l}, &h->a, &d->model, e);
}

/* Reads strictly first, and repairs only if that fails.  A failed first attempt must leave nothing
 * in the caller's ledger. */
static bool read_leniently(kiln_profiles *h, str in, const read_opts *o, err *e)
{
    ledger *tried = calloc(1, sizeof *tried);
    if (!tried) return err_memory(e);
    read_opts r = *o;
    r.ledger = tried;
    err first = {0};
    bool ok = format_read(in, &r, &h->a, &h->doc, &first);
    if (!ok && first.code == ERR_MALFORMED) {
        arena_reset(&h->a);
        *tried = (ledger){0};
        r.lenient = true;
        ok = format_read(in, &r, &h->a, &h->doc, e) && repair(h, tried, e);
    } else if (!ok) {
        *e = first;
    }
    if (ok && o->ledger) ledger_merge(o->ledger, tried);
    free(tried);
    return ok;
}

/* ---- from memory ---- */

static bool read_into(kiln_profiles *h, str in, const char *name, const kiln_read_options *o,
                      err *e)
{
    read_opts r = {
        .name = str_of(name), .max_bytes = o->max_input, .ledger = api_ledger(o->ledger)};
    if (!api_format(o->format, &r.from, e) || !api_layout(o->layout, &r.layout, e)) return false;
    if (!rest_of_budget(h, e)) return false;
    bool ok = o->lenient ? read_leniently(h, in, &r, e) : format_read(in, &r, &h->a, &h->doc, e);
    h->m = h->doc.model;
    return ok;
}

/* Copies the input, because the model refers to it.  A compressed input is not copied: the model
 * refers to the decompressed bytes. */
static bool own_input(kiln_profiles *h, str *in, err *e)
{
    if (codec_detect(*in) != CODEC_NONE) return true;
    char *p = arena_alloc(&h->in, in->n);
    if (!p) return budget_spent(h, e);
    if (in->n) memcpy(p, in->p, in->n);
    in->p = p;
    return true;
}

static kiln_profiles *finish(kiln_profiles *h, bool ok, const err *from, kiln_error *e)
{
    if (api_result(ok, from, e)) return h;
    kiln_profiles_free(h);
    return NULL;
}

kiln_profiles *kiln_read(const void *bytes, size_t n, const kiln_read_options *from,
                         kiln_error *out)
{
    err e = {0};
    kiln_read_options o;
    kiln_profiles *h = NULL;
    str in = {bytes, n};
    bool ok = (bytes || !n || api_null("bytes", &e)) &&
              API_TAKE(&o, from, "kiln_read_options", &e) &&
              API_UNUSED(&o, "kiln_read_options", &e) &&
              (h = api_profiles_new(o.max_memory, o.seed, &e)) &&
              (o.borrow || own_input(h, &in, &e)) && read_into(h, in, NULL, &o, &e);
    return finish(h, ok, &e, out);
}

/* ---- from a file ----
 *
 * Files are read, not mapped: accessing a mapped file that another process truncates raises SIGBUS.
 * */

static bool slurp(kiln_profiles *h, source *s, size_t max, str *out, err *e)
{
    char *p = NULL;
    size_t n = 0, cap = 0, got;
    do {
        if (n == cap) {
            size_t more = cap ? cap * 2 : CHUNK, left = h->in.budget - h->in.used;
            if (more - cap > left) more = cap + left;
            char *q = more > cap ? arena_grow(&h->in, p, cap, more) : NULL;
            if (!q) return budget_spent(h, e);
            p = q;
            cap = more;
        }
        if (!source_read(s, p + n, cap - n, &got, e)) return false;
        n += got;
        if (max && n > max)
            return err_set(e, ERR_LIMIT, "the file is larger than the limit of %zu bytes", max);
    } while (got);
    arena_trim(&h->in, p, cap, n);
    *out = (str){p, n};
    return true;
}

/* Makes "-" the name of a file; it does not mean standard input here. */
static const char *file_name(const char *path) { return strcmp(path, "-") == 0 ? "./-" : path; }

static bool load(kiln_profiles *h, const char *path, size_t max, str *out, err *e)
{
    source *s = file_open(file_name(path), e);
    if (!s) return false;
    bool ok = slurp(h, s, max, out, e);
    source_close(s);
    return ok;
}

kiln_profiles *kiln_read_file(const char *path, const kiln_read_options *from, kiln_error *out)
{
    err e = {0};
    kiln_read_options o;
    kiln_profiles *h = NULL;
    str in = {0};
    bool ok = (path || api_null("path", &e)) && API_TAKE(&o, from, "kiln_read_options", &e) &&
              API_UNUSED(&o, "kiln_read_options", &e) &&
              (h = api_profiles_new(o.max_memory, o.seed, &e)) &&
              load(h, path, o.max_input, &in, &e) && read_into(h, in, path, &o, &e);
    return finish(h, ok, &e, out);
}

/* ---- origin ---- */

bool kiln_origin_of(const kiln_profiles *p, kiln_origin *out)
{
    if (!p) return false;
    const document *d = &p->doc;
    kiln_origin v = {
        .format = "", .layout = "", .confidence = "", .evidence = "", .compression = ""};
    v.n_payloads = d->parts.n;
    v.n_bytes = d->bytes.n;
    v.n_unknown = p->m.n_unknown;
    if (d->format) v.format = d->format->name;
    if (d->n_layers) v.compression = codec_name(d->layers[0]);
    const layout_verdict *l = d->parts.n ? &d->parts.v[0].verdict : NULL;
    if (l && l->layout != LAYOUT_UNKNOWN) {
        v.layout = layout_name(l->layout);
        v.confidence = layout_confidence_name(l->confidence);
        v.evidence = l->evidence;
    }
    return API_GIVE(out, &v);
}
