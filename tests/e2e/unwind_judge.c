/* unwind_judge PLUGIN - interrupts test functions everywhere and compares Kiln's stack with the one
 * of libgcc's _Unwind_Backtrace, frame by frame.  Prints TAP.
 *
 *     step   every single instruction (the trap flag), up to STEPS per function
 *     timer  random moments, for TIMER_MS per function, in two threads
 *
 * Where the compiler's tables are wrong (inside swapcontext, in some epilogues of realigned
 * stacks) libgcc reads invalid addresses and crashes.  The test catches and counts that; Kiln
 * must still be right.
 *
 * In the middle of swapcontext neither stack is current: such samples are not compared.
 *
 * Every second stack is walked without known bounds, so that pages are checked. */
#include "unwind_work.h"
#include "unwind/registry.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

enum {
    FRAMES = 512,
    CAP = 128,
    STEPS = 25000,
    TIMER_MS = 120,
    SHOWN = 3,
    SWAPPING_BYTES = 0x160,
    TF = 0x100
};

/* gcc 12 omits that rbp is popped when it leaves a realigned stack, and libgcc then skips a frame.
 * Kiln does not. */
#ifdef WIDE
enum { KNOWN_GAPS = 1 };
#else
enum { KNOWN_GAPS = 0 };
#endif

#ifdef LLD
enum { NO_STUB_RULES = 1 };
#else
enum { NO_STUB_RULES = 0 };
#endif

typedef struct stack {
    uintptr_t pc[FRAMES];
    size_t n;
} stack;

typedef struct score {
    unsigned long judged, wrong, capped, guessed;
    unsigned long lost, fell, shorter, stubs;
    uintptr_t fell_at;
    stack ours[SHOWN], theirs[SHOWN];
    unwind_end ends[SHOWN];
} score;

static unwind_registry *registry;
static uintptr_t swapping; /* swapcontext */
static _Unwind_Reason_Code (*backtrace_)(_Unwind_Trace_Fn, void *);
static uintptr_t (*ip_info)(struct _Unwind_Context *, int *);

static __thread unwind_stack mine;
static __thread score *now;
static __thread unsigned long steps;
static volatile bool stepping;
static __thread sigjmp_buf rescue;
static __thread volatile bool judging;

/* ---- libgcc ---- */

typedef struct collect {
    stack *out;
    uintptr_t from; /* frames begin with this interrupted address */
    bool begun;
} collect;

static _Unwind_Reason_Code on_frame(struct _Unwind_Context *c, void *p)
{
    collect *k = p;
    int exact = 0;
    uintptr_t ip = ip_info(c, &exact);
    if (!k->begun && exact && ip == k->from) k->begun = true;
    if (!ip || k->out->n == FRAMES) return _URC_END_OF_STACK;
    if (k->begun) k->out->pc[k->out->n++] = ip - (exact ? 0 : 1);
    return _URC_NO_REASON;
}

/* ---- both ---- */

static void keep_example(score *s, const stack *a, const stack *b, unwind_end end)
{
    if (s->wrong > SHOWN) return;
    s->ours[s->wrong - 1] = *a;
    s->theirs[s->wrong - 1] = *b;
    s->ends[s->wrong - 1] = end;
}

/* Whether all frames of `few` occur in `all`, in this order. */
static bool left_out(const stack *few, const stack *all)
{
    size_t n = 0;
    for (size_t i = 0; i < all->n && n < few->n; i++) n += all->pc[i] == few->pc[n];
    return n == few->n && few->n < all->n;
}

/* libgcc gives up in stubs of .plt that lld wrote.  When stepping, the previous instruction gives
 * the callers: it was the call (then its frame is the second one) or belongs to the same stub. */
static bool called_from(const stack *before, const stack *s)
{
    if (s->n < 3 || !before->n) return false;
    size_t skip = s->n == before->n + 1 ? 2 : 1;
    return s->n - skip == before->n - 1 &&
           memcmp(s->pc + skip, before->pc + 1, (before->n - 1) * sizeof *s->pc) == 0;
}

