/* Layout detection on bytes written by protoc and by other profilers. */
#include "base/buf.h"
#include "wire/layout.h"
#include "wire/pb.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/ban.h"

static const char *src_root(void)
{
    const char *s = getenv("KILN_SRC");
    return s ? s : ".";
}

/* Returns the bytes of a file; NULL if it does not exist. */
static char *slurp(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    buf b = {0};
    char chunk[4096];
    for (size_t k; (k = fread(chunk, 1, sizeof chunk, f)) > 0;) buf_put(&b, chunk, k);
    fclose(f);
    *n = b.n;
    if (!b.p) buf_putc(&b, '\0');
    return b.p;
}

static char *vector(const char *name, size_t *n)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tests/vectors/%s", src_root(), name);
    char *p = slurp(path, n);
    if (!p) fail_msg("no vector %s: set KILN_SRC to the source root", path);
    return p;
}

static layout_verdict detect(const void *p, size_t n)
{
    layout_verdict v;
    layout_detect(p, n, &v);
    assert_true(v.evidence[0] != '\0');
    assert_int_equal(v.confidence == LAYOUT_NONE, v.against[0] != '\0');
    assert_true(v.layout > LAYOUT_UNKNOWN && v.layout < LAYOUT_COUNT);
    if (v.confidence != LAYOUT_NONE) assert_true(v.fits >> v.layout & 1);
    layout_verdict brief;
    layout_detect_brief(p, n, &brief);
    assert_int_equal(brief.layout, v.layout);
    assert_int_equal(brief.confidence, v.confidence);
    assert_int_equal(brief.fits, v.fits);
    return v;
}

static void names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        layout l;
    } cases[] = {
        {"1.3", LAYOUT_1_3},     {"v1.9", LAYOUT_1_9},    {"1.10", LAYOUT_1_10},
        {"1.11", LAYOUT_1_10},   {"v1.11", LAYOUT_1_10},  {"current", LAYOUT_1_10},
        {"1.2", LAYOUT_UNKNOWN}, {"", LAYOUT_UNKNOWN},    {"unknown", LAYOUT_UNKNOWN},
        {"v", LAYOUT_UNKNOWN},   {"1.1", LAYOUT_UNKNOWN},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(layout_from_name(str_of(cases[i].name)), cases[i].l);
    for (layout l = LAYOUT_1_3; l < LAYOUT_COUNT; l++)
        assert_int_equal(layout_from_name(str_of(layout_name(l))), l);
    assert_string_equal(layout_name(LAYOUT_UNKNOWN), "unknown");
    assert_string_equal(layout_confidence_name(LAYOUT_AMBIGUOUS), "ambiguous");
}

static void vectors(void **state)
{
    (void)state;
    static const char *const cases[] = {"basic", "multi", "nulls", "anyvalue", "payload"};
    for (layout l = LAYOUT_1_3; l < LAYOUT_COUNT; l++)
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
            char name[64];
            snprintf(name, sizeof name, "v1_%s/%s.bin", layout_name(l) + 2, cases[i]);
            size_t n;
            char *p = vector(name, &n);
            layout_verdict v = detect(p, n);
            if (v.layout != l || v.confidence != LAYOUT_UNIQUE)
                fail_msg("%s: %s, %s (%s)", name, layout_name(v.layout),
                         layout_confidence_name(v.confidence), v.evidence);
            free(p);
        }
}

/* Small messages fit several layouts and have the same meaning in all of them. */
static void small_vectors(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        layout l;
        layout_confidence c;
    } cases[] = {
        {"v1_3/empty.bin", LAYOUT_1_10, LAYOUT_TIE_EQUAL},
        {"v1_3/near_empty.bin", LAYOUT_1_10, LAYOUT_TIE_EQUAL},
        {"v1_3/minimal.bin", LAYOUT_1_3, LAYOUT_UNIQUE},
        {"v1_3/ids.bin", LAYOUT_1_3, LAYOUT_UNIQUE},
        {"v1_4/minimal.bin", LAYOUT_1_5, LAYOUT_TIE_EQUAL},
        {"v1_5/minimal.bin", LAYOUT_1_5, LAYOUT_TIE_EQUAL},
        {"v1_6/minimal.bin", LAYOUT_1_6, LAYOUT_UNIQUE},
        {"v1_7/minimal.bin", LAYOUT_1_7, LAYOUT_TIE_EQUAL},
        {"v1_7/near_empty.bin", LAYOUT_1_10, LAYOUT_TIE_EQUAL},
        {"v1_8/minimal.bin", LAYOUT_1_10, LAYOUT_TIE_EQUAL},
        {"v1_10/minimal.bin", LAYOUT_1_10, LAYOUT_TIE_EQUAL},
        {"v1_10/near_empty.bin", LAYOUT_1_10, LAYOUT_TIE_EQUAL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t n;
        char *p = vector(cases[i].name, &n);
        layout_verdict v = detect(p, n);
        if (v.layout != cases[i].l || v.confidence != cases[i].c)
            fail_msg("%s: %s, %s (%s)", cases[i].name, layout_name(v.layout),
                     layout_confidence_name(v.confidence), v.evidence);
        free(p);
    }
}

