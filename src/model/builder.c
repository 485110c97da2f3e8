/* The builder interns every table with a hash index for each array. It is one file because the
 * tables share the same few steps: hash the value, look it up, compare, append. Samples are stored
 * as columns of all profiles; builder_finish divides them into the spans of each profile and drops
 * offsets where all samples have the same length. */
#include "model/builder.h"

#include "base/ban.h"

static bool fail(builder *b)
{
    b->failed = true;
    return false;
}

/* ---- hashing and equality of values ---- */

uint64_t builder_hash_any(const any *v, uint64_t h)
{
    h = hash_mix(h, (uint64_t)v->kind << 32 | v->n);
    uint64_t bits;
    switch ((any_kind)v->kind) {
    case ANY_STRING:
    case ANY_BYTES: return hash_bytes(v->s, v->n, h);
    case ANY_ARRAY:
        for (uint32_t i = 0; i < v->n; i++) h = builder_hash_any(&v->array[i], h);
        return h;
    case ANY_KVLIST:
        for (uint32_t i = 0; i < v->n; i++) {
            h = hash_bytes(v->kvlist[i].key.p, v->kvlist[i].key.n, h);
            h = builder_hash_any(&v->kvlist[i].value, h);
        }
        return h;
    case ANY_DOUBLE: memcpy(&bits, &v->d, sizeof bits); return hash_mix(h, bits);
    case ANY_EMPTY: return h;
    case ANY_BOOL:
    case ANY_INT:
    case ANY_STRREF: return hash_mix(h, (uint64_t)v->i);
    }
    return h;
}

static uint64_t hash_u32s(const uint32_t *v, size_t n, uint64_t h)
{
    return hash_bytes(v, n * sizeof *v, hash_mix(h, n));
}

static bool same_u32s(const uint32_t *a, size_t n, const uint32_t *b, size_t m)
{
    return n == m && (n == 0 || memcmp(a, b, n * sizeof *a) == 0);
}

/* ---- pools ---- */

static bool put_u32s(builder *b, u32s *to, const uint32_t *v, size_t n)
{
    if (to->n > UINT32_MAX - n || !vec_reserve(b->a, to, n)) return fail(b);
    if (n) memcpy(to->v + to->n, v, n * sizeof *v);
    to->n += n;
    return true;
}

static span put_attrs(builder *b, const uint32_t *attrs, size_t n)
{
    span s = {(uint32_t)b->m.dict.attr_refs.n, (uint32_t)n};
    return put_u32s(b, &b->m.dict.attr_refs, attrs, n) ? s : (span){0, 0};
}

static bool copy_str(builder *b, str *s)
{
    if (b->borrow || !s->n) return true;
    char *p = arena_alloc(b->a, s->n);
    if (!p) return fail(b);
    memcpy(p, s->p, s->n);
    s->p = p;
    return true;
}

str builder_copy_str(builder *b, str s) { return copy_str(b, &s) ? s : (str){NULL, 0}; }

bool builder_copy_any(builder *b, const any *from, any *to)
{
    *to = *from;
    str s;
    switch ((any_kind)from->kind) {
    case ANY_STRING:
    case ANY_BYTES:
        s = any_str(from);
        if (!copy_str(b, &s)) return false;
        to->s = s.p;
        return true;
    case ANY_ARRAY:
        to->array = arena_new(b->a, any, from->n);
        if (!to->array) return fail(b);
        for (uint32_t i = 0; i < from->n; i++)
            if (!builder_copy_any(b, &from->array[i], &to->array[i])) return false;
        return true;
    case ANY_KVLIST: {
        keyvalues list = {from->kvlist, from->n}, copy;
        if (!builder_copy_keyvalues(b, &list, &copy)) return false;
        to->kvlist = copy.v;
        return true;
    }
    default: return true;
    }
}

bool builder_copy_keyvalues(builder *b, const keyvalues *from, keyvalues *to)
{
    *to = (keyvalues){arena_new(b->a, keyvalue, from->n), from->n};
    if (!to->v) return fail(b);
    for (size_t i = 0; i < from->n; i++) {
        to->v[i] = from->v[i];
        if (!copy_str(b, &to->v[i].key)) return false;
        if (!builder_copy_any(b, &from->v[i].value, &to->v[i].value)) return false;
    }
    return true;
}

