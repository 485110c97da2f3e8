/* format/dialects.h - the drafts before the first release, and the proposals beside it.  Pure.
 *
 *   A       the "arrays" draft (OTEP PR 237): tables in each Profile, samples as columns
 *   A1      the same; attribute sets of mappings and locations are scalars (A1r only renamed things)
 *   A2      the same facts, renumbered
 *   A0      the draft's first commit: a container with one of normalized, arrays, denormalized
 *   bench   the fork that made the published benchmark: the container of OTEP 0239 with the same three
 *   C       the proposal of timestamped events: a bare Profile
 *   C box   the same inside the container of its day (field 8) or a scope's list of profiles
 *   B bare  pprofextended without a container: a pprof file that uses OTEP 0239's additions
 *
 * Dialect B in its container is layout 1.3 of OTLP (wire/layout.h) and is found there.
 * Tables: src/format/dialects_schema.c, held to protoc by tests/e2e/dialect_oracle.
 * docs/seed-dialects.md says what is read and written. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "format/format.h"
#include "wire/schema.h"

typedef enum dialect {
    DIALECT_NONE,
    DIALECT_A,
    DIALECT_A1,
    DIALECT_A2,
    DIALECT_A0,
    DIALECT_BENCH,
    DIALECT_C,
    DIALECT_C_BOX,   /* ProfileContainer.profile */
    DIALECT_C_SCOPE, /* ScopeProfiles.profiles */
    DIALECT_B_BARE,
    DIALECT_COUNT
} dialect;

const char *dialect_name(dialect d);           /* "A1"; "none" */
const message_desc *dialect_schema(dialect d); /* the outermost message; NULL for NONE */

/* Which dialect these bytes are: every field known, wire types right, indices inside their tables,
 * and no released OTLP layout that fits as well.  Looks at 4 MiB at most.  Never fails. */
dialect dialect_detect(str bytes);
/* The same among some of them: what a format asks, and pays for. */
dialect dialect_detect_among(str bytes, unsigned among);
#define DIALECTS_A                                                                                 \
    (1u << DIALECT_A | 1u << DIALECT_A1 | 1u << DIALECT_A2 | 1u << DIALECT_A0 | 1u << DIALECT_BENCH)
#define DIALECTS_ALTERNATIVES (1u << DIALECT_A0 | 1u << DIALECT_BENCH)
#define DIALECTS_C (1u << DIALECT_C | 1u << DIALECT_C_BOX | 1u << DIALECT_C_SCOPE)
#define DIALECTS_BARE (1u << DIALECT_C | 1u << DIALECT_B_BARE)

/* The one of them with the fewest fields out of place; of equals the first.  For broken bytes. */
dialect dialect_nearest(str bytes, unsigned among);
/* Broken bytes of one of these dialects?  Every field has its place in one of them, whatever it holds,
 * and no released layout can say that.  `hint`: a name speaks for it, so that it is enough that no
 * released layout comes nearer. */
bool dialect_is_broken(str bytes, unsigned among, bool hint);

/* Does `bytes` parse strictly under these tables?  `ranges`: indices too. */
bool dialect_fits(str bytes, const message_desc *root, bool ranges);

/* For format.may_be: does one of these dialects fit, whatever else does? */
bool dialect_fits_any(str bytes, unsigned among);

/* What an A0 or bench entry holds: 9, 10, 11 of A0 (bench: 102, 103, 104 as these); 0: nothing. */
enum { A0_NORMALIZED = 9, A0_ARRAYS = 10, A0_DENORMALIZED = 11 };
unsigned dialect_a0_member(str bytes);

/* The format of an original payload that came without its name: "jfr", "linux_perf", "pprof",
 * "unknown". */
str dialect_sniff(str bytes);

/* The same profile in the words of the draft: `kiln cat --format arrays-yaml`.  Appends to `out`. */
NODISCARD bool arrays_yaml(const model *m, buf *out, err *e);
