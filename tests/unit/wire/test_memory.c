/* Memory limits: every allocation may fail, and a message needs at most a multiple of its size. */
#include "../../support/random_model.h"
#include "../../support/test.h"
#include "../../support/wiretext.h"

#include "model/merge.h"
#include "wire/otlp.h"

#include <string.h>

/* ---- sweeps ---- */

static const struct {
    const char *file;
    layout layout;
} inputs[] = {
    {"v1_10/minimal.bin", LAYOUT_1_10},
    {"v1_10/basic.bin", LAYOUT_1_10},
    {"v1_10/anyvalue.bin", LAYOUT_1_10},
    {"v1_10/payload.bin", LAYOUT_1_10},
    {"ambiguous/v1_10-chunks.bin", LAYOUT_1_10},
    {"ambiguous/v1_10-split-oneof.bin", LAYOUT_1_10},
    {"ambiguous/v1_10-split-resource.bin", LAYOUT_1_10},
    {"v1_9/multi.bin", LAYOUT_1_9},
    {"v1_8/multi.bin", LAYOUT_1_8},
    {"v1_8/basic.bin", LAYOUT_1_8},
    {"v1_10/basic.bin", LAYOUT_UNKNOWN},
};

static void decode_sweep(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(inputs); i++) {
        buf in = test_vector(inputs[i].file);
        arena whole = {0};
        model want;
        err e = {0};
        otlp_decode_opts o = {.layout = inputs[i].layout};
        assert_ok(otlp_decode(in.p, in.n, &o, &whole, &want, &e), &e);
        bool ok = false;
        for (size_t budget = 16; !ok; budget += 16) {
            arena a = {.budget = budget};
            model m;
            e = (err){0};
            ok = otlp_decode(in.p, in.n, &o, &a, &m, &e);
            if (ok) {
                if (!model_equal(&want, &m, &e))
                    fail_msg("%s at budget %zu: %s", inputs[i].file, budget, e.path);
            } else {
                char text[96];
                snprintf(text, sizeof text,
                         "decoding needs more than the memory budget of %zu bytes", budget);
                assert_int_equal(e.code, ERR_MEMORY);
                assert_string_equal(e.msg, text);
                assert_u64(m.profiles.n, 0); /* no partial model is returned */
            }
            assert_true(a.peak <= budget);
            assert_true(budget < 1 << 20);
            arena_free(&a);
        }
        arena_free(&whole);
        buf_free(&in);
    }
}

/* A used arena that is reset fails and succeeds like a fresh one. */
static void decode_sweep_with_one_arena(void **state)
{
    (void)state;
    buf in = test_vector("v1_10/basic.bin");
    arena a = {0};
    size_t first_ok = 0;
    for (size_t budget = 64; budget < 64 * 1024; budget += 64) {
        model m;
        err e = {0};
        a.budget = budget;
        bool ok =
            otlp_decode(in.p, in.n, &(otlp_decode_opts){.layout = LAYOUT_CURRENT}, &a, &m, &e);
        if (ok && !first_ok) first_ok = budget;
        if (first_ok) assert_ok(ok, &e); /* more memory does not make it fail again */
        arena_reset(&a);
    }
    assert_true(first_ok > 0);
    arena_free(&a);
    buf_free(&in);
}

/* The limit of the buffer is exact: one byte less than the message fails. */
static void encode_sweep(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 12; seed++) {
        arena a = {0};
        rng r = {seed};
        model m = random_model(&r, &a, &(random_opts){.max_samples = 20});
        for (int how = 0; how < 3; how++) {
            otlp_encode_opts o = {.layout = how == 1 ? LAYOUT_1_9 : LAYOUT_CURRENT,
                                  .string_refs = how == 2};
            buf whole = {0};
            err e = {0};
            assert_ok(otlp_encode(&m, &o, &whole, &e), &e);
            size_t step = whole.n / 50 + 1;
            for (size_t limit = 1;
                 limit<whole.n + 2 * step; limit += limit + 2> whole.n && limit < whole.n + 2
                     ? 1
                     : step) {
                buf b = {.limit = limit};
                e = (err){0};
                bool ok = otlp_encode(&m, &o, &b, &e);
                assert_int_equal(ok, limit >= whole.n);
                if (ok)
                    assert_memory_equal(b.p, whole.p, whole.n);
                else
                    assert_int_equal(e.code, ERR_MEMORY);
                buf_free(&b);
                /* Appends to a buffer that is not empty. */
                b = (buf){.limit = limit + 3};
                buf_z(&b, "abc");
                e = (err){0};
                ok = otlp_encode(&m, &o, &b, &e);
                assert_int_equal(ok, limit >= whole.n);
                assert_memory_equal(b.p, "abc", 3);
                buf_free(&b);
            }
            buf_free(&whole);
        }
        arena_free(&a);
    }
}

/* ---- amplification ---- */

/* Builds a message of about `n` bytes that repeats `unit` inside the messages `outer`, outermost
 * last. */
static buf repeat(const char *unit, size_t n, const uint32_t *outer)
{
    buf one = wire_bytes(unit, NULL), b = {0};
    while (b.n < n) buf_str(&b, buf_view(&one));
    buf_free(&one);
    for (; *outer; outer++) {
        buf out = {0};
        pb_put_bytes(&out, *outer, buf_view(&b));
        buf_free(&b);
        b = out;
    }
    return b;
}

/* `times` is the maximum number of bytes of memory per byte of input.  The envelope costs more than
 * the tables: an empty Profile has two bytes and needs its own columns. */
