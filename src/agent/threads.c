/* The table of watched threads: a mapping of records, a hash by tid and a list of free records. */
#include "agent/threads.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "unwind/registry.h"
#include "base/ban.h"

enum { BUCKETS = 4096 };

typedef struct table {
    pthread_mutex_t lock;
    thread_record *v;
    uint32_t *bucket;         /* by hash of the tid: index + 1 of the first record */
    uint32_t free;            /* index + 1 of the first free record */
    _Atomic uint32_t highest; /* number of records ever used */
    uint32_t call;            /* number of the last scan */
    void (*gone)(thread_record *t);
    uint32_t index; /* number of threads so far */
    _Atomic uint64_t lost;
    uint32_t own_starting;    /* threads of the agent whose tid is not known yet */
    bool any_ended, any_gone; /* records in state ENDED, GONE exist */
} table;

static table threads = {.lock = PTHREAD_MUTEX_INITIALIZER};
static _Thread_local thread_record *self; /* initial-exec: see meson.build */

static size_t table_bytes(void) { return THREADS_MAX * sizeof(thread_record); }

bool threads_open(void (*gone)(thread_record *t), err *e)
{
    threads.gone = gone;
    if (threads.v) return true;
    size_t bytes = table_bytes() + BUCKETS * sizeof(uint32_t);
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    if (p == MAP_FAILED)
        return err_set(e, ERR_MEMORY, "not enough memory for the table of threads");
    threads.v = p;
    threads.bucket = (uint32_t *)(void *)((char *)p + table_bytes());
    handler.threads = p;
    handler.thread_bytes = sizeof(thread_record);
    handler.n_threads = THREADS_MAX;
    return true;
}

/* Replaces the table with zero pages, which are an empty table with unlocked locks. */
void threads_forked(void)
{
    unwind_stack stack = self ? self->pub.stack : (unwind_stack){0};
    madvise(threads.v, table_bytes() + BUCKETS * sizeof(uint32_t), MADV_DONTNEED);
    threads = (table){.lock = PTHREAD_MUTEX_INITIALIZER,
                      .v = threads.v,
                      .bucket = threads.bucket,
                      .gone = threads.gone,
                      .index = threads.index};
    thread_record *t = thread_add((uint32_t)gettid(), false); /* its stack has not changed */
    t->pub.stack = stack;
    t->about.pthread = (uint64_t)pthread_self();
    self = t;
}

thread_record *thread_at(uint32_t position) { return &threads.v[position]; }

uint32_t thread_position(const thread_record *t) { return (uint32_t)(t - threads.v); }

uint64_t threads_lost(void) { return atomic_load(&threads.lost); }

void threads_count_lost(void) { atomic_fetch_add(&threads.lost, 1); }

thread_record *thread_self(void) { return self; }

void thread_self_set(thread_record *t) { self = t; }

/* ---- records; with the lock held ---- */

static thread_record *take_record(void)
{
    uint32_t p = threads.free, highest = atomic_load(&threads.highest);
    if (p) {
        threads.free = threads.v[p - 1].next;
        p--;
    } else if (highest < THREADS_MAX) {
        p = highest;
        atomic_store(&threads.highest, highest + 1);
    } else {
        atomic_fetch_add(&threads.lost, 1);
        return NULL;
    }
    thread_record *t = &threads.v[p];
    uint32_t generation = atomic_load(&t->pub.generation) + 1;
    *t = (thread_record){.lock = PTHREAD_MUTEX_INITIALIZER};
    atomic_store(&t->pub.generation, generation);
    return t;
}

static void release_record(thread_record *t)
{
    t->state = THREAD_FREE;
    t->next = threads.free;
    threads.free = thread_position(t) + 1;
}

static uint32_t *bucket_of(uint32_t tid) { return &threads.bucket[tid % BUCKETS]; }

static thread_record *find(uint32_t tid)
{
    for (uint32_t p = *bucket_of(tid); p; p = threads.v[p - 1].next)
        if (threads.v[p - 1].pub.tid == tid) return &threads.v[p - 1];
    return NULL;
}

static void hash_insert(thread_record *t, uint32_t tid)
{
    uint32_t *b = bucket_of(tid);
    t->pub.tid = t->about.tid = tid;
    t->about.index = ++threads.index;
    t->born = threads.call;
    t->next = *b;
    *b = thread_position(t) + 1;
    t->state = THREAD_LIVE;
}

static void hash_remove(thread_record *t)
{
    uint32_t *at = bucket_of(t->pub.tid), me = thread_position(t) + 1;
    while (*at && *at != me) at = &threads.v[*at - 1].next;
    if (*at) *at = t->next;
    t->state = THREAD_ENDED;
    threads.any_ended = true;
}

/* ---- start and end ---- */

thread_record *thread_prepare(void *(*run)(void *), void *arg, bool own)
{
    pthread_mutex_lock(&threads.lock);
    thread_record *t = take_record();
    if (t) {
        t->state = THREAD_STARTING;
        t->run = run;
        t->arg = arg;
        t->own = own;
        threads.own_starting += own;
    }
    pthread_mutex_unlock(&threads.lock);
    return t;
}

void thread_cancel(thread_record *t)
{
    pthread_mutex_lock(&threads.lock);
    threads.own_starting -= t->own;
    release_record(t);
    pthread_mutex_unlock(&threads.lock);
}

