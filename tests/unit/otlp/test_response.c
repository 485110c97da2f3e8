/* Responses of receivers, Retry-After and the backoff. */
#include "otlp/response.h"

#include "../../support/test.h"
#include "net/grpc.h"
#include "otlp/backoff.h"
#include "wire/base64.h"
#include "wire/pb.h"

#define S UINT64_C(1000000000)
#define WALL (UINT64_C(784111777) * S) /* Sun, 06 Nov 1994 08:49:37 GMT */

static void add(http_message *m, http_headers *to, const char *name, const char *value)
{
    err e = {0};
    assert_ok(http_message_add(m, to, str_of(name), str_of(value), &e), &e);
}

/* T-07, T-08, T-12: which responses are retried. */
static void test_http_statuses(void **state)
{
    (void)state;
    static const struct {
        unsigned status;
        export_result_kind want;
    } cases[] = {
        {200, RESULT_ACCEPTED},  {202, RESULT_ACCEPTED}, {400, RESULT_REFUSED},
        {401, RESULT_REFUSED},   {404, RESULT_REFUSED},  {408, RESULT_REFUSED},
        {413, RESULT_TOO_LARGE}, {429, RESULT_RETRY},    {500, RESULT_REFUSED},
        {501, RESULT_REFUSED},   {502, RESULT_RETRY},    {503, RESULT_RETRY},
        {504, RESULT_RETRY},     {302, RESULT_REFUSED},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        http_message m = {.status = cases[i].status};
        export_result a;
        export_result_of_http(&m, WALL, &a);
        assert_int_equal(a.kind, cases[i].want);
        assert_int_equal(a.wait, 0);
    }
}

static void test_retry_after(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool ok;
        uint64_t s;
    } cases[] = {
        {"0", true, 0},
        {"120", true, 120},
        {"999999999999999999999999", true, 3600}, /* capped at an hour */
        {"Sun, 06 Nov 1994 08:49:47 GMT", true, 10},
        {"Sunday, 06-Nov-94 08:50:37 GMT", true, 60},
        {"Sun Nov  6 08:49:38 1994", true, 1},
        {"Sun, 06 Nov 1994 08:49:37 GMT", true, 0},
        {"Sat, 05 Nov 1994 08:49:37 GMT", true, 0}, /* in the past */
        {"Mon, 29 Feb 2000 00:00:00 GMT", true, 3600},
        {"", false, 0},
        {"soon", false, 0},
        {"-1", false, 0},
        {"1.5", false, 0},
        {"Sun, 06 Nov 1994", false, 0},
        {"Sun, 06 Nov 1994 25:00:00 GMT", false, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint64_t wait = 0;
        assert_int_equal(retry_after_parse(str_of(cases[i].text), WALL, &wait), cases[i].ok);
        assert_u64(wait, cases[i].s * S);
    }
    http_message m = {.status = 503};
    export_result a;
    add(&m, &m.head, "Retry-After", "7");
    export_result_of_http(&m, WALL, &a);
    assert_u64(a.wait, 7 * S);
    m.status = 400; /* T-08: never retried */
    export_result_of_http(&m, WALL, &a);
    assert_int_equal(a.kind, RESULT_REFUSED);
    assert_u64(a.wait, 0);
    http_message_free(&m);
}

