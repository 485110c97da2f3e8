/* store/engine.h - the table of functions of an engine. store.c chooses the engine by the scheme of
 * `where`. */
#pragma once
#include "store/maintenance.h"

typedef struct store_engine {
    const char *scheme; /* "clickhouse"; "" for paths */
    store *(*open)(const char *where, const store_opts *o, err *e);
    void (*close)(store *s);
    void (*retain)(store *s, uint64_t max_age, uint64_t max_bytes);
    bool (*put)(store *s, const store_item *i, err *e);
    void (*push)(store *s);
    bool (*takes)(const store *s);
    bool (*commit)(store *s, err *e);
    bool (*compact)(store *s, err *e);
    bool (*follow)(store *s, uint64_t max_bytes, uint64_t *through, err *e);
    void (*unfollow)(store *s);
    bool (*follow_read)(store *s, uint64_t *through, store_follower *each, void *ctx,
                        uint64_t *lost, err *e);
    bool (*followed)(store *s, uint64_t through, err *e);
    store_lag (*lag)(const store *s);
    store_counters (*counted)(const store *s);
    store_gauges (*gauged)(const store *s);

    store_reader *(*open_reader)(const char *where, const store_reader_opts *o, err *e);
    store_reader *(*add_reader)(store *s, const store_reader_opts *o, err *e);
    store_reader *(*own_reader)(store *s);
    void (*close_reader)(store_reader *r);
    uint64_t (*damaged)(const store_reader *r);
    bool (*read)(store_reader *r, const store_selector *q, const store_read_opts *o, arena *a,
                 model *out, store_read_result *x, err *e);
    bool (*read_sums)(store_reader *r, const store_selector *q, const store_read_opts *o, arena *a,
                      model *out, store_read_result *x, err *e);
    bool (*read_pieces)(store_reader *r, const store_selector *q, const store_read_opts *o,
                        arena *a, store_each *each, void *ctx, model *shared, store_read_result *x,
                        err *e);
    bool (*read_each)(store_reader *r, const store_selector *q, store_each *each, void *ctx,
                      store_read_result *x, err *e);
    bool (*list_series)(store_reader *r, const store_selector *q, const store_budget *b, arena *a,
                        store_series_list *out, store_read_result *x, err *e);
    bool (*list_types)(store_reader *r, const store_selector *q, const store_budget *b, arena *a,
                       store_type_list *out, store_read_result *x, err *e);
    bool (*list_labels)(store_reader *r, const store_selector *q, const store_budget *b, str key,
                        arena *a, store_label_list *out, store_read_result *x, err *e);
    bool (*list_profiles)(store_reader *r, const store_selector *q, const store_budget *b,
                          size_t max, arena *a, store_profile_list *out, store_series_list *series,
                          store_read_result *x, err *e);
    bool (*counts)(store_reader *r, const store_selector *q, const store_budget *b,
                   const store_counts_opts *o, arena *a, store_buckets *out, store_read_result *x,
                   err *e);
    bool (*put_names)(store_reader *r, const model *m, uint64_t *n, err *e);

    /* maintenance.h; NULL: not supported */
    bool (*stats)(store_reader *r, arena *a, store_stats *out, err *e);
    bool (*backup)(store_reader *r, const char *dest, const store_backup_opts *o,
                   store_backup_result *out, err *e);
    bool (*verify)(store_reader *r, void (*problem)(void *ctx, const char *line), void *ctx,
                   store_check *out, err *e);
} store_engine;

/* The first member of the struct that an engine uses for an open store. */
struct store {
    const store_engine *engine;
};
struct store_reader {
    const store_engine *engine;
};

extern const store_engine engine_embedded;