/* ---- hashes of entries ---- */

static uint64_t hash_mapping(const builder *b, const mapping *m, const uint32_t *attrs, size_t n)
{
    uint64_t h =
        hash_mix(hash_mix(hash_mix(b->seed, m->memory_start), m->memory_limit), m->file_offset);
    return hash_u32s(attrs, n, hash_mix(h, m->filename));
}

static uint64_t hash_function(const builder *b, const function *f)
{
    uint64_t h = hash_mix(hash_mix(b->seed, (uint64_t)f->name << 32 | f->system_name),
                          (uint64_t)f->filename << 32);
    return hash_mix(h, (uint64_t)f->start_line);
}

static uint64_t hash_location(const builder *b, uint32_t mapping_i, uint64_t address,
                              const line *lines, size_t n_lines, const uint32_t *attrs, size_t n)
{
    uint64_t h = hash_mix(hash_mix(b->seed, address), (uint64_t)mapping_i << 32 | n_lines);
    for (size_t k = 0; k < n_lines; k++)
        h = hash_mix(hash_mix(h, (uint64_t)lines[k].line),
                     (uint64_t)lines[k].column << 32 ^ lines[k].function);
    return hash_u32s(attrs, n, h);
}

static bool room(builder *b, hash_index *x) { return b->unique || hash_index_room(x, b->a); }

/* Indexes a new entry at slot i, the free slot where its lookup ended. */
static void known(builder *b, hash_index *x, uint32_t i, uint64_t h, uint32_t index)
{
    if (!b->unique) hash_put(x, i, h, index);
}

/* ---- interners ---- */

bool builder_init(builder *b, arena *a)
{
    *b = (builder){.a = a, .seed = a->seed};
    dict *d = &b->m.dict;
    uint32_t *stack_0 = vec_push(a, &d->stacks), *stack_1 = vec_push(a, &d->stacks);
    if (!stack_0 || !stack_1 || !vec_push(a, &d->mappings) || !vec_push(a, &d->locations) ||
        !vec_push(a, &d->functions) || !vec_push(a, &d->links) || !vec_push(a, &d->attributes) ||
        !vec_push(a, &d->strings))
        return fail(b);
    d->strings.v[0] = (str){"", 0};
    return true;
}

uint32_t builder_string(builder *b, str s)
{
    if (s.n == 0) return 0;
    dict *d = &b->m.dict;
    if (s.n > UINT32_MAX || !room(b, &b->strings)) return fail(b), 0;
    uint64_t h = b->unique ? 0 : hash_bytes(s.p, s.n, b->seed);
    uint32_t i = b->unique ? 0 : hash_first(&b->strings, h);
    for (uint32_t at; !b->unique && hash_next(&b->strings, &i, h, &at); i++)
        if (str_eq(d->strings.v[at], s)) return at;
    if (!copy_str(b, &s)) return 0;
    str *slot = vec_push(b->a, &d->strings);
    if (!slot) return fail(b), 0;
    *slot = s;
    uint32_t index = (uint32_t)(d->strings.n - 1);
    known(b, &b->strings, i, h, index);
    return index;
}

uint32_t builder_mapping(builder *b, const mapping *m, const uint32_t *attrs, size_t n_attrs)
{
    dict *d = &b->m.dict;
    if (!m->memory_start && !m->memory_limit && !m->file_offset && !m->filename && !n_attrs)
        return 0;
    if (!room(b, &b->mappings)) return fail(b), 0;
    uint64_t h = hash_mapping(b, m, attrs, n_attrs);
    uint32_t i = b->unique ? 0 : hash_first(&b->mappings, h);
    for (uint32_t at; !b->unique && hash_next(&b->mappings, &i, h, &at); i++) {
        const mapping *o = &d->mappings.v[at];
        if (o->memory_start == m->memory_start && o->memory_limit == m->memory_limit &&
            o->file_offset == m->file_offset && o->filename == m->filename &&
            same_u32s(refs_at(&d->attr_refs, o->attrs), o->attrs.n, attrs, n_attrs))
            return at;
    }
    mapping *slot = vec_push(b->a, &d->mappings);
    if (!slot) return fail(b), 0;
    *slot = *m;
    slot->attrs = put_attrs(b, attrs, n_attrs);
    uint32_t index = (uint32_t)(d->mappings.n - 1);
    known(b, &b->mappings, i, h, index);
    return index;
}

