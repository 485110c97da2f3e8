/* Profiles to log records: one record with a pprof for Profiles that lie together and have the same
 * rows; one with text for every sample of a Profile that was text. */
#include "format/splunk_internal.h"

#include "base/utf8.h"
#include "wire/base64.h"
#include "base/ban.h"
#include <inttypes.h>

/* What a group of Profiles becomes. */
typedef enum shape {
    SHAPE_CPU,        /* one sample an observation, no values */
    SHAPE_ALLOCATION, /* one value, no type */
    SHAPE_TYPED,      /* types and values as pprof has them */
} shape;

typedef struct writer {
    const model *m;
    const dict *d;
    const write_opts *o;
    err *e;
    bool node, dotnet; /* telemetry.sdk.language of the resource */

    /* the group at hand */
    const profile *p;
    uint32_t n;
    shape shape;
    arena a;
    VEC(keyvalue) attrs; /* of its records */
    uint64_t frames;
    bool untimed; /* a row without a time */
} writer;

static bool spent(writer *w) { return err_set(w->e, ERR_LIMIT, "no memory for the log records"); }

static void lose(writer *w, loss_concept c, uint64_t n, const char *path, str value)
{
    if (n) ledger_add_n(w->o->ledger, STAGE_WRITE, c, NULL, n, path, value);
}

static bool type_is(const writer *w, value_type t, const char *type, const char *unit)
{
    return str_eq(dict_str(w->d, t.type), str_of(type)) &&
           str_eq(dict_str(w->d, t.unit), str_of(unit));
}

static const attribute *profile_attr(const writer *w, const profile *p, const char *key)
{
    const uint32_t *v = refs_at(&w->d->attr_refs, p->attrs);
    for (uint32_t i = 0; i < p->attrs.n; i++)
        if (str_eq(dict_str(w->d, w->d->attributes.v[v[i]].key), str_of(key)))
            return &w->d->attributes.v[v[i]];
    return NULL;
}

static bool add_attr(writer *w, str key, any value)
{
    keyvalue *kv = vec_push(&w->a, &w->attrs);
    if (!kv) return spent(w);
    *kv = (keyvalue){.key = key, .value = value};
    return true;
}

static bool add_str(writer *w, const char *key, str value)
{
    return add_attr(w, str_of(key), any_of_str(value));
}

/* ---- groups ---- */

static bool same_list(const uint32_t *a, const uint32_t *b, uint32_t n)
{
    return !n || !memcmp(a, b, n * sizeof *a);
}

static bool same_rows(const model *m, const profile *a, const profile *b)
{
    if (a->n_samples != b->n_samples) return false;
    for (size_t i = 0; i < a->n_samples; i++) {
        sample x = sample_at(m, a, i), y = sample_at(m, b, i);
        if (x.stack != y.stack || x.link != y.link || x.n_attrs != y.n_attrs ||
            x.n_times != y.n_times || !same_list(x.attrs, y.attrs, x.n_attrs) ||
            (x.n_times && memcmp(x.times, y.times, x.n_times * sizeof *x.times)))
            return false;
    }
    return true;
}

static bool same_envelope(const writer *w, const profile *a, const profile *b)
{
    return a->time_unix_nano == b->time_unix_nano && a->duration_nano == b->duration_nano &&
           a->period == b->period && a->period_type.type == b->period_type.type &&
           a->period_type.unit == b->period_type.unit && a->attrs.n == b->attrs.n &&
           a->dropped_attributes_count == b->dropped_attributes_count &&
           id_is_zero(b->profile_id, 16) && !b->original_payload.n &&
           same_list(refs_at(&w->d->attr_refs, a->attrs), refs_at(&w->d->attr_refs, b->attrs),
                     a->attrs.n);
}

/* How many of v[0..n) belong together: the same rows, each with a type of its own. */
static uint32_t group_size(const writer *w, const profile *v, uint32_t n)
{
    enum { MOST = 64 };
    uint32_t k = 1;
    for (; k < n && k < MOST; k++) {
        for (uint32_t i = 0; i < k; i++)
            if (v[i].sample_type.type == v[k].sample_type.type &&
                v[i].sample_type.unit == v[k].sample_type.unit)
                return k;
        if (!same_envelope(w, &v[0], &v[k]) || !same_rows(w->m, &v[0], &v[k])) return k;
    }
    return k;
}

