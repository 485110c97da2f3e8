/* naps N - measures how much longer usleep(1000) takes than requested, and the cost of calls that
 * do not wait (bench/agent).  Prints one JSON line: overruns in ns (median, p99), ns per call. */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    NAP_NS = 1000000,
    CALLS = 200000,
    ROUNDS = 400
}; /* 500 calls fit between two context switches */

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static int zero;

static void do_poll(void) { poll(NULL, 0, 0); }
static void do_syscall(void) { syscall(SYS_getppid); }
static void do_read(void)
{
    char c;
    if (read(zero, &c, 1) != 1) exit(2);
}

/* Returns the time per call in the fastest round. */
static double ns_of(void (*call)(void))
{
    int64_t best = INT64_MAX;
    for (int r = 0; r < ROUNDS; r++) {
        int64_t start = now();
        for (int i = 0; i < CALLS / ROUNDS; i++) call();
        int64_t took = now() - start;
        if (took < best) best = took;
    }
    return (double)best / (CALLS / ROUNDS);
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 500;
    int64_t *over = calloc((size_t)(n > 0 ? n : 1), sizeof *over);
    FILE *f = fopen("/dev/zero", "r");
    if (n < 1 || !over || !f) return 2;
    zero = fileno(f);
    for (long i = 0; i < n; i++) {
        int64_t start = now();
        for (volatile int k = 0; k < 20000; k++) continue; /* work between two sleeps */
        start = now();
        usleep(NAP_NS / 1000);
        over[i] = now() - start - NAP_NS;
    }
    qsort(over, (size_t)n, sizeof *over, by_size);
    printf("{\"least\": %lld, \"median\": %lld, \"p99\": %lld, \"poll\": %.1f, \"read\": %.1f, "
           "\"syscall\": %.1f}\n",
           (long long)over[0], (long long)over[n / 2], (long long)over[n * 99 / 100],
           ns_of(do_poll), ns_of(do_read), ns_of(do_syscall));
    free(over);
    return 0;
}
