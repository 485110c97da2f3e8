/* The temporary directory: removed at close and by signals. */
#include "sys/temp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void put(const char *dir, const char *name)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static void test_open_close(void **state)
{
    (void)state;
    err e = {0};
    struct stat st;
    char kept[4096];
    const char *dir = temp_open("kiln-temp", &e);
    assert_non_null(dir);
    snprintf(kept, sizeof kept, "%s", dir);
    assert_int_equal(stat(dir, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    for (int i = 0; i < 2000; i++) { /* more than one buffer of entries */
        char name[64];
        snprintf(name, sizeof name, "%d-a-name-that-is-not-short.otlp", 5000 - i);
        put(dir, name);
    }
    char odd[4200];
    snprintf(odd, sizeof odd, "%s/0-1.otlp", dir);
    assert_int_equal(mkfifo(odd, 0600), 0); /* opening it would block */
    char beside[4200];
    snprintf(beside, sizeof beside, "%s.beside", dir);
    int fd = open(beside, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    close(fd);
    temp_also(beside, NULL);
    temp_close();
    assert_int_equal(stat(kept, &st), -1);
    assert_int_equal(stat(beside, &st), -1);
    temp_close();
}

static void test_no_place(void **state)
{
    (void)state;
    err e = {0};
    setenv("TMPDIR", "/nowhere/at/all", 1);
    assert_null(temp_open("kiln-temp", &e));
    assert_int_equal(e.sys, ENOENT);
    unsetenv("TMPDIR");
}

/* A signal that ends the process removes the directory first. */
static void test_signal(void **state)
{
    (void)state;
    int ends[2], status;
    char dir[4096];
    struct stat st;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        const char *p = temp_open("kiln-temp", NULL);
        if (!p) _exit(1);
        put(p, "a");
        (void)!write(ends[1], p, strlen(p) + 1);
        for (;;) pause();
    }
    assert_true(pid > 0);
    assert_true(read(ends[0], dir, sizeof dir) > 0);
    assert_int_equal(stat(dir, &st), 0);
    kill(pid, SIGTERM);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGTERM);
    assert_int_equal(stat(dir, &st), -1);
    close(ends[0]);
    close(ends[1]);
}

/* temp_leave leaves the directory to another process. */
static void test_leave(void **state)
{
    (void)state;
    err e = {0};
    struct stat st;
    char kept[4096];
    const char *dir = temp_open("kiln-temp", &e);
    assert_non_null(dir);
    snprintf(kept, sizeof kept, "%s", dir);
    temp_leave();
    temp_close();
    assert_int_equal(stat(kept, &st), 0);
    assert_int_equal(rmdir(kept), 0);
    struct sigaction now;
    assert_int_equal(sigaction(SIGTERM, NULL, &now), 0);
    assert_true(now.sa_handler == SIG_DFL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open_close),
        cmocka_unit_test(test_no_place),
        cmocka_unit_test(test_signal),
        cmocka_unit_test(test_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
