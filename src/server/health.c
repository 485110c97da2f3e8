/* Implements health checks without generated code: both messages have one field. */
#include "server/health.h"

#include "otlp/receive.h"
#include "pyroscope/messages.h"
#include "server/rpc.h"
#include "wire/pb.h"
#include "base/ban.h"

#define SERVICE "/grpc.health.v1.Health/"
enum { MAX_REQUEST = 4 << 10, SERVING = 1, NOT_SERVING = 2 };

bool health_has(str path) { return str_starts(path, STR(SERVICE)); }

/* Decodes HealthCheckRequest {1: service}. */
static bool read_service(const http_message *m, arena *a, str *service, err *e)
{
    str message;
    *service = (str){"", 0};
    if (!rpc_read(m, &pyro_health_check, MAX_REQUEST, a, &message, e)) return false;
    pb_cur c = pb_open(message.p, message.n, e);
    for (pb_field f; pb_next(&c, &f);)
        if (f.number == 1 && !pb_text(&c, &f, "service", service)) return false;
    return pb_ok(&c);
}

/* Appends HealthCheckResponse {1: status} in the dialect and returns its content type. */
static str put_response(rpc_dialect d, bool ready, buf *body)
{
    buf message = {0};
    pb_put_uint(&message, 1, ready ? SERVING : NOT_SERVING);
    if (d == RPC_CONNECT_JSON)
        buf_printf(body, "{\"status\":\"%s\"}", ready ? "SERVING" : "NOT_SERVING");
    else if (d == RPC_CONNECT)
        buf_str(body, buf_view(&message));
    else
        rpc_put_frame(body, false, buf_view(&message));
    if (d == RPC_GRPC_WEB) rpc_put_web_status(body, GRPC_OK, STR(""));
    buf_free(&message);
    return d == RPC_CONNECT_JSON ? STR("application/json")
           : d == RPC_CONNECT    ? STR("application/proto")
           : d == RPC_GRPC       ? STR("application/grpc")
                                 : STR("application/grpc-web+proto");
}

static void respond(http_exchange *x, bool ready)
{
    buf body = {0};
    rpc_dialect d = rpc_dialect_of(http_exchange_message(x));
    http_header head = {STR("content-type"), put_response(d, ready, &body)},
                trailer = {STR("grpc-status"), STR("0")};
    http_respond(x, &(http_response){.status = 200,
                                     .head = &head,
                                     .n_head = 1,
                                     .body = &body,
                                     .trailers = &trailer,
                                     .n_trailers = d == RPC_GRPC});
}

static void check(http_exchange *x, bool ready)
{
    arena a = {.budget = 64 << 10};
    err e = {0};
    str service;
    if (!read_service(http_exchange_message(x), &a, &service, &e))
        rpc_reply_error(x, rpc_code_of(&e), str_of(e.msg), 0);
    else if (service.n && !receive_has_service(service))
        rpc_reply_error(x, GRPC_NOT_FOUND, STR("unknown service"), 0);
    else
        respond(x, ready);
    arena_free(&a);
}

void health_request(http_exchange *x, bool ready)
{
    str path = http_exchange_message(x)->path;
    if (rpc_reject(x)) return;
    if (str_eq(path, STR(SERVICE "Check")))
        check(x, ready);
    else if (str_eq(path, STR(SERVICE "Watch")))
        rpc_reply_error(x, GRPC_UNIMPLEMENTED, STR("Watch is not implemented: call Check"), 0);
    else
        rpc_reply_error(x, GRPC_UNIMPLEMENTED, STR("unknown method"), 0);
}
