/* Shared parts of the readers of the drafts: the envelope, the conversion of a draft's profile to
 * the model, stacks, and units of time where a draft does not specify them. */
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

static bool read_scope(old *o, old_scope *s, size_t resource_i, size_t scope_i, void *ctx)
{
    const profile_reader *r = ctx;
    if (!old_put_scope(o, s)) return false;
    for (size_t i = 0; i < s->profiles.n; i++) {
        snprintf(o->where, sizeof o->where,
                 "resource_profiles[%zu].scope_profiles[%zu].profiles[%zu]", resource_i, scope_i,
                 i);
        if (!r->read(o, old_cur(o, s->profiles.v[i]), r->ctx))
            return err_in(o->e, "profiles[%zu]", i);
        arena_reset(&o->tmp);
    }
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
        if (!old_resource(o, pb_message(&c, &f), n, read_scope, &r))
            return err_in(o->e, "resource_profiles[%zu]", n);
        n++;
    }
    return pb_ok(&c);
}

/* ---- a Profile ---- */

/* JFR and perf.data start with a magic number; pprof is usually compressed with gzip. */
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

bool dialect_dropped(old *o, uint32_t count, const char *where, u32s *to)
{
    old_note(o, LOSS_ATTRIBUTE_SET, KILN_ATTR_DROPPED_ATTRIBUTES, (str){0},
             "%s.dropped_attributes_count", where);
    uint32_t attr = builder_attribute_int(&o->b, STR(KILN_ATTR_DROPPED_ATTRIBUTES), (int64_t)count);
    return old_push(o, &o->tmp, to, attr);
}

/* Stores a rate as a period if it divides a second, otherwise as an attribute. */
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
    return old_attr_int(o, &o->tmp, attrs, KILN_ATTR_SAMPLE_RATE, rate);
}

static bool type_attrs(old *o, const dialect_type *t, u32s *attrs)
{
    if (!old_temporality(o, t->temporality, "aggregation_temporality", attrs)) return false;
    if (t->time_unit) {
        str unit = str_of(t->time_unit);
        old_note(o, LOSS_TIMESTAMP, KILN_ATTR_TIMESTAMP_UNIT, unit, "timestamps");
        if (!old_attr_text(o, &o->tmp, attrs, KILN_ATTR_TIMESTAMP_UNIT, unit)) return false;
    }
    if (!t->sample_size) return true;
    old_note(o, LOSS_VALUE_TYPE, KILN_ATTR_SAMPLE_SIZE, (str){0}, "sample_size");
    return old_attr_int(o, &o->tmp, attrs, KILN_ATTR_SAMPLE_SIZE, t->sample_size);
}

bool dialect_emit_profile(old *o, const dialect_head *h, const dialect_type *t, size_t nth,
                          const u32s *extra)
{
    u32s attrs = {0};
    profile *p = builder_profile(&o->b);
    if (o->b.failed) return err_memory(o->e);
    p->sample_type = (value_type){t->type, t->unit};
    p->has_sample_type = true;
    p->dropped_attributes_count = h->dropped_attributes_count;
    if (h->id.n) profile_id_derive((const uint8_t *)h->id.p, nth, p->profile_id);
    if (nth == 0) {
        p->original_payload = h->payload;
        p->original_payload_format = h->payload_format;
        if (h->payload.n && !h->payload_format.n) /* OTLP requires a format */
            p->original_payload_format = dialect_sniff(h->payload);
    }
    set_time(o, h, p);
    if (!old_build_keyvalues(o, &o->tmp, &h->attrs, &attrs)) return false;
    for (size_t i = 0; extra && i < extra->n; i++)
        if (!old_push(o, &o->tmp, &attrs, extra->v[i])) return false;
    if (!type_attrs(o, t, &attrs) || !set_rate(o, t->sample_rate, p, &attrs)) return false;
    builder_profile_attrs(&o->b, attrs.v, attrs.n);
    return o->b.failed ? err_memory(o->e) : true;
}

/* ---- stacks ---- */

void dialect_reverse(u32s *stack)
{
    for (size_t i = 0, k = stack->n; i + 1 < k; i++) {
        uint32_t x = stack->v[i];
        stack->v[i] = stack->v[--k];
        stack->v[k] = x;
    }
}

typedef struct stack_reader {
    const dialect_stacks *of;
    u32s *frames;
} stack_reader;

static bool stack_locations(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                            void *to)
{
    const stack_reader *r = to;
    (void)name;
    if (!old_list_wire(c, f, r->of->field)) return false;
    old_iter i = old_iter_open(o, f);
    while (old_iter_next(&i)) {
        uint32_t at;
        if (!old_index(o, i.v, t->location.n, t->schema->location, r->of->field, i.at, &at) ||
            !old_push(o, t->a, r->frames, at == NONE ? 0 : t->location.v[at]))
            return false;
    }
    return pb_ok(&i.c) || err_in(o->e, "%s", r->of->field);
}

bool dialect_build_stacks(old *o, old_tables *t, const dialect_stacks *s, const pieces *from,
                          u32s *to)
{
    static const old_field fields[] = {[1] = {OLD_CALL, 0, NULL, stack_locations}};
    static const old_message message = OLD_MESSAGE(fields);
    u32s stack = {0};
    stack_reader r = {s, &stack};
    for (size_t i = 0; i < from->n; i++) {
        stack.n = 0;
        if (!old_fields(o, t->a, t, old_cur(o, from->v[i]), &message, &r))
            return err_in(o->e, "%s[%zu]", s->table, i);
        if (s->root_first) dialect_reverse(&stack);
        if (!old_push(o, t->a, to, builder_stack(&o->b, stack.v, stack.n))) return false;
    }
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
