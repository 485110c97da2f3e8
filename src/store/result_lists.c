/* Lists series, labels and profiles. When the rows of blocks decide the selection, only they are
 * read; otherwise the profiles are decoded. */
#include "store/result.h"

#include "store/series_index.h"
#include "base/ban.h"

/* ---- series ---- */

typedef struct listing {
    scan k;
    arena *a;
    builder copy; /* for resources, scopes and texts */
    store_series_list *series;
    series_index by_identity;
    const day_series *last; /* the last series: blocks of a series are adjacent */
    size_t last_at;
    /* labels */
    str key;
    store_label_list *labels;
    hash_index by_text;
    VEC(uint64_t) counted; /* label << 32 | series */
    hash_index by_pair;
    buf scratch;
    /* profiles */
    store_profile_list *profiles;
    size_t max;
} listing;

static str copy_text(listing *x, str s) { return builder_copy_str(&x->copy, s); }

/* Returns the index of a profile's series in the list, adding it if necessary; UINT32_MAX when out
 * of memory. */
static uint32_t series_of(listing *x, const resource *r, const scope *c, const model *m,
                          const profile *p)
{
    const store_series like = series_of_profile(&m->dict, r, c, p);
    uint32_t at;
    if (!series_index_find(&x->by_identity, x->series, &like, &at)) return UINT32_MAX;
    if (at != SERIES_ABSENT) return at;
    resource *own_r = arena_new(x->a, resource, 1);
    scope *own_c = arena_new(x->a, scope, 1);
    store_series *s = own_r && own_c ? vec_push(x->a, x->series) : NULL;
    if (!s) return UINT32_MAX;
    *own_r = *builder_resource(&x->copy, r);
    *own_c = *builder_scope(&x->copy, c);
    *s = (store_series){.resource = own_r,
                        .scope = own_c,
                        .type = copy_text(x, like.type),
                        .unit = copy_text(x, like.unit),
                        .period_type = copy_text(x, like.period_type),
                        .period_unit = copy_text(x, like.period_unit),
                        .period = like.period,
                        .first = UINT64_MAX};
    at = (uint32_t)(x->series->n - 1);
    return !x->copy.failed && series_index_add(&x->by_identity, x->a, x->series, at) ? at
                                                                                     : UINT32_MAX;
}

static void widen(store_series *s, uint64_t first, uint64_t last, uint64_t n_profiles,
                  uint64_t n_samples)
{
    s->first = first < s->first ? first : s->first;
    s->last = last > s->last ? last : s->last;
    s->n_profiles += n_profiles;
    s->n_samples += n_samples;
}

static bool series_quick(void *ctx, const day_block *b, const tables *t, filter_open_rules open,
                         bool covered, bool *done, err *e)
{
    listing *x = ctx;
    (void)covered;
    const store_selector *q = &x->k.f.q;
    if (open || q->trace_id || q->span_id || q->profile_id) return true;
    if (b->series != x->last) {
        const block_series *s = &b->series->s;
        profile head = series_head_profile(&s->head);
        uint32_t i = series_of(x, &s->resource, &s->scope, &t->m, &head);
        if (i == UINT32_MAX) return err_memory(e);
        x->last = b->series;
        x->last_at = i;
    }
    widen(&x->series->v[x->last_at], b->first, b->last, b->n_profiles, b->n_samples);
    x->k.n_found += b->n_samples;
    *done = true;
    return true;
}

static bool series_chunk(void *ctx, const chunk *c, err *e)
{
    listing *x = ctx;
    for (size_t i = 0; i < c->m->profiles.n; i++) {
        const profile *p = &c->m->profiles.v[i];
        const scope *s = &c->m->scopes.v[p->scope];
        chosen y;
        bool yes;
        if (!choose_any(&x->k, c, i, &y, &yes, e)) return false;
        if (!yes) continue;
        uint32_t at = series_of(x, &c->m->resources.v[s->resource], s, c->m, p);
        if (at == UINT32_MAX) return err_memory(e);
        uint64_t first = UINT64_MAX, last = 0;
        profile_times(c->m, p, c->facts[i].received, &first, &last);
        widen(&x->series->v[at], first, last, 1, p->n_samples);
        x->k.n_found += p->n_samples;
    }
    return true;
}

static bool go(reader *r, listing *x, err *e)
{
    x->k.ctx = x;
    bool ok = reader_begin(r, e) && reader_scan(r, &x->k, e);
    reader_end(r);
    scan_close(&x->k, r->world);
    x->k.result->n_compared += x->by_identity.n_compared;
    series_index_free(&x->by_identity);
    buf_free(&x->scratch);
    return ok;
}

bool result_series(reader *r, const store_selector *q, const store_budget *b, arena *a,
                   store_series_list *out, store_read_result *result, err *e)
{
    *out = (store_series_list){0};
    listing x = {.a = a, .copy = {.a = a}, .series = out};
    if (!scan_open(&x.k, q, b, result, r->world, e)) return false;
    x.k.a = a;
    x.k.quick = series_quick;
    x.k.chunk = series_chunk;
    x.k.columns = BLOCK_TIMES | BLOCK_VALUES;
    bool ok = go(r, &x, e);
    x.k.result->n_series = out->n;
    return ok;
}

