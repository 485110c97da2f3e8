/* The endpoints labels, series and profiles, which list what the store contains. */
#include "server/query.h"

#include "server/endpoints.h"
#include "base/ban.h"

enum { PROFILES = 200, PROFILES_MAX = 10000, LABELS = 1000, LABELS_MAX = 100000 };

bool api_labels(query *k, err *e)
{
    store_label_list l = {0};
    store_budget b = query_budget(k, 2);
    uint64_t max = LABELS;
    if (!query_limit(k, LABELS_MAX, &max, e) ||
        !store_list_labels(k->store, &k->q, &b, k->rest, k->a, &l, &k->scanned, e))
        return false;
    size_t shown = l.n < max ? l.n : (size_t)max;
    if (shown < l.n) query_cut(k, "limit: only the first %zu of %zu are included", shown, l.n);
    response_node *o = response_list(&k->w.root, k->rest.n ? "values" : "keys");
    response_may_cut(o);
    for (size_t i = 0; i < shown; i++) {
        response_node *x = response_object(o, NULL);
        response_text(x, "text", l.v[i].text);
        response_u64(x, "series", l.v[i].n_series);
    }
    response_u64(&k->w.root, "all", l.n);
    return true;
}

static void put_series(response_node *list, const store_series *s)
{
    response_node *o = response_object(list, NULL);
    query_put_series(o, s);
    response_u64(o, "first", s->first);
    response_u64(o, "last", s->last);
    response_u64(o, "profiles", s->n_profiles);
    response_u64(o, "samples", s->n_samples);
}

static response_node *put_all_series(query *k, const store_series_list *l)
{
    response_node *o = response_list(&k->w.root, "series");
    for (size_t i = 0; i < l->n; i++) put_series(o, &l->v[i]);
    return o;
}

bool api_series(query *k, err *e)
{
    store_series_list l = {0};
    store_budget b = query_budget(k, 2);
    if (!store_list_series(k->store, &k->q, &b, k->a, &l, &k->scanned, e)) return false;
    response_may_cut(put_all_series(k, &l));
    return true;
}

bool query_put_profiles(query *k, uint64_t max, err *e)
{
    store_read_result scanned;
    store_profile_list l = {0};
    store_series_list series = {0};
    store_budget b = query_budget(k, 4);
    if (!store_list_profiles(k->store, &k->q, &b, max, k->a, &l, &series, &scanned, e))
        return false;
    query_scanned(k, &scanned);
    put_all_series(k, &series);
    response_node *o = response_list(&k->w.root, "profiles");
    response_may_cut(o);
    for (size_t i = 0; i < l.n; i++) {
        const store_profile *p = &l.v[i];
        response_node *x = response_object(o, NULL);
        query_put_profile(x, p);
        response_u64(x, "series", p->series);
        response_u64(x, "samples", p->n_samples);
        response_u64(x, "losses", p->ledger ? p->ledger->n : 0);
    }
    return true;
}

bool api_profiles(query *k, err *e)
{
    uint64_t max = PROFILES;
    return query_limit(k, PROFILES_MAX, &max, e) && query_put_profiles(k, max, e);
}
