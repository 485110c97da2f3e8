/* Tests the contract of store.h for every engine in a table, without knowledge of the engine. */
#include "query/summed.h"
#include "../../support/random_model.h"
#include "../../support/store_test.h"

#include "model/builder.h"
#include "wire/otlp.h"

enum { MODELS = 60 };

typedef struct engine_case {
    const char *name;
    store_opener *open;
} engine_case;

static const engine_case engines[] = {{"embedded", embedded_open}};
static const engine_case *engine; /* the engine under test */

static under_test *begin_with(const embedded_opts *o) { return begin(o, engine->open); }

/* ---- put ---- */

typedef struct verdicts {
    size_t n, stored, duplicates, refused;
} verdicts;

static void on_done(void *cookie, const store_put_result *r)
{
    verdicts *v = cookie;
    v->n++;
    v->stored += r->n_stored;
    v->duplicates += r->n_duplicates;
    v->refused += r->refused != NULL;
}

static verdicts put(under_test *t, const model *m)
{
    err e = {0};
    verdicts v = {0};
    store_item i = {.model = m,
                    .done = on_done,
                    .cookie = &v,
                    .sender = STR("test"),
                    .recognised = STR("otlp 1.10")};
    assert_ok(store_put(t->s, &i, &e), &e);
    assert_ok(store_commit(t->s, &e), &e);
    assert_int_equal(v.n, 1);
    return v;
}

static model read_all(under_test *t, const store_selector *q, arena *a)
{
    err e = {0};
    model m;
    static const store_selector all;
    store_read_result x;
    assert_ok(store_read(store_own_reader(t->s), q ? q : &all, NULL, a, &m, &x, &e), &e);
    assert_u64(x.n_damaged, 0);
    assert_true(m.checked);
    return m;
}

static void assert_same(digests *want, const model *got, const char *when)
{
    digests have = {0};
    digests_of(&have, got);
    size_t n = have.n;
    digests_settle(&have);
    if (n != have.n) fail_msg("%s: a profile was read twice", when);
    digests_settle(want);
    if (want->n != have.n) fail_msg("%s: %zu profiles were read of %zu", when, have.n, want->n);
    for (size_t i = 0; i < want->n; i++)
        if (want->v[i] != have.v[i]) fail_msg("%s: a profile was changed", when);
    digests_free(&have);
}

typedef struct pieces {
    buf bytes;
    size_t n;
} pieces;

static bool on_piece(void *ctx, const model *m, err *e)
{
    pieces *x = ctx;
    x->n++;
    return otlp_encode(m, &(otlp_encode_opts){.part = OTLP_PART_PROFILES}, &x->bytes, e);
}

/* Checks that the pieces and their dictionary form one message, and that a single piece with its
 * dictionary equals the bytes of the whole. */
static void check_pieces(under_test *t, digests *want, const model *whole)
{
    err e = {0};
    arena a = {0};
    model shared, m;
    pieces x = {0};
    buf once = {0};
    assert_ok(store_read_pieces(store_own_reader(t->s), &(store_selector){0}, NULL, &a, on_piece,
                                &x, &shared, NULL, &e),
              &e);
    assert_u64(shared.profiles.n, 0);
    assert_ok(otlp_encode(&shared, &(otlp_encode_opts){.part = OTLP_PART_DICTIONARY}, &x.bytes, &e),
              &e);
    assert_ok(otlp_encode(whole, NULL, &once, &e), &e);
    assert_true(x.n > 1 || str_eq(buf_view(&once), buf_view(&x.bytes)));
    assert_ok(otlp_decode(x.bytes.p, x.bytes.n, NULL, &a, &m, &e), &e);
    assert_same(want, &m, "in pieces");
    buf_free(&x.bytes);
    buf_free(&once);
    arena_free(&a);
}

static void check_same(under_test *t, digests *want, const char *when)
{
    arena a = {0};
    model m = read_all(t, NULL, &a);
    assert_same(want, &m, when);
    check_pieces(t, want, &m);
    arena_free(&a);
}

/* ---- tests ---- */

