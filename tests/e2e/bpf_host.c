/* Programs whose stacks, waits and spans are known, for bpf_walk.
 *
 *     bpf_host deep DEPTH       computes below DEPTH calls, until it is killed
 *     bpf_host naps N USEC      sleeps N times, then reads N times from a pipe that a thread fills;
 *                               prints its own measurements
 *     bpf_host spans HZ         switches its span HZ times a second while it computes
 * It begins when a line arrives on stdin. */
#include "kiln/span.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static volatile uint64_t sink;

static NOINLINE void work(uint64_t n)
{
    uint64_t x = n;
    for (uint64_t i = 0; i < n; i++) x = x * 6364136223846793005u + i;
    sink += x;
}

/* ---- deep ---- */

/* Not a tail call, and with registers to save. */
static NOINLINE uint64_t down(unsigned depth, uint64_t a, uint64_t b)
{
    volatile uint64_t room[6] = {a, b, depth};
    if (!depth) {
        work(100000);
        return room[0] ^ room[1];
    }
    uint64_t r = down(depth - 1, a * 3 + b, b + room[2]);
    return r + room[1] * a;
}

static void run_deep(unsigned depth)
{
    for (;;) sink += down(depth, sink, 7);
}

/* ---- naps ---- */

enum { PIPE_US = 2000 };

typedef struct feeder {
    int fd;
    unsigned n;
} feeder;

static void *feed(void *arg)
{
    feeder *f = arg;
    for (unsigned i = 0; i < f->n; i++) {
        usleep(PIPE_US);
        if (write(f->fd, "x", 1) != 1) abort();
    }
    return NULL;
}

static void run_naps(unsigned n, unsigned us)
{
    uint64_t start = now_ns(), napped = 0, piped = 0;
    int fd[2];
    char c;
    pthread_t t;
    for (unsigned i = 0; i < n; i++) {
        uint64_t from = now_ns();
        usleep(us);
        napped += now_ns() - from;
        work(20000);
    }
    if (pipe(fd) != 0) abort();
    feeder f = {fd[1], n};
    if (pthread_create(&t, NULL, feed, &f) != 0) abort();
    for (unsigned i = 0; i < n; i++) {
        uint64_t from = now_ns();
        if (read(fd[0], &c, 1) != 1) abort();
        piped += now_ns() - from;
    }
    pthread_join(t, NULL);
    printf("naps_ms %.3f pipe_ms %.3f wall_ms %.3f\n", (double)napped / 1e6, (double)piped / 1e6,
           (double)(now_ns() - start) / 1e6);
    fflush(stdout);
}

/* ---- spans ---- */

/* bpf_tool checks the relation between the ids. */
static void enter_span(kiln_span_scope *scope, int key, uint64_t a)
{
    char text = (char)('A' + a % 16);
    uint8_t trace[16], span[8];
    uint64_t b = ~a, c = a * 0x9e3779b97f4a7c15u;
    memcpy(trace, &a, 8);
    memcpy(trace + 8, &b, 8);
    memcpy(span, &c, 8);
    kiln_span_enter(scope, trace, span, KILN_SPAN_SAMPLED);
    (void)kiln_span_attr(key, &text, 1);
}

static void run_spans(double hz)
{
    uint64_t step = (uint64_t)(1e9 / hz), next = now_ns();
    int key = kiln_span_key("letter");
    for (uint64_t a = 1;; a++) {
        kiln_span_scope scope;
        enter_span(&scope, key, a);
        next += step;
        while (now_ns() < next) work(50);
        kiln_span_exit(&scope);
    }
}

int main(int argc, char **argv)
{
    char line[16];
    if (argc < 3) return 2;
    if (!fgets(line, sizeof line, stdin)) return 1;
    unsigned n = (unsigned)strtoul(argv[2], NULL, 10);
    if (strcmp(argv[1], "deep") == 0) run_deep(n);
    if (strcmp(argv[1], "spans") == 0) run_spans(n);
    if (strcmp(argv[1], "naps") == 0) {
        run_naps(n, argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 10000);
        pause();
    }
    return 0;
}
