/* heap_judge LIBKILN-HEAP.SO - uses the heap library as the agent does, with known allocations.
 * Prints TAP.
 *
 * Runs itself again with the library preloaded.  With an interval of 1 byte every block is a sample
 * that represents itself, so the totals must be exact; at real intervals they must be close.  Seeds
 * are fixed (KILN_SEED), so results are repeatable. */
#include "agent/heap/link.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The program does on purpose what the analyzer reports: leaks, realloc to size 0, handlers that allocate.
 * NOLINTBEGIN(clang-analyzer-*,bugprone-signal-handler,cert-sig30-c) */

/* ---- the agent's part ---- */

static _Thread_local bool own;
static volatile bool disturb; /* a signal arrives while a stack is captured */

static bool own_thread(void) { return own; }

/* Uses frame pointers, which this program and the library have. */
static __attribute__((noinline)) size_t stack_here(uintptr_t *pcs, size_t max, size_t skip,
                                                   uint8_t *end)
{
    uintptr_t *fp = __builtin_frame_address(0);
    size_t n = 0;
    (void)skip;
    if (disturb) raise(SIGUSR1);
    for (uintptr_t *up; n < max; fp = up) {
        pcs[n++] = fp[1] - 1;
        up = (uintptr_t *)fp[0];
        if (up <= fp || up > fp + 8192) break;
    }
    *end = 0;
    return n;
}

__attribute__((visibility("default"))) extern const agent_for_heap kiln_agent_for_heap;
const agent_for_heap kiln_agent_for_heap = {HEAP_LINK_VERSION, stack_here, own_thread};

static const heap_for_agent *heap;

typedef struct totals {
    int64_t alloc_objects, alloc_space, inuse_objects, inuse_space;
    unsigned stacks;
    uintptr_t of; /* only stacks that contain an address in [of, of_end) */
    uintptr_t of_end;
    uint16_t n; /* frames of the last stack */
    uintptr_t leaf;
    int64_t below; /* smallest value of any stack */
} totals;

static void add(void *ctx, const heap_entry *e)
{
    totals *t = ctx;
    bool in = !t->of;
    for (uint16_t i = 0; i < e->n; i++) in |= e->pcs[i] >= t->of && e->pcs[i] < t->of_end;
    if (!in) return;
    t->alloc_objects += e->alloc_objects;
    t->alloc_space += e->alloc_space;
    t->inuse_objects += e->inuse_objects;
    t->inuse_space += e->inuse_space;
    t->stacks++;
    t->n = e->n;
    t->leaf = e->n ? e->pcs[0] : 0;
    if (e->inuse_space < t->below) t->below = e->inuse_space;
    if (e->inuse_objects < t->below) t->below = e->inuse_objects;
}

static totals look(void)
{
    totals t = {0};
    heap->each(add, &t);
    return t;
}

static totals look_through(uintptr_t of, uintptr_t of_end)
{
    totals t = {.of = of, .of_end = of_end};
    heap->each(add, &t);
    return t;
}

/* ---- TAP ---- */

static int count, bad;

static __attribute__((format(printf, 3, 4))) void ok(bool good, const char *name, const char *why,
                                                     ...)
{
    printf("%sok %d - %s\n", good ? "" : "not ", ++count, name);
    bad |= !good;
    if (!good) {
        va_list args;
        va_start(args, why);
        printf("# ");
        vprintf(why, args);
        printf("\n");
        va_end(args);
    }
    fflush(stdout);
}

/* Runs each case in its own process, because the tables are never emptied. */
static void alone(void (*f)(void))
{
    fflush(stdout);
    pid_t pid = fork();
    if (!pid) {
        heap->forked();
        f();
        fflush(stdout);
        _exit(count * 2 + bad);
    }
    int status;
    waitpid(pid, &status, 0);
    if (WIFEXITED(status)) {
        count = WEXITSTATUS(status) / 2;
        bad |= WEXITSTATUS(status) & 1;
    } else
        ok(false, "a case ended", "by signal %d", WTERMSIG(status));
}

/* Prevents the compiler from removing allocations. */
static void *volatile sink;
static volatile size_t half = SIZE_MAX / 2, too_much = (size_t)PTRDIFF_MAX - 4096;

/* ---- every function, exact to the byte ---- */

static void start(uint64_t interval)
{
    if (!heap->start(interval)) ok(false, "start", "failed");
}

