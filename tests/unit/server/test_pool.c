#include "server/pool.h"

#include "../../support/test.h"
#include <pthread.h>

/* Counts the jobs that run at the same time: all jobs, and large ones. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned running, large, most_large, begun, done;
static bool go;

static void work(job *j)
{
    pthread_mutex_lock(&lock);
    running++, begun++;
    large += j->large;
    if (large > most_large) most_large = large;
    pthread_cond_broadcast(&changed);
    while (!go) pthread_cond_wait(&changed, &lock);
    running--;
    large -= j->large;
    pthread_mutex_unlock(&lock);
}

static void count(job *j)
{
    (void)j;
    done++;
}

static void open_gate(void)
{
    pthread_mutex_lock(&lock);
    go = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void until_begun(unsigned n)
{
    pthread_mutex_lock(&lock);
    while (begun < n) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

/* A large job delays other large jobs only. */
static void test_large(void **state)
{
    (void)state;
    err e = {0};
    loop *l = loop_open(world_system(), NULL, NULL, &e);
    pool *p = pool_open(l, 2, 8, &e);
    assert_ok(p != NULL, &e);
    job jobs[6] = {{work, count, .large = true},  {work, count, .large = true},
                   {work, count, .large = true},  {work, count, .large = false},
                   {work, count, .large = false}, {work, count, .large = true}};
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) assert_true(pool_submit(p, &jobs[i]));
    until_begun(2); /* the first and the fourth: two large jobs were skipped */
    pthread_mutex_lock(&lock);
    assert_int_equal(large, 1);
    pthread_mutex_unlock(&lock);
    open_gate();
    while (done < 6) loop_once(l, NS_PER_MS), pool_reap(p);
    assert_int_equal(most_large, 1);
    pool_close(p);
    loop_close(l);
}

/* Closing calls `done` of jobs that never ran; a full queue rejects jobs. */
static void test_full_and_closed(void **state)
{
    (void)state;
    err e = {0};
    begun = done = 0, go = false;
    loop *l = loop_open(world_system(), NULL, NULL, &e);
    pool *p = pool_open(l, 1, 2, &e);
    job jobs[4];
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) jobs[i] = (job){.work = work, .done = count};
    assert_true(pool_submit(p, &jobs[0]));
    until_begun(1);
    assert_true(pool_submit(p, &jobs[1]) && pool_submit(p, &jobs[2]));
    assert_false(pool_submit(p, &jobs[3]));
    assert_int_equal(pool_waiting(p), 2);
    open_gate();
    pool_close(p);
    assert_int_equal(done, 3);
    loop_close(l);
}

/* While the loop is busy, finished jobs do not accumulate. */
static void test_unreaped(void **state)
{
    (void)state;
    err e = {0};
    begun = done = 0, go = true;
    loop *l = loop_open(world_system(), NULL, NULL, &e);
    pool *p = pool_open(l, 2, 8, &e);
    job jobs[8];
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        jobs[i] = (job){.work = work, .done = count};
        assert_true(pool_submit(p, &jobs[i]));
    }
    until_begun(2);
    for (int i = 0; i < 20; i++) {
        loop_once(l, NS_PER_MS); /* without pool_reap */
        assert_true(pool_waiting(p) >= 5);
    }
    while (done < 8) loop_once(l, NS_PER_MS), pool_reap(p);
    pool_close(p);
    loop_close(l);
}

/* Waiting jobs can be cancelled at any position of the queue; running ones cannot. */
static void test_cancel(void **state)
{
    (void)state;
    err e = {0};
    begun = done = 0, go = false;
    loop *l = loop_open(world_system(), NULL, NULL, &e);
    pool *p = pool_open(l, 1, 4, &e);
    job jobs[6];
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) jobs[i] = (job){.work = work, .done = count};
    assert_true(pool_submit(p, &jobs[0]));
    until_begun(1);
    for (size_t i = 1; i < 5; i++) assert_true(pool_submit(p, &jobs[i]));
    assert_false(pool_cancel(p, &jobs[0]) || pool_cancel(p, &jobs[5]));
    assert_true(pool_cancel(p, &jobs[2]) && pool_cancel(p, &jobs[4]) && pool_cancel(p, &jobs[1]));
    assert_false(pool_cancel(p, &jobs[2]));
    assert_int_equal(pool_waiting(p), 1);
    assert_true(pool_submit(p, &jobs[5])); /* after the remaining one */
    open_gate();
    while (done < 3) loop_once(l, NS_PER_MS), pool_reap(p);
    assert_int_equal(begun, 3);
    pool_close(p);
    assert_int_equal(done, 3);
    loop_close(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_large), cmocka_unit_test(test_full_and_closed),
        cmocka_unit_test(test_unreaped), cmocka_unit_test(test_cancel)};
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
