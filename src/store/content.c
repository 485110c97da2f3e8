/* Computes the keys of profiles (content.h), and encodes resources, scopes and values as bytes.
 * Hashes of dictionary entries are computed on first use: most requests repeat few entries many
 * times. */
#include "store/content.h"

#include "wire/anchor.h"
#include "wire/carried.h"
#include "base/ban.h"

void put_any(buf *b, const any *v)
{
    buf_putc(b, (char)v->kind);
    switch ((any_kind)v->kind) {
    case ANY_EMPTY: break;
    case ANY_STRING:
    case ANY_BYTES: put_str(b, any_str(v)); break;
    case ANY_BOOL:
    case ANY_INT:
    case ANY_STRREF: put_signed(b, v->i); break;
    case ANY_DOUBLE: put_fixed64(b, (uint64_t)v->i); break; /* its bits */
    case ANY_ARRAY:
        put_varint(b, v->n);
        for (uint32_t i = 0; i < v->n; i++) put_any(b, &v->array[i]);
        break;
    case ANY_KVLIST: put_keyvalues(b, &(keyvalues){v->kvlist, v->n}); break;
    }
}

void put_keyvalues(buf *b, const keyvalues *kv)
{
    put_varint(b, kv->n);
    for (size_t i = 0; i < kv->n; i++) {
        put_str(b, kv->v[i].key);
        put_any(b, &kv->v[i].value);
    }
}

static void put_strs(buf *b, const str *v, size_t n)
{
    put_varint(b, n);
    for (size_t i = 0; i < n; i++) put_str(b, v[i]);
}

void put_resource(buf *b, const resource *r)
{
    buf_putc(b, (char)r->present);
    put_str(b, r->schema_url);
    put_varint(b, r->dropped_attributes_count);
    put_keyvalues(b, &r->attrs);
    put_varint(b, r->n_entity_refs);
    for (size_t i = 0; i < r->n_entity_refs; i++) {
        const entity_ref *x = &r->entity_refs[i];
        put_str(b, x->schema_url);
        put_str(b, x->type);
        put_strs(b, x->id_keys, x->n_id_keys);
        put_strs(b, x->description_keys, x->n_description_keys);
    }
}

void put_scope(buf *b, const scope *s)
{
    buf_putc(b, (char)s->present);
    put_str(b, s->name);
    put_str(b, s->version);
    put_str(b, s->schema_url);
    put_varint(b, s->dropped_attributes_count);
    put_keyvalues(b, &s->attrs);
}

/* ---- hashes of dictionary entries, computed on first use ---- */

typedef XXH128_hash_t hash128;

typedef struct content {
    const model *m;
    hash128 *string, *attribute, *mapping, *function, *location, *stack;
    uint8_t *known; /* bits, by table and index */
    size_t base[6]; /* first bit of each table in `known` */
    buf b;          /* input of the hash; nested entries append to it and truncate it afterwards */
} content;

static bool begin(content *c, const model *m, arena *a)
{
    const dict *d = &m->dict;
    size_t n[6] = {d->strings.n,   d->attributes.n, d->mappings.n,
                   d->functions.n, d->locations.n,  dict_n_stacks(d)};
    hash128 **table[6] = {&c->string,   &c->attribute, &c->mapping,
                          &c->function, &c->location,  &c->stack};
    size_t all = 0;
    c->m = m;
    for (size_t i = 0; i < 6; i++) {
        c->base[i] = all;
        all += n[i];
        if (!(*table[i] = arena_array(a, n[i] + 1, sizeof(hash128)))) return false;
    }
    return (c->known = arena_zero(a, all / 8 + 1)) != NULL;
}

static bool is_known(content *c, unsigned table, size_t i)
{
    size_t at = c->base[table] + i;
    bool was = c->known[at / 8] >> (at & 7) & 1;
    c->known[at / 8] |= (uint8_t)(1u << (at & 7));
    return was;
}

static hash128 cut(content *c, size_t from, uint64_t kind)
{
    hash128 h = XXH3_128bits_withSeed(c->b.p ? c->b.p + from : "", c->b.n - from, kind);
    c->b.n = from;
    return h;
}

static void put_hash(content *c, hash128 h) { buf_put(&c->b, &h, sizeof h); }

