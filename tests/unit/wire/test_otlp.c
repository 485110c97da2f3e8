/* The current layout and its two predecessors: accepted bytes, decoded models, encoded bytes.
 * tests/e2e/protoc_oracle checks the values of the vectors. */
#include "../../support/test.h"
#include "../../support/wiretext.h"

#include "wire/carried.h"
#include "wire/otlp.h"

#include <string.h>

static void decode_bytes(const buf *in, layout l, arena *a, model *out, ledger *led)
{
    err e = {0};
    assert_ok(
        otlp_decode(in->p, in->n, &(otlp_decode_opts){.layout = l, .ledger = led}, a, out, &e), &e);
    assert_true(out->checked);
}

static model decode_text(const char *text, arena *a)
{
    /* The bytes must outlive the model, so they are copied to the arena. */
    buf b = wire_bytes(text, NULL);
    char *p = arena_alloc(a, b.n);
    if (b.n) memcpy(p, b.p, b.n);
    model m;
    decode_bytes(&(buf){.p = p, .n = b.n}, LAYOUT_CURRENT, a, &m, NULL);
    buf_free(&b);
    return m;
}

static buf encode(const model *m, layout l, bool refs)
{
    buf out = {0};
    err e = {0};
    assert_ok(otlp_encode(m, &(otlp_encode_opts){.layout = l, .string_refs = refs}, &out, &e), &e);
    return out;
}

static void assert_same_model(const model *a, const model *b, const char *what)
{
    err e = {0};
    if (!model_equal(a, b, &e)) fail_msg("%s: differs at %s", what, e.path);
}

/* ---- vectors ---- */

/* Bytes that Kiln's encoder would not write decode to the same model as bytes from protoc. */
static void other_bytes_same_model(void **state)
{
    (void)state;
    static const struct {
        const char *file, *same_as;
        layout layout;
    } cases[] = {
        {"ambiguous/v1_10-descending.bin", "v1_10/basic.bin", LAYOUT_1_10},
        {"ambiguous/v1_10-unpacked.bin", "v1_10/basic.bin", LAYOUT_1_10},
        {"ambiguous/v1_10-chunks.bin", "v1_10/basic.bin", LAYOUT_1_10},
        {"ambiguous/v1_10-split-dictionary.bin", "v1_10/basic.bin", LAYOUT_1_10},
        {"ambiguous/v1_10-split-resource.bin", "v1_10/basic.bin", LAYOUT_1_10},
        {"ambiguous/v1_10-unknown.bin", "v1_10/basic.bin", LAYOUT_1_10},
        {"ambiguous/v1_10-collector-nulls.bin", "v1_10/nulls.bin", LAYOUT_1_10},
        {"ambiguous/v1_10-split-oneof.bin", "v1_10/anyvalue.bin", LAYOUT_1_10},
        {"ambiguous/v1_9-descending.bin", "v1_9/basic.bin", LAYOUT_1_9},
        {"ambiguous/v1_9-unpacked.bin", "v1_9/basic.bin", LAYOUT_1_9},
        {"ambiguous/v1_9-unknown.bin", "v1_9/basic.bin", LAYOUT_1_9},
        {"ambiguous/v1_9-zeros.bin", "v1_9/nulls.bin", LAYOUT_1_9},
        {"ambiguous/v1_8-unpacked.bin", "v1_8/basic.bin", LAYOUT_1_8},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf p = test_vector(cases[i].file), q = test_vector(cases[i].same_as);
        arena a = {0};
        model x, y;
        decode_bytes(&p, cases[i].layout, &a, &x, NULL);
        decode_bytes(&q, cases[i].layout, &a, &y, NULL);
        assert_same_model(&x, &y, cases[i].file);
        assert_int_equal(x.n_unknown > 0, strstr(cases[i].file, "unknown") != NULL);
        arena_free(&a);
        buf_free(&p);
        buf_free(&q);
    }
}

