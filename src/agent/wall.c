#include "agent/wall.h"

#include "agent/filters.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include "agent/wall_look.h"
#include "base/ban.h"

enum {
    SLOTS_BYTES = 2 << 20, /* of all slots; more threads than slots are asked in turns */
    BOOK_BYTES = 1 << 20, /* stacks of threads at rest; full: begun anew, and all are asked again */
    ANSWER_NS = 100 * 1000000, /* one that must wait for a CPU answers late */
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

/* Another thread may unmap what is read. */
static bool read_self(const memory *m, uint64_t at, void *p, size_t n)
{
    struct iovec to = {p, n}, from = {(void *)(uintptr_t)at, n};
    (void)m;
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)n;
}

void wall_close(wall *w)
{
    if (!w) return;
    batch_close(w->book);
    if (w->tids) munmap(w->tids, THREADS_MAX * sizeof *w->tids);
    if (w->seats) munmap(w->seats, THREADS_MAX * sizeof *w->seats);
    if (w->copy) munmap(w->copy, BLOCKED_COPY);
    free(w->raw);
    free(w);
}

wall *wall_open(const wall_opts *o, err *e)
{
    wall *w = calloc(1, sizeof *w);
    if (!w || !open_slots(o->max_frames) || !(w->book = batch_open(BOOK_BYTES, 0)) ||
        !(w->tids = map(THREADS_MAX * sizeof *w->tids)) ||
        !(w->seats = map(THREADS_MAX * sizeof *w->seats)) || !(w->copy = map(BLOCKED_COPY)) ||
        !(w->raw = calloc(1, raw_bytes(o->max_frames)))) {
        err_set(e, ERR_LIMIT, "no memory for rounds of the wall clock");
        wall_close(w);
        return NULL;
    }
    w->o = *o;
    w->book_number = 1;
    w->self = (memory){.read = read_self};
    return w;
}

void wall_move(wall *w, int sig) { w->o.sig = sig; }

void wall_skip(wall *w, uint64_t rounds) { w->tick += rounds; }

/* Slots that were under way are the parent's.  So is the book, to which the sampler may have been writing:
 * it is left alone. */
void wall_forked(wall *w)
{
    w->left[w->n_left++ % WALL_LEFT] = w->book;
    w->book = NULL;
    madvise(handler.slots, SLOTS_BYTES, MADV_DONTNEED);
    atomic_store(&handler.answered, 0);
    atomic_store(&handler.target, 0);
    w->n = w->target = w->slots_used = 0;
}

/* Positions in it are no longer good: whoever has some is asked again. */
static void new_book(wall *w)
{
    batch *b = batch_open(BOOK_BYTES, 0);
    if (!b) return;
    batch_close(w->book);
    w->book = b;
    w->book_number++;
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

static void count_stack(const raw_sample *raw, capture_counts *n)
{
    n->guessed += raw->guesses;
    n->truncated += raw->end == UNWIND_CAPPED;
    n->no_register += raw->end == UNWIND_NO_REGISTER;
    n->broken += raw->end > UNWIND_CAPPED && raw->end != UNWIND_NO_REGISTER;
}

void wall_enter(wall *w, const raw_sample *raw, seat *s, capture_counts *n)
{
    thread_rest *r = &s->t->rest;
    count_stack(raw, n);
    if (!into_book(w, raw, s)) {
        s->stack = NO_THREAD;
        n->batch_full++;
    }
    r->book = w->book_number;
    r->stack = s->stack;
    r->link = s->link;
    r->attrs = s->attrs;
}

static void collect_answer(wall *w, seat *s, capture_counts *n)
{
    slot *x = handler_slot(&handler, s->slot);
    s->how = SEAT_ANSWERED;
    s->time = x->raw.time;
    if (!s->t->about.pthread) s->t->about.pthread = x->raw.pthread;
    wall_enter(w, &x->raw, s, n);
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
    if (!w->book || w->book->mem.used > BOOK_BYTES / 2) new_book(w);
    if (!w->book) return false;
    w->tick++;
    if (!wall_look(w, n)) return false;
    if (filters_seen()) return true; /* nobody is asked any more */
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

/* Rounds that a sample stands for: those since the thread's last one. */
static uint64_t rounds_of(const wall *w, const thread_rest *r)
{
    return r->tick ? w->tick - r->tick : 1;
}

static bool write_seat(const wall *w, const seat *s, batch *b)
{
    agent_sample out = {.time = s->how == SEAT_ANSWERED ? s->time : w->time,
                        .value = (int64_t)(rounds_of(w, &s->t->rest) * w->o.interval),
                        .cpu_ns = s->cpu,
                        .round = w->round,
                        .kind = SAMPLE_WALL,
                        .state = s->state,
                        .reused = s->how == SEAT_AT_REST};
    memcpy(out.wchan, s->wchan, sizeof out.wchan);
    if (!copy_stack(w, s, b, &out) || !batch_thread(b, &s->t->about, &out.thread)) return false;
    agent_sample *added = vec_push(&b->mem, &b->samples);
    if (!added) return false;
    *added = out;
    s->t->rest.tick = w->tick;
    return true;
}

void wall_write(const wall *w, batch *b, capture_counts *n)
{
    for (size_t i = 0; i < w->n; i++) {
        const seat *s = &w->seats[i];
        if (s->how == SEAT_EMPTY || s->t->hushed) continue; /* hushed after the look: in our code */
        n->wall_reused += s->how == SEAT_AT_REST;
        n->wall_walked += s->how == SEAT_WALKED;
        n->blocked += s->how == SEAT_BLOCKED;
        n->wall_unanswered += s->how == SEAT_STUCK;
        if (write_seat(w, s, b))
            n->wall_samples++;
        else
            n->batch_full++;
    }
}
