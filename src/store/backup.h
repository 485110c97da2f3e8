/* store/backup.h - copies a store, also while another process writes it, into a directory that is a store itself.
 *
 *   DEST        the last complete copy: `kiln serve --store DEST` serves it
 *   DEST.next   the one under way: exchanged with DEST by one rename, then removed
 *
 * The copy is what one reader sees at one moment: all that was acknowledged before it began.  Day files that DEST has
 * already are linked, not copied. */
#pragma once
#include "store/reader.h"

NODISCARD bool backup_run(reader *r, const char *dest, const store_backup_opts *o,
                          store_backup_result *out, err *e);
