/* Converts batches to models: one Profile per kind, checked by the rules of OTLP. */
#include "agent/profiles.h"

#include "../../support/test.h"
#include "check/check.h"
#include "format/splunk.h"
#include "wire/carried.h"
#include "wire/otlp.h"

#define T0 UINT64_C(1700000000000000000)
#define MAPS                                                                                       \
    "400000-402000 r--p 00000000 fd:01 10                  /usr/bin/app\n"                         \
    "402000-404000 r-xp 00002000 fd:01 10                  /usr/bin/app\n"                         \
    "7f0000000000-7f0000020000 r-xp 00026000 fd:01 11      /usr/lib/libc.so.6\n"

typedef struct world {
    arena a;
    batch *b;
    images images;
    keyvalue resource;
    profiles_in in;
    model m;
} world;

static void begin(world *w)
{
    *w = (world){.b = batch_open(1 << 20, 42)};
    assert_non_null(w->b);
    w->b->start = T0;
    w->b->end = T0 + 1000;
    assert_true(images_take(&w->images, STR(MAPS), T0));
    for (size_t i = 0; i < w->images.v.n; i++)
        snprintf(w->images.v.v[i].gnu, sizeof w->images.v.v[i].gnu, "00ff");
    w->resource =
        (keyvalue){.key = STR("service.name"), .value = {.kind = ANY_STRING, .n = 1, .s = "x"}};
    w->in = (profiles_in){.batch = w->b,
                          .images = &w->images,
                          .resource = {&w->resource, 1},
                          .cpu_hz = 100,
                          .wall_ns = 20000000,
                          .limit = SIZE_MAX,
                          .boot = T0 - 100000000000,
                          .ticks = 100,
                          .now = T0 + 2000};
}

static void end(world *w)
{
    arena_free(&w->a);
    images_close(&w->images);
    batch_close(w->b);
}

/* Adds a stack of n addresses in the program, starting at 0x402000 + first. */
static uint32_t stack(world *w, unsigned first, unsigned n, uint8_t how)
{
    uintptr_t pcs[64];
    uint32_t at;
    for (unsigned i = 0; i < n; i++) pcs[i] = 0x402000 + first + i;
    assert_true(batch_stack(w->b, pcs, n, how, true, &at));
    return at;
}

static uint32_t thread(world *w, uint32_t tid, const char *name)
{
    agent_thread t = {.tid = tid, .index = tid, .start_ticks = 5000, .pthread = 0x7f1234};
    uint32_t at;
    snprintf(t.name, sizeof t.name, "%s", name);
    assert_true(batch_thread(w->b, &t, &at));
    return at;
}

static void add(world *w, agent_sample s)
{
    agent_sample *to = vec_push(&w->b->mem, &w->b->samples);
    assert_non_null(to);
    if (to) *to = s;
}

/* Builds the model and checks its bytes; fails at any finding above a remark. */
static void make(world *w)
{
    err e = {0};
    buf bytes = {0};
    check_report r;
    arena a = {0};
    assert_ok(profiles_make(&w->in, &w->a, &w->m, &e), &e);
    assert_true(w->m.checked);
    assert_ok(otlp_encode(&w->m, &(otlp_encode_opts){0}, &bytes, &e), &e);
    assert_ok(check_bytes(bytes.p, bytes.n, &(check_opts){0}, &a, &r, &e), &e);
    for (size_t i = 0; i < r.n_findings; i++)
        if (r.findings[i].rule->severity != CHECK_INFO)
            fail_msg("%s: %s: %s", r.findings[i].rule->id, r.findings[i].examples[0].path,
                     r.findings[i].examples[0].found);
    buf_free(&bytes);
    arena_free(&a);
}

static str type_of(const world *w, size_t i)
{
    return dict_str(&w->m.dict, w->m.profiles.v[i].sample_type.type);
}

static str attr(const world *w, const sample *s, const char *key)
{
    const dict *d = &w->m.dict;
    for (uint32_t i = 0; i < s->n_attrs; i++)
        if (str_eq(dict_str(d, d->attributes.v[s->attrs[i]].key), str_of(key)))
            return d->attributes.v[s->attrs[i]].value.kind == ANY_STRING
                       ? any_str(&d->attributes.v[s->attrs[i]].value)
                       : STR("set");
    return (str){0};
}

