#include "wire/otlp_old.h"

#include "wire/otlp_old_internal.h"

#include "base/ban.h"
#include <inttypes.h>

/* ---- samples ---- */

static bool slice_fits(old *o, const old_profile *p, uint64_t start, uint64_t n, const uint8_t *at,
                       bool *fits)
{
    *fits = start <= p->all_frames.n && n <= p->all_frames.n - start;
    if (*fits) return true;
    if (o->lenient) {
        old_note(o, LOSS_INDEX_REPAIRED, NULL, STR("slice"), "locations_start_index");
        return true;
    }
    return err_at(o->e, ERR_MALFORMED, (uint64_t)(at - o->base),
                  "locations %" PRId64 " and %" PRId64
                  " more are outside location_indices, which has %zu entries",
                  (int64_t)start, (int64_t)n, p->all_frames.n);
}

bool old_slice_stack(old *o, old_profile *p, uint64_t start, uint64_t n, const uint8_t *at,
                     uint32_t *stack)
{
    arena *a = &o->tmp;
    *stack = 0;
    bool fits;
    if (!n) return true;
    if (!slice_fits(o, p, start, n, at, &fits)) return false;
    if (!fits) return true;
    if (!hash_index_room(&p->slice_index, a)) return old_limit(o);
    uint64_t h = hash_mix(hash_mix(p->slice_index.seed, start), n);
    uint32_t i = hash_first(&p->slice_index, h);
    for (uint32_t k; hash_next(&p->slice_index, &i, h, &k); i++) {
        const old_slice *s = &p->slices.v[k];
        if (s->start == start && s->n == n) return *stack = s->stack, true;
    }
    if (n > o->frames_left)
        return err_at(o->e, ERR_LIMIT, (uint64_t)(at - o->base),
                      "stacks have more than %d frames for each byte of the message",
                      OLD_MAX_FRAMES_PER_BYTE);
    o->frames_left -= n;
    p->frames.n = 0;
    for (uint64_t k = 0; k < n; k++)
        if (p->all_frames.v[start + k] != NONE &&
            !old_push(o, a, &p->frames, p->all_frames.v[start + k]))
            return false;
    *stack = builder_stack(&o->b, p->frames.v, p->frames.n);
    old_slice *s = vec_push(a, &p->slices);
    if (!s) return old_limit(o);
    *s = (old_slice){start, n, *stack};
    hash_put(&p->slice_index, i, h, (uint32_t)(p->slices.n - 1));
    return true;
}

bool old_sample_values(old *o, old_profile *p, const pb_field *f, old_sample *s)
{
    old_iter i = old_iter_open(o, f);
    while (old_iter_next(&i)) {
        int64_t *slot = vec_push(&o->tmp, &p->row_values);
        if (!slot) return old_limit(o);
        *slot = (int64_t)i.v;
        s->values.n++;
    }
    return pb_ok(&i.c);
}

bool old_sample_times(old *o, old_profile *p, const pb_field *f, old_sample *s)
{
    old_iter i = old_iter_open(o, f);
    while (old_iter_next(&i)) {
        uint64_t *slot = vec_push(&o->tmp, &p->row_times);
        if (!slot) return old_limit(o);
        *slot = i.v;
        s->times.n++;
    }
    return pb_ok(&i.c);
}

/* Do these values belong to the types?  otlp_old.h, "timestamps". */
static bool row_fits(const old_profile *p, const old_sample *s)
{
    size_t types = p->types.n ? p->types.n : 1;
    return s->values.n == types || (types == 1 && (s->values.n == 0 || s->values.n == s->times.n));
}

