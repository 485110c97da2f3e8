/* format/pprof.h - pprof: profile.proto and the kinds that came before it, to and from the model.
 *
 *   read    protobuf              one Profile per sample type, all in one scope, rows in order
 *           legacy text, binary   CPU, heap, growth, contention, threads, counts; C++, Go and Java
 *   write   protobuf              the Profiles of a scope whose rows agree become sample types of one
 *                                 file; anything else is joined by {stack, attributes, link}
 *
 * What OTLP has no field for travels in the pprof.* attributes (docs/attributes.md), so pprof ->
 * model -> pprof is the same profile with other ids.  docs/pprof.md has the mapping.  Pure. */
#pragma once
#include "format/format.h"
#include "wire/schema.h"

/* Labels that mean something to the reader: one trace_id and one span_id of a sample are its link. */
typedef enum pp_label_kind { PP_PLAIN, PP_TRACE, PP_SPAN } pp_label_kind;
pp_label_kind pprof_label_kind(str key, str text); /* of a label without number and unit */

typedef struct pprof_read_opts {
    bool lenient; /* references to nothing become "none" and are counted, not refused */
    bool plain;   /* no fast path: every message takes the checked walk; for tests */
    ledger *ledger;
} pprof_read_opts;

/* One profile.proto message, not compressed.  Strings of the model view `bytes`. */
NODISCARD bool pprof_decode(str bytes, const pprof_read_opts *o, arena *a, model *out, err *e);

/* What of the legacy kinds these bytes are; PPROF_LEGACY_NONE: none of them. */
typedef enum pprof_legacy {
    PPROF_LEGACY_NONE,
    PPROF_LEGACY_CPU,        /* words: gperftools, C++ */
    PPROF_LEGACY_JAVA_CPU,   /* words, then symbols */
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
                        otherwise observations are summed up and the times are in the ledger */
    ledger *ledger;
} pprof_write_opts;

/* Appends the model as one profile.proto message, not compressed. */
NODISCARD bool pprof_encode(const model *m, const pprof_write_opts *o, buf *out, err *e);

/* Every field of profile.proto: what reader and writer have to account for. */
const message_desc *pprof_schema(void);
