/* Reads exporter variables and addresses.  Invalid values are ignored with a warning, as the
 * specification requires; only an invalid endpoint is an error. */
#include "otlp/config.h"

#include "net/http1.h"
#include "base/text.h"
#include "base/ban.h"
#include <strings.h>

#define PREFIX "OTEL_EXPORTER_OTLP_"

typedef struct reading {
    otlp_signal signal;
    const otlp_environment *env;
    arena *a;
} reading;

/* The name and value of a variable; value NULL: not set. */
typedef struct setting {
    const char *value, *name;
    bool own; /* set by a variable of this signal */
} setting;

const char *otlp_signal_name(otlp_signal s) { return s == OTLP_LOGS ? "logs" : "profiles"; }

const char *otlp_signal_path(otlp_signal s)
{
    return s == OTLP_LOGS ? "/v1/logs" : "/v1development/profiles";
}

const char *otlp_signal_method(otlp_signal s)
{
    return s == OTLP_LOGS
               ? "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
               : "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export";
}

const char *otlp_protocol_name(otlp_protocol p)
{
    return p == OTLP_GRPC ? "grpc" : "http/protobuf";
}

static bool is(str text, const char *word)
{
    return text.n == strlen(word) && !strncasecmp(text.p, word, text.n);
}

bool otlp_protocol_parse(str text, otlp_protocol *out)
{
    if (!is(text, "grpc") && !is(text, "http/protobuf")) return false;
    *out = is(text, "grpc") ? OTLP_GRPC : OTLP_HTTP;
    return true;
}

bool otlp_codec_parse(str text, codec *out)
{
    if (!is(text, "none") && !is(text, "gzip") && !is(text, "zstd")) return false;
    *out = is(text, "gzip") ? CODEC_GZIP : is(text, "zstd") ? CODEC_ZSTD : CODEC_NONE;
    return true;
}

/* ---- variables ---- */

static void warn(const reading *r, const setting *s, const char *what)
{
    char text[256];
    if (!r->env->warn) return;
    snprintf(text, sizeof text, "%s is ignored: %s", s->name, what);
    r->env->warn(r->env->ctx, text);
}

static const char *lookup(const reading *r, const char *name)
{
    const char *v = r->env->get(r->env->ctx, name);
    return v && *v ? v : NULL; /* an empty variable counts as unset */
}

static const char *keep(const reading *r, const char *text)
{
    size_t n = strlen(text) + 1;
    char *p = arena_alloc(r->a, n);
    return p ? memcpy(p, text, n) : "";
}

static setting find(const reading *r, const char *what)
{
    char own[64], all[64];
    snprintf(own, sizeof own, PREFIX "%s_%s", r->signal == OTLP_LOGS ? "LOGS" : "PROFILES", what);
    snprintf(all, sizeof all, PREFIX "%s", what);
    const char *v = lookup(r, own);
    if (v) return (setting){keep(r, v), keep(r, own), true};
    v = lookup(r, all);
    return (setting){v ? keep(r, v) : NULL, keep(r, all), false};
}

/* "NAME=" */
static const char *as_setter(const reading *r, const char *name)
{
    size_t n = strlen(name) + 2;
    char *p = arena_alloc(r->a, n);
    if (p) snprintf(p, n, "%s=", name);
    return p ? p : "";
}

static bool truth(const reading *r, const setting *s)
{
    if (!s->value || is(str_of(s->value), "false")) return false;
    if (is(str_of(s->value), "true")) return true;
    warn(r, s, "it must be `true` or `false`");
    return false;
}

static uint64_t read_timeout(const reading *r)
{
    setting s = find(r, "TIMEOUT");
    uint64_t v = 0;
    size_t i = 0;
    if (!s.value) return OTLP_TIMEOUT_NS;
    for (; s.value[i] >= '0' && s.value[i] <= '9' && v < 1u << 31; i++)
        v = v * 10 + (uint64_t)(s.value[i] - '0');
    if (i && !s.value[i]) return v * 1000000;
    warn(r, &s, "it must be a whole number of milliseconds");
    return OTLP_TIMEOUT_NS;
}

/* ---- headers: k1=v1,k2=v2, percent-encoded ---- */

static bool decode(str in, char *out, size_t *n)
{
    size_t k = 0;
    for (size_t i = 0; i < in.n; i++) {
        char c = in.p[i];
        if (c == '%') {
            if (in.n - i < 3 || hex_digit(in.p[i + 1]) < 0 || hex_digit(in.p[i + 2]) < 0)
                return false;
            c = (char)(hex_digit(in.p[i + 1]) << 4 | hex_digit(in.p[i + 2]));
            i += 2;
        }
        out[k++] = c;
    }
    *n = k;
    return true;
}

