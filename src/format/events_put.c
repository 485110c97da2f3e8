/* Writes events, types and tables of dialect C. Entry 0 of stacks, locations, functions, mappings
 * and links is empty; entry 0 of attributes is an attribute. */
#include "format/events_write.h"

#include "base/ban.h"

/* ---- gather ---- */

/* Returns the index in a table whose entry 0 is empty. */
static uint32_t ref1(dw *w, index_map *x, uint32_t i) { return i ? dw_ref(w, x, i) + 1 : 0; }

/* Returns the roles of sample attributes that become the duration of the event. */
static uint32_t sample_takes(const cw_type *t)
{
    return t->clocked && !t->interval ? TAKES(EVENT_DURATION) : 0;
}

static void gather_samples(dw *w, const profile *p, uint32_t takes)
{
    const dict *d = &w->m->dict;
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(w->m, p, i);
        span f = dict_stack(d, s.stack);
        if (f.n && !dw_known(&w->stacks, s.stack)) {
            dw_ref(w, &w->stacks, s.stack);
            for (uint32_t k = f.n; k-- > 0;) dw_gather_location(w, true, d->frames.v[f.at + k]);
        }
        if (s.link) dw_ref(w, &w->links, s.link);
        dw_gather_attrs(w, s.attrs, s.n_attrs, takes);
    }
}

static void gather_any(dw *w, const any *v)
{
    if (v->kind == ANY_STRING) dw_string(w, any_str(v));
    for (uint32_t i = 0; v->kind == ANY_ARRAY && i < v->n; i++) gather_any(w, &v->array[i]);
    for (uint32_t i = 0; v->kind == ANY_KVLIST && i < v->n; i++) {
        dw_string(w, v->kvlist[i].key);
        gather_any(w, &v->kvlist[i].value);
    }
}

/* Gathers functions, then types, then attributes, which determines the order of the strings. */
static void gather(cw *c, const profile *p)
{
    dw *w = &c->w;
    const dict *d = &w->m->dict;
    for (size_t i = 0; i < c->types.n; i++)
        gather_samples(w, c->types.v[i].p, sample_takes(&c->types.v[i]));
    for (size_t i = 0; i < c->types.n; i++) {
        const cw_type *t = &c->types.v[i];
        dw_string(w, t->name);
        dw_string(w, t->unit);
        dw_gather_attrs(w, refs_at(&d->attr_refs, t->p->attrs), t->p->attrs.n, t->takes);
    }
    for (size_t i = 0; i < w->attributes.used.n; i++) {
        const attribute *t = &d->attributes.v[w->attributes.used.v[i]];
        dw_model_string(w, t->key);
        gather_any(w, &t->value);
        if (dict_str(d, t->unit).n)
            dw_note(w, LOSS_ATTRIBUTE_UNIT, NULL, dict_str(d, t->unit), "attributes");
    }
    for (size_t i = 0; i < c->clocks.n; i++) {
        const any *attrs = c->clocks.v[i].attrs;
        for (uint32_t k = 0; attrs && k < attrs->n; k++) {
            const keyvalue **slot = vec_push(&w->tmp, &c->extra);
            if (!slot) {
                w->failed = true;
                return;
            }
            *slot = &attrs->kvlist[k];
            dw_string(w, attrs->kvlist[k].key);
            gather_any(w, &attrs->kvlist[k].value);
        }
    }
    const any *comments = dw_profile_attr(w, p, ROLE_COMMENT);
    for (uint32_t i = 0; comments && i < comments->n; i++)
        dw_string(w, any_str(&comments->array[i]));
}

/* ---- events ---- */

static void put_refs(dw *w, uint32_t number, const uint32_t *attrs, size_t n, uint32_t takes)
{
    size_t at = dw_begin(w->out, number);
    for (size_t i = 0; i < n; i++)
        if (!dw_takes(w, attrs[i], takes))
            pb_put_varint(w->out, dw_ref(w, &w->attributes, attrs[i]));
    dw_end_or_drop(w->out, at, number);
}

static void put_size(dw *w, const cw_type *t, const sample *s, uint32_t row, size_t i)
{
    buf *b = w->out;
    int64_t v = dw_row_at(s, row).value;
    bool one = !s->n_values && s->n_times; /* a time without a value counts 1, the default here */
    event_form f = event_form_of(t->clocked, t->default_value, one ? 1 : (uint64_t)v);
    if (t->counts) {
        sample counts = sample_at(w->m, t->counts, i);
        f = (event_form){.sum = (uint64_t)v, .count = (uint64_t)counts.values[0]};
    }
    if (!one && v == 0 && t->default_value) dw_note(w, LOSS_VALUE, NULL, STR("0"), "samples");
    dw_uint(b, 7, f.value);
    dw_uint(b, 8, f.count);
    dw_uint(b, 9, f.sum);
}

/* Counts the attributes of a sample that are named kiln.event.duration, of any kind. */
static uint32_t n_durations(const dw *w, const sample *s)
{
    const dict *d = &w->m->dict;
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_attrs; i++)
        n += str_eq(dict_str(d, d->attributes.v[s->attrs[i]].key), STR(KILN_ATTR_EVENT_DURATION));
    return n;
}

