/* Interposes syscall(2): a call by number behaves like the interposed libc function for that call.
 *
 * syscall_ours handles the numbers in the table.  All others jump to libc's function with registers
 * and stack unchanged, so that a clone or vfork returns correctly.
 *
 *   waits        repeated when only the agent's signal interrupted them (agent/wait.h)
 *   privileges   prctl, capset, unshare, setns, seccomp: as in interpose_privilege.c
 *   exec, exit   execve, execveat, exit_group: as in interpose.c
 *   handlers     rt_sigaction of the agent's signal: as in interpose_signal.c
 *
 * System calls that a program or a library makes directly, without libc, are not interposed. */
#include "agent/seccomp.h"
#include "agent/lifecycle.h"
#include "agent/wait.h"
#include "arch/syscall.h"
#include "sys/kernel_action.h"

#include <dlfcn.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "base/ban.h"

int capset(cap_user_header_t header, const cap_user_data_t data);

typedef enum call_kind {
    CALL_OTHER,
    /* repeated with the same arguments: no timeout, an absolute one, or one that the kernel
     * updates */
    CALL_AGAIN,
    CALL_FOR,       /* argument `timeout` is a relative timespec */
    CALL_MS,        /* argument `timeout` is in milliseconds */
    CALL_SLEEP,     /* as CALL_FOR, and the next argument receives the remaining time */
    CALL_FUTEX,     /* FUTEX_WAIT: as CALL_FOR; other waits have absolute timeouts */
    CALL_RING,      /* io_uring_enter */
    CALL_LIFECYCLE, /* privileges, exec, exit, handlers */
} call_kind;

typedef struct call_rule {
    uint8_t kind, timeout;
} call_rule;

enum { CALLS = 512 };

/* The kernel updates the timeouts of select, pselect6 and ppoll. */
const call_rule syscall_rules[CALLS] __attribute__((visibility("hidden"))) = {
    [SYS_nanosleep] = {CALL_SLEEP, 0},
    [SYS_clock_nanosleep] = {CALL_SLEEP, 2},
    [SYS_ppoll] = {CALL_AGAIN, 0},
    [SYS_pselect6] = {CALL_AGAIN, 0},
    [SYS_epoll_pwait] = {CALL_MS, 3},
    [SYS_epoll_pwait2] = {CALL_FOR, 3},
#ifdef SYS_poll
    [SYS_poll] = {CALL_MS, 2},
    [SYS_select] = {CALL_AGAIN, 0},
    [SYS_epoll_wait] = {CALL_MS, 3},
    [SYS_pause] = {CALL_AGAIN, 0},
#endif
    [SYS_rt_sigtimedwait] = {CALL_FOR, 2},
    [SYS_rt_sigsuspend] = {CALL_AGAIN, 0},
    [SYS_semop] = {CALL_AGAIN, 0},
    [SYS_semtimedop] = {CALL_FOR, 3},
    [SYS_msgsnd] = {CALL_AGAIN, 0},
    [SYS_msgrcv] = {CALL_AGAIN, 0},
    [SYS_io_getevents] = {CALL_FOR, 4},
    [SYS_io_pgetevents] = {CALL_FOR, 4},
    [SYS_io_uring_enter] = {CALL_RING, 4},
    [SYS_futex] = {CALL_FUTEX, 3},
    [SYS_recvfrom] = {CALL_AGAIN, 0},
    [SYS_recvmsg] = {CALL_AGAIN, 0},
    [SYS_recvmmsg] = {CALL_AGAIN, 0},
    [SYS_sendto] = {CALL_AGAIN, 0},
    [SYS_sendmsg] = {CALL_AGAIN, 0},
    [SYS_sendmmsg] = {CALL_AGAIN, 0},
    [SYS_accept] = {CALL_AGAIN, 0},
    [SYS_accept4] = {CALL_AGAIN, 0},
    [SYS_connect] = {CALL_AGAIN, 0},
    [SYS_rt_sigaction] = {CALL_LIFECYCLE, 0},
    [SYS_prctl] = {CALL_LIFECYCLE, 0},
    [SYS_capset] = {CALL_LIFECYCLE, 0},
    [SYS_unshare] = {CALL_LIFECYCLE, 0},
    [SYS_setns] = {CALL_LIFECYCLE, 0},
    [SYS_seccomp] = {CALL_LIFECYCLE, 0},
    [SYS_execve] = {CALL_LIFECYCLE, 0},
    [SYS_execveat] = {CALL_LIFECYCLE, 0},
    [SYS_exit_group] = {CALL_LIFECYCLE, 0},
};

