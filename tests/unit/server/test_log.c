/* Tests that each event is one line, whatever text it contains. */
#include "server/log.h"

#include "../../support/test.h"

#define WALL UINT64_C(1700000000123456789)

static void test_lines(void **state)
{
    (void)state;
    static const struct {
        log_format format;
        log_line line;
        const char *want;
    } cases[] = {
        {LOG_TEXT, {.event = LOG_START, .message = "hello"}, "kiln: hello\n"},
        {LOG_TEXT, {.event = LOG_START, .message = "a\nb\x1b[0m"}, "kiln: a\\u000ab\\u001b[0m\n"},
        {LOG_TEXT,
         {.event = LOG_START, .message = "C1 \xc2\x9b, raw \x9b, DEL \x7f, \xe2\x80\xae, \xc3\xa9"},
         "kiln: C1 \\u009b, raw \\x9b, DEL \\u007f, \\u202e, \xc3\xa9\n"},
        {LOG_JSON,
         {.event = LOG_START, .message = "C1 \xc2\x9b, raw \x9b, DEL \x7f, \x1b, \xc3\xa9"},
         "{\"time\":\"2023-11-14T22:13:20.123Z\",\"level\":\"info\",\"event\":\"start\","
         "\"message\":\"C1 \\u009b, raw \\ufffd, DEL \\u007f, \\u001b, \xc3\xa9\"}\n"},
        {LOG_LOGFMT,
         {.event = LOG_START, .message = "C1 \xc2\x9b, raw \x9b, DEL \x7f, \n \\"},
         "time=2023-11-14T22:13:20.123Z level=info event=start message=\"C1 \\u009b, raw \\x9b, "
         "DEL \\u007f, \\u000a \\\\\"\n"},
        {LOG_JSON,
         {.event = LOG_LISTEN,
          .message = "on \"x\"\n",
          .fields = {{"address", "[::1]:1", 0}, {"n", NULL, 7}}},
         "{\"time\":\"2023-11-14T22:13:20.123Z\",\"level\":\"info\",\"event\":\"listen\","
         "\"message\":\"on \\\"x\\\"\\n\",\"address\":\"[::1]:1\",\"n\":7}\n"},
        {LOG_JSON,
         {.event = LOG_STOP, .warning = true, .message = "\xff"},
         "{\"time\":\"2023-11-14T22:13:20.123Z\",\"level\":\"warning\",\"event\":\"stop\","
         "\"message\":\"\\ufffd\"}\n"},
        {LOG_LOGFMT,
         {.event = LOG_REFUSED,
          .warning = true,
          .message = "no \"token\"\n",
          .fields = {{"sender", "10.0.0.7", 0}, {"reason", "", 0}, {"unsaid", NULL, 3}}},
         "time=2023-11-14T22:13:20.123Z level=warning event=refused message=\"no "
         "\\\"token\\\"\\u000a\" "
         "sender=10.0.0.7 reason=\"\" unsaid=3\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf b = {0};
        log_print(&b, cases[i].format, &cases[i].line, WALL);
        if (!str_eq(buf_view(&b), str_of(cases[i].want))) fail_msg("%.*s", (int)b.n, b.p);
        buf_free(&b);
    }
}

static void test_formats(void **state)
{
    (void)state;
    log_format f;
    assert_true(log_format_parse(NULL, &f) && f == LOG_TEXT);
    assert_true(log_format_parse("json", &f) && f == LOG_JSON);
    assert_true(log_format_parse("logfmt", &f) && f == LOG_LOGFMT);
    assert_false(log_format_parse("xml", &f));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lines),
                                       cmocka_unit_test(test_formats)};
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
