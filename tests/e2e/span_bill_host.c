/* A program that knows what its spans spend their time on, for span_bill.
 *
 *     span_bill_host
 * Prints `ready PID`.  A line on stdin starts the spans; then for each span and thread, in ns of its
 * own clocks,
 *
 *     span TRACE SPAN NAME TID BEGAN WALL CPU SLEPT LOCKED READ READY CHILD
 *
 * and `done 0`.  BEGAN is CLOCK_REALTIME; CPU is CLOCK_THREAD_CPUTIME_ID; SLEPT, LOCKED and READ are
 * measured around the calls, so they contain the time until the thread ran again; READY is the
 * kernel's run delay of the thread (/proc/thread-self/schedstat) in the whole span; CHILD is the
 * time in spans inside this one. */
#include <kiln/span.h>

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SPANS_MAX = 64, MS = 1000 };

typedef struct account {
    char name[16];
    uint64_t number, began, start, wall, cpu, slept, locked, read, ready, child;
    long tid;
    kiln_span_scope scope;
} account;

static account accounts[SPANS_MAX];
static unsigned n_accounts;
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2]; /* of the pipe */
static pthread_barrier_t held;

static uint64_t clock_ns(clockid_t c)
{
    struct timespec t;
    clock_gettime(c, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t now(void) { return clock_ns(CLOCK_MONOTONIC); }
static uint64_t cpu(void) { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }

static uint64_t run_delay(void)
{
    unsigned long long on = 0, delay = 0;
    FILE *f = fopen("/proc/thread-self/schedstat", "r");
    if (!f || fscanf(f, "%llu %llu", &on, &delay) != 2) abort();
    fclose(f);
    return delay;
}

/* ---- spans ---- */

static void ids_of(uint64_t number, uint8_t trace[16], uint8_t span[8])
{
    uint64_t a = (uint64_t)getpid() << 16 | 0xb111, b = number * 0x9e3779b97f4a7c15u;
    memcpy(trace, &a, 8);
    memset(trace + 8, 0x5a, 8);
    memcpy(span, &b, 8);
}

static account *enter(const char *name, uint64_t number)
{
    uint8_t trace[16], span[8];
    pthread_mutex_lock(&table);
    account *x = &accounts[n_accounts++];
    pthread_mutex_unlock(&table);
    *x = (account){.number = number, .tid = syscall(SYS_gettid), .ready = run_delay()};
    snprintf(x->name, sizeof x->name, "%s", name);
    ids_of(number, trace, span);
    x->began = clock_ns(CLOCK_REALTIME);
    x->start = now();
    x->cpu = cpu();
    kiln_span_enter(&x->scope, trace, span, KILN_SPAN_SAMPLED);
    return x;
}

static void leave(account *x)
{
    kiln_span_exit(&x->scope);
    x->cpu = cpu() - x->cpu;
    x->wall = now() - x->start;
    x->ready = run_delay() - x->ready;
}

/* ---- what spans do ---- */

static __attribute__((noinline)) void compute(uint64_t us)
{
    static _Thread_local volatile uint64_t sink;
    uint64_t until = cpu() + us * 1000;
    while (cpu() < until)
        for (unsigned i = 0; i < 5000; i++) sink = sink * 3 + i;
}

static void nap(uint64_t us, account *x)
{
    struct timespec t = {0, (long)us * 1000};
    uint64_t from = now();
    clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
    if (x) x->slept += now() - from;
}

static void *hold(void *us)
{
    pthread_mutex_lock(&lock);
    pthread_barrier_wait(&held);
    nap(*(uint64_t *)us, NULL);
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* Waits for a lock that another thread holds for a while, and for the start and end of that thread:
 * all of them are futexes. */
static void contend(uint64_t us, account *x)
{
    pthread_t t;
    if (pthread_create(&t, NULL, hold, &us)) abort();
    uint64_t from = now();
    pthread_barrier_wait(&held);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    pthread_join(t, NULL);
    x->locked += now() - from;
}

static void *write_later(void *us)
{
    nap(*(uint64_t *)us, NULL);
    if (write(ends[1], "x", 1) != 1) abort();
    return NULL;
}

static void receive(uint64_t us, account *x)
{
    pthread_t t;
    char c;
    if (pthread_create(&t, NULL, write_later, &us)) abort();
    uint64_t from = now();
    if (read(ends[0], &c, 1) != 1) abort();
    x->read += now() - from;
    pthread_join(t, NULL);
}

/* ---- the scenarios ---- */

static uint64_t number;

static void computing(uint64_t ms)
{
    account *x = enter("compute", ++number);
    compute(ms * MS);
    leave(x);
}

static void sleeping(void)
{
    account *x = enter("sleep", ++number);
    compute(30 * MS), nap(100 * MS, x), compute(30 * MS);
    leave(x);
}

static void locking(void)
{
    account *x = enter("lock", ++number);
    compute(40 * MS), contend(150 * MS, x), compute(40 * MS);
    leave(x);
}

static void reading(void)
{
    account *x = enter("read", ++number);
    receive(120 * MS, x), compute(40 * MS);
    leave(x);
}

/* Like a request that sleeps often: every wait is short. */
static void chattering(void)
{
    account *x = enter("chatter", ++number);
    // Naps of 1 to 3 ms: two rounds of always 5 ms last as long as a period of 99 Hz, and then every
    // sample may fall into a nap.
    for (unsigned i = 0; i < 40; i++) compute(3 * MS), nap(MS + i * 7 % 11 * (MS / 5), x);
    leave(x);
}

static void nesting(void)
{
    account *outer = enter("parent", ++number);
    compute(60 * MS);
    account *inner = enter("child", ++number);
    compute(50 * MS), nap(100 * MS, inner);
    leave(inner);
    compute(60 * MS);
    leave(outer);
    outer->child = inner->wall;
}

static void *compete(void *of)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    sched_setaffinity(0, sizeof one, &one);
    account *x = enter("compete", *(uint64_t *)of);
    compute(150 * MS);
    leave(x);
    return NULL;
}

/* Two threads of one span on one processor. */
static void competing(void)
{
    pthread_t v[2];
    uint64_t of = ++number;
    for (int i = 0; i < 2; i++)
        if (pthread_create(&v[i], NULL, compete, &of)) abort();
    for (int i = 0; i < 2; i++) pthread_join(v[i], NULL);
}

static void wait_for_line(void)
{
    char c;
    while (read(STDIN_FILENO, &c, 1) == 1 && c != '\n') continue;
}

static void put_hex(const uint8_t *p, size_t n)
{
    putchar(' ');
    for (size_t i = 0; i < n; i++) printf("%02x", p[i]);
}

static void put(const account *x)
{
    uint8_t trace[16], span[8];
    ids_of(x->number, trace, span);
    printf("span");
    put_hex(trace, sizeof trace);
    put_hex(span, sizeof span);
    printf(" %s %ld", x->name, x->tid);
    const uint64_t v[] = {x->began,  x->wall, x->cpu,   x->slept,
                          x->locked, x->read, x->ready, x->child};
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) printf(" %" PRIu64, v[i]);
    putchar('\n');
}

int main(void)
{
    kiln_span_process p = {.size = sizeof p, .service_name = "bill"};
    if (kiln_span_publish(&p) || pipe(ends) || pthread_barrier_init(&held, NULL, 2)) return 4;
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    wait_for_line();
    for (unsigned round = 0; round < 3; round++) {
        nap(20 * MS, NULL);
        computing(100);
        computing(200); /* follows at once */
        nap(15 * MS, NULL);
        sleeping();
        locking();
        compute(7 * MS);
        reading();
        chattering();
        nesting();
        competing();
    }
    for (unsigned i = 0; i < n_accounts; i++) put(&accounts[i]);
    printf("done 0\n");
    fflush(stdout);
    wait_for_line();
    return 0;
}