/* ---- labels ---- */

/* Counts a label once for each series, which may occur in several files and in the journal. */
static bool count_once(listing *x, uint32_t label, uint32_t series_i)
{
    uint64_t pair = (uint64_t)label << 32 | series_i;
    if (!hash_index_room(&x->by_pair, x->a)) return false;
    uint64_t h = hash_mix(x->by_pair.seed, pair);
    uint32_t i = hash_first(&x->by_pair, h);
    for (uint32_t at; hash_next(&x->by_pair, &i, h, &at); i++)
        if (x->counted.v[at] == pair) return true;
    uint64_t *slot = vec_push(x->a, &x->counted);
    if (!slot) return false;
    *slot = pair;
    hash_put(&x->by_pair, i, h, (uint32_t)(x->counted.n - 1));
    x->labels->v[label].n_series++;
    return true;
}

/* Counts the text for the series. Returns false when out of memory. */
static bool count_label(listing *x, str text, uint32_t series_i)
{
    if (!hash_index_room(&x->by_text, x->a)) return false;
    uint64_t h = hash_bytes(text.p, text.n, x->by_text.seed);
    uint32_t i = hash_first(&x->by_text, h);
    for (uint32_t at; hash_next(&x->by_text, &i, h, &at); i++)
        if (str_eq(x->labels->v[at].text, text)) return count_once(x, at, series_i);
    store_label *l = vec_push(x->a, x->labels);
    if (!l) return false;
    l->text = copy_text(x, text);
    hash_put(&x->by_text, i, h, (uint32_t)(x->labels->n - 1));
    return !x->copy.failed && count_once(x, (uint32_t)(x->labels->n - 1), series_i);
}

/* Counts the labels of a list. Sets *found when it has the requested key: then inner levels do not
 * matter, as in selectors. */
static bool count_attrs(listing *x, const dict *d, const uint32_t *v, size_t n, uint32_t series_i,
                        bool *found)
{
    for (size_t i = 0; i < n; i++) {
        const attribute *t = &d->attributes.v[v[i]];
        str key = d->strings.v[t->key];
        if (!x->key.n && key.n && !count_label(x, key, series_i)) return false;
        if (!x->key.n || !str_eq(key, x->key)) continue;
        *found = true;
        return count_label(x, label_text(&t->value, &x->scratch), series_i);
    }
    return true;
}

static bool count_keyvalues(listing *x, const keyvalues *kv, uint32_t series_i)
{
    for (size_t i = 0; !x->key.n && i < kv->n; i++)
        if (kv->v[i].key.n && !count_label(x, kv->v[i].key, series_i)) return false;
    return true;
}

static bool count_envelope(listing *x, const resource *r, const scope *s, uint32_t series_i,
                           bool *found)
{
    any made;
    const any *v = x->key.n ? envelope_label(r, s, x->key, &made) : NULL;
    *found = v != NULL;
    if (v) return count_label(x, label_text(v, &x->scratch), series_i);
    if (x->key.n) return true;
    return (!s->name.n || count_label(x, STR("otel.scope.name"), series_i)) &&
           (!s->version.n || count_label(x, STR("otel.scope.version"), series_i)) &&
           count_keyvalues(x, &r->attrs, series_i) && count_keyvalues(x, &s->attrs, series_i);
}

/* Counts the labels of several lists. Sets *found when all lists have the key. */
static bool count_lists(listing *x, const tables *t, const u32s *lists, uint32_t series_i,
                        bool *found)
{
    *found = lists->n > 0;
    for (size_t i = 0; i < lists->n; i++) {
        span l = t->lists.v[lists->v[i]];
        bool has = false;
        if (!count_attrs(x, &t->m.dict, refs_at(&t->m.dict.attr_refs, l), l.n, series_i, &has))
            return false;
        *found &= has;
    }
    return true;
}

static bool labels_quick(void *ctx, const day_block *b, const tables *t, filter_open_rules open,
                         bool covered, bool *done, err *e)
{
    listing *x = ctx;
    const day_series *before = x->last;
    if (!series_quick(ctx, b, t, open, covered, done, e)) return false;
    if (!*done || b->series == before) return true;
    const block_series *s = &b->series->s;
    uint32_t series_i = (uint32_t)x->last_at;
    bool found, ok = count_envelope(x, &s->resource, &s->scope, series_i, &found);
    if (ok && !found) ok = count_lists(x, t, &s->profile_lists, series_i, &found);
    if (ok && !found) ok = count_lists(x, t, &s->lists, series_i, &found);
    return ok || err_memory(e);
}

/* Counts the labels of the selected samples. */
static bool label_samples(listing *x, const chunk *c, const profile *p, const chosen *y,
                          uint32_t series_i, err *e)
{
    cutter cut = {.a = x->a};
    for (size_t j = 0; j < p->n_samples; j++) {
        sample s = sample_at(c->m, p, j);
        bool yes, found = false;
        if (!choose_sample(&x->k, y, &cut, c->m, &s, &yes, e)) return false;
        if (yes && !count_attrs(x, &c->m->dict, s.attrs, s.n_attrs, series_i, &found))
            return err_memory(e);
    }
    return true;
}

