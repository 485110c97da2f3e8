#include "support/test.h"

#include "arch/machine.h"
#include "unwind/foreign.h"
#include "unwind/registry.h"

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OBJECTS = 64, FRAMES = 64 };

typedef struct files {
    unwind_object o[OBJECTS];
    void *bytes[OBJECTS];
    size_t size[OBJECTS], n;
} files;

/* Adds an object of this process, read from its file as another process would. */
static int on_object(struct dl_phdr_info *i, size_t size, void *p)
{
    files *f = p;
    struct stat st;
    (void)size;
    int fd = open(*i->dlpi_name ? i->dlpi_name : "/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0 || f->n == OBJECTS) return 0; /* the vdso has no file */
    f->size[f->n] = (size_t)st.st_size;
    f->bytes[f->n] = mmap(NULL, f->size[f->n], PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (f->bytes[f->n] == MAP_FAILED) return 0;
    const Elf64_Ehdr *h = f->bytes[f->n];
    object_source s = {.phdr = (const Elf64_Phdr *)(const void *)((const char *)h + h->e_phoff),
                       .n_phdr = h->e_phnum,
                       .bias = i->dlpi_addr,
                       .file = f->bytes[f->n],
                       .n_file = f->size[f->n],
                       .machine = ARCH_MACHINE};
    f->n += object_open(&s, &f->o[f->n]);
    return 0;
}

/* Copies the frames of callers, including redzones of AddressSanitizer. */
__attribute__((no_sanitize("address"))) static char *copy_stack(uintptr_t from, size_t n)
{
    char *bytes = malloc(n);
    assert_non_null(bytes);
    for (size_t i = 0; i < n; i++) bytes[i] = ((const volatile char *)from)[i];
    return bytes;
}

static NOINLINE void compare_here(unwind_registry *r, unwind_snapshot *foreign)
{
    uintptr_t here[FRAMES], there[FRAMES];
    unwind_stack stack = unwind_stack_here();
    unwind_regs from = unwind_regs_here();
    unwind_result a = unwind(snapshot_enter(registry_gate(r)), &from, &stack, here, FRAMES);
    snapshot_leave(registry_gate(r));
    size_t n = stack.hi - from.sp;
    char *bytes = copy_stack(from.sp, n);
    unwind_result b = unwind_copy(foreign, &from, UNWIND_KNOWN_FP | UNWIND_KNOWN_THIRD,
                                  &(stack_copy){from.sp, bytes, n}, there, FRAMES);
    free(bytes);
    assert_int_equal(a.end, UNWIND_WHOLE);
    assert_int_equal(b.end, UNWIND_WHOLE);
    assert_u64(b.n, a.n);
    assert_memory_equal(here, there, a.n * sizeof *here);
}

static void test_files(void **state)
{
    (void)state;
    static files f;
    err e = {0};
    dl_iterate_phdr(on_object, &f);
    unwind_snapshot *foreign = foreign_open(f.o, f.n, &e);
    unwind_registry *r = registry_open(NULL, &e);
    assert_non_null(foreign);
    assert_non_null(r);
    assert_ok(registry_refresh(r, &e), &e);
    for (uint32_t i = 1; i < foreign->n_objects; i++)
        assert_true(foreign->objects[i - 1]->hi <= foreign->objects[i]->lo);
    compare_here(r, foreign);
    foreign_close(foreign);
    for (size_t i = 0; i < f.n; i++) munmap(f.bytes[i], f.size[i]);
    registry_close(r);
}

/* Code outside of the given objects is not searched in this process. */
static void test_unknown(void **state)
{
    (void)state;
    err e = {0};
    uintptr_t pc[4], words[4] = {0, (uintptr_t)test_unknown + 5};
    unwind_snapshot *s = foreign_open(NULL, 0, &e);
    assert_non_null(s);
    unwind_regs from = {.pc = (uintptr_t)test_unknown, .sp = 0x7000};
    unwind_result u = unwind_copy(s, &from, 0, &(stack_copy){0x7000, words, sizeof words}, pc, 4);
    assert_u64(u.n, 1);
    assert_int_equal(u.end, UNWIND_NO_REGISTER);
    foreign_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
