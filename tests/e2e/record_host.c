/* Programs that `kiln record` attaches to, for record_attach.  Each prints `ready PID`, begins when a line arrives on stdin, prints
 * its own measurements of CPU time and `done`, and ends with the input.
 *
 *     record_host work MS               computes in one thread
 *     record_host threads N MS          N threads that exist at the start, and N that start later
 *     record_host births MS             starts threads until the line arrives; then each computes
 *     record_host sleepers N MS         N threads that sleep, and 4 that compute
 *     record_host small N USEC          N threads that exist at the start and compute for up to twice this time
 *     record_host forks N USEC          N children, two at a time
 *     record_host teardown N MIB        N children that use this much memory, one at a time
 *     record_host exec MS PROGRAM       computes, then runs PROGRAM
 *     record_host thread-exec MS PROGRAM  the same in a second thread
 *     record_host pair MS               computes in two functions in turn, 2 : 1
 *     record_host turns MS              two threads that wake each other; `turned NS`
 *     record_host long MS               a thread that sleeps once, one that computes, and one that does both in turn
 *     record_host after MS              that program: begins at once
 *     record_host plugins MS A B        loads, calls and unloads two libraries in turn
 *     record_host generated MS          computes in code without a file, which a perf map names
 *     record_host idle                  only waits
 * With -DPLUGIN=name it is such a library. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))

static volatile uint64_t sink;

static uint64_t clock_ns(clockid_t c)
{
    struct timespec t;
    clock_gettime(c, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void turn(void)
{
    uint64_t x = sink;
    for (unsigned i = 0; i < 20000; i++) x = x * 6364136223846793005u + i;
    sink = x;
}

#define SPENDS(name)                                                                               \
    NOINLINE uint64_t name(uint64_t us);                                                           \
    NOINLINE uint64_t name(uint64_t us) /* returns the CPU time that it used */                    \
    {                                                                                              \
        uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID), used;                                  \
        do turn();                                                                                 \
        while ((used = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start) < us * 1000);                    \
        return used;                                                                               \
    }

#ifdef PLUGIN
SPENDS(PLUGIN)
#else

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

SPENDS(work)
SPENDS(early_work)
SPENDS(late_work)
SPENDS(child_work)
SPENDS(larger_part)
SPENDS(smaller_part)
SPENDS(before_exec)
SPENDS(after_exec)

/* ---- the conversation with the test ---- */

static void wait_for_line(void)
{
    char c;
    while (read(STDIN_FILENO, &c, 1) == 1 && c != '\n') continue;
}

static void ready(void)
{
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
}

static uint64_t usage(int who)
{
    struct rusage r;
    getrusage(who, &r);
    return ((uint64_t)r.ru_utime.tv_sec + (uint64_t)r.ru_stime.tv_sec) * 1000000000u +
           ((uint64_t)r.ru_utime.tv_usec + (uint64_t)r.ru_stime.tv_usec) * 1000u;
}

static int finish(void)
{
    char c;
    printf("total %" PRIu64 "\n", usage(RUSAGE_SELF) + usage(RUSAGE_CHILDREN));
    printf("done 0\n");
    fflush(stdout);
    while (read(STDIN_FILENO, &c, 1) > 0) continue;
    return 0;
}

/* ---- threads ---- */

enum { THREADS_MAX = 8192 };

typedef struct worker {
    char name[16];
    uint64_t us;
    uint64_t (*spend)(uint64_t us);
    pthread_t thread;
} worker;

static worker workers[THREADS_MAX];
static unsigned n_workers;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int begun;

static void *run_worker(void *arg)
{
    worker *w = arg;
    prctl(PR_SET_NAME, w->name);
    pthread_mutex_lock(&lock);
    while (!begun) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    if (!w->us) pause();
    w->spend(w->us);
    printf("thread %ld %s %" PRIu64 "\n", syscall(SYS_gettid), w->name,
           clock_ns(CLOCK_THREAD_CPUTIME_ID));
    return NULL;
}

static void add_worker(const char *name, uint64_t us, uint64_t (*spend)(uint64_t us))
{
    pthread_attr_t small;
    worker *w = &workers[n_workers];
    snprintf(w->name, sizeof w->name, "%s-%u", name, n_workers++);
    w->us = us;
    w->spend = spend;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 * 1024);
    if (pthread_create(&w->thread, &small, run_worker, w)) perror("pthread_create"), _exit(3);
}

