/* Compression in memory and as a stream, damaged input, and limits. */
#include "wire/compress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- inputs ---- */

static char *text_of(size_t n)
{
    char *p = malloc(n + 1);
    assert_non_null(p);
    uint32_t x = 1;
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        p[i] = (char)('a' + (x >> 28));
    }
    return p;
}

static buf packed(codec c, str s)
{
    buf b = {0};
    err e = {0};
    assert_true(pack(c, s, &b, &e));
    return b;
}

/* Reads `in` through the streaming reader into out, `step` bytes at a time. */
static bool stream_all(str in, size_t step, uint64_t max, buf *out, err *e)
{
    memory_source m = memory_source_of(in);
    source *s = unpack_open(&m.s, max, e);
    if (!s) return false;
    char chunk[4096];
    bool ok = true;
    for (size_t got = 1; ok && got;) {
        ok = source_read(s, chunk, step < sizeof chunk ? step : sizeof chunk, &got, e);
        if (ok) buf_put(out, chunk, got);
    }
    source_close(s);
    return ok;
}

static void both_ways(str in, str want)
{
    arena a = {0};
    unpacked u;
    err e = {0};
    if (!unpack(in, 0, &a, &u, &e)) fail_msg("unpack: %s", e.msg);
    assert_int_equal(u.bytes.n, want.n);
    if (want.n) assert_memory_equal(u.bytes.p, want.p, want.n);
    const size_t steps[] = {1, 7, 4096};
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        if (want.n > 100000 && steps[i] < 4096) continue;
        buf out = {0};
        if (!stream_all(in, steps[i], 0, &out, &e)) fail_msg("stream: %s", e.msg);
        assert_int_equal(out.n, want.n);
        if (want.n) assert_memory_equal(out.p, want.p, want.n);
        buf_free(&out);
    }
    arena_free(&a);
}

static void test_round_trip(void **state)
{
    (void)state;
    const size_t sizes[] = {0, 1, 100, 65535, 65536, 65537, 3000000};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        char *p = text_of(sizes[i]);
        str s = {p, sizes[i]};
        both_ways(s, s); /* uncompressed input is returned as it is */
        for (codec c = CODEC_GZIP; c <= CODEC_ZSTD; c++) {
            buf b = packed(c, s);
            assert_int_equal(codec_detect(buf_view(&b)), c);
            both_ways(buf_view(&b), s);
            buf again = packed(c, s); /* compression is deterministic */
            assert_true(str_eq(buf_view(&b), buf_view(&again)));
            buf_free(&again);
            buf_free(&b);
        }
        free(p);
    }
}

/* Pieces of any size make one gzip member. */
static void test_packed_in_pieces(void **state)
{
    (void)state;
    const size_t sizes[] = {0, 1, 65536, 3000000}, steps[] = {1000, 65536, 4000000};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
        for (size_t k = 0; k < ARRAY_LEN(steps); k++) {
            char *text = text_of(sizes[i]);
            buf b = {0};
            err e = {0};
            packer *p = packer_open();
            assert_non_null(p);
            for (size_t at = 0, n; at < sizes[i]; at += n) {
                n = sizes[i] - at < steps[k] ? sizes[i] - at : steps[k];
                assert_true(packer_put(p, (str){text + at, n}, false, &b, &e));
            }
            assert_true(packer_put(p, (str){0}, true, &b, &e));
            packer_close(p);
            assert_int_equal(codec_detect(buf_view(&b)), CODEC_GZIP);
            both_ways(buf_view(&b), (str){text, sizes[i]});
            buf_free(&b);
            free(text);
        }
}

static void test_several_members(void **state)
{
    (void)state;
    for (codec c = CODEC_GZIP; c <= CODEC_ZSTD; c++) {
        buf all = {0}, want = {0};
        for (size_t n = 0; n < 70000; n = n * 3 + 1) {
            char *p = text_of(n);
            buf b = packed(c, (str){p, n});
            buf_put(&all, b.p, b.n);
            buf_put(&want, p, n);
            buf_free(&b);
            free(p);
        }
        both_ways(buf_view(&all), buf_view(&want));
        buf_put(&all, "\0\0\0\0\0\0", 6); /* padding */
        both_ways(buf_view(&all), buf_view(&want));
        buf_free(&all);
        buf_free(&want);
    }
}

static void test_skippable_frame_first(void **state)
{
    (void)state;
    buf all = {0};
    buf_put(&all, "\x50\x2a\x4d\x18\x04\0\0\0abcd", 12);
    buf b = packed(CODEC_ZSTD, STR("payload"));
    buf_put(&all, b.p, b.n);
    both_ways(buf_view(&all), STR("payload"));
    buf_free(&all);
    buf_free(&b);
}

