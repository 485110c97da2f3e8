/* Groups observations by identity and writes them into the samples of the newest profile. */
#include "format/observe.h"

#include "wire/carried.h"
#include "base/ban.h"

observe observe_new(builder *b, arena *a) { return (observe){.b = b, .a = a, .first = UINT64_MAX}; }

/* A large index is not cleared but abandoned to the arena, because clearing it for each of many
 * small threads would take quadratic time. */
void observe_reset(observe *o)
{
    enum { SMALL = 256 };
    o->keys.n = o->attrs.n = 0;
    if (o->index.slot && o->index.mask < SMALL) {
        memset(o->index.slot, 0, ((size_t)o->index.mask + 1) * sizeof(hash_slot));
        o->index.n = 0;
    } else {
        o->index = (hash_index){0};
    }
}

static bool same_attrs(const observe *o, span s, const uint32_t *attrs, size_t n)
{
    return s.n == n && (n == 0 || memcmp(o->attrs.v + s.at, attrs, n * sizeof *attrs) == 0);
}

static uint32_t out_of_memory(observe *o)
{
    o->b->failed = true;
    return 0;
}

uint32_t observe_key(observe *o, uint32_t stack, const uint32_t *attrs, size_t n)
{
    if (!hash_index_room(&o->index, o->a)) return out_of_memory(o);
    uint64_t h = hash_bytes(attrs, n * sizeof *attrs, hash_mix(o->b->seed, stack));
    uint32_t i = hash_first(&o->index, h);
    for (uint32_t at; hash_next(&o->index, &i, h, &at); i++)
        if (o->keys.v[at].stack == stack && same_attrs(o, o->keys.v[at].attrs, attrs, n)) return at;
    observed *slot = vec_reserve(o->a, &o->attrs, n) ? vec_push(o->a, &o->keys) : NULL;
    if (!slot) return out_of_memory(o);
    *slot = (observed){.stack = stack, .attrs = {(uint32_t)o->attrs.n, (uint32_t)n}};
    if (n) memcpy(o->attrs.v + o->attrs.n, attrs, n * sizeof *attrs);
    o->attrs.n += n;
    uint32_t index = (uint32_t)(o->keys.n - 1);
    hash_put(&o->index, i, h, index);
    return index;
}

/* Allocates the lists of a sample at the end of the pools. */
static void give_room(observe *o, observed *k)
{
    model *m = &o->b->m;
    size_t n_values = o->shape & OBSERVE_VALUES ? k->n : 0,
           n_times = o->shape & OBSERVE_TIMES ? k->n : 0;
    k->values_at = m->values.n;
    k->times_at = m->times.n;
    k->filled = 0;
    if (m->values.n + n_values > UINT32_MAX || m->times.n + n_times > UINT32_MAX ||
        !vec_reserve(o->b->a, &m->values, n_values) || !vec_reserve(o->b->a, &m->times, n_times)) {
        out_of_memory(o);
        return;
    }
    m->values.n += n_values;
    m->times.n += n_times;
}

void observe_place(observe *o, observe_shape shape)
{
    o->shape = shape;
    for (size_t i = 0; i < o->keys.n && !o->b->failed; i++) {
        observed *k = &o->keys.v[i];
        if (!k->n) continue;
        builder_sample(o->b, &(sample){
                                 .stack = k->stack,
                                 .attrs = k->attrs.n ? o->attrs.v + k->attrs.at : NULL,
                                 .n_attrs = k->attrs.n,
                             });
        if (!o->b->failed) give_room(o, k);
    }
}

void observe_put(observe *o, uint32_t key, uint64_t time, int64_t value)
{
    if (o->b->failed) return;
    observed *k = &o->keys.v[key];
    if (o->shape & OBSERVE_VALUES) o->b->m.values.v[k->values_at + k->filled] = value;
    if (o->shape & OBSERVE_TIMES) o->b->m.times.v[k->times_at + k->filled] = time;
    k->filled++;
    uint64_t end = time + (o->lengths && value > 0 ? (uint64_t)value : 1);
    if (time < o->first) o->first = time;
    if (end > o->last && end > time) o->last = end;
}

/* ---- profiles ---- */

void observe_profile(builder *b, str type, str unit)
{
    profile *p = builder_profile(b);
    uint32_t type_i = builder_string(b, type), unit_i = builder_string(b, unit);
    p->sample_type = (value_type){type_i, unit_i};
}

void observe_window(profile *p, uint64_t first, uint64_t last)
{
    if (first > last) return;
    p->time_unix_nano = first;
    p->duration_nano = last - first;
}

uint32_t observe_thread_id(builder *b, int64_t tid)
{
    return builder_attribute_int(b, STR("thread.id"), tid);
}

uint32_t observe_thread_name(builder *b, str name)
{
    return builder_attribute_str(b, STR("thread.name"), name);
}

uint32_t observe_epoch(builder *b, ledger *l)
{
    ledger_add(l, STAGE_READ, LOSS_TIME, KILN_ATTR_TIME_EPOCH, "times", STR("unknown epoch"));
    return builder_attribute_str(b, STR(KILN_ATTR_TIME_EPOCH), STR("unknown"));
}
