/* Converts the samples of the old layouts to Profiles, one for each sample type (otlp_old.h has the
 * rules).  Nothing here depends on how a layout numbers its fields. */
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

bool old_slice_stack(old *o, const old_sample_reader *r)
{
    arena *a = &o->tmp;
    old_profile *p = r->p;
    uint64_t start = r->start.v, n = r->n;
    const uint8_t *at = r->start.at;
    uint32_t *stack = &r->s->stack;
    *stack = 0;
    bool fits;
    if (!n) return true;
    if (!slice_fits(o, p, start, n, at, &fits)) return false;
    if (!fits) return true;
    if (!hash_index_room(&p->slice_index, a)) return err_memory(o->e);
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
    if (!s) return err_memory(o->e);
    *s = (old_slice){start, n, *stack};
    hash_put(&p->slice_index, i, h, (uint32_t)(p->slices.n - 1));
    return true;
}

bool old_sample_values(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                       void *to)
{
    old_sample_reader *r = to;
    (void)t;
    if (!old_list_wire(c, f, name)) return false;
    old_iter i = old_iter_open(o, f);
    while (old_iter_next(&i)) {
        int64_t *slot = vec_push(&o->tmp, &r->p->row_values);
        if (!slot) return err_memory(o->e);
        *slot = (int64_t)i.v;
        r->s->values.n++;
    }
    return pb_ok(&i.c);
}

bool old_sample_times(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                      void *to)
{
    old_sample_reader *r = to;
    (void)t;
    if (!old_list_wire(c, f, name)) return false;
    old_iter i = old_iter_open(o, f);
    while (old_iter_next(&i)) {
        uint64_t *slot = vec_push(&o->tmp, &r->p->row_times);
        if (!slot) return err_memory(o->e);
        *slot = i.v;
        r->s->times.n++;
    }
    return pb_ok(&i.c);
}

/* Returns whether the number of values fits the types (otlp_old.h, "timestamps"). */
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
    old_sample_reader r = {.p = p, .s = &s, .start.at = at};
    if (!(o->layout == LAYOUT_1_3 ? old_v3_sample(o, &r, c) : old_v4_sample(o, &r, c)))
        return err_in(o->e, "sample[%zu]", i);
    if (o->b.failed) return err_memory(o->e);
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
    if (!slot) return err_memory(o->e);
    *slot = s;
    return true;
}

/* Decides the unit of v1.3 timestamps: small numbers are milliseconds, because as nanoseconds they
 * would be in January 1970. */
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

/* Appends the values of a row for type t.  Sets *guessed if they are not the values of the
 * input. */
static bool row_values(old *o, const old_profile *p, const old_sample *s, uint32_t t, i64s *to,
                       bool *guessed)
{
    const int64_t *from = s->values.n ? p->row_values.v + s->values.at : NULL;
    uint32_t n_times = s->times.n, n = s->values.n ? 1 : 0;
    bool paired = p->types.n <= 1 && s->values.n > 1;
    if (paired || (n && n_times > 1)) n = n_times;
    to->n = 0;
    if (!vec_reserve(&o->tmp, to, n)) return err_memory(o->e);
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
        if (o->b.failed) return err_memory(o->e);
        if (!made_up) continue;
        *guessed = true;
        old_note(o, LOSS_TIMESTAMP, KILN_ATTR_TIMESTAMP_VALUES,
                 p->each ? STR("each") : STR("spread"), "sample[%zu].value", i);
    }
    return true;
}

/* Returns the position of the type of Profile k. */
static uint32_t type_of(const old_profile *p, uint32_t k)
{
    if (k == 0) return p->first;
    return k <= p->first ? k - 1 : k;
}

/* Sets *out to the order of the types as an attribute value. */
static bool order_value(old *o, const old_profile *p, any *out)
{
    any *v = arena_new(&o->tmp, any, p->types.n);
    if (!v) return err_memory(o->e);
    for (uint32_t k = 0; k < p->types.n; k++) v[k] = (any){.kind = ANY_INT, .i = type_of(p, k)};
    *out = (any){.kind = ANY_ARRAY, .n = (uint32_t)p->types.n, .array = v};
    return true;
}