/* Reads return the profiles that were put: from the journal, compacted, and after a restart. */
static void returns_what_was_put(void **state)
{
    (void)state;
    rng r = {rnd_seed(20261115)};
    print_message("# seed %llu\n", (unsigned long long)r.s);
    under_test *t = begin_with(NULL);
    digests want = {0};
    arena a = {0};
    for (size_t i = 0; i < MODELS; i++) {
        model m = random_model(&r, &a, &(random_opts){.zero_first = i & 1, .max_samples = 60});
        verdicts v = put(t, &m);
        assert_int_equal(v.refused, 0);
        assert_int_equal(v.stored + v.duplicates, m.profiles.n);
        digests_of(&want, &m);
        if (i % 20 == 5) check_same(t, &want, "raw");
        if (i % 20 == 10) compact(t), check_same(t, &want, "compacted");
        if (i % 20 == 15) check_same(t, &want, "compacted and raw");
        if (i % 20 == 17) reopen(t), check_same(t, &want, "reopened");
        arena_reset(&a);
    }
    compact(t);
    check_same(t, &want, "at the end");
    reopen(t);
    check_same(t, &want, "reopened at the end");
    store_check c;
    err e = {0};
    assert_ok(store_verify(store_own_reader(t->s), NULL, NULL, &c, &e), &e);
    assert_u64(c.n_problems, 0);
    arena_free(&a);
    digests_free(&want);
    end(t);
}

/* Builds a profile of one service with n samples at start, start + step, ... */
static model simple(arena *a, const char *service, const char *type, uint64_t start, uint64_t step,
                    size_t n, uint8_t id)
{
    builder b;
    model m;
    err e = {0};
    assert_true(builder_init(&b, a));
    keyvalue kv = {.key = STR("service.name"),
                   .value = {.kind = ANY_STRING, .n = (uint32_t)strlen(service), .s = service}};
    builder_resource(&b, &(resource){.attrs = {&kv, 1}, .present = true});
    builder_scope(&b, NULL);
    uint32_t s = builder_string(&b, str_of(type)), unit = builder_string(&b, STR("nanoseconds"));
    profile *p = builder_profile(&b);
    p->sample_type = (value_type){s, unit};
    p->has_sample_type = true;
    p->time_unix_nano = start;
    p->duration_nano = n * step;
    memset(p->profile_id, id, 16);
    static const char *const names[] = {"main", "work", "wait", "parse"};
    for (size_t i = 0; i < n; i++) {
        function f = {.name = builder_string(&b, str_of(names[i % 4]))};
        line l = {.function = builder_function(&b, &f)};
        uint32_t loc = builder_location(&b, 0, 0, &l, 1, NULL, 0),
                 stack = builder_stack(&b, &loc, 1);
        uint32_t thread = builder_attribute_int(&b, STR("thread.id"), (int64_t)(i % 3));
        uint8_t trace[16] = {(uint8_t)(i + 1)}, span_id[8] = {(uint8_t)(i + 1)};
        uint32_t link = i % 5 == 0 ? builder_link(&b, trace, span_id) : 0;
        builder_sample(&b, &(sample){.stack = stack,
                                     .link = link,
                                     .attrs = &thread,
                                     .n_attrs = 1,
                                     .values = &(int64_t){10},
                                     .n_values = 1,
                                     .times = &(uint64_t){start + i * step},
                                     .n_times = 1});
    }
    assert_ok(builder_finish(&b, &m, &e), &e);
    return m;
}