/* Every observation counts 1. */
static bool all_ones(const writer *w, const profile *p)
{
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(w->m, p, i);
        if (s.n_values && s.n_values != (s.n_times ? s.n_times : 1)) return false;
        for (uint32_t k = 0; k < s.n_values; k++)
            if (s.values[k] != 1) return false;
        if (!sample_observations(&s)) return false;
    }
    return true;
}

/* A value for every time, all of them the same number of milliseconds. */
static bool all_periods(const writer *w, const profile *p)
{
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(w->m, p, i);
        if (s.n_values != (s.n_times ? s.n_times : 1)) return false;
        for (uint32_t k = 0; k < s.n_values; k++)
            if (s.values[k] <= 0 || s.values[k] % NS_PER_MS || s.values[k] != s.values[0])
                return false;
    }
    return true;
}

static bool all_observed(const writer *w, const profile *p)
{
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(w->m, p, i);
        if (s.n_values != (s.n_times ? s.n_times : 1)) return false;
    }
    return true;
}

static shape shape_of(const writer *w)
{
    const profile *p = w->p;
    if (type_is(w, p->sample_type, "samples", "count") && all_ones(w, p) &&
        (w->n == 1 || (w->n == 2 && type_is(w, p[1].sample_type, "wall", "nanoseconds") &&
                       all_periods(w, &p[1]))))
        return SHAPE_CPU;
    if (w->n == 1 && type_is(w, p->sample_type, "alloc_space", "bytes") && all_observed(w, p))
        return SHAPE_ALLOCATION;
    return SHAPE_TYPED;
}

static bool is_allocation(const writer *w)
{
    str type = dict_str(w->d, w->p->sample_type.type);
    return str_eq(dict_str(w->d, w->p->sample_type.unit), STR("bytes")) ||
           str_starts(type, STR("alloc")) || str_starts(type, STR("inuse"));
}

/* ---- facts of the group ---- */

static bool starts_ours(str key) { return str_starts(key, STR("kiln.splunk.")); }

/* Attributes that are written in another place. */
static bool is_placed(const writer *w, str key, bool text)
{
    if (str_eq(key, STR(SPLUNK_SOURCETYPE)) || str_eq(key, STR(SPLUNK_PROFILE_ID)) ||
        starts_ours(key))
        return true;
    if (text) return false;
    if (str_starts(key, STR("pprof.profile."))) return true;
    if (w->shape == SHAPE_TYPED && (str_eq(key, STR(KILN_ATTR_SAMPLE_TYPE_ORDER)) ||
                                    str_eq(key, STR(KILN_ATTR_DEFAULT_SAMPLE_TYPE))))
        return true;
    return str_eq(key, STR(SPLUNK_DATA_FORMAT)) || str_eq(key, STR(SPLUNK_DATA_TYPE)) ||
           str_eq(key, STR(SPLUNK_FRAME_COUNT));
}

static bool add_profile_attrs(writer *w, bool text)
{
    const uint32_t *v = refs_at(&w->d->attr_refs, w->p->attrs);
    for (uint32_t i = 0; i < w->p->attrs.n; i++) {
        const attribute *at = &w->d->attributes.v[v[i]];
        str key = dict_str(w->d, at->key);
        if (is_placed(w, key, text)) continue;
        if (at->unit) lose(w, LOSS_ATTRIBUTE_UNIT, 1, "profiles.attributes", key);
        if (!add_attr(w, key, at->value)) return false;
    }
    return true;
}

static bool add_profile_id(writer *w)
{
    if (id_is_zero(w->p->profile_id, 16)) return true;
    char *hex = arena_alloc(&w->a, 33);
    if (!hex) return spent(w);
    hex_encode(w->p->profile_id, 16, hex);
    ledger_add(w->o->ledger, STAGE_WRITE, LOSS_PROFILE_ID, SPLUNK_PROFILE_ID, "profiles",
               (str){hex, 32});
    return add_str(w, SPLUNK_PROFILE_ID, (str){hex, 32});
}

