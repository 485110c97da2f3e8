/* Reads calls of Pyroscope's services, runs their methods, and encodes responses in the dialect of
 * the call (rpc.h). */
#include "server/pyroscope.h"

#include "format/pprof.h"
#include "pyroscope/label.h"
#include "server/pyroscope_methods.h"
#include "wire/compress.h"
#include "wire/otlp_json.h"
#include "wire/pb.h"
#include "base/ban.h"
#include <stdlib.h>
#include <strings.h>

#define QUERIER "/querier.v1.QuerierService/"
#define PUSHER "/push.v1.PusherService/"
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
    PUSHER,
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
    if (str_eq(path_of(m), STR(PUSHER "Push"))) return false; /* pyroscope_ingest.c */
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

static rpc_dialect dialect_of(const http_message *m)
{
    const pyro_method *known = method_of(m);
    return known && known->plain ? RPC_NONE : rpc_dialect_of(m);
}

/* ---- reading ---- */

/* After decompression. */
static size_t max_message(const pyro_method *m) { return m->large ? PYRO_LARGE : 1 << 20; }

size_t pyroscope_max_body(const http_message *m)
{
    const pyro_method *known = method_of(m);
    return known && known->large ? PYRO_LARGE : PYRO_SMALL;
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
    c->utf8 = pyro_label_utf8_accepted(http_headers_get(&m->head, "accept"));
    k->call = c;
    k->file = SPILL_NONE;
    k->max_bytes = QUERY_MAX_BYTES;
    k->takes_gzip = !rpc_framed(c->dialect) && k->takes_gzip;
    take_timeout(k, m);
    return c->dialect == RPC_NONE ||
           (rpc_read(m, c->method->request, max_message(c->method), k->a, &c->message, e) &&
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

static bool to_frames(query *k, err *e)
{
    buf out = {0}, packed = {0};
    bool pack = k->call->packs && k->body.n >= QUERY_PACK;
    if (pack && !pack_quick(CODEC_GZIP, buf_view(&k->body), &packed, e)) {
        buf_free(&packed);
        return false;
    }
    rpc_put_frame(&out, pack, buf_view(pack ? &packed : &k->body));
    buf_free(&packed);
    if (k->call->dialect == RPC_GRPC_WEB) rpc_put_web_status(&out, GRPC_OK, STR(""));
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
    case RPC_CONNECT: k->type = "application/proto"; return true;
    case RPC_CONNECT_JSON: k->type = "application/json"; return to_json(k, e);
    case RPC_GRPC: k->type = "application/grpc+proto"; return to_frames(k, e);
    case RPC_GRPC_WEB: k->type = "application/grpc-web+proto"; return to_frames(k, e);
    case RPC_NONE: break;
    }
    if (!k->type) k->type = "application/json";
    return true;
}

/* ---- responses ---- */

void pyroscope_reply(http_exchange *x, const query *k, buf *body, spill *file)
{
    http_header head[8] = {{STR("content-type"), str_of(k->type)},
                           {STR("cache-control"), STR("no-store")},
                           {STR("x-content-type-options"), STR("nosniff")}},
                trailer = {STR("grpc-status"), STR("0")};
    size_t n = 3;
    const rpc_dialect dialect = dialect_of(http_exchange_message(x)); /* k->call is freed */
    bool framed = rpc_framed(dialect);
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
                                     .n_trailers = dialect == RPC_GRPC});
}

void pyroscope_reply_error(http_exchange *x, const err *e, unsigned retry)
{
    char text[400];
    rpc_reply_error(x, rpc_code_of(e), str_of(err_text_plain(e, text, sizeof text)), retry);
}

void pyroscope_reply_refused(http_exchange *x, bool foreign, const char *why)
{
    rpc_reply_error(x, foreign ? GRPC_PERMISSION_DENIED : GRPC_UNAUTHENTICATED, str_of(why), 0);
}

bool pyroscope_reject(http_exchange *x)
{
    const http_message *m = http_exchange_message(x);
    const pyro_method *known = method_of(m);
    if (known && known->plain) {
        if (str_eq(m->method, STR("GET")) || str_eq(m->method, STR("HEAD"))) return false;
        http_header allow = {STR("allow"), STR("GET, HEAD")};
        http_respond(x, &(http_response){.status = 405, .head = &allow, .n_head = 1});
        return true;
    }
    if (rpc_reject(x)) return true;
    if (known) return false;
    rpc_reply_error(x, GRPC_UNIMPLEMENTED, STR("unknown method"), 0);
    return true;
}