/* A retry is a duplicate: immediately, in one group, after compaction, and after a restart. */
static void counts_retries_once(void **state)
{
    (void)state;
    under_test *t = begin_with(NULL);
    arena a = {0};
    err e = {0};
    model m = simple(&a, "shop", "cpu", NOON, NS_PER_S, 10, 1),
          other = simple(&a, "shop", "cpu", NOON, NS_PER_S, 10, 0);
    verdicts v = {0};
    for (int i = 0; i < 3; i++) {
        assert_ok(store_put(t->s, &(store_item){.model = &m, .done = on_done, .cookie = &v}, &e),
                  &e);
        assert_ok(
            store_put(t->s, &(store_item){.model = &other, .done = on_done, .cookie = &v}, &e), &e);
    }
    assert_ok(store_commit(t->s, &e), &e);
    assert_int_equal(v.n, 6);
    assert_int_equal(v.stored, 2);
    assert_int_equal(v.duplicates, 4);
    for (int i = 0; i < 3; i++) {
        if (i == 1) compact(t);
        if (i == 2) reopen(t);
        verdicts w = put(t, &m), u = put(t, &other);
        assert_int_equal(w.stored + u.stored, 0);
        assert_int_equal(w.duplicates + u.duplicates, 2);
        arena b = {0};
        model got = read_all(t, NULL, &b);
        assert_int_equal(got.profiles.n, 2);
        arena_free(&b);
    }
    assert_u64(store_counted(t->s).duplicates, 2);
    arena_free(&a);
    end(t);
}

static uint64_t n_samples(const model *m)
{
    uint64_t n = 0;
    for (size_t i = 0; i < m->profiles.n; i++) n += m->profiles.v[i].n_samples;
    return n;
}

/* Selectors give the same results before and after compaction. */
static void selects(void **state)
{
    (void)state;
    static const uint8_t trace[16] = {6}, none[16] = {0}, span_id[8] = {11},
                         id[16] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2};
    const store_selector whole = {0};
    struct {
        const char *what, *text;
        store_selector q;
        uint64_t want;
    } cases[] = {
        {"all", "", whole, 90},
        {"no selector", NULL, whole, 90},
        {"a type", "cpu", whole, 60},
        {"a type with unit", "alloc/nanoseconds", whole, 30},
        {"another unit", "cpu/bytes", whole, 0},
        {"a service", "{service.name=\"shop\"}", whole, 60},
        {"not a service", "{service.name!=\"shop\"}", whole, 30},
        {"a pattern", "{service.name=~\"sh.*|x\"}", whole, 60},
        {"a pattern matches whole values", "{service.name=~\"sho\"}", whole, 0},
        {"no pattern", "{service.name!~\"sh.p\"}", whole, 30},
        {"a label of samples", "{thread.id=\"1\"}", whole, 30},
        {"a label and a service", "cpu{thread.id!=\"1\", service.name=shop}", whole, 20},
        {"a missing label", "{nope=\"\"}", whole, 90},
        {"a missing label, required", "{nope=\"x\"}", whole, 0},
        {"a range", "", {.start = NOON + 10 * NS_PER_S, .end = NOON + 20 * NS_PER_S}, 30},
        {"an open range", "cpu", {.start = NOON + 25 * NS_PER_S}, 10},
        {"before all", "", {.end = NOON}, 0},
        {"a trace", "", {.trace_id = trace}, 3},
        {"a span", "", {.span_id = span_id}, 3},
        {"a trace id of zeros", "", {.trace_id = none}, 0},
        {"not this trace", "{trace_id!=\"06000000000000000000000000000000\"}", whole, 87},
        {"traces", "cpu{trace_id=~\"0[16]0*\"}", whole, 4},
        {"no trace", "{trace_id=\"\"}", whole, 72},
        {"not this span", "{span_id!=\"0B00000000000000\", service.name=\"shop\"}", whole, 58},
        {"a profile", "", {.profile_id = id}, 30},
    };
    under_test *t = begin_with(NULL);
    arena a = {0};
    model m[] = {simple(&a, "shop", "cpu", NOON, NS_PER_S, 30, 1),
                 simple(&a, "bank", "cpu", NOON, NS_PER_S, 30, 2),
                 simple(&a, "shop", "alloc", NOON, NS_PER_S, 30, 3)};
    for (size_t i = 0; i < ARRAY_LEN(m); i++) put(t, &m[i]);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
            arena b = {0};
            err e = {0};
            store_selector q;
            assert_ok(store_selector_parse(str_of(cases[i].text), &b, &q, &e), &e);
            q.start = cases[i].q.start, q.end = cases[i].q.end;
            q.trace_id = cases[i].q.trace_id, q.span_id = cases[i].q.span_id,
            q.profile_id = cases[i].q.profile_id;
            model got = read_all(t, &q, &b), sums;
            if (n_samples(&got) != cases[i].want)
                fail_msg("%s: %llu samples, expected %llu", cases[i].what,
                         (unsigned long long)n_samples(&got), (unsigned long long)cases[i].want);
            store_read_result x;
            assert_ok(store_read_sums(store_own_reader(t->s), &q, NULL, &b, &sums, &x, &e), &e);
            assert_u64(x.n_samples, cases[i].want);
            int64_t total = 0;
            for (size_t k = 0; k < sums.values.n; k++) total += sums.values.v[k];
            assert_int_equal(total, 10 * cases[i].want);
            arena_free(&b);
        }
        compact(t);
    }
    arena_free(&a);
    end(t);
}

