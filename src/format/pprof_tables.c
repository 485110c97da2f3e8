/* Reads mappings, functions and locations, interns each, and maps ids to them. */
#include "format/pprof_intern.h"

#include "base/ban.h"
#include <inttypes.h>

/* ---- ids ---- */

enum { DIRECT_SLACK = 1024 }; /* ids up to 2n + DIRECT_SLACK are looked up in a table */

uint32_t pp_find_far(const pp_ids *ids, uint64_t id)
{
    if (!ids->far.slot) return PP_ABSENT;
    uint64_t h = hash_mix(ids->far.seed, id);
    uint32_t i = hash_first(&ids->far, h);
    for (uint32_t at; hash_next(&ids->far, &i, h, &at); i++)
        if (ids->id.v[at] == id) return ids->index.v[at];
    return PP_ABSENT;
}

static bool ids_reserve(pp *r, pp_ids *ids, size_t n)
{
    if (!vec_reserve(r->a, &ids->id, n) || !vec_reserve(r->a, &ids->index, n))
        return arena_spent(r->a, r->e);
    return true;
}

static COLD bool bad_id(pp *r, const pp_records *of, size_t position, const char *table,
                        uint64_t id)
{
    pp_iter i = pp_each(r, of);
    while (pp_next(&i) && i.n < position) continue;
    uint64_t at = (uint64_t)(i.p - r->base);
    if (id == 0)
        err_at(r->e, ERR_MALFORMED, at, "a %s has the id 0, which means none", table);
    else
        err_at(r->e, ERR_MALFORMED, at, "a second %s has the id %" PRIu64, table, id);
    return err_in(r->e, "%s[%zu]", table, position);
}

static bool index_direct(pp *r, pp_ids *ids, const pp_records *of, const char *table, uint64_t max)
{
    ids->direct = arena_array(r->a, (size_t)max + 1, sizeof *ids->direct);
    if (!ids->direct) return arena_spent(r->a, r->e);
    ids->n_direct = max + 1;
    memset(ids->direct, 0xff, ((size_t)max + 1) * sizeof *ids->direct);
    for (size_t i = 0; i < ids->id.n; i++) {
        uint32_t *slot = &ids->direct[ids->id.v[i]];
        if (ids->id.v[i] == 0 || *slot != PP_ABSENT) {
            if (!r->lenient) return bad_id(r, of, i, table, ids->id.v[i]);
            continue;
        }
        *slot = ids->index.v[i];
    }
    ids->identity = max == ids->id.n;
    for (size_t i = 1; i <= max && ids->identity; i++) ids->identity = ids->direct[i] == i;
    return true;
}

static bool index_far(pp *r, pp_ids *ids, const pp_records *of, const char *table)
{
    for (size_t i = 0; i < ids->id.n; i++) {
        uint64_t id = ids->id.v[i];
        if (id == 0 || pp_find_far(ids, id) != PP_ABSENT) {
            if (!r->lenient) return bad_id(r, of, i, table, id);
            continue;
        }
        if (!hash_index_room(&ids->far, r->a)) return arena_spent(r->a, r->e);
        uint64_t h = hash_mix(ids->far.seed, id);
        uint32_t k = hash_first(&ids->far, h), at;
        while (hash_next(&ids->far, &k, h, &at)) k++;
        hash_put(&ids->far, k, h, (uint32_t)i);
    }
    return true;
}

/* Builds the index from ids to entries, after the whole table was read. */
static bool ids_index(pp *r, pp_ids *ids, const pp_records *of, const char *table)
{
    uint64_t max = 0;
    bool in_order = true;
    for (size_t i = 0; i < ids->id.n; i++) {
        max = ids->id.v[i] > max ? ids->id.v[i] : max;
        in_order &= ids->id.v[i] == i + 1;
    }
    /* The ids themselves are lost; references between entries are not. */
    if (!in_order) ledger_add(r->ledger, STAGE_READ, LOSS_ARBITRARY_ID, NULL, table, (str){0});
    if (max <= 2 * (uint64_t)ids->id.n + DIRECT_SLACK) return index_direct(r, ids, of, table, max);
    return index_far(r, ids, of, table);
}

static void ids_add(pp_ids *ids, uint64_t id, uint32_t index)
{
    ids->id.v[ids->id.n++] = id;
    ids->index.v[ids->index.n++] = index;
}

/* ---- mappings: few, so only the plain reader exists ---- */

static bool add_attr(pp *r, uint32_t attr)
{
    uint32_t *slot = vec_push(r->a, &r->attrs);
    if (!slot || r->b.failed) return arena_spent(r->a, r->e);
    *slot = attr;
    return true;
}

