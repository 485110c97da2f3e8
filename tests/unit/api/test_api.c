/* The contract of kiln.h, from its caller's side: only public functions are called here. */
#include <kiln/kiln.h>

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define NEW(type)                                                                                  \
    (type) { .size = sizeof(type) }

static kiln_str z(const char *s) { return kiln_str_of(s); }

static void assert_text(kiln_str s, const char *want)
{
    if (s.n != strlen(want) || (s.n && memcmp(s.p, want, s.n) != 0))
        fail_msg("\"%.*s\" is not \"%s\"", (int)s.n, s.p ? s.p : "", want);
}

static void assert_error(const kiln_error *e, kiln_code code, const char *want)
{
    char text[600];
    kiln_error_text(e, text, sizeof text);
    if (e->code != code || strcmp(text, want) != 0)
        fail_msg("%s: \"%s\" is not %s: \"%s\"", kiln_code_name(e->code), text,
                 kiln_code_name(code), want);
}

static void assert_fine(bool ok, const kiln_error *e)
{
    char text[600];
    if (!ok) fail_msg("%s", kiln_error_text(e, text, sizeof text));
    assert_int_equal(e->code, KILN_OK);
}

/* ---- a profile with one of everything ---- */

static const kiln_link link_a = {{1, 2, 3}, {4, 5}};

static void fill(kiln_builder *b)
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

static kiln_profiles *made(void)
{
    kiln_error e;
    kiln_builder *b = kiln_builder_new(NULL, &e);
    assert_non_null(b);
    fill(b);
    kiln_profiles *p = kiln_builder_finish(b, &e);
    assert_fine(p != NULL, &e);
    return p;
}

static void look_at_envelope(const kiln_profiles *p)
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

static void look_at_samples(const kiln_profiles *p)
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

static void looks_right(const kiln_profiles *p)
{
    look_at_envelope(p);
    look_at_samples(p);
}

static void test_build_and_look(void **state)
{
    (void)state;
    kiln_profiles *p = made();
    looks_right(p);
    assert_int_equal(kiln_count(p, KILN_PROFILES), 1);
    assert_int_equal(kiln_count(p, KILN_STACKS), 3);
    assert_int_equal(kiln_count(p, KILN_LOCATIONS), 4);
    assert_text(kiln_string_at(p, 0), "");
    assert_text(kiln_string_at(p, UINT32_MAX), "");
    kiln_origin o = NEW(kiln_origin);
    assert_true(kiln_origin_of(p, &o));
    assert_string_equal(o.format, "");
    kiln_profiles_free(p);
}

/* ---- writing and reading ---- */

static const kiln_write_options writes[] = {
    {.size = sizeof(kiln_write_options)},
    {.size = sizeof(kiln_write_options), .format = "otlp-1.9"},
    {.size = sizeof(kiln_write_options), .format = "otlp-json", .compression = "none"},
    {.size = sizeof(kiln_write_options), .compression = "gzip"},
    {.size = sizeof(kiln_write_options), .compression = "zstd", .string_refs = true},
};

/* The handle outlives the bytes; a borrowing one costs no copy. */
static void test_round_trips(void **state)
{
    (void)state;
    static const struct {
        const char *format, *layout, *compression;
    } want[] = {{"otlp", "1.10", ""},
                {"otlp", "1.9", ""},
                {"otlp-json", "1.10", ""},
                {"otlp", "1.10", "gzip"},
                {"otlp", "1.10", "zstd"}};
    for (size_t i = 0; i < sizeof writes / sizeof *writes; i++) {
        kiln_profiles *p = made();
        kiln_error e;
        kiln_bytes b;
        assert_fine(kiln_write(p, &writes[i], &b, &e), &e);
        kiln_profiles_free(p);
        p = kiln_read(b.p, b.n, NULL, &e);
        assert_fine(p != NULL, &e);
        kiln_read_options borrow = {.size = sizeof borrow, .borrow = true};
        kiln_profiles *q = kiln_read(b.p, b.n, &borrow, &e);
        assert_fine(q != NULL, &e);
        looks_right(q);
        kiln_profiles_free(q);
        memset((void *)(uintptr_t)b.p, 0x55, b.n);
        kiln_free_bytes(&b);
        looks_right(p);
        kiln_origin o = NEW(kiln_origin);
        assert_true(kiln_origin_of(p, &o));
        assert_string_equal(o.format, want[i].format);
        assert_string_equal(o.layout, want[i].layout);
        assert_string_equal(o.compression, want[i].compression);
        assert_int_equal(o.n_payloads, 1);
        kiln_profiles_free(p);
    }
}

static void test_files(void **state)
{
    (void)state;
    char dir[] = "/tmp/kiln-api-XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    static const char *const names[] = {"a.otlp", "a.json", "a.json.gz", "a.otlp.zst", "whatever"};
    static const char *const formats[] = {"otlp", "otlp-json", "otlp-json", "otlp", "otlp"};
    kiln_profiles *p = made();
    kiln_error e;
    for (size_t i = 0; i < 5; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        assert_fine(kiln_write_file(p, path, NULL, &e), &e);
        kiln_profiles *q = kiln_read_file(path, NULL, &e);
        assert_fine(q != NULL, &e);
        looks_right(q);
        kiln_origin o = NEW(kiln_origin);
        assert_true(kiln_origin_of(q, &o));
        assert_string_equal(o.format, formats[i]);
        kiln_profiles_free(q);
        unlink(path);
    }
    assert_null(kiln_read_file(path, NULL, &e));
    assert_int_equal(e.code, KILN_SYSTEM);
    assert_int_equal(e.sys, ENOENT);
    assert_false(kiln_write_file(p, "/nowhere/at/all.otlp", NULL, &e));
    assert_int_equal(e.sys, ENOENT);
    kiln_profiles_free(p);
    assert_int_equal(rmdir(dir), 0);
}