static void test_layers(void **state)
{
    (void)state;
    buf b = {0};
    buf_z(&b, "in the middle");
    for (int i = 0; i < UNPACK_MAX_LAYERS; i++) {
        buf next = packed(i % 2 ? CODEC_ZSTD : CODEC_GZIP, buf_view(&b));
        buf_free(&b);
        b = next;
    }
    both_ways(buf_view(&b), STR("in the middle"));
    arena a = {0};
    unpacked u;
    err e = {0};
    assert_true(unpack(buf_view(&b), 0, &a, &u, &e));
    assert_int_equal(u.n_layers, UNPACK_MAX_LAYERS);
    assert_int_equal(u.layers[0], CODEC_ZSTD);
    assert_int_equal(u.layers[3], CODEC_GZIP);

    memory_source m = memory_source_of(buf_view(&b));
    source *s = unpack_open(&m.s, 0, &e);
    assert_non_null(s);
    codec layers[UNPACK_MAX_LAYERS];
    assert_int_equal(unpack_layers(s, layers), UNPACK_MAX_LAYERS);
    assert_int_equal(layers[0], CODEC_ZSTD);
    assert_int_equal(layers[3], CODEC_GZIP);
    source_close(s);

    buf deep = packed(CODEC_GZIP, buf_view(&b));
    assert_false(unpack(buf_view(&deep), 0, &a, &u, &e));
    assert_string_equal(e.msg, "more than 4 layers of compression");
    assert_int_equal(e.code, ERR_LIMIT);
    e = (err){0};
    buf out = {0};
    assert_false(stream_all(buf_view(&deep), 4096, 0, &out, &e));
    assert_string_equal(e.msg, "more than 4 layers of compression");
    buf_free(&out);
    buf_free(&deep);
    buf_free(&b);
    arena_free(&a);
}

/* ---- damage ---- */

typedef struct damage {
    const char *name;
    codec codec;
    int cut;  /* bytes removed from the end */
    int flip; /* position of a flipped bit from the end, 0 = none */
    const char *tail;
    const char *msg;
} damage;

static void test_damage(void **state)
{
    (void)state;
    static const damage cases[] = {
        {"gzip truncated in the trailer", CODEC_GZIP, 3, 0, "", "gzip data is truncated"},
        {"gzip truncated in the data", CODEC_GZIP, 40, 0, "", "gzip data is truncated"},
        {"gzip wrong crc", CODEC_GZIP, 0, 6, "", "gzip checksum does not match"},
        {"gzip wrong length", CODEC_GZIP, 0, 2, "", "gzip length does not match"},
        {"text after gzip", CODEC_GZIP, 0, 0, "hello", "gzip data is followed by other bytes"},
        {"zstd truncated in the checksum", CODEC_ZSTD, 2, 0, "", "zstd data is truncated"},
        {"zstd truncated in the data", CODEC_ZSTD, 40, 0, "", "zstd data is truncated"},
        {"zstd wrong checksum", CODEC_ZSTD, 0, 2, "", "zstd checksum does not match"},
        {"text after zstd", CODEC_ZSTD, 0, 0, "hello", "zstd data is followed by other bytes"},
    };
    char *p = text_of(5000);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const damage *d = &cases[i];
        buf b = packed(d->codec, (str){p, 5000});
        b.n -= (size_t)d->cut;
        if (d->flip) b.p[b.n - (size_t)d->flip] ^= 1;
        buf_z(&b, d->tail);
        arena a = {0};
        unpacked u;
        err e = {0};
        assert_false(unpack(buf_view(&b), 0, &a, &u, &e));
        if (strcmp(e.msg, d->msg) != 0) fail_msg("%s: `%s`", d->name, e.msg);
        assert_int_equal(e.code, ERR_MALFORMED);
        assert_true(e.offset <= b.n);
        arena_free(&a);
        buf_free(&b);
    }
    free(p);
}

static void test_cut_at_every_byte(void **state)
{
    (void)state;
    for (codec c = CODEC_GZIP; c <= CODEC_ZSTD; c++) {
        buf b = packed(c, STR("a small message, cut at every byte"));
        for (size_t n = 4; n < b.n; n++) {
            char *copy =
                malloc(n); /* exactly n bytes, so that a sanitizer detects a read past the end */
            assert_non_null(copy);
            memcpy(copy, b.p, n);
            arena a = {0};
            unpacked u;
            err e = {0};
            assert_false(unpack((str){copy, n}, 0, &a, &u, &e));
            assert_int_equal(e.code, ERR_MALFORMED);
            assert_non_null(strstr(e.msg, "truncated"));
            arena_free(&a);
            free(copy);
        }
        buf_free(&b);
    }
}

/* A changed byte gives an error or, in unused fields of a header, the same text. */
static void test_every_byte_flipped(void **state)
{
    (void)state;
    str want = STR("a small message, one byte wrong, and again the same words: a small message");
    for (codec c = CODEC_GZIP; c <= CODEC_ZSTD; c++) {
        buf b = packed(c, want);
        for (size_t i = 4; i < b.n; i++) {
            for (int bit = 0; bit < 8; bit++) {
                b.p[i] ^= (char)(1 << bit);
                arena a = {.budget = 1 << 20};
                unpacked u;
                err e = {0};
                if (unpack(buf_view(&b), 1 << 20, &a, &u, &e))
                    assert_true(str_eq(u.bytes, want));
                else
                    assert_true(e.msg[0] != '\0');
                arena_free(&a);
                b.p[i] ^= (char)(1 << bit);
            }
        }
        buf_free(&b);
    }
}

