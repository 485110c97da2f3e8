/* Reads and writes Kiln's HTML report. The reader needs no HTML parser: it searches for the element
 * that holds the profile. */
#include "format/html.h"

#include "draw/report.h"
#include "draw/viewer.h"
#include "format/html_order.h"
#include "wire/base64.h"
#include "wire/otlp.h"
#include "base/ban.h"
#include <stdlib.h>

enum { MARK_WITHIN = 256 }; /* bytes within which the mark must begin */

/* Returns the first position of `what` in `in` from `at` on; in.n: none. */
static size_t find(str in, size_t at, const char *what)
{
    const char *p = at < in.n ? memmem(in.p + at, in.n - at, what, strlen(what)) : NULL;
    return p ? (size_t)(p - in.p) : in.n;
}

static unsigned detect(str bytes)
{
    str head = {bytes.p, bytes.n < MARK_WITHIN ? bytes.n : MARK_WITHIN};
    return find(head, 0, REPORT_MARK) < head.n ? 100 : 0;
}

/* ---- reading ---- */

/* Finds the text of the element with this role. Returns false when it is missing or has no end. */
static bool find_data(str in, const char *role, size_t *at, str *out)
{
    for (size_t i = find(in, 0, REPORT_DATA); i < in.n; i = find(in, i + 1, REPORT_DATA)) {
        size_t from = i + strlen(REPORT_DATA), n = strlen(role);
        if (in.n - from <= n || memcmp(in.p + from, role, n) || in.p[from + n] != '"') continue;
        size_t text = find(in, from, ">") + 1, end = find(in, text, REPORT_END);
        if (end >= in.n) return false;
        *at = text;
        *out = (str){in.p + text, end - text};
        return true;
    }
    return false;
}

static bool unwrap(str text, size_t at, const read_opts *o, arena *a, str *out, err *e)
{
    size_t n;
    uint8_t *packed = arena_alloc(a, base64_max(text.n));
    if (!packed) return arena_spent(a, e);
    if (!base64_decode(text, packed, &n))
        return err_at(e, ERR_MALFORMED, at + n, "the embedded profile is not base64");
    unpacked u;
    if (!unpack((str){(const char *)packed, n}, o->max_bytes, a, &u, e)) {
        if (e) e->offset = at; /* offsets in the decoded bytes are not offsets in the input */
        return err_in(e, "embedded profile");
    }
    *out = u.bytes;
    return true;
}

static bool read(const format *f, str bytes, const read_opts *o, arena *a, model *out,
                 layout_verdict *verdict, err *e)
{
    (void)verdict; /* the verdict would describe the bytes of the input, which are not OTLP */
    bool base = f == &format_html_base;
    size_t at = 0;
    str text, inner = {0}, other;
    if (!find_data(bytes, base ? "base" : "profile", &at, &text))
        return err_set(e, ERR_MALFORMED, "the report contains no %s, or is truncated",
                       base ? "profile to compare with" : "profile");
    if (!unwrap(text, at, o, a, &inner, e)) return false;
    otlp_decode_opts d = {.lenient = o->lenient, .ledger = o->ledger};
    if (!otlp_decode(inner.p, inner.n, &d, a, out, e)) {
        if (e) e->offset = at;
        return err_in(e, "embedded profile");
    }
    if (!base && o->ledger && find_data(bytes, "base", &at, &other))
        ledger_add(o->ledger, STAGE_READ, LOSS_BASE_PROFILE, NULL, "base",
                   STR("the format html-base reads it"));
    return true;
}

/* ---- writing ---- */

/* Encodes the model as OTLP, compresses it with gzip and appends it to `base64`. */
static bool wrap(const model *m, buf *base64, err *e)
{
    buf otlp = {0}, packed = {0};
    arena a = {.seed = m->seed};
    model sorted = html_sorted(m, &a);
    bool ok = otlp_encode(&sorted, NULL, &otlp, e);
    arena_free(&a);
    ok = ok && pack(CODEC_GZIP, buf_view(&otlp), &packed, e);
    if (ok) base64_encode(base64, buf_view(&packed));
    buf_free(&otlp);
    buf_free(&packed);
    return ok &&
           (!base64->failed || err_set(e, ERR_MEMORY, "out of memory while writing the report"));
}

static bool wrap_source(str json, buf *base64, err *e)
{
    buf packed = {0};
    if (!json.n) return true;
    bool ok = pack(CODEC_GZIP, json, &packed, e);
    if (ok) base64_encode(base64, buf_view(&packed));
    buf_free(&packed);
    return ok && (!base64->failed || err_memory(e));
}

bool html_write(const model *m, const html_opts *o, buf *out, err *e)
{
    if (!viewer_js.n)
        return err_set(e, ERR_SYS,
                       "this kiln was built without its viewer, so it cannot write HTML (building "
                       "the viewer requires nodejs, npm and the packages of ui/package.json)");
    buf data = {0}, base = {0}, texts = {0};
    bool ok = wrap(m, &data, e) && (!o->base || wrap(o->base, &base, e)) &&
              wrap_source(o->source, &texts, e);
    if (ok)
        report_write(&(report){.css = viewer_css,
                               .js = viewer_js,
                               .profile = {o->title, buf_view(&data)},
                               .base = {o->base_title, buf_view(&base)},
                               .source = buf_view(&texts)},
                     out);
    buf_free(&data);
    buf_free(&base);
    buf_free(&texts);
    return ok && (!out->failed || err_set(e, ERR_LIMIT, "the report exceeds its size limit"));
}

static bool write(const format *f, const model *m, const write_opts *o, buf *out, err *e)
{
    (void)f;
    return html_write(m, &(html_opts){.title = o->title}, out, e);
}

const format format_html_base = {
    .name = "html-base",
    .original = ORIGINAL_IS_PROFILE,
    .what = "the second profile of a report that compares two",
    .carries = CARRIES_ALL,
    .read = read,
};

const format format_html = {
    .name = "html",
    .original = ORIGINAL_IS_PROFILE,
    .what = "the report: one offline file with viewer and data, read back without loss",
    .suffixes = ".html .htm",
    .carries = CARRIES_ALL,
    .text = true,
    .detect = detect,
    .read = read,
    .write = write,
};
