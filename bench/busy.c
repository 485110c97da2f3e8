/* busy.c - a program with many deep stacks, to be recorded by perf and the agent.
 *
 *     busy SECONDS                    runs for SECONDS of CPU time in each of two threads
 *     busy --pieces N                 repeats a piece of work N times, prints its time
 *
 * It has 64 functions with two call sites each. The first call site is much more likely, so that,
 * as in real programs, some stacks repeat often and many occur only once.  It is built with frame
 * pointers, so that the kernel can unwind the stacks. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_DEPTH = 32, SPIN = 400, PIECE = 8, PIECES_MAX = 4096 };

typedef uint64_t work_fn(uint64_t x, unsigned depth);
static work_fn *const work[];

static uint64_t next(uint64_t x) { return x * UINT64_C(6364136223846793005) + 1442695040888963407; }

static uint64_t spin(uint64_t x)
{
    for (int i = 0; i < SPIN; i++) x = next(x);
    return x;
}

/* The addition after the call prevents a tail call, which would remove the frame. */
#define WORK(tens, ones)                                                                           \
    __attribute__((noinline)) static uint64_t work_##tens##ones(uint64_t x, unsigned depth)        \
    {                                                                                              \
        if (depth == 0) return spin(x);                                                            \
        x = next(x);                                                                               \
        unsigned site = x >> 59 ? 1 : 29; /* the second site: 1 of 32 calls */                     \
        return work[((tens * 8 + ones) * 5 + site) & 63](x, depth - 1) + 1;                        \
    }
#define EIGHT(t)                                                                                   \
    WORK(t, 0) WORK(t, 1) WORK(t, 2) WORK(t, 3) WORK(t, 4) WORK(t, 5) WORK(t, 6) WORK(t, 7)
EIGHT(0)
EIGHT(1)
EIGHT(2)
EIGHT(3)
EIGHT(4)
EIGHT(5)
EIGHT(6)
EIGHT(7)

#define NAMES(t)                                                                                   \
    work_##t##0, work_##t##1, work_##t##2, work_##t##3, work_##t##4, work_##t##5, work_##t##6,     \
        work_##t##7
static work_fn *const work[] = {NAMES(0), NAMES(1), NAMES(2), NAMES(3),
                                NAMES(4), NAMES(5), NAMES(6), NAMES(7)};

static uint64_t thousand(uint64_t x)
{
    for (int i = 0; i < 1000; i++) x = work[x >> 62](x, 4 + (unsigned)(x >> 40) % MAX_DEPTH);
    return x;
}

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

typedef struct worker {
    uint64_t x;
    double limit_s;  /* CPU time to run for, if n is 0 */
    unsigned n;      /* number of pieces to run */
    double *piece_s; /* receives the CPU time of each piece */
    double cpu_s;    /* CPU time of the thread at its end */
} worker;

static void *run(void *ctx)
{
    worker *w = ctx;
    uint64_t seed = w->x;
    while (!w->n && seconds(CLOCK_THREAD_CPUTIME_ID) < w->limit_s) w->x = thousand(w->x);
    for (unsigned i = 0; i < w->n; i++) {
        double start = seconds(CLOCK_THREAD_CPUTIME_ID);
        for (int k = 0; k < PIECE; k++) w->x = thousand(k ? w->x : seed);
        w->piece_s[i] = seconds(CLOCK_THREAD_CPUTIME_ID) - start;
    }
    w->cpu_s = seconds(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Prints the lower quartile, which excludes preemption and other load. */
static void say(const worker *w, double *piece_s, unsigned n, double wall_s)
{
    qsort(piece_s, n, sizeof *piece_s, by_value);
    printf("{\"pieces\": %u, \"piece_s\": %.9f, \"median_s\": %.9f, \"workers_s\": %.9f, "
           "\"process_s\": %.9f, \"wall_s\": %.9f}\n",
           n, piece_s[n / 4], piece_s[n / 2], w[0].cpu_s + w[1].cpu_s,
           seconds(CLOCK_PROCESS_CPUTIME_ID), wall_s);
}

int main(int argc, char **argv)
{
    bool pieces = argc == 3 && strcmp(argv[1], "--pieces") == 0;
    double limit_s = argc == 2 ? strtod(argv[1], NULL) : 0;
    unsigned n = pieces ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    if (limit_s <= 0 && (n == 0 || n > PIECES_MAX)) {
        fprintf(stderr, "usage: busy SECONDS\n       busy --pieces N\n");
        return 2;
    }
    static double piece_s[2 * PIECES_MAX];
    worker w[2] = {{.x = 3, .limit_s = limit_s, .n = n, .piece_s = piece_s},
                   {.x = 7, .limit_s = limit_s, .n = n, .piece_s = piece_s + n}};
    pthread_t other, one;
    double start = seconds(CLOCK_MONOTONIC);
    if (pthread_create(&one, NULL, run, &w[0]) || pthread_create(&other, NULL, run, &w[1]))
        return 3;
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    if (n) say(w, piece_s, 2 * n, seconds(CLOCK_MONOTONIC) - start);
    return w[0].x == w[1].x; /* keeps the work from being optimized away */
}
