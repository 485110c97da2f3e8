/* Log records to Profiles.
 *
 * A pprof body is a measurement of its own: one Profile per value type.  Text bodies hold one sample
 * each; neighbours whose records say the same about the measurement become one Profile.  cpu data
 * is `samples` and, where every sample has a period, `wall` time (C-9). */
#include "format/splunk_internal.h"

#include "base/utf8.h"
#include "wire/base64.h"
#include "wire/otlp_json.h"
#include "base/ban.h"
#include <inttypes.h>

typedef struct row {
    uint32_t stack, link;
    span attrs; /* in reader.row_attrs */
    uint64_t time;
    int64_t period_ms; /* 0: not known */
} row;

/* What is common to the samples of a Profile. */
typedef struct group {
    bool allocation, typed, text;
    uint32_t dropped;
    int64_t period_ms; /* text */
    u32s attrs;        /* of the Profile */
    uint8_t profile_id[16];
    value_type *types; /* typed: n_types of them */
    size_t n_types;    /* values of a row */
    value_type period_type;
    int64_t period;
    uint64_t time, duration; /* that the pprof states */
} group;

typedef struct reader {
    arena *a;
    builder b;
    err *e;
    ledger *ledger;
    bool hex_ids; /* the bytes were JSON */

    resource resource;
    scope scope;
    bool resource_put, scope_put;
    splunk_text_opts text; /* of the record at hand */
    bool node;             /* telemetry.sdk.language */

    group g;
    bool open; /* rows of g are waiting */
    VEC(row) rows;
    u32s row_attrs;
    i64s values; /* g.n_types a row */

    u32s key_seen; /* by string: epoch of the list that has this key */
    uint32_t epoch;
    u32s scratch;
    uint64_t n_records, n_refused, n_other, n_put, n_unknown;
    char where[96]; /* of the record at hand */
    err first;      /* refused */
} reader;

static bool spent(reader *r)
{
    return err_set(r->e, ERR_LIMIT, "the memory budget of %zu bytes is spent", r->a->budget);
}

static void lose(reader *r, loss_concept c, const char *carried_as, uint64_t n, str value)
{
    if (n) ledger_add_n(r->ledger, STAGE_READ, c, carried_as, n, r->where, value);
}

/* ---- lists of attributes ---- */

static void list_begin(reader *r) { r->epoch++; }

/* Keys of a list are unique: the first stays. */
static bool list_add(reader *r, u32s *to, uint32_t attr)
{
    if (r->b.failed) return spent(r);
    uint32_t key = r->b.m.dict.attributes.v[attr].key;
    if (key >= r->key_seen.n) {
        size_t more = key + 1 - r->key_seen.n;
        if (!vec_reserve(r->a, &r->key_seen, more)) return spent(r);
        memset(r->key_seen.v + r->key_seen.n, 0, more * sizeof *r->key_seen.v);
        r->key_seen.n = key + 1;
    }
    if (r->key_seen.v[key] == r->epoch) {
        lose(r, LOSS_ATTRIBUTE, NULL, 1, dict_str(&r->b.m.dict, key));
        return true;
    }
    r->key_seen.v[key] = r->epoch;
    uint32_t *slot = vec_push(r->a, to);
    if (!slot) return spent(r);
    *slot = attr;
    return true;
}

static bool list_str(reader *r, u32s *to, const char *key, str value)
{
    return !value.n || list_add(r, to, builder_attribute_str(&r->b, str_of(key), value));
}

static bool list_int(reader *r, u32s *to, const char *key, uint64_t value)
{
    if (!value) return true;
    return list_add(r, to, builder_attribute_int(&r->b, str_of(key), (int64_t)value));
}

/* ---- the waiting rows become Profiles ---- */

static value_type type_of(reader *r, str type, str unit)
{
    return (value_type){builder_string(&r->b, type), builder_string(&r->b, unit)};
}

/* The period that all rows have; 0: they differ. */
static int64_t common_period(const reader *r)
{
    if (!r->rows.n) return r->g.period_ms;
    for (size_t i = 1; i < r->rows.n; i++)
        if (r->rows.v[i].period_ms != r->rows.v[0].period_ms) return 0;
    return r->rows.v[0].period_ms;
}

static bool all_periods(const reader *r)
{
    for (size_t i = 0; i < r->rows.n; i++)
        if (!r->rows.v[i].period_ms) return false;
    return r->rows.n > 0;
}

