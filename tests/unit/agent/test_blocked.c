/* Stacks of waiting threads taken without a signal: complete, discarded when the thread runs, or
 * not readable. */
#include "support/test.h"

#include "agent/blocked.h"
#include "unwind/registry.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FRAMES = 64 };

static unwind_registry *registry;
static int request[2], reply[2];
static _Atomic uint32_t tid;
static unwind_stack stack_of_thread;
static volatile int sink;

/* ---- a waiting thread ---- */

/* Saves the registers that unwinding needs, as the interposed calls do; libc's read does not. */
#if defined(__OPTIMIZE__) && defined(__x86_64__) && !defined(__clang__) &&                         \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WHOLE 1
#define SAVES __attribute__((optimize("omit-frame-pointer")))
#define SAVE() __asm__ volatile("" : : : "rbx", "rbp")
#else
#define WHOLE 0
#define SAVES
#define SAVE() ((void)0)
#endif

NOINLINE SAVES static int wait_here(void)
{
    char c = 0;
    SAVE();
    ssize_t n = read(request[0], &c, 1);
    sink++;
    return n == 1 ? c : 0;
}

NOINLINE static int far_down(size_t room)
{
    char *p = __builtin_alloca(room);
    memset(p, 1, room);
    int c = wait_here();
    sink += p[room - 1];
    return c;
}

static void *waits(void *room)
{
    stack_of_thread = unwind_stack_here();
    tid = (uint32_t)gettid();
    while (far_down((size_t)(uintptr_t)room) == 'g')
        if (write(reply[1], "x", 1) != 1) break;
    return NULL;
}

typedef struct waiter {
    pthread_t t;
    int dir;
} waiter;

static char state_of(int dir)
{
    char text[1024];
    task_stat s;
    return task_stat_parse(task_read(dir, tid, "stat", text, sizeof text), &s) ? s.state : 0;
}

static void until_it_waits(int dir)
{
    char text[256];
    task_wait w;
    while (!tid || state_of(dir) != 'S' ||
           !task_wait_parse(task_read(dir, tid, "syscall", text, sizeof text), &w))
        sched_yield();
}

static waiter start(size_t room)
{
    waiter w = {.dir = task_open()};
    tid = 0;
    assert_true(w.dir >= 0);
    assert_int_equal(pipe(request), 0);
    assert_int_equal(pipe(reply), 0);
    assert_int_equal(pthread_create(&w.t, NULL, waits, (void *)room), 0);
    until_it_waits(w.dir);
    return w;
}

static void end(waiter *w)
{
    assert_int_equal(write(request[1], "e", 1), 1);
    pthread_join(w->t, NULL);
    close(w->dir);
    for (int i = 0; i < 2; i++) close(request[i]), close(reply[i]);
}

/* ---- reading ---- */

static bool read_self(const memory *m, uint64_t at, void *p, size_t n)
{
    struct iovec to = {p, n}, from = {(void *)(uintptr_t)at, n};
    (void)m;
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)n;
}

static const memory self = {.read = read_self};

/* Lets the thread run while its stack is copied. */
static bool read_and_wake(const memory *m, uint64_t at, void *p, size_t n)
{
    char c;
    bool ok =
        read_self(m, at, p, n) && write(request[1], "g", 1) == 1 && read(reply[0], &c, 1) == 1;
    int dir = task_open();
    until_it_waits(dir);
    close(dir);
    return ok;
}

static bool read_nothing(const memory *m, uint64_t at, void *p, size_t n)
{
    (void)m, (void)at, (void)p, (void)n;
    return false;
}

static raw_sample *sample(void)
{
    raw_sample *raw = calloc(1, raw_bytes(FRAMES));
    assert_non_null(raw);
    return raw;
}

