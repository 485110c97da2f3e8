/* Reads dialect C (format/events.h): events in wire order, then a Profile for each type. */
#include "format/events.h"

#include "base/ban.h"
#include <inttypes.h>

/* ---- arithmetic that reader and writer share ---- */

static const uint64_t second = 1000000000;

static i128 floor_div(i128 a, i128 b) { return a / b - (a % b < 0); }

i128 ticks_to_ns(i128 ticks, uint64_t frequency)
{
    return floor_div(ticks * (i128)second, (i128)frequency);
}

i128 ns_to_ticks(i128 ns, uint64_t frequency)
{
    return -floor_div(-(ns * (i128)frequency), (i128)second);
}

event_form event_form_of(bool clocked, uint64_t default_value, uint64_t size)
{
    if (clocked) return (event_form){.value = size == default_value ? 0 : size};
    if (default_value && size && size % default_value == 0)
        return (event_form){.count = size / default_value};
    return (event_form){.sum = size};
}

bool is_time_unit(str unit)
{
    static const char *const names[] = {
        "ns", "us",          "\xc2\xb5s",    "ms",           "s",      "min", "h",
        "d",  "nanoseconds", "microseconds", "milliseconds", "seconds"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eq(unit, str_of(names[i]))) return true;
    return false;
}

bool is_count_unit(str unit)
{
    return !unit.n || str_eq(unit, STR("1")) || str_eq(unit, STR("count")) ||
           str_eq(unit, STR("samples"));
}

/* ---- events ---- */

typedef struct raw_event {
    old_ref type, stack, link;
    uint64_t duration;
    int64_t time;
    c_event e;
} raw_event;

static bool event_attrs(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                        void *unused)
{
    (void)unused;
    return c_attr_refs(o, t, c, f, name, &((c_profile *)t->owner)->event_attrs);
}

static const old_field event_fields[] = {
    [1] = OLD_FIELD(REF, raw_event, type, "event_type_index"),
    [2] = OLD_FIELD(REF, raw_event, stack, "stack_index"),
    [3] = OLD_FIELD(REF, raw_event, link, "link_index"),
    [4] = {OLD_CALL, 0, "attribute_indices", event_attrs},
    [5] = OLD_FIELD(U64, raw_event, time, "time"),
    [6] = OLD_FIELD(U64, raw_event, duration, "duration"),
    [7] = OLD_FIELD(U64, raw_event, e.value, "value"),
    [8] = OLD_FIELD(U64, raw_event, e.count, "count"),
    [9] = OLD_FIELD(U64, raw_event, e.sum, "sum"),
};

static bool resolve(old *o, const c_profile *p, const raw_event *r, c_event *e)
{
    uint32_t i;
    e->type = NONE;
    if ((r->type.v || p->type.n) && !old_index(o, r->type.v, p->type.n, "event_types",
                                               "event_type_index", r->type.at, &e->type))
        return false;
    if (r->stack.v && !p->stack.n) { /* as in the proposal's examples */
        old_note(o, LOSS_INDEX_REPAIRED, NULL, STR("no stacks"), "events.stack_index");
    } else if (r->stack.v) {
        if (!old_index(o, r->stack.v, p->stack.n, "stacks", "stack_index", r->stack.at, &i))
            return false;
        if (i != NONE) e->stack = p->stack.v[i];
    }
    if (!r->link.at) return true; /* absent; an explicit 0 is link 0 */
    if (!old_index(o, r->link.v, p->t.link.n, "links", "link_index", r->link.at, &i)) return false;
    if (i != NONE) e->link = p->t.link.v[i];
    return true;
}

static uint64_t clamp(old *o, i128 v, uint64_t max, const char *what)
{
    if (v >= 0 && v <= (i128)max) return (uint64_t)v;
    old_note(o, LOSS_TIMESTAMP, NULL, (str){0}, "events.%s", what);
    return v < 0 ? 0 : max;
}

