#include "format/speedscope.h"

#include "format/lanes.h"
#include "base/hash.h"
#include "wire/carried.h"
#include "base/ban.h"
#include <inttypes.h>

typedef struct writer {
    const model *m;
    json_out j;
    arena work;
    ledger *l;
    lane_frames frames;
    u32s open; /* frames that are, in an evented profile */
    const speedscope_unit *unit;
    int scale;     /* values are 10^scale of what is written */
    uint64_t base; /* is taken off every time */
    int64_t n_profiles;
} writer;

static bool out_of_memory(err *e) { return err_set(e, ERR_LIMIT, "the memory budget is spent"); }

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
    put_value(w, at);
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
    lanes_lose_order(all, l, w->l);
    json_put_key(&w->j, STR("events"));
    json_put_array(&w->j);
    w->open.n = 0;
    for (size_t i = l->first; i < l->first + l->n; i++) {
        const lane_item *x = &all->items.v[i];
        int64_t at = all->timed ? relative(w, x->time) : now;
        if (at > now) close_to(w, 0, now);
        if (at < now)
            ledger_add(w->l, STAGE_WRITE, LOSS_NESTING, NULL, "samples[].timestamps", (str){0});
        if (at < now) at = now;
        if (!lane_frames_of(&w->frames, x->stack) || !move_to(w, at)) return false;
        now = x->value > 0 ? sum(at, x->value) : at;
    }
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
        if (!lane_frames_of(&w->frames, all->items.v[i].stack)) return false;
        json_put_array(&w->j);
        for (size_t k = 0; k < w->frames.stack.n; k++) json_put_u64(&w->j, w->frames.stack.v[k]);
        json_put_array_end(&w->j);
    }
    json_put_array_end(&w->j);
    return true;
}

/* A sample begins where the one before it ends: times that say otherwise are lost. */
static void put_weights(writer *w, const lanes *all, const lane *l, int64_t *end)
{
    json_put_key(&w->j, STR("weights"));
    json_put_array(&w->j);
    for (size_t i = l->first; i < l->first + l->n; i++) {
        const lane_item *x = &all->items.v[i];
        if (all->timed && (relative(w, x->time) != *end || !w->unit->is_time))
            ledger_add(w->l, STAGE_WRITE, LOSS_TIMESTAMP, NULL, "samples[].timestamps", (str){0});
        put_value(w, x->value);
        *end = sum(*end, x->value);
    }
    json_put_array_end(&w->j);
}

/* ---- profiles ---- */

static const speedscope_unit *unit_for(const model *m, const profile *p)
{
    str unit = dict_str(&m->dict, p->sample_type.unit);
    const speedscope_unit *was =
        speedscope_unit_named(lane_text(lane_profile_attr(m, p, KILN_ATTR_UNIT)));
    if (was && str_eq(unit, str_of(was->unit))) return was;
    const speedscope_unit *same = speedscope_unit_named(unit);
    if (same && !same->scale) return same;
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

/* As the file had it; otherwise, when there are several, what is measured and on which thread. */
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
    json_put_key(&w->j, STR("name"));
    json_put_str(&w->j, b.n ? buf_view(&b) : STR(""));
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

static bool put_lane(writer *w, const profile *p, const lanes *all, const lane *l, bool evented)
{
    json_out *j = &w->j;
    bool timed = all->timed && w->unit->is_time;
    int64_t start = timed ? relative(w, p->time_unix_nano) : 0, end;
    if (timed && !evented && l->n) start = relative(w, all->items.v[l->first].time);
    end = start;
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
    int64_t said = timed ? relative(w, p->time_unix_nano + p->duration_nano) : 0;
    put_bounds(w, start, said > end ? said : end);
    json_put_object_end(j);
    w->n_profiles++;
    return true;
}

static void profile_losses(writer *w, const profile *p, bool timed)
{
    const dict *d = &w->m->dict;
    str type = dict_str(d, p->sample_type.type), unit = dict_str(d, p->sample_type.unit);
    if (!str_eq(type, str_of(w->unit->type)) || !str_eq(unit, str_of(w->unit->unit)))
        ledger_add(w->l, STAGE_WRITE, LOSS_VALUE_TYPE, NULL, "profile.sample_type", type);
    bool kept = !w->base && timed && w->unit->is_time;
    if (!kept && (p->time_unix_nano || p->duration_nano))
        ledger_add(w->l, STAGE_WRITE, LOSS_TIME, NULL, "profile.time_unix_nano", (str){0});
}

static bool put_profile(writer *w, const profile *p, err *e)
{
    lanes all;
    if (!lanes_of(w->m, p, &w->work, &all, e)) return false;
    bool evented = lane_is_true(lane_profile_attr(w->m, p, KILN_ATTR_EVENT_INTERVAL));
    w->unit = unit_for(w->m, p);
    w->scale = scale_for(w->m, p, w->unit);
    /* Seconds since 1970 in nanoseconds do not fit the doubles of speedscope. */
    bool relative_already = lane_profile_attr(w->m, p, KILN_ATTR_TIME_EPOCH) != NULL;
    w->base = relative_already || !all.timed ? 0 : p->time_unix_nano;
    all.timed |= !p->n_samples; /* nothing says otherwise */
    profile_losses(w, p, all.timed);
    static const lane none;
    if (!all.v.n) return put_lane(w, p, &all, &none, evented) || out_of_memory(e);
    for (size_t i = 0; i < all.v.n; i++)
        if (!put_lane(w, p, &all, &all.v.v[i], evented)) return out_of_memory(e);
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

static bool write_all(writer *w, err *e)
{
    json_out *j = &w->j;
    w->frames = (lane_frames){.m = w->m, .a = &w->work, .l = w->l, .places = true};
    if (!lane_frames_init(&w->frames)) return out_of_memory(e);
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
    json_put_object_end(j);
    buf_putc(j->b, '\n');
    return !j->b->failed || err_set(e, ERR_LIMIT, "no memory for the output");
}

bool speedscope_write(const model *m, const write_opts *o, buf *out, err *e)
{
    writer w = {.m = m, .j = {.b = out}, .l = o->ledger, .work.seed = m->seed};
    losses(m, o->ledger);
    bool ok = write_all(&w, e);
    arena_free(&w.work);
    return ok;
}
