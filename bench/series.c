/* series.c - the cost of a series in each query: CPU per series, growth from a quarter of the
 * series to all of them, and the ratio to one series with the same samples.
 *
 *     bench/series [--series N] [--rounds N] [--only TARGET] [--dir DIR] [--json FILE]
 *
 * The data: N instances of 50 services (one resource each) send one profile of 8 samples, 250 of
 * them per request; stacks have 16 frames, from 2 000 stacks.  Queries run as in the server, in
 * this thread, on the compacted stores.  A round queries each of the three stores once, so that
 * other load affects all of them; the fastest of the rounds (7) counts.  A query is linear when
 * four times as many series cost at most 4.4 times as much.  Exit status 4: /top or /tree costs
 * more than 10 us per series, or grows faster. */
#include "base/hash.h"
#include "measure.h"
#include "model/builder.h"
#include "server/query.h"
#include "store/embedded_options.h"
#include "wire/otlp.h"

#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAMPLES = 8, STACKS = 2000, DEPTH = 16, A_REQUEST = 250 };
#define MOST_US 10.0 /* per series, for /top and /tree */
#define MOST_GROWTH 4.4
#define BEGIN (UINT64_C(1789000000) / 86400 * 86400 * NS_PER_S)

/* ---- the data ---- */

static uint32_t stack_of(builder *b, uint32_t which)
{
    uint32_t stack[DEPTH];
    for (uint32_t k = 0; k < DEPTH; k++) {
        char name[32];
        uint32_t place = k * 100 + (uint32_t)(hash_mix(k, which >> (k / 2)) % 100);
        int n = snprintf(name, sizeof name, "place_%u", place);
        function f = {.name = builder_string(b, (str){name, (size_t)n})};
        line l = {.function = builder_function(b, &f), .line = place};
        stack[k] = builder_location(b, 0, 0, &l, 1, NULL, 0);
    }
    return builder_stack(b, stack, DEPTH);
}

static void open_series(builder *b, uint64_t i)
{
    char service[16], instance[24];
    keyvalue kv[] = {{.key = STR("service.name")}, {.key = STR("service.instance.id")}};
    const char *text[] = {service, instance};
    snprintf(service, sizeof service, "service%u", (unsigned)(i % 50));
    snprintf(instance, sizeof instance, "instance-%" PRIu64, i);
    for (size_t k = 0; k < ARRAY_LEN(kv); k++)
        kv[k].value = (any){.kind = ANY_STRING, .s = text[k], .n = (uint32_t)strlen(text[k])};
    builder_resource(b, &(resource){.present = true, .attrs = {kv, ARRAY_LEN(kv)}});
    builder_scope(b, NULL);
}

static void open_profile(builder *b, uint64_t i)
{
    profile *p = builder_profile(b);
    p->sample_type.type = builder_string(b, STR("cpu"));
    p->sample_type.unit = builder_string(b, STR("nanoseconds"));
    p->time_unix_nano = BEGIN + i * NS_PER_MS;
    p->duration_nano = NS_PER_S;
    memcpy(p->profile_id, &i, sizeof i);
    p->profile_id[15] = 1;
}

