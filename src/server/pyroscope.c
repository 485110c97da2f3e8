/* Reads calls in four dialects, runs their methods, and encodes responses and errors in the dialect
 * of the call. */
#include "server/pyroscope.h"

#include "format/pprof.h"
#include "net/grpc.h"
#include "otlp/receive.h"
#include "server/pyroscope_methods.h"
#include "wire/compress.h"
#include "wire/otlp_json.h"
#include "wire/pb.h"
#include "base/ban.h"
#include <stdlib.h>
#include <strings.h>

enum { WEB_TRAILER = 0x80 };

#define QUERIER "/querier.v1.QuerierService/"
/* clang-format off */
#define CALL(path, run, request, response) {path, run, request, response, false, false, false, false}
#define PLAIN(path, run) {path, run, NULL, NULL, true, false, false, false}
#define SETTING(name, run, request, response, changes)                                             \
    {"/settings.v1.SettingsService/" name, run, request, response, false, true, changes, false}
#define ADHOC(name, run, request, response, changes)                                               \
    {"/adhocprofiles.v1.AdHocProfileService/" name, run, request, response, false, true, changes, changes}
/* clang-format on */

static const pyro_method methods[] = {
    CALL(QUERIER "ProfileTypes", pyro_profile_types, &pyro_time_range,
         &pyro_profile_types_response),
    CALL(QUERIER "LabelNames", pyro_get_label_names, &pyro_label_names, &pyro_names_response),
    CALL(QUERIER "LabelValues", pyro_get_label_values, &pyro_label_values, &pyro_names_response),
    CALL(QUERIER "Series", pyro_get_series, &pyro_series, &pyro_series_response),
    CALL(QUERIER "SelectSeries", pyro_select_points, &pyro_select_series,
         &pyro_select_series_response),
    CALL(QUERIER "SelectMergeStacktraces", pyro_merge_stacktraces, &pyro_stacktraces,
         &pyro_stacktraces_response),
    CALL(QUERIER "SelectMergeSpanProfile", pyro_merge_stacktraces, &pyro_span_profile,
         &pyro_stacktraces_response),
    CALL(QUERIER "SelectMergeProfile", pyro_merge_profile_of, &pyro_merge_profile, &pprof_profile),
    CALL(QUERIER "Diff", pyro_get_diff, &pyro_diff, &pyro_diff_response),
    CALL(QUERIER "SelectHeatmap", pyro_select_heat, &pyro_select_heatmap, &pyro_heatmap_response),
    CALL(QUERIER "GetProfileStats", pyro_get_profile_stats, NULL, &pyro_stats_response),
    CALL("/version.v1.Version/Version", pyro_version, NULL, &pyro_version_response),
    CALL("/capabilities.v1.FeatureFlagsService/GetFeatureFlags", pyro_nothing, NULL,
         &pyro_empty_response),
    CALL("/settings.v1.RecordingRulesService/ListRecordingRules", pyro_nothing, NULL,
         &pyro_empty_response),
    CALL(QUERIER "AnalyzeQuery", pyro_analyze, &pyro_analyze_query, &pyro_analyze_response),
    SETTING("Get", pyro_get_settings, NULL, &pyro_settings_response, false),
    SETTING("Set", pyro_put_setting, &pyro_set_setting, &pyro_setting_response, true),
    SETTING("Delete", pyro_remove_setting, &pyro_delete_setting, &pyro_empty_response, true),
    ADHOC("Upload", pyro_adhoc_put, &pyro_adhoc_upload, &pyro_adhoc_response, true),
    ADHOC("Get", pyro_adhoc_draw, &pyro_adhoc_get, &pyro_adhoc_response, false),
    ADHOC("List", pyro_adhoc_all, NULL, &pyro_adhoc_list_response, false),
    ADHOC("Diff", pyro_adhoc_compare, &pyro_adhoc_diff, &pyro_adhoc_diff_response, false),
    PLAIN("/pyroscope/render", pyro_render),
    PLAIN("/pyroscope/render-diff", pyro_render_diff),
    PLAIN("/pyroscope/label-values", pyro_render_label_values),
    PLAIN("/api/v1/status/buildinfo", pyro_buildinfo),
};

