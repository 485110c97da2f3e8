#include "format/speedscope.h"

#include "format/json_read.h"
#include "format/nest.h"
#include "format/observe.h"
#include "wire/carried.h"
#include "base/ban.h"
#include <inttypes.h>

enum { GUARD = 9 }; /* digits behind those of a value, so that sums are rounded and not addends */

typedef struct frame {
    json_slice text;
    uint32_t location; /* + 1; 0: nobody asked yet */
} frame;

typedef struct piece {
    uint32_t node;
    int64_t time, value;
} piece;

/* One profile of the file, its lists still text. */
typedef struct section {
    json_slice samples, weights, events;
    const speedscope_unit *unit;
    bool evented, typed;
    int scale; /* values are multiplied by 10^scale */
    str name;
    int64_t start, end;
} section;

typedef struct reader {
    builder b;
    arena *work;
    nest_tree tree;
    nest open;
    VEC(frame) frames;
    VEC(piece) pieces;
    const read_opts *o;
    ledger *l;
    bool rounded;  /* in the profile at hand ... */
    bool timed;    /* ... whose unit is one of time */
    int64_t until; /* pieces are out up to here */
    uint64_t n_kept, n_refused, n_unclosed, n_pauses;
    json_slice shared, profiles;
    str exporter, name;
    int64_t active; /* -1: not said */
} reader;

static bool text_or_null(json *j, reader *r, str *out)
{
    if (json_next(j) == JSON_NULL) return true;
    if (j->tok != JSON_STRING) return json_expected(j, "text");
    *out = builder_copy_str(&r->b, j->text);
    return true;
}

/* ---- frames ---- */

static bool frame_list(json *j, reader *r)
{
    if (!json_want_array(j)) return false;
    while (json_element(j)) {
        uint64_t at = j->at;
        frame *f = vec_push(r->work, &r->frames);
        if (!f) return err_set(j->e, ERR_LIMIT, "the memory budget is spent");
        if (j->tok != JSON_OBJECT) return json_expected(j, "a frame");
        if (!json_skip_open(j)) return false;
        const char *from = j->window + (at - j->base);
        f->text = (json_slice){{from, (size_t)(j->p - from)}, at};
    }
    return !j->bad;
}

static bool read_shared(reader *r, err *e)
{
    json j = json_open_slice(r->shared, r->work, e);
    if (!json_want_object(&j)) return err_in(e, "shared");
    while (json_key(&j)) {
        bool ok = json_is(&j, "frames") ? frame_list(&j, r) : json_skip_value(&j);
        if (!ok) return err_in(e, "shared.frames[%zu]", r->frames.n ? r->frames.n - 1 : 0);
    }
    return !j.bad;
}

static bool number_or_null(json *j, int64_t *v)
{
    return json_next(j) == JSON_NULL || json_to_i64(j, INT64_MIN, INT64_MAX, v);
}

static bool make_frame(reader *r, frame *f, err *e)
{
    json j = json_open_slice(f->text, r->work, e);
    function fn = {0};
    line l = {0};
    bool ok = json_want_object(&j);
    while (ok && json_key(&j)) {
        str text = {0};
        if (json_is(&j, "name")) {
            ok = text_or_null(&j, r, &text);
            fn.name = builder_string(&r->b, text);
        } else if (json_is(&j, "file")) {
            ok = text_or_null(&j, r, &text);
            fn.filename = builder_string(&r->b, text);
        } else if (json_is(&j, "line")) {
            ok = number_or_null(&j, &l.line);
        } else if (json_is(&j, "col")) {
            ok = number_or_null(&j, &l.column);
        } else {
            ok = json_skip_value(&j);
            ledger_add(r->l, STAGE_READ, LOSS_UNKNOWN_FIELD, NULL, "shared.frames[]", (str){0});
        }
    }
    if (!ok || j.bad) return err_in(e, "shared.frames[%zu]", (size_t)(f - r->frames.v));
    l.function = builder_function(&r->b, &fn);
    f->location = builder_location(&r->b, 0, 0, &l, 1, NULL, 0) + 1;
    return true;
}

