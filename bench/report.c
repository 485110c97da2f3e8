/* report.c - tables of at most 100 columns, the goals of the project, and the JSON file. */
#include "report.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *const op_names[OP_COUNT] = {"decode", "encode"};
static const char *const class_names[CLASS_COUNT] = {"real", "wide", "deep", "json"};

enum { SMALL = 1 << 20 }; /* below this size, the pages of malloc dominate resident memory */

/* ---- one payload ---- */

static void print_ratio(double x)
{
    if (x > 0)
        printf(" %7.2f", x);
    else
        printf(" %7s", "-");
}

static void print_entry(const result *r, const entry *e, op o)
{
    const timing *t = &e->t[o];
    printf("  %-7s %-15s %8.0f", op_names[o], e->c->name, t->best_mbs);
    print_ratio(t->x_walk);
    print_ratio(t->x_peer);
    printf(" %7" PRIu64, t->allocs);
    if (o == OP_DECODE && e->cold.ok) {
        printf(" %7" PRIu64 " %8.2f", e->cold.allocs.mallocs + e->cold.allocs.maps,
               e->cold.first_ms);
        if (r->n >= SMALL)
            printf(" %6.2f %6.2f", (double)e->cold.peak / (double)r->n,
                   (double)e->cold.peak_all / (double)r->n);
    }
    if (o == OP_ENCODE && !t->same_bytes) printf("  bytes differ from the peer's");
    printf("\n");
}

void report_result(const result *r)
{
    printf("%s (%s, %zu bytes)\n", r->name, class_names[r->class], r->n);
    printf("  %-23s %8s %7s %7s %7s %7s %8s %6s %6s\n", "", "MB/s", "x walk",
           r->class == CLASS_JSON ? "x yajl" : "x C++", "allocs", "cold", "first ms", "mem x",
           "+ msg");
    for (op o = 0; o < OP_COUNT; o++)
        for (size_t i = 0; i < r->n_entries; i++)
            if (r->entries[i].t[o].ran) print_entry(r, &r->entries[i], o);
    if (r->gzip_canonical)
        printf("  gzip -6: %zu bytes as received, %zu canonical (%.3f x)\n", r->gzip,
               r->gzip_canonical, (double)r->gzip_canonical / (double)r->gzip);
    printf("\n");
    fflush(stdout);
}

/* ---- goals: each uses one number of a result; the worst over the payloads counts ---- */

typedef enum metric { X_WALK, X_PEER, ALLOCS_COLD, ALLOCS_REUSED, MEMORY, GZIP } metric;

typedef struct goal {
    const char *id, *text;
    unsigned roles; /* one bit per role; the worst of them counts */
    op op;
    metric metric;
    unsigned classes; /* one bit per payload_class */
    bool at_most;     /* must and aim are upper bounds */
    double must, aim;
} goal;

#define IN(c) (1u << CLASS_##c)
#define OTLP (IN(REAL) | IN(WIDE) | IN(DEEP))
#define PORTABLE (1u << ROLE_PORTABLE)
#define AVX2 (1u << ROLE_AVX2)
#define AVX512 (1u << ROLE_AVX512)

