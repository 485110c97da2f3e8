/* agent/cpu.h - CPU time as a clock that rings: per thread a perf event or a timer.
 *
 * A timer on the thread's CPU clock rings with the kernel's tick, which is there anyway: a sample costs its
 * signal and little more, and no descriptor of the program's.  What it misses it counts (overruns), and
 * samples weigh more.  A perf event (task clock) has a high-resolution timer of its own and rings at any
 * rate, for an interrupt a sample: four to five times the cost (bench/agent).  So left alone we take
 * timers up to half of the tick's rate, events above it.  Where the kernel lets an event see only user mode
 * it would miss the time of system calls; it is taken then only above the tick's rate. */
#pragma once
#include "agent/capture.h"
#include "agent/threads.h"

typedef struct cpu_plan {
    bool events;      /* otherwise timers */
    bool user_only;   /* the events see user mode only */
    uint64_t tick_ns; /* of the kernel: a timer rings not more often */
    uint64_t period;
    int round, event; /* signals */
} cpu_plan;

/* Decides once, by trying.  false: perf events were asked for and are not permitted. */
NODISCARD bool cpu_open(uint32_t hz, cpu_source source, int round, int event, err *e);
const cpu_plan *cpu_planned(void);

/* The thread may be another one.  Nothing happens if it is own, left out or quiet, or armed already and its event
 * not closed by the program (which is counted).  What cannot be armed is
 * counted among the threads lost.  A newborn thread gets a timer, which costs it little, and an event
 * later, when it is still there; unless the rate wanted is above the tick's. */
void cpu_arm(thread_record *t, bool newborn);
void cpu_disarm(thread_record *t);

/* Events that the program closed, and that were made anew. */
uint64_t cpu_closed(void);

/* The signal has changed: those armed by timers are armed anew; events give way to timers if theirs was
 * taken (event = 0). */
void cpu_move(int round, int event);

/* In the child of a fork: closes descriptors that came along.  Takes no lock. */
void cpu_forked(void);
