/* Sends the embedded files with caching and security headers. */
#include "server/page.h"

#include "server/page_asset.h"
#include "wire/compress.h"
#include "base/ban.h"

enum { MAX_PLAIN = 8 << 20 };

/* Allows scripts, styles and queries from this server only, and no framing by other pages. */
#define POLICY                                                                                     \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

static const char missing[] =
    "This kiln was built without the live viewer: node and npm were not available "
    "(apt-get install nodejs npm, then build again).\n"
    "The query API is available: /api/v1/status, docs/query-api.md.\n";

static str without_query(str path)
{
    const char *q = path.n ? memchr(path.p, '?', path.n) : NULL;
    return q ? (str){path.p, (size_t)(q - path.p)} : path;
}

static const page_asset *asset_at(str path)
{
    for (size_t i = 0; i < n_page_assets; i++)
        if (str_eq(page_assets[i].path, path)) return &page_assets[i];
    return NULL;
}

bool page_has(str path)
{
    str at = without_query(path);
    return str_eq(at, STR("/")) || asset_at(at);
}

static bool contains(str s, str what) { return s.n && memmem(s.p, s.n, what.p, what.n) != NULL; }

static void send_text(http_exchange *x, unsigned status, const char *text)
{
    buf b = {0};
    http_header head[] = {{STR("content-type"), STR("text/plain; charset=utf-8")},
                          {STR("x-content-type-options"), STR("nosniff")},
                          {STR("cache-control"), STR("no-store")},
                          {STR("allow"), STR("GET, HEAD")}};
    buf_z(&b, text);
    size_t n_head = ARRAY_LEN(head) - (status != 405);
    http_respond(x, &(http_response){.status = status, .head = head, .n_head = n_head, .body = &b});
}

/* Decompresses a file for clients that do not accept gzip, such as curl. */
static bool unpacked_into(buf *to, str gzip)
{
    err e = {0};
    arena a = {0};
    str plain;
    bool ok = unpack_layer(CODEC_GZIP, gzip, MAX_PLAIN, &a, &plain, &e);
    if (ok) buf_put(to, plain.p, plain.n);
    arena_free(&a);
    return ok;
}

static void send_asset(http_exchange *x, const page_asset *f)
{
    const http_message *m = http_exchange_message(x);
    bool known = contains(http_headers_get(&m->head, "if-none-match"), f->etag);
    bool packed = http_takes_gzip(&m->head);
    bool lasting = !str_eq(f->path, STR("/"));
    http_header head[] = {
        {STR("etag"), f->etag},
        {STR("cache-control"),
         lasting ? STR("public, max-age=31536000, immutable") : STR("no-cache")},
        {STR("vary"), STR("accept-encoding")},
        {STR("x-content-type-options"), STR("nosniff")},
        {STR("referrer-policy"), STR("no-referrer")},
        {STR("content-security-policy"), STR(POLICY)},
        {STR("content-type"), f->type},
        {STR("content-encoding"), STR("gzip")},
    };
    buf body = {0};
    size_t n_head = ARRAY_LEN(head) - (packed ? 0 : 1);
    if (known) {
        http_respond(x, &(http_response){.status = 304, .head = head, .n_head = n_head - 1});
        return;
    }
    if (packed) buf_put(&body, f->gzip.p, f->gzip.n);
    if (packed || unpacked_into(&body, f->gzip))
        http_respond(
            x, &(http_response){.status = 200, .head = head, .n_head = n_head, .body = &body});
    else
        send_text(x, 503, "out of memory\n");
}

void page_request(http_exchange *x)
{
    const http_message *m = http_exchange_message(x);
    const page_asset *f = asset_at(without_query(m->path));
    if (!str_eq(m->method, STR("GET")) && !str_eq(m->method, STR("HEAD")))
        send_text(x, 405, "the page supports GET and HEAD only\n");
    else if (f)
        send_asset(x, f);
    else
        send_text(x, 501, missing);
}
