/* The first half of a round: finds the threads, takes the stacks of waiting threads without a
 * signal, and selects those that have to be signalled. */
#include "agent/wall_scan.h"

#include "agent/exclude.h"
#include "agent/seccomp.h"
#include "agent/signal/delivered.h"

#include <unistd.h>
#include "base/ban.h"

/* Returns whether the tid now belongs to another thread, which pthread_create did not create. */
static bool is_another(const thread_record *t, const task_stat *s)
{
    return t->described && t->about.start_ticks != s->start_ticks;
}

static void store_stat(thread_record *t, const task_stat *s, const char *exclude)
{
    t->about.start_ticks = s->start_ticks;
    t->about.os_prio = s->os_prio;
    memcpy(t->about.name, s->name, sizeof s->name);
    t->described = true;
    t->left_out = name_excluded(s->name, exclude);
}

static bool read_stat(wall *w, int dir, round_entry *s, task_stat *stat)
{
    char buf[1024];
    uint32_t tid = s->t->pub.tid;
    if (!task_stat_parse(task_read(dir, tid, "stat", buf, sizeof buf), stat)) return false;
    if (is_another(s->t, stat)) {
        thread_finish(s->t);
        s->t = thread_add(tid, false);
        if (!s->t) return false;
    }
    store_stat(s->t, stat, w->o.exclude);
    return !s->t->left_out && stat->state != 'Z' && stat->state != 'X';
}

static void read_wchan(int dir, round_entry *s)
{
    str name = task_read(dir, s->t->pub.tid, "wchan", s->wchan, sizeof s->wchan - 1);
    s->wchan[name.n == 1 && *name.p == '0' ? 0 : name.n] = 0;
}

static void reuse_last(round_entry *s)
{
    const thread_history *r = &s->t->history;
    s->status = ENTRY_UNCHANGED;
    s->stack = r->stack;
    s->link = r->link;
    s->attrs = r->attrs;
    s->state = r->state;
    memcpy(s->wchan, r->wchan, sizeof s->wchan);
}

/* Returns whether the thread has filled its slot of an earlier round, or has none. */
static bool slot_settled(thread_record *t)
{
    if (!t->history.slot) return true;
    slot *s = handler_slot(&handler, t->history.slot - 1);
    if (slot_state_of(s) != SLOT_DONE) return false;
    slot_free(s);
    t->history.slot = 0;
    return true;
}

/* ---- waiting threads ---- */

/* The distance between pthread_t and thread pointer is the same in all threads. */
static uintptr_t pointer_of(const thread_record *t)
{
    uintptr_t apart = (uintptr_t)__builtin_thread_pointer() - (uintptr_t)pthread_self();
    return t->about.pthread ? (uintptr_t)t->about.pthread + apart : 0;
}

static blocked_how walk(wall *w, int dir, round_entry *s)
{
    const thread_record *t = s->t;
    blocked_process p = {
        dir, &w->self, blocked_cpu_own, atomic_load(&handler.span), own_calls_here(), w->copy};
    blocked_thread waiter = {t->pub.tid, t->pub.stack, pointer_of(t)};
    unwind_gate *gate = atomic_load(&handler.gate);
    blocked_how how =
        blocked_walk(&p, &waiter, snapshot_enter(gate), w->o.max_frames, w->raw, &s->cpu);
    snapshot_leave(gate);
    return how;
}

/* Stores the state of a waiting thread in its history, which already has the stack. */
static void settle(const round_entry *s)
{
    thread_history *r = &s->t->history;
    r->cpu = s->cpu;
    r->state = s->state;
    memcpy(r->wchan, s->wchan, sizeof r->wchan);
    r->settled = s->cpu && r->stack != NO_THREAD;
}

static blocked_how sample_waiting(wall *w, int dir, round_entry *s, capture_counts *n)
{
    read_wchan(dir, s);
    blocked_how how = walk(w, dir, s);
    if (how != BLOCKED_TAKEN) return how;
    wall_store(w, w->raw, s, n);
    settle(s);
    return how;
}

