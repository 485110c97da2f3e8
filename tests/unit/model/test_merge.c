/* Merging: which samples are joined, which entries are dropped, and that the order of inputs
 * does not matter. */
#include "../../support/digest.h"
#include "../../support/random_model.h"
#include "../../support/test.h"
#include "../../support/wiretext.h"

#include "model/builder.h"
#include "model/merge.h"
#include "wire/otlp.h"

#include <string.h>

static const uint8_t trace_1[16] = {1}, span_1[8] = {9};

/* ---- small models by hand: one profile "cpu", samples named by leaf, attribute, link ---- */

typedef struct obs {
    const char *leaf, *attr, *other_attr; /* NULL: none */
    bool link;
    int64_t values[3];
    uint32_t n_values;
    uint64_t times[3];
    uint32_t n_times;
} obs;

static model make(arena *a, const char *type, const obs *v, size_t n)
{
    builder b;
    model m;
    err e = {0};
    assert_true(builder_init(&b, a));
    builder_resource(&b, NULL);
    builder_scope(&b, NULL);
    builder_profile(&b)->sample_type.type = builder_string(&b, str_of(type));
    for (size_t i = 0; i < n; i++) {
        uint32_t fn =
            builder_function(&b, &(function){.name = builder_string(&b, str_of(v[i].leaf))});
        uint32_t at = builder_location(&b, 0, 0, &(line){.function = fn}, 1, NULL, 0);
        uint32_t attrs[2];
        sample s = {.stack = builder_stack(&b, &at, 1), .attrs = attrs};
        if (v[i].attr)
            attrs[s.n_attrs++] = builder_attribute_str(&b, STR("thread"), str_of(v[i].attr));
        if (v[i].other_attr)
            attrs[s.n_attrs++] = builder_attribute_str(&b, STR("thread"), str_of(v[i].other_attr));
        if (v[i].link) s.link = builder_link(&b, trace_1, span_1);
        s.values = v[i].values;
        s.n_values = v[i].n_values;
        s.times = v[i].times;
        s.n_times = v[i].n_times;
        builder_sample(&b, &s);
    }
    assert_ok(builder_finish(&b, &m, &e), &e);
    return m;
}

/* Writes "leaf/attrs/link = values @ times; ...", in order. */
static void text_of(const model *m, char *out, size_t n)
{
    buf b = {0};
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        for (size_t k = 0; k < p->n_samples; k++) {
            sample s = sample_at(m, p, k);
            span frames = dict_stack(&m->dict, s.stack);
            const location *l = &m->dict.locations.v[m->dict.frames.v[frames.at]];
            const function *f = &m->dict.functions.v[m->dict.lines.v[l->lines.at].function];
            buf_str(&b, m->dict.strings.v[f->name]);
            for (uint32_t q = 0; q < s.n_attrs; q++) {
                buf_putc(&b, '+');
                buf_str(&b, any_str(&m->dict.attributes.v[s.attrs[q]].value));
            }
            if (s.link) buf_z(&b, "+link");
            buf_z(&b, " =");
            for (uint32_t q = 0; q < s.n_values; q++)
                buf_printf(&b, " %lld", (long long)s.values[q]);
            if (s.n_times) buf_z(&b, " @");
            for (uint32_t q = 0; q < s.n_times; q++)
                buf_printf(&b, " %llu", (unsigned long long)s.times[q]);
            buf_z(&b, "; ");
        }
        buf_z(&b, "| ");
    }
    snprintf(out, n, "%.*s", (int)b.n, b.p ? b.p : "");
    buf_free(&b);
}

#define V(...) .values = {__VA_ARGS__}, .n_values = sizeof((int64_t[]){__VA_ARGS__}) / 8
#define T(...) .times = {__VA_ARGS__}, .n_times = sizeof((uint64_t[]){__VA_ARGS__}) / 8