static void set_window(const reader *r, int64_t period_ms, profile *p)
{
    uint64_t min = UINT64_MAX, max = 0;
    p->time_unix_nano = r->g.time;
    p->duration_nano = r->g.duration;
    if (r->g.time || r->g.duration) return;
    for (size_t i = 0; i < r->rows.n; i++) {
        uint64_t t = r->rows.v[i].time;
        if (t && t < min) min = t;
        if (t > max) max = t;
    }
    if (!max) return;
    p->time_unix_nano = min;
    uint64_t step = period_ms ? (uint64_t)period_ms * NS_PER_MS : 1; /* the last one is inside */
    if (ckd_add(&p->duration_nano, max - min, step)) p->duration_nano = max - min;
}

static bool put_resource(reader *r)
{
    if (!r->resource_put) builder_resource(&r->b, &r->resource);
    if (!r->scope_put) builder_scope(&r->b, &r->scope);
    r->resource_put = r->scope_put = true;
    return !r->b.failed || spent(r);
}

/* Column k of the values; k == n_types: wall time. */
static bool put_profile(reader *r, value_type type, size_t k, int64_t period_ms)
{
    profile *p = builder_profile(&r->b);
    p->sample_type = type;
    p->dropped_attributes_count = r->g.dropped;
    if (period_ms) {
        p->period_type = type_of(r, STR("wall"), STR("nanoseconds"));
        p->period = period_ms * NS_PER_MS;
    } else {
        p->period_type = r->g.period_type;
        p->period = r->g.period;
    }
    if (!k) memcpy(p->profile_id, r->g.profile_id, sizeof p->profile_id);
    set_window(r, period_ms, p);
    builder_profile_attrs(&r->b, r->g.attrs.v, r->g.attrs.n);
    for (size_t i = 0; i < r->rows.n && !r->b.failed; i++) {
        const row *w = &r->rows.v[i];
        int64_t wall = w->period_ms * NS_PER_MS;
        const int64_t *v = k < r->g.n_types ? &r->values.v[i * r->g.n_types + k] : &wall;
        sample s = {.stack = w->stack,
                    .link = w->link,
                    .attrs = refs_at(&r->row_attrs, w->attrs),
                    .n_attrs = w->attrs.n,
                    .values = v,
                    .n_values = 1,
                    .times = &w->time,
                    .n_times = w->time != 0};
        builder_sample(&r->b, &s);
    }
    return !r->b.failed || spent(r);
}

/* Periods that differ stay with their samples. */
static bool keep_periods(reader *r)
{
    u32s all = {0};
    for (size_t i = 0; i < r->rows.n; i++) {
        row *w = &r->rows.v[i];
        uint32_t at = (uint32_t)all.n;
        size_t n = w->attrs.n + (w->period_ms != 0);
        if (all.n + n > UINT32_MAX || !vec_reserve(r->a, &all, n)) return spent(r);
        const uint32_t *v = refs_at(&r->row_attrs, w->attrs);
        for (uint32_t k = 0; k < w->attrs.n; k++) all.v[all.n++] = v[k];
        if (w->period_ms)
            all.v[all.n++] = builder_attribute_int(&r->b, STR(SPLUNK_PERIOD), w->period_ms);
        w->attrs = (span){at, (uint32_t)all.n - at};
    }
    r->row_attrs = all;
    return !r->b.failed || spent(r);
}

static bool flush(reader *r)
{
    if (!r->open) return true;
    r->open = false;
    const group *g = &r->g;
    int64_t period = common_period(r);
    bool wall = !g->typed && !g->allocation && all_periods(r);
    if (!put_resource(r) || (!period && !keep_periods(r))) return false;
    for (size_t k = 0; k < g->n_types; k++) {
        value_type t = g->typed        ? g->types[k]
                       : g->allocation ? type_of(r, STR("alloc_space"), STR("bytes"))
                                       : type_of(r, STR("samples"), STR("count"));
        if (!put_profile(r, t, k, period)) return false;
    }
    if (wall && !put_profile(r, type_of(r, STR("wall"), STR("nanoseconds")), g->n_types, period))
        return false;
    r->n_put++;
    r->rows.n = r->row_attrs.n = r->values.n = 0;
    return true;
}

static bool add_row(reader *r, const row *w, int64_t value)
{
    row *slot = vec_push(r->a, &r->rows);
    int64_t *v = vec_push(r->a, &r->values);
    if (!slot || !v) return spent(r);
    *slot = *w;
    *v = value;
    return true;
}

/* ---- what a record says besides its body ---- */

