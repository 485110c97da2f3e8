/* Writes a model as speedscope's JSON: one profile of the file per Profile and thread, evented
 * where events can represent the intervals, sampled otherwise. */
#include "format/speedscope.h"

#include "format/lanes.h"
#include "base/hash.h"
#include "wire/anchor.h"
#include "wire/carried.h"
#include "base/ban.h"
#include <inttypes.h>

typedef struct writer {
    const model *m;
    json_out j;
    arena work;
    ledger *l;
    lane_frames frames;
    u32s open; /* open frames of an evented profile */
    const speedscope_unit *unit;
    int scale;     /* a value is 10^scale times the written number */
    uint64_t base; /* subtracted from every time */
    int digits;    /* decimals of the values of a lane */
    int64_t n_profiles;
    lane_shape shape; /* of the current profile */
} writer;

/* ---- frames ---- */

static void put_frames(writer *w)
{
    json_out *j = &w->j;
    json_put_key(j, STR("shared"));
    json_put_object(j);
    json_put_key(j, STR("frames"));
    json_put_array(j);
    for (size_t i = 0; i < w->frames.v.n; i++) {
        const lane_frame *f = &w->frames.v.v[i];
        json_put_object(j);
        json_put_key(j, STR("name"));
        json_put_str(j, f->name);
        if (f->file.n) json_put_key(j, STR("file")), json_put_str(j, f->file);
        if (f->line) json_put_key(j, STR("line")), json_put_i64(j, f->line);
        if (f->column) json_put_key(j, STR("col")), json_put_i64(j, f->column);
        json_put_object_end(j);
    }
    json_put_array_end(j);
    json_put_object_end(j);
}

/* ---- numbers ---- */

static void put_value(writer *w, int64_t v) { lane_put_decimal(&w->j, v, w->scale); }

/* Writes a value with all its decimals, from which the reader infers the scale. */
static void put_scaled(writer *w, int64_t v)
{
    int digits = w->scale;
    for (int64_t rest = v; digits && rest % 10 == 0; rest /= 10) digits--;
    if (digits > w->digits) w->digits = digits;
    put_value(w, v);
}

static void lost(const writer *w, loss_concept c, const char *path, str value)
{
    ledger_add(w->l, STAGE_WRITE, c, NULL, path, value);
}

/* Adds an observation to w->shape. Without times, a reader makes every observation a separate
 * sample. */
static bool add_observation(writer *w, const lane_item *x)
{
    uint64_t alone = hash_mix(1, x->sample);
    if (!w->unit->is_time && x->nth) w->shape.changed = true;
    return lane_shape_add(&w->shape, w->unit->is_time ? lane_stack_identity(&w->frames, 1) : alone,
                          x->sample, x->nth);
}

static int64_t relative(const writer *w, uint64_t time)
{
    uint64_t t = time >= w->base ? time - w->base : 0;
    return t > INT64_MAX ? INT64_MAX : (int64_t)t;
}

static int64_t sum(int64_t a, int64_t b) { return add_saturating(a, b, NULL); }

/* ---- evented ---- */

static void put_event(writer *w, char type, uint32_t frame_i, int64_t at)
{
    json_out *j = &w->j;
    json_put_object(j);
    json_put_key(j, STR("type"));
    json_put_str(j, (str){&type, 1});
    json_put_key(j, STR("frame"));
    json_put_u64(j, frame_i);
    json_put_key(j, STR("at"));
    put_scaled(w, at);
    json_put_object_end(j);
}

static void close_to(writer *w, size_t depth, int64_t at)
{
    while (w->open.n > depth) put_event(w, 'C', w->open.v[--w->open.n], at);
}

static bool move_to(writer *w, int64_t at)
{
    size_t same = 0;
    while (same < w->open.n && same < w->frames.stack.n &&
           w->open.v[same] == w->frames.stack.v[same])
        same++;
    close_to(w, same, at);
    for (size_t i = same; i < w->frames.stack.n; i++) {
        uint32_t *slot = vec_push(&w->work, &w->open);
        if (!slot) return false;
        *slot = w->frames.stack.v[i];
        put_event(w, 'O', *slot, at);
    }
    return true;
}

