#include "support/test.h"

#include "unwind/registry.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <sys/auxv.h>

/* Libraries of a standard Debian installation that this program is not linked with; the test uses
 * the first that loads. */
static const char *const some[] = {"libanl.so.1",          "libutil.so.1",      "libnss_files.so.2",
                                   "libBrokenLocale.so.1", "libthread_db.so.1", "libmemusage.so"};

static void *open_some(void)
{
    for (size_t i = 0; i < ARRAY_LEN(some); i++) {
        void *h = dlopen(some[i], RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
        if (h) { /* already loaded: closing it would not unload it */
            dlclose(h);
            continue;
        }
        if ((h = dlopen(some[i], RTLD_LAZY | RTLD_LOCAL))) return h;
    }
    print_message("# skip: no library to load\n");
    skip();
    return NULL;
}

static uint32_t rule_of(unwind_registry *r, uintptr_t pc)
{
    const unwind_snapshot *s = atomic_load(&registry_gate(r)->current);
    for (uint32_t i = 0; i < s->n_objects; i++)
        if (pc >= s->objects[i]->lo && pc < s->objects[i]->hi)
            return object_rule(s->objects[i], pc, &(object_hit){0});
    return RULE_NONE;
}

static void test_objects(void **state)
{
    (void)state;
    err e = {0};
    unwind_registry *r = registry_open(NULL, &e);
    assert_non_null(r);
    assert_null(atomic_load(&registry_gate(r)->current));
    assert_ok(registry_refresh(r, &e), &e);
    const unwind_snapshot *s = atomic_load(&registry_gate(r)->current);
    for (uint32_t i = 1; i < s->n_objects; i++)
        assert_true(s->objects[i - 1]->hi <= s->objects[i]->lo);
    assert_int_not_equal(rule_of(r, (uintptr_t)test_objects), RULE_NONE);
    assert_int_not_equal(rule_of(r, (uintptr_t)dlsym(RTLD_DEFAULT, "qsort")), RULE_NONE);
    uintptr_t vdso = getauxval(AT_SYSINFO_EHDR);
    bool found = !vdso;
    for (uint32_t i = 0; i < s->n_objects; i++)
        found |= s->objects[i]->lo <= vdso + 0x1000 && vdso < s->objects[i]->hi;
    assert_true(found);
    assert_ok(registry_refresh(r, &e), &e); /* nothing changed */
    assert_u64(registry_count(r).snapshots, 1);
    registry_close(r);
}

/* A snapshot stays mapped until the handler that reads it has left. */
static void test_comes_and_goes(void **state)
{
    (void)state;
    err e = {0};
    unwind_registry *r = registry_open(NULL, &e);
    assert_non_null(r);
    assert_ok(registry_refresh(r, &e), &e);
    uint32_t before = registry_count(r).objects;
    assert_ok(registry_compile_all(r, &e), &e);
    uint64_t bytes = registry_count(r).bytes;
    void *h = open_some();
    assert_ok(registry_refresh(r, &e), &e);
    assert_ok(registry_compile_all(r, &e), &e);
    uint32_t with = registry_count(r).objects;
    assert_true(with > before && registry_count(r).bytes > bytes && !registry_count(r).waiting);

    unwind_snapshot *s = snapshot_enter(registry_gate(r));
    assert_u64(s->n_objects, with);
    dlclose(h);
    assert_ok(registry_refresh(r, &e), &e);
    assert_u64(registry_count(r).objects, before);
    assert_u64(registry_count(r).waiting, 1);
    uint64_t rows = 0; /* reads everything, so that ASan and valgrind can check it */
    for (uint32_t i = 0; i < s->n_objects; i++) {
        const unwind_table *t = atomic_load(&s->objects[i]->table);
        for (uint32_t k = 0; t && k < t->n_rows; k++) rows += t->rows[k].rule;
    }
    assert_true(rows > 0);
    snapshot_leave(registry_gate(r));
    assert_ok(registry_refresh(r, &e), &e);
    assert_u64(registry_count(r).waiting, 0);
    assert_u64(registry_count(r).bytes, bytes);

    (void)snapshot_enter(registry_gate(r)); /* a thread that the child does not have */
    registry_forked(r);
    assert_u64(atomic_load(&registry_gate(r)->readers), 0);
    registry_close(r);
}

static NOINLINE size_t walk_here(unwind_registry *r, uintptr_t *pc)
{
    unwind_stack stack = unwind_stack_here();
    unwind_regs from = unwind_regs_here();
    unwind_result u = unwind(snapshot_enter(registry_gate(r)), &from, &stack, pc, 64);
    snapshot_leave(registry_gate(r));
    assert_int_equal(u.end, UNWIND_WHOLE);
    return u.n;
}

static void test_budget(void **state)
{
    (void)state;
    err e = {0};
    registry_opts o = {.size = sizeof o, .max_bytes = 64 << 10};
    unwind_registry *r = registry_open(&o, &e);
    assert_non_null(r);
    assert_ok(registry_refresh(r, &e), &e);
    assert_u64(registry_count(r).over_budget, 0);
    assert_ok(registry_compile_all(r, &e), &e);
    registry_counts n = registry_count(r);
    assert_true(n.bytes <= 64 << 10 && n.over_budget > 0 && n.over_budget < n.objects);
    uintptr_t pc[64]; /* unwinding also works without a compiled table */
    assert_true(walk_here(r, pc) > 4);
    registry_close(r);
}

static void test_here(void **state)
{
    (void)state;
    err e = {0};
    uintptr_t pc[64];
    unwind_registry *r = registry_open(NULL, &e);
    assert_non_null(r);
    assert_ok(registry_refresh(r, &e), &e);
    size_t n = walk_here(r, pc);
    assert_true(n > 4 && n < 64);
    assert_true(pc[0] - (uintptr_t)walk_here < 4096 && pc[1] - (uintptr_t)test_here < 4096);
    registry_close(r);
}

/* Tables are compiled only for objects that handlers have looked up, and do not change the
 * stacks. */
static void test_hot(void **state)
{
    (void)state;
    err e = {0};
    uintptr_t before[64], after[64];
    unwind_registry *r = registry_open(NULL, &e);
    assert_non_null(r);
    assert_ok(registry_refresh(r, &e), &e);
    size_t n = walk_here(r, before);
    assert_ok(registry_compile(r, &e), &e);
    assert_u64(registry_count(r).compiled, 0);
    unwind_snapshot *s = atomic_load(&registry_gate(r)->current);
    for (unsigned i = 0; i < REGISTRY_HOT; i++) {
        memset(s->cache, 0, sizeof s->cache); /* so that every rule is looked up */
        assert_u64(walk_here(r, before), n);
    }
    assert_ok(registry_compile(r, &e), &e);
    registry_counts c = registry_count(r);
    assert_true(c.compiled > 0 && c.compiled < c.objects && c.rows > 0 && c.bytes > 0);
    memset(s->cache, 0, sizeof s->cache);
    assert_u64(walk_here(r, after), n);
    assert_memory_equal(before + 2, after + 2,
                        (n - 2) * sizeof *before); /* two frames of this test differ */
    registry_close(r);
}

/* A handler finds a library that the registry has not seen, without losing cached rules. */
static void test_late(void **state)
{
    (void)state;
    err e = {0};
    unwind_registry *r = registry_open(NULL, &e);
    assert_non_null(r);
    assert_ok(registry_refresh(r, &e), &e);
    unwind_snapshot *s = atomic_load(&registry_gate(r)->current);
    assert_non_null(s->loader);
    struct link_map *m = open_some();
    uintptr_t pc[4], base = m->l_addr, code = 0;
    const ElfW(Phdr) *p = (const ElfW(Phdr) *)(base + ((const ElfW(Ehdr) *)base)->e_phoff);
    for (unsigned i = 0; i < ((const ElfW(Ehdr) *)base)->e_phnum; i++)
        if (p[i].p_type == PT_LOAD && p[i].p_flags & PF_X) code = base + p[i].p_vaddr;
    unwind_regs from = {.pc = code + 0x40, .sp = (uintptr_t)&pc[0]};
    (void)unwind(s, &from, NULL, pc, 2);
    assert_u64(s->n_late, 1);
    assert_true(s->late[0].o.lo == code && s->late[0].o.unloadable);
    from.pc = 0x10000; /* an address outside every object: no new search for 20 ms */
    (void)unwind(s, &from, NULL, pc, 2);
    assert_u64(s->n_late, 1);
    assert_true(s->search_after > 0);
    assert_ok(registry_refresh(r, &e), &e);
    s = atomic_load(&registry_gate(r)->current);
    assert_u64(s->n_late, 0); /* now an ordinary object */
    dlclose(m);
    /* Unloaded without a refresh: its pages are checked and not read. */
    from.pc = code + 0x44;
    (void)unwind(s, &from, NULL, pc, 4);
    assert_ok(registry_refresh(r, &e), &e);
    registry_close(r);
}

static void test_passive(void **state)
{
    (void)state;
    err e = {0};
    unwind_registry *r = registry_open(
        &(registry_opts){.size = sizeof(registry_opts), .passive = true, .late = true}, &e);
    assert_non_null(r);
    assert_ok(registry_refresh(r, &e), &e);
    const unwind_snapshot *s = atomic_load(&registry_gate(r)->current);
    assert_null(s->loader);
    for (uint32_t i = 0; i < s->n_objects; i++) assert_true(s->objects[i]->unloadable);
    uintptr_t pc[64];
    assert_true(walk_here(r, pc) > 4);
    registry_close(r);
}

typedef struct race {
    unwind_registry *r;
    _Atomic bool stop;
    _Atomic unsigned long whole, other;
} race;

static void *reader(void *p)
{
    race *k = p;
    uintptr_t pc[64];
    while (!atomic_load(&k->stop)) {
        unwind_stack stack = {0};
        unwind_regs from = unwind_regs_here();
        unwind_result u = unwind(snapshot_enter(registry_gate(k->r)), &from, &stack, pc, 64);
        snapshot_leave(registry_gate(k->r));
        atomic_fetch_add(u.end == UNWIND_WHOLE ? &k->whole : &k->other, 1);
    }
    return NULL;
}

/* Objects are loaded and unloaded while another thread reads: freed memory is unmapped, so a late
 * read would fault. */
static void test_racing(void **state)
{
    (void)state;
    err e = {0};
    race k = {.r = registry_open(NULL, &e)};
    pthread_t t;
    assert_non_null(k.r);
    assert_ok(registry_refresh(k.r, &e), &e);
    assert_int_equal(pthread_create(&t, NULL, reader, &k), 0);
    for (unsigned i = 0; i < 200; i++) {
        void *h = open_some();
        assert_ok(registry_refresh(k.r, &e), &e);
        dlclose(h);
        assert_ok(registry_refresh(k.r, &e), &e);
        while (!i && !atomic_load(&k.whole)) sched_yield();
    }
    while (registry_count(k.r)
               .waiting) { /* freed while the reader runs, once it is between two reads */
        sched_yield();
        assert_ok(registry_refresh(k.r, &e), &e);
    }
    atomic_store(&k.stop, true);
    pthread_join(t, NULL);
    assert_true(k.whole > 0);
    assert_u64(k.other, 0);
    assert_u64(registry_count(k.r).snapshots, 401);
    registry_close(k.r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_objects), cmocka_unit_test(test_comes_and_goes),
        cmocka_unit_test(test_budget),  cmocka_unit_test(test_here),
        cmocka_unit_test(test_racing),  cmocka_unit_test(test_hot),
        cmocka_unit_test(test_late),    cmocka_unit_test(test_passive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
