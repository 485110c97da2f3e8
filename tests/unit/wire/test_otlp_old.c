/* v1.3 to v1.7 in today's words.  Vectors come from protoc; the small messages are written here. */
#include "base/buf.h"
#include "wire/carried.h"
#include "wire/otlp_old.h"
#include "wire/pb.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/ban.h"
#include <inttypes.h>

/* ---- inputs ---- */

static char *vector(const char *name, size_t *n)
{
    const char *root = getenv("KILN_SRC");
    char path[512], chunk[4096];
    snprintf(path, sizeof path, "%s/tests/vectors/%s", root ? root : ".", name);
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("no vector %s: set KILN_SRC to the source root", path);
    buf b = {0};
    for (size_t k; (k = fread(chunk, 1, sizeof chunk, f)) > 0;) buf_put(&b, chunk, k);
    fclose(f);
    *n = b.n;
    if (!b.p) buf_putc(&b, '\0');
    return b.p;
}

static const struct {
    layout l;
    const char *name;
} files[] = {
    {LAYOUT_1_3, "v1_3/basic.bin"},    {LAYOUT_1_3, "v1_3/multi.bin"},
    {LAYOUT_1_3, "v1_3/nulls.bin"},    {LAYOUT_1_3, "v1_3/ids.bin"},
    {LAYOUT_1_3, "v1_3/anyvalue.bin"}, {LAYOUT_1_3, "v1_3/payload.bin"},
    {LAYOUT_1_4, "v1_4/basic.bin"},    {LAYOUT_1_4, "v1_4/multi.bin"},
    {LAYOUT_1_5, "v1_5/multi.bin"},    {LAYOUT_1_5, "v1_5/anyvalue.bin"},
    {LAYOUT_1_6, "v1_6/basic.bin"},    {LAYOUT_1_6, "v1_6/multi.bin"},
    {LAYOUT_1_7, "v1_7/basic.bin"},    {LAYOUT_1_7, "v1_7/multi.bin"},
    {LAYOUT_1_7, "v1_7/nulls.bin"},    {LAYOUT_1_7, "v1_7/anyvalue.bin"},
};

static void sub(buf *b, uint32_t number, buf *inner)
{
    pb_put_bytes(b, number, buf_view(inner));
    buf_free(inner);
}

static void put_list(buf *b, uint32_t number, size_t n, const uint64_t *v)
{
    buf list = {0};
    for (size_t i = 0; i < n; i++) pb_put_varint(&list, v[i]);
    sub(b, number, &list);
}
#define LIST(b, number, ...)                                                                       \
    put_list(b, number, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t),                      \
             (uint64_t[]){__VA_ARGS__})

static void put_strings(buf *b, uint32_t number, const char *const *s)
{
    for (; *s; s++) pb_put_bytes(b, number, str_of(*s));
}

static buf envelope(buf *prof, buf *dictionary)
{
    buf sp = {0}, rp = {0}, data = {0};
    sub(&sp, 2, prof);
    sub(&rp, 2, &sp);
    sub(&data, 1, &rp);
    if (dictionary) sub(&data, 2, dictionary);
    return data;
}

static buf container(buf *prof)
{
    buf c = {0};
    sub(&c, 8, prof);
    return envelope(&c, NULL);
}

/* A decode and what belongs to it. */
typedef struct run {
    arena a;
    model m;
    ledger l;
    err e;
    bool ok;
} run;

static run decode(const void *p, size_t n, layout l, bool lenient)
{
    run r = {0};
    otlp_decode_opts o = {.lenient = lenient, .ledger = &r.l};
    r.ok = otlp_old_decode(p, n, l, &o, &r.a, &r.m, &r.e);
    return r;
}

static run decode_ok(const void *p, size_t n, layout l)
{
    run r = decode(p, n, l, false);
    char text[400];
    if (!r.ok) fail_msg("layout %s: %s", layout_name(l), err_text(&r.e, text, sizeof text));
    assert_true(r.m.checked);
    return r;
}

static void done(run *r, buf *b)
{
    arena_free(&r->a);
    if (b) buf_free(b);
}

/* ---- looking ---- */

static str type_name(const run *r, size_t profile_i)
{
    return dict_str(&r->m.dict, r->m.profiles.v[profile_i].sample_type.type);
}

static void assert_str(str got, const char *want)
{
    if (!str_eq(got, str_of(want))) fail_msg("\"%.*s\", expected \"%s\"", STR_ARG(got), want);
}

/* The attribute with this key in a list of references; NULL: none. */
static const any *find_attr(const run *r, const uint32_t *refs, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++) {
        const attribute *a = &r->m.dict.attributes.v[refs[i]];
        if (str_eq(dict_str(&r->m.dict, a->key), str_of(key))) return &a->value;
    }
    return NULL;
}

static const any *profile_attr(const run *r, size_t i, const char *key)
{
    span s = r->m.profiles.v[i].attrs;
    return s.n ? find_attr(r, r->m.dict.attr_refs.v + s.at, s.n, key) : NULL;
}

static const any *scope_attr(const run *r, size_t i, const char *key)
{
    const keyvalues *kv = &r->m.scopes.v[i].attrs;
    for (size_t k = 0; k < kv->n; k++)
        if (str_eq(kv->v[k].key, str_of(key))) return &kv->v[k].value;
    return NULL;
}

