/* Decodes requests and builds responses of all receiving endpoints: OTLP over gRPC and HTTP, log
 * records, uploads. */
#include "otlp/receive.h"

#include "base/time.h"
#include "net/world.h"
#include "otlp/receive_filter.h"
#include "wire/base64.h"
#include "wire/compress.h"
#include "wire/json.h"
#include "wire/pb.h"
#include "base/ban.h"
#include <inttypes.h>
#include <strings.h>

#define MAX_MESSAGE ((size_t)256 << 20)

/* ---- routes ---- */

#define SERVICE(kind, signal, service, package)                                                    \
    {                                                                                              \
        STR("/opentelemetry.proto.collector." signal "." package "." service "/Export"),           \
            STR("/" package "/" signal), kind, package                                             \
    }

static const struct {
    str rpc, http;
    receive_kind kind;
    const char *package;
} services[] = {
    SERVICE(RECEIVE_PROFILES, "profiles", "ProfilesService", "v1development"),
    SERVICE(RECEIVE_PROFILES, "profiles", "ProfilesService", "v1experimental"),
    SERVICE(RECEIVE_PROFILES, "profiles", "ProfilesService", "v1"),
    SERVICE(RECEIVE_LOGS, "logs", "LogsService", "v1"),
};

static bool word_is(str s, const char *word)
{
    size_t n = strlen(word);
    return s.n == n && !strncasecmp(s.p, word, n);
}

/* Returns the media type without parameters, as in "application/json; charset=utf-8". */
static str media_of(str type)
{
    size_t n = 0;
    while (n < type.n && type.p[n] != ';' && type.p[n] != ' ') n++;
    return (str){type.p, n};
}

static str path_of(str target)
{
    const char *q = target.n ? memchr(target.p, '?', target.n) : NULL;
    return q ? (str){target.p, (size_t)(q - target.p)} : target;
}

static bool is_grpc(const http_message *m)
{
    str t = media_of(http_headers_get(&m->head, "content-type"));
    return word_is(t, "application/grpc") || word_is(t, "application/grpc+proto");
}

bool receive_route_of(const http_message *m, receive_route *out)
{
    str path = path_of(m->path);
    str type = media_of(http_headers_get(&m->head, "content-type"));
    *out = (receive_route){
        .grpc = is_grpc(m), .json = word_is(type, "application/json"), .package = ""};
    for (size_t i = 0; i < ARRAY_LEN(services); i++) {
        out->package = services[i].package;
        out->kind = services[i].kind;
        if (str_eq(path, services[i].rpc)) return true;
        if (str_eq(path, services[i].http)) return !out->grpc;
    }
    out->package = "";
    out->kind = RECEIVE_UPLOAD;
    out->json = true;
    return str_eq(path, STR("/upload")) && !out->grpc;
}

bool receive_has_service(str name)
{
    for (size_t i = 0; i < ARRAY_LEN(services); i++) {
        str rpc = services[i].rpc;
        if (str_eq(name, (str){rpc.p + 1, rpc.n -
                                              sizeof "/"
                                                     "/Export" +
                                              1}))
            return true;
    }
    return false;
}

static const char other_signal[] =
    "Kiln stores profiles only: set OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT instead of "
    "OTEL_EXPORTER_OTLP_ENDPOINT, or OTEL_METRICS_EXPORTER=none and OTEL_TRACES_EXPORTER=none";

bool receive_is_unknown(const http_message *m, receive_route *out, const char **why)
{
    str path = path_of(m->path), type = media_of(http_headers_get(&m->head, "content-type"));
    bool grpc = type.n >= 16 && !strncasecmp(type.p, "application/grpc", 16);
    bool signal = str_starts(path, STR("/opentelemetry.proto.collector.metrics.")) ||
                  str_starts(path, STR("/opentelemetry.proto.collector.trace.")) ||
                  str_eq(path, STR("/v1/metrics")) || str_eq(path, STR("/v1/traces"));
    receive_route known;
    if ((!grpc && !signal) || (receive_route_of(m, &known) && known.grpc == grpc)) return false;
    *out = (receive_route){.kind = RECEIVE_PROFILES,
                           .grpc = grpc,
                           .json = !word_is(type, "application/x-protobuf"),
                           .package = ""};
    *why = signal ? other_signal
           : str_starts(path, STR("/opentelemetry.proto.collector.profiles."))
               ? "unknown method: call Export with application/grpc or application/grpc+proto"
               : "unknown method";
    return true;
}

