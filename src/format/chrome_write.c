/* Writes a model as a Chromium trace: intervals become B and E events (b and e when asynchronous),
 * everything else becomes `samples` with `stackFrames`. chrome_losses.c records what the trace
 * cannot represent. */
#include "format/chrome_write.h"

#include "wire/carried.h"
#include "base/ban.h"

static int64_t signed_time(chrome_writer *w, uint64_t t)
{
    if (t <= INT64_MAX) return (int64_t)t;
    ledger_add(w->l, STAGE_WRITE, LOSS_TIMESTAMP, NULL, "samples[].timestamps",
               STR("after the year 2262"));
    return INT64_MAX;
}

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

static void set_pid(chrome_writer *w, size_t resource_i)
{
    const resource *r = &w->m->resources.v[resource_i];
    const any *pid = lane_scope_attr(&r->attrs, "process.pid");
    bool known = pid && pid->kind == ANY_INT;
    w->pid = known ? pid->i : (int64_t)resource_i;
    w->pid_text = known ? (str){0} : process_name(r);
    w->generated_pid = !known && !w->pid_text.n;
}

/* ---- events ---- */

static void put_key_str(json_out *j, const char *key, str v)
{
    json_put_key(j, str_of(key));
    json_put_str(j, v);
}

/* Writes the ids that all events of a lane share. */
static void put_lane_ids(chrome_writer *w, const lane *l)
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
        json_put_str(j, l->name); /* the lane has no number */
    if (l->id.n) put_key_str(j, "id", l->id);
}

/* Whether the text can be `args`, which must be an object. The attribute may come from another tool
 * and contain anything. */
static bool is_json_object(chrome_writer *w, str text)
{
    err ignored = {0};
    json j = json_open(text.p, text.n, &w->work, &ignored);
    return json_next(&j) == JSON_OBJECT && json_skip_open(&j) && json_finish(&j);
}

static void put_args(chrome_writer *w, uint32_t attr)
{
    str text = attr ? lane_text(&w->m->dict.attributes.v[attr].value) : (str){0};
    if (!text.n) return;
    json_put_key(&w->j, STR("args"));
    if (is_json_object(w, text)) {
        w->j.after_key = false;
        buf_str(w->j.b, text);
        return;
    }
    ledger_add(w->l, STAGE_WRITE, LOSS_EVENT_DETAIL, NULL, "samples[].attributes",
               STR(KILN_ATTR_EVENT_ARGS));
    json_put_object(&w->j);
    put_key_str(&w->j, "text", text);
    json_put_object_end(&w->j);
}

static void put_event(chrome_writer *w, const lane *l, bool begins, uint32_t frame_i, int64_t at,
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

static void close_to(chrome_writer *w, const lane *l, size_t depth, int64_t at, bool async)
{
    while (w->open.n > depth) put_event(w, l, false, w->open.v[--w->open.n], at, 0, async);
}

static bool move_to(chrome_writer *w, const lane *l, const lane_item *x, int64_t at, bool async)
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

static bool put_intervals(chrome_writer *w, const lanes *all, const lane *l, bool async,
                          lane_shape *shape)
{
    int64_t now = INT64_MIN;
    uint64_t seed = hash_mix(1, (uint64_t)(l - all->v.v));
    w->open.n = 0;
    lane_seam seam = {.l = w->l};
    lanes_lose_order(all, l, w->l);
    for (size_t i = l->first; i < l->first + l->n; i++) {
        const lane_item *x = &all->items.v[i];
        int64_t at = signed_time(w, x->time);
        if (at > now) {
            lane_seam_end(&seam);
            close_to(w, l, 0, now, async);
        }
        if (at < now)
            ledger_add(w->l, STAGE_WRITE, LOSS_NESTING, NULL, "samples[].timestamps", (str){0});
        if (at < now) at = now;
        if (!lane_frames_of(&w->frames, x->stack)) return false;
        lane_seam_add(&seam, &w->frames, &w->open, x);
        if (!lane_shape_add(shape, hash_mix(lane_stack_identity(&w->frames, seed), x->args),
                            x->sample, x->nth) ||
            !move_to(w, l, x, at, async))
            return false;
        now = add_saturating(at, x->value > 0 ? x->value : 0, NULL);
    }
    lane_seam_end(&seam);
    close_to(w, l, 0, now, async);
    return true;
}

/* ---- samples ---- */

static bool node_of(chrome_writer *w, uint32_t *out)
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

static bool take_samples(chrome_writer *w, const lanes *all, const lane *l, uint32_t profile_i)
{
    int64_t now = w->first_time;
    for (size_t i = l->first; i < l->first + l->n; i++) {
        const lane_item *x = &all->items.v[i];
        sample_out *s = vec_push(&w->work, &w->samples);
        if (!s) return false;
        *s = (sample_out){
            .ts = all->timed ? signed_time(w, x->time) : now,
            .weight = x->value,
            .lane = *l,
            .profile = profile_i,
            .order = (uint32_t)w->samples.n,
            .sample = x->sample,
            .nth = x->nth,
        };
        if (!lane_frames_of(&w->frames, x->stack) || !node_of(w, &s->node)) return false;
        if (!w->first_time) now = add_saturating(now, x->value > 0 ? x->value : 0, NULL);
    }
    return true;
}

/* Returns the time that profiles without times get when other profiles have times; 0 when no
 * profile has times. */
static int64_t first_time(chrome_writer *w)
{
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < w->m->times.n; i++)
        if (w->m->times.v[i] < first) first = w->m->times.v[i];
    return w->m->times.n ? signed_time(w, first) : 0;
}

