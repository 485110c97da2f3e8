/* Interposes calls by which a program changes the privileges of one thread, assuming that it has no
 * other.
 *
 * libc applies setuid and related calls to all threads and aborts the program if the result differs
 * between threads.  The agent's threads would cause this when the main thread alone has kept or
 * dropped capabilities before (setpriv, daemons that keep one capability).  A program that sets
 * no_new_privs is about to install a seccomp filter that does not list the agent's calls.  The
 * kernel permits only single-threaded processes to enter another user or mount namespace.  The
 * capture stops before each of these calls; a program that is exec'd later starts its own. */
#include "agent/seccomp.h"
#include "agent/lifecycle.h"

#include <dlfcn.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include "base/ban.h"

#define EXPORT __attribute__((visibility("default")))

int capset(cap_user_header_t header, const cap_user_data_t data);

static int (*real_prctl)(int, ...);
static int (*real_capset)(cap_user_header_t, const cap_user_data_t);
static int (*real_unshare)(int);
static int (*real_setns)(int, int);

__attribute__((constructor(101))) static void find_real(void)
{
    if (real_prctl) return;
    *(void **)&real_capset = dlsym(RTLD_NEXT, "capset");
    *(void **)&real_unshare = dlsym(RTLD_NEXT, "unshare");
    *(void **)&real_setns = dlsym(RTLD_NEXT, "setns");
    *(void **)&real_prctl = dlsym(RTLD_NEXT, "prctl");
}

static void prepare_prctl(int option, unsigned long first, unsigned long second)
{
    switch (option) {
    case PR_SET_KEEPCAPS:
    case PR_SET_SECUREBITS:
    case PR_CAPBSET_DROP:
    case PR_SET_NO_NEW_PRIVS: lifecycle_change_privilege(); break;
    case PR_SET_SECCOMP:
        if (seccomp_by_prctl(first, second)) lifecycle_stop();
        break;
    case PR_CAP_AMBIENT:
        if (first != PR_CAP_AMBIENT_IS_SET) lifecycle_change_privilege();
        break;
    default: break;
    }
}

EXPORT int prctl(int option, ...)
{
    va_list list;
    unsigned long a[4];
    va_start(list, option);
    for (int i = 0; i < 4; i++) a[i] = va_arg(list, unsigned long); /* four, as in libc */
    va_end(list);
    find_real();
    prepare_prctl(option, a[0], a[1]);
    return real_prctl(option, a[0], a[1], a[2], a[3]);
}

EXPORT int capset(cap_user_header_t header, const cap_user_data_t data)
{
    find_real();
    lifecycle_change_privilege();
    return real_capset(header, data);
}

EXPORT int unshare(int flags)
{
    find_real();
    if (flags & (CLONE_NEWUSER | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM))
        lifecycle_change_privilege();
    return real_unshare(flags);
}

EXPORT int setns(int fd, int type)
{
    find_real();
    lifecycle_change_privilege();
    return real_setns(fd, type);
}
