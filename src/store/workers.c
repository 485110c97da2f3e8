/* Threads that run jobs (workers.h): a list of waiting jobs under one lock. The caller that
 * finishes a job runs it itself when no thread has started it. */
#include "store/workers.h"

#include <pthread.h>
#include <stdlib.h>
#include "base/ban.h"

enum { JOB_WAITS, JOB_RUNS, JOB_DONE };
enum { MOST = 16 }; /* maximum number of threads */

struct workers {
    pthread_mutex_t lock;
    pthread_cond_t given, done;
    worker_job *first, **last; /* waiting jobs */
    bool closing;
    unsigned n;
    pthread_t threads[MOST];
};

/* Requires the lock, which is released while the job runs. */
static void do_job(workers *c, worker_job *j)
{
    j->state = JOB_RUNS;
    pthread_mutex_unlock(&c->lock);
    j->run(j->ctx);
    pthread_mutex_lock(&c->lock);
    j->state = JOB_DONE;
}

static void unlink_job(workers *c, worker_job **at)
{
    worker_job *j = *at;
    *at = j->next;
    if (!j->next) c->last = at;
}

static void *help(void *ctx)
{
    workers *c = ctx;
    pthread_mutex_lock(&c->lock);
    while (!c->closing) {
        worker_job *j = c->first;
        if (!j) {
            pthread_cond_wait(&c->given, &c->lock);
            continue;
        }
        unlink_job(c, &c->first);
        do_job(c, j);
        pthread_cond_signal(&c->done); /* only one thread finishes jobs */
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

workers *workers_open(unsigned n)
{
    workers *c = n ? calloc(1, sizeof *c) : NULL;
    if (!c) return NULL;
    c->last = &c->first;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->given, NULL);
    pthread_cond_init(&c->done, NULL);
    while (c->n < n && c->n < MOST && pthread_create(&c->threads[c->n], NULL, help, c) == 0) c->n++;
    if (c->n) return c;
    workers_close(c);
    return NULL;
}

void workers_close(workers *c)
{
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    c->closing = true;
    pthread_cond_broadcast(&c->given);
    pthread_mutex_unlock(&c->lock);
    for (unsigned i = 0; i < c->n; i++) pthread_join(c->threads[i], NULL);
    pthread_cond_destroy(&c->given);
    pthread_cond_destroy(&c->done);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

void workers_begin(workers *c, worker_job *j)
{
    j->next = NULL;
    j->state = JOB_WAITS;
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    *c->last = j;
    c->last = &j->next;
    pthread_cond_signal(&c->given);
    pthread_mutex_unlock(&c->lock);
}

void workers_finish(workers *c, worker_job *j)
{
    if (!c) {
        j->run(j->ctx);
        return;
    }
    pthread_mutex_lock(&c->lock);
    if (j->state == JOB_WAITS) {
        worker_job **at = &c->first;
        while (*at != j) at = &(*at)->next;
        unlink_job(c, at);
        do_job(c, j);
    }
    while (j->state != JOB_DONE) pthread_cond_wait(&c->done, &c->lock);
    pthread_mutex_unlock(&c->lock);
}
