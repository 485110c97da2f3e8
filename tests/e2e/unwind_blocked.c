/* unwind_blocked - walks stacks of threads that are blocked in the kernel, from outside: pc and sp
 * from /proc/self/task/TID/syscall, a copy of the stack, and no other register.  Each thread
 * records its callers before it blocks.  Prints TAP. */
#include "unwind/registry.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { FRAMES = 128, KINDS = 8, SHAPES = 4, LOOKS = 200 };

typedef struct blocked {
    int kind, shape;
    int pipe[2];
    sem_t sem;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    bool go;
    unwind_stack stack;
    _Atomic pid_t tid;
    uintptr_t pcs[FRAMES]; /* recorded before it blocked, starting with the function that blocks */
    size_t n;
} blocked;

static unwind_registry *registry;

static unwind_result walk_here(uintptr_t *pcs, const unwind_stack *stack)
{
    unwind_regs r = unwind_regs_here();
    unwind_result u = unwind(snapshot_enter(registry_gate(registry)), &r, stack, pcs, FRAMES);
    snapshot_leave(registry_gate(registry));
    return u;
}

static void wait_cond(blocked *b)
{
    pthread_mutex_lock(&b->mutex);
    while (!b->go) pthread_cond_wait(&b->cond, &b->mutex);
    pthread_mutex_unlock(&b->mutex);
}

static NOINLINE void block(blocked *b)
{
    char c;
    struct pollfd p = {.fd = b->pipe[0], .events = POLLIN};
    fd_set set;
    FD_ZERO(&set);
    FD_SET(b->pipe[0], &set);
    struct epoll_event event = {.events = EPOLLIN};
    int poller = b->kind == 4 ? epoll_create1(0) : -1;
    if (poller >= 0) epoll_ctl(poller, EPOLL_CTL_ADD, b->pipe[0], &event);
    b->n = walk_here(b->pcs, &b->stack).n;
    atomic_store(&b->tid, (pid_t)syscall(SYS_gettid));
    switch (b->kind) {
    case 0: (void)!read(b->pipe[0], &c, 1); break;
    case 1: poll(&p, 1, -1); break;
    case 2: select(b->pipe[0] + 1, &set, NULL, NULL, NULL); break;
    case 3: sem_wait(&b->sem); break;
    case 4: epoll_wait(poller, &event, 1, -1); break;
    case 5: wait_cond(b); break;
    case 6: /* fallthrough */
    default:
        while (poll(&p, 1, 0) == 0) nanosleep(&(struct timespec){0, 20000000}, NULL);
        break;
    }
    __asm__ volatile("" ::: "memory");
}

/* ---- callers of different shapes: ordinary, with a large frame, with a variable frame, through a
 * pointer ---- */

static void (*volatile by_pointer)(blocked *) = block;

static NOINLINE void usual(blocked *b)
{
    block(b);
    __asm__ volatile("" ::: "memory");
}

static NOINLINE void large(blocked *b)
{
    volatile char room[3000];
    room[0] = room[2999] = 1;
    block(b);
    __asm__ volatile("" ::"r"(room) : "memory");
}

static NOINLINE void variable(blocked *b)
{
    volatile char *room = __builtin_alloca((size_t)b->kind * 48 + 16);
    room[0] = 1;
    block(b);
    __asm__ volatile("" ::"r"(room) : "memory");
}

static NOINLINE void indirect(blocked *b)
{
    by_pointer(b);
    __asm__ volatile("" ::: "memory");
}

static int compare(const void *x, const void *y)
{
    blocked *b = *(blocked *const *)x;
    (void)y;
    static void (*const shapes[SHAPES])(blocked *) = {usual, large, variable, indirect};
    if (!atomic_load(&b->tid)) shapes[b->shape](b);
    return 0;
}

/* Calls through a callback of libc, which keeps no frame pointer. */
static void *run(void *p)
{
    blocked *v[2] = {p, p};
    v[0]->stack = unwind_stack_here();
    qsort(v, 2, sizeof *v, compare);
    return NULL;
}

/* ---- from outside ---- */

