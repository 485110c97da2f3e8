#include "agent/wall.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "agent/exclude.h"
#include "agent/signal/handler.h"
#include "base/ban.h"

enum {
    SLOTS_BYTES = 2 << 20, /* of all slots; more threads than slots are asked in turns */
    BOOK_BYTES = 1 << 20, /* stacks of threads at rest; full: begun anew, and all are asked again */
    ANSWER_NS = 100 * 1000000, /* one that must wait for a CPU answers late */
};

typedef enum seat_how {
    SEAT_EMPTY,   /* ended, ours, or left out */
    SEAT_AT_REST, /* its stack is known */
    SEAT_BLOCKED, /* blocks the signal */
    SEAT_STUCK,   /* has not answered an earlier round, or is stopped */
    SEAT_ASK,
    SEAT_ASKED, /* its slot is armed */
    SEAT_ANSWERED,
} seat_how;

/* One thread in one round. */
typedef struct seat {
    thread_record *t;
    uint64_t time, cpu;
    uint32_t stack, link, attrs; /* of the book; stack is NO_THREAD: none */
    uint32_t slot;
    seat_how how;
    char state;
    char wchan[TASK_WCHAN];
} seat;

struct wall {
    wall_opts o;
    batch *book;
    uint32_t book_number;
    uint32_t round;
    uint64_t time; /* of the round */
    uint32_t *tids;
    seat *seats;
    size_t n;
    uint32_t next_slot, slots_used;
    uint32_t target; /* answers there will be in all, if everybody who was not given up answers */
};

enum { NOT_YET = 1 << 30 }; /* while signals are being sent nobody has to wake the sampler */

