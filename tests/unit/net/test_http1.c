/* Parsing and writing of HTTP/1.1 messages. */
#include "net/http1.h"

#include "../../support/test.h"

typedef struct result {
    http1_state state;
    unsigned status;
    char body[128], fails[192], path[64];
    bool keeps;
    size_t left, n_trailers;
} result;

/* Feeds `in` in pieces of `step` bytes, then, optionally, the end of the connection. */
static result feed(http1_kind kind, str in, size_t step, bool end)
{
    http_message m = {.body.limit = 64};
    http1 h;
    err e = {0};
    http1_begin(&h, kind, &m);
    size_t at = 0, left = 0;
    bool ok = true;
    while (ok && at < in.n && h.state != HTTP1_DONE) {
        size_t n = in.n - at < step ? in.n - at : step;
        str piece = {in.p + at, n};
        ok = http1_feed(&h, &piece, &e);
        at += n - piece.n;
        left = in.n - at;
    }
    if (ok && end) ok = http1_end(&h, &e);
    result r = {.state = h.state,
                .status = m.status,
                .keeps = h.keeps,
                .left = left,
                .n_trailers = m.trailers.n};
    assert_int_equal(ok, e.code == ERR_OK);
    assert_true(e.code == ERR_OK || e.offset == NO_OFFSET || e.offset <= in.n);
    snprintf(r.body, sizeof r.body, "%.*s", STR_ARG(buf_view(&m.body)));
    snprintf(r.path, sizeof r.path, "%.*s", STR_ARG(m.path));
    snprintf(r.fails, sizeof r.fails, "%s", e.msg);
    http_message_free(&m);
    return r;
}

#define R "HTTP/1.1 200 OK\r\n"

static void test_responses(void **state)
{
    (void)state;
    static const struct {
        const char *name, *in;
        unsigned status;
        const char *body;
        bool keeps;
        const char *fails;
    } cases[] = {
        {"length", R "Content-Length: 3\r\n\r\nabc", 200, "abc", true, ""},
        {"no body", R "content-length: 0\r\n\r\n", 200, "", true, ""},
        {"bare LF", "HTTP/1.1 404 Not Found\nContent-Length: 1\n\nx", 404, "x", true, ""},
        {"no reason", "HTTP/1.1 429\r\nContent-Length: 0\r\n\r\n", 429, "", true, ""},
        {"to the end", "HTTP/1.0 200 OK\r\n\r\nall of it", 200, "all of it", false, ""},
        {"close", R "Connection: foo, Close\r\nContent-Length: 0\r\n\r\n", 200, "", false, ""},
        {"chunks", R "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n", 200,
         "abcde", true, ""},
        {"trailers", R "Transfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n", 200, "", true, ""},
        {"interim", "HTTP/1.1 100 Continue\r\nA: b\r\n\r\n" R "Content-Length: 1\r\n\r\nx", 200,
         "x", true, ""},
        {"204", "HTTP/1.1 204 No Content\r\n\r\n", 204, "", true, ""},
        {"same length twice", R "Content-Length: 1\r\nContent-Length: 1\r\n\r\nx", 200, "x", true,
         ""},

        {"empty", "", 0, "", false, "the peer closed the connection without a response"},
        {"cut head", R "Content-Le", 200, "", false,
         "the peer closed the connection in the middle of a message"},
        {"cut body", R "Content-Length: 3\r\n\r\nab", 200, "ab", false,
         "the peer closed the connection in the middle of a message"},
        {"cut chunk", R "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", 200, "abc", false,
         "the peer closed the connection in the middle of a message"},
        {"HTML", "<html>\r\n", 0, "", false, "this is not an HTTP/1.1 response"},
        {"HTTP/2", "HTTP/2.0 200 OK\r\n", 0, "", false, "this is not HTTP/1.1"},
        {"status", "HTTP/1.1 2x0 OK\r\n", 0, "", false,
         "the status is not a number of three digits"},
        {"status 999", "HTTP/1.1 999 OK\r\n", 0, "", false,
         "the status is not a number of three digits"},
        {"two lengths", R "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 200, "", false,
         "two Content-Length headers that differ"},
        {"length and chunks", R "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 200, "",
         false, "both Content-Length and chunked encoding"},
        {"negative", R "Content-Length: -1\r\n\r\n", 200, "", false,
         "Content-Length is not a number"},
        {"overflow", R "Content-Length: 99999999999999999999\r\n\r\n", 200, "", false,
         "Content-Length is not a number"},
        {"over the limit", R "Content-Length: 65\r\n\r\n", 200, "", false,
         "the body is larger than the limit of 64 bytes"},
        {"gzip", R "Transfer-Encoding: gzip, chunked\r\n\r\n", 200, "", false,
         "a Transfer-Encoding other than `chunked`"},
        {"folded", R "A: b\r\n c\r\n\r\n", 200, "", false, "a header line without a name"},
        {"blank before colon", R "A : b\r\n\r\n", 200, "", false, "a header line without a name"},
        {"control", R "A: b\001\r\n\r\n", 200, "", false, "a header with a control character"},
        {"chunk size", R "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 200, "", false,
         "a chunk without a length"},
        {"huge chunk", R "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", 200, "", false,
         "a chunk without a length"},
        {"chunk and word", R "Transfer-Encoding: chunked\r\n\r\n1 x\r\na\r\n", 200, "", false,
         "a chunk without a length"},
        {"close wins", R "Connection: close\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n",
         200, "", false, ""},
        {"long chunk", R "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", 200, "a", false,
         "a chunk is longer than its stated length"},
        {"upgrade", "HTTP/1.1 101 Switching\r\n\r\n", 101, "", false,
         "the peer switches protocols without being asked"},
    };
    static const size_t steps[] = {1, 2, 3, 7, 1000};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (size_t k = 0; k < ARRAY_LEN(steps); k++) {
            result r = feed(HTTP1_RESPONSE, str_of(cases[i].in), steps[k], true);
            if (strcmp(r.fails, cases[i].fails) != 0) fail_msg("%s: `%s`", cases[i].name, r.fails);
            assert_int_equal(r.state == HTTP1_DONE, !cases[i].fails[0]);
            if (cases[i].fails[0]) continue;
            assert_int_equal(r.status, cases[i].status);
            assert_string_equal(r.body, cases[i].body);
            assert_int_equal(r.keeps, cases[i].keeps);
            assert_int_equal(r.left, 0);
        }
}

