/* The configuration of an exporter from variables and addresses. */
#include "otlp/config.h"

#include "../../support/variables.h"

#define E "OTEL_EXPORTER_OTLP_"

static void test_environment(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        otlp_signal signal;
        const char *vars[16];
        otlp_protocol protocol;
        bool tls;
        const char *host;
        unsigned port;
        const char *path;
        codec codec;
        uint64_t timeout_ms;
        const char *warning;
    } cases[] = {
        {"nothing",
         OTLP_PROFILES,
         {0},
         OTLP_HTTP,
         false,
         "localhost",
         4318,
         "/v1development/profiles",
         CODEC_NONE,
         10000,
         ""},
        {"logs",
         OTLP_LOGS,
         {0},
         OTLP_HTTP,
         false,
         "localhost",
         4318,
         "/v1/logs",
         CODEC_NONE,
         10000,
         ""},
        {"grpc",
         OTLP_LOGS,
         {E "PROTOCOL", "GRPC"},
         OTLP_GRPC,
         false,
         "localhost",
         4317,
         "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
         CODEC_NONE,
         10000,
         ""},
        {"base path",
         OTLP_PROFILES,
         {E "ENDPOINT", "https://h:1/base/"},
         OTLP_HTTP,
         true,
         "h",
         1,
         "/base/v1development/profiles",
         CODEC_NONE,
         10000,
         ""},
        {"verbatim",
         OTLP_PROFILES,
         {E "ENDPOINT", "http://a", E "PROFILES_ENDPOINT", "http://b"},
         OTLP_HTTP,
         false,
         "b",
         80,
         "/",
         CODEC_NONE,
         10000,
         ""},
        {"another signal's",
         OTLP_LOGS,
         {E "PROFILES_ENDPOINT", "http://b"},
         OTLP_HTTP,
         false,
         "localhost",
         4318,
         "/v1/logs",
         CODEC_NONE,
         10000,
         ""},
        {"grpc ignores paths",
         OTLP_PROFILES,
         {E "ENDPOINT", "https://h/x", E "PROTOCOL", "grpc"},
         OTLP_GRPC,
         true,
         "h",
         443,
         "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
         CODEC_NONE,
         10000,
         ""},
        {"no scheme",
         OTLP_PROFILES,
         {E "ENDPOINT", "h:9", E "PROTOCOL", "grpc"},
         OTLP_GRPC,
         true,
         "h",
         9,
         "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
         CODEC_NONE,
         10000,
         ""},
        {"insecure",
         OTLP_PROFILES,
         {E "ENDPOINT", "h", E "PROTOCOL", "grpc", E "INSECURE", "True"},
         OTLP_GRPC,
         false,
         "h",
         4317,
         "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
         CODEC_NONE,
         10000,
         ""},
        {"insecure and a scheme",
         OTLP_PROFILES,
         {E "ENDPOINT", "https://h", E "PROTOCOL", "grpc", E "INSECURE", "true"},
         OTLP_GRPC,
         true,
         "h",
         443,
         "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
         CODEC_NONE,
         10000,
         ""},
        {"empty is unset",
         OTLP_LOGS,
         {E "ENDPOINT", "", E "TIMEOUT", "", E "COMPRESSION", ""},
         OTLP_HTTP,
         false,
         "localhost",
         4318,
         "/v1/logs",
         CODEC_NONE,
         10000,
         ""},
        {"gzip and time",
         OTLP_LOGS,
         {E "COMPRESSION", "gzip", E "LOGS_TIMEOUT", "250"},
         OTLP_HTTP,
         false,
         "localhost",
         4318,
         "/v1/logs",
         CODEC_GZIP,
         250,
         ""},
        {"no limit",
         OTLP_LOGS,
         {E "COMPRESSION", "zstd", E "TIMEOUT", "0"},
         OTLP_HTTP,
         false,
         "localhost",
         4318,
         "/v1/logs",
         CODEC_ZSTD,
         0,
         ""},
        {"negative",
         OTLP_LOGS,
         {E "TIMEOUT", "-5"},
         OTLP_HTTP,
         false,
         "localhost",
         4318,
         "/v1/logs",
         CODEC_NONE,
         10000,
         E "TIMEOUT is ignored: it must be a whole number of milliseconds"},
        {"json",
         OTLP_LOGS,
         {E "LOGS_PROTOCOL", "http/json"},
         OTLP_HTTP,
         false,
         "localhost",
         4318,
         "/v1/logs",
         CODEC_NONE,
         10000,
         E
         "LOGS_PROTOCOL is ignored: kiln supports grpc and http/protobuf, and uses http/protobuf"},
        {"snappy",
         OTLP_LOGS,
         {E "COMPRESSION", "snappy"},
         OTLP_HTTP,
         false,
         "localhost",
         4318,
         "/v1/logs",
         CODEC_NONE,
         10000,
         E "COMPRESSION is ignored: kiln supports none, gzip and zstd"},
        {"insecure?",
         OTLP_LOGS,
         {E "INSECURE", "yes"},
         OTLP_HTTP,
         false,
         "localhost",
         4318,
         "/v1/logs",
         CODEC_NONE,
         10000,
         E "INSECURE is ignored: it must be `true` or `false`"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        variables v = {.pairs = cases[i].vars};
        otlp_environment env = {get, warn, &v};
        arena a = {0};
        otlp_config c;
        err e = {0};
        assert_ok(otlp_config_read(cases[i].signal, &env, &a, &c, &e), &e);
        if (c.protocol != cases[i].protocol || c.to.tls != cases[i].tls ||
            !str_eq(c.to.host, str_of(cases[i].host)) || c.to.port != cases[i].port ||
            !str_eq(c.to.path, str_of(cases[i].path)) || c.codec != cases[i].codec ||
            c.timeout != cases[i].timeout_ms * 1000000 || strcmp(v.warning, cases[i].warning) != 0)
            fail_msg("%s: %d %d %.*s:%u %.*s %d %llu `%s`", cases[i].name, c.protocol, c.to.tls,
                     STR_ARG(c.to.host), c.to.port, STR_ARG(c.to.path), c.codec,
                     (unsigned long long)c.timeout, v.warning);
        arena_free(&a);
    }
}

