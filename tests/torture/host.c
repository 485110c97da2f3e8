/* tests/torture/host.c - torture_host CASE [SEED [PERCENT [ARG]]]: runs one case; without
 * arguments, lists them. */
#include "torture.h"

#include <dirent.h>
#include <stdatomic.h>

static const torture_case *const tables[] = {
    process_cases, thread_cases, signal_cases, stack_cases, ending_cases, limit_cases,
#ifndef TORTURE_STATIC /* static programs have no loader */
    loader_cases,
#endif
};

volatile uintptr_t torture_nowhere = 64;

void torture_failed(const char *file, int line, const char *what)
{
    int error = errno;
    const char *name = strrchr(file, '/');
    fprintf(stderr, "torture: %s:%d: %s (%s)\n", name ? name + 1 : file, line, what,
            strerror(error));
    fflush(NULL);
    _exit(99);
}

uint64_t torture_random(torture *t) /* xorshift64* */
{
    t->random ^= t->random >> 12, t->random ^= t->random << 25, t->random ^= t->random >> 27;
    return t->random * 0x2545f4914f6cdd1d;
}

/* ---- resources that must not grow ---- */

static long descriptors(void)
{
    long n = 0;
    DIR *d = opendir("/proc/self/fd");
    if (!d) return -1;
    while (readdir(d)) n++;
    closedir(d);
    return n - 3; /* ., .., the directory itself */
}

static long rss_kb(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f) return -1;
    if (fscanf(f, "%*d %ld", &pages) != 1) pages = -1;
    fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void tell(const char *key, long early, long late)
{
    const char *path = getenv("TORTURE_FACTS");
    FILE *f = path ? fopen(path, "a") : NULL;
    if (!f) return;
    fprintf(f, "%s %ld %ld\n", key, early, late);
    fclose(f);
}

/* Waits for the agent to close descriptors, because it notices the end of a thread with a delay:
 * two seconds, or twenty when more are open than tests/torture/run permits. */
static long descriptors_at_rest(long wanted)
{
    enum { SLACK = 8 };
    long n = descriptors();
    for (int tries = 0; tries < (n > wanted + SLACK ? 2000 : 200) && n > wanted; tries++) {
        torture_sleep_us(10000);
        n = descriptors();
    }
    return n;
}

bool torture_round(torture *t, unsigned *i, unsigned usual)
{
    unsigned rounds = usual * t->percent / 100;
    if (rounds < 4) rounds = 4;
    if (*i == rounds / 4) t->early.fds = descriptors(), t->early.rss_kb = rss_kb();
    if (*i == rounds) {
        tell("rss_kb", t->early.rss_kb, rss_kb());
        tell("fds", t->early.fds, descriptors_at_rest(t->early.fds));
        return false;
    }
    return ++*i, true;
}

/* ---- work ---- */

static uint64_t thread_ns(void)
{
    struct timespec s;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &s);
    return (uint64_t)s.tv_sec * 1000000000 + (uint64_t)s.tv_nsec;
}

NOINLINE void torture_spin_us(unsigned us)
{
    volatile uint64_t x = 1;
    for (uint64_t end = thread_ns() + us * 1000ull; thread_ns() < end;)
        for (int i = 0; i < 500; i++) x = x * 31 + 1;
}

void torture_sleep_us(unsigned us)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    uint64_t ns = (uint64_t)end.tv_nsec + us * 1000ull;
    end.tv_sec += (time_t)(ns / 1000000000), end.tv_nsec = (long)(ns % 1000000000);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR) {}
}

NOINLINE uint64_t torture_malloc(uint64_t seed, unsigned blocks)
{
    enum { HELD = 64 };
    torture t = {.random = seed | 1};
    unsigned char *held[HELD] = {0};
    uint64_t sum = 0;
    for (unsigned i = 0; i < blocks; i++) {
        uint64_t r = torture_random(&t);
        unsigned char **p = &held[r % HELD];
        size_t n = 1 + (r >> 8) % ((r >> 40) % 16 ? 600 : 40000);
        if (*p) sum += **p;
        switch ((r >> 50) % 4) {
        case 0: MUST(*p = realloc(*p, n)); break;
        case 1: free(*p), *p = calloc(1, n); break;
        case 2: free(*p), *p = aligned_alloc(64, (n + 63) & ~(size_t)63); break;
        default: free(*p), *p = malloc(n);
        }
        MUST(*p);
        memset(*p, (int)(r >> 16), n < 64 ? n : 64);
    }
    for (size_t i = 0; i < HELD; i++) free(held[i]);
    return sum;
}

int torture_wait(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0) MUST(errno == EINTR);
    return WIFSIGNALED(status) ? 256 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* ---- groups of threads ---- */

enum { CROWD = 32 };
static pthread_t crowd[CROWD];
static unsigned crowded;
static atomic_bool crowd_ends;

static void *crowd_spins(void *unused)
{
    while (!atomic_load(&crowd_ends)) torture_spin_us(200);
    return unused;
}

static void *crowd_allocates(void *unused)
{
    for (uint64_t i = 1; !atomic_load(&crowd_ends); i++) torture_malloc(i, 100);
    return unused;
}

void torture_crowd(unsigned threads, bool allocate)
{
    MUST(threads <= CROWD);
    atomic_store(&crowd_ends, false);
    for (crowded = 0; crowded < threads; crowded++)
        MUST(
            !pthread_create(&crowd[crowded], NULL, allocate ? crowd_allocates : crowd_spins, NULL));
}

void torture_crowd_leave(void)
{
    atomic_store(&crowd_ends, true);
    while (crowded > 0) MUST(!pthread_join(crowd[--crowded], NULL));
}

/* ---- main program ---- */

static const torture_case *find(const char *name)
{
    for (size_t i = 0; i < COUNT(tables); i++)
        for (const torture_case *c = tables[i]; c->name; c++)
            if (!strcmp(c->name, name)) return c;
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        for (size_t i = 0; i < COUNT(tables); i++)
            for (const torture_case *c = tables[i]; c->name; c++) puts(c->name);
        return 0;
    }
    torture t = {.self = argv[0], .seed = 1, .percent = 100};
    if (argc > 2) t.seed = strtoull(argv[2], NULL, 10);
    if (argc > 3) t.percent = (unsigned)strtoul(argv[3], NULL, 10);
    if (argc > 4) t.arg = argv[4];
    t.random = t.seed * 0x9e3779b97f4a7c15 + 1;
    const torture_case *c = find(argv[1]);
    if (!c) {
        fprintf(stderr, "torture_host: no case %s\n", argv[1]);
        return 2;
    }
    return c->run(&t);
}