/* The fields of the record that no Profile has. */
static bool add_record_fields(reader *r, const splunk_record *rec, u32s *to)
{
    keyvalue kv[5];
    uint32_t n = 0;
    if (rec->name.n) kv[n++] = (keyvalue){.key = STR("name"), .value = any_of_str(rec->name)};
    if (rec->severity_number)
        kv[n++] = (keyvalue){.key = STR("severity_number"),
                             .value = any_of_int((int64_t)rec->severity_number)};
    if (rec->severity_text.n)
        kv[n++] = (keyvalue){.key = STR("severity_text"), .value = any_of_str(rec->severity_text)};
    if (rec->flags)
        kv[n++] = (keyvalue){.key = STR("flags"), .value = any_of_int((int64_t)rec->flags)};
    if (rec->event_name.n)
        kv[n++] = (keyvalue){.key = STR("event_name"), .value = any_of_str(rec->event_name)};
    if (!n) return true;
    any v = {.kind = ANY_KVLIST, .n = n, .kvlist = kv};
    lose(r, LOSS_METADATA, KILN_ATTR_SPLUNK_RECORD, 1, kv[0].key);
    return list_add(r, to, builder_attribute(&r->b, STR(KILN_ATTR_SPLUNK_RECORD), &v, (str){0}));
}

static bool is_allocation(const splunk_record *rec)
{
    str type = splunk_attr_text(&rec->attrs, STR(SPLUNK_DATA_TYPE));
    if (type.n) return str_eq(type, STR("allocation"));
    return splunk_attr(&rec->attrs, STR(SPLUNK_ALLOCATED)) ||
           splunk_attr(&rec->attrs, STR("allocationSize")) ||
           splunk_attr(&rec->attrs, STR("tlabSize"));
}

static int64_t int_attr(const splunk_record *rec, str key)
{
    const any *v = splunk_attr(&rec->attrs, key);
    return v && v->kind == ANY_INT ? v->i : 0;
}

/* Periods are milliseconds and positive; what cannot be one counts as none. */
static int64_t period_of(int64_t ms) { return ms > 0 && ms <= INT64_MAX / NS_PER_MS ? ms : 0; }

/* An id of the record, raw or (JSON) in hex; false: none (C-3). */
static bool take_id(const reader *r, str text, uint8_t *id, size_t n)
{
    memset(id, 0, n);
    if (r->hex_ids && text.n == 2 * n) {
        if (!hex_decode(text, id)) memset(id, 0, n);
    } else if (!r->hex_ids && text.n == n) {
        memcpy(id, text.p, n);
    }
    return !id_is_zero(id, n);
}

static uint32_t record_link(reader *r, const splunk_record *rec)
{
    uint8_t trace[16], span_id[8];
    bool has = take_id(r, rec->trace_id, trace, 16);
    has |= take_id(r, rec->span_id, span_id, 8);
    return has ? builder_link(&r->b, trace, span_id) : 0;
}

/* ---- text ---- */

static bool describes_measurement(str key)
{
    return str_starts(key, STR("profiling.")) || str_eq(key, STR(SPLUNK_EVENT_NAME));
}

static bool same_group(const group *a, const group *b)
{
    return a->text && b->text && a->allocation == b->allocation && a->dropped == b->dropped &&
           a->period_ms == b->period_ms && a->attrs.n == b->attrs.n &&
           !memcmp(a->attrs.v, b->attrs.v, a->attrs.n * sizeof *a->attrs.v);
}

/* Opens the group of this record unless it is the open one. */
static bool text_group(reader *r, const splunk_record *rec)
{
    group g = {
        .text = true, .allocation = is_allocation(rec), .dropped = rec->dropped, .n_types = 1};
    g.period_ms = period_of(int_attr(rec, STR(SPLUNK_PERIOD)));
    g.attrs = r->scratch;
    g.attrs.n = 0;
    list_begin(r);
    if (!list_str(r, &g.attrs, KILN_ATTR_SPLUNK_BODY, STR("text"))) return false;
    for (size_t i = 0; i < rec->attrs.n; i++) {
        const keyvalue *kv = &rec->attrs.v[i];
        if (!describes_measurement(kv->key)) continue;
        uint32_t attr = builder_attribute(&r->b, kv->key, &kv->value, (str){0});
        if (!list_add(r, &g.attrs, attr)) return false;
    }
    if (!add_record_fields(r, rec, &g.attrs)) return false;
    r->scratch = g.attrs;
    if (r->open && same_group(&r->g, &g)) return true;
    if (!flush(r)) return false;
    r->scratch = r->g.text ? r->g.attrs : (u32s){0};
    r->g = g;
    return r->open = true;
}

/* What the canonical form of the frame would not say again stays as it was. */
static bool frame_attr(reader *r, const splunk_frame *f, buf *text, uint32_t *attr)
{
    *attr = 0;
    buf_reset(text);
    splunk_frame_put(f, &r->text, text);
    if (text->failed) return spent(r);
    if (str_eq(buf_view(text), f->raw)) return true;
    if (f->line_end || f->column_end)
        lose(r, LOSS_SOURCE_LINE, KILN_ATTR_SPLUNK_FRAME, 1, f->raw);
    else
        lose(r, LOSS_NAME, KILN_ATTR_SPLUNK_FRAME, 1, f->raw);
    *attr = builder_attribute_str(&r->b, STR(KILN_ATTR_SPLUNK_FRAME), f->raw);
    return true;
}

