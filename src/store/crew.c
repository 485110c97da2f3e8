#include "store/crew.h"

#include <pthread.h>
#include <stdlib.h>
#include "base/ban.h"

enum { JOB_WAITS, JOB_RUNS, JOB_DONE };
enum { MOST = 16 }; /* threads */

struct crew {
    pthread_mutex_t lock;
    pthread_cond_t given, done;
    crew_job *first, **last; /* that wait */
    bool closing;
    unsigned n;
    pthread_t threads[MOST];
};

/* Under the lock, which is given back for the job itself. */
static void do_job(crew *c, crew_job *j)
{
    j->state = JOB_RUNS;
    pthread_mutex_unlock(&c->lock);
    j->run(j->who);
    pthread_mutex_lock(&c->lock);
    j->state = JOB_DONE;
}

static void unlink_job(crew *c, crew_job **at)
{
    crew_job *j = *at;
    *at = j->next;
    if (!j->next) c->last = at;
}

static void *help(void *who)
{
    crew *c = who;
    pthread_mutex_lock(&c->lock);
    while (!c->closing) {
        crew_job *j = c->first;
        if (!j) {
            pthread_cond_wait(&c->given, &c->lock);
            continue;
        }
        unlink_job(c, &c->first);
        do_job(c, j);
        pthread_cond_signal(&c->done); /* one thread finishes jobs */
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

crew *crew_open(unsigned n)
{
    crew *c = n ? calloc(1, sizeof *c) : NULL;
    if (!c) return NULL;
    c->last = &c->first;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->given, NULL);
    pthread_cond_init(&c->done, NULL);
    while (c->n < n && c->n < MOST && pthread_create(&c->threads[c->n], NULL, help, c) == 0) c->n++;
    if (c->n) return c;
    crew_close(c);
    return NULL;
}

void crew_close(crew *c)
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

void crew_begin(crew *c, crew_job *j)
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

void crew_finish(crew *c, crew_job *j)
{
    if (!c) {
        j->run(j->who);
        return;
    }
    pthread_mutex_lock(&c->lock);
    if (j->state == JOB_WAITS) {
        crew_job **at = &c->first;
        while (*at != j) at = &(*at)->next;
        unlink_job(c, at);
        do_job(c, j);
    }
    while (j->state != JOB_DONE) pthread_cond_wait(&c->done, &c->lock);
    pthread_mutex_unlock(&c->lock);
}
