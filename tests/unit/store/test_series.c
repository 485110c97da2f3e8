/* Tests that every kind of read is restricted to the series that a selector lists, in the journal
 * and in compacted files. */
#include "../../support/store_test.h"

#include "model/builder.h"

/* A series of one service and one type. */
typedef struct one_series {
    const char *service, *scope, *period_type;
    int64_t period;
} one_series;

/* Each differs from the first in one member. */
static const one_series made[] = {
    {"shop", "a", "cpu", 10},  {"bank", "a", "cpu", 10}, {"shop", "b", "cpu", 10},
    {"shop", "a", "wall", 10}, {"shop", "a", "cpu", 20},
};
enum { MADE = ARRAY_LEN(made), PROFILES = 2, ALL = (1 << MADE) - 1 };

/* The value of a sample identifies its series in a sum. */
static int64_t value_of(size_t i) { return (int64_t)1 << (8 * i); }

static int64_t sum_of(unsigned chosen)
{
    int64_t sum = 0;
    for (size_t i = 0; i < MADE; i++) sum += chosen >> i & 1 ? PROFILES * value_of(i) : 0;
    return sum;
}

static void add_series(builder *b, size_t i)
{
    static uint32_t id;
    const one_series *x = &made[i];
    const int64_t value = value_of(i);
    const uint64_t time = NOON;
    any name = {.kind = ANY_STRING, .s = x->service, .n = (uint32_t)strlen(x->service)};
    keyvalue kv = {.key = STR("service.name"), .value = name};
    builder_resource(b, &(resource){.present = true, .attrs = {&kv, 1}});
    builder_scope(b, &(scope){.present = true, .name = str_of(x->scope)});
    profile *p = builder_profile(b);
    p->has_sample_type = true;
    p->sample_type =
        (value_type){builder_string(b, STR("samples")), builder_string(b, STR("count"))};
    p->period_type =
        (value_type){builder_string(b, str_of(x->period_type)), builder_string(b, STR("ms"))};
    p->period = x->period;
    p->time_unix_nano = time;
    id++;
    memcpy(p->profile_id, &id, sizeof id);
    p->profile_id[15] = 1;
    builder_sample(b, &(sample){.values = &value, .n_values = 1, .times = &time, .n_times = 1});
}

/* Puts one profile of each series, as one item. */
static void put_all(under_test *t)
{
    arena a = {0};
    builder b;
    model m;
    err e = {0};
    assert_true(builder_init(&b, &a));
    for (size_t i = 0; i < MADE; i++) add_series(&b, i);
    assert_ok(builder_finish(&b, &m, &e), &e);
    assert_ok(store_put(t->s, &(store_item){.model = &m}, &e), &e);
    assert_ok(store_commit(t->s, &e), &e);
    arena_free(&a);
}

static size_t made_index(const store_series *s)
{
    for (size_t i = 0; i < MADE; i++)
        if (str_eq(any_str(&s->resource->attrs.v[0].value), str_of(made[i].service)) &&
            str_eq(s->scope->name, str_of(made[i].scope)) &&
            str_eq(s->period_type, str_of(made[i].period_type)) && s->period == made[i].period)
            return i;
    fail_msg("unknown series");
    return MADE;
}

/* Sets *out to the chosen series of the store's list. */
static void choose(under_test *t, unsigned chosen, arena *a, store_series_list *out)
{
    err e = {0};
    store_series_list all;
    assert_ok(
        store_list_series(store_own_reader(t->s), &(store_selector){0}, NULL, a, &all, NULL, &e),
        &e);
    assert_int_equal(all.n, MADE);
    for (size_t i = 0; i < all.n; i++)
        if (chosen >> made_index(&all.v[i]) & 1) *vec_push(a, out) = all.v[i];
}

static void check_models(under_test *t, const store_selector *q, unsigned chosen)
{
    static const store_read_opts opts[] = {{.names = true},
                                           {.by_series = true},
                                           {.by_series = true, .by_reading = true},
                                           {.by_series = true, .by_reading = true, .leaves = true},
                                           {.by_attributes = true}};
    for (size_t k = 0; k <= ARRAY_LEN(opts); k++) {
        arena a = {0};
        model m;
        err e = {0};
        int64_t sum = 0;
        store_reader *r = store_own_reader(t->s);
        assert_ok(k < ARRAY_LEN(opts) ? store_read_sums(r, q, &opts[k], &a, &m, NULL, &e)
                                      : store_read(r, q, NULL, &a, &m, NULL, &e),
                  &e);
        for (size_t i = 0; i < m.values.n; i++) sum += m.values.v[i];
        assert_int_equal(sum, sum_of(chosen));
        arena_free(&a);
    }
}

