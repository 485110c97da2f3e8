/* Parses arbitrary request targets and selectors of the query API. Each is accepted, or rejected
 * with a reason. Every query on a small store gives a valid response or an error with a reason. */
#include "model/builder.h"
#include "server/query.h"
#include "store/embedded_options.h"
#include "wire/json.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(x)                                                                                    \
    do                                                                                             \
        if (!(x)) abort();                                                                         \
    while (0)

#define NOW UINT64_C(1790000000000000000)
#define ROOT "/api/v1/"
enum { MEMORY = 16 << 20, SAMPLES = 60 };

static store *kept;
static char dir[] = "/tmp/kiln-fuzz-ask-XXXXXX";

/* ---- the store: two services, a thread with states, links, times ---- */

static void put_sample(builder *b, unsigned i)
{
    static const char *const names[] = {"main", "serve", "parse", "render"};
    uint32_t stack[4], attrs[2];
    size_t depth = 1 + i % 4;
    uint8_t trace[16] = {0xab}, span_id[8] = {(uint8_t)(i % 3)};
    int64_t value = i;
    uint64_t time = NOW - (uint64_t)i * 100000000;
    for (size_t k = 0; k < depth; k++) {
        function f = {.name = builder_string(b, str_of(names[(i + k) % 4]))};
        line l = {.function = builder_function(b, &f)};
        stack[k] = builder_location(b, 0, 0, &l, 1, NULL, 0);
    }
    attrs[0] = builder_attribute_str(b, STR("thread.name"), i % 2 ? STR("a") : STR("b"));
    attrs[1] =
        builder_attribute_str(b, STR("thread.state"), i % 5 ? STR("running") : STR("waiting"));
    builder_sample(b, &(sample){.stack = builder_stack(b, stack, depth),
                                .link = i % 4 ? 0 : builder_link(b, trace, span_id),
                                .attrs = attrs,
                                .n_attrs = 2,
                                .values = &value,
                                .n_values = 1,
                                .times = i % 7 ? &time : NULL,
                                .n_times = i % 7 != 0});
}

