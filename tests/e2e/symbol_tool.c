/* symbol_tool FILE [DEBUG [ALT]] - reads addresses from standard input and prints their frames as
 * llvm-symbolizer --inlines --no-demangle does. */
#include "objfile/index.h"
#include "sys/file.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static file_bytes files[3];
static size_t n_files;

static elf_file *open_file(const char *path, arena *a)
{
    err e = {0};
    char text[512];
    elf_file *elf = arena_new(a, elf_file, 1);
    file_bytes *f = &files[n_files++];
    if (elf && file_read(path, 0, f, &e) && elf_read(f->bytes, a, elf, &e)) return elf;
    fprintf(stderr, "%s: %s\n", path, err_text(&e, text, sizeof text));
    exit(1);
}

static void print(const index_view *x, uint64_t address)
{
    index_frame f[INDEX_MAX_FRAMES];
    size_t n = index_find(x, address, f, INDEX_MAX_FRAMES);
    printf("0x%" PRIx64 "\n", address);
    for (size_t i = 0; i < n; i++) {
        str name = index_text_at(x, f[i].linkage_name ? f[i].linkage_name : f[i].name);
        if (!name.n) name = STR("??");
        str file = f[i].file ? index_text_at(x, f[i].file) : STR("??");
        printf("%.*s\n%.*s:%u:%u\n", STR_ARG(name), STR_ARG(file), f[i].line, f[i].column);
    }
    if (!n) printf("??\n??:0:0\n");
    printf("\n");
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    arena a = {0};
    err e = {0};
    index_source s = {.file = open_file(argv[1], &a)};
    s.debug = argc > 2 ? open_file(argv[2], &a) : s.file;
    s.alt = argc > 3 ? open_file(argv[3], &a) : NULL;
    str block;
    index_view x;
    if (!index_build(&s, &a, &block, &e) || !index_open(block, &x, &e)) {
        char text[512];
        fprintf(stderr, "%s\n", err_text(&e, text, sizeof text));
        return 1;
    }
    for (char line[64]; fgets(line, sizeof line, stdin);) print(&x, strtoull(line, NULL, 16));
    arena_free(&a);
    while (n_files) file_release(&files[--n_files]);
    return 0;
}
