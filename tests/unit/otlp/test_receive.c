/* Decodes requests of senders and builds their responses.  Responses are interpreted by the
 * exporter's own code (otlp/response.h), which tests/e2e/send_oracle runs against other servers. */
#include "otlp/receive.h"
#include "net/world.h"
#include "otlp/response.h"
#include "wire/compress.h"
#include "wire/otlp.h"
#include "wire/pb.h"

#include "model/builder.h"
#include "wire/otlp_json.h"
#include "../../support/batch.h"
#include "../../support/test.h"

static void head(http_message *m, const char *name, const char *value)
{
    err e = {0};
    assert_ok(http_message_add(m, &m->head, str_of(name), str_of(value), &e), &e);
}

/* ---- routes ---- */

static void test_routes(void **state)
{
    (void)state;
    static const struct {
        const char *path, *type;
        int kind; /* -1: none */
        bool grpc;
        const char *package;
    } cases[] = {
        {"/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
         "application/grpc", RECEIVE_PROFILES, true, "v1development"},
        {"/opentelemetry.proto.collector.profiles.v1experimental.ProfilesService/Export",
         "application/grpc+proto", RECEIVE_PROFILES, true, "v1experimental"},
        {"/opentelemetry.proto.collector.profiles.v1.ProfilesService/Export", "application/grpc",
         RECEIVE_PROFILES, true, "v1"},
        {"/opentelemetry.proto.collector.logs.v1.LogsService/Export", "application/grpc",
         RECEIVE_LOGS, true, ""},
        {"/opentelemetry.proto.collector.trace.v1.TraceService/Export", "application/grpc", -1,
         true, ""},
        {"/v1development/profiles", "application/x-protobuf", RECEIVE_PROFILES, false,
         "v1development"},
        {"/v1/profiles?x=1", "application/json", RECEIVE_PROFILES, false, "v1"},
        {"/v1/logs", "application/x-protobuf", RECEIVE_LOGS, false, ""},
        {"/upload?name=a.jfr", "", RECEIVE_UPLOAD, false, ""},
        {"/v1/profiles", "application/grpc", -1, true, ""},
        {"/v1/traces", "application/json", -1, false, ""},
        {"/", "", -1, false, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        http_message m = {.path = str_of(cases[i].path), .method = STR("POST")};
        if (cases[i].type[0]) head(&m, "content-type", cases[i].type);
        receive_route r;
        bool found = receive_route_of(&m, &r);
        if (found != (cases[i].kind >= 0) || (found && (int)r.kind != cases[i].kind) ||
            r.grpc != cases[i].grpc)
            fail_msg("%s", cases[i].path);
        if (found && cases[i].package[0]) assert_string_equal(r.package, cases[i].package);
        http_message_free(&m);
    }
}

/* Unknown gRPC methods and other OTLP signals get a response in the sender's protocol. */
static void test_unknown(void **state)
{
    (void)state;
    static const struct {
        const char *path, *type;
        const char *why; /* NULL: a known route */
    } unknowns[] = {
        {"/opentelemetry.proto.collector.metrics.v1.MetricsService/Export", "application/grpc",
         "OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT"},
        {"/opentelemetry.proto.collector.trace.v1.TraceService/Export", "application/grpc+proto",
         "OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT"},
        {"/v1/metrics", "application/x-protobuf", "OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT"},
        {"/v1/traces", "application/json", "OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT"},
        {"/a.b.C/Do", "application/grpc", "unknown method"},
        {"/", "application/grpc", "unknown method"},
        {"/v1/profiles", "application/grpc", "unknown method"},
        {"/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
         "application/grpc+json", "application/grpc+proto"},
        {"/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
         "application/grpc", NULL},
        {"/v1/profiles", "application/x-protobuf", NULL},
        {"/v1/logs", "application/json", NULL},
        {"/nowhere", "text/plain", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(unknowns); i++) {
        http_message m = {.path = str_of(unknowns[i].path), .method = STR("POST")};
        head(&m, "content-type", unknowns[i].type);
        receive_route r;
        const char *why = "";
        bool unknown = receive_is_unknown(&m, &r, &why);
        if (unknown != (unknowns[i].why != NULL) || (unknown && !strstr(why, unknowns[i].why)))
            fail_msg("%s: %s", unknowns[i].path, why);
        if (unknown) {
            receive_reply reply;
            err e = {0};
            err_set(&e, ERR_USAGE, "%s", why);
            receive_respond(&r, VERDICT_UNKNOWN, NULL, &e, 0, &reply);
            assert_int_equal(reply.status, r.grpc ? 200 : 404);
            assert_int_equal(r.grpc, !strncmp(unknowns[i].type, "application/grpc", 16));
            if (r.grpc) assert_true(str_eq(reply.trailers[0].value, STR("12")));
            receive_reply_free(&reply);
        }
        http_message_free(&m);
    }
    assert_true(receive_has_service(
        STR("opentelemetry.proto.collector.profiles.v1development.ProfilesService")));
    assert_true(receive_has_service(STR("opentelemetry.proto.collector.logs.v1.LogsService")));
    assert_false(receive_has_service(STR("opentelemetry.proto.collector.profiles")));
    assert_false(receive_has_service(STR("")));
}

/* ---- requests ---- */

static str otlp_bytes(arena *a)
{
    builder b;
    model m;
    err e = {0};
    buf out = {0};
    assert_true(builder_init(&b, a));
    builder_resource(&b, NULL), builder_scope(&b, NULL);
    profile *p = builder_profile(&b);
    p->sample_type.type = builder_string(&b, STR("cpu"));
    p->sample_type.unit = builder_string(&b, STR("nanoseconds"));
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%d", i);
        function f = {.name = builder_string(&b, str_of(name))};
        line l = {.function = builder_function(&b, &f)};
        uint32_t at = builder_location(&b, 0, 0, &l, 1, NULL, 0);
        int64_t v = i;
        builder_sample(&b,
                       &(sample){.stack = builder_stack(&b, &at, 1), .values = &v, .n_values = 1});
    }
    assert_ok(builder_finish(&b, &m, &e), &e);
    assert_ok(otlp_encode(&m, NULL, &out, &e), &e);
    char *kept = arena_alloc(a, out.n);
    memcpy(kept, out.p, out.n);
    str s = {kept, out.n};
    buf_free(&out);
    return s;
}

typedef struct asked {
    const char *name;
    const char *type, *coding;
    const char *method;
    codec pack;
    enum { GOOD, CUT, EMPTY, TWICE, LYING, ZEROS } body;
    bool grpc;
    size_t max;
    verdict v;
    export_result_kind kind;
} asked;

static const asked cases[] = {
    {"grpc", "application/grpc", NULL, "POST", CODEC_NONE, GOOD, true, 0, VERDICT_ACCEPTED,
     RESULT_ACCEPTED},
    {"grpc gzip", "application/grpc", "gzip", "POST", CODEC_GZIP, GOOD, true, 0, VERDICT_ACCEPTED,
     RESULT_ACCEPTED},
    {"grpc zstd", "application/grpc", "zstd", "POST", CODEC_ZSTD, GOOD, true, 0, VERDICT_ACCEPTED,
     RESULT_ACCEPTED},
    {"grpc unknown coding", "application/grpc", "snappy", "POST", CODEC_NONE, GOOD, true, 0,
     VERDICT_MEDIA, RESULT_REFUSED},
    {"grpc cut", "application/grpc", NULL, "POST", CODEC_NONE, CUT, true, 0, VERDICT_MALFORMED,
     RESULT_REFUSED},
    {"grpc no message", "application/grpc", NULL, "POST", CODEC_NONE, EMPTY, true, 0,
     VERDICT_MALFORMED, RESULT_REFUSED},
    {"grpc two messages", "application/grpc", NULL, "POST", CODEC_NONE, TWICE, true, 0,
     VERDICT_MALFORMED, RESULT_REFUSED},
    {"grpc lies about gzip", "application/grpc", "gzip", "POST", CODEC_NONE, LYING, true, 0,
     VERDICT_MALFORMED, RESULT_REFUSED},
    {"grpc too large", "application/grpc", "gzip", "POST", CODEC_GZIP, GOOD, true, 60,
     VERDICT_TOO_LARGE, RESULT_TOO_LARGE},
    {"http", "application/x-protobuf", NULL, "POST", CODEC_NONE, GOOD, false, 0, VERDICT_ACCEPTED,
     RESULT_ACCEPTED},
    {"http gzip", "application/x-protobuf", "gzip", "POST", CODEC_GZIP, GOOD, false, 0,
     VERDICT_ACCEPTED, RESULT_ACCEPTED},
    {"http empty", "application/x-protobuf", NULL, "POST", CODEC_NONE, EMPTY, false, 0,
     VERDICT_ACCEPTED, RESULT_ACCEPTED},
    {"http zeros", "application/x-protobuf", NULL, "POST", CODEC_NONE, ZEROS, false, 0,
     VERDICT_MALFORMED, RESULT_REFUSED},
    {"http xml", "text/xml", NULL, "POST", CODEC_NONE, GOOD, false, 0, VERDICT_MEDIA,
     RESULT_REFUSED},
    {"http br", "application/x-protobuf", "br", "POST", CODEC_NONE, GOOD, false, 0, VERDICT_MEDIA,
     RESULT_REFUSED},
    {"http get", "application/x-protobuf", NULL, "GET", CODEC_NONE, GOOD, false, 0, VERDICT_METHOD,
     RESULT_REFUSED},
    {"http cut", "application/x-protobuf", NULL, "POST", CODEC_NONE, CUT, false, 0,
     VERDICT_MALFORMED, RESULT_REFUSED},
    {"http too large", "application/x-protobuf", NULL, "POST", CODEC_NONE, GOOD, false, 60,
     VERDICT_TOO_LARGE, RESULT_TOO_LARGE},
};

static void fill(const asked *c, str bytes, http_message *m)
{
    err e = {0};
    buf packed = {0};
    if (c->body == CUT) bytes.n -= 3;
    if (c->body == ZEROS) bytes = STR("\0\0\0\0\0\0\0\0"); /* two empty frames */
    assert_ok(pack(c->pack, bytes, &packed, &e), &e);
    for (int i = 0; i < (c->body == TWICE ? 2 : 1) && c->body != EMPTY; i++) {
        uint8_t prefix[GRPC_PREFIX];
        grpc_put_prefix(prefix, c->pack != CODEC_NONE || c->body == LYING, (uint32_t)packed.n);
        if (c->grpc) buf_put(&m->body, prefix, sizeof prefix);
        buf_str(&m->body, buf_view(&packed));
    }
    buf_free(&packed);
    head(m, "content-type", c->type);
    if (c->coding) head(m, c->grpc ? "grpc-encoding" : "content-encoding", c->coding);
    m->method = str_of(c->method);
    m->path =
        c->grpc
            ? STR("/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export")
            : STR("/v1development/profiles");
}

/* Returns the response as a sender interprets it. */
static export_result_kind judged(const receive_reply *r, bool grpc, export_result *out)
{
    err e = {0};
    http_message m = {.status = r->status};
    for (size_t i = 0; i < r->n_head; i++)
        assert_ok(http_message_add(&m, &m.head, r->head[i].name, r->head[i].value, &e), &e);
    for (size_t i = 0; i < r->n_trailers; i++)
        assert_ok(http_message_add(&m, &m.trailers, r->trailers[i].name, r->trailers[i].value, &e),
                  &e);
    buf_str(&m.body, buf_view(&r->body));
    assert_true(r->body.n <= HTTP_MAX_RESPONSE); /* T-17 */
    if (grpc)
        export_result_of_grpc(&m, out);
    else
        export_result_of_http(&m, 0, out);
    http_message_free(&m);
    return out->kind;
}

static str recognised_in(const receive_reply *r)
{
    for (size_t i = 0; i < r->n_head; i++)
        if (str_eq(r->head[i].name, STR("kiln-recognised"))) return r->head[i].value;
    return (str){0};
}

static void test_requests(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const asked *c = &cases[i];
        arena a = {0};
        http_message m = {0};
        received got;
        receive_route r;
        err e = {0};
        export_result result;
        receive_reply reply;
        fill(c, otlp_bytes(&a), &m);
        assert_true(receive_route_of(&m, &r));
        verdict v = receive_read(&r, &m, &(receive_opts){.max_message = c->max}, &a, &got, &e);
        if (v != c->v) fail_msg("%s: verdict %d: %s", c->name, v, e.msg);
        assert_int_equal(v == VERDICT_ACCEPTED, e.code == ERR_OK);
        if (v == VERDICT_ACCEPTED && c->body == GOOD)
            assert_string_equal(got.recognised, "otlp 1.10");
        receive_respond(&r, v, &got, &e, 0, &reply);
        str format_name = recognised_in(&reply);
        assert_true(str_eq(format_name, v == VERDICT_ACCEPTED ? str_of(got.recognised) : (str){0}));
        if (judged(&reply, c->grpc, &result) != c->kind)
            fail_msg("%s: %d %s", c->name, result.kind, result.text);
        receive_reply_free(&reply);
        http_message_free(&m);
        arena_free(&a);
    }
}