#define assert_str(got, want)                                                                      \
    do {                                                                                           \
        str got_ = (got);                                                                          \
        if (!str_eq(got_, str_of(want)))                                                           \
            fail_msg("%s is %.*s, expected %s", #got, STR_ARG(got_), want);                        \
    } while (0)

static void test_empty(void **state)
{
    (void)state;
    world w;
    begin(&w);
    err e = {0};
    assert_ok(profiles_make(&w.in, &w.a, &w.m, &e), &e);
    assert_u64(w.m.profiles.n, 0);
    end(&w);
}

/* Observations of the same stack, thread, span and state become one sample. */
static void test_joined(void **state)
{
    (void)state;
    world w;
    begin(&w);
    uint32_t s1 = stack(&w, 0, 3, UNWIND_WHOLE), s2 = stack(&w, 8, 2, UNWIND_CAPPED), link;
    uint32_t t1 = thread(&w, 7, "worker"), t2 = thread(&w, 8, "");
    assert_true(batch_link(w.b, &(agent_link){{1}, {2}}, &link));
    agent_sample s = {.value = 10, .stack = s1, .thread = t1, .kind = SAMPLE_CPU, .state = 'R'};
    s.time = T0 + 1, add(&w, s);
    s.time = T0 + 2, s.stack = s2, add(&w, s);
    s.time = T0 + 3, s.stack = s1, s.value = 20, add(&w, s);
    s.time = T0 + 4, s.link = link, add(&w, s);
    s.time = T0 + 5, s.link = 0, s.thread = t2, add(&w, s);
    s.time = T0 + 6, s.kind = SAMPLE_WALL, s.state = 'S', add(&w, s);
    snprintf(s.wchan, sizeof s.wchan, "futex_wait");
    s.time = T0 + 7, add(&w, s);
    w.b->lost.ring_full = 3;
    make(&w);
    assert_u64(w.m.profiles.n, 2);
    assert_str(type_of(&w, 0), "cpu");
    assert_str(type_of(&w, 1), "wall");
    const profile *cpu = &w.m.profiles.v[0], *wall = &w.m.profiles.v[1];
    assert_u64(cpu->period, 10000000);
    assert_u64(wall->period, 20000000);
    assert_u64(cpu->time_unix_nano, T0);
    assert_u64(cpu->duration_nano, 1000);
    assert_u64(cpu->attrs.n, 1); /* kiln.samples_lost */
    assert_false(id_is_zero(cpu->profile_id, 16));
    assert_u64(cpu->n_samples, 4);
    sample first = sample_at(&w.m, cpu, 0), cut = sample_at(&w.m, cpu, 1),
           linked = sample_at(&w.m, cpu, 2), other = sample_at(&w.m, cpu, 3);
    assert_u64(first.n_values, 2);
    assert_u64(first.n_times, 2);
    assert_u64(first.values[1], 20);
    assert_u64(first.times[1], T0 + 3);
    assert_str(attr(&w, &first, ATTR_THREAD_NAME), "worker");
    assert_str(attr(&w, &first, ATTR_THREAD_STATE), "running");
    assert_str(attr(&w, &first, KILN_ATTR_STACK_TRUNCATED), "");
    assert_str(attr(&w, &cut, KILN_ATTR_STACK_TRUNCATED), "set");
    assert_u64(w.m.dict.links.v[linked.link].trace_id[0], 1);
    assert_u64(first.link, 0);
    assert_str(attr(&w, &other, ATTR_THREAD_NAME), "");
    assert_u64(wall->n_samples, 2);
    sample waits = sample_at(&w.m, wall, 1);
    assert_str(attr(&w, &waits, ATTR_THREAD_STATE), "sleeping");
    assert_str(attr(&w, &waits, KILN_ATTR_THREAD_WCHAN), "futex_wait");
    end(&w);
}

static void test_addresses(void **state)
{
    (void)state;
    world w;
    begin(&w);
    uintptr_t pcs[] = {0x7f0000000100, 0x402010, 0x1234};
    uint32_t at;
    assert_true(batch_stack(w.b, pcs, 3, UNWIND_WHOLE, true, &at));
    add(&w, (agent_sample){
                .time = T0, .value = 1, .stack = at, .thread = thread(&w, 1, "a"), .state = 'R'});
    make(&w);
    const dict *d = &w.m.dict;
    sample s = sample_at(&w.m, &w.m.profiles.v[0], 0);
    span f = dict_stack(d, s.stack);
    assert_u64(f.n, 3);
    const location *l[3];
    for (uint32_t i = 0; i < 3; i++) l[i] = &d->locations.v[d->frames.v[f.at + i]];
    assert_u64(l[0]->address, 0x7f0000000100);
    assert_u64(d->mappings.v[l[0]->mapping].file_offset, 0x26000);
    assert_u64(l[1]->address, 0x402010);
    assert_u64(d->mappings.v[l[1]->mapping].memory_start, 0x402000);
    assert_u64(d->mappings.v[l[1]->mapping].attrs.n, 1);
    assert_u64(l[2]->mapping, 0);
    end(&w);
}

/* Attributes of the thread context have the published names; an inner scope's value hides the outer
 * one's. */
static void test_context(void **state)
{
    (void)state;
    static const str keys[] = {{"route", 5}, {"thread.name", 11}};
    static const uint8_t bytes[] = {0, 2,   '/', 'a', 0,   2, '/', 'b', 1,
                                    1, 'x', 9,   1,   'y', 0, 9,   'z'};
    world w;
    begin(&w);
    uint32_t at, s = stack(&w, 0, 1, UNWIND_WHOLE), t = thread(&w, 1, "worker");
    assert_true(batch_attrs(w.b, bytes, sizeof bytes, &at));
    w.in.keys = keys, w.in.n_keys = 2;
    add(&w,
        (agent_sample){.time = T0, .value = 1, .stack = s, .thread = t, .attrs = at, .state = 'R'});
    make(&w);
    sample x = sample_at(&w.m, &w.m.profiles.v[0], 0);
    assert_u64(x.n_attrs, 4);
    assert_str(attr(&w, &x, "route"), "/b");
    assert_str(attr(&w, &x, ATTR_THREAD_NAME), "worker");
    end(&w);
}

static void test_heap(void **state)
{
    (void)state;
    static const uintptr_t pcs[] = {0x402001, 0x402002};
    world w;
    begin(&w);
    heap_row rows[] = {{pcs, 2, UNWIND_WHOLE, 3, 300, 1, 100},
                       {pcs, 1, UNWIND_CAPPED, 0, 0, 2, 50}};
    heap_rows h = {.v = {rows, 2, 2}, .interval = 4096};
    w.in.heap = &h;
    make(&w);
    static const char *const want[] = {"alloc_objects", "alloc_space", "inuse_objects",
                                       "inuse_space"};
    static const int64_t sums[] = {3, 300, 3, 150};
    assert_u64(w.m.profiles.n, 4);
    for (size_t i = 0; i < 4; i++) {
        const profile *p = &w.m.profiles.v[i];
        int64_t sum = 0;
        assert_str(type_of(&w, i), want[i]);
        assert_u64(p->period, 4096);
        assert_u64(p->n_samples, i < 2 ? 1 : 2);
        for (size_t k = 0; k < p->n_samples; k++) {
            sample s = sample_at(&w.m, p, k);
            sum += sample_total(&s, NULL);
        }
        assert_u64(sum, sums[i]);
    }
    end(&w);
}

/* There is one log record per observation, in order, from `first` on. */
static void test_logs(void **state)
{
    (void)state;
    world w;
    begin(&w);
    uint32_t s = stack(&w, 0, 2, UNWIND_WHOLE), none, t = thread(&w, 0x1a2b, "worker \"1\"");
    assert_true(batch_stack(w.b, NULL, 0, UNWIND_WHOLE, false, &none));
    agent_sample x = {.value = 20000000,
                      .stack = s,
                      .thread = t,
                      .kind = SAMPLE_WALL,
                      .state = 'R',
                      .cpu_ns = 123456};
    for (unsigned i = 0; i < 5; i++) {
        x.time = T0 + i;
        x.stack = i == 4 ? none : s;
        add(&w, x);
    }
    w.in.style = PROFILES_TEXT;
    w.in.first = 3, w.in.limit = 250;
    err e = {0};
    assert_ok(profiles_make(&w.in, &w.a, &w.m, &e), &e);
    assert_u64(w.m.profiles.n, 1);
    assert_u64(w.m.profiles.v[0].n_samples, 2);
    buf bytes = {0};
    assert_ok(splunk_write_logs(&w.m, &(write_opts){0}, &bytes, &e), &e);
    static const char body[] =
        "\"worker '1'\" #6699 prio=0 os_prio=0 cpu=0.12ms elapsed=50.00s tid=0x7f1234 nid=0x1a2b "
        "runnable\n   linux.Thread.State: RUNNING\n\tat unknown.0x2000(unknown:0)\n\tat "
        "unknown.0x2001(unknown:0)\n",
                      unknown[] = "RUNNING\n\tat unknown.unknown(unknown:0)\n";
    assert_non_null(memmem(bytes.p, bytes.n, body, sizeof body - 1));
    assert_non_null(memmem(bytes.p, bytes.n, unknown, sizeof unknown - 1));
    buf_free(&bytes);
    w.in.style = PROFILES_PPROF, w.in.first = 0;
    assert_ok(profiles_make(&w.in, &w.a, &w.m, &e), &e);
    assert_u64(w.m.profiles.v[0].n_samples, 5);
    assert_ok(splunk_write_logs(&w.m, &(write_opts){0}, &bytes, &e), &e);
    assert_non_null(memmem(bytes.p, bytes.n, "pprof-gzip-base64", 17));
    buf_free(&bytes);
    end(&w);
}

static void test_thread_text(void **state)
{
    (void)state;
    static const struct {
        agent_sample s;
        agent_thread t;
        uint64_t boot;
        const char *want;
    } cases[] = {
        {{.state = 'S', .time = T0},
         {.tid = 255, .index = 1},
         0,
         "#1 prio=0 os_prio=0 cpu=0 elapsed=0 tid=0x0 nid=0xff sleeping"},
        {{.state = 'D', .time = T0, .cpu_ns = 1999999999, .wchan = "io_schedule"},
         {.tid = 1, .index = 12, .os_prio = -5, .start_ticks = 150, .pthread = 0xabc},
         T0 - 10000000000,
         "#12 prio=0 os_prio=-5 cpu=1999.99ms elapsed=8.50s tid=0xabc nid=0x1 uninterruptible wait "
         "(io_schedule)"},
        {{.state = 't', .time = T0},
         {.tid = 1, .index = 2, .start_ticks = 1100},
         T0 - 10000000000,
         "#2 prio=0 os_prio=0 cpu=0 elapsed=0 tid=0x0 nid=0x1 stopped"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[256];
        profiles_thread_text(&cases[i].s, &cases[i].t, cases[i].boot, 100, text, sizeof text);
        assert_string_equal(text, cases[i].want);
    }
}

/* Fails each allocation in turn. */
static void test_memory(void **state)
{
    (void)state;
    world w;
    begin(&w);
    uint32_t t = thread(&w, 1, "worker");
    for (unsigned i = 0; i < 50; i++)
        add(&w, (agent_sample){.time = T0 + i,
                               .value = 1,
                               .stack = stack(&w, i, 5, 0),
                               .thread = t,
                               .kind = i % 2,
                               .state = 'R'});
    bool ok = false;
    for (size_t budget = 64; !ok; budget += 256) {
        arena a = {.budget = budget};
        err e = {0};
        ok = profiles_make(&w.in, &a, &w.m, &e);
        if (!ok) assert_int_equal(e.code, ERR_MEMORY);
        arena_free(&a);
        assert_true(budget < 1 << 20);
    }
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),       cmocka_unit_test(test_joined),
        cmocka_unit_test(test_addresses),   cmocka_unit_test(test_context),
        cmocka_unit_test(test_heap),        cmocka_unit_test(test_logs),
        cmocka_unit_test(test_thread_text), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