static bool profile_extras(old *o, const old_profile *p, const old_type *t, bool alone,
                           bool guessed, u32s *attrs)
{
    arena *a = &o->tmp;
    if (!old_temporality(o, t->temporality, "sample_type", attrs)) return false;
    if (p->milliseconds && !old_attr_text(o, a, attrs, KILN_ATTR_TIMESTAMP_UNIT, STR("ms")))
        return false;
    if (guessed && !old_attr_text(o, a, attrs, KILN_ATTR_TIMESTAMP_VALUES,
                                  p->each ? STR("each") : STR("spread")))
        return false;
    if (alone) return true;
    if (p->types.n > 1) {
        any order;
        if (!order_value(o, p, &order)) return false;
        old_note(o, LOSS_SAMPLE_TYPE_ORDER, KILN_ATTR_SAMPLE_TYPE_ORDER, (str){0}, "sample_type");
        if (!old_attr_add(
                o, a, attrs,
                builder_attribute(&o->b, STR(KILN_ATTR_SAMPLE_TYPE_ORDER), &order, (str){0})))
            return false;
    }
    if (!p->default_name) return true;
    str name = old_text(o, p->default_name);
    old_note(o, LOSS_DEFAULT_SAMPLE_TYPE, KILN_ATTR_DEFAULT_SAMPLE_TYPE, name,
             "default_sample_type");
    return old_attr_text(o, a, attrs, KILN_ATTR_DEFAULT_SAMPLE_TYPE, name);
}

static bool emit(old *o, old_profile *p, bool alone)
{
    uint32_t n = p->types.n ? (uint32_t)p->types.n : 1;
    for (uint32_t k = 0; k < n; k++) {
        static const old_type untyped;
        uint32_t t = type_of(p, k);
        const old_type *type = p->types.n ? &p->types.v[t] : &untyped;
        profile *to = builder_profile(&o->b);
        if (o->b.failed) return err_memory(o->e);
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
    return o->b.failed ? err_memory(o->e) : true;
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

/* Adds the order and the default of the types as attributes of a scope with one Profile. */
static bool scope_extras(old *o, const old_profile *p, old_scope *s)
{
    keyvalue *kv;
    if (p->types.n > 1) {
        if (!(kv = vec_push(&o->keep, &s->attrs))) return err_memory(o->e);
        kv->key = STR(PPROF_ATTR_SAMPLE_TYPE_ORDER);
        if (!order_value(o, p, &kv->value)) return false;
        old_note(o, LOSS_SAMPLE_TYPE_ORDER, PPROF_ATTR_SAMPLE_TYPE_ORDER, (str){0}, "sample_type");
        s->scope.present = true;
    }
    if (p->default_name) {
        if (!(kv = vec_push(&o->keep, &s->attrs))) return err_memory(o->e);
        str name = old_text(o, p->default_name);
        *kv = (keyvalue){.key = STR(PPROF_ATTR_DEFAULT_SAMPLE_TYPE),
                         .value = {.kind = ANY_STRING, .n = (uint32_t)name.n, .s = name.p}};
        old_note(o, LOSS_DEFAULT_SAMPLE_TYPE, PPROF_ATTR_DEFAULT_SAMPLE_TYPE, name,
                 "default_sample_type");
        s->scope.present = true;
    }
    return true;
}

static bool decode_scope(old *o, old_scope *s, size_t resource_i, size_t scope_i, void *ctx)
{
    old_root *root = ctx;
    bool alone = s->profiles.n == 1;
    if (!alone && !old_put_scope(o, s)) return false;
    for (size_t i = 0; i < s->profiles.n; i++) {
        old_profile p;
        snprintf(o->where, sizeof o->where,
                 "resource_profiles[%zu].scope_profiles[%zu].profiles[%zu]%s", resource_i, scope_i,
                 i, o->layout == LAYOUT_1_3 ? ".profile" : "");
        bool ok = collect(o, &p, o->layout >= LAYOUT_1_6 ? &root->t : NULL, s->profiles.v[i]);
        if (ok && alone) ok = scope_extras(o, &p, s) && old_put_scope(o, s);
        if (!ok || !emit(o, &p, alone)) return err_in(o->e, "profiles[%zu]", i);
        arena_reset(&o->tmp);
    }
    return true;
}

static bool decode(old *o, pb_cur c, const void *ctx)
{
    (void)ctx;
    old_root r = {0};
    if (!old_v4_root(o, &r, c)) return false;
    if (o->layout == LAYOUT_1_7) snprintf(o->where, sizeof o->where, "dictionary");
    if (o->layout >= LAYOUT_1_6 && !old_v4_tables(o, &r.t))
        return o->layout == LAYOUT_1_7 ? err_in(o->e, "dictionary") : false;
    for (size_t i = 0; i < r.resources.n; i++)
        if (!old_resource(o, old_cur(o, r.resources.v[i]), i, decode_scope, &r))
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
    bool ok = builder_init(&o.b, a) || err_memory(o.e);
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