/* ---- responses ---- */

static void test_answers(void **state)
{
    (void)state;
    static const struct {
        verdict v;
        export_result_kind kind;
        uint64_t wait;
    } verdicts[] = {
        {VERDICT_OVERLOADED, RESULT_RETRY, 3 * NS_PER_S},
        {VERDICT_UNAVAILABLE, RESULT_RETRY, 3 * NS_PER_S},
        {VERDICT_UNAUTHENTICATED, RESULT_REFUSED, 0},
        {VERDICT_CROSS_SITE, RESULT_REFUSED, 0},
        {VERDICT_LATE, RESULT_RETRY, 0},
    };
    err why = {.code = ERR_LIMIT, .offset = NO_OFFSET, .msg = "h\xc3\xb6r 100% zu"};
    for (size_t i = 0; i < ARRAY_LEN(verdicts); i++)
        for (int grpc = 0; grpc < 2; grpc++) {
            receive_route r = {.grpc = grpc != 0};
            receive_reply reply;
            export_result result;
            receive_respond(&r, verdicts[i].v, NULL, &why, 3 * NS_PER_S, &reply);
            assert_int_equal(judged(&reply, grpc, &result), verdicts[i].kind);
            assert_int_equal(result.wait, verdicts[i].wait);
            assert_non_null(strstr(result.text, "100% zu"));
            receive_reply_free(&reply);
        }
    for (int grpc = 0; grpc < 2; grpc++) {
        received got = {.n_rejected = 7, .why = "seven are not call stacks"};
        receive_reply reply;
        export_result result;
        receive_respond(&(receive_route){.grpc = grpc, .kind = RECEIVE_LOGS}, VERDICT_ACCEPTED,
                        &got, NULL, 0, &reply);
        assert_int_equal(judged(&reply, grpc, &result), RESULT_PARTIAL);
        assert_int_equal(result.rejected, 7);
        assert_non_null(strstr(result.text, "seven are not call stacks"));
        receive_reply_free(&reply);
    }
}

