/* From the ring to the batch. */
#include "agent/internal.h"

#include "agent/exclude.h"

#include <unistd.h>
#include "base/ban.h"

static bool put_context(const raw_sample *raw, batch *b, agent_sample *out)
{
    agent_link l;
    if (!raw->in_context) return true;
    if (raw->span.has_ids) {
        memcpy(l.trace_id, raw->span.trace_id, sizeof l.trace_id);
        memcpy(l.span_id, raw->span.span_id, sizeof l.span_id);
        if (!batch_link(b, &l, &out->link)) return false;
    }
    return batch_attrs(b, raw->span.attrs, raw->span.n_attrs, &out->attrs);
}

/* A timer that could not be heard rings once for all of the time, some of which is told already. */
static int64_t value_of(const raw_sample *raw, thread_record *t)
{
    uint64_t value = raw->weight * t->period, told = value > t->period ? value - t->period : 0;
    if (told > t->deaf_ns) told = t->deaf_ns;
    t->deaf_ns = 0;
    t->drained++;
    return (int64_t)(value - told);
}

static bool put_sample(const raw_sample *raw, thread_record *t, batch *b)
{
    agent_sample out = {
        .time = raw->time, .value = value_of(raw, t), .kind = SAMPLE_CPU, .state = 'R'};
    if (!batch_stack(b, raw->pcs, raw->n, raw->end, true, &out.stack) ||
        !batch_thread(b, &t->about, &out.thread) || !put_context(raw, b, &out))
        return false;
    agent_sample *added = vec_push(&b->mem, &b->samples);
    if (added) *added = out;
    return added != NULL;
}

/* Threads rename themselves: the name is read once a batch. */
static void describe(capture *c, thread_record *t, int *dir)
{
    if (t->in_batch == c->batch_number) return;
    t->in_batch = c->batch_number;
    if (t->state == THREAD_LIVE) {
        if (*dir < 0) *dir = task_open();
        if (*dir < 0 || !thread_describe(t, *dir)) return;
    }
    t->left_out = name_excluded(t->about.name, c->o.exclude); /* an ended one has said its name */
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

/* ---- threads that cannot be heard ---- */

/* Time of a thread that blocks the signal: it has no stack, but it was spent. */
static bool put_deaf(batch *b, const thread_record *t, uint64_t ns)
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

static bool is_deaf(const capture *c, const thread_record *t, int dir)
{
    char buf[4096];
    task_status s;
    int sig = t->event ? c->event : c->round;
    return task_status_parse(task_read(dir, t->face.tid, "status", buf, sizeof buf), &s) &&
           s.blocked >> (sig - 1) & 1;
}

typedef struct listening {
    capture *c;
    int dir;
} listening;

enum { DEAF_PERIODS = 4 }; /* that a thread may run without a sample before it is asked why */

static void listen_to(void *who, thread_record *t)
{
    const listening *l = who;
    capture *c = l->c;
    if (!t->event && !t->timer) return;
    uint64_t cpu = task_cpu(t->face.tid), ran = cpu - t->heard_cpu;
    bool quiet =
        !t->drained && t->heard_cpu && cpu > t->heard_cpu && ran > DEAF_PERIODS * t->period;
    t->heard_cpu = cpu;
    t->drained = 0;
    if (!quiet || !is_deaf(c, t, l->dir)) return;
    pthread_mutex_lock(&c->lock);
    describe(c, t, &(int){l->dir});
    if (c->current && !batch_full(c->current) && put_deaf(c->current, t, ran)) {
        t->deaf_ns += ran;
        c->n.blocked++;
        c->n.cpu_samples++;
    } else {
        c->n.batch_full++;
    }
    pthread_mutex_unlock(&c->lock);
}

void drain_deaf(capture *c, int dir) { threads_each(listen_to, &(listening){c, dir}); }