static bool put_evented(writer *w, const lanes *all, const lane *l, int64_t *end)
{
    int64_t now = *end;
    lane_seam seam = {.l = w->l};
    lanes_lose_order(all, l, w->l);
    json_put_key(&w->j, STR("events"));
    json_put_array(&w->j);
    w->open.n = 0;
    for (size_t i = l->first; i < l->first + l->n; i++) {
        const lane_item *x = &all->items.v[i];
        int64_t at = all->timed ? relative(w, x->time) : now;
        if (at > now) {
            lane_seam_end(&seam);
            close_to(w, 0, now);
        }
        if (at < now) lost(w, LOSS_NESTING, "samples[].timestamps", (str){0});
        if (at < now) at = now;
        if (!lane_frames_of(&w->frames, x->stack) || !add_observation(w, x)) return false;
        lane_seam_add(&seam, &w->frames, &w->open, x);
        if (!move_to(w, at)) return false;
        now = x->value > 0 ? sum(at, x->value) : at;
    }
    lane_seam_end(&seam);
    close_to(w, 0, now);
    json_put_array_end(&w->j);
    *end = now;
    return true;
}

/* ---- sampled ---- */

static bool put_samples(writer *w, const lanes *all, const lane *l)
{
    json_put_key(&w->j, STR("samples"));
    json_put_array(&w->j);
    for (size_t i = l->first; i < l->first + l->n; i++) {
        if (!lane_frames_of(&w->frames, all->items.v[i].stack) ||
            !add_observation(w, &all->items.v[i]))
            return false;
        json_put_array(&w->j);
        for (size_t k = 0; k < w->frames.stack.n; k++) json_put_u64(&w->j, w->frames.stack.v[k]);
        json_put_array_end(&w->j);
    }
    json_put_array_end(&w->j);
    return true;
}

/* Writes the weights. A sample begins where the one before it ends; other times are lost. */
static void put_weights(writer *w, const lanes *all, const lane *l, int64_t *end)
{
    json_put_key(&w->j, STR("weights"));
    json_put_array(&w->j);
    for (size_t i = l->first; i < l->first + l->n; i++) {
        const lane_item *x = &all->items.v[i];
        if (all->timed && w->unit->is_time && relative(w, x->time) != *end)
            lost(w, LOSS_TIMESTAMP, "samples[].timestamps", (str){0});
        put_scaled(w, x->value);
        *end = sum(*end, x->value);
    }
    json_put_array_end(&w->j);
}

/* ---- profiles ---- */

static const speedscope_unit *unit_for(const model *m, const profile *p)
{
    str unit = dict_str(&m->dict, p->sample_type.unit);
    const speedscope_unit *original =
        speedscope_unit_named(lane_text(lane_profile_attr(m, p, KILN_ATTR_UNIT)));
    if (original && str_eq(unit, str_of(original->unit))) return original;
    const speedscope_unit *same = speedscope_unit_named(unit);
    if (same) return same->scale ? speedscope_unit_as_is(unit) : same;
    if (str_eq(unit, STR("ns"))) return speedscope_unit_named(STR("nanoseconds"));
    if (str_eq(unit, STR("By"))) return speedscope_unit_named(STR("bytes"));
    return speedscope_unit_named(STR("none"));
}

static int scale_for(const model *m, const profile *p, const speedscope_unit *unit)
{
    const any *by = lane_profile_attr(m, p, KILN_ATTR_VALUE_SCALE);
    int n = 0;
    if (unit->is_time || !by || by->kind != ANY_INT) return unit->scale;
    for (int64_t v = by->i; v >= 10 && n < 9; v /= 10) n++;
    return n;
}

static bool is_thread(str name)
{
    return str_starts(name, STR("Thread ")) || str_starts(name, STR("thread "));
}

/* Records losses of the name. A reader derives the thread from a name such as "Thread 12". */
static void name_losses(const writer *w, const lane *l, const any *given, str name, bool alone)
{
    bool same = given ? given->kind == ANY_STRING && str_eq(any_str(given), name) : !name.n;
    if (!same)
        ledger_add(w->l, STAGE_WRITE, LOSS_METADATA, KILN_ATTR_PROFILE_NAME, "profiles[].name",
                   STR("generated"));
    if (!l->n) return;
    if (l->has_tid ? false : str_eq(l->name, is_thread(name) ? name : (str){0})) return;
    ledger_add(w->l, STAGE_WRITE, LOSS_ATTRIBUTE, KILN_ATTR_PROFILE_NAME, "samples[].attributes",
               l->has_tid ? STR(ATTR_THREAD_ID) : STR(ATTR_THREAD_NAME));
    if (alone && (l->has_tid || l->name.n))
        lost(w, LOSS_ATTRIBUTE, "samples[].attributes",
             l->has_tid ? STR(ATTR_THREAD_ID) : STR(ATTR_THREAD_NAME));
}