/* ---- other log records ---- */

static void put_log(buf *logs, const char *by, const char *body)
{
    buf text_b = {0}, record = {0}, scope_b = {0}, in_scope = {0}, in_resource = {0};
    if (body) pb_put_bytes(&text_b, 1, str_of(body));
    if (body) pb_put_bytes(&record, 5, buf_view(&text_b));
    pb_put_bytes(&scope_b, 1, str_of(by));
    pb_put_bytes(&in_scope, 1, buf_view(&scope_b));
    pb_put_bytes(&in_scope, 2, buf_view(&record));
    pb_put_bytes(&in_resource, 2, buf_view(&in_scope));
    pb_put_bytes(logs, 1, buf_view(&in_resource));
    buf_free(&text_b), buf_free(&record), buf_free(&scope_b), buf_free(&in_scope),
        buf_free(&in_resource);
}

static void test_logs(void **state)
{
    (void)state;
    for (int ours = 0; ours < 2; ours++) {
        arena a = {0};
        received got;
        err e = {0};
        receive_route r;
        http_message m = {.method = STR("POST"), .path = STR("/v1/logs")};
        head(&m, "content-type", "application/x-protobuf");
        put_log(&m.body, "my.app", "hello");
        put_log(&m.body, "my.app", "world");
        if (ours) put_log(&m.body, "otel.profiling", "\n\n\tat global.work(a.c:1)\n");
        assert_true(receive_route_of(&m, &r));
        assert_int_equal(receive_read(&r, &m, &(receive_opts){0}, &a, &got, &e), VERDICT_ACCEPTED);
        assert_int_equal(got.n_rejected, 2);
        assert_int_equal(got.doc.model.profiles.n > 0, ours);
        assert_string_equal(got.recognised, "splunk-logs");
        assert_non_null(strstr(got.why, "2 log records are not call stacks"));
        http_message_free(&m);
        arena_free(&a);
    }
}