/* Computes the time of an event: the sum of the ticks of its clock so far, in wire order. */
static void set_times(old *o, c_profile *p, const raw_event *r, c_event *e)
{
    c_type *t = e->type == NONE ? NULL : &p->type.v[e->type];
    if (!t || t->clock == NONE) {
        if (r->time) old_note(o, LOSS_TIMESTAMP, NULL, (str){0}, "events.time");
        if (r->duration) old_note(o, LOSS_EVENT_DURATION, NULL, (str){0}, "events.duration");
        return;
    }
    c_clock *k = &p->clock.v[t->clock];
    if (!k->frequency) return;
    k->now += r->time;
    e->time =
        clamp(o, (i128)k->time_unix_nano + ticks_to_ns(k->now, k->frequency), UINT64_MAX, "time");
    e->duration = clamp(o, ticks_to_ns((i128)r->duration, k->frequency), INT64_MAX, "duration");
    bool exact = (k->now * (i128)second) % (i128)k->frequency == 0 &&
                 ((i128)r->duration * (i128)second) % (i128)k->frequency == 0;
    if (!exact) /* ticks of a clock up to 1 GHz can be restored */
        old_note(o, LOSS_ROUNDED, k->frequency <= second ? KILN_ATTR_EVENT_CLOCK : NULL, (str){0},
                 "events.time");
}

/* Updates the counts of the event's type. */
static void count_event(c_profile *p, const c_event *e)
{
    c_type *t = &p->type.v[e->type];
    t->n_events++;
    t->durations |= e->duration != 0;
    t->others |= e->value || e->sum || e->count > 1 || (!e->duration && t->default_value);
    t->paired |= e->count && e->sum;
}

static bool read_event(old *o, c_profile *p, pb_cur c)
{
    static const old_message message = OLD_MESSAGE(event_fields);
    raw_event r = {.type.at = c.p, .stack.at = c.p, .e.attrs.at = (uint32_t)p->event_attrs.n};
    c_event *e = vec_push(&o->tmp, &p->event);
    if (!e) return err_memory(o->e);
    if (!old_fields(o, &o->tmp, &p->t, c, &message, &r)) return false;
    *e = r.e;
    e->attrs.n = (uint32_t)p->event_attrs.n - e->attrs.at;
    if (!resolve(o, p, &r, e)) return false;
    set_times(o, p, &r, e);
    if (e->type != NONE) count_event(p, e);
    return true;
}

/* ---- sizes ---- */

static uint64_t times_saturated(uint64_t a, uint64_t b)
{
    uint64_t r;
    return ckd_mul(&r, a, b) ? UINT64_MAX : r;
}

static uint64_t size_of(const old *o, const c_type *t, const c_event *e)
{
    if (t->clock != NONE && e->count <= 1)
        return e->value ? e->value : t->default_value ? t->default_value : e->sum;
    if (e->sum) return e->sum;
    if (e->value) return e->value;
    uint64_t each = t->default_value;
    if (!each && is_count_unit(old_text(o, t->unit))) each = e->count ? 1 : 0;
    return times_saturated(e->count ? e->count : 1, each);
}

static bool is_interval(const old *o, const c_type *t)
{
    str unit = old_text(o, t->unit);
    return t->clock != NONE && t->durations && !t->others && (!unit.n || is_time_unit(unit));
}

/* Records a loss if a writer would encode the size in another form than the input. */
static void note_form(old *o, const c_type *t, const c_event *e, uint64_t size, bool interval)
{
    event_form want = event_form_of(t->clock != NONE, t->default_value, size);
    if (t->paired) want = (event_form){.count = e->count ? e->count : 1, .sum = size};
    if (interval) want = (event_form){0};
    if (e->value != want.value || e->count != want.count || e->sum != want.sum)
        old_note(o, LOSS_COUNT_SUM, NULL, (str){0}, "events");
}

/* ---- a Profile for each type ---- */

