/* kiln.h: writing, reading, files, conversion, merging, repair.  Calls only public functions. */
#include "../../support/api_made.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* The handle outlives the bytes; a borrowing handle does not copy them. */
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
    assert_false(kiln_write_file(p, "/tmp/kiln-no.svg", NULL,
                                 &e)); /* OTLP must not be written to a file of that name */
    assert_int_equal(e.code, KILN_UNSUPPORTED);
    assert_int_equal(access("/tmp/kiln-no.svg", F_OK), -1);
    kiln_profiles_free(p);
    assert_int_equal(rmdir(dir), 0);
}

/* A file that needs more than one read() and more than one block. */
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
    assert_error(&e, KILN_USAGE, "profiles[1] of 2 is NULL");
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
    /* Bytes that are not protobuf cannot be repaired. */
    assert_null(kiln_read("\x12\x09\x2a", 3, &o, &e));
    assert_int_equal(e.code, KILN_MALFORMED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips), cmocka_unit_test(test_files),
        cmocka_unit_test(test_long_file),   cmocka_unit_test(test_convert),
        cmocka_unit_test(test_ledger),      cmocka_unit_test(test_merge),
        cmocka_unit_test(test_merge_joins), cmocka_unit_test(test_canonical),
        cmocka_unit_test(test_lenient),
    };
    return cmocka_run_group_tests_name("convert", tests, NULL, NULL);
}