static uint64_t int_attr(const writer *w, const char *key)
{
    const attribute *at = profile_attr(w, w->p, key);
    return at && at->value.kind == ANY_INT ? (uint64_t)at->value.i : 0;
}

/* What the reader kept of the record in kiln.splunk.record. */
static void set_fields(const writer *w, splunk_record *r)
{
    const attribute *at = profile_attr(w, w->p, KILN_ATTR_SPLUNK_RECORD);
    r->dropped = w->p->dropped_attributes_count;
    if (!at || at->value.kind != ANY_KVLIST) return;
    keyvalues kv = {at->value.kvlist, at->value.n};
    r->name = splunk_attr_text(&kv, STR("name"));
    r->severity_text = splunk_attr_text(&kv, STR("severity_text"));
    r->event_name = splunk_attr_text(&kv, STR("event_name"));
    const any *v = splunk_attr(&kv, STR("severity_number"));
    if (v && v->kind == ANY_INT) r->severity_number = (uint64_t)v->i;
    v = splunk_attr(&kv, STR("flags"));
    if (v && v->kind == ANY_INT) r->flags = (uint32_t)v->i;
}

/* The period in milliseconds, when it is one that this format can say. */
static int64_t period_ms(const writer *w)
{
    bool fits = w->p->period > 0 && w->p->period % NS_PER_MS == 0 &&
                type_is(w, w->p->period_type, "wall", "nanoseconds");
    return fits ? w->p->period / NS_PER_MS : 0;
}

/* Start and duration say no more than the times of the samples: set_window of the reader. */
static bool window_is_derived(const writer *w)
{
    uint64_t min = UINT64_MAX, max = 0;
    for (size_t i = 0; i < w->p->n_samples; i++) {
        sample s = sample_at(w->m, w->p, i);
        for (uint32_t k = 0; k < s.n_times; k++) {
            if (s.times[k] < min) min = s.times[k];
            if (s.times[k] > max) max = s.times[k];
        }
    }
    if (!max) return !w->p->time_unix_nano && !w->p->duration_nano;
    int64_t ms = period_ms(w);
    uint64_t step = ms ? (uint64_t)ms * NS_PER_MS : 1;
    return w->p->time_unix_nano == min && w->p->duration_nano == max - min + step;
}

/* ---- pprof ---- */

/* How many samples of the pprof one of the model becomes. */
static uint32_t rows_of(const sample *s)
{
    bool each = s->n_times && (!s->n_values || s->n_values == s->n_times);
    return each ? s->n_times : 1;
}

static int64_t value_of(writer *w, const sample *s, uint32_t k, uint32_t rows)
{
    if (s->n_values == rows) return s->values[k];
    if (!s->n_values && s->n_times == rows) return 1;
    if (k) return 0;
    bool saturated = false;
    int64_t v = sample_total(s, &saturated);
    lose(w, saturated ? LOSS_VALUE_SATURATED : LOSS_OBSERVATIONS, 1, "samples.values", (str){0});
    return v;
}

typedef struct pass {
    builder b;
    splunk_import x;
    uint32_t column;
    u32s attrs;
} pass;

static bool push(pass *t, uint32_t attr)
{
    uint32_t *slot = vec_push(t->b.a, &t->attrs);
    if (!slot) return t->b.failed = true, false;
    *slot = attr;
    return true;
}

/* Our names of what Splunk has a name for. */
static uint32_t label_of(const writer *w, pass *t, uint32_t attr, bool *has_period)
{
    const attribute *at = &w->d->attributes.v[attr];
    str key = dict_str(w->d, at->key);
    if (str_eq(key, STR(KILN_ATTR_THREAD_STATE)) && at->value.kind == ANY_STRING)
        return builder_attribute_str(&t->b, STR(SPLUNK_STATE), any_str(&at->value));
    if (str_eq(key, STR(KILN_ATTR_STACK_TRUNCATED)) && at->value.kind == ANY_BOOL && at->value.i)
        return builder_attribute_str(&t->b, STR(SPLUNK_TRUNCATED), STR("true"));
    *has_period |= str_eq(key, STR(SPLUNK_PERIOD));
    return splunk_import_attr(&t->x, attr);
}

