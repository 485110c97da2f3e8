/* wire/otlp_old.h - reads the layouts before v1.8: v1.3 (OTEP 0239) to v1.7.  Pure.
 *
 * Those had several sample types in a Profile, tables without a null entry and (to v1.5) tables
 * inside each Profile.  The result is what the same facts look like today:
 *
 *   types        One Profile a type, in one scope, same samples at the same places.  The default type
 *                comes first, then the rest in their order; unset means the first type, in v1.3 the
 *                last one (pprof's rule).  The old order is kept: on the scope if it holds one old
 *                Profile (pprof.scope.sample_type_order, .default_sample_type), else on each Profile
 *                (kiln.sample_type_order, kiln.default_sample_type).  All keep the old profile_id;
 *                the original payload goes to the first.  No type at all gives one Profile without.
 *   references   An explicit 0 is entry 0 where the field has presence (link_index, mapping_index of
 *                v1.4 and newer) and where 0 cannot be told from absent (function_index, attributes);
 *                v1.3: link 0 is none, mapping 0 only if it covers the address; where entries have
 *                ids, otlp_v3_refs.h tells positions from ids, table by table, and LOSS_REFERENCE
 *                is what it cannot tell.  0 into an empty table is none.
 *   timestamps   Today values and timestamps pair up.  Then a sample had one value a type and any
 *                number of timestamps.  With T > 1 of them
 *                  one type and T values: they pair up already (what eBPF profilers sent off-CPU);
 *                  one type and 1 in every such sample: each timestamp counts 1 (the same, on-CPU);
 *                  else the value is spread: floor(v/T) each, the first gets what is left over.
 *                Sums stay what they were (except where each counts 1); the Profile says which by
 *                kiln.timestamp_values = "each" or "spread".  v1.3 in milliseconds (OTEP) rather than
 *                nanoseconds (release): told by magnitude, kiln.timestamp_unit = "ms".
 *   the rest     What has no field today becomes an attribute: docs/attributes.md, wire/carried.h.
 *                The ledger has an entry for each, with its key; without a key it is lost.
 *
 * Unknown fields are skipped and counted in model.n_unknown. */
#pragma once
#include "wire/otlp.h"

enum {
    OLD_MAX_SAMPLE_TYPES = 64,   /* of one Profile: every sample is written once for each */
    OLD_MAX_FRAMES_PER_BYTE = 64 /* samples slice one list and may all ask for most of it */
};

/* Decodes LAYOUT_1_3 ... LAYOUT_1_7 (ERR_USAGE for others).  o->layout is not looked at; o may be
 * NULL.  Strings stay views into p; model.checked is always set.
 * ERR_MALFORMED with byte and path for bad bytes, an index outside its table, or a sample whose
 * values fit no sample type; with o->lenient such an index becomes "none" (LOSS_INDEX_REPAIRED) and
 * such a sample is left out (LOSS_MIXED_SHAPE).  ERR_LIMIT at a limit or the budget of `a`, which
 * also bounds the scratch memory that is given back at the end. */
NODISCARD bool otlp_old_decode(const void *p, size_t n, layout l, const otlp_decode_opts *o,
                               arena *a, model *out, err *e);