/* Links are stored when every sample has its own, and when all samples have the same link, so that
 * the column is constant. */
static void keeps_links(void **state)
{
    (void)state;
    under_test *t = begin_with(NULL);
    arena a = {0};
    digests want = {0};
    for (uint8_t n = 1; n < 4; n++)
        for (uint8_t same = 0; same < 2; same++) {
            model m =
                simple(&a, same ? "shop" : "bank", "cpu", NOON, 1, n, (uint8_t)(8 * n + same));
            builder b;
            assert_true(builder_init(&b, &a));
            for (uint8_t i = 0; i < n; i++) {
                uint8_t id[16] = {n, (uint8_t)(1 + (same ? 0 : i))};
                ((uint32_t *)(uintptr_t)m.profiles.v[0].link)[i] = builder_link(&b, id, id);
            }
            m.dict.links = b.m.dict.links;
            put(t, &m);
            digests_of(&want, &m);
            compact(t);
            check_same(t, &want, "compacted");
        }
    digests_free(&want);
    arena_free(&a);
    end(t);
}

/* ---- sums and counts, compared with a plain read of the same selection ---- */

/* Returns a digest of the sum of every stack of each type, independent of the order. */
static uint64_t sum_digest(const model *m, const store_selector *q)
{
    uint64_t all = 0;
    typedef struct {
        uint64_t key;
        int64_t sum;
    } entry;
    entry *v = NULL;
    size_t n = 0, cap = 0;
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        uint64_t type = digest_str(digest_str(3, dict_str(&m->dict, p->sample_type.type)),
                                   dict_str(&m->dict, p->sample_type.unit));
        for (size_t j = 0; j < p->n_samples; j++) {
            sample s = sample_at(m, p, j);
            uint64_t key = hash_mix(type, digest_stack(&m->dict, s.stack));
            size_t at = 0;
            while (at < n && v[at].key != key) at++;
            if (at == n) {
                if (n == cap) v = realloc(v, (cap = cap ? cap * 2 : 64) * sizeof *v);
                v[n++] = (entry){key, 0};
            }
            v[at].sum = add_saturating(v[at].sum, sample_total(&s, NULL), NULL);
        }
    }
    for (size_t i = 0; i < n; i++)
        if (v[i].sum) all += hash_mix(v[i].key, (uint64_t)v[i].sum);
    free(v);
    (void)q;
    return all;
}

/* Returns the model with each stack cut to its leaf. */
static model leaves_of(const model *m, arena *a)
{
    model out = *m;
    size_t n = dict_n_stacks(&m->dict);
    out.dict.stacks.v = arena_new(a, uint32_t, n + 1);
    out.dict.frames.v = arena_new(a, uint32_t, n);
    out.dict.frames.n = 0;
    for (uint32_t i = 0; i < n; i++) {
        span s = dict_stack(&m->dict, i);
        if (s.n) out.dict.frames.v[out.dict.frames.n++] = m->dict.frames.v[s.at];
        out.dict.stacks.v[i + 1] = (uint32_t)out.dict.frames.n;
    }
    return out;
}

