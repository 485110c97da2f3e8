/* format/dialects.h - the drafts before the first release of OTLP profiles, and later proposals.
 *
 *   A       the "arrays" draft (OTEP PR 237): tables in each Profile, samples as columns
 *   A1      as A, but a mapping or location has one attribute set, not a list (A1r: renamed fields)
 *   A2      as A1, with new field numbers
 *   A0      the draft's first commit: a container with one of normalized, arrays, denormalized
 *   bench   the fork behind the published benchmark: OTEP 0239's container with the same three
 *   C       the proposal of timestamped events: a bare Profile
 *   C box   a Profile of C in field 8 of OTEP 0239's container; C scope: in a scope's profiles
 *   B bare  pprofextended without a container: a pprof file that uses OTEP 0239's additions
 *
 * Dialect B in its container is layout 1.3 of OTLP and is detected there (wire/layout.h). The
 * schemas are in src/format/dialects_schema.c; tests/e2e/dialect_oracle compares them with protoc.
 * docs/seed-dialects.md describes the conversions. */
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

/* Returns the dialect of which every field is known, wire types are right and indices are inside
 * their tables, unless a released OTLP layout fits as well. Reads at most 4 MiB. */
dialect dialect_detect(str bytes);
/* As dialect_detect, but tries only the dialects in the bit set `among` (1u << DIALECT_x). */
dialect dialect_detect_among(str bytes, unsigned among);
#define DIALECTS_A                                                                                 \
    (1u << DIALECT_A | 1u << DIALECT_A1 | 1u << DIALECT_A2 | 1u << DIALECT_A0 | 1u << DIALECT_BENCH)
#define DIALECTS_ALTERNATIVES (1u << DIALECT_A0 | 1u << DIALECT_BENCH)
#define DIALECTS_C (1u << DIALECT_C | 1u << DIALECT_C_BOX | 1u << DIALECT_C_SCOPE)
#define DIALECTS_BARE (1u << DIALECT_C | 1u << DIALECT_B_BARE)

/* For malformed input: returns the (first) dialect in `among` with the fewest misplaced fields. */
dialect dialect_nearest(str bytes, unsigned among);
/* Whether the bytes are a malformed message of one of these dialects: every field exists in one of
 * them, whatever its value, and in no released layout. `hint`: the file name suggests the dialect;
 * then no released layout may fit better. */
bool dialect_is_broken(str bytes, unsigned among, bool hint);

/* Whether `bytes` parse strictly with this schema. `ranges`: indices are checked too. */
bool dialect_fits(str bytes, const message_desc *root, bool ranges);

/* For format.may_be: whether one of these dialects fits, even if other formats fit too. */
bool dialect_fits_any(str bytes, unsigned among);

/* Returns the alternative that an A0 or bench entry holds, as a field number of A0 (9 to 11;
 * bench's 102 to 104 are mapped to these); 0: none. */
enum { A0_NORMALIZED = 9, A0_ARRAYS = 10, A0_DENORMALIZED = 11, BENCH_NORMALIZED = 102 };
unsigned dialect_a0_member(str bytes);

/* Guesses the format of an original payload: "jfr", "linux_perf", "pprof" or "unknown". */
str dialect_sniff(str bytes);

/* Appends the profile in the draft's YAML to `out`: `kiln cat --format arrays-yaml`. */
NODISCARD bool arrays_yaml(const model *m, buf *out, err *e);