static const loss *find_loss(const run *r, loss_concept c)
{
    for (size_t i = 0; i < r->l.n; i++)
        if (r->l.v[i].concept == c) return &r->l.v[i];
    return NULL;
}

static void assert_values(const run *r, size_t profile_i, size_t sample_i, size_t n,
                          const int64_t *want)
{
    sample s = sample_at(&r->m, &r->m.profiles.v[profile_i], sample_i);
    assert_int_equal(s.n_values, n);
    for (size_t i = 0; i < n; i++) assert_int_equal(s.values[i], want[i]);
}
#define VALUES(r, p, s, ...)                                                                       \
    assert_values(r, p, s, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),                     \
                  (int64_t[]){__VA_ARGS__})

static const location *frame(const run *r, size_t profile_i, size_t sample_i, size_t frame_i)
{
    sample s = sample_at(&r->m, &r->m.profiles.v[profile_i], sample_i);
    span stack = dict_stack(&r->m.dict, s.stack);
    assert_true(frame_i < stack.n);
    return &r->m.dict.locations.v[r->m.dict.frames.v[stack.at + frame_i]];
}

static str frame_name(const run *r, size_t profile_i, size_t sample_i, size_t frame_i)
{
    const location *l = frame(r, profile_i, sample_i, frame_i);
    assert_true(l->lines.n > 0);
    const line *x = &r->m.dict.lines.v[l->lines.at];
    return dict_str(&r->m.dict, r->m.dict.functions.v[x->function].name);
}

/* ---- vectors ---- */

static void every_vector(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        size_t n;
        char *p = vector(files[i].name, &n);
        run r = decode_ok(p, n, files[i].l);
        assert_true(r.m.profiles.n > 0);
        assert_int_equal(r.m.n_unknown, 0);
        assert_false(ledger_lost(&r.l));
        done(&r, NULL);
        free(p);
    }
}

static void basic(void **state)
{
    (void)state;
    for (layout l = LAYOUT_1_3; l <= LAYOUT_1_7; l++) {
        char name[64];
        snprintf(name, sizeof name, "v1_%s/basic.bin", layout_name(l) + 2);
        size_t n;
        char *p = vector(name, &n);
        run r = decode_ok(p, n, l);
        assert_int_equal(r.m.resources.n, 2);
        assert_int_equal(r.m.scopes.n, 3);
        assert_int_equal(r.m.profiles.n, 4);
        assert_int_equal(r.m.resources.v[0].dropped_attributes_count, 1);
        assert_int_equal(r.m.resources.v[0].n_entity_refs > 0, l >= LAYOUT_1_6);
        assert_str(r.m.scopes.v[0].name, "kiln.test/プロファイラ");
        assert_str(r.m.scopes.v[0].schema_url, "https://example.com/schemas/9");
        assert_int_equal(r.m.scopes.v[0].n_profiles, 2);
        assert_false(r.m.scopes.v[2].present);

        const profile *cpu = &r.m.profiles.v[0];
        assert_str(type_name(&r, 0), "cpu");
        assert_int_equal(cpu->time_unix_nano, 1700000000000000000u);
        assert_int_equal(cpu->duration_nano, 10000000000u);
        assert_int_equal(cpu->period, 52631578);
        assert_int_equal(cpu->profile_id[0], 0x81);
        assert_str(cpu->original_payload_format, "jfr");
        assert_int_equal(cpu->original_payload.n, 6);
        assert_int_equal(cpu->dropped_attributes_count, 3);
        assert_int_equal(cpu->n_samples, 4);
        VALUES(&r, 0, 3, -52631578);
        assert_str(frame_name(&r, 0, 0, 0), "inline_leaf");
        assert_int_equal(frame(&r, 0, 0, 0)->lines.n, 2);
        assert_str(frame_name(&r, 0, 0, 1), "main");
        assert_int_equal(profile_attr(&r, 0, "kiln.test.run")->i, 17);
        const any *temporality = profile_attr(&r, 0, KILN_ATTR_AGGREGATION_TEMPORALITY);
        assert_str(any_str(temporality), "delta");
        const any *comments = profile_attr(&r, 0, PPROF_ATTR_COMMENT);
        assert_int_equal(comments->n, 2);
        assert_str(any_str(&comments->array[1]), "häi");

        const location *leaf = frame(&r, 0, 0, 0);
        const uint32_t *refs = r.m.dict.attr_refs.v;
        assert_str(any_str(find_attr(&r, refs + leaf->attrs.at, leaf->attrs.n, ATTR_FRAME_TYPE)),
                   "native");
        const mapping *m = &r.m.dict.mappings.v[leaf->mapping];
        assert_str(any_str(find_attr(&r, refs + m->attrs.at, m->attrs.n, ATTR_BUILD_ID_GNU)),
                   "b1a4c0ffee00112233445566778899aabbccddee");
        assert_true(find_attr(&r, refs + m->attrs.at, m->attrs.n, PPROF_ATTR_HAS_INLINE_FRAMES)->i);
        assert_string_equal(find_loss(&r, LOSS_COMMENTS)->carried_as, PPROF_ATTR_COMMENT);
        done(&r, NULL);
        free(p);
    }
}

