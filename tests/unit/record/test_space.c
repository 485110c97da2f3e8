/* A recorded process: its unwind rules follow its mappings, also when it runs another program within
 * the time in which its first mappings were read. */
#include "record/space.h"
#include "unwind/snapshot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { BORN = 1000, SECOND = 1000000000 };

/* Starts a copy of this program; it runs /bin/cat when *go is closed, and ends with its input. */
static pid_t start(int *go, int *input)
{
    int gate[2], in[2];
    assert_true(pipe(gate) == 0 && pipe(in) == 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        char c;
        close(gate[1]);
        close(in[1]);
        dup2(in[0], 0);
        (void)!read(gate[0], &c, 1);
        execl("/bin/cat", "cat", (char *)NULL);
        _exit(1);
    }
    close(gate[0]);
    close(in[0]);
    *go = gate[1];
    *input = in[1];
    return pid;
}

/* Returns the first address of code of the program that the process runs; 0: not `name`. */
static uintptr_t code_of(pid_t pid, const char *name)
{
    char path[64], text[512], file[256];
    uintptr_t at, found = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (!found && fgets(text, sizeof text, f))
        if (sscanf(text, "%lx-%*x r-xp %*s %*s %*s %255s", &at, file) == 2 && strstr(file, name))
            found = at;
    fclose(f);
    return found;
}

static bool has_rules(const unwind_snapshot *s, uintptr_t pc)
{
    for (uint32_t i = 0; i < s->n_objects; i++)
        if (pc >= s->objects[i]->lo && pc < s->objects[i]->hi) return true;
    return false;
}

static void rules_follow_an_exec(void **state)
{
    (void)state;
    int go, input;
    pid_t pid = start(&go, &input);
    agent_config config = {0};
    space_world w = {.files = table_files_open(), .config = &config, .now = BORN};
    space *s = space_open((uint32_t)pid, BORN);
    assert_true(w.files && s);

    uintptr_t before = code_of(pid, "test_record_space");
    unwind_snapshot *rules = space_rules(s, &w);
    assert_true(before && rules);
    assert_true(has_rules(rules, before));

    close(go);
    uintptr_t after = 0;
    for (int i = 0; i < 1000 && !(after = code_of(pid, "/cat")); i++) usleep(5000);
    assert_true(after != 0);
    w.now += SECOND;
    space_exec(s, w.now);
    rules = space_rules(s, &w);
    assert_non_null(rules);
    assert_true(has_rules(rules, after));
    assert_false(has_rules(rules, before));

    const image *x = images_find(&s->images, after, w.now);
    assert_non_null(x);
    assert_true(x->born == w.now); /* not the birth of the process, when another program ran */

    close(input);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    space_close(s);
    table_files_close(w.files);
}

/* Returns whether a process is taken for a kernel thread. */
static bool is_kernel_thread(pid_t pid)
{
    agent_config config = {0};
    space_world w = {.config = &config, .now = BORN};
    space *s = space_open((uint32_t)pid, BORN);
    assert_non_null(s);
    s->inner_pid = 0;
    space_describe(s, &w);
    bool is = s->kernel_thread;
    assert_true(is || s->inner_pid == (uint32_t)pid);
    space_close(s);
    return is;
}

static void only_kernel_threads_belong_to_the_kernel(void **state)
{
    (void)state;
    enum { GROUPS = 2000 };
    gid_t groups[GROUPS];
    for (gid_t i = 0; i < GROUPS; i++) groups[i] = 1000000000 + i;
    int ready[2];
    char c;
    assert_int_equal(pipe(ready), 0);
    assert_false(is_kernel_thread(getpid()));

    pid_t grouped = fork();
    assert_true(grouped >= 0);
    if (!grouped) {
        alarm(20);
        (void)!setgroups(GROUPS, groups); /* only root has that many */
        (void)!write(ready[1], "", 1);
        pause();
        _exit(0);
    }
    assert_int_equal(read(ready[0], &c, 1), 1);
    assert_false(is_kernel_thread(grouped));
    kill(grouped, SIGKILL);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)grouped, &info, WEXITED | WNOWAIT), 0);
    assert_false(is_kernel_thread(grouped)); /* a zombie */
    assert_int_equal(waitpid(grouped, NULL, 0), grouped);

    char name[32] = "";
    FILE *f = fopen("/proc/2/comm", "r");
    if (f && fgets(name, sizeof name, f) && !strcmp(name, "kthreadd\n"))
        assert_true(is_kernel_thread(2));
    if (f) fclose(f);
    close(ready[0]);
    close(ready[1]);
}

/* A server may start threads all the time. */
static void ended_threads_are_forgotten(void **state)
{
    (void)state;
    enum { THREADS = 200000 };
    space *s = space_open((uint32_t)getpid(), BORN);
    assert_non_null(s);
    space_thread *first = space_thread_of(s, (uint32_t)getpid());
    assert_non_null(first);
    uint32_t index = first->about.index;
    for (uint32_t i = 0; i < THREADS; i++) {
        uint32_t tid = 5000000 + i; /* above any real id */
        space_thread *t = space_thread_of(s, tid);
        assert_non_null(t);
        assert_int_equal(t->about.tid, tid);
        space_end_thread(s, tid, BORN + i * UINT64_C(1000000));
    }
    assert_int_equal(space_thread_of(s, (uint32_t)getpid())->about.index, index);
    assert_true(s->threads.n < 20000);
    space_close(s);
}

/* The last waits of a thread arrive after the record of its end. */
static void an_ended_thread_keeps_its_name(void **state)
{
    (void)state;
    enum { TID = 5000000 };
    space *s = space_open((uint32_t)getpid(), BORN);
    assert_non_null(s);
    space_name_thread(s, TID, STR("clerk"));
    uint32_t index = space_thread_of(s, TID)->about.index;
    space_end_thread(s, TID, BORN);
    space_thread *t = space_thread_of(s, TID);
    assert_string_equal(t->about.name, "clerk");
    assert_int_not_equal(t->about.index, index);
    space_close(s);
}

/* Mappings that come and go fill the list; those that ended make room. */
static void mappings_that_ended_make_room(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    space *s = space_open((uint32_t)getpid(), BORN);
    assert_non_null(s);
    unsigned full = 0;
    for (uint64_t i = 0; i < MANY; i++) {
        image x = {.start = 0x1000, .end = 0x2000, .born = BORN + i, .path = STR("/a")};
        x.offset = i;
        x.path = i % 2 ? STR("/a") : STR("/b");
        if (space_map(s, &x)) continue;
        full++;
        assert_true(space_forget_maps(s, BORN + i) > 100);
        assert_true(space_map(s, &x));
    }
    assert_true(full > 0 && full < MANY / 100);
    const image *last = images_find(&s->images, 0x1000, 0);
    assert_true(last && !last->gone && last->offset == MANY - 1);
    space_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_follow_an_exec),
        cmocka_unit_test(only_kernel_threads_belong_to_the_kernel),
        cmocka_unit_test(ended_threads_are_forgotten),
        cmocka_unit_test(an_ended_thread_keeps_its_name),
        cmocka_unit_test(mappings_that_ended_make_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