static hash128 of_text(str s) { return XXH3_128bits_withSeed(s.n ? s.p : "", s.n, 1); }

static hash128 of_string(content *c, uint32_t i)
{
    if (!is_known(c, 0, i)) c->string[i] = of_text(c->m->dict.strings.v[i]);
    return c->string[i];
}

static hash128 of_attribute(content *c, uint32_t i)
{
    if (is_known(c, 1, i)) return c->attribute[i];
    const attribute *t = &c->m->dict.attributes.v[i];
    size_t from = c->b.n;
    put_hash(c, of_string(c, t->key));
    put_hash(c, of_string(c, t->unit));
    put_any(&c->b, &t->value);
    return c->attribute[i] = cut(c, from, 2);
}

static void put_attributes(content *c, const uint32_t *v, size_t n)
{
    put_varint(&c->b, n);
    for (size_t i = 0; i < n; i++) put_hash(c, of_attribute(c, v[i]));
}

static hash128 of_mapping(content *c, uint32_t i)
{
    if (is_known(c, 2, i)) return c->mapping[i];
    const mapping *m = &c->m->dict.mappings.v[i];
    size_t from = c->b.n;
    put_fixed64(&c->b, m->memory_start);
    put_fixed64(&c->b, m->memory_limit);
    put_fixed64(&c->b, m->file_offset);
    put_hash(c, of_string(c, m->filename));
    put_attributes(c, refs_at(&c->m->dict.attr_refs, m->attrs), m->attrs.n);
    return c->mapping[i] = cut(c, from, 3);
}

static hash128 of_function(content *c, uint32_t i)
{
    if (is_known(c, 3, i)) return c->function[i];
    const function *f = &c->m->dict.functions.v[i];
    size_t from = c->b.n;
    put_fixed64(&c->b, (uint64_t)f->start_line);
    put_hash(c, of_string(c, f->name));
    put_hash(c, of_string(c, f->system_name));
    put_hash(c, of_string(c, f->filename));
    return c->function[i] = cut(c, from, 4);
}

static hash128 of_location(content *c, uint32_t i)
{
    if (is_known(c, 4, i)) return c->location[i];
    const location *l = &c->m->dict.locations.v[i];
    size_t from = c->b.n;
    put_fixed64(&c->b, l->address);
    put_hash(c, of_mapping(c, l->mapping));
    put_varint(&c->b, l->lines.n);
    for (uint32_t k = 0; k < l->lines.n; k++) {
        const line *x = &c->m->dict.lines.v[l->lines.at + k];
        put_signed(&c->b, x->line);
        put_signed(&c->b, x->column);
        put_hash(c, of_function(c, x->function));
    }
    put_attributes(c, refs_at(&c->m->dict.attr_refs, l->attrs), l->attrs.n);
    return c->location[i] = cut(c, from, 5);
}

static hash128 of_stack(content *c, uint32_t i)
{
    if (is_known(c, 5, i)) return c->stack[i];
    span s = dict_stack(&c->m->dict, i);
    size_t from = c->b.n;
    for (uint32_t k = 0; k < s.n; k++) put_hash(c, of_location(c, c->m->dict.frames.v[s.at + k]));
    return c->stack[i] = cut(c, from, 6);
}

static content_key key_of(hash128 h) { return (content_key){h.low64, h.high64}; }

/* ---- profiles ---- */

/* Writes timestamps without `offset`: the original times of a recording that was given a date. */
static void put_times(content *c, const sample *s, uint64_t offset)
{
    put_varint(&c->b, s->n_times);
    if (!offset) buf_put(&c->b, s->times, s->n_times * sizeof *s->times);
    for (uint32_t i = 0; offset && i < s->n_times; i++) {
        uint64_t t = s->times[i] - offset;
        buf_put(&c->b, &t, sizeof t);
    }
}

static void put_sample(content *c, const sample *s, uint64_t offset)
{
    put_hash(c, of_stack(c, s->stack));
    buf_put(&c->b, &c->m->dict.links.v[s->link], sizeof(link_ids));
    put_attributes(c, s->attrs, s->n_attrs);
    put_varint(&c->b, s->n_values);
    buf_put(&c->b, s->values, s->n_values * sizeof *s->values);
    put_times(c, s, offset);
}