static void v3_extras(void **state)
{
    (void)state;
    size_t n;
    char *p = vector("v1_3/basic.bin", &n);
    run r = decode_ok(p, n, LAYOUT_1_3);
    sample s = sample_at(&r.m, &r.m.profiles.v[0], 0);
    assert_str(any_str(find_attr(&r, s.attrs, s.n_attrs, KILN_ATTR_STACK_ID)), "stack-1");
    const mapping *libc = NULL;
    for (size_t i = 1; i < r.m.dict.mappings.n; i++)
        if (r.m.dict.mappings.v[i].file_offset == 0x1000) libc = &r.m.dict.mappings.v[i];
    assert_non_null(libc);
    const uint32_t *refs = r.m.dict.attr_refs.v + libc->attrs.at;
    assert_str(any_str(find_attr(&r, refs, libc->attrs.n, KILN_ATTR_BUILD_ID_HASH)),
               "00ff00ff00ff00ff00ff00ff00ff00ff");
    assert_str(any_str(find_attr(&r, refs, libc->attrs.n, KILN_ATTR_BUILD_ID_KIND)), "hash");
    assert_null(find_attr(&r, refs, libc->attrs.n, ATTR_BUILD_ID_GNU));
    assert_string_equal(find_loss(&r, LOSS_STACK_ID)->path,
                        "resource_profiles[0].scope_profiles[0].profiles[0].profile.sample."
                        "stacktrace_id_index");
    done(&r, NULL);
    free(p);

    p = vector("v1_3/multi.bin", &n);
    r = decode_ok(p, n, LAYOUT_1_3);
    assert_str(any_str(profile_attr(&r, 0, PPROF_ATTR_DROP_FRAMES)), "runtime\\..*");
    assert_str(any_str(profile_attr(&r, 3, PPROF_ATTR_KEEP_FRAMES)), "runtime\\.main");
    assert_int_equal(find_loss(&r, LOSS_FOLDED_FLAG)->count, 1);
    done(&r, NULL);
    free(p);
}

/* Two old Profiles in a scope: each says its own order. */
static void types_of_two_profiles(void **state)
{
    (void)state;
    for (layout l = LAYOUT_1_3; l <= LAYOUT_1_7; l++) {
        char name[64];
        snprintf(name, sizeof name, "v1_%s/multi.bin", layout_name(l) + 2);
        size_t n;
        char *p = vector(name, &n);
        run r = decode_ok(p, n, l);
        static const char *const want[] = {"alloc_space", "alloc_objects", "inuse_objects",
                                           "inuse_space", "samples",       "cpu"};
        assert_int_equal(r.m.profiles.n, ARRAY_LEN(want));
        for (size_t i = 0; i < ARRAY_LEN(want); i++) assert_str(type_name(&r, i), want[i]);
        const any *order = profile_attr(&r, 2, KILN_ATTR_SAMPLE_TYPE_ORDER);
        static const int64_t first[] = {1, 0, 2, 3};
        assert_int_equal(order->n, 4);
        for (size_t i = 0; i < 4; i++) assert_int_equal(order->array[i].i, first[i]);
        assert_str(any_str(profile_attr(&r, 3, KILN_ATTR_DEFAULT_SAMPLE_TYPE)), "alloc_space");
        assert_int_equal(r.m.scopes.v[0].attrs.n, 0);
        assert_str(any_str(profile_attr(&r, 0, KILN_ATTR_AGGREGATION_TEMPORALITY)), "delta");
        assert_str(any_str(profile_attr(&r, 2, KILN_ATTR_AGGREGATION_TEMPORALITY)), "cumulative");
        VALUES(&r, 0, 0, 3072);
        VALUES(&r, 3, 1, 0);
        VALUES(&r, 1, 2, 5, 4); /* 9 over two timestamps */
        assert_str(any_str(profile_attr(&r, 1, KILN_ATTR_TIMESTAMP_VALUES)), "spread");
        assert_null(profile_attr(&r, 4, KILN_ATTR_TIMESTAMP_VALUES));
        for (size_t i = 0; i < 4; i++) assert_int_equal(r.m.profiles.v[i].profile_id[0], 0x90);
        done(&r, NULL);
        free(p);
    }
}

static void ids(void **state)
{
    (void)state;
    size_t n;
    char *p = vector("v1_3/ids.bin", &n);
    run r = decode_ok(p, n, LAYOUT_1_3);
    assert_str(frame_name(&r, 0, 0, 0), "main");
    assert_str(frame_name(&r, 0, 0, 1), "a");
    assert_str(frame_name(&r, 0, 0, 2), "b");
    assert_str(dict_str(&r.m.dict, r.m.dict.mappings.v[frame(&r, 0, 0, 0)->mapping].filename),
               "/usr/bin/wörker");
    assert_int_equal(frame(&r, 0, 0, 2)->mapping, 0);
    sample s = sample_at(&r.m, &r.m.profiles.v[0], 1);
    assert_int_equal(s.n_attrs, 3);
    const attribute *label = &r.m.dict.attributes.v[s.attrs[1]]; /* labels come first */
    assert_str(dict_str(&r.m.dict, label->key), "bytes");
    assert_str(dict_str(&r.m.dict, label->unit), "bytes");
    assert_int_equal(label->value.i, 101);
    assert_null(find_loss(&r, LOSS_ARBITRARY_ID)); /* 1, 2, 3: nothing to remember */
    done(&r, NULL);
    free(p);
}

