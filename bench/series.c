/* series.c - what a series costs each query: CPU a series, growth from a quarter of the series to all of them, and the ratio to
 * one series with the same samples.
 *
 *   bench/series [--series N] [--dir DIR] [--json FILE]
 *
 * The data: N instances of 50 services (a resource each) send one profile of 8 samples, 250 of them a request; stacks are 16 frames
 * deep, of 2 000.  Queries run as the server runs them, in this thread, on the compacted store; the fastest of three counts.  A
 * query is linear when four times as many series cost at most 4.4 times as much. */
#include "base/hash.h"
#include "measure.h"
#include "model/builder.h"
#include "server/ask.h"
#include "wire/otlp.h"

#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAMPLES = 8, STACKS = 2000, DEPTH = 16, A_REQUEST = 250, ROUNDS = 3 };
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

/* Fills a store; *compacted: CPU seconds of its compaction. */
static store *fill(const char *dir, uint64_t n, bool one, double *compacted, err *e)
{
    nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    store *s = store_open(
        dir, &(store_opts){.no_sync = true, .no_threads = true, .max_age = UINT64_MAX}, e);
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

static bool run(store *s, const char *target, double *cpu, err *e)
{
    char text[200];
    arena a = {.budget = (size_t)4 << 30};
    snprintf(text, sizeof text, "%s%cstart=%s&max_time=1h", target, strchr(target, '?') ? '&' : '?',
             "2026-09-01T00:00:00Z");
    ask k = {
        .store = s, .a = &a, .now = BEGIN + 86400 * NS_PER_S, .accepted = &answer_encodings[1]};
    double began = cpu_seconds();
    bool ok = params_parse(str_of(text), &a, &k.p, e);
    k.route = ok ? ask_route_of((str){k.p.path.p + 1, k.p.path.n - 1}, &k.rest) : NULL;
    ok = k.route && ask_prepare(&k, e) && ask_answer(&k, e);
    *cpu = cpu_seconds() - began;
    if (ok && k.looked.partial) fprintf(stderr, "series: %s: %s\n", target, k.looked.why);
    buf_free(&k.body);
    arena_free(&a);
    return ok;
}

static bool fastest(store *s, const char *target, double *cpu, err *e)
{
    *cpu = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        double t;
        if (!run(s, target, &t, e)) return false;
        if (t < *cpu) *cpu = t;
    }
    return true;
}

/* ---- the report ---- */

typedef struct result {
    double quarter, all, one;
} result;

enum { N_RESULTS = ARRAY_LEN(targets) + 1 }; /* compaction last */

static bool measure(const char *dir, uint64_t n, bool one, size_t member, result *r, err *e)
{
    double compacted;
    store *s = fill(dir, n, one, &compacted, e);
    bool ok = s != NULL;
    for (size_t i = 0; ok && i < ARRAY_LEN(targets); i++) {
        ok = fastest(s, targets[i], (double *)((char *)&r[i] + member), e);
        if (!ok) err_in(e, "%s", targets[i]);
    }
    *(double *)((char *)&r[N_RESULTS - 1] + member) = compacted;
    store_close(s);
    nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return ok;
}

static void report(FILE *json, uint64_t n, const result *r)
{
    printf("%-34s %12s %14s %10s %14s\n", "query", "ms", "us a series", "growth", "of one series");
    if (json) fprintf(json, "{\"series\": %" PRIu64 ", \"queries\": [", n);
    for (size_t i = 0; i < N_RESULTS; i++) {
        const char *name = i < ARRAY_LEN(targets) ? targets[i] : "compaction";
        double a_series = r[i].all * 1e6 / (double)n, growth = r[i].all / r[i].quarter,
               ratio = r[i].all / r[i].one;
        printf("%-34s %12.1f %14.2f %9.2fx %13.2fx\n", name, r[i].all * 1e3, a_series, growth,
               ratio);
        if (json)
            fprintf(json,
                    "%s\n  {\"query\": \"%s\", \"us_a_series\": %.3f, \"growth\": %.2f, "
                    "\"ratio_to_one_series\": %.2f}",
                    i ? "," : "", name, a_series, growth, ratio);
    }
    if (json) fprintf(json, "\n]}\n");
}

int main(int argc, char **argv)
{
    uint64_t n = 100000;
    const char *dir = "/tmp/kiln-bench-series", *path = NULL;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--series")) n = strtoull(argv[i + 1], NULL, 10);
        if (!strcmp(argv[i], "--dir")) dir = argv[i + 1];
        if (!strcmp(argv[i], "--json")) path = argv[i + 1];
    }
    result r[N_RESULTS] = {0};
    err e = {0};
    char text[400];
    if (n < 4 || !measure(dir, n / 4, false, offsetof(result, quarter), r, &e) ||
        !measure(dir, n, false, offsetof(result, all), r, &e) ||
        !measure(dir, n, true, offsetof(result, one), r, &e)) {
        fprintf(stderr, "series: %s\n", err_text(&e, text, sizeof text));
        return 1;
    }
    FILE *json = path ? fopen(path, "w") : NULL;
    report(json, n, r);
    return json && fclose(json) ? 1 : 0;
}