static const struct {
    const char *name, *unit;
    uint32_t outer[6];
    size_t times;
} costs[] = {
    {"empty mappings", "1{}", {2}, 48},
    {"empty locations", "2{}", {2}, 48},
    {"empty functions", "3{}", {2}, 48},
    {"empty links", "4{}", {2}, 48},
    {"empty strings", "5\"\"", {2}, 48},
    {"empty attributes", "6{}", {2}, 48},
    {"empty stacks", "7{}", {2}, 24},
    {"empty lines", "3{}", {2, 2}, 48},
    {"frames", "1:1", {7, 2}, 24},
    {"empty dictionaries", "2{}", {0}, 24},
    {"empty samples", "2{}", {2, 2, 1}, 24},
    {"samples of mixed shape", "2{} 2{ 3:1 2:1 4:1 5@1 }", {2, 2, 1}, 24},
    {"packed values", "|01|", {4, 2, 2, 2, 1}, 24},
    {"packed attributes", "|01|", {2, 2, 2, 2, 1}, 24},
    {"empty list elements", "1{}", {5, 2, 6, 2}, 24},
    {"empty map elements", "1{}", {6, 2, 6, 2}, 32},
    {"an array in many records", "5{ 1{} }", {2, 6, 2}, 24},
    {"a map in many records", "6{ 1{} }", {2, 6, 2}, 24},
    {"a value in many records", "2{ 5{ 1{} } }", {6, 2}, 24},
    {"a resource in many records", "1{ 1{} }", {1}, 24},
    {"entity refs in many records", "1{ 3{} }", {1}, 64},
    {"a scope in many records", "1{ 3{} }", {2, 1}, 24},
    {"empty entity refs", "3{}", {1, 1}, 64},
    {"lists of one", "1{ 6{ 1{} } }", {5, 2, 6, 2}, 24},
    {"empty resources", "1{}", {0}, 96},
    {"empty scopes", "2{}", {1}, 128},
    {"empty profiles", "2{}", {2, 1}, 256},
    {"profiles of mixed shape", "2{ 2{} 2{ 2:1 3:1 4:1 5@1 } }", {2, 1}, 128},
};

static void memory_is_a_multiple_of_the_input(void **state)
{
    (void)state;
    static const size_t sizes[] = {40, 1000, 50000, 700000};
    bool bad = false;
    for (size_t i = 0; i < ARRAY_LEN(costs); i++) {
        for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
            buf in = repeat(costs[i].unit, sizes[k], costs[i].outer);
            for (int lenient = 0; lenient < 2; lenient++) {
                arena a = {0};
                model m;
                err e = {0};
                /* Only the memory is checked, not the result. */
                bool ok = otlp_decode(
                    in.p, in.n, &(otlp_decode_opts){.layout = LAYOUT_CURRENT, .lenient = lenient},
                    &a, &m, &e);
                if (!ok) assert_true(e.code == ERR_MALFORMED || err_exhausted(&e));
                if (a.peak > 65536 + costs[i].times * in.n) {
                    print_message("# %s: %zu bytes cost %zu, %zu times\n", costs[i].name, in.n,
                                  a.peak, a.peak / in.n);
                    bad = true;
                }
                arena_free(&a);
            }
            buf_free(&in);
        }
    }
    assert_false(bad);
}

/* Messages of forty bytes with a length of four gigabytes, in every field that has a length. */
static void claims_cost_nothing(void **state)
{
    (void)state;
    static const char *const claims[] = {
        "|0a ff ff ff ff 0f| 900<000000000000000000000000000000000000000000000000000000000000>",
        "1{ |12 ff ff ff ff 0f| 900<0000000000000000000000000000000000000000000000000000> }",
        "1{ 2{ 2{ |12 ff ff ff ff 0f| 900<000000000000000000000000000000000000000000> } } }",
        "1{ 2{ 2{ 2{ |12 ff ff ff ff 0f| 900<0000000000000000000000000000000000000000> } } } }",
        "1{ 2{ 2{ 2{ |22 ff ff ff ff 0f| 900<0000000000000000000000000000000000000000> } } } }",
        "1{ 2{ 2{ 2{ |2a f8 ff ff ff 0f| 900<0000000000000000000000000000000000000000> } } } }",
        "2{ |2a ff ff ff ff 0f| 900<0000000000000000000000000000000000000000000000000000> }",
        "2{ 7{ |0a ff ff ff ff 0f| 900<00000000000000000000000000000000000000000000000000> } }",
        "2{ 2{ |1a ff ff ff ff 0f| 900<00000000000000000000000000000000000000000000000000> } }",
        "2{ 6{ 2{ |2a ff ff ff ff 0f| 900<00000000000000000000000000000000000000000000> } } }",
    };
    for (size_t i = 0; i < ARRAY_LEN(claims); i++) {
        buf in = wire_bytes(claims[i], NULL);
        arena a = {0};
        model m;
        err e = {0};
        assert_true(in.n <= 48);
        assert_false(
            otlp_decode(in.p, in.n, &(otlp_decode_opts){.layout = LAYOUT_CURRENT}, &a, &m, &e));
        assert_int_equal(e.code, ERR_MALFORMED);
        assert_true(a.peak <= 65536);
        arena_free(&a);
        buf_free(&in);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(decode_sweep),        cmocka_unit_test(decode_sweep_with_one_arena),
        cmocka_unit_test(encode_sweep),        cmocka_unit_test(memory_is_a_multiple_of_the_input),
        cmocka_unit_test(claims_cost_nothing),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