/* A case decodes to the same model in v1.9 and v1.10, and Kiln writes the same bytes as protoc. */
static void written_as_protoc_writes(void **state)
{
    (void)state;
    static const char *const names[] = {"basic",   "multi", "nulls",     "payload",
                                        "minimal", "empty", "near_empty"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char nine[64], ten[64];
        snprintf(nine, sizeof nine, "v1_9/%s.bin", names[i]);
        snprintf(ten, sizeof ten, "v1_10/%s.bin", names[i]);
        buf p = test_vector(nine), q = test_vector(ten);
        arena a = {0};
        model x, y;
        decode_bytes(&p, LAYOUT_1_9, &a, &x, NULL);
        decode_bytes(&q, LAYOUT_1_10, &a, &y, NULL);
        assert_same_model(&x, &y, names[i]);
        bool whole = i < 5; /* the last two omit tables that Kiln writes */
        buf as_9 = encode(&y, LAYOUT_1_9, false), as_10 = encode(&x, LAYOUT_1_10, false);
        if (whole) {
            assert_u64(as_9.n, p.n);
            assert_memory_equal(as_9.p, p.p, p.n);
            assert_u64(as_10.n, q.n);
            assert_memory_equal(as_10.p, q.p, q.n);
        }
        arena_free(&a);
        buf_free(&p);
        buf_free(&q);
        buf_free(&as_9);
        buf_free(&as_10);
    }
}

static void any_values_survive(void **state)
{
    (void)state;
    buf in = test_vector("v1_10/anyvalue.bin");
    arena a = {0};
    model m, again;
    decode_bytes(&in, LAYOUT_1_10, &a, &m, NULL);
    for (int refs = 0; refs < 2; refs++) {
        buf out = encode(&m, LAYOUT_1_10, refs);
        decode_bytes(&out, LAYOUT_1_10, &a, &again, NULL);
        assert_same_model(&m, &again, "anyvalue");
        buf_free(&out);
    }
    arena_free(&a);
    buf_free(&in);
}

/* ---- v1.8: fields that v1.9 removed become attributes ---- */

static str string_of(const model *m, uint32_t i) { return m->dict.strings.v[i]; }

static const attribute *profile_attr(const model *m, size_t i, const char *key)
{
    const profile *p = &m->profiles.v[i];
    for (uint32_t k = 0; k < p->attrs.n; k++) {
        const attribute *t = &m->dict.attributes.v[m->dict.attr_refs.v[p->attrs.at + k]];
        if (str_eq(string_of(m, t->key), str_of(key))) return t;
    }
    return NULL;
}

static void v1_8_comments_and_temporality(void **state)
{
    (void)state;
    /* profile 0: cumulative, two comments and an attribute; profile 1: neither; profile 2: delta */
    const char *text = "1{ 2{ 2{ 1{ 1:1 3:2 } 7[2 3] 12:1 } 2{ 1{ 1:1 } } 2{ 1{ 3:1 } 7:3 } } }"
                       "2{ 5\"\" 5\"cpu\" 5\"first\" 5\"second\" 6{} 6{ 1:1 2{ 3:7 } } }";
    buf in = wire_bytes(text, NULL);
    arena a = {0};
    ledger l = {0};
    model m, again;
    decode_bytes(&in, LAYOUT_1_8, &a, &m, &l);
    const attribute *c = profile_attr(&m, 0, PPROF_ATTR_COMMENT);
    assert_non_null(c);
    assert_u64(c->value.kind, ANY_ARRAY);
    assert_u64(c->value.n, 2);
    assert_true(str_eq(any_str(&c->value.array[1]), STR("second")));
    const attribute *t = profile_attr(&m, 0, KILN_ATTR_AGGREGATION_TEMPORALITY);
    assert_non_null(t);
    assert_true(str_eq(any_str(&t->value), STR("cumulative")));
    assert_non_null(profile_attr(&m, 0, "cpu")); /* the profile keeps its own attribute */
    assert_u64(m.profiles.v[1].attrs.n, 0);
    assert_true(str_eq(any_str(&profile_attr(&m, 2, KILN_ATTR_AGGREGATION_TEMPORALITY)->value),
                       STR("delta")));
    assert_true(
        str_eq(any_str(&profile_attr(&m, 2, PPROF_ATTR_COMMENT)->value.array[0]), STR("second")));
    assert_u64(l.n, 2);
    assert_int_equal(l.v[0].concept, LOSS_COMMENTS);
    assert_u64(l.v[0].count, 2);
    assert_string_equal(l.v[0].value, "first");
    assert_string_equal(l.v[0].carried_as, PPROF_ATTR_COMMENT);
    assert_int_equal(l.v[1].concept, LOSS_AGGREGATION_TEMPORALITY);
    assert_false(ledger_lost(&l));
    buf out = encode(&m, LAYOUT_1_9, false);
    decode_bytes(&out, LAYOUT_1_9, &a, &again, NULL);
    assert_same_model(&m, &again, "v1.8 as v1.9");
    buf_free(&in);
    buf_free(&out);
    arena_free(&a);
}

