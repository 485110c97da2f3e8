/* store/result.h - computes the results of reads from the chunks that a reader scans. There is one
 * file for each kind of result. */
#pragma once
#include "store/reader.h"

/* Which part of a profile is selected; decided once for each profile. */
typedef struct chosen {
    filter_open_rules open; /* matchers that samples have to decide */
    uint64_t moment;
    bool covered; /* all of its observations are in the range */
    bool links;   /* links have to be compared */
} chosen;

/* Sets *yes to whether samples of the profile may be selected. */
NODISCARD bool choose_profile(scan *k, const chunk *c, size_t i, chosen *out, bool *yes, err *e);
/* Sets *yes to whether the sample is selected, and restricts s to the range. */
NODISCARD bool choose_sample(scan *k, const chosen *x, cutter *cut, const model *m, sample *s,
                             bool *yes, err *e);
/* Sets *yes to whether a profile without samples is selected. */
NODISCARD bool choose_empty(scan *k, const chosen *x, bool *yes, err *e);
/* Sets *yes to whether the profile or one of its samples is selected. */
NODISCARD bool choose_any(scan *k, const chunk *c, size_t i, chosen *out, bool *yes, err *e);

NODISCARD bool result_read(reader *r, const store_selector *q, const store_read_opts *o, arena *a,
                           model *out, store_read_result *x, err *e);
NODISCARD bool result_pieces(reader *r, const store_selector *q, const store_read_opts *o, arena *a,
                             store_each *each, void *ctx, model *shared, store_read_result *x,
                             err *e);
NODISCARD bool result_each(reader *r, const store_selector *q, store_each *each, void *ctx,
                           store_read_result *x, err *e);
NODISCARD bool result_sums(reader *r, const store_selector *q, const store_read_opts *o, arena *a,
                           model *out, store_read_result *x, err *e);
NODISCARD bool result_series(reader *r, const store_selector *q, const store_budget *b, arena *a,
                             store_series_list *out, store_read_result *x, err *e);
NODISCARD bool result_types(reader *r, const store_selector *q, const store_budget *b, arena *a,
                            store_type_list *out, store_read_result *x, err *e);
NODISCARD bool result_labels(reader *r, const store_selector *q, const store_budget *b, str key,
                             arena *a, store_label_list *out, store_read_result *x, err *e);
NODISCARD bool result_counts(reader *r, const store_selector *q, const store_budget *b,
                             const store_counts_opts *o, arena *a, store_buckets *out,
                             store_read_result *x, err *e);
NODISCARD bool result_profiles(reader *r, const store_selector *q, const store_budget *b,
                               size_t max, arena *a, store_profile_list *out,
                               store_series_list *series, store_read_result *x, err *e);
