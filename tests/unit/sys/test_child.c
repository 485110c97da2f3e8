/* A program in the foreground: exit status, signals, ignored signals. */
#include "sys/child.h"

#include "base/str.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static bool shell(const char *script, child_end *end, err *e)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    child_opts o = {
        .path = "/bin/sh", .argv = argv, .envp = (const char *const *)(uintptr_t)environ};
    return child_run(&o, end, e);
}

static void test_endings(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        int code, sig;
    } cases[] = {
        {"exit 0", 0, 0},
        {"exit 3", 3, 0},
        {"exit 255", 255, 0},
        {"kill -TERM $$", 0, SIGTERM},
        {"kill -KILL $$", 0, SIGKILL},
        /* the program does not inherit the signal mask of this process */
        {"kill -USR1 $$; exit 1", 0, SIGUSR1},
        {"kill -PIPE $$; exit 1", 0, SIGPIPE},
    };
    signal(SIGPIPE, SIG_IGN); /* as in main */
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        child_end end;
        err e = {0};
        assert_true(shell(cases[i].script, &end, &e));
        assert_int_equal(WIFSIGNALED(end.status) ? WTERMSIG(end.status) : 0, cases[i].sig);
        if (!cases[i].sig) assert_int_equal(WEXITSTATUS(end.status), cases[i].code);
        assert_true(end.pid > 0 && end.run_ns > 0 && end.start_ns > 0);
    }
}

/* The program ignores the signals that this process was started with ignored, and its end is still
 * noticed. */
static void test_ignored(void **state)
{
    (void)state;
    static const int signals[] = {SIGHUP, SIGPIPE, SIGCHLD, 32, 33};
    for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
        char line[64];
        uint64_t bit = UINT64_C(1) << (signals[i] - 1);
        snprintf(line, sizeof line, "SigIgn:.%016llx$", (unsigned long long)bit);
        const char *const argv[] = {"grep", "-q", line, "/proc/self/status", NULL};
        child_opts o = {.path = "/bin/grep",
                        .argv = argv,
                        .envp = (const char *const *)(uintptr_t)environ,
                        .settings.ignored = bit};
        child_end end;
        err e = {0};
        assert_true(child_run(&o, &end, &e));
        assert_true(WIFEXITED(end.status));
        assert_int_equal(WEXITSTATUS(end.status), 0);
    }
}

static void test_ignored_now(void **state)
{
    (void)state;
    uint64_t before = child_settings_now().ignored;
    sighandler_t was = signal(SIGUSR2, SIG_IGN);
    assert_int_equal(child_settings_now().ignored, before | UINT64_C(1) << (SIGUSR2 - 1));
    signal(SIGUSR2, was);
    assert_int_equal(child_settings_now().ignored, before);
}

/* Signals sent to this process reach the program. */
static void test_passed_on(void **state)
{
    (void)state;
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT, SIGWINCH};
    for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
        char script[256];
        child_end end;
        err e = {0};
        snprintf(script, sizeof script,
                 "trap 'exit 42' %d; kill -%d $PPID; while :; do sleep 0.01; done", signals[i],
                 signals[i]);
        assert_true(shell(script, &end, &e));
        assert_true(WIFEXITED(end.status));
        assert_int_equal(WEXITSTATUS(end.status), 42);
    }
}

static void test_not_started(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        int why;
    } cases[] = {{"/nowhere/at/all", ENOENT}, {"/etc/passwd", EACCES}, {"/etc", EACCES}};
    sigset_t before, after;
    sigprocmask(SIG_SETMASK, NULL, &before);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *const argv[] = {cases[i].path, NULL};
        child_opts o = {.path = cases[i].path, .argv = argv, .envp = argv + 1};
        child_end end;
        err e = {0};
        assert_false(child_run(&o, &end, &e));
        assert_int_equal(e.sys, cases[i].why);
    }
    sigprocmask(SIG_SETMASK, NULL, &after);
    for (int i = 1; i < 32; i++) assert_int_equal(sigismember(&before, i), sigismember(&after, i));
}

/* A text file without #! is run by the shell. */
static void test_text(void **state)
{
    (void)state;
    char path[] = "/tmp/kiln-child-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "exit $(($1 + $#))\n", 18), 18);
    fchmod(fd, 0700);
    close(fd);
    const char *const argv[] = {"name", "40", "x", NULL};
    child_opts o = {.path = path, .argv = argv, .envp = argv + 3};
    child_end end;
    err e = {0};
    assert_true(child_run(&o, &end, &e));
    assert_int_equal(WEXITSTATUS(end.status), 42);
    unlink(path);
}

static void test_die_alike(void **state)
{
    (void)state;
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        child_die_by_signal(7 << 8); /* an exit status: no effect */
        child_die_by_signal(SIGSEGV);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSEGV);
    assert_false(WCOREDUMP(status));
}

static void *refuse(void *gate)
{
    int pid, *fd = gate;
    char refused = 1;
    assert_int_equal(read(fd[0], &pid, sizeof pid), sizeof pid);
    assert_int_equal(write(fd[3], &refused, 1), 1);
    return NULL;
}

static void test_refused(void **state)
{
    (void)state;
    const char *const argv[] = {"sh", "-c", "exit 3", NULL};
    int fd[4];
    pthread_t thread;
    child_end end = {0};
    err e = {0};
    assert_true(pipe(fd) == 0 && pipe(fd + 2) == 0);
    child_opts o = {.path = "/bin/sh",
                    .argv = argv,
                    .envp = (const char *const *)(uintptr_t)environ,
                    .gated = true,
                    .announce = fd[1],
                    .gate = fd[2]};
    assert_int_equal(pthread_create(&thread, NULL, refuse, fd), 0);
    assert_false(child_run(&o, &end, &e));
    assert_int_equal(e.sys, ECANCELED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (size_t i = 0; i < 4; i++) close(fd[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_endings),     cmocka_unit_test(test_passed_on),
        cmocka_unit_test(test_ignored),     cmocka_unit_test(test_refused),
        cmocka_unit_test(test_ignored_now), cmocka_unit_test(test_not_started),
        cmocka_unit_test(test_text),        cmocka_unit_test(test_die_alike),
    };
    /* A background job or nohup may ignore these signals, and every child would inherit that. */
    static const int inherited[] = {SIGHUP, SIGINT, SIGQUIT};
    for (size_t i = 0; i < ARRAY_LEN(inherited); i++) signal(inherited[i], SIG_DFL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
