/* server/api_reply.h - responses of the query API: status, headers and body of what a query came to. */
#pragma once
#include "net/http_server.h"
#include "server/ask.h"

/* The status of an error, 200 without one. */
unsigned api_status_of(const err *e);

/* `retry`: seconds after which another try is worth it; 0: not said. */
void api_reply_error(http_exchange *x, const err *e, unsigned retry);
/* The response of a query that was answered; body and file are taken over.  A file stands for the body. */
void api_reply(http_exchange *x, const ask *k, buf *body, spill *file);
/* Neither GET nor HEAD. */
void api_reply_method(http_exchange *x);
/* Rejected before anybody looked at the query. */
void api_reply_refused(http_exchange *x, unsigned status, const char *why);
