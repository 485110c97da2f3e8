/* Joins the profiles of several files into one small file.
 *
 *     cc merge_files.c $(pkg-config --cflags --libs kiln) -o merge_files
 *     ./merge_files monday.otlp tuesday.otlp week.otlp.zst */
#include <kiln/kiln.h>

#include <stdio.h>

enum { MAX_FILES = 100 };

/* Joins equal stacks of equal profiles and writes them in an order that compresses well. */
static bool merge(const kiln_profiles *const *in, size_t n, const char *path, kiln_error *e)
{
    kiln_merge_options join = {.size = sizeof join, .join = true};
    kiln_write_options small = {.size = sizeof small, .canonical = true, .compression = "zstd"};
    kiln_profiles *all = kiln_merge(in, n, &join, e);
    bool ok = all && kiln_write_file(all, path, &small, e);
    if (ok)
        printf("%s: %zu profiles, %zu stacks\n", path, kiln_count(all, KILN_PROFILES),
               kiln_count(all, KILN_STACKS));
    kiln_profiles_free(all);
    return ok;
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc - 2 > MAX_FILES) {
        fprintf(stderr, "usage: merge_files IN... OUT\n");
        return 2;
    }
    kiln_profiles *in[MAX_FILES];
    kiln_error e;
    size_t n = 0, n_files = (size_t)argc - 2;
    while (n < n_files && (in[n] = kiln_read_file(argv[n + 1], NULL, &e))) n++;
    bool ok = n == n_files && merge((const kiln_profiles *const *)in, n, argv[argc - 1], &e);
    if (!ok) {
        char text[600];
        fprintf(stderr, "%s: %s\n", argv[n + 1], kiln_error_text(&e, text, sizeof text));
    }
    while (n) kiln_profiles_free(in[--n]);
    return ok ? 0 : 1;
}
