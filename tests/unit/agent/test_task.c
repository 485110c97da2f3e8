/* The parsers of /proc/self/task, and the list of real threads. */
#include "support/test.h"

#include "agent/exclude.h"
#include "agent/task.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

static void test_stat(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *want;
        char state;
        int32_t prio;
        uint64_t start;
        bool fails;
    } cases[] = {
        {"usual", "77 (app) S 1 1 1 0 -1 0 0 0 0 0 1 2 0 0 20 5 9 0 4711 0 0", "app", 'S', 5, 4711,
         false},
        {"nice is negative", "77 (app) D 1 1 1 0 -1 0 0 0 0 0 1 2 0 0 20 -19 9 0 4711 0 0", "app",
         'D', -19, 4711, false},
        {"real-time",
         "77 (rt) R 1 1 1 0 -1 0 0 0 0 0 1 2 0 0 -51 0 9 0 4711 "
         "23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 50 1 0",
         "rt", 'R', 50, 4711, false},
        {"batch is not real-time",
         "77 (b) R 1 1 1 0 -1 0 0 0 0 0 1 2 0 0 20 7 9 0 4711 "
         "23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 50 3 0",
         "b", 'R', 7, 4711, false},
        {"parentheses", "77 (sl)p \"q) S 1 1 1 0 -1 0 0 0 0 0 1 2 0 0 20 0 9 0 9 0", "sl)p \"q",
         'S', 0, 9, false},
        {"looks like the rest", "77 (a) R 1 (b) S 1 1 1 0 -1 0 0 0 0 0 1 2 0 0 20 0 9 0 9 0",
         "a) R 1 (b", 'S', 0, 9, false},
        {"newline", "77 (x\ny) S 1 1 1 0 -1 0 0 0 0 0 1 2 0 0 20 0 9 0 9 0", "x?y", 'S', 0, 9,
         false},
        {"no name", "77 () S 1 1 1 0 -1 0 0 0 0 0 1 2 0 0 20 0 9 0 9 0", "", 'S', 0, 9, false},
        {"empty", "", "", 0, 0, 0, true},
        {"truncated in the name", "77 (ap", "", 0, 0, 0, true},
        {"truncated after the name", "77 (app)", "", 0, 0, 0, true},
        {"truncated before the start time", "77 (app) S 1 1 1 0 -1 0 0 0 0 0 1 2 0 0 20 0 9 0", "",
         0, 0, 0, true},
        {"no state", "77 (app) SS 1 1 1 0 -1 0 0 0 0 0 1 2 0 0 20 0 9 0 9 0", "", 0, 0, 0, true},
        {"no number", "77 (app) S 1 1 1 0 -1 0 0 0 0 0 1 2 0 0 20 0 9 0 9x 0", "", 0, 0, 0, true},
        {"too large", "77 (app) S 1 1 1 0 -1 0 0 0 0 0 1 2 0 0 20 0 9 0 99999999999999999999999 0",
         "", 0, 0, 0, true},
        {"backwards", ")77( S", "", 0, 0, 0, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        task_stat s;
        print_message("# %s\n", cases[i].name);
        assert_int_equal(task_stat_parse(str_of(cases[i].text), &s), !cases[i].fails);
        if (cases[i].fails) continue;
        assert_string_equal(s.name, cases[i].want);
        assert_int_equal(s.state, cases[i].state);
        assert_int_equal(s.os_prio, cases[i].prio);
        assert_u64(s.start_ticks, cases[i].start);
    }
}

static void test_status(void **state)
{
    (void)state;
    task_status s;
    assert_true(
        task_status_parse(STR("Name:\tSigBlk:\\n\nSigPnd:\t1\nSigBlk:\t8000000000000001\n"
                              "voluntary_ctxt_switches:\t42\nnonvoluntary_ctxt_switches:\t7\n"),
                          &s));
    assert_u64(s.blocked, UINT64_C(0x8000000000000001));
    assert_u64(s.switches, 42);
    assert_u64(s.seccomp, 0); /* a kernel without seccomp */
    assert_true(task_status_parse(
        STR("NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t13\nSigBlk:\t0\n"), &s));
    assert_u64(s.seccomp, 2);
    assert_u64(s.filters, 13);
    assert_false(task_status_parse(STR("SigBlk:\t0\nSeccomp:\tx\n"), &s));
    assert_true(task_status_parse(STR("SigBlk:\t0"), &s)); /* truncated */
    assert_u64(s.blocked, 0);
    assert_false(task_status_parse(STR(""), &s));
    assert_false(task_status_parse(STR("SigBlk:\t\n"), &s));
    assert_false(task_status_parse(STR("SigBlk:\txyz\n"), &s));
    assert_false(task_status_parse(STR("SigBlk:\t10000000000000000f\n"), &s));
}

static void test_filtered(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        task_status before, now;
        bool want;
    } cases[] = {
        {"none", {0}, {0}, false},
        {"a filter", {0}, {.seccomp = 2, .filters = 1}, true},
        {"a filter, Linux 5.8", {0}, {.seccomp = 2}, true},
        {"strict", {0}, {.seccomp = 1}, true},
        {"a container's", {.seccomp = 2, .filters = 1}, {.seccomp = 2, .filters = 1}, false},
        {"one more in it", {.seccomp = 2, .filters = 1}, {.seccomp = 2, .filters = 2}, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("# %s\n", cases[i].name);
        assert_int_equal(task_status_filtered(&cases[i].now, &cases[i].before), cases[i].want);
    }
}

