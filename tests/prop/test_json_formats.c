/* Random Chrome traces and speedscope files: they agree with a naive reading of the same intervals,
 * and text -> model -> text -> model gives the same model, or the ledger lists the losses. Random
 * models that are written and read back lose no value, and differ only by what the ledger lists. */
#include "../support/format_text.h"
#include "../support/mild.h"
#include "../support/ledger_judge.h"

#include "format/chrome.h"
#include "format/speedscope.h"
#include "wire/carried.h"

enum { ROUNDS = 400, MODELS = 1200, TICKS = 40, MAX_EVENTS = 14, THREADS = 2, NAMES = 4 };

/* ---- intervals ---- */

typedef struct span_of {
    int from, to, name, thread;
} span_of;

/* Makes nested intervals: each is in a gap of the one around it. */
static size_t random_forest(rng *r, span_of *v)
{
    size_t n = 0;
    for (int thread = 0; thread < THREADS; thread++) {
        struct {
            int from, to;
        } todo[64] = {{0, TICKS}};
        size_t n_todo = 1;
        while (n_todo && n + 1 < MAX_EVENTS * (size_t)(thread + 1)) {
            int from = todo[n_todo - 1].from, to = todo[n_todo - 1].to;
            n_todo--;
            if (from > to || one_in(r, 5)) continue;
            int a = from + (int)below(r, (size_t)(to - from) + 1),
                b = a + (int)below(r, (size_t)(to - a) + 1);
            v[n++] = (span_of){a, b, (int)below(r, NAMES), thread};
            if (n_todo + 2 < ARRAY_LEN(todo)) {
                if (b > a || one_in(r, 3)) todo[n_todo].from = a, todo[n_todo++].to = b;
                todo[n_todo].from = b, todo[n_todo++].to = to;
            }
        }
    }
    return n;
}

/* Orders the outer interval first; of equal ones the one made first, as random_forest() makes
 * parents before children. */
static int by_nesting(const void *left, const void *right)
{
    const span_of *a = left, *b = right;
    if (a->thread != b->thread) return a->thread - b->thread;
    if (a->from != b->from) return a->from - b->from;
    return b->to - a->to;
}

/* Appends the open intervals of a thread during [t, t + 1), outermost first. */
static void naive(const span_of *v, size_t n, int thread, int t, buf *out)
{
    for (size_t i = 0; i < n; i++)
        if (v[i].thread == thread && v[i].from <= t && v[i].to > t)
            buf_printf(out, "%sf%d", out->n ? ";" : "", v[i].name);
}

static void from_model(const model *m, int thread, uint64_t t, buf *out)
{
    const dict *d = &m->dict;
    for (size_t p = 0; p < m->profiles.n; p++)
        for (size_t i = 0; i < m->profiles.v[p].n_samples; i++) {
            sample s = sample_at(m, &m->profiles.v[p], i);
            if (d->attributes.v[s.attrs[0]].value.i != thread) continue;
            for (uint32_t k = 0; k < s.n_values; k++) {
                if (s.times[k] > t * 1000 || s.times[k] + (uint64_t)s.values[k] <= t * 1000)
                    continue;
                span st = dict_stack(d, s.stack);
                for (uint32_t f = st.n; f-- > 0;)
                    text_location(out, d, &d->locations.v[d->frames.v[st.at + f]]),
                        buf_z(out, f ? ";" : "");
            }
        }
}

static void agree(const span_of *v, size_t n, const model *m)
{
    for (int thread = 0; thread < THREADS; thread++)
        for (int t = 0; t < TICKS; t++) {
            buf want = {0}, got = {0};
            naive(v, n, thread, t, &want);
            from_model(m, thread, (uint64_t)t, &got);
            buf_putc(&want, '\0'), buf_putc(&got, '\0');
            if (strcmp(want.p, got.p) != 0)
                fail_msg("thread %d at %d: got %s, wanted %s", thread, t, got.p, want.p);
            buf_free(&want), buf_free(&got);
        }
}

/* ---- chrome ---- */

static void put_complete(const span_of *v, size_t n, buf *out)
{
    buf_z(out, "[");
    for (size_t i = 0; i < n; i++)
        buf_printf(out,
                   "%s{\"ph\":\"X\",\"name\":\"f%d\",\"ts\":%d,\"dur\":%d,\"tid\":%d,\"pid\":1}",
                   i ? "," : "", v[i].name, v[i].from, v[i].to - v[i].from, v[i].thread);
    buf_z(out, "]");
}

