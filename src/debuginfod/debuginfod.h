/* debuginfod/debuginfod.h - fetches files by build id from debuginfod servers: sources, debug
 * information, executables.
 *
 *   debuginfod_open(URLs) ─► debuginfod_fetch(path) ─┬ the first server that has the file
 *                                                    └ otherwise the next one
 *
 * A fetch blocks its thread, name lookup included, so that commands and pools of threads can use it
 * alike.  Threads may share a client.  Only the configured hosts are contacted: redirects are
 * errors, and proxies are not used. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/stopper.h"
#include "base/str.h"

typedef struct debuginfod debuginfod;

enum { DEBUGINFOD_SERVERS = 8 };

/* Checks URLs separated by spaces, as in DEBUGINFOD_URLS.  ERR_USAGE. */
NODISCARD bool debuginfod_check(str urls, err *e);

/* Returns NULL on failure: ERR_USAGE, or a problem of TLS. */
NODISCARD debuginfod *debuginfod_open(str urls, err *e);
void debuginfod_close(debuginfod *d); /* after the last fetch */

typedef enum debuginfod_result {
    DEBUGINFOD_FOUND,
    DEBUGINFOD_UNKNOWN, /* every server responded that it does not have the file */
    DEBUGINFOD_FAILED,  /* a server is unreachable, or sent something else than the file */
    DEBUGINFOD_LATE,    /* no complete response in time */
    DEBUGINFOD_STOPPED, /* by `stop` */
} debuginfod_result;

typedef struct debuginfod_request {
    str path;         /* begins with /buildid/ (debuginfod/path.h) */
    size_t max;       /* bytes of the file */
    uint64_t timeout; /* ns, for all servers together */
    stopper *stop;    /* checked ten times a second; NULL: never stopped */
} debuginfod_request;

/* Appends the file to *out.  Otherwise leaves *out unchanged and sets *e to a sentence that names
 * the server. */
NODISCARD debuginfod_result debuginfod_fetch(const debuginfod *d, const debuginfod_request *r,
                                             buf *out, err *e);