static char *copy_room(void)
{
    void *p = mmap(NULL, BLOCKED_COPY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    return p;
}

static blocked_how walk(int dir, const memory *m, bool bounds, raw_sample *raw, uint64_t *cpu)
{
    blocked_process p = {.tasks = dir, .memory = m, .cpu = blocked_cpu_own, .copy = copy_room()};
    blocked_thread t = {.tid = tid, .stack = bounds ? stack_of_thread : (unwind_stack){0}};
    unwind_snapshot *s = snapshot_enter(registry_gate(registry));
    blocked_how how = blocked_walk(&p, &t, s, FRAMES, raw, cpu);
    snapshot_leave(registry_gate(registry));
    munmap(p.copy, BLOCKED_COPY);
    return how;
}

static bool in(const raw_sample *raw, int (*f)(void))
{
    for (size_t i = 0; i < raw->n; i++)
        if (raw->pcs[i] - (uintptr_t)f < 256) return true;
    return false;
}

/* ---- tests ---- */

static void the_stack_of_a_thread_that_waits(void **state)
{
    (void)state;
    for (size_t room = 256; room <= 200 << 10;
         room *= 800) { /* a stack within the first copy, and a larger one */
        waiter w = start(room);
        for (int bounds = 0; bounds < 2; bounds++) {
            raw_sample *raw = sample();
            uint64_t cpu = 0, again;
            assert_int_equal(walk(w.dir, &self, bounds, raw, &cpu), BLOCKED_TAKEN);
            assert_true(cpu > 0 && cpu == blocked_cpu_own(w.dir, tid));
            assert_true(raw->n >= 1);
            assert_true(raw->sp >= stack_of_thread.lo && raw->sp < stack_of_thread.hi);
            assert_false(raw->in_context);
            if (WHOLE) assert_int_equal(raw->end, UNWIND_WHOLE);
            if (WHOLE) assert_true(raw->n >= 4 && in(raw, wait_here));
            assert_int_equal(walk(w.dir, &self, bounds, raw, &again), BLOCKED_TAKEN);
            assert_u64(again, cpu); /* the thread has not run */
            free(raw);
        }
        end(&w);
    }
}

static void a_thread_that_has_run_is_not_taken(void **state)
{
    (void)state;
    static const memory waking = {.read = read_and_wake};
    waiter w = start(256);
    raw_sample *raw = sample();
    uint64_t cpu;
    for (int i = 0; i < 20; i++)
        assert_int_equal(walk(w.dir, &waking, true, raw, &cpu), BLOCKED_MOVED);
    assert_int_equal(walk(w.dir, &self, true, raw, &cpu), BLOCKED_TAKEN);
    free(raw);
    end(&w);
}

static void the_calling_thread_runs(void **state)
{
    (void)state;
    raw_sample *raw = sample();
    uint64_t cpu;
    int dir = task_open();
    tid = (uint32_t)gettid();
    assert_int_not_equal(walk(dir, &self, false, raw, &cpu),
                         BLOCKED_UNKNOWN); /* a thread may read its own syscall line */
    tid = 1;
    assert_int_equal(walk(dir, &self, false, raw, &cpu), BLOCKED_UNKNOWN);
    close(dir);
    free(raw);
}

static void memory_that_is_not_there(void **state)
{
    (void)state;
    static const memory nothing = {.read = read_nothing};
    waiter w = start(256);
    raw_sample *raw = sample();
    uint64_t cpu;
    assert_int_equal(walk(w.dir, &nothing, true, raw, &cpu), BLOCKED_UNKNOWN);
    free(raw);
    end(&w);
}

static void time_of_threads_of_others(void **state)
{
    (void)state;
    int dir = task_open();
    uint64_t before = blocked_cpu_other(dir, (uint32_t)gettid());
    if (!before) skip(); /* a kernel without schedstat */
    for (int i = 0; i < 10000; i++) sink++;
    sched_yield();
    assert_true(blocked_cpu_other(dir, (uint32_t)gettid()) >= before);
    assert_u64(blocked_cpu_other(dir, 1), 0);
    assert_u64(task_schedstat_parse(STR("123456789 42 7\n")), 123456789);
    assert_u64(task_schedstat_parse(STR("")), 0);
    assert_u64(task_schedstat_parse(STR("x 1 2")), 0);
    close(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_stack_of_a_thread_that_waits),
        cmocka_unit_test(a_thread_that_has_run_is_not_taken),
        cmocka_unit_test(the_calling_thread_runs),
        cmocka_unit_test(memory_that_is_not_there),
        cmocka_unit_test(time_of_threads_of_others),
    };
    err e = {0};
    registry = registry_open(NULL, &e);
    if (!registry || !registry_refresh(registry, &e)) return 99;
    int r = cmocka_run_group_tests(tests, NULL, NULL);
    registry_close(registry);
    return r;
}