uint32_t builder_function(builder *b, const function *f)
{
    dict *d = &b->m.dict;
    if (!f->name && !f->system_name && !f->filename && !f->start_line) return 0;
    if (!room(b, &b->functions)) return fail(b), 0;
    uint64_t h = b->unique ? 0 : hash_function(b, f);
    uint32_t i = b->unique ? 0 : hash_first(&b->functions, h);
    for (uint32_t at; !b->unique && hash_next(&b->functions, &i, h, &at); i++) {
        const function *o = &d->functions.v[at];
        if (o->name == f->name && o->system_name == f->system_name && o->filename == f->filename &&
            o->start_line == f->start_line)
            return at;
    }
    function *slot = vec_push(b->a, &d->functions);
    if (!slot) return fail(b), 0;
    *slot = *f;
    uint32_t index = (uint32_t)(d->functions.n - 1);
    known(b, &b->functions, i, h, index);
    return index;
}

static bool same_lines(const line *a, const line *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i].function != b[i].function || a[i].line != b[i].line || a[i].column != b[i].column)
            return false;
    return true;
}

uint32_t builder_location(builder *b, uint32_t mapping_i, uint64_t address, const line *lines,
                          size_t n_lines, const uint32_t *attrs, size_t n_attrs)
{
    dict *d = &b->m.dict;
    if (!mapping_i && !address && !n_lines && !n_attrs) return 0;
    if (!room(b, &b->locations)) return fail(b), 0;
    uint64_t h =
        b->unique ? 0 : hash_location(b, mapping_i, address, lines, n_lines, attrs, n_attrs);
    uint32_t i = b->unique ? 0 : hash_first(&b->locations, h);
    for (uint32_t at; !b->unique && hash_next(&b->locations, &i, h, &at); i++) {
        const location *o = &d->locations.v[at];
        if (o->address == address && o->mapping == mapping_i && o->lines.n == n_lines &&
            (!n_lines || same_lines(d->lines.v + o->lines.at, lines, n_lines)) &&
            same_u32s(refs_at(&d->attr_refs, o->attrs), o->attrs.n, attrs, n_attrs))
            return at;
    }
    if (d->lines.n > UINT32_MAX - n_lines || !vec_reserve(b->a, &d->lines, n_lines))
        return fail(b), 0;
    location *slot = vec_push(b->a, &d->locations);
    if (!slot) return fail(b), 0;
    *slot = (location){.address = address,
                       .mapping = mapping_i,
                       .lines = {(uint32_t)d->lines.n, (uint32_t)n_lines}};
    slot->attrs = put_attrs(b, attrs, n_attrs);
    if (n_lines) memcpy(d->lines.v + d->lines.n, lines, n_lines * sizeof *lines);
    d->lines.n += n_lines;
    uint32_t index = (uint32_t)(d->locations.n - 1);
    known(b, &b->locations, i, h, index);
    return index;
}

uint32_t builder_link(builder *b, const uint8_t trace_id[16], const uint8_t span_id[8])
{
    dict *d = &b->m.dict;
    link_ids ids;
    memcpy(ids.trace_id, trace_id, sizeof ids.trace_id);
    memcpy(ids.span_id, span_id, sizeof ids.span_id);
    if (id_is_zero(ids.trace_id, 16) && id_is_zero(ids.span_id, 8)) return 0;
    if (!room(b, &b->links)) return fail(b), 0;
    uint64_t h = hash_bytes(&ids, sizeof ids, b->seed);
    uint32_t i = b->unique ? 0 : hash_first(&b->links, h);
    for (uint32_t at; !b->unique && hash_next(&b->links, &i, h, &at); i++)
        if (memcmp(&d->links.v[at], &ids, sizeof ids) == 0) return at;
    link_ids *slot = vec_push(b->a, &d->links);
    if (!slot) return fail(b), 0;
    *slot = ids;
    uint32_t index = (uint32_t)(d->links.n - 1);
    known(b, &b->links, i, h, index);
    return index;
}

