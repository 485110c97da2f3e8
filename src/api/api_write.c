/* Writes, converts and merges profiles. */
#include "api/internal.h"

#include "model/merge.h"
#include "sys/file.h"
#include "base/ban.h"

/* ---- bytes ---- */

/* The encoder writes backwards, so its bytes may start after the start of the memory. */
static kiln_bytes bytes_of(buf *b)
{
    kiln_bytes out = {b->p ? b->p : "", b->n, b->p ? b->p - b->head : NULL};
    *b = (buf){0};
    return out;
}

void kiln_free_bytes(kiln_bytes *b)
{
    if (!b) return;
    free(b->memory);
    *b = (kiln_bytes){0};
}

/* ---- options ---- */

typedef struct plan {
    kiln_write_options o;
    const format *to;
    codec pack;
    size_t budget;
} plan;

static bool choose_codec(const char *name, codec *out, err *e)
{
    static const codec all[] = {CODEC_GZIP, CODEC_ZSTD};
    *out = CODEC_NONE;
    if (!name || strcmp(name, "none") == 0) return true;
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (strcmp(name, codec_name(all[i])) == 0) return *out = all[i], true;
    return err_set(e, ERR_USAGE, "unknown compression %.60s", name);
}

/* Returns whether the name is that of a picture: a file named x.svg must not contain OTLP. */
static bool is_picture(str path)
{
    static const char *const suffixes[] = {".svg", ".html", ".htm", ".png", ".pdf"};
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++)
        if (str_ends(path, str_of(suffixes[i]))) return true;
    return false;
}

/* Chooses format and compression. `path` determines what the options leave open; it may be NULL. */
static bool make_plan(plan *p, const kiln_write_options *from, const char *path, err *e)
{
    if (!API_TAKE(&p->o, from, "kiln_write_options", e) ||
        !API_UNUSED(&p->o, "kiln_write_options", e))
        return false;
    p->budget = api_budget(p->o.max_memory);
    if (!api_format(p->o.format, &p->to, e) || !choose_codec(p->o.compression, &p->pack, e))
        return false;
    if (path && !p->to) p->to = format_for_path(str_of(path));
    if (path && !p->to && is_picture(str_of(path)))
        return err_set(e, ERR_UNSUPPORTED,
                       "%s: the library does not draw pictures; set kiln_write_options.format",
                       path);
    if (path && !p->o.compression) p->pack = codec_of_suffix(str_of(path));
    if (!p->to) p->to = &format_otlp;
    return p->to->write || err_set(e, ERR_UNSUPPORTED, "%s cannot be written", p->to->name);
}

/* ---- writing ---- */

static bool too_long(const plan *p, err *e)
{
    return err_set(e, ERR_MEMORY, "the result exceeds the memory budget of %zu bytes", p->budget);
}

static bool encode_as_is(const plan *p, const model *m, buf *out, err *e)
{
    write_opts w = {.string_refs = p->o.string_refs, .ledger = api_ledger(p->o.ledger)};
    return p->to->write(p->to, m, &w, out, e) && (!out->failed || too_long(p, e));
}

static bool encode(const plan *p, const model *m, buf *out, err *e)
{
    if (!p->o.canonical) return encode_as_is(p, m, out, e);
    arena a = {.budget = p->budget, .seed = m->seed};
    model ordered;
    merge_opts o = {.canonical = true, .ledger = api_ledger(p->o.ledger)};
    bool ok = model_merge(&m, 1, &o, &a, &ordered, e) && encode_as_is(p, &ordered, out, e);
    arena_free(&a);
    return ok;
}

static bool pack_plain(const plan *p, str plain, buf *out, err *e)
{
    return pack(p->pack, plain, out, e) && (!out->failed || too_long(p, e));
}

static bool produce(const plan *p, const model *m, buf *out, err *e)
{
    buf plain = {.limit = p->budget};
    *out = (buf){.limit = p->budget};
    bool ok = encode(p, m, &plain, e);
    if (ok && p->pack == CODEC_NONE) {
        *out = plain;
        return true;
    }
    ok = ok && pack_plain(p, buf_view(&plain), out, e);
    buf_free(&plain);
    if (!ok) buf_free(out);
    return ok;
}