/* Returns whether kiln sets this header itself. */
static bool is_reserved(str name)
{
    static const char *const all[] = {
        "host",    "content-length",    "content-type",     "content-encoding",
        "te",      "transfer-encoding", "connection",       "upgrade",
        "trailer", "keep-alive",        "proxy-connection", "http2-settings"};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (str_eq(name, str_of(all[i]))) return true;
    return str_starts(name, STR("grpc-"));
}

static bool read_header(const reading *r, str pair, http_headers *out)
{
    const char *eq = pair.n ? memchr(pair.p, '=', pair.n) : NULL;
    if (!eq) return false;
    str raw[2] = {str_trim((str){pair.p, (size_t)(eq - pair.p)}),
                  str_trim((str){eq + 1, pair.n - (size_t)(eq - pair.p) - 1})};
    str got[2];
    for (int i = 0; i < 2; i++) {
        char *p = arena_alloc(r->a, raw[i].n + 1);
        if (!p || !decode(raw[i], p, &got[i].n)) return false;
        got[i].p = p;
        for (size_t k = 0; i == 0 && k < got[i].n; k++)
            if (p[k] >= 'A' && p[k] <= 'Z') p[k] = (char)(p[k] + 32);
    }
    if (!http_name_valid(got[0]) || !http_value_valid(got[1]) || is_reserved(got[0])) return false;
    http_header *h = out->n < 32 ? vec_push(r->a, out) : NULL;
    if (h) *h = (http_header){got[0], got[1]};
    return h != NULL;
}

static void read_headers(const reading *r, http_headers *out)
{
    setting s = find(r, "HEADERS");
    for (str left = str_of(s.value); left.n;) {
        const char *comma = memchr(left.p, ',', left.n);
        size_t n = comma ? (size_t)(comma - left.p) : left.n;
        str pair = str_trim((str){left.p, n});
        if (pair.n && !read_header(r, pair, out))
            warn(r, &s, "an entry is not key=value, or its name is reserved");
        n += comma != NULL;
        left = (str){left.p + n, left.n - n};
    }
}

/* ---- endpoints ---- */

/* Sets the path to `base` and the signal's path ("/v1/logs"), joined by one slash. */
static bool join_path(otlp_config *c, str base, arena *a, err *e)
{
    while (base.n && base.p[base.n - 1] == '/') base.n--;
    str own = str_of(otlp_signal_path(c->signal));
    char *p = arena_alloc(a, base.n + own.n + 1);
    if (!p) return err_memory(e);
    if (base.n) memcpy(p, base.p, base.n);
    memcpy(p + base.n, own.p, own.n);
    c->to.path = (str){p, base.n + own.n};
    return true;
}

static bool set_path(otlp_config *c, bool verbatim, arena *a, err *e)
{
    if (c->protocol == OTLP_GRPC) {
        c->to.path = str_of(otlp_signal_method(c->signal));
        return true;
    }
    if (!verbatim) return join_path(c, c->to.path, a, e);
    if (!c->to.path.n) c->to.path = STR("/");
    return true;
}

static bool read_endpoint(const reading *r, otlp_config *c, err *e)
{
    setting s = find(r, "ENDPOINT"), insecure = find(r, "INSECURE");
    bool plain = truth(r, &insecure);
    c->set_endpoint = as_setter(r, s.name);
    if (!s.value)
        s.value = c->protocol == OTLP_GRPC ? "http://localhost:4317" : "http://localhost:4318";
    if (!url_parse(str_of(s.value), &c->to, e)) return err_in(e, "%s", s.name);
    if (!c->to.has_scheme && c->protocol == OTLP_HTTP)
        return err_set(e, ERR_USAGE, "an address must begin with http:// or https://"),
               err_in(e, "%s", s.name);
    if (!c->to.has_scheme) {
        c->to.tls = !plain;
        if (!c->to.has_port) c->to.port = 4317, c->to.has_port = true;
    }
    return set_path(c, s.own, r->a, e);
}

static tls_files read_tls(const reading *r)
{
    return (tls_files){find(r, "CERTIFICATE").value, find(r, "CLIENT_CERTIFICATE").value,
                       find(r, "CLIENT_KEY").value};
}

