/* The functions of store.h, which call the engine of a store or reader. They do not check
 * arguments. */
#include "store/engine.h"

#include "base/ban.h"

static const store_engine *const engines[] = {&engine_embedded};

/* Returns the engine for "scheme://rest" or a path; NULL and ERR_USAGE when there is none. */
static const store_engine *engine_of(const char *where, err *e)
{
    const char *colon = strstr(where, "://");
    str scheme = colon ? (str){where, (size_t)(colon - where)} : (str){"", 0};
    for (size_t i = 0; i < ARRAY_LEN(engines); i++)
        if (str_eq(scheme, str_of(engines[i]->scheme))) return engines[i];
    err_set(e, ERR_USAGE, "%s: no store engine for this scheme; use a directory", where);
    return NULL;
}

store *store_open(const char *where, const store_opts *o, err *e)
{
    static const store_opts defaults;
    const store_engine *x = engine_of(where, e);
    return x ? x->open(where, o ? o : &defaults, e) : NULL;
}

void store_close(store *s)
{
    if (s) s->engine->close(s);
}

store_reader *store_open_reader(const char *where, const store_reader_opts *o, err *e)
{
    static const store_reader_opts defaults;
    const store_engine *x = engine_of(where, e);
    return x ? x->open_reader(where, o ? o : &defaults, e) : NULL;
}

store_reader *store_add_reader(store *s, const store_reader_opts *o, err *e)
{
    static const store_reader_opts defaults;
    return s->engine->add_reader(s, o ? o : &defaults, e);
}

store_reader *store_own_reader(store *s) { return s->engine->own_reader(s); }

void store_close_reader(store_reader *r)
{
    if (r) r->engine->close_reader(r);
}

uint64_t store_reader_damaged(const store_reader *r) { return r->engine->damaged(r); }

void store_retain(store *s, uint64_t max_age, uint64_t max_bytes)
{
    s->engine->retain(s, max_age, max_bytes);
}

bool store_put(store *s, const store_item *i, err *e) { return s->engine->put(s, i, e); }
void store_push(store *s) { s->engine->push(s); }
bool store_takes(const store *s) { return s->engine->takes(s); }
bool store_commit(store *s, err *e) { return s->engine->commit(s, e); }
bool store_compact(store *s, err *e) { return s->engine->compact(s, e); }

bool store_read(store_reader *r, const store_selector *q, const store_read_opts *o, arena *a,
                model *out, store_read_result *result, err *e)
{
    return r->engine->read(r, q, o, a, out, result, e);
}

bool store_read_sums(store_reader *r, const store_selector *q, const store_read_opts *o, arena *a,
                     model *out, store_read_result *result, err *e)
{
    return r->engine->read_sums(r, q, o, a, out, result, e);
}

bool store_read_pieces(store_reader *r, const store_selector *q, const store_read_opts *o, arena *a,
                       store_each *each, void *ctx, model *shared, store_read_result *result,
                       err *e)
{
    return r->engine->read_pieces(r, q, o, a, each, ctx, shared, result, e);
}

bool store_read_each(store_reader *r, const store_selector *q, store_each *each, void *ctx,
                     store_read_result *result, err *e)
{
    return r->engine->read_each(r, q, each, ctx, result, e);
}

bool store_list_series(store_reader *r, const store_selector *q, const store_budget *b, arena *a,
                       store_series_list *out, store_read_result *result, err *e)
{
    return r->engine->list_series(r, q, b, a, out, result, e);
}

bool store_list_types(store_reader *r, const store_selector *q, const store_budget *b, arena *a,
                      store_type_list *out, store_read_result *result, err *e)
{
    return r->engine->list_types(r, q, b, a, out, result, e);
}

bool store_list_labels(store_reader *r, const store_selector *q, const store_budget *b, str key,
                       arena *a, store_label_list *out, store_read_result *result, err *e)
{
    return r->engine->list_labels(r, q, b, key, a, out, result, e);
}

bool store_list_profiles(store_reader *r, const store_selector *q, const store_budget *b,
                         size_t max, arena *a, store_profile_list *out, store_series_list *series,
                         store_read_result *result, err *e)
{
    return r->engine->list_profiles(r, q, b, max, a, out, series, result, e);
}

bool store_counts(store_reader *r, const store_selector *q, const store_budget *b,
                  const store_counts_opts *o, arena *a, store_buckets *out,
                  store_read_result *result, err *e)
{
    return r->engine->counts(r, q, b, o, a, out, result, e);
}

bool store_put_names(store_reader *r, const model *m, uint64_t *n, err *e)
{
    return r->engine->put_names(r, m, n, e);
}

bool store_follow(store *s, uint64_t max_bytes, uint64_t *through, err *e)
{
    return s->engine->follow(s, max_bytes, through, e);
}

void store_unfollow(store *s) { s->engine->unfollow(s); }

bool store_follow_read(store *s, uint64_t *through, store_follower *each, void *ctx, uint64_t *lost,
                       err *e)
{
    return s->engine->follow_read(s, through, each, ctx, lost, e);
}

bool store_followed(store *s, uint64_t through, err *e)
{
    return s->engine->followed(s, through, e);
}

store_lag store_lag_of(const store *s) { return s->engine->lag(s); }

store_counters store_counted(const store *s) { return s->engine->counted(s); }
store_gauges store_gauged(const store *s) { return s->engine->gauged(s); }
static bool unsupported(err *e)
{
    return err_set(e, ERR_UNSUPPORTED,
                   "this operation is not supported by the engine of the store");
}

bool store_get_stats(store_reader *r, arena *a, store_stats *out, err *e)
{
    return r->engine->stats ? r->engine->stats(r, a, out, e) : unsupported(e);
}

bool store_verify(store_reader *r, void (*problem)(void *ctx, const char *line), void *ctx,
                  store_check *out, err *e)
{
    return r->engine->verify ? r->engine->verify(r, problem, ctx, out, e) : unsupported(e);
}

bool store_backup(store_reader *r, const char *dest, const store_backup_opts *o,
                  store_backup_result *out, err *e)
{
    return r->engine->backup ? r->engine->backup(r, dest, o, out, e) : unsupported(e);
}
