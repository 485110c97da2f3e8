/* A program that forbids itself all system calls but the few that it makes, for agent_seccomp.
 *
 *   seccomp_host HOW END
 *
 * HOW: how the filter is installed
 *   prctl     prctl(2) of libc, both calls
 *   syscall   syscall(2) of libc: seccomp, without prctl before it if the user may (root)
 *   inline    a direct system call
 *   strict    prctl(2) of libc, the mode with read, write, exit and sigreturn: even reading the clock is forbidden
 *   thread    a direct system call, in a second thread only
 *   exec      prctl(2), then it execs itself: the filter permits the calls of a program start
 *   plain     no filter
 *   asks      no filter: checks whether the kernel supports filters, as browsers do
 * END: how it ends, return or _exit.
 *
 *   seccomp_host around PROGRAM ARG...    runs a program under a filter that forbids only one call, as containers do
 *
 * With a direct system call the program sleeps before it works: an agent can only notice the filter
 * afterwards (docs/capture.md). */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { NOTICED_S = 3, MOST = 64 };

static long inline_call(long nr, long a, long b, long c, long d, long e)
{
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    long r;
    __asm__ volatile("syscall"
                     : "=a"(r)
                     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    return r;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = nr;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
    return x0;
#endif
}

static volatile unsigned long sink;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void count(void)
{
    for (int i = 0; i < 100000000; i++) sink += (unsigned long)i;
}

static void work(double s)
{
    for (double end = now() + s; now() < end;)
        for (int i = 0; i < 100000; i++) sink += (unsigned long)i * sink;
}

static void rest(long s)
{
    struct timespec t = {s, 0};
    while (inline_call(SYS_nanosleep, (long)&t, (long)&t, 0, 0, 0) == -EINTR) continue;
}

/* ---- filter ---- */

static const int few[] = {SYS_write, SYS_exit_group, SYS_clock_gettime, SYS_nanosleep, -1};
static const int of_thread[] = {SYS_write,  SYS_clock_gettime,  SYS_nanosleep,
                                SYS_exit,   SYS_rt_sigprocmask, SYS_madvise,
                                SYS_munmap, SYS_futex,          -1};

/* The calls of a program start with libc (strace /bin/true). */
static const int of_start[] = {SYS_write,         SYS_exit_group,
                               SYS_clock_gettime, SYS_execve,
                               SYS_brk,           SYS_mmap,
                               SYS_munmap,        SYS_mprotect,
                               SYS_openat,        SYS_read,
                               SYS_pread64,       SYS_close,
                               SYS_newfstatat,    SYS_set_tid_address,
                               SYS_rseq,          SYS_prlimit64,
                               SYS_getrandom,     SYS_set_robust_list,
                               SYS_access,        SYS_arch_prctl,
                               SYS_futex,         -1};

static struct sock_filter code[2 * MOST + 8];
static struct sock_fprog program = {.filter = code};

static unsigned short allow(unsigned short n, int nr)
{
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 1);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    return n;
}

/* SECCOMP_HOST_HANDLERS in the environment: permits the return from signal handlers, as a program
 * with handlers does. */
static void build(const int *allowed)
{
    unsigned short n = 0;
    code[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (; *allowed >= 0; allowed++) n = allow(n, *allowed);
    if (getenv("SECCOMP_HOST_HANDLERS")) n = allow(n, SYS_rt_sigreturn);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    program.len = n;
}

static void build_all_but(int nr)
{
    unsigned short n = 0;
    code[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 1);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    program.len = n;
}

static void need(long r, const char *what)
{
    if (!r) return;
    fprintf(stderr, "%s: %s\n", what, strerror(r < -1 ? (int)-r : errno));
    exit(3);
}

static void by_prctl(void)
{
    need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "PR_SET_NO_NEW_PRIVS");
    need(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), "PR_SET_SECCOMP");
}

static void by_syscall(void)
{
    if (geteuid() != 0)
        need(inline_call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "PR_SET_NO_NEW_PRIVS");
    need(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program), "seccomp");
}

static void by_instruction(void)
{
    need(inline_call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "PR_SET_NO_NEW_PRIVS");
    need(inline_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&program, 0, 0), "seccomp");
}

static void *second(void *arg)
{
    (void)arg;
    build(of_thread);
    by_instruction();
    rest(NOTICED_S);
    work(0.2);
    return NULL;
}

static void filter(const char *how)
{
    pthread_t t;
    build(few);
    if (!strcmp(how, "prctl"))
        by_prctl();
    else if (!strcmp(how, "syscall"))
        by_syscall();
    else if (!strcmp(how, "inline"))
        by_instruction();
    else if (!strcmp(how, "strict"))
        need(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT), "PR_SET_SECCOMP");
    else if (!strcmp(how, "thread"))
        need(pthread_create(&t, NULL, second, NULL) || pthread_join(t, NULL), "thread");
    else
        need(-1, how);
}

static void say(const char *text) { (void)!write(1, text, strlen(text)); }

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "", *end = argc > 2 ? argv[2] : "";
    if (!strcmp(how, "around")) {
        build_all_but(SYS_reboot);
        by_prctl();
        execv(argv[2], argv + 2);
        return 4;
    }
    if (!strcmp(how, "exec")) {
        say("execs\n");
        work(0.3);
        build(of_start);
        by_prctl();
        execl("/proc/self/exe", argv[0], "plain", end, (char *)NULL);
        return 4;
    }
    work(0.3);
    say("begins\n");
    if (!strcmp(how, "asks")) {
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL);
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, NULL);
    } else if (strcmp(how, "plain") != 0) {
        filter(how);
    }
    if (!strcmp(how, "inline")) rest(NOTICED_S);
    if (!strcmp(how, "strict")) {
        count();
        say("worked\n");
        inline_call(SYS_exit, 0, 0, 0, 0, 0); /* exit_group is forbidden */
    }
    work(0.2);
    say("worked\n");
    if (!strcmp(end, "_exit")) _exit(0);
    return 0;
}
