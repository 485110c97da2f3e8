/* tests/torture/stacks.c - unusual stacks for an unwinder. */
#include "torture.h"

#include <setjmp.h>
#include <ucontext.h>

/* ---- switching ---- */

enum { FIBERS = 8, FIBER_STACK = 32768 };
static ucontext_t scheduler, fibers[FIBERS];
static unsigned fiber_steps[FIBERS];

static void fiber(int me)
{
    for (int i = 0; i < 20; i++) {
        torture_spin_us(50);
        fiber_steps[me]++;
        MUST(!swapcontext(&fibers[me], &scheduler));
    }
}

static char *new_fiber(int k)
{
    char *stack =
        mmap(NULL, FIBER_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(stack != MAP_FAILED && !getcontext(&fibers[k]));
    fibers[k].uc_stack = (stack_t){.ss_sp = stack, .ss_size = FIBER_STACK};
    fibers[k].uc_link = &scheduler;
    makecontext(&fibers[k], (void (*)(void))(uintptr_t)fiber, 1, k);
    return stack;
}

/* The program's own stacks are mapped without gaps and unmapped afterwards. */
static int contexts(torture *t)
{
    uint64_t steps = 0;
    for (unsigned i = 0; torture_round(t, &i, 12);) {
        char *stacks[FIBERS];
        for (int k = 0; k < FIBERS; k++) stacks[k] = new_fiber(k);
        for (int turn = 0; turn < 21; turn++)
            for (int k = 0; k < FIBERS; k++) MUST(!swapcontext(&scheduler, &fibers[k]));
        for (int k = 0; k < FIBERS; k++) {
            steps += fiber_steps[k], fiber_steps[k] = 0;
            MUST(!munmap(stacks[k], FIBER_STACK));
        }
    }
    printf("%llu steps\n", (unsigned long long)steps);
    return 0;
}

/* A fiber continues in another thread than the one in which it began. */
static ucontext_t home[2], traveller;
static unsigned legs;

static void travels(void)
{
    for (;;) {
        torture_spin_us(100);
        legs++;
        MUST(!swapcontext(&traveller, &home[legs & 1]));
    }
}

static void *one_leg(void *p)
{
    MUST(!swapcontext(&home[(uintptr_t)p], &traveller));
    return NULL;
}

static int travelling_context(torture *t)
{
    char *stack = malloc(FIBER_STACK);
    MUST(stack && !getcontext(&traveller));
    traveller.uc_stack = (stack_t){.ss_sp = stack, .ss_size = FIBER_STACK};
    makecontext(&traveller, travels, 0);
    for (unsigned i = 0; torture_round(t, &i, 200);) {
        pthread_t thread;
        MUST(!pthread_create(&thread, NULL, one_leg, (void *)(uintptr_t)((legs + 1) & 1)));
        MUST(!pthread_join(thread, NULL));
    }
    free(stack);
    printf("%u\n", legs);
    return 0;
}

/* ---- alternate stacks ---- */

static sigjmp_buf back;
static volatile unsigned faults;

static void on_fault(int sig, siginfo_t *info, void *uc)
{
    (void)sig, (void)info, (void)uc;
    faults = faults + 1;
    torture_spin_us(300);
    siglongjmp(back, 1);
}

NOINLINE static uint64_t runs_out(uint64_t n)
{
    volatile char room[256] = {0};
    room[n % 256] = 1;
    if (n == UINT64_MAX) return 0;
    return runs_out(n + 1) + (uint64_t)room[n % 256];
}

NOINLINE static void faults_once(void)
{
    if (!sigsetjmp(back, 1)) *(volatile char *)torture_nowhere = 1;
}

static void alternate(size_t n, char **at)
{
    n = (n + 4095) & ~(size_t)4095;
    *at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(*at != MAP_FAILED);
    MUST(!sigaltstack(&(stack_t){.ss_sp = *at, .ss_size = n}, NULL));
}

static void on_segv(int mask_all)
{
    struct sigaction a = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    if (mask_all) sigfillset(&a.sa_mask);
    MUST(!sigaction(SIGSEGV, &a, NULL));
}

/* The stack overflows, and a handler on another stack recovers. */
static void *overflows(void *p)
{
    char *stack;
    alternate((size_t)sysconf(_SC_SIGSTKSZ) + 16384, &stack);
    for (int i = 0; i < 3; i++)
        if (!sigsetjmp(back, 1)) runs_out(1);
    return p;
}

static int stack_overflow(torture *t)
{
    on_segv(0);
    for (unsigned i = 0; torture_round(t, &i, 10);) {
        pthread_attr_t attr;
        pthread_t thread;
        pthread_attr_init(&attr);
        pthread_attr_setstacksize(&attr, 256 * 1024);
        MUST(!pthread_create(&thread, &attr, overflows, NULL));
        MUST(!pthread_join(thread, NULL));
        pthread_attr_destroy(&attr);
    }
    printf("%u faults\n", faults);
    return 0;
}

/* An alternate stack of the minimum size, which is enough for the program's handler; the handler
 * masks all other signals. */
static int tiny_altstack(torture *t)
{
    char *stack;
    alternate((size_t)sysconf(_SC_MINSIGSTKSZ) + 1024, &stack);
    on_segv(1);
    for (unsigned i = 0; torture_round(t, &i, 100);) {
        torture_spin_us(1000);
        faults_once();
    }
    printf("%u faults\n", faults);
    return 0;
}

/* ---- jumps ---- */

static jmp_buf landing;

NOINLINE static int deep(int n)
{
    volatile int room[16] = {0};
    room[n % 16] = n;
    if (!n) longjmp(landing, 1);
    return n > 0 ? deep(n - 1) + room[n % 16] : 0;
}

NOINLINE static unsigned jumps_once(void) { return setjmp(landing) ? 1 : (unsigned)deep(500); }

static int long_jumps(torture *t)
{
    unsigned landed = 0;
    for (unsigned i = 0; torture_round(t, &i, 200);)
        for (int k = 0; k < 20; k++) landed += jumps_once();
    printf("%u landed\n", landed);
    return 0;
}

NOINLINE static uint64_t recurses(uint64_t n)
{
    volatile uint64_t x = n;
    if (!n) return torture_spin_us(2000), 0;
    return recurses(n - 1) + x;
}

static int recursion(torture *t)
{
    uint64_t sum = 0;
    for (unsigned i = 0; torture_round(t, &i, 100);) sum += recurses(40000);
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}

/* ---- registers and code without unwind information ---- */

#if defined __x86_64__
/* Random frame pointers: a small number, a gap, not an address, the last bytes of the address
 * space. */
NOINLINE static void wild_frame_pointer(uint64_t rbp, uint64_t loops)
{
    __asm__ volatile("push %%rbp\n\t"
                     "mov %0, %%rbp\n"
                     "1:\n\t"
                     "dec %1\n\t"
                     "jnz 1b\n\t"
                     "pop %%rbp"
                     : "+r"(rbp), "+r"(loops)
                     :
                     : "cc", "memory");
}

static int frame_pointers(torture *t)
{
    char *hole = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(hole != MAP_FAILED && !munmap(hole + 4096, 4096));
    uint64_t here;
    uint64_t wild[] = {0,
                       8,
                       (uintptr_t)hole + 4096 - 8,
                       (uintptr_t)hole + 4096,
                       0x8000000000000000,
                       UINT64_MAX,
                       UINT64_MAX - 15,
                       0x7ffffffffff8,
                       (uintptr_t)&here + 1,
                       (uintptr_t)&here - 4096};
    for (unsigned i = 0; torture_round(t, &i, 40);)
        for (size_t k = 0; k < COUNT(wild); k++) {
            wild_frame_pointer(wild[k], 200000);
            wild_frame_pointer(torture_random(t), 100000);
        }
    return 0;
}

/* Runs a loop in memory without a file, like code of a JIT, and unmaps it. */
static int generated_code(torture *t)
{
    static const unsigned char code[] = {0x48, 0x89, 0xf8, /* mov %rdi,%rax */
                                         0x48, 0xff, 0xc8, /* dec %rax */
                                         0x75, 0xfb,       /* jnz */
                                         0xc3};            /* ret */
    for (unsigned i = 0; torture_round(t, &i, 60);) {
        char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        MUST(page != MAP_FAILED);
        size_t at = i & 1 ? 0 : 4096 - sizeof code; /* the page before or after is not mapped */
        memcpy(page + at, code, sizeof code);
        MUST(!mprotect(page, 4096, PROT_READ | PROT_EXEC));
        uint64_t (*f)(uint64_t);
        void *entry = page + at;
        memcpy(&f, &entry, sizeof f);
        MUST(f(3000000) == 0);
        MUST(!munmap(page, 4096));
    }
    return 0;
}
#endif

const torture_case stack_cases[] = {
    {"contexts", contexts},
    {"travelling_context", travelling_context},
    {"stack_overflow", stack_overflow},
    {"tiny_altstack", tiny_altstack},
    {"long_jumps", long_jumps},
    {"recursion", recursion},
#if defined __x86_64__
    {"frame_pointers", frame_pointers},
    {"generated_code", generated_code},
#endif
    {NULL, NULL},
};
