/* The search for commands in PATH, and programs that gain privileges. */
#include "sys/program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/kiln-program-XXXXXX";

static void put(const char *name, mode_t mode)
{
    int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(dir) || chdir(dir) != 0 || mkdir("a", 0700) != 0 || mkdir("b", 0700) != 0 ||
        mkdir("b/folder", 0700) != 0)
        return -1;
    put("a/plain", 0644);
    put("a/both", 0644);
    put("b/both", 0755);
    put("b/tool", 0755);
    put("here", 0755);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    static const char *const files[] = {"a/plain", "a/both", "b/both",  "b/tool",
                                        "here",    "own",    "locking", "other"};
    for (size_t i = 0; i < ARRAY_LEN(files); i++) unlink(files[i]);
    rmdir("b/folder");
    rmdir("a");
    rmdir("b");
    return chdir("/") == 0 ? rmdir(dir) : -1;
}

static void test_find(void **state)
{
    (void)state;
    static const struct {
        const char *path, *name, *found;
        int why;
    } cases[] = {
        {"a:b", "tool", "b/tool", 0},
        {"a:b", "both", "b/both", 0}, /* entries that are not executable are skipped */
        {"a:b", "plain", NULL, EACCES},
        {"a:b", "folder", NULL, ENOENT},
        {"a:b", "none", NULL, ENOENT},
        {"a::b", "here", "./here", 0}, /* an empty entry is the current directory */
        {"a:", "here", "./here", 0},
        {"a:b", "here", NULL, ENOENT},
        {"", "here", "./here", 0},
        {"a:b", "", NULL, ENOENT},
        {"a", "b/tool", "b/tool", 0}, /* a name with a slash is not searched in PATH */
        {"a", "a/plain", NULL, EACCES},
        {"a", "./b", NULL, EISDIR},
        {"a", "b/none", NULL, ENOENT},
        {"a", "here/none", NULL, ENOENT},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        err e = {0};
        const char *p;
        setenv("PATH", cases[i].path, 1);
        bool ok = program_find(cases[i].name, &a, &p, &e);
        assert_int_equal(ok, cases[i].found != NULL);
        if (ok)
            assert_string_equal(p, cases[i].found);
        else
            assert_int_equal(e.sys, cases[i].why);
        arena_free(&a);
    }
    setenv("PATH", "/usr/bin:/bin", 1);
}

/* Running a setuid program of another user gains that user; its owner gains nothing. */
static void test_gains(void **state)
{
    (void)state;
    put("own", 04755);
    put("locking", 02644);
    assert_int_equal(program_gains("own"), PROGRAM_GAINS_NOTHING);
    assert_int_equal(program_gains("locking"), PROGRAM_GAINS_NOTHING);
    assert_int_equal(program_gains("none"), PROGRAM_GAINS_NOTHING);
    put("other", 0755);
    if (chown("other", 12345, 12345) != 0) {
        print_message("# skip: only root can give a file away\n");
        skip();
    }
    assert_int_equal(program_gains("other"), PROGRAM_GAINS_NOTHING);
    assert_int_equal(chmod("other", 02755), 0);
    program_gain group = program_gains("other");
    assert_int_equal(chmod("other", 04755), 0);
    program_gain user = program_gains("other");
    /* a temporary directory may be mounted nosuid, a container may have no_new_privs */
    assert_true(user == PROGRAM_GAINS_USER || user == PROGRAM_GAINS_NOTHING);
    assert_int_equal(group,
                     user == PROGRAM_GAINS_USER ? PROGRAM_GAINS_GROUP : PROGRAM_GAINS_NOTHING);
}

static void test_self(void **state)
{
    (void)state;
    char path[4096];
    program_self(path, sizeof path);
    assert_non_null(strstr(path, "test_sys_program"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_gains),
        cmocka_unit_test(test_self),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
