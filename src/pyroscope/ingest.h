/* pyroscope/ingest.h - decodes the requests of POST /ingest. No sockets, store or clock. Pure.
 *
 *   format= or content type   body
 *   trie, tree, lines         stacks_read.h
 *   jfr                       a recording, or multipart: jfr, labels (labels_snapshot.h)
 *   pprof, multipart          pprof, or multipart: profile, prev_profile, sample_type_config
 *   speedscope                its JSON
 *   anything else             folded stacks
 *
 * The body may be compressed. Bodies of stacks have the type that the last word of the application's
 * name states ("app.alloc_space"), by default "cpu". */
#pragma once
#include "base/err.h"
#include "model/ledger.h"
#include "model/model.h"

typedef struct pyro_ingest {
    str query;        /* of the URL, without `?` */
    str content_type; /* empty: none */
    str body;
    uint64_t now;     /* Unix ns */
    size_t max_bytes; /* of the body after decompression */
} pyro_ingest;

typedef struct pyro_ingested {
    model model;
    const char *form; /* "pprof", "jfr", "folded", "lines", "speedscope", "trie", "tree" */
} pyro_ingested;

/* Decodes a request; strings of the model may view the request. Errors have the offset in the body
 * or in the part of a multipart body, and a path such as "profile" or "labels". ERR_MALFORMED: the
 * request is invalid. ERR_LIMIT, ERR_MEMORY: it is too large. An empty body has no profiles. */
NODISCARD bool pyro_ingest_read(const pyro_ingest *in, ledger *l, arena *a, pyro_ingested *out,
                                err *e);