static bool class_is(str class, layout_verdict v)
{
    if (str_eq(class, STR("unique"))) return v.confidence == LAYOUT_UNIQUE;
    bool tie = v.confidence == LAYOUT_TIE_RULE || v.confidence == LAYOUT_TIE_EQUAL;
    if (str_eq(class, STR("tie-broken"))) return tie;
    /* Rule (d) decides between v1.8 and v1.9 although they decode differently. */
    return v.confidence == LAYOUT_AMBIGUOUS || (v.layout == LAYOUT_1_9 && tie);
}

static str column(str *line)
{
    const char *tab = memchr(line->p, '\t', line->n);
    str c = {line->p, tab ? (size_t)(tab - line->p) : line->n};
    size_t skip = tab ? c.n + 1 : c.n;
    *line = (str){line->p + skip, line->n - skip};
    return c;
}

static void ambiguous_vectors(void **state)
{
    (void)state;
    size_t n, seen = 0;
    char *all = vector("ambiguous/EXPECT.tsv", &n);
    for (str rest = {all, n}; rest.n;) {
        const char *nl = memchr(rest.p, '\n', rest.n);
        str line = {rest.p, nl ? (size_t)(nl - rest.p) : rest.n};
        rest = nl ? (str){nl + 1, rest.n - line.n - 1} : (str){0};
        if (!line.n || line.p[0] == '#') continue;
        str file = column(&line), want = column(&line), class = column(&line);
        char name[128];
        snprintf(name, sizeof name, "ambiguous/%.*s", STR_ARG(file));
        size_t k;
        char *p = vector(name, &k);
        layout_verdict v = detect(p, k);
        if (v.layout != layout_from_name(want) || !class_is(class, v))
            fail_msg("%s: %s, %s (%s); expected %.*s, %.*s", name, layout_name(v.layout),
                     layout_confidence_name(v.confidence), v.evidence, STR_ARG(want),
                     STR_ARG(class));
        free(p);
        seen++;
    }
    free(all);
    assert_true(seen > 40);
}

static void corpus(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        layout l;
    } cases[] = {
        {"sig-profiling-profile.v1_9.otlp", LAYOUT_1_8}, /* despite its name */
        {"async45-alloc.otlp", LAYOUT_1_10},             /* writes values unpacked */
        {"async45-cpu-threads.otlp", LAYOUT_1_10},
        {"async45-jfrconv-alloc.otlp", LAYOUT_1_10},
        {"async45-jfrconv-cpu.otlp", LAYOUT_1_10},
        {"async45-wall.otlp", LAYOUT_1_10},
    };
    const char *dir = getenv("KILN_CORPUS");
    char beside[512];
    snprintf(beside, sizeof beside, "%s/../shared/corpus", src_root());
    size_t seen = 0;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char path[768];
        snprintf(path, sizeof path, "%s/otlp/%s", dir ? dir : beside, cases[i].name);
        size_t n;
        char *p = slurp(path, &n);
        if (!p) continue;
        layout_verdict v = detect(p, n);
        if (v.layout != cases[i].l || v.confidence == LAYOUT_AMBIGUOUS)
            fail_msg("%s: %s, %s (%s)", cases[i].name, layout_name(v.layout),
                     layout_confidence_name(v.confidence), v.evidence);
        free(p);
        seen++;
    }
    if (seen) return;
    print_message("SKIP: no corpus at %s (set KILN_CORPUS)\n", dir ? dir : beside);
    skip();
}