uint32_t builder_attribute(builder *b, str key, const any *value, str unit)
{
    uint32_t key_i = builder_string(b, key), unit_i = builder_string(b, unit);
    return builder_attribute_at(b, key_i, value, unit_i);
}

uint32_t builder_attribute_at(builder *b, uint32_t key_i, const any *value, uint32_t unit_i)
{
    dict *d = &b->m.dict;
    if (!key_i && !unit_i && value->kind == ANY_EMPTY) return 0;
    if (b->failed || !room(b, &b->attributes)) return fail(b), 0;
    uint64_t h = builder_hash_any(value, hash_mix(b->seed, (uint64_t)key_i << 32 | unit_i));
    uint32_t i = b->unique ? 0 : hash_first(&b->attributes, h);
    for (uint32_t at; !b->unique && hash_next(&b->attributes, &i, h, &at); i++) {
        const attribute *o = &d->attributes.v[at];
        if (o->key == key_i && o->unit == unit_i && any_equal(&o->value, value)) return at;
    }
    any copy;
    if (!builder_copy_any(b, value, &copy)) return 0;
    attribute *slot = vec_push(b->a, &d->attributes);
    if (!slot) return fail(b), 0;
    *slot = (attribute){.key = key_i, .unit = unit_i, .value = copy};
    uint32_t index = (uint32_t)(d->attributes.n - 1);
    known(b, &b->attributes, i, h, index);
    return index;
}

uint32_t builder_stack(builder *b, const uint32_t *locations, size_t n)
{
    dict *d = &b->m.dict;
    if (n == 0) return 0;
    if (!room(b, &b->stacks)) return fail(b), 0;
    uint64_t h = b->unique ? 0 : hash_u32s(locations, n, b->seed);
    uint32_t i = b->unique ? 0 : hash_first(&b->stacks, h);
    for (uint32_t at; !b->unique && hash_next(&b->stacks, &i, h, &at); i++) {
        span s = dict_stack(d, at);
        if (same_u32s(refs_at(&d->frames, s), s.n, locations, n)) return at;
    }
    if (!put_u32s(b, &d->frames, locations, n)) return 0;
    uint32_t *end = vec_push(b->a, &d->stacks);
    if (!end) return fail(b), 0;
    *end = (uint32_t)d->frames.n;
    uint32_t index = (uint32_t)(d->stacks.n - 2);
    known(b, &b->stacks, i, h, index);
    return index;
}

uint32_t builder_attribute_str(builder *b, str key, str value)
{
    if (value.n > UINT32_MAX) return fail(b), 0;
    any v = {.kind = ANY_STRING, .n = (uint32_t)value.n, .s = value.p};
    return builder_attribute(b, key, &v, (str){0});
}

uint32_t builder_attribute_int(builder *b, str key, int64_t value)
{
    return builder_attribute(b, key, &(any){.kind = ANY_INT, .i = value}, (str){0});
}

uint32_t builder_attribute_bool(builder *b, str key, bool value)
{
    return builder_attribute(b, key, &(any){.kind = ANY_BOOL, .i = value}, (str){0});
}

/* ---- the end of `unique` ---- */

static bool index_one(builder *b, hash_index *x, uint64_t h, size_t position)
{
    if (!hash_index_room(x, b->a)) return fail(b);
    uint32_t i = hash_first(x, h);
    for (uint32_t at; hash_next(x, &i, h, &at); i++) continue;
    hash_put(x, i, h, (uint32_t)position);
    return true;
}

