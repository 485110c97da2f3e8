/* Tests recordings of several chunks, and unfinished, truncated, damaged and hostile ones. */
#include "format/format.h"

#include "../../support/jfr_example.h"

/* ---- chunks ---- */

static void test_chunks(void **state)
{
    (void)state;
    jm one = example(false), m = {0};
    buf_str(&m.out, buf_view(&one.out));
    buf_str(&m.out, buf_view(&one.out));
    arena a = {0};
    err e = {0};
    model out;
    assert_ok(read_it(&m, NULL, &a, &out, &e), &e);
    assert_int_equal(out.profiles.n, 6);
    assert_sample(&out, profile_named(&out, "cpu", "nanoseconds"), 1,
                  "app.Main.run[jvm] | thread.id=78 thread.name=VM Thread "
                  "thread.state=STATE_RUNNABLE kiln.stack.truncated=1 | 300 300 | "
                  "20000000 20000000");
    arena_free(&a);

    /* A truncated header, and bytes that are not a header. */
    ledger l = {0};
    buf_put(&m.out, "FLR\0\0\2", 6);
    assert_ok(read_it(&m, &(read_opts){.ledger = &l}, &a, &out, &e), &e);
    assert_u64(n_observations(&out), 20);
    assert_int_equal(l.v[l.n - 1].concept, LOSS_TRUNCATED);
    m.out.n -= 6;
    buf_put(&m.out, "trailing bytes that no chunk begins with, many of them, more than a header",
            70);
    assert_false(read_it(&m, NULL, &a, &out, &e));
    assert_string_equal(e.path, "chunk[2]");
    arena_free(&a);
    buf_free(&m.out), buf_free(&one.out);
}

/* After the recorder was killed, all flushed events are read. */
static void test_open_chunk(void **state)
{
    (void)state;
    for (int size_known = 0; size_known < 2; size_known++) {
        jm m = example(false);
        m.out.p[64] = 4;
        if (!size_known) memset(m.out.p + 8, 0, 8);
        jm_begin(&m, T_EXECUTION); /* still being written */
        buf_put(&m.out, "\x20", 1);
        m.out.p[m.event] = 100;
        arena a = {0};
        err e = {0};
        model out;
        ledger l = {0};
        assert_ok(read_it(&m, &(read_opts){.ledger = &l}, &a, &out, &e), &e);
        check_example(&out);
        assert_int_equal(l.v[0].concept, LOSS_TRUNCATED);
        assert_string_equal(l.v[0].path, "chunk[0]");
        arena_free(&a);
        buf_free(&m.out);
    }
}

/* Any number of bytes may follow the last flush. */
static void test_open_tail(void **state)
{
    (void)state;
    for (size_t n = 1; n < 100; n++) {
        jm one = example(false);
        one.out.p[64] = 4;
        char *p = malloc(one.out.n + n);
        assert_non_null(p);
        memcpy(p, one.out.p, one.out.n);
        memset(p + one.out.n, 'x', n);
        jm m = {.out = {.p = p, .n = one.out.n + n}};
        arena a = {0};
        err e = {0};
        model out;
        ledger l = {0};
        assert_ok(read_it(&m, &(read_opts){.ledger = &l}, &a, &out, &e), &e);
        check_example(&out);
        assert_u64(l.v[0].count, 2); /* the open chunk, and the bytes after the last flush */
        arena_free(&a);
        buf_free(&one.out);
        free(p);
    }
}

/* A file truncated inside the header gives an error; later, its complete events are read. */
static void test_every_length(void **state)
{
    (void)state;
    for (int fixed = 0; fixed < 2; fixed++) {
        jm m = example(fixed);
        uint64_t all = 10, most = 0;
        size_t whole = m.out.n;
        for (size_t n = 0; n < whole; n++) {
            char *p = malloc(n + 1); /* exactly n bytes: sanitizers detect a read past the end */
            assert_non_null(p);
            memcpy(p, m.out.p, n);
            jm cut = {.out = {.p = p, .n = n}};
            arena a = {0};
            err e = {0};
            model out;
            ledger l = {0};
            bool ok = read_it(&cut, &(read_opts){.ledger = &l}, &a, &out, &e);
            if (n == 0) {
                assert_true(ok); /* no chunk at all; the caller rejects empty inputs */
            } else if (n < 68) {
                assert_false(ok);
                assert_int_equal(e.code, ERR_MALFORMED);
                assert_true(e.offset <= n);
            } else {
                assert_ok(ok, &e);
                assert_true(ledger_lost(&l));
                uint64_t got = n_observations(&out);
                assert_true(got >= most && got <= all);
                most = got;
            }
            arena_free(&a);
            free(p);
        }
        buf_free(&m.out);
    }
}

