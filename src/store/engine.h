/* store/engine.h - what an engine has to offer; store.c finds it by the scheme of `where`. */
#pragma once
#include "store/store.h"

typedef struct store_engine {
    const char *scheme; /* "clickhouse"; "" takes paths */
    store *(*open)(const char *where, const store_opts *o, err *e);
    void (*close)(store *s);
    void (*retain)(store *s, uint64_t max_age, uint64_t max_bytes);
    bool (*put)(store *s, const store_item *i, err *e);
    void (*push)(store *s);
    bool (*takes)(const store *s);
    bool (*commit)(store *s, err *e);
    bool (*work)(store *s, bool *more, err *e);
    bool (*compact)(store *s, err *e);
    bool (*read)(store *s, const store_selector *q, const store_read_opts *o, arena *a, model *out,
                 store_answer *x, err *e);
    bool (*read_sums)(store *s, const store_selector *q, const store_read_opts *o, arena *a,
                      model *out, store_answer *x, err *e);
    bool (*read_pieces)(store *s, const store_selector *q, const store_read_opts *o, arena *a,
                        store_each *each, void *who, model *shared, store_answer *x, err *e);
    bool (*read_each)(store *s, const store_selector *q, store_each *each, void *who,
                      store_answer *x, err *e);
    bool (*list_series)(store *s, const store_selector *q, const store_budget *b, arena *a,
                        store_series_list *out, store_answer *x, err *e);
    bool (*list_types)(store *s, const store_selector *q, const store_budget *b, arena *a,
                       store_type_list *out, store_answer *x, err *e);
    bool (*list_labels)(store *s, const store_selector *q, const store_budget *b, str key, arena *a,
                        store_label_list *out, store_answer *x, err *e);
    bool (*list_profiles)(store *s, const store_selector *q, const store_budget *b, size_t max,
                          arena *a, store_profile_list *out, store_series_list *series,
                          store_answer *x, err *e);
    bool (*counts)(store *s, const store_selector *q, const store_budget *b, uint64_t step, str by,
                   arena *a, store_buckets *out, store_answer *x, err *e);
    bool (*put_names)(store *s, const model *m, uint64_t *n, err *e);
    bool (*follow)(store *s, uint64_t max_bytes, uint64_t *through, err *e);
    void (*unfollow)(store *s);
    bool (*follow_read)(store *s, uint64_t *through, store_follower *each, void *who,
                        uint64_t *lost, err *e);
    bool (*followed)(store *s, uint64_t through, err *e);
    store_lag (*lag)(const store *s);
    store_counters (*counted)(const store *s);
    store_gauges (*gauged)(const store *s);
    bool (*stats)(store *s, arena *a, store_stats *out, err *e);
    bool (*backup)(store *s, const char *dest, const store_backup_opts *o, store_backup_result *out,
                   err *e); /* NULL: it cannot */
    bool (*verify)(store *s, void (*problem)(void *who, const char *line), void *who,
                   store_check *out, err *e);
} store_engine;

/* Engines begin their own struct with this. */
struct store {
    const store_engine *engine;
};

extern const store_engine engine_embedded;
