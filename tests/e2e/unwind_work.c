#include "unwind_work.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

const char *plugin_path;
static volatile int sink;

#define FAR __attribute__((noinline))

__attribute__((format(printf, 2, 3))) static FAR int spread(int d, const char *s, ...)
{
    va_list ap;
    va_start(ap, s);
    char text[256];
    int n = vsnprintf(text, sizeof text, s, ap);
    va_end(ap);
    if (d > 0) n += spread(d - 1, "%s %d %.17g %llx", text, d, d * 1.25, 1ull << d);
    return n + text[n & 127];
}

static void work_printf(void) { sink += spread(12, "%d %s", 3, "abc"); }

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void work_qsort(void)
{
    static const char *const words[] = {"pear", "apple", "fig",  "date",
                                        "plum", "kiwi",  "lime", "nut"};
    const char *v[40];
    for (size_t i = 0; i < 40; i++) v[i] = words[i * 7 % 8] + i % 3;
    qsort(v, 40, sizeof *v, by_text);
    sink += v[3][0];
}

static FAR void grow(int d)
{
    char *p = malloc((size_t)d * 37 % 5000 + 1);
    if (!p) return;
    memset(p, d, (size_t)d * 37 % 5000 + 1);
    if (d > 0) grow(d - 1);
    p = realloc(p, (size_t)d * 91 % 9000 + 1);
    free(p);
}

static void work_malloc(void) { grow(30); }

static FAR void copy(size_t n)
{
    static char a[70000], b[70000];
    memcpy(a, b + 1, n);
    memmove(a + 3, a, n / 2);
    sink += (int)strlen(a) + (memcmp(a, b, n) > 0);
    if (n > 1) copy(n / 3);
}

static void work_memcpy(void) { copy(60000); }

static void work_vdso(void)
{
    struct timespec t;
    for (int i = 0; i < 20; i++) {
        clock_gettime(CLOCK_MONOTONIC, &t);
        sink += (int)t.tv_nsec;
        clock_gettime(CLOCK_REALTIME_COARSE, &t);
    }
}

static FAR int many(int a, int b, int c, int d, int e, int f, long g, long h)
{
    int pad[200];
    for (int i = 0; i < 200; i++) pad[i] = a * i + b;
    if (a > 0) return many(a - 1, b ^ c, c + 1, d, e, f, g + 1, h) + pad[b & 127];
    return pad[c & 127] + d + e + f + (int)g + (int)h;
}

static void work_frames(void) { sink += many(25, 1, 2, 3, 4, 5, 6, 7); }

/* Frames whose size is known only at run time, and one too large for the word of a rule. */
static FAR int rolling(size_t n)
{
    char *p = __builtin_alloca(n * 16 + 8);
    memset(p, 1, n * 16 + 8);
    return n > 0 ? rolling(n - 1) + p[n] : p[0];
}

static FAR int huge(int d)
{
    volatile char big[70000];
    big[d] = 1;
    return d > 0 ? huge(d - 1) + big[d] : rolling(9);
}

static void work_alloca(void) { sink += rolling(20) + huge(2); }

/* The compiler realigns the stack and keeps the old pointer in a register. */
static FAR int aligned(int d)
{
    volatile double v[16] __attribute__((aligned(64)));
    for (int i = 0; i < 16; i++) v[i] = d + i;
    int r = d > 0 ? aligned(d - 1) : (int)strtod("12.5e3", NULL);
    return r + (int)v[d & 15];
}

static void work_aligned(void) { sink += aligned(12); }

/* First calls through stubs that the loader has not resolved yet; each works once. */
static void work_lazy(void)
{
    sink += (int)strtol("12", NULL, 10) + (int)labs(-3) + (int)strcspn("abc", "c") +
            (int)strspn("ab", "a");
    sink +=
        (int)getpid() + (int)getppid() + (int)getuid() + (int)geteuid() + (int)getgid() + isatty(0);
    sink += abs((int)strtoll("-5", NULL, 10)) + (int)strtoul("77", NULL, 8) +
            (strstr("abcdef", "cd") != NULL);
    sink += (int)strnlen("abc", 2) + (strpbrk("abc", "b") != NULL) + (int)random() +
            (strrchr("a/b", '/') != NULL);
}

static void on_inner(int sig, siginfo_t *si, void *uc)
{
    (void)sig, (void)si, (void)uc;
    judge_here();
    sink += spread(2, "inner %d", 1);
}

static FAR void signalled(int flags)
{
    struct sigaction a = {.sa_sigaction = on_inner, .sa_flags = SA_SIGINFO | flags}, old;
    sigaction(SIGUSR1, &a, &old);
    raise(SIGUSR1);
    pthread_kill(pthread_self(), SIGUSR1);
    sigaction(SIGUSR1, &old, NULL);
}

static void work_signal(void) { signalled(0); }

static void work_altstack(void)
{
    static char stack[65536];
    stack_t s = {.ss_sp = stack, .ss_size = sizeof stack}, old;
    sigaltstack(&s, &old);
    signalled(SA_ONSTACK);
    s.ss_flags = SS_DISABLE;
    sigaltstack(&s, NULL);
}

static ucontext_t home, away;

static void coroutine(void)
{
    for (int i = 0; i < 3; i++) {
        judge_here();
        sink += spread(3, "away %d", i);
        swapcontext(&away, &home);
    }
}

static void work_context(void)
{
    static char stack[131072];
    getcontext(&away);
    away.uc_stack.ss_sp = stack;
    away.uc_stack.ss_size = sizeof stack;
    away.uc_link = &home;
    makecontext(&away, coroutine, 0);
    for (int i = 0; i < 3; i++) swapcontext(&home, &away);
}

static FAR int back(int n)
{
    judge_here();
    return (int)strlen("back") + n;
}

static void work_plugin(void)
{
    void *h = dlopen(plugin_path, RTLD_LAZY | RTLD_LOCAL);
    if (!h) abort();
    judge_refresh();
    int (*f)(int, int (*)(int)) = (int (*)(int, int (*)(int)))(uintptr_t)dlsym(h, "plugin_work");
    sink += f(4, back);
    dlclose(h);
    judge_refresh();
}

static FAR int deep(int d)
{
    int r = d > 0 ? deep(d - 1) : back(d);
    sink += r;
    return r + 1;
}

static void work_deep(void) { deep(600); }

const unwind_work works[] = {
    {"first calls through the loader", work_lazy}, /* before anything else calls them */
    {"printf", work_printf},
    {"qsort with a callback", work_qsort},
    {"malloc, realloc, free", work_malloc},
    {"memcpy and related functions", work_memcpy},
    {"clock_gettime in the vdso", work_vdso},
    {"large frames, arguments on the stack", work_frames},
    {"frames of variable size", work_alloca},
    {"realigned stacks", work_aligned},
    {"in a signal handler", work_signal},
    {"in a signal handler, on an alternate stack", work_altstack},
    {"on a stack created by makecontext", work_context},
    {"in a library that is loaded and unloaded", work_plugin},
    {"deep recursion", work_deep},
};
const size_t n_works = sizeof works / sizeof works[0];
