/* Three programs with a fixed amount of work, for tests/real/diff:
 *
 *   diff_work sort|parse|threads ROUNDS EXTRA    each round has two halves; the first is repeated EXTRA % more often
 *   diff_work load                               alternately busy and idle, as a neighbour on the machine, until killed
 *
 * EXTRA 20 makes the whole about 10 % slower. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { NUMBERS = 20000, TEXT = 120000, CELLS = 160, THREADS = 2 };

static uint64_t seed = 88172645463325252u;

static uint64_t chance(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static volatile uint64_t sink;

/* ---- sort: merge sort, then binary searches ---- */

static uint32_t numbers[NUMBERS], spare[NUMBERS];

__attribute__((noinline)) static void merge(uint32_t *v, size_t n)
{
    size_t a = 0, b = n / 2, k = 0;
    if (n < 2) return;
    merge(v, n / 2);
    merge(v + n / 2, n - n / 2);
    while (a < n / 2 || b < n) spare[k++] = b >= n || (a < n / 2 && v[a] <= v[b]) ? v[a++] : v[b++];
    memcpy(v, spare, n * sizeof *v);
}

__attribute__((noinline)) static void sort_half(void)
{
    for (size_t i = 0; i < NUMBERS; i++) numbers[i] = (uint32_t)chance();
    merge(numbers, NUMBERS);
}

__attribute__((noinline)) static void search_half(void)
{
    for (size_t i = 0; i < NUMBERS; i++) {
        uint32_t want = (uint32_t)chance();
        size_t low = 0, high = NUMBERS;
        while (low < high) {
            size_t mid = (low + high) / 2;
            if (numbers[mid] < want)
                low = mid + 1;
            else
                high = mid;
        }
        sink += low;
    }
}

/* ---- parse: words of a text, then a table of them ---- */

static char text[TEXT];
static uint32_t table[1 << 16];

__attribute__((noinline)) static void parse_half(void)
{
    uint64_t words = 0, h = 0;
    for (size_t pass = 0; pass < 4; pass++)
        for (size_t i = 0; i < TEXT; i++) {
            char c = text[i];
            if (c == ' ' || c == '\n')
                words++, sink += h, h = 0;
            else
                h = h * 31 + (uint64_t)(c ^ 0x20);
        }
    sink += words;
}

__attribute__((noinline)) static void table_half(void)
{
    for (size_t i = 0; i < TEXT * 2; i++) table[chance() & 0xffff] += (uint32_t)i;
    sink += table[7];
}

/* ---- threads: matrices, each in its own thread ---- */

typedef struct matrices {
    double a[CELLS][CELLS], b[CELLS][CELLS], c[CELLS][CELLS];
} matrices;

__attribute__((noinline)) static void multiply(matrices *m)
{
    for (size_t i = 0; i < CELLS; i++)
        for (size_t j = 0; j < CELLS; j++) {
            double sum = 0;
            for (size_t k = 0; k < CELLS; k++) sum += m->a[i][k] * m->b[j][k];
            m->c[i][j] = sum;
        }
}

__attribute__((noinline)) static void relax(matrices *m)
{
    for (size_t pass = 0; pass < 48; pass++)
        for (size_t i = 1; i + 1 < CELLS; i++)
            for (size_t j = 1; j + 1 < CELLS; j++)
                m->a[i][j] = (m->a[i - 1][j] + m->a[i + 1][j] + m->c[i][j]) / 3;
}

/* ---- rounds ---- */

static long rounds, extra;

/* The number of repetitions of the first half in round i: EXTRA more in a hundred rounds, evenly
 * distributed. */
static int times(long i) { return 1 + ((i + 1) * extra / 100 > i * extra / 100); }

static void *matrix_thread(void *unused)
{
    (void)unused;
    matrices *m = calloc(1, sizeof *m);
    for (long i = 0; m && i < rounds; i++) {
        for (int k = 0; k < times(i); k++) multiply(m);
        relax(m);
    }
    free(m);
    return NULL;
}

static void run_threads(void)
{
    pthread_t t[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        if (pthread_create(&t[i], NULL, matrix_thread, NULL)) exit(1);
    for (size_t i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
}

static void run_rounds(void (*first)(void), void (*second)(void))
{
    for (long i = 0; i < rounds; i++) {
        for (int k = 0; k < times(i); k++) first();
        second();
    }
}

static void make_load(void)
{
    seed ^= (uint64_t)getpid() * 2654435761u;
    for (;;) {
        clock_t until = clock() + (clock_t)(chance() % (CLOCKS_PER_SEC / 3));
        while (clock() < until) table_half();
        usleep((useconds_t)(chance() % 300000));
    }
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "load")) make_load();
    if (argc != 4) return fputs("diff_work sort|parse|threads ROUNDS EXTRA\n", stderr), 2;
    rounds = strtol(argv[2], NULL, 10);
    extra = strtol(argv[3], NULL, 10);
    for (size_t i = 0; i < TEXT; i++) text[i] = chance() % 6 ? (char)('a' + chance() % 26) : ' ';
    if (!strcmp(argv[1], "sort"))
        run_rounds(sort_half, search_half);
    else if (!strcmp(argv[1], "parse"))
        run_rounds(parse_half, table_half);
    else
        run_threads();
    return 0;
}