static void test_headers(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want; /* the variable's value; the accepted headers as name=value; */
        unsigned warnings;
    } cases[] = {
        {"a=b", "a=b;", 0},
        {" API-Key = x%20y%2Cz , b=c=d ", "api-key=x y,z;b=c=d;", 0},
        {"a=", "a=;", 0},
        {"a,b=1", "b=1;", 1},
        {"a=%zz,b=1", "b=1;", 1},
        {"a b=1", "", 1},
        {"a=x%0d%0aEvil: y", "", 1},
        {"Content-Type=text/plain,grpc-timeout=1S,host=x", "", 3},
        {",,", "", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *vars[] = {E "HEADERS", cases[i].text, NULL};
        variables v = {.pairs = vars};
        otlp_environment env = {get, warn, &v};
        arena a = {0};
        otlp_config c;
        err e = {0};
        buf got = {0};
        assert_ok(otlp_config_read(OTLP_PROFILES, &env, &a, &c, &e), &e);
        for (size_t k = 0; k < c.headers.n; k++)
            buf_printf(&got, "%.*s=%.*s;", STR_ARG(c.headers.v[k].name),
                       STR_ARG(c.headers.v[k].value));
        assert_true(str_eq(buf_view(&got), str_of(cases[i].want)));
        assert_int_equal(v.warnings, cases[i].warnings);
        buf_free(&got);
        arena_free(&a);
    }
}

static void test_files_and_words(void **state)
{
    (void)state;
    static const char *const vars[] = {E "CERTIFICATE",
                                       "/ca",
                                       E "PROFILES_CLIENT_KEY",
                                       "/k",
                                       E "CLIENT_CERTIFICATE",
                                       "/c",
                                       E "PROFILES_ENDPOINT",
                                       "http://h",
                                       NULL};
    variables v = {.pairs = vars};
    otlp_environment env = {get, warn, &v};
    arena a = {0};
    otlp_config c;
    err e = {0};
    assert_ok(otlp_config_read(OTLP_PROFILES, &env, &a, &c, &e), &e);
    assert_string_equal(c.tls.ca, "/ca");
    assert_string_equal(c.tls.key, "/k");
    assert_string_equal(c.tls.cert, "/c");
    assert_string_equal(c.set_endpoint, E "PROFILES_ENDPOINT=");
    assert_string_equal(c.set_protocol, E "PROTOCOL=");

    static const char *const bad[] = {E "ENDPOINT", "localhost:4318", NULL};
    v.pairs = bad;
    char text[300];
    assert_false(otlp_config_read(OTLP_PROFILES, &env, &a, &c, &e));
    assert_string_equal(err_text(&e, text, sizeof text),
                        "an address must begin with http:// or https:// (at " E "ENDPOINT)");
    arena_free(&a);
}