static bool label_profile(listing *x, const chunk *c, const profile *p, const chosen *y, err *e)
{
    const scope *s = &c->m->scopes.v[p->scope];
    const resource *r = &c->m->resources.v[s->resource];
    const dict *d = &c->m->dict;
    uint32_t at = series_of(x, r, s, c->m, p);
    bool found;
    if (at == UINT32_MAX || !count_envelope(x, r, s, at, &found) ||
        (!found && !count_attrs(x, d, refs_at(&d->attr_refs, p->attrs), p->attrs.n, at, &found)))
        return err_memory(e);
    return found || label_samples(x, c, p, y, at, e);
}

static bool labels_chunk(void *ctx, const chunk *c, err *e)
{
    listing *x = ctx;
    for (size_t i = 0; i < c->m->profiles.n; i++) {
        chosen y;
        bool yes;
        if (!choose_any(&x->k, c, i, &y, &yes, e)) return false;
        if (yes && !label_profile(x, c, &c->m->profiles.v[i], &y, e)) return false;
    }
    return true;
}

static int by_text(const void *a, const void *b)
{
    return str_cmp(((const store_label *)a)->text, ((const store_label *)b)->text);
}

bool result_labels(reader *r, const store_selector *q, const store_budget *b, str key, arena *a,
                   store_label_list *out, store_read_result *result, err *e)
{
    *out = (store_label_list){0};
    store_series_list series = {0};
    listing x = {.a = a, .copy = {.a = a}, .series = &series, .key = key, .labels = out};
    if (!scan_open(&x.k, q, b, result, r->world, e)) return false;
    x.k.a = a;
    x.k.quick = labels_quick;
    x.k.chunk = labels_chunk;
    x.k.columns = BLOCK_TIMES | BLOCK_VALUES | BLOCK_ATTRS;
    bool ok = go(r, &x, e);
    if (ok && out->n) qsort(out->v, out->n, sizeof *out->v, by_text);
    x.k.result->n_series = series.n;
    return ok;
}

/* ---- profiles ---- */

static int newest_first(const void *a, const void *b)
{
    const store_profile *x = a, *y = b;
    return x->received != y->received ? (x->received < y->received) - (x->received > y->received)
                                      : (x->time < y->time) - (x->time > y->time);
}

/* Keeps the newest profiles: sorts and truncates the list when it has twice as many as
 * requested. */
static void cut_profiles(listing *x)
{
    if (x->profiles->n) qsort(x->profiles->v, x->profiles->n, sizeof *x->profiles->v, newest_first);
    if (x->profiles->n > x->max) x->profiles->n = x->max;
}

static bool profiles_chunk(void *ctx, const chunk *c, err *e)
{
    listing *x = ctx;
    for (size_t i = 0; i < c->m->profiles.n; i++) {
        const profile *p = &c->m->profiles.v[i];
        const profile_facts *f = &c->facts[i];
        const scope *s = &c->m->scopes.v[p->scope];
        chosen y;
        bool yes;
        if (!choose_any(&x->k, c, i, &y, &yes, e)) return false;
        if (!yes) continue;
        if (x->profiles->n >= 2 * x->max) cut_profiles(x);
        uint32_t at = series_of(x, &c->m->resources.v[s->resource], s, c->m, p);
        store_profile *to = at == UINT32_MAX ? NULL : vec_push(x->a, x->profiles);
        if (!to) return err_memory(e);
        *to = (store_profile){.time = p->time_unix_nano,
                              .duration = p->duration_nano,
                              .received = f->received,
                              .n_samples = p->n_samples,
                              .series = at};
        profile_identity(p, f, to->id);
        to->sender = copy_text(x, f->sender);
        to->recognised = copy_text(x, f->recognised);
        to->ledger = take_ledger(f->ledger, x->a);
        if (x->copy.failed) return err_memory(e);
        uint64_t first = UINT64_MAX, last = 0;
        profile_times(c->m, p, f->received, &first, &last);
        widen(&x->series->v[at], first, last, 1, p->n_samples);
        x->k.n_found += p->n_samples;
        x->k.result->n_profiles++;
    }
    return true;
}

bool result_profiles(reader *r, const store_selector *q, const store_budget *b, size_t max,
                     arena *a, store_profile_list *out, store_series_list *series,
                     store_read_result *result, err *e)
{
    *out = (store_profile_list){0};
    *series = (store_series_list){0};
    listing x = {
        .a = a, .copy = {.a = a}, .series = series, .profiles = out, .max = max ? max : 1000};
    if (!scan_open(&x.k, q, b, result, r->world, e)) return false;
    x.k.a = a;
    x.k.chunk = profiles_chunk;
    x.k.columns = BLOCK_FACTS | BLOCK_TIMES | BLOCK_VALUES;
    bool ok = go(r, &x, e);
    cut_profiles(&x);
    return ok;
}
