/* sample - cost of one sample in the agent's handler, compared with an empty handler that is called
 * the same way.
 *
 *     sample_keep [--rounds N] [--depth N] [--json FILE]     a program with frame pointers
 *     sample_omit ...                                        the same program without them
 *
 * Opens the capture like the agent, but without timers.  The thread sends itself signals like those
 * of a timer (sample to the ring) and of a wall-clock round (sample to a slot).
 *
 *     one by one   signals only: all caches are warm
 *     at work      a signal every 20 us of work on memory: the slowdown of the work, by slope
 *     by timers    the same work while 32 CPU timers of the thread expire with the kernel's tick:
 *                  the additional time of stretches with a tick, per signal.  Samples as from the
 *                  agent's timer, but enough of them to measure
 *
 * A round runs each contestant once, in rotating order; a ratio is the median over rounds of the
 * ratio within a round (with work: to the median of the empty handler), with quartiles.  All times
 * are CPU time of the thread. Exit code 4: a goal was missed. */
#include "agent/internal.h"
#include "agent/signal/handler.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    ROUNDS = 41,
    ROUNDS_MAX = 201,
    SIGNALS = 100,
    TIMERS = 32,
    WORK = 6000,
    WORDS = 1 << 15,
    STRETCHES = 2000
};

typedef enum whose { WORK_ONLY, EMPTY, RING, SLOT, CONTESTANTS } whose;
typedef enum where { ONE_BY_ONE, AT_WORK, BY_TIMERS, PLACES } where;

static const char *const names[CONTESTANTS] = {"no signal", "empty", "to the ring", "to a slot"};
static const char *const places[PLACES] = {"one by one", "at work", "by timers"};
static const unsigned depths[] = {10, 30, 100};
static const double goal = 1.25; /* with frame pointers, at GOAL_DEPTH */
enum { DEPTHS = sizeof depths / sizeof *depths, GOAL_DEPTH = 30 };

static double took[DEPTHS][PLACES][CONTESTANTS][ROUNDS_MAX];  /* ns */
static double count[DEPTHS][PLACES][CONTESTANTS][ROUNDS_MAX]; /* number of signals */
static long tick_ns;
static uint64_t words[WORDS], sum;
static pid_t pid, tid;
static int empty_signal;
static uint32_t position;
static uint16_t frames[DEPTHS];
static timer_t timers[CONTESTANTS][TIMERS];
static unsigned long n_empty;

/* ---- signals that the thread sends to itself ---- */

static void on_empty(int sig, siginfo_t *si, void *context)
{
    (void)sig, (void)si, (void)context;
    n_empty++;
}

static void queue(int sig, int code, uint64_t value)
{
    siginfo_t si = {.si_code = code};
    if (code == SI_QUEUE) si.si_pid = pid;
    si.si_value.sival_ptr = (void *)(uintptr_t)value;
    syscall(SYS_rt_tgsigqueueinfo, pid, tid, sig, &si);
}

/* Arms a slot as the sampler does. */
static uint64_t armed(uint32_t number)
{
    slot *s = handler_slot(&handler, number);
    s->thread = position;
    s->stack = handler_thread(&handler, position)->stack;
    return slot_arm(s, number);
}

static uint64_t ticket(void)
{
    return thread_ticket(position, atomic_load(&handler_thread(&handler, position)->generation));
}

static void send(whose w)
{
    if (w == EMPTY) queue(empty_signal, SI_TIMER, 0);
    if (w == RING) queue(the_capture.round, SI_TIMER, ticket());
    if (w == SLOT) queue(the_capture.round, SI_QUEUE, armed(handler.n_slots - 1));
}

static bool make_timers(whose w, int sig)
{
    struct sigevent e = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = sig};
    e.sigev_value.sival_ptr = (void *)(uintptr_t)ticket();
    e._sigev_un._tid = tid;
    for (unsigned i = 0; i < TIMERS; i++)
        if (timer_create(CLOCK_THREAD_CPUTIME_ID, &e, &timers[w][i]) != 0) return false;
    return true;
}

/* Arms the timers; 0 stops them. */
static void set_timers(whose w, long period_ns)
{
    struct itimerspec t = {{0, period_ns}, {0, period_ns}};
    for (unsigned i = 0; i < TIMERS; i++) timer_settime(timers[w][i], 0, &t, NULL);
}