static void v1_8_vectors_equal_v1_9(void **state)
{
    (void)state;
    static const char *const names[] = {"nulls", "payload",
                                        "minimal"}; /* no comments, no temporality */
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char eight[64], nine[64];
        snprintf(eight, sizeof eight, "v1_8/%s.bin", names[i]);
        snprintf(nine, sizeof nine, "v1_9/%s.bin", names[i]);
        buf p = test_vector(eight), q = test_vector(nine);
        arena a = {0};
        model x, y;
        decode_bytes(&p, LAYOUT_1_8, &a, &x, NULL);
        decode_bytes(&q, LAYOUT_1_9, &a, &y, NULL);
        assert_same_model(&x, &y, names[i]);
        arena_free(&a);
        buf_free(&p);
        buf_free(&q);
    }
}

/* ---- hand-written messages ---- */

#define TABLES                                                                                     \
    "2{ 1{} 2{} 2{ 2:16 } 3{} 4{} 4{ 1<000102030405060708090a0b0c0d0e0f> } 5\"\" 5\"k\" 5\"v\" "   \
    "6{} 6{ 1:1 } 7{} 7{ 1[1] } }"
#define PROFILE(fields) "1{ 2{ 2{" fields "} } }"

/* The two messages of a pair decode to the same model. */
static void equal_messages(void **state)
{
    (void)state;
    static const struct {
        const char *name, *plain, *other;
    } cases[] = {
        {"dictionary first", PROFILE("2{ 1:1 4[5] }") TABLES, TABLES PROFILE("2{ 1:1 4[5] }")},
        {"packed and unpacked",
         PROFILE("2{ 1:1 2[1 1] 4[5 6] 5<0100000000000000 0200000000000000> }") TABLES,
         PROFILE("2{ 1:1 2:1 2:1 4:5 4:6 5@1 5@2 }") TABLES},
        {"split packed", PROFILE("2{ 4[5 6 7] }") TABLES, PROFILE("2{ 4[5] 4[] 4:6 4[7] }") TABLES},
        {"interleaved", PROFILE("2{ 1:1 2[1 1] 4[5 6] }") TABLES,
         PROFILE("2{ 4[5] 2[1] 1:1 4[6] 2[1] }") TABLES},
        {"descending", PROFILE("2{ 1:1 2[1] 3:1 4[5] 5@9 }") TABLES,
         PROFILE("2{ 5@9 4[5] 3:1 2[1] 1:1 }") TABLES},
        {"last scalar wins", PROFILE("2{ 1:1 3:1 }") TABLES,
         PROFILE("2{ 1:0 3:0 1:1 3:1 }") TABLES},
        {"samples between other fields", PROFILE("1{ 1:1 } 2{ 1:1 } 2{} 3@7 6:3") TABLES,
         PROFILE("3@5 2{ 1:1 } 1{ 1:2 } 6:3 2{} 1{ 1:1 } 3@7") TABLES},
        {"value type in two records", PROFILE("1{ 1:1 2:2 }") TABLES,
         PROFILE("1{ 1:1 } 1{ 2:2 }") TABLES},
        {"resource in two records",
         "1{ 1{ 1{ 1\"a\" 2{ 3:1 } } 1{ 1\"b\" } 2:3 3{ 2\"t\" 3\"i\" } 3{ 2\"u\" } } }" TABLES,
         "1{ 1{ 1{ 1\"a\" 2{ 3:1 } } 2:4 3{ 2\"t\" 3\"i\" } } 1{ 1{ 1\"b\" } 2:3 3{ 2\"u\" } } "
         "}" TABLES},
        {"scope in two records", "1{ 2{ 1{ 1\"n\" 2\"v\" 3{ 1\"a\" } 3{ 1\"b\" } 4:2 } } }" TABLES,
         "1{ 2{ 1{ 1\"x\" 2\"v\" 3{ 1\"a\" } } 1{ 1\"n\" 3{ 1\"b\" } 4:2 } } }" TABLES},
        {"dictionary in pieces", TABLES "2{ 5\"end\" }",
         "2{ 1{} 2{} 2{ 2:16 } 3{} 4{} 5\"\" } 2{ 4{ 1<000102030405060708090a0b0c0d0e0f> } 5\"k\" "
         "5\"v\" 6{} } "
         "2{ 6{ 1:1 } 7{} 7{ 1[1] } 5\"end\" }"},
        {"stack in chunks", "2{ 2{} 2{ 2:1 } 7{} 7{ 1[1 1 1] } }",
         "2{ 2{} 2{ 2:1 } 7{} 7{ 1:1 1[1] 1[] 1:1 } }"},
        {"array in two records", "2{ 6{ 2{ 5{ 1{ 3:1 } 1{ 3:2 } } } } }",
         "2{ 6{ 2{ 5{ 1{ 3:1 } } 5{ 1{ 3:2 } } } } }"},
        {"value in two records", "2{ 6{ 2{ 5{ 1{ 3:1 } 1{ 3:2 } } } } }",
         "2{ 6{ 2{ 5{ 1{ 3:1 } } } 2{ 5{ 1{ 3:2 } } } } }"},
        {"map in two records", "2{ 6{ 2{ 6{ 1{ 1\"a\" } 1{ 1\"b\" } } } } }",
         "2{ 6{ 2{ 6{ 1{ 1\"a\" } } 6{ 1{ 1\"b\" } } } } }"},
        {"last member of the oneof wins", "2{ 6{ 2{ 3:5 } } }",
         "2{ 6{ 2{ 1\"x\" 5{ 1{} } 3:5 } } }"},
        {"a list after another member starts again", "2{ 6{ 2{ 5{ 1{ 3:2 } } } } }",
         "2{ 6{ 2{ 5{ 1{ 3:1 } } 3:5 5{ 1{ 3:2 } } } } }"},
        {"key by index", "1{ 1{ 1{ 1\"k\" 2{ 1\"v\" } } } }" TABLES,
         "1{ 1{ 1{ 3:1 2{ 8:2 } } } }" TABLES},
        {"inline key wins over the index", "1{ 1{ 1{ 1\"x\" } } }" TABLES,
         "1{ 1{ 1{ 1\"x\" 3:1 } } }" TABLES},
        {"references nest",
         "2{ 5\"\" 5\"k\" 6{ 2{ 6{ 1{ 1\"k\" 2{ 5{ 1{ 1\"k\" } 1{ 1\"\" } } } } } } } }",
         "2{ 5\"\" 5\"k\" 6{ 2{ 6{ 1{ 3:1 2{ 5{ 1{ 8:1 } 1{ 8:0 } } } } } } } }"},
        {"references in a scope", "1{ 2{ 1{ 3{ 1\"k\" 2{ 1\"v\" } } } } }" TABLES,
         "1{ 2{ 1{ 3{ 3:1 2{ 8:2 } } } } }" TABLES},
        {"32 bits of an index count", PROFILE("2{ 1:1 }") TABLES,
         PROFILE("2{ 1:0x100000001 }") TABLES},
        {"any bit of a bool counts", "2{ 6{ 2{ 2:1 } } }", "2{ 6{ 2{ 2:256 } } }"},
        {"another wire type is an unknown field", PROFILE("2{ 1:1 }") TABLES,
         PROFILE("2{ 1:1 1@1 1#7 3\"abc\" }") TABLES},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        model x = decode_text(cases[i].plain, &a), y = decode_text(cases[i].other, &a);
        assert_same_model(&x, &y, cases[i].name);
        arena_free(&a);
    }
}