/* ---- decompression bombs and budgets ---- */

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void test_bombs(void **state)
{
    (void)state;
    enum { BIG = 256 << 20, LIMIT = 4 << 20 };
    char *zeros = calloc(1, BIG);
    assert_non_null(zeros);
    for (codec c = CODEC_GZIP; c <= CODEC_ZSTD; c++) {
        buf bomb = packed(c, (str){zeros, BIG});
        double start = seconds();
        arena a = {0};
        unpacked u;
        err e = {0};
        assert_false(unpack(buf_view(&bomb), LIMIT, &a, &u, &e));
        assert_string_equal(e.msg, "decompressed size passes the limit of 4194304 bytes");
        assert_string_equal(e.hint, "--max-bytes");
        assert_int_equal(e.code, ERR_LIMIT);
        assert_true(a.peak <= LIMIT + 4096);
        e = (err){0};
        buf out = {.limit = 2 * LIMIT};
        assert_false(stream_all(buf_view(&bomb), 4096, LIMIT, &out, &e));
        assert_string_equal(e.msg, "decompressed size passes the limit of 4194304 bytes");
        assert_string_equal(e.hint, "--max-bytes");
        assert_false(out.failed);
        assert_true(seconds() - start < 2);
        buf_free(&out);
        arena_free(&a);
        buf_free(&bomb);
    }
    free(zeros);
}

/* A limit equal to the size is sufficient. */
static void test_limit_is_inclusive(void **state)
{
    (void)state;
    char *p = text_of(200000);
    for (codec c = CODEC_GZIP; c <= CODEC_ZSTD; c++) {
        buf b = packed(c, (str){p, 200000});
        arena a = {0};
        unpacked u;
        err e = {0};
        assert_true(unpack(buf_view(&b), 200000, &a, &u, &e));
        assert_false(unpack(buf_view(&b), 199999, &a, &u, &e));
        assert_int_equal(e.code, ERR_LIMIT);
        arena_free(&a);
        buf_free(&b);
    }
    free(p);
}

/* A header with a size of gigabytes does not allocate gigabytes. */
static void test_claims_are_not_believed(void **state)
{
    (void)state;
    buf b = packed(CODEC_GZIP, STR("tiny"));
    memset(b.p + b.n - 4, 0xff, 4); /* ISIZE */
    arena a = {0};
    unpacked u;
    err e = {0};
    assert_false(unpack(buf_view(&b), 0, &a, &u, &e));
    assert_string_equal(e.msg, "gzip length does not match");
    assert_true(a.peak <= 80 * 1024);
    arena_free(&a);
    buf_free(&b);
    /* zstd: single segment, 8-byte content size of 2^40 */
    str frame = STR("\x28\xb5\x2f\xfd\xe0\0\0\0\0\0\1\0\0\x01\0\0");
    a = (arena){0}, e = (err){0};
    assert_false(unpack(frame, 0, &a, &u, &e));
    assert_true(a.peak <= 80 * 1024);
    arena_free(&a);
}

static void test_memory_sweep(void **state)
{
    (void)state;
    char *p = text_of(30000);
    for (codec c = CODEC_GZIP; c <= CODEC_ZSTD; c++) {
        buf b = packed(c, (str){p, 30000});
        bool done = false;
        for (size_t budget = 64; budget < 256 * 1024; budget += 1024) {
            arena a = {.budget = budget};
            unpacked u;
            err e = {0};
            done = unpack(buf_view(&b), 0, &a, &u, &e);
            assert_true(done ? u.bytes.n == 30000 : err_exhausted(&e));
            arena_free(&a);
        }
        assert_true(done);
        buf_free(&b);
    }
    free(p);
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(codec_name(CODEC_GZIP), "gzip");
    assert_string_equal(codec_name(CODEC_NONE), "none");
    assert_int_equal(codec_of_suffix(STR("a.otlp.gz")), CODEC_GZIP);
    assert_int_equal(codec_of_suffix(STR("a.zst")), CODEC_ZSTD);
    assert_int_equal(codec_of_suffix(STR("a.otlp")), CODEC_NONE);
    assert_int_equal(codec_detect((str){0}), CODEC_NONE);
    assert_int_equal(codec_detect(STR("\x1f")), CODEC_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_packed_in_pieces),
        cmocka_unit_test(test_several_members),
        cmocka_unit_test(test_skippable_frame_first),
        cmocka_unit_test(test_layers),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_cut_at_every_byte),
        cmocka_unit_test(test_every_byte_flipped),
        cmocka_unit_test(test_bombs),
        cmocka_unit_test(test_limit_is_inclusive),
        cmocka_unit_test(test_claims_are_not_believed),
        cmocka_unit_test(test_memory_sweep),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
