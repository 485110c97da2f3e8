/* Diffs report real changes only.  A table of scenarios with known results, each with SEEDS
 * simulated pairs of recordings of a small program.  Runs differ by a few percent, like real
 * ones, and samples are drawn at random. Scenarios without a change raise alarms at most at the
 * stated rate; planted changes are found.  KILN_SEED sets the first seed. */
#include "../support/test.h"

#include "model/builder.h"
#include "query/cumulative.h"
#include "query/diff.h"
#include "query/per.h"
#include "wire/carried.h"
#include <math.h>

enum { SEEDS = 200, STACKS = 12, DEPTH = 4, RUNS = 5 };

/* ---- random numbers ---- */

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

static double unit(rng *r) { return ((double)(next(r) >> 11) + 0.5) * 0x1p-53; }

static double normal(rng *r) { return sqrt(-2 * log(unit(r))) * cos(2 * M_PI * unit(r)); }

/* A Poisson variable: exact for small means, by the normal approximation for large ones. */
static int64_t poisson(rng *r, double mean)
{
    if (mean > 60) return (int64_t)fmax(0, round(mean + sqrt(mean) * normal(r)));
    double limit = exp(-mean), p = unit(r);
    int64_t k = 0;
    for (; p > limit; k++) p *= unit(r);
    return k;
}

/* ---- a program ---- */

/* Call paths of the simulated program, root first; cost: milliseconds per run. */
typedef struct path {
    const char *frames[DEPTH];
    double cost;
} path;

static const path program[STACKS] = {
    {{"main", "serve", "parse", "lex"}, 900}, {{"main", "serve", "parse", NULL}, 300},
    {{"main", "serve", "sort", "less"}, 700}, {{"main", "serve", "sort", NULL}, 1100},
    {{"main", "serve", "copy", NULL}, 1500},  {{"main", "serve", NULL, NULL}, 200},
    {{"main", "spin", NULL, NULL}, 2000}, /* the same amount of work on every machine */
    {{"main", "log", "format", NULL}, 400},   {{"main", "log", "write", NULL}, 800},
    {{"main", "gc", "mark", NULL}, 1200},     {{"main", "gc", "sweep", NULL}, 600},
    {{"main", NULL, NULL, NULL}, 300},
};

/* One side of a scenario. */
typedef struct side {
    double work;           /* factor of all costs except spin; 0: 1 */
    double speed;          /* speed of the machine, divides all costs; 0: 1 */
    double seconds;        /* recorded seconds; 0: 10 */
    double period;         /* ms per sample; 0: 1 */
    unsigned snapshots;    /* number of cumulative heap snapshots */
    const char *frame;     /* the self cost of this frame ... */
    double times;          /* ... is multiplied by this */
    const char *from, *to; /* renames frame `from` to `to` */
    const char *inlined;   /* this frame is inlined: its cost belongs to its caller */
} side;

static double or_one(double v) { return v > 0 ? v : 1; }

static const char *leaf(const path *p)
{
    const char *last = NULL;
    for (size_t i = 0; i < DEPTH && p->frames[i]; i++) last = p->frames[i];
    return last;
}

static bool is(const char *a, const char *b) { return a && b && !strcmp(a, b); }

static double cost_of(const path *p, const side *s)
{
    double cost = p->cost / or_one(s->speed);
    if (is(leaf(p), s->frame)) cost *= s->times;
    return is(leaf(p), "spin") ? cost : cost * or_one(s->work);
}

/* ---- recordings ---- */

typedef enum story_type { CPU, SAMPLES, HEAP } story_type;

static uint32_t place(builder *b, const char *name)
{
    function fn = {.name = builder_string(b, str_of(name))};
    line l = {.function = builder_function(b, &fn)};
    return builder_location(b, 0, 1 + hash_bytes(name, strlen(name), 0) % 100000, &l, 1, NULL, 0);
}

static uint32_t stack_of(builder *b, const path *p, const side *s)
{
    uint32_t frames[DEPTH], n = 0;
    for (size_t i = DEPTH; i > 0; i--) {
        const char *name = p->frames[i - 1];
        if (!name || is(name, s->inlined)) continue;
        frames[n++] = place(b, is(name, s->from) ? s->to : name);
    }
    return builder_stack(b, frames, n);
}