static const char *const services[] = {
    QUERIER,
    "/settings.v1.SettingsService/",
    "/settings.v1.RecordingRulesService/",
    "/adhocprofiles.v1.AdHocProfileService/",
    "/version.v1.Version/",
    "/capabilities.v1.FeatureFlagsService/",
    "/vcs.v1.VCSService/",
};

/* ---- recognising calls ---- */

static str path_of(const http_message *m)
{
    const char *end = m->path.n ? memchr(m->path.p, '?', m->path.n) : NULL;
    return (str){m->path.p, end ? (size_t)(end - m->path.p) : m->path.n};
}

static const pyro_method *method_of(const http_message *m)
{
    str path = path_of(m);
    for (size_t i = 0; i < ARRAY_LEN(methods); i++)
        if (str_eq(path, str_of(methods[i].path))) return &methods[i];
    return NULL;
}

bool pyroscope_has(const http_message *m)
{
    for (size_t i = 0; i < ARRAY_LEN(services); i++)
        if (str_starts(m->path, str_of(services[i]))) return true;
    const pyro_method *known = method_of(m);
    return known && known->plain;
}

bool pyroscope_changes(const http_message *m)
{
    const pyro_method *known = method_of(m);
    return known && known->changes;
}

/* Content types, and the dialect of each. */
static const struct {
    const char *type;
    pyro_dialect dialect;
} types[] = {
    {"application/proto", PYRO_CONNECT},     {"application/json", PYRO_CONNECT_JSON},
    {"application/grpc", PYRO_GRPC},         {"application/grpc+proto", PYRO_GRPC},
    {"application/grpc-web", PYRO_GRPC_WEB}, {"application/grpc-web+proto", PYRO_GRPC_WEB},
};

/* Returns the content type in `types`, or NULL.  A charset is ignored. */
static const char *type_of(const http_message *m, pyro_dialect *out)
{
    str sent = http_headers_get(&m->head, "content-type");
    const char *end = sent.n ? memchr(sent.p, ';', sent.n) : NULL;
    size_t n = end ? (size_t)(end - sent.p) : sent.n;
    while (n && sent.p[n - 1] == ' ') n--;
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (n == strlen(types[i].type) && !strncasecmp(types[i].type, sent.p, n))
            return *out = types[i].dialect, types[i].type;
    return NULL;
}

static pyro_dialect dialect_of(const http_message *m)
{
    pyro_dialect d;
    const pyro_method *known = method_of(m);
    if (known && known->plain) return PYRO_PLAIN;
    return type_of(m, &d) ? d : PYRO_CONNECT;
}

/* ---- reading ---- */

/* After decompression. */
static size_t max_message(const pyro_method *m) { return m->large ? PYRO_LARGE : 1 << 20; }

size_t pyroscope_max_body(const http_message *m)
{
    const pyro_method *known = method_of(m);
    return known && known->large ? PYRO_LARGE : PYRO_SMALL;
}

static bool read_json(const pyro_method *m, str body, arena *a, str *out, err *e)
{
    json j = json_open(body.p, body.n, a, e);
    buf b = {.limit = max_message(m)};
    bool ok = m->request ? otlp_json_read_message(&j, m->request, &b, NULL)
                         : json_skip_value(&j); /* a message without fields */
    if (ok && json_finish(&j)) {
        char *copy = arena_array(a, b.n + 1, 1);
        if (copy && b.n) memcpy(copy, b.p, b.n);
        *out = (str){copy, b.n};
        ok = copy || err_memory(e);
    } else if (!e->code) {
        err_set(e, ERR_MALFORMED, "the body is not a JSON object");
    }
    buf_free(&b);
    return ok && !e->code;
}

/* The body of an incomplete request is empty, which would be a valid message. */
static bool is_complete(const http_message *m, err *e)
{
    if (m->failure == HTTP_TOO_LARGE)
        return err_set(e, ERR_LIMIT, "the request is larger than the limit of %zu bytes",
                       m->body.limit);
    return !m->failure || err_set(e, ERR_BUSY, "too much data is being sent at once");
}

