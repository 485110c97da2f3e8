/* bench.c - runs every contestant over every payload, interleaved.
 *
 *   bench [--rounds N] [--batch MS] [--out results.json] CLASS=FILE ...
 *   bench --json IN.otlp OUT.json            writes the payload of the JSON contest
 *   bench --fresh CONTESTANT FILE            one cold decode (bench calls itself)
 *
 * CLASS is real, wide, deep or json.  In each round every contestant runs once, for a batch of
 * about 25 ms of its thread's CPU time; a ratio is the median over rounds of the ratio within a
 * round, so that noise of the machine, which lasts longer than a round, affects both sides. */
#include "report.h"
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { MAX_ROUNDS = 200 };

#ifndef BENCH_BUILDTYPE
#define BENCH_BUILDTYPE "unknown"
#endif

static size_t all_contestants(const contestant **out)
{
    const contestants tables[] = {
#ifdef BENCH_LIMIT
        limit_contestants(),
#endif
        walk_contestants(),
#ifdef BENCH_PBCPP
        pbcpp_contestants(),
#endif
#ifdef BENCH_YAJL
        yajl_contestants(),
#endif
#ifdef BENCH_KILN
        kiln_contestants(),
#endif
    };
    size_t n = 0;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (size_t k = 0; k < tables[i].n && n < MAX_ENTRIES; k++) out[n++] = &tables[i].v[k];
    return n;
}

/* ---- timing ---- */

typedef struct runner { /* one contestant with one payload, ready to run */
    const contestant *c;
    const material *in;
    void *self;
    unsigned reps;           /* runs that fill a batch */
    double time[MAX_ROUNDS]; /* seconds per run */
} runner;

static bool run_once(const runner *r, op o)
{
    const uint8_t *out;
    return o == OP_DECODE ? r->c->decode(r->self, r->in) : r->c->encode(r->self, &out) > 0;
}

static double run_batch(const runner *r, op o, unsigned reps)
{
    double start = cpu_seconds();
    for (unsigned i = 0; i < reps; i++)
        if (!run_once(r, o)) abort(); /* cannot happen: it succeeded on the same bytes before */
    return cpu_seconds() - start;
}

/* Doubles the number of runs until the clock is precise enough, then fills the batch: reading the
 * clock must not distort small payloads. */
