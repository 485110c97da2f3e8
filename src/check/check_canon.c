/* Finds equal entries by resolved value, bottom up: strings first, then the tables that refer to
 * them. Two entries are equal when their plain fields are equal and their references resolve to
 * equal entries. */
#include "check/internal.h"

#include "base/ban.h"

typedef struct tables {
    const model *m;
    const dict *d;
    canon *c;
    uint64_t seed;
    uint32_t *list[2]; /* two attribute sets, sorted */
} tables;

typedef uint64_t hash_fn(tables *t, size_t i);
typedef bool same_fn(tables *t, size_t i, size_t j);

size_t sort_unique(uint32_t *v, size_t n)
{
    if (n < 2) return n;
    if (n <= 16) {
        for (size_t i = 1; i < n; i++) {
            uint32_t x = v[i];
            size_t j = i;
            for (; j > 0 && v[j - 1] > x; j--) v[j] = v[j - 1];
            v[j] = x;
        }
    } else { /* heap sort: no recursion, no quadratic worst case */
        for (size_t top = n / 2, end = n; end > 1;) {
            uint32_t x;
            if (top > 0) {
                x = v[--top];
            } else {
                x = v[--end];
                v[end] = v[0];
            }
            size_t i = top;
            for (size_t k; (k = 2 * i + 1) < end; i = k) {
                if (k + 1 < end && v[k + 1] > v[k]) k++;
                if (v[k] <= x) break;
                v[i] = v[k];
            }
            v[i] = x;
        }
    }
    size_t k = 1;
    for (size_t i = 1; i < n; i++)
        if (v[i] != v[k - 1]) v[k++] = v[i];
    return k;
}

/* ---- values ---- */

static str text_of(const dict *d, const any *v)
{
    if (v->kind != ANY_STRREF) return any_str(v);
    return v->i >= 0 && (uint64_t)v->i < d->strings.n ? d->strings.v[v->i] : (str){"", 0};
}

static str key_text(const dict *d, const keyvalue *k)
{
    return k->key.n || !k->key_ref ? k->key : dict_str(d, k->key_ref);
}

static uint64_t hash_value(const dict *d, const any *v, uint64_t h)
{
    uint64_t bits;
    str s;
    switch ((any_kind)v->kind) {
    case ANY_STRING:
    case ANY_STRREF: return s = text_of(d, v), hash_bytes(s.p, s.n, hash_mix(h, ANY_STRING));
    case ANY_BYTES: return hash_bytes(v->s, v->n, hash_mix(h, ANY_BYTES));
    case ANY_ARRAY:
        h = hash_mix(h, (uint64_t)ANY_ARRAY << 32 | v->n);
        for (uint32_t i = 0; i < v->n; i++) h = hash_value(d, &v->array[i], h);
        return h;
    case ANY_KVLIST:
        h = hash_mix(h, (uint64_t)ANY_KVLIST << 32 | v->n);
        for (uint32_t i = 0; i < v->n; i++) {
            s = key_text(d, &v->kvlist[i]);
            h = hash_value(d, &v->kvlist[i].value, hash_bytes(s.p, s.n, h));
        }
        return h;
    case ANY_DOUBLE: return memcpy(&bits, &v->d, sizeof bits), hash_mix(h, bits ^ ANY_DOUBLE);
    case ANY_BOOL:
    case ANY_INT: return hash_mix(hash_mix(h, v->kind), (uint64_t)v->i);
    case ANY_EMPTY: break;
    }
    return hash_mix(h, ANY_EMPTY);
}

static bool same_value(const dict *d, const any *a, const any *b)
{
    bool text_a = a->kind == ANY_STRING || a->kind == ANY_STRREF;
    bool text_b = b->kind == ANY_STRING || b->kind == ANY_STRREF;
    if (text_a || text_b) return text_a && text_b && str_eq(text_of(d, a), text_of(d, b));
    if (a->kind != b->kind) return false;
    switch ((any_kind)a->kind) {
    case ANY_BYTES: return str_eq(any_str(a), any_str(b));
    case ANY_DOUBLE: /* compares bits: NaN equals itself, -0 is not 0 */
    case ANY_BOOL:
    case ANY_INT: return a->i == b->i;
    case ANY_ARRAY:
        if (a->n != b->n) return false;
        for (uint32_t i = 0; i < a->n; i++)
            if (!same_value(d, &a->array[i], &b->array[i])) return false;
        return true;
    case ANY_KVLIST:
        if (a->n != b->n) return false;
        for (uint32_t i = 0; i < a->n; i++)
            if (!str_eq(key_text(d, &a->kvlist[i]), key_text(d, &b->kvlist[i])) ||
                !same_value(d, &a->kvlist[i].value, &b->kvlist[i].value))
                return false;
        return true;
    default: return true;
    }
}

/* ---- references ---- */

