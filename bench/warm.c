/* warm.c - repeats one job in reused memory, for bench/peers.
 *
 *     warm FILE N                     prints "wall_s cpu_s": the median of N conversions to OTLP
 *
 * Decompresses, reads and encodes as kiln convert does, without the cost of a process. */
#include "format/format.h"
#include "wire/otlp.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool convert(str in, arena *a, buf *out, err *e)
{
    document d;
    arena_reset(a);
    buf_reset(out);
    return format_read(in, NULL, a, &d, e) && otlp_encode(&d.model, NULL, out, e);
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

static bool read_all(const char *path, buf *out)
{
    FILE *f = fopen(path, "rb");
    char piece[65536];
    if (!f) return false;
    for (size_t n; (n = fread(piece, 1, sizeof piece, f)) > 0;) buf_put(out, piece, n);
    return fclose(f) == 0 && !out->failed;
}

int main(int argc, char **argv)
{
    buf in = {0}, out = {0};
    int n = argc == 3 ? atoi(argv[2]) : 0;
    if (n < 1 || !read_all(argv[1], &in)) {
        fprintf(stderr, "usage: warm FILE N\n");
        return 2;
    }
    double *wall = calloc((size_t)n, sizeof *wall), *cpu = calloc((size_t)n, sizeof *cpu);
    arena a = {0};
    err e = {0};
    for (int i = -1; wall && cpu && i < n; i++) { /* the first one warms the memory */
        double w = seconds(CLOCK_MONOTONIC), c = seconds(CLOCK_PROCESS_CPUTIME_ID);
        if (!convert(buf_view(&in), &a, &out, &e)) {
            fprintf(stderr, "warm: %s\n", e.msg);
            return 1;
        }
        if (i < 0) continue;
        wall[i] = seconds(CLOCK_MONOTONIC) - w;
        cpu[i] = seconds(CLOCK_PROCESS_CPUTIME_ID) - c;
    }
    if (!wall || !cpu) return 3;
    qsort(wall, (size_t)n, sizeof *wall, by_value);
    qsort(cpu, (size_t)n, sizeof *cpu, by_value);
    printf("%.6f %.6f\n", wall[n / 2], cpu[n / 2]);
    return 0;
}