thread_record *thread_begin(thread_record *t)
{
    uint32_t tid = (uint32_t)gettid();
    unwind_stack stack = unwind_stack_here();
    pthread_mutex_lock(&threads.lock);
    thread_record *found = find(tid);
    threads.own_starting -= t->own;
    if (found) {
        found->own = t->own;
        release_record(t);
        t = found;
    } else {
        hash_insert(t, tid);
    }
    t->pub.stack = stack;
    t->about.pthread = (uint64_t)pthread_self();
    pthread_mutex_unlock(&threads.lock);
    return self = t;
}

void thread_finish(thread_record *t)
{
    if (self == t) self = NULL;
    pthread_mutex_lock(&threads.lock);
    if (t->state == THREAD_LIVE) {
        hash_remove(t);
        /* An external collector identifies threads by tid, so the record is free before a drain. */
        if (handler.outside) release_record(t);
    }
    pthread_mutex_unlock(&threads.lock);
}

thread_record *thread_find(uint32_t tid)
{
    pthread_mutex_lock(&threads.lock);
    thread_record *t = find(tid);
    pthread_mutex_unlock(&threads.lock);
    return t;
}

thread_record *thread_add(uint32_t tid, bool here)
{
    unwind_stack stack = here ? unwind_stack_here() : (unwind_stack){0};
    pthread_mutex_lock(&threads.lock);
    thread_record *t = find(tid);
    /* The thread has just started.  It may belong to the agent; then it is marked before the next
     * scan. */
    bool unsure = !t && !here && threads.own_starting && tid != (uint32_t)gettid();
    if (!t && !unsure && (t = take_record())) hash_insert(t, tid);
    if (t && here) {
        t->pub.stack = stack;
        t->about.pthread = (uint64_t)pthread_self();
        self = t;
    }
    pthread_mutex_unlock(&threads.lock);
    return t;
}

void thread_name_self(thread_record *t)
{
    char name[17] = ""; /* 16 bytes from the kernel, and a terminator */
    prctl(PR_GET_NAME, name);
    task_name_clean(str_of(name), t->about.name);
    t->described = true;
}

bool thread_describe(thread_record *t, int dir)
{
    char buf[1024];
    task_stat s;
    if (!task_stat_parse(task_read(dir, t->pub.tid, "stat", buf, sizeof buf), &s)) return false;
    t->about.start_ticks = s.start_ticks;
    t->about.os_prio = s.os_prio;
    memcpy(t->about.name, s.name, sizeof s.name);
    t->described = true;
    return true;
}

/* ---- all threads ---- */

/* Ends the records from before the scan whose threads are not listed: these have ended without
 * notice (raw clone). */
static void end_missing(void)
{
    uint32_t n = atomic_load(&threads.highest);
    for (uint32_t i = 0; i < n; i++) {
        thread_record *t = &threads.v[i];
        pthread_mutex_lock(&threads.lock);
        bool missing =
            t->state == THREAD_LIVE && t->seen != threads.call && t->born != threads.call;
        pthread_mutex_unlock(&threads.lock);
        if (!missing) continue;
        threads.gone(t);
        thread_finish(t);
    }
}

bool threads_scan(int dir, uint32_t *tids, size_t *n)
{
    bool more;
    pthread_mutex_lock(&threads.lock);
    threads.call++;
    pthread_mutex_unlock(&threads.lock);
    if (!task_list(dir, tids, THREADS_MAX, n, &more)) return false;
    for (size_t i = 0; i < *n; i++) {
        thread_record *t = thread_add(tids[i], false);
        if (t) t->seen = threads.call;
    }
    if (!more) end_missing();
    return true;
}

void threads_each(void (*f)(void *ctx, thread_record *t), void *ctx)
{
    uint32_t n = atomic_load(&threads.highest);
    for (uint32_t i = 0; i < n; i++) {
        pthread_mutex_lock(&threads.lock);
        bool live = threads.v[i].state == THREAD_LIVE;
        pthread_mutex_unlock(&threads.lock);
        if (live) f(ctx, &threads.v[i]);
    }
}

void threads_peek(void (*f)(void *ctx, const thread_public *t), void *ctx)
{
    uint32_t n = atomic_load(&threads.highest);
    for (uint32_t i = 0; i < n; i++)
        if (threads.v[i].state == THREAD_LIVE && !threads.v[i].own) f(ctx, &threads.v[i].pub);
}

static void change_all(thread_state from, void (*change)(thread_record *t))
{
    uint32_t n = atomic_load(&threads.highest);
    for (uint32_t i = 0; i < n; i++)
        if (threads.v[i].state == from) change(&threads.v[i]);
}

static void mark_gone(thread_record *t) { t->state = THREAD_GONE; }

void threads_retire(void)
{
    pthread_mutex_lock(&threads.lock);
    if (threads.any_ended) change_all(THREAD_ENDED, mark_gone);
    threads.any_gone |= threads.any_ended;
    threads.any_ended = false;
    pthread_mutex_unlock(&threads.lock);
}

void threads_reap(void)
{
    pthread_mutex_lock(&threads.lock);
    if (threads.any_gone) change_all(THREAD_GONE, release_record);
    threads.any_gone = false;
    pthread_mutex_unlock(&threads.lock);
}