static bool clock_attr(old *o, const c_profile *p, uint32_t i, u32s *to)
{
    const c_clock *k = &p->clock.v[i];
    const dict *d = &o->b.m.dict;
    keyvalue *attrs = arena_new(&o->tmp, keyvalue, k->attrs.n);
    if (!attrs) return err_memory(o->e);
    for (size_t n = 0; n < k->attrs.n; n++) {
        const attribute *t = &d->attributes.v[k->attrs.v[n]];
        attrs[n] = (keyvalue){.key = d->strings.v[t->key], .value = t->value};
    }
    keyvalue v[4] = {
        {.key = STR("index"), .value = {.kind = ANY_INT, .i = i}},
        {.key = STR("frequency"), .value = {.kind = ANY_INT, .i = (int64_t)k->frequency}},
        {.key = STR("time_unix_nano"), .value = {.kind = ANY_INT, .i = (int64_t)k->time_unix_nano}},
        {.key = STR("attributes"),
         .value = {.kind = ANY_KVLIST, .n = (uint32_t)k->attrs.n, .kvlist = attrs}},
    };
    any list = {.kind = ANY_KVLIST, .n = k->attrs.n ? 4 : 3, .kvlist = v};
    old_note(o, LOSS_CLOCK, KILN_ATTR_EVENT_CLOCK, (str){0}, "clocks[%u]", i);
    return old_attr_add(o, &o->tmp, to,
                        builder_attribute(&o->b, STR(KILN_ATTR_EVENT_CLOCK), &list, (str){0}));
}

static bool type_attrs(old *o, const c_profile *p, const c_type *t, bool interval, u32s *to)
{
    builder *b = &o->b;
    arena *a = &o->tmp;
    str unit = old_text(o, t->unit);
    for (size_t i = 0; i < t->attrs.n; i++)
        if (!old_push(o, a, to, t->attrs.v[i])) return false;
    if (t->clock != NONE && !clock_attr(o, p, t->clock, to)) return false;
    /* Without a clock, a writer would set a default of 1 for counts, so 0 is recorded. */
    if (t->default_value || (t->clock == NONE && is_count_unit(unit))) {
        old_note(o, LOSS_VALUE_TYPE, KILN_ATTR_EVENT_DEFAULT, (str){0}, "event_types");
        if (!old_attr_add(
                o, a, to,
                builder_attribute_int(b, STR(KILN_ATTR_EVENT_DEFAULT), (int64_t)t->default_value)))
            return false;
    }
    if (!interval) return true;
    old_note(o, LOSS_EVENT_DURATION, KILN_ATTR_EVENT_INTERVAL, (str){0}, "events.duration");
    if (!old_attr_add(o, a, to, builder_attribute_bool(b, STR(KILN_ATTR_EVENT_INTERVAL), true)))
        return false;
    return !unit.n ||
           old_attr_add(o, a, to, builder_attribute_str(b, STR(KILN_ATTR_EVENT_UNIT), unit));
}

static int64_t as_value(old *o, uint64_t v)
{
    if (v <= INT64_MAX) return (int64_t)v;
    old_note(o, LOSS_VALUE_SATURATED, NULL, (str){0}, "events");
    return INT64_MAX;
}

static bool emit_event(old *o, const c_profile *p, const c_type *t, const c_event *e, bool interval,
                       bool counts, u32s *attrs)
{
    uint64_t size = interval ? e->duration : size_of(o, t, e);
    if (!counts) note_form(o, t, e, size, interval);
    int64_t value = counts ? as_value(o, e->count ? e->count : 1) : as_value(o, size);
    attrs->n = 0;
    for (uint32_t i = 0; i < e->attrs.n; i++)
        if (!old_push(o, &o->tmp, attrs, p->event_attrs.v[e->attrs.at + i])) return false;
    if (!interval && e->duration) {
        old_note(o, LOSS_EVENT_DURATION, KILN_ATTR_EVENT_DURATION, (str){0}, "events.duration");
        if (!old_attr_add(
                o, &o->tmp, attrs,
                builder_attribute_int(&o->b, STR(KILN_ATTR_EVENT_DURATION), (int64_t)e->duration)))
            return false;
    }
    builder_sample(&o->b, &(sample){.stack = e->stack,
                                    .link = e->link,
                                    .attrs = attrs->v,
                                    .n_attrs = (uint32_t)attrs->n,
                                    .values = &value,
                                    .n_values = 1,
                                    .times = &e->time,
                                    .n_times = t->clock != NONE});
    return o->b.failed ? err_memory(o->e) : true;
}