static void one_of_each(void)
{
    start(1);
    struct {
        const char *name;
        void *p;
        size_t n;
    } blocks[9] = {0};
    totals before = look();
    size_t sum = 0;
    int k = 0;
#define TAKE(call, bytes)                                                                          \
    do {                                                                                           \
        blocks[k].name = #call;                                                                    \
        blocks[k].n = (bytes);                                                                     \
        blocks[k].p = (call);                                                                      \
        k++;                                                                                       \
    } while (0)
    TAKE(malloc(100), 100);
    TAKE(calloc(10, 11), 110);
    TAKE(realloc(NULL, 120), 120);
    TAKE(reallocarray(NULL, 13, 10), 130);
    TAKE(memalign(64, 140), 140);
    TAKE(aligned_alloc(64, 192), 192);
    TAKE(valloc(160), 160);
    TAKE(pvalloc(170), 170);
    blocks[k].n = 180;
    int error = posix_memalign(&blocks[k].p, 256, 180);
    totals after = look();
    for (int i = 0; i < 9; i++) sum += blocks[i].n;
    ok(!error && after.alloc_objects - before.alloc_objects == 9 &&
           after.alloc_space - before.alloc_space == (int64_t)sum,
       "every allocating function is counted, exact to the byte", "%ld blocks, %ld bytes of %zu",
       (long)(after.alloc_objects - before.alloc_objects),
       (long)(after.alloc_space - before.alloc_space), sum);
    for (int i = 0; i < 9; i++) free(blocks[i].p);
    totals end = look();
    ok(end.inuse_objects == before.inuse_objects && end.inuse_space == before.inuse_space &&
           end.alloc_space == after.alloc_space,
       "free removes all blocks", "%ld bytes remain", (long)(end.inuse_space - before.inuse_space));
    sink = strdup("a text that libc copies");
    totals copied = look();
    ok(copied.inuse_space - end.inuse_space == 24, "libc's own allocations are counted", "%ld",
       (long)(copied.inuse_space - end.inuse_space));
}

static void resizing(void)
{
    start(1);
    totals before = look();
    char *volatile p = malloc(1000);
    p = realloc(p, 1008); /* in place */
    totals t = look();
    ok(t.inuse_objects - before.inuse_objects == 1 && t.inuse_space - before.inuse_space == 1008,
       "realloc in place: one block of the new size", "%ld bytes",
       (long)(t.inuse_space - before.inuse_space));
    sink = malloc(64);
    char *old = p;
    p = realloc(p, 3 << 20); /* moves */
    t = look();
    ok(p != old && t.inuse_space - before.inuse_space == 64 + (3 << 20),
       "realloc that moves: the old block is removed", "%ld bytes",
       (long)(t.inuse_space - before.inuse_space));
    errno = 0;
    void *volatile none = realloc(p, too_much);
    int error = errno;
    totals same = look();
    ok(!none && error == ENOMEM && same.inuse_space == t.inuse_space &&
           same.inuse_objects == t.inuse_objects,
       "realloc that fails: the old block stays", "%ld bytes", (long)same.inuse_space);
    none = reallocarray(p, half, 3);
    ok(!none && errno == ENOMEM && look().inuse_space == t.inuse_space,
       "reallocarray that overflows: the old block stays", "%p", none);
    none = calloc(half, 3);
    ok(!none && look().inuse_space == t.inuse_space, "calloc that overflows", "%p", none);
    free(p);
    free(sink);
    p = malloc(50);
    none = realloc(p, 0); /* glibc frees */
    t = look();
    ok(!none && t.inuse_space == before.inuse_space, "realloc to size 0 frees", "%ld bytes",
       (long)(t.inuse_space - before.inuse_space));
}

/* ---- stacks ---- */

static __attribute__((noinline)) void *leaf_function(size_t n)
{
    void *p = malloc(n);
    __asm__ volatile("" : "+r"(p));
    return p;
}

static void stacks(void)
{
    start(1);
    void *p = leaf_function(4321), *q = leaf_function(4321);
    totals t = look_through((uintptr_t)leaf_function, (uintptr_t)leaf_function + 64);
    ok(t.alloc_objects == 2 && t.inuse_space == 8642, "a stack is one entry with its totals",
       "%ld blocks in %u stacks", (long)t.alloc_objects, t.stacks);
    ok(t.leaf >= (uintptr_t)leaf_function && t.leaf < (uintptr_t)leaf_function + 64,
       "the stack begins with the caller of malloc", "%#lx", (unsigned long)t.leaf);
    free(p);
    free(q);
}

/* ---- a leak, at a real interval ---- */

enum { LEAK = 64 << 20, RUNS = 24 };

static __attribute__((noinline)) void leak(void)
{
    unsigned x = 1;
    for (size_t sum = 0; sum < LEAK;) {
        x = x * 1103515245 + 12345;
        size_t n = 16 + (x >> 16) % 240;
        if (n > LEAK - sum) n = LEAK - sum;
        sink = malloc(n);
        void *brief = malloc(n); /* not every block leaks */
        __asm__ volatile("" : "+r"(brief));
        free(brief);
        sum += n;
    }
}

