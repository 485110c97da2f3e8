/* bench/heap.c - the cost of the heap object for malloc and free, compared with other heap
 * profilers.
 *
 *     bench/heap [--rounds N] [--json FILE]
 *
 * A malloc interposer stays for the lifetime of a process, so each contestant is a process (this
 * program again, preloaded) that waits for commands; in a round each of them runs each case once,
 * in rotating order.  A figure is ns of thread CPU time for one repetition; a ratio is the median
 * over rounds of the ratio, within a round, to the contestant's base: the same allocator without a
 * profiler.  Memory is the peak of a process that holds 64 MiB in small blocks. */
#include "base/compiler.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 31, ROUNDS_MAX = 301, HOLD = 64 << 20 };

/* operator new and delete, as C functions */
void *_Znwm(size_t n);
void _ZdlPv(void *p);

/* ---- cases: each repeats `n` times ---- */

static void *volatile sink;

static void run_pair(unsigned n)
{
    while (n--) {
        sink = malloc(64);
        free(sink);
    }
}

static void run_new(unsigned n)
{
    while (n--) {
        sink = _Znwm(64);
        _ZdlPv(sink);
    }
}

/* As in real programs: sizes up to 1 KiB, freed much later, in random order. */
static void run_mixed(unsigned n)
{
    static void *held[1 << 13];
    unsigned x = 1;
    while (n--) {
        x = x * 1103515245 + 12345;
        void **slot = &held[(x >> 8) % ARRAY_LEN(held)];
        free(*slot);
        *slot = malloc(16 + (x >> 22));
    }
}

static void run_grow(unsigned n)
{
    while (n--) {
        sink = NULL;
        for (size_t size = 16; size <= 4096; size *= 2) sink = realloc(sink, size);
        free(sink);
    }
}

static void run_large(unsigned n)
{
    while (n--) {
        sink = malloc(64 << 10);
        free(sink);
    }
}

static const struct {
    const char *name;
    void (*run)(unsigned n);
    unsigned n;
} cases[] = {{"malloc, free: 64 B", run_pair, 200000},
             {"new, delete: 64 B", run_new, 200000},
             {"malloc, free: mixed, 8192 held", run_mixed, 100000},
             {"realloc 16 B .. 4 KiB, free", run_grow, 10000},
             {"malloc, free: 64 KiB", run_large, 20000}};
enum { CASES = ARRAY_LEN(cases) };

/* ---- a contestant ---- */

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double peak_kb(void)
{
    char text[4096], *at;
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    at = strstr(text, "VmHWM:");
    return at ? strtod(at + 6, NULL) : 0;
}

/* slow: the contestant repeats less often, so that a round does not take too long. */
static double obey(unsigned char order, unsigned slow)
{
    if (order < CASES) {
        unsigned n = cases[order].n / slow;
        double start = now_ns();
        cases[order].run(n);
        return (now_ns() - start) / n;
    }
    for (size_t sum = 0; sum < HOLD; sum += 128) *(char *)(sink = malloc(128)) = 1;
    return peak_kb();
}

static int contestant_main(unsigned slow)
{
    for (unsigned char order; read(0, &order, 1) == 1;) {
        double answer = obey(order, slow);
        if (write(1, &answer, sizeof answer) != sizeof answer) return 3;
    }
    return 0;
}

/* ---- all of them ---- */

typedef struct contestant {
    const char *name;
    int base; /* index of the contestant it is compared with; its own index: it is a base */
    const char *preload; /* %s is the build directory */
    const char *needs;   /* available if this file exists; NULL: always */
    const char *env[4];  /* %s is a directory for its files */
    bool slow;
    int to, from;
    pid_t pid;
    double ns[CASES][ROUNDS_MAX], ratio[CASES][ROUNDS_MAX], peak_kb;
} contestant;

#define LIB "/usr/lib/x86_64-linux-gnu/"
#define KILN(interval)                                                                             \
    {                                                                                              \
        "KILN_PROFILE=heap", "KILN_EXPORT=file", "KILN_FILE=%s/kiln.otlp",                         \
            "KILN_HEAP_INTERVAL=" interval                                                         \
    }

