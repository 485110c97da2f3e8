/* Tests that columns decode to the encoded values, and that the bits below the classes are packed
 * lowest first. */
#include "../../support/random_model.h"
#include "../../support/test.h"

#include "store/column.h"

enum { N = 4000 };

/* Fills v with numbers of up to most_bits bits with both signs in any order, including the limits
 * of the range. */
static void values_of(rng *r, unsigned most_bits, int64_t *v)
{
    for (size_t i = 0; i < N; i++) {
        uint64_t bits = rnd(r) % (most_bits + 1), x = bits ? rnd(r) >> (64 - bits) : 0;
        v[i] = (int64_t)(rnd(r) & 1 ? 0 - x : x);
    }
    v[0] = 0;
    v[N / 2] = most_bits == 64 ? INT64_MIN : -1;
    v[N - 1] = most_bits == 64 ? INT64_MAX : 1;
}

/* Packs the bits of each value below its highest, one at a time; returns the bytes. */
static size_t bits_one_by_one(const int64_t *v, uint8_t *out)
{
    size_t at = 0;
    for (size_t i = 0; i < N; i++) {
        uint64_t s = v[i] < 0 ? 0 - (uint64_t)v[i] : (uint64_t)v[i];
        for (unsigned k = 0; s >> k > 1; k++, at++)
            if (s >> k & 1) out[at / 8] |= (uint8_t)(1u << (at & 7));
    }
    return (at + 7) / 8;
}

static void every_size_comes_back(void **state)
{
    (void)state;
    rng r = {rnd_seed(20261116)};
    zipper z = {0};
    for (unsigned most = 1; most <= 64; most++) {
        static int64_t v[N], back[N];
        static uint8_t bits[N * 8];
        buf out = {0};
        values_of(&r, most, v);
        put_column(&out, v, N, COLUMN_NOISE, &z); /* encodes as CLASSES */
        assert_false(out.failed);
        memset(bits, 0, sizeof bits);
        size_t n = bits_one_by_one(v, bits);
        assert_true(out.n > n);
        if (n) assert_memory_equal(out.p + out.n - n, bits, n);
        taker t = taker_of(buf_view(&out));
        assert_true(take_column(&t, back, N, &z));
        assert_u64(taker_left(&t), 0);
        assert_memory_equal(back, v, sizeof v);
        buf_free(&out);
    }
    zipper_free(&z);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_size_comes_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
