/* tests/torture/threads.c - threads that start and end in every way. */
#include "torture.h"

#include <sched.h>
#include <stdatomic.h>

/* ---- many short threads ---- */

static void *shorty(void *p)
{
    uintptr_t n = (uintptr_t)p;
    if (n % 64 == 0) torture_spin_us(300);
    return (void *)(n * 3);
}

static int storm(torture *t)
{
    enum { AT_ONCE = 50 };
    uint64_t sum = 0;
    uintptr_t n = 0;
    for (unsigned i = 0; torture_round(t, &i, 200);) { /* 10 000 threads */
        pthread_t threads[AT_ONCE];
        for (size_t k = 0; k < AT_ONCE; k++)
            MUST(!pthread_create(&threads[k], NULL, shorty, (void *)++n));
        for (size_t k = 0; k < AT_ONCE; k++) {
            void *result = NULL;
            MUST(!pthread_join(threads[k], &result));
            sum += (uintptr_t)result;
        }
    }
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}

static atomic_int detached_left;

static void *detached(void *p)
{
    torture_malloc((uintptr_t)p, 20);
    atomic_fetch_sub(&detached_left, 1);
    return NULL;
}

static int storm_detached(torture *t)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    for (unsigned i = 0; torture_round(t, &i, 1000);) {
        pthread_t thread;
        atomic_fetch_add(&detached_left, 1);
        while (pthread_create(&thread, &attr, detached, (void *)(uintptr_t)i))
            torture_sleep_us(100);
        while (atomic_load(&detached_left) > 40) torture_sleep_us(100);
    }
    while (atomic_load(&detached_left)) torture_sleep_us(1000);
    pthread_attr_destroy(&attr);
    return 0;
}

/* Threads that create threads that create threads. */
static void *tree(void *p)
{
    uintptr_t depth = (uintptr_t)p;
    if (!depth) return torture_spin_us(200), (void *)1;
    pthread_t two[2];
    uintptr_t sum = 0;
    for (int i = 0; i < 2; i++) MUST(!pthread_create(&two[i], NULL, tree, (void *)(depth - 1)));
    for (int i = 0; i < 2; i++) {
        void *result = NULL;
        MUST(!pthread_join(two[i], &result));
        sum += (uintptr_t)result;
    }
    return (void *)sum;
}

static int trees(torture *t)
{
    for (unsigned i = 0; torture_round(t, &i, 12);) MUST(tree((void *)5) == (void *)32);
    return 0;
}

/* 500 threads at once, sleeping and running. */
static pthread_barrier_t gate;
static void *waits_at_gate(void *p)
{
    pthread_barrier_wait(&gate);
    torture_spin_us(100);
    pthread_barrier_wait(&gate);
    return p;
}

static int many(torture *t)
{
    enum { MANY = 500 };
    static pthread_t threads[MANY];
    for (unsigned i = 0; torture_round(t, &i, 4);) {
        pthread_barrier_init(&gate, NULL, MANY + 1);
        for (size_t k = 0; k < MANY; k++)
            MUST(!pthread_create(&threads[k], NULL, waits_at_gate, NULL));
        pthread_barrier_wait(&gate);
        torture_sleep_us(20000);
        pthread_barrier_wait(&gate);
        for (size_t k = 0; k < MANY; k++) MUST(!pthread_join(threads[k], NULL));
        pthread_barrier_destroy(&gate);
    }
    return 0;
}

/* ---- stacks of the program ---- */

/* Stacks of the minimum size, unmapped right after the join. */
static int small_stacks(torture *t)
{
    size_t n = (size_t)sysconf(_SC_THREAD_STACK_MIN) + 8192;
    n = (n + 4095) & ~(size_t)4095;
    for (unsigned i = 0; torture_round(t, &i, 300);) {
        char *stack = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        MUST(stack != MAP_FAILED);
        pthread_attr_t attr;
        pthread_t thread;
        pthread_attr_init(&attr);
        MUST(!pthread_attr_setstack(&attr, stack, n));
        MUST(!pthread_create(&thread, &attr, shorty, (void *)(uintptr_t)(i & 1 ? 64 : 1)));
        MUST(!pthread_join(thread, NULL));
        MUST(!munmap(stack, n));
        pthread_attr_destroy(&attr);
    }
    return 0;
}

/* ---- threads without libc ---- */

#if defined __x86_64__
enum { RAW_STACK = 65536 };
static _Atomic uint32_t raw_tid, raw_work;

/* Does not use libc, because the thread pointer may belong to another thread. */
__attribute__((noreturn, no_stack_protector)) static int raw_thread(void *p)
{
    (void)p;
    for (uint32_t i = 0; i < 3000000; i++)
        atomic_fetch_add_explicit(&raw_work, 1, memory_order_relaxed);
    for (;;) __asm__ volatile("syscall" : : "a"(SYS_exit), "D"(0) : "rcx", "r11", "memory");
}