static int by_time(const void *left, const void *right)
{
    const sample_out *a = left, *b = right;
    if (a->ts != b->ts) return a->ts < b->ts ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static void put_sample_name(chrome_writer *w, const profile *p)
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

static void put_sample(chrome_writer *w, const sample_out *s)
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

static void put_samples(chrome_writer *w)
{
    json_out *j = &w->j;
    json_put_key(j, STR("samples"));
    json_put_array(j);
    for (size_t i = 0; i < w->samples.n; i++) put_sample(w, &w->samples.v[i]);
    json_put_array_end(j);
}

static void put_stack_frames(chrome_writer *w)
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

static void put_metadata(chrome_writer *w, const char *what, const lane *l, str name)
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

/* Writes intervals at once, and collects samples, which are written at the end. */
static bool put_profile(chrome_writer *w, uint32_t profile_i, err *e)
{
    const profile *p = &w->m->profiles.v[profile_i];
    arena a = {0};
    lanes all;
    lane_shape shape;
    bool ok = lanes_of(w->m, p, &a, &all, e);
    chrome_kind_out kind = ok ? chrome_kind_of(w, p, &all) : CHROME_AS_SAMPLES;
    bool intervals = kind != CHROME_AS_SAMPLES;
    ok = ok && ((lane_shape_init(&shape, p, &a) && chrome_note_profile(w, profile_i, kind, &all)) ||
                err_memory(e));
    for (size_t i = 0; ok && i < all.v.n; i++) {
        const lane *l = &all.v.v[i];
        ok = (intervals ? put_intervals(w, &all, l, kind == CHROME_AS_ASYNC, &shape)
                        : take_samples(w, &all, l, profile_i)) ||
             err_memory(e);
    }
    if (ok && intervals) lane_shape_end(&shape, w->m, p, true, true, w->l);
    arena_free(&a);
    return ok;
}

static bool put_names(chrome_writer *w, const resource *r, err *e)
{
    static const lane none;
    /* Written even without a name, because speedscope does not recognize a trace without events. */
    put_metadata(w, "process_name", &none, process_name(r));
    for (uint32_t s = r->first_scope; s < r->first_scope + r->n_scopes; s++) {
        const scope *sc = &w->m->scopes.v[s];
        for (uint32_t i = 0; i < sc->n_profiles; i++) {
            arena a = {0};
            lanes all;
            bool ok = lanes_of(w->m, &w->m->profiles.v[sc->first_profile + i], &a, &all, e);
            for (size_t k = 0; ok && k < all.v.n; k++) {
                ok = chrome_note_thread(w, &all.v.v[k]) || err_memory(e);
                if (all.v.v[k].has_tid && all.v.v[k].name.n)
                    put_metadata(w, "thread_name", &all.v.v[k], all.v.v[k].name);
            }
            arena_free(&a);
            if (!ok) return false;
        }
    }
    return true;
}

static bool put_resource(chrome_writer *w, size_t resource_i, err *e)
{
    const resource *r = &w->m->resources.v[resource_i];
    set_pid(w, resource_i);
    if (!chrome_note_process(w, r)) return err_memory(e);
    if (!put_names(w, r, e)) return false;
    for (uint32_t s = r->first_scope; s < r->first_scope + r->n_scopes; s++) {
        const scope *sc = &w->m->scopes.v[s];
        for (uint32_t i = sc->first_profile; i < sc->first_profile + sc->n_profiles; i++)
            if (!put_profile(w, i, e)) return err_in(e, "profiles[%u]", i);
    }
    return true;
}

static bool write_all(chrome_writer *w, err *e)
{
    json_out *j = &w->j;
    w->frames = (lane_frames){.m = w->m, .a = &w->work, .l = w->l, .categories = true};
    if (!lane_frames_init(&w->frames)) return err_memory(e);
    w->first_time = first_time(w);
    json_put_object(j);
    json_put_key(j, STR("traceEvents"));
    json_put_array(j);
    for (size_t i = 0; i < w->m->resources.n; i++)
        if (!put_resource(w, i, e)) return false;
    json_put_array_end(j);
    if (w->samples.n) qsort(w->samples.v, w->samples.n, sizeof *w->samples.v, by_time);
    if (!chrome_profile_losses(w)) return err_memory(e);
    if (w->samples.n) { /* some readers ignore all else if this key is present */
        put_samples(w);
        put_stack_frames(w);
    }
    json_put_object_end(j);
    buf_putc(j->b, '\n');
    return !j->b->failed || err_set(e, ERR_MEMORY, "out of memory while writing the trace");
}

bool chrome_write(const format *f, const model *m, const write_opts *o, buf *out, err *e)
{
    (void)f;
    chrome_writer w = {.m = m, .j = {.b = out}, .l = o->ledger, .work.seed = m->seed};
    chrome_model_losses(m, o->ledger);
    bool ok = write_all(&w, e);
    arena_free(&w.work);
    return ok;
}