/* More than one read() and more than one block. */
static void test_long_file(void **state)
{
    (void)state;
    char path[] = "/tmp/kiln-api-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    kiln_error e;
    kiln_builder *b = kiln_builder_new(NULL, &e);
    for (int64_t i = 0; i < 100000; i++) {
        uint32_t l = kiln_builder_frame(b, z("f"), z("f.c"), i);
        kiln_sample s = {
            .size = sizeof s, .stack = kiln_builder_stack(b, &l, 1), .values = &i, .n_values = 1};
        kiln_builder_sample(b, &s);
    }
    kiln_profiles *p = kiln_builder_finish(b, &e);
    assert_fine(p && kiln_write_file(p, path, NULL, &e), &e);
    kiln_profiles_free(p);
    struct stat st;
    assert_true(stat(path, &st) == 0 && st.st_size > 1 << 20);
    p = kiln_read_file(path, NULL, &e);
    assert_fine(p != NULL, &e);
    int64_t sum = 0;
    kiln_sample s = NEW(kiln_sample);
    for (size_t i = 0; kiln_sample_at(p, 0, i, &s); i++) sum += s.values[0];
    assert_int_equal(sum, 4999950000);
    kiln_profiles_free(p);
    kiln_read_options small = {.size = sizeof small, .max_input = 1 << 20};
    assert_null(kiln_read_file(path, &small, &e));
    assert_error(&e, KILN_LIMIT, "the file is larger than the limit of 1048576 bytes");
    unlink(path);
}

static void test_convert(void **state)
{
    (void)state;
    kiln_profiles *p = made();
    kiln_error e;
    kiln_bytes pb, json, same, back;
    kiln_write_options to = {.size = sizeof to, .format = "otlp-json"};
    assert_fine(kiln_write(p, NULL, &pb, &e), &e);
    assert_fine(kiln_convert(pb.p, pb.n, NULL, &to, &json, &e), &e);
    assert_int_equal(json.p[0], '{');
    assert_fine(kiln_convert(pb.p, pb.n, NULL, NULL, &same, &e), &e);
    assert_int_equal(same.n, pb.n);
    assert_memory_equal(same.p, pb.p, pb.n);
    assert_fine(kiln_convert(json.p, json.n, NULL, NULL, &back, &e), &e);
    kiln_profiles *q = kiln_read(back.p, back.n, NULL, &e);
    looks_right(q);
    kiln_profiles_free(q);
    kiln_free_bytes(&same);
    assert_false(kiln_convert(pb.p, pb.n - 1, NULL, &to, &same, &e));
    assert_int_equal(e.code, KILN_MALFORMED);
    assert_true(!same.p && !same.n);
    kiln_free_bytes(&pb);
    kiln_free_bytes(&json);
    kiln_free_bytes(&back);
    kiln_profiles_free(p);
}

static void test_ledger(void **state)
{
    (void)state;
    kiln_ledger *l = kiln_ledger_new();
    assert_non_null(l);
    kiln_loss x = NEW(kiln_loss);
    assert_false(kiln_loss_at(l, 0, &x));
    assert_false(kiln_ledger_lost(l));
    /* An unknown field 99 in an otherwise empty message. */
    static const char unknown[] = "\x0a\x00\x12\x00\x9a\x06\x01x";
    kiln_error e;
    kiln_read_options o = {.size = sizeof o, .layout = "1.10", .ledger = l};
    kiln_profiles *p = kiln_read(unknown, sizeof unknown - 1, &o, &e);
    assert_fine(p != NULL, &e);
    kiln_profiles_free(p);
    assert_true(kiln_loss_at(l, 0, &x));
    assert_string_equal(x.kind, "unknown_field");
    assert_string_equal(x.stage, "read");
    assert_null(x.carried_as);
    assert_int_equal(x.count, 1);
    assert_true(kiln_ledger_lost(l));
    assert_false(kiln_loss_at(l, 1, &x));
    kiln_ledger_free(l);
}

static void test_merge(void **state)
{
    (void)state;
    kiln_profiles *in[] = {made(), made(), made()};
    kiln_error e;
    kiln_profiles *all = kiln_merge((const kiln_profiles *const *)in, 3, NULL, &e);
    assert_fine(all != NULL, &e);
    assert_int_equal(kiln_count(all, KILN_PROFILES), 3);
    assert_int_equal(kiln_count(all, KILN_STACKS), 3);
    for (size_t i = 0; i < 3; i++) kiln_profiles_free(in[i]);
    look_at_samples(all);
    kiln_profiles *none = kiln_merge(NULL, 0, NULL, &e);
    assert_fine(none != NULL, &e);
    assert_int_equal(kiln_count(none, KILN_PROFILES), 0);
    kiln_profiles_free(none);

    const kiln_profiles *pair[] = {all, NULL};
    assert_null(kiln_merge(pair, 2, NULL, &e));
    assert_error(&e, KILN_USAGE, "profiles 1 of 2 is NULL");
    kiln_merge_options small = {.size = sizeof small, .max_memory = 64};
    assert_null(kiln_merge(pair, 1, &small, &e));
    assert_int_equal(e.code, KILN_LIMIT);
    kiln_profiles_free(all);
}

