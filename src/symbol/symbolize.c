/* Looks up every location without lines and writes names, files and lines into the model, then
 * reports the result for each binary.  An address that only occurs as a caller is a return
 * address, so the byte before it is looked up. */
#include "symbol/symbolize.h"

#include "base/clone.h"
#include "symbol/dict_edit.h"
#include "symbol/places.h"
#include "base/ban.h"

enum { MAX_FRAMES = INDEX_MAX_FRAMES };

/* A function of an index and its position in the model. */
typedef struct known_function {
    index_frame f; /* without line and column */
    uint32_t place, function;
} known_function;

typedef struct symbolizer {
    model *m;
    const symbolize_opts *o;
    arena *a;
    places places;
    dict_edit edit;
    demangler names;
    uint8_t *leaf;    /* per location: it is the leaf of some stack */
    uint64_t *n_leaf; /* per location: observations whose leaf it is */
    VEC(known_function) known;
    hash_index by_frame;
} symbolizer;

/* ---- names ---- */

static bool is_mangled(str s) { return str_starts(s, STR("_Z")) || str_starts(s, STR("_R")); }

/* Returns the name to show. Short names match the source: a clone such as f.constprop.0 is f. */
static str shown_name(symbolizer *s, str linkage, str enclosing, str name)
{
    if (is_mangled(linkage)) return demangle(&s->names, linkage);
    if (linkage.n && s->o->demangle != DEMANGLE_SHORT) return linkage;
    if (!name.n) return name_without_clones(linkage);
    return demangle_scoped(&s->names, enclosing, name);
}

static uint32_t add_function(symbolizer *s, const index_view *x, const index_frame *f)
{
    str linkage = index_text_at(x, f->linkage_name), name = index_text_at(x, f->name);
    str shown = shown_name(s, linkage, index_text_at(x, f->enclosing), name);
    function fn = {.start_line = f->start_line,
                   .name = dict_edit_string(&s->edit, shown),
                   .system_name = dict_edit_string(&s->edit, linkage.n ? linkage : name),
                   .filename = dict_edit_string(&s->edit, index_text_at(x, f->file))};
    return dict_edit_function(&s->edit, &fn);
}

/* Adds each function of an index once, without reading its texts again. */
static uint32_t function_of(symbolizer *s, uint32_t at, const index_frame *frame)
{
    index_frame f = *frame;
    f.line = f.column = 0;
    if (!hash_index_room(&s->by_frame, s->a)) return s->edit.failed = true, 0;
    uint64_t h = hash_mix(hash_bytes(&f, sizeof f, s->by_frame.seed), at);
    uint32_t i = hash_first(&s->by_frame, h);
    for (uint32_t k; hash_next(&s->by_frame, &i, h, &k); i++)
        if (s->known.v[k].place == at && !memcmp(&s->known.v[k].f, &f, sizeof f))
            return s->known.v[k].function;
    known_function *x = vec_push(s->a, &s->known);
    if (!x) return s->edit.failed = true, 0;
    hash_put(&s->by_frame, i, h, (uint32_t)(s->known.n - 1));
    *x = (known_function){f, at, 0};
    return x->function = add_function(s, &s->places.v.v[at].m.index, &f);
}

/* ---- locations ---- */

static void count_leaves(symbolizer *s, const profile *p, symbolize_report *r)
{
    const dict *d = &s->m->dict;
    for (size_t i = 0; i < p->n_samples; i++) {
        sample x = sample_at(s->m, p, i);
        span frames = dict_stack(d, x.stack);
        uint64_t n = sample_observations(&x);
        if (!frames.n) continue;
        s->n_leaf[d->frames.v[frames.at]] += n;
        r->n_samples += n;
    }
}

static bool find_leaves(symbolizer *s, symbolize_report *r)
{
    const dict *d = &s->m->dict;
    s->leaf = arena_new(s->a, uint8_t, d->locations.n);
    s->n_leaf = arena_new(s->a, uint64_t, d->locations.n);
    if (!s->leaf || !s->n_leaf) return false;
    for (size_t i = 0; i < s->m->profiles.n; i++) count_leaves(s, &s->m->profiles.v[i], r);
    for (uint32_t i = 0; i < dict_n_stacks(d); i++) {
        span frames = dict_stack(d, i);
        if (frames.n) s->leaf[d->frames.v[frames.at]] = 1;
    }
    return true;
}