static void presence(void **state)
{
    (void)state;
    for (layout l = LAYOUT_1_3; l <= LAYOUT_1_7; l++) {
        char name[64];
        snprintf(name, sizeof name, "v1_%s/nulls.bin", layout_name(l) + 2);
        size_t n;
        char *p = vector(name, &n);
        run r = decode_ok(p, n, l);
        const uint32_t *link = r.m.profiles.v[0].link;
        assert_non_null(link);
        assert_int_equal(r.m.dict.links.v[link[0]].trace_id[0], 1); /* 0 written out: entry 0 */
        assert_int_equal(r.m.dict.links.v[link[1]].trace_id[0], 0xfe);
        assert_int_equal(link[2], 0); /* absent: none */
        assert_true(frame(&r, 0, 0, 0)->mapping != 0);
        assert_int_equal(frame(&r, 0, 0, 2)->mapping, 0);
        assert_str(frame_name(&r, 0, 0, 0), "main"); /* function 0 */
        assert_int_equal(sample_at(&r.m, &r.m.profiles.v[0], 3).stack, 0);
        done(&r, NULL);
        free(p);
    }
}

static void values_of_any_kind(void **state)
{
    (void)state;
    for (layout l = LAYOUT_1_3; l <= LAYOUT_1_7; l++) {
        char name[64];
        snprintf(name, sizeof name, "v1_%s/anyvalue.bin", layout_name(l) + 2);
        size_t n, kinds = 0;
        char *p = vector(name, &n);
        run r = decode_ok(p, n, l);
        for (size_t i = 0; i < r.m.dict.attributes.n; i++)
            kinds |= (size_t)1 << r.m.dict.attributes.v[i].value.kind;
        assert_int_equal(kinds & 0xff, 0xff); /* ANY_EMPTY to ANY_BYTES */
        done(&r, NULL);
        free(p);
    }
}

/* ---- written here: v1.7 ---- */

static const char *const words[] = {"", "cpu", "ns", "heap", "bytes", NULL};

typedef struct v7 {
    buf prof, dictionary;
} v7;

static v7 v7_new(unsigned n_types)
{
    v7 x = {0};
    for (unsigned i = 0; i < n_types; i++) {
        buf vt = {0};
        pb_put_uint(&vt, 1, 1 + 2 * i);
        pb_put_uint(&vt, 2, 2 + 2 * i);
        sub(&x.prof, 1, &vt);
    }
    put_strings(&x.dictionary, 5, words);
    return x;
}

static void order_on_the_scope(void **state)
{
    (void)state;
    v7 x = v7_new(2);
    buf s = {0};
    LIST(&s, 3, 11, 22);
    sub(&x.prof, 2, &s);
    pb_put_uint(&x.prof, 9, 1); /* default: the second */
    buf in = envelope(&x.prof, &x.dictionary);
    run r = decode_ok(in.p, in.n, LAYOUT_1_7);
    assert_str(type_name(&r, 0), "heap");
    assert_str(type_name(&r, 1), "cpu");
    VALUES(&r, 0, 0, 22);
    VALUES(&r, 1, 0, 11);
    const any *order = scope_attr(&r, 0, PPROF_ATTR_SAMPLE_TYPE_ORDER);
    assert_int_equal(order->n, 2);
    assert_int_equal(order->array[0].i, 1);
    assert_int_equal(order->array[1].i, 0);
    assert_str(any_str(scope_attr(&r, 0, PPROF_ATTR_DEFAULT_SAMPLE_TYPE)), "heap");
    assert_true(r.m.scopes.v[0].present);
    assert_null(profile_attr(&r, 0, KILN_ATTR_SAMPLE_TYPE_ORDER));
    done(&r, &in);
}

/* values, timestamps and what becomes of them */
static void timestamps(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned types;
        int64_t v[3];
        size_t n_v, n_t;
        int64_t want[3];
        size_t n_want;
        const char *says; /* kiln.timestamp_values */
    } cases[] = {
        {"no timestamp", 1, {5}, 1, 0, {5}, 1, NULL},
        {"one", 1, {5}, 1, 1, {5}, 1, NULL},
        {"none of both", 1, {0}, 0, 0, {0}, 0, NULL},
        {"timestamps only", 1, {0}, 0, 2, {0}, 0, NULL},
        {"already paired", 1, {7, 8, 9}, 3, 3, {7, 8, 9}, 3, NULL},
        {"one each", 1, {1}, 1, 3, {1, 1, 1}, 3, "each"},
        {"spread", 1, {11}, 1, 3, {5, 3, 3}, 3, "spread"},
        {"spread evenly", 1, {3}, 1, 3, {1, 1, 1}, 3, "spread"},
        {"spread below zero", 1, {-5}, 1, 3, {-1, -2, -2}, 3, "spread"},
        {"no type at all", 0, {4}, 1, 0, {4}, 1, NULL},
        {"two types", 2, {10, 1}, 2, 2, {5, 5}, 2, "spread"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        v7 x = v7_new(cases[i].types);
        buf s = {0};
        uint64_t v[3], t[3] = {100, 200, 300};
        for (size_t k = 0; k < 3; k++) v[k] = (uint64_t)cases[i].v[k];
        if (cases[i].n_v) put_list(&s, 3, cases[i].n_v, v);
        if (cases[i].n_t) put_list(&s, 6, cases[i].n_t, t);
        sub(&x.prof, 2, &s);
        buf in = envelope(&x.prof, &x.dictionary);
        run r = decode_ok(in.p, in.n, LAYOUT_1_7);
        assert_values(&r, 0, 0, cases[i].n_want, cases[i].want);
        sample got = sample_at(&r.m, &r.m.profiles.v[0], 0);
        assert_int_equal(got.n_times, cases[i].n_t);
        const any *says = profile_attr(&r, 0, KILN_ATTR_TIMESTAMP_VALUES);
        assert_int_equal(says != NULL, cases[i].says != NULL);
        if (says) {
            assert_str(any_str(says), cases[i].says);
            assert_string_equal(find_loss(&r, LOSS_TIMESTAMP)->carried_as,
                                KILN_ATTR_TIMESTAMP_VALUES);
        }
        done(&r, &in);
    }
}