static void test_merge_joins(void **state)
{
    (void)state;
    kiln_profiles *in[2];
    kiln_error e;
    for (size_t i = 0; i < 2; i++) {
        kiln_builder *b = kiln_builder_new(NULL, &e);
        uint32_t l = kiln_builder_frame(b, z("f"), z("f.c"), 1);
        kiln_sample s = {.size = sizeof s,
                         .stack = kiln_builder_stack(b, &l, 1),
                         .values = (int64_t[]){21},
                         .n_values = 1};
        kiln_builder_sample(b, &s);
        in[i] = kiln_builder_finish(b, &e);
    }
    kiln_merge_options join = {.size = sizeof join, .join = true};
    kiln_profiles *all = kiln_merge((const kiln_profiles *const *)in, 2, &join, &e);
    assert_fine(all != NULL, &e);
    kiln_sample s = NEW(kiln_sample);
    assert_true(kiln_sample_at(all, 0, 0, &s));
    assert_int_equal(kiln_sample_total(&s), 42);
    assert_false(kiln_sample_at(all, 0, 1, &s));
    kiln_profiles_free(all);
    kiln_profiles_free(in[0]);
    kiln_profiles_free(in[1]);
}

static void test_canonical(void **state)
{
    (void)state;
    kiln_profiles *p = made();
    kiln_error e;
    kiln_bytes once, twice;
    kiln_write_options o = {.size = sizeof o, .canonical = true};
    assert_fine(kiln_write(p, &o, &once, &e), &e);
    assert_fine(kiln_convert(once.p, once.n, NULL, &o, &twice, &e), &e);
    assert_int_equal(once.n, twice.n);
    assert_memory_equal(once.p, twice.p, once.n);
    kiln_free_bytes(&once);
    kiln_free_bytes(&twice);
    kiln_profiles_free(p);
}

/* ---- lenient ---- */

static void test_lenient(void **state)
{
    (void)state;
    static const char json[] =
        "{\"dictionary\":{\"stringTable\":[\"\",\"cpu\"]},\"resourceProfiles\":[{\"scopeProfiles\":"
        "[{"
        "\"profiles\":[{\"sampleType\":{\"typeStrindex\":1},\"samples\":[{\"stackIndex\":7,"
        "\"values\":[5]}]}]}]}]}";
    kiln_error e;
    assert_null(kiln_read(json, sizeof json - 1, NULL, &e));
    assert_int_equal(e.code, KILN_MALFORMED);
    assert_non_null(strstr(e.path, "samples[0].stack_index"));
    kiln_ledger *l = kiln_ledger_new();
    kiln_read_options o = {.size = sizeof o, .lenient = true, .ledger = l};
    kiln_profiles *p = kiln_read(json, sizeof json - 1, &o, &e);
    assert_fine(p != NULL, &e);
    kiln_sample s = NEW(kiln_sample);
    assert_true(kiln_sample_at(p, 0, 0, &s));
    assert_int_equal(s.stack, 0);
    assert_int_equal(s.values[0], 5);
    kiln_loss x = NEW(kiln_loss);
    assert_true(kiln_loss_at(l, 0, &x));
    assert_string_equal(x.kind, "index_repaired");
    assert_int_equal(x.count, 1);
    kiln_profiles_free(p);
    kiln_ledger_free(l);
    /* What is not even protobuf has no right answer. */
    assert_null(kiln_read("\x12\x09\x2a", 3, &o, &e));
    assert_int_equal(e.code, KILN_MALFORMED);
}

/* ---- structs of other ages ---- */

/* kiln_read_options as the first release knew them, and as a later one may. */
typedef struct old_options {
    size_t size;
    const char *format;
} old_options;

typedef struct new_options {
    kiln_read_options o;
    uint64_t later;
} new_options;

typedef struct old_sample {
    size_t size;
    uint32_t stack, link;
    const int64_t *values;
    size_t n_values;
    uint64_t canary;
} old_sample;

static void test_older_structs(void **state)
{
    (void)state;
    kiln_profiles *p = made();
    kiln_error e;
    kiln_bytes b;
    assert_fine(kiln_write(p, NULL, &b, &e), &e);
    old_options o = {.size = sizeof o, .format = "otlp"};
    kiln_profiles *q = kiln_read(b.p, b.n, (const kiln_read_options *)(const void *)&o, &e);
    assert_fine(q != NULL, &e);
    looks_right(q);
    kiln_profiles_free(q);

    old_sample s = {.size = offsetof(old_sample, canary), .canary = 0xfeed};
    assert_true(kiln_sample_at(p, 0, 0, (kiln_sample *)(void *)&s));
    assert_true(s.size == offsetof(old_sample, canary) && s.n_values == 2 && s.canary == 0xfeed);
    kiln_free_bytes(&b);
    kiln_profiles_free(p);
}

static void test_newer_structs(void **state)
{
    (void)state;
    kiln_profiles *p = made();
    kiln_error e;
    kiln_bytes b;
    assert_fine(kiln_write(p, NULL, &b, &e), &e);
    new_options o = {.o = {.size = sizeof o}};
    kiln_profiles *q = kiln_read(b.p, b.n, &o.o, &e);
    assert_fine(q != NULL, &e);
    kiln_profiles_free(q);
    o.later = 1;
    assert_null(kiln_read(b.p, b.n, &o.o, &e));
    char want[200];
    snprintf(want, sizeof want, "kiln_read_options asks for what libkiln %s does not know",
             kiln_version());
    assert_error(&e, KILN_UNSUPPORTED, want);
    o = (new_options){.o = {.size = sizeof o, .reserved = {true}}};
    assert_null(kiln_read(b.p, b.n, &o.o, &e));
    assert_error(&e, KILN_UNSUPPORTED, want);

    struct {
        kiln_sample s;
        uint64_t later;
    } s = {.s = {.size = sizeof s}, .later = 99};
    assert_true(kiln_sample_at(p, 0, 0, &s.s));
    assert_true(s.s.size == sizeof s && s.s.n_values == 2 && s.later == 0);
    kiln_free_bytes(&b);
    kiln_profiles_free(p);
}