/* The number that was just taken is the index of a frame. */
static bool frame_of(json *j, reader *r, uint32_t *loc)
{
    uint64_t i;
    if (j->tok != JSON_NUMBER) return json_expected(j, "the index of a frame");
    if (!json_to_u64(j, UINT32_MAX, &i)) return false;
    if (i >= r->frames.n) return json_fail(j, "frame %" PRIu64 " of %zu", i, r->frames.n);
    frame *f = &r->frames.v[i];
    if (!f->location && !make_frame(r, f, j->e)) return false;
    *loc = f->location - 1;
    return true;
}

/* ---- sampled ---- */

static bool out_of_memory(err *e) { return err_set(e, ERR_LIMIT, "the memory budget is spent"); }

static bool sample_stack(json *j, reader *r, uint32_t *node)
{
    if (j->tok != JSON_ARRAY) return json_expected(j, "a stack");
    *node = 0;
    while (json_element(j)) {
        uint32_t loc;
        if (!frame_of(j, r, &loc)) return false;
        *node = nest_child(&r->tree, *node, loc);
    }
    return !j->bad;
}

/* Weights are rounded on their running sum: a thousand times 0.0001 is 0.1. */
static bool next_weight(json *w, reader *r, const section *p, wide *sum, int64_t *value)
{
    wide v;
    bool exact;
    if (!json_element(w)) return json_fail(w, "there are fewer weights than samples");
    if (!json_to_wide(w, p->scale + GUARD, &v, &exact)) return false;
    wide before = wide_round(*sum, GUARD), after = wide_round(*sum + v, GUARD);
    if (after > INT64_MAX || after < INT64_MIN)
        return json_fail(w, "the weights do not fit 64 bits");
    r->rounded |= !exact || v % 1000000000 != 0;
    *sum += v;
    *value = (int64_t)(after - before);
    return true;
}

static bool read_sampled(reader *r, const section *p, err *e)
{
    json s = json_open_slice(p->samples, r->work, e), w = json_open_slice(p->weights, r->work, e);
    if (!p->samples.bytes.n || !p->weights.bytes.n)
        return err_set(e, ERR_MALFORMED, "a sampled profile has samples and weights");
    if (!json_want_array(&s) || !json_want_array(&w)) return false;
    wide sum = 0;
    while (json_element(&s)) {
        piece *x = vec_push(r->work, &r->pieces);
        if (!x) return out_of_memory(e);
        int64_t past;
        if (ckd_add(&past, p->start, (int64_t)wide_round(sum, GUARD)))
            return json_fail(&s, "the time does not fit 64 bits");
        x->time = past;
        if (!sample_stack(&s, r, &x->node)) return err_in(e, "samples[%zu]", r->pieces.n - 1);
        if (!next_weight(&w, r, p, &sum, &x->value))
            return err_in(e, "weights[%zu]", r->pieces.n - 1);
    }
    if (!s.bad && json_element(&w)) return json_fail(&w, "there are more weights than samples");
    return !s.bad && !w.bad;
}

/* ---- evented ---- */

static void add_piece(reader *r, uint32_t node, int64_t at, int64_t length)
{
    piece *x = vec_push(r->work, &r->pieces);
    if (x)
        *x = (piece){node, at, length};
    else
        r->b.failed = true;
}

/* Values that are no time have no place for a pause; an empty stack marks where one was. */
static void on_piece(void *self, uint32_t node, uint32_t attr, int64_t at, int64_t length)
{
    reader *r = self;
    (void)attr;
    if (!r->timed && at > r->until) {
        r->n_pauses++;
        if (r->pieces.n) add_piece(r, 0, at, 0);
    }
    add_piece(r, node, at, length);
    r->until = at + length;
}

typedef struct event {
    bool opens, typed, placed, framed;
    uint32_t location;
    int64_t at;
} event;

