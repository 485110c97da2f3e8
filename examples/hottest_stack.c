/* Prints the stack with the largest value in the first profile of a file.
 *
 *     cc hottest_stack.c $(pkg-config --cflags --libs kiln) -o hottest_stack
 *     ./hottest_stack checkout.otlp */
#include <kiln/kiln.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Adds up the values of each stack in cost[]. Returns the index of the stack with the largest sum
 * and sets *total to the sum of all. */
static uint32_t hottest(const kiln_profiles *p, int64_t *cost, int64_t *total)
{
    uint32_t best = 0;
    kiln_sample s = {.size = sizeof s};
    for (size_t i = 0; kiln_sample_at(p, 0, i, &s); i++) {
        int64_t v = kiln_sample_total(&s);
        cost[s.stack] += v;
        *total += v;
        if (cost[s.stack] > cost[best]) best = s.stack;
    }
    return best;
}

static void print_stack(const kiln_profiles *p, uint32_t stack)
{
    kiln_frames walk;
    kiln_frame f = {.size = sizeof f};
    for (kiln_frames_begin(p, stack, &walk); kiln_frames_next(&walk, &f);) {
        if (f.function.n)
            printf("    %.*s", (int)f.function.n, f.function.p);
        else
            printf("    0x%" PRIx64, f.address);
        if (f.file.n) printf("  %.*s:%" PRId64, (int)f.file.n, f.file.p, f.line);
        puts(f.inlined ? "  (inlined)" : "");
    }
}

static int show(const kiln_profiles *p, const char *path)
{
    kiln_profile first = {.size = sizeof first};
    int64_t *cost = calloc(kiln_count(p, KILN_STACKS), sizeof *cost), total = 0;
    if (!cost || !kiln_profile_at(p, 0, &first)) {
        fprintf(stderr, "%s has no profile\n", path);
        free(cost);
        return 1;
    }
    uint32_t best = hottest(p, cost, &total);
    printf("%" PRId64 " of %" PRId64 " %.*s %.*s in %zu samples\n", cost[best], total,
           (int)first.sample_unit.n, first.sample_unit.p, (int)first.sample_type.n,
           first.sample_type.p, first.n_samples);
    print_stack(p, best);
    free(cost);
    return 0;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "checkout.otlp";
    kiln_error e;
    kiln_profiles *p = kiln_read_file(path, NULL, &e);
    if (!p) {
        char text[600];
        fprintf(stderr, "%s: %s\n", path, kiln_error_text(&e, text, sizeof text));
        return 1;
    }
    int exit_code = show(p, path);
    kiln_profiles_free(p);
    return exit_code;
}