static void judge(const ucontext_t *uc)
{
    static __thread stack a, b, before;
    score *s = now;
    unwind_regs r = unwind_regs_of(uc);
    if (r.pc - swapping < SWAPPING_BYTES) return;
    unwind_gate *d = registry_gate(registry);
    size_t cap = s->judged % 4 == 3 ? CAP : FRAMES;
    unwind_result u = unwind(snapshot_enter(d), &r, s->judged % 2 ? &mine : NULL, a.pc, cap);
    snapshot_leave(d);
    a.n = u.n;
    b.n = 0;
    collect k = {&b, r.pc, false};
    s->judged++;
    if (sigsetjmp(rescue, 0) == 0) {
        judging = true;
        backtrace_(on_frame, &k);
        judging = false;
    } else {
        s->fell++;
        s->fell_at = r.pc;
        return;
    }
    s->guessed += u.guesses;
    s->capped += u.end == UNWIND_CAPPED;
    size_t n = b.n > cap ? cap : b.n;
    bool lost = u.end == UNWIND_NO_RULE; /* like libgcc, which then reports the end of the stack */
    bool right_end =
        b.n > cap ? u.end == UNWIND_CAPPED : u.end == UNWIND_WHOLE || lost || b.n == cap;
    s->lost += lost;
    if (u.guesses && a.n > n) a.n = n; /* libgcc does not guess */
    if (right_end && a.n == n && memcmp(a.pc, b.pc, n * sizeof *a.pc) == 0) {
        before = a;
        return;
    }
    if (u.end == UNWIND_WHOLE && b.n == 1 && (steps ? called_from(&before, &a) : NO_STUB_RULES)) {
        s->stubs++;
        before = a;
        return;
    }
    if (KNOWN_GAPS && u.end == UNWIND_WHOLE && left_out(&b, &a)) {
        s->shorter++;
        return;
    }
    s->wrong++;
    keep_example(s, &a, &b, u.end);
}

static void on_segv(int sig)
{
    if (!judging) { /* Kiln or the program itself crashed: a failure */
        signal(sig, SIG_DFL);
        return;
    }
    judging = false;
    siglongjmp(rescue, 1);
}

static void on_trap(int sig, siginfo_t *si, void *p)
{
    (void)sig, (void)si;
    ucontext_t *uc = p;
    judge(uc);
    if (++steps >= STEPS || !stepping) uc->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TF;
}

static void on_timer(int sig, siginfo_t *si, void *p)
{
    (void)sig;
    judge(p);
    struct itimerspec t = {.it_value.tv_nsec = 10000 + (long)(now->judged * 7919 % 60000)};
    if (stepping) timer_settime(*(timer_t *)si->si_value.sival_ptr, 0, &t, NULL);
}

/* In assembler: the compiler's tables would not describe that the stack moves between the two
 * instructions. */
void trap_on(void);
__asm__(".text\n.type trap_on, @function\n"
        "trap_on:\n\t.cfi_startproc\n"
        "\tpushfq\n\t.cfi_adjust_cfa_offset 8\n"
        "\torq $0x100, (%rsp)\n"
        "\tpopfq\n\t.cfi_adjust_cfa_offset -8\n"
        "\tret\n\t.cfi_endproc\n.size trap_on, .-trap_on\n");

static void trap_off(void)
{
    stepping = false; /* the next trap is the last */
    __asm__ volatile("nop");
}

/* Resumes stepping at a point that more than STEPS instructions may precede. */
void judge_here(void)
{
    if (!now) return;
    if (stepping && steps >= STEPS) {
        steps = STEPS - 2000;
        trap_on();
    } else if (stepping && steps) {
        trap_on(); /* handlers start without the flag */
    }
}

void judge_refresh(void)
{
    err e = {0};
    if (registry_refresh(registry, &e)) return;
    printf("Bail out! %s\n", e.msg);
    abort();
}

/* ---- rounds ---- */