static int raw_clone(torture *t, int flags, void *tls)
{
    unsigned ran = 0;
    for (unsigned i = 0; torture_round(t, &i, 10);) {
        char *stack =
            mmap(NULL, RAW_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        MUST(stack != MAP_FAILED);
        atomic_store(&raw_tid, 1), atomic_store(&raw_work, 0);
        int tid = clone(raw_thread, stack + RAW_STACK,
                        CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                            CLONE_SYSVSEM | CLONE_CHILD_CLEARTID | flags,
                        NULL, NULL, tls, &raw_tid);
        MUST(tid > 0);
        while (atomic_load(&raw_tid)) torture_sleep_us(200);
        MUST(atomic_load(&raw_work) == 3000000);
        MUST(!munmap(stack, RAW_STACK));
        ran++;
    }
    printf("%u\n", ran);
    return 0;
}

static int raw_clone_shares(torture *t) { return raw_clone(t, 0, NULL); }

/* The thread has its own thread pointer, without libc's data around it. */
static int raw_clone_tls(torture *t)
{
    char *area = mmap(NULL, 3 * 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(area != MAP_FAILED);
    return raw_clone(t, CLONE_SETTLS, area + 2 * 65536);
}
#endif

/* ---- ways to end ---- */

static atomic_uint cleaned;
static void clean(void *unused) { (void)unused, atomic_fetch_add(&cleaned, 1); }

static void *to_be_cancelled(void *p)
{
    uintptr_t how = (uintptr_t)p;
    pthread_cleanup_push(clean, NULL);
    if (how == 1) pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;) {
        if (how == 0) torture_sleep_us(1000000);
        if (how == 1)
            for (volatile unsigned i = 0;; i++) {}
        if (how == 2) {
            torture_spin_us(100);
            pthread_testcancel();
        }
    }
    pthread_cleanup_pop(1);
    return NULL;
}

static int cancels(torture *t)
{
    for (unsigned i = 0; torture_round(t, &i, 100);) {
        pthread_t threads[3];
        for (uintptr_t k = 0; k < 3; k++)
            MUST(!pthread_create(&threads[k], NULL, to_be_cancelled, (void *)k));
        torture_sleep_us((unsigned)(torture_random(t) % 4000));
        for (size_t k = 0; k < 3; k++) {
            void *result = NULL;
            MUST(!pthread_cancel(threads[k]) && !pthread_join(threads[k], &result));
            MUST(result == PTHREAD_CANCELED);
        }
    }
    printf("%d\n", atomic_load(&cleaned) > 0);
    return 0;
}

static pthread_key_t key;
static atomic_uint destroyed;
static void destroy(void *p)
{
    torture_spin_us(100);
    free(p);
    atomic_fetch_add(&destroyed, 1);
}

static void *with_key(void *p)
{
    MUST(!pthread_setspecific(key, malloc(100)));
    if ((uintptr_t)p & 1) pthread_exit(p);
    return p;
}

static int key_destructors(torture *t)
{
    MUST(!pthread_key_create(&key, destroy));
    unsigned n = 0;
    for (unsigned i = 0; torture_round(t, &i, 300);) {
        pthread_t thread;
        void *result = NULL;
        MUST(!pthread_create(&thread, NULL, with_key, (void *)(uintptr_t)i));
        MUST(!pthread_join(thread, &result) && result == (void *)(uintptr_t)i);
        n++;
    }
    MUST(atomic_load(&destroyed) == n);
    printf("%u\n", n);
    return 0;
}

static void *outlives_main(void *p)
{
    torture_spin_us(100000);
    puts("after main");
    return p;
}

/* The first thread has ended and is a zombie in /proc; the others end the process. */
static int main_leaves(torture *t)
{
    (void)t;
    pthread_t thread;
    for (int i = 0; i < 3; i++) MUST(!pthread_create(&thread, NULL, outlives_main, NULL));
    pthread_exit(NULL);
}

static void *exits_process(void *p)
{
    torture_spin_us(5000);
    exit(p ? 4 : 0);
}

static int exit_in_thread(torture *t)
{
    pthread_t thread;
    torture_crowd(4, true);
    MUST(!pthread_create(&thread, NULL, exits_process, t));
    pthread_join(thread, NULL);
    return 1;
}

static int exit_amid_threads(torture *t)
{
    torture_crowd(8, true);
    torture_spin_us((unsigned)(t->seed % 20000));
    return 11;
}

/* Threads that end just before the process, repeatedly. */
static int exit_races(torture *t)
{
    for (unsigned i = 0; torture_round(t, &i, 40);) {
        pid_t pid = fork();
        MUST(pid >= 0);
        if (!pid) {
            torture_crowd(1 + i % 4, i & 1);
            torture_spin_us((unsigned)(torture_random(t) % 3000));
            if (i & 4) torture_crowd_leave();
            exit((int)(i & 127));
        }
        MUST(torture_wait(pid) == (int)(i & 127));
    }
    return 0;
}

const torture_case thread_cases[] = {
    {"storm", storm},
    {"storm_detached", storm_detached},
    {"trees", trees},
    {"many", many},
    {"small_stacks", small_stacks},
#if defined __x86_64__
    {"raw_clone", raw_clone_shares},
    {"raw_clone_tls", raw_clone_tls},
#endif
    {"cancel", cancels},
    {"key_destructors", key_destructors},
    {"main_leaves", main_leaves},
    {"exit_in_thread", exit_in_thread},
    {"exit_amid_threads", exit_amid_threads},
    {"exit_races", exit_races},
    {NULL, NULL},
};