static uint64_t clock_now(clockid_t c)
{
    struct timespec t;
    clock_gettime(c, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void *map(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static bool open_slots(uint32_t max_frames)
{
    handler.slot_bytes = slot_bytes(max_frames);
    handler.n_slots = (uint32_t)(SLOTS_BYTES / handler.slot_bytes);
    if (!handler.slots) handler.slots = map(SLOTS_BYTES);
    return handler.slots != NULL;
}

void wall_close(wall *w)
{
    if (!w) return;
    batch_close(w->book);
    if (w->tids) munmap(w->tids, THREADS_MAX * sizeof *w->tids);
    if (w->seats) munmap(w->seats, THREADS_MAX * sizeof *w->seats);
    free(w);
}

wall *wall_open(const wall_opts *o, err *e)
{
    wall *w = calloc(1, sizeof *w);
    if (!w || !open_slots(o->max_frames) || !(w->book = batch_open(BOOK_BYTES, 0)) ||
        !(w->tids = map(THREADS_MAX * sizeof *w->tids)) ||
        !(w->seats = map(THREADS_MAX * sizeof *w->seats))) {
        err_set(e, ERR_LIMIT, "no memory for rounds of the wall clock");
        wall_close(w);
        return NULL;
    }
    w->o = *o;
    w->book_number = 1;
    return w;
}

void wall_move(wall *w, int sig) { w->o.sig = sig; }

/* Slots that were under way are the parent's. */
void wall_forked(wall *w)
{
    madvise(handler.slots, SLOTS_BYTES, MADV_DONTNEED);
    atomic_store(&handler.answered, 0);
    atomic_store(&handler.target, 0);
    w->n = w->target = w->slots_used = 0;
    w->book_number++;
}

/* ---- look ---- */

/* Positions in it are no longer good: whoever has some is asked again. */
static void new_book(wall *w)
{
    batch *b = batch_open(BOOK_BYTES, 0);
    if (!b) return;
    batch_close(w->book);
    w->book = b;
    w->book_number++;
}

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
    if (!s->t || s->t->own) return;
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

static bool look(wall *w)
{
    int dir = task_open();
    if (dir < 0) return false;
    bool ok = threads_call(dir, w->tids, &w->n);
    sweep_slots(w);
    for (size_t i = 0; ok && i < w->n; i++) look_at(w, dir, w->tids[i], &w->seats[i]);
    close(dir);
    return ok;
}

/* ---- send ---- */

/* A free slot; NO_THREAD: none, those of earlier rounds are still under way. */
static uint32_t take_slot(wall *w)
{
    for (uint32_t i = w->next_slot; i < handler.n_slots; i++) {
        if (slot_state_of(handler_slot(&handler, i)) != SLOT_FREE) continue;
        if (i >= w->slots_used) w->slots_used = i + 1;
        w->next_slot = i + 1;
        return i;
    }
    return NO_THREAD;
}

/* Under the thread's lock, so that one that is about to exec gets no signal. */
static bool send(const wall *w, thread_record *t, uint64_t ticket)
{
    siginfo_t si = {.si_code = SI_QUEUE};
    uint32_t pid = atomic_load(&handler.pid);
    si.si_pid = (pid_t)pid;
    si.si_uid = getuid();
    si.si_value.sival_ptr = (void *)(uintptr_t)ticket;
    pthread_mutex_lock(&t->lock);
    bool sent = !t->quiet && t->state == THREAD_LIVE &&
                syscall(SYS_rt_tgsigqueueinfo, pid, t->face.tid, w->o.sig, &si) == 0;
    pthread_mutex_unlock(&t->lock);
    return sent;
}

static bool ask(wall *w, seat *s)
{
    uint32_t i = take_slot(w);
    if (i == NO_THREAD) return false;
    slot *x = handler_slot(&handler, i);
    x->thread = thread_position(s->t);
    x->stack = s->t->face.stack;
    uint64_t ticket = slot_arm(x, i);
    s->slot = i;
    s->how = SEAT_ASKED;
    w->target++;
    if (send(w, s->t, ticket)) return true;
    slot_free(x);
    w->target--;
    s->how = SEAT_EMPTY; /* it has ended, or is about to exec */
    return true;
}

/* ---- wait ---- */

/* target is stored before answered is looked at, and a handler counts before it looks at target: one of
 * the two sees the other. */
static void wait_for_answers(const wall *w)
{
    atomic_store(&handler.target, w->target);
    uint64_t end = clock_now(CLOCK_MONOTONIC) + ANSWER_NS;
    struct timespec until = {(time_t)(end / 1000000000), (long)(end % 1000000000)};
    for (;;) {
        uint32_t answered = atomic_load(&handler.answered);
        if (answered == w->target) return;
        long r = syscall(SYS_futex, &handler.answered, FUTEX_WAIT_BITSET_PRIVATE, answered, &until,
                         NULL, FUTEX_BITSET_MATCH_ANY);
        if (r != 0 && errno == ETIMEDOUT) return;
    }
}

/* ---- collect ---- */

static bool into_book(wall *w, const raw_sample *raw, seat *s)
{
    agent_link l = {0};
    s->link = s->attrs = 0;
    if (!batch_stack(w->book, raw->pcs, raw->n, raw->end, true, &s->stack)) return false;
    if (!raw->in_context) return true;
    if (raw->span.has_ids) {
        memcpy(l.trace_id, raw->span.trace_id, sizeof l.trace_id);
        memcpy(l.span_id, raw->span.span_id, sizeof l.span_id);
        if (!batch_link(w->book, &l, &s->link)) return false;
    }
    return batch_attrs(w->book, raw->span.attrs, raw->span.n_attrs, &s->attrs);
}

/* A restarted call begins anew: the place is before the instruction, which has two bytes. */
static bool taken_there(const raw_sample *raw, const task_wait *w)
{
    return raw->sp == w->sp && w->pc - raw->pc <= 4;
}

static void count_stack(const raw_sample *raw, capture_counts *n)
{
    n->guessed += raw->guesses;
    n->truncated += raw->end == UNWIND_CAPPED;
    n->broken += raw->end > UNWIND_CAPPED;
}

static void collect_answer(wall *w, seat *s, capture_counts *n)
{
    slot *x = handler_slot(&handler, s->slot);
    const raw_sample *raw = &x->raw;
    thread_rest *r = &s->t->rest;
    s->how = SEAT_ANSWERED;
    s->time = raw->time;
    if (!s->t->about.pthread) s->t->about.pthread = raw->pthread;
    count_stack(raw, n);
    if (!into_book(w, raw, s)) {
        s->stack = NO_THREAD;
        n->batch_full++;
    }
    r->fresh = r->fresh && s->stack != NO_THREAD && taken_there(raw, &r->wait);
    r->book = w->book_number;
    r->stack = s->stack;
    r->link = s->link;
    r->attrs = s->attrs;
    slot_free(x);
}

/* Given up: the slot stays with the thread until its signal arrives. */
static void collect(wall *w, seat *s, capture_counts *n)
{
    slot *x = handler_slot(&handler, s->slot);
    if (slot_give_up(x)) {
        w->target--;
    } else if (slot_state_of(x) == SLOT_DONE) {
        collect_answer(w, s, n);
        return;
    }
    s->t->rest.slot = s->slot + 1;
    s->t->rest.fresh = false;
    s->how = SEAT_STUCK;
}

/* As many as there are slots for, at a time. */
static void ask_all(wall *w, capture_counts *n)
{
    for (size_t first = 0, i = 0; first < w->n; first = i) {
        uint32_t asked = 0;
        atomic_store(&handler.target, w->target + NOT_YET);
        w->next_slot = 0; /* the lowest first: few pages are touched */
        for (; i < w->n; i++) {
            if (w->seats[i].how != SEAT_ASK) continue;
            if (!ask(w, &w->seats[i])) break;
            asked++;
        }
        wait_for_answers(w);
        for (size_t k = first; k < i; k++)
            if (w->seats[k].how == SEAT_ASKED) collect(w, &w->seats[k], n);
        if (!asked && i < w->n) w->seats[i++].how = SEAT_STUCK; /* every slot is under way */
    }
}

bool wall_take(wall *w, capture_counts *n)
{
    if (w->book->mem.used > BOOK_BYTES / 2) new_book(w);
    if (!look(w)) return false;
    w->time =
        clock_now(CLOCK_REALTIME); /* of those who are not asked: with the others, not before */
    w->round++;
    ask_all(w, n);
    n->wall_rounds++;
    return true;
}

/* ---- write ---- */

static bool copy_stack(const wall *w, const seat *s, batch *b, agent_sample *out)
{
    const batch *from = w->book;
    if (s->stack == NO_THREAD) return batch_stack(b, NULL, 0, UNWIND_WHOLE, false, &out->stack);
    const agent_stack *k = &from->stacks.v[s->stack];
    const agent_attrs *a = &from->attrs.v[s->attrs];
    return batch_stack(b, &from->pcs.v[k->first], k->n, k->end, true, &out->stack) &&
           (!s->link || batch_link(b, &from->links.v[s->link], &out->link)) &&
           (!s->attrs || batch_attrs(b, &from->attr_bytes.v[a->first], a->n, &out->attrs));
}

static bool write_seat(const wall *w, const seat *s, batch *b)
{
    agent_sample out = {.time = s->how == SEAT_ANSWERED ? s->time : w->time,
                        .value = (int64_t)w->o.interval,
                        .cpu_ns = s->cpu,
                        .round = w->round,
                        .kind = SAMPLE_WALL,
                        .state = s->state,
                        .reused = s->how == SEAT_AT_REST};
    memcpy(out.wchan, s->wchan, sizeof out.wchan);
    if (!copy_stack(w, s, b, &out) || !batch_thread(b, &s->t->about, &out.thread)) return false;
    agent_sample *added = vec_push(&b->mem, &b->samples);
    if (added) *added = out;
    return added != NULL;
}

void wall_write(const wall *w, batch *b, capture_counts *n)
{
    for (size_t i = 0; i < w->n; i++) {
        const seat *s = &w->seats[i];
        if (s->how == SEAT_EMPTY) continue;
        n->wall_reused += s->how == SEAT_AT_REST;
        n->blocked += s->how == SEAT_BLOCKED;
        n->wall_unanswered += s->how == SEAT_STUCK;
        if (write_seat(w, s, b))
            n->wall_samples++;
        else
            n->batch_full++;
    }
}