static bool build_id(pp *r, uint32_t s, size_t position)
{
    str id = pp_text(r, s);
    if (!id.n) return true;
    const char *key = memchr(id.p, '/', id.n) ? ATTR_BUILD_ID_GO : ATTR_BUILD_ID_GNU;
    char path[48];
    snprintf(path, sizeof path, "mapping[%zu].build_id", position);
    ledger_add(r->ledger, STAGE_READ, LOSS_BUILD_ID, key, path, id);
    return add_attr(r, builder_attribute_str(&r->b, str_of(key), id));
}

static bool symbol_state(pp *r, const pb_field has[4], const char *const names[4], size_t position)
{
    static const char *const keys[4] = {PPROF_ATTR_HAS_FUNCTIONS, PPROF_ATTR_HAS_FILENAMES,
                                        PPROF_ATTR_HAS_LINE_NUMBERS, PPROF_ATTR_HAS_INLINE_FRAMES};
    for (size_t i = 0; i < 4; i++) {
        if (!has[i].value) continue;
        char path[64];
        snprintf(path, sizeof path, "mapping[%zu].%s", position, names[i]);
        ledger_add(r->ledger, STAGE_READ, LOSS_SYMBOL_STATE, keys[i], path, STR("true"));
        if (!add_attr(r, builder_attribute_bool(&r->b, str_of(keys[i]), true))) return false;
    }
    return true;
}

static bool take_mapping(pp *r, pb_cur c, size_t position)
{
    enum { LAST = 10 };
    static const char *const names[LAST + 1] = {"",
                                                "id",
                                                "memory_start",
                                                "memory_limit",
                                                "file_offset",
                                                "filename",
                                                "build_id",
                                                "has_functions",
                                                "has_filenames",
                                                "has_line_numbers",
                                                "has_inline_frames"};
    pb_field f[LAST + 1] = {0};
    uint32_t build;
    mapping m = {0};
    r->attrs.n = 0;
    if (!pp_plain_numbers(r, &c, names, LAST, f) ||
        !pp_string_field(r, &c, &f[5], names[5], &m.filename) ||
        !pp_string_field(r, &c, &f[6], names[6], &build))
        return false;
    m.memory_start = f[2].value;
    m.memory_limit = f[3].value;
    m.file_offset = f[4].value;
    if (!build_id(r, build, position) || !symbol_state(r, &f[7], names + 7, position)) return false;
    uint32_t index = builder_mapping(&r->b, &m, r->attrs.v, r->attrs.n);
    /* An empty mapping equals OTLP's entry 0, which means "none". */
    if (!index && !r->b.failed)
        ledger_add(r->ledger, STAGE_READ, LOSS_ARBITRARY_ID, NULL, "mapping", STR("empty"));
    ids_add(&r->mapping_ids, f[1].value, index);
    return true;
}

/* ---- functions ---- */

static bool plain_function(pp *r, pb_cur c, function *out, uint64_t *id)
{
    static const char *const names[] = {"", "id", "name", "system_name", "filename", "start_line"};
    pb_field f[PP_FIELDS] = {0};
    if (!pp_plain_numbers(r, &c, names, 5, f)) return false;
    *id = f[1].value;
    out->start_line = (int64_t)f[5].value;
    return pp_string_field(r, &c, &f[2], "name", &out->name) &&
           pp_string_field(r, &c, &f[3], "system_name", &out->system_name) &&
           pp_string_field(r, &c, &f[4], "filename", &out->filename);
}

typedef struct pending_function {
    function f; /* names are pprof string indices until they are interned */
    uint64_t id, hash;
    bool quick; /* from the fast reader */
} pending_function;

ALWAYS_INLINE bool quick_function(pp *r, const uint8_t *p, const uint8_t *q, pending_function *out)
{
    uint64_t v[PP_FIELDS] = {0};
    if (pp_near(r, q) || !pp_numbers(p, q, 5, v)) return false;
    size_t n = r->strings.n;
    if (UNLIKELY(v[2] >= n || v[3] >= n || v[4] >= n)) return false;
    pp_string_prefetch(r, v[2]);
    if (v[3] != v[2]) pp_string_prefetch(r, v[3]);
    pp_string_prefetch(r, v[4]);
    *out = (pending_function){.f = {.start_line = (int64_t)v[5],
                                    .name = (uint32_t)v[2],
                                    .system_name = (uint32_t)v[3],
                                    .filename = (uint32_t)v[4]},
                              .id = v[1],
                              .quick = true};
    return true;
}

