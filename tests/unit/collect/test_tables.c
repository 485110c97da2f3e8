/* The files of mappings: a path may lead to another file than the one that is mapped. */
#include "collect/tables.h"
#include "sys/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[] = "/tmp/kiln-test-XXXXXX";
static char library[64];

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(dir)) return -1;
    snprintf(library, sizeof library, "%s/lib.so", dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    char cmd[64];
    snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
    return system(cmd);
}

/* Writes this program as the library, `more` bytes longer.  A former file is replaced. */
static void install(size_t more)
{
    file_bytes f;
    assert_true(file_read("/proc/self/exe", 0, &f, NULL));
    char *p = calloc(1, f.bytes.n + more);
    assert_non_null(p);
    memcpy(p, f.bytes.p, f.bytes.n);
    assert_true(file_write(library, (str){p, f.bytes.n + more}, NULL));
    free(p);
    file_release(&f);
}

/* Returns the mapping of the library, as /proc/PID/maps describes it. */
static image map_library(void)
{
    struct stat st;
    install(0);
    int fd = open(library, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    assert_true(p != MAP_FAILED);
    close(fd);
    return (image){.start = (uintptr_t)p,
                   .end = (uintptr_t)p + 4096,
                   .inode = st.st_ino,
                   .path = str_of(library)};
}

static void unmap(const image *x) { munmap((void *)(uintptr_t)x->start, x->end - x->start); }

/* pid 0: the process has ended, so only the path is left. */
static size_t size_found(int pid, const image *x)
{
    struct stat st;
    table_files *f = table_files_open();
    assert_non_null(f);
    str bytes = tables_file(f, pid, NULL, x, &st);
    size_t n = bytes.n;
    assert_true(!n || (size_t)st.st_size == n);
    table_files_close(f);
    return n;
}

static void replaced_file_is_not_used(void **state)
{
    (void)state;
    image x = map_library();
    size_t n = size_found(0, &x);
    assert_true(n > 0);
    install(100);
    assert_int_equal(size_found(0, &x), 0);
    x.inode = 0; /* not known */
    assert_int_equal(size_found(0, &x), n + 100);
    snprintf(x.gnu, sizeof x.gnu, "0123456789abcdef");
    assert_int_equal(size_found(0, &x), 0);
    unmap(&x);
}

static void replaced_file_is_found_by_its_mapping(void **state)
{
    (void)state;
    if (geteuid() != 0) skip();
    image x = map_library();
    size_t n = size_found(getpid(), &x);
    assert_true(n > 0);
    install(100);
    assert_int_equal(size_found(getpid(), &x), n);
    assert_int_equal(unlink(library), 0);
    assert_int_equal(size_found(getpid(), &x), n);
    unmap(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replaced_file_is_not_used),
        cmocka_unit_test(replaced_file_is_found_by_its_mapping),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
