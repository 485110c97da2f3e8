/* unwind_ends PLUGIN - walks stacks through code without unwind tables or just loaded: assembler,
 * code generated at run time, fibers, a library that the registry has not seen.  Each is
 * interrupted at every instruction (trap flag) or walks its own stack; the walk must find all
 * callers and end at the first function.  Prints TAP. */
#include "unwind/registry.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { FRAMES = 128, TF = 0x100, SHOWN = 3, FIBER_BYTES = 64 << 10 };

static unwind_registry *registry;
static unwind_stack stack;
static unsigned test_number, failures;

/* ---- code without CFI ---- */

/* Like x264: registers are pushed, and rbp is used for data. */
void bare_pushes(void);
void bare_pushes_end(void);
/* The stack is realigned, and its old pointer is stored above the new frame. */
void bare_aligned(void);
void bare_aligned_end(void);
void bare_leaf(void);
void bare_leaf_end(void);
/* An ordinary frame without CFI; calls f. */
void bare_frame(void (*f)(void));
/* Switches to a stack on which `entry` runs; returns when that switches back. */
void fiber_switch(void **save, void *to);
/* The first function of a fiber. */
void fiber_trampoline(void);

__asm__(".text\n"
        ".globl bare_pushes, bare_pushes_end, bare_aligned, bare_aligned_end, bare_leaf, "
        "bare_leaf_end\n"
        ".globl bare_frame, fiber_switch, fiber_trampoline\n"
        "bare_pushes:\n"
        "  push %rbx\n  push %rbp\n  push %r12\n  push %r15\n  sub $0x98, %rsp\n"
        "  xor %ebp, %ebp\n  mov $3, %ecx\n  mov %eax, %ebx\n" /* 89 c3: looks like a ret */
        "1: lea 7(%rbp), %rbp\n  mov %rbp, 8(%rsp)\n  dec %ecx\n  jnz 1b\n"
        "  add $0x98, %rsp\n  pop %r15\n  pop %r12\n  pop %rbp\n  pop %rbx\n  vzeroupper\n  ret\n"
        "bare_pushes_end: nop\n"
        "bare_aligned:\n"
        "  push %rbp\n  push %rbx\n  mov %rsp, %rax\n  sub $0x1a8, %rsp\n  and $-32, %rsp\n"
        "  mov %rax, 0x180(%rsp)\n  mov $-1, %rbp\n  mov $3, %ecx\n"
        "1: dec %ecx\n  mov %rbp, (%rsp)\n  jnz 1b\n"
        "  mov 0x180(%rsp), %rsp\n  pop %rbx\n  pop %rbp\n  rep ret\n"
        "bare_aligned_end: nop\n"
        "bare_leaf:\n"
        "  mov $3, %ecx\n1: dec %ecx\n  jnz 1b\n  ret\n"
        "bare_leaf_end: nop\n"
        "bare_frame:\n"
        "  push %rbp\n  mov %rsp, %rbp\n  push %rbx\n  sub $0x18, %rsp\n"
        "  call *%rdi\n"
        "  mov -8(%rbp), %rbx\n  leave\n  ret\n"
        "fiber_switch:\n"
        "  push %rbp\n  push %rbx\n  push %r12\n  push %r13\n  push %r14\n  push %r15\n"
        "  mov %rsp, (%rdi)\n  mov %rsi, %rsp\n"
        "  pop %r15\n  pop %r14\n  pop %r13\n  pop %r12\n  pop %rbx\n  pop %rbp\n  ret\n"
        "  nop\n"
        "fiber_trampoline:\n" /* r12 is the function to run, as in boost::context */
        "  call *%r12\n"
        "  ud2\n"
        "  nop\n");

/* ---- results ---- */

typedef struct verdict {
    unsigned long judged, wrong;
} verdict;

static void result(const char *name, const verdict *v, unsigned long most_wrong)
{
    bool ok = v->judged > most_wrong && v->wrong <= most_wrong;
    failures += !ok;
    printf("%sok %u - %s: %lu stacks, %lu wrong\n", ok ? "" : "not ", ++test_number, name,
           v->judged, v->wrong);
}

static void show(const uintptr_t *pc, const unwind_result *u, const char *why)
{
    printf("# %s: end %d, %u guesses:", why, (int)u->end, u->guesses);
    for (size_t i = 0; i < u->n && i < 12; i++) {
        Dl_info d = {0};
        dladdr((const void *)pc[i], &d); /* NOLINT(performance-no-int-to-ptr) */
        printf(" %s+%#lx", d.dli_sname ? d.dli_sname : "?",
               (unsigned long)(pc[i] - (uintptr_t)(d.dli_sname ? d.dli_saddr : d.dli_fbase)));
    }
    printf("\n");
}

static bool holds(const uintptr_t *pc, size_t n, const void *function)
{
    for (size_t i = 0; i < n; i++)
        if (pc[i] - (uintptr_t)function < 0x400) return true;
    return false;
}

/* ---- interrupted at every instruction ---- */

