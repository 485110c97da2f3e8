/* What `kiln serve` keeps, asked over HTTP: GET /api/v1/export. */
#include "cli/kept.h"

#include "draw/human.h"
#include "net/client.h"
#include "otlp/config.h"
#include "sys/file.h"
#include "wire/json.h"
#include "base/ban.h"

#define STALL_NS (60 * NS_PER_S) /* without a byte; a question may take the server 20 s */
#define LOOK_NS (200 * NS_PER_MS)
enum { TOKEN_FILE_MAX = 64 << 10 };

typedef struct asking {
    cli *c;
    const kept_place *k;
    arena *a;
    buf *out;
    char *type; /* KEPT_TYPE */
    url to;
    loop *loop;
    tls_context *tls;
    http_client *client;
    bool over;
    unsigned status; /* of the answer; 0: none came */
    str token;
    err e; /* why none came, or could not be asked for */
    char words[256];
} asking;

/* ---- the request ---- */

static const char *get_variable(void *who, const char *name)
{
    (void)who;
    return getenv(name);
}

/* The first token of a file, as `kiln serve --read-tokens` has them. */
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
    if (!copy) return err_set(&x->e, ERR_LIMIT, "out of memory");
    return x->token.n || err_set(&x->e, ERR_USAGE, "%s: no token in it", path);
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
                   "everybody on the way could read the token: use https://, or send none");
}

static bool set_flag(params *p, const char *key, bool on, arena *a)
{
    return !on || params_set(p, key, STR("1"), a);
}

/* Path and parameters of the question. */
static bool target_of(asking *x, buf *out)
{
    const kept_place *k = x->k;
    params p = k->words;
    str base = x->to.path;
    while (base.n && base.p[base.n - 1] == '/') base.n--;
    bool ok = params_set(&p, "format", STR("otlp"), x->a) &&
              set_flag(&p, "sums", k->need != KEPT_ALL, x->a) &&
              set_flag(&p, "gzip", !url_is_local(&x->to), x->a) &&
              (k->need != KEPT_SUMS || params_set(&p, "attributes", STR("0"), x->a));
    buf_str(out, base);
    buf_z(out, "/api/v1/export");
    params_write(&p, out);
    return (ok && !out->failed) || err_set(&x->e, ERR_LIMIT, "out of memory");
}

/* ---- the answer ---- */

/* {"error":"..."}, or the first line of whatever it is. */
static void take_words(asking *x, str body)
{
    err ignored = {0};
    json j = json_open(body.p, body.n, x->a, &ignored);
    str words = {0};
    size_t n = 0;
    if (body.n && body.p[0] == '{' && json_next(&j) == JSON_OBJECT)
        while (!words.n && json_next(&j) == JSON_KEY) {
            bool said = str_eq(j.text, STR("error")) || str_eq(j.text, STR("message"));
            if (said && json_next(&j) == JSON_STRING)
                words = j.text;
            else if (said || !json_skip_value(&j))
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

static void on_done(void *who, const http_message *m, const err *e)
{
    asking *x = who;
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
        if (type.n < KEPT_TYPE) snprintf(x->type, KEPT_TYPE, "%.*s", STR_ARG(type));
        buf_str(x->out, buf_view(&m->body));
    }
}

/* ---- what to do about it ---- */

static void advise_misfit(const asking *x)
{
    const char *at = http_client_authority(x->client);
    switch (http_client_misfit(x->client)) {
    case HTTP_PEER_TLS: cli_note(x->c, "  use https://%s", at); break;
    case HTTP_PEER_PLAINTEXT:
    case HTTP_PEER_MUTE: cli_note(x->c, "  if it speaks plaintext: use http://%s", at); break;
    case HTTP_PEER_UNTRUSTED:
        cli_note(x->c, "  OTEL_EXPORTER_OTLP_CERTIFICATE=FILE names a CA to trust");
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
    if (x->client && http_client_misfit(x->client) != HTTP_FITS)
        advise_misfit(x);
    else if (network && x->client)
        cli_note(x->c, "  is `kiln serve` running there?");
    if (x->e.code == ERR_LIMIT && x->client)
        cli_note(x->c, "  --max-bytes=SIZE takes more; --start, --end and --select choose less");
}

static void tell_refused(const asking *x)
{
    bool usage = x->status == 400;
    cli_fail(x->c, usage ? EXIT_USAGE : EXIT_ENVIRONMENT, "%s: HTTP %u%s%s", x->k->arg, x->status,
             x->words[0] ? ": " : "", x->words);
    if (x->status == 401 || x->status == 403)
        cli_note(x->c, x->token.n ? "  the token of KILN_TOKEN or --token-file does not open it"
                                  : "  it wants a token: KILN_TOKEN=... or --token-file FILE");
    else if (x->status == 404 || x->status == 405)
        cli_note(x->c, "  is that `kiln serve`?");
    else if (x->status == 429 || x->status == 503)
        cli_note(x->c, "  later, or less of it: --start, --end and --select");
}

/* ---- all of it ---- */

static bool open_client(asking *x, size_t max_bytes)
{
    otlp_environment env = {.get = get_variable};
    tls_files files = otlp_config_tls(&env, x->a);
    if (!url_parse(str_of(x->k->where), &x->to, &x->e) || !take_token(x)) return false;
    x->loop = loop_open(world_system(), NULL, NULL, &x->e);
    if (x->loop && x->to.tls) x->tls = tls_context_open(false, &files, "http/1.1", &x->e);
    if (!x->loop || (x->to.tls && !x->tls)) return false;
    http_client_opts o = {
        .to = x->to, .tls = x->tls, .max_body = max_bytes, .done = on_done, .who = x};
    x->client = http_client_open(x->loop, &o, &x->e);
    return x->client != NULL;
}

/* Until the answer is there, or nothing has come for too long. */
static void wait_for(asking *x)
{
    char n[HUMAN_MAX];
    uint64_t heard = 0, at = loop_now(x->loop);
    cli_status(x->c, "asking %s ...", x->k->where);
    while (!x->over) {
        loop_once(x->loop, LOOK_NS);
        uint64_t now = loop_now(x->loop), got = http_client_heard(x->client);
        if (got != heard) {
            heard = got, at = now;
            cli_status(x->c, "asking %s ... %s", x->k->where, human_bytes(got, n));
        } else if (!x->over && now - at > STALL_NS) {
            err_set(&x->e, ERR_SYS, "nothing came for %u s", (unsigned)(STALL_NS / NS_PER_S));
            break;
        }
    }
    cli_status(x->c, "%s", "");
}

static void ask(asking *x, size_t max_bytes)
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

bool kept_read_server(cli *c, const kept_place *k, arena *a, size_t max_bytes, buf *out,
                      char type[KEPT_TYPE])
{
    asking x = {.c = c, .k = k, .a = a, .out = out, .type = type};
    ask(&x, max_bytes);
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
