/* Lanes: what each thread was seen doing, in order of time. */
#include "query/timeline.h"

#include "query/internal.h"
#include "wire/carried.h"

#include "base/ban.h"

/* What an attribute says of the thread. */
typedef enum role { ROLE_UNKNOWN, ROLE_NONE, ROLE_ID, ROLE_NAME, ROLE_PROCESS, ROLE_STATE } role;

typedef struct laying {
    const view *v;
    arena *a;
    thread_lanes *out;
    uint8_t *roles;    /* by attribute of the part's model */
    hash_index by_key; /* lanes */
    hash_index by_state;
    u32s lane_of; /* by event */
} laying;

static role role_of(laying *x, const model *m, uint32_t i)
{
    static const struct {
        const char *key;
        role role;
    } all[] = {{ATTR_THREAD_ID, ROLE_ID},
               {ATTR_THREAD_NAME, ROLE_NAME},
               {ATTR_PROCESS_PID, ROLE_PROCESS},
               {ATTR_THREAD_STATE, ROLE_STATE}};
    if (x->roles[i]) return x->roles[i];
    const attribute *t = &m->dict.attributes.v[i];
    str key = dict_str(&m->dict, t->key);
    x->roles[i] = ROLE_NONE;
    for (size_t k = 0; k < ARRAY_LEN(all); k++)
        if (str_eq(key, str_of(all[k].key))) x->roles[i] = (uint8_t)all[k].role;
    return x->roles[i];
}

static bool state_of(laying *x, str name, uint32_t *out, err *e)
{
    if (!hash_index_room(&x->by_state, x->a)) return query_no_memory(e);
    uint64_t h = hash_bytes(name.p, name.n, x->by_state.seed);
    uint32_t k = hash_first(&x->by_state, h);
    for (; hash_next(&x->by_state, &k, h, out); k++)
        if (str_eq(x->out->states.v[*out], name)) return true;
    str *slot = vec_push(x->a, &x->out->states);
    if (!slot) return query_no_memory(e);
    *slot = name;
    *out = (uint32_t)(x->out->states.n - 1);
    hash_put(&x->by_state, k, h, *out);
    return true;
}

static bool lane_of(laying *x, const thread_lane *key, uint32_t *out, err *e)
{
    if (!hash_index_room(&x->by_key, x->a)) return query_no_memory(e);
    uint64_t h = hash_bytes(key->name.p, key->name.n, x->by_key.seed);
    h = hash_mix(hash_mix(h, (uint64_t)key->thread_id), (uint64_t)key->process_id);
    uint32_t k = hash_first(&x->by_key, h);
    for (; hash_next(&x->by_key, &k, h, out); k++) {
        const thread_lane *l = &x->out->v.v[*out];
        if (l->thread_id == key->thread_id && l->process_id == key->process_id &&
            str_eq(l->name, key->name))
            return true;
    }
    thread_lane *l = vec_push(x->a, &x->out->v);
    if (!l) return query_no_memory(e);
    *l = *key;
    *out = (uint32_t)(x->out->v.n - 1);
    hash_put(&x->by_key, k, h, *out);
    return true;
}

static bool identify(laying *x, const view_part *p, const sample *s, uint32_t *lane,
                     uint32_t *state, err *e)
{
    thread_lane key = {.name = {"", 0}, .thread_id = -1, .process_id = -1};
    *state = 0;
    for (uint32_t i = 0; i < s->n_attrs; i++) {
        const any *v = &p->m->dict.attributes.v[s->attrs[i]].value;
        role r = role_of(x, p->m, s->attrs[i]);
        if (r == ROLE_ID && v->kind == ANY_INT) key.thread_id = v->i;
        if (r == ROLE_NAME && v->kind == ANY_STRING) key.name = any_str(v);
        if (r == ROLE_PROCESS && v->kind == ANY_INT) key.process_id = v->i;
        if (r == ROLE_STATE && v->kind == ANY_STRING && !state_of(x, any_str(v), state, e))
            return false;
    }
    return lane_of(x, &key, lane, e);
}