static void columns(void **state)
{
    (void)state;
    arena a = {0};
    model m =
        decode_text(PROFILE("2{ 1:1 2[1] 4[5] 5@1 } 2{ 4[6 7] } 2{ 3:1 5@2 5@3 } 2{}") TABLES, &a);
    const profile *p = &m.profiles.v[0];
    assert_u64(p->n_samples, 4);
    static const uint32_t n_attrs[] = {1, 0, 0, 0}, n_values[] = {1, 2, 0, 0},
                          n_times[] = {1, 0, 2, 0};
    for (size_t i = 0; i < 4; i++) {
        sample s = sample_at(&m, p, i);
        assert_u64(s.n_attrs, n_attrs[i]);
        assert_u64(s.n_values, n_values[i]);
        assert_u64(s.n_times, n_times[i]);
        assert_u64(s.stack, i == 0);
        assert_u64(s.link, i == 2);
    }
    assert_int_equal(sample_at(&m, p, 1).values[1], 7);
    assert_u64(sample_at(&m, p, 2).times[1], 3);
    /* Equal shapes need no offsets and no link column. */
    m = decode_text(PROFILE("2{ 4[5] } 2{ 4[6] } 2{ 4[7] }") TABLES, &a);
    p = &m.profiles.v[0];
    assert_null(p->value_span.off);
    assert_u64(p->value_span.stride, 1);
    assert_null(p->link);
    arena_free(&a);
}

