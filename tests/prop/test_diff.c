/* What a diff calls a change is one: over 200 seeds of generated pairs the planted regression is found,
 * pairs from one program stay quiet at the stated rate, and a profile against itself is empty.
 * KILN_SEED starts elsewhere. */
#include "../support/test.h"

#include "model/builder.h"
#include "query/diff.h"

enum { SEEDS = 200, FUNCTIONS = 60, STACKS = 300, SAMPLES = 50000, DEPTH = 12 };

typedef struct rng {
    uint64_t s;
} rng;

static uint64_t next(rng *r)
{
    r->s += 0x9e3779b97f4a7c15u;
    uint64_t z = r->s;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static double unit(rng *r) { return (double)(next(r) >> 11) * 0x1p-53; }

/* A program: stacks of functions, and how likely a sample finds it in each. */
typedef struct program {
    uint32_t frames[STACKS][DEPTH], n[STACKS]; /* leaf first */
    double weight[STACKS];
} program;

static void make_program(program *p, rng *r)
{
    for (size_t i = 0; i < STACKS; i++) {
        p->n[i] = 2 + (uint32_t)(next(r) % (DEPTH - 1));
        for (uint32_t k = 0; k < p->n[i]; k++) p->frames[i][k] = (uint32_t)(next(r) % FUNCTIONS);
        p->weight[i] = 1 / (double)(1 + next(r) % 40);
    }
}

static double self_share(const program *p, uint32_t f)
{
    double in = 0, all = 0;
    for (size_t i = 0; i < STACKS; i++) {
        all += p->weight[i];
        if (p->frames[i][0] == f) in += p->weight[i];
    }
    return in / all;
}

/* The function with the largest share of its own now takes 20 % longer.  Returns it. */
static uint32_t plant(program *p)
{
    uint32_t best = 0;
    for (uint32_t f = 1; f < FUNCTIONS; f++)
        if (self_share(p, f) > self_share(p, best)) best = f;
    for (size_t i = 0; i < STACKS; i++)
        if (p->frames[i][0] == best) p->weight[i] *= 1.2;
    return best;
}

static void function_name(uint32_t f, char out[16]) { snprintf(out, 16, "f%u", f); }

/* `n` samples of the program, drawn independently. */
static void record(const program *p, rng *r, size_t n, arena *a, model *m)
{
    builder b;
    err e = {0};
    double sum[STACKS], all = 0;
    uint32_t stack[STACKS], places[FUNCTIONS];
    assert_true(builder_init(&b, a));
    builder_resource(&b, NULL);
    builder_scope(&b, NULL);
    profile *out = builder_profile(&b);
    out->sample_type =
        (value_type){builder_string(&b, STR("samples")), builder_string(&b, STR("count"))};
    out->has_sample_type = true;
    out->duration_nano = 10000000000;
    for (uint32_t f = 0; f < FUNCTIONS; f++) {
        char name[16];
        function_name(f, name);
        function fn = {.name = builder_string(&b, str_of(name))};
        line l = {.function = builder_function(&b, &fn)};
        places[f] = builder_location(&b, 0, f + 1, &l, 1, NULL, 0);
    }
    for (size_t i = 0; i < STACKS; i++) {
        uint32_t frames[DEPTH];
        for (uint32_t k = 0; k < p->n[i]; k++) frames[k] = places[p->frames[i][k]];
        stack[i] = builder_stack(&b, frames, p->n[i]);
        sum[i] = all += p->weight[i];
    }
    int64_t count[STACKS] = {0};
    for (size_t k = 0; k < n; k++) {
        double x = unit(r) * all;
        size_t low = 0, high = STACKS - 1;
        while (low < high) {
            size_t mid = (low + high) / 2;
            if (sum[mid] > x)
                high = mid;
            else
                low = mid + 1;
        }
        count[low]++;
    }
    for (size_t i = 0; i < STACKS; i++)
        if (count[i])
            builder_sample(&b, &(sample){.stack = stack[i], .values = &count[i], .n_values = 1});
    assert_ok(builder_finish(&b, m, &e), &e);
}

static diff compare(const model *before, const model *after, const diff_opts *o, arena *a)
{
    frame_table *f = arena_new(a, frame_table, 1);
    view *v = arena_new(a, view, 2);
    select_opts all = {0};
    diff d;
    err e = {0};
    assert_non_null(f);
    assert_ok(frame_table_init(f, BY_FUNCTION, a, &e), &e);
    view_init(&v[0], f, a);
    view_init(&v[1], f, a);
    assert_ok(view_add(&v[0], before, &all, 1, &e), &e);
    assert_ok(view_add(&v[1], after, &all, 1, &e), &e);
    assert_ok(diff_of(&v[0], &v[1], o, a, &d, &e), &e);
    return d;
}

static uint64_t first_seed(void)
{
    const char *s = getenv("KILN_SEED");
    return s ? strtoull(s, NULL, 10) : 1;
}

static bool grew(const diff *d, uint32_t f)
{
    char name[16];
    function_name(f, name);
    for (size_t i = 0; i < d->n_changed; i++)
        if (str_eq(frame_label(d->frames, d->v[i].frame), str_of(name)))
            return d->v[i].flat == DIFF_GREW;
    return false;
}

/* The rates of one mode. */
static void rates(bool absolute)
{
    int found = 0, alarms = 0;
    uint64_t first = first_seed();
    for (uint64_t seed = first; seed < first + SEEDS; seed++) {
        rng r = {seed};
        arena a = {0};
        program *p = arena_new(&a, program, 1);
        model before, again, worse;
        diff_opts o = {.absolute = absolute};
        make_program(p, &r);
        record(p, &r, SAMPLES, &a, &before);
        record(p, &r, SAMPLES, &a, &again);
        diff null = compare(&before, &again, &o, &a);
        alarms += null.n_changed > 0;
        uint32_t planted = plant(p);
        double share = self_share(p, planted);
        /* 20 % more time in it is that many more samples of the whole. */
        size_t n = absolute ? (size_t)(SAMPLES * (1 + share / 6)) : SAMPLES;
        record(p, &r, n, &a, &worse);
        diff d = compare(&before, &worse, &o, &a);
        found += grew(&d, planted);
        arena_free(&a);
    }
    print_message(
        "# %s: a planted 20 %% regression found in %d of %d, false alarms in %d of %d pairs "
        "without one (stated rate: %.0f %%)\n",
        absolute ? "absolute" : "normalised", found, SEEDS, alarms, SEEDS, DIFF_FDR * 100);
    assert_true(found >= SEEDS * 95 / 100);
    /* 5 % of 200 is 10; with three deviations of the binomial 19. */
    assert_true(alarms <= 19);
}

static void test_shares(void **state)
{
    (void)state;
    rates(false);
}

static void test_rates(void **state)
{
    (void)state;
    rates(true);
}

static void test_itself_is_empty(void **state)
{
    (void)state;
    for (uint64_t seed = first_seed(); seed < first_seed() + 20; seed++) {
        rng r = {seed};
        arena a = {0};
        program *p = arena_new(&a, program, 1);
        model m;
        make_program(p, &r);
        record(p, &r, 500, &a, &m);
        for (int absolute = 0; absolute < 2; absolute++) {
            diff d = compare(&m, &m, &(diff_opts){.absolute = absolute}, &a);
            assert_u64(d.n_changed, 0);
            for (size_t i = 0; i < d.n; i++)
                assert_true(d.v[i].flat_change == 0 && d.v[i].cum_change == 0);
        }
        arena_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_itself_is_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