tls_files otlp_config_tls(const otlp_environment *env, arena *a)
{
    return read_tls(&(reading){OTLP_PROFILES, env, a});
}

/* ---- proxies ---- */

/* Returns the first variable that is set.  Lower case takes precedence, as in curl. */
static const char *first_set(const reading *r, const char *const names[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *v = r->env->get(r->env->ctx, names[i]);
        if (v && *v) return names[i];
    }
    return NULL;
}

static void read_proxies(const reading *r, otlp_config *c)
{
    static const char *const plain[] = {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"};
    static const char *const secure[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};
    static const char *const none[] = {"no_proxy", "NO_PROXY"};
    c->http_proxy = first_set(r, plain, ARRAY_LEN(plain));
    c->https_proxy = first_set(r, secure, ARRAY_LEN(secure));
    const char *name = first_set(r, none, ARRAY_LEN(none));
    const char *value = name ? r->env->get(r->env->ctx, name) : NULL;
    size_t n = value ? strlen(value) + 1 : 0;
    char *copy = n ? arena_alloc(r->a, n) : NULL;
    if (copy) memcpy(copy, value, n);
    c->no_proxy = copy;
}

/* Returns whether an entry of NO_PROXY matches: "*", the host, or its domain, with or without a
 * leading dot. */
static bool excepts(str entry, str host)
{
    if (str_eq(entry, STR("*"))) return true;
    if (entry.n && entry.p[0] == '.') entry = (str){entry.p + 1, entry.n - 1};
    if (!entry.n || entry.n > host.n) return false;
    size_t before = host.n - entry.n;
    return strncasecmp(host.p + before, entry.p, entry.n) == 0 &&
           (!before || host.p[before - 1] == '.');
}

const char *otlp_ignored_proxy(const otlp_config *c)
{
    const char *name = c->to.tls ? c->https_proxy : c->http_proxy;
    if (!name || url_is_local(&c->to)) return NULL;
    for (const char *p = c->no_proxy ? c->no_proxy : ""; *p;) {
        size_t n = strcspn(p, ", ");
        if (excepts((str){p, n}, c->to.host)) return NULL;
        p += n + (p[n] != 0);
    }
    return name;
}

bool otlp_config_read(otlp_signal signal, const otlp_environment *env, arena *a, otlp_config *out,
                      err *e)
{
    reading r = {signal, env, a};
    *out = (otlp_config){.signal = signal, .timeout = read_timeout(&r)};
    setting protocol = find(&r, "PROTOCOL"), pack = find(&r, "COMPRESSION");
    if (protocol.value && !otlp_protocol_parse(str_of(protocol.value), &out->protocol))
        warn(&r, &protocol, "kiln supports grpc and http/protobuf, and uses http/protobuf");
    if (pack.value && !otlp_codec_parse(str_of(pack.value), &out->codec))
        warn(&r, &pack, "kiln supports none, gzip and zstd");
    out->tls = read_tls(&r);
    out->set_protocol = as_setter(&r, protocol.name);
    out->set_ca = as_setter(&r, find(&r, "CERTIFICATE").name);
    read_headers(&r, &out->headers);
    read_proxies(&r, out);
    return read_endpoint(&r, out, e);
}

bool otlp_config_address(otlp_config *c, str address, bool guess, arena *a, err *e)
{
    url u;
    if (!url_parse(address, &u, e)) return false;
    if (guess) c->protocol = u.port == 4317 ? OTLP_GRPC : OTLP_HTTP;
    if (!u.has_scheme) {
        u.tls = !url_is_local(&u);
        if (!u.has_port) u.port = c->protocol == OTLP_GRPC ? 4317 : 4318, u.has_port = true;
    }
    c->to = u;
    bool has_path = u.path.n > 1;
    if (!has_path) c->to.path = (str){0};
    return set_path(c, has_path, a, e);
}

bool otlp_config_header(otlp_config *c, str text, arena *a)
{
    const char *eq = text.n ? memchr(text.p, '=', text.n) : NULL;
    size_t n = eq ? (size_t)(eq - text.p) : 0;
    char *name = arena_alloc(a, n + 1);
    http_header *h = name && n ? vec_push(a, &c->headers) : NULL;
    if (!h) return false;
    for (size_t i = 0; i < n; i++)
        name[i] = text.p[i] >= 'A' && text.p[i] <= 'Z' ? (char)(text.p[i] + 32) : text.p[i];
    *h = (http_header){{name, n}, {eq + 1, text.n - n - 1}};
    return true;
}
