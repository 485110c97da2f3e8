/* wire/otlp_old.h - reads the layouts before v1.8: v1.3 (OTEP 0239) to v1.7.  Pure.
 *
 * These layouts have several sample types in a Profile, tables without a null entry and (to v1.5)
 * tables inside each Profile.  The decoder converts them to the current model:
 *
 *   types        One Profile per type, all in one scope and with the same samples in the same order.  The
 *                default type comes first, then the others in their order.  If it is not set, the first
 *                type is the default; in v1.3 the last one (pprof's rule).  Attributes store the old order:
 *                of the scope if it holds one old Profile (pprof.scope.sample_type_order,
 *                .default_sample_type), otherwise of each Profile (kiln.sample_type_order,
 *                kiln.default_sample_type).  The profile ids are derived from the old one; the first
 *                Profile gets the original payload.  Without types there is one Profile without a type.
 *   references   An explicit 0 is entry 0 if the field has presence (link_index, mapping_index of v1.4
 *                and later) or if 0 equals absent (function_index, attributes).  In v1.3, link 0 means no
 *                link, and mapping 0 is used only if it covers the address.  If entries have ids,
 *                otlp_v3_refs.h decides between positions and ids for each table; LOSS_REFERENCE
 *                records ambiguous ones.  Index 0 of an empty table means none.
 *   timestamps   The model pairs values and timestamps.  In these layouts a sample has one value per type
 *                and any number of timestamps.  With T > 1 timestamps:
 *                  one type and T values: already paired (off-CPU profiles of eBPF profilers);
 *                  one type and value 1 in every such sample: each timestamp counts 1 (on-CPU);
 *                  otherwise the value is spread: floor(v/T) each, and the remainder to the first.
 *                Sums do not change, except where each timestamp counts 1.  kiln.timestamp_values of the
 *                Profile is "each" or "spread".  Timestamps of v1.3 are milliseconds (OTEP) or nanoseconds
 *                (release), decided by magnitude; kiln.timestamp_unit = "ms".
 *   other fields Fields without a counterpart become attributes: docs/attributes.md, wire/carried.h.  The
 *                ledger has an entry for each, with its key; without a key the value is lost.
 *
 * Unknown fields are skipped and counted in model.n_unknown. */
#pragma once
#include "wire/otlp.h"

enum {
    OLD_MAX_SAMPLE_TYPES = 64,   /* of one Profile: every sample is copied once per type */
    OLD_MAX_FRAMES_PER_BYTE = 64 /* many samples may refer to long slices of one list */
};

/* Decodes LAYOUT_1_3 ... LAYOUT_1_7; fails with ERR_USAGE for others.  Ignores o->layout; o may be
 * NULL.  Strings stay views into p; model.checked is always set. Fails with ERR_MALFORMED, byte and
 * path for malformed bytes, an index outside its table, or a sample whose values do not fit the
 * types.  With o->lenient such an index becomes "none" (LOSS_INDEX_REPAIRED) and such a sample is
 * skipped (LOSS_MIXED_SHAPE).  Fails with ERR_LIMIT at a limit, or with ERR_MEMORY at the budget of
 * `a`, which also limits the scratch memory that is freed at the end. */
NODISCARD bool otlp_old_decode(const void *p, size_t n, layout l, const otlp_decode_opts *o,
                               arena *a, model *out, err *e);