/* An invalid record, valid ones, then an error: nothing may be acknowledged. */
static void test_logs_stopped(void **state)
{
    (void)state;
    receive_route r;
    received got;
    err e = {0};
    http_message m = {.method = STR("POST"), .path = STR("/v1/logs")};
    head(&m, "content-type", "application/x-protobuf");
    put_log(&m.body, "otel.profiling", NULL);
    put_log(&m.body, "otel.profiling", "\n\n\tat global.work(a.c:1)\n");
    assert_true(receive_route_of(&m, &r));

    verdict v = VERDICT_TOO_LARGE;
    unsigned n = 0;
    for (size_t budget = 1 << 10; v != VERDICT_ACCEPTED; budget *= 2, n++) {
        arena a = {.budget = budget};
        e = (err){0};
        v = receive_read(&r, &m, &(receive_opts){0}, &a, &got, &e);
        assert_int_equal(v, v == VERDICT_ACCEPTED ? VERDICT_ACCEPTED : VERDICT_TOO_LARGE);
        assert_true(v != VERDICT_ACCEPTED || got.doc.model.profiles.n == 1);
        arena_free(&a);
    }
    assert_true(n > 1);
    assert_int_equal(got.n_rejected, 1);

    arena a = {0};
    buf_put(&m.body, "\x0a\x7f", 2); /* resource_logs of 127 missing bytes */
    assert_int_equal(receive_read(&r, &m, &(receive_opts){0}, &a, &got, &e), VERDICT_MALFORMED);
    arena_free(&a);
    http_message_free(&m);
}