static void evidence(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
    } cases[] = {
        {"v1_9/payload.bin", "only 1.9 fits; not 1.10: Sample field 3 (link_index) is "
                             "length-delimited, expected a varint"},
        {"v1_10/payload.bin", "only 1.10 fits; not 1.9: Sample field 4 (link_index) is "
                              "length-delimited, expected a varint"},
        {"v1_8/basic.bin", "only 1.8 fits; not 1.9: ValueType has no field 3"},
        {"ambiguous/v1_9-negative-value.bin",
         "only 1.9 fits; not 1.10: Sample.attribute_indices is -2, its table has 3 entries"},
        {"ambiguous/v1_10-unknown.bin",
         "only 1.10 fits; not 1.9: Sample field 4 (link_index) is length-delimited, expected a "
         "varint; unknown fields skipped, first field 900 of AnyValue"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t n;
        char *p = vector(cases[i].name, &n);
        assert_string_equal(detect(p, n).evidence, cases[i].text);
        free(p);
    }
}

/* ---- other signals and formats ---- */

static void sub(buf *b, uint32_t number, buf *inner)
{
    pb_put_bytes(b, number, buf_view(inner));
    buf_free(inner);
}

/* Builds a resource, a scope list and one item, as in traces, metrics and logs. */
static buf signal_with(buf *item)
{
    buf out = {0}, rs = {0}, ss = {0}, resource = {0}, kv = {0}, value = {0};
    pb_put_bytes(&kv, 1, STR("service.name"));
    pb_put_bytes(&value, 1, STR("shop"));
    sub(&kv, 2, &value);
    sub(&resource, 1, &kv);
    sub(&rs, 1, &resource);
    sub(&ss, 2, item);
    sub(&rs, 2, &ss);
    sub(&out, 1, &rs);
    return out;
}

static buf traces(void)
{
    buf span = {0};
    pb_put_bytes(&span, 1, STR("\x12\x34\x56\x78\x9a\xbc\xde\xf0\x11\x22\x33\x44\x55\x66\x77\x88"));
    pb_put_bytes(&span, 2, STR("\x01\x02\x03\x04\x05\x06\x07\x08"));
    pb_put_bytes(&span, 5, STR("GET /"));
    pb_put_uint(&span, 6, 2);
    pb_put_fixed64(&span, 7, 1700000000000000000u);
    pb_put_fixed64(&span, 8, 1700000001000000000u);
    return signal_with(&span);
}

static buf metrics(void)
{
    buf metric = {0}, sum = {0}, point = {0};
    pb_put_bytes(&metric, 1, STR("hits"));
    pb_put_bytes(&metric, 3, STR("1"));
    pb_put_fixed64(&point, 3, 1700000000000000000u);
    pb_put_fixed64(&point, 6, 12);
    sub(&sum, 1, &point);
    pb_put_uint(&sum, 2, 2);
    sub(&metric, 7, &sum);
    return signal_with(&metric);
}

static buf logs(void)
{
    buf record = {0}, body = {0};
    pb_put_fixed64(&record, 1, 1700000000000000000u);
    pb_put_uint(&record, 2, 9);
    pb_put_bytes(&record, 3, STR("INFO"));
    pb_put_bytes(&body, 1, STR("hello"));
    sub(&record, 5, &body);
    return signal_with(&record);
}

static void foreign(void **state)
{
    (void)state;
    buf all[] = {traces(), metrics(), logs()};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        assert_int_equal(detect(all[i].p, all[i].n).confidence, LAYOUT_NONE);
        buf_free(&all[i]);
    }
    static const char *const texts[] = {
        "main;foo;bar 12\n", "{\"resourceProfiles\":[]}", "hi", "h\x01", "PERFILE2", "\x1f\x8b\x08",
        "\x28\x05"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(detect(texts[i], strlen(texts[i])).confidence, LAYOUT_NONE);
}