/* Writes the ticks since the last event of this clock, and the duration. */
static void put_time(cw *c, const cw_type *t, const sample *s, uint32_t row)
{
    dw *w = &c->w;
    cw_clock *k = &c->clocks.v[t->clock];
    uint64_t time = dw_row_at(s, row).time, duration = 0;
    i128 since = (i128)time - (i128)k->time_unix_nano, now = ns_to_ticks(since, k->frequency);
    i128 delta = now - k->now;
    if (ticks_to_ns(now, k->frequency) != since || delta != (int64_t)delta)
        dw_note(w, LOSS_TIMESTAMP, NULL, (str){0}, "samples");
    dw_uint(w->out, 5, (uint64_t)(int64_t)delta);
    k->now += (int64_t)delta;
    const any *given = dw_find(w, s->attrs, s->n_attrs, ROLE_EVENT_DURATION);
    /* When the output is read, another attribute of this name would hide the duration. */
    if (given && !t->interval && n_durations(w, s) > 1)
        dw_note(w, LOSS_EVENT_DURATION, NULL, (str){0}, "samples");
    if (t->interval)
        duration = (uint64_t)dw_row_at(s, row).value;
    else if (given)
        duration = (uint64_t)given->i;
    i128 ticks = ns_to_ticks((i128)duration, k->frequency);
    if (ticks != (i128)(uint64_t)ticks || ticks_to_ns(ticks, k->frequency) != (i128)duration)
        dw_note(w, LOSS_EVENT_DURATION, NULL, (str){0}, "samples");
    dw_uint(w->out, 6, (uint64_t)ticks);
}

static void put_event(cw *c, uint32_t type, const sample *s, uint32_t row, size_t i)
{
    dw *w = &c->w;
    const cw_type *t = &c->types.v[type];
    if (dw_row_at(s, row).value < 0) {
        dw_note(w, LOSS_VALUE, NULL, STR("negative"), "samples");
        return;
    }
    buf *b = w->out;
    size_t at = dw_begin(b, 1);
    dw_uint(b, 1, type);
    if (dict_stack(&w->m->dict, s->stack).n) dw_uint(b, 2, dw_ref(w, &w->stacks, s->stack) + 1);
    dw_uint(b, 3, ref1(w, &w->links, s->link));
    put_refs(w, 4, s->attrs, s->n_attrs, sample_takes(t));
    if (t->clocked) put_time(c, t, s, row);
    if (!t->interval) put_size(w, t, s, row, i);
    dw_end(b, at);
}

/* Writes the samples of a profile in order; each belongs to one of its one or two types. */
static void put_events(cw *c)
{
    dw *w = &c->w;
    for (uint32_t t = 0; t < c->types.n;) {
        const cw_type *k = &c->types.v[t];
        snprintf(w->where, sizeof w->where, "profiles[%zu]", (size_t)(k->p - w->m->profiles.v));
        bool two = t + 1 < c->types.n && c->types.v[t + 1].p == k->p;
        for (size_t i = 0; i < k->p->n_samples; i++) {
            sample s = sample_at(w->m, k->p, i);
            uint32_t type = two && !s.n_times ? t + 1 : t, rows = dw_rows_timed(w, &s);
            for (uint32_t row = 0; row < rows; row++) put_event(c, type, &s, row, i);
        }
        t += two ? 2 : 1;
    }
}

static void put_types(cw *c)
{
    dw *w = &c->w;
    buf *b = w->out;
    const dict *d = &w->m->dict;
    for (size_t i = 0; i < c->types.n; i++) {
        const cw_type *t = &c->types.v[i];
        size_t at = dw_begin(b, 3);
        dw_uint(b, 1, dw_string(w, t->name));
        dw_uint(b, 2, dw_string(w, t->unit));
        if (t->clocked) pb_put_uint(b, 3, t->clock); /* optional in proto3: 0 means clock 0 */
        dw_uint(b, 4, t->default_value);
        put_refs(w, 7, refs_at(&d->attr_refs, t->p->attrs), t->p->attrs.n, t->takes);
        dw_end(b, at);
    }
}

/* ---- tables ---- */

static void put_stacks(dw *w)
{
    buf *b = w->out;
    const dict *d = &w->m->dict;
    dw_end(b, dw_begin(b, 4));
    for (size_t i = 0; i < w->stacks.used.n; i++) {
        span s = dict_stack(d, w->stacks.used.v[i]);
        size_t at = dw_begin(b, 4), list = dw_begin(b, 1);
        for (uint32_t k = 0; k < s.n; k++)
            pb_put_varint(b, ref1(w, &w->locations, d->frames.v[s.at + k]));
        dw_end(b, list);
        dw_end(b, at);
    }
}

