/* Reads `samples` and `stackFrames` of a trace. Either may come first in the file, so references
 * are resolved at the end. */
#include "format/chrome.h"

#include "wire/carried.h"
#include "base/ban.h"

/* ---- stack frames ---- */

/* Finds or adds the frame with that id, which may not be defined yet. Returns UINT32_MAX when out
 * of memory. */
static uint32_t frame_of(chrome *c, str id)
{
    if (!hash_index_room(&c->frame_index, c->work)) return UINT32_MAX;
    uint64_t h = hash_bytes(id.p, id.n, c->frame_index.seed);
    uint32_t i = hash_first(&c->frame_index, h);
    for (uint32_t at; hash_next(&c->frame_index, &i, h, &at); i++)
        if (str_eq(c->frames.v[at].id, id)) return at;
    char *copy = arena_alloc(c->work, id.n);
    chrome_frame *f = copy ? vec_push(c->work, &c->frames) : NULL;
    if (!f) return UINT32_MAX;
    if (id.n) memcpy(copy, id.p, id.n);
    f->id = (str){copy, id.n};
    hash_put(&c->frame_index, i, h, (uint32_t)(c->frames.n - 1));
    return (uint32_t)(c->frames.n - 1);
}

/* Reads the id of a frame. Text and number are equivalent; null or a missing id means none. Sets
 * *out to the frame's index + 1, or 0. */
static bool frame_ref(chrome *c, json *j, uint32_t *out)
{
    *out = 0;
    json_next(j);
    if (j->tok == JSON_NULL) return true;
    if (j->tok != JSON_STRING && j->tok != JSON_NUMBER)
        return json_expected(j, "the id of a frame");
    uint32_t at = frame_of(c, j->text);
    *out = at + 1;
    return at != UINT32_MAX || err_memory(c->e);
}

static bool stack_frame(chrome *c, json *j)
{
    uint32_t at = frame_of(c, j->text), parent = 0;
    if (at == UINT32_MAX) return err_memory(c->e);
    str name = {0}, category = {0};
    if (!json_expect_object(j)) return false;
    while (json_key(j)) {
        bool ok = json_is(j, "name")       ? json_take_text(j, c->work, &name)
                  : json_is(j, "category") ? json_take_text(j, c->work, &category)
                  : json_is(j, "parent")   ? frame_ref(c, j, &parent)
                                           : json_skip_value(j);
        if (!ok) return false;
    }
    chrome_frame *f = &c->frames.v[at];
    f->known = true;
    f->parent = parent;
    f->loc = chrome_location(c, name, category);
    return !j->bad;
}

bool chrome_read_stack_frames(chrome *c, json *j)
{
    if (!json_expect_object(j)) return false;
    while (json_key(j))
        if (!stack_frame(c, j)) return err_in(c->e, "stackFrames");
    return !j->bad;
}

static bool resolve_frame(chrome *c, uint32_t at, u32s *path)
{
    path->n = 0;
    uint32_t up = at + 1;
    for (; up && !c->frames.v[up - 1].node; up = c->frames.v[up - 1].parent) {
        chrome_frame *f = &c->frames.v[up - 1];
        if (f->busy) { /* the frame is its own ancestor */
            ledger_add(c->l, STAGE_READ, LOSS_INDEX_REPAIRED, NULL, "stackFrames[].parent", f->id);
            up = 0;
            break;
        }
        f->busy = true;
        uint32_t *slot = vec_push(c->work, path);
        if (!slot) return err_memory(c->e);
        *slot = up - 1;
    }
    uint32_t node = up ? c->frames.v[up - 1].node - 1 : 0;
    while (path->n) {
        chrome_frame *f = &c->frames.v[path->v[--path->n]];
        if (f->known)
            node = nest_child(&c->tree, node, f->loc);
        else
            ledger_add(c->l, STAGE_READ, LOSS_INDEX_REPAIRED, NULL, "stackFrames", f->id);
        f->node = node + 1;
    }
    return true;
}

/* ---- samples ---- */

static uint32_t type_of(chrome *c, uint32_t process, str name)
{
    if (!hash_index_room(&c->type_index, c->work)) return UINT32_MAX;
    uint64_t h = hash_bytes(name.p, name.n, hash_mix(c->type_index.seed, process));
    uint32_t i = hash_first(&c->type_index, h);
    for (uint32_t at; hash_next(&c->type_index, &i, h, &at); i++)
        if (c->types.v[at].process == process && str_eq(c->types.v[at].name, name)) return at;
    char *copy = arena_alloc(c->work, name.n);
    chrome_type *t = copy ? vec_push(c->work, &c->types) : NULL;
    if (!t) return UINT32_MAX;
    if (name.n) memcpy(copy, name.p, name.n);
    uint32_t index = (uint32_t)(c->types.n - 1);
    *t = (chrome_type){.process = process, .name = {copy, name.n}};
    chrome_process *p = &c->processes.v[process];
    *(p->last_type ? &c->types.v[p->last_type - 1].next : &p->first_type) = index + 1;
    p->last_type = index + 1;
    hash_put(&c->type_index, i, h, index);
    return index;
}

typedef struct sample_fields {
    chrome_id pid, tid;
    bool has_pid;
    str name;
    chrome_sample s;
} sample_fields;

