/* Observations: their frames are stored whole, also when storing one delivers the batch. */
#include "record/feed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

enum { MAX_FRAMES = 2, KERNEL = 127, TIME = 1000 };

static void on_profile(void *ctx, uint32_t pid, buf *bytes)
{
    (void)pid;
    ++*(unsigned *)ctx;
    buf_free(bytes);
}

static recorder *open_recorder(unsigned *deliveries)
{
    record_opts o = {.size = sizeof o,
                     .target = RECORD_PIDS,
                     .mode = RECORD_PERF,
                     .hz = 99,
                     .max_frames = MAX_FRAMES,
                     .profile = on_profile,
                     .ctx = deliveries};
    err e = {0};
    recorder *r = recorder_open(&o, &e);
    if (!r) skip(); /* no perf events here */
    return r;
}

static void all_kernel_frames_are_stored(void **state)
{
    (void)state;
    unsigned deliveries = 0;
    recorder *r = open_recorder(&deliveries);
    space *s = recorder_space(r, (uint32_t)getpid(), TIME);
    space_thread *t = space_thread_of(s, (uint32_t)getpid());
    uintptr_t kernel[KERNEL], user[MAX_FRAMES];
    for (size_t i = 0; i < KERNEL; i++) kernel[i] = ~(uintptr_t)i;
    for (size_t i = 0; i < MAX_FRAMES; i++) user[i] = 0x1000 + i;
    observation x = {.kind = SAMPLE_CPU,
                     .time = TIME,
                     .value = 1,
                     .kernel = kernel,
                     .n_kernel = KERNEL,
                     .user = user,
                     .n_user = MAX_FRAMES,
                     .has_stack = true};
    assert_true(r->n_pcs >= KERNEL + MAX_FRAMES);
    recorder_put(r, s, t, &x);
    assert_int_equal(s->batch->stacks.v[0].n, KERNEL + MAX_FRAMES);
    assert_memory_equal(s->batch->pcs.v, kernel, sizeof kernel);
    assert_memory_equal(s->batch->pcs.v + KERNEL, user, sizeof user);
    recorder_close(r);
}

/* The rest of a thread's CPU time belongs to a stack that the batch has. */
static void frames_of_a_delivered_batch_are_stored(void **state)
{
    (void)state;
    unsigned deliveries = 0;
    recorder *r = open_recorder(&deliveries);
    space *s = recorder_space(r, (uint32_t)getpid(), TIME);
    space_thread *t = space_thread_of(s, (uint32_t)getpid());
    uintptr_t user[MAX_FRAMES] = {0x1000, 0x2000};
    observation x = {.kind = SAMPLE_CPU,
                     .time = TIME,
                     .value = 1,
                     .user = user,
                     .n_user = MAX_FRAMES,
                     .has_stack = true};
    mallopt(M_PERTURB, 0xa5); /* freed memory does not keep its content */
    for (recorder_put(r, s, t, &x); !batch_full(s->batch); user[1]++) recorder_put(r, s, t, &x);
    assert_int_equal(deliveries, 0);
    x.user = s->batch->pcs.v;
    recorder_put(r, s, t, &x);
    mallopt(M_PERTURB, 0);
    assert_int_equal(deliveries, 1);
    assert_int_equal(s->batch->stacks.n, 1);
    assert_int_equal(s->batch->pcs.v[0], 0x1000);
    assert_int_equal(s->batch->pcs.v[1], 0x2000);
    recorder_close(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kernel_frames_are_stored),
        cmocka_unit_test(frames_of_a_delivered_batch_are_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