static bool read_event(json *j, reader *r, const section *p, event *v)
{
    *v = (event){0};
    if (j->tok != JSON_OBJECT) return json_expected(j, "an event");
    while (json_key(j)) {
        bool ok = true;
        if (json_is(j, "type")) {
            ok = json_next(j) == JSON_STRING || json_expected(j, "text");
            v->opens = ok && str_eq(j->text, STR("O"));
            v->typed = v->opens || (ok && str_eq(j->text, STR("C")));
        } else if (json_is(j, "frame")) {
            json_next(j);
            ok = v->framed = frame_of(j, r, &v->location);
        } else if (json_is(j, "at")) {
            json_next(j);
            ok = v->placed = json_to_scaled(j, p->scale, &v->at, &r->rounded);
        } else {
            ok = json_skip_value(j);
        }
        if (!ok) return false;
    }
    if (j->bad) return false;
    return (v->typed && v->framed && v->placed) ||
           json_fail(j, "an event has a type (O or C), a frame and a time");
}

static bool apply_event(json *j, nest *n, const event *v, bool first)
{
    if (first) n->at = v->at;
    if (v->at < n->at) return json_fail(j, "the time goes back");
    nest_until(n, v->at);
    if (v->opens) return nest_push(n, v->location, 0, INT64_MAX) || out_of_memory(j->e);
    bool on_top = n->hidden || (n->open.n && n->open.v[n->open.n - 1].location == v->location);
    return (on_top && nest_end(n)) || json_fail(j, "closes a frame that is not on top");
}

static bool read_evented(reader *r, const section *p, err *e)
{
    json j = json_open_slice(p->events, r->work, e);
    if (!p->events.bytes.n) return err_set(e, ERR_MALFORMED, "an evented profile has events");
    nest *n = &r->open;
    nest_reset(n);
    n->at = r->until = p->start;
    r->timed = p->unit->is_time;
    if (!json_want_array(&j)) return false;
    size_t i = 0;
    for (; json_element(&j); i++) {
        event v;
        if (!read_event(&j, r, p, &v) || !apply_event(&j, n, &v, i == 0))
            return err_in(e, "events[%zu]", i);
    }
    if (n->open.n) r->n_unclosed += n->open.n;
    nest_finish(n, p->end);
    return !j.bad;
}

/* ---- a profile ---- */

static bool section_type(json *j, section *p)
{
    if (json_next(j) != JSON_STRING) return json_expected(j, "text");
    p->evented = str_eq(j->text, STR("evented"));
    p->typed = true;
    return p->evented || str_eq(j->text, STR("sampled")) ||
           json_fail(j, "a profile is evented or sampled");
}

static bool section_unit(json *j, section *p)
{
    if (json_next(j) != JSON_STRING) return json_expected(j, "text");
    p->unit = speedscope_unit_named(j->text);
    return p->unit || json_fail(j, "no unit of speedscope: \"%.*s\"",
                                j->text.n < 40 ? (int)j->text.n : 40, j->text.p);
}

static bool section_field(json *j, reader *r, section *p, json_slice *start, json_slice *end)
{
    if (json_is(j, "type")) return section_type(j, p);
    if (json_is(j, "unit")) return section_unit(j, p);
    if (json_is(j, "name")) return text_or_null(j, r, &p->name);
    if (json_is(j, "startValue")) return json_take_slice(j, start);
    if (json_is(j, "endValue")) return json_take_slice(j, end);
    if (json_is(j, "samples")) return json_take_slice(j, &p->samples);
    if (json_is(j, "weights")) return json_take_slice(j, &p->weights);
    if (json_is(j, "events")) return json_take_slice(j, &p->events);
    ledger_add(r->l, STAGE_READ, LOSS_UNKNOWN_FIELD, NULL, "profiles[]", j->text);
    return json_skip_value(j);
}

