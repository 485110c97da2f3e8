/* server/origin.h - did a web page of somebody else have a browser send this?  Pure.
 *
 * Where no token is wanted, whoever reaches us may ask and send; and so may every page that a browser shows which reaches us,
 * unless we look, in two ways:
 *   DNS rebinding   a name of its own that points to us:         Host is that name    ─► it must be one of ours
 *   across sites    a request to our address from its own page:  Origin is that page  ─► it must be that of Host, or ours
 *
 * Only what a browser may have sent is looked at.  Without TLS a browser speaks HTTP/1.1 and nothing else, with TLS a name that
 * is not ours fails at the certificate, and all but GET and HEAD comes with Origin: gRPC, and senders that are no browsers, are
 * never asked for their Host. */
#pragma once
#include "net/message.h"

typedef enum origin_verdict {
    ORIGIN_OURS,
    ORIGIN_HOST, /* Host is no name of ours */
    ORIGIN_PAGE, /* Origin is another page's */
} origin_verdict;

/* hosts: "NAME" or "NAME:PORT", ours besides addresses, localhost and what ends in .localhost.  Host is looked at where this
 * machine alone may come (m->way), and with hosts everywhere. */
origin_verdict origin_ask(const http_message *m, const str *hosts, size_t n);

/* Could a browser say it in Host? */
bool origin_host_valid(str host);
