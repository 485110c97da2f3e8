/* Tests exports that are larger than the memory of a query. format=otlp is written to a file in
 * pieces; the file is one message with all stored data. Only the dictionary and one piece are in
 * memory. */
#include "server/query.h"
#include "store/embedded_options.h"

#include "../../support/store_models.h"
#include "model/builder.h"
#include "wire/compress.h"
#include "wire/otlp.h"

#define NOW UINT64_C(1790000000000000000)
enum { PROFILES = 40, SAMPLES = 20000, STACKS = 300, BUDGET = 16 << 20, MOST = 1 << 20 };

typedef struct under_test {
    place p;
    store *s;
    digests want;
} under_test;

static under_test t;

/* ---- the store ---- */

static void put_sample(builder *b, unsigned number, unsigned i)
{
    char name[24];
    snprintf(name, sizeof name, "f%u", (number + i) % STACKS);
    function f = {.name = builder_string(b, str_of(name))};
    line l = {.function = builder_function(b, &f)};
    uint32_t at = builder_location(b, 0, 0, &l, 1, NULL, 0);
    uint32_t attr = builder_attribute_int(b, STR("thread.id"), number % 7);
    int64_t value = 1 + (int64_t)i * number;
    uint64_t time = NOW + (uint64_t)i * 1000;
    builder_sample(b, &(sample){.stack = builder_stack(b, &at, 1),
                                .attrs = &attr,
                                .n_attrs = 1,
                                .values = &value,
                                .n_values = 1,
                                .times = &time,
                                .n_times = 1});
}

static void put_profile(unsigned number)
{
    arena a = {0};
    builder b;
    model m;
    err e = {0};
    assert_true(builder_init(&b, &a));
    keyvalue kv = {.key = STR("service.name"), .value = {.kind = ANY_STRING, .s = "shop", .n = 4}};
    builder_resource(&b, &(resource){.present = true, .attrs = {&kv, 1}});
    builder_scope(&b, NULL);
    profile *p = builder_profile(&b);
    p->sample_type.type = builder_string(&b, STR("cpu"));
    p->sample_type.unit = builder_string(&b, STR("nanoseconds"));
    p->time_unix_nano = NOW;
    p->profile_id[0] = (uint8_t)number;
    p->profile_id[15] = 1;
    uint32_t attr = builder_attribute_int(&b, STR("number"), number);
    builder_profile_attrs(&b, &attr, 1);
    for (unsigned i = 0; i < SAMPLES; i++) put_sample(&b, number, i);
    assert_ok(builder_finish(&b, &m, &e), &e);
    assert_ok(store_put(t.s, &(store_item){.model = &m, .received = NOW}, &e), &e);
    assert_ok(store_commit(t.s, &e), &e);
    digests_of(&t.want, &m);
    arena_free(&a);
}

/* Fills the store; half of it is compacted. */
static int open_store(void **state)
{
    (void)state;
    err e = {0};
    t.p = place_new();
    t.s = embedded_open(
        t.p.dir, &(embedded_opts){.no_sync = true, .no_threads = true, .store.max_age = UINT64_MAX},
        &e);
    assert_ok(t.s, &e);
    for (unsigned i = 0; i < PROFILES; i++) {
        put_profile(i);
        if (i == PROFILES / 2) assert_ok(store_compact(t.s, &e), &e);
    }
    digests_settle(&t.want);
    assert_int_equal(t.want.n, PROFILES);
    return 0;
}

static int close_store(void **state)
{
    (void)state;
    store_close(t.s);
    place_free(&t.p);
    digests_free(&t.want);
    return 0;
}

/* ---- exports ---- */

typedef struct exported {
    query k;
    arena a;
    query_files files;
    err e;
    bool ok;
} exported;

static void ask_for(exported *x, const char *target, size_t budget, const char *dir,
                    uint64_t max_file)
{
    *x = (exported){.a.budget = budget, .files.dir = dir};
    x->k = (query){.store = store_own_reader(t.s),
                   .a = &x->a,
                   .now = NOW + NOW / 10,
                   .files = &x->files,
                   .max_file = max_file};
    assert_true(params_parse(str_of(target), &x->a, &x->k.p, &x->e));
    x->k.route = api_route_of((str){x->k.p.path.p + 1, x->k.p.path.n - 1}, &x->k.rest);
    assert_non_null(x->k.route);
    x->ok = query_prepare(&x->k, &x->e) && query_run(&x->k, &x->e);
}

static void end(exported *x)
{
    assert_u64(atomic_load(&x->files.filling), 0); /* also after a failure */
    spill_close(&x->k.file);
    buf_free(&x->k.body);
    arena_free(&x->a);
}

static buf read_file(const spill *s)
{
    buf b = {0};
    assert_true(buf_reserve(&b, s->size));
    while (b.n < s->size) {
        ssize_t n = spill_read(s, b.n, b.p + b.n, s->size - b.n);
        assert_true(n > 0);
        b.n += (size_t)n;
    }
    return b;
}

