/* Opens a module: finds its files, loads the index from the cache or builds it, and converts
 * addresses of a process to addresses of the file.  Failures are states of the module, not errors,
 * because a profile is still useful without the names of one binary. */
#include "symbol/module.h"

#include "base/hash.h"
#include "model/model.h"
#include <inttypes.h>
#include "base/ban.h"

enum { PAGE = 4096 };
#define DEFAULT_MEMORY ((size_t)4 << 30)

const char *module_state_name(module_state s)
{
    static const char *const names[] = {
        [MODULE_LINES] = "lines",         [MODULE_SYMBOLS] = "symbols",
        [MODULE_EXPORTS] = "exports",     [MODULE_EMPTY] = "stripped",
        [MODULE_MISSING] = "missing",     [MODULE_DIFFERS] = "differs",
        [MODULE_FORBIDDEN] = "forbidden", [MODULE_BROKEN] = "broken",
        [MODULE_NO_MAP] = "no_perf_map",  [MODULE_UNNAMED] = "unnamed",
        [MODULE_NO_ID] = "no_build_id",   [MODULE_LATE] = "late",
    };
    return names[s];
}

/* ---- build ids and segments of the file ---- */

static void take_ids(module *m, const found_file *f)
{
    build_ids ids = elf_build_ids(&f->elf);
    uint8_t h[HTLHASH_BYTES];
    if (ids.gnu.n) hex_encode((const uint8_t *)ids.gnu.p, ids.gnu.n, m->gnu);
    if (ids.go.n && ids.go.n < sizeof m->go) memcpy(m->go, ids.go.p, ids.go.n);
    htlhash(f->bytes.bytes, h);
    hex_encode(h, sizeof h, m->htlhash);
}

/* Copies the segments, because the module outlives the file. */
void module_take_image(module *m, const elf_file *f)
{
    elf_segment *v = arena_new(&m->a, elf_segment, f->segments.n);
    if (!v) return;
    for (size_t i = 0; i < f->segments.n; i++) v[i] = f->segments.v[i];
    m->image.segments.v = v;
    m->image.segments.n = f->segments.n;
}

static module_state state_of(const index_view *x)
{
    if (x->h.flags & INDEX_HAS_LINES) return MODULE_LINES;
    if (x->h.flags & INDEX_HAS_SYMBOLS) return MODULE_SYMBOLS;
    return x->h.flags & INDEX_HAS_DYNAMIC ? MODULE_EXPORTS : MODULE_EMPTY;
}

/* ---- the index ---- */

/* Copies the block to its own memory, because the arena that it was built in is many times
 * larger. */
bool module_store_index(module *m, str block)
{
    m->made = aligned_alloc(64, (block.n + 63) / 64 * 64);
    if (!m->made) return false;
    memcpy(m->made, block.p, block.n);
    return index_open((str){m->made, block.n}, &m->index, NULL);
}

/* Writes the cache key of a binary. The build id identifies the content; without one, a hash does.
 * The sizes distinguish a stripped file from one whose debug information was installed later. */
static void cache_key(const found_files *f, char *out, size_t cap)
{
    const found_file *d = f->debug.path ? &f->debug : &f->file;
    build_ids ids = elf_build_ids(&d->elf);
    char id[2 * BUILD_ID_BYTES_MAX + 1];
    if (ids.gnu.n)
        hex_encode((const uint8_t *)ids.gnu.p, ids.gnu.n, id);
    else
        snprintf(id, sizeof id, "x%016" PRIx64, hash_bytes(d->bytes.bytes.p, d->bytes.bytes.n, 0));
    snprintf(out, cap, "%s-%zx-%zx-%d", id, d->bytes.bytes.n, f->alt.bytes.bytes.n, INDEX_VERSION);
}

static bool load_index(module *m, const module_opts *o, symbol_cache *c, const char *key)
{
    if (!cache_get(c, key, &m->stored)) return false;
    m->cached = o->max_debug ? index_open_unread(m->stored.bytes, &m->index, NULL)
                             : index_open(m->stored.bytes, &m->index, NULL);
    if (!m->cached) file_release(&m->stored);
    if (m->cached && o->max_debug) file_sparse(&m->stored);
    return m->cached;
}

/* Stores a built index in the cache and, where memory is limited, maps it from there. */
static bool store_built(module *m, str block, const module_opts *o, symbol_cache *c,
                        const char *key)
{
    cache_put(c, key, block);
    if (o->max_debug && load_index(m, o, c, key)) {
        m->cached = false;
        return true;
    }
    return module_store_index(m, block);
}

static bool make_index(module *m, const found_files *f, bool names_only, const module_opts *o,
                       symbol_cache *c, const char *key)
{
    arena a = {.budget = o->max_memory ? o->max_memory : DEFAULT_MEMORY, .seed = o->seed};
    index_source s = {.file = f->file.path ? &f->file.elf : NULL,
                      .debug = found_debug(f),
                      .alt = f->alt.path ? &f->alt.elf : NULL,
                      .names_only = names_only,
                      .stop = o->stop};
    str block;
    bool ok = index_build(&s, &a, &block, NULL) && store_built(m, block, o, c, key);
    arena_free(&a);
    return ok;
}

