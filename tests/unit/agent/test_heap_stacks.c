/* The table of stacks: interning, collisions, and a full table. */
#include "agent/heap/stacks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static stacks table;

static int setup(void **state)
{
    (void)state;
    void *memory = aligned_alloc(4096, (STACKS_BYTES + 4095) / 4096 * 4096);
    if (!memory) return -1;
    memset(memory, 0, STACKS_BYTES);
    memset(&table, 0, sizeof table);
    stacks_open(&table, memory);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free((void *)(uintptr_t)table.slot);
    return 0;
}

static uint32_t intern(uint32_t i, uint16_t n)
{
    uintptr_t pcs[64];
    for (uint16_t k = 0; k < n; k++) pcs[k] = 0x400000 + i * 1000u + k;
    return stacks_intern(&table, pcs, n, 0);
}

static void the_same_stack_is_one_entry(void **state)
{
    (void)state;
    uint32_t a = intern(1, 5), b = intern(2, 5);
    assert_int_not_equal(a, 0);
    assert_int_not_equal(a, b);
    assert_int_equal(intern(1, 5), a);
    assert_int_equal(intern(2, 5), b);
    assert_int_not_equal(intern(1, 4), a); /* a prefix is a different stack */
    uintptr_t pcs[] = {0x400000 + 1000, 0x400000 + 1001};
    uint32_t whole = stacks_intern(&table, pcs, 2, 0);
    /* a truncated stack is different */
    assert_int_not_equal(stacks_intern(&table, pcs, 2, 1), whole);
    stack_entry *e = stacks_at(&table, a);
    assert_int_equal(e->n, 5);
    assert_int_equal(table.pcs[e->first + 4], 0x400000 + 1004);
}

static void no_frames_is_entry_0(void **state)
{
    (void)state;
    assert_int_equal(intern(1, 0), 0);
    assert_int_equal(stacks_count(&table), 1);
    assert_non_null(stacks_at(&table, 0));
}

/* Stacks whose slots collide are found by comparison, and rejected after the last probe. */
static void collisions(void **state)
{
    (void)state;
    uint32_t a = intern(1, 3);
    uint32_t at = STACKS_SLOTS;
    for (uint32_t i = 0; i < STACKS_SLOTS; i++)
        if (table.slot[i]) at = i;
    /* Another stack with the same hash is in the slot. */
    uint64_t ours = table.slot[at];
    uint32_t b = intern(2, 3);
    table.slot[at] = (ours & ~UINT64_C(0xffffffff)) | b;
    uint32_t c = intern(1, 3);
    assert_int_not_equal(c, b);
    assert_int_not_equal(c, 0);
    assert_int_equal(intern(1, 3), c);
    for (uint32_t i = 0; i < STACKS_PROBES; i++) table.slot[(at + i) % STACKS_SLOTS] = b;
    assert_int_equal(intern(1, 3), 0);
    (void)a;
}

static void full_of_entries(void **state)
{
    (void)state;
    static uint32_t entry[STACKS_MAX + 100];
    uint32_t lost = 0;
    for (uint32_t i = 0; i < ARRAY_LEN(entry); i++) lost += !(entry[i] = intern(i, 3));
    assert_int_equal(lost, 101); /* entry 0 is reserved */
    assert_int_equal(stacks_count(&table), STACKS_MAX);
    for (uint32_t i = 0; i < ARRAY_LEN(entry); i++) assert_int_equal(intern(i, 3), entry[i]);
}

static void full_of_addresses(void **state)
{
    (void)state;
    uint32_t had = 0;
    while (intern(had, 64)) had++;
    assert_int_equal(had, STACKS_PCS / 64);
    assert_int_equal(intern(0, 64), 1); /* stored stacks are found */
    assert_int_equal(intern(had, 64), 0);
}

enum { THREADS = 4, DISTINCT = 500, ROUNDS = 20 };
static uint32_t seen[THREADS][DISTINCT];

static void *work(void *arg)
{
    uint32_t me = (uint32_t)(uintptr_t)arg;
    for (uint32_t r = 0; r < ROUNDS; r++)
        for (uint32_t i = 0; i < DISTINCT; i++) {
            uint32_t at = intern(i, 6);
            if (!r) seen[me][i] = at;
            if (seen[me][i] != at) seen[me][i] = UINT32_MAX;
            atomic_fetch_add(&stacks_at(&table, at)->alloc_objects, 1);
        }
    return NULL;
}

static void threads_agree(void **state)
{
    (void)state;
    pthread_t t[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    for (uint32_t i = 0; i < DISTINCT; i++) {
        for (int k = 1; k < THREADS; k++) assert_int_equal(seen[k][i], seen[0][i]);
        assert_int_equal(stacks_at(&table, seen[0][i])->alloc_objects, THREADS * ROUNDS);
    }
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_same_stack_is_one_entry),
        CASE(no_frames_is_entry_0),
        CASE(collisions),
        CASE(full_of_entries),
        CASE(full_of_addresses),
        CASE(threads_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
