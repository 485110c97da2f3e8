/* Reads and writes packed indices in every variant that the machine supports.  Compares them with
 * the plain writer of pb.c for every mix of lengths in one vector step, and checks the bounds of
 * memory accesses. */
#include "../../support/test.h"

#include "wire/otlp_hot.h"
#include "wire/pb.h"

#include <string.h>

enum { MOST = 80, GUARD = 0xa5 };

static void each_path(void (*check)(const hot_path *path))
{
    for (simd_mode s = SIMD_AUTO; s < SIMD_MODES; s++) {
        if (simd_runs(s))
            check(hot_path_of(s));
        else
            print_message("# skip: this machine has no %s\n", simd_name(s));
    }
}

static buf plain(const uint32_t *v, size_t n)
{
    buf b = {0};
    for (size_t i = 0; i < n; i++) pb_put_varint(&b, v[i]);
    return b;
}

static void guarded(const void *p, size_t n)
{
    for (size_t i = 0; i < n; i++) assert_int_equal(((const uint8_t *)p)[i], GUARD);
}

/* Checks what `path` writes for v[0 .. n). */
static void check_write(const hot_path *path, const uint32_t *v, size_t n, const buf *want)
{
    static uint8_t area[MOST * 5 + PACKED_PUT_ROOM + 128];
    size_t room = n * 5 + PACKED_PUT_ROOM;
    memset(area, GUARD, room + 128);
    uint8_t *end = area + 64 + room, *w = path->packed_put(end, v, n);
    assert_u64(end - w, want->n);
    if (n) assert_memory_equal(w, want->p, want->n);
    guarded(area, 64);
    guarded(end, 64);
}

/* Returns the number of integers that `path` reads from the bytes; -1 when they are malformed. */
static ptrdiff_t read_bytes(const hot_path *path, const void *p, size_t n, uint8_t behind,
                            uint32_t *to, uint32_t *max)
{
    static uint8_t in[MOST * 10 + HOT_MARGIN];
    assert_true(n <= MOST * 10);
    memset(in + n, behind, HOT_MARGIN);
    if (n) memcpy(in, p, n);
    memset(to + n + HOT_SLACK, GUARD, 64);
    ptrdiff_t got = path->packed_u32(in, in + n, to, max);
    guarded(to + n + HOT_SLACK, 64);
    return got;
}

static void check_read(const hot_path *path, const uint32_t *v, size_t n, const buf *in)
{
    static uint32_t to[MOST * 10 + HOT_SLACK + 16];
    uint32_t max = 3, largest = 3;
    for (size_t i = 0; i < n; i++) largest = v[i] > largest ? v[i] : largest;
    assert_u64(read_bytes(path, in->p, in->n, n & 1 ? 0xff : 0, to, &max), n);
    if (n) assert_memory_equal(to, v, n * sizeof *v);
    assert_u64(max, largest);
}

static void check_list(const hot_path *path, const uint32_t *v, size_t n)
{
    buf b = plain(v, n);
    check_write(path, v, n, &b);
    check_read(path, v, n, &b);
    buf_free(&b);
}

/* The smallest and the largest number of 1 to 5 bytes. */
static const uint32_t bounds[5][2] = {{0, (1u << 7) - 1},
                                      {1u << 7, (1u << 14) - 1},
                                      {1u << 14, (1u << 21) - 1},
                                      {1u << 21, (1u << 28) - 1},
                                      {1u << 28, UINT32_MAX}};

/* Eight numbers of 1 to 4 bytes, every combination; the lists before them shift the windows. */
static void every_mix(const hot_path *path)
{
    uint32_t v[16];
    for (unsigned mix = 0; mix < 1u << 16; mix++) {
        size_t n = 0, before = mix * 7 % 8;
        while (n < before) v[n] = (uint32_t)n + 1, n++;
        for (unsigned i = 0; i < 8; i++) v[n++] = bounds[mix >> 2 * i & 3][(mix + i) & 1];
        check_list(path, v, n);
    }
}

