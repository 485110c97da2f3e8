/* The table of live blocks: levels, filter, forks and concurrent threads. */
#include "agent/heap/live.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static live table;

static int setup(void **state)
{
    (void)state;
    void *memory = aligned_alloc(4096, (LIVE_BYTES + 4095) / 4096 * 4096);
    if (!memory) return -1;
    memset(memory, 0, LIVE_BYTES);
    memset(&table, 0, sizeof table);
    live_open(&table, memory);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free((void *)(uintptr_t)table.address);
    return 0;
}

static live_value value(uint32_t i) { return (live_value){{i * 3, i * 5}, i}; }
static uintptr_t place(uint32_t i) { return 0x7f0000000010u + (uintptr_t)i * 48; }

static bool put(uint32_t i)
{
    live_value v = value(i);
    return live_put(&table, place(i), &v);
}

static bool take(uint32_t i)
{
    live_value v, want = value(i);
    if (!live_take(&table, place(i), &v)) return false;
    assert_int_equal(v.stack, want.stack);
    assert_int_equal(v.stands_for.objects, want.stands_for.objects);
    assert_int_equal(v.stands_for.space, want.stands_for.space);
    return true;
}

static void what_was_put_is_taken_once(void **state)
{
    (void)state;
    assert_false(live_maybe(&table, place(1)));
    assert_false(take(1));
    assert_true(put(1));
    assert_true(live_maybe(&table, place(1)));
    assert_false(take(2));
    assert_true(take(1));
    assert_false(live_maybe(&table, place(1)));
    assert_false(take(1));
}

static void no_address_is_no_block(void **state)
{
    (void)state;
    live_value v;
    assert_false(live_take(&table, 0, &v));
    assert_false(live_take(&table, LIVE_BUSY, &v));
}

static void before_it_is_open_it_is_empty(void **state)
{
    (void)state;
    static live closed;
    live_value v;
    assert_false(live_maybe(&closed, 64));
    assert_false(live_take(&closed, 64, &v));
}

static void it_fills_up_and_empties(void **state)
{
    (void)state;
    uint32_t n = 0, lost = 0;
    static bool in[2 * LIVE_MAX];
    for (uint32_t i = 0; i < 2 * LIVE_MAX; i++) {
        in[i] = put(i);
        n += in[i];
        lost += !in[i];
        /* a level is added when necessary */
        if (i == LIVE_FIRST / 2) assert_int_equal(table.levels, 1);
        if (i == LIVE_FIRST * 3) assert_int_equal(table.levels, 2);
    }
    assert_int_equal(table.levels, LIVE_LEVELS);
    assert_true(n > LIVE_MAX * 95 / 100 && n <= LIVE_MAX);
    assert_int_equal(n + lost, 2 * LIVE_MAX);
    for (uint32_t i = 0; i < 2 * LIVE_MAX; i++) {
        if (in[i]) assert_true(live_maybe(&table, place(i)));
        assert_int_equal(take(i), in[i]);
    }
    for (uint32_t i = 0; i < LIVE_FILTER; i++) assert_int_equal(table.filter[i], 0);
    assert_true(put(1)); /* the slot is free again */
}

/* Adds many addresses of one class of the filter.  The counter stays at its limit from then on,
 * which is safe. */
static void a_class_that_is_full_stays(void **state)
{
    (void)state;
    static uintptr_t same[400];
    size_t n = 0;
    for (uintptr_t a = 0x1000; n < ARRAY_LEN(same); a += 16)
        if (live_class(a) == 77) same[n++] = a;
    live_value v = value(1);
    for (size_t i = 0; i < n; i++) assert_true(live_put(&table, same[i], &v));
    for (size_t i = 0; i < n; i++) assert_true(live_take(&table, same[i], &v));
    assert_true(live_maybe(&table, same[0]));
    assert_false(live_take(&table, same[0], &v));
}

static void marked_addresses_go_the_slow_way(void **state)
{
    (void)state;
    live_mark(&table, place(5));
    assert_true(live_maybe(&table, place(5)));
    assert_true(put(5));
    assert_true(take(5));
    assert_true(live_maybe(&table, place(5)));
}

static void sum_stacks(void *ctx, const live_value *v) { *(uint64_t *)ctx += v->stack; }

static void mending_gives_up_busy_slots(void **state)
{
    (void)state;
    uint64_t sum = 0, want = 0;
    for (uint32_t i = 0; i < 3000; i++) {
        assert_true(put(i));
        want += i;
    }
    uint32_t busy = 0;
    for (uint32_t slot = 0; slot < LIVE_MAX && busy < 2; slot++)
        if (!table.address[slot]) {
            table.address[slot] = LIVE_BUSY;
            busy++;
        }
    live_repair(&table, sum_stacks, &sum);
    assert_int_equal(sum, want);
    for (uint32_t slot = 0; slot < LIVE_MAX; slot++)
        assert_int_not_equal(table.address[slot], LIVE_BUSY);
}

/* ---- threads: each adds blocks that another one removes ---- */

enum { THREADS = 4, ROUNDS = 20000, HANDED = 256 };
static _Atomic uint32_t handed[HANDED];
static _Atomic uint32_t wrong;

static void *work(void *arg)
{
    uint32_t me = (uint32_t)(uintptr_t)arg, x = me + 1;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        x = x * 1664525 + 1013904223;
        uint32_t mine = me * ROUNDS + i + 1;
        if (!put(mine)) wrong++;
        uint32_t other = atomic_exchange_explicit(&handed[x >> 24], mine, memory_order_acq_rel);
        live_value v;
        if (other && (!live_maybe(&table, place(other)) || !live_take(&table, place(other), &v) ||
                      v.stack != other))
            wrong++;
    }
    return NULL;
}

static void threads_take_what_others_put(void **state)
{
    (void)state;
    pthread_t t[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    for (size_t i = 0; i < HANDED; i++)
        if (handed[i]) assert_true(take(handed[i]));
    assert_int_equal(wrong, 0);
    for (uint32_t slot = 0; slot < LIVE_MAX; slot++) assert_int_equal(table.address[slot], 0);
    for (uint32_t i = 0; i < LIVE_FILTER; i++) assert_int_equal(table.filter[i], 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_was_put_is_taken_once),    CASE(no_address_is_no_block),
        CASE(before_it_is_open_it_is_empty), CASE(it_fills_up_and_empties),
        CASE(a_class_that_is_full_stays),    CASE(marked_addresses_go_the_slow_way),
        CASE(mending_gives_up_busy_slots),   CASE(threads_take_what_others_put),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
