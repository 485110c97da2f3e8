/* Finds the main binary of a model by the names in its resources and moves its mapping to the
 * front. A path matches exactly, a name matches the last part of a path. */
#include "model/executable.h"

#include "base/text.h"
#include "base/ban.h"

enum { MOST_RESOURCES = 64 };

/* Removes " (deleted)", which the kernel appends to the path of a replaced file. */
static str without_deleted(str path)
{
    str word = STR(" (deleted)");
    if (str_ends(path, word)) path.n -= word.n;
    return path;
}

static str text_of(const resource *r, str key)
{
    for (size_t i = 0; i < r->attrs.n; i++)
        if (str_eq(r->attrs.v[i].key, key) && r->attrs.v[i].value.kind == ANY_STRING)
            return any_str(&r->attrs.v[i].value);
    return STR("");
}

static uint32_t find(const dict *d, str path, str name)
{
    uint32_t by_name = 0;
    for (uint32_t i = 1; i < d->mappings.n; i++) {
        str file = without_deleted(dict_str(d, d->mappings.v[i].filename));
        if (path.n && str_eq(file, path)) return i;
        if (!by_name && name.n && str_eq(str_base_name(file), name)) by_name = i;
    }
    return by_name;
}

static bool has(const uint32_t *v, size_t n, uint32_t i)
{
    for (size_t k = 0; k < n; k++)
        if (v[k] == i) return true;
    return false;
}

size_t model_executables(const model *m, uint32_t out[MODEL_EXECUTABLES])
{
    size_t n = 0;
    for (size_t i = 0; i < m->resources.n && i < MOST_RESOURCES && n < MODEL_EXECUTABLES; i++) {
        const resource *r = &m->resources.v[i];
        str path = without_deleted(text_of(r, STR("process.executable.path"))),
            name = without_deleted(text_of(r, STR("process.executable.name")));
        if (!name.n) name = str_base_name(path);
        uint32_t at = path.n || name.n ? find(&m->dict, path, str_base_name(name)) : 0;
        if (at && !has(out, n, at)) out[n++] = at;
    }
    return n;
}

/* Returns the new position of entry i when entry `from` moves forward to `to`. */
static uint32_t moved(uint32_t i, uint32_t from, uint32_t to)
{
    return i == from ? to : i >= to && i < from ? i + 1 : i;
}

void model_mappings_first(model *m, const uint32_t *v, size_t n)
{
    dict *d = &m->dict;
    uint32_t place = 1, at[MODEL_EXECUTABLES];
    if (n > MODEL_EXECUTABLES) n = MODEL_EXECUTABLES;
    for (size_t k = 0; k < n; k++) at[k] = v[k];
    for (size_t k = 0; k < n; k++) {
        uint32_t from = at[k], to = place;
        if (from < to || from >= d->mappings.n) continue;
        place++;
        if (from == to) continue;
        mapping x = d->mappings.v[from];
        memmove(d->mappings.v + to + 1, d->mappings.v + to, (from - to) * sizeof x);
        d->mappings.v[to] = x;
        for (size_t i = 0; i < d->locations.n; i++)
            d->locations.v[i].mapping = moved(d->locations.v[i].mapping, from, to);
        for (size_t i = k + 1; i < n; i++) at[i] = moved(at[i], from, to);
    }
}

void model_executables_first(model *m)
{
    uint32_t v[MODEL_EXECUTABLES];
    size_t n = model_executables(m, v);
    if (n) model_mappings_first(m, v, n);
}