static void put_pairs(const span_of *v, size_t n, size_t i, int thread, buf *out, size_t *next)
{
    /* v is sorted: children follow their parent at once. */
    static const char *const form =
        "%s{\"name\":\"f%d\",\"ph\":\"%c\",\"tid\":%d,\"pid\":1, \"ts\": %d}\n";
    buf_printf(out, form, out->n > 1 ? "," : "", v[i].name, 'B', thread, v[i].from);
    size_t k = i + 1;
    while (k < n && v[k].thread == thread && v[k].from >= v[i].from && v[k].to <= v[i].to &&
           (v[k].from < v[i].to || v[i].from == v[i].to))
        put_pairs(v, n, k, thread, out, &k);
    buf_printf(out, form, ",", v[i].name, 'E', thread, v[i].to);
    *next = k;
}

static bool lost(const ledger *l, loss_concept c)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].concept == c && !l->v[i].carried_as) return true;
    return false;
}

/* Simultaneous events without length: the model lacks their order, and some are lost with it. */
static void only_order_is_lost(const ledger *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (!l->v[i].carried_as && l->v[i].concept != LOSS_EVENT_ORDER &&
            !(l->v[i].concept == LOSS_OBSERVATIONS && lost(l, LOSS_EVENT_ORDER)))
            fail_msg("%s at %s is lost", loss_name(l->v[i].concept), l->v[i].path);
}

/* `in` is the input that m was read from, or NULL. */
static void assert_equal_by_ledger(const model *m, const model *back, const ledger *l,
                                   const str *in)
{
    if (equal_by_ledger(m, back, l)) return;
    if (in) print_message("# %.*s\n", (int)(in->n < 3000 ? in->n : 3000), in->p);
    fail_msg("differs by more than the ledger lists");
}

static void check_chrome_text(str in, const span_of *v, size_t n)
{
    arena a = {0};
    model m;
    err e = {0};
    ledger read = {0}, l = {0};
    assert_ok(chrome_read(&format_chrome, in, &(read_opts){.ledger = &read}, &a, &m, NULL, &e), &e);
    only_order_is_lost(&read);
    agree(v, n, &m);
    buf text = {0}, out = {0};
    text_model(&text, &m);
    assert_ok(chrome_write(&format_chrome, &m, &(write_opts){.ledger = &l}, &out, &e), &e);
    model back;
    assert_ok(chrome_read(&format_chrome, buf_view(&out), &(read_opts){.ledger = &l}, &a, &back,
                          NULL, &e),
              &e);
    only_order_is_lost(&l);
    agree(v, n, &back);
    assert_equal_by_ledger(&m, &back, &l, &in);
    buf text2 = {0};
    text_model(&text2, &back);
    if (!ledger_lost(&l)) assert_string_equal(text.p, text2.p);
    buf_free(&text), buf_free(&text2), buf_free(&out);
    arena_free(&a);
}

static void shuffle(rng *r, span_of *v, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = below(r, i);
        span_of x = v[i - 1];
        v[i - 1] = v[k];
        v[k] = x;
    }
}

static void test_chrome(void **state)
{
    (void)state;
    rng r = {rnd_seed(20240607)};
    print_message("# KILN_SEED=%llu\n", (unsigned long long)r.s);
    for (int round = 0; round < ROUNDS; round++) {
        span_of v[MAX_EVENTS * THREADS + 2], sorted[MAX_EVENTS * THREADS + 2];
        size_t n = random_forest(&r, v);
        memcpy(sorted, v, sizeof v);
        qsort(sorted, n, sizeof *sorted, by_nesting);
        bool twins = false; /* the order in the file then decides which one is outer */
        for (size_t i = 1; i < n; i++)
            twins |=
                !by_nesting(&sorted[i - 1], &sorted[i]) && sorted[i].name != sorted[i - 1].name;
        if (twins) continue;
        buf in = {0};
        shuffle(&r, v, n);
        put_complete(v, n, &in);
        check_chrome_text(buf_view(&in), sorted, n);
        buf_reset(&in);
        buf_z(&in, "[");
        for (size_t i = 0; i < n;) put_pairs(sorted, n, i, sorted[i].thread, &in, &i);
        if (one_in(&r, 2)) buf_z(&in, "]");
        check_chrome_text(buf_view(&in), sorted, n);
        buf_free(&in);
    }
}

/* ---- speedscope ---- */

