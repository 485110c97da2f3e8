/* unwind - cost of unwinding one stack: Kiln's unwinder compared with libunwind's unw_backtrace and
 * libgcc's _Unwind_Backtrace.
 *
 *     unwind_omit [--rounds N] [--depth N] [--json FILE]     a program without frame pointers
 *     unwind_keep ...                                        the same program with them
 *
 * Every round runs every contestant once, for BATCH_MS of thread CPU time; a ratio is the median
 * over rounds of the ratio within a round, with its quartiles. "cold" is Kiln's first stack after
 * the cache of rules was emptied: every rule is found in .eh_frame, or in compiled tables. sample.c
 * measures the unwinder in a signal handler.  Exit status 4: a goal was missed. */
#include "unwind/registry.h"

#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unwind.h>
#ifdef BENCH_LIBUNWIND
#include <libunwind.h>
#endif

enum { FRAMES = 512, BATCH_MS = 10, ROUNDS_MAX = 101, DEPTH = 30, ROUNDS = 25 };

typedef struct contestant {
    const char *name;
    void (*run)(void);
    unsigned batch; /* stacks between two reads of the clock */
    double ns[ROUNDS_MAX];
    size_t frames;
} contestant;

typedef struct goal {
    const char *name, *base;
    double most;
} goal;

static unwind_registry *registry, *compiled; /* rules on demand; with tables of all objects */
static unwind_stack stack;
static uintptr_t pcs[FRAMES];
static size_t got;

/* ---- contestants ---- */

static void kiln(void)
{
    unwind_regs r = unwind_regs_here();
    unwind_gate *d = registry_gate(registry);
    got = unwind(snapshot_enter(d), &r, &stack, pcs, FRAMES).n;
    snapshot_leave(d);
}

static void kiln_unknown_stack(void)
{
    unwind_regs r = unwind_regs_here();
    unwind_gate *d = registry_gate(registry);
    got = unwind(snapshot_enter(d), &r, NULL, pcs, FRAMES).n;
    snapshot_leave(d);
}

static void kiln_cold(void)
{
    unwind_snapshot *s = atomic_load(&registry_gate(registry)->current);
    memset(s->cache, 0, sizeof s->cache);
    kiln();
}

static void kiln_cold_tables(void)
{
    unwind_gate *d = registry_gate(compiled);
    unwind_snapshot *s = snapshot_enter(d);
    memset(s->cache, 0, sizeof s->cache);
    unwind_regs r = unwind_regs_here();
    got = unwind(s, &r, &stack, pcs, FRAMES).n;
    snapshot_leave(d);
}

static void drop_cache(void)
{
    unwind_snapshot *s = atomic_load(&registry_gate(registry)->current);
    memset(s->cache, 0, sizeof s->cache);
}

#ifdef BENCH_LIBUNWIND
static void libunwind(void)
{
    void *v[FRAMES];
    got = (size_t)unw_backtrace(v, FRAMES);
}
#endif

static _Unwind_Reason_Code (*gcc_backtrace)(_Unwind_Trace_Fn, void *);
static uintptr_t (*gcc_ip)(struct _Unwind_Context *);

static _Unwind_Reason_Code on_frame(struct _Unwind_Context *c, void *p)
{
    (void)p;
    if (got == FRAMES) return _URC_END_OF_STACK;
    pcs[got++] = gcc_ip(c);
    return _URC_NO_REASON;
}

static void libgcc(void)
{
    got = 0;
    gcc_backtrace(on_frame, NULL);
}

static contestant all[] = {
    {.name = "kiln", .run = kiln, .batch = 1000},
    {.name = "kiln, unknown stack", .run = kiln_unknown_stack, .batch = 500},
    {.name = "kiln, cold cache", .run = kiln_cold, .batch = 50},
    {.name = "kiln, cold, tables", .run = kiln_cold_tables, .batch = 50},
    {.name = "dropping the cache", .run = drop_cache, .batch = 50},
#ifdef BENCH_LIBUNWIND
    {.name = "libunwind", .run = libunwind, .batch = 500},
#endif
    {.name = "libgcc", .run = libgcc, .batch = 100},
};

/* ---- measuring ---- */

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static NOINLINE void measure(contestant *c, unsigned round)
{
    c->run();
    c->frames = got;
    double start = now_ns(), spent;
    unsigned long n = 0;
    do {
        for (unsigned i = 0; i < c->batch; i++) c->run();
        n += c->batch;
        spent = now_ns() - start;
    } while (spent < BATCH_MS * 1e6);
    c->ns[round] = spent / (double)n;
}

static void rounds_here(unsigned rounds)
{
    for (unsigned r = 0; r < rounds; r++)
        for (size_t i = 0; i < ARRAY_LEN(all); i++) measure(&all[(i + r) % ARRAY_LEN(all)], r);
}

/* Functions that call each other in a ring, so that every frame has its own rule. */
static int (*const ring[32])(unsigned, unsigned, unsigned);

static NOINLINE int deeper(unsigned at, unsigned depth, unsigned rounds)
{
    return depth ? ring[at % 32](at + 1, depth - 1, rounds) : (rounds_here(rounds), 1);
}

