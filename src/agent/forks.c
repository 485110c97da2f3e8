#include "agent/forks.h"

#include "agent/internal.h"
#include "agent/life.h"
#include "agent/own.h"

#include <unistd.h>
#include "base/ban.h"

/* The child has the thread that forked and nobody else.  Whatever lock another thread held there stays
 * locked for ever, and what it was changing stays half changed.  So: the fork waits, for a moment, until
 * the sampler holds neither the gate (registry, and with it the loader's locks) nor the lock (batch).  If
 * it does not come out in time, e.g. because the forking thread itself holds the loader's lock that the
 * sampler waits for, the fork goes ahead, and the child takes a new registry or leaves the old batch
 * alone.  The table of threads and the ring are not waited for: the child empties them and their locks.
 * malloc's locks are libc's own business; it makes them good in the child. */

enum {
    CHILD_DELAY_NS = 20 * 1000000, /* a child that is about to exec shall find little done */
    FORK_WAIT_NS = 50 * 1000000,   /* that a fork waits for the sampler to be between two things */
};

static bool hooked;
/* This fork has them; several threads may fork at once. */
static _Thread_local bool has_gate, has_lock;

static bool lock_soon(pthread_mutex_t *m)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += FORK_WAIT_NS;
    if (t.tv_nsec >= 1000000000) t.tv_nsec -= 1000000000, t.tv_sec++;
    return pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &t) == 0;
}

static void on_prepare(void)
{
    has_gate = has_lock = false;
    if (!capture_here()) return;
    has_gate = lock_soon(&the_capture.gate);
    has_lock = lock_soon(&the_capture.lock);
}

static void on_parent(void)
{
    if (has_lock) pthread_mutex_unlock(&the_capture.lock);
    if (has_gate) pthread_mutex_unlock(&the_capture.gate);
}

/* Until capture_forked starts again nothing of ours happens in the child. */
static void on_child(void)
{
    capture *c = &the_capture;
    uint32_t pid = atomic_load(&handler.pid);
    if (!pid || pid == (uint32_t)getpid()) return;
    atomic_store(&handler.pid, 0);
    atomic_store(&c->ready, 0);
    atomic_store(&c->yield, 0);
    c->has_sampler = false;
    c->gate = c->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    own_forked();
    cpu_forked();
    threads_forked();
    life_forked();
    capture_forget_ring();
    if (c->wall) wall_forked(c->wall);
    if (has_lock) batch_close(c->current);
    c->current = NULL;
    c->n = c->taken = (capture_counts){0};
    c->own_taken = 0;
    if (has_gate)
        registry_forked(c->registry);
    else
        c->registry = NULL;
}

bool forks_open(err *e)
{
    if (!hooked && pthread_atfork(on_prepare, on_parent, on_child) != 0)
        return err_set(e, ERR_LIMIT, "no memory to be told of forks");
    return hooked = true;
}

/* A process without a sampler is armed at once: there is nothing that a child that is about to exec would pay for. */
static bool begin_outside(capture *c, const capture_outlet *outlet)
{
    c->o.outlet = outlet;
    capture_use_outlet(outlet);
    thread_record *t = thread_self();
    if (t) life_adopt(t);
    atomic_store(&handler.pid, (uint32_t)getpid());
    capture_begin_outside(c);
    return true;
}

bool capture_forked(const capture_outlet *outlet, err *e)
{
    capture *c = &the_capture;
    on_child();
    if (capture_here()) return true;
    if (outlet) return (c->registry || capture_open_registry(c, e)) && begin_outside(c, outlet);
    if (!c->registry && !capture_open_registry(c, e)) return false;
    c->current = batch_open(c->o.max_batch, (uint32_t)getpid());
    if (!c->current) return err_set(e, ERR_LIMIT, "no memory for samples");
    c->current->start = capture_real_time();
    thread_record *t = thread_self();
    if (t) life_adopt(t);
    bool ok = capture_start(c, CHILD_DELAY_NS, e);
    if (ok) atomic_store(&handler.pid, (uint32_t)getpid());
    return ok;
}