static bool read_message(const http_message *m, arena *a, pyro_call *out, err *e)
{
    str body;
    const size_t max = max_message(out->method);
    bool framed = out->dialect == PYRO_GRPC || out->dialect == PYRO_GRPC_WEB;
    if (!is_complete(m, e)) return false;
    if (framed) return receive_open_grpc(m, max, a, &out->message, e) == VERDICT_ACCEPTED;
    if (receive_open_body(m, max, a, &body, e) != VERDICT_ACCEPTED) return false;
    if (out->dialect == PYRO_CONNECT_JSON) return read_json(out->method, body, a, &out->message, e);
    char *copy = arena_array(a, body.n + 1, 1); /* the client may go while the query runs */
    if (!copy) return err_memory(e);
    if (body.n) memcpy(copy, body.p, body.n);
    out->message = (str){copy, body.n};
    return true;
}

static bool flag_in(str header, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i + n <= header.n; i++)
        if (!strncasecmp(header.p + i, name, n)) return true;
    return false;
}

static void take_timeout(query *k, const http_message *m)
{
    uint64_t ns = 0;
    char digits[16];
    str connect = http_headers_get(&m->head, "connect-timeout-ms"),
        grpc = http_headers_get(&m->head, "grpc-timeout");
    if (connect.n && connect.n <= 10) {
        snprintf(digits, sizeof digits, "%.*s", STR_ARG(connect));
        ns = strtoull(digits, NULL, 10) * NS_PER_MS;
    } else if (grpc.n && !grpc_timeout_parse(grpc, &ns)) {
        ns = 0;
    }
    if (ns && ns < k->budget.max_ns) k->budget.max_ns = ns;
}

bool pyroscope_read(query *k, const http_message *m, err *e)
{
    pyro_call *c = arena_new(k->a, pyro_call, 1);
    if (!c) return err_memory(e);
    *c = (pyro_call){.method = method_of(m), .dialect = dialect_of(m)};
    c->packs = flag_in(http_headers_get(&m->head, "grpc-accept-encoding"), "gzip");
    c->utf8 = flag_in(http_headers_get(&m->head, "accept"), "allow-utf8-labelnames=true");
    k->call = c;
    k->file = SPILL_NONE;
    k->max_bytes = QUERY_MAX_BYTES;
    k->takes_gzip = c->dialect <= PYRO_CONNECT_JSON && k->takes_gzip;
    take_timeout(k, m);
    return c->dialect == PYRO_PLAIN ||
           (read_message(m, k->a, c, e) &&
            pyro_request_read(c->method->request, c->message, k->a, &c->r, e));
}

/* ---- running ---- */

static bool replace(query *k, buf *with, err *e)
{
    if (with->failed) {
        buf_free(with);
        return err_set(e, ERR_LIMIT, "the response is larger than %zu bytes", k->max_bytes);
    }
    buf_free(&k->body);
    k->body = *with;
    return true;
}

static bool to_json(query *k, err *e)
{
    buf out = {.limit = k->max_bytes};
    if (otlp_message_to_json(k->body.p, k->body.n, k->call->method->response, NULL, &out, e))
        return replace(k, &out, e);
    buf_free(&out);
    return false;
}

static void put_frame(buf *out, uint8_t first, str bytes)
{
    uint8_t prefix[GRPC_PREFIX];
    grpc_put_prefix(prefix, false, (uint32_t)bytes.n);
    prefix[0] = first;
    buf_put(out, prefix, sizeof prefix);
    buf_str(out, bytes);
}

static void put_web_trailer(buf *out, grpc_code code, str text)
{
    buf b = {0}, encoded = {0};
    grpc_put_message_text(&encoded, text);
    buf_printf(&b, "grpc-status: %d\r\n", (int)code);
    if (text.n) buf_printf(&b, "grpc-message: %.*s\r\n", STR_ARG(buf_view(&encoded)));
    put_frame(out, WEB_TRAILER, buf_view(&b));
    buf_free(&b);
    buf_free(&encoded);
}

static bool to_frames(query *k, err *e)
{
    buf out = {0}, packed = {0};
    bool pack = k->call->packs && k->body.n >= QUERY_PACK;
    if (pack && !pack_quick(CODEC_GZIP, buf_view(&k->body), &packed, e)) {
        buf_free(&packed);
        return false;
    }
    put_frame(&out, pack, buf_view(pack ? &packed : &k->body));
    buf_free(&packed);
    if (k->call->dialect == PYRO_GRPC_WEB) put_web_trailer(&out, GRPC_OK, STR(""));
    k->packed = pack;
    return replace(k, &out, e);
}