/* Compares sums of leaves by service with a plain read, whose stacks are cut to their leaf here. */
static void check_leaves(under_test *t, const store_selector *q, const model *read,
                         const char *when)
{
    arena a = {0};
    err e = {0};
    model sums, cut = leaves_of(read, &a);
    store_read_opts o = {
        .by_series = true, .by_reading = true, .by_label = STR("service.name"), .leaves = true};
    assert_ok(store_read_sums(store_own_reader(t->s), q, &o, &a, &sums, NULL, &e), &e);
    for (uint32_t i = 0; i < dict_n_stacks(&sums.dict); i++)
        assert_true(dict_stack(&sums.dict, i).n <= 1);
    for (size_t i = 0; i < sums.resources.n; i++) {
        const keyvalues *l = &sums.resources.v[i].attrs;
        assert_true(!l->n || (l->n == 1 && str_eq(l->v[0].key, o.by_label)));
    }
    if (sum_digest(&cut, q) != sum_digest(&sums, q))
        fail_msg("%s: sums of leaves differ from a plain read", when);
    arena_free(&a);
}

/* Makes values small and moves times near noon, so that ranges divide samples and no sum
 * overflows. */
static void tame(rng *r, model *m)
{
    for (size_t i = 0; i < m->values.n; i++) m->values.v[i] = (int64_t)below(r, 1000) - 100;
    for (size_t i = 0; i < m->times.n; i++) m->times.v[i] = NOON + below(r, 3600) * NS_PER_S;
    for (size_t i = 0; i < m->profiles.n; i++)
        if (!one_in(r, 3)) m->profiles.v[i].time_unix_nano = NOON + below(r, 3600) * NS_PER_S;
}

static void check_queries(under_test *t, rng *r, const char *when)
{
    for (int i = 0; i < 12; i++) {
        arena a = {0};
        err e = {0};
        store_selector q = {0};
        if (i) q.start = NOON + below(r, 3600) * NS_PER_S;
        if (i > 1) q.end = q.start + (1 + below(r, 1800)) * NS_PER_S;
        model read = read_all(t, &q, &a), sums;
        store_read_result x;
        assert_ok(store_read_sums(store_own_reader(t->s), &q, NULL, &a, &sums, &x, &e), &e);
        if (sum_digest(&read, &q) != sum_digest(&sums, &q))
            fail_msg("%s: sums differ from a plain read (query %d)", when, i);
        assert_u64(x.n_samples, n_samples(&read));
        store_read_opts apart = {.by_series = true, .by_attributes = i & 1};
        uint64_t n_told = 0;
        assert_ok(store_read_sums(store_own_reader(t->s), &q, &apart, &a, &sums, &x, &e), &e);
        if (sum_digest(&read, &q) != sum_digest(&sums, &q))
            fail_msg("%s: sums by series differ from a plain read (query %d)", when, i);
        for (size_t k = 0; k < sums.profiles.n; k++)
            n_told += profile_summed(&sums, &sums.profiles.v[k]).n_samples;
        assert_u64(n_told, n_samples(&read));
        check_leaves(t, &q, &read, when);
        if (!q.end) {
            arena_free(&a);
            continue;
        }
        store_buckets buckets;
        assert_ok(store_counts(store_own_reader(t->s), &q, NULL,
                               &(store_counts_opts){.step = 7 * NS_PER_S}, &a, &buckets, &x, &e),
                  &e);
        int64_t counted = 0, total = 0;
        for (size_t k = 0; k < buckets.n; k++) counted += buckets.rows.v[0].sum[k];
        for (size_t k = 0; k < read.profiles.n; k++)
            for (size_t j = 0; j < read.profiles.v[k].n_samples; j++) {
                sample s = sample_at(&read, &read.profiles.v[k], j);
                total += sample_total(&s, NULL);
            }
        assert_int_equal(counted, total);
        arena_free(&a);
    }
}

