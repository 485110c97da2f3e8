/* The store of compiled tables: a file is compiled once, rules in the words equal the compiled
 * table, the least recently used table is evicted, slots are reused. */
#include "record/tables.h"

#include "sys/file.h"
#include "unwind/cfi.h"
#include "unwind/object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum { SLOTS = 4 };

typedef struct fixture {
    table_memory m;
    uint64_t *words;
    unsigned mapped; /* and not unmapped */
    bool map_fails;
    struct bpf_table slots[SLOTS];
    unsigned graces;
    file_bytes self;
} fixture;

static uint64_t *map_words(void *ctx, size_t first, size_t n)
{
    fixture *x = ctx;
    assert_true(n > 0 && first + n <= x->m.n_words);
    if (x->map_fails) return NULL;
    x->mapped++;
    return x->words + first;
}

static void unmap_words(void *ctx, uint64_t *words, size_t first, size_t n)
{
    fixture *x = ctx;
    assert_true(words == x->words + first && n > 0);
    x->mapped--;
}

static void on_grace(void *ctx) { ((fixture *)ctx)->graces++; }

static table_store *open_store(fixture *x, size_t n_words)
{
    *x = (fixture){.graces = 0};
    assert_true(file_read("/proc/self/exe", 0, &x->self, NULL));
    x->words = calloc(n_words, 8);
    x->m = (table_memory){.n_words = n_words,
                          .map = map_words,
                          .unmap = unmap_words,
                          .slots = x->slots,
                          .n_slots = SLOTS,
                          .grace = on_grace,
                          .ctx = x};
    assert_non_null(x->words);
    table_store *t = table_store_open(&x->m, NULL);
    assert_non_null(t);
    return t;
}

static void close_store(fixture *x, table_store *t)
{
    table_store_close(t);
    free(x->words);
    file_release(&x->self);
}

/* The search of src/bpf/rules.bpf.h. */
static uint32_t find_rule(const fixture *x, uint32_t slot, uint64_t pc)
{
    const struct bpf_table *t = &x->slots[slot];
    uint64_t at = pc - t->base, bucket = at >> t->shift;
    if (pc < t->base || bucket >= t->n_buckets) return RULE_NONE;
    uint64_t pair = x->words[t->buckets + bucket];
    uint32_t lo = (uint32_t)pair, hi = (uint32_t)(pair >> 32);
    while (lo < hi && (uint32_t)x->words[t->rows + lo] <= at) lo++;
    if (!lo) return RULE_NONE;
    uint32_t rule = (uint32_t)(x->words[t->rows + lo - 1] >> 32);
    return rule_kind(rule) == RULE_PLT ? rule_in_stub(rule, pc) : rule;
}

/* Compiles the table of this program. */
static void compile_self(str elf, arena *a, unwind_table *u)
{
    Elf64_Ehdr h;
    unwind_object o;
    object_index index;
    memcpy(&h, elf.p, sizeof h);
    object_source s = {.phdr = (const Elf64_Phdr *)(const void *)(elf.p + h.e_phoff),
                       .n_phdr = h.e_phnum,
                       .file = (const uint8_t *)elf.p,
                       .n_file = elf.n,
                       .machine = h.e_machine};
    assert_true(object_open(&s, &o) && object_read_index(&o, &index));
    cfi_source c = {.eh_frame = {(const char *)index.eh_frame.p, index.eh_frame.n},
                    .address = index.eh_frame.at,
                    .text_lo = o.lo,
                    .text_hi = o.hi,
                    .machine = o.machine};
    c.eh_frame.n = cfi_length(c.eh_frame);
    assert_true(cfi_compile(&c, a, u, NULL, NULL));
}

static void rules_equal_the_table(void **state)
{
    (void)state;
    fixture x;
    arena a = {0};
    unwind_table u;
    uint32_t slot, again;
    table_key key = {.dev = 1, .ino = 2};
    table_store *t = open_store(&x, 1 << 20);
    assert_true(table_of(t, &key, x.self.bytes, 10, &slot, NULL));
    assert_true(table_loaded(t, slot));
    compile_self(x.self.bytes, &a, &u);
    assert_int_equal(x.slots[slot].n_rows, u.n_rows);
    for (uint32_t i = 0; i < u.n_rows; i += 7)
        for (int d = -1; d <= 1; d++) {
            uint64_t at = u.rows[i].pc + (uint64_t)d;
            assert_int_equal(find_rule(&x, slot, u.base + at), table_find(&u, at));
        }
    assert_true(table_of(t, &key, x.self.bytes, 11, &again, NULL));
    assert_int_equal(again, slot);
    assert_int_equal(table_count(t).compiled, 1);
    assert_int_equal(x.graces, 0);
    arena_free(&a);
    close_store(&x, t);
}

