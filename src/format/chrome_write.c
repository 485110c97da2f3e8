/* A model as a Chromium trace: intervals become B and E (b and e when asynchronous), everything
 * else `samples` with `stackFrames`. */
#include "format/chrome.h"

#include "format/lanes.h"
#include "wire/carried.h"
#include "base/ban.h"

typedef struct stack_node {
    uint32_t parent, frame; /* parent + 1 */
} stack_node;

/* Samples of all profiles are written in order of time: readers take them thread by thread. */
typedef struct sample_out {
    int64_t ts, weight;
    lane lane;
    uint32_t node, profile, order;
} sample_out;

typedef struct writer {
    const model *m;
    json_out j;
    arena work;
    ledger *l;
    lane_frames frames;
    u32s open;
    VEC(stack_node) nodes; /* of stackFrames; ids are index + 1 */
    hash_index index;
    VEC(sample_out) samples;
    int64_t pid;
    str pid_text; /* instead, for a process that has only a name */
} writer;

static bool out_of_memory(err *e) { return err_set(e, ERR_LIMIT, "the memory budget is spent"); }

static int64_t signed_time(uint64_t t) { return t > INT64_MAX ? INT64_MAX : (int64_t)t; }

/* ---- processes ---- */

static str process_name(const resource *r)
{
    static const char *const keys[] = {"process.title", "process.executable.name", "service.name"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        str s = lane_text(lane_scope_attr(&r->attrs, keys[i]));
        if (s.n) return s;
    }
    return (str){0};
}

static void set_pid(writer *w, size_t resource_i)
{
    const resource *r = &w->m->resources.v[resource_i];
    const any *pid = lane_scope_attr(&r->attrs, "process.pid");
    bool known = pid && pid->kind == ANY_INT;
    w->pid = known ? pid->i : (int64_t)resource_i;
    w->pid_text = known ? (str){0} : process_name(r);
}

/* ---- events ---- */

static void put_key_str(json_out *j, const char *key, str v)
{
    json_put_key(j, str_of(key));
    json_put_str(j, v);
}

/* What all events of a lane have in common. */
static void put_lane_ids(writer *w, const lane *l)
{
    json_out *j = &w->j;
    json_put_key(j, STR("pid"));
    if (w->pid_text.n)
        json_put_str(j, w->pid_text);
    else
        json_put_i64(j, w->pid);
    json_put_key(j, STR("tid"));
    if (l->has_tid || !l->name.n)
        json_put_i64(j, l->tid);
    else
        json_put_str(j, l->name); /* it has no number */
    if (l->id.n) put_key_str(j, "id", l->id);
}

/* Only an object can stand there; whoever wrote the attribute may have had another idea. */
static bool is_json_object(writer *w, str text)
{
    err ignored = {0};
    json j = json_open(text.p, text.n, &w->work, &ignored);
    return json_next(&j) == JSON_OBJECT && json_skip_open(&j) && json_finish(&j);
}

static void put_args(writer *w, uint32_t attr)
{
    str text = attr ? lane_text(&w->m->dict.attributes.v[attr].value) : (str){0};
    if (!text.n) return;
    json_put_key(&w->j, STR("args"));
    if (is_json_object(w, text)) {
        w->j.after_key = false;
        buf_str(w->j.b, text);
        return;
    }
    json_put_object(&w->j);
    put_key_str(&w->j, "text", text);
    json_put_object_end(&w->j);
}

static void put_event(writer *w, const lane *l, bool begins, uint32_t frame_i, int64_t at,
                      uint32_t args, bool async)
{
    json_out *j = &w->j;
    const lane_frame *f = &w->frames.v.v[frame_i];
    json_put_object(j);
    put_key_str(j, "ph", begins ? (async ? STR("b") : STR("B")) : (async ? STR("e") : STR("E")));
    put_key_str(j, "name", f->name);
    if (f->category.n || async) put_key_str(j, "cat", f->category);
    json_put_key(j, STR("ts"));
    lane_put_decimal(j, at, 3);
    put_lane_ids(w, l);
    if (begins) put_args(w, args);
    json_put_object_end(j);
    buf_putc(j->b, '\n');
}

