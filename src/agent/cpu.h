/* agent/cpu.h - samples of CPU time: a perf event or a timer for each thread.
 *
 * A timer on the thread's CPU clock expires at a tick of the kernel, which occurs anyway.  Its
 * samples cost little more than a signal and need no descriptor.  A timer counts missed expirations
 * (overruns), and such samples have more weight.  A perf event (task clock) has a high-resolution
 * timer of its own and works at any rate, but needs an interrupt per sample, at four to five times
 * the cost (bench/agent).
 *
 * By default the agent uses timers up to half of the tick rate and events above it.  Where the
 * kernel permits events of user mode only, they would miss the time of system calls; the agent then
 * uses them only above the tick rate. */
#pragma once
#include "agent/capture.h"
#include "agent/threads.h"

typedef struct cpu_plan {
    bool events;      /* otherwise timers */
    bool user_only;   /* the events count user mode only */
    uint64_t tick_ns; /* period of the kernel's tick, the minimum of a timer */
    uint64_t period;
    int round, event; /* signals */
} cpu_plan;

/* Chooses the source by trying.  Returns false when requested perf events are not permitted. */
NODISCARD bool cpu_open(uint32_t hz, cpu_source source, int round, int event, err *e);
const cpu_plan *cpu_planned(void);

/* Arms the timer or event of a thread, which need not be the calling one.  Does nothing for threads
 * of the agent, excluded threads, threads without signals, and armed threads, unless the program
 * has closed their event (counted).  Counts a thread that cannot be armed as lost.  A newborn
 * thread gets a cheap timer first and an event later, unless the rate is above the tick rate. */
void cpu_arm(thread_record *t, bool newborn);
void cpu_disarm(thread_record *t);

/* Returns the number of events that the program closed and the agent reopened. */
uint64_t cpu_closed(void);

/* Switches to other signals and arms the timers again.  event 0: the program uses the signal of the
 * events, and timers replace them. */
void cpu_move(int round, int event);

/* Called in the child of a fork: closes inherited descriptors.  Takes no lock. */
void cpu_forked(void);
