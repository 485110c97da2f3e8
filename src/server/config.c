/* Reads and checks the configuration file. One table describes all keys; the YAML reader accepts
 * only scalars, lists and one level of sections, and rejects aliases and tags. */
#include "server/config.h"

#include "server/origin.h"
#include "debuginfod/debuginfod.h"
#include "net/listen.h"
#include "base/time.h"
#include "base/words.h"
#include "base/ban.h"
#include <yaml.h>

/* ---- the keys ---- */

#define AT(field) .at = offsetof(server_config, field), .width = sizeof(((server_config *)0)->field)
#define LIVE .live = true

static const config_key keys[] = {
    {"listen", KEY_LIST, AT(listen), .what = "addresses to listen on: HOST:PORT or PORT",
     .usual = "[127.0.0.1:4317, 127.0.0.1:4318, 127.0.0.1:4040]"},
    {"hosts", KEY_LIST, AT(hosts), LIVE,
     .what = "host names, or NAME:PORT, that browsers may use besides localhost and IP addresses"},
    {"insecure", KEY_FLAG, AT(insecure), .usual = "false",
     .what = "allow other hosts to connect without TLS and without a token"},
    {"log-format", KEY_CHOICE, AT(log_format), LIVE, .usual = "text", .choices = "text json logfmt",
     .what = "format of the log on standard error"},
    {"pyroscope", KEY_CHOICE, AT(pyroscope), LIVE, .usual = "on", .choices = "on off",
     .what = "serve the endpoints of Pyroscope, for Grafana and Pyroscope's SDKs"},
    {"store.directory", KEY_TEXT, AT(store), .usual = "$XDG_DATA_HOME/kiln/store",
     .what = "directory of the store"},
    {"store.max-age", KEY_TIME, AT(max_age), LIVE, .may_be_none = true, .usual = "7d",
     .what = "how long profiles are stored; none: no limit"},
    {"store.max-size", KEY_SIZE, AT(max_bytes), LIVE, .may_be_none = true, .usual = "10GiB",
     .what = "most bytes on disk; the oldest data is deleted first; none: no limit"},
    {"store.min-age", KEY_TIME, AT(min_age), .usual = "1h",
     .what = "max-size deletes nothing younger than this; new data gets 429 instead"},
    {"store.max-backlog", KEY_SIZE, AT(max_backlog), .may_be_none = true,
     .what = "new data gets 429 while more than this waits for compaction; default: an eighth of "
             "max-size, between 4MiB and 1GiB"},
    {"store.drop-at-once", KEY_FLAG, AT(drop_at_once), .usual = "false",
     .what = "max-age deletes all expired data at once, even after the clock jumped"},
    {"store.compact-size", KEY_SIZE, AT(max_raw), .usual = "64MiB",
     .what = "compaction starts when this many bytes wait"},
    {"store.compact-time", KEY_TIME, AT(max_raw_age), .usual = "10min",
     .what = "compaction also starts when the oldest data has waited this long"},
    {"tls.cert", KEY_TEXT, AT(tls.cert), LIVE, .what = "server certificate (PEM); enables TLS"},
    {"tls.key", KEY_TEXT, AT(tls.key), LIVE,
     .what = "private key (PEM), if it is not in the same file"},
    {"tls.client-ca", KEY_TEXT, AT(tls.ca), LIVE,
     .what = "CA certificates (PEM): clients need a certificate signed by one of them; plaintext "
             "is rejected"},
    {"tokens.write", KEY_TEXT, AT(write_tokens), LIVE,
     .what = "file of tokens; senders need one of them"},
    {"tokens.read", KEY_TEXT, AT(read_tokens), LIVE,
     .what = "file of tokens; clients that query need one of them"},
    {"source.link", KEY_TEXT, AT(source_link), LIVE,
     .what = "address of a source line, such as "
             "https://git.example.com/shop/blob/{service.version}/{file}#L{line}: {file}, {line} "
             "and attributes of the resource are replaced"},
    {"source.trim", KEY_TEXT, AT(source_trim), LIVE,
     .what = "prefix of source paths that {file} does not contain, such as /build/shop/"},
    {"source.debuginfod", KEY_TEXT, AT(source_debuginfod), LIVE,
     .what = "addresses of debuginfod servers, separated by spaces, such as "
             "https://debuginfod.debian.net: the page shows source files that they have"},
    {"limits.connections", KEY_COUNT, AT(http.connections), LIVE, .usual = "4096",
     .what = "most connections at a time"},
    {"limits.streams", KEY_COUNT, AT(http.streams), LIVE, .usual = "100",
     .what = "most concurrent requests on one HTTP/2 connection"},
    {"limits.body", KEY_SIZE, AT(http.body), LIVE, .usual = "64MiB",
     .what = "most bytes of one request, as received"},
    {"limits.bodies", KEY_SIZE, AT(http.bodies), LIVE, .usual = "128MiB",
     .what = "most bytes of all requests in memory"},
    {"limits.answers", KEY_SIZE, AT(http.responses), LIVE, .usual = "64MiB",
     .what = "most bytes of responses in memory that wait for their clients"},
    {"limits.files", KEY_SIZE, AT(http.files), LIVE, .usual = "1GiB",
     .what = "most bytes of large responses that wait in files for their clients"},
    {"limits.message", KEY_SIZE, AT(ingest.max_message), LIVE, .usual = "128MiB",
     .what = "most bytes of one request after decompression"},
    {"limits.memory", KEY_SIZE, AT(ingest.memory), LIVE, .usual = "160MiB",
     .what = "memory to decode one request"},
    {"limits.head-time", KEY_TIME, AT(http.head_ns), LIVE, .usual = "10s",
     .what = "time limit of the TLS handshake, and of the headers of a request"},
    {"limits.idle-time", KEY_TIME, AT(http.idle_ns), LIVE, .usual = "2min",
     .what = "a connection without requests is closed after this time"},
    {"limits.stall-time", KEY_TIME, AT(http.stall_ns), LIVE, .usual = "20s",
     .what = "a connection slower than min-rate is closed after this time"},
    {"limits.min-rate", KEY_SIZE, AT(http.min_rate), LIVE, .usual = "1KiB",
     .what = "bytes per second"},
    {"forward.to", KEY_TEXT, AT(forward.to),
     .what = "URL of the receiver that accepted profiles are forwarded to"},
    {"forward.protocol", KEY_CHOICE, AT(forward.protocol), .choices = "grpc http/protobuf",
     .what = "protocol; default: grpc for port 4317, otherwise http/protobuf"},
    {"forward.compression", KEY_CHOICE, AT(forward.compression), .usual = "none",
     .choices = "none gzip zstd", .what = "compression of requests"},
    {"forward.headers", KEY_LIST, AT(forward.headers), .secret = true,
     .what = "headers of each request, NAME=VALUE"},
    {"forward.ca", KEY_TEXT, AT(forward.tls.ca),
     .what = "CA certificates to trust (PEM) instead of the system's"},
    {"forward.cert", KEY_TEXT, AT(forward.tls.cert), .what = "client certificate (PEM)"},
    {"forward.key", KEY_TEXT, AT(forward.tls.key),
     .what = "private key (PEM), if it is not in the same file"},
    {"forward.spool", KEY_TEXT, AT(forward.spool),
     .what = "directory for requests that no longer fit the journal"},
    {"forward.spool-size", KEY_SIZE, AT(forward.spool_max), .usual = "256MiB",
     .what = "most bytes in the spool; the oldest are deleted first"},
    {"forward.queue", KEY_SIZE, AT(forward.queue), .usual = "64MiB",
     .what = "most bytes that wait in memory"},
    {"forward.journal-size", KEY_SIZE, AT(forward.journal), .usual = "256MiB",
     .what = "most journal bytes that are retained for forwarding after compaction"},
};