static bool emit_type(old *o, c_profile *p, const c_type *t, const uint32_t *events, size_t *nth)
{
    bool interval = is_interval(o, t);
    u32s extra = {0}, attrs = {0};
    for (size_t i = 0; i < p->comment.n; i++)
        if (!old_push(o, &o->tmp, &extra, p->comment.v[i])) return false;
    if (!type_attrs(o, p, t, interval, &extra)) return false;
    for (int counts = 0; counts <= (t->paired ? 1 : 0); counts++) {
        dialect_type type = {.type = t->name, .unit = t->unit};
        if (interval) type.unit = builder_string(&o->b, STR("ns"));
        if (counts) type.unit = builder_string(&o->b, STR("1"));
        if (!dialect_emit_profile(o, &p->head, &type, (*nth)++, &extra)) return false;
        for (size_t i = 0; i < t->n_events; i++)
            if (!emit_event(o, p, t, &p->event.v[events[i]], interval, counts, &attrs))
                return false;
    }
    return true;
}

/* Returns the positions of the events, grouped by type in their order. Sets begin[] to the start of
 * each type. */
static uint32_t *by_type(old *o, const c_profile *p, size_t *begin)
{
    uint32_t *order = arena_new(&o->tmp, uint32_t, p->event.n);
    size_t *at = arena_new(&o->tmp, size_t, p->type.n);
    if (!order || !at) return err_memory(o->e), NULL;
    for (size_t i = 0, n = 0; i < p->type.n; n += p->type.v[i++].n_events) begin[i] = at[i] = n;
    uint32_t last = 0;
    bool mixed = false;
    for (uint32_t i = 0; i < p->event.n; i++) {
        uint32_t t = p->event.v[i].type;
        if (t == NONE) {
            old_note(o, LOSS_PROFILE_REFUSED, NULL, STR("no such type"), "events[%u]", i);
            continue;
        }
        mixed |= t < last;
        last = t;
        order[at[t]++] = i;
    }
    if (mixed) old_note(o, LOSS_EVENT_ORDER, NULL, (str){0}, "events");
    return order;
}

/* Sets the times. A Profile has end and duration, a container start and end, which has priority. */
static void set_head_times(old *o, c_profile *p)
{
    int64_t duration = (int64_t)p->duration;
    uint64_t start = p->end;
    if (duration < 0 || (uint64_t)duration > p->end)
        old_note(o, LOSS_TIME, NULL, (str){0}, "duration_nanos");
    else
        start = p->end - (uint64_t)duration;
    if (!p->timed && !p->duration) return;
    if (!p->head.start && !p->head.end) {
        p->head.start = start;
        p->head.end = p->end;
    } else if (p->head.start != start || (p->head.end && p->head.end != p->end)) {
        old_note(o, LOSS_TIME, NULL, (str){0}, "time_unix_nano");
    }
}

bool c_emit(old *o, c_profile *p)
{
    for (size_t i = 0; i < p->events.n; i++)
        if (!read_event(o, p, old_cur(o, p->events.v[i]))) return err_in(o->e, "events[%zu]", i);
    size_t *begin = arena_new(&o->tmp, size_t, p->type.n);
    uint32_t *order = begin ? by_type(o, p, begin) : NULL;
    if (!order) return err_memory(o->e);
    set_head_times(o, p);
    size_t n_emitted = 0;
    for (size_t i = 0; i < p->type.n; i++) {
        const c_type *t = &p->type.v[i];
        if (t->refused) {
            old_note(o, LOSS_PROFILE_REFUSED, NULL, STR("its clock does not advance"),
                     "event_types[%zu]", i);
            continue;
        }
        if (!emit_type(o, p, t, order + begin[i], &n_emitted)) return false;
    }
    const dialect_head *h = &p->head;
    bool head = h->start || h->end || h->id.n || h->payload.n || h->payload_format.n ||
                h->attrs.n || h->dropped_attributes_count || p->comment.n;
    if (n_emitted || !head) return true;
    dialect_type none = {0};
    return dialect_emit_profile(o, &p->head, &none, 0, &p->comment);
}

/* ---- envelopes ---- */

static bool read_profile(old *o, pb_cur c, const void *ctx)
{
    (void)ctx;
    c_profile p = {0};
    return c_collect(o, &p, c) && c_tables(o, &p) && c_emit(o, &p);
}

