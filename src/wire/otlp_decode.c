/* Decodes a message of v1.8 and later: estimates the sizes of the tables, runs the hot walk, and checks
 * the largest index of each table at the end.  Older layouts go to otlp_old.c. */
#include "wire/otlp.h"

#include "wire/carried.h"
#include "wire/otlp_cold.h"
#include "wire/otlp_old.h"

#include "base/ban.h"
#include <inttypes.h>

/* Tables and pools start with the capacity for an ordinary message of this size and grow if
 * necessary, so no pass over the message counts entries.  Untouched memory costs nothing.  There
 * are at most four blocks: the tables and small pools together, and in a large message one for each
 * of the three pools that may outgrow the estimate, so that they grow in place (arena.h). */

static void *carve(uint8_t **at, size_t bytes)
{
    void *p = *at;
    *at += (bytes + (ARENA_ALIGN - 1)) & ~(size_t)(ARENA_ALIGN - 1);
    return p;
}

#define CARVE(vec, count)                                                                          \
    ((vec)->cap = (count), (vec)->v = carve(&at, (vec)->cap * sizeof *(vec)->v))

/* A failed reservation is not an error: growing fails later if the memory is really needed. */
static void reserve(hot *h, size_t n)
{
    model *m = h->m;
    dict *d = &m->dict;
    arena *a = h->a;
    size_t entries = n / 64 + 16, few = entries / 16 + 3;
    size_t n_frames = n / 2 + 2 * HOT_SLACK, n_values = n / 9 + HOT_SLACK,
           n_attrs = n / 8 + 2 * HOT_SLACK;
    bool large = n >= ARENA_LARGE;
    size_t tables = entries * (sizeof(str) + sizeof(location) + sizeof(function) + sizeof(line) +
                               3 * sizeof(uint32_t)) +
                    few * (sizeof(mapping) + 4 * sizeof(link_ids) + 4 * sizeof(attribute)) +
                    few * (sizeof(resource) + sizeof(scope) + sizeof(profile)) +
                    (n / 8 + 16) * (sizeof(uint32_t) + sizeof(uint64_t)) + 20 * ARENA_ALIGN;
    size_t pools = (n_frames + n_attrs) * sizeof(uint32_t) + n_values * sizeof(int64_t);
    if (a->budget && (a->budget < a->used || a->budget - a->used < 2 * (tables + pools)))
        return; /* over the budget: grow as entries arrive */
    if (large && (!vec_reserve(a, &d->frames, n_frames) || !vec_reserve(a, &m->values, n_values) ||
                  !vec_reserve(a, &m->sample_attrs, n_attrs)))
        return;
    /* The rest is for columns that few messages need (links, offsets) and for nested values. */
    if (!arena_reserve(a, tables + (large ? n : pools + 1024))) return;
    uint8_t *at = arena_alloc(a, large ? tables : tables + pools);
    if (!at) return;
    CARVE(&m->resources, few);
    CARVE(&m->scopes, few);
    CARVE(&m->profiles, few);
    CARVE(&d->strings, entries);
    CARVE(&d->locations, entries);
    CARVE(&d->functions, entries);
    CARVE(&d->lines, entries);
    CARVE(&d->stacks, entries);
    CARVE(&d->attr_refs, 2 * entries);
    CARVE(&d->mappings, few);
    CARVE(&d->links, 4 * few);
    CARVE(&d->attributes, 4 * few);
    CARVE(&h->stack, n / 8 + 16);
    CARVE(&m->times, n / 8 + 16);
    if (large) return;
    CARVE(&d->frames, n_frames);
    CARVE(&m->values, n_values);
    CARVE(&m->sample_attrs, n_attrs);
}

/* ---- the walk ---- */

typedef struct decoder {
    hot h;
    hot_samples_fn *samples;
    hot_dictionary_fn *dictionary;
    ledger *ledger;
    u32s comments;                /* v1.8: string indices */
    u32s comment_owner;           /* v1.8: for each comment, the index of its profile */
    u32s temporality;             /* v1.8: per profile, 0 = unspecified */
    uint64_t profile_temporality; /* of the profile being read */
} decoder;