static void put_profiles(store *s, unsigned first)
{
    arena a = {0};
    builder b;
    model m;
    err e = {0};
    MUST(builder_init(&b, &a));
    for (unsigned n = 0; n < 4; n++) {
        keyvalue name = {.key = STR("service.name"),
                         .value = {.kind = ANY_STRING, .n = 1, .s = n % 2 ? "x" : "y"}};
        resource r = {.attrs = {&name, 1}, .present = true};
        builder_resource(&b, &r);
        builder_scope(&b, NULL);
        profile *p = builder_profile(&b);
        p->sample_type.type = builder_string(&b, n < 2 ? STR("cpu") : STR("alloc"));
        p->sample_type.unit = builder_string(&b, n < 2 ? STR("nanoseconds") : STR("bytes"));
        p->time_unix_nano = NOW - (UINT64_C(10) << 30);
        p->profile_id[15] = (uint8_t)(first + n);
        for (unsigned i = 0; i < SAMPLES; i++) put_sample(&b, i + n);
    }
    MUST(builder_finish(&b, &m, &e));
    MUST(store_put(s, &(store_item){.model = &m, .received = NOW}, &e) && store_commit(s, &e));
    arena_free(&a);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static void clean_up(void)
{
    store_close(kept);
    nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    err e = {0};
    MUST(mkdtemp(dir));
    store *s = embedded_open(dir, &(embedded_opts){.no_sync = true, .no_threads = true}, &e);
    MUST(s);
    put_profiles(s, 1);
    MUST(store_compact(s, &e));
    put_profiles(s, 101); /* so that queries read both columns and the journal */
    kept = s;
    MUST(!atexit(clean_up));
    return 0;
}

/* ---- queries ---- */

static void is_json(str text)
{
    arena a = {.budget = MEMORY};
    err e = {0};
    json j = json_open(text.p, text.n, &a, &e);
    MUST(json_next(&j) == JSON_OBJECT && json_skip_open(&j) && json_finish(&j));
    arena_free(&a);
}

static void is_columns(str bytes)
{
    uint32_t words[3];
    MUST(bytes.n >= 16 && !memcmp(bytes.p, "KLNA", 4));
    memcpy(words, bytes.p + 4, sizeof words);
    MUST(words[0] == 1 && words[2] % 8 == 0 && words[2] <= bytes.n && words[1] <= words[2] - 16);
    is_json((str){bytes.p + 16, words[1]});
}

static void query_job(const params *p)
{
    arena a = {.budget = MEMORY};
    err e = {0};
    query k = {.p = *p,
               .store = store_own_reader(kept),
               .a = &a,
               .now = NOW,
               .budget = {.max_ns = NS_PER_S}};
    str path = p->path;
    if (!str_starts(path, STR(ROOT))) return;
    k.route = api_route_of((str){path.p + strlen(ROOT), path.n - strlen(ROOT)}, &k.rest);
    if (!k.route) return;
    bool ok = query_prepare(&k, &e) && query_run(&k, &e);
    MUST(ok == (e.code == ERR_OK));
    MUST(ok || e.msg[0]);
    if (ok && k.route->shape) {
        MUST(k.body.n <= k.max_bytes);
        if (k.as->encode == response_binary)
            is_columns(buf_view(&k.body));
        else
            is_json(buf_view(&k.body));
    }
    buf_free(&k.body);
    arena_free(&a);
}

/* ---- targets and selectors ---- */

static void selector(str text, arena *a)
{
    err e = {0};
    store_selector q = {0};
    bool ok = store_selector_parse(text, a, &q, &e);
    MUST(ok == (e.code == ERR_OK));
    MUST(ok || (e.msg[0] && (e.offset == NO_OFFSET || e.offset <= text.n)));
}

/* Checks that a path has the form "/a/b" and no component "..". */
static void path_is_plain(str path)
{
    MUST(path.n && path.p[0] == '/');
    for (size_t i = 0; i + 2 < path.n; i++) {
        bool dots = path.p[i] == '/' && path.p[i + 1] == '.' && path.p[i + 2] == '.';
        MUST(!dots || (i + 3 < path.n && path.p[i + 3] != '/'));
    }
}

static void target(str text, arena *a)
{
    err e = {0};
    params p = {0};
    bool ok = params_parse(text, a, &p, &e);
    MUST(ok == (e.code == ERR_OK));
    if (!ok) return;
    path_is_plain(p.path);
    MUST(p.v.n <= PARAMS_MAX);
    for (size_t i = 0; i < p.v.n; i++) {
        char key[64];
        uint64_t v = 0;
        double d = 0;
        bool flag = false;
        if (p.v.v[i].key.n >= sizeof key || memchr(p.v.v[i].key.p, 0, p.v.v[i].key.n)) continue;
        memcpy(key, p.v.v[i].key.p, p.v.v[i].key.n);
        key[p.v.v[i].key.n] = '\0';
        MUST(params_get(&p, key).n <= text.n);
        e = (err){0};
        MUST(params_number(&p, key, 1000, &v, &e) ? v <= 1000 : e.code == ERR_USAGE);
        e = (err){0};
        MUST(params_flag(&p, key, &flag, &e) || e.code == ERR_USAGE);
        e = (err){0};
        MUST(params_time(&p, key, NOW, &v, &e) || e.code == ERR_USAGE);
        e = (err){0};
        MUST(params_duration(&p, key, &v, &e) || e.code == ERR_USAGE);
        e = (err){0};
        MUST(params_real(&p, key, &d, &e) ? d >= 0 : e.code == ERR_USAGE);
        selector(p.v.v[i].value, a);
    }
    query_job(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    arena a = {.budget = MEMORY};
    str in = {(const char *)data, n};
    target(in, &a);
    selector(in, &a);
    arena_free(&a);
    return 0;
}
