/* Reads profiles from `kiln serve` over HTTP (GET /api/v1/export), and explains failures of the
 * connection. */
#include "cli/stored.h"

#include "draw/human.h"
#include "net/client.h"
#include "otlp/config.h"
#include "sys/file.h"
#include "wire/json.h"
#include "base/ban.h"

#define STALL_NS (60 * NS_PER_S) /* time limit without a byte; a query may take the server 20 s */
#define LOOK_NS (200 * NS_PER_MS)
enum { TOKEN_FILE_MAX = 64 << 10 };

typedef struct asking {
    cli *c;
    const stored_source *k;
    arena *a;
    buf *out;
    char *type; /* STORED_TYPE bytes */
    url to;
    loop *loop;
    tls_context *tls;
    http_client *client;
    bool over;
    unsigned status; /* of the response; 0: none */
    str token;
    err e; /* reason why there is no response */
    char words[256];
} asking;

/* ---- the request ---- */

static const char *get_variable(void *ctx, const char *name)
{
    (void)ctx;
    return getenv(name);
}

/* Reads the first token of a file in the format of `kiln serve --read-tokens`. */
static bool read_token(asking *x, const char *path)
{
    file_bytes f;
    if (!file_read(path, TOKEN_FILE_MAX, &f, &x->e)) return err_in(&x->e, "%s", path);
    str rest = f.bytes;
    while (rest.n && !x->token.n) {
        const char *end = memchr(rest.p, '\n', rest.n);
        size_t n = end ? (size_t)(end - rest.p) : rest.n, k = 0;
        while (k < n && rest.p[k] > ' ') k++;
        if (k && rest.p[0] != '#') x->token = (str){rest.p, k};
        n += end != NULL;
        rest = (str){rest.p + n, rest.n - n};
    }
    char *copy = arena_alloc(x->a, x->token.n + 1);
    if (copy && x->token.n) memcpy(copy, x->token.p, x->token.n);
    x->token.p = copy;
    file_release(&f);
    if (!copy) return err_memory(&x->e);
    return x->token.n || err_set(&x->e, ERR_USAGE, "%s: the file has no token", path);
}

static bool take_token(asking *x)
{
    const char *given = getenv("KILN_TOKEN");
    if (x->c->o.token_file) {
        if (!read_token(x, x->c->o.token_file)) return false;
    } else if (given) {
        x->token = str_of(given);
    }
    if (!x->token.n || x->to.tls || url_is_local(&x->to)) return true;
    return err_set(&x->e, ERR_USAGE,
                   "without TLS others could read the token; use https://, or no token");
}

static bool set_flag(params *p, const char *key, bool on, arena *a)
{
    return !on || params_set(p, key, STR("1"), a);
}

/* Builds path and parameters of the request. */
static bool target_of(asking *x, buf *out)
{
    const stored_source *k = x->k;
    params p = k->words;
    str base = x->to.path;
    while (base.n && base.p[base.n - 1] == '/') base.n--;
    bool ok = params_set(&p, "format", STR("otlp"), x->a) &&
              set_flag(&p, "sums", k->need != STORED_ALL, x->a) &&
              set_flag(&p, "gzip", !url_is_local(&x->to), x->a) &&
              (k->need != STORED_SUMS || params_set(&p, "attributes", STR("0"), x->a));
    buf_str(out, base);
    buf_z(out, "/api/v1/export");
    params_write(&p, out);
    return (ok && !out->failed) || err_memory(&x->e);
}

/* ---- the response ---- */

/* Stores the text of {"error":"..."}, or the first line of any other body. */
static void take_words(asking *x, str body)
{
    err ignored = {0};
    json j = json_open(body.p, body.n, x->a, &ignored);
    str words = {0};
    size_t n = 0;
    if (body.n && body.p[0] == '{' && json_next(&j) == JSON_OBJECT)
        while (!words.n && json_next(&j) == JSON_KEY) {
            bool found = str_eq(j.text, STR("error")) || str_eq(j.text, STR("message"));
            if (found && json_next(&j) == JSON_STRING)
                words = j.text;
            else if (found || !json_skip_value(&j))
                break;
        }
    if (!words.n) words = body;
    while (n < words.n && n + 1 < sizeof x->words && words.p[n] != '\n') n++;
    for (size_t i = 0; i < n; i++) {
        unsigned char b = (unsigned char)words.p[i];
        x->words[i] = b < ' ' || b == 127 ? ' ' : (char)b;
    }
    x->words[n] = '\0';
}

static void on_done(void *ctx, const http_message *m, const err *e)
{
    asking *x = ctx;
    x->over = true;
    if (!m) {
        x->e = *e;
        return;
    }
    x->status = m->status;
    if (m->status != 200)
        take_words(x, buf_view(&m->body));
    else {
        str type = http_headers_get(&m->head, "kiln-main-type");
        if (type.n < STORED_TYPE) snprintf(x->type, STORED_TYPE, "%.*s", STR_ARG(type));
        buf_str(x->out, buf_view(&m->body));
    }
}

/* ---- advice ---- */

