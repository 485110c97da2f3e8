/* Runs a child program in the foreground and forwards signals to it.  The signal rules of child.h
 * need vfork and raw system calls, which is why this is not posix_spawn. */
#include "sys/child.h"

#include "sys/kernel_action.h"
#include "base/str.h"
#include "base/time.h"
#include "base/ban.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct child {
    pid_t pid;
    bool stopped, ended;
    bool terminal;       /* a shell exists that should see that kiln has stopped */
    bool stop_forwarded; /* another process sent kiln a stop signal, which kiln forwarded */
    int status;
    struct rusage usage;
    sigset_t taken, before;
} child;

static uint64_t now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* ---- start ---- */

/* Blocks all signals that may be sent, but not those that faults raise. */
static void take_signals(child *c)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigfillset(&c->taken);
    for (size_t i = 0; i < ARRAY_LEN(own); i++) sigdelset(&c->taken, own[i]);
    sigprocmask(SIG_BLOCK, &c->taken, &c->before);
    signal(SIGCHLD, SIG_DFL); /* the parent may have ignored SIGCHLD, and waiting would not work */
}

static bool kernel_sigaction(int sig, const kernel_action *set, kernel_action *get)
{
    return syscall(SYS_rt_sigaction, sig, set, get, sizeof set->mask) == 0;
}

child_settings child_settings_now(void)
{
    child_settings out = {0};
    for (int sig = 1; sig <= KERNEL_SIGNALS; sig++) {
        kernel_action a;
        if (kernel_sigaction(sig, NULL, &a) && a.handler == SIG_IGN)
            out.ignored |= UINT64_C(1) << (sig - 1);
    }
    if (getrlimit(RLIMIT_NOFILE, &out.files) != 0) out.files.rlim_max = 0;
    return out;
}

static void set_dispositions(uint64_t ignored)
{
    for (int sig = 1; sig <= KERNEL_SIGNALS; sig++) {
        kernel_action a = {.handler = ignored >> (sig - 1) & 1 ? SIG_IGN : SIG_DFL};
        kernel_sigaction(sig, &a, NULL);
    }
}

/* kiln raises its limit to open perf events.  A program that finds a limit above 1024 may open files
 * that select() cannot wait for, or close a million descriptors one by one. */
static void set_files(const struct rlimit *files)
{
    if (files->rlim_max) setrlimit(RLIMIT_NOFILE, files); /* a system call in every libc */
}

/* Runs in the child of vfork: only system calls.  Returns whether the program may start. */
static bool wait_at_gate(const child_opts *o)
{
    int pid = (int)syscall(SYS_getpid);
    char refused = 0;
    if (write(o->announce, &pid, sizeof pid) == (ssize_t)sizeof pid)
        while (read(o->gate, &refused, 1) < 0 && errno == EINTR) continue;
    return !refused;
}

/* posix_spawn cannot start a program with SIGCHLD ignored, which kiln must not ignore itself, and
 * does not restore signals 32 and 33.  The child of vfork shares kiln's memory but not its
 * dispositions, so all signals are blocked until the child has reset the handlers. */
static int spawn(child *c, const child_opts *o, const char *path, char *const *argv)
{
    int failure[2], why = 0; /* a pipe, not a variable, because under TSan vfork is fork */
    if (pipe2(failure, O_CLOEXEC) != 0) return errno;
    c->pid = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork) */
    if (c->pid == 0) {
        set_dispositions(o->settings.ignored);
        set_files(&o->settings.files);
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &c->before, NULL, sizeof(uint64_t));
        if (!o->gated || wait_at_gate(o))
            execve(path, argv, (char *const *)(uintptr_t)o->envp);
        else
            errno = ECANCELED;
        write(failure[1], &errno, sizeof errno);
        _exit(EXIT_FAILURE);
    }
    if (c->pid < 0) why = errno;
    close(failure[1]);
    if (c->pid > 0 && read(failure[0], &why, sizeof why) > 0) waitpid(c->pid, NULL, 0);
    close(failure[0]);
    return why;
}

static int spawn_by_shell(child *c, const child_opts *o)
{
    size_t n = 0;
    while (o->argv[n]) n++;
    const char **v = calloc(n + 2, sizeof *v);
    if (!v) return ENOMEM;
    v[0] = "/bin/sh";
    v[1] = o->path;
    for (size_t i = 1; i < n; i++) v[i + 1] = o->argv[i];
    int why = spawn(c, o, v[0], (char *const *)(uintptr_t)v);
    free(v);
    return why;
}

