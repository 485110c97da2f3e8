/* busy.c - a program with many deep stacks, to be recorded by perf for bench/peers.
 *
 *   busy SECONDS                    of CPU time, in each of two threads
 *
 * 64 functions with two call sites each, of which the first is much the likelier, as in programs that
 * do something: stacks repeat, some often, many once.  Built with frame pointers, so that the kernel
 * can follow the stacks. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MAX_DEPTH = 32, SPIN = 400 };

typedef uint64_t work_fn(uint64_t x, unsigned depth);
static work_fn *const work[];

static uint64_t next(uint64_t x) { return x * UINT64_C(6364136223846793005) + 1442695040888963407; }

static uint64_t spin(uint64_t x)
{
    for (int i = 0; i < SPIN; i++) x = next(x);
    return x;
}

/* The addition after the call keeps it from becoming a jump, which would lose the frame. */
#define WORK(tens, ones)                                                                           \
    __attribute__((noinline)) static uint64_t work_##tens##ones(uint64_t x, unsigned depth)        \
    {                                                                                              \
        if (depth == 0) return spin(x);                                                            \
        x = next(x);                                                                               \
        unsigned site = x >> 59 ? 1 : 29; /* the second one in 32 calls */                         \
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

static double limit_s;

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *run(void *seed)
{
    uint64_t x = (uintptr_t)seed;
    while (cpu_seconds() < limit_s)
        for (int i = 0; i < 1000; i++) x = work[x >> 62](x, 4 + (unsigned)(x >> 40) % MAX_DEPTH);
    return (void *)(uintptr_t)x;
}

int main(int argc, char **argv)
{
    pthread_t other;
    limit_s = argc == 2 ? strtod(argv[1], NULL) : 0;
    if (limit_s <= 0) {
        fprintf(stderr, "usage: busy SECONDS\n");
        return 2;
    }
    if (pthread_create(&other, NULL, run, (void *)(uintptr_t)7)) return 3;
    void *a = run((void *)(uintptr_t)3), *b;
    pthread_join(other, &b);
    return a == b; /* keeps the work from being optimized away */
}