static void put_locations(dw *w)
{
    buf *b = w->out;
    const dict *d = &w->m->dict;
    dw_end(b, dw_begin(b, 5));
    for (size_t i = 0; i < w->locations.used.n; i++) {
        const location *l = &d->locations.v[w->locations.used.v[i]];
        location_fields f = dw_location_fields(w, l);
        size_t at = dw_begin(b, 5);
        dw_uint(b, 1, ref1(w, &w->mappings, l->mapping));
        dw_uint(b, 2, l->address);
        for (uint32_t k = 0; k < l->lines.n; k++) {
            const line *n = &d->lines.v[l->lines.at + k];
            size_t line_at = dw_begin(b, 3);
            dw_uint(b, 1, ref1(w, &w->functions, n->function));
            dw_uint(b, 2, (uint64_t)n->line);
            dw_uint(b, 3, (uint64_t)n->column);
            dw_end(b, line_at);
        }
        dw_uint(b, 4, f.folded);
        dw_uint(b, 5, dw_string(w, f.type));
        put_refs(w, 6, refs_at(&d->attr_refs, l->attrs), l->attrs.n, f.takes);
        dw_end(b, at);
    }
}

static void put_functions(dw *w)
{
    buf *b = w->out;
    dw_end(b, dw_begin(b, 6));
    for (size_t i = 0; i < w->functions.used.n; i++) {
        const function *f = &w->m->dict.functions.v[w->functions.used.v[i]];
        size_t at = dw_begin(b, 6);
        dw_uint(b, 2, dw_model_string(w, f->name));
        dw_uint(b, 3, dw_model_string(w, f->system_name));
        dw_uint(b, 4, dw_model_string(w, f->filename));
        dw_uint(b, 5, (uint64_t)f->start_line);
        dw_end(b, at);
    }
}

static void put_mappings(dw *w)
{
    buf *b = w->out;
    const dict *d = &w->m->dict;
    dw_end(b, dw_begin(b, 7));
    for (size_t i = 0; i < w->mappings.used.n; i++) {
        const mapping *m = &d->mappings.v[w->mappings.used.v[i]];
        mapping_fields f = dw_mapping_fields(w, m, true, true);
        size_t at = dw_begin(b, 7);
        dw_uint(b, 1, m->memory_start);
        dw_uint(b, 2, m->memory_limit);
        dw_uint(b, 3, m->file_offset);
        dw_uint(b, 4, dw_model_string(w, m->filename));
        dw_uint(b, 5, dw_string(w, f.build_id));
        dw_uint(b, 6, f.kind);
        put_refs(w, 7, refs_at(&d->attr_refs, m->attrs), m->attrs.n, f.takes);
        for (uint32_t k = 0; k < 4; k++) dw_uint(b, 8 + k, f.flags[k]);
        dw_end(b, at);
    }
}

static void put_attributes(cw *c)
{
    dw *w = &c->w;
    const dict *d = &w->m->dict;
    for (size_t i = 0; i < w->attributes.used.n; i++) {
        const attribute *t = &d->attributes.v[w->attributes.used.v[i]];
        dw_keyvalue_ref(w, 8, dict_str(d, t->key), &t->value);
    }
    for (size_t i = 0; i < c->extra.n; i++)
        dw_keyvalue_ref(w, 8, c->extra.v[i]->key, &c->extra.v[i]->value);
}

static void put_clocks(cw *c)
{
    buf *b = c->w.out;
    size_t extra = c->w.attributes.used.n;
    for (size_t i = 0; i < c->clocks.n; i++) {
        const cw_clock *k = &c->clocks.v[i];
        size_t at = dw_begin(b, 12), list;
        dw_uint(b, 1, k->frequency);
        dw_fixed64(b, 2, k->time_unix_nano);
        list = dw_begin(b, 3);
        for (uint32_t n = 0; k->attrs && n < k->attrs->n; n++) pb_put_varint(b, extra++);
        dw_end_or_drop(b, list, 3);
        dw_end(b, at);
    }
}

static void put_times(dw *w, const profile *p)
{
    uint64_t end = p->time_unix_nano;
    if (p->duration_nano > INT64_MAX || ckd_add(&end, end, p->duration_nano)) {
        dw_note(w, LOSS_TIME, NULL, (str){0}, "duration_nano");
        dw_fixed64(w->out, 16, p->time_unix_nano);
        return;
    }
    dw_fixed64(w->out, 16, end);
    dw_uint(w->out, 17, p->duration_nano);
}

void cw_put_profile(cw *c, const profile *p)
{
    static const link_ids none;
    dw *w = &c->w;
    buf *b = w->out;
    gather(c, p);
    put_events(c);
    put_types(c);
    put_stacks(w);
    put_locations(w);
    put_functions(w);
    put_mappings(w);
    put_attributes(c);
    dw_link(b, 10, &none);
    for (size_t i = 0; i < w->links.used.n; i++)
        dw_link(b, 10, &w->m->dict.links.v[w->links.used.v[i]]);
    dw_string(w, (str){0});
    for (size_t i = 0; i < w->strings.n; i++) pb_put_bytes(b, 11, w->strings.v[i]);
    put_clocks(c);
    put_times(w, p);
    const any *comments = dw_profile_attr(w, p, ROLE_COMMENT);
    size_t at = dw_begin(b, 18);
    for (uint32_t i = 0; comments && i < comments->n; i++)
        pb_put_varint(b, dw_string(w, any_str(&comments->array[i])));
    dw_end_or_drop(b, at, 18);
}
