/* Adds strings, functions and attributes to the dictionary of an existing model. The builder cannot
 * do that, because it creates new dictionaries. All tables move to the arena first, so that they
 * can grow. */
#include "symbol/dict_edit.h"

#include "base/utf8.h"
#include "model/builder.h"
#include "base/ban.h"

/* ---- tables into the arena ---- */

static bool move(arena *a, void **v, size_t n, size_t *cap, size_t size)
{
    void *to = arena_array(a, n + 16, size);
    if (!to) return false;
    if (n) memcpy(to, *v, n * size);
    *v = to;
    *cap = n + 16;
    return true;
}

#define MOVE(a, vec) move((a), (void **)&(vec)->v, (vec)->n, &(vec)->cap, sizeof *(vec)->v)

static uint64_t hash_function(const function *f, uint64_t seed)
{
    uint64_t h =
        hash_mix(hash_mix(seed, (uint64_t)f->start_line), (uint64_t)f->name << 32 | f->system_name);
    return hash_mix(h, f->filename);
}

static uint64_t hash_attribute(const attribute *t, uint64_t seed)
{
    return hash_mix(builder_hash_any(&t->value, seed), (uint64_t)t->key << 32 | t->unit);
}

static bool add_to(dict_edit *x, hash_index *t, uint64_t h, size_t position)
{
    if (!hash_index_room(t, x->a)) return false;
    uint32_t i = hash_first(t, h);
    for (uint32_t at; hash_next(t, &i, h, &at); i++) {} /* moves to the free slot */
    hash_put(t, i, h, (uint32_t)position);
    return true;
}

bool dict_edit_begin(dict_edit *x, dict *d, arena *a)
{
    *x = (dict_edit){.d = d, .a = a};
    if (!MOVE(a, &d->strings) || !MOVE(a, &d->functions) || !MOVE(a, &d->lines) ||
        !MOVE(a, &d->attributes) || !MOVE(a, &d->attr_refs) || !MOVE(a, &d->locations) ||
        !MOVE(a, &d->mappings))
        return false;
    /* Entry 0 of every table is the zero value; a model without tables has none yet. */
    if ((!d->strings.n && !vec_push(a, &d->strings)) ||
        (!d->functions.n && !vec_push(a, &d->functions)) ||
        (!d->attributes.n && !vec_push(a, &d->attributes)))
        return false;
    for (size_t i = d->strings.n;
         i-- > 0;) /* backwards, so that of equal strings the first one is found */
        if (!add_to(x, &x->strings, hash_bytes(d->strings.v[i].p, d->strings.v[i].n, a->seed), i))
            return false;
    for (size_t i = 0; i < d->functions.n; i++)
        if (!add_to(x, &x->functions, hash_function(&d->functions.v[i], a->seed), i)) return false;
    for (size_t i = 0; i < d->attributes.n; i++)
        if (!add_to(x, &x->attributes, hash_attribute(&d->attributes.v[i], a->seed), i))
            return false;
    return true;
}

/* ---- strings ---- */

/* Copies s to the arena; bytes that are not UTF-8 become U+FFFD. */
static str copy_text(dict_edit *x, str s)
{
    size_t n = 0;
    char *p = arena_array(x->a, s.n, 3);
    if (!p) return x->failed = true, (str){"", 0};
    while (s.n) {
        size_t good = utf8_valid(s.p, s.n);
        memcpy(p + n, s.p, good);
        n += good;
        if (good < s.n) memcpy(p + n, "\xef\xbf\xbd", 3), n += 3, good++;
        s = (str){s.p + good, s.n - good};
    }
    return (str){p, n};
}

uint32_t dict_edit_string(dict_edit *x, str s)
{
    if (!s.n) return 0;
    if (!utf8_ok(s.p, s.n)) s = copy_text(x, s);
    uint64_t h = hash_bytes(s.p, s.n, x->a->seed);
    if (!hash_index_room(&x->strings, x->a)) return x->failed = true, 0;
    uint32_t i = hash_first(&x->strings, h);
    for (uint32_t at; hash_next(&x->strings, &i, h, &at); i++)
        if (str_eq(x->d->strings.v[at], s)) return at;
    char *p = arena_alloc(x->a, s.n);
    str *to = p ? vec_push(x->a, &x->d->strings) : NULL;
    if (!to) return x->failed = true, 0;
    memcpy(p, s.p, s.n);
    *to = (str){p, s.n};
    hash_put(&x->strings, i, h, (uint32_t)(x->d->strings.n - 1));
    return (uint32_t)(x->d->strings.n - 1);
}