/* Estimates the size of the debug information. Compressed sections expand about fourfold. */
static uint64_t debug_bytes(const elf_file *f)
{
    uint64_t n = 0;
    for (size_t i = 0; f && i < f->sections.n; i++) {
        const elf_section *s = &f->sections.v[i];
        bool packed = (s->flags & ELF_FLAG_COMPRESSED) || str_starts(s->name, STR(".zdebug"));
        if (packed || str_starts(s->name, STR(".debug"))) n += packed ? 4 * s->size : s->size;
    }
    return n;
}

static bool index_of(module *m, const found_files *f, const module_opts *o, symbol_cache *c)
{
    char key[256], names_key[272];
    cache_key(f, key, sizeof key);
    /* A binary that exceeded the time limit once would do so again: its names are cached under a
     * separate key, which is tried first. */
    snprintf(names_key, sizeof names_key, "%s-%s", key, o->stop ? "quick" : "names");
    bool small = !o->max_debug || debug_bytes(found_debug(f)) <= o->max_debug;
    if (load_index(m, o, c, key) || (o->stop && load_index(m, o, c, names_key)) ||
        (small && make_index(m, f, false, o, c, key)))
        return true;
    return (o->max_debug || o->stop) &&
           (load_index(m, o, c, names_key) || make_index(m, f, true, o, c, names_key));
}

bool module_take_symbols(module *m, const symbol_list *l, arena *a)
{
    str block;
    m->absolute = true;
    if (!index_build_symbols(l, INDEX_HAS_SYMBOLS, a, &block, NULL) ||
        !module_store_index(m, block))
        return false;
    m->state = MODULE_SYMBOLS;
    return true;
}

/* ---- opening ---- */

static void take_files(module *m, const found_files *f, const module_opts *o, symbol_cache *c)
{
    m->path = f->file.path ? strdup(f->file.path) : NULL;
    m->debug_path = f->debug.path ? strdup(f->debug.path) : NULL;
    m->trusted = f->trusted;
    m->verified = !f->trusted;
    m->alt_missing = f->alt_missing;
    m->by_debug = !f->file.path;
    if (f->file.path) take_ids(m, &f->file);
    module_take_image(m, f->file.path ? &f->file.elf : &f->debug.elf);
    bool ok = index_of(m, f, o, c);
    m->state = ok ? state_of(&m->index) : MODULE_BROKEN;
    m->split = ok && (m->index.h.flags & INDEX_HAS_SPLIT);
}

void module_open(module *m, const binary_id *id, const module_opts *o, symbol_cache *c)
{
    found_files f;
    arena a = {.budget = DEFAULT_MEMORY};
    *m = (module){.state = MODULE_MISSING};
    find_files(id, o->dirs, &a, &f);
    if (f.file.path || f.debug.path)
        take_files(m, &f, o, c);
    else if (f.differs)
        m->state = MODULE_DIFFERS;
    else if (f.unproven)
        m->state = MODULE_NO_ID;
    else if (f.no_permission)
        m->state = MODULE_FORBIDDEN;
    find_release(&f);
    arena_free(&a);
}

void module_close(module *m)
{
    free(m->path);
    free(m->debug_path);
    free(m->made);
    file_release(&m->stored);
    arena_free(&m->a);
    *m = (module){0};
}

/* ---- addresses ---- */

/* Converts an address by a debug file alone. objcopy --only-keep-debug rewrites offsets, so a debug
 * file has only virtual addresses. The kernel maps a segment from the start of its page, so the
 * mapping of the code begins at the page of the code segment, and a mapping from offset 0 at the
 * base of the image. */
static uint64_t address_by_debug(const module *m, const module_place *p, uint64_t address)
{
    const elf_segment *code = NULL;
    for (size_t i = 0; i < m->image.segments.n; i++) {
        const elf_segment *s = &m->image.segments.v[i];
        if (s->type == ELF_LOAD && (s->flags & ELF_SEGMENT_EXEC) && !code) code = s;
    }
    uint64_t start =
        p->file_offset && code ? code->vaddr - code->vaddr % PAGE : elf_base(&m->image);
    return address - p->memory_start + start;
}

uint64_t module_address(const module *m, const module_place *p, uint64_t address)
{
    uint64_t at, offset = address - p->memory_start + p->file_offset;
    if (m->absolute) return address - m->bias;
    if (!p->memory_start && !p->memory_limit && !p->file_offset) return address;
    if (m->by_debug) return address_by_debug(m, p, address);
    if (elf_address_of_offset(&m->image, offset, &at)) return at;
    return offset + elf_base(&m->image);
}
