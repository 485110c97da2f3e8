/* Handles arbitrary bytes as a request of a hostile sender. Any body with any route and encoding
 * must get a valid response in bounded memory. The counts of a partial success must add up, and the
 * accepted part must decode strictly. */
#include "otlp/receive.h"
#include "wire/otlp.h"

#include <stdlib.h>

#define MUST(x)                                                                                    \
    do                                                                                             \
        if (!(x)) abort();                                                                         \
    while (0)

enum { MAX_MESSAGE = 1 << 20 };

static const char *const paths[] = {
    "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
    "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
    "/v1development/profiles",
    "/v1/profiles",
    "/v1/logs",
    "/upload",
};
static const char *const types[] = {"application/grpc", "application/x-protobuf",
                                    "application/json", "text/plain"};
static const char *const codings[] = {"identity", "gzip", "zstd", "br"};

static bool fill(http_message *m, uint8_t how, str body)
{
    err e = {0};
    const char *path = paths[how % ARRAY_LEN(paths)];
    bool rpc = how % ARRAY_LEN(paths) < 2;
    str type = str_of(types[rpc ? 0 : 1 + (how >> 3) % 3]);
    str coding = str_of(codings[(how >> 5) % ARRAY_LEN(codings)]);
    m->method = http_message_copy(m, how == 255 ? STR("GET") : STR("POST"));
    m->path = http_message_copy(m, str_of(path));
    buf_str(&m->body, body);
    return http_message_add(m, &m->head, STR("content-type"), type, &e) &&
           http_message_add(m, &m->head, rpc ? STR("grpc-encoding") : STR("content-encoding"),
                            coding, &e);
}

static void export_result(const receive_route *r, verdict v, const received *got, const err *e)
{
    receive_reply out;
    receive_respond(r, v, got, e, UINT64_C(1500000000), &out);
    MUST(out.status >= 200 && out.status < 600 && !out.body.failed);
    MUST(r->grpc ? out.status == 200 && out.n_trailers >= 1 : out.n_trailers == 0);
    MUST(r->grpc || (out.status == 200) == (v == VERDICT_ACCEPTED));
    for (size_t i = 0; i < out.n_trailers; i++)
        for (size_t k = 0; k < out.trailers[i].value.n; k++)
            MUST((unsigned char)out.trailers[i].value.p[k] >= ' ' &&
                 (unsigned char)out.trailers[i].value.p[k] < 127);
    receive_reply_free(&out);
}

static void counts_add_up(const received *got)
{
    size_t sum = 0;
    for (size_t i = 0; i < RECEIVE_REASONS; i++) sum += got->rejected_by[i];
    MUST(sum == got->n_rejected);
    MUST(got->n_items == got->doc.model.profiles.n + got->n_rejected);
    MUST(!got->n_rejected || got->why[0]);
}

/* Checks that the accepted part decodes strictly, because the store decodes it again. */
static void kept_is_strict(const received *got)
{
    const document *d = &got->doc;
    bool as_bytes = d->parts.n == 1 && d->format == &format_otlp && !d->n_layers &&
                    d->bytes.n == got->payload.n;
    if (!as_bytes || !d->model.profiles.n) return;
    arena a = {.budget = (size_t)64 << 20};
    model m;
    err e = {0};
    otlp_decode_opts o = {.layout = d->parts.v[0].verdict.layout};
    bool ok = otlp_decode(got->payload.p, got->payload.n, &o, &a, &m, &e);
    MUST(ok || err_exhausted(&e));
    MUST(!ok || m.profiles.n == d->model.profiles.n);
    arena_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (!n) return 0;
    http_message m = {0};
    receive_route r;
    received got;
    err e = {0};
    arena a = {.budget = (size_t)64 << 20};
    MUST(fill(&m, data[0], (str){(const char *)data + 1, n - 1}));
    MUST(receive_route_of(&m, &r));
    verdict v = receive_read(&r, &m, &(receive_opts){.max_message = MAX_MESSAGE}, &a, &got, &e);
    MUST((v == VERDICT_ACCEPTED) == (e.code == ERR_OK));
    if (v == VERDICT_ACCEPTED)
        MUST(got.n_rejected <= got.n_items && got.payload.n <= MAX_MESSAGE + MAX_MESSAGE / 2);
    if (v == VERDICT_ACCEPTED) counts_add_up(&got), kept_is_strict(&got);
    export_result(&r, v, &got, &e);
    http_message_free(&m);
    arena_free(&a);
    return 0;
}