static void test_size_not_set(void **state)
{
    (void)state;
    kiln_profiles *p = made();
    kiln_error e;
    kiln_read_options o = {0};
    assert_null(kiln_read("x", 1, &o, &e));
    assert_error(&e, KILN_USAGE, "the size of kiln_read_options is not set");
    o.size = SIZE_MAX;
    assert_null(kiln_read("x", 1, &o, &e));
    assert_int_equal(e.code, KILN_USAGE);
    kiln_sample s = {0};
    kiln_frame f = {0};
    kiln_frames walk;
    kiln_resource r = {0};
    assert_false(kiln_sample_at(p, 0, 0, &s));
    assert_false(kiln_resource_at(p, 0, &r));
    kiln_frames_begin(p, 1, &walk);
    assert_false(kiln_frames_next(&walk, &f));
    kiln_profiles_free(p);
}

/* A field must not slip into the padding of an older struct. */
#define ENDS_WITH(type, field)                                                                     \
    assert_int_equal(sizeof(type), offsetof(type, field) + sizeof(((type *)0)->field))

static void test_no_padding_at_the_end(void **state)
{
    (void)state;
    ENDS_WITH(kiln_read_options, reserved);
    ENDS_WITH(kiln_write_options, reserved);
    ENDS_WITH(kiln_merge_options, reserved);
    ENDS_WITH(kiln_builder_options, seed);
    ENDS_WITH(kiln_check_options, seed);
    ENDS_WITH(kiln_origin, n_unknown);
    ENDS_WITH(kiln_resource, dropped_attributes);
    ENDS_WITH(kiln_scope, dropped_attributes);
    ENDS_WITH(kiln_profile, dropped_attributes);
    ENDS_WITH(kiln_sample, n_attributes);
    ENDS_WITH(kiln_frame, reserved);
    ENDS_WITH(kiln_mapping, n_attributes);
    ENDS_WITH(kiln_attribute, unit);
    ENDS_WITH(kiln_loss, count);
    ENDS_WITH(kiln_rule, reserved);
    ENDS_WITH(kiln_finding, offset);
    ENDS_WITH(kiln_example, offset);
}

/* ---- wrong calls ---- */

static void test_null(void **state)
{
    (void)state;
    kiln_error e;
    kiln_bytes b;
    assert_null(kiln_read(NULL, 5, NULL, &e));
    assert_error(&e, KILN_USAGE, "bytes is NULL");
    assert_null(kiln_read(NULL, 5, NULL, NULL));
    assert_null(kiln_read_file(NULL, NULL, &e));
    assert_error(&e, KILN_USAGE, "path is NULL");
    assert_null(kiln_check(NULL, 5, NULL, &e));
    assert_error(&e, KILN_USAGE, "bytes is NULL");
    assert_false(kiln_write(NULL, NULL, &b, &e));
    assert_error(&e, KILN_USAGE, "profiles is NULL");
    assert_false(kiln_write_file(NULL, "x", NULL, &e));
    assert_false(kiln_convert("", 0, NULL, NULL, NULL, &e));
    assert_error(&e, KILN_USAGE, "out is NULL");
    assert_null(kiln_builder_finish(NULL, &e));
    assert_error(&e, KILN_USAGE, "builder is NULL");
    assert_false(kiln_builder_ok(NULL, NULL));
    assert_false(kiln_builder_sample(NULL, NULL));
    assert_int_equal(kiln_builder_frame(NULL, z("f"), z("f"), 1), 0);
    assert_null(kiln_merge(NULL, 1, NULL, &e));

    kiln_sample s = NEW(kiln_sample);
    kiln_frame f = NEW(kiln_frame);
    kiln_attribute a = NEW(kiln_attribute);
    kiln_origin o = NEW(kiln_origin);
    kiln_frames walk;
    kiln_link l;
    size_t n = 1;
    assert_int_equal(kiln_count(NULL, KILN_STACKS), 0);
    assert_false(kiln_sample_at(NULL, 0, 0, &s));
    assert_false(kiln_attribute_at(NULL, 0, &a));
    assert_false(kiln_attribute_find(NULL, NULL, 0, z("k"), &a));
    assert_false(kiln_link_at(NULL, 1, &l));
    assert_false(kiln_origin_of(NULL, &o));
    assert_null(kiln_stack_locations(NULL, 0, &n));
    assert_int_equal(n, 0);
    assert_int_equal(kiln_sample_total(NULL), 0);
    assert_text(kiln_string_at(NULL, 0), "");
    kiln_frames_begin(NULL, 0, &walk);
    assert_false(kiln_frames_next(&walk, &f));
    kiln_frames_begin(NULL, 0, NULL);
    assert_false(kiln_frames_next(NULL, NULL));
    assert_false(kiln_loss_at(NULL, 0, NULL));
    assert_false(kiln_finding_at(NULL, 0, NULL));
    assert_false(kiln_example_at(NULL, 0, 0, NULL));
    assert_null(kiln_report_note(NULL, 0));
    assert_int_equal(kiln_report_count(NULL, KILN_SEVERITY_ERROR), 0);
    kiln_profiles_free(NULL);
    kiln_builder_free(NULL);
    kiln_ledger_free(NULL);
    kiln_report_free(NULL);
    kiln_free_bytes(NULL);

    kiln_profiles *p = made();
    assert_false(kiln_write(p, NULL, NULL, &e));
    assert_false(kiln_write_file(p, NULL, NULL, &e));
    assert_false(kiln_sample_at(p, 0, 0, NULL));
    assert_false(kiln_profile_at(p, 0, NULL));
    kiln_profiles_free(p);
}

