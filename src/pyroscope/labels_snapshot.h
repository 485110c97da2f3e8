/* pyroscope/labels_snapshot.h - the labels that pyroscope-java sends beside a JFR recording. Pure.
 *
 *   message Context        { map<int64, int64> labels = 1; }       string ids
 *   message LabelsSnapshot { map<int64, Context> contexts = 1; map<int64, string> strings = 2; }
 *
 * Events of the recording refer to a context by its id (field contextId). */
#pragma once
#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "pyroscope/series_labels.h"

typedef struct snapshot_context {
    uint64_t id;
    pyro_labels labels;
} snapshot_context;

typedef struct labels_snapshot {
    VEC(snapshot_context) contexts;
    hash_index by_id;
    arena *a;
} labels_snapshot;

/* Decodes the message; texts view `bytes`, tables live in `a`. A label whose string is missing is
 * dropped, as Pyroscope does. Errors have the offset in `bytes` and a path. */
NODISCARD bool labels_snapshot_decode(str bytes, arena *a, labels_snapshot *out, err *e);

/* Returns the index of a context, or -1. */
ptrdiff_t labels_snapshot_find(const labels_snapshot *s, uint64_t id);