static void put_functions(pp *r, pending_function *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        function *f = &v[i].f;
        if (LIKELY(v[i].quick)) {
            f->name = pp_string_take(r, f->name);
            f->system_name = pp_string_take(r, f->system_name);
            f->filename = pp_string_take(r, f->filename);
        }
        v[i].hash = pp_function_hash(f, r->function_index.seed);
        pp_prefetch(&r->function_index, v[i].hash);
    }
    for (size_t i = 0; i < n; i++)
        ids_add(&r->function_ids, v[i].id, pp_function_take(r, &v[i].f, v[i].hash));
}

static bool take_functions(pp *r)
{
    if (!ids_reserve(r, &r->function_ids, r->functions.n)) return false;
    pending_function v[PP_BATCH];
    size_t n = 0;
    for (pp_iter i = pp_each(r, &r->functions); pp_next(&i);) {
        if (UNLIKELY(!quick_function(r, i.p, i.q, &v[n]))) {
            put_functions(r, v, n); /* keeps strings in the order of the file */
            n = 0;
            v[n] = (pending_function){0};
            if (!plain_function(r, pp_cur(r, i.p, i.q), &v[n].f, &v[n].id))
                return err_in(r->e, "function[%zu]", i.n);
        }
        if (++n < PP_BATCH) continue;
        put_functions(r, v, n);
        n = 0;
        if (UNLIKELY(r->b.failed)) return arena_spent(r->a, r->e);
    }
    put_functions(r, v, n);
    if (r->b.failed) return arena_spent(r->a, r->e);
    return ids_index(r, &r->function_ids, &r->functions, "function");
}

/* ---- locations: pending ones have their lines after dict.lines.n ---- */

typedef struct pending_location {
    location l; /* lines.at: index in dict.lines; attrs.n: 1 when folded */
    uint64_t id, hash;
} pending_location;

static line *new_line(pp *r, location *l)
{
    dict *d = &r->b.m.dict;
    size_t at = (size_t)l->lines.at + l->lines.n, more = at + 1 - d->lines.n;
    if (UNLIKELY(at >= UINT32_MAX || !vec_reserve(r->a, &d->lines, more))) return NULL;
    l->lines.n++;
    d->lines.v[at] = (line){0};
    return &d->lines.v[at];
}

static bool plain_line(pp *r, pb_cur c, line *out)
{
    static const char *const names[] = {"", "function_id", "line", "column"};
    pb_field f[PP_FIELDS] = {0};
    if (!pp_plain_numbers(r, &c, names, 3, f)) return false;
    out->line = (int64_t)f[2].value;
    out->column = (int64_t)f[3].value;
    return pp_ref_field(r, &c, &f[1], names[1], &r->function_ids, "function", &out->function);
}

static bool plain_location(pp *r, pb_cur c, pending_location *out)
{
    static const char *const names[] = {"", "id", "mapping_id", "address", "line", "is_folded"};
    pb_field last[PP_FIELDS] = {0};
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number > 5) {
            r->n_unknown++;
            continue;
        }
        if (!pb_expect(&c, &f, f.number == 4 ? 2 : 0, names[f.number])) return false;
        last[f.number] = f;
        if (f.number != 4) continue;
        line *l = new_line(r, &out->l);
        if (!l) return arena_spent(r->a, r->e);
        if (!plain_line(r, pb_message(&c, &f), l))
            return err_in(r->e, "line[%u]", out->l.lines.n - 1);
    }
    out->id = last[1].value;
    out->l.address = last[3].value;
    out->l.attrs.n = last[5].value != 0;
    return pb_ok(&c) &&
           pp_ref_field(r, &c, &last[2], names[2], &r->mapping_ids, "mapping", &out->l.mapping);
}

/* Returns the entry with the id, 0 for id 0, or PP_ABSENT; the plain reader then reports the
 * error. */
ALWAYS_INLINE uint32_t quick_ref(const pp_ids *ids, uint64_t id)
{
    return id ? pp_find(ids, id) : 0;
}

ALWAYS_INLINE bool quick_line(pp *r, const uint8_t *p, const uint8_t *q, location *to)
{
    uint64_t v[PP_FIELDS] = {0};
    line *l;
    if (!pp_numbers(p, q, 3, v) || !(l = new_line(r, to))) return false;
    *l = (line){.line = (int64_t)v[2],
                .column = (int64_t)v[3],
                .function = quick_ref(&r->function_ids, v[1])};
    return l->function != PP_ABSENT;
}