static bool put_row(writer *w, pass *t, size_t i, const sample *s, uint32_t k)
{
    bool timed = s->n_times && rows_of(s) == s->n_times, has_period = false, first = !t->column;
    t->attrs.n = 0;
    if (timed) {
        int64_t ms = (int64_t)(s->times[k] / NS_PER_MS);
        push(t, builder_attribute_int(&t->b, STR(SPLUNK_TIME), ms));
        if (first && s->times[k] % NS_PER_MS)
            lose(w, LOSS_ROUNDED, 1, "samples.timestamps_unix_nano", STR("to milliseconds"));
    } else if (first) {
        lose(w, LOSS_TIMESTAMP, s->n_times, "samples.timestamps_unix_nano", (str){0});
        w->untimed = true;
    }
    size_t at = t->attrs.n;
    for (uint32_t n = 0; n < s->n_attrs; n++) push(t, label_of(w, t, s->attrs[n], &has_period));
    int64_t ms = period_ms(w);
    if (!has_period && w->shape == SHAPE_CPU && w->n == 2) {
        sample wall = sample_at(w->m, &w->p[1], i);
        ms = wall.values[0] / NS_PER_MS;
    }
    if (!has_period && ms && push(t, 0)) {
        for (size_t n = t->attrs.n - 1; n > at; n--) t->attrs.v[n] = t->attrs.v[n - 1];
        t->attrs.v[at] = builder_attribute_int(&t->b, STR(SPLUNK_PERIOD), ms);
    }
    sample of = sample_at(w->m, &w->p[t->column], i);
    int64_t v = value_of(w, &of, k, rows_of(s));
    sample out = {.stack = splunk_import_stack(&t->x, s->stack),
                  .link = splunk_import_link(&t->x, s->link),
                  .attrs = t->attrs.v,
                  .n_attrs = (uint32_t)t->attrs.n,
                  .values = &v,
                  .n_values = 1};
    builder_sample(&t->b, &out);
    if (first) w->frames += dict_stack(w->d, s->stack).n;
    return !t->b.failed || spent(w);
}

static bool put_column(writer *w, pass *t)
{
    profile *p = builder_profile(&t->b);
    const profile *from = &w->p[t->column];
    if (w->shape == SHAPE_TYPED) {
        p->sample_type = (value_type){splunk_import_string(&t->x, from->sample_type.type),
                                      splunk_import_string(&t->x, from->sample_type.unit)};
    }
    if (!period_ms(w)) {
        p->period = from->period;
        p->period_type = (value_type){splunk_import_string(&t->x, from->period_type.type),
                                      splunk_import_string(&t->x, from->period_type.unit)};
    }
    if (!window_is_derived(w)) {
        p->time_unix_nano = from->time_unix_nano;
        p->duration_nano = from->duration_nano;
    }
    t->attrs.n = 0;
    const uint32_t *v = refs_at(&w->d->attr_refs, from->attrs);
    for (uint32_t i = 0; i < from->attrs.n; i++)
        if (str_starts(dict_str(w->d, w->d->attributes.v[v[i]].key), STR("pprof.profile.")))
            push(t, splunk_import_attr(&t->x, v[i]));
    builder_profile_attrs(&t->b, t->attrs.v, t->attrs.n);
    for (size_t i = 0; i < w->p->n_samples; i++) {
        sample s = sample_at(w->m, w->p, i);
        for (uint32_t k = 0, n = rows_of(&s); k < n; k++)
            if (!put_row(w, t, i, &s, k)) return false;
    }
    return !t->b.failed || spent(w);
}