static void calibrate(runner *r, op o, double batch)
{
    unsigned reps = 1;
    double took;
    while ((took = run_batch(r, o, reps)) < batch / 16 && reps < 1u << 24) reps *= 2;
    double want = batch / (took / reps);
    r->reps = want < 1 ? 1 : (unsigned)want;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, unsigned n)
{
    qsort(v, n, sizeof *v, by_value);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static double median_ratio(const runner *base, const runner *r, unsigned rounds)
{
    double ratio[MAX_ROUNDS];
    if (!base) return 0;
    for (unsigned i = 0; i < rounds; i++) ratio[i] = base->time[i] / r->time[i];
    return median(ratio, rounds);
}

/* Returns the base of a role: its fastest member by median, so that "x walk" never means the slower
 * walker. */
static const runner *base_of(const runner *v, size_t n, role want, unsigned rounds)
{
    const runner *best = NULL;
    for (size_t i = 0; i < n; i++)
        if (v[i].c->role == want && (!best || median_ratio(best, &v[i], rounds) > 1)) best = &v[i];
    return best;
}

static double best_mbs(const runner *r, unsigned rounds, size_t n)
{
    double least = r->time[0];
    for (unsigned i = 1; i < rounds; i++)
        if (r->time[i] < least) least = r->time[i];
    return (double)n / least / 1e6;
}

static void run_rounds(runner *v, size_t n, op o, const report *rep)
{
    for (size_t i = 0; i < n; i++) calibrate(&v[i], o, rep->batch_ms / 1e3);
    for (unsigned round = 0; round < rep->rounds; round++)
        for (size_t i = 0; i < n; i++) {
            runner *r = &v[(i + round) %
                           n]; /* rotates, so that none always runs after the same neighbour */
            r->time[round] = run_batch(r, o, r->reps) / r->reps;
        }
}

static uint64_t count_allocs(const runner *r, op o)
{
    alloc_count a = alloc_counted();
    if (!run_once(r, o)) abort();
    alloc_count b = alloc_counted();
    return b.mallocs - a.mallocs + (b.maps - a.maps);
}

static entry *entry_of(result *res, const contestant *c)
{
    for (size_t i = 0; i < res->n_entries; i++)
        if (res->entries[i].c == c) return &res->entries[i];
    return NULL;
}

static void contest(runner *v, size_t n, op o, const report *rep, result *res)
{
    if (n == 0) return;
    for (size_t i = 0; i < n; i++) { /* second run: memory has its final size; third: counted */
        if (!run_once(&v[i], o)) abort();
        entry_of(res, v[i].c)->t[o].allocs = count_allocs(&v[i], o);
    }
    run_rounds(v, n, o, rep);
    const runner *walk = base_of(v, n, ROLE_WALK, rep->rounds),
                 *peer = base_of(v, n, ROLE_PEER, rep->rounds);
    for (size_t i = 0; i < n; i++) {
        timing *t = &entry_of(res, v[i].c)->t[o];
        t->ran = true;
        t->best_mbs = best_mbs(&v[i], rep->rounds, res->n);
        t->x_walk = median_ratio(walk, &v[i], rep->rounds);
        t->x_peer = median_ratio(peer, &v[i], rep->rounds);
    }
}

/* ---- one payload ---- */

static size_t open_all(const material *in, runner *v, result *res)
{
    const contestant *all[MAX_ENTRIES];
    size_t n_all = all_contestants(all), n = 0;
    for (size_t i = 0; i < n_all; i++) {
        if (all[i]->kind != in->kind) continue;
        void *self = all[i]->open(in);
        if (!self) continue;
        if (!all[i]->decode(self, in)) {
            printf("%s: %s cannot decode it\n", in->name, all[i]->name);
            all[i]->close(self);
            continue;
        }
        v[n++] = (runner){.c = all[i], .in = in, .self = self};
        res->entries[res->n_entries++] = (entry){.c = all[i], .cold = fresh_run(all[i], in->path)};
    }
    return n;
}

/* Encoders must match the peer byte by byte, or their speeds are not comparable. */
static void compare_bytes(runner *v, size_t n, result *res)
{
    const uint8_t *want = NULL, *got;
    size_t n_want = 0;
    for (size_t i = 0; i < n; i++)
        if (v[i].c->role == ROLE_PEER) n_want = v[i].c->encode(v[i].self, &want);
    for (size_t i = 0; i < n; i++) {
        size_t n_got = v[i].c->encode(v[i].self, &got);
        entry_of(res, v[i].c)->t[OP_ENCODE].same_bytes =
            !want || (n_got == n_want && memcmp(got, want, n_got) == 0);
    }
}

static size_t gzip6(const uint8_t *p, size_t n)
{
    uLongf out = compressBound((uLong)n);
    Bytef *b = malloc(out);
    if (!b || compress2(b, &out, p, (uLong)n, 6) != Z_OK) out = 0;
    free(b);
    return out + 12; /* gzip's frame is 12 bytes longer than zlib's */
}

static void measure_canonical(const material *in, result *res)
{
#ifdef BENCH_KILN
    uint8_t *p;
    size_t n;
    if (!kiln_canonical(in, &p, &n)) return;
    res->gzip = gzip6(in->p, in->n);
    res->gzip_canonical = gzip6(p, n);
    free(p);
#else
    (void)in, (void)res, (void)gzip6;
#endif
}

static bool run_payload(const char *path, payload_class class, report *rep)
{
    static runner v[MAX_ENTRIES], encoders[MAX_ENTRIES];
    material in;
    if (!material_load(path, &in)) return false;
    result *res = &rep->results[rep->n_results++];
    *res = (result){.n = in.n, .class = class};
    snprintf(res->name, sizeof res->name, "%s", in.name);

    size_t n = open_all(&in, v, res), n_encoders = 0;
    contest(v, n, OP_DECODE, rep, res);
    for (size_t i = 0; i < n; i++)
        if (v[i].c->encode) encoders[n_encoders++] = v[i];
    contest(encoders, n_encoders, OP_ENCODE, rep, res);
    compare_bytes(encoders, n_encoders, res);
    if (class == CLASS_DEEP) measure_canonical(&in, res);
    report_result(res);
    for (size_t i = 0; i < n; i++) v[i].c->close(v[i].self);
    material_free(&in);
    return true;
}

/* ---- command line ---- */

static int usage(void)
{
    fprintf(stderr,
            "usage: bench [--rounds N] [--batch MS] [--out FILE] real|wide|deep|json=FILE ...\n");
    return 2;
}

static int main_fresh(const char *name, const char *path)
{
    const contestant *all[MAX_ENTRIES];
    size_t n = all_contestants(all);
    for (size_t i = 0; i < n; i++)
        if (strcmp(all[i]->name, name) == 0) return fresh_child(all[i], path);
    return 1;
}

static int main_json(const char *from, const char *to)
{
#ifdef BENCH_KILN
    material in;
    uint8_t *p;
    size_t n;
    if (!material_load(from, &in)) return 3;
    if (!kiln_to_json(&in, &p, &n)) return 1;
    FILE *f = fopen(to, "wb");
    return f && fwrite(p, 1, n, f) == n && fclose(f) == 0 ? 0 : 3;
#else
    (void)from, (void)to;
    return 1;
#endif
}

static bool run_argument(const char *arg, report *rep)
{
    static const char *const names[CLASS_COUNT] = {"real=", "wide=", "deep=", "json="};
    for (payload_class c = 0; c < CLASS_COUNT; c++)
        if (strncmp(arg, names[c], strlen(names[c])) == 0 && rep->n_results < MAX_RESULTS)
            return run_payload(arg + strlen(names[c]), c, rep);
    return usage(), false;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"rounds", required_argument, NULL, 'r'}, {"batch", required_argument, NULL, 'b'},
        {"out", required_argument, NULL, 'o'},    {"fresh", no_argument, NULL, 'f'},
        {"json", no_argument, NULL, 'j'},         {0},
    };
    static report rep = {.rounds = 15, .batch_ms = 25, .buildtype = BENCH_BUILDTYPE};
    const char *out = NULL;
    int mode = 0;
    for (int c; (c = getopt_long(argc, argv, "+", options, NULL)) != -1;) {
        if (c == 'r')
            rep.rounds = (unsigned)strtoul(optarg, NULL, 10);
        else if (c == 'b')
            rep.batch_ms = strtod(optarg, NULL);
        else if (c == 'o')
            out = optarg;
        else if (c == 'f' || c == 'j')
            mode = c;
        else
            return usage();
    }
    if (mode && argc - optind != 2) return usage();
    if (mode == 'f') return main_fresh(argv[optind], argv[optind + 1]);
    if (mode == 'j') return main_json(argv[optind], argv[optind + 1]);
    if (argc == optind || rep.rounds < 1 || rep.rounds > MAX_ROUNDS || rep.batch_ms <= 0)
        return usage();

    for (int i = optind; i < argc; i++)
        if (!run_argument(argv[i], &rep)) return 2;
    unsigned missed = report_goals(&rep);
    if (out && !report_json(&rep, out)) return 3;
    return missed ? 4 : 0;
}
