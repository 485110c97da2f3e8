/* Bodies of stacks, whole requests of POST /ingest, and PushRequest. tests/e2e/pyroscope_ingest compares
 * them with kiln info and runs real senders. */
#include "pyroscope/ingest.h"
#include "model/builder.h"
#include "pyroscope/envelope.h"
#include "pyroscope/push.h"
#include "pyroscope/stacks_read.h"
#include "pyroscope/subtract.h"
#include "pyroscope/type_id.h"
#include "wire/carried.h"
#include "wire/pb.h"

#include "../../support/test.h"

/* ---- stacks ---- */

/* Returns "root;leaf=value ..." in the order of samples. */
static const char *text_of(const model *m, char out[512])
{
    buf b = {0};
    const profile *p = &m->profiles.v[0];
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(m, p, i);
        span f = dict_stack(&m->dict, s.stack);
        for (uint32_t k = f.n; k-- > 0;) {
            const location *l = &m->dict.locations.v[m->dict.frames.v[f.at + k]];
            str name =
                dict_str(&m->dict, m->dict.functions.v[m->dict.lines.v[l->lines.at].function].name);
            buf_printf(&b, "%.*s%s", STR_ARG(name), k ? ";" : "");
        }
        buf_printf(&b, "=%lld ", (long long)sample_total(&s, NULL));
    }
    snprintf(out, 512, "%.*s", STR_ARG(buf_view(&b)));
    buf_free(&b);
    return out;
}

#define TRIE "\0\0\2\005main;\0\2\1a\3\1\2;b\4\0\1c\5\0\1x\6\0"
#define TREE "\0\011\2\1m\0\2\1a\3\1\1b\4\0\1c\5\0\1x\6\0"

static void test_stacks(void **state)
{
    (void)state;
    static const struct {
        stacks_form as;
        str bytes;
        const char *want;
    } cases[] = {
        {STACKS_LINES, STR("m;a\n m;b \r\n\nm;a"), "m;a=2 m;b=1 "},
        {STACKS_LINES, STR(";a;;\xff"), "[unknown];a;[unknown];\xef\xbf\xbd=1 "},
        {STACKS_LINES, STR(""), ""},
        {STACKS_TRIE, STR(TRIE), "main;a=3 main;a;b=4 main;c=5 x=6 "},
        {STACKS_TRIE, STR(""), ""},
        {STACKS_TREE, STR(TREE), "m;a=3 m;a;b=4 m;c=5 x=6 "},
        {STACKS_TREE, STR(""), ""},
        {STACKS_TREE, STR("\4root\1\1\1a\2\0"), "a=2 "}, /* the name of the root is not a frame */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        model m;
        err e = {0};
        char text[512];
        assert_ok(stacks_read(cases[i].as, cases[i].bytes, STR("t"), STR("u"), NULL, &a, &m, &e),
                  &e);
        assert_string_equal(text_of(&m, text), cases[i].want);
        arena_free(&a);
    }
}

static void test_bad_stacks(void **state)
{
    (void)state;
    static const struct {
        stacks_form as;
        str bytes;
        const char *why;
        uint64_t at;
    } cases[] = {
        {STACKS_TRIE, STR("\0"), "varint runs past the end of the message", 1},
        {STACKS_TRIE, STR("\0\0\1"), "the trie ends before its last node", 3},
        {STACKS_TRIE, STR("\7abc"), "a name of 7 bytes, but 3 are left", 0},
        {STACKS_TRIE, STR("\0\0\0\0"), "bytes after the last node", 3},
        {STACKS_TRIE, STR("\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\0"),
         "the value does not fit in 63 bits", 1},
        {STACKS_TREE, STR("\0\0\2\1a\1\0"), "varint runs past the end of the message", 7},
        {STACKS_TREE, STR("\0\0\0x"), "bytes after the last node", 3},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        model m;
        err e = {.offset = NO_OFFSET};
        assert_false(
            stacks_read(cases[i].as, cases[i].bytes, STR("t"), STR("u"), NULL, &a, &m, &e));
        assert_string_equal(e.msg, cases[i].why);
        assert_u64(e.offset, cases[i].at);
        arena_free(&a);
    }
    for (size_t budget = 0; budget < 64 * 1024; budget += 64) {
        arena a = {.budget = budget + 1};
        model m;
        err e = {0};
        if (!stacks_read(STACKS_TRIE, STR(TRIE), STR("t"), STR("u"), NULL, &a, &m, &e))
            assert_int_equal(e.code, ERR_MEMORY);
        arena_free(&a);
    }
}

