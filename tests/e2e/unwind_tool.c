/* unwind_tool FILE          - prints the rules of a file's .eh_frame, one row per line, for
 * unwind_oracle.
 *     unwind_tool --lookup FILE - compares rules found on demand (object_rule) with the compiled table, at both
 *                                 sides of every row and at random addresses, for unwind_lookup. */
#include "objfile/elf.h"
#include "unwind/cfi.h"
#include "unwind/object.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sets *out to memory in the arena. */
static bool read_file(const char *path, arena *a, str *out)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0) return false;
    long n = ftell(f);
    char *p = n > 0 ? arena_alloc(a, (size_t)n) : NULL;
    rewind(f);
    bool ok = p && fread(p, 1, (size_t)n, f) == (size_t)n;
    fclose(f);
    *out = (str){p, ok ? (size_t)n : 0};
    return ok;
}

static void print_place(uint8_t how, int32_t at)
{
    if (how == PLACE_SAME)
        printf(" u");
    else
        printf(how == PLACE_AT ? " c%+d" : " fp%+d", at);
}

static void print_rule(const unwind_table *t, uint32_t r)
{
    static const char *const names[] = {"none",   "sp",  "fp",  "third",
                                        "signal", "end", "plt", "wide"};
    uint32_t kind = rule_kind(r);
    if (kind == RULE_WIDE) {
        const wide_rule *w = &t->wide[rule_wide(r)];
        printf(w->deref ? "*(r%d%+d)%+d" : "r%d%+d", w->reg, w->offset, w->add);
        print_place(w->fp, w->fp_at);
        print_place(w->third, w->third_at);
    } else if (kind == RULE_SP || kind == RULE_FP || kind == RULE_THIRD) {
        printf("%s+%u", names[kind], rule_offset(r));
        print_place(rule_fp(r) ? PLACE_AT : PLACE_SAME, -8 * (int32_t)rule_fp(r));
        print_place(rule_third(r) ? PLACE_AT : PLACE_SAME, -8 * (int32_t)rule_third(r));
    } else {
        printf("%s", names[kind]);
    }
    printf("\n");
}

/* ---- on demand ---- */

typedef struct comparison {
    unwind_object o;
    const unwind_table *t;
    uint64_t compared, differ, functions;
} comparison;

static bool same(const unwind_table *t, uint32_t table, uint32_t rule, const wide_rule *w)
{
    if (rule_kind(table) != RULE_WIDE) return table == rule;
    return rule_kind(rule) == RULE_WIDE && memcmp(&t->wide[rule_wide(table)], w, sizeof *w) == 0;
}

static void compare(comparison *c, uint64_t pc)
{
    if (pc < c->o.lo || pc >= c->o.hi) return;
    object_hit hit = {0};
    uint32_t rule = object_rule(&c->o, pc, &hit), table = table_find(c->t, pc - c->t->base);
    c->compared++;
    if (hit.end && (pc < hit.start || pc >= hit.end)) c->differ++;
    if (same(c->t, table, rule, &hit.wide)) return;
    if (c->differ++ < 10) printf("# at %" PRIx64 ": table %x, on demand %x\n", pc, table, rule);
}

/* Treats the mapped file as an object at an unused address. */
static bool lookup(str bytes, const elf_file *f, const unwind_table *t, comparison *c)
{
    const Elf64_Ehdr *h = (const void *)bytes.p;
    enum { RANDOM = 100000 };
    object_source s = {.phdr = (const void *)(bytes.p + h->e_phoff),
                       .n_phdr = h->e_phnum,
                       .file = (const uint8_t *)bytes.p,
                       .n_file = bytes.n,
                       .machine = f->machine};
    uint64_t seed = 1;
    *c = (comparison){.t = t};
    if (!object_open(&s, &c->o)) return false;
    for (uint32_t i = 0; i < t->n_rows; i++) {
        compare(c, t->base + t->rows[i].pc - 1);
        compare(c, t->base + t->rows[i].pc);
    }
    for (unsigned i = 0; i < RANDOM; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        compare(c, c->o.lo + (seed >> 16) % (c->o.hi - c->o.lo));
    }
    return true;
}

int main(int argc, char **argv)
{
    err e = {0};
    arena a = {0};
    str bytes, eh;
    elf_file f;
    char text[512];
    bool on_demand = argc == 3 && strcmp(argv[1], "--lookup") == 0;
    const char *path = argv[argc - 1];
    if (argc != 2 + on_demand || !read_file(path, &a, &bytes)) return 2;
    bool ok = elf_read(bytes, &a, &f, &e);
    const elf_section *s = ok ? elf_section_named(&f, STR(".eh_frame")) : NULL;
    unwind_table t = {0};
    cfi_counts n = {0};
    if (s && elf_section_bytes(&f, s, &a, &eh, &e)) {
        uint64_t lo = UINT64_MAX, hi = 0;
        for (size_t i = 0; i < f.segments.n; i++) {
            const elf_segment *g = &f.segments.v[i];
            if (g->type != ELF_LOAD || !(g->flags & ELF_SEGMENT_EXEC)) continue;
            if (g->vaddr < lo) lo = g->vaddr;
            if (g->vaddr + g->memory_size > hi) hi = g->vaddr + g->memory_size;
        }
        cfi_source src = {eh, s->addr, lo, hi, f.machine};
        ok = cfi_compile(&src, &a, &t, &n, &e);
    }
    if (!ok) {
        fprintf(stderr, "unwind_tool: %s: %s\n", path, err_text(&e, text, sizeof text));
        return 1;
    }
    if (on_demand) {
        comparison c;
        object_index x = {0};
        if (!lookup(bytes, &f, &t, &c) || !object_read_index(&c.o, &x)) return 1;
        printf("%" PRIu64 " compared, %" PRIu64 " differ, %u in the sorted table, %u rows\n",
               c.compared, c.differ, x.n_search, t.n_rows);
        arena_free(&a);
        return c.differ != 0 || !x.n_search;
    }
    printf("# %u functions, %u outside, %u unknown, %u rows, %u wide\n", n.functions, n.outside,
           n.unknown, t.n_rows, t.n_wide);
    for (uint32_t i = 0; i < t.n_rows; i++) {
        printf("%" PRIx64 " ", t.base + t.rows[i].pc);
        print_rule(&t, t.rows[i].rule);
    }
    arena_free(&a);
    return 0;
}
