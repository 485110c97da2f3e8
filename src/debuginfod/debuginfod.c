/* One request at a time, each on a loop and a connection of its own: a fetch is rare compared with
 * the cost of a connection, and threads then share nothing but the TLS context. */
#include "debuginfod/debuginfod.h"

#include "net/client.h"
#include "base/ban.h"
#include <stdlib.h>

#define POLL_NS (100 * NS_PER_MS) /* how often `stop` is checked */

typedef struct server {
    url to;
    str prefix; /* of paths, without a slash at the end */
} server;

struct debuginfod {
    char *text; /* that the URLs refer to */
    server servers[DEBUGINFOD_SERVERS];
    size_t n;
    tls_context *tls; /* NULL: no server uses https */
};

/* ---- URLs ---- */

static str next_word(str *s)
{
    size_t i = 0, n = 0;
    while (i < s->n && strchr(" \t\n", s->p[i])) i++;
    while (i + n < s->n && !strchr(" \t\n", s->p[i + n])) n++;
    str word = {s->p + i, n};
    *s = (str){s->p + i + n, s->n - i - n};
    return word;
}

static bool take_server(str text, server *out, err *e)
{
    if (!url_parse(text, &out->to, e)) return false;
    if (!out->to.has_scheme)
        return err_set(e, ERR_USAGE, "`%.*s` must begin with http:// or https://",
                       (int)(text.n < 80 ? text.n : 80), text.p);
    out->prefix = out->to.path;
    while (out->prefix.n && out->prefix.p[out->prefix.n - 1] == '/') out->prefix.n--;
    return true;
}

static bool take_servers(str urls, server *out, size_t *n, err *e)
{
    *n = 0;
    for (str word; (word = next_word(&urls)).n; ++*n) {
        if (*n == DEBUGINFOD_SERVERS)
            return err_set(e, ERR_USAGE, "more than %d addresses of debuginfod servers",
                           DEBUGINFOD_SERVERS);
        if (!take_server(word, &out[*n], e)) return false;
    }
    return *n || err_set(e, ERR_USAGE, "no address of a debuginfod server is given");
}

bool debuginfod_check(str urls, err *e)
{
    server servers[DEBUGINFOD_SERVERS];
    size_t n;
    return take_servers(urls, servers, &n, e);
}

/* ---- one request ---- */

typedef struct exchange {
    const debuginfod_request *r;
    buf *out;
    err *e;
    const char *at; /* the server, for messages */
    bool done;
    debuginfod_result result;
} exchange;

static bool is_plain(str encoding) { return !encoding.n || str_eq(encoding, STR("identity")); }

static debuginfod_result take_file(const exchange *x, const http_message *m)
{
    if (!is_plain(http_headers_get(&m->head, "content-encoding"))) {
        err_set(x->e, ERR_UNSUPPORTED, "%s sent a compressed file, which was not requested", x->at);
        return DEBUGINFOD_FAILED;
    }
    buf_str(x->out, buf_view(&m->body));
    if (!x->out->failed) return DEBUGINFOD_FOUND;
    err_memory(x->e);
    return DEBUGINFOD_FAILED;
}

static debuginfod_result take_response(const exchange *x, const http_message *m)
{
    switch (m->status) {
    case 200: return take_file(x, m);
    case 404:
        err_set(x->e, ERR_UNSUPPORTED, "%s does not have the file", x->at);
        return DEBUGINFOD_UNKNOWN;
    case 406: /* larger than x-debuginfod-maxsize */
        err_set(x->e, ERR_LIMIT, "%s: the file is larger than %zu bytes", x->at, x->r->max);
        return DEBUGINFOD_FAILED;
    case 301:
    case 302:
    case 303:
    case 307:
    case 308:
        err_set(x->e, ERR_UNSUPPORTED,
                "%s redirects to another address, which kiln does not follow", x->at);
        return DEBUGINFOD_FAILED;
    default:
        err_set(x->e, ERR_SYS, "%s responded with status %u", x->at, m->status);
        return DEBUGINFOD_FAILED;
    }
}