/* The order of the types goes where pprof.h looks for it. */
static void put_scope(writer *w, pass *t)
{
    keyvalue kv[2];
    scope s = {.attrs = {kv, 0}};
    const attribute *order = profile_attr(w, w->p, KILN_ATTR_SAMPLE_TYPE_ORDER),
                    *first = profile_attr(w, w->p, KILN_ATTR_DEFAULT_SAMPLE_TYPE);
    if (order)
        kv[s.attrs.n++] =
            (keyvalue){.key = STR(PPROF_ATTR_SAMPLE_TYPE_ORDER), .value = order->value};
    if (first)
        kv[s.attrs.n++] =
            (keyvalue){.key = STR(PPROF_ATTR_DEFAULT_SAMPLE_TYPE), .value = first->value};
    builder_scope(&t->b, w->shape == SHAPE_TYPED && s.attrs.n ? &s : NULL);
}

static bool make_pprof(writer *w, buf *out)
{
    pass t = {0};
    model m;
    if (!builder_init(&t.b, &w->a, 0)) return spent(w);
    t.b.borrow = true;
    t.x = (splunk_import){.from = w->m, .to = &t.b, .unbroken = true};
    builder_resource(&t.b, NULL);
    put_scope(w, &t);
    uint32_t columns = w->shape == SHAPE_TYPED ? w->n : 1;
    for (; t.column < columns; t.column++)
        if (!put_column(w, &t)) return false;
    if (!builder_finish(&t.b, &m, w->e)) return false;
    pprof_write_opts o = {.ledger = w->o->ledger};
    if (w->shape == SHAPE_TYPED) return pprof_encode(&m, &o, out, w->e);
    buf typed = {0};
    bool ok = pprof_encode(&m, &o, &typed, w->e) &&
              splunk_pprof_bare(buf_view(&typed), w->shape == SHAPE_ALLOCATION, out, w->e);
    buf_free(&typed);
    return ok;
}

static bool make_body(writer *w, buf *out)
{
    buf pprof = {0}, gz = {0};
    bool ok = make_pprof(w, &pprof) && pack(CODEC_GZIP, buf_view(&pprof), &gz, w->e);
    if (ok) base64_encode(out, buf_view(&gz));
    if (ok && (pprof.n > SPLUNK_MAX_INFLATED || out->n > SPLUNK_MAX_BODY))
        ok = err_set(w->e, ERR_LIMIT,
                     "a profile of %zu bytes of pprof does not fit a log record; split the input",
                     pprof.n);
    buf_free(&pprof), buf_free(&gz);
    return ok && (!out->failed || spent(w));
}

/* Sample types are written when they are more than the format implies. */
static bool pprof_attrs(writer *w)
{
    const attribute *type = profile_attr(w, w->p, SPLUNK_DATA_TYPE);
    str derived = is_allocation(w) ? STR("allocation") : STR("cpu");
    uint64_t count = int_attr(w, SPLUNK_FRAME_COUNT);
    return add_str(w, SPLUNK_SOURCETYPE, STR(SPLUNK_SCOPE)) &&
           add_str(w, SPLUNK_DATA_FORMAT, STR(SPLUNK_PPROF)) &&
           add_attr(w, STR(SPLUNK_DATA_TYPE), type ? type->value : any_of_str(derived)) &&
           add_attr(w, STR(SPLUNK_FRAME_COUNT), any_of_int((int64_t)(count ? count : w->frames))) &&
           add_profile_attrs(w, false) && add_profile_id(w);
}

static bool write_pprof(writer *w, buf *out)
{
    buf body = {0};
    splunk_record r = {0};
    bool ok = make_body(w, &body) && pprof_attrs(w);
    if (ok) {
        set_fields(w, &r);
        r.body = any_of_str(buf_view(&body));
        r.attrs = (keyvalues){w->attrs.v, w->attrs.n};
        r.time = int_attr(w, KILN_ATTR_SPLUNK_TIME);
        r.observed = int_attr(w, KILN_ATTR_SPLUNK_OBSERVED);
        if (!r.time && w->untimed) r.time = w->p->time_unix_nano;
        if (w->untimed && (r.time || r.observed)) /* readers take it (C-4) */
            lose(w, LOSS_SAMPLE_SHAPE, 1, "samples", STR("take the time of the record"));
        splunk_record_put(out, 2, &r);
    }
    buf_free(&body);
    return ok;
}

