/* Finds the package that owns a file, by Debian's lists of files. */
#include "symbol/package.h"

#include "support/test.h"
#include "sys/file.h"
#include <sys/stat.h>
#include <unistd.h>

static void put(const char *dir, const char *name, const char *text)
{
    char path[256];
    err e = {0};
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_ok(file_write(path, str_of(text), &e), &e);
}

static void test_owner(void **state)
{
    (void)state;
    char dir[] = "/tmp/kiln-package-XXXXXX", owner[64];
    assert_non_null(mkdtemp(dir));
    put(dir, "libc6:amd64.list", "/.\n/lib\n/lib/x86_64-linux-gnu/libc.so.6\n/usr/lib/gconv");
    put(dir, "other.list", "/usr/lib/libc.so.6.old\n/usr/bin/other\n");
    put(dir, "libc6:amd64.md5sums", "/usr/bin/unowned\n");
    put(dir, "empty.list", "");
    static const struct {
        const char *path, *owner;
    } t[] = {
        {"/lib/x86_64-linux-gnu/libc.so.6", "libc6"},
        {"/usr/lib/x86_64-linux-gnu/libc.so.6", "libc6"}, /* /lib is a link */
        {"/usr/lib/gconv", "libc6"},                      /* the last line has no newline */
        {"/bin/other", "other"},
        {"/usr/lib/libc.so.6", NULL}, /* only whole paths match */
        {"/usr/bin/unowned", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        bool found = package_owner(dir, str_of(t[i].path), owner, sizeof owner);
        if (found != (t[i].owner != NULL) || (found && strcmp(owner, t[i].owner)))
            fail_msg("%s: %s", t[i].path, found ? owner : "no package");
    }
    assert_false(package_owner("/nowhere", STR("/bin/sh"), owner, sizeof owner));
    static const char *const made[] = {"libc6:amd64.list", "other.list", "libc6:amd64.md5sums",
                                       "empty.list"};
    for (size_t i = 0; i < ARRAY_LEN(made); i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s", dir, made[i]);
        unlink(path);
    }
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_owner)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
