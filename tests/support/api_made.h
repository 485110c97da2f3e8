/* tests/support/api_made.h - builds a profile with one of everything through kiln.h, and checks
 * what a caller sees in it. */
#pragma once
#include <kiln/kiln.h>

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define NEW(type)                                                                                  \
    (type) { .size = sizeof(type) }

static inline kiln_str z(const char *s) { return kiln_str_of(s); }

static inline void assert_text(kiln_str s, const char *want)
{
    if (s.n != strlen(want) || (s.n && memcmp(s.p, want, s.n) != 0))
        fail_msg("\"%.*s\" is not \"%s\"", (int)s.n, s.p ? s.p : "", want);
}

static inline void assert_error(const kiln_error *e, kiln_code code, const char *want)
{
    char text[600];
    kiln_error_text(e, text, sizeof text);
    if (e->code != code || strcmp(text, want) != 0)
        fail_msg("%s: \"%s\" is not %s: \"%s\"", kiln_code_name(e->code), text,
                 kiln_code_name(code), want);
}

static inline void assert_fine(bool ok, const kiln_error *e)
{
    char text[600];
    if (!ok) fail_msg("%s", kiln_error_text(e, text, sizeof text));
    assert_int_equal(e->code, KILN_OK);
}

/* ---- a profile with one of everything ---- */

static const kiln_link link_a = {{1, 2, 3}, {4, 5}};

static inline void fill(kiln_builder *b)
{
    kiln_value list[] = {kiln_value_int(7), kiln_value_text(z("x"))};
    kiln_member inner[] = {kiln_member_of("in", kiln_value_bool(true))};
    kiln_value array = {KILN_KIND_ARRAY, 2, {.array = list}},
               map = {KILN_KIND_MAP, 1, {.map = inner}};
    kiln_member attributes[] = {kiln_member_of("service.name", kiln_value_text(z("shop"))),
                                kiln_member_of("list", array), kiln_member_of("map", map),
                                kiln_member_of("ratio", kiln_value_double(0.5))};
    kiln_resource r = {.size = sizeof r,
                       .attributes = attributes,
                       .n_attributes = 4,
                       .schema_url = z("https://r"),
                       .dropped_attributes = 3};
    kiln_builder_resource(b, &r);
    kiln_scope s = {.size = sizeof s,
                    .name = z("scope"),
                    .version = z("1"),
                    .attributes = attributes,
                    .n_attributes = 1};
    kiln_builder_scope(b, &s);

    kiln_value go = kiln_value_text(z("go")), cores = kiln_value_int(4);
    uint32_t frame_type = kiln_builder_attribute(b, z("profile.frame.type"), &go, z(""));
    uint32_t n_cores = kiln_builder_attribute(b, z("cores"), &cores, z("{core}"));
    kiln_profile p = {.size = sizeof p,
                      .sample_type = z("cpu"),
                      .sample_unit = z("ns"),
                      .period_type = z("cpu"),
                      .period_unit = z("ms"),
                      .period = 10,
                      .time_unix_nano = 1000,
                      .duration_nano = 2000,
                      .id = {9, 8, 7},
                      .attributes = &n_cores,
                      .n_attributes = 1,
                      .original_payload_format = z("x"),
                      .original_payload = {"\0\xff", 2}};
    kiln_builder_profile(b, &p);

    kiln_mapping m = {.size = sizeof m,
                      .start = 0x1000,
                      .limit = 0x9000,
                      .offset = 16,
                      .file = z("/bin/shop"),
                      .attributes = &frame_type,
                      .n_attributes = 1};
    uint32_t mapping = kiln_builder_mapping(b, &m);
    kiln_frame lines[] = {NEW(kiln_frame), NEW(kiln_frame)};
    lines[0].function = z("inner"), lines[0].file = z("a.c"), lines[0].line = 3;
    lines[0].address = 0x1234, lines[0].mapping = mapping;
    lines[0].attributes = &frame_type, lines[0].n_attributes = 1;
    lines[1].function = z("outer"), lines[1].system_name = z("_outer"), lines[1].file = z("b.c");
    lines[1].line = 40, lines[1].column = 2, lines[1].start_line = 30;
    kiln_frame bare = {.size = sizeof bare, .address = 0x2000, .mapping_file = z("libc.so")};
    uint32_t locations[] = {kiln_builder_location(b, lines, 2), kiln_builder_location(b, &bare, 1),
                            kiln_builder_frame(b, z("main"), z("main.c"), 1)};
    uint32_t deep = kiln_builder_stack(b, locations, 3),
             flat = kiln_builder_stack(b, &locations[2], 1);

    uint32_t link = kiln_builder_link(b, &link_a);
    int64_t values[] = {10, -3};
    uint64_t times[] = {1100, 1200};
    kiln_sample both = {.size = sizeof both,
                        .stack = deep,
                        .link = link,
                        .values = values,
                        .n_values = 2,
                        .times = times,
                        .n_times = 2,
                        .attributes = &frame_type,
                        .n_attributes = 1};
    kiln_builder_sample(b, &both);
    kiln_sample plain = {.size = sizeof plain, .stack = flat, .values = values, .n_values = 1};
    kiln_builder_sample(b, &plain);
    kiln_sample when = {.size = sizeof when, .stack = flat, .times = times, .n_times = 2};
    kiln_builder_sample(b, &when);
}

