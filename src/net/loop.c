#include "net/loop.h"

#include "base/ban.h"
#include <errno.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { EVENTS = 64 }; /* delivered a round */

struct loop {
    const world *world;
    int epoll, knocks;
    void (*knock)(void *who);
    void *who;
    loop_timer *first; /* the earliest of the armed ones */
    loop_timer *aside; /* armed while timers up to `until` are being called, and due already */
    uint64_t turns;    /* timers armed so far: of two for the same time the first comes first */
    uint64_t until;
    bool running;
    struct epoll_event events[EVENTS];
    uint64_t n_turns, turn_began;
    int n_events, at; /* being delivered: events[at .. n_events) */
    /* Descriptors of watches, + 1; 0: free.  A fork may come at any time: an entry is set when the watch is, and
     * goes before its owner closes the descriptor, whose number may be the program's the next moment. */
    _Atomic int kept[LOOP_KEPT];
};

loop *loop_open(const world *w, void (*knock)(void *who), void *who, err *e)
{
    loop *l = calloc(1, sizeof *l);
    if (!l) return err_set(e, ERR_LIMIT, "out of memory"), NULL;
    *l = (loop){.world = w, .knock = knock, .who = who, .knocks = -1};
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (l->epoll >= 0) l->knocks = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    struct epoll_event ev = {.events = EPOLLIN}; /* no watch: the knock */
    if (l->knocks >= 0 && epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->knocks, &ev) == 0) return l;
    err_sys(e, errno, "cannot make an event loop");
    loop_close(l);
    return NULL;
}

void loop_close(loop *l)
{
    if (!l) return;
    if (l->knocks >= 0) close(l->knocks);
    if (l->epoll >= 0) close(l->epoll);
    free(l);
}

void loop_forked(loop *l)
{
    close(l->knocks);
    close(l->epoll);
    for (size_t i = 0; i < LOOP_KEPT; i++) {
        int fd = atomic_exchange_explicit(&l->kept[i], 0, memory_order_relaxed) - 1;
        if (fd >= 0) close(fd);
    }
}

const world *loop_world(const loop *l) { return l->world; }

/* ---- descriptors ---- */

static void keep(loop *l, int old, int new)
{
    for (size_t i = 0; i < LOOP_KEPT; i++)
        if (atomic_load_explicit(&l->kept[i], memory_order_relaxed) == old) {
            atomic_store_explicit(&l->kept[i], new, memory_order_relaxed);
            return;
        }
}

bool loop_add(loop *l, loop_watch *w, uint32_t events, err *e)
{
    struct epoll_event ev = {.events = events, .data.ptr = w};
    if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, w->fd, &ev) == 0) return keep(l, 0, w->fd + 1), true;
    return err_sys(e, errno, "cannot watch a socket");
}

void loop_change(loop *l, loop_watch *w, uint32_t events)
{
    struct epoll_event ev = {.events = events, .data.ptr = w};
    (void)epoll_ctl(l->epoll, EPOLL_CTL_MOD, w->fd, &ev); /* it is there: loop_add said so */
}

void loop_forget(loop *l, loop_watch *w)
{
    keep(l, w->fd + 1, 0);
    (void)epoll_ctl(l->epoll, EPOLL_CTL_DEL, w->fd, NULL);
    for (int i = l->at; i < l->n_events; i++)
        if (l->events[i].data.ptr == w) l->events[i].events = 0;
}

/* ---- timers: a pairing heap, so that arming needs no memory and cannot fail ---- */

static bool is_earlier(const loop_timer *a, const loop_timer *b)
{
    return a->at != b->at ? a->at < b->at : a->turn < b->turn;
}

/* Two heaps as one: the later root becomes the first child of the other. */
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

/* Of siblings one heap: in pairs, then the pairs from the last to the first. */
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
    t->turn = l->turns++;
    t->armed = true;
    loop_timer **to = l->running && at <= l->until ? &l->aside : &l->first;
    *to = meld(*to, t);
}

/* Those armed meanwhile wait for the next round, so that a timer that arms itself cannot hold the loop. */
static void run_timers(loop *l)
{
    l->running = true;
    l->until = loop_now(l);
    for (loop_timer *t; (t = l->first) && t->at <= l->until;) {
        loop_disarm(l, t);
        t->due(t->who);
    }
    l->running = false;
    l->first = meld(l->first, l->aside);
    l->aside = NULL;
}

/* ---- rounds ---- */

static int wait_ms(const loop *l, uint64_t max_wait)
{
    if (l->first) {
        uint64_t now = loop_now(l), at = l->first->at, until = at > now ? at - now : 0;
        if (until < max_wait) max_wait = until;
    }
    uint64_t ms = max_wait / NS_PER_MS + (max_wait % NS_PER_MS != 0); /* never too early */
    return ms > 60000 ? 60000 : (int)ms;
}

static void take_knock(loop *l)
{
    uint64_t n;
    if (read(l->knocks, &n, sizeof n) == (ssize_t)sizeof n && l->knock) l->knock(l->who);
}

void loop_once(loop *l, uint64_t max_wait)
{
    int n = epoll_wait(l->epoll, l->events, EVENTS, wait_ms(l, max_wait));
    l->n_events = n > 0 ? n : 0; /* EINTR: an empty round */
    l->n_turns++;
    l->turn_began = loop_now(l);
    for (l->at = 0; l->at < l->n_events;) {
        struct epoll_event ev = l->events[l->at++];
        loop_watch *w = ev.data.ptr;
        if (!w)
            take_knock(l);
        else if (ev.events)
            w->ready(w->who, ev.events);
    }
    l->n_events = 0;
    run_timers(l);
}

uint64_t loop_turn(const loop *l) { return l->n_turns; }
uint64_t loop_turn_began(const loop *l) { return l->turn_began; }

void loop_wake(loop *l)
{
    uint64_t one = 1;
    ssize_t ignored = write(l->knocks, &one, sizeof one); /* full: a knock is already pending */
    (void)ignored;
}
