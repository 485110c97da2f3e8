/* Builds an index: collects symbols, DWARF scopes, ranges and lines, and writes them as one block.
 * Texts and functions are interned, since one function may be inlined thousands of times.  Debug
 * information of code that the linker discarded is dropped. */
#include "objfile/index_build.h"
#include "base/search.h"

#include "base/ban.h"

enum { MINI_MAX = 256 << 20 };

/* ---- interned tables ---- */

uint32_t index_text(index_builder *b, str s)
{
    if (!s.n) return 0;
    if (!hash_index_room(&b->by_text, b->a)) return b->failed = true, 0;
    uint64_t h = hash_bytes(s.p, s.n, b->by_text.seed);
    uint32_t i = hash_first(&b->by_text, h);
    for (uint32_t at; hash_next(&b->by_text, &i, h, &at); i++) {
        const char *p = b->text.v + b->text_at.v[at];
        if (!strncmp(p, s.p, s.n) && !p[s.n]) return b->text_at.v[at];
    }
    uint32_t *to = vec_push(b->a, &b->text_at);
    if (!to || b->text.n + s.n + 1 > UINT32_MAX || !vec_reserve(b->a, &b->text, s.n + 1))
        return b->failed = true, 0;
    *to = (uint32_t)b->text.n;
    memcpy(b->text.v + b->text.n, s.p, s.n);
    b->text.v[b->text.n + s.n] = '\0';
    b->text.n += s.n + 1;
    hash_put(&b->by_text, i, h, (uint32_t)(b->text_at.n - 1));
    return *to;
}

uint32_t index_function_of(index_builder *b, str linkage_name, uint32_t enclosing, str name,
                           uint32_t line)
{
    built_function f = {index_text(b, linkage_name), enclosing, index_text(b, name), line};
    if (!hash_index_room(&b->by_function, b->a)) return b->failed = true, 0;
    uint64_t h = hash_bytes(&f, sizeof f, b->by_function.seed);
    uint32_t i = hash_first(&b->by_function, h);
    for (uint32_t at; hash_next(&b->by_function, &i, h, &at); i++)
        if (!memcmp(&b->functions.v[at], &f, sizeof f)) return at + 1;
    built_function *to = vec_push(b->a, &b->functions);
    if (!to) return b->failed = true, 0;
    *to = f;
    hash_put(&b->by_function, i, h, (uint32_t)(b->functions.n - 1));
    return (uint32_t)b->functions.n;
}

/* ---- executable addresses ---- */

static bool add_exec(index_builder *b, uint64_t lo, uint64_t size)
{
    exec_range *x = size && lo + size > lo ? vec_push(b->a, &b->exec) : NULL;
    if (x) *x = (exec_range){lo, lo + size};
    return x || !size || lo + size <= lo;
}

static int by_lo(const void *x, const void *y)
{
    const exec_range *a = x, *b = y;
    return (a->lo > b->lo) - (a->lo < b->lo);
}

static bool find_exec(index_builder *b, const elf_file *f)
{
    uint64_t want = ELF_FLAG_ALLOC | ELF_FLAG_EXEC;
    for (size_t i = 0; i < f->sections.n; i++) {
        const elf_section *s = &f->sections.v[i];
        if ((s->flags & want) == want && !add_exec(b, s->addr, s->size)) return false;
    }
    for (size_t i = 0; !b->exec.n && i < f->segments.n; i++) {
        const elf_segment *s = &f->segments.v[i];
        if (s->type == ELF_LOAD && (s->flags & ELF_SEGMENT_EXEC) &&
            !add_exec(b, s->vaddr, s->memory_size))
            return false;
    }
    size_t n = 0;
    if (b->exec.n) qsort(b->exec.v, b->exec.n, sizeof *b->exec.v, by_lo);
    for (size_t i = 0; i < b->exec.n; i++) {
        exec_range x = b->exec.v[i];
        if (n && x.lo <= b->exec.v[n - 1].hi) {
            if (x.hi > b->exec.v[n - 1].hi) b->exec.v[n - 1].hi = x.hi;
        } else {
            b->exec.v[n++] = x;
        }
    }
    b->exec.n = n;
    return true;
}

bool index_clip(const index_builder *b, uint64_t lo, uint64_t *hi)
{
    size_t from = SEARCH(0, b->exec.n, i, b->exec.v[i].hi <= lo);
    if (from == b->exec.n || lo < b->exec.v[from].lo) return false;
    if (*hi > b->exec.v[from].hi) *hi = b->exec.v[from].hi;
    return true;
}

/* ---- symbols ---- */

static bool add_table(index_builder *b, const elf_file *f, uint32_t type, uint32_t flag,
                      symbol_list *out)
{
    size_t n;
    err why = {0}; /* ignored: a table that does not decompress is skipped */
    if (!symbols_of_elf(f, type, b->a, out, &n, &why)) {
        b->n_broken++;
        return !err_exhausted(&why) || err_set(b->e, ERR_LIMIT, "%s", why.msg);
    }
    if (n) b->flags |= flag;
    return true;
}

static bool add_mini(index_builder *b, const elf_file *f, symbol_list *out)
{
    str bytes;
    elf_file mini;
    err why = {0};
    if (!elf_debug_data(f, MINI_MAX, b->a, &bytes, &why)) {
        b->n_broken++;
        return true;
    }
    if (!bytes.n || !elf_read(bytes, b->a, &mini, &why)) return true;
    return add_table(b, &mini, ELF_SYMTAB, INDEX_HAS_SYMBOLS, out);
}