static uint64_t next_random(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

static void random_bytes(void **state)
{
    (void)state;
    uint64_t s = 0x9e3779b97f4a7c15u;
    for (int i = 0; i < 2000; i++) {
        unsigned char b[64];
        size_t n = 16 + next_random(&s) % 48;
        for (size_t k = 0; k < n; k++) b[k] = (unsigned char)next_random(&s);
        layout_verdict v = detect(b, n);
        if (v.confidence != LAYOUT_NONE) fail_msg("round %d: %s", i, v.evidence);
    }
}

static void none_says_why(void **state)
{
    (void)state;
    layout_verdict v = detect("\x0a\x05\x12\x03\x12\x7f\x00", 7);
    assert_int_equal(v.confidence, LAYOUT_NONE);
    assert_string_equal(v.against, "ScopeProfiles field 2 needs 127 bytes, 1 are left (byte 4, at "
                                   "resource_profiles[0].scope_profiles[0])");
    v = detect("\x18\x01", 2);
    assert_string_equal(v.against, "ProfilesData has no field 3 (byte 0)");
    assert_string_equal(v.evidence, "no layout fits; 1.10 fits longest");
    v = detect(NULL, 0);
    assert_int_equal(v.confidence, LAYOUT_TIE_EQUAL);
    assert_int_equal(v.layout, LAYOUT_CURRENT);
}

/* A truncated message fits no layout, but detection still finds the right one for most lengths. */
static void cut_messages(void **state)
{
    (void)state;
    for (layout l = LAYOUT_1_3; l < LAYOUT_COUNT; l++) {
        char name[64];
        snprintf(name, sizeof name, "v1_%s/basic.bin", layout_name(l) + 2);
        size_t n, right = 0;
        char *p = vector(name, &n);
        for (size_t k = 0; k <= n; k++) {
            char *copy = malloc(
                k + 1); /* separate memory, so that a sanitizer detects a read past the end */
            memcpy(copy, p, k);
            right += detect(copy, k).layout == l;
            free(copy);
        }
        if (right < n / 4) fail_msg("%s: only %zu of %zu prefixes are recognized", name, right, n);
        free(p);
    }
}

static void changed_bytes(void **state)
{
    (void)state;
    static const char *const files[] = {"v1_10/nulls.bin", "v1_3/ids.bin", "v1_6/nulls.bin"};
    for (size_t f = 0; f < ARRAY_LEN(files); f++) {
        size_t n;
        char *p = vector(files[f], &n);
        for (size_t k = 0; k < n; k++)
            for (unsigned bit = 0; bit < 8; bit++) {
                p[k] = (char)(p[k] ^ (1 << bit));
                detect(p, n);
                p[k] = (char)(p[k] ^ (1 << bit));
            }
        free(p);
    }
}

/* Nested arrays: the depth limit ends the walk before the stack overflows. */
static void nested(void **state)
{
    (void)state;
    for (unsigned depth = 1; depth < 3000; depth = depth * 3 + 1) {
        buf v = {0};
        for (unsigned i = 0; i < depth; i++) {
            buf array = {0}, any = {0};
            sub(&array, 1, &v);
            sub(&any, 5, &array);
            v = any;
        }
        buf kv = {0}, resource = {0}, rp = {0}, data = {0};
        sub(&kv, 2, &v);
        sub(&resource, 1, &kv);
        sub(&rp, 1, &resource);
        sub(&data, 1, &rp);
        assert_int_equal(detect(data.p, data.n).confidence == LAYOUT_NONE, depth > 100);
        buf_free(&data);
    }
}

/* The only field that distinguishes the layouts follows forty thousand samples. */
static void far_evidence(void **state)
{
    (void)state;
    buf profile = {0}, sp = {0}, rp = {0}, data = {0}, dict = {0};
    for (int i = 0; i < 40000; i++) pb_put_bytes(&profile, 2, STR("\x12\x01\x07"));
    pb_put_uint(&profile, 9, 3); /* v1.8: dropped_attributes_count */
    sub(&sp, 2, &profile);
    sub(&rp, 2, &sp);
    sub(&data, 1, &rp);
    pb_put_bytes(&dict, 5, STR(""));
    sub(&data, 2, &dict);
    layout_verdict v = detect(data.p, data.n);
    assert_int_equal(v.layout, LAYOUT_1_8);
    assert_int_equal(v.confidence, LAYOUT_UNIQUE);
    buf_free(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),         cmocka_unit_test(vectors),
        cmocka_unit_test(small_vectors), cmocka_unit_test(ambiguous_vectors),
        cmocka_unit_test(corpus),        cmocka_unit_test(evidence),
        cmocka_unit_test(foreign),       cmocka_unit_test(random_bytes),
        cmocka_unit_test(none_says_why), cmocka_unit_test(cut_messages),
        cmocka_unit_test(changed_bytes), cmocka_unit_test(nested),
        cmocka_unit_test(far_evidence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
