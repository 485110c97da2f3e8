/* One process as the collector sees it: CPU time, threads, heap totals, invalid records. */
#include "support/test.h"

#include "collect/process.h"
#include "wire/otlp.h"

#include <stdio.h>
#include <string.h>

enum { FRAMES = 16, PERIOD = 10 };

typedef struct rig {
    collector_opts o;
    agent_config config;
    collected sums;
    process_world w;
    proc_slot *d;
    process *p;
    buf bytes; /* the last profile */
    unsigned n_profiles;
} rig;

static void on_profile(void *ctx, uint32_t pid, buf *bytes)
{
    rig *r = ctx;
    assert_int_equal(pid, 1u << 30);
    buf_free(&r->bytes);
    r->bytes = *bytes;
    *bytes = (buf){0};
    r->n_profiles++;
}

/* Uses a process that does not exist, so that no other process's /proc is read. */
static void open_rig(rig *r)
{
    *r = (rig){.o = {.cpu_hz = 100, .max_frames = FRAMES, .heap_bytes = 1, .ctx = r}};
    r->o.profile = on_profile;
    r->o.config = &r->config;
    r->w = (process_world){.o = &r->o, .sums = &r->sums, .now = 1};
    r->d = calloc(1, PROC_SLOT_BYTES);
    assert_non_null(r->d);
    r->d->thread_begin = 1000;
    r->d->time = 5000;
    atomic_store(&r->d->period, PERIOD);
    snprintf(r->d->program, sizeof r->d->program, "/opt/program");
    r->p = process_open(&r->w, r->d, 3, proc_slot_word(PROC_SLOT_TAKEN, 1, 1u << 30));
    assert_non_null(r->p);
}

static void close_rig(rig *r)
{
    process_close(r->p);
    buf_free(&r->bytes);
    free(r->d);
}

static bool take(rig *r, raw_kind kind, uint32_t tid, uint64_t cpu, uint32_t weight, uintptr_t pc)
{
    _Alignas(64) char cell[sizeof(raw_sample) + FRAMES * sizeof(uintptr_t)] = {0};
    raw_sample *raw = (raw_sample *)(void *)cell;
    *raw = (raw_sample){.time = 6000, .tid = tid, .weight = weight, .cpu = cpu, .n = 1};
    raw->kind = (uint8_t)kind;
    raw->pcs[0] = pc;
    if (kind == RAW_THREAD_END || kind == RAW_PROCESS_END)
        snprintf(raw->name, sizeof raw->name, "worker");
    return process_take(&r->w, r->p, raw);
}

static int64_t sum_of(rig *r, const char *type, unsigned *n_samples)
{
    arena a = {0};
    model m;
    err e = {0};
    int64_t sum = 0;
    *n_samples = 0;
    assert_ok(otlp_decode(r->bytes.p, r->bytes.n, NULL, &a, &m, &e), &e);
    for (size_t i = 0; i < m.profiles.n; i++) {
        const profile *p = &m.profiles.v[i];
        if (!str_eq(dict_str(&m.dict, p->sample_type.type), str_of(type))) continue;
        for (size_t k = 0; k < p->n_samples; k++) {
            sample s = sample_at(&m, p, k);
            for (size_t v = 0; v < s.n_values; v++) sum += s.values[v];
            ++*n_samples;
        }
    }
    arena_free(&a);
    return sum;
}

/* The first sample represents the time until then; later ones represent periods.  The remainder is
 * added to the last one. */
static void test_all_time_is_accounted(void **state)
{
    (void)state;
    rig r;
    unsigned n;
    uint32_t pid = 1u << 30;
    open_rig(&r);
    assert_true(
        /* 4: the thread had used 1000 when the probe began */
        take(&r, RAW_SAMPLE, pid, 1004, 1, 0x100));
    assert_true(take(&r, RAW_SAMPLE, pid, 0, 1, 0x100));
    assert_true(take(&r, RAW_SAMPLE, pid, 0, 3, 0x200)); /* two expirations were missed */
    assert_true(take(&r, RAW_SAMPLE, 77, 5, 1, 0x300));
    assert_true(take(&r, RAW_THREAD_END, pid, 1000 + 4 + 10 + 30 + 7, 0, 0));
    assert_u64(r.sums.sampled, 4 + 10 + 30 + 7 + 5);
    assert_u64(r.sums.remainder, 7);
    assert_u64(r.sums.capture.cpu_samples, 4);
    process_flush(&r.w, r.p, true);
    assert_int_equal(r.n_profiles, 1);
    assert_int_equal(sum_of(&r, "cpu", &n), 56);
    assert_int_equal(n, 3);
    close_rig(&r);
}