static void test_unknown_names(void **state)
{
    (void)state;
    kiln_profiles *p = made();
    kiln_error e;
    kiln_bytes b;
    kiln_read_options r = {.size = sizeof r, .format = "pdf"};
    assert_null(kiln_read("x", 1, &r, &e));
    assert_error(&e, KILN_USAGE, "no format is called pdf");
    r = (kiln_read_options){.size = sizeof r, .layout = "0.1"};
    assert_null(kiln_read("x", 1, &r, &e));
    assert_error(&e, KILN_USAGE, "no layout is called 0.1");
    kiln_write_options w = {.size = sizeof w, .format = "pdf"};
    assert_false(kiln_write(p, &w, &b, &e));
    assert_error(&e, KILN_USAGE, "no format is called pdf");
    w = (kiln_write_options){.size = sizeof w, .compression = "lz4"};
    assert_false(kiln_write(p, &w, &b, &e));
    assert_error(&e, KILN_USAGE, "no compression is called lz4");
    assert_true(!b.p && !b.memory);
    bool found = false;
    for (size_t i = 0; kiln_format_name(i); i++)
        found |= strcmp(kiln_format_name(i), "otlp-json") == 0;
    assert_true(found);
    kiln_profiles_free(p);
}

static void test_errors_have_a_place(void **state)
{
    (void)state;
    kiln_error e;
    /* dictionary (field 2) of 3 bytes that wants 9 for a string. */
    assert_null(kiln_read("\x12\x03\x2a\x09\x41", 5, NULL, &e));
    assert_int_equal(e.code, KILN_MALFORMED);
    assert_true(e.offset < 5);
    assert_true(e.path[0] != '\0');
    char text[600], tiny[4];
    kiln_error_text(&e, text, sizeof text);
    assert_non_null(strstr(text, "(byte "));
    assert_int_equal(strlen(kiln_error_text(&e, tiny, sizeof tiny)), 3);
    kiln_error_text(&e, NULL, 0);
    assert_string_equal(kiln_code_name(KILN_LIMIT), "limit");
    assert_string_equal(kiln_code_name((kiln_code)99), "unknown");
    /* A success wipes what was there. */
    kiln_profiles *p = made(), *q = NULL;
    q = kiln_merge((const kiln_profiles *const[]){p}, 1, NULL, &e);
    assert_fine(q != NULL, &e);
    kiln_profiles_free(p);
    kiln_profiles_free(q);
}

/* ---- mistakes in building ---- */

static kiln_value nested[80];

static void mistake_stack(kiln_builder *b) { kiln_builder_stack(b, (uint32_t[]){0, 9}, 2); }
static void mistake_sample(kiln_builder *b)
{
    kiln_sample s = {.size = sizeof s};
    kiln_builder_sample(b, &s);
    s.stack = 5;
    kiln_builder_sample(b, &s);
}
static void mistake_pairs(kiln_builder *b)
{
    kiln_sample s = {.size = sizeof s,
                     .values = (int64_t[]){1, 2},
                     .n_values = 2,
                     .times = (uint64_t[]){1},
                     .n_times = 1};
    kiln_builder_sample(b, &s);
}
static void mistake_null(kiln_builder *b)
{
    kiln_sample s = {.size = sizeof s, .n_values = 1};
    kiln_builder_sample(b, &s);
}
static void mistake_utf8(kiln_builder *b) { kiln_builder_frame(b, z("ab\xff"), z(""), 1); }
static void mistake_kind(kiln_builder *b)
{
    kiln_value v = {.kind = 8};
    kiln_builder_attribute(b, z("k"), &v, z(""));
}
static void mistake_bool(kiln_builder *b)
{
    kiln_value v = {.kind = KILN_KIND_BOOL, .as = {.integer = 2}};
    kiln_builder_attribute(b, z("k"), &v, z(""));
}
static void mistake_depth(kiln_builder *b)
{
    for (size_t i = 0; i < 79; i++)
        nested[i] = (kiln_value){KILN_KIND_ARRAY, 1, {.array = &nested[i + 1]}};
    kiln_builder_attribute(b, z("k"), &nested[0], z(""));
}
static void mistake_no_frame(kiln_builder *b)
{
    kiln_frame f = NEW(kiln_frame);
    kiln_builder_location(b, &f, 0);
}
static void mistake_mapping(kiln_builder *b)
{
    kiln_frame f = {.size = sizeof f, .mapping = 1};
    kiln_builder_location(b, &f, 1);
}
static void mistake_attribute(kiln_builder *b)
{
    kiln_profile p = {.size = sizeof p, .attributes = (uint32_t[]){3}, .n_attributes = 1};
    kiln_builder_profile(b, &p);
}
static void mistake_size(kiln_builder *b)
{
    kiln_scope s = {0};
    kiln_builder_scope(b, &s);
}
static void mistake_member(kiln_builder *b)
{
    kiln_member m = {.key = {NULL, 3}};
    kiln_resource r = {.size = sizeof r, .attributes = &m, .n_attributes = 1};
    kiln_builder_resource(b, &r);
}

