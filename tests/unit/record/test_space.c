/* A recorded process: its unwind rules follow its mappings, also when it runs another program within
 * the time in which its first mappings were read. */
#include "record/space.h"
#include "unwind/snapshot.h"

#include <setjmp.h>
#include <stdarg.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rules_follow_an_exec)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
