/* Batches: interning of stacks, threads, links and attributes, and the memory limit. */
#include "support/test.h"

#include "agent/batch.h"

#include <string.h>

static void test_stacks(void **state)
{
    (void)state;
    const uintptr_t a[] = {0x1000, 0x2000, 0x3000}, b[] = {0x1000, 0x2000, 0x3001};
    batch *x = batch_open(1 << 20, 42);
    uint32_t at, first;
    assert_non_null(x);
    assert_u64(x->pid, 42);
    assert_true(batch_stack(x, a, 3, UNWIND_WHOLE, true, &first));
    assert_true(batch_stack(x, a, 3, UNWIND_WHOLE, true, &at));
    assert_u64(at, first);
    assert_true(batch_stack(x, b, 3, UNWIND_WHOLE, true, &at));
    assert_true(at != first);
    assert_true(batch_stack(x, a, 2, UNWIND_WHOLE, true, &at));
    /* the end of a stack is part of its identity */
    assert_true(batch_stack(x, a, 3, UNWIND_CAPPED, true, &at));
    assert_true(batch_stack(x, NULL, 0, UNWIND_WHOLE, false, &at));
    assert_true(batch_stack(x, NULL, 0, UNWIND_WHOLE, false, &first));
    assert_u64(at, first);
    assert_u64(x->stacks.n, 5);
    assert_u64(x->pcs.n, 3 + 3 + 2 + 3);
    batch_close(x);
}

static void test_tables(void **state)
{
    (void)state;
    batch *x = batch_open(1 << 20, 1);
    agent_link l = {.trace_id = {1}, .span_id = {2}};
    agent_thread t = {.tid = 5, .index = 9, .name = "one"};
    uint32_t at;
    assert_non_null(x);
    assert_true(batch_link(x, &l, &at) && at == 1); /* 0 means no link */
    assert_true(batch_link(x, &l, &at) && at == 1);
    assert_true(batch_attrs(x, NULL, 0, &at) && at == 0);
    assert_true(batch_attrs(x, (const uint8_t *)"\1\1x", 3, &at) && at == 1);
    assert_true(batch_attrs(x, (const uint8_t *)"\1\1y", 3, &at) && at == 2);
    assert_true(batch_attrs(x, (const uint8_t *)"\1\1x", 3, &at) && at == 1);
    assert_true(batch_thread(x, &t, &at) && at == 0);
    strncpy(t.name, "two", sizeof t.name - 1); /* the batch keeps the first name */
    assert_true(batch_thread(x, &t, &at) && at == 0);
    assert_string_equal(x->threads.v[0].name, "one");
    t.index = 10; /* another thread with the same tid */
    assert_true(batch_thread(x, &t, &at) && at == 1);
    batch_close(x);
}

/* With any budget, accepted entries are complete and rejected ones leave nothing. */
static void test_budget(void **state)
{
    (void)state;
    for (size_t budget = 0; budget < 40000; budget += 400) {
        batch *x = batch_open(budget ? budget : 1, 1);
        if (!x) continue;
        uint32_t at, n = 0;
        uintptr_t pcs[16];
        for (; n < 200; n++) {
            for (size_t i = 0; i < ARRAY_LEN(pcs); i++) pcs[i] = n * 100 + i;
            if (!batch_stack(x, pcs, ARRAY_LEN(pcs), UNWIND_WHOLE, true, &at)) break;
            assert_u64(at, n);
        }
        assert_u64(x->stacks.n, n);
        for (uint32_t k = 0; k < n; k++) {
            const agent_stack *s = &x->stacks.v[k];
            assert_u64(s->first + s->n <= x->pcs.n, 1);
            assert_u64(x->pcs.v[s->first + 15], k * 100 + 15);
        }
        assert_true(x->mem.used <= budget);
        batch_close(x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stacks),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