static void extreme_numbers(void **state)
{
    (void)state;
    arena a = {0};
    model m =
        decode_text(PROFILE("2{ 4[-1 0x7fffffffffffffff -9223372036854775808] 5@0xffffffffffffffff "
                            "} 3@0xffffffffffffffff "
                            "4:0xffffffffffffffff 6:-5 8:0xffffffff") "2{ 1{ 1:0xffffffffffffffff "
                                                                      "2:1 3:0x8000000000000000 } "
                                                                      "2{ 2:0xffffffffffffffff 3{ "
                                                                      "2:-1 3:-2 } } 3{ 4:-3 } }",
                    &a);
    const profile *p = &m.profiles.v[0];
    sample s = sample_at(&m, p, 0);
    assert_int_equal(s.values[0], -1);
    assert_true(s.values[1] == INT64_MAX && s.values[2] == INT64_MIN);
    assert_u64(s.times[0], UINT64_MAX);
    assert_u64(p->time_unix_nano, UINT64_MAX);
    assert_u64(p->duration_nano, UINT64_MAX);
    assert_int_equal(p->period, -5);
    assert_u64(p->dropped_attributes_count, UINT32_MAX);
    assert_u64(m.dict.mappings.v[0].memory_start, UINT64_MAX);
    assert_int_equal(m.dict.lines.v[0].column, -2);
    assert_int_equal(m.dict.functions.v[0].start_line, -3);
    arena_free(&a);
}

static void missing_tables_get_zero_entries(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "", "1{}", "2{}", PROFILE(""), PROFILE("2{ 4[1] }"), "2{ 5\"\" }"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        arena a = {0};
        model m = decode_text(texts[i], &a);
        const dict *d = &m.dict;
        assert_u64(d->strings.n, 1);
        assert_u64(d->mappings.n, 1);
        assert_u64(d->locations.n, 1);
        assert_u64(d->functions.n, 1);
        assert_u64(d->links.n, 1);
        assert_u64(d->attributes.n, 1);
        assert_u64(dict_n_stacks(d), 1);
        assert_u64(d->strings.v[0].n, 0);
        assert_u64(d->locations.v[0].lines.n, 0);
        arena_free(&a);
    }
    arena a = {0};
    model m;
    err e = {0};
    assert_ok(otlp_decode(NULL, 0, NULL, &a, &m, &e), &e);
    assert_u64(m.profiles.n, 0);
    arena_free(&a);
}

/* An empty resource or scope differs from an absent one. */
static void presence(void **state)
{
    (void)state;
    arena a = {0};
    model m = decode_text("1{ 2{} 2{ 1{} } } 1{ 1{} } ", &a), again;
    assert_false(m.resources.v[0].present);
    assert_true(m.resources.v[1].present);
    assert_false(m.scopes.v[0].present);
    assert_true(m.scopes.v[1].present);
    buf out = encode(&m, LAYOUT_CURRENT, false);
    decode_bytes(&out, LAYOUT_CURRENT, &a, &again, NULL);
    assert_same_model(&m, &again, "presence");
    buf_free(&out);
    arena_free(&a);
}

