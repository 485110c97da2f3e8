/* epoll for descriptors, an eventfd for wake-ups, and a pairing heap for timers, which needs no
 * allocation. */
#include "net/loop.h"

#include "base/ban.h"
#include <errno.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { EVENTS = 64 }; /* read from epoll at a time */

struct loop {
    const world *world;
    int epoll, wake_fd;
    void (*on_wake)(void *ctx);
    void *ctx;
    loop_timer *first; /* root of the heap: the earliest timer */
    loop_timer *aside; /* timers armed during run_timers that are already due */
    uint64_t n_armed;  /* timers armed so far: breaks ties between equal deadlines */
    uint64_t until;    /* run_timers runs timers up to this time */
    bool running;
    struct epoll_event events[EVENTS];
    uint64_t n_turns, turn_began;
    int n_events, at; /* events[at .. n_events) are still to be delivered */
    /* Watched descriptors plus 1; 0 marks a free entry. loop_forked closes them in a forked child.
     * An entry is removed before its descriptor is closed, because the program may reuse the number
     * and fork at any time. */
    _Atomic int fds[LOOP_MAX_FDS];
};

loop *loop_open(const world *w, void (*on_wake)(void *ctx), void *ctx, err *e)
{
    loop *l = calloc(1, sizeof *l);
    if (!l) return err_memory(e), NULL;
    *l = (loop){.world = w, .on_wake = on_wake, .ctx = ctx, .wake_fd = -1};
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (l->epoll >= 0) l->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    struct epoll_event ev = {.events = EPOLLIN}; /* data.ptr is NULL for the wake-up eventfd */
    if (l->wake_fd >= 0 && epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->wake_fd, &ev) == 0) return l;
    err_sys(e, errno, "cannot create an event loop");
    loop_close(l);
    return NULL;
}

void loop_close(loop *l)
{
    if (!l) return;
    if (l->wake_fd >= 0) close(l->wake_fd);
    if (l->epoll >= 0) close(l->epoll);
    free(l);
}

void loop_forked(loop *l)
{
    close(l->wake_fd);
    close(l->epoll);
    for (size_t i = 0; i < LOOP_MAX_FDS; i++) {
        int fd = atomic_exchange_explicit(&l->fds[i], 0, memory_order_relaxed) - 1;
        if (fd >= 0) close(fd);
    }
}

const world *loop_world(const loop *l) { return l->world; }

/* ---- descriptors ---- */

static void replace_fd(loop *l, int old, int new)
{
    for (size_t i = 0; i < LOOP_MAX_FDS; i++)
        if (atomic_load_explicit(&l->fds[i], memory_order_relaxed) == old) {
            atomic_store_explicit(&l->fds[i], new, memory_order_relaxed);
            return;
        }
}

bool loop_add(loop *l, loop_watch *w, uint32_t events, err *e)
{
    struct epoll_event ev = {.events = events, .data.ptr = w};
    if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, w->fd, &ev) == 0)
        return replace_fd(l, 0, w->fd + 1), true;
    return err_sys(e, errno, "cannot watch a socket");
}

void loop_change(loop *l, loop_watch *w, uint32_t events)
{
    struct epoll_event ev = {.events = events, .data.ptr = w};
    (void)epoll_ctl(l->epoll, EPOLL_CTL_MOD, w->fd, &ev); /* cannot fail after loop_add */
}

void loop_forget(loop *l, loop_watch *w)
{
    replace_fd(l, w->fd + 1, 0);
    (void)epoll_ctl(l->epoll, EPOLL_CTL_DEL, w->fd, NULL);
    for (int i = l->at; i < l->n_events; i++)
        if (l->events[i].data.ptr == w) l->events[i].events = 0;
}

/* ---- timers: a pairing heap, so that arming cannot fail ---- */

static bool is_earlier(const loop_timer *a, const loop_timer *b)
{
    return a->at != b->at ? a->at < b->at : a->turn < b->turn;
}

