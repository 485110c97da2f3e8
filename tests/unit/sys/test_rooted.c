/* Files at paths that another process controls. */
#include "sys/rooted.h"

#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[] = "/tmp/kiln-test-XXXXXX";

static const char *in_dir(const char *name)
{
    static char paths[2][96];
    static unsigned at;
    char *p = paths[at++ % 2];
    snprintf(p, sizeof paths[0], "%s/%s", dir, name);
    return p;
}

static int setup(void **state)
{
    (void)state;
    return mkdtemp(dir) && mkdir(in_dir("root"), 0700) == 0 && mkdir(in_dir("root/etc"), 0700) == 0
               ? 0
               : -1;
}

static int teardown(void **state)
{
    (void)state;
    char cmd[64];
    snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
    return system(cmd);
}

static bool reads(const char *root, const char *path, const char *content)
{
    file_bytes f;
    err e = {0};
    bool ok = rooted_read_path(root, path, 0, &f, &e) && str_eq(f.bytes, str_of(content));
    file_release(&f);
    return ok;
}

/* A link leads to the file that the process would find, and never out of its root. */
static void links_stay_below_the_root(void **state)
{
    (void)state;
    char root[96];
    snprintf(root, sizeof root, "%s", in_dir("root"));
    assert_true(file_write(in_dir("secret"), STR("secret"), NULL));
    assert_true(file_write(in_dir("root/etc/f"), STR("inside"), NULL));
    assert_int_equal(symlink("/etc/f", in_dir("root/absolute")), 0);
    assert_int_equal(symlink("../../secret", in_dir("root/upwards")), 0);
    assert_int_equal(symlink(in_dir("secret"), in_dir("root/outside")), 0);
    assert_true(reads(root, "/etc/f", "inside"));
    assert_true(reads(root, "/absolute", "inside"));
    assert_true(reads(NULL, in_dir("root/etc/f"), "inside"));
    assert_false(reads(root, "/upwards", "secret"));
    assert_false(reads(root, "/outside", "secret"));
    assert_false(reads(root, "/../secret", "secret"));
}

static void only_regular_files_are_read(void **state)
{
    (void)state;
    char root[96];
    snprintf(root, sizeof root, "%s", in_dir("root"));
    struct stat st;
    err e = {0};
    file_bytes f;
    alarm(20); /* a pipe without a writer would wait */
    assert_int_equal(mkfifo(in_dir("root/pipe"), 0600), 0);
    assert_int_equal(symlink("/dev/zero", in_dir("root/zero")), 0);
    assert_int_equal(rooted_find(root, "/pipe", &st, &e), -1);
    assert_int_equal(e.sys, EINVAL);
    assert_int_equal(rooted_find(root, "/zero", &st, NULL), -1);
    assert_int_equal(rooted_find(NULL, in_dir("root/zero"), &st, NULL), -1);
    assert_int_equal(rooted_find(root, "/etc", &st, NULL), -1);
    e = (err){0};
    assert_false(rooted_read_path(root, "/etc/f", 3, &f, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    alarm(0);
}

static void *read_alone(void *ok)
{
    if (unshare(CLONE_FILES) == 0) *(bool *)ok = reads(NULL, in_dir("own"), "content");
    return NULL;
}

/* The agent's threads have a descriptor table of their own. */
static void another_descriptor_table(void **state)
{
    (void)state;
    pthread_t t;
    bool ok = false;
    assert_true(file_write(in_dir("own"), STR("content"), NULL));
    assert_int_equal(pthread_create(&t, NULL, read_alone, &ok), 0);
    pthread_join(t, NULL);
    assert_true(ok);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_stay_below_the_root),
        cmocka_unit_test(only_regular_files_are_read),
        cmocka_unit_test(another_descriptor_table),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
