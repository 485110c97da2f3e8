/* The checked cursor: every field kind, every way to break it, and the writers. */
#include "../../support/test.h"

#include "wire/otlp_hot.h"
#include "wire/pb.h"
#include "wire/varint.h"

#include <string.h>

#define ELEVEN "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"

static const struct {
    const char *name, *bytes;
    size_t n;
    uint64_t want;
    const char *fails;
} varints[] = {
    {"zero", "\x00", 1, 0, NULL},
    {"one byte", "\x7f", 1, 127, NULL},
    {"two bytes", "\xac\x02", 2, 300, NULL},
    {"three bytes", "\x80\x80\x01", 3, 1 << 14, NULL},
    {"four bytes", "\xff\xff\xff\x7f", 4, (1 << 28) - 1, NULL},
    {"five bytes", "\x80\x80\x80\x80\x01", 5, 1 << 28, NULL},
    {"nine bytes", "\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 9, INT64_MAX, NULL},
    {"ten bytes", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, UINT64_MAX, NULL},
    {"padded", "\x81\x80\x80\x80\x00", 5, 1, NULL},
    {"padded to ten", "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 10, 0, NULL},
    {"empty input", "", 0, 0, "varint runs past the end of the message"},
    {"truncated", "\x80", 1, 0, "varint runs past the end of the message"},
    {"truncated after nine", "\xff\xff\xff\xff\xff\xff\xff\xff\xff", 9, 0,
     "varint runs past the end of the message"},
    {"tenth byte is 2", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, 0,
     "varint does not fit in 64 bits"},
    {"eleven bytes", ELEVEN, 11, 0, "varint does not fit in 64 bits"},
    {"tenth byte has the continuation bit", "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x81\x00", 11, 0,
     "varint does not fit in 64 bits"},
};

static void varint_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(varints); i++) {
        err e = {0};
        pb_cur c = pb_open(varints[i].bytes, varints[i].n, &e);
        uint64_t v = 0;
        bool ok = pb_varint(&c, &v);
        if (varints[i].fails) {
            assert_false(ok);
            assert_string_equal(e.msg, varints[i].fails);
            assert_u64(e.offset, 0);
            assert_false(pb_ok(&c));
            assert_ptr_equal(c.p, c.end); /* empty, so that loops end */
        } else {
            assert_ok(ok, &e);
            assert_u64(v, varints[i].want);
            assert_ptr_equal(c.p, c.end);
        }
    }
}

/* The two variants of the hot reader give the same result. */
static void hot_varints_agree(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(varints); i++) {
        uint8_t room[HOT_MARGIN + 16] = {0};
        memcpy(room, varints[i].bytes, varints[i].n);
        const uint8_t *q = room + varints[i].n, *near, *far;
        uint64_t a = 0, b = 0;
        near = take_varint(room, q, &a, true);
        far = take_varint(room, q, &b, false);
        if (varints[i].fails) {
            assert_null(near);
            assert_true(far == NULL || far > q); /* reads past q, which its caller detects */
        } else {
            assert_ptr_equal(near, q);
            assert_ptr_equal(far, q);
            assert_u64(a, varints[i].want);
            assert_u64(b, varints[i].want);
        }
    }
}

static const struct {
    const char *name, *bytes;
    size_t n;
    pb_field want; /* number, wire, value */
    const char *fails;
} fields[] = {
    {"varint", "\x08\xac\x02", 3, {.number = 1, .wire = 0, .value = 300}, NULL},
    {"fixed64",
     "\x11\1\0\0\0\0\0\0\x80",
     9,
     {.number = 2, .wire = 1, .value = 0x8000000000000001},
     NULL},
    {"bytes", "\x1a\x02hi", 4, {.number = 3, .wire = 2, .value = 2}, NULL},
    {"empty bytes", "\x1a\x00", 2, {.number = 3, .wire = 2, .value = 0}, NULL},
    {"padded length", "\x1a\x82\x80\x80\x80\x00hi", 8, {.number = 3, .wire = 2, .value = 2}, NULL},
    {"fixed32", "\x25\1\0\0\x80", 5, {.number = 4, .wire = 5, .value = 0x80000001}, NULL},
    {"largest number", "\xf8\xff\xff\xff\x0f\x00", 6, {.number = (1u << 29) - 1, .wire = 0}, NULL},
    {"number 0", "\x00\x00", 2, {0}, "field number 0 is not allowed"},
    {"number 0, bytes", "\x02\x00", 2, {0}, "field number 0 is not allowed"},
    {"number too large",
     "\x80\x80\x80\x80\x10\x00",
     6,
     {0},
     "field number 536870912 is not allowed"},
    {"padded tag", "\x88\x00\x01", 3, {0}, "the tag of field 1 is padded"},
    {"truncated tag", "\x88", 1, {0}, "varint runs past the end of the message"},
    {"value missing", "\x08", 1, {0}, "varint runs past the end of the message"},
    {"group", "\x0b\x0c", 2, {0}, "field 1 has wire type 3, which proto3 never uses"},
    {"end of group", "\x0c", 1, {0}, "field 1 has wire type 4, which proto3 never uses"},
    {"wire type 6", "\x0e\x00", 2, {0}, "field 1 has wire type 6, which proto3 never uses"},
    {"wire type 7", "\x0f\x00", 2, {0}, "field 1 has wire type 7, which proto3 never uses"},
    {"fixed64 of 7", "\x11\1\2\3\4\5\6\7", 8, {0}, "field 2 needs 8 bytes, 7 are left"},
    {"fixed32 of 3", "\x25\1\2\3", 4, {0}, "field 4 needs 4 bytes, 3 are left"},
    {"bytes of 1", "\x1a\x02h", 3, {0}, "field 3 needs 2 bytes, 1 are left"},
    {"length 2^63",
     "\x1a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
     11,
     {0},
     "field 3 needs 9223372036854775808 bytes, 0 are left"},
    {"length missing", "\x1a", 1, {0}, "varint runs past the end of the message"},
};