/* Writes the name from the original file or, if there are several profiles, type and thread. */
static void put_name(writer *w, const profile *p, const lanes *all, const lane *l)
{
    const dict *d = &w->m->dict;
    const any *given = lane_profile_attr(w->m, p, KILN_ATTR_PROFILE_NAME);
    buf b = {0};
    if (given && given->kind == ANY_STRING) {
        buf_str(&b, any_str(given));
    } else if (w->m->profiles.n > 1 || (all->v.n > 1 && !l->name.n)) {
        buf_str(&b, dict_str(d, p->sample_type.type));
    }
    bool alone = all->v.n <= 1 && given;
    if (!alone && l->has_tid) buf_printf(&b, "%sThread %" PRId64, b.n ? " " : "", l->tid);
    if (!alone && l->name.n) {
        buf_z(&b, b.n ? " " : "");
        buf_str(&b, l->name);
    }
    str name = b.n ? buf_view(&b) : STR("");
    json_put_key(&w->j, STR("name"));
    json_put_str(&w->j, name);
    name_losses(w, l, given, name, alone);
    if (b.failed) w->j.b->failed = true;
    buf_free(&b);
}

static void put_bounds(writer *w, int64_t start, int64_t end)
{
    json_put_key(&w->j, STR("startValue"));
    put_value(w, start);
    json_put_key(&w->j, STR("endValue"));
    put_value(w, end);
}

/* Records a difference from the time range that a reader computes from the bounds and the
 * samples. */
static void window_losses(const writer *w, const profile *p, const lanes *all, const lane *l,
                          int64_t start, int64_t end)
{
    uint64_t last = (uint64_t)end;
    for (size_t i = l->first; i < l->first + l->n; i++)
        if (!all->items.v[i].value && last == (uint64_t)start)
            last++; /* a time range is not empty */
    if (w->unit->is_time && (w->base || p->time_unix_nano != (uint64_t)start ||
                             p->duration_nano != last - (uint64_t)start))
        lost(w, LOSS_TIME, "profile.time_unix_nano", (str){0});
}

/* Records a scale that differs from the one that a reader infers from the digits. */
static void scale_losses(const writer *w, const profile *p)
{
    if (!w->unit->is_time && w->digits != w->scale) {
        lost(w, LOSS_VALUE_SCALE, "samples[].values", (str){0});
        if (lane_profile_attr(w->m, p, KILN_ATTR_VALUE_SCALE))
            lost(w, LOSS_ATTRIBUTE, "profile", STR(KILN_ATTR_VALUE_SCALE));
    }
}

/* Returns startValue, chosen so that the running sum fits the numbers of a reader. */
static int64_t start_of(const writer *w, const lanes *all, const lane *l)
{
    int64_t start = relative(w, all->items.v[l->first].time), end = start;
    for (size_t i = l->first; i < l->first + l->n; i++)
        if (ckd_add(&end, end, all->items.v[i].value)) return 0;
    return start;
}

static bool put_lane(writer *w, const profile *p, const lanes *all, const lane *l, bool evented)
{
    json_out *j = &w->j;
    bool timed = all->timed && w->unit->is_time;
    int64_t start = timed ? relative(w, p->time_unix_nano) : 0, end;
    if (timed && !evented && l->n) start = start_of(w, all, l);
    end = start;
    w->digits = 0;
    json_put_object(j);
    json_put_key(j, STR("type"));
    json_put_str(j, evented ? STR("evented") : STR("sampled"));
    put_name(w, p, all, l);
    json_put_key(j, STR("unit"));
    json_put_str(j, str_of(w->unit->name));
    if (evented) {
        if (!put_evented(w, all, l, &end)) return false;
    } else {
        if (!put_samples(w, all, l)) return false;
        put_weights(w, all, l, &end);
    }
    int64_t stated = timed ? relative(w, p->time_unix_nano + p->duration_nano) : 0;
    put_bounds(w, start, stated > end ? stated : end);
    window_losses(w, p, all, l, start, stated > end ? stated : end);
    scale_losses(w, p);
    json_put_object_end(j);
    w->n_profiles++;
    return true;
}

static bool is_scale(int64_t by, int digits)
{
    while (digits-- > 0 && by % 10 == 0) by /= 10;
    return by == 1;
}