static void close_to(writer *w, const lane *l, size_t depth, int64_t at, bool async)
{
    while (w->open.n > depth) put_event(w, l, false, w->open.v[--w->open.n], at, 0, async);
}

static bool move_to(writer *w, const lane *l, const lane_item *x, int64_t at, bool async)
{
    const u32s *want = &w->frames.stack;
    size_t same = 0;
    while (same < w->open.n && same < want->n && w->open.v[same] == want->v[same]) same++;
    close_to(w, l, same, at, async);
    for (size_t i = same; i < want->n; i++) {
        uint32_t *slot = vec_push(&w->work, &w->open);
        if (!slot) return false;
        *slot = want->v[i];
        put_event(w, l, true, *slot, at, i + 1 == want->n ? x->args : 0, async);
    }
    if (same == want->n && x->args)
        ledger_add(w->l, STAGE_WRITE, LOSS_EVENT_DETAIL, NULL, "samples[].attributes",
                   STR(KILN_ATTR_EVENT_ARGS));
    return true;
}

static bool put_intervals(writer *w, const lanes *all, const lane *l, bool async)
{
    int64_t now = INT64_MIN;
    w->open.n = 0;
    lanes_lose_order(all, l, w->l);
    for (size_t i = l->first; i < l->first + l->n; i++) {
        const lane_item *x = &all->items.v[i];
        int64_t at = signed_time(x->time);
        if (at > now) close_to(w, l, 0, now, async);
        if (at < now)
            ledger_add(w->l, STAGE_WRITE, LOSS_NESTING, NULL, "samples[].timestamps", (str){0});
        if (at < now) at = now;
        if (!lane_frames_of(&w->frames, x->stack) || !move_to(w, l, x, at, async)) return false;
        now = add_saturating(at, x->value > 0 ? x->value : 0, NULL);
    }
    close_to(w, l, 0, now, async);
    return true;
}

/* ---- samples ---- */

static bool node_of(writer *w, uint32_t *out)
{
    uint32_t parent = 0;
    for (size_t i = 0; i < w->frames.stack.n; i++) {
        stack_node want = {parent, w->frames.stack.v[i]};
        if (!hash_index_room(&w->index, &w->work)) return false;
        uint64_t h = hash_mix(w->index.seed, (uint64_t)want.parent << 32 | want.frame);
        uint32_t k = hash_first(&w->index, h), at;
        bool found = false;
        for (; !found && hash_next(&w->index, &k, h, &at); k++)
            found = w->nodes.v[at].parent == want.parent && w->nodes.v[at].frame == want.frame;
        if (!found) {
            stack_node *slot = vec_push(&w->work, &w->nodes);
            if (!slot) return false;
            *slot = want;
            at = (uint32_t)(w->nodes.n - 1);
            hash_put(&w->index, k, h, at);
        }
        parent = at + 1;
    }
    *out = parent;
    return true;
}

static bool take_samples(writer *w, const lanes *all, const lane *l, uint32_t profile_i)
{
    int64_t now = 0;
    for (size_t i = l->first; i < l->first + l->n; i++) {
        const lane_item *x = &all->items.v[i];
        sample_out *s = vec_push(&w->work, &w->samples);
        if (!s) return false;
        *s = (sample_out){
            .ts = all->timed ? signed_time(x->time) : now,
            .weight = x->value,
            .lane = *l,
            .profile = profile_i,
            .order = (uint32_t)w->samples.n,
        };
        if (!lane_frames_of(&w->frames, x->stack) || !node_of(w, &s->node)) return false;
        now = add_saturating(now, x->value > 0 ? x->value : 0, NULL);
    }
    return true;
}

