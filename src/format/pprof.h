/* format/pprof.h - reads and writes pprof: profile.proto, and reads the older kinds.
 *
 *   read    protobuf              one Profile per sample type, all in one scope, rows in order
 *           legacy text, binary   CPU, heap, growth, contention, threads, counts; C++, Go and Java
 *   write   protobuf              the Profiles of a scope whose rows agree become sample types of one
 *                                 file; anything else is joined by {stack, attributes, link}
 *
 * The pprof.* attributes (docs/attributes.md) carry data for which OTLP has no field, so pprof ->
 * model -> pprof returns the same profile with other ids. docs/pprof.md has the mapping. Pure. */
#pragma once
#include "format/format.h"
#include "wire/schema.h"

/* Labels that the reader converts: one trace_id and one span_id of a sample become its link. */
typedef enum pp_label_kind { PP_PLAIN, PP_TRACE, PP_SPAN } pp_label_kind;
pp_label_kind pprof_label_kind(str key, str text); /* for a label without number and unit */

typedef struct pprof_read_opts {
    bool lenient; /* undefined references become "none" and are counted instead of rejected */
    bool plain;   /* for tests: use only the plain reader, never the fast one */
    ledger *ledger;
} pprof_read_opts;

/* Reads one profile.proto message, not compressed. Strings of the model view `bytes`. */
NODISCARD bool pprof_decode(str bytes, const pprof_read_opts *o, arena *a, model *out, err *e);

/* The older kinds of profiles. */
typedef enum pprof_legacy {
    PPROF_LEGACY_NONE,
    PPROF_LEGACY_CPU,        /* binary words: gperftools, C++ */
    PPROF_LEGACY_JAVA_CPU,   /* binary words, then symbols */
    PPROF_LEGACY_HEAP,       /* "heap profile: ..." of tcmalloc and of Go's debug=1 */
    PPROF_LEGACY_COUNT,      /* "goroutine profile: total 7" */
    PPROF_LEGACY_THREAD,     /* "--- threadz 1 ---" */
    PPROF_LEGACY_CONTENTION, /* "--- contentionz 1 ---", "--- mutex:" */
    PPROF_LEGACY_JAVA,       /* "--- heapz 1 ---" or contention with "format = java" */
} pprof_legacy;

pprof_legacy pprof_legacy_detect(str bytes);
NODISCARD bool pprof_legacy_decode(str bytes, pprof_legacy kind, const pprof_read_opts *o, arena *a,
                                   model *out, err *e);

typedef struct pprof_write_opts {
    bool timestamps; /* one sample per observation, with a label `timestamp` in nanoseconds;
                      * otherwise observations are summed and their times are lost */
    ledger *ledger;
} pprof_write_opts;

/* Appends the model as one profile.proto message, not compressed. */
NODISCARD bool pprof_encode(const model *m, const pprof_write_opts *o, buf *out, err *e);

/* The table of all fields of profile.proto; reader and writer must handle each. */
extern const message_desc pprof_profile;