static verdict stepped;
static uintptr_t watch_lo, watch_hi;
static const void *wanted;

static void on_trap(int sig, siginfo_t *si, void *context)
{
    uintptr_t pc[FRAMES];
    unwind_regs r = unwind_regs_of(context);
    (void)sig, (void)si;
    if (r.pc < watch_lo || r.pc >= watch_hi) return;
    unwind_gate *d = registry_gate(registry);
    unwind_snapshot *s = snapshot_enter(d);
    unwind_result u = unwind(s, &r, &stack, pc, FRAMES);
    snapshot_leave(d);
    stepped.judged++;
    if (u.end == UNWIND_WHOLE && u.n > 3 && pc[1] - (uintptr_t)wanted < 0x400) return;
    if (stepped.wrong++ < SHOWN) show(pc, &u, "stepped");
}

static void trap(bool on)
{
    if (on)
        __asm__ volatile("pushfq; orq %0, (%%rsp); popfq" ::"i"(TF) : "memory", "cc");
    else
        __asm__ volatile("pushfq; andq %0, (%%rsp); popfq" ::"i"(~TF) : "memory", "cc");
}

/* Leaves its return addresses where the next callee's frame will be. */
static NOINLINE unsigned litter(unsigned n)
{
    volatile char room[24];
    room[0] = (char)n;
    unsigned r = n ? litter(n - 1) + (unsigned)room[0] : 0;
    __asm__ volatile("" ::: "memory");
    return r + 1;
}

static NOINLINE void call_bare(void (*f)(void))
{
    litter(20);
    trap(true);
    f();
    trap(false);
    __asm__ volatile("" ::: "memory");
}

static void step_through(const char *name, void (*f)(void), void (*end)(void),
                         unsigned long most_wrong)
{
    stepped = (verdict){0};
    watch_lo = (uintptr_t)f;
    watch_hi = (uintptr_t)end;
    wanted = (const void *)call_bare;
    call_bare(f);
    result(name, &stepped, most_wrong);
}

/* ---- walking its own stack ---- */

static verdict asked;
static const void *callers[4];
static bool known_stack;

static NOINLINE void ask(void)
{
    uintptr_t pc[FRAMES];
    unwind_regs r = unwind_regs_here();
    unwind_gate *d = registry_gate(registry);
    unwind_snapshot *s = snapshot_enter(d);
    unwind_result u = unwind(s, &r, known_stack ? &stack : NULL, pc, FRAMES);
    snapshot_leave(d);
    bool ok = u.end == UNWIND_WHOLE;
    for (size_t i = 0; i < 4 && callers[i]; i++) ok &= holds(pc, u.n, callers[i]);
    asked.judged++;
    if (!ok && asked.wrong++ < SHOWN) show(pc, &u, "asked");
}

static NOINLINE void under_frame(void)
{
    bare_frame(ask);
    __asm__ volatile("" ::: "memory");
}

static void test_frame(void)
{
    asked = (verdict){0};
    callers[0] = (const void *)bare_frame;
    callers[1] = (const void *)under_frame;
    callers[2] = NULL;
    known_stack = true;
    under_frame();
    known_stack = false;
    under_frame();
    result("assembler with a frame that calls back", &asked, 0);
}

/* As in Python 3.12 -X perf: one such trampoline per function, in memory of its own. */
static NOINLINE void call_made(void (*made)(void (*)(void)))
{
    made(ask);
    __asm__ volatile("" ::: "memory");
}

static void test_made_at_run_time(void)
{
    static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
    void *p =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    asked = (verdict){0};
    callers[0] = (const void *)call_made;
    callers[1] = NULL;
    if (p != MAP_FAILED) {
        void (*made)(void (*)(void));
        memcpy(p, code, sizeof code);
        memcpy(&made, &p, sizeof made);
        call_made(made);
        munmap(p, 4096);
    }
    result("a trampoline generated at run time", &asked, 0);
}

/* ---- fibers ---- */

static void *back, *there;

static void in_fiber(void)
{
    ask();
    fiber_switch(&there, back);
}

/* The words that fiber_switch pops: six registers, the address to jump to, and the word above it.
 * `shift` aligns the stack: a function starts as if it had been called, a trampoline makes a call.
 */
static void run_fiber(uintptr_t first, uintptr_t r12, uintptr_t bottom, size_t shift)
{
    static _Alignas(64) char room[FIBER_BYTES];
    memset(room, 0x11, sizeof room);
    uintptr_t *top = (uintptr_t *)(void *)(room + sizeof room - 128 + shift);
    uintptr_t words[] = {0, 0, 0, r12, 0, 0, first, bottom, 0};
    memcpy(top, words, sizeof words);
    fiber_switch(&back, top);
}

