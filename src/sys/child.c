#include "sys/child.h"

#include "base/str.h"
#include "base/ban.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S UINT64_C(1000000000)

typedef struct child {
    pid_t pid;
    bool stopped, ended;
    bool terminal;   /* there is a shell to show that we stopped */
    bool stop_asked; /* somebody stopped us by name, and we passed it on */
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

/* Everything that is sent; what a mistake of our own raises stays as it is. */
static void take_signals(child *c)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigfillset(&c->taken);
    for (size_t i = 0; i < ARRAY_LEN(own); i++) sigdelset(&c->taken, own[i]);
    sigprocmask(SIG_BLOCK, &c->taken, &c->before);
    signal(SIGCHLD,
           SIG_DFL); /* who started us may have ignored it: then nobody waits for anybody */
}

/* Signals of glibc's own, which sigaddset refuses.  Without this, posix_spawn leaves them ignored in the program. */
static void add_internal(sigset_t *s)
{
    enum { INTERNAL = 32, N_INTERNAL = 2 };
    unsigned long word;
    memcpy(&word, s, sizeof word);
    word |= ((1UL << N_INTERNAL) - 1) << (INTERNAL - 1);
    memcpy(s, &word, sizeof word);
}

static int spawn(child *c, const child_opts *o, const char *path, char *const *argv)
{
    posix_spawnattr_t at;
    sigset_t back;
    sigemptyset(&back);
    if (!o->ignore_pipe) sigaddset(&back, SIGPIPE);
    add_internal(&back);
    int why = posix_spawnattr_init(&at);
    if (why) return why;
    posix_spawnattr_setsigmask(&at, &c->before);
    posix_spawnattr_setsigdefault(&at, &back);
    posix_spawnattr_setflags(&at, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    why = posix_spawn(&c->pid, path, NULL, &at, argv, (char *const *)(uintptr_t)o->envp);
    posix_spawnattr_destroy(&at);
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

static void look(child *c)
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

/* It stopped: so do we, where somebody is there to wake us. */
static void stop_too(child *c)
{
    if (!c->stopped || !(c->terminal || c->stop_asked)) return;
    c->stop_asked = false;
    raise(SIGSTOP);
    look(c);
    if (c->stopped) kill(c->pid, SIGCONT);
}

static void pass_on(child *c, const siginfo_t *s)
{
    bool sent = s->si_code == SI_USER || s->si_code == SI_QUEUE || s->si_code == SI_TKILL;
    if (!sent || c->ended) return;
    /* The shell wakes the whole group: a second SIGCONT would run its handler again. */
    if (s->si_signo == SIGCONT && !c->stopped) return;
    if (s->si_signo == SIGTSTP) c->stop_asked = true;
    if (s->si_code == SI_QUEUE)
        sigqueue(c->pid, s->si_signo, s->si_value);
    else
        kill(c->pid, s->si_signo);
}

static void wait_for_end(child *c)
{
    for (siginfo_t s; !c->ended;) {
        if (sigwaitinfo(&c->taken, &s) < 0) continue;
        look(c);
        if (s.si_signo == SIGCHLD)
            stop_too(c);
        else
            pass_on(c, &s);
    }
}

/* What the terminal sent to both of us at the end is not for us. */
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
    wait_for_end(&c);
    out->run_ns = now(CLOCK_MONOTONIC) - begin;
    forget_signals(&c);
    out->pid = c.pid;
    out->status = c.status;
    out->cpu_ns = ns_of(c.usage.ru_utime) + ns_of(c.usage.ru_stime);
    return true;
}

void child_die_alike(int status)
{
    if (!WIFSIGNALED(status)) return;
    int sig = WTERMSIG(status);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, sig);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* also where core_pattern is a pipe */
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    signal(sig, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    raise(sig);
}
