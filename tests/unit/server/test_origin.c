/* Tests requests of browsers on behalf of pages, and requests of other clients. */
#include "server/origin.h"

#include "../../support/test.h"

enum { ANY = 0, LOOPBACK = 1, TLS = 2, H2 = 4 };

static const struct {
    const char *name;
    int transport;
    const char *method, *host, *origin, *hosts[2];
    origin_verdict want;
} cases[] = {
    {"address", LOOPBACK, "GET", "127.0.0.1:4040", NULL, {0}, ORIGIN_OURS},
    {"another address", LOOPBACK, "GET", "10.1.2.3", NULL, {0}, ORIGIN_OURS},
    {"IPv6", LOOPBACK, "GET", "[::1]:4040", NULL, {0}, ORIGIN_OURS},
    {"IPv6 with a zone", LOOPBACK, "GET", "[fe80::1%eth0]:4040", NULL, {0}, ORIGIN_OURS},
    {"localhost", LOOPBACK, "GET", "LocalHost:4040", NULL, {0}, ORIGIN_OURS},
    {"localhost.", LOOPBACK, "HEAD", "localhost.:4040", NULL, {0}, ORIGIN_OURS},
    {"below localhost", LOOPBACK, "GET", "kiln.localhost", NULL, {0}, ORIGIN_OURS},
    {"no host", LOOPBACK, "GET", "", NULL, {0}, ORIGIN_OURS},

    {"rebound", LOOPBACK, "GET", "evil.example:4040", NULL, {0}, ORIGIN_HOST},
    {"rebound, sends",
     LOOPBACK,
     "POST",
     "evil.example:4318",
     "http://evil.example:4318",
     {0},
     ORIGIN_HOST},
    {"looks like an address", LOOPBACK, "GET", "127.0.0.1.evil.example", NULL, {0}, ORIGIN_HOST},
    {"looks like localhost", LOOPBACK, "GET", "localhost.evil.example", NULL, {0}, ORIGIN_HOST},
    {"ends like localhost", LOOPBACK, "GET", "evillocalhost", NULL, {0}, ORIGIN_HOST},
    {"looks like IPv6", LOOPBACK, "GET", "[evil]:4040", NULL, {0}, ORIGIN_HOST},
    {"a name we have", LOOPBACK, "GET", "Kiln.Example:4040", NULL, {"kiln.example"}, ORIGIN_OURS},
    {"with its port",
     LOOPBACK,
     "GET",
     "kiln.example:4040",
     NULL,
     {"x", "kiln.example:4040"},
     ORIGIN_OURS},
    {"with another port",
     LOOPBACK,
     "GET",
     "kiln.example:4041",
     NULL,
     {"kiln.example:4040"},
     ORIGIN_HOST},
    {"below a name we have",
     LOOPBACK,
     "GET",
     "x.kiln.example",
     NULL,
     {"kiln.example"},
     ORIGIN_HOST},

    {"others reach it", ANY, "GET", "kiln.internal:4040", NULL, {0}, ORIGIN_OURS},
    {"others reach it, by name", ANY, "GET", "kiln.internal", NULL, {"kiln.example"}, ORIGIN_HOST},
    {"TLS", LOOPBACK | TLS, "GET", "kiln.internal", NULL, {0}, ORIGIN_OURS},
    {"gRPC", LOOPBACK | H2, "POST", "collector.svc:4317", NULL, {0}, ORIGIN_OURS},
    {"no browser sends", LOOPBACK, "POST", "collector.svc:4318", NULL, {0}, ORIGIN_OURS},

    {"own page", LOOPBACK, "POST", "127.0.0.1:4040", "http://127.0.0.1:4040", {0}, ORIGIN_OURS},
    {"own page, usual port", ANY, "POST", "kiln", "http://kiln", {0}, ORIGIN_OURS},
    {"own page behind TLS", ANY | TLS | H2, "POST", "kiln.x", "https://kiln.x", {0}, ORIGIN_OURS},
    {"across sites", LOOPBACK, "POST", "127.0.0.1:4318", "https://evil.example", {0}, ORIGIN_PAGE},
    {"across sites, asks",
     LOOPBACK,
     "GET",
     "127.0.0.1:4040",
     "https://evil.example",
     {0},
     ORIGIN_PAGE},
    {"across sites, elsewhere",
     ANY | TLS | H2,
     "POST",
     "kiln.x",
     "https://evil.example",
     {0},
     ORIGIN_PAGE},
    {"another port", LOOPBACK, "POST", "localhost:4040", "http://localhost:8080", {0}, ORIGIN_PAGE},
    {"another port that is ours",
     LOOPBACK,
     "POST",
     "localhost:4040",
     "http://localhost:8080",
     {"localhost:8080"},
     ORIGIN_OURS},
    {"a proxy's page",
     LOOPBACK,
     "POST",
     "127.0.0.1:4040",
     "https://kiln.example",
     {"kiln.example"},
     ORIGIN_OURS},
    {"nobody's page", LOOPBACK, "POST", "127.0.0.1:4040", "null", {0}, ORIGIN_PAGE},
    {"nothing", LOOPBACK, "POST", "127.0.0.1:4040", "", {0}, ORIGIN_PAGE},
    {"an extension",
     LOOPBACK,
     "POST",
     "127.0.0.1:4040",
     "moz-extension://127.0.0.1:4040",
     {0},
     ORIGIN_PAGE},
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        err e = {0};
        http_message m = {.method = str_of(cases[i].method), .authority = str_of(cases[i].host)};
        m.transport = (http_transport){cases[i].transport & LOOPBACK, cases[i].transport & TLS,
                                       cases[i].transport & H2};
        if (cases[i].origin)
            assert_ok(http_message_add(&m, &m.head, STR("Origin"), str_of(cases[i].origin), &e),
                      &e);
        str hosts[2];
        size_t n = 0;
        for (; n < 2 && cases[i].hosts[n]; n++) hosts[n] = str_of(cases[i].hosts[n]);
        origin_verdict got = origin_check(&m, hosts, n);
        if (got != cases[i].want) fail_msg("%s: %d", cases[i].name, (int)got);
        http_message_free(&m);
    }
}

static void test_hosts(void **state)
{
    (void)state;
    static const char *const good[] = {"kiln", "kiln.example.com", "kiln:4040", "a_b-c.d",
                                       "[::1]:4040"};
    static const char *const bad[] = {"",    ":4040", "http://kiln", "kiln/x", "*.example.com",
                                      "a b", "kiln:x"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) assert_true(origin_host_valid(str_of(good[i])));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) assert_false(origin_host_valid(str_of(bad[i])));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases), cmocka_unit_test(test_hosts)};
    return cmocka_run_group_tests_name("origin", tests, NULL, NULL);
}
