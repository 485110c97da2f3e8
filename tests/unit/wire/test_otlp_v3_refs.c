/* OTEP 0239: which references are positions and which are ids. */
#include "../../support/old_layouts.h"
#include "wire/otlp_v3_refs.h"

#include "base/ban.h"

enum { MOST = 4 };

/* One Profile; END terminates a list. */
#define END UINT64_MAX

typedef struct refs_case {
    const char *name;
    uint64_t location_id[MOST + 1], location_ref[MOST + 1];
    uint64_t function_id[MOST + 1], function_ref[MOST + 1]; /* one reference per location */
    uint64_t mapping_id[MOST + 1], mapping_ref[MOST + 1];   /* likewise; mapping i is [i, i + 1) */
    uint64_t address[MOST + 1];
    const char *want; /* location, function, mapping: p position, i id, o open, b broken */
    const char *why;  /* evidence for the first table that has ids */
} refs_case;

static const refs_case cases[] = {
    {"no ids", {0, 0, END}, {0, 1, END}, {0, 0, END}, {0, 1, END}, {END}, {END}, {END}, "ppp", ""},
    {"0 is not an id",
     {1, 2, 3, END},
     {2, 1, 0, END},
     {END},
     {END},
     {END},
     {END},
     {END},
     "ppp",
     "a reference to a location is 0, which is not an id"},
    {"beyond the table",
     {1, 2, 3, END},
     {3, 1, END},
     {END},
     {END},
     {END},
     {END},
     {END},
     "ipp",
     "there is no location at position 3"},
    {"an id that no entry has",
     {10, 11, 12, END},
     {2, 1, END},
     {END},
     {END},
     {END},
     {END},
     {END},
     "ppp",
     "no location has the id 2"},
    {"both fit",
     {1, 2, 3, END},
     {2, 1, END},
     {END},
     {END},
     {END},
     {END},
     {END},
     "opp",
     "every reference to a location is both a position and an id"},
    {"neither fits",
     {10, 11, END},
     {10, 1, END},
     {END},
     {END},
     {END},
     {END},
     {END},
     "bpp",
     "no location has the id or the position 1"},
    {"the functions follow the locations",
     {1, 2, END},
     {2, 1, END},
     {1, 2, 3, END},
     {1, 2, END},
     {END},
     {END},
     {END},
     "iip",
     "there is no location at position 2"},
    {"a line without a function is pprof's when the locations are",
     {1, 2, END},
     {2, 1, END},
     {1, 2, 3, END},
     {0, 2, END},
     {END},
     {END},
     {END},
     "iip",
     "there is no location at position 2"},
    {"a line without a function alone",
     {0, 0, END},
     {1, 0, END},
     {1, 2, 3, END},
     {0, 2, END},
     {END},
     {END},
     {END},
     "ppp",
     "a reference to a function is 0, which is not an id"},
    {"addresses decide between the mappings",
     {0, 0, END},
     {1, 0, END},
     {END},
     {END},
     {1, 2, 3, END},
     {1, 2, END},
     {0, 1, END},
     "ppi",
     "addresses lie in their mappings when references are ids"},
    {"an unset mapping is not evidence",
     {0, 0, END},
     {1, 0, END},
     {END},
     {END},
     {1, 2, END},
     {0, 1, END},
     {9, 9, END},
     "ppo",
     "every reference to a mapping is both a position and an id"},
};

static size_t length(const uint64_t *v)
{
    size_t n = 0;
    while (n < MOST && v[n] != END) n++;
    return n;
}

static buf profile_of(const refs_case *x)
{
    buf prof = {0}, row = {0};
    for (size_t i = 0; i < length(x->location_id); i++) {
        buf loc = {0}, l = {0};
        if (x->location_id[i]) pb_put_uint(&loc, 1, x->location_id[i]);
        if (i < length(x->mapping_ref) && x->mapping_ref[i])
            pb_put_uint(&loc, 2, x->mapping_ref[i]);
        pb_put_uint(&loc, 3, i < length(x->address) ? x->address[i] : 0);
        if (i < length(x->function_ref)) {
            if (x->function_ref[i]) pb_put_uint(&l, 1, x->function_ref[i]);
            sub(&loc, 4, &l);
        }
        sub(&prof, 4, &loc);
    }
    for (size_t i = 0; i < length(x->function_id); i++) {
        buf fn = {0};
        if (x->function_id[i]) pb_put_uint(&fn, 1, x->function_id[i]);
        sub(&prof, 5, &fn);
    }
    for (size_t i = 0; i < length(x->mapping_id); i++) {
        buf m = {0};
        if (x->mapping_id[i]) pb_put_uint(&m, 1, x->mapping_id[i]);
        pb_put_uint(&m, 2, i);
        pb_put_uint(&m, 3, i + 1);
        sub(&prof, 3, &m);
    }
    put_list(&row, 1, length(x->location_ref), x->location_ref);
    sub(&prof, 2, &row);
    return prof;
}

