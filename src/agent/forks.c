/* Keeps the capture consistent over a fork.  The child has only the thread that forked: a lock that
 * another thread held stays locked there, and data that it was changing stays inconsistent.  The
 * fork therefore waits for a short time until the sampler holds neither registry_lock (registry and
 * the loader's locks) nor lock (batch).  If that takes too long, for example because the forking
 * thread holds the loader's lock for which the sampler waits, the fork continues, and the child
 * opens a new registry or abandons the old batch.  The fork does not wait for the table of threads
 * and the ring, because the child clears them and their locks.  libc repairs malloc's locks in the
 * child. */
#include "agent/forks.h"

#include "agent/internal.h"
#include "agent/lifecycle.h"
#include "agent/own.h"

#include <unistd.h>
#include "base/ban.h"

enum {
    CHILD_DELAY_NS = 20 * 1000000, /* pause in a new child, which often execs at once */
    FORK_WAIT_NS = 50 * 1000000,   /* maximum time that a fork waits for the sampler */
};

static bool hooked;
/* Which locks the fork in this thread holds; several threads may fork at once. */
static _Thread_local bool has_registry_lock, has_lock;

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
    has_registry_lock = has_lock = false;
    if (!capture_here()) return;
    has_registry_lock = lock_soon(&the_capture.registry_lock);
    has_lock = lock_soon(&the_capture.lock);
}

static void on_parent(void)
{
    if (has_lock) pthread_mutex_unlock(&the_capture.lock);
    if (has_registry_lock) pthread_mutex_unlock(&the_capture.registry_lock);
}

/* The child captures nothing until capture_forked starts again. */
static void on_child(void)
{
    capture *c = &the_capture;
    uint32_t pid = atomic_load(&handler.pid);
    if (!pid || pid == (uint32_t)getpid()) return;
    atomic_store(&handler.pid, 0);
    atomic_store(&c->ready, 0);
    atomic_store(&c->yield, 0);
    c->has_sampler = false;
    c->registry_lock = c->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    own_forked();
    cpu_forked();
    threads_forked();
    lifecycle_forked();
    capture_forget_ring();
    if (c->wall) wall_forked(c->wall);
    if (has_lock) batch_close(c->current);
    c->current = NULL;
    c->n = c->taken = (capture_counts){0};
    c->own_taken = 0;
    if (has_registry_lock)
        registry_forked(c->registry);
    else
        c->registry = NULL;
}

bool forks_open(err *e)
{
    if (!hooked && pthread_atfork(on_prepare, on_parent, on_child) != 0)
        return err_set(e, ERR_MEMORY, "not enough memory to register fork handlers");
    return hooked = true;
}

/* Arms a process without a sampler at once, which costs nothing in a child that execs. */
static bool begin_outside(capture *c, const capture_sink *sink)
{
    c->o.sink = sink;
    capture_use_sink(sink);
    thread_record *t = thread_self();
    if (t) lifecycle_adopt(t);
    atomic_store(&handler.pid, (uint32_t)getpid());
    capture_begin_outside(c);
    return true;
}

bool capture_forked(const capture_sink *sink, err *e)
{
    capture *c = &the_capture;
    on_child();
    if (capture_here()) return true;
    if (sink) return (c->registry || capture_open_registry(c, e)) && begin_outside(c, sink);
    if (!c->registry && !capture_open_registry(c, e)) return false;
    c->current = batch_open(c->o.max_batch, (uint32_t)getpid());
    if (!c->current) return err_set(e, ERR_MEMORY, "not enough memory for samples");
    c->current->start = capture_real_time();
    thread_record *t = thread_self();
    if (t) lifecycle_adopt(t);
    bool ok = capture_start(c, CHILD_DELAY_NS, e);
    if (ok) atomic_store(&handler.pid, (uint32_t)getpid());
    return ok;
}
