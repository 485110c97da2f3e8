/* Whole files: reading, mapping, writing through a temporary name. */
#include "sys/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/kiln-test-XXXXXX";
static char path[64];

static const char *in_dir(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static int setup(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int entries(void)
{
    DIR *d = opendir(dir);
    int n = 0;
    while (d && readdir(d)) n++;
    if (d) closedir(d);
    return n - 2;
}

static void clean(void)
{
    char cmd[64];
    snprintf(cmd, sizeof cmd, "rm -rf %s/*", dir);
    assert_int_equal(system(cmd), 0);
}

static int teardown(void **state)
{
    (void)state;
    clean();
    return rmdir(dir);
}

static void test_round_trip(void **state)
{
    (void)state;
    const size_t sizes[] = {0, 1, 4096, FILE_MAP_MIN, FILE_MAP_MIN + 1};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        char *p = malloc(sizes[i] + 1);
        assert_non_null(p);
        memset(p, 'x', sizes[i]);
        err e = {0};
        assert_true(file_write(in_dir("f"), (str){p, sizes[i]}, &e));
        file_bytes f;
        assert_true(file_read(in_dir("f"), 0, &f, &e));
        assert_int_equal(f.mapped, sizes[i] >= FILE_MAP_MIN);
        assert_true(str_eq(f.bytes, (str){p, sizes[i]}));
        file_release(&f);
        assert_true(
            file_read(in_dir("f"), sizes[i] ? sizes[i] : 1, &f, &e)); /* the limit is the size */
        file_release(&f);
        if (sizes[i] > 1) {
            assert_false(file_read(in_dir("f"), sizes[i] - 1, &f, &e));
            assert_int_equal(e.code, ERR_LIMIT);
        }
        free(p);
    }
    assert_int_equal(entries(), 1);
    clean();
}

static void test_source(void **state)
{
    (void)state;
    err e = {0};
    assert_true(file_write(in_dir("f"), STR("hello"), &e));
    source *s = file_open(in_dir("f"), &e);
    assert_non_null(s);
    char b[8];
    size_t got;
    assert_true(source_read(s, b, 3, &got, &e));
    assert_int_equal(got, 3);
    assert_true(source_read(s, b, 8, &got, &e));
    assert_int_equal(got, 2);
    assert_true(source_read(s, b, 8, &got, &e));
    assert_int_equal(got, 0);
    source_close(s);
    assert_null(file_open(in_dir("none"), &e));
    assert_int_equal(e.sys, ENOENT);
    clean();
}

static void test_abandoned_leaves_nothing(void **state)
{
    (void)state;
    err e = {0};
    assert_true(file_write(in_dir("f"), STR("old"), &e));
    file_out out;
    assert_true(file_create(in_dir("f"), &out, &e));
    assert_true(file_put(&out, STR("half of the ne"), &e));
    file_abandon(&out);
    assert_int_equal(entries(), 1);
    file_bytes f;
    assert_true(file_read(in_dir("f"), 0, &f, &e));
    assert_true(str_eq(f.bytes, STR("old")));
    file_release(&f);
    clean();
}

static void test_mode_and_links(void **state)
{
    (void)state;
    err e = {0};
    mode_t old = umask(022);
    assert_true(file_write(in_dir("f"), STR("x"), &e));
    umask(old);
    struct stat st;
    assert_int_equal(stat(in_dir("f"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0644);

    assert_int_equal(symlink("f", in_dir("link")), 0);
    assert_true(file_write(in_dir("link"), STR("through"), &e));
    assert_int_equal(lstat(in_dir("link"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    file_bytes f;
    assert_true(file_read(in_dir("f"), 0, &f, &e));
    assert_true(str_eq(f.bytes, STR("through")));
    file_release(&f);
    clean();
}

static void test_failures(void **state)
{
    (void)state;
    file_bytes f;
    err e = {0};
    assert_false(file_read(in_dir("none"), 0, &f, &e));
    assert_int_equal(e.sys, ENOENT);
    e = (err){0};
    assert_false(file_read(dir, 0, &f, &e));
    assert_int_equal(e.sys, EISDIR);
    e = (err){0};
    assert_false(file_write(dir, STR("x"), &e));
    assert_int_equal(e.sys, EISDIR);
    e = (err){0};
    assert_false(file_write(in_dir("no/such/dir"), STR("x"), &e));
    assert_int_equal(e.sys, ENOENT);
    e = (err){0};
    if (access("/dev/full", W_OK) == 0) {
        assert_false(file_write("/dev/full", STR("x"), &e));
        assert_int_equal(e.sys, ENOSPC);
    }
    e = (err){0};
    assert_true(file_write("/dev/null", STR("x"), &e));
    assert_int_equal(entries(), 0);
}

static void test_pipe(void **state)
{
    (void)state;
    err e = {0};
    assert_int_equal(mkfifo(in_dir("pipe"), 0600), 0);
    char cmd[128];
    snprintf(cmd, sizeof cmd, "(head -c 700000 /dev/zero > %s) &", in_dir("pipe"));
    assert_int_equal(system(cmd), 0);
    file_bytes f;
    assert_true(file_read(in_dir("pipe"), 0, &f, &e));
    assert_int_equal(f.bytes.n, 700000);
    file_release(&f);
    assert_int_equal(system(cmd), 0);
    assert_false(file_read(in_dir("pipe"), 1000, &f, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    clean();
}

/* Released pages can be read again; the rest is unchanged. */
static void test_pass(void **state)
{
    (void)state;
    err e = {0};
    size_t n = FILE_MAP_MIN + 5000;
    char *p = malloc(n);
    assert_non_null(p);
    for (size_t i = 0; i < n; i++) p[i] = (char)(i / 4096);
    assert_true(file_write(in_dir("long"), (str){p, n}, &e));
    file_bytes f;
    assert_true(file_read(in_dir("long"), 0, &f, &e));
    assert_true(f.mapped);
    const size_t passed[] = {0, 1, 4096, 70000, n, n + 1, SIZE_MAX};
    for (size_t i = 0; i < ARRAY_LEN(passed); i++) {
        file_pass(&f, passed[i]);
        assert_memory_equal(f.bytes.p, p, n);
    }
    file_release(&f);
    file_pass(&f, 1);
    free(p);
    clean();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_source),
        cmocka_unit_test(test_abandoned_leaves_nothing),
        cmocka_unit_test(test_mode_and_links),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_pipe),
        cmocka_unit_test(test_pass),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
