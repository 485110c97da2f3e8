#include "agent/wall_look.h"

#include "agent/exclude.h"
#include "agent/filters.h"
#include "agent/signal/delivered.h"

#include <unistd.h>
#include "base/ban.h"

/* The number of a thread may have gone to another one that pthread_create did not tell of. */
static bool is_another(const thread_record *t, const task_stat *s)
{
    return t->described && t->about.start_ticks != s->start_ticks;
}

static void learn(thread_record *t, const task_stat *s, const char *exclude)
{
    t->about.start_ticks = s->start_ticks;
    t->about.os_prio = s->os_prio;
    memcpy(t->about.name, s->name, sizeof s->name);
    t->described = true;
    t->left_out = name_excluded(s->name, exclude);
}

static bool look_stat(wall *w, int dir, seat *s, task_stat *stat)
{
    char buf[1024];
    uint32_t tid = s->t->face.tid;
    if (!task_stat_parse(task_read(dir, tid, "stat", buf, sizeof buf), stat)) return false;
    if (is_another(s->t, stat)) {
        thread_finish(s->t);
        s->t = thread_add(tid, false);
        if (!s->t) return false;
    }
    learn(s->t, stat, w->o.exclude);
    return !s->t->left_out && stat->state != 'Z' && stat->state != 'X';
}

static void look_wchan(int dir, seat *s)
{
    str name = task_read(dir, s->t->face.tid, "wchan", s->wchan, sizeof s->wchan - 1);
    s->wchan[name.n == 1 && *name.p == '0' ? 0 : name.n] = 0;
}

static void rest(seat *s)
{
    const thread_rest *r = &s->t->rest;
    s->how = SEAT_AT_REST;
    s->stack = r->stack;
    s->link = r->link;
    s->attrs = r->attrs;
    s->state = r->state;
    memcpy(s->wchan, r->wchan, sizeof s->wchan);
}

/* An earlier round's slot: answered by now? */
static bool slot_settled(thread_record *t)
{
    if (!t->rest.slot) return true;
    slot *s = handler_slot(&handler, t->rest.slot - 1);
    if (slot_state_of(s) != SLOT_DONE) return false;
    slot_free(s);
    t->rest.slot = 0;
    return true;
}

/* ---- threads that wait ---- */

/* pthread_t and thread pointer differ by the same in all threads. */
static uintptr_t pointer_of(const thread_record *t)
{
    uintptr_t apart = (uintptr_t)__builtin_thread_pointer() - (uintptr_t)pthread_self();
    return t->about.pthread ? (uintptr_t)t->about.pthread + apart : 0;
}

static blocked_how walk(wall *w, int dir, seat *s)
{
    const thread_record *t = s->t;
    blocked_process p = {
        dir, &w->self, blocked_cpu_own, atomic_load(&handler.span), own_calls_here(), w->copy};
    blocked_thread who = {t->face.tid, t->face.stack, pointer_of(t)};
    unwind_door *door = atomic_load(&handler.door);
    blocked_how how =
        blocked_walk(&p, &who, snapshot_enter(door), w->o.max_frames, w->raw, &s->cpu);
    snapshot_leave(door);
    return how;
}

/* The stack is in r already. */
static void settle(const seat *s)
{
    thread_rest *r = &s->t->rest;
    r->cpu = s->cpu;
    r->state = s->state;
    memcpy(r->wchan, s->wchan, sizeof r->wchan);
    r->settled = s->cpu && r->stack != NO_THREAD;
}

static blocked_how look_asleep(wall *w, int dir, seat *s, capture_counts *n)
{
    look_wchan(dir, s);
    blocked_how how = walk(w, dir, s);
    if (how != BLOCKED_TAKEN) return how;
    wall_enter(w, w->raw, s, n);
    settle(s);
    return how;
}

/* ---- threads that run ---- */

static seat_how look_awake(const wall *w, int dir, const seat *s, task_status *st)
{
    char buf[4096];
    if (s->state == 'T' || s->state == 't') return SEAT_STUCK;
    if (!task_status_parse(task_read(dir, s->t->face.tid, "status", buf, sizeof buf), st))
        return SEAT_EMPTY;
    if (filters_added(st)) return SEAT_EMPTY; /* it may not even return from a handler */
    if (st->blocked >> (w->o.sig - 1) & 1) return SEAT_BLOCKED;
    return slot_settled(s->t) ? SEAT_ASK : SEAT_STUCK;
}

/* A thread that waits and whose place cannot be read: the program has changed its user and is not dumpable, or may not
 * call process_vm_readv.  It is asked, and not again as long as it went straight back to its wait: one voluntary switch
 * more, and then its clock stands still. */
static seat_how look_unreadable(const wall *w, int dir, seat *s, bool asked)
{
    task_status st = {0};
    thread_rest *r = &s->t->rest;
    seat_how how = look_awake(w, dir, s, &st);
    if (how != SEAT_ASK) return how;
    if (asked && r->book == w->book_number && st.switches == r->switches + 1) {
        settle(s);
        rest(s);
        return SEAT_AT_REST;
    }
    r->asked = true;
    r->switches = st.switches;
    return SEAT_ASK;
}

enum { LOOKS = 3 }; /* at a thread that changes while it is looked at */

static seat_how look_closer(wall *w, int dir, seat *s, capture_counts *n)
{
    task_stat stat;
    for (int i = 0; i < LOOKS; i++) {
        if (!look_stat(w, dir, s, &stat)) return SEAT_EMPTY;
        bool asked = s->t->rest.asked;
        s->t->rest.asked = s->t->rest.settled = false;
        s->state = stat.state;
        s->wchan[0] = 0;
        if (stat.state != 'S' && stat.state != 'D') return look_awake(w, dir, s, &(task_status){0});
        blocked_how how = look_asleep(w, dir, s, n);
        if (how == BLOCKED_TAKEN) return SEAT_WALKED;
        if (how == BLOCKED_UNKNOWN) return look_unreadable(w, dir, s, asked);
    }
    return SEAT_STUCK;
}

/* ---- all ---- */

static void look_at(wall *w, int dir, uint32_t tid, seat *s, capture_counts *n)
{
    *s = (seat){.t = thread_add(tid, false), .stack = NO_THREAD};
    if (!s->t || s->t->own || s->t->hushed) return;
    s->cpu = task_cpu(tid);
    const thread_rest *r = &s->t->rest;
    if (r->settled && r->book == w->book_number && r->cpu == s->cpu)
        rest(s);
    else
        s->how = look_closer(w, dir, s, n);
}

/* Nobody will answer for a thread that has ended. */
static void sweep_slots(const wall *w)
{
    for (uint32_t i = 0; i < w->slots_used; i++) {
        slot *s = handler_slot(&handler, i);
        const thread_record *t = thread_at(s->thread);
        if (slot_state_of(s) != SLOT_FREE && (t->state != THREAD_LIVE || t->rest.slot != i + 1))
            slot_free(s);
    }
}

bool wall_look(wall *w, capture_counts *n)
{
    int dir = task_open();
    if (dir < 0) return false;
    bool ok = threads_call(dir, w->tids, &w->n);
    sweep_slots(w);
    for (size_t i = 0; ok && i < w->n; i++) look_at(w, dir, w->tids[i], &w->seats[i], n);
    close(dir);
    return ok;
}
