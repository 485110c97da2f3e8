#include "agent/life.h"

#include "agent/internal.h"
#include "agent/own.h"
#include "agent/signo.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/ban.h"

enum { RETIRE_MS = 1000 }; /* that the agent's threads have to end */

static pthread_key_t at_end; /* its value is the thread's record */
static bool has_key;

/* ---- births and ends ---- */

/* Threads of the program that libc knows, as far as we were told. */
static _Atomic int32_t people;

thread_record *life_expect(void *(*run)(void *), void *arg)
{
    if (!capture_here()) return NULL;
    const thread_record *parent = thread_self();
    bool own = own_births_on() || (parent && parent->own);
    thread_record *t = thread_prepare(run, arg, own);
    if (t && !own) atomic_fetch_add(&people, 1);
    return t;
}

void life_cancel(thread_record *t)
{
    if (!t->own) atomic_fetch_sub(&people, 1);
    thread_cancel(t);
}

void life_forked(void) { atomic_store(&people, 1); }

static void finish(thread_record *t)
{
    cpu_disarm(t);
    if (t->own) own_end(t->face.tid);
    if (!t->described && atomic_load(&t->face.sampled)) {
        int dir = task_open();
        if (dir >= 0) thread_describe(t, dir);
        if (dir >= 0) close(dir);
    }
    thread_finish(t);
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

/* The program has forbidden itself some calls, maybe ours, on pain of death: the sampler makes them then. */
static bool is_filtered(void) { return prctl(PR_GET_SECCOMP) != 0; }

/* Runs when the thread returns, in pthread_exit, and when it is cancelled.  The record is the thread's own
 * unless the process forked meanwhile: then it was replaced, and the value with it. */
static void on_end(void *record)
{
    thread_record *t = record;
    if (!capture_here()) return;
    int cancel = not_cancelled();
    bool own = t->own;
    if (!is_filtered()) finish(t);
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
    t = thread_begin(t);
    life_adopt(t);
    if (atomic_load(&the_capture.ready) && cpu_planned()->period && !is_filtered())
        cpu_arm(t, true);
    pthread_setcancelstate(cancel, NULL);
    return s;
}

/* The call is the last thing here, so that it becomes a jump: stacks begin with the program's function. */
void *life_run(void *record)
{
    start s = begin(record);
    return s.run(s.arg);
}

/* ---- departures ---- */

/* The lock of the record is held wherever a signal is sent, so none is sent from here on; one that is
 * pending is delivered before the calls return, or, if blocked, taken away. */
void life_go(bool will)
{
    if (!capture_here()) return;
    capture *c = &the_capture;
    if (will && c->o.leaving) c->o.leaving(c->o.who, true);
    thread_record *t = thread_add((uint32_t)gettid(), false);
    if (!t) return;
    pthread_mutex_lock(&t->lock);
    t->quiet = true;
    pthread_mutex_unlock(&t->lock);
    cpu_disarm(t);
    signo_drain(c->round, c->event);
}

/* No lock: a signal handler may call _exit. */
void capture_hush(void)
{
    thread_record *t = capture_here() ? thread_self() : NULL;
    if (t) atomic_store(&t->hushed, true);
}

void life_stay(void)
{
    if (!capture_here()) return;
    thread_record *t = thread_find((uint32_t)gettid());
    if (!t) return;
    pthread_mutex_lock(&t->lock);
    t->quiet = false;
    atomic_store(&t->hushed, false);
    pthread_mutex_unlock(&t->lock);
    cpu_arm(t, false);
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

void life_yield(int sig)
{
    capture *c = &the_capture;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += YIELD_NS;
    if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
    atomic_store(&c->yield, (uint32_t)sig);
    atomic_fetch_add(&handler.wake, 1);
    syscall(SYS_futex, &handler.wake, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
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

void life_retire(void)
{
    static _Atomic bool retired;
    capture *c = &the_capture;
    if (!capture_here() || capture_is_own() || atomic_exchange(&retired, true)) return;
    if (c->o.say)
        c->o.say(c->o.who,
                 "the program changes privileges or namespaces or forbids system calls, which our "
                 "threads would be in the way of: the profile ends here");
    end_capture();
}
