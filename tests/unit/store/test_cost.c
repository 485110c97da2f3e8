/* Tests that the cost of a query, in blocks and bytes, depends on its selection and not on the size
 * of the store. */
#include "../../support/store_models.h"
#include "base/hash.h"
#include "model/builder.h"

#define HOUR (UINT64_C(3600) * NS_PER_S)
#define MIDNIGHT (UINT64_C(1789000000) / 86400 * 86400 * NS_PER_S)

enum { SAMPLES = 2100 }; /* too many to be merged with other blocks */

typedef struct under_test {
    place p;
    hand_world w;
    store *s;
} under_test;

static under_test *begin(void)
{
    under_test *t = calloc(1, sizeof *t);
    err e = {0};
    t->p = place_new();
    hand_world_init(&t->w, MIDNIGHT);
    t->s = embedded_open(
        t->p.dir, &(embedded_opts){.no_threads = true, .no_sync = true, .store.world = &t->w.w},
        &e);
    assert_ok(t->s != NULL, &e);
    return t;
}

static void end(under_test *t)
{
    store_close(t->s);
    place_free(&t->p);
    free(t);
}

/* Puts one hour of a service. Only service 5 has a thread "rare"; only one sample of its hour 7 has
 * the trace {5, 7}. */
static void put_hour(under_test *t, uint32_t service, uint64_t hour)
{
    arena a = {0};
    builder b;
    model m;
    err e = {0};
    char name[32];
    assert_true(builder_init(&b, &a));
    int n = snprintf(name, sizeof name, "service-%u", service);
    keyvalue kv = {.key = STR("service.name"),
                   .value = {.kind = ANY_STRING, .n = (uint32_t)n, .s = name}};
    builder_resource(&b, &(resource){.attrs = {&kv, 1}, .present = true});
    builder_scope(&b, NULL);
    value_type type = {builder_string(&b, STR("cpu")), builder_string(&b, STR("nanoseconds"))};
    profile *p = builder_profile(&b);
    p->sample_type = type;
    p->has_sample_type = true;
    p->time_unix_nano = MIDNIGHT + hour * HOUR;
    memcpy(p->profile_id, &(uint64_t[2]){service + 1, hour + 1}, 16);
    uint8_t trace[16] = {5, 7};
    for (uint32_t i = 0; i < SAMPLES; i++) {
        uint32_t at = builder_location(&b, 0, 64 + hash_mix(service, i) % 200, NULL, 0, NULL, 0);
        uint32_t thread = builder_attribute_str(
            &b, STR("thread.name"), service == 5 && i == 9 ? STR("rare") : STR("worker"));
        bool linked = service == 5 && hour == 7 && i == 9;
        builder_sample(&b, &(sample){.stack = builder_stack(&b, &at, 1),
                                     .link = linked ? builder_link(&b, trace, trace) : 0,
                                     .attrs = &thread,
                                     .n_attrs = 1,
                                     .values = &(int64_t){1},
                                     .n_values = 1,
                                     .times = &(uint64_t){p->time_unix_nano + i * NS_PER_S},
                                     .n_times = 1});
    }
    assert_ok(builder_finish(&b, &m, &e), &e);
    assert_ok(store_put(t->s, &(store_item){.model = &m}, &e), &e);
    arena_free(&a);
}

static void fill(under_test *t, uint32_t services, uint64_t from, uint64_t to)
{
    err e = {0};
    for (uint64_t hour = from; hour < to; hour++) {
        for (uint32_t i = 0; i < services; i++) put_hour(t, i, hour);
        t->w.wall = MIDNIGHT + (hour + 1) * HOUR;
        assert_ok(store_compact(t->s, &e), &e);
    }
}

static store_read_result ask(under_test *t, const char *text, uint64_t from, uint64_t to)
{
    arena a = {0};
    err e = {0};
    store_selector q;
    model m;
    store_read_result x;
    assert_ok(store_selector_parse(str_of(text), &a, &q, &e), &e);
    if (to) q.start = MIDNIGHT + from * HOUR, q.end = MIDNIGHT + to * HOUR;
    assert_ok(store_read_sums(store_own_reader(t->s), &q, NULL, &a, &m, &x, &e), &e);
    arena_free(&a);
    return x;
}

static void reads_what_is_selected(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t from, to;
        uint64_t n_samples, n_blocks;
    } cases[] = {
        {"cpu{service.name=\"service-3\"}", 4, 5, SAMPLES, 1},
        {"cpu{service.name=\"service-3\"}", 2, 8, 6 * SAMPLES, 6},
        {"{service.name=\"service-5\", trace_id=\"05070000000000000000000000000000\"}", 0, 0, 1, 1},
        {"{trace_id=\"05070000000000000000000000000000\"}", 0, 0, 1, 1},
        {"{thread.name=\"rare\"}", 0, 10, 10, 10},
        {"{thread.name=\"nobody\"}", 0, 0, 0, 0},
        {"{nothing=\"at all\"}", 0, 0, 0, 0},
        {"alloc", 0, 0, 0, 0},
    };
    under_test *t = begin();
    uint64_t bytes[ARRAY_LEN(cases)];
    fill(t, 6, 0, 10);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
            store_read_result x = ask(t, cases[i].text, cases[i].from, cases[i].to);
            if (x.n_samples != cases[i].n_samples || x.n_blocks != cases[i].n_blocks)
                fail_msg("%s: %llu samples of %llu blocks, expected %llu of %llu", cases[i].text,
                         (unsigned long long)x.n_samples, (unsigned long long)x.n_blocks,
                         (unsigned long long)cases[i].n_samples,
                         (unsigned long long)cases[i].n_blocks);
            if (round) assert_u64(x.n_bytes, bytes[i]);
            bytes[i] = x.n_bytes;
        }
        if (!round)
            fill(t, 12, 10, 30); /* five times as much data, also of another day, changes no cost */
    }
    end(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_what_is_selected)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