static profile *begin(builder *b, const char *type, const char *unit_name, double period, double s)
{
    profile *p = builder_profile(b);
    p->sample_type =
        (value_type){builder_string(b, str_of(type)), builder_string(b, str_of(unit_name))};
    p->has_sample_type = true;
    p->time_unix_nano = 1700000000000000000;
    p->duration_nano = (uint64_t)(s * 1e9);
    if (period > 0) {
        p->period_type =
            (value_type){builder_string(b, STR("cpu")), builder_string(b, STR("nanoseconds"))};
        p->period = (int64_t)(period * 1e6);
    }
    return p;
}

/* The number of samples per stack in one run. */
typedef struct run {
    int64_t n[STACKS];
} run;

static run draw(const side *s, double spread, double samples, rng *r)
{
    run out;
    double drift = exp(spread * normal(r)), period = or_one(s->period);
    for (size_t i = 0; i < STACKS; i++) {
        double own = exp(spread / 3 * normal(r));
        out.n[i] = poisson(r, cost_of(&program[i], s) * drift * own * samples / 10000 / period);
    }
    return out;
}

static void put_samples(builder *b, const run *v, const side *s, double value, rng *r, bool vary)
{
    for (size_t i = 0; i < STACKS; i++) {
        int64_t sum = 0;
        for (int64_t k = 0; k < v->n[i]; k++)
            sum += (int64_t)(vary ? value * (1 + (double)(next(r) % 3)) : value);
        if (sum)
            builder_sample(
                b, &(sample){.stack = stack_of(b, &program[i], s), .values = &sum, .n_values = 1});
    }
}

/* Adds bytes of sampled allocations; each observation is a separate value, as agents send them. */
static void put_allocations(builder *b, const run *v, const side *s, rng *r)
{
    for (size_t i = 0; i < STACKS; i++) {
        int64_t values[20000];
        uint32_t n = 0;
        for (int64_t k = 0; k < v->n[i] && n < 20000; k++)
            values[n++] = (int64_t)(512 * 1024 * (1 + next(r) % 3));
        if (n)
            builder_sample(
                b,
                &(sample){.stack = stack_of(b, &program[i], s), .values = values, .n_values = n});
    }
}

static void mark_cumulative(builder *b)
{
    uint32_t x =
        builder_attribute_str(b, STR(KILN_ATTR_AGGREGATION_TEMPORALITY), STR("cumulative"));
    builder_profile_attrs(b, &x, 1);
}

/* Adds cumulative heap snapshots: each includes everything since the start. */
static void put_heap(builder *b, const side *s, double spread, double samples, rng *r)
{
    run all = draw(s, spread, samples, r), so_far = {0};
    unsigned n = s->snapshots ? s->snapshots : 1;
    for (unsigned k = 1; k <= n; k++) {
        begin(b, "alloc_space", "bytes", 0, 10.0 * k);
        mark_cumulative(b);
        for (size_t i = 0; i < STACKS; i++) so_far.n[i] = all.n[i] * k / n;
        put_allocations(b, &so_far, s, r);
    }
}

/* Adds a second type to the same file, which is not compared. */
static void put_other_type(builder *b, const side *s, double spread, double samples, rng *r)
{
    side other = *s;
    other.work = 3 * or_one(s->work);
    begin(b, "alloc_space", "bytes", 0, or_one(s->seconds) * 10);
    run v = draw(&other, spread, samples, r);
    put_samples(b, &v, &other, 512 * 1024, r, true);
}

static void record(const side *s, story_type type, bool two, double spread, double samples, rng *r,
                   arena *a, model *m)
{
    builder b;
    err e = {0};
    double period = or_one(s->period), seconds = s->seconds > 0 ? s->seconds : 10;
    assert_true(builder_init(&b, a));
    builder_resource(&b, NULL);
    builder_scope(&b, NULL);
    if (type == HEAP) {
        put_heap(&b, s, spread, samples, r);
    } else {
        bool counts = type == SAMPLES;
        begin(&b, counts ? "samples" : "cpu", counts ? "count" : "nanoseconds", period, seconds);
        run v = draw(s, spread, samples, r);
        put_samples(&b, &v, s, counts ? 1 : period * 1e6, r, false);
    }
    if (two) put_other_type(&b, s, spread, samples, r);
    assert_ok(builder_finish(&b, m, &e), &e);
    assert_ok(cumulative_keep_newest(m, a, &e), &e);
}

/* ---- the scenarios ---- */

