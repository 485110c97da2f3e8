/* Opens, starts, checks and closes perf events.  The functions run either in the calling thread or,
 * when the caller has a descriptor table of its own, in the thread kiln-events, which serves one
 * call at a time. */
#include "agent/events.h"

#include "agent/capture.h"
#include "agent/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/ban.h"

/* ---- in the descriptor table of the calling thread ---- */

/* remove_on_exec removes the event at exec even if a child holds a copy of the descriptor; kernels
 * before 5.13 do not support it. */
static int open_here(const event_opts *o)
{
    struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE,
                                .size = sizeof a,
                                .config = PERF_COUNT_SW_TASK_CLOCK,
                                .sample_period = o->period,
                                .wakeup_events = 1,
                                .disabled = 1,
                                .exclude_kernel = o->user_only,
                                .exclude_hv = 1,
                                .remove_on_exec = 1};
    int fd = (int)syscall(SYS_perf_event_open, &a, o->tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    a.remove_on_exec = 0;
    if (fd < 0 && errno == EINVAL)
        fd = (int)syscall(SYS_perf_event_open, &a, o->tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0) return -1;
    int up = fcntl(fd, F_DUPFD_CLOEXEC, o->from);
    close(fd);
    if (up < 0 || (uint32_t)up < o->end) return up;
    close(up);
    return -1;
}

static bool start_here(int fd, const event_opts *o)
{
    struct f_owner_ex owner = {F_OWNER_TID, (pid_t)o->tid};
    bool ok = fcntl(fd, F_SETOWN_EX, &owner) == 0 && fcntl(fd, F_SETSIG, o->sig) == 0 &&
              fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) == 0 &&
              ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) == 0;
    if (!ok) close(fd);
    return ok;
}

static bool is_ours_here(int fd, int sig, uint32_t tid)
{
    struct f_owner_ex owner;
    return fcntl(fd, F_GETSIG) == sig && fcntl(fd, F_GETOWN_EX, &owner) == 0 &&
           owner.type == F_OWNER_TID && (!owner.pid || !tid || (uint32_t)owner.pid == tid);
}

static void close_here(int fd, int sig, uint32_t tid)
{
    if (!is_ours_here(fd, sig, tid)) return;
    /* The event would stay active while a child has not closed its copy. */
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    close(fd);
}

/* ---- kiln-events: one call at a time ---- */

typedef enum event_call { CALL_OPEN, CALL_START, CALL_IS_OURS, CALL_CLOSE, CALL_END } event_call;

enum { NOT_RUNNING, IDLE, REQUESTED, DONE, STACK = 64 << 10 };

static struct helper {
    pthread_t thread;
    _Atomic uint32_t state;
    event_call call;
    event_opts o;
    int fd, result;
} helper;

static void change(uint32_t to)
{
    atomic_store(&helper.state, to);
    syscall(SYS_futex, &helper.state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void wait_for(uint32_t state)
{
    for (uint32_t now; (now = atomic_load(&helper.state)) != state;)
        syscall(SYS_futex, &helper.state, FUTEX_WAIT_PRIVATE, now, NULL, NULL, 0);
}

static int carry_out(event_call call, int fd, const event_opts *o)
{
    switch (call) {
    case CALL_OPEN: return open_here(o);
    case CALL_START: return start_here(fd, o);
    case CALL_IS_OURS: return is_ours_here(fd, o->sig, o->tid);
    case CALL_CLOSE: close_here(fd, o->sig, o->tid); break;
    case CALL_END: break;
    }
    return 0;
}

static void *run_helper(void *arg)
{
    (void)arg;
    capture_own_thread("kiln-events");
    for (event_call call = CALL_OPEN; call != CALL_END;) {
        wait_for(REQUESTED);
        call = helper.call;
        helper.result = carry_out(call, helper.fd, &helper.o);
        change(DONE);
    }
    return NULL;
}

/* Passes a call to kiln-events and waits for the result.  Used by the sampler only. */
static int request(event_call call, int fd, const event_opts *o)
{
    helper.call = call;
    helper.fd = fd;
    helper.o = *o;
    change(REQUESTED);
    wait_for(DONE);
    atomic_store(&helper.state, IDLE);
    return helper.result;
}

/* Returns `failed` if kiln-events does not run, because in the agent's own table the descriptor has
 * another meaning. */
static int call_for(event_call call, int fd, const event_opts *o, int failed)
{
    if (!descriptors_mine()) return carry_out(call, fd, o);
    return atomic_load(&helper.state) == NOT_RUNNING ? failed : request(call, fd, o);
}

void events_begin(void)
{
    pthread_attr_t a;
    pthread_attr_init(&a);
    pthread_attr_setstacksize(&a, STACK);
    capture_own_new_threads(true);
    if (pthread_create(&helper.thread, &a, run_helper, NULL) == 0)
        atomic_store(&helper.state, IDLE);
    capture_own_new_threads(false);
    pthread_attr_destroy(&a);
}

void events_end(void)
{
    if (atomic_load(&helper.state) == NOT_RUNNING) return;
    request(CALL_END, -1, &(event_opts){0});
    pthread_join(helper.thread, NULL);
    atomic_store(&helper.state, NOT_RUNNING);
}

void events_forked(void) { atomic_store(&helper.state, NOT_RUNNING); }

/* ---- interface ---- */

int event_open(const event_opts *o) { return call_for(CALL_OPEN, -1, o, -1); }

bool event_start(int fd, const event_opts *o) { return call_for(CALL_START, fd, o, false); }

bool event_is_ours(int fd, int sig, uint32_t tid)
{
    return call_for(CALL_IS_OURS, fd, &(event_opts){.sig = sig, .tid = tid}, false);
}

void event_close(int fd, int sig, uint32_t tid)
{
    call_for(CALL_CLOSE, fd, &(event_opts){.sig = sig, .tid = tid}, 0);
}
