/* Calls by which a program gives up privileges for one thread, in the belief that it has no other.
 *
 * libc makes setuid and its like hold for all threads, and aborts the program when one of them may and another
 * may not; that is what our threads come to after the main thread alone has kept or dropped capabilities
 * (setpriv, daemons that keep one port).  A program that forbids itself new privileges is about to install
 * a filter of system calls that knows nothing of ours.  The kernel lets only a process of one thread enter
 * another user or mount namespace.  The capture ends before each of them; a program that is exec'd then
 * begins its own. */
#include "agent/filters.h"
#include "agent/life.h"

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
    case PR_CAPBSET_DROP: life_change_privilege(); break;
    case PR_SET_NO_NEW_PRIVS: life_change_privilege(); break;
    case PR_SET_SECCOMP:
        if (filters_by_prctl(first, second)) life_retire();
        break;
    case PR_CAP_AMBIENT:
        if (first != PR_CAP_AMBIENT_IS_SET) life_change_privilege();
        break;
    default: break;
    }
}

EXPORT int prctl(int option, ...)
{
    va_list list;
    unsigned long a[4];
    va_start(list, option);
    for (int i = 0; i < 4; i++) a[i] = va_arg(list, unsigned long); /* as libc does: registers */
    va_end(list);
    find_real();
    prepare_prctl(option, a[0], a[1]);
    return real_prctl(option, a[0], a[1], a[2], a[3]);
}

EXPORT int capset(cap_user_header_t header, const cap_user_data_t data)
{
    find_real();
    life_change_privilege();
    return real_capset(header, data);
}

EXPORT int unshare(int flags)
{
    find_real();
    if (flags & (CLONE_NEWUSER | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM)) life_change_privilege();
    return real_unshare(flags);
}

EXPORT int setns(int fd, int type)
{
    find_real();
    life_change_privilege();
    return real_setns(fd, type);
}
