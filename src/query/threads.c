/* Interns threads. The attributes that identify a thread are classified once per dictionary
 * entry. */
#include "query/threads.h"

#include "query/internal.h"
#include "wire/carried.h"

#include "base/ban.h"

/* The role of an attribute for the thread. */
typedef enum role { ROLE_UNKNOWN, ROLE_NONE, ROLE_ID, ROLE_NAME, ROLE_PROCESS, ROLE_STATE } role;

static role role_of(thread_table *t, uint32_t i)
{
    static const struct {
        const char *key;
        role role;
    } all[] = {{ATTR_THREAD_ID, ROLE_ID},
               {ATTR_THREAD_NAME, ROLE_NAME},
               {ATTR_PROCESS_PID, ROLE_PROCESS},
               {ATTR_THREAD_STATE, ROLE_STATE}};
    if (t->roles[i]) return t->roles[i];
    str key = dict_str(&t->m->dict, t->m->dict.attributes.v[i].key);
    t->roles[i] = ROLE_NONE;
    for (size_t k = 0; k < ARRAY_LEN(all); k++)
        if (str_eq(key, str_of(all[k].key))) t->roles[i] = (uint8_t)all[k].role;
    return t->roles[i];
}

static bool state_of(thread_table *t, str name, uint32_t *out, err *e)
{
    if (!hash_index_room(&t->by_state, t->a)) return err_memory(e);
    uint64_t h = hash_bytes(name.p, name.n, t->by_state.seed);
    uint32_t k = hash_first(&t->by_state, h);
    for (; hash_next(&t->by_state, &k, h, out); k++)
        if (str_eq(t->states.v[*out], name)) return true;
    str *slot = vec_push(t->a, &t->states);
    if (!slot) return err_memory(e);
    *slot = name;
    *out = (uint32_t)(t->states.n - 1);
    hash_put(&t->by_state, k, h, *out);
    return true;
}

/* ---- resources ---- */

static uint64_t hash_resource(const resource *r, uint64_t seed)
{
    uint64_t h = hash_mix(seed, r->attrs.n);
    for (size_t i = 0; i < r->attrs.n; i++) {
        const keyvalue *kv = &r->attrs.v[i];
        h = hash_bytes(kv->key.p, kv->key.n, h);
        if (kv->value.kind == ANY_STRING) h = hash_bytes(kv->value.s, kv->value.n, h);
        if (kv->value.kind == ANY_INT) h = hash_mix(h, (uint64_t)kv->value.i);
    }
    return h;
}

static bool resource_of(thread_table *t, uint32_t i, uint32_t *out, err *e)
{
    if (t->resource_of[i]) return *out = t->resource_of[i] - 1, true;
    const resource *r = &t->m->resources.v[i];
    if (!hash_index_room(&t->by_resource, t->a)) return err_memory(e);
    uint64_t h = hash_resource(r, t->by_resource.seed);
    uint32_t k = hash_first(&t->by_resource, h);
    bool known = false;
    for (; !known && hash_next(&t->by_resource, &k, h, out); k++)
        known = resource_equal(t->resources.v[*out], r);
    if (!known) {
        const resource **slot = vec_push(t->a, &t->resources);
        if (!slot) return err_memory(e);
        *slot = r;
        *out = (uint32_t)(t->resources.n - 1);
        hash_put(&t->by_resource, k, h, *out);
    }
    t->resource_of[i] = *out + 1;
    return true;
}

static int64_t process_of(const resource *r)
{
    for (size_t i = 0; i < r->attrs.n; i++)
        if (r->attrs.v[i].value.kind == ANY_INT && str_eq(r->attrs.v[i].key, STR(ATTR_PROCESS_PID)))
            return r->attrs.v[i].value.i;
    return -1;
}

/* ---- threads ---- */

static bool intern(thread_table *t, const thread_key *w, uint32_t *out, err *e)
{
    if (!hash_index_room(&t->by_key, t->a)) return err_memory(e);
    uint64_t h = hash_bytes(w->name.p, w->name.n, t->by_key.seed);
    h = hash_mix(hash_mix(h, (uint64_t)w->thread_id), (uint64_t)w->process_id);
    h = hash_mix(h, w->resource);
    uint32_t k = hash_first(&t->by_key, h);
    for (; hash_next(&t->by_key, &k, h, out); k++)
        if (!thread_key_cmp(&t->v.v[*out], w)) return true;
    thread_key *slot = vec_push(t->a, &t->v);
    if (!slot) return err_memory(e);
    *slot = *w;
    *out = (uint32_t)(t->v.n - 1);
    hash_put(&t->by_key, k, h, *out);
    return true;
}

int thread_key_cmp(const thread_key *a, const thread_key *b)
{
    int d = str_cmp(a->name, b->name);
    if (d) return d;
    if (a->process_id != b->process_id) return a->process_id < b->process_id ? -1 : 1;
    if (a->thread_id != b->thread_id) return a->thread_id < b->thread_id ? -1 : 1;
    return (a->resource > b->resource) - (a->resource < b->resource);
}

bool thread_table_init(thread_table *t, arena *a, err *e)
{
    uint32_t none;
    *t = (thread_table){.a = a};
    return state_of(t, STR(""), &none, e);
}

static bool take_model(thread_table *t, const model *m, err *e)
{
    t->m = m;
    t->roles = arena_new(t->a, uint8_t, m->dict.attributes.n + 1);
    t->resource_of = arena_new(t->a, uint32_t, m->resources.n + 1);
    return (t->roles && t->resource_of) || err_memory(e);
}

bool thread_table_find(thread_table *t, const model *m, const profile *p, const sample *s,
                       uint32_t *thread, uint32_t *state, err *e)
{
    thread_key w = {.name = {"", 0}, .thread_id = -1, .process_id = -1};
    *state = 0;
    if (m != t->m && !take_model(t, m, e)) return false;
    if (!resource_of(t, m->scopes.v[p->scope].resource, &w.resource, e)) return false;
    for (uint32_t i = 0; i < s->n_attrs; i++) {
        const any *v = &m->dict.attributes.v[s->attrs[i]].value;
        role r = role_of(t, s->attrs[i]);
        if (r == ROLE_ID && v->kind == ANY_INT) w.thread_id = v->i;
        if (r == ROLE_NAME && v->kind == ANY_STRING) w.name = any_str(v);
        if (r == ROLE_PROCESS && v->kind == ANY_INT) w.process_id = v->i;
        if (r == ROLE_STATE && v->kind == ANY_STRING && !state_of(t, any_str(v), state, e))
            return false;
    }
    if (w.process_id < 0) w.process_id = process_of(t->resources.v[w.resource]);
    return intern(t, &w, thread, e);
}