static void advise_misfit(const asking *x)
{
    const char *at = http_client_authority(x->client);
    switch (http_client_mismatch(x->client)) {
    case HTTP_PEER_TLS: cli_note(x->c, "  use https://%s", at); break;
    case HTTP_PEER_PLAINTEXT:
    case HTTP_PEER_SILENT:
        cli_note(x->c, "  if the server uses plaintext, use http://%s", at);
        break;
    case HTTP_PEER_UNTRUSTED:
        cli_note(x->c, "  OTEL_EXPORTER_OTLP_CERTIFICATE=FILE sets the CA to trust");
        break;
    default: break;
    }
}

static void tell_unreachable(const asking *x)
{
    char text[400];
    bool network = x->e.code == ERR_SYS || x->e.code == ERR_UNSUPPORTED;
    bool usage = x->e.code == ERR_USAGE;
    cli_fail(x->c,
             network ? EXIT_ENVIRONMENT
             : usage ? EXIT_USAGE
                     : EXIT_BAD_INPUT,
             "%s: %s", x->k->arg, err_text(&x->e, text, sizeof text));
    if (x->client && http_client_mismatch(x->client) != HTTP_MATCH)
        advise_misfit(x);
    else if (network && x->client)
        cli_note(x->c, "  is `kiln serve` running there?");
    if (err_exhausted(&x->e) && x->client)
        cli_note(x->c,
                 "  --max-bytes=SIZE raises the limit; --start, --end and --select select less");
}

static void tell_refused(const asking *x)
{
    bool usage = x->status == 400;
    cli_fail(x->c, usage ? EXIT_USAGE : EXIT_ENVIRONMENT, "%s: HTTP %u%s%s", x->k->arg, x->status,
             x->words[0] ? ": " : "", x->words);
    if (x->status == 401 || x->status == 403)
        cli_note(x->c, x->token.n
                           ? "  the server rejects the token of KILN_TOKEN or --token-file"
                           : "  the server requires a token: KILN_TOKEN=... or --token-file FILE");
    else if (x->status == 404 || x->status == 405)
        cli_note(x->c, "  is that `kiln serve`?");
    else if (x->status == 429 || x->status == 503)
        cli_note(x->c, "  try later, or select less: --start, --end and --select");
}

/* ---- reading ---- */

static bool open_client(asking *x, size_t max_bytes)
{
    otlp_environment env = {.get = get_variable};
    tls_files files = otlp_config_tls(&env, x->a);
    if (!url_parse(str_of(x->k->where), &x->to, &x->e) || !take_token(x)) return false;
    x->loop = loop_open(world_system(), NULL, NULL, &x->e);
    if (x->loop && x->to.tls) x->tls = tls_context_open(false, &files, "http/1.1", &x->e);
    if (!x->loop || (x->to.tls && !x->tls)) return false;
    http_client_opts o = {
        .to = x->to, .tls = x->tls, .max_body = max_bytes, .done = on_done, .ctx = x};
    x->client = http_client_open(x->loop, &o, &x->e);
    return x->client != NULL;
}

/* Waits for the response, or until no byte arrives for STALL_NS. */
static void wait_for(asking *x)
{
    char n[HUMAN_MAX];
    uint64_t heard = 0, at = loop_now(x->loop);
    cli_status(x->c, "querying %s ...", x->k->where);
    while (!x->over) {
        loop_once(x->loop, LOOK_NS);
        uint64_t now = loop_now(x->loop), got = http_client_received(x->client);
        if (got != heard) {
            heard = got, at = now;
            cli_status(x->c, "querying %s ... %s", x->k->where, human_bytes(got, n));
        } else if (!x->over && now - at > STALL_NS) {
            err_set(&x->e, ERR_SYS, "no data for %u s", (unsigned)(STALL_NS / NS_PER_S));
            break;
        }
    }
    cli_status(x->c, "%s", "");
}

static void make_query(asking *x, size_t max_bytes)
{
    buf target = {0}, bearer = {0};
    if (!open_client(x, max_bytes) || !target_of(x, &target)) {
        buf_free(&target);
        return;
    }
    http_header head[3] = {{STR("user-agent"), STR("kiln/" KILN_VERSION)},
                           {STR("accept"), STR("*/*")}};
    size_t n = 2;
    buf_z(&bearer, "Bearer ");
    buf_str(&bearer, x->token);
    if (x->token.n) head[n++] = (http_header){STR("authorization"), buf_view(&bearer)};
    http_client_send(
        x->client, &(http_request){
                       .method = STR("GET"), .path = buf_view(&target), .head = head, .n_head = n});
    wait_for(x);
    buf_free(&target);
    buf_free(&bearer);
}

bool stored_read_server(cli *c, const stored_source *k, arena *a, size_t max_bytes, buf *out,
                        char type[STORED_TYPE])
{
    asking x = {.c = c, .k = k, .a = a, .out = out, .type = type};
    make_query(&x, max_bytes);
    if (!x.status)
        tell_unreachable(&x);
    else if (x.status != 200)
        tell_refused(&x);
    else if (out->failed)
        cli_fail(c, EXIT_ENVIRONMENT, "%s: out of memory", k->arg);
    http_client_close(x.client);
    if (x.tls) tls_context_close(x.tls);
    if (x.loop) loop_close(x.loop);
    return x.status == 200 && !out->failed;
}
