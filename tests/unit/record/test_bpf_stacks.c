/* Stacks by id: entries that are used survive a rotation, others do not, aliases are resolved. */
#include "record/bpf_stacks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void put(bpf_stacks *s, uint64_t id, const uintptr_t *words, uint16_t n)
{
    stack_entry x = {.id = id, .n_user = n};
    assert_true(bpf_stacks_put(s, &x, words));
}

static const stack_entry *find(bpf_stacks *s, uint64_t id, uintptr_t first)
{
    const uintptr_t *words;
    const stack_entry *x = bpf_stacks_find(s, id, &words);
    if (x) assert_int_equal(words[0], first);
    return x;
}

static void used_entries_survive(void **state)
{
    (void)state;
    bpf_stacks s = {0};
    const uintptr_t a[] = {10, 11, 12}, b[] = {20};
    put(&s, 1, a, 3);
    put(&s, 2, b, 1);
    bpf_stacks_rotate(&s);
    assert_non_null(find(&s, 1, 10)); /* moves to the current generation */
    bpf_stacks_rotate(&s);
    assert_non_null(find(&s, 1, 10));
    assert_null(find(&s, 2, 20));
    bpf_stacks_rotate(&s);
    bpf_stacks_rotate(&s);
    assert_null(find(&s, 1, 10));
    bpf_stacks_close(&s);
}

static void aliases_are_resolved(void **state)
{
    (void)state;
    bpf_stacks s = {0};
    const uintptr_t a[] = {10};
    stack_entry alias = {.id = BPF_STACK_UNIQUE | 5, .alias = 1};
    put(&s, 1, a, 1);
    assert_true(bpf_stacks_put(&s, &alias, a));
    bpf_stacks_rotate(&s);
    const stack_entry *x = find(&s, BPF_STACK_UNIQUE | 5, 10);
    assert_non_null(x);
    assert_int_equal(x->id, 1);
    bpf_stacks_rotate(&s); /* the alias and its stack have both moved */
    assert_non_null(find(&s, BPF_STACK_UNIQUE | 5, 10));
    bpf_stacks_close(&s);
}

static void many_entries(void **state)
{
    (void)state;
    bpf_stacks s = {0};
    for (uint64_t i = 1; i <= 10000; i++) {
        uintptr_t words[2] = {(uintptr_t)i * 7, 1};
        put(&s, i * 0x9e3779b97f4a7c15u, words, 2);
    }
    for (uint64_t i = 1; i <= 10000; i++)
        assert_non_null(find(&s, i * 0x9e3779b97f4a7c15u, (uintptr_t)i * 7));
    assert_null(find(&s, 3, 0));
    bpf_stacks_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(used_entries_survive),
        cmocka_unit_test(aliases_are_resolved),
        cmocka_unit_test(many_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
