/* The slots of a round: each transition, late signals, and the race between sampler and handler
 * (under TSan too). */
#include "support/test.h"

#include "agent/signal/slot.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>

static slot *new_slot(void)
{
    slot *s = aligned_alloc(64, slot_bytes(8));
    assert_non_null(s);
    memset(s, 0, slot_bytes(8));
    return s;
}

static void test_answer(void **state)
{
    (void)state;
    slot *s = new_slot();
    bool ours;
    assert_int_equal(slot_state_of(s), SLOT_FREE);
    uint64_t ticket = slot_arm(s, 7);
    assert_u64(ticket_number(ticket), 7);
    assert_int_equal(slot_state_of(s), SLOT_ARMED);
    assert_true(slot_begin(s, ticket, &ours));
    assert_int_equal(slot_state_of(s), SLOT_WRITING);
    assert_false(slot_begin(s, ticket, &ours)); /* the same signal twice */
    assert_false(ours);
    assert_false(slot_give_up(s)); /* being written */
    slot_done(s, ticket);
    assert_int_equal(slot_state_of(s), SLOT_DONE);
    assert_false(slot_give_up(s));
    slot_free(s);
    assert_false(slot_begin(s, ticket, &ours));
    free(s);
}

/* A late signal finds its slot, writes no stack, and frees it. */
static void test_late(void **state)
{
    (void)state;
    slot *s = new_slot();
    bool ours;
    uint64_t ticket = slot_arm(s, 0);
    assert_true(slot_give_up(s));
    assert_int_equal(slot_state_of(s), SLOT_LATE);
    assert_false(slot_begin(s, ticket, &ours));
    assert_true(ours);
    assert_int_equal(slot_state_of(s), SLOT_DONE);
    free(s);
}

/* Signals of an earlier arming and invalid ones are foreign. */
static void test_foreign_signals(void **state)
{
    (void)state;
    slot *s = new_slot();
    bool ours;
    uint64_t old = slot_arm(s, 3);
    slot_free(s); /* its thread has ended */
    uint64_t ticket = slot_arm(s, 3);
    assert_true(ticket != old);
    const uint64_t wrong[] = {
        0, 3, old, ticket ^ UINT64_C(1) << 16, ticket | UINT64_C(1) << 63, UINT64_MAX};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        assert_false(slot_begin(s, wrong[i], &ours));
        assert_false(ours);
        assert_int_equal(slot_state_of(s), SLOT_ARMED);
    }
    assert_true(slot_begin(s, ticket, &ours));
    free(s);
}

/* The generation wraps around without losing the slot. */
static void test_generations(void **state)
{
    (void)state;
    slot *s = new_slot();
    bool ours;
    uint64_t last = UINT64_MAX >> SLOT_NUMBER_BITS;
    atomic_store(&s->word, slot_word(last - 1, SLOT_FREE));
    for (int i = 0; i < 4; i++) {
        uint64_t ticket = slot_arm(s, SLOTS_MAX - 1);
        assert_u64(ticket_number(ticket), SLOTS_MAX - 1);
        assert_true(slot_begin(s, ticket, &ours));
        slot_done(s, ticket);
        slot_free(s);
    }
    free(s);
}

typedef struct race {
    slot *s;
    _Atomic uint64_t ticket; /* 0: none */
    _Atomic bool over;
    uint64_t slots_done, late;
} race;

enum {
    RACES = 20000,
    RACES_S = 5
}; /* the test ends after so many seconds at the latest: with one CPU the threads alternate */

static time_t seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

/* Spins at full speed first, where the race is; then yields the CPU. */
static void spin(unsigned *n)
{
    if (++*n > 1000) sched_yield();
}

static void *answer_all(void *arg)
{
    race *r = arg;
    for (;;) {
        uint64_t t;
        bool ours;
        unsigned spins = 0;
        while (!(t = atomic_exchange(&r->ticket, 0)) && !r->over) spin(&spins);
        if (!t) return NULL;
        if (slot_begin(r->s, t, &ours)) {
            r->s->raw.time = t;
            r->slots_done++;
            slot_done(r->s, t);
        } else {
            assert_true(ours);
            r->late++;
        }
    }
}

/* The sampler gives up while the handler writes: exactly one of them succeeds, and a written stack
 * is complete. */
static void test_race(void **state)
{
    (void)state;
    race r = {.s = new_slot()};
    pthread_t t;
    uint64_t given_up = 0, seen = 0;
    assert_int_equal(pthread_create(&t, NULL, answer_all, &r), 0);
    time_t end = seconds() + RACES_S;
    for (int n = 0; n < RACES && seconds() < end; n++) {
        uint64_t ticket = slot_arm(r.s, 1);
        atomic_store(&r.ticket, ticket);
        for (volatile int i = 0; i < n % 64; i++) continue;
        bool gave_up = slot_give_up(r.s);
        given_up += gave_up;
        for (unsigned spins = 0; slot_state_of(r.s) != SLOT_DONE;) spin(&spins);
        if (!gave_up) {
            assert_u64(r.s->raw.time, ticket);
            seen++;
        }
        slot_free(r.s);
    }
    r.over = true;
    pthread_join(t, NULL);
    assert_true(given_up + seen > 0);
    assert_u64(given_up, r.late);
    assert_u64(seen, r.slots_done);
    free(r.s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answer),
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_foreign_signals),
        cmocka_unit_test(test_generations),
        cmocka_unit_test(test_race),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
