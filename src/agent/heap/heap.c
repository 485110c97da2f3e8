/* Samples allocations: state of the process and its threads, and the table of functions that the
 * agent calls. */
#include "agent/heap/heap.h"

#include "agent/heap/link.h"
#include "agent/heap/stacks.h"
#include "base/hash.h"
#include "unwind/unwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>

/* While sampling is off, a thread checks again after this many bytes.  When sampling starts, these
 * bytes may be missed. */
enum { CHECK_BYTES = 16 << 10 };
enum { OWN_FRAMES = 12 }; /* maximum of own frames: operator new[] through malloc to stack_here */

_Thread_local heap_thread heap_self;
live heap_live;

static struct {
    _Atomic uint64_t interval; /* 0: off */
    _Atomic uint64_t last;     /* interval of the last call of heap_start */
    const agent_for_heap *agent;
    stacks stacks;
    uint64_t seed;
    _Atomic uint64_t threads; /* number of threads with a seed */
    _Atomic uint64_t samples, stacks_lost, live_lost;
} heap;

/* Start of the library's own code, which is removed from stacks. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

static void count(_Atomic uint64_t *c) { atomic_fetch_add_explicit(c, 1, memory_order_relaxed); }

static void add(_Atomic int64_t *sum, int64_t n)
{
    atomic_fetch_add_explicit(sum, n, memory_order_relaxed);
}

/* ---- selection of samples ---- */

static void seed_thread(heap_thread *t)
{
    uint64_t number = atomic_fetch_add_explicit(&heap.threads, 1, memory_order_relaxed);
    t->random = hash_mix(heap.seed, number);
    t->seeded = true;
}

static bool agents_own(heap_thread *t)
{
    t->busy = true;
    bool own = heap.agent->own_thread && heap.agent->own_thread();
    t->busy = false;
    return own;
}

COLD bool heap_due(size_t n)
{
    heap_thread *t = &heap_self;
    t->checks++;
    if (t->busy) return false;
    /* acquire: pairs with heap_start */
    uint64_t interval = atomic_load_explicit(&heap.interval, memory_order_acquire);
    if (!interval) {
        t->interval = 0;
        t->left = CHECK_BYTES;
        return false;
    }
    if (t->interval != interval) {
        if (!t->seeded) seed_thread(t);
        t->interval = interval;
        t->left = estimate_distance(interval, &t->random);
        if (heap_pass(n)) return false;
    }
    t->left = estimate_distance(interval, &t->random);
    return !agents_own(t);
}

/* ---- samples ---- */

static bool is_ours(uintptr_t pc)
{
    return pc - (uintptr_t)__ehdr_start < (uintptr_t)(etext - __ehdr_start);
}

/* Returns the stack of the library's caller, without the library's frames and those between them
 * (an operator new that calls malloc). */
static NOINLINE uint32_t stack_of_caller(void)
{
    uintptr_t pcs[HEAP_FRAMES + OWN_FRAMES];
    uint8_t end = UNWIND_NO_RULE;
    size_t n = heap.agent->stack_here(pcs, ARRAY_LEN(pcs), 0, &end),
           own = n < OWN_FRAMES ? n : OWN_FRAMES;
    while (own && !is_ours(pcs[own - 1])) own--;
    n -= own;
    if (n > HEAP_FRAMES) {
        n = HEAP_FRAMES;
        end = UNWIND_CAPPED;
    }
    uint32_t stack = stacks_intern(&heap.stacks, pcs + own, (uint16_t)n, end);
    if (!stack && n) count(&heap.stacks_lost);
    return stack;
}

/* Counts the block as in use if the table of live blocks has space, so that its free is noticed. */
static void remember(const void *p, const live_value *v)
{
    stack_entry *e = &heap.stacks.entry[v->stack];
    if (!live_put(&heap_live, (uintptr_t)p, v)) {
        count(&heap.live_lost);
        return;
    }
    add(&e->inuse_objects, v->stands_for.objects);
    add(&e->inuse_space, v->stands_for.space);
}

COLD void heap_sampled(const void *p, size_t n)
{
    int saved = errno;
    heap_self.busy = true;
    heap_forget(p); /* the previous block at this address, in case its free was not seen */
    live_value v = {estimate_of(n, heap_self.interval), stack_of_caller()};
    stack_entry *e = &heap.stacks.entry[v.stack];
    add(&e->alloc_objects, v.stands_for.objects);
    add(&e->alloc_space, v.stands_for.space);
    remember(p, &v);
    count(&heap.samples);
    heap_self.busy = false;
    errno = saved;
}

/* ---- freed blocks ---- */

bool heap_lift(const void *p, live_value *v) { return live_take(&heap_live, (uintptr_t)p, v); }

void heap_settle(const live_value *v)
{
    stack_entry *e = &heap.stacks.entry[v->stack];
    add(&e->inuse_objects, -v->stands_for.objects);
    add(&e->inuse_space, -v->stands_for.space);
}

void heap_restore(const void *p, const live_value *v)
{
    if (live_put(&heap_live, (uintptr_t)p, v)) return;
    count(&heap.live_lost);
    heap_settle(v);
}

COLD void heap_forget(const void *p)
{
    live_value v;
    if (heap_lift(p, &v)) heap_settle(&v);
}

