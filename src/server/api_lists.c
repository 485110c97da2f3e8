/* What there is: labels, series, profiles. */
#include "server/ask.h"

#include "server/questions.h"
#include "base/ban.h"

enum { PROFILES = 200, PROFILES_MAX = 10000, LABELS = 1000, LABELS_MAX = 100000 };

bool api_labels(ask *k, err *e)
{
    store_label_list l = {0};
    store_budget b = ask_budget(k, 2);
    uint64_t max = LABELS;
    if (!ask_limit(k, LABELS_MAX, &max, e) ||
        !store_list_labels(k->store, &k->q, &b, k->rest, k->a, &l, &k->looked, e))
        return false;
    size_t shown = l.n < max ? l.n : (size_t)max;
    if (shown < l.n) ask_cut(k, "limit: the first %zu of %zu are here", shown, l.n);
    answer_node *o = answer_list(&k->w.root, k->rest.n ? "values" : "keys");
    answer_may_cut(o);
    for (size_t i = 0; i < shown; i++) {
        answer_node *x = answer_object(o, NULL);
        answer_text(x, "text", l.v[i].text);
        answer_u64(x, "series", l.v[i].n_series);
    }
    answer_u64(&k->w.root, "all", l.n);
    return true;
}

static void put_series(answer_node *list, const store_series *s)
{
    answer_node *o = answer_object(list, NULL);
    ask_put_series(o, s);
    answer_u64(o, "first", s->first);
    answer_u64(o, "last", s->last);
    answer_u64(o, "profiles", s->n_profiles);
    answer_u64(o, "samples", s->n_samples);
}

static answer_node *put_all_series(ask *k, const store_series_list *l)
{
    answer_node *o = answer_list(&k->w.root, "series");
    for (size_t i = 0; i < l->n; i++) put_series(o, &l->v[i]);
    return o;
}

bool api_series(ask *k, err *e)
{
    store_series_list l = {0};
    store_budget b = ask_budget(k, 2);
    if (!store_list_series(k->store, &k->q, &b, k->a, &l, &k->looked, e)) return false;
    answer_may_cut(put_all_series(k, &l));
    return true;
}

bool ask_put_profiles(ask *k, uint64_t max, err *e)
{
    store_answer looked;
    store_profile_list l = {0};
    store_series_list series = {0};
    store_budget b = ask_budget(k, 4);
    if (!store_list_profiles(k->store, &k->q, &b, max, k->a, &l, &series, &looked, e)) return false;
    ask_looked(k, &looked);
    put_all_series(k, &series);
    answer_node *o = answer_list(&k->w.root, "profiles");
    answer_may_cut(o);
    for (size_t i = 0; i < l.n; i++) {
        const store_profile *p = &l.v[i];
        answer_node *x = answer_object(o, NULL);
        ask_put_profile(x, p);
        answer_u64(x, "series", p->series);
        answer_u64(x, "samples", p->n_samples);
        answer_u64(x, "losses", p->ledger ? p->ledger->n : 0);
    }
    return true;
}

bool api_profiles(ask *k, err *e)
{
    uint64_t max = PROFILES;
    return ask_limit(k, PROFILES_MAX, &max, e) && ask_put_profiles(k, max, e);
}
