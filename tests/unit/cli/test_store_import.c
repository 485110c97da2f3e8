/* Imports into a store with small limits.  The import commits, compacts and continues. */
#include "../../support/numbered.h"
#include "../../support/store_test.h"

#include "cli/store_import.h"
#include "wire/otlp.h"

enum { MESSAGES = 60, PAYLOAD = 8 << 10 };

/* Writes messages in the Collector's framing, each with one profile of `bytes` bytes. */
static void write_file(const char *path, size_t messages, size_t bytes)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    char *payload = calloc(1, bytes);
    for (size_t i = 0; i < messages; i++) {
        arena a = {0};
        buf b = {0};
        model m;
        err e = {0};
        assert_true(numbered_model(&a, i, &m));
        m.profiles.v[0].original_payload_format = STR("zeros");
        m.profiles.v[0].original_payload = (str){payload, bytes};
        assert_ok(otlp_encode(&m, NULL, &b, &e), &e);
        uint8_t head[4] = {(uint8_t)(b.n >> 24), (uint8_t)(b.n >> 16), (uint8_t)(b.n >> 8),
                           (uint8_t)b.n};
        assert_true(fwrite(head, 1, 4, f) == 4 && fwrite(b.p, 1, b.n, f) == b.n);
        buf_free(&b);
        arena_free(&a);
    }
    free(payload);
    assert_int_equal(fclose(f), 0);
}

/* Imports the file twice and checks that everything is stored once.  Returns how often the store
 * was compacted. */
static size_t import_twice(const embedded_opts *o, size_t messages, size_t bytes)
{
    under_test *t = begin(o, NULL);
    char path[128];
    cli c = {0};
    err e = {0};
    uint32_t count[MESSAGES] = {0};
    snprintf(path, sizeof path, "%s.otlp", t->p.dir);
    write_file(path, messages, bytes);
    importing x = {.c = &c, .store = t->s}, again = x;
    assert_true(import_file(&x, path));
    assert_u64(x.stored, messages);
    assert_u64(x.duplicates, 0);
    assert_true(import_file(&again, path));
    assert_u64(again.stored, 0);
    assert_u64(again.duplicates, messages);
    assert_ok(numbered_count(store_own_reader(t->s), count, messages, &e), &e);
    for (size_t i = 0; i < messages; i++) assert_int_equal(count[i], 1);
    assert_u64(store_counted(t->s).rejected_backlog, 0);
    unlink(path);
    end(t);
    return x.n_compacted;
}

static void waits_for_the_backlog(void **state)
{
    (void)state;
    size_t most = MESSAGES * PAYLOAD / 8,
           n = import_twice(&(embedded_opts){.no_threads = true, .store.max_backlog = most},
                            MESSAGES, PAYLOAD);
    assert_in_range(n, 7, 12);
}

static void waits_for_the_queue(void **state)
{
    (void)state;
    size_t most = MESSAGES * PAYLOAD / 4,
           n = import_twice(&(embedded_opts){.no_threads = true, .store.max_queue = most}, MESSAGES,
                            PAYLOAD);
    assert_in_range(n, 3, 6);
}

/* Two profiles, each larger than both limits.  The second waits until the first is compacted. */
static void accepts_one_that_is_larger_than_the_limits(void **state)
{
    (void)state;
    embedded_opts o = {
        .no_threads = true, .store.max_queue = 64 << 10, .store.max_backlog = 64 << 10};
    assert_int_equal(import_twice(&o, 1, 1 << 20), 0);
    assert_in_range(import_twice(&o, 3, 1 << 20), 2, 4);
}

/* A profile that is large enough to be written without copying. */
static void lends_what_is_large(void **state)
{
    (void)state;
    assert_int_equal(import_twice(&(embedded_opts){.no_threads = true}, 2, 9 << 20), 0);
}

/* Messages before a damaged one are stored. */
static void stores_what_is_before_an_error(void **state)
{
    (void)state;
    under_test *t = begin(NULL, NULL);
    char path[128];
    cli c = {0};
    snprintf(path, sizeof path, "%s.otlp", t->p.dir);
    write_file(path, 4, 100);
    FILE *f = fopen(path, "ab");
    assert_non_null(f);
    assert_int_equal(fwrite("\0\0\0\3\xff\xff\xff", 1, 7, f), 7);
    assert_int_equal(fclose(f), 0);
    importing x = {.c = &c, .store = t->s};
    assert_false(import_file(&x, path));
    assert_u64(x.stored, 4);
    assert_int_equal(c.worst, EXIT_BAD_INPUT);
    unlink(path);
    end(t);
}

/* A truncated file is stored up to the last complete message, and the loss is reported. */
static void stores_what_is_whole(void **state)
{
    (void)state;
    under_test *t = begin(NULL, NULL);
    char path[128];
    cli c = {0};
    struct stat st;
    snprintf(path, sizeof path, "%s.otlp", t->p.dir);
    write_file(path, 5, 100);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(truncate(path, st.st_size - 10), 0);
    importing x = {.c = &c, .store = t->s};
    assert_true(import_file(&x, path));
    assert_u64(x.stored, 4);
    assert_int_equal(c.worst, EXIT_FINE);
    unlink(path);
    end(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_for_the_backlog),
        cmocka_unit_test(waits_for_the_queue),
        cmocka_unit_test(accepts_one_that_is_larger_than_the_limits),
        cmocka_unit_test(lends_what_is_large),
        cmocka_unit_test(stores_what_is_before_an_error),
        cmocka_unit_test(stores_what_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