static bool row(old *o, old_profile *p, size_t i)
{
    old_sample s = {.attrs.at = (uint32_t)p->row_attrs.n,
                    .values.at = (uint32_t)p->row_values.n,
                    .times.at = (uint32_t)p->row_times.n};
    pb_cur c = old_cur(o, p->samples.v[i]);
    const uint8_t *at = c.p;
    if (!(o->layout == LAYOUT_1_3 ? old_v3_sample(o, p, c, &s) : old_v4_sample(o, p, c, &s)))
        return err_in(o->e, "sample[%zu]", i);
    if (o->b.failed) return old_limit(o);
    if (!row_fits(p, &s)) {
        if (!o->lenient) {
            err_at(o->e, ERR_MALFORMED, (uint64_t)(at - o->base), "%u values for %zu sample types",
                   s.values.n, p->types.n);
            err_in(o->e, "value");
            return err_in(o->e, "sample[%zu]", i);
        }
        old_note(o, LOSS_MIXED_SHAPE, NULL, (str){0}, "sample[%zu].value", i);
        return true;
    }
    old_sample *slot = vec_push(&o->tmp, &p->rows);
    if (!slot) return old_limit(o);
    *slot = s;
    return true;
}

/* v1.3: a day after 1970 is no time for a profile, so small numbers are milliseconds. */
static void find_milliseconds(old *o, old_profile *p)
{
    const uint64_t ms_below = UINT64_C(100000000000000), ns = 1000000;
    uint64_t max = 0;
    for (size_t i = 0; i < p->row_times.n; i++)
        if (p->row_times.v[i] > max) max = p->row_times.v[i];
    if (o->layout != LAYOUT_1_3 || !max || max >= ms_below || max > UINT64_MAX / ns) return;
    p->milliseconds = true;
    for (size_t i = 0; i < p->row_times.n; i++) p->row_times.v[i] *= ns;
    old_note(o, LOSS_TIMESTAMP, KILN_ATTR_TIMESTAMP_UNIT, STR("ms"), "sample[0].timestamps");
}

static bool build_rows(old *o, old_profile *p)
{
    for (size_t i = 0; i < p->samples.n; i++)
        if (!row(o, p, i)) return false;
    find_milliseconds(o, p);
    p->each = p->types.n <= 1;
    for (size_t i = 0; i < p->rows.n; i++) {
        const old_sample *s = &p->rows.v[i];
        if (s->values.n == 1 && s->times.n > 1 && p->row_values.v[s->values.at] != 1)
            p->each = false;
    }
    return true;
}

/* ---- a Profile for each type ---- */

/* Values of a row for type t; *guessed when they were made up. */
static bool row_values(old *o, const old_profile *p, const old_sample *s, uint32_t t, i64s *to,
                       bool *guessed)
{
    const int64_t *from = s->values.n ? p->row_values.v + s->values.at : NULL;
    uint32_t n_times = s->times.n, n = s->values.n ? 1 : 0;
    bool paired = p->types.n <= 1 && s->values.n > 1;
    if (paired || (n && n_times > 1)) n = n_times;
    to->n = 0;
    if (!vec_reserve(&o->tmp, to, n)) return old_limit(o);
    to->n = n;
    if (paired) {
        for (uint32_t i = 0; i < n; i++) to->v[i] = from[i];
    } else if (n == 1) {
        to->v[0] = from[t];
    } else if (n > 1) {
        int64_t v = p->each ? n : from[t], share = v / (int64_t)n;
        if (v % (int64_t)n < 0) share--;
        for (uint32_t i = 1; i < n; i++) to->v[i] = share;
        to->v[0] = v - (int64_t)(n - 1) * share;
        *guessed = true;
    }
    return true;
}

static bool emit_samples(old *o, old_profile *p, uint32_t t, bool *guessed)
{
    i64s values = {0};
    for (size_t i = 0; i < p->rows.n; i++) {
        const old_sample *r = &p->rows.v[i];
        bool made_up = false;
        if (!row_values(o, p, r, t, &values, &made_up)) return false;
        builder_sample(&o->b, &(sample){.stack = r->stack,
                                        .link = r->link == NONE ? 0 : r->link,
                                        .attrs = r->attrs.n ? p->row_attrs.v + r->attrs.at : NULL,
                                        .values = values.v,
                                        .times = r->times.n ? p->row_times.v + r->times.at : NULL,
                                        .n_attrs = r->attrs.n,
                                        .n_values = (uint32_t)values.n,
                                        .n_times = r->times.n});
        if (o->b.failed) return old_limit(o);
        if (!made_up) continue;
        *guessed = true;
        old_note(o, LOSS_TIMESTAMP, KILN_ATTR_TIMESTAMP_VALUES,
                 p->each ? STR("each") : STR("spread"), "sample[%zu].value", i);
    }
    return true;
}