/* Field 900 in every message, at every level. */
static void unknown_fields_are_counted(void **state)
{
    (void)state;
    const char *text =
        "900:1 1{ 900:1 1{ 900:1 1{ 900:1 2{ 900:1 } } 3{ 900:1 } } 2{ 900:1 1{ 900:1 3{ 900:1 } } "
        "2{ 900:1 1{ 900:1 } 2{ 900:1 } 5{ 900:1 } } } } "
        "2{ 900:1 1{ 900:1 } 2{ 900:1 3{ 900:1 } } 3{ 900:1 } 4{ 900:1 } 5\"\" 6{ 900:1 2{ 900:1 "
        "5{ 900:1 1{ 900:1 } } } } 7{ 900:1 } }";
    buf in = wire_bytes(text, NULL);
    for (simd_mode s = SIMD_AUTO; s < SIMD_MODES; s++) {
        arena a = {0};
        ledger l = {0};
        model m;
        err e = {0};
        otlp_decode_opts o = {.layout = LAYOUT_CURRENT, .ledger = &l, .simd = s};
        assert_ok(otlp_decode(in.p, in.n, &o, &a, &m, &e), &e);
        assert_u64(m.n_unknown, 24);
        assert_u64(l.n, 1);
        assert_int_equal(l.v[0].concept, LOSS_UNKNOWN_FIELD);
        assert_u64(l.v[0].count, 24);
        arena_free(&a);
    }
    buf_free(&in);
}

/* ---- writing ---- */

static void string_references_on_request(void **state)
{
    (void)state;
    arena a = {0};
    const char *text = "1{ 1{ 1{ 1\"k\" 2{ 1\"v\" } } 1{ 1\"none\" 2{ 1\"none\" } } } }" TABLES;
    model m = decode_text(text, &a);
    buf got = encode(&m, LAYOUT_CURRENT, true);
    buf want = wire_bytes("1{ 1{ 1{ 2{ 8:2 } 3:1 } 1{ 1\"none\" 2{ 1\"none\" } } } }" TABLES, NULL);
    assert_u64(got.n, want.n);
    assert_memory_equal(got.p, want.p, want.n);
    buf_free(&got);
    buf_free(&want);
    /* v1.9 has no such fields, so strings are written inline and the ledger records it. */
    ledger l = {0};
    err e = {0};
    buf nine = {0}, plain = encode(&m, LAYOUT_1_9, false);
    assert_ok(otlp_encode(
                  &m, &(otlp_encode_opts){.layout = LAYOUT_1_9, .string_refs = true, .ledger = &l},
                  &nine, &e),
              &e);
    assert_u64(nine.n, plain.n);
    assert_memory_equal(nine.p, plain.p, plain.n);
    assert_u64(l.n, 1);
    assert_int_equal(l.v[0].concept, LOSS_STRING_REFERENCE);
    assert_int_equal(l.v[0].stage, STAGE_WRITE);
    buf_free(&nine);
    buf_free(&plain);
    arena_free(&a);
}

/* Many equal strings must not make the lookup of references slow. */
static void string_references_with_equal_strings(void **state)
{
    (void)state;
    enum { N = 200000 };
    arena a = {0};
    model m = decode_text(TABLES, &a);
    m.dict.strings.v = arena_new(&a, str, N);
    m.dict.strings.n = m.dict.strings.cap = N;
    buf out = encode(&m, LAYOUT_CURRENT, true);
    assert_true(out.n > 2 * N);
    buf_free(&out);
    arena_free(&a);
}

static void v1_9_numbers(void **state)
{
    (void)state;
    arena a = {0};
    model m = decode_text(
        PROFILE("1{ 1:1 } 2{ 1:1 2[1] 3:1 4[5] 5@9 } 7<000102030405060708090a0b0c0d0e0f> 11[1]")
            TABLES,
        &a);
    buf got = encode(&m, LAYOUT_1_9, false);
    buf want = wire_bytes(PROFILE("1{ 1:1 } 2{ 1:1 2[5] 3[1] 4:1 5<0900000000000000> } "
                                  "7<000102030405060708090a0b0c0d0e0f> 11[1]") TABLES,
                          NULL);
    assert_u64(got.n, want.n);
    assert_memory_equal(got.p, want.p, want.n);
    buf_free(&got);
    buf_free(&want);
    arena_free(&a);
}

