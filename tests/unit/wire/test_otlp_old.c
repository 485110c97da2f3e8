/* Reads v1.3 to v1.7 into the current model.  The vectors come from protoc; small messages are
 * built here. */
#include "../../support/old_layouts.h"

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

/* Two old Profiles in a scope: each stores its own order. */
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
        const uint8_t *whole = r.m.profiles.v[0].profile_id;
        assert_int_equal(whole[0], 0x90);
        for (size_t i = 0; i < 4; i++) { /* P-52: each has a unique id, derived from the old one */
            const uint8_t *id = r.m.profiles.v[i].profile_id;
            assert_true(profile_id_leads(id, whole));
            for (size_t k = 0; k < i; k++)
                assert_memory_not_equal(id, r.m.profiles.v[k].profile_id, 16);
        }
        assert_false(profile_id_leads(r.m.profiles.v[4].profile_id, whole));
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
    assert_null(find_loss(&r, LOSS_ARBITRARY_ID)); /* ids 1, 2, 3 are the default */
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
        assert_int_equal(r.m.dict.links.v[link[0]].trace_id[0], 1); /* explicit 0: entry 0 */
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
    };
    return cmocka_run_group_tests_name("otlp_old", tests, NULL, NULL);
}
