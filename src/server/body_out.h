/* server/body_out.h - writes the body of a response piece by piece: in memory while it is small,
 * then to a file.
 *
 *   body_out_put ─ gzip, optional ─► query.body ─ from BODY_SPILL bytes on ─► query.file */
#pragma once
#include "server/query.h"

#define BODY_SPILL ((size_t)1 << 20) /* larger bodies go to a file */

typedef struct body_out {
    query *k;
    struct packer *gzip; /* NULL: no compression */
    buf packed;
    uint64_t counted; /* bytes of the file that k->files->filling includes */
    bool no_file;     /* creating or writing the file failed; the body is lost */
} body_out;

NODISCARD bool body_out_begin(body_out *b, query *k, bool gzip, err *e);
/* ERR_LIMIT: the files of all large responses would exceed limits.files; ERR_SYS: sets no_file. */
NODISCARD bool body_out_put(body_out *b, str bytes, err *e);
/* Writes the rest, unless ok is false, and frees the writer's memory. On failure query.body and
 * query.file are empty. */
NODISCARD bool body_out_end(body_out *b, bool ok, err *e);
