/* Connects Pyroscope's senders to ingest.c: routes, bodies and the form of responses. Decoding is in
 * src/pyroscope. */
#include "server/pyroscope_ingest.h"

#include "pyroscope/ingest.h"
#include "pyroscope/messages.h"
#include "pyroscope/push.h"
#include "server/rpc.h"
#include "wire/json.h"
#include "wire/otlp_json.h"
#include "base/ban.h"
#include <strings.h>

static str path_of(str target)
{
    const char *q = target.n ? memchr(target.p, '?', target.n) : NULL;
    return q ? (str){target.p, (size_t)(q - target.p)} : target;
}

static bool has_type(const http_message *m, const char *type)
{
    str v = http_headers_get(&m->head, "content-type");
    size_t n = strlen(type);
    return v.n >= n && !strncasecmp(v.p, type, n) && (v.n == n || v.p[n] == ';' || v.p[n] == ' ');
}

static bool is_web(const http_message *m)
{
    return has_type(m, "application/grpc-web") || has_type(m, "application/grpc-web+proto");
}

/* ---- reading ---- */

static verdict failed(const err *e)
{
    return err_exhausted(e) ? VERDICT_TOO_LARGE : VERDICT_MALFORMED;
}

static verdict open_body(const http_message *m, size_t max, arena *a, str *out, err *e)
{
    if (str_eq(m->method, STR("POST"))) return receive_open_body(m, max, a, out, e);
    err_set(e, ERR_UNSUPPORTED, "send profiles with POST");
    return VERDICT_METHOD;
}

/* Converts PushRequest in JSON to protobuf. */
static verdict push_of_json(str text, size_t max, arena *a, str *out, err *e)
{
    json j = json_open(text.p, text.n, a, e);
    buf b = {.limit = max};
    bool ok = otlp_json_read_message(&j, &pyro_push, &b, NULL) && json_finish(&j);
    char *copy = ok ? arena_array(a, b.n, 1) : NULL;
    if (ok && !copy) arena_spent(a, e);
    if (copy && b.n) memcpy(copy, b.p, b.n);
    *out = (str){copy, copy ? b.n : 0};
    if (b.failed && !e->code) err_set(e, ERR_LIMIT, "%zu bytes exceed the limit", b.n);
    if (!copy && !e->code) err_set(e, ERR_MALFORMED, "the body is not a JSON object");
    buf_free(&b);
    return copy ? VERDICT_ACCEPTED : failed(e);
}

static void put_recognised(received *out, const char *what)
{
    out->n_items = out->doc.model.profiles.n;
    snprintf(out->recognised, sizeof out->recognised, "pyroscope %s", what);
}

static verdict read_ingest(const receive_route *r, const http_message *m, const receive_opts *o,
                           arena *a, received *out, err *e)
{
    pyro_ingested got;
    str path = path_of(m->path), body;
    (void)r;
    verdict v = open_body(m, o->max_message, a, &body, e);
    if (v != VERDICT_ACCEPTED) return v;
    size_t at = path.n + (path.n < m->path.n);
    pyro_ingest in = {.query = {m->path.p + at, m->path.n - at},
                      .content_type = http_headers_get(&m->head, "content-type"),
                      .body = body,
                      .now = o->arrival,
                      .max_bytes = o->max_message};
    if (!pyro_ingest_read(&in, o->ledger, a, &got, e)) return failed(e);
    out->doc.model = got.model;
    put_recognised(out, got.form);
    return VERDICT_ACCEPTED;
}

static verdict read_push(const receive_route *r, const http_message *m, const receive_opts *o,
                         arena *a, received *out, err *e)
{
    str message;
    bool framed = r->grpc || is_web(m);
    if (!framed && !r->json && !has_type(m, "application/proto")) {
        err_set(e, ERR_UNSUPPORTED, "send application/proto, application/json or gRPC");
        return VERDICT_MEDIA;
    }
    verdict v = framed ? receive_open_grpc(m, o->max_message, a, &message, e)
                       : open_body(m, o->max_message, a, &message, e);
    if (v == VERDICT_ACCEPTED && r->json) v = push_of_json(message, o->max_message, a, &message, e);
    if (v != VERDICT_ACCEPTED) return v;
    push_request in = {.message = message, .now = o->arrival, .max_bytes = o->max_message};
    if (!push_request_read(&in, o->ledger, a, &out->doc.model, e)) return failed(e);
    put_recognised(out, "push");
    return VERDICT_ACCEPTED;
}

/* ---- responding ---- */

/* Writes {"code":"invalid_argument","message":"..."}: Connect's names are gRPC's in lower case. */
static str write_error(grpc_code code, str text, buf *body)
{
    char name[32];
    json_out o = {.b = body};
    snprintf(name, sizeof name, "%s", grpc_code_name(code));
    for (char *c = name; *c; c++)
        if (*c >= 'A' && *c <= 'Z') *c = (char)(*c | 0x20);
    json_put_object(&o);
    json_put_key(&o, STR("code"));
    json_put_str(&o, code == GRPC_CANCELLED ? STR("canceled") : str_of(name));
    json_put_key(&o, STR("message"));
    json_put_str(&o, text);
    json_put_object_end(&o);
    return STR("application/json");
}

static str write_ingest(const receive_route *r, grpc_code code, str text, unsigned *status,
                        buf *body)
{
    (void)r, (void)status;
    return code == GRPC_OK ? (str){0} : write_error(code, text, body);
}

/* The response message is empty. */
static str write_push(const receive_route *r, grpc_code code, str text, unsigned *status, buf *body)
{
    (void)status;
    if (code != GRPC_OK) return write_error(code, text, body);
    if (!r->json) return STR("application/proto");
    buf_z(body, "{}");
    return STR("application/json");
}

/* gRPC-Web: the status is a frame of the body. */
static str write_web(const receive_route *r, grpc_code code, str text, unsigned *status, buf *body)
{
    (void)r;
    *status = 200;
    if (code == GRPC_OK) rpc_put_frame(body, false, (str){0});
    rpc_put_web_status(body, code, text);
    return STR("application/grpc-web+proto");
}

/* ---- routes ---- */

static const receive_dialect ingest_dialect = {read_ingest, write_ingest};
static const receive_dialect push_dialect = {read_push, write_push};
static const receive_dialect web_dialect = {read_push, write_web};

bool pyroscope_ingest_route(const http_message *m, receive_route *out)
{
    str path = path_of(m->path);
    bool push = str_eq(path, STR("/push.v1.PusherService/Push"));
    if (!push && !str_eq(path, STR("/ingest")) && !str_eq(path, STR("/pyroscope/ingest")))
        return false;
    bool grpc = has_type(m, "application/grpc") || has_type(m, "application/grpc+proto");
    *out = (receive_route){.kind = RECEIVE_DIALECT,
                           .grpc = push && grpc,
                           .json = push && has_type(m, "application/json"),
                           .package = "",
                           .dialect = !push       ? &ingest_dialect
                                      : is_web(m) ? &web_dialect
                                                  : &push_dialect};
    return true;
}
