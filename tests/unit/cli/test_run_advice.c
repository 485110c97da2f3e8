/* Advice of `kiln run` about frames without names. */
#include "cli/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { MODULES = 3 };

#define JAVA "java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit -XX:+PreserveFramePointer"

/* run_advice is called for the first module. */
static const struct {
    const char *name, *path;
    struct {
        const char *name;
        module_state state;
        uint64_t n_locations, n_found, n_samples;
    } v[MODULES];
    const char *want; /* NULL: no advice */
} cases[] = {
    {"nothing is missing", "/usr/bin/x", {{"/usr/bin/x", MODULE_LINES, 9, 9, 9}}, NULL},
    {"the user's program without -g",
     "/home/x",
     {{"/home/x", MODULE_SYMBOLS, 9, 9, 9}},
     "x: built without -g: no line numbers and no inlined calls"},
    {"java",
     "/usr/bin/java",
     {{"perf-7.map", MODULE_NO_MAP, 10, 0, 10},
      {"/usr/lib/jvm/libjvm.so", MODULE_SYMBOLS, 90, 90, 90}},
     "perf-7.map: 10 of 10 addresses have no name; code generated at run time; start " JAVA
     " to get names"},
    {"node",
     "/usr/bin/node",
     {{"perf-7.map", MODULE_NO_MAP, 10, 0, 10}, {"/usr/bin/node", MODULE_SYMBOLS, 90, 90, 90}},
     "perf-7.map: 10 of 10 addresses have no name; code generated at run time; start node "
     "--perf-basic-prof to get names"},
    {"another runtime",
     "/usr/bin/x",
     {{"perf-7.map", MODULE_NO_MAP, 10, 0, 10}},
     "perf-7.map: 10 of 10 addresses have no name; code generated at run time; runtimes write "
     "names with an option: " JAVA ", node --perf-basic-prof, python3 -X perf (3.12)"},
    {"two addresses astray",
     "/usr/bin/x",
     {{"perf-7.map", MODULE_NO_MAP, 2, 0, 2}, {"/usr/bin/x", MODULE_LINES, 98, 98, 98}},
     NULL},
    {"a loop of two addresses that takes most of the time",
     "/usr/bin/node",
     {{"perf-7.map", MODULE_NO_MAP, 2, 0, 300}, {"/usr/bin/node", MODULE_SYMBOLS, 98, 98, 100}},
     "perf-7.map: 2 of 2 addresses have no name; code generated at run time; start node "
     "--perf-basic-prof to get names"},
    {"python 3.11",
     "/usr/bin/python3",
     {{"/usr/bin/python3.11", MODULE_EXPORTS, 90, 90, 90}},
     "python3.11: the profile shows functions of the interpreter, not of the Python program; "
     "Python 3.12 and later add those with python3 -X perf"},
    {"python 3.12, as a library",
     "/usr/bin/python3",
     {{"/usr/lib/libpython3.12.so.1.0", MODULE_LINES, 90, 90, 90}},
     "libpython3.12.so.1.0: the profile shows functions of the interpreter, not of the Python "
     "program; python3 -X perf adds those"},
    {"python 3.12 with its map",
     "/usr/bin/python3",
     {{"/usr/bin/python3.12", MODULE_LINES, 90, 90, 90}, {"perf-7.map", MODULE_SYMBOLS, 10, 9, 10}},
     NULL},
    {"ruby 3.1",
     "/usr/bin/ruby",
     {{"/usr/lib/libruby-3.1.so.3.1.2", MODULE_SYMBOLS, 90, 90, 90}},
     "libruby-3.1.so.3.1.2: the profile shows functions of the interpreter, not of the Ruby "
     "program; Ruby 3.3 and later add those that they compile with ruby --yjit --yjit-perf"},
    {"ruby 3.3",
     "/usr/bin/ruby",
     {{"/usr/lib/libruby-3.3.so.3.3", MODULE_SYMBOLS, 90, 90, 90}},
     "libruby-3.3.so.3.3: the profile shows functions of the interpreter, not of the Ruby program; "
     "ruby --yjit --yjit-perf adds those that it compiles"},
    {"gdb has Python in it, which did not run",
     "/usr/bin/gdb",
     {{"/usr/lib/libpython3.11.so.1.0", MODULE_EXPORTS, 9, 9, 9},
      {"/usr/bin/gdb", MODULE_LINES, 91, 91, 91}},
     NULL},
};

static void test_advice(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        run r = {.path = cases[i].path};
        symbolized v[MODULES];
        buf t = {0};
        size_t n = 0;
        for (; n < MODULES && cases[i].v[n].name; n++) {
            v[n] = (symbolized){.name = str_of(cases[i].v[n].name),
                                .state = cases[i].v[n].state,
                                .n_locations = cases[i].v[n].n_locations,
                                .n_found = cases[i].v[n].n_found,
                                .n_samples = cases[i].v[n].n_samples};
            r.symbols.n_locations += v[n].n_locations;
            r.symbols.n_samples += v[n].n_samples;
        }
        r.symbols.v.v = v;
        r.symbols.v.n = n;
        print_message("# %s\n", cases[i].name);
        assert_int_equal(run_advice(&r, &v[0], &t), cases[i].want != NULL);
        buf_putc(&t, '\0');
        assert_string_equal(t.p, cases[i].want ? cases[i].want : "");
        buf_free(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_advice)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