static void sums_what_is_read(void **state)
{
    (void)state;
    rng r = {rnd_seed(20261116)};
    print_message("# seed %llu\n", (unsigned long long)r.s);
    under_test *t = begin_with(NULL);
    arena a = {0};
    for (size_t i = 0; i < 30; i++) {
        model m = random_model(&r, &a, &(random_opts){.zero_first = true, .max_samples = 40});
        tame(&r, &m);
        put(t, &m);
        arena_reset(&a);
        if (i == 9) check_queries(t, &r, "raw"), compact(t), check_queries(t, &r, "compacted");
        if (i == 19) check_queries(t, &r, "both"), compact(t);
    }
    check_queries(t, &r, "both");
    reopen(t);
    check_queries(t, &r, "reopened");
    arena_free(&a);
    end(t);
}

/* Checks counts by service, in buckets of twenty seconds and in one bucket. */
static void check_levels_over_time(under_test *t, unsigned round)
{
    static const struct {
        uint64_t step;
        const char *service; /* NULL: one row for all services */
        size_t n;
        int64_t sum[3];
        uint64_t count[3];
    } cases[] = {{20, NULL, 3, {410, 30, 0}, {41, 3, 0}},
                 {60, NULL, 1, {30}, {3}},
                 {20, "shop", 3, {10, 30, 0}, {1, 3, 0}},
                 {20, "bank", 3, {400, 0, 0}, {40, 0, 0}}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        err e = {0};
        store_buckets b;
        store_selector q = {.start = NOON, .end = NOON + 60 * NS_PER_S};
        str by = cases[i].service ? STR("service.name") : (str){0};
        assert_ok(store_counts(store_own_reader(t->s), &q, NULL,
                               &(store_counts_opts){.step = cases[i].step * NS_PER_S, .by = by}, &a,
                               &b, NULL, &e),
                  &e);
        assert_int_equal(b.n, cases[i].n);
        const store_row *r = b.rows.v;
        while (cases[i].service && !str_eq(r->label, str_of(cases[i].service))) r++;
        for (size_t k = 0; k < b.n; k++)
            if (r->sum[k] != cases[i].sum[k] || r->count[k] != cases[i].count[k])
                fail_msg("round %u, case %zu, step %zu: %lld of %llu", round, i, k,
                         (long long)r->sum[k], (unsigned long long)r->count[k]);
        arena_free(&a);
    }
}

/* Of a level, only the newest profile of each series in the range counts, in any order of
 * arrival. */
static void takes_the_newest_level(void **state)
{
    (void)state;
    under_test *t = begin_with(NULL);
    static const struct {
        const char *service;
        uint64_t at;
        size_t n; /* number of samples, each with the value 10 */
    } looks[] = {
        {"shop", 20, 2}, {"shop", 30, 3}, {"bank", 10, 40}, {"shop", 10, 1}, {"bank", 50, 0}};
    static const struct {
        uint64_t start, end;
        int64_t sum;
    } questions[] = {{0, 0, 30}, {0, 25, 420}, {15, 25, 20}, {0, 15, 410}, {5, 40, 430}};
    for (unsigned round = 0; round < 3; round++) {
        for (size_t i = 0; round < 2 && i < ARRAY_LEN(looks); i++) {
            arena a = {0};
            model m = simple(&a, looks[i].service, "inuse_space", NOON + looks[i].at * NS_PER_S, 1,
                             looks[i].n, (uint8_t)(1 + i));
            put(t, &m);
            arena_free(&a);
        }
        for (size_t i = 0; i < 2 * ARRAY_LEN(questions); i++) {
            arena a = {0};
            err e = {0};
            model m;
            store_read_result x;
            store_selector q = {0};
            if (questions[i / 2].start) q.start = NOON + questions[i / 2].start * NS_PER_S;
            if (questions[i / 2].end) q.end = NOON + questions[i / 2].end * NS_PER_S;
            store_read_opts o = {.by_series = i & 1, .by_attributes = i & 2};
            assert_ok(store_read_sums(store_own_reader(t->s), &q, &o, &a, &m, &x, &e), &e);
            int64_t sum = 0;
            for (size_t k = 0; k < m.values.n; k++) sum += m.values.v[k];
            if (sum != questions[i / 2].sum)
                fail_msg("round %u, query %zu: %lld", round, i, (long long)sum);
            arena_free(&a);
        }
        check_levels_over_time(t, round);
        if (round) compact(t);
    }
    end(t);
}