static inline kiln_profiles *made(void)
{
    kiln_error e;
    kiln_builder *b = kiln_builder_new(NULL, &e);
    assert_non_null(b);
    fill(b);
    kiln_profiles *p = kiln_builder_finish(b, &e);
    assert_fine(p != NULL, &e);
    return p;
}

static inline void look_at_envelope(const kiln_profiles *p)
{
    kiln_resource r = NEW(kiln_resource);
    assert_true(kiln_resource_at(p, 0, &r));
    assert_false(kiln_resource_at(p, 1, &r));
    assert_text(r.schema_url, "https://r");
    assert_int_equal(r.dropped_attributes, 3);
    assert_int_equal(r.n_attributes, 4);
    assert_text(r.attributes[0].key, "service.name");
    const kiln_value *v = kiln_member_find(r.attributes, r.n_attributes, z("list"));
    assert_true(v && v->kind == KILN_KIND_ARRAY && v->n == 2);
    assert_int_equal(v->as.array[0].as.integer, 7);
    assert_int_equal(v->as.array[1].as.text[0], 'x');
    v = kiln_member_find(r.attributes, r.n_attributes, z("map"));
    assert_true(v && v->kind == KILN_KIND_MAP && v->n == 1);
    assert_text(v->as.map[0].key, "in");
    assert_true(v->as.map[0].value.kind == KILN_KIND_BOOL && v->as.map[0].value.as.integer == 1);
    v = kiln_member_find(r.attributes, r.n_attributes, z("ratio"));
    assert_true(v && v->kind == KILN_KIND_DOUBLE && v->as.real == 0.5);
    assert_null(kiln_member_find(r.attributes, r.n_attributes, z("none")));

    kiln_scope s = NEW(kiln_scope);
    assert_true(kiln_scope_at(p, r.first_scope, &s));
    assert_text(s.name, "scope");
    assert_text(s.version, "1");
    assert_int_equal(s.n_attributes, 1);
    kiln_profile x = NEW(kiln_profile);
    assert_true(kiln_profile_at(p, s.first_profile, &x));
    assert_text(x.sample_type, "cpu");
    assert_text(x.sample_unit, "ns");
    assert_text(x.period_unit, "ms");
    assert_true(x.period == 10 && x.time_unix_nano == 1000 && x.duration_nano == 2000);
    assert_true(x.id[0] == 9 && x.id[2] == 7 && x.id[15] == 0);
    assert_int_equal(x.n_samples, 3);
    assert_true(x.original_payload.n == 2 && x.original_payload.p[1] == '\xff');
    kiln_attribute a = NEW(kiln_attribute);
    assert_true(kiln_attribute_find(p, x.attributes, x.n_attributes, z("cores"), &a));
    assert_true(a.value.kind == KILN_KIND_INT && a.value.as.integer == 4);
    assert_text(a.unit, "{core}");
    assert_false(kiln_attribute_find(p, x.attributes, x.n_attributes, z("none"), &a));
}