static void test_fibers(void)
{
    callers[0] = (const void *)in_fiber;
    callers[1] = NULL;
    known_stack = false;
    asked = (verdict){0};
    run_fiber((uintptr_t)in_fiber, 0, 0, 0);
    result("a fiber whose first function returns to 0", &asked, 0);
    asked = (verdict){0};
    run_fiber((uintptr_t)fiber_trampoline, (uintptr_t)in_fiber, 0, 8);
    result("a fiber that begins in a trampoline", &asked, 0);
    asked = (verdict){0};
    run_fiber((uintptr_t)in_fiber, 0, (uintptr_t)fiber_trampoline, 0);
    result("a fiber whose first function returns to a trampoline that was never called", &asked, 0);
}

/* ---- a library loaded without a refresh ---- */

static int back_from_plugin(int x)
{
    ask();
    return x;
}

static void test_late(const char *plugin)
{
    nanosleep(&(struct timespec){0, 50000000},
              NULL); /* handlers search at most every 20 ms, and have met code of no object */
    void *h = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
    int (*work)(int, int (*)(int)) =
        h ? (int (*)(int, int (*)(int)))(uintptr_t)dlsym(h, "plugin_work") : NULL;
    asked = (verdict){0};
    callers[0] = (const void *)(uintptr_t)work;
    callers[1] = (const void *)test_late;
    callers[2] = NULL;
    known_stack = true;
    if (work) work(3, back_from_plugin);
    result("a library that was just loaded", &asked, 0);
}

/* ---- how much stack a walk needs ---- */

enum { PAINT = 0xa5, ROOM = 2304, ROOM_LEAN = 1024, OWN = 256 };

static uintptr_t used_from;

/* Interrupted below assembler with an empty cache: the path that needs the most stack. */
static void on_user(int sig, siginfo_t *si, void *context)
{
    static uintptr_t pc[FRAMES];
    (void)sig, (void)si;
    used_from = (uintptr_t)__builtin_frame_address(0);
    unwind_regs r = unwind_regs_of(context);
    unwind_snapshot *s = snapshot_enter(registry_gate(registry));
    for (size_t i = 0; i < CACHE_SLOTS; i++)
        atomic_store_explicit(&s->cache[i], 0, memory_order_relaxed);
    unwind_result u = unwind(s, &r, &stack, pc, FRAMES);
    snapshot_leave(registry_gate(registry));
    asked.judged += u.n > 0;
    if (u.end != UNWIND_WHOLE) asked.wrong++;
}

static void interrupt_below(void) { raise(SIGUSR1); }

static NOINLINE void interrupted(void)
{
    bare_frame(interrupt_below);
    __asm__ volatile("" ::: "memory");
}

/* Returns the bytes written below the handler's frame, on an alternate stack with `room` bytes. */
static size_t stack_used(size_t room)
{
    enum { MOST = 64 << 10 };
    size_t size = (size_t)sysconf(_SC_MINSIGSTKSZ) + room;
    char *p = mmap(NULL, MOST, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t whole = (size + 4095) & ~(size_t)4095;
    char *bottom = p + MOST - size; /* below it the rest of a page, and a page that faults */
    if (p == MAP_FAILED || mprotect(p + MOST - whole, whole, PROT_READ | PROT_WRITE) != 0) exit(3);
    memset(p + MOST - whole, PAINT, whole);
    sigaltstack(&(stack_t){.ss_sp = bottom, .ss_size = size}, NULL);
    asked = (verdict){0};
    interrupted();
    sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
    unsigned char *at = (unsigned char *)p + MOST - whole;
    while (*at == PAINT) at++;
    size_t used = used_from - (uintptr_t)at;
    bool below = (char *)at < bottom;
    munmap(p, MOST);
    return below ? SIZE_MAX : used;
}

static void test_stack_use(void)
{
    struct sigaction a = {.sa_sigaction = on_user, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGUSR1, &a, NULL);
    size_t much = stack_used(16384), whole = asked.judged && !asked.wrong,
           little = stack_used(1536);
    bool ok = whole && much <= ROOM + OWN && much > ROOM_LEAN;
    failures += !ok;
    printf("%sok %u - a walk that finds rules on demand takes %zu bytes of stack\n",
           ok ? "" : "not ", ++test_number, much);
    ok = asked.judged && little <= ROOM_LEAN + OWN;
    failures += !ok;
    printf("%sok %u - with little room it does without: %zu bytes\n", ok ? "" : "not ",
           ++test_number, little);
}

int main(int argc, char **argv)
{
    err e = {0};
    struct sigaction a = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    registry = registry_open(NULL, &e);
    if (argc != 2 || !registry || !registry_refresh(registry, &e)) return 3;
    sigaction(SIGTRAP, &a, NULL);
    stack = unwind_stack_here();
    printf("1..11\n");
    step_through("assembler that pushes registers", bare_pushes, bare_pushes_end, 0);
    /* After sp is moved and before the old sp is stored only a register holds it: two
     * instructions. */
    step_through("assembler that aligns the stack", bare_aligned, bare_aligned_end, 2);
    step_through("assembler without a frame", bare_leaf, bare_leaf_end, 0);
    test_frame();
    test_made_at_run_time();
    test_fibers();
    test_late(argv[1]);
    test_stack_use();
    registry_close(registry);
    return failures != 0;
}