static void on_done(void *ctx, const http_message *m, const err *e)
{
    exchange *x = ctx;
    x->done = true;
    if (m) {
        x->result = take_response(x, m);
        return;
    }
    x->result = DEBUGINFOD_FAILED;
    *x->e = *e;
}

static void on_wake(void *ctx) { (void)ctx; }

/* Sends the request and runs the loop until it is done. */
static void run(loop *l, http_client *c, const server *s, uint64_t until, exchange *x)
{
    const debuginfod_request *r = x->r;
    char max[24];
    buf path = {0};
    snprintf(max, sizeof max, "%zu", r->max);
    const http_header head[] = {{STR("user-agent"), STR("kiln/" KILN_VERSION)},
                                {STR("accept-encoding"), STR("identity")},
                                {STR("x-debuginfod-maxsize"), str_of(max)}};
    buf_str(&path, s->prefix);
    buf_str(&path, r->path);
    uint64_t now = loop_now(l);
    http_request request = {.method = STR("GET"),
                            .path = buf_view(&path),
                            .head = head,
                            .n_head = ARRAY_LEN(head),
                            .timeout = until > now ? until - now : 1};
    if (path.failed) {
        err_memory(x->e);
        return;
    }
    x->at = http_client_authority(c);
    http_client_send(c, &request);
    while (!x->done && stopper_now(r->stop, x->e)) loop_once(l, POLL_NS);
    if (!x->done)
        x->result = DEBUGINFOD_STOPPED;
    else if (x->result == DEBUGINFOD_FAILED && loop_now(l) >= until)
        x->result = DEBUGINFOD_LATE;
    buf_free(&path);
}

static debuginfod_result fetch_from(const debuginfod *d, const server *s, uint64_t until,
                                    const debuginfod_request *r, buf *out, err *e)
{
    exchange x = {.r = r, .out = out, .e = e, .result = DEBUGINFOD_FAILED};
    http_client_opts o = {.to = s->to,
                          .tls = s->to.tls ? d->tls : NULL,
                          .max_body = r->max,
                          .done = on_done,
                          .ctx = &x};
    loop *l = loop_open(world_system(), on_wake, NULL, e);
    if (!l) return DEBUGINFOD_FAILED;
    http_client *c = http_client_open(l, &o, e);
    if (c) run(l, c, s, until, &x);
    http_client_close(c);
    loop_close(l);
    return x.result;
}

/* A failure takes precedence over "not found": the server that failed may have the file. */
debuginfod_result debuginfod_fetch(const debuginfod *d, const debuginfod_request *r, buf *out,
                                   err *e)
{
    const world *w = world_system();
    const uint64_t end = world_now(w) + r->timeout;
    debuginfod_result result = DEBUGINFOD_UNKNOWN;
    for (size_t i = 0; i < d->n; i++) {
        err why = {0};
        uint64_t now = world_now(w), left = end > now ? end - now : 0;
        debuginfod_result one =
            fetch_from(d, &d->servers[i], now + left / (d->n - i), r, out, &why);
        bool ends = one == DEBUGINFOD_FOUND || one == DEBUGINFOD_STOPPED;
        if (ends || result == DEBUGINFOD_UNKNOWN) result = one, *e = why;
        if (ends) break;
    }
    return result;
}

/* ---- open and close ---- */

static bool open_tls(debuginfod *d, err *e)
{
    static const tls_files system = {0};
    bool needed = false;
    for (size_t i = 0; i < d->n; i++) needed |= d->servers[i].to.tls;
    return !needed || (d->tls = tls_context_open(false, &system, "http/1.1", e));
}

debuginfod *debuginfod_open(str urls, err *e)
{
    debuginfod *d = calloc(1, sizeof *d);
    if (!d || !(d->text = strndup(urls.p, urls.n))) {
        free(d);
        return err_memory(e), NULL;
    }
    if (take_servers(str_of(d->text), d->servers, &d->n, e) && open_tls(d, e)) return d;
    debuginfod_close(d);
    return NULL;
}

void debuginfod_close(debuginfod *d)
{
    if (!d) return;
    tls_context_close(d->tls);
    free(d->text);
    free(d);
}