static void every_count(const hot_path *path)
{
    uint32_t v[MOST], x = 1;
    for (unsigned widest = 1; widest <= 5; widest++) {
        for (size_t n = 0; n <= MOST; n++) {
            for (size_t i = 0; i < n; i++) {
                x = x * 1664525 + 1013904223;
                v[i] = bounds[(x >> 8) % widest][x >> 16 & 1];
            }
            check_list(path, v, n);
        }
    }
}

/* A list that is truncated inside a number is malformed. */
static void every_cut(const hot_path *path)
{
    static uint32_t to[MOST * 10 + HOT_SLACK + 16];
    uint32_t v[40], max = 0;
    for (size_t i = 0; i < 40; i++) v[i] = bounds[i * 5 / 3 % 5][i & 1];
    buf b = plain(v, 40);
    size_t whole = 0;
    for (size_t n = 0; n <= b.n; n++) {
        bool cut = n && (uint8_t)b.p[n - 1] >= 0x80;
        whole += n && !cut;
        for (int behind = 0; behind < 256; behind += 255)
            assert_true(read_bytes(path, b.p, n, (uint8_t)behind, to, &max) ==
                        (cut ? -1 : (ptrdiff_t)whole));
    }
    assert_u64(whole, 40);
    buf_free(&b);
}

/* Numbers of 6 to 10 bytes keep their low 32 bits; more bytes, or more than 64 bits, are malformed. */
static void long_numbers(const hot_path *path)
{
    static uint32_t to[MOST * 10 + HOT_SLACK + 16];
    for (size_t before = 0; before < 70; before++) {
        for (size_t len = 6; len <= 11; len++) {
            for (uint8_t last = 1; last <= 2; last++) {
                uint8_t in[96];
                memset(in, 5, before);
                memset(in + before, 0xff, len - 1);
                in[before + len - 1] = last;
                uint32_t max = 0;
                ptrdiff_t got = read_bytes(path, in, before + len, 0, to, &max);
                bool fits = len < 10 || (len == 10 && last == 1);
                assert_true(got == (fits ? (ptrdiff_t)before + 1 : -1));
                if (fits) assert_u64(to[before], UINT32_MAX);
                if (fits) assert_u64(max, UINT32_MAX);
            }
        }
    }
}

static void every_mix_of_lengths(void **state) { (void)state, each_path(every_mix); }
static void every_number_of_indices(void **state) { (void)state, each_path(every_count); }
static void cut_at_every_byte(void **state) { (void)state, each_path(every_cut); }
static void long_and_overlong_numbers(void **state) { (void)state, each_path(long_numbers); }

static void the_best_path_is_chosen(void **state)
{
    (void)state;
    simd_mode best = SIMD_PORTABLE;
    for (simd_mode s = SIMD_PORTABLE; s < SIMD_MODES; s++) {
        if (simd_runs(s)) best = s;
        bool own = hot_path_of(s)->packed_u32 != packed_u32_portable;
        assert_int_equal(own, simd_runs(s) && s != SIMD_PORTABLE);
    }
    assert_ptr_equal(hot_path_of(SIMD_AUTO), hot_path_of(best));
}

/* The kernel's list of CPU flags is independent of Kiln's detection. */
static void avx2_runs_where_the_kernel_lists_it(void **state)
{
    (void)state;
#ifdef __x86_64__
    buf b = {0};
    if (!test_read("/proc/cpuinfo", &b)) skip();
    buf_put(&b, "", 1);
    const char *flags = strstr(b.p, "\nflags");
    if (!flags) skip();
    static const char *const want[] = {" avx2 ", " bmi1 ", " bmi2 ", " popcnt "};
    bool all = true;
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        const char *at = strstr(flags, want[i]), *end = strchr(flags + 1, '\n');
        all = all && at && end && at < end;
    }
    buf_free(&b);
    assert_int_equal(simd_runs(SIMD_AVX2), all);
#else
    assert_false(simd_runs(SIMD_AVX2));
#endif
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mix_of_lengths),
        cmocka_unit_test(every_number_of_indices),
        cmocka_unit_test(cut_at_every_byte),
        cmocka_unit_test(long_and_overlong_numbers),
        cmocka_unit_test(the_best_path_is_chosen),
        cmocka_unit_test(avx2_runs_where_the_kernel_lists_it),
    };
    return cmocka_run_group_tests_name("packed", tests, NULL, NULL);
}