static bool text_stack(reader *r, const splunk_stack *s, uint32_t *out)
{
    uint32_t at[SPLUNK_MAX_FRAMES];
    buf text = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < s->frames.n; i++) {
        const splunk_frame *f = &s->frames.v[i];
        function fn = {.name = builder_string(&r->b, f->name),
                       .filename = builder_string(&r->b, f->file)};
        line where = {
            .line = f->line, .column = f->column, .function = builder_function(&r->b, &fn)};
        uint32_t attr;
        ok = frame_attr(r, f, &text, &attr);
        at[i] = builder_location(&r->b, 0, 0, &where, 1, &attr, attr != 0);
    }
    buf_free(&text);
    *out = builder_stack(&r->b, at, s->frames.n);
    return ok && (!r->b.failed || spent(r));
}

static bool thread_attrs(reader *r, const splunk_stack *s)
{
    const splunk_thread *t = &s->thread;
    u32s *to = &r->row_attrs;
    if (t->present) {
        lose(r, LOSS_METADATA, KILN_ATTR_SPLUNK_THREAD, 1, t->rest);
        str rest = t->rest.n ? t->rest : STR(" "); /* a name and nothing else */
        if (!list_str(r, to, ATTR_THREAD_NAME, t->name) ||
            !list_int(r, to, ATTR_THREAD_ID, t->nid ? t->nid : t->tid) ||
            !list_str(r, to, KILN_ATTR_SPLUNK_THREAD, rest))
            return false;
    }
    return list_str(r, to, KILN_ATTR_THREAD_STATE, s->state.n ? s->state : t->status);
}

/* Attributes that are fields of the sample, the Profile or the format. */
static bool is_taken(str key)
{
    static const char *const taken[] = {SPLUNK_SOURCETYPE, SPLUNK_PERIOD, SPLUNK_ALLOCATED};
    for (size_t i = 0; i < ARRAY_LEN(taken); i++)
        if (str_eq(key, str_of(taken[i]))) return true;
    return describes_measurement(key);
}

static bool sample_attrs(reader *r, const splunk_record *rec, const splunk_stack *s)
{
    list_begin(r);
    if (!thread_attrs(r, s)) return false;
    for (size_t i = 0; i < rec->attrs.n; i++) {
        const keyvalue *kv = &rec->attrs.v[i];
        if (is_taken(kv->key)) continue;
        uint32_t attr;
        if (str_eq(kv->key, STR(SPLUNK_TRUNCATED)) && kv->value.kind == ANY_BOOL && kv->value.i)
            attr = builder_attribute_bool(&r->b, STR(KILN_ATTR_STACK_TRUNCATED), true);
        else
            attr = builder_attribute(&r->b, kv->key, &kv->value, (str){0});
        if (!list_add(r, &r->row_attrs, attr)) return false;
    }
    if (rec->time) return list_int(r, &r->row_attrs, KILN_ATTR_SPLUNK_OBSERVED, rec->observed);
    if (rec->observed) lose(r, LOSS_TIME, NULL, 1, STR("observed_time_unix_nano is the time"));
    return true;
}

static int64_t allocated(const splunk_record *rec)
{
    static const char *const keys[] = {SPLUNK_ALLOCATED, "allocationSize", "tlabSize"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (splunk_attr(&rec->attrs, str_of(keys[i]))) return int_attr(rec, str_of(keys[i]));
    return 0;
}

static bool read_text(reader *r, const splunk_record *rec, arena *scratch)
{
    splunk_stack s;
    row w = {.time = rec->time ? rec->time : rec->observed, .link = record_link(r, rec)};
    if (!splunk_text_parse(any_str(&rec->body), &r->text, scratch, &s)) return spent(r);
    lose(r, LOSS_TEXT_LINE, NULL, s.skipped, s.skipped_first);
    lose(r, LOSS_STACK_DEPTH, NULL, s.cut, (str){0});
    if (!text_group(r, rec) || !text_stack(r, &s, &w.stack)) return false;
    size_t at = r->row_attrs.n;
    if (!sample_attrs(r, rec, &s)) return false;
    if (r->row_attrs.n > UINT32_MAX) return spent(r);
    w.attrs = (span){(uint32_t)at, (uint32_t)(r->row_attrs.n - at)};
    w.period_ms = r->g.period_ms;
    return add_row(r, &w, r->g.allocation ? allocated(rec) : 1);
}

/* ---- pprof ---- */

typedef enum label_kind {
    LABEL_PLAIN,
    LABEL_TIME,
    LABEL_PERIOD,
    LABEL_TRACE,
    LABEL_SPAN,
    LABEL_STATE,
    LABEL_TRUNCATED,
    LABEL_NOTHING, /* text that is not there (C-6) */
} label_kind;

/* A record's pprof while it is read. */
typedef struct body {
    model m;
    splunk_import x;
    uint8_t *kind; /* label_kind by attribute of m */
    bool typed;
    uint64_t record_time, frames;
} body;

static label_kind kind_of(const dict *d, const attribute *v)
{
    static const struct {
        const char *key;
        label_kind kind;
        uint32_t type;
    } known[] = {{SPLUNK_TIME, LABEL_TIME, ANY_INT},
                 {SPLUNK_PERIOD, LABEL_PERIOD, ANY_INT},
                 {"trace_id", LABEL_TRACE, ANY_STRING},
                 {"span_id", LABEL_SPAN, ANY_STRING},
                 {SPLUNK_STATE, LABEL_STATE, ANY_STRING},
                 {SPLUNK_TRUNCATED, LABEL_TRUNCATED, ANY_STRING},
                 {ATTR_THREAD_NAME, LABEL_PLAIN, ANY_STRING},
                 {SPLUNK_EVENT_NAME, LABEL_PLAIN, ANY_STRING}};
    str key = dict_str(d, v->key);
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (!str_eq(key, str_of(known[i].key))) continue;
        if (v->value.kind == known[i].type) return known[i].kind;
        bool none = known[i].type == ANY_STRING && v->value.kind == ANY_INT && !v->value.i;
        return none ? LABEL_NOTHING : LABEL_PLAIN;
    }
    return LABEL_PLAIN;
}