/* Position of the type that Profile k shows. */
static uint32_t type_of(const old_profile *p, uint32_t k)
{
    if (k == 0) return p->first;
    return k <= p->first ? k - 1 : k;
}

static uint32_t temporality_attr(old *o, uint64_t v)
{
    str key = STR(KILN_ATTR_AGGREGATION_TEMPORALITY);
    if (v > 2) return builder_attribute_int(&o->b, key, (int64_t)v);
    return builder_attribute_str(&o->b, key, v == 1 ? STR("delta") : STR("cumulative"));
}

/* The order of the types as an attribute value. */
static bool order_value(old *o, const old_profile *p, any *out)
{
    any *v = arena_new(&o->tmp, any, p->types.n);
    if (!v) return old_limit(o);
    for (uint32_t k = 0; k < p->types.n; k++) v[k] = (any){.kind = ANY_INT, .i = type_of(p, k)};
    *out = (any){.kind = ANY_ARRAY, .n = (uint32_t)p->types.n, .array = v};
    return true;
}

static bool profile_extras(old *o, const old_profile *p, const old_type *t, bool alone,
                           bool guessed, u32s *attrs)
{
    arena *a = &o->tmp;
    builder *b = &o->b;
    if (t->temporality) {
        old_note(o, LOSS_AGGREGATION_TEMPORALITY, KILN_ATTR_AGGREGATION_TEMPORALITY, (str){0},
                 "sample_type");
        if (!old_attr_add(o, a, attrs, temporality_attr(o, t->temporality))) return false;
    }
    if (p->milliseconds &&
        !old_attr_add(o, a, attrs,
                      builder_attribute_str(b, STR(KILN_ATTR_TIMESTAMP_UNIT), STR("ms"))))
        return false;
    if (guessed && !old_attr_add(o, a, attrs,
                                 builder_attribute_str(b, STR(KILN_ATTR_TIMESTAMP_VALUES),
                                                       p->each ? STR("each") : STR("spread"))))
        return false;
    if (alone) return true;
    if (p->types.n > 1) {
        any order;
        if (!order_value(o, p, &order)) return false;
        old_note(o, LOSS_SAMPLE_TYPE_ORDER, KILN_ATTR_SAMPLE_TYPE_ORDER, (str){0}, "sample_type");
        if (!old_attr_add(o, a, attrs,
                          builder_attribute(b, STR(KILN_ATTR_SAMPLE_TYPE_ORDER), &order, (str){0})))
            return false;
    }
    if (!p->default_name) return true;
    str name = old_text(o, p->default_name);
    old_note(o, LOSS_DEFAULT_SAMPLE_TYPE, KILN_ATTR_DEFAULT_SAMPLE_TYPE, name,
             "default_sample_type");
    return old_attr_add(o, a, attrs,
                        builder_attribute_str(b, STR(KILN_ATTR_DEFAULT_SAMPLE_TYPE), name));
}

