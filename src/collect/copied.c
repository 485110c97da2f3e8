/* Unwinds copied stacks of a recording: finds and maps the files of its processes, builds a snapshot
 * per address space, and checks that every frame is in code of the process. */
#include "collect/copied.h"

#include "arch/context.h"
#include "base/hash.h"
#include "base/search.h"
#include "model/model.h"
#include "base/vec.h"
#include "collect/object_file.h"
#include "symbol/find.h"
#include "unwind/foreign.h"

#include <stdlib.h>
#include <sys/utsname.h>
#include "base/ban.h"

/* A record has less than 64 KiB, and every frame takes at least a word. */
enum { FRAMES_MAX = 8 << 10 };

typedef struct copied_file {
    str name, build_id;
    found_files found;
} copied_file;

typedef enum code_kind { CODE_FILE, CODE_MISSING, CODE_GENERATED } code_kind;

typedef struct code_range {
    uint64_t start, limit;
    code_kind kind;
} code_range;

typedef struct space {
    uint32_t version;
    uint64_t used; /* when it was used last; 0: free */
    unwind_snapshot *snapshot;
    code_range *code; /* in order of address */
    size_t n;
} space;

struct copied_walk {
    stack_walk callbacks;
    arena a; /* files and their names */
    VEC(copied_file) files;
    hash_index by_name;
    space spaces[COPIED_SPACES];
    uint64_t clock;
    ucontext_t context;
    uintptr_t pcs[FRAMES_MAX];
    uint64_t out[FRAMES_MAX];
};

/* ---- files ---- */

static str kept(copied_walk *w, str s)
{
    char *p = arena_alloc(&w->a, s.n + 1);
    if (!p) return (str){0};
    memcpy(p, s.n ? s.p : "", s.n);
    return (str){p, s.n};
}

static void find(copied_file *f)
{
    char hex[2 * BUILD_ID_BYTES_MAX + 1] = "";
    arena scratch = {.budget = 64 << 20};
    if (f->build_id.n && f->build_id.n <= BUILD_ID_BYTES_MAX)
        hex_encode((const uint8_t *)f->build_id.p, f->build_id.n, hex);
    find_binary(&(binary_id){.name = f->name, .gnu = str_of(hex)}, (find_dirs){0}, &scratch,
                &f->found);
    arena_free(&scratch);
}

/* Returns the bytes of a file; empty: missing, or another build. */
static str file_of(copied_walk *w, const walk_map *m)
{
    if (!hash_index_room(&w->by_name, &w->a)) return (str){0};
    uint64_t h = hash_bytes(m->filename.p, m->filename.n, w->by_name.seed);
    uint32_t i = hash_first(&w->by_name, h);
    for (uint32_t at; hash_next(&w->by_name, &i, h, &at); i++) {
        const copied_file *f = &w->files.v[at];
        if (str_eq(f->name, m->filename) && str_eq(f->build_id, m->build_id))
            return f->found.file.bytes.bytes;
    }
    copied_file *f = w->files.n < COPIED_FILES ? vec_push(&w->a, &w->files) : NULL;
    if (!f) return (str){0};
    *f = (copied_file){.name = kept(w, m->filename), .build_id = kept(w, m->build_id)};
    hash_put(&w->by_name, i, h, (uint32_t)(w->files.n - 1));
    if (f->name.n) find(f);
    return f->found.file.bytes.bytes;
}

/* Returns whether the recorded vdso is the one of this process. */
static bool is_own_vdso(const walk_space *s, const walk_map *m)
{
    if (m->build_id.n) {
        arena a = {.budget = 1 << 20};
        elf_file f;
        bool same =
            elf_read(object_vdso(), &a, &f, NULL) && str_eq(elf_build_ids(&f).gnu, m->build_id);
        arena_free(&a);
        return same;
    }
    struct utsname u;
    return s->hostname.n && uname(&u) == 0 && str_eq(s->hostname, str_of(u.nodename)) &&
           str_eq(s->os_release, str_of(u.release));
}

static code_kind kind_of(const walk_map *m)
{
    bool generated = !m->filename.n || str_starts(m->filename, STR("//")) ||
                     str_starts(m->filename, STR("/memfd:")) ||
                     str_starts(m->filename, STR("/dev/zero")) ||
                     str_starts(m->filename, STR("[anon")) || str_eq(m->filename, STR("[heap]")) ||
                     str_eq(m->filename, STR("[stack]"));
    return generated ? CODE_GENERATED : CODE_MISSING;
}

/* ---- address spaces ---- */

static void forget(space *s)
{
    foreign_close(s->snapshot);
    free(s->code);
    *s = (space){0};
}

static space *space_of(copied_walk *w, uint32_t version)
{
    for (size_t i = 0; i < COPIED_SPACES; i++)
        if (w->spaces[i].used && w->spaces[i].version == version) return &w->spaces[i];
    return NULL;
}

static bool has_space(void *ctx, uint32_t version) { return space_of(ctx, version) != NULL; }

/* Fills *o with the part of a file's object that is in the map.  A newer mapping may cover the rest
 * of the object, and objects of a snapshot must not overlap. */
static bool open_object(copied_walk *w, const walk_space *s, const walk_map *m, unwind_object *o)
{
    str bytes = {0};
    if (!str_eq(m->filename, STR("[vdso]")))
        bytes = file_of(w, m);
    else if (is_own_vdso(s, m))
        bytes = object_vdso();
    if (!bytes.n || !object_of_file(bytes, m->start, m->offset, o)) return false;
    object_add_go(bytes, m->start, m->offset, o);
    object_add_rules(bytes, m->start, m->offset, &w->a, o);
    if (o->lo < m->start) o->lo = (uintptr_t)m->start;
    if (o->hi > m->limit) o->hi = (uintptr_t)m->limit;
    return o->machine == ARCH_MACHINE && o->lo < o->hi;
}

