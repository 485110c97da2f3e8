/* Writes a record whose body is pprof: copies the group to a model, writes it with pprof.h, and
 * compresses it. */
#include "format/splunk_write.h"

#include "wire/base64.h"
#include "base/ban.h"

/* Returns the number of pprof samples for a sample of the model. */
static uint32_t rows_of(const sample *s)
{
    bool each = s->n_times && (!s->n_values || s->n_values == s->n_times);
    return each ? s->n_times : 1;
}

static int64_t value_of(splunk_writer *w, const sample *s, uint32_t k, uint32_t rows)
{
    if (s->n_values == rows) return s->values[k];
    if (!s->n_values && s->n_times == rows) return 1;
    if (k) return 0;
    bool saturated = false;
    int64_t v = sample_total(s, &saturated);
    splunk_write_lose(w, saturated ? LOSS_VALUE_SATURATED : LOSS_OBSERVATIONS, 1, "samples.values",
                      (str){0});
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

/* Maps an attribute to one with Splunk's name. */
static uint32_t label_of(const splunk_writer *w, pass *t, uint32_t attr, bool *has_period)
{
    const attribute *at = &w->d->attributes.v[attr];
    str key = dict_str(w->d, at->key);
    if (str_eq(key, STR(KILN_ATTR_STACK_TRUNCATED)) && at->value.kind == ANY_BOOL && at->value.i)
        return builder_attribute_str(&t->b, STR(SPLUNK_TRUNCATED), STR("true"));
    *has_period |= str_eq(key, STR(SPLUNK_PERIOD));
    return splunk_import_attr(&t->x, attr);
}

/* Returns the number of frames, including inlined functions. */
static uint64_t count_frames(const dict *d, uint32_t stack)
{
    span s = dict_stack(d, stack);
    uint64_t n = 0;
    for (uint32_t i = 0; i < s.n; i++) {
        uint32_t lines = d->locations.v[d->frames.v[s.at + i]].lines.n;
        n += lines ? lines : 1;
    }
    return n;
}

static bool put_row(splunk_writer *w, pass *t, size_t i, const sample *s, uint32_t k)
{
    bool timed = s->n_times && rows_of(s) == s->n_times, has_period = false, first = !t->column;
    t->attrs.n = 0;
    if (timed) {
        int64_t ms = (int64_t)(s->times[k] / NS_PER_MS);
        push(t, builder_attribute_int(&t->b, STR(SPLUNK_TIME), ms));
        if (first && s->times[k] % NS_PER_MS)
            splunk_write_lose(w, LOSS_ROUNDED, 1, "samples.timestamps_unix_nano",
                              STR("rounded to milliseconds"));
    } else if (first) {
        splunk_write_lose(w, LOSS_TIMESTAMP, s->n_times, "samples.timestamps_unix_nano", (str){0});
        w->untimed = true;
    }
    size_t at = t->attrs.n;
    for (uint32_t n = 0; n < s->n_attrs; n++) push(t, label_of(w, t, s->attrs[n], &has_period));
    int64_t ms = splunk_group_period_ms(w);
    if (!has_period && w->shape == SPLUNK_SHAPE_CPU && w->n == 2) {
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
    if (first) w->frames += count_frames(w->d, s->stack);
    return !t->b.failed || err_memory(w->e);
}

static bool put_column(splunk_writer *w, pass *t)
{
    profile *p = builder_profile(&t->b);
    const profile *from = &w->p[t->column];
    if (w->shape == SPLUNK_SHAPE_TYPED) {
        p->sample_type = (value_type){splunk_import_string(&t->x, from->sample_type.type),
                                      splunk_import_string(&t->x, from->sample_type.unit)};
    }
    if (!splunk_group_period_ms(w)) {
        p->period = from->period;
        p->period_type = (value_type){splunk_import_string(&t->x, from->period_type.type),
                                      splunk_import_string(&t->x, from->period_type.unit)};
    }
    if (!splunk_window_is_derived(w)) {
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
    return !t->b.failed || err_memory(w->e);
}

/* Stores the order of the types in the scope, where pprof.h expects it. */
static void put_scope(splunk_writer *w, pass *t)
{
    keyvalue kv[2];
    scope s = {.attrs = {kv, 0}};
    const attribute *order = splunk_profile_attr(w, w->p, KILN_ATTR_SAMPLE_TYPE_ORDER),
                    *first = splunk_profile_attr(w, w->p, KILN_ATTR_DEFAULT_SAMPLE_TYPE);
    if (order)
        kv[s.attrs.n++] =
            (keyvalue){.key = STR(PPROF_ATTR_SAMPLE_TYPE_ORDER), .value = order->value};
    if (first)
        kv[s.attrs.n++] =
            (keyvalue){.key = STR(PPROF_ATTR_DEFAULT_SAMPLE_TYPE), .value = first->value};
    builder_scope(&t->b, w->shape == SPLUNK_SHAPE_TYPED && s.attrs.n ? &s : NULL);
}

static bool make_pprof(splunk_writer *w, buf *out)
{
    pass t = {0};
    model m;
    if (!builder_init(&t.b, &w->a)) return err_memory(w->e);
    t.b.borrow = true;
    t.x = (splunk_import){.from = w->m, .to = &t.b, .exact = true};
    builder_resource(&t.b, NULL);
    put_scope(w, &t);
    uint32_t columns = w->shape == SPLUNK_SHAPE_TYPED ? w->n : 1;
    for (; t.column < columns; t.column++)
        if (!put_column(w, &t)) return false;
    if (!builder_finish(&t.b, &m, w->e)) return false;
    pprof_write_opts o = {.ledger = w->o->ledger};
    if (w->shape == SPLUNK_SHAPE_TYPED) return pprof_encode(&m, &o, out, w->e);
    buf typed = {0};
    bool ok = pprof_encode(&m, &o, &typed, w->e) &&
              splunk_pprof_bare(buf_view(&typed), w->shape == SPLUNK_SHAPE_ALLOCATION, out, w->e);
    buf_free(&typed);
    return ok;
}

static bool make_body(splunk_writer *w, buf *out)
{
    buf pprof = {0}, gz = {0};
    bool ok = make_pprof(w, &pprof) && pack(CODEC_GZIP, buf_view(&pprof), &gz, w->e);
    if (ok) base64_encode(out, buf_view(&gz));
    if (ok && (pprof.n > SPLUNK_MAX_INFLATED || out->n > SPLUNK_MAX_BODY))
        ok = err_set(
            w->e, ERR_LIMIT,
            "a profile of %zu bytes of pprof exceeds the limit of a log record; split the input",
            pprof.n);
    buf_free(&pprof), buf_free(&gz);
    return ok && (!out->failed || err_memory(w->e));
}

/* Sets the attributes of the record. Sample types are written only when they differ from those that
 * the format implies. */
static bool pprof_attrs(splunk_writer *w)
{
    const attribute *type = splunk_profile_attr(w, w->p, SPLUNK_DATA_TYPE);
    str derived = splunk_group_is_allocation(w) ? STR("allocation") : STR("cpu");
    uint64_t count = splunk_profile_int(w, SPLUNK_FRAME_COUNT);
    return splunk_add_str(w, SPLUNK_SOURCETYPE, STR(SPLUNK_SCOPE)) &&
           splunk_add_str(w, SPLUNK_DATA_FORMAT, STR(SPLUNK_PPROF)) &&
           splunk_add_attr(w, STR(SPLUNK_DATA_TYPE), type ? type->value : any_of_str(derived)) &&
           splunk_add_attr(w, STR(SPLUNK_FRAME_COUNT),
                           any_of_int((int64_t)(count ? count : w->frames))) &&
           splunk_add_profile_attrs(w, false) && splunk_add_profile_id(w);
}

bool splunk_write_pprof(splunk_writer *w, buf *out)
{
    buf body = {0};
    splunk_record r = {0};
    bool ok = make_body(w, &body) && pprof_attrs(w);
    if (ok) {
        splunk_set_fields(w, &r);
        r.body = any_of_str(buf_view(&body));
        r.attrs = (keyvalues){w->attrs.v, w->attrs.n};
        r.time = splunk_profile_int(w, KILN_ATTR_SPLUNK_TIME);
        r.observed = splunk_profile_int(w, KILN_ATTR_SPLUNK_OBSERVED);
        if (!r.time && w->untimed) r.time = w->p->time_unix_nano;
        if (w->untimed && (r.time || r.observed)) /* readers use the time of the record (C-4) */
            splunk_write_lose(w, LOSS_SAMPLE_SHAPE, 1, "samples",
                              STR("samples get the time of the record"));
        splunk_record_put(out, 2, &r);
    }
    buf_free(&body);
    return ok;
}