static bool sample_field(chrome *c, json *j, sample_fields *f)
{
    if (json_is(j, "ts")) return json_next(j), json_to_scaled(j, 3, &f->s.ts, &c->rounded);
    if (json_is(j, "weight")) return json_next(j), json_to_scaled(j, 0, &f->s.weight, &c->rounded);
    if (json_is(j, "cpu")) return json_next(j), json_to_i64(j, -1, INT64_MAX, &f->s.cpu);
    if (json_is(j, "tid")) return json_next(j), chrome_id_of(c, j, &f->tid);
    if (json_is(j, "pid")) return json_next(j), f->has_pid = chrome_id_of(c, j, &f->pid);
    if (json_is(j, "sf")) return frame_ref(c, j, &f->s.frame);
    if (json_is(j, "name")) return json_take_text(j, c->work, &f->name);
    return json_skip_value(j);
}

static bool one_sample(chrome *c, json *j)
{
    sample_fields f = {.s = {.weight = 1, .cpu = -1, .order = (uint32_t)c->samples.n}};
    if (j->tok != JSON_OBJECT) return json_expected(j, "a sample");
    while (json_key(j))
        if (!sample_field(c, j, &f)) return false;
    if (j->bad) return false;
    if (!f.has_pid && c->processes.n) f.pid = c->processes.v[0].pid;
    f.s.track = chrome_track_of(c, f.pid, f.tid);
    f.s.type =
        f.s.track == UINT32_MAX ? UINT32_MAX : type_of(c, c->tracks.v[f.s.track].process, f.name);
    chrome_sample *slot = f.s.type != UINT32_MAX ? vec_push(c->work, &c->samples) : NULL;
    if (!slot || c->samples.n == UINT32_MAX) return err_memory(c->e);
    *slot = f.s;
    return true;
}

bool chrome_read_samples(chrome *c, json *j)
{
    if (!json_expect_array(j)) return false;
    while (json_element(j))
        if (!one_sample(c, j)) return err_in(c->e, "samples[%zu]", c->samples.n);
    return !j->bad;
}

static int by_type(const void *left, const void *right)
{
    const chrome_sample *a = left, *b = right;
    if (a->type != b->type) return a->type < b->type ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

bool chrome_resolve_samples(chrome *c)
{
    u32s path = {0};
    for (uint32_t i = 0; i < c->frames.n; i++)
        if (!resolve_frame(c, i, &path)) return false;
    if (c->samples.n) qsort(c->samples.v, c->samples.n, sizeof *c->samples.v, by_type);
    for (size_t i = 0; i < c->samples.n; i++) {
        chrome_type *t = &c->types.v[c->samples.v[i].type];
        if (!t->n++) t->first = i;
    }
    return true;
}

/* ---- into the model ---- */

static uint32_t sample_key(chrome *c, observe *o, const chrome_sample *s)
{
    uint32_t attrs[4];
    size_t n = chrome_track_attrs(c, &c->tracks.v[s->track], attrs);
    if (s->cpu >= 0) attrs[n++] = builder_attribute_int(&c->b, STR("cpu.logical_number"), s->cpu);
    uint32_t node = s->frame ? c->frames.v[s->frame - 1].node - 1 : 0;
    return observe_key(o, nest_stack(&c->tree, node), attrs, n);
}

/* Kiln's writer names samples by type and unit ("wall/nanoseconds"). Any other name is that of a
 * counted event. */
static void open_type(chrome *c, const chrome_type *t)
{
    const char *slash = t->name.n ? memchr(t->name.p, '/', t->name.n) : NULL;
    str type = t->name.n ? t->name : STR("samples"), unit = STR("count");
    if (slash && slash > t->name.p && slash + 1 < t->name.p + t->name.n) {
        type.n = (size_t)(slash - t->name.p);
        unit = (str){slash + 1, t->name.n - type.n - 1};
    }
    observe_profile(&c->b, type, unit);
    uint32_t epoch[CHROME_EPOCH_ATTRS];
    builder_profile_attrs(&c->b, epoch, chrome_epoch(c, epoch));
}

static bool put_type(chrome *c, const chrome_type *t)
{
    observe o = observe_new(&c->b, c->work);
    uint32_t *key = arena_new(c->work, uint32_t, t->n);
    if (!key) return err_memory(c->e);
    open_type(c, t);
    bool weighed = false;
    for (size_t i = 0; i < t->n && !c->b.failed; i++) {
        const chrome_sample *s = &c->samples.v[t->first + i];
        key[i] = sample_key(c, &o, s);
        if (!c->b.failed) o.keys.v[key[i]].n++;
        weighed |= s->weight != 1;
    }
    observe_place(&o, weighed ? OBSERVE_BOTH : OBSERVE_TIMES);
    for (size_t i = 0; i < t->n && !c->b.failed; i++) {
        const chrome_sample *s = &c->samples.v[t->first + i];
        c->n_negative += s->ts < 0;
        observe_put(&o, key[i], s->ts < 0 ? 0 : (uint64_t)s->ts, s->weight);
    }
    if (c->b.failed) return err_memory(c->e);
    observe_window(&c->b.m.profiles.v[c->b.m.profiles.n - 1], o.first, o.last);
    return true;
}

bool chrome_put_samples(chrome *c, uint32_t process)
{
    for (uint32_t at = c->processes.v[process].first_type; at; at = c->types.v[at - 1].next)
        if (!put_type(c, &c->types.v[at - 1])) return false;
    return true;
}