static contestant all[] = {
    {.name = "glibc"},
    {.name = "kiln, loaded and off", .preload = "%s/libkiln-heap.so"},
    {.name = "kiln, every 512 KiB",
     .preload = "%s/libkiln-agent.so:%s/libkiln-heap.so",
     .env = KILN("524288")},
    {.name = "kiln, every 16 KiB",
     .preload = "%s/libkiln-agent.so:%s/libkiln-heap.so",
     .env = KILN("16384")},
    {.name = "heaptrack (every block)",
     .preload = "/usr/lib/heaptrack/libheaptrack_preload.so",
     .needs = "/usr/lib/heaptrack/libheaptrack_preload.so",
     .env = {"DUMP_HEAPTRACK_OUTPUT=/dev/null"}},
    {.name = "tcmalloc",
     .base = 5,
     .preload = LIB "libtcmalloc.so.4",
     .needs = LIB "libtcmalloc.so.4"},
    {.name = "tcmalloc, every 512 KiB",
     .base = 5,
     .preload = LIB "libtcmalloc.so.4",
     .needs = LIB "libtcmalloc.so.4",
     .env = {"TCMALLOC_SAMPLE_PARAMETER=524288"}},
    {.name = "tcmalloc, HEAPPROFILE",
     .base = 5,
     .slow = true,
     .preload = LIB "libtcmalloc.so.4",
     .needs = LIB "libtcmalloc.so.4",
     .env = {"HEAPPROFILE=%s/tcmalloc", "HEAP_PROFILE_ALLOCATION_INTERVAL=0",
             "HEAP_PROFILE_INUSE_INTERVAL=0"}},
};
enum { ALL = ARRAY_LEN(all) };

static char build[1024], folder[] = "/tmp/kiln-bench-heap-XXXXXX";

/* Returns text with %s replaced, for setenv and putenv; it is never freed. */
static char *filled(const char *text, const char *with)
{
    char *out = malloc(strlen(text) + 2 * strlen(with) + 1), *to = out;
    for (; out && *text; text++)
        if (text[0] == '%' && text[1] == 's') {
            to = stpcpy(to, with);
            text++;
        } else
            *to++ = *text;
    if (out) *to = 0;
    return out;
}

static void become(const contestant *c, int to, int from)
{
    dup2(to, 0);
    dup2(from, 1);
    for (size_t i = 0; i < ARRAY_LEN(c->env) && c->env[i]; i++) putenv(filled(c->env[i], folder));
    if (c->preload) setenv("LD_PRELOAD", filled(c->preload, build), 1);
    if (!freopen("/dev/null", "w", stderr)) _exit(3); /* the peers print greetings */
    execl("/proc/self/exe", "heap", "--contestant", c->slow ? "slow" : "fast", (char *)NULL);
    _exit(3);
}

static bool start(contestant *c)
{
    int to[2], from[2];
    if (c->needs && access(c->needs, R_OK)) return true;
    if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC)) return false;
    c->pid = fork();
    if (!c->pid) become(c, to[0], from[1]);
    close(to[0]);
    close(from[1]);
    c->to = to[1];
    c->from = from[0];
    return c->pid > 0;
}

static bool ask(const contestant *c, unsigned char order, double *answer)
{
    return write(c->to, &order, 1) == 1 && read(c->from, answer, sizeof *answer) == sizeof *answer;
}

static bool round_of_all(unsigned r)
{
    double warm;
    for (unsigned k = 0; k < CASES; k++) {
        for (unsigned i = 0; i < ALL; i++) {
            contestant *c = &all[(i + r) % ALL];
            if (!c->pid) continue;
            if (!r && !ask(c, (unsigned char)k, &warm)) return false;
            if (!ask(c, (unsigned char)k, &c->ns[k][r])) return false;
        }
        for (unsigned i = 0; i < ALL; i++)
            if (all[i].pid) all[i].ratio[k][r] = all[i].ns[k][r] / all[all[i].base].ns[k][r];
    }
    return true;
}

