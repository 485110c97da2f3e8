/* Reads ELF, DWARF and the symbol index. The first byte chooses how the input is read: as an ELF
 * file (if odd, also as its own dwz file), an index with a corrected checksum, kallsyms, or a perf
 * map. */
#include "objfile/build_id.h"
#include "objfile/index_build.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x)) abort();                                                                         \
    } while (0)

static void check_index(const index_view *x)
{
    index_frame f[16];
    for (uint64_t i = 0; i < x->h.n_rows && i < 512; i++)
        for (uint64_t d = 0; d < 3; d++) {
            size_t n = index_find(x, x->rows[i].address + d - 1, f, 16);
            CHECK(n <= 16);
            while (n--) {
                str s = index_text_at(x, f[n].linkage_name), t = index_text_at(x, f[n].name);
                CHECK(s.n < x->h.n_text + 1 && t.n < x->h.n_text + 1);
                CHECK(index_text_at(x, f[n].file).n < x->h.n_text + 1);
            }
        }
}

static void fuzz_elf(str in, bool alt)
{
    arena a = {.budget = 64 << 20};
    err e = {0};
    elf_file f;
    str block;
    index_view x;
    if (elf_read(in, &a, &f, &e)) {
        build_ids ids = elf_build_ids(&f);
        CHECK(ids.gnu.n <= BUILD_ID_BYTES_MAX);
        uint64_t at;
        for (uint64_t o = 0; o < in.n; o += 4096) (void)!elf_address_of_offset(&f, o, &at);
        if (index_build(&(index_source){.file = &f, .debug = &f, .alt = alt ? &f : NULL}, &a,
                        &block, &e)) {
            CHECK(index_open(block, &x, &e)); /* every index that is built can be opened */
            for (uint64_t i = 1; i < x.h.n_rows; i++)
                CHECK(x.rows[i - 1].address < x.rows[i].address);
            for (uint64_t i = 0; i < x.h.n_scopes; i++) CHECK(x.scopes[i].parent <= i);
            check_index(&x);
        } else {
            CHECK(err_exhausted(&e));
        }
    } else {
        CHECK(e.code == ERR_MALFORMED || err_exhausted(&e));
    }
    arena_free(&a);
}

static void fuzz_index(str in)
{
    arena a = {0};
    char *p = arena_alloc(&a, in.n);
    index_view x;
    if (in.n >= sizeof(index_header)) {
        memcpy(p, in.p, in.n);
        uint64_t sum = index_checksum((str){p, in.n});
        memcpy(p + offsetof(index_header, checksum), &sum, sizeof sum);
        if (index_open((str){p, in.n}, &x, NULL)) check_index(&x);
    }
    arena_free(&a);
}

static void fuzz_text(str in, bool kernel)
{
    arena a = {.budget = 64 << 20};
    err e = {0};
    symbol_list l = {0};
    str block;
    index_view x;
    if (kernel ? symbols_of_kallsyms(in, &a, &l, &e) : symbols_of_perf_map(in, &a, &l, &e)) {
        if (index_build_symbols(&l, 0, &a, &block, &e)) {
            CHECK(index_open(block, &x, &e));
            check_index(&x);
        }
    }
    arena_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (!n) return 0;
    str in = {(const char *)data + 1, n - 1};
    switch (data[0] % 8) {
    case 0: fuzz_index(in); break;
    case 1:
    case 2: fuzz_text(in, data[0] % 8 == 1); break;
    default: fuzz_elf(in, data[0] & 1); break;
    }
    return 0;
}