/* Digits behind the point that the numbers of a list need. */
static int digits_of(reader *r, json_slice s)
{
    enum { MOST = 9 };
    int most = 0;
    err ignored = {0};
    json j = json_open_slice(s, r->work, &ignored);
    if (!s.bytes.n) return 0;
    while (json_next(&j) > JSON_END) {
        const char *point = j.tok == JSON_NUMBER ? memchr(j.text.p, '.', j.text.n) : NULL;
        if (!point) continue;
        int n = 0, used = 0;
        for (const char *p = point + 1; p < j.text.p + j.text.n && *p >= '0' && *p <= '9'; p++)
            n++, used = *p != '0' ? n : used;
        if (used > most) most = used;
    }
    return most < MOST ? most : MOST;
}

/* Numbers whose unit was not known when they were met. */
static bool bound(reader *r, const section *p, json_slice s, int64_t *v, err *e)
{
    if (!s.bytes.n) return true;
    json j = json_open_slice(s, r->work, e);
    return json_next(&j) == JSON_NULL || json_to_scaled(&j, p->scale, v, &r->rounded);
}

static bool read_section(json *j, reader *r, section *p)
{
    json_slice start = {0}, end = {0};
    *p = (section){0};
    r->pieces.n = 0;
    r->rounded = false;
    if (j->tok != JSON_OBJECT) return json_expected(j, "a profile");
    while (json_key(j))
        if (!section_field(j, r, p, &start, &end)) return false;
    if (j->bad) return false;
    if (!p->typed || !p->unit) return json_fail(j, "a profile has a type and a unit");
    p->scale = p->unit->scale;
    if (!p->unit->is_time) p->scale = digits_of(r, p->evented ? p->events : p->weights);
    if (!bound(r, p, start, &p->start, j->e) || !bound(r, p, end, &p->end, j->e)) return false;
    return p->evented ? read_evented(r, p, j->e) : read_sampled(r, p, j->e);
}

/* ---- into the model ---- */

static void put_timed(reader *r, const uint32_t *attrs, size_t n)
{
    observe o = observe_new(&r->b, r->work);
    o.lengths = true;
    uint32_t *key = arena_new(r->work, uint32_t, r->pieces.n);
    if (!key) r->b.failed = true;
    for (size_t i = 0; i < r->pieces.n && !r->b.failed; i++) {
        key[i] = observe_key(&o, nest_stack(&r->tree, r->pieces.v[i].node), attrs, n);
        if (!r->b.failed) o.keys.v[key[i]].n++;
    }
    observe_place(&o, OBSERVE_BOTH);
    for (size_t i = 0; i < r->pieces.n && !r->b.failed; i++)
        observe_put(&o, key[i], (uint64_t)r->pieces.v[i].time, r->pieces.v[i].value);
    if (r->b.failed) return;
    profile *p = &r->b.m.profiles.v[r->b.m.profiles.n - 1];
    uint64_t end = p->time_unix_nano + p->duration_nano;
    observe_window(p, o.first < p->time_unix_nano ? o.first : p->time_unix_nano,
                   o.last > end ? o.last : end);
}

/* Without times the order of the samples is the only one: they stay apart (P-66 is waived). */
static void put_untimed(reader *r, const uint32_t *attrs, size_t n)
{
    for (size_t i = 0; i < r->pieces.n && !r->b.failed; i++)
        builder_sample(&r->b, &(sample){
                                  .stack = nest_stack(&r->tree, r->pieces.v[i].node),
                                  .values = &r->pieces.v[i].value,
                                  .n_values = 1,
                                  .attrs = attrs,
                                  .n_attrs = (uint32_t)n,
                              });
}

