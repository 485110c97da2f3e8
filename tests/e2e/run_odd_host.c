/* A program that starts, ends and hides in unusual ways, for run_odd.  Also built as a library, for
 * lib_work.
 *
 *   host WHAT [SECONDS [N]]
 *
 * Seconds of work are CPU seconds of the calling thread, in a function whose name identifies the
 * case. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { CANNOT = 77, SMALL_STACK = 64 << 10, GROUP = 250 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static _Thread_local volatile unsigned long sink;

#define SPEND(name)                                                                                \
    __attribute__((noinline)) void name(double s);                                                 \
    void name(double s)                                                                            \
    {                                                                                              \
        for (double end = now() + s; now() < end;)                                                 \
            for (int i = 0; i < 2000; i++) sink += (unsigned long)i * sink;                        \
    }
SPEND(work)
SPEND(child_work)
SPEND(thread_work)
SPEND(lib_work)

static void nap(double s)
{
    struct timespec t = {(time_t)s, (long)((s - (double)(time_t)s) * 1e9)};
    while (nanosleep(&t, &t) != 0 && errno == EINTR) continue;
}

/* Waits at most half a minute. */
static void wait_for(const char *file)
{
    for (int i = 0; i < 1500 && access(file, F_OK) != 0; i++) nap(.02);
}

/* ---- threads ---- */

static atomic_int finished;

static void *spend_in_thread(void *s)
{
    thread_work(*(double *)s);
    finished = 1;
    return NULL;
}

static int exit_main(double s)
{
    static double seconds;
    pthread_t t;
    seconds = s;
    if (pthread_create(&t, NULL, spend_in_thread, &seconds)) return 1;
    pthread_exit(NULL);
}

static void *nap_in_thread(void *s)
{
    if (*(double *)s > 0) nap(*(double *)s);
    return NULL;
}

/* Starts `n` threads, `group` at a time, that sleep `s` each. */
static int many_threads(int n, int group, double s)
{
    pthread_t t[GROUP];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, SMALL_STACK);
    for (int i = 0; i < n; i += group) {
        for (int k = 0; k < group; k++)
            if (pthread_create(&t[k], &small, nap_in_thread, &s)) return perror("thread"), CANNOT;
        for (int k = 0; k < group; k++) pthread_join(t[k], NULL);
    }
    return 0;
}

static int churn(int n, double s)
{
    pthread_t t;
    int code = many_threads(n, GROUP, 0);
    if (code) return code;
    if (pthread_create(&t, NULL, spend_in_thread, &s)) return 1;
    return pthread_join(t, NULL);
}

/* ---- processes ---- */

/* Starts children, two at a time, that end soon and are reaped much later. */
static int zombies(int n, double s)
{
    for (int i = 0; i < n; i += 2) {
        pid_t pid[2];
        for (int k = 0; k < 2; k++) {
            pid[k] = fork();
            if (pid[k] == 0) child_work(s), _exit(0);
        }
        nap(.15);
        for (int k = 0; k < 2; k++) waitpid(pid[k], NULL, 0);
    }
    return 0;
}

/* Starts a background process without the standard output.  Returns 0 in that process. */
static pid_t leave_behind(void)
{
    pid_t pid = fork();
    if (pid) return pid;
    setsid();
    int null = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3; i++) (void)dup2(null, i);
    return 0;
}

static int later(double s)
{
    pid_t pid = leave_behind();
    if (pid) return pid < 0;
    nap(1);
    child_work(s);
    return 0;
}

/* Works before the program ends, and again when the file `go` appears. */
static int until_go(double s)
{
    int ends[2];
    char c;
    if (pipe(ends)) return 1;
    pid_t pid = leave_behind();
    if (pid) return close(ends[1]), pid < 0 || read(ends[0], &c, 1) != 0;
    child_work(s);
    close(ends[0]), close(ends[1]), close(7);
    wait_for("go");
    child_work(s);
    return 0;
}

static int say_segment(void)
{
    const char *path = getenv("KILN_SEGMENT");
    puts(path ? path : "");
    fflush(stdout);
    wait_for("go");
    return 0;
}

/* ---- execs ---- */

static int failing_execs(double s)
{
    pthread_t t;
    char *argv[] = {"x", NULL};
    if (pthread_create(&t, NULL, spend_in_thread, &s)) return 1;
    setenv("PATH", "/no/a:/no/b:/no/c:/no/d:/no/e:/no/f:/no/g:/no/h", 1);
    for (int i = 0; i < 2000 && !finished; i++) {
        work(.0002);
        if (execvp("no-such-program", argv) != -1 || errno != ENOENT) return 2;
        nap(.0005);
    }
    return pthread_join(t, NULL);
}

/* Resets all signals to their default by number, as Chromium does between fork and exec. */
static int reset_by_number(double s)
{
    for (int i = 0; i < 12; i++) {
        int status;
        pid_t pid = fork();
        if (pid < 0) return 3;
        if (!pid) {
            struct {
                void *handler;
                unsigned long flags;
                void *restorer;
                unsigned long mask;
            } none = {0}, seen;
            for (int sig = 1; sig <= 64; sig++) syscall(SYS_rt_sigaction, sig, &none, NULL, 8L);
            for (int sig = 1; sig <= 64; sig++)
                if (syscall(SYS_rt_sigaction, sig, NULL, &seen, 8L) == 0 && seen.handler) _exit(4);
            work(s);
            _exit(0);
        }
        if (waitpid(pid, &status, 0) != pid || status)
            return printf("child %d: status %#x\n", i, status), 5;
    }
    return 0;
}

/* Execs by a direct system call, which is not interposed. */
static int raw_exec(char *self, char *seconds)
{
#ifdef __x86_64__
    char *argv[] = {self, "nap", seconds, NULL};
    long r = SYS_execve;
    nap(strtod(seconds, NULL) / 2);
    __asm__ volatile("syscall"
                     : "+a"(r)
                     : "D"(self), "S"(argv), "d"(environ)
                     : "rcx", "r11", "memory");
    return 1;
#else
    (void)self, (void)seconds;
    return CANNOT;
#endif
}

/* ---- files ---- */

static int becomes_fifo(double s, const char *file)
{
    void *lib = dlopen(file, RTLD_NOW);
    void (*spend)(double) = lib ? (void (*)(double))dlsym(lib, "lib_work") : NULL;
    if (!spend) return puts(dlerror()), 1;
    spend(s);
    return unlink(file) || mkfifo(file, 0600);
}

int main(int argc, char **argv)
{
    int at_start = errno;
    const char *what = argc > 1 ? argv[1] : "";
    double s = argc > 2 ? strtod(argv[2], NULL) : 0;
    int n = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 0;
    if (!strcmp(what, "errno")) return at_start;
    if (!strcmp(what, "plain")) return work(s), 0;
    if (!strcmp(what, "nap")) return nap(s), 0;
    if (!strcmp(what, "exit-main")) return exit_main(s);
    if (!strcmp(what, "churn")) return churn(n, s);
    if (!strcmp(what, "threads")) return many_threads(n, 20, s);
    if (!strcmp(what, "zombies")) return zombies(n, s);
    if (!strcmp(what, "later")) return later(s);
    if (!strcmp(what, "until-go")) return until_go(s);
    if (!strcmp(what, "segment")) return say_segment();
    if (!strcmp(what, "failing")) return failing_execs(s);
    if (!strcmp(what, "reset")) return reset_by_number(s);
    if (!strcmp(what, "raw-exec")) return raw_exec(argv[0], argv[2]);
    if (!strcmp(what, "fifo")) return becomes_fifo(s, argv[3]);
    return 99;
}