#define LEVEL(n)                                                                                   \
    static NOINLINE int level_##n(unsigned at, unsigned depth, unsigned rounds)                    \
    {                                                                                              \
        volatile char room[8 * (n % 10) + 8];                                                      \
        room[0] = n;                                                                               \
        int r = depth ? ring[at % 32](at + 1, depth - 1, rounds) : (rounds_here(rounds), 1);       \
        __asm__ volatile("" ::: "memory"); /* not a tail call */                                   \
        return r + room[0];                                                                        \
    }
/* clang-format off */
#define EACH(X)                                                                                    \
    X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) \
    X(26) X(27) X(28) X(29) X(30) X(31) X(32) X(33) X(34) X(35) X(36) X(37) X(38) X(39) X(40) X(41)
/* clang-format on */
EACH(LEVEL)
#define NAME(n) level_##n,
static int (*const ring[32])(unsigned, unsigned, unsigned) = {EACH(NAME)};

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Lower quartile, median and upper quartile over rounds. */
typedef struct spread {
    double lo, mid, hi;
} spread;

static spread spread_of(const double *v, unsigned n)
{
    double sorted[ROUNDS_MAX];
    memcpy(sorted, v, n * sizeof *v);
    qsort(sorted, n, sizeof *sorted, by_value);
    return (spread){sorted[n / 4], sorted[n / 2], sorted[n * 3 / 4]};
}

static const contestant *named(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (strcmp(all[i].name, name) == 0) return &all[i];
    return NULL;
}

static spread ratio(const contestant *a, const contestant *b, unsigned rounds)
{
    double v[ROUNDS_MAX];
    for (unsigned i = 0; i < rounds; i++) v[i] = a->ns[i] / b->ns[i];
    return spread_of(v, rounds);
}

static const goal goals[] = {
    {"kiln", "libunwind", 1.5},
    {"kiln", "libgcc", 0.12},
};

static bool report(unsigned depth, unsigned rounds, FILE *json)
{
    bool met = true;
    printf("%s, depth %u, %u rounds\n", BENCH_VARIANT, depth, rounds);
    fprintf(json, "{\"variant\": \"%s\", \"depth\": %u, \"rounds\": %u, \"ns\": {", BENCH_VARIANT,
            depth, rounds);
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        double ns = spread_of(all[i].ns, rounds).mid;
        printf("  %-22s %9.1f ns a stack  %6.2f ns a frame  (%zu frames)\n", all[i].name, ns,
               ns / (double)(all[i].frames ? all[i].frames : 1), all[i].frames);
        fprintf(json, "%s\"%s\": %.1f", i ? ", " : "", all[i].name, ns);
    }
    fprintf(json, "}, \"ratios\": {");
    for (size_t i = 0, n = 0; i < ARRAY_LEN(goals); i++) {
        const contestant *a = named(goals[i].name), *b = named(goals[i].base);
        if (!b) {
            printf("  %s / %s: not measured (not installed)\n", goals[i].name, goals[i].base);
            continue;
        }
        spread x = ratio(a, b, rounds);
        bool ok = x.mid <= goals[i].most;
        met = met && ok;
        printf("  %s / %s = %.3f (%.3f .. %.3f; goal: at most %.2f)%s\n", goals[i].name,
               goals[i].base, x.mid, x.lo, x.hi, goals[i].most, ok ? "" : "  MISSED");
        fprintf(json, "%s\"%s / %s\": [%.3f, %.3f, %.3f]", n++ ? ", " : "", goals[i].name,
                goals[i].base, x.lo, x.mid, x.hi);
    }
    fprintf(json, "}}\n");
    return met;
}

static unsigned number(const char *s, unsigned most)
{
    unsigned long v = strtoul(s, NULL, 10);
    return v < 1 ? 1 : v > most ? most : (unsigned)v;
}

int main(int argc, char **argv)
{
    unsigned rounds = ROUNDS, depth = DEPTH;
    FILE *json = fopen("/dev/null", "w");
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--rounds") == 0) rounds = number(argv[i + 1], ROUNDS_MAX);
        if (strcmp(argv[i], "--depth") == 0) depth = number(argv[i + 1], FRAMES - 32);
        if (strcmp(argv[i], "--json") == 0) json = fopen(argv[i + 1], "w");
    }
    void *gcc =
        dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL); /* by handle: libunwind has its own */
    err e = {0};
    registry = registry_open(NULL, &e);
    compiled = registry_open(NULL, &e);
    if (!gcc || !json || !registry || !compiled || !registry_refresh(registry, &e) ||
        !registry_refresh(compiled, &e) || !registry_compile_all(compiled, &e))
        return 3;
    gcc_backtrace = (_Unwind_Reason_Code(*)(_Unwind_Trace_Fn, void *))(uintptr_t)dlsym(
        gcc, "_Unwind_Backtrace");
    gcc_ip = (uintptr_t(*)(struct _Unwind_Context *))(uintptr_t)dlsym(gcc, "_Unwind_GetIP");
    stack = unwind_stack_here();
    deeper(0, depth, rounds);
    bool met = report(depth, rounds, json);
    fclose(json);
    registry_close(registry);
    registry_close(compiled);
    return met ? 0 : 4;
}