static double one_leak(int seed)
{
    int pipes[2];
    if (pipe(pipes)) return 1;
    pid_t pid = fork();
    if (!pid) {
        char text[16];
        snprintf(text, sizeof text, "%d", seed);
        setenv("KILN_SEED", text, 1);
        heap->forked();
        start(16384);
        leak();
        totals t = look();
        double error = (double)t.inuse_space / LEAK - 1;
        _exit(write(pipes[1], &error, sizeof error) != sizeof error);
    }
    double error = 1;
    close(pipes[1]);
    if (read(pipes[0], &error, sizeof error) != sizeof error) error = 1;
    close(pipes[0]);
    waitpid(pid, NULL, 0);
    return error;
}

/* 64 MiB in blocks far smaller than the interval: the standard error is sqrt(16 KiB / 64 MiB) = 1.6 %. */
static void leaks(int runs, bool show)
{
    double sum = 0, squares = 0, most = 0;
    int outside = 0;
    for (int i = 0; i < runs; i++) {
        double e = one_leak(i + 1);
        if (show) printf("# seed %d: %+.2f %%\n", i + 1, e * 100);
        sum += e;
        squares += e * e;
        outside += e > 0.05 || e < -0.05;
        if (e > most || -e > most) most = e < 0 ? -e : e;
    }
    printf(
        "# %d seeds: mean %+.3f %%, standard deviation %.3f %%, most %.2f %%, %d outside of 5 %%\n",
        runs, sum / runs * 100, 100 * __builtin_sqrt(squares / runs), most * 100, outside);
    ok(!outside, "a leak of 64 MiB in small blocks within 5 % at 16 KiB", "%d runs were not",
       outside);
    double mean = sum / runs, error = 0.015625 / __builtin_sqrt(runs);
    ok(mean < 4 * error && mean > -4 * error, "the mean over seeds is unbiased", "off by %g %%",
       mean * 100);
}

/* ---- threads ---- */

enum { SLOTS = 4096, THREADS = 4, STEPS = 200000 };
static void *_Atomic table[SLOTS];
static _Atomic long taken_bytes;

static void *storm(void *arg)
{
    unsigned x = (unsigned)(uintptr_t)arg;
    long bytes = 0;
    for (int i = 0; i < STEPS; i++) {
        x = x * 1103515245 + 12345;
        size_t n = 1 + (x >> 8) % 2000;
        char *p = malloc(n);
        bytes += (long)n;
        if (x & 0x40000000) {
            n = 1 + (x >> 12) % 4000;
            p = realloc(p, n);
            bytes += (long)n;
        }
        p[0] = p[n - 1] = (char)x;
        free(atomic_exchange(&table[(x >> 16) % SLOTS], p)); /* a block of another thread */
    }
    taken_bytes += bytes;
    return NULL;
}

static void run_threads(void *(*f)(void *))
{
    pthread_t t[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, f, (void *)(i * 77 + 1));
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
}

static void storm_at(uint64_t interval, double tolerance, const char *name)
{
    start(interval);
    uintptr_t of = (uintptr_t)storm, of_end = of + 512;
    run_threads(storm);
    heap->stop();
    for (int i = 0; i < SLOTS; i++) free(table[i]);
    totals t = look_through(of, of_end);
    double ratio = (double)t.alloc_space / (double)taken_bytes;
    ok(!t.inuse_objects && !t.inuse_space && t.below == 0 && ratio > 1 - tolerance &&
           ratio < 1 + tolerance,
       name, "in use: %ld objects, %ld bytes; allocated %.4f of the truth; %lu lost",
       (long)t.inuse_objects, (long)t.inuse_space, ratio, (unsigned long)heap->counts().live_lost);
}

static void storm_each(void)
{
    storm_at(1, 0.0001, "many threads, every block sampled: nothing is left");
}
static void storm_some(void) { storm_at(16384, 0.05, "many threads, sampled: nothing is left"); }

static void *as_agent(void *arg)
{
    own = true;
    for (int i = 0; i < 1000; i++) free(leaf_function(100));
    return arg;
}

static void agents_thread(void)
{
    start(1);
    run_threads(as_agent);
    totals t = look_through((uintptr_t)leaf_function, (uintptr_t)leaf_function + 64);
    ok(!t.alloc_objects, "the agent's threads are not sampled", "%ld blocks",
       (long)t.alloc_objects);
}

static pthread_key_t key;

static void last_wish(void *p)
{
    free(p);
    free(leaf_function(33));
}

static void *dies(void *arg)
{
    pthread_setspecific(key, leaf_function(44));
    return arg;
}