/* ---- text ---- */

typedef struct stack_facts {
    const attribute *thread, *name, *id, *state; /* of the sample */
} stack_facts;

static bool text_char(char c) { return (unsigned char)c >= 0x20 && c != 0x7f; }

/* A line cannot hold its own end: `?` stands for what it cannot hold. */
static void put_clean(writer *w, str s, buf *out)
{
    bool changed = false;
    for (size_t i = 0; i < s.n; i++) {
        bool good = text_char(s.p[i]) || s.p[i] == '\t';
        buf_putc(out, good ? s.p[i] : '?');
        changed |= !good;
    }
    if (changed) lose(w, LOSS_NAME, 1, "function_table.name", s);
}

static void put_meta(writer *w, const stack_facts *f, buf *out)
{
    splunk_thread t = {0};
    str state =
        f->state && f->state->value.kind == ANY_STRING ? any_str(&f->state->value) : (str){0};
    if (f->thread || f->name || f->id) {
        buf_putc(out, '"');
        if (f->name && f->name->value.kind == ANY_STRING) buf_str(out, any_str(&f->name->value));
        buf_putc(out, '"');
        if (f->thread && f->thread->value.kind == ANY_STRING) {
            splunk_thread_parse(any_str(&f->thread->value), &t);
            if (t.rest.n) buf_putc(out, ' '), buf_str(out, t.rest);
        } else {
            int64_t id = f->id && f->id->value.kind == ANY_INT ? f->id->value.i : 0;
            buf_printf(out, " #0 prio=0 os_prio=0 cpu=0 elapsed=0 tid=0x0 nid=0x%" PRIx64,
                       (uint64_t)id);
        }
    }
    buf_putc(out, '\n');
    if (state.n && !str_eq(state, t.status)) {
        buf_z(out, "   ");
        put_clean(w, state, out);
    }
    buf_putc(out, '\n');
}

static const attribute *location_attr(const writer *w, const location *l, const char *key)
{
    const uint32_t *v = refs_at(&w->d->attr_refs, l->attrs);
    for (uint32_t i = 0; i < l->attrs.n; i++)
        if (str_eq(dict_str(w->d, w->d->attributes.v[v[i]].key), str_of(key)))
            return &w->d->attributes.v[v[i]];
    return NULL;
}

/* One frame; what reads back as something else is in the ledger. */
static void put_frame(writer *w, const line *l, const splunk_text_opts *o, buf *out)
{
    const function *fn = &w->d->functions.v[l->function];
    splunk_frame f = {.name = dict_str(w->d, fn->name),
                      .file = dict_str(w->d, fn->filename),
                      .line = l->line,
                      .column = l->column},
                 back;
    buf text = {0};
    splunk_frame_put(&f, o, &text);
    size_t at = out->n;
    put_clean(w, buf_view(&text), out);
    buf_free(&text);
    if (out->failed) return;
    bool same = splunk_frame_parse((str){out->p + at, out->n - at}, o, &back) &&
                str_eq(back.name, f.name) && str_eq(back.file, f.file) && back.line == f.line &&
                back.column == f.column;
    if (!same) lose(w, LOSS_NAME, 1, "function_table.name", f.name);
    if (fn->system_name && fn->system_name != fn->name)
        lose(w, LOSS_SYSTEM_NAME, 1, "function_table.system_name", dict_str(w->d, fn->system_name));
}

static void put_stack(writer *w, uint32_t stack, const splunk_text_opts *o, buf *out)
{
    span s = dict_stack(w->d, stack);
    for (uint32_t i = 0; i < s.n; i++) {
        const location *l = &w->d->locations.v[w->d->frames.v[s.at + i]];
        const attribute *raw = location_attr(w, l, KILN_ATTR_SPLUNK_FRAME);
        if (l->mapping || l->address) lose(w, LOSS_MAPPING, 1, "location_table", (str){0});
        if (l->attrs.n > (raw != NULL)) lose(w, LOSS_ATTRIBUTE, 1, "location_table", (str){0});
        if (l->lines.n > 1) lose(w, LOSS_INLINED, 1, "location_table.lines", (str){0});
        line none = {0};
        for (uint32_t k = 0; k < (l->lines.n ? l->lines.n : 1); k++) {
            buf_z(out, "\tat ");
            if (raw && raw->value.kind == ANY_STRING && l->lines.n == 1)
                put_clean(w, any_str(&raw->value), out);
            else
                put_frame(w, l->lines.n ? &w->d->lines.v[l->lines.at + k] : &none, o, out);
            buf_putc(out, '\n');
        }
    }
}

