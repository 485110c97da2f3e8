/* Tests that a query that is cancelled at any moment returns the reason, and never a part of a
 * response. */
#include "server/query.h"
#include "store/embedded_options.h"

#include "../../support/test.h"
#include "model/builder.h"
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#define NOW UINT64_C(1790000000000000000)
enum { SAMPLES = 3000, DEPTH = 8 };

static store *kept;
static char dir[] = "/tmp/kiln-ask-XXXXXX";

/* ---- the store ---- */

static void put_sample(builder *b, unsigned i)
{
    uint32_t stack[DEPTH], attr = builder_attribute_str(b, STR("thread.name"), STR("worker"));
    uint8_t trace[16] = {0xab}, span_id[8] = {(uint8_t)(1 + i % 50)};
    int64_t value = 1 + i;
    uint64_t time = NOW - (uint64_t)i * 1000000;
    for (unsigned k = 0; k < DEPTH; k++) {
        char name[24];
        snprintf(name, sizeof name, "f%u", i % (400 / (DEPTH - k)) + 1000 * k);
        function f = {.name = builder_string(b, str_of(name))};
        line l = {.function = builder_function(b, &f)};
        stack[k] = builder_location(b, 0, 0, &l, 1, NULL, 0);
    }
    builder_sample(b, &(sample){.stack = builder_stack(b, stack, DEPTH),
                                .link = builder_link(b, trace, span_id),
                                .attrs = &attr,
                                .n_attrs = 1,
                                .values = &value,
                                .n_values = 1,
                                .times = &time,
                                .n_times = 1});
}

static int open_store(void **state)
{
    (void)state;
    arena a = {0};
    builder b;
    model m;
    err e = {0};
    if (!mkdtemp(dir)) return -1;
    kept = embedded_open(dir, &(embedded_opts){.no_sync = true, .no_threads = true}, &e);
    assert_ok(kept, &e);
    assert_true(builder_init(&b, &a));
    builder_resource(&b, &(resource){.present = true});
    builder_scope(&b, NULL);
    profile *p = builder_profile(&b);
    p->sample_type.type = builder_string(&b, STR("cpu"));
    p->sample_type.unit = builder_string(&b, STR("nanoseconds"));
    p->time_unix_nano = NOW - UINT64_C(10000000000);
    p->profile_id[15] = 1;
    for (unsigned i = 0; i < SAMPLES; i++) put_sample(&b, i);
    assert_ok(builder_finish(&b, &m, &e), &e);
    assert_ok(store_put(kept, &(store_item){.model = &m, .received = NOW}, &e), &e);
    assert_ok(store_commit(kept, &e), &e);
    arena_free(&a);
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static int close_store(void **state)
{
    (void)state;
    store_close(kept);
    return nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- cancelling ---- */

typedef struct patience {
    unsigned asked, most; /* checks so far; the check at which the query is cancelled */
} patience;

static bool is_over(void *ctx, err *e)
{
    patience *p = ctx;
    return ++p->asked >= p->most && !err_set(e, ERR_LIMIT, "enough");
}

/* Runs a query that is cancelled after p->most checks. Sets *body to the size of the response. */
static bool ask_with(patience *p, const char *target, size_t *body, err *e)
{
    arena a = {.budget = (size_t)64 << 20};
    stopper s = {is_over, p, 0};
    query k = {.store = store_own_reader(kept), .a = &a, .now = NOW, .stop = &s};
    assert_true(params_parse(str_of(target), &a, &k.p, e));
    k.route = api_route_of((str){k.p.path.p + 1, k.p.path.n - 1}, &k.rest);
    assert_non_null(k.route);
    bool ok = query_prepare(&k, e) && query_run(&k, e);
    *body = k.body.n;
    buf_free(&k.body);
    arena_free(&a);
    return ok;
}

static const struct {
    const char *target;
    unsigned least; /* number of checks */
} questions[] = {
    {"/tree", 12},
    {"/tree?encoding=binary", 12},
    {"/tree?focus=f1&by=lines", 4},
    {"/tree?tagroot=thread.name", 12},
    {"/top", 6},
    {"/diff?base_start=0", 20},
    {"/heat?focus=f", 4},
    {"/lanes", 6},
    {"/chart", 8},
    {"/spans", 4},
    {"/series", 1},
    {"/services", 6},
    {"/export", 2},
};

static void test_given_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(questions); i++) {
        bool ok = false;
        patience p = {0};
        for (p.most = 1; !ok; p.most++) {
            err e = {0};
            size_t n;
            p.asked = 0;
            ok = ask_with(&p, questions[i].target, &n, &e);
            if (ok ? !n : strcmp(e.msg, "enough") || p.asked > p.most + 8)
                fail_msg("%s, given up at %u: %s", questions[i].target, p.most, e.msg);
        }
        if (p.asked < questions[i].least)
            fail_msg("%s asks %u times", questions[i].target, p.asked);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_given_up)};
    return cmocka_run_group_tests_name("ask", tests, open_store, close_store);
}
