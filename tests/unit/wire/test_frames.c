/* Splits inputs into payloads, from memory and from a slow source. */
#include "wire/frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A source that returns at most `step` bytes per call. */
typedef struct slow {
    source s;
    str left;
    size_t step;
} slow;

static bool slow_read(source *s, void *p, size_t n, size_t *got, err *e)
{
    (void)e;
    slow *x = (slow *)s;
    *got = n < x->step ? n : x->step;
    if (*got > x->left.n) *got = x->left.n;
    if (*got) memcpy(p, x->left.p, *got);
    x->left = (str){x->left.p + *got, x->left.n - *got};
    return true;
}

/* Writes payloads as "kind@offset:bytes;", so that a case is one string. */
static void walk(frames *f, buf *out, err *e)
{
    for (payload p; frames_next(f, &p, e);)
        buf_printf(out, "%s@%llu:%.*s;", p.kind == PAYLOAD_JSON ? "json" : "pb",
                   (unsigned long long)p.offset, STR_ARG(p.bytes));
    buf_putc(out, '\0');
}

static const struct {
    const char *name;
    str in;
    framing framing;
    const char *want;
    const char *fails;
} cases[] = {
    {"bare", {"\x0a\x02hi", 4}, FRAMING_NONE, "pb@0:\x0a\x02hi;", NULL},
    {"nothing", {"", 0}, FRAMING_NONE, "pb@0:;", NULL},
    {"one frame", {"\0\0\0\4\x0a\x02hi", 8}, FRAMING_LENGTHS, "pb@4:\x0a\x02hi;", NULL},
    {"two frames", {"\0\0\0\1a\0\0\0\2bc", 11}, FRAMING_LENGTHS, "pb@4:a;pb@9:bc;", NULL},
    {"an empty frame", {"\0\0\0\0\0\0\0\1z", 9}, FRAMING_LENGTHS, "pb@8:z;", NULL},
    {"only empty frames",
     {"\0\0\0\0\0\0\0\0", 8},
     FRAMING_LENGTHS,
     "",
     "2 empty frames and nothing else"},
    {"zeros after a frame", {"\0\0\0\1z\0\0\0\0", 9}, FRAMING_LENGTHS, "pb@4:z;", NULL},
    {"JSON in frames",
     {"\0\0\0\2{}\0\0\0\4\x0a\x02hi", 14},
     FRAMING_LENGTHS,
     "json@4:{};pb@10:\x0a\x02hi;",
     NULL},
    {"a truncated frame",
     {"\0\0\0\1a\0\0\0\x09zz", 11},
     FRAMING_LENGTHS,
     "pb@4:a;",
     "frame needs 9 bytes, 2 are left"},
    {"a truncated length",
     {"\0\0\0\1a\0\0", 7},
     FRAMING_LENGTHS,
     "pb@4:a;",
     "frame length is cut off: 2 of 4 bytes"},
    {"one document",
     {"{\"a\":[1,2,{\"b\":\"}\"}]}", 21},
     FRAMING_JSON,
     "json@0:{\"a\":[1,2,{\"b\":\"}\"}]};",
     NULL},
    {"JSON lines", {"{}\n{\"x\":1}\n\n", 12}, FRAMING_JSON, "json@0:{};json@3:{\"x\":1};", NULL},
    {"concatenated", {"{}{}{}", 6}, FRAMING_JSON, "json@0:{};json@2:{};json@4:{};", NULL},
    {"escapes",
     {"{\"a\\\"}\":\"\\\\\"} {}", 16},
     FRAMING_JSON,
     "json@0:{\"a\\\"}\":\"\\\\\"};json@14:{};",
     NULL},
    {"leading spaces", {" \n\t{\"a\": 1}", 11}, FRAMING_JSON, "json@3:{\"a\": 1};", NULL},
    {"byte order mark", {"\xef\xbb\xbf{} ", 6}, FRAMING_JSON, "json@3:{};", NULL},
    {"without an end", {"{\"a\":1", 6}, FRAMING_JSON, "json@0:{\"a\":1;", NULL},
    {"garbage between", {"{} x {}", 7}, FRAMING_JSON, "json@0:{};json@3:x {};", NULL},
    {"protobuf that looks like JSON",
     {"\n{\n\"\n\x20", 6},
     FRAMING_NONE,
     "pb@0:\n{\n\"\n\x20;",
     NULL},
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (size_t step = 0; step <= 16; step = step ? step * 4 : 1) { /* 0: in memory */
            arena a = {0};
            slow from = {.s = {.read = slow_read}, .left = cases[i].in, .step = step};
            frames f = step ? frames_from(&from.s, 0, &a) : frames_of(cases[i].in, 0, &a);
            buf out = {0};
            err e = {0};
            walk(&f, &out, &e);
            if (strcmp(out.p, cases[i].want) != 0)
                fail_msg("%s/%zu: got %s", cases[i].name, step, out.p);
            assert_int_equal(f.framing, cases[i].framing);
            assert_int_equal(frames_ok(&f), cases[i].fails == NULL);
            if (cases[i].fails) assert_string_equal(e.msg, cases[i].fails);
            frames_close(&f);
            buf_free(&out);
            arena_free(&a);
        }
    }
}

/* The number of tiny payloads is limited, in frames and as JSON lines, because each runs a
 * decoder. */
static void test_tiny_payloads_are_counted(void **state)
{
    (void)state;
    static const str kinds[] = {{"\0\0\0\2\x0a\0", 6}, {"{}\n", 3}};
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        buf in = {0};
        for (int i = 0; i <= FRAMES_MAX_TINY; i++) buf_str(&in, kinds[k]);
        arena a = {0};
        frames f = frames_of(buf_view(&in), 0, &a);
        err e = {0};
        unsigned n = 0;
        for (payload p; frames_next(&f, &p, &e);) n++;
        assert_int_equal(n, FRAMES_MAX_TINY);
        assert_int_equal(e.code, ERR_LIMIT);
        buf_free(&in);
        arena_free(&a);
    }
}