/* Hex digits padded on the left (C-7). */
static bool take_hex(str text, uint8_t *id, size_t n)
{
    char padded[32];
    if (!text.n || text.n > 2 * n) return false;
    memset(padded, '0', 2 * n);
    memcpy(padded + (2 * n - text.n), text.p, text.n);
    return hex_decode((str){padded, 2 * n}, id);
}

static bool is_true(str s)
{
    static const char want[] = "true";
    if (s.n != 4) return false;
    for (size_t i = 0; i < 4; i++)
        if ((s.p[i] | 0x20) != want[i]) return false;
    return true;
}

typedef struct labels {
    uint32_t trace, span_id; /* attributes of the body's model; 0: none */
    bool timed;
} labels;

static bool take_label(reader *r, body *b, uint32_t attr, row *w, labels *seen)
{
    const any *v = &b->m.dict.attributes.v[attr].value;
    switch ((label_kind)b->kind[attr]) {
    case LABEL_TIME:
        if (v->i < 0 || (uint64_t)v->i > UINT64_MAX / NS_PER_MS) {
            lose(r, LOSS_TIMESTAMP, NULL, 1, STR(SPLUNK_TIME));
            return true;
        }
        w->time = (uint64_t)v->i * NS_PER_MS;
        return seen->timed = true;
    case LABEL_PERIOD: w->period_ms = period_of(v->i); return true;
    case LABEL_TRACE: seen->trace = attr; return true;
    case LABEL_SPAN: seen->span_id = attr; return true;
    case LABEL_STATE: return list_str(r, &r->row_attrs, KILN_ATTR_THREAD_STATE, any_str(v));
    case LABEL_TRUNCATED:
        if (!is_true(any_str(v))) break;
        return list_add(r, &r->row_attrs,
                        builder_attribute_bool(&r->b, STR(KILN_ATTR_STACK_TRUNCATED), true));
    case LABEL_NOTHING: return true;
    default: break;
    }
    return list_add(r, &r->row_attrs, splunk_import_attr(&b->x, attr));
}

/* Ids that pprof.h left as labels since they are short or in capitals. */
static bool take_ids(reader *r, body *b, const labels *seen, row *w)
{
    const attribute *at = b->m.dict.attributes.v;
    uint8_t trace[16], span_id[8];
    if (seen->trace && seen->span_id && take_hex(any_str(&at[seen->trace].value), trace, 16) &&
        take_hex(any_str(&at[seen->span_id].value), span_id, 8)) {
        if (!id_is_zero(trace, 16) && !id_is_zero(span_id, 8))
            w->link = builder_link(&r->b, trace, span_id);
        return true;
    }
    return (!seen->trace || list_add(r, &r->row_attrs, splunk_import_attr(&b->x, seen->trace))) &&
           (!seen->span_id || list_add(r, &r->row_attrs, splunk_import_attr(&b->x, seen->span_id)));
}

