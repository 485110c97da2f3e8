/* Valid and invalid map lines, records and payloads.  tests/e2e/ctx_oracle tests whole
 * processes. */
#include "ctx/contexts.h"
#include "ctx/maps.h"

#include "../../support/test.h"

#include <string.h>

static void maps_are_read_line_by_line(void **state)
{
    str text =
        STR("not a line\n"
            "7f0000001000-7f0000002000 rw-p 00001000 00:01 1027     /memfd:OTEL_CTX (deleted)\n"
            "10-20 r--p 0 0:0 0\n"
            "20-10 r--p 0 0:0 0 backwards\n"
            "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]");
    map_line l;
    (void)state;
    assert_true(maps_next(&text, &l));
    assert_u64(l.start, 0x7f0000001000);
    assert_u64(l.end, 0x7f0000002000);
    assert_u64(l.offset, 0x1000);
    assert_u64(l.inode, 1027);
    assert_true(l.readable && l.writable && !l.executable);
    assert_true(str_eq(l.name, STR("/memfd:OTEL_CTX (deleted)")));
    assert_true(maps_next(&text, &l));
    assert_u64(l.name.n, 0);
    assert_true(maps_next(&text, &l));
    assert_true(l.executable && str_eq(l.name, STR("[vsyscall]")));
    assert_false(maps_next(&text, &l));
}

static void records(void **state)
{
    static const struct {
        const char *name, *attrs;
        size_t n, n_attrs;
        const char *last;
        bool cut;
    } cases[] = {
        {"none", "", 0, 0, NULL, false},
        {"one", "\x05\x02hi", 4, 1, "hi", false},
        {"empty value", "\x05\x00", 2, 1, "", false},
        {"the last of a key wins",
         "\x05\x01"
         "a\x06\x01"
         "b\x05\x01"
         "c",
         9, 2, "c", false},
        {"half a header",
         "\x05\x01"
         "a\x06",
         4, 1, "a", true},
        {"a value beyond the end",
         "\x05\x01"
         "a\x06\xff"
         "b",
         6, 1, "a", true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint8_t r[RECORD_HEADER + 16] = {[0] = 1, [24] = 1, [25] = 3};
        arena a = {0};
        thread_context t = {0};
        uint16_t n = (uint16_t)cases[i].n, claims;
        err e = {0};
        memcpy(r + 26, &n, 2);
        memcpy(r + 28, cases[i].attrs, n);
        assert_true(record_header(r, &claims));
        assert_int_equal(claims, n);
        assert_ok(record_decode(r, RECORD_HEADER + (size_t)n, &a, &t, &e), &e);
        if (t.attrs.n != cases[i].n_attrs || t.cut != cases[i].cut) fail_msg("%s", cases[i].name);
        if (cases[i].last && !str_eq(t.attrs.v[t.attrs.n - 1].value, str_of(cases[i].last)))
            fail_msg("%s", cases[i].name);
        assert_true(t.has_ids && t.trace_flags == 3);
        arena_free(&a);
    }
    uint8_t idle[RECORD_HEADER] = {[24] = 2};
    uint16_t claims;
    assert_false(record_header(idle, &claims)); /* `valid` is not 1 */
}

static void payloads(void **state)
{
    static const struct {
        const char *name, *bytes;
        size_t n;
        const char *fails;
    } cases[] = {
        {"nothing at all", "", 0, NULL},
        {"an empty resource", "\x0a\x00", 2, NULL},
        {"a field of the future", "\x1a\x02zz", 4, NULL},
        {"a resource that is a number", "\x08\x01", 2, "resource"},
        {"a length beyond the end",
         "\x0a\x05"
         "abc",
         5, "5 bytes"},
        {"an attribute that is not a message", "\x12\x02\xff\xff", 4, "varint"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        process_context c = {0};
        char text[512];
        err e = {0};
        bool ok = process_context_decode((str){cases[i].bytes, cases[i].n}, &a, &c, &e);
        if (ok != !cases[i].fails)
            fail_msg("%s: %s", cases[i].name, err_text(&e, text, sizeof text));
        if (!ok && !strstr(err_text(&e, text, sizeof text), cases[i].fails))
            fail_msg("%s: %s", cases[i].name, text);
        arena_free(&a);
    }
}

static void memory_is_a_budget(void **state)
{
    static const char payload[] = "\x0a\x0b\x0a\x09\x0a\x01k\x12\x04\x0a\x02vv";
    (void)state;
    for (size_t budget = 64; budget < 4096; budget += 64) {
        arena a = {.budget = budget};
        process_context c = {0};
        err e = {0};
        if (!process_context_decode((str){payload, sizeof payload - 1}, &a, &c, &e))
            assert_int_equal(e.code, ERR_MEMORY);
        else
            assert_int_equal(c.resource.n, 1);
        arena_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_are_read_line_by_line),
        cmocka_unit_test(records),
        cmocka_unit_test(payloads),
        cmocka_unit_test(memory_is_a_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
