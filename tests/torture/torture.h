/* tests/torture/torture.h - shared by the cases of torture_host.
 *
 * A case imitates the behaviour of some real program.  It prints the same with and without an
 * agent, because its output depends on the seed only.  tests/torture/run compares the outputs. */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

typedef struct torture {
    const char *self; /* path of this program, for exec */
    const char *arg;  /* argument of the case, or NULL */
    uint64_t seed;
    unsigned percent; /* percentage of the usual rounds */
    uint64_t random;
    struct {
        long fds, rss_kb;
    } early; /* values after a quarter of the rounds */
} torture;

typedef struct torture_case {
    const char *name;
    int (*run)(torture *t); /* returns the exit status */
} torture_case;

/* One table per file. */
extern const torture_case process_cases[], thread_cases[], signal_cases[], stack_cases[],
    ending_cases[], limit_cases[], loader_cases[];

/* Exits with status 99 and prints the expression if it is false. */
#define MUST(what)                                                                                 \
    do {                                                                                           \
        if (!(what)) torture_failed(__FILE__, __LINE__, #what);                                    \
    } while (0)
__attribute__((noreturn, cold)) void torture_failed(const char *file, int line, const char *what);

uint64_t torture_random(torture *t);

/* Counts the rounds of a case, scaled by percent: for (unsigned i = 0; torture_round(t, &i,
 * 200);).  Writes the growth of descriptors and memory between the first quarter and the end to
 * $TORTURE_FACTS. */
bool torture_round(torture *t, unsigned *i, unsigned usual);

/* An unmapped address, unknown to the compiler. */
extern volatile uintptr_t torture_nowhere;

/* Uses CPU time of the calling thread. */
void torture_spin_us(unsigned us);
void torture_sleep_us(unsigned us);

/* Allocates and frees blocks of many sizes; returns a sum that depends on the seed only. */
uint64_t torture_malloc(uint64_t seed, unsigned blocks);

/* Waits for one child.  Returns its exit status, or 256 + signal when it was killed. */
int torture_wait(pid_t pid);

/* Starts threads that spin or allocate until torture_crowd_leave. */
void torture_crowd(unsigned threads, bool allocate);
void torture_crowd_leave(void);
