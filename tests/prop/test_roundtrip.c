/* decode(encode(m)) = m, encode(decode(b)) is a fixed point, and all code paths agree, for
 * random models of every shape and the files of the corpus. */
#include "../support/digest.h"
#include "../support/random_model.h"
#include "../support/test.h"

#include "model/merge.h"
#include "wire/otlp.h"
#include "wire/otlp_hot.h"
#include "wire/otlp_json.h"

#include <dirent.h>
#include <string.h>

enum { MODELS = 300 };

static uint64_t seed_now; /* seed of the model being tested */

#define fail_here(...)                                                                             \
    do {                                                                                           \
        print_message("# KILN_SEED=%llu\n", (unsigned long long)seed_now);                         \
        fail_msg(__VA_ARGS__);                                                                     \
    } while (0)

static void assert_equal_models(const model *a, const model *b, const char *what)
{
    err e = {0};
    if (!model_equal(a, b, &e)) fail_here("%s: differs at %s", what, e.path);
}

static void assert_equal_bytes(const buf *a, const buf *b, const char *what)
{
    if (a->n != b->n || (a->n && memcmp(a->p, b->p, a->n) != 0))
        fail_here("%s: the bytes differ", what);
}

static buf encode(const model *m, layout l, bool refs, simd_mode simd)
{
    buf out = {0};
    err e = {0};
    if (!otlp_encode(m, &(otlp_encode_opts){.layout = l, .string_refs = refs, .simd = simd}, &out,
                     &e))
        fail_here("encode: %s", e.msg);
    return out;
}

static model decode(const buf *in, layout l, simd_mode simd, arena *a)
{
    model m;
    err e = {0};
    char text[512];
    if (!otlp_decode(in->p, in->n, &(otlp_decode_opts){.layout = l, .simd = simd}, a, &m, &e))
        fail_here("decode: %s", err_text(&e, text, sizeof text));
    if (m.n_unknown) fail_here("the encoder wrote an unknown field");
    return m;
}

/* All checks of one model and one set of options. */
static void check_layout(const model *m, layout l, bool refs)
{
    arena a = {0};
    buf fast = encode(m, l, refs, SIMD_AUTO);
    model x = decode(&fast, l, SIMD_AUTO, &a);
    for (simd_mode s = SIMD_PORTABLE; s < SIMD_MODES; s++) {
        if (!simd_runs(s)) continue;
        buf other = encode(m, l, refs, s);
        assert_equal_bytes(&fast, &other, simd_name(s));
        model y = decode(&fast, l, s, &a);
        assert_equal_models(&x, &y, simd_name(s));
        buf_free(&other);
    }
    assert_equal_models(m, &x, "decode(encode(m))");
    buf again = encode(&x, l, refs, SIMD_AUTO);
    assert_equal_bytes(&fast, &again, "encode(decode(b))");
    buf_free(&fast);
    buf_free(&again);
    arena_free(&a);
}

static void check_json(const model *m, layout l)
{
    arena a = {0};
    buf text = {0};
    err e = {0};
    model x;
    char why[512];
    if (!otlp_json_encode(m, &(otlp_encode_opts){.layout = l}, &text, &e))
        fail_here("to JSON: %s", e.msg);
    if (!otlp_json_decode(text.p, text.n, &(otlp_decode_opts){.layout = l}, &a, &x, &e))
        fail_here("from JSON: %s", err_text(&e, why, sizeof why));
    assert_equal_models(m, &x, "JSON");
    buf_free(&text);
    arena_free(&a);
}

/* Compares totals by stack, attributes and link, before and after. */
static void check_canonical(const model *m)
{
    arena a = {0};
    err e = {0};
    model c;
    if (!model_merge(&m, 1, &(merge_opts){.canonical = true}, &a, &c, &e))
        fail_here("canonical: %s", e.msg);
    digest_rows x = digest_model(m, true), y = digest_model(&c, true);
    if (x.n != y.n || (x.n && memcmp(x.v, y.v, x.n * sizeof *x.v) != 0))
        fail_here("canonical changed a total");
    free(x.v);
    free(y.v);
    check_layout(&c, LAYOUT_CURRENT, false);
    arena_free(&a);
}

static void each_model(void (*check)(const model *m, const random_opts *o), uint64_t salt,
                       random_opts o)
{
    uint64_t seed = rnd_seed(salt);
    for (size_t i = 0; i < MODELS; i++) {
        seed_now = seed + i;
        arena a = {0};
        rng r = {seed_now};
        o.max_samples = i % 10 == 0 ? 3000 : i % 3 == 0 ? 5 : 100;
        model m = random_model(&r, &a, &o);
        check(&m, &o);
        arena_free(&a);
    }
}

static void check_codec(const model *m, const random_opts *o)
{
    (void)o;
    check_layout(m, LAYOUT_CURRENT, false);
    check_layout(m, LAYOUT_CURRENT, true);
    check_layout(m, LAYOUT_1_9, false);
}

static void check_both_forms(const model *m, const random_opts *o)
{
    (void)o;
    check_json(m, LAYOUT_CURRENT);
    check_json(m, LAYOUT_1_9);
}

static void check_order(const model *m, const random_opts *o)
{
    (void)o;
    check_canonical(m);
}

static void random_models_round_trip(void **state)
{
    (void)state;
    each_model(check_codec, 1, (random_opts){.zero_first = true});
}

