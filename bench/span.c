/* bench/span.c - cost of publishing the current span: enter and exit, compared with an empty call.
 *
 *     bench_span [--json FILE]
 *
 * Rounds are interleaved.  A line shows the best and the median of the rounds, in ns per
 * repetition, and the median difference to the empty call within a round. */
#include "kiln/span.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 41, REPEAT = 200000 };

static const uint8_t ids[16] = "0123456789abcdef";
static int key;

static __attribute__((noinline)) void empty(kiln_span_scope *s)
{
    __asm__ volatile("" ::"r"(s) : "memory");
}

static void run_empty(void)
{
    kiln_span_scope s;
    empty(&s);
    empty(&s);
}

static void run_scope(void)
{
    kiln_span_scope s;
    kiln_span_enter(&s, ids, ids, 1);
    kiln_span_exit(&s);
}

static void run_nested(void)
{
    kiln_span_scope s, t;
    kiln_span_enter(&s, ids, ids, 1);
    kiln_span_enter(&t, ids, ids, 1);
    kiln_span_exit(&t);
    kiln_span_exit(&s);
}

static void run_attr(void)
{
    kiln_span_scope s;
    kiln_span_enter(&s, ids, ids, 1);
    kiln_span_attr(key, "/cart", 5);
    kiln_span_exit(&s);
}

static void run_move(void)
{
    kiln_span_context task;
    kiln_span_detach(&task, NULL);
    kiln_span_attach(&task, NULL);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"two empty calls", run_empty},
             {"enter, exit", run_scope},
             {"enter, enter, exit, exit", run_nested},
             {"enter, attribute, exit", run_attr},
             {"detach, attach", run_move}};
enum { CASES = sizeof cases / sizeof *cases };

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double measure(void (*run)(void))
{
    double start = now_ns();
    for (unsigned i = 0; i < REPEAT; i++) run();
    return (now_ns() - start) / REPEAT;
}

static int by_size(const void *x, const void *y)
{
    const double *a = x, *b = y;
    return (*a > *b) - (*a < *b);
}

static double ns[CASES][ROUNDS], more[CASES][ROUNDS];

static void report(FILE *json)
{
    printf("%-26s %8s %8s %10s\n", "ns", "best", "median", "over empty");
    fprintf(json, "{\"schema\": 1, \"rounds\": %d, \"rows\": [", ROUNDS);
    for (unsigned c = 0; c < CASES; c++) {
        qsort(ns[c], ROUNDS, sizeof(double), by_size);
        qsort(more[c], ROUNDS, sizeof(double), by_size);
        printf("%-26s %8.2f %8.2f %10.2f\n", cases[c].name, ns[c][0], ns[c][ROUNDS / 2],
               more[c][ROUNDS / 2]);
        fprintf(json,
                "%s\n {\"name\": \"%s\", \"ns\": [%.2f, %.2f, %.2f], \"over_empty_ns\": %.2f}",
                c ? "," : "", cases[c].name, ns[c][ROUNDS / 4], ns[c][ROUNDS / 2],
                ns[c][ROUNDS * 3 / 4], more[c][ROUNDS / 2]);
    }
    fprintf(json, "\n]}\n");
}

int main(int argc, char **argv)
{
    FILE *json = fopen(argc == 3 && strcmp(argv[1], "--json") == 0 ? argv[2] : "/dev/null", "w");
    if (!json) return 3;
    key = kiln_span_key("http.route");
    for (unsigned c = 0; c < CASES; c++) measure(cases[c].run);
    for (unsigned r = 0; r < ROUNDS; r++)
        for (unsigned c = 0; c < CASES; c++) {
            ns[c][r] = measure(cases[c].run);
            more[c][r] = ns[c][r] - ns[0][r];
        }
    report(json);
    fclose(json);
    return 0;
}