static bool has_field(const message_desc *d, uint32_t number)
{
    return d && message_field(d, number) != NULL;
}

bool pyroscope_run(query *k, err *e)
{
    const pyro_call *c = k->call;
    k->body.limit = k->max_bytes;
    if (!c->method->run(k, e)) return e->code ? false : err_memory(e);
    if (!stopper_now(k->stop, e)) return false;
    if (k->scanned.partial && has_field(c->method->response, PYRO_PARTIAL))
        pb_put_bytes(&k->body, PYRO_PARTIAL, str_of(k->scanned.why));
    if (k->body.failed)
        return err_set(e, ERR_LIMIT, "the response is larger than %zu bytes", k->max_bytes);
    switch (c->dialect) {
    case PYRO_CONNECT: k->type = "application/proto"; return true;
    case PYRO_CONNECT_JSON: k->type = "application/json"; return to_json(k, e);
    case PYRO_GRPC: k->type = "application/grpc+proto"; return to_frames(k, e);
    case PYRO_GRPC_WEB: k->type = "application/grpc-web+proto"; return to_frames(k, e);
    case PYRO_PLAIN: break;
    }
    if (!k->type) k->type = "application/json";
    return true;
}

/* ---- responses ---- */

#define COMMON_HEAD                                                                                \
    {STR("cache-control"), STR("no-store")}, { STR("x-content-type-options"), STR("nosniff") }

void pyroscope_reply(http_exchange *x, const query *k, buf *body, spill *file)
{
    const http_header common[] = {COMMON_HEAD};
    http_header head[8] = {{STR("content-type"), str_of(k->type)}, common[0], common[1]},
                trailer = {STR("grpc-status"), STR("0")};
    size_t n = 3;
    const pyro_dialect dialect = dialect_of(http_exchange_message(x)); /* k->call is freed */
    bool grpc = dialect == PYRO_GRPC, framed = grpc || dialect == PYRO_GRPC_WEB;
    if (k->packed)
        head[n++] =
            (http_header){framed ? STR("grpc-encoding") : STR("content-encoding"), STR("gzip")};
    if (!framed) head[n++] = (http_header){STR("vary"), STR("accept, accept-encoding")};
    if (k->scanned.partial) head[n++] = (http_header){STR("kiln-partial"), str_of(k->scanned.why)};
    http_respond(x, &(http_response){.status = 200,
                                     .head = head,
                                     .n_head = n,
                                     .body = body,
                                     .file = file,
                                     .trailers = &trailer,
                                     .n_trailers = grpc});
}

/* Connect's name and HTTP status of each code. */
static const struct {
    const char *name;
    unsigned status;
} codes[] = {
    [GRPC_OK] = {"ok", 200},
    [GRPC_CANCELLED] = {"canceled", 499},
    [GRPC_UNKNOWN] = {"unknown", 500},
    [GRPC_INVALID_ARGUMENT] = {"invalid_argument", 400},
    [GRPC_DEADLINE_EXCEEDED] = {"deadline_exceeded", 504},
    [GRPC_NOT_FOUND] = {"not_found", 404},
    [GRPC_ALREADY_EXISTS] = {"already_exists", 409},
    [GRPC_PERMISSION_DENIED] = {"permission_denied", 403},
    [GRPC_RESOURCE_EXHAUSTED] = {"resource_exhausted", 429},
    [GRPC_FAILED_PRECONDITION] = {"failed_precondition", 400},
    [GRPC_ABORTED] = {"aborted", 409},
    [GRPC_OUT_OF_RANGE] = {"out_of_range", 400},
    [GRPC_UNIMPLEMENTED] = {"unimplemented", 501},
    [GRPC_INTERNAL] = {"internal", 500},
    [GRPC_UNAVAILABLE] = {"unavailable", 503},
    [GRPC_DATA_LOSS] = {"data_loss", 500},
    [GRPC_UNAUTHENTICATED] = {"unauthenticated", 401},
};

