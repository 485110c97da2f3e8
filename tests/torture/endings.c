/* tests/torture/endings.c - every way in which a process ends; the status is the result. */
#include "torture.h"

static void at_exit(void) { puts("atexit"); }
static void at_quick(void)
{
    puts("at_quick_exit");
    fflush(stdout);
}

static void busy(const torture *t)
{
    torture_crowd(3, t->seed & 1);
    torture_spin_us(5000 + (unsigned)(t->seed % 7 * 3000));
    MUST(!atexit(at_exit) && !at_quick_exit(at_quick));
    puts("busy");
    fflush(stdout);
}

static int ends_return(torture *t) { return busy(t), 42; }
static int ends_exit(torture *t) { busy(t), exit(43); }
static int ends__exit(torture *t) { busy(t), _exit(44); }
static int ends__Exit(torture *t) { busy(t), _Exit(45); }
static int ends_quick(torture *t) { busy(t), quick_exit(46); }
static int ends_raw(torture *t) { return busy(t), (int)syscall(SYS_exit_group, 47); }
static int ends_abort(torture *t) { busy(t), abort(); }

NOINLINE static int crash_here(void) { return *(volatile int *)torture_nowhere = 1; }
static int ends_segv(torture *t) { return busy(t), crash_here(); }

static void *crash_in_thread(void *p)
{
    torture_spin_us(3000);
    crash_here();
    return p;
}

static int ends_segv_thread(torture *t)
{
    pthread_t thread;
    busy(t);
    MUST(!pthread_create(&thread, NULL, crash_in_thread, NULL));
    pthread_join(thread, NULL);
    return 1;
}

static int ends_trap(torture *t) { busy(t), __builtin_trap(); }
static int ends_raise(torture *t, int sig) { return busy(t), raise(sig), 1; }
static int ends_term(torture *t) { return ends_raise(t, SIGTERM); }
static int ends_kill(torture *t) { return ends_raise(t, SIGKILL); }
static int ends_bus(torture *t) { return ends_raise(t, SIGBUS); }
static int ends_fpe(torture *t) { return ends_raise(t, SIGFPE); }
static int ends_pipe(torture *t) { return ends_raise(t, SIGPIPE); }

/* A handler that prints and lets the signal end the process. */
static void last_word(int sig)
{
    const char text[] = "last word\n";
    if (write(1, text, sizeof text - 1) < 0) _exit(98);
    signal(sig, SIG_DFL);
    raise(sig);
}

static int ends_last_word(torture *t)
{
    struct sigaction a = {.sa_handler = last_word, .sa_flags = SA_ONSTACK};
    MUST(!sigaction(SIGSEGV, &a, NULL));
    return ends_segv(t);
}

static void exits_in_handler(int sig) { _exit(sig); }
static int ends_handler(torture *t)
{
    MUST(signal(SIGALRM, exits_in_handler) != SIG_ERR);
    busy(t);
    alarm(1);
    for (;;) torture_malloc(1, 100);
}

static void crash_at_exit(void) { crash_here(); }
static int ends_segv_at_exit(torture *t)
{
    busy(t);
    MUST(!atexit(crash_at_exit));
    return 0;
}

/* Ends immediately, when the agent has just started. */
static int ends_at_once(torture *t) { return (void)t, 48; }

const torture_case ending_cases[] = {
    {"ends_return", ends_return},
    {"ends_exit", ends_exit},
    {"ends__exit", ends__exit},
    {"ends__Exit", ends__Exit},
    {"ends_quick", ends_quick},
    {"ends_raw", ends_raw},
    {"ends_abort", ends_abort},
    {"ends_segv", ends_segv},
    {"ends_segv_thread", ends_segv_thread},
    {"ends_trap", ends_trap},
    {"ends_term", ends_term},
    {"ends_kill", ends_kill},
    {"ends_bus", ends_bus},
    {"ends_fpe", ends_fpe},
    {"ends_pipe", ends_pipe},
    {"ends_last_word", ends_last_word},
    {"ends_handler", ends_handler},
    {"ends_segv_at_exit", ends_segv_at_exit},
    {"ends_at_once", ends_at_once},
    {NULL, NULL},
};
