/* Calls that the program makes and that concern the capture: new threads, exec, and ends without
 * destructors.  Each does what libc's does and tells agent/life.h before.
 *
 * posix_spawn, system and popen use libc's own calls and do not come here: their child is a process of its
 * own from the start, with no signal of ours pending.  The child of a vfork comes here with the parent's
 * memory; life.h sees that the process is another one and touches nothing.  abort and crashes are not
 * interposed: what they leave behind is as without us. */
#include "agent/life.h"

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

/* When the object is loaded: in the child of a vfork it would be too late. */
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
    thread_record *t = life_expect(run, arg);
    if (!t) return real.pthread_create(thread, attr, run, arg);
    int r = real.pthread_create(thread, attr, life_run, t);
    if (r != 0) life_cancel(t);
    return r;
}

EXPORT int thrd_create(thrd_t *thread, thrd_start_t run, void *arg)
{
    find_real();
    void *(*any)(void *);
    memcpy(&any, &run, sizeof any); /* life_run_c11 takes it back */
    thread_record *t = life_expect(any, arg);
    if (!t) return real.thrd_create(thread, run, arg);
    int r = real.thrd_create(thread, life_run_c11, t);
    if (r != thrd_success) life_cancel(t);
    return r;
}

/* ---- exec ---- */

static int stay(int result)
{
    int saved = errno;
    life_stay();
    errno = saved;
    return result;
}

static int go_path(const char *path, char *const *argv, char *const *env)
{
    int saved = errno;
    find_real();
    life_go_to(path);
    errno = saved;
    return stay(real.execve(path, argv, env));
}

static int go_search(const char *file, char *const *argv, char *const *env)
{
    int saved = errno;
    find_real();
    if (strchr(file, '/'))
        life_go_to(file);
    else
        life_go(true);
    errno = saved;
    return stay(real.execvpe(file, argv, env));
}

EXPORT int execve(const char *path, char *const argv[], char *const env[])
{
    return go_path(path, argv, env);
}

EXPORT int execv(const char *path, char *const argv[]) { return go_path(path, argv, environ); }

EXPORT int execvp(const char *file, char *const argv[]) { return go_search(file, argv, environ); }

EXPORT int execvpe(const char *file, char *const argv[], char *const env[])
{
    return go_search(file, argv, env);
}

EXPORT int fexecve(int fd, char *const argv[], char *const env[])
{
    find_real();
    life_go(true);
    return stay(real.fexecve(fd, argv, env));
}

EXPORT int execveat(int dir, const char *path, char *const argv[], char *const env[], int flags)
{
    find_real();
    life_go(true);
    return stay(real.execveat(dir, path, argv, env, flags));
}

/* Arguments of a list, NULL included; what follows the NULL is left to be taken. */
static size_t count_args(va_list list)
{
    size_t n = 1;
    while (va_arg(list, const char *)) n++;
    return n;
}

/* On the stack: the child of a vfork may not allocate. */
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
    return go_path(path, argv, environ);
}

EXPORT int execlp(const char *file, const char *arg, ...)
{
    va_list list, again;
    va_start(list, arg);
    va_copy(again, list);
    ARGS_OF_LIST(argv, arg, list, again);
    va_end(again);
    va_end(list);
    return go_search(file, argv, environ);
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
    return go_path(path, argv, env);
}

/* ---- ends without destructors ---- */

/* The parent ends in there, by libc's own _exit: what it has captured leaves before. */
EXPORT int daemon(int same_directory, int same_descriptors)
{
    find_real();
    life_go(true);
    return stay(real.daemon(same_directory, same_descriptors));
}

EXPORT void _exit(int status)
{
    find_real();
    life_leave();
    real.exit_now(status);
    __builtin_unreachable();
}

EXPORT void _Exit(int status)
{
    find_real();
    life_leave();
    real.exit_now(status);
    __builtin_unreachable();
}

EXPORT void quick_exit(int status)
{
    find_real();
    life_leave();
    real.quick_exit(status);
    __builtin_unreachable();
}