/* ---- an invalid profile does not fail its request ---- */

typedef enum transport { WAY_GRPC, WAY_HTTP, WAY_JSON, WAY_PACKED, WAY_UPLOAD, WAYS } transport;

static void fill_request(http_message *m, transport w, const batch_opts *o)
{
    static const char *const paths[WAYS] = {
        "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
        "/v1development/profiles", "/v1development/profiles", "/v1development/profiles", "/upload"};
    static const char *const types[WAYS] = {"application/grpc", "application/x-protobuf",
                                            "application/json", "application/x-protobuf", ""};
    buf b = {0}, text = {0};
    err e = {0};
    batch_message(&b, o);
    *m = (http_message){.method = STR("POST"), .path = str_of(paths[w])};
    if (types[w][0]) head(m, "content-type", types[w]);
    if (w == WAY_GRPC) {
        uint8_t prefix[GRPC_PREFIX];
        grpc_put_prefix(prefix, false, (uint32_t)b.n);
        buf_put(&m->body, prefix, sizeof prefix);
    }
    if (w == WAY_JSON) {
        assert_ok(otlp_pb_to_json(b.p, b.n, LAYOUT_CURRENT, NULL, &text, &e), &e);
        buf_str(&m->body, buf_view(&text));
    } else if (w == WAY_PACKED) { /* without a Content-Encoding header */
        assert_ok(pack(CODEC_GZIP, buf_view(&b), &m->body, &e), &e);
    } else {
        buf_str(&m->body, buf_view(&b));
    }
    buf_free(&b), buf_free(&text);
}

static void assert_partial(transport w, const http_message *m, const receive_route *r,
                           const received *got)
{
    const char *reason =
        w == WAY_GRPC || w == WAY_HTTP
            ? "1 of 3 profiles rejected: index 99 is outside stack_table, which has 3 entries "
              "(byte "
            : "1 of 3 profiles rejected: index 99 is outside stack_table, which has 3 entries "
              "(at resource_profiles[0].scope_profiles[0].profiles[1].samples[0].stack_index)";
    assert_int_equal(got->n_rejected, 1);
    assert_int_equal(got->rejected_by[OTLP_FAULT_INDEX], 1);
    assert_int_equal(got->n_items, 3);
    assert_int_equal(got->doc.model.profiles.n, 2);
    assert_true(got->doc.model.checked);
    if (!strstr(got->why, reason)) fail_msg("%s", got->why);
    assert_string_equal(got->recognised, w == WAY_JSON ? "otlp-json 1.10" : "otlp 1.10");
    (void)m;
    receive_reply reply;
    receive_respond(r, VERDICT_ACCEPTED, got, NULL, 0, &reply);
    if (w == WAY_JSON) {
        assert_non_null(memmem(reply.body.p, reply.body.n, "\"rejectedProfiles\":\"1\"", 22));
    } else {
        export_result result;
        assert_int_equal(judged(&reply, w == WAY_GRPC, &result), RESULT_PARTIAL);
        assert_int_equal(result.rejected, 1);
        assert_non_null(strstr(result.text, "index 99 is outside stack_table"));
    }
    receive_reply_free(&reply);
}

/* The stored bytes are valid for a strict reader. */
static void assert_strict(const received *got, arena *a)
{
    model m;
    err e = {0};
    assert_ok(otlp_decode(got->payload.p, got->payload.n, NULL, a, &m, &e), &e);
    assert_ok(model_equal(&m, &got->doc.model, &e), &e);
}