/* Records attributes that a reader does not restore from the rest of the profile. */
static void attr_losses(const writer *w, const profile *p, bool evented)
{
    const any *unit = lane_profile_attr(w->m, p, KILN_ATTR_UNIT),
              *scale = lane_profile_attr(w->m, p, KILN_ATTR_VALUE_SCALE);
    if (unit && !(w->unit->scale && str_eq(lane_text(unit), str_of(w->unit->name))))
        lost(w, LOSS_ATTRIBUTE, "profile", STR(KILN_ATTR_UNIT));
    if (scale && (w->unit->is_time || !w->scale || !is_scale(scale->i, w->scale)))
        lost(w, LOSS_ATTRIBUTE, "profile", STR(KILN_ATTR_VALUE_SCALE));
    if (!evented && lane_profile_attr(w->m, p, KILN_ATTR_EVENT_INTERVAL))
        lost(w, LOSS_ATTRIBUTE, "profile", STR(KILN_ATTR_EVENT_INTERVAL));
    if (!w->unit->is_time && lane_profile_attr(w->m, p, KILN_ATTR_TIME_EPOCH))
        lost(w, LOSS_ATTRIBUTE, "profile", STR(KILN_ATTR_TIME_EPOCH));
}

static void profile_losses(const writer *w, const profile *p, const lanes *all)
{
    const dict *d = &w->m->dict;
    str type = dict_str(d, p->sample_type.type), unit = dict_str(d, p->sample_type.unit);
    if (!str_eq(type, str_of(w->unit->type)) || !str_eq(unit, str_of(w->unit->unit)))
        lost(w, LOSS_VALUE_TYPE, "profile.sample_type", type);
    if (!w->unit->is_time && (p->time_unix_nano || p->duration_nano))
        lost(w, LOSS_TIME, "profile.time_unix_nano", (str){0});
    if (all->timed && all->items.n && (w->base || !w->unit->is_time))
        ledger_add_n(w->l, STAGE_WRITE, LOSS_TIMESTAMP, NULL, all->items.n, "samples[].timestamps",
                     w->base ? STR("since the start") : (str){0});
}

/* Returns whether events can represent the profile. An item without a frame or with a negative
 * length requires a sampled profile. */
static bool is_evented(const writer *w, const profile *p, const lanes *all)
{
    if (!lane_is_true(lane_profile_attr(w->m, p, KILN_ATTR_EVENT_INTERVAL))) return false;
    if (all->timed && !all->all_timed) return false;
    uint64_t latest = p->time_unix_nano;
    for (size_t i = 0; i < all->items.n; i++)
        if (all->timed && all->items.v[i].time > latest) latest = all->items.v[i].time;
    int64_t end = relative(w, latest);
    for (size_t i = 0; i < all->items.n; i++) {
        const lane_item *x = &all->items.v[i];
        if (x->value < 0 || (x->value && !x->depth)) return false;
        if (ckd_add(&end, end, x->value) || end == INT64_MAX) return false;
    }
    return true;
}

static bool put_lanes(writer *w, const profile *p, const lanes *all, bool evented)
{
    static const lane none;
    if (!all->v.n) return put_lane(w, p, all, &none, evented);
    for (size_t i = 0; i < all->v.n; i++)
        if (!put_lane(w, p, all, &all->v.v[i], evented)) return false;
    return true;
}

static bool put_profile(writer *w, const profile *p, err *e)
{
    lanes all;
    if (!lanes_of(w->m, p, &w->work, &all, e)) return false;
    if (!lane_shape_init(&w->shape, p, &w->work)) return err_memory(e);
    w->unit = unit_for(w->m, p);
    w->scale = scale_for(w->m, p, w->unit);
    /* Nanoseconds since 1970 do not fit in the doubles of speedscope. */
    bool relative_already = profile_is_undated(w->m, p);
    w->base = relative_already || !all.timed ? 0 : p->time_unix_nano;
    bool evented = is_evented(w, p, &all);
    profile_losses(w, p, &all);
    attr_losses(w, p, evented);
    all.timed |= !p->n_samples; /* true by default if there are no samples */
    w->shape.changed = all.v.n > 1;
    if (!put_lanes(w, p, &all, evented)) return err_memory(e);
    lane_shape_end(&w->shape, w->m, p, true, w->unit->is_time, w->l);
    return true;
}

/* ---- the file ---- */

