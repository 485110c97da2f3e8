/* Splits the observations of a profile into lanes, one per thread, and sorts each lane by time. */
#include "format/lanes.h"

#include "wire/carried.h"
#include "base/ban.h"
#include <inttypes.h>

/* ---- attributes ---- */

const any *lane_attr(const dict *d, const uint32_t *attrs, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++) {
        const attribute *x = &d->attributes.v[attrs[i]];
        if (str_eq(dict_str(d, x->key), str_of(key))) return &x->value;
    }
    return NULL;
}

const any *lane_profile_attr(const model *m, const profile *p, const char *key)
{
    return lane_attr(&m->dict, refs_at(&m->dict.attr_refs, p->attrs), p->attrs.n, key);
}

const any *lane_scope_attr(const keyvalues *attrs, const char *key)
{
    for (size_t i = 0; i < attrs->n; i++)
        if (str_eq(attrs->v[i].key, str_of(key))) return &attrs->v[i].value;
    return NULL;
}

/* ---- lanes ---- */

typedef struct splitter {
    const model *m;
    arena *a;
    lanes *out;
    uint32_t *role; /* by attribute: what it determines of a lane */
} splitter;

enum { ROLE_NONE, ROLE_TID, ROLE_NAME, ROLE_ID, ROLE_ARGS };

static uint32_t role_of(const dict *d, const attribute *x)
{
    str key = dict_str(d, x->key);
    if (x->value.kind == ANY_INT && str_eq(key, STR("thread.id"))) return ROLE_TID;
    if (x->value.kind != ANY_STRING) return ROLE_NONE;
    if (str_eq(key, STR("thread.name"))) return ROLE_NAME;
    if (str_eq(key, STR(KILN_ATTR_EVENT_ID))) return ROLE_ID;
    if (str_eq(key, STR(KILN_ATTR_EVENT_ARGS))) return ROLE_ARGS;
    return ROLE_NONE;
}

static lane lane_of(const splitter *s, const sample *x, uint32_t *args)
{
    lane l = {0};
    for (uint32_t i = 0; i < x->n_attrs; i++) {
        const any *v = &s->m->dict.attributes.v[x->attrs[i]].value;
        switch (s->role[x->attrs[i]]) {
        case ROLE_TID: l.tid = v->i, l.has_tid = true; break;
        case ROLE_NAME: l.name = any_str(v); break;
        case ROLE_ID: l.id = any_str(v); break;
        case ROLE_ARGS: *args = x->attrs[i]; break;
        default: break;
        }
    }
    return l;
}

static bool same_lane(const lane *a, const lane *b)
{
    return a->has_tid == b->has_tid && a->tid == b->tid && str_eq(a->name, b->name) &&
           str_eq(a->id, b->id);
}

static bool find_lane(splitter *s, hash_index *x, const lane *want, uint32_t *at)
{
    if (!hash_index_room(x, s->a)) return false;
    uint64_t h = hash_mix(hash_mix(x->seed, want->has_tid), (uint64_t)want->tid);
    h = hash_bytes(want->name.p, want->name.n, h);
    h = hash_bytes(want->id.p, want->id.n, h);
    uint32_t i = hash_first(x, h);
    for (; hash_next(x, &i, h, at); i++)
        if (same_lane(&s->out->v.v[*at], want)) return true;
    lane *l = vec_push(s->a, &s->out->v);
    if (!l) return false;
    *l = *want;
    *at = (uint32_t)(s->out->v.n - 1);
    hash_put(x, i, h, *at);
    return true;
}

static bool add_items(splitter *s, const sample *x, size_t sample_i, uint32_t lane_i, uint32_t args)
{
    uint32_t n = sample_observations(x), depth = dict_stack(&s->m->dict, x->stack).n;
    if (!vec_reserve(s->a, &s->out->items, n)) return false;
    for (uint32_t i = 0; i < n; i++)
        s->out->items.v[s->out->items.n++] = (lane_item){
            .time = i < x->n_times ? x->times[i]
                                   : s->out->items.n, /* the position preserves the order */
            .value = i < x->n_values ? x->values[i] : 1,
            .stack = x->stack,
            .lane = lane_i,
            .args = args,
            .order = (uint32_t)s->out->items.n,
            .depth = depth,
            .sample = (uint32_t)sample_i,
            .nth = i,
        };
    s->out->timed |= x->n_times > 0;
    s->out->all_timed &= x->n_times >= n;
    s->out->v.v[lane_i].n += n;
    return true;
}

static int by_time(const void *left, const void *right)
{
    const lane_item *a = left, *b = right;
    if (a->lane != b->lane) return a->lane < b->lane ? -1 : 1;
    if (a->time != b->time) return a->time < b->time ? -1 : 1;
    bool a_long = a->value != 0, b_long = b->value != 0;
    if (a_long != b_long) return a_long ? 1 : -1;
    if (!a_long && a->depth != b->depth) return a->depth < b->depth ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* If only some observations have a time, the others get the earliest of these times.  At 0 they
 * would extend the time axis by decades. */
static void place_untimed(const model *m, const profile *p, lanes *out)
{
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < p->n_samples; i++) {
        sample x = sample_at(m, p, i);
        for (uint32_t k = 0; k < x.n_times; k++)
            if (x.times[k] < first) first = x.times[k];
    }
    for (size_t i = 0; i < out->items.n; i++) {
        lane_item *x = &out->items.v[i];
        if (x->nth >= sample_at(m, p, x->sample).n_times) x->time = first;
    }
}

bool lanes_of(const model *m, const profile *p, arena *a, lanes *out, err *e)
{
    *out = (lanes){.all_timed = true};
    splitter s = {m, a, out, arena_new(a, uint32_t, m->dict.attributes.n)};
    if (!s.role) return err_memory(e);
    for (size_t i = 0; i < m->dict.attributes.n; i++)
        s.role[i] = role_of(&m->dict, &m->dict.attributes.v[i]);
    hash_index index = {0};
    for (size_t i = 0; i < p->n_samples; i++) {
        sample x = sample_at(m, p, i);
        uint32_t args = 0, at;
        lane want = lane_of(&s, &x, &args);
        if (!find_lane(&s, &index, &want, &at) || !add_items(&s, &x, i, at, args))
            return err_memory(e);
    }
    if (out->timed && !out->all_timed) place_untimed(m, p, out);
    if (out->items.n) qsort(out->items.v, out->items.n, sizeof *out->items.v, by_time);
    size_t first = 0;
    for (size_t i = 0; i < out->v.n; i++) {
        out->v.v[i].first = first;
        first += out->v.v[i].n;
    }
    return true;
}

/* ---- text ---- */

void lane_put_decimal(json_out *o, int64_t v, int scale)
{
    if (v < 0 && scale) {
        double by = 1;
        for (int i = 0; i < scale; i++) by *= 10;
        json_put_double(o, (double)v / by);
        return;
    }
    int64_t by = 1;
    for (int i = 0; i < scale; i++) by *= 10;
    json_put_i64(o, v / by);
    int64_t rest = v % by;
    if (!rest) return;
    buf_putc(o->b, '.');
    for (by /= 10; rest; by /= 10) {
        buf_putc(o->b, (char)('0' + rest / by));
        rest %= by;
    }
}