/* Merges two heaps: the later root becomes the first child of the other. */
static loop_timer *meld(loop_timer *a, loop_timer *b)
{
    if (!a || !b) return a ? a : b;
    if (is_earlier(b, a)) {
        loop_timer *t = a;
        a = b, b = t;
    }
    b->prev = a, b->next = a->child;
    if (b->next) b->next->prev = b;
    a->child = b;
    return a;
}

/* Merges siblings into one heap: in pairs, then the pairs from last to first. */
static loop_timer *meld_all(loop_timer *t)
{
    loop_timer *pairs = NULL, *root = NULL;
    while (t) {
        loop_timer *a = t, *b = t->next;
        t = b ? b->next : NULL;
        a->next = a->prev = NULL;
        if (b) b->next = b->prev = NULL;
        a = meld(a, b);
        a->next = pairs, pairs = a;
    }
    while (pairs) {
        loop_timer *a = pairs;
        pairs = a->next;
        a->next = NULL;
        root = meld(root, a);
    }
    return root;
}

void loop_disarm(loop *l, loop_timer *t)
{
    if (!t->armed) return;
    t->armed = false;
    loop_timer *below = meld_all(t->child);
    t->child = NULL;
    if (!t->prev) {
        *(t == l->first ? &l->first : &l->aside) = below;
        return;
    }
    *(t->prev->child == t ? &t->prev->child : &t->prev->next) = t->next;
    if (t->next) t->next->prev = t->prev;
    t->next = t->prev = NULL;
    l->first = meld(l->first, below);
}

void loop_arm(loop *l, loop_timer *t, uint64_t at)
{
    loop_disarm(l, t);
    t->at = at;
    t->turn = l->n_armed++;
    t->armed = true;
    loop_timer **to = l->running && at <= l->until ? &l->aside : &l->first;
    *to = meld(*to, t);
}

/* Runs the timers that are due.  Timers armed meanwhile wait for the next turn, so that a timer
 * that arms itself cannot block the loop. */
static void run_timers(loop *l)
{
    l->running = true;
    l->until = loop_now(l);
    for (loop_timer *t; (t = l->first) && t->at <= l->until;) {
        loop_disarm(l, t);
        t->due(t->ctx);
    }
    l->running = false;
    l->first = meld(l->first, l->aside);
    l->aside = NULL;
}

/* ---- turns ---- */

static int wait_ms(const loop *l, uint64_t max_wait)
{
    if (l->first) {
        uint64_t now = loop_now(l), at = l->first->at, until = at > now ? at - now : 0;
        if (until < max_wait) max_wait = until;
    }
    uint64_t ms = max_wait / NS_PER_MS + (max_wait % NS_PER_MS != 0); /* never too early */
    return ms > 60000 ? 60000 : (int)ms;
}

static void take_wake(loop *l)
{
    uint64_t n;
    if (read(l->wake_fd, &n, sizeof n) == (ssize_t)sizeof n && l->on_wake) l->on_wake(l->ctx);
}

void loop_once(loop *l, uint64_t max_wait)
{
    int n = epoll_wait(l->epoll, l->events, EVENTS, wait_ms(l, max_wait));
    l->n_events = n > 0 ? n : 0; /* EINTR: an empty turn */
    l->n_turns++;
    l->turn_began = loop_now(l);
    for (l->at = 0; l->at < l->n_events;) {
        struct epoll_event ev = l->events[l->at++];
        loop_watch *w = ev.data.ptr;
        if (!w)
            take_wake(l);
        else if (ev.events)
            w->ready(w->ctx, ev.events);
    }
    l->n_events = 0;
    run_timers(l);
}

uint64_t loop_turn(const loop *l) { return l->n_turns; }
uint64_t loop_turn_began(const loop *l) { return l->turn_began; }

void loop_wake(loop *l)
{
    uint64_t one = 1;
    ssize_t ignored = write(l->wake_fd, &one, sizeof one); /* full: a wake-up is already pending */
    (void)ignored;
}
