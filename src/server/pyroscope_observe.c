/* Reads observations one by one (pyroscope_observe.h). */
#include "server/pyroscope_observe.h"

#include "server/pyroscope_stacks.h"
#include "store/filter.h"
#include "wire/pb.h"
#include "base/ban.h"

typedef struct observing {
    pyro_selection *s;
    uint64_t start, end;
    pyro_texts by; /* sorted */
    str *keys;     /* stored keys; empty: the type determines the label */
    const pyro_texts *site;
    pyro_groups *groups;
    pyro_each *each;
    void *ctx;
    const pyro_read *read;
    const model *m;
    uint64_t n_profiles; /* passed so far */
} observing;

/* ---- groups ---- */

static bool group_of(observing *x, const pyro_labels *labels, size_t *out, err *e)
{
    pyro_groups *g = x->groups;
    arena *a = x->s->k->a;
    if (!hash_index_room(&g->by_key, a)) return err_memory(e);
    uint64_t h = hash_bytes(labels->key.p, labels->key.n, g->by_key.seed);
    uint32_t i = hash_first(&g->by_key, h);
    for (uint32_t at; hash_next(&g->by_key, &i, h, &at); i++)
        if (str_eq(g->v.v[at].key, labels->key)) return *out = at, true;
    pyro_labels *new = vec_push(a, &g->v);
    if (!new) return err_memory(e);
    *new = *labels;
    *out = g->v.n - 1;
    hash_put(&g->by_key, i, h, (uint32_t)*out);
    return true;
}

/* Returns the value of an attribute in a list, as text in `scratch` or a view; empty when there is
 * none. */
static str listed_label(const model *m, const uint32_t *v, size_t n, str key, buf *scratch)
{
    for (size_t i = 0; i < n; i++) {
        const attribute *t = &m->dict.attributes.v[v[i]];
        if (str_eq(dict_str(&m->dict, t->key), key)) return label_text(&t->value, scratch);
    }
    return (str){0};
}

/* Returns the value of an attribute of the profile, or else of the sample. */
static str inner_label(const model *m, const profile *p, const sample *s, str key, buf *scratch)
{
    str v = listed_label(m, refs_at(&m->dict.attr_refs, p->attrs), p->attrs.n, key, scratch);
    return v.n ? v : listed_label(m, s->attrs, s->n_attrs, key, scratch);
}

static bool group_of_sample(observing *x, const profile *p, const sample *s, size_t *out, err *e)
{
    const scope *sc = &x->m->scopes.v[p->scope];
    const store_series own = {.resource = &x->m->resources.v[sc->resource], .scope = sc};
    const pyro_series_row row = {.s = &own, .type = x->s->type};
    pyro_labels_out b = {0};
    pyro_labels labels;
    buf scratch = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < x->by.n; i++) {
        str value = {0};
        ok = pyro_series_label(x->s, &row, x->by.v[i], &value, e);
        if (ok && !value.n && x->keys[i].n) value = inner_label(x->m, p, s, x->keys[i], &scratch);
        if (ok && value.n) pyro_labels_put(&b, x->by.v[i], value);
    }
    buf_free(&scratch);
    return pyro_labels_end(&b, x->s->k, &labels, e) && ok && group_of(x, &labels, out, e);
}

/* ---- observations ---- */

static bool pass(observing *x, const profile *p, const sample *s, size_t group, uint64_t time,
                 int64_t value, err *e)
{
    if (!time) time = p->time_unix_nano;
    if (time < x->start || time >= x->end) return true;
    if (__builtin_mul_overflow(value, x->read->scale, &value)) value = INT64_MAX;
    return x->each(x->ctx,
                   &(pyro_observation){.time = time,
                                       .value = value,
                                       .group = group,
                                       .profile_id = p->profile_id,
                                       .profile = x->n_profiles,
                                       .link = &x->m->dict.links.v[s->link]},
                   e);
}

static bool pass_sample(observing *x, const profile *p, const sample *s, size_t group, err *e)
{
    if (s->n_values && s->n_values != s->n_times)
        return pass(x, p, s, group, s->n_times ? s->times[0] : 0, sample_total(s, NULL), e);
    for (uint32_t i = 0; i < s->n_times; i++)
        if (!pass(x, p, s, group, s->times[i], s->n_values ? s->values[i] : 1, e)) return false;
    return true;
}

static bool pass_profile(observing *x, const profile *p, const bool *kept, err *e)
{
    size_t group = 0;
    uint32_t n_before = 0;
    const uint32_t *before = NULL; /* neighbouring samples often have the same attributes */
    bool known = false;            /* `group` is that of the attributes `before` */
    x->n_profiles++;
    for (size_t i = 0; i < p->n_samples; i++) {
        const sample s = sample_at(x->m, p, i);
        if (kept && !kept[i]) continue;
        bool same = known && s.n_attrs == n_before &&
                    (!n_before || !memcmp(s.attrs, before, n_before * sizeof *before));
        if (!same && !group_of_sample(x, p, &s, &group, e)) return false;
        before = s.attrs, n_before = s.n_attrs, known = true;
        if (!pass_sample(x, p, &s, group, e)) return false;
        if (!(i & 4095) && !stopper_now(x->s->k->stop, e)) return false;
    }
    return true;
}