ALWAYS_INLINE bool quick_location(pp *r, const uint8_t *p, const uint8_t *q, pending_location *out)
{
    uint64_t v[PP_FIELDS] = {0};
    if (pp_near(r, q)) return false;
    while (p < q) {
        unsigned tag = *p;
        if (tag == 0x22) {
            const uint8_t *o, *end = pp_len(p + 1, q, &o);
            if (UNLIKELY(!end || !quick_line(r, o, end, &out->l))) return false;
            p = end;
        } else {
            if (UNLIKELY((tag & 7) || tag - 8 > 4 * 8 || tag == 0x20)) return false;
            if (UNLIKELY(!(p = take_varint(p + 1, q, &v[tag >> 3], false)))) return false;
        }
    }
    out->id = v[1];
    out->l.address = v[3];
    out->l.mapping = quick_ref(&r->mapping_ids, v[2]);
    out->l.attrs.n = v[5] != 0;
    return p == q && out->l.mapping != PP_ABSENT;
}

/* Sets the attributes of a folded location. All folded locations share one list. */
static COLD bool folded_attrs(pp *r, location *l)
{
    u32s *pool = &r->b.m.dict.attr_refs;
    if (!r->folded.n) {
        uint32_t attr = builder_attribute_bool(&r->b, STR(PPROF_ATTR_IS_FOLDED), true);
        uint32_t *slot = vec_push(r->a, pool);
        if (!slot || r->b.failed) return arena_spent(r->a, r->e);
        *slot = attr;
        r->folded = (span){(uint32_t)(pool->n - 1), 1};
    }
    r->n_folded++;
    l->attrs = r->folded;
    return true;
}

static void put_locations(pp *r, pending_location *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        v[i].hash = pp_location_hash(&v[i].l, r->b.m.dict.lines.v + v[i].l.lines.at,
                                     r->location_index.seed);
        pp_prefetch(&r->location_index, v[i].hash);
    }
    for (size_t i = 0; i < n; i++) {
        const line *lines = r->b.m.dict.lines.v + v[i].l.lines.at;
        ids_add(&r->location_ids, v[i].id, pp_location_take(r, &v[i].l, lines, v[i].hash));
    }
}

static bool take_location(pp *r, const pp_iter *i, uint32_t lines_at, pending_location *out)
{
    *out = (pending_location){.l = {.lines = {.at = lines_at}}};
    if (UNLIKELY(!quick_location(r, i->p, i->q, out))) {
        *out = (pending_location){.l = {.lines = {.at = lines_at}}};
        if (!plain_location(r, pp_cur(r, i->p, i->q), out))
            return err_in(r->e, "location[%zu]", i->n);
    }
    return LIKELY(!out->l.attrs.n) || folded_attrs(r, &out->l);
}

static bool take_locations(pp *r)
{
    if (!ids_reserve(r, &r->location_ids, r->locations.n)) return false;
    pending_location v[PP_BATCH];
    size_t n = 0;
    uint32_t lines_at = (uint32_t)r->b.m.dict.lines.n;
    for (pp_iter i = pp_each(r, &r->locations); pp_next(&i);) {
        if (!take_location(r, &i, lines_at, &v[n])) return false;
        lines_at = v[n].l.lines.at + v[n].l.lines.n;
        if (++n < PP_BATCH) continue;
        put_locations(r, v, n);
        n = 0;
        lines_at = (uint32_t)r->b.m.dict.lines.n;
    }
    put_locations(r, v, n);
    return ids_index(r, &r->location_ids, &r->locations, "location");
}

/* ---- all tables ---- */

/* Reserves memory. The scan has counted the entries, so tables and indices get their final size.
 * The input bounds that size, since every entry has at least two bytes. */
static bool reserve(pp *r)
{
    dict *d = &r->b.m.dict;
    if (!vec_reserve(r->a, &d->strings, r->strings.n) ||
        !vec_reserve(r->a, &d->functions, r->functions.n) ||
        !vec_reserve(r->a, &d->locations, r->locations.n) ||
        !vec_reserve(r->a, &d->lines, r->locations.n))
        return arena_spent(r->a, r->e);
    r->string_hash = arena_array(r->a, r->strings.n, sizeof *r->string_hash);
    if (!r->string_hash) return arena_spent(r->a, r->e);
    return pp_index_room(r, &r->b.strings, r->strings.n) &&
           pp_index_room(r, &r->function_index, r->functions.n) &&
           pp_index_room(r, &r->location_index, r->locations.n) &&
           pp_index_room(r, &r->stack_index, r->samples.n);
}

bool pp_tables(pp *r)
{
    if (!reserve(r) || !ids_reserve(r, &r->mapping_ids, r->mappings.n)) return false;
    for (pp_iter i = pp_each(r, &r->mappings); pp_next(&i);) {
        if (!take_mapping(r, pp_cur(r, i.p, i.q), i.n)) return err_in(r->e, "mapping[%zu]", i.n);
        if (r->b.failed) return arena_spent(r->a, r->e);
    }
    return ids_index(r, &r->mapping_ids, &r->mappings, "mapping") && take_functions(r) &&
           take_locations(r);
}