static void only_two_layouts_are_written(void **state)
{
    (void)state;
    arena a = {0};
    model m = decode_text(TABLES, &a);
    for (int l = LAYOUT_1_3; l <= LAYOUT_1_8; l++) {
        buf out = {0};
        err e = {0};
        assert_false(otlp_encode(&m, &(otlp_encode_opts){.layout = (layout)l}, &out, &e));
        assert_int_equal(e.code, ERR_UNSUPPORTED);
        char want[96];
        snprintf(want, sizeof want, "layout %s can be read but not written: use 1.9 or 1.10",
                 layout_name((layout)l));
        assert_string_equal(e.msg, want);
        buf_free(&out);
    }
    arena_free(&a);
}

/* Appending keeps the contents; a reused buffer gives the same bytes. */
static void appends_and_reuses(void **state)
{
    (void)state;
    arena a = {0};
    err e = {0};
    model m = decode_text(PROFILE("2{ 1:1 4[5] }") TABLES, &a);
    buf once = encode(&m, LAYOUT_CURRENT, false), out = {0};
    buf_z(&out, "before");
    assert_ok(otlp_encode(&m, NULL, &out, &e), &e);
    assert_u64(out.n, once.n + 6);
    assert_memory_equal(out.p, "before", 6);
    assert_memory_equal(out.p + 6, once.p, once.n);
    for (int i = 0; i < 3; i++) {
        buf_reset(&out);
        assert_ok(otlp_encode(&m, NULL, &out, &e), &e);
        assert_u64(out.n, once.n);
        assert_memory_equal(out.p, once.p, once.n);
    }
    buf_z(&out, "after"); /* the buffer can be appended to */
    assert_memory_equal(out.p + once.n, "after", 5);
    buf_free(&out);
    buf_free(&once);
    arena_free(&a);
}

/* ---- the response ---- */