static void put_type(content *c, value_type t)
{
    put_hash(c, of_string(c, t.type));
    put_hash(c, of_string(c, t.unit));
}

static content_key key_of_id(hash128 type, hash128 unit, const uint8_t *id)
{
    hash128 v[3] = {type, unit};
    memcpy(&v[2], id, 16);
    return key_of(XXH3_128bits_withSeed(v, sizeof v, 7));
}

content_key content_key_of(str type, str unit, const uint8_t id[16])
{
    return key_of_id(of_text(type), of_text(unit), id);
}

enum { PROFILE = 8, MANY_BYTES = 64 << 10 };

/* Returns the hash of all samples. Buffers at most MANY_BYTES in c->b, so that a large profile is
 * not copied. */
static hash128 cut_long(content *c, const profile *p, uint64_t offset, size_t i, size_t from)
{
    XXH3_state_t h;
    XXH3_INITSTATE(&h); /* the reset reads the old seed */
    (void)XXH3_128bits_reset_withSeed(&h, PROFILE);
    for (;; i++) {
        if (i == p->n_samples || c->b.n - from >= MANY_BYTES) {
            (void)XXH3_128bits_update(&h, c->b.p + from, c->b.n - from);
            c->b.n = from;
        }
        if (i == p->n_samples) return XXH3_128bits_digest(&h);
        sample x = sample_at(c->m, p, i);
        put_sample(c, &x, offset);
    }
}

static hash128 of_undated(content *c)
{
    size_t from = c->b.n;
    put_hash(c, of_text(STR(KILN_ATTR_TIME_EPOCH)));
    put_hash(c, of_text(STR("")));
    put_any(&c->b, &(any){.kind = ANY_STRING, .n = 7, .s = "unknown"});
    return cut(c, from, 2);
}

/* Writes the attributes, with the original times if the profile was given a date. */
static void put_profile_attributes(content *c, const profile *p, uint64_t offset)
{
    const dict *d = &c->m->dict;
    const uint32_t *v = refs_at(&d->attr_refs, p->attrs);
    put_varint(&c->b, p->attrs.n - (offset != 0));
    for (uint32_t i = 0; i < p->attrs.n; i++) {
        str key = offset ? dict_str(d, d->attributes.v[v[i]].key) : (str){0};
        if (offset && str_eq(key, STR(KILN_ATTR_TIME_OFFSET))) continue;
        bool epoch = offset && str_eq(key, STR(KILN_ATTR_TIME_EPOCH));
        put_hash(c, epoch ? of_undated(c) : of_attribute(c, v[i]));
    }
}

static content_key of_profile(content *c, const profile *p)
{
    if (!id_is_zero(p->profile_id, 16))
        return key_of_id(of_string(c, p->sample_type.type), of_string(c, p->sample_type.unit),
                         p->profile_id);
    size_t from = c->b.n;
    uint64_t offset = profile_offset(c->m, p);
    put_type(c, p->sample_type);
    const scope *s = &c->m->scopes.v[p->scope];
    put_resource(&c->b, &c->m->resources.v[s->resource]);
    put_scope(&c->b, s);
    put_type(c, p->period_type);
    put_signed(&c->b, p->period);
    put_fixed64(&c->b, p->time_unix_nano - offset);
    put_fixed64(&c->b, p->duration_nano);
    put_varint(&c->b, p->dropped_attributes_count);
    put_str(&c->b, p->original_payload_format);
    put_str(&c->b, p->original_payload);
    put_profile_attributes(c, p, offset);
    for (size_t i = 0; i < p->n_samples; i++) {
        if (c->b.n - from >= MANY_BYTES) return key_of(cut_long(c, p, offset, i, from));
        sample x = sample_at(c->m, p, i);
        put_sample(c, &x, offset);
    }
    return key_of(cut(c, from, PROFILE));
}

bool content_keys(const model *m, arena *a, content_key *out, err *e)
{
    content c = {0};
    bool ok = begin(&c, m, a);
    for (size_t i = 0; ok && i < m->profiles.n; i++) out[i] = of_profile(&c, &m->profiles.v[i]);
    ok = ok && !c.b.failed;
    buf_free(&c.b);
    return ok || err_set(e, ERR_MEMORY, "the profiles do not fit the memory budget");
}