/* store_main_type chooses the expected type when the selector has none. */
static void knows_the_main_type(void **state)
{
    (void)state;
    under_test *t = begin_with(NULL);
    static const struct {
        const char *service, *type;
        size_t n;
    } put_in[] = {{"shop", "samples", 9}, {"shop", "cpu", 9},    {"bank", "alloc", 5},
                  {"bank", "cpu", 0},     {"bank", "alloc", 50}, {"club", "samples", 4},
                  {"clubs", "alloc", 3},  {"clubs2", "alloc", 3}};
    static const struct {
        const char *selector, *want;
    } cases[] = {{"", "cpu/nanoseconds"},
                 {"{service.name=\"bank\"}", "alloc/nanoseconds"},
                 {"{service.name=~\"club.*\"}", "alloc/nanoseconds"}, /* two series are added */
                 {"samples", "samples/nanoseconds"},
                 {"alloc/x", "alloc/x"},
                 {"{service.name=\"none\"}", ""}};
    arena a = {0};
    err e = {0};
    for (size_t i = 0; i < ARRAY_LEN(put_in); i++) {
        model m =
            simple(&a, put_in[i].service, put_in[i].type, NOON, 1, put_in[i].n, (uint8_t)(1 + i));
        put(t, &m);
        if (i == 1) compact(t);
    }
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        store_selector q;
        assert_ok(store_selector_parse(str_of(cases[i].selector), &a, &q, &e), &e);
        assert_ok(store_main_type(store_own_reader(t->s), &q, NULL, &a, NULL, &e), &e);
        if (!str_eq(q.type, str_of(cases[i].want)))
            fail_msg("`%s` means %.*s", cases[i].selector, STR_ARG(q.type));
    }
    arena_free(&a);
    end(t);
}

/* ---- labels ---- */

static uint64_t n_series_with(under_test *t, str key, const char *text)
{
    arena a = {0};
    err e = {0};
    store_label_list l;
    store_read_result x;
    uint64_t n = 0;
    assert_ok(
        store_list_labels(store_own_reader(t->s), &(store_selector){0}, NULL, key, &a, &l, &x, &e),
        &e);
    for (size_t i = 0; i < l.n; i++)
        if (str_eq(l.v[i].text, str_of(text))) n += l.v[i].n_series;
    arena_free(&a);
    return n;
}

/* A label counts each series once, even if the series is in several files and items. */
static void counts_series_of_labels_once(void **state)
{
    (void)state;
    under_test *t = begin_with(NULL);
    arena a = {0};
    for (uint8_t day = 0; day < 3; day++) {
        for (uint8_t i = 0; i < 4; i++) {
            model m = simple(&a, i % 2 ? "shop" : "bank", i / 2 ? "cpu" : "alloc", NOON, NS_PER_S,
                             9, (uint8_t)(1 + 4 * day + i));
            put(t, &m);
        }
        if (day < 2) compact(t);
        t->world.wall += UINT64_C(86400) * NS_PER_S;
    }
    assert_u64(n_series_with(t, (str){0}, "service.name"), 4);
    assert_u64(n_series_with(t, (str){0}, "thread.id"), 4);
    assert_u64(n_series_with(t, STR("service.name"), "shop"), 2);
    assert_u64(n_series_with(t, STR("thread.id"), "2"), 4);
    arena_free(&a);
    end(t);
}

/* A label of an outer level hides the labels of inner levels, as in selectors: hidden values are
 * not listed. */
static void lists_labels_that_are_found(void **state)
{
    (void)state;
    under_test *t = begin_with(NULL);
    arena a = {0};
    for (uint8_t i = 0; i < 2; i++) {
        model m = simple(&a, "shop", i ? "cpu" : "alloc", NOON, NS_PER_S, 9, (uint8_t)(1 + i));
        if (i) m.resources.v[0].attrs.v[0].key = STR("thread.id");
        put(t, &m);
    }
    for (int round = 0; round < 2; round++) {
        assert_u64(n_series_with(t, STR("thread.id"), "1"), 1);
        assert_u64(n_series_with(t, STR("thread.id"), "shop"), 1);
        compact(t);
    }
    arena_free(&a);
    end(t);
}