static void field_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        err e = {0};
        pb_cur c = pb_open(fields[i].bytes, fields[i].n, &e);
        pb_field f = {0};
        bool ok = pb_next(&c, &f);
        if (fields[i].fails) {
            assert_false(ok);
            if (strcmp(e.msg, fields[i].fails) != 0) fail_msg("%s: %s", fields[i].name, e.msg);
            assert_int_equal(e.code, ERR_MALFORMED);
            assert_false(pb_next(&c, &f)); /* stays ended */
        } else {
            assert_ok(ok, &e);
            assert_u64(f.number, fields[i].want.number);
            assert_u64(f.wire, fields[i].want.wire);
            assert_u64(f.value, fields[i].want.value);
            assert_false(pb_next(&c, &f));
            assert_true(pb_ok(&c));
        }
    }
}

/* A sub-cursor ends where its message ends, and its offsets refer to the whole input. */
static void sub_cursors_are_bounded(void **state)
{
    (void)state;
    err e = {0};
    const char in[] = "\x0a\x02\x08\x80\x01"; /* 1{ 08 80 } 01 */
    pb_cur c = pb_open(in, 5, &e);
    pb_field f;
    assert_true(pb_next(&c, &f));
    pb_cur sub = pb_message(&c, &f);
    assert_false(pb_next(&sub, &f));
    assert_string_equal(e.msg, "varint runs past the end of the message");
    assert_u64(e.offset, 3);
    assert_true(pb_ok(&c));
}

static void text_names_the_byte(void **state)
{
    (void)state;
    err e = {0};
    pb_cur c = pb_open("\x0a\x04"
                       "ab\xff"
                       "d",
                       6, &e);
    pb_field f;
    str s;
    assert_true(pb_next(&c, &f));
    assert_false(pb_text(&c, &f, "key", &s));
    assert_string_equal(e.msg, "key is not UTF-8: byte 0xff");
    assert_u64(e.offset, 4);

    e = (err){0};
    c = pb_open("\x08\x05", 2, &e);
    assert_true(pb_next(&c, &f));
    assert_false(pb_text(&c, &f, "key", &s));
    assert_string_equal(e.msg, "key (field 1) is a varint, expected length-delimited");
    assert_false(pb_ok(&c));
}

static void nothing_to_read(void **state)
{
    (void)state;
    pb_cur c = pb_open(NULL, 0, NULL);
    pb_field f;
    assert_false(pb_next(&c, &f));
    assert_true(pb_ok(&c));
    c = pb_open("\xff", 1, NULL); /* without an error */
    assert_false(pb_next(&c, &f));
    assert_false(pb_ok(&c));
}

static void writers_are_read_back(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits <= 64; bits++) {
        for (int d = -1; d <= 1; d++) {
            uint64_t v = (bits == 64 ? 0 : (uint64_t)1 << bits) + (uint64_t)d;
            buf b = {0};
            pb_put_varint(&b, v);
            assert_u64(b.n, pb_varint_len(v));
            buf_reset(&b);
            pb_put_uint(&b, 5, v);
            pb_put_fixed64(&b, 500, v);
            pb_put_bytes(&b, 70000, STR("text"));
            err e = {0};
            pb_cur c = pb_open(b.p, b.n, &e);
            pb_field f;
            assert_true(pb_next(&c, &f) && f.number == 5 && f.wire == 0 && f.value == v);
            assert_true(pb_next(&c, &f) && f.number == 500 && f.wire == 1 && f.value == v);
            assert_true(pb_next(&c, &f) && f.number == 70000 && str_eq(pb_bytes(&f), STR("text")));
            assert_false(pb_next(&c, &f));
            buf_free(&b);
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(varint_table),          cmocka_unit_test(hot_varints_agree),
        cmocka_unit_test(field_table),           cmocka_unit_test(sub_cursors_are_bounded),
        cmocka_unit_test(text_names_the_byte),   cmocka_unit_test(nothing_to_read),
        cmocka_unit_test(writers_are_read_back),
    };
    return cmocka_run_group_tests_name("pb", tests, NULL, NULL);
}