static bool box_profile(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                        void *to)
{
    (void)t;
    return pb_expect(c, f, 2, name) &&
           (c_collect(o, to, pb_message(c, f)) || err_in(o->e, "%s", name));
}

static const old_field box_fields[] = {
    DIALECT_HEAD(c_profile),
    [6] = OLD_FIELD(TEXT, c_profile, head.payload_format, "original_payload_format"),
    [7] = OLD_FIELD(BYTES, c_profile, head.payload, "original_payload"),
    [8] = {OLD_CALL, 0, "profile", box_profile},
};

static bool read_box(old *o, pb_cur c, const void *ctx)
{
    static const old_message message = OLD_MESSAGE(box_fields);
    (void)ctx;
    c_profile p = {.t.a = &o->tmp};
    return old_fields(o, &o->tmp, &p.t, c, &message, &p) &&
           ((c_tables(o, &p) && c_emit(o, &p)) || err_in(o->e, "profile"));
}

static bool decode_bare(old *o, pb_cur c, const void *ctx)
{
    builder_resource(&o->b, NULL);
    builder_scope(&o->b, NULL);
    if (o->b.failed) return err_memory(o->e);
    return read_profile(o, c, ctx);
}

static bool decode_box(old *o, pb_cur c, const void *ctx)
{
    return dialect_read_envelope(o, c, read_box, ctx);
}

static bool decode_scope(old *o, pb_cur c, const void *ctx)
{
    return dialect_read_envelope(o, c, read_profile, ctx);
}

/* Whether field 1 is an envelope, with messages and a text, rather than an Event, mostly
 * numbers. */
static bool has_container(str bytes)
{
    pb_cur c = pb_open(bytes.p, bytes.n, NULL);
    bool some = false;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number != 1 || f.wire != 2) return false;
        pb_cur in = pb_message(&c, &f);
        for (pb_field x; pb_next(&in, &x); some = true)
            if (x.wire != 2 || x.number > 3) return false;
    }
    return some;
}

bool events_decode(str bytes, const read_opts *ro, arena *a, model *out, err *e)
{
    switch (dialect_detect_among(bytes, DIALECTS_C)) {
    case DIALECT_C_BOX: return dialect_read(bytes, ro, a, out, e, decode_box, NULL);
    case DIALECT_C_SCOPE: return dialect_read(bytes, ro, a, out, e, decode_scope, NULL);
    case DIALECT_C: return dialect_read(bytes, ro, a, out, e, decode_bare, NULL);
    default: /* malformed, or too few bytes to tell */
        return dialect_read(bytes, ro, a, out, e, has_container(bytes) ? decode_box : decode_bare,
                            NULL);
    }
}

static bool read(const format *f, str bytes, const read_opts *o, arena *a, model *out,
                 layout_verdict *verdict, err *e)
{
    (void)f, (void)verdict;
    return events_decode(bytes, o, a, out, e);
}

static bool write(const format *f, const model *m, const write_opts *o, buf *out, err *e)
{
    (void)f;
    dialect root;
    return events_encode(m, o, out, &root, e);
}

static unsigned detect(str bytes)
{
    switch (dialect_detect_among(bytes, DIALECTS_C)) {
    case DIALECT_C:
    case DIALECT_C_BOX:
    case DIALECT_C_SCOPE: return 92;
    default: return 0;
    }
}

static bool may_be(const format *f, str bytes)
{
    (void)f;
    return dialect_fits_any(bytes, DIALECTS_C);
}

static bool is_current(str bytes)
{
    return dialect_detect_among(bytes, DIALECTS_C) != DIALECT_C_SCOPE;
}

const format format_events = {
    .name = "events",
    .what = "the proposal of timestamped profiling events (opentelemetry-proto PR 594)",
    .suffixes = ".events",
    .carries = CARRIES_ALL & ~(CARRIES(ATTRIBUTE_UNITS) | CARRIES(PERIOD) | CARRIES(VALUES) |
                               CARRIES(PROFILE_ID)),
    .detect = detect,
    .may_be = may_be,
    .read = read,
    .write = write,
    .is_current = is_current,
};