static void test_mistakes_in_building(void **state)
{
    (void)state;
    static const struct {
        void (*make)(kiln_builder *);
        kiln_code code;
        const char *want;
    } cases[] = {
        {mistake_stack, KILN_USAGE,
         "location 9 is none of this builder, which has 1 (at stack[1])"},
        {mistake_sample, KILN_USAGE, "stack 5 is none of this builder, which has 1 (at sample[1])"},
        {mistake_pairs, KILN_USAGE, "2 values and 1 timestamps do not pair up (at sample[0])"},
        {mistake_null, KILN_USAGE, "values is NULL (at sample[0])"},
        {mistake_utf8, KILN_USAGE, "function is not UTF-8 (byte 2) (at location[1])"},
        {mistake_kind, KILN_USAGE, "no value is of kind 8 (at attribute[1])"},
        {mistake_bool, KILN_USAGE, "a bool is 2 (at attribute[1])"},
        {mistake_depth, KILN_LIMIT, "a value nests deeper than 64 (at attribute[1])"},
        {mistake_no_frame, KILN_USAGE, "a location has one frame or more (at location[1])"},
        {mistake_mapping, KILN_USAGE,
         "mapping 1 is none of this builder, which has 1 (at location[1])"},
        {mistake_attribute, KILN_USAGE,
         "attribute 3 is none of this builder, which has 1 (at profile[0])"},
        {mistake_size, KILN_USAGE, "the size of kiln_scope is not set"},
        {mistake_member, KILN_USAGE, "a key is NULL (at resource[0])"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kiln_error e;
        kiln_builder *b = kiln_builder_new(NULL, &e);
        assert_true(kiln_builder_ok(b, &e));
        cases[i].make(b);
        assert_false(kiln_builder_ok(b, &e));
        fill(b); /* does nothing any more */
        mistake_size(b);
        assert_null(kiln_builder_finish(b, &e));
        assert_error(&e, cases[i].code, cases[i].want);
    }
}

static void test_builder_given_up(void **state)
{
    (void)state;
    kiln_builder *b = kiln_builder_new(NULL, NULL);
    fill(b);
    kiln_builder_free(b);
}

static void test_builder_empty(void **state)
{
    (void)state;
    kiln_error e;
    kiln_profiles *p = kiln_builder_finish(kiln_builder_new(NULL, &e), &e);
    assert_fine(p != NULL, &e);
    assert_int_equal(kiln_count(p, KILN_PROFILES), 0);
    kiln_profiles_free(p);
    /* What is missing above a sample is made. */
    kiln_builder *b = kiln_builder_new(NULL, &e);
    kiln_sample s = {.size = sizeof s, .times = (uint64_t[]){5}, .n_times = 1};
    assert_true(kiln_builder_sample(b, &s));
    p = kiln_builder_finish(b, &e);
    assert_fine(p != NULL, &e);
    assert_int_equal(kiln_count(p, KILN_RESOURCES), 1);
    assert_true(kiln_sample_at(p, 0, 0, &s));
    kiln_profiles_free(p);
}

/* ---- memory: out of it is a for loop ---- */

enum { SWEEP_STEP = 64, SWEEP_MAX = 1 << 20 };

static bool build_within(size_t budget, kiln_error *e)
{
    kiln_builder_options o = {.size = sizeof o, .max_memory = budget};
    kiln_builder *b = kiln_builder_new(&o, e);
    if (!b) return false;
    fill(b);
    kiln_profiles *p = kiln_builder_finish(b, e);
    if (p) looks_right(p);
    kiln_profiles_free(p);
    return p != NULL;
}

static kiln_bytes sweep_bytes;

static bool read_within(size_t budget, kiln_error *e)
{
    kiln_read_options o = {.size = sizeof o, .max_memory = budget};
    kiln_profiles *p = kiln_read(sweep_bytes.p, sweep_bytes.n, &o, e);
    if (p) looks_right(p);
    kiln_profiles_free(p);
    return p != NULL;
}

static bool read_leniently_within(size_t budget, kiln_error *e)
{
    kiln_read_options o = {.size = sizeof o, .max_memory = budget, .lenient = true};
    kiln_profiles *p = kiln_read(sweep_bytes.p, sweep_bytes.n, &o, e);
    kiln_profiles_free(p);
    return p != NULL;
}

static bool check_within(size_t budget, kiln_error *e)
{
    kiln_check_options o = {.size = sizeof o, .max_memory = budget};
    kiln_report *r = kiln_check(sweep_bytes.p, sweep_bytes.n, &o, e);
    kiln_report_free(r);
    return r != NULL;
}

static bool write_within(size_t budget, kiln_error *e)
{
    kiln_profiles *p = kiln_read(sweep_bytes.p, sweep_bytes.n, NULL, e);
    kiln_write_options o = {
        .size = sizeof o, .max_memory = budget, .canonical = true, .compression = "gzip"};
    kiln_bytes b;
    bool ok = kiln_write(p, &o, &b, e);
    kiln_free_bytes(&b);
    kiln_profiles_free(p);
    return ok;
}

static bool merge_within(size_t budget, kiln_error *e)
{
    kiln_profiles *p = kiln_read(sweep_bytes.p, sweep_bytes.n, NULL, e);
    const kiln_profiles *in[] = {p, p};
    kiln_merge_options o = {.size = sizeof o, .max_memory = budget, .join = true};
    kiln_profiles *q = kiln_merge(in, 2, &o, e);
    kiln_profiles_free(q);
    kiln_profiles_free(p);
    return q != NULL;
}

/* Every budget either works or says KILN_LIMIT, and once it works more memory does not hurt. */
static void sweep(bool (*within)(size_t, kiln_error *), const char *what)
{
    bool worked = false;
    kiln_error e;
    for (size_t budget = 1; budget < SWEEP_MAX; budget += worked ? SWEEP_MAX / 16 : SWEEP_STEP) {
        bool ok = within(budget, &e);
        if (!ok && e.code != KILN_LIMIT) {
            char text[600];
            fail_msg("%s with %zu bytes: %s", what, budget, kiln_error_text(&e, text, sizeof text));
        }
        if (worked && !ok)
            fail_msg("%s fails with %zu bytes although less was enough", what, budget);
        worked |= ok;
    }
    if (!worked) fail_msg("%s never worked: %s", what, e.message);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    sweep(build_within, "building");
    for (size_t i = 0; i < sizeof writes / sizeof *writes; i++) {
        kiln_profiles *p = made();
        kiln_error e;
        assert_fine(kiln_write(p, &writes[i], &sweep_bytes, &e), &e);
        kiln_profiles_free(p);
        sweep(read_within, "reading");
        sweep(check_within, "checking");
        sweep(write_within, "writing");
        sweep(merge_within, "merging");
        kiln_free_bytes(&sweep_bytes);
    }
}

static void test_out_of_memory_while_repairing(void **state)
{
    (void)state;
    static const char json[] =
        "{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{\"samples\":[{\"stackIndex\":7,"
        "\"values\":[5]}]}]}]}]}";
    sweep_bytes = (kiln_bytes){.p = json, .n = sizeof json - 1};
    sweep(read_leniently_within, "repairing");
    sweep(check_within, "checking");
    sweep_bytes = (kiln_bytes){0};
}

/* ---- checking ---- */

static void test_check_finds(void **state)
{
    (void)state;
    static const char json[] =
        "{\"dictionary\":{\"stringTable\":[\"\",\"cpu\"]},\"resourceProfiles\":[{\"scopeProfiles\":"
        "[{"
        "\"profiles\":[{\"sampleType\":{\"typeStrindex\":1},\"samples\":[{\"stackIndex\":7,"
        "\"values\":[5]},{\"stackIndex\":8,\"values\":[5]}]}]}]}]}";
    kiln_error e;
    kiln_report *r = kiln_check(json, sizeof json - 1, NULL, &e);
    assert_fine(r != NULL, &e);
    assert_true(kiln_report_count(r, KILN_SEVERITY_ERROR) >= 2);
    kiln_finding f = NEW(kiln_finding);
    kiln_example x = NEW(kiln_example);
    bool found = false;
    for (size_t i = 0; kiln_finding_at(r, i, &f); i++) {
        assert_true(f.count >= f.n_examples && f.n_examples > 0);
        for (size_t k = 0; k < f.n_examples; k++) assert_true(kiln_example_at(r, i, k, &x));
        assert_false(kiln_example_at(r, i, f.n_examples, &x));
        if (strcmp(f.rule, "P-06") != 0) continue;
        found = true;
        assert_int_equal(f.severity, KILN_SEVERITY_ERROR);
        assert_int_equal(f.count, 2);
        assert_string_equal(
            f.path, "resource_profiles[0].scope_profiles[0].profiles[0].samples[0].stack_index");
        assert_non_null(strstr(f.found, "7"));
        assert_true(f.expected[0] && f.title[0] && f.fix[0]);
        assert_true(kiln_example_at(r, i, 1, &x));
        assert_non_null(strstr(x.found, "8"));
    }
    assert_true(found);
    assert_non_null(kiln_report_note(r, 0)); /* the facts of bytes are gone in JSON */
    kiln_report_free(r);
}

static void test_check_options(void **state)
{
    (void)state;
    kiln_error e;
    static const char bytes[] = "\x12\x03\x2a\x01\x41"; /* string_table[0] is not "" */
    const char *only[] = {"P-03"}, *wrong[] = {"P-999"};
    kiln_check_options o = {.size = sizeof o, .only = only, .n_only = 1};
    kiln_report *r = kiln_check(bytes, sizeof bytes - 1, &o, &e);
    assert_fine(r != NULL, &e);
    kiln_finding f = NEW(kiln_finding);
    assert_true(kiln_finding_at(r, 0, &f));
    assert_string_equal(f.rule, "P-03");
    assert_false(kiln_finding_at(r, 1, &f));
    kiln_report_free(r);
    o = (kiln_check_options){.size = sizeof o, .ignore = only, .n_ignore = 1};
    r = kiln_check(bytes, sizeof bytes - 1, &o, &e);
    for (size_t i = 0; kiln_finding_at(r, i, &f); i++) assert_string_not_equal(f.rule, "P-03");
    kiln_report_free(r);
    o = (kiln_check_options){.size = sizeof o, .only = wrong, .n_only = 1};
    assert_null(kiln_check(bytes, sizeof bytes - 1, &o, &e));
    assert_error(&e, KILN_USAGE, "no rule is called P-999");
    o = (kiln_check_options){.size = sizeof o, .n_only = 1};
    assert_null(kiln_check(bytes, sizeof bytes - 1, &o, &e));
    assert_error(&e, KILN_USAGE, "a list of rules is NULL");
    assert_null(kiln_check("", 0, NULL, &e));
    assert_error(&e, KILN_MALFORMED, "the input is empty");
}

/* Bytes that are no protobuf are judged, not refused; offsets count from the whole input. */
static void test_check_wire(void **state)
{
    (void)state;
    kiln_error e;
    kiln_report *r = kiln_check("\x12\x09\x2a", 3, NULL, &e);
    assert_fine(r != NULL, &e);
    kiln_finding f = NEW(kiln_finding);
    assert_true(kiln_finding_at(r, 0, &f));
    assert_string_equal(f.rule, "WIRE");
    uint64_t alone = f.offset;
    kiln_report_free(r);
    static const char framed[] = "\0\0\0\x02\x12\x00\0\0\0\x03\x12\x09\x2a";
    r = kiln_check(framed, sizeof framed - 1, NULL, &e);
    assert_fine(r != NULL, &e);
    bool found = false;
    for (size_t i = 0; kiln_finding_at(r, i, &f); i++)
        if (strcmp(f.rule, "WIRE") == 0) {
            found = true;
            assert_int_equal(f.payload, 1);
            if (alone != KILN_NO_OFFSET) assert_int_equal(f.offset, alone + 10);
        }
    assert_true(found);
    kiln_report_free(r);
}

static void test_rules(void **state)
{
    (void)state;
    kiln_rule r = NEW(kiln_rule);
    size_t n = 0;
    for (; kiln_rule_at(n, &r); n++) assert_true(r.id[0] && r.title[0] && r.expected[0]);
    assert_true(n > 30);
    assert_string_equal(kiln_severity_name(KILN_SEVERITY_WARNING), "warning");
    kiln_profiles *p = made();
    kiln_error e;
    kiln_bytes b;
    assert_fine(kiln_write(p, NULL, &b, &e), &e);
    kiln_report *rep = kiln_check(b.p, b.n, NULL, &e);
    assert_fine(rep != NULL, &e);
    kiln_report_free(rep);
    kiln_free_bytes(&b);
    kiln_profiles_free(p);
}

/* ---- asking ---- */

static void test_query(void **state)
{
    (void)state;
    static const char folded[] = "main;run;work 3\nmain;run 2\nmain;idle 1\n";
    kiln_error e;
    kiln_read_options r = NEW(kiln_read_options);
    r.format = "folded";
    kiln_profiles *p = kiln_read(folded, sizeof folded - 1, &r, &e);
    assert_fine(p != NULL, &e);
    kiln_query_options o = NEW(kiln_query_options);
    o.hide = "^idle$";
    kiln_answer *a = kiln_query_top(p, &o, &e);
    assert_fine(a != NULL, &e);
    kiln_answer_facts f = NEW(kiln_answer_facts);
    assert_true(kiln_answer_facts_of(a, &f));
    assert_int_equal(f.n_rows, 3);
    assert_int_equal(f.total, 6);
    assert_text(f.sample_type, "samples");
    assert_string_equal(f.unmatched, "");
    kiln_row row = NEW(kiln_row);
    assert_true(kiln_row_at(a, 1, &row));
    assert_text(row.label, "run");
    assert_int_equal(row.self, 2);
    assert_int_equal(row.total, 5);
    assert_false(kiln_row_at(a, 3, &row));
    kiln_answer_free(a);

    static const struct {
        const char *label;
        int64_t self, total;
        uint32_t depth;
        size_t parent;
    } nodes[] = {{"", 0, 6, 0, 0},
                 {"main", 0, 6, 1, 0},
                 {"run", 2, 5, 2, 1},
                 {"work", 3, 3, 3, 2},
                 {"idle", 1, 1, 2, 1}};
    a = kiln_query_tree(p, NULL, &e);
    assert_fine(a != NULL, &e);
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        assert_true(kiln_row_at(a, i, &row));
        assert_text(row.label, nodes[i].label);
        assert_int_equal(row.self, nodes[i].self);
        assert_int_equal(row.total, nodes[i].total);
        assert_int_equal(row.depth, nodes[i].depth);
        assert_int_equal(row.parent, nodes[i].parent);
    }
    assert_false(kiln_row_at(a, 5, &row));
    kiln_answer_free(a);

    o.sample_type = "heap";
    assert_null(kiln_query_top(p, &o, &e));
    assert_error(&e, KILN_USAGE, "no sample type `heap`; there is samples/count");
    assert_null(kiln_query_tree(NULL, NULL, &e));
    assert_error(&e, KILN_USAGE, "profiles is NULL");
    o.granularity = 99;
    assert_null(kiln_query_top(p, &o, &e));
    assert_int_equal(e.code, KILN_USAGE);
    assert_false(kiln_row_at(NULL, 0, &row));
    assert_false(kiln_answer_facts_of(NULL, &f));
    kiln_answer_free(NULL);
    kiln_profiles_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_query),
        cmocka_unit_test(test_build_and_look),
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_long_file),
        cmocka_unit_test(test_convert),
        cmocka_unit_test(test_ledger),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_merge_joins),
        cmocka_unit_test(test_canonical),
        cmocka_unit_test(test_lenient),
        cmocka_unit_test(test_older_structs),
        cmocka_unit_test(test_newer_structs),
        cmocka_unit_test(test_size_not_set),
        cmocka_unit_test(test_no_padding_at_the_end),
        cmocka_unit_test(test_null),
        cmocka_unit_test(test_unknown_names),
        cmocka_unit_test(test_errors_have_a_place),
        cmocka_unit_test(test_mistakes_in_building),
        cmocka_unit_test(test_builder_given_up),
        cmocka_unit_test(test_builder_empty),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_out_of_memory_while_repairing),
        cmocka_unit_test(test_check_finds),
        cmocka_unit_test(test_check_options),
        cmocka_unit_test(test_check_wire),
        cmocka_unit_test(test_rules),
    };
    return cmocka_run_group_tests_name("api", tests, NULL, NULL);
}