static int by_time(const void *left, const void *right)
{
    const sample_out *a = left, *b = right;
    if (a->ts != b->ts) return a->ts < b->ts ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static void put_sample_name(writer *w, const profile *p)
{
    str type = dict_str(&w->m->dict, p->sample_type.type),
        unit = dict_str(&w->m->dict, p->sample_type.unit);
    json_put_key(&w->j, STR("name"));
    if (str_eq(type, STR("samples")) && str_eq(unit, STR("count"))) {
        json_put_str(&w->j, STR(""));
        return;
    }
    buf b = {0};
    buf_str(&b, type), buf_putc(&b, '/'), buf_str(&b, unit);
    json_put_str(&w->j, buf_view(&b));
    if (b.failed) w->j.b->failed = true;
    buf_free(&b);
}

static void put_sample(writer *w, const sample_out *s)
{
    json_out *j = &w->j;
    json_put_object(j);
    json_put_key(j, STR("cpu"));
    json_put_i64(j, -1);
    set_pid(w, w->m->scopes.v[w->m->profiles.v[s->profile].scope].resource);
    put_lane_ids(w, &s->lane);
    json_put_key(j, STR("ts"));
    lane_put_decimal(j, s->ts, 3);
    put_sample_name(w, &w->m->profiles.v[s->profile]);
    if (s->node) {
        json_put_key(j, STR("sf"));
        json_put_u64(j, s->node);
    }
    json_put_key(j, STR("weight"));
    json_put_i64(j, s->weight);
    json_put_object_end(j);
    buf_putc(j->b, '\n');
}

static void put_samples(writer *w)
{
    json_out *j = &w->j;
    json_put_key(j, STR("samples"));
    json_put_array(j);
    qsort(w->samples.v, w->samples.n, sizeof *w->samples.v, by_time);
    for (size_t i = 0; i < w->samples.n; i++) put_sample(w, &w->samples.v[i]);
    json_put_array_end(j);
}

static void put_stack_frames(writer *w)
{
    json_out *j = &w->j;
    char id[16];
    json_put_key(j, STR("stackFrames"));
    json_put_object(j);
    for (size_t i = 0; i < w->nodes.n; i++) {
        const stack_node *n = &w->nodes.v[i];
        const lane_frame *f = &w->frames.v.v[n->frame];
        int len = snprintf(id, sizeof id, "%zu", i + 1);
        json_put_key(j, (str){id, (size_t)len});
        json_put_object(j);
        put_key_str(j, "name", f->name);
        put_key_str(j, "category", f->category);
        if (n->parent) {
            json_put_key(j, STR("parent"));
            json_put_u64(j, n->parent);
        }
        json_put_object_end(j);
    }
    json_put_object_end(j);
}

/* ---- the file ---- */

static void put_metadata(writer *w, const char *what, const lane *l, str name)
{
    json_out *j = &w->j;
    json_put_object(j);
    put_key_str(j, "ph", STR("M"));
    put_key_str(j, "name", str_of(what));
    put_lane_ids(w, l);
    json_put_key(j, STR("args"));
    json_put_object(j);
    put_key_str(j, "name", name);
    json_put_object_end(j);
    json_put_object_end(j);
    buf_putc(j->b, '\n');
}

static bool is_interval(const model *m, const profile *p, const lanes *all)
{
    return all->timed && lane_is_true(lane_profile_attr(m, p, KILN_ATTR_EVENT_INTERVAL));
}

/* Intervals are written at once, samples when all are known. */
static bool put_profile(writer *w, uint32_t profile_i, err *e)
{
    const profile *p = &w->m->profiles.v[profile_i];
    arena a = {0};
    lanes all;
    bool ok = lanes_of(w->m, p, &a, &all, e);
    bool intervals = ok && is_interval(w->m, p, &all);
    bool async = str_eq(dict_str(&w->m->dict, p->sample_type.type), STR("async"));
    for (size_t i = 0; ok && i < all.v.n; i++) {
        const lane *l = &all.v.v[i];
        ok = (intervals ? put_intervals(w, &all, l, async) : take_samples(w, &all, l, profile_i)) ||
             out_of_memory(e);
    }
    arena_free(&a);
    return ok;
}

static bool put_names(writer *w, const resource *r, err *e)
{
    static const lane none;
    /* Also without a name: speedscope takes a trace without events for something else. */
    put_metadata(w, "process_name", &none, process_name(r));
    for (uint32_t s = r->first_scope; s < r->first_scope + r->n_scopes; s++) {
        const scope *sc = &w->m->scopes.v[s];
        for (uint32_t i = 0; i < sc->n_profiles; i++) {
            arena a = {0};
            lanes all;
            bool ok = lanes_of(w->m, &w->m->profiles.v[sc->first_profile + i], &a, &all, e);
            for (size_t k = 0; ok && k < all.v.n; k++)
                if (all.v.v[k].has_tid && all.v.v[k].name.n)
                    put_metadata(w, "thread_name", &all.v.v[k], all.v.v[k].name);
            arena_free(&a);
            if (!ok) return false;
        }
    }
    return true;
}

static bool put_resource(writer *w, size_t resource_i, err *e)
{
    const resource *r = &w->m->resources.v[resource_i];
    set_pid(w, resource_i);
    if (!put_names(w, r, e)) return false;
    for (uint32_t s = r->first_scope; s < r->first_scope + r->n_scopes; s++) {
        const scope *sc = &w->m->scopes.v[s];
        for (uint32_t i = sc->first_profile; i < sc->first_profile + sc->n_profiles; i++)
            if (!put_profile(w, i, e)) return err_in(e, "profiles[%u]", i);
    }
    return true;
}

static void losses(const model *m, ledger *l)
{
    static const char *const on_profile[] = {KILN_ATTR_EVENT_INTERVAL, KILN_ATTR_TIME_EPOCH, NULL},
                             *const on_sample[] = {"thread.id", "thread.name", KILN_ATTR_EVENT_ID,
                                                   KILN_ATTR_EVENT_ARGS, NULL},
                             *const on_resource[] = {"process.pid", "process.title", NULL},
                             *const on_location[] = {KILN_ATTR_EVENT_CATEGORY, NULL};
    lanes_losses(m,
                 &(lane_carries){.profile = on_profile,
                                 .sample = on_sample,
                                 .resource = on_resource,
                                 .location = on_location},
                 l);
    for (size_t i = 0; i < m->scopes.n; i++)
        if (m->scopes.v[i].name.n)
            ledger_add(l, STAGE_WRITE, LOSS_RESOURCE, NULL, "scope.name", m->scopes.v[i].name);
    const dict *d = &m->dict;
    for (size_t i = 1; i < d->functions.n; i++)
        if (d->functions.v[i].filename)
            ledger_add(l, STAGE_WRITE, LOSS_SOURCE_LINE, NULL, "function_table[].filename",
                       dict_str(d, d->functions.v[i].filename));
    for (size_t i = 0; i < d->lines.n; i++)
        if (d->lines.v[i].line || d->lines.v[i].column)
            ledger_add(l, STAGE_WRITE, LOSS_SOURCE_LINE, NULL, "location_table[].lines", (str){0});
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        if (!lane_profile_attr(m, p, KILN_ATTR_TIME_EPOCH) && p->n_samples)
            ledger_add(l, STAGE_WRITE, LOSS_TIME, NULL, "profile.time_unix_nano", (str){0});
        str type = dict_str(d, p->sample_type.type);
        bool interval = lane_is_true(lane_profile_attr(m, p, KILN_ATTR_EVENT_INTERVAL));
        if (interval && !str_eq(type, STR("wall")) && !str_eq(type, STR("async")))
            ledger_add(l, STAGE_WRITE, LOSS_VALUE_TYPE, NULL, "profile.sample_type", type);
    }
}

static bool write_all(writer *w, err *e)
{
    json_out *j = &w->j;
    w->frames = (lane_frames){.m = w->m, .a = &w->work, .categories = true};
    if (!lane_frames_init(&w->frames)) return out_of_memory(e);
    json_put_object(j);
    json_put_key(j, STR("traceEvents"));
    json_put_array(j);
    for (size_t i = 0; i < w->m->resources.n; i++)
        if (!put_resource(w, i, e)) return false;
    json_put_array_end(j);
    if (w->samples.n) { /* with this key a reader looks for nothing else */
        put_samples(w);
        put_stack_frames(w);
    }
    json_put_object_end(j);
    buf_putc(j->b, '\n');
    return !j->b->failed || err_set(e, ERR_LIMIT, "no memory for the output");
}

bool chrome_write(const model *m, const write_opts *o, buf *out, err *e)
{
    writer w = {.m = m, .j = {.b = out}, .l = o->ledger, .work.seed = m->seed};
    losses(m, o->ledger);
    bool ok = write_all(&w, e);
    arena_free(&w.work);
    return ok;
}