/* ---- framing and compression ---- */

static bool codec_of_word(str s, codec *out)
{
    if (!s.n || word_is(s, "identity"))
        *out = CODEC_NONE;
    else if (word_is(s, "gzip") || word_is(s, "x-gzip"))
        *out = CODEC_GZIP;
    else if (word_is(s, "zstd"))
        *out = CODEC_ZSTD;
    else
        return false;
    return true;
}

/* Removes exactly the declared encoding, because the content may itself be a compressed file. */
static verdict decompress(codec c, str in, size_t max, arena *a, str *out, err *e)
{
    *out = in;
    if (c == CODEC_NONE) {
        if (in.n <= max) return VERDICT_ACCEPTED;
        err_set(e, ERR_LIMIT, "%zu bytes exceed the limit of %zu", in.n, max);
        return VERDICT_TOO_LARGE;
    }
    if (codec_detect(in) != c) {
        err_set(e, ERR_MALFORMED, "the body is not %s, as its header claims", codec_name(c));
        return VERDICT_MALFORMED;
    }
    if (unpack_layer(c, in, max, a, out, e)) return VERDICT_ACCEPTED;
    return err_exhausted(e) ? VERDICT_TOO_LARGE : VERDICT_MALFORMED;
}

static bool coding_of(const http_message *m, bool framed, codec *out, err *e)
{
    str name = http_headers_get(&m->head, framed ? "grpc-encoding" : "content-encoding");
    return codec_of_word(name, out) ||
           err_set(e, ERR_UNSUPPORTED, "unsupported encoding `%.*s`: use identity, gzip or zstd",
                   (int)(name.n < 40 ? name.n : 40), name.p);
}

bool receive_knows_coding(const http_message *m, bool framed, err *e)
{
    codec c;
    return coding_of(m, framed, &c, e);
}

verdict receive_open_grpc(const http_message *m, size_t max, arena *a, str *out, err *e)
{
    codec c;
    str body = buf_view(&m->body);
    grpc_frame f = {0};
    if (!coding_of(m, true, &c, e)) return VERDICT_MEDIA;
    if (!grpc_next(&body, max, &f, e)) {
        if (!e->code) err_set(e, ERR_MALFORMED, "the call contains no message");
        return err_exhausted(e) ? VERDICT_TOO_LARGE : VERDICT_MALFORMED;
    }
    if (body.n) {
        err_set(e, ERR_MALFORMED, "more than one message in a unary call");
        return VERDICT_MALFORMED;
    }
    if (f.packed && c == CODEC_NONE) {
        err_set(e, ERR_MALFORMED,
                "the message is compressed, but the request has no grpc-encoding header");
        return VERDICT_MALFORMED;
    }
    return decompress(f.packed ? c : CODEC_NONE, f.message, max, a, out, e);
}

verdict receive_open_body(const http_message *m, size_t max, arena *a, str *out, err *e)
{
    codec c;
    if (!coding_of(m, false, &c, e)) return VERDICT_MEDIA;
    return decompress(c, buf_view(&m->body), max, a, out, e);
}

static verdict open_http(const receive_route *r, const http_message *m, size_t max, arena *a,
                         str *out, err *e)
{
    str type = media_of(http_headers_get(&m->head, "content-type"));
    bool known = word_is(type, "application/x-protobuf") || word_is(type, "application/json") ||
                 word_is(type, "application/protobuf") || word_is(type, "application/octet-stream");
    if (!word_is(m->method, "POST")) {
        err_set(e, ERR_UNSUPPORTED, "send profiles with POST");
        return VERDICT_METHOD;
    }
    if (r->kind != RECEIVE_UPLOAD && type.n && !known) {
        err_set(e, ERR_UNSUPPORTED,
                "content type `%.*s`: send application/x-protobuf or application/json",
                (int)(type.n < 60 ? type.n : 60), type.p);
        return VERDICT_MEDIA;
    }
    return receive_open_body(m, max, a, out, e);
}

