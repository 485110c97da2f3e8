/* Tests token files that change. */
#include "server/guard.h"
#include "wire/base64.h"

#include "../../support/test.h"
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[] = "/tmp/kiln-guard-XXXXXX";

static void put_at(const char *at, const char *text, mode_t mode)
{
    FILE *f = fopen(at, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    assert_int_equal(chmod(at, mode), 0);
}

static void put(const char *text, mode_t mode) { put_at(path, text, mode); }

static guard_verdict query(const guard *g, right r, const char *header)
{
    http_message m = {0};
    err e = {0};
    if (header)
        assert_ok(http_message_add(&m, &m.head, STR("authorization"), str_of(header), &e), &e);
    guard_verdict v = guard_check(g, r, &m);
    http_message_free(&m);
    return v;
}

static void test_tokens(void **state)
{
    (void)state;
    err e = {0};
    assert_true(close(mkstemp(path)) == 0);
    put("# ours\n\naaaaaaaaaaaaaaaaaaaa first one\nbbbbbbbbbbbbbbbbbbbb\n", 0600);
    guard *g = guard_open(path, NULL, &e);
    assert_ok(g, &e);
    assert_int_equal(query(g, RIGHT_READ, NULL), GUARD_OPEN); /* no file: no token required */
    assert_int_equal(query(g, RIGHT_WRITE, NULL), GUARD_NO_TOKEN);
    assert_int_equal(query(g, RIGHT_WRITE, "Digest YTpi"), GUARD_NO_TOKEN);
    assert_int_equal(query(g, RIGHT_WRITE, "Bearer aaaaaaaaaaaaaaaaaaaa"), GUARD_OPEN);
    assert_int_equal(query(g, RIGHT_WRITE, "bearer  bbbbbbbbbbbbbbbbbbbb"), GUARD_OPEN);
    assert_int_equal(query(g, RIGHT_WRITE, "Bearer aaaaaaaaaaaaaaaaaaa"), GUARD_WRONG_TOKEN);
    assert_int_equal(query(g, RIGHT_WRITE, "Bearer first"), GUARD_WRONG_TOKEN);
    assert_false(guard_refresh(g, &e));

    put("short\n", 0600); /* an invalid file keeps the old tokens */
    assert_false(guard_refresh(g, &e));
    assert_non_null(strstr(e.msg, "line 1"));
    assert_int_equal(query(g, RIGHT_WRITE, "Bearer aaaaaaaaaaaaaaaaaaaa"), GUARD_OPEN);
    e = (err){0};
    put("cccccccccccccccccccccc\n", 0600);
    assert_true(guard_refresh(g, &e));
    assert_int_equal(query(g, RIGHT_WRITE, "Bearer aaaaaaaaaaaaaaaaaaaa"), GUARD_WRONG_TOKEN);
    assert_int_equal(query(g, RIGHT_WRITE, "Bearer cccccccccccccccccccccc"), GUARD_OPEN);
    guard_close(g);

    put("cccccccccccccccccccccc\n", 0644); /* readable by all users */
    assert_null(guard_open(NULL, path, &e));
    assert_int_equal(e.code, ERR_SYS);
    e = (err){0};
    unlink(path);
    assert_null(guard_open(path, NULL, &e));
    assert_int_equal(e.code, ERR_SYS);
}

/* Basic: any user, the token is the password. */
static void test_basic(void **state)
{
    (void)state;
    static char at[] = "/tmp/kiln-guard-XXXXXX";
    static const struct {
        const char *plain;
        guard_verdict want;
    } cases[] = {
        {"admin:aaaaaaaaaaaaaaaa:bbb", GUARD_OPEN}, /* a password may contain colons */
        {":aaaaaaaaaaaaaaaa:bbb", GUARD_OPEN},
        {"aaaaaaaaaaaaaaaa:bbb", GUARD_WRONG_TOKEN}, /* the first colon ends the user */
        {"a:aaaaaaaaaaaaaaaa:bb", GUARD_WRONG_TOKEN},
        {"no colon", GUARD_WRONG_TOKEN},
        {"admin:", GUARD_WRONG_TOKEN},
    };
    err e = {0};
    assert_true(close(mkstemp(at)) == 0);
    put_at(at, "aaaaaaaaaaaaaaaa:bbb\n", 0600);
    guard *g = guard_open(NULL, at, &e);
    assert_ok(g, &e);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf b = {0};
        buf_z(&b, "basic ");
        base64_encode(&b, str_of(cases[i].plain));
        buf_putc(&b, '\0');
        assert_int_equal(query(g, RIGHT_READ, b.p), cases[i].want);
        buf_free(&b);
    }
    static char longer[4096];
    memset(longer, 'A', sizeof longer - 1);
    memcpy(longer, "Basic ", 6);
    assert_int_equal(query(g, RIGHT_READ, longer), GUARD_WRONG_TOKEN);
    assert_int_equal(query(g, RIGHT_READ, "Basic !!!"), GUARD_WRONG_TOKEN);
    assert_int_equal(query(g, RIGHT_READ, "Basic"), GUARD_NO_TOKEN);
    assert_int_equal(query(g, RIGHT_READ, "Basic  "), GUARD_NO_TOKEN);
    guard_close(g);
    unlink(at);
}