/* Attributes of the sample: those of the thread go into the text, the rest to the record. */
static bool sample_attrs(writer *w, const sample *s, stack_facts *f, splunk_record *r)
{
    *f = (stack_facts){0};
    for (uint32_t i = 0; i < s->n_attrs; i++) {
        const attribute *at = &w->d->attributes.v[s->attrs[i]];
        str key = dict_str(w->d, at->key);
        bool taken = true;
        if (str_eq(key, STR(ATTR_THREAD_NAME)))
            f->name = at;
        else if (str_eq(key, STR(ATTR_THREAD_ID)))
            f->id = at;
        else if (str_eq(key, STR(KILN_ATTR_THREAD_STATE)))
            f->state = at;
        else if (str_eq(key, STR(KILN_ATTR_SPLUNK_THREAD)))
            f->thread = at;
        else if (str_eq(key, STR(KILN_ATTR_SPLUNK_OBSERVED)) && at->value.kind == ANY_INT)
            r->observed = (uint64_t)at->value.i;
        else
            taken = false;
        if (taken) continue;
        if (at->unit) lose(w, LOSS_ATTRIBUTE_UNIT, 1, "samples.attributes", key);
        if (str_eq(key, STR(KILN_ATTR_STACK_TRUNCATED))) key = STR(SPLUNK_TRUNCATED);
        if (!add_attr(w, key, at->value)) return false;
    }
    return true;
}

static bool text_values(writer *w, size_t i, uint32_t k)
{
    const profile *p = w->p;
    sample s = sample_at(w->m, p, i);
    int64_t ms = period_ms(w);
    if (w->shape == SHAPE_CPU && w->n == 2) {
        sample wall = sample_at(w->m, &p[1], i);
        ms = wall.values[0] / NS_PER_MS;
    }
    keyvalues so_far = {w->attrs.v, w->attrs.n};
    if (ms && !splunk_attr(&so_far, STR(SPLUNK_PERIOD)) &&
        !add_attr(w, STR(SPLUNK_PERIOD), any_of_int(ms)))
        return false;
    if (w->shape != SHAPE_ALLOCATION) return true;
    if (splunk_attr(&so_far, STR("allocationSize")) || splunk_attr(&so_far, STR("tlabSize")))
        return true;
    return add_attr(w, STR(SPLUNK_ALLOCATED), any_of_int(s.values[k]));
}

static void set_ids(const writer *w, const sample *s, splunk_record *r)
{
    const link_ids *l = &w->d->links.v[s->link];
    if (!s->link) return;
    if (!id_is_zero(l->trace_id, 16)) r->trace_id = (str){(const char *)l->trace_id, 16};
    if (!id_is_zero(l->span_id, 8)) r->span_id = (str){(const char *)l->span_id, 8};
}

static bool text_record(writer *w, size_t i, uint32_t k, const splunk_text_opts *o, size_t common,
                        buf *body, buf *out)
{
    sample s = sample_at(w->m, w->p, i);
    splunk_record r = {.time = s.n_times ? s.times[k] : 0};
    stack_facts f;
    w->attrs.n = common;
    set_fields(w, &r);
    if (!sample_attrs(w, &s, &f, &r) || !text_values(w, i, k)) return false;
    set_ids(w, &s, &r);
    buf_reset(body);
    put_meta(w, &f, body);
    put_stack(w, s.stack, o, body);
    if (body->failed) return spent(w);
    r.body = any_of_str(buf_view(body));
    r.attrs = (keyvalues){w->attrs.v, w->attrs.n};
    splunk_record_put(out, 2, &r);
    return true;
}