/* ---- decoding ---- */

static void recognise(received *out)
{
    const document *d = &out->doc;
    const part *p = d->parts.n ? &d->parts.v[0] : NULL;
    if (p && p->verdict.layout && d->format)
        snprintf(out->recognised, sizeof out->recognised, "%s %s", d->format->name,
                 layout_name(p->verdict.layout));
    else
        snprintf(out->recognised, sizeof out->recognised, "%s",
                 d->format ? d->format->name : "nothing");
}

static void widen(received *out, uint64_t from, uint64_t to)
{
    if (!out->first || from < out->first) out->first = from;
    if (to > out->last) out->last = to;
}

/* Finds the service and the measured time range. */
static void locate(received *out)
{
    const model *m = &out->doc.model;
    for (size_t i = 0; i < m->times.n; i++) widen(out, m->times.v[i], m->times.v[i]);
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        if (p->time_unix_nano) widen(out, p->time_unix_nano, p->time_unix_nano + p->duration_nano);
    }
    for (size_t i = 0; m->resources.n && i < m->resources.v[0].attrs.n; i++) {
        const keyvalue *kv = &m->resources.v[0].attrs.v[i];
        if (kv->value.kind == ANY_STRING && kv->value.n < sizeof out->service &&
            str_eq(kv->key, STR("service.name")))
            snprintf(out->service, sizeof out->service, "%.*s", (int)kv->value.n, kv->value.s);
    }
}

static const loss *lost(const ledger *l, loss_concept c)
{
    static const loss none;
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].concept == c && l->v[i].stage == STAGE_READ) return &l->v[i];
    return &none;
}

static void reject_records(received *out, const ledger *l)
{
    const loss *broken = lost(l, LOSS_PROFILE_REFUSED);
    receive_reject_records(out, lost(l, LOSS_EVENT)->count, broken);
}

static verdict failed(const err *e)
{
    return err_exhausted(e) ? VERDICT_TOO_LARGE : VERDICT_MALFORMED;
}

static verdict read_logs(str bytes, const read_opts *o, arena *a, received *out, err *e)
{
    read_opts logs = *o;
    logs.from = &format_splunk_logs;
    bool ok = format_read(bytes, &logs, a, &out->doc, e);
    reject_records(out, o->ledger);
    /* Records that are not call stacks are counted at the end.  If decoding stopped earlier, the
     * rest may contain call stacks, so nothing may be acknowledged. */
    bool seen = e->code == ERR_UNSUPPORTED ||
                (e->code == ERR_MALFORMED && lost(o->ledger, LOSS_EVENT)->count);
    if (!ok && !seen) return failed(e);
    if (!ok) { /* no call stacks: a partial success, so that the sender does not retry */
        *e = (err){0};
        out->doc = (document){.format = &format_splunk_logs};
    }
    return VERDICT_ACCEPTED;
}

/* An OTLP request must be one message; only uploaded files may be streams.  Otherwise a megabyte of
 * zeros would be a stream of 250 000 empty messages. */
static bool is_one(const receive_route *r, const received *got, err *e)
{
    bool many = framing_detect(got->payload, true) == FRAMING_LENGTHS || got->doc.parts.n > 1;
    if (r->kind == RECEIVE_UPLOAD || !many) return true;
    return err_set(e, ERR_MALFORMED,
                   "the request is a stream of messages: send them one by one, or to /upload");
}

static verdict read_profiles(const receive_route *r, const read_opts *o, bool no_filter, arena *a,
                             received *out, err *e)
{
    document d;
    if (format_read(out->payload, o, a, &d, e)) return out->doc = d, VERDICT_ACCEPTED;
    if (r->kind != RECEIVE_PROFILES) return failed(e);
    if (no_filter) return out->needs_filter = e->code == ERR_MALFORMED, failed(e);
    if (receive_filter(&d, o, a, out, e)) return VERDICT_ACCEPTED;
    return failed(e);
}

/* ---- time of the recording ---- */

