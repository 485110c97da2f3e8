/* store/answer.h - the answers of an engine that a reader can look through: one file each. */
#pragma once
#include "store/reader.h"

/* What of a chunk's profile is meant, settled once a profile. */
typedef struct chosen {
    filter_open_rules open; /* rules that samples have to settle */
    uint64_t moment;
    bool covered; /* all of its observations are in the range */
    bool links;   /* links have to be looked at */
} chosen;

/* *yes: the profile may have samples that are meant. */
NODISCARD bool choose_profile(look *k, const chunk *c, size_t i, chosen *out, bool *yes, err *e);
/* Does the sample belong, and what of it?  s is cut to the range. */
NODISCARD bool choose_sample(look *k, const chosen *x, cutter *cut, const model *m, sample *s,
                             bool *yes, err *e);
/* Does a profile without samples belong, whatever samples would have to settle? */
NODISCARD bool choose_empty(look *k, const chosen *x, bool *yes, err *e);
/* *yes: something of the profile is meant, a sample or itself. */
NODISCARD bool choose_any(look *k, const chunk *c, size_t i, chosen *out, bool *yes, err *e);

NODISCARD bool answer_read(reader *r, const store_selector *q, const store_read_opts *o, arena *a,
                           model *out, store_answer *x, err *e);
NODISCARD bool answer_pieces(reader *r, const store_selector *q, const store_read_opts *o, arena *a,
                             store_each *each, void *who, model *shared, store_answer *x, err *e);
NODISCARD bool answer_each(reader *r, const store_selector *q, store_each *each, void *who,
                           store_answer *x, err *e);
NODISCARD bool answer_sums(reader *r, const store_selector *q, const store_read_opts *o, arena *a,
                           model *out, store_answer *x, err *e);
NODISCARD bool answer_series(reader *r, const store_selector *q, const store_budget *b, arena *a,
                             store_series_list *out, store_answer *x, err *e);
NODISCARD bool answer_types(reader *r, const store_selector *q, const store_budget *b, arena *a,
                            store_type_list *out, store_answer *x, err *e);
NODISCARD bool answer_labels(reader *r, const store_selector *q, const store_budget *b, str key,
                             arena *a, store_label_list *out, store_answer *x, err *e);
NODISCARD bool answer_counts(reader *r, const store_selector *q, const store_budget *b,
                             uint64_t step, str by, arena *a, store_buckets *out, store_answer *x,
                             err *e);
NODISCARD bool answer_profiles(reader *r, const store_selector *q, const store_budget *b,
                               size_t max, arena *a, store_profile_list *out,
                               store_series_list *series, store_answer *x, err *e);
