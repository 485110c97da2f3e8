/* A program that knows how long its threads wait, for record_waits.
 *
 *     record_waits_host FILE
 * Prints `ready PID`.  A line on stdin starts the threads; their names tell how they wait.  Prints their measurements in ns of
 * CLOCK_REALTIME, then `done 0`, and ends with the input:
 *
 *     thread TID NAME CREATED STARTED ENDED JOINED CPU
 *     wait TID BEGAN ENDED             one wait of a thread
 *     faults N                         major page faults of the thread `faults`, which reads FILE */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { WAITS_MAX = 512, NAPS = 50, LOCKS = 30, SHORT = 200, PAGE = 4096, PAGES_READ = 1500 };

typedef struct worker {
    const char *name;
    void (*run)(struct worker *w);
    uint64_t created, started, ended, joined, cpu;
    long tid;
    pthread_t thread;
    struct {
        uint64_t began, ended;
    } waits[WAITS_MAX];
    unsigned n_waits;
} worker;

static int ends[2]; /* of the pipe */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int holder_done;
static const char *file;
static long faults;
static volatile uint64_t sink;

static uint64_t clock_ns(clockid_t c)
{
    struct timespec t;
    clock_gettime(c, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void nap(uint64_t us)
{
    struct timespec t = {0, (long)us * 1000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

static void begin(worker *w) { w->waits[w->n_waits].began = clock_ns(CLOCK_REALTIME); }
static void end(worker *w) { w->waits[w->n_waits++].ended = clock_ns(CLOCK_REALTIME); }

static void compute(uint64_t us)
{
    uint64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + us * 1000;
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
        for (unsigned i = 0; i < 5000; i++) sink = sink * 3 + i;
}

/* ---- the threads ---- */

static void run_sleeper(worker *w)
{
    for (unsigned i = 0; i < NAPS; i++) begin(w), nap(11000 + i % 10 * 1000), end(w), compute(200);
}

static void run_writer(worker *w)
{
    for (unsigned i = 0; i < NAPS; i++) {
        begin(w), nap(13000), end(w);
        if (write(ends[1], "x", 1) != 1) abort();
    }
}

static void run_reader(worker *w)
{
    char c;
    for (unsigned i = 0; i < NAPS; i++) {
        begin(w);
        if (read(ends[0], &c, 1) != 1) abort();
        end(w);
    }
}

static void run_holder(worker *w)
{
    (void)w;
    for (unsigned i = 0; i < LOCKS; i++) {
        pthread_mutex_lock(&lock);
        nap(8000);
        pthread_mutex_unlock(&lock);
        nap(6000);
    }
    holder_done = 1;
}

static void run_locker(worker *w)
{
    while (!holder_done) {
        begin(w);
        pthread_mutex_lock(&lock);
        end(w);
        pthread_mutex_unlock(&lock);
        nap(3000);
    }
}

static void run_short(worker *w)
{
    for (unsigned i = 0; i < SHORT; i++) begin(w), nap(200), end(w);
}

static void run_busy(worker *w)
{
    (void)w;
    compute(250000);
}

/* Reads pages in an order that the kernel does not predict. */
static void run_faults(worker *w)
{
    struct stat st;
    struct rusage before, after;
    int fd = open(file, O_RDONLY);
    if (fd < 0 || fstat(fd, &st)) return;
    fsync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    size_t n = (size_t)st.st_size;
    char *p = mmap(NULL, n, PROT_READ, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) return;
    madvise(p, n, MADV_RANDOM);
    getrusage(RUSAGE_THREAD, &before);
    begin(w);
    for (size_t i = 0; i < PAGES_READ; i++) sink += (uint64_t)p[i * 7919 % (n / PAGE) * PAGE];
    end(w);
    getrusage(RUSAGE_THREAD, &after);
    faults = after.ru_majflt - before.ru_majflt;
}

static worker workers[] = {
    {.name = "sleeper", .run = run_sleeper}, {.name = "reader", .run = run_reader},
    {.name = "writer", .run = run_writer},   {.name = "holder", .run = run_holder},
    {.name = "locker", .run = run_locker},   {.name = "short", .run = run_short},
    {.name = "faults", .run = run_faults},   {.name = "busy-1", .run = run_busy},
    {.name = "busy-2", .run = run_busy},     {.name = "busy-3", .run = run_busy},
    {.name = "busy-4", .run = run_busy},
};
enum { N_WORKERS = sizeof workers / sizeof *workers };

static void *run(void *arg)
{
    worker *w = arg;
    w->started = clock_ns(CLOCK_REALTIME);
    w->tid = syscall(SYS_gettid);
    prctl(PR_SET_NAME, w->name);
    w->run(w);
    w->cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    w->ended = clock_ns(CLOCK_REALTIME);
    return NULL;
}

static void print(const worker *w)
{
    printf("thread %ld %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", w->tid,
           w->name, w->created, w->started, w->ended, w->joined, w->cpu);
    for (unsigned i = 0; i < w->n_waits; i++)
        printf("wait %ld %" PRIu64 " %" PRIu64 "\n", w->tid, w->waits[i].began, w->waits[i].ended);
}

static void wait_for_line(void)
{
    char c;
    while (read(STDIN_FILENO, &c, 1) == 1 && c != '\n') continue;
}

int main(int argc, char **argv)
{
    if (argc < 2 || pipe(ends)) return 2;
    file = argv[1];
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    wait_for_line();
    for (worker *w = workers; w < workers + N_WORKERS; w++) {
        w->created = clock_ns(CLOCK_REALTIME);
        if (pthread_create(&w->thread, NULL, run, w)) return 3;
    }
    for (worker *w = workers; w < workers + N_WORKERS; w++) {
        pthread_join(w->thread, NULL);
        w->joined = clock_ns(CLOCK_REALTIME);
    }
    for (worker *w = workers; w < workers + N_WORKERS; w++) print(w);
    printf("faults %ld\ndone 0\n", faults);
    fflush(stdout);
    wait_for_line();
    return 0;
}
