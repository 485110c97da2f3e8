/* net/certificate.h - what clients will refuse about our own certificate, found before they do. */
#pragma once
#include "base/str.h"

typedef struct certificate_opts {
    const char *path; /* PEM: our certificate, then those who signed it */
    uint64_t now;     /* Unix ns */
    const str *hosts; /* names by which clients come, NAME or NAME:PORT */
    size_t n_hosts;
} certificate_opts;

/* One sentence for each problem, with the file and what to do: expired, not valid yet, expires soon (within a week, or a quarter of
 * its life when that is shorter), a chain in the wrong order, no name, or not the names of `hosts`.  A file that cannot be read is
 * tls_context_open's to report.  Returns how many there are. */
size_t certificate_check(const certificate_opts *o, void (*problem)(void *who, const char *line),
                         void *who);
