/* Prints the functions with the largest values, and the call tree down to three levels.
 *
 *     cc top_functions.c $(pkg-config --cflags --libs kiln) -o top_functions
 *     ./top_functions checkout.otlp */
#include <kiln/kiln.h>

#include <inttypes.h>
#include <stdio.h>

static void print_rows(const kiln_answer *a)
{
    kiln_answer_facts f = {.size = sizeof f};
    kiln_row r = {.size = sizeof r};
    if (!kiln_answer_facts_of(a, &f)) return;
    printf("%" PRId64 " of %" PRId64 " %.*s\n", f.selected, f.total, (int)f.sample_unit.n,
           f.sample_unit.p);
    for (size_t i = 0; kiln_row_at(a, i, &r); i++)
        printf("%14" PRId64 " %14" PRId64 " %*s%.*s\n", r.self, r.total, (int)r.depth * 2, "",
               (int)r.label.n, r.label.p);
}

static int fail(const char *path, const kiln_error *e)
{
    char text[600];
    fprintf(stderr, "%s: %s\n", path, kiln_error_text(e, text, sizeof text));
    return 1;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "checkout.otlp";
    kiln_error e;
    kiln_profiles *p = kiln_read_file(path, NULL, &e);
    if (!p) return fail(path, &e);
    kiln_query_options top = {.size = sizeof top, .hide = "^runtime[.]", .max_rows = 5};
    kiln_query_options down = {.size = sizeof down, .show_from = "ServeHTTP", .max_depth = 3};
    kiln_answer *rows = kiln_query_top(p, &top, &e);
    kiln_answer *nodes = rows ? kiln_query_tree(p, &down, &e) : NULL;
    int bad = nodes ? 0 : fail(path, &e);
    if (nodes) {
        print_rows(rows);
        print_rows(nodes);
    }
    kiln_answer_free(nodes);
    kiln_answer_free(rows);
    kiln_profiles_free(p);
    return bad;
}
