/* lookup FILE - measures how long kiln takes to build the index of FILE and to find the frames of
 * each address on standard input (hex, one per line).  Prints one line of JSON with wall-clock
 * times. */
#include "objfile/index.h"
#include "sys/file.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int fail(const err *e)
{
    char text[512];
    fprintf(stderr, "lookup: %s\n", err_text(e, text, sizeof text));
    return 1;
}

/* Looks up all addresses once; returns the number of frames found. */
static size_t pass(const index_view *x, const uint64_t *v, size_t n)
{
    size_t frames = 0;
    index_frame f[INDEX_MAX_FRAMES];
    for (size_t i = 0; i < n; i++) frames += index_find(x, v[i], f, INDEX_MAX_FRAMES);
    return frames;
}

int main(int argc, char **argv)
{
    enum { PASSES = 5 };
    arena a = {0};
    err e = {0};
    file_bytes bytes;
    elf_file f;
    str block;
    index_view x;
    VEC(uint64_t) v = {0};
    if (argc != 2) return 2;
    for (char line[64]; fgets(line, sizeof line, stdin);) {
        uint64_t *to = vec_push(&a, &v);
        if (to) *to = strtoull(line, NULL, 16);
    }
    double start = now();
    if (!file_read(argv[1], 0, &bytes, &e) || !elf_read(bytes.bytes, &a, &f, &e) ||
        !index_build(&(index_source){.file = &f, .debug = &f}, &a, &block, &e) ||
        !index_open(block, &x, &e))
        return fail(&e);
    double built = now(), first = 0, best = 1e9;
    size_t frames = 0;
    for (unsigned i = 0; i < PASSES; i++) { /* the first one is cold */
        double t = now();
        frames = pass(&x, v.v, v.n);
        t = now() - t;
        if (!i) first = t;
        if (t < best) best = t;
    }
    double n = v.n ? (double)v.n : 1;
    printf("{\"build_s\": %.6f, \"index_bytes\": %zu, \"rows\": %" PRIu64
           ", \"addresses\": %zu, \"frames\": %zu, \"first_ns\": %.1f, \"ns\": %.1f}\n",
           built - start, block.n, x.h.n_rows, v.n, frames, first / n * 1e9, best / n * 1e9);
    file_release(&bytes);
    arena_free(&a);
    return 0;
}
