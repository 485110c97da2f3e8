/* Adds names, labels, times and ids of a series to a model. The links of samples are in
 * envelope_links.c. */
#include "pyroscope/envelope.h"

#include "pyroscope/envelope_links.h"
#include "pyroscope/type_id.h"
#include "base/hash.h"
#include "base/time.h"
#include "wire/carried.h"
#include "base/ban.h"
#include <stdlib.h>

#define YEAR (365 * NS_PER_DAY) /* a time in the first year after 1970 is a clock since boot */

uint32_t pyro_intern(model *m, str s, arena *a, bool *failed)
{
    for (size_t i = 0; i < m->dict.strings.n; i++)
        if (str_eq(m->dict.strings.v[i], s)) return (uint32_t)i;
    str *slot = m->dict.strings.n < UINT32_MAX ? vec_push(a, &m->dict.strings) : NULL;
    if (!slot) return *failed = true, 0;
    *slot = s;
    return (uint32_t)(m->dict.strings.n - 1);
}

static keyvalue text_attr(str key, str value)
{
    return (keyvalue){.key = key,
                      .value = {.kind = ANY_STRING, .n = (uint32_t)value.n, .s = value.p}};
}

/* ---- the resource ---- */

static bool is_private(str name)
{
    return str_starts(name, STR("__")) && !str_eq(name, STR(PYRO_SESSION));
}

static bool is_service(str name)
{
    return str_eq(name, STR("service_name")) || str_eq(name, STR("service.name"));
}

static int by_key(const void *x, const void *y)
{
    return str_cmp(((const keyvalue *)x)->key, ((const keyvalue *)y)->key);
}

/* Fills kv[PYRO_MAX_LABELS + 2] with the attributes of the labels. They are sorted, so that the
 * order of labels does not make two series. */
static size_t label_attrs(const pyro_envelope *v, keyvalue *kv, ledger *l)
{
    size_t n = 0;
    str service = pyro_labels_get(&v->labels, STR("service_name"));
    if (!service.n) service = pyro_labels_get(&v->labels, STR("service.name"));
    bool own = !service.n; /* the application is the service */
    if (own) service = v->app.n ? v->app : STR("unknown_service");
    kv[n++] = text_attr(STR("service.name"), service);
    for (size_t i = 0; i < v->labels.n; i++) {
        const pyro_label *x = &v->labels.v[i];
        if (is_service(x->name)) continue;
        if (!is_private(x->name))
            kv[n++] = text_attr(x->name, x->value);
        else if (!str_eq(x->name, STR(PYRO_NAME)))
            ledger_add(l, STAGE_READ, LOSS_LABEL, NULL, "labels", x->name);
    }
    if (!own && v->app.n && !pyro_labels_get(&v->labels, STR("app_name")).n)
        kv[n++] = text_attr(STR("app_name"), v->app);
    qsort(kv, n, sizeof *kv, by_key);
    return n;
}

static bool has_key(const keyvalue *kv, size_t n, str key)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(kv[i].key, key)) return true;
    return false;
}

static bool put_resources(model *m, const keyvalue *kv, size_t n, arena *a)
{
    for (size_t i = 0; i < m->resources.n; i++) {
        resource *r = &m->resources.v[i];
        keyvalue *all = arena_new(a, keyvalue, n + r->attrs.n);
        if (!all) return false;
        memcpy(all, kv, n * sizeof *kv);
        size_t k = n;
        for (size_t j = 0; j < r->attrs.n; j++) /* attributes of the body, such as process.pid */
            if (!has_key(kv, n, r->attrs.v[j].key)) all[k++] = r->attrs.v[j];
        r->attrs = (keyvalues){all, k};
        r->present = true;
    }
    return true;
}

/* ---- names ---- */

static str derived_name(const model *m, const profile *p, arena *a)
{
    pyro_source from = {.type = dict_str(&m->dict, p->sample_type.type),
                        .unit = dict_str(&m->dict, p->sample_type.unit),
                        .period_type = dict_str(&m->dict, p->period_type.type),
                        .period_unit = dict_str(&m->dict, p->period_type.unit),
                        .period = p->period};
    pyro_type type;
    int64_t scale;
    return pyro_type_of(&from, a, &type, &scale, NULL) ? type.name : (str){0};
}

/* Returns the name of a profile. Pyroscope's default relabeling: godeltaprof_X is X, and node's wall
 * profile of CPU time is process_cpu. */
static str name_of(const pyro_envelope *v, const model *m, size_t i, arena *a)
{
    static const char delta[] = "godeltaprof_";
    const profile *p = &m->profiles.v[i];
    str type = dict_str(&m->dict, p->sample_type.type), name = v->names ? v->names[i] : v->name;
    if (!name.n) name = derived_name(m, p, a);
    if (str_starts(name, STR("godeltaprof_")))
        name = (str){name.p + sizeof delta - 1, name.n - (sizeof delta - 1)};
    if (str_eq(name, STR("wall")) && str_eq(type, STR("cpu"))) name = STR("process_cpu");
    return name.n ? name : STR("unknown");
}

/* Returns the scope with its name. A scope that was split loses the order of its types, because
 * that counts all of them. */