static bool put_refs(decoder *x, pb_cur *c, const pb_field *f, u32s *to)
{
    uint64_t v;
    if (f->wire == 0) {
        if (!vec_reserve(x->h.a, to, 1)) return !(x->h.limit = true);
        to->v[to->n++] = (uint32_t)f->value;
        return true;
    }
    if (f->wire != 2) return pb_fail(c, f->at, "wire type");
    for (pb_cur p = pb_message(c, f); p.p < p.end;) {
        if (!pb_varint(&p, &v)) return false;
        if (!vec_reserve(x->h.a, to, 1)) return !(x->h.limit = true);
        to->v[to->n++] = (uint32_t)v;
    }
    return true;
}

static bool take_id(decoder *x, const pb_field *f, uint8_t id[16])
{
    if (f->value == 16)
        memcpy(id, f->data, 16);
    else
        memset(id, 0, 16);
    return f->value == 16 || f->value == 0 || x->h.lenient;
}

static bool take_text(decoder *x, pb_cur *c, const pb_field *f, const char *name, str *out)
{
    if (!x->h.lenient) return pb_text(c, f, name, out);
    *out = pb_bytes(f);
    return true;
}

/* Reads a field of Profile after `period`.  v1.8 has comments at 7, and later fields are numbered
 * one higher than in v1.9. */
static bool decode_profile_field(decoder *x, pb_cur *c, const pb_field *f, profile *p)
{
    hot *h = &x->h;
    bool v8 = h->layout == LAYOUT_1_8;
    uint64_t period_temporality = 0;
    uint32_t number = f->number;
    if (v8 && number == 7 && (f->wire == 0 || f->wire == 2)) {
        size_t before = x->comments.n;
        if (!put_refs(x, c, f, &x->comments)) return false;
        uint32_t owner = (uint32_t)h->m->profiles.n - 1;
        for (; before < x->comments.n; before++) {
            hot_max(&h->max_string, x->comments.v[before]);
            if (!vec_reserve(h->a, &x->comment_owner, 1)) return !(h->limit = true);
            x->comment_owner.v[x->comment_owner.n++] = owner;
        }
        return true;
    }
    if (v8 && number >= 8) number--; /* the number in v1.9 */
    switch (number << 3 | f->wire) {
    case 1 << 3 | 2:
        return otlp_decode_value_type(h, pb_message(c, f), &p->sample_type,
                                      &x->profile_temporality);
    case 3 << 3 | 1: p->time_unix_nano = f->value; return true;
    case 4 << 3: p->duration_nano = f->value; return true;
    case 5 << 3 | 2:
        return otlp_decode_value_type(h, pb_message(c, f), &p->period_type, &period_temporality);
    case 6 << 3: p->period = (int64_t)f->value; return true;
    case 7 << 3 | 2: return take_id(x, f, p->profile_id);
    case 8 << 3: p->dropped_attributes_count = (uint32_t)f->value; return true;
    case 9 << 3 | 2:
        return take_text(x, c, f, "original_payload_format", &p->original_payload_format);
    case 10 << 3 | 2: p->original_payload = pb_bytes(f); return true;
    case 11 << 3:
    case 11 << 3 | 2: return put_refs(x, c, f, &h->m->dict.attr_refs);
    default: h->n_unknown++; return true;
    }
}

static const uint8_t *other_field(hot *h, const uint8_t *p, const uint8_t *q, profile *out)
{
    decoder *x = (decoder *)h; /* h is the first member */
    pb_cur c = {.p = p, .end = q, .base = p};
    pb_field f;
    return pb_next(&c, &f) && decode_profile_field(x, &c, &f, out) ? c.p : NULL;
}