/* Returns the value of a query parameter; empty when it is absent. */
static str query_word(str target, str key)
{
    const char *q = target.n ? memchr(target.p, '?', target.n) : NULL;
    str left = q ? (str){q + 1, (size_t)(target.p + target.n - q - 1)} : (str){0};
    while (left.n) {
        const char *end = memchr(left.p, '&', left.n);
        str pair = {left.p, end ? (size_t)(end - left.p) : left.n};
        if (pair.n > key.n && str_starts(pair, key) && pair.p[key.n] == '=')
            return (str){pair.p + key.n + 1, pair.n - key.n - 1};
        left.n -= end ? pair.n + 1 : pair.n;
        left.p += end ? pair.n + 1 : pair.n;
    }
    return (str){0};
}

static bool take_time(str target, const char *key, uint64_t *ns, err *e)
{
    char plain[64];
    str word = query_word(target, str_of(key));
    size_t n = grpc_message_text(word, plain, sizeof plain); /* decodes %3A */
    if (!word.n || time_parse((str){plain, n}, ns)) return true;
    return err_set(e, ERR_MALFORMED,
                   "%s must be a time such as 2023-06-27T04:52:00Z or 1687841520, not `%.*s`", key,
                   (int)(word.n < 40 ? word.n : 40), word.p);
}

static bool anchor_of(const receive_route *r, const http_message *m, const receive_opts *o,
                      time_anchor *out, err *e)
{
    *out = (time_anchor){.arrival = o->arrival};
    return r->kind != RECEIVE_UPLOAD || (take_time(m->path, "time_anchor", &out->given, e) &&
                                         take_time(m->path, "modified", &out->modified, e));
}

verdict receive_read(const receive_route *r, const http_message *m, const receive_opts *o, arena *a,
                     received *out, err *e)
{
    ledger own; /* not initialised, because it is large; only n is cleared */
    own.n = 0;
    size_t max = o->max_message ? o->max_message : MAX_MESSAGE;
    read_opts read = {.ledger = o->ledger ? o->ledger : &own, .max_bytes = max, .brief = true};
    *out = (received){0};
    time_anchor when;
    if (r->dialect) return r->dialect->read(r, m, o, a, out, e);
    if (!anchor_of(r, m, o, &when, e)) return VERDICT_MALFORMED;
    verdict v = r->grpc ? receive_open_grpc(m, max, a, &out->payload, e)
                        : open_http(r, m, max, a, &out->payload, e);
    if (v != VERDICT_ACCEPTED) return v;
    if (!out->payload.n) { /* an empty request is valid: nothing to store */
        snprintf(out->recognised, sizeof out->recognised, "nothing");
        return VERDICT_ACCEPTED;
    }
    if (!is_one(r, out, e)) return VERDICT_MALFORMED;
    if (r->kind == RECEIVE_LOGS)
        v = read_logs(out->payload, &read, a, out, e);
    else
        v = read_profiles(r, &read, o->no_filter, a, out, e);
    if (v == VERDICT_ACCEPTED && !is_one(r, out, e)) v = VERDICT_MALFORMED;
    if (v == VERDICT_ACCEPTED && !document_anchor(&out->doc, &when, read.ledger, a, e))
        v = failed(e);
    out->n_items = out->doc.model.profiles.n + out->n_rejected;
    if (v == VERDICT_ACCEPTED) recognise(out);
    if (v == VERDICT_ACCEPTED && r->kind == RECEIVE_UPLOAD) {
        locate(out);
        ledger_damage(read.ledger, out->damage, sizeof out->damage);
    }
    return v;
}

/* ---- responses ---- */

static const struct {
    verdict v;
    unsigned http;
    grpc_code grpc;
} words[] = {
    {VERDICT_ACCEPTED, 200, GRPC_OK},
    {VERDICT_MALFORMED, 400, GRPC_INVALID_ARGUMENT},
    {VERDICT_METHOD, 405, GRPC_UNIMPLEMENTED},
    {VERDICT_MEDIA, 415, GRPC_UNIMPLEMENTED},
    {VERDICT_TOO_LARGE, 413, GRPC_RESOURCE_EXHAUSTED},
    {VERDICT_OVERLOADED, 429, GRPC_RESOURCE_EXHAUSTED},
    {VERDICT_UNAVAILABLE, 503, GRPC_UNAVAILABLE},
    {VERDICT_UNAUTHENTICATED, 401, GRPC_UNAUTHENTICATED},
    {VERDICT_CROSS_SITE, 403, GRPC_PERMISSION_DENIED},
    {VERDICT_LATE, 504, GRPC_DEADLINE_EXCEEDED},
    {VERDICT_UNKNOWN, 404, GRPC_UNIMPLEMENTED},
};