static void test_wait(void **state)
{
    (void)state;
    task_wait w, other;
    assert_true(task_wait_parse(
        STR("202 0x7f1 0x80 0x0 0x0 0x0 0xffffffff 0x7ffe5b93aaf8 0x7f32cdf462ad\n"), &w));
    assert_u64(w.sp, 0x7ffe5b93aaf8);
    assert_u64(w.pc, 0x7f32cdf462ad);
    assert_true(task_wait_parse(
        STR("202 0x7f1 0x81 0x0 0x0 0x0 0xffffffff 0x7ffe5b93aaf8 0x7f32cdf462ad\n"), &other));
    assert_true(w.hash != other.hash);
    assert_true(task_wait_parse(STR("-1 0x7ffe5b93aaf8 0x7f32cdf462ad\n"), &w));
    assert_u64(w.pc, 0x7f32cdf462ad);
    const char *const none[] = {"running\n",
                                "",
                                "202\n",
                                "202 0x1 0x2 0x3\n",
                                "202 0x1 0x2 0x3 0x4 0x5 0x6 zz 0x8\n",
                                "202 0x1 0x2 0x3 0x4 0x5 0x6 0x7\n"};
    for (size_t i = 0; i < ARRAY_LEN(none); i++) assert_false(task_wait_parse(str_of(none[i]), &w));
}

static void test_names(void **state)
{
    (void)state;
    static const struct {
        str raw;
        const char *want;
    } cases[] = {
        {STR("worker-1"), "worker-1"},
        {STR("a\tb\033[c\177"), "a?b?[c?"},
        {STR("K\303\266ln"), "K\303\266ln"},
        {STR("cut \303"), "cut ?"},
        {STR("\377\376x"), "??x"},
        {STR("\355\240\200"), "???"},   /* a surrogate */
        {STR("\302\205next"), "?next"}, /* a control character of Latin-1 */
        {STR("\360\237\224\245"), "\360\237\224\245"},
        {STR("\342\202"), "??"},
    };
    char out[TASK_NAME], raw[200], *end;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        task_name_clean(cases[i].raw, out);
        assert_string_equal(out, cases[i].want);
    }
    memset(raw, 'x', sizeof raw);
    task_name_clean((str){raw, sizeof raw}, out);
    assert_u64(strlen(out), TASK_NAME - 1);
    for (size_t i = 0; i < sizeof raw; i++) raw[i] = i % 2 ? (char)0xb6 : (char)0xc3;
    task_name_clean((str){raw, sizeof raw}, out);
    end = out + strlen(out);
    assert_true(end - out <= TASK_NAME - 1 && (end - out) % 2 == 0);
}

static void test_exclude(void **state)
{
    (void)state;
    assert_true(name_excluded("worker-3", "jit,worker"));
    assert_true(name_excluded("jit", "jit"));
    assert_false(name_excluded("j", "jit"));
    assert_false(name_excluded("other", ",,"));
    assert_false(name_excluded("other", ""));
    assert_false(name_excluded("other", NULL));
}

static pthread_barrier_t born, over;

static void *stand(void *arg)
{
    *(uint32_t *)arg = (uint32_t)gettid();
    pthread_setname_np(pthread_self(), "sl)p \"q");
    pthread_barrier_wait(&born);
    pthread_barrier_wait(&over);
    return NULL;
}

/* Real threads: in order, with difficult names. */
static void test_list(void **state)
{
    (void)state;
    enum { N = 40 };
    pthread_t t[N];
    uint32_t tid[N], tids[256];
    size_t n;
    bool more;
    char text[1024];
    pthread_barrier_init(&born, NULL, N + 1);
    pthread_barrier_init(&over, NULL, N + 1);
    for (int i = 0; i < N; i++) assert_int_equal(pthread_create(&t[i], NULL, stand, &tid[i]), 0);
    pthread_barrier_wait(&born);
    int dir = task_open();
    assert_true(dir >= 0);
    assert_true(task_list(dir, tids, ARRAY_LEN(tids), &n, &more));
    assert_true(n >= N + 1 && !more);
    for (size_t i = 1; i < n; i++) assert_true(tids[i - 1] < tids[i]);
    for (int i = 0; i < N; i++) {
        task_stat s;
        assert_non_null(memmem(tids, n * sizeof *tids, &tid[i], sizeof tid[i]));
        assert_true(task_stat_parse(task_read(dir, tid[i], "stat", text, sizeof text), &s));
        assert_string_equal(s.name, "sl)p \"q");
        assert_true(s.start_ticks > 0);
        assert_true(task_cpu(tid[i]) > 0);
    }
    assert_true(task_list(dir, tids, 3, &n, &more));
    assert_true(n == 3 && more);
    pthread_barrier_wait(&over);
    for (int i = 0; i < N; i++) pthread_join(t[i], NULL);
    assert_u64(task_read(dir, tid[0], "stat", text, sizeof text).n, 0);
    close(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stat), cmocka_unit_test(test_status), cmocka_unit_test(test_filtered),
        cmocka_unit_test(test_wait), cmocka_unit_test(test_names),  cmocka_unit_test(test_exclude),
        cmocka_unit_test(test_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