static void each_table_is_judged(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const refs_case *x = &cases[i];
        buf prof = profile_of(x);
        str piece = buf_view(&prof);
        arena a = {0};
        v3_reading r[V3_TABLES];
        assert_true(v3_refs_judge(&piece, 1, &a, r));
        const char *why = "";
        for (size_t t = 0; t < V3_TABLES; t++) {
            char got = r[t].broken ? 'b' : r[t].open ? 'o' : r[t].by_id ? 'i' : 'p';
            if (got != x->want[t])
                fail_msg("%s: %s is '%c', not '%c' (%s)", x->name, v3_table_name((v3_table)t), got,
                         x->want[t], r[t].why);
            if (!why[0]) why = r[t].why;
        }
        if (strcmp(why, x->why)) fail_msg("%s: \"%s\"", x->name, why);
        arena_free(&a);
        buf_free(&prof);
    }
}

/* Any budget gives a verdict or a memory error. */
static void the_budget_holds(void **state)
{
    (void)state;
    buf prof = profile_of(&cases[1]);
    str piece = buf_view(&prof);
    bool ok = false;
    for (size_t budget = 1; budget < 64 * 1024 && !ok; budget += 97) {
        arena a = {.budget = budget};
        v3_reading r[V3_TABLES];
        ok = v3_refs_judge(&piece, 1, &a, r);
        arena_free(&a);
    }
    assert_true(ok);
    buf_free(&prof);
}

/* Without evidence, references are positions, and the ledger records it. */
static void an_open_reading_is_in_the_ledger(void **state)
{
    (void)state;
    buf prof = profile_of(&cases[4]);
    put_v3_types(&prof, 1);
    buf in = container(&prof);
    run r = decode_ok(in.p, in.n, LAYOUT_1_3);
    const loss *l = find_loss(&r, LOSS_REFERENCE);
    assert_non_null(l);
    assert_string_equal(l->value, cases[4].why);
    assert_int_equal(dict_stack(&r.m.dict, r.m.profiles.v[0].stack[0]).n, 2);
    done(&r, &in);
}

/* Vectors b and b2 are the same profile with and without the deprecated ids. */
static void seed_b_is_read_by_position(void **state)
{
    (void)state;
    size_t n, n2;
    char *b = vector("layouts/b.otep239", &n), *b2 = vector("layouts/b2.otep239", &n2);
    run r = {0}, r2 = decode_ok(b2, n2, LAYOUT_1_3);
    layout_verdict v = {0};
    otlp_decode_opts o = {.ledger = &r.l, .verdict = &v};
    assert_true(otlp_decode(b, n, &o, &r.a, &r.m, &r.e));
    assert_non_null(strstr(v.evidence, "references to a location are positions"));
    const dict *d = &r.m.dict, *d2 = &r2.m.dict;
    assert_int_equal(d->frames.n, d2->frames.n);
    assert_memory_equal(d->frames.v, d2->frames.v, d->frames.n * sizeof *d->frames.v);
    for (size_t i = 0; i < d->locations.n; i++)
        assert_int_equal(d->locations.v[i].mapping, d2->locations.v[i].mapping);
    for (size_t i = 0; i < d->lines.n; i++)
        assert_int_equal(d->lines.v[i].function, d2->lines.v[i].function);
    assert_null(find_loss(&r, LOSS_REFERENCE));
    done(&r2, NULL);
    done(&r, NULL);
    free(b);
    free(b2);
}

/* A real link at link_table[0] has the same bytes as no link. */
static void link_0_is_in_the_ledger(void **state)
{
    (void)state;
    size_t n;
    char *in = vector("layouts/l0.pb", &n);
    run r = decode_ok(in, n, LAYOUT_1_3);
    const loss *l = find_loss(&r, LOSS_LINK);
    assert_non_null(l);
    assert_int_equal(l->count, 3); /* samples without a link */
    assert_non_null(strstr(l->path, "link_table[0]"));
    done(&r, NULL);
    free(in);
    char *none = vector("layouts/b2.otep239", &n); /* its link_table[0] is empty */
    r = decode_ok(none, n, LAYOUT_1_3);
    assert_null(find_loss(&r, LOSS_LINK));
    done(&r, NULL);
    free(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_table_is_judged),
        cmocka_unit_test(the_budget_holds),
        cmocka_unit_test(an_open_reading_is_in_the_ledger),
        cmocka_unit_test(seed_b_is_read_by_position),
        cmocka_unit_test(link_0_is_in_the_ledger),
    };
    return cmocka_run_group_tests_name("otlp_v3_refs", tests, NULL, NULL);
}