static void put_exporter(writer *w)
{
    const scope *s = w->m->scopes.n ? &w->m->scopes.v[0] : NULL;
    json_out *j = &w->j;
    if (s && lane_text(lane_scope_attr(&s->attrs, KILN_ATTR_DOCUMENT_NAME)).n) {
        json_put_key(j, STR("name"));
        json_put_str(j, lane_text(lane_scope_attr(&s->attrs, KILN_ATTR_DOCUMENT_NAME)));
    }
    const any *active = s ? lane_scope_attr(&s->attrs, KILN_ATTR_ACTIVE_PROFILE) : NULL;
    if (active && active->kind == ANY_INT && active->i >= 0 && active->i < w->n_profiles) {
        json_put_key(j, STR("activeProfileIndex"));
        json_put_i64(j, active->i);
    }
    if (!s || !s->name.n) return;
    buf b = {0};
    buf_str(&b, s->name);
    if (s->version.n) buf_putc(&b, '@'), buf_str(&b, s->version);
    json_put_key(j, STR("exporter"));
    json_put_str(j, buf_view(&b));
    if (b.failed) j->b->failed = true;
    buf_free(&b);
}

static void losses(const model *m, ledger *l)
{
    static const lane_key
        on_profile[] = {{KILN_ATTR_PROFILE_NAME, ANY_STRING}, {KILN_ATTR_UNIT, ANY_STRING},
                        {KILN_ATTR_EVENT_INTERVAL, ANY_BOOL}, {KILN_ATTR_TIME_EPOCH, ANY_STRING},
                        {KILN_ATTR_VALUE_SCALE, ANY_INT},     {0}},
        on_sample[] = {{ATTR_THREAD_ID, ANY_INT}, {ATTR_THREAD_NAME, ANY_STRING}, {0}},
        on_scope[] = {
            {KILN_ATTR_DOCUMENT_NAME, ANY_STRING}, {KILN_ATTR_ACTIVE_PROFILE, ANY_INT}, {0}};
    lanes_losses(m, &(lane_carries){.profile = on_profile, .sample = on_sample, .scope = on_scope},
                 l);
    for (size_t i = 1; i < m->scopes.n; i++)
        ledger_add(l, STAGE_WRITE, LOSS_RESOURCE, NULL, "scope.name", m->scopes.v[i].name);
}

/* Records losses of the scope. A reader splits "name@version" at the last @ and restores attributes
 * in a fixed order. */
static void scope_losses(const writer *w)
{
    const scope *s = w->m->scopes.n ? &w->m->scopes.v[0] : NULL;
    if (!s) return;
    bool at = (s->version.n && memchr(s->version.p, '@', s->version.n)) ||
              (!s->version.n && s->name.n && memchr(s->name.p, '@', s->name.n));
    if (at || (s->version.n && !s->name.n)) lost(w, LOSS_RESOURCE, "scope.name", s->name);
    size_t n = 0;
    if (n < s->attrs.n && str_eq(s->attrs.v[n].key, STR(KILN_ATTR_DOCUMENT_NAME))) n++;
    if (n < s->attrs.n && str_eq(s->attrs.v[n].key, STR(KILN_ATTR_ACTIVE_PROFILE)))
        n += s->attrs.v[n].value.kind == ANY_INT && s->attrs.v[n].value.i > 0 &&
             s->attrs.v[n].value.i < w->n_profiles;
    if (n < s->attrs.n) lost(w, LOSS_RESOURCE, "scope.attributes", s->attrs.v[n].key);
}

static bool write_all(writer *w, err *e)
{
    json_out *j = &w->j;
    w->frames = (lane_frames){.m = w->m, .a = &w->work, .l = w->l, .places = true};
    if (!lane_frames_init(&w->frames)) return err_memory(e);
    json_put_object(j);
    json_put_key(j, STR("$schema"));
    json_put_str(j, STR("https://www.speedscope.app/file-format-schema.json"));
    json_put_key(j, STR("profiles"));
    json_put_array(j);
    for (size_t i = 0; i < w->m->profiles.n; i++)
        if (!put_profile(w, &w->m->profiles.v[i], e)) return err_in(e, "profiles[%zu]", i);
    json_put_array_end(j);
    put_frames(w);
    put_exporter(w);
    scope_losses(w);
    json_put_object_end(j);
    buf_putc(j->b, '\n');
    return !j->b->failed || err_set(e, ERR_MEMORY, "out of memory for the output");
}

bool speedscope_write(const format *f, const model *m, const write_opts *o, buf *out, err *e)
{
    (void)f;
    writer w = {.m = m, .j = {.b = out}, .l = o->ledger, .work.seed = m->seed};
    losses(m, o->ledger);
    bool ok = write_all(&w, e);
    arena_free(&w.work);
    return ok;
}
