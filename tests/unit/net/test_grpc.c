/* gRPC frames, status codes, grpc-message and grpc-timeout. */
#include "net/grpc.h"

#include "../../support/test.h"

static void test_frames(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        str in;
        size_t frames;
        const char *fails;
    } cases[] = {
        {"none", {"", 0}, 0, NULL},
        {"empty message", {"\0\0\0\0\0", 5}, 1, NULL},
        {"two", {"\0\0\0\0\1a\1\0\0\0\2bc", 13}, 2, NULL},
        {"cut prefix", {"\0\0\0", 3}, 0, "a gRPC frame is cut off"},
        {"cut message", {"\0\0\0\0\5abc", 8}, 0, "a gRPC frame is cut off"},
        {"flag", {"\2\0\0\0\0", 5}, 0, "a gRPC frame begins with 2 instead of 0 or 1"},
        {"huge",
         {"\0\xff\xff\xff\xff", 5},
         0,
         "a gRPC message of 4294967295 bytes exceeds the limit of 100"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        str in = cases[i].in;
        grpc_frame f;
        err e = {0};
        size_t n = 0;
        while (grpc_next(&in, 100, &f, &e)) n++;
        assert_int_equal(n, cases[i].frames);
        assert_string_equal(e.msg, cases[i].fails ? cases[i].fails : "");
    }
}

/* A message of exactly the limit is accepted. */
static void test_frame_limit(void **state)
{
    (void)state;
    for (size_t max = 1; max <= 3; max++) {
        str in = {"\0\0\0\0\2bc", 7};
        grpc_frame f;
        err e = {0};
        assert_int_equal(grpc_next(&in, max, &f, &e), max >= 2);
        assert_int_equal(e.code, max >= 2 ? ERR_OK : ERR_LIMIT);
    }
}

static void test_prefix(void **state)
{
    (void)state;
    uint8_t p[GRPC_PREFIX];
    grpc_put_prefix(p, true, 0x01020304);
    assert_memory_equal(p, "\1\1\2\3\4", 5);
}

static void test_codes(void **state)
{
    (void)state;
    assert_int_equal(grpc_code_parse(STR("0")), GRPC_OK);
    assert_int_equal(grpc_code_parse(STR("14")), GRPC_UNAVAILABLE);
    assert_int_equal(grpc_code_parse(STR("17")), GRPC_UNKNOWN);
    assert_int_equal(grpc_code_parse(STR("")), GRPC_UNKNOWN);
    assert_int_equal(grpc_code_parse(STR("-1")), GRPC_UNKNOWN);
    assert_int_equal(grpc_code_parse(STR("99999999999999999999")), GRPC_UNKNOWN);
    assert_int_equal(grpc_code_of_http(503), GRPC_UNAVAILABLE);
    assert_int_equal(grpc_code_of_http(404), GRPC_UNIMPLEMENTED);
    assert_string_equal(grpc_code_name(GRPC_DATA_LOSS), "DATA_LOSS");
    assert_string_equal(grpc_code_name((grpc_code)99), "UNKNOWN");
}

static void test_messages(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"plain", "plain"}, {"a%20b%C3%A4", "a b\xc3\xa4"}, {"100%", "100%"}, {"%0a%zz", " %zz"},
        {"", ""},
    };
    char out[32];
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t n = grpc_message_text(str_of(cases[i][0]), out, sizeof out);
        assert_string_equal(out, cases[i][1]);
        assert_int_equal(n, strlen(out));
    }
    assert_int_equal(grpc_message_text(STR("long"), out, 3), 2); /* truncated to the buffer */
    assert_string_equal(out, "lo");
    buf b = {0};
    grpc_put_message_text(&b, STR("50% \xc3\xa4\n"));
    assert_true(str_eq(buf_view(&b), STR("50%25 %C3%A4%0A")));
    buf_free(&b);
}

static void test_timeouts(void **state)
{
    (void)state;
    static const struct {
        uint64_t ns;
        const char *text;
    } cases[] = {
        {1, "1n"},
        {99999999, "99999999n"},
        {10000000000, "10000000u"},
        {100000000000, "100000m"},
        {UINT64_MAX, "5124096H"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char out[12];
        uint64_t ns;
        grpc_timeout_text(cases[i].ns, out);
        assert_string_equal(out, cases[i].text);
        assert_true(grpc_timeout_parse(str_of(out), &ns));
        assert_true(ns >= cases[i].ns); /* rounded up, so that the server does not give up first */
        assert_true(strlen(out) <= 9);
    }
    uint64_t ns;
    assert_false(grpc_timeout_parse(STR("10"), &ns));
    assert_false(grpc_timeout_parse(STR("S"), &ns));
    assert_false(grpc_timeout_parse(STR("1x"), &ns));
    assert_false(grpc_timeout_parse(STR("123456789S"), &ns));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames),   cmocka_unit_test(test_frame_limit),
        cmocka_unit_test(test_prefix),   cmocka_unit_test(test_codes),
        cmocka_unit_test(test_messages), cmocka_unit_test(test_timeouts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
