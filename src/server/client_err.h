/* server/client_err.h - the part of an error that a client may see: no local paths, no command-line
 * hints.  The log has the whole error.  Pure. */
#pragma once
#include "base/err.h"

/* Sets *out to the client's version of *e.  `store_dir` is removed from its message. */
void client_err(const err *e, const char *store_dir, err *out);