static const struct {
    const char *name;
    obs a[4], b[4];
    size_t n_a, n_b;
    const char *want;
    loss_concept loses; /* LOSS_CONCEPT_COUNT: no loss */
} joins[] = {
    {"equal stacks add up",
     {{"f", V(1)}, {"g", V(2)}},
     {{"g", V(10)}},
     2,
     1,
     "f = 1; g = 12; | ",
     LOSS_CONCEPT_COUNT},
    {"also within one input",
     {{"f", V(1)}, {"f", V(2)}},
     {{0}},
     2,
     0,
     "f = 3; | ",
     LOSS_CONCEPT_COUNT},
    {"several values are one total",
     {{"f", V(1, 2, 3)}},
     {{"f", V(4)}},
     1,
     1,
     "f = 10; | ",
     LOSS_CONCEPT_COUNT},
    {"different attributes",
     {{"f", .attr = "t1", V(1)}},
     {{"f", .attr = "t2", V(2)}},
     1,
     1,
     "f+t1 = 1; f+t2 = 2; | ",
     LOSS_CONCEPT_COUNT},
    {"attributes are a set",
     {{"f", .attr = "t1", .other_attr = "t2", V(1)}},
     {{"f", .attr = "t2", .other_attr = "t1", V(2)}},
     1,
     1,
     "f+t1+t2 = 3; | ",
     LOSS_CONCEPT_COUNT},
    {"repeats are ignored",
     {{"f", .attr = "t1", .other_attr = "t1", V(1)}},
     {{"f", .attr = "t1", V(2)}},
     1,
     1,
     "f+t1 = 3; | ",
     LOSS_CONCEPT_COUNT},
    {"different links",
     {{"f", .link = true, V(1)}},
     {{"f", V(2)}},
     1,
     1,
     "f+link = 1; f = 2; | ",
     LOSS_CONCEPT_COUNT},
    {"equal links join",
     {{"f", .link = true, V(1)}},
     {{"f", .link = true, V(2)}},
     1,
     1,
     "f+link = 3; | ",
     LOSS_CONCEPT_COUNT},
    {"timestamps only",
     {{"f", T(7)}},
     {{"f", T(8, 9)}},
     1,
     1,
     "f = @ 7 8 9; | ",
     LOSS_CONCEPT_COUNT},
    {"pairs stay pairs",
     {{"f", V(1, 2), T(7, 8)}},
     {{"f", V(3), T(9)}},
     1,
     1,
     "f = 1 2 3 @ 7 8 9; | ",
     LOSS_CONCEPT_COUNT},
    {"a timestamp without a value counts 1",
     {{"f", V(5), T(7)}},
     {{"f", T(8)}},
     1,
     1,
     "f = 5 1 @ 7 8; | ",
     LOSS_MIXED_SHAPE},
    {"values without timestamps remove timestamps",
     {{"f", V(5)}},
     {{"f", V(6), T(8)}},
     1,
     1,
     "f = 11; | ",
     LOSS_TIMESTAMP},
    {"a timestamp counts 1 there too",
     {{"f", V(5)}},
     {{"f", T(8, 9)}},
     1,
     1,
     "f = 7; | ",
     LOSS_TIMESTAMP},
    {"the sum saturates",
     {{"f", V(INT64_MAX)}},
     {{"f", V(1)}},
     1,
     1,
     "f = 9223372036854775807; | ",
     LOSS_VALUE_SATURATED},
    {"also at the minimum",
     {{"f", V(INT64_MIN)}},
     {{"f", V(-1)}},
     1,
     1,
     "f = -9223372036854775808; | ",
     LOSS_VALUE_SATURATED},
    {"saturated only where summed",
     {{"f", V(INT64_MAX), T(1)}},
     {{"f", V(1), T(2)}},
     1,
     1,
     "f = 9223372036854775807 1 @ 1 2; | ",
     LOSS_CONCEPT_COUNT},
};

static void join_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(joins); i++) {
        arena a = {0}, out = {0};
        model x = make(&a, "cpu", joins[i].a, joins[i].n_a),
              y = make(&a, "cpu", joins[i].b, joins[i].n_b), z;
        ledger l = {0};
        err e = {0};
        assert_ok(model_merge((const model *const[]){&x, &y}, 2,
                              &(merge_opts){.join = true, .ledger = &l}, &out, &z, &e),
                  &e);
        char got[512];
        text_of(&z, got, sizeof got);
        if (strcmp(got, joins[i].want) != 0) fail_msg("%s: %s", joins[i].name, got);
        bool silent = joins[i].loses == LOSS_CONCEPT_COUNT;
        if (silent ? l.n != 0
                   : l.n != 1 || l.v[0].concept != joins[i].loses || l.v[0].stage != STAGE_MERGE)
            fail_msg("%s: the ledger has %s", joins[i].name,
                     l.n ? loss_name(l.v[0].concept) : "nothing");
        arena_free(&a);
        arena_free(&out);
    }
}

