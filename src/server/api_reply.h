/* server/api_reply.h - HTTP responses of the query API: status, headers and body. */
#pragma once
#include "net/http_server.h"
#include "server/query.h"

/* Returns the HTTP status of an error; 200 when there is none. */
unsigned api_status_of(const err *e);

/* Sends an error. `retry`: seconds for the header Retry-After; 0: none. */
void api_reply_error(http_exchange *x, const err *e, unsigned retry);
/* Sends the response of a successful query. Takes ownership of body and file; with a file, body is
 * NULL. */
void api_reply(http_exchange *x, const query *k, buf *body, spill *file);
/* Sends an error with a status of the caller's choice. */
void api_reply_error_as(http_exchange *x, unsigned status, const err *e, unsigned retry);
/* Sends 405: the method is not one of `allowed`, such as "GET, HEAD". */
void api_reply_method(http_exchange *x, const char *allowed);
/* Rejects a query before it is parsed. */
void api_reply_refused(http_exchange *x, unsigned status, const char *why);