static void one_larger_value_means_totals(void **state)
{
    (void)state;
    v7 x = v7_new(1);
    for (uint64_t v = 1; v <= 2; v++) {
        buf s = {0};
        LIST(&s, 3, v);
        LIST(&s, 6, 100, 200);
        sub(&x.prof, 2, &s);
    }
    buf in = envelope(&x.prof, &x.dictionary);
    run r = decode_ok(in.p, in.n, LAYOUT_1_7);
    VALUES(&r, 0, 0, 1, 0);
    VALUES(&r, 0, 1, 1, 1);
    done(&r, &in);
}

/* ---- written here: v1.3 ---- */

static void put_v3_types(buf *prof, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        buf vt = {0};
        pb_put_uint(&vt, 1, 1 + 2 * i);
        pb_put_uint(&vt, 2, 2 + 2 * i);
        sub(prof, 1, &vt);
    }
    put_strings(prof, 6, words);
}

static void v3_last_type_first(void **state)
{
    (void)state;
    static const struct {
        uint64_t set;
        const char *first, *says;
    } cases[] = {{0, "heap", NULL}, {1, "cpu", "cpu"}, {4, "heap", "bytes"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf prof = {0};
        put_v3_types(&prof, 2);
        if (cases[i].set) pb_put_uint(&prof, 14, cases[i].set);
        buf in = container(&prof);
        run r = decode_ok(in.p, in.n, LAYOUT_1_3);
        assert_str(type_name(&r, 0), cases[i].first);
        const any *says = scope_attr(&r, 0, PPROF_ATTR_DEFAULT_SAMPLE_TYPE);
        assert_int_equal(says != NULL, cases[i].says != NULL);
        if (says) assert_str(any_str(says), cases[i].says);
        done(&r, &in);
    }
}

static void v3_doc_url(void **state)
{
    (void)state;
    for (int sliced = 0; sliced < 2; sliced++) {
        buf prof = {0}, s = {0}, loc = {0};
        put_v3_types(&prof, 1);
        pb_put_uint(&loc, 3, 0x1234);
        for (int i = 0; i < 4; i++) pb_put_bytes(&prof, 4, buf_view(&loc));
        buf_free(&loc);
        LIST(&s, 2, 1);
        if (sliced) pb_put_uint(&s, 8, 1);
        sub(&prof, 2, &s);
        pb_put_uint(&prof, 15, 3); /* doc_url of pprof, or one location unpacked */
        buf in = container(&prof);
        run r = decode_ok(in.p, in.n, LAYOUT_1_3);
        const any *url = profile_attr(&r, 0, PPROF_ATTR_DOC_URL);
        assert_int_equal(url == NULL, sliced);
        if (url) assert_str(any_str(url), "heap");
        assert_int_equal(sample_at(&r.m, &r.m.profiles.v[0], 0).stack != 0, sliced);
        done(&r, &in);
    }
}

static void v3_milliseconds(void **state)
{
    (void)state;
    static const struct {
        uint64_t in, out;
    } cases[] = {
        {1700000000123, 1700000000123000000}, {1700000000123000000, 1700000000123000000}, {0, 0}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf prof = {0}, s = {0};
        put_v3_types(&prof, 1);
        LIST(&s, 2, 1);
        LIST(&s, 13, cases[i].in);
        sub(&prof, 2, &s);
        buf in = container(&prof);
        run r = decode_ok(in.p, in.n, LAYOUT_1_3);
        sample got = sample_at(&r.m, &r.m.profiles.v[0], 0);
        assert_int_equal(got.times[0], cases[i].out);
        bool ms = profile_attr(&r, 0, KILN_ATTR_TIMESTAMP_UNIT) != NULL;
        assert_int_equal(ms, cases[i].in != cases[i].out);
        assert_int_equal(find_loss(&r, LOSS_TIMESTAMP) != NULL, ms);
        done(&r, &in);
    }
}

static void v3_times(void **state)
{
    (void)state;
    static const struct {
        uint64_t start, end, time, duration, want_time, want_duration;
        bool lost;
    } cases[] = {
        {1000, 1500, 1000, 500, 1000, 500, false},
        {1000, 1500, 0, 0, 1000, 500, false},
        {0, 0, 1000, 500, 1000, 500, false},
        {1000, 1500, 900, 500, 1000, 500, true}, /* the container wins */
        {1000, 1500, 1000, 400, 1000, 500, true},
        {1000, 900, 0, 50, 1000, 50, true},
        {0, 0, (uint64_t)-1, 0, 0, 0, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf prof = {0}, c = {0};
        if (cases[i].time) pb_put_uint(&prof, 9, cases[i].time);
        if (cases[i].duration) pb_put_uint(&prof, 10, cases[i].duration);
        if (cases[i].start) pb_put_fixed64(&c, 2, cases[i].start);
        if (cases[i].end) pb_put_fixed64(&c, 3, cases[i].end);
        sub(&c, 8, &prof);
        buf in = envelope(&c, NULL);
        run r = decode_ok(in.p, in.n, LAYOUT_1_3);
        assert_int_equal(r.m.profiles.v[0].time_unix_nano, cases[i].want_time);
        assert_int_equal(r.m.profiles.v[0].duration_nano, cases[i].want_duration);
        assert_int_equal(find_loss(&r, LOSS_TIME) != NULL, cases[i].lost);
        done(&r, &in);
    }
}

static void v3_frame_types_and_build_ids(void **state)
{
    (void)state;
    static const char *const text[] = {"",     "python", "hotspot", "v8", "abc/def/ghi/jkl",
                                       "00ff", NULL};
    static const char *const want[] = {"", "cpython", "jvm", "v8"};
    buf prof = {0};
    put_strings(&prof, 6, text);
    for (uint64_t i = 1; i <= 3; i++) {
        buf loc = {0};
        pb_put_uint(&loc, 6, i);
        pb_put_uint(&loc, 3, i);
        sub(&prof, 4, &loc);
    }
    for (uint64_t kind = 0; kind < 3; kind++) {
        buf m = {0};
        pb_put_uint(&m, 6, kind ? 5 : 4);
        pb_put_uint(&m, 11, kind);
        sub(&prof, 3, &m);
    }
    buf in = container(&prof);
    run r = decode_ok(in.p, in.n, LAYOUT_1_3);
    const uint32_t *refs = r.m.dict.attr_refs.v;
    for (size_t i = 1; i <= 3; i++) {
        span a = r.m.dict.locations.v[i].attrs;
        assert_str(any_str(find_attr(&r, refs + a.at, a.n, ATTR_FRAME_TYPE)), want[i]);
    }
    span go = r.m.dict.mappings.v[1].attrs, odd = r.m.dict.mappings.v[3].attrs;
    assert_str(any_str(find_attr(&r, refs + go.at, go.n, ATTR_BUILD_ID_GO)), text[4]);
    assert_int_equal(find_attr(&r, refs + odd.at, odd.n, KILN_ATTR_BUILD_ID_KIND)->i, 2);
    done(&r, &in);
}

/* Ids in any order and of any size; 0 is nobody. */
static void v3_arbitrary_ids(void **state)
{
    (void)state;
    buf prof = {0}, s = {0};
    put_v3_types(&prof, 1);
    static const uint64_t id[] = {900, 7, UINT64_MAX};
    for (uint64_t i = 0; i < 3; i++) {
        buf loc = {0};
        pb_put_uint(&loc, 1, id[i]);
        pb_put_uint(&loc, 3, 100 + i);
        sub(&prof, 4, &loc);
    }
    LIST(&s, 1, UINT64_MAX, 0, 7);
    LIST(&s, 2, 1);
    sub(&prof, 2, &s);
    buf in = container(&prof);
    run r = decode_ok(in.p, in.n, LAYOUT_1_3);
    assert_int_equal(frame(&r, 0, 0, 0)->address, 102);
    assert_int_equal(frame(&r, 0, 0, 1)->address, 101);
    assert_null(find_loss(&r, LOSS_ARBITRARY_ID)->carried_as);
    done(&r, &in);
}

/* ---- errors ---- */

static buf bad_link(void)
{
    v7 x = v7_new(1);
    for (int i = 0; i < 3; i++) {
        buf s = {0};
        LIST(&s, 3, 1);
        if (i == 2) pb_put_uint(&s, 5, 9);
        sub(&x.prof, 2, &s);
    }
    return envelope(&x.prof, &x.dictionary);
}

static buf bad_slice(void)
{
    v7 x = v7_new(1);
    buf s = {0};
    pb_put_uint(&s, 1, 1);
    pb_put_uint(&s, 2, (uint64_t)-1);
    LIST(&s, 3, 1);
    sub(&x.prof, 2, &s);
    return envelope(&x.prof, &x.dictionary);
}

static buf bad_counts(void)
{
    v7 x = v7_new(2);
    buf s = {0};
    LIST(&s, 3, 1, 2, 3);
    sub(&x.prof, 2, &s);
    return envelope(&x.prof, &x.dictionary);
}

static buf bad_function(void)
{
    v7 x = v7_new(0);
    buf fn = {0}, loc = {0}, ln = {0};
    pb_put_uint(&fn, 1, 1);
    sub(&x.dictionary, 3, &fn);
    pb_put_uint(&ln, 1, (uint64_t)-3);
    sub(&loc, 3, &ln);
    sub(&x.dictionary, 2, &loc);
    return envelope(&x.prof, &x.dictionary);
}

static buf bad_text(void)
{
    v7 x = v7_new(0);
    pb_put_bytes(&x.dictionary, 5, STR("ok \xff"));
    return envelope(&x.prof, &x.dictionary);
}

static buf bad_wire(void)
{
    v7 x = v7_new(0);
    pb_put_bytes(&x.prof, 4, STR("now"));
    return envelope(&x.prof, &x.dictionary);
}

static buf bad_id(void)
{
    v7 x = v7_new(0);
    pb_put_bytes(&x.prof, 10, STR("short"));
    return envelope(&x.prof, &x.dictionary);
}

static buf bad_v3_id(void)
{
    buf prof = {0}, s = {0}, loc = {0};
    put_v3_types(&prof, 1);
    pb_put_uint(&loc, 1, 5);
    sub(&prof, 4, &loc);
    LIST(&s, 1, 5, 6);
    LIST(&s, 2, 1);
    sub(&prof, 2, &s);
    return container(&prof);
}

static void errors(void **state)
{
    (void)state;
    static const struct {
        buf (*make)(void);
        layout l;
        const char *path, *msg;
        bool lenient_ok;
        loss_concept repaired;
    } cases[] = {
        {bad_link, LAYOUT_1_7,
         "resource_profiles[0].scope_profiles[0].profiles[0].sample[2].link_index",
         "index 9 is outside link_table, which has 0 entries", true, LOSS_INDEX_REPAIRED},
        {bad_slice, LAYOUT_1_7, "resource_profiles[0].scope_profiles[0].profiles[0].sample[0]",
         "locations 1 and -1 more are outside location_indices, which has 0 entries", true,
         LOSS_INDEX_REPAIRED},
        {bad_counts, LAYOUT_1_7,
         "resource_profiles[0].scope_profiles[0].profiles[0].sample[0].value",
         "3 values for 2 sample types", true, LOSS_MIXED_SHAPE},
        {bad_function, LAYOUT_1_7, "dictionary.location_table[0].line[0].function_index",
         "index -3 is outside function_table, which has 1 entries", true, LOSS_INDEX_REPAIRED},
        {bad_text, LAYOUT_1_7, "dictionary.string_table[5]", "string_table is not UTF-8: byte 0xff",
         false, 0},
        {bad_wire, LAYOUT_1_7, "resource_profiles[0].scope_profiles[0].profiles[0]",
         "time_nanos (field 4) is length-delimited, expected a varint", false, 0},
        {bad_id, LAYOUT_1_7, "resource_profiles[0].scope_profiles[0].profiles[0]",
         "profile_id has 5 bytes, expected 16", false, 0},
        {bad_v3_id, LAYOUT_1_3,
         "resource_profiles[0].scope_profiles[0].profiles[0].profile.sample[0].location_index",
         "no location has the id 6", true, LOSS_INDEX_REPAIRED},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf in = cases[i].make();
        run r = decode(in.p, in.n, cases[i].l, false);
        assert_false(r.ok);
        assert_int_equal(r.e.code, ERR_MALFORMED);
        assert_string_equal(r.e.msg, cases[i].msg);
        assert_string_equal(r.e.path, cases[i].path);
        assert_true(r.e.offset < in.n);
        done(&r, NULL);
        r = decode(in.p, in.n, cases[i].l, true);
        assert_int_equal(r.ok, cases[i].lenient_ok);
        if (r.ok) assert_null(find_loss(&r, cases[i].repaired)->carried_as);
        done(&r, &in);
    }
    arena a = {0};
    model m;
    err e = {0};
    assert_false(otlp_old_decode("", 0, LAYOUT_1_8, NULL, &a, &m, &e));
    assert_int_equal(e.code, ERR_USAGE);
}

static void limits(void **state)
{
    (void)state;
    buf prof = {0};
    for (int i = 0; i <= OLD_MAX_SAMPLE_TYPES; i++) pb_put_bytes(&prof, 1, STR(""));
    buf in = envelope(&prof, NULL);
    run r = decode(in.p, in.n, LAYOUT_1_7, false);
    assert_int_equal(r.e.code, ERR_LIMIT);
    done(&r, &in);

    /* Every sample slices nearly all of one long list, each from another place. */
    v7 x = v7_new(1);
    pb_put_bytes(&x.dictionary, 2, STR("\x10\x01"));
    buf list = {0};
    for (int i = 0; i < 20000; i++) pb_put_varint(&list, 0);
    sub(&x.prof, 3, &list);
    for (uint64_t i = 0; i < 4000; i++) {
        buf s = {0};
        pb_put_uint(&s, 1, i);
        pb_put_uint(&s, 2, 15000);
        LIST(&s, 3, 1);
        sub(&x.prof, 2, &s);
    }
    in = envelope(&x.prof, &x.dictionary);
    r = decode(in.p, in.n, LAYOUT_1_7, false);
    assert_int_equal(r.e.code, ERR_LIMIT);
    done(&r, &in);

    for (unsigned depth = 8; depth <= 512; depth *= 2) {
        buf v = {0}, kv = {0}, res = {0}, rp = {0}, data = {0};
        for (unsigned i = 0; i < depth; i++) {
            buf array = {0}, any_buf = {0};
            sub(&array, 1, &v);
            sub(&any_buf, 5, &array);
            v = any_buf;
        }
        sub(&kv, 2, &v);
        sub(&res, 1, &kv);
        sub(&rp, 1, &res);
        sub(&data, 1, &rp);
        r = decode(data.p, data.n, LAYOUT_1_7, false);
        assert_int_equal(r.ok, depth < OTLP_MAX_DEPTH);
        if (!r.ok) assert_int_equal(r.e.code, ERR_LIMIT);
        done(&r, &data);
    }
}

/* Cut anywhere, read as any old layout: a model or a place. */
static void truncation(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        size_t n;
        char *p = vector(files[i].name, &n);
        for (size_t k = 0; k <= n; k++) {
            char *copy = malloc(k + 1);
            memcpy(copy, p, k);
            for (int lenient = 0; lenient < 2; lenient++) {
                run r = decode(copy, k, files[i].l, lenient);
                if (!r.ok) {
                    assert_int_equal(r.e.code, ERR_MALFORMED);
                    assert_true(r.e.offset <= k);
                }
                done(&r, NULL);
            }
            free(copy);
        }
        free(p);
    }
}

/* Every index of a checked model lands in its table. */
static void assert_checked(const model *m)
{
    const dict *d = &m->dict;
    for (size_t i = 0; i < d->frames.n; i++) assert_true(d->frames.v[i] < d->locations.n);
    for (size_t i = 0; i < d->attr_refs.n; i++) assert_true(d->attr_refs.v[i] < d->attributes.n);
    for (size_t i = 0; i < d->lines.n; i++) assert_true(d->lines.v[i].function < d->functions.n);
    for (size_t i = 0; i < d->locations.n; i++)
        assert_true(d->locations.v[i].mapping < d->mappings.n);
    for (size_t i = 0; i < m->sample_attrs.n; i++)
        assert_true(m->sample_attrs.v[i] < d->attributes.n);
    for (size_t i = 0; i < m->profiles.n; i++)
        for (size_t k = 0; k < m->profiles.v[i].n_samples; k++) {
            sample s = sample_at(m, &m->profiles.v[i], k);
            assert_true(s.stack < dict_n_stacks(d) && s.link < d->links.n);
            assert_true(!s.n_values || !s.n_times || s.n_values == s.n_times);
        }
}

static void changed_bytes(void **state)
{
    (void)state;
    static const unsigned char flips[] = {0x01, 0x08, 0x80, 0xff};
    size_t survived = 0;
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        size_t n;
        char *p = vector(files[i].name, &n);
        for (size_t k = 0; k < n * ARRAY_LEN(flips); k++) {
            char *at = &p[k / ARRAY_LEN(flips)], was = *at;
            *at = (char)(*at ^ flips[k % ARRAY_LEN(flips)]);
            run r = decode(p, n, files[i].l, k & 1);
            if (r.ok)
                assert_checked(&r.m), survived++;
            else
                assert_true(r.e.offset < n || (r.e.code == ERR_MALFORMED && r.e.offset == n) ||
                            r.e.code == ERR_LIMIT);
            done(&r, NULL);
            *at = was;
        }
        free(p);
    }
    assert_true(survived > 1000);
}