/* T-01 to T-04: partial success. */
static void test_partial(void **state)
{
    (void)state;
    static const struct {
        str body;
        export_result_kind kind;
        int64_t rejected;
        const char *text;
    } cases[] = {
        {{"", 0}, RESULT_ACCEPTED, 0, ""},
        {{"\x0a\x00", 2}, RESULT_ACCEPTED, 0, ""}, /* an empty partial success is absent */
        {{"\x0a\x02\x08\x03", 4}, RESULT_PARTIAL, 3, "the receiver rejected some items"},
        {{"\x0a\x05\x08\x03\x12\x01x", 7},
         RESULT_PARTIAL,
         3,
         "the receiver rejected some items: x"},
        {{"\x0a\x04\x12\x02hi", 6}, RESULT_PARTIAL, 0, "the receiver warns: hi"},
        {{"\x0a\xff", 2},
         RESULT_PARTIAL,
         0,
         "the receiver accepted it, but its response cannot be read"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        http_message m = {.status = 200};
        export_result a;
        add(&m, &m.head, "content-type", "application/x-protobuf");
        buf_str(&m.body, cases[i].body);
        export_result_of_http(&m, WALL, &a);
        assert_int_equal(a.kind, cases[i].kind);
        assert_int_equal(a.rejected, cases[i].rejected);
        assert_string_equal(a.text, cases[i].text);
        http_message_free(&m);
    }
}

/* Appends a Status with a RetryInfo of `ms`; -1: without RetryInfo. */
static void put_details(buf *out, int ms)
{
    buf duration = {0}, info = {0}, any = {0}, status = {0};
    pb_put_uint(&duration, 1, (uint64_t)ms / 1000);
    pb_put_uint(&duration, 2, (uint64_t)ms % 1000 * 1000000);
    pb_put_bytes(&info, 1, buf_view(&duration));
    pb_put_bytes(&any, 1, STR("type.googleapis.com/google.rpc.RetryInfo"));
    pb_put_bytes(&any, 2, buf_view(&info));
    pb_put_uint(&status, 1, 14);
    if (ms >= 0) pb_put_bytes(&status, 3, buf_view(&any));
    base64_encode(out, buf_view(&status));
    buf_free(&duration), buf_free(&info), buf_free(&any), buf_free(&status);
}

static void test_grpc(void **state)
{
    (void)state;
    static const struct {
        const char *status;
        int retry_ms; /* -1: no RetryInfo; -2: no details */
        export_result_kind want;
    } cases[] = {
        {"1", -2, RESULT_RETRY},     {"2", -2, RESULT_REFUSED},   {"3", 100, RESULT_REFUSED},
        {"4", -2, RESULT_RETRY},     {"5", -2, RESULT_REFUSED},   {"7", -2, RESULT_REFUSED},
        {"8", -2, RESULT_TOO_LARGE}, {"8", -1, RESULT_TOO_LARGE}, {"8", 1500, RESULT_RETRY},
        {"9", -2, RESULT_REFUSED},   {"10", -2, RESULT_RETRY},    {"11", -2, RESULT_RETRY},
        {"12", -2, RESULT_REFUSED},  {"13", -2, RESULT_REFUSED},  {"14", 2500, RESULT_RETRY},
        {"15", -2, RESULT_RETRY},    {"16", -2, RESULT_REFUSED},  {"999", -2, RESULT_REFUSED},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        http_message m = {.status = 200};
        buf details = {0};
        export_result a;
        add(&m, &m.trailers, "grpc-status", cases[i].status);
        add(&m, &m.trailers, "grpc-message", "wh%79");
        if (cases[i].retry_ms > -2) {
            put_details(&details, cases[i].retry_ms);
            buf_putc(&details, '\0');
            add(&m, &m.trailers, "grpc-status-details-bin", details.p);
        }
        export_result_of_grpc(&m, &a);
        assert_int_equal(a.kind, cases[i].want);
        uint64_t wait =
            a.kind == RESULT_RETRY && cases[i].retry_ms > 0 ? (uint64_t)cases[i].retry_ms : 0;
        assert_u64(a.wait, wait * 1000000);
        assert_non_null(strstr(a.text, ": why"));
        buf_free(&details);
        http_message_free(&m);
    }
}

static void test_grpc_odd(void **state)
{
    (void)state;
    http_message m = {.status = 503};
    export_result a;
    export_result_of_grpc(&m, &a); /* the response of a proxy */
    assert_int_equal(a.kind, RESULT_RETRY);
    assert_string_equal(a.text, "UNAVAILABLE: HTTP status 503 without a gRPC status");
    m.status = 200;
    add(&m, &m.head, "grpc-status", "14"); /* trailers only */
    export_result_of_grpc(&m, &a);
    assert_int_equal(a.kind, RESULT_RETRY);
    http_message_free(&m);

    m = (http_message){.status = 200};
    add(&m, &m.trailers, "grpc-status", "0");
    export_result_of_grpc(&m, &a);
    assert_int_equal(a.kind, RESULT_PARTIAL); /* accepted without a message: not sent again */
    buf_put(&m.body, "\0\0\0\0\0", 5);
    export_result_of_grpc(&m, &a);
    assert_int_equal(a.kind, RESULT_ACCEPTED);
    http_message_free(&m);

    m = (http_message){.status = 200};
    add(&m, &m.trailers, "grpc-status", "8");
    add(&m, &m.trailers, "grpc-status-details-bin", "!!!not base64");
    export_result_of_grpc(&m, &a);
    assert_int_equal(a.kind, RESULT_TOO_LARGE);
    http_message_free(&m);
}

static void test_backoff(void **state)
{
    (void)state;
    backoff b = {0};
    uint64_t middle = UINT64_C(1) << 63, last = 0;
    for (int i = 0; i < 40; i++) {
        uint64_t wait = backoff_next(&b, 0, middle); /* no jitter: exactly the base */
        assert_true(wait >= last && wait <= 30 * S);
        assert_true(i > 0 || wait == S);
        assert_true(i != 1 || wait == S + S / 2);
        last = wait;
    }
    assert_u64(last, 30 * S);
    assert_u64(backoff_next(&b, 100 * S, 0), 100 * S); /* at least the requested wait */
    assert_u64(backoff_next(&b, 0, 0), 15 * S);
    assert_true(backoff_next(&b, 0, UINT64_MAX) <= 45 * S);
    backoff_reset(&b);
    assert_u64(backoff_next(&b, 0, middle), S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_statuses), cmocka_unit_test(test_retry_after),
        cmocka_unit_test(test_partial),       cmocka_unit_test(test_grpc),
        cmocka_unit_test(test_grpc_odd),      cmocka_unit_test(test_backoff)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