static bool put_request(store *s, uint64_t from, uint64_t n, bool one, err *e)
{
    arena a = {0};
    builder b;
    model m;
    bool ok = builder_init(&b, &a);
    if (one) open_series(&b, 0), open_profile(&b, from);
    for (uint64_t i = from; ok && i < from + n; i++) {
        if (!one) open_series(&b, i), open_profile(&b, i);
        for (unsigned k = 0; k < SAMPLES; k++) {
            uint64_t time = BEGIN + i * NS_PER_MS + k;
            int64_t value = 1 + (int64_t)(hash_mix(1, i * SAMPLES + k) % 100);
            builder_sample(&b, &(sample){.stack = stack_of(
                                             &b, (uint32_t)(hash_mix(2, i * SAMPLES + k) % STACKS)),
                                         .values = &value,
                                         .n_values = 1,
                                         .times = &time,
                                         .n_times = 1});
        }
    }
    ok = ok && builder_finish(&b, &m, e) &&
         store_put(s, &(store_item){.model = &m, .received = BEGIN + from}, e) &&
         store_commit(s, e);
    arena_free(&a);
    return ok;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

/* Fills a store.  Sets *compacted to the CPU seconds of its compaction. */
static store *fill(const char *dir, uint64_t n, bool one, double *compacted, err *e)
{
    nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    store *s = embedded_open(
        dir, &(embedded_opts){.no_sync = true, .no_threads = true, .store.max_age = UINT64_MAX}, e);
    bool ok = s != NULL;
    for (uint64_t i = 0; ok && i < n; i += A_REQUEST)
        ok = put_request(s, i, n - i < A_REQUEST ? n - i : A_REQUEST, one, e);
    double began = cpu_seconds();
    ok = ok && store_compact(s, e);
    *compacted = cpu_seconds() - began;
    if (ok) return s;
    store_close(s);
    return NULL;
}

/* ---- queries ---- */

static const char *const targets[] = {
    "/top",
    "/tree",
    "/tree?tagroot=thread.name",
    "/diff?base_start=1",
    "/labels",
    "/labels/service.instance.id",
    "/series",
    "/profiles",
    "/counts?by=service.name&step=1h",
    "/heat",
    "/lanes",
    "/chart",
    "/spans",
    "/export?sums=1",
    "/export",
};

static bool run(store *s, const char *target, double *cpu, bool tell, err *e)
{
    char text[200];
    arena a = {.budget = (size_t)4 << 30};
    snprintf(text, sizeof text, "%s%cstart=%s&max_time=1h", target, strchr(target, '?') ? '&' : '?',
             "2026-09-01T00:00:00Z");
    query k = {.store = store_own_reader(s),
               .a = &a,
               .now = BEGIN + 86400 * NS_PER_S,
               .accepted = &response_encodings[1]};
    double began = cpu_seconds();
    bool ok = params_parse(str_of(text), &a, &k.p, e);
    k.route = ok ? api_route_of((str){k.p.path.p + 1, k.p.path.n - 1}, &k.rest) : NULL;
    ok = k.route && query_prepare(&k, e) && query_run(&k, e);
    *cpu = cpu_seconds() - began;
    if (tell && ok && k.scanned.partial) fprintf(stderr, "series: %s: %s\n", target, k.scanned.why);
    buf_free(&k.body);
    arena_free(&a);
    return ok;
}

/* ---- the stores ---- */

enum { QUARTER, ALL, ONE, N_STORES };
enum { N_RESULTS = ARRAY_LEN(targets) + 1 }; /* compaction last */

typedef struct bench {
    uint64_t n, rounds;
    const char *dir, *only;
    store *stores[N_STORES];
    double cpu[N_RESULTS][N_STORES]; /* seconds, the fastest */
} bench;

static void path_of(const bench *b, size_t i, char path[static 200])
{
    snprintf(path, 200, "%s-%zu", b->dir, i);
}

static bool open_stores(bench *b, err *e)
{
    for (size_t i = 0; i < N_STORES; i++) {
        char path[200];
        path_of(b, i, path);
        b->stores[i] =
            fill(path, i == QUARTER ? b->n / 4 : b->n, i == ONE, &b->cpu[N_RESULTS - 1][i], e);
        if (!b->stores[i]) return false;
    }
    return true;
}

static void close_stores(bench *b)
{
    for (size_t i = 0; i < N_STORES; i++) {
        char path[200];
        path_of(b, i, path);
        store_close(b->stores[i]);
        nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    }
}

static bool measure(bench *b, size_t target, err *e)
{
    double *best = b->cpu[target];
    for (size_t i = 0; i < N_STORES; i++) best[i] = 1e9;
    for (uint64_t r = 0; r < b->rounds; r++)
        for (size_t i = 0; i < N_STORES; i++) {
            double t;
            if (!run(b->stores[i], targets[target], &t, r == 0, e))
                return err_in(e, "%s", targets[target]);
            if (t < best[i]) best[i] = t;
        }
    return true;
}

/* ---- the report ---- */

static bool report_one(FILE *json, const bench *b, size_t i, bool first)
{
    const char *name = i < ARRAY_LEN(targets) ? targets[i] : "compaction";
    const double *cpu = b->cpu[i];
    double a_series = cpu[ALL] * 1e6 / (double)b->n, growth = cpu[ALL] / cpu[QUARTER],
           ratio = cpu[ALL] / cpu[ONE];
    bool goal = !strcmp(name, "/top") || !strcmp(name, "/tree");
    bool missed = goal && (a_series > MOST_US || growth > MOST_GROWTH);
    printf("%-34s %12.1f %14.2f %9.2fx %13.2fx%s\n", name, cpu[ALL] * 1e3, a_series, growth, ratio,
           missed ? "  MISSED" : "");
    if (json)
        fprintf(json,
                "%s\n  {\"query\": \"%s\", \"us_a_series\": %.3f, \"growth\": %.2f, "
                "\"ratio_to_one_series\": %.2f}",
                first ? "" : ",", name, a_series, growth, ratio);
    return !missed;
}

static bool is_wanted(const bench *b, size_t i)
{
    return !b->only || i == N_RESULTS - 1 || !strcmp(b->only, targets[i]);
}

static bool report(FILE *json, const bench *b)
{
    bool good = true, first = true;
    printf("%-34s %12s %14s %10s %14s\n", "query", "ms", "us per series", "growth", "x one series");
    if (json) fprintf(json, "{\"series\": %" PRIu64 ", \"queries\": [", b->n);
    for (size_t i = 0; i < N_RESULTS; i++) {
        if (!is_wanted(b, i)) continue;
        good &= report_one(json, b, i, first);
        first = false;
    }
    if (json) fprintf(json, "\n]}\n");
    return good;
}

int main(int argc, char **argv)
{
    bench b = {.n = 100000, .rounds = 7, .dir = "/tmp/kiln-bench-series"};
    const char *path = NULL;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--series")) b.n = strtoull(argv[i + 1], NULL, 10);
        if (!strcmp(argv[i], "--rounds")) b.rounds = strtoull(argv[i + 1], NULL, 10);
        if (!strcmp(argv[i], "--only")) b.only = argv[i + 1];
        if (!strcmp(argv[i], "--dir")) b.dir = argv[i + 1];
        if (!strcmp(argv[i], "--json")) path = argv[i + 1];
    }
    err e = {0};
    char text[400];
    bool ok = b.n >= 4 && open_stores(&b, &e);
    for (size_t i = 0; ok && i < ARRAY_LEN(targets); i++)
        if (is_wanted(&b, i)) ok = measure(&b, i, &e);
    close_stores(&b);
    if (!ok) {
        fprintf(stderr, "series: %s\n", err_text(&e, text, sizeof text));
        return 1;
    }
    FILE *json = path ? fopen(path, "w") : NULL;
    bool good = report(json, &b);
    if (json && fclose(json)) return 1;
    return good ? 0 : 4;
}