/* Export...ServiceResponse: {1: partial_success {1: rejected, 2: error_message}}; empty for full
 * success. */
static void put_success(buf *b, const received *got)
{
    buf inner = {0};
    if (!got->n_rejected && !got->why[0]) return;
    if (got->n_rejected) pb_put_uint(&inner, 1, got->n_rejected);
    if (got->why[0]) pb_put_bytes(&inner, 2, str_of(got->why));
    pb_put_bytes(b, 1, buf_view(&inner));
    buf_free(&inner);
}

static void put_success_json(const receive_route *r, buf *b, const received *got)
{
    json_out o = {.b = b};
    json_put_object(&o);
    if (got->n_rejected || got->why[0]) {
        char n[24];
        snprintf(n, sizeof n, "%zu", got->n_rejected); /* OTLP/JSON writes int64 as text */
        json_put_key(&o, STR("partialSuccess"));
        json_put_object(&o);
        json_put_key(&o,
                     r->kind == RECEIVE_LOGS ? STR("rejectedLogRecords") : STR("rejectedProfiles"));
        json_put_str(&o, str_of(n));
        json_put_key(&o, STR("errorMessage"));
        json_put_str(&o, str_of(got->why));
        json_put_object_end(&o);
    }
    if (r->kind == RECEIVE_UPLOAD) {
        json_put_key(&o, STR("recognised"));
        json_put_str(&o, str_of(got->recognised));
        json_put_key(&o, STR("profiles"));
        json_put_i64(&o, (int64_t)got->doc.model.profiles.n);
        json_put_key(&o, STR("duplicates"));
        json_put_u64(&o, got->n_duplicates);
        if (got->damage[0]) {
            json_put_key(&o, STR("damage"));
            json_put_str(&o, str_of(got->damage));
        }
        json_put_key(&o, STR("service"));
        json_put_str(&o, str_of(got->service));
        json_put_key(&o, STR("first"));
        json_put_u64(&o, got->first);
        json_put_key(&o, STR("last"));
        json_put_u64(&o, got->last);
    }
    json_put_object_end(&o);
}

/* google.rpc.Status {1: code, 2: message, 3: details Any {1: type_url, 2: RetryInfo {1: Duration
 * {1: s, 2: ns}}}} */
static void put_status(buf *b, grpc_code code, str text, uint64_t retry_ns)
{
    pb_put_uint(b, 1, (uint64_t)code);
    pb_put_bytes(b, 2, text);
    if (!retry_ns) return;
    buf duration = {0}, info = {0}, detail = {0};
    if (retry_ns / NS_PER_S) pb_put_uint(&duration, 1, retry_ns / NS_PER_S);
    if (retry_ns % NS_PER_S) pb_put_uint(&duration, 2, retry_ns % NS_PER_S);
    pb_put_bytes(&info, 1, buf_view(&duration));
    pb_put_bytes(&detail, 1, STR("type.googleapis.com/google.rpc.RetryInfo"));
    pb_put_bytes(&detail, 2, buf_view(&info));
    pb_put_bytes(b, 3, buf_view(&detail));
    buf_free(&duration), buf_free(&info), buf_free(&detail);
}

static void put_status_json(buf *b, grpc_code code, str text)
{
    json_out o = {.b = b};
    json_put_object(&o);
    json_put_key(&o, STR("code"));
    json_put_i64(&o, (int64_t)code);
    json_put_key(&o, STR("message"));
    json_put_str(&o, text);
    json_put_object_end(&o);
}

static void add(http_header *to, size_t *n, str name, str value)
{
    to[(*n)++] = (http_header){name, value};
}

/* Adds headers that contain only names of Kiln's tables (see recognise) and numbers, never text of
 * a sender. */