/* A long stack that is repeated by nodes of three bytes. */
static void test_work_is_bounded(void **state)
{
    (void)state;
    buf b = {0};
    arena a = {.budget = (size_t)256 << 20};
    model m;
    err e = {0};
    static char longer[60000];
    memset(longer, 'x', sizeof longer);
    pb_put_varint(&b, sizeof longer);
    buf_put(&b, longer, sizeof longer);
    buf_z(&b, "\1");
    pb_put_varint(&b, 50000);
    for (int i = 0; i < 50000; i++) buf_put(&b, "\0\1\0", 3);
    assert_false(stacks_read(STACKS_TRIE, buf_view(&b), STR("t"), STR("u"), NULL, &a, &m, &e));
    assert_string_equal(e.msg, "the stacks have more than 512 MiB together");
    assert_int_equal(e.code, ERR_LIMIT);
    arena_free(&a);
    buf_free(&b);
}

/* ---- whole requests ---- */

static const keyvalue *attr_of(const keyvalues *v, const char *key)
{
    for (size_t i = 0; i < v->n; i++)
        if (str_eq(v->v[i].key, str_of(key))) return &v->v[i];
    return NULL;
}

static void test_folded(void **state)
{
    (void)state;
    arena a = {0};
    ledger l = {0};
    pyro_ingested got;
    err e = {0};
    char text[512];
    pyro_ingest in = {.query =
                          STR("name=shop.wall%7Bb=2,a=1,__x__=y%7D&from=10&until=12&sampleRate=50"),
                      .body = STR("m;a 3\nm;b 1\n"),
                      .now = 99,
                      .max_bytes = 1 << 20};
    assert_ok(pyro_ingest_read(&in, &l, &a, &got, &e), &e);
    assert_string_equal(got.form, "folded");
    assert_string_equal(text_of(&got.model, text), "m;a=60000000 m;b=20000000 ");
    const keyvalues *r = &got.model.resources.v[0].attrs, *s = &got.model.scopes.v[0].attrs;
    assert_u64(r->n, 3); /* sorted */
    assert_true(str_eq(r->v[0].key, STR("a")) && str_eq(r->v[1].key, STR("b")));
    assert_true(str_eq(any_str(&attr_of(r, "service.name")->value), STR("shop")));
    assert_true(str_eq(any_str(&attr_of(s, PYRO_NAME)->value), STR("wall")));
    const profile *p = &got.model.profiles.v[0];
    assert_u64(p->time_unix_nano, 10000000000);
    assert_u64(p->duration_nano, 2000000000);
    assert_u64(p->period, 20000000);
    assert_u64(l.n, 1); /* the private label */
    assert_int_equal(l.v[0].concept, LOSS_LABEL);
    in.body = (str){0};
    assert_ok(pyro_ingest_read(&in, &l, &a, &got, &e), &e);
    assert_u64(got.model.profiles.n, 0);
    for (size_t budget = 0; budget < 64 * 1024; budget += 256) {
        arena little = {.budget = budget + 1};
        in.body = STR("m;a 3\nm;b 1\n");
        e = (err){0};
        if (!pyro_ingest_read(&in, NULL, &little, &got, &e)) assert_int_equal(e.code, ERR_MEMORY);
        arena_free(&little);
    }
    arena_free(&a);
}

/* ---- names and links ---- */

static void add_row(builder *b, const char *frame, uint32_t attr, int64_t value)
{
    function f = {.name = builder_string(b, str_of(frame))};
    line one = {.function = builder_function(b, &f)};
    uint32_t at = builder_location(b, 0, 0, &one, 1, NULL, 0);
    builder_sample(b, &(sample){.stack = builder_stack(b, &at, 1),
                                .attrs = &attr,
                                .n_attrs = attr != 0,
                                .values = &value,
                                .n_values = 1});
}

static void add_profile(builder *b, const char *type, uint32_t attr, int64_t x, int64_t y)
{
    profile *p = builder_profile(b);
    p->sample_type = (value_type){builder_string(b, str_of(type)), builder_string(b, STR("count"))};
    add_row(b, "x", attr, x);
    add_row(b, "y", 0, y);
}