static uint32_t string_of(const tables *t, uint32_t i)
{
    return canon_of(t->c->strings, i, t->d->strings.n);
}
static uint32_t attribute_of(const tables *t, uint32_t i)
{
    return canon_of(t->c->attributes, i, t->d->attributes.n);
}
static uint32_t function_of(const tables *t, uint32_t i)
{
    return canon_of(t->c->functions, i, t->d->functions.n);
}
static uint32_t location_of(const tables *t, uint32_t i)
{
    return canon_of(t->c->locations, i, t->d->locations.n);
}

/* Writes the set of attributes of an entry to list[k] and returns its size. */
static size_t attr_set(tables *t, span s, int k)
{
    const uint32_t *from = pool_at(&t->d->attr_refs, s.at);
    for (uint32_t i = 0; i < s.n; i++) t->list[k][i] = attribute_of(t, from[i]);
    return sort_unique(t->list[k], s.n);
}

static uint64_t hash_attrs(tables *t, span s, uint64_t h)
{
    if (s.n == 0) return h;
    size_t n = attr_set(t, s, 0);
    return hash_bytes(t->list[0], n * sizeof(uint32_t), h);
}

static bool same_attrs(tables *t, span a, span b)
{
    if (a.n == 0 || b.n == 0) return a.n == b.n;
    size_t n = attr_set(t, a, 0);
    return n == attr_set(t, b, 1) && memcmp(t->list[0], t->list[1], n * sizeof(uint32_t)) == 0;
}

/* ---- the tables ---- */

static uint64_t string_hash(tables *t, size_t i)
{
    str s = t->d->strings.v[i];
    return hash_bytes(s.p, s.n, t->seed);
}
static bool string_same(tables *t, size_t i, size_t j)
{
    return str_eq(t->d->strings.v[i], t->d->strings.v[j]);
}

static uint64_t attribute_hash(tables *t, size_t i)
{
    const attribute *a = &t->d->attributes.v[i];
    uint64_t h = hash_mix(hash_mix(t->seed, string_of(t, a->key)), string_of(t, a->unit));
    return hash_value(t->d, &a->value, h);
}
static bool attribute_same(tables *t, size_t i, size_t j)
{
    const attribute *a = &t->d->attributes.v[i], *b = &t->d->attributes.v[j];
    return string_of(t, a->key) == string_of(t, b->key) &&
           string_of(t, a->unit) == string_of(t, b->unit) && same_value(t->d, &a->value, &b->value);
}

static uint64_t mapping_hash(tables *t, size_t i)
{
    const mapping *m = &t->d->mappings.v[i];
    uint64_t h =
        hash_mix(hash_mix(hash_mix(t->seed, m->memory_start), m->memory_limit), m->file_offset);
    return hash_attrs(t, m->attrs, hash_mix(h, string_of(t, m->filename)));
}
static bool mapping_same(tables *t, size_t i, size_t j)
{
    const mapping *a = &t->d->mappings.v[i], *b = &t->d->mappings.v[j];
    return a->memory_start == b->memory_start && a->memory_limit == b->memory_limit &&
           a->file_offset == b->file_offset &&
           string_of(t, a->filename) == string_of(t, b->filename) &&
           same_attrs(t, a->attrs, b->attrs);
}

static uint64_t function_hash(tables *t, size_t i)
{
    const function *f = &t->d->functions.v[i];
    uint64_t names = (uint64_t)string_of(t, f->name) << 32 | string_of(t, f->system_name);
    return hash_mix(hash_mix(hash_mix(t->seed, names), string_of(t, f->filename)),
                    (uint64_t)f->start_line);
}
static bool function_same(tables *t, size_t i, size_t j)
{
    const function *a = &t->d->functions.v[i], *b = &t->d->functions.v[j];
    return a->start_line == b->start_line && string_of(t, a->name) == string_of(t, b->name) &&
           string_of(t, a->system_name) == string_of(t, b->system_name) &&
           string_of(t, a->filename) == string_of(t, b->filename);
}

static uint64_t location_hash(tables *t, size_t i)
{
    const location *l = &t->d->locations.v[i];
    uint64_t h = hash_mix(hash_mix(t->seed, l->address),
                          canon_of(t->c->mappings, l->mapping, t->d->mappings.n));
    for (uint32_t k = 0; k < l->lines.n; k++) {
        const line *x = &t->d->lines.v[l->lines.at + k];
        h = hash_mix(hash_mix(h, function_of(t, x->function)),
                     (uint64_t)x->line ^ (uint64_t)x->column << 40);
    }
    return hash_attrs(t, l->attrs, h);
}
static bool location_same(tables *t, size_t i, size_t j)
{
    const location *a = &t->d->locations.v[i], *b = &t->d->locations.v[j];
    if (a->address != b->address || a->lines.n != b->lines.n ||
        canon_of(t->c->mappings, a->mapping, t->d->mappings.n) !=
            canon_of(t->c->mappings, b->mapping, t->d->mappings.n))
        return false;
    for (uint32_t k = 0; k < a->lines.n; k++) {
        const line *x = &t->d->lines.v[a->lines.at + k], *y = &t->d->lines.v[b->lines.at + k];
        if (x->line != y->line || x->column != y->column ||
            function_of(t, x->function) != function_of(t, y->function))
            return false;
    }
    return same_attrs(t, a->attrs, b->attrs);
}