static const goal goals[] = {
    {"decode.portable.walk", "decode, portable, x walk", PORTABLE, OP_DECODE, X_WALK, OTLP, false,
     0.65, 0.80},
    {"decode.portable.cpp", "decode, portable, x C++", PORTABLE, OP_DECODE, X_PEER, OTLP, false,
     2.5, 2.5},
    {"decode.vector.walk", "decode, vector, x walk", AVX2 | AVX512, OP_DECODE, X_WALK,
     IN(WIDE) | IN(DEEP), false, 1.0, 1.2},
    {"encode.portable.cpp", "encode, portable, x C++", PORTABLE, OP_ENCODE, X_PEER, OTLP, false,
     1.5, 1.8},
    {"encode.avx2.cpp", "encode, AVX2, packed, x C++", AVX2, OP_ENCODE, X_PEER, IN(DEEP), false,
     3.0, 3.5},
    {"encode.avx512.cpp", "encode, AVX-512, packed, x C++", AVX512, OP_ENCODE, X_PEER, IN(DEEP),
     false, 3.5, 4.3},
    {"allocs.cold", "allocations of a first decode", PORTABLE | AVX2 | AVX512, OP_DECODE,
     ALLOCS_COLD, OTLP, true, 4, 1},
    {"allocs.reused", "allocations, memory reused", PORTABLE | AVX2 | AVX512, OP_DECODE,
     ALLOCS_REUSED, OTLP, true, 0, 0},
    {"memory.portable", "peak memory, portable, x input", PORTABLE, OP_DECODE, MEMORY, OTLP, true,
     2.5, 2.1},
    {"memory.vector", "peak memory, vector, x input", AVX2 | AVX512, OP_DECODE, MEMORY, OTLP, true,
     2.5, 2.1},
    {"json.decode.yajl", "JSON decode, x yajl tokens", PORTABLE, OP_DECODE, X_PEER, IN(JSON), false,
     2.0, 2.0},
    {"canonical.gzip", "canonical, gzip -6, x received", PORTABLE, OP_DECODE, GZIP, IN(DEEP), true,
     0.90, 0.77},
};
enum { N_GOALS = sizeof goals / sizeof *goals };

static bool entry_metric(const goal *g, const result *r, const entry *e, double *out)
{
    const timing *t = &e->t[g->op];
    if (!(g->roles >> e->c->role & 1) || !t->ran) return false;
    switch (g->metric) {
    case X_WALK: *out = t->x_walk; return t->x_walk > 0;
    case X_PEER: *out = t->x_peer; return t->x_peer > 0;
    case ALLOCS_COLD:
        *out = (double)(e->cold.allocs.mallocs + e->cold.allocs.maps);
        return e->cold.ok;
    case ALLOCS_REUSED: *out = (double)t->allocs; return true;
    case MEMORY: *out = (double)e->cold.peak / (double)r->n; return e->cold.ok && r->n >= SMALL;
    case GZIP:
        if (!r->gzip_canonical) return false;
        *out = (double)r->gzip_canonical / (double)r->gzip;
        return true;
    }
    return false;
}

typedef struct worst {
    bool known;
    double value;
    const result *on;
} worst;

static worst goal_worst(const goal *g, const report *rep)
{
    worst w = {0};
    for (size_t i = 0; i < rep->n_results; i++) {
        const result *r = &rep->results[i];
        if (!(g->classes >> r->class & 1)) continue;
        for (size_t k = 0; k < r->n_entries; k++) {
            double v;
            if (!entry_metric(g, r, &r->entries[k], &v)) continue;
            if (!w.known || (g->at_most ? v > w.value : v < w.value)) w = (worst){true, v, r};
        }
    }
    return w;
}

static bool reaches(const goal *g, double v, double bound)
{
    return g->at_most ? v <= bound : v >= bound;
}

static const char *goal_verdict(const goal *g, const worst *w)
{
    if (!w->known) return "not measured";
    if (!reaches(g, w->value, g->must)) return "MISSED";
    return reaches(g, w->value, g->aim) ? "aim" : "must";
}

unsigned report_goals(const report *rep)
{
    unsigned missed = 0;
    printf("%-33s %7s  %-28s %6s %6s  %s\n", "goal", "worst", "on", "must", "aim", "reached");
    for (size_t i = 0; i < N_GOALS; i++) {
        const goal *g = &goals[i];
        worst w = goal_worst(g, rep);
        if (w.known) {
            printf("%-33s %7.2f  %-28s", g->text, w.value, w.on->name);
            missed += !reaches(g, w.value, g->must);
        } else {
            printf("%-33s %7s  %-28s", g->text, "-", "-");
        }
        printf(" %6.2f %6.2f  %s\n", g->must, g->aim, goal_verdict(g, &w));
    }
    return missed;
}

/* ---- JSON ---- */

static void json_string(FILE *f, const char *s)
{
    fputc('"', f);
    for (; *s; s++) {
        if (*s == '"' || *s == '\\') fputc('\\', f);
        if ((unsigned char)*s >= ' ') fputc(*s, f);
    }
    fputc('"', f);
}