static bool name_scope(const pyro_envelope *v, const scope *from, str name, bool split, arena *a,
                       scope *out)
{
    keyvalue *kv = arena_new(a, keyvalue, from->attrs.n + 2);
    size_t n = 0;
    if (!kv) return false;
    kv[n++] = text_attr(STR(PYRO_NAME), name);
    if (v->spy.n) kv[n++] = text_attr(STR(PYRO_SPY), v->spy);
    for (size_t i = 0; i < from->attrs.n; i++) {
        const keyvalue *x = &from->attrs.v[i];
        if (!(split && str_eq(x->key, STR(PPROF_ATTR_SAMPLE_TYPE_ORDER)))) kv[n++] = *x;
    }
    *out = *from;
    out->attrs = (keyvalues){kv, n};
    out->present = true;
    return true;
}

typedef struct splitting {
    const pyro_envelope *v;
    model *m;
    arena *a;
    __typeof__(((model *)0)->scopes) scopes;
    __typeof__(((model *)0)->profiles) profiles;
    str *names; /* by profile */
    bool *put;
} splitting;

/* Adds the profiles [first, end) with this name as one scope. */
static bool put_scope(splitting *x, const scope *from, uint32_t first, str name)
{
    uint32_t end = from->first_profile + from->n_profiles;
    bool split = first != from->first_profile;
    for (uint32_t i = first; i < end; i++) split |= !str_eq(x->names[i], name);
    scope *s = vec_push(x->a, &x->scopes);
    if (!s || !name_scope(x->v, from, name, split, x->a, s)) return false;
    s->first_profile = (uint32_t)x->profiles.n;
    for (uint32_t i = first; i < end; i++) {
        if (x->put[i] || !str_eq(x->names[i], name)) continue;
        profile *p = vec_push(x->a, &x->profiles);
        if (!p) return false;
        *p = x->m->profiles.v[i];
        p->scope = (uint32_t)(x->scopes.n - 1);
        x->put[i] = true;
    }
    s->n_profiles = (uint32_t)x->profiles.n - s->first_profile;
    return true;
}

/* Divides each scope by the names of its profiles. */
static bool put_names(const pyro_envelope *v, model *m, arena *a)
{
    splitting x = {.v = v, .m = m, .a = a};
    x.names = arena_new(a, str, m->profiles.n);
    x.put = arena_new(a, bool, m->profiles.n);
    if (!x.names || !x.put) return false;
    for (size_t i = 0; i < m->profiles.n; i++) x.names[i] = name_of(v, m, i, a);
    for (size_t r = 0; r < m->resources.n; r++) {
        resource *res = &m->resources.v[r];
        uint32_t first = (uint32_t)x.scopes.n, end = res->first_scope + res->n_scopes;
        for (uint32_t s = res->first_scope; s < end; s++) {
            const scope *sc = &m->scopes.v[s];
            for (uint32_t i = sc->first_profile; i < sc->first_profile + sc->n_profiles; i++)
                if (!x.put[i] && !put_scope(&x, sc, i, x.names[i])) return false;
        }
        res->first_scope = first;
        res->n_scopes = (uint32_t)x.scopes.n - first;
    }
    m->scopes.v = x.scopes.v, m->scopes.n = x.scopes.n, m->scopes.cap = x.scopes.cap;
    m->profiles.v = x.profiles.v, m->profiles.n = x.profiles.n, m->profiles.cap = x.profiles.cap;
    return true;
}

/* ---- times and ids ---- */

static void put_times(const pyro_envelope *v, model *m)
{
    for (size_t i = 0; i < m->profiles.n; i++) {
        profile *p = &m->profiles.v[i];
        if (p->time_unix_nano < YEAR && v->from) p->time_unix_nano = v->from;
        if (!p->duration_nano && v->until > p->time_unix_nano && p->time_unix_nano == v->from)
            p->duration_nano = v->until - v->from;
    }
}

void pyro_content_add(pyro_content *c, str bytes)
{
    XXH128_hash_t h = XXH3_128bits_withSeed(bytes.n ? bytes.p : "", bytes.n, c->low);
    c->low = h.low64;
    c->high = hash_mix(c->high, h.high64);
}

/* Equal bodies of two series, or of two times, have different ids. */
static void put_ids(const pyro_envelope *v, model *m, const keyvalue *kv, size_t n)
{
    uint8_t id[16];
    pyro_content c = v->content;
    memcpy(id, v->id, sizeof id);
    for (size_t i = 0; i < n; i++) {
        pyro_content_add(&c, kv[i].key);
        pyro_content_add(&c, any_str(&kv[i].value));
    }
    pyro_content_add(&c, v->name);
    uint64_t when[2] = {m->profiles.n ? m->profiles.v[0].time_unix_nano : 0,
                        m->profiles.n ? m->profiles.v[0].duration_nano : 0};
    pyro_content_add(&c, (str){(const char *)when, sizeof when});
    if (id_is_zero(id, sizeof id)) memcpy(id, &c, sizeof id);
    for (size_t i = 0; i < m->profiles.n && i < PROFILE_ID_TYPES; i++)
        profile_id_derive(id, i, m->profiles.v[i].profile_id);
}

bool pyro_envelope_apply(const pyro_envelope *v, model *m, ledger *l, arena *a, err *e)
{
    keyvalue kv[PYRO_MAX_LABELS + 2];
    size_t n = label_attrs(v, kv, l);
    put_times(v, m);
    put_ids(v, m, kv, n);
    return (put_resources(m, kv, n, a) && put_names(v, m, a) &&
            pyro_envelope_links(v->jfr, m, a)) ||
           arena_spent(a, e);
}