/* An invalid file does not delay a revocation in the other file. */
static void test_one_is_broken(void **state)
{
    (void)state;
    static char writers[] = "/tmp/kiln-guard-XXXXXX", readers[] = "/tmp/kiln-guard-XXXXXX";
    err e = {0};
    assert_true(close(mkstemp(writers)) == 0 && close(mkstemp(readers)) == 0);
    put_at(writers, "aaaaaaaaaaaaaaaaaaaa\n", 0600);
    put_at(readers, "bbbbbbbbbbbbbbbbbbbb\n", 0600);
    guard *g = guard_open(writers, readers, &e);
    assert_ok(g, &e);
    put_at(writers, "short\n", 0600);
    put_at(readers, "cccccccccccccccccccccc\n", 0600);
    assert_true(guard_refresh(g, &e));
    assert_int_equal(e.code, ERR_MALFORMED);
    assert_int_equal(query(g, RIGHT_WRITE, "Bearer aaaaaaaaaaaaaaaaaaaa"), GUARD_OPEN);
    assert_int_equal(query(g, RIGHT_READ, "Bearer bbbbbbbbbbbbbbbbbbbb"), GUARD_WRONG_TOKEN);
    assert_int_equal(query(g, RIGHT_READ, "Bearer cccccccccccccccccccccc"), GUARD_OPEN);
    guard_close(g);
    unlink(writers), unlink(readers);
}

/* An empty file revokes all tokens, unlike a missing file. */
static void test_emptied(void **state)
{
    (void)state;
    static char at[] = "/tmp/kiln-guard-XXXXXX";
    err e = {0};
    assert_true(close(mkstemp(at)) == 0);
    put_at(at, "aaaaaaaaaaaaaaaaaaaa\n", 0600);
    guard *g = guard_open(at, NULL, &e);
    assert_ok(g, &e);
    assert_null(guard_empty(g, RIGHT_WRITE));
    assert_null(guard_empty(g, RIGHT_READ)); /* no file */
    static const char *const empty[] = {"", "# nothing\n", "\n\n"};
    for (size_t i = 0; i < ARRAY_LEN(empty); i++) {
        put_at(at, "aaaaaaaaaaaaaaaaaaaaaaaa\n", 0600);
        assert_true(guard_refresh(g, &e));
        assert_int_equal(query(g, RIGHT_WRITE, "Bearer aaaaaaaaaaaaaaaaaaaaaaaa"), GUARD_OPEN);
        put_at(at, empty[i], 0600);
        assert_true(guard_refresh(g, &e));
        assert_string_equal(guard_empty(g, RIGHT_WRITE), at);
        assert_true(guard_has(g, RIGHT_WRITE));
        assert_int_equal(query(g, RIGHT_WRITE, "Bearer aaaaaaaaaaaaaaaaaaaaaaaa"),
                         GUARD_WRONG_TOKEN);
        assert_int_equal(query(g, RIGHT_WRITE, "Bearer "), GUARD_NO_TOKEN);
        assert_int_equal(query(g, RIGHT_WRITE, NULL), GUARD_NO_TOKEN);
    }
    guard_close(g);
    g = guard_open(at, NULL, &e); /* also after a restart */
    assert_ok(g, &e);
    assert_int_equal(query(g, RIGHT_WRITE, "Bearer aaaaaaaaaaaaaaaaaaaa"), GUARD_WRONG_TOKEN);
    guard_close(g);
    unlink(at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tokens), cmocka_unit_test(test_basic),
                                       cmocka_unit_test(test_emptied),
                                       cmocka_unit_test(test_one_is_broken)};
    return cmocka_run_group_tests_name("guard", tests, NULL, NULL);
}