/* Returns the number of signals that the handlers received. */
static unsigned long seen(void)
{
    return n_empty + (unsigned long)atomic_load(&handler.ring.ends->tail);
}

/* ---- measurement ---- */

typedef struct spread {
    double lo, mid, hi;
} spread;

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static spread spread_of(double *v, unsigned n)
{
    qsort(v, n, sizeof *v, by_value);
    return (spread){v[n / 4], v[n / 2], v[n * 3 / 4]};
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Works for about 20 us: dependent multiplications, and accesses to words across 256 KiB. */
static void work(void)
{
    uint64_t x = sum;
    for (int i = 0; i < WORK; i++) x = x * UINT64_C(6364136223846793005) + words[x >> 49];
    sum = x;
}

/* These functions are not inlined, so that they run on top of the deep stack. */
static NOINLINE void measure(unsigned d, where p, whose w, unsigned round)
{
    double start = now_ns();
    for (unsigned i = 0; i < SIGNALS; i++) {
        if (p == AT_WORK) work();
        send(w);
    }
    took[d][p][w][round] = now_ns() - start;
    count[d][p][w][round] = SIGNALS;
    if (w == SLOT) frames[d] = handler_slot(&handler, handler.n_slots - 1)->raw.n;
}

static NOINLINE void measure_timers(unsigned d, whose w, unsigned round)
{
    double calm[STRETCHES], hit = 0;
    unsigned n_calm = 0, n_hit = 0;
    unsigned long signals = 0;
    set_timers(w, tick_ns);
    while (n_calm < STRETCHES && signals < 2 * TIMERS) {
        unsigned long before = seen();
        double start = now_ns();
        work();
        double stretch = now_ns() - start;
        if (seen() == before) {
            calm[n_calm++] = stretch;
        } else {
            hit += stretch;
            signals += seen() - before;
            n_hit++;
        }
    }
    set_timers(w, 0);
    took[d][BY_TIMERS][w][round] = hit - n_hit * (n_calm ? spread_of(calm, n_calm).mid : 0);
    count[d][BY_TIMERS][w][round] = (double)signals;
}

static NOINLINE void rounds_here(unsigned d, unsigned rounds)
{
    for (unsigned r = 0; r < rounds; r++)
        for (unsigned i = 0; i < CONTESTANTS * PLACES; i++) {
            unsigned k = (i + r) % (CONTESTANTS * PLACES);
            where p = k / CONTESTANTS;
            whose w = k % CONTESTANTS;
            if (p != BY_TIMERS)
                measure(d, p, w, r);
            else if (w == EMPTY || w == RING)
                measure_timers(d, w, r);
            batch_close(capture_take(false)); /* empties the ring */
        }
}

static NOINLINE int deeper(unsigned more, unsigned d, unsigned rounds)
{
    int r = more ? deeper(more - 1, d, rounds) : (rounds_here(d, rounds), 1);
    __asm__ volatile("" ::: "memory"); /* not a tail call */
    return r + 1;
}

/* ---- report ---- */

/* Returns the cost of a signal in one round, without the time of the work itself. */
static double each(unsigned d, where p, whose w, unsigned r)
{
    double rest = p == AT_WORK ? took[d][p][WORK_ONLY][r] : 0;
    return (took[d][p][w][r] - rest) / (count[d][p][w][r] > 0 ? count[d][p][w][r] : 1);
}

static spread cost(unsigned d, where p, whose w, unsigned rounds)
{
    double v[ROUNDS_MAX];
    for (unsigned r = 0; r < rounds; r++) v[r] = each(d, p, w, r);
    return spread_of(v, rounds);
}

static spread ratio(unsigned d, where p, whose w, unsigned rounds)
{
    double v[ROUNDS_MAX], empty = cost(d, p, EMPTY, rounds).mid;
    for (unsigned r = 0; r < rounds; r++)
        v[r] = each(d, p, w, r) / (p == ONE_BY_ONE ? each(d, p, EMPTY, r) : empty);
    return spread_of(v, rounds);
}

static bool report(unsigned rounds, FILE *json)
{
    bool all = true;
    printf("%s, %u rounds of %d signals\n", BENCH_VARIANT, rounds, SIGNALS);
    fprintf(json,
            "{\"schema\": 1, \"variant\": \"%s\", \"rounds\": %u, \"goal\": %.2f, \"rows\": [",
            BENCH_VARIANT, rounds, goal);
    const char *comma = "";
    for (unsigned d = 0; d < DEPTHS; d++)
        for (where p = 0; p < PLACES; p++)
            for (whose w = EMPTY; w < CONTESTANTS; w++) {
                if (!frames[d] || (p == BY_TIMERS && w == SLOT)) continue;
                spread c = cost(d, p, w, rounds), x = ratio(d, p, w, rounds);
                bool held = BENCH_KEEP && depths[d] == GOAL_DEPTH && p != BY_TIMERS && w != EMPTY;
                bool met = !held || x.mid <= goal;
                all = all && met;
                printf("  depth %3u (%3u frames), %-10s  %-11s %7.0f ns (%.0f .. %.0f)", depths[d],
                       frames[d], places[p], names[w], c.mid, c.lo, c.hi);
                if (w != EMPTY) printf("  %.3fx (%.3f .. %.3f)", x.mid, x.lo, x.hi);
                printf("%s\n", !held ? "" : met ? "  <= 1.25 ok" : "  <= 1.25 MISSED");
                fprintf(json,
                        "%s\n {\"depth\": %u, \"frames\": %u, \"where\": \"%s\", \"what\": \"%s\", "
                        "\"ns\": [%.1f, %.1f, %.1f], \"ratio\": [%.3f, %.3f, %.3f], \"met\": %s}",
                        comma, depths[d], frames[d], places[p], names[w], c.lo, c.mid, c.hi, x.lo,
                        x.mid, x.hi, met ? "true" : "false");
                comma = ",";
            }
    fprintf(json, "\n]}\n");
    return all;
}

/* ---- main program ---- */

static bool begin(void)
{
    err e = {0};
    struct sigaction a = {.sa_sigaction = on_empty,
                          .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    /* intervals so long that rounds and timers never occur */
    capture_opts o = {
        .size = sizeof o, .cpu_hz = 1, .source = CPU_TIMER, .wall_ns = UINT64_C(3600000000000)};
    if (!capture_open(&o, &e)) {
        fprintf(stderr, "sample: %s\n", e.msg);
        return false;
    }
    while (!atomic_load(&the_capture.ready)) usleep(1000); /* tables are being built */
    pid = getpid();
    tid = gettid();
    position = thread_position(thread_self());
    empty_signal = the_capture.round - 1;
    sigfillset(&a.sa_mask);
    for (size_t i = 0; i < WORDS; i++) words[i] = i * UINT64_C(0x9e3779b97f4a7c15);
    struct timespec tick;
    clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
    tick_ns = tick.tv_nsec;
    if (sigaction(empty_signal, &a, NULL) != 0 || !make_timers(EMPTY, empty_signal) ||
        !make_timers(RING, the_capture.round))
        return false;
    for (unsigned i = 0; i < 2 * handler.ring.n; i++) { /* touches the pages of the ring once */
        send(RING);
        if (i % SIGNALS == 0) batch_close(capture_take(false));
    }
    return true;
}

int main(int argc, char **argv)
{
    unsigned rounds = ROUNDS, depth = 0; /* 0: all */
    FILE *json = fopen("/dev/null", "w");
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--rounds") == 0) rounds = (unsigned)strtoul(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--depth") == 0) depth = (unsigned)strtoul(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--json") == 0) json = fopen(argv[i + 1], "w");
    }
    if (!json || rounds < 1 || rounds > ROUNDS_MAX) return 2;
    if (!begin()) return 3;
    for (unsigned d = 0; d < DEPTHS; d++)
        if (!depth || depth == depths[d]) deeper(depths[d], d, rounds);
    capture_counts n = capture_count();
    if (n.ring_full || n.strangers) {
        fprintf(stderr, "sample: %llu lost, %llu not recognized: the result is not valid\n",
                (unsigned long long)n.ring_full, (unsigned long long)n.strangers);
        return 3;
    }
    bool met = report(rounds, json);
    fclose(json);
    capture_close();
    return met ? 0 : 4;
}