bool kiln_write(const kiln_profiles *h, const kiln_write_options *o, kiln_bytes *out,
                kiln_error *ke)
{
    err e = {0};
    plan p;
    buf b;
    if (out) *out = (kiln_bytes){0};
    bool ok = (h || api_null("profiles", &e)) && (out || api_null("out", &e)) &&
              make_plan(&p, o, NULL, &e) && produce(&p, &h->m, &b, &e);
    if (ok) *out = bytes_of(&b);
    return api_result(ok, &e, ke);
}

/* Writes a file. "-" is the name of a file here, not standard output. */
static bool put_file(const char *path, buf *b, err *e)
{
    bool ok = file_write(strcmp(path, "-") == 0 ? "./-" : path, buf_view(b), e);
    buf_free(b);
    return ok;
}

bool kiln_write_file(const kiln_profiles *h, const char *path, const kiln_write_options *o,
                     kiln_error *ke)
{
    err e = {0};
    plan p;
    buf b;
    bool ok = (h || api_null("profiles", &e)) && (path || api_null("path", &e)) &&
              make_plan(&p, o, path, &e) && produce(&p, &h->m, &b, &e) && put_file(path, &b, &e);
    return api_result(ok, &e, ke);
}

/* ---- converting ---- */

static bool convert(const kiln_profiles *h, const plan *p, bool repaired, buf *out, err *e)
{
    bool rewrite = repaired || p->o.canonical || p->o.string_refs;
    if (rewrite || !document_is(&h->doc, p->to)) return produce(p, &h->m, out, e);
    *out = (buf){.limit = p->budget};
    if (pack_plain(p, h->doc.parts.v[0].payload.bytes, out, e)) return true;
    buf_free(out);
    return false;
}

bool kiln_convert(const void *bytes, size_t n, const kiln_read_options *from,
                  const kiln_write_options *to, kiln_bytes *out, kiln_error *ke)
{
    err e = {0};
    plan p;
    buf b;
    kiln_read_options r;
    if (out) *out = (kiln_bytes){0};
    if (!out) return api_result(api_null("out", &e), &e, ke);
    if (!API_TAKE(&r, from, "kiln_read_options", &e) || !make_plan(&p, to, NULL, &e))
        return api_result(false, &e, ke);
    r.size = sizeof r;
    r.borrow = true; /* nothing outlives this call */
    kiln_profiles *h = kiln_read(bytes, n, &r, ke);
    if (!h) return false;
    bool ok = convert(h, &p, r.lenient, &b, &e);
    if (ok) *out = bytes_of(&b);
    kiln_profiles_free(h);
    return api_result(ok, &e, ke);
}

/* ---- merging ---- */

static bool merge(const kiln_profiles *const *in, size_t n, const kiln_merge_options *o,
                  kiln_profiles *h, err *e)
{
    const model **models = arena_new(&h->in, const model *, n);
    if (!models)
        return err_set(e, ERR_MEMORY, "the memory budget of %zu bytes is spent", h->in.budget);
    for (size_t i = 0; i < n; i++) {
        if (!in[i]) return err_set(e, ERR_USAGE, "profiles[%zu] of %zu is NULL", i, n);
        models[i] = &in[i]->m;
    }
    merge_opts m = {.join = o->join,
                    .canonical = o->canonical,
                    .copy_strings = true,
                    .ledger = api_ledger(o->ledger)};
    bool ok = model_merge(models, n, &m, &h->a, &h->m, e);
    arena_free(&h->in);
    return ok;
}

kiln_profiles *kiln_merge(const kiln_profiles *const *in, size_t n, const kiln_merge_options *from,
                          kiln_error *ke)
{
    err e = {0};
    kiln_merge_options o;
    kiln_profiles *h = NULL;
    bool ok = (in || !n || api_null("profiles", &e)) &&
              API_TAKE(&o, from, "kiln_merge_options", &e) &&
              API_UNUSED(&o, "kiln_merge_options", &e) &&
              (h = api_profiles_new(o.max_memory, n && in[0] ? in[0]->m.seed : 0, &e)) &&
              merge(in, n, &o, h, &e);
    if (api_result(ok, &e, ke)) return h;
    kiln_profiles_free(h);
    return NULL;
}