/* ---- functions and attributes ---- */

uint32_t dict_edit_function(dict_edit *x, const function *f)
{
    uint64_t h = hash_function(f, x->a->seed);
    if (!hash_index_room(&x->functions, x->a)) return x->failed = true, 0;
    uint32_t i = hash_first(&x->functions, h);
    for (uint32_t at; hash_next(&x->functions, &i, h, &at); i++) {
        const function *o = &x->d->functions.v[at];
        if (o->name == f->name && o->system_name == f->system_name && o->filename == f->filename &&
            o->start_line == f->start_line)
            return at;
    }
    function *to = vec_push(x->a, &x->d->functions);
    if (!to) return x->failed = true, 0;
    *to = *f;
    hash_put(&x->functions, i, h, (uint32_t)(x->d->functions.n - 1));
    return (uint32_t)(x->d->functions.n - 1);
}

static uint32_t add_attribute(dict_edit *x, str key, any value)
{
    attribute t = {.key = dict_edit_string(x, key), .value = value};
    uint64_t h = hash_attribute(&t, x->a->seed);
    if (!hash_index_room(&x->attributes, x->a)) return x->failed = true, 0;
    uint32_t i = hash_first(&x->attributes, h);
    for (uint32_t at; hash_next(&x->attributes, &i, h, &at); i++) {
        const attribute *o = &x->d->attributes.v[at];
        if (o->key == t.key && !o->unit && any_equal(&o->value, &t.value)) return at;
    }
    attribute *to = vec_push(x->a, &x->d->attributes);
    if (!to) return x->failed = true, 0;
    *to = t;
    hash_put(&x->attributes, i, h, (uint32_t)(x->d->attributes.n - 1));
    return (uint32_t)(x->d->attributes.n - 1);
}

uint32_t dict_edit_attribute_str(dict_edit *x, str key, str value)
{
    str s = copy_text(x, value);
    if (s.n > UINT32_MAX) return 0;
    return add_attribute(x, key, (any){.kind = ANY_STRING, .n = (uint32_t)s.n, .s = s.p});
}

uint32_t dict_edit_attribute_bool(dict_edit *x, str key, bool value)
{
    return add_attribute(x, key, (any){.kind = ANY_BOOL, .i = value});
}

/* ---- references ---- */

void dict_edit_lines(dict_edit *x, uint32_t at, const line *v, size_t n)
{
    dict *d = x->d;
    if (!vec_reserve(x->a, &d->lines, n) || d->lines.n + n > UINT32_MAX) {
        x->failed = true;
        return;
    }
    d->locations.v[at].lines = (span){(uint32_t)d->lines.n, (uint32_t)n};
    for (size_t i = 0; i < n; i++) d->lines.v[d->lines.n++] = v[i];
}

void dict_edit_location_without(dict_edit *x, uint32_t at, str key)
{
    dict *d = x->d;
    span had = d->locations.v[at].attrs, left = {(uint32_t)d->attr_refs.n, 0};
    if (!vec_reserve(x->a, &d->attr_refs, had.n) || d->attr_refs.n + had.n > UINT32_MAX) {
        x->failed = true;
        return;
    }
    for (uint32_t i = 0; i < had.n; i++) {
        uint32_t attr = d->attr_refs.v[had.at + i];
        if (str_eq(dict_str(d, d->attributes.v[attr].key), key)) continue;
        d->attr_refs.v[left.at + left.n++] = attr;
    }
    if (left.n == had.n) return;
    d->attr_refs.n += left.n;
    d->locations.v[at].attrs = left;
}

void dict_edit_mapping_attrs(dict_edit *x, uint32_t at, const uint32_t *v, size_t n)
{
    dict *d = x->d;
    if (!vec_reserve(x->a, &d->attr_refs, n) || d->attr_refs.n + n > UINT32_MAX) {
        x->failed = true;
        return;
    }
    d->mappings.v[at].attrs = (span){(uint32_t)d->attr_refs.n, (uint32_t)n};
    for (size_t i = 0; i < n; i++) d->attr_refs.v[d->attr_refs.n++] = v[i];
}
