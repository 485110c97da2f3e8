/* Two queues under one lock: waiting and finished jobs. While a large job runs, other large jobs
 * wait and smaller ones overtake them. */
#include "server/pool.h"

#include "base/ban.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 16 };

typedef struct jobs {
    job *first, *last;
    size_t n;
} jobs;

struct pool {
    loop *loop;
    pthread_mutex_t lock; /* protects everything below */
    pthread_cond_t come;
    pthread_cond_t reaped;
    jobs waiting, finished;
    size_t max, max_finished;
    bool closing;
    bool large; /* a large job is running */
    pthread_t threads[MAX_THREADS];
    unsigned n_threads;
};

static void put(jobs *q, job *j)
{
    j->next = NULL;
    *(q->last ? &q->last->next : &q->first) = j;
    q->last = j;
    q->n++;
}

static job *take(jobs *q)
{
    job *j = q->first;
    if (!j) return NULL;
    q->first = j->next;
    if (!q->first) q->last = NULL;
    q->n--;
    return j;
}

static void unlink_job(jobs *q, job *before, job *j)
{
    *(before ? &before->next : &q->first) = j->next;
    if (!j->next) q->last = before;
    q->n--;
}

/* Removes and returns the first job that may run now, or NULL. */
static job *take_next(pool *p)
{
    job *before = NULL;
    for (job *j = p->waiting.first; j; before = j, j = j->next) {
        if (j->large && p->large) continue;
        unlink_job(&p->waiting, before, j);
        return j;
    }
    return NULL;
}

static void *run(void *ctx)
{
    pool *p = ctx;
    pthread_mutex_lock(&p->lock);
    while (!p->closing) {
        if (p->finished.n >= p->max_finished) { /* finished jobs use memory: wait for the loop */
            pthread_cond_wait(&p->reaped, &p->lock);
            continue;
        }
        job *j = take_next(p);
        if (!j) {
            pthread_cond_wait(&p->come, &p->lock);
            continue;
        }
        bool large = j->large;
        p->large |= large;
        pthread_mutex_unlock(&p->lock);
        j->work(j);
        pthread_mutex_lock(&p->lock);
        if (large) { /* a sleeping thread may have skipped the next large job */
            p->large = false;
            pthread_cond_signal(&p->come);
        }
        put(&p->finished, j);
        loop_wake(p->loop);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

pool *pool_open(loop *l, unsigned threads, size_t queue, err *e)
{
    pool *p = calloc(1, sizeof *p);
    if (!p) return err_memory(e), NULL;
    *p = (pool){.loop = l, .max = queue, .max_finished = threads};
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->come, NULL);
    pthread_cond_init(&p->reaped, NULL);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the main thread handles signals */
    int r = 0;
    for (unsigned i = 0; i < threads && i < MAX_THREADS && !r; i++) {
        r = pthread_create(&p->threads[i], NULL, run, p);
        if (!r) pthread_setname_np(p->threads[i], "kiln-work"), p->n_threads++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (p->n_threads) return p;
    err_sys(e, r, "cannot start a thread");
    pool_close(p);
    return NULL;
}

void pool_close(pool *p)
{
    if (!p) return;
    pthread_mutex_lock(&p->lock);
    p->closing = true;
    pthread_cond_broadcast(&p->come);
    pthread_cond_broadcast(&p->reaped);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->n_threads; i++) pthread_join(p->threads[i], NULL);
    pool_reap(p);
    for (job *j; (j = take(&p->waiting));) j->done(j);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->come);
    pthread_cond_destroy(&p->reaped);
    free(p);
}

bool pool_submit(pool *p, job *j)
{
    pthread_mutex_lock(&p->lock);
    bool ok = !p->closing && p->waiting.n < p->max;
    if (ok) put(&p->waiting, j), pthread_cond_signal(&p->come);
    pthread_mutex_unlock(&p->lock);
    return ok;
}

bool pool_cancel(pool *p, job *j)
{
    pthread_mutex_lock(&p->lock);
    job *before = NULL, *at = p->waiting.first;
    while (at && at != j) before = at, at = at->next;
    if (at) unlink_job(&p->waiting, before, at);
    pthread_mutex_unlock(&p->lock);
    return at != NULL;
}

void pool_reap(pool *p)
{
    pthread_mutex_lock(&p->lock);
    jobs all = p->finished;
    p->finished = (jobs){0};
    pthread_cond_broadcast(&p->reaped);
    pthread_mutex_unlock(&p->lock);
    for (job *j; (j = take(&all));) j->done(j);
}

size_t pool_waiting(const pool *p)
{
    pool *q = (pool *)(uintptr_t)p; /* the lock is not part of the value */
    pthread_mutex_lock(&q->lock);
    size_t n = q->waiting.n;
    pthread_mutex_unlock(&q->lock);
    return n;
}
