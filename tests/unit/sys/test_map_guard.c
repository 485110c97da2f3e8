/* Mapped files that shrink while they are read. */
#include "sys/map_guard.h"
#include "sys/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static char path[] = "/tmp/kiln-test-XXXXXX";

enum { BYTES = 2 << 20, LEFT = 4096 };

static void shrink(file_bytes *f)
{
    char *p = malloc(BYTES);
    assert_non_null(p);
    memset(p, 'x', BYTES);
    assert_true(file_write(path, (str){p, BYTES}, NULL));
    free(p);
    assert_true(file_read(path, 0, f, NULL));
    assert_true(f->mapped);
    assert_int_equal(truncate(path, LEFT), 0);
}

/* Returns the signal that ends a process which calls f; 0: it ends by itself. */
static int ending_of(void (*f)(void))
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        signal(SIGBUS, SIG_DFL); /* cmocka has a handler */
        f();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

static void read_shrunk(void)
{
    file_bytes f;
    char rest = 0;
    shrink(&f);
    bool kept = f.bytes.p[LEFT - 1] == 'x';
    for (size_t i = LEFT; i < BYTES; i++) rest |= f.bytes.p[i];
    file_release(&f);
    _exit(kept && !rest ? 0 : 1);
}

static void read_guarded(void)
{
    sigset_t before;
    map_guard_start();
    map_guard_block_signals(&before);
    read_shrunk();
}

static void read_other(void)
{
    file_bytes f;
    map_guard_start();
    shrink(&f);
    map_guard_remove(f.bytes.p);
    _exit(f.bytes.p[LEFT]);
}

static void raise_it(void)
{
    map_guard_start();
    raise(SIGBUS);
}

static void missing_pages_read_as_zeros(void **state)
{
    (void)state;
    assert_int_equal(ending_of(read_guarded), 0);
    assert_int_equal(ending_of(read_shrunk), SIGBUS);
}

static void other_errors_still_end_the_program(void **state)
{
    (void)state;
    assert_int_equal(ending_of(read_other), SIGBUS);
    assert_int_equal(ending_of(raise_it), SIGBUS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_pages_read_as_zeros),
        cmocka_unit_test(other_errors_still_end_the_program),
    };
    int fd = mkstemp(path);
    if (fd >= 0) close(fd);
    int failed = fd < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