static bool decode_profile(decoder *x, pb_cur c)
{
    hot *h = &x->h;
    u32s *refs = &h->m->dict.attr_refs;
    profile *p = vec_push(h->a, &h->m->profiles);
    if (!p) return !(h->limit = true);
    p->scope = (uint32_t)h->m->scopes.n - 1;
    x->profile_temporality = 0;
    uint32_t attr_0 = (uint32_t)refs->n;
    if (!x->samples(h, c.p, c.end, p)) return false;
    p->attrs = (span){attr_0, (uint32_t)refs->n - attr_0};
    for (uint32_t i = 0; i < p->attrs.n; i++) hot_max(&h->max_attribute, refs->v[attr_0 + i]);
    if (h->layout == LAYOUT_1_8) {
        uint32_t *t = vec_push(h->a, &x->temporality);
        if (!t) return !(h->limit = true);
        *t = (uint32_t)x->profile_temporality;
    }
    return true;
}

static bool decode_scope_profiles(decoder *x, pb_cur c)
{
    model *m = x->h.m;
    scope *s = vec_push(x->h.a, &m->scopes);
    if (!s) return !(x->h.limit = true);
    s->resource = (uint32_t)m->resources.n - 1;
    s->first_profile = (uint32_t)m->profiles.n;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.wire != 2 || f.number > 3) {
            x->h.n_unknown++;
        } else if (f.number == 1) {
            if (!otlp_decode_scope(&x->h, pb_message(&c, &f), s)) return false;
        } else if (f.number == 2) {
            if (!decode_profile(x, pb_message(&c, &f))) return false;
            s->n_profiles++;
        } else if (!take_text(x, &c, &f, "schema_url", &s->schema_url)) {
            return false;
        }
    }
    return pb_ok(&c);
}

static bool decode_resource_profiles(decoder *x, pb_cur c)
{
    model *m = x->h.m;
    resource *r = vec_push(x->h.a, &m->resources);
    if (!r) return !(x->h.limit = true);
    r->first_scope = (uint32_t)m->scopes.n;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.wire != 2 || f.number > 3) {
            x->h.n_unknown++;
        } else if (f.number == 1) {
            if (!otlp_decode_resource(&x->h, pb_message(&c, &f), r)) return false;
        } else if (f.number == 2) {
            if (!decode_scope_profiles(x, pb_message(&c, &f))) return false;
            r->n_scopes++;
        } else if (!take_text(x, &c, &f, "schema_url", &r->schema_url)) {
            return false;
        }
    }
    return pb_ok(&c);
}

static bool decode_message(decoder *x, pb_cur c)
{
    for (pb_field f; pb_next(&c, &f);) {
        if (f.wire != 2 || f.number > 2) {
            x->h.n_unknown++;
        } else if (f.number == 1) {
            if (!decode_resource_profiles(x, pb_message(&c, &f))) return false;
        } else if (!x->dictionary(&x->h, f.data, f.data + f.value)) {
            return false;
        }
    }
    return pb_ok(&c);
}

/* The stack column may have moved while it grew. */
static void place_columns(model *m, const uint32_t *stack)
{
    for (size_t i = 0; i < m->profiles.n; i++) {
        m->profiles.v[i].stack = stack;
        if (stack) stack += m->profiles.v[i].n_samples;
    }
}

/* ---- after the walk: checks that every index is inside its table ---- */

/* A checked model has entry 0 in every table, even in those that the message lacks. */
static bool add_zero_entries(hot *h)
{
    dict *d = &h->m->dict;
    bool ok = (d->strings.n || vec_push(h->a, &d->strings)) &&
              (d->mappings.n || vec_push(h->a, &d->mappings)) &&
              (d->locations.n || vec_push(h->a, &d->locations)) &&
              (d->functions.n || vec_push(h->a, &d->functions)) &&
              (d->links.n || vec_push(h->a, &d->links)) &&
              (d->attributes.n || vec_push(h->a, &d->attributes)) &&
              (d->stacks.n > 1 || vec_push(h->a, &d->stacks));
    h->limit |= !ok;
    return ok;
}