static void thread_exit(void)
{
    start(1);
    pthread_key_create(&key, last_wish);
    for (int i = 0; i < 200; i++) run_threads(dies);
    totals t = look_through((uintptr_t)leaf_function, (uintptr_t)leaf_function + 64);
    ok(t.alloc_objects == 2 * 200 * THREADS && !t.inuse_objects,
       "threads that end, and destructors that allocate", "%ld blocks, %ld in use",
       (long)t.alloc_objects, (long)t.inuse_objects);
}

/* ---- inside of the sampler: the agent allocates although it must not, and a signal arrives ---- */

static void *volatile handed;

static void on_signal(int sig)
{
    (void)sig;
    free(realloc(malloc(200), 5000));
    free(handed); /* a sampled block, while another one is being sampled */
    handed = NULL;
}

static void interrupted(void)
{
    start(1);
    signal(SIGUSR1, on_signal);
    totals before = look();
    for (int i = 0; i < 100; i++) {
        disturb = false;
        handed = leaf_function(70);
        disturb = true;
        free(leaf_function(80));
    }
    disturb = false;
    totals t = look();
    ok(t.alloc_objects - before.alloc_objects == 200 && t.inuse_objects == before.inuse_objects,
       "allocations of a signal handler during a sample are counted", "%ld blocks, %ld in use",
       (long)(t.alloc_objects - before.alloc_objects),
       (long)(t.inuse_objects - before.inuse_objects));
}

/* ---- full tables ---- */

static void full(void)
{
    enum { MANY = 120000 };
    static void *blocks[MANY];
    start(1);
    totals before = look();
    for (int i = 0; i < MANY; i++) blocks[i] = malloc(32);
    totals t = look();
    heap_counts c = heap->counts();
    ok(c.live_lost > 0 && t.inuse_objects - before.inuse_objects + (int64_t)c.live_lost == MANY &&
           t.alloc_objects - before.alloc_objects == MANY,
       "a full table of live blocks: losses are counted", "%lu lost, %ld in use",
       (unsigned long)c.live_lost, (long)t.inuse_objects);
    for (int i = 0; i < MANY; i++) free(blocks[i]);
    ok(look().inuse_objects == before.inuse_objects, "after free, none of these blocks is in use",
       "%ld", (long)look().inuse_objects);
}

/* ---- fork while other threads allocate ---- */

static _Atomic bool done;

static void *churn(void *arg)
{
    while (!done) free(realloc(malloc(100), 5000));
    return arg;
}

static int child_of_fork(void *kept)
{
    heap->forked();
    totals t = look_through((uintptr_t)leaf_function, (uintptr_t)leaf_function + 64);
    if (t.alloc_objects || t.inuse_space != 12345) return 2;
    free(kept);
    for (int i = 0; i < 100; i++) free(malloc(100));
    t = look_through((uintptr_t)leaf_function, (uintptr_t)leaf_function + 64);
    return t.inuse_space || look().below < 0 ? 3 : 0;
}

static void forks(void)
{
    start(1);
    void *kept = leaf_function(12345);
    pthread_t t[2];
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, churn, NULL);
    int failed = 0;
    for (int i = 0; i < 100 && !failed; i++) {
        pid_t pid = fork();
        if (!pid) _exit(child_of_fork(kept));
        waitpid(pid, &failed, 0);
    }
    done = true;
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    ok(!failed, "a forked child has the inherited blocks, and its own totals", "status %#x",
       failed);
    free(kept);
    ok(look().below == 0, "the totals of the parent continue", "%ld", (long)look().below);
}

int main(int argc, char **argv)
{
    heap = dlsym(RTLD_DEFAULT, "kiln_heap_for_agent");
    if (!heap) {
        if (argc < 2 || getenv("LD_PRELOAD"))
            return fputs("usage: heap_judge LIBKILN-HEAP.SO [RUNS]\n", stderr), 2;
        setenv("LD_PRELOAD", argv[1], 1);
        setenv("KILN_SEED", "1", 1);
        execv("/proc/self/exe", argv);
        return perror("exec"), 3;
    }
    if (argc > 2) { /* manual run: shows the distribution of the error */
        leaks((int)strtol(argv[2], NULL, 10), true);
        return 0;
    }
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    free(leaf_function(1 << 20));
    totals t = look();
    ok(!t.alloc_objects && !heap->counts().samples, "nothing is sampled before the start", "%ld",
       (long)t.alloc_objects);
    void (*const cases[])(void) = {one_of_each, resizing,      stacks,      storm_each,  storm_some,
                                   full,        agents_thread, thread_exit, interrupted, forks};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) alone(cases[i]);
    leaks(RUNS, false);
    printf("1..%d\n", count);
    return bad;
}
/* NOLINTEND(clang-analyzer-*,bugprone-signal-handler,cert-sig30-c) */
