/* Endpoint URLs, valid and invalid. */
#include "net/url.h"

#include "../../support/test.h"

static void test_addresses(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool tls, scheme, port_given;
        const char *host;
        unsigned port;
        const char *path;
    } cases[] = {
        {"http://localhost:4318", false, true, true, "localhost", 4318, ""},
        {"https://Otel.example.com/a/b", true, true, false, "Otel.example.com", 443, "/a/b"},
        {"HTTP://h/", false, true, false, "h", 80, "/"},
        {"host:4317", false, false, true, "host", 4317, ""},
        {"http://[::1]:4317", false, true, true, "::1", 4317, ""},
        {"[fe80::1%eth0]", false, false, false, "fe80::1%eth0", 80, ""},
        {"127.0.0.1", false, false, false, "127.0.0.1", 80, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        url u;
        err e = {0};
        assert_ok(url_parse(str_of(cases[i].text), &u, &e), &e);
        assert_int_equal(u.tls, cases[i].tls);
        assert_int_equal(u.has_scheme, cases[i].scheme);
        assert_int_equal(u.has_port, cases[i].port_given);
        assert_true(str_eq(u.host, str_of(cases[i].host)));
        assert_int_equal(u.port, cases[i].port);
        assert_true(str_eq(u.path, str_of(cases[i].path)));
    }
}

static void test_local(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool local;
    } cases[] = {
        {"http://LocalHost:1", true},        {"http://127.0.0.1", true},
        {"http://127.1.2.3:4", true},        {"http://[::1]:4317", true},
        {"http://127.example.com", false},   {"http://10.0.0.1", false},
        {"http://localhost.example", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        url u;
        err e = {0};
        assert_ok(url_parse(str_of(cases[i].text), &u, &e), &e);
        if (url_is_local(&u) != cases[i].local) fail_msg("%s", cases[i].text);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "`` is not a host; an address looks like http://localhost:4318"},
        {"http://", "`` is not a host; an address looks like http://localhost:4318"},
        {"grpc://h:4317", "unsupported scheme `grpc://`: use http:// or https://"},
        {"http://h:", "`` is not a port"},
        {"http://h:0", "`0` is not a port"},
        {"http://h:65536", "`65536` is not a port"},
        {"http://h:4317x", "`4317x` is not a port"},
        {"http://[::1", "the address lacks a `]`"},
        {"http://user@h/",
         "an address must not contain a user name or password; send them in a header"},
        {"http://user:secret@h/",
         "an address must not contain a user name or password; send them in a header"},
        {"http://h/a?b", "the path of an endpoint must not contain a query, a fragment or spaces"},
        {"http://h/a\r\nX: y",
         "the path of an endpoint must not contain a query, a fragment or spaces"},
        {"http://a b/", "`a b` is not a host; an address looks like http://localhost:4318"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        url u;
        err e = {0};
        assert_false(url_parse(str_of(cases[i].text), &u, &e));
        assert_string_equal(e.msg, cases[i].why);
        assert_int_equal(e.code, ERR_USAGE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_addresses),
                                       cmocka_unit_test(test_local),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
