/* The structure of the tables; tests/e2e/schema_oracle compares their contents with protoc. */
#include "../../support/test.h"

#include "wire/schema.h"

#include <string.h>

enum { MAX_MESSAGES = 64 };

/* Collects every message below `m` once. */
static size_t collect(const message_desc *m, const message_desc **out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (out[i] == m) return n;
    assert_true(n < MAX_MESSAGES);
    out[n++] = m;
    for (size_t i = 0; i < m->n_fields; i++)
        if (m->fields[i].message) n = collect(m->fields[i].message, out, n);
    return n;
}

static void tables_are_well_formed(void **state)
{
    (void)state;
    assert_null(schema_profiles_data(LAYOUT_UNKNOWN));
    assert_null(schema_profiles_data(LAYOUT_COUNT));
    for (int l = LAYOUT_1_3; l < LAYOUT_COUNT; l++) {
        const message_desc *all[MAX_MESSAGES];
        size_t n = collect(schema_profiles_data((layout)l), all, 0);
        for (size_t i = 0; i < n; i++) {
            for (size_t k = 0; k < all[i]->n_fields; k++) {
                const field_desc *f = &all[i]->fields[k];
                if (k) assert_true(f->number > all[i]->fields[k - 1].number);
                assert_int_equal(f->message != NULL, f->type == FT_MESSAGE);
                assert_true(f->target < TABLE_COUNT && f->fills < TABLE_COUNT);
                if (f->target) assert_true(f->type <= FT_UINT64); /* an index is an integer */
                if (f->fills) assert_true(f->flags & FF_REPEATED);
                if (f->flags & FF_ID) assert_int_equal(f->type, FT_BYTES);
                if (f->flags & FF_ONEOF) assert_false(f->flags & FF_REPEATED);
                /* found by number, by name, by JSON name */
                char json[48];
                size_t len = field_json_name(f, json, sizeof json);
                assert_u64(len, strlen(json));
                assert_ptr_equal(message_field(all[i], f->number), f);
                assert_ptr_equal(message_field_named(all[i], str_of(f->name)), f);
                assert_ptr_equal(message_field_json(all[i], str_of(json)), f);
            }
            assert_null(message_field(all[i], 0));
            assert_null(message_field(all[i], 900));
            assert_null(message_field_named(all[i], STR("no_such_field")));
            assert_null(message_field_json(all[i], STR("")));
        }
    }
}

static void json_names(void **state)
{
    (void)state;
    static const struct {
        const char *snake, *camel;
    } cases[] = {
        {"key", "key"},
        {"time_unix_nano", "timeUnixNano"},
        {"string_value_strindex", "stringValueStrindex"},
        {"a_1b", "a1b"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        field_desc f = {.number = 1, .name = cases[i].snake};
        message_desc m = {.name = "M", .fields = &f, .n_fields = 1};
        char out[48];
        field_json_name(&f, out, sizeof out);
        assert_string_equal(out, cases[i].camel);
        assert_ptr_equal(message_field_json(&m, str_of(cases[i].camel)), &f);
        if (strcmp(cases[i].snake, cases[i].camel) != 0)
            assert_null(message_field_json(&m, str_of(cases[i].snake)));
        char tight[4];
        assert_u64(field_json_name(&f, tight, sizeof tight),
                   strlen(tight)); /* truncated, but terminated */
    }
}

static void wire_types(void **state)
{
    (void)state;
    for (int t = FT_INT32; t <= FT_MESSAGE; t++) {
        field_desc f = {.type = (uint8_t)t, .flags = FF_REPEATED};
        unsigned want = t == FT_FIXED64 || t == FT_DOUBLE ? 1 : t >= FT_STRING ? 2 : 0;
        assert_u64(field_wire_type(&f), want);
        assert_int_equal(field_packable(&f), t < FT_STRING);
        f.flags = 0;
        assert_false(field_packable(&f));
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_well_formed),
        cmocka_unit_test(json_names),
        cmocka_unit_test(wire_types),
    };
    return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}