static bool write_text(writer *w, buf *out)
{
    buf body = {0};
    splunk_text_opts o = {.dotnet = w->dotnet,
                          .columns = w->node || profile_attr(w, w->p, SPLUNK_DATA_FORMAT)};
    bool ok = add_str(w, SPLUNK_SOURCETYPE, STR(SPLUNK_SCOPE)) && add_profile_attrs(w, true);
    size_t common = w->attrs.n;
    if (!id_is_zero(w->p->profile_id, 16)) lose(w, LOSS_PROFILE_ID, 1, "profiles", (str){0});
    if (!window_is_derived(w)) lose(w, LOSS_TIME, 1, "profiles", (str){0});
    for (size_t i = 0; ok && i < w->p->n_samples; i++) {
        sample s = sample_at(w->m, w->p, i);
        for (uint32_t k = 0, n = s.n_times ? s.n_times : 1; ok && k < n; k++)
            ok = text_record(w, i, k, &o, common, &body, out);
    }
    buf_free(&body);
    return ok;
}

/* ---- envelope ---- */

static bool write_group(writer *w, buf *out)
{
    w->attrs = (__typeof__(w->attrs)){0};
    w->frames = 0;
    w->untimed = false;
    w->shape = shape_of(w);
    for (uint32_t i = 0; i < w->n; i++)
        if (w->p[i].original_payload.n)
            lose(w, LOSS_ORIGINAL_PAYLOAD, 1, "profiles", w->p[i].original_payload_format);
    bool text = w->shape != SHAPE_TYPED && profile_attr(w, w->p, KILN_ATTR_SPLUNK_BODY);
    bool ok = text ? write_text(w, out) : write_pprof(w, out);
    arena_reset(&w->a);
    return ok;
}

static bool write_scope(writer *w, const scope *s, buf *out)
{
    buf b = {0};
    scope ours = *s;
    if (!str_eq(s->name, STR(SPLUNK_SCOPE))) {
        if (s->name.n || s->version.n) lose(w, LOSS_RESOURCE, 1, "scope.name", s->name);
        ours.name = STR(SPLUNK_SCOPE);
        ours.version = STR(SPLUNK_SCOPE_VERSION);
    }
    splunk_scope_put(&b, 1, &ours);
    const profile *v = w->m->profiles.v + s->first_profile;
    bool ok = true;
    for (uint32_t i = 0; ok && i < s->n_profiles; i += w->n) {
        w->p = &v[i];
        w->n = group_size(w, w->p, s->n_profiles - i);
        ok = write_group(w, &b);
    }
    if (s->schema_url.n) pb_put_bytes(&b, 3, s->schema_url);
    pb_put_bytes(out, 2, buf_view(&b));
    ok = ok && (!b.failed || spent(w));
    buf_free(&b);
    return ok;
}

static bool write_resource(writer *w, const resource *r, buf *out)
{
    buf b = {0};
    str language = splunk_attr_text(&r->attrs, STR("telemetry.sdk.language"));
    w->node = str_eq(language, STR("node")) || str_eq(language, STR("nodejs"));
    w->dotnet = str_eq(language, STR("dotnet"));
    splunk_resource_put(&b, 1, r);
    bool ok = true;
    for (uint32_t i = 0; ok && i < r->n_scopes; i++)
        ok = write_scope(w, &w->m->scopes.v[r->first_scope + i], &b);
    if (r->schema_url.n) pb_put_bytes(&b, 3, r->schema_url);
    pb_put_bytes(out, 1, buf_view(&b));
    ok = ok && (!b.failed || spent(w));
    buf_free(&b);
    return ok;
}

bool splunk_write_logs(const model *m, const write_opts *o, buf *out, err *e)
{
    writer w = {.m = m, .d = &m->dict, .o = o, .e = e};
    bool ok = true;
    for (size_t i = 0; ok && i < m->resources.n; i++)
        ok = write_resource(&w, &m->resources.v[i], out);
    arena_free(&w.a);
    return ok && (!out->failed || spent(&w));
}
