/* Runs a sender in a thread.  Only the inbox, the flags and the counters are shared, under one
 * lock. */
#include "otlp/exporter.h"

#include "base/ban.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#define GRACE_NS (500 * NS_PER_MS) /* time to spool or drop batches after the deadline */
#define IDLE_NS (30 * NS_PER_S)
#define REPEAT_NS (60 * NS_PER_S)
/* Stack size of the thread, independent of the host's default.  Name lookup and TLS need most of
 * it. */
enum { STACK = 1 << 20 };

struct exporter {
    exporter_opts o;
    const world *world;
    loop *loop;           /* used by the thread; others call loop_wake */
    sender *sender;       /* used by the thread */
    spool *_Atomic spool; /* owned by the sender; exporter_forked uses it */
    otlp_counters counters;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* waits by CLOCK_MONOTONIC */

    /* under the lock */
    otlp_batch *in, **in_last;
    size_t held;                     /* bytes of batches submitted and not settled */
    bool idle, closing, ended, left; /* left: exporter_close gave up waiting */
    uint64_t deadline;
    uint64_t full_logged,
        full_logged_at; /* used by the thread: dropped items already logged, and when */
};

static void lock(exporter *x) { pthread_mutex_lock(&x->lock); }
static void unlock(exporter *x) { pthread_mutex_unlock(&x->lock); }

static void destroy(exporter *x)
{
    for (otlp_batch *b; (b = x->in);) {
        x->in = b->next;
        otlp_batch_free(b);
    }
    pthread_cond_destroy(&x->changed);
    pthread_mutex_destroy(&x->lock);
    free(x);
}

/* ---- in the thread ---- */

static void on_settled(void *ctx, const settled *s)
{
    exporter *x = ctx;
    if (x->o.sender.settled) x->o.sender.settled(x->o.sender.ctx, s);
    lock(x);
    x->held -= s->held;
    unlock(x);
}

static void on_log(void *ctx, const char *message)
{
    exporter *x = ctx;
    if (x->o.sender.say) x->o.sender.say(x->o.sender.ctx, message);
}

/* Logs items dropped because the queue was full: at once, then once a minute and at the end, with
 * the count since the last line. */
static void log_full(exporter *x, bool now)
{
    char line[128];
    uint64_t full = atomic_load_explicit(&x->counters.items_queue_full, memory_order_relaxed);
    uint64_t at = world_now(x->world);
    if (full == x->full_logged) return;
    if (!now && x->full_logged && at - x->full_logged_at < REPEAT_NS) return;
    snprintf(line, sizeof line, "%s: the queue is full: %llu items were dropped",
             otlp_signal_name(x->o.sender.config->signal),
             (unsigned long long)(full - x->full_logged));
    x->full_logged = full;
    x->full_logged_at = at;
    on_log(x, line);
}

/* Moves submitted batches to the sender and logs dropped ones.  With a spool, writes batches to
 * disk when memory is half full, so that new ones still fit. */
static void take_in(exporter *x)
{
    lock(x);
    otlp_batch *b = x->in;
    x->in = NULL;
    x->in_last = &x->in;
    bool spill = x->held > x->o.spill_at;
    unlock(x);
    for (otlp_batch *next; b; b = next) {
        next = b->next;
        sender_add(x->sender, b);
    }
    if (spill) sender_spill(x->sender);
    log_full(x, false);
}

static void on_wake(void *ctx) { take_in(ctx); }

/* Returns false when the thread must end. */
static bool check_state(exporter *x, uint64_t *wait)
{
    bool idle = sender_idle(x->sender);
    lock(x);
    idle = idle && !x->in;
    if (idle != x->idle) x->idle = idle, pthread_cond_broadcast(&x->changed);
    bool closing = x->closing;
    uint64_t deadline = x->deadline, now = world_now(x->world);
    unlock(x);
    *wait = IDLE_NS;
    if (!closing) return true;
    sender_drain(x->sender, deadline);
    *wait = deadline > now ? deadline - now : 0;
    return !sender_idle(x->sender) && now < deadline;
}

static void *run(void *ctx)
{
    exporter *x = ctx;
    if (x->o.thread) x->o.thread(x->o.sender.ctx);
    for (uint64_t wait; take_in(x), check_state(x, &wait);) loop_once(x->loop, wait);
    atomic_store(&x->spool, NULL);
    sender_close(x->sender);
    log_full(x, true);
    lock(x);
    x->ended = x->idle = true;
    bool left = x->left;
    pthread_cond_broadcast(&x->changed);
    unlock(x);
    if (left) {
        loop_close(x->loop);
        destroy(x);
    }
    return NULL;
}