static bool pprof_row(reader *r, body *b, size_t i)
{
    sample s = sample_at(&b->m, &b->m.profiles.v[0], i);
    row w = {.link = splunk_import_link(&b->x, s.link), .time = b->record_time};
    labels seen = {0};
    size_t at = r->row_attrs.n;
    list_begin(r);
    for (uint32_t k = 0; k < s.n_attrs; k++)
        if (!take_label(r, b, s.attrs[k], &w, &seen)) return false;
    if (!take_ids(r, b, &seen, &w)) return false;
    if (r->row_attrs.n > UINT32_MAX) return spent(r);
    w.attrs = (span){(uint32_t)at, (uint32_t)(r->row_attrs.n - at)};
    w.stack = splunk_import_stack(&b->x, s.stack);
    b->frames += dict_stack(&b->m.dict, s.stack).n;
    row *slot = vec_push(r->a, &r->rows);
    if (!slot || !vec_reserve(r->a, &r->values, b->m.profiles.n)) return spent(r);
    *slot = w;
    for (size_t k = 0; k < b->m.profiles.n; k++) {
        sample x = sample_at(&b->m, &b->m.profiles.v[k], i);
        r->values.v[r->values.n++] = x.n_values ? x.values[0] : 0;
    }
    return !r->b.failed || spent(r);
}

/* The order of several types, which pprof.h states on the scope. */
static bool add_scope_facts(reader *r, const scope *s, u32s *to)
{
    for (size_t i = 0; i < s->attrs.n; i++) {
        const keyvalue *kv = &s->attrs.v[i];
        bool order = str_eq(kv->key, STR(PPROF_ATTR_SAMPLE_TYPE_ORDER));
        str key = order ? STR(KILN_ATTR_SAMPLE_TYPE_ORDER) : STR(KILN_ATTR_DEFAULT_SAMPLE_TYPE);
        if (!list_add(r, to, builder_attribute(&r->b, key, &kv->value, (str){0}))) return false;
    }
    return true;
}

/* The frame count is counted again when it is written, unless the agent meant something else. */
static bool pprof_attr(reader *r, const keyvalue *kv, const body *b, u32s *to)
{
    if (str_eq(kv->key, STR(SPLUNK_SOURCETYPE)) || str_eq(kv->key, STR(SPLUNK_DATA_FORMAT)))
        return true;
    if (str_eq(kv->key, STR(SPLUNK_FRAME_COUNT)) && kv->value.kind == ANY_INT &&
        (uint64_t)kv->value.i == b->frames)
        return true;
    if (str_eq(kv->key, STR(SPLUNK_PROFILE_ID)) && kv->value.kind == ANY_STRING &&
        kv->value.n == 32 && hex_decode(any_str(&kv->value), r->g.profile_id))
        return true;
    return list_add(r, to, builder_attribute(&r->b, kv->key, &kv->value, (str){0}));
}

static bool pprof_group_attrs(reader *r, const splunk_record *rec, body *b)
{
    u32s *to = &r->g.attrs;
    const profile *p = &b->m.profiles.v[0];
    list_begin(r);
    for (size_t i = 0; i < rec->attrs.n; i++)
        if (!pprof_attr(r, &rec->attrs.v[i], b, to)) return false;
    const uint32_t *v = refs_at(&b->m.dict.attr_refs, p->attrs);
    for (uint32_t i = 0; i < p->attrs.n; i++)
        if (!list_add(r, to, splunk_import_attr(&b->x, v[i]))) return false;
    if (rec->time || rec->observed)
        lose(r, LOSS_TIME, rec->time ? KILN_ATTR_SPLUNK_TIME : KILN_ATTR_SPLUNK_OBSERVED, 1,
             STR("of the record"));
    if (record_link(r, rec)) lose(r, LOSS_LINK, NULL, 1, STR("ids of a record with many samples"));
    return list_int(r, to, KILN_ATTR_SPLUNK_TIME, rec->time) &&
           list_int(r, to, KILN_ATTR_SPLUNK_OBSERVED, rec->observed) &&
           add_record_fields(r, rec, to) &&
           (!b->typed || add_scope_facts(r, &b->m.scopes.v[0], to));
}

static bool pprof_rows(reader *r, const splunk_record *rec, body *b, arena *scratch)
{
    const profile *p = &b->m.profiles.v[0];
    size_t n = b->m.dict.attributes.n;
    b->kind = arena_new(scratch, uint8_t, n);
    value_type *types = arena_new(r->a, value_type, b->m.profiles.n);
    if (!b->kind || !types) return spent(r);
    for (size_t i = 1; i < n; i++)
        b->kind[i] = (uint8_t)kind_of(&b->m.dict, &b->m.dict.attributes.v[i]);
    b->x = (splunk_import){.from = &b->m, .to = &r->b};
    for (size_t k = 0; k < b->m.profiles.n; k++) {
        const value_type *t = &b->m.profiles.v[k].sample_type;
        types[k] = (value_type){splunk_import_string(&b->x, t->type),
                                splunk_import_string(&b->x, t->unit)};
    }
    if (!flush(r)) return false;
    r->g = (group){.allocation = is_allocation(rec),
                   .typed = b->typed,
                   .dropped = rec->dropped,
                   .types = types,
                   .n_types = b->m.profiles.n,
                   .period = p->period,
                   .time = p->time_unix_nano,
                   .duration = p->duration_nano};
    r->g.period_type = (value_type){splunk_import_string(&b->x, p->period_type.type),
                                    splunk_import_string(&b->x, p->period_type.unit)};
    r->open = true;
    for (size_t i = 0; i < p->n_samples; i++)
        if (!pprof_row(r, b, i)) return false;
    lose(r, LOSS_STACK_DEPTH, NULL, b->x.cut, (str){0});
    lose(r, LOSS_SOURCE_LINE, NULL, b->x.unknown_lines, STR("a negative line is not known"));
    return pprof_group_attrs(r, rec, b) && flush(r);
}