static uint64_t stack_hash(tables *t, size_t i)
{
    span s = dict_stack(t->d, (uint32_t)i);
    const uint32_t *v = pool_at(&t->d->frames, s.at);
    if (!t->c->locations) return hash_bytes(v, s.n * sizeof *v, t->seed);
    uint64_t h = hash_mix(t->seed, s.n);
    for (uint32_t k = 0; k < s.n; k++) h = hash_mix(h, location_of(t, v[k]));
    return h;
}
static bool stack_same(tables *t, size_t i, size_t j)
{
    span a = dict_stack(t->d, (uint32_t)i), b = dict_stack(t->d, (uint32_t)j);
    if (a.n != b.n) return false;
    for (uint32_t k = 0; k < a.n; k++)
        if (location_of(t, t->d->frames.v[a.at + k]) != location_of(t, t->d->frames.v[b.at + k]))
            return false;
    return true;
}

static uint64_t link_hash(tables *t, size_t i)
{
    return hash_bytes(&t->d->links.v[i], sizeof(link_ids), t->seed);
}
static bool link_same(tables *t, size_t i, size_t j)
{
    return memcmp(&t->d->links.v[i], &t->d->links.v[j], sizeof(link_ids)) == 0;
}

/* ---- one table ---- */

static bool index_sized(hash_index *x, size_t n, arena *a)
{
    size_t slots = 16;
    while (slots * 3 / 4 <= n) slots *= 2;
    if (slots > UINT32_MAX / 2) return false;
    *x = (hash_index){arena_new(a, hash_slot, slots), (uint32_t)(slots - 1), 0, a->seed};
    return x->slot != NULL;
}

static uint32_t *identity(arena *a, size_t n)
{
    uint32_t *v = arena_array(a, n, sizeof *v);
    for (size_t i = 0; v && i < n; i++) v[i] = (uint32_t)i;
    return v;
}

static bool dedupe(tables *t, size_t n, hash_fn *hash, same_fn *same, arena *tmp, arena *a,
                   uint32_t **out)
{
    hash_index x;
    arena_reset(tmp);
    if (n < 2) return true;
    if (!index_sized(&x, n, tmp)) return false;
    uint64_t ahead[HASH_AHEAD];
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; i % HASH_AHEAD == 0 && k < HASH_AHEAD && i + k < n; k++) {
            ahead[k] = hash(t, i + k);
            hash_prefetch(&x, ahead[k]);
        }
        uint64_t h = ahead[i % HASH_AHEAD];
        uint32_t slot = hash_first(&x, h), first;
        bool found = false;
        for (; !found && hash_next(&x, &slot, h, &first); slot++) found = same(t, first, i);
        if (!found) {
            hash_put(&x, slot, h, (uint32_t)i);
            continue;
        }
        if (!*out && !(*out = identity(a, n))) return false;
        (*out)[i] = first;
        t->c->n_dupes++;
    }
    return true;
}

static bool make_lists(tables *t, arena *a)
{
    size_t most = 1;
    for (size_t i = 0; i < t->d->mappings.n; i++)
        if (t->d->mappings.v[i].attrs.n > most) most = t->d->mappings.v[i].attrs.n;
    for (size_t i = 0; i < t->d->locations.n; i++)
        if (t->d->locations.v[i].attrs.n > most) most = t->d->locations.v[i].attrs.n;
    for (int k = 0; k < 2; k++)
        if (!(t->list[k] = arena_array(a, most, sizeof(uint32_t)))) return false;
    return true;
}

bool canon_build(const model *m, arena *a, canon *out)
{
    *out = (canon){0};
    const dict *d = &m->dict;
    tables t = {.m = m, .d = d, .c = out, .seed = a->seed};
    arena x = arena_beside(a); /* one hash index at a time */
    bool ok =
        make_lists(&t, a) &&
        dedupe(&t, d->strings.n, string_hash, string_same, &x, a, &out->strings) &&
        dedupe(&t, d->attributes.n, attribute_hash, attribute_same, &x, a, &out->attributes) &&
        dedupe(&t, d->mappings.n, mapping_hash, mapping_same, &x, a, &out->mappings) &&
        dedupe(&t, d->functions.n, function_hash, function_same, &x, a, &out->functions) &&
        dedupe(&t, d->locations.n, location_hash, location_same, &x, a, &out->locations) &&
        dedupe(&t, dict_n_stacks(d), stack_hash, stack_same, &x, a, &out->stacks) &&
        dedupe(&t, d->links.n, link_hash, link_same, &x, a, &out->links);
    arena_free(&x);
    return ok;
}