static void fill(copied_walk *w, const walk_space *from, unwind_object *objects, space *to)
{
    size_t n = 0;
    for (size_t i = 0; i < from->n; i++) {
        const walk_map *m = &from->maps[i];
        code_kind kind = kind_of(m);
        if (kind == CODE_MISSING && open_object(w, from, m, &objects[n])) kind = CODE_FILE, n++;
        to->code[to->n++] = (code_range){m->start, m->limit, kind};
    }
    to->snapshot = foreign_open(objects, n, NULL);
}

static bool add_space(void *ctx, const walk_space *from)
{
    copied_walk *w = ctx;
    space *s = &w->spaces[0];
    for (size_t i = 1; i < COPIED_SPACES; i++)
        if (w->spaces[i].used < s->used) s = &w->spaces[i];
    if (s->used) forget(s);
    s->version = from->version;
    s->code = calloc(from->n + 1, sizeof *s->code);
    unwind_object *objects = calloc(from->n + 1, sizeof *objects);
    if (s->code && objects) fill(w, from, objects, s);
    free(objects);
    if (s->snapshot)
        s->used = ++w->clock;
    else
        forget(s);
    return s->snapshot != NULL;
}

/* ---- walking ---- */

/* Returns the range that contains an address; NULL: none. */
static const code_range *range_of(const space *s, uint64_t pc)
{
    size_t i = SEARCH(0, s->n, k, s->code[k].limit <= pc);
    return i < s->n && s->code[i].start <= pc ? &s->code[i] : NULL;
}

static walk_end end_of(unwind_end end, bool partial)
{
    switch (end) {
    case UNWIND_WHOLE: return WALK_WHOLE;
    case UNWIND_CAPPED: return WALK_CUT;
    case UNWIND_UNREADABLE: return partial ? WALK_CUT : WALK_BROKEN;
    case UNWIND_NO_PROGRESS: return WALK_BROKEN;
    case UNWIND_NO_REGISTER: return WALK_NO_REGISTER;
    default: return WALK_NO_RULE;
    }
}

/* Copies frames up to the first one in code without a file, whose caller would only be a guess.  An
 * address outside of all mappings was a wrong guess and is left out. */
static walked_stack checked(copied_walk *w, const space *s, const unwind_result *u, bool partial)
{
    walked_stack out = {.pcs = w->out, .end = end_of(u->end, partial)};
    const code_range *r = NULL;
    while (out.n < u->n) {
        uint64_t pc = w->pcs[out.n], inside = out.n ? pc - 1 : pc;
        if (!r || inside < r->start || inside >= r->limit) r = range_of(s, inside);
        if (!r && out.n) {
            out.end = WALK_BROKEN;
            break;
        }
        w->out[out.n++] = pc;
        if (!r || r->kind == CODE_MISSING) {
            out.end = WALK_NO_FILE;
            break;
        }
    }
    return out;
}

/* Stores the registers where the walk finds those of an interrupted frame.  Returns false if one is
 * missing. */
static bool fill_context(copied_walk *w, const copied_stack *c)
{
    for (unsigned i = 0; i < WALK_REGS; i++) {
        size_t at = arch_context_of((uint8_t)i);
        if (!at) continue;
        if (!(c->known >> i & 1)) return false;
        memcpy((char *)&w->context + at, &c->regs[i], sizeof c->regs[i]);
    }
    return true;
}

static walked_stack walk(void *ctx, uint32_t version, const copied_stack *c)
{
    copied_walk *w = ctx;
    space *s = space_of(w, version);
    if (!s || c->machine != ARCH_MACHINE) return (walked_stack){.end = WALK_REFUSED};
    s->used = ++w->clock;
    unsigned known = UNWIND_KEEP_RETURNS;
    if (c->known >> ARCH_REG_FP & 1) known |= UNWIND_KNOWN_FP;
    if (c->known >> ARCH_REG_THIRD & 1) known |= UNWIND_KNOWN_THIRD;
    unwind_regs from = {.pc = (uintptr_t)c->pc,
                        .sp = (uintptr_t)c->regs[ARCH_REG_SP],
                        .fp = (uintptr_t)c->regs[ARCH_REG_FP],
                        .third = (uintptr_t)c->regs[ARCH_REG_THIRD],
                        .context = fill_context(w, c) ? &w->context : NULL};
    stack_copy copy = {.base = from.sp, .bytes = c->bytes.p, .n = c->bytes.n};
    unwind_result u = unwind_copy(s->snapshot, &from, known, &copy, w->pcs, FRAMES_MAX);
    return checked(w, s, &u, c->partial);
}

copied_walk *copied_open(void)
{
    copied_walk *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    w->a.budget = 16 << 20;
    w->callbacks =
        (stack_walk){.ctx = w, .has_space = has_space, .add_space = add_space, .walk = walk};
    return w;
}

void copied_close(copied_walk *w)
{
    if (!w) return;
    for (size_t i = 0; i < COPIED_SPACES; i++) forget(&w->spaces[i]);
    for (size_t i = 0; i < w->files.n; i++) find_release(&w->files.v[i].found);
    arena_free(&w->a);
    free(w);
}

const stack_walk *copied_callbacks(const copied_walk *w) { return w ? &w->callbacks : NULL; }