typedef long (*real_call)(long, ...);

static long find_and_call(long nr, long a, long b, long c, long d, long e, long f);

/* libc's function; before the constructor has run, a function that looks it up */
real_call syscall_real __attribute__((visibility("hidden"))) = (real_call)(void *)find_and_call;

__attribute__((constructor(101))) static void find_real(void)
{
    void *p = dlsym(RTLD_NEXT, "syscall");
    if (p) *(void **)&syscall_real = p;
}

static long find_and_call(long nr, long a, long b, long c, long d, long e, long f)
{
    find_real();
    return syscall_real(nr, a, b, c, d, e, f);
}

/* ---- waits ---- */

typedef struct call {
    long nr;
    long a[6];
} call;

static OWN_CALL long make(const call *c)
{
    return syscall_real(c->nr, c->a[0], c->a[1], c->a[2], c->a[3], c->a[4], c->a[5]);
}

static OWN_CALL long make_again(const call *c)
{
    wait_mark m = wait_begin();
    long r;
    do r = make(c);
    while (UNLIKELY(r == -1) && wait_again(&m));
    return r;
}

/* Reads the timeout after the first attempt, so that an invalid pointer still gives EFAULT. */
static OWN_CALL long make_for(call *c, unsigned timeout)
{
    if (!c->a[timeout]) return make_again(c);
    struct timespec left;
    uint64_t start = wait_now(), deadline = 0;
    wait_mark m = wait_begin();
    long r;
    while (UNLIKELY((r = make(c)) == -1) && wait_again(&m)) {
        const struct timespec *t = (const struct timespec *)(uintptr_t)c->a[timeout];
        if (!deadline) deadline = wait_until(start, t);
        left = wait_left(deadline);
        c->a[timeout] = (long)(uintptr_t)&left;
    }
    return r;
}

static OWN_CALL long make_ms(call *c, unsigned timeout)
{
    int ms = (int)c->a[timeout];
    if (ms <= 0) return make_again(c);
    uint64_t deadline = wait_now() + (uint64_t)ms * 1000000;
    wait_mark m = wait_begin();
    long r;
    while (UNLIKELY((r = make(c)) == -1) && wait_again(&m)) c->a[timeout] = wait_left_ms(deadline);
    return r;
}

/* Writes the remaining time only if a handler of the program interrupted the sleep, because `rem`
 * may equal `req`. */
static OWN_CALL long make_sleep(call *c, unsigned timeout)
{
    struct timespec left = {0}, *rem = (struct timespec *)(uintptr_t)c->a[timeout + 1];
    if (c->nr == SYS_clock_nanosleep && (c->a[1] & TIMER_ABSTIME)) return make_again(c);
    if (rem) c->a[timeout + 1] = (long)(uintptr_t)&left;
    long r = make_for(c, timeout);
    if (r == -1 && errno == EINTR && rem) *rem = left;
    return r;
}

static OWN_CALL long make_futex(call *c, unsigned timeout)
{
    int op = (int)c->a[1] & FUTEX_CMD_MASK;
    if (op == FUTEX_WAIT) return make_for(c, timeout);
    return op == FUTEX_WAIT_BITSET ? make_again(c) : make(c);
}

typedef struct ring_arg { /* struct io_uring_getevents_arg, whose field names have changed */
    uint64_t mask;
    uint32_t mask_size, min_wait_us;
    uint64_t timeout;
} ring_arg;