static void look_up(symbolizer *s, uint32_t i, symbolize_report *r)
{
    const dict *d = &s->m->dict;
    const location *l = &d->locations.v[i];
    const mapping *m = &d->mappings.v[l->mapping];
    uint32_t at = places_of(&s->places, i);
    if (s->places.failed) return;
    place *p = &s->places.v.v[at];
    module_place where = {m->memory_start, m->memory_limit, m->file_offset};
    index_frame f[MAX_FRAMES];
    line lines[MAX_FRAMES];
    uint64_t address = module_address(&p->m, &where, l->address - (!s->leaf[i] && !s->o->inside));
    size_t n = p->m.index.text ? index_find(&p->m.index, address, f, MAX_FRAMES) : 0;
    for (size_t k = 0; k < n; k++)
        lines[k] = (line){f[k].line, f[k].column, function_of(s, at, &f[k])};
    r->n_locations++;
    p->s.n_locations++;
    p->s.n_samples += s->n_leaf[i];
    p->s.n_nameless += n ? 0 : s->n_leaf[i];
    if (!n) return;
    r->n_found++;
    p->s.n_found++;
    p->s.n_inlined += n > 1;
    dict_edit_lines(&s->edit, i, lines, n);
    /* This attribute described the old lines (OTEP 0239); the index does not know which functions
     * the linker folded. */
    dict_edit_location_without(&s->edit, i, STR("pprof.location.is_folded"));
}

/* ---- mappings ---- */

static bool has_key(const dict *d, span attrs, str key)
{
    const uint32_t *v = refs_at(&d->attr_refs, attrs);
    for (uint32_t i = 0; i < attrs.n; i++)
        if (str_eq(dict_str(d, d->attributes.v[v[i]].key), key)) return true;
    return false;
}

static const char *const flag_keys[] = {
    "pprof.mapping.has_functions", "pprof.mapping.has_filenames", "pprof.mapping.has_line_numbers",
    "pprof.mapping.has_inline_frames"};

static bool is_flag(str key)
{
    for (size_t i = 0; i < ARRAY_LEN(flag_keys); i++)
        if (str_eq(key, str_of(flag_keys[i]))) return true;
    return false;
}

typedef struct attr_list {
    u32s v;
    symbolizer *s;
} attr_list;

static void push(attr_list *l, uint32_t attr)
{
    uint32_t *to = attr ? vec_push(l->s->a, &l->v) : NULL;
    if (to)
        *to = attr;
    else
        l->s->edit.failed |= attr != 0;
}

static void push_id(attr_list *l, span attrs, const char *key, const char *value)
{
    if (!value[0] || has_key(&l->s->m->dict, attrs, str_of(key))) return;
    push(l, dict_edit_attribute_str(&l->s->edit, str_of(key), str_of(value)));
}

/* Adds the build ids of the file, and the flags that keep pprof tools from symbolizing again. */
static void name_mapping(symbolizer *s, uint32_t i, const place *p)
{
    const dict *d = &s->m->dict;
    span had = d->mappings.v[i].attrs;
    attr_list l = {.s = s};
    bool lines = p->m.state == MODULE_LINES, flags = p->s.n_found > 0;
    for (uint32_t k = 0; k < had.n; k++) {
        uint32_t attr = d->attr_refs.v[had.at + k];
        if (!flags || !is_flag(dict_str(d, d->attributes.v[attr].key))) push(&l, attr);
    }
    push_id(&l, had, "process.executable.build_id.gnu", p->m.gnu);
    push_id(&l, had, "process.executable.build_id.go", p->m.go);
    push_id(&l, had, "process.executable.build_id.htlhash", p->m.htlhash);
    for (size_t k = 0; flags && k < (lines ? ARRAY_LEN(flag_keys) : 1); k++)
        push(&l, dict_edit_attribute_bool(&s->edit, str_of(flag_keys[k]), true));
    dict_edit_mapping_attrs(&s->edit, i, l.v.v, l.v.n);
}