static void test_links(void **state)
{
    (void)state;
    static const uint8_t span_id[8] = {0, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 2, 0xb7};
    arena a = {0};
    builder b;
    model m;
    err e = {0};
    assert_true(builder_init(&b, &a));
    builder_resource(&b, NULL), builder_scope(&b, NULL);
    uint32_t context = builder_attribute_int(&b, STR(KILN_ATTR_JFR_CONTEXT_ID), 7);
    add_profile(&b, "cpu", context, 1, 2);
    add_profile(&b, "parks", builder_attribute_int(&b, STR(KILN_ATTR_JFR_CONTEXT_ID), 8), 3, 4);
    assert_ok(builder_finish(&b, &m, &e), &e);

    snapshot_context seven = {.id = 7};
    labels_snapshot s = {.a = &a};
    assert_true(pyro_labels_set(&seven.labels, STR("profile_id"), STR("00f067aa0ba902b7"), &a, &e));
    assert_true(pyro_labels_set(&seven.labels, STR("endpoint"), STR("/pay"), &a, &e));
    snapshot_context *slot = vec_push(&a, &s.contexts);
    assert_true(slot && hash_index_room(&s.by_id, &a));
    *slot = seven;
    uint64_t h = hash_mix(s.by_id.seed, 7);
    hash_put(&s.by_id, hash_first(&s.by_id, h), h, 0);

    str names[] = {{0}, STR("block")};
    pyro_envelope v = {.app = STR("shop"), .names = names, .jfr = &s};
    assert_ok(pyro_envelope_apply(&v, &m, NULL, &a, &e), &e);
    assert_u64(m.scopes.n, 2); /* process_cpu and block */
    assert_true(
        str_eq(any_str(&attr_of(&m.scopes.v[0].attrs, PYRO_NAME)->value), STR("process_cpu")));
    assert_true(str_eq(any_str(&attr_of(&m.scopes.v[1].attrs, PYRO_NAME)->value), STR("block")));
    assert_u64(m.profiles.v[1].scope, 1);
    sample one = sample_at(&m, &m.profiles.v[0], 0), two = sample_at(&m, &m.profiles.v[0], 1);
    assert_memory_equal(m.dict.links.v[one.link].span_id, span_id, 8);
    assert_u64(one.n_attrs, 1);
    const attribute *t = &m.dict.attributes.v[one.attrs[0]];
    assert_true(str_eq(dict_str(&m.dict, t->key), STR("endpoint")) &&
                str_eq(any_str(&t->value), STR("/pay")));
    assert_true(!two.link && !two.n_attrs);
    one = sample_at(&m, &m.profiles.v[1], 0); /* an unknown context */
    assert_true(!one.link && !one.n_attrs);
    arena_free(&a);
}

static model cumulative(arena *a, int64_t x, int64_t y, int64_t level)
{
    builder b;
    model m;
    err e = {0};
    assert_true(builder_init(&b, a));
    builder_resource(&b, NULL), builder_scope(&b, NULL);
    add_profile(&b, "alloc_space", 0, x, y);
    add_profile(&b, "inuse_space", 0, level, level);
    assert_ok(builder_finish(&b, &m, &e), &e);
    return m;
}

static void test_subtract(void **state)
{
    (void)state;
    arena a = {0};
    sample_types t;
    err e = {0};
    char text[512];
    model before = cumulative(&a, 10, 20, 5), now = cumulative(&a, 17, 15, 6), out;
    assert_true(sample_types_read((str){0}, &a, &t, &e));
    assert_ok(pyro_subtract(&now, &before, &t, NULL, &a, &out, &e), &e);
    assert_u64(out.profiles.n, 2);
    assert_string_equal(text_of(&out, text), "x=7 "); /* y fell: the process was restarted */
    out.profiles.v[0] = out.profiles.v[1];
    assert_string_equal(text_of(&out, text), "x=6 y=6 ");
    arena_free(&a);
}

/* ---- PushRequest ---- */

static void test_push(void **state)
{
    (void)state;
    static const struct {
        str message;
        const char *why, *path;
    } cases[] = {
        {STR("\012\4\012\2\012\3"), "field 1 needs", "series[0].labels[0]"},
        {STR("\012\6\012\4\012\0\022\0"), "a label has no name", "series[0].labels[0]"},
        {STR("\012\6\022\4\012\2zz"), "", "series[0].samples[0].raw_profile"},
        {STR("\010\1"), "", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        model m;
        err e = {0};
        push_request in = {.message = cases[i].message, .max_bytes = 1 << 20};
        assert_false(push_request_read(&in, NULL, &a, &m, &e));
        if (!strstr(e.msg, cases[i].why) ||
            strncmp(e.path, cases[i].path, strlen(cases[i].path)) != 0)
            fail_msg("%zu: %s at %s", i, e.msg, e.path);
        arena_free(&a);
    }
    arena a = {0};
    model m;
    err e = {0};
    push_request in = {.message = STR("\012\0"), .max_bytes = 1 << 20};
    assert_ok(push_request_read(&in, NULL, &a, &m, &e), &e); /* an empty series */
    assert_u64(m.profiles.n, 0);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stacks),
        cmocka_unit_test(test_bad_stacks),
        cmocka_unit_test(test_work_is_bounded),
        cmocka_unit_test(test_folded),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_subtract),
        cmocka_unit_test(test_push),
    };
    return cmocka_run_group_tests_name("ingest", tests, NULL, NULL);
}