/* Another thread gets the same tid; its time begins at 0. */
static void test_tids_are_reused(void **state)
{
    (void)state;
    rig r;
    open_rig(&r);
    for (int i = 0; i < 1000; i++) {
        assert_true(take(&r, RAW_SAMPLE, 77, 5, 1, 0x100));
        assert_true(take(&r, RAW_THREAD_END, 77, 8, 0, 0));
    }
    assert_u64(r.sums.sampled, 8000);
    assert_int_equal(r.p->threads.n, 1); /* entries are reused */
    close_rig(&r);
}

/* A failed exec has accounted for the threads' time.  The next exec does not count it again, even
 * with a new thread in between. */
static void test_continues_after_an_exit_notice(void **state)
{
    (void)state;
    rig r;
    open_rig(&r);
    for (int i = 0; i < 5; i++) assert_true(take(&r, RAW_SAMPLE, 77, i ? 0 : 5, 1, 0x100));
    assert_true(take(&r, RAW_PROCESS_END, 77, 5 + 40 + 3, 0, 0));
    assert_true(take(&r, RAW_SAMPLE, 78, 1, 1, 0x200));
    assert_true(take(&r, RAW_THREAD_END, 78, 2, 0, 0));
    assert_true(take(&r, RAW_SAMPLE, 77, 0, 1, 0x100));
    assert_true(take(&r, RAW_PROCESS_END, 77, 5 + 40 + 3 + 12, 0, 0));
    assert_u64(r.sums.sampled, 62);
    assert_true(take(&r, RAW_THREAD_END, 77, 5 + 40 + 3 + 12, 0, 0));
    assert_u64(r.sums.sampled, 62);
    assert_true(take(&r, RAW_SAMPLE, 77, 4, 1, 0x100)); /* another thread */
    assert_true(take(&r, RAW_THREAD_END, 77, 6, 0, 0));
    assert_u64(r.sums.sampled, 68);
    assert_int_equal(r.p->threads.n, 2);
    close_rig(&r);
}

/* Later totals of the heap replace earlier ones. */
static void test_heap(void **state)
{
    (void)state;
    rig r;
    unsigned n;
    open_rig(&r);
    for (int64_t i = 1; i <= 3; i++) {
        _Alignas(64) char cell[sizeof(raw_sample) + FRAMES * sizeof(uintptr_t)] = {0};
        raw_sample *raw = (raw_sample *)(void *)cell;
        raw->kind = RAW_HEAP, raw->n = 2;
        raw->pcs[0] = 0x100, raw->pcs[1] = 0x200;
        raw->heap[0] = i, raw->heap[1] = 100 * i, raw->heap[2] = 1, raw->heap[3] = 100;
        assert_true(process_take(&r.w, r.p, raw));
    }
    process_flush(&r.w, r.p, false); /* without the heap, which is delivered only at the end */
    assert_int_equal(r.n_profiles, 0);
    process_flush(&r.w, r.p, true);
    assert_int_equal(sum_of(&r, "alloc_space", &n), 300);
    assert_int_equal(sum_of(&r, "inuse_space", &n), 100);
    close_rig(&r);
}

static void test_invalid_data(void **state)
{
    (void)state;
    rig r;
    open_rig(&r);
    raw_sample raw = {.kind = RAW_SAMPLE, .n = FRAMES + 1};
    assert_false(process_take(&r.w, r.p, &raw));
    raw = (raw_sample){.kind = 99};
    assert_false(process_take(&r.w, r.p, &raw));
    assert_true(take(&r, RAW_THREAD_END, 5, 7, 0, 0)); /* end of an unknown thread */
    assert_u64(r.sums.sampled, 0);
    process_flush(&r.w, r.p, true);
    assert_int_equal(r.n_profiles, 0);
    close_rig(&r);
}

/* A full batch is delivered, and the next one begins. */
static void test_long_run(void **state)
{
    (void)state;
    enum { N = 200000 };
    rig r;
    open_rig(&r);
    for (uintptr_t i = 0; i < N; i++)
        assert_true(take(&r, RAW_SAMPLE, 77, i ? 0 : PERIOD, 1, 0x1000 + i));
    process_flush(&r.w, r.p, true);
    assert_true(r.n_profiles > 1);
    assert_u64(r.sums.sampled, (uint64_t)N * PERIOD);
    assert_u64(r.sums.capture.batch_full, 0);
    close_rig(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_time_is_accounted),
        cmocka_unit_test(test_tids_are_reused),
        cmocka_unit_test(test_continues_after_an_exit_notice),
        cmocka_unit_test(test_heap),
        cmocka_unit_test(test_invalid_data),
        cmocka_unit_test(test_long_run),
    };
    return cmocka_run_group_tests_name("process", tests, NULL, NULL);
}