static void test_no_memory(void **state)
{
    (void)state;
    jm m = example(false);
    bool done = false;
    for (size_t budget = 64; !done; budget += 256) {
        arena a = {.budget = budget};
        err e = {0};
        model out;
        done = read_it(&m, NULL, &a, &out, &e);
        if (done)
            check_example(&out);
        else
            assert_int_equal(e.code, ERR_MEMORY);
        arena_free(&a);
        assert_true(budget < 4 << 20);
    }
    buf_free(&m.out);
}

/* ---- malformed recordings ---- */

static void poke(jm *m, size_t at, const char *bytes, size_t n) { memcpy(m->out.p + at, bytes, n); }

static void test_errors(void **state)
{
    (void)state;
    enum {
        V9,
        V3,
        MAGIC,
        SIZE,
        TICKS,
        NO_METADATA,
        ZERO,
        LONG_EVENT,
        NO_TYPE,
        CUT_METADATA,
        CUT_EVENT
    };
    static const struct {
        int how;
        err_code code;
        const char *msg;
        uint64_t offset;
    } cases[] = {
        {V9, ERR_UNSUPPORTED,
         "JFR 0.9 of Oracle JDK 7 or 8 has another layout, which Kiln does not read; record with "
         "JDK "
         "8u262 or newer",
         4},
        {V3, ERR_UNSUPPORTED, "JFR 3.0 is newer than 2.x, the last version that Kiln reads", 4},
        {MAGIC, ERR_MALFORMED, "expected a chunk here (\"FLR\" and a zero byte)", 0},
        {SIZE, ERR_MALFORMED, "the chunk size is 10 bytes, less than its header of 68", 8},
        {TICKS, ERR_MALFORMED, "0 ticks per second", 56},
        {NO_METADATA, ERR_MALFORMED, "the chunk has no metadata", 0},
        {ZERO, ERR_MALFORMED, "an event has size 0 or exceeds the rest of the chunk", 68},
        {LONG_EVENT, ERR_MALFORMED, "an event has size 0 or exceeds the rest of the chunk", 68},
        {NO_TYPE, ERR_MALFORMED, "constants of type 777, which the metadata does not define", 0},
        {CUT_METADATA, ERR_MALFORMED, "the metadata is truncated or has an undefined reference", 0},
        {CUT_EVENT, ERR_MALFORMED, "an event jdk.ExecutionSample is truncated", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        jm m = cases[i].how == NO_METADATA ? (jm){0} : opened(false);
        uint64_t offset = cases[i].offset;
        switch (cases[i].how) {
        case NO_METADATA: jm_chunk(&m, header); break;
        case NO_TYPE:
            jm_checkpoint(&m, 1);
            offset = m.out.n;
            jm_pool(&m, 777, 1), jm_long(&m, 1), jm_long(&m, 1);
            jm_end(&m);
            break;
        case CUT_METADATA:
            offset = m.out.n + 10;
            jm_begin(&m, 0);
            buf_put(&m.out, "\0\0\0\1\3\7", 6); /* the length is seven, but one byte follows */
            jm_byte(&m, 'x');
            jm_end(&m);
            offset = m.out.n - 1;
            break;
        case CUT_EVENT:
            jm_begin(&m, T_EXECUTION);
            offset = m.out.n;
            jm_long(&m, 5000);
            jm_end(&m);
            break;
        default: break;
        }
        jm_chunk_end(&m);
        switch (cases[i].how) {
        case V9: poke(&m, 4, "\0\0\0\11", 4); break;
        case V3: poke(&m, 4, "\0\3\0\0", 4); break;
        case MAGIC: poke(&m, 0, "FLX", 3); break;
        case SIZE: poke(&m, 8, "\0\0\0\0\0\0\0\12", 8); break;
        case TICKS: memset(m.out.p + 56, 0, 8); break;
        case ZERO: memset(m.out.p + 68, 0, 4); break;
        case LONG_EVENT: memset(m.out.p + 68, 0x7f, 1), poke(&m, 68, "\xff\xff\xff\x7f", 4); break;
        default: break;
        }
        arena a = {0};
        err e = {0};
        model out;
        assert_false(read_it(&m, NULL, &a, &out, &e));
        assert_string_equal(e.msg, cases[i].msg);
        assert_int_equal(e.code, cases[i].code);
        assert_u64(e.offset, offset);
        assert_int_equal(strncmp(e.path, "chunk[0]", 8), 0);
        arena_free(&a);
        buf_free(&m.out);
    }
}

/* Metadata that would make a naive reader loop, recurse or confuse types. */
static void test_hostile(void **state)
{
    (void)state;
    enum { N = 60 };
    static jm_class c[N + ARRAY_LEN(classes)];
    static char names[N][8];
    memcpy(c, classes, sizeof classes);
    /* Nested structs, each with five of the next and an empty one at the bottom: 5^59 in all. */
    for (unsigned i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "t%u", i);
        c[ARRAY_LEN(classes) + i] = (jm_class){.id = 100 + i, .name = names[i]};
        for (unsigned k = 0; k < 5 && i + 1 < N; k++)
            c[ARRAY_LEN(classes) + i].fields[k] = (jm_field){"f", 101 + i, .array = i % 20 == 0};
    }
    c[ARRAY_LEN(classes) + N - 1].fields[0] = (jm_field)PLAIN("self", 100 + N - 1);
    jm m = {0};
    jm_chunk(&m, header);
    jm_metadata(&m, c, ARRAY_LEN(c));
    put_constants(&m);
    put_execution(&m, 5000, 1, 12345); /* an undefined stack */
    jm_begin(&m, 100), jm_end(&m);
    jm_begin(&m, 4096), jm_end(&m); /* an undefined type */
    jm_chunk_end(&m);
    arena a = {.budget = 8 << 20};
    err e = {0};
    model out;
    ledger l = {0};
    assert_ok(read_it(&m, &(read_opts){.ledger = &l}, &a, &out, &e), &e);
    assert_sample(&out, &out.profiles.v[0], 0,
                  "| thread.id=77 thread.name=main kiln.jfr.thread_id=1 "
                  "thread.state=STATE_RUNNABLE | 0 |");
    assert_int_equal(l.v[l.n - 1].concept, LOSS_INDEX_REPAIRED);
    arena_free(&a);
    buf_free(&m.out);

    /* A constant of the type that contains itself. */
    m = (jm){0};
    jm_chunk(&m, header);
    jm_metadata(&m, c, ARRAY_LEN(c));
    jm_checkpoint(&m, 1);
    jm_pool(&m, 100 + N - 1, 3), jm_long(&m, 1);
    jm_end(&m);
    jm_chunk_end(&m);
    assert_false(read_it(&m, NULL, &a, &out, &e));
    assert_string_equal(e.msg, "constants of type 159, which the metadata defines recursively");
    arena_free(&a);
    buf_free(&m.out);
}

