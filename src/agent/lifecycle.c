/* Serves the interposed calls: start and end of threads, exec, exit, and handlers for the agent's
 * signal.  These functions run in the program's threads, so they block signals while they hold a
 * lock. */
#include "agent/lifecycle.h"

#include "agent/seccomp.h"
#include "agent/internal.h"
#include "agent/own.h"
#include "agent/signo.h"
#include "agent/trampoline.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/ban.h"

enum { RETIRE_MS = 1000 }; /* maximum wait for the agent's threads to end */

static pthread_key_t at_end; /* key whose value is the record of the thread */
static bool has_key;

/* ---- locks in the program's threads ---- */

/* A handler of the program may run at any instruction and call exec, _exit or sigaction, which take
 * the agent's locks or wait for a thread that does.  So all signals are blocked while the calling
 * thread holds a lock, except the agent's, whose handler takes no lock, and libc's (32 and 33), for
 * which other threads wait. */
static uint64_t hold_signals(void)
{
    const capture *c = &the_capture;
    int ours[] = {c->round, c->event, 32, 33};
    uint64_t held = UINT64_MAX, before = 0;
    for (size_t i = 0; i < ARRAY_LEN(ours); i++)
        if (ours[i]) held &= ~(UINT64_C(1) << (ours[i] - 1));
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &held, &before, sizeof held);
    return before;
}

static void release_signals(uint64_t before)
{
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
}

/* ---- start and end of threads ---- */

/* Number of threads of the program that were created through libc. */
static _Atomic int32_t program_threads;

thread_record *lifecycle_prepare(void *(*run)(void *), void *arg)
{
    if (!capture_here()) return NULL;
    const thread_record *parent = thread_self();
    bool own = own_new_threads_on() || (parent && parent->own);
    uint64_t mask = hold_signals();
    thread_record *t = thread_prepare(run, arg, own);
    release_signals(mask);
    if (t && !own) atomic_fetch_add(&program_threads, 1);
    return t;
}

void lifecycle_cancel(thread_record *t)
{
    if (!t->own) atomic_fetch_sub(&program_threads, 1);
    uint64_t mask = hold_signals();
    thread_cancel(t);
    release_signals(mask);
}

void lifecycle_forked(void) { atomic_store(&program_threads, 1); }

static void finish(thread_record *t)
{
    const capture *c = &the_capture;
    uint64_t mask = hold_signals();
    cpu_disarm(t);
    if (c->o.ended && !t->own) c->o.ended(c->o.ctx, &t->pub);
    if (t->own) own_end(t->pub.tid);
    if (!t->described && atomic_load(&t->pub.sampled)) thread_name_self(t);
    thread_finish(t);
    release_signals(mask);
}

/* Disables cancellation: close and fcntl are cancellation points, and a cancelled thread would
 * leave a lock locked. */