static bool indices_ok(const dict *d, const hot *h)
{
    return h->max_string < d->strings.n && h->max_mapping < d->mappings.n &&
           h->max_location < d->locations.n && h->max_function < d->functions.n &&
           h->max_link < d->links.n && h->max_attribute < d->attributes.n &&
           h->max_stack < dict_n_stacks(d);
}

/* ---- v1.8: fields that v1.9 removed become attributes ---- */

/* Appends an attribute to the table and to profile i; its key is added to the string table. */
static bool carry(decoder *x, size_t i, str key, any value)
{
    arena *a = x->h.a;
    dict *d = &x->h.m->dict;
    profile *p = &x->h.m->profiles.v[i];
    str *s = vec_push(a, &d->strings);
    attribute *t = vec_push(a, &d->attributes);
    if (!s || !t || !vec_reserve(a, &d->attr_refs, p->attrs.n + 1)) return !(x->h.limit = true);
    *s = key;
    *t = (attribute){.key = (uint32_t)d->strings.n - 1, .value = value};
    uint32_t at = (uint32_t)d->attr_refs.n;
    for (uint32_t k = 0; k < p->attrs.n; k++)
        d->attr_refs.v[d->attr_refs.n++] = d->attr_refs.v[p->attrs.at + k];
    d->attr_refs.v[d->attr_refs.n++] = (uint32_t)d->attributes.n - 1;
    p->attrs = (span){at, p->attrs.n + 1};
    return true;
}

static bool carry_comments(decoder *x)
{
    model *m = x->h.m;
    for (size_t at = 0, end; at < x->comments.n; at = end) {
        uint32_t owner = x->comment_owner.v[at];
        for (end = at; end < x->comments.n && x->comment_owner.v[end] == owner;) end++;
        any list = {.kind = ANY_ARRAY, .n = (uint32_t)(end - at)};
        list.array = arena_new(x->h.a, any, end - at);
        if (!list.array) return !(x->h.limit = true);
        for (size_t k = at; k < end; k++) {
            str s = m->dict.strings.v[x->comments.v[k]];
            list.array[k - at] = (any){.kind = ANY_STRING, .n = (uint32_t)s.n, .s = s.p};
        }
        if (!carry(x, owner, STR(PPROF_ATTR_COMMENT), list)) return false;
        ledger_add(x->ledger, STAGE_READ, LOSS_COMMENTS, PPROF_ATTR_COMMENT,
                   "profiles[].comment_strindices", any_str(&list.array[0]));
    }
    return true;
}

static bool carry_temporality(decoder *x)
{
    for (size_t i = 0; i < x->temporality.n; i++) {
        if (!x->temporality.v[i]) continue;
        str s = x->temporality.v[i] == 1   ? STR("delta")
                : x->temporality.v[i] == 2 ? STR("cumulative")
                                           : STR("unknown");
        any v = {.kind = ANY_STRING, .n = (uint32_t)s.n, .s = s.p};
        if (!carry(x, i, STR(KILN_ATTR_AGGREGATION_TEMPORALITY), v)) return false;
        ledger_add(x->ledger, STAGE_READ, LOSS_AGGREGATION_TEMPORALITY,
                   KILN_ATTR_AGGREGATION_TEMPORALITY,
                   "profiles[].sample_type.aggregation_temporality", s);
    }
    return true;
}

/* ---- the message ---- */

