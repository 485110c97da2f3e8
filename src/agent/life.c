#include "agent/life.h"

#include "agent/filters.h"
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

enum { RETIRE_MS = 1000 }; /* that the agent's threads have to end */

static pthread_key_t at_end; /* its value is the thread's record */
static bool has_key;

/* ---- locks in threads of the program's ---- */

/* A handler of the program's may come at any instruction and call exec, _exit or sigaction, which take our locks
 * or wait for a thread that does: it stays outside while the calling thread has one.  Our own signals take none,
 * libc's (32 and 33) are waited for by others. */
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

/* ---- births and ends ---- */

/* Threads of the program that libc knows, as far as we were told. */
static _Atomic int32_t people;

thread_record *life_expect(void *(*run)(void *), void *arg)
{
    if (!capture_here()) return NULL;
    const thread_record *parent = thread_self();
    bool own = own_births_on() || (parent && parent->own);
    uint64_t mask = hold_signals();
    thread_record *t = thread_prepare(run, arg, own);
    release_signals(mask);
    if (t && !own) atomic_fetch_add(&people, 1);
    return t;
}

void life_cancel(thread_record *t)
{
    if (!t->own) atomic_fetch_sub(&people, 1);
    uint64_t mask = hold_signals();
    thread_cancel(t);
    release_signals(mask);
}

void life_forked(void) { atomic_store(&people, 1); }

static void finish(thread_record *t)
{
    const capture *c = &the_capture;
    uint64_t mask = hold_signals();
    cpu_disarm(t);
    if (c->o.ended && !t->own) c->o.ended(c->o.who, &t->face);
    if (t->own) own_end(t->face.tid);
    if (!t->described && atomic_load(&t->face.sampled)) thread_name_self(t);
    thread_finish(t);
    release_signals(mask);
}

