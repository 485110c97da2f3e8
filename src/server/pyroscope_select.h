/* server/pyroscope_select.h - from a call's selectors and type to selectors of the store.
 *
 *   {service_name="x"} + type id ─► series that match ─► store selectors, each of some series
 *
 * A profile type id of Pyroscope is derived from a series (pyroscope/type_id.h): several stored types
 * may have the same id, and series of one stored type may have different ids.  The name of a service
 * is derived as well, because every series has one in Pyroscope.  Matchers on these labels (__name__,
 * __type__, service_name ...) are evaluated against each series, and the reads are restricted to the
 * series that match; the store evaluates the other matchers. */
#pragma once
#include "pyroscope/selector.h"
#include "pyroscope/type_id.h"
#include "server/pyroscope.h"

/* Series that are read together: their stored type, scale and service_key are equal. */
typedef struct pyro_read {
    store_selector q;
    int64_t scale;             /* values are multiplied by it */
    str service_key;           /* the label from which service_name follows; empty: none has one */
    const store_series *first; /* one of its series */
} pyro_read;

typedef struct pyro_series_row {
    const store_series *s;
    pyro_type type;
    int64_t scale;
    str service_key;
} pyro_series_row;

typedef struct pyro_selection {
    query *k;
    VEC(pyro_series_row) series; /* that match, in the order of the store */
    VEC(pyro_read) reads;        /* together they are the selection; none: it is empty */
    pyro_type type;              /* the requested type; zero without one */
    store_label_list keys;       /* label keys in the range; see pyro_key */
    bool has_keys;
    pyro_selector matchers;
    VEC(store_matcher) own; /* matchers of the store, those of the service first */
    size_t n_service;
    uint64_t start, end; /* Unix ns, [start, end) */
} pyro_selection;

/* Selects by all selectors in `texts` and by a type id; an empty id means all types.  start and end
 * are Unix ms.  The caller calls pyro_selection_free also after a failure.  ERR_USAGE, ERR_MALFORMED
 * and errors of the store. */
NODISCARD bool pyro_select(query *k, const pyro_texts *texts, str type_id, int64_t start,
                           int64_t end, pyro_selection *out, err *e);
void pyro_selection_free(pyro_selection *s);

/* ERR_USAGE for a range that is missing or reversed. */
NODISCARD bool pyro_check_range(int64_t start, int64_t end, err *e);

/* Restricts all reads to one matcher. */
NODISCARD bool pyro_selection_add(pyro_selection *s, str key, store_op op, str value, err *e);

/* Returns whether a matcher names a whole type id: __profile_type__, or __name__ with colons. */
bool pyro_names_type(const pyro_matcher *m);
/* Returns whether the type of a series determines this label. */
bool pyro_key_is_private(str key);
/* Returns whether this is the name of the service, in one of its two spellings. */
bool pyro_key_is_service(str key);
/* Sets *out to the service_name that follows from the value of `service_key`. */
NODISCARD bool pyro_service_name(query *k, str service_key, str value, str *out, err *e);
/* Sets *out to the stored key that a client's spelling means: service.name for service_name. */
NODISCARD bool pyro_key(pyro_selection *s, str written, str *out, err *e);
/* Sets *out to the value of a label of a series, in the client's spelling; "" when the series has no
 * such label in its type, resource or scope. */
NODISCARD bool pyro_series_label(pyro_selection *s, const pyro_series_row *r, str written, str *out,
                                 err *e);
/* A set of labels: LabelPairs as field 1, and a text by which sets are compared and sorted. */
typedef struct pyro_labels {
    str pairs, key;
} pyro_labels;

typedef struct pyro_labels_out {
    buf pairs, key;
} pyro_labels_out;

void pyro_labels_put(pyro_labels_out *b, str name, str value);
/* Copies the set to the arena of the query and frees `b`. */
NODISCARD bool pyro_labels_end(pyro_labels_out *b, query *k, pyro_labels *out, err *e);
/* Returns a copy in the arena of the query; p is NULL when out of memory. */
str pyro_copy(query *k, str s);
