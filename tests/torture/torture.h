/* tests/torture/torture.h - what the cases of torture_host share.
 *
 * A case does to its own process what some real program does, and prints the same with and without an agent
 * in the process: its answer depends on the seed alone.  tests/torture/run compares. */
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
    const char *self; /* this program, for exec */
    const char *arg;  /* the case's own, or NULL */
    uint64_t seed;
    unsigned percent; /* of the usual number of rounds */
    uint64_t random;
    struct {
        long fds, rss_kb;
    } early; /* after a quarter of the rounds */
} torture;

typedef struct torture_case {
    const char *name;
    int (*run)(torture *t); /* the exit status */
} torture_case;

/* One table a file. */
extern const torture_case process_cases[], thread_cases[], signal_cases[], stack_cases[],
    ending_cases[], limit_cases[], loader_cases[];

/* A step that must work; otherwise says so and ends the program with status 99. */
#define MUST(what)                                                                                 \
    do {                                                                                           \
        if (!(what)) torture_failed(__FILE__, __LINE__, #what);                                    \
    } while (0)
__attribute__((noreturn, cold)) void torture_failed(const char *file, int line, const char *what);

uint64_t torture_random(torture *t);

/* for (unsigned i = 0; torture_round(t, &i, 200);): that many rounds, by percent.  What descriptors and
 * memory do between the first quarter and the end goes to $TORTURE_FACTS. */
bool torture_round(torture *t, unsigned *i, unsigned usual);

/* An address where nothing is; the compiler does not know. */
extern volatile uintptr_t torture_nowhere;

/* Burns that much CPU time of the calling thread.  The result depends on nothing. */
void torture_spin_us(unsigned us);
void torture_sleep_us(unsigned us);

/* Allocates and frees blocks of many sizes; returns a sum that depends on the seed alone. */
uint64_t torture_malloc(uint64_t seed, unsigned blocks);

/* Waits for one child; 256 + signal when it was killed. */
int torture_wait(pid_t pid);

/* Threads that spin or allocate until torture_crowd_leave. */
void torture_crowd(unsigned threads, bool allocate);
void torture_crowd_leave(void);