static bool where(pid_t tid, uintptr_t *sp, uintptr_t *pc)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", tid);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[n] = 0;
    if (!n || strncmp(text, "running", 7) == 0) return false;
    char *last = strrchr(text, ' ');
    *pc = last ? strtoull(last, NULL, 16) : 0;
    if (last) *last = 0;
    last = last ? strrchr(text, ' ') : NULL;
    *sp = last ? strtoull(last, NULL, 16) : 0;
    return *sp && *pc;
}

/* Both stacks end with the callers of block(); the first frame of `b` is walk_here or block
 * itself. */
static bool agrees(const blocked *b, const uintptr_t *pcs, size_t n)
{
    enum { OWN = 2 }; /* walk_here, and block at another address */
    if (b->n <= OWN || n < b->n - OWN) return false;
    size_t callers = b->n - OWN;
    return memcmp(b->pcs + OWN, pcs + n - callers, callers * sizeof *pcs) == 0;
}

static bool look(blocked *b, unwind_result *u, uintptr_t *pcs)
{
    uintptr_t sp, pc, sp2, pc2;
    pid_t tid = atomic_load(&b->tid);
    if (!where(tid, &sp, &pc) || sp < b->stack.lo || sp >= b->stack.hi) return false;
    size_t n = b->stack.hi - sp;
    char *bytes = malloc(n);
    if (!bytes) exit(3);
    memcpy(bytes, (const void *)sp, n); /* NOLINT(performance-no-int-to-ptr) */
    bool same = where(tid, &sp2, &pc2) && sp2 == sp && pc2 == pc;
    unwind_regs from = {.pc = pc, .sp = sp};
    *u = unwind_copy(snapshot_enter(registry_gate(registry)), &from, 0, &(stack_copy){sp, bytes, n},
                     pcs, FRAMES);
    snapshot_leave(registry_gate(registry));
    free(bytes);
    return same;
}

static void release(blocked *b)
{
    (void)!write(b->pipe[1], "x", 1);
    sem_post(&b->sem);
    pthread_mutex_lock(&b->mutex);
    b->go = true;
    pthread_cond_broadcast(&b->cond);
    pthread_mutex_unlock(&b->mutex);
}

static bool judge(int kind, int shape, unwind_result *u)
{
    blocked b = {.kind = kind,
                 .shape = shape,
                 .mutex = PTHREAD_MUTEX_INITIALIZER,
                 .cond = PTHREAD_COND_INITIALIZER};
    pthread_t t;
    uintptr_t pcs[FRAMES];
    sem_init(&b.sem, 0, 0);
    if (pipe(b.pipe) != 0 || pthread_create(&t, NULL, run, &b) != 0) exit(3);
    bool looked = false;
    for (int i = 0; i < LOOKS && !looked; i++) {
        nanosleep(&(struct timespec){0, 5000000}, NULL);
        looked = atomic_load(&b.tid) && look(&b, u, pcs);
    }
    release(&b);
    pthread_join(t, NULL);
    close(b.pipe[0]), close(b.pipe[1]);
    return looked && u->end == UNWIND_WHOLE && agrees(&b, pcs, u->n);
}

int main(void)
{
    static const char *const kinds[KINDS - 1] = {
        "read", "poll", "select", "sem_wait", "epoll_wait", "pthread_cond_wait", "nanosleep"};
    static const char *const shapes[SHAPES] = {"usual", "large frame", "variable frame",
                                               "called through a pointer"};
    err e = {0};
    unsigned number = 0, failed = 0;
    registry = registry_open(NULL, &e);
    if (!registry || !registry_refresh(registry, &e)) return 3;
    printf("1..%d\n", (KINDS - 1) * SHAPES);
    for (int kind = 0; kind < KINDS - 1; kind++)
        for (int shape = 0; shape < SHAPES; shape++) {
            unwind_result u = {0};
            bool ok = judge(kind, shape, &u);
            failed += !ok;
            printf("%sok %u - %s, %s: %zu frames, end %d\n", ok ? "" : "not ", ++number,
                   kinds[kind], shapes[shape], u.n, (int)u.end);
        }
    registry_close(registry);
    return failed != 0;
}