/* Sets *out to flags of the samples of a profile whose stacks begin with the call site. */
static bool at_site(observing *x, const profile *p, bool **out, err *e)
{
    query *k = x->s->k;
    model own = *x->m;
    frame_table f;
    view v;
    *out = NULL;
    if (!x->site->n) return true;
    own.profiles.v = (profile *)(uintptr_t)p; /* only read */
    own.profiles.n = 1;
    if (!(*out = arena_new(k->a, bool, p->n_samples + 1))) return err_memory(e);
    if (!frame_table_init(&f, BY_FUNCTION, k->a, e)) return false;
    view_init(&v, &f, k->a);
    v.stop = k->stop;
    if (!view_add(&v, &own, &(select_opts){.all = true, .by_sample = true}, 1, e) ||
        !pyro_keep_call_site(&v, 0, x->site, e))
        return false;
    for (size_t i = 0; i < v.rows.n; i++) (*out)[v.rows.v[i].sample] = true;
    return true;
}

static bool observe(observing *x, const pyro_read *r, err *e)
{
    query *k = x->s->k;
    model m;
    store_read_result scanned;
    store_selector q = r->q;
    store_read_opts o = {.budget = query_budget(k, 3), .names = x->site->n > 0};
    q.start = x->start;
    q.end = x->end;
    if (!store_read(k->store, &q, &o, k->a, &m, &scanned, e) || !stopper_now(k->stop, e))
        return false;
    query_scanned(k, &scanned);
    bool ok = true;
    x->read = r;
    x->m = &m;
    for (size_t i = 0; ok && i < m.profiles.n; i++) {
        bool *kept;
        ok = at_site(x, &m.profiles.v[i], &kept, e) && pass_profile(x, &m.profiles.v[i], kept, e);
    }
    x->m = NULL;
    return ok;
}

bool pyro_observe(pyro_selection *s, uint64_t start, uint64_t end, const pyro_texts *by,
                  const pyro_texts *call_site, pyro_groups *groups, pyro_each *each, void *ctx,
                  err *e)
{
    observing x = {.s = s,
                   .start = start,
                   .end = end,
                   .site = call_site,
                   .groups = groups,
                   .each = each,
                   .ctx = ctx};
    if (!pyro_sort_keys(s->k, by, &x.by, e)) return false;
    x.keys = arena_new(s->k->a, str, x.by.n + 1);
    if (!x.keys) return err_memory(e);
    for (size_t i = 0; i < x.by.n; i++)
        if (!pyro_key_is_private(x.by.v[i]) && !pyro_key(s, x.by.v[i], &x.keys[i], e)) return false;
    for (size_t i = 0; i < s->reads.n; i++)
        if (!observe(&x, &s->reads.v[i], e)) return false;
    return true;
}

/* ---- items ---- */

static bool same_item(const pyro_items *x, const pyro_item *a, const pyro_observation *o)
{
    if (a->group != o->group) return false;
    if (x->spans) return !memcmp(&a->link, o->link, sizeof a->link);
    if (memcmp(a->profile_id, o->profile_id, sizeof a->profile_id) != 0) return false;
    return a->profile == o->profile || !id_is_zero(o->profile_id, sizeof a->profile_id);
}

static uint64_t hash_item(const pyro_items *x, const pyro_observation *o)
{
    uint64_t h = hash_mix(x->by_id.seed, o->group);
    if (x->spans) return hash_bytes((const char *)o->link, sizeof *o->link, h);
    if (id_is_zero(o->profile_id, 16)) return hash_mix(h, o->profile);
    return hash_bytes((const char *)o->profile_id, 16, h);
}

bool pyro_collect(void *ctx, const pyro_observation *o, err *e)
{
    pyro_items *x = ctx;
    arena *a = x->k->a;
    if (x->spans && id_is_zero(o->link->span_id, sizeof o->link->span_id)) return true;
    if (!hash_index_room(&x->by_id, a)) return err_memory(e);
    uint64_t h = hash_item(x, o);
    uint32_t i = hash_first(&x->by_id, h);
    for (uint32_t at; hash_next(&x->by_id, &i, h, &at); i++) {
        pyro_item *item = &x->v.v[at];
        if (!same_item(x, item, o)) continue;
        item->value = add_saturating(item->value, o->value, NULL);
        if (o->time < item->time) item->time = o->time;
        return true;
    }
    pyro_item *item = vec_push(a, &x->v);
    if (!item) return err_memory(e);
    *item = (pyro_item){.time = o->time,
                        .value = o->value,
                        .group = o->group,
                        .profile = o->profile,
                        .link = *o->link};
    memcpy(item->profile_id, o->profile_id, sizeof item->profile_id);
    hash_put(&x->by_id, i, h, (uint32_t)(x->v.n - 1));
    return true;
}

/* ---- exemplars ---- */

static void put_uuid(buf *b, uint32_t number, const uint8_t id[16])
{
    char hex[33], text[37];
    hex_encode(id, 16, hex);
    snprintf(text, sizeof text, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16,
             hex + 20);
    pb_put_bytes(b, number, str_of(text));
}

static void put_hex(buf *b, uint32_t number, const uint8_t *id, size_t n)
{
    char hex[33];
    if (id_is_zero(id, n)) return;
    hex_encode(id, n, hex);
    pb_put_bytes(b, number, str_of(hex));
}

void pyro_put_exemplar(buf *b, uint32_t number, const pyro_item *x, uint64_t at_ms,
                       const pyro_labels *labels)
{
    buf own = {0};
    pb_put_uint(&own, 1, at_ms);
    if (!id_is_zero(x->profile_id, 16)) put_uuid(&own, 2, x->profile_id);
    put_hex(&own, 3, x->link.span_id, 8);
    pb_put_uint(&own, 4, (uint64_t)x->value);
    pb_cur c = pb_open(labels->pairs.p, labels->pairs.n, NULL);
    for (pb_field f; pb_next(&c, &f);) pb_put_bytes(&own, 5, pb_bytes(&f));
    put_hex(&own, 6, x->link.trace_id, 16);
    pb_put_bytes(b, number, buf_view(&own));
    b->failed |= own.failed;
    buf_free(&own);
}