static void cpu_model(char *out, size_t n)
{
    char line[512];
    FILE *f = fopen("/proc/cpuinfo", "r");
    snprintf(out, n, "unknown");
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, "model name", 10) != 0) continue;
        const char *colon = strchr(line, ':');
        if (colon) snprintf(out, n, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
    }
    if (f) fclose(f);
}

static void json_timing(FILE *f, const entry *e, op o)
{
    const timing *t = &e->t[o];
    fprintf(f,
            "\"%s\": {\"mb_per_s\": %.1f, \"x_walk\": %.4f, \"x_peer\": %.4f, \"allocs_reused\": "
            "%" PRIu64,
            op_names[o], t->best_mbs, t->x_walk, t->x_peer, t->allocs);
    if (o == OP_ENCODE)
        fprintf(f, ", \"same_bytes_as_peer\": %s", t->same_bytes ? "true" : "false");
    if (o == OP_DECODE && e->cold.ok)
        fprintf(f,
                ", \"allocs_cold\": %" PRIu64 ", \"maps_cold\": %" PRIu64
                ", \"first_ms\": %.3f, \"peak_bytes\": %zu"
                ", \"peak_bytes_with_message\": %zu",
                e->cold.allocs.mallocs, e->cold.allocs.maps, e->cold.first_ms, e->cold.peak,
                e->cold.peak_all);
    fprintf(f, "}");
}

static void json_result(FILE *f, const result *r)
{
    fprintf(f, "    {\"payload\": ");
    json_string(f, r->name);
    fprintf(f, ", \"class\": \"%s\", \"bytes\": %zu", class_names[r->class], r->n);
    if (r->gzip) fprintf(f, ", \"gzip6\": %zu", r->gzip);
    if (r->gzip_canonical) fprintf(f, ", \"gzip6_canonical\": %zu", r->gzip_canonical);
    fprintf(f, ", \"contestants\": [");
    for (size_t i = 0; i < r->n_entries; i++) {
        const entry *e = &r->entries[i];
        fprintf(f, "%s\n      {\"name\": ", i ? "," : "");
        json_string(f, e->c->name);
        for (op o = 0; o < OP_COUNT; o++) {
            if (!e->t[o].ran) continue;
            fprintf(f, ", ");
            json_timing(f, e, o);
        }
        fprintf(f, "}");
    }
    fprintf(f, "]}");
}

static void json_goals(FILE *f, const report *rep)
{
    for (size_t i = 0; i < N_GOALS; i++) {
        const goal *g = &goals[i];
        worst w = goal_worst(g, rep);
        fprintf(f, "    {\"goal\": \"%s\", \"must\": %g, \"aim\": %g, \"reached\": \"%s\"", g->id,
                g->must, g->aim, goal_verdict(g, &w));
        if (w.known) {
            fprintf(f, ", \"worst\": %.4f, \"on\": ", w.value);
            json_string(f, w.on->name);
        }
        fprintf(f, "}%s\n", i + 1 < N_GOALS ? "," : "");
    }
}

bool report_json(const report *rep, const char *path)
{
    char cpu[128], date[32];
    time_t now = time(NULL);
    struct tm tm;
    FILE *f = fopen(path, "w");
    if (!f) {
        fprintf(stderr, "bench: %s: %s\n", path, strerror(errno));
        return false;
    }
    cpu_model(cpu, sizeof cpu);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
    fprintf(f, "{\n  \"version\": 1, \"date\": \"%s\",\n  \"cpu\": ", date);
    json_string(f, cpu);
    fprintf(f, ",\n  \"compiler\": ");
    json_string(f, __VERSION__);
    fprintf(f, ", \"buildtype\": ");
    json_string(f, rep->buildtype);
    fprintf(f, ",\n  \"rounds\": %u, \"batch_ms\": %.1f,\n  \"goals\": [\n", rep->rounds,
            rep->batch_ms);
    json_goals(f, rep);
    fprintf(f, "  ],\n  \"results\": [\n");
    for (size_t i = 0; i < rep->n_results; i++) {
        json_result(f, &rep->results[i]);
        fprintf(f, "%s\n", i + 1 < rep->n_results ? "," : "");
    }
    fprintf(f, "  ]\n}\n");
    return fclose(f) == 0;
}
