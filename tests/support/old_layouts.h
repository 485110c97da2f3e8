/* tests/support/old_layouts.h - builds and decodes messages of v1.3 to v1.7, and inspects the result. */
#pragma once
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

static inline char *vector(const char *name, size_t *n)
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

static inline void sub(buf *b, uint32_t number, buf *inner)
{
    pb_put_bytes(b, number, buf_view(inner));
    buf_free(inner);
}

static inline void put_list(buf *b, uint32_t number, size_t n, const uint64_t *v)
{
    buf list = {0};
    for (size_t i = 0; i < n; i++) pb_put_varint(&list, v[i]);
    sub(b, number, &list);
}
#define LIST(b, number, ...)                                                                       \
    put_list(b, number, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t),                      \
             (uint64_t[]){__VA_ARGS__})

static inline void put_strings(buf *b, uint32_t number, const char *const *s)
{
    for (; *s; s++) pb_put_bytes(b, number, str_of(*s));
}

static inline buf envelope(buf *prof, buf *dictionary)
{
    buf sp = {0}, rp = {0}, data = {0};
    sub(&sp, 2, prof);
    sub(&rp, 2, &sp);
    sub(&data, 1, &rp);
    if (dictionary) sub(&data, 2, dictionary);
    return data;
}

static inline buf container(buf *prof)
{
    buf c = {0};
    sub(&c, 8, prof);
    return envelope(&c, NULL);
}

static const char *const words[] = {"", "cpu", "ns", "heap", "bytes", NULL};

typedef struct v7 {
    buf prof, dictionary;
} v7;

static inline v7 v7_new(unsigned n_types)
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

static inline void put_v3_types(buf *prof, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        buf vt = {0};
        pb_put_uint(&vt, 1, 1 + 2 * i);
        pb_put_uint(&vt, 2, 2 + 2 * i);
        sub(prof, 1, &vt);
    }
    put_strings(prof, 6, words);
}

/* A decoded message with its arena, ledger and error. */
typedef struct run {
    arena a;
    model m;
    ledger l;
    err e;
    bool ok;
} run;

static inline run decode(const void *p, size_t n, layout l, bool lenient)
{
    run r = {0};
    otlp_decode_opts o = {.lenient = lenient, .ledger = &r.l};
    r.ok = otlp_old_decode(p, n, l, &o, &r.a, &r.m, &r.e);
    return r;
}

static inline run decode_ok(const void *p, size_t n, layout l)
{
    run r = decode(p, n, l, false);
    char text[400];
    if (!r.ok) fail_msg("layout %s: %s", layout_name(l), err_text(&r.e, text, sizeof text));
    assert_true(r.m.checked);
    return r;
}

static inline void done(run *r, buf *b)
{
    arena_free(&r->a);
    if (b) buf_free(b);
}

/* ---- inspecting the result ---- */

static inline str type_name(const run *r, size_t profile_i)
{
    return dict_str(&r->m.dict, r->m.profiles.v[profile_i].sample_type.type);
}

static inline void assert_str(str got, const char *want)
{
    if (!str_eq(got, str_of(want))) fail_msg("\"%.*s\", expected \"%s\"", STR_ARG(got), want);
}

/* Returns the attribute with this key in a list of references; NULL if there is none. */
static inline const any *find_attr(const run *r, const uint32_t *refs, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++) {
        const attribute *a = &r->m.dict.attributes.v[refs[i]];
        if (str_eq(dict_str(&r->m.dict, a->key), str_of(key))) return &a->value;
    }
    return NULL;
}

static inline const any *profile_attr(const run *r, size_t i, const char *key)
{
    span s = r->m.profiles.v[i].attrs;
    return s.n ? find_attr(r, r->m.dict.attr_refs.v + s.at, s.n, key) : NULL;
}

static inline const any *scope_attr(const run *r, size_t i, const char *key)
{
    const keyvalues *kv = &r->m.scopes.v[i].attrs;
    for (size_t k = 0; k < kv->n; k++)
        if (str_eq(kv->v[k].key, str_of(key))) return &kv->v[k].value;
    return NULL;
}

static inline const loss *find_loss(const run *r, loss_concept c)
{
    for (size_t i = 0; i < r->l.n; i++)
        if (r->l.v[i].concept == c) return &r->l.v[i];
    return NULL;
}

static inline void assert_values(const run *r, size_t profile_i, size_t sample_i, size_t n,
                                 const int64_t *want)
{
    sample s = sample_at(&r->m, &r->m.profiles.v[profile_i], sample_i);
    assert_int_equal(s.n_values, n);
    for (size_t i = 0; i < n; i++) assert_int_equal(s.values[i], want[i]);
}
#define VALUES(r, p, s, ...)                                                                       \
    assert_values(r, p, s, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),                     \
                  (int64_t[]){__VA_ARGS__})

static inline const location *frame(const run *r, size_t profile_i, size_t sample_i, size_t frame_i)
{
    sample s = sample_at(&r->m, &r->m.profiles.v[profile_i], sample_i);
    span stack = dict_stack(&r->m.dict, s.stack);
    assert_true(frame_i < stack.n);
    return &r->m.dict.locations.v[r->m.dict.frames.v[stack.at + frame_i]];
}

static inline str frame_name(const run *r, size_t profile_i, size_t sample_i, size_t frame_i)
{
    const location *l = frame(r, profile_i, sample_i, frame_i);
    assert_true(l->lines.n > 0);
    const line *x = &r->m.dict.lines.v[l->lines.at];
    return dict_str(&r->m.dict, r->m.dict.functions.v[x->function].name);
}
