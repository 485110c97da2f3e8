/* The endpoints profiles/{id} and profiles/{id}/original: the properties of one stored profile, its
 * conversion losses, and the file that it was converted from. */
#include "server/query.h"

#include "query/facts.h"
#include "server/endpoints.h"
#include "base/ban.h"

enum { SAME_ID = 64 }; /* profiles with the same id: one for each type */

static bool take_id(query *k, err *e)
{
    return store_id_parse(k->rest, sizeof((store_profile *)0)->id, k->a, &k->q.profile_id, e) ||
           err_in(e, "profiles/ID");
}

static bool not_there(err *e)
{
    return err_set(e, ERR_UNSUPPORTED, "no stored profile has this id");
}

static void put_losses(response_node *in, const ledger *l)
{
    response_node *o = response_list(in, "losses");
    for (size_t i = 0; l && i < l->n; i++) {
        const loss *x = &l->v[i];
        response_node *y = response_object(o, NULL);
        response_text(y, "concept", str_of(loss_name(x->concept)));
        response_text(y, "what", str_of(loss_what(x->concept)));
        response_text(y, "stage", str_of(loss_stage_name(x->stage)));
        response_u64(y, "count", x->count);
        response_text(y, "path", str_of(x->path));
        response_text(y, "value", str_of(x->value));
        response_text(y, "carried_as", str_of(x->carried_as ? x->carried_as : ""));
    }
}

static bool put_attributes(query *k, response_node *in, const dict *d, span attrs, err *e)
{
    keyvalue *v = arena_new(k->a, keyvalue, attrs.n + 1);
    if (!v) return err_memory(e);
    for (uint32_t i = 0; i < attrs.n; i++) {
        const attribute *t = &d->attributes.v[refs_at(&d->attr_refs, attrs)[i]];
        v[i] = (keyvalue){.key = dict_str(d, t->key), .value = t->value};
    }
    response_attributes(in, "attributes", v, attrs.n);
    return true;
}

static void put_facts(response_node *o, const profile_facts *f)
{
    response_u64(o, "samples", f->samples);
    response_u64(o, "observations", f->observations);
    response_u64(o, "timestamps", f->timestamps);
    response_u64(o, "links", f->links);
    response_u64(o, "stacks", f->distinct_stacks);
    response_u64(o, "max_depth", f->max_depth);
    response_i64(o, "sum", f->total);
}

static bool put_profile(query *k, response_node *list, const store_profile *stored,
                        const store_series *s, const model *m, const profile *p,
                        const profile_facts *f, err *e)
{
    response_node *o = response_object(list, NULL);
    query_put_profile(o, stored);
    query_put_series(o, s);
    if (!put_attributes(k, o, &m->dict, p->attrs, e)) return false;
    response_node *original = response_object(o, "original");
    response_text(original, "format", p->original_payload_format);
    response_u64(original, "bytes", p->original_payload.n);
    put_facts(o, f);
    put_losses(o, stored->ledger);
    return true;
}

/* Returns the next unused profile of the model with the type of the series. */
static const profile *profile_of(const model *m, const store_series *s, bool *taken)
{
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        if (taken[i] || !str_eq(dict_str(&m->dict, p->sample_type.type), s->type) ||
            !str_eq(dict_str(&m->dict, p->sample_type.unit), s->unit))
            continue;
        taken[i] = true;
        return p;
    }
    return NULL;
}

bool api_profile(query *k, err *e)
{
    store_profile_list l = {0};
    store_series_list series = {0};
    model m;
    profile_facts *f;
    store_read_result scanned;
    store_read_opts o = {.budget = k->budget};
    if (!take_id(k, e) || !store_list_profiles(k->store, &k->q, &o.budget, SAME_ID, k->a, &l,
                                               &series, &k->scanned, e))
        return false;
    if (!l.n) return not_there(e);
    if (!store_read(k->store, &k->q, &o, k->a, &m, &scanned, e) || !facts_of(&m, k->a, &f, e))
        return false;
    query_scanned(k, &scanned);
    bool *taken = arena_new(k->a, bool, m.profiles.n + 1);
    if (!taken) return err_memory(e);
    response_node *list = response_list(&k->w.root, "profiles");
    for (size_t i = 0; i < l.n; i++) {
        const store_series *s = &series.v[l.v[i].series];
        const profile *p = profile_of(&m, s, taken);
        if (p && !put_profile(k, list, &l.v[i], s, &m, p, &f[p - m.profiles.v], e)) return false;
    }
    return true;
}

bool api_original(query *k, err *e)
{
    model m;
    store_read_opts o = {.budget = k->budget};
    if (!take_id(k, e) || !store_read(k->store, &k->q, &o, k->a, &m, &k->scanned, e)) return false;
    for (size_t i = 0; i < m.profiles.n; i++) {
        str bytes = m.profiles.v[i].original_payload;
        if (!bytes.n) continue;
        buf_str(&k->body, bytes);
        k->type = "application/octet-stream";
        k->name = STR("original");
        return !k->body.failed || err_memory(e);
    }
    return m.profiles.n
               ? err_set(e, ERR_UNSUPPORTED, "the original file of this profile was not stored")
               : not_there(e);
}