/* The same constants are used as text and as stacks. */
static void test_constants_of_two_kinds(void **state)
{
    (void)state;
    static jm_class c[ARRAY_LEN(classes)];
    memcpy(c, classes, sizeof classes);
    for (size_t i = 0; i < ARRAY_LEN(c); i++)
        if (c[i].id == T_EXECUTION)
            for (int k = 1; k < 4; k++) c[i].fields[k].class_id = T_SYMBOL;
    jm m = {0};
    jm_chunk(&m, header);
    jm_metadata(&m, c, ARRAY_LEN(c));
    put_constants(&m);
    for (uint64_t k = 1; k < 8; k++) put_execution(&m, 5000, k, 8 - k);
    jm_chunk_end(&m);
    arena a = {0};
    err e = {0};
    model out;
    assert_ok(read_it(&m, NULL, &a, &out, &e), &e);
    assert_u64(n_observations(&out), 7);
    arena_free(&a);
    buf_free(&m.out);
}

/* Changes every byte in turn: no crash, no endless loop; the result is an error with an offset or a
 * checked model. */
static void test_every_byte(void **state)
{
    (void)state;
    static const uint8_t masks[] = {0x01, 0x7f, 0x80, 0xff};
    jm m = example(false);
    for (size_t i = 0; i < m.out.n; i++)
        for (size_t k = 0; k < ARRAY_LEN(masks); k++) {
            char kept = m.out.p[i];
            m.out.p[i] = (char)(kept ^ masks[k]);
            arena a = {.budget = 16 << 20};
            err e = {0};
            model out;
            if (read_it(&m, NULL, &a, &out, &e)) {
                assert_true(out.checked);
            } else {
                assert_true(e.msg[0] && (e.offset <= m.out.n || e.offset == NO_OFFSET));
            }
            arena_free(&a);
            m.out.p[i] = kept;
        }
    buf_free(&m.out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunks),     cmocka_unit_test(test_open_chunk),
        cmocka_unit_test(test_open_tail),  cmocka_unit_test(test_every_length),
        cmocka_unit_test(test_no_memory),  cmocka_unit_test(test_errors),
        cmocka_unit_test(test_hostile),    cmocka_unit_test(test_constants_of_two_kinds),
        cmocka_unit_test(test_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