/* base64, gzip, pprof.  `re` says what is wrong with the record; false with ERR_LIMIT in it means
 * that memory is what is wrong. */
static bool open_body(reader *r, const splunk_record *rec, arena *scratch, buf *norm, body *b,
                      err *re)
{
    str text = any_str(&rec->body);
    if (text.n > SPLUNK_MAX_BODY)
        return err_set(re, ERR_MALFORMED, "a body of %zu characters; at most %d are read", text.n,
                       SPLUNK_MAX_BODY);
    size_t n;
    uint8_t *gz = arena_alloc(scratch, base64_max(text.n));
    if (!gz) return spent(r), err_set(re, ERR_LIMIT, "no memory");
    if (!base64_decode(text, gz, &n))
        return err_set(re, ERR_MALFORMED, "not base64: character %zu of the body is wrong", n);
    size_t cap =
        n > SPLUNK_MAX_INFLATED / SPLUNK_MAX_RATIO ? SPLUNK_MAX_INFLATED : n * SPLUNK_MAX_RATIO;
    unpacked u;
    bool poor = scratch->budget && scratch->budget - scratch->used < cap;
    if (!unpack((str){(const char *)gz, n}, cap ? cap : 1, scratch, &u, re)) {
        if (re->code == ERR_LIMIT && !poor) re->code = ERR_MALFORMED; /* it inflates too far */
        return false;
    }
    norm->limit = scratch->budget ? scratch->budget : 0;
    if (!splunk_pprof_normalize(u.bytes, is_allocation(rec), norm, &b->typed, re)) return false;
    pprof_read_opts o = {.ledger = r->ledger};
    return pprof_decode(buf_view(norm), &o, scratch, &b->m, re);
}

static bool read_pprof(reader *r, const splunk_record *rec, arena *scratch, err *re)
{
    buf norm = {0};
    body b = {.record_time = rec->time ? rec->time : rec->observed};
    bool ok = open_body(r, rec, scratch, &norm, &b, re);
    if (!ok) re->offset = NO_OFFSET; /* bytes of the pprof, not of the input */
    ok = ok && pprof_rows(r, rec, &b, scratch);
    buf_free(&norm);
    return ok;
}

/* ---- records ---- */

static bool is_profile(const reader *r, const splunk_record *rec)
{
    return str_eq(r->scope.name, STR(SPLUNK_SCOPE)) || /* C-1 */
           str_eq(splunk_attr_text(&rec->attrs, STR(SPLUNK_SOURCETYPE)), STR(SPLUNK_SCOPE));
}

static bool read_record(reader *r, pb_cur c, arena *scratch, err *re)
{
    splunk_record rec;
    if (!splunk_record_read(c, scratch, &rec)) return false;
    r->n_unknown += rec.n_unknown;
    if (!is_profile(r, &rec)) return r->n_other++, true;
    r->n_records++;
    if (!splunk_attr(&rec.attrs, STR(SPLUNK_SOURCETYPE)))
        lose(r, LOSS_METADATA, NULL, 1, STR("a record without " SPLUNK_SOURCETYPE));
    if (rec.body.kind != ANY_STRING)
        return err_set(re, ERR_MALFORMED, "the body is no string"), err_in(re, "body");
    str kind = splunk_attr_text(&rec.attrs, STR(SPLUNK_DATA_FORMAT));
    if (!kind.n || str_eq(kind, STR("text"))) {
        r->text.columns = kind.n || r->node; /* G-8 */
        return read_text(r, &rec, scratch);
    }
    if (str_eq(kind, STR(SPLUNK_PPROF)))
        return read_pprof(r, &rec, scratch, re) || err_in(re, "body");
    return err_set(re, ERR_UNSUPPORTED,
                   SPLUNK_DATA_FORMAT " is \"%.*s\"; text and " SPLUNK_PPROF " can be read",
                   (int)(kind.n < 40 ? kind.n : 40), kind.p);
}