static bool index_small(builder *b)
{
    const dict *d = &b->m.dict;
    bool ok = true;
    for (size_t i = 1 + b->strings.n; ok && i < d->strings.n; i++)
        ok =
            index_one(b, &b->strings, hash_bytes(d->strings.v[i].p, d->strings.v[i].n, b->seed), i);
    for (size_t i = 1 + b->links.n; ok && i < d->links.n; i++)
        ok = index_one(b, &b->links, hash_bytes(&d->links.v[i], sizeof(link_ids), b->seed), i);
    for (size_t i = 1 + b->functions.n; ok && i < d->functions.n; i++)
        ok = index_one(b, &b->functions, hash_function(b, &d->functions.v[i]), i);
    for (size_t i = 1 + b->attributes.n; ok && i < d->attributes.n; i++) {
        const attribute *t = &d->attributes.v[i];
        uint64_t h = hash_mix(b->seed, (uint64_t)t->key << 32 | t->unit);
        ok = index_one(b, &b->attributes, builder_hash_any(&t->value, h), i);
    }
    return ok;
}

bool builder_index(builder *b)
{
    const dict *d = &b->m.dict;
    if (!b->unique) return true;
    b->unique = false;
    bool ok = index_small(b);
    for (size_t i = 1 + b->mappings.n; ok && i < d->mappings.n; i++) {
        const mapping *m = &d->mappings.v[i];
        ok = index_one(b, &b->mappings,
                       hash_mapping(b, m, refs_at(&d->attr_refs, m->attrs), m->attrs.n), i);
    }
    for (size_t i = 1 + b->locations.n; ok && i < d->locations.n; i++) {
        const location *l = &d->locations.v[i];
        uint64_t h =
            hash_location(b, l->mapping, l->address, l->lines.n ? d->lines.v + l->lines.at : NULL,
                          l->lines.n, refs_at(&d->attr_refs, l->attrs), l->attrs.n);
        ok = index_one(b, &b->locations, h, i);
    }
    for (size_t i = 1 + b->stacks.n; ok && i < dict_n_stacks(d); i++) {
        span s = dict_stack(d, (uint32_t)i);
        ok = index_one(b, &b->stacks, hash_u32s(refs_at(&d->frames, s), s.n, b->seed), i);
    }
    return ok;
}

/* ---- the envelope ---- */

static bool copy_strs(builder *b, str **v, size_t n)
{
    str *to = arena_new(b->a, str, n);
    if (!to) return fail(b);
    for (size_t i = 0; i < n; i++) {
        to[i] = (*v)[i];
        if (!copy_str(b, &to[i])) return false;
    }
    *v = to;
    return true;
}

static bool copy_entity_refs(builder *b, resource *r)
{
    entity_ref *to = arena_new(b->a, entity_ref, r->n_entity_refs);
    if (!to) return fail(b);
    for (size_t i = 0; i < r->n_entity_refs; i++) {
        to[i] = r->entity_refs[i];
        if (!copy_str(b, &to[i].schema_url) || !copy_str(b, &to[i].type) ||
            !copy_strs(b, &to[i].id_keys, to[i].n_id_keys) ||
            !copy_strs(b, &to[i].description_keys, to[i].n_description_keys))
            return false;
    }
    r->entity_refs = to;
    return true;
}

resource *builder_resource(builder *b, const resource *from)
{
    resource *r = vec_push(b->a, &b->m.resources);
    if (!r) return fail(b), &b->lost_resource;
    if (from) {
        *r = *from;
        if (!builder_copy_keyvalues(b, &from->attrs, &r->attrs) || !copy_entity_refs(b, r) ||
            !copy_str(b, &r->schema_url))
            r->attrs.n = r->n_entity_refs = r->schema_url.n = 0;
    }
    r->first_scope = (uint32_t)b->m.scopes.n;
    r->n_scopes = 0;
    return r;
}

scope *builder_scope(builder *b, const scope *from)
{
    if (!b->m.resources.n) builder_resource(b, NULL);
    scope *s = vec_push(b->a, &b->m.scopes);
    if (!s || !b->m.resources.n) return fail(b), &b->lost_scope;
    if (from) {
        *s = *from;
        if (!builder_copy_keyvalues(b, &from->attrs, &s->attrs) || !copy_str(b, &s->name) ||
            !copy_str(b, &s->version) || !copy_str(b, &s->schema_url))
            s->attrs.n = s->name.n = s->version.n = s->schema_url.n = 0;
    }
    s->resource = (uint32_t)(b->m.resources.n - 1);
    s->first_profile = (uint32_t)b->m.profiles.n;
    s->n_profiles = 0;
    b->m.resources.v[s->resource].n_scopes++;
    return s;
}

