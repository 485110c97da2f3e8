/* net/certificate.h - checks a server's own certificate for problems that make clients reject
 * it. */
#pragma once
#include "base/str.h"

typedef struct certificate_opts {
    const char *path; /* PEM: the server's certificate, then its issuers */
    uint64_t now;     /* Unix ns */
    const str *hosts; /* names that clients use, NAME or NAME:PORT */
    size_t n_hosts;
} certificate_opts;

/* Calls `problem` with one line for each problem.  The line names the file and the remedy.
 * Problems are: expired, not valid yet, expires soon (within a week, or a quarter of its lifetime
 * if that is shorter), a chain in the wrong order, no host name, or a name of `hosts` that is not
 * covered.  Skips a file that cannot be read, because tls_context_open reports it.  Returns the
 * number of problems. */
size_t certificate_check(const certificate_opts *o, void (*problem)(void *ctx, const char *line),
                         void *ctx);