static void random_sampled(rng *r, buf *out)
{
    static const char *const units[] = {"seconds",     "milliseconds", "microseconds",
                                        "nanoseconds", "bytes",        "none"};
    size_t n = below(r, 12), unit = below(r, ARRAY_LEN(units));
    buf_printf(out, "{\"type\":\"sampled\",\"name\":\"p%u\",\"unit\":\"%s\",\"samples\":[",
               below(r, 1000), units[unit]);
    for (size_t i = 0; i < n; i++) {
        buf_z(out, i ? ",[" : "[");
        for (size_t k = 0, depth = below(r, 4); k < depth; k++)
            buf_printf(out, "%s%u", k ? "," : "", below(r, NAMES));
        buf_z(out, "]");
    }
    buf_z(out, "],\"weights\":[");
    for (size_t i = 0; i < n; i++)
        buf_printf(out, unit == 4 || unit == 3 ? "%s%u" : "%s%u.%02u", i ? "," : "", below(r, 50),
                   below(r, 100));
    buf_z(out, "],\"startValue\":0,\"endValue\":1000000}");
}

/* Without a unit pauses cannot be written, so a frame is open all the time. */
static void random_evented(rng *r, buf *out)
{
    uint32_t open[8], depth = 0, at = 0;
    bool none = one_in(r, 2);
    buf_printf(out, "{\"type\":\"evented\",\"name\":\"e%u\",\"unit\":\"%s\",\"events\":[",
               below(r, 1000), none ? "none" : "milliseconds");
    bool first = true;
    for (size_t i = below(r, 30); i > 0 || depth; i -= i > 0) {
        bool opens = i && depth < ARRAY_LEN(open) && (depth <= none || one_in(r, 2));
        if (!none || depth) at += 1 + below(r, 3);
        if (opens) open[depth++] = below(r, NAMES);
        uint32_t f = open[depth - 1];
        if (!opens) depth--;
        buf_printf(out, "%s{\"type\":\"%c\",\"at\":%u,\"frame\":%u}", first ? "" : ",",
                   opens ? 'O' : 'C', at, f);
        first = false;
    }
    buf_printf(out, "],\"startValue\":0,\"endValue\":%u}", at);
}

static void test_speedscope(void **state)
{
    (void)state;
    rng r = {rnd_seed(20240608)};
    print_message("# KILN_SEED=%llu\n", (unsigned long long)r.s);
    for (int round = 0; round < ROUNDS; round++) {
        buf in = {0}, out = {0}, out2 = {0}, text = {0}, text2 = {0};
        buf_z(&in, "{\"exporter\":\"x@1\",\"profiles\":[");
        for (size_t i = 0, n = 1 + below(&r, 3); i < n; i++) {
            buf_z(&in, i ? "," : "");
            if (one_in(&r, 2))
                random_sampled(&r, &in);
            else
                random_evented(&r, &in);
        }
        buf_z(&in, "],\"shared\":{\"frames\":[{\"name\":\"f0\"},{\"name\":\"f1\",\"file\":\"a\"},{"
                   "\"name\":"
                   "\"f1\",\"file\":\"b\",\"line\":3,\"col\":4},{\"name\":\"\"}]}}");
        arena a = {0};
        model m, back;
        err e = {0};
        ledger l = {0};
        assert_ok(speedscope_read(&format_speedscope, buf_view(&in), &(read_opts){.ledger = &l}, &a,
                                  &m, NULL, &e),
                  &e);
        assert_ok(speedscope_write(&format_speedscope, &m, &(write_opts){.ledger = &l}, &out, &e),
                  &e);
        assert_ok(speedscope_read(&format_speedscope, buf_view(&out), &(read_opts){.ledger = &l},
                                  &a, &back, NULL, &e),
                  &e);
        if (ledger_lost(&l)) {
            text_losses(&text, &l);
            fail_msg("lost: %s", text.p);
        }
        text_model(&text, &m), text_model(&text2, &back);
        assert_string_equal(text.p, text2.p);
        assert_ok(speedscope_write(&format_speedscope, &back, &(write_opts){0}, &out2, &e), &e);
        assert_true(str_eq(buf_view(&out), buf_view(&out2)));
        buf_free(&in), buf_free(&out), buf_free(&out2), buf_free(&text), buf_free(&text2);
        arena_free(&a);
    }
}

/* ---- any model ---- */

static uint64_t seed_now;

#define fail_here(...)                                                                             \
    do {                                                                                           \
        print_message("# KILN_SEED=%llu\n", (unsigned long long)seed_now);                         \
        fail_msg(__VA_ARGS__);                                                                     \
    } while (0)

static int64_t total(const model *m, size_t *n)
{
    int64_t sum = 0;
    *n = 0;
    for (size_t p = 0; p < m->profiles.n; p++)
        for (size_t i = 0; i < m->profiles.v[p].n_samples; i++) {
            sample s = sample_at(m, &m->profiles.v[p], i);
            *n += sample_observations(&s);
            sum = (int64_t)((uint64_t)sum + (uint64_t)sample_total(&s, NULL));
        }
    return sum;
}