static void test_typed(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool guess;
        otlp_protocol protocol;
        bool tls;
        unsigned port;
        const char *path;
    } cases[] = {
        {"http://h:4317", true, OTLP_GRPC, false, 4317,
         "/opentelemetry.proto.collector.logs.v1.LogsService/Export"},
        {"http://h:4318", true, OTLP_HTTP, false, 4318, "/v1/logs"},
        {"https://h/", true, OTLP_HTTP, true, 443, "/v1/logs"},
        {"https://h/x", true, OTLP_HTTP, true, 443, "/x"},
        {"localhost", true, OTLP_HTTP, false, 4318, "/v1/logs"},
        {"[::1]", true, OTLP_HTTP, false, 4318, "/v1/logs"},
        {"example.com", true, OTLP_HTTP, true, 4318, "/v1/logs"},
        {"http://h:4317", false, OTLP_HTTP, false, 4317, "/v1/logs"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        err e = {0};
        otlp_config c = {.signal = OTLP_LOGS};
        assert_ok(otlp_config_address(&c, str_of(cases[i].text), cases[i].guess, &a, &e), &e);
        assert_int_equal(c.protocol, cases[i].protocol);
        assert_int_equal(c.to.tls, cases[i].tls);
        assert_int_equal(c.to.port, cases[i].port);
        assert_true(str_eq(c.to.path, str_of(cases[i].path)));
        arena_free(&a);
    }
}

/* otlp_ignored_proxy returns the proxy variable that other programs would use. */
static void test_proxies(void **state)
{
    (void)state;
    static const struct {
        const char *vars[8], *to, *want;
    } cases[] = {
        {{0}, "https://h", NULL},
        {{"HTTPS_PROXY", "http://p:1"}, "https://h", "HTTPS_PROXY"},
        {{"HTTPS_PROXY", "http://p:1", "https_proxy", "http://p:2"}, "https://h", "https_proxy"},
        {{"HTTPS_PROXY", ""}, "https://h", NULL},
        {{"HTTPS_PROXY", "http://p:1"}, "http://h", NULL},
        {{"http_proxy", "http://p:1"}, "http://h", "http_proxy"},
        {{"ALL_PROXY", "http://p:1"}, "https://h", "ALL_PROXY"},
        {{"http_proxy", "http://p:1"}, "http://localhost:4318", NULL},
        {{"http_proxy", "http://p:1"}, "http://127.0.0.1:4318", NULL},
        {{"http_proxy", "p", "NO_PROXY", "*"}, "http://h", NULL},
        {{"http_proxy", "p", "NO_PROXY", "x, a.example.com"}, "http://A.example.com", NULL},
        {{"http_proxy", "p", "no_proxy", ".example.com"}, "http://a.example.com", NULL},
        {{"http_proxy", "p", "no_proxy", "example.com"}, "http://a.example.com", NULL},
        {{"http_proxy", "p", "no_proxy", "example.com"}, "http://anexample.com", "http_proxy"},
        {{"http_proxy", "p", "no_proxy", ", ,"}, "http://a", "http_proxy"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        err e = {0};
        otlp_config c;
        variables v = {.pairs = cases[i].vars};
        otlp_environment env = {get, warn, &v};
        assert_ok(otlp_config_read(OTLP_PROFILES, &env, &a, &c, &e), &e);
        assert_ok(otlp_config_address(&c, str_of(cases[i].to), true, &a, &e), &e);
        const char *got = otlp_ignored_proxy(&c);
        if (!got != !cases[i].want || (got && strcmp(got, cases[i].want) != 0))
            fail_msg("case %zu: %s", i, got ? got : "none");
        arena_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_environment), cmocka_unit_test(test_headers),
        cmocka_unit_test(test_proxies), cmocka_unit_test(test_files_and_words),
        cmocka_unit_test(test_typed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
