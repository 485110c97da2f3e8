/* Keeps the list of the agent's own threads and their CPU time. */
#include "agent/own.h"

#include "agent/capture.h"
#include "agent/cpu.h"
#include "agent/lifecycle.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include "base/ban.h"

enum { OWN_MAX = 16 };

static _Atomic uint32_t own_tids[OWN_MAX];
/* the last thread in each entry that announced its end */
static _Atomic uint32_t own_past[OWN_MAX];
static _Atomic uint64_t own_ended; /* CPU time of ended threads */
static _Thread_local bool is_own, bears_own;

uint64_t capture_own_cpu(void)
{
    uint64_t sum = atomic_load(&own_ended);
    for (size_t i = 0; i < OWN_MAX; i++) {
        uint32_t tid = atomic_load(&own_tids[i]);
        if (tid) sum += task_cpu(tid);
    }
    return sum;
}

void capture_own_thread(const char *name)
{
    sigset_t all;
    uint32_t tid = (uint32_t)gettid(), none = 0;
    /* first: then the interposed mask functions do not remove the agent's signals */
    is_own = true;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    if (name) pthread_setname_np(pthread_self(), name);
    thread_record *t = thread_add(tid, true);
    if (t) {
        t->own = true;
        cpu_disarm(t);
        lifecycle_adopt(t);
    }
    for (size_t i = 0; i < OWN_MAX; i++, none = 0)
        if (atomic_compare_exchange_strong(&own_tids[i], &none, tid)) break;
}

void own_end(uint32_t tid)
{
    for (size_t i = 0; i < OWN_MAX; i++) {
        uint32_t own = tid;
        if (!atomic_compare_exchange_strong(&own_tids[i], &own, 0)) continue;
        atomic_fetch_add(&own_ended, task_cpu(tid));
        atomic_store(&own_past[i], tid);
        return;
    }
}

/* Checks ended entries too: a thread that has announced its end still exists for a moment. */
bool own_any(void)
{
    char path[40];
    bool any = false;
    for (size_t i = 0; i < OWN_MAX; i++) {
        snprintf(path, sizeof path, "/proc/self/task/%u", atomic_load(&own_past[i]));
        any |= atomic_load(&own_tids[i]) || (atomic_load(&own_past[i]) && access(path, F_OK) == 0);
    }
    return any;
}

bool capture_is_own(void) { return is_own; }

void own_borrow(bool on) { is_own = on; }

void capture_own_new_threads(bool on) { bears_own = on; }
bool own_new_threads_on(void) { return bears_own; }

void own_forked(void)
{
    for (size_t i = 0; i < OWN_MAX; i++) {
        atomic_store(&own_tids[i], 0);
        atomic_store(&own_past[i], 0);
    }
    atomic_store(&own_ended, 0);
}