static void test_partial(void **state)
{
    (void)state;
    for (transport w = 0; w < WAYS; w++) {
        arena a = {0};
        http_message m;
        receive_route r;
        received got;
        err e = {0};
        fill_request(&m, w, &(batch_opts){.stack = {0, 99, 0}});
        assert_true(receive_route_of(&m, &r));
        verdict v = receive_read(&r, &m, &(receive_opts){0}, &a, &got, &e);
        if (w == WAY_UPLOAD) {
            assert_int_equal(v, VERDICT_MALFORMED);
        } else {
            assert_int_equal(v, VERDICT_ACCEPTED);
            assert_int_equal(e.code, ERR_OK);
            assert_partial(w, &m, &r, &got);
            if (w != WAY_JSON) assert_strict(&got, &a);
        }
        http_message_free(&m);
        arena_free(&a);
    }
}

/* With no_filter the result states that filtering may help. */
static void test_no_sift(void **state)
{
    (void)state;
    for (int broken = 0; broken < 2; broken++) {
        arena a = {0};
        http_message m;
        receive_route r;
        received got;
        err e = {0};
        fill_request(&m, WAY_HTTP, &(batch_opts){.stack = {0, broken ? 99 : 0, 0}});
        assert_true(receive_route_of(&m, &r));
        verdict v = receive_read(&r, &m, &(receive_opts){.no_filter = true}, &a, &got, &e);
        assert_int_equal(v, broken ? VERDICT_MALFORMED : VERDICT_ACCEPTED);
        assert_int_equal(got.needs_filter, broken);
        assert_int_equal(got.n_rejected, 0);
        http_message_free(&m);
        arena_free(&a);
    }
}

/* A request without valid profiles fails with the first reason.  Bytes that are not protobuf fail,
 * too. */
static void test_nothing_left(void **state)
{
    (void)state;
    for (transport w = 0; w < WAY_UPLOAD; w++) {
        arena a = {0};
        http_message m;
        receive_route r;
        received got;
        err e = {0};
        fill_request(&m, w, &(batch_opts){.stack = {99, 99, 99}});
        assert_true(receive_route_of(&m, &r));
        assert_int_equal(receive_read(&r, &m, &(receive_opts){0}, &a, &got, &e), VERDICT_MALFORMED);
        assert_string_equal(e.msg, "index 99 is outside stack_table, which has 3 entries");
        http_message_free(&m);
        e = (err){0};
        fill_request(&m, w, &(batch_opts){.stack = {0, 99, 0}});
        m.body.n--;
        assert_int_equal(receive_read(&r, &m, &(receive_opts){0}, &a, &got, &e), VERDICT_MALFORMED);
        http_message_free(&m);
        arena_free(&a);
    }
}

/* Every rejected log record has a reason, and the first invalid one also a path. */
static void test_broken_record(void **state)
{
    (void)state;
    arena a = {0};
    received got;
    err e = {0};
    receive_route r;
    http_message m = {.method = STR("POST"), .path = STR("/v1/logs")};
    head(&m, "content-type", "application/x-protobuf");
    put_log(&m.body, "my.app", "hello");
    put_log(&m.body, "otel.profiling", NULL);
    put_log(&m.body, "otel.profiling", "\n\n\tat global.work(a.c:1)\n");
    assert_true(receive_route_of(&m, &r));
    assert_int_equal(receive_read(&r, &m, &(receive_opts){0}, &a, &got, &e), VERDICT_ACCEPTED);
    assert_int_equal(got.n_rejected, 2);
    assert_int_equal(got.rejected_by[RECEIVE_NOT_A_CALL_STACK], 1);
    assert_int_equal(got.rejected_by[RECEIVE_UNREADABLE_RECORD], 1);
    assert_non_null(strstr(got.why, "1 log records are not call stacks"));
    assert_non_null(strstr(got.why, "1 call stacks could not be read, the first "
                                    "(resource_logs[1].scope_logs[0].log_records[0]): the body is "
                                    "not a string"));
    http_message_free(&m);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_routes),       cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_requests),     cmocka_unit_test(test_answers),
        cmocka_unit_test(test_logs),         cmocka_unit_test(test_logs_stopped),
        cmocka_unit_test(test_partial),      cmocka_unit_test(test_no_sift),
        cmocka_unit_test(test_nothing_left), cmocka_unit_test(test_broken_record)};
    return cmocka_run_group_tests_name("receive", tests, NULL, NULL);
}