static void unlike_profiles_stay_apart(void **state)
{
    (void)state;
    arena a = {0};
    obs f = {"f", V(1)};
    model x = make(&a, "cpu", &f, 1), y = make(&a, "alloc", &f, 1), z;
    err e = {0};
    const merge_opts join = {.join = true};
    assert_ok(model_merge((const model *const[]){&x, &y, &x}, 3, &join, &a, &z, &e), &e);
    assert_u64(z.profiles.n, 2);
    assert_int_equal(sample_at(&z, &z.profiles.v[0], 0).values[0], 2);
    /* Profiles with an original payload are not joined. */
    y = make(&a, "cpu", &f, 1);
    y.profiles.v[0].original_payload = STR("raw");
    assert_ok(model_merge((const model *const[]){&x, &y}, 2, &join, &a, &z, &e), &e);
    assert_u64(z.profiles.n, 2);
    /* Profiles with different periods are not joined. */
    y = make(&a, "cpu", &f, 1);
    y.profiles.v[0].period = 10;
    assert_ok(model_merge((const model *const[]){&x, &y}, 2, &join, &a, &z, &e), &e);
    assert_u64(z.profiles.n, 2);
    arena_free(&a);
}

/* Attributes of a profile are a set: order and repeats do not matter, members do. */
static void profile_attributes_are_a_set(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        size_t n_profiles;
    } sets[] = {
        {"11[1 2]", "11[2 1]", 1}, {"11[1 1]", "11[1]", 1},     {"11[1 1]", "11[1 2]", 2},
        {"11[1 2]", "11[1 1]", 2}, {"11[1 2 2]", "11[2 1]", 1}, {"", "11[1]", 2},
    };
    for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
        arena a = {0};
        model m[2], z;
        buf in[2];
        err e = {0};
        for (size_t k = 0; k < 2; k++) {
            char text[256];
            snprintf(text, sizeof text,
                     "1{ 2{ 2{ 2{ 4[1] } %s } } } 2{ 5\"\" 5\"a\" 5\"b\" 6{} 6{ 1:1 } 6{ 1:2 } }",
                     k ? sets[i].b : sets[i].a);
            in[k] = wire_bytes(text, NULL);
            assert_ok(otlp_decode(in[k].p, in[k].n, &(otlp_decode_opts){.layout = LAYOUT_CURRENT},
                                  &a, &m[k], &e),
                      &e);
        }
        const merge_opts join = {.join = true};
        assert_ok(model_merge((const model *const[]){&m[0], &m[1]}, 2, &join, &a, &z, &e), &e);
        assert_u64(z.profiles.n, sets[i].n_profiles);
        arena_free(&a);
        buf_free(&in[0]);
        buf_free(&in[1]);
    }
}

static void joined_head_covers_all(void **state)
{
    (void)state;
    arena a = {0};
    obs f = {"f", V(1)};
    model x = make(&a, "cpu", &f, 1), y = make(&a, "cpu", &f, 1), z;
    profile *p = &x.profiles.v[0], *q = &y.profiles.v[0];
    p->time_unix_nano = 1000, p->duration_nano = 100, p->profile_id[0] = 1,
    p->dropped_attributes_count = 2;
    q->time_unix_nano = 900, q->duration_nano = 50, q->profile_id[0] = 2,
    q->dropped_attributes_count = 3;
    err e = {0};
    for (int order = 0; order < 2; order++) {
        const model *in[] = {order ? &y : &x, order ? &x : &y};
        ledger l = {0};
        assert_ok(model_merge(in, 2, &(merge_opts){.join = true, .ledger = &l}, &a, &z, &e), &e);
        assert_u64(l.n, 1);
        assert_int_equal(l.v[0].concept, LOSS_PROFILE_ID);
        assert_int_equal(l.v[0].stage, STAGE_MERGE);
        assert_u64(l.v[0].count, 2);
        assert_string_equal(l.v[0].value, order ? "02000000000000000000000000000000"
                                                : "01000000000000000000000000000000");
        assert_null(l.v[0].carried_as);
        assert_u64(z.profiles.n, 1);
        assert_u64(z.profiles.v[0].time_unix_nano, 900);
        assert_u64(z.profiles.v[0].duration_nano, 200);
        assert_u64(z.profiles.v[0].dropped_attributes_count, 5);
        assert_true(id_is_zero(z.profiles.v[0].profile_id, 16));
    }
    arena_free(&a);
}

