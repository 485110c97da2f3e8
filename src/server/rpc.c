/* Reads calls of Connect, gRPC and gRPC-Web, and sends their errors (rpc.h).  Pyroscope's services
 * and health checks use it. */
#include "server/rpc.h"

#include "otlp/receive.h"
#include "wire/otlp_json.h"
#include "base/ban.h"
#include <strings.h>

enum { WEB_TRAILER = 0x80 };

/* ---- recognising calls ---- */

/* Content types, and the dialect of each. */
static const struct {
    const char *type;
    rpc_dialect dialect;
} types[] = {
    {"application/proto", RPC_CONNECT},     {"application/json", RPC_CONNECT_JSON},
    {"application/grpc", RPC_GRPC},         {"application/grpc+proto", RPC_GRPC},
    {"application/grpc-web", RPC_GRPC_WEB}, {"application/grpc-web+proto", RPC_GRPC_WEB},
};

rpc_dialect rpc_dialect_of(const http_message *m)
{
    str sent = http_headers_get(&m->head, "content-type");
    const char *end = sent.n ? memchr(sent.p, ';', sent.n) : NULL; /* a charset is ignored */
    size_t n = end ? (size_t)(end - sent.p) : sent.n;
    while (n && sent.p[n - 1] == ' ') n--;
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (n == strlen(types[i].type) && !strncasecmp(types[i].type, sent.p, n))
            return types[i].dialect;
    return RPC_NONE;
}

static void reply_empty(http_exchange *x, unsigned status, const char *name, const char *value)
{
    http_header head = {str_of(name), str_of(value)};
    http_respond(x, &(http_response){.status = status, .head = &head, .n_head = 1});
}

bool rpc_reject(http_exchange *x)
{
    const http_message *m = http_exchange_message(x);
    rpc_dialect d = rpc_dialect_of(m);
    err e = {0};
    if (!str_eq(m->method, STR("POST")))
        reply_empty(x, 405, "allow", "POST");
    else if (d == RPC_NONE)
        reply_empty(x, 415, "accept-post",
                    "application/json, application/proto, "
                    "application/grpc, application/grpc-web+proto");
    else if (d == RPC_GRPC && !http_exchange_h2(x))
        reply_empty(x, 505, "upgrade", "h2c"); /* its status is in trailers */
    else if (!receive_knows_coding(m, rpc_framed(d), &e))
        rpc_reply_error(x, GRPC_UNIMPLEMENTED, str_of(e.msg), 0);
    else
        return false;
    return true;
}

/* ---- reading ---- */

/* The body of an incomplete request is empty, which would be a valid message. */
static bool is_complete(const http_message *m, err *e)
{
    if (m->failure == HTTP_TOO_LARGE)
        return err_set(e, ERR_LIMIT, "the request is larger than the limit of %zu bytes",
                       m->body.limit);
    return !m->failure || err_set(e, ERR_BUSY, "too much data is being sent at once");
}

static bool read_json(const message_desc *request, str body, size_t max, arena *a, str *out, err *e)
{
    json j = json_open(body.p, body.n, a, e);
    buf b = {.limit = max};
    bool ok = request ? otlp_json_read_message(&j, request, &b, NULL)
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

bool rpc_read(const http_message *m, const message_desc *request, size_t max, arena *a, str *out,
              err *e)
{
    str body;
    const rpc_dialect d = rpc_dialect_of(m);
    if (!is_complete(m, e)) return false;
    if (rpc_framed(d)) {
        if (receive_open_grpc(m, max, a, &body, e) != VERDICT_ACCEPTED) return false;
    } else if (receive_open_body(m, max, a, &body, e) != VERDICT_ACCEPTED) {
        return false;
    }
    if (d == RPC_CONNECT_JSON) return read_json(request, body, max, a, out, e);
    char *copy = arena_array(a, body.n + 1, 1); /* the client may go while the call runs */
    if (!copy) return err_memory(e);
    if (body.n) memcpy(copy, body.p, body.n);
    *out = (str){copy, body.n};
    return true;
}

/* ---- frames ---- */

static void put_frame(buf *out, uint8_t first, str bytes)
{
    uint8_t prefix[GRPC_PREFIX];
    grpc_put_prefix(prefix, false, (uint32_t)bytes.n);
    prefix[0] = first;
    buf_put(out, prefix, sizeof prefix);
    buf_str(out, bytes);
}

void rpc_put_frame(buf *out, bool packed, str message) { put_frame(out, packed, message); }

void rpc_put_web_status(buf *out, grpc_code code, str text)
{
    buf b = {0}, encoded = {0};
    grpc_put_message_text(&encoded, text);
    buf_printf(&b, "grpc-status: %d\r\n", (int)code);
    if (text.n) buf_printf(&b, "grpc-message: %.*s\r\n", STR_ARG(buf_view(&encoded)));
    put_frame(out, WEB_TRAILER, buf_view(&b));
    buf_free(&b);
    buf_free(&encoded);
}

/* ---- errors ---- */

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

grpc_code rpc_code_of(const err *e)
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

static void reply_web(http_exchange *x, grpc_code code, str text)
{
    buf b = {0};
    http_header head = {STR("content-type"), STR("application/grpc-web+proto")};
    rpc_put_web_status(&b, code, text);
    http_respond(x, &(http_response){.status = 200, .head = &head, .n_head = 1, .body = &b});
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
    http_header head[5] = {{STR("content-type"), STR("application/json")},
                           {STR("cache-control"), STR("no-store")},
                           {STR("x-content-type-options"), STR("nosniff")}};
    size_t n = 3;
    if (retry) head[n++] = (http_header){STR("retry-after"), str_of(seconds)};
    if (code == GRPC_UNAUTHENTICATED)
        head[n++] = (http_header){STR("www-authenticate"), STR("Basic realm=\"kiln\", Bearer")};
    http_respond(
        x, &(http_response){.status = codes[code].status, .head = head, .n_head = n, .body = &b});
}

void rpc_reply_error(http_exchange *x, grpc_code code, str text, unsigned retry)
{
    rpc_dialect d = rpc_dialect_of(http_exchange_message(x));
    if (d == RPC_GRPC && http_exchange_h2(x))
        reply_grpc(x, code, text);
    else if (d == RPC_GRPC_WEB)
        reply_web(x, code, text);
    else
        reply_connect(x, code, text, retry);
}