static void test_requests(void **state)
{
    (void)state;
    str two =
        STR("POST /v1/logs HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhiGET / HTTP/1.1\r\n");
    result r = feed(HTTP1_REQUEST, two, 1000, false);
    assert_int_equal(r.state, HTTP1_DONE);
    assert_string_equal(r.body, "hi");
    assert_int_equal(r.left, 16); /* the next request remains */
    r = feed(HTTP1_REQUEST, STR("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"), 1,
             false); /* no body without a length */
    assert_int_equal(r.state, HTTP1_DONE);
    assert_string_equal(feed(HTTP1_REQUEST, STR("GET /\r\n"), 9, false).fails,
                        "this is not an HTTP/1.1 request");
    assert_string_equal(feed(HTTP1_REQUEST, STR("GET / a HTTP/1.1\r\n"), 9, false).fails,
                        "this is not HTTP/1.1");
    assert_string_equal(feed(HTTP1_REQUEST, STR("GET /\ta HTTP/1.1\r\n"), 9, false).fails,
                        "this is not an HTTP/1.1 request");
    assert_string_equal(feed(HTTP1_REQUEST, STR("GET http://a:1/b?c HTTP/1.1\r\n"), 9, false).path,
                        "/b?c");
    assert_string_equal(feed(HTTP1_REQUEST, STR("GET HTTPS://a HTTP/1.1\r\n"), 9, false).path, "/");
    assert_string_equal(feed(HTTP1_REQUEST, STR("GET file:///a HTTP/1.1\r\n"), 9, false).path,
                        "file:///a");
#define CHUNKS "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert_string_equal(feed(HTTP1_REQUEST, STR(CHUNKS "1\0\r\na\r\n0\r\n\r\n"), 9, false).fails,
                        "a chunk without a length");
    assert_string_equal(feed(HTTP1_REQUEST, STR(CHUNKS "1;a=\0\r\na\r\n0\r\n\r\n"), 9, false).fails,
                        "a chunk without a length");
    r = feed(HTTP1_REQUEST, STR(CHUNKS "1 ; a=b\r\na\r\n0\r\n\r\n"), 9, false);
    assert_string_equal(r.body, "a");
    assert_int_equal(r.state, HTTP1_DONE);
}

