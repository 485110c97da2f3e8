/* Assigns ids to mappings and locations.
 *
 * Entries that differ only in fields that pprof lacks become one entry, and an entry without other
 * data becomes "none". Reading and writing a profile again then gives the same bytes. Usually there
 * are no such entries, and ids are the model's indices. */
#include "format/pprof_write.h"

#include "model/executable.h"
#include "base/ban.h"

/* ---- mappings ---- */

static bool same_mapping(pw *w, uint32_t a, uint32_t b)
{
    const mapping *x = &w->d->mappings.v[a], *y = &w->d->mappings.v[b];
    pw_mapping_facts f = pw_mapping_facts_of(w, x, false), g = pw_mapping_facts_of(w, y, false);
    return x->memory_start == y->memory_start && x->memory_limit == y->memory_limit &&
           x->file_offset == y->file_offset && x->filename == y->filename &&
           str_eq(f.build_id, g.build_id) && !memcmp(f.has, g.has, sizeof f.has);
}

static bool null_mapping(pw *w, uint32_t i)
{
    const mapping *m = &w->d->mappings.v[i];
    pw_mapping_facts f = pw_mapping_facts_of(w, m, false);
    bool has = f.has[0] || f.has[1] || f.has[2] || f.has[3];
    return !m->memory_start && !m->memory_limit && !m->file_offset &&
           !dict_str(w->d, m->filename).n && !f.build_id.n && !has;
}

static uint64_t hash_mapping(pw *w, uint32_t i)
{
    const mapping *m = &w->d->mappings.v[i];
    pw_mapping_facts f = pw_mapping_facts_of(w, m, false);
    uint64_t h =
        hash_mix(hash_mix(hash_mix(w->a.seed, m->memory_start), m->memory_limit), m->file_offset);
    return hash_bytes(f.build_id.p, f.build_id.n, hash_mix(h, m->filename));
}

/* ---- locations ---- */

static bool null_location(pw *w, uint32_t i)
{
    const location *l = &w->d->locations.v[i];
    return !w->mapping_id[l->mapping] && !l->address && !l->lines.n && !pw_folded(w, l);
}

static uint64_t hash_location(pw *w, uint32_t i)
{
    const location *l = &w->d->locations.v[i];
    uint64_t h =
        hash_mix(hash_mix(w->a.seed + pw_folded(w, l), w->mapping_id[l->mapping]), l->address);
    for (uint32_t k = 0; k < l->lines.n; k++) {
        const line *n = &w->d->lines.v[l->lines.at + k];
        h = hash_mix(hash_mix(hash_mix(h, n->function), (uint64_t)n->line), (uint64_t)n->column);
    }
    return h;
}

static bool same_location(pw *w, uint32_t a, uint32_t b)
{
    const location *x = &w->d->locations.v[a], *y = &w->d->locations.v[b];
    if (x->address != y->address || x->lines.n != y->lines.n ||
        w->mapping_id[x->mapping] != w->mapping_id[y->mapping] ||
        pw_folded(w, x) != pw_folded(w, y))
        return false;
    for (uint32_t k = 0; k < x->lines.n; k++) {
        const line *m = &w->d->lines.v[x->lines.at + k], *n = &w->d->lines.v[y->lines.at + k];
        if (m->function != n->function || m->line != n->line || m->column != n->column)
            return false;
    }
    return true;
}

/* ---- both tables ---- */

typedef struct table {
    size_t n;
    bool (*is_null)(pw *w, uint32_t i);
    uint64_t (*hash)(pw *w, uint32_t i);
    bool (*same)(pw *w, uint32_t a, uint32_t b);
    const uint32_t *first;
    size_t n_first;
} table;

/* Assigns ids in the order in which entries are written: first[n_first], then the others. Entry 0
 * comes last, because it is usually empty. */
static bool number(pw *w, const table *t, uint32_t *id, u32s *written)
{
    hash_index index = {0};
    for (size_t k = 0; k < t->n_first + t->n; k++) {
        uint32_t i = k < t->n_first ? t->first[k] : (uint32_t)((k - t->n_first + 1) % t->n), at;
        if (id[i] || t->is_null(w, i)) continue;
        if (!hash_index_room(&index, &w->a)) return err_memory(w->e);
        uint64_t h = t->hash(w, i);
        uint32_t slot = hash_first(&index, h);
        for (; hash_next(&index, &slot, h, &at); slot++)
            if (t->same(w, written->v[at], i)) break;
        if (index.slot[slot & index.mask].at) {
            id[i] = at + 1;
            continue;
        }
        uint32_t *entry = vec_push(&w->a, written);
        if (!entry) return err_memory(w->e);
        *entry = i;
        id[i] = (uint32_t)written->n;
        hash_put(&index, slot, h, (uint32_t)(written->n - 1));
    }
    return true;
}

bool pw_ids_make(pw *w)
{
    uint32_t first[MODEL_EXECUTABLES]; /* pprof assumes that the first mapping is the main binary */
    table m = {w->d->mappings.n, null_mapping, hash_mapping,
               same_mapping,     first,        model_executables(w->m, first)},
          l = {w->d->locations.n, null_location, hash_location, same_location, NULL, 0};
    w->mapping_id = arena_new(&w->a, uint32_t, m.n + 1);
    w->location_id = arena_new(&w->a, uint32_t, l.n + 1);
    if (!w->mapping_id || !w->location_id) return err_memory(w->e);
    return number(w, &m, w->mapping_id, &w->mappings) &&
           number(w, &l, w->location_id, &w->locations);
}