typedef struct scenario {
    const char *name;
    side before, after;
    const char *per; /* NULL: run */
    story_type type;
    double samples; /* samples of a run before the change; 0: 5000 */
    bool two_types;

    diff_verdict total; /* the expected result */
    bool regressed;     /* --fail-on-regression fails */
    const char *grew;   /* this frame is reported too */
    const char *quiet;  /* this frame is not reported as a regression */
    bool uniform;
    bool is_moved; /* `quiet` is reported as moved */
} scenario;

static const scenario scenarios[] = {
    {.name = "the same"},
    {.name = "uniformly twice as slow",
     .after = {.speed = 0.5},
     .total = DIFF_GREW,
     .regressed = true,
     .uniform = true},
    {.name = "one function twice as slow",
     .after = {.frame = "copy", .times = 2},
     .grew = "copy",
     .quiet = "mark",
     .regressed = true},
    {.name = "one function four times as slow",
     .after = {.frame = "copy", .times = 4},
     .total = DIFF_GREW,
     .grew = "copy",
     .quiet = "mark",
     .regressed = true},
    {.name = "faster", .after = {.frame = "copy", .times = 0.1}, .quiet = "sort"},
    {.name = "everything faster",
     .after = {.speed = 3},
     .total = DIFF_SHRANK,
     .quiet = "sort",
     .uniform = true},
    {.name = "one faster, one slower",
     .after = {.frame = "copy", .times = 2, .inlined = "none"},
     .before = {.frame = "mark", .times = 2},
     .grew = "copy",
     .quiet = "gc",
     .regressed = true},
    {.name = "the same work at another rate", .after = {.period = 5}},
    {.name = "counts of samples at another rate", .type = SAMPLES, .after = {.period = 5}},
    {.name = "another machine, not calibrated",
     .after = {.speed = 0.6},
     .total = DIFF_GREW,
     .regressed = true,
     .uniform = true},
    {.name = "another machine", .after = {.speed = 0.6}, .per = "calibration:^spin$"},
    {.name = "another machine and a regression",
     .after = {.speed = 1.7, .frame = "copy", .times = 2.5},
     .per = "calibration:^spin$",
     .grew = "copy",
     .quiet = "mark",
     .regressed = true},
    {.name = "more threads, done sooner", .after = {.seconds = 2.5}},
    {.name = "a longer recording of a service",
     .per = "second",
     .before = {.seconds = 10},
     .after = {.seconds = 40, .speed = 0.25}},
    {.name = "a busier service, by requests", .per = "1000,4000", .after = {.speed = 0.25}},
    {.name = "twice the work per request",
     .per = "1000,4000",
     .after = {.speed = 0.125},
     .total = DIFF_GREW,
     .uniform = true,
     .regressed = true},
    {.name = "inlined away", .after = {.inlined = "less"}, .quiet = "sort", .is_moved = true},
    {.name = "renamed",
     .after = {.from = "copy", .to = "memcpy_wide"},
     .quiet = "memcpy_wide",
     .is_moved = true},
    {.name = "renamed and four times as slow",
     .after = {.from = "copy", .to = "memcpy_wide", .frame = "copy", .times = 4},
     .grew = "memcpy_wide",
     .total = DIFF_GREW,
     .regressed = true},
    {.name = "a function is missing", .after = {.frame = "write", .times = 0}, .quiet = "format"},
    {.name = "tiny samples", .samples = 20},
    {.name = "two types, the other one grew", .two_types = true, .after = {.seconds = 20}},
    {.name = "cumulative heap, more snapshots",
     .type = HEAP,
     .samples = 1500,
     .before = {.snapshots = 2},
     .after = {.snapshots = 6}},
    {.name = "cumulative heap, twice the bytes",
     .type = HEAP,
     .samples = 1500,
     .before = {.snapshots = 2},
     .after = {.snapshots = 2, .speed = 0.5},
     .total = DIFF_GREW,
     .uniform = true,
     .regressed = true},
};

/* ---- comparing ---- */

typedef struct pair {
    arena a;
    frame_table frames;
    model m[2][RUNS];
    view v[2][RUNS];
    recording r[2][RUNS];
} pair;

