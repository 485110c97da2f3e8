/* pyroscope/envelope.h - turns the model of a body into that of a Pyroscope series. Pure.
 *
 *   label service_name, or the application ─► resource attribute service.name
 *   other labels ───────────────────────────► resource attributes; private ones (__x__) are dropped,
 *                                             except PYRO_SESSION
 *   profile name, spy ──────────────────────► scope attributes (type_id.h)
 *   sample labels span_id, profile_id ──────► link (also without a trace id)
 *   contexts of a JFR recording ────────────► sample attributes and links (labels_snapshot.h) */
#pragma once
#include "model/ledger.h"
#include "model/model.h"
#include "pyroscope/series_labels.h"
#include "pyroscope/labels_snapshot.h"

/* A hash of bytes that arrived: 128 bits, the same in every run. */
typedef struct pyro_content {
    uint64_t low, high;
} pyro_content;

/* Adds bytes to the hash. */
void pyro_content_add(pyro_content *c, str bytes);

typedef struct pyro_envelope {
    str app;          /* name of the application; empty: none, as in PushRequest */
    str name;         /* profile name; empty: pyro_type_of derives one from each type */
    const str *names; /* by profile, instead of `name`; NULL: none */
    str spy;
    pyro_labels labels;
    uint64_t from, until; /* Unix ns, for profiles without a time; 0: unknown */
    /* The profile id of the whole body; all zero: derived from `content`, labels, name and time, so
     * that a repeated request is recognised without a hash over its samples. */
    uint8_t id[16];
    pyro_content content;       /* of the body */
    const labels_snapshot *jfr; /* NULL: none */
} pyro_envelope;

/* Applies the envelope to a checked model in `a` that a builder made. Its resources become equal
 * except for attributes that the body had. ERR_MEMORY. */
NODISCARD bool pyro_envelope_apply(const pyro_envelope *v, model *m, ledger *l, arena *a, err *e);

/* Returns the index of a string of the dictionary, which is added if it is missing. Returns 0 and
 * sets *failed when out of memory. */
uint32_t pyro_intern(model *m, str s, arena *a, bool *failed);