/* ---- running threads ---- */

static entry_status check_running(const wall *w, int dir, const round_entry *s, task_status *st)
{
    char buf[4096];
    if (s->state == 'T' || s->state == 't') return ENTRY_STUCK;
    if (!task_status_parse(task_read(dir, s->t->pub.tid, "status", buf, sizeof buf), st))
        return ENTRY_SKIPPED;
    /* the filter may even forbid the return from a handler */
    if (seccomp_added(st)) return ENTRY_SKIPPED;
    if (st->blocked >> (w->o.sig - 1) & 1) return ENTRY_BLOCKED;
    return slot_settled(s->t) ? ENTRY_TO_SIGNAL : ENTRY_STUCK;
}

/* Used when the pc of a waiting thread cannot be read: the program has changed its user and is not
 * dumpable, or may not call process_vm_readv.  Signals the thread, but not again as long as it has
 * returned directly to its wait: then it has one more voluntary switch and an unchanged clock. */
static entry_status check_unreadable(const wall *w, int dir, round_entry *s, bool was_signalled)
{
    task_status st = {0};
    thread_history *r = &s->t->history;
    entry_status how = check_running(w, dir, s, &st);
    if (how != ENTRY_TO_SIGNAL) return how;
    if (was_signalled && r->cache == w->cache_number && st.switches == r->switches + 1) {
        settle(s);
        reuse_last(s);
        return ENTRY_UNCHANGED;
    }
    r->was_signalled = true;
    r->switches = st.switches;
    return ENTRY_TO_SIGNAL;
}

enum { ATTEMPTS = 3 }; /* for a thread that changes while it is read */

static entry_status scan_changed(wall *w, int dir, round_entry *s, capture_counts *n)
{
    task_stat stat;
    for (int i = 0; i < ATTEMPTS; i++) {
        if (!read_stat(w, dir, s, &stat)) return ENTRY_SKIPPED;
        bool was_signalled = s->t->history.was_signalled;
        s->t->history.was_signalled = s->t->history.settled = false;
        s->state = stat.state;
        s->wchan[0] = 0;
        if (stat.state != 'S' && stat.state != 'D')
            return check_running(w, dir, s, &(task_status){0});
        blocked_how how = sample_waiting(w, dir, s, n);
        if (how == BLOCKED_TAKEN) return ENTRY_WALKED;
        if (how == BLOCKED_UNKNOWN) return check_unreadable(w, dir, s, was_signalled);
    }
    return ENTRY_STUCK;
}

/* ---- all threads ---- */

static void scan_thread(wall *w, int dir, uint32_t tid, round_entry *s, capture_counts *n)
{
    *s = (round_entry){.t = thread_add(tid, false), .stack = NO_THREAD};
    if (!s->t || s->t->own || s->t->suspended) return;
    s->cpu = task_cpu(tid);
    const thread_history *r = &s->t->history;
    if (r->settled && r->cache == w->cache_number && r->cpu == s->cpu)
        reuse_last(s);
    else
        s->status = scan_changed(w, dir, s, n);
}

/* Frees the slots of threads that have ended, which will not be filled any more. */
static void sweep_slots(const wall *w)
{
    for (uint32_t i = 0; i < w->slots_used; i++) {
        slot *s = handler_slot(&handler, i);
        const thread_record *t = thread_at(s->thread);
        if (slot_state_of(s) != SLOT_FREE && (t->state != THREAD_LIVE || t->history.slot != i + 1))
            slot_free(s);
    }
}

bool wall_scan(wall *w, capture_counts *n)
{
    int dir = task_open();
    if (dir < 0) return false;
    bool ok = threads_scan(dir, w->tids, &w->n);
    sweep_slots(w);
    for (size_t i = 0; ok && i < w->n; i++) scan_thread(w, dir, w->tids[i], &w->entries[i], n);
    close(dir);
    return ok;
}