/* Any model that is written and read differs only by what the ledger lists. */
static void check_model(const format *to, const model *m)
{
    arena a = {0};
    buf out = {0};
    err e = {0};
    ledger l = {0};
    model back;
    layout_verdict v;
    if (!to->write(to, m, &(write_opts){.ledger = &l}, &out, &e) ||
        !to->read(to, buf_view(&out), &(read_opts){.ledger = &l}, &a, &back, &v, &e))
        fail_here("%s: %s", to->name, e.msg);
    if (!equal_by_ledger(m, &back, &l))
        fail_here("%s: differs by more than the ledger lists", to->name);
    size_t n, n_back;
    int64_t sum = total(m, &n), sum_back = total(&back, &n_back);
    bool all = !lost(&l, LOSS_OBSERVATIONS) && !lost(&l, LOSS_TIMESTAMP);
    if ((all && n != n_back) || (sum != sum_back && !lost(&l, LOSS_VALUE_SCALE)))
        fail_here("%s: %zu observations, %lld became %zu, %lld", to->name, n, (long long)sum,
                  n_back, (long long)sum_back);
    buf_free(&out);
    arena_free(&a);
}

static uint32_t add_attribute(arena *a, dict *d, const char *key, any value)
{
    *vec_push(a, &d->strings) = str_of(key);
    *vec_push(a, &d->attributes) = (attribute){.key = (uint32_t)(d->strings.n - 1), .value = value};
    return (uint32_t)(d->attributes.n - 1);
}

/* Sets durations and starts that are plausible for intervals, on few threads. */
static void make_intervals(rng *r, arena *a, model *m)
{
    dict *d = &m->dict;
    bool apart = one_in(r, 2);
    uint32_t yes = add_attribute(a, d, KILN_ATTR_EVENT_INTERVAL, (any){.kind = ANY_BOOL, .i = 1}),
             epoch = add_attribute(a, d, KILN_ATTR_TIME_EPOCH,
                                   (any){.kind = ANY_STRING, .n = 7, .s = "unknown"});
    for (size_t i = 0; i < m->times.n; i++) m->times.v[i] = apart ? i * 8 : below(r, 60);
    for (size_t i = 0; i < m->values.n; i++) m->values.v[i] = below(r, one_in(r, 4) ? 20 : 9);
    for (size_t i = 0; i < d->attributes.n; i++)
        if (d->attributes.v[i].value.kind == ANY_INT) d->attributes.v[i].value.i &= 1;
    for (size_t i = 0; i < m->profiles.n; i++) {
        profile *p = &m->profiles.v[i];
        p->attrs = (span){(uint32_t)d->attr_refs.n, 2};
        *vec_push(a, &d->attr_refs) = yes;
        *vec_push(a, &d->attr_refs) = epoch;
        if (one_in(r, 4)) continue;
        static const char *const types[] = {"wall", "async", "nanoseconds"};
        for (size_t k = 0; k < 3; k++) *vec_push(a, &d->strings) = str_of(types[k]);
        p->sample_type =
            (value_type){(uint32_t)(d->strings.n - 3 + one_in(r, 3)), (uint32_t)(d->strings.n - 1)};
    }
}

static void test_any_model(void **state)
{
    (void)state;
    static const format *const to[] = {&format_chrome, &format_speedscope};
    static const char *const words[] = {ATTR_THREAD_ID,
                                        ATTR_THREAD_NAME,
                                        KILN_ATTR_EVENT_INTERVAL,
                                        KILN_ATTR_EVENT_CATEGORY,
                                        KILN_ATTR_EVENT_ARGS,
                                        KILN_ATTR_EVENT_ID,
                                        KILN_ATTR_TIME_EPOCH,
                                        KILN_ATTR_PROFILE_NAME,
                                        KILN_ATTR_UNIT,
                                        KILN_ATTR_VALUE_SCALE,
                                        NULL};
    uint64_t seed = rnd_seed(20240609);
    for (uint64_t i = 0; i < MODELS; i++) {
        seed_now = seed + i;
        arena a = {0};
        rng r = {seed_now};
        random_opts o = {.zero_first = true, .max_samples = 20};
        model m = seed_now % 4 ? mild_model(&r, &a, &o, words) : random_model(&r, &a, &o);
        for (size_t k = 0; k < m.values.n; k++) m.values.v[k] &= INT32_MAX;
        if (one_in(&r, 3)) make_intervals(&r, &a, &m);
        for (size_t k = 0; k < ARRAY_LEN(to); k++) check_model(to[k], &m);
        arena_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chrome),
        cmocka_unit_test(test_speedscope),
        cmocka_unit_test(test_any_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