static inline void look_at_samples(const kiln_profiles *p)
{
    kiln_sample s = NEW(kiln_sample);
    assert_true(kiln_sample_at(p, 0, 0, &s));
    assert_true(s.n_values == 2 && s.values[1] == -3 && s.n_times == 2 && s.times[1] == 1200);
    assert_int_equal(kiln_sample_total(&s), 7);
    kiln_attribute a = NEW(kiln_attribute);
    assert_int_equal(s.n_attributes, 1);
    assert_true(kiln_attribute_at(p, s.attributes[0], &a));
    assert_text(a.key, "profile.frame.type");
    kiln_link l;
    assert_true(kiln_link_at(p, s.link, &l));
    assert_memory_equal(&l, &link_a, sizeof l);
    assert_false(kiln_link_at(p, 0, &l));

    static const struct {
        const char *function, *file, *mapping;
        int64_t line;
        uint64_t address;
        bool inlined;
    } want[] = {{"inner", "a.c", "/bin/shop", 3, 0x1234, true},
                {"outer", "b.c", "/bin/shop", 40, 0x1234, false},
                {"", "", "libc.so", 0, 0x2000, false},
                {"main", "main.c", "", 1, 0, false}};
    kiln_frames walk;
    kiln_frame f = NEW(kiln_frame);
    size_t n = 0;
    for (kiln_frames_begin(p, s.stack, &walk); kiln_frames_next(&walk, &f); n++) {
        assert_true(n < 4);
        assert_text(f.function, want[n].function);
        assert_text(f.file, want[n].file);
        assert_text(f.mapping_file, want[n].mapping);
        assert_true(f.line == want[n].line && f.address == want[n].address);
        assert_int_equal(f.inlined, want[n].inlined);
        if (n == 1) assert_text(f.system_name, "_outer");
        if (n == 1) assert_true(f.column == 2 && f.start_line == 30 && f.n_attributes == 1);
    }
    assert_int_equal(n, 4);
    assert_false(kiln_frames_next(&walk, &f));

    kiln_mapping m = NEW(kiln_mapping);
    kiln_frames_begin(p, s.stack, &walk);
    assert_true(kiln_frames_next(&walk, &f) && kiln_mapping_at(p, f.mapping, &m));
    assert_true(m.start == 0x1000 && m.limit == 0x9000 && m.offset == 16 && m.n_attributes == 1);

    assert_true(kiln_sample_at(p, 0, 1, &s));
    assert_true(s.n_values == 1 && s.n_times == 0 && s.link == 0);
    assert_true(kiln_sample_at(p, 0, 2, &s));
    assert_true(s.n_values == 0 && s.n_times == 2 && kiln_sample_total(&s) == 2);
    size_t depth;
    assert_non_null(kiln_stack_locations(p, s.stack, &depth));
    assert_int_equal(depth, 1);
    assert_false(kiln_sample_at(p, 0, 3, &s));
    assert_false(kiln_sample_at(p, kiln_count(p, KILN_PROFILES), 0, &s));
}

static inline void looks_right(const kiln_profiles *p)
{
    look_at_envelope(p);
    look_at_samples(p);
}

/* The options with which a profile is written. */
static const kiln_write_options writes[] = {
    {.size = sizeof(kiln_write_options)},
    {.size = sizeof(kiln_write_options), .format = "otlp-1.9"},
    {.size = sizeof(kiln_write_options), .format = "otlp-json", .compression = "none"},
    {.size = sizeof(kiln_write_options), .compression = "gzip"},
    {.size = sizeof(kiln_write_options), .compression = "zstd", .string_refs = true},
};