/* Endless headers fail at the limit of one line and of all lines. */
static void test_limits(void **state)
{
    (void)state;
    buf b = {0};
    buf_z(&b, R "A: ");
    for (int i = 0; i < 9000; i++) buf_putc(&b, 'x');
    assert_string_equal(feed(HTTP1_RESPONSE, buf_view(&b), 100, true).fails,
                        "a header line, or all headers together, are too long");
    buf_reset(&b);
    buf_z(&b, R);
    for (int i = 0; i < 300; i++) buf_z(&b, "A: b\r\n");
    assert_string_equal(feed(HTTP1_RESPONSE, buf_view(&b), 100, true).fails,
                        "more than 256 headers");
    buf_reset(&b); /* all interim responses count together, and all empty lines before a request */
    for (int i = 0; i < HTTP_MAX_HEAD / 25 + 1; i++) buf_z(&b, "HTTP/1.1 100 Continue\r\n\r\n");
    assert_string_equal(feed(HTTP1_RESPONSE, buf_view(&b), 100, true).fails,
                        "a header line, or all headers together, are too long");
    buf_reset(&b);
    for (int i = 0; i < HTTP_MAX_HEAD / 2 + 1; i++) buf_z(&b, "\r\n");
    assert_string_equal(feed(HTTP1_REQUEST, buf_view(&b), 100, false).fails,
                        "a header line, or all headers together, are too long");
    buf_free(&b);
}

/* A body of exactly the limit is accepted. */
static void test_body_limit(void **state)
{
    (void)state;
    for (int n = 64; n <= 65; n++) {
        http_message m = {.body.limit = 64};
        http1 h;
        err e = {0};
        buf b = {0};
        buf_printf(&b, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", n);
        for (int i = 0; i < n; i++) buf_putc(&b, 'x');
        str in = buf_view(&b);
        http1_begin(&h, HTTP1_REQUEST, &m);
        while (in.n && h.state != HTTP1_DONE) assert_ok(http1_feed(&h, &in, &e), &e);
        assert_int_equal(m.failure, n > 64 ? HTTP_TOO_LARGE : 0);
        assert_int_equal(m.body.n, n > 64 ? 0 : 64);
        http_message_free(&m);
        buf_free(&b);
    }
}

static void test_written(void **state)
{
    (void)state;
    buf b = {0};
    err e = {0};
    http_header h[] = {{STR("content-type"), STR("application/x-protobuf")}};
    assert_ok(http1_put_request(&b, STR("POST"), STR("/p"), STR("h:1"), h, 1, 7, &e), &e);
    assert_true(
        str_eq(buf_view(&b),
               STR("POST /p HTTP/1.1\r\nHost: h:1\r\ncontent-type: application/x-protobuf\r\n"
                   "Content-Length: 7\r\n\r\n")));
    buf_reset(&b);
    h[0].value = STR("a\r\nEvil: b");
    assert_false(http1_put_request(&b, STR("POST"), STR("/p"), STR("h:1"), h, 1, 7, &e));
    assert_string_equal(e.msg, "`content-type` cannot be sent as a header");
    buf_reset(&b);
    e = (err){0};
    assert_ok(http1_put_response(&b, 503, NULL, 0, 0, &e), &e);
    assert_true(
        str_eq(buf_view(&b), STR("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")));
    buf_reset(&b);
    assert_ok(http1_put_response(&b, 304, NULL, 0, 0, &e), &e);
    assert_true(str_eq(buf_view(&b), STR("HTTP/1.1 304 Not Modified\r\n\r\n")));
    buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_responses), cmocka_unit_test(test_requests),
        cmocka_unit_test(test_limits), cmocka_unit_test(test_body_limit),
        cmocka_unit_test(test_written)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
