/* Implements gRPC health checks without generated code: both messages have one field. */
#include "server/health.h"

#include "otlp/receive.h"
#include "wire/pb.h"
#include "base/ban.h"

enum { MAX_REQUEST = 4 << 10, SERVING = 1, NOT_SERVING = 2 };

bool health_is_check(str path) { return str_eq(path, STR("/grpc.health.v1.Health/Check")); }

/* Decodes HealthCheckRequest {1: service}. */
static bool read_service(const http_message *m, arena *a, str *service, err *e)
{
    str message;
    *service = (str){"", 0};
    if (receive_open_grpc(m, MAX_REQUEST, a, &message, e) != VERDICT_ACCEPTED) return false;
    pb_cur c = pb_open(message.p, message.n, e);
    for (pb_field f; pb_next(&c, &f);)
        if (f.number == 1 && !pb_text(&c, &f, "service", service)) return false;
    return pb_ok(&c);
}

/* Encodes HealthCheckResponse {1: status}. */
static void put_response(buf *b, bool ready)
{
    uint8_t prefix[GRPC_PREFIX];
    buf message = {0};
    pb_put_uint(&message, 1, ready ? SERVING : NOT_SERVING);
    grpc_put_prefix(prefix, false, (uint32_t)message.n);
    buf_put(b, prefix, sizeof prefix);
    buf_str(b, buf_view(&message));
    buf_free(&message);
}

void health_respond_connect(http_exchange *x, bool ready)
{
    buf body = {0};
    str type = http_headers_get(&http_exchange_message(x)->head, "content-type");
    bool json = str_starts(type, STR("application/json"));
    if (json)
        buf_printf(&body, "{\"status\":\"%s\"}", ready ? "SERVING" : "NOT_SERVING");
    else
        pb_put_uint(&body, 1, ready ? SERVING : NOT_SERVING);
    http_header head = {STR("content-type"),
                        json ? STR("application/json") : STR("application/proto")};
    http_respond(x, &(http_response){.status = 200, .head = &head, .n_head = 1, .body = &body});
}

void health_respond(http_exchange *x, bool ready)
{
    arena a = {.budget = 64 << 10};
    err e = {0};
    str service;
    buf body = {0};
    char status[4];
    grpc_code code = GRPC_OK;
    const char *text = "";
    if (!read_service(http_exchange_message(x), &a, &service, &e))
        code = GRPC_INVALID_ARGUMENT, text = e.msg;
    else if (service.n && !receive_has_service(service))
        code = GRPC_NOT_FOUND, text = "unknown service";
    else
        put_response(&body, ready);
    snprintf(status, sizeof status, "%d", (int)code);
    http_header head = {STR("content-type"), STR("application/grpc")};
    buf encoded = {0};
    grpc_put_message_text(&encoded, str_of(text));
    http_header trailers[] = {{STR("grpc-status"), str_of(status)},
                              {STR("grpc-message"), buf_view(&encoded)}};
    http_respond(x, &(http_response){.status = 200,
                                     .head = &head,
                                     .n_head = 1,
                                     .body = &body,
                                     .trailers = trailers,
                                     .n_trailers = code == GRPC_OK ? 1 : 2});
    buf_free(&encoded);
    arena_free(&a);
}
