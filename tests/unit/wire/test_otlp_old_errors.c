/* Layouts v1.3 to v1.7: broken, hostile and too large messages. */
#include "../../support/old_layouts.h"

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

    /* Every sample refers to nearly all of one long list, each from another start. */
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

/* Every prefix, read as any old layout, gives a model or an error with its position. */
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

/* Checks that every index of a checked model is inside its table. */
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
                            err_exhausted(&r.e));
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
            if (!ok) assert_int_equal(e.code, ERR_MEMORY);
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
        cmocka_unit_test(errors),       cmocka_unit_test(limits),
        cmocka_unit_test(truncation),   cmocka_unit_test(changed_bytes),
        cmocka_unit_test(wrong_layout), cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests_name("otlp_old_errors", tests, NULL, NULL);
}