static bool start(child *c, const child_opts *o, err *e)
{
    int why = spawn(c, o, o->path, (char *const *)(uintptr_t)o->argv);
    if (why == ENOEXEC) why = spawn_by_shell(c, o);
    if (!why) return true;
    sigprocmask(SIG_SETMASK, &c->before, NULL);
    return err_sys(e, why, "cannot be started");
}

/* ---- wait ---- */

static void check(child *c)
{
    int status;
    struct rusage u;
    while (!c->ended && wait4(c->pid, &status, WNOHANG | WUNTRACED | WCONTINUED, &u) == c->pid) {
        c->stopped = WIFSTOPPED(status);
        c->ended = WIFEXITED(status) || WIFSIGNALED(status);
        c->status = status;
        c->usage = u;
    }
}

/* Called when the child has stopped: stops kiln too, if a shell can resume it. */
static void stop_too(child *c)
{
    if (!c->stopped || !(c->terminal || c->stop_forwarded)) return;
    c->stop_forwarded = false;
    raise(SIGSTOP);
    check(c);
    if (c->stopped) kill(c->pid, SIGCONT);
}

static void pass_on(child *c, const siginfo_t *s)
{
    bool sent = s->si_code == SI_USER || s->si_code == SI_QUEUE || s->si_code == SI_TKILL;
    if (!sent || c->ended) return;
    /* The shell resumes the whole group; a second SIGCONT would run the child's handler twice. */
    if (s->si_signo == SIGCONT && !c->stopped) return;
    if (s->si_signo == SIGTSTP) c->stop_forwarded = true;
    if (s->si_code == SI_QUEUE)
        sigqueue(c->pid, s->si_signo, s->si_value);
    else
        kill(c->pid, s->si_signo);
}

/* Waits for a signal, at most until o->due is due.  Returns whether there was one. */
static bool wait_for_signal(const child *c, const child_opts *o, uint64_t start, siginfo_t *s)
{
    if (!o) return sigwaitinfo(&c->taken, s) > 0;
    uint64_t passed = now(CLOCK_MONOTONIC) - start,
             left = passed < o->due_ns ? o->due_ns - passed : 0;
    const struct timespec t = {(time_t)(left / NS_PER_S), (long)(left % NS_PER_S)};
    return sigtimedwait(&c->taken, s, &t) > 0;
}

static void wait_for_end(child *c, const child_opts *o)
{
    uint64_t start = now(CLOCK_MONOTONIC);
    const child_opts *due = o->due ? o : NULL;
    for (siginfo_t s; !c->ended;) {
        if (wait_for_signal(c, due, start, &s)) {
            check(c);
            if (s.si_signo == SIGCHLD)
                stop_too(c);
            else
                pass_on(c, &s);
        }
        if (!due || c->ended || now(CLOCK_MONOTONIC) - start < due->due_ns) continue;
        due->due(due->ctx);
        due = NULL;
    }
}

/* Discards signals that the terminal sent to both processes at the end. */
static void forget_signals(child *c)
{
    const struct timespec at_once = {0};
    while (sigtimedwait(&c->taken, NULL, &at_once) > 0) continue;
    sigprocmask(SIG_SETMASK, &c->before, NULL);
}

static bool has_terminal(void)
{
    int fd = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

static uint64_t ns_of(struct timeval t)
{
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_usec * 1000;
}

bool child_run(const child_opts *o, child_end *out, err *e)
{
    child c = {.terminal = has_terminal()};
    take_signals(&c);
    *out = (child_end){.start_ns = now(CLOCK_REALTIME)};
    uint64_t begin = now(CLOCK_MONOTONIC);
    if (!start(&c, o, e)) return false;
    wait_for_end(&c, o);
    out->run_ns = now(CLOCK_MONOTONIC) - begin;
    forget_signals(&c);
    out->pid = c.pid;
    out->status = c.status;
    out->cpu_ns = ns_of(c.usage.ru_utime) + ns_of(c.usage.ru_stime);
    return true;
}

void child_die_by_signal(int status)
{
    if (!WIFSIGNALED(status)) return;
    int sig = WTERMSIG(status);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, sig);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* prevents a core dump even if core_pattern is a pipe */
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    signal(sig, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    raise(sig);
}