static void begin(void)
{
    pthread_mutex_lock(&lock);
    begun = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void join(void)
{
    for (unsigned i = 0; i < n_workers; i++)
        if (workers[i].us) pthread_join(workers[i].thread, NULL);
}

static int threads(unsigned n, uint64_t us)
{
    for (unsigned i = 0; i < n; i++) add_worker("early", us, early_work);
    ready();
    wait_for_line();
    begin();
    for (unsigned i = 0; i < n; i++) add_worker("late", us, late_work);
    join();
    return finish();
}

static int births(uint64_t us)
{
    int flags = fcntl(STDIN_FILENO, F_GETFL);
    char c = 0;
    ready();
    fcntl(STDIN_FILENO, F_SETFL, flags | O_NONBLOCK);
    /* On a busy machine, the line may arrive before many threads exist. */
    while (n_workers < (c ? 40 : 200)) {
        if (!c) (void)!read(STDIN_FILENO, &c, 1);
        add_worker("born", us, late_work);
        usleep(400);
    }
    fcntl(STDIN_FILENO, F_SETFL, flags);
    if (!c) wait_for_line();
    begin();
    join();
    return finish();
}

static int sleepers(unsigned n, uint64_t us)
{
    for (unsigned i = 0; i < n; i++) add_worker("sleeper", 0, work);
    for (unsigned i = 0; i < 4; i++) add_worker("busy", us, work);
    ready();
    wait_for_line();
    begin();
    join();
    return finish();
}

static int small(unsigned n, uint64_t us)
{
    for (unsigned i = 0; i < n; i++) add_worker("small", 1 + 2 * us * i / n, work);
    ready();
    wait_for_line();
    begin();
    join();
    return finish();
}

/* ---- processes ---- */

static int forks(unsigned n, uint64_t us)
{
    unsigned running = 0;
    ready();
    wait_for_line();
    for (unsigned i = 0; i < n; i++) {
        if (running == 2) wait(NULL), running--;
        pid_t pid = fork();
        if (pid < 0) return perror("fork"), 3;
        if (!pid) child_work(us), _exit(0);
        running++;
    }
    while (running--) wait(NULL);
    return finish();
}

/* The kernel needs much of the CPU time of each child after its exit, to free the memory. */
static int teardown(unsigned n, size_t mib)
{
    ready();
    wait_for_line();
    for (unsigned i = 0; i < n; i++) {
        pid_t pid = fork();
        if (pid < 0) return perror("fork"), 3;
        if (!pid) {
            char *p =
                mmap(NULL, mib << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (p == MAP_FAILED) _exit(3);
            madvise(p, mib << 20, MADV_NOHUGEPAGE);
            for (size_t at = 0; at < mib << 20; at += 4096) p[at] = 1;
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
    return finish();
}

static int exec(char *text, uint64_t us, char *program)
{
    char after[] = "after", name[] = "OTEL_SERVICE_NAME=second",
         more[] = "OTEL_RESOURCE_ATTRIBUTES=team=kiln";
    char *argv[] = {program, after, text, NULL}, *envp[] = {name, more, NULL};
    ready();
    wait_for_line();
    before_exec(us);
    execve(program, argv, envp);
    return perror("execve"), 3;
}

/* ---- code ---- */

static uint64_t call_plugin(const char *path, const char *name, uint64_t us)
{
    void *lib = dlopen(path, RTLD_NOW);
    uint64_t (*spend)(uint64_t) = lib ? (uint64_t(*)(uint64_t))dlsym(lib, name) : NULL;
    if (!spend) puts(dlerror()), exit(3);
    uint64_t used = spend(us);
    dlclose(lib);
    return used;
}

static int plugins(uint64_t us, const char *a, const char *b)
{
    uint64_t used[2] = {0};
    ready();
    wait_for_line();
    while (used[0] + used[1] < us * 1000) {
        used[0] += call_plugin(a, "plugin_a", 3000);
        used[1] += call_plugin(b, "plugin_b", 2000);
    }
    printf("plugin_a %" PRIu64 "\nplugin_b %" PRIu64 "\n", used[0], used[1]);
    return finish();
}

/* Counts its argument down to 0. */
static const unsigned char countdown[] = {
#ifdef __x86_64__
    0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 /* dec %rdi; jnz; ret */
#elif defined __aarch64__
    0x00, 0x04, 0x00, 0xf1, 0xe1, 0xff, 0xff,
    0x54, 0xc0, 0x03, 0x5f, 0xd6
#endif
};

static int generated(uint64_t us)
{
    char path[64];
    void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(code, countdown, sizeof countdown);
    if (mprotect(code, 4096, PROT_READ | PROT_EXEC)) return perror("mprotect"), 3;
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE *f = fopen(path, "w");
    if (!f) return perror(path), 3;
    fprintf(f, "%" PRIxPTR " %zx generated_work\n", (uintptr_t)code, sizeof countdown);
    fclose(f);
    ready();
    wait_for_line();
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < us * 1000) ((void (*)(uint64_t))code)(100000);
    work(us / 4);
    int code_of_end = finish();
    unlink(path);
    return code_of_end;
}

static void *run_exec(void *ctx)
{
    char **argv = ctx;
    exit(exec(argv[2], strtoull(argv[2], NULL, 10) * 1000, argv[3]));
}

static int exec_in_thread(char **argv)
{
    pthread_t t;
    if (pthread_create(&t, NULL, run_exec, argv)) return 3;
    pthread_join(t, NULL);
    return 3;
}

enum { TURNS_LEAST = 20000 }; /* however busy the machine is */

static int ends[2][2]; /* of two pipes */

static void *answer(void *ctx)
{
    char c;
    while (read(ends[0][0], &c, 1) == 1 && write(ends[1][1], &c, 1) == 1) {}
    return ctx;
}

static void *ask(void *ctx)
{
    char c = 0;
    uint64_t start = clock_ns(CLOCK_MONOTONIC), until = start + *(uint64_t *)ctx * 1000;
    for (unsigned i = 0; i < TURNS_LEAST || clock_ns(CLOCK_MONOTONIC) < until; i++)
        if (write(ends[0][1], &c, 1) != 1 || read(ends[1][0], &c, 1) != 1) break;
    printf("turned %" PRIu64 "\n", clock_ns(CLOCK_MONOTONIC) - start);
    close(ends[0][1]);
    return ctx;
}

static int turns(uint64_t us)
{
    pthread_t t[2];
    if (pipe(ends[0]) || pipe(ends[1])) return 3;
    ready();
    wait_for_line();
    if (pthread_create(&t[0], NULL, answer, NULL) || pthread_create(&t[1], NULL, ask, &us))
        return 3;
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return finish();
}

/* ---- long waits ---- */

typedef struct life {
    const char *name;
    uint64_t created, started, ended, joined, cpu; /* CLOCK_MONOTONIC; CPU time */
    unsigned nap_ms, work_ms;                      /* in turn */
    uint64_t ns;
    long tid;
    pthread_t thread;
} life;

static void *live(void *ctx)
{
    life *v = ctx;
    v->started = clock_ns(CLOCK_MONOTONIC);
    v->tid = syscall(SYS_gettid);
    prctl(PR_SET_NAME, v->name);
    do {
        struct timespec t = {v->nap_ms / 1000, v->nap_ms % 1000 * 1000000l};
        if (v->nap_ms) nanosleep(&t, NULL);
        if (v->work_ms) work(v->work_ms * 1000);
    } while (clock_ns(CLOCK_MONOTONIC) - v->started < v->ns);
    v->cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    v->ended = clock_ns(CLOCK_MONOTONIC);
    return NULL;
}

static int long_waits(unsigned ms)
{
    life v[] = {{.name = "sleeper", .nap_ms = ms},
                {.name = "worker", .work_ms = 1, .ns = ms * UINT64_C(1000000)},
                {.name = "mixed", .nap_ms = 10, .work_ms = 5, .ns = ms * UINT64_C(1000000)}};
    ready();
    wait_for_line();
    for (unsigned i = 0; i < 3; i++) {
        v[i].created = clock_ns(CLOCK_MONOTONIC);
        if (pthread_create(&v[i].thread, NULL, live, &v[i])) return 3;
    }
    for (unsigned i = 0; i < 3; i++) {
        pthread_join(v[i].thread, NULL);
        v[i].joined = clock_ns(CLOCK_MONOTONIC);
        printf("life %ld %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
               v[i].tid, v[i].name, v[i].created, v[i].started, v[i].ended, v[i].joined, v[i].cpu);
    }
    return finish();
}

static int pair(uint64_t us)
{
    ready();
    wait_for_line();
    for (uint64_t i = 0; i < us; i += 30000) larger_part(20000), smaller_part(10000);
    return finish();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0,
             second = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    unsigned n = (unsigned)first;
    if (!strcmp(what, "work")) return ready(), wait_for_line(), work(first * 1000), finish();
    if (!strcmp(what, "threads")) return threads(n, second * 1000);
    if (!strcmp(what, "births")) return births(first * 1000);
    if (!strcmp(what, "sleepers")) return sleepers(n, second * 1000);
    if (!strcmp(what, "small")) return small(n, second);
    if (!strcmp(what, "forks")) return forks(n, second);
    if (!strcmp(what, "teardown")) return teardown(n, second);
    if (!strcmp(what, "exec") && argc > 3) return exec(argv[2], first * 1000, argv[3]);
    if (!strcmp(what, "thread-exec") && argc > 3) return exec_in_thread(argv);
    if (!strcmp(what, "turns")) return turns(first * 1000);
    if (!strcmp(what, "long")) return long_waits(n);
    if (!strcmp(what, "pair")) return pair(first * 1000);
    if (!strcmp(what, "after")) return after_exec(first * 1000), finish();
    if (!strcmp(what, "plugins") && argc > 4) return plugins(first * 1000, argv[3], argv[4]);
    if (!strcmp(what, "generated")) return generated(first * 1000);
    if (!strcmp(what, "idle")) return ready(), finish();
    return 99;
}
#endif
