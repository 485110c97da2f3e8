/* server/body_out.h - the body of a response that is made piece by piece: in memory while it is small, then in a file.
 *
 *   body_out_put ─ gzip, if wanted ─► ask.body ─ BODY_SPILL bytes ─► ask.file */
#pragma once
#include "server/ask.h"

#define BODY_SPILL ((size_t)1 << 20) /* a body from here on waits in a file */

typedef struct body_out {
    ask *k;
    struct packer *gzip; /* NULL: as it is */
    buf packed;
    uint64_t counted; /* of the file, in k->files->filling */
    bool no_file;     /* a file could not be made or written: the body is given up */
} body_out;

NODISCARD bool body_out_begin(body_out *b, ask *k, bool gzip, err *e);
/* ERR_LIMIT: the files of large responses would be larger than k->files allows; ERR_SYS with no_file. */
NODISCARD bool body_out_put(body_out *b, str bytes, err *e);
/* What is left of it, unless ok is false; frees what the body was made with.  false: ask.body and ask.file are empty. */
NODISCARD bool body_out_end(body_out *b, bool ok, err *e);
