/* Tests valid, mistaken and hostile configurations. */
#include "server/config.h"

#include "../../support/test.h"

static bool read_text(const char *text, arena *a, server_config *c, err *e)
{
    *c = (server_config){0}, *e = (err){0};
    return config_read(str_of(text), a, c, e);
}

static void test_values(void **state)
{
    (void)state;
    arena a = {0};
    err e;
    server_config c;
    assert_true(read_text(
        "# everything\n"
        "listen:\n  - 127.0.0.1:4317\n  - \":4318\"\n"
        "insecure: true\n"
        "log-format: json\n"
        "store:\n  directory: /var/lib/kiln\n  max-age: 14d\n  max-size: none\n"
        "tls: {cert: a.pem, key: b.pem, client-ca: c.pem}\n"
        "source: {link: \"https://g/{file}\", debuginfod: \"http://d:8002 https://e/x\"}\n"
        "tokens:\n  write: w\n  read: r\n"
        "limits:\n  connections: 7\n  body: 1MiB\n  idle-time: 1min\n"
        "  min-rate: 512\n  message: 2GiB\n"
        "forward:\n  to: http://h:4318\n  headers: a=b\n  spool: /s\n",
        &a, &c, &e));
    assert_int_equal(c.listen.n, 2);
    assert_true(str_eq(c.listen.v[1], STR(":4318")));
    assert_true(c.insecure);
    assert_string_equal(c.log_format, "json");
    assert_string_equal(c.store, "/var/lib/kiln");
    assert_true(c.max_age == 14 * 24 * 3600 * NS_PER_S && c.max_bytes == UINT64_MAX);
    assert_string_equal(c.tls.cert, "a.pem");
    assert_string_equal(c.tls.key, "b.pem");
    assert_string_equal(c.tls.ca, "c.pem");
    assert_string_equal(c.write_tokens, "w");
    assert_string_equal(c.read_tokens, "r");
    assert_string_equal(c.source_debuginfod, "http://d:8002 https://e/x");
    assert_int_equal(c.http.connections, 7);
    assert_int_equal(c.http.body, 1 << 20);
    assert_int_equal(c.http.min_rate, 512);
    assert_true(c.http.idle_ns == 60 * NS_PER_S && c.ingest.max_message == (size_t)2 << 30);
    assert_string_equal(c.forward.to, "http://h:4318");
    assert_int_equal(c.forward.headers.n, 1);
    assert_true(config_check(&c, &e));
    arena_free(&a);
}