/* close and fcntl are points of cancellation: a lock of ours would stay locked. */
static int not_cancelled(void)
{
    int before = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static void end_capture(void)
{
    capture *c = &the_capture;
    if (c->o.leaving) c->o.leaving(c->o.who, false);
    capture_close();
    for (int ms = 0; own_any() && ms < RETIRE_MS; ms++) usleep(1000);
    atomic_store(&handler.pid, 0);
}

/* Runs when the thread returns, in pthread_exit, and when it is cancelled.  The record is the thread's own
 * unless the process forked meanwhile: then it was replaced, and the value with it. */
static void on_end(void *record)
{
    thread_record *t = record;
    if (!capture_here()) return;
    int cancel = not_cancelled();
    bool own = t->own;
    if (!filters_here())
        finish(t); /* otherwise the sampler does, which may make the calls that it takes */
    /* libc ends the process with its last thread: ours must not be that. */
    if (!own && atomic_fetch_sub(&people, 1) == 1) end_capture();
    pthread_setcancelstate(cancel, NULL);
}

bool life_open(err *e)
{
    if (!has_key && pthread_key_create(&at_end, on_end) != 0)
        return err_set(e, ERR_LIMIT, "the program has used up all keys of thread-specific data");
    atomic_store(&people, 1); /* who opens the capture */
    return has_key = true;
}

void life_adopt(thread_record *t) { pthread_setspecific(at_end, t); }

typedef struct start {
    void *(*run)(void *);
    void *arg;
} start;

static NOINLINE start begin(thread_record *t)
{
    start s = {t->run, t->arg};
    int cancel = not_cancelled();
    uint64_t mask = hold_signals();
    t = thread_begin(t);
    life_adopt(t);
    if (atomic_load(&the_capture.ready) && cpu_planned()->period && !filters_here())
        cpu_arm(t, true);
    release_signals(mask);
    pthread_setcancelstate(cancel, NULL);
    return s;
}

/* The call is the last thing in both, so that it becomes a jump: stacks begin with the program's function. */
void *life_run(void *record)
{
    start s = begin(record);
    return s.run(s.arg);
}

int life_run_c11(void *record)
{
    start s = begin(record);
    int (*run)(void *);
    memcpy(&run, &s.run, sizeof run); /* life_expect got it so */
    return run(s.arg);
}

/* ---- departures ---- */

static void be_quiet(thread_record *t)
{
    pthread_mutex_lock(&t->lock);
    t->quiet = true;
    pthread_mutex_unlock(&t->lock);
    cpu_disarm(t);
}

/* The lock of the record is held wherever a signal is sent, so none is sent from here on; one that is
 * pending is delivered before the calls return, or, if blocked, taken away. */
void life_go(bool will)
{
    if (!capture_here()) return;
    capture *c = &the_capture;
    if (will && c->o.leaving) c->o.leaving(c->o.who, true);
    uint64_t mask = hold_signals();
    thread_record *t = thread_add((uint32_t)gettid(), false);
    if (t) be_quiet(t);
    release_signals(mask);
    if (t) signo_drain(c->round, c->event);
}

void life_go_to(const char *path)
{
    if (capture_here()) life_go(faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0);
}

/* No lock: a signal handler may call _exit. */
void capture_hush(void)
{
    thread_record *t = capture_here() ? thread_self() : NULL;
    if (t) atomic_store(&t->hushed, true);
}

static void be_heard(thread_record *t)
{
    pthread_mutex_lock(&t->lock);
    t->quiet = false;
    atomic_store(&t->hushed, false);
    pthread_mutex_unlock(&t->lock);
    cpu_arm(t, false);
}

void life_stay(void)
{
    const capture *c = &the_capture;
    if (!capture_here()) return;
    if (c->o.staying) c->o.staying(c->o.who);
    uint64_t mask = hold_signals();
    thread_record *t = thread_find((uint32_t)gettid());
    if (t) be_heard(t);
    release_signals(mask);
}

/* ---- signals ---- */

enum {
    YIELD_NS = 300 * 1000000, /* longer than a round waits for answers */
};

bool life_signal_ours(int sig)
{
    const capture *c = &the_capture;
    return sig && (sig == c->round || sig == c->event) && !capture_is_own() && capture_here();
}

bool life_handler(const struct sigaction *a)
{
    return (a->sa_flags & SA_SIGINFO) && a->sa_sigaction == handler_run && !capture_is_own();
}

/* Without a sampler the calling thread moves the capture itself. */
static void move_here(capture *c, int sig)
{
    uint64_t mask = hold_signals();
    pthread_mutex_lock(&c->lock);
    own_borrow(true); /* signals are asked about as the agent, or the interposers would hide ours */
    atomic_store(&c->yield, (uint32_t)sig);
    signals_check(c);
    atomic_store(&c->yield, 0);
    own_borrow(false);
    pthread_mutex_unlock(&c->lock);
    release_signals(mask);
}

/* What the program finds when it asks.  Its flags and its mask are not in force: ours are. */
static struct sigaction shadows[HANDLER_SIGNALS];

void life_share(int sig, const struct sigaction *act, struct sigaction *old)
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

void life_yield(int sig)
{
    capture *c = &the_capture;
    struct timespec until;
    if (c->o.outlet) return move_here(c, sig);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += YIELD_NS;
    if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
    atomic_store(&c->yield, (uint32_t)sig);
    atomic_fetch_add(handler.wake, 1);
    syscall(SYS_futex, handler.wake, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    /* A sample ends the wait early: until a point in time, then, as often as it takes. */
    while (atomic_load(&c->yield) == (uint32_t)sig)
        if (syscall(SYS_futex, &c->yield, FUTEX_WAIT_BITSET_PRIVATE, sig, &until, NULL,
                    FUTEX_BITSET_MATCH_ANY) != 0 &&
            errno == ETIMEDOUT)
            break;
}

/* Masks are set often, and mostly without ours: the system call comes last. */
uint64_t life_ours(const sigset_t *set)
{
    int sigs[] = {the_capture.round, the_capture.event};
    uint64_t ours = 0;
    for (size_t i = 0; set && i < ARRAY_LEN(sigs); i++)
        if (sigs[i] && sigismember(set, sigs[i]) == 1) ours |= UINT64_C(1) << (sigs[i] - 1);
    return ours && !capture_is_own() && capture_here() ? ours : 0;
}

void life_leave(void)
{
    if (!capture_here()) return;
    capture *c = &the_capture;
    if (c->o.leaving) c->o.leaving(c->o.who, false);
}

/* Privileges, namespaces: they are in the way of the agent's threads alone. */
void life_change_privilege(void)
{
    if (!the_capture.o.outlet) life_retire();
}

void life_retire(void)
{
    static _Atomic bool retired;
    capture *c = &the_capture;
    if (!capture_here() || capture_is_own() || atomic_exchange(&retired, true)) return;
    if (c->o.say)
        c->o.say(c->o.who,
                 c->o.outlet
                     ? "the program forbids system calls that the profiler needs "
                       "(seccomp): its profile ends there"
                     : "the program changes privileges or namespaces or forbids system "
                       "calls, which our threads would be in the way of: the profile ends here");
    int cancel =
        not_cancelled(); /* waiting is a point of cancellation, the program's call is none */
    end_capture();
    pthread_setcancelstate(cancel, NULL);
}