static void wrong_layout(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        size_t n;
        char *p = vector(files[i].name, &n);
        for (layout l = LAYOUT_1_3; l <= LAYOUT_1_7; l++) {
            run r = decode(p, n, l, true);
            if (!r.ok) assert_true(r.e.offset <= n || r.e.offset == NO_OFFSET);
            done(&r, NULL);
        }
        free(p);
    }
}

static void out_of_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        size_t n;
        char *p = vector(files[i].name, &n);
        bool ok = false;
        for (size_t budget = 64; !ok && budget < 1 << 20; budget += 64 + budget / 64) {
            arena a = {.budget = budget};
            model m;
            err e = {0};
            ok = otlp_old_decode(p, n, files[i].l, NULL, &a, &m, &e);
            if (!ok) assert_int_equal(e.code, ERR_LIMIT);
            assert_true(a.peak <= budget);
            arena_free(&a);
        }
        assert_true(ok);
        free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_vector),
        cmocka_unit_test(basic),
        cmocka_unit_test(v3_extras),
        cmocka_unit_test(types_of_two_profiles),
        cmocka_unit_test(ids),
        cmocka_unit_test(presence),
        cmocka_unit_test(values_of_any_kind),
        cmocka_unit_test(order_on_the_scope),
        cmocka_unit_test(timestamps),
        cmocka_unit_test(one_larger_value_means_totals),
        cmocka_unit_test(v3_last_type_first),
        cmocka_unit_test(v3_doc_url),
        cmocka_unit_test(v3_milliseconds),
        cmocka_unit_test(v3_times),
        cmocka_unit_test(v3_frame_types_and_build_ids),
        cmocka_unit_test(v3_arbitrary_ids),
        cmocka_unit_test(errors),
        cmocka_unit_test(limits),
        cmocka_unit_test(truncation),
        cmocka_unit_test(changed_bytes),
        cmocka_unit_test(wrong_layout),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
