#include "agent/wall_look.h"

#include "agent/exclude.h"

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

/* Did it go straight back to where its stack was taken? */
static bool went_back(const thread_rest *r, const task_wait *now, const task_status *st)
{
    return r->fresh && now->hash == r->wait.hash && st->switches == r->switches + 1;
}

static void keep(const wall *w, thread_rest *r, const seat *s)
{
    r->state = s->state;
    memcpy(r->wchan, s->wchan, sizeof r->wchan);
    r->cpu = s->cpu;
    r->settled = r->book == w->book_number;
    r->fresh = false;
}

static void rest(const wall *w, seat *s)
{
    const thread_rest *r = &s->t->rest;
    s->how = SEAT_AT_REST;
    s->stack = r->stack;
    s->link = r->link;
    s->attrs = r->attrs;
    s->state = r->state;
    memcpy(s->wchan, r->wchan, sizeof s->wchan);
    (void)w;
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

static seat_how look_closer(wall *w, int dir, seat *s)
{
    char buf[4096];
    task_stat stat;
    task_status st;
    task_wait wait = {0};
    thread_rest *r = &s->t->rest;
    if (!look_stat(w, dir, s, &stat)) return SEAT_EMPTY;
    r = &s->t->rest;
    s->state = stat.state;
    bool asleep = stat.state == 'S' || stat.state == 'D';
    if (asleep) look_wchan(dir, s);
    if (!task_status_parse(task_read(dir, s->t->face.tid, "status", buf, sizeof buf), &st))
        return SEAT_EMPTY;
    if (st.blocked >> (w->o.sig - 1) & 1) return SEAT_BLOCKED;
    if (stat.state == 'T' || stat.state == 't' || !slot_settled(s->t)) return SEAT_STUCK;
    bool waits = asleep &&
                 task_wait_parse(task_read(dir, s->t->face.tid, "syscall", buf, sizeof buf), &wait);
    if (waits && r->book == w->book_number && went_back(r, &wait, &st)) {
        keep(w, r, s);
        rest(w, s);
        return SEAT_AT_REST;
    }
    r->fresh = waits;
    r->settled = false;
    r->wait = wait;
    r->switches = st.switches;
    return SEAT_ASK;
}

static void look_at(wall *w, int dir, uint32_t tid, seat *s)
{
    *s = (seat){.t = thread_add(tid, false), .stack = NO_THREAD};
    if (!s->t || s->t->own || s->t->hushed) return;
    s->cpu = task_cpu(tid);
    const thread_rest *r = &s->t->rest;
    if (r->settled && r->book == w->book_number && r->cpu == s->cpu)
        rest(w, s);
    else
        s->how = look_closer(w, dir, s);
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

bool wall_look(wall *w)
{
    int dir = task_open();
    if (dir < 0) return false;
    bool ok = threads_call(dir, w->tids, &w->n);
    sweep_slots(w);
    for (size_t i = 0; ok && i < w->n; i++) look_at(w, dir, w->tids[i], &w->seats[i]);
    close(dir);
    return ok;
}
