/* server/client_err.h - what a client is told of an error: no path of this machine, no option of a command.  The log has all of it.
 * Pure. */
#pragma once
#include "base/err.h"

/* *out is *e for a client.  `store_dir`: the directory of the store, whose name may be in the sentence. */
void client_err(const err *e, const char *store_dir, err *out);
