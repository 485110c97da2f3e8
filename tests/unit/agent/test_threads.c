/* The table of threads: the life of a record, scans, a full table. */
#include "support/test.h"

#include "agent/threads.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned n_gone;

static void gone(thread_record *t)
{
    (void)t;
    n_gone++;
}

static int open_table(void **state)
{
    (void)state;
    err e = {0};
    return threads_open(gone, &e) ? 0 : -1;
}

static void count(void *ctx, thread_record *t)
{
    (void)t;
    ++*(unsigned *)ctx;
}

static unsigned live(void)
{
    unsigned n = 0;
    threads_each(count, &n);
    return n;
}

static void *nothing(void *arg) { return arg; }

/* The states of a record, from pthread_create to the drain after the end. */
static void test_lifecycle(void **state)
{
    (void)state;
    thread_record *t = thread_prepare(nothing, &n_gone, false);
    assert_non_null(t);
    assert_int_equal(t->state, THREAD_STARTING);
    assert_u64(live(), 0);
    uint32_t generation = atomic_load(&t->pub.generation);
    assert_ptr_equal(thread_begin(t), t);
    assert_ptr_equal(thread_self(), t);
    assert_u64(t->pub.tid, (uint32_t)gettid());
    assert_true(t->pub.stack.lo < (uintptr_t)&state && (uintptr_t)&state < t->pub.stack.hi);
    assert_ptr_equal(thread_find((uint32_t)gettid()), t);
    assert_ptr_equal(thread_add((uint32_t)gettid(), false), t);
    assert_u64(live(), 1);
    thread_finish(t);
    assert_null(thread_self());
    assert_null(thread_find((uint32_t)gettid()));
    threads_reap(); /* frees nothing: samples may still be in the ring */
    assert_int_equal(t->state, THREAD_ENDED);
    threads_retire();
    assert_int_equal(t->state, THREAD_GONE);
    threads_reap();
    assert_int_equal(t->state, THREAD_FREE);
    thread_record *again = thread_prepare(nothing, NULL, false);
    assert_ptr_equal(again, t);
    assert_true(atomic_load(&again->pub.generation) != generation);
    thread_cancel(again);
}

/* A scan of /proc finds the thread before it adds itself. */
static void test_found_first(void **state)
{
    (void)state;
    uint32_t tid = (uint32_t)gettid();
    thread_record *found = thread_add(tid, false), *t = thread_prepare(nothing, NULL, false);
    assert_u64(found->pub.stack.hi, 0);
    assert_ptr_equal(thread_begin(t), found);
    assert_true(found->pub.stack.hi != 0);
    assert_int_equal(t->state, THREAD_FREE);
    assert_u64(live(), 1);
    thread_finish(found);
    threads_retire();
    threads_reap();
}

static void test_roll_call(void **state)
{
    (void)state;
    static uint32_t tids[THREADS_MAX];
    size_t n;
    int dir = task_open();
    n_gone = 0;
    assert_non_null(thread_add(0x3fffffff, false)); /* no such thread */
    assert_true(threads_scan(dir, tids, &n));
    assert_non_null(thread_find((uint32_t)gettid()));
    assert_null(thread_find(0x3fffffff));
    assert_u64(n_gone, 1);
    for (size_t i = 1; i < n; i++) assert_true(tids[i - 1] < tids[i]);
    close(dir);
}

static void test_full(void **state)
{
    (void)state;
    uint64_t before = threads_lost();
    unsigned taken = 0;
    while (thread_prepare(nothing, NULL, false)) taken++;
    assert_true(taken >= THREADS_MAX - 8 && taken <= THREADS_MAX);
    assert_u64(threads_lost(), before + 1);
    assert_null(thread_add(0x3ffffffe, false));
    assert_u64(threads_lost(), before + 2);
    threads_forked(); /* empties the table */
}

static void test_fork(void **state)
{
    (void)state;
    thread_record *t = thread_add((uint32_t)gettid(), true);
    thread_add(0x3ffffffd, false);
    unwind_stack stack = t->pub.stack;
    pid_t pid = fork();
    if (pid == 0) {
        threads_forked();
        t = thread_self();
        bool ok =
            live() == 1 && t && t->pub.tid == (uint32_t)gettid() && t->pub.stack.hi == stack.hi;
        _exit(ok ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lifecycle), cmocka_unit_test(test_found_first),
        cmocka_unit_test(test_roll_call), cmocka_unit_test(test_full),
        cmocka_unit_test(test_fork),
    };
    return cmocka_run_group_tests(tests, open_table, NULL);
}