/* No times before the epoch: the model counts from it. */
static void lift(reader *r, section *p)
{
    int64_t least = p->start;
    for (size_t i = 0; i < r->pieces.n; i++)
        if (r->pieces.v[i].time < least) least = r->pieces.v[i].time;
    if (least >= 0 || least == INT64_MIN) return;
    ledger_add(r->l, STAGE_READ, LOSS_TIME, NULL, "profiles[].startValue", STR("before 0"));
    if (ckd_sub(&p->start, p->start, least)) p->start = INT64_MAX;
    p->end -= p->end > INT64_MAX + least ? 0 : least;
    for (size_t i = 0; i < r->pieces.n; i++)
        if (ckd_sub(&r->pieces.v[i].time, r->pieces.v[i].time, least))
            r->pieces.v[i].time = INT64_MAX;
}

/* Fractions of nothing in particular: the values are larger by a power of ten. */
static uint32_t scale_attr(reader *r, int digits)
{
    int64_t by = 1;
    while (digits-- > 0) by *= 10;
    ledger_add(r->l, STAGE_READ, LOSS_ROUNDED, KILN_ATTR_VALUE_SCALE, "profiles[].weights",
               (str){0});
    return builder_attribute_int(&r->b, STR(KILN_ATTR_VALUE_SCALE), by);
}

static void put_section(reader *r, section *p)
{
    builder *b = &r->b;
    uint32_t attrs[5], n = 0, on_sample[1], n_on_sample = 0;
    observe_profile(b, str_of(p->unit->type), str_of(p->unit->unit));
    if (p->name.n) attrs[n++] = builder_attribute_str(b, STR(KILN_ATTR_PROFILE_NAME), p->name);
    if (p->unit->scale)
        attrs[n++] = builder_attribute_str(b, STR(KILN_ATTR_UNIT), str_of(p->unit->name));
    if (p->scale != p->unit->scale) attrs[n++] = scale_attr(r, p->scale);
    if (p->evented) attrs[n++] = builder_attribute_bool(b, STR(KILN_ATTR_EVENT_INTERVAL), true);
    if (p->unit->is_time) n += (uint32_t)observe_epoch(b, r->o->time_anchor, r->l, &attrs[n]);
    builder_profile_attrs(b, attrs, n);
    if (str_starts(p->name, STR("Thread ")) || str_starts(p->name, STR("thread ")))
        on_sample[n_on_sample++] = observe_thread_name(b, p->name);
    if (!p->unit->is_time && p->start)
        ledger_add(r->l, STAGE_READ, LOSS_METADATA, NULL, "profiles[].startValue", (str){0});
    if (r->rounded)
        ledger_add_n(r->l, STAGE_READ, LOSS_ROUNDED, NULL, r->pieces.n, "profiles[]", (str){0});
    if (b->failed) return;
    if (!p->unit->is_time) {
        put_untimed(r, on_sample, n_on_sample);
        return;
    }
    lift(r, p);
    profile *q = &b->m.profiles.v[b->m.profiles.n - 1];
    observe_window(q, (uint64_t)p->start,
                   p->end > p->start ? (uint64_t)p->end : (uint64_t)p->start);
    put_timed(r, on_sample, n_on_sample);
}

static bool refuse(reader *r, size_t i, const err *why)
{
    char path[200];
    r->n_refused++;
    snprintf(path, sizeof path, "profiles[%zu]%s%s: %s", i, why->path[0] ? "." : "", why->path,
             why->msg);
    ledger_add(r->l, STAGE_READ, LOSS_PROFILE_REFUSED, NULL, path, (str){0});
    return true;
}

/* A profile that breaks the rules is left out as long as there is a whole one beside it. */
static bool read_profiles(reader *r, err *e)
{
    json j = json_open_slice(r->profiles, r->work, e);
    if (!json_want_array(&j)) return err_in(e, "profiles");
    err first = {0};
    for (size_t i = 0; json_element(&j); i++) {
        section p;
        err why = {0};
        json one = j;
        one.e = &why;
        bool ok = read_section(&one, r, &p);
        if (r->b.failed || why.code == ERR_LIMIT) return out_of_memory(e);
        if (ok) {
            put_section(r, &p);
            r->n_kept++;
        } else {
            if (first.code == ERR_OK) first = why, (void)err_in(&first, "profiles[%zu]", i);
            refuse(r, i, &why);
        }
        if (!json_skip_open(&j)) return false;
    }
    if (j.bad) return false;
    if (!r->n_kept && r->n_refused && e) *e = first;
    return r->n_kept || !r->n_refused;
}