static bool decode_columns(const void *p, size_t n, layout l, const otlp_decode_opts *o, arena *a,
                           model *out, err *e)
{
    const hot_path *path = hot_path_of(o->simd);
    decoder x = {.h = {.safe = (const uint8_t *)p + (n > HOT_MARGIN ? n - HOT_MARGIN : 0),
                       .a = a,
                       .m = out,
                       .layout = l,
                       .lenient = o->lenient,
                       .other = other_field},
                 .samples = path->samples,
                 .dictionary = path->dictionary,
                 .ledger = o->ledger};
    reserve(&x.h, n);
    /* Sets the first offset to 0, and allocates pools even if they stay empty: the hot loops add to their
     * pointers. */
    x.h.limit = !vec_push(a, &out->dict.stacks) || !vec_reserve(a, &out->dict.frames, 1) ||
                !vec_reserve(a, &out->dict.attr_refs, 1) || !vec_reserve(a, &out->values, 1) ||
                !vec_reserve(a, &out->times, 1) || !vec_reserve(a, &out->sample_attrs, 1);
    if (x.h.limit || !decode_message(&x, pb_open(p, n, NULL))) goto failed;
    place_columns(out, x.h.stack.v);
    out->n_unknown = x.h.n_unknown;
    out->seed = a->seed;
    if (o->lenient) return true;
    if (!add_zero_entries(&x.h) || !indices_ok(&out->dict, &x.h)) goto failed;
    if (x.h.refs) otlp_resolve_refs(out);
    if (l == LAYOUT_1_8 && (!carry_comments(&x) || !carry_temporality(&x))) goto failed;
    if (x.h.n_unknown)
        ledger_add_n(o->ledger, STAGE_READ, LOSS_UNKNOWN_FIELD, NULL, x.h.n_unknown, "", (str){0});
    out->checked = true;
    return true;

failed:
    /* The fast path does not know the position of the error; the walk by the tables finds it. */
    if (!x.h.limit && !otlp_locate(p, n, l, !o->lenient, e)) return false;
    if (!x.h.limit) /* cannot happen: fuzz/otlp.c compares the two */
        return err_set(e, ERR_MALFORMED, "the message is malformed");
    if (a->budget)
        return err_set(e, ERR_MEMORY, "decoding needs more than the memory budget of %zu bytes",
                       a->budget);
    return err_set(e, ERR_MEMORY, "out of memory while decoding");
}

bool otlp_decode(const void *p, size_t n, const otlp_decode_opts *o, arena *a, model *out, err *e)
{
    static const otlp_decode_opts defaults;
    if (!o) o = &defaults;
    *out = (model){0};
    if (!n) p = ""; /* pointers are compared with its end */
    if (n > OTLP_MAX_BYTES)
        return err_set(e, ERR_LIMIT, "a message of %zu bytes is larger than protobuf allows (%d)",
                       n, OTLP_MAX_BYTES);
    layout l = o->layout;
    layout_verdict found = {.layout = l, .confidence = LAYOUT_FORCED};
    if (l == LAYOUT_UNKNOWN) {
        if (o->brief || !o->verdict)
            layout_detect_brief(p, n, &found);
        else
            layout_detect(p, n, &found);
        l = found.layout;
    }
    if (o->verdict) *o->verdict = found;
    if (l == LAYOUT_UNKNOWN) l = LAYOUT_CURRENT;
    bool ok = l >= LAYOUT_1_8 ? decode_columns(p, n, l, o, a, out, e)
                              : otlp_old_decode(p, n, l, o, a, out, e);
    if (!ok) *out = (model){0};
    return ok;
}

bool otlp_response_decode(const void *p, size_t n, otlp_response *out, err *e)
{
    *out = (otlp_response){0};
    pb_cur c = pb_open(p, n, e);
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number != 1) continue;
        if (!pb_expect(&c, &f, 2, "partial_success")) return false;
        out->partial = true;
        pb_cur s = pb_message(&c, &f);
        for (pb_field g; pb_next(&s, &g);) {
            if (g.number == 1) {
                if (!pb_expect(&s, &g, 0, "rejected_profiles")) break;
                out->rejected_profiles = (int64_t)g.value;
            } else if (g.number == 2 && !pb_text(&s, &g, "error_message", &out->error_message)) {
                break;
            }
        }
        if (!pb_ok(&s)) return err_in(e, "partial_success");
    }
    return pb_ok(&c);
}