/* ---- the whole model ---- */

static bool run(symbolizer *s, symbolize_report *r)
{
    dict *d = &s->m->dict;
    for (uint32_t i = 1; i < d->locations.n && !s->places.failed && !s->edit.failed; i++) {
        const location *l = &d->locations.v[i];
        if (l->lines.n && !s->o->force)
            r->n_already++;
        else if (l->address)
            look_up(s, i, r);
    }
    for (uint32_t i = 1; i < d->mappings.n && !s->edit.failed; i++)
        if (s->places.of_mapping[i])
            name_mapping(s, i, &s->places.v.v[s->places.of_mapping[i] - 1]);
    return !s->places.failed && !s->edit.failed;
}

static str copy_str(arena *a, str s)
{
    char *p = arena_alloc(a, s.n);
    if (!p) return STR("");
    if (s.n) memcpy(p, s.p, s.n);
    return (str){p, s.n};
}

static bool make_report(symbolizer *s, symbolize_report *r)
{
    for (size_t i = 0; i < s->places.v.n; i++) {
        symbolized *to = vec_push(s->a, &r->v);
        if (!to) return false;
        *to = s->places.v.v[i].s;
        to->path = copy_str(s->a, to->path);
        to->debug_path = copy_str(s->a, to->debug_path);
    }
    r->cache_hits = s->places.cache.hits;
    r->cache_written = s->places.cache.written;
    r->cache_evicted = s->places.cache.evicted;
    return true;
}

bool symbolize(model *m, const symbolize_opts *o, arena *a, symbolize_report *r, err *e)
{
    symbolizer s = {.m = m, .o = o, .a = a, .names = {.mode = o->demangle, .a = a}};
    *r = (symbolize_report){0};
    if (!m->dict.mappings.n || !m->dict.locations.n) return true;
    if (!dict_edit_begin(&s.edit, &m->dict, a) || !find_leaves(&s, r)) return err_memory(e);
    bool ok = places_begin(&s.places, m, o, a) && run(&s, r) && make_report(&s, r);
    places_end(&s.places);
    return ok || err_memory(e);
}

const char *symbolize_advice(const symbolized *s)
{
    switch (s->state) {
    case MODULE_LINES:
        if (s->alt_missing)
            return "install the file that dwz created (.gnu_debugaltlink), or name it with "
                   "--debug-dir";
        if (s->split)
            return "build it with -gno-split-dwarf: its debug information is in .dwo files, which "
                   "are not read";
        return NULL;
    case MODULE_SYMBOLS:
        if (s->kernel || str_ends(s->path, STR(".map"))) return NULL;
        return "install its debug symbols (-dbgsym, -debuginfo), or name them with --debug-dir";
    case MODULE_EXPORTS:
        if (str_eq(s->name, STR("[vdso]"))) return NULL;
        return "install its debug symbols (-dbgsym, -debuginfo), or name them with --debug-dir";
    case MODULE_EMPTY: return "it is stripped: name its debug file with --debug-dir";
    case MODULE_MISSING:
        if (s->kernel)
            return "give the symbols of that kernel with --kallsyms, or its vmlinux with "
                   "--debug-dir";
        return "name a directory that has it with --debug-dir";
    case MODULE_DIFFERS:
        return "it was rebuilt or updated since: name the build that ran with --debug-dir";
    case MODULE_FORBIDDEN:
        if (s->kernel) return "run as root, or lower kernel.kptr_restrict, and use --kallsyms";
        return "run as a user who may read it";
    case MODULE_BROKEN: return "its symbols cannot be read: check that the file is complete";
    case MODULE_NO_MAP: return "have the runtime write a perf map, and give it with --perf-map";
    case MODULE_UNNAMED:
        return "record with mappings, or give --perf-map if the code was generated at run time";
    case MODULE_NO_ID:
        return "the profile has no build id for it: `kiln symbolize` uses the file of that name";
    case MODULE_LATE:
        return "the time limit was reached: raise it with --symbolize-timeout, or use "
               "--no-symbolize";
    }
    return NULL;
}
