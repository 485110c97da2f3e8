/* The spool: order, limits, restarts and file modes. */
#include "otlp/spool.h"

#include "../../support/test.h"
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/kiln-spool-XXXXXX");
    if (!mkdtemp(dir)) return -1;
    return rmdir(dir); /* spool_open creates it */
}

static int teardown(void **state)
{
    (void)state;
    char cmd[96];
    snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
    return system(cmd);
}

static void touch(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static bool exists(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

static spool *open_spool(uint64_t max)
{
    err e = {0};
    spool *s = spool_open(dir, OTLP_PROFILES, max, &e);
    assert_ok(s, &e);
    return s;
}

static void put(spool *s, const char *text, size_t items, uint64_t wall, size_t lost)
{
    err e = {0};
    spool_lost l;
    assert_ok(spool_put(s, str_of(text), items, wall, &l, &e), &e);
    assert_int_equal(l.batches, lost);
}

static void assert_oldest(spool *s, const char *text, size_t items)
{
    err e = {0};
    spool_batch b;
    assert_ok(spool_take(s, &b, &e), &e);
    assert_true(str_eq(b.file.bytes, str_of(text)));
    assert_int_equal(b.items, items);
    file_release(&b.file);
    spool_return(s, b.number);
}

static void drop_oldest(spool *s)
{
    err e = {0};
    spool_batch b;
    assert_ok(spool_take(s, &b, &e), &e);
    file_release(&b.file);
    spool_drop(s, b.number);
}

static void test_order_survives(void **state)
{
    (void)state;
    spool *s = open_spool(0);
    put(s, "one", 1, 500, 0);
    put(s, "two", 2, 400, 0); /* the clock went back, but "two" is still the last */
    put(s, "three", 3, 400, 0);
    assert_int_equal(spool_count(s), 3);
    assert_u64(spool_bytes(s), 11);
    spool_close(s);
    s = open_spool(0);
    assert_int_equal(spool_count(s), 3);
    assert_oldest(s, "one", 1);
    drop_oldest(s);
    assert_oldest(s, "two", 2);
    put(s, "four", 4, 0, 0);
    drop_oldest(s);
    assert_oldest(s, "three", 3);
    drop_oldest(s);
    assert_oldest(s, "four", 4);
    drop_oldest(s);
    err e = {0};
    spool_batch b;
    assert_false(spool_take(s, &b, &e));
    assert_int_equal(e.code, ERR_OK);
    assert_u64(spool_bytes(s), 0);
    spool_close(s);
}

/* Unfinished files of a crash are removed; files that are not part of the spool are ignored. */
static void test_leftovers(void **state)
{
    (void)state;
    spool_close(open_spool(0));
    touch("00000000000000000007-1.profiles.otlp.0badcafe.tmp", "half");
    touch("00000000000000000008-2.profiles.otlp", "whole");
    touch("00000000000000000009-2.logs.otlp", "another signal");
    touch("README.tmp", "not of the spool");
    touch("7-1.profiles.otlp", "not a spool name");
    touch("00000000000000000010-x.profiles.otlp", "nor this");
    touch("99999999999999999999999999-1.profiles.otlp", "nor this");
    spool *s = open_spool(0);
    assert_int_equal(spool_count(s), 1);
    assert_oldest(s, "whole", 2);
    assert_false(exists("00000000000000000007-1.profiles.otlp.0badcafe.tmp"));
    assert_true(exists("README.tmp"));
    assert_true(exists("00000000000000000009-2.logs.otlp"));
    spool_close(s);
}

static void test_bounded(void **state)
{
    (void)state;
    err e = {0};
    spool_lost l;
    spool *s = open_spool(10);
    put(s, "aaaa", 1, 0, 0);
    put(s, "bbbb", 2, 0, 0);
    put(s, "cc", 3, 0, 0);
    put(s, "ddd", 4, 0, 1); /* a is deleted */
    assert_oldest(s, "bbbb", 2);
    assert_u64(spool_bytes(s), 9);
    put(s, "eeeeeeeeee", 5, 0, 3);
    assert_int_equal(spool_count(s), 1);
    assert_false(spool_put(s, STR("fffffffffff"), 1, 0, &l, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    assert_int_equal(spool_count(s), 1); /* nothing was deleted for it */
    spool_close(s);
}

/* Batches in use are not deleted, whatever order they end in. */
static void test_taken(void **state)
{
    (void)state;
    err e = {0};
    spool_lost l;
    spool_batch b[3];
    spool *s = open_spool(10);
    put(s, "aaa", 1, 0, 0);
    put(s, "bbb", 2, 0, 0);
    put(s, "ccc", 3, 0, 0);
    for (int i = 0; i < 2; i++) {
        assert_ok(spool_take(s, &b[i], &e), &e);
        file_release(&b[i].file);
    }
    assert_true(spool_waits(s));
    put(s, "dddd", 4, 0, 1); /* c is deleted: a and b are in use */
    assert_false(spool_put(s, STR("eeeee"), 5, 0, &l, &e));
    assert_non_null(strstr(e.msg, "full of batches that are being sent"));
    assert_int_equal(l.batches, 0); /* nothing was deleted for it */
    e = (err){0};
    spool_drop(s, b[1].number);
    spool_return(s, b[0].number);
    assert_int_equal(spool_count(s), 2);
    assert_oldest(s, "aaa", 1);
    assert_u64(spool_bytes(s), 7);
    spool_drop(s, b[1].number); /* unknown number: nothing happens */
    assert_int_equal(spool_count(s), 2);
    spool_close(s);
}

static mode_t mode_of(const char *name)
{
    char path[256];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 0777;
}

/* Profiles may contain secrets: only the owner may read them, whatever the umask and the
 * directory's mode. */
static void test_private(void **state)
{
    (void)state;
    mode_t before = umask(0);
    assert_int_equal(mkdir(dir, 0755), 0);
    touch("00000000000000000008-2.profiles.otlp", "of 0.1.0");
    assert_int_equal(mode_of("00000000000000000008-2.profiles.otlp"), 0666);
    spool *s = open_spool(0);
    put(s, "new", 1, 9, 0);
    assert_int_equal(mode_of(""), 0700);
    assert_int_equal(mode_of("lock"), 0600);
    assert_int_equal(mode_of("00000000000000000008-2.profiles.otlp"), 0600);
    assert_int_equal(mode_of("00000000000000000009-1.profiles.otlp"), 0600);
    spool_close(s);
    umask(before);
}

static void test_one_owner(void **state)
{
    (void)state;
    err e = {0};
    spool *s = open_spool(0);
    assert_null(spool_open(dir, OTLP_PROFILES, 0, &e));
    assert_int_equal(e.code, ERR_MISMATCH);
    assert_non_null(strstr(e.msg, "in use by another process"));
    spool_close(s);
    spool_close(open_spool(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_order_survives, setup, teardown),
        cmocka_unit_test_setup_teardown(test_leftovers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(test_taken, setup, teardown),
        cmocka_unit_test_setup_teardown(test_private, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_owner, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