static void gc_drops_orphans_and_duplicates(void **state)
{
    (void)state;
    arena a = {0};
    err e = {0};
    /* string_table: "", used, unused, used again; the other tables likewise */
    str strings[] = {STR(""), STR("used"), STR("orphan"), STR("used")};
    function functions[] = {{0}, {.name = 1}, {.name = 2}, {.name = 3}};
    line lines[] = {{.function = 1}, {.function = 3}, {.function = 2}};
    location locations[] = {{0}, {.lines = {0, 1}}, {.lines = {1, 1}}, {.lines = {2, 1}}};
    mapping mappings[] = {{0}, {.memory_start = 1}};
    link_ids links[] = {{{0}, {0}}, {{7}, {0}}};
    attribute attributes[] = {{0}, {.key = 2}};
    uint32_t stacks[] = {0, 0, 1, 2, 3}, frames[] = {1, 2, 3};
    uint32_t column[] = {1, 2, 1};
    int64_t values[] = {4, 5, 6};
    resource r = {.n_scopes = 1};
    scope s = {.n_profiles = 1};
    profile p = {.n_samples = 3, .stack = column, .value_span = {.stride = 1}};
    model in = {.dict = {.strings = {strings, 4, 4},
                         .mappings = {mappings, 2, 2},
                         .locations = {locations, 4, 4},
                         .functions = {functions, 4, 4},
                         .links = {links, 2, 2},
                         .attributes = {attributes, 2, 2},
                         .lines = {lines, 3, 3},
                         .stacks = {stacks, 5, 5},
                         .frames = {frames, 3, 3}},
                .resources = {&r, 1, 1},
                .scopes = {&s, 1, 1},
                .profiles = {&p, 1, 1},
                .values = {values, 3, 3},
                .checked = true};
    model out;
    assert_ok(model_gc(&in, &a, &out, &e), &e);
    assert_u64(out.dict.strings.n, 2);
    assert_u64(out.dict.mappings.n, 1);
    assert_u64(out.dict.locations.n, 2);
    assert_u64(out.dict.functions.n, 2);
    assert_u64(out.dict.links.n, 1);
    assert_u64(out.dict.attributes.n, 1);
    assert_u64(dict_n_stacks(&out.dict), 2);
    assert_u64(out.profiles.v[0].n_samples, 3); /* samples are unchanged */
    for (size_t i = 0; i < 3; i++) {
        sample got = sample_at(&out, &out.profiles.v[0], i);
        assert_u64(got.stack, 1);
        assert_int_equal(got.values[0], values[i]);
    }
    arena_free(&a);
}

static void nothing_merges_to_nothing(void **state)
{
    (void)state;
    arena a = {0};
    model out, empty = {.checked = true};
    err e = {0};
    assert_ok(model_merge(NULL, 0, NULL, &a, &out, &e), &e);
    assert_u64(out.profiles.n, 0);
    assert_u64(out.dict.strings.n, 1);
    for (int join = 0; join < 2; join++) {
        const model *in = &empty;
        assert_ok(model_merge(&in, 1, &(merge_opts){.join = join, .canonical = true}, &a, &out, &e),
                  &e);
        assert_u64(out.profiles.n, 0);
        assert_u64(dict_n_stacks(&out.dict), 1);
    }
    arena_free(&a);
}

