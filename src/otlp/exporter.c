#include "otlp/exporter.h"

#include "base/ban.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#define GRACE_NS (500 * NS_PER_MS) /* for putting things away after the deadline */
#define IDLE_NS (30 * NS_PER_S)
#define SAY_AGAIN_NS (60 * NS_PER_S)
/* Of the thread: ours to say, a program may have made its threads' as small as it likes.  Name lookup and TLS
 * want the most. */
enum { STACK = 1 << 20 };

struct exporter {
    exporter_opts o;
    const world *world;
    loop *loop;           /* the thread's; loop_wake is anybody's */
    sender *sender;       /* the thread's */
    spool *_Atomic spool; /* the sender's, while it has it: for exporter_forked */
    otlp_counters counters;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* on CLOCK_MONOTONIC */

    /* under the lock */
    otlp_batch *in, **in_last;
    size_t held;                     /* bytes handed in and not settled */
    bool idle, closing, ended, left; /* left: nobody waits for the thread any more */
    uint64_t deadline;
    uint64_t full_said, full_said_at; /* the thread's: items turned away that were told, and when */
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

static void on_settled(void *who, const settled *s)
{
    exporter *x = who;
    if (x->o.sender.settled) x->o.sender.settled(x->o.sender.who, s);
    lock(x);
    x->held -= s->held;
    unlock(x);
}

static void on_say(void *who, const char *sentence)
{
    exporter *x = who;
    if (x->o.sender.say) x->o.sender.say(x->o.sender.who, sentence);
}

/* At once, then once a minute and at the end with the number since. */
static void say_full(exporter *x, bool now)
{
    char line[128];
    uint64_t full = atomic_load_explicit(&x->counters.items_queue_full, memory_order_relaxed);
    uint64_t at = world_now(x->world);
    if (full == x->full_said) return;
    if (!now && x->full_said && at - x->full_said_at < SAY_AGAIN_NS) return;
    snprintf(line, sizeof line, "%s: the queue is full: %llu items were dropped",
             otlp_signal_name(x->o.sender.config->signal),
             (unsigned long long)(full - x->full_said));
    x->full_said = full;
    x->full_said_at = at;
    on_say(x, line);
}

/* Moves what was handed in to the sender; says when something was turned away.  With a spool memory is not filled beyond the half:
 * what the receiver is too slow for goes onto disk, while there is room for what comes next. */
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
    say_full(x, false);
}

static void on_knock(void *who) { take_in(who); }

/* false: the end. */
static bool look_round(exporter *x, uint64_t *wait)
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

static void *run(void *who)
{
    exporter *x = who;
    if (x->o.thread) x->o.thread(x->o.sender.who);
    for (uint64_t wait; take_in(x), look_round(x, &wait);) loop_once(x->loop, wait);
    atomic_store(&x->spool, NULL);
    sender_close(x->sender);
    say_full(x, true);
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

/* ---- life ---- */

static bool start_thread(exporter *x, err *e)
{
    pthread_t t;
    pthread_attr_t attr;
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    pthread_attr_setdetachstate(&attr,
                                PTHREAD_CREATE_DETACHED); /* `ended` tells, in bounded time */
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
    s.settled = on_settled, s.say = on_say, s.who = x;
    x->loop = loop_open(x->world, on_knock, x, e);
    if (!x->loop) return spool_close(s.spool), false;
    x->sender = sender_open(x->loop, &s, e);
    if (!x->sender) return false;
    atomic_store(&x->spool, s.spool);
    return start_thread(x, e);
}

exporter *exporter_open(const exporter_opts *o, err *e)
{
    exporter *x = calloc(1, sizeof *x);
    if (!x) return err_set(e, ERR_LIMIT, "out of memory"), NULL;
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
    if (!ok) free(b); /* the bytes stay the caller's */
    otlp_count(ok ? &x->counters.items_submitted : &x->counters.items_queue_full, items);
    if (ok) otlp_count(&x->counters.batches_submitted, 1), *bytes = (buf){0};
    loop_wake(x->loop);
    return ok;
}

/* Waits for a flag under the lock until a time of CLOCK_MONOTONIC. */
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
    if (!ended) return false; /* its thread did not get to it: nobody will ask again */
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
