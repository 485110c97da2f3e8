/* What there is: labels, series, profiles. */
#include "server/ask.h"

#include "wire/attributes.h"
#include "base/ban.h"

enum { PROFILES = 200, PROFILES_MAX = 10000 };

static void put_u64(json_out *o, str key, uint64_t v)
{
    json_put_key(o, key);
    json_put_u64(o, v);
}

static void put_str(json_out *o, str key, str v)
{
    json_put_key(o, key);
    json_put_str(o, v);
}

bool api_labels(ask *k, err *e)
{
    str key = ask_rest(k, "labels/");
    store_label_list l = {0};
    if (!store_list_labels(k->store, &k->q, key, k->a, &l, &k->answer, e)) return false;
    json_out o = ask_begin(k);
    json_put_key(&o, key.n ? STR("values") : STR("keys"));
    json_put_array(&o);
    for (size_t i = 0; i < l.n; i++) {
        json_put_object(&o);
        put_str(&o, STR("text"), l.v[i].text);
        put_u64(&o, STR("series"), l.v[i].n_series);
        json_put_object_end(&o);
    }
    json_put_array_end(&o);
    ask_end(k, &o);
    return true;
}

static void put_series(json_out *o, const store_series *s)
{
    json_put_object(o);
    put_str(o, STR("type"), s->type);
    put_str(o, STR("unit"), s->unit);
    put_str(o, STR("period_type"), s->period_type);
    put_str(o, STR("period_unit"), s->period_unit);
    json_put_key(o, STR("period"));
    json_put_i64(o, s->period);
    put_u64(o, STR("first"), s->first);
    put_u64(o, STR("last"), s->last);
    put_u64(o, STR("profiles"), s->n_profiles);
    put_u64(o, STR("samples"), s->n_samples);
    json_put_key(o, STR("resource"));
    attributes_json(o, s->resource->attrs.v, s->resource->attrs.n);
    put_str(o, STR("scope"), s->scope->name);
    put_str(o, STR("scope_version"), s->scope->version);
    json_put_object_end(o);
}

static void put_all_series(json_out *o, const store_series_list *l)
{
    json_put_key(o, STR("series"));
    json_put_array(o);
    for (size_t i = 0; i < l->n; i++) put_series(o, &l->v[i]);
    json_put_array_end(o);
}

bool api_series(ask *k, err *e)
{
    store_series_list l = {0};
    if (!store_list_series(k->store, &k->q, k->a, &l, &k->answer, e)) return false;
    json_out o = ask_begin(k);
    put_all_series(&o, &l);
    ask_end(k, &o);
    return true;
}

bool api_profiles(ask *k, err *e)
{
    uint64_t max = PROFILES;
    store_profile_list l = {0};
    store_series_list series = {0};
    if (!params_number(&k->p, "limit", PROFILES_MAX, &max, e) ||
        !store_list_profiles(k->store, &k->q, max, k->a, &l, &series, &k->answer, e))
        return false;
    json_out o = ask_begin(k);
    put_all_series(&o, &series);
    json_put_key(&o, STR("profiles"));
    json_put_array(&o);
    for (size_t i = 0; i < l.n; i++) {
        const store_profile *p = &l.v[i];
        json_put_object(&o);
        json_put_key(&o, STR("id"));
        json_put_hex(&o, (str){(const char *)p->id, sizeof p->id});
        put_u64(&o, STR("series"), p->series);
        put_u64(&o, STR("time"), p->time);
        put_u64(&o, STR("duration"), p->duration);
        put_u64(&o, STR("received"), p->received);
        put_u64(&o, STR("samples"), p->n_samples);
        put_str(&o, STR("sender"), p->sender);
        put_str(&o, STR("recognised"), p->recognised);
        put_u64(&o, STR("losses"), p->ledger ? p->ledger->n : 0);
        json_put_object_end(&o);
    }
    json_put_array_end(&o);
    ask_end(k, &o);
    return true;
}
