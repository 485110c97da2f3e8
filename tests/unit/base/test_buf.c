/* Buffers: growth, the limit, and the unused head of a backward writer. */
#include "../../support/test.h"

#include "base/buf.h"

#include <string.h>

static void assert_holds(const buf *b, const char *want)
{
    assert_u64(b->n, strlen(want));
    assert_memory_equal(b->p, want, b->n);
}

static void writers_append(void **state)
{
    (void)state;
    buf b = {0};
    buf_z(&b, "a");
    buf_putc(&b, 'b');
    buf_str(&b, STR("cd"));
    buf_str(&b, (str){NULL, 0});
    buf_put(&b, "ef", 2);
    buf_printf(&b, "%d-%s", 7, "x");
    assert_holds(&b, "abcdef7-x");
    assert_false(b.failed);
    str v = buf_view(&b);
    assert_true(str_eq(v, STR("abcdef7-x")));
    buf_free(&b);
    assert_null(b.p);
}

static void numbers(void **state)
{
    (void)state;
    static const struct {
        int64_t v;
        const char *want;
    } cases[] = {
        {0, "0"},
        {9, "9"},
        {10, "10"},
        {-1, "-1"},
        {INT64_MAX, "9223372036854775807"},
        {INT64_MIN, "-9223372036854775808"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf b = {0};
        buf_i64(&b, cases[i].v);
        assert_holds(&b, cases[i].want);
        buf_free(&b);
    }
    buf b = {0};
    buf_u64(&b, UINT64_MAX);
    assert_holds(&b, "18446744073709551615");
    buf_free(&b);
}

static void long_text_grows(void **state)
{
    (void)state;
    buf b = {0};
    for (int i = 0; i < 100000; i++) buf_printf(&b, "%05d", i);
    assert_u64(b.n, 500000);
    assert_memory_equal(b.p + 5 * 54321, "54321", 5);
    buf_reset(&b);
    assert_u64(b.n, 0);
    assert_true(b.cap >= 500000); /* buf_reset keeps the memory */
    buf_free(&b);
}

/* The limit counts the contents, not the allocation; after a failure, writes are dropped. */
static void limit_is_exact(void **state)
{
    (void)state;
    for (size_t limit = 1; limit < 600; limit += 37) {
        buf b = {.limit = limit};
        for (size_t i = 0; i < limit; i++) buf_putc(&b, 'x');
        assert_false(b.failed);
        assert_u64(b.n, limit);
        buf_putc(&b, 'y');
        assert_true(b.failed);
        assert_u64(b.n, limit);
        buf_z(&b, "");
        assert_false(buf_reserve(&b, 0));
        buf_reset(&b);
        assert_false(b.failed);
        buf_putc(&b, 'z');
        assert_holds(&b, "z");
        buf_free(&b);
        assert_u64(b.limit, limit);
    }
    buf b = {.limit = 5};
    buf_printf(&b, "%s", "12345"); /* the terminating NUL does not count */
    assert_false(b.failed);
    assert_holds(&b, "12345");
    buf_printf(&b, "%d", 6);
    assert_true(b.failed);
    buf_free(&b);
}

static void absurd_sizes_fail(void **state)
{
    (void)state;
    buf b = {0};
    buf_putc(&b, 'x');
    assert_false(buf_reserve(&b, SIZE_MAX));
    assert_true(b.failed);
    buf_free(&b);
}

/* A backward writer leaves free bytes before p. Growing uses them, and buf_free frees them. */
static buf backward(size_t cap, const char *text)
{
    buf b = {0};
    assert_true(buf_reserve(&b, cap));
    size_t n = strlen(text), all = b.cap;
    memcpy(b.p + all - n, text, n);
    b.head = all - n;
    b.p += b.head;
    b.n = b.cap = n;
    return b;
}

static void head_is_room(void **state)
{
    (void)state;
    buf b = backward(1000, "tail");
    char *base = b.p - b.head;
    assert_true(str_eq(buf_view(&b), STR("tail")));
    buf_z(&b, " and more");
    assert_holds(&b, "tail and more");
    assert_u64(b.head, 0);
    assert_ptr_equal(b.p, base); /* the contents moved to the front; nothing was allocated */
    buf_free(&b);

    b = backward(1000, "tail");
    for (int i = 0; i < 1000; i++) buf_z(&b, "0123456789"); /* beyond the head: realloc */
    assert_u64(b.n, 10004);
    assert_memory_equal(b.p, "tail0123", 8);
    buf_free(&b);
}

static void head_survives_reset_and_free(void **state)
{
    (void)state;
    buf b = backward(1000, "tail");
    size_t all = b.head + b.cap;
    buf_reset(&b);
    assert_u64(b.head, 0);
    assert_u64(b.cap, all);
    buf_z(&b, "again");
    assert_holds(&b, "again");
    buf_free(&b);
    b = backward(300, "x");
    buf_free(&b); /* the sanitizer detects a wrong pointer */
    assert_null(b.p);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(writers_append),
        cmocka_unit_test(numbers),
        cmocka_unit_test(long_text_grows),
        cmocka_unit_test(limit_is_exact),
        cmocka_unit_test(absurd_sizes_fail),
        cmocka_unit_test(head_is_room),
        cmocka_unit_test(head_survives_reset_and_free),
    };
    return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