/* Loads this program under another key. */
static uint32_t put(table_store *t, const fixture *x, uint64_t ino, uint32_t now)
{
    uint32_t slot;
    table_key key = {.dev = 1, .ino = ino};
    assert_true(table_of(t, &key, x->self.bytes, now, &slot, NULL));
    return slot;
}

static size_t words_of_self(void)
{
    fixture x;
    table_store *t = open_store(&x, 1 << 20);
    put(t, &x, 1, 1);
    size_t n = table_count(t).bytes / 8;
    close_store(&x, t);
    return n;
}

static void the_least_recently_used_is_evicted(void **state)
{
    (void)state;
    fixture x;
    size_t n = words_of_self();
    table_store *t = open_store(&x, 2 * n + n / 2);
    uint32_t first = put(t, &x, 1, 10), second = put(t, &x, 2, 10);
    x.slots[first].used = 40; /* as a walk stamps it */
    uint32_t third = put(t, &x, 3, 41);
    assert_true(table_loaded(t, first) && !table_loaded(t, second) && table_loaded(t, third));
    assert_int_equal(x.graces, 1);
    assert_int_equal(table_count(t).evicted, 1);
    assert_int_equal(table_count(t).bytes, 16 * n);
    assert_int_equal(put(t, &x, 2, 41), second); /* all others were just used: does not fit */
    assert_false(table_loaded(t, second));
    assert_int_equal(table_count(t).refused, 1);
    assert_int_equal(put(t, &x, 2, 45), second); /* it was tried a moment ago */
    assert_false(table_loaded(t, second));
    assert_int_equal(put(t, &x, 2, 70), second); /* the slot is the same, so mappings stay valid */
    assert_true(table_loaded(t, second) && !table_loaded(t, first));
    assert_int_equal(find_rule(&x, second, x.slots[second].base + 4096),
                     find_rule(&x, third, x.slots[third].base + 4096));
    close_store(&x, t);
}

static void a_table_larger_than_the_budget_is_refused(void **state)
{
    (void)state;
    fixture x;
    table_store *t = open_store(&x, 16);
    uint32_t slot = put(t, &x, 1, 10);
    assert_int_not_equal(slot, TABLE_NONE);
    assert_false(table_loaded(t, slot));
    assert_int_equal(table_count(t).refused, 1);
    close_store(&x, t);
}

static void a_table_that_cannot_be_mapped_leaves_no_extent(void **state)
{
    (void)state;
    fixture x;
    table_store *t = open_store(&x, words_of_self());
    x.map_fails = true;
    uint32_t slot = put(t, &x, 1, 10);
    assert_false(table_loaded(t, slot));
    table_counts n = table_count(t);
    assert_true(n.refused == 1 && n.loaded == 0 && n.bytes == 0);
    x.map_fails = false;
    assert_true(table_loaded(t, put(t, &x, 2, 10))); /* its words are free */
    assert_int_equal(x.mapped, 0);
    close_store(&x, t);
}

static void slots_without_references_are_reused(void **state)
{
    (void)state;
    fixture x;
    err e = {0};
    uint32_t slot;
    table_key key = {.dev = 1, .ino = 99};
    table_store *t = open_store(&x, 16);
    for (uint64_t i = 0; i < SLOTS; i++) table_keep(t, put(t, &x, i, 10));
    assert_false(table_of(t, &key, x.self.bytes, 10, &slot, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    table_release(t, 2);
    assert_true(table_of(t, &key, x.self.bytes, 10, &slot, NULL));
    assert_int_equal(slot, 2);
    assert_int_equal(put(t, &x, 1, 10), 1); /* the others are still found */
    assert_int_equal(put(t, &x, 99, 10), 2);
    close_store(&x, t);
}

static void bad_files_are_rejected(void **state)
{
    (void)state;
    static const char zeros[64];
    static const struct {
        const char *name, *bytes;
        size_t n;
    } cases[] = {{"empty", "", 0}, {"text", "#!/bin/sh", 9}, {"zeros", zeros, 64}};
    fixture x;
    table_store *t = open_store(&x, 16);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        err e = {0};
        uint32_t slot;
        table_key key = {.ino = i};
        assert_false(table_of(t, &key, (str){cases[i].bytes, cases[i].n}, 1, &slot, &e));
        assert_int_equal(e.code, ERR_MALFORMED);
        assert_int_equal(slot, TABLE_NONE);
    }
    assert_int_equal(table_count(t).files, 0);
    close_store(&x, t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_equal_the_table),
        cmocka_unit_test(the_least_recently_used_is_evicted),
        cmocka_unit_test(a_table_larger_than_the_budget_is_refused),
        cmocka_unit_test(a_table_that_cannot_be_mapped_leaves_no_extent),
        cmocka_unit_test(slots_without_references_are_reused),
        cmocka_unit_test(bad_files_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