/* ---- names that are added later ---- */

/* Builds one sample at an address of a binary that is mapped at `base`, with or without a name. */
static model at_address(arena *a, uint64_t base, const char *name)
{
    builder b;
    model m;
    err e = {0};
    assert_true(builder_init(&b, a));
    uint32_t build =
        builder_attribute_str(&b, STR("process.executable.build_id.gnu"), STR("abcd1234"));
    uint32_t of = builder_mapping(
        &b, &(mapping){.memory_start = base, .memory_limit = base + 0x1000, .file_offset = 0x200},
        &build, 1);
    function f = {.name = builder_string(&b, str_of(name))};
    line l = {.line = 7, .function = name ? builder_function(&b, &f) : 0};
    uint32_t at = builder_location(&b, of, base + 0x40, &l, name ? 1 : 0, NULL, 0),
             stack = builder_stack(&b, &at, 1);
    profile *p = builder_profile(&b);
    p->time_unix_nano = NOON;
    builder_sample(&b, &(sample){.stack = stack, .values = &(int64_t){1}, .n_values = 1});
    assert_ok(builder_finish(&b, &m, &e), &e);
    return m;
}

static void names_old_samples(void **state)
{
    (void)state;
    under_test *t = begin_with(NULL);
    arena a = {0};
    err e = {0};
    model bare = at_address(&a, 0x7000, NULL), named = at_address(&a, 0x9000, "work"), got;
    put(t, &bare);
    compact(t);
    uint64_t n;
    assert_ok(store_put_names(store_own_reader(t->s), &named, &n, &e), &e);
    assert_u64(n, 1);
    for (int i = 0; i < 4; i++) {
        bool sums = i & 1, wanted = i & 2;
        store_read_opts o = {.names = wanted};
        assert_ok((sums ? store_read_sums : store_read)(
                      store_own_reader(t->s), &(store_selector){0}, &o, &a, &got, NULL, &e),
                  &e);
        const location *l = &got.dict.locations.v[got.dict.frames.v[0]];
        assert_int_equal(l->lines.n, wanted ? 1 : 0);
        if (!wanted) continue;
        const function *f = &got.dict.functions.v[got.dict.lines.v[l->lines.at].function];
        assert_true(str_eq(got.dict.strings.v[f->name], STR("work")));
    }
    arena_free(&a);
    end(t);
}

/* ---- all engines ---- */

static int use_engine(void **state)
{
    engine = *state;
    return 0;
}

int main(void)
{
    int failed = 0;
    for (size_t i = 0; i < ARRAY_LEN(engines); i++) {
        void *ctx = (void *)(uintptr_t)&engines[i];
        const struct CMUnitTest tests[] = {
            cmocka_unit_test_prestate_setup_teardown(returns_what_was_put, use_engine, NULL, ctx),
            cmocka_unit_test_prestate_setup_teardown(counts_retries_once, use_engine, NULL, ctx),
            cmocka_unit_test_prestate_setup_teardown(selects, use_engine, NULL, ctx),
            cmocka_unit_test_prestate_setup_teardown(keeps_links, use_engine, NULL, ctx),
            cmocka_unit_test_prestate_setup_teardown(sums_what_is_read, use_engine, NULL, ctx),
            cmocka_unit_test_prestate_setup_teardown(takes_the_newest_level, use_engine, NULL, ctx),
            cmocka_unit_test_prestate_setup_teardown(knows_the_main_type, use_engine, NULL, ctx),
            cmocka_unit_test_prestate_setup_teardown(counts_series_of_labels_once, use_engine, NULL,
                                                     ctx),
            cmocka_unit_test_prestate_setup_teardown(lists_labels_that_are_found, use_engine, NULL,
                                                     ctx),
            cmocka_unit_test_prestate_setup_teardown(names_old_samples, use_engine, NULL, ctx),
        };
        failed += cmocka_run_group_tests_name(engines[i].name, tests, NULL, NULL);
    }
    return failed;
}