static bool emit(old *o, old_profile *p, bool alone)
{
    uint32_t n = p->types.n ? (uint32_t)p->types.n : 1;
    for (uint32_t k = 0; k < n; k++) {
        static const old_type untyped;
        uint32_t t = type_of(p, k);
        const old_type *type = p->types.n ? &p->types.v[t] : &untyped;
        profile *to = builder_profile(&o->b);
        if (o->b.failed) return old_limit(o);
        to->sample_type = (value_type){type->type, type->unit};
        to->period_type = (value_type){p->period_type.type, p->period_type.unit};
        to->period = (int64_t)p->period;
        to->time_unix_nano = p->time;
        to->duration_nano = p->duration;
        to->dropped_attributes_count = p->dropped_attributes_count;
        if (p->id.n) profile_id_derive((const uint8_t *)p->id.p, k, to->profile_id);
        if (k == 0) {
            to->original_payload_format = p->payload_format;
            to->original_payload = p->payload;
        }
        bool guessed = false;
        u32s attrs = {0};
        if (!emit_samples(o, p, t, &guessed)) return false;
        for (size_t i = 0; i < p->profile_attrs.n; i++)
            if (!old_push(o, &o->tmp, &attrs, p->profile_attrs.v[i])) return false;
        if (!profile_extras(o, p, type, alone, guessed, &attrs)) return false;
        builder_profile_attrs(&o->b, attrs.v, attrs.n);
    }
    return o->b.failed ? old_limit(o) : true;
}

/* ---- the envelope ---- */

static bool collect(old *o, old_profile *p, old_tables *shared, piece x)
{
    *p = (old_profile){.own.a = &o->tmp};
    p->t = shared ? shared : &p->own;
    pb_cur c = old_cur(o, x);
    bool ok = o->layout == LAYOUT_1_3 ? old_v3_collect(o, p, c) && old_v3_resolve(o, p)
                                      : old_v4_collect(o, p, c) && old_v4_resolve(o, p);
    if (!ok || build_rows(o, p)) return ok;
    return o->layout == LAYOUT_1_3 ? err_in(o->e, "profile") : false;
}

typedef struct scope_reader {
    scope scope;
    keyvalue_list attrs;
    pieces profiles;
} scope_reader;