/* Do the values say how long each observation lasted? */
static bool has_intervals(const view_part *p)
{
    const dict *d = &p->m->dict;
    if (str_eq(dict_str(d, p->p->sample_type.type), STR("off_cpu"))) return true;
    for (uint32_t i = 0; i < p->p->attrs.n; i++) {
        const attribute *x = &d->attributes.v[refs_at(&d->attr_refs, p->p->attrs)[i]];
        if (x->value.kind == ANY_BOOL && str_eq(dict_str(d, x->key), STR(KILN_ATTR_EVENT_INTERVAL)))
            return x->value.i != 0;
    }
    return false;
}

static bool add_row(laying *x, uint32_t part, uint32_t row, bool intervals, err *e)
{
    const view_part *p = &x->v->parts.v[part];
    sample s = sample_at(p->m, p->p, x->v->rows.v[row].sample);
    uint32_t lane = 0, state = 0;
    bool known = false, saturated = false;
    for (uint32_t i = 0; i < s.n_times; i++) {
        if (!view_has_time(p, s.times[i])) continue;
        if (!known && !identify(x, p, &s, &lane, &state, e)) return false;
        known = true;
        int64_t value = view_observation(p, &s, i);
        lane_event *event = vec_push(x->a, &x->out->events);
        uint32_t *of = event ? vec_push(x->a, &x->lane_of) : NULL;
        if (!of) return query_no_memory(e);
        *event = (lane_event){.time = s.times[i],
                              .value = value,
                              .part = part,
                              .row = row,
                              .state = state,
                              .duration = intervals && value > 0 ? (uint64_t)value : 0};
        *of = lane;
        thread_lane *l = &x->out->v.v[lane];
        l->n++;
        l->sum = add_clamped(l->sum, value, &saturated);
    }
    return true;
}

/* ---- order ---- */

static int lane_order(const void *a, const void *b, void *lanes)
{
    const thread_lane *x = &((const thread_lane *)lanes)[*(const uint32_t *)a];
    const thread_lane *y = &((const thread_lane *)lanes)[*(const uint32_t *)b];
    int d = str_cmp(x->name, y->name);
    if (d) return d;
    if (x->process_id != y->process_id) return x->process_id < y->process_id ? -1 : 1;
    return (x->thread_id > y->thread_id) - (x->thread_id < y->thread_id);
}

static int time_order(const void *a, const void *b)
{
    const lane_event *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Lanes by name, events by lane and time. */
static bool arrange(laying *x, err *e)
{
    thread_lanes *o = x->out;
    size_t n = o->v.n;
    uint32_t *order = arena_new(x->a, uint32_t, n + 1), *place = arena_new(x->a, uint32_t, n + 1);
    thread_lane *sorted = arena_new(x->a, thread_lane, n + 1);
    lane_event *events = arena_new(x->a, lane_event, o->events.n + 1);
    if (!order || !place || !sorted || !events) return query_no_memory(e);
    for (uint32_t i = 0; i < n; i++) order[i] = i;
    qsort_r(order, n, sizeof *order, lane_order, o->v.v);
    size_t first = 0;
    for (uint32_t i = 0; i < n; i++) {
        sorted[i] = o->v.v[order[i]];
        place[order[i]] = i;
        sorted[i].first = first;
        first += sorted[i].n;
        sorted[i].n = 0;
    }
    for (size_t i = 0; i < o->events.n; i++) {
        thread_lane *l = &sorted[place[x->lane_of.v[i]]];
        events[l->first + l->n++] = o->events.v[i];
    }
    for (size_t i = 0; i < n; i++)
        qsort(events + sorted[i].first, sorted[i].n, sizeof *events, time_order);
    o->v.v = sorted;
    o->events.v = events;
    return true;
}

bool thread_lanes_of(const view *v, arena *a, thread_lanes *out, err *e)
{
    laying x = {.v = v, .a = a, .out = out};
    uint32_t none;
    *out = (thread_lanes){0};
    if (!state_of(&x, STR(""), &none, e)) return false;
    for (uint32_t k = 0; k < v->parts.n; k++) {
        const view_part *p = &v->parts.v[k];
        bool intervals = has_intervals(p);
        out->intervals |= intervals;
        if (!k || p->m != v->parts.v[k - 1].m) {
            x.roles = arena_new(a, uint8_t, p->m->dict.attributes.n + 1);
            if (!x.roles) return query_no_memory(e);
        }
        for (size_t i = p->first_row; i < p->first_row + p->n_rows; i++)
            if (!add_row(&x, k, (uint32_t)i, intervals, e)) return false;
    }
    return !out->v.n || arrange(&x, e);
}
