/* intern - cost of adding one stack to a batch (agent/batch.h), existing or new.
 *
 *     intern [--rounds N] [--json FILE]
 *
 * Stacks are walks over a layered call graph, so they share callers and differ at the leaf, as in
 * real programs.  A few stacks make up most of a stream of 50 000 samples (the n-th is 1/n as
 * frequent as the first).  For every case a round fills a fresh batch with every stack once
 * ("new"), then runs the stream ("hit").  Prints the median over rounds of thread CPU time.  Exit
 * code 4: the goal was missed. */
#include "agent/batch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 25, ROUNDS_MAX = 101, STREAM = 50000, STACKS_MAX = 10000, DEPTH_MAX = 100 };
enum { BATCH_BYTES = 64 << 20, FANOUT = 4, GOAL_NS = 80 };

typedef struct test {
    const char *name;
    size_t n_stacks, depth;
    bool held; /* checked against the goal */
    double hit_ns[ROUNDS_MAX], new_ns[ROUNDS_MAX];
} test;

static test tests[] = {
    {.name = "1 000 stacks, depth 10", .n_stacks = 1000, .depth = 10},
    {.name = "1 000 stacks, depth 30", .n_stacks = 1000, .depth = 30, .held = true},
    {.name = "10 000 stacks, depth 30", .n_stacks = 10000, .depth = 30, .held = true},
    {.name = "1 000 stacks, depth 100", .n_stacks = 1000, .depth = 100},
};

static uintptr_t stacks[STACKS_MAX][DEPTH_MAX];
static uintptr_t stream[STREAM * (size_t)DEPTH_MAX]; /* contiguous, as in a ring */

static uint64_t next(uint64_t *x)
{
    return *x = *x * UINT64_C(6364136223846793005) + 1442695040888963407;
}

/* Builds a stack from the root down; each caller has FANOUT callees, of which the first are more
 * likely. */
static void make_stacks(const test *t)
{
    uint64_t x = 7;
    for (size_t i = 0; i < t->n_stacks; i++) {
        uintptr_t at = 0x555555554000;
        for (size_t d = t->depth; d--;) {
            uint64_t r = next(&x) >> 60;
            at = at * FANOUT + (r < 8 ? 0 : r < 12 ? 1 : r < 14 ? 2 : 3);
            at = 0x555555554000 + (at * UINT64_C(0x9e3779b97f4a7c15) >> 42 & 0x3fffff);
            stacks[i][d] = at;
        }
        stacks[i][0] += i; /* the leaf makes every stack distinct */
    }
}

/* Fills the stream; the n-th stack is 1/n as frequent as the first. */
static void make_stream(const test *t)
{
    uint64_t x = 11;
    for (size_t i = 0; i < STREAM; i++) {
        double u = (double)(next(&x) >> 11) * 0x1p-53;
        uint32_t n = (uint32_t)(exp(u * log((double)t->n_stacks + 1)) - 1);
        memcpy(stream + i * t->depth, stacks[n % t->n_stacks], t->depth * sizeof *stream);
    }
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static bool put(batch *b, const test *t, const uintptr_t *pcs)
{
    uint32_t at;
    return batch_stack(b, pcs, t->depth, UNWIND_WHOLE, true, &at);
}

static bool measure(test *t, unsigned round)
{
    make_stacks(t);
    make_stream(t);
    batch *b = batch_open(BATCH_BYTES, 1);
    bool ok = b;
    double start = now_ns();
    for (size_t i = 0; ok && i < t->n_stacks; i++) ok = put(b, t, stacks[i]);
    double made = now_ns();
    for (size_t i = 0; ok && i < STREAM; i++) ok = put(b, t, stream + i * t->depth);
    double met = now_ns();
    t->new_ns[round] = (made - start) / (double)t->n_stacks;
    t->hit_ns[round] = (met - made) / STREAM;
    ok = ok && b->stacks.n == t->n_stacks;
    batch_close(b);
    return ok;
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static bool report(unsigned rounds, FILE *json)
{
    bool all = true;
    printf("%-28s %10s %20s %10s   (%u rounds, ns)\n", "a stack into a batch", "hit", "quartiles",
           "new", rounds);
    fprintf(json, "{\"schema\": 1, \"rounds\": %u, \"goal_ns\": %d, \"rows\": [", rounds, GOAL_NS);
    for (size_t i = 0; i < ARRAY_LEN(tests); i++) {
        test *t = &tests[i];
        qsort(t->hit_ns, rounds, sizeof(double), by_value);
        qsort(t->new_ns, rounds, sizeof(double), by_value);
        double hit = t->hit_ns[rounds / 2], made = t->new_ns[rounds / 2];
        double lo = t->hit_ns[rounds / 4], hi = t->hit_ns[rounds * 3 / 4];
        bool met = !t->held || hit <= GOAL_NS;
        all = all && met;
        printf("%-28s %10.1f %9.1f .. %7.1f %10.1f   %s\n", t->name, hit, lo, hi, made,
               !t->held ? ""
               : met    ? "<= 80 ok"
                        : "<= 80 MISSED");
        fprintf(json,
                "%s\n {\"name\": \"%s\", \"hit_ns\": %.1f, \"quartiles\": [%.1f, %.1f], "
                "\"new_ns\": %.1f, \"met\": %s}",
                i ? "," : "", t->name, hit, lo, hi, made, met ? "true" : "false");
    }
    fprintf(json, "\n]}\n");
    return all;
}

int main(int argc, char **argv)
{
    unsigned rounds = ROUNDS;
    FILE *json = fopen("/dev/null", "w");
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--rounds") == 0) rounds = (unsigned)strtoul(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--json") == 0) json = fopen(argv[i + 1], "w");
    }
    if (!json || rounds < 1 || rounds > ROUNDS_MAX) return 2;
    for (unsigned r = 0; r < rounds; r++)
        for (size_t i = 0; i < ARRAY_LEN(tests); i++)
            if (!measure(&tests[i], r)) return 3;
    bool met = report(rounds, json);
    fclose(json);
    return met ? 0 : 4;
}