/* The timeout of io_uring_enter may be in a structure.  EINTR means that nothing was submitted. */
static OWN_CALL long make_ring(call *c, unsigned arg)
{
    if (!(c->a[3] & IORING_ENTER_EXT_ARG) || !c->a[arg]) return make_again(c);
    if ((size_t)c->a[5] != sizeof(ring_arg)) return make(c);
    struct timespec left;
    ring_arg copy;
    uint64_t start = wait_now(), deadline = 0;
    wait_mark m = wait_begin();
    long r;
    while (UNLIKELY((r = make(c)) == -1) && wait_again(&m)) {
        copy = *(const ring_arg *)(uintptr_t)c->a[arg];
        c->a[arg] = (long)(uintptr_t)&copy;
        /* unknown flags may mean an absolute timeout */
        if (!copy.timeout || (c->a[3] & ~0x1fL)) continue;
        if (!deadline)
            deadline = wait_until(start, (const struct timespec *)(uintptr_t)copy.timeout);
        left = wait_left(deadline);
        copy.timeout = (uintptr_t)&left;
    }
    return r;
}

/* ---- privileges, exec, exit, by the interposed functions ---- */

static void *pointer(long a) { return (void *)(uintptr_t)a; }

/* Ignores a reset of the agent's signals.  Chromium resets all signals by number between fork and
 * exec, and the next sample would kill the new process. */
static long set_handler(const call *c)
{
    int sig = (int)c->a[0];
    const kernel_action *set = pointer(c->a[1]);
    kernel_action *get = pointer(c->a[2]);
    struct sigaction act = {0}, old = {0};
    if (c->a[3] != sizeof set->mask || !lifecycle_owns_signal(sig)) return make(c);
    if (set) {
        act.sa_handler = set->handler;
        act.sa_flags = (int)(set->flags & ~(unsigned long)KERNEL_SA_RESTORER);
        memcpy(&act.sa_mask, &set->mask, sizeof set->mask);
    }
    if (sigaction(sig, set ? &act : NULL, &old) != 0) return -1;
    if (get) {
        *get = (kernel_action){.handler = old.sa_handler, .flags = (unsigned long)old.sa_flags};
        memcpy(&get->mask, &old.sa_mask, sizeof get->mask);
    }
    return 0;
}

static OWN_CALL long call_lifecycle(const call *c)
{
    const long *a = c->a;
    switch (c->nr) {
    case SYS_rt_sigaction: return set_handler(c);
    case SYS_prctl: return prctl((int)a[0], a[1], a[2], a[3], a[4]);
    case SYS_capset: return capset(pointer(a[0]), pointer(a[1]));
    case SYS_unshare: return unshare((int)a[0]);
    case SYS_setns: return setns((int)a[0], (int)a[1]);
    case SYS_execve: return execve(pointer(a[0]), pointer(a[1]), pointer(a[2]));
    case SYS_execveat:
        return execveat((int)a[0], pointer(a[1]), pointer(a[2]), pointer(a[3]), (int)a[4]);
    case SYS_exit_group: _exit((int)a[0]);
    case SYS_seccomp: /* libc has no function for it */
        if (seccomp_by_syscall((unsigned long)a[0], (unsigned long)a[2])) lifecycle_stop();
        return make(c);
    default: return make(c);
    }
}

long syscall_ours(long nr, long a, long b, long c, long d, long e, long f)
    __attribute__((visibility("hidden")));

OWN_CALL long syscall_ours(long nr, long a, long b, long c, long d, long e, long f)
{
    call k = {nr, {a, b, c, d, e, f}};
    call_rule rule = syscall_rules[nr];
    WAIT_SAVE_REGISTERS();
    switch ((call_kind)rule.kind) {
    case CALL_AGAIN: return make_again(&k);
    case CALL_FOR: return make_for(&k, rule.timeout);
    case CALL_MS: return make_ms(&k, rule.timeout);
    case CALL_SLEEP: return make_sleep(&k, rule.timeout);
    case CALL_FUTEX: return make_futex(&k, rule.timeout);
    case CALL_RING: return make_ring(&k, rule.timeout);
    case CALL_LIFECYCLE: return call_lifecycle(&k);
    case CALL_OTHER: break;
    }
    return make(&k);
}

/* ---- syscall ---- */

ARCH_SYSCALL_ENTRY(OWN_CALL);
_Static_assert(CALLS == 512 && sizeof(call_rule) == 2 && offsetof(call_rule, kind) == 0 &&
                   CALL_OTHER == 0,
               "arch/syscall.h reads the table");