/* Checks that the body is one complete message; returns the number of resources. */
static size_t check_message(str bytes)
{
    arena a = {0};
    model m;
    err e = {0};
    digests have = {0};
    assert_ok(otlp_decode(bytes.p, bytes.n, NULL, &a, &m, &e), &e);
    digests_of(&have, &m);
    assert_u64(have.n, PROFILES);
    digests_settle(&have);
    assert_memory_equal(have.v, t.want.v, PROFILES * sizeof *have.v);
    size_t n = m.resources.n;
    assert_in_range(m.dict.strings.n, STACKS, STACKS + 20); /* one shared dictionary */
    digests_free(&have);
    arena_free(&a);
    return n;
}

static void writes_in_pieces(void **state)
{
    (void)state;
    exported x;
    ask_for(&x, "/export?start=0", BUDGET, t.p.dir, UINT64_MAX);
    assert_ok(x.ok, &x.e);
    assert_true(x.k.file.fd >= 0 && !x.k.body.n);
    assert_u64(x.k.scanned.n_samples, PROFILES * SAMPLES);
    print_message("# %zu bytes of memory for an export of %zu\n", x.a.peak, (size_t)x.k.file.size);
    if (x.a.peak > MOST) fail_msg("the query took %zu bytes", x.a.peak);
    buf b = read_file(&x.k.file);
    assert_true(b.n > PROFILES * SAMPLES * 10 && check_message(buf_view(&b)) >= 4);
    end(&x);

    exported z;
    ask_for(&z, "/export?start=0&gzip=1", BUDGET, t.p.dir, UINT64_MAX);
    assert_ok(z.ok, &z.e);
    buf packed = z.k.file.fd >= 0 ? read_file(&z.k.file) : z.k.body;
    assert_true(packed.n < b.n && z.a.peak <= MOST);
    arena a = {0};
    unpacked u;
    assert_ok(unpack(buf_view(&packed), 0, &a, &u, &z.e), &z.e);
    assert_int_equal(u.n_layers, 1);
    assert_true(str_eq(u.bytes, buf_view(&b))); /* deterministic */
    arena_free(&a);
    if (packed.p != z.k.body.p) buf_free(&packed);
    end(&z);
    buf_free(&b);
}

static void writes_the_older_layout(void **state)
{
    (void)state;
    exported x;
    ask_for(&x, "/export?start=0&format=otlp-1.9", BUDGET, t.p.dir, UINT64_MAX);
    assert_ok(x.ok, &x.e);
    buf b = read_file(&x.k.file);
    assert_true(check_message(buf_view(&b)) >= 4);
    buf_free(&b);
    end(&x);
}

/* Formats that need the whole model recommend one that does not. */
static void others_say_what_helps(void **state)
{
    (void)state;
    exported x;
    ask_for(&x, "/export?start=0&format=pprof", BUDGET, t.p.dir, UINT64_MAX);
    assert_false(x.ok);
    assert_true(err_exhausted(&x.e));
    if (!strstr(x.e.msg, "format=otlp")) fail_msg("%s", x.e.msg);
    end(&x);
    ask_for(&x, "/export?start=0&format=pprof", (size_t)512 << 20, t.p.dir, UINT64_MAX);
    assert_ok(x.ok, &x.e);
    end(&x);
    ask_for(&x, "/export?start=0&sums=1", BUDGET, t.p.dir, UINT64_MAX); /* sums are small enough */
    assert_ok(x.ok, &x.e);
    assert_true(x.k.file.fd < 0 && x.k.body.n);
    end(&x);
}

static void stops_at_the_limit_of_files(void **state)
{
    (void)state;
    exported x;
    ask_for(&x, "/export?start=0", BUDGET, t.p.dir, 4 << 20);
    assert_false(x.ok);
    assert_int_equal(x.e.code, ERR_LIMIT);
    assert_non_null(strstr(x.e.msg, "limits.files"));
    assert_true(x.k.file.fd < 0 && !x.k.body.n);
    end(&x);
}

/* Without a file the export is written to memory, if it fits. */
static void needs_no_file(void **state)
{
    (void)state;
    exported x;
    ask_for(&x, "/export?start=0", (size_t)512 << 20, "/nowhere/at/all", UINT64_MAX);
    assert_ok(x.ok, &x.e);
    assert_true(x.k.file.fd < 0);
    assert_int_equal(check_message(buf_view(&x.k.body)), 1);
    end(&x);
    ask_for(&x, "/export?start=0", BUDGET, "/nowhere/at/all", UINT64_MAX);
    assert_true(!x.ok && err_exhausted(&x.e));
    end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_in_pieces),      cmocka_unit_test(writes_the_older_layout),
        cmocka_unit_test(others_say_what_helps), cmocka_unit_test(stops_at_the_limit_of_files),
        cmocka_unit_test(needs_no_file),
    };
    return cmocka_run_group_tests_name("export", tests, open_store, close_store);
}