static void install(int sig, void (*f)(int, siginfo_t *, void *))
{
    struct sigaction a = {.sa_sigaction = f, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigfillset(&a.sa_mask);
    sigdelset(&a.sa_mask, SIGSEGV);
    sigaction(sig, &a, NULL);
}

static void show(const char *what, const stack *s)
{
    printf("# %s: %zu frames\n", what, s->n);
    for (size_t i = 0; i < s->n && i < 12; i++) {
        Dl_info d = {0};
        dladdr((void *)s->pc[i], &d);
        printf("#   %p %s %s+0x%lx\n", (void *)s->pc[i], d.dli_fname ? d.dli_fname : "?",
               d.dli_sname ? d.dli_sname : "?",
               d.dli_saddr ? s->pc[i] - (uintptr_t)d.dli_saddr : s->pc[i] - (uintptr_t)d.dli_fbase);
    }
}

static int n_cases;

static bool report(const char *how, const unwind_work *w, const score *s)
{
    bool ok = s->judged > 0 && s->wrong == 0 && s->shorter <= s->judged / 20;
    printf("%sok %d - %s: %s\n# %lu stacks, %lu wrong, %lu capped, %lu without a rule, %lu "
           "guesses, libgcc crashed %lu times, "
           "skipped frames %lu times, %lu stubs\n",
           ok ? "" : "not ", ++n_cases, how, w->name, s->judged, s->wrong, s->capped, s->lost,
           s->guessed, s->fell, s->shorter, s->stubs);
    if (s->fell) {
        stack at = {{s->fell_at}, 1};
        show("last crash at", &at);
    }
    for (size_t i = 0; i < SHOWN && i < s->wrong; i++) {
        printf("# end %d\n", (int)s->ends[i]);
        show("ours", &s->ours[i]);
        show("libgcc", &s->theirs[i]);
    }
    fflush(stdout);
    return ok;
}

static bool step_through(const unwind_work *w)
{
    score s = {0};
    now = &s;
    steps = 0;
    stepping = true;
    trap_on();
    w->run();
    trap_off();
    now = NULL;
    return report("step", w, &s);
}

typedef struct round {
    const unwind_work *w;
    score s;
} round_;

static void *timed(void *p)
{
    round_ *r = p;
    timer_t t;
    mine = unwind_stack_here();
    now = &r->s;
    struct sigevent ev = {
        .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF, .sigev_value.sival_ptr = &t};
    ev._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    struct itimerspec v = {.it_value.tv_nsec = 20000};
    struct timespec a, b;
    if (timer_create(CLOCK_MONOTONIC, &ev, &t) != 0) return NULL;
    timer_settime(t, 0, &v, NULL);
    clock_gettime(CLOCK_MONOTONIC, &a);
    do {
        r->w->run();
        clock_gettime(CLOCK_MONOTONIC, &b);
    } while ((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000 < TIMER_MS);
    sigset_t prof;
    sigemptyset(&prof);
    sigaddset(&prof, SIGPROF);
    pthread_sigmask(SIG_BLOCK, &prof, NULL);
    timer_delete(t);
    return NULL;
}

static bool at_random(const unwind_work *w)
{
    static round_ r;
    pthread_t t;
    r = (round_){.w = w};
    stepping = true;
    if (pthread_create(&t, NULL, timed, &r) != 0) return false;
    pthread_join(t, NULL);
    stepping = false;
    return report("timer", w, &r.s);
}

int main(int argc, char **argv)
{
    err e = {0};
    void *gcc =
        dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL); /* by handle: libunwind has its own */
    if (argc < 2 || !gcc) {
        printf("1..0 # skip no libgcc_s.so.1\n");
        return 0;
    }
    plugin_path = argv[1];
    backtrace_ = (_Unwind_Reason_Code(*)(_Unwind_Trace_Fn, void *))(uintptr_t)dlsym(
        gcc, "_Unwind_Backtrace");
    ip_info =
        (uintptr_t(*)(struct _Unwind_Context *, int *))(uintptr_t)dlsym(gcc, "_Unwind_GetIPInfo");
    registry = registry_open(NULL, &e);
    if (!registry) return 3;
    judge_refresh();
    registry_counts n = registry_count(registry);
    printf("# %u objects, %llu rows, %llu bytes\n", n.objects, (unsigned long long)n.rows,
           (unsigned long long)n.bytes);
    swapping = (uintptr_t)dlsym(RTLD_DEFAULT, "swapcontext");
    mine = unwind_stack_here();
    install(SIGTRAP, on_trap);
    install(SIGPROF, on_timer);
    struct sigaction a = {.sa_handler = on_segv, .sa_flags = SA_NODEFER};
    sigaction(SIGSEGV, &a, NULL);
    bool ok = true;
    for (size_t i = 0; i < n_works; i++) ok = step_through(&works[i]) && ok;
    for (size_t i = 0; i < n_works; i++) ok = at_random(&works[i]) && ok;
    printf("1..%d\n", n_cases);
    registry_close(registry);
    return ok ? 0 : 1;
}