/* ---- the table ---- */

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static void report_case(unsigned k, unsigned rounds, FILE *json)
{
    printf("%-34s %9s %9s %9s   %s\n", cases[k].name, "best ns", "median", "ratio", "quartiles");
    for (unsigned i = 0; i < ALL; i++) {
        contestant *c = &all[i];
        if (!c->pid) continue;
        qsort(c->ns[k], rounds, sizeof(double), by_value);
        qsort(c->ratio[k], rounds, sizeof(double), by_value);
        const double *ns = c->ns[k], *ratio = c->ratio[k];
        printf("  %-32s %9.1f %9.1f ", c->name, ns[0], ns[rounds / 2]);
        if (c->base != (int)i)
            printf("%8.2fx   %.2f .. %.2f", ratio[rounds / 2], ratio[rounds / 4],
                   ratio[rounds * 3 / 4]);
        printf("\n");
        fprintf(json,
                "%s\n {\"case\": \"%s\", \"name\": \"%s\", \"median_ns\": %.2f, \"ratio\": %.3f}",
                i || k ? "," : "", cases[k].name, c->name, ns[rounds / 2], ratio[rounds / 2]);
    }
}

static void report(unsigned rounds, FILE *json)
{
    fprintf(json, "{\"schema\": 1, \"rounds\": %u, \"rows\": [", rounds);
    for (unsigned k = 0; k < CASES; k++) report_case(k, rounds, json);
    fprintf(json, "\n], \"peak_kb\": {");
    printf("%-34s %9s %9s\n", "64 MiB held in blocks of 128 B", "peak KiB", "more");
    for (unsigned i = 0; i < ALL; i++) {
        const contestant *c = &all[i];
        if (!c->pid) {
            printf("  %-32s not measured: no %s\n", c->name, c->needs);
            continue;
        }
        printf("  %-32s %9.0f %9.0f\n", c->name, c->peak_kb, c->peak_kb - all[c->base].peak_kb);
        fprintf(json, "%s\"%s\": %.0f", i ? ", " : "", c->name, c->peak_kb);
    }
    fprintf(json, "}}\n");
}

static bool contest(unsigned rounds)
{
    for (unsigned i = 0; i < ALL; i++)
        if (!start(&all[i])) return false;
    for (unsigned r = 0; r < rounds; r++)
        if (!round_of_all(r)) return false;
    for (unsigned i = 0; i < ALL; i++)
        if (all[i].pid && !ask(&all[i], CASES, &all[i].peak_kb)) return false;
    for (unsigned i = 0; i < ALL; i++) {
        if (!all[i].pid) continue;
        close(all[i].to);
        waitpid(all[i].pid, NULL, 0);
    }
    return true;
}

static void remove_folder(void)
{
    pid_t pid = fork();
    if (!pid) {
        execlp("rm", "rm", "-rf", folder, (char *)NULL);
        _exit(3);
    }
    waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
    unsigned rounds = ROUNDS;
    FILE *json = NULL;
    if (argc == 3 && !strcmp(argv[1], "--contestant"))
        return contestant_main(argv[2][0] == 's' ? 100 : 1);
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--rounds")) rounds = (unsigned)strtoul(argv[i + 1], NULL, 10);
        if (!strcmp(argv[i], "--json")) json = fopen(argv[i + 1], "w");
    }
    if (!json) json = fopen("/dev/null", "w");
    ssize_t n = readlink("/proc/self/exe", build, sizeof build - 1);
    if (!json || rounds < 1 || rounds > ROUNDS_MAX || n <= 0 || !mkdtemp(folder)) return 2;
    for (int up = 0; up < 2; up++) *strrchr(build, '/') = 0; /* BUILD/bench/heap */
    bool good = contest(rounds);
    if (good)
        report(rounds, json);
    else
        fprintf(stderr, "heap: a contestant ended\n");
    fclose(json);
    remove_folder();
    return good ? 0 : 3;
}