/* With copy_strings the inputs can be freed. */
static void copies_do_not_point_into_inputs(void **state)
{
    (void)state;
    for (int canonical = 0; canonical < 2; canonical++) {
        arena in_a = {0}, out_a = {0};
        rng r = {rnd_seed(77)};
        model in = random_model(&r, &in_a, &(random_opts){.zero_first = true, .max_samples = 20}),
              out;
        for (size_t i = 0; i < in.profiles.n; i++) {
            in.profiles.v[i].original_payload = STR("the bytes of it");
            in.profiles.v[i].original_payload_format = STR("jfr");
        }
        buf bytes = {0}, before = {0}, after = {0};
        err e = {0};
        assert_ok(otlp_encode(&in, NULL, &bytes, &e), &e);
        char *loose = malloc(bytes.n);
        memcpy(loose, bytes.p, bytes.n);
        model decoded;
        assert_ok(otlp_decode(loose, bytes.n, &(otlp_decode_opts){.layout = LAYOUT_CURRENT}, &in_a,
                              &decoded, &e),
                  &e);
        const model *one = &decoded;
        assert_ok(
            model_merge(&one, 1,
                        &(merge_opts){.copy_strings = true, .canonical = canonical, .join = true},
                        &out_a, &out, &e),
            &e);
        assert_ok(otlp_encode(&out, NULL, &before, &e), &e);
        memset(loose, 'Z', bytes.n);
        free(loose);
        arena_free(&in_a);
        assert_ok(otlp_encode(&out, NULL, &after, &e), &e);
        assert_u64(before.n, after.n);
        assert_memory_equal(before.p, after.p, before.n);
        buf_free(&bytes);
        buf_free(&before);
        buf_free(&after);
        arena_free(&out_a);
    }
}

/* ---- random models ---- */

static void assert_same_rows(digest_rows a, digest_rows b, bool observations, uint64_t seed)
{
    if (a.n != b.n)
        fail_msg("%zu rows and %zu (KILN_SEED=%llu)", a.n, b.n, (unsigned long long)seed);
    for (size_t i = 0; i < a.n; i++)
        if (digest_row_order(&a.v[i], &b.v[i]) != 0 || a.v[i].total != b.v[i].total ||
            (observations && a.v[i].observations != b.v[i].observations))
            fail_msg("row %zu differs (KILN_SEED=%llu)", i, (unsigned long long)seed);
    free(a.v);
    free(b.v);
}

enum { ROUNDS = 150 };

static void gc_keeps_what_is_said(void **state)
{
    (void)state;
    uint64_t seed = rnd_seed(1);
    for (size_t i = 0; i < ROUNDS; i++, seed++) {
        arena a = {0}, b = {0}, c = {0};
        rng r = {seed};
        err e = {0};
        model m = random_model(&r, &a, &(random_opts){.zero_first = true, .max_samples = 60}), g,
              again;
        assert_ok(model_gc(&m, &b, &g, &e), &e);
        assert_same_rows(digest_model(&m, true), digest_model(&g, true), true, seed);
        assert_ok(model_gc(&g, &c, &again, &e), &e);
        if (!model_equal(&g, &again, &e))
            fail_msg("gc of gc differs at %s (KILN_SEED=%llu)", e.path, (unsigned long long)seed);
        arena_free(&a);
        arena_free(&b);
        arena_free(&c);
    }
}

/* Makes totals small. If a sum saturates, the order may matter, which the ledger reports. */
static void tame(model *m)
{
    for (size_t i = 0; i < m->values.n; i++) m->values.v[i] %= 1000000;
    for (size_t i = 0; i < m->profiles.n; i++) m->profiles.v[i].original_payload.n = 0;
}

static void join_is_order_free(void **state)
{
    (void)state;
    uint64_t seed = rnd_seed(1000);
    for (size_t i = 0; i < ROUNDS; i++, seed++) {
        arena a = {0}, b = {0};
        rng r = {seed};
        err e = {0};
        model x = random_model(&r, &a, &(random_opts){.zero_first = true, .max_samples = 60});
        model y = random_model(&r, &a, &(random_opts){.zero_first = true, .max_samples = 60});
        tame(&x);
        tame(&y);
        model xyx, yxx, both;
        const merge_opts join = {.join = true};
        assert_ok(model_merge((const model *const[]){&x, &y, &x}, 3, &join, &b, &xyx, &e), &e);
        assert_ok(model_merge((const model *const[]){&y, &x, &x}, 3, &join, &b, &yxx, &e), &e);
        assert_same_rows(digest_model(&xyx, false), digest_model(&yxx, false), true, seed);
        /* Compares with concatenated inputs, summed row by row. */
        assert_ok(model_merge((const model *const[]){&x, &y, &x}, 3, NULL, &b, &both, &e), &e);
        assert_same_rows(digest_model(&xyx, false), digest_model(&both, false), false, seed);
        /* Each identity occurs once in the result. */
        size_t n = 0;
        for (size_t k = 0; k < xyx.profiles.n; k++) n += xyx.profiles.v[k].n_samples;
        digest_rows rows = digest_model(&xyx, true);
        assert_u64(rows.n, n);
        free(rows.v);
        arena_free(&a);
        arena_free(&b);
    }
}