static void look(pair *p, const scenario *s, int after, size_t i, size_t n, rng *r, double spread)
{
    err e = {0};
    per by;
    per_amount amount;
    const side *of = after ? &s->after : &s->before;
    record(of, s->type, s->two_types, spread, s->samples > 0 ? s->samples : 5000, r, &p->a,
           &p->m[after][i]);
    view *v = &p->v[after][i];
    view_init(v, &p->frames, &p->a);
    assert_ok(view_add(v, &p->m[after][i], &(select_opts){.all = true}, 1, &e), &e);
    assert_ok(per_parse(str_of(s->per ? s->per : "run"), &by, &e), &e);
    per_recording ask = {.v = v, .after = after, .at = i + (after ? n : 0), .n = 2 * n};
    assert_ok(per_of(&by, &ask, &amount, &e), &e);
    p->r[after][i] = (recording){v, amount.v, amount.samples};
}

static diff compare(pair *p, const scenario *s, size_t n, rng *r, double spread, const diff_opts *o)
{
    err e = {0};
    diff d;
    assert_ok(frame_table_init(&p->frames, BY_FUNCTION, &p->a, &e), &e);
    for (int after = 0; after < 2; after++)
        for (size_t i = 0; i < n; i++) look(p, s, after, i, n, r, spread);
    assert_ok(diff_of(p->r[0], n, p->r[1], n, o, &p->a, &d, &e), &e);
    return d;
}

static const diff_row *row_of(const diff *d, const char *name)
{
    for (size_t i = 0; i < d->n; i++)
        if (str_eq(frame_label(d->frames, d->v[i].frame), str_of(name))) return &d->v[i];
    return NULL;
}

static bool grew(const diff *d, const char *name)
{
    const diff_row *r = name ? row_of(d, name) : NULL;
    return r && !r->moved && (r->flat == DIFF_GREW || r->cum == DIFF_GREW);
}

/* ---- invariants of every comparison ---- */

static void adds_up(const diff *d)
{
    double self[2] = {0}, changes = 0;
    for (size_t i = 0; i < d->n; i++) {
        const diff_row *r = &d->v[i];
        double flat = diff_after(d, r->after.flat) - diff_before(d, r->before.flat);
        double cum = diff_after(d, r->after.cum) - diff_before(d, r->before.cum);
        assert_true(r->flat_change == flat && r->cum_change == cum);
        self[0] += diff_before(d, r->before.flat), self[1] += diff_after(d, r->after.flat);
        changes += r->flat_change;
    }
    double least = 1e-9 * (self[0] + self[1]);
    assert_true(fabs(self[0] - diff_before(d, d->sum_before)) <= least);
    assert_true(fabs(self[1] - diff_after(d, d->sum_after)) <= least);
    assert_true(fabs(changes - d->total.cum_change) <= least);
    assert_true(d->total.flat_change == d->total.cum_change);
}

/* ---- rates ---- */

typedef struct tally {
    int alarms, missed, uniform, quiet_broken, moved;
} tally;

static void count(tally *t, const scenario *s, const diff *d)
{
    const diff_row *quiet = s->quiet ? row_of(d, s->quiet) : NULL;
    bool found = d->total.cum == s->total || (s->total == DIFF_NOISE && s->grew);
    t->missed += s->regressed && (!diff_regressed(d) || !found || (s->grew && !grew(d, s->grew)));
    t->missed += s->total == DIFF_SHRANK && d->total.cum != DIFF_SHRANK;
    t->alarms += !s->regressed && diff_regressed(d);
    t->quiet_broken += grew(d, s->quiet);
    t->uniform += d->uniform;
    t->moved += quiet && quiet->moved;
}

static uint64_t first_seed(void)
{
    const char *s = getenv("KILN_SEED");
    return s ? strtoull(s, NULL, 10) : 1;
}

/* 5 % of 200 is 10; plus three standard deviations of the binomial, 19. */
enum { ALARMS_MOST = 19, QUIET_LEAST = SEEDS - ALARMS_MOST, FOUND_LEAST = SEEDS * 95 / 100 };

static void judge(const scenario *s, size_t n, const tally *t)
{
    if (t->alarms > ALARMS_MOST || SEEDS - t->missed < FOUND_LEAST ||
        t->quiet_broken > ALARMS_MOST || (s->uniform && t->uniform < QUIET_LEAST) ||
        (s->is_moved && t->moved < QUIET_LEAST))
        fail_msg("%s, %zu per side: %d alarms, %d missed, %d times %s grew, %d uniform, %d moved",
                 s->name, n, t->alarms, t->missed, t->quiet_broken, s->quiet ? s->quiet : "-",
                 t->uniform, t->moved);
    print_message("# %-36s %zu per side: found in %d of %d, false alarms in %d\n", s->name, n,
                  s->regressed ? SEEDS - t->missed : 0, SEEDS,
                  s->regressed ? t->quiet_broken : t->alarms);
}