static grpc_code code_of(const err *e)
{
    switch (e->code) {
    case ERR_USAGE:
    case ERR_MISMATCH:
    case ERR_MALFORMED: return GRPC_INVALID_ARGUMENT;
    case ERR_UNSUPPORTED: return GRPC_NOT_FOUND;
    case ERR_LIMIT:
    case ERR_MEMORY: return GRPC_RESOURCE_EXHAUSTED;
    case ERR_BUSY: return GRPC_UNAVAILABLE;
    default: return GRPC_INTERNAL;
    }
}

static void reply_grpc(http_exchange *x, grpc_code code, str text)
{
    char status[4];
    buf encoded = {0};
    snprintf(status, sizeof status, "%d", (int)code);
    grpc_put_message_text(&encoded, text);
    http_header head = {STR("content-type"), STR("application/grpc+proto")},
                trailers[] = {{STR("grpc-status"), str_of(status)},
                              {STR("grpc-message"), buf_view(&encoded)}};
    http_respond(
        x, &(http_response){
               .status = 200, .head = &head, .n_head = 1, .trailers = trailers, .n_trailers = 2});
    buf_free(&encoded);
}

static void reply_connect(http_exchange *x, grpc_code code, str text, unsigned retry)
{
    buf b = {0};
    char seconds[16];
    json_out o = {.b = &b};
    json_put_object(&o);
    json_put_key(&o, STR("code"));
    json_put_str(&o, str_of(codes[code].name));
    json_put_key(&o, STR("message"));
    json_put_str(&o, text);
    json_put_object_end(&o);
    snprintf(seconds, sizeof seconds, "%u", retry);
    http_header head[5] = {{STR("content-type"), STR("application/json")}, COMMON_HEAD};
    size_t n = 3;
    if (retry) head[n++] = (http_header){STR("retry-after"), str_of(seconds)};
    if (code == GRPC_UNAUTHENTICATED)
        head[n++] = (http_header){STR("www-authenticate"), STR("Basic realm=\"kiln\", Bearer")};
    http_respond(
        x, &(http_response){.status = codes[code].status, .head = head, .n_head = n, .body = &b});
}

static void reply_code(http_exchange *x, grpc_code code, str text, unsigned retry)
{
    pyro_dialect d = dialect_of(http_exchange_message(x));
    if (d == PYRO_GRPC && http_exchange_h2(x)) {
        reply_grpc(x, code, text);
    } else if (d == PYRO_GRPC_WEB) {
        buf b = {0};
        http_header head = {STR("content-type"), STR("application/grpc-web+proto")};
        put_web_trailer(&b, code, text);
        http_respond(x, &(http_response){.status = 200, .head = &head, .n_head = 1, .body = &b});
    } else {
        reply_connect(x, code, text, retry);
    }
}

void pyroscope_reply_error(http_exchange *x, const err *e, unsigned retry)
{
    char text[400];
    reply_code(x, code_of(e), str_of(err_text_plain(e, text, sizeof text)), retry);
}

void pyroscope_reply_refused(http_exchange *x, bool foreign, const char *why)
{
    reply_code(x, foreign ? GRPC_PERMISSION_DENIED : GRPC_UNAUTHENTICATED, str_of(why), 0);
}

static void reply_empty(http_exchange *x, unsigned status, const char *name, const char *value)
{
    http_header head = {str_of(name), str_of(value)};
    http_respond(x, &(http_response){.status = status, .head = &head, .n_head = 1});
}

bool pyroscope_reject(http_exchange *x)
{
    const http_message *m = http_exchange_message(x);
    const pyro_method *known = method_of(m);
    pyro_dialect d;
    bool plain = known && known->plain, get = str_eq(m->method, STR("GET"));
    if (plain ? !get && !str_eq(m->method, STR("HEAD")) : !str_eq(m->method, STR("POST")))
        return reply_empty(x, 405, "allow", plain ? "GET, HEAD" : "POST"), true;
    if (plain) return false;
    if (!type_of(m, &d))
        return reply_empty(x, 415, "accept-post",
                           "application/json, application/proto, "
                           "application/grpc, application/grpc-web+proto"),
               true;
    if (d == PYRO_GRPC && !http_exchange_h2(x))
        return reply_empty(x, 505, "upgrade", "h2c"), true; /* its status is in trailers */
    if (!known) return reply_code(x, GRPC_UNIMPLEMENTED, STR("unknown method"), 0), true;
    return false;
}