profile *builder_profile(builder *b)
{
    if (!b->m.scopes.n) builder_scope(b, NULL);
    uint64_t *first = vec_push(b->a, &b->first_sample);
    profile *p = first && b->m.scopes.n ? vec_push(b->a, &b->m.profiles) : NULL;
    if (!p) return fail(b), &b->lost_profile;
    *first = b->stack.n;
    p->scope = (uint32_t)(b->m.scopes.n - 1);
    b->m.scopes.v[p->scope].n_profiles++;
    return p;
}

void builder_profile_attrs(builder *b, const uint32_t *attrs, size_t n)
{
    if (b->m.profiles.n) b->m.profiles.v[b->m.profiles.n - 1].attrs = put_attrs(b, attrs, n);
}

void builder_sample(builder *b, const sample *s)
{
    if (!b->m.profiles.n) builder_profile(b);
    uint32_t *stack = vec_push(b->a, &b->stack), *link = vec_push(b->a, &b->link),
             *attr = vec_push(b->a, &b->attr_off), *value = vec_push(b->a, &b->value_off),
             *time = vec_push(b->a, &b->time_off);
    if (!stack || !link || !attr || !value || !time || !b->m.profiles.n ||
        !vec_reserve(b->a, &b->m.values, s->n_values) ||
        !vec_reserve(b->a, &b->m.times, s->n_times) || b->m.values.n + s->n_values > UINT32_MAX ||
        b->m.times.n + s->n_times > UINT32_MAX) {
        fail(b);
        return;
    }
    *stack = s->stack;
    *link = s->link;
    *attr = (uint32_t)b->m.sample_attrs.n;
    *value = (uint32_t)b->m.values.n;
    *time = (uint32_t)b->m.times.n;
    put_u32s(b, &b->m.sample_attrs, s->attrs, s->n_attrs);
    if (s->n_values)
        memcpy(b->m.values.v + b->m.values.n, s->values, s->n_values * sizeof *s->values);
    if (s->n_times) memcpy(b->m.times.v + b->m.times.n, s->times, s->n_times * sizeof *s->times);
    b->m.values.n += s->n_values;
    b->m.times.n += s->n_times;
    b->m.profiles.v[b->m.profiles.n - 1].n_samples++;
}

/* ---- finish ---- */

/* Returns the spans of n elements from off[0], without offsets when all have the same length. */
static spans compact(const uint32_t *off, size_t n)
{
    uint32_t stride = n ? off[1] - off[0] : 0;
    for (size_t i = 1; i < n; i++)
        if (off[i + 1] - off[i] != stride) return (spans){.off = off};
    return (spans){.base = off[0], .stride = stride};
}

bool builder_finish(builder *b, model *out, err *e)
{
    uint32_t *attr = vec_push(b->a, &b->attr_off), *value = vec_push(b->a, &b->value_off),
             *time = vec_push(b->a, &b->time_off);
    if (b->failed || !attr || !value || !time)
        return err_set(e, ERR_MEMORY, "the model does not fit the memory budget");
    *attr = (uint32_t)b->m.sample_attrs.n;
    *value = (uint32_t)b->m.values.n;
    *time = (uint32_t)b->m.times.n;
    for (size_t i = 0; i < b->m.profiles.n; i++) {
        profile *p = &b->m.profiles.v[i];
        size_t first = b->first_sample.v[i];
        p->stack = p->n_samples ? b->stack.v + first : NULL;
        p->attr_span = compact(b->attr_off.v + first, p->n_samples);
        p->value_span = compact(b->value_off.v + first, p->n_samples);
        p->time_span = compact(b->time_off.v + first, p->n_samples);
        for (size_t k = 0; k < p->n_samples && !p->link; k++)
            if (b->link.v[first + k]) p->link = b->link.v + first;
    }
    b->m.checked = true;
    b->m.seed = b->seed;
    *out = b->m;
    return true;
}
