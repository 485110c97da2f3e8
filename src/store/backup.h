/* store/backup.h - copies a store to a directory that is a store itself, also while another process
 * writes the original.
 *
 *   DEST        the last complete copy: `kiln serve --store DEST` serves it
 *   DEST.next   the copy in progress; replaces DEST by one rename
 *
 * The copy is the store as one reader sees it at one moment, with everything acknowledged before
 * the copy began. Day files that DEST already has are hard-linked, not copied. */
#pragma once
#include "store/maintenance.h"
#include "store/reader.h"

NODISCARD bool backup_run(reader *r, const char *dest, const store_backup_opts *o,
                          store_backup_result *out, err *e);
