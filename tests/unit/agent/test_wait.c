/* When an interrupted call is repeated, and the stubs that count handlers. */
#include "support/test.h"

#include "agent/signal/handler.h"
#include "agent/trampoline.h"
#include "agent/wait.h"

#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int ran, ran_for;
static siginfo_t *ran_with;

static void plain(int sig)
{
    ran++;
    ran_for = sig;
}

static void with_info(int sig, siginfo_t *si, void *context)
{
    (void)context;
    ran++;
    ran_for = sig;
    ran_with = si->si_signo == sig ? si : NULL;
}

static void *kernels(int sig)
{
    struct {
        void *handler;
        unsigned long flags;
        void *restorer;
        uint64_t mask;
    } a = {0};
    assert_int_equal(syscall(SYS_rt_sigaction, sig, NULL, &a, sizeof a.mask), 0);
    return a.handler;
}

static trampoline_handler as_handler(void *p)
{
    trampoline_handler h;
    memcpy(&h, &p, sizeof h);
    return h;
}

static void *address(trampoline_handler h) { return (void *)(uintptr_t)h; }

/* The interposed functions are not linked here: sigaction is libc's, like a direct system call. */
static void handlers_are_counted(void **state)
{
    (void)state;
    trampoline_handler h = as_handler((void *)(uintptr_t)plain);
    assert_ptr_equal(address(trampoline_of(h)), address(h)); /* trampolines are off */
    struct sigaction a = {.sa_handler = plain, .sa_flags = SA_NODEFER};
    sigaddset(&a.sa_mask, SIGUSR2);
    assert_int_equal(sigaction(SIGUSR1, &a, NULL), 0);
    trampoline_start();
    void *stub = kernels(SIGUSR1);
    assert_ptr_not_equal(stub, address(h));
    assert_ptr_equal(address(trampoline_of(h)), stub);
    assert_ptr_equal(address(trampoline_of(as_handler(stub))), stub);
    assert_ptr_equal(address(trampoline_behind(as_handler(stub))), address(h));
    struct sigaction now;
    assert_int_equal(sigaction(SIGUSR1, NULL, &now), 0);
    assert_int_equal(now.sa_flags & (SA_NODEFER | SA_SIGINFO | SA_RESTART), SA_NODEFER);
    assert_int_equal(sigismember(&now.sa_mask, SIGUSR2), 1);
    uint32_t before = signals_delivered.theirs;
    raise(SIGUSR1);
    assert_int_equal(ran, 1);
    assert_int_equal(ran_for, SIGUSR1);
    assert_int_equal(signals_delivered.theirs, before + 1);
    assert_false(trampoline_bypassed());
}

static void arguments_are_passed_on(void **state)
{
    (void)state;
    struct sigaction a = {.sa_sigaction = trampoline_of(with_info), .sa_flags = SA_SIGINFO};
    assert_int_equal(sigaction(SIGUSR2, &a, NULL), 0);
    raise(SIGUSR2);
    assert_int_equal(ran_for, SIGUSR2);
    assert_non_null(ran_with);
}

static void words_are_no_handlers(void **state)
{
    (void)state;
    void *words[] = {(void *)SIG_DFL, (void *)SIG_IGN, (void *)SIG_ERR,
                     (void *)(uintptr_t)handler_run};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        assert_ptr_equal(address(trampoline_of(as_handler(words[i]))), words[i]);
}

/* Removes the handlers that cmocka installs before each test. */
static void no_handlers_of_cmocka(void)
{
    static const int theirs[] = {SIGFPE, SIGILL, SIGSEGV, SIGBUS, SIGSYS};
    for (size_t i = 0; i < ARRAY_LEN(theirs); i++) signal(theirs[i], SIG_DFL);
}

static void a_handler_past_the_stubs_is_found(void **state)
{
    (void)state;
    no_handlers_of_cmocka();
    assert_false(trampoline_bypassed());
    signal(SIGURG, plain);
    assert_true(trampoline_bypassed());
    signal(SIGURG, SIG_IGN);
    assert_false(trampoline_bypassed());
}

static void a_wait_is_made_again_behind_our_handler_alone(void **state)
{
    (void)state;
    no_handlers_of_cmocka();
    static const struct {
        int error;
        uint32_t ours, theirs;
        bool bypassed, again;
    } cases[] = {
        {EINTR, 1, 0, false, true},   {EINTR, 7, 0, false, true},
        {EINTR, 0, 0, false, false}, /* SIGCONT */
        {EINTR, 0, 1, false, false},  {EINTR, 1, 1, false, false},
        {EAGAIN, 1, 0, false, false}, {EINTR, 1, 0, true, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        signal(SIGURG, cases[i].bypassed ? plain : SIG_DFL);
        errno = EXDEV;
        wait_mark m = wait_begin();
        signals_delivered.ours += cases[i].ours;
        signals_delivered.theirs += cases[i].theirs;
        errno = cases[i].error;
        bool again = wait_again(&m);
        int left = errno;
        if (again != cases[i].again || left != (again ? EXDEV : cases[i].error))
            fail_msg("case %zu: %d, errno %d", i, again, left);
        errno = EINTR;
        if (again && wait_again(&m)) fail_msg("case %zu: again without another signal", i);
    }
    signal(SIGURG, SIG_DFL);
}

static void what_is_left(void **state)
{
    (void)state;
    uint64_t now = wait_now();
    struct timespec t = wait_left(now - 1);
    assert_true(t.tv_sec == 0 && t.tv_nsec == 0);
    t = wait_left(now + UINT64_C(5000000000));
    assert_true(t.tv_sec <= 5 && (t.tv_sec >= 4 || t.tv_nsec > 0));
    assert_int_equal(wait_left_ms(now - 1), 0);
    assert_int_equal(wait_left_ms(INT64_MAX), INT_MAX);
    assert_true(wait_left_ms(wait_now() + 1) <= 1);
    assert_u64(wait_until(5, &(struct timespec){2, 3}), 2000000008);
    assert_u64(wait_until(5, &(struct timespec){INT64_MAX, 3}), INT64_MAX);
    assert_u64(wait_until(5, &(struct timespec){-1, 3}), INT64_MAX);
}

/* Runs last, because stubs are never released. */
static void more_handlers_than_stubs(void **state)
{
    (void)state;
    void *last = NULL;
    for (uintptr_t i = 0; i < TRAMPOLINES + 8; i++) {
        void *h = (void *)(0x1000 + 16 * i);
        last = address(trampoline_of(as_handler(h)));
        assert_ptr_equal(address(trampoline_behind(as_handler(last))), h);
    }
    assert_ptr_equal(last, (void *)(0x1000 + 16 * (uintptr_t)(TRAMPOLINES + 7)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handlers_are_counted),
        cmocka_unit_test(arguments_are_passed_on),
        cmocka_unit_test(words_are_no_handlers),
        cmocka_unit_test(a_handler_past_the_stubs_is_found),
        cmocka_unit_test(a_wait_is_made_again_behind_our_handler_alone),
        cmocka_unit_test(what_is_left),
        cmocka_unit_test(more_handlers_than_stubs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
