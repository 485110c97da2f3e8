/* Interposes libc functions that create threads, exec, or exit without destructors.  Each notifies
 * agent/lifecycle.h and then calls libc's function.
 *
 * posix_spawn, system and popen use libc's internal calls and are not interposed: their child is a
 * new process without pending signals.  A child of vfork calls these functions with the parent's
 * memory; lifecycle.h notices the different process and changes nothing.  abort and crashes are not
 * interposed, so that core dumps are unchanged. */
#include "agent/lifecycle.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>
#include "base/ban.h"

#define EXPORT __attribute__((visibility("default")))

extern char **environ;

typedef struct real_calls {
    int (*pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    int (*thrd_create)(thrd_t *, thrd_start_t, void *);
    int (*execve)(const char *, char *const *, char *const *);
    int (*execvpe)(const char *, char *const *, char *const *);
    int (*fexecve)(int, char *const *, char *const *);
    int (*execveat)(int, const char *, char *const *, char *const *, int);
    int (*daemon)(int, int);
    void (*exit_now)(int);
    void (*quick_exit)(int);
} real_calls;

static real_calls real;

#define FIND(member, name) *(void **)&real.member = dlsym(RTLD_NEXT, name)

/* Runs at load time, because a child of vfork must not call dlsym. */
__attribute__((constructor(101))) static void find_real(void)
{
    if (real.pthread_create) return;
    FIND(execve, "execve");
    FIND(execvpe, "execvpe");
    FIND(fexecve, "fexecve");
    FIND(execveat, "execveat");
    FIND(exit_now, "_exit");
    FIND(quick_exit, "quick_exit");
    FIND(thrd_create, "thrd_create");
    FIND(daemon, "daemon");
    FIND(pthread_create, "pthread_create");
}

/* ---- threads ---- */

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg)
{
    find_real();
    thread_record *t = lifecycle_prepare(run, arg);
    if (!t) return real.pthread_create(thread, attr, run, arg);
    int r = real.pthread_create(thread, attr, lifecycle_run, t);
    if (r != 0) lifecycle_cancel(t);
    return r;
}

EXPORT int thrd_create(thrd_t *thread, thrd_start_t run, void *arg)
{
    find_real();
    void *(*any)(void *);
    memcpy(&any, &run, sizeof any); /* lifecycle_run_c11 converts it back */
    thread_record *t = lifecycle_prepare(any, arg);
    if (!t) return real.thrd_create(thread, run, arg);
    int r = real.thrd_create(thread, lifecycle_run_c11, t);
    if (r != thrd_success) lifecycle_cancel(t);
    return r;
}

/* ---- exec ---- */

static int exec_failed(int result)
{
    int saved = errno;
    lifecycle_exec_failed();
    errno = saved;
    return result;
}

static int exec_path(const char *path, char *const *argv, char *const *env)
{
    int saved = errno;
    find_real();
    lifecycle_before_exec_of(path);
    errno = saved;
    return exec_failed(real.execve(path, argv, env));
}

static int exec_search(const char *file, char *const *argv, char *const *env)
{
    int saved = errno;
    find_real();
    if (strchr(file, '/'))
        lifecycle_before_exec_of(file);
    else
        lifecycle_before_exec(true);
    errno = saved;
    return exec_failed(real.execvpe(file, argv, env));
}

EXPORT int execve(const char *path, char *const argv[], char *const env[])
{
    return exec_path(path, argv, env);
}

EXPORT int execv(const char *path, char *const argv[]) { return exec_path(path, argv, environ); }

EXPORT int execvp(const char *file, char *const argv[]) { return exec_search(file, argv, environ); }

EXPORT int execvpe(const char *file, char *const argv[], char *const env[])
{
    return exec_search(file, argv, env);
}

EXPORT int fexecve(int fd, char *const argv[], char *const env[])
{
    find_real();
    lifecycle_before_exec(true);
    return exec_failed(real.fexecve(fd, argv, env));
}

EXPORT int execveat(int dir, const char *path, char *const argv[], char *const env[], int flags)
{
    find_real();
    lifecycle_before_exec(true);
    return exec_failed(real.execveat(dir, path, argv, env, flags));
}

/* Returns the number of arguments up to and including NULL; those after it stay in `list`. */
static size_t count_args(va_list list)
{
    size_t n = 1;
    while (va_arg(list, const char *)) n++;
    return n;
}

/* Copies variable arguments to the stack, because the child of a vfork may not allocate. */
#define ARGS_OF_LIST(argv, first, list, again)                                                     \
    char **argv = __builtin_alloca((count_args(list) + 1) * sizeof(char *));                       \
    argv[0] = (char *)(uintptr_t)first;                                                            \
    for (size_t i_ = 0; argv[i_]; i_++) argv[i_ + 1] = va_arg(again, char *)

EXPORT int execl(const char *path, const char *arg, ...)
{
    va_list list, again;
    va_start(list, arg);
    va_copy(again, list);
    ARGS_OF_LIST(argv, arg, list, again);
    va_end(again);
    va_end(list);
    return exec_path(path, argv, environ);
}

EXPORT int execlp(const char *file, const char *arg, ...)
{
    va_list list, again;
    va_start(list, arg);
    va_copy(again, list);
    ARGS_OF_LIST(argv, arg, list, again);
    va_end(again);
    va_end(list);
    return exec_search(file, argv, environ);
}

EXPORT int execle(const char *path, const char *arg, ...)
{
    va_list list, again;
    va_start(list, arg);
    va_copy(again, list);
    ARGS_OF_LIST(argv, arg, list, again);
    char *const *env = va_arg(again, char *const *);
    va_end(again);
    va_end(list);
    return exec_path(path, argv, env);
}

/* ---- exit without destructors ---- */

/* libc's daemon() ends the parent with an internal _exit, so the agent delivers before the call. */
EXPORT int daemon(int same_directory, int same_descriptors)
{
    find_real();
    lifecycle_before_exec(true);
    return exec_failed(real.daemon(same_directory, same_descriptors));
}

EXPORT void _exit(int status)
{
    find_real();
    lifecycle_before_exit();
    real.exit_now(status);
    __builtin_unreachable();
}

EXPORT void _Exit(int status)
{
    find_real();
    lifecycle_before_exit();
    real.exit_now(status);
    __builtin_unreachable();
}

EXPORT void quick_exit(int status)
{
    find_real();
    lifecycle_before_exit();
    real.quick_exit(status);
    __builtin_unreachable();
}
