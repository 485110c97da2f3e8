#include "format/dialect_read.h"

#include "base/ban.h"
#include <inttypes.h>

bool dialect_read(str bytes, const read_opts *ro, arena *a, model *out, err *e,
                  bool (*decode)(old *o, pb_cur c, const void *ctx), const void *ctx)
{
    old_source s = {.layout = LAYOUT_1_3,
                    .lenient = ro->lenient,
                    .ledger = ro->ledger,
                    .decode = decode,
                    .ctx = ctx};
    return old_read(bytes, &s, a, out, e);
}

/* ---- the envelope ---- */

typedef struct profile_reader {
    bool (*read)(old *o, pb_cur c, const void *ctx);
    const void *ctx;
} profile_reader;

static bool scope_message(old *o, pb_cur c, scope *s, keyvalue_list *attrs)
{
    s->present = true;
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        switch (f.number) {
        case 1: ok = pb_text(&c, &f, "name", &s->name); break;
        case 2: ok = pb_text(&c, &f, "version", &s->version); break;
        case 3: ok = old_attributes(o, &o->keep, &c, &f, attrs); break;
        case 4:
            ok = old_u32(&c, &f, "dropped_attributes_count", &s->dropped_attributes_count);
            break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    return pb_ok(&c);
}

static bool scope_fields(old *o, pb_cur c, scope *s, keyvalue_list *attrs, pieces *profiles)
{
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        switch (f.number) {
        case 1:
            if (!pb_expect(&c, &f, 2, "scope")) return false;
            if (!scope_message(o, pb_message(&c, &f), s, attrs)) return err_in(o->e, "scope");
            break;
        case 2: ok = old_piece(o, &o->keep, &c, &f, "profiles", profiles); break;
        case 3: ok = pb_text(&c, &f, "schema_url", &s->schema_url); break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    return pb_ok(&c);
}

static bool read_scope(old *o, pb_cur c, const profile_reader *r, size_t resource_i, size_t scope_i)
{
    scope s = {.name = {"", 0}};
    keyvalue_list attrs = {0};
    pieces profiles = {0};
    if (!scope_fields(o, c, &s, &attrs, &profiles)) return false;
    s.attrs = (keyvalues){attrs.v, attrs.n};
    builder_scope(&o->b, &s);
    if (o->b.failed) return old_limit(o);
    for (size_t i = 0; i < profiles.n; i++) {
        snprintf(o->where, sizeof o->where,
                 "resource_profiles[%zu].scope_profiles[%zu].profiles[%zu]", resource_i, scope_i,
                 i);
        if (!r->read(o, old_cur(o, profiles.v[i]), r->ctx)) return err_in(o->e, "profiles[%zu]", i);
        arena_reset(&o->tmp);
    }
    return true;
}

static bool resource_message(old *o, pb_cur c, resource *r, keyvalue_list *attrs)
{
    r->present = true;
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        switch (f.number) {
        case 1: ok = old_attributes(o, &o->keep, &c, &f, attrs); break;
        case 2:
            ok = old_u32(&c, &f, "dropped_attributes_count", &r->dropped_attributes_count);
            break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    return pb_ok(&c);
}

static bool read_resource(old *o, pb_cur c, const profile_reader *reader, size_t resource_i)
{
    resource r = {.schema_url = {"", 0}};
    keyvalue_list attrs = {0};
    pieces scopes = {0};
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        switch (f.number) {
        case 1:
            if (!pb_expect(&c, &f, 2, "resource")) return false;
            if (!resource_message(o, pb_message(&c, &f), &r, &attrs))
                return err_in(o->e, "resource");
            break;
        case 2: ok = old_piece(o, &o->keep, &c, &f, "scope_profiles", &scopes); break;
        case 3: ok = pb_text(&c, &f, "schema_url", &r.schema_url); break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    if (!pb_ok(&c)) return false;
    r.attrs = (keyvalues){attrs.v, attrs.n};
    builder_resource(&o->b, &r);
    if (o->b.failed) return old_limit(o);
    for (size_t i = 0; i < scopes.n; i++)
        if (!read_scope(o, old_cur(o, scopes.v[i]), reader, resource_i, i))
            return err_in(o->e, "scope_profiles[%zu]", i);
    return true;
}

bool dialect_read_envelope(old *o, pb_cur c, bool (*each)(old *o, pb_cur c, const void *ctx),
                           const void *ctx)
{
    profile_reader r = {each, ctx};
    size_t n = 0;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number != 1) {
            o->n_unknown++;
            continue;
        }
        if (!pb_expect(&c, &f, 2, "resource_profiles")) return false;
        if (!read_resource(o, pb_message(&c, &f), &r, n))
            return err_in(o->e, "resource_profiles[%zu]", n);
        n++;
    }
    return pb_ok(&c);
}

/* ---- a Profile ---- */

/* The draft has no field for it: jfr and perf begin with their names, pprof is usually gzip. */
str dialect_sniff(str bytes)
{
    if (str_starts(bytes, STR("FLR\0"))) return STR("jfr");
    if (str_starts(bytes, STR("PERFILE2"))) return STR("linux_perf");
    if (str_starts(bytes, STR("\x1f\x8b"))) return STR("pprof");
    return STR("unknown");
}

static bool set_time(old *o, const dialect_head *h, profile *p)
{
    p->time_unix_nano = h->start;
    if (h->end >= h->start)
        p->duration_nano = h->end - h->start;
    else if (h->end)
        old_end_before_start(o, h->start, h->end);
    return true;
}

static bool add_int(old *o, u32s *to, const char *key, uint64_t v)
{
    return old_attr_add(o, &o->tmp, to, builder_attribute_int(&o->b, str_of(key), (int64_t)v));
}

bool dialect_dropped(old *o, uint32_t count, const char *where, u32s *to)
{
    old_note(o, LOSS_ATTRIBUTE_SET, KILN_ATTR_DROPPED_ATTRIBUTES, (str){0},
             "%s.dropped_attributes_count", where);
    uint32_t attr = builder_attribute_int(&o->b, STR(KILN_ATTR_DROPPED_ATTRIBUTES), (int64_t)count);
    return old_push(o, &o->tmp, to, attr);
}

static bool add_text(old *o, u32s *to, const char *key, str v)
{
    return old_attr_add(o, &o->tmp, to, builder_attribute_str(&o->b, str_of(key), v));
}

/* A rate is a period when a second divides by it. */
static bool set_rate(old *o, uint64_t rate, profile *p, u32s *attrs)
{
    const uint64_t second = 1000000000;
    if (!rate) return true;
    if (second % rate == 0) {
        p->period = (int64_t)(second / rate);
        p->period_type = (value_type){builder_string(&o->b, STR("cpu")),
                                      builder_string(&o->b, STR("nanoseconds"))};
        return true;
    }
    old_note(o, LOSS_PERIOD, KILN_ATTR_SAMPLE_RATE, (str){0}, "sample_rate");
    return add_int(o, attrs, KILN_ATTR_SAMPLE_RATE, rate);
}

static bool type_attrs(old *o, const dialect_type *t, u32s *attrs)
{
    if (t->temporality) {
        const char *key = KILN_ATTR_AGGREGATION_TEMPORALITY;
        old_note(o, LOSS_AGGREGATION_TEMPORALITY, key, (str){0}, "aggregation_temporality");
        bool known = t->temporality <= 2;
        str text = t->temporality == 1 ? STR("delta") : STR("cumulative");
        if (!(known ? add_text(o, attrs, key, text) : add_int(o, attrs, key, t->temporality)))
            return false;
    }
    if (t->time_unit) {
        str unit = str_of(t->time_unit);
        old_note(o, LOSS_TIMESTAMP, KILN_ATTR_TIMESTAMP_UNIT, unit, "timestamps");
        if (!add_text(o, attrs, KILN_ATTR_TIMESTAMP_UNIT, unit)) return false;
    }
    if (!t->sample_size) return true;
    old_note(o, LOSS_VALUE_TYPE, KILN_ATTR_SAMPLE_SIZE, (str){0}, "sample_size");
    return add_int(o, attrs, KILN_ATTR_SAMPLE_SIZE, t->sample_size);
}

bool dialect_emit_profile(old *o, const dialect_head *h, const dialect_type *t, size_t nth,
                          const u32s *extra)
{
    u32s attrs = {0};
    profile *p = builder_profile(&o->b);
    if (o->b.failed) return old_limit(o);
    p->sample_type = (value_type){t->type, t->unit};
    p->has_sample_type = true;
    p->dropped_attributes_count = h->dropped_attributes_count;
    if (h->id.n) profile_id_derive((const uint8_t *)h->id.p, nth, p->profile_id);
    if (nth == 0) {
        p->original_payload = h->payload;
        p->original_payload_format = h->payload_format;
        if (h->payload.n && !h->payload_format.n) /* OTLP wants one */
            p->original_payload_format = dialect_sniff(h->payload);
    }
    set_time(o, h, p);
    for (size_t i = 0; i < h->attrs.n; i++) {
        const keyvalue *kv = &h->attrs.v[i];
        if (!old_push(o, &o->tmp, &attrs, builder_attribute(&o->b, kv->key, &kv->value, (str){0})))
            return false;
    }
    for (size_t i = 0; extra && i < extra->n; i++)
        if (!old_push(o, &o->tmp, &attrs, extra->v[i])) return false;
    if (!type_attrs(o, t, &attrs) || !set_rate(o, t->sample_rate, p, &attrs)) return false;
    builder_profile_attrs(&o->b, attrs.v, attrs.n);
    return o->b.failed ? old_limit(o) : true;
}

/* ---- tables ---- */

bool dialect_links(old *o, old_tables *t, const char *name)
{
    static const uint8_t zero[16];
    for (size_t i = 0; i < t->links.n; i++) {
        str trace = {0}, span_id = {0};
        pb_cur c = old_cur(o, t->links.v[i]);
        for (pb_field f; pb_next(&c, &f);) {
            bool ok = true;
            if (f.number == 1)
                ok = old_id_bytes(&c, &f, "trace_id", 16, &trace);
            else if (f.number == 2)
                ok = old_id_bytes(&c, &f, "span_id", 8, &span_id);
            else
                o->n_unknown++;
            if (!ok) break;
        }
        if (!pb_ok(&c)) return err_in(o->e, "%s[%zu]", name, i);
        uint32_t at = builder_link(&o->b, trace.n ? (const uint8_t *)trace.p : zero,
                                   span_id.n ? (const uint8_t *)span_id.p : zero);
        if (!old_push(o, t->a, &t->link, at)) return false;
    }
    return true;
}

bool dialect_build_id(old *o, str id, uint64_t kind, size_t position, u32s *attrs)
{
    if (id.n) {
        const char *key = kind                      ? KILN_ATTR_BUILD_ID_HASH
                          : memchr(id.p, '/', id.n) ? ATTR_BUILD_ID_GO
                                                    : ATTR_BUILD_ID_GNU;
        old_note(o, LOSS_BUILD_ID, key, id, "mappings[%zu].build_id", position);
        if (!add_text(o, attrs, key, id)) return false;
    }
    if (!kind) return true;
    old_note(o, LOSS_BUILD_ID_KIND, KILN_ATTR_BUILD_ID_KIND, STR("hash"),
             "mappings[%zu].build_id_kind", position);
    return kind == 1 ? add_text(o, attrs, KILN_ATTR_BUILD_ID_KIND, STR("hash"))
                     : add_int(o, attrs, KILN_ATTR_BUILD_ID_KIND, kind);
}

bool dialect_flags(old *o, const bool flags[4], size_t position, u32s *attrs)
{
    static const char *const has[4] = {PPROF_ATTR_HAS_FUNCTIONS, PPROF_ATTR_HAS_FILENAMES,
                                       PPROF_ATTR_HAS_LINE_NUMBERS, PPROF_ATTR_HAS_INLINE_FRAMES};
    for (size_t i = 0; i < 4; i++) {
        if (!flags[i]) continue;
        old_note(o, LOSS_SYMBOL_STATE, has[i], STR("true"), "mappings[%zu]", position);
        if (!old_attr_add(o, &o->tmp, attrs, builder_attribute_bool(&o->b, str_of(has[i]), true)))
            return false;
    }
    return true;
}

bool dialect_frame_attrs(old *o, uint32_t type, bool folded, size_t position, u32s *attrs)
{
    str name = old_text(o, type);
    if (name.n) {
        old_note(o, LOSS_FRAME_TYPE, ATTR_FRAME_TYPE, name, "locations[%zu]", position);
        if (str_eq(name, STR("python"))) name = STR("cpython");
        if (str_eq(name, STR("hotspot"))) name = STR("jvm");
        if (!add_text(o, attrs, ATTR_FRAME_TYPE, name)) return false;
    }
    if (!folded) return true;
    old_note(o, LOSS_FOLDED_FLAG, PPROF_ATTR_IS_FOLDED, STR("true"), "locations[%zu]", position);
    return old_attr_add(o, &o->tmp, attrs,
                        builder_attribute_bool(&o->b, STR(PPROF_ATTR_IS_FOLDED), true));
}

bool dialect_mapping_ref(old *o, const old_tables *t, const dialect_main *m, uint64_t ref,
                         uint64_t address, const uint8_t *at, uint32_t *out)
{
    *out = 0;
    if (ref == 0 && (address < m->start || address >= m->limit)) return true;
    uint32_t i;
    if (!old_index(o, ref, t->mapping.n, "mappings", "mapping_index", at, &i)) return false;
    if (i != NONE) *out = t->mapping.v[i];
    return true;
}

/* ---- times ---- */

static const struct {
    const char *name;
    uint64_t ns, below;
} time_units[] = {{"s", 1000000000, 100000000000},
                  {"ms", 1000000, 100000000000000},
                  {"us", 1000, 100000000000000000},
                  {"ns", 1, UINT64_MAX}};

const char *time_unit_of(uint64_t time, uint64_t *ns)
{
    size_t i = 0;
    while (i + 1 < ARRAY_LEN(time_units) && time >= time_units[i].below) i++;
    *ns = time_units[i].ns;
    return time_units[i].name;
}

uint64_t time_unit_ns(str name)
{
    for (size_t i = 0; i < ARRAY_LEN(time_units); i++)
        if (str_eq(name, str_of(time_units[i].name))) return time_units[i].ns;
    return 0;
}