/* With `salvage`, the complete payloads before a truncated frame are returned, and cut_at is its
 * offset. */
static void test_salvage(void **state)
{
    (void)state;
    static const char in[] = "\0\0\0\1a\0\0\0\1b\0\0\0\x09zz";
    arena a = {0};
    frames f = frames_of((str){in, sizeof in - 1}, 0, &a);
    f.salvage = true;
    err e = {0};
    payload p;
    assert_true(frames_next(&f, &p, &e) && frames_next(&f, &p, &e));
    assert_false(frames_next(&f, &p, &e));
    assert_true(frames_ok(&f) && e.code == ERR_OK && f.cut);
    assert_int_equal(f.cut_at, 10);
    f = frames_of((str){in + 10, 6}, 0, &a); /* no complete payload before it */
    f.salvage = true;
    assert_false(frames_next(&f, &p, &e) || frames_ok(&f));
    arena_free(&a);
}

static void test_long_frames_tile(void **state)
{
    (void)state;
    /* 0x08000001 bytes: the first byte of the length could be a tag, so only the sum of the lengths decides. */
    size_t n = 0x08000001;
    char *p = calloc(1, n + 4);
    assert_non_null(p);
    memcpy(p, "\x08\0\0\1", 4);
    assert_int_equal(framing_detect((str){p, n + 4}, true), FRAMING_LENGTHS);
    assert_int_equal(framing_detect((str){p, n + 3}, true), FRAMING_NONE);
    assert_int_equal(framing_detect((str){p, n + 4}, false), FRAMING_NONE);
    free(p);
}

static void test_compressed_frames(void **state)
{
    (void)state;
    buf in = {0};
    err e = {0};
    for (codec c = CODEC_GZIP; c <= CODEC_ZSTD; c++) {
        buf z = {0};
        assert_true(
            pack(c, c == CODEC_GZIP ? STR("\x0a\x01x") : STR("{\"resourceProfiles\":[]}"), &z, &e));
        buf_put(&in, (char[]){0, 0, 0, (char)z.n}, 4);
        buf_put(&in, z.p, z.n);
        buf_free(&z);
    }
    arena a = {0};
    frames f = frames_of(buf_view(&in), 0, &a);
    payload p;
    assert_true(frames_next(&f, &p, &e));
    assert_true(p.packed && p.kind == PAYLOAD_PROTOBUF && p.bytes.n == 3);
    assert_true(frames_next(&f, &p, &e));
    assert_true(p.packed && p.kind == PAYLOAD_JSON);
    assert_false(frames_next(&f, &p, &e));
    assert_true(frames_ok(&f));

    in.p[in.n - 1] ^= 1; /* the checksum of the second */
    f = frames_of(buf_view(&in), 0, &a);
    assert_true(frames_next(&f, &p, &e));
    assert_false(frames_next(&f, &p, &e));
    assert_string_equal(e.msg, "zstd checksum does not match");
    assert_string_equal(e.path, "payload[1]");
    arena_free(&a);
    buf_free(&in);
}

/* A stream needs memory for one payload, regardless of its length. */
static void test_stream_is_bounded(void **state)
{
    (void)state;
    enum { FRAME = 100000, COUNT = 300 };
    char *in = calloc(COUNT, FRAME + 4);
    assert_non_null(in);
    for (size_t i = 0; i < COUNT; i++) memcpy(in + i * (FRAME + 4), "\0\1\x86\xa0", 4);
    arena a = {0};
    slow from = {.s = {.read = slow_read}, .left = {in, COUNT * (FRAME + 4)}, .step = 65536};
    frames f = frames_from(&from.s, FRAME, &a);
    err e = {0};
    size_t n = 0;
    for (payload p; frames_next(&f, &p, &e); n++) {
        assert_int_equal(p.offset, n * (FRAME + 4) + 4);
        assert_true(f.cap <= 1 << 20);
    }
    assert_true(frames_ok(&f));
    assert_int_equal(n, COUNT);
    frames_close(&f);

    from = (slow){.s = {.read = slow_read}, .left = {in, FRAME}, .step = 65536};
    f = frames_from(&from.s, FRAME - 1, &a);
    payload p;
    assert_false(frames_next(&f, &p, &e));
    assert_string_equal(e.msg, "payload is larger than the limit of 99999 bytes");
    assert_string_equal(e.hint, "--max-payload");
    frames_close(&f);
    free(in);
    arena_free(&a);
}

static void test_stream_limits_json_and_bare(void **state)
{
    (void)state;
    enum { N = 2 << 20 };
    char *in = malloc(N);
    assert_non_null(in);
    memset(in, ' ', N);
    for (int k = 0; k < 2; k++) {
        memcpy(in, k ? "{\"a\":" : "\x0a\x01x\x0a", 5);
        arena a = {0};
        slow from = {.s = {.read = slow_read}, .left = {in, N}, .step = 65536};
        frames f = frames_from(&from.s, 1 << 20, &a);
        err e = {0};
        payload p;
        assert_false(frames_next(&f, &p, &e));
        assert_string_equal(e.msg, "payload is larger than the limit of 1048576 bytes");
        assert_true(f.cap <= 4 << 20);
        frames_close(&f);
    }
    free(in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_tiny_payloads_are_counted),
        cmocka_unit_test(test_salvage),
        cmocka_unit_test(test_long_frames_tile),
        cmocka_unit_test(test_compressed_frames),
        cmocka_unit_test(test_stream_is_bounded),
        cmocka_unit_test(test_stream_limits_json_and_bare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