static bool read_scope(old *o, pb_cur c, scope_reader *s)
{
    s->scope.present = true;
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        switch (f.number) {
        case 1: ok = pb_text(&c, &f, "name", &s->scope.name); break;
        case 2: ok = pb_text(&c, &f, "version", &s->scope.version); break;
        case 3: ok = old_attributes(o, &o->keep, &c, &f, &s->attrs); break;
        case 4:
            ok = old_u32(&c, &f, "dropped_attributes_count", &s->scope.dropped_attributes_count);
            break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    return pb_ok(&c);
}

/* What the types of the scope's only Profile were. */
static bool scope_extras(old *o, const old_profile *p, scope_reader *s)
{
    keyvalue *kv;
    if (p->types.n > 1) {
        if (!(kv = vec_push(&o->keep, &s->attrs))) return old_limit(o);
        kv->key = STR(PPROF_ATTR_SAMPLE_TYPE_ORDER);
        if (!order_value(o, p, &kv->value)) return false;
        old_note(o, LOSS_SAMPLE_TYPE_ORDER, PPROF_ATTR_SAMPLE_TYPE_ORDER, (str){0}, "sample_type");
        s->scope.present = true;
    }
    if (p->default_name) {
        if (!(kv = vec_push(&o->keep, &s->attrs))) return old_limit(o);
        str name = old_text(o, p->default_name);
        *kv = (keyvalue){.key = STR(PPROF_ATTR_DEFAULT_SAMPLE_TYPE),
                         .value = {.kind = ANY_STRING, .n = (uint32_t)name.n, .s = name.p}};
        old_note(o, LOSS_DEFAULT_SAMPLE_TYPE, PPROF_ATTR_DEFAULT_SAMPLE_TYPE, name,
                 "default_sample_type");
        s->scope.present = true;
    }
    return true;
}

static bool put_scope(old *o, scope_reader *s)
{
    s->scope.attrs = (keyvalues){s->attrs.v, s->attrs.n};
    builder_scope(&o->b, &s->scope);
    return o->b.failed ? old_limit(o) : true;
}

static bool scope_fields(old *o, pb_cur c, scope_reader *s)
{
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        switch (f.number) {
        case 1:
            if (!pb_expect(&c, &f, 2, "scope")) return false;
            if (!read_scope(o, pb_message(&c, &f), s)) return err_in(o->e, "scope");
            break;
        case 2: ok = old_piece(o, &o->keep, &c, &f, "profiles", &s->profiles); break;
        case 3: ok = pb_text(&c, &f, "schema_url", &s->scope.schema_url); break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    return pb_ok(&c);
}

static bool decode_scope(old *o, old_tables *shared, pb_cur c, size_t resource_i, size_t scope_i)
{
    scope_reader s = {.scope = {.name = {"", 0}}};
    if (!scope_fields(o, c, &s)) return false;
    bool alone = s.profiles.n == 1;
    if (!alone && !put_scope(o, &s)) return false;
    for (size_t i = 0; i < s.profiles.n; i++) {
        old_profile p;
        snprintf(o->where, sizeof o->where,
                 "resource_profiles[%zu].scope_profiles[%zu].profiles[%zu]%s", resource_i, scope_i,
                 i, o->layout == LAYOUT_1_3 ? ".profile" : "");
        bool ok = collect(o, &p, shared, s.profiles.v[i]);
        if (ok && alone) ok = scope_extras(o, &p, &s) && put_scope(o, &s);
        if (!ok || !emit(o, &p, alone)) return err_in(o->e, "profiles[%zu]", i);
        arena_reset(&o->tmp);
    }
    return true;
}

typedef struct resource_reader {
    resource resource;
    keyvalue_list attrs;
    VEC(entity_ref) refs;
    pieces scopes;
} resource_reader;

static bool entity_keys(old *o, pb_cur *c, const pb_field *f, const char *name, str **v, size_t *n)
{
    VEC(str) list = {*v, *n, *n};
    str s;
    if (!pb_text(c, f, name, &s)) return false;
    str *slot = vec_push(&o->keep, &list);
    if (!slot) return old_limit(o);
    *slot = s;
    *v = list.v;
    *n = list.n;
    return true;
}

static bool read_entity_ref(old *o, pb_cur c, resource_reader *r)
{
    entity_ref *e = vec_push(&o->keep, &r->refs);
    if (!e) return old_limit(o);
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        switch (f.number) {
        case 1: ok = pb_text(&c, &f, "schema_url", &e->schema_url); break;
        case 2: ok = pb_text(&c, &f, "type", &e->type); break;
        case 3: ok = entity_keys(o, &c, &f, "id_keys", &e->id_keys, &e->n_id_keys); break;
        case 4:
            ok = entity_keys(o, &c, &f, "description_keys", &e->description_keys,
                             &e->n_description_keys);
            break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    return pb_ok(&c);
}

static bool read_resource(old *o, pb_cur c, resource_reader *r)
{
    r->resource.present = true;
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        if (f.number == 3 && o->layout >= LAYOUT_1_6) {
            if (!pb_expect(&c, &f, 2, "entity_refs")) return false;
            if (!read_entity_ref(o, pb_message(&c, &f), r))
                return err_in(o->e, "entity_refs[%zu]", r->refs.n - (r->refs.n > 0));
            continue;
        }
        switch (f.number) {
        case 1: ok = old_attributes(o, &o->keep, &c, &f, &r->attrs); break;
        case 2:
            ok = old_u32(&c, &f, "dropped_attributes_count", &r->resource.dropped_attributes_count);
            break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    return pb_ok(&c);
}

static bool decode_resource(old *o, old_tables *shared, pb_cur c, size_t resource_i)
{
    resource_reader r = {.resource = {.schema_url = {"", 0}}};
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        switch (f.number) {
        case 1:
            if (!pb_expect(&c, &f, 2, "resource")) return false;
            if (!read_resource(o, pb_message(&c, &f), &r)) return err_in(o->e, "resource");
            break;
        case 2: ok = old_piece(o, &o->keep, &c, &f, "scope_profiles", &r.scopes); break;
        case 3: ok = pb_text(&c, &f, "schema_url", &r.resource.schema_url); break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    if (!pb_ok(&c)) return false;
    r.resource.attrs = (keyvalues){r.attrs.v, r.attrs.n};
    r.resource.entity_refs = r.refs.v;
    r.resource.n_entity_refs = r.refs.n;
    builder_resource(&o->b, &r.resource);
    if (o->b.failed) return old_limit(o);
    for (size_t i = 0; i < r.scopes.n; i++)
        if (!decode_scope(o, shared, old_cur(o, r.scopes.v[i]), resource_i, i))
            return err_in(o->e, "scope_profiles[%zu]", i);
    return true;
}

static bool root_fields(old *o, pb_cur c, old_tables *t, pieces *resources)
{
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number == 1) {
            if (!old_piece(o, &o->keep, &c, &f, "resource_profiles", resources)) return false;
        } else if (f.number == 2 && o->layout == LAYOUT_1_7) {
            if (!pb_expect(&c, &f, 2, "dictionary")) return false;
            if (!old_v4_dictionary(o, t, pb_message(&c, &f))) return err_in(o->e, "dictionary");
        } else {
            bool is = false;
            /* v1.6: tables 1 to 7 of the later dictionary as fields 2 to 8 of the message */
            if (o->layout == LAYOUT_1_6 && !old_v4_table(o, t, f.number - 1, &c, &f, &is))
                return false;
            if (!is) o->n_unknown++;
        }
    }
    return pb_ok(&c);
}

static bool decode(old *o, pb_cur c, const void *ctx)
{
    (void)ctx;
    old_tables t = {.a = &o->keep};
    bool shared = o->layout >= LAYOUT_1_6;
    pieces resources = {0};
    if (!root_fields(o, c, &t, &resources)) return false;
    if (o->layout == LAYOUT_1_7) snprintf(o->where, sizeof o->where, "dictionary");
    if (shared && !old_v4_tables(o, &t))
        return o->layout == LAYOUT_1_7 ? err_in(o->e, "dictionary") : false;
    for (size_t i = 0; i < resources.n; i++)
        if (!decode_resource(o, shared ? &t : NULL, old_cur(o, resources.v[i]), i))
            return err_in(o->e, "resource_profiles[%zu]", i);
    return true;
}

bool old_read(str bytes, const old_source *s, arena *a, model *out, err *e)
{
    if (bytes.n > OTLP_MAX_BYTES)
        return err_set(e, ERR_LIMIT, "a message has at most %d bytes", OTLP_MAX_BYTES);
    pb_cur c = pb_open(bytes.p, bytes.n, e);
    old o = {.layout = s->layout,
             .lenient = s->lenient,
             .ledger = s->ledger,
             .verdict = s->verdict,
             .base = c.base,
             .e = e,
             .keep = arena_beside(a),
             .tmp = arena_beside(a),
             .frames_left = (uint64_t)bytes.n * OLD_MAX_FRAMES_PER_BYTE};
    bool ok = builder_init(&o.b, a) || old_limit(&o);
    o.b.borrow = true;
    ok = ok && s->decode(&o, c, s->ctx) && builder_finish(&o.b, out, e);
    if (ok) {
        out->n_unknown += o.n_unknown;
        ledger_add_n(o.ledger, STAGE_READ, LOSS_UNKNOWN_FIELD, NULL, o.n_unknown, "", (str){0});
    }
    arena_free(&o.keep);
    arena_free(&o.tmp);
    return ok;
}

bool otlp_old_decode(const void *p, size_t n, layout l, const otlp_decode_opts *opts, arena *a,
                     model *out, err *e)
{
    static const otlp_decode_opts defaults;
    if (!opts) opts = &defaults;
    if (l < LAYOUT_1_3 || l > LAYOUT_1_7)
        return err_set(e, ERR_USAGE, "layout %s is not one of 1.3 to 1.7", layout_name(l));
    old_source s = {.layout = l,
                    .lenient = opts->lenient,
                    .ledger = opts->ledger,
                    .verdict = opts->brief ? NULL : opts->verdict,
                    .decode = decode};
    return old_read((str){p, n}, &s, a, out, e);
}
