/* Moves samples from the ring to the batch, and accounts for CPU time that no sample represents
 * because the thread blocks the signal. */
#include "agent/internal.h"

#include "agent/exclude.h"

#include <unistd.h>
#include "base/ban.h"

/* Returns the CPU time that a sample represents.  After a blocked signal, one sample represents the
 * whole blocked time, of which check_thread has already added a part. */
static int64_t value_of(const raw_sample *raw, thread_record *t)
{
    uint64_t value = raw->weight * t->period, accounted = value > t->period ? value - t->period : 0;
    if (accounted > t->unsampled_ns) accounted = t->unsampled_ns;
    t->unsampled_ns = 0;
    t->drained++;
    return (int64_t)(value - accounted);
}

static bool put_sample(const raw_sample *raw, thread_record *t, batch *b)
{
    agent_sample out = {
        .time = raw->time, .value = value_of(raw, t), .kind = SAMPLE_CPU, .state = 'R'};
    if (!batch_stack(b, raw->pcs, raw->n, raw->end, true, &out.stack) ||
        !batch_thread(b, &t->about, &out.thread) || !batch_context(raw, b, &out))
        return false;
    agent_sample *added = vec_push(&b->mem, &b->samples);
    if (added) *added = out;
    return added != NULL;
}

/* Reads the name once per batch, because threads rename themselves. */
static void describe(capture *c, thread_record *t, int *dir)
{
    if (t->in_batch == c->batch_number) return;
    t->in_batch = c->batch_number;
    if (t->state == THREAD_LIVE) {
        if (*dir < 0) *dir = task_open();
        if (*dir < 0 || !thread_describe(t, *dir)) return;
    }
    /* an ended thread has stored its own name */
    t->left_out = name_excluded(t->about.name, c->o.exclude);
    if (t->left_out) cpu_disarm(t);
}

static void drain_one(capture *c, const raw_sample *raw, int *dir)
{
    thread_record *t = thread_at(raw->thread);
    describe(c, t, dir);
    if (t->own || t->left_out) return;
    c->n.guessed += raw->guesses;
    c->n.truncated += raw->end == UNWIND_CAPPED;
    c->n.broken += raw->end > UNWIND_CAPPED;
    if (!batch_full(c->current) && put_sample(raw, t, c->current))
        c->n.cpu_samples++;
    else
        c->n.batch_full++;
}

void drain_ring(capture *c)
{
    int dir = -1;
    if (!c->current) return;
    threads_retire();
    uint64_t end = atomic_load(&handler.ring.ends->tail);
    for (ring_cell *cell; (cell = ring_peek(&handler.ring)); ring_release(&handler.ring, cell))
        drain_one(c, (const raw_sample *)(const void *)cell->bytes, &dir);
    if (atomic_load(&handler.ring.ends->head) >= end) threads_reap();
    if (dir >= 0) close(dir);
}

/* ---- threads that block the signal ---- */

/* Adds CPU time without a stack. */
static bool put_unsampled(batch *b, const thread_record *t, uint64_t ns)
{
    agent_sample out = {
        .time = capture_real_time(), .value = (int64_t)ns, .kind = SAMPLE_CPU, .state = 'R'};
    if (!batch_stack(b, NULL, 0, UNWIND_WHOLE, false, &out.stack) ||
        !batch_thread(b, &t->about, &out.thread))
        return false;
    agent_sample *added = vec_push(&b->mem, &b->samples);
    if (added) *added = out;
    return added != NULL;
}

static bool blocks_signal(const capture *c, const thread_record *t, int dir)
{
    char buf[4096];
    task_status s;
    int sig = t->event ? c->event : c->round;
    return task_status_parse(task_read(dir, t->pub.tid, "status", buf, sizeof buf), &s) &&
           s.blocked >> (sig - 1) & 1;
}

typedef struct unsampled_check {
    capture *c;
    int dir;
} unsampled_check;

/* number of periods without a sample after which a thread's signal mask is checked */
enum { UNSAMPLED_PERIODS = 4 };

static void check_thread(void *ctx, thread_record *t)
{
    const unsampled_check *l = ctx;
    capture *c = l->c;
    if (!t->event && !t->timer) return;
    uint64_t cpu = task_cpu(t->pub.tid), ran = cpu - t->checked_cpu;
    bool unsampled = !t->drained && t->checked_cpu && cpu > t->checked_cpu &&
                     ran > UNSAMPLED_PERIODS * t->period;
    t->checked_cpu = cpu;
    t->drained = 0;
    if (!unsampled || !blocks_signal(c, t, l->dir)) return;
    pthread_mutex_lock(&c->lock);
    describe(c, t, &(int){l->dir});
    if (c->current && !batch_full(c->current) && put_unsampled(c->current, t, ran)) {
        t->unsampled_ns += ran;
        c->n.blocked++;
        c->n.cpu_samples++;
    } else {
        c->n.batch_full++;
    }
    pthread_mutex_unlock(&c->lock);
}

void drain_unsampled(capture *c, int dir)
{
    threads_each(check_thread, &(unsampled_check){c, dir});
}