/* ---- interface to the agent ---- */

/* Returns a random seed, or one from KILN_SEED, which makes a run repeatable. */
static uint64_t new_seed(void)
{
    const char *fixed = getenv("KILN_SEED");
    if (fixed && *fixed) return strtoull(fixed, NULL, 10);
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == (ssize_t)sizeof seed) return seed;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return hash_mix((uint64_t)now.tv_sec, (uint64_t)now.tv_nsec);
}

/* Reserves address space for the tables; the kernel allocates small pages when they are first
 * used. */
static bool tables_open(void)
{
    if (heap.stacks.slot) return true;
    void *m = mmap(NULL, LIVE_BYTES + STACKS_BYTES, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m == MAP_FAILED) return false;
    (void)madvise(m, LIVE_BYTES + STACKS_BYTES, MADV_NOHUGEPAGE);
    live_open(&heap_live, m);
    stacks_open(&heap.stacks, (char *)m + LIVE_BYTES);
    return true;
}

static bool heap_start(uint64_t interval)
{
    int saved = errno;
    heap.agent = dlsym(RTLD_DEFAULT, "kiln_agent_for_heap");
    bool ready = heap.agent && heap.agent->version == HEAP_LINK_VERSION && tables_open();
    if (ready) {
        heap.seed = new_seed();
        seed_thread(&heap_self); /* the first seed, so that a run with KILN_SEED is repeatable */
        interval = interval < 1                       ? 1
                   : interval > ESTIMATE_INTERVAL_MAX ? ESTIMATE_INTERVAL_MAX
                                                      : interval;
        atomic_store_explicit(&heap.last, interval, memory_order_relaxed);
        /* release: pairs with heap_due */
        atomic_store_explicit(&heap.interval, interval, memory_order_release);
        heap_self.left = 0; /* affects the calling thread at once, others soon */
    }
    errno = saved;
    return ready;
}

static void heap_stop(void) { atomic_store_explicit(&heap.interval, 0, memory_order_release); }

static int64_t load_sum(const _Atomic int64_t *sum, int bits)
{
    return estimate_round(atomic_load_explicit(sum, memory_order_relaxed), bits);
}

static void heap_each(void (*f)(void *ctx, const heap_entry *e), void *ctx)
{
    for (uint32_t i = 0, n = stacks_count(&heap.stacks); i < n; i++) {
        const stack_entry *s = stacks_at(&heap.stacks, i);
        if (!s) continue;
        heap_entry e = {.pcs = heap.stacks.pcs + s->first,
                        .n = s->n,
                        .end = s->end,
                        .alloc_objects = load_sum(&s->alloc_objects, ESTIMATE_OBJECT_BITS),
                        .alloc_space = load_sum(&s->alloc_space, ESTIMATE_SPACE_BITS),
                        .inuse_objects = load_sum(&s->inuse_objects, ESTIMATE_OBJECT_BITS),
                        .inuse_space = load_sum(&s->inuse_space, ESTIMATE_SPACE_BITS)};
        if (e.alloc_objects || e.inuse_objects) f(ctx, &e);
    }
}

static heap_counts heap_count(void)
{
    return (heap_counts){atomic_load_explicit(&heap.samples, memory_order_relaxed),
                         atomic_load_explicit(&heap.stacks_lost, memory_order_relaxed),
                         atomic_load_explicit(&heap.live_lost, memory_order_relaxed),
                         atomic_load_explicit(&heap.last, memory_order_relaxed)};
}

static void still_there(void *ctx, const live_value *v)
{
    (void)ctx;
    stack_entry *e = &heap.stacks.entry[v->stack];
    add(&e->inuse_objects, v->stands_for.objects);
    add(&e->inuse_space, v->stands_for.space);
}

/* Counts the memory in use again from the live blocks, because other threads of the parent may have
 * been changing the tables during the fork. */
static void heap_forked(void)
{
    for (uint32_t i = 0, n = stacks_count(&heap.stacks); i < n; i++) {
        stack_entry *e = &heap.stacks.entry[i];
        _Atomic int64_t *sums[] = {&e->alloc_objects, &e->alloc_space, &e->inuse_objects,
                                   &e->inuse_space};
        for (size_t k = 0; k < ARRAY_LEN(sums); k++)
            atomic_store_explicit(sums[k], 0, memory_order_relaxed);
    }
    live_repair(&heap_live, still_there, NULL);
    atomic_store_explicit(&heap.samples, 0, memory_order_relaxed);
    atomic_store_explicit(&heap.stacks_lost, 0, memory_order_relaxed);
    atomic_store_explicit(&heap.live_lost, 0, memory_order_relaxed);
    /* with KILN_SEED: different random numbers than the parent */
    heap.seed = hash_mix(new_seed(), 1);
    atomic_store_explicit(&heap.threads, 0, memory_order_relaxed);
    heap_self.interval = 0;
    heap_self.left = 0;
    seed_thread(&heap_self);
}

__attribute__((visibility("default"))) extern const heap_for_agent kiln_heap_for_agent;
const heap_for_agent kiln_heap_for_agent = {
    .version = HEAP_LINK_VERSION,
    .start = heap_start,
    .stop = heap_stop,
    .each = heap_each,
    .counts = heap_count,
    .forked = heap_forked,
};