static void canonical_is_a_fixed_point(void **state)
{
    (void)state;
    uint64_t seed = rnd_seed(2000);
    for (size_t i = 0; i < ROUNDS; i++, seed++) {
        for (int join = 0; join < 2; join++) {
            arena a = {0}, b = {0};
            rng r = {seed};
            err e = {0};
            model m = random_model(&r, &a, &(random_opts){.zero_first = true, .max_samples = 60}),
                  once, twice;
            if (join) tame(&m);
            const model *in = &m, *next = &once;
            const merge_opts o = {.canonical = true, .join = join};
            assert_ok(model_merge(&in, 1, &o, &b, &once, &e), &e);
            assert_same_rows(digest_model(&m, !join), digest_model(&once, !join), !join, seed);
            assert_ok(model_merge(&next, 1, &o, &b, &twice, &e), &e);
            buf p = {0}, q = {0};
            assert_ok(otlp_encode(&once, NULL, &p, &e), &e);
            assert_ok(otlp_encode(&twice, NULL, &q, &e), &e);
            if (p.n != q.n || memcmp(p.p, q.p, p.n) != 0)
                fail_msg("canonical twice differs (join %d, KILN_SEED=%llu)", join,
                         (unsigned long long)seed);
            buf_free(&p);
            buf_free(&q);
            arena_free(&a);
            arena_free(&b);
        }
    }
}

/* Canonical order does not depend on the numbers in the input: after gc the bytes are the same. */
static void canonical_ignores_numbers(void **state)
{
    (void)state;
    uint64_t seed = rnd_seed(3000);
    for (size_t i = 0; i < ROUNDS; i++, seed++) {
        arena a = {0}, b = {0};
        rng r = {seed};
        err e = {0};
        model m = random_model(&r, &a, &(random_opts){.zero_first = true, .max_samples = 60}), g, x,
              y;
        const model *in = &m, *other = &g;
        assert_ok(model_gc(&m, &b, &g, &e), &e);
        assert_ok(model_merge(&in, 1, &(merge_opts){.canonical = true}, &b, &x, &e), &e);
        assert_ok(model_merge(&other, 1, &(merge_opts){.canonical = true}, &b, &y, &e), &e);
        if (!model_equal(&x, &y, &e))
            fail_msg("differs at %s (KILN_SEED=%llu)", e.path, (unsigned long long)seed);
        arena_free(&a);
        arena_free(&b);
    }
}

static void out_of_memory_is_a_loop(void **state)
{
    (void)state;
    for (int how = 0; how < 4; how++) {
        arena a = {0};
        rng r = {rnd_seed(42)};
        model m = random_model(&r, &a, &(random_opts){.zero_first = true, .max_samples = 30});
        const model *in[] = {&m, &m};
        const merge_opts o = {.join = how & 1, .canonical = how & 2, .copy_strings = true};
        bool ok = false;
        for (size_t budget = 64; !ok; budget += budget < 4096 ? 64 : budget / 16) {
            arena b = {.budget = budget};
            model out;
            err e = {0};
            ok = model_merge(in, 2, &o, &b, &out, &e);
            if (!ok) assert_int_equal(e.code, ERR_MEMORY);
            assert_true(b.peak <= budget);
            assert_true(budget < 64 << 20);
            arena_free(&b);
        }
        arena_free(&a);
    }
}

int main(void)
{
    print_message("# random models from KILN_SEED, otherwise from fixed seeds\n");
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(join_table),
        cmocka_unit_test(unlike_profiles_stay_apart),
        cmocka_unit_test(profile_attributes_are_a_set),
        cmocka_unit_test(joined_head_covers_all),
        cmocka_unit_test(gc_drops_orphans_and_duplicates),
        cmocka_unit_test(nothing_merges_to_nothing),
        cmocka_unit_test(copies_do_not_point_into_inputs),
        cmocka_unit_test(gc_keeps_what_is_said),
        cmocka_unit_test(join_is_order_free),
        cmocka_unit_test(canonical_is_a_fixed_point),
        cmocka_unit_test(canonical_ignores_numbers),
        cmocka_unit_test(out_of_memory_is_a_loop),
    };
    return cmocka_run_group_tests_name("merge", tests, NULL, NULL);
}