/* A bad record is counted and the others stay (C-12); lack of memory ends everything. */
static bool take_record(reader *r, pb_cur c)
{
    arena scratch = {.budget = r->a->budget};
    if (scratch.budget && (scratch.budget -= r->a->used) == 0) return spent(r);
    err re = {0};
    c.e = &re;
    bool ok = read_record(r, c, &scratch, &re);
    arena_free(&scratch);
    if (ok) return true;
    if (r->e && r->e->code) return false;
    if (re.code == ERR_LIMIT || !re.code) return spent(r);
    if (!r->n_refused++) r->first = re, err_in(&r->first, "%s", r->where);
    lose(r, LOSS_PROFILE_REFUSED, NULL, 1, str_of(re.msg));
    return true;
}

static bool read_scope(reader *r, pb_cur c, const char *where)
{
    r->scope = (scope){0};
    r->scope_put = false;
    pb_cur all = c;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number == 1 && (!pb_expect(&c, &f, 2, "scope") ||
                              !splunk_scope_read(pb_message(&c, &f), r->a, &r->scope)))
            return err_in(r->e, "scope");
        if (f.number == 3 && !pb_text(&c, &f, "schema_url", &r->scope.schema_url)) return false;
        r->n_unknown += f.number > 3;
    }
    if (!pb_ok(&c)) return false;
    size_t n = 0;
    for (pb_field f; pb_next(&all, &f);) {
        if (f.number != 2) continue;
        snprintf(r->where, sizeof r->where, "%s.log_records[%zu]", where, n++);
        if (!pb_expect(&all, &f, 2, "log_records") || !take_record(r, pb_message(&all, &f)))
            return false;
    }
    return flush(r);
}

static void set_language(reader *r)
{
    str language = splunk_attr_text(&r->resource.attrs, STR("telemetry.sdk.language"));
    r->text.dotnet = str_eq(language, STR("dotnet"));
    r->node = str_eq(language, STR("node")) || str_eq(language, STR("nodejs"));
}

static bool read_resource(reader *r, pb_cur c, size_t i)
{
    r->resource = (resource){0};
    r->resource_put = false;
    pb_cur all = c;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number == 1 && (!pb_expect(&c, &f, 2, "resource") ||
                              !splunk_resource_read(pb_message(&c, &f), r->a, &r->resource)))
            return err_in(r->e, "resource");
        if (f.number == 3 && !pb_text(&c, &f, "schema_url", &r->resource.schema_url)) return false;
        r->n_unknown += f.number > 3 && f.number != 1000;
    }
    if (!pb_ok(&c)) return false;
    set_language(r);
    size_t n = 0;
    for (pb_field f; pb_next(&all, &f);) {
        if (f.number != 2 && f.number != 1000) continue; /* C-2 */
        char where[64];
        snprintf(where, sizeof where, "resource_logs[%zu].scope_logs[%zu]", i, n);
        if (!pb_expect(&all, &f, 2, "scope_logs") || !read_scope(r, pb_message(&all, &f), where))
            return err_in(r->e, "scope_logs[%zu]", n);
        n++;
    }
    return pb_ok(&all);
}

static bool finish(reader *r, model *out)
{
    if (!r->n_put && r->n_refused) {
        if (r->e && !r->e->code) *r->e = r->first;
        return false;
    }
    if (!r->n_put)
        return err_set(r->e, ERR_UNSUPPORTED,
                       "no log record here is a profile: none has the scope " SPLUNK_SCOPE
                       " or the attribute " SPLUNK_SOURCETYPE);
    if (r->n_other)
        ledger_add_n(r->ledger, STAGE_READ, LOSS_EVENT, NULL, r->n_other, "log_records",
                     STR("not a profile"));
    if (r->n_unknown)
        ledger_add_n(r->ledger, STAGE_READ, LOSS_UNKNOWN_FIELD, NULL, r->n_unknown, "", (str){0});
    if (!builder_finish(&r->b, out, r->e)) return false;
    out->n_unknown = r->n_unknown;
    return true;
}

bool splunk_read_logs(str bytes, bool hex_ids, const read_opts *o, arena *a, model *out, err *e)
{
    reader r = {.a = a, .e = e, .ledger = o->ledger, .hex_ids = hex_ids};
    if (!builder_init(&r.b, a, 0)) return spent(&r);
    pb_cur c = pb_open(bytes.p, bytes.n, e);
    size_t n = 0;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number != 1) {
            r.n_unknown++;
            continue;
        }
        if (!pb_expect(&c, &f, 2, "resource_logs") || !read_resource(&r, pb_message(&c, &f), n))
            return err_in(e, "resource_logs[%zu]", n);
        n++;
    }
    return pb_ok(&c) && finish(&r, out);
}