/* ---- the file ---- */

static bool top_field(json *j, reader *r)
{
    if (json_is(j, "shared")) return json_take_slice(j, &r->shared);
    if (json_is(j, "profiles")) return json_take_slice(j, &r->profiles);
    if (json_is(j, "exporter")) return text_or_null(j, r, &r->exporter);
    if (json_is(j, "name")) return text_or_null(j, r, &r->name);
    if (json_is(j, "activeProfileIndex"))
        return json_next(j) == JSON_NULL || json_to_i64(j, 0, SPEEDSCOPE_MAX_PROFILES, &r->active);
    if (!json_is(j, "$schema") && !json_is(j, "version"))
        ledger_add(r->l, STAGE_READ, LOSS_UNKNOWN_FIELD, NULL, "", j->text);
    return json_skip_value(j);
}

/* exporter "py-spy@0.4.2" is what OTLP calls a scope. */
static void put_scope(reader *r)
{
    keyvalue v[2];
    scope s = {.present = r->exporter.n > 0, .name = r->exporter, .attrs = {v, 0}};
    const char *at = r->exporter.n ? memrchr(r->exporter.p, '@', r->exporter.n) : NULL;
    if (at) {
        s.name.n = (size_t)(at - r->exporter.p);
        s.version = (str){at + 1, r->exporter.n - s.name.n - 1};
    }
    if (r->name.n && r->name.n <= UINT32_MAX)
        v[s.attrs.n++] = (keyvalue){
            .key = STR(KILN_ATTR_DOCUMENT_NAME),
            .value = {.kind = ANY_STRING, .n = (uint32_t)r->name.n, .s = r->name.p},
        };
    if (r->active > 0)
        v[s.attrs.n++] = (keyvalue){
            .key = STR(KILN_ATTR_ACTIVE_PROFILE),
            .value = {.kind = ANY_INT, .i = r->active},
        };
    s.present |= s.attrs.n > 0;
    builder_resource(&r->b, NULL);
    builder_scope(&r->b, &s);
}

static bool read_all(reader *r, str bytes, err *e)
{
    json j = json_open_text(bytes, r->work, e);
    if (!json_want_object(&j)) return false;
    while (json_key(&j))
        if (!top_field(&j, r)) return false;
    if (!json_finish(&j)) return false;
    if (!r->profiles.bytes.n) return err_set(e, ERR_MALFORMED, "there are no profiles");
    if (r->shared.bytes.n && !read_shared(r, e)) return false;
    put_scope(r);
    if (!read_profiles(r, e)) return false;
    ledger_add_n(r->l, STAGE_READ, LOSS_TRUNCATED, NULL, r->n_unclosed, "profiles[].events",
                 STR("frames that are never closed"));
    ledger_add_n(r->l, STAGE_READ, LOSS_TIME, NULL, r->n_pauses, "profiles[].events",
                 STR("pauses"));
    ledger_add_n(r->l, STAGE_READ, LOSS_STACK_DEPTH, NULL, r->tree.n_cut, "profiles[]", (str){0});
    return true;
}

bool speedscope_read(str bytes, const read_opts *o, arena *a, model *out, err *e)
{
    arena work = work_arena(a);
    reader r = {.work = &work, .o = o, .l = o->ledger, .active = -1};
    bool ok = builder_init(&r.b, a, 0) && nest_tree_init(&r.tree, &r.b, &work);
    r.open = (nest){.t = &r.tree, .piece = on_piece, .self = &r};
    ok = ok ? read_all(&r, bytes, e) : out_of_memory(e);
    ok = ok && builder_finish(&r.b, out, e);
    if (ok) observe_anchor(out, o->time_anchor);
    arena_free(&work);
    return ok;
}