/* ---- open and close ---- */

static bool start_thread(exporter *x, err *e)
{
    pthread_t t;
    pthread_attr_t attr;
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    pthread_attr_setdetachstate(
        &attr, PTHREAD_CREATE_DETACHED); /* `ended` replaces pthread_join, with a timeout */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = pthread_create(&t, &attr, run, x);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return r == 0 || err_sys(e, r, "cannot start the exporter's thread");
}

static bool start(exporter *x, err *e)
{
    const exporter_opts *o = &x->o;
    sender_opts s = o->sender;
    if (o->spool_dir && !(s.spool = spool_open(o->spool_dir, s.config->signal, o->spool_max, e)))
        return false;
    s.counters = &x->counters;
    s.settled = on_settled, s.say = on_log, s.ctx = x;
    x->loop = loop_open(x->world, on_wake, x, e);
    if (!x->loop) return spool_close(s.spool), false;
    x->sender = sender_open(x->loop, &s, e);
    if (!x->sender) return false;
    atomic_store(&x->spool, s.spool);
    return start_thread(x, e);
}

exporter *exporter_open(const exporter_opts *o, err *e)
{
    exporter *x = calloc(1, sizeof *x);
    if (!x) return err_memory(e), NULL;
    x->o = *o;
    x->world = o->world ? o->world : world_system();
    if (!x->o.max_queue) x->o.max_queue = EXPORTER_MAX_QUEUE;
    if (!x->o.spill_at) x->o.spill_at = x->o.max_queue / 2;
    x->in_last = &x->in;
    pthread_mutex_init(&x->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&x->changed, &attr);
    pthread_condattr_destroy(&attr);
    if (start(x, e)) return x;
    sender_close(x->sender);
    loop_close(x->loop);
    destroy(x);
    return NULL;
}

bool exporter_submit(exporter *x, buf *bytes, size_t items, uint64_t cookie)
{
    otlp_batch *b = calloc(1, sizeof *b);
    bool ok = b != NULL;
    if (ok)
        *b = (otlp_batch){
            .bytes = *bytes, .items = items, .cookie = cookie, .held = bytes->cap + bytes->head};
    lock(x);
    ok = ok && !x->closing && b->held <= x->o.max_queue - x->held;
    if (ok) {
        *x->in_last = b;
        x->in_last = &b->next;
        x->held += b->held;
        x->idle = false;
    }
    unlock(x);
    if (!ok) free(b); /* the caller keeps the bytes */
    otlp_count(ok ? &x->counters.items_submitted : &x->counters.items_queue_full, items);
    if (ok) otlp_count(&x->counters.batches_submitted, 1), *bytes = (buf){0};
    loop_wake(x->loop);
    return ok;
}

/* Waits with the lock held until *flag is set or the time is over. */
static bool wait_for(exporter *x, const bool *flag, uint64_t timeout_ns)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    uint64_t at = (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
    if (ckd_add(&at, at, timeout_ns)) at = INT64_MAX;
    t = (struct timespec){(time_t)(at / NS_PER_S), (long)(at % NS_PER_S)};
    while (!*flag)
        if (pthread_cond_timedwait(&x->changed, &x->lock, &t) == ETIMEDOUT) break;
    return *flag;
}

bool exporter_flush(exporter *x, uint64_t timeout_ns)
{
    lock(x);
    bool ok = wait_for(x, &x->idle, timeout_ns);
    unlock(x);
    return ok;
}

otlp_counts exporter_counts(const exporter *x) { return otlp_counts_of(&x->counters); }

bool exporter_close(exporter *x, uint64_t timeout_ns, otlp_counts *counts)
{
    if (!x) return true;
    lock(x);
    x->closing = true;
    if (ckd_add(&x->deadline, world_now(x->world), timeout_ns)) x->deadline = UINT64_MAX;
    loop_wake(x->loop);
    bool ended = wait_for(x, &x->ended, timeout_ns + GRACE_NS);
    x->left = !ended;
    if (counts) *counts = otlp_counts_of(&x->counters);
    if (counts && !ended && !x->o.spool_dir) counts->items_unsent += otlp_items_open(counts);
    unlock(x);
    if (!ended) return false; /* the thread is stuck; it frees everything when it ends */
    loop_close(x->loop);
    destroy(x);
    return true;
}

void exporter_forked(exporter *x)
{
    if (!x) return;
    spool *s = atomic_load(&x->spool);
    if (s) spool_forked(s);
    loop_forked(x->loop);
}