/* Tables whose first entry is not the zero value: against the rules, but found in real files. */
static void without_zero_entries(void **state)
{
    (void)state;
    each_model(check_codec, 5000, (random_opts){.zero_first = false});
}

static void json_agrees(void **state)
{
    (void)state;
    each_model(check_both_forms, 10000, (random_opts){.zero_first = true, .plain_doubles = true});
}

static void canonical_keeps_totals(void **state)
{
    (void)state;
    each_model(check_order, 20000, (random_opts){.zero_first = true});
}

/* ---- the packed kernels ---- */

enum { MOST = 700 };

/* Reads len bytes with the portable kernel and with `path`, and returns the count. */
static ptrdiff_t read_same(const hot_path *path, const uint8_t *in, size_t len, uint32_t *a)
{
    static uint32_t b[MOST * 5 + HOT_SLACK];
    uint32_t max_a = 3, max_b = 3;
    ptrdiff_t got_a = packed_u32_portable(in, in + len, a, &max_a),
              got_b = path->packed_u32(in, in + len, b, &max_b);
    if (got_a != got_b || (got_a >= 0 && max_a != max_b)) fail_here("readers differ");
    if (got_a > 0 && memcmp(a, b, (size_t)got_a * sizeof *a) != 0) fail_here("readers differ");
    return got_a;
}

static void check_packed(const hot_path *path, rng r)
{
    static uint32_t v[MOST], a[MOST * 5 + HOT_SLACK];
    static uint8_t x[MOST * 5 + 64], y[MOST * 5 + 64], in[MOST * 5 + HOT_MARGIN];
    for (int round = 0; round < 3000; round++) {
        seed_now = r.s;
        size_t n = below(&r, MOST);
        unsigned widest = 1 + below(&r, 32);
        for (size_t i = 0; i < n; i++) v[i] = (uint32_t)(rnd(&r) >> (64 - 1 - below(&r, widest)));
        uint8_t *p = packed_put_portable(x + sizeof x, v, n),
                *q = path->packed_put(y + sizeof y, v, n);
        size_t len = (size_t)(x + sizeof x - p);
        if (len != (size_t)(y + sizeof y - q) || memcmp(p, q, len) != 0)
            fail_here("writers differ");
        memcpy(in, p, len);
        if (read_same(path, in, len, a) != (ptrdiff_t)n || (n && memcmp(a, v, n * sizeof *v) != 0))
            fail_here("the values differ from those written");
        if (len) in[below(&r, len)] ^= (uint8_t)(1 + below(&r, 255));
        (void)read_same(path, in, len,
                        a); /* one byte is broken: any result, but the same in both */
    }
}

static void packed_kernels_agree(void **state)
{
    (void)state;
    rng r = {rnd_seed(30000)};
    for (simd_mode s = SIMD_PORTABLE; s < SIMD_MODES; s++) {
        if (simd_runs(s))
            check_packed(hot_path_of(s), r);
        else
            print_message("# skip: this machine has no %s\n", simd_name(s));
    }
}

/* ---- files of the corpus ---- */

static void corpus_dir(char *out, size_t n)
{
    const char *dir = getenv("KILN_CORPUS");
    if (dir)
        snprintf(out, n, "%s/otlp", dir);
    else
        snprintf(out, n, "%s/../shared/corpus/otlp", test_source_root());
}

static void corpus_round_trips(void **state)
{
    (void)state;
    char dir[512], path[1024];
    corpus_dir(dir, sizeof dir);
    DIR *d = opendir(dir);
    if (!d) {
        print_message("# skip: no corpus at %s\n", dir);
        skip();
    }
    size_t n = 0;
    for (struct dirent *f; (f = readdir(d));) {
        size_t len = strlen(f->d_name);
        if (len < 5 || strcmp(f->d_name + len - 5, ".otlp") != 0) continue;
        snprintf(path, sizeof path, "%s/%s", dir, f->d_name);
        buf in = {0};
        assert_true(test_read(path, &in));
        arena a = {0};
        model m, plain;
        err e = {0};
        layout_verdict v;
        if (!otlp_decode(in.p, in.n, &(otlp_decode_opts){.verdict = &v}, &a, &m, &e))
            fail_msg("%s: %s", path, e.msg);
        if (!otlp_decode(in.p, in.n, &(otlp_decode_opts){.simd = SIMD_PORTABLE}, &a, &plain, &e))
            fail_msg("%s: %s", path, e.msg);
        assert_equal_models(&m, &plain, path);
        check_codec(&m, NULL);
        check_json(&m, LAYOUT_CURRENT);
        check_canonical(&m);
        print_message("# %s: layout %s, %zu profiles\n", f->d_name, layout_name(v.layout),
                      m.profiles.n);
        arena_free(&a);
        buf_free(&in);
        n++;
    }
    closedir(d);
    if (!n) fail_msg("no .otlp file in %s", dir);
}

int main(void)
{
    print_message("# %d models per test; KILN_SEED=N starts at N\n", MODELS);
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_models_round_trip),
        cmocka_unit_test(without_zero_entries),
        cmocka_unit_test(json_agrees),
        cmocka_unit_test(canonical_keeps_totals),
        cmocka_unit_test(packed_kernels_agree),
        cmocka_unit_test(corpus_round_trips),
    };
    return cmocka_run_group_tests_name("roundtrip", tests, NULL, NULL);
}