/* An empty configuration changes nothing. */
static void test_empty(void **state)
{
    (void)state;
    static const char *const cases[] = {"",
                                        "\n\n",
                                        "# nothing\n",
                                        "---\n...\n",
                                        "{}",
                                        "store:\n  # all is commented out\n",
                                        "\xef\xbb\xbf# BOM\n"};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        err e;
        server_config c, none = {0};
        if (!read_text(cases[i], &a, &c, &e)) fail_msg("%zu: %s", i, e.msg);
        assert_memory_equal(&c, &none, sizeof c);
        arena_free(&a);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message; /* message: its beginning */
    } cases[] = {
        {"lisen: 4317", "line 1, column 1: unknown key `lisen`; did you mean `listen`?"},
        {"store:\n  max-agee: 1d",
         "line 2, column 3: unknown key `store.max-agee`; did you mean `store.max-age`?"},
        {"stor:\n  max-age: 1d", "line 1, column 1: unknown key `stor`; did you mean `store`?"},
        {"max-age: 1d", "line 1, column 1: unknown key `max-age`; did you mean `store.max-age`?"},
        {"zzzzzz: 1", "line 1, column 1: unknown key `zzzzzz`; docs/serve.md lists the keys"},
        {"store:\n  max-age: soon", "line 2, column 12: store.max-age must be a duration such as "
                                    "7d, 12h, 2min or 10s, not `soon`"},
        {"store: {max-size: 1XB}", "line 1, column 19: store.max-size must be a size such as "
                                   "64MiB, 10GiB or 4096, not `1XB`"},
        {"limits: {connections: 1k}",
         "line 1, column 23: limits.connections must be a whole number, not `1k`"},
        {"limits: {connections: 4294967296}",
         "line 1, column 23: limits.connections is too large; the maximum is 4294967295"},
        {"limits: {connections: 0}",
         "line 1, column 23: limits.connections must be greater than 0"},
        {"limits: {idle-time: none}", "line 1, column 21: limits.idle-time must be a duration"},
        {"insecure: maybe", "line 1, column 11: insecure must be true or false, not `maybe`"},
        {"log-format: xml",
         "line 1, column 13: log-format does not support `xml`; choose one of: text json logfmt"},
        {"tls:\n  cert:\n", "line 2, column 8: the value is missing; remove the key"},
        {"tls: x.pem", "line 1, column 6: tls is a section; put its keys below it"},
        {"listen: {a: b}", "line 1, column 9: listen must be a list of strings"},
        {"listen: [[a]]", "line 1, column 10: listen must be a list of strings"},
        {"insecure: [true]", "line 1, column 11: insecure takes a single value"},
        {"[a, b]", "line 1, column 1: a configuration consists of keys with values"},
        {"just words", "line 1, column 1: a configuration consists of keys with values"},
        {"? [a]\n: b", "line 1, column 3: a key must be one word"},
        /* hostile */
        {"insecure: true\ninsecure: false",
         "line 2, column 1: duplicate key insecure; it first appears on line 1"},
        {"tls: {cert: a}\ntls: {key: b}",
         "line 2, column 1: duplicate key tls; it first appears on line 1"},
        {"tls.cert: a\ntls:\n  cert: b",
         "line 3, column 3: duplicate key tls.cert; it first appears on line 1"},
        {"listen: &a [x]", "line 1, column 9: anchors and aliases are not supported"},
        {"listen: *a", "line 1, column 9: anchors and aliases are not supported"},
        {"&a store: {}", "line 1, column 1: anchors and aliases are not supported"},
        {"a: &a [x]\nb: &b [*a, *a, *a]\n", "line 1, column 1: unknown key `a`"},
        {"listen: !!binary aGk=", "line 1, column 9: tags such as !!str are not supported"},
        {"store: !include x", "line 1, column 8: tags such as !!str are not supported"},
        {"<<: {insecure: true}", "line 1, column 1: unknown key `<<`"},
        {"store: {directory: \"a\\0b\"}", "line 1, column 20: the value contains a zero byte"},
        {"insecure: true\n---\ninsecure: false",
         "line 2, column 1: a configuration file must contain only one"},
        {"listen: [a", "line "},
        {"a: b: c", "line 1, column "},
        {"\tlisten: 1", "line 1, column "},
        {"listen: \"\x01\"", "line 1, column "},
        {"listen: \xff\xfe\xfd", "line "},
        {"listen: '\x1b[31mred", "line "},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        err e;
        server_config c;
        if (read_text(cases[i].text, &a, &c, &e)) fail_msg("%s: was taken", cases[i].text);
        if (e.code != ERR_MALFORMED || strncmp(e.msg, cases[i].message, strlen(cases[i].message)))
            fail_msg("%s: %s", cases[i].text, e.msg);
        for (const char *p = e.msg; *p; p++) assert_true((unsigned char)*p >= ' ');
        arena_free(&a);
    }
}