/* `spread` is the simulated variation between runs. With one run per side it is the value that the
 * diff assumes; with several runs the diff has to measure it. */
static void run_scenarios(size_t n, double spread)
{
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        tally t = {0};
        for (uint64_t seed = first_seed(); seed < first_seed() + SEEDS; seed++) {
            rng r = {seed * 1000003 + i};
            pair *p = calloc(1, sizeof *p);
            diff d = compare(p, &scenarios[i], n, &r, spread, &(diff_opts){.spread = -1});
            count(&t, &scenarios[i], &d);
            adds_up(&d);
            arena_free(&p->a);
            free(p);
        }
        judge(&scenarios[i], n, &t);
    }
}

static void test_one_a_side(void **state)
{
    (void)state;
    run_scenarios(1, RECORDINGS_SPREAD);
}

static void test_several_a_side(void **state)
{
    (void)state;
    run_scenarios(RUNS, 0.03);
}

/* Compares two sides; `after` is slower by the fraction `slower` (0: equal). */
static diff slowed(pair *p, size_t n, double spread, double slower, uint64_t seed)
{
    rng r = {seed * 7919};
    scenario s = {.after = {.speed = 1 / (1 + slower)}};
    return compare(p, &s, n, &r, spread, &(diff_opts){.spread = n > 1 ? -1 : spread});
}

/* A uniform slowdown by the growth that diff_detectable returns (80 % probability) is detected
 * about that often. With several runs per side, that growth depends on the measured noise, so the
 * mean over pairs is used. */
static void check_detectable(size_t n, double spread)
{
    int found = 0;
    double growth = 0;
    for (int turn = 0; turn < 2; turn++)
        for (uint64_t seed = first_seed(); seed < first_seed() + SEEDS; seed++) {
            pair *p = calloc(1, sizeof *p);
            diff d = slowed(p, n, spread, turn ? growth / SEEDS : 0, seed);
            if (turn)
                found += d.total.cum == DIFF_GREW;
            else
                growth += diff_detectable(&d, 1);
            arena_free(&p->a);
            free(p);
        }
    print_message("# %zu per side: a growth of %.1f %% found in %d of %d\n", n,
                  100 * growth / SEEDS, found, SEEDS);
    assert_true(found >= SEEDS * 7 / 10);
}

static void test_detectable_growth(void **state)
{
    (void)state;
    check_detectable(1, 0.05);
    check_detectable(1, 0.01);
    check_detectable(RUNS, 0.03);
}

/* With one run per side and no spread, the diff considers only sampling noise, so differences
 * between runs raise false alarms. */
static void test_sampling_error_alone_raises_false_alarms(void **state)
{
    (void)state;
    int alarms = 0;
    for (uint64_t seed = first_seed(); seed < first_seed() + SEEDS; seed++) {
        rng r = {seed};
        pair *p = calloc(1, sizeof *p);
        diff d = compare(p, &scenarios[0], 1, &r, 0.05, &(diff_opts){.spread = 0});
        alarms += diff_regressed(&d);
        arena_free(&p->a);
        free(p);
    }
    assert_true(alarms > 2 * ALARMS_MOST);
}

static void test_itself_is_empty(void **state)
{
    (void)state;
    static const char *const pers[] = {"run", "second", "3,3", "calibration:^spin$"};
    for (size_t i = 0; i < 4; i++) {
        rng r = {first_seed() + i};
        scenario s = {.per = pers[i]};
        pair *p = calloc(1, sizeof *p);
        err e = {0};
        diff d;
        assert_ok(frame_table_init(&p->frames, BY_FUNCTION, &p->a, &e), &e);
        look(p, &s, 0, 0, 1, &r, 0);
        assert_ok(diff_of(p->r[0], 1, p->r[0], 1, &(diff_opts){.spread = -1}, &p->a, &d, &e), &e);
        assert_u64(d.n_changed, 0);
        assert_int_equal(d.total.cum, DIFF_NOISE);
        for (size_t k = 0; k < d.n; k++)
            assert_true(d.v[k].flat_change == 0 && d.v[k].cum_change == 0);
        arena_free(&p->a);
        free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_a_side),
        cmocka_unit_test(test_several_a_side),
        cmocka_unit_test(test_detectable_growth),
        cmocka_unit_test(test_sampling_error_alone_raises_false_alarms),
        cmocka_unit_test(test_itself_is_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