static void check_counts(under_test *t, const store_selector *q, unsigned chosen)
{
    arena a = {0};
    err e = {0};
    store_buckets b;
    store_selector own = *q;
    int64_t sum = 0;
    own.start = NOON, own.end = NOON + 1;
    assert_ok(store_counts(store_own_reader(t->s), &own, NULL,
                           &(store_counts_opts){.step = 1, .by = STR("service.name")}, &a, &b, NULL,
                           &e),
              &e);
    for (size_t i = 0; i < b.rows.n; i++) sum += b.rows.v[i].sum[0];
    assert_int_equal(sum, sum_of(chosen));
    arena_free(&a);
}

static void check_lists(under_test *t, const store_selector *q, unsigned chosen)
{
    arena a = {0};
    err e = {0};
    store_reader *r = store_own_reader(t->s);
    store_series_list series, of_profiles;
    store_profile_list profiles;
    store_type_list types;
    store_label_list labels;
    unsigned found = 0, n = (unsigned)__builtin_popcount(chosen);
    assert_ok(store_list_series(r, q, NULL, &a, &series, NULL, &e), &e);
    for (size_t i = 0; i < series.n; i++) found |= 1U << made_index(&series.v[i]);
    assert_int_equal(found, chosen);
    assert_ok(store_list_profiles(r, q, NULL, 0, &a, &profiles, &of_profiles, NULL, &e), &e);
    assert_int_equal(profiles.n, n * PROFILES);
    assert_int_equal(of_profiles.n, n);
    assert_ok(store_list_types(r, q, NULL, &a, &types, NULL, &e), &e);
    assert_int_equal(types.n, n > 0);
    assert_ok(store_list_labels(r, q, NULL, STR("service.name"), &a, &labels, NULL, &e), &e);
    assert_int_equal(labels.n, (chosen >> 1 & 1) + ((chosen & ~2U) != 0));
    arena_free(&a);
}

static void check_choice(under_test *t, unsigned chosen)
{
    arena a = {0};
    store_series_list only = {0};
    choose(t, chosen, &a, &only);
    const store_selector q = {.series = &only};
    check_models(t, &q, chosen);
    check_counts(t, &q, chosen);
    check_lists(t, &q, chosen);
    arena_free(&a);
}

/* Every set of series, also the empty one: first the journal has all profiles, then files have half
 * of them, then all. */
static void test_every_set(void **state)
{
    (void)state;
    under_test *t = begin(NULL, NULL);
    for (size_t i = 0; i < PROFILES; i++) put_all(t);
    for (unsigned x = 0; x <= ALL; x++) check_choice(t, x);
    end(t);
    t = begin(NULL, NULL);
    put_all(t);
    compact(t);
    put_all(t);
    for (unsigned x = 0; x <= ALL; x++) check_choice(t, x);
    compact(t);
    for (unsigned x = 0; x <= ALL; x++) check_choice(t, x);
    end(t);
}

/* Matchers and the list restrict a read together; a series of another store selects nothing. */
static void test_with_matchers(void **state)
{
    (void)state;
    under_test *t = begin(NULL, NULL);
    arena a = {0};
    store_series_list only = {0};
    const store_matcher shop = {STR("service.name"), STORE_IS, STR("shop")};
    put_all(t);
    put_all(t);
    choose(t, 3, &a, &only);
    for (int round = 0; round < 2; round++) {
        const store_selector q = {.matchers = &shop, .n_matchers = 1, .series = &only};
        check_models(t, &q, 1);
        check_lists(t, &q, 1);
        compact(t);
    }
    only.v[0].period = only.v[1].period = 30;
    check_lists(t, &(store_selector){.series = &only}, 0);
    arena_free(&a);
    end(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_set),
        cmocka_unit_test(test_with_matchers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