const config_key *config_keys(size_t *n)
{
    *n = ARRAY_LEN(keys);
    return keys;
}

/* ---- reading ---- */

typedef struct seen {
    str name;
    size_t line;
} seen;

typedef struct reading {
    yaml_parser_t yaml;
    yaml_event_t ev; /* the last event */
    arena *a;
    server_config *out;
    seen seen[CONFIG_KEYS];
    size_t n_seen;
    err *e;
} reading;

enum { SHOWN = 48 };

/* Returns a printable excerpt of the file for messages. */
static const char *shown(str s, char out[SHOWN])
{
    snprintf(out, SHOWN, "%.*s", (int)(s.n < SHOWN ? s.n : SHOWN), s.n ? s.p : "");
    for (char *c = out; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
    return out;
}

static bool wrong_at(reading *r, yaml_mark_t at, const char *fmt, ...) PRINTF(3, 4);
static bool wrong_at(reading *r, yaml_mark_t at, const char *fmt, ...)
{
    char text[sizeof r->e->msg];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return err_set(r->e, ERR_MALFORMED, "line %zu, column %zu: %s", at.line + 1, at.column + 1,
                   text);
}
#define WRONG(r, ...) wrong_at((r), (r)->ev.start_mark, __VA_ARGS__)

/* Rejects anchors, aliases and tags: no configuration needs them. */
static bool is_plain(reading *r)
{
    const yaml_event_t *v = &r->ev;
    const yaml_char_t *anchor = NULL, *tag = NULL;
    if (v->type == YAML_ALIAS_EVENT) anchor = v->data.alias.anchor;
    if (v->type == YAML_SCALAR_EVENT) anchor = v->data.scalar.anchor, tag = v->data.scalar.tag;
    if (v->type == YAML_SEQUENCE_START_EVENT)
        anchor = v->data.sequence_start.anchor, tag = v->data.sequence_start.tag;
    if (v->type == YAML_MAPPING_START_EVENT)
        anchor = v->data.mapping_start.anchor, tag = v->data.mapping_start.tag;
    if (anchor) return WRONG(r, "anchors and aliases are not supported; write the value out");
    if (tag) return WRONG(r, "tags such as !!str are not supported; remove the tag");
    return true;
}

static bool next(reading *r)
{
    char text[SHOWN * 2];
    yaml_event_delete(&r->ev);
    if (yaml_parser_parse(&r->yaml, &r->ev)) return is_plain(r);
    const char *why = r->yaml.problem ? r->yaml.problem : "no memory";
    snprintf(text, sizeof text, "%s", why);
    yaml_mark_t at = r->yaml.problem_mark;
    if (r->yaml.error == YAML_READER_ERROR) at = r->yaml.mark;
    return wrong_at(r, at, "invalid YAML: %s", text);
}

static bool is(const reading *r, yaml_event_type_t t) { return r->ev.type == t; }

static str scalar(const reading *r)
{
    return (str){(const char *)r->ev.data.scalar.value, r->ev.data.scalar.length};
}

/* Returns whether the value is missing, as in `key:`. */
static bool is_empty(const reading *r)
{
    return is(r, YAML_SCALAR_EVENT) && !r->ev.data.scalar.length &&
           r->ev.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

static bool take_text(reading *r, str *out)
{
    str s = scalar(r);
    if (!s.n) return WRONG(r, "the value is missing; remove the key to use its default");
    if (memchr(s.p, 0, s.n)) return WRONG(r, "the value contains a zero byte");
    char *p = arena_alloc(r->a, s.n + 1);
    if (!p) return err_memory(r->e);
    memcpy(p, s.p, s.n);
    p[s.n] = 0;
    *out = (str){p, s.n};
    return true;
}

static bool put_number(reading *r, const config_key *k, uint64_t v)
{
    uint32_t narrow = (uint32_t)v;
    void *at = (char *)r->out + k->at;
    if (!v)
        return WRONG(r, "%s must be greater than 0%s", k->name, k->may_be_none ? ", or none" : "");
    if (k->width == sizeof narrow && v > UINT32_MAX)
        return WRONG(r, "%s is too large; the maximum is %u", k->name, UINT32_MAX);
    memcpy(at, k->width == sizeof narrow ? (void *)&narrow : (void *)&v, k->width);
    return true;
}

static bool read_number(reading *r, const config_key *k)
{
    char text[SHOWN];
    uint64_t v = 0;
    str s = scalar(r);
    bool whole = s.n > 0;
    for (size_t i = 0; i < s.n; i++) whole &= s.p[i] >= '0' && s.p[i] <= '9';
    if (k->may_be_none && str_eq(s, STR("none"))) return put_number(r, k, UINT64_MAX);
    if (k->kind == KEY_TIME && !duration_parse(s, &v))
        return WRONG(r, "%s must be a duration such as 7d, 12h, 2min or 10s, not `%s`", k->name,
                     shown(s, text));
    if (k->kind == KEY_SIZE && !size_parse(s, &v))
        return WRONG(r, "%s must be a size such as 64MiB, 10GiB or 4096, not `%s`", k->name,
                     shown(s, text));
    if (k->kind == KEY_COUNT && (!whole || !size_parse(s, &v)))
        return WRONG(r, "%s must be a whole number, not `%s`", k->name, shown(s, text));
    return put_number(r, k, v);
}

static bool read_flag(reading *r, const config_key *k)
{
    char text[SHOWN];
    bool *at = (bool *)((char *)r->out + k->at);
    bool yes = str_eq(scalar(r), STR("true"));
    if (!yes && !str_eq(scalar(r), STR("false")))
        return WRONG(r, "%s must be true or false, not `%s`", k->name, shown(scalar(r), text));
    *at = yes;
    return true;
}

static bool is_choice(str words, str value)
{
    for (size_t at = 0; at < words.n;) {
        const char *end = memchr(words.p + at, ' ', words.n - at);
        size_t n = end ? (size_t)(end - words.p) - at : words.n - at;
        if (str_eq((str){words.p + at, n}, value)) return true;
        at += n + 1;
    }
    return false;
}

static bool read_text(reading *r, const config_key *k)
{
    char text[SHOWN];
    str s = {0};
    const char **at = (const char **)(void *)((char *)r->out + k->at);
    if (!take_text(r, &s)) return false;
    if (k->kind == KEY_CHOICE && !is_choice(str_of(k->choices), s))
        return WRONG(r, "%s does not support `%s`; choose one of: %s", k->name, shown(s, text),
                     k->choices);
    *at = s.p;
    return true;
}

static bool add_to_list(reading *r, const config_key *k, config_list *l)
{
    if (!is(r, YAML_SCALAR_EVENT)) return WRONG(r, "%s must be a list of strings", k->name);
    if (l->n == CONFIG_LISTENS)
        return WRONG(r, "%s has more than %d entries", k->name, CONFIG_LISTENS);
    return take_text(r, &l->v[l->n++]);
}

/* A single value is a list of one. */
static bool read_list(reading *r, const config_key *k)
{
    config_list *l = (config_list *)(void *)((char *)r->out + k->at);
    *l = (config_list){0};
    if (!is(r, YAML_SEQUENCE_START_EVENT)) return add_to_list(r, k, l);
    while (next(r)) {
        if (is(r, YAML_SEQUENCE_END_EVENT)) return true;
        if (!add_to_list(r, k, l)) return false;
    }
    return false;
}

static bool read_value(reading *r, const config_key *k)
{
    if (!next(r)) return false;
    if (k->kind == KEY_LIST) return read_list(r, k);
    if (!is(r, YAML_SCALAR_EVENT)) return WRONG(r, "%s takes a single value", k->name);
    switch (k->kind) {
    case KEY_FLAG: return read_flag(r, k);
    case KEY_TEXT:
    case KEY_CHOICE: return read_text(r, k);
    case KEY_SIZE:
    case KEY_TIME:
    case KEY_COUNT:
    case KEY_LIST: break;
    }
    return read_number(r, k);
}

/* ---- mappings ---- */

static bool read_mapping(reading *r, str section);

static bool is_section(str name)
{
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (str_starts(str_of(keys[i].name), name) && keys[i].name[name.n] == '.') return true;
    return false;
}

/* Reports an unknown key and suggests the nearest known key or section. */
static bool unknown(reading *r, str name)
{
    char text[SHOWN];
    nearest n = nearest_to(name);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        str whole = str_of(keys[i].name);
        const char *dot = strchr(keys[i].name, '.');
        nearest_offer(&n, whole, keys[i].name);
        if (!dot || memchr(name.p, '.', name.n)) continue;
        nearest_offer(&n, (str){whole.p, (size_t)(dot - whole.p)}, whole.p);
        nearest_offer(&n, str_of(dot + 1), keys[i].name);
    }
    shown(name, text);
    if (!n.name) return WRONG(r, "unknown key `%s`; docs/serve.md lists the keys", text);
    const char *dot = strchr(n.name, '.');
    size_t head = dot ? (size_t)(dot - n.name) : strlen(n.name);
    bool section = dot && edit_distance(name, (str){n.name, head}) == n.distance;
    return WRONG(r, "unknown key `%s`; did you mean `%.*s`?", text,
                 (int)(section ? head : strlen(n.name)), n.name);
}

static bool not_twice(reading *r, str name)
{
    for (size_t i = 0; i < r->n_seen; i++)
        if (str_eq(r->seen[i].name, name))
            return WRONG(r, "duplicate key %.*s; it first appears on line %zu", STR_ARG(name),
                         r->seen[i].line);
    if (r->n_seen == CONFIG_KEYS) return WRONG(r, "too many keys");
    r->seen[r->n_seen++] = (seen){name, r->ev.start_mark.line + 1};
    return true;
}

static bool read_section(reading *r, str name)
{
    if (!next(r)) return false;
    if (is_empty(r)) return true; /* all keys of the section are commented out */
    if (!is(r, YAML_MAPPING_START_EVENT))
        return WRONG(r, "%.*s is a section; put its keys below it", STR_ARG(name));
    return read_mapping(r, name);
}

static bool read_key(reading *r, str section)
{
    if (!is(r, YAML_SCALAR_EVENT)) return WRONG(r, "a key must be one word");
    buf b = {.limit = 256};
    if (section.n) buf_printf(&b, "%.*s.", STR_ARG(section));
    buf_str(&b, scalar(r));
    str name = {b.failed ? NULL : arena_alloc(r->a, b.n + 1), b.n};
    if (name.p && name.n) memcpy((char *)(uintptr_t)name.p, b.p, b.n);
    buf_free(&b);
    if (!name.p) return WRONG(r, "the key is too long");
    const config_key *k = NULL;
    for (size_t i = 0; !k && i < ARRAY_LEN(keys); i++)
        if (str_eq(name, str_of(keys[i].name))) k = &keys[i];
    bool in = !k && !section.n && name.n && is_section(name);
    if (!k && !in) return unknown(r, name);
    return not_twice(r, name) && (k ? read_value(r, k) : read_section(r, name));
}

static bool read_mapping(reading *r, str section)
{
    while (next(r)) {
        if (is(r, YAML_MAPPING_END_EVENT)) return true;
        if (!read_key(r, section)) return false;
    }
    return false;
}

static bool read_stream(reading *r)
{
    if (!next(r) || !next(r)) return false; /* start of the stream and the document */
    if (is(r, YAML_STREAM_END_EVENT)) return true;
    if (!next(r)) return false;
    if (!is_empty(r)) {
        if (!is(r, YAML_MAPPING_START_EVENT))
            return WRONG(r, "a configuration consists of keys with values, such as `listen: 4317`");
        if (!read_mapping(r, (str){0})) return false;
    }
    if (!next(r) || !next(r)) return false; /* end of the document and the stream */
    return is(r, YAML_STREAM_END_EVENT) ||
           WRONG(r, "a configuration file must contain only one document");
}

bool config_read(str yaml, arena *a, server_config *out, err *e)
{
    reading r = {.a = a, .out = out, .e = e};
    if (yaml.n > CONFIG_MAX_BYTES)
        return err_set(e, ERR_LIMIT, "the configuration is larger than %zu bytes",
                       CONFIG_MAX_BYTES);
    if (!yaml_parser_initialize(&r.yaml)) return err_memory(e);
    yaml_parser_set_input_string(&r.yaml, (const unsigned char *)(yaml.n ? yaml.p : ""), yaml.n);
    bool ok = read_stream(&r);
    yaml_event_delete(&r.ev);
    yaml_parser_delete(&r.yaml);
    return ok;
}

bool config_has_pyroscope(const server_config *c)
{
    return !c->pyroscope || strcmp(c->pyroscope, "off") != 0;
}

/* ---- checking ---- */

bool config_check(const server_config *c, err *e)
{
    const forward_config *f = &c->forward;
    if (!c->tls.cert && (c->tls.key || c->tls.ca))
        return err_set(e, ERR_USAGE, "%s requires a certificate (tls.cert, --cert)",
                       c->tls.key ? "tls.key (--key)" : "tls.client-ca");
    for (size_t i = 0; i < c->listen.n; i++)
        if (!net_listen_check(c->listen.v[i], e)) return false;
    str link = str_of(c->source_link);
    if (link.n && !str_starts(link, STR("http://")) && !str_starts(link, STR("https://")))
        return err_set(e, ERR_USAGE, "source.link must begin with http:// or https://");
    if (c->source_debuginfod && !debuginfod_check(str_of(c->source_debuginfod), e))
        return err_in(e, "source.debuginfod");
    for (size_t i = 0; i < c->hosts.n; i++)
        if (!origin_host_valid(c->hosts.v[i]))
            return err_set(
                e, ERR_USAGE,
                "hosts must contain names such as kiln.example.com or kiln:4040, not `%.*s`",
                (int)(c->hosts.v[i].n < SHOWN ? c->hosts.v[i].n : SHOWN), c->hosts.v[i].p);
    if (!f->to && (f->protocol || f->compression || f->tls.ca || f->tls.cert || f->tls.key ||
                   f->headers.n || f->spool || f->spool_max || f->queue || f->journal))
        return err_set(e, ERR_USAGE, "forward has no address: set forward.to or --forward");
    if (f->spool_max && !f->spool)
        return err_set(e, ERR_USAGE, "forward.spool-size requires forward.spool");
    for (size_t i = 0; i < f->headers.n; i++)
        if (!memchr(f->headers.v[i].p, '=', f->headers.v[i].n))
            return err_set(e, ERR_USAGE, "forward.headers must have the form NAME=VALUE");
    return true;
}
