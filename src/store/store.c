#include "store/engine.h"

#include "base/ban.h"

static const store_engine *const engines[] = {&engine_embedded};

/* "scheme://rest": its engine, or NULL. */
static const store_engine *engine_of(const char *where)
{
    const char *colon = strstr(where, "://");
    str scheme = colon ? (str){where, (size_t)(colon - where)} : (str){"", 0};
    for (size_t i = 0; i < ARRAY_LEN(engines); i++)
        if (str_eq(scheme, str_of(engines[i]->scheme))) return engines[i];
    return NULL;
}

store *store_open(const char *where, const store_opts *o, err *e)
{
    static const store_opts usual;
    const store_engine *x = engine_of(where);
    if (!x)
        return (void)err_set(e, ERR_USAGE, "%s: no engine keeps stores there; a directory is fine",
                             where),
               NULL;
    return x->open(where, o ? o : &usual, e);
}

void store_close(store *s)
{
    if (s) s->engine->close(s);
}

void store_retain(store *s, uint64_t max_age, uint64_t max_bytes)
{
    s->engine->retain(s, max_age, max_bytes);
}

bool store_put(store *s, const store_item *i, err *e) { return s->engine->put(s, i, e); }
void store_push(store *s) { s->engine->push(s); }
bool store_takes(const store *s) { return s->engine->takes(s); }
bool store_commit(store *s, err *e) { return s->engine->commit(s, e); }
bool store_work(store *s, bool *more, err *e) { return s->engine->work(s, more, e); }
bool store_compact(store *s, err *e) { return s->engine->compact(s, e); }

bool store_read(store *s, const store_selector *q, const store_read_opts *o, arena *a, model *out,
                store_answer *answer, err *e)
{
    return s->engine->read(s, q, o, a, out, answer, e);
}

bool store_read_sums(store *s, const store_selector *q, const store_read_opts *o, arena *a,
                     model *out, store_answer *answer, err *e)
{
    return s->engine->read_sums(s, q, o, a, out, answer, e);
}

bool store_read_pieces(store *s, const store_selector *q, const store_read_opts *o, arena *a,
                       store_each *each, void *who, model *shared, store_answer *answer, err *e)
{
    return s->engine->read_pieces(s, q, o, a, each, who, shared, answer, e);
}

bool store_read_each(store *s, const store_selector *q, store_each *each, void *who,
                     store_answer *answer, err *e)
{
    return s->engine->read_each(s, q, each, who, answer, e);
}

bool store_list_series(store *s, const store_selector *q, const store_budget *b, arena *a,
                       store_series_list *out, store_answer *answer, err *e)
{
    return s->engine->list_series(s, q, b, a, out, answer, e);
}

bool store_list_types(store *s, const store_selector *q, const store_budget *b, arena *a,
                      store_type_list *out, store_answer *answer, err *e)
{
    return s->engine->list_types(s, q, b, a, out, answer, e);
}

bool store_list_labels(store *s, const store_selector *q, const store_budget *b, str key, arena *a,
                       store_label_list *out, store_answer *answer, err *e)
{
    return s->engine->list_labels(s, q, b, key, a, out, answer, e);
}

bool store_list_profiles(store *s, const store_selector *q, const store_budget *b, size_t max,
                         arena *a, store_profile_list *out, store_series_list *series,
                         store_answer *answer, err *e)
{
    return s->engine->list_profiles(s, q, b, max, a, out, series, answer, e);
}

bool store_counts(store *s, const store_selector *q, const store_budget *b, uint64_t step, str by,
                  arena *a, store_buckets *out, store_answer *answer, err *e)
{
    return s->engine->counts(s, q, b, step, by, a, out, answer, e);
}

bool store_put_names(store *s, const model *m, uint64_t *n, err *e)
{
    return s->engine->put_names(s, m, n, e);
}

bool store_follow(store *s, uint64_t max_bytes, uint64_t *through, err *e)
{
    return s->engine->follow(s, max_bytes, through, e);
}

void store_unfollow(store *s) { s->engine->unfollow(s); }

bool store_follow_read(store *s, uint64_t *through, store_follower *each, void *who, uint64_t *lost,
                       err *e)
{
    return s->engine->follow_read(s, through, each, who, lost, e);
}

bool store_followed(store *s, uint64_t through, err *e)
{
    return s->engine->followed(s, through, e);
}

store_lag store_lag_of(const store *s) { return s->engine->lag(s); }

store_counters store_counted(const store *s) { return s->engine->counted(s); }
store_gauges store_gauged(const store *s) { return s->engine->gauged(s); }
bool store_get_stats(store *s, arena *a, store_stats *out, err *e)
{
    return s->engine->stats(s, a, out, e);
}

bool store_verify(store *s, void (*problem)(void *who, const char *line), void *who,
                  store_check *out, err *e)
{
    return s->engine->verify(s, problem, who, out, e);
}

bool store_backup(store *s, const char *dest, const store_backup_opts *o, store_backup_result *out,
                  err *e)
{
    if (!s->engine->backup) return err_set(e, ERR_UNSUPPORTED, "this store cannot be copied");
    return s->engine->backup(s, dest, o, out, e);
}