static void response_fields(void **state)
{
    (void)state;
    static const struct {
        otlp_response r;
        const char *bytes;
    } cases[] = {
        {{0}, ""},
        {{.partial = true}, "1{}"},
        {{.partial = true, .rejected_profiles = 7}, "1{ 1:7 }"},
        {{.partial = true, .rejected_profiles = -1, .error_message = {"no", 2}},
         "1{ 1:-1 2\"no\" }"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf in = wire_bytes(cases[i].bytes, NULL);
        err e = {0};
        otlp_response back;
        assert_ok(otlp_response_decode(in.p, in.n, &back, &e), &e);
        assert_int_equal(back.partial, cases[i].r.partial);
        assert_int_equal(back.rejected_profiles, cases[i].r.rejected_profiles);
        assert_true(str_eq(back.error_message, cases[i].r.error_message));
        buf_free(&in);
    }
    buf in = wire_bytes("900:1 1{ 1:3 900:1 } 1{ 2\"x\" }", NULL); /* unknown fields, two records */
    otlp_response r;
    err e = {0};
    assert_ok(otlp_response_decode(in.p, in.n, &r, &e), &e);
    assert_int_equal(r.rejected_profiles, 3);
    assert_true(str_eq(r.error_message, STR("x")));
    buf_free(&in);
}

static void response_errors(void **state)
{
    (void)state;
    static const struct {
        const char *text, *msg, *path;
    } cases[] = {
        {"^1:5", "partial_success (field 1) is a varint, expected length-delimited", ""},
        {"1{ ^1\"x\" }", "rejected_profiles (field 1) is length-delimited, expected a varint",
         "partial_success"},
        {"1{ |12 02 61| ^|ff| }", "error_message is not UTF-8: byte 0xff", "partial_success"},
        {"^|0a 05 08|", "field 1 needs 5 bytes, 1 are left", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t mark;
        buf in = wire_bytes(cases[i].text, &mark);
        otlp_response r;
        err e = {0};
        assert_false(otlp_response_decode(in.p, in.n, &r, &e));
        assert_string_equal(e.msg, cases[i].msg);
        assert_string_equal(e.path, cases[i].path);
        assert_u64(e.offset, mark);
        buf_free(&in);
    }
}

/* ---- memory ---- */

/* Builds a message of n samples over 100 stacks. */
static buf large_message(size_t n)
{
    buf tables = {0}, prof = {0}, scopes = {0}, res = {0}, out = {0};
    for (int i = 0; i < 200; i++) {
        char name[32];
        int k = snprintf(name, sizeof name, "package.module.function_%d", i);
        pb_put_bytes(&tables, 5, (str){name, i ? (size_t)k : 0});
        buf f = {0};
        if (i) pb_put_uint(&f, 1, (uint64_t)i);
        pb_put_bytes(&tables, 3, buf_view(&f));
        buf_reset(&f);
        if (i) pb_put_uint(&f, 2, 0x7f0000001234u + (uint64_t)i);
        if (i) pb_put_bytes(&f, 3, (str){"\x08\x05\x10\x09", 4});
        pb_put_bytes(&tables, 2, buf_view(&f));
        buf_reset(&f);
        if (i && i < 100) {
            for (uint64_t d = 0; d < 40; d++) pb_put_varint(&f, 1 + (d * 7 + (uint64_t)i) % 199);
            str packed = buf_view(&f);
            buf s = {0};
            pb_put_bytes(&s, 1, packed);
            pb_put_bytes(&tables, 7, buf_view(&s));
            buf_free(&s);
        } else if (!i) {
            pb_put_bytes(&tables, 7, (str){"", 0});
        }
        buf_free(&f);
    }
    for (size_t i = 0; i < n; i++) {
        buf s = {0};
        pb_put_uint(&s, 1, 1 + i % 99);
        pb_put_bytes(&s, 2, (str){"\x00", 1});
        pb_put_bytes(&s, 4, (str){"\x85\x01", 2});
        pb_put_bytes(&s, 5, (str){"\1\2\3\4\5\6\7\x08", 8});
        pb_put_bytes(&prof, 2, buf_view(&s));
        buf_free(&s);
    }
    pb_put_bytes(&scopes, 2, buf_view(&prof));
    pb_put_bytes(&res, 2, buf_view(&scopes));
    pb_put_bytes(&out, 1, buf_view(&res));
    pb_put_bytes(&out, 2, buf_view(&tables));
    buf_free(&tables);
    buf_free(&prof);
    buf_free(&scopes);
    buf_free(&res);
    return out;
}

static void few_mallocs_and_none_again(void **state)
{
    (void)state;
    buf inputs[] = {large_message(10), large_message(1000), large_message(100000),
                    test_vector("v1_10/basic.bin"), test_vector("v1_10/anyvalue.bin")};
    for (size_t i = 0; i < ARRAY_LEN(inputs); i++) {
        arena a = {0};
        model m;
        decode_bytes(&inputs[i], LAYOUT_CURRENT, &a, &m, NULL);
        size_t fresh = a.n_mallocs;
        if (fresh > 4) fail_msg("input %zu of %zu bytes: %zu mallocs", i, inputs[i].n, fresh);
        for (int again = 0; again < 3; again++) {
            arena_reset(&a);
            decode_bytes(&inputs[i], LAYOUT_CURRENT, &a, &m, NULL);
            assert_u64(a.n_mallocs, fresh);
        }
        arena_free(&a);
        buf_free(&inputs[i]);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_bytes_same_model),
        cmocka_unit_test(written_as_protoc_writes),
        cmocka_unit_test(any_values_survive),
        cmocka_unit_test(v1_8_comments_and_temporality),
        cmocka_unit_test(v1_8_vectors_equal_v1_9),
        cmocka_unit_test(equal_messages),
        cmocka_unit_test(columns),
        cmocka_unit_test(extreme_numbers),
        cmocka_unit_test(missing_tables_get_zero_entries),
        cmocka_unit_test(presence),
        cmocka_unit_test(unknown_fields_are_counted),
        cmocka_unit_test(string_references_on_request),
        cmocka_unit_test(string_references_with_equal_strings),
        cmocka_unit_test(v1_9_numbers),
        cmocka_unit_test(only_two_layouts_are_written),
        cmocka_unit_test(appends_and_reuses),
        cmocka_unit_test(response_fields),
        cmocka_unit_test(response_errors),
        cmocka_unit_test(few_mallocs_and_none_again),
    };
    return cmocka_run_group_tests_name("otlp", tests, NULL, NULL);
}