static void add_recognised(const received *got, receive_reply *out)
{
    if (got->recognised[0])
        add(out->head, &out->n_head, STR("kiln-recognised"), str_of(got->recognised));
    if (!got->n_duplicates) return;
    snprintf(out->duplicates, sizeof out->duplicates, "%" PRIu64, got->n_duplicates);
    add(out->head, &out->n_head, STR("kiln-duplicates"), str_of(out->duplicates));
}

static void respond_grpc(grpc_code code, const received *got, str text, uint64_t retry_ns,
                         receive_reply *out)
{
    out->status = 200;
    add(out->head, &out->n_head, STR("content-type"), STR("application/grpc"));
    if (code == GRPC_OK) {
        add_recognised(got, out);
        uint8_t prefix[GRPC_PREFIX];
        buf message = {0};
        put_success(&message, got);
        grpc_put_prefix(prefix, false, (uint32_t)message.n);
        buf_put(&out->body, prefix, sizeof prefix);
        buf_str(&out->body, buf_view(&message));
        buf_free(&message);
    }
    snprintf(out->grpc_status, sizeof out->grpc_status, "%d", (int)code);
    add(out->trailers, &out->n_trailers, STR("grpc-status"), str_of(out->grpc_status));
    if (code == GRPC_OK) return;
    grpc_put_message_text(&out->text, text);
    add(out->trailers, &out->n_trailers, STR("grpc-message"), buf_view(&out->text));
    if (!retry_ns) return;
    buf status = {0};
    put_status(&status, code, text, retry_ns);
    base64_encode(&out->details, buf_view(&status));
    add(out->trailers, &out->n_trailers, STR("grpc-status-details-bin"), buf_view(&out->details));
    buf_free(&status);
}

static void respond_http(const receive_route *r, unsigned status, grpc_code code,
                         const received *got, str text, uint64_t retry_ns, receive_reply *out)
{
    str type = r->json ? STR("application/json") : STR("application/x-protobuf");
    out->status = status;
    if (r->dialect) type = r->dialect->write(r, code, text, &out->status, &out->body);
    if (type.n) add(out->head, &out->n_head, STR("content-type"), type);
    if (code == GRPC_OK) add_recognised(got, out);
    if (r->dialect)
        ; /* the body is written */
    else if (code == GRPC_OK && r->json)
        put_success_json(r, &out->body, got);
    else if (code == GRPC_OK)
        put_success(&out->body, got);
    else if (r->json)
        put_status_json(&out->body, code, text);
    else
        put_status(&out->body, code, text, retry_ns);
    if (retry_ns && status != 200) {
        snprintf(out->retry_after, sizeof out->retry_after, "%" PRIu64,
                 (retry_ns - 1) / NS_PER_S + 1);
        add(out->head, &out->n_head, STR("retry-after"), str_of(out->retry_after));
    }
    /* Browsers ask for a password where Basic is offered, so the page's uploads do not offer it. */
    if (status == 401)
        add(out->head, &out->n_head, STR("www-authenticate"),
            r->dialect ? STR("Basic realm=\"kiln\", Bearer") : STR("Bearer"));
    if (status == 405) add(out->head, &out->n_head, STR("allow"), STR("POST"));
}

void receive_respond(const receive_route *r, verdict v, const received *got, const err *why,
                     uint64_t retry_ns, receive_reply *out)
{
    char text[sizeof why->msg + sizeof why->path + 64];
    size_t i = 0;
    *out = (receive_reply){0};
    while (words[i].v != v) i++;
    bool later = v == VERDICT_OVERLOADED || v == VERDICT_UNAVAILABLE;
    if (v != VERDICT_ACCEPTED) err_text_plain(why, text, sizeof text);
    str logged = v == VERDICT_ACCEPTED ? (str){0} : str_of(text);
    if (r->grpc)
        respond_grpc(words[i].grpc, got, logged, later ? retry_ns : 0, out);
    else
        respond_http(r, words[i].http, words[i].grpc, got, logged, later ? retry_ns : 0, out);
}

void receive_reply_free(receive_reply *r)
{
    buf_free(&r->body), buf_free(&r->text), buf_free(&r->details);
}
