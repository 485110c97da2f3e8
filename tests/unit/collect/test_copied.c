/* Unwinds a copy of the own stack from the files of this process, as from a recording. */
#include "support/test.h"

#include "arch/context.h"
#include "collect/copied.h"
#include "unwind/registry.h"

#include <stdio.h>

enum { MAPS = 256, BYTES = 16 << 10 };

typedef struct rig {
    copied_walk *w;
    const stack_walk *c;
    walk_map maps[MAPS];
    char names[MAPS][256];
    size_t n;
    char bytes[BYTES];
    copied_stack stack;
} rig;

static void read_maps(rig *r)
{
    char line[512], perms[8];
    FILE *f = fopen("/proc/self/maps", "r");
    assert_non_null(f);
    while (r->n < MAPS && fgets(line, sizeof line, f)) {
        walk_map *m = &r->maps[r->n];
        char *name = r->names[r->n];
        name[0] = '\0';
        if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %255s", &m->start, &m->limit, perms, &m->offset,
                   name) < 4 ||
            perms[2] != 'x')
            continue;
        m->filename = str_of(name);
        r->n++;
    }
    fclose(f);
}

static bool add(rig *r, uint32_t version)
{
    return r->c->add_space(r->c->ctx,
                           &(walk_space){.version = version, .maps = r->maps, .n = r->n});
}

__attribute__((no_sanitize("address"))) static void copy_words(rig *r, uintptr_t sp, uintptr_t hi)
{
    size_t n = hi - sp < BYTES ? hi - sp : BYTES;
    for (size_t i = 0; i < n; i++) r->bytes[i] = ((const volatile char *)sp)[i];
    r->stack.bytes = (str){r->bytes, n};
    r->stack.partial = n == BYTES;
}

/* Takes the registers and the stack of its own frame, whose return address is *ra. */
__attribute__((noinline, no_sanitize("address"))) static void take(rig *r, uint64_t *ra)
{
    ucontext_t u;
    assert_int_equal(getcontext(&u), 0);
    r->stack.machine = ARCH_MACHINE;
    for (uint8_t i = 0; i < WALK_REGS; i++) {
        size_t at = arch_context_of(i);
        if (!at) continue;
        memcpy(&r->stack.regs[i], (const char *)&u + at, 8);
        r->stack.known |= (uint32_t)1 << i;
    }
    memcpy(&r->stack.pc, (const char *)&u + CONTEXT_PC, 8);
    copy_words(r, (uintptr_t)r->stack.regs[ARCH_REG_SP], unwind_stack_here().hi);
    *ra = (uint64_t)(uintptr_t)__builtin_return_address(0);
}

static rig *open_rig(uint64_t *ra)
{
    rig *r = calloc(1, sizeof *r);
    assert_non_null(r);
    r->w = copied_open();
    assert_non_null(r->w);
    r->c = copied_callbacks(r->w);
    read_maps(r);
    take(r, ra);
    return r;
}

static void close_rig(rig *r)
{
    copied_close(r->w);
    free(r);
}

static void test_walk(void **state)
{
    (void)state;
    uint64_t ra;
    rig *r = open_rig(&ra);
    assert_false(r->c->has_space(r->c->ctx, 5));
    assert_true(add(r, 5) && r->c->has_space(r->c->ctx, 5));
    walked_stack w = r->c->walk(r->c->ctx, 5, &r->stack);
    assert_int_equal(w.end, WALK_WHOLE);
    assert_true(w.n > 4);
    assert_u64(w.pcs[0], r->stack.pc);
    assert_u64(w.pcs[1], ra); /* unchanged, not the address of the call */
    r->stack.bytes.n = 512, r->stack.partial = true;
    size_t whole = w.n;
    w = r->c->walk(r->c->ctx, 5, &r->stack);
    assert_true(w.n >= 1 && w.n < whole);
    assert_true(w.end == WALK_CUT);
    r->stack.partial = false;
    assert_int_equal(r->c->walk(r->c->ctx, 5, &r->stack).end, WALK_BROKEN);
    close_rig(r);
}

static void test_refused(void **state)
{
    (void)state;
    uint64_t ra;
    rig *r = open_rig(&ra);
    assert_true(add(r, 1));
    r->stack.machine = (int)ARCH_MACHINE == (int)WALK_X86_64 ? WALK_AARCH64 : WALK_X86_64;
    walked_stack w = r->c->walk(r->c->ctx, 1, &r->stack);
    assert_true(w.end == WALK_REFUSED && !w.n);
    r->stack.machine = ARCH_MACHINE;
    assert_int_equal(r->c->walk(r->c->ctx, 2, &r->stack).end, WALK_REFUSED); /* unknown space */
    close_rig(r);
}

/* The program is missing, or another build: the stack ends in its innermost frame. */
static void test_other_files(void **state)
{
    (void)state;
    uint64_t ra;
    for (int i = 0; i < 3; i++) {
        rig *r = open_rig(&ra);
        for (size_t k = 0; k < r->n; k++) {
            if (r->stack.pc < r->maps[k].start || r->stack.pc >= r->maps[k].limit) continue;
            if (i == 0) r->maps[k].filename = STR("/nonexistent/program");
            if (i == 1) r->maps[k].build_id = STR("another build id ...");
            if (i == 2) r->maps[k].limit = r->maps[k].start + 1; /* in no map */
        }
        assert_true(add(r, 1));
        walked_stack w = r->c->walk(r->c->ctx, 1, &r->stack);
        assert_int_equal(w.end, WALK_NO_FILE);
        assert_u64(w.n, 1);
        assert_u64(w.pcs[0], r->stack.pc);
        close_rig(r);
    }
}

static void test_bounded_spaces(void **state)
{
    (void)state;
    uint64_t ra;
    rig *r = open_rig(&ra);
    for (uint32_t v = 1; v <= COPIED_SPACES + 1; v++) {
        if (v == COPIED_SPACES + 1) (void)r->c->walk(r->c->ctx, 1, &r->stack); /* used last */
        assert_true(add(r, v));
    }
    assert_true(r->c->has_space(r->c->ctx, 1));
    assert_false(r->c->has_space(r->c->ctx, 2));
    assert_true(r->c->has_space(r->c->ctx, COPIED_SPACES + 1));
    close_rig(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_walk),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_other_files),
        cmocka_unit_test(test_bounded_spaces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