static int disable_cancel(void)
{
    int before = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static void end_capture(void)
{
    capture *c = &the_capture;
    if (c->o.leaving) c->o.leaving(c->o.ctx, false);
    capture_close();
    for (int ms = 0; own_any() && ms < RETIRE_MS; ms++) usleep(1000);
    atomic_store(&handler.pid, 0);
}

/* Runs when the thread returns, calls pthread_exit or is cancelled.  After a fork, the record and
 * the key's value have been replaced. */
static void on_end(void *record)
{
    thread_record *t = record;
    if (!capture_here()) return;
    int cancel = disable_cancel();
    bool own = t->own;
    if (!seccomp_here())
        finish(t); /* otherwise the sampler finishes it, which may make the system calls */
    /* libc ends the process with its last thread, which must not be one of the agent's. */
    if (!own && atomic_fetch_sub(&program_threads, 1) == 1) end_capture();
    pthread_setcancelstate(cancel, NULL);
}

bool lifecycle_open(err *e)
{
    if (!has_key && pthread_key_create(&at_end, on_end) != 0)
        return err_set(e, ERR_LIMIT, "the program uses all keys of thread-specific data");
    atomic_store(&program_threads, 1); /* the thread that opens the capture */
    return has_key = true;
}

void lifecycle_adopt(thread_record *t) { pthread_setspecific(at_end, t); }

typedef struct start {
    void *(*run)(void *);
    void *arg;
} start;

static NOINLINE start begin(thread_record *t)
{
    start s = {t->run, t->arg};
    int cancel = disable_cancel();
    uint64_t mask = hold_signals();
    t = thread_begin(t);
    lifecycle_adopt(t);
    if (atomic_load(&the_capture.ready) && cpu_planned()->period && !seccomp_here())
        cpu_arm(t, true);
    release_signals(mask);
    pthread_setcancelstate(cancel, NULL);
    return s;
}

/* The call of the program's function is the last statement here and in lifecycle_run_c11, so that
 * it becomes a jump and stacks begin with the program's function. */
void *lifecycle_run(void *record)
{
    start s = begin(record);
    return s.run(s.arg);
}

int lifecycle_run_c11(void *record)
{
    start s = begin(record);
    int (*run)(void *);
    memcpy(&run, &s.run, sizeof run); /* lifecycle_prepare received it in this form */
    return run(s.arg);
}

/* ---- exec and exit ---- */

static void suspend_thread(thread_record *t)
{
    pthread_mutex_lock(&t->lock);
    t->no_signals = true;
    pthread_mutex_unlock(&t->lock);
    cpu_disarm(t);
}

/* Senders hold the lock of the record, so no signal is sent to this thread once `no_signals` is
 * set.  A pending signal is delivered before this function returns, or removed if it is blocked. */
void lifecycle_before_exec(bool will)
{
    if (!capture_here()) return;
    capture *c = &the_capture;
    if (will && c->o.leaving) c->o.leaving(c->o.ctx, true);
    uint64_t mask = hold_signals();
    thread_record *t = thread_add((uint32_t)gettid(), false);
    if (t) suspend_thread(t);
    release_signals(mask);
    if (t) signo_drain(c->round, c->event);
}

void lifecycle_before_exec_of(const char *path)
{
    if (capture_here()) lifecycle_before_exec(faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0);
}

/* Takes no lock: a signal handler may call _exit. */
void capture_suspend_thread(void)
{
    thread_record *t = capture_here() ? thread_self() : NULL;
    if (t) atomic_store(&t->suspended, true);
}

static void resume_thread(thread_record *t)
{
    pthread_mutex_lock(&t->lock);
    t->no_signals = false;
    atomic_store(&t->suspended, false);
    pthread_mutex_unlock(&t->lock);
    cpu_arm(t, false);
}

void lifecycle_exec_failed(void)
{
    const capture *c = &the_capture;
    if (!capture_here()) return;
    if (c->o.exec_failed) c->o.exec_failed(c->o.ctx);
    uint64_t mask = hold_signals();
    thread_record *t = thread_find((uint32_t)gettid());
    if (t) resume_thread(t);
    release_signals(mask);
}

/* ---- signals ---- */

enum {
    YIELD_NS = 300 * 1000000, /* longer than a round waits for samples */
};

bool lifecycle_owns_signal(int sig)
{
    const capture *c = &the_capture;
    return sig && (sig == c->round || sig == c->event) && !capture_is_own() && capture_here();
}

bool lifecycle_is_handler(const struct sigaction *a)
{
    return (a->sa_flags & SA_SIGINFO) && a->sa_sigaction == handler_run && !capture_is_own();
}

/* Switches the signals in the calling thread, when there is no sampler. */
static void move_here(capture *c, int sig)
{
    uint64_t mask = hold_signals();
    pthread_mutex_lock(&c->lock);
    /* the interposed functions would hide the agent's signals from a thread of the program */
    own_borrow(true);
    atomic_store(&c->yield, (uint32_t)sig);
    signals_check(c);
    atomic_store(&c->yield, 0);
    own_borrow(false);
    pthread_mutex_unlock(&c->lock);
    release_signals(mask);
}

/* The actions of shared signals as sigaction reports them to the program.  The flags and the mask
 * of the agent's handler are in effect. */
static struct sigaction shadows[HANDLER_SIGNALS];

void lifecycle_share_signal(int sig, const struct sigaction *act, struct sigaction *old)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    uint64_t mask = hold_signals();
    pthread_mutex_lock(&lock);
    struct sigaction before = shadows[sig];
    if (act) {
        bool none = !(act->sa_flags & SA_SIGINFO) &&
                    (act->sa_handler == SIG_DFL || act->sa_handler == SIG_IGN);
        shadows[sig] = *act;
        atomic_store(&handler.shared[sig], none ? NULL : trampoline_of(act->sa_sigaction));
    }
    if (old) *old = before;
    pthread_mutex_unlock(&lock);
    release_signals(mask);
}

void lifecycle_yield_signal(int sig)
{
    capture *c = &the_capture;
    struct timespec until;
    if (c->o.sink) return move_here(c, sig);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += YIELD_NS;
    if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
    atomic_store(&c->yield, (uint32_t)sig);
    atomic_fetch_add(handler.wake, 1);
    syscall(SYS_futex, handler.wake, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    /* A sample may interrupt the wait; the deadline is absolute. */
    while (atomic_load(&c->yield) == (uint32_t)sig)
        if (syscall(SYS_futex, &c->yield, FUTEX_WAIT_BITSET_PRIVATE, sig, &until, NULL,
                    FUTEX_BITSET_MATCH_ANY) != 0 &&
            errno == ETIMEDOUT)
            break;
}

/* The system call of capture_here comes last: most sets do not contain the agent's signals. */
uint64_t lifecycle_owned_signals(const sigset_t *set)
{
    int sigs[] = {the_capture.round, the_capture.event};
    uint64_t ours = 0;
    for (size_t i = 0; set && i < ARRAY_LEN(sigs); i++)
        if (sigs[i] && sigismember(set, sigs[i]) == 1) ours |= UINT64_C(1) << (sigs[i] - 1);
    return ours && !capture_is_own() && capture_here() ? ours : 0;
}

void lifecycle_before_exit(void)
{
    if (!capture_here()) return;
    capture *c = &the_capture;
    if (c->o.leaving) c->o.leaving(c->o.ctx, false);
}

/* Stops only a capture with threads: others do not affect privileges and namespaces. */
void lifecycle_change_privilege(void)
{
    if (!the_capture.o.sink) lifecycle_stop();
}

void lifecycle_stop(void)
{
    static _Atomic bool retired;
    capture *c = &the_capture;
    if (!capture_here() || capture_is_own() || atomic_exchange(&retired, true)) return;
    if (c->o.warn)
        c->o.warn(c->o.ctx,
                  c->o.sink ? "the program installs a seccomp filter that may forbid system calls "
                              "of the profiler: profiling of this program stops"
                            : "the program is changing privileges, namespaces or seccomp filters; "
                              "profiling stops so that the agent's threads do not interfere");
    int cancel =
        disable_cancel(); /* waiting is a cancellation point, but the program's call is not */
    end_capture();
    pthread_setcancelstate(cancel, NULL);
}