/* Oversized input is rejected in bounded memory, with a line number. */
static void test_floods(void **state)
{
    (void)state;
    static const struct {
        const char *head, *each;
    } cases[] = {{"listen: ", "["}, {"", "{a: "},           {"", "- "},
                 {"", "? "},        {"listen:\n", "- x\n"}, {"", "insecure: true\n"},
                 {"", "zzz\n"},     {"store: {", "a, "},    {"listen: '", "long "}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {.budget = 1 << 20};
        buf b = {0};
        err e = {0};
        server_config c = {0};
        buf_z(&b, cases[i].head);
        while (b.n + strlen(cases[i].each) <= CONFIG_MAX_BYTES) buf_z(&b, cases[i].each);
        assert_false(config_read(buf_view(&b), &a, &c, &e));
        if (strncmp(e.msg, "line ", 5) != 0) fail_msg("%s: %s", cases[i].each, e.msg);
        buf_free(&b);
        arena_free(&a);
    }
    char *large = calloc(1, CONFIG_MAX_BYTES + 1);
    assert_non_null(large);
    memset(large, '\n', CONFIG_MAX_BYTES + 1);
    arena a = {0};
    err e = {0};
    server_config c = {0};
    assert_false(config_read((str){large, CONFIG_MAX_BYTES + 1}, &a, &c, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    free(large);
}

static void test_checked(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool fine;
    } cases[] = {
        {"tls: {cert: a}", true},
        {"tls: {key: a}", false},
        {"tls: {client-ca: a}", false},
        {"forward: {to: http://h}", true},
        {"forward: {spool: /s}", false},
        {"forward: {compression: gzip}", false},
        {"forward: {to: http://h, spool-size: 1MiB}", false},
        {"forward: {to: http://h, headers: [a]}", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        err e;
        server_config c;
        assert_true(read_text(cases[i].text, &a, &c, &e));
        if (config_check(&c, &e) != cases[i].fine) fail_msg("%s: %s", cases[i].text, e.msg);
        if (!cases[i].fine) assert_int_equal(e.code, ERR_USAGE);
        arena_free(&a);
    }
}

/* The printed configuration is equivalent and contains no secrets. */
static void test_printed(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "listen: [a, \"it's\"]\nstore: {directory: \"tab\\there\", max-size: 1536MiB}",
        "store: {max-age: none, max-size: 1}\nlimits: {head-time: 1500ms, body: 3KiB}",
        "tls: {cert: '# no comment', key: 'a: b'}\ninsecure: true\nlog-format: logfmt",
        "store: {max-age: 90s}\nforward: {to: 'http://h', compression: zstd, queue: 1GiB}",
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        err e;
        server_config c, again = {0};
        buf b = {0};
        size_t n;
        const config_key *k = config_keys(&n);
        assert_true(read_text(cases[i], &a, &c, &e));
        config_print(&c, &b);
        if (!config_read(buf_view(&b), &a, &again, &e))
            fail_msg("%zu: %s\n%.*s", i, e.msg, (int)b.n, b.p);
        for (size_t j = 0; j < n; j++)
            if (!config_same(&k[j], &c, &again) && !k[j].usual) fail_msg("%s", k[j].name);
        buf_free(&b);
        arena_free(&a);
    }
    arena a = {0};
    err e;
    server_config c;
    buf b = {0};
    assert_true(read_text("forward: {to: http://h, headers: [key=hunter2]}", &a, &c, &e));
    config_print(&c, &b);
    assert_null(memmem(b.p, b.n, "hunter2", 7));
    assert_non_null(memmem(b.p, b.n, "key=...", 7));
    buf_free(&b);
    arena_free(&a);
}

/* The table of keys: every default is a valid value, and docs/serve.md lists every key with it. */
static void test_keys(void **state)
{
    (void)state;
    size_t n;
    const config_key *k = config_keys(&n);
    for (size_t i = 0; i < n; i++) {
        arena a = {0};
        err e;
        server_config c;
        buf b = {0};
        const char *value = k[i].usual              ? k[i].usual
                            : k[i].choices          ? "grpc"
                            : k[i].kind == KEY_SIZE ? "64MiB"
                                                    : "x";
        buf_printf(&b, "%s: %s%c", k[i].name, value, 0);
        if (!read_text(b.p, &a, &c, &e)) fail_msg("%s: %s", b.p, e.msg);
        buf_free(&b);
        arena_free(&a);
    }
    arena a = {0};
    err e;
    server_config c;
    assert_true(read_text("store: {max-age: 7d, max-size: 10GiB}", &a, &c, &e));
    assert_true(c.max_age == STORE_MAX_AGE && c.max_bytes == STORE_MAX_BYTES);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),  cmocka_unit_test(test_empty),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_floods),
        cmocka_unit_test(test_checked), cmocka_unit_test(test_printed),
        cmocka_unit_test(test_keys)};
    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
