/* server/origin.h - detects requests that a browser sends on behalf of another web site. Pure.
 *
 * A server without tokens serves every client that reaches it, including browsers that show a
 * malicious page. Two headers reveal such requests:
 *   DNS rebinding  the page's own name resolves to this server: Host must name this server
 *   cross-site     the page sends a request to this server:     Origin must match Host
 *
 * Only requests that a browser may have sent are checked. Without TLS browsers use HTTP/1.1 only,
 * with TLS a foreign name fails at the certificate, and all methods but GET and HEAD carry Origin.
 * So the Host of gRPC and of other senders is never checked. */
#pragma once
#include "net/message.h"

typedef enum origin_verdict {
    ORIGIN_OURS,
    ORIGIN_HOST, /* Host is not a name of this server */
    ORIGIN_PAGE, /* Origin is another site */
} origin_verdict;

/* Checks the headers. hosts: names of this server ("NAME" or "NAME:PORT") in addition to IP
 * addresses, localhost and *.localhost. Host is checked on loopback addresses (m->transport), and
 * everywhere when hosts are given. */
origin_verdict origin_check(const http_message *m, const str *hosts, size_t n);

/* Returns whether a browser could send this text in Host. */
bool origin_host_valid(str host);