/* Drops symbols outside of executable code. */
static void keep_code(const index_builder *b, symbol_list *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->v.n; i++) {
        uint64_t end = UINT64_MAX;
        if (index_clip(b, l->v.v[i].address, &end)) l->v.v[n++] = l->v.v[i];
    }
    l->v.n = n;
}

static bool find_symbols(index_builder *b, const index_source *s, symbol_list *out)
{
    if (s->debug && !add_table(b, s->debug, ELF_SYMTAB, INDEX_HAS_SYMBOLS, out)) return false;
    bool whole = b->flags & INDEX_HAS_SYMBOLS;
    if (s->file && s->file != s->debug && !whole &&
        !add_table(b, s->file, ELF_SYMTAB, INDEX_HAS_SYMBOLS, out))
        return false;
    whole = b->flags & INDEX_HAS_SYMBOLS;
    if (s->file && !whole &&
        (!add_mini(b, s->file, out) || !add_table(b, s->file, ELF_DYNSYM, INDEX_HAS_DYNAMIC, out)))
        return false;
    err why = {0}; /* ignored: unreadable stubs get no names */
    if (s->file && !symbols_of_plt(s->file, b->a, out, &why) && err_exhausted(&why))
        return err_set(b->e, ERR_LIMIT, "%s", why.msg);
    keep_code(b, out);
    return symbols_sort(out, b->a, b->e);
}

/* ---- the block ---- */

static void put_table(char *to, const void *v, size_t bytes)
{
    if (bytes) memcpy(to, v, bytes);
}

/* Builds buckets of about two rows each, so that a search takes one or two steps. Entry i is the
 * number of rows before its code. */
static bool make_buckets(index_builder *b, uint32_t *shift, uint32_t **out, size_t *n)
{
    *n = 0;
    *shift = 0;
    *out = NULL;
    if (!b->rows.n) return true;
    const index_row *v = b->rows.v;
    uint64_t span = v[b->rows.n - 1].address - v[0].address;
    while (span >> *shift > b->rows.n / 2) ++*shift;
    *n = (size_t)(span >> *shift) + 1;
    *out = arena_array(b->a, *n, sizeof **out);
    for (size_t i = 0, row = 0; *out && i < *n; i++) {
        uint64_t start = (uint64_t)i << *shift;
        while (row < b->rows.n && v[row].address - v[0].address < start) row++;
        (*out)[i] = (uint32_t)row;
    }
    return *out != NULL;
}

static void put_scopes(const index_builder *b, index_scope *to)
{
    for (size_t i = 0; i < b->scopes.n; i++) {
        const built_scope *s = &b->scopes.v[i];
        to[i] = (index_scope){.parent = s->parent,
                              .call_file = s->call_file,
                              .call_line = s->call_line,
                              .call_column = s->call_column};
        if (!s->function) continue;
        const built_function *f = &b->functions.v[s->function - 1];
        to[i].linkage_name = f->linkage_name;
        to[i].enclosing = f->enclosing;
        to[i].name = f->name;
        to[i].start_line = f->line;
    }
}

static bool finish(index_builder *b, str *out)
{
    index_places p;
    index_header h = {.magic = INDEX_MAGIC, .order = INDEX_ORDER, .version = INDEX_VERSION};
    uint32_t *buckets;
    size_t n_buckets;
    if (b->failed || b->rows.n >= UINT32_MAX || !make_buckets(b, &h.shift, &buckets, &n_buckets))
        return err_memory(b->e);
    h.flags = b->flags;
    h.n_broken = b->n_broken;
    h.n_buckets = n_buckets;
    h.n_rows = b->rows.n;
    h.n_scopes = b->scopes.n;
    h.n_text = b->text.n;
    char *to = index_layout(&h, &p) ? arena_zero(b->a, (size_t)p.size + INDEX_ALIGN) : NULL;
    if (!to) return err_memory(b->e);
    to += (INDEX_ALIGN - (uintptr_t)to % INDEX_ALIGN) % INDEX_ALIGN;
    h.size = p.size;
    put_table(to + p.buckets, buckets, sizeof *buckets * n_buckets);
    put_table(to + p.rows, b->rows.v, sizeof *b->rows.v * b->rows.n);
    put_scopes(b, (void *)(to + p.scopes));
    put_table(to + p.text, b->text.v, b->text.n);
    memcpy(to, &h, sizeof h);
    *out = (str){to, (size_t)p.size};
    h.checksum = index_checksum(*out);
    memcpy(to, &h, sizeof h);
    return true;
}

static bool begin(index_builder *b, arena *a, err *e)
{
    *b = (index_builder){.a = a, .e = e};
    return vec_push(a, &b->text) || err_memory(e);
}

bool index_build(const index_source *s, arena *a, str *out, err *e)
{
    index_builder b;
    symbol_list l = {0};
    if (!begin(&b, a, e)) return false;
    b.stop = s->stop;
    if ((s->file && !find_exec(&b, s->file)) || (s->debug && !find_exec(&b, s->debug)))
        return err_memory(e);
    if (!find_symbols(&b, s, &l)) return false;
    if (s->debug && !s->names_only && !dwarf_collect(&b, s->debug, s->alt)) return false;
    if (b.scopes.n || b.lines.n) b.flags |= INDEX_HAS_LINES;
    if (!index_flatten(&b, &l)) return false;
    return finish(&b, out);
}

bool index_build_symbols(const symbol_list *l, uint32_t flags, arena *a, str *out, err *e)
{
    index_builder b;
    if (!begin(&b, a, e)) return false;
    b.flags = flags;
    return index_flatten(&b, l) && finish(&b, out);
}
